//! What a program says is what its module says.

mod tiles;

use wsp_core::{AxisId, DType, FuncId, LocalId, TensorId};
use wsp_diag::{SourceMap, render};
use wsp_ir::verify::verify;
use wsp_ir::{
    Arg, BinOp, Const, Consumer, Dim, Elem, EntryTy, Expr, ExprKind, ExtentSource, FuncKind, Function,
    LaunchTarget, LocalTy, MathFn, Module, Operand, ParamSource, ScalarTy, Stmt, StmtKind, Storage, TileOp,
    TileRole, UnOp,
};

#[track_caller]
fn compile(program: &str) -> Module {
    let mut sources = SourceMap::default();
    let (module, findings) = wsp_lang::compile("test.pto", program, &mut sources);
    let text: String = findings.iter().map(|d| render(d, &sources, false)).collect();
    assert!(findings.is_empty(), "{text}");
    let module = module.expect("there is a module when nothing is wrong");
    let broken: String = verify(&module).iter().map(|d| render(d, &sources, false)).collect();
    assert!(broken.is_empty(), "the verifier refuses the module\n{broken}");
    module
}

fn function<'m>(module: &'m Module, name: &str) -> &'m Function {
    &module.functions[module.function_named(name).expect("the function exists").index()]
}

/// An expression in a few signs: constants by value, variables by number, conversions as `(type)`.
fn text(e: &Expr) -> String {
    let list = |items: &[Expr]| items.iter().map(text).collect::<Vec<_>>().join(", ");
    match &e.kind {
        ExprKind::Const(Const::Int(v)) => v.to_string(),
        ExprKind::Const(Const::Bool(v)) => v.to_string(),
        ExprKind::Const(Const::Float(v)) => format!("{v:?}"),
        ExprKind::Param(p) => format!("p{}", p.0),
        ExprKind::Local(l) => format!("v{}", l.0),
        ExprKind::Field(l, f) => format!("v{}.{f}", l.0),
        ExprKind::Unary(UnOp::Neg, a) => format!("-{}", text(a)),
        ExprKind::Unary(UnOp::Not, a) => format!("!{}", text(a)),
        ExprKind::Cast(a) => format!("({}){}", e.ty.name(), text(a)),
        ExprKind::Select(a, b, c) => format!("({} ? {} : {})", text(a), text(b), text(c)),
        ExprKind::Math(MathFn::Sqrt, a) => format!("sqrt({})", text(a)),
        ExprKind::Load(_, i) => format!("load[{}]", text(i)),
        ExprKind::ArraySum(_, n) => format!("sum({})", text(n)),
        ExprKind::LoadScalar(t, index) => format!("t{}[{}]", t.0, list(index)),
        ExprKind::Binary(op, a, b) => {
            let sign = match op {
                BinOp::Add => "+",
                BinOp::Sub => "-",
                BinOp::Mul => "*",
                BinOp::Lt => "<",
                BinOp::Le => "<=",
                BinOp::Ne => "!=",
                BinOp::And => "&&",
                BinOp::Shl => "<<",
                BinOp::BitXor => "^",
                BinOp::Min => "min",
                other => return format!("{other:?}({}, {})", text(a), text(b)),
            };
            format!("({} {sign} {})", text(a), text(b))
        }
        other => format!("{other:?}"),
    }
}

/// The first values of the variables that a helper with this body declares.
#[track_caller]
fn lets(params: &str, body: &str) -> Vec<String> {
    let module = compile(&format!("uint32_t f({params}) {{ {body} return 0; }}"));
    function(&module, "f")
        .body
        .iter()
        .filter_map(|s| match &s.kind {
            StmtKind::Let { init: Some(e), .. } => Some(format!("{} {}", e.ty.name(), text(e))),
            StmtKind::Assign { value, .. } => Some(format!("= {}", text(value))),
            _ => None,
        })
        .collect()
}

