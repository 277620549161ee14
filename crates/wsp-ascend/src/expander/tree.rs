//! Programs as trees: what the words of a verified program say.

use super::EmitError;
use super::summary::Summary;
use wsp_core::ptow::{AxisForm, DIM_IMMEDIATE, DimKind, Op, POLICY_POOL, PolicyType, Program, Word};

/// All ones in 16 bits: none.
const NONE: u32 = 0xFFFF;

/// A body: statements one behind the other.
pub(super) struct Body {
    /// Its first word.
    pub(super) word: u32,
    pub(super) statements: Vec<Statement>,
    pub(super) summary: Summary,
}

/// A statement or an attribute, with its word.
pub(super) struct Statement {
    pub(super) word: u32,
    pub(super) kind: Kind,
}

/// What a statement does. Expressions are named by their first word.
pub(super) enum Kind {
    Loop(Loop),
    Cond {
        condition: u32,
        then: Body,
        otherwise: Option<Body>,
    },
    Combine(Vec<Body>),
    Sequential(Vec<Body>),
    While {
        condition: u32,
        most: Option<u32>,
        body: Body,
    },
    Let {
        value: u32,
        body: Body,
    },
    Reset {
        label: u32,
        count: u32,
    },
    Task(Task),
    Filter(Filter),
    StreamBy {
        streams: u32,
        key: Option<u32>,
    },
    Priority {
        key: u32,
    },
    /// The depth of a channel.
    Channel {
        channel: u16,
        depth: u32,
    },
    /// Processes that take turns.
    Process(Vec<Body>),
    Send {
        channel: u16,
        body: Body,
    },
    /// Takes a token of the first channel that has one.
    Receive {
        arms: Vec<(u16, Body)>,
        all: bool,
    },
    Close {
        channel: u16,
    },
}

/// A loop over an axis.
pub(super) struct Loop {
    pub(super) op: Op,
    pub(super) axis: u16,
    pub(super) over: Over,
    pub(super) body: Body,
}

impl Loop {
    pub(super) fn is_ordered(&self) -> bool {
        self.op == Op::ForEach
    }

    /// Whether its variable is looked up in a table of columns.
    pub(super) fn is_sparse(&self) -> bool {
        matches!(self.over, Over::Sparse { .. })
    }
}

/// What a loop runs over.
#[derive(Clone, Copy)]
pub(super) enum Over {
    Dense { lo: Bound, hi: Bound },
    Range { lo: u32, hi: u32, step: Option<u32> },
    Ragged { lengths: u32, rows: Option<u32>, row: Row },
    Sparse { pointers: u32, columns: u32, row: Row },
}

/// A bound of a dense axis.
#[derive(Clone, Copy)]
pub(super) enum Bound {
    Fixed(i64),
    Value(u32),
    Expr(u32),
}

/// Which row of an axis.
#[derive(Clone, Copy)]
pub(super) enum Row {
    /// The variable at this depth.
    Variable(usize),
    Expr(u32),
}

/// A task statement.
pub(super) struct Task {
    pub(super) kernel: u16,
    pub(super) label: Option<u16>,
    /// In the order in which they are evaluated.
    pub(super) arguments: Vec<Argument>,
    pub(super) after: Vec<u16>,
}

/// An argument of a task.
pub(super) enum Argument {
    Param(Param),
    Access(TaskAccess),
}

/// A parameter.
pub(super) enum Param {
    Const(i32),
    Variable(usize),
    Expr(u32),
}

/// A region that a task reads or writes.
pub(super) struct TaskAccess {
    /// `in`, `out` or `in_out`.
    pub(super) mode: &'static str,
    pub(super) tensor: u16,
    pub(super) dims: Vec<Dim>,
}

/// A dimension of a region; further ones are whole.
pub(super) enum Dim {
    Whole,
    Index(u32),
    Range(u32, Second),
    Sized(u32, Second),
}

/// The end or length of a dimension.
pub(super) enum Second {
    Fixed(i32),
    Expr(u32),
}

/// Which AICPU takes a task.
#[derive(Clone)]
pub(super) enum Filter {
    /// As the configuration says.
    Config,
    Policy(Policy),
    Ranges(Vec<u32>),
    Threshold {
        metric: u32,
        bounds: Vec<i32>,
        levels: Vec<Level>,
    },
}

