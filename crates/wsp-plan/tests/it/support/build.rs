//! IR by hand.

use wsp_core::*;
use wsp_diag::Span;
use wsp_ir::*;

pub(crate) fn sp() -> Span {
    Span::default()
}

pub(crate) fn n(v: u32) -> Expr {
    Expr::u32(v, sp())
}

pub(crate) fn float(v: f64) -> Expr {
    Expr::new(ExprKind::Const(Const::Float(v)), ScalarTy::F32, sp())
}

pub(crate) fn v(l: LocalId) -> Expr {
    Expr::local(l, ScalarTy::U32, sp())
}

pub(crate) fn param(i: u32) -> Expr {
    Expr::new(ExprKind::Param(ParamId(i)), ScalarTy::U32, sp())
}

pub(crate) fn field(i: u32) -> Expr {
    Expr::new(ExprKind::Field(LocalId(0), i), ScalarTy::U32, sp())
}

pub(crate) fn op(op: BinOp, a: Expr, b: Expr) -> Expr {
    Expr::binary(op, a, b)
}

pub(crate) fn cast(e: Expr, ty: ScalarTy) -> Expr {
    Expr::new(ExprKind::Cast(Box::new(e)), ty, sp())
}

pub(crate) fn not(e: Expr) -> Expr {
    Expr::new(ExprKind::Unary(UnOp::Not, Box::new(e)), ScalarTy::Bool, sp())
}

pub(crate) fn load(tensor: TensorId, index: Expr) -> Expr {
    Expr::new(ExprKind::Load(ArrayRef::Tensor(tensor), Box::new(index)), ScalarTy::U32, sp())
}

pub(crate) fn s(kind: StmtKind) -> Stmt {
    Stmt { kind, span: sp() }
}

pub(crate) fn set(local: LocalId, e: Expr) -> Stmt {
    s(StmtKind::Let { local, init: Some(e) })
}

pub(crate) fn assign(local: LocalId, value: Expr) -> Stmt {
    s(StmtKind::Assign { local, value })
}

pub(crate) fn when(cond: Expr, then: Block, otherwise: Block) -> Stmt {
    s(StmtKind::If { cond, then, otherwise })
}

pub(crate) fn skip_if(cond: Expr) -> Stmt {
    when(cond, vec![s(StmtKind::Continue)], vec![])
}

pub(crate) fn emit(fields: Vec<Expr>) -> Stmt {
    s(StmtKind::Emit { descriptor: StructId(0), fields, hints: EmitHints::default() })
}

pub(crate) fn axis(name: &str, start: Expr, end: Option<Expr>, tile: Option<TileSize>) -> Axis {
    Axis {
        name: name.into(),
        start,
        end: end.map_or(AxisEnd::Dynamic, AxisEnd::Expr),
        tile: tile.map(|size| AxisTile { size, pad_last: false, span: sp() }),
        span: sp(),
    }
}

pub(crate) fn u32_param(name: &str) -> Param {
    Param { name: name.into(), ty: ScalarTy::U32, source: ParamSource::Set { default: n(0) }, span: sp() }
}

pub(crate) fn tensor(name: &str, dtype: DType, dims: Vec<Dim>, storage: Storage) -> Tensor {
    Tensor { name: name.into(), elem: Elem::Fixed(dtype), dims, storage, span: sp() }
}

pub(crate) fn function(name: &str, kind: FuncKind) -> Function {
    Function { name: name.into(), kind, params: 0, locals: vec![], ret: None, body: vec![], span: sp() }
}

pub(crate) fn scalar(f: &mut Function, name: &str) -> LocalId {
    f.add_local(name, LocalTy::Scalar(ScalarTy::U32), sp())
}

pub(crate) fn about(axis: &str, policy: AxisPolicy) -> AxisStatement {
    AxisStatement { axis: axis.into(), policy, span: sp() }
}

pub(crate) fn order(axis: &str, policy: OrderPolicy) -> AxisStatement {
    about(axis, AxisPolicy::Order(policy))
}

