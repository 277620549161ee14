//! Random expressions against a plain recursive evaluator.

use super::*;
use proptest::prelude::*;
use wsp_ir::{MathFn, UnOp};

const TYPES: [ScalarTy; 7] = [
    ScalarTy::Bool,
    ScalarTy::I32,
    ScalarTy::U32,
    ScalarTy::I64,
    ScalarTy::U64,
    ScalarTy::F32,
    ScalarTy::F64,
];

/// Where random choices come from.
struct Choices(u64);

impl Choices {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) ^ (self.0 << 17)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn value(&mut self, ty: ScalarTy) -> Value {
        let small = self.below(7) as i64 - 3;
        let wide = self.next() as i64;
        let raw = match self.below(4) {
            0 => wide,
            1 => i64::from(i32::MAX) + small,
            _ => small,
        };
        match ty {
            ScalarTy::Bool => Value::Bool(raw & 1 == 0),
            ScalarTy::I32 => Value::I32(raw as i32),
            ScalarTy::U32 => Value::U32(raw.unsigned_abs() as u32),
            ScalarTy::I64 => Value::I64(raw),
            ScalarTy::U64 => Value::U64(raw.unsigned_abs()),
            ScalarTy::F32 => Value::F32(raw as f32 / 4.0),
            ScalarTy::F64 => Value::F64(raw as f64 / 8.0),
        }
    }
}

/// A random expression of a type; variable `n` has type number `n % 7`.
fn any_expr(c: &mut Choices, ty: ScalarTy, depth: u32, leaf: &dyn Fn(u32, ScalarTy) -> Expr) -> Expr {
    let number = TYPES.iter().position(|t| *t == ty).expect("one of the types") as u32;
    if depth == 0 {
        return leaf(number + 7 * c.below(2) as u32, ty);
    }
    let child = |c: &mut Choices, ty| Box::new(any_expr(c, ty, depth - 1, leaf));
    let kind = match c.below(8) {
        0 => ExprKind::Select(child(c, ScalarTy::Bool), child(c, ty), child(c, ty)),
        1 => {
            let from = TYPES[c.below(7)];
            ExprKind::Cast(child(c, from))
        }
        2 if ty.is_float() => {
            let functions = [
                MathFn::Exp,
                MathFn::Exp2,
                MathFn::Log,
                MathFn::Log2,
                MathFn::Sqrt,
                MathFn::Abs,
                MathFn::Sin,
                MathFn::Cos,
            ];
            let f = functions[c.below(8)];
            ExprKind::Math(f, child(c, ty))
        }
        2 => ExprKind::Unary(if ty == ScalarTy::Bool { UnOp::Not } else { UnOp::Neg }, child(c, ty)),
        3 => return leaf(number, ty),
        _ if ty == ScalarTy::Bool => {
            let compare =
                [BinOp::Lt, BinOp::Le, BinOp::Gt, BinOp::Ge, BinOp::Eq, BinOp::Ne, BinOp::And, BinOp::Or];
            let o = compare[c.below(8)];
            let of = if o.is_logic() { ScalarTy::Bool } else { TYPES[1 + c.below(6)] };
            ExprKind::Binary(o, child(c, of), child(c, of))
        }
        _ => {
            let arithmetic = [
                BinOp::Add,
                BinOp::Sub,
                BinOp::Mul,
                BinOp::Div,
                BinOp::Rem,
                BinOp::Min,
                BinOp::Max,
                BinOp::CeilDiv,
                BinOp::BitAnd,
                BinOp::BitOr,
                BinOp::BitXor,
                BinOp::Shl,
                BinOp::Shr,
            ];
            let o = arithmetic[c.below(if ty.is_float() { 8 } else { 13 })];
            ExprKind::Binary(o, child(c, ty), child(c, ty))
        }
    };
    expr(kind, ty)
}

/// The value, or the code of the trap.
type Expected = Result<Value, u16>;

fn fit(ty: ScalarTy, value: i128, code: u16) -> Expected {
    Value::from_int(ty, value).ok_or(code)
}

fn floats(ty: ScalarTy, value: f64, narrow: f32) -> Value {
    if ty == ScalarTy::F32 { Value::F32(narrow) } else { Value::F64(value) }
}

