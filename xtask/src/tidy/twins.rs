//! Enums that say the same, so that a `match` between them would copy one into the other.
//!
//! Two enums are twins when their variants have the same names, or when the names of one are four fifths or more of the
//! other's and at least three, and variants of one name carry the same data. Where they carry different data (a tree and its
//! compiled form, a policy and what it comes to) a `match` between them translates, and both are needed. An enum without data
//! that has all the names of one with data is its kind, and a twin too.

use crate::rust::{Source, is_of_name};
use std::collections::BTreeMap;

/// Pairs that stay, each with the reason.
const ALLOWED: &[(&str, &str, &str)] = &[
    (
        "wsp-runtime/src/tg/config.rs Tracing",
        "wsp-backend/src/options.rs Recording",
        "two switches: one keeps times of blocks, the other what tasks store",
    ),
    (
        "wsp-core/src/tg/machine/mod.rs Step",
        "wsp-device/src/graph/abi.rs StepKind",
        "the C interface has numbers in the place of variants with data",
    ),
    (
        "wsp-ascend/src/expander/tree.rs Dim",
        "wsp-core/src/ptow/op.rs DimKind",
        "the word of a program, and the dimension with its expressions read",
    ),
    (
        "wsp-core/src/ptow/op.rs DimKind",
        "wsp-ir/src/workload/model.rs DimRange",
        "the word of a program, and the dimension with its expressions in the source",
    ),
    (
        "wsp-cpu/src/tg/item.rs Item",
        "wsp-tg/src/lint/launches/open.rs UsedBy",
        "one of a graph by its place, and what a message says of it",
    ),
    (
        "wsp-ir/src/tg/outline/mod.rs Home",
        "wsp-tg/src/plan/mod.rs TensorKind",
        "a plan has a tensor of a graph by the graph's number, the outline by its place",
    ),
    ("wsp-ir/src/types.rs ScalarTy", "wsp-kernel/src/exec/value.rs Value", "a type, and a value of it"),
    ("wsp-plan/src/source.rs PlanSource", "wsp-plan/src/source.rs ProgramKind", "a plan, and its kind"),
    (
        "wsp-tg/src/certainty.rs Certainty",
        "wsp-tg/src/lint/launches/between.rs Met",
        "how sure something is, and which devices surely meet",
    ),
];

/// An enum of a source file.
#[derive(Debug)]
struct Enum {
    /// Crate and path in it, then the name.
    place: String,
    /// What each variant carries, by its name.
    variants: BTreeMap<String, String>,
}

/// The enums of all crates.
#[derive(Default, Debug)]
pub(super) struct Twins {
    enums: Vec<Enum>,
}

impl Twins {
    /// Takes the enums of a file; files of tests have none that count.
    pub(super) fn source(&mut self, name: &str, text: &str) {
        let Some(path) = name.strip_prefix("crates/") else { return };
        let Some((_, inside)) = path.split_once('/') else { return };
        if !inside.starts_with("src/") || inside.contains("/tests") {
            return;
        }
        let source = Source::new(inside.to_owned(), text.to_owned());
        for (title, body) in bodies(&source.code, "enum") {
            let place = format!("{path} {title}");
            let variants = variants(body);
            self.enums.push(Enum { place, variants });
        }
    }

    /// Every pair of twins that is not allowed, and every row of the list that allows none.
    pub(super) fn faults(&self) -> Vec<String> {
        let mut used = vec![false; ALLOWED.len()];
        let mut faults = Vec::new();
        for (at, a) in self.enums.iter().enumerate() {
            for b in self.enums[at + 1..].iter().filter(|b| are_twins(a, b)) {
                let same =
                    |x: &str, y: &str| (x == a.place && y == b.place) || (x == b.place && y == a.place);
                match ALLOWED.iter().position(|(x, y, _)| same(x, y)) {
                    Some(row) => used[row] = true,
                    None => faults.push(format!(
                        "crates/{}: the twin of crates/{}; keep one, where both can use it",
                        b.place, a.place
                    )),
                }
            }
        }
        let stale = ALLOWED.iter().zip(used).filter(|(_, used)| !used);
        faults.extend(
            stale.map(|((a, b, _), _)| format!("{a}, {b}: a pair of enums that is allowed, and is none")),
        );
        faults
    }
}

