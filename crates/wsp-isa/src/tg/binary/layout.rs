//! The page about the binary form. Offsets are those of the types; a field that is missing here does not compile.

use std::fmt::Write as _;
use std::mem::offset_of;
use wsp_core::tg::wire::{
    AllocRow, ArgRow, BindRow, CodeRow, DebugHeader, DependRow, ExprRow, ExternRow, Header, HeaderTail,
    KernelRow, NameRow, ReferenceArgRow, ReferenceRow, Section, SectionRow, SpanRow, TableRow,
};
use wsp_core::tg::{ISA_REVISION, OPS};
use wsp_core::words::counted;

/// A field: where it begins, its name, type and meaning.
type Field = (usize, &'static str, &'static str, &'static str);

macro_rules! fields {
    ($record:ident { $($field:ident $ty:literal $meaning:literal;)* }) => {{
        // Names every field, so that none is forgotten.
        let _ = |record: $record| { let $record { $($field: _),* } = record; };
        (stringify!($record), size_of::<$record>(), vec![$((offset_of!($record, $field), stringify!($field), $ty, $meaning)),*])
    }};
}

type Record = (&'static str, usize, Vec<Field>);

/// The reference page of the binary form, `docs/reference/ptog.md`.
fn reference() -> String {
    let (major, minor) = ISA_REVISION;
    let mut page = include_str!("layout.md").replace("REVISION", &format!("{major}.{minor}"));
    page.push_str("\n## Sections\n\n| kind | section | rows |\n|---|---|---|\n");
    for (section, name, meaning) in Section::ALL {
        let _ = writeln!(page, "| {} | `{name}` | {} |", *section as u32, plain(meaning));
    }
    page.push_str("\n## Records\n");
    for (name, size, fields) in headers().into_iter().chain(tables()).chain(pools()).chain(declarations()) {
        let _ = write!(
            page,
            "\n### `{name}`: {size}\n\n| at | field | type | |\n|---|---|---|---|\n",
            size = counted(size, "byte")
        );
        for (at, field, ty, meaning) in fields {
            let _ = writeln!(page, "| {at} | `{field}` | `{ty}` | {meaning} |");
        }
    }
    page.push_str(
        "\n## Rows of words\n\nInstructions of the other sections are rows of `u32`. The first word holds the code below and, from bit \
         8 on, a bit for each operand that is an expression (its place in `SCALAR`) instead of a number. Operands follow in \
         the order of the table of instructions: `u64` and scalars take two words, the lower first; sets of kernels take their \
         first place in `KERNEL_SET` and their length; everything else takes one word. The rest of a row is zero.\n\n\
         | code | instruction | section | words |\n|---|---|---|---|\n",
    );
    for info in OPS {
        let section = Section::of(info.op);
        if let Some(words) = section.row_words() {
            let _ = writeln!(
                page,
                "| `{:02X}` | `{}` | `{}` | {words} |",
                info.op as u8,
                info.mnemonic,
                section.name()
            );
        }
    }
    page
}

/// Of the page, which `UPDATE_EXPECT=1` writes.
#[test]
fn the_page_is_not_stale() {
    expect_test::expect_file!["../../../../../docs/reference/ptog.md"].assert_eq(&reference());
}

/// A line of documentation without its links.
fn plain(text: &str) -> String {
    text.trim().replace("[`", "`").replace("`]", "`")
}

fn headers() -> Vec<Record> {
    vec![
        fields!(Header {
            magic "u32" "`0x50544F47`: the bytes `47 4F 54 50`";
            version "u32" "1 or 2";
            kernel_count "u32" "kernels, of all graphs";
            depend_count "u32" "dependences, of all graphs";
            alloc_count "u32" "allocations, of all graphs and of the unit";
        }),
        fields!(HeaderTail {
            header_bytes "u32" "48: bytes of both records of the header";
            flags "u32" "1: numbers are little-endian";
            graph_id "u32" "the first graph; 0 if there is none";
            binding_count "u32" "bindings, of all graphs";
            section_count "u32" "rows of the directory";
            crc32 "u32" "CRC-32 (IEEE 802.3) of the file with zeros here";
            revision "u32" "revision of the instruction set: major in the upper half, minor in the lower";
        }),
        fields!(SectionRow {
            kind "u32" "see the table of sections";
            count "u32" "rows";
            offset "u64" "the first byte, from the beginning of the file: a multiple of 8";
            bytes "u64" "bytes, without those up to the next section";
        }),
    ]
}

fn tables() -> Vec<Record> {
    vec![
        fields!(KernelRow {
            kernel_id "u32" "its number in its graph";
            entry_offset "u32" "version 1: an offset in code that is not in the file; version 3: the byte of its row in `CODE`";
            block_dim "u32" "blocks";
            core_type "u32" "lower half: 0 AIC, 1 AIV, 2 AIC_AIV, 3 AICPU; upper half, in version 3: its partition plus 1, or 0";
            workspace_size "u64" "bytes for all blocks";
        }),
        fields!(DependRow {
            src "u32" "a kernel; with bit 31, the copy of the graph with this place";
            dst "u32" "as `src`";
            dep_type "u32" "0 AFTER, 1 DATA, 2 BARRIER, 3 SOFT";
            tensor_id "u32" "a tensor, or 0";
        }),
        fields!(AllocRow {
            tensor_id "u32" "its number";
            zero "u32" "0";
            size "u64" "bytes";
            alignment "u32" "bytes";
            location "u32" "0 GM, 1 L2, 2 HBM, 3 SHARED";
        }),
        fields!(BindRow {
            kernel_id "u32" "the kernel";
            arg_index "u32" "which of its arguments";
            tensor_id "u32" "the tensor, or a row of `TABLE`";
            mode "u32" "bit 0: `offset` is an expression; bit 1: `size` is one; bit 2: `tensor_id` is a row of `TABLE`; bits 8 and 9: 0 as the kernel's signature says, 1 in, 2 out, 3 in and out; all others, and version 1: 0";
            offset "u64" "the first byte, or the place of an expression in `SCALAR`";
            size "u64" "bytes, 0 for the rest of the tensor, or the place of an expression in `SCALAR`";
        }),
    ]
}

fn pools() -> Vec<Record> {
    vec![
        fields!(CodeRow {
            symbol "u32" "the string of the entry's name";
            zero "u32" "0";
        }),
        fields!(TableRow {
            first "u32" "its first tensor in `TENSOR_SET`";
            len "u32" "how many";
            index "u32" "which of them, from 0: the place of an expression in `SCALAR`";
            zero "u32" "0";
        }),
        fields!(ExprRow {
            op "u8" "0 end, 1 constant, 2 loop variable, 3 scalar, 4 load, 5 iteration, 6 device, 7 devices, 8 add, 9 subtract, 10 multiply, 11 divide, 12 remainder, 13 min, 14 max, 15 `==`, 16 `!=`, 17 `<`, 18 `<=`, 19 `>`, 20 `>=`, 21 and, 22 or, 23 not, 24 negate, 25 skip if 0, 26 skip if not 0";
            ty "u8" "of a load: 0 u8, 1 u32, 2 i32, 3 u64, 4 i64";
            zero "u8[2]" "0";
            number "u32" "the loop variable, the row of `ARG`, the tensor; of a skip, how many operations it goes past";
            value "u64" "the constant, in two's complement";
        }),
        fields!(NameRow {
            space "u32" "0 graph, 1 kernel, 2 tensor, 3 event, 4 barrier, 5 notification, 6 device, 7 partition, 8 loop variable, 9 stream, 10 checkpoint";
            graph "u32" "the graph, of a kernel or a barrier; else 0";
            number "u32" "the number";
            name "u32" "the string of its name";
        }),
    ]
}

fn declarations() -> Vec<Record> {
    vec![
        fields!(ExternRow {
            tensor_id "u32" "its number";
            dtype "u32" "0 f32, 1 f64, 2 f16, 3 bf16, 4 u8, 5 u16, 6 i32, 7 u32, 8 i64, 9 u64, 10 f8e4m3, 11 f8e5m2, 12 i8, 13 i16, 14 bool, or all ones";
            first "u32" "its first extent in `EXTENT`: where those of the row before end";
            rank "u32" "how many dimensions";
        }),
        fields!(ArgRow {
            name "u32" "the string of its name";
            source "u8" "0: given with the run; 1: read from the host's memory when a graph is launched";
            ty "u8" "0 u8, 1 u32, 2 i32, 3 u64, 4 i64";
            has_default "u8" "0 or 1";
            zero "u8" "0";
            default "u64" "the default, in two's complement";
        }),
        fields!(ReferenceRow {
            name "u32" "the string of its name";
            first "u32" "its first row in `REFERENCE_ARG`: where those of the row before end";
            len "u32" "how many";
            zero "u32" "0";
        }),
        fields!(ReferenceArgRow {
            name "u32" "the string of its name";
            kind "u32" "0 a tensor, 1 a number, 2 a scalar";
            value "u64" "the tensor, the number in two's complement, the row of `ARG`";
        }),
        fields!(DebugHeader {
            instrs "u32" "instructions that have a span: all or none";
            name_bytes "u32" "bytes of the source's name, which stands behind the spans";
            source_bytes "u32" "bytes of the source";
            source_crc32 "u32" "CRC-32 of the source";
        }),
        fields!(SpanRow {
            file "u32" "the file, as whoever wrote it numbered files";
            start "u32" "the first byte";
            end "u32" "one past the last byte";
        }),
    ]
}
