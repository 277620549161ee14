//! Records of a task graph that a device can be given: plain data of fixed layout, little-endian.
//!
//! Rows have a fixed size; what differs in number lies in pools beside them, named by begin and count. Nothing in them
//! changes while the graph runs: counters are the executor's.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// A region of a tensor of up to two dimensions, in elements; rows are dimension 0, columns dimension 1.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct TensorRegion2D {
    /// The tensor: a device address, or an index into the graph's table of tensors, which knows pitch and element type.
    pub base: u64,
    /// First row.
    pub row_off: i32,
    /// First column.
    pub col_off: i32,
    /// Rows.
    pub rows: i32,
    /// Columns.
    pub cols: i32,
}

/// An access of a task.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct TaskIo {
    /// The region.
    pub region: TensorRegion2D,
    /// 0 for an input, 1 for an output, in records of tasks [`TaskIo::BOTH`] for both.
    pub is_output: u8,
    /// Zero.
    pub reserved: [u8; 7],
}

impl TaskIo {
    /// An access that reads and writes.
    pub const BOTH: u8 = 2;
}

/// A task as runtimes that are handed task after task have it. Where it has pointers, a file has numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct PendingTask {
    /// Its own number.
    pub task_id: i32,
    /// Zero.
    pub reserved: i32,
    /// Its kernel: a pointer to the name, in a file a row of the table of kernels, or [`PendingTask::RELAY`].
    pub func_name: u64,
    /// The function; in a file 0.
    pub func_ptr: u64,
    /// Arguments: the regions that it accesses.
    pub args: [TaskIo; PendingTask::ARGS],
    /// Edges to it.
    pub fanin: i32,
    /// Its successors.
    pub fanout: [i32; PendingTask::FANOUT],
    /// How many arguments there are; those behind are 0.
    pub num_args: u16,
    /// How many successors there are; those behind are 0.
    pub num_fanout: u16,
}

impl PendingTask {
    /// Most arguments.
    pub const ARGS: usize = 16;
    /// Most successors.
    pub const FANOUT: usize = 512;
    /// The kernel of a record that runs nothing and passes on that its only predecessor is complete.
    pub const RELAY: u64 = u64::MAX;
}

/// A task: the header row.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct TaskNodePod {
    /// Its own index.
    pub id: u32,
    /// Its kernel: an index into the graph's table of kernels; [`Self::NO_KERNEL`] for rows that run nothing.
    pub kernel: u16,
    /// [`ExecDomain`](crate::ExecDomain).
    pub domain: u8,
    /// [`ExecPool`](crate::ExecPool).
    pub pool: u8,
    /// Its in-order stream; 0xFFFF for none.
    pub stream: u16,
    /// Its core or tile; 0xFFFF for any.
    pub affinity: u16,
    /// Edges to it.
    pub fanin: i32,
    /// Where its successors begin in the pool of edges.
    pub fanout_begin: u32,
    /// How many there are.
    pub fanout_count: u16,
    /// How many 64-bit arguments there are.
    pub num_u64_args: u16,
    /// How many accesses there are.
    pub num_io: u16,
    /// Bits of [`SchedTags`].
    pub sched_tags: u16,
    /// Where its arguments begin in the pool of arguments.
    pub args_begin: u32,
    /// Where its accesses begin in the pool of accesses.
    pub io_begin: u32,
    /// The larger goes first where the policy asks.
    pub priority: i32,
}

impl TaskNodePod {
    /// The kernel of rows that run nothing: relays and barrier nodes.
    pub const NO_KERNEL: u16 = u16::MAX;
    /// No stream, and no core in particular.
    pub const NONE: u16 = u16::MAX;
}

/// Bits of [`TaskNodePod::sched_tags`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct SchedTags(pub u16);

impl SchedTags {
    /// Completions gathered before this row are released before it starts.
    pub const FLUSH_BATCH: SchedTags = SchedTags(1 << 1);
    /// A point that orders the rows before it and those after it, and runs nothing.
    pub const BARRIER: SchedTags = SchedTags(1);
    /// Passes on the completion of its only predecessor, which has more successors than a row can count.
    pub const RELAY: SchedTags = SchedTags(1 << 2);

    /// An ordered scope begins, with a step; the row runs nothing.
    pub const ORDERED_BEGIN: SchedTags = SchedTags(1 << 3);
    /// Another step of the innermost ordered scope begins; the row runs nothing.
    pub const ORDERED_STEP: SchedTags = SchedTags(1 << 4);
    /// The innermost ordered scope ends; the row runs nothing.
    pub const ORDERED_END: SchedTags = SchedTags(1 << 5);

    /// Whether all bits of `other` are set.
    pub const fn contains(self, other: SchedTags) -> bool {
        self.0 & other.0 == other.0
    }
}

const _: () = {
    assert!(size_of::<TensorRegion2D>() == 24);
    assert!(size_of::<TaskIo>() == 32);
    assert!(core::mem::offset_of!(TaskIo, is_output) == 24);
    assert!(size_of::<PendingTask>() == 2592);
    assert!(core::mem::offset_of!(PendingTask, args) == 24);
    assert!(core::mem::offset_of!(PendingTask, fanin) == 536);
    assert!(core::mem::offset_of!(PendingTask, fanout) == 540);
    assert!(core::mem::offset_of!(PendingTask, num_args) == 2588);
    assert!(size_of::<TaskNodePod>() == 40);
    assert!(core::mem::offset_of!(TaskNodePod, kernel) == 4);
    assert!(core::mem::offset_of!(TaskNodePod, stream) == 8);
    assert!(core::mem::offset_of!(TaskNodePod, fanin) == 12);
    assert!(core::mem::offset_of!(TaskNodePod, fanout_count) == 20);
    assert!(core::mem::offset_of!(TaskNodePod, args_begin) == 28);
    assert!(core::mem::offset_of!(TaskNodePod, priority) == 36);
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_access_has_its_fields_where_devices_expect_them() {
        let region = TensorRegion2D { base: 9, row_off: 1, col_off: -2, rows: 3, cols: 4 };
        let access = TaskIo { region, is_output: 1, ..TaskIo::default() };
        let fields: [&[u8]; 6] = [
            &9u64.to_le_bytes(),
            &1i32.to_le_bytes(),
            &(-2i32).to_le_bytes(),
            &3i32.to_le_bytes(),
            &4i32.to_le_bytes(),
            &[1, 0, 0, 0, 0, 0, 0, 0],
        ];
        assert!(access.as_bytes().iter().eq(fields.into_iter().flatten()));
        assert_eq!(TaskIo::read_from_bytes(access.as_bytes()), Ok(access));
    }

    #[test]
    fn a_row_has_its_fields_where_devices_expect_them() {
        let row = TaskNodePod {
            id: 0x0403_0201,
            kernel: 0x0605,
            domain: 7,
            pool: 8,
            stream: 0x0A09,
            affinity: 0x0C0B,
            fanin: 0x100F_0E0D,
            fanout_begin: 0x1413_1211,
            fanout_count: 0x1615,
            num_u64_args: 0x1817,
            num_io: 0x1A19,
            sched_tags: 0x1C1B,
            args_begin: 0x201F_1E1D,
            io_begin: 0x2423_2221,
            priority: 0x2827_2625,
        };
        let expected: [u8; 40] = core::array::from_fn(|i| i as u8 + 1);
        assert_eq!(row.as_bytes(), expected);
        assert_eq!(TaskNodePod::read_from_bytes(&expected), Ok(row));
    }
}
