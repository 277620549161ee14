//! Used `.pto` files: read, compiled, described.

use crate::errors;
use crate::signature::{LibraryArray, LibraryFacts};
use crate::stack;
use pto_wsp::codes::{BAD_SOURCE_FILE, FILE_MISSING, FILE_UNREADABLE, SEVERAL_LIBRARIES};
use pyo3::prelude::*;
use serde_json::json;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use wsp_core::TensorId;
use wsp_core::limits::MAX_SOURCE_BYTES;
use wsp_diag::{Code, Diagnostic, SourceMap};
use wsp_ir::{BindingSource, Elem, Entry, EntryTy, FuncKind, Module, ParamSource};
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
    let one = match trace.workload.uses.as_slice() {
        [] => return Ok(None),
        [one] => one,
        [first, second, ..] => {
            let message = "a workload takes its kernels from one file";
            return Err(vec![
                Diagnostic::error(SEVERAL_LIBRARIES, message)
                    .at(second.span, "a second one here")
                    .label(first.span, "the first one")
                    .help(format!("put the kernels of `{}` into `{}`", second.path, first.path)),
            ]);
        }
    };
    let path = Path::new(folder).join(&one.path);
    let text = read(&path).map_err(|fault| vec![fault.at(one.span, "used here")])?;
    compile(&path, &text, &mut trace.sources).map(Some)
}

fn compile(path: &Path, text: &str, sources: &mut SourceMap) -> Result<Module, Vec<Diagnostic>> {
    let name = path.display().to_string();
    let (module, found) = wsp_lang::compile_with(&name, text, sources, &mut read);
    module.ok_or_else(|| {
        let part = wsp_lang::part_of_programs(&name, text, &found, files_in, &mut read);
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
    let text = read(path).map_err(|fault| vec![fault])?;
    compile(path, &text, sources)
}

#[expect(clippy::disallowed_methods, reason = "the package reads the files that its users name")]
fn read(path: &Path) -> Result<String, Diagnostic> {
    let name = path.display();
    let bytes = std::fs::read(path).map_err(|fault| match fault.kind() {
        std::io::ErrorKind::NotFound => Diagnostic::error(FILE_MISSING, format!("there is no file `{name}`"))
            .help("give the path of a file that exists; relative paths start at the current folder"),
        _ => Diagnostic::error(FILE_UNREADABLE, format!("file `{name}` cannot be read"))
            .note(fault.to_string())
            .help("give the path of a `.pto` file"),
    })?;
    if bytes.len() > MAX_SOURCE_BYTES as usize {
        let message =
            format!("file `{name}` has {} bytes, and a source at most {MAX_SOURCE_BYTES}", bytes.len());
        return Err(Diagnostic::error(BAD_SOURCE_FILE, message));
    }
    String::from_utf8(bytes).map_err(|_| {
        let fault = Diagnostic::error(FILE_UNREADABLE, format!("file `{name}` is no UTF-8 text"));
        fault.help("give the path of a `.pto` file, saved as UTF-8")
    })
}

/// What a file takes at a launch; `read` and `written` are the names of the arrays that its kernels load from and store to.
pub(crate) fn facts(module: &Module, read: &BTreeSet<String>, written: &BTreeSet<String>) -> LibraryFacts {
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
    let (mut read, mut written) = (BTreeSet::new(), BTreeSet::new());
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
    let facts = facts(&module, &BTreeSet::new(), &BTreeSet::new());
    let description = json!({
        "kernels": kernels.collect::<Vec<_>>(),
        "arrays": facts.arrays.iter().map(|array| &array.name).collect::<Vec<_>>(),
        "params": facts.params,
        "entry": module.entry.as_ref().map(|entry| entry.name.as_str()),
    });
    errors::python(py, &description)
}
