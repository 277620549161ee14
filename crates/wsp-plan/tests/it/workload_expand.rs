//! What elaboration generates, and the faults that it reports.

use crate::workload_support::{Event, bound, expanded, fault, module, tasks, try_bind};
use wsp_diag::Code;
use wsp_plan::workload::{ExpandError, LoweredSchedule, TaskRecord, TaskSink, count, expand};

fn indices(source: &str) -> Vec<Vec<i64>> {
    tasks(source, &[]).into_iter().map(|task| task.indices).collect()
}

/// Scopes and tasks as a word: `(` begins, `|` steps, `)` ends, `t` is a task.
fn shape(source: &str, slots: &[i64]) -> String {
    let module = module(source);
    let (record, result) = expanded(&module, &bound(&module, &[]), slots);
    assert!(result.is_ok());
    record
        .events
        .iter()
        .map(|event| match event {
            Event::Task(_) => 't',
            Event::Begin => '(',
            Event::Step => '|',
            Event::End => ')',
        })
        .collect()
}

#[test]
fn nested_ordered_loops_keep_their_indices() {
    let source = "kernel k(i, j); workload main { for i in 0..4 { for j in 0..3 { k(i, j); } } }";
    let expected: Vec<Vec<i64>> = (0..4).flat_map(|i| (0..3).map(move |j| vec![i, j])).collect();
    assert_eq!(indices(source), expected);
    let scalars: Vec<Vec<i64>> = tasks(source, &[]).into_iter().map(|task| task.scalars).collect();
    assert_eq!(scalars, expected);
}

#[test]
fn eleven_nested_loops_keep_their_indices_over_calls() {
    let opens: String = (0..11).map(|n| format!("for i in 0..2 {{ call w{n}(i); ")).collect();
    let mut source = "kernel k(n, i); ".to_owned();
    for n in 0..11 {
        source += &format!("workload w{n}(x) {{ k({n}, x); }} ");
    }
    source += &format!("workload main {{ {opens} {} }}", "}".repeat(11));
    let tasks = tasks(&source, &[]);
    assert_eq!(tasks.len(), (1..=11).map(|n| 1 << n).sum::<usize>());
    for task in &tasks {
        assert_eq!(task.indices.len() as i64, task.scalars[0] + 1);
        assert_eq!(task.indices.last(), Some(&task.scalars[1]));
    }
    let mut deepest = tasks.iter().filter(|task| task.indices.len() == 11).map(|task| &task.indices);
    for number in 0..1 << 11 {
        let bits: Vec<i64> = (0..11).rev().map(|bit| number >> bit & 1).collect();
        assert_eq!(deepest.next(), Some(&bits));
    }
}

#[test]
fn sparse_rows_visit_their_entries() {
    let source = "table indptr = [0, 2, 3, 3, 5]; table indices = [7, 9, 8, 1, 7]; axis i = dense(4);
        axis j = sparse(i, indptr, indices); kernel k(row, column, at);
        workload main { parallel for r in i { select c @ p in j[r] { k(r, c, p); } } }";
    let seen: Vec<Vec<i64>> = tasks(source, &[]).into_iter().map(|task| task.scalars).collect();
    assert_eq!(seen, [[0, 7, 0], [0, 9, 1], [1, 8, 2], [3, 1, 3], [3, 7, 4]]);
}

#[test]
fn ragged_rows_have_their_lengths() {
    let source = "table lens = [2, 0, 3]; axis b = dense(3); axis t = ragged(b, lens); kernel k(b, t);
        workload main { parallel for i in b { parallel for j in t[i] { k(i, j); } } }";
    assert_eq!(indices(source), [[0, 0], [0, 1], [2, 0], [2, 1], [2, 2]]);
}

#[test]
fn only_scopes_with_steps_begin() {
    let k = "kernel k(); slot s = 1; ";
    let of = |body: &str, slots: &[i64]| shape(&format!("{k} workload main {{ {body} }}"), slots);
    assert_eq!(of("for i in 0..3 { k(); }", &[]), "(t|t|t)");
    assert_eq!(of("for i in 3..0 { k(); } for i in -2..-5 { k(); }", &[]), "");
    assert_eq!(of("for i in 0..1 { for j in 0..i { k(); } }", &[]), "()");
    assert_eq!(of("parallel for i in 0..3 { k(); }", &[]), "ttt");
    assert_eq!(of("sequential { { k(); k(); } { } { k(); } }", &[]), "(tt||t)");
    assert_eq!(of("combine { { k(); } { k(); } }", &[]), "tt");
    assert_eq!(of("while s max 5 { k(); }", &[1, 1, 0]), "(t|t)");
    assert_eq!(of("while s max 5 { k(); }", &[0]), "");
}

