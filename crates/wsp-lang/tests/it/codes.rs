//! Every code of names, types and lowering is reported by a small program, at the place that is wrong.

use crate::stack::on_a_plain_stack;
use std::collections::BTreeSet;
use wsp_diag::{SourceMap, render};

/// What most of the programs below need.
const PRELUDE: &str = "
PTO_SHAPE(q, n, heads, 1, dim) PTO_SHAPE(cache, n, PTO_DYNAMIC, heads, dim) PTO_SHAPE(lens, n)
PTO_PARAM(uint32_t, p, 4)
PTO_TENSOR(t, float, 16, 64) PTO_TENSOR(v, float, 16)
struct D { uint32_t tier; uint32_t a; uint32_t b; };
struct E { uint32_t a; uint32_t b; };
PTO_SPACE(S) { PTO_AXIS(x, 0, n) PTO_AXIS(c, 0, PTO_DYNAMIC) PTO_AXIS(h, 0, heads) PTO_TILE(c, PTO_AUTO) }
PTO_SPACE(Z) { PTO_AXIS(z, 0, 4) PTO_TILE(z, 2) }
PTO_SCHEDULE(Sched) { PTO_ORDER(x, PTO_PARALLEL) }
PTO_TIER_DEF(T) { PTO_TIER(len <= 8, k1) PTO_DEFAULT(k2) }
PTO_KERNEL_IMPL(k1) { auto desc = PTO_GET_DESCRIPTOR<D>(); }
PTO_KERNEL_IMPL(k2) { auto desc = PTO_GET_DESCRIPTOR<D>(); }
PTO_KERNEL_IMPL(s1) { }
PTO_KERNEL_IMPL(s2) { }
";

