//! JSON of trace events, read.

use super::tasks::{NAMES, Place, Said, Tasks};
use super::{Fault, Found};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use wsp_runtime::clock::Clock;
use wsp_runtime::timeline::{Detail, Timeline};

/// How every file of ours begins.
const BEGIN: &[u8] = b"{\"displayTimeUnit\":\"ns\",\"otherData\":{";

pub(super) fn read(bytes: &[u8]) -> Found<Timeline> {
    let mut reader = Reader { bytes, at: 0, tasks: Tasks::default(), rows: FxHashMap::default() };
    match reader.file() {
        Ok(()) => reader.tasks.finish(),
        // Before a file says that it is one of ours it is any file.
        Err(Fault::Bad(..)) if reader.tasks.header.check() == Err(Fault::Foreign) => {
            let is_cut = reader.at >= bytes.len() && bytes.starts_with(BEGIN);
            Err(if is_cut { Fault::Cut(0, 0) } else { Fault::Foreign })
        }
        Err(Fault::Bad(..)) if reader.at >= bytes.len() => {
            Err(Fault::Cut(reader.tasks.count(), reader.tasks.header.tasks))
        }
        Err(fault) => Err(fault),
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    tasks: Tasks,
    /// Places of rows by process and number.
    rows: FxHashMap<(u32, u32), u32>,
}

/// What an event says beside its arguments.
#[derive(Default)]
struct Event<'a> {
    name: Cow<'a, str>,
    category: Cow<'a, str>,
    phase: Cow<'a, str>,
    process: u32,
    row: u32,
    begin: u64,
    length: u64,
    /// The argument `name` of an event that names something.
    named: Cow<'a, str>,
}

impl<'a> Reader<'a> {
    fn bad<T>(&self, what: &'static str) -> Found<T> {
        Err(Fault::Bad(what, self.at))
    }

    /// The next byte that is no space.
    fn peek(&mut self) -> Option<u8> {
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        self.bytes.get(self.at).copied()
    }

    fn takes(&mut self, byte: u8) -> bool {
        let is = self.peek() == Some(byte);
        self.at += usize::from(is);
        is
    }

    fn expect(&mut self, byte: u8) -> Found<()> {
        if self.takes(byte) { Ok(()) } else { self.bad("text that is no trace event") }
    }

    /// Whether there is another entry of a list that `end` closes; `is_first` says that none was before.
    fn more(&mut self, end: u8, is_first: bool) -> Found<bool> {
        if self.takes(end) {
            return Ok(false);
        }
        if !is_first {
            self.expect(b',')?;
        }
        Ok(true)
    }

    /// Calls `take` with the key of each entry of an object, to read its value.
    fn fields(&mut self, mut take: impl FnMut(&mut Self, &str) -> Found<()>) -> Found<()> {
        self.expect(b'{')?;
        let mut is_first = true;
        while self.more(b'}', is_first)? {
            is_first = false;
            let key = self.string()?;
            self.expect(b':')?;
            take(self, &key)?;
        }
        Ok(())
    }

