//! Task graphs: units as text or bytes, checked and run with kernels of `.pto` files and of Python.

mod given;
mod kernel;

use self::given::{Files, Given, Kernels};
use crate::errors;
use crate::kernels::KernelArray;
use crate::library;
use crate::results;
use crate::runs::interruptible;
use crate::stack;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use wsp_backend::Recording;
use wsp_core::tg::Instr;
use wsp_cpu::tg::{PtoEntry, Report, Session, SessionOptions, TgKernels};
use wsp_cpu::workload::{Mode, Payload, PayloadSlot};
use wsp_ir::SourceMap;
use wsp_ir::diag::{Code, Diagnostic, Severity};
use wsp_ir::tg::TgModule;
use wsp_isa::tg::{binary, text};
use wsp_plan::target::CPU_SIM;
use wsp_plan::tg::{LintOptions, lint};
use wsp_plan::{Arrays, ParamValue};
use wsp_trace::python::arrays::BAD_OPTION as UNUSED;

const NOTHING_RAN: Code = Code(545);
const CONTRADICTION: Code = Code(1518);

/// A unit of task graphs. It may be used from several threads at once; each run is separate.
#[pyclass(frozen, module = "pto_wsp._core")]
pub(crate) struct TaskGraph {
    unit: TgModule,
    sources: SourceMap,
    /// What reading it warned of.
    warnings: Vec<Diagnostic>,
    /// What paths of used files are relative to.
    folder: String,
}

/// Reads a unit as text; `name` is what messages call it.
#[pyfunction]
pub(crate) fn task_graph_text(py: Python<'_>, source: &str, name: &str, folder: &str) -> PyResult<TaskGraph> {
    let mut sources = SourceMap::default();
    let (unit, warnings) = stack::with_room(py, || text::parse(name, source, &mut sources))?;
    match unit {
        Some(unit) => Ok(TaskGraph { unit, sources, warnings, folder: folder.to_owned() }),
        None => Err(errors::exception(py, &warnings, &sources)),
    }
}

/// Reads a unit as bytes; `name` is what messages call it.
#[pyfunction]
pub(crate) fn task_graph_bytes(py: Python<'_>, data: &[u8], name: &str, folder: &str) -> PyResult<TaskGraph> {
    let sources = SourceMap::default();
    let mut unit = binary::decode(name, data).map_err(|faults| errors::exception(py, &faults, &sources))?;
    // The text of which the bytes were made is not here.
    unit.spans.clear();
    Ok(TaskGraph { unit, sources, warnings: Vec::new(), folder: folder.to_owned() })
}

/// What a run gives.
struct Ran {
    outputs: Arrays,
    /// Names of the caller's arrays that the unit writes.
    written: Vec<String>,
    report: Report,
    findings: Vec<Diagnostic>,
}

/// Why it failed.
struct Failed {
    faults: Vec<Diagnostic>,
    /// What a Python kernel raised.
    payload: Option<Payload>,
}

#[pymethods]
impl TaskGraph {
    /// The unit as text.
    fn text(&self) -> String {
        text::print(&self.unit)
    }

    /// The unit as bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes =
            binary::encode(&self.unit).map_err(|fault| errors::exception(py, &[fault], &self.sources))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// What is wrong with the unit, or probably not meant, with these kernels.
    fn check<'py>(
        &self,
        py: Python<'py>,
        kernels: Vec<kernel::PyKernel>,
        files: Kernels<'py>,
    ) -> PyResult<Bound<'py, PyList>> {
        let mut sources = self.sources.clone();
        let files = files.read().map_err(|faults| errors::exception(py, &faults, &sources))?;
        let known = stack::with_room(py, || self.kernels(kernels, &files, &mut sources, false))?;
        let mut found = self.warnings.clone();
        match known {
            Err(faults) => found.extend(faults),
            Ok(known) => {
                let broken = wsp_ir::tg::verify(&self.unit);
                let device = CPU_SIM.device;
                let options = LintOptions { device, ..LintOptions::default() };
                let linted = if broken.is_empty() {
                    lint(&self.unit, &known.signatures(), &options)
                } else {
                    Vec::new()
                };
                found.extend(broken);
                found.extend(linted);
            }
        }
        let records: Vec<_> =
            found.iter().map(|fault| errors::record(py, fault, &sources)).collect::<PyResult<_>>()?;
        PyList::new(py, records)
    }

    /// Runs the unit: `outputs` (arrays by name), `written` (names of given arrays that hold results), `stats` (counts by name), `peak` (bytes), `notes`.
    fn run<'py>(
        &self,
        py: Python<'py>,
        kernels: Vec<kernel::PyKernel>,
        files: Kernels<'py>,
        given: Given<'py>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let mut sources = self.sources.clone();
        let files = files.read().map_err(|faults| errors::exception(py, &faults, &sources))?;
        let options = given.options().map_err(|faults| errors::exception(py, &faults, &sources))?;
        let payload = PayloadSlot::default();
        // Arrays that are copied stay claimed as long as those that are used where they lie.
        let _claim = options.claim.clone();
        let ran = interruptible(py, |cancel| {
            self.session(kernels, &files, options, cancel, &payload, &mut sources)
        })?;
        match ran {
            Ok(ran) => outcome(py, ran, &sources),
            Err(failed) => Err(failed.raise(py, &sources)),
        }
    }
}

