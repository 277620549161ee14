//! Functions built by hand, and what running them does.

mod by_hand;
mod engines;
mod generators;
mod kernels;
mod property;
mod scalars;
#[path = "../../../../wsp-core/tests/stack/mod.rs"]
mod stack;
mod statements;
mod tiers;
mod together;
mod workspace;

use super::engine::Runnable;
use super::vm::{Buffers, Vm};
use crate::{Engine, Env, Extent, GeneratorCode, GeneratorHost, Hints, Trap, Value, WsRequest};
use wsp_core::{AxisId, FuncId, LocalId, SpaceId, StructId, TensorId};
use wsp_diag::{FileId, Span};
use wsp_ir::{
    ArrayRef, BinOp, Const, Elem, Expr, ExprKind, Field, FuncKind, Function, LocalTy, Module, Param,
    ParamSource, ScalarTy, Stmt, StmtKind, Storage, StructDef, Tensor,
};

/// A position that tells one expression from another.
pub(super) fn at(n: u32) -> Span {
    Span::new(FileId(0), n, n + 1)
}

pub(super) fn expr(kind: ExprKind, ty: ScalarTy) -> Expr {
    Expr::new(kind, ty, at(1))
}

pub(super) fn int(ty: ScalarTy, value: i128) -> Expr {
    expr(ExprKind::Const(Const::Int(value)), ty)
}

pub(super) fn u(value: u32) -> Expr {
    int(ScalarTy::U32, i128::from(value))
}

pub(super) fn real(value: f32) -> Expr {
    expr(ExprKind::Const(Const::Float(f64::from(value))), ScalarTy::F32)
}

pub(super) fn local(id: LocalId, ty: ScalarTy) -> Expr {
    Expr::local(id, ty, at(1))
}

/// A `u32` variable.
pub(super) fn v(id: LocalId) -> Expr {
    local(id, ScalarTy::U32)
}

pub(super) fn cast(ty: ScalarTy, a: Expr) -> Expr {
    expr(ExprKind::Cast(Box::new(a)), ty)
}

pub(super) fn op(op: BinOp, a: Expr, b: Expr) -> Expr {
    Expr::binary(op, a, b)
}

pub(super) fn add(a: Expr, b: Expr) -> Expr {
    op(BinOp::Add, a, b)
}

pub(super) fn load(array: ArrayRef, index: Expr) -> Expr {
    expr(ExprKind::Load(array, Box::new(index)), ScalarTy::U32)
}

pub(super) fn stmt(kind: StmtKind) -> Stmt {
    Stmt { kind, span: at(2) }
}

pub(super) fn let_(local: LocalId, init: Expr) -> Stmt {
    stmt(StmtKind::Let { local, init: Some(init) })
}

pub(super) fn set(local: LocalId, value: Expr) -> Stmt {
    stmt(StmtKind::Assign { local, value })
}

pub(super) fn if_(cond: Expr, then: Vec<Stmt>) -> Stmt {
    stmt(StmtKind::If { cond, then, otherwise: Vec::new() })
}

pub(super) fn for_(var: LocalId, start: u32, end: Expr, body: Vec<Stmt>) -> Stmt {
    stmt(StmtKind::For { var, start: u(start), end, step: u(1), body })
}

pub(super) fn return_(value: Expr) -> Stmt {
    stmt(StmtKind::Return(Some(value)))
}

/// A task whose words are the given values.
pub(super) fn emit(fields: Vec<Expr>) -> Stmt {
    let descriptor = StructId(fields.len() as u32);
    stmt(StmtKind::Emit { descriptor, fields, hints: wsp_ir::EmitHints::default() })
}

pub(super) fn function(kind: FuncKind, name: &str) -> Function {
    Function {
        name: name.to_owned(),
        kind,
        params: 0,
        locals: Vec::new(),
        ret: None,
        body: Vec::new(),
        span: at(0),
    }
}

/// A function under construction.
pub(super) struct Build(pub(super) Function);

impl Build {
    pub(super) fn generator() -> Build {
        Build(function(FuncKind::Generator { space: SpaceId(0) }, "generate"))
    }

    pub(super) fn helper(ret: ScalarTy) -> Build {
        let mut f = function(FuncKind::Helper, "helper");
        f.ret = Some(ret);
        Build(f)
    }

    pub(super) fn var(&mut self, name: &str, ty: ScalarTy) -> LocalId {
        self.0.add_local(name, LocalTy::Scalar(ty), at(0))
    }

    pub(super) fn param(&mut self, name: &str, ty: LocalTy) -> LocalId {
        self.0.params += 1;
        self.0.add_local(name, ty, at(0))
    }

    pub(super) fn body(mut self, body: Vec<Stmt>) -> Function {
        self.0.body = body;
        self.0
    }
}

/// A module whose descriptor type number `n` has `n` fields, with these functions.
pub(super) fn module(functions: Vec<Function>) -> Module {
    let structs = (0..5)
        .map(|n| StructDef {
            name: format!("D{n}"),
            fields: (0..n).map(|i| Field { name: format!("f{i}"), span: at(0) }).collect(),
            consumer: wsp_ir::Consumer::None,
            span: at(0),
        })
        .collect();
    Module { structs, functions, ..Module::default() }
}

/// Adds a parameter.
pub(super) fn add_param(module: &mut Module, name: &str, ty: ScalarTy) -> ExprKind {
    module.params.push(Param { name: name.to_owned(), ty, source: ParamSource::Entry, span: at(0) });
    ExprKind::Param(wsp_core::ParamId(module.params.len() as u32 - 1))
}

