//! Kernels that touch the same bytes, and what orders them and makes visible what they write.

use super::{bound, check, check_and_repair, check_with, findings, graph, kernels, repaired};
use wsp_core::tg::Direction;
use wsp_diag::Severity;
use wsp_ir::tg::{ArgSignature, KernelSignature};
use wsp_tg::LintOptions;

/// ISA-TG-18, ISA-EM-05: neither order nor visibility.
#[test]
fn two_kernels_on_the_same_bytes_need_an_order() {
    let found = check_and_repair(&graph(&bound(&[("A", "w"), ("B", "r")]).replacen(
        "MC_BIND(B, 0, T)",
        "MC_BIND(B, 0, T) //! 1501",
        1,
    )));
    assert!(found[0].is_error());
    assert_eq!(found[0].help, ["TG_DEPEND(A, B, DATA, T)"]);
    let second = |text: String| text.replacen("MC_BIND(B, 0, T)", "MC_BIND(B, 0, T) //! 1501", 1);
    let found = check_and_repair(&graph(&second(bound(&[("A", "r"), ("B", "w")]))));
    assert_eq!(found[0].help, ["TG_DEPEND(A, B, AFTER)"]);
    check_and_repair(&graph(&second(bound(&[("A", "w"), ("B", "w")]))));
    check_and_repair(&graph(&second(bound(&[("A", "rw"), ("B", "rw")]))));
    check(&graph(&bound(&[("A", "r"), ("B", "r")])));
}

#[test]
fn kernels_on_different_bytes_need_no_order() {
    check(&graph(
        "TG_KERNEL(A, w, 1, AIV, 0)\nTG_KERNEL(B, w, 1, AIV, 0)\nMC_BIND(A, 0, T, 0, 512)\nMC_BIND(B, 0, T, 512)",
    ));
    check(&graph(
        "TG_KERNEL(A, w, 1, AIV, 0)\nTG_KERNEL(B, w, 1, AIV, 0)\nMC_BIND(A, 0, T, 0, 513)\nMC_BIND(B, 0, T, 512) //! 1501",
    ));
}

/// ISA-MC-12, ISA-EM-05: what `AFTER` alone does not do.
#[test]
fn ordered_is_not_visible() {
    let kernels = bound(&[("A", "w"), ("B", "r")]);
    let found = check_and_repair(&graph(&format!("{kernels}TG_DEPEND(A, B) //! 1502")));
    assert_eq!(found[0].help[0], "TG_DEPEND(A, B, DATA, T)");
    assert_eq!(found[0].severity, Severity::Warning);
    check(&graph(&format!("{kernels}TG_DEPEND(A, B, DATA, T)")));
    check(&graph(&format!("{kernels}TG_DEPEND(A, B, DATA)")));
    check(&graph(&format!("{kernels}TG_DEPEND(A, B, BARRIER)")));
    check(&graph(&format!("{kernels}SY_SIGNAL(E, A)\nSY_WAIT(E, B)")));
}

/// ISA-MC-11, ISA-MC-12: a fence between the two, in program order.
#[test]
fn a_fence_makes_visible_what_crosses_it() {
    let unit = |before: &str, between: &str, after: &str, mark: &str| {
        graph(&format!(
            "{before}TG_KERNEL(A, w, 1, AIV, 0)\n{between}TG_KERNEL(B, r, 1, AIV, 0)\n{after}MC_BIND(A, 0, T)\nMC_BIND(B, 0, T)\nTG_DEPEND(A, B){mark}"
        ))
    };
    for scope in ["DEVICE", "L2", "GM"] {
        check(&unit("", &format!("MC_FENCE({scope})\n"), "", ""));
    }
    check(&unit("MC_FENCE(GM)\n", "", "", " //! 1502"));
    check(&unit("", "", "MC_FENCE(GM)\n", " //! 1502"));
    check(&unit("", "CF_IF(iteration)\nMC_FENCE(GM)\nCF_ENDIF\n", "", " //! 1502"));
    // A fence orders nothing.
    check(&graph(
        "TG_KERNEL(A, w, 1, AIV, 0)\nMC_FENCE(GM)\nTG_KERNEL(B, r, 1, AIV, 0)\nMC_BIND(A, 0, T)\nMC_BIND(B, 0, T) //! 1501",
    ));
}

