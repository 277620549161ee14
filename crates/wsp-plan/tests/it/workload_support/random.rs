//! Random modules that keep the verifier's rules, from a seed.

use wsp_core::{
    AxisId, ChannelId, DType, KernelId, LabelId, ParamId, SlotId, TableId, TensorId, VarId, WorkloadId,
};
use wsp_diag::Span;
use wsp_ir::workload::*;
use wsp_ir::{BinOp, UnOp};

/// A generator of numbers.
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Rng {
        Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }

    pub(crate) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn between(&mut self, lo: i64, hi: i64) -> i64 {
        lo + self.below((hi - lo + 1) as u64) as i64
    }
}

/// Tables of every module: lengths, row pointer, columns.
const LENGTHS: TableId = TableId(0);
const INDPTR: TableId = TableId(1);
const COLUMNS: TableId = TableId(2);

/// Which statements a module may have.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Kinds {
    Plain,
    Pipelines,
}

struct Maker {
    rng: Rng,
    module: WorkloadModule,
    /// Of the workload being made.
    vars: Vec<Var>,
    scope: Vec<VarId>,
    labels: Vec<Label>,
    defined: Vec<LabelId>,
    channels: Vec<Channel>,
    /// The process being made, and the processes that send and consume by channel of its pipeline.
    process: Option<usize>,
    ends: Vec<(ChannelId, [Option<usize>; 2])>,
    /// Channels that are closed before, and those of the sends around.
    closed: Vec<ChannelId>,
    sending: Vec<ChannelId>,
    /// Inside a statement whose steps follow each other.
    ordered: bool,
    /// Whether processes may call each workload: it has no pipeline and names no slot.
    callable: Vec<bool>,
    kinds: Kinds,
    workload: u32,
    budget: u32,
}

/// A module without pipelines; the same for the same seed.
pub(crate) fn random_module(seed: u64) -> WorkloadModule {
    make(seed, Kinds::Plain)
}

/// A module that may have pipelines; the same for the same seed.
pub(crate) fn random_pipelines(seed: u64) -> WorkloadModule {
    make(seed, Kinds::Pipelines)
}

fn make(seed: u64, kinds: Kinds) -> WorkloadModule {
    let mut maker = Maker {
        rng: Rng::new(seed),
        module: WorkloadModule::default(),
        vars: Vec::new(),
        scope: Vec::new(),
        labels: Vec::new(),
        defined: Vec::new(),
        channels: Vec::new(),
        process: None,
        ends: Vec::new(),
        closed: Vec::new(),
        sending: Vec::new(),
        ordered: false,
        callable: Vec::new(),
        kinds,
        workload: 0,
        budget: 0,
    };
    maker.declarations();
    let workloads = maker.rng.below(3) as u32 + 1;
    for index in 0..workloads {
        maker.workload(index, index + 1 == workloads);
    }
    maker.module.entry = Some(WorkloadId(workloads - 1));
    maker.module
}

impl Maker {
    fn declarations(&mut self) {
        let span = Span::default();
        for index in 0..2 {
            let default = IntExpr::from(self.rng.between(1, 6));
            let source = ParamSource::Set(Some(default));
            self.module.params.push(Param { name: format!("p{index}"), source, span });
        }
        let rows = self.rng.between(1, 4);
        let lengths = (0..rows).map(|_| self.rng.between(0, 3)).collect();
        let mut indptr = vec![0];
        for _ in 0..rows {
            indptr.push(indptr[indptr.len() - 1] + self.rng.between(0, 3));
        }
        let entries = indptr[indptr.len() - 1];
        let columns = (0..entries).map(|_| self.rng.between(0, 5)).collect();
        for (name, values) in [("lens", lengths), ("indptr", indptr), ("cols", columns)] {
            self.module.tables.push(Table { name: name.to_owned(), len: None, values: Some(values), span });
        }
        let kinds = [
            AxisKind::Dense { start: 0.into(), end: rows.into() },
            AxisKind::DenseDyn(ParamId(1)),
            AxisKind::Ragged { outer: AxisId(0), lengths: LENGTHS },
            AxisKind::Sparse { outer: AxisId(0), indptr: INDPTR, indices: COLUMNS },
        ];
        for (index, kind) in kinds.into_iter().enumerate() {
            self.module.axes.push(Axis { name: format!("a{index}"), kind, span });
        }
        for index in 0..3 {
            let dims = (0..=self.rng.below(3)).map(|_| self.rng.between(0, 60).into()).collect();
            self.module.tensors.push(Tensor { name: format!("t{index}"), dtype: DType::F32, dims, span });
        }
        self.module.tensors.push(Tensor {
            name: "s".to_owned(),
            dtype: DType::I64,
            dims: vec![1.into()],
            span,
        });
        self.module.slots.push(Slot { tensor: TensorId(3), init: 0.into(), span });
        for index in 0..3 {
            let params =
                (0..self.rng.below(4)).map(|n| KernelParam { name: format!("x{n}"), kind: self.kind() });
            let signature = Signature::Declared(params.collect::<Vec<_>>());
            let unit = [ExecPool::Vector, ExecPool::Cube, ExecPool::Any][index];
            self.module.kernels.push(Kernel {
                name: format!("k{index}"),
                signature,
                unit,
                on_host: false,
                cost: None,
                span,
            });
        }
    }

