//! Small graphs, each for a rule.

use super::oracle::memory;
use super::random::Random;
use super::simulate::{End, Simulation, order_of};
use super::source::{FORMS, checked, module, plan, planned};
use wsp_core::tg::Direction;
use wsp_core::tg::image::NodeKind;
use wsp_core::tg::machine::Fault;
use wsp_diag::Code;
use wsp_ir::tg::{ArgSignature, KernelSignature, Signatures};
use wsp_tg::elaborate;
use wsp_tg::plan::EdgeKind;

/// A graph of these statements over kernels without arguments.
fn graph(kernels: &[&str], rest: &str) -> String {
    let defs: String = kernels.iter().map(|k| format!("TG_KERNEL({k}, k, 1, AIV, 0)\n")).collect();
    format!("extern T\nextern U\nTG_BEGIN(G)\n{defs}{rest}\nTG_END(G)\n")
}

/// The names of nodes that ran, in the order in which they were complete, for some random orders.
fn orders(text: &str) -> Vec<Vec<String>> {
    let (module, plan) = (module(text), plan(text));
    (0..20).map(|seed| order_of(&module, &plan, 0, seed)).collect()
}

fn place(order: &[String], name: &str) -> usize {
    order.iter().position(|n| n == name).unwrap_or_else(|| panic!("{name} did not run: {order:?}"))
}

fn assert_before(text: &str, pairs: &[(&str, &str)]) {
    for order in orders(text) {
        for (a, b) in pairs {
            assert!(place(&order, a) < place(&order, b), "{a} before {b}: {order:?}");
        }
    }
}

/// In some order the second is complete before the first.
fn assert_free(text: &str, a: &str, b: &str) {
    assert!(orders(text).iter().any(|order| place(order, b) < place(order, a)), "{a} is always before {b}");
}

/// Kernels that ran, sorted.
fn runs(text: &str, form: usize) -> Vec<(u32, Vec<u64>)> {
    let module = module(text);
    let plan = checked(planned(text, &FORMS[form]), text);
    let mut simulation = Simulation::new(&module, &plan, 0, memory(&module));
    assert_eq!(simulation.run(&mut Random::new(3), usize::MAX), End::Done);
    simulation.runs().into_iter().map(|(kernel, rounds)| (kernel.0, rounds)).collect()
}

/// ISA-TG-17.
#[test]
fn after_starts_the_second_when_the_first_is_complete() {
    let text = graph(&["A", "B", "C"], "TG_DEPEND(B, A)\nTG_DEPEND(A, C, AFTER)");
    assert_before(&text, &[("B", "A"), ("A", "C")]);
}

/// ISA-TG-18.
#[test]
fn data_orders_as_after_does_and_is_told_apart() {
    let text = graph(&["A", "B"], "TG_DEPEND(A, B)\nTG_DEPEND(A, B, DATA, T)");
    assert_before(&text, &[("A", "B")]);
    assert_eq!(plan(&text).graphs[0].edges, [EdgeKind::Data]);
}

/// ISA-EM-01.
#[test]
fn edges_between_the_same_two_are_counted_once() {
    let text = graph(&["A", "B"], "TG_DEPEND(A, B, DATA, T)\nTG_DEPEND(A, B, DATA, U)\nTG_DEPEND(A, B)");
    assert_eq!(plan(&text).graphs[0].records.needs, [0, 1]);
    assert_before(&text, &[("A", "B")]);
}

/// ISA-TG-19.
#[test]
fn a_barrier_completes_everything_up_to_its_first_before_anything_from_its_second_on() {
    let text = graph(&["A", "B", "C", "D", "E"], "TG_DEPEND(B, D, BARRIER)");
    assert_before(&text, &[("A", "D"), ("A", "E"), ("B", "D"), ("B", "E")]);
    assert_free(&text, "C", "E");
    assert_free(&text, "A", "C");
    assert_free(&text, "C", "A");
}

