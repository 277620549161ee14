//! Records and their layouts. The offsets are those of the types; a field that is missing here does not compile.

use std::fmt::Write as _;
use std::mem::offset_of;
use wsp_core::ptow::{
    AxisDescriptor, DispatchConfig, Header, KernelDescriptor, PartitionParams, PoolHeader, TensorDescriptor,
    ThresholdParams, Word,
};

/// A field: where it begins, its name, type and meaning.
type Field = (usize, &'static str, &'static str, &'static str);

macro_rules! fields {
    ($record:ident { $($field:ident $ty:literal $meaning:literal;)* }) => {{
        // Names every field, so that none is forgotten.
        let _ = |record: $record| { let $record { $($field: _),* } = record; };
        (stringify!($record), size_of::<$record>(), vec![$((offset_of!($record, $field), stringify!($field), $ty, $meaning)),*])
    }};
}

/// The records of the format, as tables.
pub(super) fn records() -> String {
    let mut text = String::from(
        "\n## Bytes\n\nA program is a file, and the same bytes in the memory of a device: little-endian records without gaps, at a \
         multiple of 4. They follow each other in this order: `Header`, `Word` for each word of instructions, `AxisDescriptor`, \
         `KernelDescriptor`, `TensorDescriptor` for each row, then `PoolHeader`, `Word` for each word of expressions, the bytes of \
         names. A program may end before the `PoolHeader`: then it has nothing of what that counts. Nothing follows the \
         names. A reader takes programs of its own version only. `DispatchConfig` and its parameters travel beside the program.\n",
    );
    for (name, size, fields) in program().into_iter().chain(dispatch()) {
        let _ = write!(text, "\n### `{name}`: {size} bytes\n\n| at | field | type | |\n|---|---|---|---|\n");
        for (at, field, ty, meaning) in fields {
            let _ = writeln!(text, "| {at} | `{field}` | `{ty}` | {meaning} |");
        }
    }
    text
}

fn program() -> [(&'static str, usize, Vec<Field>); 6] {
    [
        fields!(Header {
            magic "u32" "`0x50544F57`: the bytes `57 4F 54 50`";
            version "u32" "1";
            num_instructions "u32" "words of all bodies";
            num_axes "u32" "rows of the table of axes";
            num_kernels "u32" "rows of the table of kernels";
            num_tensors "u32" "rows of the table of tensors";
        }),
        fields!(Word {
            opcode "u8" "an instruction, or an operation of an expression";
            flags "u8" "of an instruction: how many extension words (`7F`) follow; of a dimension's word: bits 0-3 are 0 whole, 1 index, 2 range, 3 sized, bit 4 says that `operand2` is an integer; of an expression word: 1 for the last";
            operand1 "u16" "the first operand";
            operand2 "u32" "the second operand";
        }),
        fields!(AxisDescriptor {
            form "u8" "0 dense, 1 dyn, 2 ragged, 3 sparse, 4 range, 255 set";
            reserved "u8" "0";
            a "u16" "dense, range: the first index, an expression; dyn: a value; ragged, sparse: the outer axis, or all ones";
            b "u32" "dense: the end, an expression; ragged: a table; sparse: the table of row pointers, and in the upper half that of columns; range: the end, and in the upper half the step or all ones";
        }),
        fields!(KernelDescriptor {
            pool "u8" "0 vector, 1 cube, 255 any";
            reserved "u8" "0";
            name "u16" "where its name begins, or all ones";
            reserved2 "u32" "0";
        }),
        fields!(TensorDescriptor {
            dtype "u8" "the element type";
            rank "u8" "number of dimensions";
            name "u16" "where its name begins, or all ones";
            slot "u32" "the computed slot that it holds, plus 1; 0 for none";
        }),
        fields!(PoolHeader {
            num_words "u32" "words of expressions";
            name_bytes "u32" "bytes of names";
            num_values "u16" "launch-time values";
            num_tables "u16" "launch-time tables";
            num_slots "u16" "computed slots";
            num_labels "u16" "labels";
            num_generators "u16" "descriptor generators";
            num_channels "u16" "channels";
        }),
    ]
}

fn dispatch() -> [(&'static str, usize, Vec<Field>); 3] {
    [
        fields!(DispatchConfig {
            num_aicpus "u16" "AICPUs in all, at least 1";
            my_aicpu_id "u16" "this one; the only field that differs between AICPUs, but for the range of a partition";
            policy_type "u8" "0 round robin, 1 affinity, 2 threshold, 3 static partition";
            reserved "u8[3]" "0";
            params "u8[44]" "of affinity: byte 0 is the depth of the loop; of the others as follows; else 0";
        }),
        fields!(ThresholdParams {
            num_levels "u16" "levels: one more than thresholds, at most 8";
            metric "u16" "an expression over axes";
            thresholds "u32[8]" "increasing; those that are not used are 0";
            policy_per_level "u8[8]" "0 round robin, or 16 vector, 17 cube, 18 any";
        }),
        fields!(PartitionParams {
            task_range_start "u32" "the first ordinal";
            task_range_end "u32" "one past the last";
        }),
    ]
}
