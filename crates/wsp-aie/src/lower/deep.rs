//! How many objects fifos have at their ends.

use super::flow::Stream;
use crate::device::LOCK_MAX;
use wsp_ordered::OrderedMap;

/// Objects that the lock of a fifo counts.
const COUNTED: u32 = LOCK_MAX as u32;

/// The objects of fifos that a design declares at each end, by stream: those with which it would hang if they had as many as upstream's lowering gives them, or would not fit.
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

    /// Objects in memory at the end that has most.
    pub(super) fn room(&self, at: usize, stream: &Stream) -> u32 {
        self.0.get(&at).copied().unwrap_or_else(|| lowered(stream))
    }

    /// Gives streams only the objects that a core holds; whether lowering would give one of them more.
    pub(super) fn hold(&mut self, streams: &[Stream]) -> bool {
        let more = streams.iter().enumerate().filter(|(_, of)| lowered(of) > of.held);
        self.0 = more.map(|(at, of)| (at, of.held)).collect();
        !self.0.is_empty()
    }

    /// Whether a stream has other objects than lowering would give it.
    pub(super) fn is_given(&self) -> bool {
        !self.0.is_empty()
    }

    /// Gives a stream an object more, where more pass in a launch and the lock of a fifo counts them.
    pub(super) fn grow(&mut self, at: usize, stream: &Stream) -> bool {
        let now = self.room(at, stream);
        let grows = now < stream.most.min(COUNTED);
        if grows {
            self.0.insert(at, now + 1);
        }
        grows
    }
}

/// Objects that upstream's lowering makes at an end: of one object of which one is held, one.
fn lowered(stream: &Stream) -> u32 {
    if (stream.depth, stream.held) == (1, 1) { 1 } else { stream.held + 1 }
}
