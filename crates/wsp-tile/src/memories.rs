//! What a machine has: memories, units, what each unit moves and computes, and events.
//!
//! The table is data of a target. This crate holds no target's numbers.

use wsp_core::DType;
use wsp_diag::Diagnostic;
use wsp_ir::{ReduceOp, TILE_OPS, TileRole};

use crate::codes;

/// A memory; an index into [`Memories::memories`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MemoryId(pub u8);

/// A unit; an index into [`Memories::units`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct UnitId(pub u8);

impl MemoryId {
    /// As an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl UnitId {
    /// As an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A memory with addresses of its own, from 0 on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Memory {
    /// Its name in texts.
    pub name: String,
    /// Bytes that programs may use.
    pub capacity: u64,
    /// Addresses are multiples of this many bytes, a power of two.
    pub alignment: u64,
    /// Buffers take multiples of this many bytes, and rows of tiles as well where a tile has several rows.
    pub granule: u64,
}

/// A unit that runs its instructions one after another, beside the other units.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unit {
    /// Its name in texts.
    pub name: String,
    /// Whether an instruction sees what the one before it wrote. Otherwise a barrier of the unit stands between them.
    pub completes_in_order: bool,
}

/// Where elements are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Side {
    /// In tensors, outside of all memories of the table.
    Global,
    /// In a memory of the table.
    Memory(MemoryId),
}

/// A transfer that a unit makes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Move {
    /// The unit.
    pub unit: UnitId,
    /// From where.
    pub from: Side,
    /// To where.
    pub to: Side,
}

/// Operations that a unit computes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Compute {
    /// Words of operations: that of a form (`unary`), or with that of one operation of it (`unary exp`, `row_reduce sum`).
    /// `tile_max` and `tile_sum` give a scalar.
    pub ops: Vec<String>,
    /// The unit.
    pub unit: UnitId,
    /// A second unit that works in the same instruction, once the first is done.
    pub then: Option<UnitId>,
    /// Where each tile must be, in the order of the operation's fields; the last entry holds for all further tiles.
    pub tiles: Vec<MemoryId>,
    /// Element types of its tiles; all where there are none.
    pub elems: Vec<DType>,
}

impl Compute {
    /// Whether it is a rule for the operation with these words on tiles of these element types.
    pub fn does(&self, words: &str, elems: &[DType]) -> bool {
        let form = words.split(' ').next().unwrap_or(words);
        self.ops.iter().any(|op| op == words || op == form)
            && (self.elems.is_empty() || elems.iter().all(|elem| self.elems.contains(elem)))
    }

    /// Where it needs a tile of the operation, by the place of the tile among its fields.
    ///
    /// # Panics
    /// When the rule names no memory, which [`Memories::verify`] rules out.
    pub fn memory_of(&self, tile: usize) -> MemoryId {
        self.tiles[tile.min(self.tiles.len() - 1)]
    }
}

/// Events: flags that one unit sets and another waits for and clears.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Events {
    /// Events that programs may use per ordered pair of units, without reserved ones.
    pub per_pair: u8,
    /// Ordered pairs of units that have no events: a barrier of all units stands in their place.
    pub without: Vec<(UnitId, UnitId)>,
    /// Events that programs may use from units of one core to units of another, all pairs of them together.
    pub between: u8,
}

/// The memories and units of a core, or of two that work on one program, and the rules for them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Memories {
    /// Name of the target in messages.
    pub name: String,
    /// Memories.
    pub memories: Vec<Memory>,
    /// Units.
    pub units: Vec<Unit>,
    /// The unit that evaluates scalars and hands instructions to the others.
    pub scalar: UnitId,
    /// Units of a second core. Another unit of scalars, which runs no instruction of its own, follows the control flow there and hands them
    /// their instructions.
    pub second: Vec<UnitId>,
    /// Transfers.
    pub moves: Vec<Move>,
    /// Computations. Of several rules that fit, the one that needs fewest transfers counts, then the first.
    pub computes: Vec<Compute>,
    /// Where tiles of each role are between operations.
    pub homes: Vec<(TileRole, MemoryId)>,
    /// Events.
    pub events: Events,
}

/// Most units of a table: sets of units are words.
pub const MAX_UNITS: usize = 32;

/// Most memories of a table: their ids are bytes.
const MAX_MEMORIES: usize = 256;

impl Memories {
    /// A memory.
    ///
    /// # Panics
    /// When the id is not of this table.
    pub fn memory(&self, id: MemoryId) -> &Memory {
        &self.memories[id.index()]
    }

    /// The name of a unit.
    ///
    /// # Panics
    /// When the id is not of this table.
    pub fn unit_name(&self, id: UnitId) -> &str {
        &self.units[id.index()].name
    }

    /// The name of a side.
    pub fn side_name(&self, side: Side) -> &str {
        match side {
            Side::Global => "global memory",
            Side::Memory(id) => &self.memory(id).name,
        }
    }

