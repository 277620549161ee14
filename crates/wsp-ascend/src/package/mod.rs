//! Packages: a program as a folder of C++ that is built and run without this project.
//!
//! | file | what it is |
//! |---|---|
//! | `kernels/NAME.cpp`, `.hpp` | kernels, and what runs the tasks of a kernel that has several |
//! | `kernel_list.h`, `kernel_ids.h` | every task that cores run, as an X-macro, and their numbers |
//! | `task_abi.h` | the arguments of each |
//! | `program.hpp`, `orchestration.cpp` | the launch, and what generates its tasks |
//! | `places.hpp` | where the expressions of these stand in the source |
//! | `expander.inc` | of a workload, its tasks as loops |
//! | `aicore_dispatch.cpp` | the task of a number |
//! | `host_kernels.hpp` | the kernels that the host runs, where a workload has some |
//! | `main.cpp`, `host/` | a program of the host that runs the launch on simulated cores; `host/instructions.cpp`, `host/inputs.cpp` and `host/run.cpp` are the same for all |
//! | `include/` | headers of the above |
//! | `CMakeLists.txt`, `manifest.json` | how it is built, and what it was made from |

mod arrays;
mod build;
mod host_kernels;
mod kernels;
mod manifest;
mod unit;
mod walk;
mod workload;

use crate::kernels::{Chip, codes, emit_kernel_of, files};
use crate::orchestration::{self, Generated, Made};
use crate::places;
use crate::{expander, host, runtime_headers};
use std::num::NonZero;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, Builder, ScopedJoinHandle};
use wsp_backend::codes::NO_FILES;
use wsp_backend::{ArrayForm, EmitOptions, Emitted, Expansion, KvLayout, MANIFEST, Package, PackagePart};
use wsp_core::{AccessKind, DType, FuncId, ParamId, TensorId};
use wsp_diag::{Diagnostic, Diagnostics};
use wsp_ir::{Const, Consumer, Dim, Elem, ExprKind, Module, ParamSource, Storage, into_verified};
use wsp_ordered::Arrange;
use wsp_plan::{Array, Arrays, LoweredPlan, Target};
use wsp_tile::Known;

pub use build::{COMMON_SOURCES, OWN_SOURCES};
pub(crate) use unit::Unit;
pub(crate) use workload::Source;

/// A program as a package.
///
/// # Errors
/// What of it has no form in C++, and what is not known.
pub(crate) fn emit(
    source: &Source<'_>,
    target: &'static Target,
    options: &EmitOptions,
) -> Result<Emitted, Diagnostics> {
    let Some(chip) = Chip::of(target.platform) else {
        let message = format!("target `{}` has no packages", target.name);
        return Err(Diagnostic::error(NO_FILES, message).into());
    };
    host_kernels::refuse_alone(source, options.part)?;
    let plan: &LoweredPlan = &source.plan;
    let reached = reached(plan)?;
    let params = parameters(plan, options, &reached)?;
    let elems = elements(plan, options);
    let known = Known { params: &params, elems: &elems };
    let (mut made, notes) = kernels_of(plan, &reached, known, chip)?;
    host_kernels::place(&mut made, &source.on_host);
    let pruned = source.has_edges.then(|| unit::without_regions(plan, &made));
    let plan = pruned.as_ref().unwrap_or(plan);
    let workload = source.workload.as_ref();
    let generated = Generated { workload, walk: source.walk.as_ref(), expansion: &options.expansion };
    let text = orchestration::emit(plan, known, &made, &generated).map_err(Diagnostics)?;
    host_kernels::refuse(source, plan, &made)?;
    let tasks = kernels::tasks(&made, &source.on_host).map_err(Diagnostics)?;
    let mut package = Package::default();
    let mut add = |path: &str, text: String| package.files.push((PathBuf::from(path), text.into_bytes()));
    for made in &made {
        let source = &made.source;
        let whole = if source.tasks.is_empty() { "cpp" } else { "hpp" };
        add(&format!("kernels/{}.{whole}", source.name), source.text.clone());
        for task in &source.tasks {
            add(&format!("kernels/{}.cpp", task.name), task.text.clone());
        }
    }
    add("kernel_list.h", kernels::list(&tasks));
    add("kernel_ids.h", kernels::ids());
    add("task_abi.h", kernels::abi(&tasks));
    add("aicore_dispatch.cpp", kernels::dispatch(&tasks));
    add("program.hpp", text.header);
    add(places::FILE, text.places);
    let runtime = if source.on_host.is_empty() { RUNTIME } else { host_kernels::NO_RUNTIME };
    add("orchestration.cpp", text.source + runtime);
    if let Some((path, text)) = text.included {
        add(path, text);
    }
    if !source.on_host.is_empty() {
        add("host_kernels.hpp", host_kernels::text(&tasks));
    }
    add("main.cpp", build::main(!source.on_host.is_empty()));
    let links_device =
        (workload.is_some() || source.walk.is_some()) && options.expansion == Expansion::Bytecode;
    add("CMakeLists.txt", build::cmake(chip, &tasks, links_device, options.part));
    let of_walk: &[_] = if source.walk.is_some() { &crate::GRAPH_WALK } else { &[] };
    use runtime_headers::{EXECUTOR, HOST_RUN, TASK_RUNTIME};
    let headers = [expander::HEADERS, crate::HEADERS, EXECUTOR, HOST_RUN, TASK_RUNTIME];
    let of_expansion =
        crate::header_of(&options.expansion, workload.is_some()).filter(|_| of_walk.is_empty());
    let headers = headers.into_iter().flatten().chain(of_expansion);
    for (path, text) in headers.chain(of_walk.iter().map(|path| (*path, crate::headers::text(path)))) {
        add(&format!("include/{path}"), text.to_owned());
    }
    for (path, text) in host::FILES.into_iter().chain(host::SOURCES) {
        add(&format!("host/{path}"), text.to_owned());
    }
    package.files.retain(|(path, _)| is_of(options.part, path));
    let manifest = manifest::text(&plan.module, target, &params, &elems, &package);
    package.links_device = links_device;
    package.files.push((PathBuf::from(MANIFEST), manifest.into_bytes()));
    let mut found = plan.notes.clone();
    found.extend(notes);
    found.extend(source.notes.iter().cloned());
    Ok(Emitted { package, notes: found })
}

