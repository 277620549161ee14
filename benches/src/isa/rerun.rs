//! A finished graph, run again and again on one thread, beside the peers' re-runs of the same graph.

use super::super::runtime::bodies::Order;
use super::super::runtime::measure::{Moment, Span, median};
use super::super::runtime::pattern::{Chain, Independent, Pattern, Wavefront, random_layered, sequential};
use super::super::runtime::table::{Row, Target};
use super::super::runtime::{Field, same_graph};
use super::Plan;
use super::plain::Counts;
use super::unit::{of_pattern, parsed, said};
use pto_wsp::backend::cpu::{Session, SessionOptions};
use pto_wsp::task_graph::TgKernels;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use wsp_core::tg::{Direction, GraphNo};
use wsp_ir::tg::{ArgSignature, KernelSignature};

/// Nanoseconds per kernel that are asked for.
const TARGET_NS: f64 = 15.0;

/// Measures every graph.
pub(super) fn rows(plan: &Plan, field: &Field, row: &mut dyn FnMut(Row)) -> Result<(), String> {
    one(plan, field, "chain", &Chain(plan.rerun), row)?;
    one(plan, field, "independent", &Independent(plan.rerun), row)?;
    one(plan, field, "wavefront", &Wavefront::new(plan.rerun), row)?;
    one(plan, field, "random", &random_layered(plan.rerun), row)
}

fn one(
    plan: &Plan,
    field: &Field,
    name: &str,
    pattern: &impl Pattern,
    row: &mut dyn FnMut(Row),
) -> Result<(), String> {
    let text = of_pattern(pattern);
    let kernels = f64::from(pattern.tasks().max(1));
    let own = checked(&text, pattern)?;
    let ran = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&ran);
    let registered = counting(move || {
        seen.store(seen.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    })?;
    let module = parsed(&text)?;
    let mut session =
        Session::new(&module, &registered, SessionOptions::default()).map_err(|found| said(&found))?;
    let mut prepared = session.prepare(GraphNo(0)).map_err(|fault| fault.message)?;
    let mut by_hand = Counts::of(pattern);
    let count = AtomicU64::new(0);
    let (mut ours, mut plain) = (Vec::new(), Vec::new());
    for round in 0..=plan.rounds {
        ran.store(0, Ordering::Relaxed);
        let start = Moment::now();
        for iteration in 0..i64::from(plan.launches) {
            prepared.invoke(iteration).map_err(|fault| fault.message)?;
        }
        let end = Moment::now();
        for _ in 0..plan.launches {
            by_hand.run(&|_| count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed));
        }
        let after = Moment::now();
        expect_runs(ran.load(Ordering::Relaxed), pattern, plan)?;
        if round > 0 {
            let each = kernels * f64::from(plan.launches);
            ours.push(start.to(end).over(each));
            plain.push(end.to(after).over(each).wall);
        }
    }
    black_box(&count);
    let ours = Span::median(&ours);
    let peers = field.rerun(name, plan.rerun, plan.rounds)?;
    for peer in &peers {
        same_graph(peer.peer, name, own, peer.checksum)?;
    }
    row(Row {
        ours: ours.wall,
        cpu: Some(ours.cpu),
        target: Some(Target::AtMost(TARGET_NS)),
        peers: [Some(median(plain))]
            .into_iter()
            .chain(peers.iter().map(|p| p.time.map(|s| s.wall)))
            .collect(),
        peers_cpu: [None].into_iter().chain(peers.iter().map(|p| p.time.map(|s| s.cpu))).collect(),
        ..Row::plain(&format!("invoke {name}"), 1, "ns/kernel")
    });
    Ok(())
}

/// A kernel that reads and writes its argument, and does what it is told.
pub(super) fn counting(body: impl Fn() + Send + Sync + 'static) -> Result<TgKernels, String> {
    let mut kernels = TgKernels::new();
    let registered = kernels.register("task", Some(signature()), move |_| {
        body();
        Ok(())
    });
    registered.map_err(|fault| fault.message)?;
    Ok(kernels)
}

fn signature() -> KernelSignature {
    KernelSignature::new("task", vec![ArgSignature::new("value", Direction::InOut)])
}

/// Checks that every kernel ran in every launch.
///
/// # Errors
/// Others ran, or fewer.
pub(super) fn expect_runs(found: u64, pattern: &impl Pattern, plan: &Plan) -> Result<(), String> {
    let expected = u64::from(pattern.tasks()) * u64::from(plan.launches);
    if found == expected { Ok(()) } else { Err(format!("{found} kernels ran, not {expected}")) }
}

/// Runs a graph twice with kernels that see the order; gives the checksum of what they computed, as peers do.
fn checked(text: &str, pattern: &impl Pattern) -> Result<u64, String> {
    let order = Arc::new(Order::new(pattern));
    let seen = Arc::clone(&order);
    let mut kernels = TgKernels::new();
    let registered = kernels.register("task", Some(signature()), move |cx| {
        // Kernels are called K0, K1, …
        seen.execute(cx.kernel()[1..].parse::<u32>().unwrap_or(0));
        Ok(())
    });
    registered.map_err(|fault| fault.message)?;
    let module = parsed(text)?;
    let mut session =
        Session::new(&module, &kernels, SessionOptions::default()).map_err(|found| said(&found))?;
    let mut prepared = session.prepare(GraphNo(0)).map_err(|fault| fault.message)?;
    let expected = sequential(pattern);
    let mut sum = 0;
    for iteration in 0..2 {
        prepared.invoke(iteration).map_err(|fault| fault.message)?;
        sum = order.expect(&expected)?;
    }
    Ok(sum)
}
