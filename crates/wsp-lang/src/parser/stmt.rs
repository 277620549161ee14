//! Statements and blocks.

use super::form::{Form, Place, lookup};
use super::{Parsed, Parser, Skip};
use crate::ast::{AssignOp, BinOp, Block, Decl, Declarator, Expr, ExprKind, IntLit, Stmt, StmtKind, Type};
use crate::codes;
use wsp_diag::{Diagnostic, Span, did_you_mean};
use wsp_syntax::{Tok, Token};

/// The assignment that a token stands for.
pub(super) fn assign_op(tok: Tok) -> Option<AssignOp> {
    let op = match tok {
        Tok::Eq => return Some(AssignOp::Set),
        Tok::PlusEq => BinOp::Add,
        Tok::MinusEq => BinOp::Sub,
        Tok::StarEq => BinOp::Mul,
        Tok::SlashEq => BinOp::Div,
        Tok::PercentEq => BinOp::Rem,
        Tok::ShlEq => BinOp::Shl,
        Tok::ShrEq => BinOp::Shr,
        Tok::AmpEq => BinOp::BitAnd,
        Tok::PipeEq => BinOp::BitOr,
        Tok::CaretEq => BinOp::BitXor,
        _ => return None,
    };
    Some(AssignOp::Compound(op))
}

