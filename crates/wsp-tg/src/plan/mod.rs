//! The plan of a unit: what `elaborate` makes of a module, and what runs it reads.
//!
//! Tensors are places in [`UnitPlan::tensors`], also in [`ExprOp::Load`] of a plan's expressions. [`ExprOp::Iter`] of a graph's expressions is the
//! place of a loop in [`Records::loops`]; loops that were unrolled left their numbers behind as constants. [`ExprOp::Arg`] is a place in
//! [`UnitPlan::args`].

mod graph;

pub use graph::{
    AffinityItem, BindItem, BindTensor, CheckpointItem, ConditionItem, CopyItem, EdgeKind, EventItem,
    FixedItem, Flow, FlowFrom, FreeItem, GraphPlan, KernelDef, KernelItem, LoopItem, NotifyItem, Records,
};

use wsp_core::DType;
use wsp_core::limits::MAX_NODES;
use wsp_core::tg::{
    CheckpointNo, EventNo, ExprOp, GraphNo, MemLocation, PartitionNo, Scalar, ScalarType, StreamNo, TensorNo,
    UNROLL_LIMIT,
};
use wsp_ir::tg::ArgSource;

/// What elaboration may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ElaborateOptions {
    /// Loops of at most so many iterations, known beforehand, are unrolled; 0 unrolls none.
    pub unroll_limit: u64,
    /// Most nodes of one graph.
    pub most_nodes: u32,
    /// Whether to find the flows of each graph ([`GraphPlan::flows`]), which emitted C++ needs and a simulation does not.
    pub flows: bool,
}

impl Default for ElaborateOptions {
    /// [`UNROLL_LIMIT`] iterations, [`MAX_NODES`] nodes, no flows.
    fn default() -> ElaborateOptions {
        ElaborateOptions { unroll_limit: UNROLL_LIMIT, most_nodes: MAX_NODES, flows: false }
    }
}

/// A unit, ready to run.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct UnitPlan {
    /// Its graphs: those written, in their order, then those that `TG_FUSE` makes.
    pub graphs: Vec<GraphPlan>,
    /// The statements of the host, with jumps for its control flow.
    pub host: Vec<HostOp>,
    /// How many loops the host's statements have.
    pub host_loops: u32,
    /// Expressions of the host's statements. [`ExprOp::Iter`] is the place of a loop of the host.
    pub exprs: Vec<ExprOp>,
    /// Every tensor.
    pub tensors: Vec<PlanTensor>,
    /// Partitions of the cores.
    pub partitions: Vec<PlanPartition>,
    /// Every event.
    pub events: Vec<PlanEvent>,
    /// Declared scalars, in the order of their declarations.
    pub args: Vec<PlanArg>,
}

/// Who provides a tensor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TensorKind {
    /// Whoever runs the unit.
    Extern,
    /// The unit: allocated by a statement of the host.
    Unit,
    /// A graph: allocated for each of its launches.
    Graph,
}

/// A tensor.
#[derive(Clone, PartialEq, Debug)]
pub struct PlanTensor {
    /// Its number.
    pub no: TensorNo,
    /// The graph that allocates it, a place in [`UnitPlan::graphs`].
    pub graph: Option<u32>,
    /// Its name.
    pub name: String,
    /// Who provides it.
    pub kind: TensorKind,
    /// Its bytes; not known of some external tensors.
    pub bytes: Option<u64>,
    /// Alignment in bytes.
    pub align: u32,
    /// Where it lies.
    pub location: MemLocation,
    /// Type of its elements, if it is external and declared with one.
    pub dtype: Option<DType>,
    /// Its shape in elements, outermost dimension first, if it is external and declared with one.
    pub shape: Vec<u64>,
}

/// A partition of the cores of a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlanPartition {
    /// Its number.
    pub no: PartitionNo,
    /// First cube core.
    pub aic_start: u32,
    /// Cube cores.
    pub aic_count: u32,
    /// First vector core.
    pub aiv_start: u32,
    /// Vector cores.
    pub aiv_count: u32,
}

