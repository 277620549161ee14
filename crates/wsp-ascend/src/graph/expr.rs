//! Expressions as C++.

use wsp_core::tg::{ExprOp, Scalar, ScalarType};

/// A scalar as a C++ expression over `s`, a `Scalars`. `None` for an expression that is not well-formed.
pub(super) fn scalar(scalar: Scalar, ops: &[ExprOp]) -> Option<String> {
    if let Scalar::Const(value) = scalar {
        return Some(literal(value));
    }
    let mut stack: Vec<String> = Vec::new();
    for op in ops {
        let text = match *op {
            ExprOp::End => break,
            // The operator of C++ at its end leaves out what it leaves out.
            ExprOp::SkipZero(_) | ExprOp::SkipNonZero(_) => continue,
            ExprOp::Const(value) => literal(value),
            ExprOp::Iter(iter) => format!("s.loop({})", iter.0),
            ExprOp::Arg(arg) => format!("s.argument({arg})"),
            ExprOp::Iteration => "s.iteration()".to_owned(),
            ExprOp::Device => "s.device()".to_owned(),
            ExprOp::Devices => "s.devices()".to_owned(),
            ExprOp::Load(tensor, ty) => {
                format!("s.load({}, ScalarType::{}, {})", tensor.0, type_name(ty), stack.pop()?)
            }
            ExprOp::Not => format!("int64_t({} == 0)", stack.pop()?),
            ExprOp::Neg => format!("s.sub(0, {})", stack.pop()?),
            op => {
                let (right, left) = (stack.pop()?, stack.pop()?);
                binary(op, &left, &right)?
            }
        };
        stack.push(text);
    }
    let value = stack.pop()?;
    stack.is_empty().then_some(value)
}

fn binary(op: ExprOp, a: &str, b: &str) -> Option<String> {
    let call = |name: &str| Some(format!("s.{name}({a}, {b})"));
    let compare = |operator: &str| Some(format!("int64_t({a} {operator} {b})"));
    let logic = |operator: &str| Some(format!("int64_t(({a} != 0) {operator} ({b} != 0))"));
    match op {
        ExprOp::Add => call("add"),
        ExprOp::Sub => call("sub"),
        ExprOp::Mul => call("mul"),
        ExprOp::Div => call("div"),
        ExprOp::Rem => call("rem"),
        ExprOp::Min => call("min"),
        ExprOp::Max => call("max"),
        ExprOp::Eq => compare("=="),
        ExprOp::Ne => compare("!="),
        ExprOp::Lt => compare("<"),
        ExprOp::Le => compare("<="),
        ExprOp::Gt => compare(">"),
        ExprOp::Ge => compare(">="),
        ExprOp::And => logic("&&"),
        ExprOp::Or => logic("||"),
        _ => None,
    }
}

/// A constant.
pub(super) fn literal(value: i64) -> String {
    if value == i64::MIN { "INT64_MIN".to_owned() } else { format!("INT64_C({value})") }
}

fn type_name(ty: ScalarType) -> &'static str {
    match ty {
        ScalarType::U8 => "U8",
        ScalarType::U32 => "U32",
        ScalarType::I32 => "I32",
        ScalarType::U64 => "U64",
        ScalarType::I64 => "I64",
    }
}

/// Whether an expression reads memory of the device.
pub(super) fn loads(ops: &[ExprOp]) -> bool {
    ops.iter().take_while(|op| **op != ExprOp::End).any(|op| matches!(op, ExprOp::Load(..)))
}
