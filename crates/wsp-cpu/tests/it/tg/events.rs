//! Events, gangs, and what waits for ever.

use super::common::{all, inputs, session, session_with, signature, threads, values};
use std::sync::{Arc, Barrier};
use wsp_core::tg::Direction;
use wsp_cpu::tg::SessionOptions;

/// ISA-SY-01, ISA-SY-02: across graphs and streams.
#[test]
fn a_kernel_waits_for_the_event_of_another_graph() {
    let text = "extern X: i64[8]\nextern Y: i64[8]\nTG_BEGIN(R)\nTG_KERNEL(B, copy, 2, AIV, 0)\nMC_BIND(B, 0, X)\nMC_BIND(B, 1, Y)\nSY_WAIT(READY, B)\nTG_END(R)\nTG_BEGIN(W)\nTG_KERNEL(A, one, 2, AIV, 0)\nMC_BIND(A, 0, X)\nSY_SIGNAL(READY, A)\nTG_END(W)\nTG_LAUNCH(R, s1)\nTG_LAUNCH(W, s2)\nTG_SYNC(R)";
    let mut session = session(text, threads(2));
    session.run().unwrap_or_else(|faults| panic!("{}", all(&faults)));
    assert_eq!(values(&session, "Y"), [1; 8]);
}

const WAITS: &str = "extern event GO\nextern Y: i64[8]\nTG_BEGIN(G)\nTG_KERNEL(A, one, 2, AIV, 0)\nMC_BIND(A, 0, Y)\nSY_WAIT(GO, A)\nTG_END(G)\nTG_LAUNCH(G, default)\nTG_SYNC(G)";

/// ISA-SY-02.
#[test]
fn an_external_event_is_signalled_from_outside() {
    let before = SessionOptions { events: vec!["GO".to_owned()], ..threads(1) };
    let mut first = session(WAITS, before);
    first.run().unwrap_or_else(|faults| panic!("{}", all(&faults)));
    assert_eq!(values(&first, "Y"), [1; 8]);
    let mut second = session(WAITS, threads(1));
    let graph = second.graph("G").unwrap();
    second.launch(graph, second.default_stream()).expect("it starts");
    assert!(second.signal("STOP").is_err());
    second.signal("GO").expect("it is external");
    second.sync(graph).expect("it goes on");
    assert_eq!(values(&second, "Y"), [1; 8]);
}

/// ISA-SY-02, ISA-CF-07: in a loop the kernel waits, and not the loop; in an arm, only if that is taken. Whatever the rounds.
#[test]
fn a_kernel_in_a_loop_waits_and_not_its_loop() {
    let unit = |open: &str, close: &str, arm: &str| {
        format!(
            "arg N: i64 = 3\nextern event GO\nextern L: i64[1]\nextern Y: i64[8]\nTG_BEGIN(G)\n{open}\nTG_KERNEL(S, inc, 2, AIV, 0)\nMC_BIND(S, 0, Y)\nCF_IF({arm})\nTG_KERNEL(W, inc, 2, AIV, 0)\nMC_BIND(W, 0, Y)\nTG_DEPEND(S, W, DATA, Y)\nSY_WAIT(GO, W)\nCF_ENDIF\n{close}\nTG_END(G)\nTG_LAUNCH(G, default)\nTG_SYNC(G)"
        )
    };
    let loops = [
        ("CF_LOOP(3, i)", "CF_ENDLOOP", 3),
        ("CF_LOOP(N, i)", "CF_ENDLOOP", 3),
        ("CF_LOOP(load(L, 0, i64), i)", "CF_ENDLOOP", 2),
        ("CF_LOOP(1025, i)", "CF_ENDLOOP", 1025),
        ("CF_LOOP(2, i)\nCF_LOOP(N, j)", "CF_ENDLOOP\nCF_ENDLOOP", 6),
        ("CF_LOOP(N, i)\nCF_LOOP(2, j)", "CF_ENDLOOP\nCF_ENDLOOP", 6),
        ("CF_LOOP(N, i)\nCF_LOOP(N, j)", "CF_ENDLOOP\nCF_ENDLOOP", 9),
        ("CF_LOOP(9, i)\nCF_BREAK(i == 4)", "CF_ENDLOOP", 4),
        ("CF_LOOP(3, i, SEQUENTIAL)", "CF_ENDLOOP", 3),
        ("CF_WHILE(load(Y, 0, i64) < 9)", "CF_ENDWHILE", 9),
    ];
    let run = |text: &str, events: &[&str], l: i64| {
        let events = events.iter().map(|event| (*event).to_owned()).collect();
        let mut session =
            session(text, SessionOptions { events, inputs: inputs(&[("L", &[l])]), ..threads(2) });
        let ended = session.run().map(|_| ()).map_err(|faults| all(&faults));
        ended.map(|()| values(&session, "Y")[0])
    };
    for (open, close, rounds) in loops {
        let never = unit(open, close, "load(L, 0, i64) > 100");
        assert_eq!(run(&never, &[], 2), Ok(rounds), "{never}");
        let taken = unit(open, close, "load(L, 0, i64) < 100");
        let expected = if open.starts_with("CF_WHILE") { 10 } else { 2 * rounds };
        assert_eq!(run(&taken, &["GO"], 2), Ok(expected), "{taken}");
        let stuck = run(&taken, &[], 2).expect_err("nothing signals");
        assert!(stuck.contains("WSP1555") && stuck.contains('W'), "{stuck}");
    }
}

