//! What a check or a run of task graphs is given.

use crate::arrays::{PyArray, type_name};
use crate::inputs::{param_value, reading};
use crate::options::start_order_of;
use crate::refusal::{Refusal, attempted};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::collections::BTreeMap;
use std::sync::Arc;
use wsp_backend::claims::in_use;
use wsp_backend::{Args, Recording, RunOptions};
use wsp_core::limits::MAX_THREADS;
use wsp_diag::{Diagnostic, did_you_mean};
use wsp_memory::{Claim, Use, View, is_within_task};
use wsp_plan::{Arrays, ParamValue};
use wsp_runtime::tg::MAX_DEVICES;
use wsp_trace::python::arrays::{BAD_OPTION as BAD_VALUE, WRONG_VALUE};

/// Files of kernels, and values of their parameters.
#[derive(FromPyObject)]
pub(super) struct Kernels<'py> {
    #[pyo3(item)]
    files: Vec<String>,
    #[pyo3(item)]
    params: Bound<'py, PyDict>,
}

/// [`Kernels`] apart from the interpreter.
pub(super) struct Files {
    pub(super) files: Vec<String>,
    pub(super) params: Vec<(String, ParamValue)>,
}

impl Kernels<'_> {
    /// The files, and the parameters with their values.
    ///
    /// # Errors
    /// Values that no parameter has.
    pub(super) fn read(self) -> Result<Files, Refusal> {
        let (mut params, mut refused) = (Vec::new(), Refusal::from(Vec::new()));
        for (name, value) in self.params.iter() {
            let name = name.to_string();
            match param_value(&name, &value) {
                Ok(value) => params.push((name, value)),
                Err(refusal) => refused.extend(value.py(), refusal),
            }
        }
        if refused.is_empty() { Ok(Files { files: self.files, params }) } else { Err(refused) }
    }
}

/// Settings of a run.
#[derive(FromPyObject)]
pub(super) struct Given<'py> {
    /// Arrays by name.
    #[pyo3(item)]
    inputs: Bound<'py, PyDict>,
    /// Scalars by name.
    #[pyo3(item)]
    scalars: Bound<'py, PyDict>,
    /// External events that are signalled.
    #[pyo3(item)]
    events: Bound<'py, PyList>,
    /// Threads; 0 for as many as the machine has.
    #[pyo3(item)]
    threads: Bound<'py, PyAny>,
    /// Simulated devices.
    #[pyo3(item)]
    devices: Bound<'py, PyAny>,
    /// Bytes of memory of each device; `None` for as many as the machine has.
    #[pyo3(item)]
    memory: Bound<'py, PyAny>,
    /// Whether to record what is stored.
    #[pyo3(item)]
    record: bool,
    /// A seed or a recorded order of starts, if the run keeps to one.
    #[pyo3(item)]
    replay: Option<Bound<'py, PyAny>>,
}

impl Given<'_> {
    /// Arguments and options of a run. Arrays whose elements lie next to each other are used where they lie, others are claimed and then copied.
    /// A trace is one of a unit with this key.
    pub(super) fn options(&self, key: u64) -> Result<(Args, RunOptions), Refusal> {
        let (mut copies, mut views) = (Vec::new(), BTreeMap::new());
        let (py, mut refused) = (self.inputs.py(), Refusal::from(Vec::new()));
        for (name, array) in self.inputs.iter() {
            let Ok(name) = name.extract::<String>() else {
                refused.add([Diagnostic::error(WRONG_VALUE, "a name of `inputs` is no string")
                    .help("write names in quotes: `graph.run({\"X\": x})`")]);
                continue;
            };
            match taken(&name, &array) {
                Ok(Taken::View(view)) => drop(views.insert(name, view)),
                Ok(Taken::Copy(array, place)) => copies.push((name, array, place)),
                Err(refusal) => refused.extend(py, refusal),
            }
        }
        let scalars = self.scalars.iter().filter_map(|(name, value)| {
            let name = name.to_string();
            let value = integer(&format!("scalar `{name}`"), &value, i64::MIN, i64::MAX);
            let value = value.map_err(|refusal| refused.extend(py, refusal)).ok()?;
            Some((name, ParamValue::Int(value.into())))
        });
        let values = scalars.collect();
        let mut options = RunOptions::default();
        let mut taken = |taken: Result<(), Refusal>| {
            if let Err(refusal) = taken {
                refused.extend(py, refusal);
            }
        };
        let events = self.events.extract().map_err(|_| not_names("events").into());
        taken(events.map(|events| options.unit.events = events));
        taken(integer("`devices`", &self.devices, 1, MAX_DEVICES).map(|n| options.unit.devices = n));
        taken(integer("`threads`", &self.threads, 0, MAX_THREADS).map(|n| options.threads = n));
        if !self.memory.is_none() {
            taken(integer("`memory`", &self.memory, 0, u64::MAX).map(|n| options.unit.memory = Some(n)));
        }
        if let Some(replay) = &self.replay {
            let order = start_order_of(replay, key).map_err(Refusal::from);
            taken(order.map(|order| options.replay = Some(order)));
        }
        if self.record {
            options.recording = Recording::On;
        }
        if !refused.is_empty() {
            return Err(refused);
        }
        let claim = claimed(&copies, &views)?;
        let copied = copies.iter().map(|(name, array, _)| Ok((name.clone(), array.to_array(name)?)));
        let arrays = copied.collect::<Result<Arrays, Diagnostic>>()?;
        options.unit.copied = copies.into_iter().map(|(name, _, place)| (name, place)).collect();
        options.claim = Some(Arc::new(claim));
        Ok((Args { arrays, views, values }, options))
    }
}

