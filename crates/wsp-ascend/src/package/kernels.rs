//! What a package says of its tasks: a list, numbers, arguments, and the task of a number.

use crate::kernels::{Argument, ArgumentKind, KernelSource, codes};
use crate::orchestration::Made;
use crate::writer::Writer;
use wsp_core::{ExecPool, FuncId};
use wsp_diag::Diagnostic;

/// A task that cores run.
pub(super) struct Task<'a> {
    /// Its constant: `ATTN_KERNEL`.
    id: String,
    /// The struct of its arguments: `AttnParams`.
    params: String,
    pub(super) source: &'a KernelSource,
    /// Whether the host runs it, and no core.
    pub(super) on_host: bool,
    /// What it is of the program, for people.
    of: String,
}

/// Every task of the kernels, by number.
///
/// # Errors
/// Two whose names differ in case alone, whose files would have one name on some systems, or a kernel that is called as a part of another.
pub(super) fn tasks<'a>(made: &'a [Made], on_host: &[FuncId]) -> Result<Vec<Task<'a>>, Vec<Diagnostic>> {
    let mut all: Vec<Task<'_>> = Vec::new();
    let mut found = Vec::new();
    for made in made {
        let on_host = on_host.contains(&made.kernel);
        let own = std::slice::from_ref(&made.source);
        let sources = if made.source.tasks.is_empty() { own } else { &made.source.tasks };
        for source in sources {
            let (id, mut params) = (constant(&source.name), params(&source.name));
            if all.iter().any(|other| other.params == params) {
                // That of `k1_0` and of `k10`. No other ends in a digit.
                params += &all.len().to_string();
            }
            let whole = &made.source.program.name;
            let of = match made.source.tasks.is_empty() {
                true => format!("kernel `{whole}`"),
                false => format!("part `{}` of kernel `{whole}`", source.name),
            };
            if let Some(other) = all.iter().find(|other| other.id == id) {
                let message = format!("{} and {of} have one name in C++: `{id}`", other.of);
                let is_part = |of: &str| of.starts_with("part ");
                let help = match is_part(&of) || is_part(&other.of) {
                    true => {
                        "give one of the kernels another name: parts of a kernel have its name with a number behind it"
                    }
                    false => "give the kernels names that differ in more than case",
                };
                found.push(Diagnostic::error(codes::SAME_NAME, message).help(help));
            }
            all.push(Task { id, params, source, on_host, of });
        }
    }
    if found.is_empty() { Ok(all) } else { Err(found) }
}

/// `ATTN_KERNEL` of `attn_kernel`. Others end so that they are no macro: `NULL`, `NAN`.
fn constant(name: &str) -> String {
    let upper = name.to_uppercase();
    if upper.ends_with("_KERNEL") { upper } else { upper + "_TASK" }
}

/// `AttnParams` of `attn_kernel`.
fn params(name: &str) -> String {
    let stem = name.strip_suffix("_kernel").unwrap_or(name);
    let word = |word: &str| {
        let mut letters = word.chars();
        letters.next().map_or(String::new(), |first| first.to_uppercase().to_string() + letters.as_str())
    };
    stem.split('_').map(word).collect::<String>() + "Params"
}

