//! Programs as trees of statements: their words, and how many tasks they generate, one by one.

use crate::tree::{Names, Tree};
use wsp_core::ptow::{AxisDescriptor, AxisForm, Counts, Header, KernelDescriptor, Op, Program, Word};

/// A statement.
#[derive(Clone, Debug)]
pub(crate) enum Stmt {
    Task,
    For(Over, Vec<Stmt>),
    Cond(Tree, Vec<Stmt>, Vec<Stmt>),
    Let(Tree, Vec<Stmt>),
    Combine(Vec<Vec<Stmt>>),
    Sequential(Vec<Vec<Stmt>>),
    While(Tree, Vec<Stmt>),
}

/// What a loop runs over.
#[derive(Clone, Debug)]
pub(crate) enum Over {
    /// Launch-time bounds.
    Dense(Tree, Tree),
    Range(Tree, Tree, Option<Tree>),
    /// A row of the table of lengths; without one, of the innermost variable.
    Ragged(Option<Tree>),
    /// A row of the sparse axis.
    Sparse(Tree),
}

/// The tables of lengths, of row pointers and of columns.
pub(crate) const LENGTHS: u32 = 0;
pub(crate) const POINTERS: u32 = 1;
pub(crate) const COLUMNS: u32 = 2;

/// The words of a program.
#[derive(Clone, Debug, Default)]
pub(crate) struct Built {
    pub(crate) words: Vec<Word>,
    pub(crate) axes: Vec<AxisDescriptor>,
    pub(crate) exprs: Vec<Word>,
    header: Header,
}

impl Built {
    /// The words of a program. Bodies stand behind each other in the order in which they are named.
    pub(crate) fn new(body: &[Stmt]) -> Built {
        let mut built = Built::default();
        let mut waiting = vec![(None, body)];
        let mut next = 0;
        while next < waiting.len() {
            let (named_at, body): (Option<usize>, &[Stmt]) = waiting[next];
            if let Some(at) = named_at {
                built.words[at].operand2 = built.words.len() as u32;
            }
            for stmt in body {
                built.statement(stmt, &mut waiting);
            }
            let end = if next == 0 { Op::Halt } else { Op::End };
            built.push(end, 0, 0, 0);
            next += 1;
        }
        built
    }

