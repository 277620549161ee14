//! Long and deep programs: what the parser takes goes through all of the front end, on the stack that a thread has.

use crate::stack::on_a_plain_stack;
use wsp_core::limits::MAX_NESTING;
use wsp_diag::SourceMap;
use wsp_ir::{BinOp, Expr, ExprKind, Module, ScalarTy, StmtKind, text, verify};
use wsp_lang::Purpose;

const NO_CODES: [u16; 0] = [];

/// Variables for the statements of a kernel: `x` and `y`, and functions to call.
fn kernel(stmts: &str) -> String {
    format!(
        "PTO_SHAPE(out, n) PTO_SHAPE(list, n)
         float halve(float v) {{ return v * 0.5f; }}
         PTO_KERNEL_IMPL(k, Tensor<uint32_t> list, Tensor<float> out) {{
             uint32_t x = get_block_idx(); float y = PTO_LOAD_SCALAR(out, {{0}});
             {stmts}
             PTO_STORE_SCALAR(out, y + (float)x, {{0}});
         }}"
    )
}

/// The module of a program, which is verified and has a text that reads back, and the codes of the findings.
fn compile(program: &str) -> (Module, Vec<u16>) {
    let mut sources = SourceMap::default();
    let nothing = &mut |_: &std::path::Path| unreachable!("nothing is included");
    let (module, found) = wsp_lang::check_with("deep.pto", program, Purpose::Library, &mut sources, nothing);
    let codes = found.iter().map(|found| found.code.0).collect();
    if let Some(module) = &module {
        assert_eq!(verify::verify(module), []);
        let printed = text::print(module);
        assert!(text::parse(&printed).is_ok_and(|read| text::print(&read) == printed), "the text reads back");
    }
    (module.unwrap_or_default(), codes)
}

/// The value that the kernel gives `y` last.
fn value_of_y(module: &Module) -> &Expr {
    let mut values =
        module.functions.iter().flat_map(|function| &function.body).filter_map(|stmt| match &stmt.kind {
            StmtKind::Assign { value, .. } => Some(value),
            _ => None,
        });
    values.next_back().expect("`y` is assigned to")
}

/// The operators of a sum or a product from left to right, and how many nodes are above its first operand.
fn operators(mut e: &Expr) -> (Vec<BinOp>, usize) {
    let (mut found, mut height) = (Vec::new(), 0);
    loop {
        e = match &e.kind {
            ExprKind::Binary(op, left, _) => {
                found.push(*op);
                left
            }
            ExprKind::Chain(first, rest) => {
                found.extend(rest.iter().rev().map(|(op, _)| *op));
                first
            }
            _ => break,
        };
        height += 1;
    }
    found.reverse();
    (found, height)
}

#[test]
fn sums_and_products_have_any_number_of_terms() {
    on_a_plain_stack(|| {
        for signs in [&[" + "][..], &[" - ", " + "], &[" * "], &[" / ", " * ", " * "]] {
            let terms: String =
                (0..10_000).map(|n| format!("{}(y - {n}.0f)", signs[n % signs.len()])).collect();
            let (module, codes) = compile(&kernel(&format!("y = y{terms};")));
            assert_eq!(codes, NO_CODES);
            let (found, height) = operators(value_of_y(&module));
            let expected: Vec<&str> = (0..10_000).map(|n| signs[n % signs.len()].trim()).collect();
            assert_eq!(found.iter().map(|op| op.sign()).collect::<Vec<_>>(), expected);
            assert!(height <= MAX_NESTING as usize, "{height} nodes are above the first term");
        }
    });
}

#[test]
fn a_term_of_a_wider_type_widens_the_terms_behind_it() {
    on_a_plain_stack(|| {
        let (module, codes) =
            compile(&kernel(&format!("y = x{}{};", " + x".repeat(200), " + y".repeat(200))));
        assert_eq!(codes, NO_CODES);
        let ExprKind::Chain(first, rest) = &value_of_y(&module).kind else { panic!("a chain") };
        assert!(rest.iter().all(|(_, operand)| operand.ty == ScalarTy::F32));
        let mut first = &**first;
        while let ExprKind::Binary(_, left, _) = &first.kind {
            first = left;
        }
        let ExprKind::Cast(integers) = &first.kind else { panic!("the integers are added as integers") };
        assert_eq!((integers.ty, operators(integers).0.len()), (ScalarTy::U32, 200));
    });
}

