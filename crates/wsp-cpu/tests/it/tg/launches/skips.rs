//! Waits that do not take place: of kernels that are skipped, and of launches that go on from a checkpoint behind what they wait for.

use super::{all, graph, is_refused, options, text, told, unit, with_look};
use std::sync::Arc;
use wsp_backend::{CheckpointStore, MemoryStore};
use wsp_cpu::tg::{Session, SessionOptions};

/// Graph `H`, whose kernel `W` waits for `E` in blocks that `open` begins; `rest` stands behind them.
fn waits(open: &str, close: &str, rest: &str) -> String {
    format!(
        "TG_BEGIN(H)\n{open}TG_KERNEL(W, look, 1, AIV, 0)\nMC_BIND(W, 0, T, 256, 8)\nSY_WAIT(E, W)\n{close}{rest}TG_END(H)\n"
    )
}

/// A kernel that writes what `G` writes.
const Q: &str = "TG_KERNEL(Q, inc, 1, AIV, 0)\nMC_BIND(Q, 0, T, 8 * N, 8)\n";

/// Blocks that run their kernels where the first word of `L` is not 0.
const BLOCKS: [[&str; 2]; 4] = [
    ["CF_IF(load(L, 0, i64))\n", "CF_ENDIF\n"],
    ["CF_LOOP(load(L, 0, i64), i)\n", "CF_ENDLOOP\n"],
    ["CF_LOOP(3, i)\nCF_BREAK(load(L, 0, i64) == 0)\n", "CF_ENDLOOP\n"],
    ["CF_LOOP(load(L, 8, i64), i)\nCF_IF(load(L, 0, i64))\n", "CF_ENDIF\nCF_ENDLOOP\n"],
];

fn signals() -> String {
    graph("G", "inc", "8 * N, 8", "SY_SIGNAL(E, A)\n")
}

/// ISA-SY-02, ISA-CF-01, ISA-CF-03, A-11: what stands behind a kernel that is skipped comes behind nothing that it would have waited for.
#[test]
fn a_kernel_that_is_skipped_orders_no_launches() {
    let both = "TG_LAUNCH(G, 1)\nTG_LAUNCH(H, 2)\n";
    let goes = |text: &str| [0, 1].map(|first| is_refused(text, 3, &[first, 2, 0, 0]));
    let j = |rest: &str| graph("J", "inc", "8 * N, 8", rest);
    for [open, close] in BLOCKS {
        let units = [
            text(&[signals(), waits(open, close, &format!("{Q}TG_DEPEND(W, Q)\n"))], both),
            text(
                &[signals(), waits(open, close, "SY_SIGNAL(F, W)\n"), j("SY_WAIT(F, A)\n")],
                &format!("{both}TG_LAUNCH(J, 3)\n"),
            ),
            text(&[signals(), waits(open, close, ""), j("")], &format!("{both}TG_LAUNCH(J, 2)\n")),
            text(
                &[signals(), waits(open, close, ""), j("")],
                &format!("{both}TG_SYNC(H)\nTG_LAUNCH(J, 3)\n"),
            ),
        ];
        for text in units {
            assert_eq!(goes(&text), [true, false], "{text}");
        }
    }
    // What runs in the same arm comes behind it.
    let [open, close] = BLOCKS[0];
    let inside = waits(open, &format!("{Q}TG_DEPEND(W, Q)\n{close}"), "");
    assert_eq!(goes(&text(&[signals(), inside], both)), [false, false]);
    // Of the rounds of a loop, those before it come behind nothing.
    let round = |of: u32| {
        let open = format!("CF_LOOP(load(L, 8, i64), i)\nCF_IF(i == {of} && load(L, 0, i64))\n");
        waits(&open, &format!("CF_ENDIF\n{Q}TG_DEPEND(W, Q)\nCF_ENDLOOP\n"), "")
    };
    assert_eq!(goes(&text(&[signals(), round(0)], both)), [true, false]);
    assert_eq!(goes(&text(&[signals(), round(1)], both)), [true, true]);
}

