//! Units to text.

/// A default of the table, if there is one.
macro_rules! default_of {
    () => {
        None
    };
    ($default:expr) => {
        Some($default)
    };
}

mod declare;
mod expr;
mod naming;
mod operand;

use self::naming::Naming;
use self::operand::Show;
use super::type_of_load;
use std::collections::HashSet;
use wsp_core::for_each_tg_op;
use wsp_core::tg::*;
use wsp_ir::tg::{ExternTensor, TgModule};

/// The text of a unit: declarations, then one instruction per line, indented by graph and block.
///
/// Every unit has a text; [`parse`](super::parse) reads the same unit from it if the unit keeps the rules of units.
pub fn print(unit: &TgModule) -> String {
    let mut printer = Printer {
        unit,
        naming: Naming::new(unit),
        typed: typed(unit),
        text: String::new(),
        graph: None,
        operands: 0,
    };
    printer.text.reserve(unit.instrs.len() * 40);
    printer.declarations();
    if !printer.text.is_empty() && !unit.instrs.is_empty() {
        printer.text.push('\n');
    }
    let mut depth = 0usize;
    for (at, instr) in unit.instrs.iter().enumerate() {
        let (before, behind) = steps(instr.op());
        depth = depth.saturating_sub(before);
        for _ in 0..depth.min(MAX_INDENT) {
            printer.text.push_str("  ");
        }
        if let Instr::TgBegin { graph_id } = instr {
            printer.graph = Some(*graph_id);
        }
        printer.instr(instr);
        printer.text.push('\n');
        depth += behind;
        match instr {
            Instr::TgBegin { .. } => printer.names_of_block(at),
            Instr::TgEnd { .. } => printer.graph = None,
            Instr::CfLoop { iterator, .. } => printer.naming.enter_loop(*iterator),
            _ => {}
        }
    }
    printer.names_of_nothing();
    printer.text
}

/// Deepest indentation: what is nested more deeply breaks a rule anyway.
const MAX_INDENT: usize = MAX_CONTROL_DEPTH as usize + 8;

/// By how many steps indentation falls before an instruction and rises behind it.
fn steps(op: Op) -> (usize, usize) {
    match op {
        Op::TgBegin | Op::CfIf | Op::CfLoop | Op::CfWhile => (0, 1),
        Op::CfElse => (1, 1),
        Op::TgEnd | Op::CfEndif | Op::CfEndloop | Op::CfEndwhile => (1, 0),
        _ => (0, 0),
    }
}

/// A unit while it becomes a text.
struct Printer<'u> {
    unit: &'u TgModule,
    naming: Naming,
    /// Tensors that a load without a type does not read as `i32`.
    typed: HashSet<TensorNo>,
    text: String,
    /// The graph around the place.
    graph: Option<GraphNo>,
    /// Operands of the instruction that are written, and whether some before were left out.
    operands: u32,
}

macro_rules! printer {
    ($($(#[doc = $doc:literal])* $code:literal $mnemonic:ident $name:ident $builder:ident $section:literal $scope:ident
        [$($support:ident)*] { $($operand:ident: $ty:ty $(= $default:expr)?),* };)*) => {
        impl Printer<'_> {
            /// Writes an instruction.
            fn instr(&mut self, instr: &Instr) {
                self.operands = 0;
                match instr {
                    $(Instr::$name { $($operand),* } => {
                        self.text.push_str(stringify!($mnemonic));
                        $(self.operand(stringify!($operand), *$operand, default_of!($($default)?));)*
                    })*
                }
                if self.operands & WRITTEN != 0 {
                    self.text.push(')');
                }
            }
        }

        /// The default of an operand as text; nothing if it must be given.
        pub(in crate::tg) fn default_text(op: Op, operand: &str) -> Option<String> {
            let unit = TgModule::default();
            match op {
                $(Op::$name => {
                    $(if operand == stringify!($operand) {
                        let default: Option<$ty> = default_of!($($default)?);
                        return default.map(|default| shown(&unit, default));
                    })*
                    None
                })*
            }
        }
    };
}

for_each_tg_op!(printer);

/// Bits of [`Printer::operands`].
const WRITTEN: u32 = 1;
const LEFT_OUT: u32 = 2;

fn shown<T: Show>(unit: &TgModule, value: T) -> String {
    let mut printer = Printer {
        unit,
        naming: Naming::default(),
        typed: HashSet::new(),
        text: String::new(),
        graph: None,
        operands: 0,
    };
    value.show(&mut printer);
    printer.text
}

/// Tensors that a load without a type does not read as `i32`.
fn typed(unit: &TgModule) -> HashSet<TensorNo> {
    let of =
        |of: &ExternTensor| type_of_load(of.dtype?).filter(|ty| *ty != ScalarType::I32).map(|_| of.tensor);
    unit.externs.iter().filter_map(of).collect()
}

impl Printer<'_> {
    /// Writes an operand if it is not the default; by name if one before it was left out.
    fn operand<T: Show + PartialEq>(&mut self, name: &str, value: T, default: Option<T>) {
        if default == Some(value) {
            self.operands |= LEFT_OUT;
            return;
        }
        self.text.push_str(if self.operands & WRITTEN == 0 { "(" } else { ", " });
        if self.operands & LEFT_OUT != 0 {
            self.text.push_str(name);
            self.text.push_str(" = ");
        }
        self.operands |= WRITTEN;
        value.show(self);
    }

    fn number(&mut self, number: impl std::fmt::Display) {
        use std::fmt::Write as _;
        let _ = write!(self.text, "{number}");
    }
}
