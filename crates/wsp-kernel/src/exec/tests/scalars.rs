//! Scalar expressions: every operator, every fault.

use super::stack::on_a_plain_stack;
use super::*;
use crate::{IntArray, ScalarCode, Scratch, eval_launch_expr};
use std::sync::Arc;
use wsp_ir::{MathFn, UnOp};

const TYPES: [ScalarTy; 4] = [ScalarTy::I32, ScalarTy::U32, ScalarTy::I64, ScalarTy::U64];

/// Message of the trap of an expression, evaluated folded and through variables: both must say the same.
fn trap_of(ty: ScalarTy, build: impl Fn(Expr, Expr) -> Expr, a: i128, b: i128) -> String {
    let folded = eval_launch_expr(&Module::default(), &build(int(ty, a), int(ty, b)), &[]).unwrap_err();
    let mut f = Build::helper(ty);
    let (x, y) = (f.var("x", ty), f.var("y", ty));
    let value = build(local(x, ty), local(y, ty));
    f.0.ret = Some(value.ty);
    let m = module(vec![f.body(vec![let_(x, int(ty, a)), let_(y, int(ty, b)), return_(value)])]);
    assert_eq!(returned(&m, Vec::new()).unwrap_err(), folded);
    assert_eq!(folded.span, at(1));
    format!("{} {}", folded.code, folded.message)
}

#[test]
fn overflow_names_operation_values_and_type() {
    let say = |o, ty, a, b| trap_of(ty, move |a, b| op(o, a, b), a, b);
    let u32max = i128::from(u32::MAX);
    assert_eq!(
        say(BinOp::Add, ScalarTy::U32, u32max, 1),
        "WSP0600 arithmetic overflow: 4294967295 + 1 does not fit `uint32_t`"
    );
    assert_eq!(
        say(BinOp::Sub, ScalarTy::U32, 3, 4),
        "WSP0600 arithmetic overflow: 3 - 4 does not fit `uint32_t`"
    );
    assert_eq!(
        say(BinOp::Mul, ScalarTy::I32, 65536, -32769),
        "WSP0600 arithmetic overflow: 65536 * -32769 does not fit `int32_t`"
    );
    assert_eq!(
        say(BinOp::Div, ScalarTy::I64, i128::from(i64::MIN), -1),
        "WSP0600 arithmetic overflow: -9223372036854775808 / -1 does not fit `int64_t`"
    );
    assert_eq!(
        say(BinOp::Shl, ScalarTy::U32, 3, 31),
        "WSP0600 arithmetic overflow: 3 << 31 does not fit `uint32_t`"
    );
    assert_eq!(
        say(BinOp::CeilDiv, ScalarTy::I32, i128::from(i32::MIN), -1),
        "WSP0600 arithmetic overflow: PTO_CEIL_DIV(-2147483648, -1) does not fit `int32_t`"
    );
}

#[test]
fn every_integer_type_traps_at_its_own_limits() {
    for ty in TYPES {
        let (min, max) = match ty {
            ScalarTy::I32 => (i128::from(i32::MIN), i128::from(i32::MAX)),
            ScalarTy::U32 => (0, i128::from(u32::MAX)),
            ScalarTy::I64 => (i128::from(i64::MIN), i128::from(i64::MAX)),
            _ => (0, i128::from(u64::MAX)),
        };
        assert!(trap_of(ty, |a, b| op(BinOp::Add, a, b), max, 1).starts_with("WSP0600"));
        assert!(trap_of(ty, |a, b| op(BinOp::Sub, a, b), min, 1).starts_with("WSP0600"));
        assert!(trap_of(ty, |a, b| op(BinOp::Mul, a, b), max, 2).starts_with("WSP0600"));
        assert!(trap_of(ty, |a, b| op(BinOp::Div, a, b), 7, 0).starts_with("WSP0601"));
        assert!(trap_of(ty, |a, b| op(BinOp::Rem, a, b), 7, 0).starts_with("WSP0601"));
        assert!(trap_of(ty, |a, b| op(BinOp::CeilDiv, a, b), 7, 0).starts_with("WSP0601"));
        assert!(trap_of(ty, |a, b| op(BinOp::Shl, a, b), 1, 64).starts_with("WSP0603"));
        let edge = op(BinOp::Add, int(ty, max - 1), int(ty, 1));
        assert_eq!(eval_launch_expr(&Module::default(), &edge, &[]).unwrap().as_int(), Some(max));
    }
}

