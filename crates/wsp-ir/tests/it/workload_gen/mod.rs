//! Modules that keep the rules, from bytes.

mod body;

use wsp_core::{AxisId, DType, ParamId, TableId, TensorId};
use wsp_diag::Span;
use wsp_ir::workload::{
    AccessMode, Axis, AxisKind, BatchDeps, Deps, Directive, DirectiveKind, Dispatch, DispatchThreshold,
    ExecPool, Gate, GateScope, IntExpr, IntExprKind, Kernel, KernelParam, Param, ParamKind, ParamSource,
    PoolSizes, Priority, Ready, Schedule, Signature, Slot, Start, StreamBy, Streams, Table, Tensor,
    ThresholdPolicy, Trace, Use, Window, WindowMode, WorkloadModule,
};
use wsp_ir::{BinOp, UnOp};

/// Bytes that decide; when they run out every decision is the first, which ends all recursion.
pub(crate) struct Bytes<'b> {
    bytes: std::slice::Iter<'b, u8>,
}

impl Bytes<'_> {
    pub(crate) fn below(&mut self, n: usize) -> usize {
        usize::from(self.bytes.next().copied().unwrap_or(0)) % n
    }

    pub(crate) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    pub(crate) fn maybe(&mut self) -> bool {
        self.below(2) == 1
    }

    pub(crate) fn number(&mut self) -> i64 {
        match self.below(8) {
            0 => i64::MIN,
            1 => i64::MAX,
            2 => -(self.below(100) as i64),
            _ => self.below(100) as i64,
        }
    }
}

/// Which values an expression may use.
pub(crate) struct Values {
    pub(crate) params: usize,
    pub(crate) vars: Vec<u32>,
    pub(crate) slots: usize,
    pub(crate) axes: usize,
    pub(crate) tables: usize,
}

impl Values {
    fn of_params(params: usize) -> Values {
        Values { params, vars: Vec::new(), slots: 0, axes: 0, tables: 0 }
    }
}

const BINARY: [BinOp; 16] = [
    BinOp::Add,
    BinOp::Sub,
    BinOp::Mul,
    BinOp::Div,
    BinOp::Rem,
    BinOp::CeilDiv,
    BinOp::Min,
    BinOp::Max,
    BinOp::Eq,
    BinOp::Ne,
    BinOp::Lt,
    BinOp::Le,
    BinOp::Gt,
    BinOp::Ge,
    BinOp::And,
    BinOp::Or,
];

pub(crate) fn expr(b: &mut Bytes<'_>, values: &Values, depth: u32) -> IntExpr {
    let inner = |b: &mut Bytes<'_>| Box::new(expr(b, values, depth + 1));
    let kinds = if depth > 5 { 6 } else { 11 };
    let kind = match b.below(kinds) {
        1 if values.params > 0 => IntExprKind::Param(ParamId(b.below(values.params) as u32)),
        2 | 3 if !values.vars.is_empty() => IntExprKind::Var(wsp_core::VarId(b.pick(&values.vars))),
        4 if values.slots > 0 => IntExprKind::Slot(wsp_core::SlotId(b.below(values.slots) as u32)),
        5 if values.axes > 0 => IntExprKind::Axis(AxisId(b.below(values.axes) as u32)),
        6 if values.tables > 0 => IntExprKind::TableLen(TableId(b.below(values.tables) as u32)),
        7 if values.tables > 0 => IntExprKind::Table(TableId(b.below(values.tables) as u32), inner(b)),
        8 => IntExprKind::Unary(b.pick(&[UnOp::Neg, UnOp::Not]), inner(b)),
        9 => IntExprKind::Choose(inner(b), inner(b), inner(b)),
        10 => IntExprKind::Binary(b.pick(&BINARY), inner(b), inner(b)),
        _ => IntExprKind::Const(b.number()),
    };
    IntExpr::new(kind)
}

fn span() -> Span {
    Span::default()
}

