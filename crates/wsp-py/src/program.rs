//! Programs as Python sees them.

use crate::errors;
use crate::fast_path::FastPath;
use crate::functions::Functions;
use crate::inner::{Body, Inner};
use crate::inputs::{Arguments, Need};
use crate::options;
use crate::plans::Plan;
use crate::prepared::Prepared;
use crate::results::{self, Figures};
use crate::runs::{self, Limit};
use crate::started::Run;
use crate::timeline::{self, Recorded};
use pto_wsp::OnDeviceGenerator;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use pyo3::{PyTraverseError, PyVisit};
use std::borrow::Cow;
use std::sync::{Arc, PoisonError};
use wsp_backend::{Detail, GraphOptions, RunOptions};
use wsp_diag::SourceMap;
use wsp_ir::workload::ExecPool;
use wsp_plan::target::model::{self, Model};
use zerocopy::IntoBytes as _;

/// What to do with a host entry that has no tasks of a workload.
const IN_A_WORKLOAD: &str = "call its kernels in a workload";

/// A compiled workload. It may be used from several threads at once; each run is separate.
#[pyclass(frozen, module = "pto_wsp._core")]
pub(crate) struct Program {
    inner: Arc<Inner>,
    functions: Py<Functions>,
}

impl Program {
    /// A program of what is compiled.
    ///
    /// # Errors
    /// There is no memory for it.
    pub(crate) fn new(py: Python<'_>, inner: Inner) -> PyResult<Program> {
        let functions = Functions::new(py, inner.functions.clone())?;
        Ok(Program { inner: Arc::new(inner), functions })
    }

    /// What planning takes: the program, shapes and integers, options.
    pub(crate) fn planned(
        &self,
        py: Python<'_>,
        named: Option<&Bound<'_, PyDict>>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<(&Arc<Inner>, Arguments, RunOptions)> {
        let options = self.inner.run_options(py, options)?;
        Ok((&self.inner, self.inner.bind(py, named, Need::Shapes)?, options))
    }
}

