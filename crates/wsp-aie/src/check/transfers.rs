//! Transfers: of the host, and of tiles' own descriptors.

use super::Findings;
use crate::codes;
use crate::design::{Design, Fifo, Length, Move, Parameter, Sequence, Step, TileDma, steps};
use crate::device::{Direction, ITERATIONS, TileKind};
use crate::mlir::{Attr, Dim, Op, Value};
use wsp_diag::Span;

pub(super) fn check(design: &Design, findings: &mut Findings) {
    for sequence in &design.sequences {
        match steps(sequence) {
            Ok(steps) => check_steps(design, sequence, &steps, findings),
            Err(fault) => findings.0.push(fault),
        }
    }
    for given in &design.allocations {
        channel(TileKind::Shim, given.channel, given.span, findings);
    }
    for dma in &design.dmas {
        own(design, dma, findings);
    }
}

fn channel(kind: TileKind, channel: i64, span: Span, findings: &mut Findings) {
    let most = i64::from(kind.model().channels);
    if !(0..most).contains(&channel) {
        findings.add(
            codes::CHANNEL,
            span,
            format!("channel {channel} of a {}, which has channels 0 to {}", kind.name(), most - 1),
        );
    }
}

/// What the fields of a tile's descriptors hold, and what they are for.
pub(super) struct Fields<'a> {
    pub(super) kind: TileKind,
    /// Bytes of an element.
    pub(super) bytes: u64,
    /// The fifo or channel.
    pub(super) what: &'a str,
}

/// The dimensions of a descriptor, the outermost first; the fields are in words of 4 bytes.
pub(super) fn dims(fields: &Fields<'_>, dims: &[Dim], span: Span, findings: &mut Findings) {
    let model = fields.kind.model();
    let (what, bytes) = (fields.what, fields.bytes);
    if dims.len() as u32 > model.dims {
        let message = format!(
            "transfers of `@{what}` have {} dimensions, and descriptors of a {} have {}",
            dims.len(),
            fields.kind.name(),
            model.dims
        );
        findings.add(codes::DIMS, span, message);
    }
    let linear =
        dims.last().is_none_or(|last| last.stride == 1) && dims.iter().rev().skip(1).all(|dim| dim.size == 1);
    for (i, dim) in dims.iter().rev().enumerate() {
        // That of the outermost follows from the length.
        let counted = i + 1 < dims.len() && !linear;
        let size = if i == 0 { (dim.size.saturating_mul(bytes)).div_ceil(4) } else { dim.size };
        if counted && size > model.size_max() {
            let message = format!(
                "a size of {size} in a transfer of `@{what}`, and descriptors of a {} hold {}",
                fields.kind.name(),
                model.size_max()
            );
            findings.add(codes::SIZE, span, message).help.push("split the dimension into two".to_owned());
        }
        let stride = dim.stride.saturating_mul(bytes);
        if dim.size > 1 && stride.div_ceil(4) > model.stride_max() {
            let message = format!(
                "a stride of {stride} bytes in a transfer of `@{what}`, and descriptors of a {} hold {}",
                fields.kind.name(),
                4 * model.stride_max()
            );
            findings.add(codes::STRIDE, span, message);
        }
        let whole = if i == 0 {
            dim.size.saturating_mul(bytes).is_multiple_of(4) && (bytes >= 4 || dim.stride == 1)
        } else {
            stride.is_multiple_of(4)
        };
        if dim.size > 1 && !whole {
            let message = format!(
                "dimension {i} from the innermost of a transfer of `@{what}` is not of whole words of 4 bytes, one after the other"
            );
            findings.add(codes::GRANULE, span, message);
        }
    }
}

/// What a sequence has started and not waited for.
#[derive(Default)]
struct Open {
    /// Descriptors, by their tile and number.
    used: Vec<(String, i64)>,
    /// Transfers that tell their end, by what they are of.
    told: Vec<String>,
    /// Tasks, and whether they tell their end.
    tasks: Vec<(Value, bool)>,
    /// The second round of a loop is taken, in which loops inside are taken once: what they do twice is known.
    again: bool,
}

