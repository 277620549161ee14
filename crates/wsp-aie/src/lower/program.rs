//! What a core runs: the bodies of its tasks in order, with the objects that they need, as loops.

use super::flow::{Flows, Local, Source};
use super::refused;
use super::trace::Trace;
use crate::design::{Buffer, Core, Design};
use crate::device::Tile;
use crate::kernel::Body as Kernel;
use crate::mlir::{Attr, Op, Region, Type, Value};
use wsp_core::FuncId;
use wsp_diag::Diagnostic;
use wsp_ir::Const;
use wsp_ordered::OrderedMap;

/// Longest stretch that is looked for again behind itself.
const PERIOD: usize = 1024;
/// Rounds of a loop without an end.
const EVER: i64 = i64::MAX;

/// Where a step finds an operand.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Place {
    /// An object of a use, by its place among those that are held.
    Held(usize, usize),
    /// A buffer.
    Buffer(usize),
    /// Nowhere: this task does not touch it.
    Unused,
}

/// What is done once, before something else.
#[derive(Clone, PartialEq, Debug)]
enum Step {
    /// A kernel runs.
    Run {
        /// The body, by number.
        body: usize,
        operands: Vec<Place>,
        /// What is written elsewhere than it is read.
        copies: Vec<(Place, Place)>,
    },
    /// Objects of a use are given back.
    Release(usize, usize),
}

/// Steps, some of them again and again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Line {
    /// A step, by number.
    Once(usize),
    /// Lines, so many times.
    Loop(usize, Vec<Line>),
}

/// What a core runs.
#[derive(Debug)]
pub(crate) struct Program {
    core: usize,
    steps: Vec<Step>,
    lines: Vec<Line>,
}

/// Bodies for the numbers of tasks.
#[derive(Debug, Default)]
pub(crate) struct Bodies {
    all: Vec<Kernel>,
    known: Vec<(FuncId, Vec<Const>, usize)>,
}

impl Bodies {
    /// The number of the body of a kernel for these numbers.
    fn of(&mut self, func: FuncId, body: &Kernel, numbers: &[Const]) -> usize {
        if let Some((.., at)) = self.known.iter().rev().find(|(of, known, _)| *of == func && known == numbers)
        {
            return *at;
        }
        let folded = body.folded(numbers);
        let at = self.all.iter().position(|other| *other == folded).unwrap_or_else(|| {
            self.all.push(folded);
            self.all.len() - 1
        });
        self.known.push((func, numbers.to_vec(), at));
        at
    }
}

/// Finds what is repeated.
pub(crate) fn fold(sequence: &[usize]) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut at = 0;
    while at < sequence.len() {
        let rest = &sequence[at..];
        let mut best = (1, 1);
        for period in 1..=PERIOD.min(rest.len() / 2) {
            let same = rest[period..].iter().zip(rest).take_while(|(a, b)| a == b).count();
            let rounds = 1 + same / period;
            if rounds > 1 && rounds * period > best.0 * best.1 {
                best = (period, rounds);
            }
        }
        let (period, rounds) = best;
        match rounds {
            1 => lines.push(Line::Once(rest[0])),
            _ => lines.push(Line::Loop(rounds, fold(&rest[..period]))),
        }
        at += period * rounds;
    }
    lines
}