impl Parser<'_> {
    /// `{ … }`. A broken statement is left out.
    pub(super) fn block(&mut self, after: &str) -> Parsed<Block> {
        let start = self.span();
        if !self.at(Tok::LBrace) {
            return Err(self.unexpected(codes::EXPECTED_TOKEN, &format!("`{{` after {after}")));
        }
        let open = self.bump();
        let base = self.open.len();
        let mut stmts = Vec::new();
        loop {
            let before = self.pos;
            match self.tok() {
                Tok::RBrace => {
                    let close = self.bump();
                    self.check_indentation(open, close);
                    return Ok(Block { stmts, span: self.span_from(start) });
                }
                Tok::Eof => return Err(self.unclosed_block(open)),
                _ if self.at_item_start() => {
                    if self.brace_excess > 0 {
                        self.item_ahead = true;
                        return Err(self.unclosed_block(open));
                    }
                    self.item_in_block();
                    self.recover_member(before, base);
                }
                _ if self.misplaced_form().is_some() => self.recover_member(before, base),
                _ => match self.statement() {
                    Ok(stmt) => stmts.extend(stmt),
                    Err(Skip) => self.recover_statement(base)?,
                },
            }
            self.progress(before);
        }
    }

    /// Reports an item inside a function.
    fn item_in_block(&mut self) {
        if self.misplaced_form().is_some() {
            return;
        }
        let diagnostic =
            Diagnostic::error(codes::MISPLACED_FORM, "a declaration of the file is inside a function")
                .at(self.span(), "stands at file level")
                .help("move it out of the function");
        self.report(diagnostic);
    }

    /// A statement; none when it is left out and the parser stands behind it.
    fn statement(&mut self) -> Parsed<Option<Stmt>> {
        let start = self.span();
        let kind = match self.tok() {
            Tok::Semi => {
                self.bump();
                StmtKind::Empty
            }
            Tok::LBrace => StmtKind::Block(self.inside(|p| p.block("`{`"))?),
            Tok::Ident => match self.word().unwrap_or_default() {
                "if" => return self.if_stmt(start),
                "for" => return self.for_stmt(start),
                "while" => return self.while_stmt(start),
                "do" => return self.do_stmt(start),
                "PTO_FOR_EACH" => return self.for_each(start),
                "PTO_SCHEDULED_FOR" => return self.scheduled_for(start),
                word @ ("break" | "continue") => {
                    self.bump();
                    self.semicolon(&format!("`{word}`"))?;
                    if word == "break" { StmtKind::Break } else { StmtKind::Continue }
                }
                "return" => {
                    self.bump();
                    let value = if self.at(Tok::Semi) { None } else { Some(self.expr()?) };
                    self.semicolon("the result")?;
                    StmtKind::Return(value)
                }
                "else" => return Err(self.lone_else()),
                "static" | "inline" => return Err(self.storage_class()),
                _ => return self.simple_or_form(start),
            },
            _ => return self.simple_or_form(start),
        };
        Ok(Some(self.stmt(kind, start)))
    }

    fn stmt(&self, kind: StmtKind, start: Span) -> Stmt {
        Stmt { kind, span: self.span_from(start) }
    }

    fn lone_else(&mut self) -> Skip {
        let diagnostic = Diagnostic::error(codes::LONE_ELSE, "`else` without `if`")
            .at(self.span(), "no `if` ends before it")
            .help("wrap the statements of the `if` in `{ … }`");
        self.report(diagnostic)
    }

    fn storage_class(&mut self) -> Skip {
        let diagnostic = Diagnostic::error(codes::FOREIGN_KEYWORD, "local variables have no storage class")
            .at(self.span(), "")
            .help("write `const`, or nothing");
        self.report(diagnostic)
    }

    /// A declaration, an assignment or an expression, with its `;`.
    fn simple_or_form(&mut self, start: Span) -> Parsed<Option<Stmt>> {
        if let Some(skip) = self.misplaced_form() {
            return Err(skip);
        }
        if self.at_declaration() {
            let at = self.pos;
            let decl = self.decl(at)?;
            self.semicolon("the declaration")?;
            return Ok(Some(self.stmt(StmtKind::Decl(decl), start)));
        }
        let stmt = self.simple()?;
        match (&stmt.kind, self.tok()) {
            (StmtKind::Expr(e), Tok::LBrace) => {
                if let Some(skip) = self.unknown_block_form(e) {
                    return Err(skip);
                }
            }
            (StmtKind::Expr(e), Tok::Colon) if e.as_name().is_some() => return Err(self.label()),
            (_, Tok::Comma) => return Err(self.comma_operator()),
            _ => {}
        }
        let what =
            if matches!(stmt.kind, StmtKind::Assign { .. }) { "the assignment" } else { "the expression" };
        self.semicolon(what)?;
        Ok(Some(Stmt { span: self.span_from(start), ..stmt }))
    }

    fn unknown_block_form(&mut self, call: &Expr) -> Option<Skip> {
        let callee = Self::pto_call(call)?;
        let name = callee.as_str();
        let blocks = ["PTO_FOR_EACH", "PTO_SCHEDULED_FOR"];
        let diagnostic = match did_you_mean(name, blocks).and_then(lookup) {
            Some(form) => Diagnostic::error(codes::UNKNOWN_FORM, format!("unknown form `{name}`"))
                .at(callee.span, "no statement with a block")
                .help(format!("did you mean `{}`?", form.usage)),
            None => Diagnostic::error(codes::UNKNOWN_FORM, format!("`{name}` has no block"))
                .at(self.span(), "unexpected `{`")
                .help("statements with a block are `PTO_FOR_EACH` and `PTO_SCHEDULED_FOR`"),
        };
        Some(self.report(diagnostic))
    }

    fn label(&mut self) -> Skip {
        let diagnostic = Diagnostic::error(codes::FOREIGN_KEYWORD, "labels are not part of the language")
            .at(self.span(), "")
            .help("use `while`, `break` and `continue`");
        self.report(diagnostic)
    }

    fn comma_operator(&mut self) -> Skip {
        let diagnostic = Diagnostic::error(codes::COMMA_OPERATOR, "`,` does not join statements")
            .at(self.span(), "expected `;`")
            .help("write two statements");
        self.report(diagnostic)
    }

    /// An assignment or an expression, without `;`.
    fn simple(&mut self) -> Parsed<Stmt> {
        let start = self.span();
        if matches!(self.tok(), Tok::PlusPlus | Tok::MinusMinus) {
            let sign = self.bump();
            let target = self.expr()?;
            return self.step(sign, target, start);
        }
        let target = self.expr()?;
        if matches!(self.tok(), Tok::PlusPlus | Tok::MinusMinus) {
            let sign = self.bump();
            return self.step(sign, target, start);
        }
        let Some(op) = assign_op(self.tok()) else {
            return Ok(self.stmt(StmtKind::Expr(target), start));
        };
        self.check_assignable(&target)?;
        self.bump();
        let value = self.value()?;
        Ok(self.stmt(StmtKind::Assign { target, op, value }, start))
    }

    /// `++x` and `x--` as `x += 1` and `x -= 1`.
    fn step(&mut self, sign: Token, target: Expr, start: Span) -> Parsed<Stmt> {
        self.check_assignable(&target)?;
        let op = if sign.kind == Tok::PlusPlus { BinOp::Add } else { BinOp::Sub };
        let one = IntLit { value: 1, unsigned: false, long: false };
        let value = Expr { kind: ExprKind::Int(one), span: self.span_of(sign) };
        Ok(self.stmt(StmtKind::Assign { target, op: AssignOp::Compound(op), value }, start))
    }

    fn check_assignable(&mut self, target: &Expr) -> Parsed<()> {
        if matches!(target.kind, ExprKind::Name(_) | ExprKind::Index { .. } | ExprKind::Member { .. }) {
            return Ok(());
        }
        let diagnostic = Diagnostic::error(codes::NOT_ASSIGNABLE, "this cannot be assigned to")
            .at(target.span, "not a variable")
            .help("assign to a variable");
        Err(self.report(diagnostic))
    }

    /// `T x = e, y` without `;`. `at` is the position of its first token.
    fn decl(&mut self, at: usize) -> Parsed<Decl> {
        let ty = self.ty()?;
        let mut vars = Vec::new();
        loop {
            vars.push(self.declarator(&ty, at)?);
            if !self.eat(Tok::Comma) {
                return Ok(Decl { ty, vars });
            }
        }
    }

    fn declarator(&mut self, ty: &Type, at: usize) -> Parsed<Declarator> {
        if self.at(Tok::LBracket) && ty.name() == Some("auto") {
            let diagnostic =
                Diagnostic::error(codes::STRUCTURED_BINDING, "a declaration cannot take a value apart")
                    .at(self.span(), "")
                    .help("declare one variable per value");
            return Err(self.report(diagnostic));
        }
        let name = self.name("a name after the type")?;
        let init = match self.tok() {
            Tok::Eq => {
                self.bump();
                Some(self.value()?)
            }
            Tok::LBracket => return Err(self.array_variable()),
            Tok::LParen if self.body_follows(0) => return Err(self.nested_function(at, name.span)),
            Tok::LParen | Tok::LBrace => {
                let diagnostic =
                    Diagnostic::error(codes::CONSTRUCTOR_STYLE, "a first value is written with `=`")
                        .at(self.span(), "")
                        .help(format!("write `{} = value`", name.as_str()));
                return Err(self.report(diagnostic));
            }
            Tok::Colon => None,
            _ if ty.is_const || ty.name() == Some("auto") => {
                return Err(self.missing_value(codes::MISSING_VALUE, name.span));
            }
            _ => None,
        };
        Ok(Declarator { name, init })
    }

    pub(super) fn array_variable(&mut self) -> Skip {
        let diagnostic =
            Diagnostic::error(codes::ARRAY_VARIABLE, "variables are scalars and tiles, not arrays")
                .at(self.span(), "declares an array")
                .help("use a tile (`VecTile<float, 1, N> t;`), a `PTO_TENSOR`, or one variable per element");
        self.report(diagnostic)
    }

    /// A function inside a function: either meant, or the `}` before it is missing.
    fn nested_function(&mut self, at: usize, name: Span) -> Skip {
        let outermost = self.open.iter().find(|open| open.token.kind == Tok::LBrace).map(|open| open.token);
        if let Some(outermost) = outermost.filter(|_| self.brace_excess > 0) {
            self.pos = at;
            self.item_ahead = true;
            return self.unclosed_block(outermost);
        }
        let diagnostic = Diagnostic::error(codes::NESTED_FUNCTION, "a function cannot stand in a function")
            .at(name, "defined inside another function")
            .help("move it to file level; it is visible here all the same");
        self.report(diagnostic)
    }

    /// `( condition )` behind a keyword; none when it is broken and the parser stands behind it.
    fn header<T>(
        &mut self,
        after: &str,
        semicolons: bool,
        part: impl FnOnce(&mut Self) -> Parsed<T>,
    ) -> Parsed<Option<T>> {
        let base = self.open.len();
        let open = self.expect(Tok::LParen, &format!("`(` after `{after}`"))?;
        let stop_at_brace = std::mem::replace(&mut self.stop_at_brace, true);
        let value = part(self);
        self.stop_at_brace = stop_at_brace;
        match value.and_then(|value| self.close(open, "an operator or `)`").map(|()| value)) {
            Ok(value) => Ok(Some(value)),
            Err(Skip) => self.recover_header(base, semicolons).map(|()| None),
        }
    }

    fn body(&mut self, after: &str) -> Parsed<Option<Box<Stmt>>> {
        if matches!(self.tok(), Tok::RBrace | Tok::Eof) {
            let skip = self.unexpected(codes::EXPECTED_TOKEN, &format!("a statement after `{after}`"));
            if self.brace_excess < 0 && self.at(Tok::RBrace) {
                // This is the `}` that is one too many: it closes nothing.
                self.pos += 1;
                self.brace_excess += 1;
                return Ok(None);
            }
            return Err(skip);
        }
        self.inside(|p| {
            let start = p.span();
            if !p.at(Tok::LBrace) {
                return Ok(p.statement()?.map(Box::new));
            }
            let block = p.block(after)?;
            Ok(Some(Box::new(p.stmt(StmtKind::Block(block), start))))
        })
    }

    fn if_stmt(&mut self, start: Span) -> Parsed<Option<Stmt>> {
        self.bump();
        let cond = self.header("if", false, Self::expr)?;
        let then = self.body("if (…)")?;
        let mut otherwise = None;
        let mut complete = true;
        if self.eat_word("else") {
            otherwise = self.body("else")?;
            complete = otherwise.is_some();
        }
        let (Some(cond), Some(then), true) = (cond, then, complete) else { return Ok(None) };
        Ok(Some(self.stmt(StmtKind::If { cond, then, otherwise }, start)))
    }

    fn while_stmt(&mut self, start: Span) -> Parsed<Option<Stmt>> {
        self.bump();
        let cond = self.header("while", false, Self::expr)?;
        let body = self.body("while (…)")?;
        let (Some(cond), Some(body)) = (cond, body) else { return Ok(None) };
        Ok(Some(self.stmt(StmtKind::While { cond, body }, start)))
    }

    fn do_stmt(&mut self, start: Span) -> Parsed<Option<Stmt>> {
        self.bump();
        let body = self.body("do")?;
        if !self.eat_word("while") {
            return Err(self.unexpected(codes::EXPECTED_TOKEN, "`while (condition);` after the body of `do`"));
        }
        let cond = self.header("while", false, Self::expr)?;
        self.semicolon("`do … while (…)`")?;
        let (Some(cond), Some(body)) = (cond, body) else { return Ok(None) };
        Ok(Some(self.stmt(StmtKind::DoWhile { body, cond }, start)))
    }

    fn for_stmt(&mut self, start: Span) -> Parsed<Option<Stmt>> {
        self.bump();
        let parts = self.header("for", true, Self::for_header)?;
        let body = self.body("for (…)")?;
        let (Some((init, cond, step)), Some(body)) = (parts, body) else { return Ok(None) };
        Ok(Some(self.stmt(StmtKind::For { init, cond, step, body }, start)))
    }

    #[expect(clippy::type_complexity, reason = "the three parts of one header")]
    fn for_header(&mut self) -> Parsed<(Option<Box<Stmt>>, Option<Expr>, Vec<Stmt>)> {
        let start = self.span();
        let init = if self.at(Tok::Semi) {
            None
        } else if self.at_declaration() {
            let at = self.pos;
            let decl = self.decl(at)?;
            Some(Box::new(self.stmt(StmtKind::Decl(decl), start)))
        } else {
            Some(Box::new(self.simple()?))
        };
        if self.at(Tok::Colon) {
            let diagnostic = Diagnostic::error(codes::RANGE_FOR, "`for` does not run over a range")
                .at(self.span(), "")
                .help("write `PTO_FOR_EACH(i, 0, n) { … }` or `for (uint32_t i = 0; i < n; ++i) { … }`");
            return Err(self.report(diagnostic));
        }
        self.for_semicolon("the first part of `for`")?;
        let cond = if self.at(Tok::Semi) { None } else { Some(self.expr()?) };
        self.for_semicolon("the condition of `for`")?;
        let mut step = Vec::new();
        while !self.at(Tok::RParen) {
            step.push(self.simple()?);
            if !self.eat(Tok::Comma) {
                break;
            }
        }
        Ok((init, cond, step))
    }

    fn for_semicolon(&mut self, after: &str) -> Parsed<()> {
        if self.eat(Tok::Semi) {
            return Ok(());
        }
        if let Some(skip) = self.operator_left_over() {
            return Err(skip);
        }
        Err(self.unexpected(codes::EXPECTED_SEMICOLON, &format!("`;` after {after}")))
    }

    /// The arguments of a block statement; none when they are broken and the parser stands behind them.
    fn form_header<T>(
        &mut self,
        form: &'static Form,
        part: impl FnOnce(&mut Self) -> Parsed<T>,
    ) -> Parsed<Option<T>> {
        let base = self.open.len();
        let open = self.form_open(form)?;
        match part(self).and_then(|value| self.form_close(form, open).map(|()| value)) {
            Ok(value) => Ok(Some(value)),
            Err(Skip) => self.recover_header(base, false).map(|()| None),
        }
    }

    fn for_each(&mut self, start: Span) -> Parsed<Option<Stmt>> {
        let form = lookup("PTO_FOR_EACH").expect("PTO_FOR_EACH should be a form");
        debug_assert_eq!(form.place, Place::Body);
        let parts = self.form_header(form, |p| {
            let var = p.name("the name of the loop variable")?;
            p.form_comma(form, "the first value")?;
            let first = p.expr()?;
            p.form_comma(form, "the end")?;
            Ok((var, first, p.expr()?))
        })?;
        let body = self.inside(|p| p.block("`PTO_FOR_EACH(…)`"))?;
        let Some((var, first, end)) = parts else { return Ok(None) };
        Ok(Some(self.stmt(StmtKind::ForEach { var, start: first, end, body }, start)))
    }

    fn scheduled_for(&mut self, start: Span) -> Parsed<Option<Stmt>> {
        let form = lookup("PTO_SCHEDULED_FOR").expect("PTO_SCHEDULED_FOR should be a form");
        let vars = self.form_header(form, |p| {
            let mut vars = vec![p.name("the name of an index variable")?];
            while p.form_more() {
                vars.push(p.name("the name of an index variable")?);
            }
            Ok(vars)
        })?;
        let body = self.inside(|p| p.block("`PTO_SCHEDULED_FOR(…)`"))?;
        let Some(vars) = vars else { return Ok(None) };
        Ok(Some(self.stmt(StmtKind::ScheduledFor { vars, body }, start)))
    }
}