/// Whether a `match` from the smaller enum to the other would copy it, or one is the kind of the other.
fn are_twins(a: &Enum, b: &Enum) -> bool {
    let (few, many) = if a.variants.len() <= b.variants.len() { (a, b) } else { (b, a) };
    let (fewer, more) = (few.variants.len(), many.variants.len());
    let near = fewer == more || (fewer >= 3 && fewer * 5 >= more * 4);
    let carries = |of: &Enum| of.variants.values().any(|data| !data.is_empty());
    let same = |(name, data): (&String, &String)| many.variants.get(name).is_some_and(|of| of == data);
    let named = |name: &String| many.variants.contains_key(name);
    let kinds = fewer == more && fewer >= 3 && carries(a) != carries(b) && few.variants.keys().all(named);
    kinds || fewer >= 2 && near && few.variants.iter().all(same)
}

/// Names and bodies of the enums, or of other types that begin with such a word, of a text.
pub(super) fn bodies<'t>(text: &'t str, word: &str) -> impl Iterator<Item = (&'t str, &'t str)> {
    text.match_indices(word).filter_map(|(at, word)| {
        let starts = text[..at].chars().next_back().is_none_or(char::is_whitespace);
        let rest = text[at + word.len()..].strip_prefix(' ').filter(|_| starts)?;
        let open = rest.find(['{', '(', ';', '"']).filter(|at| rest[*at..].starts_with(['{', '(']))?;
        let title = rest.split(|c: char| !is_of_name(c)).next()?;
        let body = &rest[open + 1..];
        Some((title, &body[..closing(body)?]))
    })
}

/// Where the bracket closes that stands open before the text.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 1;
    text.char_indices().find_map(|(at, c)| {
        depth += i32::from("{([".contains(c)) - i32::from("})]".contains(c));
        (depth == 0).then_some(at)
    })
}

/// The variants of an enum's body with what they carry: types without their paths and without blanks. What stands after `=`
/// is a number, or a macro's.
pub(super) fn variants(body: &str) -> BTreeMap<String, String> {
    // Of arrows, what is no bracket.
    let body = body.replace("=>", "=").replace("->", "");
    let mut found = BTreeMap::new();
    let mut rest = body.trim_start();
    while !rest.is_empty() {
        if let Some(attribute) = rest.strip_prefix("#[") {
            let Some(end) = closing(attribute) else { break };
            rest = attribute[end + 1..].trim_start();
            continue;
        }
        let end = comma(rest);
        let variant = rest[..end].split('=').next().unwrap_or_default();
        let name: String = variant.chars().take_while(|c| is_of_name(*c)).collect();
        let data = variant[name.len()..].to_owned();
        if name.starts_with(char::is_uppercase) {
            found.insert(name, carried(&data));
        }
        rest = rest[end..].trim_start_matches(',').trim_start();
    }
    found
}

/// Where the first comma stands that is inside of no bracket; the end of the text where there is none.
fn comma(text: &str) -> usize {
    let mut depth = 0;
    let found = text.char_indices().find(|(_, c)| {
        depth += i32::from("{([<".contains(*c)) - i32::from("})]>".contains(*c));
        *c == ',' && depth == 0
    });
    found.map_or(text.len(), |(at, _)| at)
}

