//! Schedules.

use super::expr::Place;
use super::{Checker, error, rule};
use crate::Layout;
use crate::workload::directive::MissingRequirement;
use crate::workload::walk::{self, Reference, Visitor};
use crate::workload::{
    Block, Deps, Directive, DirectiveKind, IntExpr, NodeKind, Priority, Schedule, StreamBy,
};
use wsp_core::VarId;
use wsp_diag::{Diagnostic, Span};

impl<'m> Checker<'m> {
    pub(super) fn schedules(&mut self) {
        for schedule in &self.module.schedules {
            self.place = match &*schedule.name {
                "" => "the schedule without a name".to_owned(),
                name => format!("schedule `{name}`"),
            };
            self.once(schedule);
            for directive in &schedule.directives {
                directive.kind.interface().verify(self, directive.span);
            }
            self.needs(schedule);
        }
        self.place.clear();
        self.after();
    }

    fn once(&mut self, schedule: &'m Schedule) {
        for (at, directive) in schedule.directives.iter().enumerate() {
            let (name, of) = (directive.kind.title(), directive.kind.subject());
            let mut earlier = schedule.directives[..at].iter();
            if let Some(first) = earlier.find(|d| (d.kind.title(), d.kind.subject()) == (name, of)) {
                let of = if of.is_empty() { String::new() } else { format!(" for `{of}`") };
                let diagnostic =
                    error(rule::DOUBLE_DIRECTIVE, directive.span, format!("`{name}` is set twice{of}"))
                        .label(first.span, "first set here")
                        .help("keep one; write another schedule for the other: `schedule other { … }`")
                        .python("keep one; a `Workload` with the other is a schedule of its own");
                self.push(diagnostic);
            }
        }
    }

    /// Checks an expression of a schedule.
    pub(in crate::workload) fn key(&mut self, tree: &'m IntExpr) {
        self.expr(tree, &Place::Schedule);
    }

    pub(in crate::workload) fn count(&mut self, count: u32, most: u32, what: &str, span: Span) {
        self.require((1..=most).contains(&count), || {
            let diagnostic = error(rule::COUNT, span, format!("the number of {what} is {count}"));
            diagnostic.help(if most == u32::MAX {
                "give a number from 1".to_owned()
            } else {
                format!("give a number from 1 to {most}")
            })
        });
    }

    /// Checks a layout. Of a module that uses a file the tensors may be those of the file, which linking knows.
    pub(in crate::workload) fn layout(&mut self, layout: &Layout, span: Span) {
        let tensor = self.module.tensors.iter().find(|tensor| tensor.name == layout.tensor);
        if tensor.is_none() && self.module.uses.is_empty() {
            let known: Vec<&str> = self.module.tensors.iter().map(|tensor| &*tensor.name).collect();
            return self.push(layout.unknown(rule::LAYOUT, span, &known));
        }
        let rank = tensor.map_or(layout.dims.len(), |tensor| tensor.dims.len());
        if let Some((message, help)) = layout.fault(rank) {
            self.push(error(rule::LAYOUT, span, message).help(help));
        }
    }

    /// Reports directives that do nothing without another.
    fn needs(&mut self, schedule: &'m Schedule) {
        for directive in &schedule.directives {
            let Some(MissingRequirement { message, note, help, python }) =
                directive.kind.interface().missing_requirement(schedule)
            else {
                self.varies(directive);
                continue;
            };
            let diagnostic = error(rule::NEEDS, directive.span, message);
            let diagnostic = note.into_iter().fold(diagnostic, Diagnostic::note);
            self.push(diagnostic.help(help).python(python));
        }
    }

    /// Warns of a key that tasks do not differ in.
    fn varies(&mut self, directive: &Directive) {
        let key = match &directive.kind {
            DirectiveKind::StreamBy(StreamBy(key)) | DirectiveKind::Priority(Priority(key)) => key,
            _ => return,
        };
        let mut axes = Axes(false);
        walk::expr(key, &mut axes);
        if axes.0 {
            return;
        }
        let title = directive.kind.title();
        let diagnostic =
            Diagnostic::warning(rule::SAME_KEY, format!("`{title}` has the same key for every task"))
                .at(directive.span, "no axis stands in it")
                .help("name an axis of the loops around the tasks in it, or leave the statement out");
        self.push(diagnostic);
    }

    /// Warns of `after` that no schedule uses.
    fn after(&mut self) {
        let used = self
            .module
            .schedules
            .iter()
            .flat_map(|schedule| &schedule.directives)
            .any(|d| matches!(d.kind, DirectiveKind::Deps(Deps::Explicit | Deps::Hybrid)));
        if used {
            return;
        }
        let first = self.module.workloads.iter().find_map(|workload| first_after(&workload.body));
        if let Some(span) = first {
            let diagnostic = Diagnostic::warning(rule::AFTER_UNUSED, "`after` orders nothing here")
                .at(span, "")
                .note("tasks are ordered by their data unless the schedule has `deps = explicit` or `deps = hybrid`")
                .help("add `schedule { task_graph(deps = hybrid); }`")
                .python("add `.task_graph(deps=Deps.hybrid())`");
            self.push(diagnostic);
        }
    }
}

/// The first task with `after`.
fn first_after(block: &Block) -> Option<Span> {
    block.iter().find_map(|node| match &node.kind {
        NodeKind::Task(task) => (!task.after.is_empty()).then_some(node.span),
        other => other.bodies().into_iter().find_map(first_after),
    })
}

/// Whether an expression names an axis.
struct Axes(bool);

impl Visitor for Axes {
    fn reference(&mut self, reference: Reference) {
        self.0 |= matches!(reference, Reference::Axis(_));
    }

    fn open(&mut self, _: VarId) {}

    fn close(&mut self) {}
}
