//! Expressions.

use super::words::FUNCTIONS;
use super::{Parsed, Parser, Skip, codes};
use crate::workload::walk::Reference;
use crate::workload::{IntExpr, IntExprKind};
use crate::{BinOp, CHAINED, UnOp};
use wsp_core::limits::MAX_NESTING;
use wsp_diag::{Diagnostic, Span, did_you_mean};
use wsp_syntax::{Operators, TERNARY, Tok, Token, infix, integer};

/// An expression and the height of its tree.
pub(in crate::workload) struct Tree {
    expr: IntExpr,
    height: u32,
    /// It is a comparison without parentheses: one of equality, or one of order.
    compares: Option<u8>,
}

impl Tree {
    fn leaf(kind: IntExprKind, span: Span) -> Tree {
        Tree { expr: IntExpr { kind, span }, height: 1, compares: None }
    }
}

impl Operators for Parser<'_> {
    type Tree = Tree;
    type Stop = Skip;

    fn sign(&self) -> Tok {
        self.tok()
    }

    fn operand(&mut self) -> Parsed<Tree> {
        self.unary()
    }

    fn binary(&mut self, left: Tree, op: BinOp, power: u8) -> Parsed<Tree> {
        if left.compares == Some(power) {
            return Err(self.comparison_chain());
        }
        if op.is_bitwise() {
            return Err(self.unexpected(codes::EXPECTED_TOKEN, "an operator"));
        }
        self.bump();
        let right = self.deeper(|p| infix(p, power + 1))?;
        let tree = self.joined(left, op, right)?;
        Ok(Tree { compares: op.is_comparison().then_some(power), ..tree })
    }

    fn choose(&mut self, condition: Tree) -> Parsed<Tree> {
        self.bump();
        let then = self.deeper(Self::choice)?;
        self.expect(Tok::Colon, "`:` and the value for a false condition")?;
        let otherwise = self.deeper(Self::choice)?;
        let span = condition.expr.span.to(otherwise.expr.span);
        let heights = [condition.height, then.height, otherwise.height];
        let kind =
            IntExprKind::Choose(Box::new(condition.expr), Box::new(then.expr), Box::new(otherwise.expr));
        self.node(kind, span, &heights)
    }
}

impl<'t> Parser<'t> {
    /// Reads an expression.
    pub(in crate::workload) fn expr(&mut self) -> Parsed<IntExpr> {
        self.expr_depth = 0;
        self.choice().map(|tree| tree.expr)
    }

    /// An inner node above trees of these heights.
    fn node(&mut self, kind: IntExprKind, span: Span, heights: &[u32]) -> Parsed<Tree> {
        let height = heights.iter().copied().max().unwrap_or(0) + 1;
        if height > MAX_NESTING {
            return Err(self.expression_too_deep());
        }
        Ok(Tree { expr: IntExpr { kind, span }, height, compares: None })
    }

    /// `left op right`. Where the tree on the left is high, what an operator makes of it joins a chain, which has any length.
    fn joined(&mut self, left: Tree, op: BinOp, right: Tree) -> Parsed<Tree> {
        let span = left.expr.span.to(right.expr.span);
        let mut heights = [left.height, right.height];
        let kind = match left.expr.kind {
            IntExprKind::Chain(first, mut rest)
                if rest.first().is_none_or(|(of, _)| op.goes_on_from(*of)) =>
            {
                heights[0] -= 1;
                rest.push((op, right.expr));
                IntExprKind::Chain(first, rest)
            }
            kind => {
                let left = Box::new(IntExpr { kind, ..left.expr });
                if heights[0] >= CHAINED && op.goes_on_from(op) {
                    IntExprKind::Chain(left, vec![(op, right.expr)])
                } else {
                    IntExprKind::Binary(op, left, Box::new(right.expr))
                }
            }
        };
        self.node(kind, span, &heights)
    }

    fn expression_too_deep(&mut self) -> Skip {
        let note = format!(
            "an expression has at most {MAX_NESTING} levels, with parentheses {}; a name or a number is one",
            2 * MAX_NESTING
        );
        self.too_deep(
            note,
            "name a part of it with `let`, or use parentheses to balance it; each sign before a part is a level too",
        )
    }

    /// Runs a part of the grammar of expressions one level deeper. Parentheses cost a level, though they make no node.
    fn deeper<T>(&mut self, part: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.expr_depth >= 2 * MAX_NESTING {
            return Err(self.expression_too_deep());
        }
        self.expr_depth += 1;
        let result = part(self);
        self.expr_depth -= 1;
        result
    }

    fn choice(&mut self) -> Parsed<Tree> {
        infix(self, TERNARY)
    }

