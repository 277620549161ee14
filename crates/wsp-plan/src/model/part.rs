//! One table of a model, taken apart key by key.

use super::codes::{FIGURE, MISSING, NAME};
use super::toml::{Entry, Table, Value};
use super::{Figure, Mark, ROLES};
use wsp_diag::{Diagnostic, did_you_mean};
use wsp_ir::TileRole;

/// Largest number of a core, and most of anything that is counted.
const MOST: f64 = 65_535.0;

/// Which values a figure may have.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Values {
    /// Above 0: something is divided by it.
    Positive,
    /// 0 or above.
    FromZero,
    /// A whole number from 1.
    Count,
    /// A whole number from 0.
    Number,
    /// A whole number of bytes from 1.
    Bytes,
}

/// A table being taken apart.
pub(super) struct Part<'r, 't> {
    found: &'r mut Vec<Diagnostic>,
    figures: &'r mut Vec<Figure>,
    table: &'r Table<'t>,
    /// What figures are listed under.
    pub(super) name: String,
    /// Keys that mean something here.
    known: Vec<&'static str>,
}

impl<'r, 't> Part<'r, 't> {
    pub(super) fn new(
        table: &'r Table<'t>,
        found: &'r mut Vec<Diagnostic>,
        figures: &'r mut Vec<Figure>,
    ) -> Part<'r, 't> {
        Part { found, figures, table, name: table.name.to_owned(), known: Vec::new() }
    }

    fn report(&mut self, fault: Diagnostic) {
        self.found.push(fault);
    }

    /// Something of the table is missing.
    pub(super) fn incomplete<T>(&mut self, what: &str) -> Option<T> {
        let message = format!("`{}` is not complete", self.name);
        let fault = Diagnostic::error(MISSING, message).at(self.table.span, "").help(what);
        self.report(fault);
        None
    }