/// The code, a program after [`PRELUDE`], and the text at which the finding points.
const WITH_PRELUDE: &[(u16, &str, &str)] = &[
    (100, "const uint32_t one = 1; const uint32_t one = 2;", "one"),
    (100, "PTO_KERNEL_IMPL(k) { uint32_t one = 1; uint32_t one = 2; }", "one"),
    (101, "const uint32_t TADD = 1;", "TADD"),
    (101, "PTO_PARAM(uint32_t, PTO_THING, 1)", "PTO_THING"),
    (102, "PTO_KERNEL_IMPL(k) { uint32_t y = pp; }", "pp"),
    (102, "PTO_DESCRIPTOR_GEN(S) { uint32_t y = lenz[0]; }", "lenz"),
    (102, "PTO_KERNEL_IMPL(k) { TASSIGN(nothing, 0.0f); }", "nothing"),
    (103, "PTO_KERNEL_IMPL(k) { TAD(1, 2, 3); }", "TAD"),
    (104, "PTO_KERNEL_IMPL(k) { unit32_t y = 1; }", "unit32_t"),
    (104, "PTO_DESCRIPTOR_GEN(S) { PTO_EMIT_DESCRIPTOR(Nope{.a = 1}); }", "Nope"),
    (105, "PTO_KERNEL_IMPL(k) { VecTile<float, 1, 64> a; TLOAD(a, nope, {0}); }", "nope"),
    (106, "PTO_SPACE(A) { PTO_AXIS(a, 0, 4) PTO_TILE(b, 2) }", "b"),
    (106, "PTO_SCHEDULE(A) { PTO_ORDER(nope, PTO_PARALLEL) }", "nope"),
    (107, "PTO_DESCRIPTOR_GEN(Nope) { }", "Nope"),
    (108, "PTO_TIER_DEF(A) { PTO_DEFAULT(nope) }", "nope"),
    (109, "PTO_DESCRIPTOR_GEN(S) { uint32_t t = PTO_SELECT_TIER(TT, 3); }", "TT"),
    (110, "PTO_DESCRIPTOR_GEN(S) { PTO_APPLY_SCHEDULE(Schedd); }", "Schedd"),
    (111, "PTO_GRAPH(G) { PTO_STAGE(one, S) PTO_DEPENDENCY(two.t, one.t) } PTO_DESCRIPTOR_GEN(S) { }", "two"),
    (112, "PTO_KERNEL_IMPL(k) { uint32_t y = q; }", "q"),
    (112, "PTO_DESCRIPTOR_GEN(S) { PTO_APPLY_SCHEDULE(T); }", "T"),
    (120, "const uint32_t aa = bb + 1; const uint32_t bb = aa + 1;", "aa"),
    (121, "PTO_KERNEL_IMPL(k) { uint32_t rows = 3; VecTile<float, rows, 64> a; }", "rows"),
    (
        121,
        "PTO_KERNEL_IMPL(k) { auto desc = PTO_GET_DESCRIPTOR<E>(); VecTile<float, desc.a, 64> a; }",
        "desc.a",
    ),
    (122, "const uint32_t y = 4 / 0;", "0"),
    (122, "const uint32_t y = -1;", "-1"),
    (122, "const int32_t y = 2147483647 + 1;", "2147483647 + 1"),
    (122, "const uint32_t y = 1u << 32;", "1u << 32"),
    (122, "PTO_KERNEL_IMPL(k) { for (int32_t q = -1; q < p; ++q) { } }", "q"),
    (130, "PTO_KERNEL_IMPL(k) { VecTile<float, 1, 64> a; uint32_t y = a; }", "a"),
    (130, "PTO_DESCRIPTOR_GEN(S) { uint32_t y = q[0]; }", "q"),
    (131, "PTO_KERNEL_IMPL(k) { float y = 1.0f; float z = y % 2; }", "y % 2"),
    (132, "PTO_KERNEL_IMPL(k) { p = 3; }", "p"),
    (132, "PTO_KERNEL_IMPL(k) { auto desc = PTO_GET_DESCRIPTOR<E>(); desc.a = 3; }", "desc.a"),
    (132, "PTO_KERNEL_IMPL(k) { const uint32_t y = p; y += 1; }", "y"),
    (132, "PTO_DESCRIPTOR_GEN(S) { PTO_FOR_EACH(i, 0, 4) { i = 2; } }", "i"),
    (133, "PTO_KERNEL_IMPL(k) { VecTile<float, 1, 64> a; TEXP(a); }", "TEXP(a)"),
    (133, "PTO_KERNEL_IMPL(k) { uint32_t y = PTO_MIN(1); }", "PTO_MIN(1)"),
    (134, "PTO_DESCRIPTOR_GEN(S) { TASSIGN(a, 0.0f); }", "TASSIGN"),
    (134, "PTO_KERNEL_IMPL(k) { PTO_SET_TILE(c, 4); }", "PTO_SET_TILE"),
    (134, "PTO_DESCRIPTOR_GEN(S) { uint32_t y = PTO_SET_TILE(c, 4); }", "PTO_SET_TILE"),
    (134, "uint32_t f() { PTO_FOR_EACH(i, 0, 2) { } return PTO_ALLOC_WS(0); }", "PTO_ALLOC_WS"),
    (134, "PTO_DESCRIPTOR_GEN(S) { uint32_t y = PTO_ITEM_END(c); }", "PTO_ITEM_END"),
    (134, "PTO_KERNEL_IMPL(k) { uint32_t y = PTO_ITEM_COUNT(c); }", "PTO_ITEM_COUNT"),
    (135, "PTO_DESCRIPTOR_GEN(S) { auto y = PTO_GET_INPUT_META(cache, length); }", "length"),
    (135, "PTO_KERNEL_IMPL(k) { VecTile<float, 1, 64> a; TLOAD(a, t, 3); }", "3"),
    (136, "PTO_KERNEL_IMPL(k) { half y = 1.0f; }", "half"),
    (136, "PTO_TENSOR(u, void, 4)", "void"),
    (136, "PTO_DESCRIPTOR_GEN(S) { VecTile<float, 1, 1> a; }", "VecTile<float, 1, 1>"),
    (140, "uint32_t f(uint32_t i) { return g(i); } uint32_t g(uint32_t i) { return f(i); }", "f"),
    (140, "void f() { f(); }", "f"),
    (141, "uint32_t f(uint32_t i) { if (i > 2) { return 1; } }", "f"),
    (141, "PTO_KERNEL_IMPL(k) { return 3; }", "3"),
    (141, "void f() { return; } PTO_KERNEL_IMPL(k) { f(); }", "return;"),
    (142, "uint32_t f(VecTile<float, 1, 64>& a) { return 1; }", "VecTile<float, 1, 64>& a"),
    (
        142,
        "void f(VecTile<float, 1, 64> a) { } PTO_KERNEL_IMPL(k) { VecTile<float, 1, 64> b; f(b); }",
        "VecTile<float, 1, 64> a",
    ),
    (143, "template <uint32_t N> void f() { } PTO_KERNEL_IMPL(k) { f(); }", "f"),
    (
        143,
        "template <uint32_t N> uint32_t f() { return N; } PTO_KERNEL_IMPL(k) { uint32_t y = f<p>(); }",
        "p",
    ),
    (144, "PTO_KERNEL_IMPL(k) { break; }", "break;"),
    (144, "void f() { continue; } PTO_KERNEL_IMPL(k) { while (true) { f(); } }", "continue;"),
    (152, "PTO_TENSOR(u, float, 1, 1, 1, 1, 1, 1, 1)", "PTO_TENSOR(u, float, 1, 1, 1, 1, 1, 1, 1)"),
    (152, "PTO_WORKSPACE(u, float, 1, 1, 1, 1, 1, 1)", "PTO_WORKSPACE(u, float, 1, 1, 1, 1, 1, 1)"),
    (154, "PTO_TENSOR(u, float, 0)", "0"),
    (160, "PTO_SPACE(A) { PTO_AXIS(a, 0, 4) PTO_AXIS(a, 0, 5) }", "a"),
    (161, "PTO_SPACE(A) { PTO_AXIS(a, 0, 4) PTO_TILE(a, 2) PTO_TILE(a, 4) }", "PTO_TILE(a, 4)"),
    (162, "PTO_SPACE(A) { PTO_AXIS(a, 0, 4) PTO_TILE(a, 2 - 2) }", "2 - 2"),
    (162, "PTO_SCHEDULE(A) { PTO_SPLIT(c, PTO_FIXED(2 - 2)) }", "2 - 2"),
    (121, "PTO_SCHEDULE(A) { PTO_SPLIT(c, PTO_FIXED(lens[0])) }", "lens[0]"),
    (163, "PTO_SPACE(A) { PTO_AXIS(a, 5, 4) }", "4"),
    (164, "PTO_SPACE(A) { }", "A"),
    (165, "PTO_DESCRIPTOR_GEN(S) { } PTO_DESCRIPTOR_GEN(S) { }", "S"),
    (170, "PTO_TIER_DEF(A) { PTO_TIER(y <= 8, s1) }", "A"),
    (171, "PTO_TIER_DEF(A) { PTO_DEFAULT(s1) PTO_TIER(y <= 8, s2) }", "PTO_DEFAULT(s1)"),
    (
        172,
        "PTO_TIER_DEF(A) { PTO_TIER(y <= 8, s1) PTO_TIER(y < 9, s2) PTO_DEFAULT(s2) }",
        "PTO_TIER(y < 9, s2)",
    ),
    (173, "PTO_TIER_DEF(A) { PTO_TIER(y <= w, s1) PTO_DEFAULT(s2) }", "w"),
    (
        174,
        "PTO_TIER_DEF(A) { PTO_DEFAULT(s1) } PTO_DESCRIPTOR_GEN(S) { uint32_t o = PTO_ALLOC_WS(p, 1); }",
        "p",
    ),
    (
        176,
        "PTO_DESCRIPTOR_GEN(S) { uint32_t l = 0; while (l < 2) { uint32_t o = PTO_ALLOC_WS(0u, p); l = l + o; } }",
        "PTO_ALLOC_WS(0u, p)",
    ),
    (
        177,
        "PTO_DESCRIPTOR_GEN(S) { for (float l = 0.0f; l < 2.0f; l += 0.5f) { uint32_t o = PTO_ALLOC_WS(0u, p); } }",
        "PTO_ALLOC_WS(0u, p)",
    ),
    (
        180,
        "PTO_SCHEDULE(A) { PTO_ORDER(x, PTO_PARALLEL) PTO_ORDER(x, PTO_SEQUENTIAL) }",
        "PTO_ORDER(x, PTO_SEQUENTIAL)",
    ),
    (
        180,
        "PTO_SCHEDULE(A) { PTO_SPLIT(c, PTO_WHOLE) PTO_SPLIT(c, PTO_BALANCED) }",
        "PTO_SPLIT(c, PTO_BALANCED)",
    ),
    (
        182,
        "PTO_SCHEDULE(A) { PTO_LAYOUT(t, PTO_SHARD(x), PTO_REPLICATE) }",
        "PTO_LAYOUT(t, PTO_SHARD(x), PTO_REPLICATE)",
    ),
    (182, "PTO_SCHEDULE(A) { PTO_SPATIAL_MAP(4, 2) PTO_LAYOUT(tt, PTO_REPLICATE) }", "tt"),
    (
        182,
        "PTO_SCHEDULE(A) { PTO_SPATIAL_MAP(4, 2) PTO_LAYOUT(t, PTO_SHARD(x)) }",
        "PTO_LAYOUT(t, PTO_SHARD(x))",
    ),
    (
        182,
        "PTO_SCHEDULE(A) { PTO_SPATIAL_MAP(4, 2) PTO_RELAYOUT(t, PTO_SHARD(y), PTO_SHARD(y)) }",
        "PTO_RELAYOUT(t, PTO_SHARD(y), PTO_SHARD(y))",
    ),
    (180, "PTO_SCHEDULE(A) { PTO_SPATIAL_MAP(4, 2) PTO_SPATIAL_MAP(2, 4) }", "PTO_SPATIAL_MAP(2, 4)"),
    (
        181,
        "PTO_SCHEDULE(A) { PTO_SPLIT(z, PTO_WHOLE) } PTO_DESCRIPTOR_GEN(S) { PTO_APPLY_SCHEDULE(A); }",
        "PTO_SPLIT(z, PTO_WHOLE)",
    ),
    (
        181,
        "PTO_SCHEDULE(A) { PTO_ORDER(z, PTO_PARALLEL) } PTO_DESCRIPTOR_GEN(S) { PTO_APPLY_SCHEDULE(A); }",
        "PTO_ORDER(z, PTO_PARALLEL)",
    ),
    (190, "struct A { float* f; };", "float* f"),
    (190, "struct A { uint64_t f; };", "uint64_t f"),
    (191, "struct A { uint32_t f; uint32_t f; };", "f"),
    (191, "PTO_DESCRIPTOR_GEN(S) { PTO_EMIT_DESCRIPTOR(D{.tier = 0, .a = 1, .b = 2, .a = 3}); }", "a"),
    (192, "PTO_KERNEL_IMPL(k) { auto desc = PTO_GET_DESCRIPTOR<E>(); uint32_t y = desc.bb; }", "bb"),
    (192, "PTO_DESCRIPTOR_GEN(S) { PTO_EMIT_DESCRIPTOR(D{.tier = 0, .a = 1, .c = 2}); }", "c"),
    (193, "PTO_DESCRIPTOR_GEN(S) { PTO_EMIT_DESCRIPTOR(D{.tier = 0, .a = 1}); }", "D{.tier = 0, .a = 1}"),
    (
        175,
        "PTO_WORKSPACE(w, float, 1) PTO_TIER_DEF(U) { PTO_TIER(y < 3, s1, 64) PTO_DEFAULT(s2, 128) } PTO_KERNEL_IMPL(k) { auto e = PTO_GET_DESCRIPTOR<E>(); uint32_t o = e.a + PTO_SLOT_BYTES; }",
        "PTO_SLOT_BYTES",
    ),
    (194, "struct A { uint32_t f[17]; };", "uint32_t f[17]"),
    (194, "struct A { uint32_t f[9]; uint32_t g[8]; uint32_t h[8]; };", "uint32_t g[8]"),
    (194, "struct A { uint32_t f[4000000000]; };", "uint32_t f[4000000000]"),
    (195, "struct A { uint32_t f[0]; };", "0"),
    (195, "struct A { uint32_t f[p]; };", "p"),
    (
        196,
        "struct A { uint32_t f; }; PTO_DESCRIPTOR_GEN(S) { PTO_EMIT_DESCRIPTOR(A{.f = 1}); }",
        "PTO_EMIT_DESCRIPTOR(A{.f = 1})",
    ),
    (
        197,
        "struct A { uint32_t f; }; PTO_KERNEL_IMPL(m1) { auto d = PTO_GET_DESCRIPTOR<A>(); } PTO_KERNEL_IMPL(m2) { auto d = PTO_GET_DESCRIPTOR<A>(); }",
        "A",
    ),
    (
        198,
        "struct A { uint32_t f; }; PTO_TIER_DEF(U) { PTO_TIER(y < 3, m1) PTO_DEFAULT(m2) } PTO_KERNEL_IMPL(m1) { auto d = PTO_GET_DESCRIPTOR<A>(); } PTO_KERNEL_IMPL(m2) { auto d = PTO_GET_DESCRIPTOR<A>(); }",
        "A",
    ),
    (
        199,
        "struct A { uint32_t f; }; struct B { uint32_t f; }; PTO_KERNEL_IMPL(k) { auto d = PTO_GET_DESCRIPTOR(); }",
        "PTO_GET_DESCRIPTOR()",
    ),
    (199, "struct A { uint32_t f; }; PTO_DESCRIPTOR_GEN(S) { PTO_EMIT_DESCRIPTOR({.x = 1}); }", "{.x = 1}"),
    (
        200,
        "struct A { uint32_t f; }; PTO_KERNEL_IMPL(k) { auto d = PTO_GET_DESCRIPTOR<A>(); auto e = PTO_GET_DESCRIPTOR<E>(); }",
        "PTO_GET_DESCRIPTOR<E>()",
    ),
    (210, "PTO_DESCRIPTOR_GEN(S) { PTO_SCHEDULED_FOR(i, j) { } }", "PTO_SCHEDULED_FOR(i, j) { }"),
    (
        211,
        "PTO_DESCRIPTOR_GEN(Z) { PTO_FOR_EACH(i, 0, 2) { PTO_SCHEDULED_FOR(j) { } } }",
        "PTO_SCHEDULED_FOR(j) { }",
    ),
    (212, "PTO_DESCRIPTOR_GEN(Z) { PTO_SET_TILE(z, 4); }", "z"),
    (212, "PTO_DESCRIPTOR_GEN(S) { PTO_SET_TILE(x, 4); }", "x"),
    (213, "PTO_DESCRIPTOR_GEN(S) { uint32_t y = PTO_GET_DIM(c); }", "c"),
    (213, "PTO_DESCRIPTOR_GEN(S) { PTO_SET_EXTENT(x, lens); }", "x"),
    (220, "PTO_KERNEL_IMPL(k) { VecTile<float, 4> a; }", "VecTile<float, 4>"),
    (220, "PTO_KERNEL_IMPL(k) { VecTile<float, 0, 4> a; }", "0"),
    (220, "PTO_KERNEL_IMPL(k) { VecTile<float, 100000, 100000> a; }", "VecTile<float, 100000, 100000>"),
    (221, "PTO_KERNEL_IMPL(k) { VecTile<float, 4, 8> a; VecTile<float, 4, 9> b; TEXP(a, b); }", "b"),
    (221, "PTO_KERNEL_IMPL(k) { VecTile<float, n, 8> a; VecTile<float, heads, 8> b; TADD(a, a, b); }", "b"),
    (221, "PTO_KERNEL_IMPL(k) { VecTile<float, 4, 8> a; VecTile<float, 4, 2> b; TROWMAX(b, a); }", "b"),
    (
        222,
        "PTO_KERNEL_IMPL(k) { AccTile<float, 4, 4> o; LeftTile<float, 4, 4> a; LeftTile<float, 4, 4> b; TMATMUL(o, a, b); }",
        "b",
    ),
    (
        223,
        "PTO_KERNEL_IMPL(k) { AccTile<float, 4, 8> o; VecTile<float, 4, 16> a; RightTile<float, 8, 16> b; TMATMUL(o, a, b); }",
        "b",
    ),
    (
        223,
        "PTO_KERNEL_IMPL(k) { AccTile<float, 4, 8> o; VecTile<float, 4, 16> a; RightTile<float, 16, 8> b; TMATMUL(o, a, PTO_TRANSPOSE(b)); }",
        "PTO_TRANSPOSE(b)",
    ),
    (224, "PTO_KERNEL_IMPL(k) { VecTile<float, 1, 64> a; TLOAD(a, t, {0, 0, 0}); }", "{0, 0, 0}"),
    (225, "PTO_KERNEL_IMPL(k) { VecTile<float, 4, 64> a; TLOAD(a, v, {0}); }", "{0}"),
    (
        225,
        "PTO_KERNEL_IMPL(k) { VecTile<float, 4, 64> a; TLOAD(a, t, {PTO_ROWS(0), PTO_ROWS(0)}); }",
        "PTO_ROWS(0)",
    ),
    (226, "PTO_KERNEL_IMPL(k) { VecTile<float, 4, 4> a; VecTile<float, 4, 4> b; TMATMUL(a, b, a); }", "a"),
    (227, "PTO_KERNEL_IMPL(k) { VecTile<float, 4, 4> a; float m = TROWMAX(a); }", "a"),
];

