//! The text of a tile program: control flow, events, and a block of tiles and calls for each instruction.

use super::Chip;
use super::memories::{KEPT_EVENT, PIPES, V};
use super::ops::cube::Turned;
use super::pair::Pair;
use super::recipe::{Arg, Step};
use super::scalars::Scalars;
use super::scratch::steps;
use super::sides::Core;
use super::view::{Slot, View};
use crate::writer::Writer;
use wsp_ir::{Const, Expr, ExprKind, LocalTy, ScalarTy};
use wsp_ordered::{OrderedMap, OrderedSet};
use wsp_tile::Step as TaskStep;
use wsp_tile::{
    BufferId, Event, EventId, Head, Instruction, Loop, LoopId, Memories, Node, Op, Sync, TileProgram, UnitId,
};

/// The statements of a kernel's body.
pub(super) fn body(
    program: &TileProgram,
    scalars: &Scalars<'_>,
    (chip, memories): (Chip, &Memories),
    pair: Option<&Pair>,
) -> String {
    let mut rounds = OrderedSet::new();
    turning(&program.body, &mut rounds);
    rounds.extend(program.buffers.iter().filter_map(|buffer| buffer.rotates));
    let turned = Turned::of(program);
    let out = Writer::default();
    let mut printer = Printer { program, scalars, chip, memories, pair, turned: &turned, rounds, out };
    printer.out.open("{");
    printer.variables();
    printer.block(&program.body);
    printer.out.close("}");
    printer.out.finish()
}

/// The statements of what runs the tasks of a program, each of which is a call.
pub(super) fn steps_of_tasks(
    program: &TileProgram,
    steps: &[TaskStep],
    calls: &[String],
    scalars: &Scalars<'_>,
    (chip, memories): (Chip, &Memories),
) -> String {
    let turned = Turned::default();
    let rounds = OrderedSet::new();
    let out = Writer::default();
    let mut printer = Printer { program, scalars, chip, memories, pair: None, turned: &turned, rounds, out };
    printer.out.open("{");
    printer.variables();
    printer.tasks(steps, calls);
    printer.out.close("}");
    printer.out.finish()
}

/// Loops by whose rounds events take turns.
fn turning(nodes: &[Node], found: &mut OrderedSet<LoopId>) {
    for node in nodes {
        if let Node::Sync(Sync::Set(event) | Sync::Wait(event)) = node
            && let EventId::Parity { of, .. } = event.id
        {
            found.insert(of);
        }
        node.blocks().for_each(|block| turning(block, found));
    }
}

struct Printer<'a> {
    program: &'a TileProgram,
    scalars: &'a Scalars<'a>,
    chip: Chip,
    memories: &'a Memories,
    /// Where both kinds of cores run the text; none inside of a part of one of them.
    pair: Option<&'a Pair>,
    turned: &'a Turned,
    /// Loops whose rounds are counted.
    rounds: OrderedSet<LoopId>,
    out: Writer,
}

/// Names of the tiles that are declared where a call stands.
type Names = Vec<(View, String)>;

