//! Programs as trees, and their bytecode: what tests of the interpreter write instead of words.

use wsp_core::ptow::{
    AxisDescriptor, AxisForm, Counts, DIM_IMMEDIATE, DimKind, Header, KernelDescriptor, MAGIC, Op,
    POLICY_POOL, PolicyType, Program, TensorDescriptor, VERSION, Verified, Word, X_LAST, XOp, marks_needed,
};

/// An expression.
#[derive(Clone, Debug)]
pub(crate) enum X {
    Const(i64),
    Value(u16),
    Var(u16),
    Pos(u16),
    Axis(u16),
    Slot(u16),
    Len(u16),
    Table(u16, Box<X>),
    Neg(Box<X>),
    Not(Box<X>),
    Bin(XOp, Box<X>, Box<X>),
    Choose(Box<X>, Box<X>, Box<X>),
}

pub(crate) fn c(value: i64) -> X {
    X::Const(value)
}

pub(crate) fn v(depth: u16) -> X {
    X::Var(depth)
}

pub(crate) fn bin(op: XOp, left: X, right: X) -> X {
    X::Bin(op, Box::new(left), Box::new(right))
}

pub(crate) fn add(left: X, right: X) -> X {
    bin(XOp::XAdd, left, right)
}

pub(crate) fn mul(left: X, right: X) -> X {
    bin(XOp::XMul, left, right)
}

/// A dimension of a region.
#[derive(Clone, Debug)]
pub(crate) enum Dim {
    Whole,
    Index(X),
    Range(X, X),
    Sized(X, X),
    SizedImm(X, i32),
}

#[derive(Clone, Debug)]
pub(crate) enum Param {
    Const(i32),
    Loopvar(u16),
    Expr(X),
}

#[derive(Clone, Debug, Default)]
pub(crate) struct TaskNode {
    pub(crate) kernel: u16,
    pub(crate) label: Option<u16>,
    pub(crate) params: Vec<Param>,
    /// Instruction, tensor, dimensions.
    pub(crate) accesses: Vec<(Op, u16, Vec<Dim>)>,
    pub(crate) after: Vec<u16>,
}

/// What decides on an owner.
#[derive(Clone, Debug)]
pub(crate) enum Policy {
    RoundRobin,
    Affinity(u16),
    Key(X),
    Hash(X),
    Ranges(Vec<u32>),
    Threshold {
        metric: X,
        bounds: Vec<i32>,
        levels: Vec<Policy>,
    },
    /// Of levels only.
    Pool(u16),
}

#[derive(Clone, Debug)]
pub(crate) enum Node {
    Nop,
    Task(TaskNode),
    Loop {
        op: Op,
        axis: u16,
        row: Option<X>,
        body: Vec<Node>,
    },
    Cond {
        condition: X,
        then: Vec<Node>,
        otherwise: Vec<Node>,
    },
    Combine(Vec<Vec<Node>>),
    Sequential(Vec<Vec<Node>>),
    While {
        condition: X,
        max: Option<X>,
        body: Vec<Node>,
    },
    Let {
        value: X,
        body: Vec<Node>,
    },
    Reset(u16, u32),
    Plan(u16),
    Filter(Policy),
    Stream {
        count: u32,
        key: Option<X>,
    },
    Priority(X),
    /// Of processes: an instruction, its channel, and its body.
    Transfer {
        op: Op,
        channel: u16,
        body: Vec<Node>,
    },
    /// Bodies, each of a channel: of a PROCESS of channel 0.
    Arms {
        op: Op,
        arms: Vec<(u16, Vec<Node>)>,
    },
    Close(u16),
    Channel(u16, X),
}

#[derive(Clone, Debug)]
pub(crate) enum Axis {
    Dense(X, X),
    DenseDyn(u16),
    Ragged(u16),
    Sparse { pointers: u16, columns: u16 },
    Range { lo: X, hi: X, step: Option<X> },
}

/// A program.
#[derive(Clone, Debug, Default)]
pub(crate) struct Module {
    pub(crate) axes: Vec<Axis>,
    /// Pools.
    pub(crate) kernels: Vec<u8>,
    /// Ranks.
    pub(crate) tensors: Vec<u8>,
    pub(crate) counts: Counts,
    pub(crate) body: Vec<Node>,
}

