//! Programs for two cores: what moves between them is ordered by events of which each direction has a few, for all pairs of units.

use crate::bench::{Kernel, told};
use crate::mutate::{event_of, syncs, with_syncs, without};
use crate::table::{FIX, L0C, L1, M, MTE1, MTE2, MTE3, S, UB, V, core};
use std::collections::BTreeSet;
use wsp_diag::Code;
use wsp_tile::{Event, EventId, Memories, Move, PingPong, Side, Sync, Unit, UnitId, check, order, place};

const MTE2_SECOND: UnitId = UnitId(7);

/// The second core has the matrix unit, and what leads there.
fn pair(between: u8) -> Memories {
    let mut memories = core();
    memories.units.push(Unit { name: "MTE2 of the second".to_owned(), completes_in_order: true });
    memories.second = vec![MTE1, M, FIX, MTE2_SECOND];
    memories.events.between = between;
    memories
        .moves
        .iter_mut()
        .filter(|step| step.to == Side::Memory(L1))
        .for_each(|step| step.unit = MTE2_SECOND);
    memories.moves.push(Move { unit: FIX, from: Side::Memory(L0C), to: Side::Memory(UB) });
    memories.moves.push(Move { unit: MTE3, from: Side::Memory(UB), to: Side::Memory(L1) });
    memories
}

/// Products of what the first core computes, in loops and under a condition.
const ROUNDS: &str = "
    VecTile<float, 8, 16> a; VecTile<float, 8, 16> c; RightTile<float, 16, 16> b;
    TLOAD(a, x, {desc.b, 0}, desc.c); TMOV(c, a);
    for (uint32_t i = 0; i < desc.a; i += 1) {
        TLOAD(b, x, {i, 16});
        for (uint32_t j = 0; j < desc.d; j += 1) {
            TMULS(a, a, 0.5f);
            TMATMUL(c, a, b);
            TADD(a, a, c);
            TMULS(a, a, 0.01f);
        }
    }
    TSTORE(y, c, {0, 0});";

const WORDS: [[u32; 4]; 5] = [[0, 0, 8, 1], [1, 8, 8, 2], [3, 5, 7, 1], [2, 0, 0, 3], [2, 1, 1, 0]];

fn is_between(sync: Sync, memories: &Memories) -> Option<Event> {
    match sync {
        Sync::Set(event) | Sync::Wait(event) => (!memories.same_core(event.from, event.to)).then_some(event),
        Sync::Barrier(_) | Sync::BarrierAll(_) => None,
    }
}

#[test]
fn two_cores_give_what_a_plain_run_gives_and_need_every_event() {
    let (kernel, memories) = (Kernel::new(ROUNDS), pair(8));
    let program = kernel.right(&memories, PingPong::Off);
    WORDS.iter().for_each(|words| kernel.agrees(&program, &memories, *words));
    let all = syncs(&program);
    let between = all.iter().filter_map(|sync| is_between(*sync, &memories));
    let units: std::collections::BTreeSet<(UnitId, UnitId)> =
        between.map(|event| (event.from, event.to)).collect();
    assert!(units.contains(&(MTE3, MTE1)) && units.contains(&(FIX, V)), "{units:?}");
    for (number, sync) in all.iter().enumerate() {
        let faulty = without(&program, |at, _| at == number);
        assert!(!check(&faulty, &memories).is_empty(), "number {number}, {sync:?}");
    }
}

#[test]
fn pairs_of_units_share_the_numbers_of_a_direction() {
    let (kernel, memories) = (Kernel::new(ROUNDS), pair(8));
    let program = kernel.right(&memories, PingPong::Off);
    let numbers = |event: Event| match event.id {
        EventId::One(id) => id,
        EventId::Parity { even, .. } => even,
    };
    // Two numbers of one direction, of different pairs, become one.
    let all: Vec<Event> =
        syncs(&program).into_iter().filter_map(|sync| is_between(sync, &memories)).collect();
    let to_second = |event: &&Event| memories.second.contains(&event.to);
    let one = all.iter().find(to_second).expect("an event");
    let apart = |other: &&Event| {
        to_second(other) && (other.from, other.to) != (one.from, one.to) && numbers(**other) != numbers(*one)
    };
    let Some(other) = all.iter().find(apart) else { panic!("events of one pair: {all:?}") };
    let same = |event: Event| if event == *other { Event { id: one.id, ..event } } else { event };
    let faulty = with_syncs(&program, |sync| match sync {
        Sync::Set(event) => Sync::Set(same(event)),
        Sync::Wait(event) => Sync::Wait(same(event)),
        other => other,
    });
    let found = check(&faulty, &memories);
    assert!(found.iter().any(|found| found.code == Code(1711)), "{}", told(&found));
}

#[test]
fn without_enough_events_two_cores_have_no_order() {
    let kernel = Kernel::new(ROUNDS);
    for between in [0, 1] {
        let memories = pair(between);
        let program = kernel.legal(&memories).unwrap_or_else(|found| panic!("{}", told(&found)));
        let placed =
            place(program, &memories, PingPong::Off).unwrap_or_else(|found| panic!("{}", told(&found)));
        let text = told(&order(&placed.program, &memories).unwrap_err());
        assert!(text.contains("error[WSP1711]") && text.contains("which are units of two cores"), "{text}");
    }
}

