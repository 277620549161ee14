//! Every `wsp` block of `docs/reference/wsp.md` and of the README is read, or is refused where and how it says.
//!
//! A block is a whole file. A line with `// error: [CODE] text` or `// warning: [CODE] text` must have a finding with this
//! code whose message contains the text; every finding must be announced so.

use std::path::PathBuf;
use wsp_diag::{Diagnostic, SourceMap, render};
use wsp_ir::workload::text;

/// The `wsp` blocks of a page: line of the first line of the block, and its text.
fn blocks(page: &str) -> Vec<(usize, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (number, line) in page.lines().enumerate() {
        match &mut open {
            Some(_) if line == "```" => blocks.extend(open.take()),
            Some((_, text)) => text.extend([line, "\n"]),
            None if line == "```wsp" => open = Some((number + 2, String::new())),
            None => {}
        }
    }
    assert!(open.is_none(), "every block is closed");
    blocks
}

/// The findings that a block announces: line, code, text.
fn announced(block: &str) -> Vec<(u32, &str, &str)> {
    let mark = |line: &'_ str| line.find("// error: [").or_else(|| line.find("// warning: ["));
    block
        .lines()
        .zip(1..)
        .filter_map(|(line, number)| {
            let (code, text) = line[mark(line)?..].split_once('[')?.1.split_once(']')?;
            Some((number, code, text.trim()))
        })
        .collect()
}

fn failures(place: &str, block: &str) -> Option<String> {
    let mut sources = SourceMap::default();
    let (module, found) = text::parse(place, block, &mut sources);
    let line = |d: &Diagnostic| d.primary.as_ref().map_or(0, |label| sources.line_col(label.span).0);
    let mut faults = Vec::new();
    let announced = announced(block);
    for (number, code, text) in &announced {
        let hit =
            |d: &&Diagnostic| line(d) == *number && d.code.to_string() == *code && d.message.contains(text);
        if !found.iter().any(|d| hit(&d)) {
            faults.push(format!("line {number}: [{code}] {text} is not reported"));
        }
    }
    for finding in &found {
        if !announced.iter().any(|(number, ..)| *number == line(finding)) {
            faults.push(format!("line {}: a finding that is not announced", line(finding)));
        }
    }
    if module.is_none() && found.is_empty() {
        faults.push("no module and no error".to_owned());
    }
    if faults.is_empty() {
        return None;
    }
    let shown: String = found.iter().map(|d| render(d, &sources, false)).collect();
    Some(format!("{place}:\n{}\n{shown}", faults.join("\n")))
}

/// Checks the blocks of a page of the project.
#[expect(clippy::disallowed_methods, reason = "a test reads the page")]
fn check_page(page: &str, at_least: usize) {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../..", page].iter().collect();
    let text = std::fs::read_to_string(path).expect("the page is there");
    let blocks = blocks(&text);
    let found: Vec<String> =
        blocks.iter().filter_map(|(line, block)| failures(&format!("{page}:{line}"), block)).collect();
    assert!(found.is_empty(), "{} of {} blocks fail:\n\n{}", found.len(), blocks.len(), found.join("\n"));
    assert!(blocks.len() >= at_least, "only {} blocks", blocks.len());
}

#[test]
fn every_block_of_the_reference_does_what_it_says() {
    check_page("docs/reference/wsp.md", 20);
}

#[test]
fn the_workload_of_the_readme_is_read() {
    check_page("README.md", 1);
}
