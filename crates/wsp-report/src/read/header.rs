//! What a file says of itself.

use super::{Fault, Found, MAX_TASKS};
use crate::write::{Edges, VERSION};
use wsp_runtime::clock::Clock;
use wsp_runtime::timeline::{Machine, Work};

/// The labels of a file, read.
#[derive(Default)]
pub(super) struct Header {
    version: Option<u64>,
    pub(super) clock: Clock,
    pub(super) tasks: u64,
    pub(super) launches: u64,
    pub(super) edges: Edges,
    pub(super) key: Option<u64>,
    pub(super) machine: Option<Machine>,
    /// Work by the name of a kernel.
    pub(super) work: Vec<(String, Work)>,
}

impl Header {
    /// Takes a label; whether it is one that is known.
    pub(super) fn label(&mut self, name: &str, value: &str) -> bool {
        let number = value.parse().ok();
        match name {
            "wsp_trace" => self.version = number,
            "unit" => match [Clock::Nanoseconds, Clock::Cycles].into_iter().find(|of| of.word() == value) {
                Some(clock) => self.clock = clock,
                None => return false,
            },
            "tasks" => self.tasks = number.unwrap_or(u64::MAX),
            "launches" => self.launches = number.unwrap_or(u64::MAX),
            "edges" => self.edges = if value == "all" { Edges::All } else { Edges::Last },
            "program" => self.key = u64::from_str_radix(value, 16).ok(),
            "machine" => self.machine = machine(value),
            _ if name.starts_with("work") => self.work.extend(work(value)),
            _ => return false,
        }
        true
    }

    /// Whether the file is one that can be read.
    pub(super) fn check(&self) -> Found<()> {
        match self.version {
            None => Err(Fault::Foreign),
            Some(version) if version != u64::from(VERSION) => Err(Fault::Version(version)),
            Some(_) if self.tasks > MAX_TASKS => Err(Fault::TooMany(self.tasks)),
            Some(_) => Ok(()),
        }
    }
}

fn machine(value: &str) -> Option<Machine> {
    let mut parts = value.splitn(4, ' ');
    let mut number = || parts.next()?.parse().ok();
    let [hz, operations, bytes] = [number()?, number()?, number()?];
    Some(Machine { name: parts.next()?.to_owned(), hz, operations, bytes })
}

fn work(value: &str) -> Option<(String, Work)> {
    let mut parts = value.splitn(3, ' ');
    let mut number = || parts.next()?.parse().ok();
    let work = Work { operations: number()?, bytes: number()? };
    Some((parts.next()?.to_owned(), work))
}
