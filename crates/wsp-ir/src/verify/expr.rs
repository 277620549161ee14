//! Expressions: what may stand where, and the types of operands and results.

use super::{Checker, rule};
use crate::text::{binary_word, literal_word, unary_word};
use crate::{
    Arg, ArrayRef, BinOp, Const, Consumer, Elem, Entry, Expr, ExprKind, FuncKind, LaunchTarget, LocalTy,
    ScalarTy, Tensor, UnOp, WsSlot,
};
use wsp_core::words::counted;
use wsp_core::{AxisId, FuncId, LocalId, TensorId, TierSetId};
use wsp_diag::{Code, Span};

/// Where an expression stands, which decides what it may name.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum ExprPlace {
    /// Evaluated at launch, over the first `params` parameters.
    Launch {
        /// How many parameters are known.
        params: usize,
    },
    /// The condition of a tier.
    TierCondition,
    /// A constraint of a space with this many axes.
    Constraint {
        /// How many axes.
        axes: usize,
    },
    /// The body of the current function.
    Body,
}

impl<'m> Checker<'m> {
    /// Checks an expression and everything in it.
    pub(super) fn expr(&mut self, expr: &'m Expr, scope: ExprPlace) {
        if !self.may_stand(expr, scope) {
            return;
        }
        self.node(expr, scope);
        if let ExprKind::AllocWs(slot) = &expr.kind {
            let WsSlot { tiers: _, tier, key, count, index } = slot.as_ref();
            key.iter().chain([tier, index]).for_each(|e| self.expr(e, scope));
            // The number of slots of a dynamic axis is written as its extent until schedule lowering knows it.
            match &count.kind {
                ExprKind::AxisExtent(axis) => {
                    self.lookup(&self.module.axes, axis.index(), "axis", count.span);
                }
                _ => self.expr(count, scope),
            }
        } else {
            expr.for_each_child(&mut |child| self.expr(child, scope));
        }
    }

    /// Checks an expression that must be a truth value.
    pub(super) fn condition(&mut self, expr: &'m Expr, scope: ExprPlace) {
        self.expr(expr, scope);
        self.require(expr.ty == ScalarTy::Bool, rule::CONDITION, expr.span, || {
            format!("a condition must be `bool`, not `{}`", expr.ty.name())
        });
    }

    /// Checks an expression of the current function that must have a type.
    pub(super) fn typed(&mut self, expr: &'m Expr, ty: ScalarTy, code: Code, what: &str) {
        self.expr(expr, ExprPlace::Body);
        self.require(expr.ty == ty, code, expr.span, || {
            format!("{what} must be `{}`, not `{}`", ty.name(), expr.ty.name())
        });
    }

