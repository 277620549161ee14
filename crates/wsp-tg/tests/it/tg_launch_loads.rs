//! What conditions and counts of graphs load, against launches on other streams that write it and against the host.

use crate::tg_lint::{check, findings, kernels, read};
use wsp_diag::{Diagnostic, Severity};
use wsp_tg::{LintOptions, OpenLaunches, UsedBy};

/// Graph `G` that does something with bytes of `T`, graph `J`, and a host.
fn unit(g: &str, j: &str, host: &str) -> String {
    format!(
        "extern T: i32[16]\nextern U: i32[16]\nTG_BEGIN(G)\n{g}TG_END(G)\nTG_BEGIN(J)\n{j}TG_END(J)\n{host}"
    )
}

/// Kernel `name` on bytes of `T`, and `rest`.
fn kernel(name: &str, entry: &str, bytes: &str, rest: &str) -> String {
    format!("TG_KERNEL({name}, {entry}, 1, AIV, 0)\nMC_BIND({name}, 0, T{bytes})\n{rest}")
}

/// A kernel that touches nothing of `T`.
const ASIDE: &str = "TG_KERNEL(B, w, 1, AIV, 0)\nMC_BIND(B, 0, U, 0, 4)\n";

/// Each that loads, as `load(T, 8)`.
fn loading() -> [String; 4] {
    [
        format!("CF_IF(load(T, 8) > 0)\n{ASIDE}CF_ENDIF\n"),
        format!("CF_WHILE(load(T, 8) > 0, 9)\n{ASIDE}CF_BREAK(load(U, 8))\nCF_ENDWHILE\n"),
        format!("CF_LOOP(load(T, 8), i)\n{ASIDE}CF_ENDLOOP\n"),
        format!("CF_LOOP(3, i)\n{ASIDE}CF_BREAK(load(T, 8) > 0)\nCF_ENDLOOP\n"),
    ]
}

const BOTH: &str = "TG_LAUNCH(G, 1)\nTG_LAUNCH(J, 2)\n";

/// ISA-TG-25: whatever loads bytes is a use of them.
#[test]
fn loads_of_scalars_are_uses_of_launches() {
    for j in loading() {
        for bytes in [", 8, 4", ", 0, 12", ""] {
            let text = unit(&kernel("A", "w", bytes, ""), &j, "TG_LAUNCH(G, 1)\nTG_LAUNCH(J, 2) //! 1521\n");
            let found = check(&text);
            assert!(found[0].is_error() && found[0].help[0] == "TG_SYNC(G)", "{found:#?}");
            // Whichever is submitted first.
            let text = unit(&kernel("A", "rw", bytes, ""), &j, "TG_LAUNCH(J, 2)\nTG_LAUNCH(G, 1) //! 1521\n");
            let found = check(&text);
            assert!(found[0].is_error() && found[0].help[0] == "TG_SYNC(J)", "{found:#?}");
        }
        // Other bytes, reads, waits of the host, and one stream.
        check(&unit(&kernel("A", "w", ", 12", ""), &j, BOTH));
        check(&unit(&kernel("A", "r", "", ""), &j, BOTH));
        let writes = kernel("A", "w", "", "");
        check(&unit(&writes, &j, "TG_LAUNCH(G, 1)\nTG_SYNC(G)\nTG_LAUNCH(J, 2)\n"));
        check(&unit(&writes, &j, "TG_LAUNCH(G, 1)\nTG_LAUNCH(J, 1)\n"));
    }
    // A copy writes as well, and two launches of one graph are a warning.
    let copy = "MC_COPY(U, T, 4, 60, 8)\n";
    check(&unit(copy, &loading()[2], "TG_LAUNCH(G, 1)\nTG_LAUNCH(J, 2) //! 1521\n"));
    let both = kernel("A", "w", ", 8, 4", &loading()[2]);
    let found = check(&unit(
        &both,
        "",
        "TG_LAUNCH(G, 1)\nTG_LAUNCH(G, 2) //! 1521 1521 1521 1521\nTG_LAUNCH(J, 1)\n",
    ));
    assert!(found.iter().all(|found| found.severity == Severity::Warning), "{found:#?}");
}

