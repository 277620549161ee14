//! The lines before the instructions.

use super::pool::Order;
use super::{Printer, raw};
use crate::ptow::image::EmptyPool;
use crate::ptow::names::Stored;
use crate::ptow::quote::quote;
use crate::ptow::symbols::Kind;
use std::fmt::Write as _;
use wsp_core::ptow::{AxisDescriptor, AxisForm, Counts, KernelDescriptor, Operand, TensorDescriptor};
use wsp_core::{DType, ExecPool, MAX_RANK};

/// All ones, for none.
const NONE: u16 = u16::MAX;

/// Pools by name.
pub(in crate::ptow) const POOLS: [(&str, ExecPool); 3] =
    [("vector", ExecPool::Vector), ("cube", ExecPool::Cube), ("any", ExecPool::Any)];

impl Printer<'_> {
    /// Everything before the instructions.
    pub(super) fn tables(&mut self, pool: EmptyPool) {
        let program = self.program;
        if pool == EmptyPool::Written
            && program.counts == Counts::default()
            && program.exprs.is_empty()
            && program.names.is_empty()
        {
            self.line(".pool empty");
        }
        self.names();
        self.counted();
        self.listed();
        for (row, axis) in program.axes.iter().enumerate() {
            let line = self.axis(row, axis);
            self.line(&line);
        }
        for (row, kernel) in program.kernels.iter().enumerate() {
            let line = self.kernel(row, kernel);
            self.line(&line);
        }
        for (row, tensor) in program.tensors.iter().enumerate() {
            let line = self.tensor(row, tensor);
            self.line(&line);
        }
    }

    /// Values and tables, and names that do not stand with what they name.
    fn names(&mut self) {
        let counts = self.program.counts;
        match &self.stored {
            Stored::Named(_) => {
                for kind in [Kind::Value, Kind::Table] {
                    for row in 0..self.symbols.len(kind) {
                        let line = self.declared(kind, row);
                        self.line(&line);
                    }
                }
                return;
            }
            Stored::None => {
                let rows: usize = Kind::ALL.into_iter().map(|kind| self.symbols.len(kind)).sum();
                if rows > 0 {
                    self.line(".names none");
                }
            }
            Stored::Bytes => {
                if self.program.names.is_empty() {
                    self.line(".names bytes");
                }
                for bytes in self.program.names.chunks(32) {
                    let mut line = String::from(".names bytes");
                    for byte in bytes {
                        let _ = write!(line, " {byte:#04x}");
                    }
                    self.line(&line);
                }
            }
        }
        for (directive, count) in [(".values", counts.values), (".tables", counts.tables)] {
            if count > 0 {
                self.line(&format!("{directive} {count}"));
            }
        }
    }

    fn counted(&mut self) {
        let counts = self.program.counts;
        for (directive, count) in [
            (".slots", counts.slots),
            (".labels", counts.labels),
            (".generators", counts.generators),
            (".channels", counts.channels),
        ] {
            if count > 0 {
                self.line(&format!("{directive} {count}"));
            }
        }
    }

    /// The list of expressions, where their uses do not tell their order.
    fn listed(&mut self) {
        if self.pool.order != Order::Listed {
            return;
        }
        for index in 0..self.pool.items.len() {
            let Some(item) = self.pool.items.get(index) else { continue };
            let (start, words, known) = (item.start, item.words, item.known);
            let line = match words.first() {
                Some(word) if !known => raw(".xword", word),
                _ => format!(".expr {}", self.expression(index)),
            };
            self.line(&format!("{line:<40} ; @{start}"));
        }
    }

    /// The directive, the symbol and, where it is another, the name of a row.
    fn declared(&self, kind: Kind, row: usize) -> String {
        let symbol = self.symbols.symbol(kind, row as u32).unwrap_or_default();
        let mut line = format!(".{} {symbol}", kind.word());
        if let Stored::Named(names) = &self.stored {
            let name = names[kind as usize].get(row).and_then(Option::as_deref).unwrap_or("");
            if name != symbol {
                line.push(' ');
                line.push_str(&quote(name));
            }
        }
        line
    }

    fn axis(&mut self, row: usize, axis: &AxisDescriptor) -> String {
        let line = self.declared(Kind::Axis, row);
        let form = self.axis_form(axis);
        let form =
            form.unwrap_or_else(|| format!("raw {} {} {} {}", axis.form, axis.reserved, axis.a, axis.b));
        format!("{line} {form}")
    }

    /// The form of an axis, if its record holds nothing else.
    fn axis_form(&mut self, axis: &AxisDescriptor) -> Option<String> {
        let form = AxisForm::from_code(axis.form)?;
        let (a, low, high) = (u32::from(axis.a), axis.b & 0xFFFF, axis.b >> 16);
        if axis.reserved != 0 {
            return None;
        }
        let outer = |printer: &Printer<'_>| match axis.a {
            NONE => Some(String::new()),
            _ => printer.named(Operand::Axis, a).map(|outer| format!(" of {outer}")),
        };
        Some(match form {
            AxisForm::Dense => format!("dense {} .. {}", self.expr(a), self.expr(axis.b)),
            AxisForm::DenseDyn if axis.b == 0 => format!("dyn {}", self.operand(Operand::Value, a)),
            AxisForm::Ragged => {
                let outer = outer(self)?;
                format!("ragged {}{outer}", self.operand(Operand::Table, axis.b))
            }
            AxisForm::Sparse => {
                let outer = outer(self)?;
                let (indptr, columns) =
                    (self.operand(Operand::Table, low), self.operand(Operand::Table, high));
                format!("sparse {indptr}, {columns}{outer}")
            }
            AxisForm::Range => {
                let text = format!("range {} .. {}", self.expr(a), self.expr(low));
                if high == u32::from(NONE) { text } else { format!("{text} step {}", self.expr(high)) }
            }
            AxisForm::Set if axis.a == 0 && axis.b == 0 => "set".to_owned(),
            AxisForm::DenseDyn | AxisForm::Set => return None,
        })
    }

    /// Where a name stands, when names stand apart.
    fn name_offset(&self, name: u16) -> String {
        match self.stored {
            Stored::Bytes if name != NONE => format!(" name {name}"),
            _ => String::new(),
        }
    }

    fn kernel(&mut self, row: usize, kernel: &KernelDescriptor) -> String {
        let line = self.declared(Kind::Kernel, row);
        let name = self.name_offset(kernel.name);
        let pool = POOLS.iter().find(|(_, pool)| *pool as u8 == kernel.pool);
        match pool {
            Some((pool, _)) if kernel.reserved == 0 && kernel.reserved2 == 0 => {
                format!("{line} {pool}{name}")
            }
            _ => format!("{line} raw {} {} {}{name}", kernel.pool, kernel.reserved, kernel.reserved2),
        }
    }

    fn tensor(&mut self, row: usize, tensor: &TensorDescriptor) -> String {
        let line = self.declared(Kind::Tensor, row);
        let name = self.name_offset(tensor.name);
        match DType::from_code(tensor.dtype) {
            Some(dtype) if usize::from(tensor.rank) <= MAX_RANK => {
                let slot =
                    if tensor.slot == 0 { String::new() } else { format!(" slot {}", tensor.slot - 1) };
                format!("{line} {} {}{slot}{name}", dtype.name(), tensor.rank)
            }
            _ => format!("{line} raw {} {} {}{name}", tensor.dtype, tensor.rank, tensor.slot),
        }
    }
}
