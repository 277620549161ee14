//! The unit.

use super::names::{Names, Namespace, Strings};
use wsp_core::DType;
use wsp_core::tg::{
    EventNo, ExprId, ExprOp, GraphNo, Instr, KernelNo, KernelSet, Scalar, ScalarType, StreamNo, Symbol,
    TensorNo, TensorRef,
};
use wsp_diag::Span;
use wsp_ordered::OrderedSet;

/// A unit of the task-graph instruction set. Units are equal if they mean the same.
#[derive(Clone, Debug, Default)]
pub struct TgModule {
    /// Every string.
    pub strings: Strings,
    /// Names of numbers.
    pub names: Names,
    /// Files of kernels that it uses, as written.
    pub uses: Vec<Use>,
    /// Tensors that whoever runs it provides.
    pub externs: Vec<ExternTensor>,
    /// Events that whoever runs it signals.
    pub extern_events: Vec<(EventNo, Span)>,
    /// Scalars that whoever runs it provides.
    pub args: Vec<ArgDecl>,
    /// What its outputs are compared with.
    pub references: Vec<Reference>,
    /// Instructions in the order in which they were written.
    pub instrs: Vec<Instr>,
    /// Where each instruction stands; empty if that is not known.
    pub spans: Vec<Span>,
    /// Expressions, each ending with [`ExprOp::End`].
    pub exprs: Vec<ExprOp>,
    /// Kernels of sets and tensors of tables.
    pub sets: SetPool,
}

/// Lists that instructions refer to.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SetPool {
    /// Kernels of kernel sets.
    pub kernels: Vec<KernelNo>,
    /// Tensors of tables of bindings.
    pub tensors: Vec<TensorNo>,
}

/// A file of kernels.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Use {
    /// Its path, relative to the unit's file.
    pub path: Symbol,
    /// Where it is named.
    pub span: Span,
}

/// A tensor that whoever runs the unit provides.
#[derive(Clone, PartialEq, Debug)]
pub struct ExternTensor {
    /// Its number.
    pub tensor: TensorNo,
    /// Type of its elements; if none is given, kernels say so.
    pub dtype: Option<DType>,
    /// Its shape in elements, outermost dimension first; empty if kernels say so.
    pub shape: Vec<u64>,
    /// Where it is declared.
    pub span: Span,
}

impl ExternTensor {
    /// Its bytes, if its declaration says so and they can be counted.
    pub fn bytes(&self) -> Option<u64> {
        let size = self.dtype?.size() as u64;
        if self.shape.is_empty() {
            return None;
        }
        self.shape.iter().try_fold(size, |bytes, &extent| bytes.checked_mul(extent))
    }
}

/// When a declared scalar is read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum ArgSource {
    /// Given with the run.
    Launch = 0,
    /// Read from the host's memory when a graph is launched.
    Host = 1,
}

/// A scalar that whoever runs the unit provides.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ArgDecl {
    /// Its name.
    pub name: Symbol,
    /// When it is read.
    pub source: ArgSource,
    /// Its type.
    pub ty: ScalarType,
    /// Its value if nobody gives another.
    pub default: Option<i64>,
    /// Where it is declared.
    pub span: Span,
}

/// A computation to compare the outputs of a run with.
#[derive(Clone, PartialEq, Debug)]
pub struct Reference {
    /// Which.
    pub name: Symbol,
    /// Its parameters and what they are here.
    pub bindings: Vec<(Symbol, RefValue)>,
    /// Where it is named.
    pub span: Span,
}

/// What a parameter of a reference is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum RefValue {
    /// A tensor.
    Tensor(TensorNo),
    /// A number.
    Const(i64),
    /// A declared scalar.
    Arg(u32),
}

impl TgModule {
    /// The place of instruction `at`.
    pub fn span(&self, at: usize) -> Span {
        self.spans.get(at).copied().unwrap_or_default()
    }

    /// The string of a symbol.
    pub fn str(&self, symbol: Symbol) -> &str {
        self.strings.get(symbol)
    }

    /// The entry symbols of its kernels.
    pub fn entry_symbols(&self) -> OrderedSet<&str> {
        let of = |instr: &Instr| match *instr {
            Instr::TgKernel { entry_symbol, .. } => Some(self.str(entry_symbol)),
            _ => None,
        };
        self.instrs.iter().filter_map(of).collect()
    }

    /// What a number is called in messages: its name, or the number.
    pub fn name(&self, space: Namespace, graph: GraphNo, number: u32) -> String {
        match self.names.get(space, graph, number) {
            Some(name) => self.str(name).to_owned(),
            None => number.to_string(),
        }
    }

    /// The name of a stream; that of the default stream is `default`.
    pub fn stream_name(&self, stream: StreamNo) -> String {
        if stream == StreamNo(0) && self.names.get(Namespace::Stream, GraphNo(0), 0).is_none() {
            return "default".to_owned();
        }
        self.name(Namespace::Stream, GraphNo(0), stream.0)
    }

    /// The operations of an expression, without its end.
    pub fn expr(&self, expr: ExprId) -> &[ExprOp] {
        let rest = self.exprs.get(expr.0 as usize..).unwrap_or(&[]);
        let end = rest.iter().position(|op| *op == ExprOp::End).unwrap_or(rest.len());
        &rest[..end]
    }

    /// The operations of a scalar; none for a constant.
    pub fn scalar(&self, scalar: Scalar) -> &[ExprOp] {
        match scalar {
            Scalar::Const(_) => &[],
            Scalar::Expr(expr) => self.expr(expr),
        }
    }

    /// The kernels of a set.
    pub fn set(&self, set: KernelSet) -> &[KernelNo] {
        self.sets.kernels.get(set.first as usize..set.first as usize + set.len as usize).unwrap_or(&[])
    }

    /// The tensors that a binding may be about.
    pub fn tensors_of<'a>(&'a self, tensor: &'a TensorRef) -> &'a [TensorNo] {
        match tensor {
            TensorRef::Tensor(tensor) => std::slice::from_ref(tensor),
            TensorRef::Table { first, len, .. } => {
                self.sets.tensors.get(*first as usize..*first as usize + *len as usize).unwrap_or(&[])
            }
        }
    }
}
