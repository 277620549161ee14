//! A generator on both engines: how long compiling takes, and each descriptor.
//!
//! `cargo run --release -p wsp-kernel --features native --example engines [-- REQUESTS]`. The generator emits eight words per
//! request and head, with a length from an array and a tier, into a buffer; the least of several runs counts.

#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "measures, and says what it found")]

use std::time::Instant;
use wsp_core::{AxisId, FuncId, LocalId, SpaceId, StructId, TensorId};
use wsp_diag::Span;
use wsp_ir::{
    ArrayRef, BinOp, Consumer, Elem, EmitHints, Expr, ExprKind, Field, FuncKind, Function, LocalTy, Module,
    ScalarTy, Stmt, StmtKind, Storage, StructDef, Tensor,
};
use wsp_kernel::{
    Engine, Env, Extent, FlatBuffer, GeneratorCode, GeneratorHost, Hints, IntArray, Trap, WsRequest,
};

const HEADS: u32 = 8;
const RUNS: usize = 20;

fn main() {
    let requests = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(4096u32);
    let module = module(requests);
    let lengths: Vec<u32> = (0..requests).map(|n| 1 + (n * 7919) % 60_000).collect();
    for engine in [Engine::Interpreter, Engine::Native].into_iter().filter(|engine| engine.is_available()) {
        let mut env = Env::new(&module, Vec::new());
        env.arrays[0] = Some(IntArray::U32(lengths.as_slice().into()));
        env.engine = engine;
        let (mut compile, mut run) = (f64::INFINITY, f64::INFINITY);
        let mut host = Keeper(FlatBuffer::growing(usize::MAX));
        for _ in 0..RUNS {
            // Every pass compiles anew.
            env.code = wsp_kernel::CodeCache::default();
            let start = Instant::now();
            let code = GeneratorCode::compile(&module, FuncId(0), &env).expect("the generator compiles");
            compile = compile.min(start.elapsed().as_secs_f64());
            host.0.clear();
            let start = Instant::now();
            code.run(&env, &mut host, u64::MAX).expect("the generator runs");
            run = run.min(start.elapsed().as_secs_f64());
        }
        let each = run * 1e9 / host.0.len().max(1) as f64;
        println!("{engine:?}: compiled in {:.3} ms, {each:.2} ns per descriptor", compile * 1e3);
    }
}

/// `for r in 0..requests { len = lengths[r]; for h in 0..HEADS { emit 8 words } }`
fn module(requests: u32) -> Module {
    let at = Span::default();
    let u = |n: u32| Expr::u32(n, at);
    let stmt = |kind| Stmt { kind, span: at };
    let mut f = Function {
        name: "generate".to_owned(),
        kind: FuncKind::Generator { space: SpaceId(0) },
        params: 0,
        locals: Vec::new(),
        ret: None,
        body: Vec::new(),
        span: at,
    };
    let [r, len, h] = ["r", "len", "h"].map(|name| f.add_local(name, LocalTy::Scalar(ScalarTy::U32), at));
    let v = |id: LocalId| Expr::local(id, ScalarTy::U32, at);
    let lengths = ArrayRef::Tensor(TensorId(0));
    let length = Expr::new(ExprKind::Load(lengths, Box::new(v(r))), ScalarTy::U32, at);
    let pages = Expr::binary(BinOp::CeilDiv, v(len), u(16));
    let last = Expr::binary(BinOp::Sub, pages.clone(), u(1));
    let fields = vec![u(0), v(r), u(0), v(h), u(0), v(len), pages, last];
    let emit = stmt(StmtKind::Emit { descriptor: StructId(0), fields, hints: EmitHints::default() });
    let heads = StmtKind::For { var: h, start: u(0), end: u(HEADS), step: u(1), body: vec![emit] };
    let body = vec![stmt(StmtKind::Let { local: len, init: Some(length) }), stmt(heads)];
    f.body = vec![stmt(StmtKind::For { var: r, start: u(0), end: u(requests), step: u(1), body })];
    let fields = (0..8).map(|n| Field { name: format!("f{n}"), span: at }).collect();
    let structs = vec![StructDef { name: "D".to_owned(), fields, consumer: Consumer::None, span: at }];
    let tensors = vec![Tensor {
        name: "lengths".to_owned(),
        elem: Elem::Of(TensorId(0)),
        dims: vec![wsp_ir::Dim::Expr(u(requests))],
        storage: Storage::Launch,
        span: at,
    }];
    Module { structs, tensors, functions: vec![f], ..Module::default() }
}

/// A host that keeps tasks.
struct Keeper(FlatBuffer);

impl GeneratorHost for Keeper {
    fn emit(&mut self, descriptor: StructId, fields: &[u32], hints: Hints<'_>) -> Result<(), Trap> {
        self.0.emit(descriptor, fields, hints).map_err(|_| Trap::internal("no room", Span::default()))
    }

    fn flat(&mut self) -> Option<&mut FlatBuffer> {
        Some(&mut self.0)
    }

    fn fence(&mut self) {
        self.0.fence();
    }

    fn alloc_ws(&mut self, request: &WsRequest<'_>) -> Result<u32, Trap> {
        Ok(request.index)
    }

    fn set_tile(&mut self, _: AxisId, _: u32) -> Result<(), Trap> {
        Ok(())
    }

    fn set_extent(&mut self, _: AxisId, _: Extent<'_>) -> Result<(), Trap> {
        Ok(())
    }

    fn axis_tile(&mut self, _: AxisId) -> Result<u32, Trap> {
        Ok(1)
    }

    fn axis_extent(&mut self, _: AxisId) -> Result<u32, Trap> {
        Ok(1)
    }

    fn cancelled(&self) -> bool {
        false
    }
}