/// ISA-TG-19.
#[test]
fn barriers_have_as_many_edges_as_kernels() {
    let names: Vec<String> = (0..200).map(|k| format!("K{k}")).collect();
    let kernels: Vec<&str> = names.iter().map(String::as_str).collect();
    let barriers: String = (0..199).map(|k| format!("TG_DEPEND(K{k}, K{}, BARRIER)\n", k + 1)).collect();
    let plan = plan(&graph(&kernels, &barriers));
    assert!(plan.graphs[0].records.succs.len() < 4 * 200, "{}", plan.graphs[0].records.succs.len());
}

/// ISA-TG-20.
#[test]
fn a_soft_edge_is_a_hint_and_orders_nothing() {
    let text = graph(&["A", "B"], "TG_DEPEND(A, B, SOFT)");
    let plan = plan(&text);
    assert_eq!(plan.graphs[0].records.needs, [0, 0]);
    assert_eq!(plan.graphs[0].soft, [(0, 1)]);
    assert_free(&text, "A", "B");
    let both_ways = graph(&["A", "B"], "TG_DEPEND(A, B, SOFT)\nTG_DEPEND(B, A, SOFT)");
    assert_eq!(orders(&both_ways).len(), 20);
}

/// ISA-TG-21.
#[test]
fn a_cycle_is_refused_with_its_whole_path() {
    let text = graph(
        &["A", "B", "C", "D"],
        "TG_DEPEND(A, B)\nTG_DEPEND(B, C, DATA, T)\nTG_DEPEND(C, A)\nTG_DEPEND(C, D)",
    );
    let found = planned(&text, &FORMS[0]).expect_err("it is a cycle");
    assert_eq!(found[0].code, Code(1530));
    let path = &found[0].notes[0];
    assert!(
        ["A -> B -> C -> A", "B -> C -> A -> B", "C -> A -> B -> C"].iter().any(|p| path.ends_with(p)),
        "{path}"
    );
    assert!(!path.contains('D'));
}

/// ISA-CF-01, ISA-CF-02.
#[test]
fn an_if_runs_one_arm() {
    let text = |condition: &str| {
        let arms = "CF_IF(X)\nTG_KERNEL(A, k, 1, AIV, 0)\nCF_ELSE\nTG_KERNEL(B, k, 1, AIV, 0)\nCF_ENDIF";
        let text = graph(&[], &arms.replace('X', condition));
        format!("arg L: i64 = 0\narg M: i64 = -7\n{text}")
    };
    for (condition, kernel) in [("1", 0), ("0", 1), ("L", 1), ("M", 0), ("load(T, 0, u8) == 31", 0)] {
        assert_eq!(runs(&text(condition), 0), [(kernel, vec![])], "{condition}");
    }
    let alone = graph(&[], "CF_IF(0)\nTG_KERNEL(A, k, 1, AIV, 0)\nCF_ENDIF");
    assert_eq!(runs(&alone, 0), []);
}

/// ISA-CF-03.
#[test]
fn edges_through_an_arm_that_is_not_taken_still_order() {
    for condition in ["0", "L"] {
        let text = graph(
            &["A", "C"],
            &format!(
                "CF_IF({condition})\nTG_KERNEL(B, k, 1, AIV, 0)\nCF_ENDIF\nTG_DEPEND(A, B)\nTG_DEPEND(B, C)"
            ),
        );
        let text = format!("arg L: i64 = 0\n{text}");
        assert_before(&text, &[("A", "C")]);
        assert!(orders(&text).iter().all(|order| order.len() == 2));
    }
}

