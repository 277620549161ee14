//! From text or bytes to checked instructions.

use super::super::runtime::measure::{Moment, median};
use super::super::runtime::table::{Row, Target};
use super::unit::{large, parsed, said};
use super::{Plan, plain};
use crate::ceiling::read_rate;
use std::hint::black_box;
use wsp_diag::Diagnostic;
use wsp_ir::tg::{Names, TgModule, verify};
use wsp_isa::tg::binary::{decode, encode};

/// Millions of instructions per second that are asked for.
const ASSEMBLED: f64 = 1.0;
/// Milliseconds within which a unit of 100,000 kernels is to be loaded.
const LOADED_MS: f64 = 20.0;

/// Nanoseconds on the wall.
fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let start = Moment::now();
    let result = black_box(work());
    (start.to(Moment::now()).wall, result)
}

fn checked(module: &TgModule) -> Result<(), String> {
    let found: Vec<Diagnostic> = verify(module);
    if found.iter().any(Diagnostic::is_error) { Err(said(&found)) } else { Ok(()) }
}

/// The median of all but the first, which warms up.
fn middle(mut times: Vec<f64>) -> f64 {
    if times.len() > 1 {
        times.remove(0);
    }
    median(times)
}

/// Text to checked instructions, and to bytes.
pub(super) fn assemble(plan: &Plan, row: &mut dyn FnMut(Row)) -> Result<(), String> {
    let text = large(plan.assembled);
    let [mut read, mut verified, mut encoded, mut pass] = [const { Vec::new() }; 4];
    let mut instructions = 0.0;
    for _ in 0..=plan.rounds {
        let (ns, module) = timed(|| parsed(black_box(&text)));
        let module = module?;
        instructions = module.instrs.len() as f64;
        read.push(ns);
        let (ns, found) = timed(|| checked(&module));
        found?;
        verified.push(ns);
        let (ns, bytes) = timed(|| encode(&module));
        bytes.map_err(|fault| fault.message)?;
        encoded.push(ns);
        pass.push(timed(|| plain::words(black_box(&text))).0);
    }
    let sum = |lists: &[&Vec<f64>]| -> f64 {
        middle((0..read.len()).map(|i| lists.iter().map(|list| list[i]).sum()).collect())
    };
    let rate = |ns: f64| instructions * 1e3 / ns;
    let pass = rate(middle(pass.clone()));
    let mut emit = |measure, ns: f64, target| {
        row(Row { ours: rate(ns), target, peers: vec![Some(pass)], ..Row::plain("assemble", 1, measure) });
    };
    emit("parse+verify M/s", sum(&[&read, &verified]), Some(Target::AtLeast(ASSEMBLED)));
    emit("and to bytes M/s", sum(&[&read, &verified, &encoded]), Some(Target::AtLeast(ASSEMBLED)));
    emit("verify M/s", sum(&[&verified]), None);
    Ok(())
}

/// Bytes to checked instructions: as the assembler writes them, and without names and places in the text.
pub(super) fn load(plan: &Plan, row: &mut dyn FnMut(Row)) -> Result<(), String> {
    let mut module = parsed(&large(plan.loaded))?;
    load_one("load", &module, plan, row)?;
    module.spans.clear();
    module.names = Names::default();
    load_one("load, no names", &module, plan, row)
}

fn load_one(name: &str, module: &TgModule, plan: &Plan, row: &mut dyn FnMut(Row)) -> Result<(), String> {
    let bytes = encode(module).map_err(|fault| fault.message)?;
    let [mut decoded, mut verified] = [const { Vec::new() }; 2];
    for _ in 0..=plan.rounds {
        let (ns, module) = timed(|| decode("bench.ptog", black_box(&bytes)));
        let module = module.map_err(|found| said(&found))?;
        decoded.push(ns);
        let (ns, found) = timed(|| checked(&module));
        found?;
        verified.push(ns);
    }
    let once = bytes.len() as f64 / read_rate(&[&bytes], 1, plan.rounds);
    let all = decoded.iter().zip(&verified).map(|(a, b)| a + b).collect();
    for (measure, ns, target) in [
        ("read+verify ms", middle(all), Some(Target::AtMost(LOADED_MS))),
        ("read ms", middle(decoded), None),
        ("verify ms", middle(verified), None),
    ] {
        let peers = vec![Some(once / 1e6)];
        row(Row { ours: ns / 1e6, target, peers, ..Row::plain(name, 1, measure) });
    }
    Ok(())
}
