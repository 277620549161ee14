//! The tasks of a launch as data: listed, or in virtual time. Generators run, and no kernel does.

use crate::codes;
use crate::dealt::{Dealing, OnAicpus, Way};
use crate::extents::Extents;
use crate::host::{PlanHost, Sink};
use crate::kernels::{Evaluator, KernelTable};
use crate::machine::{self, Launch};
use crate::options::LaunchOptions;
use crate::planner::Planner;
use crate::prepared::Prepared;
use crate::program::Program;
use crate::submit::task;
use crate::traps::generator_fault;
use crate::workload::simulation_failed;
use wsp_backend::{BARRIER_NODE, GraphAccess, GraphKernel, GraphListing, SimulatedAicpus};
use wsp_core::ptow::interp::Ordered;
use wsp_core::words::counted;
use wsp_core::{ExecPool, StructId, TaskId, limits};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::workload::AccessMode;
use wsp_kernel::{Hints, Trap};
use wsp_plan::Arrays;
use wsp_plan::cost::{self, Work};
use wsp_plan::target::model::Model;
use wsp_runtime::simulate::{SimGraph, Simulation, Submission};
use wsp_runtime::{Deps, Failure, Stopped, TaskGraph};

/// How programs of spaces find dependences.
const DEPS: Deps = Deps::Overlap;

/// A launch in virtual time: its tasks and edges, what became of them, what AICPUs did where tasks were theirs, and warnings.
pub(crate) type InVirtualTime = (GraphListing, Simulation, Option<SimulatedAicpus>, Vec<Diagnostic>);

/// Tasks and edges of a launch.
struct Listed {
    graph: TaskGraph,
    /// The cost of each task, in the order of the tasks.
    costs: Vec<u64>,
    /// The units that the operations of each kernel are for.
    units: Vec<ExecPool>,
    /// Its fences as an ordered scope.
    fences: Vec<(u64, Ordered)>,
    accesses: Vec<GraphAccess>,
    listing: GraphListing,
    notes: Vec<Diagnostic>,
}

/// Puts descriptors into a graph.
struct ListSink<'p> {
    kernels: &'p KernelTable,
    evaluator: Evaluator,
    extents: Extents<'p>,
    graph: TaskGraph,
    costs: Vec<u64>,
    /// Work by kernel, on a machine.
    work: Vec<Option<Work>>,
    /// The machine that tasks have costs on.
    machine: Option<(&'p Model, Launch<'p>)>,
    /// What it has no figures for.
    uncosted: Option<Diagnostic>,
    /// Where they are asked for.
    accesses: Option<Vec<GraphAccess>>,
    /// The tile of each task, where there is a grid.
    tiles: Vec<u32>,
    /// How many tasks come before each fence.
    fences: Vec<u64>,
    /// A fence that the graph had no room for.
    full: Option<Stopped>,
}

impl Program {
    /// The tasks of a launch and the edges between them, with what they access if that is asked for.
    ///
    /// # Errors
    /// What is wrong with the arrays or the options; faults of generators; too many tasks.
    pub(crate) fn graph(
        &self,
        arrays: &Arrays,
        options: &LaunchOptions,
        accesses: bool,
    ) -> Result<GraphListing, Vec<Diagnostic>> {
        let Listed { accesses, mut listing, .. } = self.listed(arrays, options, accesses, None)?;
        listing.accesses = accesses;
        Ok(listing)
    }

