//! Tiles for cores, memories and transfers of the host, and ways for what flows between them.

use super::assign::Assigned;
use super::deep::Deep;
use super::flow::{End, Flows, Stream};
use super::host::{HostEnd, OF_LINK};
use super::refused;
use super::sizes;
use super::trace::Trace;
use crate::codes;
use crate::design::Design;
use crate::device::{Device, Tile, TileKind};
use crate::mlir::Type;
use crate::place::{self, Graph, MISSING_CHANNELS, Net, Node, Proof};
use crate::route::{self, Outcome};
use wsp_diag::Diagnostic;

/// Where everything is.
#[derive(Clone, Debug)]
pub struct Placed {
    /// What was placed.
    pub graph: Graph,
    /// By node of the graph, its tile.
    pub tiles: Vec<Tile>,
    /// What it costs: traffic × hops.
    pub cost: u64,
    /// How far from the least cost it may be, as a part of the bound.
    pub gap: f64,
    /// Whether it is proven that nothing costs less.
    pub proven: bool,
    /// That nothing costs less.
    proof: Option<Proof>,
    /// Tiles of cores.
    pub(super) cores: Vec<Tile>,
    /// By fifo at the host, its shim tile.
    pub(super) hosts: Vec<Tile>,
    /// By fifo at the host, its memory tile, where it goes by way of one.
    pub(super) memories: Vec<Option<Tile>>,
}

/// # Errors
/// More than the array has, with numbers.
pub(super) fn place(
    trace: &Trace,
    assigned: &Assigned,
    (flows, deep, buffers): (&Flows, &Deep, &[Vec<Type>]),
    (ends, before): (&[HostEnd], Option<&Placed>),
    (device, steps): (Device, u32),
) -> Result<Placed, Diagnostic> {
    let mut graph = Graph { device, nodes: Vec::new(), nets: Vec::new() };
    for (core, name) in assigned.names.iter().enumerate() {
        let bytes = buffers[core].iter().filter_map(Type::bytes);
        let grid = trace.grid.unwrap_or(1).max(1);
        let at = assigned.tiles[core].map(|tile| Tile::new(tile % grid, 2 + tile / grid));
        let kind = TileKind::Compute;
        graph.nodes.push(Node { name: name.clone(), kind, bytes: bytes.sum(), at });
    }
    let name = |end: &HostEnd| {
        let tensor = flows.streams[end.streams[0]].tensor;
        format!("{} of `{}`", if end.into { "results" } else { "elements" }, trace.tensors[tensor].name)
    };
    let (mut host_of, mut memory_of) = (Vec::new(), Vec::new());
    for end in ends {
        let node = |kind| Node { name: name(end), kind, bytes: 0, at: None };
        host_of.push(graph.nodes.len());
        graph.nodes.push(node(TileKind::Shim));
        memory_of.push((end.streams.len() > 1).then_some(graph.nodes.len()));
        if end.streams.len() > 1 {
            graph.nodes.push(node(TileKind::Memory));
        }
    }
    let node_at = |stream: usize, end: &End| match end {
        End::Core(core) => *core,
        End::Host => {
            let at = ends.iter().position(|of| {
                of.streams.contains(&stream) && of.into == (flows.streams[stream].from != End::Host)
            });
            let at = at.unwrap_or(0);
            memory_of[at].unwrap_or(host_of[at])
        }
    };
    let bytes_of = |stream: usize| {
        let of = &flows.streams[stream];
        of.boxes[0].elements() * trace.tensors[of.tensor].dtype.size() as u64
    };
    for (at, of) in flows.streams.iter().enumerate() {
        graph.nets.push(Net {
            name: format!("boxes of `{}`", trace.tensors[of.tensor].name),
            from: node_at(at, &of.from),
            to: of.to.iter().map(|end| node_at(at, end)).collect(),
            traffic: bytes_of(at) * of.boxes.len() as u64,
            bytes: bytes_of(at) * u64::from(deep.room(at, of)),
            via_dma: false,
        });
    }
    for (end, (host, memory)) in ends.iter().zip(host_of.iter().zip(&memory_of)) {
        let Some(memory) = memory else { continue };
        let bytes: u64 = end.streams.iter().map(|stream| bytes_of(*stream)).sum();
        let of_part = |at: &usize| bytes_of(*at) * u64::from(deep.room(*at, &flows.streams[*at]));
        let of_parts: u64 = end.streams.iter().map(of_part).sum();
        let (from, to) = if end.into { (*memory, *host) } else { (*host, *memory) };
        let boxes = flows.streams[end.streams[0]].boxes.len() as u64;
        graph.nets.push(Net {
            name: name(end),
            from,
            to: vec![to],
            traffic: bytes * boxes,
            // A memory tile has the objects of a link, and the fifos of its parts count theirs on both of their tiles: what they leave. Parts with room for more objects than a link has count for more than the memory tile holds.
            bytes: (bytes * u64::from(OF_LINK)).saturating_sub(of_parts),
            via_dma: false,
        });
    }
    let again = before.and_then(|of| place::place_again(&graph, &of.tiles, of.proof.as_ref())).map(Ok);
    let placement = again.unwrap_or_else(|| place::place_within(&graph, steps));
    let placement = placement.map_err(|fault| match fault.code {
        codes::GRAPH if trace.grid.is_some() => fault.help(format!(
            "map tasks to a grid of at most {} columns and {} rows: `spatial_map(({}, {}))`",
            device.cols,
            device.rows - 2,
            device.cols,
            device.rows - 2
        )),
        codes::CAPACITY => {
            let fault = sizes::with_sizes(fault, trace, (flows, assigned, buffers));
            with_channels(fault, trace, (flows, assigned))
        }
        _ => fault,
    })?;
    Ok(Placed {
        cores: placement.tiles[..assigned.names.len()].to_vec(),
        hosts: host_of.iter().map(|node| placement.tiles[*node]).collect(),
        memories: memory_of.iter().map(|node| node.map(|node| placement.tiles[node])).collect(),
        cost: placement.cost,
        gap: placement.gap(),
        proven: placement.proof.is_some(),
        proof: placement.proof,
        tiles: placement.tiles,
        graph,
    })
}

