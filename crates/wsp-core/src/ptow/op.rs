//! The table of instructions.
//!
//! [`Op`] and [`OpInfo`] come from one macro: whoever matches on [`Op`] without a wildcard does not compile when an
//! instruction is added, and encoder, verifier, text form, reference page and generators of test programs read
//! [`OpInfo`].

/// What a 16- or 32-bit operand of an instruction is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Operand {
    /// Zero.
    None,
    /// A row of the table of axes.
    Axis,
    /// A row of the table of kernels.
    Kernel,
    /// A row of the table of tensors.
    Tensor,
    /// A label, below [`Counts::labels`](super::Counts::labels).
    Label,
    /// A descriptor generator, below [`Counts::generators`](super::Counts::generators).
    Generator,
    /// The first word of an expression over loop variables.
    Expr,
    /// As [`Operand::Expr`], or all ones for none.
    OptExpr,
    /// The first word of an expression over [`XOp::XAxis`](super::XOp::XAxis), for schedules.
    Key,
    /// As [`Operand::Key`], or all ones for none.
    OptKey,
    /// Where a body begins: an instruction further on.
    Body,
    /// As [`Operand::Body`], or 0 for none.
    OptBody,
    /// A 32-bit integer, with sign.
    Imm,
    /// A number without sign.
    Count,
    /// A launch-time value, below [`Counts::values`](super::Counts::values).
    Value,
    /// A launch-time table, below [`Counts::tables`](super::Counts::tables).
    Table,
    /// A computed slot, below [`Counts::slots`](super::Counts::slots).
    Slot,
    /// An enclosing loop, 0 for the outermost.
    Depth,
    /// A [`PolicyType`](super::PolicyType).
    Policy,
    /// Of `TASK`: how many parameters (bits 0-7), accesses (8-15) and `AFTER`s (16-23) follow.
    TaskCounts,
    /// A channel, below [`Counts::channels`](super::Counts::channels).
    Channel,
}

/// What extension words follow an instruction. Their number is in its `flags`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Ext {
    /// None.
    None,
    /// None, or one with these operands.
    Optional(Operand, Operand),
    /// Exactly one with these operands.
    One(Operand, Operand),
    /// As many as `operand1` says, with these operands each.
    Counted(Operand, Operand),
    /// One per dimension; see [`DimKind`].
    Dims,
    /// As the policy says; see [`PolicyType`](super::PolicyType).
    Policy,
}

/// What kind of thing an instruction is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Group {
    /// Control.
    Control,
    /// A statement of a body.
    Statement,
    /// A task's argument: stands behind its `TASK` only.
    Argument,
    /// Fills the table of axes: stands before all statements only.
    Axis,
    /// Holds for the rest of the body in which it stands.
    Attribute,
    /// Communicating processes.
    Csp,
    /// A word that extends the instruction before it.
    Extension,
}

/// A row of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpInfo {
    /// The instruction.
    pub op: Op,
    /// Its name in text.
    pub mnemonic: &'static str,
    /// What it does.
    pub meaning: &'static str,
    /// What kind of thing it is.
    pub group: Group,
    /// Its 16-bit operand.
    pub operand1: Operand,
    /// Its 32-bit operand.
    pub operand2: Operand,
    /// Its extension words.
    pub ext: Ext,
}

