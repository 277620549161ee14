//! Task graphs behind the seam.

use super::{CpuSimBackend, failed, refuse, refused, runs_kernels};
use crate::codes::BAD_OPTION;
use crate::machine;
use crate::tg::{CheckedUnit, Session, SessionOptions, TgKernels, fits, simulate};
use crate::workload::settings;
use std::sync::Arc;
use std::time::Duration;
use wsp_backend::{
    Args, BARRIER_NODE, Begin, Detail, Explanation, GraphKernel, GraphListing, GraphOptions, Outcome,
    Prepared, Recording, Released, RunError, RunOptions, Simulated, StartOrder, Starts, Stats, UnitOptions,
};
use wsp_core::ExecPool;
use wsp_core::policy::Hints;
use wsp_core::tg::{CoreType, Instr};
use wsp_diag::{Diagnostic, did_you_mean};
use wsp_ir::tg::TgModule;
use wsp_memory::Claim;
use wsp_ordered::{Arrange, OrderedSet};
use wsp_plan::target::model::Model;
use wsp_plan::{ProgramKind, UnitSource};
use wsp_runtime::tg::{CoreCounts, Replay, RuntimeConfig, Tracing};
use wsp_runtime::{StartError, clock, worker_threads};
use wsp_tg::{ElaborateOptions, UnitGraph, UnitNode, elaborate};

/// A unit of task graphs with its kernels.
pub(super) struct UnitProgram {
    unit: Arc<UnitSource>,
    kernels: Arc<TgKernels>,
    /// What runs kernels of its files; none where it has none.
    runs_kernels: Vec<(&'static str, String)>,
    compiled: Duration,
}

/// The functions that a backend is given, and the kernels of a unit's files.
pub(super) fn kernels(unit: &UnitSource, backend: &CpuSimBackend) -> Result<TgKernels, Vec<Diagnostic>> {
    let mut kernels = backend.unit_kernels.clone();
    if let Some(code) = &backend.code {
        kernels.keep_code(code);
    }
    for file in &unit.files {
        kernels.add_library(&file.module, &file.set, backend.mode, backend.engine)?;
    }
    Ok(kernels)
}

impl UnitProgram {
    pub(super) fn new(
        unit: Arc<UnitSource>,
        backend: &CpuSimBackend,
    ) -> Result<UnitProgram, Vec<Diagnostic>> {
        let started = clock::now();
        let kernels = kernels(&unit, backend)?;
        let compiled = Duration::from_nanos(clock::nanos_since(started));
        let runs_kernels = match unit.files.is_empty() {
            true => Vec::new(),
            false => runs_kernels(backend.mode, backend.engine).to_vec(),
        };
        Ok(UnitProgram { unit, kernels: Arc::new(kernels), runs_kernels, compiled })
    }

    pub(super) fn fits(&self, args: &Args, options: &RunOptions) -> Result<(), RunError> {
        options.check(ProgramKind::Unit)?;
        let begin = session_options(&self.unit, args, options)?;
        fits(&self.unit.module, &self.kernels, &begin).map_err(refused)
    }

    /// Nodes and edges of the graphs as the file has them, numbered over all graphs in order: what goes round runs as often as its loop says.
    fn listing(&self) -> Result<GraphListing, RunError> {
        let options = ElaborateOptions::default();
        let plan = elaborate(&self.unit.module, &self.kernels.signatures(), &options).map_err(refused)?;
        let (mut listing, mut first) = (GraphListing::default(), 0);
        for graph in UnitGraph::all(&plan) {
            for UnitNode { name, kernel, .. } in &graph.nodes {
                let unit = match kernel {
                    Some((_, CoreType::Aic, _)) => ExecPool::Cube,
                    Some((_, CoreType::Aiv, _)) => ExecPool::Vector,
                    _ => ExecPool::Any,
                };
                let known = listing.kernels.iter().position(|of| of.name == *name && of.unit == unit);
                let at = known.unwrap_or_else(|| {
                    listing.kernels.push(GraphKernel { name: name.clone(), unit });
                    listing.kernels.len() - 1
                });
                listing.tasks.push(at as u32);
            }
            let waits = graph.edges.iter().filter(|edge| edge.kind.is_some());
            listing.edges.extend(waits.map(|edge| (first + edge.src, first + edge.dst)));
            first += graph.nodes.len() as u32;
        }
        listing.edges.arrange_by_key(|(_, later)| *later);
        listing.kernels.push(GraphKernel { name: BARRIER_NODE.to_owned(), unit: ExecPool::Any });
        Ok(listing)
    }
}

impl wsp_backend::Program for UnitProgram {
    fn implementation(&self, options: &RunOptions) -> Result<Vec<(&'static str, String)>, RunError> {
        options.check(ProgramKind::Unit)?;
        let queue = "Ready: lanes of launches in levels of priority, which take turns".to_owned();
        Ok([("queue", queue)].into_iter().chain(self.runs_kernels.iter().cloned()).collect())
    }