/// The code and a whole program.
const ALONE: &[(u16, &str, &str)] = &[
    (
        150,
        "PTO_SPACE(S) { PTO_AXIS(x, 0, 4) } PTO_DESCRIPTOR_GEN(S) { } void e(Tensor q) { PTO_LAUNCH(S, { .q = q }); }",
        "q",
    ),
    (
        150,
        "PTO_SPACE(S) { PTO_AXIS(x, 0, 4) } PTO_DESCRIPTOR_GEN(S) { uint32_t b = PTO_GET_BATCH_SIZE(); }",
        "PTO_GET_BATCH_SIZE()",
    ),
    (
        130,
        "PTO_SHAPE(q, n) PTO_KERNEL_IMPL(k) { VecTile<float, 1, 1> a; TLOAD(a, q, {0}); } PTO_SPACE(S) { PTO_AXIS(x, 0, n) } PTO_DESCRIPTOR_GEN(S) { } void e(uint32_t* l) { PTO_LAUNCH(S, { .q = l }); }",
        "TLOAD",
    ),
    (
        151,
        "PTO_SHAPE(kv, n, heads) PTO_SPACE(S) { PTO_AXIS(x, 0, 4) } PTO_DESCRIPTOR_GEN(S) { } void e(PagedKVCache c) { PTO_LAUNCH(S, { .kv = c }); }",
        "PTO_SHAPE(kv, n, heads)",
    ),
    (
        153,
        "PTO_SHAPE(q, n) PTO_SPACE(S) { PTO_AXIS(x, 0, 4) } PTO_DESCRIPTOR_GEN(S) { } void e() { PTO_LAUNCH(S, {}); }",
        "q",
    ),
    (154, "PTO_SHAPE(q, PTO_DYNAMIC, 4)", "PTO_DYNAMIC"),
    (
        154,
        "PTO_SPACE(A) { PTO_AXIS(x, 0, 4) } PTO_SPACE(B) { PTO_AXIS(x, 0, 5) } PTO_TENSOR(t, float, x, 8)",
        "x",
    ),
    (
        230,
        "PTO_SPACE(S) { PTO_AXIS(x, 0, 4) } PTO_DESCRIPTOR_GEN(S) { } void e() { PTO_LAUNCH(S, {}); } void f() { PTO_LAUNCH(S, {}); }",
        "f",
    ),
    (
        231,
        "PTO_SPACE(S) { PTO_AXIS(x, 0, 4) } PTO_DESCRIPTOR_GEN(S) { } void e() { PTO_LAUNCH(S, S); }",
        "PTO_LAUNCH(S, S)",
    ),
    (
        232,
        "PTO_SHAPE(q, n) PTO_SPACE(S) { PTO_AXIS(x, 0, 4) } PTO_DESCRIPTOR_GEN(S) { } void e(Tensor qq) { PTO_LAUNCH(S, { .q = q }); }",
        "q",
    ),
    (
        232,
        "PTO_SHAPE(q, n, m) PTO_SPACE(S) { PTO_AXIS(x, 0, 4) } PTO_DESCRIPTOR_GEN(S) { } void e(uint32_t* q) { PTO_LAUNCH(S, { .q = q }); }",
        "PTO_SHAPE(q, n, m)",
    ),
    (
        233,
        "PTO_SHAPE(q, n) PTO_SPACE(S) { PTO_AXIS(x, 0, 4) } PTO_DESCRIPTOR_GEN(S) { } void e(Tensor a) { PTO_LAUNCH(S, { .q = a, .q = a }); }",
        "q",
    ),
    (233, "PTO_PARAM(float, s, 1.0f) PTO_REFERENCE(r, { .a = s, .a = s })", "a"),
    (
        234,
        "PTO_SPACE(S) { PTO_AXIS(x, 0, 4) } PTO_DESCRIPTOR_GEN(S) { } void e() { uint32_t a = 1; PTO_LAUNCH(S, {}); }",
        "uint32_t a = 1;",
    ),
    (235, "PTO_SPACE(S) { PTO_AXIS(x, 0, 4) } void e() { PTO_LAUNCH(S, {}); }", "S"),
    (240, "PTO_SHAPE(a, n, 8) PTO_KERNEL_IMPL(k, Tensor a) { }", "Tensor"),
    (240, "PTO_SHAPE(a, n, 8) PTO_KERNEL_IMPL(k, Tensor<float> a, uint32_t m) { }", "uint32_t m"),
    (
        130,
        "PTO_SHAPE(a, n, 8) PTO_KERNEL_IMPL(k, Tensor<double> a) { VecTile<float, 1, 8> x; TLOAD(x, a, {0}); }",
        "a",
    ),
    (
        134,
        "PTO_SHAPE(a, n, 8) PTO_KERNEL_IMPL(k, Tensor<float> a) { VecTile<float, 1, 8> x; TASSIGN(x, 1.0f); TSTORE_ATOMIC_ADD(a, x, {0}); }",
        "TSTORE_ATOMIC_ADD",
    ),
    (
        134,
        "PTO_SHAPE(a, n, 8) void add(VecTile<float, 1, 8>& x) { TSTORE_ATOMIC_ADD(a, x, {0}); } PTO_KERNEL_IMPL(k, Tensor<float> a) { VecTile<float, 1, 8> x; TASSIGN(x, 1.0f); add(x); }",
        "TSTORE_ATOMIC_ADD",
    ),
    (
        130,
        "PTO_SHAPE(a, n, 8) PTO_KERNEL_IMPL(k, Tensor<double> a) { PTO_STORE_SCALAR(a, 1.0f, {0, 0}); }",
        "a",
    ),
    (
        240,
        "PTO_SHAPE(a, n) PTO_SHAPE(b, m) PTO_KERNEL_IMPL(k, Workspace<float> a, Workspace<half> b) { }",
        "Workspace<half> b",
    ),
    (
        240,
        "PTO_SHAPE(a, n) PTO_KERNEL_IMPL(k, Tensor<float> a) { } PTO_KERNEL_IMPL(l, Tensor<half> a) { }",
        "Tensor<half>",
    ),
    (240, "PTO_RESIDENT(w, float, 8) PTO_KERNEL_IMPL(k, Tensor<float> w) { }", "w"),
    (100, "PTO_SHAPE(a, n) PTO_KERNEL_IMPL(k, Tensor<float> a, Tensor<float> a) { }", "a"),
    (150, "PTO_KERNEL_IMPL(k, Tensor<float> a) { }", "a"),
    (241, "PTO_SHAPE(a, n) PTO_KERNEL_IMPL(k, Tensor<float> a) { } PTO_KERNEL_IMPL(l) { }", "l"),
    (
        241,
        "PTO_SHAPE(a, n) PTO_KERNEL_IMPL(k, Tensor<float> a) { } PTO_SPACE(S) { PTO_AXIS(x, 0, 4) } PTO_DESCRIPTOR_GEN(S) { }",
        "S",
    ),
    (241, "PTO_RESIDENT(w, float, 8) PTO_KERNEL_IMPL(k) { }", "w"),
    (
        242,
        "PTO_SHAPE(a, n) PTO_SHAPE(b, m) PTO_KERNEL_IMPL(k, Tensor<float> a) { PTO_STORE_SCALAR(a, PTO_LOAD_SCALAR(b, {0}), {0}); } PTO_KERNEL_IMPL(l, Tensor<float> b) { }",
        "b",
    ),
    (
        242,
        "PTO_SHAPE(a, n) PTO_TENSOR(t, float, 8) PTO_KERNEL_IMPL(k, Tensor<float> a) { VecTile<float, 1, 8> x; TLOAD(x, t, {}); }",
        "t",
    ),
    (
        242,
        "PTO_SHAPE(a, n) uint32_t f(uint32_t i) { return a[i]; } PTO_KERNEL_IMPL(k, Tensor<uint32_t> a) { uint32_t x = f(0); }",
        "a",
    ),
    (243, "PTO_SHAPE(a, n) PTO_TIER_DEF(T) { PTO_DEFAULT(k) } PTO_KERNEL_IMPL(k, Tensor<float> a) { }", "k"),
    (
        243,
        "struct D { uint32_t x; }; PTO_SHAPE(a, n) PTO_KERNEL_IMPL(k, Tensor<float> a) { auto d = PTO_GET_DESCRIPTOR<D>(); }",
        "PTO_GET_DESCRIPTOR<D>()",
    ),
    (134, "PTO_KERNEL_IMPL(k) { uint32_t b = get_block_idx(); }", "get_block_idx"),
    (
        134,
        "uint32_t f() { return get_block_num(); } PTO_SHAPE(a, n) PTO_KERNEL_IMPL(k, Tensor<float> a) { }",
        "get_block_num",
    ),
    (130, "PTO_SHAPE(a, n) PTO_KERNEL_IMPL(k, Tensor<uint8_t> a) { PTO_STORE_SCALAR(a, 1, {0}); }", "a"),
];

