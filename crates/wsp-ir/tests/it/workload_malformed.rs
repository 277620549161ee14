//! Every case of `filetests/workloads/*.txt` is refused with the codes it names.
//!
//! A file holds cases: a line `=== name`, a line `--- WSP0712 …` with one code or more, then the source up to the next
//! case. At least these codes must be reported, and every finding has a place in the source.

use std::collections::BTreeSet;
use std::path::PathBuf;
use wsp_diag::{Severity, SourceMap, render};
use wsp_ir::workload::text;

/// Codes that no text under the size limit provokes, or that need more than a few lines; each has a test elsewhere.
const NOT_HERE: &[u16] = &[700, 701, 761, 765, 769, 780, 788];

struct Case {
    name: String,
    codes: Vec<String>,
    source: String,
}

fn cases(text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("=== ") {
            cases.push(Case { name: name.to_owned(), codes: Vec::new(), source: String::new() });
        } else if let Some(case) = cases.last_mut() {
            match line.strip_prefix("--- ") {
                Some(codes) if case.codes.is_empty() => {
                    case.codes = codes.split_whitespace().map(str::to_owned).collect();
                }
                _ => case.source.extend([line, "\n"]),
            }
        }
    }
    cases
}

#[expect(clippy::disallowed_methods, reason = "a test reads its cases")]
fn all_cases() -> Vec<(String, Vec<Case>)> {
    let folder: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../../filetests/workloads"].iter().collect();
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .expect("the folder of cases exists")
        .map(|entry| entry.expect("the folder can be read").path())
        .filter(|path| path.extension().is_some_and(|e| e == "txt"))
        .collect();
    files.sort();
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).expect("a case file can be read");
        (path.file_name().unwrap_or_default().to_string_lossy().into_owned(), cases(&text))
    };
    files.into_iter().map(read).collect()
}

fn failure(file: &str, case: &Case) -> Option<String> {
    let mut sources = SourceMap::default();
    let (module, diagnostics) = text::parse(file, &case.source, &mut sources);
    let mut faults = Vec::new();
    let mut warns = true;
    for code in &case.codes {
        match diagnostics.iter().find(|d| d.code.to_string() == *code) {
            None => faults.push(format!("{code} is not reported")),
            Some(found) => warns &= found.severity != Severity::Error,
        }
    }
    if case.codes.is_empty() {
        faults.push("names no code".to_owned());
    }
    if module.is_some() && !warns {
        faults.push("is read".to_owned());
    }
    let placed = |start: u32, end: u32| case.source.get(start as usize..end as usize).is_some();
    for finding in &diagnostics {
        match &finding.primary {
            Some(label) if placed(label.span.start, label.span.end) => {}
            _ => faults.push(format!("{} has no place in the source", finding.code)),
        }
    }
    if faults.is_empty() {
        return None;
    }
    let shown: String = diagnostics.iter().map(|d| render(d, &sources, false)).collect();
    Some(format!("{file}, {}: {}\n{}{shown}", case.name, faults.join("; "), case.source))
}

#[test]
fn every_malformed_workload_is_refused_with_its_codes() {
    let (mut count, mut failures) = (0, Vec::new());
    for (name, cases) in all_cases() {
        let names: BTreeSet<&str> = cases.iter().map(|case| &*case.name).collect();
        assert_eq!(names.len(), cases.len(), "{name}: names of cases differ");
        count += cases.len();
        failures.extend(cases.iter().filter_map(|case| failure(&name, case)));
    }
    assert!(failures.is_empty(), "{} of {count} cases fail:\n\n{}", failures.len(), failures.join("\n\n"));
    assert!(count >= 120, "only {count} cases");
}

#[test]
fn every_code_of_workloads_has_a_case() {
    let provoked: BTreeSet<String> =
        all_cases().into_iter().flat_map(|(_, cases)| cases).flat_map(|case| case.codes).collect();
    let codes = wsp_ir::CODES.iter().flat_map(|group| group.iter()).map(|info| info.code);
    let missing: Vec<String> = codes
        .filter(|code| (700..800).contains(&code.0) && !NOT_HERE.contains(&code.0))
        .map(|code| code.to_string())
        .filter(|code| !provoked.contains(code))
        .collect();
    assert!(missing.is_empty(), "no case for {missing:?}");
}

#[test]
fn words_that_leave_a_block_are_not_taken_for_kernels() {
    for word in ["return", "break", "continue"] {
        let program = format!("kernel k();\nworkload main {{ k(); {word}; }}");
        let (_, found) = text::parse("a.wsp", &program, &mut SourceMap::default());
        let help = "a workload states tasks and is not left early: put what may be left out in `if c { … }`";
        assert_eq!(found[0].help, [help], "{word}");
    }
}
