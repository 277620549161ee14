//! What is broken is reported once, at the right place, and the rest is kept.

use super::stack::on_a_plain_stack;
use super::*;

#[test]
fn a_missing_semicolon_is_reported_behind_the_line_and_the_statement_kept() {
    check_body(
        "uint32_t x = 1\nuint32_t y = 2;\nTMOV(a, b)\nx = y",
        expect![[r#"
        2:15 WSP0011 expected `;` after the declaration (found `uint32_t`)
        4:11 WSP0011 expected `;` after the expression (found `x`)
        5:6 WSP0011 expected `;` after the assignment (found `}`)
        let uint32_t: x = 1;
        let uint32_t: y = 2;
        TMOV(a, b);
        x = y;
    "#]],
    );
    check_body(
        "uint32_t x = 1 uint32_t y = 2;\nf();",
        expect![[r#"
        2:16 WSP0011 expected `;` after the declaration (found `uint32_t`)
        f();
    "#]],
    );
    check_errors(
        "struct D { uint32_t a }\nstruct E { uint32_t b; }\nconst uint32_t N = 1",
        expect![[r#"
        1:23 WSP0011 expected `;` after the field (found `}`)
        1:24 WSP0011 expected `;` after the struct (found `struct`)
        2:25 WSP0011 expected `;` after the struct (found `const`)
        3:21 WSP0011 expected `;` after the constant (found the end of the file)
        kept: struct:D/1 struct:E/1 const:N
    "#]],
    );
}

#[test]
fn a_broken_statement_has_one_report_and_the_next_is_kept() {
    check_body(
        "a = ;\nb = 1 +;\nf(a b);\ng(a, , b);\nuint32_t = 3;\nh();",
        expect![[r#"
        2:5 WSP0014 expected an expression (found `;`)
        3:8 WSP0014 expected an expression (found `;`)
        4:5 WSP0010 expected `,` or `)` after the argument (found `b`)
        5:6 WSP0014 expected an expression (found `,`)
        6:10 WSP0015 expected a name after the type (found `=`)
        h();
    "#]],
    );
    check_body(
        "f(a, b;\ng();",
        expect![[r#"
        2:7 WSP0012 expected `,` or `)` after the argument (found `;`)
          2:2 this `(` is not closed
        g();
    "#]],
    );
    check_body(
        "f(a, b\ng();\nh();",
        expect![[r#"
        2:7 WSP0010 expected `,` or `)` after the argument (found `g`)
        h();
    "#]],
    );
    check_body(
        "a[1 = 2;\n(b;\nh();",
        expect![[r#"
        2:5 WSP0034 an assignment is not an expression (assigns inside an expression)
        3:3 WSP0012 expected an operator or `)` (found `;`)
          3:1 this `(` is not closed
        h();
    "#]],
    );
    check_body(
        "x = a + * / b;\ny = 1;",
        expect![[r#"
        2:11 WSP0014 expected an expression (found `/`)
        y = 1;
    "#]],
    );
    check_body(
        "f(a));\ng();",
        expect![[r#"
        2:5 WSP0013 unmatched `)` (nothing is open here)
        g();
    "#]],
    );
}

#[test]
fn a_broken_descriptor_does_not_end_the_block() {
    check_body(
        "PTO_EMIT_DESCRIPTOR(D{ .a = , .b = 2 });\ng();",
        expect![[r#"
        2:29 WSP0014 expected an expression (found `,`)
        g();
    "#]],
    );
    check_body(
        "PTO_EMIT_DESCRIPTOR(D{ .a = 1; .b = 2 });\ng();",
        expect![[r#"
        2:30 WSP0012 expected `,` or `}` after the value (found `;`)
          2:22 this `{` is not closed
        g();
    "#]],
    );
    check_body(
        "PTO_EMIT_DESCRIPTOR(D{ .a = 1, .b = 2 );\ng();",
        expect![[r#"
        2:39 WSP0012 expected `,` or `}` after the value (found `)`)
          2:22 this `{` is not closed
        g();
    "#]],
    );
    check_body(
        "PTO_EMIT_DESCRIPTOR(D{\n.a = 1\n.b = 2,\n});\ng();",
        expect![[r#"
        3:7 WSP0010 expected `,` or `}` after the value (found `.`)
        g();
    "#]],
    );
    check_body(
        "PTO_EMIT_DESCRIPTOR(D{ 1, 2 });\nPTO_EMIT_DESCRIPTOR({ .a = 1, 2 });\nPTO_EMIT_DESCRIPTOR({ .a 2 });\ng();",
        expect![[r#"
        2:24 WSP0045 fields are named, all or none (found `1`)
        3:31 WSP0045 fields are named, all or none (found `2`)
        4:26 WSP0010 expected `=` and a value after `.a` (found `2`)
        g();
    "#]],
    );
}

#[test]
fn a_broken_header_does_not_hide_its_body() {
    check_body(
        "for (uint32_t i = 0, i < n; ++i) { a = ; b = 1; }\ng();",
        expect![[r#"
        2:24 WSP0011 expected `;` after the first part of `for` (found `<`)
        2:40 WSP0014 expected an expression (found `;`)
        g();
    "#]],
    );
    check_body(
        "for (uint32_t i = 0; i < n, ++i) { b = 1; }\ng();",
        expect![[r#"
        2:27 WSP0011 expected `;` after the condition of `for` (found `,`)
        g();
    "#]],
    );
    check_body(
        "for (i = 0; i < n; ++i { b = 1; }\ng();",
        expect![[r#"
        2:24 WSP0012 expected an operator or `)` (found `{`)
          2:5 this `(` is not closed
        g();
    "#]],
    );
    check_body(
        "for (auto x : xs) { b = 1; }\ng();",
        expect![[r#"
        2:13 WSP0032 `for` does not run over a range ()
        g();
    "#]],
    );
    check_body(
        "if (a = b) { c = ; }\ng();",
        expect![[r#"
        2:7 WSP0034 an assignment is not an expression (assigns inside an expression)
        2:18 WSP0014 expected an expression (found `;`)
        g();
    "#]],
    );
    check_body(
        "if a > b { c(); }\ng();",
        expect![[r#"
        2:4 WSP0010 expected `(` after `if` (found `a`)
        g();
    "#]],
    );
    check_body(
        "while (a < ) { c(); } else { d(); }\ng();",
        expect![[r#"
        2:12 WSP0014 expected an expression (found `)`)
        2:23 WSP0050 `else` without `if` (no `if` ends before it)
        g();
    "#]],
    );
    check_body(
        "PTO_FOR_EACH(i, 0) { c = ; }\nPTO_SCHEDULED_FOR(0) { }\nPTO_FOR_EACH(i, 0, n) f();\ng();",
        expect![[r#"
        2:18 WSP0022 `PTO_FOR_EACH` has too few arguments (expected the end)
        2:26 WSP0014 expected an expression (found `;`)
        3:19 WSP0015 expected the name of an index variable (found `0`)
        4:23 WSP0010 expected `{` after `PTO_FOR_EACH(…)` (found `f`)
        g();
    "#]],
    );
    check_body(
        "if (x) }\ng();",
        expect![[r#"
        2:8 WSP0010 expected a statement after `if (…)` (found `}`)
        g();
    "#]],
    );
}

#[test]
fn a_missing_brace_is_reported_where_it_was_opened() {
    check_errors(
        "PTO_KERNEL_IMPL(k) {\n    if (a) {\n        b();\n}\nstruct S { uint32_t f; };",
        expect![[r#"
        4:2 WSP0012 expected `}` (found `struct`)
          2:12 this `{` is not closed
        kept: struct:S/1
    "#]],
    );
    check_errors(
        "PTO_KERNEL_IMPL(k) {\n    a();\n\nvoid f() {\n    b();\n}\n",
        expect![[r#"
        2:9 WSP0012 expected `}` (found `void`)
          1:20 this `{` is not closed
        kept: fn:f/1
    "#]],
    );
    check_errors(
        "PTO_SPACE(S) {\n    PTO_AXIS(x, 0, n)\n\nPTO_KERNEL_IMPL(k) { }\n",
        expect![[r#"
        2:22 WSP0012 expected `}` (found `PTO_KERNEL_IMPL`)
          1:14 this `{` is not closed
        kept: kernel:k/0
    "#]],
    );
    check_errors(
        "PTO_KERNEL_IMPL(k) {\n    a();\n",
        expect![[r#"
        2:9 WSP0012 expected `}` (found the end of the file)
          1:20 this `{` is not closed
        kept: 
    "#]],
    );
    check_errors(
        "struct D {\n    uint32_t a;\n",
        expect![[r#"
        2:16 WSP0012 expected `}` (found the end of the file)
          1:10 this `{` is not closed
        kept: 
    "#]],
    );
}

#[test]
fn a_brace_too_many_is_reported_once() {
    check_errors(
        "PTO_KERNEL_IMPL(k) {\n    if (a) }\n    b();\n    uint32_t x = 1;\n    for (;;) { }\n}\nPTO_KERNEL_IMPL(l) { }\n",
        expect![[r#"
            2:12 WSP0010 expected a statement after `if (…)` (found `}`)
            kept: kernel:k/3 kernel:l/0
        "#]],
    );
    check_errors(
        "PTO_KERNEL_IMPL(k) { } }\nPTO_KERNEL_IMPL(l) { }\n",
        expect![[r#"
        1:24 WSP0013 unmatched `}` (nothing is open here)
        kept: kernel:k/0 kernel:l/0
    "#]],
    );
}

#[test]
fn channels_are_those_of_a_workload_that_uses_the_file() {
    check_errors(
        "PTO_CHANNEL(c, 2)\nPTO_GRAPH(G) {\n PTO_STAGE(a, S)\n PTO_SEND(a, c)\n PTO_PROCESS(p)\n}\nPTO_PIPELINE(P) { }",
        expect![[r#"
        1:1 WSP0020 unknown form `PTO_CHANNEL`: a `.pto` file has no processes and channels ()
        4:2 WSP0020 unknown form `PTO_SEND`: a `.pto` file has no processes and channels ()
        5:2 WSP0020 unknown form `PTO_PROCESS`: a `.pto` file has no processes and channels ()
        7:1 WSP0020 unknown form `PTO_PIPELINE`: a `.pto` file has no processes and channels ()
        kept: graph:G/1+0
    "#]],
    );
    let text = "PTO_CHANNEL(c, 2)";
    let mut sources = SourceMap::default();
    let (_, found) = parse(sources.add("t.pto", text), text);
    assert!(found.first().is_some_and(|found| found.help[0].contains("`use \"FILE.pto\";")));
}

#[test]
fn unknown_and_misplaced_forms_say_what_was_meant() {
    check_errors(
        "PTO_SPACE(S) {\n PTO_AXSI(x, 0, n)\n PTO_AXIS(y, 0, n)\n PTO_ORDER(x, PTO_PARALLEL)\n foo\n}",
        expect![[r#"
        2:2 WSP0020 unknown form `PTO_AXSI` (expected `PTO_AXIS`, `PTO_TILE` or `PTO_WHERE`)
        4:2 WSP0021 `PTO_ORDER` is out of place (expected `PTO_AXIS`, `PTO_TILE` or `PTO_WHERE`)
        5:2 WSP0020 unknown form `foo` (expected `PTO_AXIS`, `PTO_TILE` or `PTO_WHERE`)
        kept: space:S/1
    "#]],
    );
    check_errors(
        "PTO_TIER(a < 1, k)\nPTO_SPCE(S) { PTO_AXIS(x, 0, n) }\nPTO_BOGUS(1)\nPTO_SHAPE(q, n)",
        expect![[r#"
        1:1 WSP0021 `PTO_TIER` is out of place (expected a top-level form)
        2:1 WSP0020 unknown form `PTO_SPCE` (expected a top-level form)
        3:1 WSP0020 unknown form `PTO_BOGUS` (expected a top-level form)
        kept: shape:q/1
    "#]],
    );
    check_errors(
        "PTO_KERNEL_IMPL(k) {\n PTO_AXIS(x, 0, 1)\n PTO_FOREACH(i, 0, n) { a = ; }\n f();\n PTO_SHAPE(q, 1)\n g();\n}",
        expect![[r#"
        2:2 WSP0021 `PTO_AXIS` is out of place (expected a statement)
        3:2 WSP0020 unknown form `PTO_FOREACH` (no statement with a block)
        5:2 WSP0021 `PTO_SHAPE` is out of place (expected a statement)
        kept: kernel:k/2
    "#]],
    );
    check_errors(
        "PTO_SCHEDULE(S) {\n PTO_ORDER(x, PTO_PARALEL)\n PTO_ORDER(x, PTO_SPREAD)\n PTO_AFFINITY(x)\n PTO_PREFETCH(x, 0)\n PTO_ORDER(x, PTO_BLOCKED(n))\n PTO_PROFILE_GUIDED(x, { .a = PTO_INTERLEAVED(2), })\n PTO_ORDER(x, PTO_PARALLEL, 1)\n}",
        expect![[r#"
        2:15 WSP0024 `PTO_PARALEL` is not an order (expected `PTO_SEQUENTIAL`, `PTO_SEQUENTIAL_STRICT`, `PTO_PARALLEL`, `PTO_INTERLEAVED`, `PTO_BLOCKED`, `PTO_LONGEST_FIRST`)
        3:15 WSP0024 `PTO_SPREAD` is not an order (expected `PTO_SEQUENTIAL`, `PTO_SEQUENTIAL_STRICT`, `PTO_PARALLEL`, `PTO_INTERLEAVED`, `PTO_BLOCKED`, `PTO_LONGEST_FIRST`)
        4:16 WSP0022 `PTO_AFFINITY` has too few arguments (expected a policy: `PTO_CORE_GROUP`, `PTO_CORE_LOCAL` or `PTO_SPREAD`)
        5:18 WSP0025 the depth of a prefetch is an integer literal from 1 on (not such a literal)
        6:27 WSP0025 the count of `PTO_BLOCKED` is an integer literal from 1 on (not such a literal)
        7:2 WSP0026 `PTO_PROFILE_GUIDED` is not supported yet ()
        8:29 WSP0023 `PTO_ORDER` has too many arguments (not expected)
        kept: schedule:S/0
    "#]],
    );
    check_errors(
        "PTO_SCHEDULE(S) {\n PTO_PIPELINE_DEPTH(0)\n PTO_PIPELINE_DEPTH(2, PTO_PER_STREAM)\n PTO_POOLS(1)\n PTO_POOLS(5000, 1)\n PTO_PRIORITY(2)\n PTO_PRIORITIES(x)\n}\nPTO_KERNEL_IMPL(k) on core { }\nPTO_KERNEL_IMPL(e, Tensor<float> x) on cube { }",
        expect![[r#"
            2:21 WSP0025 the number of tasks that run at once is an integer literal from 1 on (not such a literal)
            3:24 WSP0024 `PTO_PER_STREAM` is not a scope (expected `PTO_PER_POOL`)
            4:13 WSP0022 `PTO_POOLS` has too few arguments (expected the number of workers for cube tasks)
            5:12 WSP0025 the number of workers for vector tasks is 5000 (the largest is 1024)
            6:15 WSP0015 expected the name of an axis (found `2`)
            7:2 WSP0020 unknown form `PTO_PRIORITIES` (expected a statement of a schedule)
            9:23 WSP0024 expected `cube`, `vector` or `any` after `on` (found `core`)
            10:37 WSP0021 a kernel with parameters has no unit of its own (task graphs run it)
            kept: schedule:S/0 entry:e/1/0
        "#]],
    );
    check_errors(
        "PTO_SCHEDULE(S) {\n PTO_SPLIT(x, PTO_PARALLEL)\n PTO_SPLIT(x, PTO_WHOLLY)\n PTO_SPLIT(x, PTO_FIXED)\n PTO_SPLIT(x, PTO_BALANCED(0))\n PTO_SPLIT(x)\n PTO_SPLIT(x, PTO_WHOLE(2))\n PTO_SPLIT(x, PTO_BALANCED)\n}",
        expect![[r#"
        2:15 WSP0024 `PTO_PARALLEL` is not a split (expected `PTO_WHOLE`, `PTO_FIXED`, `PTO_BALANCED`)
        3:15 WSP0024 `PTO_WHOLLY` is not a split (expected `PTO_WHOLE`, `PTO_FIXED`, `PTO_BALANCED`)
        4:24 WSP0010 expected `(` and a number of elements after `PTO_FIXED` (found `)`)
        5:28 WSP0025 the alignment of `PTO_BALANCED` is an integer literal from 1 on (not such a literal)
        6:13 WSP0022 `PTO_SPLIT` has too few arguments (expected a policy: `PTO_WHOLE`, `PTO_FIXED(n)` or `PTO_BALANCED`)
        7:24 WSP0010 expected `)` to close `PTO_SPLIT` (found `(`)
        kept: schedule:S/1
    "#]],
    );
}

#[test]
fn what_cpp_has_and_the_language_has_not_is_named() {
    check_errors(
        "class A { int x; };\nenum B { C };\nusing namespace std;\ntemplate <typename T> void f(T x) { }\nuint32_t n = 3;\nuint32_t g(uint32_t a);\nvoid h(uint32_t a = 1) { }\nattend(uint32_t a) { }\nPTO_KERNEL_IMPL(k) { }",
        expect![[r#"
        1:1 WSP0030 `class` is not part of the language ()
        2:1 WSP0030 `enum` is not part of the language ()
        3:1 WSP0030 `using` is not part of the language ()
        4:11 WSP0031 template parameters are integers (a type parameter)
        5:10 WSP0043 a variable cannot stand at file level (not in a function, not `const`)
        6:10 WSP0040 a function needs a body (declared, not defined)
        7:19 WSP0042 parameters have no default values ()
        8:1 WSP0016 a function needs a result type (no type before this name)
        kept: kernel:k/0
    "#]],
    );
    check_body(
        "switch (a) { case 1: break; default: f(); }\ngoto end;\nend: f();\ntry { a(); } catch (x) { }\nauto f = [](int x) { return x; };\nint* p = new int;\nx = y = 1;\na = b++;\np->x = 1;\nq = &x;\nuint32_t a[4];\nauto [u, v] = w;\nuint32_t z(5);\nconst uint32_t c;\ng.h(1);\na = 1, b = 2;\n1 = a;\nstatic uint32_t s = 1;\nelse { }\nh();",
        expect![[r#"
        2:1 WSP0030 `switch` is not part of the language ()
        3:1 WSP0030 `goto` is not part of the language ()
        4:4 WSP0030 labels are not part of the language ()
        5:1 WSP0030 `try` is not part of the language ()
        6:10 WSP0033 lambdas are not part of the language (an expression cannot start with `[`)
        7:10 WSP0030 `new` is not part of the language ()
        8:7 WSP0034 an assignment is not an expression (assigns inside an expression)
        9:6 WSP0035 `++` is a statement, not an expression (changes a variable inside an expression)
        10:2 WSP0038 there are no pointers to structs ()
        11:5 WSP0038 addresses are not part of the language (takes an address)
        12:11 WSP0039 variables are scalars and tiles, not arrays (declares an array)
        13:6 WSP0047 a declaration cannot take a value apart ()
        14:11 WSP0048 a first value is written with `=` ()
        15:16 WSP0046 a `const` or `auto` variable needs a value (declared without a value)
        16:3 WSP0044 there are no methods (called like a method)
        17:6 WSP0037 `,` does not join statements (expected `;`)
        18:1 WSP0036 this cannot be assigned to (not a variable)
        19:1 WSP0030 local variables have no storage class ()
        20:1 WSP0050 `else` without `if` (no `if` ends before it)
        h();
    "#]],
    );
    check_body(
        "void inner(uint32_t a) { b(); }\nh();",
        expect![[r#"
        2:6 WSP0041 a function cannot stand in a function (defined inside another function)
        h();
    "#]],
    );
    check_body(
        "uint32_t** p = q;\nx = nullptr;\nx = PTO_DYNAMIC;\nauto r = PTO_COMPUTE(g, l);\nfor (auto g : t.chunks(4)) { }\nh();",
        expect![[r#"
        2:10 WSP0049 a type has at most one `*` or `&` (one too many)
        3:5 WSP0038 there is no null pointer ()
        4:5 WSP0027 `PTO_DYNAMIC` is not a value (expected an expression)
        5:10 WSP0026 `PTO_COMPUTE` is not supported yet ()
        6:13 WSP0032 `for` does not run over a range ()
        h();
    "#]],
    );
    check_errors(
        "struct D : E { uint32_t a; };\nstruct F {\n F() { }\n uint32_t a;\n uint32_t get() { return a; }\n uint32_t b = 1;\n uint32_t c;\n};",
        expect![[r#"
        1:10 WSP0044 structs have no base ()
        3:2 WSP0044 structs have no methods ()
        5:14 WSP0044 structs have no methods ()
        6:13 WSP0011 a field has no default value (expected `;`)
        kept: struct:F/2
    "#]],
    );
}

#[test]
fn lexical_faults_are_not_reported_twice() {
    check_body(
        "a = 1 @ 2;\nf(\"x\", 1);\nuint32_t $x = 1;\nb = 12ab + 1;\nh();",
        expect![[r#"
        2:7 WSP0003 unexpected character `@` (starts nothing that the language knows)
        3:3 WSP0005 a string is not part of the language (text has no use in kernels)
        4:10 WSP0003 unexpected character `$` (starts nothing that the language knows)
        5:5 WSP0006 `12ab` is not a number ()
        b = (+ 0 1);
        h();
    "#]],
    );
}

#[test]
fn nesting_is_bounded() {
    on_a_plain_stack(|| {
        let deep = |open: &str, close: &str, n| format!("{}1{}", open.repeat(n), close.repeat(n));
        for (text, n) in [
            (deep("(", ")", 20_000), 1),
            (deep("- ", "", 20_000), 1),
            (deep("f(", ")", 20_000), 1),
            (deep("{", "}", 20_000), 1),
            (deep("1|", "", 20_000), 1),
            (deep("a?1:", "", 20_000), 1),
            (format!("x{}", "[0]".repeat(20_000)), 1),
            (deep("(float)", "", 20_000), 1),
            (format!("x{}", ".y".repeat(20_000)), 1),
            (deep("f({", "})", 20_000), 1),
        ] {
            let (_, shown) = parsed(&format!("PTO_KERNEL_IMPL(k) {{ f({text}); }} PTO_SHAPE(q, 1)"));
            assert_eq!(shown.lines().count(), n, "{shown}");
            assert!(shown.contains("WSP0018"), "{shown}");
        }
        for text in [
            "{".repeat(50_000),
            "if (a) ".repeat(50_000),
            "if (a) { } else ".repeat(50_000),
            "for (;;) {".repeat(50_000),
            "do ".repeat(50_000),
            "((((((".repeat(50_000) + &"]]]]]]".repeat(50_000),
        ] {
            let (_, shown) = parsed(&format!("PTO_KERNEL_IMPL(k) {{ {text}"));
            assert!(shown.contains("WSP0018") && shown.lines().count() < 5, "{shown}");
        }
        let (_, shown) = parsed(&format!("PTO_KERNEL_IMPL(k) {{ {} t; }}", "VecTile<".repeat(20_000)));
        assert!(shown.contains("WSP0018") && shown.lines().count() < 3, "{shown}");
    });
}

#[test]
fn reports_are_capped() {
    let text = "const uint32_t x = ;\n".repeat(500);
    let (_, diagnostics) = parse(FileId(0), &text);
    assert_eq!(diagnostics.len(), wsp_core::limits::MAX_DIAGNOSTICS as usize);
    assert_eq!(diagnostics.last().unwrap().code, codes::TOO_MANY_ERRORS);
    assert!(diagnostics.last().unwrap().message.contains("451 more"), "{diagnostics:?}");
}

#[test]
fn a_file_above_the_limit_is_refused() {
    let text = " ".repeat(wsp_core::limits::MAX_SOURCE_BYTES as usize + 1);
    let (tree, diagnostics) = parse(FileId(0), &text);
    assert!(tree.items.is_empty());
    assert_eq!(diagnostics[0].code, codes::SOURCE_TOO_LARGE);
}
