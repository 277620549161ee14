//! Expressions: infix, or their operations as `postfix(…)`.
//!
//! Operations are written while the text is read, so that no tree is built; constants are computed on the way. **Invariant:**
//! `Parser::depth` bounds recursion.

use super::numbers::Role;
use super::{Parsed, Parser, Skip};
use crate::tg::text::codes;
use crate::tg::text::idents::{Ident, NOTHING};
use crate::tg::text::tokens::{Sign, Tok};
use crate::tg::text::type_of_load;
use crate::tg::text::words::{OPERATORS, is_expression_word};
use std::collections::HashMap;
use wsp_core::DType;
use wsp_core::int::BinOp;
use wsp_core::tg::{
    EvalFault, ExprId, ExprOp, IterNo, MAX_EXPR_OPS, Op, Scalar, ScalarType, TensorNo, binary,
};
use wsp_diag::{Diagnostic, Span, did_you_mean};
use wsp_ir::tg::{ExternTensor, Namespace};
use wsp_syntax::{Operators, PREFIX, infix};

/// Expressions inside each other. What is nested more deeply is printed as `postfix(…)`.
pub(in crate::tg) const MAX_NESTING: u32 = 300;

/// The value of an operation on constants. `a` does not matter to operations of one operand.
fn value(op: ExprOp, a: i64, b: i64) -> Result<i64, EvalFault> {
    match op {
        ExprOp::Not => Ok(i64::from(b == 0)),
        ExprOp::Neg => b.checked_neg().ok_or(EvalFault::Overflow),
        op => binary(op, a, b),
    }
}

/// The operation that an operator between operands is.
fn operation(op: BinOp) -> Option<ExprOp> {
    OPERATORS.iter().map(|(operation, _)| *operation).find(|operation| operation.operator() == Some(op))
}

/// Operations are written behind those of their operands; of an operand its first byte is known.
impl Operators for Parser<'_> {
    type Tree = u32;
    type Stop = Skip;

    fn sign(&self) -> Sign {
        match self.token.tok {
            Tok::Sign(sign) => sign,
            _ => Sign::Eof,
        }
    }

    fn operand(&mut self) -> Parsed<u32> {
        let start = self.token.start;
        self.prefix().map(|()| start)
    }

    fn binary(&mut self, left: u32, op: BinOp, power: u8) -> Parsed<u32> {
        let Some(op) = operation(op) else { return Err(self.expected("an operator")) };
        self.bump();
        if let Some(skip) = op.skip(0) {
            self.right_side(op, skip, power)?;
        } else {
            self.infix(power + 1)?;
            self.apply(op, left)?;
        }
        Ok(left)
    }

    fn choose(&mut self, _: u32) -> Parsed<u32> {
        Err(self.expected("an operator"))
    }
}

