//! The sections of a program, and their bytes.

use wsp_core::ptow::{
    AxisDescriptor, Header, KernelDescriptor, MAGIC, MAX_WORDS, PoolHeader, TensorDescriptor, VERSION, Word,
};
use zerocopy::IntoBytes;

/// What a program is made of.
#[derive(Debug, Default)]
pub(in crate::ptow) struct Sections {
    pub(in crate::ptow) words: Vec<Word>,
    pub(in crate::ptow) axes: Vec<AxisDescriptor>,
    pub(in crate::ptow) kernels: Vec<KernelDescriptor>,
    pub(in crate::ptow) tensors: Vec<TensorDescriptor>,
    pub(in crate::ptow) exprs: Vec<Word>,
    pub(in crate::ptow) names: Vec<u8>,
    pub(in crate::ptow) values: usize,
    pub(in crate::ptow) tables: usize,
    pub(in crate::ptow) slots: usize,
    pub(in crate::ptow) labels: usize,
    pub(in crate::ptow) channels: usize,
}

/// More of something than a program has room for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::ptow) struct TooLarge {
    pub(in crate::ptow) what: &'static str,
    pub(in crate::ptow) has: usize,
    pub(in crate::ptow) most: usize,
}

/// Rows that an operand of 16 bits can name beside "none".
const ROWS: usize = u16::MAX as usize;

impl Sections {
    /// What there is too much of. Only a program without has meaningful bytes.
    pub(in crate::ptow) fn too_large(&self) -> Option<TooLarge> {
        [
            ("instruction words", self.words.len(), MAX_WORDS as usize),
            ("expression words", self.exprs.len(), ROWS),
            ("axes", self.axes.len(), ROWS),
            ("kernels", self.kernels.len(), ROWS),
            ("tensors", self.tensors.len(), ROWS),
            ("parameters", self.values, ROWS),
            ("tables", self.tables, ROWS),
            ("slots", self.slots, ROWS),
            ("labels", self.labels, ROWS),
            ("channels of a pipeline", self.channels, ROWS),
        ]
        .into_iter()
        .map(|(what, has, most)| TooLarge { what, has, most })
        .find(|row| row.has > row.most)
    }

    /// Its bytes.
    pub(in crate::ptow) fn to_bytes(&self) -> Vec<u8> {
        let header = Header {
            magic: MAGIC,
            version: VERSION,
            num_instructions: self.words.len() as u32,
            num_axes: self.axes.len() as u32,
            num_kernels: self.kernels.len() as u32,
            num_tensors: self.tensors.len() as u32,
        };
        let pool = PoolHeader {
            num_words: self.exprs.len() as u32,
            name_bytes: self.names.len() as u32,
            num_values: self.values as u16,
            num_tables: self.tables as u16,
            num_slots: self.slots as u16,
            num_labels: self.labels as u16,
            num_generators: 0,
            num_channels: self.channels as u16,
        };
        [
            header.as_bytes(),
            self.words.as_bytes(),
            self.axes.as_bytes(),
            self.kernels.as_bytes(),
            self.tensors.as_bytes(),
            pool.as_bytes(),
            self.exprs.as_bytes(),
            &self.names,
        ]
        .concat()
    }
}

/// Names, each ended by a zero byte.
#[derive(Debug, Default)]
pub(in crate::ptow) struct NameTable {
    bytes: Vec<u8>,
}

impl NameTable {
    /// Where a name that is appended begins; all ones when that is too far on.
    pub(in crate::ptow) fn push(&mut self, name: &str) -> u16 {
        let at = u16::try_from(self.bytes.len()).unwrap_or(u16::MAX);
        self.bytes.extend(name.bytes().filter(|byte| *byte != 0));
        self.bytes.push(0);
        at
    }

    /// All names; none when some would begin where no row can say.
    pub(in crate::ptow) fn into_bytes(self) -> Option<Vec<u8>> {
        (self.bytes.len() < usize::from(u16::MAX)).then_some(self.bytes)
    }
}
