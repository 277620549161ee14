//! Memory that runs share: buffers, typed views of them, and the claims of runs on views.
//!
//! **The argument for safety.** Every block of `unsafe` code that reads or writes elements of a [`View`] rests on three facts:
//!
//! 1. *The bytes are there.* [`Buffer::zeros`] allocates them; [`Buffer::new`], the one constructor over memory of somebody
//!    else, is `unsafe` and says what its caller promises. A view lies in its buffer, which it keeps; that is checked when it is
//!    made. A task of a run has [`Bytes`], which keep nothing: [`Bytes::new`] is `unsafe`, and its caller, the run, keeps what they lie in.
//! 2. *Runs do not meet.* Before a run touches a view that others can have too, it has a [`Claim`] on it, until its last
//!    access: of two runs that go on at the same time neither writes a byte that the other one uses. A view whose buffer only
//!    the run has needs none.
//! 3. *Accesses of one run do not meet.* Of two accesses to one byte, one of them a plain write, the first has ended before
//!    the second begins. Tasks access only the boxes that they state, or that are found by looking at their code, and the run
//!    orders tasks whose boxes conflict. [`load_units`] and [`store_units`] are atomic unit by unit, and may meet each other.
//!
//! What reads and writes is `unsafe`, and requires 2 and 3 of its caller, which is a run. No safe function reads or writes an
//! element.
#![allow(
    unsafe_code,
    reason = "the one place where memory that several threads use is read and written by address"
)]

mod access;
mod address;
mod buffer;
mod claim;
mod overlap;
mod process;
mod view;

pub use access::{Unusable, load_units, store_units};
pub use address::{Address, Bytes};
pub use buffer::{Buffer, Owner, Space, ViewAccess};
pub use claim::{Claim, Claimed, Conflict, Use, Uses, is_within_task, within_task};
pub use overlap::Sharing;
pub use process::{PerProcess, forked, process};
pub use view::{View, ViewFault};
