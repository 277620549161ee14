//! What the checker of task graphs finds, and that what it proposes repairs it.
//!
//! Units are written as text. A comment `//! CODE` at the end of a line says that a finding of this code is reported there. Whatever is
//! reported elsewhere fails the test.

mod control;
mod cycle;
mod device;
mod example;
mod left;
mod memory;
mod order;
mod random;
mod rounds;

use wsp_core::tg::Direction;
use wsp_diag::{Diagnostic, Severity, SourceMap, render_all};
use wsp_ir::tg::{ArgSignature, KernelSignature, Signatures, TgModule, verify};
use wsp_tg::{LintOptions, lint};

pub(crate) fn read(text: &str) -> (TgModule, SourceMap) {
    let mut sources = SourceMap::default();
    let (module, found) = wsp_isa::tg::text::parse("unit.tg", text, &mut sources);
    let shown = render_all(&found, &sources, false);
    let module = module.unwrap_or_else(|| panic!("the text should be read:\n{shown}"));
    let faults = verify(&module);
    assert!(faults.is_empty(), "{}", render_all(&faults, &sources, false));
    (module, sources)
}

/// Entries `w` that writes, `r` that reads, `rw` that does both, and `f` that reads its first argument and writes its second.
pub(crate) fn kernels() -> Signatures {
    let arg = |direction| ArgSignature::new("x", direction);
    let kernel = |name: &str, directions: &[Direction]| {
        KernelSignature::new(name, directions.iter().map(|direction| arg(*direction)).collect())
    };
    Signatures::from_iter([
        kernel("w", &[Direction::Out]),
        kernel("r", &[Direction::In]),
        kernel("rw", &[Direction::InOut]),
        kernel("f", &[Direction::In, Direction::Out]),
        kernel("g", &[Direction::In, Direction::In]),
        kernel("e", &[]),
    ])
}

/// Of a tensor that nothing uses: many units of tests declare more than they need.
const UNUSED: u16 = 261;

/// What is found in a unit, but for tensors that nothing uses.
pub(crate) fn findings(text: &str) -> Vec<Diagnostic> {
    findings_with(text, &[])
}

/// The same where declared scalars have these values.
pub(crate) fn findings_with(text: &str, scalars: &[Option<i64>]) -> Vec<Diagnostic> {
    let checked = wsp_tg::check(&read(text).0, &kernels(), &LintOptions::default(), scalars);
    checked.findings.into_iter().filter(|finding| finding.code.0 != UNUSED).collect()
}

/// Checks that exactly the marked findings are reported; gives them back.
#[track_caller]
fn check_with(text: &str, signatures: &Signatures, options: &LintOptions) -> Vec<Diagnostic> {
    let (module, sources) = read(text);
    let mut expected: Vec<(u32, u16)> = Vec::new();
    for (line, content) in text.lines().enumerate() {
        let Some((_, codes)) = content.split_once("//!") else { continue };
        for code in codes.split_whitespace() {
            expected.push((line as u32 + 1, code.parse().expect("a mark should be a number")));
        }
    }
    let mut found = lint(&module, signatures, options);
    let is_marked = expected.iter().any(|(_, code)| *code == UNUSED);
    found.retain(|finding| finding.code.0 != UNUSED || is_marked);
    let mut have: Vec<(u32, u16)> = found
        .iter()
        .map(|d| (d.primary.as_ref().map_or(0, |label| sources.line_col(label.span).0), d.code.0))
        .collect();
    have.sort_unstable();
    expected.sort_unstable();
    assert_eq!(have, expected, "{}", render_all(&found, &sources, false));
    for finding in &found {
        let is_told = !finding.help.is_empty() || finding.severity == Severity::Note;
        assert!(is_told, "{} has no help", finding.message);
        assert!(
            wsp_diag::lookup(&[wsp_ir::CODES, wsp_tg::CODES], finding.code).is_some(),
            "{} is not explained",
            finding.code
        );
    }
    found
}

#[track_caller]
pub(crate) fn check(text: &str) -> Vec<Diagnostic> {
    check_with(text, &kernels(), &LintOptions::default())
}

/// The text with the first edge that each finding proposes, at the end of the first graph.
fn repaired(text: &str, found: &[Diagnostic]) -> String {
    let edges: String = found
        .iter()
        .filter_map(|finding| finding.help.first())
        .filter(|help| help.starts_with("TG_DEPEND("))
        .map(|help| format!("{help}\n"))
        .collect();
    let end = text.find("TG_END").expect("the unit should have a graph");
    format!("{}{edges}{}", &text[..end], &text[end..])
}

/// Checks the marked findings, and that nothing is found once the proposed edges stand.
#[track_caller]
fn check_and_repair(text: &str) -> Vec<Diagnostic> {
    let found = check(text);
    let text = repaired(text, &found);
    let left = findings(&text);
    assert!(left.is_empty(), "{text}\n{left:#?}");
    found
}

/// A graph of these instructions, with an external tensor of 1024 bytes.
fn graph(body: &str) -> String {
    format!("extern T: u8[1024]\nTG_BEGIN(G)\n{body}\nTG_END(G)\n")
}

/// Kernels by name, entry and bound tensor.
fn bound(kernels: &[(&str, &str)]) -> String {
    kernels
        .iter()
        .map(|(name, entry)| format!("TG_KERNEL({name}, {entry}, 1, AIV, 0)\nMC_BIND({name}, 0, T)\n"))
        .collect()
}
