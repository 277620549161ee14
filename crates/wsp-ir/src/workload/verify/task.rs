//! Tasks: arguments and labels.

use super::body::Body;
use super::{Checker, error, rule};
use crate::workload::{
    Access, AccessMode, Arg, ArgValue, DimRange, Kernel, KernelParam, ParamKind, Signature, Task,
};
use wsp_core::TensorId;
use wsp_core::limits::MAX_TASK_SCALARS;
use wsp_core::words::counted;
use wsp_diag::Span;
use wsp_ordered::OrderedSet;

/// A kernel's parameters as its declaration writes them.
fn signature(kernel: &str, params: &[KernelParam]) -> String {
    let written = params.iter().map(|param| {
        let mode = match param.kind {
            ParamKind::Scalar => "",
            ParamKind::Tensor(AccessMode::In) => "in ",
            ParamKind::Tensor(AccessMode::Out) => "out ",
            ParamKind::Tensor(AccessMode::InOut) => "inout ",
        };
        format!("{mode}{}", param.name)
    });
    format!("{kernel}({})", written.collect::<Vec<_>>().join(", "))
}

/// The place of an argument, or of its task when it has none.
fn place(arg: &Arg, task: Span) -> Span {
    let span = match &arg.value {
        ArgValue::Scalar(value) => value.span,
        ArgValue::Access(access) => access.span,
    };
    if span == Span::default() { task } else { span }
}

impl<'m> Checker<'m> {
    pub(super) fn task(&mut self, task: &'m Task, span: Span, body: &mut Body<'m>) {
        let mut written = Vec::new();
        if let Some(kernel) = self.lookup(&self.module.kernels, task.kernel.index(), "kernel", span) {
            match &kernel.signature {
                Signature::Declared(params) => written = self.declared_args(kernel, params, task, span),
                Signature::Library => self.library_args(kernel, task, span),
            }
        }
        for arg in &task.args {
            match &arg.value {
                ArgValue::Scalar(value) => self.value(value, body),
                ArgValue::Access(access) => {
                    body.enter_bounds(std::mem::take(&mut written));
                    self.access(access, place(arg, span), body);
                    written = body.leave_bounds();
                }
            }
        }
        self.labels(task, span, body);
    }

    /// Checks the arguments of a declared kernel, and returns the tensors that the task writes.
    fn declared_args(
        &mut self,
        kernel: &'m Kernel,
        params: &'m [KernelParam],
        task: &'m Task,
        span: Span,
    ) -> Vec<TensorId> {
        let name = &kernel.name;
        let (takes, gives) = (params.len(), task.args.len());
        if takes != gives {
            let message = format!("`{name}` takes {}, not {gives}", counted(takes, "argument"));
            let mut diagnostic = error(rule::ARGUMENT_COUNT, span, message)
                .label(kernel.span, "declared here")
                .note(format!("its parameters: `{}`", signature(name, params)));
            if let Some(missing) = params.get(gives) {
                diagnostic = diagnostic.help(format!("`{}` is the first without an argument", missing.name));
            }
            self.push(diagnostic);
        }
        let mut written: Vec<TensorId> = Vec::new();
        for (param, arg) in params.iter().zip(&task.args) {
            let given = match (&arg.value, param.kind) {
                (ArgValue::Scalar(_), ParamKind::Scalar) => continue,
                (ArgValue::Access(access), ParamKind::Tensor(mode)) => {
                    if mode != AccessMode::In {
                        written.push(access.tensor);
                    }
                    continue;
                }
                (ArgValue::Scalar(_), _) => "an integer",
                (ArgValue::Access(_), _) => "a tensor",
            };
            let wanted = if param.kind == ParamKind::Scalar { "an integer" } else { "a tensor" };
            let diagnostic = error(
                rule::ARGUMENT_KIND,
                place(arg, span),
                format!("`{}` of `{name}` takes {wanted}, not {given}", param.name),
            )
            .label(kernel.span, "declared here")
            .note(format!("its parameters: `{}`", signature(name, params)));
            self.push(diagnostic);
        }
        for arg in &task.args {
            let Some(field) = &arg.name else { continue };
            let message = format!("the argument `{field}` of `{name}` has a name");
            let diagnostic = error(rule::ARGUMENT_NAME, place(arg, span), message)
                .label(kernel.span, "declared here")
                .note("only fields of the descriptor of a used file's kernel are set by name")
                .help(format!("give the arguments in the order of `{}`", signature(name, params)));
            self.push(diagnostic);
        }
        written
    }