/// A module that keeps the rules.
pub(crate) fn module(bytes: &[u8]) -> WorkloadModule {
    let b = &mut Bytes { bytes: bytes.iter() };
    let mut m = WorkloadModule::default();
    let paths = ["kernels.pto", "a \"b\" \\c.pto", "../größe.pto"];
    m.uses = (0..b.below(3)).map(|i| Use { path: paths[i].to_owned(), span: span() }).collect();
    for i in 0..b.below(4) {
        let value = expr(b, &Values::of_params(i), 0);
        let source = match b.below(3) {
            0 => ParamSource::Set(None),
            1 => ParamSource::Set(Some(value)),
            _ => ParamSource::Derived(value),
        };
        m.params.push(Param { name: format!("p{i}"), source, span: span() });
    }
    let params = Values::of_params(m.params.len());
    for i in 0..b.below(4) {
        let values = b.maybe().then(|| (0..b.below(5)).map(|_| b.number()).collect::<Vec<i64>>());
        let len = match &values {
            Some(values) => b.maybe().then(|| (values.len() as i64).into()),
            None => b.maybe().then(|| expr(b, &params, 1)),
        };
        m.tables.push(Table { name: format!("t{i}"), len, values, span: span() });
    }
    axes(b, &mut m);
    for i in 0..b.below(5) {
        if b.below(3) == 0 {
            let tensor = TensorId(m.tensors.len() as u32);
            m.slots.push(Slot { tensor, init: expr(b, &params, 2), span: span() });
            let dims = vec![1.into()];
            m.tensors.push(Tensor { name: format!("s{i}"), dtype: DType::I64, dims, span: span() });
        } else {
            let dims = (0..1 + b.below(6)).map(|_| expr(b, &params, 3)).collect();
            m.tensors.push(Tensor { name: format!("x{i}"), dtype: b.pick(&DType::ALL), dims, span: span() });
        }
    }
    kernels(b, &mut m);
    body::workloads(b, &mut m);
    for name in ["", "fast", "i"] {
        if b.maybe() {
            let schedule = schedule(b, &m, name);
            m.schedules.push(schedule);
        }
    }
    m.entry = m.runs();
    m
}

fn axes(b: &mut Bytes<'_>, m: &mut WorkloadModule) {
    let (params, tables) = (m.params.len(), m.tables.len());
    let values = Values { params, vars: Vec::new(), slots: 0, axes: 0, tables };
    for i in 0..b.below(5) {
        let dense: Vec<u32> = (0..m.axes.len())
            .filter(|at| matches!(m.axes[*at].kind, AxisKind::Dense { .. } | AxisKind::DenseDyn(_)))
            .map(|at| at as u32)
            .collect();
        let nested = !dense.is_empty() && tables > 0;
        let table = |b: &mut Bytes<'_>| TableId(b.below(tables.max(1)) as u32);
        let kind = match b.below(4) {
            1 if params > 0 => AxisKind::DenseDyn(ParamId(b.below(params) as u32)),
            2 if nested => AxisKind::Ragged { outer: AxisId(b.pick(&dense)), lengths: table(b) },
            3 if nested => {
                AxisKind::Sparse { outer: AxisId(b.pick(&dense)), indptr: table(b), indices: table(b) }
            }
            _ => AxisKind::Dense { start: expr(b, &values, 3), end: expr(b, &values, 2) },
        };
        m.axes.push(Axis { name: format!("a{i}"), kind, span: span() });
    }
}

fn kernels(b: &mut Bytes<'_>, m: &mut WorkloadModule) {
    let kinds = [
        ParamKind::Scalar,
        ParamKind::Tensor(AccessMode::In),
        ParamKind::Tensor(AccessMode::Out),
        ParamKind::Tensor(AccessMode::InOut),
    ];
    let names = ["in_", "out", "inout", "i", "n", "cost"];
    for i in 0..1 + b.below(3) {
        let mut scalars = 0;
        let signature = if !m.uses.is_empty() && b.maybe() {
            Signature::Library
        } else {
            let params =
                (0..b.below(6)).map(|at| KernelParam { name: names[at].to_owned(), kind: b.pick(&kinds) });
            let params: Vec<KernelParam> = params.collect();
            scalars = params.iter().filter(|param| param.kind == ParamKind::Scalar).count() as u32;
            Signature::Declared(params)
        };
        let values = Values { vars: (0..scalars).collect(), ..Values::of_params(m.params.len()) };
        // A number of cycles is not negative.
        let cost = b.maybe().then(|| expr(b, &values, 1));
        let cost = cost.filter(|cost| cost.as_const().is_none_or(|cycles| cycles >= 0));
        let unit = b.pick(&[ExecPool::Any, ExecPool::Vector, ExecPool::Cube]);
        m.kernels.push(Kernel { name: format!("k{i}"), signature, unit, on_host: false, cost, span: span() });
    }
}

