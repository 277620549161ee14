//! Programs whose order is that of an earlier one: of several kernels of one form, such as products of several matrices, only tensors, values
//! and names differ, which no order depends on.

use super::edges::Edge;
use crate::check::sites::Sites;
use crate::{Memories, Node, TileProgram};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use wsp_diag::Diagnostic;

/// Programs whose orders are kept.
const KEPT: usize = 32;

/// A form, and its order once that is found: threads that come meanwhile wait for it.
type Kept = Arc<(Form, OnceLock<Result<Orders, Vec<Diagnostic>>>)>;

static LAST: Mutex<Vec<Kept>> = Mutex::new(Vec::new());

/// The order of a program.
#[derive(Clone)]
pub(super) struct Orders {
    pub(super) edges: Vec<Edge>,
    /// The numbers of each edge's events, in even and in odd rounds.
    pub(super) numbers: Vec<(u32, u32)>,
    pub(super) notes: Vec<Diagnostic>,
}

/// What an order depends on.
struct Form {
    memories: Memories,
    sites: Sites,
    nodes: Vec<u32>,
}

/// The order of a program of the same form that was ordered before, or else what `find` finds.
pub(super) fn orders(
    program: &TileProgram,
    memories: &Memories,
    sites: &Sites,
    find: impl FnOnce() -> Result<Orders, Vec<Diagnostic>>,
) -> Result<Orders, Vec<Diagnostic>> {
    let mut nodes = Vec::new();
    put(&program.body, &mut nodes);
    let kept = {
        let mut all = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same =
            |form: &Form| form.nodes == nodes && form.sites.is_like(sites) && form.memories == *memories;
        let before = all.iter().find(|kept| is_same(&kept.0)).cloned();
        before.unwrap_or_else(|| {
            if all.len() == KEPT {
                all.remove(0);
            }
            let form = Form { memories: memories.clone(), sites: sites.clone(), nodes };
            all.push(Arc::new((form, OnceLock::new())));
            all[all.len() - 1].clone()
        })
    };
    kept.1.get_or_init(find).clone()
}

/// Blocks, loops and instructions in the order of the text; what else there is of an instruction the sites say.
fn put(nodes: &[Node], out: &mut Vec<u32>) {
    for node in nodes {
        match node {
            Node::Set { .. } | Node::Name { .. } => out.push(0),
            Node::Run(instruction) => {
                let then = instruction.then.map_or(0, |then| u32::from(then.0) + 1);
                out.extend([1, instruction.id, u32::from(instruction.unit.0), then]);
            }
            Node::Sync(_) => out.push(2),
            Node::If { .. } => out.push(3),
            Node::Loop(inner) => out.extend([4, inner.id.0]),
        }
        for block in node.blocks() {
            out.push(block.len() as u32);
            put(block, out);
        }
    }
}
