//! Whatever text comes in, parsing and compiling end without a panic, and reports are bounded and placed in the text.

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use wsp_core::limits::MAX_DIAGNOSTICS;
use wsp_diag::{Diagnostic, FileId, SourceMap};

const EXAMPLE: &str = include_str!("../../../../examples/decode_attention.pto");
const ENTRIES: &str = include_str!("../../../../examples/deepseek/indexer.pto");

/// Words that get a random text far into the grammar.
const WORDS: &[&str] = &[
    "PTO_SHAPE",
    "PTO_PARAM",
    "PTO_TENSOR",
    "PTO_WORKSPACE",
    "PTO_RESIDENT",
    "PTO_SPACE",
    "PTO_AXIS",
    "PTO_TILE",
    "PTO_WHERE",
    "PTO_TIER_DEF",
    "PTO_TIER",
    "PTO_DEFAULT",
    "PTO_SCHEDULE",
    "PTO_AFFINITY",
    "PTO_ORDER",
    "PTO_PREFETCH",
    "PTO_DESCRIPTOR_GEN",
    "PTO_KERNEL_IMPL",
    "PTO_GRAPH",
    "PTO_STAGE",
    "PTO_DEPENDENCY",
    "PTO_REFERENCE",
    "PTO_FOR_EACH",
    "PTO_SCHEDULED_FOR",
    "PTO_EMIT_DESCRIPTOR",
    "PTO_GET_DESCRIPTOR",
    "PTO_DTYPE",
    "PTO_DYNAMIC",
    "PTO_AUTO",
    "PTO_INTERLEAVED",
    "PTO_PARALLEL",
    "struct",
    "template",
    "const",
    "uint32_t",
    "float",
    "auto",
    "void",
    "VecTile",
    "Tensor",
    "Workspace",
    "get_block_idx",
    "if",
    "else",
    "for",
    "while",
    "do",
    "return",
    "break",
    "continue",
    "sizeof",
    "static_cast",
    "true",
    "std::max_element",
    "TLOAD",
    "q",
    "k",
    "desc",
    "n",
    "x",
    "class",
    "switch",
    "0",
    "1",
    "64",
    "1.0f",
    "0x1F",
    "99999999999999999999",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    "<",
    ">",
    ">>",
    "<<=",
    ";",
    ",",
    ".",
    "::",
    "->",
    "+",
    "-",
    "*",
    "/",
    "%",
    "++",
    "--",
    "&",
    "&&",
    "||",
    "!",
    "?",
    ":",
    "=",
    "==",
    "+=",
    "#define",
    "#include",
    "\n",
    "\"",
    "'",
    "/*",
    "*/",
    "//",
    "@",
    "é",
    "\u{a0}",
    "\u{feff}",
    "\\\n",
    "\0",
    "\r\n",
    "\t",
];

fn check(text: &str) {
    let (_, diagnostics) = wsp_lang::parse(FileId(0), text);
    check_reports(text, &diagnostics);
}

fn check_reports(text: &str, diagnostics: &[Diagnostic]) {
    assert!(diagnostics.len() <= MAX_DIAGNOSTICS as usize);
    for diagnostic in diagnostics {
        assert!(!diagnostic.message.is_empty());
        for label in diagnostic.primary.iter().chain(&diagnostic.labels) {
            let (start, end) = (label.span.start as usize, label.span.end as usize);
            assert!(text.get(start..end).is_some(), "{}: {start}..{end} of {text:?}", diagnostic.message);
        }
    }
}

/// Parses, and compiles what parses far enough for that to say something.
fn check_compile(text: &str) {
    check(text);
    let mut sources = SourceMap::default();
    let (module, diagnostics) = wsp_lang::compile("t.pto", text, &mut sources);
    assert!(
        module.is_some() || diagnostics.iter().any(Diagnostic::is_error),
        "no module and no error for {text:?}"
    );
    check_reports(text, &diagnostics);
    let broken = module.as_ref().map(wsp_ir::verify).unwrap_or_default();
    assert!(broken.is_empty(), "the verifier refuses the module of {text:?}: {broken:?}");
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
    let outcome = runner(4000).run(&words, |words| {
        check(&words.join(" "));
        check(&words.concat());
        Ok(())
    });
    outcome.expect("random words should be handled");
}

#[test]
fn random_words_in_a_kernel_do_not_panic() {
    let words = proptest::collection::vec(prop::sample::select(WORDS), 0..60);
    let outcome = runner(2000).run(&words, |words| {
        check_compile(&format!("PTO_SHAPE(q, n, 64)\nPTO_KERNEL_IMPL(k) {{ {} }}\n", words.join(" ")));
        Ok(())
    });
    outcome.expect("random words should be handled");
}

#[test]
fn random_characters_do_not_panic() {
    let outcome = runner(2000).run(&any::<String>(), |text| {
        check_compile(&text);
        Ok(())
    });
    outcome.expect("random characters should be handled");
}

#[test]
fn the_example_cut_anywhere_does_not_panic() {
    for end in (0..EXAMPLE.len()).step_by(5).filter(|&end| EXAMPLE.is_char_boundary(end)) {
        check(&EXAMPLE[..end]);
        check(&EXAMPLE[end..]);
    }
    for end in (0..EXAMPLE.len()).step_by(97).filter(|&end| EXAMPLE.is_char_boundary(end)) {
        check_compile(&EXAMPLE[..end]);
    }
}

#[test]
fn the_example_without_any_one_word_does_not_panic() {
    let pieces = pieces(EXAMPLE);
    for i in (0..pieces.len()).filter(|&i| !pieces[i].trim().is_empty()) {
        let mut changed = pieces.clone();
        changed.remove(i);
        check(&changed.concat());
    }
}

/// Compiles a text many times, each time with a few words deleted, doubled, swapped or replaced.
fn with_changes(text: &str, cases: u32) {
    let pieces = pieces(text);
    let at = 0..pieces.len();
    let change = (0..4u8, at.clone(), at, prop::sample::select(WORDS));
    let changes = proptest::collection::vec(change, 1..4);
    let outcome = runner(cases).run(&changes, |changes| {
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
        check_compile(&text.concat());
        Ok(())
    });
    outcome.expect("changed examples should be handled");
}

#[test]
fn the_example_with_words_deleted_doubled_swapped_or_replaced_does_not_panic() {
    with_changes(EXAMPLE, 1500);
}

#[test]
fn entries_with_words_deleted_doubled_swapped_or_replaced_do_not_panic() {
    with_changes(ENTRIES, 500);
}
