//! Threads that runs of Python take. They sleep between runs, so that no run makes one.
//!
//! # Protocol
//! A thread that has nothing to do is in [`IDLE`], and the caller that takes it from there gives it one piece of work: `work` is empty then, and nothing
//! else writes it. It puts itself back before it tells that the work is done, so that the caller who learns of it finds it there.

use std::mem::take;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Thread};
use std::time::Duration;
use wsp_memory::PerProcess;
use wsp_runtime::clock;

/// Threads that have nothing to do. The child of a fork has none.
static IDLE: PerProcess<Vec<Arc<Seat>>> = PerProcess::new(Vec::new());
/// Most of them: as many runs at once find their threads started.
const KEPT: usize = 4;
/// How long a thread looks for what it waits for before it sleeps: some wake-ups' worth.
pub(crate) const LOOKS_FOR: Duration = Duration::from_micros(50);

/// What a thread is to do, and what tells that it is done.
struct Work {
    run: Box<dyn FnOnce() -> Tell + Send>,
}

/// Tells that work is done.
pub(crate) type Tell = Box<dyn FnOnce()>;

/// Where a thread finds its work.
struct Seat {
    work: Mutex<Option<Work>>,
    is_given: AtomicBool,
    thread: Mutex<Option<Thread>>,
}

/// Does something on a thread that stands by, or on one that is made if none does; what it gives is called when the thread stands by again.
///
/// # Errors
/// The operating system makes no thread.
pub(crate) fn start(run: Box<dyn FnOnce() -> Tell + Send>) -> std::io::Result<()> {
    let work = Work { run };
    let idle = IDLE.lock().pop();
    if let Some(seat) = idle {
        seat.give(work);
        return Ok(());
    }
    let seat = Arc::new(Seat {
        work: Mutex::new(Some(work)),
        is_given: AtomicBool::new(true),
        thread: Mutex::default(),
    });
    let builder = thread::Builder::new().name("pto-wsp-run".to_owned());
    builder.spawn(move || seat.serve()).map(drop)
}

/// To be called in the child of a fork.
pub(crate) fn forked() {
    IDLE.begin();
}

/// Looks for so long whether something has come true; whether it has.
pub(crate) fn look_for(span: Duration, is_true: impl Fn() -> bool) -> bool {
    let start = clock::now();
    loop {
        for _ in 0..64 {
            if is_true() {
                return true;
            }
            std::hint::spin_loop();
        }
        if clock::nanos_since(start) > span.as_nanos() as u64 {
            return false;
        }
        thread::yield_now();
    }
}

impl Seat {
    fn give(&self, work: Work) {
        *self.work.lock().unwrap_or_else(PoisonError::into_inner) = Some(work);
        // Release: the thread that sees it finds the work.
        self.is_given.store(true, Ordering::Release);
        if let Some(thread) = &*self.thread.lock().unwrap_or_else(PoisonError::into_inner) {
            thread.unpark();
        }
    }

    /// Works until it is not to stand by.
    fn serve(self: Arc<Seat>) {
        *self.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread::current());
        loop {
            // Acquire: what was given before is seen.
            if !look_for(LOOKS_FOR, || self.is_given.load(Ordering::Acquire)) {
                while !self.is_given.load(Ordering::Acquire) {
                    thread::park();
                }
            }
            self.is_given.store(false, Ordering::Relaxed);
            let work = take(&mut *self.work.lock().unwrap_or_else(PoisonError::into_inner));
            let Some(Work { run }) = work else { continue };
            let tell = run();
            let stays = {
                let mut idle = IDLE.lock();
                let stays = idle.len() < KEPT;
                if stays {
                    idle.push(self.clone());
                }
                stays
            };
            tell();
            if !stays {
                return;
            }
        }
    }
}
