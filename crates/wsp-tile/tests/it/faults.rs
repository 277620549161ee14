//! Faults that others published, each planted in a program of ours that has none.

use crate::bench::{Kernel, told};
use crate::mutate::{syncs, with_instructions, with_syncs, without, without_guards};
use crate::table::{L1, MTE1, MTE2, MTE3, S, UB, V, core};
use wsp_diag::{Code, Diagnostic};
use wsp_tile::{Event, EventId, Extent, Op, PingPong, Sync, TileProgram, check};

const LOOP: &str = "VecTile<float, 4, 16> t; VecTile<float, 4, 16> u;
     for (uint32_t i = 0; i < desc.a; i += 1) {
         TLOAD(t, x, {i * 4, 0});
         TMULS(u, t, 2.0f);
         TSTORE(y, u, {i * 4, 0});
     }";

fn codes(found: &[Diagnostic]) -> Vec<u16> {
    let mut codes: Vec<u16> = found.iter().map(|found| found.code.0).collect();
    codes.dedup();
    codes
}

/// The checker finds a fault of this code, and a run with these words stops at one of `run`.
fn found(kernel: &Kernel, faulty: &TileProgram, words: [u32; 4], by_check: Option<u16>, by_run: &[u16]) {
    let memories = core();
    let statically = check(faulty, &memories);
    if let Some(code) = by_check {
        assert!(codes(&statically).contains(&code), "{:?}\n{}", statically, faulty.display(&memories));
    }
    let stopped = kernel.interpreted(faulty, &memories, words).unwrap_err();
    assert!(by_run.contains(&stopped.code.0), "{stopped:?}\n{}", faulty.display(&memories));
}

fn is_of(sync: Sync, from: wsp_tile::UnitId, to: wsp_tile::UnitId) -> bool {
    matches!(sync, Sync::Set(event) | Sync::Wait(event) if (event.from, event.to) == (from, to))
}

#[test]
fn a_loop_of_no_rounds_leaves_no_flag() {
    let kernel = Kernel::new(LOOP);
    let program = kernel.right(&core(), PingPong::Off);
    kernel.agrees(&program, &core(), [0; 4]);
    let count = syncs(&program).len();
    // The last waits stand behind the loop.
    let faulty = without(&program, |at, _| at == count - 1);
    found(&kernel, &faulty, [0; 4], Some(1711), &[1711]);
}

#[test]
fn the_memory_between_is_used_again_when_it_is_read() {
    let kernel = Kernel::new(
        "LeftTile<float, 16, 8> l; RightTile<float, 8, 16> r; AccTile<float, 16, 16> acc;
         TLOAD(l, x, {0, 0}); TLOAD(r, x, {0, 0});
         TMATMUL(acc, l, r);
         for (uint32_t k = 0; k < desc.a; k += 1) {
             TLOAD(l, x, {k * 2, 8}); TLOAD(r, x, {k * 8, 0});
             TMATMUL_ACC(acc, l, r);
         }
         TSTORE(y, acc, {0, 0});",
    );
    let program = kernel.right(&core(), PingPong::Off);
    assert!(program.buffers.iter().any(|buffer| buffer.memory == L1));
    kernel.agrees(&program, &core(), [3, 0, 0, 0]);
    let faulty = without(&program, |_, sync| is_of(sync, MTE1, MTE2));
    assert_ne!(faulty, program);
    found(&kernel, &faulty, [3, 0, 0, 0], Some(1710), &[1710]);
}

#[test]
fn buffers_that_are_live_do_not_share_bytes() {
    let kernel = Kernel::new(
        "VecTile<float, 4, 16> t; VecTile<float, 4, 16> u;
         TLOAD(t, x, {0, 0}); TLOAD(u, x, {8, 0});
         TADD(t, t, u); TSTORE(y, t, {0, 0});",
    );
    let mut faulty = kernel.right(&core(), PingPong::Off);
    kernel.agrees(&faulty, &core(), [0; 4]);
    let at = faulty.buffers[0].at.clone();
    faulty.buffers[1].at = at.iter().map(|at| at + 128).collect();
    found(&kernel, &faulty, [0; 4], Some(1717), &[1710, 1712]);
}

#[test]
fn events_of_buffers_with_two_addresses_take_turns() {
    let kernel = Kernel::new(LOOP);
    let program = kernel.right(&core(), PingPong::WhereItFits);
    kernel.agrees(&program, &core(), [5, 0, 0, 0]);
    let other_one = |sync: Sync| match sync {
        Sync::Set(Event { from, to, id: EventId::Parity { of, even, odd } }) => {
            Sync::Set(Event { from, to, id: EventId::Parity { of, even: odd, odd: even } })
        }
        other => other,
    };
    let faulty = with_syncs(&program, other_one);
    assert_ne!(faulty, program);
    found(&kernel, &faulty, [5, 0, 0, 0], Some(1711), &[1710, 1711]);
}

