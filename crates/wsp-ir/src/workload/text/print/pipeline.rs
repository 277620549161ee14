//! Channels and pipelines.

use super::Printer;
use crate::workload::{Block, Process, Workload};
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

    /// `send c as s { … }` or `consume c as s { … }`.
    pub(super) fn transfer(&mut self, word: &str, channel: ChannelId, var: VarId, body: &Block) {
        let name = self.channels.get(channel.index()).cloned();
        let name = name.unwrap_or_else(|| format!("?{}", channel.0));
        let head = format!("{word} {name} as {}", self.names.var(var));
        self.text(&head);
        self.block(body);
    }
}
