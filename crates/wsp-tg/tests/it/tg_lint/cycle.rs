//! What waits for itself: through edges, events, gangs and barriers, in one graph and in two.

use super::check;

/// ISA-TG-21: the whole cycle, each link with its place.
#[test]
fn a_cycle_is_printed_with_its_whole_path() {
    let text = "TG_BEGIN(0)\nTG_KERNEL(A, e, 1, AIV, 0)\nTG_KERNEL(B, e, 1, AIV, 0)\nTG_KERNEL(C, e, 1, AIV, 0)\nTG_DEPEND(A, B) //! 1500\nTG_DEPEND(B, C)\nTG_DEPEND(C, A)\nTG_END(0)\n";
    let found = check(text);
    assert_eq!(found[0].message, "`A` waits for itself: `A` → `B` → `C` → `A`");
    assert!(found[0].is_error());
    assert_eq!(found[0].labels.len(), 2, "the other two links");
}

/// ISA-TG-20: a hint orders nothing.
#[test]
fn a_soft_edge_closes_no_cycle() {
    check(
        "TG_BEGIN(0)\nTG_KERNEL(A, e, 1, AIV, 0)\nTG_KERNEL(B, e, 1, AIV, 0)\nTG_DEPEND(A, B)\nTG_DEPEND(B, A, SOFT)\nTG_END(0)\n",
    );
    check(
        "TG_BEGIN(0)\nTG_KERNEL(A, e, 1, AIV, 0)\nTG_KERNEL(B, e, 1, AIV, 0)\nTG_DEPEND(A, B)\nTG_DEPEND(A, B, SOFT) //! 1510\nTG_END(0)\n",
    );
}

/// ISA-SY-06: cycles through events, gangs and barriers.
#[test]
fn cycles_through_events_gangs_and_barriers_are_found() {
    let kernels = "TG_KERNEL(A, e, 1, AIV, 0)\nTG_KERNEL(B, e, 1, AIV, 0)\nTG_KERNEL(C, e, 1, AIV, 0)\n";
    let graph = |body: &str| format!("TG_BEGIN(0)\n{kernels}{body}\nTG_END(0)\n");
    let found = check(&graph("SY_SIGNAL(E, B)\nSY_WAIT(E, A)\nSY_SIGNAL(F, A) //! 1500\nSY_WAIT(F, B)"));
    assert_eq!(found[0].message, "`A` waits for itself: `A` → event `F` → `B` → event `E` → `A`");
    // What the help says to write makes one of the waits one for an earlier launch.
    assert!(found[0].help[1].ends_with(": TG_DEPEND(B, A)"), "{found:#?}");
    let signal = "TG_BEGIN(1)\nTG_KERNEL(S, e, 1, AIV, 0)\nSY_SIGNAL(F, S)\nTG_END(1)\n";
    let mended = graph("SY_SIGNAL(E, B)\nSY_WAIT(E, A)\nSY_SIGNAL(F, A)\nSY_WAIT(F, B)\nTG_DEPEND(B, A)");
    check(&format!("{signal}{mended}TG_LAUNCH(1, 1)\nTG_LAUNCH(0, 1)\n"));
    check(&graph("SY_SIGNAL(E, A)\nSY_WAIT(E, B)\nTG_DEPEND(A, B)"));
    let found = check(&graph("SY_BARRIER({A, C}, 0)\nTG_DEPEND(A, B) //! 1500\nTG_DEPEND(B, C)"));
    assert_eq!(found[0].message, "`A` waits for itself: `A` → `B` → gang → `A`");
    assert_eq!(found[0].help.len(), 1, "no event");
    check(&graph("TG_DEPEND(A, B, BARRIER) //! 1500\nTG_DEPEND(C, A)"));
}

/// ISA-SY-06: two graphs that wait for each other: which launch a wait is for follows from the host.
#[test]
fn graphs_that_wait_for_each_other_are_found() {
    let graph = |name: &str, wait: &str, signal: &str| {
        format!(
            "TG_BEGIN({name})\nTG_KERNEL(K, e, 1, AIV, 0)\nSY_WAIT({wait}, K)\nSY_SIGNAL({signal}, K)\nTG_END({name})\n"
        )
    };
    let text = graph("G", "E", "F") + &graph("H", "F", "E");
    let found = check(&(text.clone() + "TG_LAUNCH(G, 1) //! 1515\nTG_LAUNCH(H, 2)\n"));
    assert_eq!(found[0].message, "graph `G` waits for event `E`, which no launch can signal by then");
    assert_eq!(found[0].labels.len(), 2, "both waits");
    assert!(found[0].help[0].starts_with("remove a wait, or launch"), "{found:#?}");
    check(&text.replacen("TG_BEGIN(G)", "TG_BEGIN(G) //! 1515", 1));
    // In turn, behind a first launch that waits for none.
    let first = "TG_BEGIN(A)\nTG_KERNEL(K, e, 1, AIV, 0)\nSY_SIGNAL(E, K)\nTG_END(A)\n";
    let turns = "TG_LAUNCH(G, 1)\nTG_LAUNCH(H, 2)\n".repeat(3);
    check(&(first.to_owned() + &text + "TG_LAUNCH(A, 1)\n" + &turns));
}

