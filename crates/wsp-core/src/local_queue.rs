//! Records that AICPUs share while they run tasks which they generated themselves: plain data of fixed layout.
//!
//! Fields that several sides change are plain integers here; a runtime keeps atomics in their place.

use crate::limits;
use crate::pod::TensorRegion2D;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

const PARAMS: usize = limits::MAX_LOCAL_PARAMS as usize;

/// A task in the window of the AICPU that generated it.
///
/// Its ordinal is kept beside the window, because it does not fit into `id`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct LocalTask {
    /// Its slot of the window, which later tasks take again.
    pub id: u16,
    /// Its kernel: an index into the program's table of kernels.
    pub kernel_id: u16,
    /// [`ExecPool`](crate::ExecPool).
    pub pool: u8,
    /// Zero.
    pub reserved: u8,
    /// What it still waits for.
    pub fanin: i16,
    /// Where its successors begin in the arena of successors.
    pub fanout_start: u16,
    /// How many successors it has; more than a row of the arena holds are chained.
    pub fanout_count: u16,
    /// Its descriptor.
    pub params: [u32; PARAMS],
}

/// An access of a task that is not complete, in the map that all AICPUs share.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct GlobalTensorMapEntry {
    /// The region.
    pub region: TensorRegion2D,
    /// Which AICPU has the task.
    pub producer_aicpu: u16,
    /// The task: its slot in that AICPU's window.
    pub producer_local_task: u16,
    /// How often the slot had been taken before: tells the task from others of the same slot.
    pub generation: u32,
    /// 1 when the task is complete.
    pub is_complete: u8,
    /// Zero.
    pub reserved: [u8; 7],
}

/// One AICPU tells another that a task is complete: an entry of the ring between the two.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Notification {
    /// The task: its slot in the window of the sender.
    pub task_id: u16,
    /// The low half of the number of entries written before it: a reader that expects another lost something.
    pub sequence: u16,
}

impl Notification {
    /// The entry as one word, which is read and written at once.
    pub const fn to_word(self) -> u32 {
        self.task_id as u32 | (self.sequence as u32) << 16
    }

    /// The entry that [`to_word`](Self::to_word) made this of.
    pub const fn from_word(word: u32) -> Notification {
        Notification { task_id: word as u16, sequence: (word >> 16) as u16 }
    }
}

const _: () = {
    use core::mem::offset_of;
    assert!(size_of::<LocalTask>() == 12 + 4 * PARAMS && align_of::<LocalTask>() == 4);
    assert!(offset_of!(LocalTask, kernel_id) == 2 && offset_of!(LocalTask, pool) == 4);
    assert!(offset_of!(LocalTask, fanin) == 6 && offset_of!(LocalTask, fanout_start) == 8);
    assert!(offset_of!(LocalTask, fanout_count) == 10 && offset_of!(LocalTask, params) == 12);
    assert!(size_of::<GlobalTensorMapEntry>() == 40);
    assert!(offset_of!(GlobalTensorMapEntry, producer_aicpu) == 24);
    assert!(offset_of!(GlobalTensorMapEntry, producer_local_task) == 26);
    assert!(offset_of!(GlobalTensorMapEntry, generation) == 28);
    assert!(offset_of!(GlobalTensorMapEntry, is_complete) == 32);
    assert!(size_of::<Notification>() == 4 && offset_of!(Notification, sequence) == 2);
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_local_task_has_its_fields_where_devices_expect_them() {
        let expected: [u8; 76] = core::array::from_fn(|i| i as u8 + 1);
        let task = LocalTask {
            id: 0x0201,
            kernel_id: 0x0403,
            pool: 5,
            reserved: 6,
            fanin: 0x0807,
            fanout_start: 0x0A09,
            fanout_count: 0x0C0B,
            params: core::array::from_fn(|i| {
                let first = 4 * i as u32 + 13;
                first | (first + 1) << 8 | (first + 2) << 16 | (first + 3) << 24
            }),
        };
        assert_eq!(task.as_bytes(), expected);
        assert_eq!(LocalTask::read_from_bytes(&expected), Ok(task));
    }

    #[test]
    fn an_entry_of_the_map_has_its_fields_where_devices_expect_them() {
        let entry = GlobalTensorMapEntry {
            region: TensorRegion2D { base: 1, row_off: 2, col_off: 3, rows: 4, cols: 5 },
            producer_aicpu: 0x1A19,
            producer_local_task: 0x1C1B,
            generation: 0x201F_1E1D,
            is_complete: 1,
            reserved: [0; 7],
        };
        let bytes = entry.as_bytes();
        let expected = [0x19, 0x1A, 0x1B, 0x1C, 0x1D, 0x1E, 0x1F, 0x20, 1, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!((bytes.len(), &bytes[24..]), (40, &expected[..]));
    }

    #[test]
    fn a_notification_is_one_little_endian_word() {
        let notification = Notification { task_id: 0x0201, sequence: 0x0403 };
        assert_eq!(notification.as_bytes(), [1, 2, 3, 4]);
        assert_eq!(notification.to_word(), 0x0403_0201);
        assert_eq!(Notification::from_word(0x0403_0201), notification);
    }
}
