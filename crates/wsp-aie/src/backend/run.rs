//! Runs of designs: the text of a design is parsed, checked and interpreted.

use super::Compiled;
use super::text::{checked, placeless, text};
use crate::codes;
use crate::design::Design;
use crate::lower::{HostArray, Launched, Lowered};
use crate::run::{Arg, Counts, Failure, run_both};
use std::sync::Arc;
use std::time::{Duration, Instant};
use wsp_backend::codes::OPTION_OF_OTHERS;
use wsp_backend::{
    Args, ArrayForm, Bodies, Explanation, GraphListing, GraphOptions, KernelStats, Outcome, Prepared,
    Program, Recording, RunError, RunOptions, Stats, Unwritten, WorkloadRunOptions,
};
use wsp_diag::{Diagnostic, Diagnostics};
use wsp_memory::{Array, Claim};
use wsp_plan::{Arrays, PlanSource};

impl Compiled {
    /// What of the options an array has no part of.
    fn refuse(&self, options: &RunOptions, args: &Args) -> Result<(), RunError> {
        options.check(self.source.kind())?;
        let given = [
            ("workload", options.workload != WorkloadRunOptions::default()),
            ("window", options.window.is_some()),
            ("replay", options.replay.is_some()),
            ("trace", options.trace),
            ("plain", options.plain),
            ("payload", options.payload.is_some()),
            ("views", !args.views.is_empty()),
        ];
        match given.iter().find(|(_, given)| *given) {
            None => Ok(()),
            Some((name, _)) => {
                let message = format!("option `{name}` has no meaning on target `{}`", self.target.name);
                let fault = Diagnostic::error(OPTION_OF_OTHERS, message);
                Err(RunError::Refused(fault.help("leave it out, or run the program on `cpu_sim`").into()))
            }
        }
    }
}

/// What a design depends on of arrays.
pub(super) fn forms(arrays: &Arrays) -> Vec<ArrayForm> {
    let form = |(name, array): (&String, &Array)| ArrayForm {
        name: name.clone(),
        elem: array.dtype(),
        shape: array.shape().to_vec(),
    };
    arrays.iter().map(form).collect()
}

impl Program for Compiled {
    fn explain(&self, args: &Args, options: &RunOptions) -> Result<Explanation, RunError> {
        self.refuse(options, args)?;
        let lowered = self.lowered(args).map_err(RunError::Refused)?;
        let mut explained = Explanation::new(lowered.launches[0].tasks.clone());
        explained.implementation = told(&lowered);
        Ok(explained)
    }

    fn graph(&self, args: &Args, options: &GraphOptions) -> Result<GraphListing, RunError> {
        self.of.simulation.compile(&self.source).map_err(RunError::Refused)?.graph(args, options)
    }

    fn placement(&self, args: &Args) -> Result<String, RunError> {
        Ok(super::picture::picture(&self.lowered(args).map_err(RunError::Refused)?.placed))
    }

    /// A sequential run is one of the simulation: it is what others are compared with.
    fn prepare(&self, args: Args, options: RunOptions) -> Result<Box<dyn Prepared>, RunError> {
        if options.sequential {
            let program = self.of.simulation.compile(&self.source).map_err(RunError::Refused)?;
            return program.prepare(args, options);
        }
        self.refuse(&options, &args)?;
        let ready = Ready::new(self.clone(), args, options).map_err(RunError::Refused)?;
        Ok(Box::new(ready))
    }
}

/// What a design is, for people.
fn told(lowered: &Lowered) -> Vec<(&'static str, String)> {
    let placed = &lowered.placed;
    let least = if placed.proven {
        "the least there is".to_owned()
    } else {
        format!("at most {:.1} % above the least", 100.0 * placed.gap)
    };
    let design = &lowered.design;
    vec![
        ("cores", format!("{} of {}", design.cores.len(), design.device.name)),
        ("fifos", format!("{}, {} of them by way of memory tiles", design.fifos.len(), design.links.len())),
        ("placement", format!("{} bytes × hops, {least}", placed.cost)),
    ]
}

/// A design with arguments.
struct Ready {
    program: Compiled,
    lowered: Lowered,
    design: Design,
    notes: Vec<Diagnostic>,
    args: Args,
    options: RunOptions,
    compile: Duration,
    outcome: Option<Outcome>,
}

impl Ready {
    fn new(program: Compiled, args: Args, options: RunOptions) -> Result<Ready, Diagnostics> {
        let begun = clock();
        let lowered = program.lowered(&args)?;
        let (design, found) = checked(&text(&lowered))?;
        let notes = super::heeded(&program.source).into_iter().chain(found).collect();
        let compile = begun.elapsed();
        Ok(Ready { program, lowered, design, notes, args, options, compile, outcome: None })
    }

    /// The launch, the only one of the design.
    fn launched(&self) -> &Launched {
        &self.lowered.launches[0]
    }