/// Whether a file belongs to a part of a package.
fn is_of(part: PackagePart, path: &Path) -> bool {
    match part {
        PackagePart::Whole | PackagePart::Graphs => true,
        PackagePart::Kernels => path.starts_with("kernels"),
        PackagePart::Metadata => {
            ["kernel_list.h", "kernel_ids.h", "task_abi.h"].iter().any(|own| path == Path::new(own))
        }
        PackagePart::Device => {
            !path.starts_with("host") && path != Path::new("main.cpp") && !is_of_host(path)
        }
    }
}

/// Whether a header runs the executor on a host.
fn is_of_host(path: &Path) -> bool {
    path.strip_prefix("include")
        .is_ok_and(|path| runtime_headers::HOST_RUN.paths().iter().any(|own| path == Path::new(own)))
}

/// The end of `orchestration.cpp`, which the executor of this project has no part of.
const RUNTIME: &str = "
#if defined(WSP_TASK_RUNTIME)
#include \"pto/wsp/backend/npu/runtime_entry.hpp\"
WSP_RUNTIME_ENTRY(program)
#endif
";

/// The kernels that tasks call, or that descriptors reach.
fn reached(plan: &LoweredPlan) -> Result<Vec<FuncId>, Diagnostic> {
    if let Some(called) = &plan.called {
        return match called.is_empty() {
            true => Err(Diagnostic::error(codes::NO_KERNELS, "the workload has no task")),
            false => Ok(called.clone()),
        };
    }
    let mut reached: Vec<FuncId> = Vec::new();
    let mut reach = |kernel: FuncId| {
        if !reached.contains(&kernel) {
            reached.push(kernel);
        }
    };
    for def in &plan.module.structs {
        match def.consumer {
            Consumer::None => {}
            Consumer::Kernel(kernel) => reach(kernel),
            Consumer::Tiers { set, .. } => {
                plan.module.tier_sets[set.index()].tiers.iter().for_each(|tier| reach(tier.kernel));
            }
        }
    }
    if reached.is_empty() {
        return Err(Diagnostic::error(codes::NO_KERNELS, "no descriptor of the program has a kernel"));
    }
    Ok(reached)
}

/// Kernels as C++.
fn kernels_of(
    plan: &LoweredPlan,
    reached: &[FuncId],
    known: Known<'_>,
    chip: Chip,
) -> Result<(Vec<Made>, Vec<Diagnostic>), Diagnostics> {
    let mut module = plan.module.clone();
    files::names_apart(&mut module, reached);
    let module = into_verified(module)?;
    let (mut made, mut notes, mut found) = (Vec::new(), Vec::new(), Vec::new());
    let emitted = each(reached, |kernel| {
        let function = &module.functions[kernel.index()];
        let missing = files::missing(&module, function, known.params);
        if !missing.is_empty() {
            let elements = crate::kernels::known_elements(&module, function, known).err();
            return Err((missing.into_iter().chain(elements.into_iter().flatten()).collect(), true));
        }
        emit_kernel_of(&module, *kernel, known, chip, plan.sources.as_deref()).map_err(|found| (found, false))
    });
    for (kernel, emitted) in reached.iter().copied().zip(emitted) {
        let name = &plan.module.functions[kernel.index()].name;
        match emitted {
            Ok(mut source) => {
                notes.extend(files::named(source.notes.clone(), name));
                source.program.name.clone_from(name);
                made.push(Made { kernel, source });
            }
            Err((faults, true)) => faults.into_iter().for_each(|one| join(&mut found, one)),
            Err((faults, false)) => found.extend(files::named(faults, name)),
        }
    }
    if found.is_empty() { Ok((made, notes)) } else { Err(Diagnostics(found)) }
}