/// ISA-CF-03, ISA-MC-09: what stands in the arms of one condition is in no order by bytes, and what follows is behind both arms, with any value.
#[test]
fn arms_that_exclude_each_other_are_in_no_order_and_what_follows_is_behind_both() {
    let kernel = |name: &str, tensor: &str| {
        format!("TG_KERNEL({name}, inc, 1, AIV, 0)\nMC_BIND({name}, 0, {tensor}, 0, 8)\n")
    };
    let (a, q) = (kernel("A", "U"), kernel("Q", "T"));
    let copy = "MC_COPY(T, U, 8, 0, 0)\n";
    let read = kernel("A", "T");
    let nested = format!("CF_IF(M == 0)\n{copy}CF_ENDIF\n");
    for (then, otherwise) in
        [(&*a, copy), (copy, &*a), (&*a, &*nested), (copy, copy), (&*nested, copy), (&*read, copy)]
    {
        let arms = format!("CF_IF(L == 1)\n{then}CF_ELSE\n{otherwise}CF_ENDIF\n");
        for value in 0..2 {
            let scalars = format!("arg L: i64 = {value}\narg M: i64 = 0\n");
            // The copy before the arms, one arm, and the copy behind them.
            let text = scalars.clone() + &graph(&[], &format!("{copy}{arms}{copy}"));
            for order in orders(&text) {
                let count = text.matches("MC_COPY").count();
                assert!(
                    order[0] == "copy.0" && order[2] == format!("copy.{}", count - 1),
                    "{order:?}\n{text}"
                );
            }
        }
    }
    // What the arms exclude closes no cycle.
    let free = format!("CF_IF(L == 1)\n{a}CF_ELSE\n{copy}CF_ENDIF\n{q}TG_DEPEND(Q, A)");
    for value in 0..2 {
        checked(planned(&format!("arg L: i64 = {value}\n{}", graph(&[], &free)), &FORMS[0]), &free);
    }
}

/// ISA-CF-04.
#[test]
fn a_condition_waits_for_the_kernel_that_writes_it() {
    let text = graph(
        &[],
        "TG_KERNEL(P, inc, 1, AIV, 0)\nMC_BIND(P, 0, T, 0, 1)\nCF_IF(load(T, 0, u8) == 32)\n\
         TG_KERNEL(A, k, 1, AIV, 0)\nCF_ENDIF\nTG_KERNEL(Q, inc, 1, AIV, 0)\nMC_BIND(Q, 0, T, 0, 1)",
    );
    // The first byte of T is 31: only between the two kernels is it 32.
    assert_before(&text, &[("P", "A"), ("P", "Q")]);
}

/// ISA-CF-05.
#[test]
fn a_loop_runs_its_body_so_many_times() {
    let body = "TG_KERNEL(A, k, 1, AIV, 0)\nCF_ENDLOOP\nTG_DEPEND(Z, A)\nTG_DEPEND(A, Y)";
    for (count, times) in [("3", 3), ("0", 0), ("load(T, 0, u8) % 4", 3), ("load(T, 0, u8) - 31", 0)] {
        for form in 0..2 {
            let text = graph(&["Z", "Y"], &format!("CF_LOOP({count}, i)\n{body}"));
            let mut expected = vec![(0, vec![]), (1, vec![])];
            expected.extend((0..times).map(|round| (2, vec![round])));
            assert_eq!(runs(&text, form), expected, "{count}");
            assert_before(&text, &[("Z", "Y")]);
        }
    }
}

/// ISA-CF-05.
#[test]
fn a_negative_count_is_refused() {
    let text = graph(&[], "CF_LOOP(load(T, 0, u8) - 40, i)\nTG_KERNEL(A, k, 1, AIV, 0)\nCF_ENDLOOP");
    let (module, plan) = (module(&text), plan(&text));
    let mut simulation = Simulation::new(&module, &plan, 0, memory(&module));
    let end = simulation.run(&mut Random::new(1), usize::MAX);
    assert!(matches!(end, End::Fault(Fault::Count { in_loop: 0, value: -9, .. })), "{end:?}");
    let outer =
        graph(&[], "CF_LOOP(3, i)\nCF_LOOP(1 - i, j)\nTG_KERNEL(A, k, 1, AIV, 0)\nCF_ENDLOOP\nCF_ENDLOOP");
    assert_eq!(planned(&outer, &FORMS[0]).expect_err("2 is too much")[0].code, Code(1534));
}

