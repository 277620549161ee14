//! Programs that are nearly right are refused or accepted, never a reason to panic.

use wsp_ir::SourceMap;
use wsp_ir::diag::{Diagnostic, render};

const EXAMPLE: &str = include_str!("../../../examples/decode_attention.pto");

fn compile(program: &str) {
    let mut sources = SourceMap::default();
    let (module, findings) = wsp_lang::compile("mutant.pto", program, &mut sources);
    assert_eq!(module.is_some(), !findings.iter().any(Diagnostic::is_error), "{program}");
    for finding in &findings {
        render(finding, &sources, false);
    }
}

/// Words, numbers and single signs, with what stands between them.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        let len = if word(first) { rest.find(|c| !word(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
        let (token, after) = rest.split_at(len);
        tokens.push(token);
        rest = after;
    }
    tokens
}

/// The example without comments: what is changed there changes nothing.
fn code() -> String {
    EXAMPLE.lines().map(|line| line.split("//").next().unwrap_or(line).trim_end()).collect::<Vec<_>>().join("\n")
}

#[test]
fn any_line_may_be_missing_or_doubled() {
    let code = code();
    let lines: Vec<&str> = code.lines().collect();
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| !line.is_empty()) {
        let (before, after) = (lines[..at].join("\n"), lines[at + 1..].join("\n"));
        compile(&format!("{before}\n{after}"));
        compile(&format!("{before}\n{line}\n{line}\n{after}"));
    }
}

#[test]
fn any_word_may_be_missing_or_another() {
    let code = code();
    let tokens = tokens(&code);
    let words: Vec<&str> =
        tokens.iter().copied().filter(|t| t.starts_with(|c: char| c.is_alphanumeric() || c == '_')).collect();
    let mut state = 1u64;
    for at in (0..tokens.len()).filter(|at| !tokens[*at].trim().is_empty()) {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let other = words[(state >> 33) as usize % words.len()];
        let replacement = if (state >> 20) & 3 == 0 { "" } else { other };
        compile(&[&tokens[..at], &[replacement], &tokens[at + 1..]].concat().concat());
    }
}