/// An integer of Python within bounds.
fn integer<T>(what: &str, value: &Bound<'_, PyAny>, least: T, most: T) -> Result<T, Refusal>
where
    T: TryFrom<i128> + Into<i128> + Copy + PartialOrd + std::fmt::Display,
{
    let wrong = |is: String| {
        Diagnostic::error(WRONG_VALUE, format!("{what} is {is}"))
            .help(format!("give an integer from {least} to {most}"))
    };
    let number: Option<i128> = attempted(value.py(), value.extract())?;
    let number = number.ok_or_else(|| wrong(format!("a value of type `{}`", type_name(value))))?;
    let fits = T::try_from(number).ok().filter(|number| (least..=most).contains(number));
    Ok(fits.ok_or_else(|| wrong(number.to_string()))?)
}

fn not_names(what: &str) -> Diagnostic {
    Diagnostic::error(WRONG_VALUE, format!("`{what}` are no names")).help("give a list of strings")
}

/// How an array is used.
enum Taken {
    View(View),
    /// Its elements, and where they lie.
    Copy(PyArray, View),
}

/// An array where it lies, or to be copied.
fn taken(name: &str, array: &Bound<'_, PyAny>) -> Result<Taken, Refusal> {
    let array = PyArray::of(name, array)?;
    if array.is_dense()
        && let Ok(view) = array.view(name)
    {
        return Ok(Taken::View(view));
    }
    let place = array.place(name)?;
    Ok(Taken::Copy(array, place))
}

/// The claim to read what a run copies. Of a run inside of a task, which has the arrays of that, it is on all arrays: the session is made on
/// another thread, which does not know.
fn claimed(copies: &[(String, PyArray, View)], views: &BTreeMap<String, View>) -> Result<Claim, Diagnostic> {
    if !is_within_task() {
        return reading(copies.iter().map(|(name, _, place)| (name.as_str(), place.clone())));
    }
    let one = |(name, view): (&String, &View)| Use { name: name.clone(), view: view.clone(), written: true };
    Claim::of(&views.iter().map(one).collect()).map_err(|conflict| in_use(&conflict))
}

/// Checks that some file has each parameter that is set.
pub(super) fn all_known(set: &[(String, ParamValue)], known: &[String]) -> Result<(), Vec<Diagnostic>> {
    let unknown = set.iter().filter(|(name, _)| !known.contains(name)).map(|(name, _)| {
        let fault = Diagnostic::error(BAD_VALUE, format!("no used file has a parameter `{name}`"));
        match did_you_mean(name, known.iter().map(String::as_str)) {
            Some(near) => fault.help(format!("did you mean `{near}`?")),
            None if known.is_empty() => {
                fault.help("leave it out, or use a file that has it: `graph.use(path)`")
            }
            None => fault.note(format!("parameters: {}", known.join(", "))),
        }
    });
    let unknown: Vec<Diagnostic> = unknown.collect();
    if unknown.is_empty() { Ok(()) } else { Err(unknown) }
}