/// A policy that looks at one thing.
#[derive(Clone, Copy)]
pub(super) enum Policy {
    RoundRobin,
    Affinity(usize),
    Key(u32),
    Hash(u32),
}

/// What a level of a threshold says.
#[derive(Clone, Copy)]
pub(super) enum Level {
    Policy(Policy),
    /// The pool, as 0 for vector, 1 for cube, 2 for any.
    Pool(u16),
}

/// Reads a program.
pub(super) struct Reader<'a, 'p> {
    pub(super) program: &'a Program<'p>,
    axes: Vec<Option<Over>>,
}

impl<'a, 'p> Reader<'a, 'p> {
    pub(super) fn new(program: &'a Program<'p>) -> Reader<'a, 'p> {
        let axes = program.axes.iter().map(|axis| table_axis(axis.form, axis.a, axis.b)).collect();
        Reader { program, axes }
    }

    /// The outermost body.
    pub(super) fn read(mut self) -> Result<Body, EmitError> {
        self.body(0, 0)
    }

    fn at(&self, word: u32) -> Result<&'a Word, EmitError> {
        self.program.words.get(word as usize).ok_or(EmitError::Malformed { word })
    }

    /// Extension words of the instruction at a word.
    fn extensions(&self, word: u32) -> Result<&'a [Word], EmitError> {
        let first = word as usize + 1;
        let count = usize::from(self.at(word)?.flags);
        self.program.words.get(first..first + count).ok_or(EmitError::Malformed { word })
    }

    /// The body that begins at a word; `depth` variables are in scope.
    fn body(&mut self, first: u32, depth: usize) -> Result<Body, EmitError> {
        let mut statements = Vec::new();
        let mut at = first;
        loop {
            let word = *self.at(at)?;
            let op = Op::from_code(word.opcode).ok_or(EmitError::Malformed { word: at })?;
            let mut next = at + 1 + self.extensions(at)?.len() as u32;
            let kind = match op {
                Op::Halt | Op::End => break,
                Op::Nop => None,
                Op::AxisDense | Op::AxisDenseDyn | Op::AxisRagged | Op::AxisSparse => {
                    self.set_axis(op, at)?;
                    None
                }
                Op::Task => {
                    let (task, end) = self.task(at)?;
                    next = end;
                    Some(Kind::Task(task))
                }
                _ => Some(self.statement(op, at, depth)?),
            };
            statements.extend(kind.map(|kind| Statement { word: at, kind }));
            at = next;
        }
        let summary = Summary::of(self.program, &statements, depth);
        Ok(Body { word: first, statements, summary })
    }

    /// A body that the instruction at `from` names, which lies behind it.
    fn inner(&mut self, from: u32, first: u32, depth: usize) -> Result<Body, EmitError> {
        if first > from { self.body(first, depth) } else { Err(EmitError::Malformed { word: from }) }
    }

    fn statement(&mut self, op: Op, at: u32, depth: usize) -> Result<Kind, EmitError> {
        let word = *self.at(at)?;
        let (one, two) = (u32::from(word.operand1), word.operand2);
        let extensions = self.extensions(at)?;
        let malformed = EmitError::Malformed { word: at };
        let first = extensions.first().copied();
        Ok(match op {
            Op::ParallelFor | Op::ForEach | Op::Select => {
                let row = match first {
                    Some(ext) => Some(Row::Expr(ext.operand2)),
                    None => depth.checked_sub(1).map(Row::Variable),
                };
                let over = self.over(word.operand1, row).ok_or(malformed)?;
                Kind::Loop(Loop { op, axis: word.operand1, over, body: self.inner(at, two, depth + 1)? })
            }
            Op::Cond => {
                let otherwise = first.ok_or(malformed)?.operand2;
                let then = self.inner(at, two, depth)?;
                let otherwise = if otherwise == 0 { None } else { Some(self.inner(at, otherwise, depth)?) };
                Kind::Cond { condition: one, then, otherwise }
            }
            Op::Combine | Op::Sequential => {
                let bodies: Result<Vec<Body>, EmitError> =
                    extensions.iter().map(|ext| self.inner(at, ext.operand2, depth)).collect();
                if op == Op::Combine { Kind::Combine(bodies?) } else { Kind::Sequential(bodies?) }
            }
            Op::While => {
                let most = Some(first.ok_or(malformed)?.operand2).filter(|expr| *expr != u32::MAX);
                Kind::While { condition: one, most, body: self.inner(at, two, depth + 1)? }
            }
            Op::Let => Kind::Let { value: one, body: self.inner(at, two, depth + 1)? },
            Op::Reset => Kind::Reset { label: one, count: two },
            Op::DispatchFilter => Kind::Filter(filter(word.operand1, extensions).ok_or(malformed)?),
            Op::StreamBy => {
                let key = Some(first.ok_or(malformed)?.operand2).filter(|expr| *expr != u32::MAX);
                Kind::StreamBy { streams: two, key }
            }
            Op::Priority => Kind::Priority { key: two },
            Op::Channel => Kind::Channel { channel: word.operand1, depth: two },
            Op::Process => {
                let bodies = extensions.iter().map(|ext| self.inner(at, ext.operand2, depth));
                Kind::Process(bodies.collect::<Result<_, _>>()?)
            }
            Op::Send => Kind::Send { channel: word.operand1, body: self.inner(at, two, depth + 1)? },
            Op::Recv => {
                let arms = vec![(word.operand1, self.inner(at, two, depth + 1)?)];
                Kind::Receive { arms, all: false }
            }
            Op::SelectCh | Op::SelectAll => {
                let arm = |ext: &Word| Ok((ext.operand1, self.inner(at, ext.operand2, depth + 1)?));
                let arms = extensions.iter().map(arm).collect::<Result<_, EmitError>>()?;
                Kind::Receive { arms, all: op == Op::SelectAll }
            }
            Op::Close => Kind::Close { channel: word.operand1 },
            Op::Plan => return Err(EmitError::Unsupported { op, word: at }),
            _ => return Err(malformed),
        })
    }

    fn set_axis(&mut self, op: Op, at: u32) -> Result<(), EmitError> {
        let word = *self.at(at)?;
        let first = self.extensions(at)?.first().map(|ext| ext.operand2);
        let row = Row::Expr(0);
        let over = match op {
            Op::AxisDense => {
                Some(Over::Dense { lo: Bound::Fixed(0), hi: Bound::Fixed(i64::from(word.operand2)) })
            }
            Op::AxisDenseDyn => Some(Over::Dense { lo: Bound::Fixed(0), hi: Bound::Value(word.operand2) }),
            Op::AxisRagged => Some(Over::Ragged { lengths: word.operand2, rows: first, row }),
            _ => first.map(|columns| Over::Sparse { pointers: word.operand2, columns, row }),
        };
        let place = self.axes.get_mut(usize::from(word.operand1));
        *place.ok_or(EmitError::Malformed { word: at })? = over;
        Ok(())
    }

    /// What a loop over an axis runs over, in a row if the axis has rows.
    fn over(&self, axis: u16, row: Option<Row>) -> Option<Over> {
        Some(match self.axes.get(usize::from(axis)).copied()?? {
            Over::Ragged { lengths, rows, .. } => Over::Ragged { lengths, rows, row: row? },
            Over::Sparse { pointers, columns, .. } => Over::Sparse { pointers, columns, row: row? },
            dense => dense,
        })
    }

    /// The task at a word, and where the next statement is.
    fn task(&self, at: u32) -> Result<(Task, u32), EmitError> {
        let word = *self.at(at)?;
        let label = self.extensions(at)?.first().map(|ext| ext.operand1);
        let mut task = Task { kernel: word.operand1, label, arguments: Vec::new(), after: Vec::new() };
        let [params, accesses, after, _] = word.operand2.to_le_bytes();
        let arguments = u32::from(params) + u32::from(accesses) + u32::from(after);
        let mut next = at + 1 + u32::from(word.flags);
        for _ in 0..arguments {
            self.argument(next, &mut task)?;
            next += 1 + u32::from(self.at(next)?.flags);
        }
        Ok((task, next))
    }

    fn argument(&self, at: u32, task: &mut Task) -> Result<(), EmitError> {
        let malformed = EmitError::Malformed { word: at };
        let word = *self.at(at)?;
        let access = |mode| {
            let dims: Option<Vec<Dim>> = self.extensions(at)?.iter().map(dim).collect();
            let dims = dims.ok_or(malformed)?;
            Ok(Argument::Access(TaskAccess { mode, tensor: word.operand1, dims }))
        };
        let argument = match Op::from_code(word.opcode).ok_or(malformed)? {
            Op::ParamConst => Argument::Param(Param::Const(word.operand2.cast_signed())),
            Op::ParamLoopvar => Argument::Param(Param::Variable(usize::from(word.operand1))),
            Op::ParamExpr => Argument::Param(Param::Expr(word.operand2)),
            Op::IoInput => access("in")?,
            Op::IoOutput => access("out")?,
            Op::IoInout => access("in_out")?,
            Op::After => {
                task.after.push(word.operand1);
                return Ok(());
            }
            _ => return Err(malformed),
        };
        task.arguments.push(argument);
        Ok(())
    }
}

