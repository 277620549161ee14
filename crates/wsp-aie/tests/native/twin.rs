//! Bodies of cores and runtime sequences as functions of a module that MLIR's tools know: ends of fifos, transfers and words become functions that a program in C++ has.

use std::collections::{BTreeMap, BTreeSet};
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
    /// Transfers of sequences: the sequence, the argument and the fifo.
    pub(crate) moves: BTreeSet<(usize, usize, String)>,
}

/// A module that is written.
struct Writer<'d> {
    design: &'d Design,
    module: Module,
    declared: Vec<Op>,
    names: BTreeSet<String>,
}

/// The name of the function that stands for an operation of an end.
pub(crate) fn name(prefix: &str, core: usize, word: &str, end: &EndOf) -> String {
    format!("{prefix}_{core}_{word}_{}_{}", if end.1 { "produce" } else { "consume" }, end.0)
}

/// A function that nothing calls but the program in C++.
fn function(name: String, (args, types): (Vec<Value>, Vec<Type>), mut ops: Vec<Op>) -> Op {
    ops.push(Op::new("func.return"));
    Op::new("func.func")
        .attr("sym_name", Attr::Str(name))
        .attr("function_type", Attr::Type(Type::Function(types, Vec::new())))
        .region(args, ops)
}

/// The cores and the sequences of a design. Calls of kernels are left out: what they do is done outside.
pub(crate) fn twin(design: &Design, prefix: &str) -> Twin {
    let module = design.module.clone();
    let mut to = Writer { design, module, declared: Vec::new(), names: BTreeSet::new() };
    let (mut functions, mut all_ends, mut all_buffers) = (Vec::new(), Vec::new(), Vec::new());
    for (at, core) in design.cores.iter().enumerate() {
        let [block] = core.body.blocks.as_slice() else { panic!("a body of one block") };
        let (mut ends, mut held) = (BTreeMap::new(), BTreeMap::new());
        let ops = to.core(&block.ops, (prefix, at), &mut ends, &mut held);
        let mut used = BTreeSet::new();
        for op in &block.ops {
            op.walk(&mut |op| used.extend(op.operands.iter().copied()));
        }
        let buffers: Vec<usize> =
            (0..design.buffers.len()).filter(|i| used.contains(&design.buffers[*i].value)).collect();
        let args: Vec<Value> = buffers.iter().map(|i| design.buffers[*i].value).collect();
        let types = args.iter().map(|arg| design.module.ty(*arg).clone()).collect();
        functions.push(function(format!("{prefix}_{at}"), (args, types), ops));
        all_ends.push(ends);
        all_buffers.push(buffers);
    }
    let mut moves = BTreeSet::new();
    for (at, sequence) in design.sequences.iter().enumerate() {
        let ops = to.sequence(&sequence.body, at, &mut moves);
        let is_number = |arg: &Value| design.module.ty(*arg).shaped().is_none();
        let numbers: Vec<Value> = sequence.args.iter().copied().filter(is_number).collect();
        let types = numbers.iter().map(|arg| design.module.ty(*arg).clone()).collect();
        functions.push(function(format!("sequence_{at}"), (numbers, types), ops));
    }
    to.module.ops = std::mem::take(&mut to.declared);
    to.module.ops.extend(functions);
    let text = print(&to.module, Form::Mixed, Version::V2026_03);
    Twin { text, ends: all_ends, buffers: all_buffers, moves }
}

/// An operation with what its regions become.
fn inside(op: &Op, mut block: impl FnMut(&[Op]) -> Vec<Op>) -> Op {
    let mut region = |region: &Region| Region {
        blocks: region.blocks.iter().map(|of| Block { args: of.args.clone(), ops: block(&of.ops) }).collect(),
    };
    Op { regions: op.regions.iter().map(&mut region).collect(), ..op.clone() }
}

