//! In which order operands are computed: C++ leaves it to the compiler, and the first that has no value is the one that a run names.

use wsp_ir::workload::{IntExpr, IntExprKind};
use wsp_ir::{BinOp, Expr, ExprKind, ScalarTy, UnOp};

/// An operand as C++, and whether it may have no value.
#[derive(Clone)]
pub(super) struct Operand {
    pub(super) text: String,
    can_fail: bool,
}

impl Operand {
    pub(super) fn new(text: String, can_fail: bool) -> Operand {
        Operand { text, can_fail }
    }

    /// What an operation of a type makes of two operands, the left one first.
    pub(super) fn joined(
        &self,
        right: &Operand,
        (op, ty): (BinOp, ScalarTy),
        made: impl Fn(&str, &str) -> String,
    ) -> Operand {
        // `&&` and `||` take the left side first.
        let text = match self.can_fail & right.can_fail & !op.is_logic() {
            false => made(&self.text, &right.text),
            true => {
                let (a, b, ty) = (&self.text, &right.text, ty.c_name());
                format!(
                    "in_order(Both<{ty}>{{{a}, {b}}}, [&]({ty} a, {ty} b) {{ return {}; }})",
                    made("a", "b")
                )
            }
        };
        Operand { text, can_fail: self.can_fail | right.can_fail | can_fail(op, ty) }
    }
}

/// Whether an operation may have no result.
pub(super) fn can_fail(op: BinOp, ty: ScalarTy) -> bool {
    op.can_fail() && !ty.is_float()
}

/// Whether an expression of generators may have no value.
pub(super) fn expr_can_fail(e: &Expr) -> bool {
    e.any(&mut |e| match &e.kind {
        ExprKind::Unary(op, a) => *op == UnOp::Neg && !a.ty.is_float(),
        ExprKind::Binary(op, a, _) => can_fail(*op, a.ty),
        ExprKind::Chain(_, rest) => rest.iter().any(|(op, _)| can_fail(*op, e.ty)),
        ExprKind::Cast(a) => e.ty.is_int() && e.ty != a.ty,
        ExprKind::Const(_)
        | ExprKind::Param(_)
        | ExprKind::Local(_)
        | ExprKind::Field(..)
        | ExprKind::Select(..)
        | ExprKind::Math(..)
        | ExprKind::MaxBlocks => false,
        _ => true,
    })
}

/// Whether an expression of a workload may have no value.
pub(super) fn int_can_fail(e: &IntExpr) -> bool {
    let mut found = false;
    e.each(&mut |kind| {
        found |= match kind {
            IntExprKind::Table(..) | IntExprKind::Unary(UnOp::Neg, _) => true,
            IntExprKind::Binary(op, ..) => op.can_fail(),
            IntExprKind::Chain(_, rest) => rest.iter().any(|(op, _)| op.can_fail()),
            _ => false,
        };
    });
    found
}

/// Arguments of a call of `function`, the first ones first; `types` are theirs.
pub(super) fn call(function: &str, place: &str, args: &[(Operand, &str)]) -> String {
    let planner = format!("s.called({})", place.trim_start_matches(", "));
    let texts: Vec<&str> = args.iter().map(|(operand, _)| operand.text.as_str()).collect();
    if args.iter().filter(|(operand, _)| operand.can_fail).count() < 2 {
        let all = ["l", &planner].into_iter().chain(texts);
        return format!("{function}({})", all.collect::<Vec<_>>().join(", "));
    }
    let types: Vec<&str> = args.iter().map(|(_, ty)| *ty).collect();
    format!(
        "std::apply([&](auto... given) {{ return {function}(l, {planner}, given...); }}, std::tuple<{}>{{{}}})",
        types.join(", "),
        texts.join(", ")
    )
}
