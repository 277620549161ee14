//! Expressions of `.pto` as generators that give their value as a task, in slot code and compiled for this machine.

use crate::tree::Tree;
use std::sync::Arc;
use wsp_core::limits::MAX_GENERATOR_STEPS;
use wsp_core::{AxisId, DType, FuncId, SpaceId, StructId, TensorId};
use wsp_diag::Span;
use wsp_ir::{
    ArrayRef, BinOp, Consumer, Dim, Elem, EmitHints, Expr, ExprKind, Field, FuncKind, Function, LocalTy,
    Module, ScalarTy, Stmt, StmtKind, Storage, StructDef, Tensor,
};
use wsp_kernel::{Engine, Env, Extent, GeneratorCode, GeneratorHost, Hints, IntArray, Trap, WsRequest};

const AT: fn() -> Span = Span::default;

/// A generator of an expression of three elements of an array, on one engine.
pub(crate) struct Generator {
    env: Env,
    code: GeneratorCode,
}

impl Generator {
    /// The generator on the interpreter and on the compiler. This machine has a compiler: where it lacks one the test fails.
    pub(crate) fn of_each_engine(tree: &Tree) -> [Generator; 2] {
        let module = module(tree);
        [Engine::Interpreter, Engine::Native].map(|engine| {
            let mut env = Env::new(&module, Vec::new());
            env.engine = engine;
            env.arrays[0] = Some(IntArray::I64(Arc::from([0; 3])));
            let code = GeneratorCode::compile(&module, FuncId(0), &env).expect("the generator compiles");
            Generator { env, code }
        })
    }

    pub(crate) fn engine(&self) -> Engine {
        self.env.engine
    }

    /// The value of the expression.
    pub(crate) fn run(&mut self, vars: [i64; 3]) -> Result<i64, Trap> {
        self.env.arrays[0] = Some(IntArray::I64(Arc::from(vars)));
        let mut host = Value(None);
        self.code.run(&self.env, &mut host, MAX_GENERATOR_STEPS)?;
        Ok(host.0.expect("a task"))
    }
}

/// `emit { expression & 0xffffffff, (expression >> 32) & 0xffffffff }`
fn module(tree: &Tree) -> Module {
    let mut module = Module::default();
    let dims = vec![Dim::Expr(Expr::u32(3, AT()))];
    let elem = Elem::Fixed(DType::I64);
    module.tensors.push(Tensor { name: "v".to_owned(), elem, dims, storage: Storage::Launch, span: AT() });
    let fields = ["low", "high"].map(|name| Field { name: name.to_owned(), span: AT() }).to_vec();
    module.structs.push(StructDef { name: "D".to_owned(), fields, consumer: Consumer::None, span: AT() });
    let mut function = Function {
        name: "generator".to_owned(),
        kind: FuncKind::Generator { space: SpaceId(0) },
        params: 0,
        locals: Vec::new(),
        ret: None,
        body: Vec::new(),
        span: AT(),
    };
    let local = function.add_local("x", LocalTy::Scalar(ScalarTy::I64), AT());
    let value = || Expr::local(local, ScalarTy::I64, AT());
    let int = |value: i64| Tree::Literal(value).number(&|_| unreachable!("a number has no variables"));
    let word = |of: Expr| {
        let low = Expr::binary(BinOp::BitAnd, of, int(0xFFFF_FFFF));
        Expr::new(ExprKind::Cast(Box::new(low)), ScalarTy::U32, AT())
    };
    let element = |var| ExprKind::Load(ArrayRef::Tensor(TensorId(0)), Box::new(Expr::u32(var, AT())));
    let fields = vec![word(value()), word(Expr::binary(BinOp::Shr, value(), int(32)))];
    let emit = StmtKind::Emit { descriptor: StructId(0), fields, hints: EmitHints::default() };
    let body = [StmtKind::Let { local, init: Some(tree.number(&element)) }, emit];
    function.body = body.map(|kind| Stmt { kind, span: AT() }).to_vec();
    module.functions.push(function);
    module
}

/// The value that a task has in its two words.
struct Value(Option<i64>);

impl GeneratorHost for Value {
    fn emit(&mut self, _: StructId, fields: &[u32], _: Hints<'_>) -> Result<(), Trap> {
        self.0 = Some((u64::from(fields[1]) << 32 | u64::from(fields[0])).cast_signed());
        Ok(())
    }

    fn fence(&mut self) {}

    fn alloc_ws(&mut self, _: &WsRequest<'_>) -> Result<u32, Trap> {
        unreachable!("no slot is asked for")
    }

    fn set_tile(&mut self, _: AxisId, _: u32) -> Result<(), Trap> {
        unreachable!("no tile is set")
    }

    fn set_extent(&mut self, _: AxisId, _: Extent<'_>) -> Result<(), Trap> {
        unreachable!("no extent is set")
    }

    fn axis_tile(&mut self, _: AxisId) -> Result<u32, Trap> {
        unreachable!("no tile is asked for")
    }

    fn axis_extent(&mut self, _: AxisId) -> Result<u32, Trap> {
        unreachable!("no extent is asked for")
    }

    fn cancelled(&self) -> bool {
        false
    }
}
