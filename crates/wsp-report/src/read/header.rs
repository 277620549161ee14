//! What a file says of itself.

use super::{Fault, Found, MAX_TASKS};
use crate::write::{Edges, VERSION};
use rustc_hash::FxHashMap;
use wsp_core::ChannelFigures;
use wsp_runtime::clock::Clock;
use wsp_runtime::timeline::{Channel, Machine, Work};

/// The labels of a file, read.
#[derive(Default)]
pub(super) struct Header {
    version: Option<u64>,
    pub(super) clock: Clock,
    pub(super) tasks: u64,
    pub(super) launches: u64,
    pub(super) edges: Edges,
    /// Whether the end of the file is marked.
    pub(super) is_end_marked: bool,
    pub(super) key: Option<u64>,
    pub(super) workers: Option<u32>,
    pub(super) machine: Option<Machine>,
    /// Work by the name of a kernel.
    pub(super) work: FxHashMap<String, Work>,
    pub(super) channels: Vec<Channel>,
}

impl Header {
    /// Takes a label; whether it is one that is known, with a value that it can have.
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
            "edges" => match value {
                "all" => self.edges = Edges::All,
                "last" => self.edges = Edges::Last,
                _ => return false,
            },
            "end" if value == "marked" => self.is_end_marked = true,
            "program" => match u64::from_str_radix(value, 16) {
                Ok(key) => self.key = Some(key),
                Err(_) => return false,
            },
            "workers" => match value.parse() {
                Ok(workers) => self.workers = Some(workers),
                Err(_) => return false,
            },
            "machine" => match machine(value) {
                Some(machine) => self.machine = Some(machine),
                None => return false,
            },
            _ if name.starts_with("work") && self.work.len() < usize::from(u16::MAX) => match work(value) {
                Some((kernel, work)) => drop(self.work.insert(kernel, work)),
                None => return false,
            },
            _ if name.starts_with("channel") => match channel(value) {
                Some(channel) => self.channels.push(channel),
                None => return false,
            },
            _ => return false,
        }
        true
    }

    /// Whether the file is one that can be read.
    pub(super) fn check(&self) -> Found<()> {
        match self.version {
            None => Err(Fault::Foreign),
            Some(version) if version != u64::from(VERSION) => Err(Fault::Version(version)),
            Some(_) if self.tasks.max(self.launches) > MAX_TASKS => {
                Err(Fault::TooMany(self.tasks.max(self.launches)))
            }
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

fn channel(value: &str) -> Option<Channel> {
    let mut parts = value.splitn(6, ' ');
    let mut number = || parts.next()?.parse().ok();
    let [depth, tokens, fullest, sender_waited, receiver_waited] =
        [number()?, number()?, number()?, number()?, number()?];
    let depth = u32::try_from(depth).ok()?;
    let figures = ChannelFigures { depth, tokens, fullest, sender_waited, receiver_waited };
    let mut names = parts.next()?.splitn(3, '\t').map(str::to_owned);
    let ends = [names.next()?, names.next()?];
    Some(Channel { name: names.next()?, ends, figures, levels: Vec::new() })
}

fn work(value: &str) -> Option<(String, Work)> {
    let mut parts = value.splitn(3, ' ');
    let mut number = || parts.next()?.parse().ok();
    let work = Work { operations: number()?, bytes: number()? };
    Some((parts.next()?.to_owned(), work))
}
