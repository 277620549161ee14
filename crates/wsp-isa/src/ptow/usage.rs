//! How an instruction is written, from the table.

use wsp_core::ptow::{Ext, OpInfo, Operand};

/// The form of an instruction, with a word for each operand.
pub(super) fn usage(info: &OpInfo) -> String {
    let counted = matches!(info.ext, Ext::Counted(..));
    let written = |kind: &Operand| {
        let follows = matches!(kind, Operand::None | Operand::TaskCounts | Operand::Policy);
        !(follows || counted && *kind == Operand::Count)
    };
    let mut parts: Vec<String> = [info.operand1, info.operand2]
        .iter()
        .filter(|k| written(k))
        .map(|k| placeholder(*k).to_owned())
        .collect();
    let further = |one: Operand, two: Operand| -> Vec<String> {
        [one, two].iter().filter(|k| written(k)).map(|k| placeholder(*k).to_owned()).collect()
    };
    let mut tail = String::new();
    match info.ext {
        Ext::None => {}
        Ext::One(one, two) => parts.extend(further(one, two)),
        Ext::Optional(one, two) => tail = format!(" [, {}]", further(one, two).join(", ")),
        Ext::Counted(one, two) => {
            parts.extend(further(one, two));
            tail = ", …".to_owned();
        }
        Ext::Dims => tail = "[DIM, …]".to_owned(),
        Ext::Policy => parts.push("POLICY …".to_owned()),
    }
    let space = if parts.is_empty() { "" } else { " " };
    format!("{}{space}{}{tail}", info.mnemonic, parts.join(", "))
}

/// What stands for an operand in the form of an instruction.
pub(super) fn placeholder(kind: Operand) -> &'static str {
    match kind {
        Operand::None => "",
        Operand::Axis => "AXIS",
        Operand::Kernel => "KERNEL",
        Operand::Tensor => "TENSOR",
        Operand::Label => "label N",
        Operand::Generator => "generator N",
        Operand::Expr => "EXPR",
        Operand::OptExpr => "EXPR|-",
        Operand::Key => "KEY",
        Operand::OptKey => "KEY|-",
        Operand::Body => "BODY",
        Operand::OptBody => "BODY|-",
        Operand::Imm => "INTEGER",
        Operand::Count => "COUNT",
        Operand::Value => "VALUE",
        Operand::Table => "TABLE",
        Operand::Slot => "SLOT",
        Operand::Depth => "VARIABLE",
        Operand::Policy => "POLICY",
        Operand::TaskCounts => "COUNTS",
        Operand::Channel => "channel N",
    }
}
