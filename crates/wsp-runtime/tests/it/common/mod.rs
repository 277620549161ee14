//! Helpers of the integration tests.
#![allow(dead_code, reason = "each test file uses its part")]

pub(crate) mod program;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use wsp_core::{KernelId, Region, TaskId, TensorId};
use wsp_runtime::{Ready, RunConfig, TaskRunner, TaskSpec, Window};

/// Something one thread waits for and another opens.
#[derive(Default)]
pub(crate) struct Gate(AtomicBool);

impl Gate {
    pub(crate) fn open(&self) {
        self.0.store(true, Ordering::Release);
    }

    pub(crate) fn wait(&self) {
        while !self.0.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
    }
}

/// What a [`Scripted`] runner was asked to do, in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    Run(u32),
    Prefetch(u32),
}

/// What a task of a test does. One type for all tests: the runtime is compiled once, not once per closure.
pub(crate) type Body<'b> = Box<dyn Fn(u32) -> Result<(), String> + Sync + 'b>;

/// A runner that records what happens and calls a function for each task.
pub(crate) struct Scripted<'b> {
    pub(crate) events: Mutex<Vec<Event>>,
    pub(crate) body: Body<'b>,
}

impl<'b> Scripted<'b> {
    pub(crate) fn new(body: impl Fn(u32) -> Result<(), String> + Sync + 'b) -> Scripted<'b> {
        Scripted { events: Mutex::new(Vec::new()), body: Box::new(body) }
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        self.events.lock().expect("no task panics while recording").clone()
    }

    /// Ids of the tasks that ran, in order of their start.
    pub(crate) fn ran(&self) -> Vec<u32> {
        let tasks = self.events().into_iter().filter_map(|event| match event {
            Event::Run(task) => Some(task),
            Event::Prefetch(_) => None,
        });
        tasks.collect()
    }
}

impl TaskRunner for Scripted<'_> {
    type Failure = String;

    fn run(&self, _: usize, task: TaskId, _: KernelId, _: &[u32]) -> Result<(), String> {
        self.events.lock().expect("no task panics while recording").push(Event::Run(task.0));
        (self.body)(task.0)
    }

    fn prefetch(&self, _: usize, _: KernelId, payload: &[u32]) {
        self.events.lock().expect("no task panics while recording").push(Event::Prefetch(payload[0]));
    }
}

pub(crate) fn config(threads: u32, window: u32, ready: Ready) -> RunConfig {
    RunConfig { threads, window: Window::stall(window), ready, cores_per_group: 2, ..RunConfig::default() }
}

/// A region of a tensor of one dimension.
pub(crate) fn cells(tensor: u32, lo: u32, hi: u32) -> Region {
    Region::new(TensorId(tensor), &[lo], &[hi]).expect("ranks agree")
}

/// A task whose payload is one word.
pub(crate) fn task<'a>(payload: &'a [u32], reads: &'a [Region], writes: &'a [Region]) -> TaskSpec<'a> {
    TaskSpec { payload, reads, writes, ..TaskSpec::default() }
}

pub(crate) const POLICIES: [Ready; 2] = [Ready::Fifo, Ready::WorkSteal];
