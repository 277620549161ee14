//! Bodies of declared kernels that are written in C, or in a language with its calling convention: the records of `include/wsp_kernel.h`.
//!
//! Nothing here is unsafe: a function of this type is safe to call, as the declaration of it says, `unsafe extern "C" { safe fn … }`, whose
//! author answers for the function.

use super::registry::{KernelCx, KernelFault};
use std::ffi::c_void;
use wsp_core::limits::MAX_RANK;
use wsp_memory::View;

/// `wsp_tensor`: the region of a tensor parameter.
#[derive(Debug)]
#[repr(C)]
pub struct CTensor {
    /// The first element. Those of an `in` parameter are not to be written.
    pub data: *mut c_void,
    /// Extents, outermost first.
    pub shape: *const u64,
    /// Bytes from one index to the next, by dimension.
    pub strides: *const u64,
    /// Dimensions.
    pub rank: u32,
    /// The place of the element type in [`DType::ALL`](wsp_core::DType::ALL).
    pub dtype: u32,
}

/// `wsp_task`: a task with its parameters in declared order, tensors and scalars apart.
#[derive(Debug)]
#[repr(C)]
pub struct CTask {
    /// Its tensors.
    pub tensors: *const CTensor,
    /// Its scalars.
    pub scalars: *const i64,
    /// How many tensors there are.
    pub num_tensors: u32,
    /// How many scalars there are.
    pub num_scalars: u32,
}

/// `wsp_kernel`: gives 0, or another number, with which the task fails.
pub type CKernel = extern "C" fn(task: &CTask) -> i32;

/// Runs a task.
pub(super) fn run(kernel: CKernel, cx: &KernelCx<'_>) -> Result<(), KernelFault> {
    let views = (0..cx.regions().len()).map(|n| cx.view(n));
    let views: Vec<View> = views.collect::<Result<_, KernelFault>>()?;
    let strides: Vec<[u64; MAX_RANK]> =
        views.iter().map(|view| view.all_strides().map(|stride| stride as u64)).collect();
    let tensor = |(view, strides): (&View, &[u64; MAX_RANK])| CTensor {
        data: view.ptr().cast(),
        shape: view.shape().as_ptr(),
        strides: strides.as_ptr(),
        rank: view.rank() as u32,
        dtype: view.dtype() as u32,
    };
    let tensors: Vec<CTensor> = views.iter().zip(&strides).map(tensor).collect();
    let task = CTask {
        tensors: tensors.as_ptr(),
        scalars: cx.scalars().as_ptr(),
        num_tensors: tensors.len() as u32,
        num_scalars: cx.scalars().len() as u32,
    };
    match kernel(&task) {
        0 => Ok(()),
        status => Err(format!("the function gives {status}").into()),
    }
}
