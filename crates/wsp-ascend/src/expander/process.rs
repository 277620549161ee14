//! Processes as C++: each is a lambda that goes on where it has stopped, by a switch whose cases stand where it may wait.
//!
//! What a process keeps from turn to turn are variables of the lambda: variables in scope, loops, and rules of ownership. Statements in which
//! it never waits are printed as everywhere else.

use super::body::ExpansionCx;
use super::emitter::{Emitter, Process};
use super::expr::Variable;
use super::tree::{Body, Kind, Loop, Statement};
use crate::writer::Writer;

impl Kind {
    /// The bodies of a send or a receive.
    pub(super) fn transfers(&self) -> Vec<&Body> {
        match self {
            Kind::Send { body, .. } => vec![body],
            Kind::Receive { arms, .. } => arms.iter().map(|(_, body)| body).collect(),
            _ => Vec::new(),
        }
    }
}

impl Statement {
    /// Whether a process may wait in it.
    pub(super) fn waits(&self) -> bool {
        match &self.kind {
            Kind::Send { .. } | Kind::Receive { .. } => true,
            Kind::Loop(Loop { body, .. }) | Kind::Let { body, .. } => body.summary.waits,
            Kind::Cond { then, otherwise, .. } => {
                then.summary.waits || otherwise.as_ref().is_some_and(|body| body.summary.waits)
            }
            Kind::Combine(bodies) => bodies.iter().any(|body| body.summary.waits),
            _ => false,
        }
    }
}

