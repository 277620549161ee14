//! Diagnostics: what is wrong with the user's program or data, as data, with the positions in source files that they name.
//!
//! A diagnostic is built where the fault is found and rendered in one place, [`render()`]. Its code is declared beside the check
//! that reports it ([`codes!`]); each crate exports its codes as `CODES`, and `pto-wsp` joins them.
#![forbid(unsafe_code)]

mod codes;
mod diagnostics;
mod face;
mod render;
mod sink;
pub mod span;
mod unused;

pub use codes::{Code, CodeInfo, Codes, lookup};
pub use diagnostics::Diagnostics;
pub use render::{render, render_all, to_json};
pub use sink::Sink;
pub use span::{FileId, SourceFile, SourceMap, Span};
pub use unused::{UNUSED_ITEM, is_meant, unused};

/// The codes of this crate.
pub const CODES: Codes = &[unused::CODES];

/// How bad it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Severity {
    /// The program or data cannot be used.
    Error,
    /// It can, but probably not as meant.
    Warning,
    /// Worth knowing.
    Note,
}

/// A place in the source and what is to be said of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// One phrase; may be empty.
    pub text: String,
}

/// One finding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// Its code.
    pub code: Code,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong: one short phrase in lower case, names in backticks.
    pub message: String,
    /// Where; none for faults of data or of the command line.
    pub primary: Option<Label>,
    /// Other places that explain it.
    pub labels: Vec<Label>,
    /// Numbers and facts.
    pub notes: Vec<String>,
    /// Numbers that the text has, by name, for programs that act on them.
    pub figures: Vec<(&'static str, u64)>,
    /// What to type instead.
    pub help: Vec<String>,
    /// What to type in Python, where that is not what `help` says: `help` has the words of text files and of the command line, whose options Rust and
    /// Python are given in their own ([`in_rust`](Self::in_rust)).
    pub python: Vec<String>,
}

impl Diagnostic {
    /// A finding without a place.
    pub fn new(code: Code, severity: Severity, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            code,
            severity,
            message: message.into(),
            primary: None,
            labels: Vec::new(),
            notes: Vec::new(),
            figures: Vec::new(),
            help: Vec::new(),
            python: Vec::new(),
        }
    }

    /// One more number that the text has.
    pub fn figure(mut self, name: &'static str, number: u64) -> Diagnostic {
        self.figures.push((name, number));
        self
    }

    /// An error without a place.
    pub fn error(code: Code, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(code, Severity::Error, message)
    }

    /// A warning without a place.
    pub fn warning(code: Code, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(code, Severity::Warning, message)
    }

    /// Sets the place.
    #[must_use]
    pub fn at(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        self.primary = Some(Label { span, text: text.into() });
        self
    }

    /// Adds another place.
    #[must_use]
    pub fn label(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        self.labels.push(Label { span, text: text.into() });
        self
    }

    /// Adds a fact.
    #[must_use]
    pub fn note(mut self, text: impl Into<String>) -> Diagnostic {
        self.notes.push(text.into());
        self
    }

    /// Adds what to type.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Diagnostic {
        self.help.push(text.into());
        self
    }

    /// Adds what to type in Python. Programs in Python get it in place of every [`help`](Self::help).
    #[must_use]
    pub fn python(mut self, text: impl Into<String>) -> Diagnostic {
        self.python.push(text.into());
        self
    }

    /// Whether it is an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// The candidate that was probably meant: the nearest by edit distance, if near enough; the first of equals.
///
/// One edit in three characters is near, at most five; a prefix such as `PTO_` is not counted. Of a name of one or two
/// characters only another case or order is.
pub fn did_you_mean<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    nearest(name, candidates).first().copied()
}

/// All candidates that are as near as the one of [`did_you_mean`], in their order.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    nearest_of(name, &mut candidates.into_iter())
}

/// [`nearest`], compiled once for all kinds of candidates.
fn nearest_of<'a>(name: &str, candidates: &mut dyn Iterator<Item = &'a str>) -> Vec<&'a str> {
    let length = name.chars().count();
    let mut limit = (without_prefix(name).chars().count() / 3).clamp(1, 5);
    let near = |candidate: &str| length > 2 || same_letters(name, candidate);
    let mut found = Vec::new();
    for candidate in candidates.filter(|c| *c != name && near(c)) {
        let distance = edit_distance(name, candidate);
        if distance < limit {
            found.clear();
            limit = distance;
        }
        if distance == limit {
            found.push(candidate);
        }
    }
    found
}

