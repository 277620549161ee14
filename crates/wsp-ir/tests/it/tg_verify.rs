//! Rules of task-graph units: each is broken on a line of its own, and reported there.
//!
//! Units are written as text. A comment `//! CODE` at the end of a line says that a fault of this code is reported there; several codes
//! stand for several faults. Whatever is reported elsewhere fails the test.

mod tensors;

use wsp_diag::{Diagnostic, SourceMap};
use wsp_ir::tg::{TgModule, verify};

/// The unit of a text that the reader accepts.
fn read(text: &str) -> (TgModule, SourceMap) {
    let mut sources = SourceMap::default();
    let (module, found) = wsp_isa::tg::text::parse("unit.tg", text, &mut sources);
    let shown = wsp_diag::render_all(&found, &sources, false);
    (module.unwrap_or_else(|| panic!("the text should be read:\n{shown}")), sources)
}

/// Checks that exactly the marked faults are reported; gives them back in order of their lines.
#[track_caller]
fn check(text: &str) -> Vec<Diagnostic> {
    let (module, sources) = read(text);
    let mut expected: Vec<(u32, u16)> = Vec::new();
    for (line, content) in text.lines().enumerate() {
        let Some((_, codes)) = content.split_once("//!") else { continue };
        for code in codes.split_whitespace() {
            expected.push((line as u32 + 1, code.parse().expect("a mark should be a number")));
        }
    }
    let found = verify(&module);
    let mut have: Vec<(u32, u16)> = found
        .iter()
        .map(|d| (d.primary.as_ref().map_or(0, |label| sources.line_col(label.span).0), d.code.0))
        .collect();
    have.sort_unstable();
    expected.sort_unstable();
    let shown = wsp_diag::render_all(&found, &sources, false);
    assert_eq!(have, expected, "{shown}");
    for fault in &found {
        assert!(fault.is_error());
        assert!(!fault.help.is_empty(), "{} has no help", fault.message);
        assert!(wsp_diag::lookup(&[wsp_ir::CODES], fault.code).is_some(), "{} is not explained", fault.code);
    }
    found
}

/// The source lines that a fault points to.
fn lines(text: &str, fault: &Diagnostic) -> Vec<u32> {
    let (_, sources) = read(text);
    let spans = fault.primary.iter().chain(&fault.labels).map(|label| label.span);
    spans.map(|span| sources.line_col(span).0).collect()
}

/// Instructions in graph `G`, which has kernels `A` and `B` and a tensor `T` of 1024 bytes.
fn in_graph(body: &str) -> String {
    format!(
        "TG_BEGIN(G)\nTG_KERNEL(A, a, 1, AIV, 0)\nTG_KERNEL(B, b, 1, AIV, 0)\nMC_ALLOC(T, 1024)\n{body}\nTG_END(G)\n"
    )
}

/// ISA-TG-01, ISA-TG-06, ISA-TG-08: instructions between TG_BEGIN and the TG_END of the same number.
#[test]
fn a_graph_holds_what_stands_between_its_begin_and_its_end() {
    check(
        "TG_BEGIN(G)\nTG_KERNEL(A, a, 1, AIV, 0)\nTG_END(G)\nTG_BEGIN(H)\nTG_KERNEL(A, a, 1, AIV, 0)\nTG_END(H)\n",
    );
    check(&in_graph("MC_BIND(A, 0, T)\nMC_BIND(B, 0, T)\nTG_DEPEND(A, B, DATA, T)"));
}

/// ISA-TG-02.
#[test]
fn a_nested_begin_is_refused_with_both_places() {
    let text = "TG_BEGIN(0)\nTG_BEGIN(1) //! 1451\nTG_END(1)\nTG_END(0)\n";
    let found = check(text);
    assert_eq!(lines(text, &found[0]), [2, 1]);
}

/// ISA-TG-03.
#[test]
fn numbers_of_graphs_are_at_most_the_largest() {
    check("TG_BEGIN(65535)\nTG_END(65535)\n");
    check("TG_BEGIN(65536) //! 1453\nTG_END(65536)\n");
}

