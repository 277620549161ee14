//! The data model of workloads. Ids index the tables of the same module; [`VarId`] and [`LabelId`] those of one workload.

use super::{IntExpr, Schedule};
use wsp_core::ptow::interp::AccessMode;
use wsp_core::{
    AxisId, ChannelId, DType, ExecPool, KernelId, LabelId, ParamId, SlotId, TableId, TensorId, VarId,
    WorkloadId,
};
use wsp_diag::Span;

/// Everything that one `.wsp` file says.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct WorkloadModule {
    /// Files of kernels.
    pub uses: Vec<Use>,
    /// Launch-time integers; a default or derived value depends on earlier ones only.
    pub params: Vec<Param>,
    /// Launch-time integer arrays.
    pub tables: Vec<Table>,
    /// Named axes; an outer axis stands before its inner ones.
    pub axes: Vec<Axis>,
    /// Tensors that tasks access, slots included.
    pub tensors: Vec<Tensor>,
    /// Values that tasks compute and the workload reads.
    pub slots: Vec<Slot>,
    /// Kernels.
    pub kernels: Vec<Kernel>,
    /// Workloads; a call names an earlier one, so that calls end.
    pub workloads: Vec<Workload>,
    /// Schedules.
    pub schedules: Vec<Schedule>,
    /// What runs: the workload named `main`, else the last. None in a file without workloads.
    pub entry: Option<WorkloadId>,
}

/// `use "kernels.pto";`: a file with kernels, tensors and parameters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Use {
    /// The path as written, relative to the file that says it.
    pub path: String,
    /// Where it stands.
    pub span: Span,
}

/// A launch-time integer.
#[derive(Clone, PartialEq, Debug)]
pub struct Param {
    /// Its name.
    pub name: String,
    /// Where its value comes from.
    pub source: ParamSource,
    /// Where it is declared.
    pub span: Span,
}

/// Where a parameter's value comes from.
#[derive(Clone, PartialEq, Debug)]
pub enum ParamSource {
    /// `param n = default;`, or `param n;` which the user must set.
    Set(Option<IntExpr>),
    /// `let m = expr;`.
    Derived(IntExpr),
}

/// A launch-time integer array.
#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// `table t[n];`: the number of elements that the bound array must have; none for any.
    pub len: Option<IntExpr>,
    /// `table t = [1, 2, 3];`: its elements when no array is bound; none when one must be.
    pub values: Option<Vec<i64>>,
    /// Where it is declared.
    pub span: Span,
}

/// A named axis.
#[derive(Clone, PartialEq, Debug)]
pub struct Axis {
    /// Its name.
    pub name: String,
    /// Its indices.
    pub kind: AxisKind,
    /// Where it is declared.
    pub span: Span,
}

/// Indices of an axis, half-open.
#[derive(Clone, PartialEq, Debug)]
pub enum AxisKind {
    /// `dense(end)` or `dense(start, end)`; expressions over parameters and tables.
    Dense {
        /// First index.
        start: IntExpr,
        /// One past the last; not above `start` for an empty axis.
        end: IntExpr,
    },
    /// `dense_dyn(param)`: `[0, param)`, bound anew at each launch.
    DenseDyn(ParamId),
    /// `ragged(outer, lengths)`: `[0, lengths[i])` under index `i` of the outer axis.
    Ragged {
        /// The outer axis.
        outer: AxisId,
        /// One length per index of the outer axis.
        lengths: TableId,
    },
    /// `sparse(outer, indptr, indices)`: `indices[indptr[i] .. indptr[i + 1])` under index `i` of the outer axis (CSR).
    Sparse {
        /// The outer axis.
        outer: AxisId,
        /// Where each row begins and ends: one more than the outer axis has indices.
        indptr: TableId,
        /// Column of each entry.
        indices: TableId,
    },
}

/// A tensor.
#[derive(Clone, PartialEq, Debug)]
pub struct Tensor {
    /// Its name.
    pub name: String,
    /// Element type.
    pub dtype: DType,
    /// Extents over parameters, outermost first; at most [`wsp_core::MAX_RANK`].
    pub dims: Vec<IntExpr>,
    /// Where it is declared.
    pub span: Span,
}