/// What the unit of scalars has waited for, units of the other core have not.
#[test]
fn scalars_of_a_core_tell_that_core_alone() {
    let body = "VecTile<float, 8, 16> a; VecTile<float, 8, 16> c; RightTile<float, 16, 16> b;
         TLOAD(a, x, {0, 0}); TLOAD(b, x, {0, 16}); TMATMUL(c, a, b); TSTORE(y, c, {0, 0});";
    let (kernel, memories) = (Kernel::new(body), pair(8));
    let program = kernel.right(&memories, PingPong::Off);
    // The first core waits for the result by its unit of scalars: all its units know. The second core does not wait for an operand so.
    let id = EventId::One(6);
    let by_scalars = |from: UnitId, to: UnitId| {
        with_syncs(&program, |sync| match sync {
            Sync::Set(event) if (event.from, event.to) == (from, to) => {
                Sync::Set(Event { to: S, id, ..event })
            }
            Sync::Wait(event) if (event.from, event.to) == (from, to) => {
                Sync::Wait(Event { to: S, id, ..event })
            }
            other => other,
        })
    };
    assert_eq!(check(&by_scalars(FIX, MTE3), &memories), []);
    let found = check(&by_scalars(MTE3, MTE1), &memories);
    assert!(found.iter().any(|found| found.code == Code(1710)), "{}", told(&found));
    let run = kernel.interpreted(&by_scalars(MTE3, MTE1), &memories, [0; 4]);
    assert_eq!(run.unwrap_err().code, Code(1710));
    assert!(syncs(&program).contains(&Sync::Set(Event { from: MTE2, to: MTE3, id: EventId::One(0) })));
}

/// Two units of a core that wait for one event: what is set for the first may be taken by the second.
#[test]
fn a_unit_does_not_wait_for_an_event_that_another_may_still_wait_for() {
    let body = "VecTile<float, 8, 16> a; VecTile<float, 8, 16> c; VecTile<float, 8, 16> d; RightTile<float, 16, 16> b;
         TLOAD(a, x, {0, 0}); TLOAD(b, x, {0, 16}); TMATMUL(c, a, b); TMULS(a, a, 2.0f); TMATMUL(d, a, b); TADD(c, c, d);
         TSTORE(y, c, {0, 0});";
    let (kernel, memories) = (Kernel::new(body), pair(8));
    let program = kernel.right(&memories, PingPong::Off);
    kernel.agrees(&program, &memories, [0; 4]);
    // The matrix unit's operand is free for the first core's transfer; its results are there for the vector unit.
    let to_first = |event: Event| [(MTE1, MTE3), (FIX, V)].contains(&(event.from, event.to));
    let of = |event: Event| if to_first(event) { Event { id: EventId::One(0), ..event } } else { event };
    let shared = with_syncs(&program, |sync| match sync {
        Sync::Set(event) => Sync::Set(of(event)),
        Sync::Wait(event) => Sync::Wait(of(event)),
        other => other,
    });
    assert_ne!(shared, program);
    let found = told(&check(&shared, &memories));
    assert!(found.contains("may be taken by a unit while another still waits for it"), "{found}");
    let run = kernel.interpreted(&shared, &memories, [0; 4]).unwrap_err();
    assert_eq!(run.code, Code(1711), "{}", run.message);
}

#[test]
fn tables_of_two_cores_name_what_is_wrong_with_them() {
    let mut alone = core();
    alone.events.between = 8;
    let mut crossing = pair(8);
    crossing.computes[0].unit = M;
    crossing.computes[0].then = Some(V);
    let mut scalar = pair(8);
    scalar.second.push(S);
    for (table, what) in [
        (&alone, "8 events between cores, and no second core"),
        (&crossing, "has units of two cores"),
        (&scalar, "or is that for scalars"),
    ] {
        let found = told(&table.verify());
        assert!(found.contains(what), "{found}");
    }
    assert_eq!(pair(8).verify(), []);
}

/// Of two edges of which each tells only of the wait for the other, none can go alone, and both are needed for nothing.
#[test]
fn two_edges_that_only_tell_of_each_other_s_waits_are_not_kept() {
    let of_two = "VecTile<float, 8, 16> t0; VecTile<float, 8, 16> t1; VecTile<float, 8, 16> t2; RightTile<float, 16, 16> b;
         TLOAD(t0, x, {0, 0});
         for (uint32_t i = 0; i < desc.a; i += 1) { TLOAD(t2, y, {13, 1}); TLOAD(b, x, {i, 8}); TMATMUL(t1, t0, b); }";
    let of_one = "VecTile<float, 8, 16> t0; VecTile<float, 8, 16> t1; VecTile<float, 8, 16> t2; VecTile<float, 8, 16> t3;
         TLOAD(t0, x, {0, 0}); TLOAD(t1, x, {1, 1});
         for (uint32_t i = 0; i < desc.a; i += 1) {
             TADD(t2, t1, t1); TLOAD(t3, x, {i, 1});
             for (uint32_t j = 0; j < desc.d; j += 1) { TADD(t2, t0, t3); TLOAD(t2, x, {8, 1}); }
         }";
    for (body, memories) in [(of_two, pair(8)), (of_one, core())] {
        let program = Kernel::new(body).right(&memories, PingPong::Off);
        let events: BTreeSet<Event> = syncs(&program).into_iter().filter_map(event_of).collect();
        for (at, a) in events.iter().enumerate() {
            for b in events.iter().skip(at + 1) {
                let fewer = without(&program, |_, sync| {
                    event_of(sync).is_some_and(|event| [*a, *b].contains(&event))
                });
                assert!(!check(&fewer, &memories).is_empty(), "{a:?} {b:?}\n{}", program.display(&memories));
            }
        }
    }
}
