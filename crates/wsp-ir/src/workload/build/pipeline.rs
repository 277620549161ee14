//! Channels and pipelines.

use super::block::WorkloadBuilder;
use super::expr::Expr;
use super::handle::Index;
use super::origin::{Origin, Owner};
use crate::workload::{self as model, Block, NodeKind, Process};
use wsp_core::{ChannelId, VarId};
use wsp_diag::Span;

/// A channel of a workload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Channel {
    id: ChannelId,
    owner: Owner,
}

impl WorkloadBuilder<'_> {
    /// `channel name[depth];`: it holds at most `depth` tokens, at least 1.
    pub fn channel(&mut self, name: &str, depth: impl Into<Expr>) -> Channel {
        let depth = self.module.accept(depth.into(), None, &format!("channel `{name}`"));
        let id = ChannelId(self.workload.channels.len() as u32);
        self.workload.channels.push(model::Channel { name: name.to_owned(), depth, span: Span::default() });
        Channel { id, owner: self.owner }
    }

    /// `pipeline { process … }`: processes that take turns.
    ///
    /// ```
    /// use wsp_core::DType;
    /// use wsp_ir::workload::build::ModuleBuilder;
    ///
    /// let mut m = ModuleBuilder::new();
    /// let ring = m.tensor("ring", DType::F32, [2.into(), 64.into()]);
    /// let x = m.tensor("x", DType::F32, [8.into(), 64.into()]);
    /// let copy = m.kernel("copy").input("from").output("to").finish();
    /// m.workload("main", |w| {
    ///     let tiles = w.channel("tiles", 2);
    ///     w.pipeline(|p| {
    ///         p.process("load", |w| {
    ///             w.parallel_for("i", 0..8, |w, i| {
    ///                 w.send(tiles, "s", |w, s| {
    ///                     w.task(copy).arg(x.at(i)).arg(ring.at(s));
    ///                 });
    ///             });
    ///         });
    ///         p.process("store", |w| {
    ///             w.parallel_for("i", 0..8, |w, i| {
    ///                 w.consume(tiles, "s", |w, s| {
    ///                     w.task(copy).arg(ring.at(s)).arg(x.at(i));
    ///                 });
    ///             });
    ///         });
    ///     });
    /// });
    /// let module = m.finish().expect("the module keeps the rules");
    /// assert!(wsp_ir::workload::text::print(&module).contains("send tiles as s {"));
    /// ```
    pub fn pipeline(&mut self, processes: impl FnOnce(&mut Processes<'_, '_>)) {
        let mut list = Processes { of: self, processes: Vec::new() };
        processes(&mut list);
        let processes = list.processes;
        self.push(NodeKind::Pipeline { processes });
    }

    /// `send c as s { }`: waits until the channel has a free slot, which `body` is given.
    pub fn send(&mut self, channel: Channel, name: &str, body: impl FnOnce(&mut WorkloadBuilder<'_>, Index)) {
        let (var, body) = self.transfer(channel, name, body);
        self.push(NodeKind::Send { channel: channel.id, var, body });
    }

    /// `consume c as s { }`: waits for the next token, whose slot `body` is given.
    pub fn consume(
        &mut self,
        channel: Channel,
        name: &str,
        body: impl FnOnce(&mut WorkloadBuilder<'_>, Index),
    ) {
        let (var, body) = self.transfer(channel, name, body);
        self.push(NodeKind::Consume { channel: channel.id, var, body });
    }

    fn transfer(
        &mut self,
        channel: Channel,
        name: &str,
        body: impl FnOnce(&mut WorkloadBuilder<'_>, Index),
    ) -> (VarId, Block) {
        self.check(Origin::of_scope(channel.owner));
        let slot = self.var(name);
        (slot.id, self.inner(|w| body(w, slot)))
    }
}

/// The processes of a pipeline.
pub struct Processes<'b, 'm> {
    of: &'b mut WorkloadBuilder<'m>,
    processes: Vec<Process>,
}

impl Processes<'_, '_> {
    /// Adds a process.
    pub fn process(&mut self, name: &str, body: impl FnOnce(&mut WorkloadBuilder<'_>)) -> &mut Self {
        let body = self.of.inner(body);
        self.processes.push(Process { name: name.to_owned(), body, span: Span::default() });
        self
    }
}