#[test]
fn operands_are_converted_as_in_c() {
    let params = "uint32_t u, int32_t i, uint64_t w, float x, double y, bool b";
    let cases = [
        ("auto a = u + 1;", "u32 (v0 + 1)"),
        ("auto a = i + 1;", "i32 (v1 + 1)"),
        ("auto a = i + u;", "u32 ((u32)v1 + v0)"),
        ("auto a = u * w;", "u64 ((u64)v0 * v2)"),
        ("auto a = x * 2;", "f32 (v3 * 2.0)"),
        ("auto a = x * 2.0;", "f64 ((f64)v3 * 2.0)"),
        ("auto a = b + b;", "i32 ((i32)v5 + (i32)v5)"),
        ("auto a = u < i;", "bool (v0 < (u32)v1)"),
        ("auto a = u && x;", "bool ((v0 != 0) && (v3 != 0.0))"),
        ("auto a = !u;", "bool !(v0 != 0)"),
        ("auto a = ~u;", "u32 (v0 ^ 4294967295)"),
        ("auto a = w << u;", "u64 (v2 << (u64)v0)"),
        ("auto a = b ? u : 1;", "u32 (v5 ? v0 : 1)"),
        ("auto a = PTO_MIN(u, 7);", "u32 (v0 min 7)"),
        ("float a = y;", "f32 (f32)v4"),
        ("uint64_t a = u;", "u64 (u64)v0"),
        ("auto a = (uint64_t)u * u;", "u64 ((u64)v0 * (u64)v0)"),
        ("auto a = sqrt(u);", "f64 sqrt((f64)v0)"),
        ("auto a = sqrt(x);", "f32 sqrt(v3)"),
        ("auto a = PTO_SQRT(u);", "f32 sqrt((f32)v0)"),
        ("auto a = 3000000000 + u;", "i64 (3000000000 + (i64)v0)"),
        ("auto a = 3000000000u + u;", "u32 (3000000000 + v0)"),
        ("auto a = -x;", "f32 -v3"),
    ];
    for (body, expected) in cases {
        assert_eq!(lets(params, body), [expected], "{body}");
    }
}

#[test]
fn constants_are_folded() {
    let cases = [
        ("uint32_t a = 2 + 3 * 4;", "u32 14"),
        ("auto a = 7 / 2;", "i32 3"),
        ("auto a = PTO_CEIL_DIV(7, 2);", "i32 4"),
        ("auto a = 1.0f / 3;", "f32 0.3333333432674408"),
        ("auto a = -INFINITY;", "f32 -inf"),
        ("auto a = 1 < 2;", "bool true"),
        ("auto a = 1 < 2 ? 5 : 6;", "i32 5"),
        ("auto a = sizeof(uint32_t);", "u64 4"),
        ("auto a = UINT32_MAX;", "u32 4294967295"),
        ("uint32_t a = 1.9;", "u32 1"),
        ("auto a = 0xFFu & ~0u;", "u32 255"),
    ];
    for (body, expected) in cases {
        assert_eq!(lets("", body), [expected], "{body}");
    }
}

#[test]
fn assignments_convert_to_the_type_of_the_variable() {
    assert_eq!(
        lets("uint64_t w", "uint32_t a = 1; a = w; a += 2; a *= w;"),
        ["u32 1", "= (u32)v0", "= (v1 + 2)", "= (u32)((u64)v1 * v0)"]
    );
    assert_eq!(lets("", "uint32_t a = 1; ++a; a--;"), ["u32 1", "= (v0 + 1)", "= (v0 - 1)"]);
}

fn only_loop(params: &str, body: &str) -> StmtKind {
    let module = compile(&format!("uint32_t f({params}) {{ {body} return 0; }}"));
    let found = function(&module, "f")
        .body
        .iter()
        .find(|s| matches!(s.kind, StmtKind::For { .. } | StmtKind::While { .. }));
    found.expect("there is a loop").kind.clone()
}

