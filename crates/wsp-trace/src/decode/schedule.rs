//! Schedules.

use super::place::At;
use crate::wire::{Decoded, Fault, Fields, Json, items, unknown_word};
use wsp_ir::workload::{
    Directive, DirectiveFields, DirectiveKind, Dispatch, ExecPool, IntExpr, Schedule, ThresholdPolicy,
};

/// The fields of a directive that stands here.
struct Placed<'f, 'a, 'p> {
    fields: &'f mut Fields<'a>,
    at: At<'p>,
}

impl DirectiveFields for Placed<'_, '_, '_> {
    type Fault = Box<Fault>;

    fn count(&mut self, name: &'static str) -> Decoded<u32> {
        self.fields.required(name, Json::number)
    }

    fn pair(&mut self, name: &'static str) -> Decoded<(u32, u32)> {
        self.fields.required(name, Json::pair)
    }

    fn integers(&mut self, name: &'static str) -> Decoded<Vec<i64>> {
        self.fields.list(name, Json::number)
    }

    fn word<T: Copy>(&mut self, name: &'static str, words: &[(&str, T)]) -> Decoded<T> {
        self.fields.word(name, words)
    }

    fn words<T: Copy>(&mut self, name: &'static str, words: &[(&str, T)]) -> Decoded<Vec<T>> {
        self.fields.list(name, |json| json.word(words))
    }

    fn name(&mut self, name: &'static str) -> Decoded<String> {
        self.fields.required(name, Json::name)
    }

    fn expr(&mut self, name: &'static str) -> Decoded<IntExpr> {
        self.fields.required(name, |json| self.at.expr(json))
    }

    fn policy(&mut self, name: &'static str) -> Decoded<Dispatch> {
        self.fields.required(name, |json| self.at.policy(json))
    }

    fn policies(&mut self, name: &'static str) -> Decoded<Vec<ThresholdPolicy>> {
        self.fields.list(name, |json| self.at.threshold_policy(json))
    }
}

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
            let key = fields.kind()?;
            let kind = DirectiveKind::read(key, &mut Placed { fields, at })?;
            let kind = kind.ok_or_else(|| unknown_word(key, DirectiveKind::keys()).in_field("k"))?;
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
