//! Launches that use the same bytes in no order, against an oracle that tries every order.

use crate::randomised::{Numbers, cases};
use crate::tg_lint::{check, findings, findings_with, kernels, read};
use std::collections::BTreeMap;
use wsp_diag::{Diagnostic, Severity};
use wsp_tg::{LintOptions, OpenLaunches};

/// Graphs `NAME` with one kernel, of entry `w`, `r` or `rw`, on the bytes of `T` given.
fn graphs(list: &[(&str, &str, &str)]) -> String {
    let graph = |(name, entry, range): &(&str, &str, &str)| {
        format!(
            "TG_BEGIN({name})\nTG_KERNEL(A, {entry}, 1, AIV, 0)\nMC_BIND(A, 0, T{range})\nTG_END({name})\n"
        )
    };
    list.iter().map(graph).collect()
}

pub(crate) fn unit(list: &[(&str, &str, &str)], host: &str) -> String {
    format!("extern T: u8[1024]\n{}{host}", graphs(list))
}

pub(crate) const BOTH: [(&str, &str, &str); 2] = [("G", "rw", ""), ("J", "rw", "")];

/// ISA-TG-24: launches on one stream, launches that the host waits for, and launches on different bytes need nothing else.
#[test]
fn launches_in_an_order_are_no_race() {
    for host in [
        "TG_LAUNCH(G, 1)\nTG_LAUNCH(J, 1)\n",
        "TG_LAUNCH(G, 1)\nTG_SYNC(G)\nTG_LAUNCH(J, 2)\nTG_SYNC(J)\n",
        "TG_INVOKE(G, 0)\nTG_LAUNCH(J, default)\n",
        "CF_LOOP(20, i)\nTG_LAUNCH(G, 1)\nTG_SYNC(G)\nTG_LAUNCH(J, 2)\nTG_SYNC(J)\nCF_ENDLOOP\n",
        "CF_IF(load(T))\nTG_LAUNCH(G, 1)\nCF_ELSE\nTG_LAUNCH(J, 2)\nCF_ENDIF\n",
        "TG_LAUNCH(G, 1)\nCF_IF(load(T))\nTG_LAUNCH(J, 2)\nCF_ENDIF\n",
        "CF_WHILE(load(T) < 4)\nTG_LAUNCH(G, 1)\nCF_ENDWHILE\nTG_LAUNCH(J, 2)\n",
    ] {
        check(&unit(&BOTH, host));
    }
    let host = "TG_LAUNCH(G, 1)\nTG_LAUNCH(J, 2)\n";
    check(&unit(&[("G", "rw", ", 0, 512"), ("J", "rw", ", 512")], host));
    check(&unit(&[("G", "r", ""), ("J", "r", "")], host));
    let own = "TG_BEGIN(G)\nMC_ALLOC(T, 64)\nTG_KERNEL(A, w, 1, AIV, 0)\nMC_BIND(A, 0, T)\nTG_KERNEL(B, r, 1, AIV, 0)\nMC_BIND(B, 0, T)\nTG_DEPEND(A, B, DATA, T)\nTG_END(G)\n";
    check(&format!("{own}TG_LAUNCH(G, 1)\nTG_LAUNCH(G, 2)\n"));
}

/// The host's statements with what each finding says to write behind the launch that it names second.
fn ordered(text: &str, found: &[Diagnostic]) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for finding in found.iter().filter(|finding| finding.code.0 == 1521) {
        let line = finding.help.first().expect("a line to write");
        let graph = line.trim_start_matches("TG_SYNC(").trim_end_matches(')').to_owned();
        let mut with = Vec::new();
        for text in lines {
            let is_launch =
                ["TG_LAUNCH", "TG_INVOKE"].iter().any(|of| text.starts_with(&format!("{of}({graph},")));
            with.push(text);
            if is_launch {
                with.push(format!("TG_SYNC({graph})"));
            }
        }
        lines = with;
    }
    lines.join("\n") + "\n"
}

