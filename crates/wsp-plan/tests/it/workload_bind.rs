//! What binding accepts, what it refuses, and what it says then.

use crate::workload_support::{module, try_bind};
use wsp_core::{ParamId, SlotId, TableId, TensorId};
use wsp_diag::{Code, Diagnostic};
use wsp_ordered::OrderedMap;
use wsp_plan::ParamValue;
use wsp_plan::workload::bind;

fn refused(source: &str, set: &[(&str, i64)], tables: &[(&str, &[i64])]) -> Vec<Diagnostic> {
    try_bind(&module(source), set, tables).expect_err("it should be refused")
}

#[track_caller]
fn check(source: &str, set: &[(&str, i64)], tables: &[(&str, &[i64])], code: u16, parts: &[&str]) {
    let found = refused(source, set, tables);
    assert_eq!(found.iter().map(|d| d.code).collect::<Vec<_>>(), [Code(code)], "{found:?}");
    let text = format!("{:?}", found[0]);
    for part in parts {
        assert!(text.contains(part), "{part}: {text}");
    }
}

const RAGGED: &str = "param n = 3; table lens[n]; axis b = dense(n); axis t = ragged(b, lens); kernel k();";
const SPARSE: &str = "table p; table c; axis i = dense(2); axis j = sparse(i, p, c); kernel k();";

#[test]
fn defaults_derived_values_tables_and_slots_follow() {
    let module = module(
        "param a = 4; param b = a * 2; let c = a + b; table t[c] = [1, 2]; tensor x: f32[c, 3]; slot s = c - 1;",
    );
    let twelve: Vec<i64> = (0..15).collect();
    let bindings = try_bind(&module, &[("a", 9), ("a", 5)], &[("t", &twelve)]).expect("all fits");
    let params: Vec<i64> = (0..3).map(|n| bindings.param(ParamId(n))).collect();
    assert_eq!(params, [5, 10, 15]);
    assert_eq!(bindings.table(TableId(0)), twelve);
    assert_eq!(bindings.shape(TensorId(0)), [15, 3]);
    assert_eq!(bindings.slot(SlotId(0)), 14);
}

#[test]
fn unknown_names_are_told_with_what_was_meant() {
    let source = "param batch = 1; table lens = [1]; kernel k();";
    check(source, &[("bacth", 1)], &[], 800, &["no parameter `bacth`", "did you mean `batch`?"]);
    check(source, &[("zzz", 1)], &[], 800, &["the parameters are `batch`"]);
    check(source, &[("lens", 1)], &[], 800, &["is a table: bind it with `--input lens=FILE.npy`"]);
    check(source, &[], &[("batch", &[1])], 800, &["is a parameter: set it with `--set batch=N`"]);
    check(source, &[], &[("lenz", &[1])], 800, &["did you mean `lens`?"]);
    check("kernel k();", &[("n", 1)], &[], 800, &["the workload has no parameters"]);
}

#[test]
fn everything_that_is_missing_is_named_at_once() {
    let source = "param a; param b = 1; param c; table t; table u = [1];";
    let parts = ["`a`, `c`, `t` have no value", "add `--set a=N --set c=N --input t=FILE.npy`"];
    check(source, &[], &[], 801, &parts);
    check(source, &[("a", 1), ("c", 1)], &[], 801, &["`t` has no value"]);
}

#[test]
fn values_of_a_wrong_kind_are_refused() {
    check("param a = 1; let b = a;", &[("b", 1)], &[], 802, &["`b` is derived"]);
    let module = module("param a = 1;");
    for value in [ParamValue::Float(1.5), ParamValue::Bool(true), ParamValue::Int(1 << 64)] {
        let found = bind(&module, &[("a".to_owned(), value)], &OrderedMap::new()).expect_err("no integer");
        assert_eq!(found[0].code, Code(802));
    }
}