    /// The launch in virtual time: a task takes what its kernel takes on the machine; without one a cycle for each element that it loads or stores
    /// at most, and at least one.
    ///
    /// # Errors
    /// As [`graph`](Self::graph); what would fail a run.
    pub(crate) fn simulate(
        &self,
        arrays: &Arrays,
        options: &LaunchOptions,
        machine: Option<&Model>,
    ) -> Result<InVirtualTime, Vec<Diagnostic>> {
        let mut policy = self.lowered().policy.clone();
        let mut options = options.clone();
        if let Some(machine) = machine {
            policy = machine::on(&policy, machine).map_err(|fault| vec![fault])?;
            options.threads = policy.workers.unwrap_or(options.threads);
        }
        let way = match options.aicpus {
            0 => Way::Host(self.config_of(&policy, &options)?),
            // Nothing is said of the size of generators.
            aicpus => Way::Aicpus(Box::new(OnAicpus::new(
                aicpus,
                self.aicpu_config_of(&policy, &options).map_err(|fault| vec![fault])?,
                machine,
                0,
            )?)),
        };
        let Listed { graph, costs, units, fences, listing, notes, .. } =
            self.listed(arrays, &options, false, machine)?;
        let dealing = Dealing { owners: Vec::new(), scopes: fences };
        let mut costs = costs.into_iter();
        // One cost was noted per task, in the order of ids.
        let more = machine::dispatch(machine);
        let cost = |_, _, _: &[u32]| costs.next().unwrap_or(1).saturating_add(more);
        let mut graph = SimGraph::from_task_graph(&graph, Submission::default(), cost);
        if let (Ok(graph), Some(machine)) = (&mut graph, machine) {
            machine::send(graph, machine, &units).map_err(|fault| vec![fault])?;
        }
        let (mut simulation, aicpus) = graph
            .map_err(Failure::Source)
            .and_then(|graph| way.run(&graph, &dealing))
            .map_err(|failure| vec![simulation_failed(&failure)])?;
        if let Some(machine) = machine {
            machine::number(&mut simulation, policy.pools, machine);
            machine::begin(&mut simulation, machine);
        }
        let on_aicpus = if aicpus.is_some() { self.lowered().notes_on_aicpus() } else { Vec::new() };
        Ok((listing, simulation, aicpus, [notes, on_aicpus].concat()))
    }

    fn listed(
        &self,
        arrays: &Arrays,
        options: &LaunchOptions,
        accesses: bool,
        machine: Option<&Model>,
    ) -> Result<Listed, Vec<Diagnostic>> {
        let (prepared, generators) = self.prepare(arrays, options, false)?;
        let plan = self.lowered();
        let mut planner = Planner::new(plan, &prepared.bound, &prepared.env);
        let sink = ListSink {
            kernels: &prepared.kernels,
            evaluator: Evaluator::default(),
            extents: Extents::new(plan, &prepared.bound, Some(&prepared.sizes)),
            graph: TaskGraph::new(DEPS),
            costs: Vec::new(),
            work: Vec::new(),
            machine: machine.map(|machine| {
                let Prepared { bound, env, sizes, .. } = &prepared;
                (machine, Launch { plan, bound, env, sizes: Some(sizes) })
            }),
            uncosted: None,
            accesses: accesses.then(Vec::new),
            tiles: Vec::new(),
            fences: Vec::new(),
            full: None,
        };
        let mut host = PlanHost { planner: &mut planner, sink };
        for (i, (stage, code)) in plan.stages.iter().zip(&generators).enumerate() {
            host.enter(i as u32, stage.space);
            let ran = code.run(&prepared.env, &mut host, limits::MAX_GENERATOR_STEPS);
            ran.map_err(|trap| vec![host.sink.uncosted.take().unwrap_or_else(|| generator_fault(trap))])?;
        }
        let ListSink { graph, costs, work, accesses, fences, full, tiles, .. } = host.sink;
        if let Some(reason) = full {
            return Err(vec![refused(&reason).into()]);
        }
        let kernels = prepared.kernels.all();
        let point = GraphKernel { name: BARRIER_NODE.to_owned(), unit: ExecPool::Any };
        let of_kernels = kernels.iter().map(|of| GraphKernel { name: of.name.clone(), unit: of.unit });
        let order = kernels.len() as u32;
        let kernel_of = |id| if graph.is_barrier_node(id) { order } else { u32::from(graph.kernel(id).0) };
        let mut listing = GraphListing::default();
        listing.kernels = of_kernels.chain([point]).collect();
        listing.tasks = (0..graph.len() as u32).map(TaskId).map(kernel_of).collect();
        listing.edges = graph.edges().map(|(before, after)| (before.0, after.0)).collect();
        listing.tensors = plan.module.tensors.iter().map(|tensor| tensor.name.clone()).collect();
        listing.work = work;
        listing.grid = prepared.kernels.tiles.as_ref().map(|grid| grid.listed(&tiles));
        listing.tiles = tiles;
        let accesses = accesses.unwrap_or_default();
        let units = kernels.iter().map(|of| cost::unit(&plan.module, of.func)).collect();
        let (begin, end) = ((0, Ordered::Begin), (costs.len() as u64, Ordered::End));
        let steps = fences.iter().map(|tasks| (*tasks, Ordered::Step));
        let fences = if fences.is_empty() {
            Vec::new()
        } else {
            [begin].into_iter().chain(steps).chain([end]).collect()
        };
        Ok(Listed { graph, costs, units, fences, accesses, listing, notes: prepared.bound.notes })
    }
}