/// ISA-TG-24: what races, with what orders it.
#[test]
fn launches_on_different_streams_that_touch_the_same_bytes_are_found() {
    let found = check(&unit(&BOTH, "TG_LAUNCH(G, 1)\nTG_LAUNCH(J, 2) //! 1521\n"));
    assert!(found[0].is_error());
    assert_eq!(found[0].help, ["TG_SYNC(G)"]);
    for host in [
        "TG_LAUNCH(G, default)\nTG_INVOKE(J, 1)\nTG_LAUNCH(J, 2) //! 1521\n",
        "TG_LAUNCH(J, 2)\nTG_SYNC(J)\nCF_LOOP(20, i)\nTG_LAUNCH(G, 1)\nTG_LAUNCH(J, 2)\nCF_ENDLOOP\n",
        "arg N: i64 = 2\nCF_IF(N)\nTG_LAUNCH(G, 1)\nCF_ENDIF\nTG_LAUNCH(J, 2) //! 1521\n",
        "arg N: i64 = 2\nTG_LAUNCH(G, 1)\nCF_IF(N)\nTG_SYNC(G)\nCF_ENDIF\nTG_LAUNCH(J, 2) //! 1521\n",
        "arg N: i64 = 2\nCF_LOOP(N, i)\nCF_BREAK(N - 1)\nTG_LAUNCH(J, 2) //! 1521\nTG_LAUNCH(G, 1) //! 1521\nCF_ENDLOOP\n",
    ] {
        let (arg, host) = match host.strip_prefix("arg N: i64 = 2\n") {
            Some(rest) => ("arg N: i64 = 2\n", rest),
            None => ("", host),
        };
        let text = format!("{arg}{}", unit(&BOTH, host));
        let found: Vec<Diagnostic> = findings(&text);
        assert!(found.iter().any(|finding| finding.code.0 == 1521), "{text}");
        let text = ordered(&text.replace(" //! 1521", ""), &found);
        assert!(findings(&text).is_empty(), "{text}\n{:#?}", findings(&text));
    }
    // One graph on two streams: a simulation orders them itself.
    let found = check(&unit(&BOTH[..1], "TG_LAUNCH(G, 1)\nTG_LAUNCH(G, 2) //! 1521\n"));
    assert!(!found[0].is_error());
    // Copies touch bytes as kernels do.
    let copies = "extern T: u8[64]\nextern U: u8[64]\nTG_BEGIN(G)\nMC_COPY(T, U, 64)\nTG_END(G)\nTG_BEGIN(J)\nMC_COPY(U, T, 64)\nTG_END(J)\n";
    let found = findings(&format!("{copies}TG_LAUNCH(G, 1)\nTG_LAUNCH(J, 2)\n"));
    assert_eq!(found.iter().filter(|finding| finding.code.0 == 1521).count(), 2, "{found:#?}");
    check(&format!("{copies}TG_LAUNCH(G, 1)\nTG_SYNC(G)\nTG_LAUNCH(J, 2)\n"));
}

/// ISA-TG-24: a loop whose count is not known may run no round, and then waits for nothing.
#[test]
fn a_loop_that_may_run_no_round_orders_nothing() {
    let unit = |host: &str| format!("arg N: i64 = 2\narg M: i64 = 1\n{}", unit(&BOTH, host));
    let found =
        check(&unit("TG_LAUNCH(G, 1)\nCF_LOOP(N, i)\nTG_SYNC(G)\nCF_ENDLOOP\nTG_LAUNCH(J, 2) //! 1521\n"));
    assert!(format!("{found:?}").contains("where this loop runs no round"), "{found:#?}");
    check(&unit("TG_LAUNCH(G, 1)\nCF_LOOP(2, i)\nTG_SYNC(G)\nCF_ENDLOOP\nTG_LAUNCH(J, 2)\n"));
    // What decides whether there is a launch decides whether it is waited for.
    let twice = |first: &str, second: &str, end: &str| {
        format!("{first}\nTG_LAUNCH(G, 1)\n{end}\n{second}\nTG_SYNC(G)\n{end}\nTG_LAUNCH(J, 2)")
    };
    check(&unit(&(twice("CF_LOOP(N, i)", "CF_LOOP(N, j)", "CF_ENDLOOP") + "\n")));
    let rounds = twice("CF_LOOP(N, i)", "CF_LOOP(M, j)", "CF_ENDLOOP");
    check(&unit(&(rounds.replace("TG_SYNC(G)", "TG_SYNC(G) //! 1551") + " //! 1521\n")));
    check(&unit(&(twice("CF_IF(N > 4)", "CF_IF(N > 4)", "CF_ENDIF") + "\n")));
    check(&unit(&(twice("CF_IF(N > 4)", "CF_IF(N > 5)", "CF_ENDIF") + " //! 1521\n")));
}