fn oracle(e: &Expr, vars: &[Value]) -> Expected {
    match &e.kind {
        ExprKind::Local(id) => Ok(vars[id.index()]),
        ExprKind::Param(id) => Ok(vars[id.index()]),
        ExprKind::Select(c, a, b) => {
            let chosen = if oracle(c, vars)?.as_bool().expect("a condition is a bool") { a } else { b };
            oracle(chosen, vars)
        }
        ExprKind::Cast(a) => oracle_cast(oracle(a, vars)?, e.ty),
        ExprKind::Unary(UnOp::Not, a) => Ok(Value::Bool(oracle(a, vars)? == Value::Bool(false))),
        ExprKind::Unary(UnOp::Neg, a) => match oracle(a, vars)? {
            Value::F32(v) => Ok(Value::F32(-v)),
            Value::F64(v) => Ok(Value::F64(-v)),
            other => fit(e.ty, -other.as_int().expect("an integer"), 600),
        },
        ExprKind::Math(f, a) => {
            let x = oracle(a, vars)?;
            let wide: fn(f64) -> f64 = match f {
                MathFn::Exp => f64::exp,
                MathFn::Exp2 => f64::exp2,
                MathFn::Log => f64::ln,
                MathFn::Log2 => f64::log2,
                MathFn::Sqrt => f64::sqrt,
                MathFn::Abs => f64::abs,
                MathFn::Sin => f64::sin,
                MathFn::Cos => f64::cos,
            };
            let narrow: fn(f32) -> f32 = match f {
                MathFn::Exp => f32::exp,
                MathFn::Exp2 => f32::exp2,
                MathFn::Log => f32::ln,
                MathFn::Log2 => f32::log2,
                MathFn::Sqrt => f32::sqrt,
                MathFn::Abs => f32::abs,
                MathFn::Sin => f32::sin,
                MathFn::Cos => f32::cos,
            };
            Ok(floats(e.ty, wide(x.as_f64()), narrow(x.as_f64() as f32)))
        }
        ExprKind::Binary(BinOp::And, a, b) => match oracle(a, vars)? {
            Value::Bool(true) => oracle(b, vars),
            other => Ok(other),
        },
        ExprKind::Binary(BinOp::Or, a, b) => match oracle(a, vars)? {
            Value::Bool(false) => oracle(b, vars),
            other => Ok(other),
        },
        ExprKind::Binary(o, a, b) => {
            let (x, y) = (oracle(a, vars)?, oracle(b, vars)?);
            match (x.as_int(), y.as_int()) {
                (Some(x), Some(y)) => oracle_int(*o, a.ty, x, y),
                _ => Ok(oracle_float(*o, a.ty, x.as_f64(), y.as_f64())),
            }
        }
        other => unreachable!("{other:?} is not generated"),
    }
}

fn oracle_cast(value: Value, to: ScalarTy) -> Expected {
    let int = match (value.as_int(), to) {
        (_, ScalarTy::Bool) => return Ok(Value::Bool(value.as_f64() != 0.0)),
        (Some(v), ScalarTy::F32) => return Ok(Value::F32(v as f32)),
        (Some(v), ScalarTy::F64) => return Ok(Value::F64(v as f64)),
        (None, ScalarTy::F32 | ScalarTy::F64) => {
            return Ok(floats(to, value.as_f64(), value.as_f64() as f32));
        }
        (Some(v), _) => v,
        (None, _) => {
            let v = value.as_f64().trunc();
            if !(v > -1e20 && v < 1e20) {
                return Err(602);
            }
            v as i128
        }
    };
    fit(to, int, 602)
}

fn oracle_int(o: BinOp, ty: ScalarTy, x: i128, y: i128) -> Expected {
    let width = if matches!(ty, ScalarTy::I32 | ScalarTy::U32) { 32 } else { 64 };
    let value = match o {
        BinOp::Lt => return Ok(Value::Bool(x < y)),
        BinOp::Le => return Ok(Value::Bool(x <= y)),
        BinOp::Gt => return Ok(Value::Bool(x > y)),
        BinOp::Ge => return Ok(Value::Bool(x >= y)),
        BinOp::Eq => return Ok(Value::Bool(x == y)),
        BinOp::Ne => return Ok(Value::Bool(x != y)),
        BinOp::Div | BinOp::Rem | BinOp::CeilDiv if y == 0 => return Err(601),
        BinOp::Shl | BinOp::Shr if !(0..width).contains(&y) => return Err(603),
        BinOp::Add => x + y,
        BinOp::Sub => x - y,
        // Both factors are below 2^64 in size: a product that leaves 128 bits leaves 64 too.
        BinOp::Mul => x.checked_mul(y).ok_or(600u16)?,
        BinOp::Div => x / y,
        BinOp::Rem => x % y,
        BinOp::Min => x.min(y),
        BinOp::Max => x.max(y),
        BinOp::CeilDiv => x / y + i128::from(x % y != 0 && (x < 0) == (y < 0)),
        BinOp::BitAnd => x & y,
        BinOp::BitOr => x | y,
        BinOp::BitXor => x ^ y,
        BinOp::Shl => x.checked_mul(1 << y).ok_or(600u16)?,
        BinOp::Shr => x >> y,
        BinOp::And | BinOp::Or => unreachable!("lazy operators are handled before"),
    };
    fit(ty, value, 600)
}

