//! Opening and running graphs.

use super::abi::{GraphStatus, StepKind, TgHost, TgReport, TgStep};
use super::handle::GraphHandle;
use super::{Failure, memory, no_state, plain, pointer, unreadable, wrong};
use crate::input::{bytes_mut, reference, slice, store};
use wsp_core::tg::image::Image;
use wsp_core::tg::image_file;
use wsp_core::tg::machine::{Fault, Machine, Scalars, Step};
use zerocopy::FromBytes as _;

/// Ends a call: stores what is wrong where the caller wants it, and gives the status.
///
/// # Safety
/// `report` is null or points to a place for a report that nobody else uses.
unsafe fn finish(result: Result<(), Failure>, report: *mut TgReport) -> i32 {
    let (status, numbers) = match result {
        Ok(()) => (GraphStatus::Ok, TgReport::default()),
        Err(failure) => failure,
    };
    if !report.is_null() {
        // SAFETY: the caller's promise.
        if let Err(status) = unsafe { store(report, numbers) } {
            return status as i32;
        }
    }
    status as i32
}

/// The image in some bytes.
///
/// # Safety
/// A pointer that is not null points to `len` bytes that do not change for `'a`.
unsafe fn image<'a>(bytes: *const u8, len: u64) -> Result<Image<'a>, Failure> {
    // SAFETY: the caller's promise.
    let bytes = unsafe { slice(bytes, len) }.map_err(pointer)?;
    image_file::read(bytes).map_err(unreadable)
}

/// Bytes that a handle needs: itself, and words for the state and for the check.
fn needed(image: &Image<'_>) -> usize {
    let words = image.state_words().max(image.nodes.len());
    size_of::<GraphHandle>().saturating_add(words.saturating_mul(size_of::<u32>()))
}

/// Bytes of memory that opening a graph takes, into `bytes`.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wsp_tg_bytes(
    image_bytes: *const u8,
    len: u64,
    bytes: *mut u64,
    report: *mut TgReport,
) -> i32 {
    // SAFETY: the caller's promises.
    let result = unsafe { image(image_bytes, len) }.and_then(|image| {
        // SAFETY: the caller's promises.
        unsafe { store(bytes, needed(&image) as u64) }.map_err(pointer)
    });
    // SAFETY: the caller's promises.
    unsafe { finish(result, report) }
}

/// How a run begins.
#[derive(Clone, Copy)]
enum Begin<'w> {
    Start,
    Resume(&'w [u32]),
}

/// Makes a handle in some memory.
///
/// # Safety
/// As the header says.
unsafe fn open(
    image_bytes: *const u8,
    len: u64,
    begin: Begin<'_>,
    place: *mut u8,
    place_len: u64,
    handle: *mut *mut GraphHandle,
) -> Result<(), Failure> {
    // SAFETY: the caller's promises.
    let image: Image<'static> = unsafe { image(image_bytes, len) }?;
    // SAFETY: the caller's promises.
    let memory_bytes: &'static mut [u8] = unsafe { bytes_mut(place, place_len) }.map_err(pointer)?;
    if memory_bytes.as_ptr().addr() & 7 != 0 {
        return Err(plain(GraphStatus::Alignment));
    }
    let short = memory(needed(&image), memory_bytes.len());
    if memory_bytes.len() < needed(&image) {
        return Err(short);
    }
    let (head, rest) = memory_bytes.split_at_mut_checked(size_of::<GraphHandle>()).ok_or(short)?;
    let count = rest.len() / size_of::<u32>();
    let (words, _) = <[u32]>::mut_from_prefix_with_elems(rest, count).map_err(|_| short)?;
    image.check(words).map_err(wrong)?;
    let words = words.get_mut(..image.state_words()).ok_or(short)?;
    match begin {
        Begin::Start => {
            Machine::start(&image, words).ok_or(short)?;
        }
        Begin::Resume(saved) => {
            let expected = words.len();
            if saved.len() != expected {
                let (found, limit) = (saved.len() as i64, expected as i64);
                return Err((GraphStatus::State, TgReport { kind: 1, at: 0, found, limit }));
            }
            words.iter_mut().zip(saved).for_each(|(word, saved)| *word = *saved);
            Machine::resume(&image, words).map_err(no_state)?;
        }
    }
    let place: *mut GraphHandle = head.as_mut_ptr().cast();
    // SAFETY: the part has the size of a handle, is aligned for one, and nobody else uses it.
    unsafe { place.write(GraphHandle::new(image, words)) };
    // SAFETY: the caller's promises.
    unsafe { store(handle, place) }.map_err(pointer)
}

