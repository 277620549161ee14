//! One sequence for all lengths of a range, which takes the length as a number and computes its sums from it.

use super::host::{Fed, memcpy, places, wait};
use super::lines::{Code, Count};
use super::range::{Fitted, Kind, Range, Sum};
use super::{refused, word};
use crate::device::TileKind;
use crate::mlir::{Attr, Module, Op, Type, Value};
use wsp_diag::Diagnostic;
use wsp_ordered::OrderedMap;

/// The lists of a transfer, in the order of its operands: of its numbers the first is the last offset, then come sizes and strides.
const LISTS: [&str; 3] = ["static_offsets", "static_sizes", "static_strides"];

/// The operations of a sequence, and the length that it takes; cores have these buffers of words.
///
/// # Errors
/// Loops within loops; rounds of more transfers than a shim tile has descriptors.
pub(super) fn sequence(
    (range, fitted): (&Range, &Fitted),
    fed: &[Fed<'_>],
    buffers: &[String],
    module: &mut Module,
) -> Result<(Vec<Op>, Value), Diagnostic> {
    let length = module.value(word(&range.name), Type::Int(32));
    let plain = Sum { tile: 1, factor: 1, base: 0 };
    let known = [((32, plain), length)].into_iter().collect();
    let mut computed = Computed { module, ops: Vec::new(), known };
    let wide = computed.made("arith.extsi", &[length], 64);
    computed.known.insert((64, plain), wide);
    let mut parameters = Vec::new();
    for (buffer, words) in buffers.iter().zip(&fitted.words) {
        for (sum, index) in words.iter().zip(0..) {
            parameters.push(parameter(buffer, index, computed.sum(*sum, 32)));
        }
    }
    let mut host = Host { fed, kinds: &fitted.kinds, sums: &fitted.sums, computed, open: OrderedMap::new() };
    let mut body = Vec::new();
    host.lines(&fitted.code, &mut body)?;
    let left = host.open.values().flatten().filter(|of| fed[of.at].end.into);
    body.extend(left.map(|of| wait(fed[of.at].name)).collect::<Vec<_>>());
    let mut ops = host.computed.ops;
    ops.extend(parameters);
    ops.extend(body);
    Ok((ops, length))
}

/// A word that a core reads, of a value.
fn parameter(buffer: &str, index: i64, value: Value) -> Op {
    Op::new("aiex.npu.rtp_write")
        .with([value])
        .attr("buffer", Attr::Symbol(buffer.to_owned()))
        .attr("index", Attr::Int(index, Type::Unsigned(32)))
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
    sums: &'a [Sum],
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