/// ISA-SY-02, ISA-CF-03, A-11: a kernel of one round of an unrolled loop comes behind what a kernel of its own round waits for, and behind what earlier rounds
/// wait for only if its bytes bring it behind those.
#[test]
fn a_wait_of_one_round_orders_no_other_round() {
    for (entry, refused) in [("inc", [true, false, false]), ("look", [true, true, false])] {
        let q = Q.replace("inc", entry);
        let open = "CF_LOOP(2, i)\nCF_IF(load(L, 8 * i, i64))\n";
        let rounds = waits(open, &format!("CF_ENDIF\n{q}TG_DEPEND(W, Q)\nCF_ENDLOOP\n"), "");
        let text = text(&[signals(), rounds], "TG_LAUNCH(G, 1)\nTG_LAUNCH(H, 2)\n");
        let words = [[0, 1], [1, 0], [1, 1]];
        let found = words.map(|[first, second]| is_refused(&text, 3, &[first, second, 0, 0]));
        assert_eq!(found, refused, "{text}");
    }
}

/// ISA-SY-01, ISA-CF-01, A-11: a kernel that is skipped signals its event all the same, once what it comes behind is complete.
#[test]
fn a_kernel_that_is_skipped_signals() {
    let before = "TG_KERNEL(P, inc, 1, AIV, 0)\nMC_BIND(P, 0, T, 8 * N, 8)\n";
    for [open, close] in BLOCKS {
        for (edge, refused) in [("TG_DEPEND(P, A)\n", false), ("", true)] {
            let signals = format!(
                "TG_BEGIN(G)\n{before}{open}TG_KERNEL(A, look, 1, AIV, 0)\nMC_BIND(A, 0, T, 256, 8)\n{close}{edge}SY_SIGNAL(E, A)\nTG_END(G)\n"
            );
            let text = text(
                &[signals, graph("H", "inc", "8 * N, 8", "SY_WAIT(E, A)\n")],
                "TG_LAUNCH(G, 1)\nTG_LAUNCH(H, 2)\n",
            );
            assert_eq!(is_refused(&text, 3, &[0, 2, 0, 0]), refused, "{text}");
        }
    }
}

/// ISA-SY-02, ISA-CF-03, A-11: other bytes than those that are compared bring a round behind what earlier rounds wait for, if they are the same.
#[test]
fn bytes_of_other_kernels_bring_a_round_behind_an_earlier_wait() {
    let open = "CF_LOOP(2, i)\nCF_IF(load(L, 8 * i, i64))\n";
    // Bytes that only a run knows are all of the tensor where rounds are laid out.
    let by_run = "64 + 8 * i + 0 * iteration, 8";
    for (bytes, refused) in [
        ("64, 8", [true, false, false]),
        ("64 + 8 * i, 8", [true, true, false]),
        (by_run, [true, false, false]),
    ] {
        let rest = format!(
            "CF_ENDIF\nTG_KERNEL(P, inc, 1, AIV, 0)\nMC_BIND(P, 0, T, {bytes})\n{}TG_DEPEND(W, P)\nTG_DEPEND(P, Q)\nCF_ENDLOOP\n",
            Q.replace("inc", "look").replace("8 * N", "24")
        );
        let text = text(&[signals(), waits(open, &rest, "")], "TG_LAUNCH(G, 1)\nTG_LAUNCH(H, 2)\n");
        let words = [[0, 1], [1, 0], [1, 1]];
        let found = words.map(|[first, second]| is_refused(&text, 3, &[first, second, 0, 0]));
        assert_eq!(found, refused, "{text}");
    }
}

