//! The header of the `.npy` format: a Python dictionary in a length-prefixed line of text.

use wsp_core::DType;

/// What starts every `.npy` file.
pub const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// Longest header taken; numpy's own are below 200 bytes unless types are structured.
pub(super) const MAX_HEADER: u64 = 1 << 16;

/// What the elements are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Descr {
    /// Numbers of a type that arrays may have.
    Number {
        /// The type.
        dtype: DType,
        /// Whether bytes are in big-endian order.
        big_endian: bool,
    },
    /// Text of a fixed number of UTF-32 characters.
    Text {
        /// Characters per element.
        chars: u64,
        /// Whether bytes are in big-endian order.
        big_endian: bool,
    },
    /// Anything else, as written.
    Other(String),
}

/// A parsed header.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Header {
    pub(super) descr: Descr,
    pub(super) fortran: bool,
    pub(super) shape: Vec<u64>,
}

impl Header {
    /// Number of elements; `None` when it does not fit 64 bits.
    pub(super) fn count(&self) -> Option<u64> {
        self.shape.iter().try_fold(1u64, |total, &n| total.checked_mul(n))
    }
}

/// Parses the dictionary; the error says what is wrong with it.
pub(super) fn parse(text: &str) -> Result<Header, String> {
    let mut tokens = Tokens { rest: text };
    let (mut descr, mut fortran, mut shape) = (None, None, None);
    tokens.expect('{')?;
    while !tokens.take('}') {
        let key = tokens.string()?;
        tokens.expect(':')?;
        if let ("descr", Some(list)) = (key, tokens.list()) {
            // A structured type is refused whatever its shape, so the rest does not matter.
            return Ok(Header { descr: Descr::Other(list.to_owned()), fortran: false, shape: Vec::new() });
        }
        match key {
            "descr" => descr = Some(tokens.descr()?),
            "fortran_order" => fortran = Some(tokens.boolean()?),
            "shape" => shape = Some(tokens.shape()?),
            other => return Err(format!("unknown key '{other}'")),
        }
        if !tokens.take(',') {
            tokens.expect('}')?;
            break;
        }
    }
    match (descr, fortran, shape) {
        (Some(descr), Some(fortran), Some(shape)) => Ok(Header { descr, fortran, shape }),
        (None, ..) => Err("the key 'descr' is missing".to_owned()),
        (_, None, _) => Err("the key 'fortran_order' is missing".to_owned()),
        _ => Err("the key 'shape' is missing".to_owned()),
    }
}

/// The header text of an array in C order, without magic, version and length.
pub fn print(descr: &str, shape: &[u64]) -> String {
    let extents: Vec<String> = shape.iter().map(u64::to_string).collect();
    let comma = if shape.len() == 1 { "," } else { "" };
    format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({}{comma}), }}", extents.join(", "))
}

struct Tokens<'a> {
    rest: &'a str,
}

impl<'a> Tokens<'a> {
    fn skip(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
    }

    fn take(&mut self, c: char) -> bool {
        self.skip();
        match self.rest.strip_prefix(c) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, c: char) -> Result<(), String> {
        if self.take(c) { Ok(()) } else { Err(format!("`{c}` expected, found {}", self.found())) }
    }

    fn found(&self) -> String {
        match self.rest.chars().next() {
            Some(c) => format!("`{}`", c.escape_debug()),
            None => "the end".to_owned(),
        }
    }

