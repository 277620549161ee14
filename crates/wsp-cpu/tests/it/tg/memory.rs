//! Memory: allocations, bindings, copies, releases.

use super::common::{all, inputs, kernels, session, session_with, signature, threads, unit, values};
use std::sync::{Arc, Mutex};
use wsp_backend::Released;
use wsp_core::tg::Direction;
use wsp_cpu::tg::{Session, SessionOptions};

fn said(text: &str, options: SessionOptions) -> String {
    match Session::new(&unit(text), &kernels(), options) {
        Ok(mut session) => all(&session.run().expect_err("the run should fail")),
        Err(faults) => all(&faults),
    }
}

/// ISA-MC-02, ISA-MC-03.
#[test]
fn allocations_are_aligned_as_they_ask() {
    let (seen, mut kernels) = (Arc::new(Mutex::new(Vec::new())), kernels());
    let log = Arc::clone(&seen);
    kernels.replace("one", signature(&[Direction::Out]), move |cx| {
        log.lock().unwrap().push(cx.arg(0)?.range.ptr().addr());
        Ok(())
    });
    for (alignment, location) in [(512, "GM"), (4096, "L2"), (65536, "HBM"), (64, "SHARED")] {
        let text = format!(
            "TG_BEGIN(G)\nMC_ALLOC(T, 100, {alignment}, {location})\nTG_KERNEL(A, one, 1, AIV, 0)\nMC_BIND(A, 0, T)\nTG_END(G)"
        );
        session_with(&text, &kernels, threads(1)).run().expect("it runs");
        let address = seen.lock().unwrap().pop().expect("it ran");
        assert!(address.is_multiple_of(alignment), "{address:#x} for {alignment}");
    }
}

/// ISA-MC-08.
#[test]
fn a_kernel_reaches_exactly_the_bytes_that_are_bound() {
    let mut kernels = kernels();
    kernels.replace("copy", signature(&[Direction::In, Direction::Out]), |cx| {
        assert_eq!((cx.bytes(0)?, cx.len::<i64>(1)?, cx.args()), (16, 3, 2));
        assert!(cx.load_at::<i64>(0, 1, &mut [0, 0]).is_err());
        assert!(cx.store::<i64>(1, 3, &[1]).is_err());
        assert!(cx.store::<i64>(0, 0, &[1]).is_err(), "it is read only");
        assert!(cx.load::<i64>(1).is_err(), "it is written only");
        assert!(cx.load::<i64>(2).is_err(), "there is no such argument");
        let read = cx.load::<i64>(0)?;
        cx.store(1, 1, &read)
    });
    let text = "extern X: i64[4]\nextern Y: i64[4]\nTG_BEGIN(G)\nTG_KERNEL(A, copy, 1, AIV, 0)\nMC_BIND(A, 0, X, 8, 16)\nMC_BIND(A, 1, Y, 8)\nTG_END(G)";
    let given = inputs(&[("X", &[1, 2, 3, 4]), ("Y", &[9; 4])]);
    let mut session = session_with(text, &kernels, SessionOptions { inputs: given, ..threads(1) });
    session.run().unwrap_or_else(|faults| panic!("{}", all(&faults)));
    assert_eq!(values(&session, "Y"), [9, 9, 2, 3]);
}

/// ISA-MC-07, ISA-TG-27.
#[test]
fn a_binding_that_leads_outside_for_some_iteration_is_refused_with_numbers() {
    let text = "extern X: i64[8]\nTG_BEGIN(G)\nTG_KERNEL(A, inc, 1, AIV, 0)\nMC_BIND(A, 0, X, iteration * 16, 16)\nTG_END(G)";
    let mut session = session(text, threads(1));
    let graph = session.graph("G").unwrap();
    for iteration in [0, 3] {
        session.invoke(graph, iteration).expect("it starts");
        session.sync(graph).expect("it lies inside");
    }
    assert_eq!(values(&session, "X"), [1, 1, 0, 0, 0, 0, 1, 1]);
    for iteration in [4, -1, i64::MAX / 16 + 1] {
        session.invoke(graph, iteration).expect("it starts");
        let said = all(&[*session.sync(graph).expect_err("it lies outside")]);
        assert!(said.contains("argument 0 of kernel `A`"), "{said}");
    }
    session.invoke(graph, 4).expect("it starts");
    let said = all(&[*session.sync(graph).expect_err("it lies outside")]);
    assert!(said.contains("16 bytes from byte 64 of `X`, which has 64"), "{said}");
}

