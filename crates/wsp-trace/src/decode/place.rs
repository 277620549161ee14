//! Places in the user's source, and the forms that have one.

use crate::wire::{Decoded, Fault, Fields, Json, codes, items};
use wsp_core::limits::MAX_NESTING;
use wsp_diag::{FileId, SourceMap, Span};

/// The place of what has none: a file that no map has, so that diagnostics show no line.
pub(crate) const NOWHERE: Span = Span { file: FileId(u32::MAX), start: 0, end: 0 };

/// Forms inside each other that are decoded: chains of kernels as the verifier takes them, and what stands around them.
const MAX_FORMS: u32 = 4 * MAX_NESTING + 16;

/// Where the form that is decoded stands.
#[derive(Clone, Copy)]
pub(super) struct At<'p> {
    places: &'p [Span],
    /// The place of the form, or of the nearest one around it that has one.
    pub(super) span: Span,
    /// Forms around it.
    level: u32,
}

impl<'p> At<'p> {
    /// Around everything.
    pub(super) fn top(places: &'p [Span]) -> At<'p> {
        At { places, span: NOWHERE, level: 0 }
    }

    /// The same, inside something at this place.
    pub(super) fn near(self, span: Span) -> At<'p> {
        At { span, ..self }
    }

    /// Decodes an object that may have a place, `s`; one without has that of what is around it.
    pub(super) fn form<'a, T>(
        self,
        json: &'a Json<'a>,
        read: impl FnOnce(&mut Fields<'a>, At<'p>) -> Decoded<T>,
    ) -> Decoded<T> {
        if self.level >= MAX_FORMS {
            let message = format!("statements and expressions nest more than {MAX_FORMS} deep");
            return Err(Fault::new(codes::TOO_LARGE, message).within(self.span));
        }
        let mut fields = Fields::of(json).map_err(|fault| fault.within(self.span))?;
        let own = fields.optional("s", |json| self.place(json)).map_err(|fault| fault.within(self.span))?;
        let at = At { span: own.unwrap_or(self.span), level: self.level + 1, ..self };
        let value = read(&mut fields, at).and_then(|value| fields.done().map(|()| value));
        value.map_err(|fault| fault.within(at.span))
    }

    fn place(self, json: &Json<'_>) -> Decoded<Span> {
        let index: u32 = json.number()?;
        self.places.get(index as usize).copied().ok_or_else(|| {
            let message = format!("place {index} does not exist; there are {}", self.places.len());
            Fault::new(codes::UNKNOWN_ID, message)
        })
    }
}

/// Adds the files of a document to a map, and reads its places.
pub(super) fn places(fields: &mut Fields<'_>, sources: &mut SourceMap) -> Decoded<Vec<Span>> {
    let files = fields.list("files", |json| {
        let mut fields = Fields::of(json)?;
        let (name, text) = (fields.required("name", Json::text)?, fields.required("text", Json::text)?);
        fields.done()?;
        let lines = Lines::of(sources.add(name, text), text);
        Ok(lines)
    })?;
    fields.list("spans", |json| {
        let numbers: Vec<u32> = items(json, Json::number)?;
        let [file, start_line, start_column, end_line, end_column] = numbers[..] else {
            return Err(json.expected("a file, and line and column of both ends"));
        };
        if start_line == 0 || end_line == 0 {
            return Err(Fault::new(codes::WRONG_VALUE, "lines count from 1, and this one is 0"));
        }
        let lines = files.get(file as usize).ok_or_else(|| {
            let message = format!("file {file} does not exist; there are {}", files.len());
            Fault::new(codes::UNKNOWN_ID, message)
        })?;
        Ok(lines.span((start_line, start_column), (end_line, end_column)))
    })
}

/// Where the lines of a file begin.
struct Lines<'t> {
    file: FileId,
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    fn of(file: FileId, text: &'t str) -> Lines<'t> {
        let after_breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Lines { file, text, starts: [0].into_iter().chain(after_breaks).collect() }
    }

    /// The bytes from one line and column to another; lines from 1, columns in bytes from 0. What lies past the end of a line
    /// is its end, past the last line the end of the file. Whole characters.
    fn span(&self, start: (u32, u32), end: (u32, u32)) -> Span {
        let (start, end) = (self.offset(start), self.offset(end));
        let start = self.text.floor_char_boundary(start);
        let end = self.text.ceil_char_boundary(end).max(start);
        // A document, and so a file, is shorter than `u32::MAX` bytes.
        Span::new(self.file, start as u32, end as u32)
    }

    fn offset(&self, (line, column): (u32, u32)) -> usize {
        let line = line as usize;
        let Some(start) = self.starts.get(line - 1) else { return self.text.len() };
        let end = self.starts.get(line).map_or(self.text.len(), |next| next - 1);
        start.saturating_add(column as usize).min(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "one\ntwo π x\n\nfour";

    fn cut(start: (u32, u32), end: (u32, u32)) -> &'static str {
        let span = Lines::of(FileId(0), TEXT).span(start, end);
        &TEXT[span.start as usize..span.end as usize]
    }

    #[test]
    fn columns_count_bytes() {
        assert_eq!(cut((2, 0), (2, 3)), "two");
        assert_eq!(cut((2, 4), (2, 6)), "π");
        assert_eq!(cut((1, 1), (2, 3)), "ne\ntwo");
    }

    #[test]
    fn half_a_character_is_a_whole_one() {
        assert_eq!(cut((2, 5), (2, 5)), "π");
        assert_eq!(cut((2, 4), (2, 5)), "π");
    }

    #[test]
    fn what_lies_past_an_end_is_the_end() {
        assert_eq!(cut((1, 2), (1, 900)), "e");
        assert_eq!(cut((3, 7), (3, 9)), "");
        assert_eq!(cut((4, 1), (99, 0)), "our");
        assert_eq!(cut((u32::MAX, u32::MAX), (u32::MAX, u32::MAX)), "");
    }

    #[test]
    fn an_end_before_the_start_makes_an_empty_place() {
        assert_eq!(cut((4, 2), (1, 0)), "");
    }
}
