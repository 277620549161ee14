//! Kernels of task graphs that are Python functions: called for each block with views of what is bound.

use crate::ffi::within_task;
use crate::kernels::{KernelArray, summary};
use pto_wsp::task_graph::{BoundArg, TgCx, TgKernels};
use pto_wsp::workload::KernelFault;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::Arc;
use wsp_core::DType;
use wsp_core::tg::Direction;
use wsp_diag::{Diagnostic, did_you_mean};
use wsp_ir::tg::{ArgSignature, KernelSignature};
use wsp_ordered::OrderedSet;
use wsp_trace::python::arrays::BAD_OPTION as BAD_KERNEL;

/// A function and what it does with its arguments.
#[derive(FromPyObject)]
pub(super) struct PyKernel {
    #[pyo3(item)]
    entry: String,
    /// Takes the block (kernel, block, blocks, iteration, device, devices) and a tuple of views.
    #[pyo3(item)]
    function: Py<PyAny>,
    #[pyo3(item)]
    args: Vec<PyArg>,
}

/// An argument of a kernel.
#[derive(FromPyObject)]
struct PyArg {
    #[pyo3(item)]
    name: String,
    /// `in`, `out` or `inout`.
    #[pyo3(item)]
    direction: String,
    #[pyo3(item)]
    dtype: String,
    /// Extents, outermost first; at most one of them follows from the bytes bound. None: one dimension.
    #[pyo3(item)]
    dims: Option<Vec<Option<u64>>>,
}

/// An argument as it is called with.
struct View {
    name: String,
    dtype: DType,
    dims: Vec<Option<u64>>,
}

impl PyKernel {
    /// Refuses a function whose entry symbol no kernel of the unit has: it would never run.
    pub(super) fn is_called(&self, called: &OrderedSet<&str>) -> Result<(), Vec<Diagnostic>> {
        if called.contains(self.entry.as_str()) {
            return Ok(());
        }
        let message = format!("no kernel of the unit has the entry symbol `{}`", self.entry);
        let fault = Diagnostic::error(BAD_KERNEL, message);
        Err(vec![match did_you_mean(&self.entry, called.iter().copied()) {
            Some(near) => fault.help(format!("did you mean `{near}`?")),
            None => fault.help("leave the function out, or correct the entry symbol of a kernel"),
        }])
    }

    /// Gives the entry symbol this function.
    ///
    /// With `watched` it is recorded what the function stores, which takes a run on one thread.
    pub(super) fn register(self, kernels: &mut TgKernels, watched: bool) -> Result<(), Box<Diagnostic>> {
        let PyKernel { entry, function, args } = self;
        let mut views = Vec::new();
        let mut signature = Vec::new();
        for arg in args {
            let direction = match arg.direction.as_str() {
                "in" => Direction::In,
                "out" => Direction::Out,
                "inout" => Direction::InOut,
                other => return Err(Box::new(unknown("direction", other))),
            };
            let dtype =
                DType::from_name(&arg.dtype).ok_or_else(|| Box::new(unknown("element type", &arg.dtype)))?;
            let shape = arg.dims.clone().unwrap_or_default();
            signature.push(ArgSignature { name: arg.name.clone(), direction, dtype: Some(dtype), shape });
            views.push(View { name: arg.name, dtype, dims: arg.dims.unwrap_or_else(|| vec![None]) });
        }
        let signature =
            KernelSignature { name: entry.clone(), args: signature, resident: Vec::new(), workspace: 0 };
        kernels.register(entry, Some(signature), move |cx| {
            if !watched {
                return call(&function, &views, cx, |cx, n| cx.arg(n));
            }
            let dtypes: Vec<DType> = views.iter().map(|view| view.dtype).collect();
            // The package calls a function twice that may look at what an `Out` of integers holds.
            cx.watched_once(&dtypes, || call(&function, &views, cx, |cx, n| cx.peek(n)))
        })
    }
}

fn unknown(what: &str, name: &str) -> Diagnostic {
    Diagnostic::error(BAD_KERNEL, format!("`{name}` is no {what} of an argument"))
}

/// How a body gets at an argument.
type Get = for<'a> fn(&TgCx<'a>, usize) -> Result<&'a BoundArg, KernelFault>;

/// The view of an argument of a block.
fn view(view: &View, arg: &BoundArg) -> Result<KernelArray, KernelFault> {
    let (bytes, size) = (arg.range.bytes(), view.dtype.size() as u64);
    let known: u64 = view.dims.iter().flatten().product();
    let open = view.dims.iter().filter(|dim| dim.is_none()).count();
    let elements = bytes / size;
    let rest = elements.checked_div(known).unwrap_or(0);
    let fits = bytes.is_multiple_of(size)
        && match open {
            0 => elements == known,
            _ => known > 0 && elements.is_multiple_of(known),
        };
    if !fits {
        let wanted: Vec<String> =
            view.dims.iter().map(|dim| dim.map_or("?".to_owned(), |dim| dim.to_string())).collect();
        let message = format!(
            "argument `{}` is {}[{}], and {bytes} bytes are bound to it",
            view.name,
            view.dtype,
            wanted.join(", ")
        );
        return Err(message.into());
    }
    let dims = view.dims.iter().map(|dim| dim.unwrap_or(rest) as usize).collect();
    let writable = arg.direction != Direction::In;
    let owner = Arc::new(arg.range.clone());
    Ok(KernelArray::dense(arg.range.ptr() as usize, view.dtype, dims, writable, owner))
}

/// Calls the function for a block.
fn call(function: &Py<PyAny>, views: &[View], cx: &TgCx<'_>, get: Get) -> Result<(), KernelFault> {
    if cx.args() != views.len() {
        let message = format!("{} arguments are declared, and {} are bound", views.len(), cx.args());
        return Err(message.into());
    }
    let seen =
        views.iter().enumerate().map(|(at, of)| view(of, get(cx, at)?)).collect::<Result<Vec<_>, _>>()?;
    let called = Python::try_attach(|py| {
        let run = within_task(|| -> PyResult<()> {
            let seen = seen.into_iter().map(|array| Bound::new(py, array)).collect::<PyResult<Vec<_>>>()?;
            let block = (cx.kernel(), cx.block(), cx.blocks(), cx.iteration(), cx.device(), cx.devices());
            function.call1(py, (block, PyTuple::new(py, seen)?))?;
            Ok(())
        });
        run.map_err(|error| KernelFault::with_payload(summary(py, &error), Arc::new(error)))
    });
    called.unwrap_or_else(|| Err("the Python interpreter is shutting down".into()))
}
