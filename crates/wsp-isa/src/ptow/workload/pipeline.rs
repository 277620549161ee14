//! Processes and their channels.

use super::body::{Found, Scope};
use super::{Lifted, Lifting, refused};
use wsp_core::ptow::{Op, Word};
use wsp_core::{ChannelId, VarId};
use wsp_diag::Span;
use wsp_ir::workload::{Arm, Block, Channel, IntExpr, NodeKind, Process};
use wsp_ordered::OrderedMap;

/// Channels of a workload.
#[derive(Default)]
pub(super) struct Channels {
    pub(super) declared: Vec<Channel>,
    /// Depths that stand before a `PROCESS`, by number.
    depths: OrderedMap<u16, IntExpr>,
    /// The channels of the processes around, by number.
    open: OrderedMap<u16, ChannelId>,
}

impl<'p> Lifting<'p> {
    /// Notes the depth of a channel, which is declared with the processes that come behind.
    pub(super) fn depth(&self, found: &Found<'p>, scope: &mut Scope) -> Lifted<()> {
        let depth = self.expr(found.word.operand2, None)?;
        scope.channels.depths.insert(found.word.operand1, depth);
        Ok(())
    }

    /// A pipeline. Its channels are its own, as they are empty when it begins.
    pub(super) fn pipeline(&mut self, found: &Found<'p>, scope: &mut Scope) -> Lifted<NodeKind> {
        let channels = &mut scope.channels;
        channels.open.clear();
        for (number, depth) in std::mem::take(&mut channels.depths) {
            channels.open.insert(number, ChannelId(channels.declared.len() as u32));
            let name = format!("c{}", channels.declared.len());
            channels.declared.push(Channel::new(name, depth, Span::default()));
        }
        let mut processes = Vec::new();
        for (at, body) in found.bodies().into_iter().enumerate() {
            let body = self.block(body, scope)?;
            processes.push(Process { name: format!("p{at}"), body, span: Span::default() });
        }
        scope.channels.open.clear();
        Ok(NodeKind::Pipeline { processes })
    }

    /// A send, a consume, a selection or a close.
    pub(super) fn transfer(&mut self, found: &Found<'p>, scope: &mut Scope) -> Lifted<NodeKind> {
        let op = found.info.op;
        if op == Op::Close {
            return Ok(NodeKind::Close { channel: channel(found, found.word.operand1, scope)? });
        }
        if op == Op::Send {
            let Arm { channel, var, body, .. } = self.arm(found, found.word, scope)?;
            return Ok(NodeKind::Send { channel, var, body });
        }
        let words: &[Word] = if op == Op::Recv { std::slice::from_ref(found.word) } else { found.exts };
        let mut arms = Vec::new();
        for word in words {
            arms.push(self.arm(found, word, scope)?);
        }
        Ok(NodeKind::Consume { arms, all: op == Op::SelectAll })
    }

    fn arm(&mut self, found: &Found<'p>, word: &Word, scope: &mut Scope) -> Lifted<Arm> {
        let channel = channel(found, word.operand1, scope)?;
        let (var, _, body): (VarId, _, Block) = self.with_variable(word.operand2, false, scope)?;
        Ok(Arm { channel, var, body, span: Span::default() })
    }
}

fn channel(found: &Found<'_>, number: u16, scope: &Scope) -> Lifted<ChannelId> {
    match scope.channels.open.get(&number) {
        Some(channel) => Ok(*channel),
        None => {
            refused(found.at, format!("channel {number}, whose depth does not stand before the processes"))
        }
    }
}
