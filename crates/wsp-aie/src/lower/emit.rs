//! Programs of cores as operations of a design.

use super::flow::{Flows, Local};
use super::lines::{Code, Count};
use super::program::{Bodies, Place, Program, Step};
use super::trace::Trace;
use crate::design::{Buffer, Core, Design};
use crate::device::Tile;
use crate::mlir::{Attr, Op, Region, Type, Value};
use wsp_ordered::OrderedMap;

/// Rounds of a loop without an end.
const EVER: i64 = i64::MAX;

/// The buffer of the words that the host writes for a core.
pub(super) fn words_of(core: &str) -> String {
    format!("{core}_words")
}

/// Writes programs into a design.
pub(crate) struct Emitter<'a> {
    pub(crate) trace: &'a Trace,
    pub(crate) flows: &'a Flows,
    pub(crate) bodies: &'a Bodies,
    pub(crate) design: &'a mut Design,
    /// What the fifo of each stream is called at cores, by stream and core.
    pub(crate) fifos: &'a OrderedMap<(usize, usize), String>,
}

/// One core under way.
struct Body<'p> {
    program: &'p Program,
    tile: Tile,
    name: &'p str,
    /// Buffers of versions that stay here.
    locals: Vec<Value>,
    /// Memory that bodies of kernels use, by type.
    scratch: Vec<(Type, Vec<Value>)>,
    consts: Vec<(i64, Type, Value)>,
    /// Words that the host writes, as they are read when a launch begins.
    words: Vec<Value>,
    ops: Vec<Op>,
}

/// A kernel by number, where its operands are, what is copied before it runs, and the numbers that it takes.
type Called<'a> = (usize, &'a [Place], &'a [(Place, Place)], &'a [Value]);