/// ISA-SY-01, ISA-SY-02, ISA-CF-03: rounds are looked up with the bytes of a run also where only that knows the iteration.
#[test]
fn bytes_by_an_iteration_that_is_loaded_choose_the_rounds() {
    let one = |name: &str, entry: &str, bytes: &str| {
        format!("TG_KERNEL({name}, {entry}, 1, AIV, 0)\nMC_BIND({name}, 0, T, {bytes}, 8)\n")
    };
    let by_iteration = "8 * (iteration % 2)";
    let rounds = [one("A", "inc", "8 * i"), one("C", "inc", "8 * ((i + 1) % 2)")].concat();
    let signals = format!("TG_BEGIN(G)\nCF_LOOP(2, i)\n{rounds}SY_SIGNAL(E, C)\nCF_ENDLOOP\nTG_END(G)\n");
    let waits = graph("H", "look", "8 * (iteration % 2), 8", "SY_WAIT(E, A)\n");
    let of_signals = text(&[signals, waits], "TG_LAUNCH(G, 1)\nTG_INVOKE(H, load(L, 0, i64))\n");
    let signals = format!("TG_BEGIN(G)\n{}SY_SIGNAL(E, A)\nTG_END(G)\n", one("A", "inc", by_iteration));
    let rounds = [one("W", "inc", "64 + 8 * ((i + 1) % 2)"), one("P", "inc", "64 + 8 * i")].concat();
    let waits = format!(
        "TG_BEGIN(H)\nCF_LOOP(2, i)\n{rounds}SY_WAIT(E, W)\n{}TG_DEPEND(P, Q)\nCF_ENDLOOP\nTG_END(H)\n",
        one("Q", "look", "8 * i")
    );
    let of_waits = text(&[signals, waits], "TG_INVOKE(G, load(L, 0, i64))\nTG_LAUNCH(H, 2)\n");
    for (text, refused) in [(of_signals, [false, true]), (of_waits, [true, false])] {
        assert_eq!([0, 1].map(|first| is_refused(&text, 3, &[first, 0, 0, 0])), refused, "{text}");
    }
}

/// ISA-TG-25: where values of arguments say that a kernel is skipped, the checks before the run refuse it.
#[test]
fn what_arguments_skip_is_refused_before_the_run() {
    let unit_of = |value: u32, open: &str, close: &str| {
        let graphs = [
            graph("G", "inc", "24, 8", "SY_SIGNAL(E, A)\n"),
            waits(open, close, &format!("{}TG_DEPEND(W, Q)\n", Q.replace("8 * N", "24"))),
        ];
        format!("arg C: i64 = {value}\n{}", text(&graphs, "TG_LAUNCH(G, 1)\nTG_LAUNCH(H, 2)\n"))
    };
    for [open, close] in [["CF_IF(C)\n", "CF_ENDIF\n"], ["CF_LOOP(C, i)\n", "CF_ENDLOOP\n"]] {
        let made = |value| {
            Session::new(&unit(&unit_of(value, open, close)), &with_look(), options(&[("N", 3)], &[0; 4]))
        };
        assert!(made(1).is_ok(), "{open}");
        let found = made(0).expect_err("nothing waits");
        assert!(found.iter().any(|of| of.code.0 == 1521 && of.is_error()), "{}", all(&found));
    }
}

fn kept(n: i64, store: &Arc<MemoryStore>) -> SessionOptions {
    let store: Arc<dyn CheckpointStore> = store.clone();
    SessionOptions { checkpoints: Some(store), ..options(&[("N", n)], &[0; 4]) }
}

fn is_refused_with_store(text: &str, n: i64) -> bool {
    match told(text, kept(n, &Arc::default())) {
        Ok(_) => false,
        Err(found) if found[0].code.0 == 1521 => true,
        Err(found) => panic!("{text}\n{}", all(&found)),
    }
}

/// A graph with a checkpoint between two kernels that read; `rest` stands behind them.
fn saves(name: &str, first: &str, second: &str, rest: &str) -> String {
    format!(
        "TG_BEGIN({name})\nTG_KERNEL(A, look, 1, AIV, 0)\nMC_BIND(A, 0, T, {first})\nTG_CHECKPOINT({name}, C)\nTG_KERNEL(B, look, 1, AIV, 0)\nMC_BIND(B, 0, T, {second})\nTG_DEPEND(A, B)\n{rest}TG_END({name})\n"
    )
}

