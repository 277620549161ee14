//! Ties a workload to the file of kernels that it uses.

use super::codes;
use super::eval::constant;
use wsp_core::words::counted;
use wsp_core::{ExecPool, FuncId, KernelId, ParamId, TensorId, WorkloadId};
use wsp_diag::{Diagnostic, Span, did_you_mean};
use wsp_ir::workload::verify::COST;
use wsp_ir::workload::{
    AccessMode, Arg, ArgValue, Block, Kernel, NodeKind, ParamKind, ParamSource, Signature, Task,
    WorkloadModule,
};
use wsp_ir::{Field, FuncKind, Function, Module, ScalarTy};
use wsp_ordered::OrderedSet;

/// The function of each kernel of the workload; none for kernels that are only declared.
pub type Functions = Vec<Option<FuncId>>;

/// Finds every library kernel, and puts the arguments of its tasks into the order of its descriptor's fields.
pub(super) fn link(
    module: &mut WorkloadModule,
    library: Option<&Module>,
) -> Result<Functions, Vec<Diagnostic>> {
    let mut faults: Vec<Diagnostic> = module.kernels.iter().filter_map(negative_cost).collect();
    let functions: Functions =
        module.kernels.iter().map(|kernel| function(kernel, library, &mut faults)).collect();
    if let Some(library) = library {
        for (kernel, function) in module.kernels.iter_mut().zip(&functions) {
            faults.extend(function.and_then(|function| take_unit(kernel, function, library)));
        }
        faults.extend(twice_declared(module, library));
        let mut cx = Linker { kernels: &module.kernels, functions: &functions, library, faults: &mut faults };
        for workload in &mut module.workloads {
            visit_tasks(&mut workload.body, &mut |task, span| cx.task(task, span));
        }
    }
    if faults.is_empty() { Ok(functions) } else { Err(faults) }
}

/// Gives a kernel the unit that the used file says; a fault where the workload says another.
fn take_unit(kernel: &mut Kernel, function: FuncId, library: &Module) -> Option<Diagnostic> {
    let unit = library.unit(function);
    if kernel.unit == ExecPool::Any || unit == ExecPool::Any || kernel.unit == unit {
        kernel.unit = if kernel.unit == ExecPool::Any { unit } else { kernel.unit };
        return None;
    }
    let (here, there) = (kernel.unit.word(), unit.word());
    let message = format!("kernel `{}` is `on {there}` in the used file", kernel.name);
    let fault =
        Diagnostic::error(codes::BOTH_SIDES, message).at(kernel.span, format!("and `on {here}` here"));
    Some(fault.help(format!("leave out `on {here}`, or change the used file")))
}

/// A cost that is below 0 whatever the parameters and integers of a task are.
fn negative_cost(kernel: &Kernel) -> Option<Diagnostic> {
    let cost = kernel.cost.as_ref()?;
    let cycles = constant(cost).filter(|cycles| *cycles < 0)?;
    let message = format!("the cost of kernel `{}` is {cycles}", kernel.name);
    Some(Diagnostic::error(COST, message).at(cost.span, "").help("give a number of cycles from 0"))
}

/// Names of the tensors that some task of a workload with declared kernels may write.
pub(crate) fn written(module: &mut WorkloadModule) -> OrderedSet<String> {
    let WorkloadModule { workloads, kernels, tensors, .. } = module;
    let mut names = OrderedSet::new();
    for workload in workloads {
        visit_tasks(&mut workload.body, &mut |task, _| {
            let stored = accesses(task).zip(modes(&kernels[task.kernel.index()]));
            let stored = stored.filter(|(_, mode)| *mode != AccessMode::In);
            names.extend(stored.map(|(tensor, _)| tensors[tensor.index()].name.clone()));
        });
    }
    names
}

/// What tasks of the entry, and of the workloads that it calls, name.
#[derive(Default, Debug)]
pub struct Named {
    /// Kernels.
    pub kernels: OrderedSet<KernelId>,
    /// Tensors of regions.
    pub tensors: OrderedSet<TensorId>,
}

/// Collects what tasks of the entry, and of the workloads that it calls, name.
pub fn named(module: &WorkloadModule) -> Named {
    let (mut found, mut seen) = (Named::default(), OrderedSet::new());
    let mut enter =
        |workload: WorkloadId| seen.insert(workload).then(|| &module.workloads[workload.index()].body);
    let mut left: Vec<&Block> = module.entry.and_then(&mut enter).into_iter().collect();
    while let Some(block) = left.pop() {
        for node in block {
            match &node.kind {
                NodeKind::Task(task) => {
                    found.kernels.insert(task.kernel);
                    found.tensors.extend(accesses(task));
                }
                NodeKind::Call { workload, .. } => left.extend(enter(*workload)),
                // A branch that a constant rules out has no tasks.
                NodeKind::Cond { condition, then, otherwise } if condition.as_const().is_some() => {
                    left.push(if condition.as_const() == Some(0) { otherwise } else { then });
                }
                kind => left.extend(kind.bodies()),
            }
        }
    }
    found
}