#[test]
fn shifts_and_divisions_say_what_is_wrong() {
    let say = |o, ty, a, b| trap_of(ty, move |a, b| op(o, a, b), a, b);
    assert_eq!(say(BinOp::Shr, ScalarTy::U32, 1, 32), "WSP0603 shift out of range: 1 >> 32 on `uint32_t`");
    assert_eq!(say(BinOp::Shl, ScalarTy::I64, 1, -1), "WSP0603 shift out of range: 1 << -1 on `int64_t`");
    assert_eq!(say(BinOp::Rem, ScalarTy::U32, 9, 0), "WSP0601 division by zero: 9 % 0");
    assert_eq!(say(BinOp::CeilDiv, ScalarTy::U64, 9, 0), "WSP0601 division by zero: PTO_CEIL_DIV(9, 0)");
}

#[test]
fn negation_of_the_smallest_value_and_of_unsigned_values_overflows() {
    let neg = |a: Expr, _: Expr| {
        let ty = a.ty;
        expr(ExprKind::Unary(UnOp::Neg, Box::new(a)), ty)
    };
    let say = |ty, a| trap_of(ty, neg, a, 0);
    assert_eq!(
        say(ScalarTy::I32, i128::from(i32::MIN)),
        "WSP0600 arithmetic overflow: -(-2147483648) does not fit `int32_t`"
    );
    assert_eq!(say(ScalarTy::U32, 1), "WSP0600 arithmetic overflow: -(1) does not fit `uint32_t`");
}

#[test]
fn conversions_that_lose_something_trap_and_others_do_not() {
    let to = |ty: ScalarTy| move |a: Expr, _: Expr| cast(ty, a);
    assert_eq!(
        trap_of(ScalarTy::I32, to(ScalarTy::U32), -1, 0),
        "WSP0602 lossy conversion: -1 of type `int32_t` does not fit `uint32_t`"
    );
    assert_eq!(
        trap_of(ScalarTy::U64, to(ScalarTy::I32), 1 << 31, 0),
        "WSP0602 lossy conversion: 2147483648 of type `uint64_t` does not fit `int32_t`"
    );
    let value = |e: Expr| eval_launch_expr(&Module::default(), &e, &[]);
    assert_eq!(value(cast(ScalarTy::U32, real(3.99))), Ok(Value::U32(3)));
    assert_eq!(value(cast(ScalarTy::I32, real(-3.99))), Ok(Value::I32(-3)));
    assert_eq!(value(cast(ScalarTy::U32, real(-0.5))), Ok(Value::U32(0)));
    for bad in [f32::NAN, f32::INFINITY, 4294967296.0, -1.0] {
        assert_eq!(value(cast(ScalarTy::U32, real(bad))).unwrap_err().code.0, 602, "{bad}");
    }
    assert_eq!(value(cast(ScalarTy::U64, real(9e18))), Ok(Value::U64(9e18f32 as u64)));
    // 2^24 + 1 is no f32; the nearest even one is taken.
    assert_eq!(value(cast(ScalarTy::F32, u(16_777_217))), Ok(Value::F32(16_777_216.0)));
    // Rounding through f64 first would give another neighbour.
    let twice = (1i128 << 60) + (1 << 36) + 1;
    assert_eq!(value(cast(ScalarTy::F32, int(ScalarTy::U64, twice))), Ok(Value::F32(twice as f32)));
    assert_eq!(value(cast(ScalarTy::Bool, u(7))), Ok(Value::Bool(true)));
    assert_eq!(
        value(cast(ScalarTy::I32, expr(ExprKind::Const(Const::Bool(true)), ScalarTy::Bool))),
        Ok(Value::I32(1))
    );
}