/// ISA-MC-04: a refused allocation says what is asked for, in use and there.
#[test]
fn too_large_an_allocation_is_refused_with_the_largest_users() {
    let text = "MC_ALLOC(BIG, 4000)\nTG_BEGIN(G)\nMC_ALLOC(T, 2000)\nTG_KERNEL(A, one, 1, AIV, 0)\nTG_KERNEL(B, copy, 1, AIV, 0)\nTG_DEPEND(A, B, DATA)\nMC_BIND(A, 0, T)\nMC_BIND(B, 0, T)\nMC_BIND(B, 1, BIG, 0, 2000)\nTG_END(G)\nTG_LAUNCH(G, default)\nTG_SYNC(G)";
    let said = said(text, SessionOptions { memory: Some(5000), ..threads(1) });
    for part in ["WSP1544", "`T` of graph `G`", "2000 bytes", "in use: 4000", "5000 bytes", "`BIG` (4000)"] {
        assert!(said.contains(part), "{part} in {said}");
    }
}

/// ISA-MC-04: the peak is what was in use at the same time, by place.
#[test]
fn the_peak_of_memory_is_reported_by_place() {
    let text = "MC_ALLOC(A, 1000, location = HBM)\nTG_BEGIN(G)\nMC_ALLOC(T, 2048)\nMC_ALLOC(U, 512, location = L2)\nTG_KERNEL(K, copy, 1, AIV, 0)\nMC_BIND(K, 0, A, 0, 512)\nMC_BIND(K, 1, U)\nTG_END(G)\nTG_LAUNCH(G, default)\nTG_SYNC(G)\nMC_FREE(A)\nMC_ALLOC(C, 900, location = HBM)";
    let report = session(text, threads(1)).run().unwrap_or_else(|faults| panic!("{}", all(&faults)));
    assert_eq!(report.unit.peak[0].by_location, [2048, 512, 1000, 0]);
    assert_eq!(report.unit.peak[0].total, 3560);
}

/// ISA-MC-05: released outside of a graph, a tensor cannot be used or released again; what is in use cannot be released.
#[test]
fn released_tensors_are_refused() {
    let text = "MC_ALLOC(T, 64)\nTG_BEGIN(G)\nTG_KERNEL(A, one, 1, AIV, 0)\nMC_BIND(A, 0, T)\nTG_END(G)";
    let mut session = session(text, threads(1));
    let graph = session.graph("G").unwrap();
    session.launch(graph, session.default_stream()).expect("it starts");
    session.sync(graph).expect("it runs");
    session.free("T").expect("nothing uses it");
    assert!(all(&[*session.free("T").unwrap_err()]).contains("WSP1553"));
    assert!(all(&[*session.tensor("T").unwrap_err()]).contains("WSP1553"));
    let fault = session.launch(graph, session.default_stream()).expect_err("its tensor is gone");
    assert!(all(&[*fault]).contains("`T` was released"));
}

/// ISA-MC-05.
#[test]
fn what_a_launch_uses_cannot_be_released() {
    let mut kernels = kernels();
    let gate = Arc::new(std::sync::Barrier::new(2));
    let inside = Arc::clone(&gate);
    kernels.replace("one", signature(&[Direction::Out]), move |_| {
        inside.wait();
        Ok(())
    });
    let text = "MC_ALLOC(T, 64)\nTG_BEGIN(G)\nTG_KERNEL(A, one, 1, AIV, 0)\nMC_BIND(A, 0, T)\nTG_END(G)";
    let mut session = session_with(text, &kernels, threads(1));
    let graph = session.graph("G").unwrap();
    session.launch(graph, session.default_stream()).expect("it starts");
    assert!(all(&[*session.free("T").unwrap_err()]).contains("WSP1554"));
    gate.wait();
    session.sync(graph).expect("it ends");
    session.free("T").expect("nothing uses it now");
}

