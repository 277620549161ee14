//! What looks at processes while they take turns.

use std::ops::Range;

/// What a process does with a channel, which is named by its place in the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// A send begins.
    Send(u32),
    /// So many tokens are there: no send is under way any more.
    Sent(u32, u64),
    /// The sender of the only token goes on, as that is taken.
    Taken(u32),
    /// A token is taken.
    Consume(u32),
    /// So many slots are free: no consume is under way any more.
    Consumed(u32, u64),
    /// The channel is closed.
    Close(u32),
    /// A consume of all tokens ends, as its channel, which may be one of several, is closed and has none.
    Ended(u32),
}

/// What looks at the pipeline under way. Ordinals are those of the task to come.
pub(super) trait Observer {
    /// A pipeline with these processes and channels begins with its first process.
    fn enter(&mut self, ordinal: u64, processes: Range<u32>, channels: Range<u32>);

    /// It ends: what is left in channels goes.
    fn leave(&mut self, ordinal: u64, processes: Range<u32>, channels: Range<u32>);

    /// Another process goes on.
    fn turn(&mut self, ordinal: u64, process: u32);

    /// The process that runs does something.
    fn step(&mut self, ordinal: u64, step: Step);
}
