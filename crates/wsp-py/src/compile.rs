//! From a trace or a `.pto` file to a program.

use crate::errors;
use crate::inner::{Body, Inner};
use crate::kernels::{self, Function};
use crate::library;
use crate::options::{self, Compilation};
use crate::own;
use crate::program::Program;
use crate::signature::{LibraryFacts, Signature, Taken};
use crate::sources::Sources;
use crate::stack;
use pto_wsp::cache::{CachedPlan, PlanCache, PlanKey};
use pto_wsp::workload::{KernelRegistry, WorkloadPlan};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};
use wsp_backend::{Program as Compiled, Registry, RunOptions, WorkloadRunOptions};
use wsp_diag::{Code, Diagnostic, SourceMap, did_you_mean};
use wsp_ir::{FuncKind, Module};
use wsp_kernel::{Engine, Mode};
use wsp_memory::PerProcess;
use wsp_plan::{CompileOptions, LoweredPlan, PlanSource};
use wsp_runtime::clock;
use wsp_trace::python::arrays::{BAD_OPTION, MISSING, SURPLUS};
use wsp_trace::{KernelBody, Trace};

const NO_BODY: Code = Code(850);

/// Compiles a trace: checks it, compiles its kernels, links them, applies its schedule. The interpreter is released.
///
/// `callables` has the function of each kernel whose body is `python`, by its key.
#[pyfunction]
#[pyo3(signature = (trace, *, options=None, callables=None, library_dir=None))]
pub(crate) fn compile(
    py: Python<'_>,
    trace: &[u8],
    options: Option<&Bound<'_, PyDict>>,
    callables: Option<BTreeMap<String, Function>>,
    library_dir: Option<&str>,
) -> PyResult<Program> {
    let started = clock::now();
    let compilation = options::compilation(py, options)?;
    let (callables, folder) = (callables.unwrap_or_default(), library_dir.unwrap_or_default());
    let made = stack::on_large_stack(py, || program(trace, callables, folder, &compilation))?;
    let mut inner = made.map_err(|(sources, faults)| errors::exception(py, &faults, &sources))?;
    inner.compile_ns = clock::nanos_since(started);
    Program::new(py, inner)
}

/// The program of a trace.
fn program(
    json: &[u8],
    callables: BTreeMap<String, Function>,
    folder: &str,
    compilation: &Compilation,
) -> Result<Inner, (Sources, Vec<Diagnostic>)> {
    let mut trace = wsp_trace::read(json).map_err(|(sources, faults)| (sources.into(), faults))?;
    let functions = functions(&trace, callables).map_err(|fault| (Sources::of(&trace), vec![fault]))?;
    let library = library::used(&mut trace, folder).map_err(|faults| (Sources::of(&trace), faults))?;
    let sources = Sources::of(&trace);
    link(trace, library, functions, compilation).map_err(|faults| (sources, faults))
}

/// The function of each kernel of a trace that has one.
fn functions(
    trace: &Trace,
    mut callables: BTreeMap<String, Function>,
) -> Result<Vec<Option<Function>>, Diagnostic> {
    let mut functions = Vec::new();
    for (kernel, body) in trace.workload.kernels.iter().zip(&trace.bodies) {
        let KernelBody::Foreign { key } = body else {
            functions.push(None);
            continue;
        };
        let missing = || {
            let message = format!("no function is given for kernel `{}`", kernel.name);
            Diagnostic::error(MISSING, message)
                .note(format!("its key is {key:?}"))
                .at(kernel.span, "this kernel")
        };
        functions.push(Some(callables.remove(key).ok_or_else(missing)?));
    }
    match callables.keys().next() {
        None => Ok(functions),
        Some(surplus) => {
            let keys = trace.bodies.iter().filter_map(|body| match body {
                KernelBody::Foreign { key } => Some(key.as_str()),
                _ => None,
            });
            let fault = Diagnostic::error(SURPLUS, format!("no kernel has the key {surplus:?}"));
            Err(match did_you_mean(surplus, keys) {
                Some(near) => fault.help(format!("did you mean {near:?}?")),
                None => fault,
            })
        }
    }
}

