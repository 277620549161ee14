//! Whether what fits the listed lengths of a range holds for all others: each is launched and compared, on all threads of the host.

use super::assign::{self, Assigned};
use super::flow::{self, Flows};
use super::lines::{Item, makes};
use super::program::{Bodies, Program, Step, numbers, sequence};
use super::range::{Fitted, Kind, Listing, Sum, items};
use super::trace::Trace;
use super::{Draft, Launch, Part, host, order};
use crate::device::Device;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use wsp_diag::{Diagnostic, Diagnostics};
use wsp_plan::PlanSource;

/// A launch of a length.
pub(crate) type Probe<'a> = &'a (dyn Fn(i64) -> Result<Launch, Diagnostics> + Sync);

/// Lengths that a thread takes at once: neighbours often differ in words only.
const AT_ONCE: usize = 64;

/// What all lengths are compared with.
struct Holds<'a> {
    draft: &'a Draft<'a>,
    fitted: &'a Fitted,
    source: &'a PlanSource,
    probe: Probe<'a>,
    listing: Listing<'a>,
    device: &'a Device,
}

/// Where a thread writes as it follows launches.
struct Scratch {
    programs: Vec<Program>,
    bodies: Bodies,
    kinds: Vec<Kind>,
    last: Option<Last>,
}

/// The launch before, and what follows from what its tasks touch.
struct Last {
    trace: Trace,
    assigned: Assigned,
    flows: Flows,
    /// What the host starts.
    items: Vec<Item>,
}