    /// Whether this form of expression is allowed here; reports when not.
    fn may_stand(&mut self, expr: &Expr, scope: ExprPlace) -> bool {
        let kind = self.function.map(|f| f.kind);
        let fault = match &expr.kind {
            ExprKind::Const(_)
            | ExprKind::Param(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Chain(..)
            | ExprKind::Cast(_)
            | ExprKind::Select(..)
            | ExprKind::Math(..) => None,
            ExprKind::Selector => {
                (scope != ExprPlace::TierCondition).then_some((rule::SELECTOR, "tier conditions"))
            }
            ExprKind::Local(_) => match scope {
                ExprPlace::Body | ExprPlace::Constraint { .. } => None,
                ExprPlace::Launch { .. } | ExprPlace::TierCondition => {
                    Some((rule::NOT_AT_LAUNCH, "functions"))
                }
            },
            _ if scope != ExprPlace::Body => Some((rule::NOT_AT_LAUNCH, "functions")),
            ExprKind::Field(..)
            | ExprKind::TileMax(_)
            | ExprKind::TileSum(_)
            | ExprKind::TileRows(_)
            | ExprKind::TileCols(_)
            | ExprKind::LoadScalar(..) => {
                let kernel = matches!(kind, Some(FuncKind::Kernel { .. }));
                (!kernel).then_some((rule::KERNEL_ONLY, "kernels"))
            }
            ExprKind::AllocWs(_) | ExprKind::ItemBegin(_) | ExprKind::ItemEnd(_) | ExprKind::ItemCount(_) => {
                let generator = matches!(kind, Some(FuncKind::Generator { .. }));
                (!generator).then_some((rule::GENERATOR_ONLY, "generators"))
            }
            ExprKind::Load(..)
            | ExprKind::ArrayMax(..)
            | ExprKind::ArraySum(..)
            | ExprKind::ArrayLen(_)
            | ExprKind::Call(..)
            | ExprKind::SelectTier(..)
            | ExprKind::MaxBlocks
            | ExprKind::AxisExtent(_)
            | ExprKind::AxisTile(_) => None,
        };
        if let Some((code, place)) = fault {
            let head = crate::text::expr_head(&expr.kind);
            self.report(code, expr.span, format!("`{head}` stands in {place} only"));
        }
        fault.is_none()
    }

    /// The rule of one node; its operands are checked apart.
    fn node(&mut self, expr: &'m Expr, scope: ExprPlace) {
        let span = expr.span;
        match &expr.kind {
            ExprKind::Const(value) => self.literal(*value, expr.ty, span),
            ExprKind::Param(id) => self.param(id.index(), expr, scope),
            ExprKind::Local(id) => self.local_value(*id, expr, scope),
            ExprKind::Selector => {}
            ExprKind::Unary(op, a) => self.unary(*op, a, expr),
            ExprKind::Binary(op, a, b) => self.binary(*op, a, b, expr),
            ExprKind::Chain(first, rest) => {
                let is_one = rest.iter().all(|(op, _)| rest[0].0.goes_on_from(*op));
                self.require(is_one && !rest.is_empty(), rule::OPERAND, span, || {
                    "a chain has operators of a sum, or of a product, and at least one".into()
                });
                rest.iter().for_each(|(op, operand)| self.binary(*op, first, operand, expr));
            }
            ExprKind::Cast(a) => {
                let legal = expr.ty != ScalarTy::Bool || a.ty == ScalarTy::Bool;
                self.require(legal, rule::OPERAND, span, || {
                    format!("`{}` does not convert to `bool`; compare it", a.ty.name())
                });
            }
            ExprKind::Select(c, a, b) => {
                self.require(c.ty == ScalarTy::Bool, rule::CONDITION, c.span, || {
                    format!("a condition must be `bool`, not `{}`", c.ty.name())
                });
                self.same(a.ty, b.ty, span);
                self.yields(expr, a.ty);
            }
            ExprKind::Math(_, a) => {
                self.require(a.ty.is_float(), rule::OPERAND, span, || {
                    format!("the operand must be a float, not `{}`", a.ty.name())
                });
                self.yields(expr, a.ty);
            }
            ExprKind::Load(array, index) => {
                self.int(index, "an array index");
                if let Some(elem) = self.array(*array, span) {
                    self.yields(expr, elem);
                }
            }
            ExprKind::ArrayMax(array, n) => {
                self.int(n, "a number of elements");
                if let Some(elem) = self.array(*array, span) {
                    self.yields(expr, elem);
                }
            }
            ExprKind::ArraySum(array, n) => {
                self.int(n, "a number of elements");
                self.array(*array, span);
                self.yields(expr, ScalarTy::U64);
            }
            ExprKind::ArrayLen(array) => {
                self.array(*array, span);
                self.yields(expr, ScalarTy::U32);
            }
            ExprKind::Call(callee, args) => self.call(*callee, args, expr),
            ExprKind::SelectTier(set, value) => self.select_tier(*set, value, expr),
            ExprKind::AllocWs(slot) => {
                self.lookup(&self.module.tier_sets, slot.tiers.index(), "tier set", span);
                let WsSlot { tiers: _, tier, key, count, index } = slot.as_ref();
                key.iter()
                    .chain([tier, count, index])
                    .for_each(|e| self.int(e, "a part of a workspace slot"));
                self.yields(expr, ScalarTy::U32);
            }
            _ => self.runtime_value(expr),
        }
    }

    /// Descriptor fields, sizes and single elements: all have a fixed type.
    fn runtime_value(&mut self, expr: &'m Expr) {
        let span = expr.span;
        match &expr.kind {
            ExprKind::Field(local, field) => {
                self.field(*local, *field, span);
                self.yields(expr, ScalarTy::U32);
            }
            ExprKind::AxisExtent(axis) => {
                self.axis(
                    *axis,
                    span,
                    |a| matches!(a.end, crate::AxisEnd::Expr(_)),
                    "has no extent known at launch",
                );
                self.yields(expr, ScalarTy::U32);
            }
            ExprKind::AxisTile(axis) => {
                self.axis(*axis, span, |a| a.tile.is_some(), "is not tiled");
                self.yields(expr, ScalarTy::U32);
            }
            ExprKind::ItemBegin(axis) | ExprKind::ItemEnd(axis) | ExprKind::ItemCount(axis) => {
                self.own_axis(*axis, span);
                self.axis(*axis, span, |_| true, "");
                let inside = self.in_items;
                self.require(inside, rule::AXIS, span, || {
                    "an item is there in `PTO_SCHEDULED_FOR` only".into()
                });
                self.yields(expr, ScalarTy::U32);
            }
            ExprKind::TileMax(tile) | ExprKind::TileSum(tile) => {
                let ty = self.tile(*tile, span);
                let rows = ty.and_then(|ty| ty.rows.as_const_int()).unwrap_or(1);
                self.require(rows == 1, rule::TILE, span, || {
                    format!("the tile must have one row and has {rows}")
                });
                self.yields(expr, ty.map_or(ScalarTy::F32, |ty| ty.elem.operand()));
            }
            ExprKind::TileRows(tile) | ExprKind::TileCols(tile) => {
                self.tile(*tile, span);
                self.yields(expr, ScalarTy::U32);
            }
            ExprKind::LoadScalar(tensor, index) => {
                if let Some(elem) = self.element(*tensor, index, span) {
                    self.yields(expr, elem.scalar());
                }
            }
            _ => self.yields(expr, ScalarTy::U32),
        }
    }

    fn yields(&mut self, expr: &Expr, ty: ScalarTy) {
        self.require(expr.ty == ty, rule::OPERAND, expr.span, || {
            format!("the result is `{}` and is taken for `{}`", ty.name(), expr.ty.name())
        });
    }

    fn same(&mut self, a: ScalarTy, b: ScalarTy, span: Span) {
        self.require(a == b, rule::OPERAND, span, || {
            format!("the operands have types `{}` and `{}`", a.name(), b.name())
        });
    }

    /// The value must be an integer; it is checked elsewhere.
    fn int(&mut self, expr: &Expr, what: &str) {
        self.require(expr.ty.is_int(), rule::OPERAND, expr.span, || {
            format!("{what} must be an integer, not `{}`", expr.ty.name())
        });
    }

    fn literal(&mut self, value: Const, ty: ScalarTy, span: Span) {
        let fits = match value {
            Const::Bool(_) => ty == ScalarTy::Bool,
            Const::Int(v) => match ty {
                ScalarTy::I32 => i32::try_from(v).is_ok(),
                ScalarTy::U32 => u32::try_from(v).is_ok(),
                ScalarTy::I64 => i64::try_from(v).is_ok(),
                ScalarTy::U64 => u64::try_from(v).is_ok(),
                ScalarTy::Bool | ScalarTy::F32 | ScalarTy::F64 => false,
            },
            Const::Float(v) => match ty {
                ScalarTy::F32 => v.is_nan() || f64::from(v as f32) == v,
                ScalarTy::F64 => true,
                ScalarTy::Bool | ScalarTy::I32 | ScalarTy::U32 | ScalarTy::I64 | ScalarTy::U64 => false,
            },
        };
        self.require(fits, rule::LITERAL, span, || {
            format!("`{}` is no value of `{}`", literal_word(value), ty.name())
        });
    }

    fn param(&mut self, id: usize, expr: &Expr, scope: ExprPlace) {
        let Some(param) = self.lookup(&self.module.params, id, "parameter", expr.span) else { return };
        self.yields(expr, param.ty);
        if let ExprPlace::Launch { params } = scope {
            self.require(id < params, rule::PARAM_ORDER, expr.span, || {
                format!("`{}` is not known yet where it is used", param.name)
            });
        }
    }

    fn local_value(&mut self, id: LocalId, expr: &Expr, scope: ExprPlace) {
        if let ExprPlace::Constraint { axes } = scope {
            self.require(id.index() < axes, rule::UNKNOWN_ID, expr.span, || {
                format!("axis {} does not exist; there are {axes}", id.index())
            });
            self.yields(expr, ScalarTy::U32);
        } else if let Some(ty) = self.local_ty(id, expr.span) {
            match ty {
                LocalTy::Scalar(ty) => self.yields(expr, *ty),
                LocalTy::Array(_) | LocalTy::Tile(_) | LocalTy::Descriptor(_) => {
                    self.report(rule::OPERAND, expr.span, "the variable is no scalar");
                }
            }
        }
    }

    /// The type of a variable of the current function.
    pub(super) fn local_ty(&mut self, id: LocalId, span: Span) -> Option<&'m LocalTy> {
        let locals = self.function.map_or(&[][..], |f| &f.locals);
        self.lookup(locals, id.index(), "variable", span).map(|l| &l.ty)
    }

