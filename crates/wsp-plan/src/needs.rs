//! What a launch has to know for the kernels that it runs.

use crate::lower::TensorUse;
use crate::{LoweredPlan, walk};
use wsp_core::{AxisId, FuncId, ParamId, SpaceId, TensorId, TierSetId};
use wsp_ir::{
    Arg, ArrayRef, AxisEnd, Dim, Expr, ExprKind, LocalTy, Module, ParamSource, Schedule, StmtKind, Storage,
    TierSet, TileSize,
};
use wsp_ordered::OrderedSet;

/// What the kernels of a plan depend on.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Needs {
    /// Parameters that they or the shapes of their tensors name, and those that these follow from.
    pub params: OrderedSet<ParamId>,
    /// Whether they ask for the number of cores.
    pub max_blocks: bool,
}

impl LoweredPlan {
    /// What the kernels that may run depend on, and what these parameters follow from.
    pub fn needs(&self, also: impl IntoIterator<Item = ParamId>) -> Needs {
        let all = || (0..self.module.functions.len()).map(|i| FuncId(i as u32)).collect();
        let kernels = self.called.clone().unwrap_or_else(all);
        let mut search = Search::new(&self.module);
        search.functions(&kernels);
        search.used_tensors(&self.tensors);
        also.into_iter().for_each(|id| search.param(id));
        search.found
    }
}

/// The parameters that a launch of these spaces reads, with their generators and the kernels that these emit tasks for.
pub(crate) fn of_launch(
    module: &Module,
    spaces: &[SpaceId],
    generators: &[FuncId],
    kernels: &OrderedSet<FuncId>,
) -> OrderedSet<ParamId> {
    let mut search = Search::new(module);
    let running: Vec<FuncId> = generators.iter().chain(kernels).copied().collect();
    search.functions(&running);
    for space in spaces.iter().filter_map(|id| module.spaces.get(id.index())) {
        space.axes.iter().for_each(|axis| search.axis(*axis));
        space.constraints.iter().for_each(|condition| search.expr(condition));
    }
    let emitted = |set: &TierSet| set.tiers.iter().any(|tier| kernels.contains(&tier.kernel));
    for tier in module.tier_sets.iter().filter(|set| emitted(set)).flat_map(|set| &set.tiers) {
        tier.cond.iter().chain(&tier.workspace).for_each(|e| search.expr(e));
    }
    for function in running.iter().filter_map(|id| module.functions.get(id.index())) {
        walk::tensors(&function.body, &mut |tensor, _| search.tensor(tensor));
    }
    let given =
        (0..).map(TensorId).zip(&module.tensors).filter(|(_, tensor)| tensor.storage == Storage::Launch);
    given.for_each(|(id, _)| search.tensor(id));
    module.requirements.iter().for_each(|required| search.expr(&required.cond));
    module.schedules.iter().flat_map(Schedule::sizes).for_each(|size| search.expr(size));
    let roles = module.references.iter().flat_map(|reference| &reference.roles);
    roles.filter_map(|(_, name)| module.param_named(name)).for_each(|id| search.param(id));
    search.found.params
}

/// Follows names from what runs to the parameters behind them.
struct Search<'a> {
    module: &'a Module,
    found: Needs,
    tensors: OrderedSet<TensorId>,
    axes: OrderedSet<AxisId>,
    tiers: OrderedSet<TierSetId>,
}

impl<'a> Search<'a> {
    fn new(module: &'a Module) -> Search<'a> {
        Search {
            module,
            found: Needs::default(),
            tensors: OrderedSet::new(),
            axes: OrderedSet::new(),
            tiers: OrderedSet::new(),
        }
    }

    /// Functions and all that they call.
    fn functions(&mut self, roots: &[FuncId]) {
        let mut functions = OrderedSet::new();
        roots.iter().for_each(|&root| walk::callees(self.module, root, &mut functions));
        for function in functions.iter().filter_map(|id| self.module.functions.get(id.index())) {
            for local in &function.locals {
                if let LocalTy::Tile(tile) = &local.ty {
                    [&tile.rows, &tile.cols].into_iter().for_each(|size| self.expr(size));
                }
            }
            walk::any_expr(&function.body, &mut |e| {
                self.name(e);
                false
            });
            walk::stmts(&function.body, &mut |stmt| {
                if let StmtKind::LetArray { array: ArrayRef::Tensor(id), .. } = &stmt.kind {
                    self.tensor(*id);
                }
            });
        }
    }

    fn used_tensors(&mut self, uses: &[TensorUse]) {
        let used = (0..).map(TensorId).zip(uses).filter(|(_, used)| used.read || used.written);
        used.for_each(|(id, _)| self.tensor(id));
    }

    fn expr(&mut self, expr: &Expr) {
        expr.any(&mut |e| {
            self.name(e);
            false
        });
    }

    /// What one expression names by itself; its operands are visited too.
    fn name(&mut self, e: &Expr) {
        match &e.kind {
            ExprKind::Param(id) => self.param(*id),
            ExprKind::MaxBlocks => self.found.max_blocks = true,
            ExprKind::AxisExtent(axis) | ExprKind::AxisTile(axis) => self.axis(*axis),
            ExprKind::SelectTier(set, _) => self.tier_set(*set),
            ExprKind::Load(ArrayRef::Tensor(id), _)
            | ExprKind::ArrayMax(ArrayRef::Tensor(id), _)
            | ExprKind::ArraySum(ArrayRef::Tensor(id), _)
            | ExprKind::ArrayLen(ArrayRef::Tensor(id))
            | ExprKind::LoadScalar(id, _) => self.tensor(*id),
            ExprKind::Call(_, args) => args.iter().for_each(|arg| {
                if let Arg::Array(ArrayRef::Tensor(id)) = arg {
                    self.tensor(*id);
                }
            }),
            _ => {}
        }
    }

    fn param(&mut self, id: ParamId) {
        if !self.found.params.insert(id) {
            return;
        }
        match self.module.params.get(id.index()).map(|param| &param.source) {
            Some(ParamSource::Set { default: expr } | ParamSource::Derived(expr)) => self.expr(expr),
            Some(ParamSource::Shape { .. } | ParamSource::Entry) | None => {}
        }
    }

    fn tensor(&mut self, id: TensorId) {
        if !self.tensors.insert(id) {
            return;
        }
        for dim in self.module.tensors.get(id.index()).iter().flat_map(|tensor| &tensor.dims) {
            match dim {
                Dim::Expr(expr) => self.expr(expr),
                Dim::Axis(axis) => self.axis(*axis),
                Dim::Dynamic => {}
            }
        }
    }

    fn axis(&mut self, id: AxisId) {
        if !self.axes.insert(id) {
            return;
        }
        let Some(axis) = self.module.axes.get(id.index()) else { return };
        self.expr(&axis.start);
        if let AxisEnd::Expr(end) = &axis.end {
            self.expr(end);
        }
        if let Some(TileSize::Fixed(size)) = axis.tile.as_ref().map(|tile| &tile.size) {
            self.expr(size);
        }
    }

    fn tier_set(&mut self, id: TierSetId) {
        if !self.tiers.insert(id) {
            return;
        }
        let tiers = self.module.tier_sets.get(id.index()).into_iter().flat_map(|set| &set.tiers);
        tiers.filter_map(|tier| tier.cond.as_ref()).for_each(|cond| self.expr(cond));
    }
}