/// Findings say what loads, and what orders it.
#[test]
fn conditions_and_counts_are_named() {
    let names = ["the condition", "the condition", "the count of the loop", "the condition"];
    for (j, name) in loading().iter().zip(names) {
        let found = check(&unit(&kernel("A", "w", "", ""), j, "TG_LAUNCH(G, 1)\nTG_LAUNCH(J, 2) //! 1521\n"));
        let said = format!("{:?}", found[0]);
        for part in [
            "`A` of the other writes it here".to_owned(),
            format!("\"{name} reads it here"),
            format!("SY_WAIT(EVENT, KERNEL) of a kernel in `J` that writes what {name} then loads"),
        ] {
            assert!(said.contains(&part), "{part}\n{said}");
        }
        let found = check(&unit(&kernel("A", "w", "", ""), j, "TG_LAUNCH(J, 2)\nTG_LAUNCH(G, 1) //! 1521\n"));
        let said = format!("{:?}", found[0]);
        let help = format!("SY_SIGNAL(EVENT, KERNEL) of a kernel in `J` that runs as {name} says");
        assert!(
            said.contains(&format!("{name} of the other reads it here")) && said.contains(&help),
            "{said}"
        );
    }
}

/// ISA-SY-01, ISA-SY-02: a kernel that waits for an event holds a condition back only where it writes what that loads.
#[test]
fn events_order_what_conditions_load() {
    let signals = kernel("A", "w", "", "SY_SIGNAL(E, A)\n");
    let behind = |waits: &str, between: &str, condition: &str| {
        let decides = format!("CF_IF({condition})\n{ASIDE}CF_ENDIF\n");
        unit(&signals, &format!("{waits}SY_WAIT(E, W)\n{between}{decides}"), BOTH)
    };
    let race = |text: String| check(&text.replace("TG_LAUNCH(J, 2)", "TG_LAUNCH(J, 2) //! 1521"));
    // The wait of a kernel alone is none of the condition behind it, nor of a barrier.
    race(behind("TG_KERNEL(W, e, 1, AIV, 0)\n", "", "load(T)"));
    race(behind(&kernel("W", "r", "", ""), "", "load(T)"));
    // Nor where the kernel writes other bytes.
    race(behind(&kernel("W", "rw", ", 4, 4", ""), "", "load(T)"));
    check(&behind(&kernel("W", "rw", ", 0, 4", ""), "", "load(T)"));
    // What the message says to write.
    let moves = "TG_KERNEL(W, f, 1, AIV, 0)\nMC_BIND(W, 0, T)\nMC_BIND(W, 1, F)\n";
    check(&behind(&format!("MC_ALLOC(F, 64)\n{moves}"), "", "load(F)"));
    // A checkpoint, a break and the begin of a loop hold conditions back as kernels.
    check(&behind("TG_KERNEL(W, e, 1, AIV, 0)\n", "TG_CHECKPOINT(J, 0)\n", "load(T)"));
    let within = |body: &str| {
        let waits = "TG_KERNEL(W, e, 1, AIV, 0)\nSY_WAIT(E, W)\n";
        let text = unit(&signals, &format!("{waits}CF_LOOP(N, i)\n{body}CF_ENDLOOP\n"), BOTH);
        format!("arg N: i64\n{text}")
    };
    let inner = "CF_IF(load(T) > i)\nCF_IF(load(T, 4))\nTG_KERNEL(K, e, 1, AIV, 0)\nCF_ENDIF\nCF_ENDIF\n";
    let text = within(&format!("{inner}TG_KERNEL(L, e, 1, AIV, 0)\n"));
    check(&text.replace("TG_LAUNCH(J, 2)", "TG_LAUNCH(J, 2) //! 1521 1521"));
    check(&within(&format!("{inner}TG_KERNEL(L, e, 1, AIV, 0)\nTG_DEPEND(W, L)\n")));
    race(within("TG_KERNEL(L, e, 1, AIV, 0)\nCF_BREAK(load(T))\n"));
    check(&within("TG_KERNEL(L, e, 1, AIV, 0)\nTG_DEPEND(W, L)\nCF_BREAK(load(T))\n"));
    // An inner condition comes behind the one around it.
    let outer = "CF_IF(load(U) > 0)\nCF_IF(load(T) > 0)\nTG_KERNEL(K, e, 1, AIV, 0)\nCF_ENDIF\nCF_ENDIF\n";
    let writes = "TG_KERNEL(W, w, 1, AIV, 0)\nMC_BIND(W, 0, U)\nSY_WAIT(E, W)\n";
    check(&unit(&signals, &format!("{writes}{outer}"), BOTH));
}

