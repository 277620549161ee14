//! What designs compute, and how they hang.

use crate::support::{design, floats, hangs, ints, nothing, run, to_floats, to_ints};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use wsp_aie::run::{Allocation, Arg, Call, Failure, Machine};

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
    for args in [vec![ints(0..1024)], vec![ints(0..1024), ints(0..1023)], vec![ints(0..1024), Arg::Number(1)]]
    {
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

/// Which lock a descriptor waits for, and which it adds to, does not follow from where they stand in its block.
#[test]
fn locks_of_a_descriptor_stand_in_any_order() {
    let acquire = "      aie.use_lock(%done, AcquireGreaterEqual, 1)\n";
    let release = "      aie.use_lock(%free, Release, 1)\n";
    let text = LOCKS.replace(acquire, "").replace(release, &format!("{release}{acquire}"));
    let mut args = [ints(0..256), ints(vec![0; 256])];
    let mut wanted = args.clone();
    for (text, args) in [(LOCKS, &mut wanted), (&text, &mut args)] {
        run(&design(text), Allocation::Declared, args)
            .unwrap_or_else(|fault| panic!("{:?}", fault.diagnostic()));
    }
    assert_eq!(args, wanted);
}

/// What the host reads before it is there is no result.
#[test]
fn a_sequence_waits_for_its_outputs() {
    let wait = "      aiex.npu.dma_wait {symbol = @out}\n";
    let of_input = SCALE.replace("{id = 0 : i64, metadata", "{id = 0 : i64, issue_token = true, metadata");
    for text in [SCALE.replace(wait, ""), of_input.replace("wait {symbol = @out}", "wait {symbol = @in}")] {
        let ran = run(&design(&text), Allocation::Declared, &mut [ints(0..1024), ints(vec![0; 1024])]);
        let Err(Failure::Fault(fault)) = ran else { panic!("{text}: {ran:?}") };
        assert_eq!(fault.code.0, 1869);
        assert_eq!(
            fault.message,
            "sequence `@sequence` ends, and no wait tells that the transfer of `@out` into `y` is done"
        );
        assert_eq!(fault.help, ["write `aiex.npu.dma_wait {symbol = @out}` behind it"]);
    }
    // What was started before a transfer that was waited for is done with it.
    let two = "      aiex.npu.dma_memcpy_nd(%y[0, 0, 0, 0][1, 1, 1, 512][0, 0, 0, 1]) {id = 1 : i64, metadata = @out} : memref<1024xi32>\n";
    let rest = two.replace("%y[0, 0, 0, 0]", "%y[0, 0, 0, 512]").replace("id = 1", "id = 2");
    let begin = SCALE.find("      aiex.npu.dma_memcpy_nd(%y").expect("it has an output");
    let end = SCALE.find("      aiex.npu.dma_wait").expect("it waits");
    let text = [&SCALE[..begin], two, &rest, &SCALE[end..]].concat();
    let twice = text.replace(wait, &format!("{wait}{wait}"));
    let mut args = [ints(0..1024), ints(vec![0; 1024])];
    let Err(Failure::Fault(fault)) = run(&design(&text), Allocation::Declared, &mut args.clone()) else {
        panic!("one wait is for two transfers")
    };
    assert_eq!(
        (fault.message, fault.help.concat()),
        (
            "sequence `@sequence` ends, and no other wait tells that the transfer of `@out` into `y` is done"
                .to_owned(),
            "write one more `aiex.npu.dma_wait {symbol = @out}` behind it".to_owned()
        )
    );
    run(&design(&twice), Allocation::Declared, &mut args)
        .unwrap_or_else(|fault| panic!("{:?}", fault.diagnostic()));
}

#[test]
fn a_lock_that_nothing_adds_to_is_named() {
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
        let mut args = [ints(0..1024), ints(vec![0; 1024]), Arg::Number(n)];
        machine
            .launch(None, &mut args, &mut nothing)
            .unwrap_or_else(|fault| panic!("{n}: {:?}", fault.diagnostic()));
        let made = to_ints(&args[1]);
        assert!((0..1024).all(|i| made[i] == if (i as i64) < n { 3 * i as i32 } else { 0 }), "{n}");
    }
    let mut args = [ints(0..1024), ints(vec![0; 1024]), Arg::Number(1025)];
    let Err(Failure::Fault(fault)) = machine.launch(None, &mut args, &mut nothing) else { panic!("it runs") };
    assert_eq!(fault.code.0, 1826);
}

const PRODUCT: &str = include_str!("designs/product.mlir");

