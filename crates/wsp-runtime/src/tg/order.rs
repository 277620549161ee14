//! Orders of starts of blocks, and whose turn it is.

use super::id::LaunchId;
use crate::ConfigError;
use std::fmt;
use std::sync::Arc;
use wsp_core::{BlockStart, Started, limits};
use wsp_ordered::{Arrange, OrderedMap, OrderedSet};

/// In which order blocks start, and on which workers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Replay {
    workers: u32,
    /// In the order of their starts, with the place of the name and the worker.
    turns: Box<[(BlockStart, u32, u32)]>,
    names: Box<[String]>,
}

impl Replay {
    /// The order of the starts of a run on `workers` workers, whose blocks stand in the order in which they finished, each with its place in the unit.
    ///
    /// # Errors
    /// Other workers than a run can have, more blocks than [`limits::MAX_TASKS`], or blocks without their places.
    pub fn new(
        workers: u32,
        names: &[String],
        started: &[Started],
        blocks: &[BlockStart],
    ) -> Result<Replay, ConfigError> {
        let range = |field, value, min, max| match value {
            _ if (min..=max).contains(&value) => Ok(()),
            _ => Err(ConfigError::Range { field, value, min, max }),
        };
        range("workers", workers, 1, limits::MAX_THREADS)?;
        let count = u32::try_from(started.len()).unwrap_or(u32::MAX);
        range("tasks", count, 0, limits::MAX_TASKS)?;
        if started.len() != blocks.len() {
            return Err(ConfigError::ReplayPlaces { recorded: count, places: blocks.len() as u64 });
        }
        let mut order: Vec<u32> = (0..count).collect();
        order.arrange_by_key(|&at| (started[at as usize].started, at));
        let turn = |&at: &u32| {
            let Started { kernel, worker, .. } = started[at as usize];
            (blocks[at as usize], kernel, worker)
        };
        Ok(Replay { workers, turns: order.iter().map(turn).collect(), names: names.into() })
    }

    /// Workers of the run whose order it is.
    pub fn workers(&self) -> u32 {
        self.workers
    }

    pub(super) fn name(&self, kernel: u32) -> &str {
        self.names.get(kernel as usize).map_or("?", String::as_str)
    }
}

/// How a run differs from the one whose order of starts it was to keep to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unreplayed {
    /// Blocks that have started.
    pub started: u64,
    /// Blocks of the order.
    pub recorded: u64,
    /// What had the turn, and could not start; none at the end of the order.
    pub next: Option<String>,
}

impl fmt::Display for Unreplayed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Unreplayed { started, recorded, next } = self;
        match next {
            Some(next) => write!(
                f,
                "after {started} of its {recorded} starts it has {next}, which this run cannot start then"
            ),
            None => write!(f, "it has {recorded} starts, and this run more"),
        }
    }
}

/// Whose turn it is.
#[derive(Debug)]
pub(crate) struct Turns {
    pub(super) replay: Arc<Replay>,
    pub(super) next: usize,
    /// By device, in the order in which they were submitted.
    launches: Vec<Vec<LaunchId>>,
    /// Whether what has the turn was taken and has not started.
    pub(super) is_taken: bool,
    /// Whether its worker could not take what has the turn since something changed.
    pub(super) is_barred: bool,
    /// Blocks that have started with their gangs, before their turns.
    pub(super) early: OrderedSet<BlockStart>,
    /// Blocks that were started of kernels of which some have not, by the number of the dispatch.
    pub(super) blocks: OrderedMap<u32, OrderedSet<u32>>,
}

impl Turns {
    pub(crate) fn new(replay: Arc<Replay>) -> Turns {
        Turns {
            replay,
            next: 0,
            launches: Vec::new(),
            is_taken: false,
            is_barred: false,
            early: OrderedSet::new(),
            blocks: OrderedMap::new(),
        }
    }

    /// A launch of a device was submitted.
    pub(crate) fn submitted(&mut self, device: u32, launch: LaunchId) {
        let device = device as usize;
        self.launches.resize(self.launches.len().max(device + 1), Vec::new());
        self.launches[device].push(launch);
    }

    /// What starts next, its name, its worker, and its launch if that was submitted.
    pub(super) fn turn(&self) -> Option<(BlockStart, u32, u32, Option<LaunchId>)> {
        let &(block, kernel, worker) = self.replay.turns.get(self.next)?;
        let of_device = self.launches.get(block.device as usize);
        let launch = of_device.and_then(|launches| launches.get(block.launch as usize)).copied();
        Some((block, kernel, worker, launch))
    }

    pub(super) fn counts(&self) -> Unreplayed {
        Unreplayed { started: self.next as u64, recorded: self.replay.turns.len() as u64, next: None }
    }

    pub(super) fn named(&self, (block, kernel, ..): (BlockStart, u32, u32, Option<LaunchId>)) -> String {
        let BlockStart { device, launch, block, .. } = block;
        format!("block {block} of `{}` in launch {} of device {device}", self.replay.name(kernel), launch + 1)
    }
}