fn check_steps(design: &Design, sequence: &Sequence, steps: &[Step], findings: &mut Findings) {
    take((design, sequence), steps, &mut Open::default(), findings);
}

fn take(of: (&Design, &Sequence), steps: &[Step], open: &mut Open, findings: &mut Findings) {
    let (design, sequence) = of;
    for step in steps {
        match step {
            Step::Move(transfer) => {
                if let Some(name) = check_move(design, sequence, transfer, findings) {
                    open.start(design, transfer, name, findings);
                }
            }
            Step::Wait(name, span) => {
                if is_known(design, name) {
                    open.wait(name, *span, findings);
                } else {
                    let message = format!("no fifo or channel `@{name}` is at a shim tile");
                    findings.add(codes::METADATA, *span, message);
                }
            }
            Step::Await(task, span) => {
                if !open.tasks.contains(&(*task, true)) {
                    let message = "the sequence waits for a task that does not tell its end".to_owned();
                    findings.add(codes::WAIT, *span, message).help.push(TOKEN.to_owned());
                }
                open.used.clear();
            }
            Step::Parameter(word) => check_word(design, word, findings),
            Step::Start(..) | Step::Free(..) | Step::Compute(_) => {}
            Step::Loop(repeated) => {
                let is_array = |bound: &&Length| matches!(bound, Length::Of(value) if design.module.ty(*value).shaped().is_some());
                if repeated.bounds.iter().any(|bound| is_array(&bound)) {
                    let message = "a loop of the sequence has a bound that is no number".to_owned();
                    findings.add(codes::ATTRIBUTE, repeated.span, message);
                }
                take(of, &repeated.body, open, findings);
                // What a round leaves open meets the next one.
                if std::mem::replace(&mut open.again, true) {
                    continue;
                }
                let mut next = Findings::default();
                take(of, &repeated.body, open, &mut next);
                open.again = false;
                next.0.retain(|found| !findings.0.contains(found));
                findings.0.append(&mut next.0);
            }
        }
    }
}

/// A word that the host writes is one of a buffer of words on a compute tile.
fn check_word(design: &Design, word: &Parameter, findings: &mut Findings) {
    let Some(buffer) = design.buffers.iter().find(|buffer| buffer.name.as_ref() == Some(&word.buffer)) else {
        let message = format!("no buffer is `@{}`", word.buffer);
        findings.add(codes::SYMBOL, word.span, message);
        return;
    };
    let ty = design.module.ty(buffer.value);
    let words = ty.elements().filter(|_| ty.element_bytes() == Some(4) && buffer.tile.row >= 2).unwrap_or(0);
    if word.index >= words {
        let message = format!(
            "word {} of `@{}` is written, which has {words} words of 4 bytes that a core reads",
            word.index, word.buffer
        );
        findings.add(codes::TRANSFER, word.span, message);
    }
}

/// What to write so that a transfer can be waited for.
const TOKEN: &str = "give it `issue_token = true`";

impl Open {
    fn start(&mut self, design: &Design, transfer: &Move, name: String, findings: &mut Findings) {
        if let Some(task) = transfer.task {
            self.tasks.push((task, transfer.token));
        }
        if let Some(id) = transfer.id {
            let tile = place(design, &name);
            if self.used.iter().any(|(at, have)| *at == tile && *have == id) {
                let message =
                    format!("descriptor {id} of {tile} is used again, and no wait tells that it is free");
                findings.add(codes::REUSE, transfer.span, message);
            }
            self.used.push((tile, id));
        }
        let tells = transfer.token || is_into_host(design, &name);
        if tells && transfer.task.is_none() {
            self.told.push(name);
        }
    }

    fn wait(&mut self, name: &str, span: Span, findings: &mut Findings) {
        match self.told.iter().position(|have| have == name) {
            Some(at) => {
                self.told.remove(at);
            }
            None => {
                let message =
                    format!("the sequence waits for `@{name}`, of which no transfer tells its end here");
                findings.add(codes::WAIT, span, message).help.push(TOKEN.to_owned());
            }
        }
        // What was waited for came after all that it needs.
        self.used.clear();
    }
}

