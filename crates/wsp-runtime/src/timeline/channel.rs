//! Channels of pipelines.

use wsp_core::ChannelFigures;

/// What went through a channel of a pipeline.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Channel {
    /// What it is called.
    pub name: String,
    /// The process that sends and the one that receives; empty where there is none.
    pub ends: [String; 2],
    /// Its figures, in the unit of the clock.
    pub figures: ChannelFigures,
    /// The moments at which the number of its slots that are in use changed, ascending, with what it was from then on.
    pub levels: Vec<(u64, u64)>,
}