    fn explain(&self, _args: &Args, options: &RunOptions) -> Result<Explanation, RunError> {
        options.check(ProgramKind::Unit)?;
        let listing = self.listing()?;
        let mut kernels: Vec<(String, u64)> =
            listing.kernels.iter().map(|kernel| (kernel.name.clone(), 0)).collect();
        listing.tasks.iter().for_each(|kernel| kernels[*kernel as usize].1 += 1);
        kernels.retain(|(_, nodes)| *nodes > 0);
        let mut explained = Explanation::new(kernels);
        explained.implementation = self.implementation(options)?;
        explained.own = Box::new(listing);
        Ok(explained)
    }

    fn graph(&self, _args: &Args, options: &GraphOptions) -> Result<GraphListing, RunError> {
        let GraphOptions { deps, detail, spaces, cancel: _ } = options;
        RunOptions { spaces: spaces.clone(), ..RunOptions::default() }.check(ProgramKind::Unit)?;
        let given = [("deps", deps.is_some()), ("detail", *detail != Detail::default())];
        refuse("the graphs of a unit, whose edges stand in the file", &given)?;
        self.listing()
    }

    fn check(&self, options: &RunOptions) -> Result<(), RunError> {
        options.check(ProgramKind::Unit)
    }

    fn simulate_on(
        &self,
        args: &Args,
        options: &RunOptions,
        machine: Option<&Model>,
    ) -> Result<Simulated, RunError> {
        options.check(ProgramKind::Unit)?;
        let given = [
            ("sequential", options.sequential),
            ("recording", options.recording != Recording::Off),
            ("checkpoints", options.unit.checkpoints.is_some()),
            ("begin", options.unit.begin != Begin::Start),
            ("replay", options.replay.is_some()),
        ];
        refuse("virtual time, which leaves nothing behind", &given)?;
        let mut begin = session_options(&self.unit, args, options)?;
        begin.runtime.seed = (options.seed != 0).then_some(options.seed);
        if let Some(machine) = machine {
            machine::refuse_threads(options, Some(machine))?;
            let given = [("cores", options.unit.cores.is_some()), ("devices", options.unit.devices != 1)];
            refuse("a machine model, which is of one device with its cores", &given)?;
            machine::of_unit(&mut begin.runtime, machine);
            begin.machine = Some(Arc::new(machine.clone()));
        }
        simulate(&self.unit.module, &self.kernels, begin).map_err(failed)
    }

