//! Generators: emission, workspace, tiles and extents, limits.

use super::*;
use crate::IntArray;
use std::sync::Arc;
use wsp_core::TierSetId;
use wsp_ir::{AffinityPolicy, Axis, AxisEnd, EmitHints, ExtentSource, PrefetchHint, Tier, TierSet, WsSlot};

fn with_axis(mut m: Module) -> Module {
    m.axes.push(Axis { name: "kv".to_owned(), start: u(0), end: AxisEnd::Dynamic, tile: None, span: at(0) });
    m
}

fn with_tiers(mut m: Module) -> Module {
    let tier = |cond, workspace: Option<Expr>| Tier { cond, kernel: FuncId(0), workspace, span: at(0) };
    let small = op(BinOp::Le, expr(ExprKind::Selector, ScalarTy::U32), u(10));
    m.tier_sets.push(TierSet {
        name: "K".to_owned(),
        selector: Some("n".to_owned()),
        tiers: vec![tier(Some(small), Some(op(BinOp::Mul, u(64), u(2)))), tier(None, None)],
        span: at(0),
    });
    m
}

#[test]
fn hints_come_with_their_task() {
    let mut f = Build::generator();
    let i = f.var("i", ScalarTy::U32);
    let hints = EmitHints {
        affinity: vec![(AffinityPolicy::CoreGroup, v(i)), (AffinityPolicy::Spread, u(9))],
        prefetch: vec![
            PrefetchHint { value: v(i), depth: 2, rest: vec![u(5), add(v(i), u(1))] },
            PrefetchHint { value: u(8), depth: 1, rest: Vec::new() },
        ],
        priority: Some(add(v(i), u(3))),
    };
    let task = stmt(StmtKind::Emit { descriptor: StructId(1), fields: vec![v(i)], hints });
    let m = module(vec![f.body(vec![for_(i, 0, u(2), vec![task])])]);
    let mut host = Recorder::default();
    run_in(&m, &Env::new(&m, Vec::new()), &mut host).unwrap();
    assert_eq!(
        host.hints,
        [
            "[(CoreGroup, 0), (Spread, 9)] [(0, 2, [5, 1]), (8, 1, [])] Some(3)",
            "[(CoreGroup, 1), (Spread, 9)] [(1, 2, [5, 2]), (8, 1, [])] Some(4)"
        ]
    );
}

#[test]
fn fences_tiles_and_extents_reach_the_host_in_order() {
    let mut m = with_axis(module(Vec::new()));
    let lens = add_tensor(&mut m, "lens", &[2]);
    let mut env = Env::new(&m, Vec::new());
    let axis = AxisId(0);
    let extent = |source| stmt(StmtKind::SetExtent { axis, extent: source, last: None });
    let tile = expr(ExprKind::AxisTile(axis), ScalarTy::U32);
    let length = expr(ExprKind::AxisExtent(axis), ScalarTy::U32);
    m.functions = vec![Build::generator().body(vec![
        stmt(StmtKind::SetTile { axis, size: add(u(100), u(28)) }),
        extent(ExtentSource::Scalar(u(77))),
        extent(ExtentSource::PerOuter(ArrayRef::Tensor(lens))),
        emit(vec![tile, length, expr(ExprKind::MaxBlocks, ScalarTy::U32)]),
        stmt(StmtKind::Fence),
        stmt(StmtKind::ApplySchedule(wsp_core::ScheduleId(0))),
    ])];
    for array in [IntArray::U32(Arc::from([3, 4])), IntArray::I64(Arc::from([3, 4]))] {
        env.arrays[0] = Some(array);
        env.max_blocks = 24;
        let mut host = Recorder { extent: 55, ..Recorder::default() };
        run_in(&m, &env, &mut host).unwrap();
        assert_eq!(host.tasks, [[128, 55, 24]]);
        assert_eq!(
            host.log,
            ["tile 0 = 128", "extent 0 = Scalar(77)", "extent 0 = PerOuter([3, 4])", "fence after 1"]
        );
    }
    env.arrays[0] = Some(IntArray::I32(Arc::from([-3])));
    let trap = run_in(&m, &env, &mut Recorder::default()).unwrap_err();
    assert_eq!((trap.code.0, trap.span), (602, at(2)));
    env.axis_extents[0] = Some(6);
    env.arrays[0] = Some(IntArray::U32(Arc::from([])));
    let mut host = Recorder::default();
    run_in(&m, &env, &mut host).unwrap();
    assert_eq!(host.tasks, [[128, 6, 24]]);
}