/// ISA-TG-04.
#[test]
fn a_graph_is_defined_once() {
    let text = "TG_BEGIN(3)\nTG_END(3)\nTG_BEGIN(3) //! 1454\nTG_END(3)\n";
    let found = check(text);
    assert_eq!(lines(text, &found[0]), [3, 1]);
}

/// ISA-TG-05.
#[test]
fn kernels_and_edges_stand_in_a_graph() {
    check("TG_KERNEL(0, a, 1, AIV, 0) //! 1450\n");
    check("TG_DEPEND(0, 1) //! 1450\n");
    check("MC_FENCE(DEVICE) //! 1450\n");
}

/// ISA-TG-05: the other way round.
#[test]
fn what_the_host_does_stands_outside() {
    check(&in_graph("TG_LAUNCH(0, default) //! 1450\nTG_SYNC(0) //! 1450\nTG_SET_PRIORITY(0, 1) //! 1450"));
}

/// ISA-TG-06.
#[test]
fn the_end_of_another_graph_does_not_end_this_one() {
    let text = "TG_BEGIN(0)\nTG_END(1) //! 1452\n";
    assert_eq!(lines(text, &check(text)[0]), [2, 1]);
    check("TG_END(1) //! 1452\n");
    check("TG_BEGIN(7) //! 1452\nTG_KERNEL(0, a, 1, AIV, 0)\n");
}

/// ISA-TG-07.
#[test]
fn a_complete_graph_is_not_changed_any_more() {
    let text =
        "TG_BEGIN(0)\nTG_KERNEL(0, a, 1, AIV, 0)\nTG_END(0)\nMC_BIND(0, 0, 1) //! 1450\nextern T: f16[8]\n";
    let found = check(text);
    assert_eq!(lines(text, &found[0]), [4, 3], "the end of the graph is shown");
}

/// ISA-TG-09.
#[test]
fn a_kernel_is_defined_once_in_its_graph() {
    let text = "TG_BEGIN(0)\nTG_KERNEL(5, a, 1, AIV, 0)\nTG_KERNEL(5, b, 1, AIV, 0) //! 1455\nTG_END(0)\n";
    assert_eq!(lines(text, &check(text)[0]), [3, 2]);
    check("TG_BEGIN(0)\nTG_KERNEL(2147483648, a, 1, AIV, 0) //! 1456\nTG_END(0)\n");
}

/// ISA-TG-11.
#[test]
fn a_kernel_has_1_to_65535_blocks() {
    check("TG_BEGIN(0)\nTG_KERNEL(0, a, 1, AIV, 0)\nTG_KERNEL(1, a, 65535, AIV, 0)\nTG_END(0)\n");
    check(
        "TG_BEGIN(0)\nTG_KERNEL(0, a, 0, AIV, 0) //! 1457\nTG_KERNEL(1, a, 65536, AIV, 0) //! 1457\nTG_END(0)\n",
    );
}

/// ISA-TG-15.
#[test]
fn edges_join_two_kernels_of_the_graph() {
    check(&in_graph("TG_DEPEND(0, 7) //! 1458\nTG_DEPEND(9, 1) //! 1458\nTG_DEPEND(A, A) //! 1459"));
    check(
        "TG_BEGIN(0)\nTG_KERNEL(4, a, 1, AIV, 0)\nTG_END(0)\nTG_BEGIN(1)\nTG_KERNEL(5, a, 1, AIV, 0)\nTG_DEPEND(5, 4) //! 1458\nTG_END(1)\n",
    );
}

/// ISA-TG-15, ISA-MC-09: copies are ends of edges as well.
#[test]
fn edges_join_copies() {
    check(&in_graph("MC_ALLOC(U, 64)\nMC_COPY(T, U, 64)\nTG_DEPEND(A, copy.0)\nTG_DEPEND(copy.0, B)"));
    check(&in_graph("MC_ALLOC(U, 64)\nMC_COPY(T, U, 64)\nTG_DEPEND(A, copy.1) //! 1458"));
}

