//! How many crates have a lexer: each is one more place where a comment, a number or a name can end differently.
//!
//! A lexer is known by what it tells apart: a file that asks of characters whether they are blanks, digits, and letters of names or else
//! brackets and quotes, takes text into tokens. One crate may have such files; readers of formats of others are named, with the reason.

use crate::rust::Source;
use std::collections::BTreeMap;

/// Most crates that do.
const MOST: usize = 1;

/// Files that read the format of another, each with the reason.
const OF_OTHERS: [(&str, &str); 2] = [
    ("crates/pto-wsp/src/npy/header.rs", "the header of a `.npy` file is a literal of Python, in one line"),
    (
        "crates/wsp-report/src/read/json.rs",
        "traces are JSON of hundreds of megabytes, read without a tree of them",
    ),
];

/// Ways to ask for blanks.
const BLANKS: &[&str] = &["is_whitespace", "is_ascii_whitespace", "trim_start", "' '", "'\\t'", "'\\n'"];
/// Ways to ask for digits.
const DIGITS: &[&str] = &["is_digit", "is_ascii_digit", "to_digit", "'0'..='9'", "b'0'..=b'9'"];
/// Ways to ask for letters of names.
const NAMES: &[&str] = &[
    "is_alphabetic",
    "is_ascii_alphabetic",
    "is_alphanumeric",
    "is_ascii_alphanumeric",
    "'a'..='z'",
    "b'a'..=b'z'",
    "'_'",
];
/// Ways to ask for brackets.
const BRACKETS: &[&str] = &["'('", "'['", "'{'"];
/// Ways to ask for quotes.
const QUOTES: &[&str] = &["'\"'"];

/// The files that take text into tokens, by crate.
#[derive(Default, Debug)]
pub(super) struct Lexers {
    crates: BTreeMap<String, Vec<String>>,
    of_others: Vec<String>,
}

impl Lexers {
    /// Takes a file; those of tests read what they compare with.
    pub(super) fn source(&mut self, name: &str, text: &str) {
        let Some((krate, inside)) = name.strip_prefix("crates/").and_then(|path| path.split_once('/')) else {
            return;
        };
        if !inside.starts_with("src/") || inside.contains("tests") {
            return;
        }
        let source = Source::new(inside.to_owned(), text.to_owned());
        if !is_lexer(&source) {
            return;
        }
        if OF_OTHERS.iter().any(|(file, _)| *file == name) {
            self.of_others.push(name.to_owned());
        } else {
            self.crates.entry(krate.to_owned()).or_default().push(name.to_owned());
        }
    }

    /// A fault when there are too many, and one for each file that is named and is none.
    pub(super) fn faults(&self) -> Vec<String> {
        let gone = OF_OTHERS.iter().filter(|(file, _)| !self.of_others.iter().any(|found| found == file));
        let mut faults: Vec<String> =
            gone.map(|(file, why)| format!("{file} ({why}): named among the lexers, and is none")).collect();
        if self.crates.len() <= MOST {
            return faults;
        }
        let files: Vec<&str> = self.crates.values().flatten().map(String::as_str).collect();
        let found = self.crates.len();
        faults.push(format!(
            "{found} crates have a lexer, at most {MOST} may; write the rules of the language for `wsp-syntax`: {}",
            files.join(", ")
        ));
        faults
    }
}

/// Whether a file takes text into tokens.
fn is_lexer(source: &Source) -> bool {
    let asks_for = |ways: &[&str]| ways.iter().any(|way| asks(source, way));
    asks_for(BLANKS) && asks_for(DIGITS) && (asks_for(NAMES) || asks_for(BRACKETS) && asks_for(QUOTES))
}

/// Whether the code of a file has a text, be it a character in quotation marks. Comments and tests are spaces in the code.
fn asks(source: &Source, way: &str) -> bool {
    source.text.match_indices(way).any(|(at, _)| source.code.as_bytes()[at] != b' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEXERS: [(&str, &str); 4] = [
        (
            "crates/a/src/lexer.rs",
            "fn f() { match c {\n    ' ' => skip(),\n    '0'..='9' => number(),\n    _ if c.is_alphabetic() => name(),\n} }\n",
        ),
        (
            "crates/a/src/more.rs",
            "fn f(b: u8) { b.is_ascii_whitespace() || b.is_ascii_digit() || b == b'_' }\n",
        ),
        (
            "crates/b/src/scan.rs",
            "fn f() { let rest = rest.trim_start(); c.to_digit(16); c.is_ascii_alphanumeric(); }\n",
        ),
        (
            "crates/c/src/tree.rs",
            "fn f() { let rest = rest.trim_start(); c.to_digit(16); matches!(c, '(' | ')') || c == '\"'; }\n",
        ),
    ];

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let mut lexers = Lexers::default();
        OF_OTHERS.iter().for_each(|(file, _)| lexers.source(file, LEXERS[3].1));
        for (name, text) in files {
            lexers.source(name, text);
        }
        lexers.faults()
    }

    #[test]
    fn one_crate_may_have_a_lexer_and_a_second_is_a_fault() {
        assert!(found(&LEXERS[..2]).is_empty());
        for second in &LEXERS[2..] {
            let faults = found(&[LEXERS[0], LEXERS[1], *second]);
            assert!(faults.len() == 1 && faults[0].starts_with("2 crates have a lexer"), "{faults:?}");
            assert!(
                faults[0].ends_with(&format!("crates/a/src/lexer.rs, crates/a/src/more.rs, {}", second.0))
            );
        }
    }

    #[test]
    fn a_file_that_is_named_and_is_no_lexer_is_a_fault() {
        assert_eq!(Lexers::default().faults().len(), OF_OTHERS.len());
    }

    #[test]
    fn files_that_ask_for_less_comments_and_tests_have_none() {
        for other in [
            "fn f() { c.is_ascii_digit() || c.is_alphabetic() }",
            "fn f() { c.is_whitespace() || c.is_ascii_digit() }",
            "fn f() { c.is_whitespace() || c.is_ascii_digit() || c == '(' }",
            "// is_whitespace, is_digit, is_alphabetic",
            "#[cfg(test)]\nmod tests {\n    fn f() { is_whitespace(); is_digit(); is_alphabetic() }\n}\n",
        ] {
            assert!(found(&[LEXERS[0], ("crates/b/src/x.rs", other)]).is_empty(), "{other}");
        }
    }
}
