//! The scan over the words of all bodies, from the first to the last.

use super::super::{
    AxisForm, DimKind, Ext, Group, MAX_BODY_DEPTH, MAX_LOOP_DEPTH, MAX_PROCESS_DEPTH, Op, OpInfo, Operand,
    Program, Word,
};
use super::Style;
use super::expr::{Over, check, depth};
use super::filter;
use super::instruction::Instruction;
use super::rule::{Allowed, Checked, Place, Rule, below, broken, zero};
use crate::limits::{MAX_TASK_SCALARS, MAX_TASK_TENSORS};

/// Most streams: their ids have 16 bits.
const MAX_STREAMS: u32 = 1 << 16;

/// What stands around an instruction.
#[derive(Clone, Copy)]
pub(super) struct Nesting {
    /// Loop variables.
    vars: u8,
    /// Bodies.
    bodies: u8,
    /// Bit `d` is set when the variable at depth `d` is a SELECT's.
    selects: u16,
    /// Those of the bodies that are of the process around; 0 outside of processes.
    process: u8,
    /// Whether one of these is a step of an ordered scope.
    ordered: bool,
}

/// What is remembered of a word that a body begins at: [`Nesting`], never all zeros. Other words are all zeros.
pub(super) type Mark = [u8; 5];
/// Of the last byte of a mark: [`Nesting::ordered`]. Bodies are fewer.
const ORDERED: u8 = 0x80;
const _: () = assert!(MAX_BODY_DEPTH < ORDERED as usize);

impl Nesting {
    const OUTERMOST: Nesting = Nesting { vars: 0, bodies: 1, selects: 0, process: 0, ordered: false };

    fn mark(self) -> Mark {
        let [low, high] = self.selects.to_le_bytes();
        [self.vars, self.bodies, low, high, self.process | if self.ordered { ORDERED } else { 0 }]
    }

    fn from_mark(mark: Mark) -> Option<Nesting> {
        let [vars, bodies, low, high, process] = mark;
        (bodies != 0).then(|| Nesting {
            vars,
            bodies,
            selects: u16::from_le_bytes([low, high]),
            process: process & !ORDERED,
            ordered: process & ORDERED != 0,
        })
    }

    fn over(self) -> Over {
        Over::Body { vars: self.vars, selects: self.selects }
    }

    /// One more variable, which is not a SELECT's.
    fn plus_variable(self) -> Nesting {
        Nesting { vars: self.vars.saturating_add(1), ..self }
    }

    /// The scope of a body of an instruction.
    fn inside(self, op: Op, place: Place) -> Checked<Nesting> {
        let mut inner = Nesting { bodies: self.bodies.saturating_add(1), ..self };
        if usize::from(inner.bodies) > MAX_BODY_DEPTH {
            return broken(Rule::V11, place, inner.bodies, Allowed::AtMost(MAX_BODY_DEPTH as i64));
        }
        if op == Op::Process || self.process > 0 {
            inner.process = self.process.saturating_add(1);
            inner.ordered |= matches!(op, Op::ForEach | Op::While | Op::Sequential);
        }
        if op.binds() {
            inner = inner.plus_variable();
            if usize::from(inner.vars) > MAX_LOOP_DEPTH {
                return broken(Rule::V12, place, inner.vars, Allowed::AtMost(MAX_LOOP_DEPTH as i64));
            }
            if op == Op::Select {
                inner.selects |= 1u16.checked_shl(u32::from(self.vars)).unwrap_or(0);
            }
        }
        Ok(inner)
    }
}

/// What a TASK still asks for.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Wanted {
    params: u32,
    accesses: u32,
    afters: u32,
}

/// The scan.
pub(super) struct Scan<'p, 'm> {
    program: &'p Program<'p>,
    /// One per word.
    marks: &'m mut [Mark],
    /// The form of every axis; that of a `Set` axis once it is set.
    forms: &'m mut [u8],
    style: Style,
    /// Whether AXIS_* may still come.
    prologue: bool,
    scope: Nesting,
    wanted: Wanted,
}

