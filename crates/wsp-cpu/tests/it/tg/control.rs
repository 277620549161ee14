//! Control flow in graphs and on the host.

use super::common::{all, inputs, refusal, session, threads, values};
use wsp_cpu::tg::SessionOptions;

fn run(text: &str, options: SessionOptions) -> Vec<i64> {
    let mut session = session(text, options);
    session.run().unwrap_or_else(|faults| panic!("{}", all(&faults)));
    values(&session, "Y")
}

fn said(text: &str, options: SessionOptions) -> String {
    all(&session(text, options).run().expect_err("the run should fail"))
}

/// What stands where the fault of a run points to.
fn faulty(text: &str, options: SessionOptions) -> String {
    let faults = session(text, options).run().expect_err("the run should fail");
    let place = faults[0].primary.as_ref().expect("the fault should have a place").span;
    text[place.start as usize..place.end as usize].to_owned()
}

/// A graph over `Y` with this body.
fn graph(body: &str) -> String {
    format!(
        "arg N: i64 = 3\nhost H: i64 = 1\nextern Y: i64[8]\nTG_BEGIN(G)\n{body}\nTG_END(G)\nTG_LAUNCH(G, default)\nTG_SYNC(G)\n"
    )
}

fn inc(name: &str) -> String {
    format!("TG_KERNEL({name}, inc, 2, AIV, 0)\nMC_BIND({name}, 0, Y)\n")
}

fn set(name: &str, value: i64) -> SessionOptions {
    SessionOptions { scalars: vec![(name.to_owned(), value)], ..threads(2) }
}

/// ISA-CF-01, ISA-CF-02, ISA-CF-03.
#[test]
fn the_branch_that_the_condition_chooses_runs_and_what_follows_runs_either_way() {
    let body = format!(
        "CF_IF(N > 2)\n{}CF_ELSE\n{}{}TG_DEPEND(B, C, DATA, Y)\nCF_ENDIF\n{}TG_DEPEND(A, D, DATA, Y)\nTG_DEPEND(C, D, DATA, Y)\n",
        inc("A"),
        inc("B"),
        inc("C"),
        inc("D")
    );
    assert_eq!(run(&graph(&body), set("N", 3)), [2; 8]);
    assert_eq!(run(&graph(&body), set("N", 2)), [3; 8]);
}

/// ISA-CF-06: on the host, when a graph is launched and while it runs.
#[test]
fn a_right_side_is_evaluated_only_where_the_left_does_not_decide() {
    for condition in ["N != 0 && 6 / N > 2", "!(N == 0 || 6 / N <= 2)"] {
        for (n, result) in [(0, 0), (2, 1), (3, 0)] {
            let inside = format!("CF_IF({condition})\n{}CF_ENDIF", inc("A"));
            assert_eq!(run(&graph(&inside), set("N", n)), [result; 8], "{condition} of {n}");
            let launched = graph(&inc("A")).replace(
                "TG_LAUNCH(G, default)\nTG_SYNC(G)",
                &format!("CF_IF({condition})\nTG_LAUNCH(G, default)\nTG_SYNC(G)\nCF_ENDIF"),
            );
            assert_eq!(run(&launched, set("N", n)), [result; 8], "{condition} of {n} on the host");
        }
    }
    let rounds =
        format!("CF_LOOP(2000, i)\nCF_IF(i != 0 && 1998 / i == 1)\n{}CF_ENDIF\nCF_ENDLOOP", inc("A"));
    assert_eq!(run(&graph(&rounds), set("N", 0)), [999; 8]);
}

/// ISA-CF-04.
#[test]
fn a_condition_on_the_device_waits_for_the_kernel_that_writes_it() {
    let body = "MC_ALLOC(F, 8)\nTG_KERNEL(K, below, 1, AIV, 0)\nMC_BIND(K, 0, X)\nMC_BIND(K, 1, F)\nCF_IF(load(F, 0, i64))\nTG_KERNEL(A, copy, 1, AIV, 0)\nMC_BIND(A, 0, X)\nMC_BIND(A, 1, Y)\nCF_ELSE\nTG_KERNEL(B, double, 1, AIV, 0)\nMC_BIND(B, 0, X)\nMC_BIND(B, 1, Y)\nCF_ENDIF";
    let text = format!("extern X: i64[8]\n{}", graph(body));
    let with = |x: i64| SessionOptions { inputs: inputs(&[("X", &[x; 8])]), ..threads(2) };
    assert_eq!(run(&text, with(99)), [99; 8]);
    assert_eq!(run(&text, with(100)), [200; 8]);
}

