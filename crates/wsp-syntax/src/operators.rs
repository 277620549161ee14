//! Operators between operands. All languages have C's precedence, each some of its operators.

use crate::Tok;
use wsp_core::int::BinOp;

/// How strongly `? :` binds.
pub const TERNARY: u8 = 1;
/// How strongly operators before an operand bind: more than all between two.
pub const PREFIX: u8 = 12;

macro_rules! operators {
    ($($sign:ident $op:ident $power:literal,)*) => {
        /// The operator that a sign is between two operands, and how strongly it binds.
        pub const fn binary(sign: Tok) -> Option<(BinOp, u8)> {
            Some(match sign {
                $(Tok::$sign => (BinOp::$op, $power),)*
                _ => return None,
            })
        }
    };
}

operators! {
    PipePipe Or 2, AmpAmp And 3, Pipe BitOr 4, Caret BitXor 5, Amp BitAnd 6, EqEq Eq 7, Ne Ne 7, Lt Lt 8, Le Le 8, Gt Gt 8, Ge Ge 8,
    Shl Shl 9, Shr Shr 9, Plus Add 10, Minus Sub 10, Star Mul 11, Slash Div 11, Percent Rem 11,
}

/// A grammar with expressions.
pub trait Operators {
    /// What an expression becomes.
    type Tree;
    /// Why reading stops.
    type Stop;

    /// The next token, which may be an operator; [`Tok::Eof`] where the expression cannot go on.
    fn sign(&self) -> Tok;

    /// Reads an operand with the operators before and behind it.
    ///
    /// # Errors
    /// What was read is no operand.
    fn operand(&mut self) -> Result<Self::Tree, Self::Stop>;

    /// Reads the operator that is next and its right side, which [`infix`] reads from one above `power` on.
    ///
    /// # Errors
    /// What was read is no right side.
    fn binary(&mut self, left: Self::Tree, op: BinOp, power: u8) -> Result<Self::Tree, Self::Stop>;

    /// Reads `? … : …`.
    ///
    /// # Errors
    /// What was read is none.
    fn choose(&mut self, condition: Self::Tree) -> Result<Self::Tree, Self::Stop>;
}

/// Reads operands with operators between them that bind at least as strongly as `least`.
///
/// # Errors
/// What is no expression.
#[inline]
pub fn infix<G: Operators>(grammar: &mut G, least: u8) -> Result<G::Tree, G::Stop> {
    let mut left = grammar.operand()?;
    loop {
        let sign = grammar.sign();
        left = match binary(sign) {
            Some((op, power)) if power >= least => grammar.binary(left, op, power)?,
            None if sign == Tok::Question && TERNARY >= least => grammar.choose(left)?,
            _ => return Ok(left),
        };
    }
}
