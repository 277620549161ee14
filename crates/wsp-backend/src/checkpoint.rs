//! Where checkpoints are kept.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// What a record is good for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum RecordKind {
    /// It marks the beginning of a run: the records of earlier runs in the same place are not of this one. Its graph, checkpoint and
    /// device are 0.
    Start,
    /// The run can be resumed from it, and its graph be restored.
    Run,
    /// Its graph can be restored, by `TG_RESTORE`; the run cannot be resumed from it, because other launches were in flight.
    Graph,
}

/// Which record: a run keeps one of each kind for each graph, number and device, and replaces the one before.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CheckpointKey {
    /// Number of the graph.
    pub graph: u32,
    /// Number of the checkpoint.
    pub checkpoint: u32,
    /// The device.
    pub device: u32,
    /// What the record is good for.
    pub kind: RecordKind,
}

impl CheckpointKey {
    /// Of the record that marks the beginning of a run.
    pub const START: CheckpointKey =
        CheckpointKey { graph: 0, checkpoint: 0, device: 0, kind: RecordKind::Start };
}

impl fmt::Display for CheckpointKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            RecordKind::Start => f.write_str("the mark of the beginning of a run"),
            _ => {
                write!(f, "checkpoint {} of graph {} on device {}", self.checkpoint, self.graph, self.device)
            }
        }
    }
}

/// Where checkpoints are kept. Keeping a record replaces the one before in one step: a load sees one or the other. A session saves one
/// record at a time.
pub trait CheckpointStore: Send + Sync + fmt::Debug {
    /// Keeps a record.
    ///
    /// # Errors
    /// Why it cannot be kept.
    fn save(&self, key: CheckpointKey, record: &[u8]) -> Result<(), String>;

    /// The record that was kept last under this key, if there is one.
    ///
    /// # Errors
    /// Why it cannot be loaded.
    fn load(&self, key: CheckpointKey) -> Result<Option<Vec<u8>>, String>;

    /// The keys of all records.
    ///
    /// # Errors
    /// Why they cannot be listed.
    fn keys(&self) -> Result<Vec<CheckpointKey>, String>;
}

/// Checkpoints in memory.
#[derive(Debug, Default)]
pub struct MemoryStore {
    records: Mutex<BTreeMap<CheckpointKey, Vec<u8>>>,
}

impl MemoryStore {
    /// No records.
    pub fn new() -> MemoryStore {
        MemoryStore::default()
    }
}

impl CheckpointStore for MemoryStore {
    fn save(&self, key: CheckpointKey, record: &[u8]) -> Result<(), String> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner).insert(key, record.to_vec());
        Ok(())
    }

    fn load(&self, key: CheckpointKey) -> Result<Option<Vec<u8>>, String> {
        Ok(self.records.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned())
    }

    fn keys(&self) -> Result<Vec<CheckpointKey>, String> {
        Ok(self.records.lock().unwrap_or_else(PoisonError::into_inner).keys().copied().collect())
    }
}
