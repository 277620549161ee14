//! The codes of the rules, and how a finding names the instruction it is about.

use crate::diag::{Code, Diagnostic};
use crate::tg::TgModule;

pub(in crate::tg) const LEVEL: Code = Code(1450);
pub(in crate::tg) const NESTED: Code = Code(1451);
pub(in crate::tg) const END: Code = Code(1452);
pub(in crate::tg) const GRAPH_RANGE: Code = Code(1453);
pub(in crate::tg) const GRAPH_TWICE: Code = Code(1454);
pub(in crate::tg) const KERNEL_TWICE: Code = Code(1455);
pub(in crate::tg) const KERNEL_RANGE: Code = Code(1456);
pub(in crate::tg) const BLOCK_DIM: Code = Code(1457);
pub(in crate::tg) const UNKNOWN_NODE: Code = Code(1458);
pub(in crate::tg) const SELF_EDGE: Code = Code(1459);
pub(in crate::tg) const BARRIER_ORDER: Code = Code(1460);
pub(in crate::tg) const UNKNOWN_GRAPH: Code = Code(1461);
pub(in crate::tg) const NEVER_LAUNCHED: Code = Code(1462);
pub(in crate::tg) const TENSOR_TWICE: Code = Code(1463);
pub(in crate::tg) const TENSOR_ZERO: Code = Code(1464);
pub(in crate::tg) const UNKNOWN_TENSOR: Code = Code(1465);
pub(in crate::tg) const FOREIGN_TENSOR: Code = Code(1466);
pub(in crate::tg) const SIZE: Code = Code(1467);
pub(in crate::tg) const BOUNDS: Code = Code(1468);
pub(in crate::tg) const ARG_TWICE: Code = Code(1469);
pub(in crate::tg) const ARG_HOLE: Code = Code(1470);
pub(in crate::tg) const BIND_BLOCK: Code = Code(1471);
pub(in crate::tg) const AFTER_FREE: Code = Code(1472);
pub(in crate::tg) const FREE: Code = Code(1473);
pub(in crate::tg) const OVERLAP: Code = Code(1474);
pub(in crate::tg) const UNMATCHED: Code = Code(1475);
pub(in crate::tg) const BREAK: Code = Code(1476);
pub(in crate::tg) const DEPTH: Code = Code(1477);
pub(in crate::tg) const ITERATOR: Code = Code(1478);
pub(in crate::tg) const EXPRESSION: Code = Code(1479);
pub(in crate::tg) const COUNT: Code = Code(1480);
pub(in crate::tg) const REQUEST: Code = Code(1481);
pub(in crate::tg) const PARTITION: Code = Code(1482);
pub(in crate::tg) const UNKNOWN_PARTITION: Code = Code(1483);
pub(in crate::tg) const PARTITION_CORES: Code = Code(1484);
pub(in crate::tg) const NO_SIGNAL: Code = Code(1485);
pub(in crate::tg) const SET: Code = Code(1486);
pub(in crate::tg) const GANG: Code = Code(1487);
pub(in crate::tg) const FUSE: Code = Code(1488);
pub(in crate::tg) const CHECKPOINT: Code = Code(1489);
pub(in crate::tg) const NOTIFY: Code = Code(1490);
pub(in crate::tg) const TABLE: Code = Code(1491);
pub(in crate::tg) const DECLARATION: Code = Code(1492);
pub(in crate::tg) const MALFORMED: Code = Code(1493);
pub(in crate::tg) const TOO_MANY: Code = Code(1499);

/// Where a finding is: the source of an instruction, or its number where no source is known.
pub(crate) trait Placed {
    /// Puts the finding at instruction `at`.
    fn on(self, module: &TgModule, at: u32, text: &str) -> Self;
    /// Points to instruction `at` as well.
    fn and(self, module: &TgModule, at: u32, text: &str) -> Self;
}

impl Placed for Diagnostic {
    fn on(self, module: &TgModule, at: u32, text: &str) -> Diagnostic {
        match module.spans.get(at as usize) {
            Some(&span) => self.at(span, text),
            None => self.note(numbered(module, at, text)),
        }
    }

    fn and(self, module: &TgModule, at: u32, text: &str) -> Diagnostic {
        match module.spans.get(at as usize) {
            Some(&span) => self.label(span, text),
            None => self.note(numbered(module, at, text)),
        }
    }
}

/// An instruction by its number: `instruction 17: MC_BIND(…): what is to be said of it`.
fn numbered(module: &TgModule, at: u32, text: &str) -> String {
    let Some(instr) = module.instrs.get(at as usize) else { return format!("at the end: {text}") };
    let info = instr.op().info();
    let operands = if info.operands.is_empty() { "" } else { "(…)" };
    let separator = if text.is_empty() { "" } else { ": " };
    format!("instruction {at}: {}{operands}{separator}{text}", info.mnemonic)
}
