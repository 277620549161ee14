//! Statements that hold others: loops, choices, steps, calls.

use super::super::codes;
use super::super::emit::{BodyId, Place};
use super::axis::Over;
use super::scope::{Binding, InlinedWorkload};
use super::{BodyVar, Lowering, VarKind};
use wsp_core::ptow::{MAX_LOOP_DEPTH, Op, Word};
use wsp_core::{VarId, WorkloadId};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::workload::{Block, IntExpr, IntExprKind, Node, NodeKind};

/// No expression, in 32 bits.
pub(super) const NONE: u32 = u32::MAX;
/// Extension words that an instruction can count.
pub(super) const MAX_EXT: usize = u8::MAX as usize;

impl<'m> Lowering<'m> {
    /// Writes the statements of a block into a body. Recursion is bounded by the verified nesting of statements.
    pub(super) fn block(&mut self, block: &'m Block, scope: &mut InlinedWorkload<'m>, body: BodyId) {
        for node in block {
            self.node(node, scope, body);
        }
    }

    /// Appends an instruction.
    pub(super) fn instr(
        &mut self,
        body: BodyId,
        op: Op,
        ext: usize,
        operands: (u32, u32),
        span: Span,
    ) -> Place {
        let word =
            Word { opcode: op.code(), flags: ext as u8, operand1: operands.0 as u16, operand2: operands.1 };
        self.bodies.word(body, word, span)
    }

    /// Appends an extension word without flags.
    pub(super) fn ext(&mut self, body: BodyId, operands: (u32, u32), span: Span) -> Place {
        self.instr(body, Op::ExtWord, 0, operands, span)
    }

    fn node(&mut self, node: &'m Node, scope: &mut InlinedWorkload<'m>, body: BodyId) {
        let span = node.span;
        match &node.kind {
            NodeKind::Task(task) => self.task(task, scope, body, span),
            NodeKind::ParallelFor { var, over, body: inner } => {
                let over = self.over(Op::ParallelFor, over, scope);
                self.loop_(&over, (*var, None), inner, scope, (body, span));
            }
            NodeKind::ForEach { var, over, body: inner } => {
                let over = self.over(Op::ForEach, over, scope);
                self.loop_(&over, (*var, None), inner, scope, (body, span));
            }
            NodeKind::Select { var, position, axis, row, body: inner } => {
                let over = self.over_row(Op::Select, *axis, row, scope);
                self.loop_(&over, (*var, *position), inner, scope, (body, span));
            }
            NodeKind::Cond { condition, then, otherwise } => {
                let condition = self.expr(condition, scope);
                let first = self.instr(body, Op::Cond, 1, (condition, 0), span);
                self.exprs_at.used_by(first);
                let second = self.ext(body, (0, 0), span);
                self.inner(first, then, scope);
                if !otherwise.is_empty() {
                    self.inner(second, otherwise, scope);
                }
            }
            NodeKind::While { condition, max, body: inner } => {
                let max = max.as_ref().map_or(NONE, |max| self.expr(max, scope));
                let condition = self.expr(condition, scope);
                let place = self.instr(body, Op::While, 1, (condition, 0), span);
                self.exprs_at.used_by(place);
                self.ext(body, (0, max), span);
                self.enter("while", VarKind::Round, span);
                self.inner(place, inner, scope);
                self.leave();
            }
            NodeKind::Combine(blocks) => {
                for blocks in blocks.chunks(MAX_EXT) {
                    self.branches(Op::Combine, blocks, scope, (body, span));
                }
            }
            NodeKind::Sequential(blocks) if blocks.len() > MAX_EXT => {
                self.report(too_many_steps(span, blocks.len()));
            }
            NodeKind::Sequential(blocks) if blocks.is_empty() => {}
            NodeKind::Sequential(blocks) => self.branches(Op::Sequential, blocks, scope, (body, span)),
            NodeKind::Call { workload, args } => self.call(*workload, args, scope, (body, span)),
            NodeKind::Pipeline { processes } => self.pipeline(processes, scope, (body, span)),
            NodeKind::Send { channel, var, body: inner } => {
                let place = self.instr(body, Op::Send, 0, (scope.channel(*channel), 0), span);
                self.transfer(place, *var, inner, scope);
            }
            NodeKind::Consume { arms, all } => self.consume(arms, *all, scope, (body, span)),
            NodeKind::Close { channel } => {
                self.instr(body, Op::Close, 0, (scope.channel(*channel), 0), span);
            }
        }
    }

    /// A body without words, in which the variables of the moment are in scope.
    pub(super) fn body(&mut self) -> BodyId {
        let body = self.bodies.body();
        self.vars_of.push((body, self.vars.clone()));
        body
    }

    /// Writes a block into a body of its own that a word names.
    pub(super) fn inner(
        &mut self,
        place: Place,
        block: &'m Block,
        scope: &mut InlinedWorkload<'m>,
    ) -> BodyId {
        let inner = self.body();
        self.bodies.link(place, inner);
        self.block(block, scope, inner);
        inner
    }

