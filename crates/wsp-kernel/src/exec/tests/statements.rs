//! Statements: loops, branches, calls.

use super::stack::on_a_plain_stack;
use super::*;
use crate::IntArray;
use std::sync::Arc;
use wsp_ir::Arg;

const U32: ScalarTy = ScalarTy::U32;

fn array_env(module: &mut Module, values: IntArray) -> (Env, ArrayRef) {
    let tensor = add_tensor(module, "lens", &[values.len() as u32]);
    let mut env = Env::new(module, Vec::new());
    env.arrays[tensor.index()] = Some(values);
    (env, ArrayRef::Tensor(tensor))
}

#[test]
fn a_variable_without_a_value_is_zero_each_time_its_declaration_is_reached() {
    let mut f = Build::generator();
    let (i, x) = (f.var("i", U32), f.var("x", U32));
    let body = vec![
        stmt(StmtKind::Let { local: x, init: None }),
        set(x, add(v(x), add(v(i), u(1)))),
        emit(vec![v(x)]),
    ];
    assert_eq!(run(&module(vec![f.body(vec![for_(i, 0, u(3), body)])])), Ok(vec![vec![1], vec![2], vec![3]]));
}

#[test]
fn counted_loops_keep_to_their_bounds() {
    let ranges = |ty, start: i128, end: i128, step: i128| {
        let mut f = Build::generator();
        let (i, n) = (f.var("i", ty), f.var("n", U32));
        let body = vec![set(n, add(v(n), u(1)))];
        let head =
            StmtKind::For { var: i, start: int(ty, start), end: int(ty, end), step: int(ty, step), body };
        run(&module(vec![f.body(vec![stmt(head), emit(vec![v(n)])])])).map(|tasks| tasks[0][0])
    };
    assert_eq!(ranges(U32, 0, 10, 3), Ok(4));
    assert_eq!(ranges(U32, 5, 5, 1), Ok(0));
    assert_eq!(ranges(U32, 7, 3, 1), Ok(0));
    assert_eq!(ranges(U32, i128::from(u32::MAX) - 1, i128::from(u32::MAX), 4), Ok(1));
    assert_eq!(ranges(ScalarTy::I32, -3, 3, 2), Ok(3));
    assert_eq!(ranges(ScalarTy::U64, i128::from(u64::MAX) - 5, i128::from(u64::MAX), 3), Ok(2));
    assert_eq!(ranges(ScalarTy::I64, i128::from(i64::MAX) - 5, i128::from(i64::MAX), 1 << 62), Ok(1));
    let trap = ranges(U32, 0, 10, 0).unwrap_err();
    assert_eq!((trap.code.0, trap.message.as_str()), (605, "loop step of 0"));
    assert_eq!(ranges(ScalarTy::I32, 0, 10, -1).unwrap_err().message, "loop step of -1");
}

#[test]
fn loop_bounds_are_evaluated_once() {
    let mut f = Build::generator();
    let (i, n) = (f.var("i", U32), f.var("n", U32));
    let body = vec![let_(n, u(3)), for_(i, 0, v(n), vec![set(n, u(100)), emit(vec![v(i)])])];
    assert_eq!(run(&module(vec![f.body(body)])).unwrap().len(), 3);
}

#[test]
fn break_and_continue_concern_the_innermost_loop() {
    let mut f = Build::generator();
    let (i, j) = (f.var("i", U32), f.var("j", U32));
    let inner = vec![
        if_(op(BinOp::Eq, v(j), u(1)), vec![stmt(StmtKind::Continue)]),
        if_(op(BinOp::Gt, v(j), v(i)), vec![stmt(StmtKind::Break)]),
        emit(vec![v(i), v(j)]),
    ];
    let outer = vec![for_(j, 0, u(9), inner), if_(op(BinOp::Eq, v(i), u(2)), vec![stmt(StmtKind::Break)])];
    let tasks = run(&module(vec![f.body(vec![for_(i, 0, u(9), outer), emit(vec![u(7), u(7)])])]));
    assert_eq!(tasks, Ok(vec![vec![0, 0], vec![1, 0], vec![2, 0], vec![2, 2], vec![7, 7]]));
}

