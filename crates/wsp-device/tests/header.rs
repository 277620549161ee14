//! The header says what the Rust records are: compilers for C and C++ agree on every size, offset and code.
// Files are what the compiler takes.
#![allow(clippy::disallowed_methods)]

mod common;

use core::mem::{offset_of, size_of};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use wsp_core::Region;
use wsp_core::ptow::{
    DispatchConfig, MAX_LOOP_DEPTH, MAX_THRESHOLDS, PartitionParams, ThresholdParams, Word, X_LAST,
};
use wsp_core::tg::image::NodeKind;
use wsp_device::abi::{
    PtowHost, PtowKey, PtowLaunch, PtowPolicy, PtowReport, PtowSchedule, PtowStats, PtowTable, PtowTask,
    PtowWaits, Status,
};
use wsp_device::graph::abi::{GraphStatus, StepKind, TgHost, TgReport, TgStep};

/// Asserts size and offsets of a record in C.
macro_rules! record {
    ($text:ident, $c:literal, $rust:ty, [$($field:ident),*]) => {
        writeln!($text, "CHECK(sizeof({}) == {});", $c, size_of::<$rust>()).expect("text grows");
        $(writeln!($text, "CHECK(offsetof({}, {}) == {});", $c, stringify!($field), offset_of!($rust, $field))
            .expect("text grows");)*
    };
}

fn checks() -> String {
    let mut text = String::from("#include \"wsp_ptow.h\"\n#include <stddef.h>\n");
    text.push_str("#ifdef __cplusplus\n#define CHECK(x) static_assert(x, #x)\n");
    text.push_str("#else\n#define CHECK(x) _Static_assert(x, #x)\n#endif\n");
    record!(text, "wsp_ptow_report", PtowReport, [kind, place, at, found, limit, ordinal]);
    record!(text, "wsp_ptow_table", PtowTable, [data, len]);
    record!(
        text,
        "wsp_ptow_launch",
        PtowLaunch,
        [values, num_values, tables, num_tables, extents, num_extents]
    );
    record!(
        text,
        "wsp_ptow_config",
        DispatchConfig,
        [num_aicpus, my_aicpu_id, policy_type, reserved, params]
    );
    record!(text, "wsp_ptow_threshold", ThresholdParams, [num_levels, metric, thresholds, policy_per_level]);
    record!(text, "wsp_ptow_partition", PartitionParams, [task_range_start, task_range_end]);
    record!(text, "wsp_ptow_region", Region, [tensor, lo, hi]);
    record!(
        text,
        "wsp_ptow_task",
        PtowTask,
        [
            ordinal,
            params,
            regions,
            modes,
            after,
            vars,
            indices,
            site,
            label,
            priority,
            stream,
            kernel,
            pool,
            num_params,
            num_regions,
            num_after,
            num_vars,
            num_indices
        ]
    );
    record!(text, "wsp_ptow_host", PtowHost, [user, task, ordered, slot, plan]);
    record!(text, "wsp_ptow_waits", PtowWaits, [kind, word]);
    record!(text, "wsp_ptow_stats", PtowStats, [tasks, steps, scopes, while_rounds, total_ordinals]);
    record!(text, "wsp_ptow_word", Word, [opcode, flags, operand1, operand2]);
    record!(text, "wsp_ptow_key", PtowKey, [words, len]);
    record!(text, "wsp_ptow_policy", PtowPolicy, [policy, depth, key]);
    record!(
        text,
        "wsp_ptow_schedule",
        PtowSchedule,
        [dispatch, ranges, num_ranges, metric, bounds, num_bounds, levels, stream_by, priority, streams]
    );
    writeln!(text, "CHECK(WSP_PTOW_LAST == {X_LAST});").expect("text grows");
    for (name, status) in [
        ("OK", Status::Ok),
        ("FINISHED", Status::Finished),
        ("YIELDED", Status::Yielded),
        ("WAITS", Status::Waits),
        ("STOPPED", Status::Stopped),
        ("NULL", Status::Null),
        ("ALIGNMENT", Status::Alignment),
        ("MEMORY", Status::Memory),
        ("READ", Status::Read),
        ("VERIFY", Status::Verify),
        ("REFUSED", Status::Refused),
        ("FAULT", Status::Fault),
        ("HANDLE", Status::Handle),
        ("MODE", Status::Mode),
    ] {
        writeln!(text, "CHECK(WSP_PTOW_{name} == {});", status as i32).expect("text grows");
    }
    writeln!(text, "CHECK(WSP_PTOW_MAX_RANK == {});", wsp_core::MAX_RANK).expect("text grows");
    writeln!(text, "CHECK(sizeof(((wsp_ptow_threshold *)0)->thresholds) == {});", 4 * MAX_THRESHOLDS)
        .expect("text grows");
    text
}