    fn branches(
        &mut self,
        op: Op,
        blocks: &'m [Block],
        scope: &mut InlinedWorkload<'m>,
        (body, span): (BodyId, Span),
    ) {
        self.instr(body, op, blocks.len(), (blocks.len() as u32, 0), span);
        let places: Vec<Place> = blocks.iter().map(|_| self.ext(body, (0, 0), span)).collect();
        for (place, block) in places.into_iter().zip(blocks) {
            self.inner(place, block, scope);
        }
    }

    fn loop_(
        &mut self,
        over: &Over,
        (var, position): (VarId, Option<VarId>),
        block: &'m Block,
        scope: &mut InlinedWorkload<'m>,
        (body, span): (BodyId, Span),
    ) {
        let ext = usize::from(over.outer.is_some());
        let place = self.instr(body, over.op, ext, (over.row, 0), span);
        self.exprs_at.used_by(place);
        if let Some(outer) = over.outer {
            self.ext(body, (0, outer), span);
        }
        let depth = self.enter(scope.name(var), over.kind, scope.span(var));
        scope.bind(var, Binding::Depth(depth));
        if let Some(position) = position {
            scope.bind(position, Binding::Position(depth));
        }
        self.inner(place, block, scope);
        self.leave();
    }

    /// One more variable in scope; its depth.
    pub(super) fn enter(&mut self, name: &str, kind: VarKind, span: Span) -> u32 {
        self.vars.push(BodyVar { name: name.to_owned(), kind, span });
        if self.vars.len() == MAX_LOOP_DEPTH + 1 {
            self.report(too_deep(span, &self.vars));
        }
        self.vars.len() as u32 - 1
    }

    pub(super) fn leave(&mut self) {
        self.vars.pop();
    }

    /// Writes a copy of a workload. Arguments are evaluated in the caller, before its labels are forgotten.
    fn call(
        &mut self,
        workload: WorkloadId,
        args: &'m [IntExpr],
        scope: &mut InlinedWorkload<'m>,
        (mut body, span): (BodyId, Span),
    ) {
        let called = &self.module.workloads[workload.index()];
        let mut bindings = Vec::with_capacity(args.len());
        let depth = self.vars.len();
        for (arg, var) in args.iter().zip(&called.vars) {
            if let Some(binding) = plain(arg, scope) {
                bindings.push(binding);
                continue;
            }
            let value = self.expr(arg, scope);
            let place = self.instr(body, Op::Let, 0, (value, 0), span);
            self.exprs_at.used_by(place);
            bindings.push(Binding::Depth(self.enter(&var.name, VarKind::Argument, arg.span)));
            body = self.body();
            self.bodies.link(place, body);
        }
        let first_label = self.next_label;
        let labels = called.labels.len() as u32;
        self.next_label += labels;
        if self.keeps_after && labels > 0 {
            self.instr(body, Op::Reset, 0, (first_label, labels), span);
        }
        let mut inner = InlinedWorkload::new(called, bindings, first_label, self.first_statement(workload));
        self.block(&called.body, &mut inner, body);
        self.vars.truncate(depth);
    }

    /// The number of the first task statement of a workload.
    pub(super) fn first_statement(&self, workload: WorkloadId) -> u32 {
        self.first_statements[workload.index()]
    }
}

/// What an argument stands for when it needs no variable: it cannot be at fault, and is the same in the whole copy.
fn plain(arg: &IntExpr, scope: &InlinedWorkload<'_>) -> Option<Binding> {
    match &arg.kind {
        IntExprKind::Const(value) => Some(Binding::Const(*value)),
        IntExprKind::Param(param) => Some(Binding::Param(*param)),
        IntExprKind::TableLen(table) => Some(Binding::TableLen(*table)),
        IntExprKind::Var(var) => Some(scope.binding(*var)),
        _ => None,
    }
}

fn too_deep(span: Span, vars: &[BodyVar]) -> Diagnostic {
    let names: Vec<&str> = vars.iter().map(|var| var.name.as_str()).collect();
    let message = format!("more than {MAX_LOOP_DEPTH} loop variables are in scope here");
    Diagnostic::error(codes::TOO_DEEP, message)
        .at(span, format!("variable {}", vars.len()))
        .note(format!("the variables: {}", names.join(", ")))
        .note("indices of loops count, rounds of `while`, and arguments of calls that are neither a variable nor a number")
        .help("merge loops, or compute an index from that of another")
}

fn too_many_steps(span: Span, steps: usize) -> Diagnostic {
    Diagnostic::error(codes::TOO_LARGE, "a `sequential` has too many steps for a program")
        .at(span, format!("{steps} steps; at most {MAX_EXT} are allowed"))
        .help("nest it: `sequential { { sequential { … } } { sequential { … } } }`")
        .python("nest it: `sequential(sequential(…), sequential(…))`, or put repeated calls into a loop")
}