#[test]
fn tables_have_the_declared_length() {
    check("param n = 2; table t[n];", &[], &[("t", &[1])], 803, &["has 1 element, not 2"]);
    check("param n = 2; table t[n] = [1, 2, 3];", &[], &[], 803, &["has 3 elements, not 2"]);
    let loose = "table lens; axis b = dense(3); axis t = ragged(b, lens);";
    check(loose, &[], &[("lens", &[1, 2])], 803, &["one length per outer index"]);
    check(SPARSE, &[], &[("p", &[0, 1]), ("c", &[5])], 803, &["not 3", "one more"]);
}

#[test]
fn lengths_are_not_negative() {
    check(RAGGED, &[], &[("lens", &[1, -4, -2])], 804, &["element 1 is -4", "2 elements negative"]);
    check("param n; axis d = dense_dyn(n);", &[("n", -1)], &[], 804, &["`n` is -1"]);
    assert!(try_bind(&module(RAGGED), &[], &[("lens", &[0, 0, 9])]).is_ok());
    assert!(try_bind(&module(RAGGED), &[("n", 0)], &[("lens", &[])]).is_ok());
}

#[test]
fn row_pointers_rise_within_the_columns() {
    let columns: (&str, &[i64]) = ("c", &[4, 5, 6]);
    check(SPARSE, &[], &[("p", &[0, 2, 1]), columns], 805, &["element 1 is 2, and element 2 is 1"]);
    check(SPARSE, &[], &[("p", &[0, 2, 4]), columns], 805, &["element 2 is 4", "3 entries"]);
    check(SPARSE, &[], &[("p", &[-1, 2, 3]), columns], 805, &["element 0 is -1"]);
    assert!(try_bind(&module(SPARSE), &[], &[("p", &[0, 0, 3]), columns]).is_ok());
}

#[test]
fn extents_and_sizes_are_in_range() {
    let x = "param n; tensor x: f32[n];";
    check(x, &[("n", -1)], &[], 806, &["dimension 0 of tensor `x` has extent -1"]);
    check(x, &[("n", 1 << 32)], &[], 806, &["4294967296"]);
    assert!(try_bind(&module(x), &[("n", (1 << 32) - 1)], &[]).is_ok());
    let cube = "param n; tensor x: f32[n, n, n];";
    check(cube, &[("n", 1 << 21)], &[], 807, &["[2097152, 2097152, 2097152]"]);
    assert!(try_bind(&module("tensor x: f32[4000000000, 4000000000, 0];"), &[], &[]).is_err());
}

#[test]
fn launch_time_faults_are_told() {
    check("param n = 0; let m = 1 / n;", &[], &[], 811, &["the dividend is 1"]);
    check("param n = 0; tensor x: f32[5 % n];", &[], &[], 811, &[]);
    check("param n = 0; table t = [1]; axis a = dense(t[1 + n]);", &[], &[], 812, &["table `t`"]);
    check("param n; slot s = n * n;", &[("n", i64::MAX)], &[], 810, &["`*` overflows"]);
}

/// `v` as a sum or a product of thousands of terms, divided by what it is to be less what it should be.
fn long(first: i64, operator: &str, terms: impl Iterator<Item = i64>, is: i64) -> String {
    let terms: String = terms.map(|term| format!(" {operator} {term}")).collect();
    format!("param a; let v = {first} + a{terms}; slot s = 1 / (v - {is});")
}

#[test]
fn long_sums_are_computed_from_left_to_right() {
    let odd = || (0..5000).map(|i| 2 * i + 1);
    check(&long(7, "-", odd(), 7 - 25_000_000), &[("a", 0)], &[], 811, &["the dividend is 1"]);
    // Terms that cancel, or add up to too much by themselves, give no overflow in their order.
    let huge = || (0..5000).map(|i| if i % 2 == 0 { -i64::MAX } else { i64::MAX });
    check(&long(5, "+", huge(), 5), &[("a", 0)], &[], 811, &["the dividend is 1"]);
    check(&long(0, "-", (0..200).map(|_| 1), 0), &[("a", i64::MIN + 150)], &[], 810, &["`-` overflows"]);
    let products = format!("param a; let v = a{} % 1000; slot s = 1 / (v - 24);", " * 2 / 2".repeat(4000));
    check(&products, &[("a", 7024)], &[], 811, &["the dividend is 1"]);
}
