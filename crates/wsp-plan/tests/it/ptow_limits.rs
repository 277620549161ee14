//! Workloads and schedules that no program can express are refused with the numbers.

use crate::workload_support::{module, schedule};
use std::fmt::Write as _;
use wsp_core::ptow::MAX_WORDS;
use wsp_diag::{Code, Severity};
use wsp_plan::ptow::{DispatchPlan, Lowered, dispatch_configs, lower};

fn lowered(source: &str) -> Lowered {
    let module = module(source);
    lower(&module, &schedule(&module)).unwrap_or_else(|found| panic!("{found:?}"))
}

/// The code and text of the only error of lowering.
#[track_caller]
fn refused(source: &str) -> (Code, String) {
    let module = module(source);
    let found = lower(&module, &schedule(&module)).expect_err("it should not fit");
    assert_eq!(found.len(), 1, "{found:?}");
    (found[0].code, format!("{:?}", found[0]))
}

#[test]
fn calls_of_calls_that_grow_without_bound_are_refused_at_once() {
    let mut source = "kernel k(); workload w0() { k(); k(); } ".to_owned();
    for n in 1..60 {
        let _ = write!(source, "workload w{n}() {{ call w{}(); call w{}(); }} ", n - 1, n - 1);
    }
    let (code, text) = refused(&format!("{source} workload main {{ call w59(); }}"));
    assert_eq!(code, Code(890));
    assert!(text.contains("statements"), "{text}");
}

#[test]
fn programs_of_too_many_words_are_refused_with_the_number() {
    let tasks = "k(); ".repeat(MAX_WORDS as usize);
    let (code, text) = refused(&format!("kernel k(); workload main {{ {tasks} }}"));
    assert_eq!(code, Code(890));
    assert!(text.contains(&format!("{} instruction words", MAX_WORDS + 1)), "{text}");
}

#[test]
fn more_than_sixteen_variables_are_refused_with_their_names() {
    let nest = |n: usize| {
        let opens: String = (0..n).map(|i| format!("for v{i} in 0..2 {{ ")).collect();
        format!("kernel k(); workload main {{ {opens} k(); {} }}", "}".repeat(n))
    };
    let sixteen = lowered(&nest(16));
    assert_eq!(sixteen.vars(sixteen.sites[0].word).len(), 16);
    let (code, text) = refused(&nest(17));
    assert_eq!(code, Code(891));
    assert!(text.contains("v16"), "{text}");
}

#[test]
fn bodies_that_nest_too_deeply_are_refused() {
    let nest =
        |n: usize| format!("kernel k(); workload main {{ {} k(); {} }}", "if 1 { ".repeat(n), "}".repeat(n));
    assert_eq!(lowered(&nest(63)).sites.len(), 1);
    assert_eq!(refused(&nest(64)).0, Code(891));
}

#[test]
fn expressions_that_are_too_large_are_refused() {
    let stack = |n: usize| {
        let expr = format!("{}i{}", "(i + ".repeat(n), ")".repeat(n));
        format!("kernel k(a); workload main {{ parallel for i in 0..2 {{ k({expr}); }} }}")
    };
    assert_eq!(lowered(&stack(31)).sites.len(), 1);
    let (code, text) = refused(&stack(32));
    assert_eq!(code, Code(892));
    assert!(text.contains("33 entries of the stack"), "{text}");
    let half = format!("(i{})", " + i".repeat(64));
    let (code, text) = refused(&format!(
        "kernel k(a); workload main {{ parallel for i in 0..2 {{ k({half} + {half}); }} }}"
    ));
    assert_eq!(code, Code(892));
    assert!(text.contains("259 words") && text.contains("a sum of 128 names has 255"), "{text}");
}

