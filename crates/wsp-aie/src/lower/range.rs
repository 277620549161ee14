//! The numbers of launches with the lengths of a range, as sums that follow from the length.
//!
//! Transfers of some lengths are listed, and what is repeated in them becomes loops, as in what cores do. A number that differs between lengths is a sum of a number and a multiple of
//! `ceil(length / tile)`, which the host computes. Lengths for which two such sums would differ are listed too, and lengths on both sides of steps, until one sum fits all that was seen. What was not listed is compared with the sums then, length by length (`holds`).

use super::host::{HostEnd, Transfer, ordered, places};
use super::lines::{Code, Common, Item};
use super::program::Program;
use super::{Part, refused};
use wsp_diag::Diagnostic;
use wsp_ordered::OrderedSet;

/// Most tasks of all lengths of a range together: each is listed and compared. Decode of 1 to 8,191 tokens has a million and takes 12 s of a processor.
pub(crate) const COMPARED: u64 = 5 << 18;
/// Tasks that take as long as what a length takes whatever its tasks are: 0.3 ms.
pub(crate) const OF_LENGTH: u64 = 24;
/// Most lengths of a range: each has a task.
const MOST: i64 = (COMPARED / (OF_LENGTH + 1)) as i64;
/// The longest of them: as many tiles are tried for each sum.
const LONGEST: i64 = 1 << 20;
/// Most lengths that are listed at once because two sums of one number differ there.
const APART: usize = 8;
/// Lengths of a parameter, from the first to the last.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Range {
    /// The parameter.
    pub name: String,
    /// The first length.
    pub from: i64,
    /// The last.
    pub to: i64,
}

/// What has the lengths of a range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RangeOf {
    /// A parameter.
    Parameter,
    /// An extent of arrays.
    Extent,
}

/// A range, and lengths of it that were listed.
#[derive(Clone, Copy)]
pub(super) struct Listing<'a> {
    pub(super) range: &'a Range,
    pub(super) lengths: &'a [i64],
}

/// What launches of a range do, with numbers that follow from the length.
#[derive(Debug)]
pub(super) struct Fitted {
    pub(super) kinds: Vec<Kind>,
    /// What the host does, and its numbers by word.
    pub(super) code: Vec<Code>,
    pub(super) sums: Vec<Sum>,
    /// The words of each core.
    pub(super) words: Vec<Vec<Sum>>,
    /// Lengths that are to be listed before it is known to be right.
    pub(super) open: OrderedSet<i64>,
}

/// `base + factor · ceil(length / tile)`
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Sum {
    pub(super) tile: i64,
    pub(super) factor: i64,
    pub(super) base: i64,
}

impl Range {
    /// Refuses a range that is none, with the part of it that is one. Extents of arrays have no ranges.
    ///
    /// # Errors
    /// A range that has too many lengths or fewer than two, or lengths below 1.
    pub(crate) fn check(&self, of: RangeOf) -> Result<(), Diagnostic> {
        let Range { name, from, to } = self;
        // `to - from` may be beyond 64 bits where `from` is below 1.
        if *from >= 1 && *to <= LONGEST && to - from < MOST {
            return if from < to { Ok(()) } else { Err(self.too_short()) };
        }
        let last = (*to).clamp(2, LONGEST);
        let first = (*from).clamp(1, last - 1);
        let last = last.min(first + MOST - 1);
        let message = format!(
            "lengths {from} to {to} of `{name}`, and a range has {MOST} at most, from 1 to {LONGEST}"
        );
        Err(refused(message).help(match of {
            RangeOf::Parameter => {
                format!("give a range within these bounds: `--lengths {name}={first}..={last}`")
            }
            RangeOf::Extent => {
                format!("have a sequence for each length: `--lengths {name}={first},{last}`")
            }
        }))
    }

    /// Lengths differ in what a sequence that takes the length does not compute.
    pub(crate) fn differs(&self, what: &str) -> Diagnostic {
        self.refused(format!("with other lengths of `{}` {what}", self.name), self.to)
    }

    /// What a sequence that takes the length cannot do, as a length shows.
    pub(super) fn refused(&self, message: String, length: i64) -> Diagnostic {
        let Range { name, from, .. } = self;
        refused(message)
            .note(format!("a sequence that takes the length computes sizes, rounds and words as `a + b · ceil({name} / tile)`"))
            .help(format!("have a sequence for each length: `--lengths {name}={from},{length}`"))
    }

    fn too_short(&self) -> Diagnostic {
        let Range { name, from, to } = self;
        let first = (*from).min(LONGEST - 1);
        let message = format!("lengths {from} to {to} of `{name}`, and a range has two at least");
        refused(message).help(format!(
            "give a range: `--lengths {name}={first}..={}`, or one length: `--lengths {name}={from}`",
            first + 1
        ))
    }

    /// The lengths that are looked at first.
    pub(crate) fn first(&self) -> OrderedSet<i64> {
        let Range { from, to, .. } = self;
        let spread = [0, 3, 7, 13, 29, 61, 97].map(|part| from + (to - from) * part / 100);
        spread.into_iter().chain([*from, from + 1, *to]).collect()
    }
}

impl Sum {
    pub(super) fn at(self, length: i64) -> i128 {
        let steps = (i128::from(length) + i128::from(self.tile) - 1) / i128::from(self.tile);
        i128::from(self.base) + i128::from(self.factor) * steps
    }