/// ISA-TG-19.
#[test]
fn the_second_kernel_of_a_barrier_is_defined_after_the_first() {
    check(&in_graph("TG_DEPEND(A, B, BARRIER)"));
    let text = in_graph("TG_DEPEND(B, A, BARRIER) //! 1460");
    assert_eq!(lines(&text, &check(&text)[0]), [5, 3, 2]);
}

/// ISA-TG-23.
#[test]
fn only_complete_graphs_are_launched() {
    check(
        "TG_LAUNCH(0, default) //! 1461\nTG_BEGIN(0)\nTG_END(0)\nTG_LAUNCH(0, default)\nTG_LAUNCH(4, default) //! 1461\n",
    );
    check("TG_BEGIN(0)\nTG_END(0)\nTG_INVOKE(1, 0) //! 1461\nTG_SET_PRIORITY(1, 0) //! 1461\n");
}

/// ISA-TG-26.
#[test]
fn waiting_for_a_graph_that_was_never_launched_is_refused() {
    check("TG_BEGIN(0)\nTG_END(0)\nTG_SYNC(0) //! 1462\nTG_LAUNCH(0, default)\nTG_SYNC(0)\n");
    check("TG_BEGIN(0)\nTG_END(0)\nCF_LOOP(3, i)\nTG_SYNC(0) //! 1462\nCF_ENDLOOP\n");
    check(
        "TG_BEGIN(0)\nTG_END(0)\nCF_LOOP(3, i)\nCF_IF(i > 0)\nTG_SYNC(0)\nCF_ENDIF\nTG_INVOKE(0, i)\nCF_ENDLOOP\n",
    );
}

/// ISA-TG-27.
#[test]
fn iterations_are_32_bit_numbers() {
    check(
        "TG_BEGIN(0)\nTG_END(0)\nTG_INVOKE(0, 4294967295)\nTG_INVOKE(0, 4294967296) //! 1480\nTG_INVOKE(0, 0 - 1) //! 1480\n",
    );
    check("TG_BEGIN(0)\nTG_END(0)\nTG_INVOKE(0, iteration) //! 1479\n");
}

/// ISA-CF-02.
#[test]
fn control_flow_nests() {
    check(&in_graph(
        "CF_IF(1)\nCF_LOOP(2, i)\nCF_ENDLOOP\nCF_ELSE\nCF_WHILE(load(T))\nCF_ENDWHILE\nCF_ENDIF",
    ));
    check(&in_graph("CF_ELSE //! 1475\nCF_ENDIF //! 1475\nCF_ENDLOOP //! 1475\nCF_ENDWHILE //! 1475"));
    let text = in_graph("CF_IF(1)\nCF_ELSE\nCF_ELSE //! 1475\nCF_ENDIF");
    assert_eq!(lines(&text, &check(&text)[0]), [7, 6]);
    let text = in_graph("CF_IF(1)\nCF_LOOP(2, i) //! 1475\nCF_ENDIF\nCF_ENDLOOP //! 1475");
    assert_eq!(lines(&text, &check(&text)[0]), [6, 7]);
    check(&in_graph("CF_WHILE(load(T)) //! 1475"));
    check("CF_LOOP(2, i) //! 1475\n");
}

/// ISA-CF-02: a graph is a unit of its own.
#[test]
fn a_graph_is_defined_outside_of_control_flow() {
    check("CF_LOOP(2, i)\nTG_BEGIN(0) //! 1450\nTG_END(0)\nCF_ENDLOOP\n");
}

/// ISA-CF-08.
#[test]
fn a_break_stands_in_a_loop() {
    check(&in_graph("CF_LOOP(2, i)\nCF_IF(i)\nCF_BREAK(i)\nCF_ENDIF\nCF_ENDLOOP"));
    check(&in_graph("CF_BREAK(1) //! 1476"));
    check("CF_LOOP(2, i)\nCF_ENDLOOP\nCF_BREAK(1) //! 1476\n");
}

