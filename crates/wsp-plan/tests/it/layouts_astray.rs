//! Layouts: what is not followed across tiles is refused.

use crate::layouts::{SPLIT, SUMS, analysed, analysed_by, program};
use std::collections::BTreeMap;

const ROWS: &str = "PTO_LAYOUT(a, PTO_SHARD(x), PTO_REPLICATE)";
const COLUMNS: &str = "PTO_LAYOUT(a, PTO_REPLICATE, PTO_SHARD(x))";

/// What no tile can work out from what it has, by layouts and the body of a kernel, with the code of the fault.
const ASTRAY: &[(&str, &str, u16)] = &[
    // What a loop adds up over tiles is a part of a sum until it is stored.
    (
        ROWS,
        "VecTile<float, 1, 16> s; TASSIGN(s, 0.0f);
            for (uint32_t i = 0; i < 16; ++i) { TLOAD(row, a, {i, 0}); TADD(s, s, row); }
            TEXP(s, s); TSTORE(out, s, {0, 0});",
        430,
    ),
    (
        ROWS,
        "VecTile<float, 1, 16> s; TASSIGN(s, 0.0f);
            for (uint32_t i = 0; i < 16; ++i) { TLOAD(row, a, {i, 0}); TADD(s, s, row); }
            TLOAD(row, n, {0, 0}); TADD(s, s, row); TSTORE(out, s, {0, 0});",
        430,
    ),
    (
        ROWS,
        "VecTile<float, 1, 16> s; TLOAD(s, n, {0, 0});
            for (uint32_t i = 0; i < 16; ++i) { TLOAD(row, a, {i, 0}); TADD(s, s, row); }
            TSTORE(out, s, {0, 0});",
        431,
    ),
    (
        ROWS,
        "for (uint32_t i = 0; i < 16; ++i) { TLOAD(row, a, {i, 0}); TSTORE(out, row, {0, 0}); }",
        431,
    ),
    (
        "PTO_LAYOUT(a, PTO_SHARD(x), PTO_REPLICATE) PTO_LAYOUT(h, PTO_REPLICATE, PTO_SHARD(x))",
        "VecTile<float, 1, 16> s; TASSIGN(s, 0.0f);
            for (uint32_t i = 0; i < 16; ++i) { TLOAD(row, a, {i, 0}); TADD(s, s, row); }
            TSTORE(h, s, {0, 0});",
        431,
    ),
    (
        "PTO_LAYOUT(a, PTO_SHARD(x), PTO_REPLICATE) PTO_LAYOUT(n, PTO_REPLICATE, PTO_SHARD(x))",
        "for (uint32_t i = 0; i < 16; ++i) {
            TLOAD(row, a, {i, 0}); VecTile<float, 1, 16> o; TLOAD(o, n, {0, 0}); TADD(row, row, o);
            TSTORE(out, row, {i, 0}); }",
        431,
    ),
    // Only sums have parts.
    (COLUMNS, "TLOAD(ta, a, {0, 0}); TROWMAX(col, ta); TSTORE(out, col, {0, 0});", 431),
    (COLUMNS, "TLOAD(ta, a, {0, 0}); TROWARGMAX(col, ta); TSTORE(out, col, {0, 0});", 431),
    (
        "PTO_LAYOUT(a, PTO_SHARD(x), PTO_REPLICATE)",
        "TLOAD(ta, a, {0, 0}); TCOLMAX(row, ta); TNEG(row, row); TSTORE(out, row, {0, 0});",
        431,
    ),
    // Parts by what differs from tile to tile along the axis.
    (
        COLUMNS,
        "TLOAD(ta, a, {0, 0}); TROWSUM(col, ta); TROWEXPANDMUL(ta, ta, col); TSTORE(out, ta, {0, 0});",
        430,
    ),
    (
        COLUMNS,
        "TLOAD(ta, a, {0, 0}); TROWSUM(col, ta); TASSIGN(p, 0.0f); TROWEXPANDADD(p, p, col); TMUL(p, p, ta);
            TSTORE(out, p, {0, 0});",
        430,
    ),
    // Zeros are zeros for as long as they are not changed.
    (
        SPLIT,
        "TLOAD(ta, a, {0, 0}); TLOAD(tb, b, {0, 0}); TMATMUL(p, ta, tb);
            TASSIGN(q, 0.0f); TEXP(q, q); TADD(p, p, q); TSTORE(out, p, {0, 0});",
        430,
    ),
    (
        SPLIT,
        "TLOAD(ta, a, {0, 0}); TLOAD(tb, b, {0, 0}); TMATMUL(p, ta, tb);
            TASSIGN(q, 0.0f); TCOS(q, q); TSUB(p, p, q); TSTORE(out, p, {0, 0});",
        430,
    ),
    // A relayout comes between tasks.
    (
        SPLIT,
        "TLOAD(ta, a, {0, 0}); TLOAD(tb, b, {0, 0}); TMATMUL(p, ta, tb); TSTORE(out, p, {0, 0});
            TLOAD(q, out, {0, 0}); TEXP(q, q); TSTORE(out, q, {0, 0});",
        430,
    ),
    (
        SPLIT,
        "TLOAD(ta, a, {0, 0}); TLOAD(tb, b, {0, 0});
            for (uint32_t i = 0; i < 2; ++i) { TLOAD(q, out, {0, 0}); TMATMUL(p, ta, tb); TSTORE(out, p, {0, 0}); }",
        430,
    ),
    // Branches that differ.
    (
        SPLIT,
        "TLOAD(ta, a, {0, 0}); TLOAD(tb, b, {0, 0});
            if (desc.i == 0) { TLOAD(p, n, {0, 0}); } else { TMATMUL(p, ta, tb); }
            TMATMUL_ACC(p, ta, tb); TSTORE(out, p, {0, 0});",
        431,
    ),
    (
        "PTO_LAYOUT(a, PTO_REPLICATE, PTO_SHARD(x)) PTO_LAYOUT(n, PTO_REPLICATE, PTO_SHARD(y))",
        "if (desc.i == 0) { TLOAD(p, a, {0, 0}); } else { TLOAD(p, n, {0, 0}); }
            TROWSUM(col, p); TSTORE(out, col, {0, 0});",
        431,
    ),
    // Numbers.
    (
        COLUMNS,
        "float t = 0; for (uint32_t i = 0; i < 16; ++i) { t += PTO_LOAD_SCALAR(a, {0, i}); }
            PTO_STORE_SCALAR(out, exp(t), {0, 0});",
        431,
    ),
    // The tensor that is in the way is the second of those that a tile comes from.
    (
        "PTO_LAYOUT(b, PTO_REPLICATE, PTO_SHARD(x)) PTO_LAYOUT(out, PTO_REPLICATE, PTO_REPLICATE)",
        "TLOAD(tn, n, {0, 0}); TLOAD(tb, b, {0, 0}); TADD(r, tn, tb); TSTORE(out, r, {0, 0});",
        431,
    ),
];

