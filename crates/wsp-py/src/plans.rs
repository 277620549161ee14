//! Plans: what the generators of a `.pto` file's program emitted, kept to be run and brought up to date.

use crate::errors;
use crate::inner::Inner;
use crate::inputs::Arguments;
use crate::integers::integer_list;
use crate::kernels::KernelArray;
use crate::outcome::Ran;
use crate::own::{Capacity, LaunchOptions, Plan as Kept, PlanNeed};
use crate::program::Program;
use crate::refusal::Refusal;
use crate::runs::{self, interruptible};
use pto_wsp::{Advance, Growth};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError};
use wsp_backend::RunOptions;
use wsp_core::DType;
use wsp_diag::{Code, Diagnostic};
use wsp_plan::Array;

const BAD_GROWTH: Code = Code(580);

/// Descriptors, words, bytes of workspace, slots of workspace.
type Need = (u64, u64, u64, u64);

/// A descriptor: stage, name of its type, its first word, its number of words.
type Descriptor = (u32, String, usize, usize);

/// Descriptors of a launch, ready to run. It may be run from several threads at once; what changes it needs it alone.
#[pyclass(frozen, module = "pto_wsp._core")]
pub(crate) struct Plan {
    inner: Arc<Inner>,
    /// Shared with the views of its words.
    plan: Arc<RwLock<Kept>>,
}

fn in_use(py: Python<'_>) -> PyErr {
    errors::occupied(py, "this plan is being run or changed on another thread", "make a plan for each thread")
}