/// ISA-CF-10.
#[test]
fn control_flow_nests_64_deep() {
    let nested = |depth: usize, mark: &str| {
        format!("{}CF_IF(1){mark}\n{}", "CF_IF(1)\n".repeat(depth - 1), "CF_ENDIF\n".repeat(depth))
    };
    check(&in_graph(&nested(64, "")));
    check(&in_graph(&nested(65, " //! 1477")));
    check(&nested(64, ""));
    check(&nested(65, " //! 1477"));
}

/// ISA-CF-06.
#[test]
fn a_loop_variable_has_a_value_inside_of_its_loop_only() {
    check(&in_graph("CF_LOOP(2, i)\nCF_ENDLOOP\nMC_BIND(A, 0, T, i, 8) //! 1478"));
    check(&in_graph("CF_LOOP(2, i)\nCF_LOOP(2, i) //! 1478\nCF_ENDLOOP\nCF_ENDLOOP"));
    check(&in_graph("CF_LOOP(2, i)\nCF_ENDLOOP\nCF_LOOP(2, i)\nCF_ENDLOOP"));
    // The kernel stands outside, so the variable of the loop around the binding is not its own.
    check(&in_graph("CF_LOOP(2, i)\nMC_BIND(A, 0, T, i, 8) //! 1471 1478\nCF_ENDLOOP"));
}

/// ISA-CF-04, ISA-CF-05, ISA-CF-09.
#[test]
fn counts_and_conditions_are_in_range() {
    check(&in_graph("CF_LOOP(0, i)\nCF_ENDLOOP\nCF_LOOP(0 - 1, i) //! 1480\nCF_ENDLOOP"));
    check(&in_graph("CF_WHILE(load(T), 0) //! 1480\nCF_ENDWHILE"));
    check(&in_graph(
        "CF_IF(load(T, 1020))\nCF_ENDIF\nCF_IF(load(T, 1021)) //! 1468\nCF_ENDIF\nCF_IF(load(T, 0 - 1, u8)) //! 1468\nCF_ENDIF",
    ));
    check(&in_graph("MC_BIND(A, 0, T, load(T), 8) //! 1479"));
    // What may not be evaluated may not be outside.
    check(&in_graph(
        "CF_IF(iteration && load(T, 1021))\nCF_ENDIF\nCF_IF(load(T, 1021) && iteration) //! 1468\nCF_ENDIF",
    ));
    check(&in_graph(
        "CF_LOOP(256, i)\nCF_BREAK(load(T, i * 4))\nCF_ENDLOOP\nCF_LOOP(257, j)\nCF_IF(load(T, j * 4)) //! 1468\nCF_ENDIF\nCF_ENDLOOP",
    ));
}

/// ISA-CA-01.
#[test]
fn a_request_is_for_some_core_and_made_once() {
    check(&in_graph("CA_REQUEST(A, 12, 24)\nCA_REQUEST(B, 0, 0, 1)"));
    check(&in_graph(
        "CA_REQUEST(A, 0, 0) //! 1481\nCA_REQUEST(B, 1, 0)\nCA_REQUEST(B, 1, 0) //! 1481\nCA_REQUEST(9, 1, 1) //! 1458",
    ));
}

/// ISA-CA-03.
#[test]
fn a_set_names_kernels_once() {
    check(&in_graph("CA_AFFINITY({A, B}, L2_SHARE)"));
    check(&in_graph("CA_AFFINITY({A, A}, SEPARATE) //! 1486\nCA_AFFINITY({0, 7}, COLOCATE) //! 1458"));
}

