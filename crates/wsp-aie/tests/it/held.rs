//! Objects that cores use and do not hold.

use crate::support::{design, ints, run};
use wsp_aie::run::{Allocation, Failure};

const SCALE: &str = include_str!("designs/scale.mlir");

const IN: &str = "        aie.objectfifo.release @in(Consume, 1)\n";
const OUT: &str = "        aie.objectfifo.release @out(Produce, 1)\n";
const LOOP: &str = "        scf.for %i = %c0 to %c256 step %c1 {\n";

/// What a run of `SCALE` faults with, and the text at the place, where some lines stand elsewhere: the same with buffers as declared and as lowering
/// allocates them, which are two here.
fn fault(edits: &[(&str, &str)]) -> (String, String) {
    let mut text = SCALE.to_owned();
    for (from, to) in edits {
        let next = text.replacen(from, to, 1);
        assert_ne!(next, text, "{from}");
        text = next;
    }
    let design = design(&text);
    let found = wsp_aie::check(&design);
    // How many objects a core takes is not what is looked at.
    assert!(found.iter().all(|found| found.code.0 == 1849), "{found:#?}");
    let mut all = Vec::new();
    for allocation in [Allocation::Declared, Allocation::Lowered] {
        match run(&design, allocation, &mut [ints(0..1024), ints(vec![0; 1024])]) {
            Err(Failure::Fault(fault)) if fault.code.0 == 1861 => {
                let span = fault.primary.expect("a place").span;
                let at = text[span.start as usize..span.end as usize].to_owned();
                all.push((fault.message, at));
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(all[0], all[1]);
    all.remove(0)
}

#[test]
fn an_object_that_was_given_back_is_not_read() {
    let (told, at) = fault(&[(IN, ""), (LOOP, &format!("{IN}{LOOP}"))]);
    assert_eq!(
        told,
        "the core on tile (0, 2) reads object 0 of fifo `@in` (buffer 0 of 2), which it has given back; it holds none"
    );
    assert!(at.contains("memref.load %a[%i]"), "{at}");
}

#[test]
fn an_object_that_was_given_back_is_not_written() {
    let (told, at) = fault(&[(OUT, ""), (LOOP, &format!("{OUT}{LOOP}"))]);
    assert_eq!(
        told,
        "the core on tile (0, 2) writes object 0 of fifo `@out` (buffer 0 of 2), which it has given back; it holds none"
    );
    assert!(at.starts_with("memref.store %y"), "{at}");
}

/// Takes the next object, and has the first one in hand.
const NEXT: &str = "        aie.objectfifo.release @in(Consume, 1)
        %s2 = aie.objectfifo.acquire @in(Consume, 1) : !aie.objectfifosubview<memref<256xi32>>
";

#[test]
fn an_object_is_not_the_next_one() {
    let read = "        %old = memref.load %a[%c0] : memref<256xi32>\n";
    let (told, at) = fault(&[(IN, &format!("{NEXT}{read}{IN}"))]);
    assert_eq!(
        told,
        "the core on tile (0, 2) reads object 0 of fifo `@in` (buffer 0 of 2), which it has given back; it holds 1"
    );
    assert!(at.contains("memref.load %a[%c0]"), "{at}");
    let take = "        %old = aie.objectfifo.subview.access %s[0] : !aie.objectfifosubview<memref<256xi32>> -> memref<256xi32>\n";
    let (told, at) = fault(&[(IN, &format!("{NEXT}{take}{IN}"))]);
    assert!(told.contains("takes object 0 of fifo `@in`"), "{told}");
    assert!(at.contains("subview.access %s[0]"), "{at}");
}

#[test]
fn copies_and_kernels_are_given_what_is_held() {
    let copy = "        memref.copy %a, %b : memref<256xi32> to memref<256xi32>\n";
    let (told, _) = fault(&[(IN, ""), (OUT, &format!("{IN}{copy}{OUT}"))]);
    assert!(told.contains("copies object 0 of fifo `@in`"), "{told}");
    let (told, _) = fault(&[(IN, ""), (OUT, &format!("{OUT}{copy}{IN}"))]);
    assert!(told.contains("fills object 0 of fifo `@out`"), "{told}");
    let kernel = "    func.func private @look(memref<256xi32>)\n    %work = aie.core";
    let call = "        func.call @look(%a) : (memref<256xi32>) -> ()\n";
    let (told, at) = fault(&[("    %work = aie.core", kernel), (IN, &format!("{IN}{call}"))]);
    assert!(told.contains("calls a kernel with object 0 of fifo `@in`"), "{told}");
    assert!(at.starts_with("func.call @look"), "{at}");
}
