//! How many files compute integer operators: each is one more place where an operator can mean something else.
//!
//! An evaluator is known by its remainder: an arm of a `match` on operators, or a line of a table, whose result is a remainder that is
//! computed there. Emitted C++ is text, and does not count.

use crate::rust::Source;

/// Most files that do.
const MOST: usize = 3;

/// Ways to compute a remainder.
const REMAINDERS: [&str; 7] =
    ["checked_rem", "wrapping_rem", "overflowing_rem", "rem_euclid", ".urem(", ".srem(", " % "];

/// The files that compute integer operators.
#[derive(Default, Debug)]
pub(super) struct Evaluators {
    files: Vec<String>,
}

impl Evaluators {
    /// Takes a file; those of tests compute what they compare with.
    pub(super) fn source(&mut self, name: &str, text: &str) {
        let Some((_, inside)) = name.strip_prefix("crates/").and_then(|path| path.split_once('/')) else {
            return;
        };
        if !inside.starts_with("src/") || inside.contains("/tests") || !text.contains("Rem") {
            return;
        }
        let source = Source::new(inside.to_owned(), text.to_owned());
        if source.code.lines().any(is_remainder) {
            self.files.push(name.to_owned());
        }
    }

    /// A fault when there are too many.
    pub(super) fn faults(&self) -> Vec<String> {
        if self.files.len() <= MOST {
            return Vec::new();
        }
        let files = self.files.join(", ");
        let found = self.files.len();
        vec![format!(
            "{found} files compute integer operators, at most {MOST} may; use `wsp_core::int`: {files}"
        )]
    }
}

/// Whether a line computes the remainder of an operator that is one.
fn is_remainder(line: &str) -> bool {
    let Some((pattern, value)) = line.split_once("=>") else { return false };
    let names = pattern.split(|c: char| c != '_' && !c.is_ascii_alphanumeric());
    let mut names = names.map(|name| name.trim_end_matches(|c: char| c.is_ascii_digit() || "UI".contains(c)));
    names.any(|name| matches!(name, "Rem" | "XRem")) && REMAINDERS.iter().any(|way| value.contains(way))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARMS: [&str; 4] = [
        "fn f() { match op {\n    BinOp::Rem => a.checked_rem(b),\n} }\n",
        "fn f() { match op {\n    Op::RemU32 => a % b,\n} }\n",
        "fn f() { match op {\n    XOp::XRem | XOp::XDiv => wrapping_rem(a, b),\n} }\n",
        "fn f() { match op {\n    ExprOp::Rem if b != 0 => ins.urem(a, b),\n} }\n",
    ];

    fn found(count: usize, more: &str) -> Vec<String> {
        let mut evaluators = Evaluators::default();
        for (at, text) in ARMS[..count].iter().enumerate() {
            evaluators.source(&format!("crates/a/src/x{at}.rs"), text);
        }
        evaluators.source("crates/a/src/more.rs", more);
        evaluators.faults()
    }

    #[test]
    fn three_evaluators_are_taken_and_a_fourth_is_a_fault() {
        assert!(found(3, "").is_empty());
        let faults = found(4, "");
        assert!(faults.len() == 1 && faults[0].starts_with("4 files compute"), "{faults:?}");
        assert!(faults[0].ends_with("x0.rs, crates/a/src/x1.rs, crates/a/src/x2.rs, crates/a/src/x3.rs"));
    }

    #[test]
    fn names_texts_and_tests_of_remainders_are_none() {
        for other in [
            "fn f() { match op { BinOp::Rem => \"%\" } }",
            "fn f() { match op { BinOp::Rem => call(\"rem\") } }",
            "fn f() { match op { BinOp::Div => a.checked_rem(b) } }",
            "// BinOp::Rem => a % b",
            "#[cfg(test)]\nmod tests {\n    fn f() { match op { BinOp::Rem => a % b } }\n}\n",
        ] {
            assert!(found(3, other).is_empty(), "{other}");
        }
    }
}