/// `slot n = init;`: a 64-bit integer that tasks may write and the workload may read.
#[derive(Clone, PartialEq, Debug)]
pub struct Slot {
    /// The tensor that holds it: `I64`, one element, of the same name.
    pub tensor: TensorId,
    /// Its value before any task has written it, over parameters.
    pub init: IntExpr,
    /// Where it is declared.
    pub span: Span,
}

/// A kernel.
#[derive(Clone, PartialEq, Debug)]
pub struct Kernel {
    /// Its name.
    pub name: String,
    /// What a call gives it.
    pub signature: Signature,
    /// The cores that it runs on.
    pub unit: ExecPool,
    /// Whether its tasks are the host's, where an accelerator runs the others; its unit is any then.
    pub on_host: bool,
    /// Cost of one task in cycles, for virtual time: an expression over parameters and the kernel's scalar parameters, the
    /// `n`-th of which is variable `n`. None counts as 1.
    pub cost: Option<IntExpr>,
    /// Where it is declared, or first called.
    pub span: Span,
}

impl Kernel {
    /// The words of places where kernels run: a unit, and whether it is the host.
    pub const PLACES: &'static [(&'static str, (ExecPool, bool))] = &[
        ("vector", (ExecPool::Vector, false)),
        ("cube", (ExecPool::Cube, false)),
        ("any", (ExecPool::Any, false)),
        ("host", (ExecPool::Any, true)),
    ];

    /// The word of where it runs.
    pub fn place(&self) -> &'static str {
        if self.on_host { "host" } else { self.unit.word() }
    }
}

/// What a call gives a kernel.
#[derive(Clone, PartialEq, Debug)]
pub enum Signature {
    /// `kernel k(in a, n, out c)`: declared here; its body is registered by name, or there is none.
    Declared(Vec<KernelParam>),
    /// Of a used file: a call sets the fields of its descriptor, by name or in order, and what it reads and writes follows
    /// from its loads and stores.
    Library,
}

/// A parameter of a declared kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelParam {
    /// Its name.
    pub name: String,
    /// What it takes.
    pub kind: ParamKind,
}

/// What a kernel parameter takes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ParamKind {
    /// An integer.
    Scalar,
    /// A region of a tensor.
    Tensor(AccessMode),
}

/// A workload: a body with formal arguments.
#[derive(Clone, PartialEq, Debug)]
pub struct Workload {
    /// Its name.
    pub name: String,
    /// How many of the first variables are formal arguments; an entry has none.
    pub params: u32,
    /// Formal arguments, then loop variables; several may share a name.
    pub vars: Vec<Var>,
    /// Labels of its task statements.
    pub labels: Vec<Label>,
    /// Channels of its pipelines.
    pub channels: Vec<Channel>,
    /// Its statements.
    pub body: Block,
    /// Where its name stands.
    pub span: Span,
}

/// A variable. Expressions name it by its id, never by name or depth.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Var {
    /// The source's name.
    pub name: String,
    /// Where it is declared.
    pub span: Span,
}

/// A label: the task that its statement generated last.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Label {
    /// The source's name.
    pub name: String,
    /// Where it is declared.
    pub span: Span,
}

/// `channel c[depth];`: counts tokens that one process of a pipeline sends and one consumes.
///
/// It is empty and open when its pipeline begins. Token `n` stands for slot `n % depth`, which a send and the consume of the
/// same token bind to a variable. With a depth of 0 there is slot 0, and a send goes on when its token is taken. A channel
/// holds no data: tasks write and read elements of tensors that the slot picks.
#[derive(Clone, PartialEq, Debug)]
pub struct Channel {
    /// Its name, which no other channel of the workload has.
    pub name: String,
    /// As the process that sends and the one that consumes write it, where that is not its name: `c[0]` of an array, `load.out` of a connection,
    /// which the process `load` calls `out`.
    pub ends: [String; 2],
    /// Most tokens that it holds, at least 0; over parameters and tables.
    pub depth: IntExpr,
    /// Where its name stands.
    pub span: Span,
}

