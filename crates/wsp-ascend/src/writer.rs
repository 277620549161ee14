//! Lines of C++, indented by nesting.

use std::fmt::Write as _;

/// Text under way.
#[derive(Default)]
pub(crate) struct Writer {
    text: String,
    depth: usize,
}

impl Writer {
    /// Adds a line.
    pub(crate) fn line(&mut self, line: impl AsRef<str>) {
        let line = line.as_ref();
        if !line.is_empty() {
            self.text.extend(std::iter::repeat_n("    ", self.depth));
            self.text.push_str(line);
        }
        self.text.push('\n');
    }

    /// Adds a line, and what follows stands deeper.
    pub(crate) fn open(&mut self, line: impl AsRef<str>) {
        self.line(line);
        self.depth += 1;
    }

    /// Adds a line that ends what `open` has begun.
    pub(crate) fn close(&mut self, line: impl AsRef<str>) {
        self.depth = self.depth.saturating_sub(1);
        self.line(line);
    }

    /// Adds a line that ends one stretch and begins another.
    pub(crate) fn turn(&mut self, line: impl AsRef<str>) {
        self.close(line);
        self.depth += 1;
    }

    /// Adds a line that fails the expansion at a word unless a condition holds.
    pub(crate) fn require(&mut self, condition: &str, word: u32) {
        self.line(format!("if (!{condition}) return s.fail({word});"));
    }

    /// What has been written.
    pub(crate) fn finish(self) -> String {
        self.text
    }
}

/// A string of C++.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' | b'?' => {
                quoted.push('\\');
                quoted.push(char::from(byte));
            }
            b' '..=b'~' => quoted.push(char::from(byte)),
            // Three octal digits end by themselves.
            _ => {
                let _ = write!(quoted, "\\{byte:03o}");
            }
        }
    }
    quoted.push('"');
    quoted
}
