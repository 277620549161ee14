//! Maps and sets in the order of their keys, as sorted entries in chunks.
//!
//! [`OrderedMap`] and [`OrderedSet`] have the interface of the standard library's `BTreeMap` and `BTreeSet`, but for what is
//! not used here. Their code is smaller: as B-trees the maps of `wsp` made it 1.1 MB larger.
//!
//! Entries lie sorted in chunks of at most 128, the chunks in a list: a look-up is two binary searches, a change moves the
//! entries of one chunk, and, once in 64 changes at most, the list of chunks. `n` insertions in any order take
//! `O(n log n + n² / 8192)` steps; in ascending order they only append. The structure is that of Python's
//! [Sorted Containers](https://grantjenks.com/docs/sortedcontainers/implementation.html).
//!
//! [`Arrange`] sorts slices with less code than `slice::sort`.
//!
//! ```
//! use wsp_ordered::OrderedMap;
//! let mut starts = OrderedMap::new();
//! starts.insert(7, "seven");
//! *starts.entry(3).or_default() = "three";
//! assert_eq!(starts.range(..5).next(), Some((&3, &"three")));
//! ```
#![forbid(unsafe_code)]

mod entry;
mod iter;
mod map;
mod set;
mod sort;

pub use entry::{Entry, OccupiedEntry, VacantEntry};
pub use iter::{IntoIter, IntoKeys, IntoValues, Iter, IterMut, Keys, SetIntoIter, Values, ValuesMut};
pub use map::OrderedMap;
pub use set::OrderedSet;
pub use sort::Arrange;
