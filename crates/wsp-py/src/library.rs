//! Used `.pto` files: read, compiled, described.

use crate::errors;
use crate::signature::{LibraryArray, LibraryFacts};
use crate::stack;
use pto_wsp::shared::{only_used, read_source};
use pyo3::prelude::*;
use serde_json::json;
use std::path::{Path, PathBuf};
use wsp_core::TensorId;
use wsp_diag::{Code, Diagnostic, SourceMap};
use wsp_ir::{BindingSource, Elem, Entry, EntryTy, FuncKind, Module, ParamSource};
use wsp_ordered::OrderedSet;
use wsp_plan::{LoweredPlan, array_name, declared_shape, library_entry};
use wsp_trace::Trace;

const NO_KERNEL: Code = Code(1045);

/// What arrays of keys and values are.
const PAGES: &str = "pages";
/// The arrays of a paged cache.
const CACHE_PARTS: [(&str, &str); 5] =
    [("k", PAGES), ("v", PAGES), ("indptr", "table"), ("indices", "table"), ("last_page_len", "table")];

/// The file that a trace uses, compiled; its path is relative to `folder`. None when the trace uses none.
///
/// # Errors
/// Several files, a file that cannot be read, and what is wrong in it.
pub(crate) fn used(trace: &mut Trace, folder: &str) -> Result<Option<Module>, Vec<Diagnostic>> {
    let Some(one) = only_used(&trace.workload.uses).map_err(|fault| vec![fault])? else { return Ok(None) };
    let path = Path::new(folder).join(&one.path);
    let text = read_source(&path).map_err(|fault| vec![fault.at(one.span, "used here")])?;
    compile(&path, &text, &mut trace.sources).map(Some)
}

fn compile(path: &Path, text: &str, sources: &mut SourceMap) -> Result<Module, Vec<Diagnostic>> {
    let name = path.display().to_string();
    let (module, found) = wsp_lang::compile_with(&name, text, sources, &mut read_source);
    module.ok_or_else(|| {
        let part = wsp_lang::part_of_programs(&name, text, &found, files_in, &mut read_source);
        part.map_or(found, |one| vec![one])
    })
}

/// The files of a folder, in any order; none where it cannot be read.
fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries.flatten().map(|entry| folder.join(entry.file_name())).collect()
}

/// Reads and compiles a file.
///
/// # Errors
/// It cannot be read, or something is wrong in it.
pub(crate) fn open(path: &str, sources: &mut SourceMap) -> Result<Module, Vec<Diagnostic>> {
    let path = Path::new(path);
    let text = read_source(path).map_err(|fault| vec![fault])?;
    compile(path, &text, sources)
}

/// What a file takes at a launch; `read` and `written` are the names of the arrays that its kernels load from and store to.
pub(crate) fn facts(
    module: &Module,
    read: &OrderedSet<String>,
    written: &OrderedSet<String>,
) -> LibraryFacts {
    let mut facts = LibraryFacts::default();
    let entry = module.entry.clone().unwrap_or_else(|| library_entry(module));
    for (at, param) in entry.params.iter().enumerate() {
        let mut take = |name: String, (what, is_float): (String, bool), is_cache: bool| {
            let (read, written) = (read.contains(&name), written.contains(&name));
            facts.arrays.push(LibraryArray { name, what, is_float, is_cache, read, written });
        };
        match param.ty {
            EntryTy::PagedKvCache => {
                for (part, what) in CACHE_PARTS {
                    let is_cache = what == PAGES;
                    take(format!("{}.{part}", param.name), (what.to_owned(), is_cache), is_cache);
                }
            }
            EntryTy::Scalar(_) => facts.params.push(param.name.clone()),
            _ => take(param.name.clone(), described(module, &entry, at as u32), false),
        }
    }
    // What follows from arrays or from other values nothing can give.
    let is_given = |source: &ParamSource| matches!(source, ParamSource::Set { .. } | ParamSource::Entry);
    let given = module.params.iter().filter(|p| is_given(&p.source));
    let launch = given.filter(|p| !facts.params.contains(&p.name)).map(|p| p.name.clone());
    let launch: Vec<String> = launch.collect();
    facts.params.extend(launch);
    facts
}

/// What a file takes of which a plan was made.
pub(crate) fn facts_of_plan(module: &Module, plan: &LoweredPlan) -> LibraryFacts {
    let (mut read, mut written) = (OrderedSet::new(), OrderedSet::new());
    for (at, tensor) in plan.tensors.iter().enumerate() {
        let Some(name) = array_name(&plan.module, TensorId(at as u32)) else { continue };
        if tensor.read {
            read.insert(name.clone());
        }
        if tensor.written {
            written.insert(name);
        }
    }
    facts(module, &read, &written)
}

/// The type and the extents of the tensor that an entry's parameter is bound to, `f32[rows, 32]`, and whether it has real numbers.
fn described(module: &Module, entry: &Entry, param: u32) -> (String, bool) {
    let bound = entry.launch.bindings.iter().find(|bound| bound.param == param);
    let Some(BindingSource::Tensor(id)) = bound.map(|bound| bound.source) else {
        return ("array".to_owned(), false);
    };
    let tensor = &module.tensors[id.index()];
    let (dtype, is_float) = match tensor.elem {
        Elem::Fixed(dtype) => (dtype.name(), dtype.is_float()),
        Elem::Of(_) => ("float", true),
    };
    (format!("{dtype}{}", declared_shape(module, id)), is_float)
}

/// What a `.pto` file has: `kernels` (`name`, `fields` of the descriptor), `arrays` and `params` that its
/// kernels need at a launch, and the name of its host entry, `entry`.
#[pyfunction]
pub(crate) fn library<'py>(py: Python<'py>, path: &str) -> PyResult<Bound<'py, PyAny>> {
    let mut sources = SourceMap::default();
    let compiled = stack::on_large_stack(py, || open(path, &mut sources))?;
    let module = compiled.map_err(|faults| errors::exception(py, &faults, &sources))?;
    let kernels = module.functions.iter().filter_map(|function| {
        let FuncKind::Kernel { descriptor } = function.kind else { return None };
        let fields = descriptor.map(|id| &module.structs[id.index()].fields);
        let fields = fields.into_iter().flatten().map(|field| field.name.as_str());
        Some(json!({ "name": function.name, "fields": fields.collect::<Vec<_>>() }))
    });
    if module.entry.is_none() && !module.functions.iter().any(|f| matches!(f.kind, FuncKind::Kernel { .. })) {
        let fault = Diagnostic::error(NO_KERNEL, format!("`{path}` has no kernel"));
        return Err(errors::fault(py, fault.help("give the path of a file with `PTO_KERNEL_IMPL(…)`")));
    }
    let facts = facts(&module, &OrderedSet::new(), &OrderedSet::new());
    let description = json!({
        "kernels": kernels.collect::<Vec<_>>(),
        "arrays": facts.arrays.iter().map(|array| &array.name).collect::<Vec<_>>(),
        "params": facts.params,
        "entry": module.entry.as_ref().map(|entry| entry.name.as_str()),
    });
    errors::python(py, &description)
}