#[test]
fn what_the_refusal_of_a_long_sum_says_to_write_fits() {
    let sum = |of: &str, terms: usize| format!("{of}{}", format!(" + {of}").repeat(terms - 1));
    let task = |value: &str| {
        format!("kernel k(a); param n; workload main {{ parallel for i in 0..2 {{ k({value}); }} }}")
    };
    assert_eq!(lowered(&task(&sum("i", 128))).sites.len(), 1);
    assert_eq!(refused(&task(&sum("i", 129))).0, Code(892));
    let named = sum("n", 10_000);
    assert_eq!(refused(&task(&named)).0, Code(892));
    let whole = format!("param n; let part = {named}; kernel k(a); workload main {{ k(part); }}");
    assert_eq!(lowered(&whole).sites.len(), 1);
    let split = format!(
        "kernel k(a); workload rest(part, i) {{ k(part + {}); }} workload main {{ parallel for i in 0..2 {{ call rest({}, i); }} }}",
        sum("i", 100),
        sum("i", 100)
    );
    assert_eq!(lowered(&split).sites.len(), 1);
}

#[test]
fn schedules_that_do_not_fit_are_refused() {
    let text = |directive: &str| {
        format!(
            "kernel k(); axis b = dense(4); workload main {{ parallel for i in b {{ k(); }} }}
             schedule {{ {directive} }}"
        )
    };
    for directive in [
        "dispatch_threshold(b, [0, 1, 2, 3, 4, 5, 6, 7, 8], [any, any, any, any, any, any, any, any, any, any]); task_graph(pools = by_unit(1, 1));",
        "dispatch_threshold(b, [5000000000], [vector, cube]); task_graph(pools = by_unit(1, 1));",
        "dispatch_threshold(b, [2], [static_partition([0..4]), round_robin]);",
        "dispatch(static_partition([0..5000000000]));",
    ] {
        assert_eq!(refused(&text(directive)).0, Code(893), "{directive}");
    }
}

#[test]
fn steps_and_dependences_beyond_their_counts_are_refused() {
    let steps =
        |n: usize| format!("kernel k(); workload main {{ sequential {{ {} }} }}", "{ k(); } ".repeat(n));
    assert_eq!(lowered(&steps(255)).sites.len(), 255);
    assert_eq!(refused(&steps(256)).0, Code(890));
    // Branches need no limit: their order is that of statements.
    let branches = format!("kernel k(); workload main {{ combine {{ {} }} }}", "{ k(); } ".repeat(256));
    assert_eq!(lowered(&branches).sites.len(), 256);
    let after = vec!["a"; 256].join(", ");
    let (code, _) = refused(&format!(
        "kernel k(); workload main {{ let a = k(); k() after {after}; }} schedule {{ task_graph(deps = explicit); }}"
    ));
    assert_eq!(code, Code(890));
}

#[test]
fn names_that_are_too_long_are_left_out() {
    let kernel = "k".repeat(66_000);
    let lowered = lowered(&format!("kernel {kernel}(); workload main {{ {kernel}(); }}"));
    assert_eq!(lowered.notes[0].code, Code(896));
    assert!(lowered.program.as_bytes().len() < 200);
}

#[test]
fn the_number_of_aicpus_is_checked() {
    let lowered = lowered("kernel k(); workload main { k(); }");
    for n in [0, 1025] {
        assert_eq!(dispatch_configs(&lowered, n).expect_err("out of range")[0].code, Code(894));
    }
    assert_eq!(dispatch_configs(&lowered, 1024).expect("the most").len(), 1024);
}

#[test]
fn work_stealing_is_noted() {
    let lowered = lowered("kernel k(); workload main { k(); } schedule { dispatch(work_steal); }");
    assert_eq!(lowered.dispatch, DispatchPlan::RoundRobin);
    assert_eq!((lowered.notes[0].code, lowered.notes[0].severity), (Code(895), Severity::Note));
}

#[test]
fn a_library_has_nothing_to_lower() {
    let module = module("kernel k();");
    assert_eq!(lower(&module, &schedule(&module)).expect_err("no workload")[0].code, Code(818));
}
