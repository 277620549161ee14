//! The C interface of graphs: it runs what the machine runs, and refuses what is wrong with numbers.

// The functions are those of a C ABI.
#![allow(unsafe_code)]

use core::ffi::c_void;
use core::ptr::{null, null_mut};
use wsp_core::tg::image::{
    DecisionRecord, GuardRecord, Image, LevelRecord, NONE, NodeKind, NodeRecord, WHEN_NONZERO, WHEN_SKIPPED,
    WHEN_ZERO,
};
use wsp_core::tg::image_file::{ImageHeader, ImageReadError, parts, read};
use wsp_device::graph::abi::{GraphStatus, StepKind, TgHost, TgReport, TgStep};
use wsp_device::graph::{
    GraphHandle, wsp_tg_bytes, wsp_tg_complete, wsp_tg_gang, wsp_tg_iterations, wsp_tg_next, wsp_tg_node,
    wsp_tg_open, wsp_tg_resume, wsp_tg_state,
};
use zerocopy::IntoBytes as _;

/// Kernels 0 and 1, of which the first decides whether the second runs, and a kernel behind both.
fn image_words() -> Vec<u32> {
    let node = |kind: NodeKind, item, guard, first, end| NodeRecord {
        kind: kind as u32,
        item,
        guard,
        gang: NONE,
        first,
        end,
    };
    let nodes = [
        node(NodeKind::Kernel, 0, NONE, 0, 1),
        node(NodeKind::Decide, 0, NONE, 1, 2),
        node(NodeKind::Kernel, 1, 0, 2, 3),
        node(NodeKind::Kernel, 2, NONE, 3, 3),
    ];
    let guards = [
        GuardRecord { parent: NONE, when: WHEN_NONZERO },
        GuardRecord { parent: NONE, when: WHEN_ZERO | WHEN_SKIPPED },
    ];
    let decisions = [DecisionRecord { condition: 0, first: 0, len: 2, leaves: NONE }];
    let mut image = Image {
        nodes: &nodes,
        needs: &[0, 1, 1, 1],
        succs: &[1, 2, 3],
        guards: &guards,
        decisions: &decisions,
        loops: &[],
        gangs: &[],
        members: &[],
        top: LevelRecord { first: 0, len: 4, first_gang: 0, gangs: 0 },
        fingerprint: 0,
    };
    image.fingerprint = image.fingerprint_of();
    let header = ImageHeader::new(&image);
    let bytes = parts(&image, &header).concat();
    bytes.chunks_exact(4).map(|word| u32::from_ne_bytes(word.try_into().expect("four bytes"))).collect()
}

extern "C" fn constant(user: *mut c_void, _: u32, _: *const u32, _: u64, value: *mut i64) -> i32 {
    // SAFETY: both are places of the test.
    unsafe { value.write(*user.cast::<i64>()) };
    0
}

extern "C" fn unknown(_: *mut c_void, _: u32, _: *const u32, _: u64, _: *mut i64) -> i32 {
    -77
}

/// A run in memory of its own.
struct Run {
    handle: *mut GraphHandle,
    condition: Box<i64>,
    report: TgReport,
    _memory: Vec<u64>,
}

impl Run {
    fn open(image: &[u32], saved: Option<&[u32]>, condition: i64) -> Result<Run, (i32, TgReport)> {
        let (bytes, len) = (image.as_ptr().cast(), size_of_val(image) as u64);
        let (mut need, mut report, mut handle) = (0, TgReport::default(), null_mut());
        // SAFETY: places of the test, of the lengths that are given.
        let status = unsafe { wsp_tg_bytes(bytes, len, &raw mut need, &raw mut report) };
        if status != 0 {
            return Err((status, report));
        }
        let mut memory = vec![u64::MAX; (need as usize).div_ceil(8)];
        let place = memory.as_mut_ptr().cast();
        // SAFETY: as above; the memory moves with the run and is not touched by anybody else.
        let status = unsafe {
            match saved {
                None => wsp_tg_open(bytes, len, place, need, &raw mut handle, &raw mut report),
                Some(words) => {
                    let count = words.len() as u64;
                    wsp_tg_resume(
                        bytes,
                        len,
                        words.as_ptr(),
                        count,
                        place,
                        need,
                        &raw mut handle,
                        &raw mut report,
                    )
                }
            }
        };
        match status {
            0 => Ok(Run { handle, condition: Box::new(condition), report, _memory: memory }),
            _ => Err((status, report)),
        }
    }

    fn next(&mut self) -> Result<TgStep, i32> {
        let host = TgHost { user: (&raw mut *self.condition).cast(), eval: Some(constant) };
        let mut step = TgStep::default();
        // SAFETY: places of the test.
        match unsafe { wsp_tg_next(self.handle, &raw const host, &raw mut step, &raw mut self.report) } {
            0 => Ok(step),
            status => Err(status),
        }
    }

    fn complete(&mut self, node: u32) -> i32 {
        // SAFETY: an open handle.
        unsafe { wsp_tg_complete(self.handle, node) }
    }