/// What `session.free` says of `B`, whose graph takes one of two tensors and is in flight.
fn free_of(binding: &str, scalar: i64) -> Result<(), String> {
    let mut kernels = kernels();
    let gate = Arc::new(std::sync::Barrier::new(2));
    let inside = Arc::clone(&gate);
    kernels.replace("one", signature(&[Direction::Out]), move |_| {
        inside.wait();
        Ok(())
    });
    let text = format!(
        "host N: i64 = 0\nextern L: i64[2]\nMC_ALLOC(A, 64)\nMC_ALLOC(B, 64)\nTG_BEGIN(G)\nTG_KERNEL(W, one, 1, AIV, 0)\nMC_BIND(W, 0, A)\n{binding}TG_END(G)"
    );
    let (scalars, given) = (vec![("N".to_owned(), scalar)], inputs(&[("L", &[scalar, scalar])]));
    let mut session = session_with(&text, &kernels, SessionOptions { scalars, inputs: given, ..threads(1) });
    let graph = session.graph("G").expect("it is there");
    session.launch(graph, session.default_stream()).expect("it starts");
    let freed = session.free("B").map_err(|fault| all(&[*fault]));
    gate.wait();
    session.sync(graph).expect("it ends");
    freed
}

/// ISA-MC-05: a launch holds the tensors that it takes; those of a table, of an arm and of a loop that it does not take can be released under it.
#[test]
fn what_a_launch_does_not_take_of_a_table_can_be_released() {
    let inc =
        |tensor: &str| format!("TG_KERNEL(K, inc, 1, AIV, 0)\nMC_BIND(K, 0, {tensor})\nTG_DEPEND(W, K)\n");
    let table = |index: &str| inc(&format!("{{A, B}}[{index}]"));
    let arm = |open: &str, close: &str| format!("{open}{}{close}", inc("B"));
    // By a scalar of the host, the iteration, the device, the numbers of an unrolled loop, a condition, a loop of no round.
    let by_scalar = [
        table("N"),
        arm("CF_IF(N == 1)\n", "CF_ENDIF\n"),
        arm("CF_IF(N == 0)\nCF_ELSE\n", "CF_ENDIF\n"),
        arm("CF_LOOP(N, i)\n", "CF_ENDLOOP\n"),
    ];
    for binding in by_scalar {
        assert_eq!(free_of(&binding, 0), Ok(()), "{binding}");
        let said = free_of(&binding, 1).expect_err("it takes `B`");
        assert!(said.contains("WSP1554") && said.contains("kernel `K` is bound to it"), "{said}");
    }
    for index in ["iteration", "device", "devices - 1"] {
        assert_eq!(free_of(&table(index), 0), Ok(()), "{index}");
    }
    let rounds = |count: u32| format!("CF_LOOP({count}, i)\n{}CF_ENDLOOP\n", table("i"));
    assert_eq!(free_of(&rounds(1), 0), Ok(()));
    assert!(free_of(&rounds(2), 0).is_err());
    // Rounds of other loops and what conditions load the running launch alone finds out.
    let late = format!("CF_LOOP(2, i, SEQUENTIAL)\n{}CF_ENDLOOP\n", table("i % 2 * N"));
    let said = free_of(&late, 0).expect_err("it is not known");
    assert!(said.contains("WSP1554") && said.contains("the round of a loop"), "{said}");
    let loaded = format!("CF_IF(load(L, 0, i64))\n{}CF_ENDIF\n", inc("B"));
    assert!(free_of(&loaded, 0).is_err());
}

/// ISA-MC-05: whether a host may release what a launch in flight names does not depend on when the launch ends. `A` ends behind the release, which a
/// kernel of a launch behind that lets it do; the kernel that is bound to `V` has no round in which it runs.
#[test]
fn a_host_may_release_under_a_launch_what_no_round_of_it_uses() {
    let mut kernels = kernels();
    let gate = Arc::new(std::sync::Barrier::new(2));
    kernels.replace("one", signature(&[Direction::Out]), move |_| {
        gate.wait();
        Ok(())
    });
    let text = |rounds: u32| {
        let in_round = format!(
            "CF_LOOP({rounds}, i, SEQUENTIAL)\nCF_IF(i == 2)\nTG_KERNEL(N, inc, 1, AIV, 0)\nMC_BIND(N, 0, V)\nCF_ENDIF\nCF_ENDLOOP\n"
        );
        let waits = |graph: &str, tensor: &str, more: &str| {
            format!(
                "TG_BEGIN({graph})\n{more}TG_KERNEL(K, one, 1, AIV, 0)\nMC_BIND(K, 0, {tensor})\nTG_END({graph})\n"
            )
        };
        let fill = "TG_BEGIN(I)\nMC_COPY(X, V, 64, 0, 0)\nTG_END(I)\n";
        let host = "TG_LAUNCH(I, default)\nTG_SYNC(I)\nTG_LAUNCH(A, 1)\nMC_FREE(V)\nTG_LAUNCH(B, 2)\nTG_SYNC(A)\nTG_SYNC(B)\n";
        format!(
            "extern X: i64[8]\nextern Y: i64[8]\nextern Z: i64[8]\nMC_ALLOC(V, 64)\n{fill}{}{}{host}",
            waits("A", "Y", &in_round),
            waits("B", "Z", "")
        )
    };
    let options = || SessionOptions { inputs: inputs(&[("X", &[1; 8])]), ..threads(2) };
    let mut session = session_with(&text(2), &kernels, options());
    session.run().expect("no launch uses `V`");
    let refused = Session::new(&unit(&text(3)), &kernels, options()).expect_err("the third round uses `V`");
    assert!(all(&refused).contains("`V` is released while a launch of graph `A` may use it"));
}

