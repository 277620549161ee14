//! Schedules.

use super::lexer::{Tok, shorten};
use super::words::DEPENDENCES;
use super::{Parsed, Parser, Skip, codes};
use crate::Span;
use crate::diag::{Code, Diagnostic, did_you_mean};
use crate::workload::{
    Directive, DirectiveKind, Dispatch, ExecPool, Gate, GateScope, PoolSizes, Ready, Schedule, Start,
    ThresholdPolicy, Timing, Trace, Window, WindowMode,
};

const DIRECTIVES: &[&str] = &[
    "dispatch",
    "dispatch_threshold",
    "streams",
    "stream_by",
    "task_graph",
    "pipeline_depth",
    "batch_deps",
    "priority",
    "task_window",
    "timing",
    "spatial_map",
];

const SETTINGS: &[&str] = &["deps", "window", "pools", "ready", "start", "trace"];

const TIMINGS: &[&str] = &["immediate", "batched", "interleaved", "rate_limit"];

const POLICIES: &[&str] = &["round_robin", "affinity", "hash", "static_partition", "work_steal"];

/// The largest number of a `u32`.
const U32: u64 = u32::MAX as u64;

impl<'t> Parser<'t> {
    /// Reads a schedule. A broken statement is left out.
    pub(super) fn schedule(&mut self) -> Parsed<()> {
        let start = self.span();
        self.bump();
        let (name, span) =
            if self.at(Tok::LBrace) { ("", start) } else { self.name("the schedule's name, or `{`")? };
        if !self.at(Tok::LBrace) {
            return Err(self.unexpected(codes::EXPECTED_TOKEN, "`{` and the statements of the schedule"));
        }
        let open = self.bump();
        let mut directives = Vec::new();
        loop {
            match self.tok() {
                Tok::RBrace => break,
                Tok::Eof => return Err(self.unclosed_block(open)),
                Tok::Semi => {
                    self.bump();
                }
                _ => {
                    let at = self.pos;
                    if self.directive(&mut directives).is_err() {
                        self.recover_statement(at);
                    }
                }
            }
        }
        self.bump();
        self.module.schedules.push(Schedule { name: name.to_owned(), directives, span });
        Ok(())
    }

    fn directive(&mut self, directives: &mut Vec<Directive>) -> Parsed<()> {
        let (name, start) = self.name("a statement of a schedule")?;
        if !DIRECTIVES.contains(&name) {
            return Err(self.unknown(
                codes::UNKNOWN_DIRECTIVE,
                "schedules have no statement",
                name,
                start,
                DIRECTIVES,
            ));
        }
        if !self.at(Tok::LParen) {
            return Err(self.unexpected(codes::EXPECTED_TOKEN, &format!("`(` after `{name}`")));
        }
        let open = self.bump();
        let kind = match name {
            "dispatch" => Some(DirectiveKind::Dispatch(self.policy()?)),
            "dispatch_threshold" => Some(self.dispatch_threshold()?),
            "streams" => Some(DirectiveKind::Streams(self.count32("the number of streams")?)),
            "stream_by" => Some(DirectiveKind::StreamBy(self.expr()?)),
            "pipeline_depth" => Some(self.gate()?),
            "batch_deps" => Some(DirectiveKind::BatchDeps(self.count32("the number of completions")?)),
            "priority" => Some(DirectiveKind::Priority(self.expr()?)),
            "task_window" => Some(DirectiveKind::Window(self.window()?)),
            "timing" => Some(DirectiveKind::Timing(self.timing()?)),
            "spatial_map" => Some(self.spatial_map()?),
            _ => None,
        };
        if kind.is_none() {
            let settings = self.list(Tok::RParen, Self::setting)?;
            directives.extend(settings);
        }
        self.eat(Tok::Comma);
        self.close(open, &format!("`)` after the arguments of `{name}`"))?;
        let span = self.span_from(start);
        directives.extend(kind.map(|kind| Directive { kind, span }));
        self.semicolon(&format!("`{name}(…)`"))
    }

    /// Reports a word that is none of `known`.
    fn unknown(&mut self, code: Code, what: &str, name: &str, span: Span, known: &[&str]) -> Skip {
        let diagnostic = Diagnostic::error(code, format!("{what} `{}`", shorten(name))).at(span, "");
        let list: Vec<String> = known.iter().map(|word| format!("`{word}`")).collect();
        let diagnostic = diagnostic.note(format!("there are {}", list.join(", ")));
        let meant = did_you_mean(name, known.iter().copied());
        self.report(match meant {
            Some(meant) => diagnostic.help(format!("did you mean `{meant}`?")),
            None => diagnostic,
        })
    }

