//! Rows of the conformance pages and the tests that carry their ids.

use std::collections::{BTreeMap, BTreeSet};

/// Folder of the pages.
pub(super) const FOLDER: &str = "docs/conformance";

/// What has been found so far.
#[derive(Default)]
pub(super) struct Conformance {
    /// Ids of all rows.
    rows: BTreeSet<String>,
    /// Ids that tests carry, with where one of them does.
    tested: BTreeMap<String, String>,
}

impl Conformance {
    /// Takes in a page.
    pub(super) fn page(&mut self, text: &str) {
        let first_cell = |line: &str| line.strip_prefix("| ")?.split(" |").next().map(str::to_owned);
        self.rows.extend(text.lines().filter_map(first_cell).filter(|cell| is_id(cell)));
    }

    /// Takes in a source file: ids in documentation of functions, and in docstrings of Python tests.
    pub(super) fn source(&mut self, name: &str, text: &str) {
        for (number, line) in text.lines().enumerate() {
            let line = line.trim_start();
            if !line.starts_with("///") && !line.starts_with("\"\"\"") {
                continue;
            }
            let words = line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
            for id in words.filter(|word| is_id(word)) {
                self.tested.entry(id.to_owned()).or_insert_with(|| format!("{name}:{}", number + 1));
            }
        }
    }

    /// Rows without a test, and tests of rows that are on no page.
    pub(super) fn faults(self) -> Vec<String> {
        let untested = self.rows.iter().filter(|row| !self.tested.contains_key(*row));
        let untested = untested.map(|row| format!("{FOLDER}: {row} has no test that names it"));
        let unknown = self.tested.iter().filter(|(id, _)| !self.rows.contains(*id));
        let unknown = unknown.map(|(id, place)| format!("{place}: {id} is no row of {FOLDER}"));
        untested.chain(unknown).collect()
    }
}

/// Whether it is an id: `ISA-TG-19`.
fn is_id(word: &str) -> bool {
    let parts: Vec<&str> = word.split('-').collect();
    let [document, group, number] = parts.as_slice() else { return false };
    let capitals = |part: &str| part.len() >= 2 && part.bytes().all(|b| b.is_ascii_uppercase());
    *document == "ISA" && capitals(group) && number.len() == 2 && number.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_a_document_a_group_and_two_digits() {
        assert!(is_id("ISA-TG-19"));
        assert!(["ISA-TG", "ISA-TG-1", "ISA-tg-19", "UTF-8", "ISA-TG-19-2"].iter().all(|word| !is_id(word)));
    }

    #[test]
    fn rows_without_tests_and_tests_without_rows_are_told() {
        let mut found = Conformance::default();
        found.page(
            "| row | what |\n|---|---|\n| ISA-TG-01 | a graph opens |\n| ISA-TG-02 | none inside it |\n",
        );
        found.source(
            "a.rs",
            "/// ISA-TG-01, ISA-MC-09.\n#[test]\nfn t() {}\n// ISA-TG-02 is not documentation.\n",
        );
        assert_eq!(
            found.faults(),
            [
                "docs/conformance: ISA-TG-02 has no test that names it",
                "a.rs:1: ISA-MC-09 is no row of docs/conformance"
            ]
        );
    }
}
