//! Virtual time on a machine: its units as workers, and what tasks of kernels of files take on it.

use crate::bind::{Bound, BoundDim};
use crate::codes::BAD_OPTION;
use crate::derived;
use crate::sizes::Sizes;
use wsp_backend::{RunError, RunOptions};
use wsp_core::policy::PoolSizes;
use wsp_core::words::counted;
use wsp_core::{DType, ExecPool, FuncId, ParamId, TensorId};
use wsp_diag::Diagnostic;
use wsp_ir::workload::SchedulePolicy;
use wsp_ir::{ArrayRef, MetaKind};
use wsp_kernel::{Env, IntArray};
use wsp_plan::LoweredPlan;
use wsp_plan::cost::{self, Known, Work};
use wsp_plan::target::model::Model;
use wsp_runtime::simulate::{SimGraph, Simulation};
use wsp_runtime::tg::{CoreCounts, RuntimeConfig};

/// A machine says how many workers there are.
///
/// # Errors
/// So do the options.
pub(crate) fn refuse_threads(options: &RunOptions, machine: Option<&Model>) -> Result<(), RunError> {
    match machine.filter(|_| options.threads != 0) {
        Some(machine) => {
            let message = format!("option `threads` beside machine model `{}`", machine.name);
            let fault = Diagnostic::error(BAD_OPTION, message)
                .note("workers are the units of the machine, or as many as the schedule says");
            Err(RunError::Refused(fault.help("leave `threads` out").into()))
        }
        None => Ok(()),
    }
}

/// A schedule on a machine: where it says no number of workers, they are the machine's units, and tasks go to those of their kind.
///
/// # Errors
/// The schedule asks for more units than there are.
pub(crate) fn on(policy: &SchedulePolicy, machine: &Model) -> Result<SchedulePolicy, Diagnostic> {
    let [vector, cube, all] =
        [ExecPool::Vector, ExecPool::Cube, ExecPool::Any].map(|kind| machine.count(kind));
    let too_many = |asked: u32, what: &str, has: u32| {
        let message = format!("the schedule asks for {}", counted(asked, what));
        Diagnostic::error(BAD_OPTION, message)
            .note(format!("machine model `{}` has {has}", machine.name))
            .help("ask for fewer, or take another model")
    };
    let has_kinds = vector > 0 && cube > 0 && vector + cube == all;
    if vector + cube > 0 && vector + cube < all {
        let message = format!("machine model `{}` has units for all tasks beside others", machine.name);
        return Err(Diagnostic::error(BAD_OPTION, message)
            .help("give it units of one kind `any`, or of the kinds `cube` and `vector`"));
    }
    match (policy.pools, policy.workers) {
        (PoolSizes::ByUnit { vector: asked, .. }, _) if asked > vector => {
            Err(too_many(asked, "vector unit", vector))
        }
        (PoolSizes::ByUnit { cube: asked, .. }, _) if asked > cube => Err(too_many(asked, "cube unit", cube)),
        (PoolSizes::ByUnit { .. }, _) => Ok(policy.clone()),
        (PoolSizes::Shared, Some(asked)) if asked > all => Err(too_many(asked, "unit", all)),
        (PoolSizes::Shared, Some(asked)) if has_kinds && asked < all => {
            let message = format!("the schedule asks for {} of no kind", counted(asked, "worker"));
            Err(Diagnostic::error(BAD_OPTION, message)
                .note(format!(
                    "machine model `{}` has {vector} vector units and {cube} cube units",
                    machine.name
                ))
                .help("write `task_graph(pools = by_unit(VECTOR, CUBE))`, or leave `workers` out")
                .python("write `.task_graph(pools=Pools.by_unit(VECTOR, CUBE))`, or leave `workers` out"))
        }
        (PoolSizes::Shared, _) if has_kinds => {
            let pools = PoolSizes::ByUnit { vector, cube };
            Ok(SchedulePolicy { pools, workers: None, ..policy.clone() })
        }
        (PoolSizes::Shared, asked) => {
            Ok(SchedulePolicy { workers: Some(asked.unwrap_or(all)), ..policy.clone() })
        }
    }
}

/// Numbers workers as the machine numbers its units, of which those that the schedule leaves out are idle. Workers of vector units come first
/// in a run.
pub(crate) fn number(simulation: &mut Simulation, pools: PoolSizes, machine: &Model) {
    let PoolSizes::ByUnit { vector, cube } = pools else { return };
    let of = |kind, count: u32| {
        let units = machine.cores().enumerate().filter(move |(_, (_, of))| *of == kind);
        units.map(|(at, _)| at).take(count as usize)
    };
    let places: Vec<usize> = of(ExecPool::Vector, vector).chain(of(ExecPool::Cube, cube)).collect();
    let workers = std::mem::take(&mut simulation.workers);
    simulation.workers.resize(machine.count(ExecPool::Any) as usize, Default::default());
    for (worker, at) in workers.into_iter().zip(&places) {
        simulation.workers[*at] = worker;
    }
    for worker in simulation.tasks.iter_mut().filter_map(|task| task.worker.as_mut()) {
        *worker = places[*worker as usize] as u32;
    }
}

/// The cycles of a task that threads of the host need beside its kernel; none where AICPUs hand tasks out.
pub(crate) fn dispatch(machine: Option<&Model>) -> u64 {
    machine.filter(|machine| machine.aicpu.is_none()).map_or(0, |of| of.cycles(of.launch.task).round() as u64)
}

