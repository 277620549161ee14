//! What the host does: which fifos meet its memory, by way of which memory tiles, and the transfers of its sequence.

use super::flow::{End, Flows, Stream};
use super::refused;
use super::trace::{Piece, Trace};
use crate::device::{Device, ITERATIONS, TileKind};
use crate::mlir::{Attr, Op, Type, Value};
use std::collections::BTreeSet;
use wsp_diag::Diagnostic;
use wsp_ordered::OrderedMap;

/// Most fifos that a memory tile joins in one, or makes of one.
const JOINED: usize = 5;
/// Most transfers of a sequence.
const TRANSFERS: usize = 1 << 14;
/// A factor of a size below it is not worth a dimension.
const SHORT: u64 = 8;

/// A fifo that meets the memory of the host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct HostEnd {
    /// The streams that it carries: several by way of a memory tile.
    pub(crate) streams: Vec<usize>,
    /// Whether its objects go to the host.
    pub(crate) into: bool,
}

/// The fifos at the host: by way of memory tiles where channels of shim tiles are too few, then first by fours, of which each column has one.
///
/// # Errors
/// There are more streams than all of that has channels for.
pub(crate) fn ends(flows: &Flows, device: &Device) -> Result<Vec<HostEnd>, Diagnostic> {
    let mut ends = Vec::new();
    for into in [false, true] {
        let is_one =
            |stream: &Stream| if into { stream.to.contains(&End::Host) } else { stream.from == End::Host };
        let streams: Vec<usize> = (0..flows.streams.len()).filter(|at| is_one(&flows.streams[*at])).collect();
        let channels = (device.cols * TileKind::Shim.model().channels) as usize;
        let mut grouped = Vec::new();
        for most in [1, 4, JOINED, 3, 2] {
            grouped = groups(flows, &streams, into, most);
            if grouped.len() <= channels {
                break;
            }
        }
        if grouped.len() > channels {
            let way = if into { "to" } else { "from" };
            let message = format!(
                "{} streams {way} the host, of which memory tiles make {}, and {} has {channels} channels for them",
                streams.len(),
                grouped.len(),
                device.name
            );
            return Err(refused(message).help("use fewer cores, or have more of them read the same boxes"));
        }
        ends.extend(grouped.into_iter().map(|streams| HostEnd { streams, into }));
    }
    Ok(ends)
}

/// Streams of boxes of one tensor and size, as many in each, side by side.
fn groups(flows: &Flows, streams: &[usize], into: bool, most: usize) -> Vec<Vec<usize>> {
    let mut families: OrderedMap<(usize, &[u64], usize), Vec<usize>> = OrderedMap::new();
    let mut alone = Vec::new();
    for at in streams {
        let of = &flows.streams[*at];
        if into && of.to.len() > 1 || !of.of.is_empty() {
            alone.push(vec![*at]);
            continue;
        }
        families.entry((of.tensor, &of.boxes[0].len, of.boxes.len())).or_default().push(*at);
    }
    let families =
        families.into_iter().flat_map(|(_, all)| all.chunks(most).map(<[usize]>::to_vec).collect::<Vec<_>>());
    families.chain(alone).collect()
}

/// A transfer: where it begins, sizes and strides from the outermost, in elements.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Transfer {
    pub(super) base: u64,
    pub(super) dims: Vec<(u64, u64)>,
    /// The first task that needs it, or anything behind it in its fifo.
    pub(super) first: usize,
    /// The first task before which all that it waits for is done.
    pub(super) last: usize,
    /// Elements of its fifo before it.
    before: u64,
}

/// A box of a fifo at the host.
struct Boxed<'a> {
    tensor: usize,
    piece: &'a Piece,
    first: usize,
    last: usize,
}

/// Offsets as runs with equal distances, of runs, and so on.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Run {
    base: u64,
    /// How often and how far apart, the outermost first.
    loops: Vec<(u64, i64)>,
    first: usize,
}

fn runs(items: &[(u64, usize)]) -> Vec<Run> {
    let mut all: Vec<Run> =
        items.iter().map(|(base, first)| Run { base: *base, loops: Vec::new(), first: *first }).collect();
    loop {
        let before = all.len();
        let mut next: Vec<Run> = Vec::new();
        let mut at = 0;
        while at < all.len() {
            let delta = |i: usize| all[i + 1].base as i64 - all[i].base as i64;
            let mut end = at;
            while end + 1 < all.len()
                && all[end + 1].loops == all[at].loops
                && delta(end) >= 0
                && delta(end) == delta(at)
            {
                end += 1;
            }
            let mut run = all[at].clone();
            if end > at {
                run.loops.insert(0, ((end - at + 1) as u64, delta(at)));
            }
            next.push(run);
            at = end + 1;
        }
        all = next;
        if all.len() == before {
            return all;
        }
    }
}