/// Gives kernels their bodies.
fn link(
    trace: Trace,
    library: Option<Module>,
    functions: Vec<Option<Function>>,
    compilation: &Compilation,
) -> Result<Inner, Vec<Diagnostic>> {
    let plan = WorkloadPlan::new(trace.workload.clone(), library.as_ref(), &compilation.options)?;
    let plan = Arc::new(WorkloadPlan { sources: Some(Arc::new(trace.sources.clone())), ..plan });
    let cached = match &compilation.cache {
        Some(folder) => Some(cached(folder, key_of(&trace, library.as_ref(), &compilation.options)?)?),
        None => None,
    };
    let code = cached.as_ref().map(CachedPlan::code);
    let mut registry = KernelRegistry::with_code(code.clone().unwrap_or_default());
    if plan.schedule.policy.grid.is_some() {
        registry.follow_layouts();
    }
    let (mut bodies, mut shown, mut declared_only) = (Vec::new(), Vec::new(), None);
    let kernels = trace.workload.kernels.iter().zip(trace.bodies.iter().cloned()).zip(functions);
    for (k, ((kernel, body), function)) in kernels.enumerate() {
        let given = trace.names.kernels.get(k).unwrap_or(&kernel.name);
        let what = match body {
            KernelBody::Compiled(source) => {
                registry.register_view_kernel(&kernel.name, *source, compilation.mode, Engine::default())?;
                "compiled"
            }
            KernelBody::Foreign { .. } => {
                if let Some(function) = function.map(Arc::new) {
                    shown.push(function.clone());
                    registry.replace(&kernel.name, move |cx| kernels::call(&function, cx));
                }
                "python"
            }
            KernelBody::Library => "library",
            KernelBody::None => {
                declared_only.get_or_insert_with(|| {
                    let message = format!("kernel `{given}` has no body, so its tasks cannot run");
                    Diagnostic::error(NO_BODY, message)
                        .at(kernel.span, "declared here")
                        .help("give it a body; `graph` and `simulate` need none")
                });
                "none"
            }
        };
        bodies.push((given.clone(), what));
    }
    let registry = own::registry(registry, Mode::default(), code);
    let (program, backend, taken) = compiled(&registry, &PlanSource::Workload(plan.clone()))?;
    let workload = WorkloadRunOptions { aicpus: compilation.aicpus, ..WorkloadRunOptions::default() };
    program.check(&RunOptions { workload, ..RunOptions::default() })?;
    let used = library.as_ref().zip(plan.library.as_ref());
    let used = used.map(|(module, used)| library::facts_of_plan(module, &used.plan)).unwrap_or_default();
    let used = LibraryFacts { taken, ..used };
    let signature = Signature::new(&trace, &plan.written(), used);
    let damaged = cached.as_ref().and_then(CachedPlan::note);
    let warnings = trace.warnings.iter().chain(&plan.schedule.notes).cloned().chain(damaged).collect();
    Ok(Inner {
        program,
        backend,
        body: Body::Workload(plan),
        signature,
        sources: Sources::of(&trace),
        declared_only,
        warnings,
        functions: shown,
        bodies,
        compile_ns: 0,
        cached,
        timeline: Mutex::new(None),
        counted: PerProcess::new(None),
        again: PerProcess::new(None),
    })
}

/// Compiles a plan by the backend that takes it; why it is that one, and how it takes arrays.
fn compiled(
    registry: &Registry,
    plan: &PlanSource,
) -> Result<(Box<dyn Compiled>, String, Taken), Vec<Diagnostic>> {
    let selection = registry.select(plan)?;
    let taken = if selection.backend().copies_arrays() { Taken::Copied } else { Taken::InPlace };
    Ok((selection.backend().compile(plan)?, selection.to_string(), taken))
}

