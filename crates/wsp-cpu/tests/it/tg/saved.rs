//! Checkpoints: what is saved, restored and refused.

use super::common::{all, inputs, kernels, refusal, session, session_with, signature, threads, values};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use wsp_core::tg::{CheckpointNo, Direction};
use wsp_cpu::tg::{CheckpointKey, CheckpointStore, MemoryStore, SessionOptions, TgKernels};

fn kept(store: &Arc<MemoryStore>) -> SessionOptions {
    let store: Arc<dyn CheckpointStore> = store.clone();
    SessionOptions { checkpoints: Some(store), ..threads(2) }
}

/// Kernels of which `inc` fails when it has run so many times: the run is cut off there.
fn cut_off(after: i64) -> TgKernels {
    let mut kernels = kernels();
    let left = AtomicI64::new(after);
    kernels.replace("inc", signature(&[Direction::InOut]), move |cx| {
        if left.fetch_sub(1, Ordering::SeqCst) <= 0 {
            return Err("cut off".into());
        }
        super::common::each(cx, 0, 0, |x| 3 * x + 1)
    });
    kernels
}

/// `x = 3x + 1` so many times over, in whole numbers that wrap at nothing: few enough steps.
fn steps(count: usize) -> i64 {
    (0..count).fold(0, |x, _| 3 * x + 1)
}

/// A loop in a graph over its own tensor, with a checkpoint in each round.
const IN_GRAPH: &str = "arg N: i64 = 30\nextern Y: i64[4]\nTG_BEGIN(G)\nMC_ALLOC(T, 32)\nMC_COPY(Y, T, 32)\nCF_LOOP(N, i)\nTG_KERNEL(A, inc, 1, AIV, 0)\nMC_BIND(A, 0, T)\nTG_CHECKPOINT(G, 3)\nCF_ENDLOOP\nMC_COPY(T, Y, 32)\nTG_END(G)\nTG_LAUNCH(G, default)\nTG_SYNC(G)";

/// A loop of the host over a graph, with a checkpoint in each round.
const ON_HOST: &str = "arg N: i64 = 30\nextern Y: i64[4]\nTG_BEGIN(G)\nTG_KERNEL(A, inc, 1, AIV, 0)\nMC_BIND(A, 0, Y)\nTG_END(G)\nCF_LOOP(N, i)\nTG_INVOKE(G, i)\nTG_SYNC(G)\nTG_CHECKPOINT(G, 0)\nCF_ENDLOOP";

/// A static loop that is unrolled, with checkpoints in some rounds.
const UNROLLED: &str = "arg N: i64 = 30\nextern Y: i64[4]\nTG_BEGIN(G)\nMC_ALLOC(T, 32)\nMC_COPY(Y, T, 32)\nCF_LOOP(30, i)\nTG_KERNEL(A, inc, 1, AIV, 0)\nMC_BIND(A, 0, T)\nCF_IF(i % 3 == 0)\nTG_CHECKPOINT(G, 3)\nCF_ENDIF\nCF_ENDLOOP\nMC_COPY(T, Y, 32)\nTG_END(G)\nTG_LAUNCH(G, default)\nTG_SYNC(G)";

/// ISA-FE-04: a run that is cut off anywhere and resumed ends with the result of one that was not.
#[test]
fn a_run_that_is_cut_off_and_resumed_gives_the_uninterrupted_result() {
    for text in [IN_GRAPH, ON_HOST, UNROLLED] {
        for after in [1, 7, 13, 29] {
            let store = Arc::new(MemoryStore::new());
            let said =
                all(&session_with(text, &cut_off(after), kept(&store)).run().expect_err("it is cut off"));
            assert!(said.contains("cut off"), "{said}");
            assert_eq!(store.keys().map(|keys| keys.len()), Ok(1));
            let mut resumed = session_with(text, &cut_off(i64::MAX), kept(&store));
            let report = resumed.resume().unwrap_or_else(|faults| panic!("{after}: {}", all(&faults)));
            assert_eq!(values(&resumed, "Y"), [steps(30); 4], "cut off after {after}");
            assert!(report.stats.kernels <= 30, "{} kernels", report.stats.kernels);
        }
    }
}

/// ISA-FE-04: resumed twice, and with another number of threads.
#[test]
fn a_resumed_run_can_be_cut_off_again() {
    let store = Arc::new(MemoryStore::new());
    session_with(IN_GRAPH, &cut_off(5), kept(&store)).run().expect_err("it is cut off");
    session_with(IN_GRAPH, &cut_off(11), kept(&store)).resume().expect_err("it is cut off again");
    let options = SessionOptions { runtime: threads(5).runtime, ..kept(&store) };
    let mut last = session_with(IN_GRAPH, &cut_off(i64::MAX), options);
    let report = last.resume().unwrap_or_else(|faults| panic!("{}", all(&faults)));
    assert_eq!(values(&last, "Y"), [steps(30); 4]);
    assert!(report.stats.kernels < 20, "it went on from the last checkpoint: {}", report.stats.kernels);
}

