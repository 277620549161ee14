//! What is emitted beside the main function, on demand and once each: expressions, keys, counts, filters.

use super::expr::{self, Place, Variable};
use super::names::Names;
use super::tree::{Bound, Over, Row};
use wsp_core::ptow::Program;
use wsp_ordered::OrderedSet;

/// A function that has been emitted, by the word that it stands for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Made {
    Expr(u32),
    Key(u32),
    Count(u32),
    Filter(u32),
}

/// A process under way.
pub(super) struct Process {
    /// The word of the `PROCESS`.
    pub(super) word: u32,
    /// What it keeps from turn to turn, as captures.
    pub(super) kept: Vec<String>,
    /// Loops around over axes that keys name, with their variables.
    pub(super) loops: Vec<(u16, String)>,
}

/// An emission under way.
pub(super) struct Emitter<'a> {
    pub(super) program: &'a Program<'a>,
    pub(super) names: &'a Names,
    /// Axes that some key names.
    pub(super) key_axes: OrderedSet<u16>,
    /// Functions in the order in which they are defined: each before those that call it.
    pub(super) functions: Vec<String>,
    pub(super) made: OrderedSet<Made>,
    /// The process under way.
    pub(super) process: Option<Process>,
}

impl Emitter<'_> {
    fn place<'b>(&'b self, variables: &'b [Variable]) -> Place<'b> {
        Place { program: self.program, names: self.names, variables }
    }

    /// An expression over loop variables, as an `Int`.
    pub(super) fn expr(&mut self, expr: u32, variables: &[Variable]) -> String {
        if let Some(text) = expr::inline(self.place(variables), expr) {
            return text;
        }
        if self.made.insert(Made::Expr(expr)) {
            let function = expr::function(self.program, self.names, expr);
            self.functions.push(function);
        }
        expr::call(self.place(variables), expr)
    }

    /// An expression over indices of axes, as an `Int`.
    pub(super) fn key(&mut self, expr: u32) -> String {
        if self.made.insert(Made::Key(expr)) {
            let value = self.expr(expr, &[]);
            let head = format!("static Int key_{expr}([[maybe_unused]] const State& s)");
            self.functions.push(format!("{head} {{ return {value}; }}\n"));
        }
        format!("key_{expr}(s)")
    }

    /// Enters a loop: true when it can be entered.
    pub(super) fn enter(&mut self, name: &str, over: &Over, variables: &[Variable]) -> String {
        let value = |names: &[String], index: u32| {
            names.get(index as usize).cloned().unwrap_or_else(|| index.to_string())
        };
        match *over {
            Over::Dense { lo, hi } => {
                let (lo, hi) = (self.bound(lo, variables), self.bound(hi, variables));
                format!("s.range({name}, {lo}, {hi}, 1)")
            }
            Over::Range { lo, hi, step } => {
                let (lo, hi) = (self.expr(lo, variables), self.expr(hi, variables));
                let step = step.map_or_else(|| "1".to_owned(), |step| self.expr(step, variables));
                format!("s.range({name}, {lo}, {hi}, {step})")
            }
            Over::Ragged { lengths, rows, row } => {
                let row = self.row(row, variables);
                let table = value(&self.names.tables, lengths);
                let rows = match rows {
                    Some(rows) => format!("s.value({})", value(&self.names.values, rows)),
                    None => format!("s.length({table})"),
                };
                format!("s.ragged({name}, {table}, {rows}, {row})")
            }
            Over::Sparse { pointers, columns, row } => {
                let row = self.row(row, variables);
                let tables = &self.names.tables;
                format!("s.sparse({name}, {}, {}, {row})", value(tables, pointers), value(tables, columns))
            }
        }
    }

    fn bound(&mut self, bound: Bound, variables: &[Variable]) -> String {
        match bound {
            Bound::Fixed(number) => number.to_string(),
            Bound::Value(value) => {
                let name = self.names.values.get(value as usize);
                format!("s.value({})", name.cloned().unwrap_or_else(|| value.to_string()))
            }
            Bound::Expr(expr) => self.expr(expr, variables),
        }
    }

    fn row(&mut self, row: Row, variables: &[Variable]) -> String {
        match row {
            Row::Variable(depth) => variables.get(depth).map_or("0", |variable| &variable.name).to_owned(),
            Row::Expr(expr) => self.expr(expr, variables),
        }
    }
}
