//! The rules by id, and what is reported when one is broken.

use core::fmt;

macro_rules! rules {
    ($($id:ident = $text:literal;)*) => {
        /// A rule of the [verifier](super); the text of each is that of the list there.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Rule {
            $(#[doc = $text] $id,)*
        }

        impl Rule {
            /// Every rule, by number.
            pub const ALL: &'static [Rule] = &[$(Rule::$id,)*];

            /// Its id: `V01`, ….
            pub const fn id(self) -> &'static str {
                match self {
                    $(Rule::$id => stringify!($id),)*
                }
            }

            /// What it asks for.
            pub const fn text(self) -> &'static str {
                match self {
                    $(Rule::$id => $text,)*
                }
            }
        }
    };
}

rules! {
    V00 = "the memory for verifying has `marks_needed` bytes";
    V01 = "the opcode of an instruction is in the table";
    V02 = "what an instruction, an expression word or a record does not use is 0";
    V03 = "`flags` is the number of extension words that the instruction takes";
    V04 = "extension words stand behind the instruction that counts them, and nowhere else";
    V05 = "an index names a row of its table, or one of as many as the program counts";
    V06 = "the outermost body ends with HALT, every other with END";
    V07 = "a body begins behind the instruction that names it, among the program's words";
    V08 = "a body is named once";
    V09 = "a body begins where another has ended";
    V10 = "what follows the end of a body is a body that an instruction names";
    V11 = "bodies nest no deeper than the limit";
    V12 = "no more loop variables than the limit are in scope";
    V13 = "AXIS_* stand at the beginning of the outermost body, where only NOP stands beside them";
    V14 = "an axis of the form `Set` is set by one AXIS_*, and no other axis is";
    V15 = "the form of an axis is known";
    V16 = "SELECT goes over a sparse axis, PARALLEL_FOR and FOR_EACH over any other";
    V17 = "a row is given for ragged and sparse axes only";
    V18 = "a loop over a ragged or sparse axis that gives no row stands where a loop variable is in scope";
    V19 = "behind a TASK, and only there, stand as many parameters, accesses and AFTERs as it counts, AFTERs last";
    V20 = "a task has no more parameters and accesses than the limits";
    V21 = "an access bounds no more dimensions than its tensor has";
    V22 = "the kind of a dimension's bounds is known";
    V23 = "a depth names a loop variable in scope";
    V24 = "a policy is known, and one that a threshold may name where it stands in one";
    V25 = "a filter has the extension words of its policy";
    V26 = "the bounds of a threshold increase, and the ends of a partition never decrease";
    V27 = "the number of streams is within its limits";
    V28 = "the opcode of an expression word is in the table";
    V29 = "the only flag of an expression word is that of the last";
    V30 = "an expression has a last word, and no more words than the limit";
    V31 = "an operation finds its operands, and an expression leaves one value";
    V32 = "the stack of an expression is no higher than the limit";
    V33 = "a skip leads to a word of its expression, or behind the last";
    V34 = "where two ways through an expression meet, the stack has one height";
    V35 = "every word of an expression can be reached";
    V36 = "an expression names only what is known where it is evaluated: keys the indices of axes, bounds of dense \
           axes nothing but values and tables, others everything but indices of axes";
    V37 = "a position is that of a SELECT";
    V38 = "a key names no axis of the form `Range`";
    V39 = "the pool of a kernel is known";
    V40 = "the element type of a tensor is known, and its rank within the limit";
    V41 = "names are UTF-8 and end with a zero byte, one at least for each value, table and axis where there are any, \
           and where a name begins another has ended";
    V42 = "SEND, RECV, CLOSE, SELECT_CH and SELECT_ALL stand in a process; PROCESS and CHANNEL stand in none";
    V43 = "what sends or takes tokens stands in no body of FOR_EACH, WHILE or SEQUENTIAL of its process, and in no more bodies \
           of it than the limit";
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

/// Where a rule is broken.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Place {
    /// The program as a whole.
    Program,
    /// A word of the bodies.
    Word(u32),
    /// A word of the expressions.
    Expr(u32),
    /// A row of the table of axes.
    Axis(u32),
    /// A row of the table of kernels.
    Kernel(u32),
    /// A row of the table of tensors.
    Tensor(u32),
    /// A byte of the names.
    Name(u32),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Program => f.write_str("program"),
            Place::Word(at) => write!(f, "instruction word {at}"),
            Place::Expr(at) => write!(f, "expression word {at}"),
            Place::Axis(at) => write!(f, "axis {at}"),
            Place::Kernel(at) => write!(f, "kernel {at}"),
            Place::Tensor(at) => write!(f, "tensor {at}"),
            Place::Name(at) => write!(f, "byte {at} of the names"),
        }
    }
}

/// What may stand where something else was found.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Allowed {
    /// Numbers below this one.
    Below(i64),
    /// This number and those below it.
    AtMost(i64),
    /// This number and those above it.
    AtLeast(i64),
    /// This number.
    Exactly(i64),
    /// What the rule names.
    Named,
}

impl fmt::Display for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Allowed::Below(limit) => write!(f, ", which must be below {limit}"),
            Allowed::AtMost(limit) => write!(f, ", which must be at most {limit}"),
            Allowed::AtLeast(limit) => write!(f, ", which must be at least {limit}"),
            Allowed::Exactly(limit) => write!(f, ", which must be {limit}"),
            Allowed::Named => Ok(()),
        }
    }
}

/// A rule that a program breaks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct VerifyError {
    /// The rule.
    pub rule: Rule,
    /// Where.
    pub place: Place,
    /// What stands there: an opcode, an operand, a number of words, as the rule says.
    pub found: i64,
    /// What may stand there.
    pub allowed: Allowed,
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let VerifyError { rule, place, found, allowed } = self;
        write!(f, "{place}: found {found}{allowed} ({rule}: {})", rule.text())
    }
}

impl core::error::Error for VerifyError {}

/// The result of a check.
pub(super) type Checked<T = ()> = Result<T, VerifyError>;

/// An error.
pub(super) fn broken<T>(rule: Rule, place: Place, found: impl Into<i64>, allowed: Allowed) -> Checked<T> {
    Err(VerifyError { rule, place, found: found.into(), allowed })
}

/// Refuses an index that names nothing.
pub(super) fn below(place: Place, index: u32, count: usize) -> Checked {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    if i64::from(index) < count { Ok(()) } else { broken(Rule::V05, place, index, Allowed::Below(count)) }
}

/// Refuses what is not 0 in a place that is not used.
pub(super) fn zero(place: Place, value: u32) -> Checked {
    if value == 0 { Ok(()) } else { broken(Rule::V02, place, value, Allowed::Exactly(0)) }
}
