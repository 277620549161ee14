//! The exact order in which each policy issues items.

use crate::support::build::*;
use crate::support::machine::{Event, Machine};
use wsp_core::policy::Ready;
use wsp_core::*;
use wsp_diag::Diagnostic;
use wsp_ir::*;
use wsp_plan::{CompileOptions, LoweredPlan, lower};

fn plan(module: &Module) -> LoweredPlan {
    lower(module, &CompileOptions::default()).unwrap_or_else(|d| panic!("{d:#?}"))
}

fn refused(module: &Module) -> Vec<Diagnostic> {
    lower(module, &CompileOptions::default()).expect_err("should be refused")
}

struct Input {
    params: [u32; 3],
    lens: Vec<u32>,
    tile: u32,
}

fn events(module: &Module, input: &Input) -> Vec<Event> {
    let plan = plan(module);
    let mut machine = Machine::new(&plan.module);
    machine.params = input.params.to_vec();
    machine.arrays.insert(TensorId(0), input.lens.clone());
    machine.lengths = input.lens.clone();
    machine.tiles = (0..8).map(|i| (AxisId(i), input.tile)).collect();
    machine.run(plan.stages[0].generator).expect("the generator should run");
    machine.events
}

/// Items as one letter per axis and index: `b0c1h0`.
fn items(module: &Module, input: &Input) -> String {
    let names: Vec<char> = module.axes.iter().filter_map(|a| a.name.chars().next()).collect();
    let text = |e: Event| match e {
        Event::Emit { fields, .. } => {
            names.iter().zip(fields).map(|(c, i)| format!("{c}{i}")).collect::<String>()
        }
        Event::Fence => "|".to_owned(),
        other => format!("{other:?}"),
    };
    events(module, input).into_iter().map(text).collect::<Vec<_>>().join(" ")
}

fn decode_items(order: Vec<AxisStatement>, heads: u32, lens: &[u32]) -> String {
    let input = Input { params: [lens.len() as u32, heads, 0], lens: lens.to_vec(), tile: 1 };
    items(&decode().module(Some(schedule("S", order))), &input)
}

#[test]
fn without_a_schedule_axes_nest_as_declared() {
    let input = Input { params: [2, 2, 0], lens: vec![1, 2], tile: 1 };
    assert_eq!(items(&decode().module(None), &input), "b0c0h0 b0c0h1 b1c0h0 b1c0h1 b1c1h0 b1c1h1");
}

#[test]
fn interleaving_takes_one_chunk_of_each_of_a_group_in_turn() {
    let order = vec![
        order("batch", OrderPolicy::Interleaved(4)),
        order("chunk", OrderPolicy::Parallel),
        order("head", OrderPolicy::Parallel),
    ];
    assert_eq!(
        decode_items(order, 1, &[2, 2, 2, 2, 2, 1]),
        "b0c0h0 b1c0h0 b2c0h0 b3c0h0 b0c1h0 b1c1h0 b2c1h0 b3c1h0 b4c0h0 b5c0h0 b4c1h0"
    );
}

#[test]
fn exhausted_members_of_a_group_are_skipped_and_heads_stay_innermost() {
    let order = vec![order("batch", OrderPolicy::Interleaved(3))];
    assert_eq!(decode_items(order, 2, &[1, 0, 3]), "b0c0h0 b0c0h1 b2c0h0 b2c0h1 b2c1h0 b2c1h1 b2c2h0 b2c2h1");
}

#[test]
fn blocking_takes_n_chunks_of_every_batch_before_going_on() {
    let order = vec![order("batch", OrderPolicy::Blocked(2)), order("chunk", OrderPolicy::Sequential)];
    assert_eq!(
        decode_items(order, 1, &[5, 1, 3]),
        "b0c0h0 b0c1h0 b1c0h0 b2c0h0 b2c1h0 b0c2h0 b0c3h0 b2c2h0 b0c4h0"
    );
}

#[test]
fn an_order_statement_moves_its_axis_outwards() {
    let order = vec![order("head", OrderPolicy::Parallel)];
    assert_eq!(decode_items(order, 2, &[1, 2]), "b0c0h0 b1c0h0 b1c1h0 b0c0h1 b1c0h1 b1c1h1");
}

#[test]
fn a_ragged_axis_may_be_outermost() {
    let order = vec![order("chunk", OrderPolicy::Sequential), order("head", OrderPolicy::Sequential)];
    assert_eq!(decode_items(order, 1, &[1, 3, 2]), "b0c0h0 b1c0h0 b2c0h0 b1c1h0 b2c1h0 b1c2h0");
}