impl Writer<'_> {
    /// A call of a function that the program has.
    fn call(&mut self, name: &str, args: Vec<Value>, results: &[Value]) -> Op {
        let types = |values: &[Value]| -> Vec<Type> {
            values.iter().map(|value| self.module.ty(*value).clone()).collect()
        };
        let ty = Type::Function(types(&args), types(results));
        if self.names.insert(name.to_owned()) {
            self.declared.push(
                Op::new("func.func")
                    .attr("sym_name", Attr::Str(name.to_owned()))
                    .attr("function_type", Attr::Type(ty))
                    .attr("sym_visibility", Attr::Str("private".to_owned())),
            );
        }
        let mut call = Op::new("func.call").with(args).attr("callee", Attr::Symbol(name.to_owned()));
        call.results = results.to_vec();
        call
    }

    fn constant(&mut self, number: i64, bits: u32, to: &mut Vec<Op>) -> Value {
        let value = self.module.value(format!("n{}", self.module.values.len()), Type::Int(bits));
        to.push(Op::new("arith.constant").attr("value", Attr::Int(number, Type::Int(bits))).result(value));
        value
    }

    fn core(
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
                    let count = self.constant(count, 32, &mut made);
                    made.push(self.call(&name(prefix, core, word, &end), vec![count], &[]));
                }
                "aie.objectfifo.subview.access" => {
                    let end = held[&op.operands[0]].clone();
                    let index = op.find_int("index").expect("a number");
                    ends.entry(end.clone()).or_default().push(index);
                    let index = self.constant(index, 32, &mut made);
                    made.push(self.call(&name(prefix, core, "object", &end), vec![index], &op.results));
                }
                other => {
                    assert!(!other.starts_with("aie."), "`{other}` has no function here");
                    made.push(inside(op, |ops| self.core(ops, (prefix, core), ends, held)));
                }
            }
        }
        made
    }

    fn sequence(&mut self, ops: &[Op], at: usize, moves: &mut BTreeSet<(usize, usize, String)>) -> Vec<Op> {
        let mut made = Vec::new();
        for op in ops {
            match op.name.as_str() {
                "aiex.npu.rtp_write" => {
                    let buffer = op.find_name("buffer").expect("a buffer").to_owned();
                    let index = self.constant(op.find_int("index").expect("a word"), 32, &mut made);
                    let value = op.operands.first().copied();
                    let value = value.unwrap_or_else(|| {
                        self.constant(op.find_int("value").expect("a value"), 32, &mut made)
                    });
                    made.push(self.call(&format!("word_{buffer}"), vec![index, value], &[]));
                }
                "aiex.npu.dma_wait" => {
                    let fifo = op.find_name("symbol").expect("a fifo");
                    made.push(self.call(&format!("wait_{fifo}"), Vec::new(), &[]));
                }
                "aiex.npu.dma_memcpy_nd" => {
                    let fifo = op.find_name("metadata").expect("a fifo").to_owned();
                    let argument = self.design.sequences[at].argument(op.operands[0]).expect("an array");
                    let numbers = self.numbers(op, &mut made);
                    made.push(self.call(&format!("move_{at}_{argument}_{fifo}"), numbers, &[]));
                    moves.insert((at, argument, fifo));
                }
                other => {
                    assert!(!other.starts_with("aie"), "`{other}` has no function here");
                    made.push(inside(op, |ops| self.sequence(ops, at, moves)));
                }
            }
        }
        made
    }

    /// Offsets, sizes and strides of a transfer, four of each, and whether it tells its end.
    fn numbers(&mut self, op: &Op, to: &mut Vec<Op>) -> Vec<Value> {
        let mut given = op.operands.iter().skip(1);
        let mut numbers = Vec::new();
        for list in ["static_offsets", "static_sizes", "static_strides"] {
            let Some(Attr::Dense(_, entries)) = op.find(list) else { panic!("{list}") };
            for entry in entries {
                numbers.push(match *entry {
                    i64::MIN => *given.next().expect("an operand"),
                    number => self.constant(number, 64, to),
                });
            }
        }
        numbers.push(self.constant(i64::from(op.is("issue_token")), 64, to));
        numbers
    }
}
