//! Ids, element types, regions, scheduling policies and limits shared by every PTO-WSP crate.
//!
//! **Invariant:** builds without the standard library and without allocation: whatever lives here can run on a device.
//!
//! ```
//! use wsp_core::{DType, Region, TensorId};
//! let row = Region::new(TensorId(0), &[2, 0], &[3, 64]).unwrap();
//! let col = Region::new(TensorId(0), &[0, 8], &[9, 9]).unwrap();
//! assert!(row.overlaps(&col));
//! assert_eq!(DType::Bf16.size(), 2);
//! ```
#![no_std]
#![forbid(unsafe_code)]

mod channel;
pub mod domain;
mod dtype;
mod exec;
pub mod fp8;
pub mod handshake;
mod id;
pub mod int;
pub mod limits;
pub mod local_queue;
pub mod pod;
pub mod policy;
mod poll;
pub mod ptow;
mod region;
mod started;
pub mod tg;
mod why;
pub mod words;

pub use channel::ChannelFigures;
pub use dtype::DType;
pub use exec::ExecDomain;
pub use id::{
    AxisId, CacheId, ChannelId, EventId, FuncId, GraphId, KernelId, LabelId, LocalId, ParamId, ScheduleId,
    SlotId, SpaceId, StreamId, StructId, TableId, TaskId, TensorId, TierSetId, VarId, WorkloadId,
};
pub use policy::ExecPool;
pub use poll::Poll;
pub use region::{AccessKind, MAX_RANK, Region};
pub use started::{BlockStart, Started};
pub use why::WhyLate;
