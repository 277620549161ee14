//! The plan of a graph: records for the machine, and what its nodes do.

use super::expr;
use wsp_core::tg::image::{
    DecisionRecord, GangRecord, GuardRecord, Image, LevelRecord, LoopRecord, NodeRecord,
};
use wsp_core::tg::image_file::{ImageHeader, parts};
use wsp_core::tg::{
    AffinityType, CheckpointNo, CoreType, DeviceNo, Direction, EventNo, ExprOp, GraphNo, IterNo, KernelNo,
    NotifyNo, PartitionNo, Scalar,
};

/// The records of a graph's image. See [`Image`] for what each list is.
#[derive(Clone, PartialEq, Debug, Default)]
#[allow(missing_docs, reason = "the lists are those of `Image`")]
pub struct Records {
    pub nodes: Vec<NodeRecord>,
    pub needs: Vec<u32>,
    pub succs: Vec<u32>,
    pub guards: Vec<GuardRecord>,
    pub decisions: Vec<DecisionRecord>,
    pub loops: Vec<LoopRecord>,
    pub gangs: Vec<GangRecord>,
    pub members: Vec<u32>,
    pub top: LevelRecord,
    pub fingerprint: u32,
}

impl Records {
    /// The image.
    pub fn image(&self) -> Image<'_> {
        Image {
            nodes: &self.nodes,
            needs: &self.needs,
            succs: &self.succs,
            guards: &self.guards,
            decisions: &self.decisions,
            loops: &self.loops,
            gangs: &self.gangs,
            members: &self.members,
            top: self.top,
            fingerprint: self.fingerprint,
        }
    }

    /// The bytes of the image, as `wsp_tg_open` takes them.
    pub fn image_bytes(&self) -> Vec<u8> {
        let image = self.image();
        let header = ImageHeader::new(&image);
        parts(&image, &header).concat()
    }
}

/// Why there is an edge.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum EdgeKind {
    /// `TG_DEPEND(…, DATA)`.
    Data,
    /// `TG_DEPEND(…, AFTER)`.
    After,
    /// `TG_DEPEND(…, BARRIER)`.
    Barrier,
    /// An event.
    Event,
    /// Iterations of an unrolled loop, or fused graphs, that touch the same bytes.
    Carried,
    /// A copy, a release or a condition and another user of the same bytes.
    Range,
    /// Control flow: a decision, a break, the end of a loop's body.
    Control,
    /// A notification, or the wait for one.
    Notify,
    /// A checkpoint.
    Checkpoint,
}

impl EdgeKind {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            EdgeKind::After => "after",
            EdgeKind::Data => "data",
            EdgeKind::Barrier => "barrier",
            EdgeKind::Event => "event",
            EdgeKind::Carried => "carried",
            EdgeKind::Range => "range",
            EdgeKind::Control => "control",
            EdgeKind::Notify => "notify",
            EdgeKind::Checkpoint => "checkpoint",
        }
    }

    /// Whether what was written before the edge is visible behind it.
    pub const fn shows(self) -> bool {
        !matches!(self, EdgeKind::After | EdgeKind::Control | EdgeKind::Checkpoint)
    }
}

/// What a node must see, beside what edges that lead to it say: the first end stands in another loop or round, or beyond a point.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Flow {
    /// The node.
    pub dst: u32,
    /// Why it comes behind the first end.
    pub kind: EdgeKind,
    /// The first end.
    pub from: FlowFrom,
}

/// Where the first end of a [`Flow`] stands. `u32::MAX` is an instruction that is not known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum FlowFrom {
    /// At this instruction, in the same round of the loops around both.
    Before(u32),
    /// In an earlier round of a loop.
    Round {
        /// The instruction that begins the loop; not known of graphs that are fused.
        instr: u32,
        /// Its instruction.
        from: u32,
    },
}