#[test]
fn the_step_of_a_while_loop_runs_after_continue_too() {
    let mut f = Build::generator();
    let i = f.var("i", U32);
    let body = vec![
        if_(op(BinOp::Eq, op(BinOp::Rem, v(i), u(2)), u(0)), vec![stmt(StmtKind::Continue)]),
        if_(op(BinOp::Gt, v(i), u(6)), vec![stmt(StmtKind::Break)]),
        emit(vec![v(i)]),
    ];
    let head =
        StmtKind::While { cond: op(BinOp::Lt, v(i), u(100)), step: vec![set(i, add(v(i), u(1)))], body };
    let tasks = run(&module(vec![f.body(vec![let_(i, u(0)), stmt(head), emit(vec![v(i)])])]));
    assert_eq!(tasks, Ok(vec![vec![1], vec![3], vec![5], vec![7]]));
}

#[test]
fn conditions_branch_both_ways_on_nested_logic() {
    let mut f = Build::generator();
    let (i, j) = (f.var("i", U32), f.var("j", U32));
    let eq = |x: LocalId, n: u32| op(BinOp::Eq, v(x), u(n));
    let not = |e: Expr| expr(ExprKind::Unary(wsp_ir::UnOp::Not, Box::new(e)), ScalarTy::Bool);
    // !(i == 0 || j == 1) && (j == 0 || i == 2)
    let cond = op(BinOp::And, not(op(BinOp::Or, eq(i, 0), eq(j, 1))), op(BinOp::Or, eq(j, 0), eq(i, 2)));
    let body = StmtKind::If {
        cond,
        then: vec![emit(vec![v(i), v(j), u(1)])],
        otherwise: vec![emit(vec![v(i), v(j), u(0)])],
    };
    let tasks =
        run(&module(vec![f.body(vec![for_(i, 0, u(3), vec![for_(j, 0, u(3), vec![stmt(body)])])])])).unwrap();
    for task in tasks {
        let (i, j) = (task[0], task[1]);
        assert_eq!(task[2] == 1, !(i == 0 || j == 1) && (j == 0 || i == 2), "{i} {j}");
    }
}

#[test]
fn an_assignment_may_read_the_variable_it_changes() {
    let mut f = Build::generator();
    let x = f.var("x", U32);
    let choice = ExprKind::Select(
        Box::new(op(BinOp::Gt, v(x), u(3))),
        Box::new(op(BinOp::Mul, v(x), add(v(x), u(1)))),
        Box::new(v(x)),
    );
    let body =
        vec![let_(x, u(5)), set(x, op(BinOp::Sub, u(9), v(x))), set(x, expr(choice, U32)), emit(vec![v(x)])];
    assert_eq!(run(&module(vec![f.body(body)])), Ok(vec![vec![20]]));
}

/// `f(p, n) = Σ p[i] for i < n`, and a caller that passes two arrays through `g`.
#[test]
fn helpers_have_frames_of_their_own_and_take_arrays() {
    let mut sum = Build::helper(U32);
    let p = sum.param("p", LocalTy::Array(U32));
    let n = sum.param("n", LocalTy::Scalar(U32));
    let (i, s) = (sum.var("i", U32), sum.var("s", U32));
    let sum = sum.body(vec![
        let_(s, u(0)),
        for_(i, 0, v(n), vec![set(s, add(v(s), load(ArrayRef::Local(p), v(i))))]),
        return_(v(s)),
    ]);
    let mut g = Build::helper(U32);
    let q = g.param("q", LocalTy::Array(U32));
    let inner = |n| {
        let args = vec![Arg::Array(ArrayRef::Local(q)), Arg::Scalar(u(n))];
        expr(ExprKind::Call(FuncId(1), args), U32)
    };
    let g = g.body(vec![return_(op(BinOp::Mul, inner(2), inner(3)))]);
    let mut f = Build::generator();
    let a = f.0.add_local("a", LocalTy::Array(U32), at(0));
    let mut m = module(Vec::new());
    let (env, lens) = array_env(&mut m, IntArray::U32(Arc::from([1, 2, 3, 4])));
    let twice = |arg: ArrayRef| expr(ExprKind::Call(FuncId(2), vec![Arg::Array(arg)]), U32);
    let bind = stmt(StmtKind::LetArray { local: a, array: lens });
    m.functions = vec![f.body(vec![bind, emit(vec![twice(ArrayRef::Local(a)), twice(lens)])]), sum, g];
    let mut host = Recorder::default();
    run_in(&m, &env, &mut host).unwrap();
    assert_eq!(host.tasks, [[18, 18]]);
}

