//! What designs compute, and how they hang.

use crate::support::{design, floats, hangs, ints, nothing, run, to_floats, to_ints};
use wsp_aie::run::{Allocation, Failure, Machine};

const SCALE: &str = include_str!("designs/scale.mlir");
const BOTH: [Allocation; 2] = [Allocation::Declared, Allocation::Lowered];

#[test]
fn a_vector_is_scaled() {
    let design = design(SCALE);
    for allocation in BOTH {
        let mut args = [ints(0..1024), ints(vec![0; 1024])];
        let counts = run(&design, allocation, &mut args).unwrap_or_else(|fault| panic!("{fault:?}"));
        assert_eq!(to_ints(&args[1]), (0..1024).map(|i| 3 * i).collect::<Vec<_>>());
        assert_eq!(counts.bytes, 2 * 4096);
    }
}

#[test]
fn a_machine_goes_on_with_the_next_launch() {
    let design = design(SCALE);
    let mut machine = Machine::new(&design, Allocation::Declared).expect("it is made");
    for round in 0..3 {
        let mut args = [ints(round..round + 1024), ints(vec![0; 1024])];
        machine.launch(Some("sequence"), &mut args, &mut nothing).expect("it runs");
        assert_eq!(to_ints(&args[1])[7], 3 * (round + 7));
    }
}

#[test]
fn a_fifo_that_no_transfer_feeds_is_named() {
    let text: String =
        SCALE.lines().filter(|line| !line.contains("metadata = @in}")).map(|l| format!("{l}\n")).collect();
    let design = design(&text);
    let told = hangs(run(&design, Allocation::Lowered, &mut [ints(0..1024), ints(vec![0; 1024])]));
    assert_eq!(
        told,
        [
            "the design hangs: what is waited for never comes, and the host waits for it",
            "1. the host waits for the end of a transfer of the stream of `@out`",
            "2. the stream of `@out` waits for an object on tile (0, 2)",
            "3. the core on tile (0, 2) waits for object 1 of `@in`, of which it holds 0 and 2 have a buffer",
            "4. the stream of `@in` waits for a transfer of the host, whose sequence starts no other",
        ]
    );
}

#[test]
fn a_launch_is_given_what_the_sequence_takes() {
    let design = design(SCALE);
    for args in [
        vec![ints(0..1024)],
        vec![ints(0..1024), ints(0..1023)],
        vec![ints(0..1024), wsp_aie::run::Arg::Number(1)],
    ] {
        let mut args = args;
        let Err(Failure::Fault(fault)) = run(&design, Allocation::Declared, &mut args) else {
            panic!("{args:?}")
        };
        assert_eq!(fault.code.0, 1862);
    }
}

/// One object of 64 numbers goes to a memory tile, its halves to two cores, and what they make is joined again.
const HALVES: &str = include_str!("designs/halves.mlir");

#[test]
fn objects_are_distributed_and_joined() {
    let design = design(HALVES);
    for allocation in BOTH {
        let mut args = [floats((0..256).map(|i| i as f32)), floats(vec![0.0; 256])];
        run(&design, allocation, &mut args).unwrap_or_else(|fault| panic!("{:?}", fault.diagnostic()));
        let made = to_floats(&args[1]);
        for (i, value) in made.iter().enumerate() {
            let factor = if i % 64 < 32 { 2.0 } else { 4.0 };
            assert_eq!(*value, i as f32 * factor, "{i}");
        }
    }
}

const LOCKS: &str = include_str!("designs/locks.mlir");

#[test]
fn locks_let_cores_and_descriptors_take_turns() {
    let design = design(LOCKS);
    assert!(wsp_aie::check(&design).is_empty(), "{:#?}", wsp_aie::check(&design));
    let mut args = [ints(0..256), ints(vec![0; 256])];
    run(&design, Allocation::Declared, &mut args).unwrap_or_else(|fault| panic!("{:?}", fault.diagnostic()));
    // The even elements of an object go out before the odd ones.
    let made = to_ints(&args[1]);
    let wanted = (0..256).map(|i| 2 * (i / 64 * 64 + 2 * (i % 32) + i % 64 / 32));
    assert_eq!(made, wanted.collect::<Vec<_>>());
}

#[test]
fn a_lock_that_nobody_adds_to_is_named() {
    let design = design(&LOCKS.replace("aie.use_lock(%done, Release, 1)", ""));
    let told = hangs(run(&design, Allocation::Declared, &mut [ints(0..256), ints(vec![0; 256])]));
    assert_eq!(
        told[1..],
        [
            "1. the host waits for the end of a transfer of the stream from channel 0 of tile (1, 2)",
            "2. the stream from channel 0 of tile (1, 2) waits for lock `@done` of tile (1, 2)",
        ]
    );
}

#[test]
fn constants_and_numbers_of_a_launch_are_lengths() {
    let with = |size: &str, arg: &str| {
        SCALE
            .replace("%y: memref<1024xi32>) {", &format!("%y: memref<1024xi32>{arg}) {{\n      %one = arith.constant 1 : i64\n      %none = arith.constant 0 : i64\n      %all = arith.constant 1024 : i64"))
            .replace("[0, 0, 0, 0][1, 1, 1, 1024][0, 0, 0, 1]", &format!("[%none, %none, 0, %none][%one, 1, 1, {size}][0, %none, 0, %one]"))
    };
    let constant = design(&with("%all", ""));
    assert!(wsp_aie::check(&constant).is_empty(), "{:#?}", wsp_aie::check(&constant));
    let mut args = [ints(0..1024), ints(vec![0; 1024])];
    run(&constant, Allocation::Declared, &mut args)
        .unwrap_or_else(|fault| panic!("{:?}", fault.diagnostic()));
    assert_eq!(to_ints(&args[1])[1023], 3069);
    // One design, and as many elements as each launch says.
    let dynamic = design(&with("%n", ", %n: i64"));
    assert!(wsp_aie::check(&dynamic).is_empty(), "{:#?}", wsp_aie::check(&dynamic));
    let mut machine = Machine::new(&dynamic, Allocation::Lowered).expect("it is made");
    for n in [256, 1024, 512] {
        let mut args = [ints(0..1024), ints(vec![0; 1024]), wsp_aie::run::Arg::Number(n)];
        machine
            .launch(None, &mut args, &mut nothing)
            .unwrap_or_else(|fault| panic!("{n}: {:?}", fault.diagnostic()));
        let made = to_ints(&args[1]);
        assert!((0..1024).all(|i| made[i] == if (i as i64) < n { 3 * i as i32 } else { 0 }), "{n}");
    }
    let mut args = [ints(0..1024), ints(vec![0; 1024]), wsp_aie::run::Arg::Number(1025)];
    let Err(Failure::Fault(fault)) = machine.launch(None, &mut args, &mut nothing) else { panic!("it runs") };
    assert_eq!(fault.code.0, 1826);
}
