//! Channels and pipelines.

use super::Printer;
use crate::workload::{Arm, Block, Process, Workload};
use wsp_core::{ChannelId, VarId};

impl Printer<'_> {
    /// The channels of a workload, then its statements.
    pub(super) fn workload_body(&mut self, workload: &Workload) {
        if workload.channels.is_empty() {
            return self.block(&workload.body);
        }
        self.text(" {\n");
        self.level += 1;
        for channel in &workload.channels {
            self.indent();
            self.text(&format!("channel {}[", channel.name));
            self.expr(&channel.depth);
            self.text("];\n");
        }
        self.statements(&workload.body);
        self.level -= 1;
        self.indent();
        self.text("}");
    }

    pub(super) fn pipeline(&mut self, processes: &[Process]) {
        if processes.is_empty() {
            return self.text("pipeline {}");
        }
        self.text("pipeline {\n");
        self.level += 1;
        for process in processes {
            self.indent();
            self.text(&format!("process {}", process.name));
            self.block(&process.body);
            self.text("\n");
        }
        self.level -= 1;
        self.indent();
        self.text("}");
    }

    /// `consume c as s { … }`, or several in a `select`.
    pub(super) fn consume(&mut self, arms: &[Arm], all: bool) {
        let repeats = if all { " all" } else { "" };
        if let [arm] = arms {
            return self.transfer(&format!("consume{repeats}"), arm.channel, arm.var, &arm.body);
        }
        self.text(&format!("select{repeats} {{\n"));
        self.level += 1;
        for arm in arms {
            self.indent();
            self.transfer("consume", arm.channel, arm.var, &arm.body);
            self.text("\n");
        }
        self.level -= 1;
        self.indent();
        self.text("}");
    }

    pub(super) fn channel(&self, channel: ChannelId) -> String {
        self.channels.get(channel.index()).cloned().unwrap_or_else(|| format!("?{}", channel.0))
    }

    /// `send c as s { … }` or `consume c as s { … }`.
    pub(super) fn transfer(&mut self, word: &str, channel: ChannelId, var: VarId, body: &Block) {
        let name = self.channel(channel);
        let head = format!("{word} {name} as {}", self.names.var(var));
        self.text(&head);
        self.block(body);
    }
}
