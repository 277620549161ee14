//! Variables that a generator carries from item to item follow the order in which the schedule issues items.

use crate::tiers::run;

/// What tasks of requests with 3, 1 and 2 chunks store, by request and chunk; 0 where there is none.
fn stored(policy: &str, body: &str) -> Vec<[f32; 3]> {
    let text = format!(
        "PTO_SHAPE(lens, n)
         PTO_SHAPE(y, n, 3)
         PTO_SPACE(S) {{ PTO_AXIS(b, 0, n) PTO_AXIS(c, 0, PTO_DYNAMIC) }}
         PTO_SCHEDULE(Q) {{ PTO_ORDER(b, {policy}) }}
         struct D {{ uint32_t b, c, value; }};
         PTO_KERNEL_IMPL(k) {{ auto d = PTO_GET_DESCRIPTOR<D>(); PTO_STORE_SCALAR(y, float(d.value), {{d.b, d.c}}); }}
         PTO_DESCRIPTOR_GEN(S) {{
             uint32_t count = 0;
             PTO_SET_EXTENT(c, lens);
             PTO_APPLY_SCHEDULE(Q);
             PTO_SCHEDULED_FOR(b, c) {{
                 {body}
                 PTO_EMIT_DESCRIPTOR(D{{ .b = b, .c = c, .value = count }});
             }}
         }}
         void go(uint32_t* lens, Tensor<float> y) {{ PTO_LAUNCH(S, {{ .lens = lens, .y = y }}); }}"
    );
    run(&text, &[3, 1, 2])
        .expect("the program should run")
        .chunks(3)
        .map(|row| [row[0], row[1], row[2]])
        .collect()
}

#[test]
fn a_count_of_items_is_that_of_the_order_of_the_schedule() {
    for (policy, expected) in [
        ("PTO_SEQUENTIAL", [[1.0, 2.0, 3.0], [4.0, 0.0, 0.0], [5.0, 6.0, 0.0]]),
        ("PTO_BLOCKED(2)", [[1.0, 2.0, 6.0], [3.0, 0.0, 0.0], [4.0, 5.0, 0.0]]),
        ("PTO_INTERLEAVED(2)", [[1.0, 3.0, 4.0], [2.0, 0.0, 0.0], [5.0, 6.0, 0.0]]),
        ("PTO_LONGEST_FIRST", [[1.0, 2.0, 3.0], [6.0, 0.0, 0.0], [4.0, 5.0, 0.0]]),
    ] {
        assert_eq!(stored(policy, "count += 1;"), expected, "{policy}");
    }
}

#[test]
fn what_an_item_leaves_decides_which_are_skipped_after_it() {
    // The first four items in the order of the schedule; a bound that changes from item to item is none of the axis.
    let body = "if (count >= 4) continue; count += 1;";
    assert_eq!(stored("PTO_BLOCKED(2)", body), [[1.0, 2.0, 0.0], [3.0, 0.0, 0.0], [4.0, 0.0, 0.0]]);
    let body = "if (c >= 3 - count) continue; count += 1;";
    assert_eq!(stored("PTO_BLOCKED(2)", body), [[1.0, 2.0, 0.0], [3.0, 0.0, 0.0], [0.0, 0.0, 0.0]]);
}
