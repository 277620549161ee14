//! Writes many short lines fast, and stops when asked to.

use std::io::{Error, ErrorKind, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes gathered before they are handed on.
const BLOCK: usize = 1 << 16;

/// Lines on their way to a writer.
pub struct Rows<'a> {
    out: &'a mut dyn Write,
    cancel: &'a AtomicBool,
    block: Vec<u8>,
}

impl<'a> Rows<'a> {
    /// Lines for `out`, until `cancel` becomes true.
    pub fn new(out: &'a mut dyn Write, cancel: &'a AtomicBool) -> Rows<'a> {
        Rows { out, cancel, block: Vec::with_capacity(BLOCK + 1024) }
    }

    /// Appends text to the line.
    pub(crate) fn text(&mut self, text: &str) -> &mut Self {
        self.block.extend_from_slice(text.as_bytes());
        self
    }

    /// Appends a number to the line.
    pub(crate) fn number(&mut self, n: impl Into<u64>) -> &mut Self {
        let mut n = n.into();
        let mut digits = [0u8; 20];
        let mut at = digits.len();
        loop {
            at -= 1;
            digits[at] = b'0' + (n % 10) as u8;
            n /= 10;
            if n == 0 {
                break;
            }
        }
        self.block.extend_from_slice(&digits[at..]);
        self
    }

    /// Ends the line.
    ///
    /// # Errors
    /// What the writer says, or that the work is to stop.
    pub(crate) fn end(&mut self) -> std::io::Result<()> {
        self.block.push(b'\n');
        if self.block.len() >= BLOCK { self.flush() } else { Ok(()) }
    }

    /// Hands everything on.
    ///
    /// # Errors
    /// As [`Rows::end`].
    pub(crate) fn flush(&mut self) -> std::io::Result<()> {
        if self.cancel.load(Ordering::Relaxed) {
            return Err(Error::from(ErrorKind::Interrupted));
        }
        self.out.write_all(&self.block)?;
        self.block.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_they_are_read() {
        for n in [0, 1, 9, 10, 99, 100, 12_345, 999_999_999, u64::MAX] {
            let (mut out, cancel) = (Vec::new(), AtomicBool::new(false));
            let mut rows = Rows::new(&mut out, &cancel);
            rows.number(n).end().unwrap();
            rows.flush().unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), format!("{n}\n"));
        }
    }

    #[test]
    fn a_cancelled_list_stops_within_a_block() {
        let (mut out, cancel) = (Vec::new(), AtomicBool::new(true));
        let mut rows = Rows::new(&mut out, &cancel);
        let stopped = (0..BLOCK).find_map(|_| rows.text("x").end().err());
        assert_eq!(stopped.map(|e| e.kind()), Some(ErrorKind::Interrupted));
        assert!(out.is_empty());
    }
}
