//! Instructions as rows of words, by the table of instructions.
//!
//! The first word holds the instruction's code in its lowest byte and, above it, a bit for each operand that is an
//! expression or a table. Operands follow in the table's order: numbers, choices and `i8` take one word, `u64` and scalars two
//! (the lower first), sets two. What is left of a row is zero.

use crate::for_each_tg_op;
use crate::tg::{
    AffinityType, BarrierNo, CheckpointNo, CoreType, DependencyType, DeviceNo, Direction, EventNo, ExprId,
    FenceScope, GraphNo, Instr, IterNo, KernelNo, KernelSet, LoopMode, MemLocation, NodeNo, NotifyNo, OPS,
    Op, PartitionNo, Scalar, StreamNo, Symbol, TensorNo, TensorRef,
};
use zerocopy::little_endian::U32;

/// Words of the widest row.
pub const MAX_ROW_WORDS: usize = 10;
/// Words of the widest instruction, were those of document 000's tables rows of words too.
const MAX_WORDS: usize = 16;

/// How many there are of what rows refer to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Pools {
    /// Operations of expressions.
    pub exprs: u32,
    /// Strings.
    pub strings: u32,
    /// Kernels of sets.
    pub kernels: u32,
    /// Tensors of tables.
    pub tensors: u32,
    /// Declared scalars.
    pub args: u32,
}

impl Pools {
    /// Whether a run lies in a list of `count`.
    pub(in crate::tg) const fn holds(first: u32, len: u32, count: u32) -> bool {
        match first.checked_add(len) {
            Some(end) => end <= count,
            None => false,
        }
    }
}

/// An operand that is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OperandFault {
    /// Its name.
    pub operand: &'static str,
    /// What stands there.
    pub value: u64,
}

/// An instruction as words; what is not used is zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WordRow {
    words: [U32; MAX_WORDS],
    used: usize,
    modes: u32,
    operand: u32,
}

impl WordRow {
    /// The words of an instruction.
    pub fn new(instr: &Instr) -> WordRow {
        let mut row = WordRow { words: [U32::ZERO; MAX_WORDS], used: 1, modes: 0, operand: 0 };
        put(instr, &mut row);
        if let Some(first) = row.words.first_mut() {
            *first = U32::new(instr.op() as u32 | row.modes << 8);
        }
        row
    }

    /// All words of a row of `len`.
    pub fn words(&self, len: usize) -> &[U32] {
        self.words.get(..len).unwrap_or(&self.words)
    }

    fn push(&mut self, word: u32) {
        if let Some(place) = self.words.get_mut(self.used) {
            *place = U32::new(word);
        }
        self.used += 1;
    }

    fn push_wide(&mut self, value: u64) {
        self.push(value as u32);
        self.push((value >> 32) as u32);
    }

    /// Says that the operand which is being written is an expression or a table.
    fn mark(&mut self) {
        self.modes |= 1 << self.operand;
    }
}

/// The words of a row that is read.
struct Words<'w> {
    rest: core::slice::Iter<'w, U32>,
    modes: u32,
    operand: &'static str,
    pools: &'w Pools,
}

impl Words<'_> {
    fn word(&mut self) -> u32 {
        self.rest.next().map_or(0, |word| word.get())
    }

    fn wide(&mut self) -> u64 {
        u64::from(self.word()) | u64::from(self.word()) << 32
    }

    /// Whether this operand is an expression or a table.
    fn marked(&mut self) -> bool {
        let marked = self.modes & 1 != 0;
        self.modes &= !1;
        marked
    }

    fn fault(&self, value: u64) -> OperandFault {
        OperandFault { operand: self.operand, value }
    }
}

/// The instruction of a row of words.
pub(in crate::tg) fn read_row(words: &[U32], pools: &Pools) -> Result<Instr, OperandFault> {
    let mut words = Words { rest: words.iter(), modes: 0, operand: "opcode", pools };
    let first = words.word();
    words.modes = first >> 8;
    let op = Op::from_code(first & 0xff).ok_or_else(|| words.fault(u64::from(first & 0xff)))?;
    let instr = get(op, &mut words)?;
    if words.modes != 0 {
        return Err(OperandFault { operand: "modes", value: u64::from(first >> 8) });
    }
    match words.rest.find(|word| word.get() != 0) {
        Some(word) => Err(OperandFault { operand: "rest of the row", value: u64::from(word.get()) }),
        None => Ok(instr),
    }
}