/// Whether transfers of a fifo or channel go into the memory of the host.
fn is_into_host(design: &Design, name: &str) -> bool {
    let fifo = design.fifo(name).and_then(Fifo::host_direction);
    let given = design.allocations.iter().find(|given| given.name == name).map(|given| given.direction);
    fifo.or(given) == Some(Direction::S2mm)
}

/// Where a fifo or channel meets the host, as a message has it.
fn place(design: &Design, name: &str) -> String {
    let fifo = design.fifo(name).and_then(|fifo| {
        let ends = std::iter::once(&fifo.producer).chain(&fifo.consumers);
        ends.map(|end| end.tile).find(|tile| tile.row == 0)
    });
    let given = design.allocations.iter().find(|given| given.name == name).map(|given| given.tile);
    fifo.or(given).map_or(String::new(), |tile| format!("shim tile {tile}"))
}

fn is_known(design: &Design, name: &str) -> bool {
    let fifo = design.fifo(name).is_some_and(|fifo| fifo.host_direction().is_some());
    fifo || design.allocations.iter().any(|given| given.name == name)
}

/// One transfer of the host; the fifo or channel that it is of.
fn check_move(
    design: &Design,
    sequence: &Sequence,
    transfer: &Move,
    findings: &mut Findings,
) -> Option<String> {
    let span = transfer.span;
    if let Some((_, _, number)) = transfer.channel {
        channel(TileKind::Shim, number, span, findings);
    }
    let name = transfer.symbol.clone().unwrap_or_else(|| "a channel".to_owned());
    if transfer.symbol.is_some() && !is_known(design, &name) {
        let mut all: Vec<&str> = design
            .fifos
            .iter()
            .filter(|fifo| fifo.host_direction().is_some())
            .map(|fifo| fifo.name.as_str())
            .collect();
        all.extend(design.allocations.iter().map(|given| given.name.as_str()));
        let found =
            findings.add(codes::METADATA, span, format!("no fifo or channel `@{name}` is at a shim tile"));
        if let Some(meant) = wsp_diag::did_you_mean(&name, all) {
            found.help.push(format!("did you mean `@{meant}`?"));
        }
        return None;
    }
    let model = TileKind::Shim.model();
    if transfer.id.is_some_and(|id| !(0..i64::from(model.descriptors)).contains(&id)) {
        let message = format!(
            "descriptor {} of a shim tile, which has descriptors 0 to {}",
            transfer.id.unwrap_or(0),
            model.descriptors - 1
        );
        findings.add(codes::DESCRIPTORS, span, message);
    }
    if sequence.argument(transfer.array).is_none() {
        findings.add(
            codes::TRANSFER,
            span,
            "a transfer is of an array that the sequence is given".to_owned(),
        );
        return Some(name);
    }
    fixed(design, transfer, &name, findings);
    Some(name)
}