/// ISA-TG-24: a wait for a graph that was not launched stops the run; `check` says so where some way does not launch it before.
#[test]
fn waits_for_graphs_that_are_not_launched_are_found() {
    let unit = |host: &str| format!("arg N: i64 = 2\n{}", unit(&BOTH, host));
    let severity = |host: &str| {
        check(&unit(&format!("TG_LAUNCH(J, 1)\nTG_SYNC(J)\n{host}"))).first().map(|found| found.severity)
    };
    let under = |rest: &str| format!("CF_IF(N > 4)\nTG_LAUNCH(G, 1)\n{rest}");
    assert_eq!(severity(&under("CF_ENDIF\nTG_SYNC(G) //! 1551\n")), Some(Severity::Note));
    assert_eq!(severity(&under("CF_ELSE\nTG_LAUNCH(G, 2)\nCF_ENDIF\nTG_SYNC(G)\n")), None);
    assert_eq!(severity(&under("CF_ENDIF\nCF_IF(N > 5)\nTG_SYNC(G)\nCF_ENDIF\n")), None);
    assert_eq!(severity("TG_LAUNCH(G, 1)\nTG_SYNC(G)\n"), None);
    // Whatever leaves it open: memory, loops, long loops.
    for (open, close) in [
        ("CF_IF(load(T))", "CF_ENDIF"),
        ("CF_WHILE(N < 4, 9)", "CF_ENDWHILE"),
        ("CF_WHILE(load(T), 9)", "CF_ENDWHILE"),
        ("CF_LOOP(load(T), i)", "CF_ENDLOOP"),
        ("CF_LOOP(300, i)\nCF_IF(i == N)", "CF_ENDIF\nCF_ENDLOOP"),
    ] {
        let host = format!("{open}\nTG_LAUNCH(G, 1)\n{close}\nTG_SYNC(G) //! 1551\n");
        assert_eq!(severity(&host), Some(Severity::Note), "{host}");
    }
    // More ways than are followed: only a wait that every way launches for before is surely one.
    let arms: String = (0..9)
        .map(|at| {
            format!(
                "CF_IF(N > {})\nTG_LAUNCH(J, 1)\nCF_ENDIF\nCF_IF(load(T))\nTG_SYNC(J)\nCF_ENDIF\n",
                2 * at
            )
        })
        .collect();
    let host = |first: &str| format!("{first}TG_LAUNCH(J, 1)\nTG_SYNC(J)\n{arms}TG_SYNC(G)\n");
    let told = |host: &str| -> Vec<(u16, Severity)> {
        findings(&unit(host)).iter().map(|found| (found.code.0, found.severity)).collect()
    };
    assert_eq!(told(&host("TG_LAUNCH(G, 1)\n")), []);
    let all = "CF_IF(N < 4)\nTG_LAUNCH(G, 1)\nCF_ELSE\nTG_LAUNCH(G, 1)\nCF_ENDIF\n";
    assert_eq!(told(&host(all)), [(1551, Severity::Note)]);
}

/// ISA-TG-24: values that are known decide which way the host goes.
#[test]
fn known_values_decide_which_launches_there_are() {
    let host = "TG_LAUNCH(G, 1)\nCF_LOOP(N - 1, i)\nTG_SYNC(G)\nCF_ENDLOOP\nTG_LAUNCH(J, 2)\n";
    let text = format!("arg N: i64 = 2\n{}", unit(&BOTH, host));
    for (value, codes) in [(Some(1), &[1521][..]), (Some(2), &[]), (None, &[1521])] {
        let found: Vec<u16> = findings_with(&text, &[value]).iter().map(|finding| finding.code.0).collect();
        assert_eq!(found, codes, "{value:?}");
    }
}

/// Declarations of `N0` and so on.
fn args(count: usize) -> String {
    (0..count).map(|at| format!("arg N{at}: i64\n")).collect()
}

/// Where there are too many ways, decisions early and late in the host go both ways nevertheless.
#[test]
fn of_too_many_ways_some_are_drawn() {
    let arms: String = (0..12).map(|at| format!("CF_IF(N{at})\nTG_LAUNCH(H, 2)\nCF_ENDIF\n")).collect();
    let host = format!("CF_IF(N > 20)\nTG_LAUNCH(G, 1)\nCF_ENDIF\n{arms}TG_LAUNCH(J, 2)\n");
    let text = unit(&[("G", "rw", ", 0, 64"), ("H", "rw", ", 64, 64"), ("J", "rw", ", 0, 64")], &host);
    let codes: Vec<u16> =
        findings(&format!("{}arg N: i64\n{text}", args(12))).iter().map(|finding| finding.code.0).collect();
    assert_eq!(codes, [1521, 1522]);
}

/// What is not compared here is handed over to the run, and a note says so.
#[test]
fn what_is_not_compared_of_launches_is_left_to_the_run() {
    let handed_over = |text: &str| {
        let checked = wsp_tg::check(&read(text).0, &kernels(), &LintOptions::default(), &[]);
        let uses: Vec<(u32, &str)> =
            checked.launches.uses.iter().map(|of| (of.graph.0, of.name.as_str())).collect();
        assert_eq!(uses, [(0, "A"), (1, "A")]);
        checked
    };
    let left_out = |text: &str| {
        let checked = handed_over(text);
        assert!(checked.findings.iter().all(|finding| finding.code.0 != 1519), "{:#?}", checked.findings);
        let told = |finding: &&Diagnostic| finding.code.0 == 1522;
        let found: Vec<&Diagnostic> = checked.findings.iter().filter(told).collect();
        assert!(found.len() == 1 && found[0].severity == Severity::Note, "{found:#?}");
        assert!(!found[0].help.is_empty());
    };
    let apart = [("G", "rw", ", 0, 512"), ("J", "rw", ", 512")];
    // More ways than are followed, and loops in loops.
    let arms: String = (0..7).map(|at| format!("CF_IF(N{at})\nTG_LAUNCH(G, 1)\nCF_ENDIF\n")).collect();
    left_out(&format!("{}{}", args(7), unit(&apart, &format!("{arms}TG_LAUNCH(J, 2)\n"))));
    let (mut open, mut close) = (String::new(), String::new());
    for at in 0..24 {
        open += &format!("CF_LOOP(9, i{at})\n");
        close += "CF_ENDLOOP\n";
    }
    left_out(&unit(&apart, &format!("{open}TG_LAUNCH(G, 1)\nTG_LAUNCH(J, 2)\n{close}")));
    // Launches in no order, of which each is compared with each.
    let launches: String =
        (0..4000).map(|at| format!("TG_LAUNCH({}, {})\n", ["G", "J"][at % 2], at % 50)).collect();
    handed_over(&unit(&apart, &launches));
    // Bytes that depend on a scalar.
    let unknown = [("G", "rw", ", N, 4"), ("J", "rw", ", 512")];
    left_out(&format!("arg N: i64\n{}", unit(&unknown, "TG_LAUNCH(G, 1)\nTG_LAUNCH(J, 2)\n")));
}

