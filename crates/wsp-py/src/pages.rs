//! Arrays that begin at pages of memory: made for callers, and told of where a large cache does not, or an array is copied.

use crate::errors;
use crate::inputs::Arguments;
use crate::kernels::KernelArray;
use pyo3::prelude::*;
use wsp_core::DType;
use wsp_diag::{Code, Diagnostic, Severity};
use wsp_plan::{Array, ArrayError, Arrays};
use wsp_trace::python::arrays::{
    BAD_PAGES as BAD_SHAPE, COPIED, OFF_PAGE, UNSUPPORTED_ELEMENT as UNSUPPORTED,
};

const NO_MEMORY: Code = Code(855);

/// Bytes of a page of memory: processors fetch ahead up to its end.
const PAGE: usize = 4096;
/// Arrays below this many bytes are copied, or in the processor's own caches, soon.
const LARGE: usize = 1 << 20;

/// An array of zeros that begins at a page of memory; `dtype` by the name of the IR.
#[pyfunction]
pub(crate) fn new_array(py: Python<'_>, dtype: &str, shape: Vec<u64>) -> PyResult<KernelArray> {
    let known = DType::ALL.into_iter().find(|known| known.name() == dtype);
    let dtype = known.ok_or_else(|| {
        errors::fault(py, Diagnostic::error(UNSUPPORTED, format!("there is no element type `{dtype}`")))
    })?;
    let made = py.detach(|| Array::on_pages(dtype, &shape));
    made.map(KernelArray::owning).map_err(|fault| errors::fault(py, not_made(fault, dtype, &shape)))
}

fn not_made(fault: ArrayError, dtype: DType, shape: &[u64]) -> Diagnostic {
    let code = match fault {
        ArrayError::OutOfMemory { .. } => NO_MEMORY,
        _ => BAD_SHAPE,
    };
    Diagnostic::error(code, format!("there is no array {dtype}{shape:?}: {fault}")).help("give smaller sizes")
}

/// A large array of real numbers: its name and its address.
type Large<'a> = (&'a str, usize);

/// What to say of the arrays that a run used: of large ones that were copied for it, and of large caches that do not begin at a
/// page. `caches` are names of their arrays; what is in `outputs` was written, elsewhere.
pub(crate) fn notes(caches: &[&str], arguments: &Arguments, outputs: &Arrays) -> Vec<Diagnostic> {
    let read = |name: &&str| !outputs.contains_key(*name);
    let moved: Vec<&str> = arguments.copied.iter().map(|copied| copied.name.as_str()).filter(read).collect();
    let kept = caches.iter().copied().filter(read).filter(|name| !moved.contains(name));
    let moved: Vec<_> = moved.iter().filter_map(|name| large(name, arguments)).collect();
    let kept = kept.filter_map(|name| large(name, arguments));
    let off: Vec<_> = kept.filter(|(_, address)| behind(*address) != 0).collect();
    [copied(&moved), off_page(&off)].into_iter().flatten().collect()
}

/// A large array of real numbers; none for others.
fn large<'a>(name: &'a str, arguments: &'a Arguments) -> Option<Large<'a>> {
    let (dtype, address, bytes) = match (arguments.args.views.get(name), arguments.args.arrays.get(name)) {
        (Some(view), _) => (view.dtype(), view.ptr().addr(), view.span()),
        (None, Some(array)) => (array.dtype(), array.bytes().as_ptr().addr(), array.bytes().len()),
        (None, None) => return None,
    };
    (dtype.is_float() && bytes >= LARGE).then_some((name, address))
}

fn copied(arrays: &[Large<'_>]) -> Option<Diagnostic> {
    let (what, one) = named(arrays)?;
    let is = if one { "is" } else { "are" };
    Some(
        Diagnostic::new(COPIED, Severity::Note, format!("{what} {is} copied for each run"))
            .note("elements are used where they lie in row-major order without gaps, at multiples of their size")
            .help("give `np.ascontiguousarray(…)` of it, made once"),
    )
}

fn off_page(arrays: &[Large<'_>]) -> Option<Diagnostic> {
    let (what, one) = named(arrays)?;
    let begin = if one { "begins" } else { "begin" };
    let &(name, first) = arrays.first()?;
    Some(
        Diagnostic::new(OFF_PAGE, Severity::Note, format!("{what} {begin} inside a page of memory"))
            .note(format!("`{name}` begins {} bytes behind the start of a page of {PAGE}", behind(first)))
            .help("make room for caches with `pto_wsp.empty(shape, dtype)`, which begins at a page"),
    )
}

/// How many bytes behind the start of a page an address is.
fn behind(address: usize) -> usize {
    address % PAGE
}

/// "array `a`", "arrays `a` and `b`", and whether it is one; none for none.
fn named(arrays: &[Large<'_>]) -> Option<(String, bool)> {
    let names: Vec<&str> = arrays.iter().map(|(name, _)| *name).collect();
    let plural = match names.len() {
        0 => return None,
        1 => "",
        _ => "s",
    };
    Some((format!("array{plural} `{}`", names.join("` and `")), plural.is_empty()))
}