/// ISA-CA-05.
#[test]
fn partitions_do_not_overlap() {
    check("CA_PARTITION(P, 0, 12, 0, 24)\nCA_PARTITION(Q, 12, 12, 24, 24)\nCA_PARTITION(R, 0, 0, 48, 2)\n");
    check("CA_PARTITION(P, 0, 13, 0, 24)\nCA_PARTITION(Q, 12, 12, 24, 24) //! 1482\n");
    check("CA_PARTITION(P, 0, 24, 0, 25)\nCA_PARTITION(Q, 24, 1, 24, 24) //! 1482\n");
    check("CA_PARTITION(P, 0, 0, 0, 0) //! 1482\n");
    check("CA_PARTITION(3, 0, 1, 0, 1)\nCA_PARTITION(3, 5, 1, 5, 1) //! 1482\n");
    check("CA_PARTITION(P, 4294967295, 2, 0, 1) //! 1482\n");
    check(
        "CA_PARTITION(P, 0, 20, 0, 1)\nCA_PARTITION(Q, 1, 2, 1, 1) //! 1482\nCA_PARTITION(R, 10, 2, 2, 1) //! 1482\n",
    );
}

/// ISA-CA-06.
#[test]
fn a_partition_has_the_cores_of_its_kernels() {
    let unit = |core_type: &str, partition: &str, mark: &str| {
        format!(
            "CA_PARTITION(P, {partition})\nTG_BEGIN(0)\nTG_KERNEL(0, a, 1, {core_type}, 0, P){mark}\nTG_END(0)\n"
        )
    };
    check(&unit("AIC", "0, 1, 0, 0", ""));
    check(&unit("AIV", "0, 1, 0, 0", " //! 1484"));
    check(&unit("AIC", "0, 0, 0, 1", " //! 1484"));
    check(&unit("AIC_AIV", "0, 1, 0, 2", ""));
    check(&unit("AIC_AIV", "0, 1, 0, 1", " //! 1484"));
    check(&unit("AICPU", "0, 1, 0, 0", ""));
    check("TG_BEGIN(0)\nTG_KERNEL(0, a, 1, AIC, 0, 9) //! 1483\nTG_END(0)\n");
    check(
        "CA_PARTITION(P, 0, 0, 0, 4)\nTG_BEGIN(0)\nTG_KERNEL(0, a, 1, AIC, 0)\nTG_END(0)\nTG_LAUNCH(0, default, P) //! 1484\n",
    );
}

/// ISA-SY-06.
#[test]
fn whatever_is_waited_for_is_signalled_or_external() {
    check(&in_graph("SY_SIGNAL(E, A)\nSY_WAIT(E, B)"));
    let found = check(&in_graph("SY_WAIT(E, B) //! 1485"));
    assert!(found[0].help.iter().any(|help| help.contains("extern event E")), "{:?}", found[0].help);
    check(&format!("extern event E\n{}", in_graph("SY_WAIT(E, B)")));
    check(
        "TG_BEGIN(0)\nTG_KERNEL(0, a, 1, AIV, 0)\nSY_WAIT(E, 0)\nTG_END(0)\nTG_BEGIN(1)\nTG_KERNEL(0, a, 1, AIV, 0)\nSY_SIGNAL(E, 0)\nTG_END(1)\n",
    );
}

/// ISA-SY-03.
#[test]
fn members_of_a_gang_stand_side_by_side() {
    check(&in_graph("SY_BARRIER({A, B}, 0)"));
    let text = in_graph("TG_DEPEND(A, B) //! 1487\nSY_BARRIER({A, B}, 0)");
    assert_eq!(lines(&text, &check(&text)[0]), [5, 6]);
    check(&in_graph("TG_DEPEND(A, B, SOFT)\nSY_BARRIER({A, B}, 0)"));
    check(&in_graph("SY_BARRIER({A, B}, 0)\nTG_KERNEL(C, c, 1, AIV, 0)\nSY_BARRIER({B, C}, 1) //! 1487"));
    check(&in_graph(
        "TG_KERNEL(C, c, 1, AIV, 0)\nTG_KERNEL(D, d, 1, AIV, 0)\nSY_BARRIER({A, B}, 0)\nSY_BARRIER({C, D}, 0) //! 1487",
    ));
    check(&in_graph(
        "CF_IF(iteration)\nTG_KERNEL(C, c, 1, AIV, 0)\nCF_ENDIF\nSY_BARRIER({A, C}, 0) //! 1487",
    ));
}