#[test]
fn loops_in_loops_with_one_pair_of_units_do_not_share_an_event() {
    let kernel = Kernel::new(
        "VecTile<float, 2, 16> t; VecTile<float, 2, 16> u; VecTile<float, 2, 16> sum;
         for (uint32_t i = 0; i < desc.a; i += 1) {
             TLOAD(u, x, {i * 2, 0}); TMULS(sum, u, 3.0f);
             for (uint32_t j = 0; j < desc.b; j += 1) {
                 TLOAD(t, x, {i + j, 0}); TADD(sum, sum, t);
             }
             TADD(sum, sum, u);
             TSTORE(y, sum, {i * 2, 0});
         }",
    );
    let program = kernel.right(&core(), PingPong::Off);
    kernel.agrees(&program, &core(), [3, 3, 0, 0]);
    let one = |event: Event| Event { id: EventId::One(0), ..event };
    let faulty = with_syncs(&program, |sync| match sync {
        Sync::Set(event) => Sync::Set(one(event)),
        Sync::Wait(event) => Sync::Wait(one(event)),
        other => other,
    });
    assert_ne!(faulty, program);
    found(&kernel, &faulty, [3, 3, 0, 0], Some(1711), &[1710, 1711]);
}

#[test]
fn what_the_unit_of_scalars_wrote_is_waited_for_whatever_it_reads_or_waits_for_since() {
    let tiles = "VecTile<float, 1, 8> t; VecTile<float, 1, 8> u; TLOAD(u, x, {0, 0});";
    for between in [
        "float m = PTO_LOAD_SCALAR(x, {0, 0});",
        "float m = TROWSUM(u);",
        "TSTORE(y, u, {20, 0}); float m = PTO_LOAD_SCALAR(y, {20, 0});",
    ] {
        let kernel = Kernel::new(&format!(
            "{tiles} PTO_STORE_SCALAR(y, 7.0f, {{0, 0}}); {between}
             TLOAD(t, y, {{0, 0}}); TADDS(t, t, m); TSTORE(y, t, {{40, 0}});"
        ));
        let program = kernel.right(&core(), PingPong::Off);
        kernel.agrees(&program, &core(), [0; 4]);
        let from_scalars = |sync: Sync| matches!(sync, Sync::Set(e) | Sync::Wait(e) if e.from == S);
        let faulty = without(&program, |_, sync| from_scalars(sync));
        assert_ne!(faulty, program);
        found(&kernel, &faulty, [0; 4], Some(1710), &[1710]);
    }
}

#[test]
fn an_operation_runs_on_the_unit_that_its_events_name() {
    let kernel = Kernel::new("VecTile<float, 4, 16> t; TCI(t, -3); TSTORE(y, t, {0, 0});");
    let program = kernel.right(&core(), PingPong::Off);
    kernel.agrees(&program, &core(), [0; 4]);
    let faulty = with_instructions(&program, |instruction| {
        if instruction.unit == V {
            instruction.unit = S;
        }
    });
    found(&kernel, &faulty, [0; 4], Some(1703), &[1710]);
}

#[test]
fn an_address_past_the_end_of_a_memory_is_no_address() {
    let kernel = Kernel::new(LOOP);
    let mut faulty = kernel.right(&core(), PingPong::Off);
    let end = core().memory(UB).capacity;
    faulty.buffers[1].at = vec![end - 32];
    found(&kernel, &faulty, [2, 0, 0, 0], Some(1717), &[1713]);
}

#[test]
fn an_instruction_with_an_extent_of_0_is_skipped() {
    let kernel = Kernel::new(
        "VecTile<float, 8, 16> t; TLOAD(t, x, {0, 0}, desc.a); TMULS(t, t, 2.0f); TSTORE(y, t, {0, 0});",
    );
    let program = kernel.right(&core(), PingPong::Off);
    let none = kernel.interpreted(&program, &core(), [0; 4]).unwrap();
    assert!(none.iter().all(|element| *element == 0.0));
    kernel.agrees(&program, &core(), [3, 0, 0, 0]);
    found(&kernel, &without_guards(&program), [0; 4], None, &[1714]);
}

#[test]
fn what_a_load_does_not_write_is_not_read() {
    let kernel = Kernel::new(
        "VecTile<float, 8, 16> t; VecTile<float, 8, 16> u;
         TLOAD(t, x, {0, 0}, 3); TMULS(u, t, 2.0f); TSTORE(y, u, {0, 0});",
    );
    let program = kernel.right(&core(), PingPong::Off);
    kernel.agrees(&program, &core(), [0; 4]);
    let faulty = with_instructions(&program, |instruction| {
        if let (V, Op::Tile(op)) = (instruction.unit, &mut instruction.op) {
            op.each_mut(&mut |part| {
                if let wsp_ir::Part::Tile(tile, _) = part {
                    tile.rows = Extent::Known(8);
                }
            });
        }
    });
    found(&kernel, &faulty, [0; 4], None, &[1712]);
}

