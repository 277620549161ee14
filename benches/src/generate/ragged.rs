//! Rows of different lengths: nanoseconds per own task with and without sums that say which row holds a task.

use super::super::runtime::measure::median;
use super::super::runtime::table::Row;
use super::Plan;
use super::nest::Nest;
use wsp_core::ptow::interp::Mode;
use wsp_ordered::OrderedMap;

/// AICPUs among which the tasks are dealt.
const AICPUS: u16 = 64;
/// Longest row.
const LONGEST: i64 = 24;

/// Rows of a table's lengths, dealt in turn.
const SOURCE: &str = "\
param n = 4;
table lens[n];
axis i = dense(n);
axis j = ragged(i, lens);
tensor x: f32[n, 32 * 32];
kernel visit(i, j, in x);
workload main { parallel for a in i { parallel for b in j[a] { visit(a, b, x[a, b*32 +: 32]); } } }
schedule { dispatch(round_robin); }
";

/// Measures one AICPU of many, as it finds its tasks: by bisection of sums, by counting rows, and by testing every task.
pub(super) fn rows(plan: &Plan, row: &mut dyn FnMut(Row)) -> Result<(), String> {
    let lengths = lengths((plan.own / 4).max(64));
    let tasks: i64 = lengths.iter().sum();
    let set = [("n", lengths.len() as u64)];
    let nest = Nest::with_tables(SOURCE, &set, &OrderedMap::from([("lens".to_owned(), lengths)]))?;
    let config = nest.config(AICPUS, AICPUS / 2)?;
    let own = tasks as f64 / f64::from(AICPUS);
    let (mut with, mut without, mut naive, mut built) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut memory = Vec::new();
    for _ in 0..=plan.rounds {
        let (sums, ns) = nest.sums(&mut memory);
        built.push(ns / 1e3);
        let took = nest.generate_with(&config, Mode::Skip, sums)?;
        for (times, other) in [
            (&mut without, nest.generate(&config, Mode::Skip)?),
            (&mut naive, nest.generate(&config, Mode::Naive)?),
        ] {
            if other.sum != took.sum {
                return Err(format!("{:?} with sums is not {:?} without", took.sum, other.sum));
            }
            times.push(other.ns / own);
        }
        with.push(took.ns / own);
    }
    let median = |times: &[f64]| median(times[1..].to_vec());
    let naive = Some(median(&naive));
    let found = |ours, measure| Row {
        ours,
        peers: vec![None, naive, None],
        ..Row::plain("ragged", AICPUS.into(), measure)
    };
    row(found(median(&with), "ns/own, sums"));
    row(found(median(&without), "ns/own, no sums"));
    row(Row { ours: median(&built), ..Row::plain("ragged", AICPUS.into(), "sums us") });
    Ok(())
}

/// Lengths from 0 to [`LONGEST`], without an order.
fn lengths(rows: u32) -> Vec<i64> {
    (0..u64::from(rows))
        .map(|row| (row.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as i64 % (LONGEST + 1))
        .collect()
}
