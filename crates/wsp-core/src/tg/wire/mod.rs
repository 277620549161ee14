//! The binary form of task-graph units (PTOG): sections, and the records that they hold.
//!
//! Records are plain data of fixed layout with little-endian fields of no alignment, so that bytes can be read where they
//! lie, on any machine. Instructions of document 000's four tables have rows of the document's layout; all others are rows
//! of words that follow from the table of instructions ([`operand_words`]).

mod record;
mod words;

pub use record::{
    AllocRow, ArgRow, BindRow, CodeRow, DebugHeader, DependRow, ExprRow, ExternRow, Header, HeaderTail,
    KernelRow, NameRow, ReferenceArgRow, ReferenceRow, SectionRow, SpanRow, TableRow, bind_mode,
};
pub use words::{MAX_ROW_WORDS, OperandFault, Pools, WordRow, operand_words};
pub(in crate::tg) use words::{read_row, scalar, table};

use super::op::Op;
use super::{ISA_REVISION, OPS};

/// "PTOG", as a number; its bytes in a file are `47 4F 54 50`.
pub const MAGIC: u32 = 0x5054_4F47;
/// The layout of document 000: a header and four tables. It is read, not written.
pub const DOCUMENT_VERSION: u32 = 1;
/// The layout with a directory of sections, which is written. Version 2 had it too, with expressions without skips: `&&` and `||` evaluated
/// both sides there.
pub const VERSION: u32 = 3;
/// Which revision of the instruction set a version of the format holds.
pub const REVISIONS: [(u32, (u16, u16)); 2] = [(DOCUMENT_VERSION, (0, 1)), (VERSION, (0, 1))];
/// Bytes of [`Header`] and [`HeaderTail`] together.
pub const HEADER_BYTES: u32 = 48;
/// Sections begin at multiples of so many bytes.
pub const SECTION_ALIGNMENT: u64 = 8;
/// The only bit of the header's flags: all numbers are little-endian.
pub const LITTLE_ENDIAN: u32 = 1;
/// How many kinds of numbers have names.
pub const NAMESPACES: u32 = 11;
/// The `dtype` of an external tensor that has none.
pub const NO_DTYPE: u32 = u32::MAX;

// A new revision of the instruction set is a new version of the format.
const _: () = {
    let (version, (major, minor)) = REVISIONS[REVISIONS.len() - 1];
    assert!(version == VERSION && major == ISA_REVISION.0 && minor == ISA_REVISION.1);
};