/// ISA-SY-04, ISA-SY-05.
#[test]
fn a_notification_follows_a_kernel_and_is_sent() {
    check(
        "TG_BEGIN(0)\nSY_NOTIFY(1, N) //! 1490\nTG_KERNEL(0, a, 1, AIV, 0)\nSY_NOTIFY(1, N)\nSY_NOTIFY(1, N, after = 0)\nSY_NOTIFY(1, N, after = 3) //! 1458\nSY_WAIT_NOTIFY(1, N)\nTG_END(0)\n",
    );
    check(&in_graph("SY_WAIT_NOTIFY(1, N) //! 1485"));
}

/// ISA-FE-01.
#[test]
fn a_fused_graph_is_a_new_graph_of_two() {
    let graphs = "TG_BEGIN(0)\nTG_END(0)\nTG_BEGIN(1)\nTG_END(1)\n";
    check(&format!("{graphs}TG_FUSE(0, 1, 2)\nTG_LAUNCH(2, default)\nTG_SYNC(2)\n"));
    check(&format!("{graphs}TG_FUSE(0, 0, 2) //! 1488\nTG_FUSE(0, 5, 3) //! 1461\n"));
    check(&format!("{graphs}TG_FUSE(0, 1, 1) //! 1454\n"));
    check(&format!("{graphs}TG_FUSE(0, 9, 9) //! 1461\n"));
    check(&format!("{graphs}TG_LAUNCH(2, default) //! 1461\nTG_FUSE(0, 1, 2)\n"));
    check(&format!("{graphs}TG_FUSE(0, 1, 65536) //! 1453\n"));
}

/// ISA-FE-02, ISA-FE-03.
#[test]
fn a_kernel_is_made_persistent_once() {
    check(&in_graph("TG_PERSISTENT(A, 0)\nTG_PERSISTENT(B, 5)"));
    check(&in_graph("TG_PERSISTENT(A, 0)\nTG_PERSISTENT(A, 5) //! 1481\nTG_PERSISTENT(8, 0) //! 1458"));
}

/// ISA-FE-04.
#[test]
fn what_is_restored_is_a_checkpoint_of_the_graph() {
    let graphs = |body: &str| format!("TG_BEGIN(0)\n{body}TG_END(0)\nTG_BEGIN(1)\nTG_END(1)\n");
    check(&format!("{}TG_RESTORE(0, 7)\nTG_SYNC(0)\n", graphs("TG_CHECKPOINT(0, 7)\n")));
    check(&graphs("TG_CHECKPOINT(1, 7) //! 1489\n"));
    check(&format!("{}TG_RESTORE(1, 7) //! 1489\n", graphs("TG_CHECKPOINT(0, 7)\n")));
    check(&format!(
        "{}TG_LAUNCH(1, default)\nTG_CHECKPOINT(1, 3)\nTG_RESTORE(1, 3)\nTG_CHECKPOINT(9, 3) //! 1461\n",
        graphs("")
    ));
    check(&format!("{}TG_FUSE(0, 1, 2)\nTG_RESTORE(2, 7)\n", graphs("TG_CHECKPOINT(0, 7)\n")));
}

/// ISA-EX-01: declarations.
#[test]
fn declarations_are_given_once_and_can_be_counted() {
    check("extern T: f16[4, 0] //! 1492\n");
    check("extern T: f64[9223372036854775807, 2] //! 1492\n");
    let text = "arg N: u8 = 255\nhost K: i32 = 0 - 1\n";
    let (mut module, _) = read(text);
    assert!(verify(&module).is_empty());
    module.args[0].default = Some(256);
    module.args[1].name = module.args[0].name;
    let codes: Vec<u16> = verify(&module).iter().map(|fault| fault.code.0).collect();
    assert_eq!(codes, [1492, 1492]);
}

