//! A worker that has run a kernel once runs it again without asking for memory.
#![allow(unsafe_code, reason = "counts allocations, and lends vectors as tensors")]

use std::alloc::{GlobalAlloc, Layout as MemLayout, System};
use std::cell::Cell;
use wsp_core::{DType, FuncId, LocalId, StructId, TensorId};
use wsp_diag::Span;
use wsp_ir::{
    BinOp, BinaryTileOp, Consumer, Elem, Expr, ExprKind, Field, FuncKind, Function, LocalTy, Module, Operand,
    Place, ReduceOp, ScalarTy, Stmt, StmtKind, Storage, StructDef, Tensor, TileOp, TileRole, TileTy,
};
use wsp_kernel::{Engine, Env, KernelCode, Layout, Mode, ScalarCode, Scratch, TensorMem};
use wsp_memory::Bytes;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: hands every request to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: MemLayout) -> *mut u8 {
        // A thread that is going away has no counter any more.
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promises are those of `System`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: MemLayout) {
        // SAFETY: as above.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

const AT: fn() -> Span = Span::default;

fn stmt(kind: StmtKind) -> Stmt {
    Stmt { kind, span: AT() }
}

fn field(n: u32) -> Expr {
    Expr::new(ExprKind::Field(LocalId(0), n), ScalarTy::U32, AT())
}

fn u(n: u32) -> Expr {
    Expr::u32(n, AT())
}

/// `y[r..] = softmax-like of x[r..] · x[r..]ᵀ` for `r` from field 0 to field 1.
fn module() -> Module {
    let mut m = Module::default();
    for name in ["x", "y"] {
        let elem = Elem::Of(TensorId(m.tensors.len() as u32));
        let dims = vec![wsp_ir::Dim::Expr(u(16)), wsp_ir::Dim::Expr(u(8))];
        m.tensors.push(Tensor { name: name.to_owned(), elem, dims, storage: Storage::Launch, span: AT() });
    }
    let fields = ["first", "end"].map(|name| Field { name: name.to_owned(), span: AT() }).to_vec();
    m.structs.push(StructDef { name: "D".to_owned(), fields, consumer: Consumer::None, span: AT() });
    let mut f = Function {
        name: "kernel".to_owned(),
        kind: FuncKind::Kernel { descriptor: Some(StructId(0)) },
        params: 1,
        locals: Vec::new(),
        ret: None,
        body: Vec::new(),
        span: AT(),
    };
    f.add_local("desc", LocalTy::Descriptor(StructId(0)), AT());
    let r = f.add_local("r", LocalTy::Scalar(ScalarTy::U32), AT());
    let mut tile = |name: &str, rows, cols| {
        let ty = TileTy { role: TileRole::Vec, elem: Elem::Of(TensorId(0)), rows: u(rows), cols: u(cols) };
        f.add_local(name, LocalTy::Tile(ty), AT())
    };
    let (a, p, max) = (tile("a", 8, 8), tile("p", 8, 8), tile("max", 8, 1));
    let (values, indices) = (tile("values", 8, 4), tile("indices", 8, 4));
    let at = || Place {
        index: vec![Expr::local(r, ScalarTy::U32, AT()), u(0)],
        row_dim: Some(0),
        col_dim: Some(1),
    };
    let tile_op = |op| stmt(StmtKind::Tile(op));
    let body = vec![
        stmt(StmtKind::Let { local: a, init: None }),
        tile_op(TileOp::Load { dst: a, tensor: TensorId(0), at: at(), rows: Some(u(5)), cols: None }),
        tile_op(TileOp::MatMul { dst: p, a, b: a, transpose_b: true, accumulate: false }),
        tile_op(TileOp::RowReduce { op: ReduceOp::Max, dst: max, src: p }),
        tile_op(TileOp::Binary { op: BinaryTileOp::Div, dst: p, a: p, b: Operand::Column(max) }),
        tile_op(TileOp::Store { tensor: TensorId(1), src: p, at: at(), rows: None, cols: None, add: false }),
        stmt(StmtKind::Let { local: values, init: None }),
        stmt(StmtKind::Let { local: indices, init: None }),
        tile_op(TileOp::TopK { values, indices, src: p, first: u(0) }),
    ];
    f.body = vec![stmt(StmtKind::For { var: r, start: field(0), end: field(1), step: u(5), body })];
    m.functions = vec![f];
    m
}

#[test]
fn the_second_run_of_a_kernel_allocates_nothing() {
    let m = module();
    let engines = [Engine::Interpreter, Engine::Native].into_iter().filter(|engine| engine.is_available());
    for (engine, mode) in engines.flat_map(|engine| [(engine, Mode::Fast), (engine, Mode::Plain)]) {
        let mut data = [vec![0.5f32; 128], vec![0.0f32; 128]];
        let mut env = Env::new(&m, Vec::new());
        (env.mode, env.engine) = (mode, engine);
        for (tensor, data) in env.tensors.iter_mut().zip(&mut data) {
            let layout = Layout::Strided { dims: vec![16, 8], strides: vec![8, 1] };
            // SAFETY: the vectors outlive `env`, and only one thread runs.
            let bytes = unsafe { Bytes::new(data.as_mut_ptr().cast(), 512) };
            *tensor = Some(TensorMem::new(bytes, DType::F32, layout));
        }
        let code = KernelCode::compile(&m, FuncId(0), &env).unwrap();
        let bounds = [field(0), Expr::binary(BinOp::Sub, field(1), field(0))];
        let summary = ScalarCode::compile(&m, &bounds, &env).unwrap();
        let mut scratch = Scratch::new();
        let mut out = [None; 2];
        code.run(&mut scratch, &env, &[0, 11]).unwrap();
        summary.eval(&mut scratch, &env, &[0, 11], &mut out);
        let before = ALLOCATIONS.with(Cell::get);
        for end in 1..11 {
            code.run(&mut scratch, &env, &[0, end]).unwrap();
            summary.eval(&mut scratch, &env, &[0, end], &mut out);
        }
        assert_eq!(ALLOCATIONS.with(Cell::get), before, "{engine:?}, {mode:?}");
        assert_eq!(data[1][0], 1.0);
    }
}