#[test]
fn a_product_is_that_of_f64() {
    let design = design(PRODUCT);
    let found = wsp_aie::check(&design);
    assert!(found.is_empty(), "{found:#?}");
    // Small integers, which bf16 and sums in f32 have exactly.
    let (a, b) = (|i: usize| (i * 7 % 13) as f64 - 6.0, |i: usize| (i * 5 % 11) as f64 - 5.0);
    let bf16 = |of: &dyn Fn(usize) -> f64| {
        let bits = |i: usize| ((of(i) as f32).to_bits() >> 16) as u16;
        Arg::Array((0..1024).flat_map(|i| bits(i).to_le_bytes()).collect())
    };
    let mut args = [bf16(&a), bf16(&b), floats(vec![0.0; 512])];
    let mut called = 0;
    let mut scale = |name: &str, call: &mut Call<'_>| {
        assert_eq!((name, call.len(), call.number(1)), ("scale", 2, 0.5));
        for element in call.bytes_mut(0).chunks_exact_mut(4) {
            let value = f32::from_le_bytes(element.try_into().expect("four bytes")) * 0.5;
            element.copy_from_slice(&value.to_le_bytes());
        }
        called += 1;
        call.give(0, f64::from(called));
        true
    };
    let mut machine = Machine::new(&design, Allocation::Lowered).expect("it is made");
    machine.launch(None, &mut args, &mut scale).unwrap_or_else(|fault| panic!("{:?}", fault.diagnostic()));
    for (i, made) in to_floats(&args[2]).into_iter().enumerate() {
        let (part, row, col) = (i / 256, i % 256 / 16, i % 16);
        let sum: f64 = (0..32).map(|k| a(512 * part + 32 * row + k) * b(512 * part + 32 * col + k)).sum();
        let wanted = if i % 256 == 0 { part as f64 + 1.0 } else { sum.max(0.0) * 0.5 };
        assert_eq!(f64::from(made), wanted, "{i}");
    }
    let unknown = machine.launch(None, &mut args, &mut |_, _| false);
    let Err(Failure::Fault(fault)) = unknown else { panic!("{unknown:?}") };
    assert_eq!(fault.message, "no function of the host stands for kernel `@scale`");
}

/// A change of a good design that the checker cannot see, and what the interpreter says of it.
const CHANGES: &[(&str, &str, &str, u16)] = &[
    (SCALE, "%c256 = arith.constant 256", "%c256 = arith.constant 257", 1861),
    (SCALE, "release @in(Consume, 1)", "release @in(Consume, 2)", 1861),
    (
        SCALE,
        "release @in(Consume, 1)",
        "release @in(Consume, 1)\n        aie.objectfifo.release @in(Consume, 1)",
        1861,
    ),
    (SCALE, "arith.muli %x, %three", "arith.divsi %x, %zero", 1861),
    (SCALE, "arith.muli %x, %three", "arith.shli %x, %big", 1861),
    (SCALE, "%i = %c0 to %c256 step %c1", "%i = %c0 to %c256 step %c0", 1861),
    (HALVES, "%i = %c0 to %c32", "%i = %c1 to %c32", 1861),
    (PRODUCT, "%i = %c0 to %c16", "%i = %c0 to %c32", 1861),
];

#[test]
fn what_only_a_run_shows_is_a_fault_with_a_place() {
    for (text, from, to, code) in CHANGES {
        let more = "%three = arith.constant 3 : i32\n      %zero = arith.constant 0 : i32\n      %big = arith.constant 32 : i32";
        let changed = text.replace(from, to).replace("%three = arith.constant 3 : i32", more);
        assert_ne!(changed, text.replace("%three = arith.constant 3 : i32", more), "{from}");
        let design = design(&changed);
        let args: Vec<Arg> = design.sequences[0]
            .args
            .iter()
            .map(|arg| Arg::Array(vec![1; design.module.ty(*arg).bytes().expect("an array") as usize]))
            .collect();
        let Err(Failure::Fault(fault)) = run(&design, Allocation::Lowered, &mut args.clone()) else {
            panic!("{to}")
        };
        assert_eq!(fault.code.0, *code, "{to}: {}", fault.message);
        assert!(fault.primary.is_some_and(|label| label.span.end > label.span.start), "{to}");
    }
}

/// `SCALE` with another sequence.
fn with_sequence(args: &str, before: &str, from: &str) -> String {
    let text = SCALE.replace("%y: memref<1024xi32>) {", &format!("%y: memref<1024xi32>{args}) {{\n{before}"));
    assert_ne!(text, SCALE);
    text.replacen("%x[0, 0, 0, 0]", from, 1)
}