/// A dimension's word.
fn dim(word: &Word) -> Option<Dim> {
    let (kind, _) = DimKind::from_flags(word.flags)?;
    let first = u32::from(word.operand1);
    let second = if word.flags & DIM_IMMEDIATE != 0 {
        Second::Fixed(word.operand2.cast_signed())
    } else {
        Second::Expr(word.operand2)
    };
    Some(match kind {
        DimKind::Whole => Dim::Whole,
        DimKind::Index => Dim::Index(first),
        DimKind::Range => Dim::Range(first, second),
        DimKind::Sized => Dim::Sized(first, second),
    })
}

/// An axis as the table has it; none for one that an instruction sets.
fn table_axis(form: u8, a: u16, b: u32) -> Option<Over> {
    let row = Row::Expr(0);
    let (low, upper) = (b & NONE, b >> 16);
    match AxisForm::from_code(form)? {
        AxisForm::Dense => Some(Over::Dense { lo: Bound::Expr(u32::from(a)), hi: Bound::Expr(b) }),
        AxisForm::DenseDyn => Some(Over::Dense { lo: Bound::Fixed(0), hi: Bound::Value(u32::from(a)) }),
        AxisForm::Ragged => Some(Over::Ragged { lengths: b, rows: None, row }),
        AxisForm::Sparse => Some(Over::Sparse { pointers: low, columns: upper, row }),
        AxisForm::Range => {
            let step = Some(upper).filter(|step| *step != NONE);
            Some(Over::Range { lo: u32::from(a), hi: low, step })
        }
        AxisForm::Set => None,
    }
}