    fn kind(&mut self) -> ParamKind {
        match self.rng.below(5) {
            0 => ParamKind::Scalar,
            1 => ParamKind::Tensor(AccessMode::Out),
            2 => ParamKind::Tensor(AccessMode::InOut),
            _ => ParamKind::Tensor(AccessMode::In),
        }
    }

    fn workload(&mut self, index: u32, entry: bool) {
        self.vars.clear();
        self.scope.clear();
        self.labels.clear();
        self.defined.clear();
        self.workload = index;
        self.budget = 14;
        let params = if entry { 0 } else { self.rng.below(3) as u32 };
        for _ in 0..params {
            let var = self.var();
            self.scope.push(var);
        }
        self.callable.push(true);
        let body = self.block(0);
        self.module.workloads.push(Workload {
            name: format!("w{index}"),
            params,
            vars: std::mem::take(&mut self.vars),
            labels: std::mem::take(&mut self.labels),
            channels: std::mem::take(&mut self.channels),
            body,
            span: Span::default(),
        });
    }

    fn var(&mut self) -> VarId {
        self.vars.push(Var { name: format!("v{}", self.vars.len()), span: Span::default() });
        VarId(self.vars.len() as u32 - 1)
    }

    fn block(&mut self, depth: u32) -> Block {
        let (mut block, closed) = (Vec::new(), self.closed.len());
        for _ in 0..=self.rng.below(3) {
            if self.budget == 0 {
                break;
            }
            self.budget -= 1;
            let kind = self.node(depth);
            block.push(Node { kind, span: Span::default() });
        }
        self.closed.truncate(closed);
        block
    }

    fn node(&mut self, depth: u32) -> NodeKind {
        if depth >= 5 || self.rng.one_in(3) {
            return self.task();
        }
        match self.rng.below(if self.kinds == Kinds::Pipelines { 14 } else { 12 }) {
            0..=3 => {
                let over = self.iteration();
                let var = self.var();
                let body = self.inside(&[var], depth);
                NodeKind::ParallelFor { var, over, body }
            }
            4 | 5 => {
                let over = self.iteration();
                let var = self.var();
                let body = self.steps(|maker| maker.inside(&[var], depth));
                NodeKind::ForEach { var, over, body }
            }
            6 => {
                let row = self.row();
                let (var, position) = (self.var(), self.rng.one_in(2).then(|| self.var()));
                let vars: Vec<VarId> = std::iter::once(var).chain(position).collect();
                let body = self.inside(&vars, depth);
                NodeKind::Select { var, position, axis: AxisId(3), row, body }
            }
            7 => {
                let condition = self.late_expr();
                let defined = self.defined.len();
                let then = self.block(depth + 1);
                self.defined.truncate(defined);
                let otherwise = if self.rng.one_in(2) { Vec::new() } else { self.block(depth + 1) };
                self.defined.truncate(defined);
                NodeKind::Cond { condition, then, otherwise }
            }
            8 if self.process.is_none() => {
                let condition = IntExpr::new(IntExprKind::Slot(SlotId(0)));
                self.not_callable();
                let max = self.rng.one_in(2).then(|| self.rng.between(0, 4).into());
                let body = self.inside(&[], depth);
                NodeKind::While { condition, max, body }
            }
            9 => NodeKind::Combine(vec![self.block(depth + 1), self.block(depth + 1)]),
            10 => {
                let steps = self.steps(|maker| vec![maker.block(depth + 1), maker.block(depth + 1)]);
                NodeKind::Sequential(steps)
            }
            11 if self.kinds == Kinds::Pipelines && self.process.is_none() => self.pipeline(depth),
            12 if self.process.is_some() && !self.ordered && !self.ends.is_empty() => self.transfer(depth),
            _ if self.workload > 0 => {
                let workload = WorkloadId(self.rng.below(u64::from(self.workload)) as u32);
                if !self.callable[workload.index()] {
                    if self.process.is_some() {
                        return self.task();
                    }
                    self.not_callable();
                }
                let params = self.module.workloads[workload.index()].params;
                let args = (0..params).map(|_| self.late_expr()).collect();
                NodeKind::Call { workload, args }
            }
            _ => self.task(),
        }
    }

