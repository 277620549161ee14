//! Programs for tests, record by record, and one that has every kind of record.

use wsp_core::ptow::{
    AxisDescriptor, AxisForm, DIM_IMMEDIATE, DimKind, Header, KernelDescriptor, MAGIC, Op, PoolHeader,
    Program, ReadError, Style, TensorDescriptor, VERSION, Verified, VerifyError, Word, X_LAST, XOp,
    marks_needed,
};
use zerocopy::IntoBytes;

/// All ones.
pub(crate) const NONE: u16 = u16::MAX;

/// A program's records.
#[derive(Clone, Default)]
pub(crate) struct Image {
    pub(crate) words: Vec<Word>,
    pub(crate) axes: Vec<AxisDescriptor>,
    pub(crate) kernels: Vec<KernelDescriptor>,
    pub(crate) tensors: Vec<TensorDescriptor>,
    /// Its counts of words and bytes are those of the sections.
    pub(crate) pool: PoolHeader,
    pub(crate) exprs: Vec<Word>,
    pub(crate) names: Vec<u8>,
}

/// An instruction.
pub(crate) fn word(op: Op, flags: u8, operand1: u16, operand2: u32) -> Word {
    Word { opcode: op.code(), flags, operand1, operand2 }
}

/// An extension word.
pub(crate) fn ext(operand1: u16, operand2: u32) -> Word {
    word(Op::ExtWord, 0, operand1, operand2)
}

/// An extension word of a dimension.
pub(crate) fn dim(kind: DimKind, immediate: bool, first: u16, second: u32) -> Word {
    let flags = kind as u8 | if immediate { DIM_IMMEDIATE } else { 0 };
    word(Op::ExtWord, flags, first, second)
}

pub(crate) fn halt() -> Word {
    word(Op::Halt, 0, 0, 0)
}

pub(crate) fn end() -> Word {
    word(Op::End, 0, 0, 0)
}

/// `operand2` of TASK.
pub(crate) fn task_counts(params: u8, accesses: u8, afters: u8) -> u32 {
    u32::from_le_bytes([params, accesses, afters, 0])
}

impl Image {
    /// Appends an expression; gives its first word.
    pub(crate) fn expr(&mut self, ops: &[(XOp, u32)]) -> u16 {
        let first = self.exprs.len() as u16;
        for (at, (op, operand2)) in ops.iter().enumerate() {
            let flags = if at + 1 == ops.len() { X_LAST } else { 0 };
            self.exprs.push(Word { opcode: op.code(), flags, operand1: 0, operand2: *operand2 });
        }
        first
    }

    /// The sections up to the tables.
    pub(crate) fn tables(&self) -> Vec<u8> {
        let header = Header {
            magic: MAGIC,
            version: VERSION,
            num_instructions: self.words.len() as u32,
            num_axes: self.axes.len() as u32,
            num_kernels: self.kernels.len() as u32,
            num_tensors: self.tensors.len() as u32,
        };
        let sections = [
            header.as_bytes(),
            self.words.as_bytes(),
            self.axes.as_bytes(),
            self.kernels.as_bytes(),
            self.tensors.as_bytes(),
        ];
        sections.concat()
    }

    /// All sections.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let pool = PoolHeader {
            num_words: self.exprs.len() as u32,
            name_bytes: self.names.len() as u32,
            ..self.pool
        };
        [&self.tables(), pool.as_bytes(), self.exprs.as_bytes(), &self.names].concat()
    }

    pub(crate) fn verify(&self) -> Result<(), VerifyError> {
        self.verify_as(Style::Ours)
    }

    pub(crate) fn verify_as(&self, style: Style) -> Result<(), VerifyError> {
        let bytes = Aligned::new(&self.bytes());
        let program = Program::read(bytes.get()).expect("an image can be read");
        let mut marks = vec![0xA5; marks_needed(&program)];
        Verified::with_style(program, &mut marks, style).map(|_| ())
    }
}

/// Bytes that begin at a multiple of 4.
pub(crate) struct Aligned {
    words: Vec<u32>,
    len: usize,
}

impl Aligned {
    pub(crate) fn new(bytes: &[u8]) -> Aligned {
        let mut words = vec![0u32; bytes.len().div_ceil(4)];
        words.as_mut_bytes()[..bytes.len()].copy_from_slice(bytes);
        Aligned { words, len: bytes.len() }
    }

