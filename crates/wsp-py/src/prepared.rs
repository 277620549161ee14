//! Programs with their arguments checked and bound once.

use crate::errors;
use crate::functions::Functions;
use crate::inner::{Body, Inner};
use crate::inputs::{Arguments, Copied, Need, exchanged};
use crate::integers::SeenList;
use crate::nested;
use crate::refusal::Refusal;
use crate::registry::Awaited;
use crate::results::Figures;
use crate::runs::{Done, Running};
use crate::signature::Taken;
use crate::timeline;
use crate::watched::Watched;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use pyo3::{PyTraverseError, PyVisit};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use wsp_backend::claims::in_use;
use wsp_backend::{Args, RunError, RunOptions};
use wsp_diag::Diagnostic;
use wsp_memory::{Claim, Uses};
use wsp_plan::ParamValue;
use wsp_runtime::timeline::Timeline;
use wsp_trace::python::arrays::{BAD_OPTION, SURPLUS};

/// What to do with a program that is bound at each run.
const EXECUTE: &str = "give the same arguments to `execute`, which binds them at each run";

/// A program with its arguments checked and bound, to be run again and again, by one thread at a time.
#[pyclass(frozen, module = "pto_wsp._core")]
pub(crate) struct Prepared {
    inner: Arc<Inner>,
    functions: Py<Functions>,
    options: RunOptions,
    bound: Arc<Mutex<Bindings>>,
}

/// What it is bound to.
struct Bindings {
    workload: Box<dyn wsp_backend::Prepared>,
    /// Everything by name, as the caller gave it.
    named: Py<PyDict>,
    /// Values of sizes.
    set: Vec<(String, ParamValue)>,
    /// Arrays that each run claims.
    uses: Uses,
    /// Integers that the caller may change in place.
    lists: Vec<SeenList>,
    watched: Arc<Watched>,
    cancel: Arc<AtomicBool>,
    on_caller: bool,
    /// Whether runs record when and where tasks ran.
    is_traced: bool,
}

impl Bindings {
    fn new(
        py: Python<'_>,
        inner: &Inner,
        named: Bound<'_, PyDict>,
        mut options: RunOptions,
    ) -> PyResult<Bindings> {
        // Read before they are bound: what a run changes between the two is then seen as a change.
        let lists = match seen_lists(inner, &named) {
            Err(refusal) if refusal.interrupts(py) => return Err(refusal.error(py, &inner.sources)),
            lists => lists,
        };
        if inner.signature.library.taken == Taken::Copied {
            let message =
                "a program whose target takes copies of its arrays cannot be bound: each run copies them";
            return Err(errors::fault(py, Diagnostic::error(BAD_OPTION, message).help(EXECUTE)));
        }
        let Arguments { args, uses, copied, .. } = inner.bind(py, Some(&named), Need::Everything)?;
        let usable = copied.iter().try_for_each(Copied::refuse_where_bound);
        usable.map_err(|fault| errors::exception(py, &[fault], &inner.sources))?;
        let lists = lists.map_err(|refusal| refusal.error(py, &inner.sources))?;
        options.sequential |= inner.alone(&args, &options);
        let on_caller = inner.on_caller(&options);
        let is_traced = options.trace || inner.measures();
        let cancel = Arc::new(AtomicBool::new(false));
        options.cancel = Some(cancel.clone());
        let watched = if on_caller {
            Watched::looking(inner.has_functions(), options)
        } else {
            Watched::new(inner.has_functions(), options)
        };
        if matches!(&inner.body, Body::Workload(plan) if plan.library.is_some()) {
            let message = "a workload whose kernels are those of a used file cannot be bound";
            return Err(errors::fault(py, Diagnostic::error(BAD_OPTION, message).help(EXECUTE)));
        }
        let set = args.values.clone();
        let workload = py.detach(|| inner.program.prepare(args, watched.options().clone()));
        let workload = workload.map_err(|fault| errors::exception(py, &Vec::from(fault), &inner.sources))?;
        let (named, watched, uses) = (named.unbind(), Arc::new(watched), uses.into());
        Ok(Bindings { workload, named, set, uses, lists, watched, cancel, on_caller, is_traced })
    }