#[test]
fn extents_and_sizes_that_do_not_fit_a_buffer_are_found() {
    let kernel = Kernel::new("VecTile<float, 4, 16> t; TLOAD(t, x, {0, 0}); TSTORE(y, t, {0, 0});");
    let program = kernel.right(&core(), PingPong::Off);
    for (rows, by_check, by_run) in [(5, 1713, 1713), (0, 1714, 1714)] {
        let faulty = with_instructions(&program, |instruction| {
            if let Op::Tile(wsp_ir::TileOp::Load { dst, .. }) = &mut instruction.op {
                dst.rows = Extent::Known(rows);
            }
        });
        found(&kernel, &faulty, [0; 4], Some(by_check), &[by_run]);
    }
    let mut faulty = program;
    faulty.buffers[0].bytes = 64;
    found(&kernel, &faulty, [0; 4], Some(1717), &[1713]);
}

#[test]
fn a_fault_names_both_instructions() {
    let kernel = Kernel::new(LOOP);
    let memories = core();
    let program = kernel.right(&memories, PingPong::Off);
    let faulty = without(&program, |_, sync| is_of(sync, MTE2, V));
    let stopped = kernel.interpreted(&faulty, &memories, [1, 0, 0, 0]).unwrap_err();
    assert_eq!(stopped.code, Code(1710));
    assert_eq!(
        stopped.message,
        "%1 on V touches byte 0 of UB and does not wait for %0 on MTE2, which writes there"
    );
    assert!(stopped.notes.iter().any(|note| note.starts_with("%0 MTE2: load")), "{:?}", stopped.notes);
    assert!(stopped.notes.iter().any(|note| note.starts_with("%1 V: binary mul")), "{:?}", stopped.notes);
}

#[test]
fn each_wrong_use_of_an_event_has_its_words() {
    let kernel = Kernel::new("VecTile<float, 2, 8> t; TLOAD(t, x, {0, 0}); TSTORE(y, t, {0, 0});");
    let program = kernel.right(&core(), PingPong::Off);
    let said = |faulty: &TileProgram, memories: &wsp_tile::Memories, say: &str| {
        let text = told(&check(faulty, memories));
        assert!(text.contains("error[WSP1711]") && text.contains(say), "{text}");
        assert_eq!(kernel.interpreted(faulty, memories, [0; 4]).unwrap_err().code, Code(1711), "{say}");
    };
    let unset = without(&program, |_, sync| matches!(sync, Sync::Set(_)));
    said(&unset, &core(), "is waited for and may not be set");
    let twice = with_syncs(&program, |sync| match sync {
        Sync::Wait(event) => Sync::Set(event),
        other => other,
    });
    said(&twice, &core(), "may be set while it is set");
    let mut fewer = core();
    fewer.events.without.push((MTE2, MTE3));
    said(&program, &fewer, "does not exist between these units");
    fewer.events = wsp_tile::Events { per_pair: 7, without: Vec::new(), between: 0 };
    let high = |event: Event| Event { id: EventId::One(7), ..event };
    let over = with_syncs(&program, |sync| match sync {
        Sync::Set(event) => Sync::Set(high(event)),
        Sync::Wait(event) => Sync::Wait(high(event)),
        other => other,
    });
    said(&over, &fewer, "does not exist; there are 7");
}

#[test]
fn addresses_that_no_memory_has_are_faults_and_no_panics() {
    let kernel = Kernel::new("VecTile<float, 2, 8> t; TLOAD(t, x, {0, 0}); TSTORE(y, t, {0, 0});");
    let program = kernel.right(&core(), PingPong::Off);
    for (at, bytes, by_run) in [(4, 64, 1717), (u64::MAX - 31, 64, 1713), (0, u64::MAX, 0)] {
        let mut faulty = program.clone();
        (faulty.buffers[0].at, faulty.buffers[0].bytes) = (vec![at], bytes);
        assert!(codes(&check(&faulty, &core())).contains(&1717), "{at} {bytes}");
        let stopped = kernel.interpreted(&faulty, &core(), [0; 4]);
        assert_eq!(stopped.map_or_else(|stopped| stopped.code.0, |_| 0), by_run, "{at} {bytes}");
    }
}

#[test]
fn a_tensor_that_was_stored_to_is_waited_for() {
    let kernel = Kernel::new(
        "VecTile<float, 2, 8> t; VecTile<float, 2, 8> u;
         TLOAD(t, x, {0, 0}); TSTORE(y, t, {0, 0}); TLOAD(u, y, {0, 0}); TSTORE(y, u, {8, 0});",
    );
    let program = kernel.right(&core(), PingPong::Off);
    kernel.agrees(&program, &core(), [0; 4]);
    let faulty = without(&program, |_, sync| is_of(sync, MTE3, MTE2));
    assert_ne!(faulty, program);
    found(&kernel, &faulty, [0; 4], Some(1710), &[1710]);
}

#[test]
fn a_write_waits_for_the_reads_before_it() {
    let kernel = Kernel::new(LOOP);
    let program = kernel.right(&core(), PingPong::Off);
    let faulty = without(&program, |_, sync| is_of(sync, V, MTE2));
    assert_ne!(faulty, program);
    found(&kernel, &faulty, [2, 0, 0, 0], Some(1710), &[1710]);
    let stopped = kernel.interpreted(&faulty, &core(), [2, 0, 0, 0]).unwrap_err();
    assert!(stopped.message.ends_with("does not wait for %1 on V, which reads there"), "{stopped:?}");
}