#[test]
fn float_operators_follow_ieee_and_nan_goes_through_min_and_max() {
    let value = |e: Expr| eval_launch_expr(&Module::default(), &e, &[]).unwrap().as_f64();
    assert_eq!(value(op(BinOp::Div, real(1.0), real(0.0))), f64::INFINITY);
    assert!(value(op(BinOp::Max, real(1.0), real(f32::NAN))).is_nan());
    assert!(value(op(BinOp::Min, real(f32::NAN), real(1.0))).is_nan());
    assert_eq!(value(op(BinOp::Max, real(f32::NEG_INFINITY), real(-3.0))), -3.0);
    let math = |f, x| value(expr(ExprKind::Math(f, Box::new(real(x))), ScalarTy::F32));
    assert_eq!(math(MathFn::Sqrt, 64.0), 8.0);
    assert_eq!(math(MathFn::Exp2, -3.0), 0.125);
    assert_eq!(math(MathFn::Log2, 8.0), 3.0);
    assert_eq!(math(MathFn::Sin, 0.5), f64::from(0.5f32.sin()));
    assert_eq!(math(MathFn::Cos, 0.5), f64::from(0.5f32.cos()));
    assert_eq!(math(MathFn::Log, 1.0), 0.0);
    assert_eq!(math(MathFn::Exp, 0.0), 1.0);
    assert_eq!(math(MathFn::Abs, -2.5), 2.5);
}

#[test]
fn logic_and_choice_evaluate_only_what_is_needed() {
    let bad = || op(BinOp::Eq, op(BinOp::Div, u(1), u(0)), u(0));
    let yes = || op(BinOp::Eq, u(1), u(1));
    let no = || op(BinOp::Ne, u(1), u(1));
    let word = |cond: Expr| {
        let choice = ExprKind::Select(Box::new(cond), Box::new(u(10)), Box::new(u(20)));
        emitted(vec![expr(choice, ScalarTy::U32)])
    };
    assert_eq!(word(op(BinOp::And, no(), bad())), Ok(vec![20]));
    assert_eq!(word(op(BinOp::Or, yes(), bad())), Ok(vec![10]));
    assert_eq!(word(op(BinOp::Or, no(), bad())).unwrap_err().code.0, 601);
    assert_eq!(word(op(BinOp::And, yes(), bad())).unwrap_err().code.0, 601);
    // The same with operands that are known only when the code runs.
    let mut f = Build::generator();
    let x = f.var("x", ScalarTy::U32);
    let is_zero = || op(BinOp::Eq, v(x), u(0));
    let safe = op(BinOp::Or, is_zero(), op(BinOp::Gt, op(BinOp::Div, u(8), v(x)), u(1)));
    let choice =
        ExprKind::Select(Box::new(is_zero()), Box::new(u(7)), Box::new(op(BinOp::Div, u(100), v(x))));
    let body = vec![for_(x, 0, u(9), vec![if_(safe, vec![emit(vec![v(x), expr(choice, ScalarTy::U32)])])])];
    assert_eq!(
        run(&module(vec![f.body(body)])),
        Ok(vec![vec![0, 7], vec![1, 100], vec![2, 50], vec![3, 33], vec![4, 25]])
    );
}

#[test]
fn launch_expressions_need_their_parameters_and_nothing_else() {
    let mut m = Module::default();
    let n = expr(add_param(&mut m, "n", ScalarTy::U32), ScalarTy::U32);
    let twice = add(n.clone(), n);
    assert_eq!(eval_launch_expr(&m, &twice, &[Some(Value::U32(21))]), Ok(Value::U32(42)));
    assert_eq!(eval_launch_expr(&m, &twice, &[]).unwrap_err().message, "parameter `n` is not bound");
    assert_eq!(eval_launch_expr(&m, &twice, &[None]).unwrap_err().code.0, 623);
    let field = expr(ExprKind::ArrayLen(ArrayRef::Tensor(TensorId(0))), ScalarTy::U32);
    assert_eq!(eval_launch_expr(&m, &field, &[]).unwrap_err().code.0, 639);
}

#[test]
fn a_deep_expression_is_an_error_and_not_a_stack_overflow() {
    on_a_plain_stack(|| {
        let mut deep = u(0);
        for _ in 0..5000 {
            deep = add(deep, u(0));
        }
        assert_eq!(eval_launch_expr(&Module::default(), &deep, &[]).unwrap_err().code.0, 624);
    });
}

