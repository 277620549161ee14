//! Kernels of a file, looked at for cores.

use crate::device::{PROGRAM, TILE_MEMORY};
use crate::kernel::{Body, body};
use crate::lower::values;
use wsp_backend::{CheckedKernel, CheckedKernels, KernelsSource, MemoryUse};
use wsp_core::{DType, FuncId};
use wsp_diag::Diagnostics;
use wsp_ir::{Elem, FuncKind, Verified, into_verified};
use wsp_tile::Known;

/// What becomes of the kernels of a file: bodies of cores, or what stands in the way.
pub(super) fn check(source: &KernelsSource) -> CheckedKernels {
    let mut checked = CheckedKernels::default();
    let module = match into_verified((*source.file.module).clone()) {
        Ok(module) => module,
        Err(found) => return CheckedKernels { found, ..checked },
    };
    let params = values(&module, &source.file.set);
    let elems = elements(&module);
    for (at, function) in module.functions.iter().enumerate() {
        let wanted = source.kernel.as_ref().is_none_or(|name| *name == function.name);
        if !wanted || !matches!(function.kind, FuncKind::Kernel { .. }) || function.body.is_empty() {
            continue;
        }
        match body(&module, FuncId(at as u32), Known { params: &params, elems: &elems }) {
            Ok(body) => checked.kernels.push(used(&body)),
            Err(found) => checked.found.extend(Diagnostics(found).0),
        }
    }
    checked
}

/// Element types; `f32` where a launch decides them.
pub(super) fn elements(module: &Verified) -> Vec<Option<DType>> {
    let of = |elem: Elem| if let Elem::Fixed(elem) = elem { Some(elem) } else { Some(DType::F32) };
    module.tensors.iter().map(|tensor| of(tensor.elem)).collect()
}

/// What a body takes of its tile, with one object of each operand.
fn used(body: &Body) -> CheckedKernel {
    let operands = body.operands.iter().map(|operand| &operand.ty);
    let bytes = operands.chain(&body.locals).filter_map(|ty| ty.bytes()).sum();
    let memory = |name: &str, used, capacity| MemoryUse { memory: name.to_owned(), used, capacity };
    CheckedKernel {
        name: body.name.clone(),
        tasks: 1,
        memories: vec![
            memory("tile memory", bytes, TILE_MEMORY),
            memory("program memory", body.program, PROGRAM),
        ],
    }
}
