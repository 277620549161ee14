//! What is done to every fuzz input: read, print and assemble again, verify, interpret.
//!
//! An input is the bytes of a program and nothing else; launches, configurations and budgets follow from a hash of it. So a
//! stored input is replayed by its bytes alone.

mod host;

use self::host::{Hash, Recorder};
use crate::choices::{Choices, bytes};
use crate::random_programs::{Temper, dispatch, launch};
use std::collections::BTreeSet;
use wsp_core::ptow::interp::{Interpreter, Mode, Progress, workspace_words};
use wsp_core::ptow::prefix::Prefixes;
use wsp_core::ptow::summary::{summarise, summary_words};
use wsp_core::ptow::verify::Style;
use wsp_core::ptow::{Op, Program, Verified, marks_needed};
use wsp_diag::SourceMap;
use wsp_isa::ptow::{AlignedBytes, disassemble, encode, workload};

/// Calls of an interpreter for one input.
const RUNS: u32 = 12;
/// Words of prefix sums: few, since each may take many steps to learn.
const PREFIX_WORDS: usize = 48;

/// How much is done with an input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Effort {
    /// Everything.
    Full,
    /// The round trip through text, which takes longest, for one input in sixteen.
    Quick,
}

/// What became of an input: names of outcomes, and of instructions together with how far they came.
pub(crate) type Features = BTreeSet<String>;

/// What becomes of the workload of an input. Panics when there is neither one nor a reason.
fn as_workload(input: &[u8]) -> &'static str {
    let text = match workload("p.ptow", input, &[]) {
        Ok(text) => text,
        Err(found) => {
            assert!(found.iter().any(wsp_diag::Diagnostic::is_error));
            return "no workload";
        }
    };
    let (module, found) = wsp_ir::workload::text::parse("p.ptow", &text, &mut SourceMap::default());
    assert!(module.is_some() || found.iter().any(wsp_diag::Diagnostic::is_error), "{text}");
    if module.is_some() { "workload" } else { "workload that breaks a rule" }
}

/// Puts an input through everything. Panics when something is wrong.
pub(crate) fn exercise(input: &[u8], effort: Effort) -> Features {
    let mut features = Features::new();
    let aligned = AlignedBytes::copy(input);
    let seed = Hash::of(input);
    let program = match Program::read(aligned.as_bytes()) {
        Ok(program) => program,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            features.insert(format!("read {}", variant(&error)));
            return features;
        }
    };
    if effort == Effort::Full || seed.is_multiple_of(16) {
        round_trip(input);
        features.insert(as_workload(input).to_owned());
    }
    let far = match verify(&program, seed, &mut features) {
        Some(verified) => {
            interpret(verified, seed, &mut features);
            "verified"
        }
        None => "refused",
    };
    for word in program.words {
        let name = Op::from_code(word.opcode).map_or("unknown", |op| op.info().mnemonic);
        features.insert(format!("{far} {name}"));
    }
    features
}

/// The first word of a value's debug text: its variant.
fn variant(value: &dyn std::fmt::Debug) -> String {
    format!("{value:?}").split(|c: char| !c.is_alphanumeric()).next().unwrap_or("").to_owned()
}

fn round_trip(input: &[u8]) {
    let text = disassemble(input).expect("what was read should print");
    if text.len() <= wsp_core::limits::MAX_SOURCE_BYTES as usize {
        let mut sources = SourceMap::default();
        let again = encode("input", &text, &mut sources)
            .unwrap_or_else(|found| panic!("{}\n{text}", wsp_diag::render_all(&found, &sources, false)));
        assert!(again == input, "the text gives other bytes:\n{text}");
    }
}

/// Verifies in both styles, with memory that is full of something.
fn verify<'p>(program: &Program<'p>, seed: u64, features: &mut Features) -> Option<Verified<'p>> {
    let mut marks = vec![seed as u8; marks_needed(program)];
    let ours = Verified::new(*program, &mut marks);
    let document = Verified::with_style(*program, &mut marks, Style::Document);
    assert!(ours.is_err() || document.is_ok(), "what is ours should be fine in the document's style");
    if let Err(error) = ours {
        assert!(!error.to_string().is_empty());
        features.insert(format!("verify {}", error.rule.id()));
    }
    if ours.is_err() && document.is_ok() {
        features.insert("document".to_owned());
    }
    document.ok()
}

/// Runs a program with two launches, in both modes, with and without prefix sums.
fn interpret(program: Verified<'_>, seed: u64, features: &mut Features) {
    for (temper, name) in [(Temper::Friendly, "friendly"), (Temper::Hostile, "hostile")] {
        let decisions = bytes(seed ^ temper as u64, 256);
        let mut choices = Choices::new(&decisions);
        let owned = launch(&mut choices, program.program(), temper);
        let tables = owned.tables();
        let launch = owned.launch(&tables);
        let config = dispatch(&mut choices, program.program(), temper);
        let mut summary_memory = vec![seed; summary_words(program.program())];
        let mut prefix_memory = vec![seed; PREFIX_WORDS];
        let with_sums = seed.is_multiple_of(16);
        let shared = if with_sums {
            let summaries = summarise(program.program(), &launch, &mut summary_memory);
            Prefixes::build(program.program(), &launch, &summaries, &mut prefix_memory)
        } else {
            Prefixes::none()
        };
        let ended = [Mode::Naive, Mode::Skip].map(|mode| {
            let mut workspace = vec![seed; workspace_words(&program)];
            let started = Interpreter::new(program, launch, &config, shared, &mut workspace, mode);
            match started {
                Err(refusal) => {
                    features.insert(format!("refused {}", variant(&refusal)));
                    None
                }
                Ok(interpreter) => {
                    let (progress, host) = run(interpreter, seed);
                    features.insert(format!("{name} {mode:?} {}", outcome(&progress)));
                    Some((progress, host))
                }
            }
        });
        if let [Some((Progress::Finished, naive)), Some((Progress::Finished, skip))] = ended {
            assert_eq!(naive.tasks, skip.tasks, "{name}: the tasks of both modes");
        }
    }
}

/// The end of a run by name; of a fault, what is wrong.
fn outcome(progress: &Progress) -> String {
    match progress {
        Progress::Fault(fault) => {
            assert!(!fault.to_string().is_empty());
            format!("fault {}", variant(&fault.kind))
        }
        other => variant(other),
    }
}

/// Goes on as long as the budget lasts.
fn run(mut interpreter: Interpreter<'_>, seed: u64) -> (Progress, Recorder) {
    let mut host = Recorder::new(seed);
    let mut last = Progress::Yielded;
    for turn in 0..RUNS {
        let (tasks, steps) = (1 + (seed >> turn) as u32 % 64, 1 + (seed >> (2 * turn)) as u32 % 512);
        let before = interpreter.watermark();
        // A host that takes no more asks again.
        let Ok(progress) = interpreter.run(&mut host, tasks, steps) else { continue };
        assert!(interpreter.watermark() >= before, "the watermark never falls");
        last = progress;
        match progress {
            Progress::Yielded | Progress::Waits(_) => {}
            Progress::Finished | Progress::Fault(_) => break,
        }
    }
    assert!(interpreter.stats().tasks <= host.taken, "every task counted was handed over");
    (last, host)
}