#[test]
fn expressions_that_nest_as_deep_as_they_may_are_compiled_and_run() {
    // The statement is one level, its value another.
    let operators = 5 * wsp_core::limits::MAX_NESTING - 2;
    let sum = |operators: u32, join: fn(Expr, Expr) -> Expr| {
        let mut f = Build::helper(ScalarTy::U32);
        let x = f.var("x", ScalarTy::U32);
        let value = (0..operators).fold(v(x), |deep, _| join(deep, v(x)));
        returned(&module(vec![f.body(vec![let_(x, u(1)), return_(value)])]), Vec::new())
    };
    on_a_plain_stack(move || {
        for join in [add, |deep, x| add(x, deep)] {
            assert_eq!(sum(operators, join), Ok(Value::U32(operators + 1)));
            assert_eq!(sum(operators + 1, join).unwrap_err().code.0, 624);
        }
    });
}

/// A helper that adds up, subtracts or multiplies variables of these values: with nested operators, and as a chain.
fn both_ways(ty: ScalarTy, first: Const, rest: &[(BinOp, Const)]) -> [Module; 2] {
    let mut f = Build::helper(ty);
    let literal = |value: Const| expr(ExprKind::Const(value), ty);
    let values: Vec<Const> = [first].into_iter().chain(rest.iter().map(|(_, value)| *value)).collect();
    let vars: Vec<LocalId> = values.iter().map(|_| f.var("x", ty)).collect();
    let operands = || vars[1..].iter().zip(rest).map(|(var, (op, _))| (*op, local(*var, ty)));
    let nested = operands().fold(local(vars[0], ty), |left, (o, right)| op(o, left, right));
    let chain = expr(ExprKind::Chain(Box::new(local(vars[0], ty)), operands().collect()), ty);
    [nested, chain].map(|value| {
        let lets = vars.iter().zip(&values).map(|(var, value)| let_(*var, literal(*value)));
        module(vec![Build(f.0.clone()).body(lets.chain([return_(value)]).collect())])
    })
}

#[test]
fn a_chain_computes_what_nested_operators_do() {
    use BinOp::{Add, Div, Mul, Rem, Sub};
    let whole =
        |values: &[(BinOp, i128)]| values.iter().map(|(o, v)| (*o, Const::Int(*v))).collect::<Vec<_>>();
    for (first, rest) in [
        (7, whole(&[(Add, 5), (Sub, 3), (Add, 100)])),
        (7, whole(&[(Sub, 9), (Add, 9)])),
        (4_000_000_000, whole(&[(Add, 200_000_000), (Add, 200_000_000), (Sub, 300_000_000)])),
        (7, whole(&[(Mul, 6), (Div, 4), (Rem, 4), (Mul, 9)])),
        (7, whole(&[(Mul, 6), (Rem, 0), (Mul, 2)])),
    ] {
        for ty in [ScalarTy::U32, ScalarTy::I64, ScalarTy::U64] {
            let [nested, chain] = both_ways(ty, Const::Int(first), &rest).map(|m| returned(&m, Vec::new()));
            assert_eq!(nested, chain, "{first} {rest:?}");
        }
    }
    let floats = [(Add, 1e8), (Sub, 0.1), (Add, -1e8), (Add, 0.3)]
        .map(|(o, v)| (o, Const::Float(f64::from(v as f32))));
    let [nested, chain] =
        both_ways(ScalarTy::F32, Const::Float(0.5), &floats).map(|m| returned(&m, Vec::new()));
    let expected = 0.5_f32 + 1e8 - 0.1 + -1e8 + 0.3;
    assert_eq!((nested, chain), (Ok(Value::F32(expected)), Ok(Value::F32(expected))));
}

#[test]
fn a_chain_of_thousands_is_added_from_left_to_right_and_needs_no_more_slots() {
    on_a_plain_stack(|| {
        // Without optimisation the compiler of machine code takes a minute for the longer one.
        for (count, second) in [(1_000, Engine::Native), (10_000, Engine::Interpreter)] {
            let terms: Vec<f32> = (0..count).map(|n| 1e7 / (n as f32 - 400.5)).collect();
            let mut f = Build::helper(ScalarTy::F32);
            let x = f.var("x", ScalarTy::F32);
            let first = local(x, ScalarTy::F32);
            let sum = terms.iter().fold(first, |sum, term| Expr::joined(BinOp::Add, sum, real(*term)));
            let m = module(vec![f.body(vec![let_(x, real(0.25)), return_(sum)])]);
            let expected = terms.iter().fold(0.25, |sum, term| sum + term);
            assert_eq!(returned_on([Engine::Interpreter, second], &m, Vec::new()), Ok(Value::F32(expected)));
        }
        let mut f = Build::helper(ScalarTy::U32);
        let x = f.var("x", ScalarTy::U32);
        let sum = (0..10_000).fold(v(x), |sum, _| Expr::joined(BinOp::Add, sum, op(BinOp::Mul, v(x), u(7))));
        let m = module(vec![f.body(vec![let_(x, u(3)), return_(sum)])]);
        let env = Env::new(&m, Vec::new());
        let mut compiler =
            super::super::compile::Compiler::new(&m, &env, super::super::compile::Role::Generator);
        compiler.entry(FuncId(0)).expect("it compiles");
        assert!(compiler.into_program().entry().depth_slots < 100);
    });
}

