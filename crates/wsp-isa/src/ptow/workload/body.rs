//! Bodies: statements, and the workloads that calls stand for.

use super::super::shape::{Instruction, instruction};
use super::pipeline::Channels;
use super::{Lifted, Lifting, refused};
use std::ops::Deref;
use wsp_core::ptow::{AxisForm, DIM_IMMEDIATE, DimKind, Group, MAX_BODY_DEPTH, Op, Word};
use wsp_core::{KernelId, LabelId, TensorId, VarId, WorkloadId};
use wsp_diag::Span;
use wsp_ir::workload::{
    Access, AccessMode, Arg, ArgValue, Block, DimRange, IntExpr, IntExprKind, Iteration, Label, Node,
    NodeKind, ParamKind, Task, Var, Workload,
};
use wsp_ordered::{OrderedMap, OrderedSet};

/// An instruction, and its word.
pub(super) struct Found<'p> {
    pub(super) at: u32,
    instruction: Instruction<'p>,
}

impl<'p> Deref for Found<'p> {
    type Target = Instruction<'p>;

    fn deref(&self) -> &Instruction<'p> {
        &self.instruction
    }
}

impl Found<'_> {
    /// The second operand of its first extension word.
    fn ext(&self) -> Option<u32> {
        self.exts.first().map(|ext| ext.operand2)
    }

    /// The bodies that it names, in order.
    pub(super) fn bodies(&self) -> Vec<u32> {
        let of_exts = || self.exts.iter().map(|ext| ext.operand2);
        match self.info.op {
            Op::Cond => [self.word.operand2].into_iter().chain(of_exts().filter(|body| *body != 0)).collect(),
            Op::Combine | Op::Sequential | Op::Process | Op::SelectCh | Op::SelectAll => of_exts().collect(),
            op if op.binds() => vec![self.word.operand2],
            _ => Vec::new(),
        }
    }
}

/// What expressions of a workload may name.
#[derive(Default)]
pub(super) struct Scope {
    /// By depth: the variable, and that of the position; a round has none.
    pub(super) depths: Vec<(Option<VarId>, Option<VarId>)>,
    vars: Vec<Var>,
    labels: Vec<Label>,
    /// The labels of the program.
    known: OrderedMap<u16, LabelId>,
    pub(super) channels: Channels,
}

impl Scope {
    fn var(&mut self, name: String) -> VarId {
        self.vars.push(Var { name, span: Span::default() });
        VarId(self.vars.len() as u32 - 1)
    }
}

