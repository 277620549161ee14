//! Perfetto's protobuf form: a `Trace` of `TracePacket`s.
//!
//! Numbers of fields are those of [`crate::fields`]. Fields of which one file knows no name are skipped by readers, so that older viewers open it too.
//!
//! Each row and each counter is a sequence of packets of its own: its track and its clock, which counts on from packet to packet, are said once,
//! and names, categories, words and the names of annotations where they first occur. Packets are kept and written together, compressed.

use super::wire::Message;
use super::{Slice, Value, Writer};
use crate::fields::{
    FIRST_SEQUENCE, NEEDS_STATE, PACKET, STATE_CLEARED, annotation, defaults, event, interned, packet,
    snapshot, track,
};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use rustc_hash::FxHashMap;
use std::io::{self, Write as _};
use wsp_runtime::clock::Clock;
use wsp_runtime::timeline::Row;

/// A kind of interned texts, as its field of `InternedData`. Each message of them has its number in field 1 and its text in field 2.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u32)]
enum Kind {
    Category = interned::CATEGORY,
    Name = interned::NAME,
    Annotation = interned::ANNOTATION,
    Word = interned::WORD,
}

/// Bytes of packets that are compressed together.
const CHUNK: usize = 1 << 18;

/// The trace in the making.
pub(super) struct Perfetto<'o> {
    out: &'o mut dyn io::Write,
    clock: Clock,
    /// What the first process says of the file.
    labels: Vec<(&'static str, String)>,
    /// Packets that are not written yet.
    chunk: Message,
    packet: Message,
    /// What is interned for the packet at hand.
    interned: Message,
    /// Tracks of processes and rows.
    processes: Vec<u64>,
    rows: Vec<u64>,
    tracks: u64,
    /// The row whose sequence has begun, the sequence, its interned texts, and its time.
    row: Option<u32>,
    sequence: u64,
    texts: FxHashMap<(Kind, String), u64>,
    now: u64,
}

impl<'o> Perfetto<'o> {
    pub(super) fn begin(
        clock: Clock,
        labels: Vec<(&'static str, String)>,
        out: &'o mut dyn io::Write,
    ) -> Perfetto<'o> {
        Perfetto {
            out,
            clock,
            labels,
            chunk: Message::default(),
            packet: Message::default(),
            interned: Message::default(),
            processes: Vec::new(),
            rows: Vec::new(),
            tracks: 0,
            row: None,
            sequence: FIRST_SEQUENCE,
            texts: FxHashMap::default(),
            now: 0,
        }
    }

