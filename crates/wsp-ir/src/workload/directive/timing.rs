//! `timing(…)`.

use super::{DirectiveDef, DirectiveFields, DirectiveInterface, Form, SchedulePolicy, capability_rows};
use crate::workload::build::ScheduleBuilder;
use crate::workload::text::{Parsed, Parser, Printer};
use crate::workload::verify::Checker;
use crate::{CapabilityRow, Support};
use wsp_diag::Span;

/// `timing(…)`: when ready tasks are handed to workers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Timing {
    /// As soon as they are ready.
    #[default]
    Immediate,
    /// So many at a time.
    Batched(u32),
    /// From so many streams in turn.
    Interleaved(u32),
    /// At most so many in a unit of time.
    RateLimit(u32),
}

const WORDS: &[&str] = &["immediate", "batched", "interleaved", "rate_limit"];

impl ScheduleBuilder<'_> {
    /// When ready tasks are handed to workers.
    pub fn timing(&mut self, timing: Timing) -> &mut Self {
        self.plain(timing)
    }
}

impl DirectiveDef for Timing {
    const FORMS: &'static [Form] = &[Form::Statement("timing")];

    capability_rows! {
        Timing::Immediate => CapabilityRow::new(
            "timing(immediate)",
            Support::Enforced,
            "a ready task is handed to a worker as soon as one is free, as without `timing`",
        ),
        Timing::Batched(_) => CapabilityRow::new(
            "timing(batched(n))",
            Support::Error,
            "workers take tasks one by one; `batch_deps(n)` releases successors `n` completions at a time",
        ),
        Timing::Interleaved(_) => CapabilityRow::new(
            "timing(interleaved(n))",
            Support::Error,
            "tasks have no streams of their own here; `streams(n)` deals them to `n` streams in turn",
        ),
        Timing::RateLimit(_) => CapabilityRow::new(
            "timing(rate_limit(n))",
            Support::Error,
            "tasks are issued by no clock; `pipeline_depth(n)` bounds how many run at once",
        ),
    }

    /// `immediate`, or another word with a number.
    fn parse(parser: &mut Parser<'_>, _: Form) -> Parsed<Timing> {
        let (name, span) = parser.name("a way of timing")?;
        if name == "immediate" {
            return Ok(Timing::Immediate);
        }
        let timing = match name {
            "batched" => Timing::Batched,
            "interleaved" => Timing::Interleaved,
            "rate_limit" => Timing::RateLimit,
            _ => return Err(parser.unknown_word(name, span, "way of timing", WORDS)),
        };
        let open = parser.open(&format!("`(` after `{name}`"), &format!("write `{name}(4)`"))?;
        let count = parser.count32("a number", u32::MAX)?;
        parser.close(open, "`)` after the number")?;
        Ok(timing(count))
    }

    fn read<F: DirectiveFields>(fields: &mut F) -> Result<Timing, F::Fault> {
        const MODES: [(&str, Timing); 4] = [
            ("immediate", Timing::Immediate),
            ("batched", Timing::Batched(0)),
            ("interleaved", Timing::Interleaved(0)),
            ("rate_limit", Timing::RateLimit(0)),
        ];
        Ok(match fields.word("mode", &MODES)? {
            Timing::Immediate => Timing::Immediate,
            Timing::Batched(_) => Timing::Batched(fields.count("n")?),
            Timing::Interleaved(_) => Timing::Interleaved(fields.count("n")?),
            Timing::RateLimit(_) => Timing::RateLimit(fields.count("n")?),
        })
    }
}

impl DirectiveInterface for Timing {
    fn print(&self, _: Form, printer: &mut Printer<'_>) {
        printer.text(&match self {
            Timing::Immediate => "immediate".to_owned(),
            Timing::Batched(count) => format!("batched({count})"),
            Timing::Interleaved(count) => format!("interleaved({count})"),
            Timing::RateLimit(count) => format!("rate_limit({count})"),
        });
    }

    fn verify<'m>(&'m self, checker: &mut Checker<'m>, span: Span) {
        if let Timing::Batched(count) | Timing::Interleaved(count) | Timing::RateLimit(count) = self {
            checker.count(*count, u32::MAX, "tasks or streams of `timing`", span);
        }
    }

    /// Tasks are always handed over at once; other timings are refused.
    fn apply(&self, _: &mut SchedulePolicy) {}

    fn instead(&self) -> Option<[String; 2]> {
        let other = match self {
            Timing::Immediate => return None,
            Timing::Batched(count) => format!("batch_deps({count})"),
            Timing::Interleaved(count) => format!("streams({count})"),
            Timing::RateLimit(count) => format!("pipeline_depth({count})"),
        };
        Some([format!("{other};"), format!(".{other}")])
    }
}