macro_rules! sections {
    ($($(#[doc = $doc:literal])* $name:ident $text:ident = $code:literal,)*) => {
        /// A section of a file. A reader skips those that it does not know.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u32)]
        pub enum Section { $($(#[doc = $doc])* $name = $code,)* }

        impl Section {
            /// Every section with its name and its meaning, by number.
            pub const ALL: &[(Section, &str, &str)] =
                &[$((Section::$name, stringify!($text), concat!($($doc),*)),)*];

            /// The section with this number.
            pub const fn from_code(code: u32) -> Option<Section> {
                match code { $($code => Some(Section::$name),)* _ => None }
            }

            /// Its name.
            pub const fn name(self) -> &'static str {
                match self { $(Section::$name => stringify!($text),)* }
            }
        }
    };
}

sections! {
    /// `TG_KERNEL`: [`KernelRow`].
    Kernel KERNEL = 1,
    /// `TG_DEPEND`: [`DependRow`].
    Depend DEPEND = 2,
    /// `MC_ALLOC`: [`AllocRow`].
    Alloc ALLOC = 3,
    /// `MC_BIND`: [`BindRow`].
    Bind BIND = 4,
    /// Strings: where each ends (`u32`), then their text in UTF-8, one after another.
    Strtab STRTAB = 5,
    /// Entries of kernels: [`CodeRow`].
    Code CODE = 6,
    /// Control flow (`CF_`): rows of 6 words.
    Ctrl CTRL = 7,
    /// Cores (`CA_`) and `TG_PERSISTENT`: rows of 6 words.
    Core CORE = 8,
    /// Synchronisation (`SY_`): rows of 4 words.
    Sync SYNC = 9,
    /// `MC_COPY` and `MC_FREE`: rows of 10 words.
    Copy COPY = 10,
    /// `MC_FENCE`: rows of 2 words.
    Fence FENCE = 11,
    /// Events that whoever runs the unit signals: their numbers (`u32`).
    Event EVENT = 12,
    /// Expressions in postfix order: [`ExprRow`].
    Scalar SCALAR = 13,
    /// Where things stand in the source: [`DebugHeader`], a [`SpanRow`] for each, the source's name.
    Debug DEBUG = 14,
    /// The program order: for each instruction the section (`u8`) of whose rows it is the next.
    Order ORDER = 15,
    /// Beginnings and ends of graphs and statements of the host (the other `TG_`): rows of 4 words.
    Host HOST = 16,
    /// Tables of bindings: [`TableRow`].
    Table TABLE = 17,
    /// Kernels of kernel sets: their numbers (`u32`).
    KernelSet KERNEL_SET = 18,
    /// Tensors of tables of bindings: their numbers (`u32`).
    TensorSet TENSOR_SET = 19,
    /// Names of numbers: [`NameRow`].
    Name NAME = 20,
    /// Files of kernels: the string (`u32`) of each path.
    Use USE = 21,
    /// Tensors that whoever runs the unit provides: [`ExternRow`].
    Extern EXTERN = 22,
    /// Extents of those tensors in elements (`u64`).
    Extent EXTENT = 23,
    /// Scalars that whoever runs the unit provides: [`ArgRow`].
    Arg ARG = 24,
    /// What outputs are compared with: [`ReferenceRow`].
    Reference REFERENCE = 25,
    /// Parameters of those: [`ReferenceArgRow`].
    ReferenceArg REFERENCE_ARG = 26,
}

impl Section {
    /// How many there are, and one more: numbers begin at 1.
    pub const COUNT: usize = Section::ALL.len() + 1;

    /// The section of an instruction's row.
    pub const fn of(op: Op) -> Section {
        match op {
            Op::TgKernel => Section::Kernel,
            Op::TgDepend => Section::Depend,
            Op::McAlloc => Section::Alloc,
            Op::McBind => Section::Bind,
            Op::McCopy | Op::McFree => Section::Copy,
            Op::McFence => Section::Fence,
            Op::TgPersistent => Section::Core,
            _ => match op as u32 >> 5 {
                0 => Section::Host,
                2 => Section::Ctrl,
                3 => Section::Core,
                _ => Section::Sync,
            },
        }
    }

    /// Words of its rows, of a section whose rows are words.
    pub const fn row_words(self) -> Option<usize> {
        Some(match self {
            Section::Ctrl | Section::Core => 6,
            Section::Sync | Section::Host => 4,
            Section::Copy => MAX_ROW_WORDS,
            Section::Fence => 2,
            _ => return None,
        })
    }
}

// Each instruction fits a row of its section.
const _: () = {
    let mut at = 0;
    while at < OPS.len() {
        let op = OPS[at].op;
        if let Some(words) = Section::of(op).row_words() {
            assert!(operand_words(op) < words && words <= MAX_ROW_WORDS && words % 2 == 0);
        }
        at += 1;
    }
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_numbered_without_gaps() {
        for (at, (section, name, _)) in Section::ALL.iter().enumerate() {
            assert_eq!(*section as usize, at + 1, "{name}");
            assert_eq!(Section::from_code(*section as u32), Some(*section));
            assert_eq!(section.name(), *name);
        }
    }

    #[test]
    fn instructions_go_to_the_section_that_is_named_for_them() {
        for info in OPS {
            let expected = match info.mnemonic {
                "TG_KERNEL" => Section::Kernel,
                "TG_DEPEND" => Section::Depend,
                "MC_ALLOC" => Section::Alloc,
                "MC_BIND" => Section::Bind,
                "MC_FENCE" => Section::Fence,
                "TG_PERSISTENT" => Section::Core,
                name if name.starts_with("MC_") => Section::Copy,
                name if name.starts_with("CF_") => Section::Ctrl,
                name if name.starts_with("CA_") => Section::Core,
                name if name.starts_with("SY_") => Section::Sync,
                _ => Section::Host,
            };
            assert_eq!(Section::of(info.op), expected, "{}", info.mnemonic);
        }
    }
}
