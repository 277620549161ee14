//! Whatever text comes in, reading a workload ends without a panic, and reports are bounded and placed in the text.

use crate::said::said;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use wsp_core::limits::{MAX_DIAGNOSTICS, MAX_SOURCE_BYTES};
use wsp_diag::{Diagnostic, SourceMap, render};
use wsp_ir::workload::{WorkloadModule, text};

const EXAMPLE: &str = include_str!("workload_text/tour.wsp");

/// Words that get a random text far into the grammar.
const WORDS: &[&str] = &[
    "use",
    "\"k.pto\"",
    "param",
    "let",
    "table",
    "axis",
    "tensor",
    "slot",
    "kernel",
    "workload",
    "schedule",
    "n",
    "x",
    "t",
    "b",
    "k",
    "main",
    "i",
    "p",
    "in",
    "out",
    "inout",
    "on",
    "cost",
    "vector",
    "dense",
    "ragged",
    "sparse",
    "dense_dyn",
    "parallel",
    "for",
    "select",
    "if",
    "else",
    "while",
    "max",
    "min",
    "len",
    "combine",
    "sequential",
    "call",
    "after",
    "step",
    "dispatch",
    "streams",
    "task_graph",
    "deps",
    "exact",
    "affinity",
    "static_partition",
    "task_window",
    "f32",
    "0",
    "1",
    "64",
    "99999999999999999999",
    "0x1F",
    "1.5",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    ";",
    ",",
    "..",
    "..=",
    "+:",
    "+",
    "-",
    "*",
    "/",
    "%",
    "!",
    "&&",
    "||",
    "==",
    "=",
    "<",
    "?",
    ":",
    "@",
    "\n",
    "\"",
    "/*",
    "*/",
    "//",
    "é",
    "\u{a0}",
    "\u{feff}",
    "\0",
    "\r\n",
    "\t",
    "#",
];

fn parse(text: &str) -> (Option<WorkloadModule>, Vec<Diagnostic>) {
    let mut sources = SourceMap::default();
    let (module, diagnostics) = text::parse("t.wsp", text, &mut sources);
    assert_eq!(module.is_none(), diagnostics.iter().any(Diagnostic::is_error), "{text:?}");
    assert!(diagnostics.len() <= MAX_DIAGNOSTICS as usize);
    for diagnostic in &diagnostics {
        assert!(!diagnostic.message.is_empty());
        assert!(diagnostic.primary.is_some(), "{} has no place in {text:?}", diagnostic.message);
        for label in diagnostic.primary.iter().chain(&diagnostic.labels) {
            let (start, end) = (label.span.start as usize, label.span.end as usize);
            assert!(text.get(start..end).is_some(), "{}: {start}..{end} of {text:?}", diagnostic.message);
        }
    }
    (module, diagnostics)
}

/// Parses, and prints what is a module.
fn check(text: &str) {
    if let (Some(module), _) = parse(text) {
        let printed = text::print(&module);
        let (again, _) = parse(&printed);
        let again = again.unwrap_or_else(|| panic!("{text:?} prints as {printed}"));
        assert_eq!(said(&module), said(&again), "{text:?} prints as {printed}");
    }
}

fn runner(cases: u32) -> TestRunner {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
}

/// The words, signs and blanks of a text.
fn pieces(text: &str) -> Vec<&str> {
    let class = |c: char| match c {
        _ if c.is_alphanumeric() || c == '_' => 0,
        _ if c.is_whitespace() => 1,
        _ => 2,
    };
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let kind = class(first);
        let end = match kind {
            2 => first.len_utf8(),
            _ => rest.find(|c| class(c) != kind).unwrap_or(rest.len()),
        };
        pieces.push(&rest[..end]);
        rest = &rest[end..];
    }
    pieces
}

#[test]
fn random_words_do_not_panic() {
    let words = proptest::collection::vec(prop::sample::select(WORDS), 0..120);
    let outcome = runner(3000).run(&words, |words| {
        check(&words.join(" "));
        check(&words.concat());
        Ok(())
    });
    outcome.expect("random words should be handled");
}

