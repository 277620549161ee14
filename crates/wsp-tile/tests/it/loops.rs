//! Loops, conditions, two units in one instruction, two addresses: ordered, and equal to a plain run for 0, 1, 2 and many rounds.

use crate::bench::Kernel;
use crate::mutate::{syncs, without};
use crate::table::{V, core};
use wsp_tile::{EventId, PingPong, Sync, check};

const COUNTS: [u32; 4] = [0, 1, 2, 5];

/// Ordered with one and with two addresses, and equal to a plain run for all counts; every event is needed.
fn holds(kernel: &Kernel) {
    let memories = core();
    for ping_pong in [PingPong::Off, PingPong::WhereItFits] {
        let program = kernel.right(&memories, ping_pong);
        for a in COUNTS {
            for b in COUNTS {
                kernel.agrees(&program, &memories, [a, b, 1, 4]);
            }
        }
        for gone in 0..syncs(&program).len() {
            let faulty = without(&program, |at, _| at == gone);
            assert!(!check(&faulty, &memories).is_empty(), "{gone}\n{}", program.display(&memories));
        }
    }
}

#[test]
fn a_loop_that_loads_computes_and_stores() {
    holds(&Kernel::new(
        "VecTile<float, 4, 16> t;
         for (uint32_t i = 0; i < desc.a; i += 1) {
             TLOAD(t, x, {i * 4, 0});
             TMULS(t, t, 2.0f);
             TSTORE(y, t, {i * 4, 0});
         }",
    ));
}

#[test]
fn a_sum_that_a_loop_carries() {
    holds(&Kernel::new(
        "VecTile<float, 4, 16> t; VecTile<float, 4, 16> sum;
         TASSIGN(sum, 0.0f);
         for (uint32_t i = 0; i < desc.a; i += 1) {
             TLOAD(t, x, {i * 4, 0});
             TADD(sum, sum, t);
         }
         TSTORE(y, sum, {0, 0});",
    ));
}

#[test]
fn a_tile_that_a_round_keeps_by_a_condition_on_another_tile() {
    holds(&Kernel::new(
        "VecTile<float, 8, 16> k; VecTile<float, 8, 16> o; VecTile<float, 8, 16> z;
         TASSIGN(z, 1.0f); TASSIGN(o, 2.0f);
         for (uint32_t i = 0; i < desc.a; i += 1) {
             TLOAD(k, x, {i * 64, 0});
             if (PTO_VALID_ROWS(k) > 0) { TADD(o, z, k); }
             TSTORE(y, o, {i * 8, 0});
         }",
    ));
}

/// A plain run stops where an operand has no elements and a result has; a tile program leaves what it changes in place, and fills what is new.
#[test]
fn an_operand_that_may_have_no_elements_is_guarded_as_results_are() {
    let memories = core();
    let run = |body: &str, b| {
        let kernel = Kernel::new(&format!(
            "VecTile<float, 8, 16> k; VecTile<float, 8, 16> o; VecTile<float, 8, 16> z;
             TASSIGN(o, 3.0f); TASSIGN(z, 1.0f);
             for (uint32_t j = 0; j < desc.b; j += 1) {{ TLOAD(k, x, {{j * 40, 16}}); {body} }}
             TSTORE(y, o, {{0, 0}});"
        ));
        let program = kernel.right(&memories, PingPong::Off);
        kernel.agrees(&program, &memories, [0, 2, 0, 0]);
        kernel.interpreted(&program, &memories, [0, b, 0, 0]).unwrap()
    };
    let kept = "TADD(o, o, k);";
    assert_eq!(run(kept, 3), run(kept, 2));
    assert_eq!(run("TADD(o, z, k);", 3)[..16], [0.0; 16]);
}

#[test]
fn lists_of_rows_that_may_be_none() {
    holds(&Kernel::new(
        "VecTile<float, 4, 16> t; VecTile<float, 4, 8> values; VecTile<float, 4, 8> places;
         for (uint32_t i = 0; i < desc.a; i += 1) {
             TLOAD(t, x, {i * 4, 0}, desc.c + desc.b);
             TTOPK(values, places, t, 0);
             TSTORE(y, values, {i * 4, 0});
         }",
    ));
}

#[test]
fn a_product_along_k_staged_in_a_memory_between() {
    holds(&Kernel::new(
        "LeftTile<float, 16, 8> l; RightTile<float, 8, 16> r; AccTile<float, 16, 16> acc;
         TLOAD(l, x, {0, 0}); TLOAD(r, x, {0, 0});
         TMATMUL(acc, l, r);
         for (uint32_t k = 0; k < desc.a; k += 1) {
             TLOAD(l, x, {k * 2, 8});
             TLOAD(r, x, {k * 8, 0});
             TMATMUL_ACC(acc, l, r);
         }
         TSTORE(y, acc, {0, 0});",
    ));
}

#[test]
fn loops_in_loops_with_the_same_units() {
    holds(&Kernel::new(
        "VecTile<float, 2, 16> t; VecTile<float, 2, 16> u; VecTile<float, 2, 16> sum;
         for (uint32_t i = 0; i < desc.a; i += 1) {
             TLOAD(u, x, {i * 2, 0});
             TMULS(sum, u, 3.0f);
             for (uint32_t j = 0; j < desc.b; j += 1) {
                 TLOAD(t, x, {i + j, 0});
                 TADD(sum, sum, t);
             }
             TSTORE(y, sum, {i * 2, 0});
         }",
    ));
}