#[test]
fn counted_loops_are_recognised() {
    for body in [
        "for (uint32_t i = 0; i < n; ++i) { s += i; }",
        "for (uint32_t i = 0; i < n; i++) s += i;",
        "for (uint32_t i = s; i < n * 2; i += k) { if (i == 3) continue; }",
        "for (int i = 0; i < n; ++i) { }",
        "for (auto i = 0; i < 10; ++i) { break; }",
        "for (uint32_t i = 0; i < a[0]; ++i) { s += 1; }",
    ] {
        let found =
            only_loop("uint32_t n, uint32_t k, const uint32_t* a", &format!("uint32_t s = 0; {body}"));
        assert!(matches!(found, StmtKind::For { .. }), "{body}");
    }
}

/// Loops whose variable has a sign, compared with a number without one: a start that is not certainly 0 or more is converted on the way.
#[test]
fn counted_loops_compare_as_c_does() {
    let params = "uint32_t n, uint32_t k, int32_t s, uint64_t w, int64_t t";
    let start = |body: &str| match only_loop(params, body) {
        StmtKind::For { start, .. } => Some(text(&start)),
        _ => None,
    };
    for (body, expected) in [
        ("for (int q = 0; q < n; ++q) { }", "0"),
        ("for (int q = k; q < n; q += k) { }", "(i32)v1"),
        ("for (int q = s; q < n; ++q) { }", "(i32)(u32)v2"),
        ("for (int q = s; q < 5u; ++q) { break; }", "(i32)(u32)v2"),
        ("for (int q = s; q < 5ull; ++q) { }", "(i32)(u64)v2"),
        ("for (int64_t q = t; q < w; ++q) { }", "(i64)(u64)v4"),
        ("for (int64_t q = t; q < n; ++q) { break; }", "v4"),
        ("for (int q = -1; q < s; ++q) { break; }", "-1"),
        ("for (int q = -1; q < 5; ++q) { }", "-1"),
    ] {
        assert_eq!(start(body).as_deref(), Some(expected), "{body}");
    }
    for body in [
        // `n` may be beyond what `q` holds, and the loop left before.
        "for (int q = 0; q < n; ++q) { if (q == 3) break; }",
        "for (int q = 0; q < n; ++q) { if (q == 3) return 1; }",
        "for (int q = s; q < 5; q += k) { }",
        "for (int q = 0; q < t; ++q) { }",
    ] {
        assert_eq!(start(body), None, "{body}");
    }
}

#[test]
fn loops_that_change_what_they_count_with_stay_general() {
    for body in [
        "for (uint32_t i = 0; i < n; ++i) { n -= 1; }",
        "for (uint32_t i = 0; i < n; ++i) { i += 1; }",
        "for (uint32_t i = 0; i < n; i += k) { k = k * 2; }",
        "for (uint32_t i = 0; i <= n; ++i) { }",
        "for (uint32_t i = n; i > 0; --i) { }",
        "for (uint32_t i = 0; i < w; ++i) { break; }",
        "for (float i = 0; i < 1.0f; i += 0.5f) { }",
        "for (;;) { break; }",
        "while (n > 0) { n -= 1; }",
    ] {
        let found = only_loop("uint32_t n, uint32_t k, uint64_t w", body);
        assert!(matches!(found, StmtKind::While { .. }), "{body}");
    }
}

#[test]
fn the_step_of_a_general_loop_runs_after_continue() {
    let found = only_loop("uint32_t n", "for (uint32_t i = 0; i <= n; i += 2) { continue; }");
    let StmtKind::While { step, body, .. } = found else { panic!("a general loop") };
    assert!(matches!(step[..], [Stmt { kind: StmtKind::Assign { .. }, .. }]));
    assert!(matches!(body[..], [Stmt { kind: StmtKind::Continue, .. }]));
}

#[test]
fn for_each_evaluates_its_bound_once() {
    let module = compile("uint32_t f(uint32_t n) { PTO_FOR_EACH(i, 0, n) { n = 0; } return n; }");
    let body = &function(&module, "f").body;
    let StmtKind::Let { local: fixed, .. } = body[0].kind else { panic!("the bound is kept") };
    let StmtKind::For { end, .. } = &body[1].kind else { panic!("a counted loop") };
    assert_eq!(end.kind, ExprKind::Local(fixed));
}

