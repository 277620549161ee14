//! Every rule with the smallest module that breaks it.

mod code;
mod tables;
mod tiles;

use super::depth::MAX_DEPTH;
use super::{into_verified, verify};
use crate::*;
use wsp_core::*;
use wsp_diag::{FileId, Span};

const AT: Span = Span { file: FileId(0), start: 0, end: 0 };

// What `base` holds, by name.
const N: ParamId = ParamId(0);
const Q: TensorId = TensorId(0);
const LENS: TensorId = TensorId(1);
const KEYS: TensorId = TensorId(2);
const BATCH: AxisId = AxisId(0);
const CHUNK: AxisId = AxisId(1);
const TIERS: TierSetId = TierSetId(0);
const WORK: StructId = StructId(0);
const HELPER: FuncId = FuncId(0);
const KERNEL: FuncId = FuncId(1);
const GENERATOR: FuncId = FuncId(2);
// Variables of the kernel.
const DESC: LocalId = LocalId(0);
const TILE: LocalId = LocalId(1);
const FLOAT: LocalId = LocalId(2);
// Variables of the generator and of the kernel.
const INDEX: LocalId = LocalId(3);
// Variables of the generator.
const ARRAY: LocalId = LocalId(0);
const B: LocalId = LocalId(1);
const C: LocalId = LocalId(2);
// Variables of the helper.
const LENGTHS: LocalId = LocalId(0);
const X: LocalId = LocalId(1);

fn expr(kind: ExprKind, ty: ScalarTy) -> Expr {
    Expr::new(kind, ty, AT)
}

fn int(value: u32) -> Expr {
    Expr::u32(value, AT)
}

fn float(value: f64) -> Expr {
    expr(ExprKind::Const(Const::Float(value)), ScalarTy::F32)
}

fn truth() -> Expr {
    expr(ExprKind::Const(Const::Bool(true)), ScalarTy::Bool)
}

fn param(id: ParamId) -> Expr {
    expr(ExprKind::Param(id), ScalarTy::U32)
}

fn local(id: LocalId) -> Expr {
    Expr::local(id, ScalarTy::U32, AT)
}

fn stmt(kind: StmtKind) -> Stmt {
    Stmt { kind, span: AT }
}

fn assign(id: LocalId, value: Expr) -> StmtKind {
    StmtKind::Assign { local: id, value }
}

fn locals(list: &[(&str, LocalTy)]) -> Vec<Local> {
    list.iter().map(|(name, ty)| Local { name: (*name).into(), ty: ty.clone(), span: AT }).collect()
}

fn tensor(name: &str, elem: Elem, dims: Vec<Dim>, storage: Storage) -> Tensor {
    Tensor { name: name.into(), elem, dims, storage, span: AT }
}

fn function(name: &str, kind: FuncKind, locals: Vec<Local>, body: Vec<StmtKind>) -> Function {
    let helper = kind == FuncKind::Helper;
    let (params, ret) = if helper { (2, Some(ScalarTy::U32)) } else { (0, None) };
    let body = body.into_iter().map(stmt).collect();
    Function { name: name.into(), kind, params, locals, ret, body, span: AT }
}

fn cache_dims() -> Vec<Dim> {
    vec![Dim::Expr(param(N)), Dim::Dynamic, Dim::Expr(int(1)), Dim::Expr(int(64))]
}

fn load(at: Place) -> StmtKind {
    StmtKind::Tile(TileOp::Load { dst: TILE, tensor: Q, at, rows: Some(int(1)), cols: None })
}

fn place() -> Place {
    Place { index: vec![int(0), int(0)], row_dim: Some(0), col_dim: Some(1) }
}

fn emit(fields: Vec<Expr>) -> StmtKind {
    StmtKind::Emit { descriptor: WORK, fields, hints: EmitHints::default() }
}

fn alloc(count: Expr) -> Expr {
    let slot = WsSlot { tiers: TIERS, tier: int(0), key: vec![local(B)], count, index: local(C) };
    expr(ExprKind::AllocWs(Box::new(slot)), ScalarTy::U32)
}

fn call(args: Vec<Arg>) -> Expr {
    expr(ExprKind::Call(HELPER, args), ScalarTy::U32)
}

