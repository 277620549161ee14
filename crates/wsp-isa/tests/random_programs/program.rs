//! Programs that keep every rule.

use super::Choices;
use super::expr::{Names, Over, expression};
use super::image::{Image, NONE as NO_NAME};
use super::statement::StatementCx;
use std::collections::{HashMap, VecDeque};
use wsp_core::ptow::{
    AxisDescriptor, AxisForm, Counts, Group, KernelDescriptor, OPS, Op, Operand, PoolHeader,
    TensorDescriptor, Word,
};
use wsp_core::{DType, ExecPool, MAX_RANK};

/// Words after which bodies end.
const MAX_WORDS: usize = 160;
/// All ones in 16 bits, for none.
const NONE: u32 = u16::MAX as u32;
/// Names, some of which cannot be symbols of a text.
const NAMES: [&str; 12] =
    ["batch", "heads", "n", "lens", "q", "kv", "attn", "i1", "v3", "max", "a name", "quote\" \\ \u{202e}"];

/// A program that [`Verified::new`](wsp_core::ptow::Verified::new) accepts. Once in sixteen it has instructions of
/// communicating processes, which interpreters refuse.
pub(crate) fn valid_program(choices: &mut Choices<'_>) -> Vec<u8> {
    let mut builder = Builder {
        csp: choices.once_in(16),
        choices,
        image: Image::default(),
        counts: Counts::default(),
        pooled: HashMap::new(),
        forms: Vec::new(),
        needs: Vec::new(),
        bodies: VecDeque::new(),
    };
    builder.tables();
    builder.names();
    builder.code();
    let counts = builder.counts;
    builder.image.pool = PoolHeader {
        num_values: counts.values,
        num_tables: counts.tables,
        num_slots: counts.slots,
        num_labels: counts.labels,
        num_generators: counts.generators,
        num_channels: counts.channels,
        ..PoolHeader::default()
    };
    builder.image.bytes()
}

/// A body that an instruction names and that is to be written.
pub(super) struct Body {
    /// The word that names it, and whether its first operand does.
    pub(super) word: usize,
    pub(super) scope: StatementCx,
}

pub(super) struct Builder<'c, 'b> {
    pub(super) choices: &'c mut Choices<'b>,
    /// Whether processes may communicate.
    pub(super) csp: bool,
    pub(super) image: Image,
    pub(super) counts: Counts,
    pooled: HashMap<Vec<Word>, u32>,
    /// The form of each axis; that of a `Set` axis as it is set.
    pub(super) forms: Vec<AxisForm>,
    /// The variables that the bounds of each axis name.
    pub(super) needs: Vec<u8>,
    pub(super) bodies: VecDeque<Body>,
}

impl Builder<'_, '_> {
    /// An expression in the pool.
    pub(super) fn expr(&mut self, over: Over) -> u32 {
        let names = Names { counts: self.counts, axes: &self.forms };
        let words = expression(self.choices, &names, over);
        if let Some(at) = self.pooled.get(&words) {
            return *at;
        }
        let at = self.image.exprs.len() as u32;
        self.image.exprs.extend_from_slice(&words);
        self.pooled.insert(words, at);
        at
    }

    /// Adds a word of the instructions.
    pub(super) fn push(&mut self, word: Word) -> usize {
        self.image.words.push(word);
        self.image.words.len() - 1
    }

    fn up_to(&mut self, most: usize) -> u16 {
        self.choices.below(most + 1) as u16
    }

    fn tables(&mut self) {
        let counts = &mut self.counts;
        counts.values = 1 + self.choices.below(3) as u16;
        counts.tables = 1 + self.choices.below(3) as u16;
        counts.slots = self.choices.below(3) as u16;
        counts.labels = self.choices.below(4) as u16;
        counts.generators = self.choices.below(2) as u16;
        counts.channels = if self.csp { 1 + self.choices.below(2) as u16 } else { 0 };
        for _ in 0..=self.up_to(4) {
            let (form, need) = (self.choices.below(6) as u8, self.choices.below(3) as u8);
            let form =
                if form == 5 { AxisForm::Set } else { AxisForm::from_code(form).unwrap_or(AxisForm::Dense) };
            let axis = self.axis(form, need);
            self.image.axes.push(axis);
            self.forms.push(form);
            self.needs.push(if form == AxisForm::Range { need } else { 0 });
        }
        for _ in 0..=self.up_to(2) {
            let pools = [ExecPool::Vector, ExecPool::Cube, ExecPool::Any];
            let pool = self.choices.pick(&pools).copied().unwrap_or_default() as u8;
            self.image.kernels.push(KernelDescriptor { pool, name: NO_NAME, ..KernelDescriptor::default() });
        }
        for _ in 0..self.up_to(3) {
            let dtype = self.choices.pick(&DType::ALL).map_or(0, |dtype| dtype.code());
            let rank = self.choices.below(MAX_RANK + 1) as u8;
            let slot = if self.choices.once_in(4) { u32::from(self.counts.slots) } else { 0 };
            self.image.tensors.push(TensorDescriptor { dtype, rank, name: NO_NAME, slot });
        }
    }

