//! One sequence for all lengths of a range, which takes the length as a number.
//!
//! Transfers of some lengths are listed, and what is repeated in them becomes loops, as in what cores do. A number that differs between lengths is a sum of a number and a multiple of
//! `ceil(length / tile)`, which the host computes. Lengths for which two such sums would differ are listed too, and lengths on both sides of steps, until one sum fits all that was seen.

use super::host::{Fed, HostEnd, Transfer, memcpy, ordered, places, wait};
use super::lines::{Code, Common, Count, Item};
use super::{Part, refused, word};
use crate::device::TileKind;
use crate::mlir::{Attr, Module, Op, Type, Value};
use wsp_diag::Diagnostic;
use wsp_ordered::{OrderedMap, OrderedSet};

/// Most lengths of a range.
const MOST: i64 = 1 << 16;
/// Sums of one number that are told apart at once.
const APART: usize = 8;
/// The lists of a transfer, in the order of its operands: of its numbers the first is the last offset, then come sizes and strides.
const LISTS: [&str; 3] = ["static_offsets", "static_sizes", "static_strides"];

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

/// A range, and lengths of it that were listed.
#[derive(Clone, Copy)]
pub(super) struct Listing<'a> {
    pub(super) range: &'a Range,
    pub(super) lengths: &'a [i64],
}

/// `base + factor · ceil(length / tile)`
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Sum {
    tile: i64,
    factor: i64,
    base: i64,
}

impl Range {
    /// The lengths that are looked at first.
    ///
    /// # Errors
    /// A range that has too many, or lengths below 1.
    pub(crate) fn first(&self) -> Result<OrderedSet<i64>, Diagnostic> {
        let Range { name, from, to } = self;
        if *from < 1 || to - from >= MOST {
            let message =
                format!("lengths {from} to {to} of `{name}`, and a range has {MOST} at most, from 1 on");
            return Err(refused(message).help(format!("give a shorter one: `--lengths {name}=1..=8192`")));
        }
        let spread = [0, 3, 7, 13, 29, 61, 97].map(|part| from + (to - from) * part / 100);
        Ok(spread.into_iter().chain([*from, from + 1, *to]).collect())
    }
}

