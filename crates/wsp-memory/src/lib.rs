//! Memory that runs share: buffers, ranges and typed views of them, what tasks store to them, and the claims of runs on views.
//!
//! Three types hold memory: a [`Buffer`] has what keeps its bytes, and in a run that records it the bytes that tasks [`Stored`];
//! a [`ByteRange`] is bytes of a buffer, which it keeps; [`Bytes`] are those of a task, and keep nothing. A [`View`] is a range
//! with a type, extents and strides; an [`Array`] is one that is a value; an array of a kernel is bytes with a layout.
//!
//! **The argument for safety.** Every block of `unsafe` code that reads or writes bytes of a buffer rests on three facts:
//!
//! 1. *The bytes are there.* [`Buffer::zeros`] and [`Buffer::pages`] allocate them; [`Buffer::new`], the one constructor over
//!    memory of another owner, is `unsafe` and says what its caller promises. A range or view lies in its buffer, which it keeps;
//!    that is checked when it is made. A task of a run has [`Bytes`], which keep neither bytes nor record: what makes them is
//!    `unsafe`, and its caller, the run, keeps the range that they are of.
//! 2. *Runs do not meet.* Before a run touches a view that others can have too, it has a [`Claim`] on it, until its last
//!    access: of two runs that go on at the same time neither writes a byte that the other one uses. A view whose buffer only
//!    the run has needs none.
//! 3. *Accesses of one run do not meet.* Of two accesses to one byte, one of them a plain write, the first has ended before
//!    the second begins. Tasks access only the regions that they state, or that are found by looking at their code, and the run
//!    orders tasks whose regions conflict. [`load_units`] and [`store_units`] are atomic unit by unit, and may meet each other.
//!
//! What reads and writes is `unsafe`, and requires 2 and 3 of its caller, which is a run. Safe functions read and write elements
//! of an [`Array`] only: no run writes memory while an array has it, which `array.rs` argues.
#![allow(
    unsafe_code,
    reason = "the one place where memory that several threads use is read and written by address"
)]

mod access;
mod address;
mod array;
mod bits;
mod buffer;
mod claim;
mod form;
mod overlap;
mod process;
mod range;
mod record;
mod stored;
mod view;

pub use access::{Unusable, load_units, store_units};
pub use address::{Address, Bytes};
pub use array::{Array, ArrayError, Element};
pub use buffer::{Buffer, Owner, Space, ViewAccess};
pub use claim::{Claim, Claimed, Conflict, Use, Uses, is_within_task, within_task};
pub use form::{Form, Reader, Unreadable, Writer};
pub use overlap::Sharing;
pub use process::{PerProcess, forked, process};
pub use range::ByteRange;
pub use stored::{EarlyLoads, Missing, Stored, StoredState, Unstored};
pub use view::{View, ViewFault};
