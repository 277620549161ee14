//! Units of `docs/reference/tg.md` are read and keep the rules, and every instruction is on the page.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test fails by panicking and reads the page that it checks"
)]

use std::path::Path;
use wsp_core::tg::{
    AffinityType, CoreType, DependencyType, FenceScope, ISA_REVISION, MAX_GRAPH_ID, MemLocation, OPS,
};
use wsp_diag::{SourceMap, render_all};
use wsp_isa::tg::text::{parse, print};

/// The page.
fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/tg.md");
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn units_of_the_page_are_read_and_keep_the_rules() {
    let page = page();
    let blocks: Vec<&str> =
        page.split("```tg\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(!blocks.is_empty());
    for block in blocks {
        let mut sources = SourceMap::default();
        let (unit, mut found) = parse("tg.md", block, &mut sources);
        if let Some(unit) = &unit {
            found.extend(wsp_ir::tg::verify(unit));
            assert!(parse("again", &print(unit), &mut SourceMap::default()).0.as_ref() == Some(unit));
        }
        assert!(found.is_empty(), "{}", render_all(&found, &sources, false));
    }
}

/// ISA-GEN-03: every instruction and operand is on the page.
#[test]
fn every_instruction_and_operand_is_on_the_page() {
    let page = page();
    for info in OPS {
        let (_, rest) = page.split_once(&format!("#### `{}`\n", info.mnemonic)).unwrap();
        let section = rest.split("\n#### ").next().unwrap();
        for operand in info.operands {
            assert!(
                section.contains(&format!("| `{}` |", operand.name)),
                "{} {}",
                info.mnemonic,
                operand.name
            );
        }
    }
}

/// ISA-TG-12, ISA-TG-16, ISA-MC-03, ISA-MC-11, ISA-CA-03.
#[test]
fn choices_have_the_numbers_of_the_document() {
    let cores = [
        (CoreType::Aic, "AIC"),
        (CoreType::Aiv, "AIV"),
        (CoreType::AicAiv, "AIC_AIV"),
        (CoreType::Aicpu, "AICPU"),
    ];
    assert_eq!(cores.map(|(c, _)| c as u8), [0, 1, 2, 3]);
    assert!(cores.iter().all(|(c, name)| c.name() == *name));
    assert_eq!(
        DependencyType::ALL.iter().map(|c| (c.1, c.0 as u8)).collect::<Vec<_>>(),
        [("AFTER", 0), ("DATA", 1), ("BARRIER", 2), ("SOFT", 3)]
    );
    assert_eq!(
        MemLocation::ALL.iter().map(|c| (c.1, c.0 as u8)).collect::<Vec<_>>(),
        [("GM", 0), ("L2", 1), ("HBM", 2), ("SHARED", 3)]
    );
    assert_eq!(
        FenceScope::ALL.iter().map(|c| (c.1, c.0 as u8)).collect::<Vec<_>>(),
        [("DEVICE", 0), ("L2", 1), ("GM", 2)]
    );
    assert_eq!(
        AffinityType::ALL.iter().map(|c| (c.1, c.0 as u8)).collect::<Vec<_>>(),
        [("COLOCATE", 0), ("SEPARATE", 1), ("L2_SHARE", 2)]
    );
}

/// ISA-REV-01, ISA-TG-03.
#[test]
fn the_page_says_its_revision_and_limits() {
    let page = page();
    assert!(page.contains(&format!("revision {}.{}", ISA_REVISION.0, ISA_REVISION.1)));
    assert!(page.contains(&format!("| largest number of a graph | {MAX_GRAPH_ID} |")));
}