/// An event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlanEvent {
    /// Its number.
    pub no: EventNo,
    /// Its name.
    pub name: String,
    /// Whether whoever runs the unit signals it.
    pub external: bool,
}

/// A declared scalar.
#[derive(Clone, PartialEq, Debug)]
pub struct PlanArg {
    /// Its name.
    pub name: String,
    /// When it is read.
    pub source: ArgSource,
    /// Its type.
    pub ty: ScalarType,
    /// Its value if nobody gives another.
    pub default: Option<i64>,
}

/// A statement of the host. Statements are run in order; targets are places in [`UnitPlan::host`], so that a place and the counters of loops are
/// all there is to save.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct HostOp {
    /// The instruction that it comes from.
    pub instr: u32,
    /// What it does.
    pub kind: HostKind,
}

/// What a statement of the host does. Graphs and tensors are places in the plan.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum HostKind {
    /// Allocates a tensor of the unit.
    Alloc(u32),
    /// Releases a tensor of the unit.
    Free(u32),
    /// Submits a graph.
    Launch {
        /// The graph.
        graph: u32,
        /// The stream.
        stream: StreamNo,
        /// The cores.
        partition: PartitionNo,
    },
    /// Waits for a graph.
    Sync(u32),
    /// Submits one iteration of a graph on the default stream.
    Invoke {
        /// The graph.
        graph: u32,
        /// The iteration.
        iteration: Scalar,
    },
    /// Sets the priority of a graph.
    SetPriority {
        /// The graph.
        graph: u32,
        /// The priority, higher first.
        priority: i8,
    },
    /// Saves the state of a graph.
    Checkpoint {
        /// The graph.
        graph: u32,
        /// The checkpoint.
        checkpoint: CheckpointNo,
    },
    /// Continues a graph from a saved state.
    Restore {
        /// The graph.
        graph: u32,
        /// The checkpoint.
        checkpoint: CheckpointNo,
    },
    /// Goes on at the target if the condition is 0.
    Unless {
        /// The condition.
        condition: Scalar,
        /// Where to go on.
        target: u32,
    },
    /// Goes on at the target.
    Jump(u32),
    /// Sets the loop's number to 0 and its count to the value; goes on at the target if that is 0. A negative count is an error.
    LoopBegin {
        /// The loop, below [`UnitPlan::host_loops`].
        slot: u32,
        /// How many iterations.
        count: Scalar,
        /// Behind the loop.
        target: u32,
    },
    /// Adds 1 to the loop's number; goes on at the target if it is below the count.
    LoopEnd {
        /// The loop.
        slot: u32,
        /// The start of the body.
        target: u32,
    },
    /// Sets the loop's number to 0.
    WhileBegin {
        /// The loop.
        slot: u32,
    },
    /// Goes on at the target if the condition is 0. Otherwise a loop whose number has reached its maximum is an error.
    WhileTest {
        /// The loop.
        slot: u32,
        /// The condition.
        condition: Scalar,
        /// Most iterations.
        most: u64,
        /// Behind the loop.
        target: u32,
    },
    /// Adds 1 to the loop's number; goes on at the target, its test.
    WhileEnd {
        /// The loop.
        slot: u32,
        /// The test.
        target: u32,
    },
    /// Goes on at the target, behind the innermost loop, if the condition is not 0.
    Break {
        /// The condition.
        condition: Scalar,
        /// Behind the loop.
        target: u32,
    },
}

impl UnitPlan {
    /// The operations of a scalar of the host's statements, with what follows its end; none of a constant.
    pub fn expr(&self, scalar: Scalar) -> &[ExprOp] {
        expr(&self.exprs, scalar)
    }

    /// The place of a graph.
    pub fn graph(&self, no: GraphNo) -> Option<u32> {
        self.graphs.iter().position(|graph| graph.no == no).map(|at| at as u32)
    }
}

fn expr(pool: &[ExprOp], scalar: Scalar) -> &[ExprOp] {
    match scalar {
        Scalar::Const(_) => &[],
        Scalar::Expr(expr) => pool.get(expr.0 as usize..).unwrap_or(&[]),
    }
}