#[test]
fn sums_at_launch_have_any_number_of_terms() {
    on_a_plain_stack(|| {
        let sum = " + n".repeat(10_000);
        for (item, codes) in [
            (format!("const uint32_t c = n{sum}; PTO_TENSOR(t, float, c)"), vec![]),
            (format!("PTO_TENSOR(t, float, n{sum})"), vec![]),
            (format!("PTO_REQUIRE(n{sum} < 7)"), vec![]),
            (format!("PTO_SPACE(S) {{ PTO_AXIS(a, 0, n{sum}) }}"), vec![]),
            (format!("const uint32_t c = 1{};", " + 1".repeat(10_000)), vec![]),
            (format!("const uint32_t c = 4000000000{};", " + 1000000000".repeat(10_000)), vec![122]),
        ] {
            let (_, found) = compile(&format!("PTO_PARAM(uint32_t, n, 1) {item}"));
            let errors: Vec<u16> = found.into_iter().filter(|code| *code < 260).collect();
            assert_eq!(errors, codes, "{}", &item[..30]);
        }
    });
}

/// What nests: its name, a text of it that is so deep, and the greatest depth.
type Form<'a> = (&'a str, &'a dyn Fn(usize) -> String, usize);

#[test]
fn statements_and_expressions_nest_as_deep_as_documented() {
    let times = |before: &str, inner: &str, behind: &str, n: usize| {
        format!("{}{inner}{}", before.repeat(n), behind.repeat(n))
    };
    let many = |form: fn(usize) -> String, n: usize| (0..n).map(form).collect::<String>();
    let value = |e: String| format!("y = {e};");
    let all = MAX_NESTING as usize;
    on_a_plain_stack(move || {
        let forms: [Form; 20] = [
            ("if", &|n| times("if (x < 9) { ", "y = y + 1.0f;", " }", n), all),
            ("if without braces", &|n| times("if (x < 9) ", "y = y + 1.0f;", "", n), all),
            ("else", &|n| times("if (x < 9) { y = 2.0f; } else ", "y = 1.0f;", "", n), all),
            ("while", &|n| times("while (x < 9) { ", "x = 10;", " }", n), all),
            ("do", &|n| times("do { ", "x = 10;", " } while (x < 9);", n), all),
            (
                "for",
                &|n| {
                    many(|i| format!("for (int i{i} = 0; i{i} < 2; ++i{i}) {{ "), n)
                        + "y = 1.0f;"
                        + &"}".repeat(n)
                },
                all,
            ),
            (
                "PTO_FOR_EACH",
                &|n| many(|i| format!("PTO_FOR_EACH(i{i}, 0, 2) {{ "), n) + "y = 1.0f;" + &"}".repeat(n),
                all,
            ),
            ("blocks", &|n| times("{ ", "y = 1.0f;", " }", n), all),
            ("parentheses", &|n| value(times("(", "y", ")", n)), 2 * all),
            ("operands on the right", &|n| value(times("(1.0f + ", "y", ")", n)), all),
            ("operators on the left", &|n| format!("x = x{};", " | x".repeat(n)), all),
            ("prefix operators", &|n| value(times("- ", "y", "", n)), all),
            (
                "negations",
                &|n| format!("bool b = {}; if (b) y = 1.0f;", times("!", "(x < 9)", "", n - 1)),
                all,
            ),
            (
                "?: on the right",
                &|n| format!("bool b = x < 9; y = {};", times("b ? 1.0f : ", "y", "", n)),
                all,
            ),
            (
                "?: on the left",
                &|n| format!("bool b = x < 9; b = {}; if (b) y = 1.0f;", times("(", "b", " ? b : b)", n)),
                all,
            ),
            (
                "?: in the middle",
                &|n| format!("bool b = x < 9; y = {};", times("b ? ", "y", " : 1.0f", n)),
                all,
            ),
            ("calls", &|n| value(times("halve(", "y", ")", n)), all),
            ("casts", &|n| value(times("(float)", "y", "", n)), all),
            ("casts like calls", &|n| value(times("float(", "y", ")", n)), all),
            ("indices", &|n| format!("x = {};", times("list[", "x", "]", n)), all),
        ];
        for (name, form, most) in forms {
            let errors =
                |n| compile(&kernel(&form(n))).1.into_iter().filter(|code| *code < 260).collect::<Vec<_>>();
            assert_eq!(errors(most), NO_CODES, "{most} {name}");
            let over = errors(most + 1);
            assert!(over.first() == Some(&18) && over.iter().all(|code| *code == 18), "{name}: {over:?}");
        }
        let deepest = times("if (x < 9) { ", &value(times("(- ", "y", ")", all)), "}", all);
        assert_eq!(compile(&kernel(&deepest)).1, NO_CODES);
    });
}

#[test]
fn the_deepest_tree_of_operators_is_measured_whole() {
    on_a_plain_stack(|| {
        let operators = " | x".repeat(100);
        let nested = (0..100).fold("x".to_owned(), |inner, _| format!("(x | ({inner}{operators}))"));
        assert_eq!(compile(&kernel(&format!("x = {nested};"))).1, [18]);
    });
}
