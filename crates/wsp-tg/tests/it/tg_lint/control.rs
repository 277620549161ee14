//! Conditions that never change, launches that wait for later ones, and units that break a rule.

use super::{check, graph, kernels};
use wsp_diag::{Severity, SourceMap};
use wsp_tg::{LintOptions, lint};

/// ISA-CF-05, ISA-CF-09.
#[test]
fn control_flow_that_always_goes_one_way_is_told() {
    check(&graph(
        "CF_LOOP(0, i) //! 1516\nCF_ENDLOOP\nCF_IF(1) //! 1517\nCF_ENDIF\nCF_LOOP(2, j)\nCF_BREAK(0) //! 1517\nCF_ENDLOOP",
    ));
    check(&graph("CF_WHILE(load(T)) //! 1517\nTG_KERNEL(A, r, 1, AIV, 0)\nMC_BIND(A, 0, T)\nCF_ENDWHILE"));
    check(&graph("CF_WHILE(load(T))\nTG_KERNEL(A, w, 1, AIV, 0)\nMC_BIND(A, 0, T)\nCF_ENDWHILE"));
    check(&graph("CF_WHILE(1)\nCF_BREAK(load(T))\nCF_ENDWHILE"));
}

/// ISA-CF-05: a break orders what stands before it in its loop and what stands behind it, in every round, and nothing where it never leaves.
#[test]
fn a_break_orders_what_is_before_and_behind_it() {
    let races = |condition: &str, rest: &str| {
        let kernel = |name: &str, entry: &str| {
            format!("TG_KERNEL({name}, {entry}, 1, AIV, 0)\nMC_BIND({name}, 0, T)\n")
        };
        let text = format!(
            "extern T: u8[64]\nextern L: i64[8]\nTG_BEGIN(G)\nCF_LOOP(2, i)\n{}CF_BREAK({condition}){rest}\n{}CF_ENDLOOP\nTG_END(G)\nTG_LAUNCH(G, default)\n",
            kernel("A", "w"),
            kernel("B", "w")
        );
        super::findings(&text).iter().any(|found| matches!(found.code.0, 1501 | 1522))
    };
    assert_eq!(
        ["load(L, 0, i64)", "i == 1", "iteration == 1", "0"].map(|of| races(of, "")),
        [false, false, false, true]
    );
    // Only in its own loop.
    assert!(races("0", "\nCF_LOOP(2, j)\nCF_BREAK(load(L, 0, i64))\nCF_ENDLOOP"));
}

/// ISA-SY-06, ISA-SY-02: a launch behind which the one that signals can never come.
#[test]
fn launches_that_wait_for_later_ones_are_told() {
    let graphs = "TG_BEGIN(0)\nTG_KERNEL(0, e, 1, AIV, 0)\nSY_WAIT(E, 0)\nTG_END(0)\nTG_BEGIN(1)\nTG_KERNEL(0, e, 1, AIV, 0)\nSY_SIGNAL(E, 0)\nTG_END(1)\n";
    let unit = |host: &str| format!("{graphs}{host}");
    check(&unit("TG_LAUNCH(0, s)\nTG_LAUNCH(1, t)\nTG_SYNC(0)\n"));
    check(&unit("TG_LAUNCH(1, s)\nTG_LAUNCH(0, s)\nTG_SYNC(0)\n"));
    check(&unit("TG_LAUNCH(0, s) //! 1515\nTG_SYNC(0)\nTG_LAUNCH(1, t)\n"));
    check(&unit("TG_LAUNCH(0, s) //! 1515\nTG_LAUNCH(1, s)\n"));
    let text = format!("extern event E\n{}", unit("TG_LAUNCH(0, s)\nTG_SYNC(0)\nTG_LAUNCH(1, s)\n"));
    check(&text);
}