/// A name without the family that it belongs to, which the names of other families do not share: `AXIS` of `PTO_AXIS`.
fn without_prefix(name: &str) -> &str {
    let is_family = |family: &str| family.len() < 4 && family.bytes().all(|b| b.is_ascii_uppercase());
    name.split_once('_').filter(|(family, _)| is_family(family)).map_or(name, |(_, rest)| rest)
}

/// Whether two names have the same letters in any order and case, however often each.
fn same_letters(a: &str, b: &str) -> bool {
    let sorted = |text: &str| {
        let mut letters: Vec<char> = text.chars().take(4).map(|c| c.to_ascii_lowercase()).collect();
        letters.sort_unstable();
        letters.dedup();
        letters
    };
    sorted(a) == sorted(b)
}

/// Optimal string alignment distance: insertions, deletions, substitutions, and swaps of neighbours. Names that differ
/// in case only are at distance 1.
fn edit_distance(a: &str, b: &str) -> usize {
    if a.eq_ignore_ascii_case(b) {
        return 1;
    }
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(64).collect(), b.chars().take(64).collect());
    let mut rows = vec![vec![0usize; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    for (j, cell) in rows[0].iter_mut().enumerate() {
        *cell = j;
    }
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let cost = usize::from(a[i - 1] != b[j - 1]);
            let mut best = (rows[i - 1][j] + 1).min(rows[i][j - 1] + 1).min(rows[i - 1][j - 1] + cost);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_suggested() {
        let names = ["batch_size", "head_dim", "PTO_AXIS", "PTO_TILE", "kv_len", "PTO_MAX"];
        let meant = |name| did_you_mean(name, names);
        assert_eq!(meant("batchsize"), Some("batch_size"));
        assert_eq!(meant("PTO_AXSI"), Some("PTO_AXIS"));
        assert_eq!(meant("HEAD_DIM"), Some("head_dim"));
        assert_eq!(meant("kvlen"), Some("kv_len"));
        assert_eq!(meant("PTO_TILES"), Some("PTO_TILE"));
    }

    #[test]
    fn python_gets_its_own_advice_where_there_is_some() {
        let both = Diagnostic::error(Code(1), "no `n`").help("write `--set n=1`").python("write `n=1`");
        assert_eq!(both.help, ["write `--set n=1`"]);
        assert_eq!(both.in_python().help, ["write `n=1`"]);
        assert_eq!(Diagnostic::error(Code(1), "no `n`").help("give `n`").in_python().help, ["give `n`"]);
    }

    #[test]
    fn nothing_far_is_suggested() {
        let names = ["q", "kv", "lse", "output", "kv_lens", "i"];
        let meant = |name| did_you_mean(name, names);
        assert_eq!(meant("x"), None);
        assert_eq!(meant("j"), None);
        assert_eq!(meant("ab"), None);
        assert_eq!(meant("foo"), None);
        assert_eq!(meant("workspace"), None);
        assert_eq!(meant(""), None);
        assert_eq!(did_you_mean("q", ["q"]), None);
        assert_eq!(did_you_mean("PTO_ROUND", ["PTO_ROWS", "PTO_AXIS"]), None);
    }

    #[test]
    fn all_of_the_same_distance_are_told_in_their_order() {
        let names = ["TADD", "TMAX", "TMAXS", "TMAXIMUM"];
        assert_eq!(nearest("TMAXQ", names), ["TMAX", "TMAXS"]);
        assert_eq!(nearest("TMAXSS", names), ["TMAXS"]);
        assert!(nearest("TPOWER", names).is_empty());
    }

    #[test]
    fn a_short_name_differs_by_case_order_or_a_repeated_letter_only() {
        assert_eq!(did_you_mean("ee", ["e"]), Some("e"));
        assert_eq!(did_you_mean("e", ["ee"]), Some("ee"));
        assert_eq!(did_you_mean("Q", ["k", "q"]), Some("q"));
        assert_eq!(did_you_mean("vk", ["q", "kv"]), Some("kv"));
        assert_eq!(did_you_mean("len", ["lens", "q"]), Some("lens"));
    }

    #[test]
    fn very_long_names_are_compared_in_bounded_time() {
        let long = "x".repeat(1 << 20);
        assert_eq!(did_you_mean(&long, ["batch_size"]), None);
    }
}
