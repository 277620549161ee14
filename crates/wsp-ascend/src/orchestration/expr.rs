//! Expressions of generators, of launches and of regions as C++, with the arithmetic of a plain run.

use super::names::Names;
use super::order::{Operand, call, can_fail, expr_can_fail};
use crate::kernels::{constant, identifier, math};
use crate::places::Places;
use std::cell::RefCell;
use wsp_core::TierSetId;
use wsp_diag::{Diagnostic, Span};
use wsp_ir::{Arg, ArrayRef, BinOp, Expr, ExprKind, Function, LaunchArray, Module, ScalarTy, UnOp, WsSlot};
use wsp_ordered::OrderedSet;

/// What an expression may name beside parameters.
#[derive(Clone, Copy)]
pub(super) enum Scope<'a> {
    /// Parameters alone.
    Launch,
    /// The words of a descriptor, `f[n]`.
    Descriptor,
    /// The variables of a generator or a helper.
    Body(&'a Function),
    /// The indices of a condition of tiers, `selector`.
    Tiers,
}

/// Prints expressions, and gathers what they need.
pub(super) struct Printer<'a> {
    pub(super) module: &'a Module,
    pub(super) names: &'a Names,
    pub(super) scope: Scope<'a>,
    pub(super) needs: &'a RefCell<Needs>,
}

/// Functions that printed expressions call.
#[derive(Default)]
pub(super) struct Needs {
    pub(super) helpers: OrderedSet<wsp_core::FuncId>,
    pub(super) tiers: OrderedSet<TierSetId>,
    pub(super) found: Vec<Diagnostic>,
    pub(super) places: Places,
}

