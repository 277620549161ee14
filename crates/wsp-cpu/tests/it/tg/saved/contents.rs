//! What a record says of what was stored, and records that say too little or come at once.

use super::*;

/// Options with which a session records what its tasks store.
fn recorded(store: &Arc<MemoryStore>) -> SessionOptions {
    SessionOptions { recording: Recording::On, ..kept(store) }
}

/// `half(out)` stores 0 to the first half of its argument, `last` fails once it is cut off.
fn halves(is_cut_off: bool) -> TgKernels {
    let mut kernels = kernels();
    kernels.replace("half", signature(&[Direction::Out]), |cx| {
        let half = cx.len::<i64>(0)? / 2;
        cx.store(0, 0, &vec![0i64; half])
    });
    kernels.replace("last", signature(&[Direction::In, Direction::Out]), move |cx| match is_cut_off {
        true => Err("cut off".into()),
        false => super::super::common::each(cx, 0, 1, |x| x),
    });
    kernels
}

/// Elements of each output that nothing has stored.
fn unwritten(session: &wsp_cpu::tg::Session) -> Vec<(String, u64)> {
    session.unwritten().into_iter().map(|found| (found.tensor, found.elements)).collect()
}

/// What tasks have stored before a checkpoint is stored after it, and no more: in external tensors, and in those of a graph, which
/// hold zeros here.
#[test]
fn what_was_stored_before_a_checkpoint_is_known_after_it() {
    for (copied, is_stored) in [(32, true), (40, false)] {
        let text = format!(
            "extern B: i64[4]\nextern Y: i64[8]\nextern Z: i64[4]\nTG_BEGIN(G)\nMC_ALLOC(T, 64)\nTG_KERNEL(A, half, 1, AIV, 0)\nMC_BIND(A, 0, B)\nTG_KERNEL(D, half, 1, AIV, 0)\nMC_BIND(D, 0, T)\nTG_CHECKPOINT(G, 1)\nTG_KERNEL(C, last, 1, AIV, 0)\nMC_BIND(C, 0, T, 0, 32)\nMC_BIND(C, 1, Z)\nTG_DEPEND(D, C, DATA, T)\nMC_COPY(T, Y, {copied})\nTG_END(G)\nTG_LAUNCH(G, default)\nTG_SYNC(G)"
        );
        // What is allocated is known of in every run.
        for (options, expected) in
            [(recorded as fn(&_) -> _, vec![("B".to_owned(), 2), ("Y".to_owned(), 4)]), (kept, vec![])]
        {
            let store = Arc::new(MemoryStore::new());
            session_with(&text, &halves(true), options(&store)).run().expect_err("it is cut off");
            let mut whole = session_with(&text, &halves(false), options(&Arc::default()));
            let mut resumed = session_with(&text, &halves(false), options(&store));
            let (whole_ran, resumed_ran) = (whole.run(), resumed.resume());
            if is_stored {
                whole_ran.unwrap_or_else(|faults| panic!("{}", all(&faults)));
                let report = resumed_ran.unwrap_or_else(|faults| panic!("{}", all(&faults)));
                assert!(report.unit.resumed.is_some());
                assert_eq!((unwritten(&whole), unwritten(&resumed)), (expected.clone(), expected));
            } else {
                for ran in [whole_ran, resumed_ran] {
                    let said = all(&ran.expect_err("it copies what nothing has stored"));
                    assert!(said.contains("WSP0616") && said.contains("byte 32"), "{said}");
                }
            }
        }
    }
}

/// A graph that goes back to its checkpoint has in its tensors what was stored then.
#[test]
fn a_restore_stores_nothing_that_was_not_stored() {
    let text = "extern B: i64[4]\nTG_BEGIN(G)\nTG_KERNEL(A, half, 1, AIV, 0)\nMC_BIND(A, 0, B)\nTG_END(G)\nTG_LAUNCH(G, default)\nTG_SYNC(G)\nTG_CHECKPOINT(G, 1)\nTG_RESTORE(G, 1)\nTG_SYNC(G)";
    let mut session = session_with(text, &halves(false), recorded(&Arc::new(MemoryStore::new())));
    session.run().unwrap_or_else(|faults| panic!("{}", all(&faults)));
    assert_eq!(unwritten(&session), [("B".to_owned(), 2)]);
}