/// Dimensions that go on in each other as one, without those of size 1.
fn merged(dims: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut out: Vec<(u64, u64)> = Vec::new();
    for (size, stride) in dims.iter().copied().filter(|(size, _)| *size > 1) {
        match out.last_mut() {
            Some((outer, apart)) if *apart == size * stride => {
                *outer *= size;
                *apart = stride;
            }
            _ => out.push((size, stride)),
        }
    }
    if out.is_empty() { vec![(1, 1)] } else { out }
}

/// Elements of a type that are a word of a stream.
fn word(bytes: u64) -> u64 {
    4u64.checked_div(bytes).unwrap_or(1).max(1)
}

/// The largest factor of a size that a field holds.
fn factor(size: u64, most: u64) -> u64 {
    (1..=most.min(size)).rev().find(|part| size.is_multiple_of(*part)).unwrap_or(1)
}

/// The same transfer, or several, each of which a descriptor holds.
fn legal(base: u64, dims: &[(u64, u64)], bytes: u64, out: &mut Vec<(u64, Vec<(u64, u64)>)>) {
    let model = TileKind::Shim.model();
    let is_line = matches!(dims, [(_, 1)] | [(1, _)]);
    if is_line || out.len() > TRANSFERS {
        out.push((base, dims.to_vec()));
        return;
    }
    let mut parts: Vec<(u64, u64)> = Vec::new();
    let mut split = true;
    for (at, (size, stride)) in dims.iter().copied().enumerate() {
        let is_inner = at + 1 == dims.len();
        let unit = if is_inner && stride == 1 { word(bytes) } else { 1 };
        let most = model.size_max() * unit;
        // The outermost of three or fewer has no field of its own.
        if size <= most || (at == 0 && dims.len() <= 3 && !is_inner) {
            parts.push((size, stride));
            continue;
        }
        let part = unit * factor(size / unit, model.size_max());
        split &= part / unit >= SHORT && size.is_multiple_of(unit);
        parts.extend([(size / part, stride * part), (part, stride)]);
    }
    let far = parts.iter().any(|(_, stride)| (stride * bytes).div_ceil(4) > model.stride_max());
    let still = parts.iter().skip(1).any(|(_, stride)| *stride == 0);
    if split && !far && !still && parts.len() <= 4 {
        let repeats = parts.len() == 4 || parts[0].1 == 0;
        if !repeats || parts[0].0 <= ITERATIONS {
            return out.push((base, parts));
        }
        let (rounds, apart) = parts[0];
        for begin in (0..rounds).step_by(ITERATIONS as usize) {
            let mut piece = parts.clone();
            piece[0].0 = ITERATIONS.min(rounds - begin);
            out.push((base + begin * apart, piece));
        }
        return;
    }
    let (rounds, apart) = dims[0];
    for round in 0..rounds {
        legal(base + round * apart, &dims[1..], bytes, out);
    }
}

/// The boxes of a fifo, in order: of a fifo by way of a memory tile those of its streams in turn.
fn boxes<'a>(flows: &'a Flows, end: &HostEnd) -> Vec<Boxed<'a>> {
    // Of each stream, for each box, the task before which its producer or its consumers are done with the host.
    let lasts = |stream: usize| {
        let mut lasts = vec![0; flows.streams[stream].boxes.len()];
        for of in flows.uses.iter().flatten().filter(|of| of.stream == stream) {
            for (last, (begin, end)) in lasts.iter_mut().zip(&of.spans) {
                *last = (*last).max(if of.produces { end + 1 } else { *begin });
            }
        }
        lasts
    };
    let streams: Vec<(&Stream, Vec<usize>)> =
        end.streams.iter().map(|at| (&flows.streams[*at], lasts(*at))).collect();
    let of = |(stream, lasts): &(&'a Stream, Vec<usize>), at: usize| Boxed {
        tensor: stream.tensor_of(at),
        piece: &stream.boxes[at],
        first: stream.first[at],
        last: lasts[at],
    };
    let count = streams[0].0.boxes.len();
    let mut boxes: Vec<Boxed<'a>> =
        (0..count).flat_map(|at| streams.iter().map(move |stream| of(stream, at))).collect();
    // A box has to be on its way before what stands behind it can be.
    let mut first = usize::MAX;
    for of in boxes.iter_mut().rev() {
        first = first.min(of.first);
        of.first = first;
    }
    boxes
}