/// The same for `wsp_tg.h`.
fn graph_checks() -> String {
    let mut text = String::from("#include \"wsp_tg.h\"\n#include <stddef.h>\n");
    text.push_str("#ifdef __cplusplus\n#define CHECK(x) static_assert(x, #x)\n");
    text.push_str("#else\n#define CHECK(x) _Static_assert(x, #x)\n#endif\n");
    record!(text, "wsp_tg_step", TgStep, [kind, at, node_kind, item]);
    record!(text, "wsp_tg_report", TgReport, [kind, at, found, limit]);
    record!(text, "wsp_tg_host", TgHost, [user, eval]);
    let statuses = [
        ("OK", GraphStatus::Ok),
        ("NULL", GraphStatus::Null),
        ("ALIGNMENT", GraphStatus::Alignment),
        ("MEMORY", GraphStatus::Memory),
        ("READ", GraphStatus::Read),
        ("IMAGE", GraphStatus::Image),
        ("STATE", GraphStatus::State),
        ("FAULT", GraphStatus::Fault),
        ("HANDLE", GraphStatus::Handle),
        ("NODE", GraphStatus::Node),
    ];
    let steps = [
        ("RUN", StepKind::Run),
        ("GANG", StepKind::Gang),
        ("SIGNAL", StepKind::Signal),
        ("IDLE", StepKind::Idle),
        ("DONE", StepKind::Done),
    ];
    let kinds = [
        ("KERNEL", NodeKind::Kernel),
        ("COPY", NodeKind::Copy),
        ("FREE", NodeKind::Free),
        ("NOTIFY", NodeKind::Notify),
        ("WAIT_NOTIFY", NodeKind::WaitNotify),
        ("WAIT_EVENT", NodeKind::WaitEvent),
        ("CHECKPOINT", NodeKind::Checkpoint),
        ("SIGNAL_NODE", NodeKind::Signal),
    ];
    let codes = (statuses.iter().map(|(name, code)| (*name, *code as i32)))
        .chain(steps.iter().map(|(name, code)| (*name, *code as i32)))
        .chain(kinds.iter().map(|(name, code)| (*name, *code as i32)));
    for (name, code) in codes {
        writeln!(text, "CHECK(WSP_TG_{name} == {code});").expect("text grows");
    }
    text
}

/// Compiles the checks as a language.
fn accepts(language: &str, standard: &str) {
    let folder = common::folder("header");
    for (name, checks) in [("ptow", checks()), ("tg", graph_checks())] {
        let source = folder.join(format!("layout-{name}-{language}"));
        std::fs::write(&source, checks).expect("the file can be written");
        compile(language, standard, &source);
    }
}

fn compile(language: &str, standard: &str, source: &Path) {
    let mut command = Command::new(common::compiler());
    command.args([
        "-x",
        language,
        standard,
        "-Wall",
        "-Wextra",
        "-Werror",
        "-pedantic",
        "-fsyntax-only",
        "-I",
    ]);
    common::run(command.arg(common::include()).arg(source));
}

#[test]
fn cpp_agrees_on_every_record_and_code() {
    accepts("c++", "-std=c++11");
}

#[test]
fn c_agrees_on_every_record_and_code() {
    accepts("c", "-std=c11");
}

#[test]
fn the_counts_of_a_task_fit_into_their_bytes() {
    let most = wsp_core::limits::MAX_TASK_SCALARS.max(wsp_core::limits::MAX_TASK_TENSORS);
    assert!(most <= u32::from(u8::MAX) && MAX_LOOP_DEPTH <= usize::from(u8::MAX));
}
