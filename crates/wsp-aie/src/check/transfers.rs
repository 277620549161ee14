//! Transfers: of the host, and of tiles' own descriptors.

use super::Findings;
use crate::codes;
use crate::design::{Design, Fifo, Length, Move, Parameter, Sequence, Step, steps};
use crate::device::{Direction, ITERATION_STRIDE_BITS, ITERATIONS, TileKind};
use crate::mlir::{Dim, Value};
use std::collections::BTreeSet;
use wsp_diag::{Severity, Span};

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
}

pub(super) fn channel(kind: TileKind, channel: i64, span: Span, findings: &mut Findings) {
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
    let linear = is_linear(dims);
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
        if i == 0 && dim.size > 1 && dim.stride == 0 {
            let message = format!("the innermost dimension of a transfer of `@{what}` has a stride of 0");
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

/// Whether all elements lie one after the other: such a transfer needs no sizes but its length.
fn is_linear(dims: &[Dim]) -> bool {
    let mut next = Some(1u64);
    dims.iter().rev().filter(|dim| dim.size != 1).all(|dim| {
        let follows = next == Some(dim.stride);
        next = next.and_then(|next| next.checked_mul(dim.size));
        follows
    })
}

/// A descriptor begins at a whole word of its memory, which begins at one.
pub(super) fn begins(what: &str, byte: u64, span: Span, findings: &mut Findings) {
    if !byte.is_multiple_of(4) {
        let message = format!("a transfer of `@{what}` begins at byte {byte}, and words have 4");
        findings.add(codes::GRANULE, span, message);
    }
}

/// What a sequence has started and not waited for.
#[derive(Default)]
struct Open {
    /// Descriptors: their tile, their number where it is fixed, and the task that has it.
    used: Vec<(String, Option<i64>, Option<Value>)>,
    /// Transfers that tell their end, by what they are of.
    told: Vec<String>,
    /// What rounds of a loop leave more of, which has more than two: waits behind it take as many.
    many: BTreeSet<String>,
    /// Tasks, whether they tell their end, and what they are of.
    tasks: Vec<(Value, bool, String)>,
    /// Tasks that are started somewhere.
    started: BTreeSet<Value>,
    /// The second round of a loop is taken, in which loops inside are taken once: what they do twice is known.
    again: bool,
}

fn check_steps(design: &Design, sequence: &Sequence, steps: &[Step], findings: &mut Findings) {
    let mut open = Open::default();
    let mut see = |step: &Step| {
        if let Step::Start(task, _) = step {
            open.started.insert(*task);
        }
    };
    steps.iter().for_each(|step| step.walk(&mut see));
    take((design, sequence), steps, &mut open, findings);
}

fn take(of: (&Design, &Sequence), steps: &[Step], open: &mut Open, findings: &mut Findings) {
    let (design, sequence) = of;
    for step in steps {
        match step {
            Step::Move(transfer) => {
                let is_started = transfer.task.is_none_or(|task| open.started.contains(&task));
                if let Some(name) = check_move(design, sequence, (transfer, is_started), findings) {
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
                match open.tells(*task) {
                    Some(name) => {
                        if let Some(at) = open.told.iter().position(|told| *told == name) {
                            open.told.remove(at);
                        }
                    }
                    None => {
                        let message = "the sequence waits for a task that does not tell its end".to_owned();
                        findings.add(codes::WAIT, *span, message).help.push(TOKEN.to_owned());
                    }
                }
                if !open.started.contains(task) {
                    let message = "the sequence waits for a task that nothing starts".to_owned();
                    findings.add(codes::WAIT, *span, message);
                }
                open.used.clear();
            }
            Step::Parameter(word) => check_word(design, word, findings),
            Step::Free(task, _) => open.used.retain(|(.., of)| *of != Some(*task)),
            Step::Start(task, _) => open.told.extend(open.tells(*task)),
            Step::Compute(_) => {}
            Step::Loop(repeated) => {
                let is_array = |bound: &&Length| matches!(bound, Length::Of(value) if design.module.ty(*value).shaped().is_some());
                if repeated.bounds.iter().any(|bound| is_array(&bound)) {
                    let message = "a loop of the sequence has a bound that is no number".to_owned();
                    findings.add(codes::ATTRIBUTE, repeated.span, message);
                }
                let rounds = repeated.rounds();
                if rounds == Some(0) {
                    // What is never done takes no descriptors, and waits for nothing.
                    let mut inside = Findings::default();
                    take(of, &repeated.body, &mut Open::default(), &mut inside);
                    inside.0.retain(|found| ![codes::REUSE, codes::WAIT].contains(&found.code));
                    findings.0.append(&mut inside.0);
                    continue;
                }
                take(of, &repeated.body, open, findings);
                // What a round leaves open meets the next one.
                if rounds == Some(1) || std::mem::replace(&mut open.again, true) {
                    continue;
                }
                let mut next = Findings::default();
                let before = open.told.clone();
                take(of, &repeated.body, open, &mut next);
                open.again = false;
                if rounds != Some(2) {
                    let count =
                        |told: &[String], name: &String| told.iter().filter(|have| *have == name).count();
                    let more = open.told.iter().filter(|name| count(&open.told, name) > count(&before, name));
                    open.many.extend(more.cloned());
                }
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
    /// What a task that tells its end is of.
    fn tells(&self, task: Value) -> Option<String> {
        self.tasks.iter().find(|(of, token, _)| *of == task && *token).map(|(.., name)| name.clone())
    }

    fn start(&mut self, design: &Design, transfer: &Move, name: String, findings: &mut Findings) {
        if let Some(task) = transfer.task {
            let of = named(design, transfer).unwrap_or_else(|| name.clone());
            self.tasks.push((task, transfer.token, of));
        }
        let tile = place(design, transfer, &name);
        let is_used = |id: i64| self.used.iter().any(|(at, have, _)| *at == tile && *have == Some(id));
        if let Some(id) = transfer.id.filter(|id| is_used(*id)) {
            let message =
                format!("descriptor {id} of {tile} is used again, and no wait tells that it is free");
            findings.add(codes::REUSE, transfer.span, message);
        }
        let most = TileKind::Shim.model().descriptors as usize;
        let taken = self.used.iter().filter(|(at, ..)| *at == tile).count();
        if transfer.id.is_none() && taken >= most {
            let message = format!(
                "{tile} has {most} descriptors, and all are used where no wait tells that one is free"
            );
            findings.add(codes::DESCRIPTORS, transfer.span, message);
        }
        if transfer.id.is_some() || transfer.task.is_some() {
            self.used.push((tile, transfer.id, transfer.task));
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
            None if self.many.contains(name) => {}
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

/// What waits call the fifo or channel of a transfer.
fn named(design: &Design, transfer: &Move) -> Option<String> {
    if transfer.symbol.is_some() {
        return transfer.symbol.clone();
    }
    let (value, direction, number) = transfer.channel?;
    let tile = design.tiles.iter().find(|used| used.value == value)?.tile;
    let mut all = design.allocations.iter();
    all.find(|given| (given.tile, given.direction, given.channel) == (tile, direction, number))
        .map(|given| given.name.clone())
}

/// Whether transfers of a fifo or channel go into the memory of the host.
fn is_into_host(design: &Design, name: &str) -> bool {
    let fifo = design.fifo(name).and_then(Fifo::host_direction);
    let given = design.allocations.iter().find(|given| given.name == name).map(|given| given.direction);
    fifo.or(given) == Some(Direction::S2mm)
}

/// Where a fifo or channel meets the host, as a message has it.
fn place(design: &Design, transfer: &Move, name: &str) -> String {
    if let Some((value, ..)) = transfer.channel {
        let used = design.tiles.iter().find(|used| used.value == value);
        let kind = used.and_then(|used| design.device.kind(used.tile)).map_or("tile", TileKind::name);
        return used.map_or(String::new(), |used| format!("{kind} {}", used.tile));
    }
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
    (transfer, is_started): (&Move, bool),
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
    fixed(design, (transfer, is_started), &name, findings);
    Some(name)
}

/// The outermost of four dimensions repeats the descriptor.
fn repeats(transfer: &Move, name: &str, outer: Dim, bytes: u64, findings: &mut Findings) {
    let words = outer.stride.saturating_mul(bytes).div_ceil(4);
    if outer.size > 1 && words > 1 << ITERATION_STRIDE_BITS {
        let message = format!(
            "a transfer of `@{name}` is repeated in strides of {words} words, and a descriptor holds {}",
            1 << ITERATION_STRIDE_BITS
        );
        findings.add(codes::STRIDE, transfer.descriptor, message);
    }
    if outer.size > ITERATIONS && transfer.task.is_none() {
        let message = format!(
            "a transfer of `@{name}` is repeated {} times, and a descriptor is at most {ITERATIONS} times",
            outer.size
        );
        findings.add(codes::ITERATION, transfer.descriptor, message);
    }
}

/// The length of a descriptor is that of one round: of all dimensions but the outermost of four.
fn told(transfer: &Move, name: &str, inner: &[Dim], findings: &mut Findings) {
    let round = inner.iter().try_fold(1u64, |product, dim| product.checked_mul(dim.size));
    let Some(len) = transfer.len.filter(|len| u64::try_from(*len).ok() != round) else { return };
    let (which, round) = match round {
        _ if transfer.sizes.len() < 4 => ("its sizes", round),
        _ => ("its lowest three sizes", round),
    };
    let elements = round.map_or("more than 64 bits hold".to_owned(), |round| round.to_string());
    let message = format!("a transfer of `@{name}` is of {len} elements, and {which} are of {elements}");
    let found = findings.add(codes::TRANSFER, transfer.descriptor, message);
    if transfer.sizes.len() == 4 {
        found.notes.push("the outermost size is that of repeats: `repeat_count` tells how many".to_owned());
    }
    found.help.extend(round.map(|round| format!("write {round} as its length")));
}

/// What is known of a transfer's numbers before a launch.
fn fixed(design: &Design, (transfer, is_started): (&Move, bool), name: &str, findings: &mut Findings) {
    let span = transfer.descriptor;
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
    if let [outer, _, _, _] = all.as_slice() {
        repeats(transfer, name, *outer, bytes, findings);
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
    if let Ok(offset) = u64::try_from(offset) {
        begins(name, offset.saturating_mul(bytes), span, findings);
    }
    told(transfer, name, inner, findings);
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
        let found = findings.add(codes::TRANSFER, span, message);
        // What is described and never started moves nothing.
        if !is_started {
            found.severity = Severity::Warning;
        }
    }
}
