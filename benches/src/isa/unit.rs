//! The units that are measured.

use super::super::runtime::pattern::Pattern;
use std::fmt::Write as _;
use wsp_diag::{Diagnostic, SourceMap};
use wsp_ir::tg::TgModule;
use wsp_isa::tg::text::parse;

/// Kernels of [`large`] that stand side by side.
const LANES: u32 = 16;

/// The text of a unit of so many kernels: each with an allocation, a dependence, and two bindings.
pub(super) fn large(kernels: u32) -> String {
    let mut text = String::with_capacity(kernels as usize * 180);
    text.push_str("TG_BEGIN(LAYERS)\n");
    for k in 0..kernels {
        let before = if k < LANES { k } else { k - LANES };
        let _ = writeln!(text, "  MC_ALLOC(T{k}, {}, 512, GM)", 4096 + 512 * (k % 7));
        let _ = writeln!(text, "  TG_KERNEL(K{k}, stage_{}_entry, 24, AIC_AIV, 64*1024)", k % 13);
        if k >= LANES {
            let _ = writeln!(text, "  TG_DEPEND(K{before}, K{k}, DATA, T{before})");
        } else {
            let _ = writeln!(text, "  CA_REQUEST(K{k}, 12, 24, 0)   // a core for each block");
        }
        let _ = writeln!(text, "  MC_BIND(K{k}, 0, T{before})\n  MC_BIND(K{k}, 1, T{k}, 0, 2048)");
    }
    text.push_str("TG_END(LAYERS)\n");
    text
}

/// The text of a graph with the tasks and edges of a pattern, each kernel with a binding of its own bytes.
pub(super) fn of_pattern(pattern: &impl Pattern) -> String {
    let mut text = String::from("TG_BEGIN(G)\n");
    let tasks = pattern.tasks();
    let _ = writeln!(text, "  MC_ALLOC(VALUES, {})", u64::from(tasks.max(1)) * 8);
    for task in 0..tasks {
        let _ = writeln!(text, "  TG_KERNEL(K{task}, task, 1, AIV, 0)");
        let _ = writeln!(text, "  MC_BIND(K{task}, 0, VALUES, {}, 8, INOUT)", u64::from(task) * 8);
        pattern.predecessors(task, |p| {
            let _ = writeln!(text, "  TG_DEPEND(K{p}, K{task}, DATA, VALUES)");
        });
    }
    text.push_str("TG_END(G)\n");
    text
}

/// Reads a text that is right.
pub(super) fn parsed(text: &str) -> Result<TgModule, String> {
    let (module, found) = parse("bench.tg", text, &mut SourceMap::default());
    module.ok_or_else(|| said(&found))
}

/// The first of some diagnostics as text.
pub(super) fn said(found: &[Diagnostic]) -> String {
    found.first().map_or_else(|| "nothing was said".to_owned(), |fault| fault.message.clone())
}
