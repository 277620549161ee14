//! Lists and simulates a workload: its tasks are generated, and none runs.

use super::aicpu;
use super::channels;
use super::codes;
use super::equal::{EqualRegions, NamedTensor, unchecked};
use super::faults;
use super::graph::{BuiltGraph, GraphFault, GraphSink};
use super::inputs::WorkloadOptions;
use super::settings::{self, RunSettings, run_settings};
use super::simulated::{Costed, SimulatedWorkload, failed};
use super::touch::Toucher;
use crate::dealt::{OnAicpus, Way};
use crate::machine;
use std::sync::atomic::AtomicBool;
use wsp_backend::{Detail, GraphListing};
use wsp_core::words::counted;
use wsp_core::{ExecPool, KernelId, limits};
use wsp_diag::Diagnostic;
use wsp_ir::workload::{Deps, WorkloadModule};
use wsp_plan::target::model::Model;
use wsp_plan::workload::{Bindings, LoweredSchedule, check_schedule, count, expand};
use wsp_runtime::Failure;
use wsp_runtime::simulate::{SimGraph, Submission};

/// What to do where no graph can be listed.
const RUN_INSTEAD: [&str; 2] = [
    "run it: a run generates tasks while others run",
    "use `execute`, which generates tasks while others run",
];
/// What to do where the order of explicit dependences cannot be checked before a run.
const FIND_INSTEAD: [&str; 2] = [
    "write `task_graph(deps = hybrid)`, which finds what `after` leaves out while tasks run",
    "write `.task_graph(deps=Deps.hybrid())`, which finds what `after` leaves out while tasks run",
];

/// A workload with its values.
pub(crate) struct Listing<'a> {
    pub(crate) module: &'a WorkloadModule,
    pub(crate) schedule: &'a LoweredSchedule,
    pub(crate) bindings: &'a Bindings,
    /// Values of slots before any task has written them.
    pub(crate) slots: Vec<i64>,
    pub(crate) cancel: Option<&'a AtomicBool>,
}

