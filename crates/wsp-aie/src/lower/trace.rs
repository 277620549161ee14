//! The tasks of one launch: what they run, what they touch, and in which process.

use super::processes::{processes, stages};
use super::values::{TensorInfo, elems, params, tensors};
use super::{Launch, refused};
use crate::kernel::{self, Body, Number};
use crate::stop;
use std::sync::Arc;
use wsp_backend::{ArrayForm, BARRIER_NODE, GraphListing, LaunchTable, TableRow};
use wsp_core::{DType, FuncId};
use wsp_diag::{Diagnostic, Diagnostics, Span};
use wsp_ir::affine::Affine;
use wsp_ir::workload::AccessMode;
use wsp_ir::{Const, Consumer, Verified, into_verified};
use wsp_ordered::{OrderedMap, OrderedSet};
use wsp_plan::workload::WorkloadPlan;
use wsp_plan::{LoweredPlan, ParamValue, PlanSource};
use wsp_tile::Known;

/// Most tasks of a launch.
const TASKS: usize = 1 << 16;

/// The tasks of a launch, as they are listed before anything runs.
#[derive(Debug)]
pub struct Listed {
    /// Tasks with what they access.
    pub graph: GraphListing,
    /// Tasks with the words of their descriptors.
    pub table: LaunchTable,
}

/// By kernel and the words that decide it, whether operands are stored as a whole.
pub(super) type Whole = OrderedMap<(FuncId, Vec<u32>), Vec<bool>>;

/// A launch whose values are known.
#[derive(Debug)]
pub(crate) struct Trace {
    /// The kernels.
    pub(crate) module: Arc<Verified>,
    /// Values of its parameters.
    pub(crate) params: Vec<Option<Const>>,
    /// Element types of tensors that leave them to a launch.
    pub(crate) elems: Vec<Option<DType>>,
    /// Tensors, by number in the module.
    pub(crate) tensors: Vec<TensorInfo>,
    /// Tensors that tasks write.
    written: OrderedSet<usize>,
    /// Bodies of kernels.
    pub(crate) bodies: OrderedMap<FuncId, Arc<Body>>,
    /// By kernel and the words that decide it: which operands are stored as a whole.
    whole: Whole,
    /// Tasks in elaboration order.
    pub(crate) tasks: Vec<Task>,
    /// Processes of the pipeline, where there is one.
    pub(crate) processes: Vec<String>,
    /// Most cores that the schedule gives tasks outside of pipelines.
    pub(crate) workers: Option<u32>,
    /// Columns of the grid that the schedule maps tasks to.
    pub(crate) grid: Option<u32>,
}

/// A task.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    /// What runs.
    pub(crate) func: FuncId,
    /// The words of its descriptor.
    pub(crate) words: Vec<u32>,
    /// What it reads and writes: the operands of its kernel's body.
    pub(crate) touches: Vec<Touch>,
    /// The process that it is of.
    pub(crate) process: Option<u32>,
    /// The tile of the grid that it is for.
    pub(crate) tile: Option<u32>,
}

/// The figure of a refusal that says what extent a dimension needs.
pub(super) const EXTENT: &str = "extent";

/// A box of a tensor.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Piece {
    /// First indices.
    pub(crate) lo: Vec<u64>,
    /// Extents.
    pub(crate) len: Vec<u64>,
}

/// A box that a task reads or writes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Touch {
    pub(crate) tensor: usize,
    pub(crate) read: bool,
    pub(crate) write: bool,
    pub(crate) region: Piece,
}

impl Piece {
    pub(crate) fn elements(&self) -> u64 {
        self.len.iter().product()
    }

    /// Elements of both.
    fn shared(&self, other: &Piece) -> u64 {
        let ends =
            |piece: &Piece| piece.lo.iter().zip(&piece.len).map(|(lo, len)| lo + len).collect::<Vec<_>>();
        let lows = self.lo.iter().zip(&other.lo).map(|(a, b)| *a.max(b));
        let highs = ends(self).into_iter().zip(ends(other)).map(|(a, b)| a.min(b));
        lows.zip(highs).map(|(low, high)| high.saturating_sub(low)).product()
    }