/// The transfers of a fifo, in order, with the tensor of each; none has boxes of two windows of so many tasks.
fn transfers(trace: &Trace, flows: &Flows, end: &HostEnd, window: usize) -> Vec<(usize, Transfer)> {
    let boxes = boxes(flows, end);
    let each = boxes[0].piece.elements();
    let (mut out, mut before) = (Vec::new(), 0);
    let is_with = |a: &Boxed<'_>, b: &Boxed<'_>| a.tensor == b.tensor && a.first / window == b.first / window;
    for part in boxes.chunk_by(is_with) {
        let number = part[0].tensor;
        let tensor = &trace.tensors[number];
        let mut strides = vec![1; tensor.dims.len()];
        for at in (1..strides.len()).rev() {
            strides[at - 1] = strides[at] * tensor.dims[at];
        }
        let offset = |lo: &[u64]| lo.iter().zip(&strides).map(|(lo, stride)| lo * stride).sum();
        let items: Vec<(u64, usize)> = part.iter().map(|of| (offset(&of.piece.lo), of.first)).collect();
        let inner: Vec<(u64, u64)> = part[0].piece.len.iter().copied().zip(strides.iter().copied()).collect();
        for run in runs(&items) {
            let loops = run.loops.iter().map(|(rounds, apart)| (*rounds, apart.unsigned_abs()));
            let dims = merged(&loops.chain(inner.iter().copied()).collect::<Vec<_>>());
            let mut found = Vec::new();
            legal(run.base, &dims, tensor.dtype.size() as u64, &mut found);
            for (base, dims) in found {
                let after = before + dims.iter().map(|(size, _)| size).product::<u64>();
                let inside = (before / each) as usize..after.div_ceil(each) as usize;
                let last = boxes[inside].iter().map(|of| of.last).max().unwrap_or(0);
                out.push((number, Transfer { base, dims, first: run.first, last, before }));
                before = after;
            }
        }
    }
    out
}

/// A fifo at the host, as a sequence starts its transfers.
pub(crate) struct Fed<'a> {
    pub(crate) end: &'a HostEnd,
    /// The fifo.
    pub(crate) name: &'a str,
    /// The shim tile, by column.
    pub(crate) shim: u32,
    /// The arrays, by tensor.
    pub(crate) arrays: &'a OrderedMap<usize, Value>,
}

/// The transfers of a launch as they are started, each with its fifo, by number, and its tensor: before the first task that needs it, so that what is waited for needs nothing that comes later.
///
/// # Errors
/// There are too many transfers.
pub(super) fn ordered(
    trace: &Trace,
    flows: &Flows,
    ends: &[HostEnd],
) -> Result<Vec<(usize, usize, Transfer)>, Diagnostic> {
    in_windows(trace, flows, ends, usize::MAX)
}

/// The same, where no transfer has boxes of two windows of so many tasks.
pub(super) fn in_windows(
    trace: &Trace,
    flows: &Flows,
    ends: &[HostEnd],
    window: usize,
) -> Result<Vec<(usize, usize, Transfer)>, Diagnostic> {
    let mut all: Vec<(usize, usize, Transfer)> = Vec::new();
    for (at, end) in ends.iter().enumerate() {
        let transfers = transfers(trace, flows, end, window);
        if transfers.len() + all.len() > TRANSFERS {
            return Err(too_many(trace, &flows.streams[end.streams[0]]));
        }
        all.extend(transfers.into_iter().map(|(tensor, transfer)| (at, tensor, transfer)));
    }
    all.sort_by_key(|(at, _, transfer)| (transfer.first, !ends[*at].into, *at));
    // Cores take boxes in the order of the fifo, and could not tell one from another.
    let mut sent = vec![0; ends.len()];
    for (at, tensor, transfer) in &all {
        if transfer.before != sent[*at] {
            let name = &trace.tensors[*tensor].name;
            return Err(refused(format!(
                "a transfer of `{name}` would start with element {} of its fifo, where element {} is next",
                transfer.before, sent[*at]
            )));
        }
        sent[*at] += transfer.dims.iter().map(|(size, _)| size).product::<u64>();
    }
    Ok(all)
}

/// More transfers than a sequence has.
#[cold]
fn too_many(trace: &Trace, of: &Stream) -> Diagnostic {
    let name = |tensor: &usize| format!("`{}`", trace.tensors[*tensor].name);
    let shared: BTreeSet<&usize> = of.of.iter().collect();
    let names: Vec<String> = shared.into_iter().map(name).collect();
    let cause = if names.len() > 1 {
        format!(
            "boxes of {} come by one fifo in turn, so that each takes a transfer of its own",
            names.join(" and ")
        )
    } else {
        "a transfer takes boxes that follow each other in a fifo at equal distances in one array".to_owned()
    };
    refused(format!("the boxes of {} take more than {TRANSFERS} transfers", name(&of.tensor)))
        .note(cause)
        .help("make the tiles of a task larger, or start fewer tasks in a launch")
}