#[test]
fn faults_of_bindings_and_conditions_are_found_in_the_text() {
    let beyond = "MC_BIND(A, 0, Y, N*16)";
    let kernel = format!("TG_KERNEL(A, inc, 2, AIV, 0)\n{beyond}\n");
    assert!(said(&graph(&kernel), set("N", 5)).contains("takes"));
    assert_eq!(faulty(&graph(&kernel), set("N", 5)), beyond);
    let divided = format!("CF_IF(8 / N)\n{}CF_ENDIF", inc("A"));
    assert_eq!(faulty(&graph(&divided), set("N", 0)), "CF_IF(8 / N)");
}

/// ISA-CF-05, ISA-CF-07: static and dynamic counts give the same.
#[test]
fn a_loop_runs_its_body_as_often_as_its_count_says() {
    for count in [0, 1, 5] {
        let (fixed, given) = (format!("{count}"), "N".to_owned());
        for text in [fixed, given] {
            let body = format!("CF_LOOP({text}, i)\n{}CF_ENDLOOP", inc("A"));
            assert_eq!(run(&graph(&body), set("N", count)), [count; 8], "{text} of {count}");
        }
    }
    let body = format!("CF_LOOP(N, i)\n{}CF_ENDLOOP", inc("A"));
    assert!(said(&graph(&body), set("N", -1)).contains("WSP1549"));
}

/// ISA-CF-06.
#[test]
fn the_loop_variable_is_used_in_bindings() {
    for count in ["4", "N + 1"] {
        let body = format!(
            "CF_LOOP({count}, i)\nCF_LOOP(2, j)\nTG_KERNEL(A, inc, 1, AIV, 0)\nMC_BIND(A, 0, Y, (2 * i + j) * 8, 8 * (j + 1) - 8 * j)\nCF_IF(i == 2)\nTG_KERNEL(B, inc, 1, AIV, 0)\nMC_BIND(B, 0, Y, (2 * i + j) * 8, 8)\nTG_DEPEND(A, B, DATA, Y)\nCF_ENDIF\nCF_ENDLOOP\nCF_ENDLOOP"
        );
        assert_eq!(run(&graph(&body), set("N", 3)), [1, 1, 1, 1, 2, 2, 1, 1], "{count}");
    }
}

/// ISA-CF-08.
#[test]
fn a_break_leaves_the_innermost_loop_behind_what_stands_before_it() {
    for count in ["9", "3 * N"] {
        let body = format!(
            "CF_LOOP(2, j)\nCF_LOOP({count}, i)\n{}CF_BREAK(i == 4)\n{}TG_DEPEND(A, B, DATA, Y)\nCF_ENDLOOP\nCF_ENDLOOP",
            inc("A"),
            inc("B")
        );
        assert_eq!(run(&graph(&body), set("N", 3)), [18; 8], "{count}");
    }
}

/// ISA-CF-09: power iteration to tolerance, in whole numbers: double until it is no longer below 100.
#[test]
fn a_while_loop_goes_on_until_the_device_says_stop() {
    let body = "MC_ALLOC(GO, 8)\nTG_KERNEL(S, one, 1, AIV, 0)\nMC_BIND(S, 0, Y)\nTG_KERNEL(F, below, 1, AIV, 0)\nMC_BIND(F, 0, Y)\nMC_BIND(F, 1, GO)\nTG_DEPEND(S, F, DATA, Y)\nCF_WHILE(load(GO, 0, i64), 20)\nTG_KERNEL(D, add, 2, AIV, 0)\nMC_BIND(D, 0, Y)\nMC_BIND(D, 1, Y)\nMC_BIND(D, 2, Y)\nTG_DEPEND(S, D, DATA, Y)\nTG_KERNEL(T, below, 1, AIV, 0)\nMC_BIND(T, 0, Y)\nMC_BIND(T, 1, GO)\nTG_DEPEND(D, T, DATA, Y)\nTG_DEPEND(F, T, DATA, GO)\nCF_ENDWHILE";
    assert_eq!(run(&graph(body), threads(2)), [128; 8]);
    let bounded = body.replace(", 20)", ", 5)");
    let said = said(&graph(&bounded), threads(1));
    assert!(said.contains("WSP1556") && said.contains('5'), "{said}");
}

