//! What a unit defines and where: graphs, kernels, copies, tensors, partitions, and the blocks of its control flow.
//!
//! [`Outline::new`] reads a unit once, in program order, and reports what breaks its structure; whoever checks or plans
//! a unit finds in the outline what its numbers mean. An outline of a unit with faults is usable, and holds what could
//! be understood.

mod affine;
mod blocks;
mod fault;
mod number_map;
mod read;

pub use affine::{Affine, Variable};
pub use blocks::{Block, BlockId, BlockKind, Blocks};
pub use number_map::NumberMap;

use super::TgModule;
use std::ops::Range;
use wsp_core::tg::{CoreType, GraphNo, KernelNo, MemLocation, PartitionNo, TensorNo};
use wsp_diag::Sink;

/// A graph, in the order of definition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GraphDef {
    /// Its number.
    pub no: GraphNo,
    /// The instruction that begins it, or makes it of two others.
    pub at: u32,
    /// The instruction that ends it.
    pub end: u32,
    /// Its outermost block.
    pub block: BlockId,
    /// Its kernels in [`Outline::kernels`].
    pub kernels: Range<u32>,
    /// Its copies in [`Outline::copies`].
    pub copies: Range<u32>,
    /// The graphs of which it is made, if it is fused.
    pub parts: Option<(GraphNo, GraphNo)>,
}

/// A kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KernelDef {
    /// Its number in its graph.
    pub no: KernelNo,
    /// The instruction that defines it.
    pub at: u32,
    /// The place of its graph in [`Outline::graphs`].
    pub graph: u32,
    /// The block in which it stands.
    pub block: BlockId,
    /// Blocks that run.
    pub block_dim: u32,
    /// Cores of each of them.
    pub core_type: CoreType,
    /// Its partition.
    pub partition: PartitionNo,
}

/// A copy of a graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CopyDef {
    /// The instruction.
    pub at: u32,
    /// The block in which it stands.
    pub block: BlockId,
}

/// Whose a tensor is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Home {
    /// Whoever runs the unit provides it.
    Extern,
    /// The unit's: every graph may use it.
    Unit,
    /// That of the graph at this place in [`Outline::graphs`].
    Graph(u32),
}

/// A tensor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TensorDef {
    /// Its number.
    pub no: TensorNo,
    /// Whose it is.
    pub home: Home,
    /// The instruction that allocates it; for an external tensor the place of its declaration.
    pub at: u32,
    /// Its bytes, where they are known.
    pub bytes: Option<u64>,
    /// Where it lies.
    pub location: MemLocation,
    /// Whether some instruction releases it.
    pub is_freed: bool,
}

/// Cores set apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PartitionDef {
    /// Its number.
    pub no: PartitionNo,
    /// The instruction that defines it.
    pub at: u32,
    /// Its first cube core, and how many.
    pub aic: (u32, u32),
    /// Its first vector core, and how many.
    pub aiv: (u32, u32),
}

/// A release of a tensor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FreeDef {
    /// The tensor.
    pub tensor: TensorNo,
    /// The instruction.
    pub at: u32,
    /// The block in which it stands.
    pub block: BlockId,
}

/// What a unit defines.
#[derive(Clone, Debug, Default)]
pub struct Outline {
    /// Graphs in the order of definition.
    pub graphs: Vec<GraphDef>,
    /// Kernels of all graphs in program order.
    pub kernels: Vec<KernelDef>,
    /// Copies of all graphs in program order.
    pub copies: Vec<CopyDef>,
    /// External tensors in the order of declaration, then allocations in program order.
    pub tensors: Vec<TensorDef>,
    /// Partitions in program order.
    pub partitions: Vec<PartitionDef>,
    /// Releases in program order.
    pub frees: Vec<FreeDef>,
    /// Blocks of control flow.
    pub blocks: Blocks,
    graph_at: NumberMap,
    tensor_at: NumberMap,
    partition_at: NumberMap,
}

impl Outline {
    /// Reads a unit; `faults` takes what breaks its structure.
    pub fn new(module: &TgModule, faults: &mut Sink) -> Outline {
        read::read(module, faults)
    }

    /// The place of a graph in [`Outline::graphs`].
    pub fn graph(&self, no: GraphNo) -> Option<u32> {
        self.graph_at.get(no.0)
    }

    /// A tensor by its number.
    #[inline]
    pub fn tensor(&self, no: TensorNo) -> Option<&TensorDef> {
        self.tensor_at.get(no.0).map(|at| &self.tensors[at as usize])
    }

    /// The place of a tensor in [`Outline::tensors`].
    #[inline]
    pub fn tensor_index(&self, no: TensorNo) -> Option<u32> {
        self.tensor_at.get(no.0)
    }

    /// A partition by its number.
    pub fn partition(&self, no: PartitionNo) -> Option<&PartitionDef> {
        self.partition_at.get(no.0).map(|at| &self.partitions[at as usize])
    }

    /// Kernels of the graph at place `graph` by number: places in [`Outline::kernels`]. Of two with one number the
    /// first counts.
    pub fn kernel_map(&self, graph: u32, into: &mut NumberMap) {
        for at in self.graphs[graph as usize].kernels.clone().rev() {
            into.insert(self.kernels[at as usize].no.0, at);
        }
    }
}