/// ISA-CF-06.
#[test]
fn the_number_of_an_iteration_is_known_to_bindings() {
    let text = graph(
        &[],
        "CF_LOOP(3, i)\nTG_KERNEL(A, mix, 1, AIV, 0)\nMC_BIND(A, 0, {T, U}[i % 2], i * 8, 8)\nCF_ENDLOOP",
    );
    let plan = plan(&text);
    let graph = &plan.graphs[0];
    let bound = |kernel: usize| {
        let bind = graph.binds_of(&graph.kernels[kernel])[0];
        (graph.tensors_of(&bind.tensor).to_vec(), bind.offset.as_const())
    };
    let (t, u) = (bound(0).0, bound(1).0);
    assert_ne!(t, u);
    assert_eq!(bound(0), (t.clone(), Some(0)));
    assert_eq!(bound(1), (u, Some(8)));
    assert_eq!(bound(2), (t, Some(16)));
    assert_eq!(graph.kernel_name(2), "A[2]");
}

/// ISA-CF-07.
#[test]
fn iterations_overlap_unless_they_touch_the_same_bytes_or_are_sequential() {
    let body = |offset: &str, mode: &str| {
        graph(
            &[],
            &format!(
                "CF_LOOP(4, i{mode})\nTG_KERNEL(A, mix, 1, AIV, 0)\nMC_BIND(A, 0, T, {offset}, 8)\nCF_ENDLOOP"
            ),
        )
    };
    assert_free(&body("i * 8", ""), "A[0]", "A[3]");
    assert_before(&body("0", ""), &[("A[0]", "A[1]"), ("A[1]", "A[2]"), ("A[2]", "A[3]")]);
    assert_before(&body("i / 2 * 8", ""), &[("A[0]", "A[1]"), ("A[2]", "A[3]")]);
    assert_free(&body("i / 2 * 8", ""), "A[1]", "A[2]");
    let sequential = plan(&body("i * 8", ", SEQUENTIAL"));
    assert_eq!((sequential.graphs[0].kernels.len(), sequential.graphs[0].loops.len()), (1, 1));
}

/// ISA-CF-07.
#[test]
fn readers_of_iterations_overlap_and_writers_wait_for_them() {
    let text = graph(
        &[],
        "CF_LOOP(3, i)\nTG_KERNEL(R, mix, 1, AIV, 0)\nMC_BIND(R, 0, T, 0, 8, IN)\n\
         TG_KERNEL(W, mix, 1, AIV, 0)\nMC_BIND(W, 0, U, 0, 8, OUT)\nCF_ENDLOOP",
    );
    assert_free(&text, "R[0]", "R[2]");
    assert_before(&text, &[("W[0]", "W[1]"), ("W[1]", "W[2]")]);
    assert_free(&text, "R[2]", "W[0]");
}

/// ISA-CF-07.
#[test]
fn large_and_unknown_counts_are_loops_at_run_time() {
    let loops = |count: &str| {
        let text = graph(&[], &format!("CF_LOOP({count}, i)\nTG_KERNEL(A, k, 1, AIV, 0)\nCF_ENDLOOP"));
        let text = format!("arg L: i64 = 2\n{text}");
        (plan(&text).graphs[0].loops.len(), plan(&text).graphs[0].kernels.len())
    };
    assert_eq!(loops("1024"), (0, 1024));
    assert_eq!(loops("1025"), (1, 1));
    assert_eq!(loops("L"), (1, 1));
}

