//! Graphs: the machine of [`wsp_core::tg::machine`] behind plain C, `include/wsp_tg.h`.
//!
//! A handle keeps an image and the words of a run's state, both in memory of the caller.

pub mod abi;
mod handle;
mod run;

pub use handle::GraphHandle;
pub use run::{
    wsp_tg_bytes, wsp_tg_complete, wsp_tg_gang, wsp_tg_iterations, wsp_tg_next, wsp_tg_node, wsp_tg_open,
    wsp_tg_resume, wsp_tg_state,
};

use self::abi::{GraphStatus, TgReport};
use crate::abi::Status;
use wsp_core::tg::image::ImageFault;
use wsp_core::tg::image_file::ImageReadError;
use wsp_core::tg::machine::StateFault;

/// A status, and what is wrong.
type Failure = (GraphStatus, TgReport);

/// A failure with nothing more to tell.
fn plain(status: GraphStatus) -> Failure {
    (status, TgReport::default())
}

/// A pointer that is none.
fn pointer(status: Status) -> Failure {
    plain(match status {
        Status::Null => GraphStatus::Null,
        Status::Alignment => GraphStatus::Alignment,
        _ => GraphStatus::Memory,
    })
}

fn memory(need: usize, have: usize) -> Failure {
    (GraphStatus::Memory, TgReport { found: have as i64, limit: need as i64, ..TgReport::default() })
}

fn unreadable(error: ImageReadError) -> Failure {
    let report = |kind, found, limit| (GraphStatus::Read, TgReport { kind, at: 0, found, limit });
    match error {
        ImageReadError::Misaligned => plain(GraphStatus::Alignment),
        ImageReadError::Magic(found) => report(1, i64::from(found), 0),
        ImageReadError::Version(found) => report(2, i64::from(found), 0),
        ImageReadError::Size { need, have } => report(3, have as i64, need as i64),
        ImageReadError::Fingerprint { stored, computed } => report(4, i64::from(stored), i64::from(computed)),
        ImageReadError::Image(fault) => wrong(fault),
    }
}

fn wrong(fault: ImageFault) -> Failure {
    let (kind, at) = match fault {
        ImageFault::TooLong => (1, 0),
        ImageFault::Words => (2, 0),
        ImageFault::Node(at) => (3, at),
        ImageFault::Edge(at) => (4, at),
        ImageFault::Need(at) => (5, at),
        ImageFault::Decision(at) => (6, at),
        ImageFault::Guard(at) => (7, at),
        ImageFault::Loop(at) => (8, at),
        ImageFault::Gang(at) => (9, at),
        ImageFault::Levels => (10, 0),
    };
    (GraphStatus::Image, TgReport { kind, at, ..TgReport::default() })
}

fn no_state(fault: StateFault) -> Failure {
    let (kind, at, found, limit) = match fault {
        StateFault::Length { expected, found } => (1, 0, found as i64, expected as i64),
        StateFault::Graph { expected, found } => (2, 0, i64::from(found), i64::from(expected)),
        StateFault::Count(at) => (3, at, 0, 0),
        StateFault::Open => (4, 0, 0, 0),
        StateFault::Guard(at) => (5, at, 0, 0),
        StateFault::Loop(at) => (6, at, 0, 0),
        StateFault::Gang(at) => (7, at, 0, 0),
    };
    (GraphStatus::State, TgReport { kind, at, found, limit })
}