    /// Where tiles of a role are.
    pub fn home(&self, role: TileRole) -> Option<MemoryId> {
        self.homes.iter().find(|(of, _)| *of == role).map(|(_, memory)| *memory)
    }

    /// The unit of a direct transfer.
    pub fn mover(&self, from: Side, to: Side) -> Option<UnitId> {
        self.moves.iter().find(|m| m.from == from && m.to == to).map(|m| m.unit)
    }

    /// Events that one unit may set for another.
    pub fn events(&self, from: UnitId, to: UnitId) -> u32 {
        let all = if self.same_core(from, to) { self.events.per_pair } else { self.events.between };
        if self.events.without.contains(&(from, to)) { 0 } else { u32::from(all) }
    }

    /// Whether two units are of one core.
    pub fn same_core(&self, a: UnitId, b: UnitId) -> bool {
        self.second.contains(&a) == self.second.contains(&b)
    }

    /// The units of the core of a unit.
    pub(crate) fn core_of(&self, unit: UnitId) -> impl Iterator<Item = UnitId> {
        let all = (0..self.units.len()).map(|at| UnitId(at as u8));
        all.filter(move |other| self.same_core(unit, *other))
    }

    /// The ordered pair of units that stands for all whose events have the numbers of this pair: events between cores are of a direction,
    /// and not of a pair.
    pub(crate) fn numbered(&self, from: UnitId, to: UnitId) -> (UnitId, UnitId) {
        let first = |unit: UnitId| self.core_of(unit).next().unwrap_or(unit);
        if self.same_core(from, to) { (from, to) } else { (first(from), first(to)) }
    }

    /// What is wrong with the table itself: ids that name nothing, sizes of 0, alignments that are no powers of two.
    pub fn verify(&self) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        let mut require = |holds: bool, what: &dyn Fn() -> String| {
            if !holds {
                found.push(Diagnostic::error(codes::TABLE, format!("the table `{}`: {}", self.name, what())));
            }
        };
        let unit = |id: UnitId| id.index() < self.units.len();
        let memory = |id: MemoryId| id.index() < self.memories.len();
        let side = |side: Side| if let Side::Memory(id) = side { memory(id) } else { true };
        require(self.units.len() <= MAX_UNITS, &|| {
            format!("{} units; at most {MAX_UNITS} are possible", self.units.len())
        });
        require(self.memories.len() <= MAX_MEMORIES, &|| {
            format!("{} memories; at most {MAX_MEMORIES} are possible", self.memories.len())
        });
        require(unit(self.scalar), &|| format!("unit {} for scalars does not exist", self.scalar.0));
        require(self.events.between == 0 || !self.second.is_empty(), &|| {
            format!("{} events between cores, and no second core", self.events.between)
        });
        for c in self.computes.iter().filter(|c| c.then.is_some_and(|then| !self.same_core(c.unit, then))) {
            require(false, &|| format!("the rule for {:?} has units of two cores", c.ops));
        }
        for id in &self.second {
            require(unit(*id) && *id != self.scalar, &|| {
                format!("unit {} of the second core does not exist, or is that for scalars", id.0)
            });
        }
        for m in &self.memories {
            let fits = m.capacity > 0 && m.granule > 0 && m.alignment.is_power_of_two();
            require(fits, &|| {
                format!(
                    "`{}` has capacity {}, granule {}, alignment {}; the first two are at least 1, the last is a power of two",
                    m.name, m.capacity, m.granule, m.alignment
                )
            });
        }
        for m in &self.moves {
            require(unit(m.unit) && side(m.from) && side(m.to) && m.from != m.to, &|| {
                format!("a transfer from {:?} to {:?} by unit {}", m.from, m.to, m.unit.0)
            });
        }
        for c in &self.computes {
            let known = unit(c.unit)
                && c.then.is_none_or(|then| unit(then) && then != c.unit)
                && !c.tiles.is_empty()
                && c.tiles.iter().all(|m| memory(*m));
            require(known, &|| {
                format!("the rule for {:?} names a unit or memory that does not exist", c.ops)
            });
            for word in c.ops.iter().filter(|word| !is_operation(word)) {
                require(false, &|| format!("no operation is called `{word}`"));
            }
        }
        for (role, home) in &self.homes {
            require(memory(*home), &|| format!("the home of {role:?} does not exist"));
        }
        found
    }
}

/// Whether a word is that of a form, that of one operation of it, or that of a tile's value.
fn is_operation(word: &str) -> bool {
    let of_tile = |op: &ReduceOp| word.strip_prefix("tile_") == Some(op.word());
    let (form, one) = word.split_once(' ').unwrap_or((word, ""));
    let named = TILE_OPS.iter().any(|row| row.form == form && (one.is_empty() || row.word() == one));
    named || ReduceOp::ALL.iter().any(of_tile)
}
