//! Tokens of channels ask for no memory: expansions with more of them allocate as often.
#![allow(unsafe_code, reason = "counts allocations")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use wsp_core::SlotId;
use wsp_diag::SourceMap;
use wsp_ir::workload::{WorkloadModule, text};
use wsp_ordered::OrderedMap;
use wsp_plan::workload::{Bindings, LoweredSchedule, TaskRecord, TaskSink, bind};
use wsp_plan::{ParamValue, ptow, workload};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: hands every request to the system's allocator unchanged. `realloc` comes to `alloc` by default.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // A thread that is going away has no counter any more.
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promises are those of `System`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Counts tasks.
#[derive(Default)]
struct Count(u64);

impl TaskSink for Count {
    type Error = ();

    fn task(&mut self, _: &TaskRecord<'_>) -> Result<(), ()> {
        self.0 += 1;
        Ok(())
    }

    fn slot(&mut self, _: SlotId) -> Result<i64, ()> {
        Err(())
    }
}

/// Loads, a stage in the middle that takes tokens of two channels as they come, and one that takes all.
const SOURCE: &str =
    "param n; tensor ring: f32[8, 4]; kernel put(t, out a); kernel join(in a, out b); kernel take(in a);
    workload main { channel a[2]; channel b[0]; channel c[3]; pipeline {
        process p { parallel for t in 0..n { send a as s { put(t, ring[s]); } } close a; }
        process q { parallel for t in 0..n { if t % 3 == 0 { send b as s { put(t, ring[4]); } } } close b; }
        process r { select all {
            consume a as s { send c as d { join(ring[s], ring[5 + d]); } }
            consume b as s { send c as d { join(ring[4], ring[5 + d]); } } } close c; }
        process t { consume all c as s { take(ring[5 + s]); } } } }";

fn expanded(module: &WorkloadModule, n: i128, is_bytecode: bool) -> (u64, u64) {
    let set = [("n".to_owned(), ParamValue::Int(n))];
    let bindings: Bindings = bind(module, &set, &OrderedMap::new()).expect("all is given");
    let schedule = LoweredSchedule::default();
    let before = ALLOCATIONS.get();
    let mut sink = Count::default();
    let ran = match is_bytecode {
        true => ptow::expand(module, &bindings, &schedule, &mut sink),
        false => workload::expand(module, &bindings, &schedule, &mut sink),
    };
    ran.expect("every process ends");
    (sink.0, ALLOCATIONS.get() - before)
}

#[test]
fn a_token_asks_for_no_memory() {
    let mut sources = SourceMap::default();
    let (module, found) = text::parse("test.wsp", SOURCE, &mut sources);
    let module = module.unwrap_or_else(|| panic!("{found:?}"));
    for is_bytecode in [false, true] {
        let (few, with_few) = expanded(&module, 300, is_bytecode);
        let (many, with_many) = expanded(&module, 30_000, is_bytecode);
        assert_eq!((few, many), (1200, 120_000));
        assert_eq!(with_few, with_many, "of bytecode: {is_bytecode}");
        assert!(with_few > 0, "allocations are counted");
    }
}