/// A run is given nothing to compare where everything is compared here.
#[test]
fn launches_that_are_compared_here_are_not_handed_over() {
    let apart = [("G", "rw", ", N, 4"), ("J", "rw", ", N + 4, 4")];
    for host in ["TG_LAUNCH(G, 1)\nTG_LAUNCH(J, 1)\n", "TG_LAUNCH(G, 1)\nTG_SYNC(G)\nTG_LAUNCH(J, 2)\n"] {
        let text = format!("arg N: i64\n{}", unit(&apart, host));
        let checked = wsp_tg::check(&read(&text).0, &kernels(), &LintOptions::default(), &[]);
        assert_eq!((checked.findings.len(), checked.launches), (0, OpenLaunches::default()), "{host}");
    }
}

/// As many launches as one likes, on one stream or waited for, are all looked at.
#[test]
fn many_launches_in_order_are_all_compared() {
    let of = |streams: u32, sync: &str| -> String {
        (0..1500)
            .map(|at| format!("TG_LAUNCH({}, {})\n{sync}", ["G", "J"][at % 2], at as u32 % streams))
            .collect()
    };
    check(&unit(&BOTH, &of(1, "")));
    check(&unit(&BOTH, &format!("TG_LAUNCH(J, 0)\nTG_SYNC(J)\n{}", of(3, "TG_SYNC(G)\nTG_SYNC(J)\n"))));
}

/// ISA-SY-01, ISA-SY-02: events order kernels of launches.
#[test]
fn events_order_launches() {
    let signal = |g: &str, e: &str| {
        format!("TG_BEGIN({g})\nTG_KERNEL(A, rw, 1, AIV, 0)\nMC_BIND(A, 0, T)\n{e}TG_END({g})\n")
    };
    let unit = |g: &str, j: &str, host: &str| {
        format!("extern T: u8[64]\n{}{}{host}", signal("G", g), signal("J", j))
    };
    let launch = "TG_LAUNCH(G, 1)\nTG_LAUNCH(J, 2)\n";
    check(&unit("SY_SIGNAL(E, A)\n", "SY_WAIT(E, A)\n", launch));
    check(&unit("SY_SIGNAL(E, A)\n", "SY_WAIT(E, A)\n", "TG_LAUNCH(J, 2)\nTG_LAUNCH(G, 1)\n"));
    // The next round of G does not wait for J.
    let rounds = format!("CF_LOOP(9, i)\n{launch}CF_ENDLOOP\n");
    let found = findings(&unit("SY_SIGNAL(E, A)\n", "SY_WAIT(E, A)\n", &rounds));
    assert!(found.iter().any(|finding| finding.code.0 == 1521), "{found:#?}");
    // Of an event that anybody may signal nothing follows.
    let found = findings(&format!("extern event E\n{}", unit("", "SY_WAIT(E, A)\n", launch)));
    assert!(found.iter().any(|finding| finding.code.0 == 1521), "{found:#?}");
    // Through a third graph.
    let third = "TG_BEGIN(H)\nTG_KERNEL(A, e, 1, AIV, 0)\nSY_WAIT(E, A)\nSY_SIGNAL(F, A)\nTG_END(H)\n";
    let text =
        unit("SY_SIGNAL(E, A)\n", "SY_WAIT(F, A)\n", "TG_LAUNCH(G, 1)\nTG_LAUNCH(H, 3)\nTG_LAUNCH(J, 2)\n");
    check(&text.replace("TG_LAUNCH(G", &format!("{third}TG_LAUNCH(G")));
}

/// ISA-SY-03: members of a gang start together, so each comes behind the waits of the others.
#[test]
fn a_wait_of_a_member_of_a_gang_holds_all_members() {
    let kernel = |name: &str, rest: &str| format!("TG_KERNEL({name}, rw, 1, AIV, 0)\n{rest}");
    let graph = |name: &str, body: &str| format!("TG_BEGIN({name})\n{body}TG_END({name})\n");
    let gang = |of_wait: &str, of_other: &str| {
        graph(
            "G",
            &format!(
                "{}SY_WAIT(F, W)\n{of_wait}{}{of_other}SY_BARRIER({{W, S}}, 0)\n",
                kernel("W", "MC_BIND(W, 0, Y)\n"),
                kernel("S", "MC_BIND(S, 0, Z)\n")
            ),
        )
    };
    let tensors = "extern X: u8[64]\nextern Y: u8[64]\nextern Z: u8[64]\n";
    let signal = graph("T", &kernel("A", "MC_BIND(A, 0, Z)\nSY_SIGNAL(F, A)\n"));
    check(&format!("{tensors}{signal}{}TG_LAUNCH(T, 1)\nTG_LAUNCH(G, 2)\n", gang("", "")));
    let waits = graph("H", &kernel("Q", "MC_BIND(Q, 0, X)\nSY_WAIT(E, Q)\nSY_SIGNAL(F, Q)\n"));
    for (of_wait, of_other) in [("", "SY_SIGNAL(E, S)\n"), ("SY_SIGNAL(E, W)\n", "")] {
        let gang = gang(of_wait, of_other);
        check(&format!("{tensors}{gang}{waits}TG_LAUNCH(G, 1) //! 1515\nTG_LAUNCH(H, 2)\n"));
    }
}

