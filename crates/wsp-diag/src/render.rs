//! The one place where diagnostics become text.
//!
//! [`render`] draws one finding as compilers do, [`render_all`] a whole run with a closing count, [`to_json`] gives the
//! same for programs. All three take any span: what lies outside the file is clamped.

use crate::{Diagnostic, FileId, Label, Severity, SourceMap, Span};
use annotate_snippets::{
    Annotation, AnnotationKind, Group, Level, Renderer, Snippet, normalize_untrusted_str,
};
use std::ops::Range;
use wsp_core::limits::MAX_DIAGNOSTICS;

/// Columns that a rendered diagnostic may take.
const WIDTH: usize = 120;
/// A line longer than this, in bytes, is shown around its first mark only.
const MAX_LINE: usize = 1000;
/// Bytes marked at most in such a line.
const MAX_MARK: usize = 60;

/// One diagnostic as text: header, source lines with labels, notes, helps. Ends with a line break.
///
/// With `color` the text holds ANSI escapes. A span beyond its file is clamped; one of an unknown file is left out.
pub fn render(diagnostic: &Diagnostic, sources: &SourceMap, color: bool) -> String {
    let level = level_of(diagnostic.severity);
    let title = level.primary_title(diagnostic.message.as_str()).id(diagnostic.code.to_string());
    let mut group = Group::with_title(title);
    for part in parts(diagnostic, sources) {
        group = part.add_to(group);
    }
    for note in &diagnostic.notes {
        group = group.element(Level::NOTE.message(normalize_lines(note)));
    }
    for help in &diagnostic.help {
        group = group.element(Level::HELP.message(normalize_lines(help)));
    }
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let mut text = renderer.term_width(WIDTH).render(&[group]);
    text.push('\n');
    text
}

/// All diagnostics of a run in source order, and a last line that counts them. Nothing for none.
///
/// At most [`MAX_DIAGNOSTICS`] are drawn; the count is of all.
pub fn render_all(diagnostics: &[Diagnostic], sources: &SourceMap, color: bool) -> String {
    if diagnostics.is_empty() {
        return String::new();
    }
    let mut sorted: Vec<&Diagnostic> = diagnostics.iter().collect();
    sorted.sort_by_key(|d| (d.primary.is_none(), d.primary.as_ref().map(|l| l.span), d.severity, d.code));
    let mut text = String::new();
    for diagnostic in sorted.iter().take(MAX_DIAGNOSTICS as usize) {
        text.push_str(&render(diagnostic, sources, color));
        text.push('\n');
    }
    text.push_str(&summary(&sorted, sources, color));
    text
}

/// One diagnostic as JSON.
///
/// Keys: `code`, `severity`, `message`, `label`, `labels`, `notes`, `help`, `figures` (numbers by name) where there are some, and the place: `file`, `line`,
/// `column`, `end_line`, `end_column` (one-based, columns in characters, the end exclusive), `null` without one.
pub fn to_json(diagnostic: &Diagnostic, sources: &SourceMap) -> serde_json::Value {
    let mut json = place_json(diagnostic.primary.as_ref(), sources);
    json["code"] = diagnostic.code.to_string().into();
    json["severity"] = severity_name(diagnostic.severity).into();
    json["message"] = diagnostic.message.as_str().into();
    json["labels"] = diagnostic.labels.iter().map(|l| place_json(Some(l), sources)).collect();
    json["notes"] = diagnostic.notes.clone().into();
    json["help"] = diagnostic.help.clone().into();
    if !diagnostic.figures.is_empty() {
        let figures = diagnostic.figures.iter().map(|(name, number)| ((*name).to_owned(), (*number).into()));
        json["figures"] = serde_json::Value::Object(figures.collect());
    }
    json
}

