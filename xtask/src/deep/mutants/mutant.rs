//! One change of the code, as `cargo-mutants` lists it.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::path::Path;

/// A place in a file: a line and a character of it, counted from 1.
type Place = (usize, usize);
/// From one place to before another.
type Span = (Place, Place);

/// One change of the code. Lines above it do not change its text: it has no numbers.
pub(super) struct Mutant {
    /// The file, below the project.
    pub(super) file: String,
    /// What is changed and in which function, in the words of the tool.
    pub(super) change: String,
    /// The first changed line, changed.
    pub(super) line: String,
    span: Span,
    /// The function that it is in; none in a constant.
    function: Option<Span>,
    replacement: String,
}

/// The mutants of a list that the tool prints as JSON.
pub(super) fn read(root: &Path, json: &[u8]) -> Result<Vec<Mutant>> {
    let list: Vec<Value> = serde_json::from_slice(json).context("cargo-mutants should print a list")?;
    let mut sources = BTreeMap::new();
    let one = |value: &Value| -> Result<Mutant> {
        let mut mutant = described(value).with_context(|| format!("a mutant is not understood: {value}"))?;
        if !sources.contains_key(&mutant.file) {
            let source = std::fs::read_to_string(root.join(&mutant.file));
            let source = source.with_context(|| format!("{} cannot be read", mutant.file))?;
            sources.insert(mutant.file.clone(), source);
        }
        mutant.line = mutant.changed_line(&sources[&mutant.file])?;
        Ok(mutant)
    };
    list.iter().map(one).collect()
}

/// A mutant of the list, without its line.
fn described(value: &Value) -> Option<Mutant> {
    let text = |name: &str| value[name].as_str();
    let span = |of: &Value| {
        let number = |end: &str, part: &str| usize::try_from(of["span"][end][part].as_u64()?).ok();
        let place = |end: &str| Some((number(end, "line")?, number(end, "column")?));
        Some((place("start")?, place("end")?))
    };
    Some(Mutant {
        file: text("file")?.to_owned(),
        change: text("name")?.split_once(": ")?.1.to_owned(),
        line: String::new(),
        span: span(value)?,
        function: span(&value["function"]),
        replacement: text("replacement")?.to_owned(),
    })
}

impl Mutant {
    /// The text of its file with the change.
    pub(super) fn applied(&self, source: &str) -> Result<String> {
        self.applied_in(source, 0..source.len())
    }

    /// A part of the text of its file, with the change, which is in this part.
    pub(super) fn applied_in(&self, source: &str, part: Range<usize>) -> Result<String> {
        let Range { start, end } = self.bytes(source, self.span)?;
        ensure!(part.start <= start && end <= part.end, "{self} is not in its function");
        Ok(format!("{}{}{}", &source[part.start..start], self.replacement, &source[end..part.end]))
    }

    pub(super) fn has_function(&self) -> bool {
        self.function.is_some()
    }

    /// Where its function lies in the text of its file.
    pub(super) fn function(&self, source: &str) -> Result<Option<Range<usize>>> {
        self.function.map(|span| self.bytes(source, span)).transpose()
    }

    fn bytes(&self, source: &str, (start, end): Span) -> Result<Range<usize>> {
        let at = |place: Place| {
            offset(source, place)
                .with_context(|| format!("{} has no line and character {place:?}", self.file))
        };
        let (start, end) = (at(start)?, at(end)?);
        ensure!(start <= end, "{} is changed from {start} to {end}", self.file);
        Ok(start..end)
    }

    fn changed_line(&self, source: &str) -> Result<String> {
        let applied = self.applied(source)?;
        let line = applied.lines().nth(self.span.0.0 - 1).context("the changed line should be there")?;
        Ok(line.trim().to_owned())
    }

    #[cfg(test)]
    pub(super) fn named(file: &str, change: &str, line: &str) -> Mutant {
        Mutant {
            file: file.to_owned(),
            change: change.to_owned(),
            line: line.to_owned(),
            span: ((1, 1), (1, 1)),
            function: None,
            replacement: String::new(),
        }
    }

    #[cfg(test)]
    pub(super) fn listed(span: Span, function: Option<Span>, replacement: &str) -> Mutant {
        let replacement = replacement.to_owned();
        Mutant { span, function, replacement, ..Mutant::named("a.rs", "replace < with <=", "") }
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

    #[test]
    fn a_change_is_made_at_its_characters() -> Result<()> {
        let listed = |start, end, replacement| Mutant::listed((start, end), None, replacement);
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
            "span": {"start": {"line": 3, "column": 7}, "end": {"line": 3, "column": 8}},
            "function": {"span": {"start": {"line": 1, "column": 1}, "end": {"line": 4, "column": 2}}}}]"#;
        let read = read(&folder, list.as_bytes())
            .and_then(|all| super::read(&folder, b"[{}]").err().context("it should be refused").map(|_| all));
        std::fs::remove_dir_all(&folder)?;
        let read = read?;
        let texts: Vec<String> = read.iter().map(Mutant::to_string).collect();
        assert_eq!(texts, ["a.rs: replace < with <= in a: `é <= 2 // <`"]);
        assert_eq!(read[0].function(SOURCE)?, Some(0..SOURCE.len() - 1));
        assert_eq!(read[0].applied_in(SOURCE, 7..SOURCE.len() - 1)?, "{\n    // é\n    é <= 2 // <\n}");
        assert!(read[0].applied_in(SOURCE, 0..7).is_err());
        Ok(())
    }
}
