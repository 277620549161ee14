//! Round trips, and texts that are no modules.

#[path = "../../../wsp-core/tests/stack/mod.rs"]
mod stack;

use super::random::{Bytes, Random};
use super::{parse, print};
use crate::verify::MAX_DEPTH;
use crate::*;
use expect_test::{Expect, expect};
use proptest::prelude::*;
use stack::on_a_plain_stack;
use wsp_core::*;
use wsp_diag::{SourceMap, Span, render};

fn u32s(value: u32) -> Expr {
    Expr::u32(value, Span::default())
}

fn stmt(kind: StmtKind) -> Stmt {
    Stmt { kind, span: Span::default() }
}

fn helper(body: Block) -> Function {
    let local = |name: &str, ty| Local { name: name.into(), ty, span: Span::default() };
    Function {
        name: "chunk_size".into(),
        kind: FuncKind::Helper,
        params: 2,
        locals: vec![
            local("lens", LocalTy::Array(ScalarTy::U32)),
            local("batch", LocalTy::Scalar(ScalarTy::U32)),
            local("low", LocalTy::Scalar(ScalarTy::U32)),
        ],
        ret: Some(ScalarTy::U32),
        body,
        span: Span::default(),
    }
}

fn module_of(body: Block) -> Module {
    Module { functions: vec![helper(body)], ..Module::default() }
}

fn check_round_trip(module: &Module) {
    let text = print(module);
    let read = parse(&text).unwrap_or_else(|d| panic!("{d:?}\n{text}"));
    assert_eq!(print(&read), text);
    // Debug text compares NaN with NaN.
    assert_eq!(format!("{read:?}"), format!("{module:?}"));
}