    fn string(&mut self) -> Found<Cow<'a, str>> {
        self.expect(b'"')?;
        let begin = self.at;
        let mut owned: Option<String> = None;
        let mut plain = begin;
        loop {
            let Some(&byte) = self.bytes.get(self.at) else { return self.bad("a text without an end") };
            if byte != b'"' && byte != b'\\' {
                self.at += 1;
                continue;
            }
            let Ok(text) = std::str::from_utf8(&self.bytes[plain..self.at]) else {
                return self.bad("a text that is not UTF-8");
            };
            self.at += 1;
            if byte == b'"' {
                return Ok(match owned {
                    None => Cow::Borrowed(text),
                    Some(before) => Cow::Owned(before + text),
                });
            }
            let escaped = self.escaped()?;
            let all = owned.get_or_insert_default();
            all.push_str(text);
            all.push(escaped);
            plain = self.at;
        }
    }

    /// What an escape stands for.
    fn escaped(&mut self) -> Found<char> {
        let kind = self.bytes.get(self.at).copied();
        self.at += 1;
        match kind {
            Some(byte @ (b'"' | b'\\' | b'/')) => Ok(char::from(byte)),
            Some(b'u') => {
                let digits =
                    self.bytes.get(self.at..self.at + 4).and_then(|four| std::str::from_utf8(four).ok());
                let code =
                    digits.and_then(|four| u32::from_str_radix(four, 16).ok()).and_then(char::from_u32);
                self.at += 4;
                code.map_or_else(|| self.bad("an escape that is not known"), Ok)
            }
            _ => self.bad("an escape that is not known"),
        }
    }

    /// A whole number.
    fn number(&mut self) -> Found<i64> {
        self.peek();
        let begin = self.at;
        while self.bytes.get(self.at).is_some_and(|byte| byte.is_ascii_digit() || *byte == b'-') {
            self.at += 1;
        }
        let text = std::str::from_utf8(&self.bytes[begin..self.at]).unwrap_or_default();
        text.parse().or_else(|_| self.bad("a number that is none, or too large"))
    }

    fn small(&mut self) -> Found<u32> {
        let number = self.number()?;
        u32::try_from(number).or_else(|_| self.bad("a number that is too large"))
    }

    /// A time in the unit of the clock; it is written in microseconds.
    fn time(&mut self) -> Found<u64> {
        let Ok(whole) = u64::try_from(self.number()?) else { return self.bad("a time below 0") };
        if self.tasks.header.clock == Clock::Cycles {
            return Ok(whole);
        }
        self.expect(b'.')?;
        let begin = self.at;
        let decimals = u64::try_from(self.number()?).ok().filter(|_| self.at == begin + 3);
        let time = decimals.and_then(|decimals| whole.checked_mul(1000)?.checked_add(decimals));
        time.map_or_else(|| self.bad("a time without its nanoseconds"), Ok)
    }

    fn file(&mut self) -> Found<()> {
        self.fields(|own, key| match key {
            "displayTimeUnit" => own.string().map(drop),
            "otherData" => own.labels(),
            "traceEvents" => own.events(),
            _ => own.bad("a part of a trace that is not known"),
        })?;
        match self.peek() {
            None => Ok(()),
            Some(_) => self.bad("text behind the trace"),
        }
    }

    fn labels(&mut self) -> Found<()> {
        self.fields(|own, name| {
            let value = own.string()?;
            if name != "clock" && !own.tasks.header.label(name, &value) {
                return own.bad("a label that is not known");
            }
            Ok(())
        })?;
        self.tasks.header.check()
    }

    fn events(&mut self) -> Found<()> {
        self.tasks.header.check()?;
        self.expect(b'[')?;
        let mut said = Said::default();
        let mut is_first = true;
        while self.more(b']', is_first)? {
            is_first = false;
            said.clear();
            self.event(&mut said)?;
        }
        Ok(())
    }

    fn event(&mut self, said: &mut Said) -> Found<()> {
        let mut event = Event::default();
        self.fields(|own, key| {
            match key {
                "name" => event.name = own.string()?,
                "cat" => event.category = own.string()?,
                "ph" => event.phase = own.string()?,
                "pid" => event.process = own.small()?,
                "tid" => event.row = own.small()?,
                "ts" => event.begin = own.time()?,
                "dur" => event.length = own.time()?,
                "args" => own.arguments(&mut event, said)?,
                _ => return own.bad("a part of an event that is not known"),
            }
            Ok(())
        })?;
        self.happened(&event, said)
    }

    fn arguments(&mut self, event: &mut Event<'a>, said: &mut Said) -> Found<()> {
        self.fields(|own, key| {
            if event.phase == "M" {
                event.named = own.string()?;
                return Ok(());
            }
            // Levels of channels are for viewers: their figures are labels.
            if event.phase == "C" {
                return own.number().map(drop);
            }
            let Some(name) = NAMES.iter().position(|name| *name == key) else {
                return own.bad("an argument that is not known");
            };
            let value = match own.peek() {
                Some(b'"') => {
                    let word = own.string()?;
                    if key == "cause" {
                        said.cause(&word);
                    }
                    return Ok(());
                }
                Some(b'[') => Detail::Numbers(own.numbers()?),
                Some(b't') => Detail::Flag(own.word(b"true", true)?),
                Some(b'f') => Detail::Flag(own.word(b"false", false)?),
                _ => Detail::Number(own.number()?),
            };
            said.take(name, value, event.category == "task");
            Ok(())
        })
    }

    fn word(&mut self, word: &[u8], value: bool) -> Found<bool> {
        let rest = &self.bytes[self.at..];
        let is_there = rest.starts_with(word);
        // What is there of a word at the end of a file that was cut off is read, and the end found.
        self.at += word.len().min(rest.len());
        if is_there { Ok(value) } else { self.bad("a word that is not known") }
    }

    fn numbers(&mut self) -> Found<Vec<u32>> {
        self.expect(b'[')?;
        let mut numbers = Vec::new();
        while self.more(b']', numbers.is_empty())? {
            numbers.push(self.small()?);
        }
        Ok(numbers)
    }

    /// Keeps what an event says.
    fn happened(&mut self, event: &Event<'_>, said: &mut Said) -> Found<()> {
        match (&*event.phase, &*event.name) {
            ("M", "process_name") if event.process as usize == self.tasks.processes.len() => {
                self.tasks.processes.push(event.named.to_string());
                Ok(())
            }
            ("M", "thread_name") => {
                let place = self.tasks.rows.len() as u32;
                self.tasks.row(event.process, event.row, &event.named, self.at)?;
                match self.rows.insert((event.process, event.row), place) {
                    None => Ok(()),
                    Some(_) => self.bad("a row that is there twice"),
                }
            }
            ("C", _) => Ok(()),
            ("X", name) => {
                let Some(&row) = self.rows.get(&(event.process, event.row)) else {
                    return self.bad("a task on no row");
                };
                let Some(end) = event.begin.checked_add(event.length) else {
                    return self.bad("a time beyond all others");
                };
                let place = Place { row, name, begin: event.begin, end };
                match &*event.category {
                    "task" => self.tasks.task(&place, said, self.at).map(drop),
                    "launch" => self.tasks.launch(&place, said, self.at),
                    _ => self.bad("an event of another kind"),
                }
            }
            _ => self.bad("an event of another kind"),
        }
    }
}
