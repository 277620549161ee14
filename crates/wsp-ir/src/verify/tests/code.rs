//! Rules of expressions and statements.

use super::*;

#[test]
fn the_selector_stays_in_tier_conditions() {
    breaks_in(HELPER, 307, assign(X, expr(ExprKind::Selector, ScalarTy::U32)));
    let by_u64 = expr(ExprKind::Const(Const::Int(5)), ScalarTy::U64);
    breaks_in(HELPER, 307, assign(X, expr(ExprKind::SelectTier(TIERS, Box::new(by_u64)), ScalarTy::U32)));
    keeps_in(HELPER, assign(X, expr(ExprKind::SelectTier(TIERS, Box::new(int(5))), ScalarTy::U32)));
}

#[test]
fn operands_have_types() {
    let wrong = |e| breaks_in(HELPER, 310, assign(X, e));
    let binary = |op, a, b, ty| expr(ExprKind::Binary(op, Box::new(a), Box::new(b)), ty);
    wrong(binary(BinOp::Add, int(1), expr(ExprKind::Const(Const::Int(1)), ScalarTy::I32), ScalarTy::U32));
    wrong(binary(BinOp::Lt, int(1), int(2), ScalarTy::U32));
    wrong(expr(
        ExprKind::Cast(Box::new(binary(BinOp::Rem, float(1.0), float(2.0), ScalarTy::F32))),
        ScalarTy::U32,
    ));
    wrong(expr(
        ExprKind::Cast(Box::new(binary(BinOp::Add, truth(), truth(), ScalarTy::Bool))),
        ScalarTy::U32,
    ));
    wrong(expr(ExprKind::Cast(Box::new(binary(BinOp::And, int(1), int(1), ScalarTy::Bool))), ScalarTy::U32));
    wrong(expr(ExprKind::Unary(UnOp::Not, Box::new(int(1))), ScalarTy::U32));
    wrong(expr(
        ExprKind::Cast(Box::new(expr(ExprKind::Cast(Box::new(int(1))), ScalarTy::Bool))),
        ScalarTy::U32,
    ));
    wrong(expr(ExprKind::Math(MathFn::Exp, Box::new(int(1))), ScalarTy::U32));
    wrong(expr(ExprKind::Select(Box::new(truth()), Box::new(int(1)), Box::new(float(1.0))), ScalarTy::U32));
    wrong(expr(ExprKind::Load(ArrayRef::Local(LENGTHS), Box::new(float(0.0))), ScalarTy::U32));
    wrong(expr(ExprKind::ArraySum(ArrayRef::Local(LENGTHS), Box::new(int(1))), ScalarTy::U32));
    wrong(local(LENGTHS));
    breaks(310, |m| m.axes[0].start = float(0.0));
    breaks(310, |m| m.params[1].source = ParamSource::Derived(float(0.0)));
    breaks_in(GENERATOR, 310, StmtKind::SetTile { axis: CHUNK, size: float(1.0) });
    let store = StmtKind::StoreScalar { tensor: Q, index: vec![int(0), int(0)], value: int(1) };
    breaks_in(KERNEL, 310, store);
    keeps_in(HELPER, assign(X, expr(ExprKind::Cast(Box::new(truth())), ScalarTy::U32)));
}

#[test]
fn conditions_are_bool() {
    breaks_in(HELPER, 311, StmtKind::If { cond: int(1), then: vec![], otherwise: vec![] });
    breaks_in(HELPER, 311, StmtKind::While { cond: int(1), step: vec![], body: vec![] });
    breaks_in(
        HELPER,
        311,
        assign(
            X,
            expr(ExprKind::Select(Box::new(int(1)), Box::new(int(1)), Box::new(int(1))), ScalarTy::U32),
        ),
    );
    breaks(311, |m| m.tier_sets[0].tiers[0].cond = Some(int(1)));
    breaks(311, |m| m.spaces[0].constraints[0] = int(1));
}