/// The data of a variant in one spelling.
fn carried(data: &str) -> String {
    let mut spelled = String::new();
    for part in data.split_inclusive(|c: char| !is_of_name(c) && c != ':') {
        spelled.push_str(part.rsplit("::").next().unwrap_or(part).trim());
    }
    spelled.replace(",}", "}").replace(",)", ")")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pairs among made-up files.
    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let mut twins = Twins::default();
        files.iter().for_each(|(name, text)| twins.source(name, text));
        assert!(!twins.enums.is_empty(), "no enum was found");
        twins.faults().into_iter().filter(|fault| !fault.contains("is allowed")).collect()
    }

    const MODE: &str = "/// What a full window does.\n#[derive(Clone)]\npub enum Mode {\n    /// Waits, or not.\n    #[default]\n    Stall = 0,\n    Abort,\n    Of(u32, [u8; 4]),\n}\n";

    #[test]
    fn enums_with_the_same_variants_are_twins() {
        let other = "enum Policy { Abort, Of(u32,[u8; 4]), Stall }";
        let faults = found(&[("crates/a/src/mode.rs", MODE), ("crates/b/src/x/y.rs", other)]);
        assert_eq!(
            faults,
            [
                "crates/b/src/x/y.rs Policy: the twin of crates/a/src/mode.rs Mode; keep one, where both can use it"
            ]
        );
    }

    #[test]
    fn one_variant_more_of_five_is_a_twin_and_of_four_is_none() {
        let few = ("crates/a/src/l.rs", "enum Few { A, B, C, D }");
        assert_eq!(found(&[few, ("crates/b/src/l.rs", "enum Many { A, B, C, D, E }")]).len(), 1);
        assert!(found(&[few, ("crates/b/src/l.rs", "enum Many { A, B, C, D, E, F }")]).is_empty());
        assert!(found(&[few, ("crates/b/src/l.rs", "enum Near { A, B, C, X }")]).is_empty());
        assert!(
            found(&[
                ("crates/a/src/l.rs", "enum Two { A, B }"),
                ("crates/b/src/l.rs", "enum Three { A, B, C }")
            ])
            .is_empty()
        );
    }

    #[test]
    fn other_data_other_meaning() {
        let tree = ("crates/a/src/l.rs", "enum Cut { Whole, Fixed(Expr), At { place: ir::Expr } }");
        let value = |fixed: &'static str| ("crates/b/src/l.rs", fixed);
        assert_eq!(found(&[tree, value("enum Cut { Whole, Fixed(x::Expr), At { place: Expr, } }")]).len(), 1);
        assert!(found(&[tree, value("enum Cut { Whole, Fixed(u32), At { place: Expr } }")]).is_empty());
        assert!(found(&[tree, value("enum Cut { Whole, Fixed, At { place: Expr } }")]).is_empty());
    }

    #[test]
    fn the_kind_of_an_enum_with_data_is_its_twin() {
        let step = ("crates/a/src/l.rs", "enum Step { Run(u32), Gang(u32), Idle }");
        assert_eq!(
            found(&[step, ("crates/b/src/l.rs", "enum Kind { Run = 0, Gang = 1, Idle = 2 }")]).len(),
            1
        );
        assert!(found(&[step, ("crates/b/src/l.rs", "enum Kind { Run, Gang, Done }")]).is_empty());
        assert!(found(&[step, ("crates/b/src/l.rs", "enum Kind { Run, Gang, Idle, Done }")]).is_empty());
    }

    #[test]
    fn a_macro_that_declares_enums_with_words_is_read() {
        let words = "words! {\n    enum Mode { Stall = 0 => \"stall\", Abort => \"abort\", Of(u32, [u8; 4]) => \"of\" }\n}";
        assert_eq!(found(&[("crates/a/src/m.rs", MODE), ("crates/b/src/m.rs", words)]).len(), 1);
    }

    #[test]
    fn files_of_one_crate_count_and_tests_do_not() {
        let first = ("crates/a/src/mode.rs", MODE);
        let in_tests = format!("fn f() {{}}\n#[cfg(test)]\nmod tests {{\n{MODE}}}\n");
        assert!(found(&[first, ("crates/b/src/mode.rs", &in_tests)]).is_empty());
        assert!(
            found(&[first, ("crates/b/tests/mode.rs", MODE), ("crates/b/src/x/tests.rs", MODE)]).is_empty()
        );
        assert_eq!(found(&[first, ("crates/a/src/other.rs", MODE)]).len(), 1);
    }

    #[test]
    fn an_allowed_pair_that_is_none_is_reported() {
        let faults = Twins::default().faults();
        assert_eq!(faults.len(), ALLOWED.len());
        assert!(faults[0].ends_with("a pair of enums that is allowed, and is none"), "{}", faults[0]);
    }
}