#[test]
fn faults_of_units_without_a_source_name_the_instruction() {
    let (mut module, _) = read(&in_graph("TG_DEPEND(A, A)"));
    module.spans.clear();
    let found = verify(&module);
    assert_eq!(found.len(), 1);
    assert!(found[0].primary.is_none());
    assert!(
        found[0].notes.iter().any(|note| note == "instruction 4: TG_DEPEND(…): from and to the same kernel"),
        "{:?}",
        found[0].notes
    );
}

#[test]
fn a_flood_of_faults_is_cut() {
    let edges = "TG_DEPEND(A, A)\n".repeat(5000);
    let (module, _) = read(&in_graph(&edges));
    let found = verify(&module);
    assert_eq!(found.len(), wsp_core::limits::MAX_DIAGNOSTICS as usize);
    assert_eq!(found.last().map(|fault| fault.code.0), Some(1499));
}

#[test]
fn expressions_that_no_text_gives_are_refused() {
    use wsp_core::tg::{ExprId, ExprOp, Instr, Scalar};
    let bad: [&[ExprOp]; 8] = [
        &[ExprOp::Device, ExprOp::Device, ExprOp::And, ExprOp::End],
        &[ExprOp::Device, ExprOp::SkipZero(2), ExprOp::Device, ExprOp::Or, ExprOp::End],
        &[ExprOp::Device, ExprOp::SkipZero(0), ExprOp::End],
        &[ExprOp::Add, ExprOp::End],
        &[ExprOp::Const(1), ExprOp::Const(2), ExprOp::End],
        &[ExprOp::Const(1)],
        &[ExprOp::End],
        &[ExprOp::Arg(3), ExprOp::End],
    ];
    for ops in bad {
        let (mut module, _) = read(&in_graph("CF_IF(iteration)\nCF_ENDIF"));
        let first = module.exprs.len() as u32;
        module.exprs.extend_from_slice(ops);
        for instr in &mut module.instrs {
            if let Instr::CfIf { condition } = instr {
                *condition = Scalar::Expr(ExprId(first));
            }
        }
        let codes: Vec<u16> = verify(&module).iter().map(|fault| fault.code.0).collect();
        assert_eq!(codes, [1493], "{ops:?}");
    }
}

/// A text may keep 64 values at a time, and no more.
#[test]
fn expressions_that_nest_too_deep_to_the_right_are_refused() {
    let codes = |depth: usize| {
        let sum = format!("{}iteration{}", "(iteration + ".repeat(depth), ")".repeat(depth));
        let (module, _) = read(&in_graph(&format!("CF_IF({sum})\nCF_ENDIF")));
        verify(&module).iter().map(|fault| fault.code.0).collect::<Vec<_>>()
    };
    assert_eq!([codes(63), codes(64)], [vec![], vec![1493]]);
}

/// ISA-TG-12, ISA-TG-16, ISA-MC-03, ISA-MC-11, ISA-CA-03: the numbers that binaries hold.
#[test]
fn choices_have_the_numbers_of_the_document() {
    use wsp_core::tg::{AffinityType, CoreType, DependencyType, FenceScope, MemLocation};
    macro_rules! numbered {
        ($ty:ident: $($name:literal),*) => {
            let names: Vec<&str> = (0..).map_while(|code| $ty::from_code(code)).map($ty::name).collect();
            assert_eq!(names, [$($name),*]);
        };
    }
    numbered!(CoreType: "AIC", "AIV", "AIC_AIV", "AICPU");
    numbered!(DependencyType: "AFTER", "DATA", "BARRIER", "SOFT");
    numbered!(MemLocation: "GM", "L2", "HBM", "SHARED");
    numbered!(FenceScope: "DEVICE", "L2", "GM");
    numbered!(AffinityType: "COLOCATE", "SEPARATE", "L2_SHARE");
    assert_eq!(DependencyType::default(), DependencyType::After);
}
