//! What flows between cores and the host: boxes of tensors as objects of fifos.
//!
//! A *version* is a box with the values that it has from one task that writes it until another does. Versions that one core makes and the same others read,
//! in that order, are the objects of one fifo. What only one core touches stays in a buffer of its tile. Tensors that no task writes come from the
//! host in the order in which each core reads them; cores that read the same are given one fifo.

use super::assign::Assigned;
use super::refused;
use super::trace::{Piece, Task, Touch, Trace};
use crate::stop;
use wsp_diag::Diagnostic;
use wsp_ordered::OrderedMap;

/// Objects that tasks in elaboration order have in flight at once, up to which a fifo is made so deep.
const DEEP: usize = 8;

/// An end of a fifo.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum End {
    /// The memory of the host.
    Host,
    /// A core.
    Core(usize),
}

/// First and last task that an object is held for.
pub(crate) type Span = (usize, usize);

/// Objects that flow from one end to others.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    /// The tensor that they are boxes of.
    pub(crate) tensor: usize,
    pub(crate) from: End,
    /// Where they go, in order.
    pub(crate) to: Vec<End>,
    /// The boxes, in order.
    pub(crate) boxes: Vec<Piece>,
    /// Where several tensors share the fifo, that of each box.
    pub(crate) of: Vec<usize>,
    /// The first task that each box is needed for.
    pub(crate) first: Vec<usize>,
    /// Objects in memory.
    pub(crate) depth: u32,
    /// Objects that a core holds at once, fewer than which there cannot be.
    pub(crate) held: u32,
    /// Objects that pass in a launch: with room for so many it keeps no core waiting.
    pub(crate) most: u32,
}

/// An end of a stream at a core.
#[derive(Clone, Debug)]
pub(crate) struct Use {
    pub(crate) stream: usize,
    pub(crate) produces: bool,
    /// Tasks that each object is held for; neither begins nor ends fall.
    pub(crate) spans: Vec<Span>,
}

/// Where a task finds a box.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Source {
    /// The object of a number, of a use of its core.
    Object(usize, usize),
    /// A buffer of its core.
    Buffer(usize),
}

/// A buffer of a core.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Local {
    pub(crate) tensor: usize,
    pub(crate) len: Vec<u64>,
}

/// All that flows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flows {
    pub(crate) streams: Vec<Stream>,
    /// By core.
    pub(crate) uses: Vec<Vec<Use>>,
    pub(crate) locals: Vec<Vec<Local>>,
    /// By task and touch: where it is read, and where it is written.
    pub(crate) sources: Vec<Vec<[Option<Source>; 2]>>,
}

/// A box with the values that one task gave it.
#[derive(Clone, Debug)]
struct Version {
    piece: Piece,
    from: End,
    /// Tasks of the producer that touch it.
    made: Span,
    /// Other cores that read it, each with its tasks.
    read: Vec<(End, Span)>,
}

pub(super) struct Builder<'t> {
    pub(super) trace: &'t Trace,
    pub(super) assigned: &'t Assigned,
    pub(super) flows: Flows,
    /// By task and touch, the version that is read and the one that is written.
    versions_of: Vec<Vec<[Option<usize>; 2]>>,
}

/// # Errors
/// Boxes that overlap, of several sizes, or read in another order than they are written.
pub(crate) fn flows(trace: &Trace, assigned: &Assigned) -> Result<Flows, Diagnostic> {
    let cores = assigned.names.len();
    let none = |task: &Task| vec![[None, None]; task.touches.len()];
    let flows = Flows {
        streams: Vec::new(),
        uses: vec![Vec::new(); cores],
        locals: vec![Vec::new(); cores],
        sources: trace.tasks.iter().map(none).collect(),
    };
    let versions_of = trace.tasks.iter().map(|task| vec![[None, None]; task.touches.len()]).collect();
    let mut builder = Builder { trace, assigned, flows, versions_of };
    for tensor in 0..trace.tensors.len() {
        let all = || trace.tasks.iter().flat_map(|task| &task.touches);
        let touches = || all().filter(|of| of.tensor == tensor && (of.read || of.write));
        if touches().any(|touch| touch.write) {
            apart(trace, tensor)?;
            builder.written(tensor)?;
        } else if touches().next().is_some() {
            builder.given(tensor)?;
        }
    }
    for core in 0..cores {
        builder.share_channels(core);
    }
    Ok(builder.flows)
}