    /// Runs it; when and where tasks ran, if that is recorded.
    fn run(&mut self, claim: &Arc<Claim>) -> Result<Option<Timeline>, RunError> {
        self.workload.launch(Some(claim))?;
        if !self.is_traced {
            return Ok(None);
        }
        Ok(timeline::of_run(&self.workload.outcome()?.into()))
    }

    /// Exchanges arrays of a host entry that are used where they lie; whether that was all there was to do.
    ///
    /// # Errors
    /// Arrays that cannot be used. Then everything stays as it was.
    fn exchange(&mut self, py: Python<'_>, inner: &Inner, named: &Bound<'_, PyDict>) -> PyResult<bool> {
        if !matches!(inner.body, Body::Launch { .. }) {
            return Ok(false);
        }
        let raised = |faults: Vec<Diagnostic>| errors::exception(py, &faults, &inner.sources);
        let found = exchanged(&inner.signature, named);
        let found = found.map_err(|refusal| refusal.error(py, &inner.sources))?;
        let Some(found) = found else { return Ok(false) };
        let views = found.iter().map(|one| (one.name.clone(), one.view.clone())).collect();
        let args = Args { views, ..Args::default() };
        let workload = &mut self.workload;
        workload.rebind(args).map_err(|fault| raised(fault.into()))?;
        let kept = self.uses.iter().filter(|one| found.iter().all(|other| other.name != one.name)).cloned();
        self.uses = kept.chain(found.iter().cloned()).collect();
        self.named.bind(py).update(named.as_mapping())?;
        Ok(true)
    }

