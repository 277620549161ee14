//! Arrays of the caller that a launch uses where they lie.

use crate::bind::Bound;
use crate::metadata::Metadata;
use std::collections::BTreeMap;
use wsp_backend::claims::{self, Argument};
use wsp_backend::codes::WRONG_ARRAY;
use wsp_core::TensorId;
use wsp_diag::Diagnostic;
use wsp_ir::Storage;
use wsp_kernel::Layout;
use wsp_memory::View;
use wsp_plan::LoweredPlan;

/// Arrays of the caller by name.
pub(crate) type Views = BTreeMap<String, View>;

/// The array of the launch that has the elements of a tensor; none where the launch is given none, and for memory of its own.
pub(crate) fn array_name(plan: &LoweredPlan, bound: &Bound, id: TensorId) -> Option<String> {
    match plan.module.tensors[id.index()].storage {
        Storage::CacheKeys(cache) => Some(format!("{}.k", bound.caches[cache.index()].name)),
        Storage::CacheValues(cache) => Some(format!("{}.v", bound.caches[cache.index()].name)),
        Storage::Launch => bound.tensors[id.index()].array.clone(),
        Storage::Workspace | Storage::Temporary => None,
    }
}

/// What is known of the arrays of a launch with those of the caller.
///
/// # Errors
/// An array is given twice, or has elements that are looked at before tasks run.
pub(crate) fn with_views<'a>(
    arrays: &Metadata<'a>,
    views: &'a Views,
) -> Result<Metadata<'a>, Vec<Diagnostic>> {
    let fault = |(name, view): (&String, &View)| {
        if arrays.get(name).is_some() {
            let message = format!("array `{name}` is given to be copied and to be used in place");
            return Some(Diagnostic::error(WRONG_ARRAY, message).help("give one of them"));
        }
        (!view.dtype().is_float()).then(|| {
            let message = format!("array `{name}` cannot be used in place");
            Diagnostic::error(WRONG_ARRAY, message)
                .note(format!("its elements are {}: integers are looked at before tasks run", view.dtype()))
                .help("give an array to copy")
        })
    };
    let faults: Vec<Diagnostic> = views.iter().filter_map(fault).collect();
    if !faults.is_empty() {
        return Err(faults);
    }
    let add = |all: Metadata<'a>, (name, view): (&'a String, &'a View)| {
        all.with_shape(name.as_str(), view.dtype(), view.shape())
    };
    Ok(views.iter().fold(arrays.clone(), add))
}

/// The tensors that are arrays of the caller. Tensors that the launch binds to one array count once.
pub(crate) fn callers<'a>(plan: &'a LoweredPlan, bound: &Bound, views: &'a Views) -> Vec<Argument<'a>> {
    let argument = |i: usize| {
        let id = TensorId(i as u32);
        let name = array_name(plan, bound, id).filter(|_| plan.memory[i] == id)?;
        let (name, view) = views.get_key_value(&name)?;
        Some(Argument {
            name,
            view,
            written: plan.tensors[i].written,
            span: Some(plan.module.tensors[i].span),
        })
    };
    (0..plan.module.tensors.len()).filter_map(argument).collect()
}

/// Checks that arrays of the caller can be used where they lie.
///
/// # Errors
/// Pages with gaps between elements, arrays that may not be written or are no memory of the host, and such that share memory which
/// kernels store to.
pub(crate) fn check(plan: &LoweredPlan, bound: &Bound, views: &Views) -> Result<(), Vec<Diagnostic>> {
    let mut faults = claims::refused(&callers(plan, bound, views));
    for cache in &bound.caches {
        for name in ["k", "v"].map(|part| format!("{}.{part}", cache.name)) {
            if let Some(view) = views.get(&name).filter(|view| !view.is_dense()) {
                let message = format!("the pages of `{name}` do not lie in row-major order without gaps");
                faults.push(
                    Diagnostic::error(WRONG_ARRAY, message)
                        .note(format!("extents {:?}, strides of {:?} bytes", view.shape(), view.strides()))
                        .help("give an array to copy"),
                );
            }
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// How the elements of an array of the caller lie.
pub(crate) fn layout(view: &View) -> Layout {
    let size = view.dtype().size();
    // Extents of a bound tensor have 32 bits.
    let dims = view.shape().iter().map(|&extent| extent as u32).collect();
    Layout::Strided { dims, strides: view.strides().iter().map(|stride| (stride / size) as u64).collect() }
}
