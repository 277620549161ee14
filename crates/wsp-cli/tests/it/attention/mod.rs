//! Every decode attention case through the programs of `examples/attention` that compute it: each instruction set of this
//! machine forced, on both engines, in both page layouts, under every schedule.

mod prefill;
mod targets;

use crate::command::root;
use crate::decode_cases::Case;
use crate::decode_cases::{cases, merges, names};
use std::collections::BTreeMap;
use targets::{TARGETS, Target};
use wsp_cli::KvLayout;
use wsp_cli::engine::{Loaded, Options, compile, execute};
use wsp_core::DType;
use wsp_diag::SourceMap;
use wsp_ir::Module;
use wsp_kernel::{Engine, Level, Mode};
use wsp_plan::{Array, Arrays, ParamValue};

/// What an f32 accumulator over up to 65,536 tokens leaves, relative to the larger of 1 and the result; a lost bit of a narrower
/// one (3e-4) shows.
const STRICT: f64 = 1e-5;
/// Logits up to this size are rounded to less than `STRICT` allows for.
const ORDINARY_LOGIT: f64 = 10.0;
/// Roundings of a logit in units of its last place: of products, of their sum in blocks, of the scales.
const LOGIT_ULPS: f64 = 16.0;
/// Tokens of the cases that run in fewer combinations.
const LONG: u32 = 3000;

fn module(path: &str) -> Module {
    let full = root().join(path);
    let text = std::fs::read_to_string(&full).unwrap_or_else(|e| panic!("{path}: {e}"));
    let mut sources = SourceMap::default();
    let compiled = compile(&mut sources, &full.to_string_lossy(), &text)
        .unwrap_or_else(|faults| panic!("{path}: {faults:?}"));
    assert!(compiled.warnings.is_empty(), "{path}: {:?}", compiled.warnings);
    compiled.module
}

/// Every instruction set of this machine and both engines; what is not here is said.
fn combinations() -> Vec<(Mode, Engine)> {
    let modes = std::iter::once(Mode::Plain).chain(Level::ALL.into_iter().map(Mode::At));
    let (here, absent): (Vec<Mode>, Vec<Mode>) = modes.partition(|mode| mode.is_available());
    let engines = [Engine::Interpreter, Engine::Native];
    for mode in absent {
        println!("not run, this machine lacks it: {mode:?}");
    }
    for engine in engines.iter().filter(|engine| !engine.is_available()) {
        println!("not run, this build lacks it: {engine:?}");
    }
    let engines = engines.into_iter().filter(|engine| engine.is_available());
    engines.flat_map(|engine| here.iter().map(move |&mode| (mode, engine))).collect()
}

/// The largest error of a feature as a share of what is allowed, and how often it was measured.
#[derive(Clone, Copy, Default)]
struct Share {
    output: f64,
    lse: f64,
    runs: usize,
}

/// What is allowed for an element whose reference is `want`.
///
/// A score of size `s` is rounded to some `2^-24 s`, which changes weights by as much: what is allowed beyond `STRICT` for
/// cases with large logits.
fn allowed(case: &Case, want: f64) -> f64 {
    let score = (case.max_logit - ORDINARY_LOGIT).max(0.0) * std::f64::consts::LOG2_E;
    STRICT * want.abs().max(1.0) + LOGIT_ULPS * 2f64.powi(-24) * score
}

/// The largest error as a share of what is allowed; infinite where one is NaN or infinite and the other is not.
fn share(what: &str, have: &Array, want: &[f64], allowed: impl Fn(f64) -> f64) -> f64 {
    let have = have.as_slice::<f32>().unwrap();
    assert_eq!(have.len(), want.len(), "{what}");
    let of = |(&have, &want): (&f32, &f64)| {
        if f64::from(have) == want {
            return 0.0;
        }
        let error = (f64::from(have) - want).abs();
        if error.is_finite() { error / allowed(want) } else { f64::INFINITY }
    };
    have.iter().zip(want).map(of).fold(0.0, f64::max)
}