fn dispatch(b: &mut Bytes<'_>, values: &Values) -> Dispatch {
    match b.below(5) {
        0 => Dispatch::RoundRobin,
        1 => Dispatch::Affinity(expr(b, values, 2)),
        2 => Dispatch::Hash(expr(b, values, 2)),
        3 => Dispatch::StaticPartition(vec![(0, 4), (4, 4), (4, u64::MAX)]),
        _ => Dispatch::WorkSteal,
    }
}

fn schedule(b: &mut Bytes<'_>, m: &WorkloadModule, name: &str) -> Schedule {
    let (params, tables, axes) = (m.params.len(), m.tables.len(), m.axes.len());
    let values = &Values { params, vars: Vec::new(), slots: 0, axes, tables };
    let mut kinds = vec![Streams(1 + b.below(9) as u32).into(), DirectiveKind::Ready(Ready::Priority)];
    let all: [fn(&mut Bytes<'_>, &Values) -> DirectiveKind; 11] = [
        |b, values| DirectiveKind::Dispatch(dispatch(b, values)),
        |b, values| StreamBy(expr(b, values, 1)).into(),
        |b, values| Priority(expr(b, values, 1)).into(),
        |b, _| {
            let all = [Deps::Exact, Deps::Overlap, Deps::Explicit, Deps::Hybrid];
            DirectiveKind::Deps(b.pick(&all))
        },
        |b, _| {
            let mode = b.pick(&[WindowMode::Stall, WindowMode::Abort, WindowMode::Benchmark]);
            DirectiveKind::Window(Window { capacity: 1 + b.below(99) as u32, mode })
        },
        |b, _| DirectiveKind::Pools(b.pick(&[PoolSizes::Shared, PoolSizes::ByUnit { vector: 3, cube: 1 }])),
        |b, _| {
            let all = [Start::Immediate, Start::AfterOrchestration, Start::Threshold(7)];
            DirectiveKind::Start(b.pick(&all))
        },
        |b, _| DirectiveKind::Trace(b.pick(&[Trace::None, Trace::Measured, Trace::Cycles])),
        |b, _| {
            let scope = b.pick(&[GateScope::Global, GateScope::PerStream, GateScope::PerPool]);
            DirectiveKind::Gate(Gate { scope, capacity: u32::MAX })
        },
        |_, _| BatchDeps(16).into(),
        |b, values| {
            let metric = expr(b, values, 1);
            let pool = b.pick(&[ExecPool::Any, ExecPool::Vector, ExecPool::Cube]);
            let policies = vec![
                ThresholdPolicy::Pool(pool),
                ThresholdPolicy::Dispatch(dispatch(b, values)),
                ThresholdPolicy::Dispatch(Dispatch::WorkSteal),
            ];
            DispatchThreshold { metric, bounds: vec![-1, 2048], policies }.into()
        },
    ];
    for make in all {
        if b.maybe() {
            kinds.push(make(b, values));
        }
    }
    // A level that is a pool needs pools.
    if kinds.iter().any(|kind| matches!(kind, DirectiveKind::DispatchThreshold(_))) {
        kinds.retain(|kind| !matches!(kind, DirectiveKind::Pools(_)));
        kinds.push(DirectiveKind::Pools(PoolSizes::ByUnit { vector: 3, cube: 1 }));
    }
    let turn = b.below(kinds.len());
    kinds.rotate_left(turn);
    let directives = kinds.into_iter().map(|kind| Directive { kind, span: span() }).collect();
    Schedule { name: name.to_owned(), directives, span: span() }
}