    fn unary(&mut self, op: UnOp, a: &Expr, expr: &Expr) {
        let fits = match op {
            UnOp::Neg => a.ty != ScalarTy::Bool,
            UnOp::Not => a.ty == ScalarTy::Bool,
        };
        self.require(fits, rule::OPERAND, expr.span, || {
            format!("`{}` does not apply to `{}`", unary_word(op), a.ty.name())
        });
        self.yields(expr, a.ty);
    }

    fn binary(&mut self, op: BinOp, a: &Expr, b: &Expr, expr: &Expr) {
        self.same(a.ty, b.ty, expr.span);
        let fits = match op {
            BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Div | BinOp::Min | BinOp::Max => {
                a.ty != ScalarTy::Bool
            }
            BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge => a.ty != ScalarTy::Bool,
            BinOp::Eq | BinOp::Ne => true,
            BinOp::And | BinOp::Or => a.ty == ScalarTy::Bool,
            BinOp::Rem
            | BinOp::BitAnd
            | BinOp::BitOr
            | BinOp::BitXor
            | BinOp::Shl
            | BinOp::Shr
            | BinOp::CeilDiv => a.ty.is_int(),
        };
        self.require(fits, rule::OPERAND, expr.span, || {
            format!("`{}` does not apply to `{}`", binary_word(op), a.ty.name())
        });
        let truth = op.is_comparison() || op.is_logic();
        self.yields(expr, if truth { ScalarTy::Bool } else { a.ty });
    }

