//! Documents that are none: each rule broken once, and what is said of it.

use crate::support::{fault_text, faults, good, kernel, small, tour};
use serde_json::{Value, json};
use wsp_diag::{Code, Diagnostic};

/// The only finding of a document.
fn fault(document: &Value) -> Diagnostic {
    let (_, mut found) = faults(document);
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

/// The only finding of bytes.
fn bytes_fault(bytes: &[u8]) -> Diagnostic {
    let (_, mut found) = wsp_trace::read(bytes).expect_err("no document");
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

/// A small document in which the value at a place is another; `null` takes a field away.
fn with(place: &str, value: Value) -> Value {
    let mut document = small(json!([{"k": "task", "kernel": 0, "args": [{"tensor": 0}], "s": 1}]));
    *document.pointer_mut(place).unwrap_or_else(|| panic!("no {place}")) = value;
    document
}

/// Code, message and notes of the only finding of [`with`].
fn said(place: &str, value: Value) -> (u16, String, Vec<String>) {
    let found = fault(&with(place, value));
    (found.code.0, found.message, found.notes)
}

#[test]
fn what_is_not_json_is_said_with_line_and_column() {
    for (bytes, message) in [
        (&b""[..], "the trace is not JSON: EOF while parsing a value"),
        (b"pickled", "the trace is not JSON: expected value"),
        (b"{\"format\": \"pto-wsp-trace\", ", "the trace is not JSON: EOF while parsing a value"),
        (b"{} {}", "the trace is not JSON: trailing characters"),
        (b"[1, NaN]", "the trace is not JSON: expected value"),
        (b"[1e999]", "the trace is not JSON: number out of range"),
        (b"[\"\xff\xfe\"]", "the trace is not JSON: invalid unicode code point"),
        (b"\xef\xbb\xbf{}", "the trace is not JSON: expected value"),
    ] {
        let found = bytes_fault(bytes);
        assert_eq!((found.code, &*found.message), (Code(1300), message));
        assert!(found.notes[0].starts_with("line 1, column "), "{:?}", found.notes);
    }
    let found = bytes_fault(b"{\n  \"a\": 1,\n  \"a\": 2\n}");
    assert_eq!((found.code, &*found.message), (Code(1300), "an object has two fields \"a\""));
    assert_eq!(found.notes, ["line 3, column 5 of the document"]);
}

#[test]
fn every_prefix_of_a_document_is_refused() {
    let text = small(json!([])).to_string();
    for end in 0..text.len() {
        // A prefix may end inside a character.
        let found = bytes_fault(&text.as_bytes()[..end]);
        assert_eq!(found.code, Code(1300), "at {end}");
    }
}

#[test]
fn a_document_that_is_too_large_or_too_deep_is_refused() {
    let spaces = vec![b' '; (64 << 20) + 1];
    let found = bytes_fault(&spaces);
    assert_eq!(found.code, Code(1301));
    assert_eq!(found.message, "the trace has 67108865 bytes; at most 67108864 are read");

    let many = format!("[{}0]", "0,".repeat(9 << 20));
    let found = bytes_fault(many.as_bytes());
    assert_eq!((found.code, &*found.message), (Code(1301), "the trace has more than 8388608 values"));

    for deep in ["[".repeat(1 << 20), "{\"a\":".repeat(1 << 20)] {
        let found = bytes_fault(deep.as_bytes());
        assert_eq!(found.code, Code(1301));
        assert_eq!(found.message, "lists and objects of the trace nest more than 1056 deep");
    }

    let fields = (0..40).map(|n| format!("\"f{n}\": 0")).collect::<Vec<_>>().join(", ");
    let found = bytes_fault(format!("{{{fields}}}").as_bytes());
    assert_eq!((found.code, &*found.message), (Code(1301), "an object has more than 32 fields"));
}

#[test]
fn another_format_or_version_is_refused() {
    let (code, message, _) = said("/format", json!("pto-wsp-plan"));
    assert_eq!((code, &*message), (1302, "the format is \"pto-wsp-plan\", not \"pto-wsp-trace\""));
    let (code, message, _) = said("/version", json!(2));
    assert_eq!((code, &*message), (1302, "version 2 of the format is not read here, only 1"));
}

#[test]
fn a_misspelt_field_is_named() {
    let mut document = small(json!([]));
    document["workload"]["tensors"][0]["dtypes"] = json!("f32");
    let found = fault(&document);
    assert_eq!((found.code, &*found.message), (Code(1303), "the field \"dtypes\" is not known here"));
    assert_eq!(
        found.notes,
        [
            "at `workload.tensors[0]` of the trace",
            "fields of this form: `s`, `name`, `dtype`, `dims`, `storage`"
        ]
    );
    assert_eq!(found.help, ["did you mean `dtype`?"]);
}

#[test]
fn a_setting_that_would_be_left_out_is_refused() {
    let mut document = small(json!([]));
    document["workload"]["schedules"] =
        json!([{"name": "", "directives": [{"k": "start", "mode": "immediate", "n": 3}]}]);
    let found = fault(&document);
    assert_eq!((found.code, &*found.message), (Code(1303), "the field \"n\" is not known here"));
    document["workload"]["schedules"][0]["directives"][0]["n"] = Value::Null;
    good(&document);
}

#[test]
fn a_missing_field_is_named() {
    for (place, field) in [
        ("/format", "format"),
        ("/workload", "workload"),
        ("/kernels", "kernels"),
        ("/files/0/text", "text"),
        ("/workload/tensors/0/dtype", "dtype"),
        ("/workload/tensors/0/storage", "storage"),
        ("/workload/kernels/0/params", "params"),
        ("/workload/workloads/0/body/0/k", "k"),
        ("/workload/workloads/0/body/0/kernel", "kernel"),
        ("/workload/workloads/0/body/0/args/0/tensor", "tensor"),
        ("/kernels/0/body", "body"),
    ] {
        let (code, message, _) = said(place, Value::Null);
        assert_eq!((code, message), (1304, format!("the field `{field}` is missing")), "{place}");
    }
}

#[test]
fn a_value_of_another_type_is_named() {
    let cases = [
        ("/version", json!("1"), "expected a whole number from 0 to 4294967295, found the text \"1\""),
        ("/files", json!({}), "expected a list, found an object"),
        ("/files/0", json!(3), "expected an object, found 3"),
        ("/spans/0", json!([0, 1]), "expected a file, and line and column of both ends, found a list of 2"),
        ("/spans/0/1", json!(0), "lines count from 1, and this one is 0"),
        ("/spans/0/1", json!(-1), "expected a whole number from 0 to 4294967295, found -1"),
        ("/workload/params/0/name", json!(7), "expected a text, found 7"),
        ("/workload/tensors/0/dims/0", json!(1.5), "expected an object, found 1.5"),
        (
            "/workload/tensors/0/dims/0",
            json!(u64::MAX),
            "expected a whole number of 64 bits, found 18446744073709551615",
        ),
        ("/workload/tensors/0/dims/0", json!(1e300), "expected an object, found 1e300"),
        (
            "/workload/workloads/0/body/0/kernel",
            json!(65536),
            "expected a whole number from 0 to 65535, found 65536",
        ),
        (
            "/workload/workloads/0/body/0/kernel",
            json!(true),
            "expected a whole number from 0 to 65535, found true",
        ),
        (
            "/workload/workloads/0/body/0/args/0/tensor",
            json!(1_u64 << 32),
            "expected a whole number from 0 to 4294967295, found 4294967296",
        ),
    ];
    for (place, value, expected) in cases {
        let (code, message, _) = said(place, value);
        assert_eq!((code, &*message), (1305, expected), "{place}");
    }
}

#[test]
fn an_unknown_word_is_named_with_those_that_are() {
    let found = fault(&with("/workload/tensors/0/dtype", json!("bf61")));
    assert_eq!((found.code, &*found.message), (Code(1306), "\"bf61\" is not known here"));
    assert_eq!(
        found.notes[1],
        "known are `f32`, `f64`, `f16`, `bf16`, `u8`, `u16`, `i32`, `u32`, `i64`, `u64`, `f8e4m3`, `f8e5m2`, `i8`, `i16`, `bool`"
    );
    assert_eq!(found.help, ["did you mean `bf16`?"]);
    for place in [
        "/workload/tensors/0/storage",
        "/workload/kernels/0/params/0/kind",
        "/workload/workloads/0/body/0/k",
        "/kernels/0/body",
    ] {
        let (code, message, notes) = said(place, json!("mislaid"));
        assert_eq!((code, &*message), (1306, "\"mislaid\" is not known here"), "{place}");
        let way = place[1..].replace("/0", "[0]").replace('/', ".");
        assert_eq!(notes[0], format!("at `{way}` of the trace"));
    }
}

#[test]
fn a_place_or_file_that_does_not_exist_is_refused() {
    let (code, message, notes) = said("/workload/workloads/0/body/0/s", json!(3));
    assert_eq!((code, &*message), (1307, "place 3 does not exist; there are 3"));
    assert_eq!(notes, ["at `workload.workloads[0].body[0].s` of the trace"]);
    let (code, message, _) = said("/spans/0/0", json!(1));
    assert_eq!((code, &*message), (1307, "file 1 does not exist; there are 1"));
}

#[test]
fn more_formal_arguments_than_variables_are_refused() {
    let (code, message, _) = said("/workload/workloads/0/params", json!(2));
    assert_eq!((code, &*message), (1307, "2 formal arguments, but 0 variables"));
}

#[test]
fn lists_and_names_that_are_long_in_no_program_are_refused() {
    let mut document = small(json!([]));
    document["workload"]["workloads"][0]["vars"] = json!(vec![json!({"name": "a"}); 300]);
    document["workload"]["workloads"][0]["params"] = json!(300);
    let found = fault(&document);
    assert_eq!(
        (found.code, &*found.message),
        (Code(1301), "there are 300 formal arguments; a trace has at most 256")
    );

    let mut document = small(json!([]));
    document["workload"]["schedules"] = json!([{"directives": vec![json!({"k": "streams", "n": 1}); 257]}]);
    let found = fault(&document);
    assert_eq!(
        (found.code, &*found.message),
        (Code(1301), "there are 257 directives; a trace has at most 256")
    );

    let (code, message, _) = said("/workload/kernels/0/name", json!("k".repeat(2000)));
    assert_eq!(code, 1301);
    assert!(message.ends_with("has 2000 bytes; at most 1024 are read"), "{message}");
}

#[test]
fn ids_of_the_workload_are_checked_by_its_verifier() {
    let found = fault(&with("/workload/workloads/0/body/0/kernel", json!(7)));
    assert_eq!(found.code, Code(761));
    assert_eq!(found.message, "kernel 7 does not exist; there are 1");
}

#[test]
fn a_body_that_does_not_fit_its_kernel_is_refused() {
    let (code, message, _) = said("/kernels", json!([]));
    assert_eq!((code, &*message), (1308, "there are 0 bodies for 1 kernels"));
    let (code, message, _) = said("/kernels/0", json!({"body": "library"}));
    assert_eq!(
        (code, &*message),
        (1308, "the kernel `touch` is declared, and its body is that of a library")
    );

    let mut document = kernel(json!([]));
    document["kernels"][0]["views"] = json!([]);
    let found = fault(&document);
    assert_eq!((found.code, &*found.message), (Code(1308), "there are 0 views for 1 tensor parameters"));
    for (keep, extents, message) in [
        (json!([]), json!([]), "the view `x` keeps the dimensions []"),
        (json!([1, 0]), json!([null, 4]), "the view `x` keeps the dimensions [1, 0]"),
        (json!([0, 0]), json!([null, 4]), "the view `x` keeps the dimensions [0, 0]"),
        (json!([200]), json!([null]), "the view `x` keeps the dimensions [200]"),
        (json!([0, 1]), json!([4]), "the view `x` keeps 2 dimensions, and has 1 extents"),
    ] {
        let mut document = kernel(json!([]));
        document["kernels"][0]["views"][0]["keep"] = keep;
        document["kernels"][0]["views"][0]["extents"] = extents;
        let found = fault(&document);
        assert_eq!((found.code, &*found.message), (Code(1308), message));
    }
}

#[test]
fn a_field_of_the_descriptor_comes_from_something() {
    for (field, message) in [
        (json!({"name": "n", "scalar": 0}), "scalar parameter 0 does not exist; there are 0"),
        (json!({"name": "n", "view": 1, "dim": 0}), "view 1 does not exist; there are 1"),
        (json!({"name": "n", "view": 0, "dim": 1}), "kept dimension 1 does not exist; there are 1"),
    ] {
        let mut document = kernel(json!([]));
        document["kernels"][0]["fields"] = json!([field]);
        let found = fault(&document);
        assert_eq!((found.code, &*found.message), (Code(1307), message));
    }
}

#[test]
fn a_kernel_is_checked_by_the_verifier_of_kernels() {
    let found = fault(&kernel(json!([{"k": "break", "s": 1}])));
    assert_eq!(found.code, Code(317));
    assert!(found.notes.contains(&"in kernel `touch`".to_owned()), "{:?}", found.notes);
    let found = fault(&kernel(json!([{"k": "let", "local": 9}])));
    assert_eq!(found.code, Code(301));
    // The first variable is the descriptor.
    let mut document = kernel(json!([]));
    document["kernels"][0]["function"]["locals"] = json!([]);
    assert!(faults(&document).1.iter().any(|found| found.code == Code(309)));
}

#[test]
fn numbers_of_kernels_are_values_of_their_type() {
    let assign = |value: Value| kernel(json!([{"k": "assign", "local": 3, "value": value}]));
    let found = fault(&assign(json!({"k": "float", "v": 1e300, "ty": "f32"})));
    assert_eq!((found.code, &*found.message), (Code(1305), "1e300 is past the largest value of `f32`"));
    let found = fault(&assign(json!({"k": "float", "v": "NaN", "ty": "f32"})));
    assert_eq!((found.code, &*found.message), (Code(1306), "\"NaN\" is not known here"));
    for value in [json!("nan"), json!("-inf"), json!(0.1), json!(3), json!(u64::MAX), json!(-7)] {
        good(&assign(json!({"k": "float", "v": value, "ty": "f32"})));
    }
    let found = fault(&kernel(json!([
        {"k": "assign", "local": 2, "value": {"k": "int", "v": u64::MAX, "ty": "i64"}}
    ])));
    assert_eq!(found.code, Code(329));
}

#[test]
fn a_fault_shows_the_users_line() {
    let mut document = small(
        json!([{"k": "task", "kernel": 0, "args": [{"tensor": 0, "ranges": [{"k": "indes", "i": 0}]}], "s": 1}]),
    );
    assert_eq!(
        fault_text(&document),
        "error[WSP1306]: \"indes\" is not known here\n \
          --> small.py:2:3\n  \
           |\n\
         2 |   two π three\n  \
           |   ^^^\n  \
           |\n  \
           = note: at `workload.workloads[0].body[0].args[0].ranges[0].k` of the trace\n  \
           = note: known are `whole`, `index`, `range`, `sized`\n  \
           = help: did you mean `index`?\n"
    );
    document["workload"]["workloads"][0]["body"] = json!([]);
    document["workload"]["params"][0]["extra"] = json!(1);
    assert!(!fault_text(&document).contains("small.py"), "a fault without a place shows no line");
}

#[test]
fn files_are_there_when_the_rest_is_not() {
    let (sources, _) = faults(&with("/workload", json!(3)));
    assert_eq!(sources.file(wsp_diag::FileId(0)).map(|file| &*file.name), Some("small.py"));
}

#[test]
fn a_workload_without_anything_to_run_is_a_value() {
    let mut document = tour();
    document["workload"] = json!({});
    document["kernels"] = json!([]);
    let trace = good(&document);
    assert_eq!(wsp_trace::workload_text(&trace), "");
}
