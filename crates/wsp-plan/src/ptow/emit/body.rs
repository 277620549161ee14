//! Bodies: rows of instructions, and how they are laid out one behind the other.

use wsp_core::ptow::{Op, Word};
use wsp_diag::Span;

/// A body that is being written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::ptow) struct BodyId(usize);

/// A word of a body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::ptow) struct Place {
    body: BodyId,
    at: usize,
}

/// All bodies of a program.
#[derive(Debug, Default)]
pub(in crate::ptow) struct Bodies {
    bodies: Vec<Body>,
}

#[derive(Debug, Default)]
struct Body {
    /// Attributes, which are known when the statements are.
    front: Vec<(Word, Span)>,
    words: Vec<(Word, Span)>,
    /// Words that name a body, in order.
    links: Vec<(usize, BodyId)>,
    is_process: bool,
}

/// Bodies laid out.
#[derive(Debug, Default)]
pub(in crate::ptow) struct Layout {
    pub(in crate::ptow) words: Vec<Word>,
    /// The statement of each word.
    pub(in crate::ptow) spans: Vec<Span>,
    /// Deepest nesting of bodies, 1 for the outermost alone, and the statement there.
    pub(in crate::ptow) depth: (usize, Span),
    /// Most bodies of a process around an instruction that may wait, and the statement there.
    pub(in crate::ptow) waits: (usize, Span),
    /// Where each body begins, and where its statements do.
    begins: Vec<usize>,
    starts: Vec<usize>,
}

impl Bodies {
    /// A body without words.
    pub(in crate::ptow) fn body(&mut self) -> BodyId {
        self.bodies.push(Body::default());
        BodyId(self.bodies.len() - 1)
    }

    /// Appends a word.
    pub(in crate::ptow) fn word(&mut self, body: BodyId, word: Word, span: Span) -> Place {
        let words = &mut self.bodies[body.0].words;
        words.push((word, span));
        Place { body, at: words.len() - 1 }
    }

    /// Puts a word before the statements, behind those put there already.
    pub(in crate::ptow) fn front(&mut self, body: BodyId, word: Word, span: Span) {
        self.bodies[body.0].front.push((word, span));
    }

    /// Lets a word name a body with its second operand.
    pub(in crate::ptow) fn link(&mut self, place: Place, to: BodyId) {
        self.bodies[place.body.0].links.push((place.at, to));
    }

    /// Notes that a body is a process.
    pub(in crate::ptow) fn is_process(&mut self, body: BodyId) {
        self.bodies[body.0].is_process = true;
    }

    /// Lays the bodies out from the outermost, each before the bodies that it names.
    pub(in crate::ptow) fn lay_out(&self, outermost: BodyId) -> Layout {
        let places = vec![0; self.bodies.len()];
        let mut layout = Layout { starts: places.clone(), begins: places, ..Layout::default() };
        let mut ahead = vec![(outermost, 1, 0, Span::default())];
        while let Some((id, depth, within, span)) = ahead.pop() {
            let body = &self.bodies[id.0];
            let within = within + usize::from(within > 0 || body.is_process);
            let waits =
                body.words.iter().find(|(word, _)| Op::from_code(word.opcode).is_some_and(Op::transfers));
            if let Some((_, span)) = waits.filter(|_| within > layout.waits.0) {
                layout.waits = (within, *span);
            }
            if depth > layout.depth.0 {
                layout.depth = (depth, span);
            }
            layout.begins[id.0] = layout.words.len();
            layout.starts[id.0] = layout.words.len() + body.front.len();
            let end = if id == outermost { Op::Halt } else { Op::End };
            let end = (Word { opcode: end.code(), ..Word::default() }, span);
            for (word, span) in body.front.iter().chain(&body.words).chain([&end]) {
                layout.words.push(*word);
                layout.spans.push(*span);
            }
            let named = body.links.iter().rev();
            ahead.extend(named.map(|(at, to)| (*to, depth + 1, within, body.words[*at].1)));
        }
        for (body, start) in self.bodies.iter().zip(&layout.starts) {
            for (at, to) in &body.links {
                layout.words[start + at].operand2 = layout.begins[to.0] as u32;
            }
        }
        layout
    }
}

impl Layout {
    /// The index of a word.
    pub(in crate::ptow) fn index(&self, place: Place) -> u32 {
        (self.starts[place.body.0] + place.at) as u32
    }

    /// The index of the first word of a body.
    pub(in crate::ptow) fn begin(&self, body: BodyId) -> u32 {
        self.begins[body.0] as u32
    }
}