#[test]
fn a_trap_in_a_helper_tells_the_way_there() {
    let mut h = Build::helper(U32);
    let n = h.param("n", LocalTy::Scalar(U32));
    let h = h.body(vec![return_(op(BinOp::Div, u(8), v(n)))]);
    let call = expr(ExprKind::Call(FuncId(1), vec![Arg::Scalar(u(0))]), U32);
    let trap = run(&module(vec![Build::generator().body(vec![emit(vec![call])]), h])).unwrap_err();
    assert_eq!(trap.message, "division by zero: 8 / 0");
    assert_eq!(trap.notes, ["in function `helper`, called from generator `generate`"]);
}

#[test]
fn a_function_that_calls_itself_is_refused() {
    let call = expr(ExprKind::Call(FuncId(1), Vec::new()), U32);
    let h = Build::helper(U32).body(vec![return_(call.clone())]);
    let trap = run(&module(vec![Build::generator().body(vec![emit(vec![call])]), h])).unwrap_err();
    assert_eq!(trap.code.0, 639);
}

#[test]
fn long_chains_of_calls_run_and_too_long_ones_are_refused() {
    let chain = |length: u32| {
        let mut functions =
            vec![Build::generator().body(vec![emit(vec![expr(ExprKind::Call(FuncId(1), Vec::new()), U32)])])];
        for n in 2..=length {
            let next = expr(ExprKind::Call(FuncId(n), Vec::new()), U32);
            functions.push(Build::helper(U32).body(vec![return_(add(next, u(1)))]));
        }
        functions.push(Build::helper(U32).body(vec![return_(u(1))]));
        run(&module(functions))
    };
    on_a_plain_stack(move || {
        assert_eq!(chain(100), Ok(vec![vec![100]]));
        assert_eq!(chain(1000).unwrap_err().code.0, 624);
    });
}

#[test]
fn arrays_are_read_within_their_bounds_and_in_their_own_type() {
    let mut m = module(Vec::new());
    let (env, lens) = array_env(&mut m, IntArray::I64(Arc::from([4, -9, 1 << 40])));
    let mut ask = |value: Expr| {
        m.functions = vec![Build::generator().body(vec![emit(vec![cast(U32, value)])])];
        let mut host = Recorder::default();
        run_in(&m, &env, &mut host).map(|()| host.tasks[0][0])
    };
    assert_eq!(ask(load(lens, u(0))), Ok(4));
    assert_eq!(
        ask(load(lens, u(1))).unwrap_err().message,
        "lossy conversion: -9 of type `int64_t` does not fit `uint32_t`"
    );
    assert_eq!(ask(load(lens, u(3))).unwrap_err().message, "index 3 is outside of an array of 3 elements");
    assert_eq!(
        ask(load(lens, int(ScalarTy::I32, -1))).unwrap_err().message,
        "index -1 is outside of an array of 3 elements"
    );
    let max = |n| expr(ExprKind::ArrayMax(lens, Box::new(u(n))), ScalarTy::I64);
    assert_eq!((ask(max(0)), ask(max(2))), (Ok(0), Ok(4)));
    assert_eq!(ask(max(4)).unwrap_err().code.0, 604);
    let sum = |n| expr(ExprKind::ArraySum(lens, Box::new(u(n))), ScalarTy::U64);
    assert_eq!((ask(sum(0)), ask(sum(1))), (Ok(0), Ok(4)));
    assert_eq!(
        ask(sum(2)).unwrap_err().message,
        "arithmetic overflow: -5, the sum of 2 elements, does not fit `uint64_t`"
    );
    assert_eq!(ask(expr(ExprKind::ArrayLen(lens), U32)), Ok(3));
}