impl TaskGraph {
    /// The kernels: of Python, of files that the unit uses, and of further ones.
    fn kernels(
        &self,
        functions: Vec<kernel::PyKernel>,
        files: &Files,
        sources: &mut SourceMap,
        watched: bool,
    ) -> Result<TgKernels, Vec<Diagnostic>> {
        let mut kernels = TgKernels::new();
        let called = self.called();
        for function in functions {
            function.is_called(&called)?;
            function.register(&mut kernels, watched).map_err(|fault| vec![*fault])?;
        }
        let used = self.unit.uses.iter().map(|file| Path::new(&self.folder).join(self.unit.str(file.path)));
        let used: Vec<String> = used.map(|path| path.display().to_string()).collect();
        let added = files.files.iter().filter(|file| !used.contains(file));
        let mut settable: Vec<String> = Vec::new();
        for path in used.iter().chain(added) {
            let module = Arc::new(library::open(path, sources)?);
            let own: Vec<String> = PtoEntry::settable(&module).map(str::to_owned).collect();
            let set: Vec<(String, ParamValue)> =
                files.params.iter().filter(|(name, _)| own.contains(name)).cloned().collect();
            kernels.add_library(&module, &set, Mode::Fast)?;
            let entries = module.kernel_entries.iter().map(|entry| entry.function.index());
            if !used.contains(path)
                && !entries.into_iter().any(|at| called.contains(module.functions[at].name.as_str()))
            {
                return Err(vec![idle(path)]);
            }
            settable.extend(own);
        }
        given::all_known(&files.params, &settable)?;
        Ok(kernels)
    }

    /// The entry symbols of the unit's kernels.
    fn called(&self) -> BTreeSet<&str> {
        let entry = |instr: &Instr| match instr {
            Instr::TgKernel { entry_symbol, .. } => Some(self.unit.str(*entry_symbol)),
            _ => None,
        };
        self.unit.instrs.iter().filter_map(entry).collect()
    }

    fn session(
        &self,
        functions: Vec<kernel::PyKernel>,
        files: &Files,
        mut options: SessionOptions,
        cancel: Arc<AtomicBool>,
        payload: &PayloadSlot,
        sources: &mut SourceMap,
    ) -> Result<Ran, Failed> {
        options.runtime.cancel = Some(cancel);
        options.payload = Some(payload.clone());
        let run = || -> Result<Ran, Vec<Diagnostic>> {
            let watched = options.recording == Recording::On;
            let kernels = self.kernels(functions, files, sources, watched)?;
            let mut session = Session::new(&self.unit, &kernels, options)?;
            let mut findings = session.findings().to_vec();
            refuse_contradictions(&findings)?;
            let report = session.run()?;
            if report.stats.kernels == 0 && report.stats.items == 0 {
                let message = "nothing ran: the unit invoked no kernel and copied nothing";
                findings.push(Diagnostic::warning(NOTHING_RAN, message));
            }
            // Elements that kernels have loaded are an input.
            let unwritten = session.unwritten().into_iter().filter(|left| !left.loaded);
            findings.extend(unwritten.map(|left| results::never_written(&left.tensor, &left)));
            let outputs = session.outputs().map_err(|fault| vec![*fault])?;
            let written = session.written_in_place();
            Ok(Ran { outputs, written, report, findings })
        };
        run().map_err(|faults| Failed { faults, payload: payload.take() })
    }
}

/// A file that was added and has no kernel that the unit calls.
fn idle(path: &str) -> Diagnostic {
    Diagnostic::error(UNUSED, format!("`{path}` has no kernel that the unit calls"))
        .help("leave it out, or correct the entry symbol of a kernel")
}

/// Refuses bindings that are not what kernels say of their arguments: what is bound would be read as elements of another type.
fn refuse_contradictions(findings: &[Diagnostic]) -> Result<(), Vec<Diagnostic>> {
    let wrong = findings.iter().filter(|found| found.code == CONTRADICTION).cloned();
    let wrong: Vec<Diagnostic> =
        wrong.map(|found| Diagnostic { severity: Severity::Error, ..found }).collect();
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}

impl Failed {
    /// The exception that the caller gets.
    fn raise(self, py: Python<'_>, sources: &SourceMap) -> PyErr {
        let cause = self.payload.as_ref().and_then(|payload| payload.downcast_ref::<PyErr>());
        match cause.map(|cause| cause.clone_ref(py)) {
            // What is no `Exception`, such as KeyboardInterrupt, is nobody's to wrap.
            Some(cause) if !cause.is_instance_of::<PyException>(py) => cause,
            cause => errors::caused(py, &self.faults, sources, cause.as_ref()),
        }
    }
}

fn outcome<'py>(py: Python<'py>, ran: Ran, sources: &SourceMap) -> PyResult<Bound<'py, PyDict>> {
    let outputs = PyDict::new(py);
    for (name, array) in ran.outputs {
        outputs.set_item(name, Bound::new(py, KernelArray::owning(array))?)?;
    }
    let stats = PyDict::new(py);
    let counts = ran.report.stats;
    for (name, count) in [
        ("launches", counts.launches),
        ("kernels", counts.kernels),
        ("dispatches", counts.dispatches),
        ("blocks", counts.blocks),
        ("copies", counts.items),
        ("checkpoints", counts.checkpoints),
    ] {
        stats.set_item(name, count)?;
    }
    let found = PyDict::new(py);
    found.set_item("outputs", outputs)?;
    found.set_item("written", ran.written)?;
    found.set_item("stats", stats)?;
    found.set_item("peak", ran.report.peak.iter().map(|peak| peak.total).collect::<Vec<_>>())?;
    let notes = [ran.findings, ran.report.notes].concat();
    found.set_item("notes", results::notes(&notes, sources))?;
    Ok(found)
}