#[test]
fn a_ragged_axis_may_be_interleaved_and_blocked() {
    let interleaved =
        vec![order("chunk", OrderPolicy::Interleaved(2)), order("batch", OrderPolicy::Sequential)];
    assert_eq!(decode_items(interleaved, 1, &[1, 3, 2]), "b0c0h0 b1c0h0 b1c1h0 b2c0h0 b2c1h0 b1c2h0");
    let blocked = vec![order("chunk", OrderPolicy::Blocked(2)), order("batch", OrderPolicy::Sequential)];
    assert_eq!(decode_items(blocked, 1, &[1, 3, 2]), "b0c0h0 b1c0h0 b1c1h0 b1c2h0 b2c0h0 b2c1h0");
}

#[test]
fn interleaving_the_innermost_axis_changes_nothing() {
    let order = vec![
        order("batch", OrderPolicy::Sequential),
        order("chunk", OrderPolicy::Sequential),
        order("head", OrderPolicy::Interleaved(2)),
    ];
    assert_eq!(decode_items(order, 3, &[1]), "b0c0h0 b0c0h1 b0c0h2");
}

#[test]
fn nested_interleaving_rotates_over_both_groups() {
    let order = vec![
        order("batch", OrderPolicy::Interleaved(2)),
        order("chunk", OrderPolicy::Interleaved(2)),
        order("head", OrderPolicy::Sequential),
    ];
    assert_eq!(
        decode_items(order, 2, &[3, 2]),
        "b0c0h0 b1c0h0 b0c1h0 b1c1h0 b0c0h1 b1c0h1 b0c1h1 b1c1h1 b0c2h0 b0c2h1"
    );
}

#[test]
fn strict_values_are_fenced_off_from_each_other() {
    let outer = vec![order("batch", OrderPolicy::SequentialStrict), order("chunk", OrderPolicy::Parallel)];
    assert_eq!(decode_items(outer, 1, &[2, 0, 1]), "b0c0h0 b0c1h0 | | b2c0h0");
    let inner = vec![order("batch", OrderPolicy::Parallel), order("chunk", OrderPolicy::SequentialStrict)];
    assert_eq!(decode_items(inner, 1, &[2, 2]), "b0c0h0 | b0c1h0 b1c0h0 | b1c1h0");
}

#[test]
fn a_strict_axis_stays_strict_across_blocks() {
    let order = vec![order("batch", OrderPolicy::Blocked(1)), order("chunk", OrderPolicy::SequentialStrict)];
    assert_eq!(decode_items(order, 1, &[2, 2]), "b0c0h0 b1c0h0 | b0c1h0 | b1c1h0");
}

#[test]
fn an_index_counts_tiles_on_a_tiled_axis_and_elements_on_another() {
    let p = LaunchedSpace::new(vec![
        axis("t", n(3), Some(n(10)), Some(TileSize::Fixed(n(3)))),
        axis("u", n(3), Some(n(5)), None),
    ]);
    let input = Input { params: [0; 3], lens: vec![], tile: 1 };
    assert_eq!(items(&p.module(None), &input), "t0u3 t0u4 t1u3 t1u4 t2u3 t2u4");
}

#[test]
fn an_axis_that_ends_before_it_starts_has_no_items() {
    let p = LaunchedSpace::new(vec![
        axis("t", param(0), Some(param(1)), Some(TileSize::Fixed(n(3)))),
        axis("u", n(0), Some(n(5)), None),
    ]);
    let input = Input { params: [7, 2, 0], lens: vec![], tile: 1 };
    for policy in [OrderPolicy::Sequential, OrderPolicy::Interleaved(2), OrderPolicy::Blocked(3)] {
        let module = p.module(Some(schedule("S", vec![order("u", policy)])));
        assert_eq!(items(&module, &input), "");
        let module = p.module(Some(schedule("S", vec![order("t", policy)])));
        assert_eq!(items(&module, &input), "");
    }
}

#[test]
fn a_space_without_axes_has_one_item() {
    let mut p = LaunchedSpace::new(vec![]);
    p.fields = vec![n(42)];
    let got = events(&p.module(None), &Input { params: [0; 3], lens: vec![], tile: 1 });
    assert_eq!(got.len(), 1);
    p.body = vec![s(StmtKind::Continue)];
    assert!(events(&p.module(None), &Input { params: [0; 3], lens: vec![], tile: 1 }).is_empty());
}