impl Channel {
    /// One that is written by its name.
    pub fn new(name: String, depth: IntExpr, span: Span) -> Channel {
        Channel { name, ends: Default::default(), depth, span }
    }

    /// As the process writes it that sends, or the one that consumes.
    pub fn written(&self, sends: bool) -> &str {
        let end = &self.ends[usize::from(!sends)];
        if end.is_empty() { &self.name } else { end.rsplit_once('.').map_or(end, |(_, end)| end) }
    }

    /// As it is written outside of processes.
    pub fn shown(&self) -> &str {
        let [end, _] = &self.ends;
        if end.is_empty() { &self.name } else { end }
    }
}

/// Statements in order.
pub type Block = Vec<Node>;

/// A statement.
#[derive(Clone, PartialEq, Debug)]
pub struct Node {
    /// What it is.
    pub kind: NodeKind,
    /// Where it stands.
    pub span: Span,
}

/// The forms of a statement.
#[derive(Clone, PartialEq, Debug)]
pub enum NodeKind {
    /// A task.
    Task(Task),
    /// `parallel for i in … { }`.
    ParallelFor {
        /// The index.
        var: VarId,
        /// Its values.
        over: Iteration,
        /// Runs for each.
        body: Block,
    },
    /// `for i in … { }`.
    ForEach {
        /// The index.
        var: VarId,
        /// Its values.
        over: Iteration,
        /// Runs for each.
        body: Block,
    },
    /// `select j in axis[i] { }`: the columns of row `i` of a sparse axis, in the order of its entries.
    Select {
        /// The column.
        var: VarId,
        /// `select j @ p in …`: the position of the entry in `indices`.
        position: Option<VarId>,
        /// The sparse axis.
        axis: AxisId,
        /// The row.
        row: IntExpr,
        /// Runs for each.
        body: Block,
    },
    /// `if c { } else { }`.
    Cond {
        /// True for the first branch.
        condition: IntExpr,
        /// The first branch.
        then: Block,
        /// The other; may be empty.
        otherwise: Block,
    },
    /// `while c max n { }`.
    While {
        /// Evaluated before each round.
        condition: IntExpr,
        /// Most rounds; a condition that still holds after them is a fault. None stands for
        /// [`wsp_core::limits::MAX_WHILE_ROUNDS`].
        max: Option<IntExpr>,
        /// Runs each round.
        body: Block,
    },
    /// `combine { { … } { … } }`.
    Combine(Vec<Block>),
    /// `sequential { { … } { … } }`.
    Sequential(Vec<Block>),
    /// `call w(…);`.
    Call {
        /// An earlier workload of the module.
        workload: WorkloadId,
        /// One value per formal argument.
        args: Vec<IntExpr>,
    },
    /// `pipeline { process a { … } process b { … } }`: processes that take turns, each until it has sent a token, has to
    /// wait, or ends.
    Pipeline {
        /// The processes, in the order of their turns.
        processes: Vec<Process>,
    },
    /// `send c as s { … }`: waits until the channel has a free slot; its token is in the channel when the body has run.
    Send {
        /// A channel of the workload.
        channel: ChannelId,
        /// The slot.
        var: VarId,
        /// What fills the slot.
        body: Block,
    },
    /// `consume c as s { … }`: waits for the next token; its slot is free when the body has run. Several arms stand in
    /// `select { consume a as s { … } consume b as t { … } }`, which waits until one of the channels has a token and takes
    /// that of the first such arm.
    Consume {
        /// At least one.
        arms: Vec<Arm>,
        /// `consume all …`, `select all { … }`: again and again, until every channel is closed and empty.
        all: bool,
    },
    /// `close c;`: no token is sent any more. A consume goes on while tokens are left.
    Close {
        /// A channel of the workload.
        channel: ChannelId,
    },
}

