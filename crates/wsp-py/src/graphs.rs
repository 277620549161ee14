//! Task graphs: units as text or bytes, checked and run with kernels of `.pto` files and of Python.

mod given;
mod kernel;

use self::given::{Files, Given, Kernels};
use crate::errors;
use crate::kernels::KernelArray;
use crate::library;
use crate::own;
use crate::results;
use crate::runs::interruptible;
use crate::stack;
use pto_wsp::codes::NOTHING_RAN;
use pto_wsp::task_graph::TgKernels;
use pto_wsp::trace::key_of_unit;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use std::path::Path;
use std::sync::Arc;
use wsp_backend::{Args, Outcome, Payload, PayloadSlot, Program, Recording, RunOptions};
use wsp_diag::{Code, Diagnostic, Severity, SourceMap};
use wsp_ir::tg::TgModule;
use wsp_isa::tg::{binary, text};
use wsp_plan::entry::settable;
use wsp_plan::target::CPU_SIM;
use wsp_plan::{KernelFile, PlanSource, UnitSource};
use wsp_tg::LintOptions;
use wsp_trace::python::arrays::BAD_OPTION as UNUSED;

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
    let (unit, warnings) = stack::on_large_stack(py, || text::parse(name, source, &mut sources))?;
    match unit {
        Some(unit) => Ok(TaskGraph { unit, sources, warnings, folder: folder.to_owned() }),
        None => Err(errors::exception(py, &warnings, &sources)),
    }
}

/// Reads a unit as bytes; `name` is what messages call it.
#[pyfunction]
pub(crate) fn task_graph_bytes(py: Python<'_>, data: &[u8], name: &str, folder: &str) -> PyResult<TaskGraph> {
    let sources = SourceMap::default();
    let mut unit = binary::decode(name, data).map_err(|faults| {
        let helped = |fault: Diagnostic| match fault.help.is_empty() {
            true => fault.help("give what `graph.to_bytes()` gave, or what a `.ptog` file has, unchanged"),
            false => fault,
        };
        errors::exception(py, &faults.into_iter().map(helped).collect::<Vec<_>>(), &sources)
    })?;
    // The text of which the bytes were made is not here.
    unit.spans.clear();
    Ok(TaskGraph { unit, sources, warnings: Vec::new(), folder: folder.to_owned() })
}

/// What a run gives.
struct Ran {
    outcome: Outcome,
    /// What is to be said beside.
    notes: Vec<Diagnostic>,
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
        let files = files.read().map_err(|refusal| refusal.error(py, &sources))?;
        let checked = stack::on_large_stack(py, || {
            let (unit_kernels, files) = self.kernels(kernels, &files, &mut sources, false)?;
            let options = LintOptions { device: CPU_SIM.device(), ..LintOptions::default() };
            Ok(own::registry_of_units(unit_kernels).check_unit(&self.source(files), &options))
        })?;
        let mut found = self.warnings.clone();
        found.extend(checked.unwrap_or_else(|faults: Vec<Diagnostic>| faults));
        let records: Vec<_> =
            found.iter().map(|fault| errors::record(py, fault, &sources)).collect::<PyResult<_>>()?;
        PyList::new(py, records)
    }

    /// Runs the unit in virtual time, on copies: what a simulation gives.
    fn simulate<'py>(
        &self,
        py: Python<'py>,
        kernels: Vec<kernel::PyKernel>,
        files: Kernels<'py>,
        given: Given<'py>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let simulated = self.with_payload(py, files, &given, |files, args, options, sources| {
            let program = self.program(kernels, files, sources, false)?;
            Ok(program.simulate(&args, &options)?)
        })?;
        let (simulated, sources) = simulated;
        results::simulation(py, &simulated, &sources)
    }

    /// Runs the unit: `outputs` (arrays by name), `written` (names of given arrays that hold results), `stats` (counts by name), `peak` (bytes), `notes`.
    fn run<'py>(
        &self,
        py: Python<'py>,
        kernels: Vec<kernel::PyKernel>,
        files: Kernels<'py>,
        given: Given<'py>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let ran = self.with_payload(py, files, &given, |files, args, options, sources| {
            self.ran(kernels, files, args, options, sources)
        })?;
        let (ran, sources) = ran;
        outcome(py, ran, &sources)
    }
}

impl TaskGraph {
    /// Does something with what is given, apart from the interpreter, and gives the sources beside that its messages may name.
    fn with_payload<T: Send>(
        &self,
        py: Python<'_>,
        files: Kernels<'_>,
        given: &Given<'_>,
        what: impl FnOnce(&Files, Args, RunOptions, &mut SourceMap) -> Result<T, Vec<Diagnostic>> + Send,
    ) -> PyResult<(T, SourceMap)> {
        let mut sources = self.sources.clone();
        let files = files.read().map_err(|refusal| refusal.error(py, &sources))?;
        let key = key_of_unit(&self.unit);
        let (args, options) = given.options(key).map_err(|refusal| refusal.error(py, &sources))?;
        let payload = PayloadSlot::default();
        // Arrays that are copied stay claimed as long as those that are used where they lie.
        let _claim = options.claim.clone();
        let done = interruptible(py, |cancel| {
            let options = RunOptions { cancel: Some(cancel), payload: Some(payload.clone()), ..options };
            let done = what(&files, args, options, &mut sources);
            done.map_err(|faults| Failed { faults, payload: payload.take() })
        })?;
        match done {
            Ok(done) => Ok((done, sources)),
            Err(failed) => Err(failed.raise(py, &sources)),
        }
    }

