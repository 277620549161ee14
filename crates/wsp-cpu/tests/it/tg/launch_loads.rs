//! What conditions and counts of graphs load while launches on other streams write it.

use super::common::{all, unit};
use super::launches::{graph, is_refused, options, text, with_look};
use wsp_cpu::tg::Session;

const BOTH: &str = "TG_LAUNCH(G, 1)\nTG_LAUNCH(J, 2)\n";

/// Graph `J` of these instructions.
fn other(body: &str) -> String {
    format!("TG_BEGIN(J)\n{body}TG_END(J)\n")
}

/// A kernel that reads word 0 of `T`.
const LOOK: &str = "TG_KERNEL(B, look, 1, AIV, 0)\nMC_BIND(B, 0, T, 0, 8)\n";

/// Whether a run is refused in which `G` writes word `N` of `T`, with `L` from its second word on.
fn refused(j: &str, n: i64, l: [i64; 3]) -> bool {
    let g = graph("G", "one", "8 * N, 8", "");
    is_refused(&text(&[g, other(j)], BOTH), n, &[0, l[0], l[1], l[2]])
}

/// ISA-TG-25: a run compares what conditions and counts load.
#[test]
fn what_conditions_load_is_compared_by_a_run() {
    // In an arm that a run takes, in a loop of rounds that only memory says, behind an operator that decides whether it is loaded.
    let arm = format!("CF_IF(load(L, 8))\nCF_IF(load(T, 16))\n{LOOK}CF_ENDIF\nCF_ENDIF\n");
    let rounds = format!("CF_LOOP(load(L, 8), i)\n{LOOK}CF_BREAK(load(T, 8 * i) > 9)\nCF_ENDLOOP\n");
    let operator = format!("CF_IF(load(L, 8) > 2 && load(T, 16))\n{LOOK}CF_ENDIF\n");
    let at = format!("CF_WHILE(load(T, load(L, 8)))\n{LOOK}CF_ENDWHILE\n");
    let count = format!("CF_LOOP(load(T, load(L, 8)), i)\n{LOOK}CF_ENDLOOP\n");
    for (j, ones) in [(arm, [0, 1]), (rounds, [2, 3]), (operator, [2, 3]), (at, [24, 16]), (count, [24, 16])]
    {
        assert_eq!(ones.map(|one| refused(&j, 2, [one, 0, 0])), [false, true], "{j}");
        // `G` writes another word.
        assert_eq!(ones.map(|one| refused(&j, 5, [one, 0, 0])), [false, false], "{j}");
    }
    // By the iteration.
    let j = other(&format!("CF_IF(load(T, 8 * iteration))\n{LOOK}CF_ENDIF\n"));
    let by_iteration = text(&[graph("G", "one", "16, 8", ""), j], "TG_LAUNCH(G, 1)\nTG_INVOKE(J, N)\n");
    assert_eq!([1, 2, 3].map(|n| is_refused(&by_iteration, n, &[0; 4])), [false, true, false]);
}

