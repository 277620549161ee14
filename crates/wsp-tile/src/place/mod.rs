//! Addresses for buffers, by live ranges, within capacity, alignment and granule.
//!
//! A buffer that a loop fills anew in every round may get two addresses, so that one round is filled while the other is used.

mod fit;
pub(crate) mod live;

use crate::{BufferId, Memories, MemoryId, TileProgram, codes};
use fit::{Item, fit, peak};
use live::Live;
use wsp_core::words::counted;
use wsp_diag::Diagnostic;
use wsp_ordered::{Arrange, OrderedMap};

/// Whether buffers of loops get two addresses where there is room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PingPong {
    /// As many as fit, the smallest first.
    WhereItFits,
    /// None.
    Off,
}

/// A program with addresses.
#[derive(Clone, PartialEq, Debug)]
pub struct Placed {
    /// The program.
    pub program: TileProgram,
    /// The end of the highest buffer in each memory, in bytes, by memory.
    pub used: Vec<u64>,
}

/// Gives every buffer of a program its addresses. Buffers that no instruction uses get none.
///
/// # Errors
/// More bytes are needed at one time than a memory has, or the program names what the table does not have.
pub fn place(
    program: TileProgram,
    memories: &Memories,
    ping_pong: PingPong,
) -> Result<Placed, Vec<Diagnostic>> {
    let wrong = crate::verify::verify(&program, memories);
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let mut program = program;
    let live = live::ranges(&program);
    let (mut used, mut found) = (Vec::new(), Vec::new());
    for index in 0..memories.memories.len() {
        let memory = MemoryId(index as u8);
        let own: OrderedMap<BufferId, &Live> = live
            .iter()
            .filter(|(id, _)| program.buffer(**id).memory == memory)
            .map(|(id, l)| (*id, l))
            .collect();
        match in_memory(&program, memories, memory, &own, ping_pong) {
            Ok(addresses) => {
                let mut end = 0;
                for (id, at) in addresses {
                    let buffer = &mut program.buffers[id.index()];
                    end = at.iter().fold(end, |end: u64, at| end.max(at + buffer.bytes));
                    buffer.rotates = own[&id].turns.filter(|_| at.len() > 1).map(|(of, ..)| of);
                    buffer.at = at;
                }
                used.push(end);
            }
            Err(why) => found.push(why),
        }
    }
    if found.is_empty() { Ok(Placed { program, used }) } else { Err(found) }
}

type Addresses = OrderedMap<BufferId, Vec<u64>>;

fn in_memory(
    program: &TileProgram,
    memories: &Memories,
    memory: MemoryId,
    live: &OrderedMap<BufferId, &Live>,
    ping_pong: PingPong,
) -> Result<Addresses, Diagnostic> {
    let bytes = |id: BufferId| program.buffer(id).bytes;
    let Some(mut best) = arrange(program, memories, memory, live, &[]) else {
        return Err(shortfall(program, memories, memory, live));
    };
    if ping_pong == PingPong::WhereItFits {
        let mut twice: Vec<BufferId> =
            live.iter().filter(|(_, live)| live.turns.is_some()).map(|(id, _)| *id).collect();
        twice.arrange_by_key(|id| (bytes(*id), *id));
        while !twice.is_empty() {
            if let Some(found) = arrange(program, memories, memory, live, &twice) {
                best = found;
                break;
            }
            twice.pop();
        }
    }
    Ok(best)
}

/// Addresses with the given buffers in two places each.
fn arrange(
    program: &TileProgram,
    memories: &Memories,
    memory: MemoryId,
    live: &OrderedMap<BufferId, &Live>,
    twice: &[BufferId],
) -> Option<Addresses> {
    let mut items = Vec::new();
    let mut owners = Vec::new();
    for (id, live) in live {
        let bytes = program.buffer(*id).bytes;
        match live.turns.filter(|_| twice.contains(id)) {
            // Each of the two is in use in every other round, so both are all the time.
            Some((_, from, to)) => {
                items.extend([Item { from, to, bytes }; 2]);
                owners.extend([*id; 2]);
            }
            None => {
                items.push(Item { from: live.from, to: live.to, bytes });
                owners.push(*id);
            }
        }
    }
    let table = memories.memory(memory);
    let addresses = fit(&items, table.capacity, table.alignment)?;
    let mut found = Addresses::new();
    for (owner, at) in owners.into_iter().zip(addresses) {
        found.entry(owner).or_default().push(at);
    }
    Some(found)
}

fn shortfall(
    program: &TileProgram,
    memories: &Memories,
    memory: MemoryId,
    live: &OrderedMap<BufferId, &Live>,
) -> Diagnostic {
    let ids: Vec<BufferId> = live.keys().copied().collect();
    let items: Vec<Item> = live
        .iter()
        .map(|(id, live)| Item { from: live.from, to: live.to, bytes: program.buffer(*id).bytes })
        .collect();
    let (step, need) = peak(&items);
    let table = memories.memory(memory);
    let (have, name) = (table.capacity, &table.name);
    let mut at_peak: Vec<(u64, BufferId)> = ids
        .iter()
        .zip(&items)
        .filter(|(_, item)| (item.from..=item.to).contains(&step))
        .map(|(id, item)| (item.bytes, *id))
        .collect();
    at_peak.arrange_by_key(|(bytes, id)| (u64::MAX - bytes, *id));
    let message = if need > have {
        format!("{} at once do not fit {name}, which has {have}", counted(need, "byte"))
    } else {
        format!(
            "{} at once leave no room in {name}, which has {have}, for every buffer in one piece",
            counted(need, "byte")
        )
    };
    let mut found =
        Diagnostic::error(codes::DOES_NOT_FIT, message).figure("bytes", need).figure("capacity", have);
    for (bytes, id) in &at_peak {
        let buffer = program.buffer(*id);
        let own = u64::from(buffer.rows) * u64::from(buffer.cols) * buffer.elem.size() as u64;
        let more = match bytes.checked_sub(own) {
            None | Some(0) => String::new(),
            Some(more) => format!(", {more} of them for its instructions, beside its elements"),
        };
        found = found.note(format!(
            "`{}`: {} x {} of {}, {}{more}",
            buffer.name,
            buffer.rows,
            buffer.cols,
            buffer.elem,
            counted(*bytes, "byte")
        ));
    }
    if let Some((bytes, id)) = at_peak.first() {
        let buffer = program.buffer(*id);
        let over = need.saturating_sub(have);
        let help = if over == 0 {
            format!("make `{}` smaller: fewer rows or columns per tile", buffer.name)
        } else if over < *bytes {
            format!(
                "make `{}` smaller by {}: fewer rows or columns per tile",
                buffer.name,
                counted(over, "byte")
            )
        } else {
            format!(
                "make these tiles smaller by {} together: fewer rows or columns per tile",
                counted(over, "byte")
            )
        };
        found = found.at(buffer.span, "the largest of them").help(help);
    }
    found
}