#[test]
fn a_tile_of_zero_is_refused_before_the_host_sees_it() {
    let mut m = with_axis(module(Vec::new()));
    m.functions =
        vec![Build::generator().body(vec![stmt(StmtKind::SetTile { axis: AxisId(0), size: u(0) })])];
    let mut host = Recorder::default();
    let trap = run_in(&m, &Env::new(&m, Vec::new()), &mut host).unwrap_err();
    assert_eq!((trap.code.0, trap.message.as_str()), (622, "a tile of 0 elements on axis `kv`"));
    assert!(trap.help.is_some_and(|help| help.contains("PTO_MAX(size, 1)")), "{trap:?}");
    assert!(host.log.is_empty());
}

#[test]
fn faults_of_the_host_get_the_position_of_the_statement() {
    let mut f = Build::generator();
    let i = f.var("i", ScalarTy::U32);
    let m = module(vec![f.body(vec![for_(i, 0, u(9), vec![emit(vec![v(i)])])])]);
    let mut host = Recorder { stop_after: Some(2), ..Recorder::default() };
    let trap = run_in(&m, &Env::new(&m, Vec::new()), &mut host).unwrap_err();
    assert_eq!((trap.message.as_str(), trap.span, host.tasks.len()), ("no more", at(2), 2));
}

#[test]
fn workspace_requests_carry_tier_bytes_and_keys() {
    let mut f = Build::generator();
    let i = f.var("i", ScalarTy::U32);
    let slot = |tier: Expr, index: Expr| {
        let slot = WsSlot { tiers: TierSetId(0), tier, key: vec![u(4), v(i)], count: u(3), index };
        expr(ExprKind::AllocWs(Box::new(slot)), ScalarTy::U32)
    };
    let body = vec![for_(i, 1, u(3), vec![emit(vec![slot(u(0), v(i)), slot(u(0), u(0))])])];
    let m = with_tiers(module(vec![f.body(body)]));
    let mut host = Recorder::default();
    run_in(&m, &Env::new(&m, Vec::new()), &mut host).unwrap();
    assert_eq!(host.tasks, [[128, 0], [256, 0]]);
    assert_eq!(
        host.log,
        [
            "ws set 0 tier 0 bytes 128 key [4, 1] slot 1 of 3",
            "ws set 0 tier 0 bytes 128 key [4, 1] slot 0 of 3",
            "ws set 0 tier 0 bytes 128 key [4, 2] slot 2 of 3",
            "ws set 0 tier 0 bytes 128 key [4, 2] slot 0 of 3",
        ]
    );

    let fails = |tier, index| {
        let mut f = Build::generator();
        f.var("i", ScalarTy::U32);
        let m = with_tiers(module(vec![f.body(vec![emit(vec![slot(tier, index)])])]));
        run_in(&m, &Env::new(&m, Vec::new()), &mut Recorder::default()).unwrap_err()
    };
    assert_eq!(fails(u(0), u(3)).message, "workspace slot 3 of 3");
    assert_eq!(fails(u(2), u(0)).message, "tier 2 of `K` does not exist");
    assert_eq!(fails(u(2), u(0)).code.0, 620);
}

#[test]
fn kernels_cannot_do_what_generators_do() {
    let mut m = module(vec![function(FuncKind::Kernel { descriptor: None }, "k")]);
    m.functions[0].body = vec![stmt(StmtKind::Fence)];
    let env = Env::new(&m, Vec::new());
    assert_eq!(crate::KernelCode::compile(&m, FuncId(0), &env).unwrap_err().code.0, 639);
    assert_eq!(GeneratorCode::compile(&m, FuncId(0), &env).unwrap_err().code.0, 639);
}
