//! Workloads and their statements, except tasks.

use super::words::{PIPELINE_STATEMENTS, STATEMENTS};
use super::{Parsed, Parser, Skip, codes};
use crate::workload::walk::Reference;
use crate::workload::{Arm, Block, IntExpr, Iteration, Node, NodeKind, Var, Workload};
use wsp_core::{AxisId, VarId, WorkloadId};
use wsp_diag::{Diagnostic, Span, did_you_mean};
use wsp_syntax::{Tok, shorten};

/// What a loop says of its iterations.
#[derive(Clone, Copy)]
enum Order {
    Parallel,
    Sequential,
}

impl<'t> Parser<'t> {
    /// Reads a workload.
    pub(super) fn workload(&mut self) -> Parsed<()> {
        let span = self.span();
        let (vars, labels) = (Vec::new(), Vec::new());
        let (name, channels, body) = (String::new(), Vec::new(), Vec::new());
        let empty = Workload { name, params: 0, vars, labels, channels, body, span };
        self.module.workloads.push(empty);
        self.bump();
        let (name, span) = self.name("the workload's name")?;
        if let Some(workload) = self.module.workloads.last_mut() {
            (workload.name, workload.span) = (name.to_owned(), span);
        }
        if self.at(Tok::LParen) {
            let open = self.bump();
            let formals = self.list(Tok::RParen, |p| p.formal())?;
            self.close(open, "`,` or `)`")?;
            if let Some(workload) = self.module.workloads.last_mut() {
                workload.params = formals.len() as u32;
            }
        }
        let body = self.block("the workload")?;
        if let Some(workload) = self.module.workloads.last_mut() {
            workload.body = body;
        }
        Ok(())
    }

    fn formal(&mut self) -> Parsed<()> {
        let (name, span) = self.name("the name of an argument")?;
        if let Some((Reference::Var(_), first)) = self.scope.find(name) {
            self.declared_twice(name, span, first);
        }
        self.declare_var(name, span);
        Ok(())
    }

    fn declared_twice(&mut self, name: &str, span: Span, first: Span) {
        let diagnostic = Diagnostic::error(codes::DECLARED_TWICE, format!("`{name}` is declared twice"))
            .at(span, "declared again here")
            .label(first, "first declared here");
        self.report(diagnostic);
    }

    /// Makes a variable, visible until the scope is closed.
    pub(super) fn declare_var(&mut self, name: &'t str, span: Span) -> VarId {
        let Some(workload) = self.module.workloads.last_mut() else { return VarId(0) };
        let var = VarId(workload.vars.len() as u32);
        workload.vars.push(Var { name: name.to_owned(), span });
        self.scope.open(name, var, span);
        var
    }

    /// Reads `{ … }`. A broken statement is left out.
    pub(super) fn block(&mut self, of: &str) -> Parsed<Block> {
        if !self.at(Tok::LBrace) {
            if let Some(skip) = self.foreign_operator() {
                return Err(skip);
            }
            return Err(self.unexpected(codes::EXPECTED_TOKEN, &format!("`{{` and the statements of {of}")));
        }
        let open = self.bump();
        let mut nodes = Vec::new();
        loop {
            match self.tok() {
                Tok::RBrace => {
                    let close = self.bump();
                    self.check_indentation(open, close);
                    return Ok(nodes);
                }
                Tok::Eof => return Err(self.unclosed_block(open)),
                Tok::Semi => {
                    self.bump();
                }
                Tok::Ident if self.at_word("channel") && self.peek(1).kind != Tok::LParen => {
                    let start = self.pos;
                    if self.channel().is_err() {
                        self.recover_statement(start);
                    }
                }
                // What uses the channel would be at fault for the misspelt word alone.
                Tok::Ident if self.at_misspelt_channel() => {
                    let start = self.pos;
                    self.unexpected_help(codes::EXPECTED_STATEMENT, "a statement", "did you mean `channel`?");
                    if self.channel().is_err() {
                        self.recover_statement(start);
                    }
                }
                _ => {
                    let (start, visible) = (self.pos, self.scope.depth());
                    let statement = self.nested(Self::statement);
                    self.scope.close(visible);
                    match statement {
                        Ok(node) => nodes.push(node),
                        Err(Skip) => self.recover_statement(start),
                    }
                }
            }
        }
    }

