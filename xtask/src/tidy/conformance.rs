//! Rows of the conformance pages, and the tests that show them.
//!
//! A row is a line of a table: `| id | section | what is asked | holds | shown by |`.
//!
//! * *holds* is `yes`, `in part: what does not`, `no: why`, or `not examined`;
//! * *shown by* names tests as `` `crate: test` ``, or says `id` where tests carry the row's id in their doc comments.
//!
//! A row that holds, in full or in part, has a test, and every test that a page names exists. The number of rows that are
//! not examined is printed.

use std::collections::{BTreeMap, BTreeSet};

/// Folder of the pages.
pub(super) const FOLDER: &str = "docs/conformance";

/// What ids begin with.
const DOCUMENTS: [&str; 5] = ["ISA", "ODG", "PDE", "CCM", "BKA"];

/// What has been found so far.
#[derive(Default)]
pub(super) struct Conformance {
    /// All rows by their ids.
    rows: BTreeMap<String, Row>,
    /// What is wrong with the pages themselves.
    faults: Vec<String>,
    /// Ids that tests carry, with where one of them does.
    tested: BTreeMap<String, String>,
    /// Tests by crate and name.
    tests: BTreeSet<(String, String)>,
}

/// A row of a page.
struct Row {
    place: String,
    holds: Holds,
    /// Crate and name of each test that the page names.
    shown: Vec<(String, String)>,
}

/// How far a row holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Holds {
    Yes,
    InPart,
    No,
    NotExamined,
}

impl Conformance {
    /// Takes in a page.
    pub(super) fn page(&mut self, name: &str, text: &str) {
        for (number, line) in text.lines().enumerate() {
            let Some(cells) = cells(line) else { continue };
            let Some(id) = cells.first().filter(|cell| is_id(cell)) else { continue };
            let place = format!("{name}:{}: {id}", number + 1);
            let [_, _, _, holds, shown] = cells[..] else {
                self.faults.push(format!("{place} has {} columns; 5 are needed", cells.len()));
                continue;
            };
            let Some(holds) = Holds::read(holds) else {
                self.faults.push(format!(
                    "{place} holds `{holds}`; write `yes`, `in part: …`, `no: …` or `not examined`"
                ));
                continue;
            };
            let row = Row { place, holds, shown: named_tests(shown) };
            if let Some(other) = self.rows.insert((*id).to_owned(), row) {
                self.faults.push(format!("{} has a second row", other.place));
            }
        }
    }

    /// Takes in a source file: ids in documentation of functions, ids in docstrings of Python tests, and names of tests.
    pub(super) fn source(&mut self, name: &str, text: &str) {
        let owner = owner(name);
        let mut attribute = false;
        for (number, line) in text.lines().enumerate() {
            let line = line.trim_start();
            attribute |= line.starts_with("#[test]");
            let rust = line.split_once("fn ").filter(|_| attribute);
            let python = line.strip_prefix("def test_").map(|_| ("", &line["def ".len()..]));
            if let Some((_, rest)) = rust.or(python) {
                let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
                self.tests.insert((owner.to_owned(), rest[..end].to_owned()));
                attribute = false;
            }
            // The examples of this very rule are no tests of rows.
            if owner == "xtask" || !line.starts_with("///") && !line.starts_with("\"\"\"") {
                continue;
            }
            let words = line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
            for id in words.filter(|word| is_id(word)) {
                self.tested.entry(id.to_owned()).or_insert_with(|| format!("{name}:{}", number + 1));
            }
        }
    }

    /// Rows without a test, tests that do not exist, and tests of rows that are on no page.
    pub(super) fn faults(&self) -> Vec<String> {
        let mut faults = self.faults.clone();
        for (id, row) in &self.rows {
            for (owner, test) in row.shown.iter().filter(|test| !self.tests.contains(*test)) {
                faults.push(format!("{} names the test `{owner}: {test}`, which does not exist", row.place));
            }
            let claims = matches!(row.holds, Holds::Yes | Holds::InPart);
            if claims && row.shown.is_empty() && !self.tested.contains_key(id) {
                faults.push(format!("{} has no test that names it, and names none", row.place));
            }
        }
        let unknown = self.tested.iter().filter(|(id, _)| !self.rows.contains_key(*id));
        faults.extend(unknown.map(|(id, place)| format!("{place}: {id} is no row of {FOLDER}")));
        faults
    }

    /// How many rows there are of each kind.
    pub(super) fn summary(&self) -> String {
        let count = |holds| self.rows.values().filter(|row| row.holds == holds).count();
        format!(
            "{FOLDER}: {} rows: {} hold, {} in part, {} do not, {} not examined",
            self.rows.len(),
            count(Holds::Yes),
            count(Holds::InPart),
            count(Holds::No),
            count(Holds::NotExamined)
        )
    }
}

