//! Writes many short lines fast.

use std::io::Write;

/// Bytes gathered before they are handed on.
const BLOCK: usize = 1 << 16;

/// Lines on their way to a writer.
pub struct Rows<'a> {
    out: &'a mut dyn Write,
    block: Vec<u8>,
}

impl<'a> Rows<'a> {
    /// Lines for `out`.
    pub fn new(out: &'a mut dyn Write) -> Rows<'a> {
        Rows { out, block: Vec::with_capacity(BLOCK + 1024) }
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
    /// What the writer says.
    pub(crate) fn end(&mut self) -> std::io::Result<()> {
        self.block.push(b'\n');
        if self.block.len() >= BLOCK { self.flush() } else { Ok(()) }
    }

    /// The writer, for bytes that are no lines; what is gathered goes before them.
    ///
    /// # Errors
    /// As [`Rows::end`].
    pub(crate) fn raw(&mut self) -> std::io::Result<&mut dyn Write> {
        self.flush()?;
        Ok(self.out)
    }

    /// Hands everything on.
    ///
    /// # Errors
    /// As [`Rows::end`].
    pub(crate) fn flush(&mut self) -> std::io::Result<()> {
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
            let mut out = Vec::new();
            let mut rows = Rows::new(&mut out);
            rows.number(n).end().unwrap();
            rows.flush().unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), format!("{n}\n"));
        }
    }
}
