//! Buffers that two use, cores or chains of descriptors, and what keeps them apart.

use super::Findings;
use crate::codes;
use crate::design::{Core, Design, Effect, Link, Port, TileDma, User};
use crate::device::{Bundle, Direction};
use crate::mlir::Op;
use std::collections::{BTreeMap, BTreeSet};
use wsp_diag::{Diagnostic, Label, Span};

/// How a user uses a buffer.
#[derive(Clone, Copy)]
pub(super) struct Access {
    /// Where first.
    span: Span,
    /// Whether it may write it.
    pub(super) writes: bool,
}

/// How a user uses a lock: how often it is written that it acquires and releases it, and by how much.
#[derive(Clone, Copy)]
pub(super) struct Use {
    pub(super) acquires: u64,
    pub(super) releases: u64,
    /// By how much it acquires it in all; none where a loop of a core does so.
    pub(super) all: Option<i64>,
    /// By how much each time; none where that differs.
    pub(super) by: Option<i64>,
}

/// Who uses what of a design.
#[derive(Default)]
pub(super) struct Uses {
    /// By lock.
    pub(super) locks: Vec<BTreeMap<User, Use>>,
    /// By buffer.
    pub(super) buffers: Vec<BTreeMap<User, Access>>,
    /// Fifos of cores, by name.
    fifos: BTreeMap<User, BTreeSet<String>>,
}

impl Uses {
    pub(super) fn of(design: &Design) -> Uses {
        let mut uses = Uses {
            locks: vec![BTreeMap::new(); design.locks.len()],
            buffers: vec![BTreeMap::new(); design.buffers.len()],
            fifos: BTreeMap::new(),
        };
        for Core { tile, body, .. } in &design.cores {
            let ops = body.blocks.iter().flat_map(|block| &block.ops);
            ops.for_each(|top| {
                let mut again = false;
                top.walk(&mut |op| again |= op.name == "scf.for");
                top.walk(&mut |op| uses.see(design, User::Core(*tile), op, again));
            });
        }
        design.dmas.iter().for_each(|dma| uses.chains(design, dma));
        uses
    }

    /// What an operation of a user uses; `again` in a loop.
    fn see(&mut self, design: &Design, user: User, op: &Op, again: bool) {
        if let Some(name) = op.find_name("objFifo_name") {
            self.fifos.entry(user).or_default().insert(name.to_owned());
        }
        for (operand, value) in op.operands.iter().enumerate() {
            if let Some(at) = design.buffers.iter().position(|buffer| buffer.value == *value) {
                let access = self.buffers[at].entry(user).or_insert(Access { span: op.span, writes: false });
                access.writes |= may_write(user, op, operand);
            }
        }
        let lock = op.operands.first().filter(|_| op.name == "aie.use_lock");
        if let Some(at) = lock.and_then(|value| design.locks.iter().position(|lock| lock.value == *value)) {
            let of = self.locks[at].entry(user).or_insert(Use {
                acquires: 0,
                releases: 0,
                all: Some(0),
                by: op.find_int("value").or(Some(1)),
            });
            if op.find_int("action") == Some(1) {
                of.releases += 1;
            } else {
                of.acquires += 1;
                let by = op.find_int("value").unwrap_or(1);
                of.all = of.all.filter(|_| !again).and_then(|all| all.checked_add(by));
            }
            let by = op.find_int("value").unwrap_or(1);
            of.by = of.by.filter(|known| *known == by && by > 0 && op.find_int("action") != Some(0));
        }
    }

    /// Each chain of a tile's channels, from where it is started.
    fn chains(&mut self, design: &Design, dma: &TileDma) {
        let blocks = &dma.body.blocks;
        for start in blocks.iter().flat_map(|block| &block.ops).filter(|op| op.name == "aie.dma_start") {
            let is_out = start.find_int("channel_dir") == Some(1);
            let direction = if is_out { Direction::Mm2s } else { Direction::S2mm };
            let user = User::Channel(dma.tile, direction, start.find_int("channel_index").unwrap_or(0));
            let (mut next, mut seen) = (start.successors.first().copied(), BTreeSet::new());
            while let Some(block) = next.filter(|at| seen.insert(*at)).and_then(|at| blocks.get(at as usize))
            {
                block.ops.iter().for_each(|op| self.see(design, user, op, false));
                let goes_on = block.ops.iter().find(|op| op.name == "aie.next_bd");
                next = goes_on.and_then(|op| op.successors.first().copied());
            }
        }
    }

