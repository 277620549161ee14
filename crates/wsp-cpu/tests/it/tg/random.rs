//! Random units: their results depend on nothing but the unit.

use super::common::{all, threads};
use super::saved::History;
use crate::random_units::{Choices, ENTRIES, Limits, bytes, valid_unit};
use crate::randomised::cases;
use std::collections::BTreeMap;
use std::sync::Arc;
use wsp_backend::{CheckpointStore, MemoryStore};
use wsp_core::tg::{Direction, Instr, StreamNo};
use wsp_cpu::tg::{Session, SessionOptions, TgCx, TgKernels};
use wsp_cpu::workload::KernelFault;
use wsp_ir::tg::TgModule;
use wsp_plan::{Array, Arrays};
use wsp_runtime::tg::{Hints, Time, Trace, Tracing};

/// Mixes what a kernel may read into what it may write, in small whole numbers, so that counts that are read stay small. One block
/// does it all: arguments may share bytes.
fn mix(cx: &mut TgCx<'_>, seed: u32) -> Result<(), KernelFault> {
    if cx.block() != 0 {
        return Ok(());
    }
    let mut state = seed;
    for n in 0..cx.args() {
        let bytes: Vec<u8> = match cx.arg(n)?.direction {
            Direction::Out => Vec::new(),
            _ => cx.load(n)?,
        };
        state = bytes.iter().fold(state, |state, &byte| (state ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    }
    for n in 0..cx.args() {
        if cx.arg(n)?.direction == Direction::In {
            continue;
        }
        for word in 0..cx.bytes(n)? as usize / 4 {
            state = state.wrapping_mul(0x0019_660d).wrapping_add(0x3c6e_f35f);
            cx.store(n, word, &[state >> 30])?;
        }
    }
    Ok(())
}

fn mixing() -> TgKernels {
    let mut kernels = TgKernels::new();
    for (seed, entry) in (1..).zip(ENTRIES) {
        kernels.register(entry, None, move |cx| mix(cx, seed)).expect("each is registered once");
    }
    kernels
}

/// What external tensors begin with.
fn given(module: &TgModule) -> Arrays {
    let name = |no| module.name(wsp_ir::tg::Namespace::Tensor, wsp_core::tg::GraphNo(0), no);
    let array = |of: &wsp_ir::tg::ExternTensor| {
        let mut array = Array::zeros(of.dtype.expect("random units say so"), &of.shape).expect("it is small");
        array.bytes_mut().iter_mut().enumerate().for_each(|(i, byte)| *byte = u8::from(i % 12 == 0));
        (name(of.tensor.0), array)
    };
    module.externs.iter().map(array).collect()
}

/// What a run leaves in external tensors, and what it is refused for.
fn result(module: &TgModule, options: SessionOptions) -> Result<BTreeMap<String, Vec<u8>>, String> {
    recorded(module, options).map(|(outputs, _)| outputs)
}

/// The same, and when what ran.
fn recorded(
    module: &TgModule,
    mut options: SessionOptions,
) -> Result<(BTreeMap<String, Vec<u8>>, Trace), String> {
    options.inputs = given(module);
    options.runtime.tracing = Tracing::On;
    options.checkpoints = Some(Arc::new(MemoryStore::new()));
    let mut session = Session::new(module, &mixing(), options).map_err(|faults| all(&faults))?;
    let report = session.run().map_err(|faults| all(&faults))?;
    let trace = report.trace.expect("it was recorded");
    assert_eq!(session.check_trace(&trace), Vec::<String>::new());
    let outputs = session.outputs().expect("nothing is in flight");
    Ok((outputs.into_iter().map(|(name, array)| (name, array.bytes().to_vec())).collect(), trace))
}

/// Virtual time with so many workers.
fn in_virtual_time(workers: u32) -> SessionOptions {
    let mut options = threads(workers);
    options.runtime.time = Time::Virtual;
    options
}

/// Whether launches are on several streams: they may race, and then no two runs need agree.
fn is_beside(module: &TgModule) -> bool {
    let is = |instr: &Instr| matches!(instr, Instr::TgLaunch { stream, .. } if *stream != StreamNo(0));
    module.instrs.iter().any(is)
}

/// Whether the host asks for checkpoints of launches that go on: a run pauses them wherever they are then.
fn saves_meanwhile(module: &TgModule) -> bool {
    let mut in_graph = false;
    module.instrs.iter().any(|instr| {
        match instr {
            Instr::TgBegin { .. } => in_graph = true,
            Instr::TgEnd { .. } => in_graph = false,
            _ => {}
        }
        !in_graph && matches!(instr, Instr::TgCheckpoint { .. })
    })
}

/// What ran, in order.
fn order(trace: &Trace) -> Vec<(u64, &str, &[u32], u32)> {
    let blocks = trace.blocks.iter().map(|block| {
        let run = &trace.runs[block.run as usize];
        (run.launch.0, run.name.as_str(), run.iterations.as_slice(), block.block)
    });
    blocks.collect()
}

/// ISA-TG-24: what virtual time runs is what one worker runs, in its order. The host of a run goes on beside its launches: launches of one stream only are the same
/// whenever it makes them.
#[test]
#[allow(clippy::print_stdout, reason = "how many cases ran is worth knowing")]
fn random_units_run_in_virtual_time_in_the_order_of_one_worker() {
    let (units, mut ran, mut blocks) = (cases(250), 0, 0u64);
    for seed in 0..units {
        let source = bytes(seed ^ 0x7137, 600);
        let module = valid_unit(&mut Choices::new(&source), &Limits::run());
        let text = || wsp_isa::tg::text::print(&module);
        match (recorded(&module, threads(1)), recorded(&module, in_virtual_time(1))) {
            (Ok((expected, run)), Ok((outputs, trace))) => {
                assert_eq!(outputs, expected, "seed {seed}:\n{}", text());
                if !is_beside(&module) && !saves_meanwhile(&module) {
                    assert_eq!(order(&trace), order(&run), "seed {seed}:\n{}", text());
                    (ran, blocks) = (ran + 1, blocks + run.blocks.len() as u64);
                }
            }
            (Err(_), Err(_)) if is_beside(&module) => {}
            // What is said of checkpoints behind the fault depends on how far the host was.
            (Err(expected), Err(said)) => {
                assert_eq!(said.lines().next(), expected.lines().next(), "seed {seed}:\n{}", text());
            }
            (expected, got) => panic!("seed {seed}: {expected:?} {got:?}\n{}", text()),
        }
    }
    assert!(ran > units / 8 && blocks > 4 * ran, "{ran} of {units} units, {blocks} blocks");
    println!("{units} units, {ran} on one stream, {blocks} blocks");
}

/// ISA-TG-24, ISA-IMP-10, ISA-CA-02: the number of threads, hints and the way through a binary change no bit.
#[test]
fn results_of_random_units_depend_on_the_unit_alone() {
    let (mut ran, mut copied_nothing) = (0, 0);
    for seed in 0..150 {
        let source = bytes(seed, 600);
        let module = valid_unit(&mut Choices::new(&source), &Limits::run());
        let text = || wsp_isa::tg::text::print(&module);
        let expected = result(&module, threads(1));
        ran += usize::from(expected.is_ok());
        copied_nothing += usize::from(expected.as_ref().is_err_and(|said| said.contains("WSP0616")));
        let mut honoured = threads(3);
        honoured.runtime.hints = Hints::Honour;
        let encoded = wsp_isa::tg::binary::encode(&module).expect("a valid unit can be written");
        let read = wsp_isa::tg::binary::decode("test.ptog", &encoded).expect("what was written can be read");
        for (way, got) in [
            ("2 threads", result(&module, threads(2))),
            ("8 threads", result(&module, threads(8))),
            ("hints", result(&module, honoured)),
            ("the binary", result(&read, threads(2))),
            ("virtual time", result(&module, in_virtual_time(4))),
        ] {
            match (&expected, &got) {
                (Ok(expected), Ok(got)) => assert_eq!(expected, got, "seed {seed}, {way}:\n{}", text()),
                (Err(_), Err(_)) => {}
                // Partitions and requests may ask for more than the device has, if they are honoured.
                (Ok(_), Err(_)) if way == "hints" => {}
                _ => panic!("seed {seed}, {way}: {expected:?} {got:?}\n{}", text()),
            }
        }
    }
    assert!(ran > 120 && ran + copied_nothing > 140, "{ran} of 150 units run");
}

/// ISA-FE-04: a run that is killed after any of its records, and resumed, gives the result of one that was not; with another input
/// it is refused.
#[test]
#[allow(clippy::print_stdout, reason = "how many cases ran is worth knowing")]
fn random_units_resumed_after_any_record_give_the_uninterrupted_result() {
    let (mut units, mut resumed, mut refused) = (0, 0, 0);
    for seed in 0.. {
        if units == cases(60) {
            break;
        }
        let source = bytes(seed ^ 0x5eed, 600);
        let module = valid_unit(&mut Choices::new(&source), &Limits::run());
        if is_beside(&module) {
            continue;
        }
        let run = |store: Arc<dyn CheckpointStore>, resumes: bool, changed: bool| {
            let mut options =
                SessionOptions { checkpoints: Some(store), inputs: given(&module), ..threads(2) };
            if changed {
                options.inputs.values_mut().next()?.bytes_mut()[0] ^= 1;
            }
            let mut session = Session::new(&module, &mixing(), options).ok()?;
            if let Err(faults) = if resumes { session.resume() } else { session.run() } {
                return Some(Err(all(&faults)));
            }
            let outputs = session.outputs().expect("nothing is in flight");
            Some(Ok(outputs.into_iter().map(|(name, array)| (name, array.bytes().to_vec())).collect()))
        };
        let history = Arc::new(History::default());
        let expected: Option<Result<BTreeMap<String, Vec<u8>>, String>> = run(history.clone(), false, false);
        let (Some(Ok(expected)), moments) = (expected, history.moments()) else { continue };
        if moments.len() < 2 {
            continue;
        }
        units += 1;
        let text = || wsp_isa::tg::text::print(&module);
        // Of long histories the first records, and some of the others.
        let step = (moments.len() / 12).max(1);
        for store in moments.iter().step_by(step) {
            if let Some(Err(said)) = run(store.clone(), true, true) {
                assert!(said.contains("WSP1560"), "seed {seed}: {said}\n{}", text());
                refused += 1;
            } else {
                assert!(given(&module).is_empty(), "seed {seed} takes another input:\n{}", text());
            }
            let got = run(store.clone(), true, false).expect("it was made before");
            assert_eq!(got.as_ref(), Ok(&expected), "seed {seed}:\n{}", text());
            resumed += 1;
        }
    }
    println!("{units} units, {resumed} resumed runs, {refused} refused");
}