/// Numbers in memory at the bounds of their types, and at bytes where there are none.
#[test]
fn numbers_in_memory_have_the_bounds_of_their_types() {
    let unit =
        |load: &str| format!("extern X: i64[2]\n{}", graph(&format!("CF_IF({load})\n{}CF_ENDIF", inc("A"))));
    let with = |x: [i64; 2]| SessionOptions { inputs: inputs(&[("X", &x)]), ..threads(1) };
    for (load, x) in [
        ("load(X, 0, u64) == 9223372036854775807", i64::MAX),
        ("load(X, 0, i64) == -9223372036854775807 - 1", i64::MIN),
        ("load(X, 0, u32) == 4294967295", -1),
        ("load(X, 4, i32) == -1", -1),
        ("load(X, 7, u8) == 255", -1),
        ("load(X, 7, u8) == 128", i64::MIN),
    ] {
        assert_eq!(run(&unit(load), with([x, 0])), [1; 8], "{load}");
    }
    let large = said(&unit("load(X, 8, u64) > 0"), with([0, -1]));
    assert!(large.contains("the U64 at byte 8 of `X` is 18446744073709551615"), "{large}");
    let host = unit("1").replace("TG_LAUNCH", "CF_IF(load(X, 0, u64) > 0)\nCF_ENDIF\nTG_LAUNCH");
    assert!(said(&host, with([-1, 0])).contains("is 18446744073709551615"));
    for offset in ["N * 8 - 8", "N * 3", "N * -1", "N * 3000000000000000000"] {
        let none = said(&unit(&format!("load(X, {offset}, i64) > 0")), with([0, 0]));
        assert!(none.contains("no I64 can be read at byte") && none.contains("which has 16 bytes"), "{none}");
    }
}

/// ISA-CF-10.
#[test]
fn control_flow_nests() {
    let body = format!(
        "CF_LOOP(N, i)\nCF_IF(i % 2 == 0)\nCF_LOOP(2, j)\nCF_IF(H)\n{}CF_ENDIF\nCF_ENDLOOP\nCF_ELSE\n{}CF_ENDIF\nCF_ENDLOOP",
        inc("A"),
        inc("B")
    );
    assert_eq!(run(&graph(&body), set("N", 3)), [5; 8]);
    assert_eq!(run(&graph(&body), set("H", 0)), [1; 8]);
}

/// ISA-CF-01, ISA-CF-05, ISA-TG-27: control flow of the host, with conditions on what graphs have written.
#[test]
fn the_host_program_branches_and_loops() {
    let text = format!(
        "extern Y: i64[8]\nTG_BEGIN(G)\n{}TG_END(G)\nTG_BEGIN(I)\nTG_KERNEL(W, iteration, 1, AIV, 0)\nMC_BIND(W, 0, Y, 8)\nTG_END(I)\nCF_WHILE(load(Y, 0, i64) < 4)\nTG_LAUNCH(G, default)\nCF_ENDWHILE\nCF_LOOP(9, i)\nTG_INVOKE(I, i * 10)\nCF_BREAK(load(Y, 8, i64) == 50)\nCF_ENDLOOP\nCF_IF(load(Y, 16, i64) == 50)\nTG_LAUNCH(G, default)\nCF_ELSE\nTG_INVOKE(I, 1)\nCF_ENDIF\nTG_SYNC(G)",
        inc("A")
    );
    assert_eq!(run(&text, threads(2)), [5, 51, 51, 51, 51, 51, 51, 51]);
}

#[test]
fn a_graph_is_invoked_with_what_the_launches_before_have_written() {
    let text = format!(
        "extern Y: i64[8]\nTG_BEGIN(G)\n{}TG_END(G)\nTG_BEGIN(I)\nTG_KERNEL(W, iteration, 1, AIV, 0)\nMC_BIND(W, 0, Y, 8)\nTG_END(I)\nTG_LAUNCH(G, default)\nTG_LAUNCH(G, default)\nTG_INVOKE(I, load(Y, 0, i64) * 10)\nTG_SYNC(I)",
        inc("A")
    );
    assert_eq!(run(&text, threads(2)), [2, 20, 20, 20, 20, 20, 20, 20]);
}

#[test]
fn scalars_are_checked_against_their_declarations() {
    let text = graph(&inc("A")).replace("arg N: i64 = 3", "arg N: u8");
    let refused = |given: &[(&str, i64)]| {
        let scalars = given.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        all(&refusal(&text, SessionOptions { scalars, ..threads(1) }))
    };
    assert!(refused(&[]).contains("`N` has no value"));
    assert!(refused(&[("N", 256)]).contains("takes 0 to 255"));
    assert!(refused(&[("N", 1), ("M", 1)]).contains("declares no scalar `M`"));
    let scalars = vec![("N".to_owned(), 1)];
    let mut session = session(&text, SessionOptions { scalars, ..threads(1) });
    assert!(session.set_scalar("N", 2).is_err(), "an `arg` is given with the session");
    session.set_scalar("H", 2).expect("a `host` scalar is read at each launch");
}

/// ISA-CF-09: a loop of the host has a bound as well.
#[test]
fn a_loop_of_the_host_without_end_is_stopped() {
    let text = format!(
        "extern Y: i64[8]\nTG_BEGIN(G)\n{}TG_END(G)\nCF_WHILE(1, 4)\nTG_LAUNCH(G, default)\nCF_ENDWHILE",
        inc("A")
    );
    assert!(said(&text, threads(1)).contains("WSP1556"));
}
