//! What goes wrong while AICPUs generate tasks is said in the words of a sequential run, on every AICPU, and whether it depends
//! on a computed slot or not.

use crate::workloads::program;
use wsp_backend::Expand;
use wsp_cpu::workload::{KernelCx, KernelRegistry, WorkloadInputs, WorkloadOptions};
use wsp_diag::Diagnostic;

/// A workload, and what is said of it.
const FAULTS: &[(&str, &str)] = &[
    ("workload main { parallel for i in 0..9 { k(12 / (5 - i)); } }", "division by zero"),
    ("workload main { parallel for i in 0..9 { k(i * 4611686018427387904); } }", "`*` overflows"),
    ("workload main { for i in 0..3 { k(-(i - 9223372036854775807 - 1)); } }", "`-` overflows"),
    ("workload main { parallel for i in 0..9 { k(t[i * 2]); } }", "outside table `t`"),
    ("workload main { for i in 0..9 { parallel for j in 0..2 { r(x[i..i + 3 - j]); } } }", "lies outside it"),
    ("workload main { for i in 0..9 { r(x[i..4]); } }", "ends before it begins"),
    ("workload main { k(0); for j in 0..2 { parallel for i in 0..4 step j { k(i); } } }", "a step of 0"),
    ("workload main { parallel for i in 0..9 { for j in rag[i] { k(j); } } }", "has no row 3"),
    ("workload main { parallel for i in 0..9 { for j in rag[i * 2] { k(j); } } }", "has no row 4"),
    ("workload main { parallel for i in 0..3 { select j in sp[i + 1] { k(j); } } }", "has no row 3"),
    ("workload main { k(0); while 1 max 5 { k(1); } }", "still holds after 5 rounds"),
    ("workload main { for i in 0..2 { for j in 0..100000000000 * i { k(j); } } }", "too many iterations"),
    ("workload w(i) { k(1); } workload main { parallel for i in 0..4 { call w(1 / (2 - i)); } }", "division"),
    (
        "workload w(i) { if 8 / (i - 1) > 0 { k(i); } } workload main { for i in 0..4 { call w(i); } }",
        "division",
    ),
    // The first argument at fault is reported, whatever its kind.
    ("workload main { parallel for i in 0..9 { m(x[i..i + 6], 4 / (3 - i)); } }", "lies outside it"),
    ("workload main { parallel for i in 0..9 { m(x[i..i + 6], 4 / (2 - i)); } }", "division by zero"),
    // Equal expressions are one, and their places are two.
    ("workload main { for i in 0..4 { k(i / 3); if 1 { k(5 / (i / 3)); } } }", "division by zero"),
    (
        "workload main { parallel for i in b { k(i); } }
         schedule { priority(b * 2000000000); task_graph(ready = priority); }",
        "a priority of 4000000000",
    ),
    ("workload main { parallel for i in b { k(i); } } schedule { dispatch(hash(6 / (2 - b))); }", "division"),
    (
        "workload main { parallel for i in b { k(4 / (2 - i)); } } schedule { dispatch(hash(6 / (2 - b))); }",
        "division",
    ),
    // What follows depends on a slot that a task computes.
    ("workload main { c(n); for i in 0..n { k(12 / (n - 3)); } }", "division by zero"),
    ("workload main { c(n); parallel for i in 0..3 { r(x[n + i..n + 7]); } }", "lies outside it"),
    (
        "workload main { c(n); parallel for i in 0..3 { m(x[i..i + n * 2], 4 / (n - 3)); } }",
        "division by zero",
    ),
    ("workload main { c(n); for i in 0..4 step n - 3 { k(i); } }", "a step of 0"),
    ("workload main { c(n); parallel for i in 0..2 { for j in rag[n + i] { k(j); } } }", "has no row 3"),
    ("workload main { c(n); while n > 1 max 4 { k(1); } }", "still holds after 4 rounds"),
    ("workload main { c(n); while 12 / (n - 3) > 1 { k(1); } }", "division by zero"),
    ("workload main { for i in 0..2 { while 12 / n > 1 { d(n); } } }", "division by zero"),
    (
        "workload w(i) { k(i); } workload main { c(n); parallel for i in 0..3 { call w(t[n + i]); } }",
        "outside table",
    ),
];

/// What the workloads name.
const NAMES: &str = "
    table t = [3, 1, 4, 1]; table lens = [1, 2, 1]; table ptr = [0, 1, 2, 4]; table cols = [0, 2, 1, 2];
    axis b = dense(3); axis rag = ragged(b, lens); axis sp = sparse(b, ptr, cols);
    tensor x: f32[8]; slot n = 3;
    kernel k(i); kernel r(in a); kernel m(in a, i); kernel c(inout a); kernel d(inout a);
";

/// What is wrong with a workload whose kernel `c` computes 3, and `d` one less than there was.
fn faults(text: &str, options: &WorkloadOptions) -> Vec<Diagnostic> {
    let mut registry = KernelRegistry::new();
    for nothing in ["k", "r", "m"] {
        registry.register(nothing, |_: &mut KernelCx<'_>| Ok(())).expect("one of each");
    }
    registry.register("c", |cx: &mut KernelCx<'_>| cx.store(0, &[3i64])).expect("one of each");
    let down = |cx: &mut KernelCx<'_>| {
        let left = cx.load::<i64>(0)?[0];
        cx.store(0, &[left - 1])
    };
    registry.register("d", down).expect("one of each");
    let program = program(text).with_kernels(registry).expect("every kernel has a function");
    program.execute(&WorkloadInputs::all_made_up(0), options).expect_err(text)
}

#[test]
fn faults_on_aicpus_are_told_as_those_of_a_sequential_run() {
    for (workload, part) in FAULTS {
        let text = format!("{NAMES}{workload}");
        let sequential = WorkloadOptions { sequential: true, ..WorkloadOptions::default() };
        let expected = faults(&text, &sequential);
        assert!(expected[0].message.contains(part), "{workload}: {expected:?}");
        assert!(expected[0].primary.as_ref().is_some_and(|label| label.span.start > 0), "{expected:?}");
        for aicpus in [1, 2, 5] {
            let options = WorkloadOptions {
                aicpus,
                expand: Expand::Bytecode,
                threads: 2,
                ..WorkloadOptions::default()
            };
            assert_eq!(faults(&text, &options), expected, "{workload}, {aicpus} AICPUs");
        }
    }
}
