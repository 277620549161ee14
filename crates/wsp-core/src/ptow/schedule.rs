//! A schedule put into a program, where its dispatch, streams and priorities stand as attributes.
//!
//! [`Schedule::compile`] writes a program that generates the tasks of another under a schedule: its words are put behind the
//! axes at the beginning of the outermost body, the expressions that it names behind those of the program where the program
//! does not have equal ones. [`Schedule::config`] makes what each AICPU gets beside it. Both are what the compiler makes of
//! a workload with the same schedule, byte for byte.

use super::verify::marks_for;
use super::{
    DispatchConfig, Ext, Group, Header, MAX_AICPUS, MAX_LOOP_DEPTH, MAX_THRESHOLDS, Op, Operand, POLICY_POOL,
    PartitionParams, PolicyType, PoolHeader, Program, Verified, Word, X_LAST,
};
use zerocopy::IntoBytes;

/// Levels of a threshold: one more than bounds.
pub const MAX_LEVELS: usize = MAX_THRESHOLDS + 1;
/// All ones: an operand that names no expression.
const NONE: u32 = u32::MAX;

/// Which AICPU takes a task, or at a level of a threshold which pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Policy<'a> {
    /// [`PolicyType`] but for thresholds; at a level no static partition, but pools: [`POLICY_POOL`] plus one.
    pub code: u16,
    /// Of an affinity, the depth of the loop.
    pub depth: u32,
    /// Of a key or a hash, the words of an expression over axes, the last with [`X_LAST`].
    pub key: &'a [Word],
}

/// A metric, and what holds at each of its levels.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Threshold<'a> {
    /// An expression over axes.
    pub metric: &'a [Word],
    /// Increasing, at most [`MAX_THRESHOLDS`].
    pub bounds: &'a [i32],
    /// One more than bounds; those behind are not looked at.
    pub policies: [Policy<'a>; MAX_LEVELS],
}

/// What a schedule says of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Schedule<'a> {
    /// Which AICPU takes a task.
    pub dispatch: Policy<'a>,
    /// Of a static partition, the ordinals of each AICPU, from 0 on without a gap; AICPUs behind them have none.
    pub ranges: &'a [PartitionParams],
    /// Levels of a metric, which come before the dispatch.
    pub threshold: Option<Threshold<'a>>,
    /// Streams; 0 for none.
    pub streams: u32,
    /// The stream of a task, as an expression over axes; without one its ordinal.
    pub stream_by: &'a [Word],
    /// The priority of a task, as an expression over axes; without words none is said.
    pub priority: &'a [Word],
}

/// Why a schedule is refused. A level is counted from 1 in the order of bounds, 0 is the dispatch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScheduleFault {
    /// No such policy there.
    Policy {
        /// Where.
        level: usize,
        /// What was found.
        code: u16,
    },
    /// An affinity to a variable that cannot be, or a depth for another policy.
    Depth {
        /// Where.
        level: usize,
        /// What was found.
        depth: u32,
    },
    /// An expression is missing, or given where none has a meaning. Where: a level, or behind all levels the metric, the
    /// stream and the priority, [`MAX_LEVELS`] plus 1 to 3.
    Key {
        /// Where.
        at: usize,
        /// Its words.
        words: usize,
    },
    /// No bounds, or more than [`MAX_THRESHOLDS`].
    Bounds(usize),
    /// A range that does not begin where the one before ends, or ends before it starts.
    Range {
        /// Which.
        index: usize,
        /// Where it should start.
        expected: u32,
        /// Its bounds.
        range: PartitionParams,
    },
    /// Ranges for another policy, or a static partition without.
    Ranges(usize),
    /// Fewer AICPUs than ranges, none, or more than [`MAX_AICPUS`].
    Aicpus {
        /// How many are asked for.
        n: u32,
        /// At least so many are needed.
        least: usize,
    },
    /// No such AICPU.
    Id {
        /// Which.
        id: u32,
        /// How many there are.
        n: u32,
    },
    /// The outermost body of the program has an attribute already.
    Scheduled {
        /// Its word.
        word: usize,
    },
    /// The memory is too small.
    Memory {
        /// Bytes that are needed.
        need: usize,
        /// Bytes that there are.
        have: usize,
    },
}