fn oracle_float(o: BinOp, ty: ScalarTy, x: f64, y: f64) -> Value {
    let (p, q) = (x as f32, y as f32);
    match o {
        BinOp::Lt => Value::Bool(x < y),
        BinOp::Le => Value::Bool(x <= y),
        BinOp::Gt => Value::Bool(x > y),
        BinOp::Ge => Value::Bool(x >= y),
        BinOp::Eq => Value::Bool(x == y),
        BinOp::Ne => Value::Bool(x != y),
        BinOp::Add => floats(ty, x + y, p + q),
        BinOp::Sub => floats(ty, x - y, p - q),
        BinOp::Mul => floats(ty, x * y, p * q),
        BinOp::Div => floats(ty, x / y, p / q),
        BinOp::Rem => floats(ty, x % y, p % q),
        BinOp::CeilDiv => floats(ty, (x / y).ceil(), (p / q).ceil()),
        BinOp::Min | BinOp::Max if x.is_nan() || y.is_nan() => floats(ty, f64::NAN, f32::NAN),
        BinOp::Min => floats(ty, if y < x { y } else { x }, if q < p { q } else { p }),
        BinOp::Max => floats(ty, if y > x { y } else { x }, if q > p { q } else { p }),
        other => unreachable!("{other:?} is not generated for floats"),
    }
}

/// Equal, or both NaN.
fn same(a: &Expected, b: &Expected) -> bool {
    match (a, b) {
        (Ok(x), Ok(y)) if x.as_int().is_none() => {
            x.ty() == y.ty() && (x.as_f64() == y.as_f64() || (x.as_f64().is_nan() && y.as_f64().is_nan()))
        }
        _ => a == b,
    }
}

/// A helper that returns the expression, with variables set to these values first.
fn through_variables(seed: u64, ty: ScalarTy, vars: &[Value]) -> (Expr, Expected) {
    let mut f = Build::helper(ty);
    let locals: Vec<LocalId> = vars.iter().map(|value| f.var("v", value.ty())).collect();
    let e = any_expr(&mut Choices(seed), ty, 5, &|n, ty| local(LocalId(n), ty));
    let mut m = module(Vec::new());
    let mut body: Vec<Stmt> = Vec::new();
    for (id, value) in locals.iter().zip(vars) {
        // Parameters carry the values in, whatever they are.
        let param = add_param(&mut m, "p", value.ty());
        body.push(let_(*id, expr(param, value.ty())));
    }
    body.push(return_(e.clone()));
    m.functions = vec![f.body(body)];
    // Compiling takes a thousand times as long as interpreting: some must do.
    let second = if seed.is_multiple_of(16) { Engine::Native } else { Engine::Interpreter };
    let got = returned_on([Engine::Interpreter, second], &m, vars.to_vec());
    (e, got.map_err(|trap| trap.code.0))
}

/// The same expression over parameters, so that all of it is folded.
fn folded(seed: u64, ty: ScalarTy, vars: &[Value]) -> Expected {
    let mut m = module(Vec::new());
    for value in vars {
        add_param(&mut m, "p", value.ty());
    }
    let e = any_expr(&mut Choices(seed), ty, 5, &|n, ty| expr(ExprKind::Param(wsp_core::ParamId(n)), ty));
    let known: Vec<Option<Value>> = vars.iter().copied().map(Some).collect();
    crate::eval_launch_expr(&m, &e, &known).map_err(|trap| trap.code.0)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_expressions_match_a_recursive_evaluator(seed: u64, values: u64, ty in 0usize..7) {
        let mut c = Choices(values);
        let vars: Vec<Value> = (0..14).map(|n| c.value(TYPES[n % 7])).collect();
        let (e, got) = through_variables(seed, TYPES[ty], &vars);
        let want = oracle(&e, &vars);
        prop_assert!(same(&got, &want), "got {got:?}, want {want:?} for {e:?} with {vars:?}");
        let got = folded(seed, TYPES[ty], &vars);
        prop_assert!(same(&got, &want), "folded to {got:?}, want {want:?} for {e:?} with {vars:?}");
    }
}
