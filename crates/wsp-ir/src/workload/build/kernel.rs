//! Kernels.

use super::ModuleBuilder;
use super::expr::Expr;
use super::handle::{Index, Kernel};
use super::origin::Owner;
use crate::workload::{self as model, AccessMode, ExecPool, KernelParam, ParamKind, Signature};
use wsp_core::{KernelId, VarId};
use wsp_diag::Span;

/// Declares a kernel; [`KernelBuilder::finish`] ends it.
#[must_use = "`finish` declares the kernel"]
pub struct KernelBuilder<'m> {
    module: &'m mut ModuleBuilder,
    name: String,
    /// None for a kernel of a used file.
    params: Option<Vec<KernelParam>>,
    unit: ExecPool,
    on_host: bool,
    cost: Option<Expr>,
    scope: Owner,
}

impl<'m> KernelBuilder<'m> {
    pub(super) fn new(module: &'m mut ModuleBuilder, name: &str, params: Option<Vec<KernelParam>>) -> Self {
        let scope = Owner::fresh();
        let (name, unit) = (name.to_owned(), ExecPool::Any);
        KernelBuilder { module, name, params, unit, on_host: false, cost: None, scope }
    }

    fn param(mut self, name: &str, kind: ParamKind) -> Self {
        match &mut self.params {
            Some(params) => params.push(KernelParam { name: name.to_owned(), kind }),
            None => self.module.fault(format!(
                "kernel `{}` is of a used file, which says what its parameters are: leave out `{name}`",
                self.name
            )),
        }
        self
    }

    /// A tensor that it reads.
    pub fn input(self, name: &str) -> Self {
        self.param(name, ParamKind::Tensor(AccessMode::In))
    }

    /// A tensor of which it writes every element that it is given.
    pub fn output(self, name: &str) -> Self {
        self.param(name, ParamKind::Tensor(AccessMode::Out))
    }

    /// A tensor that it reads and writes.
    pub fn inout(self, name: &str) -> Self {
        self.param(name, ParamKind::Tensor(AccessMode::InOut))
    }

    /// An integer.
    pub fn scalar(self, name: &str) -> Self {
        self.param(name, ParamKind::Scalar)
    }

    /// The cores that it runs on.
    pub fn on(mut self, unit: ExecPool) -> Self {
        (self.unit, self.on_host) = (unit, false);
        self
    }

    /// Its tasks are the host's, where an accelerator runs the others.
    pub fn on_host(mut self) -> Self {
        (self.unit, self.on_host) = (ExecPool::Any, true);
        self
    }

    /// Cycles of one task in virtual time.
    pub fn cost(mut self, cycles: impl Into<Expr>) -> Self {
        self.cost = Some(cycles.into());
        self
    }

    /// Cycles of one task in virtual time, from the integer parameter `scalar`: `.cost_by("n", |n| n * 10)`.
    pub fn cost_by<E: Into<Expr>>(self, scalar: &str, cycles: impl FnOnce(Index) -> E) -> Self {
        let scalars = self.params.iter().flatten().filter(|param| param.kind == ParamKind::Scalar);
        let found = scalars.map(|param| &param.name).position(|name| name == scalar);
        let Some(at) = found else {
            self.module
                .fault(format!("kernel `{}` has no integer `{scalar}` to compute its cost from", self.name));
            return self;
        };
        let index = Index { id: VarId(at as u32), owner: self.scope };
        self.cost(cycles(index))
    }

    /// Declares it.
    pub fn finish(self) -> Kernel {
        let KernelBuilder { module, name, params, unit, on_host, cost, scope } = self;
        let place = format!("the cost of kernel `{name}`");
        let cost = cost.map(|cost| module.accept(cost, Some(scope), &place));
        let id = KernelId(module.module.kernels.len().min(usize::from(u16::MAX)) as u16);
        let signature = params.map_or(Signature::Library, Signature::Declared);
        let span = Span::default();
        module.module.kernels.push(model::Kernel { name, signature, unit, on_host, cost, span });
        Kernel { id, owner: module.owner }
    }
}