/// Programs that are too large to write down.
fn generated() -> Vec<(u16, String)> {
    let deep: String = (0..600).map(|i| format!("void f{i}() {{ f{}(); }}\n", i + 1)).collect();
    let wide: String = (0..40).map(|i| format!("void f{i}() {{ f{0}(); f{0}(); }}\n", i + 1)).collect();
    let constants: String = (0..5000).map(|i| format!("const uint32_t c{i} = c{} + p;\n", i + 1)).collect();
    let kernel = "PTO_KERNEL_IMPL(k) { f0(); }";
    vec![
        (145, format!("{deep} void f600() {{ }} {kernel}")),
        (146, format!("{wide} void f40() {{ uint32_t a = 1; }} {kernel}")),
        (145, format!("PTO_PARAM(uint32_t, p, 1) {constants} const uint32_t c5000 = 1;")),
    ]
}

/// Checks that the program reports the code at this text.
#[track_caller]
fn check(code: u16, program: &str, at: Option<&str>) {
    let mut sources = SourceMap::default();
    let (_, findings) = wsp_lang::compile("case.pto", program, &mut sources);
    let text: String = findings.iter().map(|d| render(d, &sources, false)).collect();
    let places: Vec<&str> = findings
        .iter()
        .filter(|d| d.code.0 == code)
        .filter_map(|d| d.primary.as_ref())
        .map(|l| &program[l.span.start as usize..l.span.end as usize])
        .collect();
    assert!(!places.is_empty(), "WSP{code:04} is not reported for\n{program}\n{text}");
    if let Some(at) = at {
        assert!(places.contains(&at), "WSP{code:04} points at {places:?}, not at `{at}`\n{text}");
    }
}

