//! What comes through the C ABI is checked: pointers, alignments, lengths, handles.
// The functions are those of a C ABI.
#![allow(unsafe_code)]

mod program;

use core::ffi::c_void;
use core::ptr::{null, null_mut};
use program::image::{Aligned, Image, ext, lay_out, with, word};
use wsp_core::ptow::{DispatchConfig, Op, PoolHeader};
use wsp_device::abi::{PtowHost, PtowLaunch, PtowReport, PtowTable, PtowTask, PtowWaits, Status};
use wsp_device::{
    Sums, wsp_ptow_compile_bytes, wsp_ptow_dispatch, wsp_ptow_open, wsp_ptow_run, wsp_ptow_scratch_bytes,
    wsp_ptow_sums_build, wsp_ptow_sums_bytes, wsp_ptow_verify, wsp_ptow_waits_of, wsp_ptow_watermark,
};

/// The type of a handle, whatever it is.
type Opened = *mut wsp_device::Handle;

/// A launch of the program, and all that it points to.
struct Fixture {
    program: Aligned,
    _tables: Vec<Vec<i64>>,
    _rows: Vec<PtowTable>,
    launch: PtowLaunch,
    config: DispatchConfig,
    sums: *const Sums,
    memory: Vec<u64>,
    _values: Vec<i64>,
    _extents: Vec<[u32; 6]>,
}

impl Fixture {
    fn new() -> Fixture {
        let data = program::data();
        let rows: Vec<PtowTable> = data
            .tables
            .iter()
            .map(|table| PtowTable { data: table.as_ptr(), len: table.len() as u64 })
            .collect();
        let launch = PtowLaunch {
            values: data.values.as_ptr(),
            num_values: data.values.len() as u64,
            tables: rows.as_ptr(),
            num_tables: rows.len() as u64,
            extents: data.extents.as_ptr(),
            num_extents: data.extents.len() as u64,
        };
        Fixture {
            program: Aligned::new(&program::program().bytes()),
            _tables: data.tables,
            _rows: rows,
            launch,
            config: DispatchConfig::round_robin(1, 0),
            sums: null(),
            memory: vec![0; 1 << 16],
            _values: data.values,
            _extents: data.extents,
        }
    }

    fn open_in(&mut self, memory: *mut u8, len: u64) -> (i32, Opened, PtowReport) {
        let (bytes, mut handle, mut report) = (self.program.get(), null_mut(), PtowReport::default());
        // SAFETY: all that is pointed to lives as long as the fixture.
        let status = unsafe {
            let len_of_program = bytes.len() as u64;
            let (launch, config) = (&raw const self.launch, &raw const self.config);
            let (handle, report) = (&raw mut handle, &raw mut report);
            wsp_ptow_open(
                bytes.as_ptr(),
                len_of_program,
                launch,
                config,
                self.sums,
                0,
                memory,
                len,
                handle,
                report,
            )
        };
        (status, handle, report)
    }

    fn open(&mut self) -> (i32, Opened, PtowReport) {
        let (memory, len) = (self.memory.as_mut_ptr().cast(), self.memory.len() as u64 * 8);
        self.open_in(memory, len)
    }
}

extern "C" fn take(_: *mut c_void, _: *const PtowTask) -> i32 {
    0
}

extern "C" fn refuse(_: *mut c_void, _: *const PtowTask) -> i32 {
    1
}

extern "C" fn run_again(user: *mut c_void, _: *const PtowTask) -> i32 {
    // SAFETY: the pointer is the handle that has called.
    let status = unsafe { wsp_ptow_run(user.cast(), &TAKES, 1, 1, null_mut()) };
    i32::from(status != Status::Handle as i32)
}

extern "C" fn no_plan(_: *mut c_void, _: u16, _: u64, _: *mut u64) -> i32 {
    -1
}

const TAKES: PtowHost =
    PtowHost { user: null_mut(), task: Some(take), ordered: None, slot: None, plan: None };

#[track_caller]
fn is(status: i32, expected: Status) {
    assert_eq!(status, expected as i32);
}