/// A word that a core reads.
pub(crate) fn parameter(buffer: &str, index: i64, value: i64) -> Op {
    Op::new("aiex.npu.rtp_write")
        .attr("buffer", Attr::Symbol(buffer.to_owned()))
        .attr("index", Attr::Int(index, Type::Unsigned(32)))
        .attr("value", Attr::Int(value, Type::Int(32)))
}

pub(super) fn wait(fifo: &str) -> Op {
    Op::new("aiex.npu.dma_wait").attr("symbol", Attr::Symbol(fifo.to_owned()))
}

/// Which of the four sizes and strides of a transfer its dimensions are.
pub(super) fn places(dims: &[(u64, u64)]) -> Vec<usize> {
    let repeats = dims.len() > 1 && dims[0].1 == 0;
    (0..dims.len()).map(|at| if repeats && at == 0 { 0 } else { 4 - dims.len() + at }).collect()
}

pub(super) fn memcpy(transfer: &Transfer, (of, array): (&Fed<'_>, Value), id: i64) -> Op {
    let (mut sizes, mut strides) = (vec![1; 4], vec![0; 4]);
    for (at, (size, stride)) in places(&transfer.dims).into_iter().zip(&transfer.dims) {
        (sizes[at], strides[at]) = (*size as i64, *stride as i64);
    }
    let row = |row: Vec<i64>| Attr::Dense(Type::Int(64), row);
    let op = Op::new("aiex.npu.dma_memcpy_nd")
        .with([array])
        .attr("metadata", Attr::Symbol(of.name.to_owned()))
        .attr("id", Attr::Int(id, Type::Int(64)))
        .attr("operandSegmentSizes", Attr::Dense(Type::Int(32), vec![1, 0, 0, 0]))
        .attr("static_offsets", row(vec![0, 0, 0, transfer.base as i64]))
        .attr("static_sizes", row(sizes))
        .attr("static_strides", row(strides));
    if of.end.into { op.attr("issue_token", Attr::Bool(true)) } else { op }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dice::Random;

    /// Elements of transfers, in order.
    fn elements(parts: &[(u64, Vec<(u64, u64)>)]) -> Vec<u64> {
        let mut out = Vec::new();
        for (base, dims) in parts {
            let mut all = vec![*base];
            for (size, stride) in dims {
                all = all.iter().flat_map(|at| (0..*size).map(move |i| at + i * stride)).collect();
            }
            out.extend(all);
        }
        out
    }

    #[test]
    fn descriptors_hold_the_elements_in_their_order() {
        let mut dice = Random(5);
        for _ in 0..400 {
            let mut dims: Vec<(u64, u64)> = Vec::new();
            for _ in 0..1 + dice.below(5) {
                let most = [3, 70, 9, 12, 3][dice.below(5) as usize];
                dims.push((1 + dice.below(most), dice.below(5000)));
            }
            dims.push((1 + dice.below(1500), 1));
            let total: u64 = dims.iter().map(|(size, _)| size).product();
            if total > 1 << 18 {
                continue;
            }
            let mut out = Vec::new();
            legal(3, &merged(&dims), 4, &mut out);
            assert_eq!(elements(&out), elements(&[(3, dims)]));
            for (_, dims) in &out {
                let inner = if dims.len() == 4 { &dims[1..] } else { &dims[..] };
                assert!(inner.len() <= 3 && (dims.len() < 4 || dims[0].0 <= ITERATIONS), "{dims:?}");
                let is_line = matches!(dims.as_slice(), [(_, 1)] | [(1, _)]);
                assert!(is_line || inner.iter().skip(1).all(|(size, _)| *size <= 1023), "{dims:?}");
            }
        }
    }

    #[test]
    fn offsets_are_followed_by_runs() {
        let offsets: Vec<(u64, usize)> = [0, 8, 16, 0, 8, 16, 100, 108, 116].into_iter().zip(0..).collect();
        let found = runs(&offsets);
        let loops: Vec<(u64, &[(u64, i64)])> =
            found.iter().map(|run| (run.base, run.loops.as_slice())).collect();
        assert_eq!(loops, [(0, &[(2, 0), (3, 8)][..]), (100, &[(3, 8)][..])]);
    }
}
