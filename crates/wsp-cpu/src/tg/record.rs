//! Records of checkpoints: what they hold, and their bytes.
//!
//! A record is `magic, version, crc32, length` and then, little endian, what [`Record`] has in its order. The reader is total:
//! any bytes in, a record or a reason out.
//!
//! What a session has at the moment of a checkpoint is in the record, follows from what is in it, or makes it one that the run
//! cannot be resumed from ([`Record::obstacle`]):
//!
//! | state | where |
//! |---|---|
//! | where the host stands, its loops, graphs launched, tensors released, priorities | [`Record::host`] |
//! | the launch that is between two of its tasks: its machine, stream, iteration, partition, scalars, events | first of [`Record::launches`] |
//! | launches that have not begun, of the same stream | the others of [`Record::launches`] |
//! | launches of other streams, several devices and so notifications, a caller that leads the session | [`Record::obstacle`] |
//! | events of the unit, those that the caller has signalled | [`Record::events`], [`Record::signalled`] |
//! | tensors of the unit that a graph or the caller has written | [`Record::tensors`] |
//! | tensors of graphs, which their launches hand on to those that follow in a stream; which of them are released | [`Record::tensors`] |
//! | which bytes of these tensors tasks have stored, or loaded before, in a run that records it | [`Record::tensors`] |
//! | checkpoints that a `TG_RESTORE` of the unit may ask for | [`Record::restorable`] |
//! | unit, kernels, parameters, scalars, inputs, devices | [`Record::identity`]: compared, not restored |
//! | partitions, streams, affinities, gangs, memory accounts | follow from the unit |
//! | ready queues, cores, resident kernels, workspaces, bound arguments | made anew: no result depends on them |

use super::host::HostState;
use super::identity::Identity;
use wsp_backend::{CheckpointKey, RecordKind};
use wsp_memory::{Form, Reader, StoredState, Unreadable, Writer};
use wsp_runtime::tg::{LaunchEvent, LaunchEvents, SavedEvent};

/// What every record begins with.
const FORM: Form = Form { magic: *b"WSPC", version: 4, name: "checkpoint" };

/// A saved state.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Record {
    /// The run that saved it, or one that was resumed; a later run in the same place has a greater number.
    pub(crate) run: u64,
    /// Rises with every record of a run and of those that resume it.
    pub(crate) sequence: u64,
    pub(crate) graph: u32,
    pub(crate) checkpoint: u32,
    pub(crate) device: u32,
    pub(crate) identity: Identity,
    pub(crate) host: HostState,
    /// The launch of the graph that is between two of its tasks, if one is; then those that have not begun, in order.
    pub(crate) launches: Vec<SavedLaunch>,
    /// Of the device.
    pub(crate) events: Vec<SavedEvent>,
    /// External events that the caller has signalled.
    pub(crate) signalled: Vec<u32>,
    /// Why the run as a whole cannot be resumed from here; empty if it can.
    pub(crate) obstacle: String,
    pub(crate) tensors: Vec<SavedTensor>,
    /// Records that a `TG_RESTORE` may ask for, as they are at this moment.
    pub(crate) restorable: Vec<Vec<u8>>,
}

/// A launch that is not complete.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct SavedLaunch {
    pub(crate) graph: u32,
    pub(crate) stream: u32,
    pub(crate) iteration: i64,
    pub(crate) partition: u32,
    /// Values of declared scalars when it was launched.
    pub(crate) scalars: Vec<i64>,
    pub(crate) events: LaunchEvents,
    /// State of the machine; none of a launch that has not begun.
    pub(crate) words: Option<Vec<u32>>,
}

/// Contents of a tensor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SavedTensor {
    /// The graph whose it is, and the stream of its launches; none for one of the unit.
    pub(crate) owner: Option<(u32, u32)>,
    /// Its place among those of the unit: graphs that are fused have tensors with the numbers of others.
    pub(crate) tensor: u32,
    /// Whether the last launch has released it.
    pub(crate) released: bool,
    /// Of a tensor of a graph that has zeros only, none.
    pub(crate) bytes: Vec<u8>,
    /// What was stored to it; none if the run does not record that.
    pub(crate) stored: Option<StoredState>,
}

impl Record {
    /// The record that marks the beginning of a run.
    pub(crate) fn is_start(&self) -> bool {
        self.sequence == 0
    }