fn place_json(label: Option<&Label>, sources: &SourceMap) -> serde_json::Value {
    let known = label.and_then(|l| Some((l, sources.file(l.span.file)?)));
    let Some((Label { span, text }, file)) = known else {
        let label = label.map(|l| l.text.as_str());
        return serde_json::json!({
            "file": null, "line": null, "column": null, "end_line": null, "end_column": null, "label": label,
        });
    };
    let (line, column) = sources.line_col(*span);
    let end = span.end.max(span.start);
    let (end_line, end_column) = sources.line_col(Span::new(span.file, end, end));
    serde_json::json!({
        "file": file.name, "line": line, "column": column, "end_line": end_line, "end_column": end_column,
        "label": text,
    })
}

fn severity_name(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}

fn level_of(severity: Severity) -> Level<'static> {
    match severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    }
}

/// Text for the places where the renderer passes escapes through.
fn normalize_lines(text: &str) -> String {
    text.lines().map(normalize_untrusted_str).collect::<Vec<_>>().join("\n")
}

/// The closing line: how many of each, and of which file when there is one only.
fn summary(diagnostics: &[&Diagnostic], sources: &SourceMap, color: bool) -> String {
    let count = |severity| diagnostics.iter().filter(|d| d.severity == severity).count();
    let counts: Vec<String> = [Severity::Error, Severity::Warning, Severity::Note]
        .into_iter()
        .map(|severity| (count(severity), severity_name(severity)))
        .filter(|(n, _)| *n > 0)
        .map(|(n, name)| if n == 1 { format!("1 {name}") } else { format!("{n} {name}s") })
        .collect();
    let mut files: Vec<FileId> =
        diagnostics.iter().filter_map(|d| Some(d.primary.as_ref()?.span.file)).collect();
    files.dedup();
    let file = match files.as_slice() {
        [file] => sources.file(*file).map(|f| format!("`{}`: ", f.name)),
        _ => None,
    };
    let hidden = diagnostics.len().saturating_sub(MAX_DIAGNOSTICS as usize);
    let hidden = if hidden == 0 { String::new() } else { format!(" ({hidden} not shown)") };
    let worst = diagnostics.iter().map(|d| d.severity).min().unwrap_or(Severity::Note);
    let text = format!("{}{}{hidden}", file.unwrap_or_default(), counts.join(", "));
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let mut line =
        renderer.term_width(WIDTH).render(&[Group::with_title(level_of(worst).primary_title(text))]);
    line.push('\n');
    line
}

/// A marked range of a text and what is said of it.
type Mark<'a> = (AnnotationKind, Range<usize>, &'a str);

/// What is shown of one file.
struct Part<'a> {
    /// The file's name.
    name: &'a str,
    /// The lines shown.
    source: &'a str,
    /// One-based number of the first of them.
    first_line: usize,
    /// What is marked, relative to `source`.
    marks: Vec<Mark<'a>>,
}

impl<'a> Part<'a> {
    fn add_to(self, group: Group<'a>) -> Group<'a> {
        let annotations = self.marks.into_iter().map(|(kind, range, text)| -> Annotation<'a> {
            kind.span(range).label((!text.is_empty()).then_some(text))
        });
        let snippet = Snippet::source(self.source).line_start(self.first_line).path(self.name);
        group.element(snippet.annotations(annotations))
    }
}

/// The parts to show: the primary label's file first, then the others as they come.
fn parts<'a>(diagnostic: &'a Diagnostic, sources: &'a SourceMap) -> Vec<Part<'a>> {
    let primary = diagnostic.primary.iter().map(|label| (AnnotationKind::Primary, label));
    let marks: Vec<_> =
        primary.chain(diagnostic.labels.iter().map(|label| (AnnotationKind::Context, label))).collect();
    let mut files: Vec<FileId> = Vec::new();
    for (_, label) in &marks {
        if !files.contains(&label.span.file) {
            files.push(label.span.file);
        }
    }
    files
        .into_iter()
        .filter_map(|id| Some((id, sources.file(id)?)))
        .map(|(id, file)| {
            let marks = marks.iter().filter(|(_, label)| label.span.file == id);
            let marks = marks.map(|(kind, l)| (*kind, clamp(l.span, &file.text), l.text.as_str())).collect();
            part(&file.name, &file.text, marks)
        })
        .collect()
}