#[test]
fn programs_report_their_code_at_their_fault() {
    check_clean(PRELUDE);
    for (code, program, at) in WITH_PRELUDE {
        check(*code, &format!("{PRELUDE}{program}"), Some(at));
    }
    for (code, program, at) in ALONE {
        check(*code, program, Some(at));
    }
}

#[test]
fn programs_without_bounds_are_refused_in_time() {
    on_a_plain_stack(|| {
        for (code, program) in generated() {
            check(code, &program, None);
        }
    });
}

#[track_caller]
fn check_clean(program: &str) {
    let mut sources = SourceMap::default();
    let (_, findings) = wsp_lang::compile("prelude.pto", program, &mut sources);
    let text: String = findings.iter().map(|d| render(d, &sources, false)).collect();
    assert!(findings.is_empty(), "{text}");
}

#[test]
fn rounds_with_an_index_have_slots_of_their_own() {
    for (around, share) in [
        ("PTO_FOR_EACH(l, 0, 2)", false),
        ("for (uint32_t l = 0; l < 2; l++)", false),
        ("uint32_t l = 0; for (l = 0; l < 2; ++l)", false),
        ("for (int32_t l = -1; l <= 2; ++l)", false),
        ("for (bool l = true; l; l = false)", true),
        ("do", true),
    ] {
        let end = if around == "do" { " while (p < 2);" } else { "" };
        let body = format!("{around} {{ uint32_t o = PTO_ALLOC_WS(0u, 1); }}{end}");
        let program = format!("{PRELUDE}PTO_DESCRIPTOR_GEN(S) {{ {body} }}");
        let (_, findings) = wsp_lang::compile("case.pto", &program, &mut SourceMap::default());
        assert_eq!(findings.iter().any(|d| d.code.0 == 176), share, "{body}: {findings:?}");
    }
}

