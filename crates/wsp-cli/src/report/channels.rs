//! What went through channels of pipelines, as lines and JSON.

use super::lines::Lines;
use super::units::span;
use serde_json::{Value, json};
use wsp_core::words::counted;
use wsp_runtime::clock::Clock;
use wsp_runtime::timeline::Channel;

/// Channels that are shown.
const MOST: usize = 16;

/// Channels of a run, with what its times are counted in.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Channels(pub Clock, pub Vec<Channel>);

impl Channels {
    /// Adds a line for each of the first ones.
    pub(super) fn add_to(&self, lines: &mut Lines) {
        for (at, channel) in self.1.iter().take(MOST).enumerate() {
            lines.add(if at == 0 { "channels" } else { "" }, &self.line(channel));
        }
        if self.1.len() > MOST {
            lines.add("", &format!("and {} more; JSON has all", counted(self.1.len() - MOST, "channel")));
        }
    }

    fn line(&self, channel: &Channel) -> String {
        let Channel { name, ends: [from, to], figures: of, .. } = channel;
        let waits = |end: &str, waited, does| match end {
            "" => format!("no process {does}"),
            end => format!("{end} waited {}", span(self.0, waited)),
        };
        let tokens = counted(of.tokens, "token");
        format!(
            "{name} {tokens}, fullest {} of {}, {}, {}",
            of.fullest,
            of.depth,
            waits(from, of.sender_waited, "sends"),
            waits(to, of.receiver_waited, "consumes")
        )
    }

    /// For machines; times are in the unit of the clock.
    pub(super) fn json(&self) -> Value {
        let one = |channel: &Channel| {
            let Channel { name, ends: [sender, receiver], figures: of, .. } = channel;
            json!({
                "name": name, "sender": sender, "receiver": receiver, "depth": of.depth, "tokens": of.tokens,
                "fullest": of.fullest, "sender_waited": of.sender_waited, "receiver_waited": of.receiver_waited,
                "unit": self.0.word(),
            })
        };
        self.1.iter().map(one).collect()
    }
}