    pub(crate) fn program(&self) -> Program<'_> {
        Program {
            header: &self.header,
            words: &self.words,
            axes: &self.axes,
            kernels: &[KernelDescriptor { pool: 0, reserved: 0, name: u16::MAX, reserved2: 0 }],
            tensors: &[],
            counts: Counts { tables: 3, values: 2, slots: 1, ..Counts::default() },
            exprs: &self.exprs,
            names: &[],
        }
    }

    fn push(&mut self, op: Op, flags: u8, operand1: u16, operand2: u32) -> usize {
        self.words.push(Word { opcode: op.code(), flags, operand1, operand2 });
        self.words.len() - 1
    }

    fn expr(&mut self, tree: &Tree) -> u16 {
        tree.emit(&mut self.exprs) as u16
    }

    fn axis(&mut self, form: AxisForm, a: u16, b: u32) -> u16 {
        self.axes.push(AxisDescriptor { form: form as u8, reserved: 0, a, b });
        self.axes.len() as u16 - 1
    }

    fn statement<'s>(&mut self, stmt: &'s Stmt, waiting: &mut Vec<(Option<usize>, &'s [Stmt])>) {
        match stmt {
            Stmt::Task => {
                self.push(Op::Task, 0, 0, 0);
            }
            Stmt::For(over, body) => {
                let (op, axis, row) = self.over(over);
                let at = self.push(op, u8::from(row.is_some()), axis, 0);
                if let Some(row) = row {
                    self.push(Op::ExtWord, 0, 0, row.into());
                }
                waiting.push((Some(at), body));
            }
            Stmt::Cond(condition, then, otherwise) => {
                let condition = self.expr(condition);
                let at = self.push(Op::Cond, 1, condition, 0);
                self.push(Op::ExtWord, 0, 0, 0);
                waiting.push((Some(at), then));
                if !otherwise.is_empty() {
                    waiting.push((Some(at + 1), otherwise));
                }
            }
            Stmt::Let(value, body) => {
                let value = self.expr(value);
                let at = self.push(Op::Let, 0, value, 0);
                waiting.push((Some(at), body));
            }
            Stmt::While(condition, body) => {
                let condition = self.expr(condition);
                let at = self.push(Op::While, 1, condition, 0);
                self.push(Op::ExtWord, 0, 0, u32::MAX);
                waiting.push((Some(at), body));
            }
            Stmt::Combine(bodies) => self.all(Op::Combine, bodies, waiting),
            Stmt::Sequential(bodies) => self.all(Op::Sequential, bodies, waiting),
        }
    }

    fn all<'s>(&mut self, op: Op, bodies: &'s [Vec<Stmt>], waiting: &mut Vec<(Option<usize>, &'s [Stmt])>) {
        self.push(op, bodies.len() as u8, bodies.len() as u16, 0);
        for body in bodies {
            let at = self.push(Op::ExtWord, 0, 0, 0);
            waiting.push((Some(at), body));
        }
    }

    fn over(&mut self, over: &Over) -> (Op, u16, Option<u16>) {
        match over {
            Over::Dense(lo, hi) => {
                let (lo, hi) = (self.expr(lo), self.expr(hi));
                (Op::ParallelFor, self.axis(AxisForm::Dense, lo, hi.into()), None)
            }
            Over::Range(lo, hi, step) => {
                let (lo, hi) = (self.expr(lo), self.expr(hi));
                let step = step.as_ref().map_or(u16::MAX, |step| self.expr(step));
                let b = (u32::from(step) << 16) | u32::from(hi);
                (Op::ForEach, self.axis(AxisForm::Range, lo, b), None)
            }
            Over::Ragged(row) => {
                let row = row.as_ref().map(|row| self.expr(row));
                (Op::ParallelFor, self.axis(AxisForm::Ragged, u16::MAX, LENGTHS), row)
            }
            Over::Sparse(row) => {
                let row = self.expr(row);
                let axis = self.axis(AxisForm::Sparse, u16::MAX, (COLUMNS << 16) | POINTERS);
                (Op::Select, axis, Some(row))
            }
        }
    }
}

/// The loop variables of an entered loop; none when it is at fault. Positions are not told apart, as trees do not name them.
pub(crate) fn indices(over: &Over, names: &Names) -> Option<Vec<i64>> {
    let value = |tree: &Tree| tree.value(names).ok();
    let row = |row: i64, rows: usize| usize::try_from(row).ok().filter(|row| *row < rows);
    Some(match over {
        Over::Dense(lo, hi) => (value(lo)?..value(hi)?).collect(),
        Over::Range(lo, hi, step) => {
            let (lo, hi) = (value(lo)?, value(hi)?);
            let step = step.as_ref().map_or(Some(1), value)?;
            (lo..hi).step_by(usize::try_from(step).ok().filter(|step| *step > 0)?).collect()
        }
        Over::Ragged(tree) => {
            let lengths = &names.tables[LENGTHS as usize];
            let at = match tree {
                Some(tree) => value(tree)?,
                None => *names.vars.last()?,
            };
            (0..lengths[row(at, lengths.len())?]).collect()
        }
        Over::Sparse(tree) => {
            let (pointers, columns) = (&names.tables[POINTERS as usize], &names.tables[COLUMNS as usize]);
            let row = row(value(tree)?, pointers.len().saturating_sub(1))?;
            let (from, to) = (usize::try_from(pointers[row]).ok()?, usize::try_from(pointers[row + 1]).ok()?);
            columns.get(from..to)?.to_vec()
        }
    })
}