impl<'p> Lifting<'p> {
    /// The instructions of the body that begins at a word, up to its end.
    pub(super) fn statements(&self, first: u32) -> Lifted<Vec<Found<'p>>> {
        let (mut at, mut found) = (first, Vec::new());
        loop {
            let words: &'p [Word] = self.program.words.get(at as usize..).unwrap_or_default();
            let Some(instruction) = instruction(words) else {
                return refused(at, "an instruction that text cannot say");
            };
            if matches!(instruction.info.op, Op::Halt | Op::End) {
                return Ok(found);
            }
            let next = at + 1 + instruction.exts.len() as u32;
            if instruction.info.op != Op::Nop {
                found.push(Found { at, instruction });
            }
            at = next;
        }
    }

    /// Adds the workload that runs.
    pub(super) fn outermost(&mut self, statements: &[Found<'p>]) -> Lifted<()> {
        let first = statements.iter().position(|found| !matches!(found.info.group, Group::Axis));
        let statements = statements.get(first.unwrap_or(statements.len())..).unwrap_or_default();
        let inner;
        let mut statements = self.attributes(statements)?;
        // A level of a threshold leaves the AICPU to the filter around.
        if let [one] = statements
            && one.info.op == Op::Combine
            && let [body] = one.bodies()[..]
        {
            inner = self.statements(body)?;
            if inner.first().is_some_and(|found| found.info.group == Group::Attribute) {
                statements = self.attributes(&inner)?;
            }
        }
        let mut scope = Scope::default();
        let body = self.nodes(statements, &mut scope)?;
        let name = self.name(None, "main");
        let Scope { vars, labels, channels, .. } = scope;
        let channels = channels.declared;
        self.module.workloads.push(Workload {
            name,
            params: 0,
            vars,
            labels,
            channels,
            body,
            span: Span::default(),
        });
        self.module.entry = self.module.runs();
        Ok(())
    }

    pub(super) fn block(&mut self, first: u32, scope: &mut Scope) -> Lifted<Block> {
        let statements = self.statements(first)?;
        self.nodes(&statements, scope)
    }

    fn nodes(&mut self, statements: &[Found<'p>], scope: &mut Scope) -> Lifted<Block> {
        let mut block = Block::new();
        let mut left = statements;
        let labels = match statements.iter().any(|found| found.info.op == Op::Reset) {
            true => statements.iter().map(|found| self.labels(found)).collect::<Lifted<Vec<_>>>()?,
            false => Vec::new(),
        };
        while let Some((found, rest)) = left.split_first() {
            left = rest;
            let kind = match found.info.op {
                Op::Task => {
                    let counts: u32 = found.word.operand2.to_le_bytes().into_iter().map(u32::from).sum();
                    let (args, rest) = rest.split_at(rest.len().min(counts as usize));
                    left = rest;
                    NodeKind::Task(self.task(found, args, scope)?)
                }
                Op::Reset => {
                    // What names the labels that are forgotten is a copy of a workload.
                    let first = u32::from(found.word.operand1);
                    let of_rest = &labels[statements.len() - rest.len()..];
                    let names = |labels: &OrderedSet<u32>| {
                        labels.range(first..first + found.word.operand2).next().is_some()
                    };
                    let mut end = of_rest.iter().rposition(names).map_or(0, |last| last + 1);
                    while rest.get(end).is_some_and(|found| found.info.group == Group::Argument) {
                        end += 1;
                    }
                    let (copy, rest) = rest.split_at(end);
                    left = rest;
                    self.call(copy, None, scope)?
                }
                Op::Let => {
                    let value = self.expr(found.word.operand1.into(), Some(scope))?;
                    let inner = self.statements(found.word.operand2)?;
                    self.call(&inner, Some(value), scope)?
                }
                Op::Channel => {
                    self.depth(found, scope)?;
                    continue;
                }
                _ => self.node(found, scope)?,
            };
            block.push(Node { kind, span: Span::default() });
        }
        Ok(block)
    }

    fn node(&mut self, found: &Found<'p>, scope: &mut Scope) -> Lifted<NodeKind> {
        let body = found.word.operand2;
        Ok(match found.info.op {
            Op::ParallelFor | Op::ForEach => {
                let over = self.over(found, scope)?;
                let (var, _, body) = self.with_variable(body, false, scope)?;
                match found.info.op {
                    Op::ForEach => NodeKind::ForEach { var, over, body },
                    _ => NodeKind::ParallelFor { var, over, body },
                }
            }
            Op::Select => {
                let Some(axis) = self.axes[usize::from(found.word.operand1)] else {
                    return refused(found.at, "a selection over a range");
                };
                let row = self.row(found, scope)?;
                let depth = scope.depths.len() as u32;
                let position = wsp_core::ptow::XOp::XPos.code();
                let is_named = |word: &Word| word.opcode == position && word.operand2 == depth;
                let has_position = self.program.exprs.iter().any(is_named);
                let (var, position, body) = self.with_variable(body, has_position, scope)?;
                NodeKind::Select { var, position, axis, row, body }
            }
            Op::Cond => {
                let condition = self.expr(found.word.operand1.into(), Some(scope))?;
                let then = self.block(body, scope)?;
                let otherwise = match found.ext() {
                    None | Some(0) => Block::new(),
                    Some(body) => self.block(body, scope)?,
                };
                NodeKind::Cond { condition, then, otherwise }
            }
            Op::While => {
                let max = found.ext().filter(|max| *max != u32::MAX);
                let max = max.map(|max| self.expr(max, Some(scope))).transpose()?;
                scope.depths.push((None, None));
                let condition = self.expr(found.word.operand1.into(), Some(scope))?;
                let body = self.block(body, scope)?;
                scope.depths.pop();
                NodeKind::While { condition, max, body }
            }
            Op::Combine | Op::Sequential => {
                let blocks = found.bodies().into_iter().map(|body| self.block(body, scope));
                let blocks = blocks.collect::<Lifted<Vec<Block>>>()?;
                match found.info.op {
                    Op::Combine => NodeKind::Combine(blocks),
                    _ => NodeKind::Sequential(blocks),
                }
            }
            Op::Process => self.pipeline(found, scope)?,
            Op::Send | Op::Recv | Op::SelectCh | Op::SelectAll | Op::Close => self.transfer(found, scope)?,
            op if op.info().group == Group::Attribute => {
                return refused(
                    found.at,
                    format!("`{}` within the program: a schedule holds for all of it", op.info().mnemonic),
                );
            }
            op => {
                return refused(
                    found.at,
                    format!("`{}`, which no statement of a workload is", op.info().mnemonic),
                );
            }
        })
    }

    /// A body with one more variable, and perhaps that of a position.
    pub(super) fn with_variable(
        &mut self,
        body: u32,
        has_position: bool,
        scope: &mut Scope,
    ) -> Lifted<(VarId, Option<VarId>, Block)> {
        let depth = scope.depths.len();
        let var = scope.var(format!("i{depth}"));
        let position = has_position.then(|| scope.var(format!("at{depth}")));
        scope.depths.push((Some(var), position));
        let body = self.block(body, scope)?;
        scope.depths.pop();
        Ok((var, position, body))
    }

    /// What a loop runs over.
    fn over(&self, found: &Found<'_>, scope: &Scope) -> Lifted<Iteration> {
        let at = usize::from(found.word.operand1);
        let row = self.program.axes[at];
        let Some(axis) = self.axes[at] else {
            let expr = |first| self.expr(first, Some(scope));
            let step = Some(row.b >> 16).filter(|step| *step != u32::from(u16::MAX));
            let (lo, hi) = (expr(row.a.into())?, expr(row.b & 0xFFFF)?);
            return Ok(Iteration::Range { lo, hi, step: step.map(expr).transpose()? });
        };
        match &self.module.axes[axis.index()].kind {
            wsp_ir::workload::AxisKind::Ragged { .. } => {
                Ok(Iteration::Ragged { axis, outer: self.row(found, scope)? })
            }
            _ => Ok(Iteration::Axis(axis)),
        }
    }

    /// The row of an axis that a loop runs over: that of the innermost variable where the program does not say it.
    fn row(&self, found: &Found<'_>, scope: &Scope) -> Lifted<IntExpr> {
        match (found.ext(), scope.depths.last()) {
            (Some(row), _) => self.expr(row, Some(scope)),
            (None, Some((Some(var), _))) => Ok(IntExpr::new(IntExprKind::Var(*var))),
            (None, _) => refused(found.at, "a loop over the row that a round is"),
        }
    }

    /// A call of statements that are a workload of their own, in which all variables are known, and perhaps one more.
    fn call(&mut self, copy: &[Found<'p>], value: Option<IntExpr>, scope: &Scope) -> Lifted<NodeKind> {
        let mut inner = Scope::default();
        let mut args = Vec::new();
        for (var, position) in &scope.depths {
            let mut pass = |var: &Option<VarId>| {
                let var = (*var)?;
                args.push(IntExpr::new(IntExprKind::Var(var)));
                Some(inner.var(scope.vars[var.index()].name.clone()))
            };
            let passed = (pass(var), pass(position));
            inner.depths.push(passed);
        }
        if let Some(value) = value {
            args.push(value);
            let var = inner.var(format!("i{}", inner.depths.len()));
            inner.depths.push((Some(var), None));
        }
        self.calls += 1;
        if self.calls as usize > MAX_BODY_DEPTH {
            return refused(
                copy.first().map_or(0, |found| found.at),
                "copies of workloads that nest too deeply",
            );
        }
        let body = self.nodes(copy, &mut inner)?;
        self.calls -= 1;
        let name = self.name(None, &format!("part{}", self.module.workloads.len()));
        let Scope { vars, labels, channels, .. } = inner;
        let (params, channels) = (args.len() as u32, channels.declared);
        self.module.workloads.push(Workload {
            name,
            params,
            vars,
            labels,
            channels,
            body,
            span: Span::default(),
        });
        Ok(NodeKind::Call { workload: WorkloadId(self.module.workloads.len() as u32 - 1), args })
    }

    /// The labels that an instruction and its bodies name.
    fn labels(&self, found: &Found<'p>) -> Lifted<OrderedSet<u32>> {
        let mut named: OrderedSet<u32> = match found.info.op {
            Op::Task => found.exts.iter().map(|ext| ext.operand1.into()).collect(),
            Op::After => OrderedSet::from([found.word.operand1.into()]),
            _ => OrderedSet::new(),
        };
        for body in found.bodies() {
            for inner in self.statements(body)? {
                named.extend(self.labels(&inner)?);
            }
        }
        Ok(named)
    }

    fn task(&mut self, found: &Found<'p>, given: &[Found<'p>], scope: &mut Scope) -> Lifted<Task> {
        let kernel = KernelId(found.word.operand1);
        let (mut args, mut kinds, mut after) = (Vec::new(), Vec::new(), Vec::new());
        for one in given {
            let (kind, value) = match one.info.op {
                Op::After => {
                    let Some(label) = scope.known.get(&one.word.operand1) else {
                        return refused(
                            one.at,
                            "`AFTER` of a label that no earlier task of the same workload has",
                        );
                    };
                    after.push(*label);
                    continue;
                }
                Op::IoInput => (ParamKind::Tensor(AccessMode::In), self.access(one, scope)?),
                Op::IoOutput => (ParamKind::Tensor(AccessMode::Out), self.access(one, scope)?),
                Op::IoInout => (ParamKind::Tensor(AccessMode::InOut), self.access(one, scope)?),
                Op::ParamConst => {
                    (ParamKind::Scalar, ArgValue::Scalar(i64::from(one.word.operand2 as i32).into()))
                }
                Op::ParamLoopvar => {
                    let Some((Some(var), _)) = scope.depths.get(usize::from(one.word.operand1)) else {
                        return refused(one.at, "the number of a round");
                    };
                    (ParamKind::Scalar, ArgValue::Scalar(IntExpr::new(IntExprKind::Var(*var))))
                }
                _ => (ParamKind::Scalar, ArgValue::Scalar(self.expr(one.word.operand2, Some(scope))?)),
            };
            kinds.push(kind);
            args.push(Arg { name: None, value });
        }
        self.give(kernel, kinds, found.at)?;
        let mut label = None;
        if let Some(ext) = found.exts.first() {
            let named = LabelId(scope.labels.len() as u32);
            if scope.known.insert(ext.operand1, named).is_some() {
                return refused(found.at, "a label that several tasks have");
            }
            scope.labels.push(Label { name: format!("l{}", named.0), span: Span::default() });
            label = Some(named);
        }
        Ok(Task { kernel, label, args, after })
    }

    fn access(&self, found: &Found<'_>, scope: &Scope) -> Lifted<ArgValue> {
        let mut ranges = Vec::new();
        for ext in found.exts {
            let lo = || self.expr(ext.operand1.into(), Some(scope));
            let other = || match ext.flags & DIM_IMMEDIATE {
                0 => self.expr(ext.operand2, Some(scope)),
                _ => Ok(i64::from(ext.operand2 as i32).into()),
            };
            ranges.push(match DimKind::from_flags(ext.flags) {
                Some((DimKind::Index, _)) => DimRange::Index(lo()?),
                Some((DimKind::Range, _)) => DimRange::Range { lo: lo()?, hi: other()? },
                Some((DimKind::Sized, _)) => DimRange::Sized { lo: lo()?, len: other()? },
                Some((DimKind::Whole, _)) | None => DimRange::Whole,
            });
        }
        let tensor = TensorId(found.word.operand1.into());
        Ok(ArgValue::Access(Access { tensor, ranges, span: Span::default() }))
    }

    /// The axis of every loop at a depth; none where they differ.
    pub(super) fn axis_at(&self, depth: u32) -> Lifted<Option<wsp_core::AxisId>> {
        let mut found = OrderedSet::new();
        let mut left = vec![(0, 0)];
        while let Some((body, vars)) = left.pop() {
            for one in self.statements(body)? {
                let op = one.info.op;
                let binds = u32::from(op.binds());
                if binds == 1 && vars == depth {
                    let is_loop = matches!(op, Op::ParallelFor | Op::ForEach | Op::Select);
                    let row = is_loop.then(|| usize::from(one.word.operand1));
                    let form = row.and_then(|row| AxisForm::from_code(self.program.axes[row].form));
                    found
                        .insert(row.filter(|_| form != Some(AxisForm::Range)).and_then(|row| self.axes[row]));
                }
                left.extend(one.bodies().into_iter().map(|body| (body, vars + binds)));
            }
        }
        Ok(if found.len() == 1 { found.into_iter().next().flatten() } else { None })
    }
}