/// ISA-CF-08.
#[test]
fn a_break_leaves_the_innermost_loop_after_what_stands_before_it() {
    for form in 0..2 {
        let text = graph(
            &[],
            "CF_LOOP(2, i)\nCF_LOOP(5, j)\nTG_KERNEL(A, k, 1, AIV, 0)\nCF_IF(j > 0)\nCF_BREAK(i + j == 2)\n\
             TG_KERNEL(B, k, 1, AIV, 0)\nCF_ENDIF\nTG_KERNEL(C, k, 1, AIV, 0)\nCF_ENDLOOP\nCF_ENDLOOP",
        );
        let all = runs(&text, form);
        let of =
            |kernel| all.iter().filter(|run| run.0 == kernel).map(|run| run.1.clone()).collect::<Vec<_>>();
        assert_eq!(of(0), [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1]]);
        assert_eq!(of(1), [[0, 1]]);
        assert_eq!(of(2), [[0, 0], [0, 1], [1, 0]]);
    }
}

/// ISA-CF-08.
#[test]
fn what_stands_before_a_break_is_complete_before_what_stands_behind_it_starts() {
    let text = graph(
        &[],
        "CF_LOOP(1, i)\nTG_KERNEL(A, k, 1, AIV, 0)\nTG_KERNEL(B, k, 1, AIV, 0)\nCF_BREAK(load(T, 0, u8) == 0)\n\
         TG_KERNEL(C, k, 1, AIV, 0)\nCF_ENDLOOP",
    );
    assert_before(&text, &[("A", "C"), ("B", "C")]);
}

/// ISA-CF-08.
#[test]
fn both_arms_of_an_if_can_leave_a_loop() {
    let text = graph(
        &[],
        "CF_LOOP(9, i)\nCF_IF(load(T, 0, u8) == i)\nCF_BREAK(i == 9)\nCF_ELSE\nCF_BREAK(i == 3)\n\
         TG_KERNEL(A, k, 1, AIV, 0)\nCF_ENDIF\nTG_KERNEL(B, k, 1, AIV, 0)\nCF_ENDLOOP",
    );
    let expected: Vec<(u32, Vec<u64>)> = (0..2).flat_map(|k| (0..3).map(move |i| (k, vec![i]))).collect();
    assert_eq!(runs(&text, 0), expected);
}

/// ISA-CF-09.
#[test]
fn a_while_looks_at_its_condition_before_each_round() {
    let text = |below: u32| {
        graph(
            &["Z"],
            &format!(
                "CF_WHILE(load(T, 0, u8) < {below})\nTG_KERNEL(A, inc, 1, AIV, 0)\nMC_BIND(A, 0, T, 0, 1)\nCF_ENDWHILE"
            ),
        )
    };
    assert_eq!(runs(&text(31), 0).len(), 1);
    assert_eq!(runs(&text(35), 0).len(), 5);
}

/// ISA-CF-09.
#[test]
fn a_while_that_goes_on_beyond_its_maximum_is_a_fault() {
    let text = graph(&[], "CF_WHILE(load(T, 0, u8), 3)\nTG_KERNEL(A, k, 1, AIV, 0)\nCF_ENDWHILE");
    let (module, plan) = (module(&text), plan(&text));
    let mut simulation = Simulation::new(&module, &plan, 0, memory(&module));
    let end = simulation.run(&mut Random::new(1), usize::MAX);
    assert_eq!(end, End::Fault(Fault::Endless { in_loop: 0, most: 3, value: 31 }));
    assert_eq!(simulation.runs().len(), 3);
}

/// ISA-MC-09.
#[test]
fn a_copy_is_ordered_with_users_of_its_bytes_in_program_order() {
    let text = graph(
        &[],
        "TG_KERNEL(A, mix, 1, AIV, 0)\nMC_BIND(A, 0, T, 0, 16)\nTG_KERNEL(O, mix, 1, AIV, 0)\nMC_BIND(O, 0, T, 16, 16)\n\
         MC_COPY(T, U, 16, 0, 0)\nTG_KERNEL(B, mix, 1, AIV, 0)\nMC_BIND(B, 0, U, 8, 8, IN)\n\
         TG_KERNEL(C, mix, 1, AIV, 0)\nMC_BIND(C, 0, U, 16, 8)\nTG_KERNEL(D, mix, 1, AIV, 0)\nMC_BIND(D, 0, T, 8, 16)",
    );
    assert_before(&text, &[("A", "copy.0"), ("copy.0", "B"), ("copy.0", "D")]);
    for name in ["O", "C"] {
        assert_free(&text, "copy.0", name);
    }
    assert_free(&text, "O", "copy.0");
}