/// Begins a run of a graph in some memory, into `handle`.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wsp_tg_open(
    image_bytes: *const u8,
    len: u64,
    memory: *mut u8,
    memory_len: u64,
    handle: *mut *mut GraphHandle,
    report: *mut TgReport,
) -> i32 {
    // SAFETY: the caller's promises.
    let result = unsafe { open(image_bytes, len, Begin::Start, memory, memory_len, handle) };
    // SAFETY: the caller's promises.
    unsafe { finish(result, report) }
}

/// Goes on with a run from the words of its state, in some memory, into `handle`.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wsp_tg_resume(
    image_bytes: *const u8,
    len: u64,
    words: *const u32,
    num_words: u64,
    memory: *mut u8,
    memory_len: u64,
    handle: *mut *mut GraphHandle,
    report: *mut TgReport,
) -> i32 {
    // SAFETY: the caller's promises.
    let result = unsafe { slice(words, num_words) }.map_err(pointer).and_then(|words| {
        // SAFETY: the caller's promises.
        unsafe { open(image_bytes, len, Begin::Resume(words), memory, memory_len, handle) }
    });
    // SAFETY: the caller's promises.
    unsafe { finish(result, report) }
}

/// Conditions that C evaluates.
struct Conditions<'h>(&'h TgHost);

impl Scalars for Conditions<'_> {
    type Fault = i64;

    fn eval(&mut self, condition: u32, iterations: &[u32]) -> Result<i64, i64> {
        let eval = self.0.eval.ok_or(0)?;
        let mut value = 0;
        match eval(self.0.user, condition, iterations.as_ptr(), iterations.len() as u64, &raw mut value) {
            0 => Ok(value),
            status => Err(i64::from(status)),
        }
    }
}

fn fault(fault: Fault<i64>) -> Failure {
    let (kind, at, found, limit) = match fault {
        Fault::Condition(status) => (1, 0, status, 0),
        Fault::Endless { in_loop, most, value } => (2, in_loop, value, i64::from(most)),
        Fault::Count { in_loop, most, value } => (3, in_loop, value, i64::from(most)),
    };
    (GraphStatus::Fault, TgReport { kind, at, found, limit })
}

fn described(step: Step, image: &Image<'_>) -> TgStep {
    let node = |kind: StepKind, at: u32| {
        let record = image.nodes.get(at as usize);
        let (node_kind, item) = record.map_or((0, 0), |record| (record.kind, record.item));
        TgStep { kind: kind as u32, at, node_kind, item }
    };
    let plain = |kind: StepKind, at| TgStep { kind: kind as u32, at, ..TgStep::default() };
    match step {
        Step::Run(at) => node(StepKind::Run, at),
        Step::Gang(gang) => plain(StepKind::Gang, gang),
        Step::Signal(at) => node(StepKind::Signal, at),
        Step::Idle => plain(StepKind::Idle, 0),
        Step::Done => plain(StepKind::Done, 0),
    }
}

/// What happens next, into `step`.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wsp_tg_next(
    handle: *mut GraphHandle,
    host: *const TgHost,
    step: *mut TgStep,
    report: *mut TgReport,
) -> i32 {
    let next = || {
        // SAFETY: the caller's promises.
        let host = unsafe { reference(host) }.map_err(pointer)?;
        let run = |machine: &mut Machine<'_>, image: &Image<'_>| {
            machine.next(&mut Conditions(host)).map(|step| described(step, image))
        };
        // SAFETY: the caller's promises.
        let found = unsafe { GraphHandle::with(handle, run) };
        let found = found.ok_or(plain(GraphStatus::Handle))?.map_err(fault)?;
        // SAFETY: the caller's promises.
        unsafe { store(step, found) }.map_err(pointer)
    };
    // SAFETY: the caller's promises.
    unsafe { finish(next(), report) }
}

/// A node that was handed out is complete.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wsp_tg_complete(handle: *mut GraphHandle, node: u32) -> i32 {
    let complete = |machine: &mut Machine<'_>, image: &Image<'_>| {
        let is_open = (node as usize) < image.nodes.len() && !machine.is_complete(node);
        if !is_open {
            return GraphStatus::Node;
        }
        machine.complete(node);
        GraphStatus::Ok
    };
    // SAFETY: the caller's promises.
    unsafe { GraphHandle::with(handle, complete) }.unwrap_or(GraphStatus::Handle) as i32
}