#[test]
fn conditions_and_jumps() {
    holds(&Kernel::new(
        "VecTile<float, 2, 16> t;
         TASSIGN(t, 7.0f);
         for (uint32_t i = 0; i < desc.a * 3; i += 1) {
             if (i == desc.c) { continue; }
             if (i > desc.b + 4) { break; }
             if (i % 2 == 0) { TLOAD(t, x, {i, 0}); } else { TADDS(t, t, 1.0f); }
             TSTORE(y, t, {i * 2, 0});
         }
         TSTORE(y, t, {60, 0});",
    ));
}

#[test]
fn a_value_of_a_tile_decides() {
    holds(&Kernel::new(
        "VecTile<float, 1, 16> t;
         float best = 0.0f;
         for (uint32_t i = 0; i < desc.a; i += 1) {
             TLOAD(t, x, {i, 0});
             float m = TROWSUM(t);
             if (m > best) { best = m; TSTORE(y, t, {i, 0}); }
             PTO_STORE_SCALAR(y, best, {i, 20});
         }",
    ));
}

#[test]
fn helpers_are_inlined() {
    holds(&Kernel::with(
        "uint32_t next(uint32_t at, uint32_t most) { if (at + 3 < most) { return at + 3; } return most; }",
        "VecTile<float, 2, 16> t;
         uint32_t i = 0;
         while (i < desc.a * 2) {
             TLOAD(t, x, {i, 0});
             TSTORE(y, t, {next(i, 40), 0});
             i = next(i, desc.a * 2);
         }",
    ));
}

#[test]
fn softmax_of_rows_with_valid_parts_that_a_launch_decides() {
    let kernel = Kernel::new(
        "VecTile<float, 32, 32> t; VecTile<float, 32, 1> r;
         TLOAD(t, x, {desc.a, 0}, desc.b, desc.c);
         TROWMAX(r, t);
         TROWEXPANDSUB(t, t, r);
         TEXP(t, t);
         TROWSUM(r, t);
         TROWEXPANDDIV(t, t, r);
         TSTORE(y, t, {desc.a, 0});",
    );
    let memories = core();
    let program = kernel.right(&memories, PingPong::WhereItFits);
    for rows in [1, 15, 16, 17, 32, 40] {
        for cols in [1, 15, 16, 17, 32] {
            kernel.agrees(&program, &memories, [3, rows, cols, 0]);
            kernel.agrees(&program, &memories, [50, rows, cols, 0]);
        }
    }
}

#[test]
fn a_buffer_of_a_loop_gets_two_addresses_and_two_events() {
    let kernel = Kernel::new(
        "VecTile<float, 4, 16> t; VecTile<float, 4, 16> u;
         for (uint32_t i = 0; i < desc.a; i += 1) {
             TLOAD(t, x, {i * 4, 0});
             TMULS(u, t, 2.0f);
             TSTORE(y, u, {i * 4, 0});
         }",
    );
    let memories = core();
    let turns = |program: &wsp_tile::TileProgram| {
        let by_parity = |sync: &Sync| match sync {
            Sync::Set(event) | Sync::Wait(event) => matches!(event.id, EventId::Parity { .. }),
            Sync::Barrier(_) | Sync::BarrierAll(_) => false,
        };
        syncs(program).iter().filter(|sync| by_parity(sync)).count()
    };
    let once = kernel.right(&memories, PingPong::Off);
    assert!(once.buffers.iter().all(|buffer| buffer.at.len() < 2));
    assert_eq!(turns(&once), 0);
    let twice = kernel.right(&memories, PingPong::WhereItFits);
    assert!(twice.buffers.iter().any(|buffer| buffer.at.len() == 2), "{}", twice.display(&memories));
    assert!(turns(&twice) > 0, "{}", twice.display(&memories));
}

#[test]
fn a_pair_of_units_without_events_gets_a_barrier_and_a_note() {
    let kernel = Kernel::new(
        "VecTile<float, 4, 16> t;
         TLOAD(t, x, {0, 0}); TMULS(t, t, 2.0f); TSTORE(y, t, {0, 0});",
    );
    let mut memories = core();
    memories.events.without.push((crate::table::MTE2, V));
    let made = kernel.ordered(&memories, PingPong::Off).unwrap();
    assert!(syncs(&made.program).iter().any(|sync| matches!(sync, Sync::BarrierAll(_))));
    assert_eq!(made.notes.len(), 1, "{:?}", made.notes);
    assert_eq!(made.notes[0].code, wsp_diag::Code(1716));
    kernel.agrees(&made.program, &memories, [0; 4]);
}

#[test]
fn where_events_run_out_a_barrier_stands_and_is_noted() {
    let many: String =
        (0..6).map(|n| format!("VecTile<float, 1, 8> t{n}; TLOAD(t{n}, x, {{{n}, 0}});")).collect();
    let uses: String =
        (0..6).map(|n| format!("TADDS(t{n}, t{n}, 1.0f); TSTORE(y, t{n}, {{{n}, 0}});")).collect();
    let kernel = Kernel::new(&format!("for (uint32_t i = 0; i < desc.a; i += 1) {{ {many} {uses} }}"));
    let mut memories = core();
    memories.events.per_pair = 1;
    let made = kernel.ordered(&memories, PingPong::Off).unwrap();
    assert!(syncs(&made.program).iter().any(|sync| matches!(sync, Sync::BarrierAll(_))));
    assert!(!made.notes.is_empty());
    for a in COUNTS {
        kernel.agrees(&made.program, &memories, [a, 0, 0, 0]);
    }
}