/// ISA-FE-04.
#[test]
fn a_graph_goes_back_to_its_checkpoint() {
    let text = "extern Y: i64[4]\nTG_BEGIN(G)\nTG_KERNEL(A, inc, 2, AIV, 0)\nMC_BIND(A, 0, Y)\nTG_END(G)";
    let store = Arc::new(MemoryStore::new());
    let mut session = session(text, kept(&store));
    let graph = session.graph("G").unwrap();
    let step = |session: &mut wsp_cpu::tg::Session| {
        session.launch(graph, session.default_stream()).expect("it starts");
        session.sync(graph).expect("it ends");
    };
    step(&mut session);
    session.checkpoint(graph, CheckpointNo(1)).expect("there is a store");
    step(&mut session);
    step(&mut session);
    assert_eq!(values(&session, "Y"), [3; 4]);
    session.restore(graph, CheckpointNo(1)).expect("it was saved");
    session.sync(graph).expect("nothing was in flight");
    assert_eq!(values(&session, "Y"), [1; 4]);
    let said = all(&[*session.restore(graph, CheckpointNo(2)).expect_err("it was never saved")]);
    assert!(said.contains("WSP1558"), "{said}");
}

/// ISA-FE-04: statements of the host save and restore.
#[test]
fn the_host_program_saves_and_restores() {
    let text = "extern Y: i64[4]\nTG_BEGIN(G)\nTG_KERNEL(A, inc, 2, AIV, 0)\nMC_BIND(A, 0, Y)\nTG_END(G)\nTG_LAUNCH(G, default)\nTG_SYNC(G)\nTG_CHECKPOINT(G, 1)\nTG_LAUNCH(G, default)\nTG_SYNC(G)\nTG_RESTORE(G, 1)\nTG_LAUNCH(G, default)\nTG_SYNC(G)";
    let mut session = session(text, kept(&Arc::new(MemoryStore::new())));
    session.run().unwrap_or_else(|faults| panic!("{}", all(&faults)));
    assert_eq!(values(&session, "Y"), [2; 4]);
}

#[test]
fn without_a_store_a_checkpoint_is_refused() {
    let said = all(&refusal(ON_HOST, threads(1)));
    assert!(said.contains("WSP1557"), "{said}");
}

#[test]
fn a_checkpoint_of_something_else_is_refused_with_what_differs() {
    let store = Arc::new(MemoryStore::new());
    session_with(ON_HOST, &cut_off(5), kept(&store)).run().expect_err("it is cut off");
    let refused = |text: &str, change: &dyn Fn(&mut SessionOptions)| {
        let mut options = kept(&store);
        change(&mut options);
        all(&session(text, options).resume().expect_err("it is another run"))
    };
    let said = refused(&ON_HOST.replace("inc", "fail"), &|_| {});
    assert!(said.contains("WSP1560") && said.contains("the units differ"), "{said}");
    let said = refused(ON_HOST, &|options| options.scalars = vec![("N".to_owned(), 31)]);
    assert!(said.contains("the scalars differ") && said.contains("31"), "{said}");
    let said = refused(ON_HOST, &|options| options.runtime.devices = 2);
    assert!(said.contains("the devices differ"), "{said}");
}

#[test]
fn a_damaged_checkpoint_is_refused() {
    let store = Arc::new(MemoryStore::new());
    session_with(ON_HOST, &cut_off(5), kept(&store)).run().expect_err("it is cut off");
    let key = CheckpointKey { graph: 0, checkpoint: 0, device: 0 };
    let mut bytes = store.load(key).unwrap().expect("it was saved");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    store.save(key, &bytes).unwrap();
    let said = all(&session(ON_HOST, kept(&store)).resume().expect_err("it is damaged"));
    assert!(said.contains("WSP1559") && said.contains("checksum"), "{said}");
}

/// Without a checkpoint there is nothing to go on from: the run begins at the beginning.
#[test]
fn without_a_checkpoint_a_resumed_run_begins_anew() {
    let given = inputs(&[("Y", &[0; 4])]);
    let options = SessionOptions { inputs: given, ..kept(&Arc::new(MemoryStore::new())) };
    let mut session = session(ON_HOST, options);
    session.resume().unwrap_or_else(|faults| panic!("{}", all(&faults)));
    assert_eq!(values(&session, "Y"), [30; 4]);
}