    fn axis(&mut self, form: AxisForm, need: u8) -> AxisDescriptor {
        let counts = self.counts;
        let table = |choices: &mut Choices<'_>| choices.below(usize::from(counts.tables)) as u32;
        let outer = |builder: &mut Self| {
            let axes = builder.forms.len();
            if axes > 0 && builder.choices.once_in(2) { builder.choices.below(axes) as u32 } else { NONE }
        };
        let over = Over::Body { vars: need, selects: 0 };
        let (a, b) = match form {
            AxisForm::Dense => (self.expr(Over::Launch), self.expr(Over::Launch)),
            AxisForm::DenseDyn => (self.choices.below(usize::from(counts.values)) as u32, 0),
            AxisForm::Ragged => (outer(self), table(self.choices)),
            AxisForm::Sparse => (outer(self), table(self.choices) << 16 | table(self.choices)),
            AxisForm::Range => {
                let (low, high) = (self.expr(over), self.expr(over));
                let step = if self.choices.once_in(2) { self.expr(over) } else { NONE };
                (low, step << 16 | high)
            }
            AxisForm::Set => (0, 0),
        };
        AxisDescriptor { form: form as u8, reserved: 0, a: a as u16, b }
    }

    fn code(&mut self) {
        self.prologue();
        self.body(StatementCx::default(), Op::Halt);
        while let Some(Body { word, scope }) = self.bodies.pop_front() {
            let at = self.image.words.len() as u32;
            if let Some(word) = self.image.words.get_mut(word) {
                word.operand2 = at;
            }
            self.body(scope, Op::End);
        }
    }

    /// AXIS_* for the axes that ask for one.
    fn prologue(&mut self) {
        let setters: Vec<Op> = OPS.iter().filter(|row| row.group == Group::Axis).map(|row| row.op).collect();
        for row in 0..self.forms.len() {
            if self.forms.get(row) != Some(&AxisForm::Set) {
                continue;
            }
            if self.choices.once_in(4) {
                self.push(Word { opcode: Op::Nop.code(), ..Word::default() });
            }
            let op = self.choices.pick(&setters).copied().unwrap_or(Op::AxisDense);
            self.setter(op, row as u16);
            let form = match op {
                Op::AxisRagged => AxisForm::Ragged,
                Op::AxisSparse => AxisForm::Sparse,
                _ => AxisForm::DenseDyn,
            };
            if let Some(place) = self.forms.get_mut(row) {
                *place = form;
            }
        }
    }

    fn setter(&mut self, op: Op, row: u16) {
        let info = op.info();
        let operand2 = self.operand(info.operand2, StatementCx::default());
        let at = self.push(Word { opcode: op.code(), flags: 0, operand1: row, operand2 });
        self.extend(at, info, StatementCx::default());
    }

    fn body(&mut self, scope: StatementCx, end: Op) {
        while !self.choices.is_spent() && self.image.words.len() < MAX_WORDS && !self.choices.once_in(4) {
            self.statement(scope);
        }
        self.push(Word { opcode: end.code(), ..Word::default() });
    }

    /// Names, of which all kinds have some or none.
    fn names(&mut self) {
        if self.choices.once_in(2) {
            return;
        }
        let counts = self.counts;
        let rows = [
            usize::from(counts.values),
            usize::from(counts.tables),
            self.image.axes.len(),
            self.image.kernels.len(),
            self.image.tensors.len(),
        ];
        let (mut bytes, mut starts) = (Vec::new(), [Vec::new(), Vec::new()]);
        for (kind, rows) in rows.into_iter().enumerate() {
            for _ in 0..rows {
                let name = self.choices.pick(&NAMES).map_or("", |name| name);
                // Kernels and tensors may have none.
                let is_named = kind < 3 || !self.choices.once_in(4);
                let start = bytes.len() as u16;
                if is_named {
                    bytes.extend_from_slice(name.as_bytes());
                    bytes.push(0);
                }
                if let Some(starts) = starts.get_mut(kind.wrapping_sub(3)) {
                    starts.push(if is_named { start } else { NO_NAME });
                }
            }
        }
        self.image.names = bytes;
        let [kernels, tensors] = starts;
        self.image.kernels.iter_mut().zip(kernels).for_each(|(kernel, name)| kernel.name = name);
        self.image.tensors.iter_mut().zip(tensors).for_each(|(tensor, name)| tensor.name = name);
    }

    /// An operand that is no body.
    pub(super) fn operand(&mut self, kind: Operand, scope: StatementCx) -> u32 {
        let counts = self.counts;
        let count = match kind {
            Operand::Expr => return self.expr(scope.over()),
            Operand::OptExpr | Operand::OptKey if self.choices.once_in(2) => return u32::MAX,
            Operand::OptExpr => return self.expr(scope.over()),
            Operand::Key | Operand::OptKey => return self.expr(Over::Axes),
            Operand::Imm => return self.choices.byte() as i8 as u32,
            Operand::Count => return 1 + self.choices.below(5) as u32,
            Operand::Axis => self.forms.len(),
            Operand::Kernel => self.image.kernels.len(),
            Operand::Tensor => self.image.tensors.len(),
            Operand::Label => usize::from(counts.labels),
            Operand::Generator => usize::from(counts.generators),
            Operand::Value => usize::from(counts.values),
            Operand::Table => usize::from(counts.tables),
            Operand::Slot => usize::from(counts.slots),
            Operand::Channel => usize::from(counts.channels),
            Operand::Depth => usize::from(scope.vars),
            Operand::None | Operand::Body | Operand::OptBody | Operand::Policy | Operand::TaskCounts => 0,
        };
        self.choices.below(count) as u32
    }
}
