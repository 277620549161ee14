//! Runs of designs: the text of a design is parsed, checked and interpreted.

use super::Compiled;
use super::text::{checked, placeless};
use crate::codes;
use crate::design::Design;
use crate::lower::{HostArray, Launched, Lowered, kernels_of};
use crate::run::{Arg, Counts, Failure, run_both};
use crate::stop;
use std::sync::Arc;
use std::time::{Duration, Instant};
use wsp_backend::{
    Absent, Args, ArrayForm, Bodies, CheckedLaunch, Expand, Explanation, GraphListing, GraphOptions,
    KernelStats, KvLayout, Outcome, Prepared, Program, Recording, RunError, RunOptions, SpaceOptions, Stats,
    Unwritten, WorkloadRunOptions,
};
use wsp_diag::{Diagnostic, Diagnostics};
use wsp_ir::Storage;
use wsp_memory::{Array, Claim};
use wsp_plan::{Arrays, PlanSource};

impl Compiled {
    /// What of the options an array has no part of.
    fn refuse(&self, options: &RunOptions, args: &Args) -> Result<(), RunError> {
        options.check(self.source.kind())?;
        // A seed draws the order of a run on several threads, and a design runs on one. Recording, cancelling, claims of arrays and counters of progress are
        // the caller's. No function of the caller runs for a task, so nothing is ever left in `payload`. Options of task graphs are refused above.
        let RunOptions {
            threads,
            seed: _,
            window,
            replay,
            trace,
            recording: _,
            sequential: _,
            plain,
            cancel: _,
            poll: _,
            payload: _,
            progress: _,
            claim: _,
            spaces: SpaceOptions { kv_layout },
            workload,
            unit: _,
        } = options;
        let WorkloadRunOptions { aicpus, expand, made_up, absent, data_seed, mixing, whole_outs, phases } =
            workload;
        let given = [
            ("threads", *threads != 0),
            ("kv_layout", *kv_layout != KvLayout::default()),
            ("aicpus", *aicpus != 0),
            ("expand", *expand != Expand::default()),
            ("made_up", !made_up.is_empty()),
            ("absent", *absent != Absent::default()),
            ("data_seed", *data_seed != 0),
            ("mixing", *mixing),
            ("whole_outs", *whole_outs),
            ("phases", *phases),
            ("window", window.is_some()),
            ("replay", replay.is_some()),
            ("trace", *trace),
            ("plain", *plain),
            ("views", !args.views.is_empty()),
        ];
        match given.iter().find(|(_, given)| *given) {
            None => Ok(()),
            Some((name, _)) => {
                let fault = super::of_others(name, self.target);
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
        Ok(Box::new(Ready::new(self.clone(), args, options)?))
    }
}

/// The design of a launch, placed, routed, printed, parsed and checked; it does not run.
pub(super) fn look(program: &Compiled, args: &Args) -> Result<CheckedLaunch, Diagnostics> {
    let lowered = program.lowered(args)?;
    let (_, found) = checked(&lowered)?;
    let found = super::heeded(&program.source).into_iter().chain(found).collect();
    let lines = told(&lowered).into_iter().map(|(name, text)| format!("{name}: {text}"));
    Ok(CheckedLaunch { lines: lines.collect(), found })
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
    /// # Errors
    /// The program has no form on an array, or the caller stopped it.
    fn new(program: Compiled, args: Args, options: RunOptions) -> Result<Ready, RunError> {
        let begun = clock();
        let made = stop::stoppable(options.cancel.as_ref(), || {
            let lowered = program.lowered(&args)?;
            let (design, found) = checked(&lowered)?;
            stop::look()?;
            Ok((lowered, design, found))
        });
        let (lowered, design, found) = made.map_err(|found: Diagnostics| {
            match found.0.iter().any(|found| found.code == codes::STOPPED) {
                true => RunError::Cancelled(found),
                false => RunError::Refused(found),
            }
        })?;
        // What tasks leave of outputs is reported by elements, where stores are recorded.
        let found = found.into_iter().filter(|found| found.code != codes::PART);
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

    /// Elements of outputs that no task stores, where these are asked for: the program runs beside the design, one task after the other, where what is stored is recorded.
    ///
    /// # Errors
    /// What stops that run; a load of elements of a temporary that no task has stored is among it.
    fn unwritten(&self) -> Result<Vec<Unwritten>, RunError> {
        let is_asked_for = self.options.recording != Recording::Off;
        let tensors = &kernels_of(&self.program.source)
            .map_err(|fault| RunError::Refused(fault.into()))?
            .module
            .tensors;
        if !is_asked_for && !tensors.iter().any(|tensor| tensor.storage == Storage::Temporary) {
            return Ok(Vec::new());
        }
        let options = RunOptions { sequential: true, ..self.options.clone() };
        let program = self.program.of.simulation.compile(&self.program.source).map_err(RunError::Refused)?;
        Ok(program.execute(self.args.clone(), options)?.unwritten)
    }

    fn ran(
        &self,
        (counts, extra): (Counts, Vec<Diagnostic>),
        given: Vec<Arg>,
        (run, unwritten): (Duration, Vec<Unwritten>),
    ) -> Result<Outcome, Diagnostic> {
        let mut outputs = Arrays::new();
        for (array, arg) in self.launched().arrays.iter().zip(given).filter(|(array, _)| array.written) {
            let Arg::Array(bytes) = arg else { continue };
            let made = Array::zeros(array.dtype, &array.shape);
            let mut made = made.map_err(|fault| no_memory(&array.name, &fault))?;
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
        outcome.unwritten = unwritten;
        if matches!(self.program.source, PlanSource::Workload(_)) {
            outcome.workload.bodies = Some(Bodies::Library);
        }
        outcome.own = Box::new(counts);
        Ok(outcome)
    }
}

/// An array that there is no room for.
pub(super) fn no_memory(name: &str, fault: &wsp_memory::ArrayError) -> Diagnostic {
    Diagnostic::error(codes::LAUNCH, format!("there is no memory for `{name}`")).note(fault.to_string())
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
        let unwritten = self.unwritten()?;
        let mut given = self.given().map_err(|fault| RunError::Refused(fault.into()))?;
        let begun = clock();
        let cancel = self.options.cancel.as_ref();
        let ran = run_both(&self.design, None, &mut given, &mut |_, _| false, cancel);
        let (counts, extra) = ran.map_err(|failure| {
            let found = placeless(failure.diagnostic()).into();
            match failure {
                Failure::Fault(_) => RunError::Failed(found),
                Failure::Deadlock(_) => RunError::Stuck(found),
                Failure::Cancelled => RunError::Cancelled(found),
            }
        })?;
        let outcome = self.ran((counts, extra), given, (begun.elapsed(), unwritten));
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
        *self = Ready::new(self.program.clone(), all, self.options.clone())?;
        Ok(())
    }
}