/// ISA-TG-26, ISA-SY-02: what orders a launch before a condition is an order for a run as well; a wait of a kernel beside it is none.
#[test]
fn what_something_orders_before_a_condition_is_no_race_of_a_run() {
    let [g, signals] = ["", "SY_SIGNAL(E, A)\n"].map(|rest| graph("G", "inc", "8 * N, 8", rest));
    let j = |before: &str| other(&format!("{before}CF_IF(load(T, 8 * load(L, 0)))\n{LOOK}CF_ENDIF\n"));
    let is_refused = |graphs: [&String; 2], host: &str| {
        is_refused(&text(&graphs.map(String::clone), host), 3, &[3, 0, 0, 0])
    };
    assert!(is_refused([&g, &j("")], BOTH));
    assert!(!is_refused([&g, &j("")], "TG_LAUNCH(G, 1)\nTG_SYNC(G)\nTG_LAUNCH(J, 2)\n"));
    assert!(!is_refused([&g, &j("")], "TG_LAUNCH(G, 1)\nTG_LAUNCH(J, 1)\n"));
    let reads = graph("G", "look", "8 * N, 8", "");
    assert!(!is_refused([&reads, &j("")], BOTH));
    for (entry, is_race) in [("look", true), ("inc", false)] {
        let waits = format!("TG_KERNEL(W, {entry}, 1, AIV, 0)\nMC_BIND(W, 0, T, 24, 8)\nSY_WAIT(E, W)\n");
        for host in [BOTH, "TG_LAUNCH(J, 2)\nTG_LAUNCH(G, 1)\n"] {
            assert_eq!(is_refused([&signals, &j(&waits)], host), is_race, "{entry} {host}");
        }
    }
    // What an arm signals comes behind its condition.
    let arm = other(&format!("CF_IF(load(T, 8 * load(L, 0)) >= 0)\n{LOOK}CF_ENDIF\nSY_SIGNAL(E, B)\n"));
    let waits = graph("G", "inc", "8 * N, 8", "SY_WAIT(E, A)\n");
    assert!(!is_refused([&waits, &arm], "TG_LAUNCH(J, 2)\nTG_LAUNCH(G, 1)\n"));
}

/// A fault says what is looked at, where, and what to type.
#[test]
fn a_race_of_a_run_with_a_condition_names_it() {
    for (open, close, name) in [
        ("CF_IF(load(T, load(L, 8)))", "CF_ENDIF", "the condition"),
        ("CF_LOOP(load(T, load(L, 8)), i)", "CF_ENDLOOP", "the count of the loop"),
    ] {
        let graphs = [graph("G", "one", "8 * N, 16", ""), other(&format!("{open}\n{LOOK}{close}\n"))];
        let mut session =
            Session::new(&unit(&text(&graphs, BOTH)), &with_look(), options(&[("N", 1)], &[0, 16, 0, 0]))
                .expect("it may run");
        let found = session.run().expect_err("they meet");
        let said = all(&found);
        for part in [
            "launches of graphs `G` and `J` use `T` in no order".to_owned(),
            format!("\"{name} reads it here"),
            format!("\"{name} in launch 2, of graph `J` on stream 2, iteration 0"),
            "both touch bytes 16 to 24 of `T`".to_owned(),
            "TG_SYNC(G)".to_owned(),
            format!("SY_WAIT(EVENT, KERNEL) of a kernel in `J` that writes what {name} then loads"),
        ] {
            assert!(said.contains(&part), "{part}\n{said}");
        }
    }
}

/// Memory that each launch has for itself is in no other's way, also where a binding may be to it or to what they have in common.
#[test]
fn memory_of_a_launch_is_not_compared() {
    let body = "MC_ALLOC(F, 8)
TG_KERNEL(V, one, 1, AIV, 0)
MC_BIND(V, 0, F, 0, 8)
TG_KERNEL(W, one, 1, AIV, 0)
MC_BIND(W, 0, {T, F}[N % 2], 0, 8)
TG_DEPEND(V, W)
CF_IF(load(F, 0, i64) > N || load(T, 8) > N)
TG_KERNEL(B, look, 1, AIV, 0)
MC_BIND(B, 0, L)
CF_ENDIF
";
    let text = text(&[format!("TG_BEGIN(G)\n{body}TG_END(G)\n")], "TG_LAUNCH(G, 1)\nTG_LAUNCH(G, 2)\n");
    let told = |n: i64| {
        let options = options(&[("N", n)], &[0; 4]);
        let mut session = Session::new(&unit(&text), &with_look(), options).expect("it may run");
        let report = session.run().unwrap_or_else(|found| panic!("{}", all(&found)));
        report.notes.iter().any(|note| note.code.0 == 1521)
    };
    assert_eq!([5, 4].map(told), [false, true]);
}
