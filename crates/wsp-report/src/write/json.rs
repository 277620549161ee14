//! JSON of trace events.
//!
//! One object whose `traceEvents` hold an event per task, with begin and duration in microseconds: with three decimals of nanoseconds, or a
//! microsecond for each cycle.

use super::{Slice, Value, Writer};
use std::fmt::{self, Display, Write as _};
use std::io;
use wsp_runtime::clock::Clock;
use wsp_runtime::timeline::Row;

/// The object in the making.
pub(super) struct Json<'o> {
    out: &'o mut dyn io::Write,
    clock: Clock,
    /// Process and number of each row.
    rows: Vec<(u32, u32)>,
    /// What parts the next event from the one before it.
    comma: &'static str,
}

impl<'o> Json<'o> {
    pub(super) fn begin(
        clock: Clock,
        labels: Vec<(&str, String)>,
        out: &'o mut dyn io::Write,
    ) -> io::Result<Json<'o>> {
        let name = clock.name();
        write!(out, "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"clock\":\"{name}\"")?;
        let mut json = Json { out, clock, rows: Vec::new(), comma: "" };
        let mut counts = [0; 2];
        for (name, value) in &labels {
            // A name stands once in an object.
            match ["work", "channel"].iter().position(|of| of == name) {
                Some(of) => {
                    write!(json.out, ",\"{name}{}\":", counts[of])?;
                    counts[of] += 1;
                }
                None => write!(json.out, ",\"{name}\":")?,
            }
            json.string(value)?;
        }
        json.out.write_all(b"},\"traceEvents\":[")?;
        Ok(json)
    }

    /// Parts the next event from the one before it.
    fn next(&mut self) -> io::Result<()> {
        writeln!(self.out, "{}", std::mem::replace(&mut self.comma, ","))
    }

    /// A string with what JSON asks to be escaped.
    fn string(&mut self, text: &dyn Display) -> io::Result<()> {
        self.out.write_all(b"\"")?;
        let mut escaped = Escaped { out: self.out, result: Ok(()) };
        // Only the sink refuses what is written to it, and it keeps the reason.
        let written = write!(escaped, "{text}");
        escaped.result?;
        written.map_err(io::Error::other)?;
        self.out.write_all(b"\"")
    }

    /// A time in microseconds.
    fn time(&mut self, time: u64) -> io::Result<()> {
        match self.clock {
            Clock::Cycles => write!(self.out, "{time}"),
            Clock::Nanoseconds => write!(self.out, "{}.{:03}", time / 1000, time % 1000),
        }
    }

    fn value(&mut self, value: &Value<'_>) -> io::Result<()> {
        match value {
            Value::Number(number) => write!(self.out, "{number}"),
            Value::Flag(flag) => write!(self.out, "{flag}"),
            Value::Word(word) => self.string(word),
            Value::Remark(text) => self.string(text),
            Value::Numbers(numbers) => {
                self.out.write_all(b"[")?;
                for (i, number) in numbers.iter().enumerate() {
                    write!(self.out, "{}{number}", if i == 0 { "" } else { "," })?;
                }
                self.out.write_all(b"]")
            }
        }
    }
}

impl Writer for Json<'_> {
    fn is_by_row(&self) -> bool {
        false
    }

    fn process(&mut self, process: u32, name: &str) -> io::Result<()> {
        self.next()?;
        write!(self.out, "{{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":{process},\"args\":{{\"name\":")?;
        self.string(&name)?;
        self.out.write_all(b"}}")
    }

    fn row(&mut self, _: u32, row: &Row) -> io::Result<()> {
        self.rows.push((row.process, row.number));
        self.next()?;
        let Row { process, number, name } = row;
        write!(self.out, "{{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":{process},\"tid\":{number}")?;
        self.out.write_all(b",\"args\":{\"name\":")?;
        self.string(name)?;
        self.out.write_all(b"}}")
    }

    fn slice(&mut self, slice: &Slice<'_>) -> io::Result<()> {
        let (pid, tid) = self.rows.get(slice.row as usize).copied().unwrap_or_default();
        self.next()?;
        self.out.write_all(b"{\"name\":")?;
        self.string(&slice.name)?;
        write!(self.out, ",\"cat\":\"{}\",\"ph\":\"X\",\"pid\":{pid},\"tid\":{tid},\"ts\":", slice.category)?;
        self.time(slice.begin)?;
        self.out.write_all(b",\"dur\":")?;
        self.time(slice.end - slice.begin)?;
        self.out.write_all(b",\"args\":{")?;
        for (i, (name, value)) in slice.details.iter().enumerate() {
            write!(self.out, "{}\"{name}\":", if i == 0 { "" } else { "," })?;
            self.value(value)?;
        }
        self.out.write_all(b"}}")
    }

    fn counter(
        &mut self,
        process: u32,
        name: &str,
        values: &mut dyn Iterator<Item = (u64, u64)>,
    ) -> io::Result<()> {
        for (at, value) in values {
            self.next()?;
            self.out.write_all(b"{\"name\":")?;
            self.string(&name)?;
            write!(self.out, ",\"ph\":\"C\",\"pid\":{process},\"ts\":")?;
            self.time(at)?;
            write!(self.out, ",\"args\":{{\"slots\":{value}}}}}")?;
        }
        Ok(())
    }

    fn end(&mut self) -> io::Result<()> {
        self.out.write_all(b"\n]}\n")
    }
}

/// Text on its way into a JSON string.
struct Escaped<'o> {
    out: &'o mut dyn io::Write,
    result: io::Result<()>,
}

impl Escaped<'_> {
    fn write(&mut self, text: &str) -> io::Result<()> {
        let mut plain = 0;
        for (i, byte) in text.bytes().enumerate() {
            if byte >= b' ' && byte != b'"' && byte != b'\\' {
                continue;
            }
            self.out.write_all(&text.as_bytes()[plain..i])?;
            plain = i + 1;
            match byte {
                b'"' => self.out.write_all(b"\\\"")?,
                b'\\' => self.out.write_all(b"\\\\")?,
                control => write!(self.out, "\\u{control:04x}")?,
            }
        }
        self.out.write_all(&text.as_bytes()[plain..])
    }
}

impl fmt::Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.result = self.write(text);
        if self.result.is_ok() { Ok(()) } else { Err(fmt::Error) }
    }
}
