//! The extension module `pto_wsp._core`: programs, arrays and errors for the Python package.
//!
//! **Boundary:** the only crate that knows Python. Its users are the modules of `python/pto_wsp`, not people.
//!
//! `compile` makes programs of traces, `program` runs them: `inputs` binds what a call gives by name, `arrays` finds the memory of
//! arrays, `pages` makes such that begin at pages, `runs` waits for runs, on threads of the runtime's teams, while it looks at signals, `again` takes what the last short one has bound and `kept`, `watched` says how they have ended, `plans` keeps what generators emitted, `kernels` calls Python functions for tasks, in `turns`, `functions` shows them to the collector of cycles, `graphs` has task
//! graphs, `gone` says when objects go unused, `public` keeps the package out of tracebacks, `fast_path` runs `execute` without its frames, `refusal` says why arguments are not taken, `errors` makes exceptions of findings.
#![deny(unsafe_code)]

mod again;
mod arrays;
mod compile;
mod direct;
mod errors;
mod fast_path;
mod ffi;
mod functions;
mod gone;
mod graphs;
mod inner;
mod inputs;
mod integers;
mod kept;
mod kernels;
mod library;
mod nested;
mod options;
mod outcome;
mod own;
mod pages;
mod plans;
mod prepared;
mod program;
mod public;
mod reading;
mod refusal;
mod registry;
mod results;
mod runs;
mod signature;
mod sources;
mod stack;
mod started;
mod timeline;
mod trace;
mod turns;
mod watch;
mod watched;

use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Programs, arrays and errors of `pto_wsp`; use the package, not this module.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(errors::render, module)?)?;
    module.add_function(wrap_pyfunction!(errors::explain, module)?)?;
    module.add_function(wrap_pyfunction!(trace::check, module)?)?;
    module.add_function(wrap_pyfunction!(trace::kernel_text, module)?)?;
    module.add_function(wrap_pyfunction!(compile::compile, module)?)?;
    module.add_function(wrap_pyfunction!(compile::load_program, module)?)?;
    module.add_function(wrap_pyfunction!(library::library, module)?)?;
    module.add_function(wrap_pyfunction!(pages::new_array, module)?)?;
    module.add_function(wrap_pyfunction!(kernels::task_coords, module)?)?;
    module.add_function(wrap_pyfunction!(registry::stop_all, module)?)?;
    module.add_function(wrap_pyfunction!(graphs::task_graph_text, module)?)?;
    module.add_function(wrap_pyfunction!(graphs::task_graph_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(options::start_order, module)?)?;
    module.add_class::<options::StartsOfRun>()?;
    module.add_class::<graphs::TaskGraph>()?;
    module.add_class::<program::Program>()?;
    module.add_class::<reading::Reading>()?;
    module.add_class::<results::Figures>()?;
    module.add_class::<timeline::Recorded>()?;
    module.add_class::<plans::Plan>()?;
    module.add_class::<started::Run>()?;
    module.add_class::<prepared::Prepared>()?;
    module.add_class::<kernels::KernelArray>()?;
    module.add_class::<gone::WhenGone>()?;
    module.add_class::<public::Public>()?;
    module.add_class::<fast_path::FastPath>()?;
    let limits = PyDict::new(module.py());
    for limit in wsp_core::limits::ALL {
        limits.set_item(limit.name, limit.value)?;
    }
    module.add("LIMITS", limits)?;
    let stop_all = module.getattr("stop_all")?;
    module.py().import("atexit")?.call_method1("register", (stop_all,))?;
    if let Some(register) = module.py().import("os")?.getattr_opt("register_at_fork")? {
        let hooks = PyDict::new(module.py());
        hooks.set_item("after_in_child", wrap_pyfunction!(runs::forked, module)?)?;
        register.call((), Some(&hooks))?;
    }
    Ok(())
}