impl<'p, 'm> Scan<'p, 'm> {
    /// A scan with cleared marks; there is one for each word, and one form for each axis.
    pub(super) fn new(
        program: &'p Program<'p>,
        marks: &'m mut [Mark],
        forms: &'m mut [u8],
        style: Style,
    ) -> Scan<'p, 'm> {
        for (form, axis) in forms.iter_mut().zip(program.axes) {
            *form = axis.form;
        }
        let (scope, wanted) = (Nesting::OUTERMOST, Wanted::default());
        Scan { program, marks, forms, style, prologue: true, scope, wanted }
    }

    /// Checks all bodies.
    pub(super) fn run(mut self) -> Checked {
        let count = self.program.words.len() as u32;
        let mut at = 0;
        loop {
            at = self.body(at)?;
            if at >= count {
                break;
            }
            let mark = self.marks.get(at as usize).copied().unwrap_or_default();
            let Some(scope) = Nesting::from_mark(mark) else {
                return broken(Rule::V10, Place::Word(at), at, Allowed::Named);
            };
            self.scope = scope;
        }
        let set = AxisForm::Set as u8;
        match self.forms.iter().position(|form| *form == set) {
            Some(axis) => broken(Rule::V14, Place::Axis(axis as u32), set, Allowed::Named),
            None => Ok(()),
        }
    }

    /// Checks the body at a word; gives the word behind its end.
    fn body(&mut self, first: u32) -> Checked<u32> {
        let mut at = first;
        loop {
            if at != first {
                self.not_named(at)?;
            }
            let instruction = self.instruction(at)?;
            let end = instruction.end();
            self.wanted(&instruction)?;
            match instruction.info.op {
                Op::Halt | Op::End => {
                    self.ends(&instruction, first)?;
                    return Ok(end);
                }
                Op::Nop => self.operands(&instruction)?,
                _ if instruction.info.group == Group::Axis => self.axis(&instruction)?,
                _ => {
                    self.prologue = false;
                    self.rest(&instruction)?;
                }
            }
            at = end;
        }
    }

    /// Refuses a word within a body that was named as the begin of another.
    fn not_named(&self, at: u32) -> Checked {
        match self.marks.get(at as usize).copied().and_then(Nesting::from_mark) {
            Some(_) => broken(Rule::V09, Place::Word(at), at, Allowed::Named),
            None => Ok(()),
        }
    }

