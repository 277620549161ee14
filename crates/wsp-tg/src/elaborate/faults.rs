//! What elaboration can find wrong, as diagnostics.

use super::codes;
use crate::plan::GraphPlan;
use wsp_core::tg::image::NodeKind;
use wsp_core::tg::{EvalFault, Instr};
use wsp_core::words::counted;
use wsp_diag::Diagnostic;
use wsp_ir::tg::TgModule;
use wsp_ordered::Arrange;

/// Most faults that are kept.
const MOST: usize = 100;

/// Faults so far.
#[derive(Debug, Default)]
pub(super) struct Faults {
    found: Vec<Diagnostic>,
}

impl Faults {
    /// Ends here if there are any.
    pub(super) fn check(&mut self) -> Result<(), Vec<Diagnostic>> {
        if self.found.is_empty() { Ok(()) } else { Err(std::mem::take(&mut self.found)) }
    }

    fn add(&mut self, module: &TgModule, instr: usize, diagnostic: Diagnostic) {
        if self.found.len() >= MOST {
            return;
        }
        let place = match module.spans.get(instr) {
            Some(&span) => diagnostic.at(span, ""),
            None => diagnostic.note(format!("it is instruction {instr} of the unit")),
        };
        self.found.push(place);
    }

    /// An instruction does what verification would have refused.
    pub(super) fn unverified(&mut self, module: &TgModule, instr: usize, what: &str) {
        let name = module.instrs.get(instr).map_or("instruction", |instr| instr.op().info().mnemonic);
        let fault = Diagnostic::error(codes::UNVERIFIED, format!("`{name}` {what}"))
            .help("check the unit with `wsp check`, which explains the rule");
        self.add(module, instr, fault);
    }

    /// Nodes wait for each other, each for the one before it.
    pub(super) fn cycle(&mut self, module: &TgModule, plan: &GraphPlan, cycle: &[u32]) {
        let mut path: Vec<String> = cycle.iter().map(|&node| plan.node_name(node)).collect();
        path.extend(path.first().cloned());
        let mut fault = Diagnostic::error(codes::CYCLE, "instructions of a graph wait for each other")
            .note(format!("each waits for the one before: {}", path.join(" -> ")));
        let mut instrs: Vec<u32> = cycle.iter().filter_map(|&node| plan.instr_of(node)).collect();
        let first = instrs.first().copied();
        instrs.arrange();
        instrs.dedup();
        for instr in instrs.iter().filter(|instr| Some(**instr) != first) {
            if let Some(&span) = module.spans.get(*instr as usize) {
                fault = fault.label(span, "in the cycle");
            }
        }
        let around = cycle.iter().zip(cycle.iter().cycle().skip(1));
        if around.clone().any(|(before, node)| plan.gang_of(*node).contains(before)) {
            fault = fault.note(
                "the kernels of an SY_BARRIER start together: each waits for what one of them waits for",
            );
        }
        let is_notice = |node: &&u32| matches!(plan.kind_of(**node), NodeKind::Notify | NodeKind::WaitNotify);
        if cycle.iter().any(|node| is_notice(&node)) {
            fault = fault.note(
                "the SY_NOTIFY of one notification to one device, and its SY_WAIT_NOTIFY, take place in the order of the text; a loop that runs round by round waits as a whole",
            );
        }
        let fault = fault.help(
            "leave out one of the edges; copies, releases and conditions follow program order where they touch the same bytes",
        );
        // Where nothing in the cycle runs, none of its nodes has an instruction.
        let begins = |instr: &Instr| match *instr {
            Instr::TgBegin { graph_id } => graph_id == plan.no,
            Instr::TgFuse { fused_graph, .. } => fused_graph == plan.no,
            _ => false,
        };
        let graph = || module.instrs.iter().position(begins).unwrap_or_default();
        self.add(module, first.map_or_else(graph, |instr| instr as usize), fault);
    }

    /// A graph has too many nodes.
    pub(super) fn nodes(&mut self, module: &TgModule, instr: usize, most: u32) {
        let fault = Diagnostic::error(
            codes::TOO_MANY_NODES,
            format!("the graph has more than {most}", most = counted(most, "node")),
        )
        .help("make its loops `SEQUENTIAL`, so that they are not unrolled, or split it");
        self.add(module, instr, fault);
    }

    /// A gang that cannot start together.
    pub(super) fn gang(&mut self, module: &TgModule, instr: usize, why: &str) {
        let fault = Diagnostic::error(codes::GANG, format!("these kernels cannot start together: {why}"))
            .help("put all kernels of an `SY_BARRIER` into the same loop, each into one barrier");
        self.add(module, instr, fault);
    }

    /// A loop with an impossible count.
    pub(super) fn count(&mut self, module: &TgModule, instr: usize, count: i64) {
        let fault = Diagnostic::error(codes::LOOP_COUNT, format!("a loop cannot have {count} iterations"))
            .help("give it 0 to 4294967294 iterations");
        self.add(module, instr, fault);
    }

    /// A constant that has no value.
    pub(super) fn value(&mut self, module: &TgModule, instr: usize, fault: EvalFault) {
        let fault = Diagnostic::error(codes::NO_VALUE, format!("an operand has no value: {fault}"))
            .note("loops that are unrolled put the numbers of their iterations into expressions");
        self.add(module, instr, fault);
    }

    /// A table without the tensor that a constant names.
    pub(super) fn table(&mut self, module: &TgModule, instr: usize, at: i64, len: usize) {
        let fault = Diagnostic::error(
            codes::NO_TENSOR,
            format!("a table of {len} has none at {at}", len = counted(len, "tensor")),
        )
        .help("take the remainder of a division by the number of tensors");
        self.add(module, instr, fault);
    }
}