/// Why a graph takes no more.
fn refused(reason: &Stopped) -> Trap {
    Trap::internal(reason.to_string(), Span::default())
}

impl Sink for ListSink<'_> {
    fn emit(
        &mut self,
        planner: &Planner<'_>,
        descriptor: StructId,
        fields: &[u32],
        hints: Hints<'_>,
    ) -> Result<(), Trap> {
        if self.graph.len() >= limits::MAX_GRAPH_TASKS as usize {
            let message = format!("the graph has more than {}", counted(limits::MAX_GRAPH_TASKS, "task"));
            return Err(Trap::new(codes::TOO_MANY_TASKS, message, Span::default())
                .note("a run generates tasks while others run; `wsp plan` lists them without edges"));
        }
        let id = self.kernels.consumer(planner.plan, descriptor, fields)?;
        let kernel = self.kernels.get(id);
        let touched = kernel.touched(&mut self.evaluator, planner.env, fields);
        let number = (id, self.costs.len() as u64);
        let tile = self.kernels.tile(number, &touched, &mut self.evaluator, planner.env, fields);
        self.tiles.extend(tile);
        let task = task((id, kernel), fields, &touched, hints, tile)?;
        let task = self.graph.submit(task).map_err(|reason| refused(&reason))?;
        let mut all = Vec::new();
        kernel.inputs(&mut self.evaluator, planner.env, fields, |region| all.push((AccessMode::In, region)));
        all.extend(touched.reads.iter().map(|region| (AccessMode::In, *region)));
        all.extend(touched.writes.iter().map(|region| (AccessMode::Out, *region)));
        let cost = match &self.machine {
            Some((machine, launch)) => {
                let costs = launch.cycles(machine, kernel.func, fields).map_err(|fault| {
                    let trap = Trap::internal(fault.message.clone(), Span::default());
                    self.uncosted = Some(fault);
                    trap
                });
                let (cycles, work) = costs?;
                work.add_to(&mut self.work, id.index());
                cycles
            }
            None => {
                let elements = all.iter().map(|(_, region)| self.extents.elements(region));
                elements.fold(0, u64::saturating_add).max(1)
            }
        };
        self.costs.push(cost);
        if let Some(accesses) = &mut self.accesses {
            let there = all.into_iter().filter_map(|(mode, region)| Some((mode, self.extents.clip(region)?)));
            let access = |((mode, region), arg)| GraphAccess { task: task.0, arg, mode, region };
            accesses.extend(there.zip(0..).map(access));
        }
        Ok(())
    }

    fn fence(&mut self) {
        self.fences.push(self.costs.len() as u64);
        if let Err(reason) = self.graph.fence() {
            self.full.get_or_insert(reason);
        }
    }

    fn cancelled(&self, planner: &Planner<'_>) -> bool {
        planner.env.cancelled()
    }
}