/// ISA-SY-06: a kernel in a loop waits where some round surely runs it, whether the loop is unrolled or not.
#[test]
fn launches_that_wait_in_some_round_are_told() {
    let told = |open: &str, close: &str| {
        let text = format!(
            "arg N: i64\nTG_BEGIN(0)\n{open}TG_KERNEL(0, e, 1, AIV, 0)\n{close}SY_WAIT(E, 0)\nTG_END(0)\nTG_BEGIN(1)\nTG_KERNEL(0, e, 1, AIV, 0)\nSY_SIGNAL(E, 0)\nTG_END(1)\nTG_LAUNCH(0, s)\nTG_SYNC(0)\nTG_LAUNCH(1, s)\n"
        );
        let found = super::findings(&text).into_iter().filter(|found| found.code.0 == 1515);
        found.map(|found| found.severity).collect::<Vec<_>>()
    };
    let end = "CF_ENDLOOP\n";
    for mode in ["", ", SEQUENTIAL"] {
        for (open, close, is_told) in [
            ("", "CF_BREAK(i == 0)\n", true),
            ("CF_BREAK(i == 1)\n", "", true),
            ("CF_BREAK(i == 0)\n", "", false),
            ("CF_BREAK(N == i)\n", "", false),
            ("CF_LOOP(i, j)\n", end, true),
            ("CF_LOOP(i - 1, j)\n", end, false),
            ("CF_LOOP(N, j)\n", end, false),
            ("CF_IF(i == 1)\n", "CF_ENDIF\n", true),
            ("CF_IF(i == 2)\n", "CF_ENDIF\n", false),
            ("CF_IF(i == N)\n", "CF_ENDIF\n", false),
            // A break of an earlier round.
            ("CF_IF(i == 1)\n", "CF_ENDIF\nCF_BREAK(i == 0)\n", false),
            ("CF_IF(i == 1)\n", "CF_ENDIF\nCF_BREAK(N)\n", false),
        ] {
            let found = told(&format!("CF_LOOP(2, i{mode})\n{open}"), &format!("{close}{end}"));
            assert_eq!(found == [Severity::Error], is_told, "{mode} {open} {close}: {found:?}");
        }
    }
    // What stands beside the kernel that waits in a round in which that is skipped is not behind the signal.
    let text = |arm: &str| {
        format!(
            "extern X: i32[4]\nTG_BEGIN(0)\nCF_LOOP(2, i, SEQUENTIAL)\n{arm}TG_KERNEL(0, e, 1, AIV, 0)\n{}TG_KERNEL(1, w, 1, AIV, 0)\nMC_BIND(1, 0, X)\nTG_DEPEND(0, 1)\nCF_ENDLOOP\nSY_WAIT(E, 0)\nTG_END(0)\nTG_BEGIN(1)\nTG_KERNEL(0, w, 1, AIV, 0)\nMC_BIND(0, 0, X)\nSY_SIGNAL(E, 0)\nTG_END(1)\nTG_LAUNCH(1, s)\nTG_LAUNCH(0, t)\n",
            if arm.is_empty() { "" } else { "CF_ENDIF\n" }
        )
    };
    let races = |arm: &str| {
        super::findings(&text(arm)).iter().filter(|found| matches!(found.code.0, 1521 | 1522)).count()
    };
    assert_eq!([races(""), races("CF_IF(i == 1)\n")], [0, 1]);
}

/// ISA-SY-06: where a condition of the graph decides whether the kernel that waits runs, a note says so; none where it runs in no such launch.
#[test]
fn launches_that_may_wait_for_ever_by_conditions_of_graphs_are_told() {
    let kernel = |rest: &str| format!("TG_KERNEL(0, e, 1, AIV, 0)\n{rest}");
    let told = |[open, close]: [&str; 2], rest: &str| {
        let text = format!(
            "arg N: i64\nextern L: i64[1]\nTG_BEGIN(0)\n{open}{}{close}TG_END(0)\n{rest}",
            kernel("SY_WAIT(E, 0)\nSY_SIGNAL(F, 0)\n")
        );
        let found = super::findings(&text).into_iter().filter(|found| found.code.0 == 1515);
        found.map(|found| (found.severity, found.message)).collect::<Vec<_>>()
    };
    let signal = |open: &str, wait: &str, close: &str| {
        format!("TG_BEGIN(1)\n{open}{}{close}TG_END(1)\n", kernel(&format!("{wait}SY_SIGNAL(E, 0)\n")))
    };
    let behind = signal("", "", "") + "TG_LAUNCH(0, s)\nTG_SYNC(0)\nTG_LAUNCH(1, t)\n";
    let turns = "TG_LAUNCH(0, s)\nTG_LAUNCH(1, t)\n";
    let wait = "SY_WAIT(F, 0)\n";
    let (arm, end) = (["CF_IF(N == 1)\n", "CF_ENDIF\n"], "CF_ENDIF\n");
    let message = "graph `0` may wait for event `E` for ever, where the conditions and loops of graphs let its kernel run";
    for (blocks, rest, is_told) in [
        (arm, behind.clone(), true),
        (["CF_IF(load(L, 0, i64) == 1)\n", end], behind.clone(), true),
        (["CF_WHILE(load(L, 0, i64) == 1)\n", "CF_ENDWHILE\n"], behind.clone(), true),
        (["CF_LOOP(N, i)\n", "CF_ENDLOOP\n"], behind.clone(), true),
        (["CF_IF(iteration == 1)\n", end], behind.clone(), false),
        (arm, signal("", "", "") + turns, false),
        (arm, signal("", wait, "") + turns, true),
        (arm, signal("CF_IF(N == 1)\n", wait, end) + turns, true),
        (arm, signal("CF_IF(N == 2)\n", wait, end) + turns, false),
        // How often the host launches it is not known, and the first launch waits for nothing.
        (
            ["CF_IF(iteration > 0)\n", end],
            signal("", wait, "") + "CF_LOOP(N, i)\nTG_INVOKE(0, i)\nTG_LAUNCH(1, t)\nCF_ENDLOOP\n",
            false,
        ),
    ] {
        let expected = if is_told { vec![(Severity::Note, message.to_owned())] } else { vec![] };
        assert_eq!(told(blocks, &rest), expected, "{blocks:?}\n{rest}");
    }
}

