//! Mutated documents: a value or findings, never a panic.

use crate::support::{TOUR, tour};
use proptest::prelude::*;
use serde_json::{Value, json};
use wsp_diag::{lookup, render};
use wsp_trace::{kernel_text, workload_text};

/// Reads bytes, and uses what comes of them.
fn check(bytes: &[u8]) {
    match wsp_trace::read(bytes) {
        Ok(trace) => {
            workload_text(&trace);
            (0..trace.bodies.len()).for_each(|kernel| drop(kernel_text(&trace, kernel)));
        }
        Err((sources, found)) => {
            assert!(found.iter().any(|d| d.is_error()));
            for diagnostic in found {
                assert!(
                    lookup(&[wsp_ir::CODES, wsp_trace::CODES], diagnostic.code).is_some(),
                    "{} is in no catalog",
                    diagnostic.code
                );
                render(&diagnostic, &sources, false);
            }
        }
    }
}

/// Every value of a document, outermost first.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(fields) => fields.values().map(count).sum(),
        _ => 0,
    }
}

/// The value with this number, in the order of [`count`].
fn nth<'v>(value: &'v mut Value, left: &mut usize) -> Option<&'v mut Value> {
    if *left == 0 {
        return Some(value);
    }
    *left -= 1;
    match value {
        Value::Array(items) => items.iter_mut().find_map(|item| nth(item, left)),
        Value::Object(fields) => fields.values_mut().find_map(|item| nth(item, left)),
        _ => None,
    }
}

/// Values that stand at wrong places.
fn stranger() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        Just(json!([])),
        Just(json!({})),
        any::<bool>().prop_map(Value::from),
        (0u32..20).prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z_]{0,6}".prop_map(Value::from),
        Just(json!({"k": "var", "id": 1})),
        Just(json!({"k": "slot", "id": 0})),
        Just(json!({"k": "return"})),
    ]
}

#[test]
fn numbers_reach_every_value() {
    let mut document = tour();
    let total = count(&document);
    for n in 0..total {
        let mut left = n;
        assert!(nth(&mut document, &mut left).is_some(), "{n} of {total}");
    }
    assert!(nth(&mut document, &mut { total }).is_none());
}

proptest! {
    #[test]
    fn other_values_in_a_document(changes in prop::collection::vec((any::<prop::sample::Index>(), stranger()), 1..4)) {
        let mut document = tour();
        for (place, value) in changes {
            let mut left = place.index(count(&document));
            if let Some(found) = nth(&mut document, &mut left) {
                *found = value;
            }
        }
        check(document.to_string().as_bytes());
    }

    #[test]
    fn parts_of_a_document_at_other_places(from in any::<prop::sample::Index>(), to in any::<prop::sample::Index>()) {
        let mut document = tour();
        let total = count(&document);
        let part = nth(&mut document, &mut from.index(total)).cloned();
        if let (Some(part), Some(place)) = (part, nth(&mut document, &mut to.index(total))) {
            *place = part;
        }
        check(document.to_string().as_bytes());
    }

    #[test]
    fn other_bytes_in_a_document(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut bytes = TOUR.as_bytes().to_vec();
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        check(&bytes);
    }

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..256)) {
        check(&bytes);
    }
}
