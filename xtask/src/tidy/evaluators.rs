//! How many files compute integer operators, and which enums list them: each is one more place where an operator can mean something
//! else.
//!
//! An enum lists operators when it has a sum, a difference, a product and a remainder: `wsp_core::int::BinOp` is the one. Stored forms
//! that list them beside what they load are named here, with the reason.
//!
//! An evaluator is known by its remainder: an arm of a `match` on operators, or a line of a table, whose result is a remainder that is
//! computed there. Emitted C++ is text, and does not count.

use super::twins::{bodies, variants};
use crate::rust::Source;

/// Most files that do.
const MOST: usize = 3;

/// Ways to compute a remainder.
const REMAINDERS: [&str; 7] =
    ["checked_rem", "wrapping_rem", "overflowing_rem", "rem_euclid", ".urem(", ".srem(", " % "];

/// What an enum of operators has.
const OPERATORS: [&str; 4] = ["Add", "Sub", "Mul", "Rem"];

/// Enums that list operators, each with the reason.
const LISTS: [(&str, &str); 2] = [
    ("crates/wsp-core/src/int/mod.rs BinOp", "the table of operators"),
    (
        "crates/wsp-core/src/tg/scalar.rs ExprOp",
        "words of stored task graphs: each is one byte beside those that load; `ExprOp::operator` says which operator it is",
    ),
];

/// The files that compute integer operators, and the enums that list them.
#[derive(Default, Debug)]
pub(super) struct Evaluators {
    files: Vec<String>,
    lists: Vec<String>,
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
        for (title, body) in bodies(&source.code, "enum") {
            let names = variants(body);
            let has =
                |operator: &str| names.keys().any(|name| name.strip_prefix('X').unwrap_or(name) == operator);
            if OPERATORS.into_iter().all(has) {
                self.lists.push(format!("{name} {title}"));
            }
        }
        if source.code.lines().any(is_remainder) {
            self.files.push(name.to_owned());
        }
    }

    /// A fault when there are too many, one for each enum that is not named, and one for each name that is no such enum.
    pub(super) fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if self.files.len() > MOST {
            let files = self.files.join(", ");
            let found = self.files.len();
            faults.push(format!(
                "{found} files compute integer operators, at most {MOST} may; use `wsp_core::int`: {files}"
            ));
        }
        let is_named = |list: &String| LISTS.iter().any(|(named, _)| named == list);
        let more = self.lists.iter().filter(|list| !is_named(list));
        faults.extend(
            more.map(|list| format!("{list}: a second enum of operators; use `wsp_core::int::BinOp`")),
        );
        let gone = LISTS.iter().filter(|(named, _)| !self.lists.iter().any(|list| list == named));
        faults.extend(
            gone.map(|(named, why)| {
                format!("{named} ({why}): named among the enums of operators, and is none")
            }),
        );
        faults
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
        let lists = LISTS.map(|(named, _)| named.to_owned()).to_vec();
        let mut evaluators = Evaluators { files: Vec::new(), lists };
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
    fn a_second_enum_of_operators_is_a_fault_and_one_of_other_things_is_none() {
        let faults = found(0, "/// Of two.\npub enum IntBinary { Add, Sub, Mul, Div, Rem, Min(u8) }\n");
        assert_eq!(
            faults,
            ["crates/a/src/more.rs IntBinary: a second enum of operators; use `wsp_core::int::BinOp`"]
        );
        assert_eq!(
            found(0, "words! { enum W { XAdd => 1, XSub => 2, XMul => 3, XRem => 4, XLoad => 5 } }").len(),
            1
        );
        assert!(found(0, "enum Tile { Add, Sub, Mul, Div, Max, Min } // Rem").is_empty());
        assert!(found(0, "enum Typed { AddU32, SubU32, MulU32, RemU32 }").is_empty());
    }

    #[test]
    fn an_enum_that_is_named_and_is_none_is_a_fault() {
        assert_eq!(Evaluators::default().faults().len(), LISTS.len());
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
