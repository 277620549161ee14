//! Tasks: kernels with their arguments.

use super::words::is_name;
use super::{Parsed, Parser, Skip, codes};
use crate::workload::walk::Reference;
use crate::workload::{
    Access, Arg, ArgValue, DimRange, ExecPool, Kernel, Label, NodeKind, ParamKind, Signature, Task,
};
use wsp_core::{KernelId, LabelId, TensorId};
use wsp_diag::{Diagnostic, Span, did_you_mean};
use wsp_syntax::{Tok, shorten};

impl<'t> Parser<'t> {
    /// `let l = k(…);`.
    pub(super) fn labelled_task(&mut self) -> Parsed<NodeKind> {
        self.bump();
        let (name, span) = self.name("the label of a task")?;
        self.expect(Tok::Eq, "`=` and a task")?;
        if self.word().is_none() || self.peek(1).kind != Tok::LParen {
            let help = "in a workload `let` names a task; declare a value at the top of the file";
            return Err(self.unexpected_help(codes::EXPECTED_TOKEN, "a task such as `k(…)`", help));
        }
        let task = self.task();
        // A broken task keeps its label, which later ones name.
        let label = Some(self.declare_label(name, span));
        Ok(NodeKind::Task(Task { label, ..task? }))
    }

    /// `k(…) after …;`, at the kernel's name.
    pub(super) fn task(&mut self) -> Parsed<Task> {
        let (name, span) = self.name("a kernel")?;
        let kernel = self.kernel_named(name, span)?;
        if !self.at(Tok::LParen) {
            return Err(self.unexpected(codes::EXPECTED_TOKEN, "`(` and the arguments"));
        }
        let open = self.bump();
        let mut index = 0;
        let args = self.list(Tok::RParen, |p| {
            index += 1;
            p.arg(kernel, index - 1)
        })?;
        self.close(open, "`,` or `)`")?;
        let mut after = Vec::new();
        if self.eat_word("after") {
            loop {
                after.push(self.label_named()?);
                if !self.eat(Tok::Comma) {
                    break;
                }
            }
        }
        self.semicolon("the task")?;
        Ok(Task { kernel, label: None, args, after })
    }

    fn declare_label(&mut self, name: &'t str, span: Span) -> LabelId {
        let Some(workload) = self.module.workloads.last_mut() else { return LabelId(0) };
        let label = LabelId(workload.labels.len() as u32);
        workload.labels.push(Label { name: format!("{name}{}", self.scope.suffix()), span });
        self.scope.labels.insert(name, label);
        label
    }

    fn label_named(&mut self) -> Parsed<LabelId> {
        let (name, span) = self.name("a label")?;
        if let Some(label) = self.scope.labels.get(name) {
            return Ok(*label);
        }
        let message = format!("there is no label `{}` before this task", shorten(name));
        let diagnostic = Diagnostic::error(codes::UNDECLARED_LABEL, message).at(span, "");
        if self.sink.is_full() {
            return Err(self.report(diagnostic));
        }
        let help = match did_you_mean(name, self.scope.labels.keys().copied()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None if name == "close" => "no parentheses stand around a channel: `close c;`".to_owned(),
            None if matches!(name, "send" | "consume") => {
                format!("no parentheses stand around a channel: `{name} c as s {{ … }}`")
            }
            None => format!("label the task that comes first: `let {} = k(…);`", shorten(name)),
        };
        Err(self.report(diagnostic.help(help)))
    }

    /// The kernel with this name. In a file that uses others, a name that nothing declares is one of their kernels.
    fn kernel_named(&mut self, name: &'t str, span: Span) -> Parsed<KernelId> {
        match self.scope.find(name) {
            Some((Reference::Kernel(kernel), _)) => Ok(kernel),
            Some((Reference::Workload(_), _)) => {
                let help = format!("a workload is called with `call {}(…);`", shorten(name));
                Err(self.wrong_kind(name, span, "a kernel", &help))
            }
            Some(_) => Err(self.wrong_kind(name, span, "a kernel", "")),
            None if self.module.uses.is_empty() => Err(self.undeclared_kernel(name, span)),
            None => {
                let (signature, name_owned) = (Signature::Library, name.to_owned());
                let unit = ExecPool::Any;
                let kernel = Kernel { name: name_owned, signature, unit, on_host: false, cost: None, span };
                self.module.kernels.push(kernel);
                self.check_kernel_count(span)?;
                let id = KernelId((self.module.kernels.len() - 1) as u16);
                self.scope.declare(name, Reference::Kernel(id), span);
                Ok(id)
            }
        }
    }

