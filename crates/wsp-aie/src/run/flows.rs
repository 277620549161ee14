//! Streams that are no fifos, with the chains of descriptors at their ends.

use super::chain::{Bd, Chain, Change};
use super::net::{Made, Net, Stream, StreamEnd};
use super::not_run;
use super::places::places;
use crate::codes;
use crate::design::{Design, Port, TileDma, User, packet};
use crate::device::{Bundle, Direction};
use crate::mlir::{Attr, Op};
use std::collections::VecDeque;
use wsp_diag::{Diagnostic, Span};

/// Adds the streams of a design's flows.
pub(super) fn add(design: &Design, net: &mut Net) -> Made<()> {
    if let Some(cascade) = design.cascades.first() {
        return Err(not_run("a cascade", cascade.span));
    }
    let mut flows: Vec<(Port, Vec<Port>, Option<usize>, Span)> = Vec::new();
    for flow in &design.flows {
        match flows.iter_mut().find(|(from, ..)| *from == flow.from) {
            Some((_, to, ..)) => to.push(flow.to),
            None => flows.push((flow.from, vec![flow.to], None, flow.span)),
        }
    }
    for (at, packets) in design.packets.iter().enumerate() {
        let [from] = packets.from.as_slice() else {
            return Err(not_run("packets from several ports", packets.span));
        };
        let shared = flows
            .iter()
            .any(|(other, to, ..)| other == from || to.iter().any(|port| packets.to.contains(port)));
        // Alone on their ports they arrive as a stream does.
        if shared || packets.keep_header == Some(true) {
            return Err(not_run("packets that share a port, or keep their headers", packets.span));
        }
        flows.push((*from, packets.to.clone(), Some(at), packets.span));
    }
    for (from, to, packets, span) in flows {
        let start = end(design, from, Direction::Mm2s, span)?;
        let number = packets.map(|at| design.packets[at].id);
        if let StreamEnd::Chain(chain) = &start
            && chain.bds.iter().any(|bd| bd.packet != number)
        {
            return Err(not_run("a descriptor whose packets have another number than its stream", span));
        }
        let to =
            to.into_iter().map(|port| end(design, port, Direction::S2mm, span)).collect::<Made<Vec<_>>>()?;
        let name = format!("the stream from channel {} of tile {}", from.channel, from.tile);
        net.streams.push(Stream { name, packets, from: start, to });
    }
    Ok(())
}

/// What is at a port: a channel of the host, or one that a tile's own chain drives.
fn end(design: &Design, port: Port, direction: Direction, span: Span) -> Made<StreamEnd> {
    if port.bundle != Bundle::Dma {
        return Err(not_run("a stream that begins or ends elsewhere than at a channel", span));
    }
    if port.tile.row == 0 {
        let given = |given: &&crate::design::Allocation| {
            given.tile == port.tile && given.direction == direction && given.channel == port.channel
        };
        let symbol =
            design.allocations.iter().find(given).map(|given| given.name.clone()).unwrap_or_default();
        let channel = Some((port.tile, direction, port.channel));
        return Ok(StreamEnd::Host { symbol, channel, queue: VecDeque::new(), ended: VecDeque::new() });
    }
    for dma in design.dmas.iter().filter(|dma| dma.tile == port.tile) {
        for op in dma.body.blocks.iter().flat_map(|block| &block.ops).filter(|op| op.name == "aie.dma_start")
        {
            let same = op.find_int("channel_dir") == Some(i64::from(direction == Direction::Mm2s));
            if same && op.find_int("channel_index") == Some(port.channel) {
                return chain(design, dma, op, name(port, direction)).map(StreamEnd::Chain);
            }
        }
    }
    // A stream into a channel that runs nothing stands still.
    let name = name(port, direction);
    Ok(StreamEnd::Chain(Chain { name, bds: Vec::new(), at: None, done: 0, holds: false, again: 0 }))
}

/// What a channel is called.
fn name(port: Port, direction: Direction) -> String {
    User::Channel(port.tile, direction, port.channel).to_string()
}

