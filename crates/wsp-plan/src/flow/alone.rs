//! A module of which one pipeline is left.

use super::uses;
use crate::workload::reaching;
use wsp_core::{ChannelId, WorkloadId};
use wsp_ir::workload::{Block, Node, NodeKind, WorkloadModule, each_node};

/// A module whose pipelines run one by one.
pub(super) struct Alone {
    module: WorkloadModule,
    /// The statements of each workload.
    bodies: Vec<Block>,
}

impl Alone {
    pub(super) fn new(module: WorkloadModule) -> Alone {
        Alone { bodies: module.workloads.iter().map(|workload| workload.body.clone()).collect(), module }
    }

    /// The module with the pipeline that uses a channel of a workload, and without the others and tasks around it.
    pub(super) fn with(&mut self, workload: WorkloadId, channel: ChannelId) -> &WorkloadModule {
        let reaching = reaching(&mut self.bodies.iter(), workload);
        for (at, (of, body)) in self.module.workloads.iter_mut().zip(&self.bodies).enumerate() {
            let is_own = at == workload.index();
            of.body = if reaching[at] { kept(body, (&reaching, is_own), channel) } else { body.clone() };
        }
        &self.module
    }
}

/// What of a block is left.
fn kept(block: &Block, (reaching, is_own): (&[bool], bool), channel: ChannelId) -> Block {
    let is_left = |node: &&Node| match &node.kind {
        NodeKind::Pipeline { .. } => is_own && is_of(node, channel),
        NodeKind::Call { workload, .. } => reaching.get(workload.index()) == Some(&true),
        NodeKind::Task(_) => false,
        _ => true,
    };
    let mut left = Vec::new();
    for node in block.iter().filter(is_left) {
        let mut node = node.clone();
        if !matches!(node.kind, NodeKind::Pipeline { .. }) {
            for body in node.kind.bodies_mut() {
                *body = kept(body, (reaching, is_own), channel);
            }
            let bodies = node.kind.bodies();
            if !bodies.is_empty() && bodies.into_iter().all(Vec::is_empty) {
                continue;
            }
        }
        left.push(node);
    }
    left
}

/// Whether a statement is the pipeline that uses a channel of its workload.
pub(super) fn is_of(node: &Node, channel: ChannelId) -> bool {
    let NodeKind::Pipeline { processes } = &node.kind else { return false };
    processes.iter().any(|process| uses(&process.body, channel, true) || uses(&process.body, channel, false))
}

/// The pipeline that uses a channel of a workload.
pub(super) fn pipeline(module: &WorkloadModule, workload: WorkloadId, channel: ChannelId) -> Option<&Node> {
    let mut found = None;
    each_node(&module.workloads[workload.index()].body, &mut |node| {
        if found.is_none() && is_of(node, channel) {
            found = Some(node);
        }
    });
    found
}