impl Holds {
    /// A cell; a reason is needed where something does not hold.
    fn read(cell: &str) -> Option<Holds> {
        let reason = |prefix: &str| cell.strip_prefix(prefix).is_some_and(|why| !why.trim().is_empty());
        match cell {
            "yes" => Some(Holds::Yes),
            "not examined" => Some(Holds::NotExamined),
            _ if reason("in part: ") => Some(Holds::InPart),
            _ if reason("no: ") => Some(Holds::No),
            _ => None,
        }
    }
}

/// The cells of a line of a table. A `\|` is part of its cell.
fn cells(line: &str) -> Option<Vec<&str>> {
    let inner = line.trim_end().strip_prefix('|')?.strip_suffix('|')?;
    let mut cells = Vec::new();
    let mut start = 0;
    for (at, _) in inner.match_indices('|').filter(|(at, _)| !inner[..*at].ends_with('\\')) {
        cells.push(inner[start..at].trim());
        start = at + 1;
    }
    cells.push(inner[start..].trim());
    Some(cells)
}

/// The tests of a cell: each `` `crate: name` ``.
fn named_tests(cell: &str) -> Vec<(String, String)> {
    let quoted = cell.split('`').skip(1).step_by(2);
    quoted.filter_map(|name| name.split_once(": ")).map(|(a, b)| (a.to_owned(), b.to_owned())).collect()
}

/// What a file belongs to: the folder below `crates`, else the first folder.
fn owner(name: &str) -> &str {
    name.strip_prefix("crates/").unwrap_or(name).split('/').next().unwrap_or_default()
}

/// Whether it is an id: `ISA-TG-19`, `BKA-2P-01`, `X-04`.
fn is_id(word: &str) -> bool {
    let capitals =
        |part: &str| part.len() >= 2 && part.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
    let number = |part: &str| part.len() == 2 && part.bytes().all(|b| b.is_ascii_digit());
    match word.split('-').collect::<Vec<&str>>()[..] {
        [document, group, last] => DOCUMENTS.contains(&document) && capitals(group) && number(last),
        ["X", last] => number(last),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_a_document_a_group_and_two_digits() {
        assert!(["ISA-TG-19", "BKA-2P-01", "PDE-SP-08", "X-04"].iter().all(|word| is_id(word)));
        let others = ["ISA-TG", "ISA-TG-1", "ISA-tg-19", "UTF-8", "ISA-TG-19-2", "SHA-AB-19", "X-4", "Y-04"];
        assert!(!others.iter().any(|word| is_id(word)));
    }

    #[test]
    fn rows_without_tests_and_tests_without_rows_are_reported() {
        let mut found = Conformance::default();
        found.page(
            "p.md",
            "| row | section | asked | holds | shown by |\n|---|---|---|---|---|\n\
             | ISA-TG-01 | 1 | a graph opens | yes | id |\n\
             | ISA-TG-02 | 1 | none inside it | in part: not in bytes | id |\n\
             | ISA-TG-03 | 1 | ids | yes | `wsp-ir: ids_are_checked` |\n\
             | ISA-TG-04 | 1 | ids | yes | `wsp-ir: ids_are_not`, `python: test_ids` |\n\
             | ISA-TG-05 | 1 | a \\| b | no: it has no meaning here | |\n\
             | ISA-TG-06 | 1 | more | not examined | |\n",
        );
        found.source(
            "crates/wsp-ir/a.rs",
            "/// ISA-TG-01, ISA-MC-09.\n#[test]\nfn ids_are_checked() {}\n// ISA-TG-02 is not documentation.\nfn ids_are_not() {}\n",
        );
        found.source("python/tests/test_a.py", "def test_ids() -> None:\n");
        assert_eq!(
            found.faults(),
            [
                "p.md:4: ISA-TG-02 has no test that names it, and names none",
                "p.md:6: ISA-TG-04 names the test `wsp-ir: ids_are_not`, which does not exist",
                "crates/wsp-ir/a.rs:1: ISA-MC-09 is no row of docs/conformance"
            ]
        );
        assert_eq!(found.summary(), "docs/conformance: 6 rows: 3 hold, 1 in part, 1 do not, 1 not examined");
    }

    #[test]
    fn a_row_says_how_far_it_holds_and_stands_once() {
        let mut found = Conformance::default();
        found.page("p.md", "| X-01 | 1 | a | maybe | id |\n| X-02 | 1 | a |\n| X-03 | 1 | a | no: | id |\n");
        found.page("q.md", "| X-04 | 1 | a | not examined | |\n| X-04 | 1 | a | not examined | |\n");
        let faults = found.faults();
        assert_eq!(faults.len(), 4, "{faults:?}");
        assert!(faults[0].starts_with("p.md:1: X-01 holds `maybe`"));
        assert_eq!(faults[1], "p.md:2: X-02 has 3 columns; 5 are needed");
        assert_eq!(faults[3], "q.md:1: X-04 has a second row");
    }
}