/// A run that records what is stored is not resumed from a checkpoint that does not say it.
#[test]
fn a_checkpoint_that_does_not_say_what_was_stored_is_refused_where_it_matters() {
    let store = Arc::new(MemoryStore::new());
    session_with(IN_GRAPH, &cut_off(5), kept(&store)).run().expect_err("it is cut off");
    let refused = session_with(IN_GRAPH, &cut_off(i64::MAX), recorded(&store)).resume();
    let said = all(&refused.expect_err("it is not known what was stored"));
    assert!(said.contains("WSP1560") && said.contains("recording: was off, as with `--no-check`"), "{said}");
    let mut resumed = session_with(IN_GRAPH, &cut_off(i64::MAX), kept(&store));
    resumed.resume().unwrap_or_else(|faults| panic!("{}", all(&faults)));
    assert_eq!(values(&resumed, "Y"), [steps(30); 4]);
}

/// A store that notes whether a record is given to it while it keeps another, and that can be closed.
#[derive(Debug, Default)]
struct Slow {
    records: MemoryStore,
    inside: AtomicU32,
    overlapped: AtomicBool,
    is_closed: AtomicBool,
}

impl CheckpointStore for Slow {
    fn save(&self, key: CheckpointKey, record: &[u8]) -> Result<(), String> {
        if self.is_closed.load(Ordering::SeqCst) {
            return Err("it is closed".to_owned());
        }
        let others = self.inside.fetch_add(1, Ordering::SeqCst);
        for _ in 0..100 {
            std::thread::yield_now();
        }
        self.inside.fetch_sub(1, Ordering::SeqCst);
        self.overlapped.fetch_or(others > 0, Ordering::SeqCst);
        self.records.save(key, record)
    }

    fn load(&self, key: CheckpointKey) -> Result<Option<Vec<u8>>, String> {
        self.records.load(key)
    }

    fn keys(&self) -> Result<Vec<CheckpointKey>, String> {
        self.records.keys()
    }
}

/// Launches of one graph on two streams save under one key.
#[test]
fn launches_that_run_at_once_save_one_record_after_the_other() {
    let text = "extern X: i64[4]\nTG_BEGIN(G)\nMC_ALLOC(T, 32)\nMC_COPY(X, T, 32)\nCF_LOOP(20, i)\nTG_KERNEL(A, inc, 1, AIV, 0)\nMC_BIND(A, 0, T)\nTG_CHECKPOINT(G, 3)\nCF_ENDLOOP\nTG_END(G)\nTG_LAUNCH(G, 1)\nTG_LAUNCH(G, 2)\nTG_SYNC(G)";
    let slow = Arc::new(Slow::default());
    let store: Arc<dyn CheckpointStore> = slow.clone();
    let options =
        SessionOptions { checkpoints: Some(store), inputs: inputs(&[("X", &[0; 4])]), ..threads(2) };
    session(text, options).run().unwrap_or_else(|faults| panic!("{}", all(&faults)));
    assert!(!slow.overlapped.load(Ordering::SeqCst));
}

/// After a run that could not begin, the caller leads the session.
#[test]
fn a_run_whose_beginning_cannot_be_kept_leaves_the_session_to_its_caller() {
    let text = "extern Y: i64[4]\nTG_BEGIN(G)\nTG_KERNEL(A, inc, 2, AIV, 0)\nMC_BIND(A, 0, Y)\nTG_END(G)";
    let slow = Arc::new(Slow::default());
    let store: Arc<dyn CheckpointStore> = slow.clone();
    let options = || SessionOptions { checkpoints: Some(store.clone()), ..threads(2) };
    let mut first = session(text, options());
    let graph = first.graph("G").unwrap();
    first.launch(graph, first.default_stream()).expect("it starts");
    first.sync(graph).expect("it ends");
    first.checkpoint(graph, CheckpointNo(1)).expect("there is a store");
    let mut second = session(text, options());
    slow.is_closed.store(true, Ordering::SeqCst);
    let said = all(&second.run().expect_err("the store is closed"));
    assert!(said.contains("WSP1561"), "{said}");
    second.restore(graph, CheckpointNo(1)).unwrap_or_else(|fault| panic!("{fault:?}"));
    assert_eq!(values(&second, "Y"), [1; 4]);
}
