//! The records of the binary form.

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

macro_rules! records {
    ($($(#[$doc:meta])* $name:ident $bytes:literal { $($(#[$fdoc:meta])* $field:ident: $ty:ty = $at:literal,)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
        #[repr(C)]
        pub struct $name { $($(#[$fdoc])* pub $field: $ty,)* }

        const _: () = {
            assert!(size_of::<$name>() == $bytes);
            $(assert!(core::mem::offset_of!($name, $field) == $at);)*
        };
    )*};
}

records! {
    /// What every file begins with (document 000, section 10.2). In version 1 the tables follow: [`KernelRow`],
    /// [`DependRow`], [`AllocRow`] as often as the header says, then [`BindRow`] to the end.
    Header 20 {
        /// [`MAGIC`](super::MAGIC).
        magic: U32 = 0,
        /// [`DOCUMENT_VERSION`](super::DOCUMENT_VERSION) or [`VERSION`](super::VERSION).
        version: U32 = 4,
        /// Kernels, of all graphs.
        kernel_count: U32 = 8,
        /// Dependences, of all graphs.
        depend_count: U32 = 12,
        /// Allocations, of all graphs and of the unit.
        alloc_count: U32 = 16,
    }
    /// The rest of the header in version 3. [`SectionRow`]s follow.
    HeaderTail 28 {
        /// Bytes of the whole header.
        header_bytes: U32 = 0,
        /// [`LITTLE_ENDIAN`](super::LITTLE_ENDIAN).
        flags: U32 = 4,
        /// The first graph; 0 if there is none.
        graph_id: U32 = 8,
        /// Bindings, of all graphs.
        binding_count: U32 = 12,
        /// Rows of the directory.
        section_count: U32 = 16,
        /// CRC-32 (IEEE 802.3) of the whole file with zeros here.
        crc32: U32 = 20,
        /// Revision of the instruction set: major in the upper half, minor in the lower.
        revision: U32 = 24,
    }
    /// A row of the directory. Rows stand in the order of their sections in the file.
    SectionRow 24 {
        /// [`Section`](super::Section), or one that a later version knows.
        kind: U32 = 0,
        /// Rows.
        count: U32 = 4,
        /// The first byte, from the beginning of the file: a multiple of 8.
        offset: U64 = 8,
        /// Bytes, without those up to the next section.
        bytes: U64 = 16,
    }
    /// A `TG_KERNEL`.
    KernelRow 24 {
        /// Its number in its graph.
        kernel_id: U32 = 0,
        /// Version 1: where its entry begins in code that is not in the file. Version 3: the byte of its row in `CODE`.
        entry_offset: U32 = 4,
        /// Blocks.
        block_dim: U32 = 8,
        /// Lower half: [`CoreType`](crate::tg::CoreType). Upper half, in version 3: its partition plus 1, or 0.
        core_type: U32 = 12,
        /// Bytes of workspace for all blocks.
        workspace_size: U64 = 16,
    }
    /// A `TG_DEPEND`.
    DependRow 16 {
        /// A kernel or a copy: [`NodeNo`](crate::tg::NodeNo).
        src: U32 = 0,
        /// A kernel or a copy.
        dst: U32 = 4,
        /// [`DependencyType`](crate::tg::DependencyType).
        dep_type: U32 = 8,
        /// A tensor; 0 for none.
        tensor_id: U32 = 12,
    }
    /// An `MC_ALLOC`.
    AllocRow 24 {
        /// Its number.
        tensor_id: U32 = 0,
        /// Zero.
        zero: U32 = 4,
        /// Bytes.
        size: U64 = 8,
        /// Bytes.
        alignment: U32 = 16,
        /// [`MemLocation`](crate::tg::MemLocation).
        location: U32 = 20,
    }
    /// An `MC_BIND`.
    BindRow 32 {
        /// The kernel.
        kernel_id: U32 = 0,
        /// Which of its arguments.
        arg_index: U32 = 4,
        /// The tensor, or the row of a table ([`bind_mode::TABLE`]).
        tensor_id: U32 = 8,
        /// [`bind_mode`]; zero in version 1.
        mode: U32 = 12,
        /// The first byte, or an expression ([`bind_mode::OFFSET`]).
        offset: U64 = 16,
        /// Bytes, or an expression ([`bind_mode::SIZE`]).
        size: U64 = 24,
    }
    /// A table of a binding.
    TableRow 16 {
        /// Its first tensor in `TENSOR_SET`.
        first: U32 = 0,
        /// How many.
        len: U32 = 4,
        /// Which of them, from 0: an expression.
        index: U32 = 8,
        /// Zero.
        zero: U32 = 12,
    }
    /// An entry of kernels.
    CodeRow 8 {
        /// The string of its symbol.
        symbol: U32 = 0,
        /// Zero: files have no code.
        zero: U32 = 4,
    }
    /// An operation of an expression.
    ExprRow 16 {
        /// Which, by its place in [`ExprOp`](crate::tg::ExprOp).
        op: u8 = 0,
        /// Of a load: [`ScalarType`](crate::tg::ScalarType).
        ty: u8 = 1,
        /// Zero.
        zero: [u8; 2] = 2,
        /// The loop variable, scalar or tensor; of a skip, how many operations it goes past.
        number: U32 = 4,
        /// The constant, in two's complement.
        value: U64 = 8,
    }
    /// The name of a number.
    NameRow 16 {
        /// What is numbered, below [`NAMESPACES`](super::NAMESPACES): 0 graphs, 1 kernels, 2 tensors, 3 events, 4 barriers,
        /// 5 notifications, 6 devices, 7 partitions, 8 loop variables, 9 streams, 10 checkpoints.
        space: U32 = 0,
        /// The graph, of a kernel or a barrier; else 0.
        graph: U32 = 4,
        /// The number.
        number: U32 = 8,
        /// The string of its name.
        name: U32 = 12,
    }
    /// A tensor that whoever runs the unit provides.
    ExternRow 16 {
        /// Its number.
        tensor_id: U32 = 0,
        /// [`DType`](crate::DType), or [`NO_DTYPE`](super::NO_DTYPE).
        dtype: U32 = 4,
        /// Its first extent in `EXTENT`.
        first: U32 = 8,
        /// How many dimensions.
        rank: U32 = 12,
    }
    /// A scalar that whoever runs the unit provides.
    ArgRow 16 {
        /// The string of its name.
        name: U32 = 0,
        /// 0: given with the run. 1: read from the host's memory when a graph is launched.
        source: u8 = 4,
        /// [`ScalarType`](crate::tg::ScalarType).
        ty: u8 = 5,
        /// Whether it has a default: 0 or 1.
        has_default: u8 = 6,
        /// Zero.
        zero: u8 = 7,
        /// The default, in two's complement.
        default: U64 = 8,
    }
    /// What outputs are compared with.
    ReferenceRow 16 {
        /// The string of its name.
        name: U32 = 0,
        /// Its first parameter in `REFERENCE_ARG`.
        first: U32 = 4,
        /// How many.
        len: U32 = 8,
        /// Zero.
        zero: U32 = 12,
    }
    /// A parameter of a reference.
    ReferenceArgRow 16 {
        /// The string of its name.
        name: U32 = 0,
        /// What it is here: 0 a tensor, 1 a number, 2 a declared scalar.
        kind: U32 = 4,
        /// The tensor, the number in two's complement, or the place of the scalar's row in `ARG`.
        value: U64 = 8,
    }
    /// What the section of places begins with. Spans follow: of each instruction or of none, then of each row of `USE`,
    /// `EXTERN`, `EVENT`, `ARG`, `REFERENCE`; then the source's name.
    DebugHeader 16 {
        /// Instructions that have a span.
        instrs: U32 = 0,
        /// Bytes of the source's name; 0 if it is not known.
        name_bytes: U32 = 4,
        /// Bytes of the source.
        source_bytes: U32 = 8,
        /// CRC-32 of the source.
        source_crc32: U32 = 12,
    }
    /// A place in a source.
    SpanRow 12 {
        /// The file, as who wrote it numbered files.
        file: U32 = 0,
        /// The first byte.
        start: U32 = 4,
        /// One past the last byte.
        end: U32 = 8,
    }
}

const _: () = assert!(size_of::<Header>() + size_of::<HeaderTail>() == super::HEADER_BYTES as usize);

/// Bits of [`BindRow::mode`].
pub mod bind_mode {
    /// The offset is an expression.
    pub const OFFSET: u32 = 1;
    /// The size is an expression.
    pub const SIZE: u32 = 2;
    /// The tensor is the row of `TABLE` with this place.
    pub const TABLE: u32 = 4;
    /// Where the [`Direction`](crate::tg::Direction) begins; it takes two bits.
    pub const DIRECTION_SHIFT: u32 = 8;
    /// Every bit that may be set.
    pub const ALL: u32 = OFFSET | SIZE | TABLE | 3 << DIRECTION_SHIFT;
}