impl Parser<'_> {
    /// A scalar: a constant if its value is known.
    #[inline]
    pub(super) fn scalar(&mut self) -> Parsed<Scalar> {
        if let Some(value) = self.lone_number() {
            return Ok(Scalar::Const(value));
        }
        if let Some(tensor) = self.lone_tensor()? {
            self.ops.clear();
            self.untyped.clear();
            self.ops.push(ExprOp::Const(0));
            self.push_load(tensor.0, None);
            return Ok(Scalar::Expr(self.store_expression()));
        }
        let raw = self.is_word("postfix");
        self.expression()?;
        match self.ops[..] {
            [ExprOp::Const(value)] if !raw => Ok(Scalar::Const(value)),
            _ => Ok(Scalar::Expr(self.store_expression())),
        }
    }

    /// A constant expression.
    #[inline]
    pub(super) fn constant(&mut self) -> Parsed<i64> {
        if let Some(value) = self.lone_number() {
            return Ok(value);
        }
        let start = self.token.start;
        self.expression()?;
        match self.ops[..] {
            [ExprOp::Const(value)] => Ok(value),
            _ => {
                let fault = Diagnostic::error(codes::NOT_CONSTANT, "a constant is needed here")
                    .at(self.since(start), "known only when the unit runs");
                let fault = self.with_usage(fault);
                Err(self.report(fault))
            }
        }
    }

    /// A number that is a whole operand, taken if it is next.
    #[inline]
    fn lone_number(&mut self) -> Option<i64> {
        let Tok::Number(value) = self.token.tok else { return None };
        if value > i64::MAX as u64 || !self.tokens.operand_ends() {
            return None;
        }
        self.bump();
        Some(value as i64)
    }

    /// A name that is a whole operand and nothing but a tensor, taken if it is next.
    fn lone_tensor(&mut self) -> Parsed<Option<TensorNo>> {
        let Tok::Ident(ident) = self.token.tok else { return Ok(None) };
        let row = self.tokens.idents.row(ident);
        let is_other = row.constant != NOTHING
            || row.arg != NOTHING
            || is_expression_word(ident.word())
            || !self.tokens.operand_ends()
            || self.known(Namespace::Iter, ident).is_some();
        let is_condition =
            self.op.is_some_and(|op| op.info().operands.first().is_some_and(|o| o.name == "condition"));
        if is_other || !(is_condition || row.tensor != NOTHING) {
            return Ok(None);
        }
        let span = self.here();
        self.bump();
        Ok(Some(TensorNo(self.resolve(Namespace::Tensor, ident, span, Role::Uses)?)))
    }

    /// Reads an expression into `ops`.
    pub(super) fn expression(&mut self) -> Parsed<()> {
        self.ops.clear();
        self.untyped.clear();
        let start = self.token.start;
        if self.is_word("postfix") {
            return self.postfix();
        }
        self.infix(1)?;
        if self.ops.len() > MAX_EXPR_OPS {
            let fault = Diagnostic::error(codes::TOO_DEEP, "the expression is too large")
                .at(self.since(start), "")
                .note(format!("it has {} operations; at most {MAX_EXPR_OPS} are read", self.ops.len()));
            return Err(self.report(fault));
        }
        Ok(())
    }

    /// Puts the expression that was read into the unit.
    pub(super) fn store_expression(&mut self) -> ExprId {
        let id = ExprId(self.unit.exprs.len() as u32);
        self.untyped_in_unit.extend(self.untyped.drain(..).map(|at| id.0 as usize + at));
        self.unit.exprs.extend_from_slice(&self.ops);
        self.unit.exprs.push(ExprOp::End);
        id
    }

    /// Operands and operators that bind at least as strongly as `least`.
    fn infix(&mut self, least: u8) -> Parsed<()> {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            let fault = Diagnostic::error(codes::TOO_DEEP, "the expression is nested too deeply")
                .at(self.here(), "")
                .note(format!("{MAX_NESTING} expressions inside each other are read"));
            return Err(self.report(fault));
        }
        infix(self, least)?;
        self.depth -= 1;
        Ok(())
    }

    /// Reads the right side of `&&` or `||`, which is evaluated only where the left side does not decide, and adds the operation.
    fn right_side(&mut self, op: ExprOp, skip: ExprOp, binds: u8) -> Parsed<()> {
        let left = match self.ops.last() {
            Some(ExprOp::Const(value)) => Some(*value),
            _ => None,
        };
        let decided = i64::from(op == ExprOp::Or);
        let decides = left.map(|left| i64::from(left != 0) == decided);
        let (at, guards) = (self.ops.len(), self.guards);
        self.ops.push(skip);
        self.guards += u32::from(decides != Some(false));
        self.infix(binds + 1)?;
        self.guards = guards;
        let right = &self.ops[at + 1..];
        let value = match (left, right) {
            (Some(left), &[ExprOp::Const(right)]) => binary(op, left, right).ok(),
            // What names something stays, so that all names are in the unit.
            (_, right) if decides == Some(true) && !right.iter().any(|op| op.varies()) => Some(decided),
            _ => None,
        };
        if let Some(value) = value {
            self.ops.truncate(at - 1);
            self.ops.push(ExprOp::Const(value));
            return Ok(());
        }
        self.ops.push(op);
        let past = (self.ops.len() - at - 1) as u32;
        self.ops[at] = op.skip(past).unwrap_or(skip);
        Ok(())
    }

    /// Adds an operation on two operands, or computes it.
    fn apply(&mut self, op: ExprOp, start: u32) -> Parsed<()> {
        if let [.., ExprOp::Const(a), ExprOp::Const(b)] = self.ops[..] {
            return self.fold(op, a, b, start);
        }
        self.ops.push(op);
        Ok(())
    }

    /// Computes an operation on the constants that stand last. What has no value is an error, unless it may never be evaluated.
    fn fold(&mut self, op: ExprOp, a: i64, b: i64, start: u32) -> Parsed<()> {
        let (message, fact) = match value(op, a, b) {
            Ok(value) => {
                self.ops.truncate(self.ops.len() - op.operands());
                self.ops.push(ExprOp::Const(value));
                return Ok(());
            }
            Err(_) if self.guards > 0 => {
                self.ops.push(op);
                return Ok(());
            }
            Err(EvalFault::DivisionByZero) => ("division by zero", format!("the dividend is {a}")),
            Err(_) if op == ExprOp::Neg => ("the value has more than 64 bits", format!("the operand is {b}")),
            Err(_) => ("the value has more than 64 bits", format!("the operands are {a} and {b}")),
        };
        let fault = Diagnostic::error(codes::ARITHMETIC, message).at(self.since(start), "").note(fact);
        Err(self.report(fault))
    }

    pub(super) fn prefix(&mut self) -> Parsed<()> {
        let start = self.token.start;
        let op = match self.token.tok {
            Tok::Sign(Sign::Minus) => ExprOp::Neg,
            Tok::Sign(Sign::Bang) => ExprOp::Not,
            _ => return self.atom(),
        };
        self.bump();
        // The least number has no positive counterpart.
        if op == ExprOp::Neg && self.token.tok == Tok::Number(i64::MIN.unsigned_abs()) {
            self.bump();
            self.ops.push(ExprOp::Const(i64::MIN));
            return Ok(());
        }
        self.infix(PREFIX)?;
        if let [.., ExprOp::Const(b)] = self.ops[..] {
            return self.fold(op, 0, b, start);
        }
        self.ops.push(op);
        Ok(())
    }

    fn atom(&mut self) -> Parsed<()> {
        let span = self.here();
        match self.token.tok {
            Tok::Number(value) => {
                let Ok(value) = i64::try_from(value) else {
                    return Err(self.out_of_range(
                        span,
                        value.into(),
                        "an expression",
                        i64::MIN.into(),
                        i64::MAX.into(),
                    ));
                };
                self.bump();
                self.ops.push(ExprOp::Const(value));
                Ok(())
            }
            Tok::Sign(Sign::LParen) => {
                self.bump();
                self.infix(1)?;
                self.need(Sign::RParen)
            }
            Tok::Ident(ident) => self.named_atom(ident, span),
            _ => Err(self.expected("an expression")),
        }
    }

    pub(super) fn named_atom(&mut self, ident: Ident, span: Span) -> Parsed<()> {
        let word = ident.word();
        let op = match word {
            "min" | "max" if self.tokens.parenthesis_follows() => return self.call(word),
            "load" if self.tokens.parenthesis_follows() => return self.load(),
            "iter" if self.tokens.dot_follows() => ExprOp::Iter(IterNo(self.dotted()?)),
            "arg" if self.tokens.dot_follows() => ExprOp::Arg(self.dotted()?),
            "iteration" | "device" | "devices" => {
                self.bump();
                match word {
                    "iteration" => ExprOp::Iteration,
                    "device" => ExprOp::Device,
                    _ => ExprOp::Devices,
                }
            }
            _ => {
                self.bump();
                self.variable(ident, span)?
            }
        };
        self.ops.push(op);
        Ok(())
    }

    /// What a name stands for in an expression: the constant, the loop variable, the scalar from outside, or the value in a tensor.
    fn variable(&mut self, ident: Ident, span: Span) -> Parsed<ExprOp> {
        let row = *self.tokens.idents.row(ident);
        if let Some(&value) = self.consts.get(row.constant as usize) {
            return Ok(ExprOp::Const(value));
        }
        if let Some(iter) = self.known(Namespace::Iter, ident) {
            return Ok(ExprOp::Iter(IterNo(iter)));
        }
        if row.arg != NOTHING {
            return Ok(ExprOp::Arg(row.arg));
        }
        if row.tensor != NOTHING {
            let tensor = self.resolve(Namespace::Tensor, ident, span, Role::Uses)?;
            self.ops.push(ExprOp::Const(0));
            self.untyped.push(self.ops.len());
            return Ok(ExprOp::Load(TensorNo(tensor), ScalarType::I32));
        }
        Err(self.unknown_variable(ident, span))
    }

    #[cold]
    fn unknown_variable(&mut self, ident: Ident, span: Span) -> Skip {
        let mut names: Vec<&str> = vec!["iteration", "device", "devices"];
        names.extend(
            self.tokens
                .idents
                .iter()
                .filter(|row| row.constant != NOTHING || row.arg != NOTHING || row.tensor != NOTHING)
                .map(|row| row.text),
        );
        names.extend(
            self.unit
                .names
                .iter()
                .filter(|(space, ..)| *space == Namespace::Iter)
                .map(|(.., name)| self.unit.strings.get(name)),
        );
        let meant = self.nearest(ident, names).map(str::to_owned);
        if meant.is_some() {
            return self.unknown_name(ident, span, "scalar", meant.as_deref());
        }
        let name = self.text_at(span);
        let fault =
            Diagnostic::error(codes::UNKNOWN_NAME, format!("no scalar is called `{name}`")).at(span, "");
        if self.op == Some(Op::TgInvoke)
            && (ident.word() == "default" || self.known(Namespace::Stream, ident).is_some())
        {
            let fault = fault
                .note(format!("`{name}` is a stream, and TG_INVOKE submits on the default stream"))
                .help("give the number of the iteration, which the graph sees as `iteration`: `TG_INVOKE(GRAPH, 0)`")
                .help(format!("a launch is given its stream: `TG_LAUNCH(GRAPH, {name})`"));
            return self.report(fault);
        }
        if let Some(rounds) = self.rounds_behind(span) {
            let fault = fault.help(format!(
                "the number of rounds stands first, the variable, which begins at 0, second: `CF_LOOP({rounds}, {name})`"
            ));
            return self.report(fault);
        }
        let fault = fault
            .help(format!("declare it before: `const {name} = 1`, or `arg {name}: i64`, or the variable of a loop around it"))
            .help(format!("the value in a tensor is `load({name})`"));
        self.report(fault)
    }

    /// The rounds of a `CF_LOOP` that begins with its variable, as `CF_LOOP(I, 0, 3)` or `CF_LOOP(I, 3)`.
    fn rounds_behind(&self, variable: Span) -> Option<i64> {
        let (before, behind) = (
            self.tokens.text.get(..variable.start as usize)?,
            self.tokens.text.get(variable.end as usize..)?,
        );
        if self.op != Some(Op::CfLoop) || !before.trim_end().ends_with('(') {
            return None;
        }
        let (operands, _) = behind.lines().next()?.trim_start().strip_prefix(',')?.split_once(')')?;
        let numbers: Option<Vec<i64>> =
            operands.split(',').map(|number| number.trim().parse().ok()).collect();
        match *numbers? {
            [rounds] => Some(rounds),
            [first, end] => end.checked_sub(first),
            _ => None,
        }
        .filter(|rounds| *rounds >= 0)
    }

    /// `min(a, b)` or `max(a, b)`.
    fn call(&mut self, word: &str) -> Parsed<()> {
        let start = self.token.start;
        self.bump();
        self.need(Sign::LParen)?;
        self.infix(1)?;
        self.need(Sign::Comma)?;
        self.infix(1)?;
        self.need(Sign::RParen)?;
        self.apply(if word == "min" { ExprOp::Min } else { ExprOp::Max }, start)
    }

    /// `load(tensor, byte_offset, type)`.
    fn load(&mut self) -> Parsed<()> {
        self.bump();
        self.need(Sign::LParen)?;
        // Its number comes when the offset is read: tensors are numbered in the order of operations.
        let (tok, span) = (self.token.tok, self.here());
        let literal = match tok {
            Tok::Ident(ident) if self.tokens.idents.row(ident).constant == NOTHING => {
                self.bump();
                None
            }
            _ => Some(self.load_literal()?),
        };
        let mut ty = None;
        let mut offset_given = false;
        while self.eat(Sign::Comma) {
            let is_type = matches!(self.token.tok, Tok::Ident(_)) && self.tokens.assigns();
            if is_type {
                let name = self.text_at(self.here());
                match name {
                    "type" => {}
                    "byte_offset" if !offset_given => {}
                    _ => return Err(self.expected("`byte_offset` or `type`")),
                }
                let is_offset = name == "byte_offset";
                self.bump();
                self.bump();
                if is_offset {
                    self.infix(1)?;
                    offset_given = true;
                    continue;
                }
            } else if !offset_given {
                self.infix(1)?;
                offset_given = true;
                continue;
            }
            ty = Some(self.scalar_type()?);
            break;
        }
        self.need(Sign::RParen)?;
        if !offset_given {
            self.ops.push(ExprOp::Const(0));
        }
        let tensor = match (literal, tok) {
            (None, Tok::Ident(ident)) => self.resolve(Namespace::Tensor, ident, span, Role::Uses)?,
            (literal, _) => literal.unwrap_or(0),
        };
        self.push_load(tensor, ty);
        Ok(())
    }

    /// Adds a load at the offset that stands last; without a type, of that of the tensor's declaration.
    pub(super) fn push_load(&mut self, tensor: u32, ty: Option<ScalarType>) {
        if ty.is_none() {
            self.untyped.push(self.ops.len());
        }
        self.ops.push(ExprOp::Load(TensorNo(tensor), ty.unwrap_or(ScalarType::I32)));
    }

    /// Behind the unit: loads that say no type have that of the elements of their tensor, if it is declared and one of scalars.
    pub(super) fn types_of_loads(&mut self) {
        let declared = |of: &ExternTensor| Some((of.tensor, type_of_load(of.dtype?)?));
        let declared: HashMap<TensorNo, ScalarType> = self.unit.externs.iter().filter_map(declared).collect();
        for at in std::mem::take(&mut self.untyped_in_unit) {
            if let Some(ExprOp::Load(tensor, ty)) = self.unit.exprs.get_mut(at)
                && let Some(of) = declared.get(tensor)
            {
                *ty = *of;
            }
        }
    }

    /// A tensor by number inside an expression.
    pub(super) fn load_literal(&mut self) -> Parsed<u32> {
        // What stands before is kept while the number is read.
        let before = (std::mem::take(&mut self.ops), std::mem::take(&mut self.untyped));
        let number = self.number(Namespace::Tensor, Role::Uses);
        (self.ops, self.untyped) = before;
        number
    }

    /// The name of a scalar type.
    pub(super) fn scalar_type(&mut self) -> Parsed<ScalarType> {
        let Tok::Ident(ident) = self.token.tok else {
            return Err(self.expected("a type of scalars, as `i32`"));
        };
        let text = self.tokens.idents.row(ident).text;
        if let Some((ty, _)) = ScalarType::ALL.into_iter().find(|(_, name)| *name == text) {
            self.bump();
            return Ok(ty);
        }
        let names = ScalarType::ALL.map(|(_, name)| name);
        let mut fault = Diagnostic::error(codes::UNKNOWN_CHOICE, format!("`{text}` is no type of scalars"))
            .at(self.here(), "")
            .note(format!("it can be {}", names.join(", ")));
        if DType::from_name(text).is_some() {
            fault = fault.help("scalars are integers: let a kernel write one, and load that");
        } else if let Some(meant) = did_you_mean(text, names) {
            fault = fault.help(format!("did you mean `{meant}`?"));
        }
        Err(self.report(fault))
    }
}