/// A graph, ready to run.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct GraphPlan {
    /// Its number.
    pub no: GraphNo,
    /// Its name.
    pub name: String,
    /// What the machine runs.
    pub records: Records,
    /// Of each entry of [`Records::succs`], why that edge is there.
    pub edges: Vec<EdgeKind>,
    /// What nodes must see that [`edges`](GraphPlan::edges) does not say of them, by node; none if elaboration was not asked for it.
    pub flows: Option<Vec<Flow>>,
    /// `SOFT` edges between nodes: hints, not among the successors.
    pub soft: Vec<(u32, u32)>,
    /// Kernels as they are defined.
    pub defs: Vec<KernelDef>,
    /// Kernels as they run; several of one definition in unrolled loops.
    pub kernels: Vec<KernelItem>,
    /// Bindings of [`kernels`](GraphPlan::kernels).
    pub binds: Vec<BindItem>,
    /// Tensors of [`BindTensor::Table`].
    pub tables: Vec<u32>,
    /// Numbers of unrolled loops around kernels, copies and conditions.
    pub fixed: Vec<(IterNo, i64)>,
    /// Copies.
    pub copies: Vec<CopyItem>,
    /// Releases.
    pub frees: Vec<FreeItem>,
    /// Notifications of other devices.
    pub notifies: Vec<NotifyItem>,
    /// Waits for notifications.
    pub notify_waits: Vec<NotifyItem>,
    /// Waits for events that this graph does not signal.
    pub event_waits: Vec<EventItem>,
    /// Events of this graph that others wait for.
    pub signals: Vec<EventItem>,
    /// Checkpoints.
    pub checkpoints: Vec<CheckpointItem>,
    /// Conditions and counts.
    pub conditions: Vec<ConditionItem>,
    /// Loops that run at run time, as [`Records::loops`].
    pub loops: Vec<LoopItem>,
    /// How kernels would best share cores.
    pub affinities: Vec<AffinityItem>,
    /// Expressions, each ending with [`ExprOp::End`].
    pub exprs: Vec<ExprOp>,
}

/// A kernel as it is defined.
#[derive(Clone, PartialEq, Debug)]
pub struct KernelDef {
    /// Its name.
    pub name: String,
    /// Its number.
    pub kernel: KernelNo,
    /// The graph that defines it: another one than the plan's if that is fused.
    pub graph: GraphNo,
    /// Its entry symbol.
    pub entry: String,
    /// Blocks.
    pub block_dim: u32,
    /// The cores that run it.
    pub core_type: CoreType,
    /// Bytes of workspace of all blocks together.
    pub workspace: u64,
    /// The cores that it may use.
    pub partition: PartitionNo,
    /// Cores that it asks for: cube, vector, AICPU.
    pub request: Option<[u32; 3]>,
    /// Launches during which it stays resident, 0 for ever.
    pub persistent: Option<u32>,
    /// The instruction that defines it.
    pub instr: u32,
}

/// A kernel as it runs.
#[derive(Clone, PartialEq, Debug)]
pub struct KernelItem {
    /// Its definition in [`GraphPlan::defs`].
    pub def: u32,
    /// Its node.
    pub node: u32,
    /// Its first binding.
    pub first_bind: u32,
    /// How many bindings it has, in the order of their arguments.
    pub binds: u32,
    /// Numbers of the unrolled loops around it.
    pub fixed: FixedItem,
    /// Other kernels in [`GraphPlan::kernels`] that run with it, as one dispatch: blocks of this one first, then of these in order. They have its node.
    pub batch: Vec<u32>,
}

/// Numbers of the unrolled loops around a part of a graph, the outermost first: a part of [`GraphPlan::fixed`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FixedItem {
    /// The first.
    pub first: u32,
    /// How many.
    pub len: u32,
}

/// The tensor of a binding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BindTensor {
    /// This one.
    One(u32),
    /// One of a part of [`GraphPlan::tables`].
    Table {
        /// The first.
        first: u32,
        /// How many.
        len: u32,
        /// Which of them, from 0.
        index: Scalar,
    },
}

