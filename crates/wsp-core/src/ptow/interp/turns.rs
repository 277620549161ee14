//! Whose turn it is among processes, what the others keep, and the tokens of channels: records in the workspace.

use super::super::bounds::Bounds;
use super::super::{MAX_PROCESS_DEPTH, Op, Program};
use super::frame::Attrs;
use super::machine::Interpreter;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// State of a process that waits for no token of its own to be taken.
pub(super) const NO_TOKEN: u32 = u32::MAX;
/// State of a process that has ended. No word of a program has this index.
pub(super) const ENDED: u32 = u32::MAX - 1;

/// The tokens of a channel, since its processes began.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Channel {
    /// Tokens that it holds at most.
    depth: u64,
    /// Sends that have begun.
    begun: u64,
    /// Tokens that can be taken: those before the oldest send under way.
    sent: u64,
    /// Receives that have begun.
    taken: u64,
    /// Slots that were freed: those before the oldest receive under way.
    freed: u64,
    /// Sends and receives under way; one may stand in the body of another.
    sending: u32,
    receiving: u32,
    /// The `CLOSE` that has closed it, plus 1; 0 while it is open.
    closed: u32,
    reserved: u32,
}

impl Channel {
    /// An open one without tokens.
    pub(super) fn empty(depth: u64) -> Channel {
        Channel { depth, ..Channel::default() }
    }

    /// Tokens that it holds at most; with 0 a send waits until its token is taken.
    pub fn depth(&self) -> u64 {
        self.depth
    }

    /// Whether all slots that are taken are those of a send under way, and of sends after it.
    pub fn is_sending(&self) -> bool {
        self.sending > 0 && self.freed == self.sent
    }

    /// Slots that are taken.
    pub fn held(&self) -> u64 {
        self.begun.wrapping_sub(self.freed)
    }

    /// The `CLOSE` that has closed it.
    pub fn closed(&self) -> Option<u32> {
        self.closed.checked_sub(1)
    }

    /// The slot of one more token; none while there is none. A token that waits to be taken has a slot, too.
    pub(super) fn begin_send(&mut self) -> Option<u64> {
        let slots = self.depth.max(1);
        if self.held() >= slots {
            return None;
        }
        let slot = self.begun.checked_rem(slots);
        self.begun = self.begun.wrapping_add(1);
        self.sending = self.sending.wrapping_add(1);
        slot
    }

    pub(super) fn end_send(&mut self) {
        self.sending = self.sending.wrapping_sub(1);
        if self.sending == 0 {
            self.sent = self.begun;
        }
    }

    /// The slot of the next token; none while there is none.
    pub(super) fn begin_receive(&mut self) -> Option<u64> {
        if self.is_taken() {
            return None;
        }
        let slot = self.taken.checked_rem(self.depth.max(1));
        self.taken = self.taken.wrapping_add(1);
        self.receiving = self.receiving.wrapping_add(1);
        slot
    }

    pub(super) fn end_receive(&mut self) {
        self.receiving = self.receiving.wrapping_sub(1);
        if self.receiving == 0 {
            self.freed = self.taken;
        }
    }

    /// Whether every token that was sent is taken.
    pub(super) fn is_taken(&self) -> bool {
        self.taken == self.sent
    }

    pub(super) fn close(&mut self, word: u32) {
        self.closed = word.wrapping_add(1);
    }
}

/// A body of a process that does not have its turn. Of a body without a variable, `value` and `position` are 0.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct Suspended {
    pub(super) bounds: Bounds,
    pub(super) at: u64,
    pub(super) trip: u64,
    pub(super) value: i64,
    pub(super) position: i64,
    pub(super) word: u32,
    pub(super) begin: u32,
    pub(super) attrs: Attrs,
    pub(super) reserved: u32,
}

