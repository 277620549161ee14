//! Checkpoints: what they hold, their bytes, and where they are kept.
//!
//! A record is `magic, version, crc32, length` and then, little endian, what [`Record`] has in its order. The reader is total:
//! any bytes in, a record or a reason out.

use super::host::HostState;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use wsp_core::tg::crc::crc32;

/// First bytes of every record.
const MAGIC: [u8; 4] = *b"WSPC";
/// Layout of records.
const VERSION: u32 = 1;
/// Bytes before what the checksum covers: magic, version, checksum.
const UNCOVERED: usize = 12;

/// Which checkpoint: a unit saves each under its graph, its number and its device, and replaces the one before.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CheckpointKey {
    /// Number of the graph.
    pub graph: u32,
    /// Number of the checkpoint.
    pub checkpoint: u32,
    /// The device.
    pub device: u32,
}

impl fmt::Display for CheckpointKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "checkpoint {} of graph {} on device {}", self.checkpoint, self.graph, self.device)
    }
}

/// Where checkpoints are kept. Keeping a record replaces the one before in one step: whoever loads sees one or the other.
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

/// A saved state.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Record {
    /// Tells units apart.
    pub(crate) unit: u64,
    pub(crate) graph: u32,
    pub(crate) checkpoint: u32,
    pub(crate) device: u32,
    pub(crate) devices: u32,
    /// Rises with every checkpoint of a run and of those that resume it.
    pub(crate) sequence: u64,
    /// Values of declared scalars.
    pub(crate) scalars: Vec<i64>,
    pub(crate) host: HostState,
    /// The launch of the graph that was in flight.
    pub(crate) launch: Option<SavedLaunch>,
    /// Launches that had not started, in order.
    pub(crate) pending: Vec<PendingLaunch>,
    /// Why the run as a whole cannot be resumed from here; empty if it can.
    pub(crate) obstacle: String,
    pub(crate) tensors: Vec<SavedTensor>,
}

/// A launch between two of its tasks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SavedLaunch {
    pub(crate) stream: u32,
    pub(crate) iteration: i64,
    /// State of the machine.
    pub(crate) words: Vec<u32>,
}

/// A launch that had not started.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PendingLaunch {
    pub(crate) graph: u32,
    pub(crate) stream: u32,
    pub(crate) iteration: i64,
    pub(crate) partition: u32,
}

/// Contents of a tensor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SavedTensor {
    /// The graph whose it is; none for one of the unit.
    pub(crate) graph: Option<u32>,
    pub(crate) tensor: u32,
    pub(crate) bytes: Vec<u8>,
}

impl Record {
    /// Its bytes.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Writer { bytes: Vec::new() };
        out.bytes.extend(MAGIC);
        out.u32(VERSION);
        out.u32(0);
        out.u64(0);
        out.u64(self.unit);
        for word in [self.graph, self.checkpoint, self.device, self.devices] {
            out.u32(word);
        }
        out.u64(self.sequence);
        out.list(&self.scalars, |out, value| out.u64(value.cast_unsigned()));
        out.u32(self.host.at);
        out.list(&self.host.loops, |out, (number, count)| {
            out.u64(number.cast_unsigned());
            out.u64(count.cast_unsigned());
        });
        out.list(&self.host.launched, |out, graph| out.u32(*graph));
        out.list(&self.host.released, |out, tensor| out.u32(*tensor));
        out.list(&self.host.priorities, |out, (graph, priority)| {
            out.u32(*graph);
            out.u32(u32::from(priority.cast_unsigned()));
        });
        out.list(self.launch.as_slice(), |out, launch| {
            out.u32(launch.stream);
            out.u64(launch.iteration.cast_unsigned());
            out.list(&launch.words, |out, word| out.u32(*word));
        });
        out.list(&self.pending, |out, launch| {
            out.u32(launch.graph);
            out.u32(launch.stream);
            out.u64(launch.iteration.cast_unsigned());
            out.u32(launch.partition);
        });
        out.raw(self.obstacle.as_bytes());
        out.list(&self.tensors, |out, tensor| {
            out.u32(tensor.graph.map_or(0, |graph| graph + 1));
            out.u32(tensor.tensor);
            out.raw(&tensor.bytes);
        });
        let mut bytes = out.bytes;
        let length = bytes.len() as u64;
        bytes[12..20].copy_from_slice(&length.to_le_bytes());
        let sum = crc32(&bytes[UNCOVERED..]);
        bytes[8..12].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// The record that has these bytes.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Record, String> {
        let mut input = Reader { rest: bytes };
        if input.take(4)? != MAGIC {
            return Err("it is no checkpoint".to_owned());
        }
        let version = input.u32()?;
        if version != VERSION {
            return Err(format!("it has layout {version}, and this program reads layout {VERSION}"));
        }
        let sum = input.u32()?;
        let length = input.u64()?;
        if length != bytes.len() as u64 {
            return Err(format!("it has {} of {length} bytes", bytes.len()));
        }
        let computed = crc32(&bytes[UNCOVERED..]);
        if computed != sum {
            return Err(format!("its checksum is {sum:#010x}, and that of its bytes {computed:#010x}"));
        }
        let record = Record {
            unit: input.u64()?,
            graph: input.u32()?,
            checkpoint: input.u32()?,
            device: input.u32()?,
            devices: input.u32()?,
            sequence: input.u64()?,
            scalars: input.list(8, |input| Ok(input.u64()?.cast_signed()))?,
            host: input.host()?,
            launch: input.launch()?,
            pending: input.list(20, |input| {
                Ok(PendingLaunch {
                    graph: input.u32()?,
                    stream: input.u32()?,
                    iteration: input.u64()?.cast_signed(),
                    partition: input.u32()?,
                })
            })?,
            obstacle: String::from_utf8_lossy(input.raw()?).into_owned(),
            tensors: input.list(16, |input| {
                Ok(SavedTensor {
                    graph: input.u32()?.checked_sub(1),
                    tensor: input.u32()?,
                    bytes: input.raw()?.to_vec(),
                })
            })?,
        };
        if input.rest.is_empty() { Ok(record) } else { Err(format!("{} bytes are left", input.rest.len())) }
    }
}

struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    fn u32(&mut self, value: u32) {
        self.bytes.extend(value.to_le_bytes());
    }

    fn u64(&mut self, value: u64) {
        self.bytes.extend(value.to_le_bytes());
    }

    fn raw(&mut self, bytes: &[u8]) {
        self.u64(bytes.len() as u64);
        self.bytes.extend(bytes);
    }

    fn list<T>(&mut self, items: &[T], mut item: impl FnMut(&mut Writer, &T)) {
        self.u64(items.len() as u64);
        for one in items {
            item(self, one);
        }
    }
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], String> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or_else(|| "it ends early".to_owned())?;
        self.rest = rest;
        Ok(taken)
    }

    fn u32(&mut self) -> Result<u32, String> {
        Ok(u32::from_le_bytes(self.take(4)?.try_into().expect("as many bytes should be taken")))
    }

    fn u64(&mut self) -> Result<u64, String> {
        Ok(u64::from_le_bytes(self.take(8)?.try_into().expect("as many bytes should be taken")))
    }

    fn raw(&mut self) -> Result<&'a [u8], String> {
        let count = self.u64()?;
        self.take(usize::try_from(count).unwrap_or(usize::MAX))
    }

    /// A list whose items have at least `least` bytes each, so that no count asks for more memory than the record has.
    fn list<T>(
        &mut self,
        least: usize,
        mut item: impl FnMut(&mut Reader<'a>) -> Result<T, String>,
    ) -> Result<Vec<T>, String> {
        let count = self.u64()?;
        if count > (self.rest.len() / least) as u64 {
            return Err(format!("a list of {count} items does not fit"));
        }
        (0..count).map(|_| item(self)).collect()
    }

    fn host(&mut self) -> Result<HostState, String> {
        Ok(HostState {
            at: self.u32()?,
            loops: self.list(16, |input| Ok((input.u64()?.cast_signed(), input.u64()?.cast_signed())))?,
            launched: self.list(4, Reader::u32)?,
            released: self.list(4, Reader::u32)?,
            priorities: self.list(8, |input| {
                let graph = input.u32()?;
                let priority = u8::try_from(input.u32()?).map_err(|_| "a priority is out of range")?;
                Ok((graph, priority.cast_signed()))
            })?,
        })
    }

    fn launch(&mut self) -> Result<Option<SavedLaunch>, String> {
        let mut launches = self.list(20, |input| {
            Ok(SavedLaunch {
                stream: input.u32()?,
                iteration: input.u64()?.cast_signed(),
                words: input.list(4, Reader::u32)?,
            })
        })?;
        if launches.len() > 1 {
            return Err("it has several launches".to_owned());
        }
        Ok(launches.pop())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Record {
        Record {
            unit: 7,
            graph: 1,
            checkpoint: 2,
            device: 0,
            devices: 1,
            sequence: 9,
            scalars: vec![-1, 5],
            host: HostState {
                at: 3,
                loops: vec![(4, 10)],
                launched: vec![0, 1],
                released: vec![4],
                priorities: vec![(1, -3)],
            },
            launch: Some(SavedLaunch { stream: 1, iteration: -2, words: vec![1, 2, 3] }),
            pending: vec![PendingLaunch { graph: 0, stream: 0, iteration: 5, partition: u32::MAX }],
            obstacle: "another graph runs".to_owned(),
            tensors: vec![
                SavedTensor { graph: None, tensor: 1, bytes: vec![1, 2, 3] },
                SavedTensor { graph: Some(0), tensor: 2, bytes: Vec::new() },
            ],
        }
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        assert_eq!(Record::decode(&record().encode()), Ok(record()));
        assert_eq!(Record::decode(&Record::default().encode()), Ok(Record::default()));
    }

    #[test]
    fn a_damaged_record_is_refused_whatever_is_damaged() {
        let bytes = record().encode();
        for cut in 0..bytes.len() {
            assert!(Record::decode(&bytes[..cut]).is_err(), "cut to {cut}");
        }
        for at in 0..bytes.len() {
            let mut bytes = bytes.clone();
            bytes[at] ^= 0x10;
            assert!(Record::decode(&bytes).is_err(), "byte {at}");
        }
        assert!(Record::decode(b"PTOG").unwrap_err().contains("no checkpoint"));
    }

    #[test]
    fn a_record_with_a_good_checksum_and_bad_counts_is_refused() {
        let good = record().encode();
        for at in UNCOVERED + 8..good.len() {
            let mut bytes = good.clone();
            bytes[at] = 0xff;
            let sum = crc32(&bytes[UNCOVERED..]);
            bytes[8..12].copy_from_slice(&sum.to_le_bytes());
            // Whatever it is read as, reading ends and asks for no more memory than there are bytes.
            let _ = Record::decode(&bytes);
        }
    }
}