#[pymethods]
impl Program {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.functions)
    }

    /// Runs the program on arrays, tables and sizes by name, and gives its figures. Arrays are used in place. Sizes that are
    /// not given follow from the shapes of arrays. A run of more than so many `seconds` fails.
    #[pyo3(signature = (named=None, options=None, seconds=None))]
    fn execute(
        &self,
        py: Python<'_>,
        named: Option<&Bound<'_, PyDict>>,
        options: Option<&Bound<'_, PyDict>>,
        seconds: Option<f64>,
    ) -> PyResult<Figures> {
        let limit = seconds.map(Limit::seconds);
        let (arguments, options) = self.inner.launch(py, named, options)?;
        let outcome = runs::execute(py, &self.inner, arguments, options, limit)?;
        Ok(Figures::new(outcome, &self.inner))
    }

    /// The fast path of `execute` with these options, whose result is what `ended` makes of the program and the figures; none where no run can begin.
    fn fast_path(
        &self,
        py: Python<'_>,
        options: &Bound<'_, PyDict>,
        ended: Py<PyAny>,
    ) -> PyResult<Option<FastPath>> {
        if self.inner.declared_only.is_some() {
            return Ok(None);
        }
        let options = self.inner.run_options(py, Some(options))?;
        Ok(Some(FastPath::new(self.inner.clone(), self.functions.clone_ref(py), options, ended)))
    }

    /// Runs the generators of a host entry and keeps what they emit; `capacity` is descriptors and bytes of workspace.
    #[pyo3(signature = (named=None, options=None, capacity=None))]
    fn make_plan(
        &self,
        py: Python<'_>,
        named: Option<&Bound<'_, PyDict>>,
        options: Option<&Bound<'_, PyDict>>,
        capacity: Option<(u32, u64)>,
    ) -> PyResult<Plan> {
        let (inner, arguments, options) = self.planned(py, named, options)?;
        Plan::make(py, inner, &arguments, &options, capacity)
    }

    /// What a plan needs: descriptors, words, bytes and slots of workspace.
    #[pyo3(signature = (named=None, options=None))]
    fn workspace_query(
        &self,
        py: Python<'_>,
        named: Option<&Bound<'_, PyDict>>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<(u64, u64, u64, u64)> {
        let (inner, arguments, options) = self.planned(py, named, options)?;
        Plan::query(py, inner, &arguments, &options)
    }

    /// Runs a plan and gives its figures.
    #[pyo3(signature = (plan, named=None, options=None))]
    fn execute_plan(
        &self,
        py: Python<'_>,
        plan: &Plan,
        named: Option<&Bound<'_, PyDict>>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Figures> {
        let (arguments, options) = self.inner.launch(py, named, options)?;
        let outcome = plan.run(py, &self.inner, arguments, options)?;
        Ok(Figures::new(outcome, &self.inner))
    }

    /// Starts a run on a thread of its own, which fails when it takes longer than so many `seconds`.
    #[pyo3(signature = (named=None, options=None, seconds=None))]
    fn start(
        &self,
        py: Python<'_>,
        named: Option<&Bound<'_, PyDict>>,
        options: Option<&Bound<'_, PyDict>>,
        seconds: Option<f64>,
    ) -> PyResult<Run> {
        runs::may_go_on(py)?;
        let (arguments, options) = self.inner.launch(py, named, options)?;
        Run::start(
            py,
            &self.inner,
            self.functions.clone_ref(py),
            arguments,
            options,
            seconds.map(Limit::seconds),
        )
    }

    /// Checks and binds everything once, for any number of runs.
    #[pyo3(signature = (named=None, options=None))]
    fn prepare(
        &self,
        py: Python<'_>,
        named: Option<&Bound<'_, PyDict>>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Prepared> {
        let options = self.inner.run_options(py, options)?;
        let named = named.map_or_else(|| Ok(PyDict::new(py)), |named| named.copy())?;
        Prepared::new(py, &self.inner, self.functions.clone_ref(py), named, options)
    }

    /// The tasks and their edges, without running anything. `deps` asks for other edges than the schedule's: `exact`,
    /// `overlap`, `explicit`.
    #[pyo3(signature = (named=None, *, deps=None, missed=false))]
    fn graph<'py>(
        &self,
        py: Python<'py>,
        named: Option<&Bound<'py, PyDict>>,
        deps: Option<&str>,
        missed: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let Arguments { args, .. } = self.inner.bind(py, named, Need::Sizes)?;
        let deps = options::deps(py, deps)?;
        let detail = Detail { missed, coordinates: true, ..Detail::default() };
        let spaces = self.inner.own_options(py, None)?.spaces;
        let listed = runs::interruptible(py, |cancel| {
            self.inner.program.graph(&args, &GraphOptions { deps, detail, spaces, cancel: Some(cancel) })
        })?;
        let listed = listed.map_err(|fault| errors::exception(py, &Vec::from(fault), &self.inner.sources))?;
        results::graph(py, &listed)
    }

    /// Runs the workload in virtual time: no kernel runs, every task takes the cycles that its kernel costs, on the units of a machine model where
    /// one is given: its name, or the name and the text of its file.
    #[pyo3(signature = (named=None, options=None, model=None))]
    fn simulate<'py>(
        &self,
        py: Python<'py>,
        named: Option<&Bound<'py, PyDict>>,
        options: Option<&Bound<'py, PyDict>>,
        model: Option<(String, Option<String>)>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let machine = match model {
            None => None,
            Some((name, text)) => Some(machine(py, &name, text, &self.inner.sources)?),
        };
        let Arguments { args, .. } = self.inner.bind(py, named, Need::Sizes)?;
        let options = self.inner.own_options(py, options)?;
        let done = runs::interruptible(py, |cancel| {
            let options = RunOptions { cancel: Some(cancel), ..options };
            self.inner.program.simulate_on(&args, &options, machine.as_deref())
        })?;
        let simulated =
            done.map_err(|fault| errors::exception(py, &Vec::from(fault), &self.inner.sources))?;
        self.inner.keep(Some(timeline::of_simulation(&simulated)));
        results::simulation(py, &simulated, &self.inner.sources)
    }

    /// The bytes that a launch on this many AICPUs transfers.
    #[pyo3(signature = (named=None, aicpus=1))]
    fn transfer<'py>(
        &self,
        py: Python<'py>,
        named: Option<&Bound<'py, PyDict>>,
        aicpus: u16,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Arguments { args, .. } = self.inner.bind(py, named, Need::Sizes)?;
        self.inner.workload(py, "has no program for AICPUs", IN_A_WORKLOAD)?;
        let program = &self.inner.program;
        let moved = runs::interruptible(py, |cancel| program.transfer(&args, aicpus, Some(&cancel)))?;
        let moved = moved.map_err(|fault| errors::exception(py, &Vec::from(fault), &self.inner.sources))?;
        results::transfer(py, &moved, &self.inner.sources)
    }

    /// What runs the tasks under these options, as pairs of a part and what it is.
    #[pyo3(signature = (options=None))]
    fn implementation(
        &self,
        py: Python<'_>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Vec<(&'static str, String)>> {
        let mut options = self.inner.own_options(py, options)?;
        self.inner.set_window(&mut options);
        let parts = self.inner.program.implementation(&options);
        parts.map_err(|fault| errors::exception(py, &Vec::from(fault), &self.inner.sources))
    }

    /// What the target does with the schedule, the kernels and what runs for them: `schedule`, `kernels`, `backend`, `notes`.
    fn explain<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (about, lines, kernels) = (PyDict::new(py), PyList::empty(py), PyList::empty(py));
        let line = |primitive: &str, support: &str, meaning: &str| -> PyResult<()> {
            let entry = PyDict::new(py);
            entry.set_item("primitive", primitive)?;
            entry.set_item("support", support)?;
            entry.set_item("meaning", meaning)?;
            lines.append(entry)
        };
        let mut streams = None;
        match &self.inner.body {
            Body::Workload(plan) => {
                let schedule = &plan.schedule;
                streams = schedule.policy.streams;
                for each in &schedule.lines {
                    line(each.primitive, each.support.name(), each.meaning)?;
                }
            }
            Body::Launch { plan, .. } => {
                for text in plan.stages.iter().flat_map(|stage| &stage.schedule.lines) {
                    let parts: Vec<&str> = text.splitn(3, ": ").collect();
                    line(parts[0], parts.get(1).unwrap_or(&""), parts.get(2).unwrap_or(&""))?;
                }
            }
        }
        let units = self.inner.module().kernels.iter().map(|kernel| kernel.place());
        let units = units.chain(std::iter::repeat(ExecPool::Any.word()));
        for (k, ((given, body), unit)) in self.inner.bodies.iter().zip(units).enumerate() {
            let entry = PyDict::new(py);
            // Kernels of one function have names of their own in graphs and traces.
            let of_plan = match &self.inner.body {
                Body::Workload(plan) => plan.module.kernels.get(k).map(|kernel| &kernel.name),
                Body::Launch { .. } => None,
            };
            entry.set_item("name", of_plan.unwrap_or(given))?;
            entry.set_item("unit", unit)?;
            entry.set_item("body", body)?;
            kernels.append(entry)?;
        }
        about.set_item("schedule", lines)?;
        about.set_item("kernels", kernels)?;
        about.set_item("backend", &self.inner.backend)?;
        about.set_item("streams", streams)?;
        about.set_item("notes", self.notes())?;
        let cached = self.inner.cached.as_ref();
        about.set_item("cache", cached.map(|cached| cached.statistics().to_string()))?;
        Ok(about)
    }

    /// The workload as bytecode, and what each of so many AICPUs gets beside it.
    fn on_device<'py>(
        &self,
        py: Python<'py>,
        aicpus: u16,
    ) -> PyResult<(Bound<'py, PyBytes>, Vec<Bound<'py, PyBytes>>)> {
        let plan = self.inner.workload(py, "is not generated on AICPUs from bytecode", IN_A_WORKLOAD)?;
        let sources = &self.inner.sources;
        let made = OnDeviceGenerator::of_plan(plan, sources)
            .and_then(|generator| Ok((generator.compile(), generator.compile_dispatch(aicpus)?)));
        let (bytecode, configs) =
            made.map_err(|fault| errors::exception(py, fault.diagnostics(), sources))?;
        let configs = configs.iter().map(|config| PyBytes::new(py, config.as_bytes())).collect();
        Ok((PyBytes::new(py, bytecode.as_bytes()), configs))
    }

    /// When and where tasks ran in the last run that recorded it; none before.
    fn recorded(&self) -> Option<Recorded> {
        let timeline = self.inner.timeline.lock().unwrap_or_else(PoisonError::into_inner).clone();
        timeline.map(|timeline| Recorded { timeline })
    }

    /// What the compilation warns of, as text.
    #[getter]
    fn notes(&self) -> Vec<String> {
        results::notes(&self.inner.warnings, &self.inner.sources)
    }

    /// Tensors: dictionaries of `name`, `dtype`, `dims`, `role` (`argument`, `temporary`, `slot`), `written`.
    #[getter]
    fn tensors<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.inner.signature.tensors_list(py)
    }

    /// Tables: dictionaries of `name`, `inline`.
    #[getter]
    fn tables<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.inner.signature.tables_list(py)
    }

    /// What a used file takes: names with what each is, `f32[rows, 32]`, `pages`, `table`, `parameter`.
    #[getter]
    fn library(&self) -> Vec<(&str, &str)> {
        self.inner.signature.library_list()
    }

    /// Sizes: dictionaries of `name`, `derived`, `default`.
    #[getter]
    fn params<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.inner.signature.params_list(py)
    }

    /// Nanoseconds that the compilation took.
    #[getter]
    fn compile_ns(&self) -> u64 {
        self.inner.compile_ns
    }
}

/// A machine model: one that comes with the package, or the one that a text describes.
fn machine(
    py: Python<'_>,
    name: &str,
    text: Option<String>,
    sources: &SourceMap,
) -> PyResult<Cow<'static, Model>> {
    let Some(text) = text else {
        let found = model::named(name).map(Cow::Borrowed);
        return found.map_err(|fault| errors::exception(py, &[fault], sources));
    };
    let mut sources = sources.clone();
    let file = sources.add(name, text.as_str());
    let read = Model::read(&text, file).map(Cow::Owned);
    read.map_err(|faults| errors::exception(py, &faults, &sources))
}
