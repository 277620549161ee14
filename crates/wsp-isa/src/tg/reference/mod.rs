//! The reference page, `docs/reference/tg.md`: the table of instructions with what it refers to, and what stands before it.

use super::text::{MAX_NESTING, default_text};
use super::usage;
use std::fmt::Write as _;
use wsp_core::tg::*;

/// What the page begins with.
const INTRODUCTION: &str = include_str!("introduction.md");

/// The whole page.
fn reference() -> String {
    let mut page = INTRODUCTION.to_owned();
    page.push_str(&instructions());
    page.push_str(&operands());
    page.push_str(&choices());
    page.push_str(&matrix());
    page.push_str(&limits());
    page
}

/// Of the page, which `UPDATE_EXPECT=1` writes.
#[test]
fn the_page_is_not_stale() {
    expect_test::expect_file!["../../../../../docs/reference/tg.md"].assert_eq(&reference());
}

/// The categories of instructions: their prefix, and what they are for.
const CATEGORIES: [(&str, &str, &str); 5] = [
    ("TG_", "Task graphs", "Define graphs of kernels and run them."),
    ("MC_", "Memory", "Allocate memory, give it to kernels, move it and make it visible."),
    ("CF_", "Control flow", "Choose and repeat kernels in a graph, or statements of the host. Blocks nest."),
    ("CA_", "Cores", "Say which cores kernels should have."),
    ("SY_", "Synchronisation", "Order kernels of different graphs, devices, or at the same time."),
];

fn scope(scope: InstrScope) -> &'static str {
    match scope {
        InstrScope::Unit => "on the host",
        InstrScope::Graph => "in graphs",
        InstrScope::Both => "in graphs and on the host",
    }
}

fn instructions() -> String {
    let mut text = String::from("\n## Instructions\n");
    for (prefix, heading, said) in CATEGORIES {
        let _ = write!(text, "\n### {heading}\n\n{said}\n");
        for info in OPS.iter().filter(|info| info.mnemonic.starts_with(prefix)) {
            let _ = write!(
                text,
                "\n#### `{}`\n\n`{}`\n\n{} Stands {}; section {}, code `{:02X}`.\n",
                info.mnemonic,
                usage(info),
                info.meaning.trim(),
                scope(info.scope),
                info.section,
                info.op as u32,
            );
            operand_table(&mut text, info);
        }
    }
    text
}

fn operand_table(text: &mut String, info: &OpInfo) {
    if info.operands.is_empty() {
        return;
    }
    text.push_str("\n| operand | is | default |\n|---|---|---|\n");
    for operand in info.operands {
        let default = match default_text(info.op, operand.name) {
            Some(_) if matches!(operand.kind, OperandKind::Kernel | OperandKind::Partition) => {
                "none".to_owned()
            }
            Some(default) => format!("`{default}`"),
            None => String::new(),
        };
        let _ = writeln!(text, "| `{}` | {} | {default} |", operand.name, kind(operand.kind).0);
    }
}

/// What an operand is called, and what it can be.
fn kind(kind: OperandKind) -> (&'static str, &'static str) {
    match kind {
        OperandKind::Graph => ("graph", "a name or number, 0 to 65535"),
        OperandKind::Kernel => ("kernel", "a name or number of the graph"),
        OperandKind::Node => {
            ("kernel or copy", "a kernel, or `copy.N`: the Nth `MC_COPY` of the graph, from 0")
        }
        OperandKind::Tensor => ("tensor", "a name or number, from 1"),
        OperandKind::TensorRef => {
            ("tensor or table", "a tensor, or one of several: `{PING, PONG}[iteration % 2]`")
        }
        OperandKind::Event => ("event", "a name or number"),
        OperandKind::Barrier => ("barrier", "a name or number of the graph"),
        OperandKind::Notify => ("notification", "a name or number"),
        OperandKind::Device => ("device", "a number, from 0"),
        OperandKind::Partition => ("partition", "a name or number"),
        OperandKind::Iter => ("loop variable", "a name or number"),
        OperandKind::Stream => ("stream", "a name or number; `default` is number 0"),
        OperandKind::Checkpoint => ("checkpoint", "a name or number"),
        OperandKind::Symbol => ("entry symbol", "the name of a function, in quotes if it is no word"),
        OperandKind::KernelSet => ("set of kernels", "`{A, B}`"),
        OperandKind::Scalar => ("scalar", "an expression"),
        OperandKind::U32 => ("u32", "a constant of 32 bits"),
        OperandKind::U64 => ("u64", "a constant of 64 bits"),
        OperandKind::I8 => ("i8", "a constant, -128 to 127"),
        OperandKind::CoreType => ("type of cores", "one of the words below"),
        OperandKind::DependencyType => ("type of dependence", "one of the words below"),
        OperandKind::MemLocation => ("location", "one of the words below"),
        OperandKind::FenceScope => ("scope", "one of the words below"),
        OperandKind::AffinityType => ("affinity", "one of the words below"),
        OperandKind::LoopMode => ("mode", "one of the words below"),
        OperandKind::Direction => ("direction", "one of the words below"),
    }
}

