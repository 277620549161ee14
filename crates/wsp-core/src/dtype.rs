//! Element types of arrays and tiles.

use core::fmt;

/// The type of one element of an array in memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum DType {
    /// IEEE binary32.
    F32,
    /// IEEE binary64.
    F64,
    /// IEEE binary16.
    F16,
    /// bfloat16: the upper half of a binary32.
    Bf16,
    /// Unsigned 8-bit integer.
    U8,
    /// Unsigned 16-bit integer.
    U16,
    /// Signed 32-bit integer.
    I32,
    /// Unsigned 32-bit integer.
    U32,
    /// Signed 64-bit integer.
    I64,
    /// Unsigned 64-bit integer.
    U64,
    /// OCP FP8 E4M3: 4 significant bits, up to 448, no infinity.
    F8E4m3,
    /// OCP FP8 E5M2: 3 significant bits, up to 57344.
    F8E5m2,
    /// Signed 8-bit integer.
    I8,
    /// Signed 16-bit integer.
    I16,
    /// Truth value: a byte that is 0 or 1.
    Bool,
}

impl DType {
    /// Every element type, in the order of the enum.
    pub const ALL: [DType; 15] = [
        DType::F32,
        DType::F64,
        DType::F16,
        DType::Bf16,
        DType::U8,
        DType::U16,
        DType::I32,
        DType::U32,
        DType::I64,
        DType::U64,
        DType::F8E4m3,
        DType::F8E5m2,
        DType::I8,
        DType::I16,
        DType::Bool,
    ];

    /// Bytes per element.
    pub const fn size(self) -> usize {
        match self {
            DType::U8 | DType::I8 | DType::Bool | DType::F8E4m3 | DType::F8E5m2 => 1,
            DType::F16 | DType::Bf16 | DType::U16 | DType::I16 => 2,
            DType::F32 | DType::I32 | DType::U32 => 4,
            DType::F64 | DType::I64 | DType::U64 => 8,
        }
    }

    /// Whether values are real numbers rather than integers.
    pub const fn is_float(self) -> bool {
        matches!(self, DType::F32 | DType::F64) || self.is_short_float()
    }

    /// Whether values are real numbers of 8 or 16 bits, which tiles compute with as `f32`.
    pub const fn is_short_float(self) -> bool {
        matches!(self, DType::F16 | DType::Bf16 | DType::F8E4m3 | DType::F8E5m2)
    }

    /// The least and the largest value of an integer type, truth values as 0 and 1; none for real numbers.
    pub const fn bounds(self) -> Option<(i128, i128)> {
        Some(match self {
            DType::I8 => (i8::MIN as i128, i8::MAX as i128),
            DType::I16 => (i16::MIN as i128, i16::MAX as i128),
            DType::I32 => (i32::MIN as i128, i32::MAX as i128),
            DType::I64 => (i64::MIN as i128, i64::MAX as i128),
            DType::U8 => (0, u8::MAX as i128),
            DType::U16 => (0, u16::MAX as i128),
            DType::U32 => (0, u32::MAX as i128),
            DType::U64 => (0, u64::MAX as i128),
            DType::Bool => (0, 1),
            DType::F32 | DType::F64 | DType::F16 | DType::Bf16 | DType::F8E4m3 | DType::F8E5m2 => {
                return None;
            }
        })
    }

    /// Its number in bytecode: its place in [`DType::ALL`].
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The type with this number.
    pub const fn from_code(code: u8) -> Option<DType> {
        Some(match code {
            0 => DType::F32,
            1 => DType::F64,
            2 => DType::F16,
            3 => DType::Bf16,
            4 => DType::U8,
            5 => DType::U16,
            6 => DType::I32,
            7 => DType::U32,
            8 => DType::I64,
            9 => DType::U64,
            10 => DType::F8E4m3,
            11 => DType::F8E5m2,
            12 => DType::I8,
            13 => DType::I16,
            14 => DType::Bool,
            _ => return None,
        })
    }

    /// The short name used in text: `f16`, `bf16`, `u32`, ….
    pub const fn name(self) -> &'static str {
        match self {
            DType::F32 => "f32",
            DType::F64 => "f64",
            DType::F16 => "f16",
            DType::Bf16 => "bf16",
            DType::U8 => "u8",
            DType::U16 => "u16",
            DType::I32 => "i32",
            DType::U32 => "u32",
            DType::I64 => "i64",
            DType::U64 => "u64",
            DType::F8E4m3 => "f8e4m3",
            DType::F8E5m2 => "f8e5m2",
            DType::I8 => "i8",
            DType::I16 => "i16",
            DType::Bool => "bool",
        }
    }

    /// The type with this short name.
    pub fn from_name(name: &str) -> Option<DType> {
        DType::ALL.into_iter().find(|t| t.name() == name)
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