/// What a `DISPATCH_FILTER` says.
fn filter(policy: u16, extensions: &[Word]) -> Option<Filter> {
    let first = || extensions.first().map(|ext| ext.operand2);
    Some(match PolicyType::from_code(policy)? {
        PolicyType::Threshold => {
            let head = extensions.first()?;
            let count = usize::from(head.operand1);
            let bounds = extensions.get(1..1 + count)?;
            let levels: Option<Vec<Level>> = extensions.get(1 + count..)?.iter().map(level).collect();
            Filter::Threshold {
                metric: head.operand2,
                bounds: bounds.iter().map(|ext| ext.operand2.cast_signed()).collect(),
                levels: levels.filter(|levels| levels.len() == count + 1)?,
            }
        }
        PolicyType::StaticPartition => Filter::Ranges(extensions.iter().map(|ext| ext.operand2).collect()),
        PolicyType::RoundRobin => Filter::Policy(Policy::RoundRobin),
        PolicyType::Affinity => Filter::Policy(Policy::Affinity(first()? as usize)),
        PolicyType::Key => Filter::Policy(Policy::Key(first()?)),
        PolicyType::Hash => Filter::Policy(Policy::Hash(first()?)),
    })
}

fn level(ext: &Word) -> Option<Level> {
    if let Some(pool @ 0..=2) = ext.operand1.checked_sub(POLICY_POOL) {
        return Some(Level::Pool(pool));
    }
    Some(Level::Policy(match PolicyType::from_code(ext.operand1)? {
        PolicyType::RoundRobin => Policy::RoundRobin,
        PolicyType::Affinity => Policy::Affinity(ext.operand2 as usize),
        PolicyType::Key => Policy::Key(ext.operand2),
        PolicyType::Hash => Policy::Hash(ext.operand2),
        PolicyType::Threshold | PolicyType::StaticPartition => return None,
    }))
}
