//! Schedules of workloads: when and where tasks run. They never change a result.
//!
//! A statement is one file: its data, its text, how Rust adds it, how front ends in other languages write it, its rule, what targets do with
//! it and what it comes to. `directives!` lists them with the part of the policy that is theirs; text, traces, rules, capability tables and plans
//! go by that list.

mod batch_deps;
mod core_groups;
mod deps;
mod dispatch;
mod dispatch_threshold;
mod fields;
mod gate;
mod layout;
mod pools;
mod priority;
mod ready;
mod relayout;
mod spatial_map;
mod start;
mod stream_by;
mod streams;
mod timing;
mod trace;
mod window;
mod workers;

pub use batch_deps::BatchDeps;
pub use core_groups::CoreGroups;
pub use dispatch::Dispatch;
pub use dispatch_threshold::{DispatchThreshold, ThresholdPolicy};
pub use fields::DirectiveFields;
pub use priority::Priority;
pub use relayout::Relayout;
pub use stream_by::StreamBy;
pub use streams::Streams;
pub use timing::Timing;
pub use workers::Workers;

use super::IntExpr;
use super::text::{Parsed, Parser, Printer};
use super::verify::Checker;
use crate::{CapabilityRow, Layout};
use wsp_core::policy::{Deps, Gate, Grid, PoolSizes, Ready, Start, Trace, Window};
use wsp_diag::Span;

/// A schedule. Expressions in it are over parameters, tables and [`super::IntExprKind::Axis`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Schedule {
    /// Its name; empty for the one that a file applies without naming it.
    pub name: String,
    /// What it says, each kind at most once ([`DirectiveKind::Gate`]: once per scope).
    pub directives: Vec<Directive>,
    /// Where it stands.
    pub span: Span,
}

/// One statement of a schedule.
#[derive(Clone, PartialEq, Debug)]
pub struct Directive {
    /// What it says.
    pub kind: DirectiveKind,
    /// Where it stands.
    pub span: Span,
}

/// Where a directive may stand, and its word there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// `word(…);`
    Statement(&'static str),
    /// `word = …` in the brackets of `task_graph`.
    Setting(&'static str),
}

impl Form {
    /// Its word.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Form::Statement(word) | Form::Setting(word) => word,
        }
    }

    /// Whether it stands in the brackets of `task_graph`.
    pub(super) const fn is_setting(self) -> bool {
        matches!(self, Form::Setting(_))
    }
}

/// What can be done with a directive of any kind.
pub(super) trait DirectiveInterface {
    /// Its name, if a schedule may have others of its kind beside it.
    fn title(&self) -> Option<&'static str> {
        None
    }

    /// What it is said of, where a schedule may say it of others, too.
    fn subject(&self) -> &str {
        ""
    }

    /// Writes what stands in the brackets of a statement, or behind the `=` of a setting.
    fn print(&self, form: Form, printer: &mut Printer<'_>);

    /// Reports what is wrong with it.
    fn verify<'m>(&'m self, _checker: &mut Checker<'m>, _span: Span) {}

    /// What it has no effect without, if the schedule does not have that.
    fn missing_requirement(&self, _schedule: &Schedule) -> Option<MissingRequirement> {
        None
    }

    /// Its expressions.
    fn exprs(&self) -> Vec<&IntExpr> {
        Vec::new()
    }

    /// Takes it into the schedule's policy.
    fn apply(&self, policy: &mut SchedulePolicy);

    /// What comes nearest to it, as text and in Python, where no target supports it.
    fn instead(&self) -> Option<[String; 2]> {
        None
    }
}

/// Something without which a directive has no effect, and which the schedule does not have.
pub(super) struct MissingRequirement {
    pub(super) message: String,
    pub(super) note: Option<&'static str>,
    pub(super) help: &'static str,
    /// The same in Python.
    pub(super) python: &'static str,
}

impl MissingRequirement {
    /// A directive that does nothing without another.
    fn of_directive(
        title: &str,
        missing: &str,
        help: &'static str,
        python: &'static str,
    ) -> Option<MissingRequirement> {
        Some(MissingRequirement {
            message: format!("`{title}` has no effect without `{missing}`"),
            note: None,
            help,
            python,
        })
    }
}

