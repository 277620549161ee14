//! Perfetto's form, read.

use super::tasks::{NAMES, Place, Said, Tasks};
use super::wire::{Fields, Wire};
use super::{Fault, Found};
use crate::fields::{
    FIRST_SEQUENCE, PACKET, STATE_CLEARED, annotation, defaults, event, interned, packet, track,
};
use flate2::read::ZlibDecoder;
use std::io::Read as _;
use wsp_runtime::timeline::{Detail, STREAM_ROWS, Timeline};

/// Most bytes of packets that are compressed together.
const MOST: u64 = 1 << 26;

/// Most texts of a sequence: names of kernels, of what is said, and words.
const MOST_TEXTS: usize = 1 << 18;

/// A track that was described.
#[derive(Clone, Copy)]
enum Track {
    Process(u32),
    Row(u32),
    Counter,
}

/// A text with its kind and, of names of annotations, the place among those that are known.
type Text = (u32, usize, String);

/// A slice that has begun.
struct Open {
    is_task: bool,
    name: u64,
    begin: u64,
    from: Vec<u64>,
    to: Vec<u64>,
}

#[derive(Default)]
struct Reader {
    tasks: Tasks,
    /// By their numbers, which count from 1.
    tracks: Vec<Track>,
    /// The sequence at hand: its number, its track, its texts by their numbers, which count from 1, its time, what has begun.
    sequence: u64,
    track: Option<Track>,
    texts: Vec<Text>,
    now: u64,
    open: Option<Open>,
    said: Said,
    /// Whether the packet has come that marks the end.
    is_ended: bool,
    /// About where in the file.
    at: usize,
}

pub(super) fn read(bytes: &[u8]) -> Found<Timeline> {
    let mut reader = Reader::default();
    let mut fields = Fields::of(bytes);
    let mut packets = Vec::new();
    let mut room = most_packed(bytes.len());
    loop {
        reader.at = bytes.len() - fields.left();
        let is_begun = !reader.tracks.is_empty();
        let (begun, tasks) = (is_begun, reader.tasks.header.tasks);
        let outer = match fields.next() {
            Ok(Some((PACKET, Wire::Bytes(outer)))) => outer,
            Ok(None) if is_begun => break,
            Err(_) if begun => return Err(Fault::Cut(reader.tasks.count(), tasks)),
            _ => return Err(if looks_like_one(bytes) { Fault::Cut(0, 0) } else { Fault::Foreign }),
        };
        let Ok(Some((packet::COMPRESSED_PACKETS, Wire::Bytes(compressed)))) = Fields::of(outer).next() else {
            return Err(if begun {
                Fault::Bad("a packet that is not compressed", reader.at)
            } else {
                Fault::Foreign
            });
        };
        packets.clear();
        let inflated = ZlibDecoder::new(compressed).take(MOST).read_to_end(&mut packets);
        if inflated.is_err() || packets.len() as u64 >= MOST {
            return Err(reader.bad("packets that cannot be decompressed"));
        }
        room = room
            .checked_sub(packets.len() as u64)
            .ok_or_else(|| reader.bad("more bytes than traces of this size have"))?;
        let mut inner = Fields::of(&packets);
        while let Some(field) = inner.next().map_err(|_| reader.bad("bytes that are no packet"))? {
            match field {
                (PACKET, Wire::Bytes(packet)) => reader.packet(packet).map_err(|fault| reader.here(fault))?,
                _ => return Err(reader.bad("a field that is no packet")),
            }
        }
    }
    if reader.open.is_some() || reader.tasks.header.is_end_marked && !reader.is_ended {
        return Err(Fault::Cut(reader.tasks.count(), reader.tasks.header.tasks));
    }
    reader.tasks.finish()
}

/// Most bytes of all packets of a file: those of traces take some ten times what they take compressed, and the memory of a reader follows from them.
fn most_packed(bytes: usize) -> u64 {
    (bytes as u64).saturating_mul(100).saturating_add(1 << 24)
}

/// Whether a file begins as those do whose packets are compressed.
fn looks_like_one(bytes: &[u8]) -> bool {
    let Some((0x0a, rest)) = bytes.split_first().map(|(first, rest)| (*first, rest)) else { return false };
    let after = rest.iter().take(9).position(|byte| byte & 0x80 == 0);
    after.is_some_and(|at| rest[at + 1..].starts_with(&[0x92, 0x03]))
}

impl Reader {
    fn bad(&self, what: &'static str) -> Fault {
        Fault::Bad(what, self.at)
    }

    /// A fault of a message within a packet.
    fn here(&self, fault: Fault) -> Fault {
        if let Fault::Bad(what, 0) = fault { self.bad(what) } else { fault }
    }

