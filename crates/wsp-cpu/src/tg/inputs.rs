//! What a session is given: sizes, first contents, and the claim on arrays of the caller.

use super::code::GraphCode;
use super::codes;
use super::first_reads::read_first;
use super::kernels::KernelBody;
use super::options::SessionOptions;
use super::shared::Shared;
use super::tensors::{Given, TensorTable, take_size};
use std::sync::Arc;
use wsp_backend::claims::{self, Argument};
use wsp_core::tg::Direction;
use wsp_diag::{Diagnostic, Span};
use wsp_ir::tg::Signatures;
use wsp_memory::{Claimed, Stored, View};
use wsp_tg::plan::{TensorKind, UnitPlan};

/// External tensors whose size is not declared get the size that kernels of known shapes need.
pub(super) fn take_sizes(table: &mut TensorTable, plan: &UnitPlan, signatures: &Signatures) {
    for graph in &plan.graphs {
        for kernel in &graph.kernels {
            let Some(signature) = signatures.get(&graph.defs[kernel.def as usize].entry) else { continue };
            for bind in graph.binds_of(kernel) {
                let arg = signature.args.get(bind.arg as usize);
                let known = arg.filter(|arg| !arg.shape.is_empty() && arg.shape.iter().all(Option::is_some));
                let Some(bytes) = known.and_then(|arg| arg.least_bytes()) else { continue };
                if let (Some(0), Some(0)) = (bind.offset.as_const(), bind.size.as_const()) {
                    for &unit in graph.tensors_of(&bind.tensor) {
                        take_size(table, unit as usize, bytes);
                    }
                }
            }
        }
    }
}

/// Everything that is given, by name.
pub(super) fn given(options: &SessionOptions) -> impl Iterator<Item = (&str, Given<'_>)> {
    let copied = options.inputs.iter().map(|(name, array)| (name.as_str(), Given::from(array)));
    copied.chain(options.views.iter().map(|(name, view)| (name.as_str(), Given::from(view))))
}

/// Kernels are given byte ranges: arrays of the caller must have no gaps between their elements.
pub(super) fn check_gaps(options: &SessionOptions) -> Result<(), Vec<Diagnostic>> {
    let with_gaps = options.views.iter().filter(|(_, view)| !view.is_dense()).map(|(name, view)| {
        let message = format!("the array for `{name}` does not lie in row-major order without gaps");
        Diagnostic::error(codes::BAD_INPUT, message)
            .note(format!("extents {:?}, strides of {:?} bytes", view.shape(), view.strides()))
            .help("give it to be copied")
    });
    let faults: Vec<Diagnostic> = with_gaps.collect();
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// Claims the arrays of the caller.
///
/// # Errors
/// What cannot be used where it lies, and what is in use by a run that goes on.
pub(super) fn claim<'a>(
    table: &TensorTable,
    codes: &[Arc<GraphCode>],
    options: &'a SessionOptions,
) -> Result<Claimed, Vec<Diagnostic>> {
    let written = |at: usize| {
        codes.iter().flat_map(|code| &code.tensors).any(|of| of.written && of.unit as usize == at)
    };
    let stored = |name: &str| {
        codes.iter().flat_map(|code| &code.defs).any(|def| match &def.body {
            KernelBody::Function(_) => false,
            KernelBody::Pto(entry) => {
                let residents = &entry.signature().resident;
                residents.iter().any(|of| of.name == name && of.direction != Direction::In)
            }
        })
    };
    let argument = |(name, view): (&'a String, &'a View)| {
        let at = table.by_name(name).ok().filter(|&at| table[at].home == TensorKind::Extern);
        let span = at.map(|at| table[at].span).filter(|span| *span != Span::default());
        Argument { name, view, written: at.is_some_and(written) || stored(name), span }
    };
    let views: Vec<Argument<'_>> = options.views.iter().map(argument).collect();
    let copied = options.copied.iter().map(argument);
    let faults = claims::refused(&views.iter().copied().chain(copied).collect::<Vec<_>>());
    if !faults.is_empty() {
        return Err(faults);
    }
    claims::claimed(options.claim.as_ref(), &claims::uses(views)).map_err(|fault| vec![fault])
}

/// External tensors that are read before anything can have written them, and not given, have nothing to read.
pub(super) fn check_inputs(
    table: &TensorTable,
    plan: &UnitPlan,
    codes: &[GraphCode],
    (scalars, devices): (&[i64], u32),
) -> Result<(), Vec<Diagnostic>> {
    let first = read_first(table, plan, codes, scalars, devices);
    let mut faults = Vec::new();
    for (at, info) in table.iter() {
        if info.home != TensorKind::Extern || info.given {
            continue;
        }
        let uses = || codes.iter().flat_map(|code| &code.tensors).filter(|of| of.unit as usize == at);
        let is_written = uses().any(|of| of.written);
        if first.contains(&(at as u32)) || (uses().next().is_some() && !is_written) {
            let message = format!("no array is given for external tensor `{}`, which is read", info.name);
            let fault = Diagnostic::error(codes::BAD_INPUT, message);
            let fault = match is_written {
                true => fault.note("it is read before anything can have written all that is read; only what is written first begins with zeros"),
                false => fault,
            };
            let fault = info.declared(fault).help(format!("give one: `--input {}=FILE.npy`", info.name));
            faults.push(fault.python(format!("give one: `graph.run({{\"{}\": array}})`", info.name)));
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// Gives external tensors their first contents.
pub(super) fn set_inputs(shared: &Shared, options: &SessionOptions) -> Result<(), Box<Diagnostic>> {
    for (name, view) in &options.views {
        let Ok(at) = shared.table.by_name(name) else { continue };
        if shared.table[at].in_place.is_some() {
            shared.memory().adopt(&shared.table, &shared.accounts, at, view)?;
        }
    }
    for (name, array) in &options.inputs {
        let Ok(at) = shared.table.by_name(name) else { continue };
        let range = shared.memory().range(&shared.table, &shared.accounts, at, 0)?;
        range.fill_from(array.bytes());
        // What it begins with is nothing that a kernel has stored.
        range.stored().into_iter().for_each(Stored::forget);
    }
    Ok(())
}