impl Draft<'_> {
    /// Compares all lengths of a range that are not listed.
    ///
    /// # Errors
    /// The first length that differs.
    pub(super) fn holds(
        &self,
        (source, probe): (&PlanSource, Probe<'_>),
        (listing, device): (Listing<'_>, &Device),
    ) -> Result<(), Diagnostics> {
        let Some(fitted) = &self.fitted else { return Ok(()) };
        let holds = Holds { draft: self, fitted, source, probe, listing, device };
        let all = listing.range.from..=listing.range.to;
        let lengths: Vec<i64> = all.filter(|of| !listing.lengths.contains(of)).collect();
        let most = thread::available_parallelism().map_or(1, NonZero::get);
        let threads = most.min(lengths.len().div_ceil(AT_ONCE));
        let (next, end) = (AtomicUsize::new(0), AtomicUsize::new(usize::MAX));
        let work = || holds.some(&lengths, (&next, &end));
        let first = thread::scope(|scope| {
            // Where no thread can be had, those that are there do its part.
            let more: Vec<_> =
                (1..threads).map_while(|_| thread::Builder::new().spawn_scoped(scope, work).ok()).collect();
            let own = work();
            let others = more
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            others.chain([own]).flatten().min_by_key(|(at, _)| *at)
        });
        first.map_or(Ok(()), |(_, found)| Err(found))
    }
}

impl Holds<'_> {
    /// Compares lengths from the next on, as long as no earlier one differs; the first that does, by its place.
    fn some(
        &self,
        lengths: &[i64],
        (next, end): (&AtomicUsize, &AtomicUsize),
    ) -> Option<(usize, Diagnostics)> {
        let Draft { programs, bodies, .. } = self.draft;
        let kinds = self.fitted.kinds.clone();
        let mut scratch = Scratch { programs: programs.clone(), bodies: bodies.clone(), kinds, last: None };
        loop {
            let begin = next.fetch_add(AT_ONCE, Ordering::Relaxed);
            for at in begin..begin.saturating_add(AT_ONCE) {
                let length = lengths.get(at).filter(|_| at < end.load(Ordering::Relaxed))?;
                if let Err(found) = self.one(*length, &mut scratch) {
                    end.fetch_min(at, Ordering::Relaxed);
                    return Some((at, found));
                }
            }
        }
    }

    /// Compares one length.
    fn one(&self, length: i64, scratch: &mut Scratch) -> Result<(), Diagnostics> {
        let name = &self.listing.range.name;
        let with = |found: Diagnostics| -> Diagnostics {
            let noted = found.0.into_iter().map(|found| found.note(format!("this is with {name}={length}")));
            noted.collect::<Vec<_>>().into()
        };
        let launch = (self.probe)(length).map_err(with)?;
        let whole = scratch.last.as_mut().map(|last| last.trace.take_whole()).unwrap_or_default();
        let like = scratch.last.as_ref().map_or(self.draft.parts[0].trace, |last| &last.trace);
        let trace = Trace::like((like, whole), self.source, &launch).map_err(with)?;
        let Some(what) = self.differs(trace, length, scratch).map_err(|found| with(found.into()))? else {
            return Ok(());
        };
        let count = self.listing.lengths.len();
        let message = format!("with {name}={length} {what} than what fits {count} other lengths");
        Err(self.listing.range.refused(message, length).into())
    }

    /// In what a launch of a length differs from the design.
    fn differs(
        &self,
        trace: Trace,
        length: i64,
        scratch: &mut Scratch,
    ) -> Result<Option<String>, Diagnostic> {
        let last = match scratch.last.take() {
            Some(last) if last.trace.touches_like(&trace) => Last { trace, ..last },
            _ => match self.flows(trace, &mut scratch.kinds)? {
                Ok(last) => last,
                Err(what) => return Ok(Some(what.to_owned())),
            },
        };
        let Last { trace, assigned, flows, items } = last;
        let part = Part { trace: &trace, assigned, flows };
        let found = self.words((&part, &items), length, scratch);
        let Part { assigned, flows, .. } = part;
        scratch.last = Some(Last { trace, assigned, flows, items });
        found
    }

    /// What flows in a launch, or in what it differs from the design.
    fn flows(&self, trace: Trace, kinds: &mut Vec<Kind>) -> Result<Result<Last, &'static str>, Diagnostic> {
        let first = &self.draft.parts[0];
        let cores = self.device.tiles().filter(|tile| tile.row >= 2).count();
        let ways = assign::ways(&trace, cores);
        let Some(assigned) = ways.into_iter().find(|way| way.is_like(&first.assigned)) else {
            return Ok(Err("tasks are dealt to other cores"));
        };
        order::keeps_order(&trace, &assigned)?;
        let flows = flow::flows(&trace, &assigned)?;
        let ends = host::ends(&flows, self.device)?;
        let dims = |trace: &Trace| trace.tensors.iter().map(|of| of.dims.clone()).collect::<Vec<_>>();
        if dims(&trace) != dims(first.trace) {
            return Ok(Err("arrays have other extents"));
        }
        let part = Part { trace: &trace, assigned, flows };
        let mut held = part.flows.streams.iter().zip(&first.flows.streams);
        if ends != self.draft.ends || !part.flows_like(first) || held.any(|(own, of)| own.held > of.held) {
            return Ok(Err("other boxes flow, or more of them at a time,"));
        }
        let items = items(&part, &ends, kinds)?;
        let Part { assigned, flows, .. } = part;
        Ok(Ok(Last { trace, assigned, flows, items }))
    }

    /// Whether cores and the host do what they do in the design, with the words of a length; what differs.
    fn words(
        &self,
        (part, started): (&Part<'_>, &[Item]),
        length: i64,
        Scratch { programs, bodies, .. }: &mut Scratch,
    ) -> Result<Option<String>, Diagnostic> {
        // Bodies for the same parameters are those of the first launch.
        let parts = &self.draft.parts;
        let like = if part.trace.params == parts[0].trace.params { 0 } else { parts.len() };
        let at = |sums: &[Sum]| -> Option<Vec<i64>> {
            sums.iter().map(|sum| i32::try_from(sum.at(length)).ok().map(i64::from)).collect()
        };
        for (program, sums) in programs.iter_mut().zip(&self.fitted.words) {
            let numbers = numbers(part, program.core)?;
            let known = bodies.count();
            let of = (like, &numbers, &program.loose, program.order.as_slice());
            let items = sequence(part, of, (program.core, &mut program.steps, bodies))?;
            bodies.forget(known);
            let gives =
                |item: &Item| matches!(&program.steps[item.0], Step::Release(of, _) if *of == program.gate);
            let begins = sums.is_empty() || items.iter().any(gives);
            let is_made = at(sums).is_some_and(|words| makes(&program.common.code, &words, &items));
            if !is_made || !begins {
                let name = &part.assigned.names[program.core];
                return Ok(Some(format!("`{name}` has other tasks, numbers or rounds")));
            }
        }
        let is_made = at(&self.fitted.sums).is_some_and(|words| makes(&self.fitted.code, &words, started));
        Ok((!is_made).then(|| "the host starts other transfers".to_owned()))
    }
}
