//! Tasks of library kernels: a workload in the place of generators.

use super::codes;
use super::graph::pool;
use super::link::Functions;
use super::settings::{affinity, deps};
use super::touch::{Touched, Toucher};
use crate::bind::Bound;
use crate::kernels::{Evaluator, KernelTable};
use crate::planner::Planner;
use crate::runner::KernelRunner;
use crate::sizing::{Sizes, SizingSink};
use smallvec::SmallVec;
use std::collections::BTreeMap;
use wsp_core::{DType, KernelId, SlotId, StreamId, StructId, TaskId};
use wsp_ir::diag::Diagnostic;
use wsp_ir::workload::WorkloadModule;
use wsp_ir::{FuncKind, Span};
use wsp_kernel::{Env, Trap, Value};
use wsp_plan::workload::{Bindings, ExpandError, LoweredSchedule, TaskRecord, TaskSink, bind, expand};
use wsp_plan::{Array, Arrays, LoweredPlan, ParamValue};
use wsp_runtime::{Stopped, Submitter, TaskSpec};

/// A linked workload all of whose kernels are those of a library.
#[derive(Debug)]
pub(crate) struct LibraryTasks {
    pub(crate) module: WorkloadModule,
    pub(crate) functions: Functions,
    pub(crate) schedule: LoweredSchedule,
}

/// Kernels of a launch by the workload's numbers.
pub(crate) struct Callees {
    of_kernel: Vec<Option<(KernelId, StructId)>>,
}

/// Descriptor words of a task.
type Words = SmallVec<[u32; 16]>;

impl LibraryTasks {
    /// Values of the workload's parameters: those of the library where names are shared, else the user's.
    pub(crate) fn bind(
        &self,
        plan: &LoweredPlan,
        bound: &Bound,
        set: &[(String, ParamValue)],
        arrays: &Arrays,
    ) -> Result<Bindings, Vec<Diagnostic>> {
        let library = plan.module.params.iter().map(|p| p.name.as_str()).zip(&bound.params);
        let shared = library.filter(|(name, _)| self.module.param_named(name).is_some());
        let shared: Vec<(String, ParamValue)> =
            shared.filter_map(|(name, value)| Some((name.to_owned(), as_integer(*value)?))).collect();
        let own = set.iter().filter(|(name, _)| !self.is_library_name(plan, name));
        let all: Vec<(String, ParamValue)> = own.cloned().chain(shared).collect();
        bind(&self.module, &all, &tables(&self.module, arrays)?)
    }

    /// The values that the library is given: what the user set of its names, before them the workload's own defaults.
    pub(crate) fn library_values(&self, plan: &LoweredPlan, set: &[(String, ParamValue)]) -> Vec<(String, ParamValue)> {
        let defaults = self.module.params.iter().filter_map(|param| {
            let wsp_ir::workload::ParamSource::Set(Some(default)) = &param.source else { return None };
            let id = plan.module.param_named(&param.name)?;
            let settable = matches!(
                plan.module.params[id.index()].source,
                wsp_ir::ParamSource::Set { .. } | wsp_ir::ParamSource::Entry
            );
            Some((param.name.clone(), ParamValue::Int(default.as_const().filter(|_| settable)?.into())))
        });
        // Names that only the workload knows are its own; names that nobody knows are reported there.
        let set = set.iter().filter(|(name, _)| self.is_library_name(plan, name) || self.module.param_named(name).is_none());
        defaults.chain(set.cloned()).collect()
    }

    fn is_library_name(&self, plan: &LoweredPlan, name: &str) -> bool {
        let params = (0..plan.module.params.len()).map(|i| wsp_core::ParamId(i as u32));
        params.into_iter().any(|id| plan.module.user_names(id).any(|n| n == name))
    }

    /// The kernels of a launch.
    pub(crate) fn callees(&self, plan: &LoweredPlan, kernels: &KernelTable) -> Callees {
        let callee = |func: &Option<wsp_core::FuncId>| {
            let func = (*func)?;
            let FuncKind::Kernel { descriptor } = plan.module.functions[func.index()].kind else { return None };
            Some((kernels.of_function(func)?, descriptor?))
        };
        Callees { of_kernel: self.functions.iter().map(callee).collect() }
    }

    /// Generates every task without running it.
    pub(crate) fn size(
        &self,
        bindings: &Bindings,
        planner: &mut Planner<'_>,
        kernels: &KernelTable,
        keep: bool,
    ) -> Result<Sizes, Vec<Diagnostic>> {
        let callees = self.callees(planner.plan, kernels);
        let inner = SizingSink::new(planner, kernels, keep);
        let mut sink = Sizing { module: &self.module, callees, planner: &*planner, inner };
        expand(&self.module, bindings, &self.schedule, &mut sink).map_err(faults)?;
        let Sizing { inner, .. } = sink;
        inner.finish(planner).map_err(|trap| vec![trap.into()])
    }

