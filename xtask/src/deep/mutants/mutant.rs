//! One change of the code, as `cargo-mutants` lists it.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// A place in a file: a line and a character of it, counted from 1.
type Place = (usize, usize);

/// One change of the code. Lines above it do not change its text: it has no numbers.
pub(super) struct Mutant {
    /// The file, below the project.
    pub(super) file: String,
    /// What is changed and in which function, in the words of the tool.
    pub(super) change: String,
    /// The first changed line, changed.
    pub(super) line: String,
    path: PathBuf,
    start: Place,
    end: Place,
    replacement: String,
}

/// The mutants of a list that the tool prints as JSON.
pub(super) fn read(root: &Path, json: &[u8]) -> Result<Vec<Mutant>> {
    let list: Vec<Value> = serde_json::from_slice(json).context("cargo-mutants should print a list")?;
    let mut sources = BTreeMap::new();
    let one = |value: &Value| -> Result<Mutant> {
        let mut mutant =
            described(root, value).with_context(|| format!("a mutant is not understood: {value}"))?;
        if !sources.contains_key(&mutant.path) {
            sources.insert(mutant.path.clone(), mutant.source()?);
        }
        mutant.line = mutant.changed_line(&sources[&mutant.path])?;
        Ok(mutant)
    };
    list.iter().map(one).collect()
}

/// A mutant of the list, without its line.
fn described(root: &Path, value: &Value) -> Option<Mutant> {
    let text = |name: &str| value[name].as_str();
    let place = |name: &str| {
        let number = |part: &str| usize::try_from(value["span"][name][part].as_u64()?).ok();
        Some((number("line")?, number("column")?))
    };
    let file = text("file")?;
    let change = text("name")?.split_once(": ")?.1;
    Some(Mutant {
        file: file.to_owned(),
        change: change.to_owned(),
        line: String::new(),
        path: root.join(file),
        start: place("start")?,
        end: place("end")?,
        replacement: text("replacement")?.to_owned(),
    })
}

impl Mutant {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The text of its file.
    pub(super) fn source(&self) -> Result<String> {
        std::fs::read_to_string(&self.path).with_context(|| format!("{} cannot be read", self.path.display()))
    }

    /// The text of its file with the change.
    pub(super) fn applied(&self, source: &str) -> Result<String> {
        let at = |place: Place| {
            offset(source, place)
                .with_context(|| format!("{} has no line and character {place:?}", self.file))
        };
        let (start, end) = (at(self.start)?, at(self.end)?);
        ensure!(start <= end, "{} is changed from {:?} to {:?}", self.file, self.start, self.end);
        Ok(format!("{}{}{}", &source[..start], self.replacement, &source[end..]))
    }

    fn changed_line(&self, source: &str) -> Result<String> {
        let applied = self.applied(source)?;
        let line = applied.lines().nth(self.start.0 - 1).context("the changed line should be there")?;
        Ok(line.trim().to_owned())
    }

    #[cfg(test)]
    pub(super) fn named(file: &str, change: &str, line: &str) -> Mutant {
        Mutant {
            file: file.to_owned(),
            change: change.to_owned(),
            line: line.to_owned(),
            path: PathBuf::from(file),
            start: (1, 1),
            end: (1, 1),
            replacement: String::new(),
        }
    }
}

impl fmt::Display for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: `{}`", self.file, self.change, self.line)
    }
}

/// Where a place lies in a text, in bytes.
fn offset(text: &str, (line, column): Place) -> Option<usize> {
    let before: usize = text.split_inclusive('\n').take(line.checked_sub(1)?).map(str::len).sum();
    let rest = text.get(before..)?;
    let (inside, _) = rest.char_indices().chain([(rest.len(), ' ')]).nth(column.checked_sub(1)?)?;
    Some(before + inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "fn a() {\n    // é\n    é < 2 // <\n}\n";

    fn listed(start: Place, end: Place, replacement: &str) -> Mutant {
        Mutant {
            start,
            end,
            replacement: replacement.to_owned(),
            ..Mutant::named("a.rs", "replace < with <=", "")
        }
    }

    #[test]
    fn a_change_is_made_at_its_characters() -> Result<()> {
        let mutant = listed((3, 7), (3, 8), "<=");
        assert_eq!(mutant.applied(SOURCE)?, "fn a() {\n    // é\n    é <= 2 // <\n}\n");
        assert_eq!(mutant.changed_line(SOURCE)?, "é <= 2 // <");
        assert_eq!(listed((1, 8), (4, 2), ";").applied(SOURCE)?, "fn a() ;\n");
        assert!(listed((9, 7), (9, 8), "").applied(SOURCE).is_err());
        assert!(listed((3, 8), (3, 7), "").applied(SOURCE).is_err());
        Ok(())
    }

    #[test]
    fn a_list_is_read_and_what_is_not_understood_refused() -> Result<()> {
        let folder = std::env::temp_dir().join(format!("wsp-mutants-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join("a.rs"), SOURCE)?;
        let list = r#"[{"file": "a.rs", "name": "a.rs:3:7: replace < with <= in a", "replacement": "<=",
            "span": {"start": {"line": 3, "column": 7}, "end": {"line": 3, "column": 8}}}]"#;
        let read = read(&folder, list.as_bytes())
            .and_then(|all| super::read(&folder, b"[{}]").err().context("it should be refused").map(|_| all));
        std::fs::remove_dir_all(&folder)?;
        let texts: Vec<String> = read?.iter().map(Mutant::to_string).collect();
        assert_eq!(texts, ["a.rs: replace < with <= in a: `é <= 2 // <`"]);
        Ok(())
    }
}