impl Program {
    /// What a core of a launch runs.
    ///
    /// # Errors
    /// A number that a body takes is not known.
    pub(crate) fn new(
        trace: &Trace,
        core_of: &[usize],
        flows: &Flows,
        (core, bodies): (usize, &mut Bodies),
    ) -> Result<Program, Diagnostic> {
        let (mut steps, mut sequence): (Vec<Step>, Vec<usize>) = (Vec::new(), Vec::new());
        let mut released = vec![0; flows.uses[core].len()];
        let mut add = |step: Step| {
            let at = steps.iter().position(|known| *known == step).unwrap_or_else(|| {
                steps.push(step);
                steps.len() - 1
            });
            sequence.push(at);
        };
        for (at, task) in trace.tasks.iter().enumerate().filter(|(at, _)| core_of[*at] == core) {
            let body = &trace.bodies[&task.func];
            let place = |source: Source| match source {
                Source::Object(number, object) => Place::Held(number, object - released[number]),
                Source::Buffer(number) => Place::Buffer(number),
            };
            let (mut operands, mut copies) = (Vec::new(), Vec::new());
            for [read, write] in &flows.sources[at] {
                let (read, write) = (read.map(place), write.map(place));
                if let (Some(from), Some(to)) = (read, write)
                    && from != to
                {
                    copies.push((from, to));
                }
                operands.push(write.or(read).unwrap_or(Place::Unused));
            }
            let numbers = body.numbers.iter().map(|(number, _)| trace.number(*number, task));
            let Some(numbers) = numbers.collect::<Option<Vec<Const>>>() else {
                return Err(refused(format!("`{}` takes a number that only a run knows", body.name)));
            };
            add(Step::Run { body: bodies.of(task.func, body, &numbers), operands, copies });
            for (number, of) in flows.uses[core].iter().enumerate() {
                let done = of.spans[released[number]..].iter().take_while(|(_, last)| *last == at).count();
                if done > 0 {
                    released[number] += done;
                    add(Step::Release(number, done));
                }
            }
        }
        let lines = fold(&sequence);
        Ok(Program { core, steps, lines })
    }
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
    consts: Vec<(i64, Value)>,
    ops: Vec<Op>,
}

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
            ops: Vec::new(),
        };
        for Local { tensor, len } in &self.flows.locals[program.core] {
            let ty = super::object(len, self.trace.tensors[*tensor].dtype);
            let value = self.buffer(&body, ty);
            body.locals.push(value);
        }
        let lines = match program.lines.as_slice() {
            [Line::Loop(_, lines)] => lines,
            lines => lines,
        };
        let mut inner = Vec::new();
        self.lines(&mut body, lines, &mut inner);
        let whole = self.repeat(&mut body, EVER, inner);
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

    /// An index, made once for the whole core.
    fn index(&mut self, body: &mut Body<'_>, number: i64) -> Value {
        if let Some((_, value)) = body.consts.iter().find(|(known, _)| *known == number) {
            return *value;
        }
        let value = self.value(Type::Index);
        body.ops.push(Op::new("arith.constant").attr("value", Attr::Int(number, Type::Index)).result(value));
        body.consts.push((number, value));
        value
    }

    fn repeat(&mut self, body: &mut Body<'_>, rounds: i64, ops: Vec<Op>) -> Op {
        let bounds = [0, rounds, 1].map(|number| self.index(body, number));
        let var = self.value(Type::Index);
        let mut ops = ops;
        ops.push(Op::new("scf.yield"));
        Op::new("scf.for").with(bounds).region(vec![var], ops)
    }

    fn lines(&mut self, body: &mut Body<'_>, lines: &[Line], out: &mut Vec<Op>) {
        for line in lines {
            match line {
                Line::Once(at) => {
                    let program = body.program;
                    self.step(body, &program.steps[*at], out);
                }
                Line::Loop(rounds, lines) => {
                    let mut inner = Vec::new();
                    self.lines(body, lines, &mut inner);
                    let op = self.repeat(body, *rounds as i64, inner);
                    out.push(op);
                }
            }
        }
    }

    fn step(&mut self, body: &mut Body<'_>, step: &Step, out: &mut Vec<Op>) {
        match step {
            Step::Release(number, count) => {
                let op = Op::new("aie.objectfifo.release").attr("objFifo_name", self.symbol(body, *number));
                out.push(self.ported(body, *number, op).int("size", *count as i64));
            }
            Step::Run { body: kernel, operands, copies } => {
                let held = self.acquire(body, operands, copies, out);
                self.run(body, (*kernel, operands, copies), &held, out);
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
            let of = &self.flows.streams[self.flows.uses[body.program.core][number].stream];
            let ty = super::object(&of.boxes[0].len, self.trace.tensors[of.tensor].dtype);
            let view = self.value(Type::Subview(std::boxed::Box::new(ty.clone())));
            let op = Op::new("aie.objectfifo.acquire").attr("objFifo_name", self.symbol(body, number));
            out.push(self.ported(body, number, op).int("size", count as i64).result(view));
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
        (kernel, operands, copies): (usize, &[Place], &[(Place, Place)]),
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
        for ty in &kernel.locals {
            let number = next(ty);
            values.push(self.scratch(body, ty, number));
        }
        out.extend(kernel.inline(&mut self.design.module, &values));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unfold(lines: &[Line], out: &mut Vec<usize>) {
        for line in lines {
            match line {
                Line::Once(at) => out.push(*at),
                Line::Loop(rounds, lines) => (0..*rounds).for_each(|_| unfold(lines, out)),
            }
        }
    }

    #[test]
    fn what_is_repeated_becomes_loops() {
        let once: Vec<usize> = [0, 1, 1, 1, 2].repeat(5);
        let loops = |lines| vec![Line::Loop(5, lines)];
        let inner = vec![Line::Once(0), Line::Loop(3, vec![Line::Once(1)]), Line::Once(2)];
        assert_eq!(fold(&once), loops(inner));
        assert_eq!(fold(&[]), []);
    }

    #[test]
    fn loops_run_what_was_given() {
        let mut dice = crate::dice::Random(7);
        for _ in 0..300 {
            let sequence: Vec<usize> = (0..dice.below(40)).map(|_| dice.below(3) as usize).collect();
            let mut again = Vec::new();
            unfold(&fold(&sequence), &mut again);
            assert_eq!(again, sequence);
        }
    }
}