    fn entry(&mut self, key: &'static str) -> Option<&Entry<'t>> {
        self.known.push(key);
        self.table.entries.iter().find(|entry| entry.key == key)
    }

    /// A string that is not empty.
    pub(super) fn text(&mut self, key: &'static str) -> Option<String> {
        match self.entry(key) {
            None => self.incomplete(&format!("write `{key} = \"…\"`")),
            Some(Entry { value: Value::Text(text), .. }) if !text.trim().is_empty() => Some(text.clone()),
            Some(Entry { span, .. }) => {
                let span = *span;
                let fault = Diagnostic::error(FIGURE, format!("`{key}` is a string that is not empty"));
                self.report(fault.at(span, "this is none").help(format!("write `{key} = \"…\"`")));
                None
            }
        }
    }

    /// A string without blanks.
    pub(super) fn single_word(&mut self, key: &'static str) -> Option<String> {
        let text = self.text(key)?;
        if text.split_whitespace().next() == Some(text.as_str()) {
            return Some(text);
        }
        let table = self.table.span;
        let span = self.entry(key).map_or(table, |entry| entry.span);
        let fault = Diagnostic::error(FIGURE, format!("`{key}` is one word"));
        self.report(fault.at(span, "this has blanks").help("write `-` in their place"));
        None
    }

    /// One of some words.
    pub(super) fn word<T: Copy>(&mut self, key: &'static str, words: &[(&str, T)]) -> Option<T> {
        let word = self.text(key)?;
        self.one_of(key, &word, words)
    }

    pub(super) fn optional_word<T: Copy>(&mut self, key: &'static str, words: &[(&str, T)]) -> Option<T> {
        self.entry(key)?;
        self.word(key, words)
    }

    fn one_of<T: Copy>(&mut self, key: &str, word: &str, words: &[(&str, T)]) -> Option<T> {
        if let Some((_, value)) = words.iter().find(|(known, _)| *known == word) {
            return Some(*value);
        }
        let span =
            self.table.entries.iter().find(|entry| entry.key == key).map_or(self.table.span, |e| e.span);
        let fault = Diagnostic::error(FIGURE, format!("`{key}` cannot be `{}`", wsp_syntax::shorten(word)));
        let fault = fault.at(span, "");
        let names: Vec<&str> = words.iter().map(|(known, _)| *known).collect();
        let fault = match did_you_mean(word, names.iter().copied()) {
            Some(near) => fault.help(format!("did you mean `{near}`?")),
            None if names.is_empty() => fault.note("nothing is there that it could name"),
            None => fault.note(format!("it is one of {}", names.join(", "))),
        };
        self.report(fault);
        None
    }

    /// What a memory holds: `tensors`, roles of tiles, or nothing.
    pub(super) fn holds(&mut self, key: &'static str) -> Option<(bool, Vec<TileRole>)> {
        if self.entry(key).is_none() {
            return Some((false, Vec::new()));
        }
        let words = self.text(key)?;
        let all: Vec<(&str, Option<TileRole>)> =
            ROLES.iter().map(|(word, role)| (*word, Some(*role))).chain([("tensors", None)]).collect();
        let mut held = (false, Vec::new());
        for word in words.split_whitespace() {
            match self.one_of(key, word, &all)? {
                Some(role) => held.1.push(role),
                None => held.0 = true,
            }
        }
        Some(held)
    }

    pub(super) fn count(&mut self, key: &'static str) -> Option<u32> {
        self.figure(key, "count", Values::Count).map(|count| count as u32)
    }

    /// A figure that must be there.
    pub(super) fn figure(&mut self, key: &'static str, unit: &'static str, values: Values) -> Option<f64> {
        if self.entry(key).is_none() {
            let form = format!("{{ value = …, unit = \"{unit}\", mark = \"…\", source = \"…\" }}");
            return self.incomplete(&format!("write `{key} = {form}`"));
        }
        self.optional(key, unit, values)
    }

    /// A figure that may be left out.
    pub(super) fn optional(&mut self, key: &'static str, unit: &'static str, values: Values) -> Option<f64> {
        let (table, name) = (self.table, self.name.clone());
        self.known.push(key);
        let entry = table.entries.iter().find(|entry| entry.key == key)?;
        let Value::Inline(entries) = &entry.value else {
            let fault = Diagnostic::error(FIGURE, format!("`{key}` is no figure")).at(entry.span, "");
            self.report(fault.help(format!(
                "write `{key} = {{ value = …, unit = \"{unit}\", mark = \"stated\", source = \"…\" }}`"
            )));
            return None;
        };
        let (value, mark, source) = self.parts(key, entry, entries, unit)?;
        if let Some(wrong) = values.wrong(value) {
            let at = entries.iter().find(|of| of.key == "value").map_or(entry.span, |of| of.span);
            let fault = Diagnostic::error(FIGURE, format!("`{key}` is {value}")).at(at, wrong);
            self.report(fault);
            return None;
        }
        self.figures.push(Figure { part: name, key, value, unit, mark, source });
        Some(value)
    }

    /// Value, mark and source of a figure, whose unit is checked.
    fn parts(
        &mut self,
        key: &str,
        entry: &Entry<'_>,
        entries: &[Entry<'_>],
        unit: &str,
    ) -> Option<(f64, Mark, String)> {
        const KEYS: [&str; 4] = ["value", "unit", "mark", "source"];
        let before = self.found.len();
        for other in entries.iter().filter(|other| !KEYS.contains(&other.key)) {
            let fault =
                Diagnostic::error(NAME, format!("a figure has no `{}`", other.key)).at(other.key_span, "");
            self.report(match did_you_mean(other.key, KEYS) {
                Some(near) => fault.help(format!("did you mean `{near}`?")),
                None => fault.note(format!("it has {}", KEYS.join(", "))),
            });
        }
        let get = |part: &str| entries.iter().find(|of| of.key == part);
        for part in KEYS.iter().filter(|part| get(part).is_none()) {
            let fault = Diagnostic::error(MISSING, format!("figure `{key}` without `{part}`"));
            self.report(fault.at(entry.span, "").help(match *part {
                "value" => "write `value = …`, a number".to_owned(),
                "unit" => format!("write `unit = \"{unit}\"`"),
                "mark" => "write `mark = \"measured\"`, `\"stated\"` or `\"assumed\"`".to_owned(),
                _ => "write `source = \"…\"`: where the figure is from".to_owned(),
            }));
        }
        let mut wrong = |of: &Entry<'_>, what: String, help: String| {
            self.found.push(Diagnostic::error(FIGURE, what).at(of.span, "").help(help));
        };
        let value = get("value").and_then(|of| match of.value {
            Value::Number(value) => Some(value),
            _ => {
                wrong(of, format!("the value of `{key}` is no number"), "write it without quotes".to_owned());
                None
            }
        });
        if let Some(of) = get("unit")
            && !matches!(&of.value, Value::Text(text) if text == unit)
        {
            wrong(
                of,
                format!("`{key}` is in `{unit}`"),
                format!("write `unit = \"{unit}\"`, and the value in it"),
            );
        }
        let mark = get("mark").and_then(|of| {
            let mark = Mark::ALL
                .into_iter()
                .find(|mark| matches!(&of.value, Value::Text(text) if text == mark.word()));
            if mark.is_none() {
                let help = "write `measured`, `stated` (by its maker, or software for it) or `assumed`";
                wrong(of, format!("the mark of `{key}` is none"), help.to_owned());
            }
            mark
        });
        let source = get("source").and_then(|of| match &of.value {
            Value::Text(text) if !text.trim().is_empty() => Some(text.clone()),
            _ => {
                wrong(
                    of,
                    format!("the source of `{key}` says nothing"),
                    "say where the figure is from".to_owned(),
                );
                None
            }
        });
        if self.found.len() > before {
            return None;
        }
        Some((value?, mark?, source?))
    }

    /// Reports every key that means nothing here. Of a table that was not asked for all of its keys only those that are near to one.
    pub(super) fn refuse_others(&mut self, is_whole: bool) {
        let (table, known) = (self.table, std::mem::take(&mut self.known));
        let is_whole = is_whole || !table.is_element;
        for entry in table.entries.iter().filter(|entry| !known.contains(&entry.key)) {
            let message = format!("`{}` has no `{}`", self.name, entry.key);
            let fault = Diagnostic::error(NAME, message).at(entry.key_span, "");
            match did_you_mean(entry.key, known.iter().copied()) {
                Some(near) => self.report(fault.help(format!("did you mean `{near}`?"))),
                None if is_whole => self.report(fault.note(format!("it has {}", known.join(", ")))),
                None => {}
            }
        }
    }
}

impl Values {
    /// What is wrong with a value.
    fn wrong(self, value: f64) -> Option<&'static str> {
        let whole = value.fract() == 0.0;
        match self {
            _ if !value.is_finite() => Some("a figure is finite"),
            Values::Positive if value <= 0.0 => Some("it is above 0: something is divided by it"),
            Values::FromZero if value < 0.0 => Some("it is not below 0"),
            Values::Count if !whole || !(1.0..=MOST).contains(&value) => {
                Some("a whole number from 1 to 65535")
            }
            Values::Number if !whole || !(0.0..=MOST).contains(&value) => {
                Some("a whole number from 0 to 65535")
            }
            Values::Bytes if !whole || !(1.0..=9e15).contains(&value) => {
                Some("a whole number of bytes from 1 to 9·10¹⁵")
            }
            _ => None,
        }
    }
}
