//! Scalar expressions.

use super::Sema;
use super::body::{Binding, Body};
use super::builtins;
use super::codes;
use super::convert::{common_type, constant};
use super::diags::{Reported, Res};
use super::names::{Named, Symbol, quoted, with_suggestion};
use super::types::{Head, dtype_of};
use crate::ast::{self, ExprKind, IntLit, UnaryOp};
use wsp_core::words::counted;
use wsp_core::{LocalId, StructId};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::{BinOp, Const, Expr, ExprKind as Ir, ScalarTy};

/// The type C gives an integer literal, in decimal: the first of `int`, 64-bit and unsigned 64-bit that holds it.
fn literal(lit: IntLit, span: Span) -> Expr {
    let ty = if lit.unsigned {
        if lit.long || lit.value > u64::from(u32::MAX) { ScalarTy::U64 } else { ScalarTy::U32 }
    } else if lit.value > i64::MAX as u64 {
        ScalarTy::U64
    } else if lit.long || lit.value > i32::MAX as u64 {
        ScalarTy::I64
    } else {
        ScalarTy::I32
    };
    constant(Const::Int(lit.value.into()), ty, span)
}

impl Sema<'_> {
    /// The value of an expression that must be a number.
    pub(crate) fn scalar(&mut self, b: &mut Body, e: &ast::Expr) -> Res<Expr> {
        self.enter(e.span)?;
        let value = self.scalar_form(b, e);
        self.leave();
        value.map(|mut value| {
            value.span = e.span;
            value
        })
    }

    /// The value of an expression, converted to `ty`.
    pub(crate) fn scalar_as(&mut self, b: &mut Body, e: &ast::Expr, ty: ScalarTy) -> Res<Expr> {
        let value = self.scalar(b, e)?;
        self.convert(value, ty)
    }

    /// The value of a condition.
    pub(crate) fn condition(&mut self, b: &mut Body, e: &ast::Expr) -> Res<Expr> {
        let value = self.scalar(b, e)?;
        self.truth(value)
    }

    fn scalar_form(&mut self, b: &mut Body, e: &ast::Expr) -> Res<Expr> {
        match &e.kind {
            ExprKind::Int(lit) => Ok(literal(*lit, e.span)),
            ExprKind::Float(lit) => {
                let ty = if lit.single { ScalarTy::F32 } else { ScalarTy::F64 };
                Ok(constant(Const::Float(lit.value), ty, e.span))
            }
            ExprKind::Bool(v) => Ok(constant(Const::Bool(*v), ScalarTy::Bool, e.span)),
            ExprKind::Name(name) => self.scalar_name(b, name, e.span),
            ExprKind::Unary(op, operand) => self.unary(b, *op, operand, e.span),
            ExprKind::Binary(op, left, right) => {
                let left = self.scalar(b, left);
                // Both sides are looked at, so that both can be wrong.
                let right = match op {
                    BinOp::And => self.evaluated_if(&left, true, |cx| cx.scalar(b, right)),
                    BinOp::Or => self.evaluated_if(&left, false, |cx| cx.scalar(b, right)),
                    _ => self.scalar(b, right),
                };
                let (right, left) = (right?, left?);
                match op {
                    BinOp::And | BinOp::Or => self.logic(*op, left, right, e.span),
                    _ => self.arithmetic(*op, left, right, op.sign(), e.span),
                }
            }
            ExprKind::Chain(first, rest) => {
                let mut left = self.scalar(b, first);
                for (op, operand) in rest {
                    let right = self.scalar(b, operand);
                    let span = first.span.to(operand.span);
                    left = match (left, right) {
                        (Ok(left), Ok(right)) => self.arithmetic(*op, left, right, op.sign(), span),
                        (Err(reported), _) | (_, Err(reported)) => Err(reported),
                    };
                }
                left
            }
            ExprKind::Ternary(cond, yes, no) => self.ternary(b, cond, yes, no, e.span),
            ExprKind::Cast { ty, expr } => {
                let ty = self.scalar_type(ty)?;
                self.scalar_as(b, expr, ty)
            }
            ExprKind::Call { callee, template_args, args } => {
                self.call_value(b, callee, template_args, args, e.span)
            }
            ExprKind::Index { base, index } => self.element(b, base, index, e.span),
            ExprKind::Member { base, field } => self.member(b, base, field, e.span),
            ExprKind::SizeOf(ty) => self.size_of(ty, e.span),
            ExprKind::Braces(_) | ExprKind::Init { .. } => {
                Err(self.mismatch(e.span, "a list", "a number", None))
            }
        }
    }

    fn scalar_name(&mut self, b: &mut Body, name: &str, span: Span) -> Res<Expr> {
        match b.find(name) {
            Some(Binding::Scalar { known: Some(known), .. }) if b.expand => Ok((**known).clone()),
            Some(Binding::Scalar { local, ty, .. }) => Ok(Expr::local(*local, *ty, span)),
            Some(Binding::Literal(value)) => Ok(value.clone()),
            Some(Binding::Selector) => Ok(Expr::new(Ir::Selector, ScalarTy::U32, span)),
            Some(Binding::Poison) => Err(Reported::earlier(&self.diags)),
            Some(Binding::Array(..)) => {
                let help = format!("take an element: `{name}[i]`");
                Err(self.mismatch(span, &format!("`{name}`, an array,"), "a number", Some(help)))
            }
            Some(Binding::Tile(_)) => {
                Err(self.mismatch(span, &format!("`{name}`, a tile,"), "a number", None))
            }
            Some(Binding::Descriptor(..)) => {
                let help = format!("take a field: `{name}.field`");
                Err(self.mismatch(span, &format!("`{name}`, a descriptor,"), "a number", Some(help)))
            }
            None => match self.lookup(name) {
                Some(Named { symbol: Symbol::Global(index), .. }) => self.global(index, span),
                Some(Named { symbol: Symbol::Poison, .. }) => Err(Reported::earlier(&self.diags)),
                Some(named) => {
                    let ident = ast::Ident { name: name.into(), span };
                    Err(self.wrong_kind(&ident, named, "a number"))
                }
                None if name == "PTO_SLOT_BYTES" => self.slot_distance(b, span),
                None => match builtins::find_constant(name) {
                    Some((value, ty)) => Ok(constant(value, ty, span)),
                    None => Err(self.unknown_value(b, name, span)),
                },
            },
        }
    }

    fn unary(&mut self, b: &mut Body, op: UnaryOp, operand: &ast::Expr, span: Span) -> Res<Expr> {
        match op {
            UnaryOp::Deref => return self.dereferenced(b, operand, span),
            UnaryOp::Not => {
                let value = self.scalar(b, operand)?;
                return self.not(value, span);
            }
            UnaryOp::Neg | UnaryOp::Plus | UnaryOp::BitNot => {}
        }
        let value = self.scalar(b, operand)?;
        match op {
            UnaryOp::Neg => self.negate(value, span),
            UnaryOp::BitNot => self.invert(value, span),
            _ => self.promote(value),
        }
    }

    fn ternary(
        &mut self,
        b: &mut Body,
        cond: &ast::Expr,
        yes: &ast::Expr,
        no: &ast::Expr,
        span: Span,
    ) -> Res<Expr> {
        let cond = self.condition(b, cond);
        let yes = self.evaluated_if(&cond, true, |cx| cx.scalar(b, yes));
        let no = self.evaluated_if(&cond, false, |cx| cx.scalar(b, no));
        let (yes, no) = (yes?, no?);
        let ty = if yes.ty == no.ty {
            yes.ty
        } else {
            let (a, b) = (self.promote(yes.clone())?, self.promote(no.clone())?);
            common_type(a.ty, b.ty)
        };
        let yes = self.evaluated_if(&cond, true, |cx| cx.convert(yes, ty))?;
        let no = self.evaluated_if(&cond, false, |cx| cx.convert(no, ty))?;
        let cond = cond?;
        Ok(match cond.kind {
            Ir::Const(Const::Bool(true)) => yes,
            Ir::Const(Const::Bool(false)) => no,
            _ => Expr::new(Ir::Select(Box::new(cond), Box::new(yes), Box::new(no)), ty, span),
        })
    }

    fn element(&mut self, b: &mut Body, base: &ast::Expr, index: &ast::Expr, span: Span) -> Res<Expr> {
        if let ExprKind::Member { base: of, field } = &base.kind
            && let Some((local, ty)) = self.descriptor_of(b, of)?
        {
            return self.array_field(b, local, ty, field, index, span);
        }
        let (array, ty) = self.array(b, base)?;
        let index = self.scalar_as(b, index, ScalarTy::U32)?;
        Ok(Expr::new(Ir::Load(array, Box::new(index)), ty, span))
    }

    /// The descriptor that an expression names, if it names one.
    pub(crate) fn descriptor_of(&mut self, b: &Body, e: &ast::Expr) -> Res<Option<(LocalId, StructId)>> {
        let ExprKind::Name(name) = &e.kind else { return Ok(None) };
        match b.find(name) {
            Some(Binding::Descriptor(local, ty)) => Ok(Some((*local, *ty))),
            Some(Binding::Poison) => Err(Reported::earlier(&self.diags)),
            _ => Ok(None),
        }
    }

    fn array_field(
        &mut self,
        b: &mut Body,
        local: LocalId,
        ty: StructId,
        field: &ast::Ident,
        index: &ast::Expr,
        span: Span,
    ) -> Res<Expr> {
        let (word, len) = self.field_of(ty, field)?;
        let name = field.as_str();
        let Some(len) = len else {
            return Err(self.mismatch(
                field.span,
                &format!("`{name}`, a single field,"),
                "an array field",
                None,
            ));
        };
        let at = self.launch_value(b, index, ScalarTy::U32, "the index of a descriptor field")?;
        match at.as_const_int().and_then(|v| u32::try_from(v).ok()) {
            Some(at) if at < len => Ok(Expr::new(Ir::Field(local, word + at), ScalarTy::U32, span)),
            Some(at) => Err(self.fail(
                Diagnostic::error(
                    codes::BAD_ARGUMENT,
                    format!("index {at} of field `{name}` is out of range"),
                )
                .at(index.span, format!("`{name}` has {len}", len = counted(len, "element"))),
            )),
            None => Err(self.fail(
                Diagnostic::error(
                    codes::NOT_LAUNCH_KNOWN,
                    "the index of a descriptor field must be a literal",
                )
                .at(index.span, "known only at launch"),
            )),
        }
    }

    fn member(&mut self, b: &mut Body, base: &ast::Expr, field: &ast::Ident, span: Span) -> Res<Expr> {
        let Some((local, ty)) = self.descriptor_of(b, base)? else {
            return Err(self.member_of_other(base, field, span));
        };
        let (word, len) = self.field_of(ty, field)?;
        match len {
            None => Ok(Expr::new(Ir::Field(local, word), ScalarTy::U32, span)),
            Some(_) => {
                let name = field.as_str();
                let help = format!("take an element: `.{name}[0]`");
                Err(self.mismatch(field.span, &format!("`{name}`, an array field,"), "a number", Some(help)))
            }
        }
    }

    fn member_of_other(&mut self, base: &ast::Expr, field: &ast::Ident, span: Span) -> Reported {
        if let Some(ident) = base.as_name() {
            match self.lookup(ident.as_str()) {
                Some(Named { symbol: Symbol::Cache(_), .. }) => {
                    return self.mismatch(span, "part of a cache", "a number", None);
                }
                Some(Named { symbol: Symbol::Poison, .. }) => return Reported::earlier(&self.diags),
                _ => {}
            }
        }
        let message = format!("no `.{}` here: this is no descriptor", field.as_str());
        self.fail(
            Diagnostic::error(codes::TYPE_MISMATCH, message)
                .at(base.span, "has no fields")
                .help("descriptors come from `PTO_GET_DESCRIPTOR<T>()`"),
        )
    }

    /// First word and array length of a field.
    pub(crate) fn field_of(&mut self, of: StructId, field: &ast::Ident) -> Res<(u32, Option<u32>)> {
        let info = &self.structs[of.index()];
        if let Some(found) = info.field(field.as_str()) {
            return Ok((found.word, found.len));
        }
        if info.broken {
            return Err(Reported::earlier(&self.diags));
        }
        let names: Vec<&str> = info.fields.iter().map(|f| &*f.name).collect();
        let near = self.suggest(field.as_str(), names.iter().copied());
        let message = format!("`{}` has no field `{}`", info.decl.name.as_str(), field.as_str());
        let d = Diagnostic::error(codes::UNKNOWN_FIELD, message)
            .at(field.span, "unknown field")
            .label(info.decl.name.span, "the descriptor")
            .note(format!("its fields: {}", quoted(&names)));
        Err(self.fail(with_suggestion(d, near)))
    }

    fn size_of(&mut self, ty: &ast::Type, span: Span) -> Res<Expr> {
        let bytes = match self.head(ty)? {
            _ if ty.indirection == ast::Indirection::Pointer => 8,
            Head::Struct(id) => self.module.structs[id.index()].fields.len() * 4,
            Head::Element(dtype) => dtype.size(),
            Head::Scalar(ScalarTy::Bool) => 1,
            Head::Scalar(scalar) => dtype_of(scalar).size(),
            _ => {
                return Err(self.not_allowed(
                    ty.span,
                    "this type has no fixed size",
                    "numbers and descriptors have one",
                ));
            }
        };
        Ok(constant(Const::Int(bytes as i128), ScalarTy::U64, span))
    }

    /// Reports a value of another kind than needed.
    pub(crate) fn mismatch(
        &mut self,
        span: Span,
        found: &str,
        needed: &str,
        help: Option<String>,
    ) -> Reported {
        let message = format!("{found} stands where {needed} is needed").replace(",  stands", ", stands");
        let d = Diagnostic::error(codes::TYPE_MISMATCH, message).at(span, format!("{needed} is needed here"));
        self.fail(match help {
            Some(help) => d.help(help),
            None => d,
        })
    }
}