/// ISA-MC-09.
#[test]
fn an_edge_of_the_program_says_how_a_copy_and_a_kernel_follow() {
    let text = graph(
        &[],
        "TG_KERNEL(A, mix, 1, AIV, 0)\nMC_BIND(A, 0, U, 0, 16)\nMC_COPY(T, U, 16, 0, 0)\nTG_DEPEND(copy.0, A, DATA, U)",
    );
    assert_before(&text, &[("copy.0", "A")]);
}

/// ISA-MC-05.
#[test]
fn a_release_comes_after_every_user_before_it() {
    let text = graph(
        &[],
        "MC_ALLOC(W, 64)\nTG_KERNEL(A, mix, 1, AIV, 0)\nMC_BIND(A, 0, W)\nTG_KERNEL(B, mix, 1, AIV, 0)\n\
         MC_BIND(B, 0, W, 0, 8, IN)\nMC_COPY(W, T, 8)\nMC_FREE(W)",
    );
    let plan = plan(&text);
    let graph = &plan.graphs[0];
    assert_eq!(graph.records.needs[graph.frees[0].node as usize], 3);
}

/// ISA-SY-01, ISA-SY-02.
#[test]
fn an_event_fires_when_all_that_signal_it_are_complete() {
    let text = graph(&["A", "B", "C", "D"], "SY_SIGNAL(0, A)\nSY_SIGNAL(0, B)\nSY_WAIT(0, C)\nSY_WAIT(0, D)");
    assert_before(&text, &[("A", "C"), ("B", "C"), ("A", "D"), ("B", "D")]);
}

/// ISA-SY-02.
#[test]
fn an_event_of_another_graph_is_told_there_and_waited_for_here() {
    let text = "TG_BEGIN(G)\nTG_KERNEL(A, k, 1, AIV, 0)\nTG_KERNEL(B, k, 1, AIV, 0)\nSY_SIGNAL(E, A)\nTG_END(G)\n\
                TG_BEGIN(H)\nTG_KERNEL(C, k, 1, AIV, 0)\nTG_KERNEL(D, k, 1, AIV, 0)\nSY_WAIT(E, C)\nTG_END(H)\n";
    let (module, plan) = (module(text), plan(text));
    let mut tells = Simulation::new(&module, &plan, 0, memory(&module));
    assert_eq!(tells.run(&mut Random::new(1), usize::MAX), End::Done);
    assert_eq!(tells.signals, [0]);
    let mut waits = Simulation::new(&module, &plan, 1, memory(&module));
    waits.open = |plan, node, _| plan.kind_of(node) != NodeKind::WaitEvent;
    assert_eq!(waits.run(&mut Random::new(1), usize::MAX), End::Stuck);
    assert_eq!(waits.log, ["D"]);
    waits.open = |_, _, _| true;
    assert_eq!(waits.run(&mut Random::new(1), usize::MAX), End::Done);
    assert_eq!(waits.log[1..], ["event 0", "C"]);
}

/// ISA-SY-03.
#[test]
fn a_gang_starts_when_its_last_member_is_ready() {
    let text = graph(&["A", "B", "C", "Z"], "TG_DEPEND(Z, C)\nSY_BARRIER({A, B, C}, 0)");
    assert_before(&text, &[("Z", "A"), ("Z", "B"), ("Z", "C")]);
    let apart = graph(&["A"], "CF_LOOP(2, i)\nTG_KERNEL(B, k, 1, AIV, 0)\nCF_ENDLOOP\nSY_BARRIER({A, B}, 0)");
    assert_eq!(planned(&apart, &FORMS[0]).expect_err("they are in different loops")[0].code, Code(1533));
    let twice = graph(&["A", "B", "C"], "SY_BARRIER({A, B}, 0)\nSY_BARRIER({B, C}, 1)");
    assert_eq!(planned(&twice, &FORMS[0]).expect_err("B is in two")[0].code, Code(1533));
}