impl Printer<'_> {
    /// Variables that get a value somewhere, at their smallest.
    fn variables(&mut self) {
        let mut set = OrderedSet::new();
        assigned(&self.program.body, &mut set);
        let given = self.scalars.given();
        for id in set.into_iter().filter(|id| !given.contains(id)) {
            let LocalTy::Scalar(ty) = self.program.locals[id.index()].ty else { continue };
            let zero = match ty {
                ScalarTy::Bool => Const::Bool(false),
                ScalarTy::F32 | ScalarTy::F64 => Const::Float(0.0),
                _ => Const::Int(0),
            };
            let zero = self.scalars.expr(&Expr::new(ExprKind::Const(zero), ty, wsp_diag::Span::default()));
            let name = self.scalars.local(id);
            // An extent may be that of a tile that nothing asks for.
            self.out.line(format!("[[maybe_unused]] {} {name} = {zero};", ty.c_name()));
        }
    }

    fn block(&mut self, nodes: &[Node]) {
        let Some(pair) = self.pair else { return nodes.iter().for_each(|node| self.node(node)) };
        let mut open = None;
        for node in nodes {
            let core = pair.core(node);
            if core != open {
                self.turn(open, core);
                open = core;
            }
            self.pair = if core.is_some() { None } else { Some(pair) };
            self.node(node);
        }
        self.turn(open, None);
        self.pair = Some(pair);
    }

    /// The part of one core ends, and that of another begins.
    fn turn(&mut self, from: Option<Core>, to: Option<Core>) {
        if from.is_some() {
            self.out.close("}");
        }
        let name = match to {
            None => return,
            Some(Core::Cube) => "cube",
            Some(Core::Vector) => "vector",
        };
        self.out.open(format!("if constexpr (is_{name}) {{"));
        self.out.line(format!("on_{name}();"));
    }

    fn node(&mut self, node: &Node) {
        match node {
            Node::Set { local, value } => {
                let line = format!("{} = {};", self.scalars.local(*local), self.scalars.expr(value));
                self.out.line(line);
            }
            Node::Name { local, array } => self.scalars.name(*local, *array),
            Node::If { cond, then, otherwise } => {
                self.out.open(format!("if {} {{", self.scalars.condition(cond)));
                self.block(then);
                if !otherwise.is_empty() {
                    self.out.turn("} else {");
                    self.block(otherwise);
                }
                self.out.close("}");
            }
            Node::Loop(inner) => self.rounds_of(inner, &mut |printer| printer.block(&inner.body)),
            Node::Run(instruction) => self.instruction(instruction),
            Node::Sync(sync) => self.sync(*sync),
        }
    }

    fn tasks(&mut self, steps: &[TaskStep], calls: &[String]) {
        for step in steps {
            match step {
                TaskStep::Task(number) => self.out.line(&calls[*number]),
                TaskStep::Scalars(node) => self.node(node),
                TaskStep::If { cond, then, otherwise } => {
                    self.out.open(format!("if {} {{", self.scalars.condition(cond)));
                    self.tasks(then, calls);
                    if !otherwise.is_empty() {
                        self.out.turn("} else {");
                        self.tasks(otherwise, calls);
                    }
                    self.out.close("}");
                }
                TaskStep::Loop(inner, body) => {
                    self.rounds_of(inner, &mut |printer| printer.tasks(body, calls));
                }
            }
        }
    }

    /// A loop. Names of variables end with their number, so none is that of a counter of rounds.
    fn rounds_of(&mut self, inner: &Loop, body: &mut dyn FnMut(&mut Self)) {
        let round = self.rounds.contains(&inner.id).then(|| format!("loop{}_round", inner.id.0));
        self.out.open("{");
        if let Some(round) = &round {
            self.out.line(format!("uint32_t {round} = 0u;"));
        }
        match &inner.head {
            Head::Counted { var, start, end, step } => {
                let name = self.scalars.local(*var);
                let c_type = start.ty.c_name();
                let end_name = format!("{name}_end");
                let step_name = format!("{name}_step");
                // A step of 0 that a launch gives ends the loop; it would go on for ever.
                let is_known = matches!(step.kind, ExprKind::Const(_));
                let moves = if is_known { String::new() } else { format!("{step_name} == 0 || ") };
                let [start, end, step] = [start, end, step].map(|e| self.scalars.expr(e));
                self.out.line(format!("const {c_type} {end_name} = {end};"));
                self.out.line(format!("const {c_type} {step_name} = {step};"));
                // The last step may pass the largest number of the type.
                self.out.open(format!("for ({name} = {start}; {name} < {end_name};) {{"));
                body(self);
                self.count(round.as_deref());
                self.out.line(format!("if ({moves}{end_name} - {name} <= {step_name}) {{ break; }}"));
                self.out.line(format!("{name} += {step_name};"));
            }
            Head::While { cond } => {
                self.out.open(format!("while {} {{", self.scalars.condition(cond)));
                body(self);
                self.count(round.as_deref());
            }
        }
        self.out.close("}");
        self.out.close("}");
    }

    fn count(&mut self, round: Option<&str>) {
        if let Some(round) = round {
            self.out.line(format!("{round} += 1u;"));
        }
    }

    fn sync(&mut self, sync: Sync) {
        let pipe = |unit: UnitId| PIPES[unit.index()];
        let event = |word: &str, event: Event| {
            let apart = !self.memories.same_core(event.from, event.to);
            let begin = if apart { "" } else { "EVENT_ID" };
            let id = match event.id {
                EventId::One(id) => format!("{begin}{id}"),
                EventId::Parity { of, even, odd } => {
                    format!("(loop{}_round % 2u == 0u) ? {begin}{even} : {begin}{odd}", of.0)
                }
            };
            match (apart, word) {
                (false, _) => format!("{word}_flag({}, {}, {id});", pipe(event.from), pipe(event.to)),
                (true, "set") => format!("set_intra_block({}, {id});", pipe(event.from)),
                (true, _) => format!("wait_intra_block({}, {id});", pipe(event.to)),
            }
        };
        let line = match sync {
            Sync::Set(of) => event("set", of),
            Sync::Wait(of) => event("wait", of),
            Sync::Barrier(unit) => format!("pipe_barrier({});", pipe(unit)),
            Sync::BarrierAll(_) => "pipe_barrier(PIPE_ALL);".to_owned(),
        };
        self.out.line(line);
    }

    fn instruction(&mut self, instruction: &Instruction) {
        let words = instruction.op.words();
        let units: Vec<&str> = instruction.units().map(|unit| self.memories.unit_name(unit)).collect();
        let comment = format!("// %{} {}: {words}", instruction.id, units.join(", "));
        match &instruction.op {
            Op::LoadScalar { local, tensor, index } => {
                let ty = match self.program.locals[local.index()].ty {
                    LocalTy::Scalar(ty) => ty,
                    _ => ScalarTy::F32,
                };
                let at = self.element(*tensor, index);
                let line = format!(
                    "{} = static_cast<{}>(element({}, {at}));  {comment}",
                    self.scalars.local(*local),
                    ty.c_name(),
                    self.scalars.tensor(*tensor)
                );
                self.out.line(line);
            }
            Op::StoreScalar { tensor, index, value } => {
                let at = self.element(*tensor, index);
                let line = format!(
                    "set_element({}, {at}, {});  {comment}",
                    self.scalars.tensor(*tensor),
                    self.scalars.expr(value)
                );
                self.out.line(line);
            }
            _ => {
                self.out.open(format!("{{  {comment}"));
                if let Ok(recipe) = steps(self.program, self.scalars, self.turned, self.chip, instruction) {
                    self.steps(&recipe.steps, instruction, &Names::new());
                }
                self.out.close("}");
            }
        }
    }

    /// The place of an element in its tensor.
    fn element(&self, tensor: wsp_core::TensorId, index: &[Expr]) -> String {
        let span = index.first().map_or(wsp_diag::Span::default(), |e| e.span);
        let strides = self.scalars.strides(tensor, span).unwrap_or_default();
        let terms: Vec<String> = index
            .iter()
            .zip(&strides)
            .map(|(e, stride)| format!("{} * {}", self.scalars.as_type(e, ScalarTy::I64), stride.text()))
            .collect();
        if terms.is_empty() { "0".to_owned() } else { terms.join(" + ") }
    }

    fn steps(&mut self, steps: &[Step], instruction: &Instruction, around: &Names) {
        let mut names = around.clone();
        let views = |step: &Step, f: &mut dyn FnMut(&View)| match step {
            Step::Call(_, args) => args.iter().for_each(|arg| {
                if let Arg::Out(view) | Arg::In(view) = arg {
                    f(view);
                }
            }),
            Step::Read(_, view) => f(view),
            Step::Loop { .. } | Step::When(..) => {}
        };
        for step in steps {
            views(step, &mut |view| self.declare(view, instruction, &mut names));
        }
        let mut pending: OrderedMap<(u32, u32), bool> = OrderedMap::new();
        for step in steps {
            self.step(step, instruction, &names, &mut pending);
        }
    }

    fn declare(&mut self, view: &View, instruction: &Instruction, names: &mut Names) {
        if names.iter().any(|(other, _)| other == view) {
            return;
        }
        let stem = match view.slot {
            Slot::Buffer(id) => super::scalars::identifier(&self.program.buffer(id).name),
            Slot::Scratch(_) => "scratch".to_owned(),
        };
        let taken = |name: &str| names.iter().any(|(_, other)| other == name);
        let mut name = format!("{stem}_t");
        for number in 2.. {
            if !taken(&name) {
                break;
            }
            name = format!("{stem}_t{number}");
        }
        self.out.line(format!("{} {name}{};", view.c_type(), view.arguments()));
        let address = self.address(view, instruction);
        let number = self.buffer(view, instruction).map_or(0, |id| id.0 + 1);
        self.out.line(format!("TASSIGN({name}, {address}); of_buffer({name}, {number}u);"));
        names.push((view.clone(), name));
    }

    fn buffer(&self, view: &View, instruction: &Instruction) -> Option<BufferId> {
        match view.slot {
            Slot::Buffer(id) => Some(id),
            Slot::Scratch(at) => instruction.scratch.get(at as usize).copied(),
        }
    }

    fn address(&self, view: &View, instruction: &Instruction) -> String {
        let Some(buffer) = self.buffer(view, instruction).map(|id| self.program.buffer(id)) else {
            return "0u".to_owned();
        };
        let first = buffer.at.first().copied().unwrap_or_default();
        let mut text = match (buffer.rotates, buffer.at.get(1)) {
            (Some(of), Some(second)) => format!("(loop{}_round % 2u == 0u) ? {first}u : {second}u", of.0),
            _ => format!("{first}u"),
        };
        if let Some(offset) = &view.offset {
            text = format!("({text}) + {offset}");
        }
        text
    }

    fn step(
        &mut self,
        step: &Step,
        instruction: &Instruction,
        names: &Names,
        pending: &mut OrderedMap<(u32, u32), bool>,
    ) {
        match step {
            Step::Call(name, args) => {
                if self.needs_barriers(instruction) {
                    self.barrier(args, pending);
                }
                let mut globals = 0;
                let mut given = Vec::new();
                for arg in args {
                    given.push(match arg {
                        Arg::Out(view) | Arg::In(view) => named(names, view),
                        Arg::Text(text) => text.clone(),
                        Arg::Global(c_type, arguments) => {
                            globals += 1;
                            let global = if globals == 1 { "gm".to_owned() } else { format!("gm{globals}") };
                            self.out.line(format!("{c_type} {global}({arguments});"));
                            global
                        }
                    });
                }
                self.out.line(format!("{name}({});", given.join(", ")));
            }
            Step::Loop { var, from, end, body } => {
                let head = format!("for (uint32_t {var} = {from}; {var} < {end}; ++{var}) {{");
                self.nested(&head, body, instruction, names, pending);
            }
            Step::When(cond, body) => {
                self.nested(&format!("if ({cond}) {{"), body, instruction, names, pending)
            }
            Step::Read(to, view) => {
                self.out.line(format!("set_flag(PIPE_V, PIPE_S, EVENT_ID{KEPT_EVENT});"));
                self.out.line(format!("wait_flag(PIPE_V, PIPE_S, EVENT_ID{KEPT_EVENT});"));
                self.out.line(format!("{to} = {}.GetValue(0u);", named(names, view)));
            }
        }
    }

    /// Steps in braces: before and after them all calls of the instruction are complete.
    fn nested(
        &mut self,
        head: &str,
        body: &[Step],
        instruction: &Instruction,
        names: &Names,
        pending: &mut OrderedMap<(u32, u32), bool>,
    ) {
        self.flush(instruction, pending);
        self.out.open(head);
        self.steps(body, instruction, names);
        if self.needs_barriers(instruction) {
            self.out.line("pipe_barrier(PIPE_V);");
        }
        self.out.close("}");
    }

    /// Whether an instruction of its unit does not see what the one before it wrote.
    fn needs_barriers(&self, instruction: &Instruction) -> bool {
        instruction.unit == V && !self.memories.units[V.index()].completes_in_order
    }

    /// A barrier where a call touches what an earlier one of the instruction wrote, or writes what it touches.
    fn barrier(&mut self, args: &[Arg], pending: &mut OrderedMap<(u32, u32), bool>) {
        let touched: Vec<((u32, u32), bool)> = args
            .iter()
            .filter_map(|arg| match arg {
                Arg::Out(view) => Some((key(view.slot), true)),
                Arg::In(view) => Some((key(view.slot), false)),
                Arg::Global(..) | Arg::Text(_) => None,
            })
            .collect();
        let depends =
            |(slot, writes): &((u32, u32), bool)| pending.get(slot).is_some_and(|wrote| *wrote || *writes);
        if touched.iter().any(depends) {
            self.out.line("pipe_barrier(PIPE_V);");
            pending.clear();
        }
        for (slot, writes) in touched {
            *pending.entry(slot).or_default() |= writes;
        }
    }

    fn flush(&mut self, instruction: &Instruction, pending: &mut OrderedMap<(u32, u32), bool>) {
        if self.needs_barriers(instruction) && !pending.is_empty() {
            self.out.line("pipe_barrier(PIPE_V);");
            pending.clear();
        }
    }
}

fn key(slot: Slot) -> (u32, u32) {
    match slot {
        Slot::Buffer(id) => (0, id.0),
        Slot::Scratch(at) => (1, at),
    }
}

fn named(names: &Names, view: &View) -> String {
    names.iter().find(|(other, _)| other == view).map_or_else(String::new, |(_, name)| name.clone())
}

/// Variables that statements or instructions give a value.
fn assigned(nodes: &[Node], found: &mut OrderedSet<wsp_core::LocalId>) {
    for node in nodes {
        match node {
            Node::Set { local, .. } => {
                found.insert(*local);
            }
            Node::Run(Instruction {
                op: Op::Reduce { local, .. } | Op::LoadScalar { local, .. }, ..
            }) => {
                found.insert(*local);
            }
            Node::Loop(Loop { head: Head::Counted { var, .. }, .. }) => {
                found.insert(*var);
            }
            _ => {}
        }
        node.blocks().for_each(|block| assigned(block, found));
    }
}