    /// Two boxes that are neither the same nor apart.
    pub(crate) fn crosses(&self, other: &Piece) -> bool {
        self != other && self.shared(other) > 0
    }
}

impl std::fmt::Display for Piece {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let dims = self.lo.iter().zip(&self.len).map(|(lo, len)| format!("{lo}..{}", lo + len));
        write!(f, "[{}]", dims.collect::<Vec<_>>().join(", "))
    }
}

/// Refuses launches of more tasks than an array takes.
///
/// # Errors
/// There are more.
pub(crate) fn has_room(tasks: u64) -> Result<(), Diagnostic> {
    if tasks <= TASKS as u64 {
        return Ok(());
    }
    let message = format!("the launch has {tasks} tasks, and an array takes {TASKS} at most");
    Err(refused(message).help("make the tiles of a task larger"))
}

/// The kernels of a plan, and the workload over them.
pub(super) fn parts(source: &PlanSource) -> Result<(&LoweredPlan, Option<&WorkloadPlan>), Diagnostic> {
    match source {
        PlanSource::Spaces(plan) => Ok((plan, None)),
        PlanSource::Workload(plan) => match &plan.library {
            Some(library) => Ok((&library.plan, Some(plan))),
            None => {
                let kernel = plan.module.kernels.first();
                let named =
                    kernel.map_or_else(String::new, |kernel| format!(": `{}` is of none", kernel.name));
                Err(refused(format!("an array needs kernels of a `.pto` file{named}"))
                    .at(kernel.map(|kernel| kernel.span).unwrap_or_default(), "declared here")
                    .help("write the kernels in a `.pto` file, and `use \"FILE.pto\";` in place of their declarations")
                    .python("write the kernels in a `.pto` file, and call those of the file: `kernel = load(\"FILE.pto\").NAME`"))
            }
        },
        PlanSource::Unit(_) => Err(refused("a task graph has no form on an array".to_owned())
            .help("write the program as a workload, or run it on `cpu_sim`")),
    }
}

impl Trace {
    /// A launch with these arrays and values.
    pub(crate) fn new(
        source: &PlanSource,
        listed: &Listed,
        arrays: &[ArrayForm],
        values: &[(String, ParamValue)],
    ) -> Result<Trace, Diagnostics> {
        let module = Arc::new(into_verified(parts(source)?.0.module.clone())?);
        let (bodies, whole) = Default::default();
        Trace::of(source, (listed, arrays, values), (module, bodies, whole))
    }

    /// What is known of stores, which leaves it: as many entries as numbers that decide it.
    pub(super) fn take_whole(&mut self) -> Whole {
        std::mem::take(&mut self.whole)
    }

    /// Another launch of a program; bodies of kernels, and what was known of their stores, hold of it where parameters and types are the same.
    pub(super) fn like(
        (other, whole): (&Trace, Whole),
        source: &PlanSource,
        launch: &Launch,
    ) -> Result<Trace, Diagnostics> {
        let (plan, workload) = parts(source)?;
        let params = params(&other.module, workload, &launch.listed.table, &launch.arrays, &launch.values);
        let same = params == other.params && elems(plan, &launch.arrays) == other.elems;
        let (bodies, whole) = if same { (other.bodies.clone(), whole) } else { Default::default() };
        let of = (&launch.listed, launch.arrays.as_slice(), launch.values.as_slice());
        Trace::of(source, of, (other.module.clone(), bodies, whole))
    }

