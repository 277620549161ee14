//! Kernels of task graphs that are written in C: functions of `include/wsp_kernel.h` that run blocks.

use super::cx::TgCx;
use super::kernels::TgKernels;
use super::memory::TensorRange;
use crate::workload::{CKernel, CTensor, KernelFault, call};
use wsp_core::DType;
use wsp_diag::Diagnostic;
use wsp_ir::tg::KernelSignature;

impl TgKernels {
    /// As [`register`](Self::register), of a function of `wsp_kernel.h`, see [`CKernel`]. Its tensors are the bytes of the arguments, each of one
    /// dimension and type `u8`, and behind them those of the workspace, if the kernel asks for one. Its scalars are the block, how many blocks
    /// there are, the iteration, the device, and how many devices there are.
    ///
    /// # Errors
    /// When the symbol has a kernel.
    pub fn register_c(
        &mut self,
        entry: impl Into<String>,
        signature: Option<KernelSignature>,
        body: CKernel,
    ) -> Result<(), Box<Diagnostic>> {
        self.register(entry, signature, move |cx| run(body, cx))
    }
}

/// Runs a block.
fn run(kernel: CKernel, cx: &TgCx<'_>) -> Result<(), KernelFault> {
    let args = (0..cx.args()).map(|n| cx.arg(n).map(|arg| &arg.range));
    let ranges: Vec<&TensorRange> = args.chain(cx.workspace().map(Ok)).collect::<Result<_, _>>()?;
    let lengths: Vec<u64> = ranges.iter().map(|range| range.bytes()).collect();
    let tensor = |(range, length): (&&TensorRange, &u64)| CTensor {
        data: range.ptr().cast(),
        shape: length,
        strides: &1,
        rank: 1,
        dtype: DType::U8 as u32,
    };
    let tensors: Vec<CTensor> = ranges.iter().zip(&lengths).map(tensor).collect();
    let (block, blocks) = (cx.block().into(), cx.blocks().into());
    call(kernel, &tensors, &[block, blocks, cx.iteration(), cx.device().into(), cx.devices().into()])
}
