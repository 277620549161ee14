//! Rules of the tables, signatures and the entry.

use super::*;
use wsp_core::limits::MAX_THREADS;
use wsp_core::policy::{Gate, GateScope, PoolSizes};

#[test]
fn nesting_is_bounded() {
    let nested = |depth| {
        let mut body = vec![];
        for _ in 0..depth {
            body = vec![stmt(StmtKind::If { cond: truth(), then: body, otherwise: vec![] })];
        }
        StmtKind::If { cond: truth(), then: body, otherwise: vec![] }
    };
    keeps_in(HELPER, nested(MAX_DEPTH - 2));
    breaks_in(HELPER, 300, nested(MAX_DEPTH));
    breaks_in(HELPER, 300, nested(MAX_DEPTH * 2));
}

#[test]
fn ids_are_in_range() {
    breaks_in(HELPER, 301, assign(LocalId(9), int(0)));
    breaks_in(HELPER, 301, assign(X, local(LocalId(9))));
    breaks_in(HELPER, 301, assign(X, param(ParamId(9))));
    breaks_in(HELPER, 301, assign(X, expr(ExprKind::Call(FuncId(9), vec![]), ScalarTy::U32)));
    breaks_in(HELPER, 301, assign(X, expr(ExprKind::ArrayLen(ArrayRef::Tensor(TensorId(9))), ScalarTy::U32)));
    breaks_in(
        HELPER,
        301,
        assign(X, expr(ExprKind::ArrayLen(ArrayRef::Meta(CacheId(9), MetaKind::Lengths)), ScalarTy::U32)),
    );
    breaks_in(HELPER, 301, assign(X, expr(ExprKind::AxisExtent(AxisId(9)), ScalarTy::U32)));
    breaks_in(
        HELPER,
        301,
        assign(X, expr(ExprKind::SelectTier(TierSetId(9), Box::new(int(0))), ScalarTy::U32)),
    );
    breaks_in(GENERATOR, 301, StmtKind::ApplySchedule(ScheduleId(9)));
    breaks_in(
        GENERATOR,
        301,
        StmtKind::Emit { descriptor: StructId(9), fields: vec![], hints: EmitHints::default() },
    );
    breaks(301, |m| m.params[0].source = ParamSource::Shape { of: ShapeOwner::Tensor(Q), dim: 2 });
    breaks(301, |m| m.params[0].source = ParamSource::Shape { of: ShapeOwner::Cache(CacheId(9)), dim: 0 });
    breaks(301, |m| m.tensors[4].dims[0] = Dim::Axis(AxisId(9)));
    breaks(301, |m| m.tier_sets[0].tiers[0].kernel = FuncId(9));
    breaks(301, |m| m.spaces[0].constraints[0] = Expr::binary(BinOp::Lt, local(LocalId(2)), int(1)));
    breaks(301, |m| m.spaces[0].generator = Some(FuncId(9)));
    breaks(301, |m| m.structs[0].consumer = Consumer::Tiers { set: TierSetId(9), field: 0 });
    breaks(301, |m| {
        let stages = vec![Stage { name: "s".into(), space: SpaceId(9), span: AT }];
        m.graphs.push(Graph { name: "g".into(), stages, dependencies: vec![], span: AT });
    });
    breaks(301, |m| {
        let side = DependencyRef { stage: 0, tensor: Q };
        let dependencies = vec![(side.clone(), side)];
        m.graphs.push(Graph { name: "g".into(), stages: vec![], dependencies, span: AT });
    });
    breaks(301, |m| {
        let entry = m.entry.as_mut().expect("the base has an entry");
        entry.launch.bindings[0].param = 9;
    });
}

#[test]
fn parameters_use_earlier_ones() {
    breaks(302, |m| m.params[1].source = ParamSource::Derived(param(ParamId(1))));
    breaks(302, |m| m.params.swap(0, 1));
}