    pub(crate) fn key(&self) -> CheckpointKey {
        let kind = match self.is_start() {
            true => return CheckpointKey::START,
            false if self.obstacle.is_empty() => RecordKind::Run,
            false => RecordKind::Graph,
        };
        CheckpointKey { graph: self.graph, checkpoint: self.checkpoint, device: self.device, kind }
    }

    /// Its bytes.
    pub(crate) fn encode(&self) -> Vec<u8> {
        FORM.write(|out| self.write(out))
    }

    fn write(&self, out: &mut Writer) {
        for word in [self.run, self.sequence] {
            out.u64(word);
        }
        for word in [self.graph, self.checkpoint, self.device] {
            out.u32(word);
        }
        self.identity.write(out);
        write_host(out, &self.host);
        out.list(&self.launches, write_launch);
        out.list(&self.events, |out, event| {
            out.u32(event.event);
            out.u64(event.opened);
            out.list(&event.fired, |out, epoch| out.u64(*epoch));
        });
        out.list(&self.signalled, |out, event| out.u32(*event));
        out.raw(self.obstacle.as_bytes());
        out.list(&self.tensors, |out, tensor| {
            out.list(tensor.owner.as_slice(), |out, (graph, stream)| {
                out.u32(*graph);
                out.u32(*stream);
            });
            out.u32(tensor.tensor);
            out.u32(u32::from(tensor.released));
            out.raw(&tensor.bytes);
            out.list(tensor.stored.as_slice(), |out, stored| {
                for ranges in [&stored.ranges, &stored.loaded_early] {
                    out.list(ranges, |out, (begin, end)| {
                        out.u64(*begin as u64);
                        out.u64(*end as u64);
                    });
                }
            });
        });
        out.list(&self.restorable, |out, record| out.raw(record));
    }

    /// The record that has these bytes.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Record, Unreadable> {
        FORM.read(bytes, Record::read)
    }

    fn read(input: &mut Reader<'_>) -> Result<Record, String> {
        Ok(Record {
            run: input.u64()?,
            sequence: input.u64()?,
            graph: input.u32()?,
            checkpoint: input.u32()?,
            device: input.u32()?,
            identity: Identity::read(input)?,
            host: read_host(input)?,
            launches: input.list(60, read_launch)?,
            events: input.list(20, |input| {
                Ok(SavedEvent {
                    event: input.u32()?,
                    opened: input.u64()?,
                    fired: input.list(8, Reader::u64)?,
                })
            })?,
            signalled: input.list(4, Reader::u32)?,
            obstacle: input.text()?,
            tensors: input.list(32, |input| {
                Ok(SavedTensor {
                    owner: input.option(8, |input| Ok((input.u32()?, input.u32()?)))?,
                    tensor: input.u32()?,
                    released: input.flag()?,
                    bytes: input.raw()?.to_vec(),
                    stored: input.option(16, |input| {
                        let range =
                            |input: &mut Reader<'_>| Ok((input.u64()? as usize, input.u64()? as usize));
                        Ok(StoredState {
                            ranges: input.list(16, range)?,
                            loaded_early: input.list(16, range)?,
                        })
                    })?,
                })
            })?,
            restorable: input.list(8, |input| Ok(input.raw()?.to_vec()))?,
        })
    }
}

fn write_host(out: &mut Writer, host: &HostState) {
    out.u32(host.at);
    out.list(&host.loops, |out, (number, count)| {
        out.u64(number.cast_unsigned());
        out.u64(count.cast_unsigned());
    });
    out.list(&host.launched, |out, graph| out.u32(*graph));
    out.list(&host.released, |out, tensor| out.u32(*tensor));
    out.list(&host.priorities, |out, (graph, priority)| {
        out.u32(*graph);
        out.u32(u32::from(priority.cast_unsigned()));
    });
}

fn write_launch(out: &mut Writer, launch: &SavedLaunch) {
    for word in [launch.graph, launch.stream, launch.partition] {
        out.u32(word);
    }
    out.u64(launch.iteration.cast_unsigned());
    out.list(&launch.scalars, |out, value| out.u64(value.cast_unsigned()));
    for events in [&launch.events.waits, &launch.events.signals] {
        out.list(events, |out, event| {
            out.u32(event.event);
            out.u64(event.epoch);
            out.u32(u32::from(event.fired));
        });
    }
    out.list(launch.words.as_slice(), |out, words| out.list(words, |out, word| out.u32(*word)));
}

