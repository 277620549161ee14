//! Options of compilations and runs, from dictionaries: every key is known, every value checked.

use crate::arrays::type_name;
use crate::errors;
use pto_wsp::registry;
use pto_wsp::trace::Recorded;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyString};
use std::path::PathBuf;
use wsp_backend::{Expand, KvLayout, Recording, RunOptions, StartOrder};
use wsp_diag::{Diagnostic, did_you_mean};
use wsp_ir::workload::Deps;
use wsp_kernel::Mode;
use wsp_plan::CompileOptions;
use wsp_trace::python::arrays::BAD_OPTION;

/// Options of a compilation.
pub(crate) struct Compilation {
    /// Those of the compiler.
    pub(crate) options: CompileOptions,
    /// How tile operations of compiled kernels are implemented.
    pub(crate) mode: Mode,
    /// Order of heads and tokens in pages of caches, of a host entry; none where it is not said.
    pub(crate) kv_layout: Option<KvLayout>,
    /// AICPUs that are to generate the tasks; 0 for none.
    pub(crate) aicpus: u16,
    /// The folder of a cache.
    pub(crate) cache: Option<PathBuf>,
}

/// Reads the options of a compilation: `target`, `schedule`, `max_blocks`, `kv_layout`,
/// `cache`, `optimization_level`, `num_aicpus`.
pub(crate) fn compilation(py: Python<'_>, given: Option<&Bound<'_, PyDict>>) -> PyResult<Compilation> {
    let mut found = Compilation {
        options: CompileOptions::default(),
        mode: Mode::Fast,
        kv_layout: None,
        aicpus: 0,
        cache: None,
    };
    let known =
        ["target", "schedule", "max_blocks", "kv_layout", "cache", "optimization_level", "num_aicpus"];
    each(py, given, &known, |name, value| {
        match name {
            "target" => {
                let wanted = read::<String>(name, value, "a string")?;
                found.options.target = registry().target(&wanted).map_err(|fault| {
                    let is_told = !fault.help.is_empty();
                    if is_told { fault } else { fault.help("write `target=\"cpu_sim\"`, or leave it out") }
                })?;
            }
            "schedule" => found.options.schedule = Some(read(name, value, "a string")?),
            "max_blocks" => found.options.max_blocks = integer(name, value, 1, u32::MAX)?,
            "cache" => found.cache = Some(read(name, value, "the path of a folder")?),
            "kv_layout" => {
                let wanted = "`\"NHD\"` or `\"HND\"`";
                found.kv_layout = match read::<String>(name, value, wanted)?.as_str() {
                    "NHD" => Some(KvLayout::Nhd),
                    "HND" => Some(KvLayout::Hnd),
                    other => return Err(bad(name, &format!("is `{other}`"), wanted)),
                }
            }
            "num_aicpus" => found.aicpus = integer(name, value, 0, u16::MAX.into())? as u16,
            _ => {
                let level = integer(name, value, 0, 3)?;
                found.mode = if level == 0 { Mode::Plain } else { Mode::Fast };
            }
        }
        Ok(())
    })?;
    Ok(found)
}

/// Reads the options of a run: `threads`, `window`, `seed`, `trace`, `sequential`, `plain`, `num_aicpus`, `expand`, `whole_outs`, `replay`.
pub(crate) fn run(py: Python<'_>, given: Option<&Bound<'_, PyDict>>) -> PyResult<RunOptions> {
    let mut found = RunOptions::default();
    let known = [
        "threads",
        "window",
        "seed",
        "trace",
        "sequential",
        "plain",
        "num_aicpus",
        "expand",
        "whole_outs",
        "replay",
    ];
    each(py, given, &known, |name, value| {
        match name {
            "whole_outs" => {
                found.workload.whole_outs = truth(name, value)?;
                found.recording = if found.workload.whole_outs { Recording::On } else { Recording::Off };
            }
            "threads" => found.threads = integer(name, value, 0, u32::MAX)?,
            "window" => found.window = Some(integer(name, value, 1, u32::MAX)?),
            "seed" => found.seed = read(name, value, "an integer from 0 to 18446744073709551615")?,
            "trace" => found.trace = truth(name, value)?,
            "sequential" => found.sequential = truth(name, value)?,
            "plain" => found.plain = truth(name, value)?,
            "num_aicpus" => found.workload.aicpus = integer(name, value, 0, u16::MAX.into())? as u16,
            "replay" => {
                found.replay = Some(match value.cast::<StartsOfRun>() {
                    Ok(recorded) => StartOrder::Of(recorded.get().0.starts.clone()),
                    Err(_) => StartOrder::Seed(read(name, value, "a seed, or what `start_order` gives")?),
                });
            }
            _ => {
                found.workload.expand = match read::<String>(name, value, "`\"host\"` or `\"bytecode\"`")?
                    .as_str()
                {
                    "host" => Expand::Host,
                    "bytecode" => Expand::Bytecode,
                    other => return Err(bad(name, &format!("is `{other}`"), "`\"host\"` or `\"bytecode\"`")),
                }
            }
        }
        Ok(())
    })?;
    Ok(found)
}

