//! Ties a workload to the file of kernels that it uses.

use super::codes;
use wsp_core::{FuncId, KernelId};
use wsp_ir::diag::{Diagnostic, did_you_mean};
use wsp_ir::workload::{Arg, ArgValue, Block, Kernel, NodeKind, ParamSource, Signature, Task, WorkloadModule};
use wsp_ir::{Field, FuncKind, Function, Module, Span};

/// The function of each kernel of the workload; none for kernels that are only declared.
pub(crate) type Functions = Vec<Option<FuncId>>;

/// Finds every library kernel, and puts the arguments of its tasks into the order of its descriptor's fields.
pub(crate) fn link(module: &mut WorkloadModule, library: Option<&Module>) -> Result<Functions, Vec<Diagnostic>> {
    let mut faults = Vec::new();
    let functions: Functions =
        module.kernels.iter().map(|kernel| function(kernel, library, &mut faults)).collect();
    if let Some(library) = library {
        faults.extend(twice_declared(module, library));
        let mut cx = Linker { kernels: &module.kernels, functions: &functions, library, faults: &mut faults };
        for workload in &mut module.workloads {
            cx.block(&mut workload.body);
        }
    }
    if faults.is_empty() { Ok(functions) } else { Err(faults) }
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
        let mut fault = Diagnostic::error(codes::UNKNOWN_KERNEL, format!("there is no kernel `{}`", kernel.name))
            .at(kernel.span, "no used file defines it");
        fault = match did_you_mean(&kernel.name, names.iter().copied()) {
            Some(near) => fault.help(format!("did you mean `{near}`?")),
            None if names.is_empty() => fault.note("the used files define no kernels"),
            None => fault.note(format!("kernels: {}", names.join(", "))),
        };
        faults.push(fault);
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
    let fault = |name: &str, span: Span, help: &str| {
        Diagnostic::error(codes::BOTH_SIDES, format!("`{name}` is declared in the used file too"))
            .at(span, "and here")
            .help(help)
    };
    tensors
        .map(|t| fault(&t.name, t.span, "remove this declaration: kernels of the used file see the tensor of that file"))
        .chain(derived.map(|p| {
            fault(&p.name, p.span, &format!("write `param {};` to take the value that it has there", p.name))
        }))
        .collect()
}

struct Linker<'a> {
    kernels: &'a [Kernel],
    functions: &'a Functions,
    library: &'a Module,
    faults: &'a mut Vec<Diagnostic>,
}

impl Linker<'_> {
    fn block(&mut self, block: &mut Block) {
        for node in block {
            let span = node.span;
            match &mut node.kind {
                NodeKind::Task(task) => self.task(task, span),
                NodeKind::ParallelFor { body, .. }
                | NodeKind::ForEach { body, .. }
                | NodeKind::Select { body, .. }
                | NodeKind::While { body, .. } => self.block(body),
                NodeKind::Cond { then, otherwise, .. } => {
                    self.block(then);
                    self.block(otherwise);
                }
                NodeKind::Combine(blocks) | NodeKind::Sequential(blocks) => {
                    blocks.iter_mut().for_each(|block| self.block(block));
                }
                NodeKind::Call { .. } => {}
            }
        }
    }

    fn task(&mut self, task: &mut Task, span: Span) {
        let Some(fields) = self.fields(task.kernel) else { return };
        match ordered(&task.args, fields) {
            Ok(args) => task.args = args,
            Err(what) => {
                let kernel = &self.kernels[task.kernel.index()].name;
                let fault = Diagnostic::error(codes::KERNEL_FIELDS, format!("kernel `{kernel}` {what}")).at(span, "here");
                let names: Vec<&str> = fields.iter().map(|f| f.name.as_str()).collect();
                self.faults.push(match names.as_slice() {
                    [] => fault.note("its descriptor has no fields"),
                    names => fault.note(format!("its descriptor has the fields {}", names.join(", "))),
                });
            }
        }
    }

    /// Fields of the descriptor of a library kernel.
    fn fields(&self, kernel: KernelId) -> Option<&[Field]> {
        let func = self.functions[kernel.index()]?;
        match self.library.functions[func.index()].kind {
            FuncKind::Kernel { descriptor: Some(id) } => Some(&self.library.structs[id.index()].fields),
            _ => Some(&[]),
        }
    }
}

/// Arguments in the order of the fields, without names; what is wrong with them otherwise.
fn ordered(args: &[Arg], fields: &[Field]) -> Result<Vec<Arg>, String> {
    let mut of_field: Vec<Option<&Arg>> = vec![None; fields.len()];
    for (position, arg) in args.iter().enumerate() {
        if let ArgValue::Access(_) = arg.value {
            return Err("takes no tensors: what it touches follows from its loads and stores".to_owned());
        }
        let field = match &arg.name {
            Some(name) => fields.iter().position(|f| f.name == *name).ok_or_else(|| {
                match did_you_mean(name, fields.iter().map(|f| f.name.as_str())) {
                    Some(near) => format!("has no field `{name}`; did you mean `{near}`?"),
                    None => format!("has no field `{name}`"),
                }
            })?,
            None if position < fields.len() => position,
            None => return Err(format!("is given {} arguments", args.len())),
        };
        if of_field[field].replace(arg).is_some() {
            return Err(format!("is given `{}` twice", fields[field].name));
        }
    }
    let missing: Vec<String> =
        fields.iter().zip(&of_field).filter(|(_, arg)| arg.is_none()).map(|(f, _)| format!("`{}`", f.name)).collect();
    if !missing.is_empty() {
        return Err(format!("is not given {}", missing.join(", ")));
    }
    Ok(of_field.into_iter().flatten().map(|arg| Arg { name: None, value: arg.value.clone() }).collect())
}
