//! Tile functions on machines with explicit memories, and units that run side by side.
//!
//! A kernel of the IR says `TADD(c, a, b)` on tiles of roles. A core wants buffers in named memories with addresses, and an
//! order between its units. The steps:
//!
//! 1. [`specialise`]: helpers are inlined, known parameters folded, jumps made conditions, capacities made numbers.
//! 2. [`legalise`]: a [`TileProgram`]: instructions of units on buffers of the [`Memories`] of a target, with a transfer where
//!    an operand is elsewhere.
//! 3. [`split()`]: one program per kind of core, where a kernel needs several.
//! 4. [`place()`]: addresses by live ranges.
//! 5. [`order()`]: events and barriers, by the bytes that instructions touch.
//!
//! [`check()`] shows for all rounds of all loops that an ordered program has no race and uses its events right;
//! [`interp`] runs one over real memories and finds the same, and more, in that run.
//!
//! **Invariant:** knows no target. Backends bring their table and print the program.
#![forbid(unsafe_code)]

mod check;
mod codes;
mod display;
mod eval;
pub mod interp;
mod legalise;
mod memories;
mod order;
mod place;
mod program;
mod specialise;
mod split;
mod verify;

pub use check::check;
pub use legalise::{Legal, legalise, legalise_filled};
pub use memories::{Compute, Events, MAX_UNITS, Memories, Memory, MemoryId, Move, Side, Unit, UnitId};
pub use order::{Ordered, order};
pub use place::{PingPong, Placed, place};
pub use program::{
    Buffer, BufferId, Event, EventId, Extent, Head, Instruction, Loop, LoopId, Node, Op, Sync, Tile,
    TileProgram, Touch, Touched,
};
pub use specialise::{Known, fold, specialise};
pub use split::{Cores, Split, Step, Task, decided, read, split};

/// The codes of this crate.
pub const CODES: wsp_diag::Codes = &[codes::CODES];