/// Its bytecode.
#[derive(Clone, Debug, Default)]
pub(crate) struct Code {
    pub(crate) header: Header,
    pub(crate) words: Vec<Word>,
    pub(crate) axes: Vec<AxisDescriptor>,
    pub(crate) kernels: Vec<KernelDescriptor>,
    pub(crate) tensors: Vec<TensorDescriptor>,
    pub(crate) counts: Counts,
    pub(crate) exprs: Vec<Word>,
}

impl Code {
    pub(crate) fn program(&self) -> Program<'_> {
        Program {
            header: &self.header,
            words: &self.words,
            axes: &self.axes,
            kernels: &self.kernels,
            tensors: &self.tensors,
            counts: self.counts,
            exprs: &self.exprs,
            names: &[],
        }
    }

    pub(crate) fn verified(&self) -> Verified<'_> {
        let program = self.program();
        let mut marks = vec![0; marks_needed(&program)];
        Verified::new(program, &mut marks).unwrap_or_else(|error| panic!("{error}\n{:#?}", self.words))
    }
}

pub(crate) fn word(op: Op, flags: usize, operand1: u16, operand2: u32) -> Word {
    Word { opcode: op.code(), flags: flags as u8, operand1, operand2 }
}

impl Module {
    pub(crate) fn assemble(&self) -> Code {
        let mut asm = Assembler { code: Code { counts: self.counts, ..Code::default() }, bodies: Vec::new() };
        for axis in &self.axes {
            let row = asm.axis(axis);
            asm.code.axes.push(row);
        }
        let kernels = self.kernels.iter();
        asm.code.kernels = kernels
            .map(|pool| KernelDescriptor { pool: *pool, name: u16::MAX, ..Default::default() })
            .collect();
        let tensors = self.tensors.iter();
        asm.code.tensors =
            tensors.map(|rank| TensorDescriptor { dtype: 0, rank: *rank, name: u16::MAX, slot: 0 }).collect();
        asm.body(&self.body, Op::Halt);
        let mut next = 0;
        while let Some((at, body)) = asm.bodies.get(next).cloned() {
            asm.code.words[at].operand2 = asm.code.words.len() as u32;
            asm.body(&body, Op::End);
            next += 1;
        }
        let mut code = asm.code;
        code.header = Header {
            magic: MAGIC,
            version: VERSION,
            num_instructions: code.words.len() as u32,
            num_axes: code.axes.len() as u32,
            num_kernels: code.kernels.len() as u32,
            num_tensors: code.tensors.len() as u32,
        };
        code
    }
}

struct Assembler {
    code: Code,
    /// Words that name bodies, and the bodies.
    bodies: Vec<(usize, Vec<Node>)>,
}

impl Assembler {
    fn axis(&mut self, axis: &Axis) -> AxisDescriptor {
        let row =
            |form: AxisForm, a: u32, b: u32| AxisDescriptor { form: form as u8, reserved: 0, a: a as u16, b };
        match axis {
            Axis::Dense(lo, hi) => row(AxisForm::Dense, self.expr(lo), self.expr(hi)),
            Axis::DenseDyn(value) => row(AxisForm::DenseDyn, u32::from(*value), 0),
            Axis::Ragged(table) => row(AxisForm::Ragged, 0xFFFF, u32::from(*table)),
            Axis::Sparse { pointers, columns } => {
                row(AxisForm::Sparse, 0xFFFF, u32::from(*pointers) | (u32::from(*columns) << 16))
            }
            Axis::Range { lo, hi, step } => {
                let step = step.as_ref().map_or(0xFFFF, |step| self.expr(step));
                row(AxisForm::Range, self.expr(lo), self.expr(hi) | (step << 16))
            }
        }
    }

    fn body(&mut self, body: &[Node], end: Op) {
        for node in body {
            self.node(node);
        }
        self.push(word(end, 0, 0, 0));
    }

    fn push(&mut self, word: Word) -> usize {
        self.code.words.push(word);
        self.code.words.len() - 1
    }

    fn names(&mut self, at: usize, body: &[Node]) {
        self.bodies.push((at, body.to_vec()));
    }