/// ISA-SY-03.
#[test]
fn a_gang_does_not_wait_for_members_in_an_arm_that_is_not_taken() {
    for condition in ["0", "load(T, 0, u8) == 0"] {
        let arm =
            format!("CF_IF({condition})\nTG_KERNEL(C, k, 1, AIV, 0)\nCF_ENDIF\nSY_BARRIER({{A, B, C}}, 0)");
        assert_eq!(runs(&graph(&["A", "B"], &arm), 0), [(0, vec![]), (1, vec![])]);
    }
}

/// ISA-SY-04, ISA-SY-05.
#[test]
fn notifications_follow_their_kernel_and_hold_what_stands_behind_their_wait() {
    let text = graph(
        &["A", "B"],
        "SY_NOTIFY(1, 4)\nSY_NOTIFY(1, 4, after = A)\nSY_WAIT_NOTIFY(1, 7)\nTG_KERNEL(C, k, 1, AIV, 0)\n\
         SY_WAIT_NOTIFY(1, 8, before = D)\nTG_KERNEL(D, k, 1, AIV, 0)\nTG_KERNEL(E, k, 1, AIV, 0)",
    );
    let (module, plan) = (module(&text), plan(&text));
    let graph = &plan.graphs[0];
    let names: Vec<String> = graph.notifies.iter().map(|n| graph.node_name(n.node)).collect();
    assert_before(&text, &[("B", &names[0]), ("A", &names[1]), (&names[0], &names[1])]);
    let mut first = Simulation::new(&module, &plan, 0, memory(&module));
    first.open = |plan, node, _| plan.kind_of(node) != NodeKind::WaitNotify;
    assert_eq!(first.run(&mut Random::new(1), usize::MAX), End::Stuck);
    let mut done = first.log.clone();
    done.sort();
    assert_eq!(done.len(), 4, "only A, B and the notifications: {done:?}");
    first.open = |plan, node, _| {
        plan.kind_of(node) != NodeKind::WaitNotify
            || plan.notify_waits[plan.records.nodes[node as usize].item as usize].notify.0 == 7
    };
    assert_eq!(first.run(&mut Random::new(1), usize::MAX), End::Stuck);
    let last = |name: &str| first.log.iter().any(|n| n == name);
    assert!(last("C") && last("E") && !last("D"), "{:?}", first.log);
}

/// ISA-FE-01.
#[test]
fn fused_graphs_batch_kernels_that_are_alike_and_independent() {
    let side = |graph: &str, tensor: &str, entry: &str| {
        format!(
            "TG_BEGIN({graph})\nTG_KERNEL({graph}A, mix, 4, AIV, 0)\nMC_BIND({graph}A, 0, {tensor})\n\
             TG_KERNEL({graph}B, {entry}, 4, AIV, 0)\nMC_BIND({graph}B, 0, {tensor})\nTG_DEPEND({graph}A, {graph}B)\nTG_END({graph})\n"
        )
    };
    let unit = |tensor: &str, entry: &str| {
        let (g, h) = (side("G", "T", "mix"), side("H", tensor, entry));
        format!("extern T\nextern U\n{g}{h}TG_FUSE(G, H, F)\nTG_LAUNCH(F, default)\n")
    };
    let batches = |text: &str| {
        let plan = plan(text);
        let fused = &plan.graphs[2];
        let sizes: Vec<usize> = fused.kernels.iter().map(|kernel| kernel.batch.len()).collect();
        (fused.records.nodes.len(), sizes)
    };
    assert_eq!(batches(&unit("U", "mix")), (2, vec![1, 1, 0, 0]));
    assert_eq!(batches(&unit("U", "other")), (3, vec![1, 0, 0, 0]));
    assert_eq!(batches(&unit("T", "mix")), (4, vec![0, 0, 0, 0]));
}

