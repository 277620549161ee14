//! When two units are the same: they declare, name and instruct the same, wherever their strings, expressions and sets are stored.

use super::module::{RefValue, TgModule};
use super::names::Namespace;
use wsp_core::for_each_tg_op;
use wsp_core::tg::*;
use wsp_ordered::Arrange;

/// Whether values of two units mean the same.
trait Same: Copy + PartialEq {
    fn same(self, unit: &TgModule, other: Self, other_unit: &TgModule) -> bool;
}

impl Same for Symbol {
    fn same(self, unit: &TgModule, other: Symbol, other_unit: &TgModule) -> bool {
        unit.str(self) == other_unit.str(other)
    }
}

impl Same for KernelSet {
    fn same(self, unit: &TgModule, other: KernelSet, other_unit: &TgModule) -> bool {
        unit.set(self) == other_unit.set(other)
    }
}

impl Same for Scalar {
    fn same(self, unit: &TgModule, other: Scalar, other_unit: &TgModule) -> bool {
        match (self, other) {
            (Scalar::Expr(a), Scalar::Expr(b)) => unit.expr(a) == other_unit.expr(b),
            (a, b) => a == b,
        }
    }
}

impl Same for TensorRef {
    fn same(self, unit: &TgModule, other: TensorRef, other_unit: &TgModule) -> bool {
        match (self, other) {
            (TensorRef::Table { index: a, .. }, TensorRef::Table { index: b, .. }) => {
                unit.tensors_of(&self) == other_unit.tensors_of(&other) && unit.expr(a) == other_unit.expr(b)
            }
            (a, b) => a == b,
        }
    }
}

macro_rules! plain {
    ($($ty:ident),*) => {$(
        impl Same for $ty {
            fn same(self, _: &TgModule, other: $ty, _: &TgModule) -> bool {
                self == other
            }
        }
    )*};
}

plain! {
    GraphNo, KernelNo, NodeNo, TensorNo, EventNo, BarrierNo, NotifyNo, DeviceNo, PartitionNo, IterNo, StreamNo,
    CheckpointNo, CoreType, DependencyType, MemLocation, FenceScope, AffinityType, LoopMode, Direction, u32, u64,
    i8
}

macro_rules! same {
    ($($(#[doc = $doc:literal])* $code:literal $mnemonic:ident $name:ident $builder:ident $section:literal $scope:ident
        [$($support:ident)*] { $($operand:ident: $ty:ty $(= $default:expr)?),* };)*) => {
        #[allow(unused_variables, reason = "some instructions have no operands")]
        fn same_instr(unit: &TgModule, instr: &Instr, other_unit: &TgModule, other: &Instr) -> bool {
            match instr {
                $(Instr::$name { $($operand),* } => {
                    matches!(other, Instr::$name { .. })
                        $(&& matches!(other, Instr::$name { $operand: theirs, .. }
                            if $operand.same(unit, *theirs, other_unit)))*
                })*
            }
        }
    };
}

for_each_tg_op!(same);

fn same_names(unit: &TgModule, other: &TgModule) -> bool {
    fn named(unit: &TgModule) -> Vec<(Namespace, GraphNo, u32, &str)> {
        let names = unit.names.iter();
        let mut named: Vec<_> =
            names.map(|(space, graph, number, name)| (space, graph, number, unit.str(name))).collect();
        named.arrange();
        named
    }
    named(unit) == named(other)
}

fn same_declarations(unit: &TgModule, other: &TgModule) -> bool {
    let externs = |unit: &TgModule| {
        unit.externs.iter().map(|e| (e.tensor, e.dtype, e.shape.clone())).collect::<Vec<_>>()
    };
    unit.uses.iter().map(|u| unit.str(u.path)).eq(other.uses.iter().map(|u| other.str(u.path)))
        && externs(unit) == externs(other)
        && unit.extern_events.iter().map(|e| e.0).eq(other.extern_events.iter().map(|e| e.0))
        && unit.args.len() == other.args.len()
        && unit.args.iter().zip(&other.args).all(|(a, b)| {
            unit.str(a.name) == other.str(b.name)
                && (a.source, a.ty, a.default) == (b.source, b.ty, b.default)
        })
}

fn same_references(unit: &TgModule, other: &TgModule) -> bool {
    unit.references.len() == other.references.len()
        && unit.references.iter().zip(&other.references).all(|(a, b)| {
            let same = |(a, b): (&(Symbol, RefValue), &(Symbol, RefValue))| {
                unit.str(a.0) == other.str(b.0) && a.1 == b.1
            };
            unit.str(a.name) == other.str(b.name)
                && a.bindings.len() == b.bindings.len()
                && a.bindings.iter().zip(&b.bindings).all(same)
        })
}

/// Leaves places in the source out of account, and how strings, expressions and sets are stored.
impl PartialEq for TgModule {
    fn eq(&self, other: &TgModule) -> bool {
        self.instrs.len() == other.instrs.len()
            && self.instrs.iter().zip(&other.instrs).all(|(a, b)| same_instr(self, a, other, b))
            && same_declarations(self, other)
            && same_references(self, other)
            && same_names(self, other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_the_same_wherever_they_store_what_they_refer_to() {
        let unit = |strings: &[&str], first: bool| {
            let mut unit = TgModule::default();
            strings.iter().for_each(|text| {
                unit.strings.intern(text);
            });
            if first {
                unit.exprs.extend([ExprOp::Device, ExprOp::End]);
            }
            let condition = Scalar::Expr(ExprId(unit.exprs.len() as u32));
            unit.exprs.extend([ExprOp::Iteration, ExprOp::End]);
            let name = unit.strings.intern("G");
            unit.names.set(Namespace::Graph, GraphNo(0), 0, name);
            unit.instrs.push(Instr::CfIf { condition });
            unit
        };
        assert_eq!(unit(&["a", "b"], true), unit(&[], false));
        let mut other = unit(&[], false);
        other.exprs[0] = ExprOp::Device;
        assert_ne!(other, unit(&[], false));
        let mut other = unit(&[], false);
        other.instrs[0] = Instr::CfBreak { condition: Scalar::Const(1) };
        assert_ne!(other, unit(&[], false));
    }
}
