//! What may run at the same time: the parts of instructions, in even and odd rounds of loops with two addresses.

use super::added::Added;
use super::bits::Rows;
use crate::{EventId, Instruction, LoopId, Memories, Node, Sync, TileProgram, Touched, UnitId};
use std::ops::Range;
use std::sync::Arc;
use wsp_core::TensorId;
use wsp_ordered::{Arrange, OrderedMap, OrderedSet};

/// A part of an instruction that one unit runs, in rounds of some parity.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Site {
    /// The instruction.
    pub(crate) instruction: u32,
    /// Who runs it.
    pub(crate) unit: UnitId,
    /// Parities of the loops around that have two addresses, outermost first.
    pub(crate) parity: Vec<(LoopId, bool)>,
    /// Whether it only reads.
    pub(crate) reads_only: bool,
}

/// A flag: its setter, its waiter and its number.
pub(crate) type Flag = (UnitId, UnitId, u32);

/// The sites and flags of a program.
#[derive(Clone, Debug)]
pub(crate) struct Sites {
    parts: Arc<Parts>,
    /// Sorted. Pairs of units whose events have the same numbers share flags.
    flags: Vec<(FlagKey, Numbered)>,
    /// By number.
    names: Vec<Flag>,
    /// By number of an event, below [`NEAR`], where a flag with it stands. Where each edge has events of its own there is no other.
    near: Vec<u32>,
}

/// Numbers of events from here on are searched for: a program may have any.
const NEAR: usize = 1 << 12;

/// A flag in one word, which sorts as flags do.
type FlagKey = u64;

fn key((from, to, id): Flag) -> FlagKey {
    u64::from(from.0) << 40 | u64::from(to.0) << 32 | u64::from(id)
}

fn flag_of(key: FlagKey) -> Flag {
    (UnitId((key >> 40) as u8), UnitId((key >> 32) as u8), key as u32)
}

/// What is known of a flag.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbered {
    /// Its number.
    pub(crate) number: usize,
    /// Whether the table has events between its units.
    pub(crate) exists: bool,
}

/// What depends on instructions, and on loops with two addresses.
#[derive(PartialEq, Debug)]
struct Parts {
    sites: Vec<Site>,
    /// By site, those that touch the same bytes, one of the two writing.
    conflicts: Rows,
    /// The first site of each instruction; parities count below parts.
    first: Vec<usize>,
    /// The loops around each instruction that have two addresses.
    around: Vec<Vec<LoopId>>,
    /// Those of the program itself.
    events: Events,
    /// Whether the program itself has synchronisations.
    has_syncs: bool,
}

/// Events, and where they take turns.
#[derive(Clone, PartialEq, Debug)]
struct Events {
    /// Loops that have two addresses.
    turning: OrderedSet<LoopId>,
    /// The flags of the events, each as often as it is used.
    flags: Vec<FlagKey>,
}

/// Puts the flags of a synchronisation behind others; the loop in which they take turns.
fn add_flags(sync: Sync, flags: &mut Vec<FlagKey>) -> Option<LoopId> {
    let (Sync::Set(event) | Sync::Wait(event)) = sync else { return None };
    match event.id {
        EventId::One(id) => {
            flags.push(key((event.from, event.to, id)));
            None
        }
        EventId::Parity { of, even, odd } => {
            flags.extend([even, odd].map(|id| key((event.from, event.to, id))));
            Some(of)
        }
    }
}

#[derive(Clone, PartialEq, Eq)]
enum Space {
    Memory(u8, Range<u64>),
    Tensor(TensorId),
}

struct Access {
    space: Space,
    writes: bool,
}

impl Sites {
    pub(crate) fn of(program: &TileProgram, memories: &Memories) -> Sites {
        let mut own =
            Events { turning: program.buffers.iter().filter_map(|b| b.rotates).collect(), flags: Vec::new() };
        let mut has_syncs = false;
        syncs(&program.body, &mut |sync| {
            has_syncs = true;
            own.turning.extend(add_flags(sync, &mut own.flags));
        });
        let (flags, names, near) = numbered(own.flags.clone(), memories);
        Sites { parts: Arc::new(Parts::of(program, own, has_syncs)), names, flags, near }
    }

