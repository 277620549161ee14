//! Writing modules.

mod expr;
mod item;
mod names;
mod pipeline;
mod schedule;
mod stmt;

use self::names::Names;
use crate::workload::{IntExpr, WorkloadModule};
use wsp_core::TensorId;
use wsp_ordered::OrderedMap;

/// A module as `.wsp` text, which [`parse`](super::parse) reads as the same module, up to source positions, when it keeps
/// the rules of [`verify`](crate::workload::verify).
///
/// A loop variable or formal argument that hides a name which its scope uses is printed as `i_1`. Ids that do not exist
/// print as names that do not either.
pub fn print(module: &WorkloadModule) -> String {
    let mut printer = Printer::new(module);
    printer.module();
    printer.out
}

/// An expression over parameters and tables of a module, as `.wsp` text.
pub fn print_expr(module: &WorkloadModule, expr: &IntExpr) -> String {
    let mut printer = Printer::new(module);
    printer.expr(expr);
    printer.out
}

/// Writes the items of one module.
pub(in crate::workload) struct Printer<'m> {
    module: &'m WorkloadModule,
    out: String,
    /// Blocks around the current line.
    level: usize,
    /// Names of the variables of the current workload or kernel.
    names: Names,
    /// Labels of the current workload.
    labels: Vec<String>,
    /// Channels of the current workload.
    channels: Vec<String>,
    /// The slot that each tensor holds, if any.
    slots: OrderedMap<TensorId, usize>,
}

/// The name of an entry, or one that stands for no entry.
fn name_of<T>(table: &[T], index: usize, name: impl Fn(&T) -> &str) -> String {
    table.get(index).map_or_else(|| format!("?{index}"), |entry| name(entry).to_owned())
}

impl Printer<'_> {
    fn new(module: &WorkloadModule) -> Printer<'_> {
        let (names, labels, channels) = (Names::default(), Vec::new(), Vec::new());
        let slots = module.slots.iter().enumerate().map(|(at, slot)| (slot.tensor, at)).collect();
        Printer { module, out: String::new(), level: 0, names, labels, channels, slots }
    }

    fn module(&mut self) {
        let module = self.module;
        self.group(&module.uses, |p, file| p.use_file(&file.path));
        self.group(&module.params, Self::param);
        self.group(&module.tables, Self::table);
        self.group(&module.axes, Self::axis);
        let tensors: Vec<TensorId> = (0..module.tensors.len() as u32).map(TensorId).collect();
        self.group(&tensors, |p, tensor| p.tensor(*tensor));
        self.group(&module.kernels, Self::kernel);
        for workload in &module.workloads {
            self.group(std::slice::from_ref(workload), Self::workload);
        }
        for schedule in &module.schedules {
            self.group(std::slice::from_ref(schedule), Self::schedule);
        }
    }

    /// Writes items with an empty line before them, unless they are none or the first of the file.
    fn group<T>(&mut self, items: &[T], item: impl Fn(&mut Self, &T)) {
        if !self.out.is_empty() && !items.is_empty() {
            self.out.push('\n');
        }
        for entry in items {
            item(self, entry);
        }
    }

    pub(in crate::workload) fn text(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn indent(&mut self) {
        for _ in 0..self.level {
            self.out.push_str("    ");
        }
    }

    /// Writes parts with `, ` between them.
    pub(in crate::workload) fn separated<T>(&mut self, parts: &[T], part: impl Fn(&mut Self, &T)) {
        for (i, entry) in parts.iter().enumerate() {
            if i > 0 {
                self.text(", ");
            }
            part(self, entry);
        }
    }

    pub(in crate::workload) fn expr(&mut self, expr: &IntExpr) {
        self.expr_at(expr, 0);
    }
}
