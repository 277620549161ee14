//! The wire format of protobuf, read.

use super::{Fault, Found};

/// The value of a field.
#[derive(Clone, Copy)]
pub(super) enum Wire<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// Fields that are left of a message.
pub(super) struct Fields<'a> {
    bytes: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(super) fn of(bytes: &'a [u8]) -> Fields<'a> {
        Fields { bytes }
    }

    /// Bytes that are left.
    pub(super) fn left(&self) -> usize {
        self.bytes.len()
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.bytes.split_first()?;
            self.bytes = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    /// The next field; `None` at the end.
    ///
    /// # Errors
    /// The bytes are no field, or end in one.
    pub(super) fn next(&mut self) -> Found<Option<(u32, Wire<'a>)>> {
        if self.bytes.is_empty() {
            return Ok(None);
        }
        self.field().map(Some).ok_or(Fault::Bad("bytes that are no field", 0))
    }

    fn field(&mut self) -> Option<(u32, Wire<'a>)> {
        let tag = self.varint()?;
        let value = match tag & 7 {
            0 => Wire::Number(self.varint()?),
            1 => {
                let (eight, rest) = self.bytes.split_first_chunk::<8>()?;
                self.bytes = rest;
                Wire::Number(u64::from_le_bytes(*eight))
            }
            2 => {
                let length = usize::try_from(self.varint()?).ok()?;
                let (value, rest) = self.bytes.split_at_checked(length)?;
                self.bytes = rest;
                Wire::Bytes(value)
            }
            _ => return None,
        };
        Some((u32::try_from(tag >> 3).ok()?, value))
    }
}
