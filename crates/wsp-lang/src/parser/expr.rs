//! Expressions.

use super::form::lookup;
use super::types::is_scalar;
use super::{Parsed, Parser, Skip};
use crate::ast::{BinOp, Expr, ExprKind, FieldInit, FloatLit, Ident, IntLit, TemplateArg, Type, UnaryOp};
use crate::codes;
use crate::number::{self, Literal};
use wsp_core::limits::MAX_NESTING;
use wsp_diag::{Diagnostic, Span};
use wsp_ir::CHAINED;
use wsp_syntax::{Operators, TERNARY, Tok, Token, infix};

/// Words that mean something in one argument only.
const ARGUMENT_WORDS: &[(&str, &str)] = &[
    ("PTO_DYNAMIC", "it is the end of a `PTO_AXIS`, or dimension 1 of the `PTO_SHAPE` of a cache"),
    ("PTO_AUTO", "it is the size in `PTO_TILE(axis, PTO_AUTO)`"),
    ("PTO_PAD_LAST", "it is the last argument of `PTO_TILE(axis, size, PTO_PAD_LAST)`"),
];

impl Operators for Parser<'_> {
    type Tree = Expr;
    type Stop = Skip;

    fn sign(&self) -> Tok {
        let tok = self.tok();
        let ends_list = self.stop_at_gt && matches!(tok, Tok::Gt | Tok::Ge | Tok::Shr);
        if ends_list { Tok::Eof } else { tok }
    }

    fn operand(&mut self) -> Parsed<Expr> {
        self.unary()
    }

    /// Where the tree on the left is high, what an operator of a sum or a product makes of it joins a chain, which has any length.
    fn binary(&mut self, left: Expr, op: BinOp, power: u8) -> Parsed<Expr> {
        self.bump();
        let height = std::mem::take(&mut self.height);
        let right = self.nested(|p| p.expr_from(power + 1))?;
        let span = left.span.to(right.span);
        let goes_on = |of: BinOp| op.goes_on_from(of);
        let (chained, kind) = match left.kind {
            ExprKind::Chain(first, mut rest) if rest.first().is_some_and(|(of, _)| goes_on(*of)) => {
                rest.push((op, right));
                (true, ExprKind::Chain(first, rest))
            }
            kind => {
                let left = Box::new(Expr { kind, ..left });
                let kind = if height >= CHAINED && goes_on(op) {
                    ExprKind::Chain(left, vec![(op, right)])
                } else {
                    ExprKind::Binary(op, left, Box::new(right))
                };
                (false, kind)
            }
        };
        self.height = self.height.max(if chained { height - 1 } else { height });
        self.node(kind, span)
    }

    fn choose(&mut self, condition: Expr) -> Parsed<Expr> {
        self.bump();
        let then = self.nested(|p| p.delimited(Self::expr))?;
        self.expect(Tok::Colon, "`:` of `?:`")?;
        let otherwise = self.nested(|p| p.expr_from(TERNARY))?;
        let span = condition.span.to(otherwise.span);
        self.node(ExprKind::Ternary(Box::new(condition), Box::new(then), Box::new(otherwise)), span)
    }
}

