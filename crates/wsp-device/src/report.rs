//! Errors as numbers.

use crate::abi::{PtowReport, Status};
use wsp_core::ptow::bounds::BoundsHalt;
use wsp_core::ptow::dispatch::ConfigFault;
use wsp_core::ptow::eval::{ExprFaultKind, Halt};
use wsp_core::ptow::interp::{Fault, FaultKind, Refusal};
use wsp_core::ptow::schedule::ScheduleFault;
use wsp_core::ptow::{Allowed, Place, ReadError, VerifyError};

/// A status, and what is wrong.
pub(crate) type Failure = (Status, PtowReport);

/// A failure with nothing more to tell.
pub(crate) fn plain(status: Status) -> Failure {
    (status, PtowReport::default())
}

/// Memory that is too small.
pub(crate) fn memory(need: u64, have: u64) -> Failure {
    (Status::Memory, PtowReport { found: number(have), limit: number(need), ..PtowReport::default() })
}

pub(crate) fn read(error: &ReadError) -> Failure {
    let (kind, found, limit) = match *error {
        ReadError::Misaligned { remainder } => (1, i64::from(remainder), 0),
        ReadError::Magic { found } => (2, i64::from(found), i64::from(wsp_core::ptow::MAGIC)),
        ReadError::Version { found } => (3, i64::from(found), i64::from(wsp_core::ptow::VERSION)),
        ReadError::TooMany { count, most, .. } => (4, i64::from(count), i64::from(most)),
        ReadError::TooShort { need, have, .. } => (5, number(have as u64), number(need as u64)),
        ReadError::Trailing { extra, .. } => (6, number(extra as u64), 0),
    };
    let at = error.offset() as u64;
    (Status::Read, PtowReport { kind, at, found, limit, ..PtowReport::default() })
}

pub(crate) fn verify(error: &VerifyError) -> Failure {
    let (place, at) = match error.place {
        Place::Program => (0, 0),
        Place::Word(at) => (1, at),
        Place::Expr(at) => (2, at),
        Place::Axis(at) => (3, at),
        Place::Kernel(at) => (4, at),
        Place::Tensor(at) => (5, at),
        Place::Name(at) => (6, at),
    };
    let limit = match error.allowed {
        Allowed::Below(limit)
        | Allowed::AtMost(limit)
        | Allowed::AtLeast(limit)
        | Allowed::Exactly(limit) => limit,
        Allowed::Named => 0,
    };
    let report = PtowReport {
        kind: error.rule as u32,
        place,
        at: u64::from(at),
        found: error.found,
        limit,
        ..PtowReport::default()
    };
    (Status::Verify, report)
}

pub(crate) fn refusal(refusal: &Refusal) -> Failure {
    let (kind, at, found, limit) = match *refusal {
        Refusal::Workspace { need, have } => return memory(need, have),
        Refusal::Values { need, have } => (2, 0, number(have), i64::from(need)),
        Refusal::Tables { need, have } => (3, 0, number(have), i64::from(need)),
        Refusal::Extents { need, have } => (4, 0, number(have), number(need)),
        Refusal::Config(ref fault) => return (Status::Refused, config(fault)),
    };
    (Status::Refused, PtowReport { kind, at, found, limit, ..PtowReport::default() })
}

fn config(fault: &ConfigFault) -> PtowReport {
    let (kind, at, found, limit) = match *fault {
        ConfigFault::Aicpus(n) => (10, 0, i64::from(n), i64::from(wsp_core::ptow::MAX_AICPUS)),
        ConfigFault::Id { id, n } => (11, 0, i64::from(id), i64::from(n)),
        ConfigFault::Policy(policy) => (12, 0, i64::from(policy), 3),
        ConfigFault::Reserved { byte, value } => (13, byte as u64, i64::from(value), 0),
        ConfigFault::Depth(depth) => (14, 0, i64::from(depth), wsp_core::ptow::MAX_LOOP_DEPTH as i64),
        ConfigFault::Levels(levels) => (15, 0, i64::from(levels), 8),
        ConfigFault::Thresholds { index, before, bound } => {
            (16, index as u64, i64::from(bound), i64::from(before))
        }
        ConfigFault::LevelPolicy { level, policy } => (17, level as u64, i64::from(policy), 0),
        ConfigFault::Metric { metric, word } => (18, u64::from(word), i64::from(metric), 0),
        ConfigFault::Range { start, end } => (19, 0, i64::from(end), i64::from(start)),
        ConfigFault::Tiling { aicpu, expected, start } => {
            (20, u64::from(aicpu), number(start), number(expected))
        }
        ConfigFault::Total { end, total } => (21, 0, number(end), number(total)),
    };
    PtowReport { kind, at, found, limit, ..PtowReport::default() }
}

