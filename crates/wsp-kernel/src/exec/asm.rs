//! Builds the code of one function: slots, constants and jumps.

use super::code::{Code, Inst, Op, Origin, What};
use wsp_diag::Span;
use wsp_ir::ScalarTy;
use wsp_ordered::OrderedMap;

/// Where a value is. Not to be copied: who has the operand of a temporary gives it back, once; others get it [lent](Operand::lent).
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Operand {
    pub(crate) slot: u32,
    kind: OperandKind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum OperandKind {
    /// Free for reuse once read.
    Temp,
    /// A variable.
    Variable,
    /// A constant with this slot form.
    Const(u64),
}

impl Operand {
    pub(crate) fn variable(slot: u32) -> Operand {
        Operand { slot, kind: OperandKind::Variable }
    }

    /// The same value for code that reads it and does not give it back, while this operand is held.
    pub(crate) fn lent(&self) -> Operand {
        match self.kind {
            OperandKind::Temp => Operand::variable(self.slot),
            kind => Operand { slot: self.slot, kind },
        }
    }

    /// The slot form when known at compile time.
    pub(crate) fn constant(&self) -> Option<u64> {
        match self.kind {
            OperandKind::Const(bits) => Some(bits),
            _ => None,
        }
    }
}

/// A place to jump to, not yet known: the jumps that go there.
#[derive(Default)]
pub(crate) struct Label(Vec<usize>);

/// The code under construction.
#[derive(Default)]
pub(crate) struct Asm {
    pub(crate) code: Code,
    /// Temporaries that nothing holds.
    free: Vec<u32>,
    /// Those of them that were given back since the last instruction: the next one may still read them.
    given_back: Vec<u32>,
    consts: OrderedMap<u64, u32>,
    /// The last position that something jumps to: instructions before and after it do not always run together.
    edge: u32,
}

impl Asm {
    /// A slot of its own.
    pub(crate) fn slot(&mut self) -> u32 {
        self.code.template.push(0);
        self.code.template.len() as u32 - 1
    }

    /// A slot for a short time; [`Asm::release`] gives it back.
    pub(crate) fn temp(&mut self) -> Operand {
        let slot = self.free.pop().unwrap_or_else(|| self.slot());
        Operand { slot, kind: OperandKind::Temp }
    }

    /// Gives an operand back. The next instruction may still read the slot, which is the result.
    pub(crate) fn release(&mut self, operand: Operand) -> u32 {
        if operand.kind == OperandKind::Temp {
            debug_assert!(!self.free.contains(&operand.slot), "slot {} is given back twice", operand.slot);
            self.free.push(operand.slot);
            self.given_back.push(operand.slot);
        }
        operand.slot
    }

    pub(crate) fn constant(&mut self, bits: u64) -> Operand {
        let next = self.code.template.len() as u32;
        let slot = *self.consts.entry(bits).or_insert(next);
        if slot == next {
            self.code.template.push(bits);
        }
        Operand { slot, kind: OperandKind::Const(bits) }
    }

    /// The slot that an expression's result goes to: the one wanted, else a temporary.
    pub(crate) fn target(&mut self, wanted: Option<u32>) -> Operand {
        match wanted {
            Some(slot) => Operand::variable(slot),
            None => self.temp(),
        }
    }

    pub(crate) fn emit(&mut self, op: Op, ty: ScalarTy, dst: u32, (a, b): (u32, u32), origin: Origin) {
        self.code.insts.push(Inst { op, ty, dst, a, b });
        self.code.origins.push(origin);
        if cfg!(debug_assertions) {
            self.check_reads();
        }
        self.given_back.clear();
    }

    /// The last instruction reads no temporary that was given back before: its slot may have another value by then.
    fn check_reads(&self) {
        let Some(last) = self.code.insts.last() else { return };
        for slot in self.code.slots_read(*last) {
            let stale = self.free.contains(&slot) && !self.given_back.contains(&slot);
            assert!(!stale, "{:?} reads slot {slot}, which nothing holds", last.op);
        }
    }

    pub(crate) fn mov(&mut self, dst: u32, a: u32, span: Span) {
        if dst != a {
            self.emit(Op::Mov, ScalarTy::U64, dst, (a, 0), Origin { span, what: What::Plain });
        }
    }

    /// Position of the next instruction, which something will jump to.
    pub(crate) fn here(&mut self) -> u32 {
        self.edge = self.code.insts.len() as u32;
        self.edge
    }

    /// The instruction before this position, where nothing jumps to the position.
    pub(crate) fn last_of_block(&mut self) -> Option<&mut Inst> {
        if self.edge == self.code.insts.len() as u32 { None } else { self.code.insts.last_mut() }
    }

    /// A jump forwards.
    pub(crate) fn jump(&mut self, op: Op, a: u32, label: &mut Label, span: Span) {
        label.0.push(self.code.insts.len());
        self.emit(op, ScalarTy::Bool, 0, (a, u32::MAX), Origin { span, what: What::Plain });
    }

    /// Makes the jumps to a label go to the next instruction.
    pub(crate) fn place(&mut self, label: Label) {
        let here = self.here();
        for jump in label.0 {
            self.code.insts[jump].b = here;
        }
    }
}