#[test]
fn do_while_runs_once_before_it_tests() {
    let module = compile("uint32_t f(uint32_t n) { do { n += 1; } while (n < 10); return n; }");
    let body = &function(&module, "f").body;
    let StmtKind::While { cond, step, .. } = &body[1].kind else { panic!("a loop") };
    assert!(matches!(cond.kind, ExprKind::Binary(BinOp::Or, ..)));
    assert_eq!(step.len(), 1);
}

#[test]
fn names_are_visible_before_their_definition() {
    let module = compile(
        "PTO_KERNEL_IMPL(k) { auto d = PTO_GET_DESCRIPTOR<D>(); VecTile<float, N, 4> a; TASSIGN(a, scale()); }
         float scale() { return two * 1.0f; }
         const uint32_t N = M + 1; const uint32_t M = 3; const uint32_t two = 2;
         struct D { uint32_t x; };",
    );
    let LocalTy::Tile(ty) = &function(&module, "k").locals[1].ty else { panic!("a tile") };
    assert_eq!(ty.rows.as_const_int(), Some(4));
    assert!(module.params.is_empty(), "constants of literals are literals");
}

#[test]
fn parameters_depend_on_earlier_ones_only() {
    let module = compile(
        "PTO_PARAM(uint32_t, a, b * 2) const uint32_t b = c + n; PTO_PARAM(uint32_t, c, 3) PTO_SHAPE(q, n, a)",
    );
    let names: Vec<&str> = module.params.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["n", "c", "b", "a"]);
    for (at, param) in module.params.iter().enumerate() {
        let value = match &param.source {
            ParamSource::Set { default } => default,
            ParamSource::Derived(e) => e,
            ParamSource::Shape { .. } | ParamSource::Entry => continue,
        };
        assert!(
            !value.any(&mut |e| matches!(e.kind, ExprKind::Param(p) if p.index() >= at)),
            "{}",
            param.name
        );
    }
}

#[test]
fn the_first_mention_of_an_extent_defines_it() {
    let module = compile("PTO_SHAPE(q, n, d) PTO_SHAPE(o, n, 2 * d, 7)");
    let sources: Vec<&ParamSource> = module.params.iter().map(|p| &p.source).collect();
    assert!(matches!(sources[..], [ParamSource::Shape { dim: 0, .. }, ParamSource::Shape { dim: 1, .. }]));
    let dims: Vec<String> = module.tensors[1]
        .dims
        .iter()
        .map(|d| match d {
            Dim::Expr(e) => text(e),
            other => format!("{other:?}"),
        })
        .collect();
    assert_eq!(dims, ["p0", "(2 * p1)", "7"]);
}

#[test]
fn a_cache_is_two_tensors() {
    let module = compile(
        "PTO_SHAPE(store, n, PTO_DYNAMIC, h, d) PTO_KERNEL_IMPL(k) { VecTile<PTO_DTYPE(store.v), 4, 8> a; TLOAD(a, store.k, {0, 2, 1}, 3); }",
    );
    assert_eq!(module.caches[0].name, "store");
    let names: Vec<(&str, &Storage)> = module.tensors.iter().map(|t| (t.name.as_str(), &t.storage)).collect();
    let cache = wsp_core::CacheId(0);
    assert_eq!(names, [("store.k", &Storage::CacheKeys(cache)), ("store.v", &Storage::CacheValues(cache))]);
    let kernel = function(&module, "k");
    assert_eq!(kernel.kind, FuncKind::Kernel { descriptor: None });
    assert_eq!(kernel.params, 0);
    let StmtKind::Tile(TileOp::Load { tensor, at, rows, .. }) = &kernel.body[1].kind else {
        panic!("a load")
    };
    assert_eq!((*tensor, at.row_dim, at.col_dim), (TensorId(0), Some(1), Some(3)));
    assert_eq!(at.index.iter().map(text).collect::<Vec<_>>(), ["0", "2", "1", "0"]);
    assert_eq!(rows.as_ref().map(text).as_deref(), Some("3"));
}

