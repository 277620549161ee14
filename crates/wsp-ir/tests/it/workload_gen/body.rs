//! Workloads of random modules.

use super::{Bytes, Values, expr, span};
use wsp_core::{AxisId, ChannelId, KernelId, LabelId, ParamId, TensorId, VarId, WorkloadId};
use wsp_ir::workload::{
    Access, Arg, ArgValue, Arm, AxisKind, Block, Channel, DimRange, IntExpr, IntExprKind, Iteration, Label,
    Node, NodeKind, ParamKind, Process, Signature, Task, Var, Workload, WorkloadModule,
};

/// Names of variables, some of them those of other things.
const NAMES: [&str; 8] = ["i", "j", "i_1", "p0", "x0", "k0", "a0", "t0"];

struct Body<'m> {
    module: &'m WorkloadModule,
    vars: Vec<Var>,
    labels: Vec<Label>,
    channels: Vec<Channel>,
    open: Vec<u32>,
    /// The process that is made, and the channels of its pipeline with the processes that send and consume.
    process: Option<usize>,
    ends: Vec<(ChannelId, [Option<usize>; 2])>,
    /// Channels that are closed before, and those of the sends around.
    closed: Vec<ChannelId>,
    sending: Vec<ChannelId>,
    /// Inside a statement whose steps follow each other.
    ordered: bool,
    /// Whether the workload, and which workloads before it, have pipelines.
    pipelined: bool,
    earlier: Vec<bool>,
}

pub(crate) fn workloads(b: &mut Bytes<'_>, m: &mut WorkloadModule) {
    let count = b.below(4);
    let mut pipelined = Vec::new();
    for at in 0..count {
        let last = at + 1 == count;
        let params = if last { 0 } else { b.below(4) as u32 };
        let mut body = Body {
            module: m,
            vars: Vec::new(),
            labels: Vec::new(),
            channels: Vec::new(),
            open: Vec::new(),
            process: None,
            ends: Vec::new(),
            closed: Vec::new(),
            sending: Vec::new(),
            ordered: false,
            pipelined: false,
            earlier: std::mem::take(&mut pipelined),
        };
        for _ in 0..params {
            let var = body.var(b);
            body.open.push(var.0);
        }
        let block = body.block(b, 0);
        let name = if last && b.maybe() { "main".to_owned() } else { format!("w{at}") };
        pipelined = body.earlier;
        pipelined.push(body.pipelined);
        let (vars, labels, channels) = (body.vars, body.labels, body.channels);
        m.workloads.push(Workload { name, params, vars, labels, channels, body: block, span: span() });
    }
}