impl Emitter<'_> {
    /// Defines a constant, or gives a variable of the process its value.
    pub(super) fn define(&mut self, writer: &mut Writer, ty: &str, name: &str, value: &str) {
        if self.process.is_some() {
            self.keep(&format!("{name} = {ty}{{}}"));
            writer.line(format!("{name} = {value};"));
        } else {
            writer.line(format!("[[maybe_unused]] const {ty} {name} = {value};"));
        }
    }

    /// A variable of the process.
    fn keep(&mut self, capture: &str) {
        if let Some(process) = &mut self.process
            && !process.kept.iter().any(|known| known == capture)
        {
            process.kept.push(capture.to_owned());
        }
    }

    /// What concerns processes and channels, and waits for none.
    pub(super) fn turn(&mut self, writer: &mut Writer, statement: &Statement, scope: &ExpansionCx) {
        let word = statement.word;
        match &statement.kind {
            Kind::Channel { channel, depth } => {
                let depth = self.expr(*depth, &scope.variables);
                writer.require(&format!("declare(s, channels[{channel}], {depth})"), word);
            }
            Kind::Process(bodies) if !bodies.is_empty() => self.processes(writer, word, bodies, scope),
            Kind::Close { channel } => {
                writer.line(format!("// {word}: CLOSE"));
                let is_open =
                    format!("s.check(channels[{channel}].closed ? FaultKind::closed : FaultKind::none)");
                writer.require(&is_open, word);
                writer.line(format!("channels[{channel}].closed = true;"));
                self.moved(writer);
            }
            _ => writer.require("s.tick()", word),
        }
    }

    fn processes(&mut self, writer: &mut Writer, word: u32, bodies: &[Body], scope: &ExpansionCx) {
        writer.open(format!("{{  // {word}: PROCESS"));
        writer.require("s.tick()", word);
        writer.line("for (Channel& channel : channels) channel.open();");
        writer.line(format!("Turns<{}> turns_{word};", bodies.len()));
        for axis in self.key_axes.clone() {
            let axis = &self.names.axes[usize::from(axis)];
            writer.line(format!("const std::int64_t around_{word}_{axis} = s.axis[{axis}];"));
        }
        for (number, body) in bodies.iter().enumerate() {
            self.process = Some(Process { word, kept: vec!["goes_on = 0u".to_owned()], loops: Vec::new() });
            let mut text = Writer::default();
            self.body(&mut text, body, scope);
            let Process { kept, .. } =
                self.process.take().unwrap_or(Process { word, kept: Vec::new(), loops: Vec::new() });
            writer.open(format!(
                "auto process_{word}_{number} = [&, {}]() mutable -> bool {{",
                kept.join(", ")
            ));
            writer.line("switch (goes_on) {");
            writer.open("case 0:");
            text.finish().lines().for_each(|line| writer.line(line));
            writer.close("}");
            writer.line(format!("turns_{word}.ended();"));
            writer.line("return true;");
            writer.close("};");
        }
        writer.open("do {");
        writer.open(format!("switch (turns_{word}.current()) {{"));
        for number in 0..bodies.len() {
            writer.line(format!("case {number}:"));
            writer.line(format!("    if (!process_{word}_{number}()) return false;"));
            writer.line("    break;");
        }
        writer.close("}");
        writer.close(format!("}} while (turns_{word}.next(s));"));
        writer.require("s.bad.is_none()", word);
        for axis in self.key_axes.clone() {
            let axis = &self.names.axes[usize::from(axis)];
            writer.line(format!("s.axis[{axis}] = around_{word}_{axis};"));
        }
        writer.close("}");
    }

    /// A statement in which the process may wait.
    pub(super) fn waiting(&mut self, writer: &mut Writer, statement: &Statement, scope: &ExpansionCx) {
        let word = statement.word;
        match &statement.kind {
            Kind::Send { channel, body } => self.send(writer, word, (*channel, body), scope),
            Kind::Receive { arms, all } => self.receive(writer, word, (arms, *all), scope),
            Kind::Loop(loop_) => self.waiting_loop(writer, word, loop_, scope),
            Kind::Let { value, body } => {
                let value = self.expr(*value, &scope.variables);
                let variable = Variable::of_let(scope.variables.len());
                self.keep(&format!("let_{word} = Int(0)"));
                self.keep(&format!("{} = std::int64_t{{0}}", variable.name));
                writer.line(format!("let_{word} = {value};  // LET"));
                writer.require(&format!("s.check(let_{word}.bad)"), word);
                writer.line(format!("{} = let_{word}.value;", variable.name));
                let inner = self.inner(writer, scope, variable, None);
                self.body(writer, body, &inner);
            }
            Kind::Cond { condition, then, otherwise } => {
                let condition = self.expr(*condition, &scope.variables);
                self.keep(&format!("holds_{word} = Int(0)"));
                writer.line(format!("holds_{word} = {condition};  // COND"));
                writer.require(&format!("s.check(holds_{word}.bad)"), word);
                writer.open(format!("if (holds_{word}.value != 0) {{"));
                self.body(writer, then, scope);
                if let Some(otherwise) = otherwise {
                    writer.turn("} else {");
                    self.body(writer, otherwise, scope);
                }
                writer.close("}");
            }
            Kind::Combine(bodies) => bodies.iter().for_each(|body| self.body(writer, body, scope)),
            _ => {}
        }
    }

    /// All of its iterations are walked: how many tasks an iteration has is not known.
    fn waiting_loop(&mut self, writer: &mut Writer, word: u32, loop_: &Loop, scope: &ExpansionCx) {
        let axis = self.names.axes[usize::from(loop_.axis)].clone();
        writer.line(format!("// {word}: {} over {axis}", loop_.op.info().mnemonic));
        let variable = Variable::of_loop(self.names, loop_, scope.variables.len());
        self.keep(&format!("loop_{word} = Loop{{}}"));
        self.keep(&format!("i_{word} = std::uint64_t{{0}}"));
        self.keep(&format!("{} = std::int64_t{{0}}", variable.name));
        let enter = self.enter(&format!("loop_{word}"), &loop_.over, &scope.variables);
        writer.require(&enter, word);
        writer.open(format!("for (i_{word} = 0; i_{word} < loop_{word}.trips; ++i_{word}) {{"));
        writer.require("s.tick()", word);
        let read = if loop_.is_sparse() { "column" } else { "at" };
        writer.line(format!("{} = loop_{word}.{read}(i_{word});", variable.name));
        if let Some(position) = &variable.position {
            self.keep(&format!("{position} = std::int64_t{{0}}"));
            writer.line(format!("{position} = loop_{word}.at(i_{word});"));
        }
        let tracked = self.key_axes.contains(&loop_.axis);
        if let (true, Some(process)) = (tracked, &mut self.process) {
            process.loops.push((loop_.axis, variable.name.clone()));
        }
        self.axes(writer);
        let inner = self.inner(writer, scope, variable, Some(loop_.axis));
        self.body(writer, &loop_.body, &inner);
        writer.close("}");
        if let (true, Some(process)) = (tracked, &mut self.process) {
            process.loops.pop();
        }
        self.axes(writer);
    }

    /// Gives axes that keys name the indices that they have here.
    fn axes(&self, writer: &mut Writer) {
        let Some(process) = &self.process else { return };
        for axis in &self.key_axes {
            let name = &self.names.axes[usize::from(*axis)];
            let inner = process.loops.iter().rev().find(|(of, _)| of == axis);
            let index = inner.map_or_else(|| format!("around_{}_{name}", process.word), |(_, of)| of.clone());
            writer.line(format!("s.axis[{name}] = {index};"));
        }
    }

    fn moved(&self, writer: &mut Writer) {
        if let Some(process) = &self.process {
            writer.line(format!("turns_{}.moved();", process.word));
        }
    }

    /// Where the process goes on from another turn.
    fn label(&self, writer: &mut Writer, label: u32) {
        writer.line(format!("goes_on = {label};"));
        writer.line("[[fallthrough]];");
        self.case(writer, label);
    }

    fn case(&self, writer: &mut Writer, label: u32) {
        writer.line(format!("case {label}:;"));
        self.axes(writer);
    }

    /// The body of a send or a receive, with the slot as its variable.
    fn transfer(&mut self, writer: &mut Writer, body: &Body, scope: &ExpansionCx) {
        self.moved(writer);
        let variable = Variable::of_let(scope.variables.len());
        let inner = self.inner(writer, scope, variable, None);
        self.body(writer, body, &inner);
    }

    fn slot(&mut self, scope: &ExpansionCx) -> String {
        let Variable { name, .. } = Variable::of_let(scope.variables.len());
        self.keep(&format!("{name} = std::int64_t{{0}}"));
        name
    }

    fn send(&mut self, writer: &mut Writer, word: u32, (channel, body): (u16, &Body), scope: &ExpansionCx) {
        let (slot, turns) = (self.slot(scope), self.turns());
        writer.line(format!("// {word}: SEND"));
        self.label(writer, 2 * word);
        writer.require("s.tick()", word);
        let is_open = format!("s.check(channels[{channel}].closed ? FaultKind::closed : FaultKind::none)");
        writer.require(&is_open, word);
        writer.open(format!("if (!channels[{channel}].begin_send({slot})) {{"));
        writer.line(format!("{turns}.waits();"));
        writer.line("return true;");
        writer.close("}");
        self.transfer(writer, body, scope);
        writer.line(format!("channels[{channel}].end_send();"));
        writer.line(format!("{turns}.sent(channels[{channel}]);"));
        writer.line(format!("goes_on = {};", 2 * word + 1));
        writer.line("return true;");
        self.case(writer, 2 * word + 1);
    }

    fn receive(
        &mut self,
        writer: &mut Writer,
        word: u32,
        (arms, all): (&[(u16, Body)], bool),
        scope: &ExpansionCx,
    ) {
        let (slot, turns) = (self.slot(scope), self.turns());
        if all {
            writer.open(format!("for (;;) {{  // {word}: SELECT_ALL"));
        } else {
            writer.line(format!("// {word}: RECV"));
        }
        self.label(writer, 2 * word);
        writer.require("s.tick()", word);
        for (number, (channel, body)) in arms.iter().enumerate() {
            let begins = format!("if (channels[{channel}].begin_receive({slot})) {{");
            match number {
                0 => writer.open(begins),
                _ => writer.turn(format!("}} else {begins}")),
            }
            self.transfer(writer, body, scope);
            writer.line(format!("channels[{channel}].end_receive();"));
            self.moved(writer);
        }
        let open: Vec<String> =
            arms.iter().map(|(channel, _)| format!("!channels[{channel}].closed")).collect();
        writer.turn(format!("}} else if ({}) {{", open.join(" || ")));
        writer.line(format!("{turns}.waits();"));
        writer.line("return true;");
        writer.turn("} else {");
        if all {
            self.moved(writer);
            writer.line("break;");
        } else {
            writer.require("s.check(FaultKind::closed)", word);
        }
        writer.close("}");
        if all {
            writer.close("}");
        }
    }

    fn turns(&self) -> String {
        format!("turns_{}", self.process.as_ref().map_or(0, |process| process.word))
    }
}
