//! What a check or a run of task graphs is given.

use crate::arrays::PyArray;
use crate::claims::{Use, may_read};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeMap;
use wsp_cpu::tg::SessionOptions;
use wsp_ir::diag::{Code, Diagnostic, did_you_mean};
use wsp_plan::{Array, Arrays, ParamValue};

const BAD_VALUE: Code = Code(1264);

/// Files of kernels, and values of their parameters.
#[derive(FromPyObject)]
pub(super) struct Kernels {
    #[pyo3(item)]
    pub(super) files: Vec<String>,
    #[pyo3(item)]
    pub(super) params: BTreeMap<String, i64>,
}

/// Settings of a run.
#[derive(FromPyObject)]
pub(super) struct Given<'py> {
    /// Arrays by name.
    #[pyo3(item)]
    inputs: Bound<'py, PyDict>,
    /// Scalars by name.
    #[pyo3(item)]
    scalars: BTreeMap<String, i64>,
    /// External events that are signalled.
    #[pyo3(item)]
    events: Vec<String>,
    /// Threads; 0 for as many as the machine has.
    #[pyo3(item)]
    threads: u32,
    /// Simulated devices.
    #[pyo3(item)]
    devices: u32,
    /// Bytes of memory of each device.
    #[pyo3(item)]
    memory: Option<u64>,
}

impl Given<'_> {
    /// The options of a session. Arrays are copied.
    pub(super) fn options(&self) -> Result<SessionOptions, Vec<Diagnostic>> {
        let mut inputs = Arrays::new();
        let mut faults = Vec::new();
        for (name, array) in self.inputs.iter() {
            let Ok(name) = name.extract::<String>() else {
                faults.push(Diagnostic::error(BAD_VALUE, "names of inputs are strings"));
                continue;
            };
            match copied(&name, &array) {
                Ok(array) => {
                    inputs.insert(name, array);
                }
                Err(fault) => faults.push(fault),
            }
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        let mut options = SessionOptions { inputs, memory: self.memory, ..SessionOptions::default() };
        options.scalars = self.scalars.iter().map(|(name, value)| (name.clone(), *value)).collect();
        options.events = self.events.clone();
        options.runtime.devices = self.devices;
        options.runtime.threads = match self.threads {
            0 => std::thread::available_parallelism().map_or(1, |threads| threads.get() as u32),
            threads => threads,
        };
        Ok(options)
    }
}

/// A copy of an array, which no other run writes meanwhile: the interpreter is held, and a run needs it to begin.
fn copied(name: &str, array: &Bound<'_, PyAny>) -> Result<Array, Diagnostic> {
    let array = PyArray::of(name, array)?;
    if let Ok(view) = array.view(name) {
        may_read(&[Use { name: name.to_owned(), view, written: false }])?;
    }
    array.to_array(name)
}

/// Checks that some file has each parameter that is set.
pub(super) fn all_known(set: &[(String, ParamValue)], known: &[String]) -> Result<(), Vec<Diagnostic>> {
    let unknown = set.iter().filter(|(name, _)| !known.contains(name)).map(|(name, _)| {
        let fault = Diagnostic::error(BAD_VALUE, format!("no used file has a parameter `{name}`"));
        match did_you_mean(name, known.iter().map(String::as_str)) {
            Some(near) => fault.help(format!("did you mean `{near}`?")),
            None => fault.note(format!("parameters: {}", known.join(", "))),
        }
    });
    let unknown: Vec<Diagnostic> = unknown.collect();
    if unknown.is_empty() { Ok(()) } else { Err(unknown) }
}
