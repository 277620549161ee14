//! What the source says of bodies and expressions of a program: the names of variables, the place of every operation.
//!
//! Equal expressions are one row of words, which several instructions name. So the place of an operation follows from the
//! instruction and the word together.

use super::super::emit::{BodyId, Layout, Place};
use std::ops::Range;
use wsp_core::AxisId;
use wsp_diag::Span;
use wsp_ordered::Arrange;

/// No word.
const NONE: u32 = u32::MAX;

/// A variable in scope.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BodyVar {
    /// The source's name; of rounds `while`.
    pub name: String,
    /// What it is.
    pub kind: VarKind,
    /// Where it is declared.
    pub(in crate::ptow) span: Span,
}

/// What a variable is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum VarKind {
    /// The index of a loop over an axis.
    Axis(AxisId),
    /// The index of a loop over `lo..hi`.
    Range,
    /// The number of the round of a `while`.
    Round,
    /// An argument of a call.
    Argument,
    /// The slot of a token.
    Slot,
}

impl VarKind {
    /// Whether it is the index of a loop.
    pub fn is_index(self) -> bool {
        matches!(self, VarKind::Axis(_) | VarKind::Range)
    }
}

/// An expression where it is used.
#[derive(Clone, Debug)]
struct Use {
    /// All of it.
    span: Span,
    /// Its first word; none for a row that is the innermost variable.
    first: u32,
    /// The places of its words.
    words: Range<u32>,
}

/// Bodies and expressions of a program, and their places.
#[derive(Clone, Debug, Default)]
pub(in crate::ptow) struct Places {
    /// The first word of each body, in order, and the variables in scope there.
    bodies: Vec<(u32, Vec<BodyVar>)>,
    /// The expressions of each instruction, by its word and in the order in which they are evaluated.
    uses: Vec<(u32, Use)>,
    /// Those of the schedule and of axes.
    keys: Vec<Use>,
    words: Vec<Span>,
}

impl Places {
    /// The variables in scope at a word, outermost first.
    pub(in crate::ptow) fn vars(&self, word: u32) -> &[BodyVar] {
        let behind = self.bodies.partition_point(|(begin, _)| *begin <= word);
        behind.checked_sub(1).map_or(&[], |at| &self.bodies[at].1)
    }

    /// The place of a word of an expression that an instruction evaluates.
    pub(in crate::ptow) fn operation(&self, instruction: u32, word: u32) -> Option<Span> {
        let own = self.uses_of(instruction).iter().map(|(_, used)| used);
        let holds = |used: &&Use| used.first <= word && word - used.first < used.words.len() as u32;
        let used = own.chain(&self.keys).find(holds)?;
        self.words.get((used.words.start + word - used.first) as usize).copied()
    }

    /// The last expression of an instruction: of a loop its step or its row.
    pub(in crate::ptow) fn last(&self, instruction: u32) -> Option<Span> {
        self.uses_of(instruction).last().map(|(_, used)| used.span)
    }

    /// The places of words: of an instruction, none for the schedule and axes, and of a word of an expression that it names, none for
    /// the instruction itself, which is then where its last expression stands or, without one, its statement of `spans`.
    pub(in crate::ptow) fn all<'a>(
        &'a self,
        spans: &'a [Span],
    ) -> impl Iterator<Item = (Option<u32>, Option<u32>, Span)> + 'a {
        let own = self.uses.iter().map(|(word, used)| (Some(*word), used));
        let of_keys = self.keys.iter().map(|used| (None, used));
        let of_words = own.chain(of_keys).flat_map(|(word, used)| {
            let words = self.words[used.words.start as usize..used.words.end as usize].iter();
            // In this order: a row that is a variable has no word, and its first one has no next.
            words.zip(used.first..).map(move |(span, expr)| (word, Some(expr), *span))
        });
        let whole = (0..).zip(spans).map(|(word, span)| (Some(word), None, self.last(word).unwrap_or(*span)));
        of_words.chain(whole)
    }

    fn uses_of(&self, instruction: u32) -> &[(u32, Use)] {
        let from = self.uses.partition_point(|(word, _)| *word < instruction);
        let to = self.uses.partition_point(|(word, _)| *word <= instruction);
        &self.uses[from..to]
    }
}

/// Places of a program that is being written.
#[derive(Debug, Default)]
pub(super) struct OpenPlaces {
    /// Expressions that the instruction being written names.
    pending: Vec<Use>,
    uses: Vec<(Place, Use)>,
    keys: Vec<Use>,
    words: Vec<Span>,
}

impl OpenPlaces {
    /// The next instruction names an expression.
    pub(super) fn named(&mut self, span: Span, first: u32, words: &[Span]) {
        let used = self.used(span, first, words);
        self.pending.push(used);
    }

    /// The next instruction has an operand that needs no expression.
    pub(super) fn unnamed(&mut self, span: Span) {
        self.named(span, NONE, &[]);
    }

    /// The schedule or an axis names an expression.
    pub(super) fn key(&mut self, span: Span, first: u32, words: &[Span]) {
        let used = self.used(span, first, words);
        self.keys.push(used);
    }

    /// The expressions named so far belong to an instruction.
    pub(super) fn used_by(&mut self, place: Place) {
        self.uses.extend(self.pending.drain(..).map(|used| (place, used)));
    }

    fn used(&mut self, span: Span, first: u32, words: &[Span]) -> Use {
        let from = self.words.len() as u32;
        self.words.extend_from_slice(words);
        Use { span, first, words: from..self.words.len() as u32 }
    }

    /// The places of a program that is laid out.
    pub(super) fn close(self, layout: &Layout, vars_of: Vec<(BodyId, Vec<BodyVar>)>) -> Places {
        let mut bodies: Vec<_> = vars_of.into_iter().map(|(body, vars)| (layout.begin(body), vars)).collect();
        bodies.arrange_by_key(|(begin, _)| *begin);
        let mut uses: Vec<_> =
            self.uses.into_iter().map(|(place, used)| (layout.index(place), used)).collect();
        uses.arrange_by_key(|(word, _)| *word);
        Places { bodies, uses, keys: self.keys, words: self.words }
    }
}
