//! Tokens from one process to another through a channel, beside `crossbeam-channel` in the same rounds.
//!
//! A token of ours without tasks is a step of the program that generates tasks, on whichever thread that is; one with tasks is written by a task, and read by
//! one that waits for it. With `crossbeam-channel` a token is a number that one thread sends and another one receives, or one thread in turn.

use super::Plan;
use super::measure::{Moment, Span};
use super::ours::text;
use super::table::Row;
use crossbeam_channel::bounded;
use pto_wsp::{Args, Program, RunOptions, Source};
use std::thread;

/// Tokens that a channel holds.
const DEPTHS: [u32; 2] = [2, 64];

/// What a token is, by name: with tasks or without.
const KINDS: [(&str, bool); 2] = [("token", false), ("token, two tasks", true)];

/// Measures tokens with 1 and 2 threads.
///
/// # Errors
/// A run failed, or tokens were lost.
pub(super) fn rows(plan: &Plan, mut emit: impl FnMut(Row)) -> Result<(), String> {
    let tokens = plan.stream_tasks.min(1_000_000) / 10;
    for depth in DEPTHS {
        for threads in [1, 2] {
            let ours = [program(depth, tokens, false)?, program(depth, tokens, true)?];
            let mut spans = [Vec::new(), Vec::new(), Vec::new()];
            for repeat in 0..=plan.repeats * plan.rounds {
                for (way, spans) in spans.iter_mut().enumerate() {
                    let start = Moment::now();
                    match ours.get(way) {
                        Some(program) => once(program, tokens, threads, way == 1)?,
                        None => crossbeam(depth, tokens, threads)?,
                    }
                    if repeat > 0 {
                        spans.push(start.to(Moment::now()).over(f64::from(tokens)));
                    }
                }
            }
            let medians = spans.map(|spans| Span::median(&spans));
            let [.., theirs] = medians;
            let rate = |of: Span| 1e3 / of.wall;
            for ((name, _), of) in KINDS.iter().zip(medians) {
                let name = format!("{name} [{depth}]");
                let row = |measure| Row::plain(&name, threads, measure);
                emit(Row { ours: rate(of), cpu: Some(1e3 / of.cpu), ..row("M tokens/s") });
                emit(Row { ours: of.wall / theirs.wall, ..row("crossbeam's times") });
            }
            let name = format!("crossbeam [{depth}]");
            let row = Row::plain(&name, threads, "M tokens/s");
            emit(Row { ours: rate(theirs), cpu: Some(1e3 / theirs.cpu), ..row });
        }
    }
    Ok(())
}

/// Two processes with a channel between them.
fn program(depth: u32, tokens: u32, has_tasks: bool) -> Result<Program, String> {
    let [put, take] = if has_tasks { ["put(ring[s], i);", "take(ring[s], sum);"] } else { [""; 2] };
    let source = format!(
        "tensor ring: f64[{depth}]; tensor sum: f64[1]; kernel put(out a, i); kernel take(in a, inout sum); kernel zero(out sum);
         workload main {{ channel c[{depth}]; zero(sum); pipeline {{
            process from {{ parallel for i in 0..{tokens} {{ send c as s {{ {put} }} }} }}
            process to {{ parallel for i in 0..{tokens} {{ consume c as s {{ {take} }} }} }} }} }}"
    );
    let source = Source::text("channel.wsp", source)
        .kernel("put", |a: &mut [f64], i: i64| a[0] = i as f64)
        .kernel("take", |a: &[f64], sum: &mut [f64]| sum[0] += a[0])
        .kernel("zero", |sum: &mut [f64]| sum[0] = 0.0);
    source.compile().map_err(text)
}

/// Runs the program, and looks whether all tokens came. A prepared one would keep its tasks, and send no token the next time.
fn once(program: &Program, tokens: u32, threads: u32, has_tasks: bool) -> Result<(), String> {
    let options = RunOptions { threads, ..RunOptions::default() };
    let outcome = program.execute(Args::new(), options).map_err(text)?;
    let tasks = 1 + if has_tasks { 2 * u64::from(tokens) } else { 0 };
    let sum = outcome.outputs["sum"].as_slice::<f64>().map(|sum| sum[0]);
    let expected = if has_tasks { sum_of(tokens) as f64 } else { 0.0 };
    if (outcome.stats.tasks, sum) == (tasks, Some(expected)) {
        Ok(())
    } else {
        Err("tokens were lost".to_owned())
    }
}

/// The sum of the numbers below one.
fn sum_of(tokens: u32) -> u64 {
    u64::from(tokens) * u64::from(tokens.saturating_sub(1)) / 2
}

/// The same numbers through a channel of as many.
fn crossbeam(depth: u32, tokens: u32, threads: u32) -> Result<(), String> {
    let (sender, receiver) = bounded::<u64>(depth as usize);
    let mut sum = 0;
    if threads == 1 {
        for first in (0..tokens).step_by(depth as usize) {
            let some = first..tokens.min(first + depth);
            some.clone().try_for_each(|i| sender.try_send(i.into())).map_err(text)?;
            for _ in some {
                sum += receiver.try_recv().map_err(text)?;
            }
        }
    } else {
        thread::scope(|scope| {
            scope.spawn(move || (0..tokens).try_for_each(|i| sender.send(i.into())));
            sum = receiver.iter().sum();
        });
    }
    if sum == sum_of(tokens) { Ok(()) } else { Err("`crossbeam-channel` lost tokens".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_token_arrives_in_each_way() {
        for threads in [1, 2] {
            for has_tasks in [false, true] {
                once(&program(2, 1000, has_tasks).unwrap(), 1000, threads, has_tasks).unwrap();
            }
            crossbeam(3, 1000, threads).unwrap();
        }
    }
}
