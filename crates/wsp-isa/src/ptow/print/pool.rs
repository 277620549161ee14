//! The pool of expressions as text: where its order follows from the uses, it needs none of its own.

use std::collections::HashMap;
use wsp_core::ptow::{Operand, Word, X_LAST, XOp};

/// A row of words of the pool.
#[derive(Clone, Debug)]
pub(super) struct Item<'p> {
    /// Where it begins.
    pub(super) start: u32,
    pub(super) words: &'p [Word],
    /// An expression whose words are all known; else one word.
    pub(super) known: bool,
    /// Where the first equal one begins.
    first: u32,
    used: bool,
}

/// How the order of the pool is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Order {
    /// By the first use of each expression.
    OfUse,
    /// By a list.
    Listed,
}

/// The pool of a program while its uses are printed.
#[derive(Clone, Debug)]
pub(super) struct Pool<'p> {
    pub(super) items: Vec<Item<'p>>,
    pub(super) order: Order,
    /// Where the next expression would begin if the uses so far were all.
    next: u32,
    /// [`Order::OfUse`] does not tell this pool.
    broken: bool,
}

impl<'p> Pool<'p> {
    /// The expressions of a pool, one behind the other.
    pub(super) fn new(exprs: &'p [Word], order: Order) -> Pool<'p> {
        let mut items: Vec<Item<'p>> = Vec::new();
        let mut firsts: HashMap<&[Word], u32> = HashMap::new();
        let mut start = 0;
        while let Some(rest) = exprs.get(start..).filter(|rest| !rest.is_empty()) {
            let end = rest.iter().position(|w| !inner(w)).map_or(rest.len(), |end| end + 1);
            let known = rest.get(end - 1).is_some_and(last);
            let words = rest.get(..if known { end } else { 1 }).unwrap_or(rest);
            let at = start as u32;
            let first = if known { *firsts.entry(words).or_insert(at) } else { at };
            items.push(Item { start: at, words, known, first, used: false });
            start += words.len();
        }
        Pool { items, order, next: 0, broken: false }
    }

    /// The expression that begins at a word, when naming its words leads back to it.
    pub(super) fn use_of(&mut self, at: u32) -> Option<usize> {
        let index = self.items.binary_search_by_key(&at, |item| item.start).ok();
        let found = index.filter(|&i| self.items.get(i).is_some_and(|item| item.known && item.first == at));
        let item = found.and_then(|i| self.items.get_mut(i));
        match item {
            Some(item) if self.order == Order::OfUse && !item.used => {
                item.used = true;
                self.broken |= self.next != at;
                self.next = at.saturating_add(item.words.len() as u32);
            }
            Some(_) => {}
            None => self.broken = true,
        }
        found
    }

    /// Whether the uses tell the pool.
    pub(super) fn is_told(&self) -> bool {
        let words: usize = self.items.iter().map(|item| item.words.len()).sum();
        self.order == Order::Listed || (!self.broken && self.next as usize == words)
    }

    /// The uses do not tell it.
    pub(super) fn give_up(&mut self) {
        self.broken = true;
    }
}

/// Whether a word is plain: a known operation with nothing in unused places.
fn plain(word: &Word) -> bool {
    XOp::from_code(word.opcode)
        .is_some_and(|op| word.operand1 == 0 && (op.info().operand != Operand::None || word.operand2 == 0))
}

/// A plain word that does not end its expression.
fn inner(word: &Word) -> bool {
    plain(word) && word.flags == 0
}

/// A plain word that ends its expression.
fn last(word: &Word) -> bool {
    plain(word) && word.flags == X_LAST
}
