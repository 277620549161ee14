//! Expressions of generators, of launches and of regions as C++, with the arithmetic of a plain run.

use super::names::Names;
use crate::kernels::{constant, identifier, math};
use crate::places::Places;
use std::cell::RefCell;
use wsp_core::TierSetId;
use wsp_diag::{Diagnostic, Span};
use wsp_ir::{Arg, ArrayRef, BinOp, Expr, ExprKind, Function, LaunchArray, Module, ScalarTy, UnOp};
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
    fn joined(&self, op: BinOp, ty: ScalarTy, (a, b): (&str, &str), span: Span) -> String {
        binary(op, ty, a, b, &if can_fail(op, ty) { self.place(span) } else { String::new() })
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
            ExprKind::Binary(op, a, b) => self.joined(*op, a.ty, (&self.expr(a), &self.expr(b)), e.span),
            ExprKind::Chain(first, rest) => rest.iter().fold(self.expr(first), |text, (op, b)| {
                self.joined(*op, e.ty, (&text, &self.expr(b)), first.span.to(b.span))
            }),
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
                    Arg::Scalar(e) => self.expr(e),
                    Arg::Array(array) => self.array(*array),
                });
                let given: Vec<String> = ["l".to_owned(), "s".to_owned()].into_iter().chain(given).collect();
                format!("{}({})", self.names.function(*function), given.join(", "))
            }
            ExprKind::SelectTier(set, value) => {
                self.needs.borrow_mut().tiers.insert(*set);
                let place =
                    self.needs.borrow_mut().places.place(e.span).unwrap_or_else(|| "nullptr".to_owned());
                format!("{}(l, s, {}, {place})", self.names.tiers(*set), self.expr(value))
            }
            ExprKind::AllocWs(slot) => {
                self.needs.borrow_mut().tiers.insert(slot.tiers);
                let key: Vec<String> = slot.key.iter().map(|e| self.expr(e)).collect();
                let place =
                    self.needs.borrow_mut().places.place(e.span).unwrap_or_else(|| "nullptr".to_owned());
                let tier = self.expr(&slot.tier);
                let bytes = format!("{}_bytes(l, s, {tier}, {place})", self.names.tiers(slot.tiers));
                format!(
                    "s.alloc_ws({}, {{{}}}, {bytes}, {}, {}, {place})",
                    slot.tiers.0,
                    key.join(", "),
                    self.expr(&slot.count),
                    self.expr(&slot.index)
                )
            }
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

/// Whether an operation may have no result.
pub(super) fn can_fail(op: BinOp, ty: ScalarTy) -> bool {
    use BinOp::{Add, CeilDiv, Div, Mul, Rem, Shl, Shr, Sub};
    matches!(op, Add | Sub | Mul | Div | Rem | CeilDiv | Shl | Shr) && !ty.is_float()
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
