//! Functions: kernels, generators and helpers in one structured language.

use crate::{Block, ScalarTy, TileTy};
use wsp_core::{LocalId, SpaceId, StructId};
use wsp_diag::Span;

/// What a function is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FuncKind {
    /// `PTO_KERNEL_IMPL`: runs once per descriptor. The first local is the descriptor.
    Kernel {
        /// The descriptor type it takes; none for a kernel that never asks for one.
        descriptor: Option<StructId>,
    },
    /// `PTO_DESCRIPTOR_GEN`: runs once per launch.
    Generator {
        /// The space whose work it generates.
        space: SpaceId,
    },
    /// A function that others call for a scalar.
    Helper,
}

/// The type of a local variable.
#[derive(Clone, PartialEq, Debug)]
pub enum LocalTy {
    /// A scalar.
    Scalar(ScalarTy),
    /// A read-only integer array.
    Array(ScalarTy),
    /// A tile.
    Tile(TileTy),
    /// The descriptor of the running task.
    Descriptor(StructId),
}

/// A local variable; [`LocalId`] is its index in [`Function::locals`].
#[derive(Clone, PartialEq, Debug)]
pub struct Local {
    /// The source's name; several locals may share one.
    pub name: String,
    /// Its type.
    pub ty: LocalTy,
    /// Where it is declared.
    pub span: Span,
}

/// A function.
#[derive(Clone, PartialEq, Debug)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub kind: FuncKind,
    /// How many of the first locals are parameters.
    pub params: u32,
    /// Parameters, then variables.
    pub locals: Vec<Local>,
    /// The result of a helper.
    pub ret: Option<ScalarTy>,
    /// Its statements.
    pub body: Block,
    /// Where its name stands.
    pub span: Span,
}

impl Function {
    /// The variable with this id.
    ///
    /// # Panics
    /// When the id is not of this function, which the verifier rules out.
    pub fn local(&self, id: LocalId) -> &Local {
        &self.locals[id.index()]
    }

    /// Adds a variable.
    pub fn add_local(&mut self, name: impl Into<String>, ty: LocalTy, span: Span) -> LocalId {
        self.locals.push(Local { name: name.into(), ty, span });
        LocalId(self.locals.len() as u32 - 1)
    }
}