    fn of(
        source: &PlanSource,
        (listed, arrays, values): (&Listed, &[ArrayForm], &[(String, ParamValue)]),
        (module, bodies, whole): (Arc<Verified>, OrderedMap<FuncId, Arc<Body>>, Whole),
    ) -> Result<Trace, Diagnostics> {
        let (plan, workload) = parts(source)?;
        let params = params(&module, workload, &listed.table, arrays, values);
        let elems = elems(plan, arrays);
        let tensors = tensors(&module, plan, &params, &elems, arrays)?;
        let processes = workload.map_or_else(Vec::new, |plan| processes(&plan.module));
        let stages = workload.map(|plan| stages(&plan.module, &processes)).transpose()?.unwrap_or_default();
        let (written, tasks) = (OrderedSet::new(), Vec::new());
        let mut trace = Trace {
            module,
            params,
            elems,
            tensors,
            written,
            bodies,
            whole,
            tasks,
            processes,
            workers: None,
            grid: None,
        };
        let policy = workload.map_or(&plan.policy, |workload| &workload.schedule.policy);
        (trace.grid, trace.workers) = (policy.grid.map(|grid| grid.x), policy.workers);
        trace.tasks(plan, workload, listed, &stages)?;
        Ok(trace)
    }

    fn tasks(
        &mut self,
        plan: &LoweredPlan,
        workload: Option<&WorkloadPlan>,
        listed: &Listed,
        stages: &[Option<u32>],
    ) -> Result<(), Diagnostics> {
        let by_name: OrderedMap<&str, usize> =
            self.module.tensors.iter().enumerate().map(|(at, tensor)| (tensor.name.as_str(), at)).collect();
        let named: OrderedMap<String, usize> =
            (0..self.tensors.len()).map(|at| (self.tensors[at].name.clone(), at)).collect();
        let graph = &listed.graph;
        let tensor_of = |region: usize| {
            let name = graph.tensors.get(region)?;
            by_name.get(name.as_str()).or_else(|| named.get(name)).copied()
        };
        let barrier = graph.kernels.iter().position(|kernel| kernel.name == BARRIER_NODE);
        let is_task = |id: &usize| Some(graph.tasks[*id] as usize) != barrier;
        let ids: Vec<usize> = (0..graph.tasks.len()).filter(is_task).collect();
        let mut accesses: Vec<Vec<(usize, bool, Piece)>> = vec![Vec::new(); graph.tasks.len()];
        for access in &graph.accesses {
            stop::look()?;
            let region = &access.region;
            let Some(tensor) = tensor_of(region.tensor.index()) else {
                return Err(refused("a task reads a value that tasks compute".to_owned())
                    .note("the tasks of an array are known before it starts")
                    .help("run the program on `cpu_sim`")
                    .into());
            };
            let rank = self.tensors[tensor].dims.len();
            let lo = region.lo[..rank].iter().map(|lo| u64::from(*lo)).collect();
            let len = (0..rank).map(|d| u64::from(region.hi[d].saturating_sub(region.lo[d]))).collect();
            let of = &mut accesses[access.task as usize];
            if access.mode != AccessMode::Out {
                of.push((tensor, false, Piece { lo, len }));
            } else {
                of.push((tensor, true, Piece { lo, len }));
            }
        }
        // Of what no task writes, the list leaves out who reads it.
        self.written = accesses.iter().flatten().filter(|(_, write, _)| *write).map(|(at, ..)| *at).collect();
        has_room(ids.len() as u64)?;
        let mut begin = 0usize;
        let row = |row| if let &TableRow::Task(task) = row { Some(task) } else { None };
        for task in listed.table.rows.iter().filter_map(row).take(ids.len()) {
            stop::look()?;
            let words = listed.table.words[begin..task.words_end as usize].to_vec();
            begin = task.words_end as usize;
            let (func, process) = match workload {
                Some(plan) => {
                    let library = plan.library.as_ref().map(|library| &library.functions);
                    let func = library.and_then(|functions| functions[task.of as usize]);
                    (func, stages.get(task.of as usize).copied().flatten())
                }
                None => match plan.module.structs[task.of as usize].consumer {
                    Consumer::Kernel(func) => (Some(func), None),
                    _ => (None, None),
                },
            };
            let Some(func) = func else {
                return Err(refused("a task whose kernel is chosen as it starts has no core".to_owned())
                    .help("give the descriptor one kernel, without tiers")
                    .into());
            };
            let tile = graph.tiles.get(self.tasks.len()).copied();
            self.tasks.push(Task { func, words, touches: Vec::new(), process, tile });
        }
        let mut tasks = std::mem::take(&mut self.tasks);
        // What is beyond a tensor is said of the tasks of all kernels at once.
        for task in &tasks {
            self.body(task.func)?;
        }
        for (at, id) in (0..tasks.len()).zip(&ids) {
            stop::look()?;
            tasks[at].touches = self.touches((&tasks, at), &accesses[*id])?;
        }
        self.tasks = tasks;
        if self.tasks.is_empty() {
            return Err(refused("the launch has no task".to_owned())
                .note("with these values and extents of arrays its loops are empty, or none of its conditions holds")
                .help("give arrays or their extents, as with `--generate rows=64`, and values of parameters for which tasks start")
                .into());
        }
        Ok(())
    }

