//! Where processes stand: each on a tile of its kind, so that data flows over few hops and no tile is asked for more than it has.
//!
//! The cost of a placement is the sum, over nets and their consumers, of traffic × Manhattan distance. Up to [`EXACT`] nodes that may
//! move it is the least there is, with a [`Proof`] that [`Proof::check`] follows without the search; above, it is the best of a search,
//! beside a lower bound of all placements.

mod bound;
mod exact;
mod load;
mod proof;
mod repair;
mod search;

pub use proof::{Proof, Unproven};

use crate::codes;
use crate::device::{Device, STACK, Tile, TileKind};
use load::Load;
use wsp_diag::Diagnostic;

/// Most nodes that may move of a graph whose placement is proven to cost least.
pub const EXACT: usize = 8;

/// Moves and exchanges that are looked at for each node of a larger graph.
pub const STEPS: u32 = 30_000;

/// Most traffic of a net: what placements of 2^15 such nets cost, to 31 consumers over 12 tiles, is counted in 64 bits.
pub const MOST_TRAFFIC: u64 = 1 << 40;

/// What is to be placed.
#[derive(Clone, PartialEq, Debug)]
pub struct Graph {
    /// The array.
    pub device: Device,
    /// Processes, memories, and transfers of the host.
    pub nodes: Vec<Node>,
    /// What flows between them.
    pub nets: Vec<Net>,
}

/// What stands on a tile. A compute tile has room for one; tiles of memory and of the shim for as many as their channels and bytes allow.
#[derive(Clone, PartialEq, Debug)]
pub struct Node {
    /// What messages call it.
    pub name: String,
    /// The kind of tile that it needs.
    pub kind: TileKind,
    /// Bytes of memory of its own, without those of nets. On compute tiles the stack, [`STACK`], comes on top; on shim tiles they are the
    /// host's.
    pub bytes: u64,
    /// The tile that it has to stand on, where there is one.
    pub at: Option<Tile>,
}

/// A flow of objects from one node to others, each of which gets all.
#[derive(Clone, PartialEq, Debug)]
pub struct Net {
    /// What messages call it.
    pub name: String,
    /// The node that makes objects.
    pub from: usize,
    /// The nodes that take them; not empty.
    pub to: Vec<usize>,
    /// Bytes that flow in a run, or what is in proportion to them; [`MOST_TRAFFIC`] at most.
    pub traffic: u64,
    /// Bytes of the objects that are in memory at one end.
    pub bytes: u64,
    /// Neighbours, too, use channels and memory at both ends.
    pub via_dma: bool,
}

/// Nodes on tiles.
#[derive(Clone, PartialEq, Debug)]
pub struct Placement {
    /// By node, its tile.
    pub tiles: Vec<Tile>,
    /// What it costs: traffic × hops.
    pub cost: u64,
    /// What no placement is below.
    pub bound: u64,
    /// That nothing costs less, where that was proven.
    pub proof: Option<Proof>,
}

impl Placement {
    /// How far the cost may be above the least one, as a part of the bound; 0 where it is the least.
    pub fn gap(&self) -> f64 {
        if self.cost == self.bound { 0.0 } else { (self.cost - self.bound) as f64 / self.bound.max(1) as f64 }
    }
}

/// Places a graph.
///
/// # Errors
/// What an array has too little of, with numbers; a graph that names nodes or tiles that are not there.
pub fn place(graph: &Graph) -> Result<Placement, Diagnostic> {
    place_within(graph, STEPS)
}

/// Places a graph of more than [`EXACT`] nodes with so many moves and exchanges per node, fewer of which may cost more.
///
/// # Errors
/// As [`place`].
pub fn place_within(graph: &Graph, steps: u32) -> Result<Placement, Diagnostic> {
    graph.verify()?;
    let movable = graph.nodes.iter().filter(|node| node.at.is_none()).count();
    let tiles = search::best(graph, steps);
    if movable <= EXACT {
        return exact::least(graph, tiles);
    }
    crate::stop::look()?;
    if let Some(excess) = graph.excess(&all(&tiles)) {
        return Err(excess("no placement was found that fits"));
    }
    let bound = bound::root(graph);
    Ok(Placement { cost: graph.cost(&tiles), bound, tiles, proof: None })
}

/// The placement of a graph whose nets have more bytes, where this one takes them too: what it costs does not follow from them, and what asked a tile for too much still does.
pub fn place_again(graph: &Graph, tiles: &[Tile], proof: Option<&Proof>) -> Option<Placement> {
    if tiles.len() != graph.nodes.len() || !graph.is_legal(tiles) {
        return None;
    }
    let cost = graph.cost(tiles);
    let mut again = Placement { cost, bound: bound::root(graph), tiles: tiles.to_vec(), proof: None };
    if let Some(proof) = proof {
        proof.check(graph, &again).ok()?;
        (again.bound, again.proof) = (cost, Some(proof.clone()));
    }
    Some(again)
}

fn refused(text: String) -> Diagnostic {
    Diagnostic::error(codes::CAPACITY, text)
}