    pub(crate) fn get(&self) -> &[u8] {
        &self.words.as_bytes()[..self.len]
    }
}

/// Reads bytes; the error, if there is one.
pub(crate) fn read_error(bytes: &[u8]) -> Option<ReadError> {
    Program::read(Aligned::new(bytes).get()).err()
}

/// Expressions of [`sample`].
pub(crate) struct Exprs {
    /// 3.
    pub(crate) three: u16,
    /// Value 0.
    pub(crate) value: u16,
    /// Loop variable 0.
    pub(crate) var: u16,
    /// The index of axis 0.
    pub(crate) key: u16,
    /// The position of loop variable 0.
    pub(crate) pos: u16,
    /// Slot 0.
    pub(crate) slot: u16,
}

/// A program with every form of axis and nothing but `HALT`.
pub(crate) fn tables_only() -> (Image, Exprs) {
    let mut image = Image::default();
    let exprs = Exprs {
        three: image.expr(&[(XOp::XConst, 3)]),
        value: image.expr(&[(XOp::XValue, 0)]),
        var: image.expr(&[(XOp::XVar, 0)]),
        key: image.expr(&[(XOp::XAxis, 0)]),
        pos: image.expr(&[(XOp::XPos, 0)]),
        slot: image.expr(&[(XOp::XSlot, 0)]),
    };
    image.pool = PoolHeader {
        num_values: 2,
        num_tables: 3,
        num_slots: 1,
        num_labels: 2,
        num_generators: 1,
        num_channels: 1,
        ..PoolHeader::default()
    };
    let axis = |form: AxisForm, a: u16, b: u32| AxisDescriptor { form: form as u8, reserved: 0, a, b };
    image.axes = vec![
        axis(AxisForm::Dense, exprs.three, u32::from(exprs.value)),
        axis(AxisForm::DenseDyn, 1, 0),
        axis(AxisForm::Ragged, 0, 0),
        axis(AxisForm::Sparse, NONE, 1 | 2 << 16),
        axis(AxisForm::Range, exprs.three, u32::from(exprs.value) | u32::from(NONE) << 16),
    ];
    image.names = b"v0\0v1\0t0\0t1\0t2\0\0\0\0\0\0gemm\0A\0".to_vec();
    image.kernels = vec![KernelDescriptor { pool: 1, reserved: 0, name: 20, reserved2: 0 }];
    image.tensors = vec![
        TensorDescriptor { dtype: 2, rank: 3, name: 25, slot: 0 },
        TensorDescriptor { dtype: 8, rank: 0, name: NONE, slot: 1 },
    ];
    image.words = vec![halt()];
    (image, exprs)
}

/// Adds axes of the form `Set`, whose names are empty.
pub(crate) fn with_axes(image: &mut Image, axes: usize) {
    let set = AxisDescriptor { form: AxisForm::Set as u8, ..AxisDescriptor::default() };
    for _ in 0..axes {
        image.axes.push(set);
        image.names.insert(15, 0);
        image.kernels[0].name += 1;
        image.tensors[0].name += 1;
    }
}

/// A statement of a body: words, and which of them name which bodies in `operand2`.
pub(crate) struct Item {
    words: Vec<Word>,
    bodies: Vec<(usize, Vec<Item>)>,
}

/// A statement without bodies.
pub(crate) fn plain<const N: usize>(words: [Word; N]) -> Item {
    Item { words: words.to_vec(), bodies: Vec::new() }
}

/// A statement with bodies.
pub(crate) fn with<const N: usize, const M: usize>(
    words: [Word; N],
    bodies: [(usize, Vec<Item>); M],
) -> Item {
    Item { words: words.to_vec(), bodies: bodies.into() }
}

/// Lays out bodies one behind the other, each with its end.
pub(crate) fn lay_out(outermost: Vec<Item>) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let mut queue = std::collections::VecDeque::from([(None, outermost)]);
    while let Some((named_by, body)) = queue.pop_front() {
        let last = match named_by {
            None => halt(),
            Some(at) => {
                let at: usize = at;
                words[at].operand2 = words.len() as u32;
                end()
            }
        };
        for item in body {
            let first = words.len();
            words.extend(item.words);
            queue.extend(item.bodies.into_iter().map(|(at, body)| (Some(first + at), body)));
        }
        words.push(last);
    }
    words
}