pub(crate) fn schedule(name: &str, axes: Vec<AxisStatement>) -> Schedule {
    Schedule { name: name.into(), axes, ..Schedule::default() }
}

/// A launched space with a generator that emits the indices of every item, for one kernel that does nothing.
pub(crate) struct LaunchedSpace {
    pub(crate) module: Module,
    pub(crate) vars: Vec<LocalId>,
    /// Before the loop.
    pub(crate) before: Block,
    /// In the loop, before the emission.
    pub(crate) body: Block,
    /// What is emitted; empty for the indices.
    pub(crate) fields: Vec<Expr>,
}

impl LaunchedSpace {
    pub(crate) fn new(axes: Vec<Axis>) -> LaunchedSpace {
        let mut generator = function("gen", FuncKind::Generator { space: SpaceId(0) });
        let vars: Vec<LocalId> = axes.iter().map(|a| scalar(&mut generator, &a.name)).collect();
        let mut kernel = function("k", FuncKind::Kernel { descriptor: Some(StructId(0)) });
        kernel.add_local("desc", LocalTy::Descriptor(StructId(0)), sp());
        let fields = (0..axes.len().max(4)).map(|i| Field { name: format!("f{i}"), span: sp() }).collect();
        let module = Module {
            params: (0..3).map(|i| u32_param(&format!("p{i}"))).collect(),
            tensors: vec![tensor("lens", DType::U32, vec![Dim::Expr(param(0))], Storage::Launch)],
            spaces: vec![Space {
                name: "S".into(),
                axes: (0..axes.len()).map(|i| AxisId(i as u32)).collect(),
                constraints: vec![],
                generator: Some(FuncId(0)),
                span: sp(),
            }],
            axes,
            structs: vec![StructDef {
                name: "D".into(),
                fields,
                consumer: Consumer::Kernel(FuncId(1)),
                span: sp(),
            }],
            functions: vec![generator, kernel],
            entry: Some(Entry {
                name: "main".into(),
                params: vec![],
                launch: Launch { target: LaunchTarget::Space(SpaceId(0)), bindings: vec![], span: sp() },
                span: sp(),
            }),
            ..Module::default()
        };
        LaunchedSpace { module, vars, before: vec![], body: vec![], fields: vec![] }
    }

    pub(crate) fn local(&mut self, name: &str) -> LocalId {
        scalar(&mut self.module.functions[0], name)
    }

    /// The module, with this schedule applied.
    pub(crate) fn module(&self, schedule: Option<Schedule>) -> Module {
        let mut module = self.module.clone();
        let mut body = self.before.clone();
        if let Some(schedule) = schedule {
            body.push(s(StmtKind::ApplySchedule(ScheduleId(module.schedules.len() as u32))));
            module.schedules.push(schedule);
        }
        let mut inner = self.body.clone();
        let mut fields = if self.fields.is_empty() {
            self.vars.iter().map(|var| v(*var)).collect()
        } else {
            self.fields.clone()
        };
        fields.resize(module.structs[0].fields.len(), n(0));
        inner.push(emit(fields));
        body.push(s(StmtKind::ScheduledFor { vars: self.vars.clone(), body: inner }));
        module.functions[0].body = body;
        module
    }
}

/// `batch (p0) × chunk (dynamic) × head (p1)`, where chunks are bounded by `if (chunk >= lens[batch]) continue;`.
pub(crate) fn decode() -> LaunchedSpace {
    let mut p = LaunchedSpace::new(vec![
        axis("batch", n(0), Some(param(0)), None),
        axis("chunk", n(0), None, Some(TileSize::Auto)),
        axis("head", n(0), Some(param(1)), None),
    ]);
    let count = p.local("num_chunks");
    let (batch, chunk) = (p.vars[0], p.vars[1]);
    p.body = vec![set(count, load(TensorId(0), v(batch))), skip_if(op(BinOp::Ge, v(chunk), v(count)))];
    p
}
