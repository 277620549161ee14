//! Schedules.

use super::Printer;
use super::names::Names;
use crate::workload::directive::Form;
use crate::workload::{Directive, Schedule};

/// The form of a directive in the brackets of `task_graph`, if it has one.
fn setting(directive: &Directive) -> Option<Form> {
    directive.kind.forms().iter().copied().find(|form| form.is_setting())
}

impl Printer<'_> {
    pub(super) fn schedule(&mut self, schedule: &Schedule) {
        self.names = Names::default();
        let name = if schedule.name.is_empty() { String::new() } else { format!(" {}", schedule.name) };
        self.text(&format!("schedule{name} {{\n"));
        let both = |a: &Directive, b: &Directive| setting(a).is_some() && setting(b).is_some();
        for group in schedule.directives.chunk_by(both) {
            self.text("    ");
            match group {
                [one] if !one.kind.own_form().is_setting() => self.directive(one, one.kind.own_form()),
                settings => {
                    self.text("task_graph(");
                    self.separated(settings, |p, one| {
                        p.directive(one, setting(one).unwrap_or(one.kind.own_form()));
                    });
                }
            }
            self.text(");\n");
        }
        self.text("}\n");
    }

    /// A statement up to its `)`, or a setting.
    fn directive(&mut self, directive: &Directive, form: Form) {
        self.text(form.word());
        self.text(if form.is_setting() { " = " } else { "(" });
        directive.kind.interface().print(form, self);
    }
}