    fn packet(&mut self, bytes: &[u8]) -> Found<()> {
        let (mut delta, mut flags, mut sequence) = (0, 0, 0);
        let (mut described, mut on, mut texts, mut happened) = (None, None, None, None);
        let mut fields = Fields::of(bytes);
        while let Some(field) = fields.next().map_err(|_| self.bad("bytes that are no packet"))? {
            match field {
                (packet::SEQUENCE_ID, Wire::Number(number)) => sequence = number,
                (packet::TIMESTAMP, Wire::Number(number)) => delta = number,
                (packet::SEQUENCE_FLAGS, Wire::Number(number)) => flags = number,
                (packet::TRACK_DESCRIPTOR, Wire::Bytes(bytes)) => described = Some(bytes),
                (packet::DEFAULTS, Wire::Bytes(bytes)) => on = Some(bytes),
                (packet::INTERNED_DATA, Wire::Bytes(bytes)) => texts = Some(bytes),
                (packet::TRACK_EVENT, Wire::Bytes(bytes)) => happened = Some(bytes),
                (packet::CLOCK_SNAPSHOT, Wire::Bytes(_)) => {}
                _ => return Err(self.bad("a field of a packet that is not known")),
            }
        }
        if let Some(bytes) = described {
            return self.describe(bytes);
        }
        if sequence == FIRST_SEQUENCE {
            self.is_ended = true;
            return Ok(());
        }
        if flags == STATE_CLEARED {
            if self.open.is_some() {
                return Err(self.bad("a task that does not end"));
            }
            self.tasks.header.check()?;
            self.sequence = sequence;
            self.texts.clear();
            self.now = 0;
            self.track = self.default_track(on.unwrap_or_default())?;
        }
        if sequence != self.sequence {
            return Err(self.bad("a packet of a sequence that has not begun"));
        }
        texts.map_or(Ok(()), |bytes| self.intern(bytes))?;
        let Some(bytes) = happened else { return Ok(()) };
        self.now = self.now.checked_add(delta).ok_or_else(|| self.bad("a time beyond all others"))?;
        self.event(bytes)
    }

    /// The one field of a kind in the message of another.
    fn default_track(&self, bytes: &[u8]) -> Found<Option<Track>> {
        let mut outer = Fields::of(bytes);
        while let Some(field) = outer.next()? {
            let (defaults::TRACK_EVENT, Wire::Bytes(bytes)) = field else { continue };
            let mut inner = Fields::of(bytes);
            while let Some(field) = inner.next()? {
                if let (defaults::TRACK_UUID, Wire::Number(uuid)) = field {
                    return Ok(self.track_of(uuid));
                }
            }
        }
        Ok(None)
    }

    fn describe(&mut self, bytes: &[u8]) -> Found<()> {
        let (mut uuid, mut name, mut parent, mut process, mut is_counter) = (0, "", 0, None, false);
        let mut fields = Fields::of(bytes);
        while let Some(field) = fields.next()? {
            match field {
                (track::UUID, Wire::Number(number)) => uuid = number,
                (track::PARENT, Wire::Number(number)) => parent = number,
                (track::NAME, Wire::Bytes(bytes)) => name = self.utf8(bytes)?,
                (track::PROCESS, Wire::Bytes(bytes)) => process = Some(bytes),
                (track::COUNTER, _) => is_counter = true,
                _ => {}
            }
        }
        let track = if let Some(bytes) = process {
            let track = Track::Process(self.tasks.processes.len() as u32);
            self.process(bytes)?;
            track
        } else if is_counter {
            Track::Counter
        } else {
            let Some(Track::Process(process)) = self.track_of(parent) else {
                return Err(self.bad("a row of no process"));
            };
            let number = name.rsplit(' ').next().and_then(|number| number.parse::<u32>().ok());
            let number = number.unwrap_or(self.tasks.rows.len() as u32);
            // Streams are numbered after workers.
            let first = if name.starts_with("stream ") { STREAM_ROWS } else { 0 };
            self.tasks.row(process, number.saturating_add(first), name, self.at)?;
            Track::Row(self.tasks.rows.len() as u32 - 1)
        };
        self.tracks.push(track);
        if uuid == self.tracks.len() as u64 { Ok(()) } else { Err(self.bad("a track that is out of order")) }
    }

    fn track_of(&self, uuid: u64) -> Option<Track> {
        self.tracks.get(usize::try_from(uuid.checked_sub(1)?).ok()?).copied()
    }

    fn process(&mut self, bytes: &[u8]) -> Found<()> {
        let mut fields = Fields::of(bytes);
        let mut name = String::new();
        while let Some(field) = fields.next()? {
            match field {
                (track::PROCESS_NAME, Wire::Bytes(bytes)) => name = self.utf8(bytes)?.to_owned(),
                (track::PROCESS_LABELS, Wire::Bytes(bytes)) => {
                    let label = self.utf8(bytes)?.split_once('=');
                    if !label.is_some_and(|(name, value)| self.tasks.header.label(name, value)) {
                        return Err(self.bad("a label that is not known"));
                    }
                }
                _ => {}
            }
        }
        self.tasks.header.check()?;
        self.tasks.processes.push(name);
        Ok(())
    }

