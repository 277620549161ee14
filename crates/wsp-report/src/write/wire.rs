//! The wire format of protobuf: fields of varints, eight bytes, or so many bytes.

/// A message in the making.
#[derive(Clone, Default)]
pub(super) struct Message(Vec<u8>);

/// How a field's value is stored, as its tag says.
const VARINT: u64 = 0;
const EIGHT_BYTES: u64 = 1;
const BYTES: u64 = 2;

impl Message {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn tag(&mut self, field: u32, wire: u64) {
        self.varint(u64::from(field) << 3 | wire);
    }

    /// A field of an integer, a flag or a choice.
    pub(super) fn number(&mut self, field: u32, value: u64) -> &mut Message {
        self.tag(field, VARINT);
        self.varint(value);
        self
    }

    /// A field of a `fixed64`.
    pub(super) fn fixed(&mut self, field: u32, value: u64) -> &mut Message {
        self.tag(field, EIGHT_BYTES);
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    /// A field of a string or of bytes.
    pub(super) fn text(&mut self, field: u32, text: &[u8]) -> &mut Message {
        self.tag(field, BYTES);
        self.varint(text.len() as u64);
        self.0.extend_from_slice(text);
        self
    }

    /// A field of a message, which `fill` makes.
    pub(super) fn message(&mut self, field: u32, fill: &mut dyn FnMut(&mut Message)) -> &mut Message {
        self.tag(field, BYTES);
        // Most messages are short enough for a length of one byte.
        let at = self.0.len();
        self.0.push(0);
        fill(self);
        let length = self.0.len() - at - 1;
        if length < 0x80 {
            self.0[at] = length as u8;
        } else {
            let mut long = Message::default();
            long.varint(length as u64);
            self.0.splice(at..=at, long.0);
        }
        self
    }
}