    /// Whether tasks touch the same boxes in the same order, and nothing else decides in other ways what flows between cores.
    pub(super) fn touches_like(&self, other: &Trace) -> bool {
        let task = |of: &Task| (of.func, of.process, of.tile);
        let tensor = |of: &TensorInfo| (of.dtype, of.host);
        let mut tensors = self.tensors.iter().zip(&other.tensors);
        let mut tasks = self.tasks.iter().zip(&other.tasks);
        (self.grid, self.workers, self.tasks.len()) == (other.grid, other.workers, other.tasks.len())
            && tensors.all(|(own, of)| tensor(own) == tensor(of) && own.dims == of.dims)
            && tasks.all(|(own, of)| task(own) == task(of) && own.touches == of.touches)
    }

    /// Where the kernel of a task is written.
    pub(crate) fn written_at(&self, task: &Task) -> Span {
        self.module.functions[task.func.index()].span
    }

    /// The body of a kernel.
    fn body(&mut self, func: FuncId) -> Result<Arc<Body>, Diagnostics> {
        if let Some(known) = self.bodies.get(&func) {
            return Ok(known.clone());
        }
        let known = Known { params: &self.params, elems: &self.elems };
        let body = Arc::new(kernel::body(&self.module, func, known)?);
        self.bodies.insert(func, body.clone());
        Ok(body)
    }

    /// What a task touches, by the operands of its kernel's body.
    fn touches(
        &mut self,
        (tasks, at): (&[Task], usize),
        accesses: &[(usize, bool, Piece)],
    ) -> Result<Vec<Touch>, Diagnostics> {
        let task = &tasks[at];
        let body = self.body(task.func)?;
        let whole = self.whole(task);
        let mut touches = Vec::new();
        for (operand, whole) in body.operands.iter().zip(whole) {
            let tensor = operand.tensor.index();
            let of = &self.tensors[tensor];
            let origin = operand.origin.iter().map(|at| self.eval(at, task));
            let lo: Option<Vec<u64>> = origin.map(|at| u64::try_from(at?).ok()).collect();
            let shape = operand.ty.shaped().map(|shaped| shaped.shape.clone()).unwrap_or_default();
            let len: Option<Vec<u64>> = shape.into_iter().collect();
            let (Some(lo), Some(len)) = (lo, len) else {
                return Err(refused(format!("a box of `{}` is not known before the launch", of.name))
                    .at(of.span, "")
                    .into());
            };
            let region = Piece { lo, len };
            let all = |write: bool| {
                let of_this =
                    accesses.iter().filter(move |(at, writes, _)| *at == tensor && *writes == write);
                of_this.map(|(.., piece)| piece.shared(&region))
            };
            let write = operand.writes && all(true).any(|shared| shared > 0);
            // What a task leaves of a box that it writes stays as it was.
            let is_part = write && !whole;
            let reads = all(false).any(|shared| shared > 0) || !self.written.contains(&tensor);
            let read = operand.reads && reads || is_part;
            let beyond =
                region.lo.iter().zip(&region.len).zip(&of.dims).position(|((lo, len), dim)| lo + len > *dim);
            if let Some(dim) = beyond.filter(|_| read || write) {
                return Err(self.beyond((tasks, at), tensor, (&region, dim)).into());
            }
            touches.push(Touch { tensor, read, write, region });
        }
        Ok(touches)
    }

