//! Places: where findings of the verifiers stand in the user's source.

use crate::support::{faults, good, kernel, small};
use serde_json::json;
use wsp_diag::to_json;
use wsp_ir::workload::{ArgValue, NodeKind};

#[test]
fn columns_are_bytes_in_the_trace_and_characters_in_findings() {
    let document = small(json!([{"k": "task", "kernel": 0, "s": 2, "args": []}]));
    let (sources, found) = faults(&document);
    let shown = to_json(&found[0], &sources);
    assert_eq!((&shown["code"], &shown["file"]), (&json!("WSP0772"), &json!("small.py")));
    // `π` is two bytes and one character.
    assert_eq!((&shown["line"], &shown["column"]), (&json!(2), &json!(9)));
    assert_eq!((&shown["end_line"], &shown["end_column"]), (&json!(2), &json!(14)));
}

#[test]
fn what_has_no_place_has_that_of_the_form_around_it() {
    let access = json!({"tensor": 0, "ranges": [{"k": "index", "i": {"k": "add", "a": 1, "b": {"k": "var", "id": 0, "s": 2}}}]});
    let mut document = small(json!([{"k": "parallel_for", "var": 0, "s": 0,
        "over": {"k": "range", "lo": 0, "hi": 4}, "body": [{"k": "task", "kernel": 0, "s": 1, "args": [access]}]}]));
    document["workload"]["workloads"][0]["vars"] = json!([{"name": "i"}]);
    let trace = good(&document);
    let cut = |span: wsp_diag::Span| {
        trace.sources.file(span.file).map(|f| &f.text[span.start as usize..span.end as usize])
    };
    let outer = &trace.workload.workloads[0].body[0];
    let NodeKind::ParallelFor { body, .. } = &outer.kind else { panic!("{outer:?}") };
    let NodeKind::Task(task) = &body[0].kind else { panic!("{body:?}") };
    let ArgValue::Access(access) = &task.args[0].value else { panic!("{task:?}") };
    let wsp_ir::workload::DimRange::Index(sum) = &access.ranges[0] else { panic!("{access:?}") };
    let wsp_ir::workload::IntExprKind::Binary(_, _, var) = &sum.kind else { panic!("{sum:?}") };
    assert_eq!(cut(outer.span), Some("one"));
    assert_eq!(cut(access.span), Some("two"));
    assert_eq!(cut(sum.span), Some("two"));
    assert_eq!(cut(var.span), Some("three"));
    assert_eq!(cut(trace.workload.workloads[0].span), None);
}

#[test]
fn a_finding_without_a_place_has_none() {
    let (sources, found) = faults(&small(json!([{"k": "task", "kernel": 0, "args": []}])));
    assert_eq!(to_json(&found[0], &sources)["line"], json!(null));
    let mut document = small(json!([]));
    document["workload"]["workloads"][0]["params"] = json!(1);
    document["workload"]["workloads"][0]["vars"] = json!([{"name": "n"}]);
    let (sources, found) = faults(&document);
    assert_eq!(to_json(&found[0], &sources)["code"], json!("WSP0781"));
    assert_eq!(to_json(&found[0], &sources)["line"], json!(null));
}

#[test]
fn a_finding_in_a_kernel_stands_at_its_statement() {
    let wrong =
        json!({"k": "assign", "local": 3, "s": 1, "value": {"k": "int", "v": 1, "ty": "i64", "s": 2}});
    let (sources, found) = faults(&kernel(json!([wrong])));
    let shown = to_json(&found[0], &sources);
    assert_eq!((&shown["code"], &shown["line"]), (&json!("WSP0319"), &json!(2)));
}

#[test]
fn places_outside_their_file_are_moved_to_its_end() {
    let mut document = small(json!([{"k": "task", "kernel": 0, "s": 0, "args": []}]));
    let max = u32::MAX;
    for place in [json!([0, 1, 9999, 1, 99999]), json!([0, 900, 0, 901, 3]), json!([0, max, max, max, max])] {
        document["spans"][0] = place;
        let (sources, found) = faults(&document);
        assert!(wsp_diag::render(&found[0], &sources, false).contains("small.py"));
    }
}
