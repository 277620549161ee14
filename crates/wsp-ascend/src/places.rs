//! Where expressions stand in the source, as a table of the package: what a trap names.

use crate::writer::{Writer, quoted};
use std::path::Path;
use std::sync::Arc;
use wsp_diag::{SourceFile, SourceMap, Span};
use wsp_ordered::OrderedMap;

/// The file of the table.
pub(crate) const FILE: &str = "places.hpp";

/// Most characters of an expression that a place shows.
const SHOWN: usize = 80;

/// The places that a package names, in the order in which it does.
#[derive(Default)]
pub(crate) struct Places {
    sources: Option<Arc<SourceMap>>,
    numbers: OrderedMap<Span, usize>,
    all: Vec<Span>,
}

impl Places {
    pub(crate) fn new(sources: Option<Arc<SourceMap>>) -> Places {
        Places { sources, ..Places::default() }
    }

    /// A place as C++; none where its text is not known.
    pub(crate) fn place(&mut self, span: Span) -> Option<String> {
        let file = self.sources.as_ref()?.file(span.file)?;
        file.text.get(span.start as usize..span.end as usize).filter(|text| !text.trim().is_empty())?;
        let number = *self.numbers.entry(span).or_insert_with(|| {
            self.all.push(span);
            self.all.len() - 1
        });
        Some(format!("places + {number}"))
    }

    /// A place as the last argument of a call, with the comma before it.
    pub(crate) fn argument(&mut self, span: Span) -> String {
        self.place(span).map_or_else(String::new, |place| format!(", {place}"))
    }

    /// `places.hpp`.
    pub(crate) fn text(&self) -> String {
        let mut out = Writer::default();
        out.line(
            "// Where the expressions of the program stand in its source. Emitted by PTO-WSP; do not edit.",
        );
        out.line("#pragma once");
        out.line("");
        out.line("#include \"pto/wsp/backend/npu/generator.hpp\"");
        out.line("");
        out.line("namespace program {");
        out.line("");
        out.open("[[maybe_unused]] static const pto::wsp::backend::npu::generator::SourcePlace places[] = {");
        let mut lines: OrderedMap<u32, Lines<'_>> = OrderedMap::new();
        for span in &self.all {
            let Some(file) = self.sources.as_ref().and_then(|all| all.file(span.file)) else { continue };
            out.line(lines.entry(span.file.0).or_insert_with(|| Lines::new(file)).row(*span));
        }
        if self.all.is_empty() {
            out.line("{\"\", 0, 0, \"\"},");
        }
        out.close("};");
        out.line("");
        out.line("}  // namespace program");
        out.finish()
    }
}

/// Lists the places of words of a program, each with the word, that of an expression or all ones, and the place. What names the list.
pub(crate) fn word_places(out: &mut Writer, rows: impl Iterator<Item = (u32, u32, String)>) -> String {
    let word = |word: u32| if word == u32::MAX { "no_word".to_owned() } else { word.to_string() };
    let rows = rows.map(|(at, expr, place)| format!("{{{}, {}, {place}}},", word(at), word(expr)));
    let rows: Vec<String> = rows.collect();
    if rows.is_empty() {
        return "{nullptr, 0}".to_owned();
    }
    out.open("static const WordPlace word_places[] = {");
    rows.chunks(8).for_each(|line| out.line(line.join(" ")));
    out.close("};");
    format!("{{word_places, {}}}", rows.len())
}

/// A file, and where its lines begin.
struct Lines<'a> {
    /// Its name without folders: a package is the same wherever its source lies.
    name: String,
    text: &'a str,
    starts: Vec<usize>,
}

impl Lines<'_> {
    fn new(file: &SourceFile) -> Lines<'_> {
        let name = Path::new(&file.name).file_name().map(|name| name.to_string_lossy().into_owned());
        let ends = file.text.match_indices('\n').map(|(at, _)| at + 1);
        let starts = std::iter::once(0).chain(ends).collect();
        Lines { name: name.unwrap_or_else(|| file.name.clone()), text: &file.text, starts }
    }

    /// Line, column and text.
    fn position(&self, span: Span) -> (usize, usize, String) {
        let (start, end) = (span.start as usize, span.end as usize);
        let line = self.starts.partition_point(|first| *first <= start);
        let before = self.text.get(self.starts[line - 1]..start).unwrap_or_default();
        let shown = shown(self.text.get(start..end).unwrap_or_default());
        (line, before.chars().count() + 1, shown)
    }

    /// A row of the table.
    fn row(&self, span: Span) -> String {
        let (line, column, shown) = self.position(span);
        format!("{{{}, {line}, {column}, {}}},", literal(&self.name), literal(&shown))
    }
}

/// A kernel and where an expression of it stands, as a literal of C++: the kernel alone where the text is not known.
pub(crate) fn literal_place(kernel: &str, sources: Option<&SourceMap>, span: Span) -> String {
    let kernel = format!("kernel `{kernel}`");
    let Some(file) = sources.and_then(|all| all.file(span.file)).filter(|_| span != Span::default()) else {
        return literal(&kernel);
    };
    let lines = Lines::new(file);
    let (line, column, text) = lines.position(span);
    literal(&format!("{kernel}, at {}:{line}:{column}: `{text}`", lines.name))
}

/// The text of an expression in one line, the beginning of a long one.
fn shown(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{} ...", &line[..end]),
        None => line,
    }
}

/// Any text as a literal of C++.
fn literal(text: &str) -> String {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\' | b'?')) {
        return quoted(text);
    }
    let escaped = text.bytes().map(|byte| match byte {
        b'"' | b'\\' | b'?' | 0..=31 | 127.. => format!("\\{byte:03o}"),
        byte => char::from(byte).to_string(),
    });
    format!("\"{}\"", escaped.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::{Places, literal, shown};
    use std::sync::Arc;
    use wsp_diag::{SourceMap, Span};

    #[test]
    fn places_have_lines_columns_and_texts() {
        let mut sources = SourceMap::default();
        let file = sources.add("folder/a.pto", "x = \u{e9} + n\n    / m;\n");
        let mut places = Places::new(Some(Arc::new(sources)));
        let [all, m] = [(4, 18), (17, 18)].map(|(start, end)| Span::new(file, start, end));
        assert_eq!(places.argument(m), ", places + 0");
        assert_eq!(places.argument(all), ", places + 1");
        assert_eq!(places.argument(m), ", places + 0");
        assert_eq!(places.argument(Span::default()), "");
        let text = places.text();
        assert!(text.contains("{\"a.pto\", 2, 7, \"m\"},"), "{text}");
        assert!(text.contains("{\"a.pto\", 1, 5, \"\\303\\251 + n / m\"},"), "{text}");
        assert_eq!(Places::default().argument(m), "");
    }

    #[test]
    fn literals_hold_any_text_and_long_ones_say_that_they_go_on() {
        assert_eq!(literal("a ? \"b\\\""), "\"a \\077 \\042b\\134\\042\"");
        assert_eq!(shown(&"ab ".repeat(40)), format!("{} ...", "ab ".repeat(27)[..80].to_owned()));
    }
}