    /// Who goes on after a user: those that acquire what it releases, channels at the other ends of its streams, and cores at those of its fifos.
    fn after(&self, design: &Design, user: User) -> BTreeSet<User> {
        let mut after = BTreeSet::new();
        for lock in self.locks.iter().filter(|lock| lock.get(&user).is_some_and(|of| of.releases > 0)) {
            after.extend(lock.iter().filter(|(_, of)| of.acquires > 0).map(|(user, _)| *user));
        }
        after.extend(streams(design, user));
        let Some(own) = self.fifos.get(&user) else { return after };
        // Objects go on through links.
        let linked = |link: &&Link| link.ins.iter().chain(&link.outs).any(|name| own.contains(name));
        let links = design.links.iter().filter(linked).flat_map(|link| link.ins.iter().chain(&link.outs));
        let near: BTreeSet<&String> = own.iter().chain(links).collect();
        let meets = |(_, names): &(&User, &BTreeSet<String>)| names.iter().any(|name| near.contains(name));
        after.extend(self.fifos.iter().filter(meets).map(|(user, _)| *user));
        after
    }

    /// Whether one goes on after the other, by way of others too.
    fn is_after(&self, design: &Design, one: User, other: User) -> bool {
        let (mut seen, mut open) = (BTreeSet::from([one]), vec![one]);
        while let Some(next) = open.pop() {
            if next == other {
                return true;
            }
            open.extend(self.after(design, next).into_iter().filter(|user| seen.insert(*user)));
        }
        false
    }
}

/// The channels to which streams of a channel go.
fn streams(design: &Design, user: User) -> Vec<User> {
    let User::Channel(tile, Direction::Mm2s, channel) = user else { return Vec::new() };
    let port = Port { tile, bundle: Bundle::Dma, channel };
    let flows = design.flows.iter().filter(|flow| flow.from == port).map(|flow| &flow.to);
    let packets = design.packets.iter().filter(|flow| flow.from.contains(&port)).flat_map(|flow| &flow.to);
    let ends = flows.chain(packets).filter(|to| to.bundle == Bundle::Dma);
    ends.map(|to| User::Channel(to.tile, Direction::S2mm, to.channel)).collect()
}

/// Whether a user may write the buffer that is an operand: what is not known to read only may.
fn may_write(user: User, op: &Op, operand: usize) -> bool {
    match user {
        User::Channel(_, direction, _) => direction == Direction::S2mm,
        User::Core(_) => Effect::of(op, operand) != Effect::Reads,
    }
}

/// Warns of users of a buffer that neither a lock nor a fifo is between, of buffers of which a use is not followed.
pub(super) fn check(
    design: &Design,
    (uses, is_open): (&Uses, &dyn Fn(usize) -> bool),
    findings: &mut Findings,
) {
    let buffers = design.buffers.iter().zip(&uses.buffers).enumerate();
    for (_, (buffer, users)) in buffers.filter(|(at, _)| is_open(*at)) {
        let all: Vec<(User, Access)> = users.iter().map(|(user, access)| (*user, *access)).collect();
        let pairs = (0..all.len()).flat_map(|one| (0..one).map(move |other| (other, one)));
        let is_free = |(one, other): &(usize, usize)| {
            let ((one, access), (other, beside)) = (all[*one], all[*other]);
            let any_writes = access.writes || beside.writes;
            any_writes && !uses.is_after(design, one, other) && !uses.is_after(design, other, one)
        };
        let Some((one, other)) = pairs.into_iter().find(is_free) else { continue };
        let name = buffer.name.as_ref().map_or("a buffer".to_owned(), |name| format!("buffer `@{name}`"));
        let message = format!(
            "{name} of tile {} is used by {} and by {}, and no lock or fifo keeps them apart",
            buffer.tile, all[one].0, all[other].0
        );
        let mut found = Diagnostic::warning(codes::SHARED, message).at(buffer.span, "");
        found.labels.push(Label { span: all[other].1.span, text: "it is used here".to_owned() });
        findings.0.push(
            found.help("have each of them acquire a lock before, which the other releases behind its use"),
        );
    }
}