impl Body<'_> {
    fn var(&mut self, b: &mut Bytes<'_>) -> VarId {
        self.vars.push(Var { name: b.pick(&NAMES).to_owned(), span: span() });
        VarId(self.vars.len() as u32 - 1)
    }

    fn expr(&self, b: &mut Bytes<'_>) -> IntExpr {
        let m = self.module;
        let (params, slots, tables) = (m.params.len(), m.slots.len(), m.tables.len());
        expr(b, &Values { params, vars: self.open.clone(), slots, axes: 0, tables }, 3)
    }

    fn block(&mut self, b: &mut Bytes<'_>, depth: u32) -> Block {
        let closed = self.closed.len();
        let block = (0..b.below(4)).map(|_| Node { kind: self.node(b, depth), span: span() }).collect();
        self.closed.truncate(closed);
        block
    }

    fn scoped(&mut self, b: &mut Bytes<'_>, vars: &[VarId], depth: u32) -> Block {
        let before = self.open.len();
        self.open.extend(vars.iter().map(|var| var.0));
        let block = self.block(b, depth + 1);
        self.open.truncate(before);
        block
    }

    fn axes(&self, fits: fn(&AxisKind) -> bool) -> Vec<AxisId> {
        let axes = self.module.axes.iter().enumerate();
        axes.filter(|(_, axis)| fits(&axis.kind)).map(|(at, _)| AxisId(at as u32)).collect()
    }

    fn iteration(&mut self, b: &mut Bytes<'_>) -> Iteration {
        let dense = self.axes(|kind| matches!(kind, AxisKind::Dense { .. } | AxisKind::DenseDyn(_)));
        let ragged = self.axes(|kind| matches!(kind, AxisKind::Ragged { .. }));
        match b.below(3) {
            1 if !dense.is_empty() => Iteration::Axis(b.pick(&dense)),
            2 if !ragged.is_empty() => Iteration::Ragged { axis: b.pick(&ragged), outer: self.expr(b) },
            _ => {
                let step = b.maybe().then(|| 3.into());
                Iteration::Range { lo: self.expr(b), hi: self.expr(b), step }
            }
        }
    }

    fn node(&mut self, b: &mut Bytes<'_>, depth: u32) -> NodeKind {
        let sparse = self.axes(|kind| matches!(kind, AxisKind::Sparse { .. }));
        let done = self.module.workloads.len();
        match b.below(if depth > 4 { 3 } else { 15 }) {
            1 if done > 0 => {
                let workload = WorkloadId(b.below(done) as u32);
                if self.earlier[workload.index()] {
                    if self.process.is_some() {
                        return self.task(b);
                    }
                    self.pipelined = true;
                }
                let count = self.module.workloads[workload.index()].params;
                NodeKind::Call { workload, args: (0..count).map(|_| self.expr(b)).collect() }
            }
            3 | 4 => {
                let over = self.iteration(b);
                let var = self.var(b);
                NodeKind::ParallelFor { var, over, body: self.scoped(b, &[var], depth) }
            }
            5 => {
                let over = self.iteration(b);
                let var = self.var(b);
                let outer = std::mem::replace(&mut self.ordered, true);
                let body = self.scoped(b, &[var], depth);
                self.ordered = outer;
                NodeKind::ForEach { var, over, body }
            }
            6 if !sparse.is_empty() => {
                let (axis, row) = (b.pick(&sparse), self.expr(b));
                let var = self.var(b);
                let position = b.maybe().then(|| self.var(b));
                let vars: Vec<VarId> = [var].into_iter().chain(position).collect();
                NodeKind::Select { var, position, axis, row, body: self.scoped(b, &vars, depth) }
            }
            7 => NodeKind::Cond {
                condition: self.expr(b),
                then: self.block(b, depth + 1),
                otherwise: self.block(b, depth + 1),
            },
            8 => {
                let (condition, max) = (self.expr(b), b.maybe().then(|| self.expr(b)));
                let outer = std::mem::replace(&mut self.ordered, true);
                let body = self.block(b, depth + 1);
                self.ordered = outer;
                NodeKind::While { condition, max, body }
            }
            9 => NodeKind::Combine((0..b.below(3)).map(|_| self.block(b, depth + 1)).collect()),
            10 => {
                let outer = std::mem::replace(&mut self.ordered, true);
                let steps = (0..b.below(3)).map(|_| self.block(b, depth + 1)).collect();
                self.ordered = outer;
                NodeKind::Sequential(steps)
            }
            11 | 12 if self.process.is_none() => self.pipeline(b, depth),
            13 | 14 if !self.ordered => self.transfer(b, depth),
            _ => self.task(b),
        }
    }

    fn pipeline(&mut self, b: &mut Bytes<'_>, depth: u32) -> NodeKind {
        self.pipelined = true;
        self.ends.clear();
        for _ in 0..b.below(4) {
            let depth = if b.maybe() || self.module.params.is_empty() {
                IntExpr::from(1 + b.below(3) as i64)
            } else {
                IntExpr::new(IntExprKind::Param(ParamId(b.below(self.module.params.len()) as u32)))
            };
            let id = ChannelId(self.channels.len() as u32);
            self.channels.push(Channel::new(format!("c{}", id.0), depth, span()));
            self.ends.push((id, [None; 2]));
        }
        let ordered = std::mem::replace(&mut self.ordered, false);
        let process = |at: usize, body: Block| Process { name: format!("p{at}"), body, span: span() };
        let processes = (0..b.below(4))
            .map(|at| {
                self.process = Some(at);
                process(at, self.block(b, depth + 1))
            })
            .collect();
        self.process = None;
        self.ordered = ordered;
        NodeKind::Pipeline { processes }
    }

    /// A send or a consume, if this process may.
    fn transfer(&mut self, b: &mut Bytes<'_>, depth: u32) -> NodeKind {
        let Some(process) = self.process.filter(|_| !self.ends.is_empty()) else { return self.task(b) };
        let (at, end) = (b.below(self.ends.len()), b.below(2));
        let (channel, users) = &mut self.ends[at];
        let channel = *channel;
        if *users[end].get_or_insert(process) != process {
            return self.task(b);
        }
        if end == 0 && self.closed.contains(&channel) {
            return self.task(b);
        }
        if end == 0 && b.below(8) == 7 && !self.sending.contains(&channel) {
            self.closed.push(channel);
            return NodeKind::Close { channel };
        }
        let var = self.var(b);
        self.sending.extend((end == 0).then_some(channel));
        let body = self.scoped(b, &[var], depth);
        if end == 0 {
            self.sending.pop();
            return NodeKind::Send { channel, var, body };
        }
        let mut arms = vec![Arm { channel, var, body, span: span() }];
        for (other, users) in self.ends.clone() {
            if b.below(3) == 2 && users[1] == Some(process) && arms.iter().all(|arm| arm.channel != other) {
                let var = self.var(b);
                let body = self.scoped(b, &[var], depth);
                arms.push(Arm { channel: other, var, body, span: span() });
            }
        }
        NodeKind::Consume { arms, all: b.maybe() }
    }

    fn task(&mut self, b: &mut Bytes<'_>) -> NodeKind {
        let m = self.module;
        let kernel = KernelId(b.below(m.kernels.len()) as u16);
        let args = match &m.kernels[kernel.index()].signature {
            Signature::Library => {
                let (count, named) = (b.below(4), b.below(4));
                let name = |at: usize| (at >= named).then(|| format!("f{at}"));
                (0..count).map(|at| Arg { name: name(at), value: ArgValue::Scalar(self.expr(b)) }).collect()
            }
            // Without a tensor, a kernel that takes one has no tasks; an empty `combine` stands in.
            Signature::Declared(params)
                if m.tensors.is_empty() && params.iter().any(|param| param.kind != ParamKind::Scalar) =>
            {
                return NodeKind::Combine(Vec::new());
            }
            Signature::Declared(params) => params.iter().map(|param| self.arg(b, param.kind)).collect(),
        };
        let labels = self.labels.len();
        let count = if labels == 0 { 0 } else { b.below(3) };
        let after = (0..count).map(|_| LabelId(b.below(labels) as u32)).collect();
        let label = b.maybe().then(|| {
            self.labels.push(Label { name: format!("l{}", self.labels.len()), span: span() });
            LabelId(self.labels.len() as u32 - 1)
        });
        NodeKind::Task(Task { kernel, label, args, after })
    }

    fn arg(&mut self, b: &mut Bytes<'_>, kind: ParamKind) -> Arg {
        let m = self.module;
        let value = match kind {
            ParamKind::Scalar => ArgValue::Scalar(self.expr(b)),
            ParamKind::Tensor(_) => {
                let tensor = TensorId(b.below(m.tensors.len()) as u32);
                let rank = b.below(m.tensors[tensor.index()].dims.len() + 1);
                let ranges = (0..rank).map(|_| self.range(b)).collect();
                ArgValue::Access(Access { tensor, ranges, span: span() })
            }
        };
        Arg { name: None, value }
    }

    /// Reads no slots, since the task may write them.
    fn bound(&self, b: &mut Bytes<'_>) -> IntExpr {
        let m = self.module;
        let values = Values {
            params: m.params.len(),
            vars: self.open.clone(),
            slots: 0,
            axes: 0,
            tables: m.tables.len(),
        };
        expr(b, &values, 4)
    }

    fn range(&self, b: &mut Bytes<'_>) -> DimRange {
        match b.below(4) {
            0 => DimRange::Whole,
            1 => DimRange::Index(self.bound(b)),
            2 => DimRange::Range { lo: self.bound(b), hi: self.bound(b) },
            _ => DimRange::Sized { lo: self.bound(b), len: self.bound(b) },
        }
    }
}