fn operands() -> String {
    let mut text = String::from("\n## Operands\n\n| operand | written |\n|---|---|\n");
    let mut seen = Vec::new();
    for operand in OPS.iter().flat_map(|info| info.operands) {
        if !seen.contains(&operand.kind) {
            seen.push(operand.kind);
            let (name, written) = kind(operand.kind);
            let _ = writeln!(text, "| {name} | {written} |");
        }
    }
    text
}

fn choices() -> String {
    let mut text = String::from("\n## Words\n");
    macro_rules! table {
        ($($heading:literal $ty:ident;)*) => {$(
            let _ = write!(text, "\n### {}\n\n| word | number | meaning |\n|---|---|---|\n", $heading);
            for (choice, name, meaning) in $ty::ALL {
                let _ = writeln!(text, "| `{name}` | {} | {} |", *choice as u8, meaning.trim());
            }
        )*};
    }
    table! {
        "Types of cores" CoreType;
        "Types of dependence" DependencyType;
        "Locations" MemLocation;
        "Scopes of fences" FenceScope;
        "Affinities" AffinityType;
        "Modes of loops" LoopMode;
        "Directions of bindings" Direction;
    }
    text
}

fn support(support: Support) -> &'static str {
    match support {
        Support::Yes => "Yes",
        Support::Partial => "Partial",
        Support::Hint => "Hint",
        Support::Na => "N/A",
        Support::No => "No",
    }
}

fn matrix() -> String {
    let mut text = String::from(
        "\n## Platforms\n\n\
         *Yes*: all of it. *Partial*: some of it; the rest becomes something stronger, with a note. *Hint*: accepted and recorded, may be\n\
         ignored. *N/A*: accepted, does nothing there, with a note. *No*: an error.\n\n\
         | instruction | A2 | A3 | A5 | CPU |\n|---|---|---|---|---|\n",
    );
    for info in OPS {
        let words = info.support.map(support);
        let _ = writeln!(text, "| `{}` | {} |", info.mnemonic, words.join(" | "));
    }
    text
}

fn limits() -> String {
    let (major, minor) = ISA_REVISION;
    format!(
        "\n## Limits\n\n\
         | what | limit |\n|---|---|\n\
         | largest number of a graph | {MAX_GRAPH_ID} |\n\
         | blocks of a kernel | 1 to {MAX_BLOCK_DIM} |\n\
         | control flow in each other | {MAX_CONTROL_DEPTH} |\n\
         | iterations of a loop that is unrolled | {UNROLL_LIMIT} |\n\
         | rounds of a `CF_WHILE` that says nothing else | {MAX_WHILE_ITERATIONS} |\n\
         | operations of an expression | {} |\n\
         | values that an expression keeps at a time, as `1 + (1 + (1 + 1))` keeps 4 | {MAX_EXPR_STACK} |\n\
         | expressions in each other, the whole one included, by parentheses, signs, functions and right operands | {MAX_NESTING} |\n\
         | bytes of a text | {} |\n\n\
         This is revision {major}.{minor} of the instruction set.\n",
        wsp_core::tg::MAX_EXPR_OPS,
        wsp_core::limits::MAX_UNIT_BYTES,
    )
}
