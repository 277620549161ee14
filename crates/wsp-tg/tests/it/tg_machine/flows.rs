//! What nodes must see that no edge says: found for emitted C++, and left out elsewhere.

use super::source::{FORMS, checked, module};
use wsp_ir::tg::Signatures;
use wsp_tg::plan::{EdgeKind, Flow};
use wsp_tg::{ElaborateOptions, elaborate};

fn flows(text: &str, options: &ElaborateOptions) -> Option<Vec<Flow>> {
    checked(elaborate(&module(text), &Signatures::new(), options), text).graphs[0].flows.clone()
}

/// A loop that runs at run time, with a kernel bound at an offset.
fn rounds(offset: &str) -> String {
    let kernel = format!("TG_KERNEL(A, k, 1, AIV, 0)\nMC_BIND(A, 0, T, {offset}, 8)\n");
    format!(
        "extern T: i64[64]\nextern U: i64[1]\nTG_BEGIN(G)\nCF_LOOP(load(U), i)\n{kernel}CF_ENDLOOP\nTG_END(G)\n"
    )
}

#[test]
fn flows_are_found_where_they_are_asked_for() {
    assert_eq!(flows(&rounds("0"), &ElaborateOptions::default()), None);
    let found = flows(&rounds("0"), &FORMS[0]).expect("flows were asked for");
    assert!(found.iter().any(|flow| flow.kind == EdgeKind::Carried), "{found:?}");
    assert_eq!(flows(&rounds("i * 8"), &FORMS[0]), Some(Vec::new()));
}

#[test]
fn bytes_whose_places_take_more_than_128_bits_may_meet() {
    let huge = 1i64 << 62;
    for factor in [4, 2, -4] {
        let found = flows(&rounds(&format!("i * {huge} * {huge} * {factor}")), &FORMS[0]);
        assert_eq!(found.map(|found| found.len()), Some(1), "{factor}");
    }
}
