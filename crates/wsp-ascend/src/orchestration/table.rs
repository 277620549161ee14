//! The tasks of one launch as constants: rows in the place of what would generate them.

use super::launch::printer;
use super::workload::list;
use super::{Made, Source, quoted};
use crate::kernels::{codes, constant};
use crate::writer::Writer;
use std::fmt::Write as _;
use wsp_backend::{LaunchTable, TableArray, TableRow, TableTask};
use wsp_core::pod::{SchedTags, TaskNodePod};
use wsp_core::ptow::interp::Ordered;
use wsp_core::{CacheId, FuncId, ParamId};
use wsp_diag::Diagnostic;
use wsp_ir::{Consumer, LaunchArray, MetaKind};

/// Most rows of a table. Their text takes some 100 bytes each.
const MOST_ROWS: usize = 1 << 20;

/// What a row has beside its numbers.
#[derive(Default)]
struct Rows {
    tasks: Vec<TaskNodePod>,
    edges: Vec<u32>,
}

/// `table.inc`.
pub(super) fn text(source: &Source<'_>, table: &LaunchTable, kernels: &[Made]) -> Result<String, Diagnostic> {
    let Rows { tasks, edges } = rows(source, table, kernels)?;
    let mut out = Writer::default();
    out.line("// The tasks of a launch. Emitted by PTO-WSP; do not edit.");
    out.line("#include \"pto/wsp/backend/npu/table.hpp\"");
    out.line("");
    out.line("namespace program {");
    out.line("");
    out.line("namespace graph = pto::wsp::graph;");
    out.line("");
    out.line("// Number, kernel, domain, pool, stream, core, edges to it, edges from it, arguments, accesses, tags, where arguments and accesses begin, priority.");
    out.open("static const graph::TaskNodePod rows[] = {");
    for row in &tasks {
        let TaskNodePod { id, kernel, stream, affinity, fanin, fanout_begin, fanout_count, .. } = row;
        let TaskNodePod { num_u64_args, sched_tags, args_begin, priority, .. } = row;
        out.line(format!(
            "{{{id}, {kernel}, graph::ExecDomain::AscendAICore, graph::ExecPool::Any, {stream}, {affinity}, {fanin}, {fanout_begin}, \
             {fanout_count}, {num_u64_args}, 0, {sched_tags}, {args_begin}, 0, {priority}}},"
        ));
    }
    if tasks.is_empty() {
        out.line("{},");
    }
    out.close("};");
    numbers(&mut out, "graph::TaskId", "edges", edges.iter());
    numbers(&mut out, "std::uint64_t", "words", table.words.iter());
    let module = &source.plan.module;
    let names = kernels.iter().map(|made| quoted(&module.functions[made.kernel.index()].name));
    list(&mut out, "static const char* const", "symbols", "nullptr", names);
    let functions = kernels.iter().map(|made| made.kernel.0.to_string());
    list(&mut out, "static const std::uint32_t", "functions", "0", functions);
    out.line(format!(
        "static const TaskTable tasks = {{{{rows, {}, edges, {}, words, {}, nullptr, 0, {{symbols, {}}}}}, functions}};",
        tasks.len(),
        edges.len(),
        table.words.len(),
        kernels.len()
    ));
    out.line("");
    for (at, (_, elements)) in table.arrays.iter().enumerate() {
        numbers(&mut out, "std::int64_t", &format!("made_for_{at}"), elements.iter());
    }
    out.line("// Arrays that the tasks follow from.");
    let arrays = table.arrays.iter().enumerate();
    let arrays = arrays.map(|(at, (_, all))| format!("{{made_for_{at}, {}, IntType::i64}}", all.len()));
    list(&mut out, "static const IntArray", "arrays", "{}", arrays);
    out.line("IntArray made_for(std::size_t at) { return arrays[at]; }");
    out.line("");
    out.line("}  // namespace program");
    Ok(out.finish())
}

/// Numbers, of which there may be many: lines of some of them.
fn numbers<'n, N: std::fmt::Display + 'n>(
    out: &mut Writer,
    ty: &str,
    name: &str,
    all: impl Iterator<Item = &'n N>,
) {
    out.open(format!("static const {ty} {name}[] = {{"));
    let mut line = String::new();
    for number in all {
        // Writing to a string does not fail.
        let _ = write!(line, "{number}, ");
        if line.len() > 140 {
            out.line(std::mem::take(&mut line).trim_end());
        }
    }
    // The last is no one's: arrays have an element.
    out.line(line + "0");
    out.close("};");
}