/// The lines that the marks touch; when one of them is very long, the line of the first mark only.
fn part<'a>(name: &'a str, text: &'a str, mut marks: Vec<Mark<'a>>) -> Part<'a> {
    let start = marks.iter().map(|m| m.1.start).min().unwrap_or(0);
    let end = marks.iter().map(|m| m.1.end).max().unwrap_or(0);
    let mut shown = line_start(text, start)..line_end(text, end);
    if text[shown.clone()].lines().any(|line| line.len() > MAX_LINE) {
        marks.truncate(1);
        for (_, range, _) in &mut marks {
            shown = line_start(text, range.start)..line_end(text, range.start);
            range.end = range.end.min(ceil(text, range.start.saturating_add(MAX_MARK))).min(shown.end);
        }
    }
    for (_, range, _) in &mut marks {
        *range = range.start - shown.start..range.end - shown.start;
    }
    Part { name, source: &text[shown.clone()], first_line: line_number(text, shown.start), marks }
}

/// The span as a range of `text`: inside it, on character boundaries, not turned round.
fn clamp(span: Span, text: &str) -> Range<usize> {
    let start = floor(text, span.start as usize);
    let end = ceil(text, span.end as usize);
    start..end.max(start)
}

/// The nearest character boundary at or before `at`.
fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The nearest character boundary at or after `at`.
fn ceil(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

/// First byte of the line that holds `at`.
fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |i| i + 1)
}

/// One past the last byte of the line that holds `at`, without its line break.
fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |i| at + i)
}