#[test]
fn a_float_is_no_index_of_a_slot() {
    for (around, argument, refused) in [
        ("for (float l = 0.0f; l < 2.0f; l += 1.0f)", "1", true),
        ("for (double l = 2.0; l > 0.5; l -= 0.5)", "1", true),
        ("float l = 0.0f; for (l = 1.0f; l <= 2.0f; l += 1.0f)", "1", true),
        ("for (float l = 0.0f; l < 2.0f; l += 1.0f)", "(uint32_t)l", false),
    ] {
        let program = format!(
            "{PRELUDE}PTO_DESCRIPTOR_GEN(S) {{ {around} {{ uint32_t o = PTO_ALLOC_WS(0u, {argument}); }} }}"
        );
        let (_, findings) = wsp_lang::compile("case.pto", &program, &mut SourceMap::default());
        assert_eq!(findings.iter().any(|d| d.code.0 == 177), refused, "{around}: {findings:?}");
    }
}

#[test]
fn every_code_has_a_program() {
    let shown: BTreeSet<u16> =
        WITH_PRELUDE.iter().chain(ALONE).map(|c| c.0).chain(generated().iter().map(|c| c.0)).collect();
    let listed: BTreeSet<u16> = wsp_lang::CODES
        .iter()
        .flat_map(|group| group.iter())
        .map(|i| i.code.0)
        .filter(|c| (100..260).contains(c))
        .collect();
    assert_eq!(shown, listed);
}

#[test]
fn one_fault_is_one_finding() {
    for (code, program, _) in WITH_PRELUDE {
        let program = format!("{PRELUDE}{program}");
        let mut sources = SourceMap::default();
        let (_, findings) = wsp_lang::compile("case.pto", &program, &mut sources);
        let others: Vec<String> =
            findings.iter().filter(|d| d.code.0 != *code).map(|d| render(d, &sources, false)).collect();
        assert!(others.is_empty(), "besides WSP{code:04}:\n{}", others.concat());
    }
}