/// A process that does not have its turn.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(super) struct Process {
    pub(super) frames: [Suspended; MAX_PROCESS_DEPTH],
    /// Bodies under way.
    pub(super) height: u32,
    /// Where it goes on.
    pub(super) pc: u32,
    pub(super) attrs: Attrs,
    /// [`ENDED`], [`NO_TOKEN`], or the `SEND` whose token it waits for to be taken.
    pub(super) state: u32,
}

impl Process {
    /// Begins it.
    pub(super) fn begin(&mut self, pc: u32, attrs: Attrs) {
        (self.height, self.pc, self.attrs, self.state) = (0, pc, attrs, NO_TOKEN);
    }

    pub(super) fn bodies(&self) -> &[Suspended] {
        self.frames.get(..self.height as usize).unwrap_or(&[])
    }
}

/// Whose turn it is.
#[derive(Debug)]
pub(super) struct Turns<'a> {
    pub(super) channels: &'a mut [Channel],
    pub(super) processes: &'a mut [Process],
    /// The `PROCESS` under way, and how many processes it has.
    pub(super) word: u32,
    count: u32,
    /// The process that has its turn.
    pub(super) current: u32,
    /// Bodies around the processes.
    pub(super) around: usize,
    /// Processes that have not ended.
    pub(super) live: u32,
    /// Turns in a row that ended where they began.
    pub(super) stuck: u32,
}

impl<'a> Turns<'a> {
    /// Of a program without processes under way.
    pub(super) fn new(channels: &'a mut [Channel], processes: &'a mut [Process]) -> Turns<'a> {
        channels.fill(Channel::default());
        Turns { channels, processes, word: 0, count: 0, current: 0, around: 0, live: 0, stuck: 0 }
    }

    /// The processes of an instruction begin, so many; the first has its turn.
    pub(super) fn enter(&mut self, word: u32, count: u32, around: usize) {
        (self.word, self.count, self.around) = (word, count, around);
        (self.current, self.live, self.stuck) = (0, count, 0);
    }

    /// The process that has its turn could not go on; whether none can.
    pub(super) fn is_stuck(&mut self) -> bool {
        self.stuck = self.stuck.wrapping_add(1);
        self.stuck >= self.live
    }

    /// The next process that has not ended is the current one.
    pub(super) fn next(&mut self) {
        for _ in 0..self.count {
            let next = self.current.wrapping_add(1);
            self.current = if next < self.count { next } else { 0 };
            let state = self.processes.get(self.current as usize).map(|process| process.state);
            if state != Some(ENDED) {
                return;
            }
        }
    }

    fn under_way(&self) -> &[Process] {
        self.processes.get(..self.count as usize).unwrap_or(&[])
    }
}

/// What a process waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Waits {
    /// For nothing: it has ended.
    Ended,
    /// To send, or for a token: the instruction.
    For(u32),
    /// That the token of a `SEND` of depth 0 is taken.
    Taken(u32),
}

impl<'a> Interpreter<'a> {
    /// What each process waits for, by number, and the indices of the loops around it within the process. After
    /// [`FaultKind::Deadlock`](super::FaultKind::Deadlock).
    pub fn waiting(&self) -> impl Iterator<Item = (Waits, impl Iterator<Item = i64> + '_)> + '_ {
        self.turns.under_way().iter().map(|process| {
            let waits = match process.state {
                ENDED => Waits::Ended,
                NO_TOKEN => Waits::For(process.pc),
                send => Waits::Taken(send),
            };
            (
                waits,
                process
                    .bodies()
                    .iter()
                    .filter(|body| is_loop(&self.program, body.word))
                    .map(|body| body.value),
            )
        })
    }

    /// The `PROCESS` that is under way, or was last.
    pub fn processes(&self) -> u32 {
        self.turns.word
    }

    /// The channels of the processes under way.
    pub fn channels(&self) -> &[Channel] {
        self.turns.channels
    }
}

fn is_loop(program: &Program<'_>, word: u32) -> bool {
    let op = program.words.get(word as usize).and_then(|word| Op::from_code(word.opcode));
    matches!(op, Some(Op::ParallelFor | Op::ForEach | Op::Select))
}
