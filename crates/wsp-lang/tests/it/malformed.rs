//! Every case of `filetests/malformed/*.txt` is refused with the codes it names.
//!
//! A file holds cases: a line `=== name`, a line `--- WSP0012 …` with one code or more, then the source up to the next
//! case. At least these codes must be reported, and every error has a place.

use std::collections::BTreeSet;
use std::path::PathBuf;
use wsp_diag::{Severity, SourceMap, render};

struct Case<'a> {
    name: &'a str,
    codes: Vec<&'a str>,
    source: String,
}

fn cases(text: &str) -> Vec<Case<'_>> {
    let mut cases: Vec<Case<'_>> = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("=== ") {
            cases.push(Case { name, codes: Vec::new(), source: String::new() });
        } else if let Some(case) = cases.last_mut() {
            match line.strip_prefix("--- ") {
                Some(codes) if case.codes.is_empty() => case.codes = codes.split_whitespace().collect(),
                _ => case.source.extend([line, "\n"]),
            }
        }
    }
    cases
}

fn failure(file: &str, case: &Case<'_>) -> Option<String> {
    let mut sources = SourceMap::default();
    let (module, diagnostics) = wsp_lang::compile(file, &case.source, &mut sources);
    let found: BTreeSet<String> = diagnostics.iter().map(|d| d.code.to_string()).collect();
    let warns = case.codes.iter().all(|code| {
        diagnostics.iter().any(|d| d.code.to_string() == **code && d.severity != Severity::Error)
    });
    let mut faults = Vec::new();
    for code in case.codes.iter().filter(|code| !found.contains(**code)) {
        faults.push(format!("{code} is not reported"));
    }
    if case.codes.is_empty() {
        faults.push("names no code".to_owned());
    }
    if module.is_some() && !warns {
        faults.push("compiles".to_owned());
    }
    if diagnostics.iter().any(|d| d.is_error() && d.primary.is_none()) {
        faults.push("an error has no place".to_owned());
    }
    if faults.is_empty() {
        return None;
    }
    let shown: String = diagnostics.iter().map(|d| render(d, &sources, false)).collect();
    Some(format!("{file}, {}: {}\n{}{shown}", case.name, faults.join("; "), case.source))
}

/// The files of cases, with their names.
#[expect(clippy::disallowed_methods, reason = "a test reads its cases")]
fn files() -> Vec<(String, String)> {
    let folder: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../../filetests/malformed"].iter().collect();
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .expect("the folder of cases exists")
        .map(|entry| entry.expect("the folder can be read").path())
        .filter(|path| path.extension().is_some_and(|e| e == "txt"))
        .collect();
    files.sort();
    let named = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).expect("a case file can be read");
        (path.file_name().unwrap_or_default().to_string_lossy().into_owned(), text)
    };
    files.into_iter().map(named).collect()
}

/// Codes below this are of the lexer and the parser.
const FIRST_OF_NAMES: u16 = 100;

/// Whether a piece of a program can be read as an item, a member of a form, a statement or an expression.
fn can_be_read(piece: &str) -> bool {
    let piece = piece.trim_end_matches(';');
    let forms = ["PTO_SPACE", "PTO_TIER_DEF", "PTO_SCHEDULE", "PTO_GRAPH"];
    let members = forms.iter().map(|form| format!("{form}(f) {{ {piece}; }}"));
    let others = [
        format!("{piece};"),
        piece.to_owned(),
        format!("PTO_KERNEL_IMPL(k) {{ {piece}; }}"),
        format!("PTO_KERNEL_IMPL(k) {{ {piece} }}"),
        format!("PTO_KERNEL_IMPL(k) {{ while (1) {{ {piece}; }} }}"),
        format!("PTO_KERNEL_IMPL(k) {{ uint32_t v = {piece}; }}"),
        format!("PTO_KERNEL_IMPL(k) {{ {piece} t; }}"),
        format!("PTO_KERNEL_IMPL(k) {{ f({piece}); }}"),
        format!("void f({piece}) {{ }}"),
        format!("struct S {{ {piece}; }};"),
        format!("{piece} {{ }}"),
        format!("{piece} inline void f() {{ }}"),
        format!("const uint32_t v {piece};"),
        format!("void f({piece} p) {{ }}"),
        format!("PTO_KERNEL_IMPL(k) {{ f({{ {piece} }}); }}"),
        format!("PTO_KERNEL_IMPL(k) {{ if (a {piece} b) {{ }} }}"),
        format!("PTO_KERNEL_IMPL(k) {{ if (a) {{ }} {piece} (b) {{ }} }}"),
    ];
    members.chain(others).any(|program| {
        let (_, found) = wsp_lang::compile("a.pto", &program, &mut SourceMap::default());
        found.iter().all(|d| d.code.0 >= FIRST_OF_NAMES)
    })
}

/// The pieces of programs that helps advise: what stands in backticks and is more than a name, with something in each gap.
fn advised(help: &str) -> impl Iterator<Item = String> + '_ {
    let help = help.split(" instead of ").next().unwrap_or_default();
    let pieces = help.split('`').skip(1).step_by(2).filter(|piece| piece.contains(['(', '{', '=', ';', ' ']));
    pieces.map(|piece| {
        let optional = piece.replace("[,", ",").replace(", [", ", ").replace([']'], "");
        let filled = if piece.contains("[,") || piece.contains(", [") { optional } else { piece.to_owned() };
        // Words that stand for any type or value.
        let filled = filled
            .replace("(type,", "(float,")
            .replace("default)", "1)")
            .replace("(T)", "(float)")
            .replace("<T>", "<float>");
        let filled = filled
            .replace("; … }", "; }")
            .replace("{ … }", "{ }")
            .replace("{…}", "{1}")
            .replace(", …", "")
            .replace("<…>", "<float, 1, 8>");
        filled.replace("(…)", "(1)").replace('…', "1")
    })
}

#[test]
fn what_helps_advise_to_write_can_be_read() {
    let (mut count, mut unread) = (0, BTreeSet::new());
    for (name, text) in files() {
        for case in cases(&text) {
            let (_, found) = wsp_lang::compile(&name, &case.source, &mut SourceMap::default());
            for piece in found.iter().flat_map(|d| &d.help).flat_map(|help| advised(help)) {
                count += 1;
                if !can_be_read(&piece) {
                    unread.insert(format!("{}: {piece}", case.name));
                }
            }
        }
    }
    assert!(unread.is_empty(), "{unread:#?}");
    for wrong in ["x.f()", "TLOAD(t x)", "PTO_SHAPE(x, 8", "return return", "for i in 0..3 { }"] {
        assert!(!can_be_read(wrong), "{wrong}");
    }
    assert!(count > 100, "{count} pieces");
}

#[test]
fn every_malformed_program_is_refused_with_its_codes() {
    let (mut count, mut failures) = (0, Vec::new());
    for (name, text) in files() {
        let cases = cases(&text);
        let names: BTreeSet<&str> = cases.iter().map(|case| case.name).collect();
        assert_eq!(names.len(), cases.len(), "{name}: names of cases differ");
        count += cases.len();
        failures.extend(cases.iter().filter_map(|case| failure(&name, case)));
    }
    assert!(failures.is_empty(), "{} of {count} cases fail:\n\n{}", failures.len(), failures.join("\n\n"));
    assert!(count >= 200, "only {count} cases");
}