/// ISA-EM-04: a `DATA` edge shows its tensor to the kernels after it, and no other tensor.
#[test]
fn a_data_edge_shows_its_tensor_to_all_that_follow() {
    let unit = |edges: &str| {
        format!(
            "extern T: u8[64]\nextern U: u8[64]\nTG_BEGIN(G)\nTG_KERNEL(A, w2, 1, AIV, 0)\nTG_KERNEL(B, e, 1, AIV, 0)\nTG_KERNEL(C, r, 1, AIV, 0)\nMC_BIND(A, 0, T)\nMC_BIND(A, 1, U)\n{edges}TG_END(G)\n"
        )
    };
    let mut signatures = kernels();
    let arg = || ArgSignature::new("x", Direction::Out);
    signatures.insert(KernelSignature::new("w2", vec![arg(), arg()]));
    let check = |text: &str| check_with(text, &signatures, &LintOptions::default());
    check(&unit("MC_BIND(C, 0, T)\nTG_DEPEND(A, B, DATA, T)\nTG_DEPEND(B, C)\n"));
    check(&unit("MC_BIND(C, 0, T)\nTG_DEPEND(A, B, DATA)\nTG_DEPEND(B, C)\n"));
    let found = check(&unit("MC_BIND(C, 0, U) //! 1503\nTG_DEPEND(A, B, DATA, T)\nTG_DEPEND(B, C)\n"));
    assert_eq!(found[0].help, ["TG_DEPEND(A, C, DATA, U)"]);
    check(&unit("MC_BIND(C, 0, T) //! 1503\nTG_DEPEND(A, B)\nTG_DEPEND(B, C, DATA)\n"));
}

/// ISA-SY-03: no edge orders two members of a gang, also in an arm, or in a loop that may have no round.
#[test]
fn a_race_within_a_gang_is_told_without_an_edge() {
    for [open, close] in [
        ["", ""],
        ["CF_IF(N)\n", "CF_ENDIF\n"],
        ["CF_LOOP(2, i)\nCF_LOOP(i, j)\n", "CF_ENDLOOP\nCF_ENDLOOP\n"],
    ] {
        let members = bound(&[("A", "w"), ("B", "w")]);
        let text = graph(&format!("{open}{members}{close}SY_BARRIER({{A, B}}, R)"));
        let found = findings(&format!("arg N: i64\n{text}"));
        let races: Vec<_> = found.iter().filter(|found| found.code.0 == 1501).collect();
        assert_eq!(races.len(), 1, "{text}");
        assert_eq!(races[0].help, ["take `B` out of its gang, or bind it to other bytes"], "{text}");
    }
}

/// ISA-CF-01: the arms of one condition do not meet.
#[test]
fn kernels_of_two_arms_need_no_order() {
    let arms = |middle: &str, mark: &str| {
        let text = graph(&format!(
            "CF_IF(N)\n{}{middle}\n{}CF_ENDIF",
            bound(&[("A", "w")]),
            bound(&[("B", "w")]).replace("MC_BIND(B, 0, T)", &format!("MC_BIND(B, 0, T){mark}"))
        ));
        format!("arg N: i64\n{text}")
    };
    check(&arms("CF_ELSE", ""));
    let found = check(&arms("CF_ENDIF\nCF_IF(N > 3)", " //! 1501"));
    assert_eq!(found[0].severity, Severity::Warning, "they do not surely both run");
    // A later reader needs an edge from both.
    let text = arms("CF_ELSE", "")
        .replace("TG_END", "TG_KERNEL(C, r, 1, AIV, 0)\nMC_BIND(C, 0, T) //! 1501 1501\nTG_END");
    check_and_repair(&text);
}

/// ISA-CF-07: in one round; what rounds need of each other is found when the graph runs.
#[test]
fn ranges_that_move_with_a_loop_are_compared_in_one_round() {
    let unit = |a: &str, b: &str| {
        graph(&format!(
            "CF_LOOP(4, i)\nTG_KERNEL(A, w, 1, AIV, 0)\nTG_KERNEL(B, r, 1, AIV, 0)\nMC_BIND(A, 0, T, {a}, 128)\nMC_BIND(B, 0, T, {b}\nCF_ENDLOOP"
        ))
    };
    check(&unit("i * 128", "i * 128, 128) //! 1501"));
    check(&unit("i * 128", "i * 128 + 128, 128)"));
    check(&unit("i * 128", "i * 128 + 127, 128) //! 1501"));
    check(&unit("i * 256", "128 + i * 256, 128)"));
    check(&unit("i * 128", "0, 128) //! 1501"));
    check(&unit("i * 256", "128, 128)"));
}