/// ISA-SY-06.
#[test]
fn what_waits_for_ever_is_reported_with_names() {
    let said = all(&session(WAITS, threads(2)).run().expect_err("nobody signals"));
    assert!(said.contains("WSP1555") && said.contains("GO"), "{said}");
}

/// ISA-SY-06: a loop and its end are two in the cycle of a report.
#[test]
fn a_loop_that_waits_for_what_comes_after_it_is_reported_with_its_end() {
    let text = "extern X: i64[8]\nextern Y: i64[8]\nextern L: i64[1]\nTG_BEGIN(A)\nCF_LOOP(load(L, 0, i64), i, SEQUENTIAL)\nTG_KERNEL(KA, one, 1, AIV, 0)\nMC_BIND(KA, 0, X)\nCF_ENDLOOP\nTG_KERNEL(KB, one, 1, AIV, 0)\nMC_BIND(KB, 0, Y)\nTG_DEPEND(KA, KB)\nSY_SIGNAL(E, KB)\nSY_WAIT(E, KA)\nTG_END(A)\nTG_LAUNCH(A, default)";
    let mut session = session(text, SessionOptions { inputs: inputs(&[("L", &[2])]), ..threads(1) });
    let said = all(&session.run().expect_err("KA waits for KB"));
    assert!(
        said.contains("loop 0 of launch 1 of `A` waits for the end of loop 0 of launch 1 of `A`"),
        "{said}"
    );
    assert!(!said.contains("loop 0 of launch 1 of `A` waits for loop 0"), "{said}");
}

/// ISA-SY-06: where what is waited for does not come because a launch failed, its fault is told.
#[test]
fn a_fault_is_told_and_not_who_waits_for_the_launch() {
    let graph = |name: &str, entry: &str, rest: &str| {
        format!(
            "TG_BEGIN({name})\nTG_KERNEL(A, {entry}, 1, AIV, 0)\nMC_BIND(A, 0, {name}1)\n{rest}TG_END({name})\n"
        )
    };
    let graphs = [
        graph("G", "fail", "SY_SIGNAL(E, A)\n"),
        graph("H", "inc", "SY_WAIT(E, A)\nSY_SIGNAL(F, A)\n"),
        graph("J", "inc", "SY_WAIT(F, A)\n"),
    ];
    let tensors = "extern G1: i64[4]\nextern H1: i64[4]\nextern J1: i64[4]\n";
    let launches = "TG_LAUNCH(G, 1)\nTG_LAUNCH(H, 2)\nTG_LAUNCH(J, 3)\n";
    let two = "TG_LAUNCH(G, 1)\nTG_LAUNCH(H, 2)\n";
    let other = "TG_LAUNCH(J, 3)\nTG_LAUNCH(H, 2)\nTG_LAUNCH(G, 1)\n";
    for host in
        [two.to_owned(), format!("{two}TG_SYNC(H)\n"), format!("{launches}TG_SYNC(J)\n"), other.to_owned()]
    {
        let text = format!("{tensors}{}{host}", graphs.concat());
        let found = session(&text, threads(2)).run().expect_err("a kernel fails");
        let said = all(&found[..1]);
        assert!(said.contains("as it should") && said.contains("graph `G`"), "{host}{said}");
        assert!(!all(&found).contains("WSP1555"), "{host}{said}");
    }
    let devices = "extern Y: i64[4]\nTG_BEGIN(G)\nCF_IF(device == 0)\nTG_KERNEL(A, fail, 1, AIV, 0)\nMC_BIND(A, 0, Y, 0, 8)\nSY_NOTIFY(1, 0, A)\nCF_ELSE\nSY_WAIT_NOTIFY(0, 0)\nTG_KERNEL(B, inc, 1, AIV, 0)\nMC_BIND(B, 0, Y, 8, 8)\nCF_ENDIF\nTG_END(G)\nTG_LAUNCH(G, 1)\n";
    let mut options = threads(2);
    options.runtime.devices = 2;
    let said = all(&session(devices, options).run().expect_err("a kernel fails"));
    assert!(said.contains("as it should") && !said.contains("WSP1555"), "{said}");
}