/// The order of starts of a recorded run.
#[pyclass(name = "StartOrder", module = "pto_wsp._core", frozen)]
pub(crate) struct StartsOfRun(Recorded);

/// A seed, or what `start_order` gives, for a unit with this key.
pub(crate) fn start_order_of(value: &Bound<'_, PyAny>, key: u64) -> Result<StartOrder, Diagnostic> {
    if let Ok(recorded) = value.cast::<StartsOfRun>() {
        let StartsOfRun(recorded) = recorded.get();
        recorded.check("replay", "this unit", key)?;
        return Ok(StartOrder::Of(recorded.starts.clone()));
    }
    value.extract().map(StartOrder::Seed).map_err(|_| {
        let message = format!("`replay` is a value of type `{}`", type_name(value));
        Diagnostic::error(BAD_OPTION, message)
            .help("give the path of a trace, `replay=\"t.pftrace\"`, or a seed, `replay=7`")
    })
}

/// The order of starts in the bytes of a trace file, which is called `name` in messages.
#[pyfunction]
pub(crate) fn start_order(py: Python<'_>, name: &str, bytes: &[u8]) -> PyResult<StartsOfRun> {
    let read = py.detach(|| Recorded::read(name, bytes));
    read.map(StartsOfRun).map_err(|fault| errors::fault(py, fault))
}

/// Calls `f` for each option that has a value other than `None`.
fn each(
    py: Python<'_>,
    given: Option<&Bound<'_, PyDict>>,
    known: &[&str],
    mut f: impl FnMut(&str, &Bound<'_, PyAny>) -> Result<(), Diagnostic>,
) -> PyResult<()> {
    for (key, value) in given.into_iter().flatten() {
        let name = key.cast::<PyString>()?.to_str()?;
        if !known.contains(&name) {
            let fault = Diagnostic::error(BAD_OPTION, format!("there is no option `{name}`"));
            let fault = match did_you_mean(name, known.iter().copied()) {
                Some(near) => fault.help(format!("did you mean `{near}`?")),
                None => fault.note(format!("options: {}", known.join(", "))),
            };
            return Err(errors::fault(py, fault));
        }
        if !value.is_none() {
            f(name, &value).map_err(|fault| errors::fault(py, fault))?;
        }
    }
    Ok(())
}

fn bad(name: &str, what: &str, wanted: &str) -> Diagnostic {
    Diagnostic::error(BAD_OPTION, format!("option `{name}` {what}")).help(format!("give {wanted}"))
}

fn read<'py, T: for<'a> FromPyObject<'a, 'py>>(
    name: &str,
    value: &Bound<'py, PyAny>,
    wanted: &str,
) -> Result<T, Diagnostic> {
    let other =
        |_| bad(name, &format!("has a value of type `{}`, or out of range", type_name(value)), wanted);
    value.extract().map_err(other)
}

fn truth(name: &str, value: &Bound<'_, PyAny>) -> Result<bool, Diagnostic> {
    let found = value.cast::<PyBool>().map(|value| value.is_true());
    found.map_err(|_| bad(name, &format!("has a value of type `{}`", type_name(value)), "`True` or `False`"))
}

fn integer(name: &str, value: &Bound<'_, PyAny>, least: u32, most: u32) -> Result<u32, Diagnostic> {
    // Every run has some: it takes the fast path.
    if let Ok(number) = value.extract::<u32>()
        && (least..=most).contains(&number)
    {
        return Ok(number);
    }
    let what = match value.extract::<i128>() {
        Ok(number) => format!("is {number}"),
        Err(_) => format!("has a value of type `{}`", type_name(value)),
    };
    Err(bad(name, &what, &format!("an integer from {least} to {most}")))
}

/// Which edges a graph is to have.
pub(crate) fn deps(py: Python<'_>, given: Option<&str>) -> PyResult<Option<Deps>> {
    let Some(word) = given else { return Ok(None) };
    let found = [Deps::Exact, Deps::Overlap, Deps::Explicit].into_iter().find(|deps| deps.word() == word);
    match found {
        Some(deps) => Ok(Some(deps)),
        None => {
            let wanted = "`\"exact\"`, `\"overlap\"` or `\"explicit\"`";
            Err(errors::fault(py, bad("deps", &format!("is `{word}`"), wanted)))
        }
    }
}