impl Parser<'_> {
    pub(super) fn expr(&mut self) -> Parsed<Expr> {
        self.expr_from(0)
    }

    /// An expression or a brace list.
    pub(super) fn value(&mut self) -> Parsed<Expr> {
        if self.at(Tok::LBrace) { self.tree(|p| p.nested(|p| p.braces(None))) } else { self.expr() }
    }

    /// An expression whose operators bind at least as tightly as `least`.
    fn expr_from(&mut self, least: u8) -> Parsed<Expr> {
        self.tree(|p| infix(p, least))
    }

    /// Reads an expression apart from those beside it: [`Parser::height`] is its height while it is read.
    fn tree<T>(&mut self, part: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        let height = std::mem::take(&mut self.height);
        let tree = part(self);
        self.height = self.height.max(height);
        tree
    }

    /// A node above what was read of the expression.
    fn node(&mut self, kind: ExprKind, span: Span) -> Parsed<Expr> {
        if self.height >= MAX_NESTING {
            return Err(self.expression_too_deep());
        }
        self.height += 1;
        Ok(Expr { kind, span })
    }

    fn unary(&mut self) -> Parsed<Expr> {
        let op = match self.tok() {
            Tok::Minus => UnaryOp::Neg,
            Tok::Plus => UnaryOp::Plus,
            Tok::Bang => UnaryOp::Not,
            Tok::Tilde => UnaryOp::BitNot,
            Tok::Star => UnaryOp::Deref,
            Tok::Amp | Tok::AmpAmp => return Err(self.address_of()),
            Tok::PlusPlus | Tok::MinusMinus => {
                return Err(self.operator_left_over().unwrap_or(Skip));
            }
            Tok::LParen if self.at_cast() => return self.nested(Self::cast),
            _ => return self.postfix(),
        };
        let start = self.span();
        self.bump();
        let operand = self.nested(Self::unary)?;
        let span = start.to(operand.span);
        self.node(ExprKind::Unary(op, Box::new(operand)), span)
    }

    /// Whether `(T)` stands here for a scalar `T`, and no parenthesised `T(e)`.
    fn at_cast(&self) -> bool {
        match self.word_at(1) {
            Some("const" | "PTO_DTYPE") => true,
            Some(word) => is_scalar(word) && self.peek(2).kind != Tok::LParen,
            None => false,
        }
    }

    fn cast(&mut self) -> Parsed<Expr> {
        let open = self.bump();
        let ty = self.ty()?;
        self.close(open, "`)` after the type")?;
        let expr = self.unary()?;
        let span = self.span_of(open).to(expr.span);
        self.node(ExprKind::Cast { ty: Box::new(ty), expr: Box::new(expr) }, span)
    }

    fn postfix(&mut self) -> Parsed<Expr> {
        let mut expr = self.primary()?;
        loop {
            match self.tok() {
                Tok::LBracket => {
                    let open = self.bump();
                    let index = self.nested(|p| p.delimited(Self::expr))?;
                    self.close(open, "`]` after the index")?;
                    let span = self.span_from(expr.span);
                    expr =
                        self.node(ExprKind::Index { base: Box::new(expr), index: Box::new(index) }, span)?;
                }
                // `.a = 1 .b = 2`: a comma is missing.
                Tok::Dot if self.fields_level == Some(self.open.len()) && self.peek(2).kind == Tok::Eq => {
                    return Ok(expr);
                }
                Tok::Dot => {
                    self.bump();
                    let field = self.name("the name of a field after `.`")?;
                    if self.at(Tok::LParen) {
                        // As kernels in Python write it: the call of a name that is looked for.
                        if expr.as_name().is_some_and(|name| name.as_str() == "pto") {
                            let name = format!("pto.{}", field.as_str()).into();
                            return self.call(Ident { name, span: expr.span.to(field.span) }, Vec::new());
                        }
                        return Err(self.method_call(field.span));
                    }
                    let span = expr.span.to(field.span);
                    expr = self.node(ExprKind::Member { base: Box::new(expr), field }, span)?;
                }
                Tok::LParen => {
                    let diagnostic = Diagnostic::error(codes::METHOD, "only functions can be called")
                        .at(expr.span, "not the name of a function");
                    return Err(self.report(diagnostic));
                }
                _ => return Ok(expr),
            }
        }
    }

    fn method_call(&mut self, method: Span) -> Skip {
        let diagnostic = Diagnostic::error(codes::METHOD, "there are no methods")
            .at(method, "called like a method")
            .help("call a function: `f(x)` instead of `x.f()`");
        self.report(diagnostic)
    }

    fn primary(&mut self) -> Parsed<Expr> {
        let start = self.span();
        match self.tok() {
            Tok::Number => Ok(self.number()),
            Tok::Ident => self.word_expr(),
            Tok::LParen => {
                let open = self.bump();
                let mut expr = self.nested(|p| p.delimited(Self::expr))?;
                self.close(open, "an operator or `)`")?;
                expr.span = self.span_from(start);
                Ok(expr)
            }
            Tok::LBracket => Err(self.lambda()),
            Tok::LBrace => {
                let diagnostic = Diagnostic::error(codes::EXPECTED_EXPRESSION, "expected an expression")
                    .at(start, "a `{…}` list")
                    .help("lists stand as arguments and first values only");
                Err(self.report(diagnostic))
            }
            _ => Err(self.unexpected(codes::EXPECTED_EXPRESSION, "an expression")),
        }
    }

    fn number(&mut self) -> Expr {
        let token = self.bump();
        // A literal that has no value is reported by the lexer; 0 stands in for it.
        let kind = match number::decode(self.text_of(token)) {
            Ok(Literal::Int(lit)) => ExprKind::Int(lit),
            Ok(Literal::Float(lit)) => ExprKind::Float(lit),
            Err(number::NumberError::IntTooLarge | number::NumberError::Malformed(_)) => {
                ExprKind::Int(IntLit { value: 0, unsigned: false, long: false })
            }
            Err(_) => ExprKind::Float(FloatLit { value: 0.0, single: false }),
        };
        Expr { kind, span: self.span_of(token) }
    }

    /// An expression that starts with a word.
    fn word_expr(&mut self) -> Parsed<Expr> {
        let start = self.span();
        let word = self.word().unwrap_or_default();
        match word {
            "true" | "false" => {
                self.bump();
                return Ok(Expr { kind: ExprKind::Bool(word == "true"), span: start });
            }
            "sizeof" => return self.size_of(),
            "static_cast" => return self.static_cast(),
            "nullptr" | "NULL" => return Err(self.null_pointer()),
            "PTO_COMPUTE" => return Err(self.compute()),
            _ => {}
        }
        if let Some((_, meaning)) = ARGUMENT_WORDS.iter().find(|(name, _)| *name == word) {
            let diagnostic = Diagnostic::error(codes::MISPLACED_WORD, format!("`{word}` is not a value"))
                .at(start, "expected an expression")
                .help(*meaning);
            return Err(self.report(diagnostic));
        }
        if is_scalar(word) {
            return self.functional_cast();
        }
        if let Some(skip) = self.foreign_keyword() {
            return Err(skip);
        }
        if super::foreign::is_keyword(word) {
            return Err(self.unexpected(codes::EXPECTED_EXPRESSION, "an expression"));
        }
        let token = self.bump();
        let name = self.ident_of(token);
        let template_args = if self.at_template_args(word) { self.template_args()? } else { Vec::new() };
        match self.tok() {
            Tok::LParen => self.call(name, template_args),
            Tok::LBrace
                if template_args.is_empty() && (!self.stop_at_brace || self.peek(1).kind == Tok::Dot) =>
            {
                self.nested(|p| p.braces(Some(name)))
            }
            _ if !template_args.is_empty() => {
                Err(self.unexpected(codes::EXPECTED_TOKEN, &format!("`(` after `{word}<…>`")))
            }
            _ => Ok(Expr { kind: ExprKind::Name(name.name), span: name.span }),
        }
    }

    /// Whether the `<` here, behind a name, starts template arguments rather than a comparison.
    fn at_template_args(&self, name: &str) -> bool {
        if !self.at(Tok::Lt) {
            return false;
        }
        let lone_number = self.peek(1).kind == Tok::Number
            && self.peek(2).kind == Tok::Gt
            && self.peek(3).kind == Tok::LParen;
        // A comparison has a value behind its `>`.
        let empty_call = self.peek(2).kind == Tok::Gt
            && self.peek(3).kind == Tok::LParen
            && self.peek(4).kind == Tok::RParen;
        lone_number || empty_call || name == "PTO_GET_DESCRIPTOR" || self.templates.contains(name)
    }

    fn call(&mut self, callee: Ident, template_args: Vec<TemplateArg>) -> Parsed<Expr> {
        let open = self.bump();
        let args = self.delimited(|p| {
            let mut args = Vec::new();
            while !p.at(Tok::RParen) {
                args.push(p.nested(Self::value)?);
                if !p.eat(Tok::Comma) {
                    break;
                }
            }
            Ok(args)
        })?;
        self.close(open, "`,` or `)` after the argument")?;
        let span = self.span_from(callee.span);
        self.node(ExprKind::Call { callee, template_args, args }, span)
    }

    fn size_of(&mut self) -> Parsed<Expr> {
        let start = self.span();
        self.bump();
        let open = self.expect(Tok::LParen, "`(` after `sizeof`")?;
        let ty = self.delimited(Self::ty)?;
        self.close(open, "`)` after the type")?;
        let span = self.span_from(start);
        self.node(ExprKind::SizeOf(Box::new(ty)), span)
    }

    fn static_cast(&mut self) -> Parsed<Expr> {
        let start = self.span();
        self.bump();
        if !self.at(Tok::Lt) {
            return Err(self.unexpected(codes::EXPECTED_TOKEN, "`<` and a type after `static_cast`"));
        }
        let mut args = self.template_args()?;
        let ty = match (args.pop(), args.is_empty()) {
            (Some(TemplateArg::Type(ty)), true) => ty,
            _ => {
                let diagnostic =
                    Diagnostic::error(codes::EXPECTED_TYPE, "`static_cast` takes one scalar type")
                        .at(self.span_from(start), "")
                        .help("write `static_cast<uint32_t>(x)`");
                return Err(self.report(diagnostic));
            }
        };
        self.cast_operand(start, ty)
    }

    /// `float(e)` with the current token at the type.
    fn functional_cast(&mut self) -> Parsed<Expr> {
        let start = self.span();
        let ty: Type = self.ty()?;
        if !self.at(Tok::LParen) {
            let diagnostic = Diagnostic::error(codes::EXPECTED_EXPRESSION, "expected an expression")
                .at(ty.span, "a type")
                .help("convert a value with `(T)x`, `T(x)` or `static_cast<T>(x)`");
            return Err(self.report(diagnostic));
        }
        self.cast_operand(start, ty)
    }

    fn cast_operand(&mut self, start: Span, ty: Type) -> Parsed<Expr> {
        let open = self.expect(Tok::LParen, "`(` and a value after the type")?;
        let expr = self.nested(|p| p.delimited(Self::expr))?;
        self.close(open, "`)` after the value")?;
        let span = self.span_from(start);
        self.node(ExprKind::Cast { ty: Box::new(ty), expr: Box::new(expr) }, span)
    }

    fn null_pointer(&mut self) -> Skip {
        let diagnostic = Diagnostic::error(codes::POINTER_OPERATOR, "there is no null pointer")
            .at(self.span(), "")
            .help("arrays are always bound; test a length or a flag instead");
        self.report(diagnostic)
    }

    fn compute(&mut self) -> Skip {
        let diagnostic = Diagnostic::error(codes::NOT_SUPPORTED, "`PTO_COMPUTE` is not supported yet")
            .at(self.span(), "")
            .help("compute the routing before the launch and pass it as `const uint32_t*` arrays");
        self.report(diagnostic)
    }

    /// `{…}` with the current token at `{`, of values or of named fields.
    pub(super) fn braces(&mut self, ty: Option<Ident>) -> Parsed<Expr> {
        let start = ty.as_ref().map_or(self.span(), |ident| ident.span);
        let open = self.bump();
        let kind = self.delimited(|p| {
            if p.at(Tok::Dot) || (ty.is_some() && p.at(Tok::RBrace)) {
                let fields = p.field_inits()?;
                return Ok(ExprKind::Init { ty, fields });
            }
            if ty.is_some() {
                return Err(p.positional_field());
            }
            p.brace_values().map(ExprKind::Braces)
        })?;
        self.close(open, "`,` or `}` after the value")?;
        let span = self.span_from(start);
        self.node(kind, span)
    }

    fn brace_values(&mut self) -> Parsed<Vec<Expr>> {
        let mut values = Vec::new();
        while !self.at(Tok::RBrace) {
            if self.at(Tok::Dot) {
                return Err(self.positional_field());
            }
            values.push(self.value()?);
            if !self.eat(Tok::Comma) {
                break;
            }
        }
        Ok(values)
    }

    fn field_inits(&mut self) -> Parsed<Vec<FieldInit>> {
        let fields_level = self.fields_level.replace(self.open.len());
        let fields = self.field_list();
        self.fields_level = fields_level;
        fields
    }

    fn field_list(&mut self) -> Parsed<Vec<FieldInit>> {
        let mut fields = Vec::new();
        while !self.at(Tok::RBrace) {
            if !self.at(Tok::Dot) {
                return Err(self.positional_field());
            }
            self.bump();
            let field = self.name("the name of a field after `.`")?;
            let mut index = None;
            if self.at(Tok::LBracket) {
                let open: Token = self.bump();
                index = Some(self.expr()?);
                self.close(open, "`]` after the index")?;
            }
            if !self.at(Tok::Eq) {
                let expected = format!("`=` and a value after `.{}`", field.as_str());
                return Err(self.unexpected(codes::EXPECTED_TOKEN, &expected));
            }
            self.bump();
            let value = self.value()?;
            fields.push(FieldInit { field, index, value });
            if !self.eat(Tok::Comma) {
                break;
            }
        }
        Ok(fields)
    }

    fn positional_field(&mut self) -> Skip {
        if self.at(Tok::Bad) {
            return Skip;
        }
        let diagnostic = Diagnostic::error(codes::POSITIONAL_FIELD, "fields are named, all or none")
            .at(self.span(), format!("found {}", self.found()))
            .help("write `.field = value`");
        self.report(diagnostic)
    }

    /// Whether an expression is a call of a `PTO_` name, with that name.
    pub(super) fn pto_call(expr: &Expr) -> Option<&Ident> {
        match &expr.kind {
            ExprKind::Call { callee, .. } if callee.as_str().starts_with("PTO_") => Some(callee),
            _ => None,
        }
    }

    /// Reports a `PTO_` form of another place among statements, if the current token starts one.
    pub(super) fn misplaced_form(&mut self) -> Option<Skip> {
        let form = self.word().and_then(lookup)?;
        if form.place == super::form::Place::Body || self.peek(1).kind != Tok::LParen {
            return None;
        }
        Some(self.unknown_form(super::form::Place::Body, "a statement"))
    }
}
