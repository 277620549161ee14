//! The tasks of a workload on the host, from its program and by a walk over its tree: nanoseconds per task of one thread, for
//! programs that differ in what stands around a task.

use super::super::runtime::measure::median;
use super::super::runtime::table::Row;
use super::Plan;
use super::nest::Nest;

/// Iterations of the inner loop.
const INNER: u64 = 256;

/// What all programs name.
const NAMES: &str = "\
param n = 4; param m = 8;
axis i = dense(n);
axis j = dense(m);
tensor x: f32[n, m * 32];
kernel get(a, b, in x); kernel put(a, out x); kernel add(in x, inout y);
";

/// What is measured, and the tasks of an iteration of the inner loop.
const PROGRAMS: [(&str, u64, &str); 7] = [
    (
        "nest",
        1,
        "workload main { parallel for a in i { parallel for b in j { get(a, b, x[a, b*32 +: 32]); } } }",
    ),
    (
        "affinity",
        1,
        "workload main { parallel for a in i { parallel for b in j { get(a, b, x[a, b*32 +: 32]); } } }
         schedule { dispatch(affinity(i * 3 + j)); }",
    ),
    (
        "updates",
        2,
        "workload main { parallel for a in i { for b in j { add(x[a, b*32 +: 32], x[a, 0 +: 32]); put(b, x[a, b*32 +: 32]); } } }",
    ),
    (
        "choice",
        1,
        "workload main { parallel for a in i { for b in j {
             if b % 3 == 0 { get(a, b, x[a, b*32 +: 32]); } else { put(a, x[a, b*32 +: 32]); } } } }",
    ),
    (
        "steps",
        2,
        "workload main { parallel for a in i { parallel for b in j {
             sequential { { put(a, x[a, b*32 +: 32]); } { get(a, b, x[a, b*32 +: 32]); } } } } }",
    ),
    (
        "call",
        2,
        "workload leaf(p, q) { put(p, x[p, q*32 +: 32]); get(p, q, x[p, q*32 +: 32]); }
         workload main { parallel for a in i { parallel for b in j { call leaf(a, m - 1 - b); } } }",
    ),
    (
        "after",
        2,
        "workload main { parallel for a in i { parallel for b in j {
             let first = put(a, x[a, b*32 +: 32]); get(a, b, x[a, b*32 +: 32]) after first; } } }
         schedule { task_graph(deps = explicit); }",
    ),
];

/// Measures every program both ways.
pub(super) fn rows(plan: &Plan, row: &mut dyn FnMut(Row)) -> Result<(), String> {
    let outer = (u64::from(plan.dense) >> 6) / INNER;
    for (name, per_iteration, source) in PROGRAMS {
        let nest = Nest::new(&format!("{NAMES}{source}"), &[("n", outer.max(1)), ("m", INNER)])?;
        let tasks = (outer.max(1) * INNER * per_iteration) as f64;
        let (mut ours, mut walk) = (Vec::new(), Vec::new());
        for _ in 0..=plan.rounds {
            let (program, walked) = (nest.expand_program()?, nest.expand()?);
            if program.sum != walked.sum || (program.sum.tasks as f64) < tasks {
                return Err(format!("{name}: {:?} is not what a walk gives, {:?}", program.sum, walked.sum));
            }
            ours.push(program.ns / tasks);
            walk.push(walked.ns / tasks);
        }
        // The first of each warms up.
        let median = |times: &[f64]| median(times[1..].to_vec());
        row(Row {
            ours: median(&ours),
            peers: vec![None, None, Some(median(&walk))],
            ..Row::plain(&format!("host, {name}"), 1, "ns/task")
        });
    }
    Ok(())
}