    /// The arrays of the sequence: those that are given, and zeros.
    fn given(&self) -> Result<Vec<Arg>, Diagnostic> {
        let of = |array: &HostArray| match self.args.arrays.get(&array.name) {
            Some(given) if given.shape() == array.shape && given.dtype().size() == array.dtype.size() => {
                Ok(Arg::Array(given.bytes().to_vec()))
            }
            Some(given) => Err(Diagnostic::error(
                codes::LAUNCH,
                format!(
                    "`{}` has extents {:?}, and the design takes {:?}",
                    array.name,
                    given.shape(),
                    array.shape
                ),
            )),
            None => {
                let bytes = array.shape.iter().product::<u64>() as usize * array.dtype.size();
                Ok(Arg::Array(vec![0; bytes]))
            }
        };
        self.launched().arrays.iter().map(of).collect()
    }

    /// What tasks leave of an array that they write.
    fn unwritten(&self, array: &HostArray) -> Option<Unwritten> {
        let (elements, first) = array.unwritten.clone()?;
        Some(Unwritten {
            tensor: array.name.clone(),
            loaded: false,
            elements,
            of: array.shape.iter().product(),
            first,
            given: self.args.arrays.contains_key(&array.name),
        })
    }

    fn ran(
        &self,
        (counts, extra): (Counts, Vec<Diagnostic>),
        given: Vec<Arg>,
        run: Duration,
    ) -> Result<Outcome, Diagnostic> {
        let mut outputs = Arrays::new();
        for (array, arg) in self.launched().arrays.iter().zip(given).filter(|(array, _)| array.written) {
            let Arg::Array(bytes) = arg else { continue };
            let no_memory = |fault: wsp_memory::ArrayError| {
                Diagnostic::error(codes::LAUNCH, format!("there is no memory for `{}`", array.name))
                    .note(fault.to_string())
            };
            let mut made = Array::zeros(array.dtype, &array.shape).map_err(no_memory)?;
            made.bytes_mut().copy_from_slice(&bytes);
            outputs.insert(array.name.clone(), made);
        }
        let mut stats = Stats::default();
        (stats.compile, stats.run, stats.streams, stats.executors) = (self.compile, run, 1, 1);
        let kernel =
            |(name, tasks): &(String, u64)| KernelStats { name: name.clone(), tasks: *tasks, busy_ns: 0 };
        stats.kernels = self.launched().tasks.iter().map(kernel).collect();
        stats.tasks = stats.kernels.iter().map(|kernel| kernel.tasks).sum();
        let mut outcome = Outcome::new(outputs, stats);
        // The checker finds the same where it need not follow data.
        let extra = extra.into_iter().map(placeless).filter(|found| !self.notes.contains(found));
        outcome.notes = self.notes.iter().cloned().chain(extra).collect();
        if self.options.recording != Recording::Off {
            outcome.unwritten =
                self.launched().arrays.iter().filter_map(|array| self.unwritten(array)).collect();
        }
        if matches!(self.program.source, PlanSource::Workload(_)) {
            outcome.workload.bodies = Some(Bodies::Library);
        }
        outcome.own = Box::new(counts);
        Ok(outcome)
    }
}

/// The time of this machine, which only statistics have.
#[allow(clippy::disallowed_methods, reason = "statistics say how long a run took")]
fn clock() -> Instant {
    Instant::now()
}

impl Prepared for Ready {
    fn notes(&self) -> &[Diagnostic] {
        &self.notes
    }

    fn launch(&mut self, _: Option<&Arc<Claim>>) -> Result<(), RunError> {
        self.outcome = None;
        let mut given = self.given().map_err(|fault| RunError::Refused(fault.into()))?;
        let begun = clock();
        let failed = |fault: Diagnostic| RunError::Failed(placeless(fault).into());
        let (counts, extra) =
            run_both(&self.design, None, &mut given, &mut |_, _| false).map_err(|failure| match failure {
                Failure::Fault(fault) => failed(fault),
                Failure::Deadlock(stuck) => RunError::Stuck(placeless(stuck.diagnostic()).into()),
            })?;
        let outcome = self.ran((counts, extra), given, begun.elapsed());
        self.outcome = Some(outcome.map_err(|fault| RunError::Failed(fault.into()))?);
        Ok(())
    }

    fn outcome(&mut self) -> Result<Outcome, RunError> {
        self.outcome.take().ok_or_else(RunError::no_outcome)
    }

    fn rebind(&mut self, args: Args) -> Result<(), RunError> {
        let mut all = self.args.clone();
        all.replace(args);
        self.program.refuse(&self.options, &all)?;
        let ready = Ready::new(self.program.clone(), all, self.options.clone());
        *self = ready.map_err(RunError::Refused)?;
        Ok(())
    }
}