    /// Those of the program with more synchronisations, whose events take turns in loops with two addresses only.
    pub(crate) fn with_events_of(&self, added: &Added, memories: &Memories) -> Sites {
        let mut flags = self.parts.events.flags.clone();
        added.all(&mut |sync| {
            let of = add_flags(sync, &mut flags);
            debug_assert!(of.is_none_or(|of| self.turns(of)), "events take turns where buffers do");
        });
        let (flags, names, near) = numbered(flags, memories);
        Sites { parts: self.parts.clone(), names, flags, near }
    }

    pub(crate) fn all(&self) -> &[Site] {
        &self.parts.sites
    }

    /// The sites that touch bytes of a site, one of the two writing.
    pub(crate) fn conflicts(&self, site: usize) -> &[u64] {
        self.parts.conflicts.row(site)
    }

    /// How many flags there are.
    pub(crate) fn flags(&self) -> usize {
        self.names.len()
    }

    /// What is known of a flag.
    pub(crate) fn number(&self, flag: Flag) -> Option<Numbered> {
        let key = key(flag);
        let near = self.near.get(flag.2 as usize).and_then(|at| self.flags.get(*at as usize));
        if let Some((_, found)) = near.filter(|(of, _)| *of == key) {
            return Some(*found);
        }
        let at = self.flags.binary_search_by_key(&key, |(key, _)| *key).ok()?;
        Some(self.flags[at].1)
    }

    /// All flags, in their order.
    pub(crate) fn each_flag(&self) -> impl Iterator<Item = Flag> {
        self.flags.iter().map(|(key, _)| flag_of(*key))
    }

    /// Whether the instructions of two programs meet in the same way.
    pub(crate) fn is_like(&self, other: &Sites) -> bool {
        self.parts == other.parts
    }

    /// Whether the program has synchronisations of its own.
    pub(crate) fn has_syncs(&self) -> bool {
        self.parts.has_syncs
    }

    /// The flag of this number.
    pub(crate) fn flag(&self, number: usize) -> Flag {
        self.names[number]
    }

    /// Whether a loop has two addresses.
    pub(crate) fn turns(&self, of: LoopId) -> bool {
        self.parts.events.turning.contains(&of)
    }

    /// The site of a part of an instruction in these rounds.
    pub(crate) fn site(&self, instruction: u32, part: usize, odd: &dyn Fn(LoopId) -> bool) -> usize {
        let Parts { first, around, .. } = &*self.parts;
        let around = &around[instruction as usize];
        let parity = around.iter().fold(0, |bits, of| bits * 2 + usize::from(odd(*of)));
        first[instruction as usize] + (part << around.len()) + parity
    }
}

/// What is known of each flag, the first flag of each number, and where a flag with each number of an event stands.
fn numbered(mut found: Vec<FlagKey>, memories: &Memories) -> (Vec<(FlagKey, Numbered)>, Vec<Flag>, Vec<u32>) {
    found.arrange();
    found.dedup();
    let (mut flags, mut names) = (Vec::with_capacity(found.len()), Vec::with_capacity(found.len()));
    let mut near: Vec<u32> = Vec::new();
    // Within a core each pair of units has numbers of its own.
    let mut shared: OrderedMap<Flag, usize> = OrderedMap::new();
    for key in found {
        let flag = flag_of(key);
        let number = if memories.same_core(flag.0, flag.1) {
            names.len()
        } else {
            let (from, to) = memories.numbered(flag.0, flag.1);
            *shared.entry((from, to, flag.2)).or_insert(names.len())
        };
        if number == names.len() {
            names.push(flag);
        }
        if let id @ 0..NEAR = flag.2 as usize {
            near.resize(near.len().max(id + 1), 0);
            near[id] = flags.len() as u32;
        }
        flags.push((key, Numbered { number, exists: memories.events(flag.0, flag.1) > 0 }));
    }
    (flags, names, near)
}

