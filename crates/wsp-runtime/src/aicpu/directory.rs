//! Tasks in flight by ordinal, for edges that name ordinals.

use super::queue::Producer;
use crate::sync::{Mutex, MutexGuard};
use rustc_hash::FxHashMap;
use std::sync::PoisonError;

/// Locks that it is divided among.
const SHARDS: usize = 64;

/// Which slot has the task of an ordinal. A task that is not in it is complete, if its AICPU has generated it.
#[derive(Debug)]
pub(super) struct Directory {
    shards: Box<[Mutex<FxHashMap<u64, Producer>>]>,
}

impl Directory {
    pub(super) fn new() -> Directory {
        Directory { shards: (0..SHARDS).map(|_| Mutex::new(FxHashMap::default())).collect() }
    }

    fn shard(&self, ordinal: u64) -> MutexGuard<'_, FxHashMap<u64, Producer>> {
        self.shards[ordinal as usize % SHARDS].lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn insert(&self, ordinal: u64, task: Producer) {
        self.shard(ordinal).insert(ordinal, task);
    }

    pub(super) fn remove(&self, ordinal: u64) {
        self.shard(ordinal).remove(&ordinal);
    }

    pub(super) fn find(&self, ordinal: u64) -> Option<Producer> {
        self.shard(ordinal).get(&ordinal).copied()
    }
}
