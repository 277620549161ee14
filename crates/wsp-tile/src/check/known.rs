//! What is known when a round of a loop begins, from one walk over it to the next.
//!
//! Further rounds of a loop around leave less known at every step, and so do synchronisations that are taken away. So a walk may begin a loop with
//! what the one before it came to: it comes to the same in fewer rounds.

use super::added::BlockId;
use super::bits::Rows;
use wsp_ordered::OrderedMap;

/// The body of a loop, and whether loops with two addresses around it are in odd rounds.
pub(crate) type Key = (BlockId, u64);

/// By loop and the rounds of those around it, what is known when a round begins; an even one where it has two addresses.
#[derive(Clone, Default, Debug)]
pub(crate) struct Known(OrderedMap<Key, Rows>);

impl Known {
    pub(crate) fn get(&self, key: Key) -> Option<&Rows> {
        self.0.get(&key)
    }

    /// In the memory of what was known before.
    pub(crate) fn put(&mut self, key: Key, rows: &Rows) {
        match self.0.get_mut(&key) {
            Some(known) => known.clone_from(rows),
            None => {
                self.0.insert(key, rows.clone());
            }
        }
    }
}