/// The definition of a kind of directives.
pub(super) trait DirectiveDef: DirectiveInterface + Sized {
    /// Where it may stand: the first names it, the last is how it is printed by itself.
    const FORMS: &'static [Form];
    /// Its name as fields.
    const KEY: &'static str = Self::FORMS[0].word();
    /// What targets do with each of its values.
    const ROWS: &'static [CapabilityRow];

    /// What targets do with this value.
    fn row(&self) -> &'static CapabilityRow;

    /// Reads what stands in the brackets of a statement, or behind the `=` of a setting.
    fn parse(parser: &mut Parser<'_>, form: Form) -> Parsed<Self>;

    /// Reads its fields.
    fn read<F: DirectiveFields>(fields: &mut F) -> Result<Self, F::Fault>;
}

/// The rows of a directive, each with the values that it is for: a `match`, so that every value has a row.
macro_rules! capability_rows {
    ($($values:pat => $row:expr,)+) => {
        const ROWS: &'static [CapabilityRow] = &[$($row),+];

        fn row(&self) -> &'static CapabilityRow {
            match self {
                $($values => const { &$row },)+
            }
        }
    };
}
use capability_rows;

/// Reads a directive that stands in this form, behind its word.
pub(super) type ParseFn = fn(&mut Parser<'_>, Form) -> Parsed<DirectiveKind>;

macro_rules! directives {
    ($($(#[$doc:meta])* $kind:ident($data:ty)
        $(=> { $($(#[$of:meta])* $field:ident: $value:ty,)* })?,)*) => {
        /// The statements of a schedule.
        #[derive(Clone, PartialEq, Debug)]
        pub enum DirectiveKind {
            $($(#[$doc])* $kind($data),)*
        }

        /// What a schedule says, as plain data. The default is that of a module without one.
        #[derive(Clone, PartialEq, Debug, Default)]
        pub struct SchedulePolicy {
            $($($($(#[$of])* pub $field: $value,)*)?)*
        }

        $(impl From<$data> for DirectiveKind {
            fn from(data: $data) -> DirectiveKind {
                DirectiveKind::$kind(data)
            }
        })*

        impl DirectiveKind {
            /// Every form of every directive, in the order in which messages list them, with what reads it.
            pub(super) fn parsers() -> impl Iterator<Item = (Form, ParseFn)> {
                fn of<D: DirectiveDef + Into<DirectiveKind>>() -> impl Iterator<Item = (Form, ParseFn)> {
                    let read: ParseFn = |parser, form| D::parse(parser, form).map(Into::into);
                    D::FORMS.iter().map(move |form| (*form, read))
                }
                std::iter::empty()$(.chain(of::<$data>()))*
            }

            /// The name of every directive as fields, in the order in which messages list them.
            pub fn keys() -> impl Iterator<Item = &'static str> {
                [$(<$data as DirectiveDef>::KEY),*].into_iter()
            }

            /// Reads the fields of the directive with a name; none where there is no such directive.
            ///
            /// # Errors
            /// Fields that it does not have.
            pub fn read<F: DirectiveFields>(key: &str, fields: &mut F) -> Result<Option<DirectiveKind>, F::Fault> {
                $(if key == <$data as DirectiveDef>::KEY {
                    return <$data as DirectiveDef>::read(fields).map(|data| Some(data.into()));
                })*
                Ok(None)
            }

            /// What targets do with each directive.
            pub fn rows() -> impl Iterator<Item = &'static CapabilityRow> {
                [$(<$data as DirectiveDef>::ROWS),*].into_iter().flatten()
            }

            /// Where it may stand.
            pub(super) fn forms(&self) -> &'static [Form] {
                match self {
                    $(DirectiveKind::$kind(_) => <$data as DirectiveDef>::FORMS,)*
                }
            }

            /// What targets do with it.
            pub fn row(&self) -> &'static CapabilityRow {
                match self {
                    $(DirectiveKind::$kind(data) => DirectiveDef::row(data),)*
                }
            }

            pub(super) fn interface(&self) -> &dyn DirectiveInterface {
                match self {
                    $(DirectiveKind::$kind(data) => data,)*
                }
            }
        }
    };
}

directives! {
    /// `dispatch(policy)`: which worker (AICPU) a task goes to.
    Dispatch(Dispatch) => {
        /// Which worker a task goes to.
        dispatch: Option<Dispatch>,
    },
    /// `dispatch_threshold(metric, [t0, t1, …], [p0, p1, p2, …])`: a policy by the size of the task.
    DispatchThreshold(DispatchThreshold) => {
        /// A policy by the size of the task.
        threshold: Option<DispatchThreshold>,
    },
    /// `streams(n)`: tasks go to in-order streams.
    Streams(Streams) => {
        /// Number of in-order streams, at most 65,536; none without streams.
        streams: Option<u32>,
    },
    /// `stream_by(key)`: which stream a task goes to.
    StreamBy(StreamBy) => {
        /// Which stream a task goes to; in turn where the schedule does not say.
        stream_by: Option<IntExpr>,
    },
    /// `deps = …` of `task_graph`.
    Deps(Deps) => {
        /// How dependences are found.
        deps: Deps,
    },
    /// `window = n` or `window = (n, mode)` of `task_graph`, or `task_window(n, mode)`.
    Window(Window) => {
        /// Most tasks in flight, and what happens when as many are; none where the schedule does not say.
        window: Option<Window>,
    },
    /// `pools = …` of `task_graph`.
    Pools(PoolSizes) => {
        /// Workers by execution unit.
        pools: PoolSizes,
    },
    /// `ready = …` of `task_graph`.
    Ready(Ready) => {
        /// Which ready task is next.
        ready: Ready,
    },
    /// `start = …` of `task_graph`.
    Start(Start) => {
        /// When the first task may start.
        start: Start,
    },
    /// `trace = …` of `task_graph`.
    Trace(Trace) => {
        /// What is recorded.
        trace: Trace,
    },
    /// `pipeline_depth(n, scope)`: most tasks that run at once in a scope (an issue gate).
    Gate(Gate) => {
        /// Most tasks that run at once, at most once per scope; in the order of the scopes.
        gates: Vec<Gate>,
    },
    /// `batch_deps(n)`: completions that a worker gathers before it releases their successors.
    BatchDeps(BatchDeps) => {
        /// Completions that a worker gathers before it releases successors; none where the schedule does not say.
        batch: Option<u32>,
    },
    /// `core_groups(n)`: workers that share a core group.
    CoreGroups(CoreGroups) => {
        /// Workers that share a core group; none where the schedule does not say.
        core_groups: Option<u32>,
    },
    /// `workers(n)`: threads of a run that does not ask for a number.
    Workers(Workers) => {
        /// Threads of a run that does not ask for a number; none where the schedule does not say.
        workers: Option<u32>,
    },
    /// `priority(key)`: which ready task is next, with `ready = priority`.
    Priority(Priority) => {
        /// Which ready task is next, larger keys first.
        priority: Option<IntExpr>,
    },
    /// `timing(…)`: when ready tasks are handed to workers.
    Timing(Timing),
    /// `spatial_map((x, y))`: tasks are placed on a grid of tiles.
    SpatialMap(Grid) => {
        /// The grid that tasks are placed on; none where the schedule has none.
        grid: Option<Grid>,
    },
    /// `layout(tensor, [shard(x), replicate, …])`: which tile has which part of a tensor, at most once per tensor.
    Layout(Layout) => {
        /// How tensors lie on the grid.
        layouts: Vec<Layout>,
    },
    /// `relayout(tensor, [shard(x), replicate, …])`: how a tensor lies where it is read, at most once per tensor.
    Relayout(Relayout) => {
        /// How tensors lie where they are read, of those that lie otherwise where they are stored.
        relayouts: Vec<Layout>,
    },
}

impl DirectiveKind {
    /// Its name: a schedule has each name once.
    pub(super) fn title(&self) -> &'static str {
        self.interface().title().unwrap_or(self.forms()[0].word())
    }

    /// What it is said of: a schedule has each name once for each.
    pub(super) fn subject(&self) -> &str {
        self.interface().subject()
    }

    /// How it is printed where no other setting stands beside it.
    pub(super) fn own_form(&self) -> Form {
        let forms = self.forms();
        forms[forms.len() - 1]
    }

    /// Takes it into a schedule's policy.
    pub fn apply(&self, policy: &mut SchedulePolicy) {
        self.interface().apply(policy);
    }

    /// What comes nearest to it, where no target supports it.
    pub fn instead(&self) -> Option<[String; 2]> {
        self.interface().instead()
    }
}

impl Schedule {
    /// Whether one of its directives is such.
    fn has(&self, wanted: fn(&DirectiveKind) -> bool) -> bool {
        self.directives.iter().any(|directive| wanted(&directive.kind))
    }
}
