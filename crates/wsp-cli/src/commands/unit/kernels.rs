//! The kernels of a unit: those of the files that it uses, and of files that are given with it.

use crate::commands::Session;
use crate::commands::kind::Kind;
use crate::commands::options::refused;
use crate::engine::Purpose;
use crate::files::{place, read_source};
use pto_wsp::codes;
use pto_wsp::task_graph::TgKernels;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wsp_core::FuncId;
use wsp_diag::{Diagnostic, Span};
use wsp_ir::tg::{Signatures, TgModule};
use wsp_ir::{Module, ParamSource};
use wsp_kernel::{Engine, Mode};
use wsp_ordered::OrderedSet;
use wsp_plan::{KernelFile, ParamValue, params_of_kernels};

/// Kernels by entry symbol.
#[derive(Debug, Default)]
pub(super) struct UnitKernels {
    /// All of them.
    kernels: TgKernels,
    /// What their files say.
    pub(super) modules: Vec<KernelFile>,
    /// Their files, in the order in which they are named.
    pub(super) files: Vec<PathBuf>,
    /// Files that were given beside those that the unit uses, and that have no kernel which it calls.
    pub(super) idle: Vec<PathBuf>,
    /// Parameters of the files.
    params: OrderedSet<String>,
    /// Those of them that a kernel which the unit calls reads.
    read: OrderedSet<String>,
}

impl UnitKernels {
    /// Refuses files of `--kernels` without a kernel that the unit calls.
    ///
    /// # Errors
    /// For each of them.
    pub(super) fn refuse_idle(&self) -> Result<(), Vec<Diagnostic>> {
        let faults: Vec<Diagnostic> = self.idle.iter().map(|path| idle(path)).collect();
        if faults.is_empty() { Ok(()) } else { Err(faults) }
    }

    /// What is known of their arguments.
    pub(super) fn signatures(&self) -> Signatures {
        self.kernels.signatures()
    }

    /// Whether a file has a parameter of this name.
    pub(super) fn has_param(&self, name: &str) -> bool {
        self.params.contains(name)
    }

    /// Whether a kernel that the unit calls reads a parameter of this name.
    pub(super) fn reads_param(&self, name: &str) -> bool {
        self.read.contains(name)
    }

    /// The parameters of all files.
    pub(super) fn params(&self) -> impl Iterator<Item = &str> {
        self.params.iter().map(String::as_str)
    }
}

impl Session {
    /// Compiles the files of a unit's kernels; each takes of `set` the parameters that it has.
    pub(super) fn read_kernels(
        &mut self,
        unit: &Path,
        module: &TgModule,
        more: &[PathBuf],
        set: &[(String, ParamValue)],
    ) -> Result<UnitKernels, Vec<Diagnostic>> {
        let called = module.entry_symbols();
        let folder = unit.parent().unwrap_or(Path::new(""));
        let used = module.uses.iter().map(|used| (folder.join(module.str(used.path)), Some(used.span)));
        let files: Vec<(PathBuf, Option<Span>)> =
            used.chain(more.iter().map(|path| (path.clone(), None))).collect();
        let mut read = UnitKernels::default();
        let mut known = OrderedSet::new();
        for (path, span) in files {
            if !known.insert(place(&path)) {
                read.idle.extend(span.is_none().then_some(path));
                continue;
            }
            let located = |fault: Diagnostic| match span {
                Some(span) if fault.primary.is_none() => fault.at(span, "used here"),
                _ => fault,
            };
            let text = read_source(&path).map_err(|fault| {
                vec![located(if span.is_some() { missing_of_bytes(unit, fault) } else { fault })]
            })?;
            let file = self.compile_text(&path.display().to_string(), text, Purpose::Library)?;
            let file = Arc::new(file.module);
            refuse_other(&path, &file).map_err(|fault| vec![located(fault)])?;
            let own: Vec<(String, ParamValue)> =
                set.iter().filter(|(name, _)| file.param_named(name).is_some()).cloned().collect();
            let added = read.kernels.add_library(&file, &own, Mode::default(), Engine::default());
            added.map_err(|faults| faults.into_iter().map(located).collect::<Vec<_>>())?;
            read.modules.push(KernelFile { module: file.clone(), set: own });
            let entries = file.kernel_entries.iter().map(|entry| entry.function);
            let called: OrderedSet<FuncId> =
                entries.filter(|id| called.contains(file.functions[id.index()].name.as_str())).collect();
            if span.is_none() && called.is_empty() {
                read.idle.push(path.clone());
            }
            let of_called = params_of_kernels(&file, &called);
            read.read.extend(of_called.iter().map(|id| file.params[id.index()].name.clone()));
            let chosen = file.params.iter().filter(|param| matches!(param.source, ParamSource::Set { .. }));
            read.params.extend(chosen.map(|param| param.name.clone()));
            read.files.push(path);
        }
        Ok(read)
    }
}

/// A file of a unit in bytes that is missing: the bytes may lie in another folder than their text.
fn missing_of_bytes(unit: &Path, fault: Diagnostic) -> Diagnostic {
    if fault.code != codes::FILE_MISSING || Kind::of(unit) != Kind::UnitBytes {
        return fault;
    }
    let name = unit.file_name().unwrap_or_default().to_string_lossy();
    fault
        .note(format!("files that a unit uses are looked for from the folder of `{name}`, as from that of its text"))
        .help(format!("write the bytes beside their text, `wsp asm FOLDER/UNIT.tg -o FOLDER/{name}`, or copy the file to where it is looked for"))
}

/// Refuses a program that has no kernels for task graphs.
fn refuse_other(path: &Path, file: &Module) -> Result<(), Diagnostic> {
    if !file.kernel_entries.is_empty() {
        return Ok(());
    }
    let name = path.display();
    Err(Diagnostic::error(codes::WRONG_KIND, format!("`{name}` has no kernel that a task graph could call"))
        .note("a kernel of a task graph has its tensors as parameters: `PTO_KERNEL_IMPL(entry, Tensor<half> x, …)`")
        .help(format!("if it is a program of its own, `wsp run {name}` runs it")))
}

/// A file of `--kernels` that changes nothing.
pub(in crate::commands) fn idle(path: &Path) -> Diagnostic {
    let option = format!("--kernels {}", path.display());
    refused(&option, "has no meaning: the unit calls no kernel that this file adds")
}
