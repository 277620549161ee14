//! Whether what fits the listed lengths of a range holds for all others: each is launched and compared.

use super::lines::{Item, makes};
use super::program::{Step, numbers, sequence};
use super::range::{Fitted, Listing, Sum, items};
use super::trace::Trace;
use super::{Draft, Launch, Part, assign, flow, host, order, refused};
use crate::device::Device;
use wsp_diag::{Diagnostic, Diagnostics};
use wsp_plan::PlanSource;

/// A launch of a length.
pub(crate) type Probe<'a> = &'a mut dyn FnMut(i64) -> Result<Launch, Diagnostics>;

impl Draft<'_> {
    /// Compares all lengths of a range that are not listed.
    ///
    /// # Errors
    /// The first length that differs.
    pub(super) fn holds(
        &mut self,
        (source, probe): (&PlanSource, Probe<'_>),
        (listing, device): (Listing<'_>, &Device),
    ) -> Result<(), Diagnostics> {
        let Some(fitted) = self.fitted.take() else { return Ok(()) };
        let name = &listing.range.name;
        for length in (listing.range.from..=listing.range.to).filter(|of| !listing.lengths.contains(of)) {
            let with = |found: Diagnostics| -> Diagnostics {
                let noted =
                    found.0.into_iter().map(|found| found.note(format!("this is with {name}={length}")));
                noted.collect::<Vec<_>>().into()
            };
            let launch = probe(length).map_err(with)?;
            let trace = Trace::like(self.parts[0].trace, source, &launch).map_err(with)?;
            let differs =
                self.differs(&trace, (&fitted, length), device).map_err(|found| with(found.into()))?;
            if let Some(what) = differs {
                let message = format!(
                    "with {name}={length} {what} than what fits {} other lengths",
                    listing.lengths.len()
                );
                return Err(refused(message)
                    .note(format!("a sequence that takes the length computes sizes, rounds and words as `a + b · ceil({name} / tile)`"))
                    .help(format!("have a sequence for each length: `--lengths {name}={},{length}`", listing.range.from))
                    .into());
            }
        }
        Ok(())
    }

    /// In what a launch of a length differs from the design.
    fn differs(
        &mut self,
        trace: &Trace,
        (fitted, length): (&Fitted, i64),
        device: &Device,
    ) -> Result<Option<String>, Diagnostic> {
        let cores = device.tiles().filter(|tile| tile.row >= 2).count();
        let first = &self.parts[0];
        let ways = assign::ways(trace, cores);
        let Some(assigned) = ways.into_iter().find(|way| way.is_like(&first.assigned)) else {
            return Ok(Some("tasks are dealt to other cores".to_owned()));
        };
        order::keeps_order(trace, &assigned)?;
        let flows = flow::flows(trace, &assigned)?;
        let ends = host::ends(&flows, device)?;
        let part = Part { trace, assigned, flows };
        let dims = |trace: &Trace| trace.tensors.iter().map(|of| of.dims.clone()).collect::<Vec<_>>();
        let mut held = part.flows.streams.iter().zip(&first.flows.streams);
        if dims(trace) != dims(first.trace) {
            return Ok(Some("arrays have other extents".to_owned()));
        }
        if ends != self.ends || !part.flows_like(first) || held.any(|(own, of)| own.held > of.held) {
            return Ok(Some("other boxes flow, or more of them at a time,".to_owned()));
        }
        // Bodies for the same parameters are those of the first launch.
        let like = if trace.params == first.trace.params { 0 } else { self.parts.len() };
        let at = |sums: &[Sum]| -> Option<Vec<i64>> {
            sums.iter().map(|sum| i32::try_from(sum.at(length)).ok().map(i64::from)).collect()
        };
        for (program, sums) in self.programs.iter_mut().zip(&fitted.words) {
            let numbers = numbers(&part, program.core)?;
            let known = self.bodies.count();
            let of = (like, &numbers, &program.loose, program.order.as_slice());
            let items = sequence(&part, of, (program.core, &mut program.steps, &mut self.bodies))?;
            self.bodies.forget(known);
            let gives =
                |item: &Item| matches!(&program.steps[item.0], Step::Release(of, _) if *of == program.gate);
            let begins = sums.is_empty() || items.iter().any(gives);
            let is_made = at(sums).is_some_and(|words| makes(&program.common.code, &words, &items));
            if !is_made || !begins {
                let name = &part.assigned.names[program.core];
                return Ok(Some(format!("`{name}` has other tasks, numbers or rounds")));
            }
        }
        let mut kinds = fitted.kinds.clone();
        let items = items(&part, &self.ends, &mut kinds)?;
        let is_made = at(&fitted.sums).is_some_and(|words| makes(&fitted.code, &words, &items));
        Ok((!is_made).then(|| "the host starts other transfers".to_owned()))
    }
}
