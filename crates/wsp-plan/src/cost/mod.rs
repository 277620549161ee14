//! What a task costs on a machine, in cycles of the clock of its [`Model`].
//!
//! A kernel costs what it is said to (`cost` in a workload, [`declared`]), else what its own operations take ([`of_kernel`]):
//! `launch.kernel` once; for a load or store the startup and the bytes of each path between memories that it passes; for an operation on tiles
//! `startup + elements / rate` of its class and width, and the transfers of tiles that are in another memory than the operation needs;
//! for scalars the same with one element for each operator. Operators in operands of tile operations are free: addresses are computed beside.
//! Nothing overlaps: the figures are those of a kernel whose units wait for each other.
//!
//! Loops run as often as they do; extents of tiles are those of the task. What is not known ([`Known`] gives none) counts as much as it can: a tile
//! has all its capacity, of two branches the dearer is taken. How often a loop runs must be known.

pub(crate) mod codes;
mod frame;
mod walk;
mod work;

use crate::target::model::{Model, Path};
use crate::walk::callees;
use crate::workload::{Bindings, TaskRecord};
use codes::{LARGE_COST, NO_COST};
use wsp_core::{DType, ExecPool, FuncId, ParamId, TensorId};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::walk::stmts;
use wsp_ir::workload::WorkloadModule;
use wsp_ir::workload::verify::COST;
use wsp_ir::{ArrayRef, CostClass, Module, StmtKind, TileRole};
use wsp_ordered::OrderedSet;

/// Most cycles of a task, exclusive.
const MOST: f64 = (1u64 << 62) as f64;

/// What tasks work, whatever the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Work {
    /// Operations on elements of tiles; two for each product that is added.
    pub operations: u64,
    /// Bytes that are loaded from tensors or stored to them.
    pub bytes: u64,
}

impl std::ops::AddAssign for Work {
    fn add_assign(&mut self, more: Work) {
        self.operations = self.operations.saturating_add(more.operations);
        self.bytes = self.bytes.saturating_add(more.bytes);
    }
}

impl Work {
    /// Adds the work of a task to that of all tasks of its kernel, which has this number.
    pub fn add_to(self, all: &mut Vec<Option<Work>>, kernel: usize) {
        if all.len() <= kernel {
            all.resize(kernel + 1, None);
        }
        *all[kernel].get_or_insert_default() += self;
    }
}

/// What is known of a task or, where it is asked once for all tasks of a kernel, of the launch. None is taken for as much as it can be.
pub trait Known {
    /// The value of an integer parameter; derived ones and defaults need not be given.
    fn param(&self, _param: ParamId) -> Option<i128> {
        None
    }

    /// A field of the task's descriptor.
    fn field(&self, _field: u32) -> Option<u32> {
        None
    }

    /// Elements of a tensor along a dimension; those that its declaration says need not be given. Of a workspace dimension 0 is the first of a slot.
    fn extent(&self, _tensor: TensorId, _dim: usize) -> Option<u64> {
        None
    }

    /// The element type of a tensor whose declaration leaves it to the launch.
    fn dtype(&self, _tensor: TensorId) -> Option<DType> {
        None
    }

    /// An element of an array of integers.
    fn element(&self, _array: ArrayRef, _index: u64) -> Option<i128> {
        None
    }
}

/// Nothing beside what the source says.
impl Known for () {}

/// The cycles of a task of a kernel by its own operations.
///
/// # Errors
/// The model does not say what an operation takes or has no way between two memories, how often a loop runs or an element type is not known, a task
/// of more than a million statements, a cost of 2^62 cycles or more.
///
/// # Panics
/// When the function is not of the module, or the module is not verified.
pub fn of_kernel(
    model: &Model,
    module: &Module,
    kernel: FuncId,
    known: &dyn Known,
) -> Result<u64, Diagnostic> {
    of_kernel_with_work(model, module, kernel, known).map(|(cycles, _)| cycles)
}

/// The cycles of a task as [`of_kernel`] has them, and its work.
///
/// # Errors
/// As of [`of_kernel`].
///
/// # Panics
/// As [`of_kernel`].
pub fn of_kernel_with_work(
    model: &Model,
    module: &Module,
    kernel: FuncId,
    known: &dyn Known,
) -> Result<(u64, Work), Diagnostic> {
    let function = &module.functions[kernel.index()];
    let fault = |fault: Box<Diagnostic>| {
        let help = "or write `kernel NAME cost CYCLES;` in the workload that runs it";
        fault.note(format!("of kernel `{}`, on machine model `{}`", function.name, model.name)).help(help)
    };
    let (cycles, [operations, bytes]) = walk::cycles(model, module, function, known).map_err(fault)?;
    let work = Work { operations: operations as u64, bytes: bytes as u64 };
    whole(cycles).map(|cycles| (cycles, work)).ok_or_else(|| {
        let message = format!("a task of kernel `{}` takes {cycles:.3e} cycles", function.name);
        let fault = Diagnostic::error(LARGE_COST, message).at(function.span, "");
        fault.note(format!("on machine model `{}`; at most 2^62 are possible", model.name))
    })
}