#[test]
fn random_words_in_a_workload_do_not_panic() {
    let words = proptest::collection::vec(prop::sample::select(WORDS), 0..40);
    let outcome = runner(3000).run(&words, |words| {
        let body = words.join(" ");
        check(&format!("param n; tensor x: f32[n]; kernel k(in a, p);\nworkload main {{ {body} }}\n"));
        check(&format!("param n; axis b = dense(n);\nschedule {{ {body} }}\n"));
        Ok(())
    });
    outcome.expect("random words should be handled");
}

#[test]
fn random_characters_do_not_panic() {
    let outcome = runner(2000).run(&any::<String>(), |text| {
        check(&text);
        Ok(())
    });
    outcome.expect("random characters should be handled");
}

#[test]
fn random_bytes_read_as_text_do_not_panic() {
    let bytes = proptest::collection::vec(any::<u8>(), 0..200);
    let outcome = runner(1000).run(&bytes, |bytes| {
        check(&String::from_utf8_lossy(&bytes));
        Ok(())
    });
    outcome.expect("random bytes should be handled");
}

#[test]
fn the_tour_cut_anywhere_does_not_panic() {
    for end in (0..EXAMPLE.len()).step_by(3).filter(|&end| EXAMPLE.is_char_boundary(end)) {
        check(&EXAMPLE[..end]);
        check(&EXAMPLE[end..]);
    }
}

#[test]
fn the_tour_without_any_one_word_does_not_panic() {
    let pieces = pieces(EXAMPLE);
    for i in (0..pieces.len()).filter(|&i| !pieces[i].trim().is_empty()) {
        let mut changed = pieces.clone();
        changed.remove(i);
        check(&changed.concat());
    }
}

#[test]
fn the_tour_with_words_deleted_doubled_swapped_or_replaced_does_not_panic() {
    let pieces = pieces(EXAMPLE);
    let at = 0..pieces.len();
    let change = (0..4u8, at.clone(), at, prop::sample::select(WORDS));
    let changes = proptest::collection::vec(change, 1..4);
    let outcome = runner(1500).run(&changes, |changes| {
        let mut text = pieces.clone();
        for (what, i, j, word) in changes {
            let (i, j) = (i.min(text.len() - 1), j.min(text.len() - 1));
            match what {
                0 => drop(text.remove(i)),
                1 => text.insert(i, text[j]),
                2 => text.swap(i, j),
                _ => text[i] = word,
            }
        }
        check(&text.concat());
        Ok(())
    });
    outcome.expect("changed tours should be handled");
}

#[test]
fn an_empty_file_is_a_module_without_workloads() {
    for text in ["", "\u{feff}", "\r\n\r\n", "// nothing\n", ";;"] {
        let (module, diagnostics) = parse(text);
        assert!(diagnostics.is_empty(), "{text:?}: {diagnostics:?}");
        assert_eq!(module, Some(WorkloadModule::default()), "{text:?}");
    }
}

#[test]
fn line_ends_of_windows_read_as_any_other() {
    let (unix, _) = parse(EXAMPLE);
    let (windows, _) = parse(&format!("\u{feff}{}", EXAMPLE.replace('\n', "\r\n")));
    assert_eq!(unix.as_ref().map(said), windows.as_ref().map(said));
}

#[test]
fn a_file_above_the_limit_is_refused_at_once() {
    let (_, diagnostics) = parse(&" ".repeat(MAX_SOURCE_BYTES as usize + 1));
    assert_eq!(diagnostics[0].code.to_string(), "WSP0700");
    assert!(parse(&" ".repeat(MAX_SOURCE_BYTES as usize)).0.is_some());
}