impl Image {
    /// The first word with this opcode.
    pub(crate) fn find(&self, op: Op) -> usize {
        let found = self.words.iter().position(|word| word.opcode == op.code());
        found.expect("the program has this instruction")
    }

    /// The first word with this opcode.
    pub(crate) fn word_mut(&mut self, op: Op) -> &mut Word {
        let at = self.find(op);
        &mut self.words[at]
    }

    /// The `index`-th word behind the first with this opcode.
    pub(crate) fn ext_mut(&mut self, op: Op, index: usize) -> &mut Word {
        let at = self.find(op) + 1 + index;
        &mut self.words[at]
    }
}

/// A program with every kind of record, and every instruction.
pub(crate) fn sample() -> (Image, Exprs) {
    let (mut image, x) = tables_only();
    with_axes(&mut image, 4);
    let [var, key] = [x.var, x.key].map(u32::from);
    let task = vec![
        plain([word(Op::Task, 1, 0, task_counts(3, 2, 1)), ext(1, 0)]),
        plain([word(Op::ParamConst, 0, 0, (-5i32) as u32)]),
        plain([word(Op::ParamLoopvar, 0, 0, 0), word(Op::ParamExpr, 0, 0, var)]),
        plain([
            word(Op::IoInput, 2, 0, 0),
            dim(DimKind::Sized, true, x.var, 1),
            dim(DimKind::Whole, false, 0, 0),
        ]),
        plain([
            word(Op::IoInout, 2, 0, 0),
            dim(DimKind::Range, false, x.three, u32::from(x.value)),
            dim(DimKind::Index, false, x.three, 0),
        ]),
        plain([word(Op::After, 0, 1, 0)]),
    ];
    let write = plain([word(Op::Task, 0, 0, task_counts(0, 1, 0)), word(Op::IoOutput, 0, 1, 0)]);
    let choose = with(
        [word(Op::Cond, 1, x.var, 0), ext(0, 0)],
        [(0, vec![]), (1, vec![with([word(Op::Let, 0, x.var, 0)], [(0, vec![])])])],
    );
    let mut nest = task;
    nest.push(with([word(Op::Select, 0, 3, 0)], [(0, vec![choose])]));
    let axes = [
        word(Op::AxisDense, 0, 5, 16),
        word(Op::AxisDenseDyn, 0, 6, 1),
        word(Op::AxisRagged, 1, 7, 0),
        ext(0, 1),
        word(Op::AxisSparse, 1, 8, 1),
        ext(0, 2),
    ];
    let threshold = [ext(2, key), ext(0, (-7i32) as u32), ext(0, 9), ext(1, 3), ext(4, key), ext(17, 0)];
    let [a, b, c, d, e, f] = threshold;
    image.words = lay_out(vec![
        plain([word(Op::Nop, 0, 0, 0)]),
        plain(axes),
        plain([word(Op::DispatchFilter, 6, 2, 0), a, b, c, d, e, f]),
        plain([word(Op::StreamBy, 1, 0, 4), ext(0, key), word(Op::Priority, 0, 0, key)]),
        plain([word(Op::Reset, 0, 0, 2)]),
        with([word(Op::ParallelFor, 0, 0, 0)], [(0, nest)]),
        with(
            [word(Op::Sequential, 2, 2, 0), ext(0, 0), ext(0, 0)],
            [(1, vec![with([word(Op::ForEach, 0, 4, 0)], [(0, vec![])])]), (2, vec![write])],
        ),
        with([word(Op::Combine, 1, 1, 0), ext(0, 0)], [(1, vec![])]),
        with([word(Op::While, 1, x.slot, 0), ext(0, u32::MAX)], [(0, vec![])]),
        plain([word(Op::Plan, 0, 0, 0), word(Op::Channel, 0, 0, u32::from(x.three))]),
        with(
            [word(Op::Process, 2, 2, 0), ext(0, 0), ext(0, 0)],
            [
                (1, vec![with([word(Op::Send, 0, 0, 0)], [(0, vec![])]), plain([word(Op::Close, 0, 0, 0)])]),
                (
                    2,
                    vec![
                        with([word(Op::Recv, 0, 0, 0)], [(0, vec![])]),
                        with([word(Op::SelectCh, 1, 1, 0), ext(0, 0)], [(1, vec![])]),
                        with([word(Op::SelectAll, 1, 1, 0), ext(0, 0)], [(1, vec![])]),
                    ],
                ),
            ],
        ),
    ]);
    (image, x)
}
