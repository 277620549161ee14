//! Random units: valid, printed and read without loss; and texts that are damaged.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::random_units::{Choices, Limits, bytes, mutate_text, valid_unit};
use std::collections::BTreeSet;
use wsp_core::tg::OPS;
use wsp_diag::{Diagnostic, SourceMap, render_all};
use wsp_ir::tg::verify;
use wsp_isa::tg::text::{parse, print};

/// Seeds that every test looks at.
const SEEDS: u64 = 400;

fn unit(seed: u64, limits: &Limits) -> wsp_ir::tg::TgModule {
    let bytes = bytes(seed, 40 + (seed as usize % 7) * 100);
    valid_unit(&mut Choices::new(&bytes), limits)
}

#[test]
fn random_units_keep_the_rules() {
    for limits in [Limits::text(), Limits::run()] {
        for seed in 0..SEEDS {
            let unit = unit(seed, &limits);
            let found = verify(&unit);
            let faults: Vec<&str> =
                found.iter().filter(|d| d.is_error()).map(|d| d.message.as_str()).collect();
            assert!(faults.is_empty(), "seed {seed}: {faults:#?}\n{}", print(&unit));
        }
    }
}

#[test]
fn random_units_have_every_instruction() {
    let seen: BTreeSet<_> =
        (0..SEEDS).flat_map(|seed| unit(seed, &Limits::text()).instrs).map(|instr| instr.op()).collect();
    let missing: Vec<&str> =
        OPS.iter().filter(|info| !seen.contains(&info.op)).map(|info| info.mnemonic).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// ISA-GEN-03.
#[test]
fn what_is_printed_is_read_as_the_same_unit() {
    for limits in [Limits::text(), Limits::run()] {
        for seed in 0..SEEDS {
            let unit = unit(seed, &limits);
            let text = print(&unit);
            let mut sources = SourceMap::default();
            let (again, found) = parse("random.tg", &text, &mut sources);
            assert!(found.is_empty(), "seed {seed}: {}\n{text}", render_all(&found, &sources, false));
            let again = again.unwrap();
            assert!(again == unit, "seed {seed}:\n{text}\n{}", print(&again));
            assert_eq!(print(&again), text, "seed {seed}");
        }
    }
}

#[test]
fn damaged_texts_are_read_or_refused_with_places() {
    for seed in 0..20 * SEEDS {
        let mut text = print(&unit(seed % SEEDS, &Limits::text()));
        mutate_text(&mut text, &mut Choices::new(&bytes(seed ^ 0x5EED, 100)));
        let mut sources = SourceMap::default();
        let (unit, found) = parse("damaged.tg", &text, &mut sources);
        assert_eq!(unit.is_none(), found.iter().any(Diagnostic::is_error), "{text}");
        for fault in &found {
            let span = fault.primary.as_ref().unwrap().span;
            assert!(
                span.start <= span.end && text.get(span.start as usize..span.end as usize).is_some(),
                "{fault:?}"
            );
        }
        // Whatever is read is printed as a fixed point.
        if let Some(unit) = unit {
            let printed = print(&unit);
            let (again, found) = parse("again.tg", &printed, &mut SourceMap::default());
            let again = again.unwrap_or_else(|| {
                panic!("{text}\n---\n{printed}\n{:?}", found.iter().map(|d| &d.message).collect::<Vec<_>>())
            });
            assert!(again == unit, "{text}\n---\n{printed}");
            assert_eq!(print(&again), printed);
        }
    }
}

#[test]
fn any_bytes_are_read_or_refused() {
    for seed in 0..2000 {
        let noise = bytes(seed, 200);
        let text = String::from_utf8_lossy(&noise);
        let (unit, found) = parse("noise.tg", &text, &mut SourceMap::default());
        assert_eq!(unit.is_none(), found.iter().any(Diagnostic::is_error));
    }
}
