//! The sections of a program as growing lists, and programs as bytes of the right alignment.

use wsp_core::ptow::{
    AxisDescriptor, Counts, Header, KernelDescriptor, MAGIC, PoolHeader, TensorDescriptor, VERSION, Word,
};
use zerocopy::IntoBytes as _;

/// The sections of a program while it is put together.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Image {
    pub(super) words: Vec<Word>,
    pub(super) axes: Vec<AxisDescriptor>,
    pub(super) kernels: Vec<KernelDescriptor>,
    pub(super) tensors: Vec<TensorDescriptor>,
    pub(super) counts: Counts,
    pub(super) exprs: Vec<Word>,
    pub(super) names: Vec<u8>,
}

/// Whether the pools are written when they hold nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum EmptyPool {
    /// The program ends before them.
    #[default]
    Omitted,
    /// They are there.
    Written,
}

impl Image {
    /// The program's bytes.
    pub(super) fn to_bytes(&self, pool: EmptyPool) -> Vec<u8> {
        let count = |len: usize| u32::try_from(len).unwrap_or(u32::MAX);
        let header = Header {
            magic: MAGIC,
            version: VERSION,
            num_instructions: count(self.words.len()),
            num_axes: count(self.axes.len()),
            num_kernels: count(self.kernels.len()),
            num_tensors: count(self.tensors.len()),
        };
        let mut bytes = header.as_bytes().to_vec();
        bytes.extend_from_slice(self.words.as_bytes());
        bytes.extend_from_slice(self.axes.as_bytes());
        bytes.extend_from_slice(self.kernels.as_bytes());
        bytes.extend_from_slice(self.tensors.as_bytes());
        let counts = self.counts;
        let empty = self.exprs.is_empty() && self.names.is_empty() && counts == Counts::default();
        if !empty || pool == EmptyPool::Written {
            let pools = PoolHeader {
                num_words: count(self.exprs.len()),
                name_bytes: count(self.names.len()),
                num_values: counts.values,
                num_tables: counts.tables,
                num_slots: counts.slots,
                num_labels: counts.labels,
                num_generators: counts.generators,
                num_channels: counts.channels,
            };
            bytes.extend_from_slice(pools.as_bytes());
            bytes.extend_from_slice(self.exprs.as_bytes());
            bytes.extend_from_slice(&self.names);
        }
        bytes
    }
}

/// Bytes that begin where 64-bit words begin, as programs must.
#[derive(Clone, Debug)]
pub struct AlignedBytes {
    words: Vec<u64>,
    len: usize,
}

impl AlignedBytes {
    /// A copy of some bytes.
    pub fn copy(bytes: &[u8]) -> AlignedBytes {
        let mut words = vec![0u64; bytes.len().div_ceil(8)];
        if let Some(to) = words.as_mut_bytes().get_mut(..bytes.len()) {
            to.copy_from_slice(bytes);
        }
        AlignedBytes { words, len: bytes.len() }
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.words.as_bytes().get(..self.len).unwrap_or_default()
    }
}