fn chain(design: &Design, dma: &TileDma, start: &Op, name: String) -> Made<Chain> {
    let mut blocks: Vec<u32> = Vec::new();
    let mut bds = Vec::new();
    let mut next = start.successors.first().copied();
    while let Some(block) = next {
        if let Some(at) = blocks.iter().position(|have| *have == block) {
            let Some(last): Option<&mut Bd> = bds.last_mut() else { break };
            last.next = Some(at);
            break;
        }
        let Some(ops) = dma.body.blocks.get(block as usize).map(|block| &block.ops) else { break };
        let goes_on =
            ops.iter().find(|op| op.name == "aie.next_bd").and_then(|op| op.successors.first().copied());
        let Some(mut bd) = descriptor(design, ops)? else {
            if let Some(last) = bds.last_mut() {
                last.next = None;
            }
            break;
        };
        blocks.push(block);
        bd.next = goes_on.map(|_| bds.len() + 1);
        bds.push(bd);
        next = goes_on;
    }
    let at = (!bds.is_empty()).then_some(0);
    Ok(Chain { name, bds, at, done: 0, holds: false, again: start.find_int("repeat_count").unwrap_or(0) })
}

/// The descriptor of a block, if it has one.
fn descriptor(design: &Design, ops: &[Op]) -> Made<Option<Bd>> {
    let Some(op) = ops.iter().find(|op| op.name == "aie.dma_bd") else { return Ok(None) };
    let known = ["bd_id", "next_bd_id", "offset", "len", "dimensions", "burst_length", "packet"];
    if let Some((name, _)) = op.attrs.iter().find(|(name, _)| !known.contains(&name.as_str())) {
        return Err(not_run(&format!("`{name}` of a descriptor"), op.span));
    }
    let buffer =
        op.operands.first().and_then(|value| design.buffers.iter().position(|buffer| buffer.value == *value));
    let Some(buffer) = buffer else {
        return Err(not_run("a descriptor of no buffer of the design", op.span));
    };
    let ty = design.module.ty(design.buffers[buffer].value);
    let (element, elements) = (ty.element_bytes().unwrap_or(1), ty.elements().unwrap_or(0));
    let number = |name: &str| op.find_int(name).and_then(|value| u64::try_from(value).ok());
    let offset = number("offset").unwrap_or(0);
    let mut len = number("len").unwrap_or(elements.saturating_sub(offset));
    let mut order = None;
    if let Some(Attr::Dims(dims)) = op.find("dimensions")
        && !dims.is_empty()
    {
        let all = places(dims, elements.saturating_sub(offset));
        let all = all.ok_or_else(|| {
            fault("the dimensions of a descriptor name elements that its buffer does not have", op)
        })?;
        len = all.len() as u64;
        order = Some((all, element));
    }
    if len == 0 || offset.checked_add(len).is_none_or(|end| end > elements && order.is_none()) {
        return Err(fault("a descriptor goes beyond its buffer", op));
    }
    // What a lock is used for says which of the two it is; where in the block it stands does not.
    let locks = |release: bool| -> Vec<Change> {
        let uses = ops.iter().filter(|op| op.name == "aie.use_lock");
        let change = |op: &Op| {
            let value = op.operands.first()?;
            let lock = design.locks.iter().position(|lock| lock.value == *value)?;
            Some((lock, op.find_int("action").unwrap_or(0), op.find_int("value").unwrap_or(1)))
        };
        uses.filter_map(change).filter(|(_, action, _)| (*action == 1) == release).collect()
    };
    let (acquire, release) = (locks(false), locks(true));
    Ok(Some(Bd {
        acquire,
        release,
        buffer,
        bytes: ty.bytes().unwrap_or(0),
        from: offset * element,
        len: len * element,
        order,
        packet: packet(op)?,
        next: None,
        span: op.span,
    }))
}

fn fault(message: &str, op: &Op) -> Box<Diagnostic> {
    Box::new(Diagnostic::error(codes::TRANSFER, message).at(op.span, ""))
}