#[test]
fn inline_functions_become_part_of_their_caller() {
    let module = compile(
        "struct D { uint32_t x; };
         template <uint32_t N> void fill(const D& d, VecTile<float, N, 4>& t, uint32_t n, uint32_t& count) {
             n += d.x; count += n; TASSIGN(t, 1);
         }
         PTO_KERNEL_IMPL(k) {
             auto desc = PTO_GET_DESCRIPTOR<D>(); VecTile<float, 8, 4> a; uint32_t count = 0; fill<8>(desc, a, 3, count);
         }",
    );
    assert_eq!(module.functions.len(), 1);
    let kernel = function(&module, "k");
    let texts: Vec<String> = kernel
        .body
        .iter()
        .map(|s| match &s.kind {
            StmtKind::Let { local, init: Some(e) } => format!("v{} := {}", local.0, text(e)),
            StmtKind::Let { local, init: None } => format!("tile v{}", local.0),
            StmtKind::Assign { local, value } => format!("v{} = {}", local.0, text(value)),
            StmtKind::Tile(TileOp::Fill { dst, value, rows: None, cols: None }) => {
                format!("fill v{} {}", dst.0, text(value))
            }
            other => format!("{other:?}"),
        })
        .collect();
    assert_eq!(texts, ["tile v1", "v2 := 0", "v3 := 3", "v3 = (v3 + v0.0)", "v2 = (v2 + v3)", "fill v1 1.0"]);
}

#[test]
fn templates_with_a_result_have_one_function_per_argument() {
    let module = compile(
        "template <uint32_t N> uint32_t times(uint32_t x) { return x * N; }
         uint32_t f() { return times<2>(1) + times<3>(1) + times<2>(4); }",
    );
    let names: Vec<&str> = module.functions.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["f", "times<2>", "times<3>"]);
    assert_eq!(function(&module, "times<3>").ret, Some(ScalarTy::U32));
}

#[test]
fn generators_set_tiles_and_extents() {
    let module = compile(
        "PTO_SHAPE(lens, n) PTO_SPACE(S) { PTO_AXIS(b, 0, n) PTO_AXIS(c, 0, PTO_DYNAMIC) PTO_TILE(c, PTO_AUTO) PTO_WHERE(c <= b) }
         PTO_DESCRIPTOR_GEN(S) {
             PTO_SET_TILE(c, 4); PTO_SET_EXTENT(c, lens); PTO_SET_EXTENT(c, 7); uint32_t e = PTO_GET_DIM(b) + PTO_GET_TILE(c);
             uint64_t total = std::accumulate(lens, lens + n, 0);
         }",
    );
    let body = &module.functions[0].body;
    assert!(
        matches!(&body[0].kind, StmtKind::SetTile { axis: AxisId(1), size } if size.as_const_int() == Some(4))
    );
    assert!(matches!(&body[1].kind, StmtKind::SetExtent { extent: ExtentSource::PerOuter(_), .. }));
    assert!(matches!(&body[2].kind, StmtKind::SetExtent { extent: ExtentSource::Scalar(_), .. }));
    assert_eq!(text(&module.spaces[0].constraints[0]), "(v1 <= v0)");
    assert_eq!(module.spaces[0].generator, Some(FuncId(0)));
    assert_eq!(module.tensors[0].elem, Elem::Fixed(DType::U32), "a library's array of integers");
}