#[test]
fn after_names_the_last_task_of_a_label_in_this_activation() {
    let source = "kernel k(); workload inner(n) { if n == 0 { let p = k(); } let q = k(); k() after q; }
        workload main { call inner(0); call inner(1); let p = k(); parallel for i in 0..2 { let q = k(); k() after p, q, p; } }
        schedule { task_graph(deps = explicit); }";
    let after: Vec<Vec<u64>> = tasks(source, &[]).into_iter().map(|task| task.after).collect();
    let none = || Vec::<u64>::new();
    let inner = [none(), none(), vec![1], none(), vec![3]];
    let main = [none(), none(), vec![5, 6], none(), vec![5, 8]];
    assert_eq!(after, [&inner[..], &main].concat());
}

#[test]
fn arguments_are_sorted_into_what_is_read_and_written() {
    let source = "tensor x: f32[8]; kernel k(out a, in b, n, inout c);
        workload main { k(x[0..1], x[1..2], 7, x[2..3]); }";
    let task = &tasks(source, &[])[0];
    let firsts = |regions: &[wsp_core::Region]| regions.iter().map(|b| b.lo[0]).collect::<Vec<_>>();
    assert_eq!(firsts(&task.regions), [0, 1, 2]);
    assert_eq!(firsts(&task.reads), [1, 2]);
    assert_eq!(firsts(&task.writes), [0, 2]);
    assert_eq!(task.scalars, [7]);
}

#[test]
fn regions_at_the_edges_are_allowed_and_may_be_empty() {
    let source = "param n = 0; tensor x: f32[8]; tensor e: f32[n]; kernel k(in a);
        workload main { k(x[8..8]); k(x[0 +: 8]); k(x[7]); k(e); k(e[0..0]); }";
    let bounds: Vec<(u32, u32)> =
        tasks(source, &[]).iter().map(|t| (t.regions[0].lo[0], t.regions[0].hi[0])).collect();
    assert_eq!(bounds, [(8, 8), (0, 8), (7, 8), (0, 0), (0, 0)]);
}

#[test]
fn a_fault_of_a_task_that_is_never_generated_is_none() {
    let source = "tensor x: f32[4]; table t = [1, 2]; kernel k(in a, n);
        workload main { parallel for i in 0..9 { if i < 4 { k(x[i], i < 2 ? t[i] : 0); } if i < 2 { k(x[t[i]], 5 / (2 - i)); } } }";
    assert_eq!(tasks(source, &[]).len(), 6);
}