impl Printer<'_> {
    /// A place of the source, as the last argument of what may fail there; of regions none, which are not bounded then.
    pub(super) fn place(&self, span: Span) -> String {
        match self.scope {
            Scope::Descriptor => String::new(),
            Scope::Launch | Scope::Body(_) | Scope::Tiers => self.needs.borrow_mut().places.argument(span),
        }
    }

    /// An operation on two operands of a type.
    fn joined(&self, op: BinOp, ty: ScalarTy, [a, b]: [&Operand; 2], span: Span) -> Operand {
        let place = if can_fail(op, ty) { self.place(span) } else { String::new() };
        a.joined(b, (op, ty), |a, b| binary(op, ty, a, b, &place))
    }

    /// An operand. In regions nothing fails: what has no value bounds nothing.
    fn operand(&self, e: &Expr) -> Operand {
        Operand::new(self.expr(e), !matches!(self.scope, Scope::Descriptor) && expr_can_fail(e))
    }

    /// An expression.
    pub(super) fn expr(&self, e: &Expr) -> String {
        let ty = e.ty.c_name();
        let here = || self.place(e.span);
        match &e.kind {
            ExprKind::Const(value) => constant(*value, e.ty),
            ExprKind::Param(id) => format!("l.{}", self.names.param(*id)),
            ExprKind::Local(local) => self.names.local(*local),
            ExprKind::Field(_, at) => format!("f[{at}]"),
            ExprKind::Selector => format!("s.template cast<{ty}>(selector{})", here()),
            ExprKind::Unary(UnOp::Not, a) => format!("(!{})", self.expr(a)),
            ExprKind::Unary(UnOp::Neg, a) => format!("s.template neg<{ty}>({}{})", self.expr(a), here()),
            ExprKind::Binary(op, a, b) => {
                self.joined(*op, a.ty, [&self.operand(a), &self.operand(b)], e.span).text
            }
            ExprKind::Chain(first, rest) => {
                let join = |a: Operand, (op, b): &(BinOp, Expr)| {
                    self.joined(*op, e.ty, [&a, &self.operand(b)], first.span.to(b.span))
                };
                rest.iter().fold(self.operand(first), join).text
            }
            ExprKind::Cast(a) => format!("s.template cast<{ty}>({}{})", self.expr(a), here()),
            ExprKind::Select(cond, a, b) => {
                format!("({} ? {} : {})", self.expr(cond), self.expr(a), self.expr(b))
            }
            ExprKind::Math(f, a) => format!("std::{}({})", math(*f), self.expr(a)),
            ExprKind::Load(array, at) => {
                let at = format!("static_cast<std::uint64_t>({})", self.expr(at));
                format!("s.template load<{ty}>({}, {at}{})", self.array(*array), here())
            }
            ExprKind::ArrayMax(array, n) => {
                let n = format!("static_cast<std::uint64_t>({})", self.expr(n));
                format!("s.template array_max<{ty}>({}, {n}{})", self.array(*array), here())
            }
            ExprKind::ArraySum(array, n) => {
                let n = format!("static_cast<std::uint64_t>({})", self.expr(n));
                format!("s.array_sum({}, {n}{})", self.array(*array), here())
            }
            ExprKind::ArrayLen(array) => {
                format!("s.template cast<{ty}>({}.length{})", self.array(*array), here())
            }
            ExprKind::Call(function, args) => {
                self.needs.borrow_mut().helpers.insert(*function);
                let given = args.iter().map(|arg| match arg {
                    Arg::Scalar(e) => (self.operand(e), e.ty.c_name()),
                    Arg::Array(array) => (Operand::new(self.array(*array), false), "IntArray"),
                });
                call(self.names.function(*function), &here(), &given.collect::<Vec<_>>())
            }
            ExprKind::SelectTier(set, value) => {
                self.needs.borrow_mut().tiers.insert(*set);
                let place =
                    self.needs.borrow_mut().places.place(e.span).unwrap_or_else(|| "nullptr".to_owned());
                format!("{}(l, s, {}, {place})", self.names.tiers(*set), self.expr(value))
            }
            ExprKind::AllocWs(slot) => self.alloc(slot, e.span),
            ExprKind::MaxBlocks => "s.max_blocks()".to_owned(),
            ExprKind::AxisExtent(axis) => format!("s.axis_extent({}{})", axis.0, here()),
            ExprKind::AxisTile(axis) => {
                let lengths = match self.module.caches.as_slice() {
                    [_] => format!("&l.{}.lengths", self.names.cache(wsp_core::CacheId(0))),
                    _ => "nullptr".to_owned(),
                };
                format!("s.axis_tile({}, {lengths}{})", axis.0, here())
            }
            ExprKind::ItemBegin(_)
            | ExprKind::ItemEnd(_)
            | ExprKind::ItemCount(_)
            | ExprKind::TileMax(_)
            | ExprKind::TileSum(_)
            | ExprKind::TileRows(_)
            | ExprKind::TileCols(_)
            | ExprKind::LoadScalar(..) => self.lacks(e),
        }
    }

    /// A slot of workspace: the tier and what the slot is of are computed one after the other.
    fn alloc(&self, slot: &WsSlot, span: Span) -> String {
        self.needs.borrow_mut().tiers.insert(slot.tiers);
        let place = self.needs.borrow_mut().places.place(span).unwrap_or_else(|| "nullptr".to_owned());
        let words = [&slot.tier, &slot.count, &slot.index].into_iter().chain(&slot.key);
        let words: Vec<String> = words.map(|e| self.expr(e)).collect();
        let (tiers, bytes) =
            (slot.tiers.0, format!("{}_bytes(l, s, of[0], {place})", self.names.tiers(slot.tiers)));
        format!(
            "[&] {{ const std::uint32_t of[] = {{{}}}; return s.alloc_ws({tiers}, of + 3, {}, {bytes}, of[1], of[2], {place}); }}()",
            words.join(", "),
            slot.key.len()
        )
    }

    /// An array.
    pub(super) fn array(&self, array: ArrayRef) -> String {
        match array {
            ArrayRef::Local(local) => self.names.local(local),
            ArrayRef::Tensor(id) => self.launch_array(LaunchArray::Tensor(id)),
            ArrayRef::Meta(id, kind) => self.launch_array(LaunchArray::Meta(id, kind)),
            ArrayRef::Derived(of) => format!("l.{}", self.names.derived(&of)),
        }
    }

    /// An array of a launch.
    pub(super) fn launch_array(&self, array: LaunchArray) -> String {
        match array {
            LaunchArray::Tensor(id) => format!("l.{}", self.names.integers(id)),
            LaunchArray::Meta(id, kind) => {
                format!("l.{}.{}", self.names.cache(id), super::names::table(kind))
            }
        }
    }

    fn lacks(&self, e: &Expr) -> String {
        let scope = match self.scope {
            Scope::Launch => "a launch",
            Scope::Descriptor => "a region",
            Scope::Body(function) => &format!("`{}`", identifier(&function.name)),
            Scope::Tiers => "a condition of tiers",
        };
        let fault = Diagnostic::error(
            crate::kernels::codes::NOT_EMITTED,
            format!("an expression over tiles in {scope} is not emitted"),
        );
        self.needs.borrow_mut().found.push(fault.at(e.span, ""));
        "0".to_owned()
    }
}

/// Two operands of a type, with the place that is the last argument of what may fail.
pub(super) fn binary(op: BinOp, ty: ScalarTy, a: &str, b: &str, place: &str) -> String {
    let name = match op {
        BinOp::Add => "add",
        BinOp::Sub => "sub",
        BinOp::Mul => "mul",
        BinOp::Div => "div",
        BinOp::Rem => "rem",
        BinOp::CeilDiv => "ceil_div",
        BinOp::Min => "min",
        BinOp::Max => "max",
        BinOp::Shl => "shl",
        BinOp::Shr => "shr",
        _ => return format!("({a} {} {b})", op.sign()),
    };
    format!("s.template {name}<{}>({a}, {b}{place})", ty.c_name())
}
