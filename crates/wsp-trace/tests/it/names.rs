//! Names of a front end: what the module calls them, and that its text reads as itself.

use crate::said::said;
use crate::support::{faults, good, small};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};
use wsp_diag::{Code, SourceMap, render};
use wsp_ir::workload::text;
use wsp_trace::{Trace, workload_text};

/// A document with a thing of each kind; `name` gives the names in turn, in place of each `"@"`.
fn named(mut name: impl FnMut() -> String) -> Value {
    let mut pieces = include_str!("names/template.json").split("\"@\"");
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        text.push_str(&json!(name()).to_string());
        text.push_str(piece);
    }
    serde_json::from_str(&text).expect("the template is JSON")
}

/// Requires that the printed workload reads as itself, up to the names of variables.
fn assert_reads_as_itself(trace: &Trace) {
    let printed = workload_text(trace);
    let mut sources = SourceMap::default();
    let (module, found) = text::parse("printed.wsp", &printed, &mut sources);
    let shown: String = found.iter().map(|d| render(d, &sources, false)).collect();
    let mut read = module.unwrap_or_else(|| panic!("{printed}\n{shown}"));
    let mut expected = trace.workload.clone();
    for workload in read.workloads.iter_mut().chain(&mut expected.workloads) {
        workload.vars.iter_mut().for_each(|var| var.name.clear());
    }
    assert_eq!(said(&read), said(&expected), "{printed}");
}

#[test]
fn names_that_are_none_of_the_text_are_replaced() {
    let mut document = small(json!([{"k": "task", "kernel": 0, "args": [{"tensor": 0}]}]));
    document["workload"]["tensors"][0]["name"] = json!("π");
    document["workload"]["params"][0]["name"] = json!("slot");
    document["workload"]["kernels"][0]["name"] = json!("model.touch");
    let trace = good(&document);
    assert_eq!(
        workload_text(&trace),
        "param slot_;\n\ntensor u3c0: f32[64];\n\nkernel model_touch(inout x);\n\nworkload main {\n    model_touch(u3c0);\n}\n"
    );
    assert_eq!(trace.names.tensors, ["π"]);
    assert_eq!(trace.names.params, ["slot"]);
    assert_eq!(trace.names.kernels, ["model.touch"]);
    assert_reads_as_itself(&trace);
}

#[test]
fn a_size_and_its_axis_may_share_a_name() {
    let mut document = small(json!([]));
    document["workload"]["axes"] = json!([{"name": "n", "kind": {"k": "dense_dyn", "param": 0}}]);
    let trace = good(&document);
    assert!(workload_text(&trace).starts_with("param n;\n\naxis n_axis = dense_dyn(n);\n"));
    assert_eq!(trace.names.axes, ["n"]);
}

#[test]
fn kernels_made_from_one_function_are_numbered() {
    let mut document = small(json!([]));
    let kernel = document["workload"]["kernels"][0].clone();
    document["workload"]["kernels"] = json!([kernel, kernel]);
    document["kernels"] = json!([{"body": "none"}, {"body": "none"}]);
    let trace = good(&document);
    let names: Vec<&str> = trace.workload.kernels.iter().map(|kernel| &*kernel.name).collect();
    assert_eq!(names, ["touch", "touch_1"]);
    assert_eq!(trace.names.kernels, ["touch", "touch"]);
}

#[test]
fn two_things_that_users_set_have_two_names() {
    for name in ["x", "π"] {
        let mut document = small(json!([]));
        document["workload"]["params"][0]["name"] = json!(name);
        document["workload"]["tensors"][0]["name"] = json!(name);
        let (_, found) = faults(&document);
        assert_eq!(found[0].code, Code(762));
    }
}

#[test]
fn everything_may_be_named_alike_but_what_users_set() {
    for word in ["k", "slot", "π", "3", "", "len", "max"] {
        let mut count = 0;
        let document = named(|| {
            count += 1;
            // The first parameter, the table and the first tensor are set by name.
            if matches!(count, 1 | 3 | 5) { format!("{word}{count}") } else { word.to_owned() }
        });
        assert_reads_as_itself(&good(&document));
    }
}

/// Names that mean something in the text, that are none there, and that meet others.
const WORDS: &[&str] = &[
    "a",
    "b",
    "a_1",
    "a_axis",
    "_",
    "i",
    "π",
    "größe",
    "a.b",
    "a b",
    "1",
    "",
    "\"",
    "/*",
    "\u{0}",
    "in",
    "out",
    "inout",
    "axis",
    "slot",
    "table",
    "tensor",
    "kernel",
    "workload",
    "schedule",
    "use",
    "param",
    "let",
    "call",
    "select",
    "if",
    "else",
    "for",
    "parallel",
    "while",
    "combine",
    "sequential",
    "max",
    "min",
    "len",
    "ceildiv",
    "after",
    "step",
    "on",
    "cost",
    "dense",
    "dense_dyn",
    "ragged",
    "sparse",
    "dispatch",
    "affinity",
    "hybrid",
    "main",
    "pipeline",
    "process",
    "send",
    "consume",
    "channel",
    "as",
    "vector",
    "cube",
    "any",
    "f32",
    "task_graph",
    "deps",
    "timing",
    "spatial_map",
];

proptest! {
    #[test]
    fn any_names_make_a_text_that_reads_as_itself(names in prop::collection::vec(select(WORDS), 32)) {
        let mut next = names.into_iter().cycle();
        let document = named(|| next.next().unwrap_or_default().to_owned());
        match crate::support::read(&document) {
            Ok(trace) => assert_reads_as_itself(&trace),
            // Two things that users set by one name, or a workload `main` that takes arguments.
            Err((_, found)) => {
                let errors: Vec<Code> = found.iter().filter(|d| d.is_error()).map(|d| d.code).collect();
                prop_assert!(errors.iter().all(|code| matches!(code, Code(762 | 781))), "{found:?}");
            }
        }
    }
}