    /// Generates every task for the runtime.
    pub(crate) fn submit<'k>(
        &self,
        bindings: &Bindings,
        planner: &Planner<'k>,
        kernels: &'k KernelTable,
        submitter: &mut Submitter<'_, KernelRunner<'k>>,
        workers: u32,
    ) -> Result<(), ExpandError<SubmitFault>> {
        let touch = LibraryTouch::new(&self.module, self.callees(planner.plan, kernels), kernels, planner.env);
        let explicit = deps(self.schedule.dependences).takes_edges();
        let mut sink = Submitting { module: &self.module, touch, submitter, workers, explicit };
        expand(&self.module, bindings, &self.schedule, &mut sink).map(|_| ())
    }
}

fn faults(error: ExpandError<Diagnostic>) -> Vec<Diagnostic> {
    match error {
        ExpandError::Fault(fault) => vec![*fault],
        ExpandError::Sink(fault) => vec![fault],
        ExpandError::Cancelled => vec![Diagnostic::error(codes::CANCELLED, "the run was cancelled")],
    }
}

/// Why the tasks of a run end early.
#[derive(Debug)]
pub(crate) enum SubmitFault {
    /// The runtime takes no more.
    Stopped(Stopped),
    /// A task cannot be.
    Task(Diagnostic),
}

/// Descriptor words from arguments, which linking has put into the order of the fields.
fn words(module: &WorkloadModule, task: &TaskRecord<'_>) -> Result<Words, Diagnostic> {
    let word = |(n, &value): (usize, &i64)| {
        u32::try_from(value).map_err(|_| {
            let kernel = &module.kernels[task.kernel.index()].name;
            Diagnostic::error(codes::FIELD_VALUE, format!("argument {} of kernel `{kernel}` is {value}", n + 1))
                .at(task.task.args.get(n).map_or_else(Span::default, arg_span), "this argument")
                .note("fields of descriptors lie in 0..=4294967295")
                .note(format!("in the task with the indices {:?}", task.indices))
        })
    };
    task.scalars.iter().enumerate().map(word).collect()
}

fn arg_span(arg: &wsp_ir::workload::Arg) -> Span {
    match &arg.value {
        wsp_ir::workload::ArgValue::Scalar(expr) => expr.span,
        wsp_ir::workload::ArgValue::Access(access) => access.span,
    }
}

/// A value as the workload takes it; its parameters are integers.
fn as_integer(value: Value) -> Option<ParamValue> {
    value.as_int().map(ParamValue::Int)
}

/// Tables of the workload among the arrays: integers in one dimension.
pub(crate) fn tables(module: &WorkloadModule, arrays: &Arrays) -> Result<BTreeMap<String, Vec<i64>>, Vec<Diagnostic>> {
    let (mut tables, mut faults) = (BTreeMap::new(), Vec::new());
    for table in &module.tables {
        let Some(array) = arrays.get(&table.name) else { continue };
        match integers(array) {
            Some(values) if array.shape().len() == 1 => {
                tables.insert(table.name.clone(), values);
            }
            _ => faults.push(
                Diagnostic::error(codes::WRONG_ARRAY, format!("array `{}` is no table", table.name))
                    .at(table.span, "a table has integers in one dimension")
                    .note(format!("the array is {array:?}")),
            ),
        }
    }
    if faults.is_empty() { Ok(tables) } else { Err(faults) }
}

/// The elements of an array of integers that all fit 64 bits with a sign.
fn integers(array: &Array) -> Option<Vec<i64>> {
    fn all<T: Copy + TryInto<i64>>(elements: &[T]) -> Option<Vec<i64>> {
        elements.iter().map(|&n| n.try_into().ok()).collect()
    }
    match array.dtype() {
        DType::U8 => all(array.as_slice::<u8>()?),
        DType::U16 => all(array.as_slice::<u16>()?),
        DType::I32 => all(array.as_slice::<i32>()?),
        DType::U32 => all(array.as_slice::<u32>()?),
        DType::I64 => all(array.as_slice::<i64>()?),
        DType::U64 => all(array.as_slice::<u64>()?),
        _ => None,
    }
}

/// Boxes from the summaries of library kernels.
pub(crate) struct LibraryTouch<'a> {
    module: &'a WorkloadModule,
    callees: Callees,
    kernels: &'a KernelTable,
    env: &'a Env,
    evaluator: Evaluator,
    /// Of the last task.
    kernel: KernelId,
    words: Words,
    last: crate::kernels::Touched,
}

impl<'a> LibraryTouch<'a> {
    pub(crate) fn new(
        module: &'a WorkloadModule,
        callees: Callees,
        kernels: &'a KernelTable,
        env: &'a Env,
    ) -> LibraryTouch<'a> {
        LibraryTouch {
            module,
            callees,
            kernels,
            env,
            evaluator: Evaluator::default(),
            kernel: KernelId(0),
            words: Words::new(),
            last: crate::kernels::Touched::default(),
        }
    }
}