/// A module that keeps every rule and has something of everything.
fn base() -> Module {
    let u32_local = LocalTy::Scalar(ScalarTy::U32);
    let u32_array = LocalTy::Array(ScalarTy::U32);
    let fixed = |dtype| Elem::Fixed(dtype);
    let tile = TileTy { role: TileRole::Vec, elem: Elem::Of(Q), rows: int(2), cols: param(N) };
    let selector = expr(ExprKind::Selector, ScalarTy::U32);
    let kernel_locals = locals(&[
        ("desc", LocalTy::Descriptor(WORK)),
        ("tile", LocalTy::Tile(tile)),
        ("f", LocalTy::Scalar(ScalarTy::F32)),
        ("i", u32_local.clone()),
    ]);
    let generator_locals = locals(&[
        ("a", u32_array.clone()),
        ("b", u32_local.clone()),
        ("c", u32_local.clone()),
        ("i", u32_local.clone()),
    ]);
    let scheduled = vec![stmt(emit(vec![int(0), alloc(expr(ExprKind::AxisExtent(CHUNK), ScalarTy::U32))]))];
    let axis = |name: &str, end, tile| Axis { name: name.into(), start: int(0), end, tile, span: AT };
    let auto = AxisTile { size: TileSize::Auto, pad_last: false, span: AT };
    Module {
        params: vec![
            Param {
                name: "n".into(),
                ty: ScalarTy::U32,
                source: ParamSource::Shape { of: ShapeOwner::Tensor(Q), dim: 0 },
                span: AT,
            },
            Param {
                name: "m".into(),
                ty: ScalarTy::U32,
                source: ParamSource::Set { default: param(N) },
                span: AT,
            },
        ],
        tensors: vec![
            tensor("q", Elem::Of(Q), vec![Dim::Expr(param(N)), Dim::Expr(int(64))], Storage::Launch),
            tensor("lens", fixed(DType::U32), vec![Dim::Expr(param(N))], Storage::Launch),
            tensor("kv.k", Elem::Of(KEYS), cache_dims(), Storage::CacheKeys(CacheId(0))),
            tensor("kv.v", Elem::Of(KEYS), cache_dims(), Storage::CacheValues(CacheId(0))),
            tensor("t", fixed(DType::F32), vec![Dim::Axis(CHUNK)], Storage::Temporary),
        ],
        caches: vec![Cache { name: "kv".into(), keys: KEYS, values: TensorId(3), span: AT }],
        axes: vec![axis("batch", AxisEnd::Expr(param(N)), None), axis("chunk", AxisEnd::Dynamic, Some(auto))],
        spaces: vec![Space {
            name: "space".into(),
            axes: vec![BATCH, CHUNK],
            constraints: vec![Expr::binary(BinOp::Lt, local(LocalId(0)), local(LocalId(1)))],
            generator: Some(GENERATOR),
            span: AT,
        }],
        tier_sets: vec![TierSet {
            name: "tiers".into(),
            selector: Some("len".into()),
            tiers: vec![
                Tier {
                    cond: Some(Expr::binary(BinOp::Le, selector, int(9))),
                    kernel: KERNEL,
                    workspace: Some(int(64)),
                    span: AT,
                },
                Tier { cond: None, kernel: KERNEL, workspace: None, span: AT },
            ],
            span: AT,
        }],
        schedules: vec![Schedule { name: "sched".into(), ..Schedule::default() }],
        structs: vec![StructDef {
            name: "Work".into(),
            fields: vec![Field { name: "tier".into(), span: AT }, Field { name: "offset".into(), span: AT }],
            consumer: Consumer::Tiers { set: TIERS, field: 0 },
            span: AT,
        }],
        functions: vec![
            function(
                "helper",
                FuncKind::Helper,
                locals(&[("lengths", u32_array), ("x", u32_local.clone()), ("y", u32_local)]),
                vec![StmtKind::Return(Some(local(X)))],
            ),
            function(
                "kernel",
                FuncKind::Kernel { descriptor: Some(WORK) },
                kernel_locals,
                vec![load(place())],
            ),
            function(
                "generator",
                FuncKind::Generator { space: SpaceId(0) },
                generator_locals,
                vec![
                    StmtKind::LetArray { local: ARRAY, array: ArrayRef::Tensor(LENS) },
                    StmtKind::SetTile { axis: CHUNK, size: int(64) },
                    StmtKind::SetExtent {
                        axis: CHUNK,
                        extent: ExtentSource::PerOuter(ArrayRef::Local(ARRAY)),
                        last: Some(int(128)),
                    },
                    StmtKind::ApplySchedule(ScheduleId(0)),
                    StmtKind::ScheduledFor { vars: vec![B, C], body: scheduled },
                ],
            ),
        ],
        entry: Some(Entry {
            name: "main".into(),
            params: vec![EntryParam { name: "q".into(), ty: EntryTy::Tensor(None), span: AT }],
            launch: Launch {
                target: LaunchTarget::Space(SpaceId(0)),
                bindings: vec![Binding { param: 0, source: BindingSource::Tensor(Q) }],
                span: AT,
            },
            span: AT,
        }),
        ..Module::default()
    }
}

fn codes(module: &Module) -> Vec<u16> {
    let mut codes: Vec<u16> = verify(module).iter().map(|d| d.code.0).collect();
    codes.dedup();
    codes
}

/// The base with a change breaks this rule and no other.
#[track_caller]
fn breaks(rule: u16, change: impl FnOnce(&mut Module)) {
    let mut module = base();
    change(&mut module);
    assert_eq!(codes(&module), [rule], "{:#?}", verify(&module));
    assert!(into_verified(module).is_err());
}

#[track_caller]
fn breaks_in(function: FuncId, rule: u16, statement: StmtKind) {
    breaks(rule, |m| m.functions[function.index()].body.insert(0, stmt(statement)));
}

#[track_caller]
fn keeps_in(function: FuncId, statement: StmtKind) {
    let mut module = base();
    module.functions[function.index()].body.insert(0, stmt(statement));
    assert_eq!(verify(&module), []);
}

#[test]
fn a_right_module_is_verified() {
    assert_eq!(verify(&base()), []);
    let verified = into_verified(base()).expect("it keeps every rule");
    assert_eq!(verified.functions.len(), 3);
    assert_eq!(verified.into_inner(), base());
    assert_eq!(verify(&Module::default()), []);
}

#[test]
fn findings_are_bounded_and_name_the_function() {
    let mut module = base();
    for _ in 0..1000 {
        module.functions[HELPER.index()].body.insert(0, stmt(StmtKind::Break));
    }
    let found = verify(&module);
    assert_eq!(found.len(), limits::MAX_DIAGNOSTICS as usize);
    assert_eq!(found[0].notes, ["in `helper`"]);
    assert_eq!(found[0].message, "`break` stands in no loop");
}