#[test]
fn indices_near_the_top_of_u32_do_not_overflow() {
    let top = u32::MAX;
    let p = LaunchedSpace::new(vec![
        axis("a", n(top - 3), Some(n(top)), None),
        axis("b", n(top - 2), Some(n(top)), None),
    ]);
    let input = Input { params: [0; 3], lens: vec![], tile: 1 };
    for policy in [
        OrderPolicy::Sequential,
        OrderPolicy::Interleaved(top),
        OrderPolicy::Blocked(2),
        OrderPolicy::Interleaved(2),
    ] {
        let module = p.module(Some(schedule("S", vec![order("a", policy)])));
        assert_eq!(items(&module, &input).split(' ').count(), 6, "{policy:?}");
    }
}

#[test]
fn the_guard_is_found_in_all_its_forms() {
    let input = Input { params: [3, 1, 0], lens: vec![2, 0, 1], tile: 1 };
    let expected = "b0c0h0 b0c1h0 b2c0h0";
    let base = decode();
    let (chunk, count) = (base.vars[1], LocalId(3));
    let long = |e: Expr| cast(e, ScalarTy::U64);
    let signed = |e: Expr| cast(e, ScalarTy::I32);
    let forms = [
        op(BinOp::Le, v(count), v(chunk)),
        not(op(BinOp::Lt, v(chunk), v(count))),
        not(op(BinOp::Gt, v(count), v(chunk))),
        op(BinOp::Ge, long(v(chunk)), long(v(count))),
        op(BinOp::Ge, signed(v(chunk)), signed(v(count))),
        op(BinOp::Or, op(BinOp::Ge, v(chunk), v(count)), op(BinOp::Eq, v(chunk), n(100))),
    ];
    for cond in forms {
        let mut p = decode();
        p.body[1] = skip_if(cond.clone());
        assert_eq!(items(&p.module(None), &input), expected, "{cond:?}");
    }
    // `>` bounds by one more.
    let mut p = decode();
    p.body[1] = skip_if(op(BinOp::Gt, v(chunk), v(count)));
    assert_eq!(items(&p.module(None), &input), "b0c0h0 b0c1h0 b0c2h0 b1c0h0 b2c0h0 b2c1h0");
}

#[test]
fn the_count_may_be_computed_by_branches_before_the_guard() {
    let mut p = decode();
    let count = LocalId(3);
    let early = skip_if(op(BinOp::Eq, v(p.vars[0]), n(1)));
    let at_least_one = when(op(BinOp::Eq, v(count), n(0)), vec![assign(count, n(1))], vec![]);
    p.body.insert(0, early);
    p.body.insert(2, at_least_one);
    let input = Input { params: [3, 1, 0], lens: vec![2, 9, 0], tile: 1 };
    assert_eq!(items(&p.module(None), &input), "b0c0h0 b0c1h0 b2c0h0");
}

#[test]
fn an_earlier_continue_protects_the_count_that_follows_it() {
    // lens has two elements only; batch 2 is skipped before it is read.
    let mut p = decode();
    p.body.insert(0, skip_if(op(BinOp::Ge, v(p.vars[0]), param(2))));
    let input = Input { params: [3, 1, 2], lens: vec![2, 1], tile: 1 };
    assert_eq!(items(&p.module(None), &input), "b0c0h0 b0c1h0 b1c0h0");
    let chunks_first = schedule("S", vec![order("chunk", OrderPolicy::Sequential)]);
    assert_eq!(items(&p.module(Some(chunks_first)), &input), "b0c0h0 b1c0h0 b0c1h0");
}

#[test]
fn constraints_leave_items_out_and_protect_counts() {
    let mut p = decode();
    let local = |i: u32| Expr::local(LocalId(i), ScalarTy::U32, sp());
    p.module.spaces[0].constraints = vec![op(BinOp::Lt, local(0), param(2)), op(BinOp::Ne, local(1), n(1))];
    let input = Input { params: [3, 1, 2], lens: vec![3, 1], tile: 1 };
    assert_eq!(items(&p.module(None), &input), "b0c0h0 b0c2h0 b1c0h0");
}

