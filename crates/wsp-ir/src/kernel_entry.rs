//! Entries: kernels that task graphs run in blocks over memory that is bound to their parameters.

use wsp_core::{FuncId, TensorId};
use wsp_diag::Span;

/// A kernel with parameters, `PTO_KERNEL_IMPL(name, Tensor<T> a, …)`.
///
/// Its function is a kernel whose descriptor has two words: which block runs, and how many blocks there are
/// ([`KernelEntry::BLOCK_IDX`] and [`KernelEntry::BLOCK_NUM`]).
#[derive(Clone, PartialEq, Debug)]
pub struct KernelEntry {
    /// Its function.
    pub function: FuncId,
    /// What it is given, in declared order.
    pub params: Vec<KernelParam>,
    /// Other tensors that it uses, in the order in which they were declared: whoever runs it gives them by name.
    pub residents: Vec<TensorId>,
    /// Where its name stands.
    pub span: Span,
}

/// A parameter of an entry. Its tensor is bound at launch, [`crate::Storage::Launch`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum KernelParam {
    /// `Tensor<T>`: an argument. Arguments are numbered from 0, without workspaces.
    Argument(TensorId),
    /// `Workspace<T>`: the workspace of all blocks of one launch; at most one.
    Workspace(TensorId),
}

impl KernelParam {
    /// Its tensor.
    pub fn tensor(self) -> TensorId {
        match self {
            KernelParam::Argument(tensor) | KernelParam::Workspace(tensor) => tensor,
        }
    }
}

impl KernelEntry {
    /// The word of the descriptor that holds the number of the block.
    pub const BLOCK_IDX: u32 = 0;
    /// The word of the descriptor that holds how many blocks there are.
    pub const BLOCK_NUM: u32 = 1;
    /// Words of the descriptor.
    pub const WORDS: usize = 2;

    /// The tensors of its arguments, in order.
    pub fn arguments(&self) -> impl Iterator<Item = TensorId> + '_ {
        self.params.iter().filter_map(|param| match param {
            KernelParam::Argument(tensor) => Some(*tensor),
            KernelParam::Workspace(_) => None,
        })
    }

    /// The tensor of its workspace, if it has one.
    pub fn workspace(&self) -> Option<TensorId> {
        self.params.iter().find_map(|param| match param {
            KernelParam::Workspace(tensor) => Some(*tensor),
            KernelParam::Argument(_) => None,
        })
    }

    /// Every tensor that it may use: parameters in order, then residents.
    pub fn tensors(&self) -> impl Iterator<Item = TensorId> + '_ {
        self.params.iter().map(|param| param.tensor()).chain(self.residents.iter().copied())
    }
}
