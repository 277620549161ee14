//! Statements of a body, each as its row of the table says.

use super::expr::Over;
use super::program::{Body, Builder};
use wsp_core::ptow::{
    AxisForm, DIM_IMMEDIATE, DimKind, Ext, Group, MAX_BODY_DEPTH, MAX_LOOP_DEPTH, MAX_PROCESS_DEPTH,
    MAX_THRESHOLDS, OPS, Op, OpInfo, Operand, POLICY_POOL, PolicyType, Word,
};

/// Most parameters, and most accesses, of a task.
const MAX_ARGUMENTS: usize = 3;

/// What stands around a statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct StatementCx {
    pub(super) vars: u8,
    bodies: u8,
    selects: u16,
    /// Bodies of the process around; 0 outside of processes.
    process: u8,
    /// Whether one of them is a step of an ordered scope.
    ordered: bool,
}

impl StatementCx {
    pub(super) fn over(self) -> Over {
        Over::Body { vars: self.vars, selects: self.selects }
    }

    fn inside(self, op: Op) -> StatementCx {
        let select = if op == Op::Select { 1 << self.vars } else { 0 };
        let within = self.process > 0 || op == Op::Process;
        StatementCx {
            vars: self.vars + u8::from(binds(op)),
            bodies: self.bodies + 1,
            selects: self.selects | select,
            process: self.process + u8::from(within),
            ordered: self.ordered || within && matches!(op, Op::ForEach | Op::While | Op::Sequential),
        }
    }

    /// Whether an instruction of processes may stand here.
    fn takes(self, op: Op) -> bool {
        match op {
            Op::Channel | Op::Process => self.process == 0,
            Op::Close => self.process > 0,
            Op::Send | Op::Recv | Op::SelectCh | Op::SelectAll => {
                (1..=MAX_PROCESS_DEPTH).contains(&usize::from(self.process)) && !self.ordered
            }
            _ => true,
        }
    }
}

/// Whether the body of an instruction has one more loop variable.
fn binds(op: Op) -> bool {
    let transfers = matches!(op, Op::Send | Op::Recv | Op::SelectCh | Op::SelectAll);
    transfers || matches!(op, Op::ParallelFor | Op::ForEach | Op::Select | Op::Let | Op::While)
}

/// The lowest bit of the count, in `operand2` of a `TASK`, of arguments like this one.
fn count_shift(op: Op) -> Option<u32> {
    match op {
        Op::ParamConst | Op::ParamLoopvar | Op::ParamExpr => Some(0),
        Op::IoInput | Op::IoOutput | Op::IoInout => Some(8),
        Op::After => Some(16),
        _ => None,
    }
}

/// What the operand of a policy is.
fn policy_operand(code: u16) -> Operand {
    match PolicyType::from_code(code) {
        Some(PolicyType::Affinity) => Operand::Depth,
        Some(PolicyType::Key | PolicyType::Hash) => Operand::Key,
        _ => Operand::None,
    }
}

impl Builder<'_, '_> {
    /// A statement.
    pub(super) fn statement(&mut self, scope: StatementCx) {
        let groups = [Group::Statement, Group::Attribute, Group::Csp];
        let rows: Vec<&OpInfo> = OPS
            .iter()
            .filter(|row| groups.contains(&row.group) || row.op == Op::Nop)
            .filter(|row| row.group != Group::Csp || self.csp)
            .collect();
        let Some(info) = self.choices.pick(&rows).copied() else { return };
        if !self.is_possible(info, scope) {
            return self.task(scope);
        }
        match info.op {
            Op::ParallelFor | Op::ForEach | Op::Select => self.over_axis(info.op, scope),
            Op::Task => self.task(scope),
            Op::Reset => {
                let labels = usize::from(self.counts.labels);
                let first = self.choices.below(labels);
                let count = 1 + self.choices.below(labels - first);
                self.push(word(Op::Reset, first as u16, count as u32));
            }
            Op::DispatchFilter => self.filter(),
            _ => self.plain(info, scope),
        }
    }