    fn prepare(&self, args: Args, options: RunOptions) -> Result<Box<dyn Prepared>, RunError> {
        options.check(ProgramKind::Unit)?;
        let given = [("seed", options.seed != 0)];
        refuse("a run of a unit on threads, whose order `replay` takes from a seed", &given)?;
        let resumed = [("replay", options.replay.is_some() && options.unit.begin == Begin::Resume)];
        refuse("a run that goes on from a checkpoint", &resumed)?;
        let (unit, kernels) = (self.unit.clone(), self.kernels.clone());
        let mut begin = session_options(&unit, &args, &options)?;
        let order = order(&unit, &kernels, &args, &options)?;
        keep_to(&mut begin, &options, order.as_ref());
        let checked = CheckedUnit::new(&unit.module, &kernels, &begin).map_err(refused)?;
        let session = checked.session(begin).map_err(refused)?;
        let notes = session.findings().to_vec();
        let compiled = self.compiled;
        Ok(Box::new(PreparedUnit {
            unit,
            kernels,
            args,
            options,
            order,
            notes,
            compiled,
            checked,
            session: Some(session),
            last: None,
        }))
    }
}

/// Options of a session.
fn session_options(unit: &UnitSource, args: &Args, options: &RunOptions) -> Result<SessionOptions, RunError> {
    let UnitOptions {
        devices,
        cores,
        hints,
        events,
        memory,
        released,
        checkpoints,
        origins,
        copied,
        begin: _,
    } = &options.unit;
    let names =
        origins.keys().map(|name| ("origins", name)).chain(copied.keys().map(|name| ("copied", name)));
    let given = || args.arrays.keys().chain(args.views.keys()).map(String::as_str);
    let nameless = names.filter(|(_, name)| given().all(|of| of != *name)).map(|(option, name)| {
        let message = format!("option `{option}` names `{name}`, and no array of this name is given");
        let near = did_you_mean(name, given()).map(|near| format!("did you mean `{near}`?"));
        Diagnostic::error(BAD_OPTION, message).help(near.unwrap_or_else(|| "leave it out".to_owned()))
    });
    let nameless: Vec<Diagnostic> = nameless.collect();
    if !nameless.is_empty() {
        return Err(RunError::Refused(nameless.into()));
    }
    let cores = cores.unwrap_or_else(|| unit.target.device());
    let (hints, released) = match options.sequential {
        true => (Hints::Ignore, Released::Poison),
        false => (*hints, *released),
    };
    let runtime = RuntimeConfig {
        threads: threads(options, None),
        devices: *devices,
        cores: CoreCounts {
            aic: cores.aic,
            aiv: cores.aiv,
            aicpu: cores.aicpu,
            aiv_per_aic: cores.aiv_per_aic,
            l2_domains: cores.l2_domains,
        },
        hints,
        tracing: if options.trace { Tracing::On } else { Tracing::Off },
        cancel: options.cancel.clone(),
        ..RuntimeConfig::default()
    };
    Ok(SessionOptions {
        runtime,
        machine: None,
        inputs: args.arrays.clone(),
        views: args.views.clone(),
        copied: copied.clone(),
        claim: options.claim.clone(),
        payload: options.payload.clone(),
        origins: origins.clone(),
        scalars: args.integers()?,
        events: events.clone(),
        memory: *memory,
        released,
        recording: options.recording,
        checkpoints: checkpoints.clone(),
    })
}

/// A unit with its memory. It has its arrays of the caller until it has run.
struct PreparedUnit {
    unit: Arc<UnitSource>,
    kernels: Arc<TgKernels>,
    args: Args,
    options: RunOptions,
    /// The order of starts that its runs keep to.
    order: Option<Arc<Replay>>,
    notes: Vec<Diagnostic>,
    compiled: Duration,
    /// What sessions of these arguments have in common.
    checked: CheckedUnit,
    /// What the next run begins with: tensors of a session keep what a run leaves in them, so that each run has a session of its own.
    session: Option<Session>,
    /// What the last run gave, until it is taken.
    last: Option<Outcome>,
}

impl PreparedUnit {
    /// A session with the arguments, for one run.
    fn session(&mut self, claim: Option<&Arc<Claim>>) -> Result<Session, RunError> {
        let mut options = session_options(&self.unit, &self.args, &self.options)?;
        keep_to(&mut options, &self.options, self.order.as_ref());
        if claim.is_some() {
            options.claim = claim.cloned();
        }
        if !self.checked.is_lasting() {
            self.checked = CheckedUnit::new(&self.unit.module, &self.kernels, &options).map_err(refused)?;
        }
        self.checked.session(options).map_err(refused)
    }
}

impl Prepared for PreparedUnit {
    fn notes(&self) -> &[Diagnostic] {
        &self.notes
    }