type Checked<T = ()> = Result<T, ScheduleFault>;

impl<'a> Policy<'a> {
    fn kind(&self) -> Option<PolicyType> {
        PolicyType::from_code(self.code)
    }

    fn check(&self, level: usize) -> Checked {
        let (depth, words) = (self.depth, self.key.len());
        let known = match self.kind() {
            Some(PolicyType::Threshold) => false,
            Some(PolicyType::StaticPartition) => level == 0,
            Some(_) => true,
            None => level > 0 && (POLICY_POOL..POLICY_POOL.saturating_add(3)).contains(&self.code),
        };
        if !known {
            return Err(ScheduleFault::Policy { level, code: self.code });
        }
        let (is_affinity, has_key) = (self.kind() == Some(PolicyType::Affinity), self.has_key());
        if depth as usize >= if is_affinity { MAX_LOOP_DEPTH } else { 1 } {
            return Err(ScheduleFault::Depth { level, depth });
        }
        if has_key == self.key.is_empty() { Err(ScheduleFault::Key { at: level, words }) } else { Ok(()) }
    }

    /// Whether it is an expression's, and so said by a program, not a configuration.
    fn has_key(&self) -> bool {
        matches!(self.kind(), Some(PolicyType::Key | PolicyType::Hash))
    }

    /// Its operand in a program.
    fn operand(&self, keys: &Keys<'a, '_>) -> u32 {
        if self.has_key() { keys.index(self.key) } else { self.depth }
    }
}

impl<'a> Schedule<'a> {
    /// Whether it says one thing at a time.
    ///
    /// # Errors
    /// The first thing that is wrong with it. Expressions and bounds are checked with the program.
    pub fn check(&self) -> Checked {
        self.dispatch.check(0)?;
        if (self.dispatch.kind() == Some(PolicyType::StaticPartition)) == self.ranges.is_empty() {
            return Err(ScheduleFault::Ranges(self.ranges.len()));
        }
        let mut expected = 0;
        for (index, range) in self.ranges.iter().enumerate() {
            if range.task_range_start != expected || range.task_range_end < expected {
                return Err(ScheduleFault::Range { index, expected, range: *range });
            }
            expected = range.task_range_end;
        }
        let missing = |behind: usize, key: &[Word]| {
            Err(ScheduleFault::Key { at: MAX_LEVELS.saturating_add(behind), words: key.len() })
        };
        if let Some(threshold) = &self.threshold {
            let bounds = threshold.bounds.len();
            if bounds == 0 || bounds > MAX_THRESHOLDS {
                return Err(ScheduleFault::Bounds(bounds));
            }
            if threshold.metric.is_empty() {
                return missing(1, threshold.metric);
            }
            for (policy, level) in threshold.levels().zip(1..) {
                policy.check(level)?;
            }
        }
        if self.streams == 0 && !self.stream_by.is_empty() {
            return missing(2, self.stream_by);
        }
        Ok(())
    }

    /// Whether there can be so many AICPUs, this among them.
    ///
    /// # Errors
    /// Too few, too many, another id.
    pub fn check_aicpus(&self, n: u32, id: u32) -> Checked {
        let least = self.ranges.len().max(1);
        if (n as usize) < least || n > u32::from(MAX_AICPUS) {
            return Err(ScheduleFault::Aicpus { n, least });
        }
        if id < n { Ok(()) } else { Err(ScheduleFault::Id { id, n }) }
    }

