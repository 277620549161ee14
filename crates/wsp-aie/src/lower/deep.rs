//! How many objects fifos have at their ends.

use super::flow::Stream;
use wsp_ordered::OrderedMap;

/// Up to so many objects a fifo is made deeper by one at a time, above by a half.
const SINGLY: u32 = 8;

/// The objects of fifos that a design declares at each end, by stream: those with which it would hang if they had as many as upstream's lowering gives them.
#[derive(Clone, Default)]
pub(super) struct Deep(OrderedMap<usize, u32>);

impl Deep {
    /// What a design declares of a stream: a number, or depths for each end.
    pub(super) fn depths(&self, at: usize, stream: &Stream) -> Vec<u32> {
        match self.0.get(&at) {
            Some(objects) => vec![*objects; stream.to.len() + 1],
            None => vec![stream.depth],
        }
    }

    /// Objects in memory at one end.
    pub(super) fn room(&self, at: usize, stream: &Stream) -> u32 {
        self.0.get(&at).copied().unwrap_or(stream.depth)
    }

    /// Gives a stream more objects, where more pass in a launch.
    pub(super) fn grow(&mut self, at: usize, stream: &Stream) -> bool {
        // Of one object of which one is held, the lowering makes one.
        let lowered = if (stream.depth, stream.held) == (1, 1) { 1 } else { stream.held + 1 };
        let now = self.0.get(&at).copied().unwrap_or(lowered);
        let more = if now < SINGLY { now + 1 } else { now + now / 2 };
        let grows = now < stream.most;
        if grows {
            self.0.insert(at, more.min(stream.most));
        }
        grows
    }
}
