//! How an instruction is written, for messages and the reference page.

use super::text::default_text;
use wsp_core::tg::{OpInfo, OperandKind};

/// `TG_DEPEND(src_kernel, dst_kernel, dep_type = AFTER, tensor_id = 0)`.
pub(crate) fn usage(info: &OpInfo) -> String {
    if info.operands.is_empty() {
        return info.mnemonic.to_owned();
    }
    let operands: Vec<String> = info
        .operands
        .iter()
        .map(|operand| match default_text(info.op, operand.name) {
            Some(default) => format!("{} = {}", operand.name, default_word(operand.kind, default)),
            None => operand.name.to_owned(),
        })
        .collect();
    format!("{}({})", info.mnemonic, operands.join(", "))
}

/// A default as one would say it: numbers that stand for nothing are no numbers one writes.
fn default_word(kind: OperandKind, default: String) -> String {
    match kind {
        OperandKind::Kernel | OperandKind::Partition => "none".to_owned(),
        _ => default,
    }
}