/// ISA-TG-27: ranges that depend on the launch.
#[test]
fn ranges_that_depend_on_the_launch_are_compared_by_their_difference() {
    let unit = |a: &str, b: &str| {
        graph(&format!(
            "TG_KERNEL(A, w, 1, AIV, 0)\nTG_KERNEL(B, r, 1, AIV, 0)\nMC_BIND(A, 0, T, {a}, 128)\nMC_BIND(B, 0, T, {b}"
        ))
    };
    check(&unit("iteration * 128", "iteration * 128, 128) //! 1501"));
    check(&unit("iteration * 128", "(iteration + 1) * 128, 128)"));
    // Whether they meet depends on the iteration: every launch compares them.
    check(&unit("iteration * 128", "0, 128) //! 1522"));
}

/// ISA-TG-27: double buffers.
#[test]
fn tables_are_the_same_tensor_if_they_are_indexed_alike() {
    let unit = |index: &str| {
        format!(
            "extern P: u8[64]\nextern Q: u8[64]\nTG_BEGIN(G)\nTG_KERNEL(A, w, 1, AIV, 0)\nTG_KERNEL(B, r, 1, AIV, 0)\nMC_BIND(A, 0, {{P, Q}}[iteration % 2])\nMC_BIND(B, 0, {{P, Q}}[{index}\nTG_END(G)\n"
        )
    };
    check(&unit("(iteration + 1) % 2]) //! 1522 1522"));
    check(&unit("iteration % 2]) //! 1501 1501"));
}

/// ISA-CF-09: a loop that runs round by round holds back what follows it.
#[test]
fn edges_across_the_border_of_a_loop_hold_for_all_of_it() {
    let text = "extern T: u8[64]\nextern C: i32[1]\nTG_BEGIN(G)\nTG_KERNEL(A, w, 1, AIV, 0)\nMC_BIND(A, 0, T)\nCF_WHILE(load(C))\nTG_KERNEL(B, e, 1, AIV, 0)\nTG_KERNEL(R, r, 1, AIV, 0)\nMC_BIND(R, 0, T)\nTG_KERNEL(S, rw, 1, AIV, 0)\nMC_BIND(S, 0, C)\nCF_ENDWHILE\nTG_DEPEND(A, B, DATA, T)\nTG_END(G)\n";
    check(text);
    check(
        &text
            .replace("MC_BIND(R, 0, T)", "MC_BIND(R, 0, T) //! 1501")
            .replace("TG_DEPEND(A, B, DATA, T)\n", ""),
    );
}

/// ISA-CF-04: a decision on data follows who writes them.
#[test]
fn a_decision_on_data_orders_its_arms_behind_the_writer() {
    let text = "extern T: u8[64]\nextern C: i32[1]\nTG_BEGIN(G)\nTG_KERNEL(A, f, 1, AIV, 0)\nMC_BIND(A, 0, T)\nMC_BIND(A, 1, C)\nCF_IF(load(C))\nTG_KERNEL(B, w, 1, AIV, 0)\nMC_BIND(B, 0, T)\nCF_ENDIF\nTG_END(G)\n";
    check(text);
    check(&text.replace("load(C)", "!iteration").replace("MC_BIND(B, 0, T)", "MC_BIND(B, 0, T) //! 1501"));
    // A writer that waits for an arm closes a cycle.
    let cycle = text.replace("CF_IF(load(C))", "CF_IF(load(C)) //! 1500");
    check(&cycle.replace("TG_END", "TG_DEPEND(B, A)\nTG_END"));
}