macro_rules! ops {
    ($($(#[doc = $doc:literal])* $name:ident $mnemonic:literal = $code:literal,
        $group:ident ($one:ident, $two:ident) $ext:expr;)*) => {
        /// An instruction.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[repr(u8)]
        pub enum Op {
            $($(#[doc = $doc])* $name = $code,)*
        }

        /// Every instruction, by code.
        pub const OPS: &[OpInfo] = &[$(OpInfo {
            op: Op::$name,
            mnemonic: $mnemonic,
            meaning: concat!($($doc),*),
            group: Group::$group,
            operand1: Operand::$one,
            operand2: Operand::$two,
            ext: $ext,
        },)*];

        /// By code, so that a word is decoded without a search.
        const CODES: &[Option<Op>; 256] = &{
            let mut codes = [None; 256];
            $(codes[$code as usize] = Some(Op::$name);)*
            codes
        };

        impl Op {
            /// The instruction with this code.
            #[inline]
            pub const fn from_code(code: u8) -> Option<Op> {
                CODES[code as usize]
            }
        }
    };
}

ops! {
    /// Ends the program; the last word of the outermost body.
    Halt "HALT" = 0x00, Control (None, None) Ext::None;
    /// Does nothing.
    Nop "NOP" = 0x01, Control (None, None) Ext::None;
    /// Ends a body.
    End "END" = 0x02, Control (None, None) Ext::None;

    /// Runs the body for every index of an axis; its tasks are ordered by their data only. The extension word names the row
    /// of a ragged axis; without it the row is the innermost enclosing loop variable.
    ParallelFor "PARALLEL_FOR" = 0x10, Statement (Axis, Body) Ext::Optional(Operand::None, Operand::Expr);
    /// As PARALLEL_FOR, but the tasks of an iteration start after all tasks of the one before.
    ForEach "FOR_EACH" = 0x11, Statement (Axis, Body) Ext::Optional(Operand::None, Operand::Expr);
    /// Runs the body for every column of one row of a sparse axis. The extension word names the row; without it the row is
    /// the innermost enclosing loop variable.
    Select "SELECT" = 0x12, Statement (Axis, Body) Ext::Optional(Operand::None, Operand::Expr);
    /// Runs the first body when the expression is not 0, else the body of the extension word, if any.
    Cond "COND" = 0x13, Statement (Expr, Body) Ext::One(Operand::None, Operand::OptBody);
    /// Runs every body; their tasks are ordered by their data only.
    Combine "COMBINE" = 0x14, Statement (Count, None) Ext::Counted(Operand::None, Operand::Body);
    /// Runs every body; the tasks of each start after all tasks of those before.
    Sequential "SEQUENTIAL" = 0x15, Statement (Count, None) Ext::Counted(Operand::None, Operand::Body);
    /// Runs the body as long as the expression is not 0, rounds in order as with FOR_EACH. The extension word gives the most
    /// rounds; more are a fault.
    While "WHILE" = 0x16, Statement (Expr, Body) Ext::One(Operand::None, Operand::OptExpr);
    /// Runs the body once with one more loop variable, whose value is the expression.
    Let "LET" = 0x17, Statement (Expr, Body) Ext::None;
    /// Forgets the tasks of so many labels from this one on.
    Reset "RESET" = 0x18, Statement (Label, Count) Ext::None;

    /// Generates a task: its parameters, accesses and AFTERs follow. The extension word is the label that then names it.
    Task "TASK" = 0x20, Statement (Kernel, TaskCounts) Ext::Optional(Operand::Label, Operand::None);
    /// A parameter that never changes.
    ParamConst "PARAM_CONST" = 0x21, Argument (None, Imm) Ext::None;
    /// A parameter that is the variable of an enclosing loop.
    ParamLoopvar "PARAM_LOOPVAR" = 0x22, Argument (Depth, None) Ext::None;
    /// A region that is read, one extension word per leading dimension; further dimensions are whole.
    IoInput "IO_INPUT" = 0x23, Argument (Tensor, None) Ext::Dims;
    /// A region that is written.
    IoOutput "IO_OUTPUT" = 0x24, Argument (Tensor, None) Ext::Dims;
    /// A region that is read and written.
    IoInout "IO_INOUT" = 0x25, Argument (Tensor, None) Ext::Dims;
    /// A parameter that is an expression.
    ParamExpr "PARAM_EXPR" = 0x26, Argument (None, Expr) Ext::None;
    /// The task waits for the one that the label names.
    After "AFTER" = 0x27, Argument (Label, None) Ext::None;
    /// Runs a descriptor generator, which generates tasks.
    Plan "PLAN" = 0x28, Statement (Generator, None) Ext::None;

    /// Sets an axis to `[0, extent)`.
    AxisDense "AXIS_DENSE" = 0x30, Axis (Axis, Count) Ext::None;
    /// Sets an axis to `[0, value)`.
    AxisDenseDyn "AXIS_DENSE_DYN" = 0x31, Axis (Axis, Value) Ext::None;
    /// Sets an axis to `[0, lengths[row])`; the extension word names the number of rows, as a launch-time value.
    AxisRagged "AXIS_RAGGED" = 0x32, Axis (Axis, Table) Ext::Optional(Operand::None, Operand::Value);
    /// Sets an axis to the entries of a row: the table of row pointers, and in the extension word that of columns.
    AxisSparse "AXIS_SPARSE" = 0x33, Axis (Axis, Table) Ext::One(Operand::None, Operand::Table);

    /// Which AICPU takes a task, for the rest of this body.
    DispatchFilter "DISPATCH_FILTER" = 0x40, Attribute (Policy, None) Ext::Policy;
    /// The stream of a task: the key modulo so many streams, at least 1 and at most 65536; without a key the task's ordinal.
    StreamBy "STREAM_BY" = 0x41, Attribute (None, Count) Ext::One(Operand::None, Operand::OptKey);
    /// The priority of a task.
    Priority "PRIORITY" = 0x42, Attribute (None, Key) Ext::None;

    /// Gives a channel its depth, the tokens that it holds, from 0 to 4294967295; without one it is 0. Channels hold no data:
    /// token n stands for slot n modulo the depth.
    Channel "CHANNEL" = 0x50, Csp (Channel, Expr) Ext::None;
    /// Runs every body as a process, with channels that are empty and open. Processes take turns, each until it has sent a
    /// token, has to wait, or ends.
    Process "PROCESS" = 0x51, Csp (Count, None) Ext::Counted(Operand::None, Operand::Body);
    /// Waits for a free slot, and runs the body with it as one more loop variable; then the token is in the channel, and with a
    /// depth of 0 the process waits until it is taken.
    Send "SEND" = 0x52, Csp (Channel, Body) Ext::None;
    /// Takes a token, or waits for it, and runs the body with its slot as one more loop variable; then the slot is free. Of a
    /// closed channel without tokens it is a fault.
    Recv "RECV" = 0x53, Csp (Channel, Body) Ext::None;
    /// Closes a channel: to send to it is a fault from now on.
    Close "CLOSE" = 0x54, Csp (Channel, None) Ext::None;
    /// As RECV, of the first of several channels that has a token; extension words pair channels and bodies.
    SelectCh "SELECT_CH" = 0x55, Csp (Count, None) Ext::Counted(Operand::Channel, Operand::Body);
    /// As SELECT_CH, again and again until all of the channels are closed and empty.
    SelectAll "SELECT_ALL" = 0x56, Csp (Count, None) Ext::Counted(Operand::Channel, Operand::Body);

    /// Further operands of the instruction before.
    ExtWord "EXT" = 0x7F, Extension (None, None) Ext::None;
}

impl Op {
    /// Its code.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// Whether its body has one more variable.
    pub const fn binds(self) -> bool {
        matches!(self, Op::ParallelFor | Op::ForEach | Op::Select | Op::While | Op::Let) || self.transfers()
    }

    /// Whether it sends or takes tokens, and so may wait for other processes.
    pub const fn transfers(self) -> bool {
        matches!(self, Op::Send | Op::Recv | Op::SelectCh | Op::SelectAll)
    }

    /// Its row of the table.
    pub fn info(self) -> &'static OpInfo {
        let mut found = &OPS[0];
        for row in OPS {
            if row.op.code() == self.code() {
                found = row;
            }
        }
        found
    }
}

/// What bounds a dimension of a region: bits 0-3 of `flags` of its extension word.
///
/// `operand1` is the expression of the first index. `operand2` belongs to the kind; with bit 4 of `flags`
/// ([`DIM_IMMEDIATE`]) it is an integer with sign, else an expression.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum DimKind {
    /// All of it; both operands are 0.
    Whole = 0,
    /// One index; `operand2` is 0.
    Index = 1,
    /// Up to `operand2`, exclusive.
    Range = 2,
    /// `operand2` indices.
    Sized = 3,
}

/// Bit of `flags` of a dimension's word: `operand2` is an integer.
pub const DIM_IMMEDIATE: u8 = 0x10;

impl DimKind {
    /// The kind of a dimension's word; none when `flags` has other bits set.
    #[inline]
    pub const fn from_flags(flags: u8) -> Option<(DimKind, bool)> {
        let kind = match flags & 0x0F {
            0 => DimKind::Whole,
            1 => DimKind::Index,
            2 => DimKind::Range,
            3 => DimKind::Sized,
            _ => return None,
        };
        let immediate = flags & DIM_IMMEDIATE != 0;
        let pairs = matches!(kind, DimKind::Range | DimKind::Sized);
        if flags & 0xE0 != 0 || (immediate && !pairs) { None } else { Some((kind, immediate)) }
    }
}
