//! What went through a channel of a pipeline in a run.

/// Figures of a channel over a run. Times are in the unit of the run's clock.
///
/// They are those of processes that do one thing after the other, at the times at which tasks ended: a process goes on from a task when
/// that is complete, from the begin of a send when a slot is free, and from the begin of a consume when the token is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ChannelFigures {
    /// Its depth.
    pub depth: u32,
    /// Tokens that were sent.
    pub tokens: u64,
    /// Most slots that were in use at a time. A slot is in use from when its sender goes on from the begin of the send until all tasks of the
    /// block that consumes the token are complete.
    pub fullest: u64,
    /// How long its sender waited: for free slots, and with depth 0 until its tokens were taken.
    pub sender_waited: u64,
    /// How long its receiver waited for its tokens.
    pub receiver_waited: u64,
}
