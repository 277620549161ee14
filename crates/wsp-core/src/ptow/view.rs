//! Programs in memory: the sections of one, and one whose rules have been checked.

use super::{AxisDescriptor, Header, KernelDescriptor, PoolHeader, TensorDescriptor, Word};
use crate::{KernelId, TensorId};

/// The sections of a program, as they stand: nothing but their sizes is checked.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    /// What it begins with.
    pub header: &'a Header,
    /// Words of all bodies.
    pub words: &'a [Word],
    /// Axes.
    pub axes: &'a [AxisDescriptor],
    /// Kernels.
    pub kernels: &'a [KernelDescriptor],
    /// Tensors.
    pub tensors: &'a [TensorDescriptor],
    /// What the pools hold.
    pub counts: Counts,
    /// Words of all expressions.
    pub exprs: &'a [Word],
    /// Names.
    pub names: &'a [u8],
}

impl<'a> Program<'a> {
    /// The name of a launch-time value, if the program has names.
    pub fn value_name(&self, value: u16) -> Option<&'a str> {
        self.listed_name(usize::from(value), usize::from(self.counts.values), 0)
    }

    /// The name of a launch-time table, if the program has names.
    pub fn table_name(&self, table: u16) -> Option<&'a str> {
        self.listed_name(usize::from(table), usize::from(self.counts.tables), usize::from(self.counts.values))
    }

    /// The name of an axis, if the program has names; empty for an axis without one.
    pub fn axis_name(&self, axis: u16) -> Option<&'a str> {
        let before = usize::from(self.counts.values).saturating_add(usize::from(self.counts.tables));
        self.listed_name(usize::from(axis), self.axes.len(), before)
    }

    /// The name of a kernel, if it has one.
    pub fn kernel_name(&self, kernel: KernelId) -> Option<&'a str> {
        self.name_at(self.kernels.get(kernel.index())?.name)
    }

    /// The name of a tensor, if it has one.
    pub fn tensor_name(&self, tensor: TensorId) -> Option<&'a str> {
        self.name_at(self.tensors.get(tensor.index())?.name)
    }

    /// The `index`-th of `count` names that stand behind `before` others.
    fn listed_name(&self, index: usize, count: usize, before: usize) -> Option<&'a str> {
        if index >= count || self.names.is_empty() {
            return None;
        }
        let mut names = self.names.split(|byte| *byte == 0);
        core::str::from_utf8(names.nth(before.saturating_add(index))?).ok()
    }

    fn name_at(&self, at: u16) -> Option<&'a str> {
        let name = self.names.get(usize::from(at)..)?.split(|byte| *byte == 0).next()?;
        core::str::from_utf8(name).ok()
    }
}

/// How many there are of what has no table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Counts {
    /// Launch-time values.
    pub values: u16,
    /// Launch-time tables.
    pub tables: u16,
    /// Computed slots.
    pub slots: u16,
    /// Labels.
    pub labels: u16,
    /// Descriptor generators.
    pub generators: u16,
    /// Channels.
    pub channels: u16,
}

impl From<&PoolHeader> for Counts {
    fn from(pool: &PoolHeader) -> Counts {
        Counts {
            values: pool.num_values,
            tables: pool.num_tables,
            slots: pool.num_slots,
            labels: pool.num_labels,
            generators: pool.num_generators,
            channels: pool.num_channels,
        }
    }
}

/// A program that keeps every rule of [`verify`](mod@super::verify). Interpreters take nothing else.
#[derive(Clone, Copy, Debug)]
pub struct Verified<'a> {
    pub(super) program: Program<'a>,
}

impl<'a> Verified<'a> {
    /// Its sections.
    pub fn program(&self) -> &Program<'a> {
        &self.program
    }
}