impl Stream {
    /// The tensor of a box.
    pub(crate) fn tensor_of(&self, at: usize) -> usize {
        self.of.get(at).copied().unwrap_or(self.tensor)
    }
}

/// Boxes of a tensor that is written are the same or apart.
fn apart(trace: &Trace, tensor: usize) -> Result<(), Diagnostic> {
    let mut boxes: Vec<&Piece> = Vec::new();
    let all = trace.tasks.iter().flat_map(|task| &task.touches);
    let touches = all.filter(|touch| touch.tensor == tensor && (touch.read || touch.write));
    let mut seen: OrderedMap<&Piece, ()> = OrderedMap::new();
    for touch in touches {
        if seen.insert(&touch.region, ()).is_none() {
            boxes.push(&touch.region);
        }
    }
    let same = boxes.iter().all(|piece| {
        let dims = piece.lo.iter().zip(&piece.len);
        piece.len == boxes[0].len && dims.into_iter().all(|(lo, len)| lo.is_multiple_of(*len))
    });
    if same {
        return Ok(());
    }
    for (at, a) in boxes.iter().enumerate() {
        stop::look()?;
        if let Some(b) = boxes[..at].iter().find(|b| a.crosses(b)) {
            let name = &trace.tensors[tensor].name;
            return Err(refused(format!(
                "tasks touch {b} and {a} of `{name}`, which overlap and are not the same"
            ))
            .at(trace.tensors[tensor].span, "")
            .note("what is written flows from core to core in whole boxes")
            .help("give the program sizes that its tiles divide"));
        }
    }
    Ok(())
}