    fn comparison_chain(&mut self) -> Skip {
        let diagnostic = Diagnostic::error(codes::COMPARISON_CHAIN, "comparisons do not chain")
            .at(self.span(), "a second comparison")
            .help("write `a < b && b < c`, or parentheses: `(a < b) == c`");
        self.report(diagnostic)
    }

    fn unary(&mut self) -> Parsed<Tree> {
        let start = self.span();
        let op = match self.tok() {
            Tok::Minus if self.peek(1).kind == Tok::Number => {
                self.bump();
                let value = self.signed_number(true)?;
                return Ok(Tree::leaf(IntExprKind::Const(value), self.span_from(start)));
            }
            Tok::Minus => UnOp::Neg,
            Tok::Bang => UnOp::Not,
            _ => return self.primary(),
        };
        self.bump();
        let operand = self.deeper(Self::unary)?;
        let span = self.span_from(start);
        self.node(IntExprKind::Unary(op, Box::new(operand.expr)), span, &[operand.height])
    }

    fn primary(&mut self) -> Parsed<Tree> {
        let start = self.span();
        match self.tok() {
            Tok::Number => {
                let value = self.signed_number(false)?;
                Ok(Tree::leaf(IntExprKind::Const(value), start))
            }
            Tok::LParen => {
                let open = self.bump();
                let inner = self.deeper(Self::choice)?;
                self.close(open, "`)` after the expression")?;
                let expr = IntExpr { span: self.span_from(start), ..inner.expr };
                Ok(Tree { expr, compares: None, ..inner })
            }
            Tok::Ident if self.peek(1).kind == Tok::LParen => self.function(),
            Tok::Ident => self.named(),
            Tok::Range | Tok::RangeIncl => Err(self.bad_range()),
            Tok::Str => {
                let diagnostic = Diagnostic::error(codes::BAD_STRING, "a string is no value")
                    .at(start, "expected an expression")
                    .help("strings stand in `use \"kernels.pto\";` only");
                Err(self.report(diagnostic))
            }
            _ => Err(self.foreign_operator().unwrap_or_else(|| {
                let help = "write a number, a name, or an expression of these such as `2 * n + 1`";
                self.unexpected_help(codes::EXPECTED_EXPRESSION, "an expression", help)
            })),
        }
    }

    /// Reports a range that lacks an end, or is inclusive.
    pub(in crate::workload) fn bad_range(&mut self) -> Skip {
        let inclusive = self.at(Tok::RangeIncl);
        let message = if inclusive { "ranges are half-open" } else { "a range needs both ends" };
        let help = if inclusive { "write `lo..hi + 1`" } else { "write `0..hi`, or `lo +: count`" };
        let diagnostic = Diagnostic::error(codes::BAD_RANGE, message).at(self.span(), "").help(help);
        self.report(diagnostic)
    }

    /// A number of a 64-bit integer whose `-`, if any, is consumed.
    fn signed_number(&mut self, negative: bool) -> Parsed<i64> {
        let token = self.bump();
        let value = integer(self.text_of(token), false).unwrap_or(u64::MAX);
        let signed = if negative { 0i64.checked_sub_unsigned(value) } else { i64::try_from(value).ok() };
        signed.ok_or_else(|| self.number_too_large(token, i64::MAX as u64))
    }

    fn number_too_large(&mut self, token: Token, largest: u64) -> Skip {
        let fits = integer(self.text_of(token), false).is_ok_and(|value| i64::try_from(value).is_ok());
        let label = if fits { "" } else { "does not fit 64 bits" };
        let diagnostic = Diagnostic::error(codes::NUMBER_OUT_OF_RANGE, "the number is too large")
            .at(self.span_of(token), label)
            .help(format!("write a number that is at most {largest}"));
        self.report(diagnostic)
    }

    /// Reads a number, perhaps with `-`.
    pub(in crate::workload) fn integer(&mut self, what: &str) -> Parsed<i64> {
        let negative = self.eat(Tok::Minus);
        if !self.at(Tok::Number) {
            let help = "write the number itself, such as `8`: no name and no expression can stand here";
            return Err(self.unexpected_help(codes::EXPECTED_EXPRESSION, what, help));
        }
        self.signed_number(negative)
    }

    /// Reads a number that is at most `largest`. The message for a larger one names `told`.
    pub(in crate::workload) fn count(&mut self, what: &str, largest: u64, told: u64) -> Parsed<u64> {
        if !self.at(Tok::Number) {
            let help = "write the number itself, such as `8`: no sign, name or expression can stand here";
            return Err(self.unexpected_help(codes::EXPECTED_EXPRESSION, what, help));
        }
        let token = self.bump();
        let value = integer(self.text_of(token), false).ok().filter(|value| *value <= largest);
        value.ok_or_else(|| self.number_too_large(token, told))
    }