/// Which core has more fifos than channels, what is in them, and what a program has to have less of.
#[cold]
fn with_channels(mut fault: Diagnostic, trace: &Trace, (flows, assigned): (&Flows, &Assigned)) -> Diagnostic {
    let have = TileKind::Compute.model().channels as usize;
    let of_core = |core: usize, produces: bool| {
        let uses = flows.uses[core].iter().filter(move |of| of.produces == produces);
        uses.map(|of| &flows.streams[of.stream]).collect::<Vec<&Stream>>()
    };
    // One core and another with nothing beside them may stand where they share memory.
    let is_apart = |of: &&&Stream| of.from == End::Host || !matches!(of.to.as_slice(), [End::Core(_)]);
    let count = |(core, produces): &(usize, bool)| {
        let all = of_core(*core, *produces);
        (all.iter().filter(is_apart).count(), all.len())
    };
    if fault.figures.iter().all(|(figure, _)| *figure != MISSING_CHANNELS) {
        return fault;
    }
    let all = (0..assigned.names.len()).flat_map(|core| [(core, false), (core, true)]);
    let Some((core, produces)) =
        all.max_by_key(|end| (count(end), std::cmp::Reverse(end.0))).filter(|end| count(end).1 > have)
    else {
        return fault;
    };
    let all = of_core(core, produces);
    let needs = all.iter().filter(is_apart).count() > have;
    let tensors: Vec<usize> = all.iter().filter(|of| !needs || is_apart(of)).map(|of| of.tensor).collect();
    let names: Vec<String> = tensors.iter().map(|at| format!("`{}`", trace.tensors[*at].name)).collect();
    let (verb, way) = if produces { ("makes", "out of") } else { ("takes", "into") };
    fault.help = vec![format!(
        "have kernels of `{}` {} fewer tensors, such as two of one size as the halves of one, or put what one kernel does into two, each a process of a pipeline with a core of its own",
        assigned.names[core],
        if produces { "store" } else { "load" }
    )];
    let written = |at: &&usize| {
        trace.tasks.iter().zip(&assigned.core_of).any(|(task, of)| {
            *of == core && task.touches.iter().any(|touch| touch.tensor == **at && touch.write)
        })
    };
    let kept: Vec<&usize> = tensors.iter().filter(|_| !produces).filter(written).collect();
    for at in kept {
        let name = &trace.tensors[*at].name;
        fault.help.push(format!("or have tasks store whole boxes of `{name}`: what one leaves of a box comes by a fifo as what it loads does"));
    }
    let which = if needs {
        "that need a channel each"
    } else {
        "of which those between neighbours need no channel, but the others are no neighbours in any place that was found"
    };
    fault.note(format!(
        "`{}` {verb} boxes of {} by {} fifos {which}, and a core has {have} channels {way} its memory; fifos from one core to one neighbour need none, and tensors of one size and type between the host and a core share one, but for those that are held beside {} boxes",
        assigned.names[core],
        names.join(", "),
        names.len(),
        TileKind::Compute.model().descriptors
    ))
}

/// Shows that the streams of a design have ways.
///
/// # Errors
/// There are none, or none was found.
pub(super) fn route(design: &Design) -> Result<(), Diagnostic> {
    let streams: Vec<route::Stream> = design
        .fifos
        .iter()
        .filter(|fifo| !fifo.is_shared())
        .map(|fifo| route::Stream {
            name: fifo.name.clone(),
            from: fifo.producer.tile,
            to: fifo.consumers.iter().map(|end| end.tile).collect(),
            packets: false,
        })
        .collect();
    let fault = match route::route(&design.device, &streams) {
        Outcome::Routed(routes) => match route::verify(&design.device, &streams, &routes) {
            Ok(()) => return Ok(()),
            Err(wrong) => refused(format!("a way of a stream is wrong: {wrong:?}")),
        },
        Outcome::Infeasible(cut) => refused(format!("the streams of the design have no ways: {cut:?}")),
        Outcome::GaveUp { rounds, crowded } => {
            let links = crowded.iter().map(|(from, to)| format!("{from} to {to}")).collect::<Vec<_>>();
            refused(format!("no ways were found for the streams of the design in {rounds} rounds"))
                .note(format!("crowded links: {}", links.join(", ")))
        }
    };
    Err(fault.help("use fewer cores, or have more of them read the same boxes"))
}