#[test]
fn a_chain_is_a_sum_or_a_product_of_one_type() {
    let chain = |rest| assign(INDEX, expr(ExprKind::Chain(Box::new(int(6)), rest), ScalarTy::U32));
    keeps_in(GENERATOR, chain(vec![(BinOp::Add, int(3)), (BinOp::Sub, int(2))]));
    keeps_in(GENERATOR, chain(vec![(BinOp::Mul, int(3)), (BinOp::Rem, int(2))]));
    breaks_in(GENERATOR, 310, chain(vec![]));
    breaks_in(GENERATOR, 310, chain(vec![(BinOp::Add, int(3)), (BinOp::Mul, int(2))]));
    breaks_in(GENERATOR, 310, chain(vec![(BinOp::Min, int(3))]));
    breaks_in(GENERATOR, 310, chain(vec![(BinOp::Add, float(3.0))]));
    let real = |rest| ExprKind::Chain(Box::new(float(6.0)), rest);
    breaks_in(GENERATOR, 310, assign(INDEX, expr(real(vec![(BinOp::Add, float(3.0))]), ScalarTy::U32)));
    let rem = expr(real(vec![(BinOp::Rem, float(3.0))]), ScalarTy::F32);
    breaks_in(GENERATOR, 310, assign(INDEX, expr(ExprKind::Cast(Box::new(rem)), ScalarTy::U32)));
}

#[test]
fn operators_join_a_chain_behind_a_bounded_number_of_them() {
    let sum = |n| (0..n).fold(int(1), |sum, _| Expr::joined(BinOp::Add, sum, int(1)));
    assert!(matches!(sum(CHAINED).kind, ExprKind::Binary(..)));
    let ExprKind::Chain(_, rest) = sum(CHAINED + 9).kind else { panic!("a chain") };
    assert_eq!(rest.len(), 9);
    let product = Expr::joined(BinOp::Mul, sum(CHAINED + 9), int(2));
    assert!(matches!(product.kind, ExprKind::Binary(BinOp::Mul, ..)), "a product of a sum is no part of it");
    let compared = Expr::joined(BinOp::Lt, sum(CHAINED + 9), int(2));
    assert_eq!(compared.ty, ScalarTy::Bool);
}

#[test]
fn calls_fit_helpers() {
    let lens = || Arg::Array(ArrayRef::Tensor(LENS));
    keeps_in(GENERATOR, assign(INDEX, call(vec![lens(), Arg::Scalar(int(1))])));
    breaks_in(GENERATOR, 312, assign(INDEX, call(vec![lens()])));
    breaks_in(GENERATOR, 312, assign(INDEX, call(vec![Arg::Scalar(int(1)), lens()])));
    breaks_in(GENERATOR, 312, assign(INDEX, expr(ExprKind::Call(KERNEL, vec![]), ScalarTy::U32)));
}

#[test]
fn fields_are_of_the_descriptor() {
    let field = |id, field| assign(INDEX, expr(ExprKind::Field(id, field), ScalarTy::U32));
    keeps_in(KERNEL, field(DESC, 1));
    breaks_in(KERNEL, 313, field(DESC, 2));
    breaks_in(KERNEL, 313, field(INDEX, 0));
}

#[test]
fn arrays_are_flat_and_of_integers() {
    let len = |array| assign(X, expr(ExprKind::ArrayLen(array), ScalarTy::U32));
    keeps_in(HELPER, len(ArrayRef::Meta(CacheId(0), MetaKind::Indptr)));
    breaks_in(HELPER, 314, len(ArrayRef::Local(X)));
    breaks_in(HELPER, 314, len(ArrayRef::Tensor(Q)));
    breaks_in(HELPER, 314, len(ArrayRef::Tensor(TensorId(4))));
}

#[test]
fn generation_stays_in_generators() {
    breaks_in(HELPER, 315, emit(vec![int(0), int(0)]));
    breaks_in(KERNEL, 315, StmtKind::Fence);
    breaks_in(KERNEL, 315, StmtKind::ScheduledFor { vars: vec![], body: vec![] });
    breaks_in(HELPER, 315, StmtKind::ApplySchedule(ScheduleId(0)));
    breaks_in(HELPER, 315, StmtKind::SetTile { axis: CHUNK, size: int(1) });
    breaks_in(
        HELPER,
        315,
        StmtKind::SetExtent { axis: CHUNK, extent: ExtentSource::Scalar(int(1)), last: None },
    );
    breaks_in(HELPER, 315, assign(X, alloc(int(1))));
    keeps_in(GENERATOR, StmtKind::Fence);
}

