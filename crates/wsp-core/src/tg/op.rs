//! The table of instructions, and an instruction with its operands.

use super::number::{
    BarrierNo, CheckpointNo, DeviceNo, EventNo, GraphNo, IterNo, KernelNo, NodeNo, NotifyNo, PartitionNo,
    StreamNo, Symbol, TensorNo,
};
use super::operand::{
    AffinityType, CoreType, DependencyType, Direction, FenceScope, KernelSet, LoopMode, MemLocation,
    OperandKind, OperandType, TensorRef,
};
use super::scalar::Scalar;

/// Where an instruction may stand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum InstrScope {
    /// Outside of graphs: a statement of the host.
    Unit,
    /// Inside of a graph.
    Graph,
    /// Both.
    Both,
}

/// A column of the platform matrix (document 000, section 11).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Platform {
    /// Ascend 910B.
    A2 = 0,
    /// Ascend 910C.
    A3 = 1,
    /// Ascend 950.
    A5 = 2,
    /// The simulation on a CPU.
    Cpu = 3,
}

/// What a platform does with an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Support {
    /// All of it.
    Yes,
    /// Some of it; the rest becomes something stronger, with a note.
    Partial,
    /// Accepted and recorded; may be ignored.
    Hint,
    /// Accepted, does nothing there, with a note.
    Na,
    /// An error.
    No,
}

/// An operand of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OperandInfo {
    /// Its name, as the document has it.
    pub name: &'static str,
    /// What it is.
    pub kind: OperandKind,
    /// Whether it can be left out.
    pub optional: bool,
}

/// A row of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpInfo {
    /// The instruction.
    pub op: Op,
    /// Its name in text.
    pub mnemonic: &'static str,
    /// What it does.
    pub meaning: &'static str,
    /// Its section of document 000.
    pub section: &'static str,
    /// Where it may stand.
    pub scope: InstrScope,
    /// What A2, A3, A5 and the CPU do with it.
    pub support: [Support; 4],
    /// Its operands in order; those that can be left out come last.
    pub operands: &'static [OperandInfo],
}