impl Listing<'_> {
    /// Tasks and edges.
    pub(crate) fn list(
        &self,
        toucher: &mut dyn Toucher,
        tensors: &[NamedTensor],
        deps: Deps,
        detail: Detail,
    ) -> Result<GraphListing, Vec<Diagnostic>> {
        // Affinity is no part of a listing.
        let graph = self.build(toucher, deps, detail, (1, 0), limits::MAX_GRAPH_TASKS, RUN_INSTEAD)?;
        let mut listing = self.listing(graph, tensors, detail)?;
        listing.grid = toucher.tiles().map(|tiles| tiles.listed(&listing.tiles));
        Ok(listing)
    }

    /// Refuses a workload some of whose tasks conflict without being ordered by what its program says.
    pub(crate) fn check_order(&self, toucher: &mut dyn Toucher) -> Result<(), Vec<Diagnostic>> {
        let detail = Detail { missed: true, ..Detail::default() };
        let graph =
            self.build(toucher, Deps::Explicit, detail, (1, 0), limits::MAX_GRAPH_TASKS, FIND_INSTEAD)?;
        faults::refuse_missed(self.module, &self.listing(graph, &[], detail)?)
    }

    /// Runs the graph in virtual time under the schedule and the options.
    pub(crate) fn simulate(
        &self,
        toucher: &mut dyn Toucher,
        tensors: &[NamedTensor],
        options: &WorkloadOptions,
        machine: Option<&Model>,
    ) -> Result<SimulatedWorkload, Vec<Diagnostic>> {
        let most = (limits::MAX_GRAPH_TASKS, RUN_INSTEAD);
        self.simulate_most(toucher, tensors, options, most, machine)
    }

    /// Refuses what a run refuses for the order and the costs of its tasks: of tasks up to the first that others decide on, and nothing of more than
    /// `most`. A run whose program orders all tasks is refused where others decide on tasks.
    pub(crate) fn check_first(
        &self,
        toucher: &mut dyn Toucher,
        tensors: &[NamedTensor],
        options: &WorkloadOptions,
        most: u32,
    ) -> Result<(), Vec<Diagnostic>> {
        if count(self.module, self.bindings).is_some_and(|tasks| tasks > most.into()) {
            return Ok(());
        }
        let is_explicit = self.schedule.policy.deps == Deps::Explicit;
        let is_open = |fault: &Diagnostic| {
            fault.code == codes::TOO_MANY_TASKS || (fault.code == codes::SLOT_IN_GRAPH && !is_explicit)
        };
        match self.simulate_most(toucher, tensors, options, (most, FIND_INSTEAD), None) {
            Err(found) if !found.iter().all(is_open) => Err(found),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    fn simulate_most(
        &self,
        toucher: &mut dyn Toucher,
        tensors: &[NamedTensor],
        options: &WorkloadOptions,
        (most, instead): (u32, [&'static str; 2]),
        machine: Option<&Model>,
    ) -> Result<SimulatedWorkload, Vec<Diagnostic>> {
        let Listing { module, schedule, bindings, .. } = *self;
        let notes = settings::checked(check_schedule(module, bindings, schedule))?;
        let policy = match machine {
            None => schedule.policy.clone(),
            Some(machine) => machine::on(&schedule.policy, machine).map_err(|fault| vec![fault])?,
        };
        let settled = LoweredSchedule { policy, ..schedule.clone() };
        let settings = run_settings(&settled, options);
        let RunSettings { config, regions, .. } = settings.map_err(|fault| vec![fault])?;
        let way = match options.aicpus {
            0 => Way::Host(config.clone()),
            aicpus => {
                let bytes = match machine {
                    // Nothing is brought anywhere.
                    None => 0,
                    Some(_) => aicpu::bytes((module, bindings), schedule, options)?,
                };
                let config = aicpu::settings(&settled, options)?;
                Way::Aicpus(Box::new(OnAicpus::new(aicpus, config, machine, bytes)?))
            }
        };
        // A run would refuse what its dependences miss, and so does this.
        let missed = schedule.policy.deps == Deps::Explicit;
        let detail = Detail { missed, coordinates: true, ..Detail::default() };
        let equal = EqualRegions::new(regions);
        let (costs, work) = (Vec::new(), Vec::new());
        let mut costed = Costed { module, bindings, inner: toucher, costs, work, equal, tensors, machine };
        let dealt_to = (config.threads, options.aicpus);
        let mut built = self.build(&mut costed, config.deps, detail, dealt_to, most, instead)?;
        let Costed { costs, work, inner, .. } = costed;
        let mut costs = costs.into_iter();
        // One cost was noted per task, in the order of ids.
        let more = machine::dispatch(machine);
        let cost = |_, _, _: &[u32]| costs.next().unwrap_or(1).saturating_add(more);
        let mut simulated = SimGraph::from_task_graph(&built.graph, Submission::default(), cost);
        let dealing = std::mem::take(&mut built.dealing);
        if let (Ok(graph), Some(machine)) = (&mut simulated, machine) {
            let units: Vec<ExecPool> =
                (0..module.kernels.len() as u16).map(|kernel| inner.unit(KernelId(kernel))).collect();
            machine::send(graph, machine, &units).map_err(|fault| vec![fault])?;
        }
        let mut listing = self.listing(built, tensors, detail)?;
        listing.work = work;
        faults::refuse_missed(module, &listing)?;
        let simulation = simulated.map_err(Failure::Source).and_then(|graph| way.run(&graph, &dealing));
        let (mut simulation, aicpus) = simulation.map_err(|error| vec![failed(&error)])?;
        if let Some(machine) = machine {
            machine::number(&mut simulation, config.pools, machine);
            machine::begin(&mut simulation, machine);
        }
        let channels = channels::of_simulation((module, bindings), &simulation, &self.slots);
        Ok(SimulatedWorkload { listing, simulation, threads: config.threads, aicpus, channels, notes })
    }

    fn listing(
        &self,
        graph: BuiltGraph,
        tensors: &[NamedTensor],
        detail: Detail,
    ) -> Result<GraphListing, Vec<Diagnostic>> {
        let names = tensors.iter().map(|t| t.name.clone()).collect();
        let listed = graph.listing(self.module, names, detail, &self.schedule.policy.gates);
        listed.map_err(|reason| vec![unchecked(&reason)])
    }

    /// Generates all tasks for so many workers and AICPUs, of which there are at most `most`; `instead` says what to do when that cannot be, and the same in Python.
    fn build(
        &self,
        toucher: &mut dyn Toucher,
        deps: Deps,
        detail: Detail,
        (workers, aicpus): (u32, u16),
        most: u32,
        instead: [&'static str; 2],
    ) -> Result<BuiltGraph, Vec<Diagnostic>> {
        let Listing { module, schedule, bindings, .. } = *self;
        if let Some(tasks) = count(module, bindings).filter(|&tasks| tasks > limits::MAX_GRAPH_TASKS.into()) {
            let most = limits::MAX_GRAPH_TASKS;
            let tasks = counted(tasks, "task");
            let message = format!("the graph has {tasks}, but at most {most} can be kept");
            return Err(vec![
                Diagnostic::error(codes::TOO_MANY_TASKS, message).help(instead[0]).python(instead[1]),
            ]);
        }
        let mut sink = GraphSink::new(module, &self.slots, toucher, deps, detail, workers, self.cancel);
        (sink.most, sink.aicpus) = (most, aicpus);
        let expanded = expand(module, bindings, schedule, &mut sink);
        let fault = |fault: GraphFault| fault.diagnostic(module, instead);
        expanded.map_err(|error| vec![faults::generation(error, fault)])?;
        Ok(sink.into_graph())
    }
}