/// A binding.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct BindItem {
    /// The argument.
    pub arg: u32,
    /// The tensor.
    pub tensor: BindTensor,
    /// Its first byte.
    pub offset: Scalar,
    /// Bytes; 0 for the rest of the tensor.
    pub size: Scalar,
    /// What the kernel does with it; never `Auto`.
    pub direction: Direction,
    /// Its instruction.
    pub instr: u32,
}

/// A copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CopyItem {
    /// Its place among the copies of its graph, as `copy.N`.
    pub copy: u32,
    /// From this tensor.
    pub src: u32,
    /// To this tensor.
    pub dst: u32,
    /// Bytes.
    pub size: u64,
    /// First byte in the source.
    pub src_offset: u64,
    /// First byte in the destination.
    pub dst_offset: u64,
    /// Its node.
    pub node: u32,
    /// Numbers of the unrolled loops around it.
    pub fixed: FixedItem,
    /// Its instruction.
    pub instr: u32,
}

/// A release.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FreeItem {
    /// The tensor.
    pub tensor: u32,
    /// Its node.
    pub node: u32,
    /// Its instruction.
    pub instr: u32,
}

/// A notification, or a wait for one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NotifyItem {
    /// The other device.
    pub device: DeviceNo,
    /// The notification.
    pub notify: NotifyNo,
    /// Its node.
    pub node: u32,
    /// Its instruction.
    pub instr: u32,
}

/// An event that is waited for or told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EventItem {
    /// The event.
    pub event: EventNo,
    /// Its node.
    pub node: u32,
}

/// A checkpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CheckpointItem {
    /// Its number.
    pub checkpoint: CheckpointNo,
    /// Its node.
    pub node: u32,
    /// Its instruction.
    pub instr: u32,
}

/// A condition or a count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConditionItem {
    /// Its value.
    pub value: Scalar,
    /// Numbers of the unrolled loops around it.
    pub fixed: FixedItem,
    /// Its instruction.
    pub instr: u32,
}

/// A loop that runs at run time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoopItem {
    /// Its variable; a `CF_WHILE` has none.
    pub iter: Option<IterNo>,
    /// Its instruction.
    pub instr: u32,
}

/// How kernels would best share cores.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AffinityItem {
    /// How.
    pub kind: AffinityType,
    /// Definitions in [`GraphPlan::defs`].
    pub members: Vec<u32>,
}

impl GraphPlan {
    /// The bindings of a kernel.
    pub fn binds_of(&self, kernel: &KernelItem) -> &[BindItem] {
        &self.binds[kernel.first_bind as usize..][..kernel.binds as usize]
    }

    /// The variables of unrolled loops with their numbers, the outermost first.
    pub fn fixed_of(&self, fixed: FixedItem) -> &[(IterNo, i64)] {
        &self.fixed[fixed.first as usize..][..fixed.len as usize]
    }

    /// The operations of a scalar, with what follows its end; none of a constant.
    pub fn expr(&self, scalar: Scalar) -> &[ExprOp] {
        expr(&self.exprs, scalar)
    }

    /// What a kernel is called in messages: its name, with the numbers of unrolled loops around it.
    pub fn kernel_name(&self, kernel: u32) -> String {
        let item = &self.kernels[kernel as usize];
        let mut name = self.defs[item.def as usize].name.clone();
        for (_, number) in self.fixed_of(item.fixed) {
            name.push_str(&format!("[{number}]"));
        }
        name
    }

    /// The tensors that a binding may be about.
    pub fn tensors_of<'p>(&'p self, tensor: &'p BindTensor) -> &'p [u32] {
        match tensor {
            BindTensor::One(tensor) => std::slice::from_ref(tensor),
            BindTensor::Table { first, len, .. } => &self.tables[*first as usize..][..*len as usize],
        }
    }
}