    /// Whether a table or a size has other values than those that this was bound with.
    fn has_changed(&self, py: Python<'_>) -> PyResult<bool> {
        for list in &self.lists {
            if list.has_changed(py)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Tables and sizes among the arguments that the caller may change in place, with their values.
fn seen_lists(inner: &Inner, named: &Bound<'_, PyDict>) -> Result<Vec<SeenList>, Refusal> {
    let signature = &inner.signature;
    let tables = signature.tables.iter().map(|table| &table.given);
    let sizes = signature.params.iter().map(|param| &param.given);
    let arrays = signature.library.arrays.iter().map(|array| &array.name);
    let mut lists = Vec::new();
    for name in tables.chain(sizes).chain(arrays) {
        if let Ok(Some(object)) = named.get_item(name)
            && let Some(list) = SeenList::of(name, &object)?
        {
            lists.push(list);
        }
    }
    Ok(lists)
}

impl Prepared {
    /// Binds a program.
    pub(crate) fn new(
        py: Python<'_>,
        inner: &Arc<Inner>,
        functions: Py<Functions>,
        named: Bound<'_, PyDict>,
        options: RunOptions,
    ) -> PyResult<Prepared> {
        let bound = Bindings::new(py, inner, named, options.clone())?;
        Ok(Prepared { inner: inner.clone(), functions, options, bound: Arc::new(Mutex::new(bound)) })
    }

    /// What it is bound to, which one thread at a time may use: waiting here would keep the interpreter from the thread that
    /// has it.
    fn lock(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Bindings>> {
        match self.bound.try_lock() {
            Ok(bound) => Ok(bound),
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => Err(errors::occupied(
                py,
                "this bound program is in use on another thread, or in a call that has not ended",
                "bind one for each thread: `program.bind(…)`",
            )),
        }
    }

    fn run_elsewhere(&self, py: Python<'_>, cancel: Arc<AtomicBool>, claim: Arc<Claim>) -> PyResult<()> {
        // The next run begins anew, whatever stopped the one before.
        cancel.store(false, Ordering::Relaxed);
        let bound = self.bound.clone();
        let _nested = nested::begin(py)?;
        let running = Running::spawn(cancel, Arc::default(), move || {
            let mut bound = bound.lock().unwrap_or_else(PoisonError::into_inner);
            let ran = bound.run(&claim).map(|timeline| Done { outcome: None, timeline });
            ran.map_err(|error| bound.watched.failed(error.into()))
        })?;
        let _awaited = running.awaited()?;
        running.wait(py, None)?;
        let ended = running.finish(py, &self.inner).map(drop);
        // That it cannot be kept is said by `execute`.
        let _ = self.inner.keep_code();
        ended
    }
}

#[pymethods]
impl Prepared {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.functions)?;
        // What a run uses is no garbage: the thread that waits for the run refers to this.
        let Ok(bound) = self.bound.try_lock() else { return Ok(()) };
        visit.call(&bound.named)?;
        bound.lists.iter().try_for_each(|list| list.traverse(&visit))
    }

    /// Runs the program; the arrays hold the results then. Tables and sizes have the values that they have at present.
    #[pyo3(signature = (*unnamed, **named))]
    fn __call__(
        &self,
        py: Python<'_>,
        unnamed: &Bound<'_, PyTuple>,
        named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        if !unnamed.is_empty() || named.is_some_and(|named| !named.is_empty()) {
            let fault = Diagnostic::error(SURPLUS, "a bound program is called without arguments")
                .help("exchange arrays and sizes before the call: `bound.rebind(X=x)`, then `bound()`");
            return Err(errors::exception(py, &[fault], &self.inner.sources));
        }
        let mut bound = self.lock(py)?;
        if bound.has_changed(py)? {
            let all = bound.named.bind(py).copy()?;
            *bound = Bindings::new(py, &self.inner, all, self.options.clone())?;
        }
        let claim = Claim::of(&bound.uses);
        let claim =
            claim.map_err(|conflict| errors::exception(py, &[in_use(&conflict)], &self.inner.sources))?;
        let claim = Arc::new(claim);
        if !bound.on_caller {
            let cancel = bound.cancel.clone();
            drop(bound);
            return self.run_elsewhere(py, cancel, claim);
        }
        let _nested = nested::begin(py)?;
        let _awaited = Awaited::new(&bound.cancel)?;
        let workload = &mut bound.workload;
        match py.detach(|| workload.launch(Some(&claim))) {
            Ok(()) => {
                let _ = self.inner.keep_code();
                Ok(())
            }
            Err(error) => Err(bound.watched.failed(error.into()).raise(py, &self.inner)),
        }
    }

    /// Whether a table or a size has other values than those that the last run or exchange saw.
    fn has_changed(&self, py: Python<'_>) -> PyResult<bool> {
        self.lock(py)?.has_changed(py)
    }

    /// Exchanges arrays, tables and sizes by name for the runs to come; what is not named stays, and what is `None` is no
    /// longer given. Nothing is compiled again.
    ///
    /// Arrays of the same shapes are exchanged in place. When something does not fit, everything stays as it was.
    #[pyo3(signature = (named))]
    fn rebind(&self, py: Python<'_>, named: &Bound<'_, PyDict>) -> PyResult<()> {
        let mut bound = self.lock(py)?;
        if bound.exchange(py, &self.inner, named)? {
            return Ok(());
        }
        let all = bound.named.bind(py).copy()?;
        all.update(named.as_mapping())?;
        let Arguments { args, uses, .. } = self.inner.bind(py, Some(&all), Need::Everything)?;
        let taken_back = named.values().iter().any(|value| value.is_none());
        if taken_back || args.values != bound.set || !args.arrays.is_empty() {
            *bound = Bindings::new(py, &self.inner, all, self.options.clone())?;
            return Ok(());
        }
        let lists = seen_lists(&self.inner, &all);
        let lists = lists.map_err(|refusal| refusal.error(py, &self.inner.sources))?;
        let workload = &mut bound.workload;
        let done = py.detach(|| workload.rebind(Args { values: Vec::new(), ..args }));
        done.map_err(|fault| errors::exception(py, &Vec::from(fault), &self.inner.sources))?;
        bound.named = all.unbind();
        bound.uses = uses.into();
        bound.lists = lists;
        Ok(())
    }

    /// The figures of the last run.
    fn stats(&self, py: Python<'_>) -> PyResult<Figures> {
        let mut bound = self.lock(py)?;
        let outcome = bound.workload.outcome();
        let outcome =
            outcome.map_err(|fault| errors::exception(py, &Vec::from(fault), &self.inner.sources))?;
        Ok(Figures::new(outcome.into(), &self.inner))
    }
}