    fn undeclared_kernel(&mut self, name: &str, span: Span) -> Skip {
        let shown = shorten(name);
        let diagnostic =
            Diagnostic::error(codes::UNDECLARED_KERNEL, format!("there is no kernel `{shown}`")).at(span, "");
        if self.sink.is_full() {
            return self.report(diagnostic);
        }
        let kernels = self.module.kernels.iter().map(|kernel| kernel.name.as_str());
        let help = match did_you_mean(name, kernels) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!(
                "declare it: `kernel {shown}(in a, out b);`, or name the file that has it: `use \"kernels.pto\";`"
            ),
        };
        self.report(diagnostic.help(help))
    }

    /// An argument: `field = value` or a value.
    fn arg(&mut self, kernel: KernelId, index: usize) -> Parsed<Arg> {
        self.no_access_mode();
        let mut name = None;
        if self.at(Tok::Ident) && self.peek(1).kind == Tok::Eq {
            name = Some(self.name("the name of an argument")?.0.to_owned());
            self.bump();
        }
        if let Some(word) = self.word().filter(|word| self.scope.find(word).is_none())
            && self.takes_tensor(kernel, index)
            && is_name(word)
        {
            let tensor = |entity| matches!(entity, Reference::Tensor(_) | Reference::Slot(_));
            return Err(self.undeclared(word, self.span(), "a tensor", tensor));
        }
        // A tensor may have the name of a function: `len(t)` is the function.
        let word = self.word().filter(|_| self.peek(1).kind != Tok::LParen);
        let tensor = word.and_then(|word| self.tensor_at(word, kernel, index));
        let value = match tensor {
            Some(tensor) => ArgValue::Access(self.access(tensor)?),
            None => ArgValue::Scalar(self.expr()?),
        };
        Ok(Arg { name, value })
    }

    /// Reports `in`, `out` or `inout` before an argument, and goes on behind it.
    fn no_access_mode(&mut self) {
        let Some(word @ ("in" | "out" | "inout")) = self.word() else { return };
        if self.peek(1).kind != Tok::Ident {
            return;
        }
        let diagnostic = Diagnostic::error(
            codes::FOREIGN_SYNTAX,
            format!("`{word}` stands in the declaration of a kernel only"),
        )
        .at(self.span(), "not at a call")
        .help("leave it out; the kernel's parameter says how the argument is used");
        self.report(diagnostic);
        self.bump();
    }

    /// The tensor that a word stands for as an argument. A slot is a tensor where the kernel takes one, else a value.
    fn tensor_at(&self, word: &str, kernel: KernelId, index: usize) -> Option<TensorId> {
        match self.scope.find(word)?.0 {
            Reference::Tensor(tensor) => Some(tensor),
            Reference::Slot(slot) => {
                let tensor = self.module.slots.get(slot.index())?.tensor;
                self.takes_tensor(kernel, index).then_some(tensor)
            }
            _ => None,
        }
    }

    /// Whether the argument `index` of a declared kernel is a tensor.
    fn takes_tensor(&self, kernel: KernelId, index: usize) -> bool {
        let params = match self.module.kernels.get(kernel.index()).map(|kernel| &kernel.signature) {
            Some(Signature::Declared(params)) => params,
            _ => return false,
        };
        params.get(index).is_some_and(|param| matches!(param.kind, ParamKind::Tensor(_)))
    }

    /// `x` or `x[…]`, at the tensor's name.
    fn access(&mut self, tensor: TensorId) -> Parsed<Access> {
        let start: Span = self.span();
        self.bump();
        let mut ranges = Vec::new();
        if self.at(Tok::LBracket) {
            let open = self.bump();
            ranges = self.list(Tok::RBracket, Self::range)?;
            self.close(open, "`,` or `]`")?;
        }
        Ok(Access { tensor, ranges, span: self.span_from(start) })
    }

    /// The bounds of one dimension.
    fn range(&mut self) -> Parsed<DimRange> {
        let ends = |p: &Self| matches!(p.peek(1).kind, Tok::Comma | Tok::RBracket);
        if self.at(Tok::Range) && ends(self) {
            self.bump();
            return Ok(DimRange::Whole);
        }
        let lo = self.expr()?;
        match self.tok() {
            Tok::RangeIncl => Err(self.bad_range()),
            Tok::Range if ends(self) => Err(self.bad_range()),
            Tok::Range => {
                self.bump();
                Ok(DimRange::Range { lo, hi: self.expr()? })
            }
            Tok::PlusColon => {
                self.bump();
                Ok(DimRange::Sized { lo, len: self.expr()? })
            }
            _ => Ok(DimRange::Index(lo)),
        }
    }
}