    fn node(&mut self, node: &Node) {
        match node {
            Node::Nop => {
                self.push(word(Op::Nop, 0, 0, 0));
            }
            Node::Task(task) => self.task(task),
            Node::Loop { op, axis, row, body } => {
                let at = self.push(word(*op, usize::from(row.is_some()), *axis, 0));
                self.names(at, body);
                if let Some(row) = row {
                    let row = self.expr(row);
                    self.push(word(Op::ExtWord, 0, 0, row));
                }
            }
            Node::Cond { condition, then, otherwise } => {
                let condition = self.expr(condition);
                let at = self.push(word(Op::Cond, 1, condition as u16, 0));
                self.names(at, then);
                let ext = self.push(word(Op::ExtWord, 0, 0, 0));
                if !otherwise.is_empty() {
                    self.names(ext, otherwise);
                }
            }
            Node::Combine(bodies) => self.branches(Op::Combine, bodies),
            Node::Sequential(bodies) => self.branches(Op::Sequential, bodies),
            Node::While { condition, max, body } => {
                let condition = self.expr(condition);
                let at = self.push(word(Op::While, 1, condition as u16, 0));
                self.names(at, body);
                let max = max.as_ref().map_or(u32::MAX, |max| self.expr(max));
                self.push(word(Op::ExtWord, 0, 0, max));
            }
            Node::Let { value, body } => {
                let value = self.expr(value);
                let at = self.push(word(Op::Let, 0, value as u16, 0));
                self.names(at, body);
            }
            Node::Reset(label, count) => {
                self.push(word(Op::Reset, 0, *label, *count));
            }
            Node::Plan(generator) => {
                self.push(word(Op::Plan, 0, *generator, 0));
            }
            Node::Filter(policy) => self.filter(policy),
            Node::Stream { count, key } => {
                let key = key.as_ref().map_or(u32::MAX, |key| self.expr(key));
                self.push(word(Op::StreamBy, 1, 0, *count));
                self.push(word(Op::ExtWord, 0, 0, key));
            }
            Node::Priority(key) => {
                let key = self.expr(key);
                self.push(word(Op::Priority, 0, 0, key));
            }
            Node::Transfer { op, channel, body } => {
                let at = self.push(word(*op, 0, *channel, 0));
                self.names(at, body);
            }
            Node::Arms { op, arms } => {
                self.push(word(*op, arms.len(), arms.len() as u16, 0));
                for (channel, body) in arms {
                    let at = self.push(word(Op::ExtWord, 0, *channel, 0));
                    self.names(at, body);
                }
            }
            Node::Close(channel) => {
                self.push(word(Op::Close, 0, *channel, 0));
            }
            Node::Channel(channel, depth) => {
                let depth = self.expr(depth);
                self.push(word(Op::Channel, 0, *channel, depth));
            }
        }
    }

    fn branches(&mut self, op: Op, bodies: &[Vec<Node>]) {
        self.push(word(op, bodies.len(), bodies.len() as u16, 0));
        for body in bodies {
            let at = self.push(word(Op::ExtWord, 0, 0, 0));
            self.names(at, body);
        }
    }

    fn task(&mut self, task: &TaskNode) {
        let counts = task.params.len() | (task.accesses.len() << 8) | (task.after.len() << 16);
        self.push(word(Op::Task, usize::from(task.label.is_some()), task.kernel, counts as u32));
        if let Some(label) = task.label {
            self.push(word(Op::ExtWord, 0, label, 0));
        }
        for param in &task.params {
            let word = match param {
                Param::Const(value) => word(Op::ParamConst, 0, 0, *value as u32),
                Param::Loopvar(depth) => word(Op::ParamLoopvar, 0, *depth, 0),
                Param::Expr(expr) => word(Op::ParamExpr, 0, 0, self.expr(expr)),
            };
            self.push(word);
        }
        for (op, tensor, dims) in &task.accesses {
            self.push(word(*op, dims.len(), *tensor, 0));
            for dim in dims {
                let word = self.dim(dim);
                self.push(word);
            }
        }
        for label in &task.after {
            self.push(word(Op::After, 0, *label, 0));
        }
    }

    fn dim(&mut self, dim: &Dim) -> Word {
        let (kind, immediate, one, two) = match dim {
            Dim::Whole => (DimKind::Whole, 0, 0, 0),
            Dim::Index(index) => (DimKind::Index, 0, self.expr(index), 0),
            Dim::Range(lo, hi) => (DimKind::Range, 0, self.expr(lo), self.expr(hi)),
            Dim::Sized(lo, len) => (DimKind::Sized, 0, self.expr(lo), self.expr(len)),
            Dim::SizedImm(lo, len) => (DimKind::Sized, DIM_IMMEDIATE, self.expr(lo), *len as u32),
        };
        Word {
            opcode: Op::ExtWord.code(),
            flags: kind as u8 | immediate,
            operand1: one as u16,
            operand2: two,
        }
    }

