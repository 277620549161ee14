//! Checkpoints: what is saved, restored and refused.

mod contents;

use super::common::{all, inputs, kernels, refusal, session, session_with, signature, threads, values};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use wsp_backend::Recording;
use wsp_backend::{CheckpointKey, CheckpointStore, MemoryStore, RecordKind};
use wsp_core::tg::crc::crc32;
use wsp_core::tg::{CheckpointNo, Direction};
use wsp_cpu::tg::{SessionOptions, TgKernels};

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
            assert_eq!(
                store.keys().map(|keys| keys.len()),
                Ok(2),
                "the start of the run, and its checkpoint"
            );
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

/// A launch that has not come to its checkpoint yet is waited for.
#[test]
fn a_restore_waits_for_the_launch_that_saves() {
    let text = "extern Y: i64[4]\nTG_BEGIN(G)\nTG_KERNEL(A, inc, 1, AIV, 0)\nMC_BIND(A, 0, Y)\nTG_CHECKPOINT(G, 3)\nTG_KERNEL(B, double, 1, AIV, 0)\nMC_BIND(B, 0, Y)\nMC_BIND(B, 1, Y)\nTG_DEPEND(A, B, DATA, Y)\nTG_END(G)\nTG_LAUNCH(G, default)\nTG_RESTORE(G, 3)\nTG_SYNC(G)";
    let mut kernels = kernels();
    kernels.replace("inc", signature(&[Direction::InOut]), |cx| {
        (0..1 << 10).for_each(|_| std::thread::yield_now());
        super::common::each(cx, 0, 0, |x| x + 1)
    });
    let mut session = session_with(text, &kernels, kept(&Arc::new(MemoryStore::new())));
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
    // Of two devices, which have one memory for `Y`, one would write.
    let body = "TG_INVOKE(G, i)\nTG_SYNC(G)\nTG_CHECKPOINT(G, 0)\n";
    let unit = &ON_HOST.replace(body, &format!("CF_IF(device == 0)\n{body}CF_ENDIF\n"));
    let store = Arc::new(MemoryStore::new());
    session_with(unit, &cut_off(5), kept(&store)).run().expect_err("it is cut off");
    let refused = |text: &str, change: &dyn Fn(&mut SessionOptions)| {
        let mut options = kept(&store);
        change(&mut options);
        all(&session(text, options).resume().expect_err("it is another run"))
    };
    let said = refused(&unit.replace("inc", "fail"), &|_| {});
    assert!(said.contains("WSP1560") && said.contains("the statements of the unit"), "{said}");
    let said = refused(unit, &|options| options.scalars = vec![("N".to_owned(), 31)]);
    assert!(said.contains("`N`: was 30, is 31"), "{said}");
    let said = refused(unit, &|options| options.runtime.devices = 2);
    assert!(said.contains("the number of devices: was 1, is 2"), "{said}");
    let said = refused(unit, &|options| options.inputs = inputs(&[("Y", &[0, 0, 0, 1])]));
    assert!(said.contains("the contents of `Y`"), "{said}");
}

#[test]
fn a_damaged_checkpoint_is_refused() {
    let store = Arc::new(MemoryStore::new());
    session_with(ON_HOST, &cut_off(5), kept(&store)).run().expect_err("it is cut off");
    let key = CheckpointKey { graph: 0, checkpoint: 0, device: 0, kind: RecordKind::Run };
    let mut bytes = store.load(key).unwrap().expect("it was saved");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    store.save(key, &bytes).unwrap();
    let said = all(&session(ON_HOST, kept(&store)).resume().expect_err("it is damaged"));
    assert!(said.contains("WSP1559") && said.contains("checksum"), "{said}");
}

