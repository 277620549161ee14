//! Tier selection at and around its boundaries.

use super::*;
use crate::exec::compile::{Compiler, Role};
use wsp_core::TierSetId;
use wsp_ir::{Tier, TierSet};

const U32: ScalarTy = ScalarTy::U32;

fn selector(ty: ScalarTy) -> Expr {
    expr(ExprKind::Selector, ty)
}

fn with_tiers(conditions: Vec<Option<Expr>>) -> Module {
    let mut m = module(Vec::new());
    let tiers = conditions
        .into_iter()
        .map(|cond| Tier { cond, kernel: FuncId(0), workspace: None, span: at(0) })
        .collect();
    m.tier_sets.push(TierSet { name: "K".to_owned(), selector: Some("n".to_owned()), tiers, span: at(0) });
    m
}

fn decode_tiers() -> Module {
    let up_to = |n| Some(op(BinOp::Le, selector(U32), u(n)));
    with_tiers(vec![up_to(2048), up_to(8192), up_to(65536), None])
}

/// The tier of `PTO_SELECT_TIER` at run time and folded, which must agree.
fn select(m: &Module, value: Expr) -> Result<u32, String> {
    let mut f = Build::generator();
    let x = f.var("x", value.ty);
    let (pick, x_is) =
        (|e| expr(ExprKind::SelectTier(TierSetId(0), Box::new(e)), U32), expr(ExprKind::Local(x), value.ty));
    let mut with_code = m.clone();
    with_code.functions = vec![f.body(vec![let_(x, value.clone()), emit(vec![pick(x_is), pick(value)])])];
    let tasks = run(&with_code).map_err(|trap| trap.message)?;
    assert_eq!(tasks[0][0], tasks[0][1]);
    Ok(tasks[0][0])
}

/// Whether the tier is found by bisection.
fn is_bisected(m: &Module, ty: ScalarTy) -> bool {
    let env = Env::new(m, Vec::new());
    Compiler::new(m, &env, Role::Summary).thresholds(&m.tier_sets[0], ty).is_some()
}

#[test]
fn the_first_tier_whose_condition_holds_is_taken_at_every_edge() {
    let m = decode_tiers();
    assert!(is_bisected(&m, U32));
    let edges =
        [(0, 0), (1, 0), (2048, 0), (2049, 1), (8192, 1), (8193, 2), (65536, 2), (65537, 3), (u32::MAX, 3)];
    for (value, tier) in edges {
        assert_eq!(select(&m, u(value)), Ok(tier), "{value}");
    }
}

#[test]
fn every_spelling_of_a_threshold_is_bisected() {
    let wide = cast(ScalarTy::U64, selector(U32));
    let m = with_tiers(vec![
        Some(op(BinOp::Lt, selector(U32), u(10))),
        Some(op(BinOp::Ge, u(20), selector(U32))),
        Some(op(BinOp::Gt, int(ScalarTy::U64, 31), wide)),
        None,
    ]);
    assert!(is_bisected(&m, U32));
    for (value, tier) in [(9, 0), (10, 1), (20, 1), (21, 2), (30, 2), (31, 3)] {
        assert_eq!(select(&m, u(value)), Ok(tier), "{value}");
    }
}

#[test]
fn other_conditions_are_tried_one_after_the_other() {
    let even = op(BinOp::Eq, op(BinOp::Rem, selector(U32), u(2)), u(0));
    let m = with_tiers(vec![
        Some(op(BinOp::And, even, op(BinOp::Gt, selector(U32), u(4)))),
        Some(op(BinOp::Le, selector(U32), u(6))),
        None,
    ]);
    assert!(!is_bisected(&m, U32));
    for (value, tier) in [(4, 1), (5, 1), (6, 0), (7, 2), (8, 0)] {
        assert_eq!(select(&m, u(value)), Ok(tier), "{value}");
    }
    // Falling thresholds: the second can never be taken.
    let up_to = |n| Some(op(BinOp::Le, selector(U32), u(n)));
    let m = with_tiers(vec![up_to(20), up_to(10), None]);
    for (value, tier) in [(5, 0), (10, 0), (20, 0), (21, 2)] {
        assert_eq!(select(&m, u(value)), Ok(tier), "{value}");
    }
}

#[test]
fn a_set_without_a_tier_for_a_value_stops_the_run() {
    let m = with_tiers(vec![Some(op(BinOp::Le, selector(U32), u(10)))]);
    assert_eq!(select(&m, u(10)), Ok(0));
    assert_eq!(select(&m, u(11)), Err("no tier of `K` takes 11".to_owned()));
    let m = with_tiers(vec![Some(op(BinOp::Eq, selector(U32), u(10)))]);
    assert_eq!(select(&m, u(10)), Ok(0));
    assert_eq!(select(&m, u(11)), Err("no tier of `K` takes the value".to_owned()));
}

#[test]
fn a_signed_selector_may_be_negative() {
    let ty = ScalarTy::I32;
    let m = with_tiers(vec![
        Some(op(BinOp::Lt, selector(ty), int(ty, -5))),
        Some(op(BinOp::Le, selector(ty), int(ty, 5))),
        None,
    ]);
    assert!(is_bisected(&m, ty));
    for (value, tier) in [(i32::MIN, 0), (-6, 0), (-5, 1), (5, 1), (6, 2)] {
        assert_eq!(select(&m, int(ty, value.into())), Ok(tier));
    }
}
