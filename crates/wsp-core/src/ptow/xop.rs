//! The table of expression words: postfix, 64-bit checked integers, 0 is false.

use super::Operand;

/// A row of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct XOpInfo {
    /// The operation.
    pub op: XOp,
    /// Its name in text.
    pub mnemonic: &'static str,
    /// What it does.
    pub meaning: &'static str,
    /// How many operands it takes from the stack.
    pub pops: u8,
    /// How many results it puts there.
    pub pushes: u8,
    /// Its 32-bit operand; the 16-bit one is 0.
    pub operand: Operand,
}

macro_rules! xops {
    ($($(#[doc = $doc:literal])* $name:ident $mnemonic:literal = $code:literal,
        $pops:literal -> $pushes:literal ($operand:ident);)*) => {
        /// An operation of an expression.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[repr(u8)]
        pub enum XOp {
            $($(#[doc = $doc])* $name = $code,)*
        }

        /// Every operation, by code.
        pub const XOPS: &[XOpInfo] = &[$(XOpInfo {
            op: XOp::$name,
            mnemonic: $mnemonic,
            meaning: concat!($($doc),*),
            pops: $pops,
            pushes: $pushes,
            operand: Operand::$operand,
        },)*];

        /// By code, so that a word is decoded without a search.
        const CODES: &[Option<XOp>; 256] = &{
            let mut codes = [None; 256];
            $(codes[$code as usize] = Some(XOp::$name);)*
            codes
        };

        impl XOp {
            /// The operation with this code.
            #[inline]
            pub const fn from_code(code: u8) -> Option<XOp> {
                CODES[code as usize]
            }
        }
    };
}

xops! {
    /// An integer.
    XConst "const" = 0x01, 0 -> 1 (Imm);
    /// Replaces the upper 32 bits of an integer.
    XHigh "high" = 0x02, 1 -> 1 (Count);
    /// A launch-time value.
    XValue "value" = 0x03, 0 -> 1 (Value);
    /// The variable of an enclosing loop.
    XVar "var" = 0x04, 0 -> 1 (Depth);
    /// The position, in the table of columns, of an enclosing SELECT's entry.
    XPos "pos" = 0x05, 0 -> 1 (Depth);
    /// The index of the innermost enclosing loop over an axis, 0 when there is none; in schedules only.
    XAxis "axis" = 0x06, 0 -> 1 (Axis);
    /// An element of a table; an index outside it is a fault.
    XTable "table" = 0x07, 1 -> 1 (Table);
    /// The number of elements of a table.
    XLen "len" = 0x08, 0 -> 1 (Table);
    /// The value of a slot once every earlier task that writes it is complete.
    XSlot "slot" = 0x09, 0 -> 1 (Slot);
    /// The negative.
    XNeg "neg" = 0x10, 1 -> 1 (None);
    /// 1 for 0, else 0.
    XNot "not" = 0x11, 1 -> 1 (None);
    /// The sum.
    XAdd "add" = 0x20, 2 -> 1 (None);
    /// The difference.
    XSub "sub" = 0x21, 2 -> 1 (None);
    /// The product.
    XMul "mul" = 0x22, 2 -> 1 (None);
    /// The quotient, towards zero; by 0 is a fault.
    XDiv "div" = 0x23, 2 -> 1 (None);
    /// The remainder, with the sign of the dividend; by 0 is a fault.
    XRem "rem" = 0x24, 2 -> 1 (None);
    /// The quotient, towards positive infinity; by 0 is a fault.
    XCeilDiv "ceildiv" = 0x25, 2 -> 1 (None);
    /// The smaller.
    XMin "min" = 0x26, 2 -> 1 (None);
    /// The larger.
    XMax "max" = 0x27, 2 -> 1 (None);
    /// 1 when equal.
    XEq "eq" = 0x28, 2 -> 1 (None);
    /// 1 when not equal.
    XNe "ne" = 0x29, 2 -> 1 (None);
    /// 1 when less.
    XLt "lt" = 0x2A, 2 -> 1 (None);
    /// 1 when less or equal.
    XLe "le" = 0x2B, 2 -> 1 (None);
    /// 1 when greater.
    XGt "gt" = 0x2C, 2 -> 1 (None);
    /// 1 when greater or equal.
    XGe "ge" = 0x2D, 2 -> 1 (None);
    /// Takes a value, and when it is 0 goes past so many words.
    XSkipZero "skipz" = 0x40, 1 -> 0 (Count);
    /// Goes past so many words.
    XSkip "skip" = 0x41, 0 -> 0 (Count);
}

/// Bit of `flags`: the last word of its expression. Skips may lead behind it, not further.
pub const X_LAST: u8 = 0x01;

impl XOp {
    /// Its code.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// Its row of the table.
    pub fn info(self) -> &'static XOpInfo {
        let mut found = &XOPS[0];
        for row in XOPS {
            if row.op.code() == self.code() {
                found = row;
            }
        }
        found
    }
}