/// ISA-FE-01.
#[test]
fn a_fused_graph_gives_what_its_graphs_give_one_after_the_other() {
    let text = "extern T\nextern U\nTG_BEGIN(G)\nTG_KERNEL(A, mix, 4, AIV, 0)\nMC_BIND(A, 0, T)\nTG_KERNEL(B, mix, 4, AIV, 0)\n\
                MC_BIND(B, 0, U, 0, 8)\nTG_END(G)\nTG_BEGIN(H)\nTG_KERNEL(C, mix, 4, AIV, 0)\nMC_BIND(C, 0, T, 0, 8, IN)\n\
                MC_BIND(C, 1, U, 8, 8)\nTG_KERNEL(D, mix, 4, AIV, 0)\nMC_BIND(D, 0, U, 16, 8)\nTG_END(H)\nTG_FUSE(G, H, F)\n";
    let (module, plan) = (module(text), plan(text));
    let run = |graphs: &[usize], seed| {
        let mut memory = memory(&module);
        for &graph in graphs {
            let mut simulation = Simulation::new(&module, &plan, graph, memory);
            assert_eq!(simulation.run(&mut Random::new(seed), usize::MAX), End::Done);
            memory = simulation.memory;
        }
        memory
    };
    let expected = run(&[0, 1], 1);
    for seed in 0..20 {
        assert_eq!(run(&[2], seed), expected);
    }
    assert!(plan.graphs[2].kernels.iter().any(|kernel| !kernel.batch.is_empty()));
}

/// ISA-FE-04.
#[test]
fn a_checkpoint_comes_after_everything_before_it_and_before_everything_behind_it() {
    let text =
        graph(&["A", "B"], "TG_CHECKPOINT(G, 3)\nTG_KERNEL(C, k, 1, AIV, 0)\nTG_KERNEL(D, k, 1, AIV, 0)");
    let plan = plan(&text);
    let name = plan.graphs[0].node_name(plan.graphs[0].checkpoints[0].node);
    assert_before(&text, &[("A", &name), ("B", &name), (&name, "C"), (&name, "D")]);
}

#[test]
fn directions_come_from_signatures_unless_the_binding_says_one() {
    let text = graph(&["A"], "MC_BIND(A, 0, T)\nMC_BIND(A, 1, T, 8, 8, OUT)\nMC_BIND(A, 2, U)");
    let args = vec![ArgSignature::new("x", Direction::In), ArgSignature::new("y", Direction::In)];
    let signatures: Signatures = [KernelSignature::new("k", args)].into_iter().collect();
    let plan = checked(elaborate(&module(&text), &signatures, &FORMS[0]), &text);
    let directions: Vec<Direction> = plan.graphs[0].binds.iter().map(|bind| bind.direction).collect();
    assert_eq!(directions, [Direction::In, Direction::Out, Direction::InOut]);
}

#[test]
fn what_waits_says_for_how_much() {
    let text = graph(&["A", "B"], "TG_DEPEND(A, B)");
    let (module, plan) = (module(&text), plan(&text));
    let mut simulation = Simulation::new(&module, &plan, 0, memory(&module));
    simulation.open = |_, _, _| false;
    assert_eq!(simulation.run(&mut Random::new(1), usize::MAX), End::Stuck);
    let image = plan.graphs[0].records.image();
    let machine =
        wsp_core::tg::machine::Machine::attach(&image, &mut simulation.state).expect("a state of it");
    let waiting: Vec<(u32, u32)> = machine.waiting().map(|w| (w.node, w.open)).collect();
    assert_eq!(waiting, [(0, 0), (1, 1)]);
}