/// ISA-MC-02.
#[test]
fn memory_that_a_launch_may_use_is_not_released() {
    let unit = |host: &str| {
        format!(
            "MC_ALLOC(T, 64)\nTG_BEGIN(G)\nTG_KERNEL(A, w, 1, AIV, 0)\nMC_BIND(A, 0, T)\nTG_KERNEL(B, r, 1, AIV, 0)\nMC_BIND(B, 0, T)\nTG_DEPEND(A, B, DATA, T)\nTG_END(G)\n{host}"
        )
    };
    check(&unit("TG_LAUNCH(G, 1)\nTG_SYNC(G)\nMC_FREE(T)\n"));
    let found = check(&unit("TG_LAUNCH(G, 1)\nMC_FREE(T) //! 1521\nTG_SYNC(G)\n"));
    assert!(found[0].is_error() && found[0].help == ["TG_SYNC(G)"], "{found:#?}");
}

/// ISA-TG-25: what no round runs meets nothing, whether its loop is unrolled or not.
#[test]
fn arms_that_no_round_runs_meet_no_other_launch() {
    let found = |mode: &str, body: &str| {
        let kernel = "TG_KERNEL(K, w, 1, AIV, 0)\nMC_BIND(K, 0, X)\n";
        let text = format!(
            "extern X: i32[4]\nTG_BEGIN(G)\nCF_LOOP(2, i{mode})\n{}CF_ENDLOOP\nTG_END(G)\nTG_BEGIN(H)\n{kernel}TG_END(H)\nTG_LAUNCH(G, 1)\nTG_LAUNCH(H, 2)\n",
            body.replace("KERNEL\n", kernel)
        );
        findings(&text).iter().filter(|found| found.code.0 == 1521).count()
    };
    for mode in ["", ", SEQUENTIAL"] {
        for (body, expected) in [
            ("CF_IF(i == 2)\nKERNEL\nCF_ENDIF\n", 0),
            ("CF_IF(i < 2)\nCF_ELSE\nKERNEL\nCF_ENDIF\n", 0),
            ("CF_LOOP(i - 1, j)\nKERNEL\nCF_ENDLOOP\n", 0),
            ("CF_BREAK(i == 0)\nKERNEL\n", 0),
            ("CF_BREAK(i == 0)\nCF_IF(i == 1)\nKERNEL\nCF_ENDIF\n", 0),
            ("CF_IF(i == 1)\nKERNEL\nCF_ENDIF\nCF_BREAK(i == 0)\n", 0),
            ("CF_IF(i == 1)\nKERNEL\nCF_ENDIF\n", 1),
            ("CF_LOOP(i, j)\nKERNEL\nCF_ENDLOOP\n", 1),
            ("CF_BREAK(i == 1)\nKERNEL\n", 1),
        ] {
            assert_eq!(found(mode, body), expected, "{mode} {body}");
        }
    }
}

/// ISA-MC-02: a launch that may take a tensor has to be over before it is released; in a unit that saves checkpoints, one whose graph names it.
#[test]
fn a_release_waits_for_launches_that_may_take_the_tensor() {
    let told = |binding: &str, host: &str, more: &str| -> Option<Severity> {
        let text = format!(
            "arg N: i64\nMC_ALLOC(T, 64)\nMC_ALLOC(U, 64)\nTG_BEGIN(G)\n{binding}{more}TG_END(G)\n{host}\nMC_FREE(T)\n"
        );
        let found = findings(&text);
        let of_free = |found: &&Diagnostic| found.message.contains("`T` is released");
        found.iter().find(of_free).map(|found| found.severity)
    };
    let read = |tensor: &str| format!("TG_KERNEL(B, w, 1, AIV, 0)\nMC_BIND(B, 0, {tensor})\n");
    let table = |index: &str| read(&format!("{{U, T}}[{index}]"));
    for index in ["N", "device", "min(iteration, N)"] {
        assert_eq!(told(&table(index), "TG_LAUNCH(G, 1)", ""), Some(Severity::Error), "{index}");
    }
    let arm = format!("CF_IF(N > 3)\n{}CF_ENDIF\n", read("T"));
    assert_eq!(told(&arm, "TG_LAUNCH(G, 1)", ""), Some(Severity::Error));
    for (iteration, severity) in [(0, None), (1, Some(Severity::Error))] {
        assert_eq!(told(&table("iteration"), &format!("TG_INVOKE(G, {iteration})"), ""), severity);
    }
    assert_eq!(told(&read("T"), "TG_LAUNCH(G, 1)", ""), Some(Severity::Error));
    // Rounds say which tensors a launch takes, and which arms it runs.
    for (rounds, severity) in [(1, None), (2, Some(Severity::Error))] {
        let of = |body: &str, mode: &str| format!("CF_LOOP({rounds}, i{mode})\n{body}CF_ENDLOOP\n");
        let (table, arm) = (table("i % 2"), format!("CF_IF(i == 1)\n{}CF_ENDIF\n", read("T")));
        for graph in [of(&table, ""), of(&arm, ""), of(&arm, ", SEQUENTIAL")] {
            assert_eq!(told(&graph, "TG_LAUNCH(G, 1)", ""), severity, "{graph}");
        }
    }
    assert_eq!(told(&table("N"), "TG_LAUNCH(G, 1)\nTG_SYNC(G)", ""), None);
    let saved = "TG_CHECKPOINT(G, 0)\n";
    assert_eq!(told(&table("iteration"), "TG_INVOKE(G, 0)", saved), Some(Severity::Error));
    assert_eq!(told(&table("iteration"), "TG_INVOKE(G, 0)\nTG_SYNC(G)", saved), None);
}