/// Tensors of the regions of a task.
fn accesses(task: &Task) -> impl Iterator<Item = TensorId> {
    task.args.iter().filter_map(|arg| match &arg.value {
        ArgValue::Access(access) => Some(access.tensor),
        ArgValue::Scalar(_) => None,
    })
}

/// How a declared kernel accesses its tensor arguments, in their order.
pub fn modes(kernel: &Kernel) -> Vec<AccessMode> {
    let Signature::Declared(params) = &kernel.signature else { return Vec::new() };
    params
        .iter()
        .filter_map(|p| if let ParamKind::Tensor(mode) = p.kind { Some(mode) } else { None })
        .collect()
}

/// Calls `f` for every task statement with its place, in the order of the text.
fn visit_tasks(block: &mut Block, f: &mut impl FnMut(&mut Task, Span)) {
    for node in block {
        if let NodeKind::Task(task) = &mut node.kind {
            f(task, node.span);
        }
        node.kind.bodies_mut().into_iter().for_each(|inner| visit_tasks(inner, f));
    }
}

fn function(kernel: &Kernel, library: Option<&Module>, faults: &mut Vec<Diagnostic>) -> Option<FuncId> {
    if kernel.signature != Signature::Library {
        if library.is_some() {
            faults.push(
                Diagnostic::error(codes::NO_BODY, format!("kernel `{}` has no body", kernel.name))
                    .at(kernel.span, "declared here, while other kernels come from a used file")
                    .help("write it in the used file, and declare it without `( )` or not at all"),
            );
        }
        return None;
    }
    let kernels = library.iter().flat_map(|library| &library.functions).filter(|f| is_kernel(f));
    let names: Vec<&str> = kernels.map(|f| f.name.as_str()).collect();
    let found = library
        .and_then(|library| library.function_named(&kernel.name))
        .filter(|id| library.is_some_and(|library| is_kernel(&library.functions[id.index()])));
    if found.is_none() {
        let mut fault =
            Diagnostic::error(codes::UNKNOWN_KERNEL, format!("there is no kernel `{}`", kernel.name))
                .at(kernel.span, "no used file defines it");
        fault = match did_you_mean(&kernel.name, names.iter().copied()) {
            Some(near) => fault.help(format!("did you mean `{near}`?")),
            None if names.is_empty() => fault.note("the used files define no kernels"),
            None => fault.note(format!("kernels: {}", names.join(", "))),
        };
        faults.push(fault);
    }
    let entry = found.and_then(|id| library.and_then(|library| library.kernel_entry(id)));
    if let Some(entry) = entry {
        faults.push(
            Diagnostic::error(
                codes::UNKNOWN_KERNEL,
                format!("kernel `{}` is no kernel of tasks", kernel.name),
            )
            .at(kernel.span, "a task runs it here")
            .label(entry.span, "it has parameters, so task graphs run it")
            .help("run it with `TG_KERNEL` in a `.tg` unit, or use a file whose kernels take descriptors"),
        );
        return None;
    }
    found
}

fn is_kernel(function: &Function) -> bool {
    matches!(function.kind, FuncKind::Kernel { .. })
}

/// Names that mean one thing here and another there.
fn twice_declared(module: &WorkloadModule, library: &Module) -> Vec<Diagnostic> {
    let tensors = module.tensors.iter().filter(|t| library.tensor_named(&t.name).is_some());
    let derived = module.params.iter().filter(|p| matches!(p.source, ParamSource::Derived(_)));
    let derived = derived.filter(|p| library.param_named(&p.name).is_some());
    let reals = module.params.iter().filter(|p| {
        let there = library.param_named(&p.name);
        there.is_some_and(|id| matches!(library.params[id.index()].ty, ScalarTy::F32 | ScalarTy::F64))
            && matches!(p.source, ParamSource::Set(_))
    });
    // Of these the used file's value is the only one there is.
    let decided = module.params.iter().filter(|p| {
        let ParamSource::Set(Some(default)) = &p.source else { return false };
        let settable = |id: ParamId| {
            let there = &library.params[id.index()];
            matches!(there.source, wsp_ir::ParamSource::Set { .. } | wsp_ir::ParamSource::Entry)
        };
        library.param_named(&p.name).is_some_and(|id| !settable(id) || default.as_const().is_none())
    });
    let fault = |name: &str, span: Span, help: &str| {
        Diagnostic::error(codes::BOTH_SIDES, format!("`{name}` is declared in the used file too"))
            .at(span, "and here")
            .help(help)
    };
    tensors
        .map(|t| {
            fault(
                &t.name,
                t.span,
                "remove this declaration: kernels of the used file see the tensor of that file",
            )
        })
        .chain(derived.chain(decided).map(|p| {
            fault(&p.name, p.span, &format!("write `param {};` to take the value that it has there", p.name))
        }))
        .chain(reals.map(|p| fault(&p.name, p.span, "rename it: there it is a real number, here an integer")))
        .collect()
}