    /// A workload of its own has something that processes cannot have.
    fn not_callable(&mut self) {
        if let Some(callable) = self.callable.last_mut() {
            *callable = false;
        }
    }

    fn steps<T>(&mut self, make: impl FnOnce(&mut Maker) -> T) -> T {
        let outer = std::mem::replace(&mut self.ordered, true);
        let made = make(self);
        self.ordered = outer;
        made
    }

    /// Stages in a row, or processes that use channels as it comes.
    fn pipeline(&mut self, depth: u32) -> NodeKind {
        self.not_callable();
        let stages = self.rng.below(3) + 2;
        let first = self.channels.len() as u32;
        self.ends.clear();
        for id in (first..).take(stages as usize - 1) {
            let depth = self.rng.between(0, 4).into();
            self.channels.push(Channel::new(format!("c{id}"), depth, Span::default()));
            self.ends.push((ChannelId(id), [None; 2]));
        }
        let trips = (!self.rng.one_in(3)).then(|| self.rng.between(0, 7));
        if trips.is_some() {
            self.ends.clear();
        }
        let (outer, defined) = (std::mem::replace(&mut self.ordered, false), self.defined.len());
        let mut processes = Vec::new();
        for stage in 0..stages as usize {
            self.process = Some(stage);
            self.budget = self.budget.max(3);
            let body = match trips {
                Some(trips) => self.stage(trips, first, stage, stages as usize, depth),
                None => self.block(depth + 1),
            };
            self.defined.truncate(defined);
            processes.push(Process { name: format!("p{stage}"), body, span: Span::default() });
        }
        self.process = None;
        self.ordered = outer;
        NodeKind::Pipeline { processes }
    }

    /// A stage that takes a token from the one before and gives one to the next, so many times.
    fn stage(&mut self, trips: i64, first: u32, stage: usize, stages: usize, depth: u32) -> Block {
        let var = self.var();
        let wrap = |kind: NodeKind| vec![Node { kind, span: Span::default() }];
        let consumes = stage > 0;
        let slots: Vec<VarId> = (0..2).map(|_| self.var()).collect();
        let mut body = self.inside(&[var, slots[0], slots[1]], depth + 2);
        if stage + 1 < stages {
            let channel = ChannelId(first + stage as u32);
            body = wrap(NodeKind::Send { channel, var: slots[1], body });
        } else {
            body = wrap(NodeKind::Select {
                var: slots[1],
                position: None,
                axis: AxisId(3),
                row: 0.into(),
                body,
            });
        }
        let over = |hi: i64| Iteration::Range { lo: 0.into(), hi: hi.into(), step: None };
        body = if consumes {
            let channel = ChannelId(first + stage as u32 - 1);
            let arm = Arm { channel, var: slots[0], body, span: Span::default() };
            wrap(NodeKind::Consume { arms: vec![arm], all: false })
        } else {
            wrap(NodeKind::ParallelFor { var: slots[0], over: over(1), body })
        };
        wrap(NodeKind::ParallelFor { var, over: over(trips), body })
    }