#[test]
fn tiles_stay_in_kernels() {
    breaks_in(GENERATOR, 316, load(place()));
    breaks_in(
        GENERATOR,
        316,
        StmtKind::StoreScalar { tensor: Q, index: vec![int(0), int(0)], value: float(0.0) },
    );
    for kind in
        [ExprKind::Field(X, 0), ExprKind::TileMax(X), ExprKind::TileRows(X), ExprKind::LoadScalar(Q, vec![])]
    {
        breaks_in(HELPER, 316, assign(X, expr(kind, ScalarTy::U32)));
    }
}

#[test]
fn jumps_stand_in_loops() {
    let infinite = |body| StmtKind::While { cond: truth(), step: vec![], body };
    keeps_in(HELPER, infinite(vec![stmt(StmtKind::Break), stmt(StmtKind::Continue)]));
    breaks_in(HELPER, 317, StmtKind::Break);
    breaks_in(HELPER, 317, StmtKind::Continue);
    breaks_in(
        HELPER,
        317,
        StmtKind::While { cond: truth(), step: vec![stmt(StmtKind::Continue)], body: vec![] },
    );
    let scheduled = |jump| {
        move |m: &mut Module| {
            let last = m.functions[GENERATOR.index()].body.last_mut().expect("the base has statements");
            let StmtKind::ScheduledFor { body, .. } = &mut last.kind else { return };
            body.push(stmt(jump));
        }
    };
    breaks(317, scheduled(StmtKind::Break));
    let mut module = base();
    scheduled(StmtKind::Continue)(&mut module);
    assert_eq!(verify(&module), []);
}

#[test]
fn returns_yield_what_the_function_does() {
    breaks_in(HELPER, 318, StmtKind::Return(None));
    breaks_in(HELPER, 318, StmtKind::Return(Some(float(0.0))));
    breaks_in(KERNEL, 318, StmtKind::Return(Some(int(0))));
    keeps_in(KERNEL, StmtKind::Return(None));
}

#[test]
fn values_fit_variables() {
    breaks_in(HELPER, 319, assign(X, float(0.0)));
    breaks_in(HELPER, 319, assign(LENGTHS, int(0)));
    breaks_in(HELPER, 319, StmtKind::Let { local: X, init: Some(truth()) });
    breaks_in(HELPER, 319, StmtKind::Let { local: LENGTHS, init: None });
    breaks_in(KERNEL, 319, StmtKind::Let { local: TILE, init: Some(float(0.0)) });
    breaks_in(HELPER, 319, StmtKind::LetArray { local: X, array: ArrayRef::Tensor(LENS) });
    keeps_in(KERNEL, StmtKind::Let { local: TILE, init: None });
}

#[test]
fn loop_variables_do_not_change() {
    let counted = |var, body| StmtKind::For { var, start: int(0), end: int(9), step: int(1), body };
    keeps_in(HELPER, counted(X, vec![]));
    breaks_in(HELPER, 320, counted(X, vec![stmt(assign(X, int(0)))]));
    breaks_in(HELPER, 320, counted(X, vec![stmt(counted(X, vec![]))]));
    breaks_in(HELPER, 320, counted(LENGTHS, vec![]));
    let float_bound = StmtKind::For { var: X, start: int(0), end: float(9.0), step: int(1), body: vec![] };
    breaks_in(HELPER, 320, float_bound);
}

