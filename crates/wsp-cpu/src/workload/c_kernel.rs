//! Kernels that are written in C, or in a language with its calling convention: the records of `include/wsp_kernel.h`.
//!
//! Nothing here is unsafe: a function of this type is safe to call, as the declaration of it says, `unsafe extern "C" { safe fn … }`, whose
//! author answers for the function.

use super::kernel_cx::{KernelCx, KernelFault};
use super::registry::{AlreadyRegistered, KernelRegistry};
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

impl KernelRegistry {
    /// Gives a kernel its body: a function of `wsp_kernel.h`, see [`CKernel`], which is given the elements of its tasks where they lie.
    ///
    /// A run that looks for elements that tasks leave unwritten may call it twice for a task, as bodies that are given a
    /// [`view`](KernelCx::view).
    ///
    /// # Errors
    /// When the name has a body.
    pub fn register_c(&mut self, name: impl Into<String>, body: CKernel) -> Result<(), AlreadyRegistered> {
        self.register(name, move |cx| run(body, cx))
    }
}

/// Runs a task of a workload.
fn run(kernel: CKernel, cx: &KernelCx<'_>) -> Result<(), KernelFault> {
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
    call(kernel, &tensors, cx.scalars())
}

/// Calls a kernel with these parameters.
pub(crate) fn call(kernel: CKernel, tensors: &[CTensor], scalars: &[i64]) -> Result<(), KernelFault> {
    let task = CTask {
        tensors: tensors.as_ptr(),
        scalars: scalars.as_ptr(),
        num_tensors: tensors.len() as u32,
        num_scalars: scalars.len() as u32,
    };
    match kernel(&task) {
        0 => Ok(()),
        status => Err(format!("the function gives {status}").into()),
    }
}