/// ISA-TG-25: the host waits for launches that may write what it reads, and for no others.
#[test]
fn a_read_of_the_host_orders_only_launches_that_may_write_it() {
    let host = "TG_LAUNCH(G, 1)\nCF_IF(load(L))\nTG_LAUNCH(J, 2) //! 1521\nCF_ENDIF\n";
    check(&format!("extern L: i32\n{}", unit(&BOTH, host)));
    // A graph that is made of one that writes.
    let fused = |tensor: &str| {
        format!(
            "extern L: i32\n{}",
            unit(
                &BOTH,
                &format!(
                    "TG_FUSE(G, J, F)\nTG_LAUNCH(F, 1)\nCF_IF(load({tensor}))\nTG_LAUNCH(J, 2)\nCF_ENDIF\n"
                )
            )
        )
    };
    let races = |text: &str| findings(text).iter().any(|found| found.code.0 == 1521);
    assert_eq!([races(&fused("L")), races(&fused("T, 0, i32"))], [true, false]);
}

/// ISA-TG-25: the host waits for what it loads, and what it does not load, as the left side of an operator goes, it does not wait for.
#[test]
fn what_the_host_does_not_load_it_does_not_wait_for() {
    let told = |condition: &str, n: Option<i64>| -> Vec<(u16, Severity)> {
        let host = format!(
            "TG_LAUNCH(G, 1)\nCF_IF({condition})\nTG_LAUNCH(J, 2)\nCF_ELSE\nTG_LAUNCH(J, 2)\nCF_ENDIF\n"
        );
        let text = format!("arg N: i64\nextern L: i32\n{}", unit(&BOTH, &host));
        let found = findings_with(&text, &[n]).into_iter().filter(|found| found.code.0 == 1521);
        found.map(|found| (found.code.0, found.severity)).collect()
    };
    let (t, race) = ("load(T, 0, i32) == 7", vec![(1521, Severity::Error)]);
    for (condition, waits) in [
        (format!("N == 1 && {t}"), [false, true]),
        (format!("N == 0 || {t}"), [false, true]),
        (format!("N == 2 || (N == 1 && ({t} || N == 3))"), [false, true]),
        (format!("{t} && N == 1"), [true, true]),
        (format!("(N == 1 && {t}) + load(T, 4, i32)"), [true, true]),
    ] {
        for (n, waits) in [0, 1].into_iter().zip(waits) {
            assert_eq!(told(&condition, Some(n)).is_empty(), waits, "{condition}, {n}");
        }
        // Of a wait that does not always take place follows no order, whichever arm is taken behind it.
        let found = told(&condition, None);
        let is_fine = if waits[0] {
            found.is_empty()
        } else {
            found.iter().all(|found| *found == race[0]) && !found.is_empty()
        };
        assert!(is_fine, "{condition}: {found:?}");
    }
    // What is loaded only as memory goes is waited for, or not.
    assert!(!told(&format!("load(L, 0, i32) && {t}"), None).is_empty());
}

/// Graph `A` that uses `T`, and graph `B` that saves checkpoint 0 between two kernels on other bytes of `U` and of `T`.
fn restored(before: &str, behind: &str, host: &str) -> String {
    let kernel = |name: &str, entry: &str, tensor: &str| {
        format!("TG_KERNEL({name}, {entry}, 1, AIV, 0)\nMC_BIND({name}, 0, {tensor})\n")
    };
    format!(
        "extern T: u8[64]\nextern U: u8[64]\nTG_BEGIN(A)\n{}TG_END(A)\nTG_BEGIN(B)\n{}TG_CHECKPOINT(B, 0)\n{}TG_DEPEND(X, Y)\nTG_END(B)\n{host}",
        kernel("K", "rw", "T"),
        kernel("X", before, "T, 0, 4"),
        kernel("Y", behind, "T, 4, 4")
    )
}

