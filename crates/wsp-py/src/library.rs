//! Used `.pto` files: read, compiled, described.

use crate::errors;
use crate::signature::LibraryFacts;
use crate::stack;
use pyo3::prelude::*;
use serde_json::json;
use std::path::{Path, PathBuf};
use wsp_core::limits::MAX_SOURCE_BYTES;
use wsp_ir::diag::{Code, Diagnostic};
use wsp_ir::{EntryTy, FuncKind, Module, SourceMap};
use wsp_trace::Trace;

const FILE_MISSING: Code = Code(500);
const FILE_UNREADABLE: Code = Code(501);
const TOO_LARGE: Code = Code(513);
const SEVERAL: Code = Code(884);

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
                Diagnostic::error(SEVERAL, message)
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
        std::io::ErrorKind::NotFound => Diagnostic::error(FILE_MISSING, format!("there is no file `{name}`")),
        _ => Diagnostic::error(FILE_UNREADABLE, format!("file `{name}` cannot be read"))
            .note(fault.to_string()),
    })?;
    if bytes.len() > MAX_SOURCE_BYTES as usize {
        let message =
            format!("file `{name}` has {} bytes, and a source at most {MAX_SOURCE_BYTES}", bytes.len());
        return Err(Diagnostic::error(TOO_LARGE, message));
    }
    String::from_utf8(bytes)
        .map_err(|_| Diagnostic::error(FILE_UNREADABLE, format!("file `{name}` is no UTF-8 text")))
}

/// The names of what a file takes at a launch.
pub(crate) fn facts(module: &Module) -> LibraryFacts {
    let mut facts = LibraryFacts::default();
    for param in module.entry.iter().flat_map(|entry| &entry.params) {
        match param.ty {
            EntryTy::PagedKvCache => {
                let parts = ["k", "v", "indptr", "indices", "last_page_len"];
                facts.arrays.extend(parts.map(|part| format!("{}.{part}", param.name)));
                facts.caches.extend(["k", "v"].map(|part| format!("{}.{part}", param.name)));
            }
            EntryTy::Scalar(_) => facts.params.push(param.name.clone()),
            _ => facts.arrays.push(param.name.clone()),
        }
    }
    let launch = module.params.iter().filter(|p| !facts.params.contains(&p.name)).map(|p| p.name.clone());
    let launch: Vec<String> = launch.collect();
    facts.params.extend(launch);
    facts
}

/// What a `.pto` file has: `kernels` (`name`, `fields` of the descriptor), `arrays` and `params` that its
/// kernels need at a launch, and the name of its host entry, `entry`.
#[pyfunction]
pub(crate) fn library<'py>(py: Python<'py>, path: &str) -> PyResult<Bound<'py, PyAny>> {
    let mut sources = SourceMap::default();
    let compiled = stack::with_room(py, || open(path, &mut sources))?;
    let module = compiled.map_err(|faults| errors::exception(py, &faults, &sources))?;
    let kernels = module.functions.iter().filter_map(|function| {
        let FuncKind::Kernel { descriptor } = function.kind else { return None };
        let fields = descriptor.map(|id| &module.structs[id.index()].fields);
        let fields = fields.into_iter().flatten().map(|field| field.name.as_str());
        Some(json!({ "name": function.name, "fields": fields.collect::<Vec<_>>() }))
    });
    let facts = facts(&module);
    let description = json!({
        "kernels": kernels.collect::<Vec<_>>(),
        "arrays": facts.arrays,
        "params": facts.params,
        "entry": module.entry.as_ref().map(|entry| entry.name.as_str()),
    });
    errors::python(py, &description)
}