#[test]
fn summaries_read_descriptor_fields_and_bound_arrays() {
    let mut m = module(Vec::new());
    let lens = add_tensor(&mut m, "lens", &[3]);
    let mut env = Env::new(&m, Vec::new());
    env.arrays[0] = Some(IntArray::U32(Arc::from([5, 6, 7])));
    let field = |n| expr(ExprKind::Field(LocalId(0), n), ScalarTy::U32);
    let exprs = [
        add(field(2), u(1)),
        op(BinOp::Sub, field(0), field(2)),
        load(ArrayRef::Tensor(lens), field(0)),
        op(BinOp::Lt, field(0), field(2)),
    ];
    let code = ScalarCode::compile(&m, &exprs, &env).unwrap();
    let mut scratch = Scratch::new();
    let mut out = [None; 4];
    code.eval(&mut scratch, &env, &[1, 99, 40], &mut out);
    assert_eq!(out, [Some(Value::U32(41)), None, Some(Value::U32(6)), Some(Value::Bool(true))]);
    assert_eq!(
        code.eval_one(1, &mut scratch, &env, &[1, 99, 40]).unwrap_err().message,
        "arithmetic overflow: 1 - 40 does not fit `uint32_t`"
    );
    assert_eq!(code.eval_one(0, &mut scratch, &env, &[1, 2]).unwrap_err().code.0, 639);
}

#[test]
fn an_expression_beside_one_that_stops_has_the_value_that_it_has_alone() {
    let mut m = module(Vec::new());
    let lens = add_tensor(&mut m, "lens", &[3]);
    let mut env = Env::new(&m, Vec::new());
    env.arrays[0] = Some(IntArray::U32(Arc::from([5, 6, 7])));
    let field = |n| expr(ExprKind::Field(LocalId(0), n), ScalarTy::U32);
    let less = || op(BinOp::Lt, field(0), field(1));
    let boxed = |e: Expr| Box::new(e);
    let choice = |a: Expr, b: Expr| expr(ExprKind::Select(boxed(less()), boxed(a), boxed(b)), ScalarTy::U32);
    let exprs = [
        field(0),
        choice(op(BinOp::Sub, field(1), field(0)), op(BinOp::Sub, field(2), field(1))),
        op(BinOp::And, less(), op(BinOp::Lt, op(BinOp::Sub, field(2), field(0)), u(2))),
        u(7),
        load(ArrayRef::Tensor(lens), add(field(0), field(2))),
        op(BinOp::Div, field(0), field(2)),
        choice(load(ArrayRef::Tensor(lens), field(1)), u(9)),
    ];
    let code = ScalarCode::compile(&m, &exprs, &env).unwrap();
    let alone: Vec<ScalarCode> = exprs.iter().map(|e| ScalarCode::compile(&m, [e], &env).unwrap()).collect();
    let (mut scratch, mut stopped) = (Scratch::new(), 0);
    for descriptor in (0..64).map(|n| [n % 4, n / 4 % 4, n / 16]) {
        let mut out = [None; 7];
        code.eval(&mut scratch, &env, &descriptor, &mut out);
        for (index, one) in alone.iter().enumerate() {
            let expected = one.eval_one(0, &mut scratch, &env, &descriptor);
            let found = code.eval_one(index, &mut scratch, &env, &descriptor);
            stopped += u32::from(expected.is_err());
            assert_eq!(out[index], expected.as_ref().ok().copied(), "{index} of {descriptor:?}");
            assert_eq!(
                found.map_err(|trap| (trap.message, trap.span)),
                expected.map_err(|trap| (trap.message, trap.span))
            );
        }
    }
    assert!(stopped > 64, "{stopped} stopped");
}