/// ISA-MC-09, ISA-MC-05: copies stand in program order with the kernels that use their bytes, and show what they copy.
#[test]
fn copies_need_no_edges() {
    let text = "extern T: u8[64]\nextern U: u8[64]\nTG_BEGIN(G)\nTG_KERNEL(A, w, 1, AIV, 0)\nMC_BIND(A, 0, T)\nMC_COPY(T, U, 64)\nTG_KERNEL(B, r, 1, AIV, 0)\nMC_BIND(B, 0, U)\nTG_KERNEL(C, w, 1, AIV, 0)\nMC_BIND(C, 0, T)\nTG_END(G)\n";
    check(text);
    check(&text.replace("TG_END", "TG_DEPEND(B, copy.0) //! 1500\nTG_END"));
}

/// ISA-MC-09: thousands of copies of one tensor are in order too.
#[test]
fn many_copies_of_the_same_bytes_need_no_edges() {
    let copies = "MC_COPY(T, U, 16)\n".repeat(5_000);
    check(&format!("extern T: u8[64]\nextern U: u8[64]\nTG_BEGIN(G)\n{copies}TG_END(G)\n"));
}

/// ISA-MC-12: all rounds of a loop lie among the bytes that another kernel reads.
#[test]
fn rounds_between_the_ends_of_other_bytes_race() {
    let text = |begin: u32, step: i32| {
        format!(
            "extern T: u8[64]\nTG_BEGIN(G)\nCF_LOOP(4, i)\nTG_KERNEL(A, w, 1, AIV, 0)\nMC_BIND(A, 0, T, {begin} + i * ({step}), 4)\nCF_ENDLOOP\nTG_KERNEL(B, r, 1, AIV, 0)\nMC_BIND(B, 0, T) //! 1501\nTG_END(G)\n"
        )
    };
    for (begin, step) in [(16, 4), (0, 4), (48, 4), (32, -4), (12, -4), (16, 0)] {
        check(&text(begin, step));
    }
}

/// ISA-FE-04: a checkpoint is between everything before it and everything behind it.
#[test]
fn a_checkpoint_orders_what_stands_around_it() {
    check(&graph(&format!("{}TG_CHECKPOINT(G, 1)\n{}", bound(&[("A", "w")]), bound(&[("B", "r")]))));
}

/// ISA-TG-19.
#[test]
fn kernels_between_those_of_a_barrier_are_told() {
    let text = graph(
        "TG_KERNEL(A, e, 1, AIV, 0)\nTG_KERNEL(B, e, 1, AIV, 0)\nTG_KERNEL(C, e, 1, AIV, 0)\nTG_DEPEND(A, C, BARRIER) //! 1514",
    );
    let found = check(&text);
    assert!(found[0].message.contains("`B`"));
    check(&repaired(&text, &found).replace("TG_DEPEND(A, C, BARRIER) //! 1514\n", ""));
}

/// ISA-TG-19: barriers share their edges where they can, and order what a barrier of its own would.
#[test]
fn barriers_order_every_kernel_and_copy_around_them() {
    let kernel = |name: &str, entry: &str| format!("TG_KERNEL({name}, {entry}, 1, AIV, 0)\n");
    let binds =
        |names: &[&str]| names.iter().map(|name| format!("MC_BIND({name}, 0, T)\n")).collect::<String>();
    let chain = kernel("A", "w")
        + &kernel("B", "r")
        + &kernel("C", "w")
        + &kernel("D", "r")
        + &binds(&["A", "B", "C", "D"]);
    check(&graph(&format!(
        "{chain}TG_DEPEND(A, B, BARRIER)\nTG_DEPEND(B, C, BARRIER)\nTG_DEPEND(C, D, BARRIER)"
    )));
    let open = chain.replace("MC_BIND(C, 0, T)", "MC_BIND(C, 0, T) //! 1501");
    check(&graph(&format!("{open}TG_DEPEND(A, B, BARRIER)\nTG_DEPEND(C, D, BARRIER)")));
    // A copy is an end, and stands on a side, like a kernel.
    let copies = "extern U: u8[8]\nextern V: u8[8]\n".to_owned()
        + &graph(&format!(
            "{}MC_COPY(U, V, 8)\n{}{}TG_DEPEND(copy.0, B, BARRIER)",
            kernel("A", "w"),
            kernel("B", "r"),
            binds(&["A", "B"])
        ));
    check(&copies);
    check(&copies.replace("TG_END", "TG_DEPEND(B, copy.0) //! 1500\nTG_END"));
}
