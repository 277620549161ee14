//! A program and a table that belong together: what every later step relies on.

use crate::{Buffer, EventId, Instruction, LoopId, Memories, Node, Sync, TileProgram, UnitId, codes};
use wsp_diag::Diagnostic;
use wsp_ordered::OrderedSet;

/// What a program names that the table or the program itself does not have; also what is wrong with the table.
pub(crate) fn verify(program: &TileProgram, memories: &Memories) -> Vec<Diagnostic> {
    let mut found = memories.verify();
    if !found.is_empty() {
        return found;
    }
    let mut cx = Checker { program, memories, found: Vec::new(), next: 0, loops: OrderedSet::new() };
    for buffer in &program.buffers {
        let known = buffer.memory.index() < memories.memories.len();
        cx.require(known, || format!("`{}` is in memory {}", buffer.name, buffer.memory.0));
        let turns = buffer.rotates.is_none_or(|of| of.0 < program.loops && buffer.at.len() == 2);
        cx.require(turns && buffer.at.len() <= 1 + usize::from(buffer.rotates.is_some()), || {
            format!("`{}` has {} addresses by loop {:?}", buffer.name, buffer.at.len(), buffer.rotates)
        });
        if known {
            cx.sizes(buffer);
        }
    }
    cx.block(&program.body);
    found.append(&mut cx.found);
    found
}

struct Checker<'a> {
    program: &'a TileProgram,
    memories: &'a Memories,
    found: Vec<Diagnostic>,
    /// The number of the next instruction.
    next: u32,
    /// Loops so far.
    loops: OrderedSet<LoopId>,
}

impl Checker<'_> {
    fn require(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            let message =
                format!("`{}` does not fit the table `{}`: ", self.program.name, self.memories.name);
            self.found.push(Diagnostic::error(codes::TABLE, message + &what()));
        }
    }

    /// Sizes are multiples of the granule; what is too large to count is refused by its size.
    fn sizes(&mut self, buffer: &Buffer) {
        let granule = self.memories.memory(buffer.memory).granule;
        let whole = |bytes: u64| bytes == u64::MAX || bytes.is_multiple_of(granule);
        let gaps = buffer.rows > 1 && buffer.cols > 1;
        self.require(whole(buffer.bytes) && (!gaps || whole(buffer.row_bytes)), || {
            format!(
                "`{}` has {} bytes with rows of {}; the granule is {granule}",
                buffer.name, buffer.bytes, buffer.row_bytes
            )
        });
    }

    fn units(&mut self, units: impl IntoIterator<Item = UnitId>) {
        for unit in units {
            let known = unit.index() < self.memories.units.len();
            self.require(known, || format!("unit {} does not exist", unit.0));
        }
    }

    fn block(&mut self, nodes: &[Node]) {
        for node in nodes {
            match node {
                Node::Run(instruction) => self.instruction(instruction),
                Node::Sync(Sync::Set(event) | Sync::Wait(event)) => {
                    self.units([event.from, event.to]);
                    self.require(event.from != event.to, || {
                        format!("an event from unit {} to itself", event.from.0)
                    });
                    if let EventId::Parity { of, .. } = event.id {
                        self.require(of.0 < self.program.loops, || format!("loop {} does not exist", of.0));
                    }
                }
                Node::Sync(Sync::Barrier(unit) | Sync::BarrierAll(unit)) => self.units([*unit]),
                Node::Loop(inner) => {
                    self.require(inner.id.0 < self.program.loops, || {
                        format!("loop {} of {} loops", inner.id.0, self.program.loops)
                    });
                    let first = self.loops.insert(inner.id);
                    self.require(first, || format!("two loops have the number {}", inner.id.0));
                }
                Node::Set { .. } | Node::Name { .. } | Node::If { .. } => {}
            }
            node.blocks().for_each(|block| self.block(block));
        }
    }

    fn instruction(&mut self, instruction: &Instruction) {
        let (id, next) = (instruction.id, self.next);
        self.next += 1;
        self.require(id == next, || format!("instruction {next} has the number {id}"));
        self.units(instruction.units());
        let have = self.program.buffers.len();
        let mut missing = None;
        instruction.op.tiles(&mut |tile, _| {
            if tile.buffer.index() >= have {
                missing = Some(tile.buffer.0);
            }
        });
        missing = missing.or(instruction.scratch.iter().map(|of| of.0).find(|of| *of as usize >= have));
        let buffer = missing.unwrap_or_default();
        self.require(missing.is_none(), || format!("%{id} has a tile in buffer {buffer} of {have}"));
    }
}