/// What is known of a transfer's numbers before a launch.
fn fixed(design: &Design, transfer: &Move, name: &str, findings: &mut Findings) {
    let span = transfer.span;
    let ty = design.module.ty(transfer.array);
    let (Some(bytes), Some(elements)) = (ty.element_bytes(), ty.elements()) else { return };
    let number = |length: &Length| match length {
        Length::Fixed(value) => Some(*value),
        // Any value may come; the smallest is taken where sums are compared with bounds.
        Length::Of(_) => None,
    };
    let sizes: Vec<Option<i64>> = transfer.sizes.iter().map(number).collect();
    let strides: Vec<Option<i64>> = transfer.strides.iter().map(number).collect();
    if sizes.iter().any(|size| size.is_some_and(|size| size < 1))
        || strides.iter().any(|stride| stride.is_some_and(|stride| stride < 0))
    {
        findings.add(
            codes::SIZE,
            span,
            format!("a transfer of `@{name}` has a size below 1 or a stride below 0"),
        );
        return;
    }
    let of = |value: Option<i64>| value.map_or(1, i64::unsigned_abs);
    let all: Vec<Dim> = sizes
        .iter()
        .zip(&strides)
        .map(|(size, stride)| Dim { size: of(*size), stride: of(*stride) })
        .collect();
    let inner = if all.len() == 4 { &all[1..] } else { &all[..] };
    if all.len() == 4 && all[0].size > ITERATIONS && transfer.task.is_none() {
        let message = format!(
            "a transfer of `@{name}` is repeated {} times, and a descriptor is at most {ITERATIONS} times",
            all[0].size
        );
        findings.add(codes::ITERATION, span, message);
    }
    dims(&Fields { kind: TileKind::Shim, bytes, what: name }, inner, span, findings);
    let total = all.iter().fold(bytes, |product, dim| product.saturating_mul(dim.size));
    if sizes.iter().all(Option::is_some) && !total.is_multiple_of(4) {
        findings.add(
            codes::GRANULE,
            span,
            format!("a transfer of `@{name}` has {total} bytes, and streams carry whole words of 4"),
        );
    }
    let offset = number(&transfer.offset).unwrap_or(0);
    let reach =
        all.iter().fold(0u64, |sum, dim| sum.saturating_add((dim.size - 1).saturating_mul(dim.stride)));
    let last = u64::try_from(offset).ok().and_then(|offset| offset.checked_add(reach));
    if last.is_none_or(|last| last >= elements) {
        let message = match last {
            _ if offset < 0 => format!(
                "a transfer of `@{name}` begins at element {offset} of an array of {elements}, which begins at 0"
            ),
            Some(last) => {
                format!("a transfer of `@{name}` goes to element {last} of an array of {elements}")
            }
            None => {
                format!("a transfer of `@{name}` ends beyond 64 bits, in an array of {elements} elements")
            }
        };
        findings.add(codes::TRANSFER, span, message);
    }
}

/// Chains of descriptors of a tile's own.
fn own(design: &Design, dma: &TileDma, findings: &mut Findings) {
    let Some(kind) = design.device.kind(dma.tile) else { return };
    let model = kind.model();
    let mut count = 0;
    let mut see = |op: &Op| match op.name.as_str() {
        "aie.dma_start" => channel(kind, op.find_int("channel_index").unwrap_or(0), op.span, findings),
        "aie.dma_bd" => {
            count += 1;
            if op.find_int("bd_id").is_some_and(|id| !(0..i64::from(model.descriptors)).contains(&id)) {
                let message = format!(
                    "descriptor {} of a {}, which has descriptors 0 to {}",
                    op.find_int("bd_id").unwrap_or(0),
                    kind.name(),
                    model.descriptors - 1
                );
                findings.add(codes::DESCRIPTORS, op.span, message);
            }
            let Some(buffer) = op.operands.first().and_then(|value| design.buffer(*value)) else { return };
            let ty = design.module.ty(buffer.value);
            let name = buffer.name.as_deref().unwrap_or("a buffer");
            let bytes = ty.element_bytes().unwrap_or(1);
            if let Some(Attr::Dims(all)) = op.find("dimensions") {
                dims(&Fields { kind, bytes, what: name }, all, op.span, findings);
            }
            let (offset, len) = (op.find_int("offset").unwrap_or(0), op.find_int("len"));
            let elements = ty.elements().unwrap_or(0) as i64;
            if offset < 0
                || len.is_some_and(|len| len < 1)
                || offset.saturating_add(len.unwrap_or(1)) > elements
            {
                let message = format!(
                    "a descriptor has elements {offset} to {} of a buffer of {elements}",
                    offset.saturating_add(len.unwrap_or(1))
                );
                findings.add(codes::TRANSFER, op.span, message);
            }
            if buffer.tile != dma.tile && kind != TileKind::Memory {
                findings.add(
                    codes::REACH,
                    op.span,
                    format!("the channels of tile {} do not reach memory of tile {}", dma.tile, buffer.tile),
                );
            }
        }
        _ => {}
    };
    dma.body.blocks.iter().flat_map(|block| &block.ops).for_each(|op| op.walk(&mut see));
    if count > model.descriptors {
        findings.add(
            codes::DESCRIPTORS,
            dma.span,
            format!("{count} descriptors on a {}, which has {}", kind.name(), model.descriptors),
        );
    }
}