/// The members of a gang that start, into `nodes`, which has room for `room`; how many there are, into `count`.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wsp_tg_gang(
    handle: *mut GraphHandle,
    gang: u32,
    nodes: *mut u32,
    room: u64,
    count: *mut u64,
) -> i32 {
    let list = |machine: &mut Machine<'_>, image: &Image<'_>| {
        if gang as usize >= image.gangs.len() {
            return Err(GraphStatus::Node);
        }
        let mut found = 0u64;
        for member in machine.gang(gang) {
            // SAFETY: the caller's promise: there is room for so many.
            unsafe { store_list(&[member], nodes.wrapping_add(found as usize), room.saturating_sub(found)) }?;
            found += 1;
        }
        Ok(found)
    };
    // SAFETY: the caller's promises.
    let found = unsafe { GraphHandle::with(handle, list) }.unwrap_or(Err(GraphStatus::Handle));
    // SAFETY: the caller's promises.
    let stored = found.and_then(|found| unsafe { store(count, found) }.map_err(|status| pointer(status).0));
    stored.map_or_else(|status| status as i32, |()| GraphStatus::Ok as i32)
}

/// What a node is, into `step`.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wsp_tg_node(handle: *mut GraphHandle, node: u32, step: *mut TgStep) -> i32 {
    let look = |_: &mut Machine<'_>, image: &Image<'_>| {
        let exists = (node as usize) < image.nodes.len();
        if exists { Ok(described(Step::Run(node), image)) } else { Err(GraphStatus::Node) }
    };
    // SAFETY: the caller's promises.
    let found = unsafe { GraphHandle::with(handle, look) }.unwrap_or(Err(GraphStatus::Handle));
    // SAFETY: the caller's promises.
    let stored = found.and_then(|found| unsafe { store(step, found) }.map_err(|status| pointer(status).0));
    stored.map_or_else(|status| status as i32, |()| GraphStatus::Ok as i32)
}

/// The number of the running iteration of each loop, into `iterations`, which has room for `room`; how many there are, into `count`.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wsp_tg_iterations(
    handle: *mut GraphHandle,
    iterations: *mut u32,
    room: u64,
    count: *mut u64,
) -> i32 {
    let list = |machine: &mut Machine<'_>, _: &Image<'_>| {
        let numbers = machine.iterations();
        // SAFETY: the caller's promises.
        unsafe { store_list(numbers, iterations, room) }.map(|()| numbers.len() as u64)
    };
    // SAFETY: the caller's promises.
    let found = unsafe { GraphHandle::with(handle, list) }.unwrap_or(Err(GraphStatus::Handle));
    // SAFETY: the caller's promises.
    let stored = found.and_then(|found| unsafe { store(count, found) }.map_err(|status| pointer(status).0));
    stored.map_or_else(|status| status as i32, |()| GraphStatus::Ok as i32)
}

/// Stores as much of a list as there is room for.
///
/// # Safety
/// `place` has room for `room` values that nobody else uses.
unsafe fn store_list(list: &[u32], place: *mut u32, room: u64) -> Result<(), GraphStatus> {
    let room = usize::try_from(room).unwrap_or(usize::MAX);
    for (at, value) in list.iter().take(room).enumerate() {
        // SAFETY: the caller's promise; a null pointer stays one at 0 and is refused there.
        unsafe { store(place.wrapping_add(at), *value) }.map_err(|status| pointer(status).0)?;
    }
    Ok(())
}

/// The words of the run's state, into `words`, which has room for `room`; how many there are, into `count`.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wsp_tg_state(
    handle: *mut GraphHandle,
    words: *mut u32,
    room: u64,
    count: *mut u64,
) -> i32 {
    // SAFETY: the caller's promises.
    let found = unsafe { GraphHandle::with(handle, |_, image| image.state_words()) };
    if found.is_none() {
        return GraphStatus::Handle as i32;
    }
    // SAFETY: the handle is one, as was just seen, and no callback of it is running.
    let state: &[u32] = unsafe { (*handle).words };
    // SAFETY: the caller's promises.
    let copied = unsafe { store_list(state, words, room) }.and_then(|()| {
        // SAFETY: the caller's promises.
        unsafe { store(count, state.len() as u64) }.map_err(|status| pointer(status).0)
    });
    copied.map_or_else(|status| status as i32, |()| GraphStatus::Ok as i32)
}