impl Emitter<'_> {
    /// Adds a core on a tile.
    pub(crate) fn core(&mut self, program: &Program, tile: Tile, name: &str) {
        let mut body = Body {
            program,
            tile,
            name,
            locals: Vec::new(),
            scratch: Vec::new(),
            consts: Vec::new(),
            words: Vec::new(),
            ops: Vec::new(),
        };
        for Local { tensor, len } in &self.flows.locals[program.core] {
            let ty = super::object(len, self.trace.tensors[*tensor].dtype);
            let value = self.buffer(&body, ty);
            body.locals.push(value);
        }
        let mut inner = Vec::new();
        self.read_words(&mut body, &mut inner);
        self.lines(&mut body, (&program.common.code, None), &mut inner);
        let ever = self.constant(&mut body, EVER, &Type::Index);
        let round = self.value(Type::Index);
        let whole = self.repeat(&mut body, (round, ever), inner);
        let mut ops = std::mem::take(&mut body.ops);
        ops.push(whole);
        ops.push(Op::new("aie.end"));
        let value = self.design.module.value(format!("{name}_core"), Type::Index);
        self.design.tile(tile);
        let mut region = Region::default();
        region.blocks.push(crate::mlir::Block { args: Vec::new(), ops });
        self.design.cores.push(Core {
            value,
            tile,
            stack: None,
            link_with: None,
            body: region,
            span: Default::default(),
        });
    }

    fn value(&mut self, ty: Type) -> Value {
        let name = format!("v{}", self.design.module.values.len());
        self.design.module.value(name, ty)
    }

    fn buffer(&mut self, body: &Body<'_>, ty: Type) -> Value {
        let name = format!("{}_buffer_{}", body.name, self.design.buffers.len());
        self.named_buffer(body, name, ty)
    }

    fn named_buffer(&mut self, body: &Body<'_>, name: String, ty: Type) -> Value {
        let value = self.design.module.value(name.clone(), ty);
        self.design.buffers.push(Buffer {
            value,
            tile: body.tile,
            name: Some(name),
            address: None,
            bank: None,
            span: Default::default(),
        });
        value
    }

    /// The buffer of a number, of a type, that a kernel may use.
    fn scratch(&mut self, body: &mut Body<'_>, ty: &Type, number: usize) -> Value {
        let at = body.scratch.iter().position(|(known, _)| known == ty).unwrap_or_else(|| {
            body.scratch.push((ty.clone(), Vec::new()));
            body.scratch.len() - 1
        });
        while body.scratch[at].1.len() <= number {
            let value = self.buffer(body, ty.clone());
            body.scratch[at].1.push(value);
        }
        body.scratch[at].1[number]
    }

    /// A number, made once for the whole core.
    fn constant(&mut self, body: &mut Body<'_>, number: i64, ty: &Type) -> Value {
        if let Some((.., value)) = body.consts.iter().find(|(known, of, _)| *known == number && of == ty) {
            return *value;
        }
        let value = self.value(ty.clone());
        body.ops.push(Op::new("arith.constant").attr("value", Attr::Int(number, ty.clone())).result(value));
        body.consts.push((number, ty.clone(), value));
        value
    }

    fn repeat(&mut self, body: &mut Body<'_>, (round, rounds): (Value, Value), ops: Vec<Op>) -> Op {
        let [first, step] = [0, 1].map(|number| self.constant(body, number, &Type::Index));
        let mut ops = ops;
        ops.push(Op::new("scf.yield"));
        Op::new("scf.for").with([first, rounds, step]).region(vec![round], ops)
    }

    /// Reads the words of a launch, once an object of the host tells that it has begun: the host writes them before it starts a transfer.
    fn read_words(&mut self, body: &mut Body<'_>, out: &mut Vec<Op>) {
        let count = body.program.common.words.len();
        if count == 0 {
            return;
        }
        self.hold(body, (body.program.gate, 1), out);
        let buffer =
            self.named_buffer(body, words_of(body.name), Type::memref(&[count as u64], Type::Int(32)));
        for word in 0..count {
            let at = self.constant(body, word as i64, &Type::Index);
            let value = self.value(Type::Int(32));
            out.push(Op::new("memref.load").with([buffer, at]).result(value));
            body.words.push(value);
        }
    }

    /// An operation that makes a value of others.
    fn made(&mut self, name: &str, of: &[Value], ty: Type, out: &mut Vec<Op>) -> Value {
        let value = self.value(ty);
        out.push(Op::new(name).with(of.iter().copied()).result(value));
        value
    }

    /// A number of a type, within a loop of this variable.
    fn count(
        &mut self,
        body: &mut Body<'_>,
        (count, round, ty): (Count, Option<Value>, &Type),
        out: &mut Vec<Op>,
    ) -> Value {
        let word = match (count, round) {
            (Count::Fixed(number), _) => return self.constant(body, number, ty),
            (Count::Step(first, step), Some(round)) => {
                let int = Type::Int(32);
                let [first, step] = [first, step].map(|number| self.constant(body, number, &int));
                let round = self.made("arith.index_cast", &[round], int.clone(), out);
                let more = self.made("arith.muli", &[round, step], int.clone(), out);
                self.made("arith.addi", &[first, more], int, out)
            }
            (Count::Step(first, _), None) => return self.constant(body, first, ty),
            (Count::Left(tile, word), Some(round)) => {
                let int = Type::Int(32);
                let tile = self.constant(body, tile, &int);
                let round = self.made("arith.index_cast", &[round], int.clone(), out);
                let taken = self.made("arith.muli", &[round, tile], int.clone(), out);
                let left = self.made("arith.subi", &[body.words[word], taken], int.clone(), out);
                self.made("arith.minsi", &[left, tile], int, out)
            }
            (Count::Word(word) | Count::Left(_, word), _) => body.words[word],
        };
        if *ty == Type::Index { self.made("arith.index_cast", &[word], Type::Index, out) } else { word }
    }

    fn lines(&mut self, body: &mut Body<'_>, (code, round): (&[Code], Option<Value>), out: &mut Vec<Op>) {
        for code in code {
            match code {
                Code::Once(at, numbers) => {
                    let program = body.program;
                    self.step(body, (&program.steps[*at], numbers, round), out);
                }
                Code::Loop(rounds, code) => {
                    let rounds = self.count(body, (*rounds, round, &Type::Index), out);
                    let (round, mut inner) = (self.value(Type::Index), Vec::new());
                    self.lines(body, (code, Some(round)), &mut inner);
                    let op = self.repeat(body, (round, rounds), inner);
                    out.push(op);
                }
            }
        }
    }

    fn step(
        &mut self,
        body: &mut Body<'_>,
        (step, numbers, round): (&Step, &[Count], Option<Value>),
        out: &mut Vec<Op>,
    ) {
        match step {
            Step::Release(number, count) => {
                let op = Op::new("aie.objectfifo.release").attr("objFifo_name", self.symbol(body, *number));
                out.push(self.ported(body, *number, op).int("size", *count as i64));
            }
            Step::Run { body: kernel, operands, copies } => {
                let held = self.acquire(body, operands, copies, out);
                let types: Vec<Type> =
                    self.bodies.all[*kernel].numbers.iter().map(|(_, ty)| ty.clone()).collect();
                let numbers = numbers.iter().zip(&types);
                let numbers: Vec<Value> =
                    numbers.map(|(count, ty)| self.count(body, (*count, round, ty), out)).collect();
                self.run(body, (*kernel, operands, copies, &numbers), &held, out);
            }
        }
    }

    fn symbol(&self, body: &Body<'_>, number: usize) -> Attr {
        let core = body.program.core;
        Attr::Symbol(self.fifos[&(self.flows.uses[core][number].stream, core)].clone())
    }

    fn ported(&self, body: &Body<'_>, number: usize, op: Op) -> Op {
        let produces = self.flows.uses[body.program.core][number].produces;
        op.int("port", i64::from(!produces))
    }

    /// Holds so many objects of a use, as a view of them, and their type.
    fn hold(&mut self, body: &Body<'_>, (number, count): (usize, usize), out: &mut Vec<Op>) -> (Value, Type) {
        let of = &self.flows.streams[self.flows.uses[body.program.core][number].stream];
        let ty = super::object(&of.boxes[0].len, self.trace.tensors[of.tensor].dtype);
        let view = self.value(Type::Subview(std::boxed::Box::new(ty.clone())));
        let op = Op::new("aie.objectfifo.acquire").attr("objFifo_name", self.symbol(body, number));
        out.push(self.ported(body, number, op).int("size", count as i64).result(view));
        (view, ty)
    }

    /// Objects that a step needs, as values: what is held stays so.
    fn acquire(
        &mut self,
        body: &Body<'_>,
        operands: &[Place],
        copies: &[(Place, Place)],
        out: &mut Vec<Op>,
    ) -> OrderedMap<(usize, usize), Value> {
        let places = || operands.iter().chain(copies.iter().flat_map(|(from, to)| [from, to]));
        let mut most: OrderedMap<usize, usize> = OrderedMap::new();
        for place in places() {
            if let Place::Held(number, at) = place {
                let count = most.entry(*number).or_default();
                *count = (*count).max(at + 1);
            }
        }
        let mut held = OrderedMap::new();
        for (number, count) in most {
            let (view, ty) = self.hold(body, (number, count), out);
            let used = places().filter_map(|place| match place {
                Place::Held(of, at) if *of == number => Some(*at),
                _ => None,
            });
            for at in used {
                if held.contains_key(&(number, at)) {
                    continue;
                }
                let value = self.value(ty.clone());
                let op = Op::new("aie.objectfifo.subview.access").with([view]);
                out.push(op.int("index", at as i64).result(value));
                held.insert((number, at), value);
            }
        }
        held
    }

    fn run(
        &mut self,
        body: &mut Body<'_>,
        (kernel, operands, copies, numbers): Called<'_>,
        held: &OrderedMap<(usize, usize), Value>,
        out: &mut Vec<Op>,
    ) {
        let kernel = &self.bodies.all[kernel];
        let mut used: Vec<(Type, usize)> = Vec::new();
        let mut next = |ty: &Type| {
            let at = used.iter().position(|(known, _)| known == ty).unwrap_or_else(|| {
                used.push((ty.clone(), 0));
                used.len() - 1
            });
            used[at].1 += 1;
            used[at].1 - 1
        };
        let mut values = Vec::new();
        for (operand, place) in kernel.operands.iter().zip(operands) {
            values.push(match place {
                Place::Held(number, at) => held[&(*number, *at)],
                Place::Buffer(at) => body.locals[*at],
                Place::Unused => {
                    let number = next(&operand.ty);
                    self.scratch(body, &operand.ty, number)
                }
            });
        }
        for (from, to) in copies {
            let at = |place: &Place| match place {
                Place::Held(number, at) => held[&(*number, *at)],
                Place::Buffer(at) => body.locals[*at],
                Place::Unused => values[0],
            };
            out.push(Op::new("memref.copy").with([at(from), at(to)]));
        }
        values.extend(numbers);
        for ty in &kernel.locals {
            let number = next(ty);
            values.push(self.scratch(body, ty, number));
        }
        out.extend(kernel.inline(&mut self.design.module, &values));
    }
}