/// Has a run on threads of the host begin when they are there: all that happens is later by what a run takes once.
pub(crate) fn begin(simulation: &mut Simulation, machine: &Model) {
    if machine.aicpu.is_some() {
        return;
    }
    let later = machine.cycles(machine.launch.run).round() as u64;
    for task in &mut simulation.tasks {
        for time in [&mut task.submitted, &mut task.ready, &mut task.start, &mut task.end] {
            *time = time.saturating_add(later);
        }
    }
    for time in [&mut simulation.makespan, &mut simulation.generation_end] {
        *time = time.saturating_add(later);
    }
}

/// Sends the tasks of kernels for any unit to those that the kernel's operations are for, where they are known:
/// `units` has them by kernel.
///
/// # Errors
/// The machine has no units of a task's kind.
pub(crate) fn send(graph: &mut SimGraph, machine: &Model, units: &[ExecPool]) -> Result<(), Diagnostic> {
    let has_kinds = machine.units.iter().all(|units| units.kind != ExecPool::Any);
    let mut missing = None;
    graph.send(|kernel, pool| {
        let pool = match pool {
            ExecPool::Any => units.get(kernel.index()).copied().unwrap_or(pool),
            said => said,
        };
        if has_kinds && machine.count(pool) == 0 {
            missing = Some(pool);
        }
        pool
    });
    match missing {
        None => Ok(()),
        Some(kind) => {
            let message =
                format!("tasks run on {} units, and machine model `{}` has none", kind.word(), machine.name);
            let row =
                format!("take another model, or give it a `[[unit]]` with `kind = \"{}\"`", kind.word());
            Err(Diagnostic::error(BAD_OPTION, message).help(row))
        }
    }
}

/// A runtime of task graphs on a machine: its cores, and as many blocks at once as it has cores. A machine of no kinds keeps the cores of the unit's target.
pub(crate) fn of_unit(runtime: &mut RuntimeConfig, machine: &Model) {
    let [aiv, aic, all] = [ExecPool::Vector, ExecPool::Cube, ExecPool::Any].map(|kind| machine.count(kind));
    runtime.threads = all;
    if aic + aiv < all || aic == 0 {
        return;
    }
    let cores = runtime.cores;
    runtime.cores = CoreCounts {
        aic,
        aiv,
        aicpu: machine.aicpu.map_or(cores.aicpu, |aicpu| aicpu.threads),
        aiv_per_aic: machine.cluster.map_or(cores.aiv_per_aic, |of| of.vector / of.cube.max(1)),
        l2_domains: machine.cache_domains.clamp(1, aic.min(aiv).max(1)),
    };
    runtime.threads = all + runtime.cores.aicpu;
}

/// A launch of kernels of a file, whose tasks a machine has costs for.
pub(crate) struct Launch<'a> {
    pub(crate) plan: &'a LoweredPlan,
    pub(crate) bound: &'a Bound,
    pub(crate) env: &'a Env,
    /// Once they are known.
    pub(crate) sizes: Option<&'a Sizes>,
}

impl Launch<'_> {
    /// The cycles of a task of a kernel with this descriptor, and its work.
    ///
    /// # Errors
    /// As [`cost::of_kernel`].
    pub(crate) fn cycles(
        &self,
        machine: &Model,
        kernel: FuncId,
        fields: &[u32],
    ) -> Result<(u64, Work), Diagnostic> {
        cost::of_kernel_with_work(machine, &self.plan.module, kernel, &OfTask { launch: self, fields })
    }
}

/// What is known of a task.
struct OfTask<'a> {
    launch: &'a Launch<'a>,
    fields: &'a [u32],
}

impl Known for OfTask<'_> {
    fn param(&self, param: ParamId) -> Option<i128> {
        self.launch.bound.params.get(param.index()).copied().flatten()?.as_int()
    }

    fn field(&self, field: u32) -> Option<u32> {
        self.fields.get(field as usize).copied()
    }

    fn extent(&self, tensor: TensorId, dim: usize) -> Option<u64> {
        let Launch { bound, sizes, .. } = self.launch;
        match bound.tensors.get(tensor.index())?.dims.get(dim)? {
            BoundDim::Fixed(n) => Some(u64::from(*n)),
            BoundDim::Lengths(cache) => {
                bound.caches[cache.index()].lengths.iter().max().map(|n| u64::from(*n))
            }
            BoundDim::Axis(axis) => (*sizes)?.axis_iterations.get(axis.index()).map(|n| u64::from(*n)),
        }
    }

    fn dtype(&self, tensor: TensorId) -> Option<DType> {
        self.launch.bound.tensors.get(tensor.index()).map(|tensor| tensor.dtype)
    }

    fn element(&self, array: ArrayRef, index: u64) -> Option<i128> {
        let env = self.launch.env;
        let array: &IntArray = match array {
            ArrayRef::Tensor(id) => env.arrays.get(id.index())?.as_ref()?,
            ArrayRef::Meta(id, kind) => {
                let table = env.caches.get(id.index())?.as_ref()?;
                match kind {
                    MetaKind::Lengths => &table.lengths,
                    MetaKind::Indptr => &table.indptr,
                    MetaKind::Indices => &table.indices,
                    MetaKind::LastPageLen => &table.last_page_len,
                }
            }
            ArrayRef::Derived(of) => &env.derived.iter().find(|(derived, _)| *derived == of)?.1,
            ArrayRef::Local(_) => return None,
        };
        let at = usize::try_from(index).ok().filter(|at| *at < array.len())?;
        Some(derived::element(array, at))
    }
}
