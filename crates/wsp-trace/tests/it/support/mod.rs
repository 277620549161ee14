//! Documents for tests.
#![allow(dead_code, reason = "each test file uses its part")]

use serde_json::{Value, json};
use wsp_diag::{Diagnostic, SourceMap, render};
use wsp_trace::Trace;

/// A document with every form in it.
pub(crate) const TOUR: &str = include_str!("../tour/tour.json");

pub(crate) fn tour() -> Value {
    serde_json::from_str(TOUR).expect("the tour is JSON")
}

/// A document with one workload and one kernel `touch(inout x)`, declared only.
pub(crate) fn small(body: Value) -> Value {
    json!({
        "format": "pto-wsp-trace", "version": 1,
        "files": [{"name": "small.py", "text": "one\n  two π three\n"}],
        "spans": [[0, 1, 0, 1, 3], [0, 2, 2, 2, 5], [0, 2, 9, 2, 14]],
        "workload": {
            "params": [{"name": "n"}],
            "tensors": [{"name": "x", "dtype": "f32", "dims": [64], "storage": "argument"}],
            "kernels": [{"name": "touch", "params": [{"name": "x", "kind": "inout"}]}],
            "workloads": [{"name": "main", "params": 0, "body": body}]
        },
        "kernels": [{"body": "none"}]
    })
}

/// A document with a kernel of one view `x[n, 64]`, a tile, an `i64`, and this body.
pub(crate) fn kernel(body: Value) -> Value {
    let mut document = small(json!([]));
    document["kernels"][0] = json!({
        "body": "compiled",
        "views": [{"name": "x", "dtype": "f32", "keep": [0], "extents": [null]}],
        "fields": [{"name": "rows", "view": 0, "dim": 0}],
        "function": {"name": "touch", "locals": [
            {"name": "task", "ty": "descriptor"},
            {"name": "t", "ty": "tile", "rows": 1, "cols": 64, "elem": "f32", "role": "vec"},
            {"name": "i", "ty": "i64"},
            {"name": "f", "ty": "f32"}
        ], "body": body}
    });
    document
}

pub(crate) fn read(document: &Value) -> Result<Trace, (SourceMap, Vec<Diagnostic>)> {
    wsp_trace::read(document.to_string().as_bytes())
}

/// The value of a document that has no faults.
pub(crate) fn good(document: &Value) -> Trace {
    read(document).unwrap_or_else(|(sources, found)| {
        panic!("{}", found.iter().map(|d| render(d, &sources, false)).collect::<String>())
    })
}

/// The findings of a document that has some.
pub(crate) fn faults(document: &Value) -> (SourceMap, Vec<Diagnostic>) {
    read(document).expect_err("the document should have faults")
}

/// The only finding, as text.
pub(crate) fn fault_text(document: &Value) -> String {
    let (sources, found) = faults(document);
    assert_eq!(found.len(), 1, "{found:?}");
    render(&found[0], &sources, false)
}
