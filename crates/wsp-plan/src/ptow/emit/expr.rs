//! Expressions: postfix words, and the pool that holds each once.

use wsp_core::ptow::{Word, X_LAST, XOp};
use wsp_diag::Span;
use wsp_ordered::OrderedMap;

/// An expression that is being written, with the height of the stack.
#[derive(Debug, Default)]
pub(in crate::ptow) struct Postfix {
    words: Vec<(XOp, u32)>,
    /// The place in the source of each word.
    spans: Vec<Span>,
    height: usize,
    highest: usize,
}

/// A skip whose length is not known yet.
#[derive(Debug)]
pub(in crate::ptow) struct Skip {
    at: usize,
    height: usize,
}

impl Postfix {
    /// Appends a word that stands for a place in the source.
    pub(in crate::ptow) fn push(&mut self, op: XOp, operand: u32, span: Span) {
        let info = op.info();
        self.words.push((op, operand));
        self.spans.push(span);
        self.height = self.height - usize::from(info.pops) + usize::from(info.pushes);
        self.highest = self.highest.max(self.height);
    }

    /// Appends an integer: one word where 32 bits hold it, else two.
    pub(in crate::ptow) fn constant(&mut self, value: i64, span: Span) {
        let low = value as i32;
        self.push(XOp::XConst, low as u32, span);
        if i64::from(low) != value {
            self.push(XOp::XHigh, (value >> 32) as u32, span);
        }
    }

    /// Appends a skip that [`Self::land`] gives its length.
    pub(in crate::ptow) fn skip(&mut self, op: XOp, span: Span) -> Skip {
        self.push(op, 0, span);
        Skip { at: self.words.len() - 1, height: self.height }
    }

    /// Lets a skip lead here, where what was skipped has put one value on the stack.
    pub(in crate::ptow) fn land(&mut self, skip: &Skip) {
        self.words[skip.at].1 = (self.words.len() - skip.at - 1) as u32;
    }

    /// Lets a skip lead here, where the other way begins: the stack is as it was at the skip.
    pub(in crate::ptow) fn other_way(&mut self, skip: &Skip) {
        self.land(skip);
        self.height = skip.height;
    }

    /// Entries of the stack that it needs.
    pub(in crate::ptow) fn highest(&self) -> usize {
        self.highest
    }

    /// Words so far.
    pub(in crate::ptow) fn len(&self) -> usize {
        self.words.len()
    }

    /// The place in the source of each word.
    pub(in crate::ptow) fn spans(&self) -> &[Span] {
        &self.spans
    }
}

/// Every expression of a program, equal ones once.
#[derive(Debug, Default)]
pub(in crate::ptow) struct ExprPool {
    words: Vec<Word>,
    known: OrderedMap<Vec<(u8, u32)>, u32>,
}

impl ExprPool {
    /// The first word of an expression.
    pub(in crate::ptow) fn intern(&mut self, expr: &Postfix) -> u32 {
        let key: Vec<(u8, u32)> = expr.words.iter().map(|(op, operand)| (op.code(), *operand)).collect();
        let first = self.words.len() as u32;
        let count = key.len();
        let words = key.iter().enumerate().map(|(at, (opcode, operand))| Word {
            opcode: *opcode,
            flags: if at + 1 == count { X_LAST } else { 0 },
            operand1: 0,
            operand2: *operand,
        });
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        self.words.extend(words);
        self.known.insert(key, first);
        first
    }

    /// Its words.
    pub(in crate::ptow) fn into_words(self) -> Vec<Word> {
        self.words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn constant(value: i64) -> Postfix {
        let mut expr = Postfix::default();
        expr.constant(value, Span::default());
        expr
    }

    #[test]
    fn equal_expressions_are_one() {
        let mut pool = ExprPool::default();
        let (first, other) = (pool.intern(&constant(7)), pool.intern(&constant(8)));
        assert_eq!(pool.intern(&constant(7)), first);
        assert_ne!(first, other);
        assert_eq!(pool.into_words().len(), 2);
    }

    #[test]
    fn integers_beyond_32_bits_have_an_upper_half() {
        for value in
            [0, -1, i64::from(i32::MAX), i64::from(i32::MIN), 1 << 31, -(1 << 40), i64::MIN, i64::MAX]
        {
            let words = ExprPool::default().intern_words(&constant(value));
            let mut seen = i64::from(words[0].operand2 as i32);
            if let [_, high] = words[..] {
                seen = (seen & 0xFFFF_FFFF) | i64::from(high.operand2) << 32;
            }
            assert_eq!(seen, value);
            assert_eq!(words.len(), 1 + usize::from(i32::try_from(value).is_err()));
        }
    }

    #[test]
    fn two_ways_have_one_height() {
        let (mut expr, span) = (Postfix::default(), Span::default());
        expr.push(XOp::XVar, 0, span);
        let otherwise = expr.skip(XOp::XSkipZero, span);
        expr.constant(1, span);
        let end = expr.skip(XOp::XSkip, span);
        expr.other_way(&otherwise);
        expr.constant(2, span);
        expr.land(&end);
        assert_eq!((expr.highest(), expr.height), (1, 1));
        assert_eq!(expr.words[1], (XOp::XSkipZero, 2));
        assert_eq!(expr.words[3], (XOp::XSkip, 1));
    }

    impl ExprPool {
        fn intern_words(mut self, expr: &Postfix) -> Vec<Word> {
            self.intern(expr);
            self.words
        }
    }
}
