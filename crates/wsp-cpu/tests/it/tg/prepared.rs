//! Graphs that are bound once and run on the calling thread.

use super::common::{all, inputs, kernels, session, session_with, signature, threads, unit, values};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use wsp_core::tg::Direction;
use wsp_cpu::tg::{Session, SessionOptions};
use wsp_runtime::tg::RuntimeConfig;

/// ISA-TG-27: bindings follow the iteration.
#[test]
fn a_prepared_graph_runs_once_per_invocation() {
    let text = "extern X: i64[8]\nextern Y: i64[8]\nTG_BEGIN(G)\nMC_ALLOC(T, 64)\nTG_KERNEL(A, double, 3, AIV, 0)\nMC_BIND(A, 0, X)\nMC_BIND(A, 1, T)\nCF_LOOP(2, i)\nTG_KERNEL(B, copy, 2, AIV, 0)\nMC_BIND(B, 0, T, 8 * iteration, 8)\nMC_BIND(B, 1, Y, 16 * iteration + 8 * i, 8)\nTG_DEPEND(A, B, DATA, T)\nCF_ENDLOOP\nMC_FREE(T)\nTG_END(G)";
    let given = inputs(&[("X", &[1, 2, 3, 4, 5, 6, 7, 8])]);
    let mut session = session(text, SessionOptions { inputs: given, ..threads(1) });
    let graph = session.graph("G").unwrap();
    let mut prepared = session.prepare(graph).unwrap_or_else(|fault| panic!("{fault:?}"));
    for iteration in [3, 0, 1, 1] {
        prepared.invoke(iteration).unwrap_or_else(|fault| panic!("{fault:?}"));
    }
    assert!(prepared.invoke(8).is_err(), "it leads outside of its tensor");
    prepared.invoke(2).expect("it goes on");
    assert_eq!(values(&session, "Y"), [2, 2, 4, 4, 6, 6, 8, 8]);
}

/// ISA-CF-03: what an arm binds is bound where the arm is taken.
#[test]
fn what_has_no_value_in_an_arm_that_no_round_takes_keeps_no_graph_from_being_prepared() {
    for bound in ["Y, 8 * (2 / i), 8", "{Y, X}[i - 1], 0, 8"] {
        let text = format!(
            "extern X: i64[4]\nextern Y: i64[4]\nTG_BEGIN(G)\nCF_LOOP(2, i)\nCF_IF(i > iteration)\nTG_KERNEL(A, one, 1, AIV, 0)\nMC_BIND(A, 0, {bound})\nCF_ENDIF\nCF_ENDLOOP\nTG_END(G)"
        );
        let mut session = session(&text, threads(1));
        let graph = session.graph("G").unwrap();
        let mut prepared = session.prepare(graph).unwrap_or_else(|fault| panic!("{fault:?}"));
        prepared.invoke(0).unwrap_or_else(|fault| panic!("{fault:?}"));
        assert!(prepared.invoke(-1).is_err(), "{bound} is needed in round 0");
        prepared.invoke(0).expect("it goes on");
        let first = if bound.starts_with('Y') { [0, 0, 1, 0] } else { [1, 0, 0, 0] };
        assert_eq!(values(&session, "Y"), first);
    }
}

/// ISA-TG-28: another thousand invocations neither elaborate nor allocate nor bind: what kernels are given stays where it was.
#[test]
fn nothing_is_built_again_when_a_prepared_graph_is_invoked() {
    let (addresses, runs) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let (seen, counted) = (Arc::clone(&addresses), Arc::clone(&runs));
    let mut kernels = kernels();
    kernels.replace("inc", signature(&[Direction::InOut]), move |cx| {
        // The arguments themselves, not only their bytes.
        let place = std::ptr::from_ref(cx.arg(0)?).addr() as u64;
        seen.fetch_xor(
            place.rotate_left((counted.fetch_add(1, Ordering::Relaxed) % 4) as u32),
            Ordering::Relaxed,
        );
        Ok(())
    });
    let mut text = String::from("extern Y: i64[4]\nTG_BEGIN(G)\nMC_ALLOC(T, 64)\n");
    for kernel in 0..4 {
        text += &format!("TG_KERNEL(K{kernel}, inc, 1, AIV, 0)\nMC_BIND(K{kernel}, 0, T)\n");
        if kernel > 0 {
            text += &format!("TG_DEPEND(K{}, K{kernel}, DATA, T)\n", kernel - 1);
        }
    }
    let module = unit(&(text + "TG_END(G)"));
    let mut session = Session::new(&module, &kernels, threads(1)).expect("it may run");
    let graph = session.graph("G").unwrap();
    let before = session.report().expect("nothing was forked").unit.peak[0];
    let mut prepared = session.prepare(graph).expect("it can run here");
    // Twice the same arguments cancel out.
    for iteration in 0..1000 {
        prepared.invoke(iteration).expect("it runs");
    }
    assert_eq!(addresses.load(Ordering::Relaxed), 0);
    assert_eq!(runs.load(Ordering::Relaxed), 4000);
    assert_eq!((before.total, session.report().expect("nothing was forked").unit.peak[0].total), (0, 64));
}