    fn filter(&mut self, policy: &Policy) {
        let ext = |one: u16, two: u32| word(Op::ExtWord, 0, one, two);
        let code = |policy: PolicyType| policy as u8 as u16;
        let (policy, words) = match policy {
            Policy::RoundRobin => (PolicyType::RoundRobin, Vec::new()),
            Policy::Affinity(depth) => (PolicyType::Affinity, vec![ext(0, u32::from(*depth))]),
            Policy::Key(key) => (PolicyType::Key, vec![ext(0, self.expr(key))]),
            Policy::Hash(key) => (PolicyType::Hash, vec![ext(0, self.expr(key))]),
            Policy::Ranges(ends) => {
                (PolicyType::StaticPartition, ends.iter().map(|end| ext(0, *end)).collect())
            }
            Policy::Threshold { metric, bounds, levels } => {
                let mut words = vec![ext(bounds.len() as u16, self.expr(metric))];
                words.extend(bounds.iter().map(|bound| ext(0, *bound as u32)));
                for level in levels {
                    words.push(match level {
                        Policy::RoundRobin => ext(code(PolicyType::RoundRobin), 0),
                        Policy::Affinity(depth) => ext(code(PolicyType::Affinity), u32::from(*depth)),
                        Policy::Key(key) => ext(code(PolicyType::Key), self.expr(key)),
                        Policy::Hash(key) => ext(code(PolicyType::Hash), self.expr(key)),
                        Policy::Pool(pool) => ext(POLICY_POOL + pool, 0),
                        Policy::Ranges(_) | Policy::Threshold { .. } => panic!("no policy of a level"),
                    });
                }
                (PolicyType::Threshold, words)
            }
            Policy::Pool(_) => panic!("a pool is a level of a threshold"),
        };
        self.push(word(Op::DispatchFilter, words.len(), code(policy), 0));
        self.code.words.extend(words);
    }

    /// The first word of an expression.
    pub(crate) fn expr(&mut self, expr: &X) -> u32 {
        let first = self.code.exprs.len();
        let mut words = Vec::new();
        postfix(expr, &mut words);
        words.last_mut().expect("an expression has words").flags |= X_LAST;
        self.code.exprs.extend(words);
        first as u32
    }
}

fn postfix(expr: &X, words: &mut Vec<Word>) {
    let x = |op: XOp, operand2: u32| Word { opcode: op.code(), flags: 0, operand1: 0, operand2 };
    match expr {
        X::Const(value) => {
            words.push(x(XOp::XConst, *value as u32));
            if i64::from(*value as i32) != *value {
                words.push(x(XOp::XHigh, (*value >> 32) as u32));
            }
        }
        X::Value(value) => words.push(x(XOp::XValue, u32::from(*value))),
        X::Var(depth) => words.push(x(XOp::XVar, u32::from(*depth))),
        X::Pos(depth) => words.push(x(XOp::XPos, u32::from(*depth))),
        X::Axis(axis) => words.push(x(XOp::XAxis, u32::from(*axis))),
        X::Slot(slot) => words.push(x(XOp::XSlot, u32::from(*slot))),
        X::Len(table) => words.push(x(XOp::XLen, u32::from(*table))),
        X::Table(table, index) => {
            postfix(index, words);
            words.push(x(XOp::XTable, u32::from(*table)));
        }
        X::Neg(operand) => {
            postfix(operand, words);
            words.push(x(XOp::XNeg, 0));
        }
        X::Not(operand) => {
            postfix(operand, words);
            words.push(x(XOp::XNot, 0));
        }
        X::Bin(op, left, right) => {
            postfix(left, words);
            postfix(right, words);
            words.push(x(*op, 0));
        }
        X::Choose(condition, then, otherwise) => {
            postfix(condition, words);
            let (mut yes, mut no) = (Vec::new(), Vec::new());
            postfix(then, &mut yes);
            postfix(otherwise, &mut no);
            words.push(x(XOp::XSkipZero, yes.len() as u32 + 1));
            words.extend(yes);
            words.push(x(XOp::XSkip, no.len() as u32));
            words.extend(no);
        }
    }
}
