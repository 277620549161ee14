//! Forms give what their expressions do.

use crate::eval::with_pool;
use crate::tree::{Names, Tree, integer, trees, var};
use proptest::prelude::*;
use wsp_core::ptow::XOp;
use wsp_core::ptow::affine::{Form, VARIABLE_BOUND, affine, is_within_bound};

fn form(tree: &Tree, names: &Names) -> Option<Form> {
    let mut pool = Vec::new();
    tree.emit(&mut pool);
    with_pool(&pool, names, |program, launch| affine(program, launch, 0))
}

fn leaf() -> impl Strategy<Value = Tree> {
    prop_oneof![
        4 => (-9i64..10).prop_map(Tree::Const),
        1 => integer().prop_map(Tree::Const),
        2 => (0..2u32).prop_map(Tree::Value),
        5 => (0..4u32).prop_map(Tree::Var),
    ]
}

/// Sums, differences and products for the most part.
fn sums() -> impl Strategy<Value = Tree> {
    leaf().prop_recursive(5, 24, 2, |inner| {
        let boxed = || inner.clone().prop_map(Box::new);
        let op = prop::sample::select(vec![XOp::XAdd, XOp::XSub, XOp::XMul]);
        prop_oneof![
            8 => (op, boxed(), boxed()).prop_map(|(op, l, r)| Tree::Binary(op, l, r)),
            1 => boxed().prop_map(Tree::Neg),
        ]
    })
}

fn variable() -> impl Strategy<Value = i64> {
    let ends = vec![-VARIABLE_BOUND, VARIABLE_BOUND - 1, 0, 1];
    prop_oneof![prop::sample::select(ends), -VARIABLE_BOUND..VARIABLE_BOUND, -9..10i64]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn a_form_has_the_value_of_its_expression(
        tree in prop_oneof![sums(), trees(leaf())],
        values in prop::collection::vec(prop_oneof![-9..10i64, integer()], 2),
        vars in prop::collection::vec(variable(), 4),
    ) {
        let names = Names { values, vars, tables: vec![vec![3, 1, 4], vec![]], ..Names::default() };
        if let Some(form) = form(&tree, &names) {
            let products = form.scales.iter().zip(&names.vars).map(|(scale, value)| scale * value);
            prop_assert_eq!(Ok(form.offset + products.sum::<i64>()), tree.value(&names));
        }
    }
}

#[test]
fn sums_of_scaled_variables_have_forms() {
    let names = Names { values: vec![64, 1 << 40], tables: vec![vec![7]], ..Names::default() };
    let scaled = Tree::binary(XOp::XMul, Tree::Value(0), Tree::binary(XOp::XSub, var(1), 1));
    let sum = form(&Tree::binary(XOp::XAdd, scaled, var(0)), &names).expect("a form");
    assert_eq!((sum.offset, &sum.scales[..3]), (-64, &[1, 64, 0][..]));
    let chosen = Tree::Choose(Box::new(Tree::Value(0)), Box::new(var(2)), Box::new(var(3)));
    assert_eq!(form(&chosen, &names).expect("a form").scales[2], 1);
    let closed = Tree::binary(XOp::XDiv, Tree::Value(1), Tree::Table(0, Box::new(0.into())));
    assert_eq!(form(&closed, &names), Some(Form::constant((1 << 40) / 7)));
}

#[test]
fn what_is_no_sum_or_may_overflow_has_none() {
    let names = Names { values: vec![1 << 31], tables: vec![vec![7]], ..Names::default() };
    for tree in [
        Tree::binary(XOp::XMul, var(0), var(1)),
        Tree::binary(XOp::XDiv, var(0), 2),
        Tree::binary(XOp::XMul, var(0), Tree::binary(XOp::XAdd, Tree::Value(0), 1)),
        Tree::binary(XOp::XAdd, var(0), Tree::Value(0)),
        Tree::binary(XOp::XAdd, var(0), Tree::Table(0, Box::new(1.into()))),
        Tree::binary(XOp::XAdd, var(0), Tree::Slot(0)),
        Tree::Choose(Box::new(var(0)), Box::new(1.into()), Box::new(2.into())),
    ] {
        assert_eq!(form(&tree, &names), None, "{tree:?}");
    }
}

#[test]
fn variables_of_forms_lie_from_the_bound_below_zero_to_under_the_bound() {
    for (variable, within) in [
        (-VARIABLE_BOUND - 1, false),
        (-VARIABLE_BOUND, true),
        (VARIABLE_BOUND - 1, true),
        (VARIABLE_BOUND, false),
    ] {
        assert_eq!(is_within_bound(variable), within, "{variable}");
    }
}
