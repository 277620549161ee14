//! Launches of a graph on the threads of a session, each waited for before the next.

use super::super::runtime::measure::{Moment, Span};
use super::super::runtime::pattern::{Chain, Independent, Pattern, Wavefront, random_layered};
use super::super::runtime::table::Row;
use super::Plan;
use super::rerun::{counting, expect_runs};
use super::unit::{of_pattern, parsed, said};
use pto_wsp::backend::cpu::{Session, SessionOptions};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use wsp_core::tg::GraphNo;
use wsp_runtime::tg::RuntimeConfig;

/// Threads of the sessions.
const THREADS: [u32; 2] = [1, 2];

/// Measures every graph with every number of threads.
pub(super) fn rows(plan: &Plan, row: &mut dyn FnMut(Row)) -> Result<(), String> {
    for threads in THREADS {
        one(plan, threads, "chain", &Chain(plan.rerun), row)?;
        one(plan, threads, "independent", &Independent(plan.rerun), row)?;
        one(plan, threads, "wavefront", &Wavefront::new(plan.rerun), row)?;
        one(plan, threads, "random", &random_layered(plan.rerun), row)?;
    }
    Ok(())
}

fn one(
    plan: &Plan,
    threads: u32,
    name: &str,
    pattern: &impl Pattern,
    row: &mut dyn FnMut(Row),
) -> Result<(), String> {
    let ran = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&ran);
    let kernels = counting(move || {
        seen.fetch_add(1, Ordering::Relaxed);
    })?;
    let module = parsed(&of_pattern(pattern))?;
    let options = SessionOptions {
        runtime: RuntimeConfig { threads, ..RuntimeConfig::default() },
        ..SessionOptions::default()
    };
    let mut session = Session::new(&module, &kernels, options).map_err(|found| said(&found))?;
    let mut spans = Vec::new();
    for round in 0..=plan.rounds {
        ran.store(0, Ordering::Relaxed);
        let start = Moment::now();
        for iteration in 0..i64::from(plan.launches) {
            session.invoke(GraphNo(0), iteration).map_err(|fault| fault.message)?;
            session.sync(GraphNo(0)).map_err(|fault| fault.message)?;
        }
        let span = start.to(Moment::now());
        expect_runs(ran.load(Ordering::Relaxed), pattern, plan)?;
        if round > 0 {
            spans.push(span.over(f64::from(pattern.tasks().max(1)) * f64::from(plan.launches)));
        }
    }
    let Span { wall, cpu } = Span::median(&spans);
    row(Row { ours: wall, cpu: Some(cpu), ..Row::plain(&format!("launch {name}"), threads, "ns/kernel") });
    Ok(())
}