/// ISA-SY-03: every block of a gang waits for all of the others, so it ends only if they all run at once.
#[test]
fn kernels_of_a_gang_run_at_the_same_time() {
    let mut kernels = super::common::kernels();
    let barrier = Arc::new(Barrier::new(5));
    kernels.replace("inc", signature(&[Direction::InOut]), move |cx| {
        barrier.wait();
        super::common::each(cx, 0, 0, |x| x + 1)
    });
    let text = "extern X: i64[8]\nextern Y: i64[8]\nTG_BEGIN(G)\nTG_KERNEL(A, inc, 3, AIC, 0)\nMC_BIND(A, 0, X)\nTG_KERNEL(B, inc, 2, AIV, 0)\nMC_BIND(B, 0, Y)\nSY_BARRIER({A, B}, 0)\nTG_END(G)\nTG_LAUNCH(G, default)\nTG_SYNC(G)";
    let mut session = session_with(text, &kernels, threads(1));
    session.run().unwrap_or_else(|faults| panic!("{}", all(&faults)));
    assert_eq!((values(&session, "X"), values(&session, "Y")), (vec![1; 8], vec![1; 8]));
}

/// ISA-FE-01: a fused graph gives what its two graphs give.
#[test]
fn a_fused_graph_gives_what_both_give() {
    let graph = |name: &str, from: &str, to: &str, k: &str| {
        format!(
            "TG_BEGIN({name})\nTG_KERNEL({k}, double, 2, AIV, 0)\nMC_BIND({k}, 0, {from})\nMC_BIND({k}, 1, {to})\nTG_END({name})\n"
        )
    };
    let text = format!(
        "extern A: i64[4]\nextern B: i64[4]\nextern C: i64[4]\nextern D: i64[4]\n{}{}TG_FUSE(G, H, F)\nTG_LAUNCH(F, default)\nTG_SYNC(F)",
        graph("G", "A", "B", "K"),
        graph("H", "C", "D", "L")
    );
    let given = inputs(&[("A", &[1, 2, 3, 4]), ("C", &[5, 6, 7, 8])]);
    let mut session = session(&text, SessionOptions { inputs: given, ..threads(2) });
    let report = session.run().unwrap_or_else(|faults| panic!("{}", all(&faults)));
    assert_eq!(values(&session, "B"), [2, 4, 6, 8]);
    assert_eq!(values(&session, "D"), [10, 12, 14, 16]);
    assert_eq!((report.stats.dispatches, report.stats.blocks), (1, 4), "alike and independent: one dispatch");
}

/// ISA-FE-02: a kernel that stays resident is dispatched once for all its launches.
#[test]
fn a_persistent_kernel_is_dispatched_once() {
    let text = |duration: &str| {
        format!(
            "extern Y: i64[8]\nTG_BEGIN(G)\nTG_KERNEL(A, inc, 2, AIV, 0)\nMC_BIND(A, 0, Y)\n{duration}\nTG_END(G)\nCF_LOOP(10, i)\nTG_LAUNCH(G, default)\nCF_ENDLOOP\nTG_SYNC(G)"
        )
    };
    for (duration, dispatches) in [("", 10), ("TG_PERSISTENT(A, 0)", 1), ("TG_PERSISTENT(A, 5)", 2)] {
        let mut session = session(&text(duration), threads(2));
        let report = session.run().unwrap_or_else(|faults| panic!("{}", all(&faults)));
        assert_eq!(values(&session, "Y"), [10; 8]);
        assert_eq!((report.stats.kernels, report.stats.dispatches), (10, dispatches), "{duration}");
    }
}