/// Adds a tensor with these extents.
pub(super) fn add_tensor(module: &mut Module, name: &str, dims: &[u32]) -> TensorId {
    let id = TensorId(module.tensors.len() as u32);
    module.tensors.push(Tensor {
        name: name.to_owned(),
        elem: Elem::Of(id),
        dims: dims.iter().map(|n| wsp_ir::Dim::Expr(u(*n))).collect(),
        storage: Storage::Launch,
        span: at(0),
    });
    id
}

/// What a generator did.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Recorder {
    pub(super) tasks: Vec<Vec<u32>>,
    pub(super) hints: Vec<String>,
    pub(super) log: Vec<String>,
    pub(super) tile: Option<u32>,
    pub(super) extent: u32,
    pub(super) stop_after: Option<usize>,
    pub(super) cancelled: bool,
}

impl GeneratorHost for Recorder {
    fn emit(&mut self, descriptor: StructId, fields: &[u32], hints: Hints<'_>) -> Result<(), Trap> {
        assert_eq!(descriptor.index(), fields.len());
        if self.stop_after.is_some_and(|n| self.tasks.len() >= n) {
            return Err(Trap::new(wsp_diag::Code(650), "no more", Span::default()));
        }
        self.tasks.push(fields.to_vec());
        self.hints.push(format!(
            "{:?} {:?} {:?}",
            hints.affinity().collect::<Vec<_>>(),
            hints.prefetch().map(|p| (p.value, p.depth, p.rest.to_vec())).collect::<Vec<_>>(),
            hints.priority()
        ));
        Ok(())
    }

    fn fence(&mut self) {
        self.log.push(format!("fence after {}", self.tasks.len()));
    }

    fn alloc_ws(&mut self, r: &WsRequest<'_>) -> Result<u32, Trap> {
        self.log.push(format!(
            "ws set {} tier {} bytes {} key {:?} slot {} of {}",
            r.set.0, r.tier, r.slot_bytes, r.key, r.index, r.count
        ));
        Ok(r.index * r.slot_bytes as u32)
    }

    fn set_tile(&mut self, axis: AxisId, size: u32) -> Result<(), Trap> {
        self.log.push(format!("tile {} = {size}", axis.0));
        self.tile = Some(size);
        Ok(())
    }

    fn set_extent(&mut self, axis: AxisId, extent: Extent<'_>) -> Result<(), Trap> {
        self.log.push(format!("extent {} = {extent:?}", axis.0));
        Ok(())
    }

    fn axis_tile(&mut self, axis: AxisId) -> Result<u32, Trap> {
        self.tile.ok_or_else(|| Trap::new(wsp_diag::Code(651), format!("axis {}", axis.0), Span::default()))
    }

    fn axis_extent(&mut self, _: AxisId) -> Result<u32, Trap> {
        Ok(self.extent)
    }

    fn cancelled(&self) -> bool {
        self.cancelled
    }
}

/// Runs function 0, a generator, on every engine.
pub(super) fn run_in(module: &Module, env: &Env, host: &mut Recorder) -> Result<(), Trap> {
    let compiled = || GeneratorCode::compile(module, FuncId(0), env);
    let before = host.clone();
    let result = compiled()?.on(Engine::Interpreter).run(env, host, 1_000_000);
    if Engine::Native.is_available() {
        let mut again = before;
        let native = compiled()?.on(Engine::Native).run(env, &mut again, 1_000_000);
        assert_eq!((&result, &*host), (&native, &again), "both engines should do the same");
    }
    result
}

/// Runs function 0, a generator, and returns what it emitted.
pub(super) fn run(module: &Module) -> Result<Vec<Vec<u32>>, Trap> {
    let mut host = Recorder::default();
    run_in(module, &Env::new(module, Vec::new()), &mut host)?;
    Ok(host.tasks)
}

/// Runs a generator that does nothing but emit values.
pub(super) fn emitted(fields: Vec<Expr>) -> Result<Vec<u32>, Trap> {
    Ok(run(&module(vec![Build::generator().body(vec![emit(fields)])]))?.remove(0))
}

/// The value that function 0, a helper without parameters, returns on every engine.
pub(super) fn returned(module: &Module, params: Vec<Value>) -> Result<Value, Trap> {
    returned_on([Engine::Interpreter, Engine::Native], module, params)
}

/// The value that function 0, a helper without parameters, returns on the first engine, and on the other if there is it.
pub(super) fn returned_on(engines: [Engine; 2], module: &Module, params: Vec<Value>) -> Result<Value, Trap> {
    use super::compile::{Compiler, Role};
    let env = Env::new(module, params);
    let mut compiler = Compiler::new(module, &env, Role::Generator);
    compiler.entry(FuncId(0))?;
    let program = compiler.into_program();
    let ty = module.functions[0].ret.expect("a helper returns something");
    let run = |engine| {
        let code = Runnable::new(program.clone(), &env)?.on(engine);
        let (mut slots, mut buffers) = (Vec::new(), Buffers::default());
        let frame = super::vm::frame(&mut slots, program.entry());
        let mut vm = Vm::new(&program, &env, &mut buffers, 1_000_000);
        code.run(&mut vm, frame).map(|bits| Value::from_bits(ty, bits))
    };
    let result = run(engines[0]);
    if engines[1] != engines[0] && engines[1].is_available() {
        let other = run(engines[1]);
        assert!(
            same_result(&result, &other),
            "{result:?} on {:?}, {other:?} on {:?}",
            engines[0],
            engines[1]
        );
    }
    result
}

/// Equal, or both no number.
pub(super) fn same_result(a: &Result<Value, Trap>, b: &Result<Value, Trap>) -> bool {
    match (a, b) {
        (Ok(x), Ok(y)) if x.as_int().is_none() && x.as_f64().is_nan() => {
            x.ty() == y.ty() && y.as_f64().is_nan()
        }
        _ => a == b,
    }
}