impl Sum {
    fn at(self, length: i64) -> i128 {
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
    fn differs(self, what: &str) -> Diagnostic {
        let Range { name, from, to } = self.range;
        refused(format!("with other lengths of `{name}` {what}"))
            .note(format!("a sequence that takes the length computes sizes, rounds and words as `a + b · ceil({name} / tile)`"))
            .help(format!("have a sequence for each length: `--lengths {name}={from},{to}`"))
    }

    /// The sum that a word with these values is; lengths that tell it from others go to `open`.
    fn sum(self, values: &[i64], open: &mut OrderedSet<i64>) -> Result<Sum, Diagnostic> {
        let seen: Vec<(i64, i64)> = self.lengths.iter().copied().zip(values.iter().copied()).collect();
        if values.iter().all(|value| *value == values[0]) {
            return Ok(Sum { tile: 1, factor: 0, base: values[0] });
        }
        let fits = Sum::fits(&seen);
        let Some(sum) = fits.first().copied() else {
            return Err(self.differs("a size, a number of rounds or a word does not grow in equal steps"));
        };
        open.extend(fits[1..].iter().filter_map(|other| apart(self.range, sum, *other)).take(APART));
        let (low, high) = (self.range.from / sum.tile, self.range.to / sum.tile);
        let ends = [low, low + 1, (low + high) / 2, high].map(|step| step * sum.tile);
        open.extend(ends.iter().flat_map(|end| [*end, end + 1]));
        Ok(sum)
    }

    /// The operations of a sequence, the length that it takes, and lengths that are to be listed before it is known to be right.
    ///
    /// # Errors
    /// Lengths differ in more than numbers that follow from them; rounds of more transfers than a shim tile has descriptors.
    pub(super) fn sequence(
        self,
        parts: &[Part<'_>],
        (ends, fed): (&[HostEnd], &[Fed<'_>]),
        words: &[(String, Vec<Vec<i64>>)],
        module: &mut Module,
    ) -> Result<(Vec<Op>, Value, OrderedSet<i64>), Diagnostic> {
        let dims = |part: &Part<'_>| part.trace.tensors.iter().map(|of| of.dims.clone()).collect::<Vec<_>>();
        if parts.iter().any(|part| dims(part) != dims(&parts[0])) {
            return Err(self.differs("arrays have other extents"));
        }
        let (mut kinds, mut launches): (Vec<Kind>, Vec<Vec<Item>>) = (Vec::new(), Vec::new());
        for part in parts {
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
            launches.push(items);
        }
        let common = Common::of(&launches).ok_or_else(|| self.differs("the host starts other transfers"))?;
        let mut open = OrderedSet::new();
        let sums =
            common.words.iter().map(|values| self.sum(values, &mut open)).collect::<Result<Vec<Sum>, _>>()?;
        let length = module.value(word(&self.range.name), Type::Int(32));
        let plain = Sum { tile: 1, factor: 1, base: 0 };
        let known = [((32, plain), length)].into_iter().collect();
        let mut computed = Computed { module, ops: Vec::new(), known };
        let wide = computed.made("arith.extsi", &[length], 64);
        computed.known.insert((64, plain), wide);
        let mut parameters = Vec::new();
        for (core, words) in words {
            for (values, index) in words.iter().zip(0..) {
                let value = self.sum(values, &mut open)?;
                parameters.push(parameter(core, index, computed.sum(value, 32)));
            }
        }
        let mut host = Host { fed, kinds: &kinds, sums, computed, open: OrderedMap::new() };
        let mut body = Vec::new();
        host.lines(&common.code, &mut body)?;
        let left = host.open.values().flatten().filter(|of| fed[of.at].end.into);
        body.extend(left.map(|of| wait(fed[of.at].name)).collect::<Vec<_>>());
        let mut ops = host.computed.ops;
        ops.extend(parameters);
        ops.extend(body);
        open.retain(|length| {
            (self.range.from..=self.range.to).contains(length) && !self.lengths.contains(length)
        });
        Ok((ops, length, open))
    }
}

/// Transfers that are alike but for their numbers.
struct Kind {
    /// The fifo, by number, and the tensor.
    at: usize,
    tensor: usize,
    like: Transfer,
}

/// Where it begins, sizes, strides.
fn numbers(of: &Transfer) -> Vec<i64> {
    let sizes = of.dims.iter().map(|(size, _)| *size as i64);
    std::iter::once(of.base as i64)
        .chain(sizes)
        .chain(of.dims.iter().map(|(_, stride)| *stride as i64))
        .collect()
}

/// A word that a core reads, of a value.
fn parameter(buffer: &str, index: i64, value: Value) -> Op {
    Op::new("aiex.npu.rtp_write")
        .with([value])
        .attr("buffer", Attr::Symbol(buffer.to_owned()))
        .attr("index", Attr::Int(index, Type::Unsigned(32)))
}

/// The first length that tells two sums apart.
fn apart(range: &Range, one: Sum, other: Sum) -> Option<i64> {
    (range.from..=range.to).find(|length| one.at(*length) != other.at(*length))
}

/// The bits that stand for `index`.
const INDEX: u32 = 0;

fn type_of(bits: u32) -> Type {
    if bits == INDEX { Type::Index } else { Type::Int(bits) }
}

/// Writes what a sequence computes.
struct Computed<'m> {
    module: &'m mut Module,
    ops: Vec<Op>,
    /// Constants, and what was made of others, by type.
    known: OrderedMap<(u32, Sum), Value>,
}

impl Computed<'_> {
    fn made(&mut self, name: &str, of: &[Value], bits: u32) -> Value {
        let mut ops = std::mem::take(&mut self.ops);
        let value = self.put(name, of, bits, &mut ops);
        self.ops = ops;
        value
    }

    fn put(&mut self, name: &str, of: &[Value], bits: u32, out: &mut Vec<Op>) -> Value {
        let value = self.module.value(format!("v{}", self.module.values.len()), type_of(bits));
        out.push(Op::new(name).with(of.iter().copied()).result(value));
        value
    }

    fn constant(&mut self, number: i64, bits: u32) -> Value {
        let sum = Sum { tile: 1, factor: 0, base: number };
        if let Some(value) = self.known.get(&(bits, sum)) {
            return *value;
        }
        let value = self.made("arith.constant", &[], bits);
        if let Some(op) = self.ops.last_mut() {
            op.set("value", Attr::Int(number, type_of(bits)));
        }
        self.known.insert((bits, sum), value);
        value
    }

    fn sum(&mut self, sum: Sum, bits: u32) -> Value {
        if let Some(value) = self.known.get(&(bits, sum)) {
            return *value;
        }
        let steps = Sum { factor: 1, base: 0, ..sum };
        let value = match sum {
            Sum { factor: 0, base, .. } => return self.constant(base, bits),
            Sum { tile, factor: 1, base: 0 } => {
                let length = self.sum(Sum { tile: 1, factor: 1, base: 0 }, bits);
                let [round, tile] = [tile - 1, tile].map(|number| self.constant(number, bits));
                let up = self.made("arith.addi", &[length, round], bits);
                self.made("arith.divsi", &[up, tile], bits)
            }
            Sum { factor, base: 0, .. } => {
                let (steps, factor) = (self.sum(steps, bits), self.constant(factor, bits));
                self.made("arith.muli", &[steps, factor], bits)
            }
            Sum { base, .. } => {
                let more = self.sum(Sum { base: 0, ..sum }, bits);
                let base = self.constant(base, bits);
                self.made("arith.addi", &[more, base], bits)
            }
        };
        self.known.insert((bits, sum), value);
        value
    }
}

/// A transfer whose descriptor is in use.
#[derive(Clone, Copy)]
struct InUse {
    id: i64,
    /// The fifo, by number.
    at: usize,
    /// The operation.
    op: usize,
}

/// Writes transfers.
struct Host<'a> {
    fed: &'a [Fed<'a>],
    kinds: &'a [Kind],
    /// By word.
    sums: Vec<Sum>,
    computed: Computed<'a>,
    /// By shim tile.
    open: OrderedMap<u32, Vec<InUse>>,
}