impl Graph {
    /// What can be said before anything is placed.
    fn verify(&self) -> Result<(), Diagnostic> {
        for net in &self.nets {
            if net.to.is_empty() || net.to.iter().chain([&net.from]).any(|node| *node >= self.nodes.len()) {
                let text = format!("net `{}` has an end that is no node", net.name);
                return Err(Diagnostic::error(codes::GRAPH, text));
            }
            if net.traffic > MOST_TRAFFIC {
                let (name, traffic) = (&net.name, net.traffic);
                let text = format!("net `{name}` has a traffic of {traffic}, and {MOST_TRAFFIC} is the most");
                return Err(Diagnostic::error(codes::GRAPH, text));
            }
            if net.bytes > load::MOST {
                let (name, bytes) = (&net.name, net.bytes);
                return Err(refused(format!(
                    "net `{name}` has objects of {bytes} bytes, more than any tile has"
                )));
            }
        }
        for node in &self.nodes {
            if let Some(tile) = node.at {
                let there = self.device.kind(tile).map_or("no tile", TileKind::name);
                if there != node.kind.name() {
                    let text = format!(
                        "`{}` is to stand on a {} at {tile}, where {} has {}{there}",
                        node.name,
                        node.kind.name(),
                        self.device.name,
                        if there == "no tile" { "" } else { "a " },
                    );
                    return Err(Diagnostic::error(codes::GRAPH, text));
                }
            }
            let (have, need) = (node.kind.model().memory, self.least_bytes(node));
            if need > have && node.kind != TileKind::Shim {
                return Err(refused(format!(
                    "`{}` needs {need} bytes, {} more than the {have} of a {}",
                    node.name,
                    need - have,
                    node.kind.name()
                )));
            }
        }
        let cores = self.nodes.iter().filter(|node| node.kind == TileKind::Compute).count();
        let tiles = self.candidates(TileKind::Compute).count();
        if cores > tiles {
            return Err(refused(format!(
                "{cores} processes need a core each, {} more than the {tiles} of {}",
                cores - tiles,
                self.device.name
            )));
        }
        for (at, node) in self.nodes.iter().enumerate() {
            let other = self.nodes[..at]
                .iter()
                .find(|other| other.kind == TileKind::Compute && node.at.is_some() && other.at == node.at);
            if let (Some(other), Some(tile)) = (other, node.at) {
                return Err(refused(format!(
                    "`{}` and `{}` are to stand on one tile, {tile}",
                    other.name, node.name
                )));
            }
        }
        Ok(())
    }

    /// The bytes that a node takes wherever it stands, without those of nets.
    fn least_bytes(&self, node: &Node) -> u64 {
        node.bytes.saturating_add(if node.kind == TileKind::Compute { STACK } else { 0 })
    }

    /// The tiles of a kind.
    fn candidates(&self, kind: TileKind) -> impl Iterator<Item = Tile> + use<> {
        let device = self.device;
        device.tiles().filter(move |tile| device.kind(*tile) == Some(kind))
    }

    /// Traffic × hops of a placement.
    pub fn cost(&self, tiles: &[Tile]) -> u64 {
        let hops = |net: &Net| net.to.iter().map(|to| distance(tiles[net.from], tiles[*to])).sum::<u64>();
        self.nets.iter().map(|net| net.traffic * hops(net)).sum()
    }

    /// Whether a net needs a channel and memory at an end: false where that hangs on a tile that is not known yet.
    fn uses_channels(&self, net: &Net, from: Option<Tile>, to: Option<Tile>) -> bool {
        let may_share = self.may_share(net);
        match (from, to) {
            (Some(from), Some(to)) if may_share => !from.shares_with(to),
            _ => !may_share,
        }
    }

    /// The node on whose tile the objects of a net are that its first end makes: of neighbours, the one whose memory both reach, else that end. None where that hangs on a tile that
    /// is not known yet.
    fn home(&self, net: &Net, at: impl Fn(usize) -> Option<Tile>) -> Option<usize> {
        if !self.may_share(net) {
            return Some(net.from);
        }
        let (from, to) = (at(net.from)?, at(net.to[0])?);
        Some(if from.shares_with(to) && !to.reaches(from) { net.to[0] } else { net.from })
    }

    /// Whether the objects of a net are in one memory where its ends are neighbours.
    fn may_share(&self, net: &Net) -> bool {
        let is_core = |node: usize| self.nodes[node].kind == TileKind::Compute;
        !net.via_dma && net.to.len() == 1 && is_core(net.from) && is_core(net.to[0])
    }

    /// Whether no tile is asked for more than it has, and compute tiles hold one node each.
    pub fn is_legal(&self, tiles: &[Tile]) -> bool {
        self.overload(&all(tiles)) == 0
    }

    /// The refusal of what is too much on a tile, where something is.
    fn excess(&self, tiles: &[Option<Tile>]) -> Option<impl FnOnce(&str) -> Diagnostic> {
        let load = Load::of(self, tiles);
        self.device.tiles().find_map(|tile| {
            let kind = self.device.kind(tile)?;
            let load::Excess { need, have, what, figure } = load.excess(tile, |node| tiles[node])?;
            Some(move |found: &str| {
                let mut fault = refused(format!(
                    "{found}: in the best of them the {} {tile} is asked for {need} {what} and has {have}",
                    kind.name()
                ));
                fault.figures.push((figure, need - have));
                fault.help("split a node, or give several of its nets one channel by way of a memory tile")
            })
        })
    }

    /// How much more than they have tiles are asked for at least, when these nodes stand where they do: processes, channels, and 4 KiB of memory.
    fn overload(&self, tiles: &[Option<Tile>]) -> u64 {
        Load::of(self, tiles).over()
    }
}

fn all(tiles: &[Tile]) -> Vec<Option<Tile>> {
    tiles.iter().copied().map(Some).collect()
}

/// The figure of a refusal that says how many channels of a tile are missing.
pub(crate) const MISSING_CHANNELS: &str = "missing_channels";

/// Hops between two tiles.
fn distance(a: Tile, b: Tile) -> u64 {
    u64::from(a.col.abs_diff(b.col) + a.row.abs_diff(b.row))
}
