//! Every case of `filetests/workloads/*.txt` is refused with the codes it names.
//!
//! A file holds cases: a line `=== name`, a line `--- WSP0712 …` with one code or more, then the source up to the next
//! case. At least these codes must be reported, and every finding has a place in the source.

use std::collections::BTreeSet;
use std::path::PathBuf;
use wsp_diag::{Diagnostic, Severity, SourceMap, render};
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

/// Places for a piece of text: each has one `@`.
const PLACES: &[&str] = &[
    "@",
    "workload main { @ }",
    "workload main { @; }",
    "workload main { for i in @ { } }",
    "workload main { k(x[@]); }",
    "workload main { pipeline { @ } }",
    "workload main { pipeline { process p { @ } } }",
    "schedule { @ }",
    "schedule { @; }",
    "schedule { task_graph(@); }",
    "kernel k(@);",
    "axis a = @;",
];

/// From here on codes are of names and rules; those before are of what stands where it cannot.
const FIRST_OF_NAMES: u16 = 730;

/// Whether a piece of text can be read in one of the places, whatever its names are. What `…` stands for is left out.
fn is_read_somewhere(piece: &str) -> bool {
    let piece = piece.replace("… i …", "k(i);").replace("[…]", "[1]").replace('…', "");
    PLACES.iter().any(|place| {
        let (_, found) = text::parse("a.wsp", &place.replace('@', &piece), &mut SourceMap::default());
        found.iter().all(|diagnostic| diagnostic.code.0 >= FIRST_OF_NAMES)
    })
}

/// Whether a finding remains when the text that it is about is replaced.
fn remains(finding: &Diagnostic, source: &str, by: &str) -> bool {
    let span = finding.primary.as_ref().expect("every finding has a place").span;
    let (before, after) = (&source[..span.start as usize], &source[span.end as usize..]);
    let (_, found) = text::parse("a.wsp", &[before, by, after].concat(), &mut SourceMap::default());
    let starts = |d: &Diagnostic| d.primary.as_ref().map(|label| label.span.start);
    found.iter().any(|other| other.code == finding.code && starts(other) == Some(span.start))
}

#[test]
fn what_advice_shows_is_read_and_names_that_are_meant_are_right() {
    let (mut count, mut failures) = (0, BTreeSet::new());
    for case in all_cases().into_iter().flat_map(|(_, cases)| cases) {
        let (_, found) = text::parse("a.wsp", &case.source, &mut SourceMap::default());
        let advice = found.iter().flat_map(|finding| finding.help.iter().map(move |help| (finding, help)));
        for (finding, help) in advice {
            let meant = help.strip_prefix("did you mean `").and_then(|rest| rest.strip_suffix("`?"));
            let is_wrong = |piece: &&str| match meant {
                Some(_) => remains(finding, &case.source, piece),
                // A word or a sign by itself, and an option, are no text of a file.
                None => {
                    piece.contains(|c: char| !c.is_alphanumeric() && !"_\"-".contains(c))
                        && !is_read_somewhere(piece)
                }
            };
            let pieces = help.split('`').skip(1).step_by(2).filter(|piece| !piece.starts_with("--"));
            count += pieces.clone().count();
            failures.extend(
                pieces.filter(is_wrong).map(|piece| format!("{}: `{piece}` in \"{help}\"", finding.code)),
            );
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
    assert!(count >= 150, "only {count} pieces of text");
}

#[test]
fn uses_of_a_misspelt_channel_are_no_errors_of_their_own() {
    for head in ["chanel c[2];", "Channel c[2];", "channels c[4][2];", "channel c 2;", "chanel c[oops];"] {
        let of = if head.contains("[4]") { "c[1]" } else { "c" };
        let source = format!(
            "workload main {{ {head} pipeline {{ process p {{ send {of} as s {{ }} }} process q {{ consume {of} as s {{ }} }} }} }}"
        );
        let (_, found) = text::parse("w.wsp", &source, &mut SourceMap::default());
        let errors: Vec<&Diagnostic> = found.iter().filter(|found| found.is_error()).collect();
        let most = if head.contains("oops") { 2 } else { 1 };
        assert!(errors.len() == most, "{head}: {errors:#?}");
        let is_spelt = head.starts_with("channel ");
        assert!(is_spelt || errors[0].help == ["did you mean `channel`?"], "{head}: {errors:#?}");
    }
}

/// What follows a mistake in channels is no error of its own.
#[test]
fn one_mistake_in_a_pipeline_is_one_error() {
    for (mistake, code, body) in [
        (
            "an unknown channel in an arm",
            739,
            "channel a[1]; pipeline { process p { send a as s { k(s); } }
            process q { select { consume zz as s { k(s); } consume a as t { k(t); } } k(1); } }",
        ),
        (
            "the same in copies",
            739,
            "channel a[1]; pipeline { process p { send a as s { k(s); } }
            process q { select all { replicate w in 0..2 consume zz as s { } consume a as t { } } k(1); } }",
        ),
        (
            "a connection behind its processes",
            740,
            "pipeline { process p { send out as s { k(s); } }
            process q { consume inn as s { k(s); } } connect p.out to q.inn [1]; } k(2);",
        ),
        (
            "between them",
            740,
            "channel a[1]; pipeline { process p { select { consume c as s { } } }
            connect q.out to p.c [3]; process q { send out as s { } } }",
        ),
        (
            "a number of channels that is none",
            740,
            "channel a[n][1]; pipeline { process p { send a[0] as s { k(s); } }
            process q { consume a[0] as s { k(s); } } }",
        ),
    ] {
        let (_, found) = text::parse(
            "w.wsp",
            &format!("param n = 2; kernel k(s); workload main {{ {body} }}"),
            &mut SourceMap::default(),
        );
        let errors: Vec<_> = found.iter().filter(|found| found.is_error()).collect();
        assert_eq!(
            errors.iter().map(|error| error.code.0).collect::<Vec<_>>(),
            [code],
            "{mistake}: {errors:#?}"
        );
    }
    let late = "workload main { pipeline { process p { } connect r.out to q.inn [1]; process r { send out as s { } } process q { consume inn as s { } } } }";
    let (_, found) = text::parse("w.wsp", late, &mut SourceMap::default());
    assert!(!found.iter().any(|found| found.is_error()), "it connects processes behind it: {found:#?}");
}

/// Names of processes and ends of connections that do not fit have a help that says which are there.
#[test]
fn helps_of_processes_say_which_are_there() {
    let helps = |pipeline: &str| -> Vec<String> {
        let source = format!("kernel k(s); workload main {{ channel a[2]; pipeline {{ {pipeline} }} }}");
        let (_, found) = text::parse("w.wsp", &source, &mut SourceMap::default());
        found.into_iter().flat_map(|found| found.help).collect()
    };
    let unknown = helps(
        "connect p.out to z.inn [2]; process p { send out as s { } } process other { consume inn as s { } }",
    );
    assert_eq!(
        unknown,
        [
            "connect processes of this pipeline, which has `p`, `other`",
            "`connect` gives it to process `z`: name this process there, or call this one `z`",
        ]
    );
    let twice = "give each process a name of its own; the copies of `replicate w in 0..2 process p` are `p_0` and `p_1`";
    assert_eq!(helps("process p { send a as s { } } process p { consume a as s { } }"), [twice]);
    assert_eq!(
        helps(
            "process p_0 { send a as s { } } replicate w in 0..2 process p { k(w); } process q { consume a as s { } }"
        ),
        [twice]
    );
}