/// An operand as words.
trait Operand: Copy {
    const WORDS: usize;
    fn put(self, row: &mut WordRow);
    fn get(words: &mut Words<'_>) -> Result<Self, OperandFault>;
}

macro_rules! numbers {
    ($($ty:ident)*) => {$(
        impl Operand for $ty {
            const WORDS: usize = 1;
            fn put(self, row: &mut WordRow) {
                row.push(self.0);
            }
            fn get(words: &mut Words<'_>) -> Result<Self, OperandFault> {
                Ok($ty(words.word()))
            }
        }
    )*};
}

numbers! {
    GraphNo KernelNo NodeNo TensorNo EventNo BarrierNo NotifyNo DeviceNo PartitionNo IterNo StreamNo CheckpointNo
}

macro_rules! choices {
    ($($ty:ident)*) => {$(
        impl Operand for $ty {
            const WORDS: usize = 1;
            fn put(self, row: &mut WordRow) {
                row.push(self as u32);
            }
            fn get(words: &mut Words<'_>) -> Result<Self, OperandFault> {
                let code = words.word();
                $ty::from_code(code).ok_or_else(|| words.fault(u64::from(code)))
            }
        }
    )*};
}

choices! { CoreType DependencyType MemLocation FenceScope AffinityType LoopMode Direction }

impl Operand for u32 {
    const WORDS: usize = 1;
    fn put(self, row: &mut WordRow) {
        row.push(self);
    }
    fn get(words: &mut Words<'_>) -> Result<Self, OperandFault> {
        Ok(words.word())
    }
}

impl Operand for u64 {
    const WORDS: usize = 2;
    fn put(self, row: &mut WordRow) {
        row.push_wide(self);
    }
    fn get(words: &mut Words<'_>) -> Result<Self, OperandFault> {
        Ok(words.wide())
    }
}

impl Operand for i8 {
    const WORDS: usize = 1;
    fn put(self, row: &mut WordRow) {
        row.push(i32::from(self) as u32);
    }
    fn get(words: &mut Words<'_>) -> Result<Self, OperandFault> {
        let word = words.word();
        i8::try_from(word as i32).map_err(|_| words.fault(u64::from(word)))
    }
}

impl Operand for Symbol {
    const WORDS: usize = 1;
    fn put(self, row: &mut WordRow) {
        row.push(self.0);
    }
    fn get(words: &mut Words<'_>) -> Result<Self, OperandFault> {
        let symbol = words.word();
        if symbol < words.pools.strings { Ok(Symbol(symbol)) } else { Err(words.fault(u64::from(symbol))) }
    }
}

impl Operand for Scalar {
    const WORDS: usize = 2;
    fn put(self, row: &mut WordRow) {
        match self {
            Scalar::Const(value) => row.push_wide(value as u64),
            Scalar::Expr(expr) => {
                row.mark();
                row.push_wide(u64::from(expr.0));
            }
        }
    }
    fn get(words: &mut Words<'_>) -> Result<Self, OperandFault> {
        let value = words.wide();
        scalar(value, words.marked(), words.pools).ok_or_else(|| words.fault(value))
    }
}

/// A scalar from its value or the place of its expression.
pub(in crate::tg) fn scalar(value: u64, is_expr: bool, pools: &Pools) -> Option<Scalar> {
    match (is_expr, u32::try_from(value)) {
        (false, _) => Some(Scalar::Const(value as i64)),
        (true, Ok(expr)) if expr < pools.exprs => Some(Scalar::Expr(ExprId(expr))),
        (true, _) => None,
    }
}

impl Operand for KernelSet {
    const WORDS: usize = 2;
    fn put(self, row: &mut WordRow) {
        row.push(self.first);
        row.push(self.len);
    }
    fn get(words: &mut Words<'_>) -> Result<Self, OperandFault> {
        let set = KernelSet { first: words.word(), len: words.word() };
        if Pools::holds(set.first, set.len, words.pools.kernels) {
            Ok(set)
        } else {
            Err(words.fault(u64::from(set.first) | u64::from(set.len) << 32))
        }
    }
}

impl Operand for TensorRef {
    const WORDS: usize = 3;
    fn put(self, row: &mut WordRow) {
        match self {
            TensorRef::Tensor(tensor) => {
                row.push(tensor.0);
                row.push_wide(0);
            }
            TensorRef::Table { first, len, index } => {
                row.mark();
                row.push(first);
                row.push(len);
                row.push(index.0);
            }
        }
    }
    fn get(words: &mut Words<'_>) -> Result<Self, OperandFault> {
        let (first, len, index) = (words.word(), words.word(), words.word());
        if !words.marked() {
            return Ok(TensorRef::Tensor(TensorNo(first)));
        }
        table(first, len, index, words.pools).ok_or_else(|| words.fault(u64::from(first)))
    }
}

/// A table of a binding.
pub(in crate::tg) fn table(first: u32, len: u32, index: u32, pools: &Pools) -> Option<TensorRef> {
    let fits = Pools::holds(first, len, pools.tensors) && index < pools.exprs;
    fits.then_some(TensorRef::Table { first, len, index: ExprId(index) })
}

macro_rules! codec {
    ($($(#[doc = $doc:literal])* $code:literal $mnemonic:ident $name:ident $builder:ident $section:literal $scope:ident
        [$($support:ident)*] { $($operand:ident: $ty:ty $(= $default:expr)?),* };)*) => {
        /// Words that the operands of an instruction take.
        pub const fn operand_words(op: Op) -> usize {
            match op {
                $(Op::$name => 0 $(+ <$ty as Operand>::WORDS)*,)*
            }
        }

        fn put(instr: &Instr, row: &mut WordRow) {
            match *instr {
                $(Instr::$name { $($operand),* } => {
                    $(Operand::put($operand, row); row.operand += 1;)*
                })*
            }
        }

        fn get(op: Op, words: &mut Words<'_>) -> Result<Instr, OperandFault> {
            Ok(match op {
                $(Op::$name => Instr::$name {
                    $($operand: {
                        words.operand = stringify!($operand);
                        let value = <$ty as Operand>::get(words)?;
                        if words.modes & 1 != 0 {
                            return Err(words.fault(u64::from(words.modes)));
                        }
                        words.modes >>= 1;
                        value
                    }),*
                },)*
            })
        }
    };
}

for_each_tg_op!(codec);

// Any instruction can be written as words.
const _: () = {
    let mut at = 0;
    while at < OPS.len() {
        assert!(operand_words(OPS[at].op) < MAX_WORDS);
        at += 1;
    }
};

#[cfg(test)]
mod tests {
    use super::*;

    fn six(row: &WordRow) -> [U32; 6] {
        core::array::from_fn(|at| row.words[at])
    }

    #[test]
    fn a_scalar_keeps_its_sign_and_its_kind() {
        let pools = Pools { exprs: 8, ..Pools::default() };
        for scalar in [Scalar::Const(i64::MIN), Scalar::Const(-1), Scalar::Expr(ExprId(7))] {
            let instr = Instr::TgInvoke { graph_id: GraphNo(9), iteration: scalar };
            assert_eq!(read_row(WordRow::new(&instr).words(4), &pools), Ok(instr));
        }
        let beyond = Instr::CfIf { condition: Scalar::Expr(ExprId(8)) };
        let fault = OperandFault { operand: "condition", value: 8 };
        assert_eq!(read_row(WordRow::new(&beyond).words(6), &pools), Err(fault));
    }

    #[test]
    fn a_binding_keeps_whether_it_names_a_tensor_or_a_table() {
        let pools = Pools { exprs: 8, tensors: 8, ..Pools::default() };
        let table = TensorRef::Table { first: 1, len: 2, index: ExprId(4) };
        for tensor_id in [TensorRef::Tensor(TensorNo(3)), table] {
            let instr = Instr::McBind {
                kernel_id: KernelNo(1),
                arg_index: 2,
                tensor_id,
                offset: Scalar::Const(0),
                size: Scalar::Const(0),
                direction: Direction::Auto,
            };
            assert_eq!(read_row(&WordRow::new(&instr).words, &pools), Ok(instr));
        }
    }

    #[test]
    fn a_mode_of_an_operand_that_has_none_is_refused() {
        let instr = Instr::CfLoop { count: Scalar::Const(3), iterator: IterNo(1), mode: LoopMode::Auto };
        let row = WordRow::new(&instr);
        for bit in 8..32 {
            let mut words = six(&row);
            words[0] = U32::new(words[0].get() | 1 << bit);
            assert!(read_row(&words, &Pools::default()).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn words_behind_the_operands_are_zero() {
        let row = WordRow::new(&Instr::CfEndif {});
        for at in 1..6 {
            let mut words = six(&row);
            words[at] = U32::new(1);
            assert!(read_row(&words, &Pools::default()).is_err(), "word {at}");
        }
    }
}
