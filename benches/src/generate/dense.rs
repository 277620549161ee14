//! Nanoseconds per task of one thread, for a nest of two loops.

use super::super::runtime::measure::{Moment, median};
use super::super::runtime::table::{Row, Target};
use super::Plan;
use super::hosts::Sum;
use super::nest::{Nest, Took};
use std::hint::black_box;
use wsp_core::ptow::interp::Mode;
use wsp_core::{Region, TensorId};

/// Iterations of the inner loop.
const INNER: u32 = 1024;
/// Tasks per second and thread that are asked for: 100 million.
const TARGET_NS: f64 = 10.0;

/// Two loops, two parameters, one box that is read.
pub(super) const SOURCE: &str = "\
param n = 4; param m = 8;
axis i = dense(n);
axis j = dense(m);
tensor x: f32[n, m * 32];
kernel visit(i, j, in x);
workload main { parallel for a in i { parallel for b in j { visit(a, b, x[a, b*32 +: 32]); } } }
";

/// Measures the nest as one AICPU's.
pub(super) fn rows(plan: &Plan, row: &mut dyn FnMut(Row)) -> Result<(), String> {
    let inner = INNER.min(plan.dense);
    let outer = plan.dense / inner;
    let nest = Nest::new(SOURCE, &[("n", outer.into()), ("m", inner.into())])?;
    let config = nest.config(1, 0)?;
    let tasks = f64::from(outer) * f64::from(inner);
    let (mut ours, mut by_hand, mut naive, mut host) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..=plan.rounds {
        let hand = hand_written(outer, inner);
        for (times, took) in [
            (&mut ours, nest.generate(&config, Mode::Skip)?),
            (&mut by_hand, hand),
            (&mut naive, nest.generate(&config, Mode::Naive)?),
            (&mut host, nest.expand()?),
        ] {
            if took.sum != hand.sum {
                return Err(format!(
                    "{:?} is not what a loop written by hand gives, {:?}",
                    took.sum, hand.sum
                ));
            }
            times.push(took.ns / tasks);
        }
    }
    // The first of each warms up.
    let median = |times: Vec<f64>| median(times[1..].to_vec());
    let host = median(host);
    row(Row {
        ours: median(ours),
        target: Some(Target::AtMost(TARGET_NS)),
        peers: vec![Some(median(by_hand)), Some(median(naive)), Some(host)],
        ..Row::plain("dense", 1, "ns/task")
    });
    row(Row { ours: host, ..Row::plain("dense, by the host", 1, "ns/task") });
    Ok(())
}

/// The same tasks from two loops that were written for them: what any interpreter of the nest can come to at best.
fn hand_written(outer: u32, inner: u32) -> Took {
    let start = Moment::now();
    let (outer, inner) = (black_box(outer), black_box(inner));
    let mut sum = Sum::default();
    let mut ordinal = 0;
    let mut params = [0i64; 2];
    let mut regions = [Region { tensor: TensorId(0), lo: [0; 6], hi: [1; 6] }];
    for a in 0..outer {
        params[0] = a.into();
        (regions[0].lo[0], regions[0].hi[0]) = (a, a + 1);
        for b in 0..inner {
            params[1] = b.into();
            (regions[0].lo[1], regions[0].hi[1]) = (b * 32, b * 32 + 32);
            // The task is in memory when it is handed over, as it is for whoever runs it.
            sum.take(ordinal, black_box(&params), black_box(&regions));
            ordinal += 1;
        }
    }
    Took { sum, ns: start.to(Moment::now()).cpu }
}
