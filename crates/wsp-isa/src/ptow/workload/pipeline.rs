//! Processes and their channels.

use super::body::{Found, Scope};
use super::{Lifted, Lifting, refused};
use wsp_core::ptow::Op;
use wsp_core::{ChannelId, VarId};
use wsp_diag::Span;
use wsp_ir::workload::{Block, Channel, IntExpr, NodeKind, Process};
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
            channels.declared.push(Channel { name, depth, span: Span::default() });
        }
        let mut processes = Vec::new();
        for (at, body) in found.bodies().into_iter().enumerate() {
            let body = self.block(body, scope)?;
            processes.push(Process { name: format!("p{at}"), body, span: Span::default() });
        }
        scope.channels.open.clear();
        Ok(NodeKind::Pipeline { processes })
    }

    /// A send or a consume.
    pub(super) fn transfer(&mut self, found: &Found<'p>, scope: &mut Scope) -> Lifted<NodeKind> {
        let number = found.word.operand1;
        let Some(channel) = scope.channels.open.get(&number).copied() else {
            return refused(
                found.at,
                format!("channel {number}, whose depth does not stand before the processes"),
            );
        };
        let (var, _, body): (VarId, _, Block) = self.with_variable(found.word.operand2, false, scope)?;
        Ok(match found.info.op {
            Op::Send => NodeKind::Send { channel, var, body },
            _ => NodeKind::Consume { channel, var, body },
        })
    }
}