#[test]
fn array_fields_are_words_of_the_descriptor() {
    let module = compile(
        "struct D { uint32_t x; uint32_t g[3]; }; PTO_SPACE(S) { PTO_AXIS(a, 0, 4) }
         PTO_DESCRIPTOR_GEN(S) { PTO_EMIT_DESCRIPTOR({.x = 1, .g = {2, 3, 4}}); PTO_EMIT_DESCRIPTOR(D{.g[0] = 5, .g[1] = 6, .g[2] = 7, .x = 8}); }
         PTO_KERNEL_IMPL(k) { auto d = PTO_GET_DESCRIPTOR<D>(); uint32_t y = d.g[2]; }",
    );
    let emits: Vec<Vec<String>> = module.functions[0]
        .body
        .iter()
        .filter_map(|s| match &s.kind {
            StmtKind::Emit { fields, .. } => Some(fields.iter().map(text).collect()),
            _ => None,
        })
        .collect();
    assert_eq!(emits, [["1", "2", "3", "4"], ["8", "5", "6", "7"]]);
    let StmtKind::Let { init: Some(e), .. } = &function(&module, "k").body[0].kind else {
        panic!("a variable")
    };
    assert_eq!(e.kind, ExprKind::Field(LocalId(0), 3));
    assert_eq!(module.structs[0].consumer, Consumer::Kernel(FuncId(1)));
}

#[test]
fn scalars_of_the_entry_are_parameters() {
    let module = compile(
        "PTO_SHAPE(q, n, 4) PTO_SHAPE(ids, n) PTO_SPACE(S) { PTO_AXIS(a, 0, steps) } PTO_DESCRIPTOR_GEN(S) { uint32_t x = ids[0]; }
         void run(Tensor<bfloat16_t> query, const int32_t* list, uint32_t count, float s) {
             PTO_LAUNCH(S, { .q = query, .ids = list, .steps = count, .scale = s });
         }",
    );
    let entry = module.entry.as_ref().expect("there is an entry");
    assert_eq!(entry.launch.target, LaunchTarget::Space(wsp_core::SpaceId(0)));
    assert_eq!(entry.params[1].ty, EntryTy::Array(ScalarTy::I32));
    assert_eq!(entry.launch.bindings.len(), 4);
    assert_eq!(module.tensors[0].elem, Elem::Fixed(DType::Bf16));
    let sources: Vec<(&str, bool)> =
        module.params.iter().map(|p| (p.name.as_str(), p.source == ParamSource::Entry)).collect();
    assert_eq!(sources, [("steps", true), ("scale", true), ("n", false)]);
}

#[test]
fn workspace_keys_hold_every_loop_that_the_call_omits() {
    let prelude = "PTO_SPACE(S) { PTO_AXIS(a, 0, 4) PTO_AXIS(b, 0, 4) } PTO_TIER_DEF(T) { PTO_DEFAULT(k) } PTO_KERNEL_IMPL(k) { }";
    let generator = "PTO_DESCRIPTOR_GEN(S) { PTO_FOR_EACH(i, 0, 2) { for (int j = 3; j > 0; --j) { uint32_t w = PTO_ALLOC_WORKSPACE(0, i); } } }";
    let module = compile(&format!("{prelude} {generator}"));
    let StmtKind::For { body, .. } = &module.functions.last().expect("the generator").body[0].kind else {
        panic!("a loop")
    };
    let StmtKind::While { body, .. } = &body[1].kind else { panic!("a loop") };
    let StmtKind::Let { init: Some(e), .. } = &body[0].kind else { panic!("a variable") };
    let ExprKind::AllocWs(slot) = &e.kind else { panic!("a reservation") };
    assert_eq!(slot.key.iter().map(text).collect::<Vec<_>>(), ["v0", "(u32)((i64)v1 + 2147483648)"]);
    assert_eq!((text(&slot.count), text(&slot.index)), ("1".to_owned(), "0".to_owned()));
}

#[test]
fn a_search_of_ones_own_replaces_the_built_in_one() {
    let own = "uint32_t BinarySearchChunkSize(const uint32_t* l, uint32_t n) { return n; }";
    let call = "PTO_SHAPE(l, n) PTO_SPACE(S) { PTO_AXIS(a, 0, n) PTO_AXIS(h, 0, 3) PTO_AXIS(g, 0, 5) }";
    let module = compile(&format!(
        "{own} {call} PTO_DESCRIPTOR_GEN(S) {{ uint32_t c = BinarySearchChunkSize(l, n); }}"
    ));
    assert_eq!(module.functions.len(), 2);
    let module =
        compile(&format!("{call} PTO_DESCRIPTOR_GEN(S) {{ uint32_t c = BinarySearchChunkSize(l, n, 72); }}"));
    let StmtKind::Let { init: Some(e), .. } = &module.functions[0].body[0].kind else { panic!("a variable") };
    let ExprKind::Call(_, args) = &e.kind else { panic!("a call") };
    let Arg::Scalar(heads) = &args[2] else { panic!("a number") };
    assert!(matches!(heads.kind, ExprKind::Binary(BinOp::Mul, ..)), "3 heads of 5 groups");
}