/// One-based line number of the byte `at`.
fn line_number(text: &str, at: usize) -> usize {
    text[..at].bytes().filter(|b| *b == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::super::Code;
    use super::*;
    use expect_test::{Expect, expect};

    const TIERS: &str = "PTO_TIER_DEF(DecodeKernel) {\n    PTO_TIER(kv_len <= 8192, decode_8k)\n    \
                         PTO_TIER(kv_len <= 2048, decode_2k)\n}\n";

    fn sources() -> SourceMap {
        let mut map = SourceMap::default();
        map.add("decode.pto", TIERS);
        map.add("other.pto", "const uint32_t HEAD_DIM = 64;\n");
        map
    }

    fn span_of(needle: &str) -> Span {
        let start = TIERS.find(needle).expect("the needle is in the text") as u32;
        Span::new(FileId(0), start, start + needle.len() as u32)
    }

    fn check(diagnostic: &Diagnostic, expected: Expect) {
        expected.assert_eq(&render(diagnostic, &sources(), false));
    }

    fn never_selected() -> Diagnostic {
        Diagnostic::error(Code(31), "tier conditions of `DecodeKernel` are not increasing")
            .at(span_of("kv_len <= 2048"), "this tier can never be selected")
            .label(span_of("kv_len <= 8192"), "already covers every `kv_len` up to 8192")
            .note("have 2 tiers")
            .help("list tiers from the smallest bound to the largest")
    }

    #[test]
    fn a_diagnostic_shows_code_place_labels_notes_and_help() {
        check(
            &never_selected(),
            expect![[r#"
            error[WSP0031]: tier conditions of `DecodeKernel` are not increasing
             --> decode.pto:3:14
              |
            2 |     PTO_TIER(kv_len <= 8192, decode_8k)
              |              -------------- already covers every `kv_len` up to 8192
            3 |     PTO_TIER(kv_len <= 2048, decode_2k)
              |              ^^^^^^^^^^^^^^ this tier can never be selected
              |
              = note: have 2 tiers
              = help: list tiers from the smallest bound to the largest
        "#]],
        );
    }

    #[test]
    fn labels_of_another_file_are_shown_under_its_name() {
        let diagnostic = Diagnostic::warning(Code(32), "`HEAD_DIM` is declared elsewhere")
            .at(span_of("decode_2k"), "used here")
            .label(Span::new(FileId(1), 15, 23), "declared here");
        check(
            &diagnostic,
            expect![[r#"
            warning[WSP0032]: `HEAD_DIM` is declared elsewhere
             --> decode.pto:3:30
              |
            3 |     PTO_TIER(kv_len <= 2048, decode_2k)
              |                              ^^^^^^^^^ used here
              |
             ::: other.pto:1:16
              |
            1 | const uint32_t HEAD_DIM = 64;
              |                -------- declared here
        "#]],
        );
    }

    #[test]
    fn a_diagnostic_without_a_place_shows_header_and_notes() {
        let diagnostic = Diagnostic::error(Code(510), "array `q` has the wrong shape")
            .note("need [3, 8, 1, 64], have [3, 8, 64]")
            .help("reshape it:\n  np.expand_dims(q, 2)");
        check(
            &diagnostic,
            expect![[r#"
            error[WSP0510]: array `q` has the wrong shape
             |
             = note: need [3, 8, 1, 64], have [3, 8, 64]
             = help: reshape it:
                       np.expand_dims(q, 2)
        "#]],
        );
    }

    #[test]
    fn a_span_over_several_lines_is_drawn_at_the_side() {
        let diagnostic = Diagnostic::error(Code(33), "no default tier")
            .at(Span::new(FileId(0), 0, TIERS.len() as u32), "add `PTO_DEFAULT`");
        check(
            &diagnostic,
            expect![[r#"
            error[WSP0033]: no default tier
             --> decode.pto:1:1
              |
            1 | / PTO_TIER_DEF(DecodeKernel) {
            2 | |     PTO_TIER(kv_len <= 8192, decode_8k)
            3 | |     PTO_TIER(kv_len <= 2048, decode_2k)
            4 | | }
              | |__^ add `PTO_DEFAULT`
        "#]],
        );
    }

    #[test]
    fn spans_outside_the_file_are_clamped() {
        let at_end = Diagnostic::error(Code(1), "unexpected end of file")
            .at(Span::new(FileId(0), 1_000_000, 2_000_000), "expected `}`")
            .label(Span::new(FileId(9), 0, 1), "of an unknown file");
        check(
            &at_end,
            expect![[r#"
            error[WSP0001]: unexpected end of file
             --> decode.pto:5:1
              |
            5 |
              | ^ expected `}`
        "#]],
        );
        let turned = Diagnostic::error(Code(1), "turned round").at(Span::new(FileId(0), 12, 3), "");
        check(
            &turned,
            expect![[r#"
            error[WSP0001]: turned round
             --> decode.pto:1:13
              |
            1 | PTO_TIER_DEF(DecodeKernel) {
              |             ^
        "#]],
        );
    }

    #[test]
    fn no_span_of_a_text_with_wide_characters_panics() {
        let text = "a\tß\r\n→ 漢字\u{1b}[31m\u{202e}x\n\n";
        let mut map = SourceMap::default();
        map.add("wide.pto", text);
        map.add("empty.pto", "");
        for file in 0..2 {
            for start in 0..text.len() as u32 + 2 {
                for end in 0..text.len() as u32 + 2 {
                    let span = Span::new(FileId(file), start, end);
                    let d = Diagnostic::error(Code(1), "x\u{1b}")
                        .at(span, "l")
                        .label(Span { end: start, ..span }, "k");
                    assert!(render(&d, &map, false).chars().all(|c| c == '\n' || !c.is_control()));
                    to_json(&d, &map);
                }
            }
        }
    }

    #[test]
    fn a_very_long_line_is_shown_in_part() {
        let mut text = "x = ".to_owned();
        text.push_str(&"1 + ".repeat(100_000));
        text.push_str("y;\n");
        let at = text.find('y').expect("there is a y") as u32;
        let mut map = SourceMap::default();
        map.add("long.pto", text);
        let d = Diagnostic::error(Code(7), "unknown name `y`").at(Span::new(FileId(0), at, at + 1), "here");
        expect![[r#"
            error[WSP0007]: unknown name `y`
             --> long.pto:1:400005
              |
            1 | ...1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + y;
              |                                                        ^ here
        "#]]
        .assert_eq(&render(&d, &map, false));
        let all = Diagnostic::error(Code(7), "all of it").at(Span::new(FileId(0), 0, at + 1), "here");
        expect![[r#"
            error[WSP0007]: all of it
             --> long.pto:1:1
              |
            1 | x = 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1...
              | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ here
        "#]].assert_eq(&render(&all, &map, false));
    }

    #[test]
    fn color_adds_escapes_only_when_asked() {
        assert!(render(&never_selected(), &sources(), true).contains("\u{1b}["));
        assert!(!render(&never_selected(), &sources(), false).contains('\u{1b}'));
    }

    #[test]
    fn a_run_is_sorted_by_position_and_counted() {
        let later = Diagnostic::warning(Code(40), "later").at(span_of("decode_2k"), "");
        let nowhere = Diagnostic::error(Code(500), "no array for `q`");
        let run = [nowhere, later, never_selected()];
        expect![[r#"
            error[WSP0031]: tier conditions of `DecodeKernel` are not increasing
             --> decode.pto:3:14
              |
            2 |     PTO_TIER(kv_len <= 8192, decode_8k)
              |              -------------- already covers every `kv_len` up to 8192
            3 |     PTO_TIER(kv_len <= 2048, decode_2k)
              |              ^^^^^^^^^^^^^^ this tier can never be selected
              |
              = note: have 2 tiers
              = help: list tiers from the smallest bound to the largest

            warning[WSP0040]: later
             --> decode.pto:3:30
              |
            3 |     PTO_TIER(kv_len <= 2048, decode_2k)
              |                              ^^^^^^^^^

            error[WSP0500]: no array for `q`

            error: `decode.pto`: 2 errors, 1 warning
        "#]]
        .assert_eq(&render_all(&run, &sources(), false));
        assert_eq!(render_all(&[], &sources(), false), "");
    }

    #[test]
    fn a_flood_is_cut_and_says_so() {
        let run = vec![Diagnostic::warning(Code(40), "again"); 60];
        let text = render_all(&run, &sources(), false);
        assert_eq!(text.matches("warning[WSP0040]").count(), 50);
        assert!(text.ends_with("warning: 60 warnings (10 not shown)\n"), "{text}");
    }

    #[test]
    fn json_has_every_part() {
        let json =
            serde_json::to_string_pretty(&to_json(&never_selected(), &sources())).expect("json prints");
        expect![[r#"
            {
              "code": "WSP0031",
              "column": 14,
              "end_column": 28,
              "end_line": 3,
              "file": "decode.pto",
              "help": [
                "list tiers from the smallest bound to the largest"
              ],
              "label": "this tier can never be selected",
              "labels": [
                {
                  "column": 14,
                  "end_column": 28,
                  "end_line": 2,
                  "file": "decode.pto",
                  "label": "already covers every `kv_len` up to 8192",
                  "line": 2
                }
              ],
              "line": 3,
              "message": "tier conditions of `DecodeKernel` are not increasing",
              "notes": [
                "have 2 tiers"
              ],
              "severity": "error"
            }"#]]
        .assert_eq(&json);
        let nowhere = to_json(&Diagnostic::error(Code(500), "no array for `q`"), &sources());
        assert_eq!(nowhere["file"], serde_json::Value::Null);
        assert_eq!(nowhere["line"], serde_json::Value::Null);
    }
}