/// The units that the operations of a kernel are for: cube units where there is a matrix product, else vector units.
///
/// # Panics
/// When the function is not of the module.
pub fn unit(module: &Module, kernel: FuncId) -> ExecPool {
    let mut all = OrderedSet::new();
    callees(module, kernel, &mut all);
    let mut has_product = false;
    for function in &all {
        stmts(&module.functions[function.index()].body, &mut |stmt| {
            if let StmtKind::Tile(op) = &stmt.kind {
                has_product |= op.cost_class() == CostClass::Products;
            }
        });
    }
    if has_product { ExecPool::Cube } else { ExecPool::Vector }
}

/// The cycles that the kernel of a task is said to `cost`; none where it is not said.
///
/// # Errors
/// They are below 0, or the expression is at fault.
pub fn declared(
    module: &WorkloadModule,
    bindings: &Bindings,
    task: &TaskRecord<'_>,
) -> Result<Option<u64>, Diagnostic> {
    let kernel = &module.kernels[task.kernel.index()];
    let Some(expr) = &kernel.cost else { return Ok(None) };
    let cycles = bindings.evaluate(module, expr, task.scalars).map_err(|fault| *fault)?;
    u64::try_from(cycles).map(Some).map_err(|_| {
        Diagnostic::error(COST, format!("the cost of a task of kernel `{}` is {cycles}", kernel.name))
            .at(expr.span, "cycles must not be negative")
            .note(format!("in the task with the indices {:?}", task.indices))
            .help("write `max(cost, 0)`, or set other values")
            .python("give `TracePolicy.cycles` a function that is 0 or more for every task")
    })
}

/// The cycles of a task of a workload: those that are [`declared`], else those of its kernel's operations, where `body` says which function of
/// which file it is.
///
/// # Errors
/// As of both; a kernel that has neither.
pub fn of_task(
    model: &Model,
    (module, bindings): (&WorkloadModule, &Bindings),
    task: &TaskRecord<'_>,
    body: Option<(&Module, FuncId)>,
    known: &dyn Known,
) -> Result<u64, Diagnostic> {
    let kernel = &module.kernels[task.kernel.index()];
    if let Some(cycles) = declared(module, bindings, task)? {
        if (cycles as f64) < MOST {
            return Ok(cycles);
        }
        let message = format!("a task of kernel `{}` costs {cycles} cycles", kernel.name);
        return Err(Diagnostic::error(LARGE_COST, message)
            .at(kernel.span, "declared here")
            .note("at most 2^62 are possible")
            .help("count in thousands of cycles"));
    }
    let Some((library, function)) = body else {
        let message = format!("kernel `{}` has no cost, and no operations to tell it from", kernel.name);
        return Err(Diagnostic::error(NO_COST, message)
            .at(kernel.span, "declared here")
            .help(format!("write `cost CYCLES` behind the parameters of `{}`", kernel.name))
            .python("give `TracePolicy.cycles` a function, or the kernel a `cost`"));
    };
    of_kernel(model, library, function, known)
}

/// The cycles of a copy of so many bytes between tensors: they go to the memory of vector tiles and back.
///
/// # Errors
/// The model has no way there or back, a cost of 2^62 cycles or more.
pub fn of_copy(model: &Model, bytes: u64) -> Result<u64, Diagnostic> {
    let ways = model.global().zip(model.home(TileRole::Vec)).and_then(|(global, tiles)| {
        Some([model.route(global, tiles)?, model.route(tiles, global)?].concat())
    });
    let Some(ways) = ways else {
        let message = "the model has no way from the memory of tensors to that of vector tiles and back";
        return Err(Diagnostic::error(NO_COST, message)
            .note(format!("a copy takes it, on machine model `{}`", model.name))
            .help("give the model a `[[path]]` for each direction"));
    };
    let of = |path: &Path| path.startup + model.cycles(path.rate(model.rates).seconds(bytes as f64));
    let cycles: f64 = ways.into_iter().map(of).sum();
    whole(cycles).ok_or_else(|| {
        let message = format!("a copy of {bytes} bytes takes {cycles:.3e} cycles");
        Diagnostic::error(LARGE_COST, message)
            .note(format!("on machine model `{}`; at most 2^62 are possible", model.name))
    })
}

/// That a kernel has no operations that a model could have figures of.
pub fn without_operations(model: &Model, kernel: &str) -> Diagnostic {
    let message = format!("kernel `{kernel}` has no operations to tell its cost from");
    Diagnostic::error(NO_COST, message)
        .note(format!("on machine model `{}`; functions of the caller have none", model.name))
        .help("write the kernel in a `.pto` file")
}

/// Cycles as a whole number, rounded up, where they are few enough.
fn whole(cycles: f64) -> Option<u64> {
    (cycles < MOST).then_some(cycles.ceil() as u64)
}

/// Something that decides the cost is not known.
fn unknown(span: Span, message: String) -> Box<Diagnostic> {
    Box::new(Diagnostic::error(NO_COST, message).at(span, ""))
}