const EXAMPLE: &str = include_str!("../../../../examples/decode_attention.pto");

#[test]
fn the_decode_example_says_what_its_source_says() {
    let module = compile(EXAMPLE);
    let params: Vec<&str> = module.params.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(
        params,
        [
            "batch_size",
            "num_qo_heads",
            "HEAD_DIM",
            "num_kv_heads",
            "GQA_RATIO",
            "sm_scale",
            "chunk",
            "PTO_SLOT_BYTES"
        ]
    );
    assert!(matches!(module.structs[0].consumer, Consumer::Tiers { field: 0, .. }));
    let merge = module.function_named("merge_partial_outputs").expect("it is there");
    assert_eq!(module.structs[1].consumer, Consumer::Kernel(merge));
    assert_eq!(module.structs.iter().map(|s| s.fields.len()).collect::<Vec<_>>(), [8, 4]);
    let selector = module.tier_sets[0].selector.as_deref();
    assert_eq!((selector, module.tier_sets[0].tiers.len()), (Some("kv_len"), 4));
    let entry = module.entry.as_ref().expect("there is an entry");
    assert_eq!((entry.name.as_str(), entry.launch.bindings.len()), ("decode_attention_launch", 5));
    let roles: Vec<&str> = module.references[0].roles.iter().map(|(role, _)| role.as_str()).collect();
    assert_eq!(roles, ["q", "kv", "output", "lse", "sm_scale"]);
    assert_eq!(
        module.tensors[module.tensor_named("partial_o").expect("declared").index()].storage,
        Storage::Workspace
    );
}

#[test]
fn requirements_are_conditions_over_parameters() {
    let module = compile(
        "PTO_PARAM(uint32_t, heads, 8) PTO_PARAM(uint32_t, groups, 2) PTO_REQUIRE(heads % groups == 0)",
    );
    assert_eq!(module.requirements.len(), 1);
    assert_eq!(text(&module.requirements[0].cond), "Eq(Rem(p0, p1), 0)");
}

#[test]
fn the_other_examples_compile() {
    compile(include_str!("../../../../examples/decode_graph.pto"));
    compile(include_str!("../../../../examples/row_softmax.pto"));
}

#[test]
fn inline_functions_take_template_arguments_that_are_known_at_launch() {
    let module = compile(
        "PTO_SHAPE(x, rows, DIM)
         const uint32_t TWICE = 2 * DIM;
         struct D { uint32_t first; };
         template <uint32_t N, uint32_t K>
         void fill(VecTile<float, N, K>& t) { VecTile<float, N, 1> m; TASSIGN(t, (float)N); TROWMAX(m, t); }
         template <uint32_t N>
         void outer(VecTile<float, 4, N>& t) { fill<4, N>(t); }
         PTO_KERNEL_IMPL(k) {
             auto d = PTO_GET_DESCRIPTOR<D>();
             VecTile<float, 4, TWICE> wide;
             VecTile<float, DIM, 8> high;
             outer<TWICE>(wide);
             fill<DIM, 8>(high);
         }",
    );
    let k = function(&module, "k");
    let columns: Vec<&Expr> = (k.locals.iter())
        .filter_map(|local| match &local.ty {
            LocalTy::Tile(ty) if local.name == "m" => Some(&ty.rows),
            _ => None,
        })
        .collect();
    let dim = module.params.iter().position(|p| p.name == "DIM").expect("a parameter");
    assert_eq!(columns[0].as_const_int(), Some(4));
    assert!(matches!(columns[1].kind, ExprKind::Param(id) if id.index() == dim), "{columns:?}");
}
