//! Schedules.

use super::place::At;
use crate::wire::{Decoded, Fields, Json, items, unknown_word};
use wsp_ir::workload::{
    BatchDeps, CoreGroups, Deps, Directive, DirectiveKind, Dispatch, DispatchThreshold, ExecPool, Gate,
    GateScope, PoolSizes, Priority, Ready, Schedule, SpatialMap, Start, StreamBy, Streams, ThresholdPolicy,
    Timing, Trace, Window, WindowMode,
};

/// The forms of a directive.
pub(super) const FORMS: &[&str] = &[
    "dispatch",
    "dispatch_threshold",
    "streams",
    "stream_by",
    "deps",
    "window",
    "pools",
    "ready",
    "start",
    "trace",
    "gate",
    "batch_deps",
    "core_groups",
    "priority",
    "timing",
    "spatial_map",
];

impl At<'_> {
    /// A schedule.
    pub(super) fn schedule(self, json: &Json<'_>) -> Decoded<Schedule> {
        self.form(json, |fields, at| {
            let name = fields.optional("name", Json::name)?.unwrap_or_default();
            let directives = fields.short_list("directives", |json| at.directive(json))?;
            Ok(Schedule { name, directives, span: at.span })
        })
    }

    pub(super) fn directive(self, json: &Json<'_>) -> Decoded<Directive> {
        self.form(json, |fields, at| {
            let kind = match fields.kind()? {
                "dispatch" => fields.required("policy", |json| at.policy(json))?.into(),
                "dispatch_threshold" => DispatchThreshold {
                    metric: fields.required("metric", |json| at.expr(json))?,
                    bounds: fields.list("bounds", Json::number)?,
                    policies: fields.list("policies", |json| at.threshold_policy(json))?,
                }
                .into(),
                "streams" => Streams(count(fields, "n")?).into(),
                "stream_by" => StreamBy(fields.required("key", |json| at.expr(json))?).into(),
                "deps" => DirectiveKind::Deps(fields.word("mode", Deps::WORDS)?),
                "window" => DirectiveKind::Window(Window {
                    capacity: count(fields, "capacity")?,
                    mode: fields.word("mode", WindowMode::WORDS)?,
                }),
                "pools" => DirectiveKind::Pools(pools(fields)?),
                "ready" => DirectiveKind::Ready(fields.word("mode", Ready::WORDS)?),
                "start" => DirectiveKind::Start(start(fields)?),
                "trace" => DirectiveKind::Trace(fields.word("mode", Trace::WORDS)?),
                "gate" => DirectiveKind::Gate(Gate {
                    scope: fields.word("scope", GateScope::WORDS)?,
                    capacity: count(fields, "capacity")?,
                }),
                "batch_deps" => BatchDeps(count(fields, "n")?).into(),
                "core_groups" => CoreGroups(count(fields, "n")?).into(),
                "priority" => Priority(fields.required("key", |json| at.expr(json))?).into(),
                "timing" => DirectiveKind::Timing(timing(fields)?),
                "spatial_map" => {
                    let (x, y) = fields.required("grid", Json::pair)?;
                    SpatialMap { x, y }.into()
                }
                other => return Err(unknown_word(other, FORMS.iter().copied()).in_field("k")),
            };
            Ok(Directive { kind, span: at.span })
        })
    }

    pub(super) fn policy(self, json: &Json<'_>) -> Decoded<Dispatch> {
        self.form(json, |fields, at| {
            let word = fields.kind()?;
            let policy = at.dispatch(word, fields)?;
            policy.ok_or_else(|| unknown_word(word, DISPATCH.iter().copied()).in_field("k"))
        })
    }

    fn threshold_policy(self, json: &Json<'_>) -> Decoded<ThresholdPolicy> {
        self.form(json, |fields, at| {
            let word = fields.kind()?;
            if word == "pool" {
                return fields.word("unit", ExecPool::WORDS).map(ThresholdPolicy::Pool);
            }
            let policy = at.dispatch(word, fields)?.map(ThresholdPolicy::Dispatch);
            policy.ok_or_else(|| unknown_word(word, DISPATCH.iter().copied().chain(["pool"])).in_field("k"))
        })
    }

    /// The dispatch policy that a word begins, if it begins one.
    fn dispatch(self, word: &str, fields: &mut Fields<'_>) -> Decoded<Option<Dispatch>> {
        Ok(Some(match word {
            "round_robin" => Dispatch::RoundRobin,
            "work_steal" => Dispatch::WorkSteal,
            "affinity" => Dispatch::Affinity(fields.required("key", |json| self.expr(json))?),
            "hash" => Dispatch::Hash(fields.required("key", |json| self.expr(json))?),
            "static_partition" => {
                Dispatch::StaticPartition(fields.required("ranges", |json| items(json, Json::pair))?)
            }
            _ => return Ok(None),
        }))
    }
}

/// The forms of a dispatch policy.
pub(super) const DISPATCH: &[&str] = &["round_robin", "work_steal", "affinity", "hash", "static_partition"];

fn count(fields: &mut Fields<'_>, name: &'static str) -> Decoded<u32> {
    fields.required(name, Json::number)
}

fn pools(fields: &mut Fields<'_>) -> Decoded<PoolSizes> {
    Ok(match fields.required("mode", Json::text)? {
        "shared" => PoolSizes::Shared,
        "by_unit" => PoolSizes::ByUnit { vector: count(fields, "vector")?, cube: count(fields, "cube")? },
        other => return Err(unknown_word(other, ["shared", "by_unit"].into_iter()).in_field("mode")),
    })
}

fn start(fields: &mut Fields<'_>) -> Decoded<Start> {
    Ok(match fields.required("mode", Json::text)? {
        "immediate" => Start::Immediate,
        "after_orchestration" => Start::AfterOrchestration,
        "threshold" => Start::Threshold(count(fields, "n")?),
        other => {
            let modes = ["immediate", "after_orchestration", "threshold"];
            return Err(unknown_word(other, modes.into_iter()).in_field("mode"));
        }
    })
}

fn timing(fields: &mut Fields<'_>) -> Decoded<Timing> {
    Ok(match fields.required("mode", Json::text)? {
        "immediate" => Timing::Immediate,
        "batched" => Timing::Batched(count(fields, "n")?),
        "interleaved" => Timing::Interleaved(count(fields, "n")?),
        "rate_limit" => Timing::RateLimit(count(fields, "n")?),
        other => {
            let modes = ["immediate", "batched", "interleaved", "rate_limit"];
            return Err(unknown_word(other, modes.into_iter()).in_field("mode"));
        }
    })
}