#[test]
fn null_pointers_are_refused() {
    let mut fixture = Fixture::new();
    let mut bytes = 0;
    // SAFETY: null is what is tested; the rest lives long enough.
    unsafe {
        is(wsp_ptow_scratch_bytes(null(), 24, &raw mut bytes, null_mut()), Status::Null);
        let program = fixture.program.get();
        let (data, len) = (program.as_ptr(), program.len() as u64);
        is(wsp_ptow_scratch_bytes(data, len, null_mut(), null_mut()), Status::Null);
        is(wsp_ptow_verify(data, len, null_mut(), 8, &raw mut bytes, null_mut()), Status::Null);
        is(wsp_ptow_run(null_mut(), &TAKES, 1, 1, null_mut()), Status::Handle);
        is(wsp_ptow_compile_bytes(data, len, null(), &raw mut bytes, null_mut()), Status::Null);
        is(wsp_ptow_dispatch(null(), 1, 0, null_mut(), null_mut()), Status::Null);
    }
    fixture.launch.values = null();
    is(fixture.open().0, Status::Null);
    is(fixture.open_in(null_mut(), 1 << 16).0, Status::Null);
    let mut fixture = Fixture::new();
    let (status, handle, _) = fixture.open();
    is(status, Status::Ok);
    // SAFETY: the handle is open.
    unsafe {
        is(wsp_ptow_run(handle, null(), 1, 1, null_mut()), Status::Null);
        let host = PtowHost { task: None, ..TAKES };
        is(wsp_ptow_run(handle, &raw const host, 1, 1, null_mut()), Status::Null);
        is(wsp_ptow_watermark(handle, null_mut()), Status::Null);
    }
}

#[test]
fn misaligned_pointers_are_refused() {
    let mut fixture = Fixture::new();
    let memory: *mut u8 = fixture.memory.as_mut_ptr().cast();
    is(fixture.open_in(memory.wrapping_add(4), 1 << 16).0, Status::Alignment);
    fixture.launch.values = fixture.launch.values.wrapping_byte_add(1);
    is(fixture.open().0, Status::Alignment);
}

#[test]
fn lengths_that_cannot_be_are_refused() {
    let mut fixture = Fixture::new();
    fixture.launch.num_values = u64::MAX;
    is(fixture.open().0, Status::Memory);
}

#[test]
fn memory_that_is_too_small_is_refused_with_what_it_needs() {
    let mut fixture = Fixture::new();
    let program = fixture.program.get();
    let (data, len) = (program.as_ptr(), program.len() as u64);
    let (mut scratch, mut need) = (0, 0);
    let mut marks = vec![0u8; 1 << 16];
    // SAFETY: all of it lives long enough.
    unsafe {
        is(wsp_ptow_scratch_bytes(data, len, &raw mut scratch, null_mut()), Status::Ok);
        let memory = marks.as_mut_ptr();
        is(wsp_ptow_verify(data, len, memory, scratch - 1, &raw mut need, null_mut()), Status::Memory);
        is(wsp_ptow_verify(data, len, memory, scratch, &raw mut need, null_mut()), Status::Ok);
    }
    let memory = fixture.memory.as_mut_ptr().cast();
    let (status, _, report) = fixture.open_in(memory, need - 1);
    is(status, Status::Memory);
    assert_eq!((report.found, report.limit), (need as i64 - 1, need as i64));
    is(fixture.open_in(memory, need).0, Status::Ok);
}

#[test]
fn modes_that_are_none_are_refused() {
    let mut fixture = Fixture::new();
    let (data, len) = (fixture.program.get().as_ptr(), fixture.program.get().len() as u64);
    let (launch, config, mut handle) = (&raw const fixture.launch, &raw const fixture.config, null_mut());
    let memory: *mut u8 = fixture.memory.as_mut_ptr().cast();
    // SAFETY: all of it lives long enough.
    let status = unsafe {
        wsp_ptow_open(data, len, launch, config, null(), 2, memory, 1 << 16, &raw mut handle, null_mut())
    };
    is(status, Status::Mode);
}

#[test]
fn memory_that_holds_no_handle_is_noticed() {
    let mut fixture = Fixture::new();
    let mut watermark = 0;
    // SAFETY: the memory is larger than a handle.
    let status = unsafe { wsp_ptow_watermark(fixture.memory.as_mut_ptr().cast(), &raw mut watermark) };
    is(status, Status::Handle);
    let other = vec![0u64; 64];
    fixture.sums = other.as_ptr().cast();
    is(fixture.open().0, Status::Handle);
}

#[test]
fn a_callback_cannot_run_the_handle_that_has_called_it() {
    let mut fixture = Fixture::new();
    let (_, handle, _) = fixture.open();
    let host = PtowHost { user: handle.cast(), task: Some(run_again), ..TAKES };
    // SAFETY: the handle is open.
    is(unsafe { wsp_ptow_run(handle, &raw const host, 1, u32::MAX, null_mut()) }, Status::Yielded);
}