/// ISA-MC-05, ISA-MC-09: a release in a graph comes after everything before it that uses the tensor.
#[test]
fn a_release_in_a_graph_comes_after_all_users() {
    let text = "extern Y: i64[8]\nTG_BEGIN(G)\nMC_ALLOC(T, 64)\nTG_KERNEL(A, one, 4, AIV, 0)\nMC_BIND(A, 0, T)\nTG_KERNEL(B, double, 4, AIV, 0)\nMC_BIND(B, 0, T)\nMC_BIND(B, 1, Y)\nTG_DEPEND(A, B, DATA, T)\nMC_FREE(T)\nTG_END(G)\nCF_LOOP(3, i)\nTG_LAUNCH(G, default)\nCF_ENDLOOP\nTG_SYNC(G)";
    let options = SessionOptions { released: Released::Poison, memory: Some(128), ..threads(3) };
    let mut session = session(text, options);
    let report = session.run().unwrap_or_else(|faults| panic!("{}", all(&faults)));
    assert_eq!(values(&session, "Y"), [2; 8]);
    assert_eq!((report.stats.launches, report.unit.peak[0].total), (3, 128));
}

/// ISA-MC-09, ISA-MC-10.
#[test]
fn copies_are_ordered_with_the_users_of_both_tensors() {
    let text = "extern X: i64[8]\nextern Y: i64[8]\nTG_BEGIN(G)\nMC_ALLOC(T, 64)\nMC_ALLOC(U, 64)\nTG_KERNEL(A, double, 2, AIV, 0)\nMC_BIND(A, 0, X)\nMC_BIND(A, 1, T)\nMC_COPY(T, U, 32, 0, 32)\nMC_COPY(T, U, 32, 32, 0)\nTG_KERNEL(B, copy, 3, AIV, 0)\nMC_BIND(B, 0, U)\nMC_BIND(B, 1, Y)\nTG_END(G)\nTG_LAUNCH(G, default)\nTG_SYNC(G)";
    let given = inputs(&[("X", &[1, 2, 3, 4, 5, 6, 7, 8])]);
    let mut session = session(text, SessionOptions { inputs: given, ..threads(3) });
    session.run().unwrap_or_else(|faults| panic!("{}", all(&faults)));
    assert_eq!(values(&session, "Y"), [10, 12, 14, 16, 2, 4, 6, 8]);
}

/// ISA-MC-03: what is `SHARED` is seen by kernels of other graphs; what a graph allocates itself is not kept from others' sight
/// by name only: each graph has its own.
#[test]
fn shared_memory_is_seen_by_all_graphs() {
    let text = "extern Y: i64[4]\nMC_ALLOC(S, 32, location = SHARED)\nTG_BEGIN(W)\nTG_KERNEL(A, one, 2, AIV, 0)\nMC_BIND(A, 0, S)\nTG_END(W)\nTG_BEGIN(R)\nTG_KERNEL(A, double, 2, AIV, 0)\nMC_BIND(A, 0, S)\nMC_BIND(A, 1, Y)\nTG_END(R)\nTG_LAUNCH(W, default)\nTG_LAUNCH(R, default)\nTG_SYNC(R)";
    let mut session = session(text, threads(2));
    session.run().unwrap_or_else(|faults| panic!("{}", all(&faults)));
    assert_eq!((values(&session, "Y"), values(&session, "S")), (vec![2; 4], vec![1; 4]));
}