#[test]
fn what_is_not_followed_is_refused_until_the_relayouts_that_messages_name_are_written() {
    for (layouts, body, code) in ASTRAY {
        // Its sums may be stored: a relayout adds them up for the tasks that follow.
        let mut relayouts =
            BTreeMap::from([("out", "PTO_REPLICATE, PTO_REPLICATE"), ("h", "PTO_REPLICATE, PTO_REPLICATE")]);
        if body.contains("TSTORE(h, s") || body.contains("TSTORE(out, row, {0, 0}); }") {
            relayouts.clear();
        }
        let mut faults = Vec::new();
        let mut helps = Vec::new();
        for _ in 0..4 {
            let stated: String =
                relayouts.iter().map(|(name, dims)| format!(" PTO_RELAYOUT({name}, {dims})")).collect();
            let text = program(&format!("{layouts}{stated}"), &[body]);
            let Some(fault) = analysed(&text).err() else { break };
            faults.push(fault.code.0);
            helps.push(fault.help[0].clone());
            let named = helps.last().and_then(|help| help.split_once("PTO_RELAYOUT(")?.1.split_once(')'));
            let (name, dims) = named
                .and_then(|(inside, _)| inside.split_once(", "))
                .unwrap_or_else(|| panic!("{fault:#?}\n{text}"));
            relayouts.insert(name.to_owned().leak(), dims.to_owned().leak());
        }
        assert_eq!(faults.first(), Some(code), "{helps:#?}\n{body}");
        assert!(faults.len() < 4, "{helps:#?}\n{body}");
        let whole = program("", &[body]);
        analysed(&whole).unwrap_or_else(|fault| panic!("{fault:#?}\n{whole}"));
    }
}

