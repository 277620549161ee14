//! Fifos that several tensors share, where a core has more of them than channels.

use super::flow::{Builder, End, Source, Span, Stream, Use, in_order, most_held};
use crate::device::TileKind;
use wsp_ordered::OrderedMap;

/// An object of one of two fifos: the tasks that a core holds it for, whether it is of the second, and its number there.
type Object = (Span, bool, usize);

/// What a core has of two fifos: the numbers of its uses, and their objects in the order of its tasks.
struct Both {
    core: usize,
    uses: [usize; 2],
    objects: Vec<Object>,
}

impl Builder<'_> {
    /// Puts boxes between the host and a core into one fifo, those of one size and type in the order in which tasks need them, until the core has a channel for each
    /// fifo, or no two are alike. Fifos of one core come first, then those of which the same cores take the same.
    pub(super) fn share_channels(&mut self, core: usize) {
        let most = TileKind::Compute.model().channels as usize;
        for into in [false, true] {
            loop {
                let is_one = |of: &Use| match into {
                    true => self.flows.streams[of.stream].to == [End::Host],
                    false => self.flows.streams[of.stream].from == End::Host,
                };
                let streams: Vec<usize> =
                    self.flows.uses[core].iter().filter(|of| is_one(of)).map(|of| of.stream).collect();
                if streams.len() <= most {
                    break;
                }
                let alike = |broadcast: bool| {
                    let is_alike = |(a, b): &(usize, usize)| {
                        (self.flows.streams[*a].to.len() > 1) == broadcast && self.are_alike(*a, *b)
                    };
                    let pairs =
                        (0..streams.len()).flat_map(|i| streams[i + 1..].iter().map(move |b| (i, *b)));
                    pairs.map(|(i, b)| (streams[i], b)).find(is_alike)
                };
                let Some((a, b)) = alike(false).or_else(|| alike(true)) else { break };
                if !self.share(a, b) {
                    break;
                }
            }
        }
    }

    /// Whether two fifos go the same way with boxes of one size and type.
    fn are_alike(&self, a: usize, b: usize) -> bool {
        let form = |at: usize| {
            let Stream { tensor, from, to, boxes, .. } = &self.flows.streams[at];
            (*from, to, &boxes[0].len, self.trace.tensors[*tensor].dtype)
        };
        form(a) == form(b) && self.both(a, b).is_some()
    }

    /// What each core has of two fifos; none where the cores need their objects in several orders.
    fn both(&self, a: usize, b: usize) -> Option<Vec<Both>> {
        let mut all: Vec<Both> = Vec::new();
        for (core, of_core) in self.flows.uses.iter().enumerate() {
            let of = |stream: usize| of_core.iter().position(|of| of.stream == stream);
            let (Some(one), Some(other)) = (of(a), of(b)) else { continue };
            let spans = |at: usize, second: bool| {
                of_core[at].spans.iter().enumerate().map(move |(object, span)| (*span, second, object))
            };
            let mut objects: Vec<Object> = spans(one, false).chain(spans(other, true)).collect();
            objects.sort_by_key(|((first, _), second, object)| (*first, *second, *object));
            all.push(Both { core, uses: [one, other], objects });
        }
        let order =
            |both: &Both| both.objects.iter().map(|(_, of, object)| (*of, *object)).collect::<Vec<_>>();
        let is_one_order = all.windows(2).all(|pair| order(&pair[0]) == order(&pair[1]));
        // A box that is held beside all others takes each a place, and a descriptor.
        let most = TileKind::Compute.model().descriptors as usize;
        let has_room = all.iter().all(|both| {
            let spans: Vec<Span> = both.objects.iter().map(|(span, ..)| *span).collect();
            most_held(&in_order(spans)) < most
        });
        (is_one_order && has_room).then_some(all)
    }

    /// Puts the objects of a fifo into another one. Whether it was done.
    fn share(&mut self, kept: usize, gone: usize) -> bool {
        let Some(all) = self.both(kept, gone).filter(|all| !all.is_empty()) else { return false };
        let old = [kept, gone].map(|at| self.flows.streams[at].clone());
        let stream = &mut self.flows.streams[kept];
        (stream.boxes, stream.of, stream.first) = (Vec::new(), Vec::new(), Vec::new());
        for (_, second, object) in &all[0].objects {
            let source = &old[usize::from(*second)];
            stream.boxes.push(source.boxes[*object].clone());
            stream.of.push(source.tensor_of(*object));
            stream.first.push(source.first[*object]);
        }
        all.into_iter().for_each(|both| self.share_at(both));
        self.flows.streams.remove(gone);
        for of in self.flows.uses.iter_mut().flatten().filter(|of| of.stream > gone) {
            of.stream -= 1;
        }
        self.deepen(kept - usize::from(kept > gone), 0);
        true
    }

    /// Makes one of two uses of a core.
    fn share_at(&mut self, Both { core, uses: [into, from], objects }: Both) {
        let mut places: OrderedMap<(usize, usize), usize> = OrderedMap::new();
        for (place, (_, second, object)) in objects.iter().enumerate() {
            places.insert((if *second { from } else { into }, *object), place);
        }
        self.flows.uses[core][into].spans = in_order(objects.into_iter().map(|(span, ..)| span).collect());
        self.flows.uses[core].remove(from);
        let now = |at: usize| at - usize::from(at > from);
        for (task, sources) in self.flows.sources.iter_mut().enumerate() {
            if self.assigned.core_of[task] != core {
                continue;
            }
            for source in sources.iter_mut().flatten().flatten() {
                let Source::Object(at, object) = source else { continue };
                *source = match places.get(&(*at, *object)) {
                    Some(place) => Source::Object(now(into), *place),
                    None => Source::Object(now(*at), *object),
                };
            }
        }
    }
}