impl Parts {
    fn of(program: &TileProgram, events: Events, has_syncs: bool) -> Parts {
        let mut parts = Parts {
            sites: Vec::new(),
            conflicts: Rows::none(0, 0),
            first: Vec::new(),
            around: Vec::new(),
            events,
            has_syncs,
        };
        let mut accesses = Vec::new();
        parts.block(program, &program.body, &mut Vec::new(), &mut accesses);
        parts.conflicts = conflicts_of(&accesses);
        parts
    }

    fn block(
        &mut self,
        program: &TileProgram,
        nodes: &[Node],
        open: &mut Vec<LoopId>,
        accesses: &mut Vec<Vec<Access>>,
    ) {
        for node in nodes {
            match node {
                Node::Run(instruction) => self.instruction(program, instruction, open, accesses),
                Node::Loop(inner) if self.events.turning.contains(&inner.id) => {
                    open.push(inner.id);
                    self.block(program, &inner.body, open, accesses);
                    open.pop();
                }
                _ => node.blocks().for_each(|block| self.block(program, block, open, accesses)),
            }
        }
    }

    fn instruction(
        &mut self,
        program: &TileProgram,
        instruction: &Instruction,
        open: &[LoopId],
        accesses: &mut Vec<Vec<Access>>,
    ) {
        self.first.push(self.sites.len());
        self.around.push(open.to_vec());
        for unit in instruction.units() {
            for bits in 0..1usize << open.len() {
                let parity: Vec<(LoopId, bool)> = open
                    .iter()
                    .enumerate()
                    .map(|(at, of)| (*of, bits >> (open.len() - 1 - at) & 1 == 1))
                    .collect();
                let found = touched(program, instruction, &parity);
                self.sites.push(Site {
                    instruction: instruction.id,
                    unit,
                    reads_only: found.iter().all(|access| !access.writes),
                    parity,
                });
                accesses.push(found);
            }
        }
    }
}

/// By site, those that touch the same bytes, one of the two writing.
fn conflicts_of(accesses: &[Vec<Access>]) -> Rows {
    let mut conflicts = Rows::none(accesses.len(), accesses.len());
    for (a, own) in accesses.iter().enumerate() {
        for (b, others) in accesses.iter().enumerate().skip(a) {
            if own.iter().any(|x| others.iter().any(|y| meet(x, y))) {
                conflicts.insert(a, b);
                conflicts.insert(b, a);
            }
        }
    }
    conflicts
}

fn touched(program: &TileProgram, instruction: &Instruction, parity: &[(LoopId, bool)]) -> Vec<Access> {
    let of = |touch: crate::Touch| {
        let space = match touch.what {
            Touched::Tensor(tensor) => Space::Tensor(tensor),
            Touched::Buffer(id) => {
                let buffer = program.buffer(id);
                let odd = parity.iter().any(|(of, odd)| *odd && Some(*of) == buffer.rotates);
                let at = *buffer.at.get(usize::from(odd)).or(buffer.at.first())?;
                Space::Memory(buffer.memory.0, at..at.saturating_add(buffer.bytes))
            }
        };
        Some(Access { space, writes: touch.writes })
    };
    let mut found = Vec::with_capacity(4);
    instruction.each_touch(&mut |touch| found.extend(of(touch)));
    found
}

fn meet(a: &Access, b: &Access) -> bool {
    (a.writes || b.writes)
        && match (&a.space, &b.space) {
            (Space::Memory(m, x), Space::Memory(n, y)) => m == n && x.start < y.end && y.start < x.end,
            (Space::Tensor(x), Space::Tensor(y)) => x == y,
            _ => false,
        }
}

/// Calls `f` on every synchronisation, in the order of the text.
pub(crate) fn syncs(nodes: &[Node], f: &mut dyn FnMut(Sync)) {
    for node in nodes {
        if let Node::Sync(sync) = node {
            f(*sync);
        }
        node.blocks().for_each(|block| syncs(block, f));
    }
}