    /// The element type of an array, as expressions see it.
    pub(super) fn array(&mut self, array: ArrayRef, span: Span) -> Option<ScalarTy> {
        match array {
            ArrayRef::Local(id) => match self.local_ty(id, span)? {
                LocalTy::Array(elem) => Some(*elem),
                LocalTy::Scalar(_) | LocalTy::Tile(_) | LocalTy::Descriptor(_) => {
                    self.report(rule::ARRAY, span, "the variable is no array");
                    None
                }
            },
            ArrayRef::Tensor(id) => {
                let tensor = self.used_tensor(id, span)?;
                let elem = int_elem(tensor);
                let flat = tensor.rank() == 1;
                self.require(flat && elem.is_some(), rule::ARRAY, span, || {
                    format!("`{}` is no one-dimensional array of integers", tensor.name)
                });
                elem.filter(|_| flat)
            }
            ArrayRef::Meta(cache, _) => {
                self.lookup(&self.module.caches, cache.index(), "cache", span).map(|_| ScalarTy::U32)
            }
            ArrayRef::Derived(derived) => {
                self.array(derived.of.into(), span)?;
                if let Some(axis) = derived.last {
                    self.lookup(&self.module.axes, axis.index(), "axis", span)?;
                }
                Some(derived.kind.elem())
            }
        }
    }

    fn call(&mut self, callee: FuncId, args: &'m [Arg], expr: &Expr) {
        let span = expr.span;
        let Some(function) = self.lookup(&self.module.functions, callee.index(), "function", span) else {
            return;
        };
        let name = &function.name;
        if function.kind != FuncKind::Helper {
            self.report(rule::CALL, span, format!("`{name}` is no helper and cannot be called"));
            return;
        }
        let caller =
            self.function.and_then(|f| self.module.functions.iter().position(|g| std::ptr::eq(f, g)));
        if let Some(caller) = caller {
            self.calls.push((FuncId(caller as u32), callee, span));
        }
        if let Some(ret) = function.ret {
            self.yields(expr, ret);
        }
        let (need, have) = (function.params as usize, args.len());
        self.require(need == have, rule::CALL, span, || {
            format!("`{name}` takes {need} and is given {have}", need = counted(need, "argument"))
        });
        for (param, arg) in function.locals.iter().take(need).zip(args) {
            let given = match arg {
                Arg::Scalar(value) => Some(LocalTy::Scalar(value.ty)),
                Arg::Array(array) => self.array(*array, span).map(LocalTy::Array),
            };
            let fits = given.is_none_or(|ty| ty == param.ty);
            self.require(fits, rule::CALL, span, || {
                format!("argument `{}` of `{name}` has another type", param.name)
            });
        }
    }

