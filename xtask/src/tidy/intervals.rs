//! Where the ends of ranges are computed from operators: a second place is one more where the product of two ranges can be too small.
//!
//! Such an analysis is known by what it has: a struct with a lower and an upper end, in a file with an arm of a `match` for products or remainders.
//! One folder may have it.

use super::twins::bodies;
use crate::rust::{Source, has_word};

/// The folder.
const HOME: &str = "crates/wsp-core/src/int/";

/// Names of a lower end, and of an upper one.
const LOWER: [&str; 3] = ["lo", "low", "lower"];
const UPPER: [&str; 3] = ["hi", "high", "upper"];

/// Files that compute ends of ranges.
#[derive(Default, Debug)]
pub(super) struct Intervals {
    at_home: bool,
    elsewhere: Vec<String>,
}

impl Intervals {
    /// Takes a file; those of tests compute what they compare with.
    pub(super) fn source(&mut self, name: &str, text: &str) {
        if !name.starts_with("crates/") || !name.contains("/src/") || name.contains("/tests") {
            return;
        }
        let source = Source::new(name.to_owned(), text.to_owned());
        if !source.code.lines().any(is_arm) {
            return;
        }
        let has = |body: &str, names: [&str; 3]| names.iter().any(|name| has_word(body, name));
        if bodies(&source.code, "struct").any(|(_, body)| has(body, LOWER) && has(body, UPPER)) {
            match name.starts_with(HOME) {
                true => self.at_home = true,
                false => self.elsewhere.push(name.to_owned()),
            }
        }
    }

    /// A fault for each file elsewhere, and one when the folder has none.
    pub(super) fn faults(&self) -> Vec<String> {
        let again = self.elsewhere.iter().map(|file| {
            format!("{file}: computes ends of ranges from operators; give `wsp_core::int::Bounds` its ends")
        });
        let none = (!self.at_home).then(|| format!("{HOME}: no file computes ends of ranges"));
        again.chain(none).collect()
    }
}

/// Whether a line begins an arm for products or remainders.
fn is_arm(line: &str) -> bool {
    line.split_once("=>")
        .is_some_and(|(pattern, _)| ["Mul", "Rem"].iter().any(|operator| has_word(pattern, operator)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANGE: &str =
        "struct Range { low: i64, high: i64 }\nfn f() { match op {\n    BinOp::Mul => a.products(b),\n} }\n";

    fn found(name: &str, text: &str) -> usize {
        let mut intervals = Intervals::default();
        intervals.source("crates/wsp-core/src/int/range.rs", RANGE);
        intervals.source(name, text);
        intervals.faults().len()
    }

    #[test]
    fn a_second_analysis_is_found_whatever_its_ends_are() {
        assert_eq!(found("crates/a/src/interval.rs", RANGE), 1);
        let symbolic = "struct Interval {\n    lo: Option<Expr>,\n    hi: Option<Expr>,\n}\nfn f() { match op {\n    BinOp::Rem if nonneg => least(a, b),\n} }\n";
        assert_eq!(found("crates/a/src/interval.rs", symbolic), 1);
        assert_eq!(found("crates/wsp-core/src/int/bounds.rs", symbolic), 0);
    }

    #[test]
    fn ends_without_operators_and_operators_without_ends_are_none() {
        for other in [
            "struct Range { low: i64, high: i64 }",
            "fn f() { match op { BinOp::Mul => ins.fmul(low, high) } }",
            "struct Range { low: i64 }\nfn f(high: u32) { match op {\n    BinOp::Mul => high,\n} }\n",
        ] {
            assert_eq!(found("crates/a/src/x.rs", other), 0, "{other}");
        }
        assert_eq!(found("crates/a/tests/it/x.rs", RANGE), 0);
    }

    #[test]
    fn a_folder_without_the_analysis_is_found() {
        assert_eq!(Intervals::default().faults().len(), 1);
    }
}
