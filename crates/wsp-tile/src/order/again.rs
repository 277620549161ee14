//! Programs whose order is that of an earlier one: of several kernels of one form, such as products of several matrices, only tensors, values
//! and names differ, which no order depends on.

use super::edges::Edge;
use crate::check::sites::Sites;
use crate::{Memories, Node, TileProgram};
use std::cell::RefCell;
use wsp_diag::Diagnostic;

/// Programs whose orders a thread keeps.
const KEPT: usize = 32;

thread_local! {
    static LAST: RefCell<Vec<(Form, Orders)>> = const { RefCell::new(Vec::new()) };
}

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
    let is_same =
        |form: &Form| form.nodes == nodes && form.sites.is_like(sites) && form.memories == *memories;
    let before =
        LAST.with_borrow(|all| all.iter().find(|(form, _)| is_same(form)).map(|(_, orders)| orders.clone()));
    if let Some(orders) = before {
        return Ok(orders);
    }
    let orders = find()?;
    let form = Form { memories: memories.clone(), sites: sites.clone(), nodes };
    LAST.with_borrow_mut(|all| {
        if all.len() == KEPT {
            all.remove(0);
        }
        all.push((form, orders.clone()));
    });
    Ok(orders)
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
