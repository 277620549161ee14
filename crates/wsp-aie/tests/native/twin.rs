//! Bodies of cores as functions of a module that MLIR's tools know: ends of fifos become functions that a program in C++ has.

use std::collections::BTreeMap;
use wsp_aie::design::Design;
use wsp_aie::mlir::{Attr, Block, Form, Module, Op, Region, Type, Value, Version, print};

/// One end of a fifo at a core.
pub(crate) type EndOf = (String, bool);

/// A module and what its functions take.
pub(crate) struct Twin {
    pub(crate) text: String,
    /// For each core its ends, with the objects that it uses of each.
    pub(crate) ends: Vec<BTreeMap<EndOf, Vec<i64>>>,
    /// For each core the buffers that its function takes, by their places in the design.
    pub(crate) buffers: Vec<Vec<usize>>,
}

struct Cores<'d> {
    design: &'d Design,
    module: Module,
    declared: Vec<Op>,
    names: Vec<String>,
}

/// The name of the function that stands for an operation of an end.
pub(crate) fn name(prefix: &str, core: usize, word: &str, end: &EndOf) -> String {
    format!("{prefix}_{core}_{word}_{}_{}", if end.1 { "produce" } else { "consume" }, end.0)
}

/// The cores of a design. Calls of kernels are left out: what they do is done outside.
pub(crate) fn twin(design: &Design, prefix: &str) -> Twin {
    let module = design.module.clone();
    let mut cores = Cores { design, module, declared: Vec::new(), names: Vec::new() };
    let (mut functions, mut all_ends, mut all_buffers) = (Vec::new(), Vec::new(), Vec::new());
    for (at, core) in design.cores.iter().enumerate() {
        let [block] = core.body.blocks.as_slice() else { panic!("a body of one block") };
        let (mut ends, mut held) = (BTreeMap::new(), BTreeMap::new());
        let mut ops = cores.block(&block.ops, (prefix, at), &mut ends, &mut held);
        ops.push(Op::new("func.return"));
        let mut used = Vec::new();
        for op in &block.ops {
            op.walk(&mut |op| used.extend(op.operands.iter().copied()));
        }
        let buffers: Vec<usize> =
            (0..design.buffers.len()).filter(|i| used.contains(&design.buffers[*i].value)).collect();
        let args: Vec<Value> = buffers.iter().map(|i| design.buffers[*i].value).collect();
        let types = args.iter().map(|arg| design.module.ty(*arg).clone()).collect();
        functions.push(
            Op::new("func.func")
                .attr("sym_name", Attr::Str(format!("{prefix}_{at}")))
                .attr("function_type", Attr::Type(Type::Function(types, Vec::new())))
                .region(args, ops),
        );
        all_ends.push(ends);
        all_buffers.push(buffers);
    }
    cores.module.ops = std::mem::take(&mut cores.declared);
    cores.module.ops.extend(functions);
    let text = print(&cores.module, Form::Mixed, Version::V2026_03);
    Twin { text, ends: all_ends, buffers: all_buffers }
}

impl Cores<'_> {
    fn declare(&mut self, name: &str, outputs: Vec<Type>) {
        if self.names.iter().any(|have| have == name) {
            return;
        }
        self.names.push(name.to_owned());
        let ty = Type::Function(vec![Type::Int(32)], outputs);
        self.declared.push(
            Op::new("func.func")
                .attr("sym_name", Attr::Str(name.to_owned()))
                .attr("function_type", Attr::Type(ty))
                .attr("sym_visibility", Attr::Str("private".to_owned())),
        );
    }

    fn call(&mut self, name: &str, number: i64, results: &[Value]) -> [Op; 2] {
        let outputs = results.iter().map(|value| self.module.ty(*value).clone()).collect();
        self.declare(name, outputs);
        let value = self.module.value(format!("n{}", self.module.values.len()), Type::Int(32));
        let constant =
            Op::new("arith.constant").attr("value", Attr::Int(number, Type::Int(32))).result(value);
        let mut call = Op::new("func.call").with([value]).attr("callee", Attr::Symbol(name.to_owned()));
        call.results = results.to_vec();
        [constant, call]
    }

    fn block(
        &mut self,
        ops: &[Op],
        (prefix, core): (&str, usize),
        ends: &mut BTreeMap<EndOf, Vec<i64>>,
        held: &mut BTreeMap<Value, EndOf>,
    ) -> Vec<Op> {
        let mut made = Vec::new();
        for op in ops {
            match op.name.as_str() {
                "aie.end" | "func.call" => {}
                "aie.objectfifo.acquire" | "aie.objectfifo.release" => {
                    let fifo = op.find_name("objFifo_name").expect("a fifo").to_owned();
                    let end = (fifo, op.find_int("port") == Some(0));
                    ends.entry(end.clone()).or_default();
                    let word = if op.results.is_empty() { "release" } else { "acquire" };
                    op.results.iter().for_each(|value| {
                        held.insert(*value, end.clone());
                    });
                    let count = op.find_int("size").expect("a number of objects");
                    made.extend(self.call(&name(prefix, core, word, &end), count, &[]));
                }
                "aie.objectfifo.subview.access" => {
                    let end = held[&op.operands[0]].clone();
                    let index = op.find_int("index").expect("a number");
                    ends.entry(end.clone()).or_default().push(index);
                    made.extend(self.call(&name(prefix, core, "object", &end), index, &op.results));
                }
                other => {
                    assert!(!other.starts_with("aie."), "`{other}` has no function here");
                    let mut region =
                        |region: &Region, cores: &mut Self, held: &mut BTreeMap<Value, EndOf>| Region {
                            blocks: region
                                .blocks
                                .iter()
                                .map(|block| Block {
                                    args: block.args.clone(),
                                    ops: cores.block(&block.ops, (prefix, core), ends, held),
                                })
                                .collect(),
                        };
                    let regions = op.regions.iter().map(|inner| region(inner, self, held)).collect();
                    made.push(Op { regions, ..op.clone() });
                }
            }
        }
        let _ = self.design;
        made
    }
}