    /// The instruction at a word, with as many extension words as `flags` says and its own row of the table allows.
    fn instruction(&self, at: u32) -> Checked<Instruction<'p>> {
        let place = Place::Word(at);
        let words = self.program.words;
        let Some((word, tail)) = words.get(at as usize..).and_then(<[Word]>::split_first) else {
            return broken(Rule::V06, place, at, Allowed::Below(words.len() as i64));
        };
        let Some(op) = Op::from_code(word.opcode) else {
            return broken(Rule::V01, place, word.opcode, Allowed::Named);
        };
        if op == Op::ExtWord {
            return broken(Rule::V04, place, word.opcode, Allowed::Named);
        }
        let info = op.info();
        self.ext_count(place, word, info)?;
        let count = usize::from(word.flags);
        let Some(exts) = tail.get(..count) else {
            return broken(Rule::V03, place, word.flags, Allowed::AtMost(tail.len() as i64));
        };
        let instruction = Instruction { word, info, at, exts };
        for (index, ext) in exts.iter().enumerate() {
            let place = instruction.ext_place(index);
            if ext.opcode != Op::ExtWord.code() {
                return broken(Rule::V04, place, ext.opcode, Allowed::Exactly(i64::from(Op::ExtWord.code())));
            }
            self.not_named(instruction.at.saturating_add(1).saturating_add(index as u32))?;
            if info.ext != Ext::Dims {
                zero(place, u32::from(ext.flags))?;
            }
        }
        Ok(instruction)
    }

    /// Checks `flags`; those of a filter are checked with the filter.
    fn ext_count(&self, place: Place, word: &Word, info: &OpInfo) -> Checked {
        let allowed = match info.ext {
            Ext::None => Allowed::Exactly(0),
            Ext::Optional(..) => Allowed::AtMost(1),
            Ext::One(..) => Allowed::Exactly(1),
            Ext::Counted(..) => Allowed::Exactly(i64::from(word.operand1)),
            Ext::Dims | Ext::Policy => return Ok(()),
        };
        let fits = match allowed {
            Allowed::Exactly(count) => i64::from(word.flags) == count,
            Allowed::AtMost(count) => i64::from(word.flags) <= count,
            _ => true,
        };
        if fits { Ok(()) } else { broken(Rule::V03, place, word.flags, allowed) }
    }

    /// Checks that the arguments that a TASK counts come, and no others.
    fn wanted(&mut self, instruction: &Instruction<'_>) -> Checked {
        let Wanted { params, accesses, afters } = self.wanted;
        let next = match instruction.info.op {
            Op::ParamConst | Op::ParamLoopvar | Op::ParamExpr => {
                params.checked_sub(1).map(|params| Wanted { params, ..self.wanted })
            }
            Op::IoInput | Op::IoOutput | Op::IoInout => {
                accesses.checked_sub(1).map(|accesses| Wanted { accesses, ..self.wanted })
            }
            Op::After if params == 0 && accesses == 0 => {
                afters.checked_sub(1).map(|afters| Wanted { afters, ..self.wanted })
            }
            _ => Some(self.wanted).filter(|wanted| *wanted == Wanted::default()),
        };
        let Some(next) = next else {
            return broken(Rule::V19, instruction.place(), instruction.word.opcode, Allowed::Named);
        };
        self.wanted = next;
        Ok(())
    }

    /// Checks the end of the body that begins at `first`.
    fn ends(&self, instruction: &Instruction<'_>, first: u32) -> Checked {
        let Instruction { word, info, .. } = *instruction;
        let place = instruction.place();
        let wanted = if first == 0 { Op::Halt } else { Op::End };
        if info.op != wanted && !(first != 0 && self.style == Style::Document) {
            return broken(Rule::V06, place, word.opcode, Allowed::Exactly(i64::from(wanted.code())));
        }
        zero(place, u32::from(word.operand1))?;
        zero(place, word.operand2)
    }

    /// Checks an AXIS_*.
    fn axis(&mut self, instruction: &Instruction<'_>) -> Checked {
        let Instruction { word, info, .. } = *instruction;
        let place = instruction.place();
        if !self.prologue {
            return broken(Rule::V13, place, word.opcode, Allowed::Named);
        }
        self.operands(instruction)?;
        let set = match info.op {
            Op::AxisRagged => AxisForm::Ragged,
            Op::AxisSparse => AxisForm::Sparse,
            _ => AxisForm::DenseDyn,
        };
        match self.forms.get_mut(usize::from(word.operand1)) {
            Some(form) if *form == AxisForm::Set as u8 => {
                *form = set as u8;
                Ok(())
            }
            _ => broken(Rule::V14, place, word.operand1, Allowed::Named),
        }
    }

    /// Checks any other instruction.
    fn rest(&mut self, instruction: &Instruction<'_>) -> Checked {
        match instruction.info.op {
            Op::ParallelFor | Op::ForEach | Op::Select => self.loops(instruction)?,
            Op::While => return self.while_loop(instruction),
            op if instruction.info.group == Group::Csp => self.process(op, instruction.place())?,
            Op::Task => self.task(instruction)?,
            Op::IoInput | Op::IoOutput | Op::IoInout => self.dims(instruction)?,
            Op::DispatchFilter => {
                zero(instruction.place(), instruction.word.operand2)?;
                return filter::check_filter(self.program, instruction);
            }
            Op::StreamBy => {
                let streams = instruction.word.operand2;
                if streams == 0 || streams > MAX_STREAMS {
                    let most = Allowed::AtMost(i64::from(MAX_STREAMS));
                    let allowed = if streams == 0 { Allowed::AtLeast(1) } else { most };
                    return broken(Rule::V27, instruction.place(), streams, allowed);
                }
            }
            Op::Reset => {
                let last = u32::from(instruction.word.operand1).saturating_add(instruction.word.operand2);
                let labels = usize::from(self.program.counts.labels);
                below(instruction.place(), last.saturating_sub(1), labels)?;
            }
            _ => {}
        }
        self.operands(instruction)
    }

    /// Checks that an instruction of processes stands where it may.
    fn process(&self, op: Op, place: Place) -> Checked {
        let Nesting { process, ordered, .. } = self.scope;
        if matches!(op, Op::Process | Op::Channel) != (process == 0) {
            return broken(Rule::V42, place, process, Allowed::Named);
        }
        if op.transfers() && (ordered || usize::from(process) > MAX_PROCESS_DEPTH) {
            return broken(Rule::V43, place, process, Allowed::AtMost(MAX_PROCESS_DEPTH as i64));
        }
        Ok(())
    }

    /// Checks that a loop fits its axis.
    fn loops(&mut self, instruction: &Instruction<'_>) -> Checked {
        let place = instruction.place();
        let axis = instruction.word.operand1;
        let Some(form) = self.forms.get(usize::from(axis)).copied() else {
            return below(place, u32::from(axis), self.program.axes.len());
        };
        let sparse = form == AxisForm::Sparse as u8;
        if sparse != (instruction.info.op == Op::Select) {
            return broken(Rule::V16, place, form, Allowed::Named);
        }
        let rows = sparse || form == AxisForm::Ragged as u8;
        if !rows && !instruction.exts.is_empty() {
            return broken(Rule::V17, place, form, Allowed::Named);
        }
        if rows && instruction.exts.is_empty() && self.scope.vars == 0 {
            return broken(Rule::V18, place, self.scope.vars, Allowed::AtLeast(1));
        }
        match self.program.axes.get(usize::from(axis)) {
            Some(row) if form == AxisForm::Range as u8 => {
                check(self.program, place, u32::from(row.a), self.scope.over())?;
                check(self.program, place, row.b & 0xFFFF, self.scope.over())?;
                self.optional(place, row.b >> 16, u32::from(u16::MAX), self.scope.over())
            }
            Some(_) if form == AxisForm::Set as u8 => broken(Rule::V14, place, axis, Allowed::Named),
            _ => Ok(()),
        }
    }

    /// Checks a WHILE, whose condition may name the round.
    fn while_loop(&mut self, instruction: &Instruction<'_>) -> Checked {
        let Instruction { word, exts, .. } = *instruction;
        let place = instruction.place();
        self.names_body(instruction, place, word.operand2)?;
        check(self.program, place, u32::from(word.operand1), self.scope.plus_variable().over())?;
        for (index, ext) in exts.iter().enumerate() {
            let place = instruction.ext_place(index);
            zero(place, u32::from(ext.operand1))?;
            self.optional(place, ext.operand2, u32::MAX, self.scope.over())?;
        }
        Ok(())
    }

    /// Checks the counts of a TASK, and asks for what it counts.
    fn task(&mut self, instruction: &Instruction<'_>) -> Checked {
        let place = instruction.place();
        let [params, accesses, afters, rest] = instruction.word.operand2.to_le_bytes();
        zero(place, u32::from(rest))?;
        for (count, most) in [(params, MAX_TASK_SCALARS), (accesses, MAX_TASK_TENSORS)] {
            if u32::from(count) > most {
                return broken(Rule::V20, place, count, Allowed::AtMost(i64::from(most)));
            }
        }
        let [params, accesses, afters] = [params, accesses, afters].map(u32::from);
        self.wanted = Wanted { params, accesses, afters };
        Ok(())
    }

    /// Checks the dimensions of an access.
    fn dims(&mut self, instruction: &Instruction<'_>) -> Checked {
        let Instruction { word, exts, .. } = *instruction;
        let place = instruction.place();
        let Some(tensor) = self.program.tensors.get(usize::from(word.operand1)) else {
            return below(place, u32::from(word.operand1), self.program.tensors.len());
        };
        if word.flags > tensor.rank {
            return broken(Rule::V21, place, word.flags, Allowed::AtMost(i64::from(tensor.rank)));
        }
        for (index, ext) in exts.iter().enumerate() {
            let place = instruction.ext_place(index);
            let Some((kind, immediate)) = DimKind::from_flags(ext.flags) else {
                return broken(Rule::V22, place, ext.flags, Allowed::Named);
            };
            if kind == DimKind::Whole {
                zero(place, u32::from(ext.operand1))?;
            } else {
                check(self.program, place, u32::from(ext.operand1), self.scope.over())?;
            }
            match kind {
                DimKind::Whole | DimKind::Index => zero(place, ext.operand2)?,
                DimKind::Range | DimKind::Sized if immediate => {}
                DimKind::Range | DimKind::Sized => {
                    check(self.program, place, ext.operand2, self.scope.over())?;
                }
            }
        }
        Ok(())
    }

    /// Checks operands as the table says what they are.
    fn operands(&mut self, instruction: &Instruction<'_>) -> Checked {
        let Instruction { word, info, exts, .. } = *instruction;
        let place = instruction.place();
        self.operand(instruction, place, info.operand1, u32::from(word.operand1))?;
        self.operand(instruction, place, info.operand2, word.operand2)?;
        let (Ext::Optional(one, two) | Ext::One(one, two) | Ext::Counted(one, two)) = info.ext else {
            return Ok(());
        };
        for (index, ext) in exts.iter().enumerate() {
            let place = instruction.ext_place(index);
            self.operand(instruction, place, one, u32::from(ext.operand1))?;
            self.operand(instruction, place, two, ext.operand2)?;
        }
        Ok(())
    }

    fn operand(&mut self, instruction: &Instruction<'_>, place: Place, kind: Operand, value: u32) -> Checked {
        let (program, counts) = (self.program, &self.program.counts);
        match kind {
            Operand::None => zero(place, value),
            Operand::Axis => below(place, value, program.axes.len()),
            Operand::Kernel => below(place, value, program.kernels.len()),
            Operand::Tensor => below(place, value, program.tensors.len()),
            Operand::Label => below(place, value, usize::from(counts.labels)),
            Operand::Generator => below(place, value, usize::from(counts.generators)),
            Operand::Value => below(place, value, usize::from(counts.values)),
            Operand::Table => below(place, value, usize::from(counts.tables)),
            Operand::Slot => below(place, value, usize::from(counts.slots)),
            Operand::Channel => below(place, value, usize::from(counts.channels)),
            Operand::Depth => depth(place, value, usize::from(self.scope.vars)),
            Operand::Expr => check(program, place, value, self.scope.over()),
            Operand::OptExpr => self.optional(place, value, u32::MAX, self.scope.over()),
            Operand::Key => check(program, place, value, Over::Axes),
            Operand::OptKey => self.optional(place, value, u32::MAX, Over::Axes),
            Operand::Body => self.names_body(instruction, place, value),
            Operand::OptBody if value == 0 => Ok(()),
            Operand::OptBody => self.names_body(instruction, place, value),
            Operand::Policy => filter::policy(place, value).map(|_| ()),
            Operand::Imm | Operand::Count | Operand::TaskCounts => Ok(()),
        }
    }

    /// Checks an expression that may be left out.
    fn optional(&self, place: Place, value: u32, none: u32, over: Over) -> Checked {
        if value == none { Ok(()) } else { check(self.program, place, value, over) }
    }

    /// Notes that a body of an instruction begins at a word.
    fn names_body(&mut self, instruction: &Instruction<'_>, place: Place, at: u32) -> Checked {
        let inner = self.scope.inside(instruction.info.op, place)?;
        let count = self.program.words.len() as i64;
        if at < instruction.end() {
            return broken(Rule::V07, place, at, Allowed::AtLeast(i64::from(instruction.end())));
        }
        let Some(mark) = self.marks.get_mut(at as usize) else {
            return broken(Rule::V07, place, at, Allowed::Below(count));
        };
        if Nesting::from_mark(*mark).is_some() {
            return broken(Rule::V08, place, at, Allowed::Named);
        }
        *mark = inner.mark();
        Ok(())
    }
}