/// Calls a macro with every instruction of the task-graph instruction set.
///
/// A row is `documentation; code MNEMONIC Name builder_name "section" Scope [A2 A3 A5 CPU] { operand: Type = default, … };`.
/// Types are those of [`tg`](crate::tg), except `u32`, `u64` and `i8`.
#[macro_export]
macro_rules! for_each_tg_op {
    ($with:ident) => {
        $with! {
            /// Begins a graph: instructions up to `TG_END` belong to it.
            0x01 TG_BEGIN TgBegin tg_begin "3.1" Both [Yes Yes Yes Yes] { graph_id: GraphNo };
            /// Ends the graph, which is then complete and can be launched.
            0x02 TG_END TgEnd tg_end "3.2" Both [Yes Yes Yes Yes] { graph_id: GraphNo };
            /// Defines a kernel of the graph: `blockDim` blocks of the function `entry_symbol`, and bytes of workspace for all
            /// of them together per launch.
            0x03 TG_KERNEL TgKernel tg_kernel "3.3" Graph [Yes Yes Yes Yes] {
                kernel_id: KernelNo, entry_symbol: Symbol, block_dim: u32, core_type: CoreType,
                workspace_size: u64, partition: PartitionNo = PartitionNo::NONE
            };
            /// Orders two kernels or copies of the graph.
            0x04 TG_DEPEND TgDepend tg_depend "3.4" Graph [Yes Yes Yes Yes] {
                src_kernel: NodeNo, dst_kernel: NodeNo, dep_type: DependencyType = DependencyType::After,
                tensor_id: TensorNo = TensorNo::NONE
            };
            /// Submits a graph on a stream and does not wait.
            0x05 TG_LAUNCH TgLaunch tg_launch "3.5" Unit [Yes Yes Yes Yes] {
                graph_id: GraphNo, stream: StreamNo, partition: PartitionNo = PartitionNo::NONE
            };
            /// Waits until every launch of the graph so far is complete.
            0x06 TG_SYNC TgSync tg_sync "3.6" Unit [Yes Yes Yes Yes] { graph_id: GraphNo };
            /// Submits one iteration of a graph on the default stream: bindings see its number as `iteration`.
            0x07 TG_INVOKE TgInvoke tg_invoke "3.7" Unit [Yes Yes Yes Yes] { graph_id: GraphNo, iteration: Scalar };
            /// Makes a graph of two: kernels that are alike and independent become one dispatch.
            0x08 TG_FUSE TgFuse tg_fuse "12.1" Unit [Yes Yes Yes Yes] {
                graph1: GraphNo, graph2: GraphNo, fused_graph: GraphNo
            };
            /// Keeps a kernel resident for so many launches, 0 for ever: later launches do not dispatch it again.
            0x09 TG_PERSISTENT TgPersistent tg_persistent "12.2" Graph [Hint Hint Hint Yes] {
                kernel_id: KernelNo, duration: u32
            };
            /// Of ready kernels, those of the graph with the highest priority go first. Kernels that run are not stopped.
            0x0a TG_SET_PRIORITY TgSetPriority tg_set_priority "12.3" Unit [Hint Hint Hint Yes] {
                graph_id: GraphNo, priority: i8
            };
            /// Saves the state of a graph between two tasks: in a graph, when everything before it is complete.
            0x0b TG_CHECKPOINT TgCheckpoint tg_checkpoint "12.4" Both [No No No Yes] {
                graph_id: GraphNo, checkpoint_id: CheckpointNo
            };
            /// Continues a graph from a saved state.
            0x0c TG_RESTORE TgRestore tg_restore "12.4" Unit [No No No Yes] {
                graph_id: GraphNo, checkpoint_id: CheckpointNo
            };

            /// Allocates memory: in a graph, for each of its launches; outside, for all graphs.
            0x20 MC_ALLOC McAlloc mc_alloc "4.1" Both [Yes Yes Yes Yes] {
                tensor_id: TensorNo, size: u64, alignment: u32 = DEFAULT_ALIGNMENT,
                location: MemLocation = MemLocation::Gm
            };
            /// Releases an allocation after everything before it in the graph that uses it.
            0x21 MC_FREE McFree mc_free "4.2" Both [Yes Yes Yes Yes] { tensor_id: TensorNo };
            /// Gives a kernel bytes of a tensor as an argument; `size` 0 is the rest of the tensor.
            0x22 MC_BIND McBind mc_bind "4.3" Graph [Yes Yes Yes Yes] {
                kernel_id: KernelNo, arg_index: u32, tensor_id: TensorRef, offset: Scalar = Scalar::Const(0),
                size: Scalar = Scalar::Const(0), direction: Direction = Direction::Auto
            };
            /// Copies bytes between tensors, in order with whoever else uses them.
            0x23 MC_COPY McCopy mc_copy "4.4" Graph [Yes Yes Yes Yes] {
                src_tensor: TensorNo, dst_tensor: TensorNo, size: u64, src_offset: u64 = 0, dst_offset: u64 = 0
            };
            /// Makes what was written visible along every `AFTER` that crosses it. Orders nothing.
            0x24 MC_FENCE McFence mc_fence "4.5" Graph [Partial Yes Yes Na] { scope: FenceScope };

            /// Runs what follows if the condition is not 0.
            0x40 CF_IF CfIf cf_if "5.1" Both [Yes Yes Yes Yes] { condition: Scalar };
            /// Runs what follows if the condition of the `CF_IF` is 0.
            0x41 CF_ELSE CfElse cf_else "5.1" Both [Yes Yes Yes Yes] {};
            /// Ends a `CF_IF`.
            0x42 CF_ENDIF CfEndif cf_endif "5.1" Both [Yes Yes Yes Yes] {};
            /// Runs what follows so many times, with the loop's variable counting from 0.
            0x43 CF_LOOP CfLoop cf_loop "5.2" Both [Yes Yes Yes Yes] {
                count: Scalar, iterator: IterNo, mode: LoopMode = LoopMode::Auto
            };
            /// Ends a `CF_LOOP`.
            0x44 CF_ENDLOOP CfEndloop cf_endloop "5.2" Both [Yes Yes Yes Yes] {};
            /// Leaves the innermost loop if the condition is not 0, once what stands before it in the loop is complete.
            0x45 CF_BREAK CfBreak cf_break "5.3" Both [Yes Yes Yes Yes] { condition: Scalar };
            /// Runs what follows as long as the condition, looked at before each round, is not 0.
            0x46 CF_WHILE CfWhile cf_while "5.4" Both [Yes Yes Yes Yes] {
                condition: Scalar, max_iterations: u64 = MAX_WHILE_ITERATIONS
            };
            /// Ends a `CF_WHILE`.
            0x47 CF_ENDWHILE CfEndwhile cf_endwhile "5.4" Both [Yes Yes Yes Yes] {};

            /// Asks for cores for a kernel.
            0x60 CA_REQUEST CaRequest ca_request "6.1" Graph [Hint Hint Hint Na] {
                kernel_id: KernelNo, aic_count: u32, aiv_count: u32, aicpu_count: u32 = 0
            };
            /// Says how kernels would best share cores.
            0x61 CA_AFFINITY CaAffinity ca_affinity "6.2" Graph [Hint Hint Yes Na] {
                kernel_set: KernelSet, affinity_type: AffinityType
            };
            /// Defines a partition of the cores.
            0x62 CA_PARTITION CaPartition ca_partition "6.3" Both [Hint Hint Yes Na] {
                partition_id: PartitionNo, aic_start: u32, aic_count: u32, aiv_start: u32, aiv_count: u32
            };

            /// The completion of a kernel is one of those that the event needs.
            0x80 SY_SIGNAL SySignal sy_signal "7.1" Graph [Yes Yes Yes Yes] { event_id: EventNo, src_kernel: KernelNo };
            /// A kernel starts after the event: of its own graph where that signals it, else of the last launch before that does. A kernel that signals
            /// the event, or comes by `TG_DEPEND` before one that does, waits for an earlier launch, of its own graph or another.
            0x81 SY_WAIT SyWait sy_wait "7.2" Graph [Yes Yes Yes Yes] { event_id: EventNo, dst_kernel: KernelNo };
            /// Kernels that start together, once all are ready and there are cores for all.
            0x82 SY_BARRIER SyBarrier sy_barrier "7.3" Graph [Yes Yes Yes Yes] {
                kernel_set: KernelSet, barrier_id: BarrierNo
            };
            /// Notifies another device when a kernel is complete: the last defined, or the one named. Those of one notification to one device are sent in
            /// the order of the text: a later one waits for all before it in its graph.
            0x83 SY_NOTIFY SyNotify sy_notify "7.4" Graph [No No Yes Na] {
                device_id: DeviceNo, notify_id: NotifyNo, after: KernelNo = KernelNo::NONE
            };
            /// Kernels and copies from here on in the same body, or the kernel named, start after a notification of another device. Waits for one notification
            /// of one device take place in the order of the text: a later one waits for all before it in its graph.
            0x84 SY_WAIT_NOTIFY SyWaitNotify sy_wait_notify "7.5" Graph [No No Yes Na] {
                device_id: DeviceNo, notify_id: NotifyNo, before: KernelNo = KernelNo::NONE
            };
        }
    };
}