    /// Where the last of the boxes of tasks in a tensor ends along a dimension, of kernels that are known.
    fn end(&self, (tasks, tensor): (&[Task], usize), dim: usize) -> u64 {
        let of_task = |task: &Task| {
            let operands = self.bodies.get(&task.func).map_or(&[][..], |body| body.operands.as_slice());
            let own = operands.iter().filter(|operand| operand.tensor.index() == tensor);
            let end = |operand: &kernel::Operand| {
                let len = operand.ty.shaped()?.shape.get(dim).copied().flatten()?;
                u64::try_from(self.eval(operand.origin.get(dim)?, task)?).ok()?.checked_add(len)
            };
            own.filter_map(end).max()
        };
        tasks.iter().filter_map(of_task).max().unwrap_or(0)
    }

    /// A box that ends beyond its tensor.
    #[cold]
    fn beyond(
        &self,
        (tasks, at): (&[Task], usize),
        tensor: usize,
        (region, dim): (&Piece, usize),
    ) -> Diagnostic {
        let (task, of) = (&tasks[at], &self.tensors[tensor]);
        let (lo, len, have) = (region.lo[dim], region.len[dim].max(1), of.dims[dim]);
        let kernel = &self.bodies[&task.func].name;
        let need = self.end((tasks, tensor), dim).max(lo + len).max(have.next_multiple_of(len));
        let whole = have / len * len;
        if lo >= have {
            let message = format!(
                "a task of `{kernel}` begins at {lo} of dimension {dim} of `{}`, which has {have}",
                of.name
            );
            return refused(message)
                .at(of.span, "")
                .help(format!("start no task from {have} on, or give the dimension {need}"))
                .figure(EXTENT, need);
        }
        let message = match have.is_multiple_of(len) {
            false => format!("tiles of {len} do not divide the {have} of dimension {dim} of `{}`", of.name),
            true => format!(
                "a task of `{kernel}` takes {lo}..{} of dimension {dim} of `{}`, which has {have}",
                lo + len,
                of.name
            ),
        };
        let help = match whole {
            0 => format!("give it {need}"),
            _ => format!("give it {need}, or {whole} and no task behind it"),
        };
        refused(message)
            .at(of.span, "")
            .note("an object of a fifo is a whole tile")
            .help(help)
            .figure(EXTENT, need)
    }

    /// Of each operand, whether a task stores all of its box, whatever data it finds.
    fn whole(&mut self, task: &Task) -> Vec<bool> {
        let body = &self.bodies[&task.func];
        let words = body.deciding().map(|at| task.words.get(at as usize).copied().unwrap_or(0)).collect();
        let key = (task.func, words);
        if let Some(known) = self.whole.get(&key) {
            return known.clone();
        }
        let whole = body.stores_all(&self.module, &|number| self.number(number, task));
        self.whole.insert(key, whole.clone());
        whole
    }

    /// A place in a tensor, of a task.
    fn eval(&self, of: &Affine<Number>, task: &Task) -> Option<i128> {
        of.terms.iter().try_fold(of.constant, |sum, (number, factor)| {
            let value = match self.number(*number, task)? {
                Const::Int(value) => value,
                _ => return None,
            };
            sum.checked_add(value.checked_mul(*factor)?)
        })
    }

    /// A number that a body takes, of a task.
    pub(crate) fn number(&self, number: Number, task: &Task) -> Option<Const> {
        match number {
            Number::Field(at) => task.words.get(at as usize).map(|word| Const::Int((*word).into())),
            Number::Param(id) => self.params.get(id.index()).copied().flatten(),
            Number::Extent(_) => None,
        }
    }
}