    /// The configuration of an AICPU. What a configuration does not say, the program does: it then says "in turn".
    pub fn config(&self, n: u16, id: u16) -> DispatchConfig {
        let mut config = DispatchConfig::round_robin(n, id);
        match self.dispatch.kind() {
            Some(policy @ PolicyType::Affinity) => {
                config.policy_type = policy as u8;
                let depth = u8::try_from(self.dispatch.depth).unwrap_or(u8::MAX);
                config.params.iter_mut().take(1).for_each(|byte| *byte = depth);
            }
            Some(policy @ PolicyType::StaticPartition) => {
                config.policy_type = policy as u8;
                let end = self.ranges.last().map_or(0, |range| range.task_range_end);
                let none = PartitionParams { task_range_start: end, task_range_end: end };
                let range = self.ranges.get(usize::from(id)).unwrap_or(&none);
                config.params.iter_mut().zip(range.as_bytes()).for_each(|(to, from)| *to = *from);
            }
            _ => {}
        }
        config
    }

    /// Bytes of memory that verifying a program under it takes.
    pub fn marks_needed(&self, program: &Program<'_>) -> usize {
        marks_for(program.words.len().saturating_add(MOST_WORDS), program.axes.len())
    }

    /// Bytes that no program under it exceeds, a multiple of 8.
    pub fn bytes_needed(&self, program: &Program<'_>) -> usize {
        let mut words = program.words.len().saturating_add(program.exprs.len()).saturating_add(MOST_WORDS);
        for rows in [program.axes.len(), program.kernels.len(), program.tensors.len()] {
            words = words.saturating_add(rows);
        }
        self.for_each_key(&mut |key| words = words.saturating_add(key.len()));
        words
            .saturating_mul(size_of::<Word>())
            .saturating_add(size_of::<Header>() + size_of::<PoolHeader>())
            .saturating_add(program.names.len())
            .checked_next_multiple_of(8)
            .unwrap_or(usize::MAX)
    }

    /// Writes the program under this schedule to the beginning of some memory; its length. The result is no verified
    /// program: it is read and verified as any other, which finds what is wrong with expressions and bounds.
    ///
    /// # Errors
    /// A schedule that [`Schedule::check`] refuses, a program with a schedule of its own, memory that is too small.
    pub fn compile(&self, program: &Verified<'a>, memory: &mut [u8]) -> Checked<usize> {
        self.check()?;
        let (need, have) = (self.bytes_needed(program.program()), memory.len());
        if have < need {
            return Err(ScheduleFault::Memory { need, have });
        }
        let program = program.program();
        let at = first_statement(program);
        if let Some(word) = scheduled(program, at) {
            return Err(ScheduleFault::Scheduled { word });
        }
        let keys = Keys::new(program, self);
        let mut out = Out { rest: memory, written: 0 };
        let inserted = Inserted::of(self, at, &keys);
        let header = *program.header;
        let num_instructions = header.num_instructions.saturating_add(inserted.len);
        out.put(Header { num_instructions, ..header }.as_bytes());
        let (before, behind) = program.words.split_at_checked(at).unwrap_or((program.words, &[]));
        out.put(before.as_bytes());
        out.put(inserted.words().as_bytes());
        inserted.moved(behind, &mut out);
        out.put(program.axes.as_bytes());
        out.put(program.kernels.as_bytes());
        out.put(program.tensors.as_bytes());
        out.put(pool(program, keys.len()).as_bytes());
        out.put(program.exprs.as_bytes());
        keys.each_new(&mut |key| out.put(key.as_bytes()));
        out.put(program.names);
        Ok(out.written)
    }

    /// Every expression, in the order in which programs have them.
    fn for_each_key(&self, visit: &mut dyn FnMut(&'a [Word])) {
        visit(self.dispatch.key);
        if let Some(threshold) = &self.threshold {
            visit(threshold.metric);
            threshold.levels().for_each(|policy| visit(policy.key));
        }
        visit(self.stream_by);
        visit(self.priority);
    }
}

impl<'a> Threshold<'a> {
    fn levels(&self) -> impl Iterator<Item = &Policy<'a>> {
        self.policies.iter().take(self.bounds.len().saturating_add(1))
    }
}

