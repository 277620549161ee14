//! Bodies: every statement as C++ of the main function, whose loops leave out what other AICPUs own.

use super::count::{define, with};
use super::emitter::Emitter;
use super::expr::{Variable, is_even_in};
use super::filter::{InForce, Relation, relation};
use super::summary::bit;
use super::tree::{Body, Filter, Kind, Loop, Policy, Statement};
use crate::writer::Writer;

/// What holds where a statement stands.
#[derive(Clone)]
pub(super) struct ExpansionCx {
    /// Variables in scope, outermost first.
    pub(super) variables: Vec<Variable>,
    /// The configuration, then the filters around, outermost first.
    pub(super) filters: Vec<InForce>,
    /// The number of streams, and the key that picks one.
    pub(super) streams: Option<(u32, Option<u32>)>,
    pub(super) priority: Option<u32>,
}

impl ExpansionCx {
    /// The name of the rule that decides.
    pub(super) fn rule(&self) -> &str {
        self.filters.last().map_or("rule", |in_force| &in_force.rule)
    }
}

impl Emitter<'_> {
    /// A body. What its attributes set holds to its end.
    pub(super) fn body(&mut self, writer: &mut Writer, body: &Body, scope: &ExpansionCx) {
        let mut scope = scope.clone();
        for statement in &body.statements {
            self.statement(writer, statement, &mut scope);
        }
    }

    fn statement(&mut self, writer: &mut Writer, statement: &Statement, scope: &mut ExpansionCx) {
        let word = statement.word;
        if self.process.is_some() && statement.waits() {
            return self.waiting(writer, statement, scope);
        }
        match &statement.kind {
            Kind::Loop(loop_) => self.for_loop(writer, word, loop_, scope),
            Kind::Task(task) => self.task(writer, word, task, scope),
            Kind::Cond { condition, then, otherwise } => {
                self.cond(writer, (word, *condition), then, otherwise.as_ref(), scope);
            }
            Kind::Combine(bodies) => {
                for body in bodies {
                    writer.open(format!("{{  // {word}: COMBINE"));
                    self.body(writer, body, scope);
                    writer.close("}");
                }
            }
            Kind::Sequential(bodies) => {
                for (body, event) in
                    bodies.iter().zip(std::iter::once("begin").chain(std::iter::repeat("step")))
                {
                    writer.line(format!("s.tell(Ordered::{event});"));
                    writer.open(format!("{{  // {word}: SEQUENTIAL"));
                    self.body(writer, body, scope);
                    writer.close("}");
                }
                if !bodies.is_empty() {
                    writer.line("s.tell(Ordered::end);");
                }
            }
            Kind::While { condition, most, body } => {
                self.rounds(writer, word, (*condition, *most), body, scope);
            }
            Kind::Let { value, body } => self.bind(writer, (word, *value), body, scope),
            Kind::Reset { label, count } => {
                let end = label.saturating_add(*count);
                writer
                    .line(format!("for (std::uint32_t i = {label}; i < {end}u; ++i) s.labels[i] = nothing;"));
            }
            Kind::Filter(filter) => {
                writer.line(format!("// {word}: DISPATCH_FILTER"));
                self.begin_filter(writer, &mut scope.filters, (word, filter), &scope.variables);
            }
            Kind::StreamBy { streams, key } => scope.streams = Some(((*streams).max(1), *key)),
            Kind::Priority { key } => scope.priority = Some(*key),
            Kind::Channel { .. }
            | Kind::Process(_)
            | Kind::Send { .. }
            | Kind::Receive { .. }
            | Kind::Close { .. } => {
                self.turn(writer, statement, scope);
            }
        }
    }

    fn cond(
        &mut self,
        writer: &mut Writer,
        (word, condition): (u32, u32),
        then: &Body,
        otherwise: Option<&Body>,
        scope: &ExpansionCx,
    ) {
        writer.line(format!("// {word}: COND"));
        writer.open("{");
        let condition = self.expr(condition, &scope.variables);
        writer.line(format!("const Int holds_{word} = {condition};"));
        writer.require(&format!("s.check(holds_{word}.bad)"), word);
        writer.open(format!("if (holds_{word}.value != 0) {{"));
        self.body(writer, then, scope);
        if let Some(otherwise) = otherwise {
            writer.turn("} else {");
            self.body(writer, otherwise, scope);
        }
        writer.close("}");
        writer.close("}");
    }

    fn bind(&mut self, writer: &mut Writer, (word, value): (u32, u32), body: &Body, scope: &ExpansionCx) {
        writer.open(format!("{{  // {word}: LET"));
        let value = self.expr(value, &scope.variables);
        writer.line(format!("const Int let_{word} = {value};"));
        writer.require(&format!("s.check(let_{word}.bad)"), word);
        let variable = Variable::of_let(scope.variables.len());
        let name = &variable.name;
        writer.line(format!("[[maybe_unused]] const std::int64_t {name} = let_{word}.value;"));
        let inner = self.inner(writer, scope, variable, None);
        self.body(writer, body, &inner);
        writer.close("}");
    }

    /// The scope inside a statement that brings a variable, which is defined.
    pub(super) fn inner(
        &mut self,
        writer: &mut Writer,
        scope: &ExpansionCx,
        variable: Variable,
        axis: Option<u16>,
    ) -> ExpansionCx {
        let mut inner = ExpansionCx { variables: with(&scope.variables, variable), ..scope.clone() };
        self.look_at_variable(writer, &mut inner.filters, axis, &inner.variables);
        inner
    }

    fn rounds(
        &mut self,
        writer: &mut Writer,
        word: u32,
        (condition, most): (u32, Option<u32>),
        body: &Body,
        scope: &ExpansionCx,
    ) {
        writer.line(format!("// {word}: WHILE"));
        writer.open("{");
        let most = match most {
            Some(most) => self.expr(most, &scope.variables),
            None => "static_cast<std::int64_t>(max_while_rounds)".to_owned(),
        };
        writer.line(format!("const Int most_{word} = {most};"));
        writer.require(&format!("s.check(most_{word}.bad)"), word);
        let variable = Variable::of_rounds(scope.variables.len());
        let round = variable.name.clone();
        writer.open(format!("for (std::int64_t {round} = 0;; ++{round}) {{"));
        let inner_variables = with(&scope.variables, variable.clone());
        let condition = self.expr(condition, &inner_variables);
        writer.line(format!("const Int holds_{word} = {condition};"));
        writer.require(&format!("s.check(holds_{word}.bad)"), word);
        writer.open(format!("if (holds_{word}.value == 0) {{"));
        writer.line(format!("if ({round} > 0) s.tell(Ordered::end);"));
        writer.line("break;");
        writer.close("}");
        let more = format!("({round} < most_{word}.value || s.check(FaultKind::rounds))");
        writer.require(&more, word);
        writer.require("s.tick()", word);
        writer.line(format!("s.tell({round} == 0 ? Ordered::begin : Ordered::step);"));
        let inner = self.inner(writer, scope, variable, None);
        self.body(writer, body, &inner);
        writer.close("}");
        writer.close("}");
    }

    fn for_loop(&mut self, writer: &mut Writer, word: u32, loop_: &Loop, scope: &ExpansionCx) {
        let mnemonic = loop_.op.info().mnemonic;
        let axis = &self.names.axes[usize::from(loop_.axis)];
        writer.line(format!("// {word}: {mnemonic} over {axis}"));
        writer.open("{");
        writer.line(format!("Loop loop_{word};"));
        let enter = self.enter(&format!("loop_{word}"), &loop_.over, &scope.variables);
        writer.require(&enter, word);
        let tracked = self.key_axes.contains(&loop_.axis).then(|| axis.clone());
        if let Some(axis) = &tracked {
            writer.line(format!("const std::int64_t outer_{word} = s.axis[{axis}];"));
        }
        writer.line(format!("Visit visit_{word}(s, loop_{word});"));
        let place = (scope.variables.len(), loop_.axis);
        let relation = relation(self.program, &scope.filters, place, &loop_.body.summary);
        let visits = self.visits(writer, word, loop_, scope, &relation);
        if loop_.is_ordered() {
            writer.line(format!("if (visit_{word}.any()) s.tell(Ordered::begin);"));
        }
        let head = format!("std::uint64_t i_{word} = visit_{word}.first(); i_{word} < loop_{word}.trips;");
        writer.open(format!("for ({head} i_{word} = visit_{word}.next(i_{word})) {{"));
        writer.require("s.tick()", word);
        writer.line(format!("visit_{word}.begin(i_{word});"));
        let variable = Variable::of_loop(self.names, loop_, scope.variables.len());
        define(writer, loop_, &format!("loop_{word}"), &format!("i_{word}"), &variable);
        if let Some(axis) = &tracked {
            writer.line(format!("s.axis[{axis}] = {};", variable.name));
        }
        let inner = self.inner(writer, scope, variable, Some(loop_.axis));
        self.leave_out(writer, word, loop_, &inner, &visits);
        if loop_.is_ordered() {
            writer.line(format!("if (i_{word} > 0) s.tell(Ordered::step);"));
        }
        self.body(writer, &loop_.body, &inner);
        writer.close("}");
        writer.line(format!("visit_{word}.end();"));
        if let Some(axis) = &tracked {
            writer.line(format!("s.axis[{axis}] = outer_{word};"));
        }
        if loop_.is_ordered() {
            writer.line(format!("if (visit_{word}.any()) s.tell(Ordered::end);"));
        }
        writer.close("}");
    }

    /// Finds out at the entry of a loop which iterations to visit, and says what is left to do in each.
    fn visits(
        &mut self,
        writer: &mut Writer,
        word: u32,
        loop_: &Loop,
        scope: &ExpansionCx,
        relation: &Relation,
    ) -> Visits {
        let summary = &loop_.body.summary;
        let depth = scope.variables.len();
        if summary.uncountable || summary.filters || relation.deeper {
            return Visits::All;
        }
        if summary.depends & bit(depth) != 0 {
            return Visits::Counting;
        }
        if let Some(fixed) = summary.fixed {
            writer.line(format!("visit_{word}.each({fixed});"));
        } else {
            writer.line(format!("std::uint64_t tasks_{word} = 0;"));
            let variable = Variable::of_loop(self.names, loop_, depth);
            let count = self.count(&loop_.body, &with(&scope.variables, variable), &format!("tasks_{word}"));
            let known = format!("loop_{word}.trips > 0 && s.shared() && {count}");
            writer.line(format!("if ({known}) visit_{word}.each(tasks_{word});"));
        }
        if !relation.own {
            let rule = scope.rule();
            if relation.only_config {
                let deepest = summary.deepest(depth);
                writer.line(format!("visit_{word}.by_config({rule}, {depth}, {deepest});"));
            } else {
                writer.line(format!("visit_{word}.by_rule({rule});"));
            }
            let looks = relation.config && (loop_.is_sparse() || !relation.only_config);
            return if looks { Visits::Testing } else { Visits::Found };
        }
        if self.by_key(writer, word, loop_, scope) { Visits::Found } else { Visits::Testing }
    }

    /// Where the owner follows from the loop's variable in even steps, finds the iterations of this AICPU.
    fn by_key(&mut self, writer: &mut Writer, word: u32, loop_: &Loop, scope: &ExpansionCx) -> bool {
        let policy = match scope.filters.last().map(|in_force| &in_force.filter) {
            Some(Filter::Policy(policy)) if !loop_.is_sparse() => *policy,
            _ => return false,
        };
        let last = format!("loop_{word}.trips - 1");
        match policy {
            Policy::Affinity(_) => {
                let at = |i: &str| format!("loop_{word}.at({i})");
                let (first, second, last) = (at("0"), at("1"), at(&last));
                writer.line(format!("visit_{word}.by_key({first}, {second}, {last});"));
                true
            }
            Policy::Key(key) if is_even_in(self.program, key, loop_.axis) => {
                let value = self.key(key);
                let axis = &self.names.axes[usize::from(loop_.axis)];
                writer.open(format!("const auto key_of_{word} = [&](std::uint64_t i) {{"));
                writer.line(format!("s.axis[{axis}] = loop_{word}.at(i);"));
                writer.line(format!("return {value};"));
                writer.close("};");
                let at = |i: &str| format!("key_of_{word}({i})");
                let (first, second, last) = (at("0"), at("1"), at(&last));
                writer.line(format!("visit_{word}.by_key({first}, {second}, {last});"));
                true
            }
            _ => false,
        }
    }

    /// Goes on to the next iteration when this one has no task of this AICPU.
    fn leave_out(
        &mut self,
        writer: &mut Writer,
        word: u32,
        loop_: &Loop,
        inner: &ExpansionCx,
        visits: &Visits,
    ) {
        let rule = inner.rule();
        match visits {
            Visits::All | Visits::Found => {}
            Visits::Testing => writer.line(format!("if (visit_{word}.skips({rule})) continue;")),
            Visits::Counting => {
                writer.line(format!("std::uint64_t tasks_{word} = 0;"));
                let count = self.count(&loop_.body, &inner.variables, &format!("tasks_{word}"));
                let leave = format!("s.may_skip({rule}) && {count} && s.skips({rule}, tasks_{word})");
                writer.open(format!("if ({leave}) {{"));
                writer.line(format!("s.ordinal += tasks_{word};"));
                writer.line("continue;");
                writer.close("}");
            }
        }
    }
}

/// How the iterations of a loop are left out that hold no task of this AICPU.
enum Visits {
    /// They are not.
    All,
    /// At the entry of the loop.
    Found,
    /// In each iteration: all have the same number of tasks.
    Testing,
    /// In each iteration, whose tasks are counted.
    Counting,
}
