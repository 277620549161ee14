//! Every `pto` block of `docs/reference` compiles, or is refused where and how it says.
//!
//! A block is a whole file. A line with `// error: [CODE] text` or `// warning: [CODE] text` must have a finding with this code
//! whose message contains the text; every error and every warning must be announced so. A block that starts with `//! fragment` is not compiled.

use std::path::PathBuf;
use wsp_diag::{Diagnostic, Severity, SourceMap, render};

/// The `pto` blocks of a page: line of the first line of the block, and its text.
fn blocks(page: &str) -> Vec<(usize, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (number, line) in page.lines().enumerate() {
        match &mut open {
            Some(_) if line == "```" => blocks.extend(open.take()),
            Some((_, text)) => text.extend([line, "\n"]),
            None if line == "```pto" => open = Some((number + 2, String::new())),
            None => {}
        }
    }
    assert!(open.is_none(), "every block is closed");
    blocks
}

/// The errors that a block announces: line, code, text.
fn announced(block: &str) -> Vec<(u32, &str, &str)> {
    block
        .lines()
        .zip(1..)
        .filter_map(|(line, number)| {
            let marked = line.split_once("// error: [").or_else(|| line.split_once("// warning: ["));
            let (code, text) = marked?.1.split_once(']')?;
            Some((number, code, text.trim()))
        })
        .collect()
}

fn failures(place: &str, block: &str) -> Option<String> {
    let mut sources = SourceMap::default();
    let mut read = |_: &std::path::Path| Ok(String::new());
    let (module, diagnostics) =
        wsp_lang::check_with(place, block, wsp_lang::Purpose::Program, &mut sources, &mut read);
    let errors: Vec<&Diagnostic> = diagnostics.iter().filter(|d| d.severity != Severity::Note).collect();
    let line = |d: &Diagnostic| d.primary.as_ref().map_or(0, |label| sources.line_col(label.span).0);
    let mut faults = Vec::new();
    let announced = announced(block);
    for (number, code, text) in &announced {
        let found = errors
            .iter()
            .any(|d| line(d) == *number && d.code.to_string() == *code && d.message.contains(text));
        if !found {
            faults.push(format!("line {number}: [{code}] {text} is not reported"));
        }
    }
    for error in &errors {
        if !announced.iter().any(|(number, ..)| *number == line(error)) {
            faults.push(format!("line {}: a finding that is not announced", line(error)));
        }
    }
    if module.is_none() && !errors.iter().any(|d| d.is_error()) {
        faults.push("no module and no error".to_owned());
    }
    if faults.is_empty() {
        return None;
    }
    let shown: String = diagnostics.iter().map(|d| render(d, &sources, false)).collect();
    Some(format!("{place}:\n{}\n{shown}", faults.join("\n")))
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test reads the pages")]
fn every_block_of_the_reference_does_what_it_says() {
    let folder: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../../docs/reference"].iter().collect();
    let mut count = 0;
    let mut found = Vec::new();
    for page in ["pto.md", "schedules.md"] {
        let text = std::fs::read_to_string(folder.join(page)).expect("the page is there");
        for (line, block) in blocks(&text).into_iter().filter(|(_, b)| !b.starts_with("//! fragment")) {
            count += 1;
            found.extend(failures(&format!("docs/reference/{page}:{line}"), &block));
        }
    }
    assert!(found.is_empty(), "{} of {count} blocks fail:\n\n{}", found.len(), found.join("\n"));
    assert!(count >= 20, "only {count} blocks");
}

#[test]
fn each_of_the_five_concepts_takes_a_page_at_most() {
    /// Lines of a printed page.
    const PAGE: usize = 60;
    let text = include_str!("../../../../docs/reference/pto.md");
    for concept in ["Spaces", "Tiers", "Schedules", "Descriptors", "Kernels and functions"] {
        let (_, section) = text.split_once(&format!("\n## {concept}\n")).expect("it has a section");
        let lines = section.lines().take_while(|line| !line.starts_with("## ")).count();
        assert!((5..=PAGE).contains(&lines), "`{concept}` takes {lines} lines");
    }
}
