//! Every case of `filetests/malformed/*.txt` is refused with the codes it names.
//!
//! A file holds cases: a line `=== name`, a line `--- WSP0012 …` with one code or more, then the source up to the next
//! case. At least these codes must be reported, and every error has a place.

use std::collections::BTreeSet;
use std::path::PathBuf;
use wsp_ir::SourceMap;
use wsp_ir::diag::{Severity, render};

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

#[test]
#[expect(clippy::disallowed_methods, reason = "a test reads its cases")]
fn every_malformed_program_is_refused_with_its_codes() {
    let folder: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../../filetests/malformed"].iter().collect();
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .expect("the folder of cases exists")
        .map(|entry| entry.expect("the folder can be read").path())
        .filter(|path| path.extension().is_some_and(|e| e == "txt"))
        .collect();
    files.sort();
    let (mut count, mut failures) = (0, Vec::new());
    for path in files {
        let text = std::fs::read_to_string(&path).expect("a case file can be read");
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let cases = cases(&text);
        let names: BTreeSet<&str> = cases.iter().map(|case| case.name).collect();
        assert_eq!(names.len(), cases.len(), "{name}: names of cases differ");
        count += cases.len();
        failures.extend(cases.iter().filter_map(|case| failure(&name, case)));
    }
    assert!(failures.is_empty(), "{} of {count} cases fail:\n\n{}", failures.len(), failures.join("\n\n"));
    assert!(count >= 200, "only {count} cases");
}
