//! What elaboration can find wrong, as diagnostics.

use super::codes;
use wsp_core::tg::EvalFault;
use wsp_core::words::counted;
use wsp_diag::Diagnostic;
use wsp_ir::tg::TgModule;

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

    /// Nodes wait for each other.
    pub(super) fn cycle(&mut self, module: &TgModule, names: &[String], instr: Option<u32>) {
        let mut path = names.to_vec();
        path.extend(names.first().cloned());
        let fault = Diagnostic::error(codes::CYCLE, "instructions of a graph wait for each other")
            .note(format!("each waits for the one before: {}", path.join(" -> ")))
            .help("leave out one of the edges; copies, releases and conditions follow program order where they touch the same bytes");
        self.add(module, instr.map_or(usize::MAX, |instr| instr as usize), fault);
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