#[test]
fn bounds_and_shapes_are_known_at_launch() {
    let cores = || expr(ExprKind::MaxBlocks, ScalarTy::U32);
    breaks(303, |m| m.axes[0].end = AxisEnd::Expr(cores()));
    breaks(303, |m| {
        m.axes[1].tile = Some(AxisTile { size: TileSize::Fixed(cores()), pad_last: false, span: AT })
    });
    breaks(303, |m| {
        let policy = AxisPolicy::Split(SplitPolicy::Fixed(cores()));
        let axes = vec![AxisStatement { axis: "chunk".into(), policy, span: AT }];
        m.schedules.push(Schedule { axes, ..Schedule::default() });
    });
    for policy in [
        LaunchPolicy::Gate(Gate { scope: GateScope::Global, capacity: 0 }),
        LaunchPolicy::Pools(PoolSizes::ByUnit { vector: 1, cube: 0 }),
        LaunchPolicy::Pools(PoolSizes::ByUnit { vector: MAX_THREADS + 1, cube: 1 }),
        LaunchPolicy::Pools(PoolSizes::ByUnit { vector: MAX_THREADS, cube: 1 }),
    ] {
        breaks(333, |m| {
            let launch = vec![LaunchStatement { policy, span: AT }];
            m.schedules.push(Schedule { launch, ..Schedule::default() });
        });
    }
    breaks(303, |m| m.tensors[0].dims[1] = Dim::Expr(cores()));
    breaks(303, |m| m.tier_sets[0].tiers[1].workspace = Some(cores()));
    breaks(303, |m| m.params[1].source = ParamSource::Set { default: local(X) });
    breaks(303, |m| {
        let cond = Expr::binary(BinOp::Gt, cores(), int(0));
        m.requirements.push(Requirement { cond, span: AT });
    });
    breaks(303, |m| {
        let LocalTy::Tile(tile) = &mut m.functions[KERNEL.index()].locals[TILE.index()].ty else { return };
        tile.rows = cores();
    });
}

#[test]
fn tensors_have_a_form() {
    breaks(304, |m| m.tensors[4].dims = vec![Dim::Expr(int(1)); 7]);
    breaks(304, |m| m.tensors[4].dims[0] = Dim::Dynamic);
    breaks(304, |m| m.tensors[1].dims[0] = Dim::Axis(BATCH));
    breaks(304, |m| m.tensors[2].dims[1] = Dim::Expr(int(1)));
    breaks(304, |m| m.tensors[4].elem = Elem::Of(TensorId(4)));
    breaks(304, |m| m.caches[0].values = KEYS);
}

#[test]
fn spaces_own_their_axes_and_generators() {
    breaks(305, |m| m.spaces[0].generator = Some(KERNEL));
    breaks(305, |m| {
        let mut twin = m.spaces[0].clone();
        twin.generator = None;
        m.spaces.push(twin);
    });
}

#[test]
fn the_last_tier_is_the_default() {
    breaks(306, |m| m.tier_sets[0].tiers[1].cond = Some(truth()));
    breaks(306, |m| m.tier_sets[0].tiers[0].cond = None);
    breaks(306, |m| {
        m.tier_sets.push(TierSet { name: "none".into(), selector: None, tiers: vec![], span: AT });
    });
    breaks(306, |m| {
        let mut other = m.tier_sets[0].clone();
        other.tiers[0].kernel = HELPER;
        m.tier_sets.push(other);
    });
}

#[test]
fn consumers_take_the_descriptor() {
    breaks(308, |m| m.structs[0].consumer = Consumer::Kernel(HELPER));
    breaks(308, |m| m.structs[0].consumer = Consumer::Tiers { set: TIERS, field: 2 });
    breaks(308, |m| {
        m.structs.push(StructDef {
            name: "Other".into(),
            fields: vec![],
            consumer: Consumer::Kernel(KERNEL),
            span: AT,
        });
    });
}

#[test]
fn functions_have_a_form() {
    breaks(309, |m| m.functions[HELPER.index()].params = 4);
    breaks(309, |m| m.functions[KERNEL.index()].ret = Some(ScalarTy::U32));
    breaks(309, |m| m.functions[GENERATOR.index()].params = 1);
    breaks(309, |m| m.functions[HELPER.index()].locals[2].ty = LocalTy::Array(ScalarTy::F32));
    breaks(309, |m| m.functions[KERNEL.index()].locals[3].ty = LocalTy::Descriptor(WORK));
    breaks(309, |m| m.functions[KERNEL.index()].locals[0].ty = LocalTy::Scalar(ScalarTy::U32));
    breaks(309, |m| {
        let tile = m.functions[KERNEL.index()].locals[TILE.index()].ty.clone();
        m.functions[HELPER.index()].locals[2].ty = tile;
    });
}

#[test]
fn bindings_are_of_a_kind() {
    let bind = |source| {
        move |m: &mut Module| {
            let entry = m.entry.as_mut().expect("the base has an entry");
            entry.launch.bindings.push(Binding { param: 0, source });
        }
    };
    breaks(328, bind(BindingSource::Tensor(TensorId(4))));
    breaks(328, bind(BindingSource::Cache(CacheId(0))));
    breaks(328, bind(BindingSource::Param(N)));
    breaks(328, bind(BindingSource::Tensor(Q)));
}