#[test]
fn every_case_matches_with_every_instruction_set_on_both_engines() {
    let combinations = combinations();
    let mut shares: BTreeMap<&str, Share> = BTreeMap::new();
    let mut faults = Vec::new();
    let programs: Vec<(Target, Module)> = TARGETS.iter().map(|t| (*t, module(t.file))).collect();
    for (name, case) in cases() {
        for (target, program) in programs.iter().filter(|(target, _)| (target.takes)(&case)) {
            let found = run_case(&name, &case, target, program, &combinations, &mut faults);
            let all = shares.entry(target.feature).or_default();
            all.output = all.output.max(found.output);
            all.lse = all.lse.max(found.lse);
            all.runs += found.runs;
        }
    }
    for (feature, share) in &shares {
        println!(
            "{feature:<16} {:>5} runs, largest error {:.3} of what is allowed, lse {:.3}",
            share.runs, share.output, share.lse
        );
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
    assert_eq!(shares.len(), TARGETS.len(), "every program has a case");
}

/// The arrays of a case as a program wants them: without slopes these are 0, without sinks -∞.
fn arrays(case: &Case, target: &Target, layout: KvLayout) -> Arrays {
    let mut arrays = case.arrays(layout, &(target.names)(case)).unwrap();
    let extras = case.extras;
    for (name, has, none) in [("alibi_slopes", extras.alibi, 0.0), ("sinks", extras.sinks, f32::NEG_INFINITY)]
    {
        if let Some(array) = arrays.get_mut(name).filter(|_| !has) {
            array.as_slice_mut::<f32>().unwrap().fill(none);
        }
    }
    arrays
}

/// Runs a case in every combination and both layouts, each under another schedule than the one before.
fn run_case(
    name: &str,
    case: &Case,
    target: &Target,
    program: &Module,
    combinations: &[(Mode, Engine)],
    faults: &mut Vec<String>,
) -> Share {
    let mut found = Share::default();
    let loaded = [KvLayout::Nhd, KvLayout::Hnd]
        .map(|layout| Loaded { module: program.clone(), arrays: arrays(case, target, layout) });
    let long = case.problem.lens.iter().sum::<u32>() > LONG;
    let runs = combinations.iter().flat_map(|&of| [(of, 0), (of, 1)]);
    for (turn, ((mode, engine), layout)) in runs.enumerate() {
        // Long cases are about many tokens, which the loops of the fast modes have in common.
        if long && mode == Mode::Plain {
            continue;
        }
        let loaded = &loaded[layout];
        let layout = [KvLayout::Nhd, KvLayout::Hnd][layout];
        // Every schedule with every mode, over the cases.
        let turn = turn + case.problem.seed as usize;
        let schedule =
            (!target.schedules.is_empty()).then(|| target.schedules[turn % target.schedules.len()]);
        let mut set: Vec<(String, ParamValue)> =
            (target.set)(case).into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        set.push(("sm_scale".to_owned(), ParamValue::Float(case.sm_scale)));
        let options = Options {
            threads: 2,
            layout,
            schedule: schedule.map(str::to_owned),
            // Few cores, so that some requests are cut and others not.
            max_blocks: Some(9),
            set,
            mode,
            engine,
            ..Options::default()
        };
        let what = format!("{name}, {}, {mode:?}, {engine:?}, {layout}, {schedule:?}", target.feature);
        let outcome = match execute(loaded, &options) {
            Ok(outcome) => outcome,
            Err(why) => {
                faults.push(format!("{what}: {why:?}"));
                continue;
            }
        };
        let output = share(&what, &outcome.outputs["output"], &case.o, |want| allowed(case, want));
        let lse = share(&what, &outcome.outputs["lse"], &case.lse, |want| allowed(case, want));
        if output > 1.0 || lse > 1.0 {
            faults.push(format!("{what}: output {output:.3}, lse {lse:.3} of what is allowed"));
        }
        found = Share { output: found.output.max(output), lse: found.lse.max(lse), runs: found.runs + 1 };
    }
    found
}

#[test]
fn merges_match_with_every_instruction_set_on_both_engines() {
    let program = module("examples/attention/merge_states.pto");
    for (name, case) in merges() {
        let array = |shape: &[u64], values: &[f32]| {
            let mut array = Array::zeros(DType::F32, shape).unwrap();
            array.as_slice_mut::<f32>().unwrap().copy_from_slice(values);
            array
        };
        let (rows, states, dim) = (case.rows as u64, case.states as u64, case.dim as u64);
        let s: Vec<f32> = case.s.iter().map(|&s| s as f32).collect();
        let mut arrays = Arrays::new();
        arrays.insert("v".to_owned(), array(&[rows, states, dim], &case.v));
        arrays.insert("s".to_owned(), array(&[rows, states], &s));
        let loaded = Loaded { module: program.clone(), arrays };
        for (mode, engine) in combinations() {
            let what = format!("{name}, {mode:?}, {engine:?}");
            let options = Options { threads: 2, mode, engine, ..Options::default() };
            let outcome = execute(&loaded, &options).unwrap_or_else(|faults| panic!("{what}: {faults:?}"));
            let strict = |want: f64| STRICT * want.abs().max(1.0);
            let output = share(&what, &outcome.outputs["output"], &case.v_merged, strict);
            let lse = share(&what, &outcome.outputs["lse"], &case.s_merged, strict);
            assert!(output <= 1.0 && lse <= 1.0, "{what}: output {output:.3}, lse {lse:.3}");
        }
    }
}

#[test]
fn outputs_of_extreme_logits_are_exact() {
    // Raw products are -524288; every weight is the same, and every value 1.
    let (name, case) = cases().find(|(name, _)| name == "14_extreme_negative").unwrap();
    let program = module("examples/attention/decode.pto");
    for (mode, engine) in combinations() {
        let loaded =
            Loaded { module: program.clone(), arrays: case.arrays(KvLayout::Nhd, &names(&case)).unwrap() };
        let options = Options { threads: 1, mode, engine, ..Options::default() };
        let outcome = execute(&loaded, &options).unwrap_or_else(|faults| panic!("{name}: {faults:?}"));
        let output = outcome.outputs["output"].as_slice::<f32>().unwrap();
        assert!(output.iter().all(|&x| x == 1.0), "{name}, {mode:?}, {engine:?}: {output:?}");
        let lse = share(&name, &outcome.outputs["lse"], &case.lse, |want| 1e-3 + 1e-5 * want.abs());
        assert!(lse <= 1.0, "{name}, {mode:?}, {engine:?}");
    }
}