/// ISA-TG-24, ISA-FE-04: a restored graph is launched on its stream, behind what the host writes to its tensors.
#[test]
fn a_restore_is_a_launch_and_a_write_of_the_host() {
    let begin = "TG_LAUNCH(B, 2)\nTG_SYNC(B)\nTG_LAUNCH(A, 1)\n";
    let restored =
        |before: &str, behind: &str, rest: &str| restored(before, behind, &format!("{begin}{rest}"));
    let found = check(&restored("r", "r", "TG_RESTORE(B, 0) //! 1521\n"));
    assert!(found[0].is_error() && found[0].help[0] == "TG_SYNC(A)", "{found:#?}");
    check(&restored("r", "r", "TG_SYNC(A)\nTG_RESTORE(B, 0)\n"));
    // Behind `A` on its stream there is nothing but the write of the host.
    let on_one = |text: &str| text.replace("TG_LAUNCH(B, 2)", "TG_LAUNCH(B, 1)");
    check(&on_one(&restored("r", "r", "TG_RESTORE(B, 0)\n")));
    let found = check(&on_one(&restored("w", "r", "TG_RESTORE(B, 0) //! 1521\n")));
    assert!(found[0].message.contains("`T` is restored while a launch of graph `A`"), "{found:#?}");
    check(&on_one(&restored("w", "r", "TG_SYNC(A)\nTG_RESTORE(B, 0)\n")));
    // What stands before the checkpoint is not done again.
    let after = "TG_SYNC(A)\nTG_RESTORE(B, 0)\nTG_LAUNCH(A, 1)";
    check(&restored("w", "r", &format!("{after} //! 1521\n")));
    check(&restored("w", "r", &format!("{after}\n")).replace("T, 4, 4", "U"));
}

/// ISA-MC-02: a restored launch uses memory as another does, and the host does not wait for it.
#[test]
fn memory_that_a_restored_launch_may_use_is_not_released() {
    let unit = |rest: &str| {
        let host = format!("TG_LAUNCH(A, 1)\nTG_LAUNCH(B, 1)\nTG_SYNC(B)\nTG_RESTORE(B, 0)\n{rest}");
        let text = restored("w", "r", &host).replace("extern T: u8[64]", "MC_ALLOC(T, 64)");
        text.replace("MC_BIND(K, 0, T)", "MC_BIND(K, 0, U)")
    };
    check(&unit("TG_SYNC(B)\nMC_FREE(T)\n"));
    let found = check(&unit("MC_FREE(T) //! 1521\n"));
    assert_eq!(found[0].help[0], "TG_SYNC(B)");
    // On one stream a wait for what comes behind is a wait for the launch.
    check(&unit("TG_LAUNCH(A, 1)\nTG_SYNC(A)\nMC_FREE(T)\n"));
}

/// ISA-FE-04: what no launch has saved cannot be restored; `check` says so where it is missing on every way, or on some.
#[test]
fn restores_of_what_is_not_saved_are_found() {
    let severity = |host: &str| {
        let text = format!("arg N: i64\n{}", restored("r", "r", host));
        check(&text).first().map(|found| found.severity)
    };
    assert_eq!(severity("TG_RESTORE(B, 0) //! 1558\nTG_LAUNCH(A, 1)\n"), Some(Severity::Error));
    let under =
        |rest: &str| format!("CF_IF(N > 4)\nTG_LAUNCH(B, 1)\nCF_ENDIF\n{rest}TG_LAUNCH(A, 1)\nTG_SYNC(A)\n");
    assert_eq!(severity(&under("TG_RESTORE(B, 0) //! 1558\nTG_SYNC(B)\n")), Some(Severity::Note));
    assert_eq!(severity(&under("CF_IF(N > 5)\nTG_RESTORE(B, 0)\nTG_SYNC(B)\nCF_ENDIF\n")), None);
    // The host saves a graph that was never launched.
    assert_eq!(severity("TG_CHECKPOINT(B, 1)\nTG_RESTORE(B, 1)\nTG_LAUNCH(A, 1)\nTG_LAUNCH(B, 1)\n"), None);
}

/// A statement of a random host.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Launch(usize, u32),
    Sync(usize),
    /// The host writes all that a graph writes.
    Write(usize),
}

/// Added to the number of a graph whose tensors the host writes, as a whole.
pub(crate) const WHOLE: usize = 100;