/// Bytes of the stacks of threads that write kernels, as of those that compile for Python.
const STACK_BYTES: usize = 16 << 20;

/// What a function gives for each of some things, in their order, by as many threads as there are processors. All have the same stack, whatever that of
/// the caller is: which thread takes what is not known before.
fn each<T: Sync, R: Send>(of: &[T], f: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let work = || {
        // Relaxed: the counter only hands out numbers.
        let taken = std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
        taken.take_while(|at| *at < of.len()).map(|at| (at, f(&of[at]))).collect::<Vec<_>>()
    };
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(of.len());
    let mut done = thread::scope(|scope| {
        // Where a thread cannot be started the others do its work, and the caller where none can.
        let start = |_| Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, work).ok();
        let started: Vec<_> = (0..threads).filter_map(start).collect();
        if started.is_empty() {
            return work();
        }
        let join =
            |one: ScopedJoinHandle<'_, Vec<_>>| one.join().unwrap_or_else(|panic| resume_unwind(panic));
        started.into_iter().flat_map(join).collect()
    });
    done.arrange_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Adds a finding. What several kernels need is one, with the notes of each.
fn join(found: &mut Vec<Diagnostic>, one: Diagnostic) {
    let is_it = |other: &&mut Diagnostic| other.message == one.message && other.primary == one.primary;
    match found.iter_mut().find(is_it) {
        Some(same) => same.notes.extend(one.notes),
        None => found.push(one),
    }
}

/// Element types of tensors: those of the source, those of arrays, and `f32` of outputs.
fn elements(plan: &LoweredPlan, options: &EmitOptions) -> Vec<Option<DType>> {
    let module = &plan.module;
    let of = |(at, tensor): (usize, &wsp_ir::Tensor)| match tensor.elem {
        Elem::Fixed(elem) => Some(elem),
        Elem::Of(of) if of.index() != at => None,
        Elem::Of(_) => {
            let used = plan.tensors[at];
            // Of a workload, what tasks load is given to its launches or stored by other tasks before, which are of a kernel that begins with it.
            let is_made = !used.read || !options.arrays.is_empty() && begins_with_a_store(plan, at);
            let is_output = tensor.storage == Storage::Launch && used.written && is_made;
            let name = orchestration::name_of_tensor(module, TensorId(at as u32));
            let array = options.arrays.iter().find(|array| Some(&array.name) == name.as_ref());
            array.map(|array| array.elem).or(is_output.then_some(DType::F32))
        }
    };
    let mut elems: Vec<Option<DType>> = module.tensors.iter().enumerate().map(of).collect();
    for at in 0..elems.len() {
        if let Elem::Of(of) = module.tensors[at].elem {
            elems[at] = elems[of.index()];
        }
    }
    elems
}

/// Whether some kernel that a workload calls stores to a tensor before it loads from it.
fn begins_with_a_store(plan: &LoweredPlan, tensor: usize) -> bool {
    let first = |kernel: &FuncId| {
        plan.accesses[kernel.index()]
            .iter()
            .find(|access| plan.memory[access.tensor.index()] == plan.memory[tensor])
    };
    let mut firsts = plan.called.iter().flatten().filter_map(first);
    firsts.any(|access| access.mode == AccessKind::Write)
}

