//! How many objects fifos have at their ends.

use super::flow::{End, Stream};

/// How deep fifos are to be that need it, 0 where none is known to; and whether those that the host fills for several cores are.
#[derive(Clone, Copy, Default)]
pub(super) struct Deep {
    pub(super) objects: u32,
    pub(super) of_host: bool,
}

impl Stream {
    /// The most objects that a deeper fifo has use for; 0 of one that does not become deeper.
    pub(super) fn most(&self, of_host: bool) -> u32 {
        match (self.from == End::Host, self.to.contains(&End::Host)) {
            (false, false) => self.flying,
            // A core may need a box of it long before another one does.
            (true, false) if of_host && self.to.len() > 1 => self.boxes.len() as u32,
            _ => 0,
        }
    }

    /// What a design declares: a number, or depths for each end, where fifos are to be so deep and more objects than that number gives have use.
    pub(super) fn depths(&self, deep: Deep) -> Vec<u32> {
        let objects = deep.objects.min(self.most(deep.of_host));
        match objects > self.held + 1 {
            true => vec![objects; self.to.len() + 1],
            false => vec![self.depth],
        }
    }

    /// Objects in memory at one end.
    pub(super) fn room(&self, deep: Deep) -> u32 {
        self.depths(deep)[0]
    }
}
