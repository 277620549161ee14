//! Shows that instructions and addresses of an ordered program are those that its target has, that instructions which touch the same bytes are
//! ordered, and that events are used right: for any number of rounds of every loop, 0 included, and either way of every condition.
//!
//! It looks at whole buffers and tensors, so it may ask for an order that no run needs. It does not look at values: whether valid rows and
//! columns are what a kernel means, and whether what is read was written, a run shows.

pub(crate) mod added;
mod bits;
pub(crate) mod flow;
pub(crate) mod known;
mod rules;
pub(crate) mod sites;

use crate::{Event, EventId, Instruction, Memories, Sync, TileProgram, codes};
use added::Added;
use flow::{Fault, analyse};
use sites::Sites;
use wsp_diag::Diagnostic;

/// What is wrong with the order, the addresses and the events of a program; nothing when all of it is right.
pub fn check(program: &TileProgram, memories: &Memories) -> Vec<Diagnostic> {
    let mut found = crate::verify::verify(program, memories);
    if !found.is_empty() {
        return found;
    }
    found.extend(rules::check(program, memories));
    found.extend(addresses(program, memories));
    let sites = Sites::of(program, memories);
    let mut instructions: Vec<&Instruction> = Vec::new();
    program.instructions(&mut |instruction| instructions.push(instruction));
    let faults = analyse(program, &Added::default(), &sites, memories).faults;
    found.extend(faults.iter().map(|fault| report(fault, program, memories, &sites, &instructions)));
    found.extend(numbers(&sites, memories));
    found
}

/// Buffers that are used lie in their memory, where it asks.
fn addresses(program: &TileProgram, memories: &Memories) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for buffer in &program.buffers {
        let memory = memories.memory(buffer.memory);
        let row = u64::from(buffer.cols).saturating_mul(buffer.elem.size() as u64);
        let before = u64::from(buffer.rows.saturating_sub(1)).saturating_mul(buffer.row_bytes);
        if before.saturating_add(row) > buffer.bytes || (buffer.rows > 1 && row > buffer.row_bytes) {
            let message = format!(
                "`{}` has {} x {} elements of {}, which do not fit its {} bytes with rows of {}",
                buffer.name, buffer.rows, buffer.cols, buffer.elem, buffer.bytes, buffer.row_bytes
            );
            found.push(Diagnostic::error(codes::ADDRESS, message).at(buffer.span, ""));
        }
        for at in &buffer.at {
            let end = at.saturating_add(buffer.bytes);
            if end > memory.capacity || !at.is_multiple_of(memory.alignment) {
                let message = format!(
                    "`{}` lies at bytes {at}..{end} of {}, which has {} and asks for multiples of {}",
                    buffer.name, memory.name, memory.capacity, memory.alignment
                );
                found.push(Diagnostic::error(codes::ADDRESS, message).at(buffer.span, ""));
            }
        }
    }
    for (a, b) in crate::place::live::shared(program) {
        let [a, b] = [a, b].map(|id| program.buffer(id));
        let message = format!(
            "`{}` at {:?} and `{}` at {:?} of {} are in use at the same time and share bytes",
            a.name,
            a.at,
            b.name,
            b.at,
            memories.memory(a.memory).name
        );
        found.push(Diagnostic::error(codes::ADDRESS, message).at(a.span, "").label(b.span, "the other one"));
    }
    let mut unplaced = wsp_ordered::OrderedSet::new();
    program.instructions(&mut |instruction| {
        instruction.each_touch(&mut |touch| {
            if let crate::Touched::Buffer(id) = touch.what
                && program.buffer(id).at.is_empty()
            {
                unplaced.insert(id);
            }
        });
    });
    found.extend(unplaced.into_iter().map(|id| {
        let buffer = program.buffer(id);
        Diagnostic::error(codes::ADDRESS, format!("`{}` has no address", buffer.name)).at(buffer.span, "")
    }));
    found
}

/// Events have numbers that the table has.
fn numbers(sites: &Sites, memories: &Memories) -> Vec<Diagnostic> {
    let over = sites.each_flag().filter(|flag| flag.2 >= memories.events(flag.0, flag.1));
    over.map(|(from, to, id)| {
        let all = memories.events(from, to);
        let [from, to] = [from, to].map(|unit| memories.unit_name(unit));
        Diagnostic::error(
            codes::EVENT,
            format!("event {id} from {from} to {to} does not exist; there are {all}"),
        )
    })
    .collect()
}

fn report(
    fault: &Fault,
    program: &TileProgram,
    memories: &Memories,
    sites: &Sites,
    instructions: &[&Instruction],
) -> Diagnostic {
    let event = |flag: &sites::Flag, what: &str| {
        let event = Event { from: flag.0, to: flag.1, id: EventId::One(flag.2) };
        let text = program.display(memories).sync(Sync::Set(event));
        let name = text.trim_start_matches("set ");
        Diagnostic::error(codes::EVENT, format!("event {name} {what}"))
    };
    match fault {
        Fault::Race(before, after) => {
            let (before, after) = (&sites.all()[*before], &sites.all()[*after]);
            let [first, second] = [before, after].map(|site| instructions[site.instruction as usize]);
            let [one, other] = [before, after].map(|site| memories.unit_name(site.unit));
            Diagnostic::error(
                codes::RACE,
                format!("%{} on {other} does not wait for %{} on {one}", second.id, first.id),
            )
            .at(second.span, "this one")
            .label(first.span, "that one")
            .note(program.describe(memories, first))
            .note(program.describe(memories, second))
        }
        Fault::SetTwice(flag) => event(flag, "may be set while it is set"),
        Fault::SetEarly(flag) => event(flag, "may be set again before the wait for it"),
        Fault::WaitEarly(flag) => event(flag, "may be taken by a unit while another still waits for it"),
        Fault::WaitUnset(flag) => event(flag, "is waited for and may not be set"),
        Fault::LeftSet(flag) => event(flag, "is left set at the end"),
        Fault::Paths(flag) => event(flag, "is set on one of two ways that meet"),
        Fault::NoEvent(flag) => event(flag, "does not exist between these units"),
    }
}