pub(crate) fn schedule(fault: &ScheduleFault) -> Failure {
    let (kind, at, found, limit) = match *fault {
        ScheduleFault::Memory { need, have } => return memory(need as u64, have as u64),
        ScheduleFault::Aicpus { n, least } => {
            let most = i64::from(wsp_core::ptow::MAX_AICPUS);
            (10, 0, i64::from(n), if n == 0 || least as i64 > i64::from(n) { least as i64 } else { most })
        }
        ScheduleFault::Id { id, n } => (11, 0, i64::from(id), i64::from(n)),
        ScheduleFault::Policy { level, code } => (30, level, i64::from(code), 0),
        ScheduleFault::Depth { level, depth } => {
            (31, level, i64::from(depth), wsp_core::ptow::MAX_LOOP_DEPTH as i64)
        }
        ScheduleFault::Key { at, words } => (32, at, number(words as u64), 0),
        ScheduleFault::Bounds(bounds) => {
            (33, 0, number(bounds as u64), wsp_core::ptow::MAX_THRESHOLDS as i64)
        }
        ScheduleFault::Range { index, expected, range } => {
            let start_is_wrong = range.task_range_start != expected;
            let found = if start_is_wrong { range.task_range_start } else { range.task_range_end };
            (34, index, i64::from(found), i64::from(expected))
        }
        ScheduleFault::Ranges(ranges) => (35, 0, number(ranges as u64), 0),
        ScheduleFault::Scheduled { word } => (36, word, 0, 0),
    };
    (Status::Refused, PtowReport { kind, at: at as u64, found, limit, ..PtowReport::default() })
}

pub(crate) fn fault(fault: &Fault) -> Failure {
    let (kind, found, limit) = match fault.kind {
        FaultKind::Expr(fault) | FaultKind::Bounds(BoundsHalt::Expr(Halt::Fault(fault))) => {
            (1, i64::from(fault.word), expression(fault.kind))
        }
        FaultKind::Outside { lo, hi, extent, .. } => (2, if lo < 0 { lo } else { hi }, i64::from(extent)),
        FaultKind::Bounds(halt) => bounds(halt),
        FaultKind::Rounds { max } => (4, 0, number(max)),
        FaultKind::Steps => (5, 0, number(wsp_core::limits::MAX_GENERATOR_STEPS)),
        FaultKind::Priority { value } => (6, value, 0),
        FaultKind::PastPartition { end } => (7, 0, number(end)),
        FaultKind::Generator { generator } => (8, i64::from(generator), 0),
        FaultKind::Structure => (9, 0, 0),
        FaultKind::Depth { value } => (10, value, i64::from(u32::MAX)),
        FaultKind::Deadlock => (11, 0, 0),
        FaultKind::Closed { closed } => (12, i64::from(closed), 0),
    };
    let (at, ordinal) = (u64::from(fault.word), fault.ordinal);
    (Status::Fault, PtowReport { kind, place: 1, at, found, limit, ordinal })
}

/// Why a loop is not entered, as kind, what was found and a number of why.
fn bounds(halt: BoundsHalt) -> (u32, i64, i64) {
    match halt {
        BoundsHalt::Step(step) => (3, step, 1),
        BoundsHalt::Row { row, .. } => (3, row, 2),
        BoundsHalt::Pointers { row, .. } => (3, row, 3),
        BoundsHalt::Iterations(trip) => (3, number(trip), 4),
        BoundsHalt::Expr(_) | BoundsHalt::Malformed(_) => (9, 0, 0),
    }
}

/// What is wrong with an expression, by a number.
fn expression(kind: ExprFaultKind) -> i64 {
    match kind {
        ExprFaultKind::Overflow { .. } | ExprFaultKind::NegOverflow => 1,
        ExprFaultKind::DivisionByZero { .. } => 2,
        ExprFaultKind::TableIndex { .. } => 3,
        ExprFaultKind::Malformed => 0,
    }
}

fn number(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