/// Compiles the host entry of a `.pto` file. Real numbers in row-major order are read and written where they lie, other arrays are
/// copied, and what it wrote is copied back.
#[pyfunction]
#[pyo3(signature = (path, *, options=None))]
pub(crate) fn load_program(
    py: Python<'_>,
    path: &str,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Program> {
    let started = clock::now();
    let compilation = options::compilation(py, options)?;
    let mut sources = SourceMap::default();
    let made = stack::on_large_stack(py, || launch(path, &compilation, &mut sources))?;
    let mut inner = made.map_err(|faults| errors::exception(py, &faults, &sources))?;
    inner.compile_ns = clock::nanos_since(started);
    inner.sources = sources.into();
    Program::new(py, inner)
}

/// The key of a workload: its text and that of each kernel that is compiled, without the places in Python's files.
///
/// # Errors
/// No kernel has code that is compiled.
fn key_of(
    trace: &Trace,
    library: Option<&Module>,
    options: &CompileOptions,
) -> Result<PlanKey, Vec<Diagnostic>> {
    let kernels = trace.workload.kernels.iter().zip(&trace.bodies);
    let compiled = kernels.filter_map(|(kernel, body)| match body {
        KernelBody::Compiled(source) => Some((kernel.name.clone(), wsp_ir::text::print(&source.module))),
        KernelBody::Foreign { .. } | KernelBody::Library | KernelBody::None => None,
    });
    let used = library.map(|module| ("kernels of a file".to_owned(), wsp_ir::text::print(module)));
    let texts: Vec<(String, String)> = compiled.chain(used).collect();
    if texts.is_empty() {
        let message = "option `cache` has no meaning: it keeps machine code, and no kernel is compiled";
        return Err(vec![Diagnostic::error(BAD_OPTION, message).help("leave it out, or write `@kernel`")]);
    }
    let texts: Vec<(String, &str)> = texts.iter().map(|(name, text)| (name.clone(), &**text)).collect();
    let entry = trace.workload.entry.map(|id| &trace.workload.workloads[id.index()]);
    let name = entry.map_or("", |entry| &entry.name);
    Ok(PlanKey::new(name, &wsp_ir::workload::text::print(&trace.workload), &texts, options))
}

/// What the cache in a folder has of a program.
fn cached(folder: &Path, key: PlanKey) -> Result<CachedPlan, Vec<Diagnostic>> {
    if !Engine::Native.is_available() {
        let message = "option `cache` has no meaning: this build interprets scalar code";
        return Err(vec![Diagnostic::error(BAD_OPTION, message).help("leave it out")]);
    }
    let cache = PlanCache::open(folder).map_err(|fault| vec![fault])?;
    cache.find(key).map_err(|fault| vec![fault])
}

/// The program of a file's host entry.
fn launch(path: &str, compilation: &Compilation, sources: &mut SourceMap) -> Result<Inner, Vec<Diagnostic>> {
    let module = library::open(path, sources)?;
    if compilation.kv_layout.is_some() && module.caches.is_empty() {
        let message = "option `kv_layout` has no meaning: the file has no paged cache";
        return Err(vec![Diagnostic::error(BAD_OPTION, message).help("leave it out")]);
    }
    let key = || PlanKey::of_files(sources, 0, &compilation.options);
    let cached = compilation.cache.as_ref().map(|folder| cached(folder, key())).transpose()?;
    let plan = wsp_plan::lower(&module, &compilation.options)?;
    let plan = Arc::new(LoweredPlan { sources: Some(Arc::new(sources.clone())), ..plan });
    let kernels = module.functions.iter().filter(|f| matches!(f.kind, FuncKind::Kernel { .. }));
    let damaged = cached.as_ref().and_then(CachedPlan::note);
    let warnings = plan.notes.iter().cloned().chain(damaged).collect();
    let code = cached.as_ref().map(CachedPlan::code);
    let registry = own::registry(KernelRegistry::default(), compilation.mode, code);
    let (program, backend, taken) = compiled(&registry, &PlanSource::Spaces(plan.clone()))?;
    let library = LibraryFacts { taken, ..library::facts_of_plan(&module, &plan) };
    Ok(Inner {
        program,
        backend,
        signature: Signature { library, ..Signature::default() },
        sources: Sources::default(),
        declared_only: None,
        warnings,
        functions: Vec::new(),
        bodies: kernels.map(|f| (f.name.clone(), "library")).collect(),
        compile_ns: 0,
        cached,
        timeline: Mutex::new(None),
        counted: PerProcess::new(None),
        again: PerProcess::new(None),
        body: Body::Launch {
            plan,
            kept: OnceLock::new(),
            module: Box::default(),
            kv_layout: compilation.kv_layout.unwrap_or_default(),
            mode: compilation.mode,
        },
    })
}