/// ISA-SY-01, ISA-SY-02: what runs as a condition says signals behind it.
#[test]
fn events_order_what_comes_behind_conditions() {
    let waits = kernel("A", "w", "", "SY_WAIT(E, A)\n");
    let host = "TG_LAUNCH(J, 2)\nTG_LAUNCH(G, 1)\n";
    for (open, close) in [
        ("CF_IF(load(T))", "CF_ENDIF"),
        ("CF_LOOP(load(T), i)", "CF_ENDLOOP"),
        ("CF_WHILE(load(T), 9)", "CF_BREAK(load(U))\nCF_ENDWHILE"),
    ] {
        check(&unit(&waits, &format!("{open}\n{ASIDE}{close}\nSY_SIGNAL(E, B)\n"), host));
        // A kernel behind them that has nothing to do with them.
        let aside = "TG_KERNEL(S, e, 1, AIV, 0)\nSY_SIGNAL(E, S)\n";
        let text = unit(&waits, &format!("{open}\n{ASIDE}{close}\n{aside}"), host);
        check(&text.replace("TG_LAUNCH(G, 1)", "TG_LAUNCH(G, 1) //! 1521"));
        // One that writes what they load comes behind them.
        let writes = kernel("S", "rw", "", "SY_SIGNAL(E, S)\n");
        check(&unit(&waits, &format!("{open}\n{ASIDE}{close}\n{writes}"), host));
    }
}

/// ISA-MC-02, ISA-FE-04: the host releases and writes nothing under a launch that a condition of it may load.
#[test]
fn the_host_waits_for_what_conditions_load() {
    for j in loading() {
        let begin = "TG_LAUNCH(G, 1)\nTG_SYNC(G)\nTG_LAUNCH(J, 2)\n";
        let text = |host: &str| {
            let text = unit(&kernel("A", "w", "", ""), &j, &format!("{begin}{host}"));
            text.replace("extern T: i32[16]", "MC_ALLOC(T, 64)")
        };
        check(&text("TG_SYNC(J)\nMC_FREE(T)\n"));
        let found = check(&text("MC_FREE(T) //! 1521\n"));
        assert!(found[0].is_error() && found[0].help[0] == "TG_SYNC(J)", "{found:#?}");
        let text = |host: &str| {
            let saves = kernel("A", "w", "", "TG_CHECKPOINT(G, 0)\n");
            unit(&saves, &j, &format!("{begin}{host}"))
        };
        check(&text("TG_SYNC(J)\nTG_RESTORE(G, 0)\n"));
        let found = check(&text("TG_RESTORE(G, 0) //! 1521\n"));
        assert!(found[0].message.contains("`T` is restored while a launch of graph `J`"), "{found:#?}");
    }
}

/// What a run may load, or may not, it compares.
#[test]
fn loads_that_only_a_run_knows_are_left_to_it() {
    let checked = |j: &str| {
        let text = unit(&kernel("A", "w", ", 0, 8", ""), j, BOTH);
        let text = format!("arg N: i64\n{text}");
        let checked = wsp_tg::check(&read(&text).0, &kernels(), &LintOptions::default(), &[]);
        let told = |of: &Diagnostic| (of.code.0, of.severity);
        (checked.findings.iter().map(told).collect::<Vec<_>>(), checked.launches)
    };
    let decides = |condition: &str| format!("CF_IF({condition})\n{ASIDE}CF_ENDIF\n");
    for (j, told) in [
        (decides("load(T, 4 * N)"), (1522, Severity::Note)),
        (decides("load(T, load(U))"), (1522, Severity::Note)),
        (decides("N > 3 && load(T)"), (1522, Severity::Note)),
        (format!("CF_IF(N > 3)\n{}CF_ENDIF\n", decides("load(T)")), (1521, Severity::Warning)),
    ] {
        let (found, launches) = checked(&j);
        assert_eq!(found, [told], "{j}");
        let users: Vec<UsedBy> = launches.uses.iter().map(|of| of.user).collect();
        assert_eq!(users, [UsedBy::Kernel, UsedBy::Condition], "{j}");
    }
    for j in [decides("load(T, 8) && N > 3"), decides("N > 3"), decides("load(T, 8 + 4 * (N - N))")] {
        assert_eq!(checked(&j), (vec![], OpenLaunches::default()), "{j}");
    }
    let found = findings(&unit(&kernel("A", "w", "", ""), &decides("load(T) && load(U)"), BOTH));
    assert!(found.len() == 1 && found[0].is_error(), "{found:#?}");
}
