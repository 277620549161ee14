//! What the host does: which fifos meet its memory, by way of which memory tiles, and the transfers of its sequence.

use super::fields::{TRANSFERS, legal, merged, runs};
use super::flow::{End, Flows, Stream};
use super::refused;
use super::trace::{Piece, Trace};
use crate::device::{Device, TileKind};
use crate::mlir::{Attr, Op, Type, Value};
use std::collections::BTreeSet;
use wsp_diag::Diagnostic;
use wsp_ordered::OrderedMap;

/// Most fifos that a memory tile joins in one, or makes of one.
const JOINED: usize = 5;

/// Objects of a fifo between the host and a memory tile that splits each into those of several fifos, or joins theirs to one.
pub(super) const OF_LINK: u32 = 2;

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