#[test]
fn more_errors_than_are_kept_are_counted() {
    let mut sources = SourceMap::default();
    let (_, diagnostics) = text::parse("t.wsp", &"let a = b;\nparam c = 1.5;\n".repeat(60), &mut sources);
    assert_eq!(diagnostics.len(), MAX_DIAGNOSTICS as usize);
    let last = diagnostics.last().expect("there are diagnostics");
    assert_eq!(last.code.to_string(), "WSP0701");
    assert!(render(last, &sources, false).contains("more are not shown"));
}

#[test]
fn deep_nesting_is_refused_and_not_recursed_into() {
    let deep = 400_000;
    for (open, core, close) in [("param n = ", "1", ""), ("workload main ", "", "")] {
        for (left, right) in
            [("(", ")"), ("-", ""), ("!", ""), ("1 + (", ")"), ("{", "}"), ("min(1, ", ")"), ("1 ? ", " : 2")]
        {
            check(&format!("{open}{}{core}{}{close}", left.repeat(deep / 4), right.repeat(deep / 4)));
        }
    }
    for repeated in ["if n { ", "for i in 0..n { ", "combine { { ", "while n { ", "if n { } else "] {
        check(&format!("param n; workload main {{ {} }}", repeated.repeat(deep / 16)));
    }
    check(&format!("param n = 1{};", " + 1".repeat(deep / 4)));
    check(&format!("param n; workload main {{ for {} {{ }} }}", vec!["i in 0..n"; 10_000].join(", ")));
}

#[test]
fn nesting_up_to_the_limit_is_read_and_printed() {
    check(&format!("param n = {}1{};", "-(".repeat(127), ")".repeat(127)));
    check(&format!("param n = 1{};", " + 1".repeat(127)));
    check(&format!("param n = {}1{};", "(1 + ".repeat(127), ")".repeat(127)));
    check(&format!("param n; let m = {}1{};", "n ? 1 : ".repeat(127), ""));
    check(&format!(
        "param n; kernel k();\nworkload main {{ {}k();{} }}",
        "if n { ".repeat(127),
        "}".repeat(127)
    ));
    let heads: Vec<String> = (0..127).map(|i| format!("i{i} in 0..n")).collect();
    check(&format!("param n; kernel k();\nworkload main {{ for {} {{ k(); }} }}", heads.join(", ")));
    let is_read = |open: &str, count: usize, close: &str| {
        let text = format!("param n = {}1{};", open.repeat(count), close.repeat(count));
        parse(&text).0.is_some()
    };
    assert!(is_read("", 127, " + 1"));
    for (open, close, most) in [
        ("!", "", 127),
        ("-(", ")", 127),
        ("1 + (", ")", 127),
        ("1 ? 2 : ", "", 127),
        ("1 == 1 ? 2 : ", "", 126),
        ("(", ")", 256),
    ] {
        assert_eq!([most, most + 1].map(|count| is_read(open, count, close)), [true, false], "{open}");
    }
}

#[test]
fn large_files_of_repeated_items_are_read_and_refused_in_time() {
    let count = 10_000;
    let list = |item: &dyn Fn(usize) -> String| (0..count).map(item).collect::<String>();
    let workload = |body: String| format!("kernel k(n);\nworkload main {{ {body} }}");
    for text in [
        list(&|i| format!("param p{i} = {i};\n")),
        list(&|i| format!("slot s{i} = {i};\n")),
        list(&|i| format!("let p{i} = q{i};\n")),
        workload(list(&|i| format!("let l{i} = k({i}); k(1) after l{i}, l0;\n"))),
        workload(list(&|i| format!("q{i}(1);\n"))),
        workload(list(&|i| format!("k(1) after q{i};\n"))),
        format!("schedule {{ {} }}", list(&|_| "stream_by(1);".to_owned())),
        list(&|i| format!("schedule s{i} {{ streams(1); }}\n")),
        list(&|_| "}".to_owned()),
        list(&|_| "{".to_owned()),
        list(&|_| "workload w {".to_owned()),
    ] {
        check(&text);
    }
}