/// ISA-SY-06: what surely waits for ever on one device is an error, whatever the others do.
#[test]
fn launches_that_wait_for_ever_on_one_device_are_told() {
    let told = |devices: Option<u32>, [host, graph]: [&str; 2]| {
        let arm = |condition: &str, body: &str| match condition {
            "" => body.to_owned(),
            _ => format!("CF_IF({condition})\n{body}CF_ENDIF\n"),
        };
        let kernel = "TG_KERNEL(0, e, 1, AIV, 0)\n";
        let text = format!(
            "TG_BEGIN(0)\n{}TG_END(0)\nTG_BEGIN(1)\n{kernel}SY_SIGNAL(E, 0)\nTG_END(1)\n{}",
            arm(graph, &format!("{kernel}SY_WAIT(E, 0)\n")),
            arm(host, "TG_LAUNCH(0, s)\nTG_SYNC(0)\nTG_LAUNCH(1, t)\n")
        );
        let options = LintOptions { devices, ..LintOptions::default() };
        let found = wsp_tg::check(&super::read(&text).0, &super::kernels(), &options, &[]).findings;
        let found: Vec<_> = found.into_iter().filter(|found| found.code.0 == 1515).collect();
        assert!(found.len() < 2, "{found:#?}");
        found.first().map(|found| (found.severity, found.message.clone()))
    };
    let on = |device: u32| {
        let message = "graph `0` waits for event `E`, which no launch can signal by then";
        Some((Severity::Error, format!("on device {device} {message}")))
    };
    for places in [["device == 0", ""], ["", "device == 0"]] {
        for devices in [Some(2), None] {
            assert_eq!(told(devices, places), on(0), "{devices:?} {places:?}");
        }
    }
    for places in [["device == 1", ""], ["", "device == 1"], ["device == devices - 1", ""]] {
        assert_eq!(told(Some(2), places), on(1), "{places:?}");
    }
    let is_error =
        |of: Option<(Severity, String)>| of.is_some_and(|(severity, _)| severity == Severity::Error);
    assert!(!is_error(told(None, ["device == 1", ""])), "there may be one device");
    assert!(!is_error(told(Some(2), ["device == 2", ""])));
}

