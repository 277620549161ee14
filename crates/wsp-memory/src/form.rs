//! Stored forms: records of words, lists and bytes with a head that tells what they are and whether they are whole.

use std::fmt;
use wsp_core::tg::crc::crc32;
use wsp_core::words::{by_count, counted};

/// Bytes before what the checksum covers: magic, version, checksum.
const UNCOVERED: usize = 12;

/// What records of one kind begin with: `magic, version, crc32, length`. What follows is little endian.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Form {
    /// The first bytes.
    pub magic: [u8; 4],
    /// The layout of what follows the head.
    pub version: u32,
    /// What a record is, for messages.
    pub name: &'static str,
}

/// Why bytes are no record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unreadable {
    /// Another program wrote them: one that knows another layout.
    Layout {
        /// The layout of the record.
        found: u32,
        /// The layout that this program knows.
        known: u32,
    },
    /// They are not what was written.
    Damaged(String),
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unreadable::Layout { found, known } => {
                write!(f, "it has layout {found}, and this program reads layout {known}")
            }
            Unreadable::Damaged(reason) => f.write_str(reason),
        }
    }
}

impl Form {
    /// The bytes of a record with what `write` puts behind the head.
    pub fn write(&self, write: impl FnOnce(&mut Writer)) -> Vec<u8> {
        let mut out = Writer { bytes: Vec::new() };
        out.bytes.extend(self.magic);
        out.u32(self.version);
        out.u32(0);
        out.u64(0);
        write(&mut out);
        let mut bytes = out.bytes;
        let length = bytes.len() as u64;
        bytes[UNCOVERED..UNCOVERED + 8].copy_from_slice(&length.to_le_bytes());
        let sum = crc32(&bytes[UNCOVERED..]);
        bytes[UNCOVERED - 4..UNCOVERED].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// What `read` makes of all that is behind the head. The reader is total: any bytes in, a value or a reason out.
    ///
    /// # Errors
    /// Another kind of record or another layout, bytes that are damaged, cut off or left over, and those of `read`.
    pub fn read<'b, T>(
        &self,
        bytes: &'b [u8],
        read: impl FnOnce(&mut Reader<'b>) -> Result<T, String>,
    ) -> Result<T, Unreadable> {
        let mut input = Reader { rest: bytes };
        let version = self.version_of(&mut input).map_err(Unreadable::Damaged)?;
        if version != self.version {
            return Err(Unreadable::Layout { found: version, known: self.version });
        }
        self.body(&mut input, bytes, read).map_err(Unreadable::Damaged)
    }

    fn version_of(&self, input: &mut Reader<'_>) -> Result<u32, String> {
        if input.take(4)? != self.magic {
            return Err(format!("it is no {}", self.name));
        }
        input.u32()
    }

    /// What comes behind the version.
    fn body<'b, T>(
        &self,
        input: &mut Reader<'b>,
        bytes: &[u8],
        read: impl FnOnce(&mut Reader<'b>) -> Result<T, String>,
    ) -> Result<T, String> {
        let (sum, length) = (input.u32()?, input.u64()?);
        if length != bytes.len() as u64 {
            return Err(format!("it has {} of {length}", bytes.len(), length = counted(length, "byte")));
        }
        let computed = crc32(&bytes[UNCOVERED..]);
        if computed != sum {
            return Err(format!("its checksum is {sum:#010x}, and that of its bytes {computed:#010x}"));
        }
        let value = read(input)?;
        match input.rest.is_empty() {
            true => Ok(value),
            false => {
                let left = input.rest.len();
                Err(format!("{} {} left", counted(left, "byte"), by_count(left, "is", "are")))
            }
        }
    }
}

/// Writes the parts of a record.
#[derive(Debug)]
pub struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    /// Four bytes.
    pub fn u32(&mut self, value: u32) {
        self.bytes.extend(value.to_le_bytes());
    }

    /// Eight bytes.
    pub fn u64(&mut self, value: u64) {
        self.bytes.extend(value.to_le_bytes());
    }

    /// Bytes, with their count before them.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.u64(bytes.len() as u64);
        self.bytes.extend(bytes);
    }

    /// A list, with its length before it.
    pub fn list<T>(&mut self, items: &[T], mut item: impl FnMut(&mut Writer, &T)) {
        self.u64(items.len() as u64);
        for one in items {
            item(self, one);
        }
    }
}

/// Reads the parts of a record.
#[derive(Clone, Debug)]
pub struct Reader<'b> {
    rest: &'b [u8],
}

impl<'b> Reader<'b> {
    fn take(&mut self, count: usize) -> Result<&'b [u8], String> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or_else(|| "it ends early".to_owned())?;
        self.rest = rest;
        Ok(taken)
    }

    /// Four bytes.
    ///
    /// # Errors
    /// There are none left.
    pub fn u32(&mut self) -> Result<u32, String> {
        Ok(u32::from_le_bytes(self.take(4)?.try_into().expect("as many bytes should be taken")))
    }

    /// Eight bytes.
    ///
    /// # Errors
    /// There are none left.
    pub fn u64(&mut self) -> Result<u64, String> {
        Ok(u64::from_le_bytes(self.take(8)?.try_into().expect("as many bytes should be taken")))
    }

    /// A truth value of four bytes.
    ///
    /// # Errors
    /// There are none left, or it is neither.
    pub fn flag(&mut self) -> Result<bool, String> {
        match self.u32()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(format!("a flag is {other}")),
        }
    }

    /// Bytes with their count before them.
    ///
    /// # Errors
    /// There are fewer.
    pub fn raw(&mut self) -> Result<&'b [u8], String> {
        let count = self.u64()?;
        self.take(usize::try_from(count).unwrap_or(usize::MAX))
    }

    /// All that is left.
    pub fn rest(&mut self) -> &'b [u8] {
        std::mem::take(&mut self.rest)
    }

    /// Text with its count of bytes before it.
    ///
    /// # Errors
    /// There are fewer bytes.
    pub fn text(&mut self) -> Result<String, String> {
        Ok(String::from_utf8_lossy(self.raw()?).into_owned())
    }

    /// A list whose items have at least `least` bytes each, so that no count asks for more memory than the record has.
    ///
    /// # Errors
    /// There are fewer items, and those of `item`.
    pub fn list<T>(
        &mut self,
        least: usize,
        mut item: impl FnMut(&mut Reader<'b>) -> Result<T, String>,
    ) -> Result<Vec<T>, String> {
        let count = self.u64()?;
        if count > (self.rest.len() / least) as u64 {
            return Err(format!("a list of {count} does not fit", count = counted(count, "item")));
        }
        (0..count).map(|_| item(self)).collect()
    }

    /// A list of at most one item.
    ///
    /// # Errors
    /// As [`list`](Self::list), and more than one.
    pub fn option<T>(
        &mut self,
        least: usize,
        item: impl FnMut(&mut Reader<'b>) -> Result<T, String>,
    ) -> Result<Option<T>, String> {
        let mut list = self.list(least, item)?;
        if list.len() > 1 {
            return Err(format!("it has {} of what there is one of", list.len()));
        }
        Ok(list.pop())
    }
}