    /// Whether there is anything to name, and room for what is inside.
    fn is_possible(&self, info: &OpInfo, scope: StatementCx) -> bool {
        let counts = self.counts;
        let named = |kind: Operand| match kind {
            Operand::Label => counts.labels > 0,
            Operand::Generator => counts.generators > 0,
            Operand::Channel => counts.channels > 0,
            _ => true,
        };
        let room = usize::from(scope.bodies) + 2 < MAX_BODY_DEPTH;
        let variable = !binds(info.op) || usize::from(scope.vars) < MAX_LOOP_DEPTH;
        let arms = !matches!(info.op, Op::SelectCh | Op::SelectAll) || counts.channels > 0;
        named(info.operand1) && named(info.operand2) && arms && room && variable && scope.takes(info.op)
    }

    /// A loop over an axis that fits; a LET when none does.
    fn over_axis(&mut self, op: Op, scope: StatementCx) {
        let fits = |(form, need): (&AxisForm, &u8)| {
            let sparse = *form == AxisForm::Sparse;
            (op == Op::Select) == sparse && *need <= scope.vars
        };
        let axes: Vec<usize> = (0..)
            .zip(self.forms.iter().zip(&self.needs))
            .filter(|(_, axis)| fits(*axis))
            .map(|(row, _)| row)
            .collect();
        let Some(&axis) = self.choices.pick(&axes) else {
            return self.plain(Op::Let.info(), scope);
        };
        let rows = matches!(self.forms.get(axis), Some(AxisForm::Ragged | AxisForm::Sparse));
        let given = rows && (scope.vars == 0 || self.choices.once_in(2));
        let at = self.push(word(op, axis as u16, 0));
        self.bodies.push_back(Body { word: at, scope: scope.inside(op) });
        if given {
            let row = self.expr(scope.over());
            self.extension(at, word(Op::ExtWord, 0, row));
        }
    }

    /// An instruction without rules of its own.
    fn plain(&mut self, info: &'static OpInfo, scope: StatementCx) {
        let condition = if info.op == Op::While { scope.inside(info.op) } else { scope };
        let operand1 = match info.ext {
            Ext::Counted(..) => self.choices.below(4) as u16,
            _ => self.operand(info.operand1, condition) as u16,
        };
        let at = self.push(word(info.op, operand1, 0));
        match info.operand2 {
            Operand::Body => self.bodies.push_back(Body { word: at, scope: scope.inside(info.op) }),
            kind => {
                let value = self.operand(kind, scope);
                self.set_operand2(at, value);
            }
        }
        self.extend(at, info, scope);
    }

    fn set_operand2(&mut self, at: usize, value: u32) {
        if let Some(word) = self.image.words.get_mut(at) {
            word.operand2 = value;
        }
    }

    /// Adds an extension word to the instruction at `head`.
    fn extension(&mut self, head: usize, word: Word) -> usize {
        let at = self.push(word);
        if let Some(head) = self.image.words.get_mut(head) {
            head.flags += 1;
        }
        at
    }

    /// The extension words of the instruction at `head`, as the table says.
    pub(super) fn extend(&mut self, head: usize, info: &OpInfo, scope: StatementCx) {
        let (count, one, two) = match info.ext {
            Ext::None | Ext::Dims | Ext::Policy => return,
            Ext::Optional(one, two) => (usize::from(self.choices.once_in(2)), one, two),
            Ext::One(one, two) => (1, one, two),
            Ext::Counted(one, two) => {
                (self.image.words.get(head).map_or(0, |word| usize::from(word.operand1)), one, two)
            }
        };
        for _ in 0..count {
            let operand1 = self.operand(one, scope) as u16;
            let at = self.extension(head, word(Op::ExtWord, operand1, 0));
            match two {
                Operand::OptBody if self.choices.once_in(2) => {}
                Operand::Body | Operand::OptBody => {
                    self.bodies.push_back(Body { word: at, scope: scope.inside(info.op) });
                }
                kind => {
                    let value = self.operand(kind, scope);
                    self.set_operand2(at, value);
                }
            }
        }
    }

