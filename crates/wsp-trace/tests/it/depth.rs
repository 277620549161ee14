//! Deep documents: what the verifiers take is read and deeper ones are refused, on the stack of a test thread.

use crate::stack::on_a_plain_stack;
use crate::support::{kernel, small};
use serde_json::{Value, json};
use wsp_core::limits::MAX_NESTING;
use wsp_diag::Code;

const TASK: &str = r#"{"k": "task", "kernel": 0, "args": [{"tensor": 0}]}"#;
const ONE: &str = r#"{"k": "float", "v": 1, "ty": "f32"}"#;

/// `inner` between `depth` times what stands before and behind it.
fn nested(depth: u32, before: &str, inner: &str, behind: &str) -> String {
    let times = depth as usize;
    [&before.repeat(times), inner, &behind.repeat(times)].concat()
}

/// A document with a text in place of the value `"@"`.
fn filled(document: &Value, text: &str) -> String {
    document.to_string().replace("\"@\"", text)
}

/// The code of the first error in a document, if there is one.
fn code(document: String) -> Option<Code> {
    wsp_trace::read(document.as_bytes()).err().map(|(_, found)| found[0].code)
}

/// A document whose statements nest `depth` deep; each loop has a variable of its own.
fn loops(depth: u32) -> String {
    let loops = depth - 1;
    let head = |var| {
        format!(
            r#"{{"k": "parallel_for", "var": {var}, "over": {{"k": "range", "lo": 0, "hi": 1}}, "body": ["#
        )
    };
    let heads: String = (0..loops).map(head).collect();
    let mut document = small(json!(["@"]));
    let vars: Vec<Value> = (0..loops).map(|n| json!({"name": format!("i{n}")})).collect();
    document["workload"]["workloads"][0]["vars"] = json!(vars);
    filled(&document, &[&heads, TASK, &"]}".repeat(loops as usize)].concat())
}

#[test]
fn statements_nest_as_deep_as_the_verifier_allows() {
    on_a_plain_stack(|| {
        assert_eq!(code(loops(MAX_NESTING)), None);
        assert_eq!(code(loops(MAX_NESTING + 1)), Some(Code(760)));
    });
}

#[test]
fn blocks_of_blocks_nest_as_deep_as_the_verifier_allows() {
    on_a_plain_stack(|| {
        let combined = |depth| {
            let text = nested(depth, r#"{"k": "combine", "blocks": [["#, TASK, "]]}");
            filled(&small(json!(["@"])), &text)
        };
        assert_eq!(code(combined(MAX_NESTING - 1)), None);
        assert_eq!(code(combined(MAX_NESTING)), Some(Code(760)));
        assert_eq!(code(combined(300)), Some(Code(760)));
        assert_eq!(code(combined(400)), Some(Code(1301)));
    });
}

#[test]
fn expressions_nest_as_deep_as_the_verifier_allows() {
    on_a_plain_stack(|| {
        let mut document = small(json!([]));
        document["workload"]["params"] = json!([{"name": "n", "value": "@"}]);
        let deep = |depth| filled(&document, &nested(depth - 1, r#"{"k": "add", "b": 1, "a": "#, "1", "}"));
        assert_eq!(code(deep(MAX_NESTING)), None);
        assert_eq!(code(deep(MAX_NESTING + 1)), Some(Code(760)));
        assert_eq!(code(deep(900)), Some(Code(1301)));
        assert_eq!(code(deep(100_000)), Some(Code(1301)));
    });
}

#[test]
fn chains_have_any_number_of_operands() {
    on_a_plain_stack(|| {
        let ops = vec!["add"; 10_000];
        let mut document = small(json!([]));
        let mut whole = |ops: &[&str], of: usize| {
            document["workload"]["params"] =
                json!([{"name": "n", "value": {"k": "chain", "ops": ops, "of": vec![1; of]}}]);
            code(document.to_string())
        };
        assert_eq!(whole(&ops, 10_001), None);
        assert_eq!(whole(&ops, 10_000), Some(Code(1305)));
        assert_eq!(whole(&ops, 0), Some(Code(1305)));
        assert_eq!(whole(&["add", "mul"], 3), Some(Code(764)));
        assert_eq!(whole(&["plus"], 2), Some(Code(1306)));
        let one: Value = serde_json::from_str(ONE).expect("it is JSON");
        let chain = |operand: Value| {
            let of: Vec<Value> = [operand].into_iter().chain(vec![one.clone(); 10_000]).collect();
            let value = json!({"k": "chain", "ops": ops, "of": of, "ty": "f32"});
            code(kernel(json!([{"k": "assign", "local": 3, "value": value}])).to_string())
        };
        assert_eq!(chain(one.clone()), None);
        assert_eq!(chain(json!({"k": "int", "v": 1, "ty": "i64"})), Some(Code(310)));
    });
}

#[test]
fn kernels_nest_as_deep_as_the_verifier_allows() {
    on_a_plain_stack(|| {
        let exprs = |depth| {
            let before = format!(r#"{{"k": "add", "ty": "f32", "b": {ONE}, "a": "#);
            let document = kernel(json!([{"k": "assign", "local": 3, "value": "@"}]));
            filled(&document, &nested(depth, &before, ONE, "}"))
        };
        let blocks = |depth| {
            let before = r#"{"k": "if", "cond": {"k": "bool", "v": true}, "then": ["#;
            filled(&kernel(json!(["@"])), &nested(depth, before, r#"{"k": "return"}"#, "]}"))
        };
        let most = 4 * MAX_NESTING;
        for (good, deep, deeper) in
            [(exprs(most - 2), exprs(most), exprs(1000)), (blocks(most - 2), blocks(most), blocks(530))]
        {
            assert_eq!(code(good), None);
            assert_eq!(code(deep), Some(Code(300)));
            assert_eq!(code(deeper), Some(Code(1301)));
        }
    });
}
