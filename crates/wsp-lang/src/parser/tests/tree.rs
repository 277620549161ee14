//! What is well-formed gives the right tree.

use super::*;
use wsp_diag::Span;

#[test]
fn operators_bind_as_in_c() {
    assert_eq!(expr("a + b * c - d"), "(- (+ a (* b c)) d)");
    assert_eq!(
        expr("a || b && c | d ^ e & f == g < h << i + j * k"),
        "(|| a (&& b (| c (^ d (& e (== f (< g (<< h (+ i (* j k))))))))))"
    );
    assert_eq!(expr("a - b - c"), "(- (- a b) c)");
    assert_eq!(expr("a % b / c * d"), "(* (/ (% a b) c) d)");
    assert_eq!(expr("a < b == c >= d"), "(== (< a b) (>= c d))");
    assert_eq!(expr("a >> 1 << 2"), "(<< (>> a 1) 2)");
    assert_eq!(expr("(a + b) * c"), "(* (+ a b) c)");
}

#[test]
fn conditional_expressions_nest_to_the_right() {
    assert_eq!(expr("a ? b : c ? d : e"), "(? a b (? c d e))");
    assert_eq!(expr("a || b ? c ? 1 : 2 : d + 1"), "(? (|| a b) (? c 1 2) (+ d 1))");
}

#[test]
fn prefix_operators_bind_tighter_than_binary_and_looser_than_postfix() {
    assert_eq!(expr("-a * !b[1].c"), "(* (Neg a) (Not b[1].c))");
    assert_eq!(expr("- - ~ + x"), "(Neg (Neg (BitNot (Plus x))))");
    assert_eq!(expr("*std::max_element(p, p + n) + 1"), "(+ (Deref std::max_element(p, (+ p n))) 1)");
}

#[test]
fn casts_have_three_spellings() {
    assert_eq!(expr("(uint64_t)a * b"), "(* (as uint64_t a) b)");
    assert_eq!(expr("(float)-x"), "(as float (Neg x))");
    assert_eq!(expr("static_cast<float>(a + 1) / 2"), "(/ (as float (+ a 1)) 2)");
    assert_eq!(expr("float(a) + (float(b))"), "(+ (as float a) (as float b))");
    assert_eq!(
        expr("(std::uint32_t)a + unsigned(b) + (long long)c"),
        "(+ (+ (as uint32_t a) (as uint32_t b)) (as int64_t c))"
    );
    assert_eq!(expr("(a) - b"), "(- a b)");
}

#[test]
fn literals_keep_value_and_suffix() {
    assert_eq!(expr("1u + 0x10 + 2ull + 1.5f + 2.0 + true"), "(+ (+ (+ (+ (+ 1u 16) 2ul) 1.5f) 2.0) true)");
}

#[test]
fn calls_take_template_arguments_and_lists() {
    assert_eq!(stmt("f<64>(d);"), "f<64>(d);");
    assert_eq!(stmt("f<N * 2, (a > b)>(d);"), "f<(* N 2), (> a b)>(d);");
    assert_eq!(stmt("g<64>(d);"), "g<64>(d);");
    assert_eq!(expr("f(a < b, c > (d))"), "f((< a b), (> c d))");
    assert_eq!(stmt("auto d = PTO_GET_DESCRIPTOR<D>();"), "let auto: d = PTO_GET_DESCRIPTOR<D>();");
    assert_eq!(stmt("auto d = PTO_GET_DESCRIPTOR();"), "let auto: d = PTO_GET_DESCRIPTOR();");
    assert_eq!(
        stmt("TLOAD(t, q, {d.b, PTO_ROWS(h * G), 0}, n);"),
        "TLOAD(t, q, {d.b, PTO_ROWS((* h G)), 0}, n);"
    );
    assert_eq!(stmt("TSTORE(md, {m, d}, {});"), "TSTORE(md, {m, d}, {});");
    assert_eq!(
        expr("sizeof(DecodeDescriptor) + sizeof(float)"),
        "(+ sizeof(DecodeDescriptor) sizeof(float))"
    );
}

#[test]
fn descriptors_have_named_fields() {
    assert_eq!(
        stmt("PTO_EMIT_DESCRIPTOR(D{ .a = 1, .b[2] = x + 1, .c = {1, 2}, });"),
        "PTO_EMIT_DESCRIPTOR(D{.a = 1, .b[2] = (+ x 1), .c = {1, 2}});"
    );
    assert_eq!(stmt("PTO_EMIT_DESCRIPTOR({.a = 1});"), "PTO_EMIT_DESCRIPTOR({.a = 1});");
    assert_eq!(stmt("PTO_EMIT_DESCRIPTOR(D{});"), "PTO_EMIT_DESCRIPTOR(D{});");
    assert_eq!(stmt("PTO_LAUNCH(S, {});"), "PTO_LAUNCH(S, {});");
}