    fn count32(&mut self, what: &str) -> Parsed<u32> {
        self.count(what, U32).map(|count| count as u32)
    }

    /// A dispatch policy.
    fn policy(&mut self) -> Parsed<Dispatch> {
        let (name, span) = self.name("a dispatch policy")?;
        let takes = matches!(name, "affinity" | "hash" | "static_partition");
        if !takes {
            return match name {
                "round_robin" => Ok(Dispatch::RoundRobin),
                "work_steal" => Ok(Dispatch::WorkSteal),
                _ => Err(self.unknown_word(name, span, "dispatch policy", POLICIES)),
            };
        }
        if !self.at(Tok::LParen) {
            let help = if name == "static_partition" { "[0..10, 10..20]" } else { "b" };
            let help = format!("write `{name}({help})`");
            return Err(self.unexpected_help(codes::EXPECTED_TOKEN, &format!("`(` after `{name}`"), &help));
        }
        let open = self.bump();
        let policy = match name {
            "affinity" => Dispatch::Affinity(self.expr()?),
            "hash" => Dispatch::Hash(self.expr()?),
            _ => Dispatch::StaticPartition(self.bracketed("the ranges of task numbers", Self::task_range)?),
        };
        self.close(open, "`)` after the policy")?;
        Ok(policy)
    }

    /// `[ … ]`.
    fn bracketed<T>(&mut self, what: &str, part: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        if !self.at(Tok::LBracket) {
            return Err(self.unexpected(codes::EXPECTED_TOKEN, &format!("`[` and {what}")));
        }
        let open = self.bump();
        let parts = self.list(Tok::RBracket, part)?;
        self.close(open, "`,` or `]`")?;
        Ok(parts)
    }

    fn task_range(&mut self) -> Parsed<(u64, u64)> {
        let start = self.count("the number of a task", u64::MAX)?;
        if self.at(Tok::RangeIncl) {
            return Err(self.bad_range());
        }
        self.expect(Tok::Range, "`..` and the end of the range")?;
        Ok((start, self.count("the number of a task", u64::MAX)?))
    }

    fn dispatch_threshold(&mut self) -> Parsed<DirectiveKind> {
        let metric = self.expr()?;
        self.expect(Tok::Comma, "`,` and the thresholds")?;
        let bounds = self.bracketed("the thresholds", |p| p.integer("a threshold"))?;
        self.expect(Tok::Comma, "`,` and the policies")?;
        let policies = self.bracketed("the policies", Self::threshold_policy)?;
        Ok(DirectiveKind::DispatchThreshold { metric, bounds, policies })
    }

    fn threshold_policy(&mut self) -> Parsed<ThresholdPolicy> {
        let word = self.word().unwrap_or("");
        match ExecPool::WORDS.iter().find(|(unit, _)| *unit == word) {
            Some((_, unit)) => {
                self.bump();
                Ok(ThresholdPolicy::Pool(*unit))
            }
            None => self.policy().map(ThresholdPolicy::Dispatch),
        }
    }

    /// `n` or `n, scope`.
    fn gate(&mut self) -> Parsed<DirectiveKind> {
        let capacity = self.count32("the number of tasks that run at once")?;
        let scope = if self.eat(Tok::Comma) && !self.at(Tok::RParen) {
            self.one_of("scope", GateScope::WORDS)?
        } else {
            GateScope::default()
        };
        Ok(DirectiveKind::Gate(Gate { scope, capacity }))
    }

    /// `n` or `n, mode`.
    fn window(&mut self) -> Parsed<Window> {
        let capacity = self.count32("the number of tasks in flight")?;
        let mode = if self.eat(Tok::Comma) && !self.at(Tok::RParen) {
            self.one_of("window mode", WindowMode::WORDS)?
        } else {
            WindowMode::default()
        };
        Ok(Window { capacity, mode })
    }