#[test]
fn all_stores_of_a_tensor_leave_the_same_parts() {
    let added = format!("{SPLIT} PTO_RELAYOUT(h, PTO_REPLICATE, PTO_REPLICATE)");
    let sum = format!("{} TSTORE(h, p, {{0, 0}});", SUMS[0]);
    let whole = "TLOAD(tn, n, {0, 0}); TSTORE(h, tn, {0, 0});";
    let fault = analysed(&program(&added, &[&sum, whole])).expect_err("one is whole");
    assert_eq!((fault.code.0, fault.message.contains("`h`")), (431, true), "{fault:#?}");
    let zeros = "TASSIGN(p, 0.0f); TSTORE(h, p, {0, 0});";
    analysed(&program(&added, &[zeros, &sum, &sum])).expect("zeros are parts");
}

/// A sum that is cut into tasks, one for each part of the dimension that it goes along.
#[test]
fn parts_that_tasks_of_other_tiles_add_to_a_tensor_at_any_time_are_pending() {
    let product = "TLOAD(ta, a, {0, 0}); TLOAD(tb, b, {0, 0}); TMATMUL(q, ta, tb);";
    let added = format!("{product} TSTORE_ATOMIC_ADD(h, q, {{0, 0}});");
    let zeros = "TASSIGN(p, 0.0f); TSTORE(h, p, {0, 0});";
    let parts = |name: &str, task: u32| if "ab".contains(name) { (4 * task, 4 * task + 4) } else { (0, 16) };
    let text = program(SPLIT, &[zeros, &added]);
    let fault = analysed_by(&text, 4, &parts).expect_err("its caller reads the parts");
    assert_eq!((fault.code.0, fault.message.contains("`h`")), (430, true), "{fault:#?}");
    assert_eq!(fault.help, ["write `PTO_RELAYOUT(h, PTO_REPLICATE, PTO_REPLICATE)` in the schedule"]);
    let relayout = format!("{SPLIT} PTO_RELAYOUT(h, PTO_REPLICATE, PTO_REPLICATE)");
    let reads = "TLOAD(p, h, {0, 0}); TEXP(r, p); TSTORE(out, r, {0, 0});";
    let of = |layouts: &str, kernels: &[&str]| analysed_by(&program(layouts, kernels), 4, &parts);
    of(&relayout, &[zeros, &added, reads]).expect("parts are added up");
    assert_eq!(of(SPLIT, &[zeros, &added, reads]).expect_err("read").code.0, 430);
    // A value that is whole is none of the parts.
    let whole = "TLOAD(p, n, {0, 0}); TSTORE(h, p, {0, 0});";
    assert_eq!(of(&relayout, &[whole, &added]).expect_err("both").code.0, 431);
    // Tasks that load the tensor, add and store it follow each other, each with what the one before has stored.
    let chain = format!("{product} TLOAD(p, h, {{0, 0}}); TADD(p, p, q); TSTORE(h, p, {{0, 0}});");
    of(SPLIT, &[zeros, &chain, reads]).expect("a chain of tasks");
    // Each task adds to a part of its own, and no layout is of what is added up.
    let rows = "PTO_LAYOUT(a, PTO_SHARD(x), PTO_REPLICATE) PTO_LAYOUT(h, PTO_SHARD(x), PTO_REPLICATE)";
    let own = |name: &str, task: u32| if "ah".contains(name) { (4 * task, 4 * task + 4) } else { (0, 16) };
    analysed_by(&program(rows, &[&added]), 4, &own).expect("rows of its own tile");
    let one = "PTO_LAYOUT(n, PTO_REPLICATE, PTO_SHARD(x))";
    of(one, &[&added]).expect("operands without a layout");
}