    /// Adds a packet of the sequence at hand.
    fn packet(&mut self, fill: &mut dyn FnMut(&mut Perfetto<'o>, &mut Message)) -> io::Result<()> {
        let mut packet = std::mem::take(&mut self.packet);
        packet.clear();
        packet.number(packet::SEQUENCE_ID, self.sequence);
        fill(self, &mut packet);
        self.chunk.text(PACKET, packet.bytes());
        self.packet = packet;
        if self.chunk.bytes().len() >= CHUNK { self.flush() } else { Ok(()) }
    }

    /// Writes the packets that are kept as one.
    fn flush(&mut self) -> io::Result<()> {
        if self.chunk.bytes().is_empty() {
            return Ok(());
        }
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(self.chunk.bytes())?;
        let mut trace = Message::default();
        let compressed = encoder.finish()?;
        trace.message(PACKET, &mut |packet| {
            packet.text(packet::COMPRESSED_PACKETS, &compressed);
        });
        self.chunk.clear();
        self.out.write_all(trace.bytes())
    }

    /// Describes another track.
    fn track(&mut self, fill: &mut dyn FnMut(&mut Message)) -> io::Result<u64> {
        self.tracks += 1;
        let uuid = self.tracks;
        self.packet(&mut |_, packet| {
            packet.message(packet::TRACK_DESCRIPTOR, &mut |track| {
                track.number(track::UUID, uuid);
                fill(track);
            });
        })?;
        Ok(uuid)
    }

    /// Begins the sequence of a track, whose clock stands at 0.
    fn sequence(&mut self, track: u64) -> io::Result<()> {
        self.sequence += 1;
        self.now = 0;
        self.texts.clear();
        let unit = match self.clock {
            Clock::Nanoseconds => 1,
            Clock::Cycles => 1000,
        };
        self.packet(&mut |_, packet| {
            packet.number(packet::SEQUENCE_FLAGS, STATE_CLEARED);
            packet.message(packet::CLOCK_SNAPSHOT, &mut |clocks| {
                clocks.message(snapshot::CLOCKS, &mut |clock| {
                    clock.number(snapshot::ID, snapshot::BOOT_TIME).number(snapshot::TIMESTAMP, 0);
                });
                clocks.message(snapshot::CLOCKS, &mut |clock| {
                    clock.number(snapshot::ID, snapshot::OWN).number(snapshot::TIMESTAMP, 0);
                    clock.number(snapshot::IS_INCREMENTAL, 1).number(snapshot::UNIT_NS, unit);
                });
            });
            packet.message(packet::DEFAULTS, &mut |defaults| {
                defaults.number(defaults::CLOCK_ID, snapshot::OWN);
                defaults.message(defaults::TRACK_EVENT, &mut |event| {
                    event.number(defaults::TRACK_UUID, track);
                });
            });
        })
    }

    /// Adds an event of the sequence at hand.
    fn event(
        &mut self,
        at: u64,
        kind: u64,
        fill: &mut dyn FnMut(&mut Perfetto<'o>, &mut Message),
    ) -> io::Result<()> {
        // Clocks of sequences do not run backwards.
        let delta = at.saturating_sub(self.now);
        self.now = self.now.max(at);
        self.interned.clear();
        self.packet(&mut |own, packet| {
            packet.number(packet::SEQUENCE_FLAGS, NEEDS_STATE).number(packet::TIMESTAMP, delta);
            packet.message(packet::TRACK_EVENT, &mut |event| {
                event.number(event::TYPE, kind);
                fill(own, event);
            });
            if !own.interned.bytes().is_empty() {
                packet.text(packet::INTERNED_DATA, own.interned.bytes());
            }
        })
    }

    /// The number of a text in the sequence at hand.
    fn text(&mut self, kind: Kind, text: &str) -> u64 {
        let next = self.texts.len() as u64 + 1;
        let key = (kind, text.to_owned());
        let number = *self.texts.entry(key).or_insert(next);
        if number == next {
            self.interned.message(kind as u32, &mut |interned| {
                interned.number(1, number).text(2, text.as_bytes());
            });
        }
        number
    }

    fn annotate(&mut self, event: &mut Message, name: &'static str, value: &Value<'_>) {
        // An annotation without a value would be shown as one that is missing.
        if matches!(value, Value::Numbers([])) {
            return;
        }
        let name = self.text(Kind::Annotation, name);
        let word = match value {
            Value::Word(word) => self.text(Kind::Word, word),
            _ => 0,
        };
        event.message(event::ANNOTATIONS, &mut |annotation| {
            annotation.number(annotation::NAME_IID, name);
            match value {
                Value::Number(number) => match u64::try_from(*number) {
                    Ok(number) => annotation.number(annotation::UINT, number),
                    Err(_) => annotation.number(annotation::INT, number.cast_unsigned()),
                },
                Value::Flag(flag) => annotation.number(annotation::BOOL, u64::from(*flag)),
                Value::Word(_) => annotation.number(annotation::STRING_IID, word),
                Value::Remark(text) => annotation.text(annotation::STRING, text.to_string().as_bytes()),
                Value::Numbers(numbers) => {
                    for number in *numbers {
                        annotation.message(annotation::ARRAY, &mut |item| {
                            item.number(annotation::UINT, u64::from(*number));
                        });
                    }
                    annotation
                }
            };
        });
    }
}

impl Writer for Perfetto<'_> {
    fn is_by_row(&self) -> bool {
        true
    }

    fn process(&mut self, process: u32, name: &str) -> io::Result<()> {
        let labels = std::mem::take(&mut self.labels);
        let uuid = self.track(&mut |track| {
            track.number(track::CHILD_ORDERING, track::EXPLICIT);
            track.message(track::PROCESS, &mut |of| {
                // Process 0 is the kernel's in viewers.
                of.number(track::PROCESS_PID, u64::from(process) + 1);
                of.text(track::PROCESS_NAME, name.as_bytes());
                for (name, value) in &labels {
                    of.text(track::PROCESS_LABELS, format!("{name}={value}").as_bytes());
                }
            });
        })?;
        self.processes.push(uuid);
        Ok(())
    }

    fn row(&mut self, place: u32, row: &Row) -> io::Result<()> {
        let process = self.processes.get(row.process as usize).copied().unwrap_or(0);
        let uuid = self.track(&mut |track| {
            track.number(track::PARENT, process).text(track::NAME, row.name.as_bytes());
            track.number(track::RANK, u64::from(place));
        })?;
        self.rows.push(uuid);
        Ok(())
    }

    fn slice(&mut self, slice: &Slice<'_>) -> io::Result<()> {
        if self.row != Some(slice.row) {
            self.row = Some(slice.row);
            self.sequence(self.rows.get(slice.row as usize).copied().unwrap_or(0))?;
        }
        self.event(slice.begin, event::BEGIN, &mut |own, event| {
            event.number(event::NAME_IID, own.text(Kind::Name, slice.name));
            event.number(event::CATEGORY_IIDS, own.text(Kind::Category, slice.category));
            for (name, value) in slice.details {
                own.annotate(event, name, value);
            }
            let [from, to] = slice.flows;
            from.iter().for_each(|flow| {
                event.fixed(event::FLOW_IDS, *flow);
            });
            to.iter().for_each(|flow| {
                event.fixed(event::TERMINATING_FLOW_IDS, *flow);
            });
        })?;
        self.event(slice.end, event::END, &mut |_, _| {})
    }

    fn counter(
        &mut self,
        process: u32,
        name: &str,
        values: &mut dyn Iterator<Item = (u64, u64)>,
    ) -> io::Result<()> {
        let parent = self.processes.get(process as usize).copied().unwrap_or(0);
        let rank = self.tracks;
        let uuid = self.track(&mut |track| {
            track.number(track::PARENT, parent).text(track::NAME, name.as_bytes());
            track.number(track::RANK, rank).message(track::COUNTER, &mut |counter| {
                counter.number(track::COUNTER_UNIT, track::UNIT_COUNT);
            });
        })?;
        self.row = None;
        self.sequence(uuid)?;
        for (at, value) in values {
            self.event(at, event::COUNTER, &mut |_, event| {
                event.number(event::COUNTER_VALUE, value);
            })?;
        }
        Ok(())
    }

    /// Marks the end by a packet of the first sequence that describes nothing.
    fn end(&mut self) -> io::Result<()> {
        self.sequence = FIRST_SEQUENCE;
        self.packet(&mut |_, _| {})?;
        self.flush()
    }
}