    /// The sums with which these numbers come of their lengths.
    fn fits(seen: &[(i64, i64)]) -> Vec<Sum> {
        let steps = |length: i64, tile: i64| (length + tile - 1) / tile;
        let (Some(low), Some(high)) = (seen.iter().min(), seen.iter().max()) else { return Vec::new() };
        let of_tile = |tile: i64| {
            let (less, more) = (steps(low.0, tile), steps(high.0, tile));
            let (rise, run) = (high.1.checked_sub(low.1)?, more - less);
            if run == 0 || rise % run != 0 {
                return None;
            }
            let factor = rise / run;
            let sum = Sum { tile, factor, base: low.1.checked_sub(factor.checked_mul(less)?)? };
            seen.iter().all(|(length, value)| sum.at(*length) == i128::from(*value)).then_some(sum)
        };
        (1..=high.0).filter_map(of_tile).collect()
    }
}

impl Listing<'_> {
    /// The sum that a word with these values is; lengths that tell it from others go to `open`.
    fn sum(self, values: &[i64], open: &mut OrderedSet<i64>) -> Result<Sum, Diagnostic> {
        let seen: Vec<(i64, i64)> = self.lengths.iter().copied().zip(values.iter().copied()).collect();
        if values.iter().all(|value| *value == values[0]) {
            return Ok(Sum { tile: 1, factor: 0, base: values[0] });
        }
        let fits = Sum::fits(&seen);
        let Some(sum) = fits.first().copied() else {
            return Err(self
                .range
                .differs("a size, a number of rounds or a word does not grow in equal steps"));
        };
        open.extend(fits[1..].iter().filter_map(|other| apart(self.range, sum, *other)).take(APART));
        let (low, high) = (self.range.from / sum.tile, self.range.to / sum.tile);
        let ends = [low, low + 1, (low + high) / 2, high].map(|step| step * sum.tile);
        open.extend(ends.iter().flat_map(|end| [*end, end + 1]));
        Ok(sum)
    }

    /// What fits the launches of all lengths that are listed.
    ///
    /// # Errors
    /// Lengths differ in more than numbers that follow from them.
    pub(super) fn fit(
        self,
        (parts, ends): (&[Part<'_>], &[HostEnd]),
        programs: &[Program],
    ) -> Result<Fitted, Diagnostic> {
        let dims = |part: &Part<'_>| part.trace.tensors.iter().map(|of| of.dims.clone()).collect::<Vec<_>>();
        if parts.iter().any(|part| dims(part) != dims(&parts[0])) {
            return Err(self.range.differs("arrays have other extents"));
        }
        let mut kinds = Vec::new();
        let launches = parts
            .iter()
            .map(|part| items(part, ends, &mut kinds))
            .collect::<Result<Vec<Vec<Item>>, Diagnostic>>()?;
        let common =
            Common::of(&launches).ok_or_else(|| self.range.differs("the host starts other transfers"))?;
        let mut open = OrderedSet::new();
        let mut of = |words: &[Vec<i64>]| {
            words.iter().map(|values| self.sum(values, &mut open)).collect::<Result<Vec<Sum>, _>>()
        };
        let sums = of(&common.words)?;
        let words =
            programs.iter().map(|program| of(&program.common.words)).collect::<Result<Vec<_>, _>>()?;
        open.retain(|length| {
            (self.range.from..=self.range.to).contains(length) && !self.lengths.contains(length)
        });
        Ok(Fitted { kinds, code: common.code, sums, words, open })
    }
}

/// What the host starts in a launch, as steps by kind.
pub(super) fn items(
    part: &Part<'_>,
    ends: &[HostEnd],
    kinds: &mut Vec<Kind>,
) -> Result<Vec<Item>, Diagnostic> {
    let mut items = Vec::new();
    for (at, tensor, transfer) in ordered(part.trace, &part.flows, ends)? {
        let is = |kind: &Kind| {
            (kind.at, kind.tensor, places(&kind.like.dims)) == (at, tensor, places(&transfer.dims))
        };
        let numbers = numbers(&transfer);
        let kind = kinds.iter().position(is).unwrap_or_else(|| {
            kinds.push(Kind { at, tensor, like: transfer });
            kinds.len() - 1
        });
        items.push((kind, numbers));
    }
    // The end is a step too: what is repeated as a whole is repeated by the host.
    items.push((usize::MAX, Vec::new()));
    Ok(items)
}

/// Transfers that are alike but for their numbers.
#[derive(Clone, Debug)]
pub(super) struct Kind {
    /// The fifo, by number, and the tensor.
    pub(super) at: usize,
    pub(super) tensor: usize,
    pub(super) like: Transfer,
}

/// Where it begins, sizes, strides.
fn numbers(of: &Transfer) -> Vec<i64> {
    let sizes = of.dims.iter().map(|(size, _)| *size as i64);
    std::iter::once(of.base as i64)
        .chain(sizes)
        .chain(of.dims.iter().map(|(_, stride)| *stride as i64))
        .collect()
}

/// The first length that tells two sums apart.
fn apart(range: &Range, one: Sum, other: Sum) -> Option<i64> {
    (range.from..=range.to).find(|length| one.at(*length) != other.at(*length))
}
