//! The records of the wire format: plain data of fixed layout, little-endian.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// "PTOW", as a number; its bytes in a file are `57 4F 54 50`.
pub const MAGIC: u32 = 0x5054_4F57;
/// The version of the format. A reader takes programs of its own version only.
pub const VERSION: u32 = 1;

/// An instruction, or a word of an expression.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Word {
    /// [`Op`](super::Op) or [`XOp`](super::XOp).
    pub opcode: u8,
    /// How many extension words follow; of extension words and expression words, see there.
    pub flags: u8,
    /// The first operand.
    pub operand1: u16,
    /// The second operand.
    pub operand2: u32,
}

/// What a program begins with. Then follow, each as often as the counts say: instructions ([`Word`]), [`AxisDescriptor`],
/// [`KernelDescriptor`], [`TensorDescriptor`], then [`PoolHeader`] and what it counts. A program may end before the
/// [`PoolHeader`]: then all that it counts is 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Header {
    /// [`MAGIC`].
    pub magic: u32,
    /// [`VERSION`].
    pub version: u32,
    /// Words of all bodies.
    pub num_instructions: u32,
    /// Rows of the table of axes.
    pub num_axes: u32,
    /// Rows of the table of kernels.
    pub num_kernels: u32,
    /// Rows of the table of tensors.
    pub num_tensors: u32,
}

/// The kinds of axes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum AxisForm {
    /// `[a, b)`: two launch-time expressions.
    Dense = 0,
    /// `[0, a)`: a launch-time value.
    DenseDyn = 1,
    /// `[0, table b[row])`. `a` is the outer axis, or all ones.
    Ragged = 2,
    /// Entries of a row: `table (b >> 16)` from `table (b & 0xFFFF)[row]` to that `[row + 1]`. `a` is the outer axis, or
    /// all ones.
    Sparse = 3,
    /// `a .. (b & 0xFFFF)` in steps of `b >> 16`: expressions over loop variables, evaluated when the loop is entered; all
    /// ones for a step of 1. A step below 1 is a fault.
    Range = 4,
    /// Set by an instruction at the beginning of the program.
    Set = 255,
}

impl AxisForm {
    /// The kind with this code.
    pub const fn from_code(code: u8) -> Option<AxisForm> {
        Some(match code {
            0 => AxisForm::Dense,
            1 => AxisForm::DenseDyn,
            2 => AxisForm::Ragged,
            3 => AxisForm::Sparse,
            4 => AxisForm::Range,
            255 => AxisForm::Set,
            _ => return None,
        })
    }
}

/// An axis.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct AxisDescriptor {
    /// [`AxisForm`].
    pub form: u8,
    /// Zero.
    pub reserved: u8,
    /// As the form says.
    pub a: u16,
    /// As the form says.
    pub b: u32,
}

/// A kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct KernelDescriptor {
    /// [`ExecPool`](crate::ExecPool) of its tasks.
    pub pool: u8,
    /// Zero.
    pub reserved: u8,
    /// Where its name begins among the names; all ones for none.
    pub name: u16,
    /// Zero.
    pub reserved2: u32,
}

/// A tensor. Its extents are bound at launch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct TensorDescriptor {
    /// [`DType::code`](crate::DType::code).
    pub dtype: u8,
    /// Number of dimensions, at most [`MAX_RANK`](crate::MAX_RANK).
    pub rank: u8,
    /// Where its name begins among the names; all ones for none.
    pub name: u16,
    /// The computed slot that it holds, plus 1; 0 for none.
    pub slot: u32,
}

/// What follows the tables: expression words ([`Word`]), then the bytes of names.
///
/// Names are UTF-8, each ended by a zero byte, first those of values, tables, axes in this order where there are any;
/// kernels and tensors say where theirs are. A program runs without them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct PoolHeader {
    /// Words of expressions.
    pub num_words: u32,
    /// Bytes of names.
    pub name_bytes: u32,
    /// Launch-time values.
    pub num_values: u16,
    /// Launch-time tables.
    pub num_tables: u16,
    /// Computed slots.
    pub num_slots: u16,
    /// Labels.
    pub num_labels: u16,
    /// Descriptor generators.
    pub num_generators: u16,
    /// Channels.
    pub num_channels: u16,
}

const _: () = {
    use core::mem::offset_of;
    assert!(size_of::<Word>() == 8 && offset_of!(Word, operand1) == 2 && offset_of!(Word, operand2) == 4);
    assert!(size_of::<Header>() == 24 && offset_of!(Header, num_instructions) == 8);
    assert!(size_of::<AxisDescriptor>() == 8 && offset_of!(AxisDescriptor, b) == 4);
    assert!(size_of::<KernelDescriptor>() == 8 && offset_of!(KernelDescriptor, name) == 2);
    assert!(size_of::<TensorDescriptor>() == 8 && offset_of!(TensorDescriptor, slot) == 4);
    assert!(size_of::<PoolHeader>() == 20 && offset_of!(PoolHeader, num_values) == 8);
};