/// ISA-FE-04, ISA-TG-25: a run that is resumed compares its launches, also if some wait for what had happened before.
#[test]
fn a_run_that_is_resumed_behind_a_signal_compares_its_launches() {
    let graphs = [
        graph("P", "look", "8, 8", "SY_SIGNAL(E, A)\n"),
        saves("G", "16, 8", "16, 8", ""),
        graph("W", "look", "8, 8", "SY_WAIT(E, A)\n"),
        graph("S", "inc", "8 * N, 8", ""),
        graph("R", "look", "24, 8", ""),
    ];
    let text = text(
        &graphs,
        "TG_LAUNCH(P, 1)\nTG_SYNC(P)\nTG_LAUNCH(G, 1)\nTG_SYNC(G)\nTG_LAUNCH(W, 2)\nTG_LAUNCH(S, 3)\nTG_LAUNCH(R, 4)\n",
    );
    for (n, is_race) in [(3, true), (5, false)] {
        let store = Arc::new(MemoryStore::new());
        assert_eq!(told(&text, kept(n, &store)).is_err(), is_race);
        let mut session = Session::new(&unit(&text), &with_look(), kept(n, &store)).expect("it may run");
        let found = session.resume().map(|_| ()).map_err(|found| found[0].code.0);
        assert_eq!(found, if is_race { Err(1521) } else { Ok(()) });
    }
}

/// ISA-FE-04, ISA-TG-25: a restored launch does not wait again for what had happened when it was saved, and so comes behind no later signal.
#[test]
fn a_restored_launch_comes_behind_no_later_signal() {
    let host =
        "TG_LAUNCH(P, 1)\nTG_SYNC(P)\nTG_LAUNCH(G, 2)\nTG_SYNC(G)\nTG_LAUNCH(P, 1)\nTG_RESTORE(G, C)\n";
    let of = |bytes: &str| {
        let signals = graph("P", "inc", "24, 8", "SY_SIGNAL(E, A)\n");
        text(&[signals, saves("G", "128, 8", bytes, "SY_WAIT(E, B)\n")], host)
    };
    assert_eq!([3, 5].map(|n| is_refused_with_store(&of("8 * N, 8"), n)), [true, false]);
    let found = Session::new(&unit(&of("24, 8")), &with_look(), kept(0, &Arc::default()));
    assert!(found.expect_err("they meet").iter().any(|of| of.code.0 == 1521 && of.is_error()));
    // What it had not reached it waits for.
    let later = "TG_LAUNCH(G, 2)\nTG_LAUNCH(P, 1)\nTG_SYNC(G)\n";
    let signals = graph("P", "inc", "24, 8", "SY_SIGNAL(E, A)\n");
    assert!(!is_refused_with_store(
        &text(&[signals, saves("G", "128, 8", "24, 8", "SY_WAIT(E, B)\n")], later),
        3
    ));
}

/// ISA-FE-04: what a restored launch had behind it does not run again, and meets nothing.
#[test]
fn what_was_complete_when_a_launch_was_saved_meets_nothing() {
    let graphs = [
        saves("G", "8 * N, 8", "8 * (N + 6), 8", ""),
        graph("J", "inc", "8 * iteration, 8", ""),
        graph("H", "inc", "8 * iteration, 8", ""),
    ];
    let host = "TG_LAUNCH(G, 1)\nTG_INVOKE(J, 23)\nTG_SYNC(J)\nTG_SYNC(G)\nTG_RESTORE(G, C)\n";
    let of = |iteration: u32| text(&graphs, &format!("{host}TG_INVOKE(H, {iteration})\nTG_SYNC(G)\n"));
    assert_eq!([3, 9, 10].map(|iteration| is_refused_with_store(&of(iteration), 3)), [false, true, false]);
}