macro_rules! optional {
    () => {
        false
    };
    ($default:expr) => {
        true
    };
}

macro_rules! table {
    ($($(#[doc = $doc:literal])* $code:literal $mnemonic:ident $name:ident $builder:ident $section:literal $scope:ident
        [$($support:ident)*] { $($operand:ident: $ty:ty $(= $default:expr)?),* };)*) => {
        /// An instruction without its operands.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum Op {
            $($(#[doc = $doc])* $name = $code,)*
        }

        /// An instruction.
        #[derive(Clone, Copy, PartialEq, Debug)]
        #[allow(missing_docs, reason = "operands are named and explained by the table")]
        pub enum Instr {
            $($(#[doc = $doc])* $name { $($operand: $ty),* },)*
        }

        /// Every instruction, by code.
        pub const OPS: &[OpInfo] = &[$(OpInfo {
            op: Op::$name,
            mnemonic: stringify!($mnemonic),
            meaning: concat!($($doc),*),
            section: $section,
            scope: InstrScope::$scope,
            support: [$(Support::$support),*],
            operands: &[$(OperandInfo {
                name: stringify!($operand),
                kind: <$ty as OperandType>::KIND,
                optional: optional!($($default)?),
            }),*],
        },)*];

        impl Op {
            /// The instruction with this code.
            pub const fn from_code(code: u32) -> Option<Op> {
                match code {
                    $($code => Some(Op::$name),)*
                    _ => None,
                }
            }
        }

        impl Instr {
            /// What instruction it is.
            #[inline]
            pub const fn op(&self) -> Op {
                match self {
                    $(Instr::$name { .. } => Op::$name,)*
                }
            }
        }
    };
}

for_each_tg_op!(table);

impl Op {
    /// Its row of the table.
    pub fn info(self) -> &'static OpInfo {
        let at = OPS.binary_search_by_key(&self, |info| info.op);
        // Rows stand in the order of their codes, which a test checks.
        &OPS[at.unwrap_or(0)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_in_the_order_of_their_codes() {
        assert!(OPS.is_sorted_by_key(|info| info.op as u8));
        assert!(OPS.iter().all(|info| info.op.info() == info));
        assert!(OPS.iter().all(|info| Op::from_code(info.op as u32) == Some(info.op)));
    }

    #[test]
    fn operands_that_can_be_left_out_come_last() {
        for info in OPS {
            assert!(info.operands.is_sorted_by_key(|operand| operand.optional), "{}", info.mnemonic);
        }
    }
}