    /// The program behind the seam.
    fn program(
        &self,
        functions: Vec<kernel::PyKernel>,
        files: &Files,
        sources: &mut SourceMap,
        watched: bool,
    ) -> Result<Box<dyn Program>, Vec<Diagnostic>> {
        let (unit_kernels, files) = self.kernels(functions, files, sources, watched)?;
        let plan: PlanSource = self.source(files).into();
        Ok(own::registry_of_units(unit_kernels).select(&plan)?.backend().compile(&plan)?)
    }

    /// The unit with files of kernels.
    fn source(&self, files: Vec<KernelFile>) -> UnitSource {
        UnitSource { module: self.unit.clone(), files, target: CPU_SIM }
    }

    /// The kernels: functions of Python, and files, those that the unit uses and further ones.
    fn kernels(
        &self,
        functions: Vec<kernel::PyKernel>,
        files: &Files,
        sources: &mut SourceMap,
        watched: bool,
    ) -> Result<(TgKernels, Vec<KernelFile>), Vec<Diagnostic>> {
        let mut kernels = TgKernels::new();
        let called = self.unit.entry_symbols();
        for function in functions {
            function.is_called(&called)?;
            function.register(&mut kernels, watched).map_err(|fault| vec![*fault])?;
        }
        let used = self.unit.uses.iter().map(|file| Path::new(&self.folder).join(self.unit.str(file.path)));
        let used: Vec<String> = used.map(|path| path.display().to_string()).collect();
        let added = files.files.iter().filter(|file| !used.contains(file));
        let (mut opened, mut known): (Vec<KernelFile>, Vec<String>) = (Vec::new(), Vec::new());
        for path in used.iter().chain(added) {
            let module = Arc::new(library::open(path, sources)?);
            let own: Vec<String> = settable(&module).map(str::to_owned).collect();
            let set = files.params.iter().filter(|(name, _)| own.contains(name)).cloned().collect();
            let entries = module.kernel_entries.iter().map(|entry| entry.function.index());
            if !used.contains(path)
                && !entries.into_iter().any(|at| called.contains(module.functions[at].name.as_str()))
            {
                return Err(vec![idle(path)]);
            }
            known.extend(own);
            opened.push(KernelFile { module, set });
        }
        given::all_known(&files.params, &known)?;
        Ok((kernels, opened))
    }

    /// Runs the unit.
    fn ran(
        &self,
        functions: Vec<kernel::PyKernel>,
        files: &Files,
        args: Args,
        options: RunOptions,
        sources: &mut SourceMap,
    ) -> Result<Ran, Vec<Diagnostic>> {
        let program = self.program(functions, files, sources, options.recording == Recording::On)?;
        let mut prepared = program.prepare(args, options)?;
        refuse_contradictions(prepared.notes())?;
        let outcome = prepared.run()?;
        let counts = own::counts_of_unit(&*outcome.own).map(|counts| counts.items);
        let mut notes = Vec::new();
        if outcome.stats.tasks == 0 && counts.is_none_or(|copied| copied == 0) {
            let message = "nothing ran: the unit invoked no kernel and copied nothing";
            notes.push(Diagnostic::warning(NOTHING_RAN, message));
        }
        // Elements that kernels have loaded are an input.
        let unwritten = outcome.unwritten.iter().filter(|left| !left.loaded);
        notes.extend(unwritten.map(|left| results::never_written(&left.tensor, left)));
        Ok(Ran { outcome, notes })
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
    let Outcome { outputs: arrays, stats: counts, notes, unit, own, .. } = ran.outcome;
    let outputs = PyDict::new(py);
    for (name, array) in arrays {
        outputs.set_item(name, Bound::new(py, KernelArray::owning(array))?)?;
    }
    let (stats, found) = (PyDict::new(py), PyDict::new(py));
    stats.set_item("kernels", counts.tasks)?;
    if let Some(counts) = own::counts_of_unit(&*own) {
        for (name, count) in [
            ("launches", counts.launches),
            ("dispatches", counts.dispatches),
            ("blocks", counts.blocks),
            ("copies", counts.items),
            ("checkpoints", counts.checkpoints),
        ] {
            stats.set_item(name, count)?;
        }
    }
    found.set_item("written", unit.written)?;
    found.set_item("peak", unit.peak.iter().map(|peak| peak.total).collect::<Vec<_>>())?;
    found.set_item("outputs", outputs)?;
    found.set_item("stats", stats)?;
    found.set_item("notes", results::notes(&[notes, ran.notes].concat(), sources))?;
    Ok(found)
}