    fn select_tier(&mut self, set: TierSetId, value: &Expr, expr: &Expr) {
        self.yields(expr, ScalarTy::U32);
        let numeric = value.ty != ScalarTy::Bool;
        self.require(numeric, rule::OPERAND, expr.span, || {
            "a tier is selected by a number, not by `bool`".into()
        });
        let Some(set) = self.lookup(&self.module.tier_sets, set.index(), "tier set", expr.span) else {
            return;
        };
        let mut other = None;
        for cond in set.tiers.iter().filter_map(|t| t.cond.as_ref()) {
            cond.any(&mut |e| {
                let differs = e.kind == ExprKind::Selector && e.ty != value.ty;
                other = other.or(differs.then_some(e.ty));
                differs
            });
        }
        if let Some(other) = other {
            let (want, have, name) = (other.name(), value.ty.name(), &set.name);
            self.report(
                rule::SELECTOR,
                expr.span,
                format!("`{name}` selects by `{want}` and is given `{have}`"),
            );
        }
    }

    fn field(&mut self, local: LocalId, field: u32, span: Span) {
        let Some(ty) = self.local_ty(local, span) else { return };
        let LocalTy::Descriptor(id) = ty else {
            self.report(rule::FIELD, span, "the variable is no descriptor");
            return;
        };
        let Some(def) = self.lookup(&self.module.structs, id.index(), "descriptor type", span) else {
            return;
        };
        let (name, count) = (&def.name, def.fields.len());
        self.require((field as usize) < count, rule::FIELD, span, || {
            format!("`{name}` has no field {field}; there are {count}")
        });
    }

    /// An axis with a property.
    pub(super) fn axis(&mut self, id: AxisId, span: Span, test: impl Fn(&crate::Axis) -> bool, fault: &str) {
        if let Some(axis) = self.lookup(&self.module.axes, id.index(), "axis", span) {
            self.require(test(axis), rule::AXIS, span, || format!("axis `{}` {fault}", axis.name));
        }
    }

    /// One element of a tensor, and the type of its elements; integers in entries only.
    pub(super) fn element(&mut self, id: TensorId, index: &'m [Expr], span: Span) -> Option<Elem> {
        let in_entry = self.in_entry();
        let tensor = if in_entry { self.used_tensor(id, span)? } else { self.float_tensor(id, span)? };
        self.indices(tensor, index, span);
        Some(tensor.elem)
    }

    /// A tensor that the function being checked loads from or stores to.
    pub(super) fn used_tensor(&mut self, id: TensorId, span: Span) -> Option<&'m Tensor> {
        let tensor = self.lookup(&self.module.tensors, id.index(), "tensor", span)?;
        if let Some(function) = self.function.filter(|_| !self.module.kernel_entries.is_empty()) {
            self.tensors.push((function, id, span));
        }
        Some(tensor)
    }

    /// Whether the function being checked is the kernel of an entry, or was one before its module became a program: then its descriptor has no consumer.
    fn in_entry(&self) -> bool {
        let of_blocks = self.function.is_some_and(|function| match function.kind {
            FuncKind::Kernel { descriptor: Some(id) } => {
                let def = self.module.structs.get(id.index());
                def.is_some_and(|def| def.consumer == Consumer::None)
            }
            _ => false,
        });
        let called = |entry: &Entry| entry.launch.target == LaunchTarget::Kernels;
        if of_blocks && self.module.entry.as_ref().is_some_and(called) {
            return true;
        }
        let functions = &self.module.functions;
        let is = |id: FuncId| {
            functions.get(id.index()).zip(self.function).is_some_and(|(a, b)| std::ptr::eq(a, b))
        };
        self.module.kernel_entries.iter().any(|entry| is(entry.function))
    }

    /// One `u32` per dimension; what stands in the indices is checked elsewhere.
    pub(super) fn indices(&mut self, tensor: &Tensor, index: &[Expr], span: Span) {
        let (need, have, name) = (tensor.rank(), index.len(), &tensor.name);
        self.require(need == have, rule::PLACE, span, || {
            format!("`{name}` needs {need} and has {have}", need = counted(need, "index"))
        });
        for e in index {
            self.require(e.ty == ScalarTy::U32, rule::PLACE, e.span, || {
                format!("an index must be `u32`, not `{}`", e.ty.name())
            });
        }
    }

    /// A tensor that single elements of real numbers can be moved to and from.
    fn float_tensor(&mut self, id: TensorId, span: Span) -> Option<&'m Tensor> {
        let tensor = self.used_tensor(id, span)?;
        let float = match tensor.elem {
            Elem::Fixed(dtype) => dtype.is_float(),
            Elem::Of(_) => true,
        };
        self.require(float, rule::TILE, span, || format!("`{}` does not have float elements", tensor.name));
        Some(tensor)
    }
}

/// The scalar that an element of an integer tensor is read as.
fn int_elem(tensor: &Tensor) -> Option<ScalarTy> {
    Some(tensor.elem.scalar()).filter(|ty| ty.is_int())
}
