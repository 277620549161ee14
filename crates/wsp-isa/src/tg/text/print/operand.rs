//! How operands of each type are written, and which numbers they name.

use super::Printer;
use crate::tg::text::words::is_identifier;
use wsp_core::tg::*;
use wsp_ir::tg::{Namespace, TgModule};
use wsp_syntax::{Escapes, quoted};

/// A type of operands that can be written.
pub(super) trait Show: OperandType {
    /// Writes one.
    fn show(self, printer: &mut Printer<'_>);

    /// Tells what numbers its text names, in order.
    fn see(self, _: &TgModule, _: &mut dyn FnMut(Namespace, u32)) {}
}

macro_rules! numbers {
    ($($ty:ident: $space:ident),*) => {$(
        impl Show for $ty {
            fn show(self, printer: &mut Printer<'_>) {
                printer.name(Namespace::$space, self.0);
            }

            fn see(self, _: &TgModule, see: &mut dyn FnMut(Namespace, u32)) {
                see(Namespace::$space, self.0);
            }
        }
    )*};
}

numbers! {
    GraphNo: Graph, KernelNo: Kernel, TensorNo: Tensor, EventNo: Event, BarrierNo: Barrier, NotifyNo: Notify,
    DeviceNo: Device, PartitionNo: Partition, IterNo: Iter, StreamNo: Stream, CheckpointNo: Checkpoint
}

impl Show for NodeNo {
    fn show(self, printer: &mut Printer<'_>) {
        match (self.kernel(), self.copy()) {
            (Some(kernel), _) => kernel.show(printer),
            (_, copy) => {
                printer.text.push_str("copy.");
                printer.number(copy.unwrap_or(0));
            }
        }
    }

    fn see(self, unit: &TgModule, see: &mut dyn FnMut(Namespace, u32)) {
        if let Some(kernel) = self.kernel() {
            kernel.see(unit, see);
        }
    }
}

impl Show for Symbol {
    fn show(self, printer: &mut Printer<'_>) {
        printer.word(self);
    }
}

impl Show for KernelSet {
    fn show(self, printer: &mut Printer<'_>) {
        let unit = printer.unit;
        printer.set(unit.set(self));
    }

    fn see(self, unit: &TgModule, see: &mut dyn FnMut(Namespace, u32)) {
        unit.set(self).iter().for_each(|kernel| kernel.see(unit, see));
    }
}

impl Show for TensorRef {
    fn show(self, printer: &mut Printer<'_>) {
        match self {
            TensorRef::Tensor(tensor) => tensor.show(printer),
            TensorRef::Table { index, .. } => {
                let unit = printer.unit;
                printer.set(unit.tensors_of(&self));
                printer.text.push('[');
                printer.index(index);
                printer.text.push(']');
            }
        }
    }

    fn see(self, unit: &TgModule, see: &mut dyn FnMut(Namespace, u32)) {
        unit.tensors_of(&self).iter().for_each(|tensor| tensor.see(unit, see));
        if let TensorRef::Table { index, .. } = self {
            Scalar::Expr(index).see(unit, see);
        }
    }
}

impl Show for Scalar {
    fn show(self, printer: &mut Printer<'_>) {
        match self {
            Scalar::Const(value) => printer.number(value),
            Scalar::Expr(expr) => printer.expression(expr),
        }
    }

    fn see(self, unit: &TgModule, see: &mut dyn FnMut(Namespace, u32)) {
        for op in unit.scalar(self) {
            if let ExprOp::Load(tensor, _) = op {
                see(Namespace::Tensor, tensor.0);
            }
        }
    }
}

macro_rules! plain {
    ($($ty:ident),*) => {$(
        impl Show for $ty {
            fn show(self, printer: &mut Printer<'_>) {
                printer.number(self);
            }
        }
    )*};
}

plain! { u32, u64, i8 }

macro_rules! choices {
    ($($ty:ident),*) => {$(
        impl Show for $ty {
            fn show(self, printer: &mut Printer<'_>) {
                printer.text.push_str(self.name());
            }
        }
    )*};
}

choices! { CoreType, DependencyType, MemLocation, FenceScope, AffinityType, LoopMode, Direction }

impl Printer<'_> {
    /// The name of a number if it can be told by it, else the number.
    pub(super) fn name(&mut self, space: Namespace, number: u32) {
        let graph = if space.is_per_graph() { self.graph } else { Some(GraphNo(0)) };
        match graph.and_then(|graph| self.naming.name(space, graph, number)) {
            Some(name) => self.text.push_str(self.unit.str(name)),
            None if space == Namespace::Stream && number == 0 => self.text.push_str("default"),
            None => self.number(number),
        }
    }

    /// A string, in quotes if it is no identifier.
    pub(super) fn word(&mut self, symbol: Symbol) {
        let text = self.unit.str(symbol);
        if is_identifier(text) {
            self.text.push_str(text);
        } else {
            self.text.push_str(&quoted(text, Escapes::Hex));
        }
    }

    fn set<T: Show>(&mut self, members: &[T]) {
        self.text.push('{');
        for (at, member) in members.iter().enumerate() {
            if at > 0 {
                self.text.push_str(", ");
            }
            member.show(self);
        }
        self.text.push('}');
    }
}