#[test]
fn declarations_are_told_from_expressions() {
    assert_eq!(stmt("uint32_t a = 1, b;"), "let uint32_t: a = 1, b;");
    assert_eq!(stmt("const uint32_t* p = g(x);"), "let const uint32_t*: p = g(x);");
    assert_eq!(stmt("uint32_t const n = 1;"), "let const uint32_t: n = 1;");
    assert_eq!(
        stmt("VecTile<PTO_DTYPE(kv.k), 1, H / 2> t;"),
        "let VecTile<type dtype(kv.k), 1, (/ H 2)>: t;"
    );
    assert_eq!(stmt("Mine<float, 2> t;"), "let Mine<type float, 2>: t;");
    assert_eq!(
        stmt("VecTile<float, (N >> 1), (a > b ? 1 : 2)> t;"),
        "let VecTile<type float, (>> N 1), (? (> a b) 1 2)>: t;"
    );
    assert_eq!(stmt("Tensor<VecTile<float, 1, 2>> t;"), "let Tensor<type VecTile<type float, 1, 2>>: t;");
    assert_eq!(stmt("D d = x; D& e = x;"), "let D: d = x; let D&: e = x;");
    assert_eq!(stmt("unsigned long long n = 1; unsigned m;"), "let uint64_t: n = 1; let uint32_t: m;");
    assert_eq!(stmt("a * b + c; f(x);"), "(+ (* a b) c); f(x);");
}

#[test]
fn assignments_and_steps_are_statements() {
    assert_eq!(stmt("a = 1; b.c += 2; d[0] <<= 3; e %= 4;"), "a = 1; b.c += 2; d[0] <<= 3; e %= 4;");
    assert_eq!(stmt("++a; b--; a++; --b;"), "a += 1; b -= 1; a += 1; b -= 1;");
}

#[test]
fn control_flow_takes_blocks_and_single_statements() {
    assert_eq!(stmt("if (a) b(); else if (c) { d(); } else e();"), "if a b(); else if c { d(); } else e();");
    assert_eq!(stmt("if (a) if (b) c(); else d();"), "if a if b c(); else d();");
    assert_eq!(
        stmt("for (uint32_t i = 0, j = 1; i < n; ++i, j += 2) { break; }"),
        "for let uint32_t: i = 0, j = 1; (< i n); i += 1; j += 2; { break; }"
    );
    assert_eq!(stmt("for (;;) continue;"), "for ; ;  continue;");
    assert_eq!(stmt("for (i = 0; ; ) ;"), "for i = 0; ;  ;");
    assert_eq!(
        stmt("while (a < b) { a += 1; } do { } while (x);"),
        "while (< a b) { a += 1; } do {  } while x;"
    );
    assert_eq!(stmt("PTO_FOR_EACH(i, 0, n) { f(i); }"), "each i 0..n { f(i); }");
    assert_eq!(stmt("PTO_SCHEDULED_FOR(b, c, h) { continue; }"), "scheduled b,c,h { continue; }");
    assert_eq!(stmt("return; return a + 1; ; { ; }"), "return ; return (+ a 1); ; { ; }");
}

