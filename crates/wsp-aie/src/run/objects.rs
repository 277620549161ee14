//! Objects of fifos that a core holds, and those that it has given back.

use super::code::{Reg, View};
use super::exec::{Done, Next, State, Stop, World, fault};
use super::net::{Net, Role};

/// The buffer of an object that was given back: there is none of this number, so an access needs no test of its own.
const GONE: u64 = u64::MAX;

impl State {
    /// Holds so many objects of an end, if they are there.
    pub(super) fn acquire(&mut self, (to, end, count): (Reg, usize, u32), net: &mut Net) -> Next {
        let wanted = u64::from(count);
        if wanted > net.ends[end].held {
            if !has(net, end, wanted - 1) {
                return Next::Stop(Stop::End { end, count });
            }
            let held = std::mem::replace(&mut net.ends[end].held, wanted);
            let first = net.first(&net.ends[end]);
            if let Some(order) = &mut net.order {
                let of = &net.ends[end];
                (held..wanted).for_each(|at| order.acquire(of.core, (of.pool, of.role.reads()), first + at));
            }
        }
        self.set(to, 0, net.first(&net.ends[end]));
        Next::Go
    }

    /// The buffer of an object, which is held.
    pub(super) fn access(&mut self, view: View, at: usize, world: &World<'_>) -> Done<()> {
        let end = &world.net.ends[view.end];
        let first = world.net.first(end);
        if view.object < first {
            return fault(told(view, "takes", world));
        }
        let index = view.object - first;
        if index >= end.held {
            return fault(format!("object {index} is used where {} are held", end.held));
        }
        self.views[at] = view;
        self.set(view.reg, 0, world.net.pools[end.pool].slot(view.object) as u64);
        Ok(())
    }

    /// Gives so many objects back, which no view of theirs has from then on.
    pub(super) fn release(&mut self, end: usize, count: u64, net: &mut Net) -> Done<()> {
        let held = &mut net.ends[end];
        let Some(left) = held.held.checked_sub(count) else {
            return fault(format!("{count} objects are given back where {} are held", held.held));
        };
        held.held = left;
        let (core, of) = (held.core, (held.pool, held.role.reads()));
        let first = net.first(&net.ends[end]);
        if let Some(order) = &mut net.order {
            (first..first + count).for_each(|object| order.release(core, of, object));
        }
        let held = &net.ends[end];
        let pool = &mut net.pools[held.pool];
        match held.role {
            Role::Writer(writer) => pool.written[writer] += count,
            Role::Reader(reader) => pool.read[reader] += count,
        }
        let first = net.first(&net.ends[end]);
        for view in self.views.iter().filter(|view| view.end == end && view.object < first) {
            self.registers[view.reg as usize] = GONE;
        }
        Ok(())
    }

    /// The buffer that a register has.
    pub(super) fn buffer(&self, reg: Reg, does: &str, world: &World<'_>) -> Done<usize> {
        match self.registers[reg as usize] {
            GONE => self.gone(reg, does, world),
            buffer => Ok(buffer as usize),
        }
    }

    /// The fault of an access to an object that was given back.
    #[cold]
    pub(super) fn gone<T>(&self, reg: Reg, does: &str, world: &World<'_>) -> Done<T> {
        match self.views.iter().find(|view| view.reg == reg) {
            Some(view) => fault(told(*view, does, world)),
            None => fault(format!("the core {does} a memory that is not there")),
        }
    }
}

fn told(view: View, does: &str, world: &World<'_>) -> String {
    let end = &world.net.ends[view.end];
    let (first, held) = (world.net.first(end), end.held);
    let holds = match held {
        0 => "none".to_owned(),
        1 => format!("{first}"),
        _ => format!("{first} to {}", first + held - 1),
    };
    let slots = world.net.pools[end.pool].slots.len() as u64;
    format!(
        "the core on tile {} {does} object {} of fifo `@{}` (buffer {} of {slots}), which it has given back; it holds {holds}",
        world.design.cores[end.core].tile,
        view.object,
        world.design.fifos[end.fifo].name,
        view.object % slots.max(1)
    )
}

/// Whether an end has its object `ahead`, or room for it.
fn has(net: &Net, end: usize, ahead: u64) -> bool {
    let end = &net.ends[end];
    let pool = &net.pools[end.pool];
    match end.role {
        Role::Writer(writer) => pool.has_room(writer, ahead),
        Role::Reader(reader) => pool.has_object(reader, ahead),
    }
}