/// Values of parameters that kernels are made for: those that are given and, of extents that sizes of tiles depend on, those of
/// arrays.
fn parameters(
    plan: &LoweredPlan,
    options: &EmitOptions,
    kernels: &[FuncId],
) -> Result<Vec<Option<Const>>, Diagnostics> {
    let module = into_verified(plan.module.clone())?;
    let params = files::params(&module, &options.set)?;
    let mut needed: Vec<ParamId> = Vec::new();
    for kernel in kernels {
        needed.extend(files::needed(&module, &module.functions[kernel.index()], &params));
    }
    let mut set = options.set.clone();
    let mut found = Vec::new();
    for (at, param) in module.params.iter().enumerate() {
        let id = ParamId(at as u32);
        let ParamSource::Shape { .. } = param.source else { continue };
        let Some(extent) = extent_in(&module, id, options) else { continue };
        let is_this = |name: &str| module.user_names(id).any(|known| known == name);
        match options.set.iter().rev().find(|(name, _)| is_this(name)) {
            Some((name, given)) if *given != Const::Int(extent.into()) => {
                let message = format!("`{name}` is set to {}, and {extent} by arrays", number(*given));
                let fault = Diagnostic::error(codes::CONTRADICTS, message).at(param.span, "declared here");
                found.push(fault.help(format!("leave out `--set {name}=…`, or arrays that have it")));
            }
            Some(_) => {}
            None if needed.contains(&id) => set.push((param.name.clone(), Const::Int(extent.into()))),
            None => {}
        }
    }
    if found.is_empty() { files::params(&module, &set) } else { Err(Diagnostics(found)) }
}

/// An extent that shapes name, in the arrays.
fn extent_in(module: &Module, id: ParamId, options: &EmitOptions) -> Option<u64> {
    let is = |dim: &Dim| matches!(dim, Dim::Expr(e) if matches!(e.kind, ExprKind::Param(of) if of == id));
    module.tensors.iter().enumerate().find_map(|(at, tensor)| {
        let dim = tensor.dims.iter().position(is)?;
        let name = orchestration::name_of_tensor(module, TensorId(at as u32))?;
        let array = options.arrays.iter().find(|array| array.name == name)?;
        let dim = match tensor.storage {
            // Of pages, the dimensions are [page, position, head, lane].
            Storage::CacheKeys(_) | Storage::CacheValues(_) if dim == 0 => return None,
            Storage::CacheKeys(_) | Storage::CacheValues(_)
                if dim == 2 && options.layout == KvLayout::Hnd =>
            {
                1
            }
            _ => dim,
        };
        array.shape.get(dim).copied()
    })
}

/// What a schedule asks for that packages do in another way.
fn unheeded(plan: &LoweredPlan) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let functions = plan.stages.iter().map(|stage| &plan.module.functions[stage.generator.index()]);
    let (mut placed, mut ahead) = (None, None);
    for function in functions {
        wsp_ir::walk::stmts(&function.body, &mut |stmt| {
            let wsp_ir::StmtKind::Emit { hints, .. } = &stmt.kind else { return };
            if !hints.affinity.is_empty() {
                placed.get_or_insert(stmt.span);
            }
            if !hints.prefetch.is_empty() {
                ahead.get_or_insert(stmt.span);
            }
        });
    }
    let said = [
        (placed, "`PTO_AFFINITY` does not decide which core of a package runs a task: any of its kind does"),
        (ahead, "`PTO_PREFETCH` has no effect in a package: cores load what they need when a task starts"),
    ];
    for (span, message) in said {
        if let Some(span) = span {
            found.push(Diagnostic::new(NO_FILES, wsp_diag::Severity::Note, message).at(span, "of this task"));
        }
    }
    found
}

/// Arrays of a run with the element types that the program says: files hold some as the bits of others.
pub(crate) fn with_types(plan: &LoweredPlan, given: &Arrays, mut arrays: Arrays) -> Arrays {
    let form = |(name, array): (&String, &Array)| ArrayForm {
        name: name.clone(),
        elem: array.dtype(),
        shape: Vec::new(),
    };
    let options = EmitOptions { arrays: given.iter().map(form).collect(), ..EmitOptions::default() };
    for (at, elem) in elements(plan, &options).into_iter().enumerate() {
        let name = orchestration::name_of_tensor(&plan.module, TensorId(at as u32));
        let (Some(name), Some(elem)) = (name, elem) else { continue };
        if let Some(array) = arrays.remove(&name) {
            arrays.insert(name, array.reinterpret(elem).unwrap_or_else(|array| array));
        }
    }
    arrays
}

/// A content key of a package.
pub(crate) fn key(package: &Package) -> String {
    manifest::key(package)
}

/// A value of a parameter, for a manifest.
fn number(value: Const) -> String {
    match value {
        Const::Bool(value) => value.to_string(),
        Const::Int(value) => value.to_string(),
        Const::Float(value) if value.is_finite() => format!("{value:?}"),
        Const::Float(value) => format!("\"{value}\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_written_on_threads_of_one_stack() {
        let caller = thread::current().id();
        for count in [1, 64] {
            let all = each(&vec![(); count], |()| thread::current().id());
            assert_eq!(all.len(), count);
            assert!(all.iter().all(|id| *id != caller), "{count}");
        }
        assert_eq!(each(&[3, 1, 2], |n| n * 2), [6, 2, 4]);
    }
}