struct Linker<'a> {
    kernels: &'a [Kernel],
    functions: &'a Functions,
    library: &'a Module,
    faults: &'a mut Vec<Diagnostic>,
}

impl<'a> Linker<'a> {
    fn task(&mut self, task: &mut Task, span: Span) {
        let Some(fields) = self.fields(task.kernel, span) else { return };
        match ordered(&task.args, fields) {
            Ok(args) => task.args = args,
            Err(Misfit { what, at, near }) => {
                let kernel = &self.kernels[task.kernel.index()].name;
                let mut fault = Diagnostic::error(codes::KERNEL_FIELDS, format!("kernel `{kernel}` {what}"))
                    .at(at.unwrap_or(span), "here");
                if let Some(near) = near {
                    fault = fault.help(format!("did you mean `{near}`?"));
                }
                let names: Vec<&str> = fields.iter().map(|f| f.name.as_str()).collect();
                self.faults.push(match names.as_slice() {
                    [] => fault.note("its descriptor has no fields"),
                    names => fault.note(format!("its descriptor has the fields {}", names.join(", "))),
                });
            }
        }
    }

    /// Fields of the descriptor of a library kernel; without a descriptor no task can be made of it.
    fn fields(&mut self, kernel: KernelId, span: Span) -> Option<&'a [Field]> {
        let func = self.functions[kernel.index()]?;
        if let FuncKind::Kernel { descriptor: Some(id) } = self.library.functions[func.index()].kind {
            return Some(&self.library.structs[id.index()].fields);
        }
        let name = &self.kernels[kernel.index()].name;
        self.faults.push(
            Diagnostic::error(codes::KERNEL_FIELDS, format!("kernel `{name}` takes no descriptor"))
                .at(span, "so no task can call it")
                .help("give it one: `struct Args { uint32_t first; };` and `auto args = PTO_GET_DESCRIPTOR<Args>();`"),
        );
        None
    }
}

/// What is wrong with the arguments of a task.
struct Misfit<'a> {
    what: String,
    /// The argument; none for all of them.
    at: Option<Span>,
    /// The field that was probably meant.
    near: Option<&'a str>,
}

impl From<String> for Misfit<'_> {
    fn from(what: String) -> Self {
        Misfit { what, at: None, near: None }
    }
}

/// Where the value of an argument stands.
fn place(arg: &Arg) -> Span {
    match &arg.value {
        ArgValue::Access(access) => access.span,
        ArgValue::Scalar(value) => value.span,
    }
}

/// Arguments in the order of the fields, without names; what is wrong with them otherwise.
fn ordered<'a>(args: &[Arg], fields: &'a [Field]) -> Result<Vec<Arg>, Misfit<'a>> {
    let mut of_field: Vec<Option<&Arg>> = vec![None; fields.len()];
    for (position, arg) in args.iter().enumerate() {
        if let ArgValue::Access(_) = arg.value {
            let what = "takes no tensors: what it touches follows from its loads and stores".to_owned();
            return Err(Misfit { at: Some(place(arg)), ..what.into() });
        }
        let field = match &arg.name {
            Some(name) => fields.iter().position(|f| f.name == *name).ok_or_else(|| Misfit {
                what: format!("has no field `{name}`"),
                at: Some(place(arg)),
                near: did_you_mean(name, fields.iter().map(|f| f.name.as_str())),
            })?,
            None if position < fields.len() => position,
            None => return Err(format!("is given {}", counted(args.len(), "argument")).into()),
        };
        if of_field[field].replace(arg).is_some() {
            let what = format!("is given `{}` twice", fields[field].name);
            return Err(Misfit { at: Some(place(arg)), ..what.into() });
        }
    }
    let missing: Vec<String> = fields
        .iter()
        .zip(&of_field)
        .filter(|(_, arg)| arg.is_none())
        .map(|(f, _)| format!("`{}`", f.name))
        .collect();
    if !missing.is_empty() {
        return Err(format!("is not given {}", missing.join(", ")).into());
    }
    Ok(of_field.into_iter().flatten().map(|arg| Arg { name: None, value: arg.value.clone() }).collect())
}