/// A plan to be looked at; none while another thread changes it.
fn look(plan: &RwLock<Kept>) -> Option<RwLockReadGuard<'_, Kept>> {
    match plan.try_read() {
        Ok(plan) => Some(plan),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

fn need(need: PlanNeed) -> Need {
    (need.descriptors, need.words, need.workspace_bytes, need.workspace_slots)
}

impl Plan {
    /// A plan for arguments of a program; `capacity` is descriptors and bytes of workspace, or as much as it takes.
    pub(crate) fn make(
        py: Python<'_>,
        inner: &Arc<Inner>,
        arguments: &Arguments,
        options: &RunOptions,
        capacity: Option<(u32, u64)>,
    ) -> PyResult<Plan> {
        let program = inner.launch_program(py, "no plans")?;
        let capacity = match capacity {
            Some((descriptors, workspace_bytes)) => Capacity::Fixed { descriptors, workspace_bytes },
            None => Capacity::Exact,
        };
        let made = interruptible(py, |cancel| {
            let options = inner.launch_options(arguments, options)?;
            let options = LaunchOptions { cancel: Some(cancel), ..options };
            program.plan(arguments.metadata(), &options, capacity)
        })?;
        let plan = made.map_err(|faults| errors::exception(py, &faults, &inner.sources))?;
        // That it cannot be kept is said by runs.
        let _ = inner.keep_code();
        Ok(Plan { inner: inner.clone(), plan: Arc::new(RwLock::new(plan)) })
    }

    /// What a plan for these arguments needs.
    pub(crate) fn query(
        py: Python<'_>,
        inner: &Arc<Inner>,
        arguments: &Arguments,
        options: &RunOptions,
    ) -> PyResult<Need> {
        let program = inner.launch_program(py, "no plans")?;
        let found = interruptible(py, |cancel| {
            let options = inner.launch_options(arguments, options)?;
            let options = LaunchOptions { cancel: Some(cancel), ..options };
            program.workspace_query(arguments.metadata(), &options)
        })?;
        found.map(need).map_err(|faults| errors::exception(py, &faults, &inner.sources))
    }

    /// Runs it with a program, which need not be the one that made it.
    pub(crate) fn run(
        &self,
        py: Python<'_>,
        inner: &Arc<Inner>,
        arguments: Arguments,
        options: RunOptions,
    ) -> PyResult<Ran> {
        inner.launch_program(py, "no plans")?;
        let plan = &self.plan;
        let ran = runs::executed(py, inner, arguments, options, |arguments, options| {
            look(plan).map(|plan| inner.execute_plan(&plan, arguments, options))
        })?;
        ran.ok_or_else(|| in_use(py))
    }

    fn plan(&self, py: Python<'_>) -> PyResult<RwLockReadGuard<'_, Kept>> {
        look(&self.plan).ok_or_else(|| in_use(py))
    }

    fn plan_mut(&self, py: Python<'_>) -> PyResult<RwLockWriteGuard<'_, Kept>> {
        match self.plan.try_write() {
            Ok(plan) => Ok(plan),
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => Err(in_use(py)),
        }
    }

    fn raised<T>(&self, py: Python<'_>, done: Result<T, Vec<Diagnostic>>) -> PyResult<T> {
        done.map_err(|faults| errors::exception(py, &faults, &self.inner.sources))
    }
}

#[pymethods]
impl Plan {
    /// Brings it up to date: for one token more of every request, or for these lengths. The number of words that changed, or
    /// none when the generators ran again.
    #[pyo3(signature = (lengths=None))]
    fn advance(&self, py: Python<'_>, lengths: Option<&Bound<'_, PyAny>>) -> PyResult<Option<u32>> {
        let lengths = lengths.map(tokens).transpose();
        let lengths = lengths.map_err(|refusal| refusal.error(py, &self.inner.sources))?;
        let mut plan = self.plan_mut(py)?;
        let growth = lengths.as_deref().map_or(Growth::ByOne, Growth::To);
        match self.raised(py, plan.advance(growth))? {
            Advance::Patched { words } => Ok(Some(words)),
            Advance::Regenerated => Ok(None),
        }
    }

    /// Runs the generators again, for the lengths that it has.
    fn regenerate(&self, py: Python<'_>) -> PyResult<()> {
        let mut plan = self.plan_mut(py)?;
        self.raised(py, plan.regenerate())
    }

    /// Its words, to be read: where they lie if its room is fixed, else a copy, as they move when it grows.
    fn words(&self, py: Python<'_>) -> PyResult<KernelArray> {
        let plan = self.plan(py)?;
        let words = plan.words();
        if let Capacity::Fixed { .. } = plan.capacity() {
            let address = words.as_ptr() as usize;
            return Ok(KernelArray::dense(address, DType::U32, vec![words.len()], false, self.plan.clone()));
        }
        let no_memory =
            |_| pyo3::exceptions::PyMemoryError::new_err("there is no memory for a copy of a plan");
        let mut copy = Array::zeros(DType::U32, &[words.len() as u64]).map_err(no_memory)?;
        if let Some(elements) = copy.as_slice_mut() {
            elements.copy_from_slice(words);
        }
        let address = copy.bytes().as_ptr() as usize;
        Ok(KernelArray::dense(address, DType::U32, vec![words.len()], false, Arc::new(copy)))
    }

    /// Every descriptor in issue order.
    fn descriptors(&self, py: Python<'_>) -> PyResult<Vec<Descriptor>> {
        let plan = self.plan(py)?;
        Ok(plan.descriptors().map(|d| (d.stage, d.name.to_owned(), d.first, d.words.len())).collect())
    }

    /// What it has: exactly what it needs.
    fn need(&self, py: Python<'_>) -> PyResult<Need> {
        Ok(need(self.plan(py)?.need()))
    }

    /// Tokens per request of each paged cache, by its name.
    fn lengths<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        for (name, lengths) in self.plan(py)?.lengths() {
            all.set_item(name, lengths)?;
        }
        Ok(all)
    }

    /// The tile of each axis that was set or chosen, by the axis's name.
    fn tiles<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        for (axis, size) in self.plan(py)?.tiles() {
            all.set_item(axis, size)?;
        }
        Ok(all)
    }

    /// Elements that each descriptor reads, as 64-bit words.
    fn costs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let costs = self.raised(py, self.plan(py)?.costs())?;
        Ok(PyBytes::new(py, &costs.into_iter().flat_map(u64::to_ne_bytes).collect::<Vec<u8>>()))
    }

    /// The fullest core over the mean: consecutive descriptors to each, and longest first.
    fn balance(&self, py: Python<'_>, cores: u32) -> PyResult<(f64, f64)> {
        let balance = self.raised(py, self.plan(py)?.balance(cores))?;
        Ok((balance.consecutive, balance.longest_first))
    }

    /// Whether a program would run it with these arguments.
    #[pyo3(signature = (program, named=None, options=None))]
    fn is_current_for(
        &self,
        py: Python<'_>,
        program: &Program,
        named: Option<&Bound<'_, PyDict>>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<bool> {
        let (inner, arguments, options) = program.planned(py, named, options)?;
        let launch = self.raised(py, inner.launch_options(&arguments, &options))?;
        let launched = inner.launch_program(py, "no plans")?;
        self.raised(py, self.plan(py)?.is_current_for(launched, arguments.metadata(), &launch))
    }

    /// Nanoseconds that the generators took when they ran last.
    #[getter]
    fn generated_ns(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.plan(py)?.generated_ns())
    }
}

/// Tokens of each request.
fn tokens(lengths: &Bound<'_, PyAny>) -> Result<Vec<u32>, Refusal> {
    let help =
        "give a list of integers, or an array of integers with one dimension: the tokens of each request";
    let fault = |what: String| {
        Diagnostic::error(BAD_GROWTH, format!("the plan cannot be advanced: {what}")).help(help)
    };
    let integers = integer_list("lengths", lengths);
    let integers = integers.map_err(|refused| refused.refusal(lengths.py(), fault))?;
    let each = integers.into_iter().enumerate().map(|(request, tokens)| {
        u32::try_from(tokens).map_err(|_| fault(format!("request {request} cannot have {tokens} tokens")))
    });
    Ok(each.collect::<Result<_, Diagnostic>>()?)
}