/// What a prepared graph gives is what a launch gives.
#[test]
fn a_prepared_graph_and_a_launch_give_the_same() {
    let text = "arg N: i64 = 5\nextern Y: i64[8]\nTG_BEGIN(G)\nMC_ALLOC(GO, 8)\nCF_LOOP(N, i)\nTG_KERNEL(A, inc, 2, AIV, 0)\nMC_BIND(A, 0, Y, 8 * i)\nCF_ENDLOOP\nTG_KERNEL(C, below, 1, AIV, 64)\nMC_BIND(C, 0, Y)\nMC_BIND(C, 1, GO)\nTG_DEPEND(A, C, DATA, Y)\nCF_IF(load(GO, 0, i64))\nTG_KERNEL(B, inc, 1, AIV, 0)\nMC_BIND(B, 0, Y, 8)\nCF_ENDIF\nTG_END(G)";
    let result = |here: bool| {
        let mut session = session(text, threads(2));
        let graph = session.graph("G").unwrap();
        if here {
            session.prepare(graph).expect("it can").invoke(0).unwrap_or_else(|fault| panic!("{fault:?}"));
        } else {
            session.launch(graph, session.default_stream()).expect("it starts");
            session.sync(graph).unwrap_or_else(|fault| panic!("{fault:?}"));
        }
        values(&session, "Y")
    };
    assert_eq!(result(true), [1, 3, 4, 5, 6, 6, 6, 6]);
    assert_eq!(result(false), result(true));
}

#[test]
fn a_prepared_graph_copies_and_gives_kernels_their_workspaces() {
    let mut kernels = kernels();
    kernels.replace("one", signature(&[Direction::Out]), |cx| {
        let numbers = [i64::try_from(cx.workspace_bytes()).expect("it is small"), 5];
        cx.store_workspace(0, &numbers)?;
        let mut back = [0i64; 2];
        cx.load_workspace(0, &mut back)?;
        cx.store(0, 0, &back)
    });
    let text = "extern X: i64[2]\nextern Y: i64[2]\nextern Z: i64[2]\nTG_BEGIN(G)\nMC_COPY(X, Y, 16)\nTG_KERNEL(A, one, 1, AIV, 48)\nMC_BIND(A, 0, Z)\nTG_END(G)";
    let given = inputs(&[("X", &[3, 4])]);
    let mut session = session_with(text, &kernels, SessionOptions { inputs: given, ..threads(1) });
    let graph = session.graph("G").expect("it is there");
    session.prepare(graph).expect("it can").invoke(0).unwrap_or_else(|fault| panic!("{fault:?}"));
    assert_eq!((values(&session, "Y"), values(&session, "Z")), (vec![3, 4], vec![48, 5]));
}

#[test]
fn a_prepared_graph_compares_bytes_that_follow_from_the_iteration() {
    let text = "extern X: i64[8]\nextern T: i64[8]\nextern Y: i64[8]\nTG_BEGIN(G)\nTG_KERNEL(A, one, 1, AIV, 0)\nMC_BIND(A, 0, T, iteration * 8, 8)\nTG_KERNEL(B, copy, 1, AIV, 0)\nMC_BIND(B, 0, T, 24, 8)\nMC_BIND(B, 1, Y, 0, 8)\nTG_END(G)";
    let mut session = session(text, threads(1));
    let graph = session.graph("G").expect("it is there");
    let mut prepared = session.prepare(graph).expect("it can");
    prepared.invoke(2).expect("they are apart");
    let fault = prepared.invoke(3).expect_err("they meet");
    assert!(format!("{fault:?}").contains("iteration 3"), "{fault:?}");
    assert_eq!(values(&session, "T"), [0, 0, 1, 0, 0, 0, 0, 0], "nothing of iteration 3 ran");
    // What one invocation writes another may read: they run one after the other.
    let text = text.replace("T, 24, 8", "T, (6 - iteration) * 8, 8");
    let mut session = session_with(&text, &kernels(), threads(1));
    let graph = session.graph("G").expect("it is there");
    let mut prepared = session.prepare(graph).expect("it can");
    [0, 1, 2, 4, 5, 6].iter().for_each(|iteration| prepared.invoke(*iteration).expect("they are apart"));
    prepared.invoke(3).expect_err("they meet");
}

#[test]
fn a_prepared_graph_does_not_run_once_it_is_cancelled() {
    let flag = Arc::new(AtomicBool::new(false));
    let runtime = RuntimeConfig { cancel: Some(Arc::clone(&flag)), ..threads(1).runtime };
    let text = "extern Y: i64[8]\nTG_BEGIN(G)\nTG_KERNEL(A, one, 1, AIV, 0)\nMC_BIND(A, 0, Y)\nTG_END(G)";
    let mut session = session(text, SessionOptions { runtime, ..threads(1) });
    let graph = session.graph("G").expect("it is there");
    let mut prepared = session.prepare(graph).expect("it can");
    flag.store(true, Ordering::Relaxed);
    prepared.invoke(0).expect_err("it is cancelled");
    assert_eq!(values(&session, "Y"), [0; 8]);
}

#[test]
fn what_needs_several_threads_cannot_be_prepared() {
    let text = "extern Y: i64[8]\nTG_BEGIN(G)\nTG_KERNEL(A, inc, 2, AIV, 0)\nMC_BIND(A, 0, Y, 0, 32)\nTG_KERNEL(B, inc, 2, AIV, 0)\nMC_BIND(B, 0, Y, 32)\nSY_BARRIER({A, B}, 0)\nTG_END(G)";
    let mut session = session(text, threads(1));
    let graph = session.graph("G").unwrap();
    let said = all(&[*session.prepare(graph).map(|_| ()).expect_err("a gang needs threads")]);
    assert!(said.contains("WSP1566"), "{said}");
}