    fn library_args(&mut self, kernel: &'m Kernel, task: &'m Task, span: Span) {
        let name = &kernel.name;
        let (most, gives) = (MAX_TASK_SCALARS as usize, task.args.len());
        self.require(gives <= most, || {
            error(
                rule::ARGUMENT_COUNT,
                span,
                format!(
                    "`{name}` is given {gives}; a descriptor has at most {most}",
                    gives = counted(gives, "argument"),
                    most = counted(most, "field")
                ),
            )
        });
        let mut names: OrderedSet<&str> = OrderedSet::new();
        for arg in &task.args {
            if let ArgValue::Access(access) = &arg.value {
                let tensor = self.module.tensors.get(access.tensor.index()).map_or("", |t| &t.name);
                let message = format!("`{name}` takes fields of a descriptor, not the tensor `{tensor}`");
                let diagnostic = error(rule::ARGUMENT_KIND, place(arg, span), message)
                    .note("what a kernel of a used file reads and writes follows from its loads and stores")
                    .help(format!("declare it here to give it tensors: `kernel {name}(in a, out b);`"));
                self.push(diagnostic);
            }
            match &arg.name {
                None => self.require(names.is_empty(), || {
                    error(
                        rule::ARGUMENT_NAME,
                        place(arg, span),
                        "an argument without a name follows a named one",
                    )
                    .help("name it too: `field = value`")
                }),
                Some(field) => {
                    self.name(field, place(arg, span));
                    self.require(names.insert(field), || {
                        error(
                            rule::ARGUMENT_NAME,
                            place(arg, span),
                            format!("the field `{field}` is set twice"),
                        )
                    });
                }
            }
        }
    }

    fn access(&mut self, access: &'m Access, span: Span, body: &Body<'m>) {
        if let Some(tensor) = self.lookup(&self.module.tensors, access.tensor.index(), "tensor", span) {
            let (rank, bounds) = (tensor.dims.len(), access.ranges.len());
            self.require(bounds <= rank, || {
                let has = counted(rank, "dimension");
                let message = format!("`{}` has {has}, and {bounds} bounds are given", tensor.name);
                error(rule::RANK, span, message).label(tensor.span, "declared here")
            });
        }
        for range in &access.ranges {
            match range {
                DimRange::Whole => {}
                DimRange::Index(index) => self.value(index, body),
                DimRange::Range { lo, hi: other } | DimRange::Sized { lo, len: other } => {
                    self.value(lo, body);
                    self.value(other, body);
                }
            }
        }
    }

    fn labels(&mut self, task: &'m Task, span: Span, body: &mut Body<'m>) {
        for label in &task.after {
            let Some(entry) = self.lookup(&body.workload.labels, label.index(), "label", span) else {
                continue;
            };
            self.require(body.is_defined(*label), || {
                error(
                    rule::LABEL,
                    span,
                    format!("`after {}` stands before the task that it names", entry.name),
                )
                .label(entry.span, "the label")
            });
        }
        let Some(label) = task.label else { return };
        if self.lookup(&body.workload.labels, label.index(), "label", span).is_some() {
            let defined = body.define(label);
            self.require(defined, || {
                error(rule::LABEL, span, format!("label {} is not the next to be defined", label.0))
            });
        }
    }
}