/// Rows and the edges between them.
fn rows(source: &Source<'_>, table: &LaunchTable, kernels: &[Made]) -> Result<Rows, Diagnostic> {
    if table.rows.len() > MOST_ROWS {
        let message = format!("the launch has {} tasks; a table has {MOST_ROWS} at most", table.rows.len());
        let help = "write the package with loops, which are as long as the program";
        return Err(Diagnostic::error(codes::NOT_EMITTED, message).help(help));
    }
    let mut all = Rows::default();
    // By ordinal: the row of a task, and the rows that wait for it.
    let mut placed: Vec<u32> = Vec::new();
    let mut waits: Vec<Vec<u32>> = Vec::new();
    let (mut words, mut after) = (0u32, 0u32);
    for (id, row) in (0u32..).zip(&table.rows) {
        let plain = TaskNodePod {
            id,
            kernel: TaskNodePod::NO_KERNEL,
            stream: TaskNodePod::NONE,
            affinity: TaskNodePod::NONE,
            ..TaskNodePod::default()
        };
        let tagged = |tags: SchedTags| TaskNodePod { sched_tags: tags.0, ..plain };
        all.tasks.push(match row {
            TableRow::Fence => tagged(SchedTags::BARRIER),
            TableRow::Ordered(Ordered::Begin) => tagged(SchedTags::ORDERED_BEGIN),
            TableRow::Ordered(Ordered::Step) => tagged(SchedTags::ORDERED_STEP),
            TableRow::Ordered(Ordered::End) => tagged(SchedTags::ORDERED_END),
            TableRow::Task(task) => {
                let own = &table.words[words as usize..task.words_end as usize];
                let before = &table.after[after as usize..task.after_end as usize];
                before.iter().for_each(|ordinal| waits[*ordinal as usize].push(id));
                placed.push(id);
                waits.push(Vec::new());
                let args_begin = std::mem::replace(&mut words, task.words_end);
                after = task.after_end;
                TaskNodePod {
                    kernel: kernel(source, kernels, task, own)?,
                    stream: task.stream.unwrap_or(TaskNodePod::NONE),
                    fanin: before.len() as i32,
                    num_u64_args: own.len() as u16,
                    args_begin,
                    priority: task.priority,
                    ..plain
                }
            }
        });
    }
    for (row, waits) in placed.iter().zip(&waits) {
        let row = &mut all.tasks[*row as usize];
        row.fanout_begin = all.edges.len() as u32;
        row.fanout_count = u16::try_from(waits.len()).map_err(|_| {
            let message = format!("{} tasks wait for one: a row of a table counts {}", waits.len(), u16::MAX);
            Diagnostic::error(codes::NOT_EMITTED, message).help("write the package with loops")
        })?;
        all.edges.extend_from_slice(waits);
    }
    Ok(all)
}

/// The kernel that takes a descriptor, by its place among those of the package.
fn kernel(source: &Source<'_>, kernels: &[Made], task: &TableTask, words: &[u32]) -> Result<u16, Diagnostic> {
    let module = &source.plan.module;
    let of: Option<FuncId> = match source.workload {
        Some(workload) => workload.function(task.of),
        // Of a task graph it is the function itself.
        None if source.plan.called.is_some() => Some(FuncId(task.of)),
        None => match module.structs[task.of as usize].consumer {
            Consumer::None => None,
            Consumer::Kernel(kernel) => Some(kernel),
            Consumer::Tiers { set, field } => {
                let tier = words.get(field as usize).copied().unwrap_or(u32::MAX);
                module.tier_sets[set.index()].tiers.get(tier as usize).map(|tier| tier.kernel)
            }
        },
    };
    let at = kernels.iter().position(|made| Some(made.kernel) == of);
    at.map(|at| at as u16).ok_or_else(|| {
        let message = "a descriptor picks a tier that there is not, or has no kernel";
        Diagnostic::error(codes::NOT_EMITTED, message)
    })
}

/// Compares what a launch is given with what the tasks follow from.
pub(super) fn bind(out: &mut Writer, source: &Source<'_>, table: &LaunchTable) {
    match source.workload {
        Some(workload) => workload.is_made_for(out, table),
        None => {
            for ((at, param), value) in source.plan.module.params.iter().enumerate().zip(&table.params) {
                let Some(value) = value else { continue };
                let (name, ty) = (source.names.param(ParamId(at as u32)), param.ty.c_name());
                let value = constant(*value, param.ty);
                out.line(format!(
                    "in.is_generated_for({}, l.{name}, static_cast<{ty}>({value}));",
                    quoted(&param.name)
                ));
            }
        }
    }
    for (at, (array, _)) in table.arrays.iter().enumerate() {
        let (name, text) = match array {
            TableArray::Launch(array) => (user_name(source, *array), printer(source).launch_array(*array)),
            TableArray::Table(id) => match source.workload {
                Some(workload) => workload.table(*id),
                None => continue,
            },
        };
        out.line(format!("in.is_generated_for({}, {text}, made_for({at}));", quoted(&name)));
    }
}

/// How users call an array of a launch.
fn user_name(source: &Source<'_>, array: LaunchArray) -> String {
    let module = &source.plan.module;
    let of_cache = |id: CacheId| super::launch::user_name_of_cache(module, id.index()).unwrap_or("cache");
    match array {
        LaunchArray::Tensor(id) => super::name_of_tensor(module, id).unwrap_or_default(),
        LaunchArray::Meta(id, MetaKind::Lengths) => format!("lengths of {}", of_cache(id)),
        LaunchArray::Meta(id, MetaKind::Indptr) => format!("{}.indptr", of_cache(id)),
        LaunchArray::Meta(id, MetaKind::Indices) => format!("{}.indices", of_cache(id)),
        LaunchArray::Meta(id, MetaKind::LastPageLen) => format!("{}.last_page_len", of_cache(id)),
    }
}

/// What the sizes of a launch follow from beside its descriptors.
pub(super) fn sizes(out: &mut Writer, table: &LaunchTable) {
    table.tiles.iter().for_each(|(axis, size)| out.line(format!("s.set_tile({}, {size}u);", axis.0)));
    out.line(format!("l.workspace_bytes = {}u;", table.workspace_bytes));
}