/// `kernel_list.h`.
pub(super) fn list(tasks: &[Task<'_>]) -> String {
    let mut out = Writer::default();
    out.line("// Every task that cores run: its constant, its name, the struct of its arguments, the cores that run it.");
    out.line("// Emitted by PTO-WSP; do not edit.");
    out.line("#pragma once");
    out.line("");
    out.line("#include \"pto/wsp/version.hpp\"");
    out.line("");
    let (host, cores): (Vec<&Task<'_>>, Vec<&Task<'_>>) = tasks.iter().partition(|task| task.on_host);
    if host.is_empty() {
        one_list(&mut out, "KERNEL_LIST", &cores);
        return out.finish();
    }
    one_list(&mut out, "CORE_KERNEL_LIST", &cores);
    out.line("");
    out.line("// Those that the host runs.");
    one_list(&mut out, "HOST_KERNEL_LIST", &host);
    out.line("");
    out.line("#define KERNEL_LIST(X) CORE_KERNEL_LIST(X) HOST_KERNEL_LIST(X)");
    out.finish()
}

fn one_list(out: &mut Writer, name: &str, tasks: &[&Task<'_>]) {
    // What takes the list has no name of a kernel, which it would stand for.
    let mut each = "X".to_owned();
    while tasks.iter().any(|task| task.source.name == each) {
        each.push('_');
    }
    out.line(format!("#define {name}({each})") + if tasks.is_empty() { "" } else { " \\" });
    for (at, task) in tasks.iter().enumerate() {
        let unit = match task.source.unit {
            _ if task.on_host => "Host",
            ExecPool::Cube => "Cube",
            ExecPool::Vector => "Vector",
            ExecPool::Any => "Both",
        };
        let end = if at + 1 < tasks.len() { " \\" } else { "" };
        out.line(format!("    {each}({}, {}, {}, {unit}){end}", task.id, task.source.name, task.params));
    }
}

/// `kernel_ids.h`.
pub(super) fn ids() -> String {
    "// Numbers of tasks: the same for what generates and what runs them. Emitted by PTO-WSP; do not edit.\n\
     #pragma once\n\n\
     #include <cstdint>\n\n\
     #include \"kernel_list.h\"\n\n\
     enum KernelNumber : std::uint16_t {\n\
     #define KERNEL_NUMBER(id, name, params, unit) id,\n    \
         KERNEL_LIST(KERNEL_NUMBER)\n\
     #undef KERNEL_NUMBER\n    \
         NUM_KERNELS\n\
     };\n\n\
     // The same by the names of kernels, which end so that none is a word or a macro of C++.\n\
     enum class KernelId : std::uint16_t {\n\
     #define KERNEL_ID(id, name, params, unit) name##_kernel = id,\n    \
         KERNEL_LIST(KERNEL_ID)\n\
     #undef KERNEL_ID\n\
     };\n"
        .to_owned()
}

/// `task_abi.h`.
pub(super) fn abi(tasks: &[Task<'_>]) -> String {
    let mut out = Writer::default();
    out.line("// Arguments of tasks: tensors in order, then numbers, each in a word of 64 bits. Emitted by PTO-WSP; do not edit.");
    out.line("#pragma once");
    out.line("");
    out.line("#include \"pto/wsp/backend/npu/task_sink.hpp\"");
    out.line("");
    for task in tasks {
        let arrays = count(task.source, |kind| matches!(kind, ArgumentKind::Array { .. }));
        let numbers = task.source.arguments.len() - arrays;
        out.open(format!("struct {} {{", task.params));
        out.line(format!("static constexpr std::size_t tensors = {arrays};"));
        out.line(format!("static constexpr std::size_t scalars = {numbers};"));
        for Argument { name, kind } in &task.source.arguments {
            match kind {
                ArgumentKind::Array { elem, read, written, .. } => {
                    let does = match (read, written) {
                        (true, true) => "read and written",
                        (false, true) => "written",
                        (_, false) => "read",
                    };
                    out.line(format!("std::int64_t {name};  // tensor of {elem}, {does}"));
                }
                ArgumentKind::Number { ty, .. } => {
                    out.line(format!("std::int64_t {name};  // {}", ty.c_name()));
                }
            }
        }
        if task.source.arguments.is_empty() {
            out.line("std::int64_t none;");
        }
        out.close("};");
        let words = task.source.arguments.len().max(1);
        let name = &task.params;
        out.line(format!(
            "static_assert(sizeof({name}) == {words} * sizeof(std::int64_t), \"arguments are words\");"
        ));
        out.line(format!(
            "static_assert({name}::tensors <= pto::wsp::backend::npu::max_task_tensors && {name}::scalars <= \
             pto::wsp::backend::npu::max_task_scalars, \"a task has room for them\");"
        ));
        out.line("");
    }
    out.finish()
}

fn count(source: &KernelSource, test: impl Fn(&ArgumentKind) -> bool) -> usize {
    source.arguments.iter().filter(|argument| test(&argument.kind)).count()
}

/// `aicore_dispatch.cpp`: each kernel is compiled by itself, with an entry of its own name.
pub(super) fn dispatch(tasks: &[Task<'_>]) -> String {
    let mut out = Writer::default();
    out.line("// Runs the task of a number. Emitted by PTO-WSP; do not edit.");
    out.line("//");
    out.line("// Every file of kernels is compiled with -Dkernel_entry=NAME_wrapper; with WSP_ONE_FILE all are part of this one.");
    out.line("#include \"kernel_ids.h\"");
    out.line("#include \"task_abi.h\"");
    out.line("");
    out.line("#if defined(WSP_ONE_FILE)");
    let list = if tasks.iter().any(|task| task.on_host) { "CORE_KERNEL_LIST" } else { "KERNEL_LIST" };
    include(&mut out, tasks.iter().filter(|task| !task.on_host));
    out.line("#else");
    out.line("#define KERNEL_WRAPPER(id, name, params, unit) extern \"C\" void name##_wrapper(std::int64_t* args);");
    out.line(format!("{list}(KERNEL_WRAPPER)"));
    out.line("#undef KERNEL_WRAPPER");
    out.line("#endif");
    out.line("");
    switch(&mut out, "bool aicore_dispatch", list);
    out.finish()
}

/// The files of tasks, each with an entry of its own name.
pub(super) fn include<'a>(out: &mut Writer, tasks: impl Iterator<Item = &'a Task<'a>>) {
    for task in tasks {
        let name = &task.source.name;
        out.line(format!("#define kernel_entry {name}_wrapper"));
        out.line(format!("#include \"kernels/{name}.cpp\""));
        out.line("#undef kernel_entry");
    }
}

/// A function that runs the task of a number, of those in a list; false where there is none.
pub(super) fn switch(out: &mut Writer, function: &str, list: &str) {
    out.open(format!("{function}(std::uint16_t kernel, std::int64_t* args) {{"));
    out.open("switch (kernel) {");
    out.line("#define DISPATCH_CASE(id, name, params, unit) case id: name##_wrapper(args); return true;");
    out.line(format!("{list}(DISPATCH_CASE)"));
    out.line("#undef DISPATCH_CASE");
    out.line("default: return false;");
    out.close("}");
    out.close("}");
}
