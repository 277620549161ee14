//! Strings of a unit, and what its numbers are called.

use rustc_hash::FxHashMap;
use std::sync::OnceLock;
use wsp_core::tg::{GraphNo, Symbol};

/// Strings in one piece of memory, each that is interned once.
#[derive(Clone, Debug, Default)]
pub struct Strings {
    text: String,
    /// Where each ends.
    ends: Vec<u32>,
    /// By hash; of strings with the same hash, each that comes later is at the next free number. Made when a string is looked
    /// for: a unit that is loaded and run needs none.
    known: OnceLock<FxHashMap<u64, u32>>,
}

impl PartialEq for Strings {
    fn eq(&self, other: &Strings) -> bool {
        self.text == other.text && self.ends == other.ends
    }
}

impl Strings {
    /// The strings that lie behind each other in a text, with where each ends. None if the ends do not rise, or lie beyond the
    /// text or inside of a character.
    pub fn from_parts(text: String, ends: Vec<u32>) -> Option<Strings> {
        let fits = |&end: &u32| text.is_char_boundary(end as usize);
        let whole = ends.last().map_or(0, |&end| end as usize) == text.len();
        (whole && ends.is_sorted() && ends.iter().all(fits)).then(|| Strings {
            text,
            ends,
            known: OnceLock::new(),
        })
    }

    /// The symbol of a string, which is added if need be.
    pub fn intern(&mut self, text: &str) -> Symbol {
        let mut known = self.known.take().unwrap_or_else(|| self.index());
        let (key, found) = self.find(&known, text);
        let symbol = found.unwrap_or(self.ends.len() as u32);
        if found.is_none() {
            self.text.push_str(text);
            self.ends.push(self.text.len() as u32);
            known.insert(key, symbol);
        }
        self.known = OnceLock::from(known);
        Symbol(symbol)
    }

    /// Where a string is in the index, or the free place for it.
    fn find(&self, known: &FxHashMap<u64, u32>, text: &str) -> (u64, Option<u32>) {
        let mut key = hash(text);
        while let Some(&found) = known.get(&key) {
            if self.get(Symbol(found)) == text {
                return (key, Some(found));
            }
            key = key.wrapping_add(1);
        }
        (key, None)
    }

    /// The index of all strings; of equal ones, of the first.
    fn index(&self) -> FxHashMap<u64, u32> {
        let mut known = FxHashMap::with_capacity_and_hasher(self.ends.len(), Default::default());
        for symbol in 0..self.ends.len() as u32 {
            if let (key, None) = self.find(&known, self.get(Symbol(symbol))) {
                known.insert(key, symbol);
            }
        }
        known
    }

    /// The string of a symbol; nothing for one of another unit.
    pub fn get(&self, symbol: Symbol) -> &str {
        let at = symbol.0 as usize;
        let start = if at == 0 { 0 } else { self.ends.get(at - 1).map_or(0, |&end| end as usize) };
        self.ends.get(at).and_then(|&end| self.text.get(start..end as usize)).unwrap_or("")
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}

fn hash(text: &str) -> u64 {
    use std::hash::{Hash as _, Hasher as _};
    let mut hasher = rustc_hash::FxHasher::default();
    text.hash(&mut hasher);
    hasher.finish()
}

/// What a number numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Namespace {
    /// Graphs.
    Graph = 0,
    /// Kernels of one graph.
    Kernel = 1,
    /// Tensors: of one graph if it allocates them, else of the unit.
    Tensor = 2,
    /// Events.
    Event = 3,
    /// Barriers of one graph.
    Barrier = 4,
    /// Notifications.
    Notify = 5,
    /// Devices.
    Device = 6,
    /// Partitions.
    Partition = 7,
    /// Loop variables.
    Iter = 8,
    /// Streams.
    Stream = 9,
    /// Checkpoints.
    Checkpoint = 10,
}

impl Namespace {
    /// All of them, by number.
    pub const ALL: [Namespace; 11] = [
        Namespace::Graph,
        Namespace::Kernel,
        Namespace::Tensor,
        Namespace::Event,
        Namespace::Barrier,
        Namespace::Notify,
        Namespace::Device,
        Namespace::Partition,
        Namespace::Iter,
        Namespace::Stream,
        Namespace::Checkpoint,
    ];

    /// What one of them is called in messages.
    pub const fn noun(self) -> &'static str {
        match self {
            Namespace::Graph => "graph",
            Namespace::Kernel => "kernel",
            Namespace::Tensor => "tensor",
            Namespace::Event => "event",
            Namespace::Barrier => "barrier",
            Namespace::Notify => "notification",
            Namespace::Device => "device",
            Namespace::Partition => "partition",
            Namespace::Iter => "loop variable",
            Namespace::Stream => "stream",
            Namespace::Checkpoint => "checkpoint",
        }
    }

    /// Whether each graph has its own.
    pub const fn is_per_graph(self) -> bool {
        matches!(self, Namespace::Kernel | Namespace::Barrier)
    }
}

/// Names of numbers, where they have one.
///
/// Kernels and barriers are named per graph; everything else for the whole unit.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// In the order in which they were named.
    list: Vec<(Namespace, GraphNo, u32, Symbol)>,
    /// Made when a name is looked for.
    by_number: OnceLock<FxHashMap<(Namespace, GraphNo, u32), Symbol>>,
}

impl PartialEq for Names {
    fn eq(&self, other: &Names) -> bool {
        self.list == other.list
    }
}

impl FromIterator<(Namespace, GraphNo, u32, Symbol)> for Names {
    /// Names in the order in which they were given; of several for one number, the first is its name.
    fn from_iter<T: IntoIterator<Item = (Namespace, GraphNo, u32, Symbol)>>(names: T) -> Names {
        let list = names.into_iter().map(|(space, graph, number, name)| {
            let (space, graph, number) = key(space, graph, number);
            (space, graph, number, name)
        });
        Names { list: list.collect(), by_number: OnceLock::new() }
    }
}

/// What a name is found by.
fn key(space: Namespace, graph: GraphNo, number: u32) -> (Namespace, GraphNo, u32) {
    (space, if space.is_per_graph() { graph } else { GraphNo(0) }, number)
}

impl Names {
    /// Names a number. `graph` matters for what each graph has of its own. The first name stays.
    pub fn set(&mut self, space: Namespace, graph: GraphNo, number: u32, name: Symbol) {
        let mut by_number = self.by_number.take().unwrap_or_else(|| self.index());
        let (space, graph, number) = key(space, graph, number);
        if let std::collections::hash_map::Entry::Vacant(vacant) = by_number.entry((space, graph, number)) {
            vacant.insert(name);
            self.list.push((space, graph, number, name));
        }
        self.by_number = OnceLock::from(by_number);
    }

    /// The name of a number.
    pub fn get(&self, space: Namespace, graph: GraphNo, number: u32) -> Option<Symbol> {
        self.by_number.get_or_init(|| self.index()).get(&key(space, graph, number)).copied()
    }

    /// All of them, in the order in which they were given.
    pub fn iter(&self) -> impl Iterator<Item = (Namespace, GraphNo, u32, Symbol)> + '_ {
        self.list.iter().copied()
    }

    fn index(&self) -> FxHashMap<(Namespace, GraphNo, u32), Symbol> {
        let mut by_number = FxHashMap::with_capacity_and_hasher(self.list.len(), Default::default());
        for &(space, graph, number, name) in &self.list {
            by_number.entry((space, graph, number)).or_insert(name);
        }
        by_number
    }
}
