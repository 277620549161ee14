//! What runs of one program leave to the next of them.

use crate::infer::{RegionMap, SlotTask};
use std::fmt;

/// Bytes of a map that is kept: regions of some 10⁵ tasks. What is larger is made anew, so that programs that wait hold little.
const MOST_BYTES: usize = 16 << 20;

/// The regions of a program's tasks, as its last run has found them: [`run_again`](crate::run_again) finds them where they are, and neither makes nor
/// compares them once more. It knows no tasks, so that it can be given to any run; of another program it is of little use.
#[derive(Default)]
pub struct KnownRegions(Option<Box<RegionMap<SlotTask>>>);

impl KnownRegions {
    /// The map that a run left, if it left one.
    pub(super) fn take(&mut self) -> Option<Box<RegionMap<SlotTask>>> {
        self.0.take()
    }

    /// Keeps what a run leaves.
    pub(super) fn keep(&mut self, map: Option<Box<RegionMap<SlotTask>>>) {
        self.0 = map.filter(|map| map.bytes() <= MOST_BYTES);
    }
}

impl fmt::Debug for KnownRegions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KnownRegions").field("bytes", &self.0.as_ref().map(|map| map.bytes())).finish()
    }
}