    /// `chanel c[`: no statement begins in this way.
    fn at_misspelt_channel(&self) -> bool {
        let is_declaration = self.peek(1).kind == Tok::Ident && self.peek(2).kind == Tok::LBracket;
        let word = self.word().filter(|word| is_declaration && !STATEMENTS.contains(word));
        word.is_some_and(|word| did_you_mean(word, ["channel"]).is_some())
    }

    fn statement(&mut self) -> Parsed<Node> {
        let start = self.span();
        let called = self.peek(1).kind == Tok::LParen;
        let kind = match self.word() {
            Some("let") => self.labelled_task()?,
            Some("parallel") => {
                self.bump();
                if !self.eat_word("for") {
                    return Err(self.unexpected(codes::EXPECTED_TOKEN, "`for` after `parallel`"));
                }
                self.loops(Order::Parallel)?
            }
            Some("for") => {
                self.bump();
                self.loops(Order::Sequential)?
            }
            Some("select") if self.at_channel_select() => self.channel_select()?,
            Some("select") => self.select()?,
            Some("if") => self.cond()?,
            Some("while") => self.while_loop()?,
            Some("combine") => NodeKind::Combine(self.blocks("branch")?),
            Some("sequential") => NodeKind::Sequential(self.blocks("step")?),
            Some("call") => self.call()?,
            Some("else") => return Err(self.lone_else()),
            Some(_) if called => NodeKind::Task(self.task()?),
            Some("pipeline") => self.pipeline()?,
            Some("send") => {
                let Arm { channel, var, body, .. } = self.transfer()?;
                NodeKind::Send { channel, var, body }
            }
            Some("consume") => {
                let all = self.word_at(1) == Some("all") && self.word_at(2) != Some("as");
                NodeKind::Consume { arms: vec![self.transfer()?], all }
            }
            Some("close") => self.close_channel()?,
            Some("process") => return Err(self.lone_process()),
            _ => return Err(self.not_a_statement()),
        };
        Ok(Node { kind, span: self.span_from(start) })
    }

    fn lone_else(&mut self) -> Skip {
        let diagnostic = Diagnostic::error(codes::LONE_ELSE, "`else` without `if`")
            .at(self.span(), "no `if` stands before it")
            .help("write `if c { … } else { … }`, without `;` between");
        self.report(diagnostic)
    }

