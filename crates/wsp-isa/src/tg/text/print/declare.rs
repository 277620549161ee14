//! Declarations, and names whose number the text must say.

use super::Printer;
use super::operand::Show;
use crate::tg::text::parse::SPACES;
use wsp_core::tg::{GraphNo, ScalarType, Symbol};
use wsp_ir::tg::{ArgDecl, ArgSource, ExternTensor, Namespace, RefValue};
use wsp_syntax::{Escapes, quoted};

impl Printer<'_> {
    pub(super) fn declarations(&mut self) {
        let unit = self.unit;
        for file in &unit.uses {
            self.text.push_str("use ");
            self.text.push_str(&quoted(unit.str(file.path), Escapes::Hex));
            self.text.push('\n');
        }
        for (space, number, name, is_bound) in self.naming.unit_names() {
            self.name_decl(space, number, name, is_bound, None);
        }
        unit.externs.iter().for_each(|decl| self.extern_decl(decl));
        for (event, _) in &unit.extern_events {
            self.text.push_str("extern event ");
            event.show(self);
            self.text.push('\n');
        }
        for (at, arg) in unit.args.iter().enumerate() {
            self.arg_decl(at as u32, arg);
        }
        self.references();
    }

    fn extern_decl(&mut self, decl: &ExternTensor) {
        self.text.push_str("extern ");
        decl.tensor.show(self);
        if decl.dtype.is_some() || !decl.shape.is_empty() {
            self.text.push_str(": ");
        }
        if let Some(dtype) = decl.dtype {
            self.text.push_str(dtype.name());
        }
        if !decl.shape.is_empty() {
            let extents: Vec<String> = decl.shape.iter().map(u64::to_string).collect();
            self.text.push('[');
            self.text.push_str(&extents.join(", "));
            self.text.push(']');
        }
        self.text.push('\n');
    }

    fn arg_decl(&mut self, at: u32, arg: &ArgDecl) {
        self.text.push_str(match arg.source {
            ArgSource::Launch => "arg ",
            ArgSource::Host => "host ",
        });
        match self.naming.arg(at) {
            Some(name) => self.text.push_str(self.unit.str(name)),
            None => self.text.push_str(&quoted(self.unit.str(arg.name), Escapes::Hex)),
        }
        self.text.push_str(": ");
        self.text.push_str(ScalarType::ALL[arg.ty as usize].1);
        if let Some(default) = arg.default {
            self.text.push_str(" = ");
            self.number(default);
        }
        self.text.push('\n');
    }

    fn references(&mut self) {
        let unit = self.unit;
        for reference in &unit.references {
            self.text.push_str("reference ");
            self.word(reference.name);
            self.text.push('(');
            for (at, (parameter, value)) in reference.bindings.iter().enumerate() {
                if at > 0 {
                    self.text.push_str(", ");
                }
                self.word(*parameter);
                self.text.push_str(" = ");
                match *value {
                    RefValue::Const(value) => self.number(value),
                    RefValue::Arg(arg) => self.arg(arg),
                    RefValue::Tensor(tensor) => {
                        // A scalar of the same name would be taken for it.
                        let name = self.naming.name(Namespace::Tensor, GraphNo(0), tensor.0);
                        match name.filter(|name| !self.naming.is_arg(*name)) {
                            Some(name) => self.text.push_str(unit.str(name)),
                            None => {
                                self.text.push_str("tensor.");
                                self.number(tensor.0);
                            }
                        }
                    }
                }
            }
            self.text.push_str(")\n");
        }
    }

    /// Names of the graph that begins at an instruction.
    pub(super) fn names_of_block(&mut self, at: usize) {
        for (space, number, name, is_bound) in self.naming.block_names(at) {
            self.text.push_str("  ");
            self.name_decl(space, number, name, is_bound, None);
        }
    }

    /// Names of numbers of graphs that no instruction has.
    pub(super) fn names_of_nothing(&mut self) {
        for (space, graph, number, name) in self.naming.left_over() {
            self.name_decl(space, number, name, false, Some(graph));
        }
    }

    fn name_decl(
        &mut self,
        space: Namespace,
        number: u32,
        name: Symbol,
        is_bound: bool,
        graph: Option<GraphNo>,
    ) {
        let word = SPACES.iter().find(|(other, _)| *other == space).map_or("", |(_, word)| word);
        let text = self.unit.str(name);
        let name = if is_bound { text.to_owned() } else { quoted(text, Escapes::Hex) };
        self.text.push_str(&format!("name {word} {name} = {number}"));
        if let Some(graph) = graph {
            self.text.push_str(&format!(" in {}", graph.0));
        }
        self.text.push('\n');
    }
}
