//! Channels and pipelines.

use super::block::WorkloadBuilder;
use super::expr::Expr;
use super::handle::Index;
use super::origin::{Origin, Owner};
use crate::workload::{self as model, Arm, Block, NodeKind, Process};
use wsp_core::{ChannelId, VarId};
use wsp_diag::Span;

/// A channel of a workload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Channel {
    id: ChannelId,
    owner: Owner,
}

impl WorkloadBuilder<'_> {
    /// `channel name[depth];`: it holds at most `depth` tokens. With a depth of 0 a send goes on when its token is taken.
    pub fn channel(&mut self, name: &str, depth: impl Into<Expr>) -> Channel {
        let depth = self.module.accept(depth.into(), None, &format!("channel `{name}`"));
        let id = ChannelId(self.workload.channels.len() as u32);
        self.workload.channels.push(model::Channel::new(name.to_owned(), depth, Span::default()));
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
        self.receive(false, |arms| {
            arms.consume(channel, name, body);
        });
    }

    /// `consume all c as s { }`: takes tokens until the channel is closed and empty.
    pub fn consume_all(
        &mut self,
        channel: Channel,
        name: &str,
        body: impl FnOnce(&mut WorkloadBuilder<'_>, Index),
    ) {
        self.receive(true, |arms| {
            arms.consume(channel, name, body);
        });
    }

    /// `select { consume … }`: waits until one of the channels has a token, and takes that of the first such arm.
    pub fn select_channel(&mut self, arms: impl FnOnce(&mut Arms<'_, '_>)) {
        self.receive(false, arms);
    }

    /// `select all { consume … }`: the same again and again, until every channel is closed and empty.
    pub fn select_all(&mut self, arms: impl FnOnce(&mut Arms<'_, '_>)) {
        self.receive(true, arms);
    }

    /// `close c;`: no token is sent any more.
    pub fn close(&mut self, channel: Channel) {
        self.check(Origin::of_scope(channel.owner));
        self.push(NodeKind::Close { channel: channel.id });
    }

    fn receive(&mut self, all: bool, arms: impl FnOnce(&mut Arms<'_, '_>)) {
        let mut list = Arms { of: self, arms: Vec::new() };
        arms(&mut list);
        let arms = list.arms;
        self.push(NodeKind::Consume { arms, all });
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

/// The arms of a selection over channels.
pub struct Arms<'b, 'm> {
    of: &'b mut WorkloadBuilder<'m>,
    arms: Vec<Arm>,
}

impl Arms<'_, '_> {
    /// Adds `consume c as s { }`; arms that come first win.
    pub fn consume(
        &mut self,
        channel: Channel,
        name: &str,
        body: impl FnOnce(&mut WorkloadBuilder<'_>, Index),
    ) -> &mut Self {
        let (var, body) = self.of.transfer(channel, name, body);
        self.arms.push(Arm { channel: channel.id, var, body, span: Span::default() });
        self
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