impl Builder<'_> {
    fn core(&self, task: usize) -> usize {
        self.assigned.core_of[task]
    }

    /// A tensor that no task writes.
    fn given(&mut self, tensor: usize) -> Result<(), Diagnostic> {
        // Of each core: its boxes in order, their spans, and the touches that are of each.
        type Reads = (Vec<Piece>, Vec<Span>, Vec<Vec<(usize, usize)>>);
        let mut by_core: OrderedMap<usize, Reads> = OrderedMap::new();
        for (at, task) in self.trace.tasks.iter().enumerate() {
            stop::look()?;
            let of_this = |(_, touch): &(usize, &Touch)| touch.tensor == tensor && touch.read;
            let touches = || task.touches.iter().enumerate().filter(of_this);
            // What a task needs beside it is not given back meanwhile.
            let back = touches().count();
            if back == 0 {
                continue;
            }
            let (boxes, spans, of) = by_core.entry(self.core(at)).or_default();
            for (i, touch) in touches() {
                let from = boxes.len().saturating_sub(back);
                match boxes[from..].iter().rposition(|piece| *piece == touch.region) {
                    Some(found) => {
                        spans[from + found].1 = at;
                        of[from + found].push((at, i));
                    }
                    None => {
                        boxes.push(touch.region.clone());
                        spans.push((at, at));
                        of.push(vec![(at, i)]);
                    }
                }
            }
        }
        let mut streams: Vec<usize> = Vec::new();
        for (core, (boxes, spans, of)) in by_core {
            self.one_size(tensor, &boxes)?;
            let same = streams.iter().copied().find(|at| self.flows.streams[*at].boxes == boxes);
            let first: Vec<usize> = spans.iter().map(|span| span.0).collect();
            let stream = same.unwrap_or_else(|| {
                let (from, to) = (End::Host, Vec::new());
                let (of, first) = (Vec::new(), first.clone());
                self.flows.streams.push(Stream {
                    tensor,
                    from,
                    to,
                    boxes,
                    of,
                    first,
                    depth: 0,
                    held: 0,
                    most: 0,
                });
                self.flows.streams.len() - 1
            });
            if same.is_none() {
                streams.push(stream);
            }
            let known = &mut self.flows.streams[stream];
            known.to.push(End::Core(core));
            known.first.iter_mut().zip(&first).for_each(|(known, first)| *known = (*known).min(*first));
            let number = self.take(core, stream, false, spans);
            for (object, touches) in of.into_iter().enumerate() {
                touches.iter().for_each(|(task, i)| {
                    self.flows.sources[*task][*i][0] = Some(Source::Object(number, object))
                });
            }
        }
        for stream in streams {
            self.deepen(stream, 0);
        }
        Ok(())
    }

    /// Adds a use; what is held longer than what comes after it is given back in order.
    fn take(&mut self, core: usize, stream: usize, produces: bool, spans: Vec<Span>) -> usize {
        let spans = in_order(spans);
        self.flows.uses[core].push(Use { stream, produces, spans });
        self.flows.uses[core].len() - 1
    }

    fn one_size(&self, tensor: usize, boxes: &[Piece]) -> Result<(), Diagnostic> {
        let Some(other) = boxes.iter().find(|piece| piece.len != boxes[0].len) else { return Ok(()) };
        let of = &self.trace.tensors[tensor];
        let message = format!("a core takes boxes of `{}` of two sizes, {} and {other}", of.name, boxes[0]);
        Err(refused(message)
            .at(of.span, "")
            .note("all objects of a fifo have one size")
            .help("give the program sizes that its tiles divide"))
    }

    /// Gives a fifo its depth: what tasks in order have in flight, and at the host's end one more than a core holds.
    pub(super) fn deepen(&mut self, stream: usize, flying: usize) {
        let mut held = 1;
        for uses in &self.flows.uses {
            for of in uses.iter().filter(|of| of.stream == stream) {
                held = held.max(most_held(&of.spans));
            }
        }
        let of = &mut self.flows.streams[stream];
        let is_of_host = of.from == End::Host || of.to.contains(&End::Host);
        let deep = if is_of_host || flying > DEEP { held + 1 } else { held.max(flying) };
        of.depth = deep.min(of.boxes.len().max(held)) as u32;
        (of.held, of.most) = (held as u32, of.boxes.len() as u32);
    }

    /// A tensor that tasks write.
    fn written(&mut self, tensor: usize) -> Result<(), Diagnostic> {
        let versions = self.versions(tensor);
        let mut groups: OrderedMap<(End, Vec<End>), Vec<usize>> = OrderedMap::new();
        for (at, version) in versions.iter().enumerate() {
            let mut to: Vec<End> = version.read.iter().map(|(end, _)| *end).collect();
            to.sort_unstable();
            groups.entry((version.from, to)).or_default().push(at);
        }
        let mut sources: Vec<OrderedMap<usize, Source>> = vec![OrderedMap::new(); versions.len()];
        for ((from, to), mut all) in groups {
            all.sort_by_key(|at| versions[*at].made.0);
            match from {
                End::Core(core) if to.is_empty() => self.keep(tensor, core, &versions, &all, &mut sources)?,
                _ => self.pass(tensor, (from, to), &versions, &all, &mut sources)?,
            }
        }
        for (task, of) in self.trace.tasks.iter().enumerate() {
            for (i, touch) in of.touches.iter().enumerate().filter(|(_, touch)| touch.tensor == tensor) {
                for (side, used) in [touch.read, touch.write].into_iter().enumerate() {
                    let version = self.versions_of[task][i][side];
                    let source =
                        version.and_then(|version| sources[version].get(&self.assigned.core_of[task]));
                    debug_assert_eq!(source.is_some(), used, "{touch:?}");
                    self.flows.sources[task][i][side] = source.copied();
                }
            }
        }
        Ok(())
    }

    fn versions(&mut self, tensor: usize) -> Vec<Version> {
        let mut versions: Vec<Version> = Vec::new();
        let mut now: OrderedMap<&Piece, usize> = OrderedMap::new();
        for (at, task) in self.trace.tasks.iter().enumerate() {
            let end = End::Core(self.assigned.core_of[at]);
            let touches = || task.touches.iter().enumerate().filter(|(_, touch)| touch.tensor == tensor);
            for (i, touch) in touches().filter(|(_, touch)| touch.read) {
                let version = *now.entry(&touch.region).or_insert_with(|| {
                    let (piece, from) = (touch.region.clone(), End::Host);
                    versions.push(Version { piece, from, made: (at, at), read: Vec::new() });
                    versions.len() - 1
                });
                self.versions_of[at][i][0] = Some(version);
                let of = &mut versions[version];
                if of.from == end {
                    of.made.1 = at;
                    continue;
                }
                match of.read.iter_mut().find(|(reader, _)| *reader == end) {
                    Some((_, span)) => span.1 = at,
                    None => of.read.push((end, (at, at))),
                }
            }
            for (i, touch) in touches().filter(|(_, touch)| touch.write) {
                // What is changed where it lies stays the same object.
                let changed = touches().any(|(_, other)| other.read && other.region == touch.region);
                let own = now.get(&touch.region).copied().filter(|version| {
                    let of = &versions[*version];
                    changed && of.from == end && of.read.is_empty()
                });
                let version = own.unwrap_or_else(|| {
                    let piece = touch.region.clone();
                    versions.push(Version { piece, from: end, made: (at, at), read: Vec::new() });
                    versions.len() - 1
                });
                versions[version].made.1 = at;
                now.insert(&touch.region, version);
                self.versions_of[at][i][1] = Some(version);
            }
        }
        if self.trace.tensors[tensor].host {
            let end = self.trace.tasks.len();
            for version in now.into_iter().map(|(_, version)| version) {
                if versions[version].from != End::Host {
                    versions[version].read.push((End::Host, (end, end)));
                }
            }
        }
        versions
    }

    /// Versions that stay on a core: each in a buffer that is free.
    fn keep(
        &mut self,
        tensor: usize,
        core: usize,
        versions: &[Version],
        all: &[usize],
        sources: &mut [OrderedMap<usize, Source>],
    ) -> Result<(), Diagnostic> {
        let pieces: Vec<Piece> = all.iter().map(|at| versions[*at].piece.clone()).collect();
        self.one_size(tensor, &pieces)?;
        let mut free_from: Vec<(usize, usize)> = Vec::new();
        for at in all {
            let (first, last) = versions[*at].made;
            let slot = free_from.iter().position(|(_, free)| *free < first);
            let slot = slot.unwrap_or_else(|| {
                self.flows.locals[core].push(Local { tensor, len: versions[*at].piece.len.clone() });
                free_from.push((self.flows.locals[core].len() - 1, 0));
                free_from.len() - 1
            });
            free_from[slot].1 = last;
            sources[*at].insert(core, Source::Buffer(free_from[slot].0));
        }
        Ok(())
    }

    /// Versions that flow from one end to others.
    fn pass(
        &mut self,
        tensor: usize,
        (from, to): (End, Vec<End>),
        versions: &[Version],
        all: &[usize],
        sources: &mut [OrderedMap<usize, Source>],
    ) -> Result<(), Diagnostic> {
        let of: Vec<&Version> = all.iter().map(|at| &versions[*at]).collect();
        let boxes: Vec<Piece> = of.iter().map(|version| version.piece.clone()).collect();
        self.one_size(tensor, &boxes)?;
        let span_of =
            |version: &Version, end: End| match version.read.iter().find(|(reader, _)| *reader == end) {
                Some((_, span)) => *span,
                None => version.made,
            };
        let stream = self.flows.streams.len();
        let first = of.iter().map(|version| version.made.0).collect();
        self.flows.streams.push(Stream {
            tensor,
            from,
            to: to.clone(),
            boxes,
            of: Vec::new(),
            first,
            depth: 0,
            held: 0,
            most: 0,
        });
        for end in [from].into_iter().chain(to) {
            let End::Core(core) = end else { continue };
            let spans: Vec<Span> = of.iter().map(|version| span_of(version, end)).collect();
            if let Some(at) = spans.windows(2).position(|pair| pair[0].0 > pair[1].0) {
                let name = &self.trace.tensors[tensor].name;
                let message = format!(
                    "`{}` reads {} of `{name}` before {}, and they are written the other way round",
                    self.assigned.names[core],
                    of[at + 1].piece,
                    of[at].piece
                );
                return Err(refused(message)
                    .at(self.trace.tensors[tensor].span, "")
                    .note("objects come out of a fifo in the order in which they go in")
                    .help("read boxes in the order in which they are written"));
            }
            let number = self.take(core, stream, end == from, spans);
            all.iter().enumerate().for_each(|(object, version)| {
                sources[*version].insert(core, Source::Object(number, object));
            });
        }
        let ends: Vec<Span> = of
            .iter()
            .map(|version| {
                let last = version.read.iter().map(|(_, span)| span.1).max().unwrap_or(0);
                (version.made.0, last.min(self.trace.tasks.len()))
            })
            .collect();
        self.deepen(stream, most_held(&ends));
        Ok(())
    }
}

/// Spans of objects that are given back in order: none ends before one that began earlier.
pub(super) fn in_order(mut spans: Vec<Span>) -> Vec<Span> {
    let mut last = 0;
    for span in &mut spans {
        last = last.max(span.1);
        span.1 = last;
    }
    spans
}

/// How many spans, which begin in order, are open at once at most.
pub(super) fn most_held(spans: &[Span]) -> usize {
    let mut most = 0;
    for (at, (first, _)) in spans.iter().enumerate() {
        most = most.max(1 + spans[..at].iter().rev().take(64).filter(|(_, last)| last >= first).count());
    }
    most
}