#[test]
fn a_region_outside_its_tensor_names_everything() {
    let source = "tensor x: f32[8, 4]; kernel k(n, in a);
        workload main { parallel for i in 0..9 { parallel for j in 0..2 { k(0, x[i, j*2 +: 3]); } } }";
    let (diagnostic, before) = fault(source, &[]);
    assert_eq!((diagnostic.code, before), (Code(813), 1));
    let text = format!("{diagnostic:?}");
    for part in [
        "tensor `x`",
        "dimension 1: 2..5, and the extent is 4",
        "[8, 4]",
        "at i = 0, j = 1",
        "argument 2 of `k`",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn indices_beyond_31_bits_are_exact() {
    let big = 1i64 << 40;
    let source = format!(
        "tensor x: f32[8]; kernel k(in a, n);
         workload main {{ parallel for i in {big}..{big} + 3 {{ k(x[i - {big}], i * 2); }} }}"
    );
    let seen: Vec<(u32, i64)> =
        tasks(&source, &[]).iter().map(|t| (t.regions[0].lo[0], t.scalars[0])).collect();
    assert_eq!(seen, [(0, 2 * big), (1, 2 * big + 2), (2, 2 * big + 4)]);
    let far = i64::MAX / 4 + 1;
    let source =
        format!("kernel k(n); workload main {{ parallel for i in {far} - 1..{far} + 1 {{ k(i * 4); }} }}");
    assert_eq!((fault(&source, &[]).0.code, fault(&source, &[]).1), (Code(810), 1));
}

#[test]
fn faults_have_their_codes() {
    let code = |body: &str, set: i64| {
        let source = format!(
            "param n = 0; table t = [1, 2]; table p = [0, 1]; axis b = dense(2); axis r = ragged(b, t);
             axis c = dense(1); axis s = sparse(c, p, t); tensor x: f32[8]; slot again = 1; kernel k(in a, n);
             workload main {{ {body} }}"
        );
        fault(&source, &[("n", set)]).0.code
    };
    assert_eq!(code("k(x, n + 1);", i64::MAX), Code(810));
    assert_eq!(code("k(x, -n);", i64::MIN), Code(810));
    assert_eq!(code("k(x, 1 / n);", 0), Code(811));
    assert_eq!(code("k(x, 1 % n);", 0), Code(811));
    assert_eq!(code("k(x, t[n]);", 2), Code(812));
    assert_eq!(code("k(x, t[n]);", -1), Code(812));
    assert_eq!(code("k(x[n], 0);", 8), Code(813));
    assert_eq!(code("k(x[n], 0);", i64::MAX), Code(813));
    assert_eq!(code("k(x[3..n], 0);", 2), Code(813));
    assert_eq!(code("k(x[3 +: n], 0);", -1), Code(813));
    assert_eq!(code("for i in 0..4 step n { k(x, 0); }", 0), Code(814));
    assert_eq!(code("while n max 3 { k(x, 0); }", 1), Code(815));
    assert_eq!(code("while n max 0 { k(x, 0); }", 1), Code(815));
    assert_eq!(code("for i in r[n] { k(x, 0); }", 2), Code(816));
    assert_eq!(code("for i in r[n] { k(x, 0); }", -1), Code(816));
    assert_eq!(code("select i in s[n] { k(x, 0); }", 1), Code(816));
    assert_eq!(code("if 1 / n { k(x, 0); }", 0), Code(811));
    assert_eq!(code("for i in 0..1/n { k(x, 0); }", 0), Code(811));
}

#[test]
fn a_file_without_workloads_has_nothing_to_run() {
    let module = module("param n = 1;");
    let result = expanded(&module, &bound(&module, &[]), &[]).1;
    assert!(matches!(result, Err(ExpandError::Fault(d)) if d.code == Code(818)));
}

/// Takes so many tasks.
struct Few {
    left: u32,
    cancel: bool,
}

impl TaskSink for Few {
    type Error = &'static str;

    fn task(&mut self, _: &TaskRecord<'_>) -> Result<(), &'static str> {
        match self.left.checked_sub(1) {
            Some(left) => self.left = left,
            None if self.cancel => {}
            None => return Err("full"),
        }
        Ok(())
    }

    fn slot(&mut self, _: wsp_core::SlotId) -> Result<i64, &'static str> {
        Err("no slots")
    }

    fn cancelled(&self) -> bool {
        self.cancel && self.left < 5
    }
}

#[test]
fn a_sink_ends_the_expansion() {
    let run = |source: &str, left, cancel| {
        let module = module(source);
        expand(&module, &bound(&module, &[]), &LoweredSchedule::default(), &mut Few { left, cancel })
    };
    let tasks = "kernel k(); workload main { for i in 0..10000000000 { if i < 10 { k(); } } }";
    assert!(matches!(run(tasks, 9, false), Err(ExpandError::Sink("full"))));
    assert!(matches!(run(tasks, 12, true), Err(ExpandError::Cancelled)));
    let slot = "slot s = 0; kernel k(); workload main { if s { k(); } }";
    assert!(matches!(run(slot, 9, false), Err(ExpandError::Sink("no slots"))));
}

#[test]
fn calls_that_double_at_each_of_many_levels_can_be_stopped() {
    let mut source = "kernel k(); workload w0() { k(); } ".to_owned();
    for n in 1..100 {
        source += &format!("workload w{n}() {{ call w{0}(); call w{0}(); }} ", n - 1);
    }
    source += "workload main { call w99(); }";
    let module = module(&source);
    let bindings = bound(&module, &[]);
    assert_eq!(count(&module, &bindings), None, "2^99 tasks are not counted");
    let result =
        expand(&module, &bindings, &LoweredSchedule::default(), &mut Few { left: 5000, cancel: true });
    assert!(matches!(result, Err(ExpandError::Cancelled)));
}

#[test]
fn a_loop_that_would_never_end_is_refused_at_once() {
    let source = "kernel k(); workload main { parallel for i in 0..1000000000000 { } }";
    let (diagnostic, _) = fault(source, &[]);
    assert_eq!(diagnostic.code, Code(817));
    assert!(format!("{diagnostic:?}").contains("this loop alone has 1000000000000 iterations"));
}

#[test]
fn a_kernel_cost_is_evaluated_over_its_scalars() {
    let module =
        module("param p = 10; tensor x: f32[4]; kernel k(in a, n) cost p * n; workload main { k(x, 3); }");
    let bindings = try_bind(&module, &[("p", 7)], &[]).expect("bound");
    let cost = module.kernels[0].cost.as_ref().expect("a cost");
    assert_eq!(bindings.evaluate(&module, cost, &[6]).ok(), Some(42));
    assert_eq!(bindings.evaluate(&module, cost, &[i64::MAX]).map_err(|d| d.code), Err(Code(810)));
}