/// What a [`NodeKind::Consume`] does with a token of one channel.
#[derive(Clone, PartialEq, Debug)]
pub struct Arm {
    /// A channel of the workload.
    pub channel: ChannelId,
    /// The slot.
    pub var: VarId,
    /// What uses the slot.
    pub body: Block,
    /// Where it stands.
    pub span: Span,
}

/// A process of a pipeline.
#[derive(Clone, PartialEq, Debug)]
pub struct Process {
    /// Its name, which no other process of the pipeline has.
    pub name: String,
    /// Its statements.
    pub body: Block,
    /// Where its name stands.
    pub span: Span,
}

/// What a loop runs over.
#[derive(Clone, PartialEq, Debug)]
pub enum Iteration {
    /// A dense axis.
    Axis(AxisId),
    /// A ragged axis under an index of its outer axis.
    Ragged {
        /// The ragged axis.
        axis: AxisId,
        /// Index of the outer axis.
        outer: IntExpr,
    },
    /// `lo..hi` or `lo..hi step s`; `s` is at least 1.
    Range {
        /// First index.
        lo: IntExpr,
        /// One past the last.
        hi: IntExpr,
        /// Distance of successive indices.
        step: Option<IntExpr>,
    },
}

/// A task statement.
#[derive(Clone, PartialEq, Debug)]
pub struct Task {
    /// What runs; an index into [`WorkloadModule::kernels`].
    pub kernel: KernelId,
    /// `let l = k(…);`.
    pub label: Option<LabelId>,
    /// Arguments as written: in the order of the declaration, or fields of the descriptor.
    pub args: Vec<Arg>,
    /// `after l, …`: labels whose last task must be complete first. Used with explicit and hybrid dependences only.
    pub after: Vec<LabelId>,
}

/// An argument of a task.
#[derive(Clone, PartialEq, Debug)]
pub struct Arg {
    /// `field = …`.
    pub name: Option<String>,
    /// Its value.
    pub value: ArgValue,
}

/// The value of an argument.
#[derive(Clone, PartialEq, Debug)]
pub enum ArgValue {
    /// An integer.
    Scalar(IntExpr),
    /// A region of a tensor.
    Access(Access),
}

/// A region of a tensor.
#[derive(Clone, PartialEq, Debug)]
pub struct Access {
    /// The tensor.
    pub tensor: TensorId,
    /// Bounds of the first dimensions; the others are whole.
    pub ranges: Vec<DimRange>,
    /// Where it stands.
    pub span: Span,
}

/// Bounds in one dimension.
#[derive(Clone, PartialEq, Debug)]
pub enum DimRange {
    /// `..`: all of it.
    Whole,
    /// `i`: one index.
    Index(IntExpr),
    /// `lo..hi`: half-open.
    Range {
        /// First index.
        lo: IntExpr,
        /// One past the last.
        hi: IntExpr,
    },
    /// `lo +: n`: `n` indices from `lo`.
    Sized {
        /// First index.
        lo: IntExpr,
        /// How many.
        len: IntExpr,
    },
}

impl WorkloadModule {
    /// What should run: the workload named `main`, else the last.
    pub fn runs(&self) -> Option<WorkloadId> {
        let main = self.workloads.iter().position(|workload| workload.name == "main");
        main.or(self.workloads.len().checked_sub(1)).map(|index| WorkloadId(index as u32))
    }

    /// The slot that a tensor holds, if it holds one.
    pub fn slot_of(&self, tensor: TensorId) -> Option<SlotId> {
        self.slots.iter().position(|s| s.tensor == tensor).map(|i| SlotId(i as u32))
    }

    /// The parameter with this name.
    pub fn param_named(&self, name: &str) -> Option<ParamId> {
        self.params.iter().position(|p| p.name == name).map(|i| ParamId(i as u32))
    }

    /// The table with this name.
    pub fn table_named(&self, name: &str) -> Option<TableId> {
        self.tables.iter().position(|t| t.name == name).map(|i| TableId(i as u32))
    }
}