    fn transfer(&mut self, depth: u32) -> NodeKind {
        let (at, end) = (self.rng.below(self.ends.len() as u64) as usize, self.rng.below(2) as usize);
        let (channel, process) = (self.ends[at].0, self.process);
        if *self.ends[at].1[end].get_or_insert(process.unwrap_or(0)) != process.unwrap_or(0) {
            return self.task();
        }
        if end == 0 && self.closed.contains(&channel) {
            return self.task();
        }
        if end == 0 && self.rng.one_in(6) && !self.sending.contains(&channel) {
            self.closed.push(channel);
            return NodeKind::Close { channel };
        }
        let var = self.var();
        self.sending.extend((end == 0).then_some(channel));
        let body = self.inside(&[var], depth);
        if end == 0 {
            self.sending.pop();
            return NodeKind::Send { channel, var, body };
        }
        let mut arms = vec![Arm { channel, var, body, span: Span::default() }];
        while self.rng.one_in(3) {
            let at = self.rng.below(self.ends.len() as u64) as usize;
            let (channel, ends) = &mut self.ends[at];
            let channel = *channel;
            let other = *ends[1].get_or_insert(process.unwrap_or(0)) != process.unwrap_or(0);
            if other || arms.iter().any(|arm| arm.channel == channel) {
                break;
            }
            let var = self.var();
            let body = self.inside(&[var], depth);
            arms.push(Arm { channel, var, body, span: Span::default() });
        }
        NodeKind::Consume { arms, all: self.rng.one_in(3) }
    }

    fn inside(&mut self, vars: &[VarId], depth: u32) -> Block {
        let (scope, defined) = (self.scope.len(), self.defined.len());
        self.scope.extend_from_slice(vars);
        let body = self.block(depth + 1);
        self.scope.truncate(scope);
        self.defined.truncate(defined);
        body
    }

    fn iteration(&mut self) -> Iteration {
        match self.rng.below(8) {
            0 => Iteration::Axis(AxisId(0)),
            1 => Iteration::Axis(AxisId(1)),
            2 => Iteration::Ragged { axis: AxisId(2), outer: self.row() },
            3 => {
                // Indices for which sums of scaled variables would not be exact.
                let far = 1i64 << [31, 33, 62][self.rng.below(3) as usize];
                Iteration::Range { lo: (far - 2).into(), hi: far.into(), step: None }
            }
            4 => {
                let (lo, hi) = (self.small(), self.small());
                let step = if self.rng.one_in(20) && !self.scope.is_empty() {
                    self.any_var()
                } else {
                    self.rng.between(1, 3).into()
                };
                let step = Some(step);
                Iteration::Range { lo, hi, step }
            }
            _ => Iteration::Range { lo: self.rng.between(-1, 1).into(), hi: self.small(), step: None },
        }
    }

    /// A row of the outer axis, as a rule.
    fn row(&mut self) -> IntExpr {
        if self.rng.one_in(12) { self.small() } else { 0.into() }
    }

    /// A bound of a loop.
    fn small(&mut self) -> IntExpr {
        match self.rng.below(4) {
            0 if !self.scope.is_empty() => {
                let var = self.any_var();
                self.binary(BinOp::Min, var, 4)
            }
            1 => IntExpr::new(IntExprKind::Param(ParamId(self.rng.below(2) as u32))),
            _ => self.rng.between(-1, 4).into(),
        }
    }

    fn any_var(&mut self) -> IntExpr {
        if self.scope.is_empty() {
            return self.rng.between(0, 5).into();
        }
        let var = self.scope[self.rng.below(self.scope.len() as u64) as usize];
        IntExpr::new(IntExprKind::Var(var))
    }

    fn binary(&mut self, op: BinOp, left: IntExpr, right: i64) -> IntExpr {
        IntExpr::new(IntExprKind::Binary(op, Box::new(left), Box::new(right.into())))
    }