    fn utf8<'a>(&self, bytes: &'a [u8]) -> Found<&'a str> {
        std::str::from_utf8(bytes).map_err(|_| self.bad("a name that is no text"))
    }

    fn intern(&mut self, bytes: &[u8]) -> Found<()> {
        let mut fields = Fields::of(bytes);
        while let Some(field) = fields.next()? {
            let (kind, Wire::Bytes(bytes)) = field else { return Err(self.bad("a text of no kind")) };
            let (mut number, mut word) = (0, "");
            let mut parts = Fields::of(bytes);
            while let Some(part) = parts.next()? {
                match part {
                    (1, Wire::Number(of)) => number = of,
                    (2, Wire::Bytes(bytes)) => word = self.utf8(bytes)?,
                    _ => {}
                }
            }
            let mut place = 0;
            if kind == interned::ANNOTATION {
                let found = NAMES.iter().position(|name| *name == word);
                place = found.ok_or_else(|| self.bad("an argument that is not known"))?;
            }
            if self.texts.len() >= MOST_TEXTS {
                return Err(self.bad("more texts than a sequence has"));
            }
            self.texts.push((kind, place, word.to_owned()));
            if number != self.texts.len() as u64 {
                return Err(self.bad("a text that is out of order"));
            }
        }
        Ok(())
    }

    fn event(&mut self, bytes: &[u8]) -> Found<()> {
        let Some(track) = self.track else { return Err(self.bad("an event of no track")) };
        let mut open = Open { is_task: true, name: 0, begin: self.now, from: Vec::new(), to: Vec::new() };
        let mut kind = 0;
        let mut fields = Fields::of(bytes);
        while let Some(field) = fields.next()? {
            match field {
                (event::TYPE, Wire::Number(number)) => {
                    kind = number;
                    if kind == event::BEGIN {
                        self.said.clear();
                    }
                }
                (event::NAME_IID, Wire::Number(number)) => open.name = number,
                (event::CATEGORY_IIDS, Wire::Number(number)) => {
                    open.is_task =
                        text(&self.texts, interned::CATEGORY, number).is_some_and(|text| text.2 == "task");
                }
                (event::ANNOTATIONS, Wire::Bytes(bytes)) => self.annotation(bytes, open.is_task)?,
                (event::FLOW_IDS, Wire::Number(number)) => open.from.push(number),
                (event::TERMINATING_FLOW_IDS, Wire::Number(number)) => open.to.push(number),
                (event::COUNTER_VALUE, _) => {}
                _ => return Err(self.bad("a field of an event that is not known")),
            }
        }
        match (kind, track, self.open.take()) {
            (event::COUNTER, Track::Counter, None) => {}
            (event::BEGIN, Track::Row(_), None) => self.open = Some(open),
            (event::END, Track::Row(row), Some(open)) => self.close(row, &open)?,
            _ => return Err(self.bad("an event that does not belong there")),
        }
        Ok(())
    }

    fn close(&mut self, row: u32, open: &Open) -> Found<()> {
        let unknown = Fault::Bad("a name that is not known", self.at);
        let (.., name) = text(&self.texts, interned::NAME, open.name).ok_or(unknown)?;
        let place = Place { row, name, begin: open.begin, end: self.now };
        if !open.is_task {
            return self.tasks.launch(&place, &mut self.said, self.at);
        }
        let task = self.tasks.task(&place, &mut self.said, self.at)?;
        self.tasks.from.extend(open.from.iter().map(|flow| (*flow, task.0.into())));
        self.tasks.to.extend(open.to.iter().map(|flow| (*flow, task.0.into())));
        Ok(())
    }

    fn annotation(&mut self, bytes: &[u8], is_task: bool) -> Found<()> {
        let (mut name, mut value, mut numbers) = (None, None, Vec::new());
        let mut fields = Fields::of(bytes);
        while let Some(field) = fields.next()? {
            match field {
                (annotation::NAME_IID, Wire::Number(number)) => {
                    name = text(&self.texts, interned::ANNOTATION, number).map(|text| text.1);
                }
                (annotation::BOOL, Wire::Number(flag)) => value = Some(Detail::Flag(flag != 0)),
                (annotation::UINT | annotation::INT, Wire::Number(number)) => {
                    value = Some(Detail::Number(number.cast_signed()));
                }
                (annotation::STRING_IID, Wire::Number(number)) => {
                    if let Some((.., word)) = text(&self.texts, interned::WORD, number) {
                        self.said.cause(word);
                    }
                    return Ok(());
                }
                (annotation::ARRAY, Wire::Bytes(bytes)) => match Fields::of(bytes).next()? {
                    Some((annotation::UINT, Wire::Number(number))) => {
                        let number =
                            u32::try_from(number).map_err(|_| self.bad("a number that is too large"))?;
                        numbers.push(number);
                    }
                    _ => return Err(self.bad("a list of something else than numbers")),
                },
                _ => return Err(self.bad("a field of an argument that is not known")),
            }
        }
        let name = name.ok_or_else(|| self.bad("an argument without a name"))?;
        self.said.take(name, value.unwrap_or(Detail::Numbers(numbers)), is_task);
        Ok(())
    }
}

/// A text of a kind.
fn text(texts: &[Text], kind: u32, number: u64) -> Option<&Text> {
    let text = texts.get(usize::try_from(number.checked_sub(1)?).ok()?)?;
    (text.0 == kind).then_some(text)
}