    fn task(&mut self, scope: StatementCx) {
        let kernel = self.operand(Operand::Kernel, scope) as u16;
        let head = self.push(word(Op::Task, kernel, 0));
        if self.counts.labels > 0 && self.choices.once_in(2) {
            let label = self.operand(Operand::Label, scope) as u16;
            self.extension(head, word(Op::ExtWord, label, 0));
        }
        let mut counts = 0;
        for shift in [0, 8, 16] {
            let arguments: Vec<&OpInfo> = OPS
                .iter()
                .filter(|row| count_shift(row.op) == Some(shift) && self.has_argument(row.op, scope))
                .collect();
            for _ in 0..self.choices.below(MAX_ARGUMENTS + 1) {
                let Some(info) = self.choices.pick(&arguments).copied() else { break };
                counts += 1 << shift;
                self.argument(info, scope);
            }
        }
        self.set_operand2(head, counts);
    }

    fn has_argument(&self, op: Op, scope: StatementCx) -> bool {
        match op {
            Op::ParamLoopvar => scope.vars > 0,
            Op::IoInput | Op::IoOutput | Op::IoInout => !self.image.tensors.is_empty(),
            Op::After => self.counts.labels > 0,
            _ => true,
        }
    }

    fn argument(&mut self, info: &OpInfo, scope: StatementCx) {
        let operand1 = self.operand(info.operand1, scope) as u16;
        let operand2 = self.operand(info.operand2, scope);
        let at = self.push(word(info.op, operand1, operand2));
        if info.ext != Ext::Dims {
            return;
        }
        let rank = self.image.tensors.get(usize::from(operand1)).map_or(0, |tensor| usize::from(tensor.rank));
        for _ in 0..self.choices.below(rank + 1) {
            let kinds = [DimKind::Whole, DimKind::Index, DimKind::Range, DimKind::Sized];
            let kind = self.choices.pick(&kinds).copied().unwrap_or(DimKind::Whole);
            let low = if kind == DimKind::Whole { 0 } else { self.expr(scope.over()) as u16 };
            let (immediate, high) = match kind {
                DimKind::Whole | DimKind::Index => (0, 0),
                _ if self.choices.once_in(2) => (DIM_IMMEDIATE, self.choices.byte() as i8 as u32),
                _ => (0, self.expr(scope.over())),
            };
            self.extension(at, Word { flags: kind as u8 | immediate, ..word(Op::ExtWord, low, high) });
        }
    }

    fn filter(&mut self) {
        let policy = PolicyType::from_code(self.choices.below(6) as u16).unwrap_or(PolicyType::RoundRobin);
        let at = self.push(word(Op::DispatchFilter, policy as u16, 0));
        match policy {
            PolicyType::Threshold => {
                let bounds = 1 + self.choices.below(MAX_THRESHOLDS);
                let metric = self.expr(Over::Axes);
                self.extension(at, word(Op::ExtWord, bounds as u16, metric));
                let mut bound = self.choices.byte() as i8 as i32;
                for _ in 0..bounds {
                    self.extension(at, word(Op::ExtWord, 0, bound as u32));
                    bound += 1 + i32::from(self.choices.byte());
                }
                for _ in 0..=bounds {
                    let codes = [0, 1, 4, 5, POLICY_POOL, POLICY_POOL + 1, POLICY_POOL + 2];
                    let code = self.choices.pick(&codes).copied().unwrap_or(0);
                    let operand = self.level(code);
                    self.extension(at, word(Op::ExtWord, code, operand));
                }
            }
            PolicyType::StaticPartition => {
                let mut end = 0;
                for _ in 0..=self.choices.below(5) {
                    end += u32::from(self.choices.byte());
                    self.extension(at, word(Op::ExtWord, 0, end));
                }
            }
            policy if policy_operand(policy as u16) == Operand::None => {}
            policy => {
                let operand = self.level(policy as u16);
                self.extension(at, word(Op::ExtWord, 0, operand));
            }
        }
    }

    /// The depth or key of a policy.
    fn level(&mut self, code: u16) -> u32 {
        match policy_operand(code) {
            Operand::Depth => self.choices.below(4) as u32,
            Operand::Key => self.expr(Over::Axes),
            _ => 0,
        }
    }
}

fn word(op: Op, operand1: u16, operand2: u32) -> Word {
    Word { opcode: op.code(), flags: 0, operand1, operand2 }
}