#[test]
fn every_item_kind_is_understood() {
    let text = "
#include <x>
PTO_SHAPE(q, b, PTO_DYNAMIC, 4, d / 2)
PTO_PARAM(float, s, 1.0f / sqrt(d));
const uint32_t A = 1, B = A + 1;
constexpr float C = 2.0f;
static const uint32_t E = 3;
PTO_TENSOR(t, half, b, chunk)
PTO_WORKSPACE(w, PTO_DTYPE(q), b, 1,)
PTO_SPACE(S) { PTO_AXIS(x, 0, b) PTO_AXIS(y, 1, PTO_DYNAMIC); PTO_TILE(y, PTO_AUTO) PTO_TILE(x, 4, PTO_PAD_LAST) PTO_WHERE(x <= y) }
PTO_TIER_DEF(T) { PTO_TIER(n <= 8, k, 64) PTO_TIER(n <= 9, k) PTO_DEFAULT(k, PTO_SLOT_BYTES) }
PTO_SCHEDULE(P) {
    PTO_AFFINITY(x, PTO_CORE_GROUP) PTO_AFFINITY(y, PTO_SPREAD);
    PTO_ORDER(x, PTO_INTERLEAVED(4)) PTO_ORDER(y, PTO_SEQUENTIAL_STRICT)
    PTO_PREFETCH(x, 1)
}
struct D { uint32_t a, b; uint32_t c[3]; };
PTO_DESCRIPTOR_GEN(S) { }
PTO_KERNEL_IMPL(k) { ; }
PTO_RESIDENT(weights, half, d, 64)
PTO_KERNEL_IMPL(e, Tensor<half> q, const Workspace<float> w) { }
template <uint32_t N, uint32_t M> inline void f(const D& d, VecTile<float, N, 1>& t) { }
inline uint32_t g(const uint32_t* p, uint32_t n) { return n; }
void h(void) { }
PTO_GRAPH(G) { PTO_STAGE(a, S) PTO_STAGE(b, S) PTO_DEPENDENCY(a.kv.k, b.out) }
PTO_REFERENCE(r, { .q = q, .s = s, })
;
";
    let names: Vec<String> = clean(text).items.iter().map(item_name).collect();
    expect![[r#"
        shape:q/4 param:s const:A const:B const:C const:E tensor:t/2 workspace:w/2 space:S/5 tiers:T/3 schedule:P/5 struct:D/3 gen:S/0 kernel:k/1 resident:weights/2 entry:e/2/0 fn:f/0 fn:g/1 fn:h/0 graph:G/2+1 reference:r/2
    "#]]
    .assert_eq(&format!("{}\n", names.join(" ")));
}

#[test]
fn members_keep_their_parts() {
    let tree = clean(
        "PTO_SPACE(S) { PTO_AXIS(x, 1, PTO_DYNAMIC) PTO_TILE(x, 4, PTO_PAD_LAST) }
         PTO_SCHEDULE(P) { PTO_ORDER(x, PTO_BLOCKED(3)) PTO_PREFETCH(x, 2) PTO_PRIORITY(x)
             PTO_PIPELINE_DEPTH(2) PTO_PIPELINE_DEPTH(3, PTO_PER_POOL) PTO_POOLS(4, 1) }
         PTO_GRAPH(G) { PTO_DEPENDENCY(a.kv.k, b.out) }",
    );
    let [Item::Space(space), Item::Schedule(schedule), Item::Graph(graph)] = &tree.items[..] else {
        panic!()
    };
    assert!(matches!(&space.members[0], SpaceMember::Axis(a) if matches!(a.end, Extent::Dynamic(_))));
    assert!(matches!(&space.members[1], SpaceMember::Tile(t) if t.pad_last));
    let said: Vec<String> = schedule.members.iter().map(|member| format!("{:?}", member.said)).collect();
    expect![[r#"
        Axis(Ident { name: "x", span: Span { file: FileId(0), start: 111, end: 112 } }, Order(Blocked(3)))
        Axis(Ident { name: "x", span: Span { file: FileId(0), start: 143, end: 144 } }, Prefetch(2))
        Axis(Ident { name: "x", span: Span { file: FileId(0), start: 162, end: 163 } }, Priority)
        Launch(Gate(Gate { scope: Global, capacity: 2 }))
        Launch(Gate(Gate { scope: PerPool, capacity: 3 }))
        Launch(Pools(ByUnit { vector: 4, cube: 1 }))
    "#]]
    .assert_eq(&format!("{}\n", said.join("\n")));
    assert_eq!(graph.dependencies[0].reader.tensor.as_str(), "kv.k");
}

#[test]
fn spans_cover_what_they_name() {
    let text = "const uint32_t x = (a + b) * f(c);\nPTO_KERNEL_IMPL(k) { y = 1; }";
    let tree = clean(text);
    let at = |span: Span| &text[span.start as usize..span.end as usize];
    let [Item::Const(c), Item::Kernel(k)] = &tree.items[..] else { panic!() };
    assert_eq!(at(c.span), "const uint32_t x = (a + b) * f(c)");
    assert_eq!(at(c.value.span), "(a + b) * f(c)");
    assert_eq!(at(k.span), "PTO_KERNEL_IMPL(k) { y = 1; }");
    assert_eq!(at(k.body.stmts[0].span), "y = 1;");
}

#[test]
fn the_decode_attention_example_parses() {
    let text = include_str!("../../../../../examples/decode_attention.pto");
    let names: Vec<String> = clean(text).items.iter().map(item_name).collect();
    assert_eq!(names.len(), 28, "{names:?}");
}
