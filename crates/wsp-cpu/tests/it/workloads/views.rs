//! Kernels over views, built by hand, and memory that is lent to runs.
#![allow(unsafe_code, reason = "tests lend their own memory")]

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use wsp_core::{DType, FuncId, LocalId, StructId, TensorId};
use wsp_diag::{FileId, Span};
use wsp_ir::{
    BinOp, BinaryTileOp, Block, Const, Consumer, Dim, Elem, Expr, ExprKind, Field, FuncKind, Function,
    LocalTy, Module, Operand, Place, ScalarTy, Stmt, StmtKind, Storage, StructDef, Tensor, TileOp, TileRole,
    TileTy,
};
use wsp_memory::{Buffer, Space, View, ViewAccess};
use wsp_plan::{Array, FieldSource, ViewKernelSource, ViewShape};

/// Memory that views may lie in, of elements of 32 bits.
#[derive(Clone)]
pub(crate) struct Lent(Arc<Cells>);

struct Cells(Vec<AtomicU32>);

impl Lent {
    pub(crate) fn new(bits: impl IntoIterator<Item = u32>) -> Lent {
        Lent(Arc::new(Cells(bits.into_iter().map(AtomicU32::new).collect())))
    }

    pub(crate) fn reals(values: impl IntoIterator<Item = f32>) -> Lent {
        Lent::new(values.into_iter().map(f32::to_bits))
    }

    pub(crate) fn bits(&self) -> Vec<u32> {
        self.0.0.iter().map(|bits| bits.load(Ordering::Relaxed)).collect()
    }

    pub(crate) fn set(&self, bits: &[u32]) {
        self.0.0.iter().zip(bits).for_each(|(to, bits)| to.store(*bits, Ordering::Relaxed));
    }

    pub(crate) fn values(&self) -> Vec<f32> {
        self.bits().into_iter().map(f32::from_bits).collect()
    }

    /// Elements from `first` on; strides in elements.
    pub(crate) fn view(&self, dtype: DType, first: usize, dims: &[u64], strides: &[i64]) -> View {
        self.lend(dtype, first, dims, strides)
    }

    pub(crate) fn read_only(&self, dtype: DType, first: usize, dims: &[u64], strides: &[i64]) -> View {
        self.lend(dtype, first, dims, strides).read_only()
    }

    fn lend(&self, dtype: DType, first: usize, dims: &[u64], strides: &[i64]) -> View {
        let cells = &self.0.0;
        let strides: Vec<i64> = strides.iter().map(|s| s * 4).collect();
        let (ptr, access) = (
            NonNull::new(cells.as_ptr().cast_mut().cast()).expect("a vector has an address"),
            ViewAccess::ReadWrite,
        );
        // SAFETY: atomics may be written through shared pointers, and the owner keeps them. No test looks at them while a run goes on.
        let buffer = unsafe { Buffer::new(self.0.clone(), ptr, 4 * cells.len(), access, Space::Host) };
        View::new(buffer, 4 * first, dtype, dims, &strides).expect("it can be lent")
    }
}

/// Elements that the host does not reach.
pub(crate) fn far(dtype: DType, dims: &[u64]) -> View {
    let (ptr, access) = (NonNull::dangling(), ViewAccess::ReadWrite);
    // SAFETY: nobody reads or writes an element by address.
    let buffer = unsafe { Buffer::new(Arc::new(()), ptr, 1 << 20, access, Space::Device(3)) };
    View::dense(buffer, dtype, dims).expect("it fits")
}

/// An array of these reals.
pub(crate) fn reals(shape: &[u64], values: impl IntoIterator<Item = f32>) -> Array {
    let mut array = Array::zeros(DType::F32, shape).expect("it is small");
    let elements = array.as_slice_mut::<f32>().expect("the type is F32");
    elements.iter_mut().zip(values).for_each(|(to, value)| *to = value);
    array
}

fn at(n: u32) -> Span {
    Span::new(FileId(0), n, n + 1)
}

pub(crate) fn int(value: i128, ty: ScalarTy) -> Expr {
    Expr::new(ExprKind::Const(Const::Int(value)), ty, at(1))
}

pub(crate) fn u(value: u32) -> Expr {
    int(value.into(), ScalarTy::U32)
}

pub(crate) fn real(value: f64) -> Expr {
    Expr::new(ExprKind::Const(Const::Float(value)), ScalarTy::F32, at(1))
}