impl Host<'_> {
    fn lines(&mut self, code: &[Code], out: &mut Vec<Op>) -> Result<(), Diagnostic> {
        let most = TileKind::Shim.model().descriptors as i64;
        for code in code {
            match code {
                Code::Once(usize::MAX, _) => {}
                Code::Once(kind, counts) => {
                    let at = self.kinds[*kind].at;
                    let open = self.open.entry(self.fed[at].shim).or_default();
                    if open.len() as i64 == most {
                        let first = open.remove(0);
                        out[first.op].set("issue_token", Attr::Bool(true));
                        out.push(wait(self.fed[first.at].name));
                    }
                    self.transfer((*kind, counts, None), out)?;
                }
                Code::Loop(rounds, inner) => self.repeat((*rounds, inner), out)?,
            }
        }
        Ok(())
    }

    /// A loop: each round ends with waits for all of its transfers.
    fn repeat(&mut self, (rounds, code): (Count, &[Code]), out: &mut Vec<Op>) -> Result<(), Diagnostic> {
        let before = self.open.clone();
        let round =
            self.computed.module.value(format!("v{}", self.computed.module.values.len()), Type::Index);
        let (mut body, mut last): (Vec<Op>, OrderedMap<usize, (usize, usize)>) =
            (Vec::new(), OrderedMap::new());
        for code in code {
            let Code::Once(kind, counts) = code else {
                return Err(refused("loops of transfers within loops of transfers".to_owned())
                    .note("a sequence that takes the length repeats single transfers")
                    .help("have a sequence for each length"));
            };
            let at = self.kinds[*kind].at;
            let op = self.transfer((*kind, counts, Some(round)), &mut body)?;
            last.entry(at).and_modify(|(of, count)| (*of, *count) = (op, *count + 1)).or_insert((op, 1));
        }
        for (at, (op, count)) in &last {
            let fed = &self.fed[*at];
            body[*op].set("issue_token", Attr::Bool(true));
            let count = if fed.end.into { *count } else { 1 };
            body.extend((0..count).map(|_| wait(fed.name)));
        }
        self.open = before;
        for (at, _) in last {
            let open = self.open.entry(self.fed[at].shim).or_default();
            if self.fed[at].end.into && open.iter().any(|of| of.at == at) {
                return Err(refused(
                    "a loop of transfers into an array that others go into before".to_owned(),
                )
                .help("have a sequence for each length"));
            }
            // What was started before on the same channel is done then, too.
            open.retain(|of| of.at != at);
        }
        body.push(Op::new("scf.yield"));
        let end = match rounds {
            Count::Word(word) => self.computed.sum(self.sums[word], 64),
            Count::Fixed(rounds) | Count::Step(rounds, _) | Count::Left(rounds, _) => {
                self.computed.constant(rounds, 64)
            }
        };
        let bounds = [0, 1].map(|number| self.computed.constant(number, INDEX));
        let end = self.computed.made("arith.index_cast", &[end], INDEX);
        out.push(Op::new("scf.for").with([bounds[0], end, bounds[1]]).region(vec![round], body));
        Ok(())
    }

    /// Adds a transfer, with numbers that a round decides computed before it; which operation it is.
    fn transfer(
        &mut self,
        (kind, counts, round): (usize, &[Count], Option<Value>),
        out: &mut Vec<Op>,
    ) -> Result<usize, Diagnostic> {
        let Kind { at, tensor, like } = &self.kinds[kind];
        let fed = &self.fed[*at];
        let most = TileKind::Shim.model().descriptors as i64;
        let open = self.open.entry(fed.shim).or_default();
        let Some(id) = (0..most).find(|id| open.iter().all(|used| used.id != *id)) else {
            return Err(refused(format!(
                "a round of the host has more transfers at one shim tile than its {most} descriptors"
            ))
            .help("have a sequence for each length"));
        };
        let mut op = memcpy(like, (fed, fed.arrays[tensor]), id);
        let places = places(&like.dims);
        let of_dims = |list: usize| places.iter().map(move |place| (list, *place));
        let fields: Vec<(usize, usize)> =
            std::iter::once((0, 3)).chain(of_dims(1)).chain(of_dims(2)).collect();
        let mut given: Vec<((usize, usize), Value)> = Vec::new();
        for (field, count) in fields.into_iter().zip(counts) {
            match self.number(*count, round, out) {
                Ok(number) => entry(&mut op, field, number),
                Err(value) => {
                    entry(&mut op, field, i64::MIN);
                    given.push((field, value));
                }
            }
        }
        given.sort_by_key(|(field, _)| *field);
        let many = |list: usize| given.iter().filter(|((of, _), _)| *of == list).count() as i64;
        op.set("operandSegmentSizes", Attr::Dense(Type::Int(32), vec![1, many(0), many(1), many(2)]));
        out.push(op.with(given.into_iter().map(|(_, value)| value)));
        let op = out.len() - 1;
        self.open.entry(fed.shim).or_default().push(InUse { id, at: *at, op });
        Ok(op)
    }

    /// A number, or the value that it is in a round.
    fn number(&mut self, count: Count, round: Option<Value>, out: &mut Vec<Op>) -> Result<i64, Value> {
        match (count, round) {
            (Count::Fixed(number), _) | (Count::Step(number, _), None) => Ok(number),
            (Count::Word(word), _) | (Count::Left(_, word), None) => match self.sums[word] {
                Sum { factor: 0, base, .. } => Ok(base),
                sum => Err(self.computed.sum(sum, 64)),
            },
            (Count::Step(first, step), Some(round)) => {
                let step = self.computed.constant(step, 64);
                let first = self.computed.constant(first, 64);
                let mut made = |name: &str, of: &[Value]| self.computed.put(name, of, 64, out);
                let round = made("arith.index_cast", &[round]);
                let more = made("arith.muli", &[round, step]);
                Err(made("arith.addi", &[first, more]))
            }
            (Count::Left(tile, word), Some(round)) => {
                let total = self.computed.sum(self.sums[word], 64);
                let tile = self.computed.constant(tile, 64);
                let mut made = |name: &str, of: &[Value]| self.computed.put(name, of, 64, out);
                let round = made("arith.index_cast", &[round]);
                let taken = made("arith.muli", &[round, tile]);
                let left = made("arith.subi", &[total, taken]);
                Err(made("arith.minsi", &[left, tile]))
            }
        }
    }
}

/// Sets an entry of a list of a transfer.
fn entry(op: &mut Op, (list, place): (usize, usize), value: i64) {
    if let Some(Attr::Dense(ty, mut entries)) = op.find(LISTS[list]).cloned() {
        entries[place] = value;
        op.set(LISTS[list], Attr::Dense(ty, entries));
    }
}