    fn state(&mut self) -> Vec<u32> {
        let (mut words, mut count) = (vec![0; 64], 0);
        // SAFETY: places of the test.
        assert_eq!(unsafe { wsp_tg_state(self.handle, words.as_mut_ptr(), 64, &raw mut count) }, 0);
        words.truncate(count as usize);
        words
    }

    /// Runs to the end; the kernels that were started.
    fn finish(&mut self) -> Vec<u32> {
        let mut started = Vec::new();
        loop {
            let step = self.next().expect("no fault");
            match step.kind {
                kind if kind == StepKind::Run as u32 => {
                    started.push(step.item);
                    assert_eq!(self.complete(step.at), 0);
                }
                kind if kind == StepKind::Done as u32 => return started,
                kind => panic!("step {kind}"),
            }
        }
    }
}

/// ISA-IMP-11: the machine is reached from C.
#[test]
fn a_graph_runs_as_its_condition_says() {
    assert_eq!(Run::open(&image_words(), None, 5).expect("it opens").finish(), [0, 1, 2]);
    assert_eq!(Run::open(&image_words(), None, 0).expect("it opens").finish(), [0, 2]);
}

#[test]
fn a_run_goes_on_from_its_words() {
    let image = image_words();
    let mut run = Run::open(&image, None, 1).expect("it opens");
    let step = run.next().expect("a kernel");
    assert_eq!(run.complete(step.at), 0);
    let words = run.state();
    assert_eq!(run.finish(), [1, 2]);
    assert_eq!(Run::open(&image, Some(&words), 1).expect("it goes on").finish(), [1, 2]);
    let mut other = words.clone();
    other[0] ^= 1;
    let (status, report) = Run::open(&image, Some(&other), 1).err().expect("another graph");
    assert_eq!((status, report.kind), (GraphStatus::State as i32, 2));
    let (status, report) = Run::open(&image, Some(&words[1..]), 1).err().expect("too few");
    assert_eq!((status, report.kind, report.found), (GraphStatus::State as i32, 1, words.len() as i64 - 1));
}

#[test]
fn what_is_wrong_is_reported() {
    let mut run = Run::open(&image_words(), None, 1).expect("it opens");
    assert_eq!(run.complete(4), GraphStatus::Node as i32);
    let step = run.next().expect("a kernel");
    assert_eq!(run.next().expect("nothing").kind, StepKind::Idle as u32);
    assert_eq!(run.complete(step.at), 0);
    assert_eq!(run.complete(step.at), GraphStatus::Node as i32, "it is complete");
    let host = TgHost { user: null_mut(), eval: Some(unknown) };
    let (mut step, mut report, mut count) = (TgStep::default(), TgReport::default(), 0);
    // SAFETY: places of the test; null is refused.
    unsafe {
        assert_eq!(wsp_tg_next(run.handle, null(), &raw mut step, null_mut()), GraphStatus::Null as i32);
        assert_eq!(
            wsp_tg_next(null_mut(), &raw const host, &raw mut step, null_mut()),
            GraphStatus::Handle as i32
        );
        assert_eq!(
            wsp_tg_next(run.handle, &raw const host, &raw mut step, &raw mut report),
            GraphStatus::Fault as i32
        );
        assert_eq!((report.kind, report.found), (1, -77));
        assert_eq!(wsp_tg_gang(run.handle, 0, null_mut(), 0, &raw mut count), GraphStatus::Node as i32);
        assert_eq!(wsp_tg_node(run.handle, 9, &raw mut step), GraphStatus::Node as i32);
        assert_eq!(wsp_tg_iterations(run.handle, null_mut(), 0, &raw mut count), 0);
        assert_eq!(count, 0);
        let mut none = [0u64; 64];
        assert_eq!(wsp_tg_complete(none.as_mut_ptr().cast(), 0), GraphStatus::Handle as i32);
    }
}

/// ISA-IMP-07: whatever the bytes, an image is refused or runs within its bounds.
#[test]
fn damaged_images_are_refused_or_run() {
    let good = image_words();
    for at in 0..good.len() {
        for value in [0, 1, 2, 3, 4, 5, 100, u32::MAX, 1 << 31] {
            let mut image = good.clone();
            image[at] = value;
            if image == good {
                continue;
            }
            assert!(Run::open(&image, None, 1).is_err(), "word {at} is {value}");
            // With the right fingerprint only the check of numbers is left.
            if let Err(ImageReadError::Fingerprint { computed, .. }) = read(image.as_bytes()) {
                image[9] = computed;
                if let Ok(mut run) = Run::open(&image, None, 1) {
                    for _ in 0..16 {
                        let Ok(step) = run.next() else { break };
                        if step.kind == StepKind::Run as u32 {
                            run.complete(step.at);
                        }
                    }
                }
            }
        }
    }
    assert_eq!(
        Run::open(&good[..good.len() - 1], None, 1).err().expect("cut off").0,
        GraphStatus::Read as i32
    );
    assert_eq!(Run::open(&[], None, 1).err().expect("nothing").0, GraphStatus::Read as i32);
}
