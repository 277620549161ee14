//! How many tasks a body has: functions that look at bounds and conditions only.
//!
//! A count returns false where it does not know: a bound is at fault, or the number is too large. Then the body is walked,
//! and the fault is found where it stands.

use super::emitter::{Emitter, Made};
use super::expr::Variable;
use super::summary::bit;
use super::tree::{Body, Kind, Loop, Statement};
use crate::writer::Writer;

impl Emitter<'_> {
    /// A call that counts a body into `to`. `variables` are those in scope in the body, as far as its number depends on
    /// them.
    pub(super) fn count(&mut self, body: &Body, variables: &[Variable], to: &str) -> String {
        let named: Vec<&Variable> = variables
            .iter()
            .enumerate()
            .filter(|(depth, _)| body.summary.depends & bit(*depth) != 0)
            .map(|(_, variable)| variable)
            .collect();
        let arguments: Vec<&str> =
            named.iter().flat_map(|v| std::iter::once(&*v.name).chain(v.position.as_deref())).collect();
        if self.made.insert(Made::Count(body.word)) {
            self.count_function(body, variables, &arguments);
        }
        let mut call = format!("count_{}(s, ", body.word);
        for argument in arguments {
            call.push_str(argument);
            call.push_str(", ");
        }
        call + to + ")"
    }

    fn count_function(&mut self, body: &Body, variables: &[Variable], parameters: &[&str]) {
        let mut writer = Writer::default();
        let mut head = format!("static bool count_{}([[maybe_unused]] State& s, ", body.word);
        for parameter in parameters {
            head.push_str(&format!("[[maybe_unused]] std::int64_t {parameter}, "));
        }
        writer.open(head + "std::uint64_t& tasks) {");
        writer.line("Tally tally;");
        self.count_statements(&mut writer, &body.statements, variables);
        writer.line("tasks = tally.tasks;");
        writer.line("return tally.known;");
        writer.close("}");
        self.functions.push(writer.finish());
    }

    fn count_statements(&mut self, writer: &mut Writer, statements: &[Statement], variables: &[Variable]) {
        let tasks = statements.iter().filter(|statement| matches!(statement.kind, Kind::Task(_))).count();
        if tasks > 0 {
            writer.line(format!("tally.add(1, {tasks});"));
        }
        for statement in statements {
            let word = statement.word;
            match &statement.kind {
                Kind::Loop(loop_) => self.count_loop(writer, word, loop_, variables),
                Kind::Cond { condition, then, otherwise } => {
                    writer.open("{");
                    let condition = self.expr(*condition, variables);
                    writer.line(format!("const Int holds_{word} = {condition};"));
                    writer.line(format!("if (!holds_{word}.ok()) return false;"));
                    writer.open(format!("if (holds_{word}.value != 0) {{"));
                    self.count_statements(writer, &then.statements, variables);
                    if let Some(otherwise) = otherwise {
                        writer.turn("} else {");
                        self.count_statements(writer, &otherwise.statements, variables);
                    }
                    writer.close("}");
                    writer.close("}");
                }
                Kind::Combine(bodies) | Kind::Sequential(bodies) => {
                    for body in bodies {
                        self.count_statements(writer, &body.statements, variables);
                    }
                }
                Kind::Let { value, body } => self.count_let(writer, word, *value, body, variables),
                Kind::Task(_)
                | Kind::While { .. }
                | Kind::Reset { .. }
                | Kind::Filter(_)
                | Kind::Channel { .. }
                | Kind::Process(_)
                | Kind::Send { .. }
                | Kind::Receive { .. }
                | Kind::Close { .. }
                | Kind::StreamBy { .. }
                | Kind::Priority { .. } => {}
            }
        }
    }

    fn count_let(&mut self, writer: &mut Writer, word: u32, value: u32, body: &Body, variables: &[Variable]) {
        let inner = with(variables, Variable::of_let(variables.len()));
        if body.summary.depends & bit(variables.len()) == 0 {
            return self.count_statements(writer, &body.statements, &inner);
        }
        writer.open("{");
        let value = self.expr(value, variables);
        writer.line(format!("const Int let_{word} = {value};"));
        writer.line(format!("if (!let_{word}.ok()) return false;"));
        writer.line(format!("const std::int64_t {} = let_{word}.value;", inner[variables.len()].name));
        self.count_statements(writer, &body.statements, &inner);
        writer.close("}");
    }

    fn count_loop(&mut self, writer: &mut Writer, word: u32, loop_: &Loop, variables: &[Variable]) {
        let body = &loop_.body;
        let name = format!("loop_{word}");
        writer.open("{");
        writer.line(format!("Loop {name};"));
        let enter = self.enter(&name, &loop_.over, variables);
        writer.line(format!("if (!{enter}) return false;"));
        let inner = with(variables, Variable::of_loop(self.names, loop_, variables.len()));
        let each = format!("each_{word}");
        if let Some(fixed) = body.summary.fixed {
            writer.line(format!("tally.add({name}.trips, {fixed});"));
        } else if body.summary.depends & bit(variables.len()) == 0 {
            writer.line(format!("std::uint64_t {each} = 0;"));
            let count = self.count(body, &inner, &each);
            writer.line(format!("if ({name}.trips > 0 && !{count}) return false;"));
            writer.line(format!("tally.add({name}.trips, {each});"));
        } else {
            writer.open(format!("for (std::uint64_t i = 0; i < {name}.trips; ++i) {{"));
            writer.line("if (!s.look()) return false;");
            define(writer, loop_, &name, "i", &inner[variables.len()]);
            writer.line(format!("std::uint64_t {each} = 0;"));
            let count = self.count(body, &inner, &each);
            writer.line(format!("if (!{count}) return false;"));
            writer.line(format!("tally.add(1, {each});"));
            writer.close("}");
        }
        writer.close("}");
    }
}

/// Defines the variable of an iteration.
pub(super) fn define(writer: &mut Writer, loop_: &Loop, name: &str, iteration: &str, variable: &Variable) {
    let read = if loop_.is_sparse() { "column" } else { "at" };
    writer
        .line(format!("[[maybe_unused]] const std::int64_t {} = {name}.{read}({iteration});", variable.name));
    if let Some(position) = &variable.position {
        writer.line(format!("[[maybe_unused]] const std::int64_t {position} = {name}.at({iteration});"));
    }
}

/// Variables with one more.
pub(super) fn with(variables: &[Variable], variable: Variable) -> Vec<Variable> {
    let mut variables = variables.to_vec();
    variables.push(variable);
    variables
}