#[test]
fn cache_page_tables_are_four_arrays() {
    use wsp_core::CacheId;
    use wsp_ir::MetaKind;
    let mut m = module(Vec::new());
    let keys = add_tensor(&mut m, "k", &[1]);
    for _ in 0..2 {
        m.caches.push(wsp_ir::Cache { name: "kv".to_owned(), keys, values: keys, span: at(0) });
    }
    let mut env = Env::new(&m, Vec::new());
    let one = |n: u32| IntArray::U32(Arc::from([n]));
    env.caches[1] =
        Some(crate::CacheArrays { lengths: one(1), indptr: one(2), indices: one(3), last_page_len: one(4) });
    let meta = |c, kind| load(ArrayRef::Meta(CacheId(c), kind), u(0));
    let kinds = [MetaKind::Lengths, MetaKind::Indptr, MetaKind::Indices, MetaKind::LastPageLen];
    m.functions = vec![Build::generator().body(vec![emit(kinds.iter().map(|k| meta(1, *k)).collect())])];
    let mut host = Recorder::default();
    run_in(&m, &env, &mut host).unwrap();
    assert_eq!(host.tasks, [[1, 2, 3, 4]]);
    m.functions = vec![Build::generator().body(vec![emit(vec![meta(0, MetaKind::Indices)])])];
    assert_eq!(run_in(&m, &env, &mut host).unwrap_err().message, "cache `kv` is not bound");
}

#[test]
fn return_leaves_the_generator() {
    let body = vec![emit(vec![u(1)]), stmt(StmtKind::Return(None)), emit(vec![u(2)])];
    assert_eq!(run(&module(vec![Build::generator().body(body)])), Ok(vec![vec![1]]));
}

#[test]
fn an_endless_loop_stops_at_the_limit_or_when_cancelled() {
    let yes = expr(ExprKind::Const(Const::Bool(true)), ScalarTy::Bool);
    let head = StmtKind::While { cond: yes, step: Vec::new(), body: Vec::new() };
    let m = module(vec![Build::generator().body(vec![stmt(head)])]);
    let trap = run(&m).unwrap_err();
    assert_eq!(trap.code.0, 606);
    assert_eq!(trap.message, "generator `generate` does not end: stopped after 1000000 steps");
    let env = Env::new(&m, Vec::new());
    let mut host = Recorder { cancelled: true, ..Recorder::default() };
    assert!(run_in(&m, &env, &mut host).unwrap_err().is_cancelled());
}

#[test]
fn a_statement_that_lowering_replaces_is_an_internal_error() {
    let body = vec![stmt(StmtKind::ScheduledFor { vars: Vec::new(), body: Vec::new() })];
    let trap = run(&module(vec![Build::generator().body(body)])).unwrap_err();
    assert_eq!(trap.code.0, 639);
}

#[test]
fn a_trap_becomes_a_diagnostic_with_its_place_and_notes() {
    let trap = Trap::new(wsp_diag::Code(604), "index 3", at(9)).note("here");
    let diagnostic = wsp_diag::Diagnostic::from(trap);
    assert_eq!(diagnostic.primary.map(|p| p.span), Some(at(9)));
    assert_eq!(diagnostic.notes, ["here"]);
    assert!(wsp_diag::lookup(&[crate::CODES], diagnostic.code).is_some());
}

#[test]
fn functions_called_one_after_another_are_not_nested() {
    let count = wsp_core::limits::MAX_NESTING + 1;
    let call = |n| emit(vec![expr(ExprKind::Call(FuncId(n), Vec::new()), U32)]);
    let mut functions = vec![Build::generator().body((1..=count).map(call).collect())];
    functions.extend((1..=count).map(|n| Build::helper(U32).body(vec![return_(u(n))])));
    assert_eq!(run(&module(functions)), Ok((1..=count).map(|n| vec![n]).collect::<Vec<_>>()));
}