pub(crate) fn cast(a: Expr, ty: ScalarTy) -> Expr {
    Expr::new(ExprKind::Cast(Box::new(a)), ty, at(1))
}

pub(crate) fn binary(op: BinOp, a: Expr, b: Expr) -> Expr {
    Expr::binary(op, a, b)
}

/// A kernel under construction; statement `n` stands at offset `n` of the first file.
pub(crate) struct Kernel {
    source: ViewKernelSource,
    body: Block,
    locals: Function,
}

impl Kernel {
    pub(crate) fn new(name: &str) -> Kernel {
        let descriptor = StructId(0);
        let mut locals = Function {
            name: name.to_owned(),
            kind: FuncKind::Kernel { descriptor: Some(descriptor) },
            params: 1,
            locals: Vec::new(),
            ret: None,
            body: Vec::new(),
            span: at(0),
        };
        locals.add_local("task", LocalTy::Descriptor(descriptor), at(0));
        let module = Module {
            structs: vec![StructDef {
                name: "Task".to_owned(),
                fields: Vec::new(),
                consumer: Consumer::Kernel(FuncId(0)),
                span: at(0),
            }],
            ..Module::default()
        };
        Kernel {
            source: ViewKernelSource { module, views: Vec::new(), fields: Vec::new() },
            body: Vec::new(),
            locals,
        }
    }

    pub(crate) fn view(
        &mut self,
        name: &str,
        dtype: DType,
        keep: &[u8],
        extents: &[Option<u32>],
    ) -> TensorId {
        self.source.module.tensors.push(Tensor {
            name: name.to_owned(),
            elem: Elem::Fixed(dtype),
            dims: extents.iter().map(|n| Dim::Expr(u(n.unwrap_or(0)))).collect(),
            storage: Storage::Launch,
            span: at(0),
        });
        self.source.views.push(ViewShape { keep: keep.to_vec(), dtype, extents: extents.to_vec() });
        TensorId(self.source.views.len() as u32 - 1)
    }

    /// A word of the descriptor.
    pub(crate) fn field(&mut self, name: &str, source: FieldSource) -> Expr {
        self.source.module.structs[0].fields.push(Field { name: name.to_owned(), span: at(0) });
        self.source.fields.push(source);
        let number = self.source.fields.len() as u32 - 1;
        Expr::new(ExprKind::Field(LocalId(0), number), ScalarTy::U32, at(1))
    }

    /// A tile of `f32`.
    pub(crate) fn tile(&mut self, name: &str, rows: u32, cols: u32) -> LocalId {
        let ty = TileTy { role: TileRole::Vec, elem: Elem::Fixed(DType::F32), rows: u(rows), cols: u(cols) };
        let local = self.locals.add_local(name, LocalTy::Tile(ty), at(0));
        self.stmt(StmtKind::Let { local, init: None });
        local
    }

    pub(crate) fn stmt(&mut self, kind: StmtKind) {
        let span = at(self.body.len() as u32 + 10);
        self.body.push(Stmt { kind, span });
    }

    pub(crate) fn op(&mut self, op: TileOp) {
        self.stmt(StmtKind::Tile(op));
    }

    fn place(&self, tensor: TensorId, index: Option<Expr>) -> Place {
        let rank = self.source.views[tensor.index()].keep.len() as u8;
        let mut indices = vec![u(0); rank.into()];
        if let Some(index) = index {
            indices[0] = index;
        }
        Place { index: indices, row_dim: rank.checked_sub(2), col_dim: rank.checked_sub(1) }
    }

    /// Loads a view from its first element on, or from another index of its first dimension.
    pub(crate) fn load(&mut self, dst: LocalId, tensor: TensorId, index: Option<Expr>) {
        let at = self.place(tensor, index);
        self.op(TileOp::Load { dst, tensor, at, rows: None, cols: None });
    }

    pub(crate) fn store(&mut self, tensor: TensorId, src: LocalId) {
        let at = self.place(tensor, None);
        self.op(TileOp::Store { tensor, src, at, rows: None, cols: None, add: false });
    }

    pub(crate) fn binary(&mut self, op: BinaryTileOp, dst: LocalId, a: LocalId, b: Operand) {
        self.op(TileOp::Binary { op, dst, a, b });
    }

    pub(crate) fn source(mut self) -> ViewKernelSource {
        self.locals.body = self.body;
        self.source.module.functions.push(self.locals);
        self.source
    }
}
