//! Fifos that several tensors share, where a core has more of them than channels.

use super::flow::{Builder, End, Source, Span, Use};
use crate::device::TileKind;
use wsp_ordered::OrderedMap;

impl Builder<'_> {
    /// Puts boxes that the host has for one core into one fifo, those of one size and type in the order in which tasks need them, until the core has a channel for each
    /// fifo, or no two are alike.
    pub(super) fn share_channels(&mut self, core: usize) {
        let most = TileKind::Compute.model().channels as usize;
        loop {
            let is_given = |of: &Use| self.flows.streams[of.stream].from == End::Host;
            let uses: Vec<usize> =
                (0..self.flows.uses[core].len()).filter(|at| is_given(&self.flows.uses[core][*at])).collect();
            if uses.len() <= most {
                return;
            }
            let of = |at: usize| &self.flows.streams[self.flows.uses[core][at].stream];
            let form = |at: usize| {
                let stream = of(at);
                (stream.to.len() == 1)
                    .then(|| (&stream.boxes[0].len, self.trace.tensors[stream.tensor].dtype))
            };
            let pairs =
                uses.iter().enumerate().flat_map(|(i, a)| uses[i + 1..].iter().map(move |b| (*a, *b)));
            let alike = pairs.into_iter().find(|(a, b)| form(*a).is_some() && form(*a) == form(*b));
            let Some((a, b)) = alike else { return };
            self.share(core, a, b);
        }
    }

    /// Puts the objects of a use into the fifo of another, which stands before it.
    fn share(&mut self, core: usize, into: usize, from: usize) {
        let mut all: Vec<(Span, usize, usize)> = Vec::new();
        for at in [into, from] {
            all.extend(
                self.flows.uses[core][at].spans.iter().enumerate().map(|(object, span)| (*span, at, object)),
            );
        }
        all.sort_by_key(|((first, _), at, object)| (*first, *at, *object));
        let gone = self.flows.uses[core].remove(from).stream;
        let kept = self.flows.uses[core][into].stream;
        let old = [kept, gone].map(|at| self.flows.streams[at].clone());
        let stream = &mut self.flows.streams[kept];
        (stream.boxes, stream.of, stream.first) = (Vec::new(), Vec::new(), Vec::new());
        let mut places: OrderedMap<(usize, usize), usize> = OrderedMap::new();
        let (mut spans, mut last) = (Vec::new(), 0);
        for (place, (span, at, object)) in all.into_iter().enumerate() {
            let source = &old[usize::from(at == from)];
            stream.boxes.push(source.boxes[object].clone());
            stream.of.push(source.tensor_of(object));
            stream.first.push(source.first[object]);
            places.insert((at, object), place);
            last = last.max(span.1);
            spans.push((span.0, last));
        }
        self.flows.uses[core][into].spans = spans;
        self.flows.streams.remove(gone);
        for of in self.flows.uses.iter_mut().flatten().filter(|of| of.stream > gone) {
            of.stream -= 1;
        }
        for (task, sources) in self.flows.sources.iter_mut().enumerate() {
            if self.assigned.core_of[task] != core {
                continue;
            }
            for source in sources.iter_mut().flatten().flatten() {
                let Source::Object(at, object) = source else { continue };
                *source = match places.get(&(*at, *object)) {
                    Some(place) => Source::Object(into, *place),
                    None => Source::Object(*at - usize::from(*at > from), *object),
                };
            }
        }
        self.deepen(kept - usize::from(kept > gone), 0);
    }
}