    fn launch(&mut self, claim: Option<&Arc<Claim>>) -> Result<(), RunError> {
        self.last = None;
        let mut session = match self.session.take() {
            Some(session) => session,
            None => self.session(claim)?,
        };
        let started = clock::now();
        let report = match self.options.unit.begin {
            Begin::Start => session.run(),
            Begin::Resume => session.resume(),
        };
        let mut report = report.map_err(failed)?;
        let run = Duration::from_nanos(clock::nanos_since(started));
        let mut stats = Stats::default();
        stats.tasks = report.stats.kernels;
        stats.streams = streams(&self.unit.module);
        stats.executors = threads(&self.options, self.order.as_ref());
        (stats.compile, stats.run) = (self.compiled, run);
        let unwritten = session.unwritten();
        let outputs = session.outputs().map_err(|fault| failed(vec![*fault]))?;
        let mut outcome = Outcome::new(outputs, stats);
        outcome.unwritten = unwritten;
        outcome.notes = self.notes.iter().cloned().chain(std::mem::take(&mut report.notes)).collect();
        outcome.unit = report.unit.clone();
        outcome.own = Box::new(report);
        self.last = Some(outcome);
        Ok(())
    }

    fn outcome(&mut self) -> Result<Outcome, RunError> {
        self.last.take().ok_or_else(RunError::no_outcome)
    }

    fn rebind(&mut self, args: Args) -> Result<(), RunError> {
        let mut all = self.args.clone();
        all.replace(args);
        let mut begin = session_options(&self.unit, &all, &self.options)?;
        let order = order(&self.unit, &self.kernels, &all, &self.options)?;
        keep_to(&mut begin, &self.options, order.as_ref());
        let checked = CheckedUnit::new(&self.unit.module, &self.kernels, &begin).map_err(refused)?;
        // The session that was made claims arrays which the next one may take again.
        let had = self.session.take().is_some();
        match checked.session(begin).map_err(refused) {
            Ok(session) => {
                self.notes = session.findings().to_vec();
                (self.args, self.checked, self.session) = (all, checked, Some(session));
                self.order = order;
                Ok(())
            }
            Err(fault) => {
                if had {
                    self.session = Some(self.session(None)?);
                }
                Err(fault)
            }
        }
    }
}

/// Threads of a run.
fn threads(options: &RunOptions, order: Option<&Arc<Replay>>) -> u32 {
    match order {
        _ if options.sequential => 1,
        Some(order) if options.threads == 0 => order.workers(),
        _ => worker_threads(options.threads),
    }
}

/// The order of starts that runs with these arguments keep to: that of a seed is what the unit does in virtual time.
///
/// # Errors
/// An order that is none of a unit; what refuses or fails virtual time.
fn order(
    unit: &UnitSource,
    kernels: &Arc<TgKernels>,
    args: &Args,
    options: &RunOptions,
) -> Result<Option<Arc<Replay>>, RunError> {
    let of = |starts: &Starts| {
        let Starts { workers, kernels, tasks, blocks } = starts;
        let order = Replay::new(*workers, kernels, tasks, blocks);
        order.map_err(|fault| RunError::Refused(settings::not_started(&StartError::Config(fault)).into()))
    };
    let seed = match &options.replay {
        None => return Ok(None),
        Some(StartOrder::Of(starts)) => return Ok(Some(Arc::new(of(starts)?))),
        Some(StartOrder::Seed(seed)) => *seed,
    };
    let mut begin = session_options(unit, args, options)?;
    (begin.runtime.seed, begin.checkpoints) = ((seed != 0).then_some(seed), None);
    let workers = begin.runtime.threads;
    let starts = simulate(&unit.module, kernels, begin).map_err(failed)?.starts();
    // Blocks of gangs have further workers.
    Ok(Some(Arc::new(of(&Starts { workers, ..starts })?)))
}

/// Has a session keep to an order of starts, on as many threads as that has workers where no number is asked for.
fn keep_to(session: &mut SessionOptions, options: &RunOptions, order: Option<&Arc<Replay>>) {
    session.runtime.threads = threads(options, order);
    session.runtime.replay = order.cloned();
}

/// Streams that launches of a unit name, and the default one.
fn streams(module: &TgModule) -> u32 {
    let named = module.instrs.iter().filter_map(|instr| match instr {
        Instr::TgLaunch { stream, .. } => Some(stream.0),
        _ => None,
    });
    named.chain([0]).collect::<OrderedSet<u32>>().len() as u32
}