    /// An expression, mostly a sum of scaled variables.
    fn expr(&mut self, depth: u32) -> IntExpr {
        let sub = |maker: &mut Maker| Box::new(maker.expr(depth + 1));
        let kind = match self.rng.below(if depth > 3 { 4 } else { 16 }) {
            0 | 1 => return self.any_var(),
            2 => IntExprKind::Const(self.rng.between(-2, 9)),
            3 => IntExprKind::Param(ParamId(self.rng.below(2) as u32)),
            4..=6 => IntExprKind::Binary(BinOp::Add, sub(self), sub(self)),
            7 => IntExprKind::Binary(BinOp::Sub, sub(self), sub(self)),
            8 | 9 => {
                let scale = if self.rng.one_in(10) { 1 << 40 } else { self.rng.between(0, 6) };
                IntExprKind::Binary(BinOp::Mul, sub(self), Box::new(scale.into()))
            }
            10 => {
                let all = [
                    BinOp::Mul,
                    BinOp::Div,
                    BinOp::Rem,
                    BinOp::CeilDiv,
                    BinOp::Min,
                    BinOp::Max,
                    BinOp::And,
                    BinOp::Or,
                    BinOp::Lt,
                    BinOp::Ne,
                ];
                let op = all[self.rng.below(all.len() as u64) as usize];
                IntExprKind::Binary(op, sub(self), sub(self))
            }
            11 => IntExprKind::Unary(UnOp::Neg, sub(self)),
            12 => IntExprKind::Choose(sub(self), sub(self), sub(self)),
            13 => IntExprKind::Table(LENGTHS, Box::new(self.any_var())),
            14 => IntExprKind::Table(COLUMNS, Box::new(self.rng.between(0, 2).into())),
            _ => IntExprKind::TableLen(COLUMNS),
        };
        IntExpr::new(kind)
    }

    /// An expression that may name the slot.
    fn late_expr(&mut self) -> IntExpr {
        if self.process.is_none() && self.rng.one_in(8) {
            self.not_callable();
            let slot = IntExpr::new(IntExprKind::Slot(SlotId(0)));
            return IntExpr::new(IntExprKind::Binary(BinOp::Add, Box::new(slot), Box::new(self.any_var())));
        }
        self.expr(0)
    }

    fn task(&mut self) -> NodeKind {
        let kernel = KernelId(self.rng.below(3) as u16);
        let Signature::Declared(params) = self.module.kernels[kernel.index()].signature.clone() else {
            unreachable!("all are declared")
        };
        let args = params.iter().map(|param| Arg {
            name: None,
            value: match param.kind {
                ParamKind::Scalar => ArgValue::Scalar(self.late_expr()),
                ParamKind::Tensor(_) => ArgValue::Access(self.access()),
            },
        });
        let args = args.collect();
        let after = if self.defined.is_empty() || self.rng.one_in(2) {
            Vec::new()
        } else {
            (0..=self.rng.below(2))
                .map(|_| self.defined[self.rng.below(self.defined.len() as u64) as usize])
                .collect()
        };
        let label = self.rng.one_in(3).then(|| {
            self.labels.push(Label { name: format!("l{}", self.labels.len()), span: Span::default() });
            LabelId(self.labels.len() as u32 - 1)
        });
        self.defined.extend(label);
        NodeKind::Task(Task { kernel, label, args, after })
    }

    fn access(&mut self) -> Access {
        let tensor = TensorId(self.rng.below(3) as u32);
        let dims = self.module.tensors[tensor.index()].dims.len() as u64;
        let ranges = (0..self.rng.below(dims + 1)).map(|_| self.range()).collect();
        Access { tensor, ranges, span: Span::default() }
    }

    /// A range that is mostly within a tensor.
    fn range(&mut self) -> DimRange {
        let lo = if self.rng.one_in(3) { self.expr(0) } else { self.scaled() };
        match self.rng.below(4) {
            0 => DimRange::Whole,
            1 => DimRange::Index(lo),
            2 => {
                let hi = IntExpr::new(IntExprKind::Binary(
                    BinOp::Add,
                    Box::new(lo.clone()),
                    Box::new(if self.rng.one_in(3) { self.any_var() } else { self.rng.between(0, 4).into() }),
                ));
                DimRange::Range { lo, hi }
            }
            _ => {
                let len = if self.rng.one_in(10) { self.late_expr() } else { self.rng.between(0, 4).into() };
                DimRange::Sized { lo, len }
            }
        }
    }

    fn scaled(&mut self) -> IntExpr {
        let (var, scale) = (self.any_var(), self.rng.between(0, 3));
        self.binary(BinOp::Mul, var, scale)
    }
}