/// The first word that sets no axis.
fn first_statement(program: &Program<'_>) -> usize {
    let sets_axes = |word: &&Word| {
        Op::from_code(word.opcode)
            .is_some_and(|op| matches!(op, Op::Nop | Op::ExtWord) || op.info().group == Group::Axis)
    };
    program.words.iter().take_while(sets_axes).count()
}

/// The first attribute of the outermost body.
fn scheduled(program: &Program<'_>, from: usize) -> Option<usize> {
    let body = program.words.iter().enumerate().skip(from);
    let is = |word: &Word, op: Op| word.opcode == op.code();
    let mut body = body.take_while(|(_, word)| !is(word, Op::Halt));
    let found = body
        .find(|(_, word)| Op::from_code(word.opcode).is_some_and(|op| op.info().group == Group::Attribute));
    found.map(|(at, _)| at)
}

/// The header of the pools with so many words of expressions more.
fn pool(program: &Program<'_>, more: u32) -> PoolHeader {
    let counts = program.counts;
    PoolHeader {
        num_words: (program.exprs.len() as u32).saturating_add(more),
        name_bytes: program.names.len() as u32,
        num_values: counts.values,
        num_tables: counts.tables,
        num_slots: counts.slots,
        num_labels: counts.labels,
        num_generators: counts.generators,
        num_channels: counts.channels,
    }
}

/// Memory that is written from its beginning.
struct Out<'m> {
    rest: &'m mut [u8],
    written: usize,
}

impl Out<'_> {
    /// Appends bytes; there is room for them.
    fn put(&mut self, bytes: &[u8]) {
        let rest = core::mem::take(&mut self.rest);
        let Some((to, rest)) = rest.split_at_mut_checked(bytes.len()) else { return };
        to.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        self.rest = rest;
        self.written = self.written.saturating_add(bytes.len());
    }
}

/// Most expressions of a schedule.
const MOST_KEYS: usize = MAX_LEVELS + 4;

/// The expressions of a schedule that a program does not have, in order.
struct Keys<'a, 'p> {
    program: &'p Program<'a>,
    new: [&'a [Word]; MOST_KEYS],
    count: usize,
}

impl<'a, 'p> Keys<'a, 'p> {
    fn new(program: &'p Program<'a>, schedule: &Schedule<'a>) -> Keys<'a, 'p> {
        let mut keys = Keys { program, new: [&[]; MOST_KEYS], count: 0 };
        schedule.for_each_key(&mut |key| {
            if !key.is_empty() && keys.index(key) == NONE {
                keys.new.iter_mut().skip(keys.count).take(1).for_each(|place| *place = key);
                keys.count = keys.count.saturating_add(1);
            }
        });
        keys
    }

    /// The first word of an expression; all ones for one that is not there.
    fn index(&self, key: &[Word]) -> u32 {
        let mut at = 0usize;
        let expressions = self.program.exprs.split_inclusive(|word| word.flags & X_LAST != 0);
        for known in expressions.chain(self.new.iter().take(self.count).copied()) {
            if known == key {
                return u32::try_from(at).unwrap_or(NONE);
            }
            at = at.saturating_add(known.len());
        }
        NONE
    }

    /// Words of those that the program does not have.
    fn len(&self) -> u32 {
        let words = self.new.iter().take(self.count).map(|key| key.len());
        words.fold(0, usize::saturating_add) as u32
    }