    /// `min(a, b)` and the like.
    fn function(&mut self) -> Parsed<Tree> {
        let token = self.bump();
        let (name, start) = (self.text_of(token), self.span_of(token));
        let op = match name {
            "min" => BinOp::Min,
            "max" => BinOp::Max,
            "ceildiv" => BinOp::CeilDiv,
            "len" => return self.table_length(start),
            _ => return Err(self.unknown_function(name, start)),
        };
        let open = self.bump();
        let mut args = self.list(Tok::RParen, |p| p.deeper(Self::choice))?;
        self.close(open, "`,` or `)`")?;
        let span = self.span_from(start);
        let count = args.len();
        let (Some(b), Some(a), true) = (args.pop(), args.pop(), count == 2) else {
            let diagnostic =
                Diagnostic::error(codes::FORM_ARGUMENTS, format!("`{name}` takes 2 arguments, not {count}"))
                    .at(span, "")
                    .help(format!("write `{name}(a, b)`"));
            return Err(self.report(diagnostic));
        };
        let heights = [a.height, b.height];
        self.node(IntExprKind::Binary(op, Box::new(a.expr), Box::new(b.expr)), span, &heights)
    }

    fn table_length(&mut self, start: Span) -> Parsed<Tree> {
        let open = self.bump();
        let (name, at) = self.name("a table")?;
        let Some((Reference::Table(table), _)) = self.scope.find(name) else {
            return Err(self.wrong_kind(name, at, "a table", "`len` counts the elements of a table"));
        };
        self.close(open, "`)` after the table")?;
        Ok(Tree::leaf(IntExprKind::TableLen(table), self.span_from(start)))
    }

    fn unknown_function(&mut self, name: &'t str, span: Span) -> Skip {
        if self.scope.find(name).is_some() {
            let help =
                "a kernel runs as a statement of its own: `k(…);`; a value that it computes is a `slot`";
            return self.wrong_kind(name, span, "a function", help);
        }
        let message = format!("there is no function `{}`", wsp_syntax::shorten(name));
        let diagnostic = Diagnostic::error(codes::UNDECLARED_NAME, message).at(span, "");
        let help = match did_you_mean(name, FUNCTIONS.iter().copied()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => {
                "there are `min(a, b)`, `max(a, b)`, `ceildiv(a, b)` and `len(t)` of a table `t`".to_owned()
            }
        };
        self.report(diagnostic.help(help))
    }

    /// A name, or an element of a table.
    fn named(&mut self) -> Parsed<Tree> {
        let (name, span) = self.name("an expression")?;
        let indexed = self.at(Tok::LBracket);
        let Some((entity, _)) = self.scope.find(name) else {
            let (what, table) = if indexed { ("a table", true) } else { ("a value", false) };
            return Err(self.undeclared(name, span, what, |entity| match entity {
                Reference::Table(_) => table,
                Reference::Param(_) | Reference::Slot(_) | Reference::Var(_) => !table,
                _ => false,
            }));
        };
        if let (Reference::Table(table), true) = (entity, indexed) {
            let open = self.bump();
            let index = self.deeper(Self::choice)?;
            self.close(open, "`]` after the index")?;
            let span = self.span_from(span);
            return self.node(IntExprKind::Table(table, Box::new(index.expr)), span, &[index.height]);
        }
        if indexed {
            let help = "tasks read tensors; a workload reads a table, or a `slot` that a task writes";
            return Err(self.wrong_kind(name, span, "a table", help));
        }
        let (kind, help) = match entity {
            Reference::Param(param) => (Some(IntExprKind::Param(param)), String::new()),
            Reference::Slot(slot) => (Some(IntExprKind::Slot(slot)), String::new()),
            Reference::Var(var) => {
                let copied = self.scope.copied(var).map(IntExprKind::Const);
                (Some(copied.unwrap_or(IntExprKind::Var(var))), String::new())
            }
            Reference::Axis(axis) => (Some(IntExprKind::Axis(axis)), String::new()),
            Reference::Table(_) => {
                (None, format!("write `{name}[i]` for an element, `len({name})` for their number"))
            }
            Reference::Tensor(_) => (
                None,
                "a tensor is an argument of a kernel; a value that a task computes is a `slot`".to_owned(),
            ),
            Reference::Kernel(_) => (None, format!("a kernel runs as a statement: `{name}(…);`")),
            Reference::Workload(_) => (None, format!("a workload runs as a statement: `call {name}(…);`")),
        };
        match kind {
            Some(kind) => Ok(Tree::leaf(kind, span)),
            None => Err(self.wrong_kind(name, span, "a value", &help)),
        }
    }
}