    fn not_a_statement(&mut self) -> Skip {
        let help = match (self.tok(), self.word(), self.peek(1).kind) {
            (Tok::Bad, ..) => return Skip,
            (Tok::RParen | Tok::RBracket, ..) => return self.unmatched_closer(),
            (Tok::LBrace, ..) => "branches stand in `combine { { … } { … } }`".to_owned(),
            (_, Some("return" | "break" | "continue"), _) => {
                "a workload states tasks and is not left early: put what may be left out in `if c { … }`"
                    .to_owned()
            }
            (_, Some(word), Tok::Eq) => format!(
                "nothing is assigned in a workload; `let {} = k(…);` names a task, and a value is declared at the top of the file",
                shorten(word)
            ),
            (_, Some(word), next) => {
                match did_you_mean(word, STATEMENTS.iter().chain(PIPELINE_STATEMENTS).copied()) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None if next == Tok::Semi => {
                        format!("a kernel without arguments is called `{}();`", shorten(word))
                    }
                    None => "a task is written `k(…);`".to_owned(),
                }
            }
            _ => String::new(),
        };
        self.unexpected_help(codes::EXPECTED_STATEMENT, "a statement", &help)
    }

    /// `i in … { }` or `i in …, j in … { }`, behind `for`.
    fn loops(&mut self, order: Order) -> Parsed<NodeKind> {
        if self.at(Tok::LParen) {
            let diagnostic = Diagnostic::error(codes::FOREIGN_SYNTAX, "a loop's head has no parentheses")
                .at(self.span(), "")
                .help("write `for i in 0..n { … }`");
            self.skip_parentheses();
            return Err(self.report(diagnostic));
        }
        self.loops_beside(order, &mut Vec::new())
    }

    /// The same behind the variables of the head so far.
    fn loops_beside(&mut self, order: Order, beside: &mut Vec<(&'t str, Span)>) -> Parsed<NodeKind> {
        let (name, span) = self.name("the loop's variable")?;
        self.in_word()?;
        let over = self.iteration()?;
        if let Some((_, first)) = beside.iter().find(|(other, _)| *other == name) {
            self.declared_twice(name, span, *first);
        }
        beside.push((name, span));
        let var = self.declare_var(name, span);
        let body = if self.eat(Tok::Comma) {
            let start = self.span();
            let kind = self.nested(|p| p.loops_beside(order, beside))?;
            vec![Node { kind, span: self.span_from(start) }]
        } else {
            self.block("the loop")?
        };
        Ok(match order {
            Order::Parallel => NodeKind::ParallelFor { var, over, body },
            Order::Sequential => NodeKind::ForEach { var, over, body },
        })
    }

    /// `in`; a `=` or `:` in its place is reported and taken for it.
    fn in_word(&mut self) -> Parsed<()> {
        if self.eat_word("in") {
            return Ok(());
        }
        if !matches!(self.tok(), Tok::Eq | Tok::Colon) {
            return Err(self.unexpected(codes::EXPECTED_TOKEN, "`in` after the variable"));
        }
        let diagnostic = Diagnostic::error(codes::FOREIGN_SYNTAX, "expected `in` after the variable")
            .at(self.span(), format!("found {}", self.found()))
            .help("write `for i in 0..n { … }`");
        self.report(diagnostic);
        self.bump();
        Ok(())
    }

    /// An axis, `axis[outer]`, or a range.
    fn iteration(&mut self) -> Parsed<Iteration> {
        if let Some(word) = self.word() {
            let (span, next) = (self.span(), self.peek(1).kind);
            match self.scope.find(word) {
                Some((Reference::Axis(axis), _)) => {
                    self.bump();
                    let row = self.row()?;
                    return Ok(match row {
                        Some(outer) => Iteration::Ragged { axis, outer },
                        None => Iteration::Axis(axis),
                    });
                }
                None if matches!(next, Tok::LBrace | Tok::LBracket | Tok::Comma) => {
                    let axis = |entity| matches!(entity, Reference::Axis(_));
                    return Err(self.undeclared(word, span, "an axis or a range", axis));
                }
                _ => {}
            }
        }
        let lo = self.expr()?;
        if self.at(Tok::RangeIncl) {
            return Err(self.bad_range());
        }
        if !self.at(Tok::Range) {
            let help = "a loop runs over an axis or a range: `0..n`";
            return Err(self.unexpected_help(codes::EXPECTED_TOKEN, "`..` and the end of the range", help));
        }
        self.bump();
        let hi = self.expr()?;
        let step = if self.eat_word("step") { Some(self.expr()?) } else { None };
        Ok(Iteration::Range { lo, hi, step })
    }

    /// `[i]` behind an axis.
    fn row(&mut self) -> Parsed<Option<IntExpr>> {
        if !self.at(Tok::LBracket) {
            return Ok(None);
        }
        let open = self.bump();
        let row = self.expr()?;
        self.close(open, "`]` after the index")?;
        Ok(Some(row))
    }

    fn select(&mut self) -> Parsed<NodeKind> {
        self.bump();
        let column = self.name("the variable of the column")?;
        let entry = if self.eat(Tok::At) { Some(self.name("the variable of the position")?) } else { None };
        self.in_word()?;
        let axis = self.select_axis()?;
        let Some(row) = self.row()? else {
            let help = "`select` runs over one row of a sparse axis: `select e in nz[i] { … }`";
            return Err(self.unexpected_help(codes::EXPECTED_TOKEN, "`[` and the row", help));
        };
        let var = self.declare_var(column.0, column.1);
        if let Some((name, span)) = entry
            && name == column.0
        {
            self.declared_twice(name, span, column.1);
        }
        let position = entry.map(|(name, span)| self.declare_var(name, span));
        let body = self.block("the selection")?;
        Ok(NodeKind::Select { var, position, axis, row, body })
    }

    fn select_axis(&mut self) -> Parsed<AxisId> {
        let (name, span) = self.name("a sparse axis")?;
        match self.scope.find(name) {
            Some((Reference::Axis(axis), _)) => Ok(axis),
            _ => Err(self.wrong_kind(
                name,
                span,
                "a sparse axis",
                "declare it: `axis nz = sparse(b, indptr, indices);`",
            )),
        }
    }

    fn cond(&mut self) -> Parsed<NodeKind> {
        self.bump();
        let condition = self.expr()?;
        let then = self.block("the branch")?;
        if !self.eat_word("else") {
            return Ok(NodeKind::Cond { condition, then, otherwise: Vec::new() });
        }
        let otherwise = if self.at_word("if") {
            let start = self.span();
            let kind = self.nested(Self::cond)?;
            vec![Node { kind, span: self.span_from(start) }]
        } else {
            self.block("the other branch")?
        };
        Ok(NodeKind::Cond { condition, then, otherwise })
    }

    fn while_loop(&mut self) -> Parsed<NodeKind> {
        self.bump();
        let condition = self.expr()?;
        let max = if self.eat_word("max") { Some(self.expr()?) } else { None };
        let body = self.block("the loop")?;
        Ok(NodeKind::While { condition, max, body })
    }

    /// `{ { … } { … } }`.
    fn blocks(&mut self, what: &str) -> Parsed<Vec<Block>> {
        self.bump();
        if !self.at(Tok::LBrace) {
            return Err(self.unexpected(codes::EXPECTED_TOKEN, &format!("`{{` and a block for each {what}")));
        }
        let open = self.bump();
        let mut blocks = Vec::new();
        loop {
            match self.tok() {
                Tok::RBrace => {
                    self.bump();
                    return Ok(blocks);
                }
                Tok::Eof => return Err(self.unclosed_block(open)),
                Tok::LBrace => blocks.push(self.block(what)?),
                _ => {
                    let help = format!("each {what} stands in braces of its own");
                    let expected = format!("`{{` and the statements of a {what}");
                    self.unexpected_help(codes::EXPECTED_TOKEN, &expected, &help);
                    self.recover_blocks();
                    return Ok(blocks);
                }
            }
        }
    }

    fn call(&mut self) -> Parsed<NodeKind> {
        self.bump();
        let (name, span) = self.name("the workload that is called")?;
        let workload = self.workload_named(name, span)?;
        if !self.at(Tok::LParen) {
            return Err(self.unexpected(codes::EXPECTED_TOKEN, "`(` and the arguments of the workload"));
        }
        let open = self.bump();
        let args = self.list(Tok::RParen, Self::expr)?;
        self.close(open, "`,` or `)`")?;
        self.semicolon("the call")?;
        Ok(NodeKind::Call { workload, args })
    }

    fn workload_named(&mut self, name: &str, span: Span) -> Parsed<WorkloadId> {
        match self.scope.find(name) {
            Some((Reference::Workload(workload), _)) => Ok(workload),
            Some((Reference::Kernel(_), _)) => {
                let help = format!("a kernel is called without `call`: `{}(…);`", shorten(name));
                Err(self.wrong_kind(name, span, "a workload", &help))
            }
            Some(_) => Err(self.wrong_kind(name, span, "a workload", "")),
            None => Err(self.undeclared(name, span, "a workload", |e| matches!(e, Reference::Workload(_)))),
        }
    }
}