    fn each_new(&self, visit: &mut dyn FnMut(&[Word])) {
        self.new.iter().take(self.count).for_each(|key| visit(key));
    }
}

/// Most words that a schedule puts into a program: a filter, the call of the body under it, a threshold, streams, a priority.
const MOST_WORDS: usize = 5 + (2 + MAX_THRESHOLDS + MAX_LEVELS) + 2 + 1;

/// The words of a schedule, and what becomes of those behind them.
struct Inserted {
    words: [Word; MOST_WORDS],
    len: u32,
    /// Whether the words behind are in a body of their own.
    is_inner: bool,
}

impl Inserted {
    /// Those that stand behind `at` words.
    fn of<'a>(schedule: &Schedule<'a>, at: usize, keys: &Keys<'a, '_>) -> Inserted {
        let mut inserted = Inserted { words: [Word::default(); MOST_WORDS], len: 0, is_inner: false };
        let dispatch = &schedule.dispatch;
        if dispatch.has_key() {
            inserted.push(Op::DispatchFilter, 1, dispatch.code, 0);
            inserted.push(Op::ExtWord, 0, 0, dispatch.operand(keys));
            // Pools of a threshold leave the AICPU to the filter around: a body of its own has one.
            if schedule.threshold.is_some() {
                let body = (at as u32).saturating_add(inserted.len).saturating_add(3);
                inserted.push(Op::Combine, 1, 1, 0);
                inserted.push(Op::ExtWord, 0, 0, body);
                inserted.push(Op::Halt, 0, 0, 0);
                inserted.is_inner = true;
            }
        }
        if let Some(threshold) = &schedule.threshold {
            inserted.threshold(threshold, keys);
        }
        if schedule.streams > 0 {
            inserted.push(Op::StreamBy, 1, 0, schedule.streams);
            inserted.push(Op::ExtWord, 0, 0, keys.index(schedule.stream_by));
        }
        if !schedule.priority.is_empty() {
            inserted.push(Op::Priority, 0, 0, keys.index(schedule.priority));
        }
        inserted
    }

    fn threshold<'a>(&mut self, threshold: &Threshold<'a>, keys: &Keys<'a, '_>) {
        let bounds = threshold.bounds.len();
        let words = bounds.saturating_mul(2).saturating_add(2);
        self.push(Op::DispatchFilter, words as u8, PolicyType::Threshold as u16, 0);
        self.push(Op::ExtWord, 0, bounds as u16, keys.index(threshold.metric));
        for bound in threshold.bounds {
            self.push(Op::ExtWord, 0, 0, bound.cast_unsigned());
        }
        for policy in threshold.levels() {
            self.push(Op::ExtWord, 0, policy.code, policy.operand(keys));
        }
    }

    fn push(&mut self, op: Op, flags: u8, operand1: u16, operand2: u32) {
        let word = Word { opcode: op.code(), flags, operand1, operand2 };
        self.words.iter_mut().skip(self.len as usize).take(1).for_each(|place| *place = word);
        self.len = self.len.saturating_add(1);
    }

    fn words(&self) -> &[Word] {
        self.words.get(..self.len as usize).unwrap_or(&[])
    }

    /// Writes the words behind, which name bodies further on than before.
    fn moved(&self, behind: &[Word], out: &mut Out<'_>) {
        let mut ext = Operand::None;
        let mut is_outermost = true;
        for word in behind {
            let mut word = *word;
            let op = Op::from_code(word.opcode).unwrap_or(Op::Nop);
            let operand = if op == Op::ExtWord { ext } else { op.info().operand2 };
            if op != Op::ExtWord {
                ext = match op.info().ext {
                    Ext::Optional(_, operand) | Ext::One(_, operand) | Ext::Counted(_, operand) => operand,
                    Ext::None | Ext::Dims | Ext::Policy => Operand::None,
                };
            }
            if operand == Operand::Body || (operand == Operand::OptBody && word.operand2 != 0) {
                word.operand2 = word.operand2.saturating_add(self.len);
            }
            if is_outermost && op == Op::Halt {
                is_outermost = false;
                if self.is_inner {
                    word.opcode = Op::End.code();
                }
            }
            out.put(word.as_bytes());
        }
    }
}