    fn string(&mut self) -> Result<&'a str, String> {
        self.skip();
        let quote = self.rest.chars().next().filter(|c| ['\'', '"'].contains(c));
        let Some(quote) = quote else { return Err(format!("a string expected, found {}", self.found())) };
        let inner = &self.rest[1..];
        let end = inner.find(quote).ok_or("a string does not end")?;
        self.rest = &inner[end + 1..];
        Ok(&inner[..end])
    }

    fn boolean(&mut self) -> Result<bool, String> {
        self.skip();
        for (word, value) in [("True", true), ("False", false)] {
            if let Some(rest) = self.rest.strip_prefix(word) {
                self.rest = rest;
                return Ok(value);
            }
        }
        Err(format!("True or False expected, found {}", self.found()))
    }

    fn integer(&mut self) -> Result<u64, String> {
        self.skip();
        let digits = self.rest.len() - self.rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if digits == 0 {
            return Err(format!("an extent expected, found {}", self.found()));
        }
        let (text, rest) = self.rest.split_at(digits);
        // Python 2 wrote long integers with an L.
        self.rest = rest.strip_prefix('L').unwrap_or(rest);
        text.parse().map_err(|_| format!("the extent {text} does not fit 64 bits"))
    }

    fn shape(&mut self) -> Result<Vec<u64>, String> {
        let mut shape = Vec::new();
        self.expect('(')?;
        while !self.take(')') {
            shape.push(self.integer()?);
            if !self.take(',') {
                self.expect(')')?;
                break;
            }
        }
        Ok(shape)
    }

    fn descr(&mut self) -> Result<Descr, String> {
        let text = self.string()?;
        Ok(descr_of(text))
    }

    /// The list that stands where a structured type is described.
    fn list(&mut self) -> Option<&'a str> {
        self.skip();
        let end = self.rest.rfind(']').filter(|_| self.rest.starts_with('['))?;
        Some(&self.rest[..=end])
    }
}

fn descr_of(text: &str) -> Descr {
    let (order, kind) = match text.chars().next() {
        Some(c @ ('<' | '>' | '|' | '=')) => (c, &text[1..]),
        _ => ('=', text),
    };
    let big_endian = order == '>' || (order == '=' && cfg!(target_endian = "big"));
    let dtype = match kind {
        "f2" => DType::F16,
        "f4" => DType::F32,
        "f8" => DType::F64,
        "u1" => DType::U8,
        "u2" => DType::U16,
        "i1" => DType::I8,
        "i2" => DType::I16,
        "b1" => DType::Bool,
        "i4" => DType::I32,
        "u4" => DType::U32,
        "i8" => DType::I64,
        "u8" => DType::U64,
        // What the bfloat16, float8_e4m3fn and float8_e5m2 of ml_dtypes call themselves.
        "V2" => DType::Bf16,
        "V1" => DType::F8E4m3,
        "f1" => DType::F8E5m2,
        _ => {
            let chars = kind.strip_prefix('U').and_then(|n| n.parse().ok());
            return match chars {
                Some(chars) => Descr::Text { chars, big_endian },
                None => Descr::Other(text.to_owned()),
            };
        }
    };
    Descr::Number { dtype, big_endian }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_as_numpy_writes_it() {
        let header = parse("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }      \n").unwrap();
        assert_eq!(header.descr, Descr::Number { dtype: DType::F32, big_endian: false });
        assert_eq!((header.fortran, header.shape), (false, vec![2, 3]));
    }

    #[test]
    fn what_is_printed_is_parsed() {
        for shape in [vec![], vec![7], vec![0, 3], vec![1, 2, 3, 4]] {
            let header = parse(&print("<u2", &shape)).unwrap();
            assert_eq!(header.shape, shape);
        }
    }

    #[test]
    fn keys_may_come_in_any_order_and_with_other_quotes() {
        let header = parse("{\"shape\":(3L,),\"fortran_order\":True,\"descr\":\">i8\"}").unwrap();
        assert_eq!(header.descr, Descr::Number { dtype: DType::I64, big_endian: true });
        assert!(header.fortran);
    }

    #[test]
    fn types_that_arrays_cannot_have_are_kept_as_written() {
        let other = |d: &str| parse(&print(d, &[2])).unwrap().descr;
        assert_eq!(other("|O"), Descr::Other("|O".to_owned()));
        assert_eq!(other("<U3"), Descr::Text { chars: 3, big_endian: false });
        for (text, dtype) in [("|V2", DType::Bf16), ("<V1", DType::F8E4m3), ("<f1", DType::F8E5m2)] {
            assert_eq!(other(text), Descr::Number { dtype, big_endian: false });
        }
        let structured = "{'descr': [('a', '<f4'), ('b', '<i4')], 'fortran_order': False, 'shape': (2,), }";
        assert!(matches!(parse(structured).unwrap().descr, Descr::Other(t) if t.starts_with("[('a'")));
    }

    #[test]
    fn broken_headers_are_errors() {
        for text in [
            "",
            "{",
            "{'descr'",
            "{'descr': '<f4'}",
            "(((((",
            "{'shape': (-1,)}",
            "{'shape': (1 2)}",
            "{'x': 1}",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse(&"{'shape': (".repeat(2000)).is_err());
        assert!(
            parse("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }").is_err()
        );
    }
}