/// A record in which all else is right, its checksum too.
#[test]
fn a_checkpoint_with_a_tensor_of_another_size_is_refused() {
    for (text, checkpoint) in [(IN_GRAPH, 3), (ON_HOST, 0)] {
        let store = Arc::new(MemoryStore::new());
        session_with(text, &cut_off(7), kept(&store)).run().expect_err("it is cut off");
        let key = CheckpointKey { graph: 0, checkpoint, device: 0, kind: RecordKind::Run };
        let mut bytes = store.load(key).unwrap().expect("it was saved");
        // Four numbers, behind how many bytes they have.
        let saved: Vec<u8> =
            [&[32], [steps(7); 4].as_slice()].concat().into_iter().flat_map(i64::to_le_bytes).collect();
        let at = bytes
            .windows(saved.len())
            .position(|window| window == saved)
            .expect("it should be in the record");
        let shorter = [&24u64.to_le_bytes(), &saved[8..32]].concat();
        bytes.splice(at..at + saved.len(), shorter);
        let length = bytes.len() as u64;
        bytes[12..20].copy_from_slice(&length.to_le_bytes());
        let sum = crc32(&bytes[12..]);
        bytes[8..12].copy_from_slice(&sum.to_le_bytes());
        store.save(key, &bytes).unwrap();
        let said = all(&session(text, kept(&store)).resume().expect_err("it has another size"));
        assert!(said.contains("WSP1560") && said.contains("has another size here"), "{said}");
    }
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

/// A store that remembers what it held after each record: every moment at which a run may have been killed.
#[derive(Debug, Default)]
pub(crate) struct History {
    moments: Mutex<Vec<BTreeMap<CheckpointKey, Vec<u8>>>>,
}

impl History {
    /// Stores with what was held after each record.
    pub(crate) fn moments(&self) -> Vec<Arc<MemoryStore>> {
        let moments = self.moments.lock().expect("nothing panics in it");
        let store = |held: &BTreeMap<CheckpointKey, Vec<u8>>| {
            let store = MemoryStore::new();
            held.iter().for_each(|(key, record)| store.save(*key, record).expect("memory takes all"));
            Arc::new(store)
        };
        moments.iter().map(store).collect()
    }
}

impl CheckpointStore for History {
    fn save(&self, key: CheckpointKey, record: &[u8]) -> Result<(), String> {
        let mut moments = self.moments.lock().expect("nothing panics in it");
        let mut held = moments.last().cloned().unwrap_or_default();
        held.insert(key, record.to_vec());
        moments.push(held);
        Ok(())
    }

    fn load(&self, key: CheckpointKey) -> Result<Option<Vec<u8>>, String> {
        let moments = self.moments.lock().expect("nothing panics in it");
        Ok(moments.last().and_then(|held| held.get(&key).cloned()))
    }

    fn keys(&self) -> Result<Vec<CheckpointKey>, String> {
        let moments = self.moments.lock().expect("nothing panics in it");
        Ok(moments.last().map(|held| held.keys().copied().collect()).unwrap_or_default())
    }
}

/// Runs a unit, and resumes it from what its store held after each record. Returns how many records there were.
fn resumed_from_every_record(text: &str, names: &[&str], options: &SessionOptions) -> usize {
    let history = Arc::new(History::default());
    let run = |store: Arc<dyn CheckpointStore>, resumes: bool| {
        let options = SessionOptions { checkpoints: Some(store), ..options.clone() };
        let mut session = session_with(text, &cut_off(i64::MAX), options);
        let done = if resumes { session.resume() } else { session.run() };
        done.unwrap_or_else(|faults| panic!("{text}\n{}", all(&faults)));
        names.iter().map(|name| values(&session, name)).collect::<Vec<_>>()
    };
    let expected = run(history.clone(), false);
    let moments = history.moments();
    for (at, store) in moments.iter().enumerate() {
        assert_eq!(run(store.clone(), true), expected, "after record {at} of {}:\n{text}", moments.len());
    }
    moments.len()
}

/// While a run that is resumed enters the launches that its checkpoint has, those that it has entered already may save others:
/// they have all of them. Memory for one graph only keeps the second launch out until the first has ended.
#[test]
fn a_checkpoint_saved_while_launches_are_entered_again_has_all_of_them() {
    let text = "extern X: i64[4]\nextern Y: i64[4]\nextern event E\nTG_BEGIN(FIRST)\nMC_ALLOC(T, 32)\nMC_COPY(Y, T, 32)\nTG_KERNEL(A, inc, 1, AIV, 0)\nMC_BIND(A, 0, X)\nTG_KERNEL(B, inc, 1, AIV, 0)\nMC_BIND(B, 0, X)\nTG_DEPEND(A, B, DATA, X)\nSY_WAIT(E, B)\nTG_CHECKPOINT(FIRST, 1)\nTG_KERNEL(C, last, 1, AIV, 0)\nMC_BIND(C, 0, X)\nTG_DEPEND(B, C, DATA, X)\nTG_END(FIRST)\nTG_BEGIN(SECOND)\nMC_ALLOC(BIG, 1024)\nMC_COPY(X, BIG, 32)\nTG_KERNEL(D, inc, 1, AIV, 0)\nMC_BIND(D, 0, Y)\nTG_END(SECOND)\nTG_LAUNCH(FIRST, default)\nTG_LAUNCH(SECOND, default)\nTG_CHECKPOINT(FIRST, 0)\nTG_SYNC(FIRST)\nTG_SYNC(SECOND)";
    let store = Arc::new(MemoryStore::new());
    let kernels = |is_cut_off: bool| {
        let mut kernels = cut_off(i64::MAX);
        kernels.replace("last", signature(&[Direction::InOut]), move |cx| match is_cut_off {
            true => Err("cut off".into()),
            false => super::common::each(cx, 0, 0, |x| 3 * x + 1),
        });
        kernels
    };
    let said = all(&session_with(text, &kernels(false), kept(&store)).run().expect_err("E is not signalled"));
    assert!(said.contains("WSP1555"), "{said}");
    let signalled = || SessionOptions { events: vec!["E".to_owned()], ..kept(&store) };
    let little = SessionOptions { memory: Some(1100), ..signalled() };
    let said = all(&session_with(text, &kernels(true), little).resume().expect_err("it is cut off in C"));
    assert!(said.contains("cut off"), "{said}");
    let mut last = session_with(text, &kernels(false), signalled());
    let report = last.resume().unwrap_or_else(|faults| panic!("{}", all(&faults)));
    assert_eq!(report.unit.resumed.map(|key| key.checkpoint), Some(1));
    assert_eq!((values(&last, "X"), values(&last, "Y")), (vec![steps(3); 4], vec![steps(1); 4]));
}

/// Events of earlier launches, of those in flight and of those to come; waits and signals on both sides of a checkpoint.
#[test]
fn events_are_saved() {
    let graph = |name: &str, body: &str| format!("TG_BEGIN({name})\n{body}TG_END({name})\n");
    let kernel = |name: &str, tensor: &str| {
        format!("TG_KERNEL({name}, inc, 1, AIV, 0)\nMC_BIND({name}, 0, {tensor})\n")
    };
    let signals = graph("S", &format!("{}SY_SIGNAL(E, A)\n", kernel("A", "X")));
    let checked = graph(
        "K",
        &format!(
            "{}SY_SIGNAL(F, A)\nTG_CHECKPOINT(K, 1)\n{}TG_DEPEND(A, B, DATA, Z)\n",
            kernel("A", "Z"),
            kernel("B", "Z")
        ),
    );
    let waits = graph("W", &format!("{}SY_WAIT(E, A)\nSY_WAIT(F, A)\n", kernel("A", "Y")));
    let head = format!("extern X: i64[4]\nextern Y: i64[4]\nextern Z: i64[4]\n{signals}{checked}{waits}");
    let launch = |name: &str| format!("TG_LAUNCH({name}, default)\n");
    let sync = |name: &str| format!("TG_SYNC({name})\n");
    let mut records = 0;
    for order in ["SKW", "SKWKW", "KSW", "SKSKW", "SKWSKW"] {
        for synced in [false, true] {
            let mut text = head.clone();
            for name in order.chars() {
                text += &launch(&name.to_string());
                if synced {
                    text += &sync(&name.to_string());
                }
            }
            text += &[sync("S"), sync("K"), sync("W")].concat();
            records += resumed_from_every_record(&text, &["X", "Y", "Z"], &threads(2));
        }
    }
    assert!(records > 20, "{records} records");
}

/// An event that had fired before a checkpoint was saved has fired for the launch that goes on from it, in a session where nothing signals it too.
#[test]
fn a_restored_launch_does_not_wait_again_for_an_event_that_had_fired() {
    let text = "extern event E\nextern Y: i64[4]\nTG_BEGIN(G)\nTG_KERNEL(A, inc, 1, AIV, 0)\nMC_BIND(A, 0, Y)\nTG_CHECKPOINT(G, 1)\nTG_KERNEL(B, inc, 1, AIV, 0)\nMC_BIND(B, 0, Y)\nTG_DEPEND(A, B, DATA, Y)\nSY_WAIT(E, B)\nTG_END(G)";
    let store = Arc::new(MemoryStore::new());
    let signalled = SessionOptions { events: vec!["E".to_owned()], ..kept(&store) };
    for (options, goes_on) in [(signalled, false), (kept(&store), true)] {
        let mut session = session(text, options);
        let graph = session.graph("G").unwrap();
        if goes_on {
            session.restore(graph, CheckpointNo(1)).unwrap_or_else(|fault| panic!("{fault:?}"));
        } else {
            session.launch(graph, session.default_stream()).expect("it starts");
        }
        session.sync(graph).unwrap_or_else(|fault| panic!("{fault:?}"));
        assert_eq!(values(&session, "Y"), [2; 4]);
    }
}

/// A `TG_RESTORE` after a resume finds what it would have found without.
#[test]
fn what_a_restore_asks_for_is_saved() {
    let text = "extern X: i64[4]\nextern Y: i64[4]\nTG_BEGIN(G)\nMC_ALLOC(T, 32)\nTG_KERNEL(A, inc, 1, AIV, 0)\nMC_BIND(A, 0, T)\nTG_CHECKPOINT(G, 2)\nTG_KERNEL(B, inc, 1, AIV, 0)\nMC_BIND(B, 0, X)\nMC_COPY(T, Y, 32)\nTG_END(G)\nCF_LOOP(3, i)\nTG_LAUNCH(G, default)\nTG_SYNC(G)\nTG_CHECKPOINT(G, 1)\nTG_LAUNCH(G, default)\nTG_SYNC(G)\nTG_RESTORE(G, 1)\nTG_LAUNCH(G, default)\nTG_SYNC(G)\nTG_RESTORE(G, 2)\nTG_SYNC(G)\nCF_ENDLOOP";
    assert!(resumed_from_every_record(text, &["X", "Y"], &threads(2)) > 10);
}

/// What a launch finds in tensors of its graph is what the one before left, also after a resume; released tensors are released.
#[test]
fn tensors_of_graphs_and_released_ones_are_saved() {
    let text = "extern X: i64[4]\nextern Y: i64[4]\nMC_ALLOC(U, 32)\nTG_BEGIN(G)\nMC_ALLOC(T, 32)\nMC_ALLOC(R, 32)\nTG_KERNEL(A, inc, 1, AIV, 0)\nMC_BIND(A, 0, T)\nMC_COPY(T, R, 32)\nMC_COPY(R, X, 32)\nMC_FREE(R)\nTG_END(G)\nTG_BEGIN(K)\nTG_KERNEL(A, inc, 1, AIV, 0)\nMC_BIND(A, 0, Y)\nTG_CHECKPOINT(K, 1)\nTG_KERNEL(B, inc, 1, AIV, 0)\nMC_BIND(B, 0, Y)\nTG_DEPEND(A, B, DATA, Y)\nMC_COPY(Y, U, 32)\nTG_END(K)\nCF_LOOP(3, i)\nTG_LAUNCH(G, default)\nTG_SYNC(G)\nTG_LAUNCH(K, default)\nTG_SYNC(K)\nTG_LAUNCH(G, default)\nTG_SYNC(G)\nTG_CHECKPOINT(G, 2)\nTG_SET_PRIORITY(G, 5)\nCF_ENDLOOP\nMC_FREE(U)\nTG_LAUNCH(G, default)\nTG_SYNC(G)\nTG_CHECKPOINT(G, 2)\nTG_LAUNCH(G, default)\nTG_SYNC(G)";
    let options = SessionOptions { memory: Some(4 * 32 + 32), ..threads(2) };
    assert!(resumed_from_every_record(text, &["X", "Y"], &options) > 6);
}

/// Each stream has tensors of its own.
#[test]
fn tensors_of_a_graph_in_another_stream_are_saved() {
    let text = "extern Y: i64[4]\nTG_BEGIN(G)\nMC_ALLOC(T, 32)\nTG_KERNEL(A, inc, 1, AIV, 0)\nMC_BIND(A, 0, T)\nMC_COPY(T, Y, 32)\nTG_END(G)\nCF_LOOP(3, i)\nTG_LAUNCH(G, 7)\nTG_SYNC(G)\nTG_CHECKPOINT(G, 1)\nCF_ENDLOOP";
    assert!(resumed_from_every_record(text, &["Y"], &threads(2)) > 3);
}

/// A fused graph has tensors of its own under the numbers of those that it is made of.
#[test]
fn tensors_of_fused_graphs_are_saved() {
    let text = "extern X: i64[4]\nextern Y: i64[4]\nTG_BEGIN(G)\nMC_ALLOC(T, 32)\nMC_COPY(Y, T, 32)\nTG_KERNEL(A, inc, 1, AIV, 0)\nMC_BIND(A, 0, T)\nTG_CHECKPOINT(G, 1)\nTG_KERNEL(B, inc, 1, AIV, 0)\nMC_BIND(B, 0, T)\nTG_DEPEND(A, B, DATA, T)\nMC_COPY(T, Y, 32)\nTG_END(G)\nTG_BEGIN(H)\nTG_KERNEL(C, inc, 1, AIV, 0)\nMC_BIND(C, 0, X)\nTG_END(H)\nTG_FUSE(G, H, F)\nTG_LAUNCH(F, default)\nTG_SYNC(F)\nTG_LAUNCH(G, default)\nTG_LAUNCH(F, default)\nTG_SYNC(F)";
    assert_eq!(resumed_from_every_record(text, &["X", "Y"], &threads(2)), 4);
}

/// A checkpoint that other launches keep from being one of the run does not replace one that is.
#[test]
fn a_run_is_resumed_from_the_newest_checkpoint_that_it_can_be_resumed_from() {
    let graph = |name: &str, tensor: &str, rest: &str| {
        format!(
            "TG_BEGIN({name})\nTG_KERNEL(A, inc, 1, AIV, 0)\nMC_BIND(A, 0, {tensor})\n{rest}TG_END({name})\n"
        )
    };
    let text = format!(
        "extern X: i64[4]\nextern Y: i64[4]\nextern event F\n{}{}TG_LAUNCH(K, default)\nTG_SYNC(K)\nTG_LAUNCH(G, 7)\nTG_LAUNCH(K, default)\nTG_SYNC(K)\nTG_SYNC(G)",
        graph("K", "Y", "TG_CHECKPOINT(K, 1)\n"),
        graph("G", "X", "SY_WAIT(F, A)\n"),
    );
    let store = Arc::new(MemoryStore::new());
    let said =
        all(&session_with(&text, &cut_off(i64::MAX), kept(&store)).run().expect_err("F is not signalled"));
    assert!(said.contains("WSP1555") && said.contains("WSP1575") && said.contains("graph `G`"), "{said}");
    let options = SessionOptions { events: vec!["F".to_owned()], ..kept(&store) };
    let mut resumed = session_with(&text, &cut_off(i64::MAX), options);
    let report = resumed.resume().unwrap_or_else(|faults| panic!("{}", all(&faults)));
    assert!(report.unit.resumed.is_some() && all(&report.notes).contains("WSP1576"), "{:?}", report.notes);
    assert_eq!((values(&resumed, "X"), values(&resumed, "Y")), (vec![steps(1); 4], vec![steps(2); 4]));
}

/// What is saved while a launch has failed, and its failure was not returned yet, is no state of a run: the launch is over, and has not done
/// what it was to do.
#[test]
fn no_run_is_resumed_from_what_was_saved_after_a_failure() {
    let graph = |name: &str, tensor: &str, rest: &str| {
        format!(
            "TG_BEGIN({name})\nTG_KERNEL(A, inc, 1, AIV, 0)\nMC_BIND(A, 0, {tensor})\n{rest}TG_END({name})\n"
        )
    };
    let head = format!(
        "extern X: i64[4]\nextern Y: i64[4]\n{}{}{}",
        graph("BAD", "X", "").replace("inc", "broken"),
        graph("BEHIND", "X", ""),
        graph("K", "Y", "TG_CHECKPOINT(K, 1)\n"),
    );
    // The host saves, or a launch on another stream that goes on after the failure.
    let host = "TG_LAUNCH(BAD, default)\nTG_LAUNCH(BEHIND, default)\nTG_CHECKPOINT(BAD, 0)\nTG_CHECKPOINT(BEHIND, 0)\n";
    let launch = "TG_LAUNCH(BAD, default)\nTG_LAUNCH(BEHIND, default)\nTG_LAUNCH(K, 7)\nTG_SYNC(BEHIND)\n";
    for text in [format!("{head}{host}TG_SYNC(BAD)"), format!("{head}{launch}TG_SYNC(K)")] {
        let store = Arc::new(MemoryStore::new());
        let run = |is_broken: bool, resumes: bool| {
            let mut kernels = cut_off(i64::MAX);
            kernels.replace("broken", signature(&[Direction::InOut]), move |cx| {
                if is_broken { Err("broken".into()) } else { super::common::each(cx, 0, 0, |x| 3 * x + 1) }
            });
            let mut session = session_with(&text, &kernels, kept(&store));
            let done = if resumes { session.resume() } else { session.run() };
            (done.map_err(|faults| all(&faults)), values(&session, "X"), values(&session, "Y"))
        };
        let said = run(true, false).0.expect_err("it is broken");
        assert!(said.contains("broken"), "{said}");
        let (done, x, y) = run(false, true);
        done.unwrap_or_else(|said| panic!("{said}"));
        assert_eq!(x, [steps(2); 4], "{text}");
        assert_eq!(y, vec![steps(i64::from(text.contains("(K, 7)")) as usize); 4], "{text}");
    }
}

/// Records that are cut short or changed anywhere: an older record is taken, or the run is refused with a reason.
#[test]
fn damaged_records_are_passed_over_or_refused() {
    let two = IN_GRAPH.replace(
        "TG_LAUNCH(G, default)\nTG_SYNC(G)",
        "CF_LOOP(2, k)\nTG_LAUNCH(G, default)\nTG_SYNC(G)\nTG_CHECKPOINT(G, 4)\nCF_ENDLOOP",
    );
    let history = Arc::new(History::default());
    let few = vec![("N".to_owned(), 3)];
    let options = SessionOptions { scalars: few.clone(), checkpoints: Some(history.clone()), ..threads(2) };
    session_with(&two, &cut_off(i64::MAX), options).run().unwrap_or_else(|faults| panic!("{}", all(&faults)));
    let last = history.moments().pop().expect("there are records");
    for key in last.keys().unwrap() {
        let whole = last.load(key).unwrap().expect("it is a key of the store");
        for damage in 0..40 {
            let (mut bytes, at) = (whole.clone(), (damage * 7919 + 13) % whole.len());
            if damage % 2 == 0 {
                bytes.truncate(at)
            } else {
                bytes[at] ^= 1 << (damage % 8)
            }
            let store = MemoryStore::new();
            for other in last.keys().unwrap() {
                store.save(other, &last.load(other).unwrap().expect("as above")).unwrap();
            }
            store.save(key, &bytes).unwrap();
            let options = SessionOptions { scalars: few.clone(), ..kept(&Arc::new(store)) };
            let mut session = session_with(&two, &cut_off(i64::MAX), options);
            match session.resume() {
                Ok(_) => assert_eq!(values(&session, "Y"), [steps(6); 4], "{key} damaged at {at}"),
                Err(faults) => assert!(all(&faults).contains("WSP1559"), "{}", all(&faults)),
            }
        }
    }
}

/// The mark of the beginning of the newest run is damaged, and so it is not known which records are of that run.
#[test]
fn an_older_run_is_not_resumed_where_the_newest_is_not_known() {
    let store = Arc::new(MemoryStore::new());
    session_with(ON_HOST, &cut_off(5), kept(&store)).run().expect_err("it is cut off");
    session_with(ON_HOST, &cut_off(0), kept(&store))
        .run()
        .expect_err("it is cut off before its first record");
    let mut bytes = store.load(CheckpointKey::START).unwrap().expect("a run has begun");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    store.save(CheckpointKey::START, &bytes).unwrap();
    let said = all(&session(ON_HOST, kept(&store)).resume().expect_err("it is damaged"));
    assert!(said.contains("WSP1559") && said.contains("leave out `--resume`"), "{said}");
}