/// ISA-SY-06: launches of two graphs in turn, the first of which waits for none.
#[test]
fn launches_in_turn_of_which_the_first_skips_its_wait_are_no_cycle() {
    let text = "TG_BEGIN(G)\nCF_IF(iteration > 0)\nTG_KERNEL(W, e, 1, AIV, 0)\nCF_ENDIF\nTG_KERNEL(K, e, 1, AIV, 0)\nTG_DEPEND(W, K)\nSY_WAIT(E, W)\nSY_SIGNAL(F, K)\nTG_END(G)\nTG_BEGIN(H)\nTG_KERNEL(K, e, 1, AIV, 0)\nSY_WAIT(F, K)\nSY_SIGNAL(E, K)\nTG_END(H)\n";
    check(&(text.to_owned() + "TG_INVOKE(G, 0)\nTG_LAUNCH(H, 1)\nTG_INVOKE(G, 1)\nTG_LAUNCH(H, 1)\n"));
    check(&(text.to_owned() + "TG_INVOKE(G, 1) //! 1515\nTG_LAUNCH(H, 1)\n"));
}

/// ISA-SY-06: an event that several graphs signal is one of the last launch before the wait, so graphs that could wait for each other need not.
#[test]
fn events_that_several_graphs_signal_make_no_cycle_of_graphs() {
    let graph = |name: &str, uses: &[&str]| {
        let uses: String = uses.iter().map(|of| format!("{of}, K)\n")).collect();
        format!("TG_BEGIN({name})\nTG_KERNEL(K, e, 1, AIV, 0)\n{uses}TG_END({name})\n")
    };
    let graphs = graph("A", &["SY_SIGNAL(E", "SY_SIGNAL(F"])
        + &graph("B", &["SY_WAIT(F", "SY_SIGNAL(E"])
        + &graph("D", &["SY_WAIT(E", "SY_SIGNAL(F"]);
    check(&(graphs.clone() + "TG_LAUNCH(A, 1)\nTG_LAUNCH(D, 2)\nTG_LAUNCH(B, 3)\n"));
    // Each waits for the first launch behind it.
    let without = "TG_LAUNCH(D, 2) //! 1515\nTG_LAUNCH(B, 3)\n";
    check(&(graphs.replace("TG_BEGIN(A)", "TG_BEGIN(A) //! 1504") + without));
}

/// ISA-SY-06: a wait for an event that the graph signals behind it is for another launch.
#[test]
fn waits_before_the_signal_of_their_graph_are_for_an_earlier_launch() {
    let graph = |body: &str| {
        format!("TG_BEGIN(G)\nTG_KERNEL(A, e, 1, AIV, 0)\nTG_KERNEL(B, e, 1, AIV, 0)\n{body}\nTG_END(G)\n")
    };
    let first = "TG_BEGIN(H)\nTG_KERNEL(K, e, 1, AIV, 0)\nSY_SIGNAL(E, K)\nTG_END(H)\nTG_LAUNCH(H, 1)\n";
    let bodies = [
        "SY_SIGNAL(E, A)\nSY_WAIT(E, A)",
        "SY_SIGNAL(E, B)\nSY_WAIT(E, A)\nTG_DEPEND(A, B)",
        "SY_SIGNAL(E, B)\nSY_WAIT(E, A)\nTG_DEPEND(A, B, BARRIER)",
    ];
    for body in bodies {
        let graph = graph(body);
        check(&(graph.clone() + first + "TG_LAUNCH(G, 2)\nTG_LAUNCH(G, 3)\n"));
        let found = check(&(graph + "TG_LAUNCH(G, 2) //! 1515\nTG_LAUNCH(G, 2)\n"));
        assert_eq!(found[0].message, "graph `G` waits for event `E`, which no launch can signal by then");
        assert!(found[0].notes[0].contains("signalled by `G`"), "{found:#?}");
    }
    // The first launch skips its wait.
    let text = "TG_BEGIN(G)\nCF_IF(iteration > 0)\nTG_KERNEL(W, e, 1, AIV, 0)\nCF_ENDIF\nTG_KERNEL(K, e, 1, AIV, 0)\nTG_DEPEND(W, K)\nSY_WAIT(E, W)\nSY_SIGNAL(E, K)\nTG_END(G)\n";
    check(&(text.to_owned() + "TG_INVOKE(G, 0)\nTG_INVOKE(G, 1)\n"));
    check(&(text.to_owned() + "TG_INVOKE(G, 1) //! 1515\nTG_INVOKE(G, 1)\n"));
}