/// ISA-SY-06: the same where the host has conditions and loops, or waits by what it loads. Where only some ways wait for ever, a note says so.
#[test]
fn launches_that_wait_for_ever_are_told_along_all_ways_of_the_host() {
    let kernel = |tensor: &str| format!("TG_KERNEL(0, rw, 1, AIV, 0)\nMC_BIND(0, 0, {tensor})\n");
    let graph =
        |no: u32, body: &str| format!("TG_BEGIN({no})\n{}{body}TG_END({no})\n", kernel(&format!("X{no}")));
    let graphs = [
        graph(0, "SY_WAIT(E, 0)\n"),
        graph(1, "SY_SIGNAL(E, 0)\n"),
        graph(2, ""),
        graph(3, "SY_WAIT(F, 0)\n"),
        graph(4, "SY_WAIT(E, 0)\nSY_SIGNAL(F, 0)\n"),
        graph(5, "CF_IF(N)\nTG_KERNEL(1, e, 1, AIV, 0)\nSY_WAIT(E, 1)\nCF_ENDIF\n"),
    ];
    let tensors: String = (0..6).map(|no| format!("extern X{no}: i32[4]\n")).collect();
    let told = |host: &str, n: Option<i64>| -> Vec<Severity> {
        let text = format!("arg N: i64\n{tensors}{}{host}", graphs.concat());
        let found =
            crate::tg_lint::findings_with(&text, &[n]).into_iter().filter(|found| found.code.0 == 1515);
        found.map(|found| found.severity).collect()
    };
    let (error, note) = (vec![Severity::Error], vec![Severity::Note]);
    for (host, expected) in [
        ("TG_LAUNCH(0, s)\nCF_IF(load(X0) == 7)\nCF_ENDIF\nTG_LAUNCH(1, t)\n", error.clone()),
        (
            "TG_LAUNCH(0, s)\nCF_IF(load(X0) == 7)\nTG_LAUNCH(1, t)\nCF_ELSE\nTG_LAUNCH(1, t)\nCF_ENDIF\n",
            error.clone(),
        ),
        (
            "TG_LAUNCH(0, s)\nCF_LOOP(load(X0), i)\nTG_LAUNCH(2, u)\nCF_ENDLOOP\nTG_LAUNCH(1, t)\n",
            error.clone(),
        ),
        ("TG_LAUNCH(0, s)\nTG_INVOKE(1, load(X0))\n", error.clone()),
        (
            "TG_LAUNCH(0, s)\nCF_IF(load(X2) == 7)\nTG_LAUNCH(1, t)\nCF_ELSE\nTG_LAUNCH(1, t)\nCF_ENDIF\n",
            vec![],
        ),
        ("CF_LOOP(4, i)\nTG_LAUNCH(0, s)\nTG_SYNC(0)\nTG_LAUNCH(1, t)\nCF_ENDLOOP\n", error.clone()),
        ("CF_LOOP(4, i)\nTG_LAUNCH(1, t)\nTG_LAUNCH(0, s)\nTG_SYNC(0)\nCF_ENDLOOP\n", vec![]),
        ("TG_LAUNCH(0, s)\nCF_IF(N)\nTG_SYNC(0)\nCF_ENDIF\nTG_LAUNCH(1, t)\n", note.clone()),
        ("TG_LAUNCH(0, s)\nCF_IF(N)\nTG_LAUNCH(1, t)\nCF_ENDIF\n", note.clone()),
        ("TG_LAUNCH(0, s)\nCF_LOOP(N, i)\nTG_LAUNCH(1, t)\nCF_ENDLOOP\n", note.clone()),
        ("CF_IF(N)\nTG_LAUNCH(0, s)\nTG_LAUNCH(1, t)\nCF_ENDIF\n", vec![]),
        // Through another graph.
        ("TG_LAUNCH(3, s)\nTG_LAUNCH(4, t)\nTG_SYNC(3)\nTG_LAUNCH(1, u)\n", error.clone()),
        ("TG_LAUNCH(3, s)\nTG_LAUNCH(4, t)\nTG_LAUNCH(1, u)\nTG_SYNC(3)\n", vec![]),
        ("TG_LAUNCH(4, t)\nTG_LAUNCH(3, s)\nTG_LAUNCH(1, s)\n", error.clone()),
        // A kernel in an arm, which waits only if it runs.
        ("TG_LAUNCH(5, s)\nTG_SYNC(5)\nTG_LAUNCH(1, t)\n", note),
    ] {
        assert_eq!(told(host, None), expected, "{host}");
    }
    let arm = "TG_LAUNCH(5, s)\nTG_SYNC(5)\nTG_LAUNCH(1, t)\n";
    assert_eq!([0, 1].map(|n| told(arm, Some(n))), [vec![], error.clone()]);
    let found = "TG_LAUNCH(0, s)\nCF_IF(N)\nTG_SYNC(0)\nCF_ENDIF\nTG_LAUNCH(1, t)\n";
    assert_eq!([0, 1].map(|n| told(found, Some(n))), [vec![], error]);
}

#[test]
fn a_unit_that_breaks_a_rule_is_not_linted() {
    let mut sources = SourceMap::default();
    let (module, _) = wsp_isa::tg::text::parse("unit.tg", "TG_BEGIN(0)\n", &mut sources);
    let module = module.expect("the text should be read");
    assert!(lint(&module, &kernels(), &LintOptions::default()).is_empty());
}
