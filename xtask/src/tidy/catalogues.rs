//! Where the codes of crates are joined: with a second list, a code could be explained in one and missing in the other.
//!
//! A catalogue is a file that names the `CODES` of two crates or more. One may.

use crate::rust::Source;
use std::collections::BTreeSet;

/// The files that join codes.
#[derive(Default, Debug)]
pub(super) struct Catalogues(Vec<String>);

impl Catalogues {
    /// Takes a file of a crate; tests make codes of their own.
    pub(super) fn source(&mut self, name: &str, text: &str) {
        if !name.starts_with("crates/") || !name.contains("/src/") || name.contains("/tests") {
            return;
        }
        let source = Source::new(name.to_owned(), text.to_owned());
        let before = |text: &str| {
            let from = text.rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |at| at + 1);
            text[from..].to_owned()
        };
        let crates: BTreeSet<String> =
            source.code.match_indices("::CODES").map(|(at, _)| before(&source.code[..at])).collect();
        if crates.iter().filter(|name| name.starts_with("wsp_")).count() > 1 {
            self.0.push(name.to_owned());
        }
    }

    /// A fault for each catalogue past the first, and for none.
    pub(super) fn faults(&self) -> Vec<String> {
        let again =
            self.0.iter().skip(1).map(|file| {
                format!("{file}: joins codes of crates, as {} does; look them up there", self.0[0])
            });
        let none = self.0.is_empty().then(|| "no file joins the codes of all crates".to_owned());
        again.chain(none).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: &str = "const CRATES: [Codes; 2] = [wsp_ir::CODES, wsp_lang::CODES];\n";

    fn found(name: &str, text: &str) -> usize {
        let mut catalogues = Catalogues::default();
        catalogues.source("crates/pto-wsp/src/catalog.rs", ALL);
        catalogues.source(name, text);
        catalogues.faults().len()
    }

    #[test]
    fn a_second_list_is_found() {
        assert_eq!(found("crates/a/src/all.rs", ALL), 1);
    }

    #[test]
    fn the_codes_of_one_crate_and_tests_are_none() {
        assert_eq!(found("crates/a/src/one.rs", "fn f() { lookup(wsp_ir::CODES, wsp_ir::CODES) }\n"), 0);
        assert_eq!(found("crates/a/tests/it/all.rs", ALL), 0);
    }

    #[test]
    fn a_tree_without_a_catalogue_is_found() {
        assert_eq!(Catalogues::default().faults().len(), 1);
    }
}
