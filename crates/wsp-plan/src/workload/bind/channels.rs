//! Depths of channels.

use super::super::codes;
use super::Binder;
use wsp_diag::Diagnostic;
use wsp_ir::workload::Channel;

impl Binder<'_> {
    /// The depth of every channel, by workload; 1 in place of one that is at fault.
    pub(super) fn channel_depths(&mut self) -> Vec<Vec<u32>> {
        let module = self.module;
        let of = |channels: &[Channel], binder: &mut Self| {
            channels.iter().map(|channel| binder.channel_depth(channel)).collect()
        };
        module.workloads.iter().map(|workload| of(&workload.channels, self)).collect()
    }

    fn channel_depth(&mut self, channel: &Channel) -> u32 {
        let Some(value) = self.value(&channel.depth) else { return 1 };
        u32::try_from(value).ok().unwrap_or_else(|| {
            let message = format!("channel `{}` has a depth of {value}", channel.shown());
            self.found.push(
                Diagnostic::error(codes::CHANNEL_DEPTH, message)
                    .at(channel.depth.span, format!("depths are 0 to {}", u32::MAX))
                    .label(channel.span, "the channel"),
            );
            1
        })
    }
}