#[test]
fn numbers_of_a_sequence_have_the_values_of_their_types() {
    for (ty, least, most) in [
        ("i32", i64::from(i32::MIN), i64::from(i32::MAX)),
        ("i8", -128, 127),
        ("i1", 0, 1),
        ("index", i64::MIN, i64::MAX),
    ] {
        let design = design(&with_sequence(&format!(", %n: {ty}"), "", "%x[0, 0, 0, 0]"));
        let run = |number: i64| {
            let mut args = [ints(0..1024), ints(vec![0; 1024]), Arg::Number(number)];
            run(&design, Allocation::Declared, &mut args)
        };
        for number in [least, most] {
            run(number).unwrap_or_else(|fault| panic!("{ty}: {:?}", fault.diagnostic()));
        }
        for number in [least.checked_sub(1), most.checked_add(1)].into_iter().flatten() {
            let Err(Failure::Fault(fault)) = run(number) else { panic!("{ty}: {number}") };
            assert!(
                fault.message.contains(&format!("takes {least} to {most} as `{ty}`")),
                "{}",
                fault.message
            );
        }
    }
    let float = with_sequence(", %n: f32", "", "%x[0, 0, 0, 0]");
    let found = wsp_aie::DesignFile::read(wsp_diag::FileId(0), &float).expect_err("no launch gives it");
    assert_eq!(found.0[0].message, "`n` is `f32`, and a launch gives arrays and integers");
}

#[test]
fn sequences_compute_in_the_width_of_types() {
    let wrapped = "      %c = arith.constant 2147483647 : i32
      %o = arith.constant 1 : i32
      %z = arith.addi %c, %o : i32
      %w = arith.extsi %z : i32 to i64
      %k = arith.constant 2147483648 : i64
      %d = arith.addi %w, %k : i64
";
    let mut args = [ints(0..1024), ints(vec![0; 1024])];
    let made = design(&with_sequence("", wrapped, "%x[0, 0, 0, %d]"));
    run(&made, Allocation::Declared, &mut args).unwrap_or_else(|fault| panic!("{:?}", fault.diagnostic()));
    let divided = "      %o = arith.constant 1 : i64
      %z = arith.constant 0 : i64
      %d = arith.divsi %o, %z : i64
";
    let made = design(&with_sequence("", divided, "%x[0, 0, 0, %d]"));
    let Err(Failure::Fault(fault)) = run(&made, Allocation::Declared, &mut args) else { panic!("it runs") };
    assert_eq!(fault.message, "`arith.divsi` makes no number of 1 and 0");
}

/// A run that its caller stops ends in the middle of its work, with nothing else said of it.
#[test]
fn a_caller_stops_a_run() {
    let design = design(PRODUCT);
    let mut args: Vec<Arg> = design.sequences[0]
        .args
        .iter()
        .map(|arg| Arg::Array(vec![0; design.module.ty(*arg).bytes().expect("an array") as usize]))
        .collect();
    let cancel = Arc::new(AtomicBool::new(false));
    let mut machine = Machine::new(&design, Allocation::Lowered).expect("it is made");
    machine.cancel = Some(cancel.clone());
    let mut called = 0;
    let mut stop = |_: &str, _: &mut Call<'_>| {
        called += 1;
        cancel.store(true, Ordering::Relaxed);
        true
    };
    let ran = machine.launch(None, &mut args, &mut stop);
    let Err(failure @ Failure::Cancelled) = ran else { panic!("{ran:?}") };
    assert_eq!(
        (failure.diagnostic().code.0, failure.diagnostic().message.as_str()),
        (574, "the run was cancelled")
    );
    assert!((1..4).contains(&called), "{called} of 4 objects");
}

/// A run ahead that is stopped says nothing, neither that a design goes on nor that it hangs.
#[test]
fn a_run_ahead_is_stopped() {
    let flag = Arc::new(AtomicBool::new(true));
    let checked = |text: &str| crate::support::codes(text);
    let stopped = |text: &str| wsp_aie::stoppable(Some(&flag), || checked(text));
    assert_eq!((checked(SCALE), stopped(SCALE)), (vec![], vec![]));
    let hangs = LOCKS.replace("aie.use_lock(%done, Release, 1)", "");
    assert!(checked(&hangs).contains(&1852) && !stopped(&hangs).contains(&1852), "{:?}", checked(&hangs));
}
