//! `cargo xtask lines`: how many lines of code each crate has.
//!
//! * Counted are the Rust files below `src` of each crate of the workspace. Programs in `tests`, `examples` and `benches` of a crate,
//!   and the Python package, are not looked at.
//! * Tests are left out: items and fields with the attribute `test`, `cfg(test)` or `cfg(all(test, …))`, and files that are modules of
//!   that kind.
//! * A line with nothing but white space is blank; one with nothing but a comment, documentation included, is a comment; every
//!   other line is code, within a string too.

use crate::project::Project;
use crate::rust::{Source, sources};
use anyhow::Result;
use std::fmt::Write as _;
use std::ops::AddAssign;

/// Lines by kind.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
struct Lines {
    files: usize,
    code: usize,
    comments: usize,
    blank: usize,
}

impl AddAssign for Lines {
    fn add_assign(&mut self, other: Lines) {
        self.files += other.files;
        self.code += other.code;
        self.comments += other.comments;
        self.blank += other.blank;
    }
}

/// Prints the table.
pub(crate) fn print(project: &Project) -> Result<bool> {
    let mut rows = Vec::new();
    for (name, folder) in project.crates()? {
        let mut lines = Lines::default();
        for source in sources(&folder)? {
            lines += count(&source);
        }
        rows.push((name, lines));
    }
    print!("{}", table(rows));
    Ok(true)
}

/// Lines of one file.
fn count(source: &Source) -> Lines {
    let mut lines = Lines { files: 1, ..Lines::default() };
    let mut at = 0;
    for (text, code) in source.text.split_inclusive('\n').zip(source.code.split_inclusive('\n')) {
        let first = at + text.len() - text.trim_start().len();
        let in_tests = source.tests.iter().any(|range| range.contains(&first) || range.contains(&at));
        match (text.trim(), code.trim()) {
            _ if in_tests => {}
            ("", _) => lines.blank += 1,
            (_, "") => lines.comments += 1,
            _ => lines.code += 1,
        }
        at += text.len();
    }
    lines
}

/// The crates by lines of code, and their sum.
fn table(mut rows: Vec<(String, Lines)>) -> String {
    rows.sort_by_key(|(name, lines)| (std::cmp::Reverse(lines.code), name.clone()));
    let mut sum = Lines::default();
    for (_, lines) in &rows {
        sum += *lines;
    }
    rows.push(("all".to_owned(), sum));
    let mut text =
        format!("{:<16}{:>7}{:>9}{:>10}{:>8}\n", "outside of tests", "files", "code", "comments", "blank");
    for (name, lines) in rows {
        let _ = writeln!(
            text,
            "{name:<16}{:>7}{:>9}{:>10}{:>8}",
            lines.files, lines.code, lines.comments, lines.blank
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_code_comments_or_blank_and_those_of_tests_are_none() {
        let text = "//! Docs.\n\nfn f() { // says what\n    g(\"// a\n b\")\n}\n\n/* a\n   b */\n#[cfg(test)]\nmod tests {\n    \
                    // Here.\n\n    fn t() {}\n}\nfn h() {}\n";
        let lines = count(&Source::new("a.rs".to_owned(), text.to_owned()));
        assert_eq!(lines, Lines { files: 1, code: 5, comments: 3, blank: 2 });
    }

    #[test]
    fn the_table_ends_with_the_sum() {
        let lines = |code| Lines { files: 1, code, comments: 2, blank: 3 };
        let text = table(vec![("a".to_owned(), lines(10)), ("b".to_owned(), lines(200))]);
        assert_eq!(
            text,
            "outside of tests  files     code  comments   blank\n\
             b                     1      200         2       3\n\
             a                     1       10         2       3\n\
             all                   2      210         4       6\n"
        );
    }
}
