//! Programs of `docs/reference/ptow.md` assemble, and every instruction is on the page.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test fails by panicking and reads the page that it checks"
)]

use std::path::Path;
use wsp_diag::{SourceMap, render_all};
use wsp_isa::ptow::{assemble, disassemble, encode};

/// Programs in a page: the text of each block, and where it begins.
fn blocks(page: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut lines = page.lines().enumerate();
    while let Some((line, text)) = lines.next() {
        if text == "```ptows" {
            let block: Vec<&str> =
                lines.by_ref().map(|(_, text)| text).take_while(|text| *text != "```").collect();
            found.push((line + 2, block.join("\n")));
        }
    }
    found
}

/// The page.
fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/ptow.md");
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn programs_of_the_page_assemble() {
    let blocks = blocks(&page());
    assert!(!blocks.is_empty());
    for (line, block) in blocks {
        let mut sources = SourceMap::default();
        let bytes = assemble("ptow.md", &block, &mut sources);
        let bytes =
            bytes.unwrap_or_else(|found| panic!("line {line}: {}", render_all(&found, &sources, false)));
        let text = disassemble(&bytes).unwrap();
        assert_eq!(encode("again", &text, &mut sources).unwrap(), bytes, "line {line}\n{text}");
    }
}

#[test]
fn every_instruction_and_operation_is_on_the_page() {
    let page = page();
    for info in wsp_core::ptow::OPS {
        assert!(
            page.contains(&format!("| `{:02X}` | `{}", info.op.code(), info.mnemonic)),
            "{}",
            info.mnemonic
        );
    }
    for info in wsp_core::ptow::XOPS {
        assert!(
            page.contains(&format!("| `{:02X}` | `{}` |", info.op.code(), info.mnemonic)),
            "{}",
            info.mnemonic
        );
    }
}