#[test]
fn emits_give_every_field() {
    breaks_in(GENERATOR, 321, emit(vec![int(0)]));
    breaks_in(GENERATOR, 321, emit(vec![int(0), float(0.0)]));
    breaks(321, |m| m.structs[0].consumer = Consumer::None);
    let affinity = vec![(AffinityPolicy::Spread, float(0.0))];
    let prefetch = vec![PrefetchHint { value: float(0.0), depth: 1, rest: vec![] }];
    for hints in [
        EmitHints { affinity, ..EmitHints::default() },
        EmitHints { prefetch, ..EmitHints::default() },
        EmitHints { priority: Some(float(0.0)), ..EmitHints::default() },
    ] {
        breaks_in(GENERATOR, 321, StmtKind::Emit { descriptor: WORK, fields: vec![int(0), int(0)], hints });
    }
}

#[test]
fn a_generator_has_one_scheduled_loop() {
    let scheduled = |vars| StmtKind::ScheduledFor { vars, body: vec![] };
    breaks_in(GENERATOR, 322, scheduled(vec![B, C]));
    let instead = |statement: StmtKind| {
        move |m: &mut Module| {
            let body = &mut m.functions[GENERATOR.index()].body;
            body.pop();
            body.push(stmt(statement));
        }
    };
    breaks(322, instead(scheduled(vec![B])));
    breaks(322, instead(scheduled(vec![B, B])));
    breaks(322, instead(scheduled(vec![B, ARRAY])));
    breaks(
        322,
        instead(StmtKind::While { cond: truth(), step: vec![], body: vec![stmt(scheduled(vec![B, C]))] }),
    );
}

#[test]
fn axes_are_used_as_they_are() {
    breaks_in(GENERATOR, 323, StmtKind::SetTile { axis: BATCH, size: int(1) });
    breaks_in(
        GENERATOR,
        323,
        StmtKind::SetExtent { axis: BATCH, extent: ExtentSource::Scalar(int(1)), last: None },
    );
    breaks_in(GENERATOR, 323, assign(INDEX, expr(ExprKind::AxisExtent(CHUNK), ScalarTy::U32)));
    breaks_in(GENERATOR, 323, assign(INDEX, expr(ExprKind::AxisTile(BATCH), ScalarTy::U32)));
    breaks_in(GENERATOR, 323, assign(INDEX, expr(ExprKind::ItemBegin(CHUNK), ScalarTy::U32)));
    breaks_in(KERNEL, 315, assign(INDEX, expr(ExprKind::ItemEnd(CHUNK), ScalarTy::U32)));
    breaks(323, |m| {
        m.spaces[0].axes.pop();
        m.spaces[0].constraints.clear();
        let body = &mut m.functions[GENERATOR.index()].body;
        body.truncate(2);
    });
}

#[test]
fn helpers_do_not_recurse() {
    let arguments = || vec![Arg::Array(ArrayRef::Local(LENGTHS)), Arg::Scalar(int(1))];
    breaks_in(HELPER, 327, assign(X, call(arguments())));
    breaks(327, |m| {
        let mut other = m.functions[HELPER.index()].clone();
        other.body.insert(0, stmt(assign(X, call(arguments()))));
        let id = FuncId(m.functions.len() as u32);
        m.functions.push(other);
        let back = expr(ExprKind::Call(id, arguments()), ScalarTy::U32);
        m.functions[HELPER.index()].body.insert(0, stmt(assign(X, back)));
    });
}

#[test]
fn literals_are_of_their_type() {
    let literal = |value, ty| {
        assign(X, expr(ExprKind::Cast(Box::new(expr(ExprKind::Const(value), ty))), ScalarTy::U32))
    };
    breaks_in(HELPER, 329, literal(Const::Int(-1), ScalarTy::U32));
    breaks_in(HELPER, 329, literal(Const::Int(1 << 40), ScalarTy::I32));
    breaks_in(HELPER, 329, literal(Const::Int(1), ScalarTy::F32));
    breaks_in(HELPER, 329, literal(Const::Float(0.1), ScalarTy::F32));
    breaks_in(HELPER, 329, literal(Const::Float(1.0), ScalarTy::U64));
    breaks_in(HELPER, 329, literal(Const::Bool(true), ScalarTy::U32));
    keeps_in(HELPER, literal(Const::Int(i128::from(u64::MAX)), ScalarTy::U64));
    keeps_in(HELPER, literal(Const::Float(f64::INFINITY), ScalarTy::F32));
}
