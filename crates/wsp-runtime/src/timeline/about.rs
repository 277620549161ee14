//! What is known of a run beside its tasks.

use crate::clock::Clock;

/// What is known of the program and of the machine, beside what ran.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct About {
    /// What tells programs with other tasks apart, none where it is not known. Schedules and what kernels compute are no part of it.
    pub key: Option<u64>,
    /// Workers of the run, where rows do not show them all: those of task graphs.
    pub workers: Option<u32>,
    /// The machine model, of runs in virtual time that had one.
    pub machine: Option<Machine>,
    /// What all tasks of each kernel did together, where it is known, by the place of the kernel.
    pub work: Vec<Option<Work>>,
}

/// What a machine can do at most.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Machine {
    /// The name of its model.
    pub name: String,
    /// Cycles per second.
    pub hz: u64,
    /// Operations per second of all its units.
    pub operations: u64,
    /// Bytes per second between its units and the memory of tensors.
    pub bytes: u64,
}

/// Work of tasks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Work {
    /// Operations on elements; two for each product that is added.
    pub operations: u64,
    /// Bytes that were loaded from tensors or stored to them.
    pub bytes: u64,
}

impl Clock {
    /// One word.
    pub fn word(self) -> &'static str {
        match self {
            Clock::Nanoseconds => "nanoseconds",
            Clock::Cycles => "cycles",
        }
    }
}

impl About {
    /// A key as it is shown.
    pub fn shown(key: u64) -> String {
        format!("{key:016x}")
    }

    /// The key of a text.
    pub fn key_of(text: &str) -> u64 {
        // FNV-1a.
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
    }
}