#[test]
fn a_count_that_changes_from_item_to_item_is_no_guard() {
    let mut p = decode();
    let seen = p.local("seen");
    p.before = vec![set(seen, n(1))];
    p.body = vec![assign(seen, op(BinOp::Add, v(seen), n(1))), skip_if(op(BinOp::Ge, v(p.vars[1]), v(seen)))];
    let wrong = refused(&p.module(None));
    assert_eq!(wrong[0].code.0, 407);
    assert!(wrong[0].help.iter().any(|h| h.contains("if (chunk >= count) continue;")), "{wrong:?}");
}

#[test]
fn a_count_that_a_later_statement_changes_is_no_guard() {
    let mut p = decode();
    let seen = p.local("seen");
    p.before = vec![set(seen, n(1))];
    p.body = vec![skip_if(op(BinOp::Ge, v(p.vars[1]), v(seen))), assign(seen, n(2))];
    assert_eq!(refused(&p.module(None))[0].code.0, 407);
}

#[test]
fn work_before_the_guard_makes_it_no_guard() {
    let mut p = decode();
    p.body.insert(0, emit(vec![n(0); 4]));
    assert_eq!(refused(&p.module(None))[0].code.0, 407);
}

#[test]
fn extents_may_be_set_by_a_scalar_or_an_array() {
    let set_extent = |extent| s(StmtKind::SetExtent { axis: AxisId(1), extent, last: None });
    let input = Input { params: [3, 1, 5], lens: vec![4, 0, 3], tile: 2 };
    let mut p = decode();
    p.body.clear();
    p.before = vec![set_extent(ExtentSource::PerOuter(ArrayRef::Tensor(TensorId(0))))];
    assert_eq!(items(&p.module(None), &input), "b0c0h0 b0c1h0 b2c0h0 b2c1h0");
    let chunks_first = schedule("S", vec![order("chunk", OrderPolicy::Sequential)]);
    assert_eq!(items(&p.module(Some(chunks_first)), &input), "b0c0h0 b2c0h0 b0c1h0 b2c1h0");
    let changed = p.local("changed");
    p.before =
        vec![set(changed, param(2)), set_extent(ExtentSource::Scalar(v(changed))), assign(changed, n(0))];
    assert_eq!(
        items(&p.module(None), &input),
        "b0c0h0 b0c1h0 b0c2h0 b1c0h0 b1c1h0 b1c2h0 b2c0h0 b2c1h0 b2c2h0"
    );
}

fn add_cache(module: &mut Module) {
    let (cache, first) = (CacheId(module.caches.len() as u32), module.tensors.len() as u32);
    let dims = || vec![Dim::Expr(param(0)), Dim::Dynamic, Dim::Expr(n(2)), Dim::Expr(n(8))];
    module.tensors.push(tensor("k", DType::F16, dims(), Storage::CacheKeys(cache)));
    module.tensors.push(tensor("v", DType::F16, dims(), Storage::CacheValues(cache)));
    module.caches.push(Cache {
        name: "kv".into(),
        keys: TensorId(first),
        values: TensorId(first + 1),
        span: sp(),
    });
}

#[test]
fn the_lengths_of_the_only_cache_are_the_last_resort() {
    let mut p = decode();
    p.body.clear();
    add_cache(&mut p.module);
    let input = Input { params: [3, 1, 0], lens: vec![5, 0, 4], tile: 4 };
    assert_eq!(items(&p.module(None), &input), "b0c0h0 b0c1h0 b2c0h0");
    add_cache(&mut p.module);
    assert_eq!(refused(&p.module(None))[0].code.0, 407);
}