/// Whether two launches may run at once: steps are played in every order that streams, waits of the host and events allow, for two
/// launches. Events are (signalling graph, waiting graph): all of the second waits for all of the first.
pub(crate) fn races(
    steps: &[Step],
    events: &[(usize, usize)],
    conflicts: &dyn Fn(usize, usize) -> bool,
) -> bool {
    let launches: Vec<(usize, u32, usize)> = steps
        .iter()
        .enumerate()
        .filter_map(|(at, step)| match *step {
            Step::Launch(graph, stream) => Some((graph, stream, at)),
            Step::Sync(_) | Step::Write(_) => None,
        })
        .collect();
    let count = launches.len();
    let mut before = vec![vec![false; count]; count];
    for second in 0..count {
        for first in 0..second {
            let (a, b) = (launches[first], launches[second]);
            let synced =
                steps[a.2..b.2].iter().any(|step| matches!(step, Step::Sync(graph) if *graph == a.0));
            before[first][second] |= a.1 == b.1 || synced;
        }
        for &(signals, _) in events.iter().filter(|(_, waits)| *waits == launches[second].0) {
            let by = |range: std::ops::Range<usize>| {
                range.filter(|at| launches[*at].0 == signals).collect::<Vec<_>>()
            };
            let bound = by(0..second).last().copied().or_else(|| by(second..count).first().copied());
            if let Some(bound) = bound {
                before[bound][second] = true;
            }
        }
    }
    for middle in 0..count {
        for first in 0..count {
            for second in 0..count {
                before[first][second] |= before[first][middle] && before[middle][second];
            }
        }
    }
    // Behind a step the launches are over that the host waited for, and all that come before these.
    let is_over = |launch: usize, at: usize| {
        (0..count).any(|other| {
            let waited = steps[launches[other].2.min(at)..at]
                .iter()
                .any(|step| matches!(step, Step::Sync(graph) if *graph == launches[other].0));
            waited && (other == launch || before[launch][other])
        })
    };
    let written = steps.iter().enumerate().filter_map(|(at, step)| match *step {
        Step::Write(graph) => Some((at, graph)),
        _ => None,
    });
    let meets = |(at, graph): (usize, usize)| {
        let mut users = (0..count).filter(|launch| launches[*launch].2 < at);
        users.any(|launch| conflicts(graph + WHOLE, launches[launch].0) && !is_over(launch, at))
    };
    if written.into_iter().any(meets) {
        return true;
    }
    (0..count).any(|a| {
        (a + 1..count).any(|b| conflicts(launches[a].0, launches[b].0) && !before[a][b] && !before[b][a])
    })
}

/// A finding exactly where two launches that conflict are in no order.
#[test]
fn races_of_random_hosts_are_those_of_every_order() {
    let cases = cases(300);
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let mut seen = BTreeMap::new();
    for case in 0..cases {
        let uses: Vec<(&str, u64, u64)> = (0..3)
            .map(|_| (["r", "w", "rw"][numbers.below(3) as usize], numbers.below(4), 1 + numbers.below(3)))
            .collect();
        let events: Vec<(usize, usize)> = match numbers.below(3) {
            0 => Vec::new(),
            1 => vec![(0, 1)],
            _ => vec![(0, 1), (1, 2)],
        };
        let mut steps = Vec::new();
        let mut launched = [false; 3];
        // Which launch goes on is known where a graph keeps to one stream. Events of a restored launch are its own.
        let restores = events.is_empty() && numbers.below(2) == 0;
        let (mut host, mut last) = (String::new(), [0; 3]);
        for _ in 0..2 + numbers.below(5) {
            let graph = numbers.below(3) as usize;
            match numbers.below(4) {
                0 if launched[graph] => {
                    steps.push(Step::Sync(graph));
                    host += &format!("TG_SYNC({graph})\n");
                }
                1 if launched[graph] && restores => {
                    steps.extend([Step::Sync(graph), Step::Write(graph), Step::Launch(graph, last[graph])]);
                    host += &format!("TG_RESTORE({graph}, 0)\n");
                }
                _ => {
                    let keeps = restores && launched[graph];
                    let stream = if keeps { last[graph] } else { numbers.below(3) as u32 };
                    (launched[graph], last[graph]) = (true, stream);
                    steps.push(Step::Launch(graph, stream));
                    host += &format!("TG_LAUNCH({graph}, {stream})\n");
                }
            }
        }
        let mut text = "extern T: u8[16]\n".to_owned();
        for (at, (entry, first, size)) in uses.iter().enumerate() {
            text += &format!(
                "TG_BEGIN({at})\nTG_CHECKPOINT({at}, 0)\nTG_KERNEL(0, {entry}, 1, AIV, 0)\nMC_BIND(0, 0, T, {first}, {size})\n"
            );
            for (event, (signals, waits)) in events.iter().enumerate() {
                if *signals == at {
                    text += &format!("SY_SIGNAL({event}, 0)\n");
                }
                if *waits == at {
                    text += &format!("SY_WAIT({event}, 0)\n");
                }
            }
            text += &format!("TG_END({at})\n");
        }
        text += &host;
        let conflicts = |a: usize, b: usize| {
            if a >= WHOLE {
                return uses[a - WHOLE].0 != "r";
            }
            let ((x, f, n), (y, g, m)) = (uses[a], uses[b]);
            (x != "r" || y != "r") && f < g + m && g < f + n
        };
        let expected = races(&steps, &events, &conflicts);
        let found = findings(&text);
        // A host that waits for what can never come is refused for that.
        if found.iter().any(|finding| finding.code.0 == 1515) {
            continue;
        }
        let told = found.iter().any(|finding| finding.code.0 == 1521);
        assert_eq!(told, expected, "case {case}\n{text}\n{found:#?}");
        *seen.entry(expected).or_insert(0u64) += 1;
    }
    println!("{cases} cases: {seen:?}");
    assert!(seen.len() == 2, "{seen:?}");
}
