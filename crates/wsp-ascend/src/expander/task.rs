//! Task statements as C++.

use super::body::ExpansionCx;
use super::emitter::Emitter;
use super::expr::Variable;
use super::filter::deciding;
use super::tree::{Argument, Dim, Param, Second, Task, TaskAccess};
use crate::writer::Writer;
use wsp_core::ExecPool;

impl Emitter<'_> {
    pub(super) fn task(&mut self, writer: &mut Writer, word: u32, task: &Task, scope: &ExpansionCx) {
        let kernel = &self.names.kernels[usize::from(task.kernel)];
        writer.line(format!("// {word}: TASK {kernel}"));
        writer.open(format!("if (s.mine({})) {{", scope.rule()));
        let pool = match self.program.kernels.get(usize::from(task.kernel)).map(|kernel| kernel.pool) {
            Some(pool) if pool == ExecPool::Vector as u8 => "Pool::vector",
            Some(pool) if pool == ExecPool::Cube as u8 => "Pool::cube",
            _ => "Pool::any",
        };
        let rule = scope.rule();
        writer.line(format!("Pool pool = pool_of({rule}, {pool});"));
        if scope.filters.len() == 1 {
            writer.require("configure(s, pool)", word);
        } else if deciding(&scope.filters) == 0 {
            // A pool that a filter has chosen stays; the configuration decides on the AICPU, and may be at fault.
            writer.line("Pool outside = pool;");
            writer.require(&format!("({rule}.pool < 0 || configure(s, outside))"), word);
        }
        let (params, regions) = self.arguments(writer, word, task, scope);
        let after = after(writer, task);
        let vars = listed(writer, "vars", scope.variables.iter());
        let indices = listed(writer, "indices", scope.variables.iter().filter(|variable| variable.is_index));
        let place = format!("s.ordinal, {word}, {kernel}, pool, -1, 0");
        writer.line(format!("Task task{{{place}, {params}, {regions}, {after}, {vars}, {indices}}};"));
        match scope.streams {
            None => {}
            Some((streams, None)) => {
                writer.line(format!("task.stream = static_cast<std::int32_t>(s.ordinal % {streams}u);"));
            }
            Some((streams, Some(key))) => {
                let key = self.key(key);
                writer.require(&format!("s.stream(task, {streams}u, {key})"), word);
            }
        }
        if let Some(key) = scope.priority {
            let key = self.key(key);
            writer.require(&format!("s.priority(task, {key})"), word);
        }
        writer.line("s.sink.task(s.sink.user, &task);");
        writer.turn("} else if (!s.bad.is_none()) {");
        writer.line(format!("return s.fail({word});"));
        writer.close("}");
        if let Some(label) = task.label {
            writer.line(format!("s.labels[{label}] = s.ordinal;"));
        }
        writer.line("++s.ordinal;");
    }

    /// The parameters and the regions; what names them in the record.
    fn arguments(
        &mut self,
        writer: &mut Writer,
        word: u32,
        task: &Task,
        scope: &ExpansionCx,
    ) -> (String, String) {
        let params = task.arguments.iter().filter(|argument| matches!(argument, Argument::Param(_))).count();
        let regions = task.arguments.len() - params;
        let (mut param, mut region) = (0, 0);
        for argument in &task.arguments {
            match argument {
                Argument::Param(of) => {
                    if param == 0 {
                        writer.line(format!("std::int64_t params[{params}] = {{}};"));
                    }
                    self.param(writer, (word, param), of, scope);
                    param += 1;
                }
                Argument::Access(of) => {
                    if region == 0 {
                        writer.line(format!("Region regions[{regions}];"));
                    }
                    self.access(writer, (word, region), of, scope);
                    region += 1;
                }
            }
        }
        let named = |name: &str, count| match count {
            0 => "nullptr, 0".to_owned(),
            _ => format!("{name}, {count}"),
        };
        (named("params", params), named("regions", regions))
    }

    fn param(&mut self, writer: &mut Writer, (word, at): (u32, usize), param: &Param, scope: &ExpansionCx) {
        match param {
            Param::Const(value) => writer.line(format!("params[{at}] = {value};")),
            Param::Variable(depth) => {
                let name = scope.variables.get(*depth).map_or("0", |variable| &variable.name);
                writer.line(format!("params[{at}] = {name};"));
            }
            Param::Expr(expr) => {
                let value = self.expr(*expr, &scope.variables);
                writer.require(&format!("s.set(params[{at}], {value})"), word);
            }
        }
    }

    fn access(
        &mut self,
        writer: &mut Writer,
        (word, at): (u32, usize),
        access: &TaskAccess,
        scope: &ExpansionCx,
    ) {
        let tensor = &self.names.tensors[usize::from(access.tensor)];
        let rank = self.program.tensors.get(usize::from(access.tensor)).map_or(0, |tensor| tensor.rank);
        writer.line(format!("s.whole(regions[{at}], {tensor}, AccessMode::{}, {rank});", access.mode));
        for (dimension, dim) in access.dims.iter().enumerate() {
            let (call, first, second) = match dim {
                Dim::Whole => continue,
                Dim::Index(index) => ("index", index, None),
                Dim::Range(lo, hi) => ("bound", lo, Some(hi)),
                Dim::Sized(lo, len) => ("sized", lo, Some(len)),
            };
            let first = self.expr(*first, &scope.variables);
            let second = match second {
                None => String::new(),
                Some(Second::Fixed(value)) => format!(", {value}"),
                Some(Second::Expr(expr)) => format!(", {}", self.expr(*expr, &scope.variables)),
            };
            writer.require(&format!("s.{call}(regions[{at}], {dimension}, {first}{second})"), word);
        }
    }
}

/// The tasks that a task waits for; what names them in the record.
fn after(writer: &mut Writer, task: &Task) -> String {
    if task.after.is_empty() {
        return "nullptr, 0".to_owned();
    }
    writer.line(format!("std::uint64_t after[{}] = {{}};", task.after.len()));
    writer.line("std::size_t num_after = 0;");
    for label in &task.after {
        writer.line(format!("s.after(after, num_after, {label});"));
    }
    "after, num_after".to_owned()
}

/// An array of variables; what names it in the record.
fn listed<'v>(writer: &mut Writer, name: &str, variables: impl Iterator<Item = &'v Variable>) -> String {
    let names: Vec<&str> = variables.map(|variable| &*variable.name).collect();
    if names.is_empty() {
        return "nullptr, 0".to_owned();
    }
    writer.line(format!("const std::int64_t {name}[] = {{{}}};", names.join(", ")));
    format!("{name}, {}", names.len())
}