fn read_host(input: &mut Reader<'_>) -> Result<HostState, String> {
    Ok(HostState {
        at: input.u32()?,
        loops: input.list(16, |input| Ok((input.u64()?.cast_signed(), input.u64()?.cast_signed())))?,
        launched: input.list(4, Reader::u32)?,
        released: input.list(4, Reader::u32)?,
        priorities: input.list(8, |input| {
            let graph = input.u32()?;
            let priority = u8::try_from(input.u32()?).map_err(|_| "a priority is out of range")?;
            Ok((graph, priority.cast_signed()))
        })?,
    })
}

fn read_launch(input: &mut Reader<'_>) -> Result<SavedLaunch, String> {
    let event = |input: &mut Reader<'_>| {
        Ok(LaunchEvent { event: input.u32()?, epoch: input.u64()?, fired: input.flag()? })
    };
    let (graph, stream, partition) = (input.u32()?, input.u32()?, input.u32()?);
    Ok(SavedLaunch {
        graph,
        stream,
        partition,
        iteration: input.u64()?.cast_signed(),
        scalars: input.list(8, |input| Ok(input.u64()?.cast_signed()))?,
        events: LaunchEvents { waits: input.list(16, event)?, signals: input.list(16, event)? },
        words: input.option(8, |input| input.list(4, Reader::u32))?,
    })
}

#[cfg(test)]
mod tests {
    use super::super::identity::{InputIdentity, KernelIdentity};
    use super::*;
    use wsp_core::tg::crc::crc32;

    /// Bytes before what the checksum covers.
    const UNCOVERED: usize = 12;

    fn record() -> Record {
        let event = |event, fired| LaunchEvent { event, epoch: 7, fired };
        Record {
            run: 3,
            sequence: 9,
            graph: 1,
            checkpoint: 2,
            device: 0,
            identity: Identity {
                unit: 7,
                devices: 1,
                kernels: vec![KernelIdentity {
                    entry: "k".to_owned(),
                    code: 5,
                    params: vec![("inc".to_owned(), "1".to_owned())],
                }],
                scalars: vec![("N".to_owned(), -1)],
                inputs: vec![InputIdentity { name: "X".to_owned(), contents: 6, origin: "given".to_owned() }],
            },
            host: HostState {
                at: 3,
                loops: vec![(4, 10)],
                launched: vec![0, 1],
                released: vec![4],
                priorities: vec![(1, -3)],
            },
            launches: vec![
                SavedLaunch {
                    graph: 1,
                    stream: 1,
                    iteration: -2,
                    partition: u32::MAX,
                    scalars: vec![-1],
                    events: LaunchEvents { waits: vec![event(1, true)], signals: vec![event(2, false)] },
                    words: Some(vec![1, 2, 3]),
                },
                SavedLaunch { graph: 0, stream: 1, iteration: 5, ..SavedLaunch::default() },
            ],
            events: vec![SavedEvent { event: 1, opened: 7, fired: vec![6, 7] }],
            signalled: vec![4],
            obstacle: "another graph runs".to_owned(),
            tensors: vec![
                SavedTensor {
                    owner: None,
                    tensor: 1,
                    released: false,
                    bytes: vec![1, 2, 3],
                    stored: Some(StoredState { ranges: vec![(0, 1), (2, 3)], loaded_early: vec![(4, 5)] }),
                },
                SavedTensor {
                    owner: Some((0, 7)),
                    tensor: 2,
                    released: true,
                    bytes: Vec::new(),
                    stored: None,
                },
            ],
            restorable: vec![vec![1, 2]],
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
        for bit in 0..bytes.len() * 8 {
            let mut bytes = bytes.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(Record::decode(&bytes).is_err(), "bit {bit}");
        }
        assert!(Record::decode(b"PTOG").unwrap_err().to_string().contains("no checkpoint"));
    }

    #[test]
    fn a_record_of_another_layout_is_told_from_a_damaged_one() {
        let mut bytes = record().encode();
        bytes[4] = 1;
        assert_eq!(Record::decode(&bytes), Err(Unreadable::Layout { found: 1, known: 4 }));
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