/// ISA-TG-25: launches that overlap have memory of their own, or, if there is none, run one after another, which a note says.
#[test]
fn launches_without_memory_of_their_own_run_one_after_another() {
    let text = "extern Y: i64[4]\nTG_BEGIN(G)\nMC_ALLOC(T, 64)\nTG_KERNEL(A, one, 1, AIV, 0)\nMC_BIND(A, 0, T)\nTG_END(G)\nTG_LAUNCH(G, s1)\nTG_LAUNCH(G, s2)\nTG_SYNC(G)";
    let run = |memory| {
        let options = SessionOptions { memory: Some(memory), ..threads(2) };
        let mut session = Session::new(&unit(text), &kernels(), options).expect("it may run");
        let report = session.run().unwrap_or_else(|faults| panic!("{}", all(&faults)));
        (report.stats.launches, all(&report.notes), report.unit.peak[0].total)
    };
    let (launches, notes, peak) = run(1000);
    assert_eq!((launches, notes.as_str()), (2, ""));
    assert!(peak <= 128);
    let (launches, _, peak) = run(100);
    assert_eq!((launches, peak), (2, 64));
}

/// ISA-TG-27, ISA-TG-28: a table of tensors gives double buffering.
#[test]
fn a_table_of_tensors_is_indexed_by_the_iteration() {
    let text = "MC_ALLOC(PING, 32)\nMC_ALLOC(PONG, 32)\nTG_BEGIN(G)\nTG_KERNEL(A, copy, 1, AIV, 0)\nTG_KERNEL(B, inc, 2, AIV, 0)\nTG_DEPEND(A, B, DATA)\nMC_BIND(A, 0, {PING, PONG}[iteration % 2])\nMC_BIND(A, 1, {PONG, PING}[iteration % 2])\nMC_BIND(B, 0, {PONG, PING}[iteration % 2])\nTG_END(G)\nCF_LOOP(7, i)\nTG_INVOKE(G, i)\nCF_ENDLOOP\nTG_SYNC(G)";
    let mut session = session(text, threads(2));
    session.run().unwrap_or_else(|faults| panic!("{}", all(&faults)));
    assert_eq!((values(&session, "PONG"), values(&session, "PING")), (vec![7; 4], vec![6; 4]));
}

#[test]
fn a_tensor_of_a_graph_is_nobodys_business() {
    let text = "TG_BEGIN(G)\nMC_ALLOC(T, 64)\nTG_KERNEL(A, one, 1, AIV, 0)\nMC_BIND(A, 0, T)\nTG_END(G)";
    let session = session(text, threads(1));
    assert!(session.tensor("T").is_err());
    assert!(all(&[*session.tensor("TT").unwrap_err()]).contains("WSP1550"));
}

/// ISA-MC-05: the next launch finds what a release leaves, which an option makes visible.
#[test]
fn what_a_graph_releases_may_be_overwritten_at_once() {
    let text = "extern Y: i64[4]\nTG_BEGIN(G)\nMC_ALLOC(T, 32)\nTG_KERNEL(A, inc, 1, AIV, 0)\nMC_BIND(A, 0, T)\nMC_COPY(T, Y, 32)\nMC_FREE(T)\nTG_END(G)\nTG_LAUNCH(G, default)\nTG_LAUNCH(G, default)\nTG_SYNC(G)";
    let left = |released| {
        let mut session = session(text, SessionOptions { released, ..threads(1) });
        session.run().unwrap_or_else(|faults| panic!("{}", all(&faults)));
        values(&session, "Y")
    };
    assert_eq!(left(Released::Keep), [2; 4]);
    assert_eq!(left(Released::Poison), [i64::from_ne_bytes([0xA5; 8]) + 1; 4]);
}

/// ISA-MC-05: what a launch before found is gone with the memory.
#[test]
fn a_tensor_that_is_allocated_again_begins_anew() {
    let text = "extern Y: i64[4]\nTG_BEGIN(G)\nTG_KERNEL(A, inc, 1, AIV, 0)\nMC_BIND(A, 0, U)\nMC_COPY(U, Y, 32)\nTG_END(G)\nCF_LOOP(3, i)\nMC_ALLOC(U, 32)\nTG_LAUNCH(G, default)\nTG_SYNC(G)\nMC_FREE(U)\nCF_ENDLOOP";
    let mut session = session(text, threads(1));
    session.run().unwrap_or_else(|faults| panic!("{}", all(&faults)));
    assert_eq!(values(&session, "Y"), [1; 4]);
}