impl Toucher for LibraryTouch<'_> {
    fn touch<'t>(&'t mut self, task: &'t TaskRecord<'_>) -> Result<Touched<'t>, Diagnostic> {
        let (kernel, _) = self.callees.get(task.kernel)?;
        self.words = words(self.module, task)?;
        self.kernel = kernel;
        self.last = self.kernels.get(kernel).touched(&mut self.evaluator, self.env, &self.words);
        Ok(self.touched(task))
    }

    fn touched<'t>(&'t self, _: &'t TaskRecord<'_>) -> Touched<'t> {
        Touched { reads: &self.last.reads, writes: &self.last.writes }
    }
}

impl Callees {
    fn get(&self, kernel: KernelId) -> Result<(KernelId, StructId), Diagnostic> {
        self.of_kernel[kernel.index()].ok_or_else(|| {
            Trap::internal("a task calls a kernel that was not linked".to_owned(), Span::default()).into()
        })
    }
}

/// Counts tasks.
struct Sizing<'a, 'e, 'k> {
    module: &'a WorkloadModule,
    callees: Callees,
    planner: &'a Planner<'e>,
    inner: SizingSink<'k>,
}

impl TaskSink for Sizing<'_, '_, '_> {
    type Error = Diagnostic;

    fn task(&mut self, task: &TaskRecord<'_>) -> Result<(), Diagnostic> {
        let (kernel, descriptor) = self.callees.get(task.kernel)?;
        let words = words(self.module, task)?;
        Ok(self.inner.count(self.planner, kernel, descriptor, &words)?)
    }

    fn ordered_begin(&mut self) -> Result<(), Diagnostic> {
        Ok(())
    }

    fn ordered_step(&mut self) -> Result<(), Diagnostic> {
        Ok(())
    }

    fn ordered_end(&mut self) -> Result<(), Diagnostic> {
        Ok(())
    }

    fn slot(&mut self, slot: SlotId) -> Result<i64, Diagnostic> {
        Err(no_slot(self.module, slot))
    }

    fn cancelled(&self) -> bool {
        self.planner.env.cancelled()
    }
}

/// Kernels of a library do not write slots, so that reading one is a mistake.
fn no_slot(module: &WorkloadModule, slot: SlotId) -> Diagnostic {
    let slot = &module.slots[slot.index()];
    let name = &module.tensors[slot.tensor.index()].name;
    Diagnostic::error(codes::SLOT_IN_GRAPH, format!("no kernel of a used file can write slot `{name}`"))
        .at(slot.span, "declared here")
        .help("make it a parameter: `param name = value;`")
}

/// Submits tasks to the runtime.
struct Submitting<'a, 's, 'r, 'k> {
    module: &'a WorkloadModule,
    touch: LibraryTouch<'a>,
    submitter: &'s mut Submitter<'r, KernelRunner<'k>>,
    workers: u32,
    explicit: bool,
}

impl TaskSink for Submitting<'_, '_, '_, '_> {
    type Error = SubmitFault;

    fn task(&mut self, task: &TaskRecord<'_>) -> Result<(), SubmitFault> {
        self.touch.touch(task).map_err(SubmitFault::Task)?;
        let touched = self.touch.touched(task);
        // Ids of a run count tasks only, as ordinals do.
        let after: Vec<TaskId> =
            if self.explicit { task.after.iter().map(|&o| TaskId(o as u32)).collect() } else { Vec::new() };
        let spec = TaskSpec {
            kernel: self.touch.kernel,
            payload: &self.touch.words,
            reads: touched.reads,
            writes: touched.writes,
            affinity: affinity(&task.place, self.workers),
            pool: pool(task.place.pool),
            stream: task.place.stream.map(StreamId),
            priority: task.place.priority,
            after: &after,
            ..TaskSpec::default()
        };
        self.submitter.submit(spec).map(|_| ()).map_err(SubmitFault::Stopped)
    }

    fn ordered_begin(&mut self) -> Result<(), SubmitFault> {
        self.submitter.ordered_begin();
        Ok(())
    }

    fn ordered_step(&mut self) -> Result<(), SubmitFault> {
        self.submitter.ordered_step().map_err(SubmitFault::Stopped)
    }

    fn ordered_end(&mut self) -> Result<(), SubmitFault> {
        self.submitter.ordered_end().map_err(SubmitFault::Stopped)
    }

    fn slot(&mut self, slot: SlotId) -> Result<i64, SubmitFault> {
        Err(SubmitFault::Task(no_slot(self.module, slot)))
    }

    fn cancelled(&self) -> bool {
        self.submitter.cancelled()
    }
}