#[test]
fn workspace_is_reserved_by_the_extent_of_the_current_outer_index() {
    let alloc = |p: &mut LaunchedSpace| {
        let only = Tier { cond: None, kernel: FuncId(1), workspace: Some(n(64)), span: sp() };
        p.module.tier_sets =
            vec![TierSet { name: "T".into(), selector: None, tiers: vec![only], span: sp() }];
        let slot = WsSlot {
            tiers: TierSetId(0),
            tier: n(0),
            key: vec![v(p.vars[0]), v(p.vars[2])],
            count: Expr::new(ExprKind::AxisExtent(AxisId(1)), ScalarTy::U32, sp()),
            index: v(p.vars[1]),
        };
        Expr::new(ExprKind::AllocWs(Box::new(slot)), ScalarTy::U32, sp())
    };
    let counts = |p: &LaunchedSpace, lens: &[u32]| -> Vec<(u32, u32, u32)> {
        let input = Input { params: [lens.len() as u32, 1, 0], lens: lens.to_vec(), tile: 2 };
        let allocs = events(&p.module(None), &input).into_iter().filter_map(|e| match e {
            Event::Alloc { key, count, index } => Some((key[0], count, index)),
            _ => None,
        });
        allocs.collect()
    };
    let mut p = decode();
    // After the guard the count is reassigned; the reservation must not see that.
    p.body.push(assign(LocalId(3), n(77)));
    p.fields = vec![alloc(&mut p)];
    assert_eq!(counts(&p, &[2, 0, 1]), [(0, 2, 0), (0, 2, 1), (2, 1, 0)]);
    let mut p = decode();
    p.body.clear();
    p.before = vec![s(StmtKind::SetExtent {
        axis: AxisId(1),
        extent: ExtentSource::PerOuter(ArrayRef::Tensor(TensorId(0))),
        last: None,
    })];
    p.fields = vec![alloc(&mut p)];
    assert_eq!(counts(&p, &[3, 0, 1]), [(0, 2, 0), (0, 2, 1), (2, 1, 0)]);
}

#[test]
fn emitted_tasks_carry_affinity_prefetch_and_priority() {
    let statements = vec![
        order("batch", OrderPolicy::Parallel),
        about("batch", AxisPolicy::Affinity(AffinityPolicy::CoreGroup)),
        about("head", AxisPolicy::Affinity(AffinityPolicy::Spread)),
        about("batch", AxisPolicy::Prefetch(2)),
        about("chunk", AxisPolicy::Priority),
    ];
    let sched = schedule("S", statements);
    let input = Input { params: [2, 1, 0], lens: vec![0, 2], tile: 1 };
    let got = events(&decode().module(Some(sched)), &input);
    let Event::Emit { affinity, prefetch, priority, .. } = &got[1] else { panic!("{got:?}") };
    assert_eq!(affinity, &[(AffinityPolicy::CoreGroup, 1), (AffinityPolicy::Spread, 0)]);
    assert_eq!(prefetch, &[(1, 2, vec![1, 0])]);
    assert_eq!(*priority, Some(1));
}

#[test]
fn two_ragged_axes_may_depend_on_each_other_one_way() {
    // groups of an expert: g < lens[e]; experts: e < p2.
    let mut p = LaunchedSpace::new(vec![axis("expert", n(0), None, None), axis("group", n(0), None, None)]);
    let count = p.local("count");
    let (e, g) = (p.vars[0], p.vars[1]);
    p.body = vec![
        skip_if(op(BinOp::Ge, v(e), param(2))),
        set(count, load(TensorId(0), v(e))),
        skip_if(op(BinOp::Ge, v(g), v(count))),
    ];
    let input = Input { params: [0, 0, 3], lens: vec![2, 0, 1], tile: 1 };
    assert_eq!(items(&p.module(None), &input), "e0g0 e0g1 e2g0");
    let groups_first = schedule("S", vec![order("group", OrderPolicy::Interleaved(2))]);
    assert_eq!(items(&p.module(Some(groups_first)), &input), "e0g0 e0g1 e2g0");
    let experts_in_turn = schedule("S", vec![order("expert", OrderPolicy::Interleaved(3))]);
    assert_eq!(items(&p.module(Some(experts_in_turn)), &input), "e0g0 e2g0 e0g1");
    p.body = vec![skip_if(op(BinOp::Ge, v(e), v(g))), skip_if(op(BinOp::Ge, v(g), v(e)))];
    assert_eq!(refused(&p.module(None))[0].code.0, 408);
}

#[test]
fn tasks_start_in_any_order_only_when_every_axis_is_parallel() {
    let ready = |order| plan(&decode().module(Some(schedule("S", order)))).stages[0].schedule.policy.ready;
    let all = |policy| {
        vec![
            order("batch", policy),
            order("chunk", OrderPolicy::Parallel),
            order("head", OrderPolicy::Parallel),
        ]
    };
    assert_eq!(ready(all(OrderPolicy::Parallel)), Ready::WorkSteal);
    assert_eq!(ready(all(OrderPolicy::Interleaved(2))), Ready::Fifo);
    assert_eq!(ready(vec![order("batch", OrderPolicy::Parallel)]), Ready::Fifo);
    assert_eq!(plan(&decode().module(None)).stages[0].schedule.policy.ready, Ready::Fifo);
}