#[test]
fn a_task_that_is_not_taken_comes_again() {
    let mut fixture = Fixture::new();
    let (_, handle, _) = fixture.open();
    let refuses = PtowHost { task: Some(refuse), ..TAKES };
    let mut watermark = 7;
    // SAFETY: the handle is open.
    unsafe {
        is(wsp_ptow_run(handle, &raw const refuses, u32::MAX, u32::MAX, null_mut()), Status::Stopped);
        is(wsp_ptow_watermark(handle, &raw mut watermark), Status::Ok);
        assert_eq!(watermark, 0);
        is(wsp_ptow_run(handle, &TAKES, 2, u32::MAX, null_mut()), Status::Yielded);
        is(wsp_ptow_watermark(handle, &raw mut watermark), Status::Ok);
        assert_eq!(watermark, 2);
    }
}

#[test]
fn a_host_without_generators_is_told_which_is_missing() {
    let mut fixture = Fixture::new();
    let (_, handle, _) = fixture.open();
    let mut report = PtowReport::default();
    let host = PtowHost { plan: Some(no_plan), ..TAKES };
    // SAFETY: the handle is open.
    is(unsafe { wsp_ptow_run(handle, &raw const host, u32::MAX, u32::MAX, &raw mut report) }, Status::Fault);
    assert_eq!((report.kind, report.found), (8, 0));
}

#[test]
fn sums_are_built_in_memory_of_the_caller_and_shared() {
    let mut fixture = Fixture::new();
    let (program, launch) = (fixture.program.get(), &raw const fixture.launch);
    let (data, len) = (program.as_ptr(), program.len() as u64);
    let mut scratch = vec![0u64; 1 << 12];
    let (area, area_len) = (scratch.as_mut_ptr().cast::<u8>(), 8 << 12);
    let (mut bytes, mut sums, mut report) = (0, null(), PtowReport::default());
    // SAFETY: all of it lives long enough.
    unsafe {
        is(wsp_ptow_sums_bytes(data, len, launch, area, area_len, &raw mut bytes, null_mut()), Status::Ok);
        is(wsp_ptow_sums_bytes(data, len, launch, area, 8, &raw mut bytes, &raw mut report), Status::Memory);
        assert!(report.limit > 8);
    }
    let mut memory = vec![0u64; bytes.div_ceil(8) as usize];
    let place = memory.as_mut_ptr().cast::<u8>();
    // SAFETY: all of it lives long enough.
    unsafe {
        let short =
            wsp_ptow_sums_build(data, len, launch, area, area_len, place, 8, &raw mut sums, null_mut());
        is(short, Status::Memory);
        let built =
            wsp_ptow_sums_build(data, len, launch, area, area_len, place, bytes, &raw mut sums, null_mut());
        is(built, Status::Ok);
    }
    fixture.sums = sums;
    is(fixture.open().0, Status::Ok);
    is(fixture.open().0, Status::Ok);
}

/// Of processes of which none can go on each says what it waits for.
#[test]
fn processes_that_cannot_go_on_say_what_they_wait_for() {
    let send = vec![with([word(Op::Send, 0, 0, 0)], [(0, vec![])])];
    let take = vec![with([word(Op::Recv, 0, 1, 0)], [(0, vec![])])];
    let processes = with(
        [word(Op::Process, 3, 3, 0), ext(0, 0), ext(0, 0), ext(0, 0)],
        [(1, send), (2, vec![]), (3, take)],
    );
    let words = lay_out(vec![processes]);
    let at = |op: Op| words.iter().position(|word| word.opcode == op.code()).expect("it is there") as u32;
    let (send, take) = (at(Op::Send), at(Op::Recv));
    // Channels without a depth hold nothing.
    let image =
        Image { words, pool: PoolHeader { num_channels: 2, ..PoolHeader::default() }, ..Image::default() };
    let mut fixture = Fixture { program: Aligned::new(&image.bytes()), ..Fixture::new() };
    let (status, handle, _) = fixture.open();
    is(status, Status::Ok);
    let mut report = PtowReport::default();
    // SAFETY: the handle lives as long as the fixture.
    let status = unsafe { wsp_ptow_run(handle, &TAKES, u32::MAX, u32::MAX, &raw mut report) };
    is(status, Status::Fault);
    assert_eq!((report.kind, report.at), (11, 0));
    let waits = [0, 1, 2, 3].map(|process| {
        let mut waits = PtowWaits::default();
        // SAFETY: as above.
        is(unsafe { wsp_ptow_waits_of(handle, process, &raw mut waits) }, Status::Ok);
        (waits.kind, waits.word)
    });
    assert_eq!(waits, [(3, send), (1, 0), (2, take), (0, 0)]);
}