#[test]
fn a_function_reads_well() {
    let low = || Expr::local(LocalId(2), ScalarTy::U32, Span::default());
    let batch = Expr::local(LocalId(1), ScalarTy::U32, Span::default());
    let largest = Expr::new(
        ExprKind::ArrayMax(ArrayRef::Local(LocalId(0)), Box::new(batch)),
        ScalarTy::U32,
        Span::default(),
    );
    let body = vec![
        stmt(StmtKind::Let { local: LocalId(2), init: Some(u32s(256)) }),
        stmt(StmtKind::While {
            cond: Expr::binary(BinOp::Lt, low(), largest),
            step: Vec::new(),
            body: vec![
                stmt(StmtKind::Assign { local: LocalId(2), value: Expr::binary(BinOp::Add, low(), u32s(1)) }),
                stmt(StmtKind::If {
                    cond: Expr::binary(BinOp::Gt, low(), u32s(512)),
                    then: vec![stmt(StmtKind::Break)],
                    otherwise: vec![],
                }),
            ],
        }),
        stmt(StmtKind::Return(Some(low()))),
    ];
    let module = module_of(body);
    check_round_trip(&module);
    expect![[r#"
        (wsp-ir 1
          (module functions: [
            (function name: "chunk_size" kind: helper params: 2 locals: [
              (local name: "lens" ty: (array u32))
              (local name: "batch" ty: (scalar u32))
              (local name: "low" ty: (scalar u32))
            ] ret: u32 body: [
              (let local: l2.low init: 256:u32)
              (while cond: (lt:bool l2.low:u32 (array_max:u32 (local l0.lens) l1.batch:u32)) body: [
                (assign local: l2.low value: (add:u32 l2.low:u32 1:u32))
                (if cond: (gt:bool l2.low:u32 512:u32) then: [break])
              ])
              (return l2.low:u32)
            ])
          ]))
    "#]]
    .assert_eq(&print(&module));
}

#[test]
fn tables_read_well() {
    let param =
        |name: &str, source| Param { name: name.into(), ty: ScalarTy::U32, source, span: Span::default() };
    let dim = |i| Dim::Expr(Expr::new(ExprKind::Param(ParamId(i)), ScalarTy::U32, Span::default()));
    let module = Module {
        params: vec![
            param("batch_size", ParamSource::Shape { of: ShapeOwner::Tensor(TensorId(0)), dim: 0 }),
            param("chunk", ParamSource::Set { default: u32s(0) }),
        ],
        tensors: vec![Tensor {
            name: "q".into(),
            elem: Elem::Of(TensorId(0)),
            dims: vec![dim(0), Dim::Expr(u32s(64))],
            storage: Storage::Launch,
            span: Span::default(),
        }],
        ..Module::default()
    };
    check_round_trip(&module);
    expect![[r#"
        (wsp-ir 1
          (module params: [
            (param name: "batch_size" ty: u32 source: (shape of: (tensor t0.q) dim: 0))
            (param name: "chunk" ty: u32 source: (set default: 0:u32))
          ] tensors: [
            (tensor name: "q" elem: (of t0.q) dims: [(extent p0.batch_size:u32) (extent 64:u32)] storage: launch)
          ]))
    "#]].assert_eq(&print(&module));
}

#[test]
fn floats_keep_their_bits() {
    for value in
        [0.0, -0.0, 1.0, 0.1, f64::MIN_POSITIVE, 5e-324, f64::MAX, f64::INFINITY, f64::NEG_INFINITY, 1e300]
    {
        let e = Expr::new(ExprKind::Const(Const::Float(value)), ScalarTy::F64, Span::default());
        let module = module_of(vec![stmt(StmtKind::Return(Some(e)))]);
        let read = parse(&print(&module)).expect("a printed module parses");
        let StmtKind::Return(Some(e)) = &read.functions[0].body[0].kind else { panic!("a return") };
        let ExprKind::Const(Const::Float(found)) = e.kind else { panic!("a float") };
        assert_eq!(found.to_bits(), value.to_bits(), "{value:?}");
    }
}

#[test]
fn modules_as_deep_as_the_verifier_allows_round_trip() {
    on_a_plain_stack(|| {
        let mut e = u32s(1);
        for _ in 1..MAX_DEPTH {
            e = Expr::new(ExprKind::Cast(Box::new(e)), ScalarTy::U32, Span::default());
        }
        let deep = Param {
            name: "n".into(),
            ty: ScalarTy::U32,
            source: ParamSource::Derived(e),
            span: Span::default(),
        };
        let mut block = vec![];
        for _ in 1..MAX_DEPTH {
            let cond = Expr::new(ExprKind::Const(Const::Bool(true)), ScalarTy::Bool, Span::default());
            block = vec![stmt(StmtKind::If { cond, then: block, otherwise: vec![] })];
        }
        for module in [Module { params: vec![deep], ..Module::default() }, module_of(block)] {
            let text = print(&module);
            let read = parse(&text).expect("a printed module parses");
            assert_eq!(print(&read), text);
            assert!(crate::verify::verify(&read).iter().all(|d| d.code != crate::verify::rule::TOO_DEEP));
        }
    });
}

#[test]
fn deeper_texts_are_refused() {
    for open in ["(", "[", "(wsp-ir [", "(neg:u32 "] {
        let text = open.repeat(1_000_000);
        let found = parse(&text).expect_err("nothing is closed");
        assert_eq!(found.message, "brackets are nested too deep");
    }
}

#[test]
fn every_text_within_the_bracket_limit_is_read_on_a_small_stack() {
    on_a_plain_stack(|| {
        let nest = |open: &str, inner: &str, close: &str, n: usize| {
            format!("{}{inner}{}", open.repeat(n), close.repeat(n))
        };
        let n = super::tree::MAX_BRACKETS;
        let expr = nest("(cast:u32 ", "1:u32", ")", n - 5);
        let text =
            format!("(wsp-ir 1 (module params: [(param name: \"n\" ty: u32 source: (derived {expr}))]))");
        let found = parse(&text).expect("it is well formed");
        assert!(!crate::verify::verify(&found).is_empty());
        let call = nest("(call:u32 f0 [(scalar ", "1:u32", ")])", n / 3 - 3);
        let text =
            format!("(wsp-ir 1 (module params: [(param name: \"n\" ty: u32 source: (derived {call}))]))");
        assert!(parse(&text).is_ok());
        let block = nest("(while cond: true:bool body: [", "", "])", n / 2 - 4);
        let text = format!(
            "(wsp-ir 1 (module functions: [(function name: \"f\" kind: helper params: 0 body: [{block}])]))"
        );
        assert!(parse(&text).is_ok());
    });
}

fn check_fault(text: &str, expected: Expect) {
    let mut map = SourceMap::default();
    map.add("m.wsp", text);
    let found = parse(text).expect_err("the text is malformed");
    expected.assert_eq(&render(&found, &map, false));
}

#[test]
fn a_misspelt_word_is_shown_with_what_was_meant() {
    check_fault(
        "(wsp-ir 1 (module params: [\n  (param name: \"n\" ty: u32 source: entri)\n]))\n",
        expect![[r#"
            error[WSP0390]: unknown word `entri`
             --> m.wsp:2:36
              |
            2 |   (param name: "n" ty: u32 source: entri)
              |                                    ^^^^^ here
              |
              = note: line 2, column 36 of the IR text
              = help: did you mean `entry`?
        "#]],
    );
}

#[test]
fn a_missing_part_is_named() {
    check_fault(
        "(wsp-ir 1 (module params: [(param name: \"n\" source: entry)]))",
        expect![[r#"
        error[WSP0390]: `param` lacks `ty:` here
         --> m.wsp:1:45
          |
        1 | (wsp-ir 1 (module params: [(param name: "n" source: entry)]))
          |                                             ^^^^^^^ here
          |
          = note: line 1, column 45 of the IR text
    "#]],
    );
    check_fault(
        "(wsp-ir 1)",
        expect![[r#"
        error[WSP0390]: `wsp-ir` lacks its module
         --> m.wsp:1:1
          |
        1 | (wsp-ir 1)
          | ^^^^^^^^^^ here
          |
          = note: line 1, column 1 of the IR text
    "#]],
    );
}

#[test]
fn an_expression_without_type_is_refused() {
    check_fault(
        "(wsp-ir 1 (module axes: [(axis name: \"a\" start: 5 end: dynamic)]))",
        expect![[r#"
        error[WSP0390]: expected an expression with a type, like `5:u32`
         --> m.wsp:1:49
          |
        1 | (wsp-ir 1 (module axes: [(axis name: "a" start: 5 end: dynamic)]))
          |                                                 ^ here
          |
          = note: line 1, column 49 of the IR text
    "#]],
    );
}

#[test]
fn other_versions_and_trailing_text_are_refused() {
    let fault = |text| parse(text).expect_err("the text is malformed").message;
    assert_eq!(fault("(wsp-ir 2 module)"), "version 2 is not read here, only 1");
    assert_eq!(fault("(wsp-ir 1 module) x"), "text after the end");
    assert_eq!(fault("(wsp-ir 1 module) ()"), "text after the end");
    assert_eq!(fault("(wsp-ir 1 module x)"), "`wsp-ir` has no such part here");
    assert_eq!(fault("; nothing\n"), "the text is empty");
    assert_eq!(fault("(wsp-ir 1 [)]"), "nothing to close with `)`");
    assert_eq!(fault("(wsp-ir \"a"), "a string is not closed");
    assert_eq!(fault("\"\\u{d800}\""), "unknown escape in a string");
    assert_eq!(fault("\"\\u{123456789}\""), "unknown escape in a string");
    assert_eq!(fault("\"a \\q"), "unknown escape in a string");
    assert_eq!(fault("\"a\n\""), "a string is not closed");
}

#[test]
fn comments_and_blanks_do_not_count() {
    let text = "; made by hand\n( wsp-ir\t1 ; version\n  ( module ) )\n";
    assert_eq!(parse(text), Ok(Module::default()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_module_round_trips(bytes in proptest::collection::vec(any::<u8>(), 0..1500)) {
        check_round_trip(&Module::random(&mut Bytes::new(&bytes)));
    }

    #[test]
    fn no_text_panics(text in "[()\\[\\]\";:a-z0-9.\\\\{} \n→-]{0,200}") {
        let _ = parse(&text);
    }

    #[test]
    fn no_damaged_text_panics(
        bytes in proptest::collection::vec(any::<u8>(), 100..600),
        at in any::<prop::sample::Index>(),
        insert in "[()\\[\\]\":a-z0-9 ]{0,3}",
    ) {
        let mut text: Vec<char> = print(&Module::random(&mut Bytes::new(&bytes))).chars().collect();
        let at = at.index(text.len());
        text.splice(at..(at + 2).min(text.len()), insert.chars());
        let text: String = text.into_iter().collect();
        if let Ok(module) = parse(&text) {
            check_round_trip(&module);
            crate::verify::verify(&module);
        }
    }
}