    /// `immediate`, or another word with a number.
    fn timing(&mut self) -> Parsed<Timing> {
        let (name, span) = self.name("a way of timing")?;
        if name == "immediate" {
            return Ok(Timing::Immediate);
        }
        let timing = match name {
            "batched" => Timing::Batched,
            "interleaved" => Timing::Interleaved,
            "rate_limit" => Timing::RateLimit,
            _ => return Err(self.unknown_word(name, span, "way of timing", TIMINGS)),
        };
        if !self.at(Tok::LParen) {
            let help = format!("write `{name}(4)`");
            return Err(self.unexpected_help(codes::EXPECTED_TOKEN, &format!("`(` after `{name}`"), &help));
        }
        let open = self.bump();
        let count = self.count32("a number")?;
        self.close(open, "`)` after the number")?;
        Ok(timing(count))
    }

    /// `(x, y)`.
    fn spatial_map(&mut self) -> Parsed<DirectiveKind> {
        if !self.at(Tok::LParen) {
            let help = "write `spatial_map((4, 4))`";
            return Err(self.unexpected_help(codes::EXPECTED_TOKEN, "`(` and the extents of the grid", help));
        }
        let open = self.bump();
        let x = self.count32("the number of tiles of a row")?;
        self.expect(Tok::Comma, "`,` and the number of rows")?;
        let y = self.count32("the number of rows")?;
        self.close(open, "`)` after the extents of the grid")?;
        Ok(DirectiveKind::SpatialMap { x, y })
    }

    /// `name = value` of `task_graph`.
    fn setting(&mut self) -> Parsed<Directive> {
        let (name, start) = self.name("a setting of `task_graph`")?;
        if !SETTINGS.contains(&name) {
            return Err(self.unknown(
                codes::UNKNOWN_SETTING,
                "`task_graph` has no setting",
                name,
                start,
                SETTINGS,
            ));
        }
        self.expect(Tok::Eq, &format!("`=` after `{name}`"))?;
        let kind = match name {
            "deps" => DirectiveKind::Dependences(self.one_of("way to find dependences", DEPENDENCES)?),
            "window" => DirectiveKind::Window(self.window_setting()?),
            "pools" => DirectiveKind::Pools(self.pools()?),
            "ready" => DirectiveKind::Ready(self.one_of("ready policy", Ready::WORDS)?),
            "start" => DirectiveKind::Start(self.start()?),
            _ => DirectiveKind::Trace(self.one_of("trace", Trace::WORDS)?),
        };
        Ok(Directive { kind, span: self.span_from(start) })
    }

    fn window_setting(&mut self) -> Parsed<Window> {
        if !self.at(Tok::LParen) {
            let (capacity, mode) = (self.count32("the number of tasks in flight")?, WindowMode::default());
            return Ok(Window { capacity, mode });
        }
        let open = self.bump();
        let window = self.window()?;
        self.close(open, "`)` after the window")?;
        Ok(window)
    }

    fn pools(&mut self) -> Parsed<PoolSizes> {
        let (name, span) = self.name("`shared` or `by_unit(vector, cube)`")?;
        match name {
            "shared" => return Ok(PoolSizes::Shared),
            "by_unit" if self.at(Tok::LParen) => {}
            "by_unit" => {
                return Err(self.unexpected_help(
                    codes::EXPECTED_TOKEN,
                    "`(` after `by_unit`",
                    "write `by_unit(3, 1)`",
                ));
            }
            _ => return Err(self.unknown_word(name, span, "way to divide workers", &["shared", "by_unit"])),
        }
        let open = self.bump();
        let vector = self.count32("the number of workers for vector tasks")?;
        self.expect(Tok::Comma, "`,` and the number of workers for cube tasks")?;
        let cube = self.count32("the number of workers for cube tasks")?;
        self.close(open, "`)` after the numbers of workers")?;
        Ok(PoolSizes::ByUnit { vector, cube })
    }

    fn start(&mut self) -> Parsed<Start> {
        let (name, span) = self.name("`immediate`, `after_orchestration` or `threshold(n)`")?;
        match name {
            "immediate" => return Ok(Start::Immediate),
            "after_orchestration" => return Ok(Start::AfterOrchestration),
            "threshold" if self.at(Tok::LParen) => {}
            "threshold" => {
                return Err(self.unexpected_help(
                    codes::EXPECTED_TOKEN,
                    "`(` after `threshold`",
                    "write `threshold(100)`",
                ));
            }
            _ => {
                let known = ["immediate", "after_orchestration", "threshold"];
                return Err(self.unknown_word(name, span, "way to start", &known));
            }
        }
        let open = self.bump();
        let count = self.count32("the number of tasks")?;
        self.close(open, "`)` after the number of tasks")?;
        Ok(Start::Threshold(count))
    }
}
