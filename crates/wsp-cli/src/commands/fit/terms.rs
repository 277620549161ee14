//! The figures that may be fitted, and how often each comes into a task.

use super::sample::Sample;
use super::{lasted, solve};
use wsp_diag::Diagnostic;
use wsp_ir::CostClass;
use wsp_plan::target::model::{Mark, Model, Rate};

/// A rate at which nothing takes any time.
const ENDLESS: f64 = 1e300;

/// A figure of a model that costs of tasks are proportional to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Term {
    /// Of each task.
    Kernel,
    /// Of each operation, by its place in the model.
    Operation(usize),
    /// Of each element of operations, by their place and the place of its width.
    Elements(usize, usize),
    /// Of each transfer, by the place of its path.
    Transfer(usize),
    /// Of each byte of transfers.
    Bytes(usize),
}

impl Term {
    /// All of a model, each operation and path before its elements and bytes.
    pub(super) fn all(model: &Model) -> Vec<Term> {
        let mut all = vec![Term::Kernel];
        for at in 0..model.paths.len() {
            all.extend([Term::Transfer(at), Term::Bytes(at)]);
        }
        for (at, operation) in model.operations.iter().enumerate() {
            all.push(Term::Operation(at));
            let widths = (0..4).filter(|width| operation.rates[*width].is_some());
            all.extend(widths.map(|width| Term::Elements(at, width)));
        }
        all
    }

    /// The seconds that one of it takes on a model.
    pub(super) fn seconds(self, model: &Model) -> f64 {
        let cycles = match self {
            Term::Kernel => model.launch.kernel,
            Term::Operation(at) => model.operations[at].startup,
            Term::Elements(at, width) => model.operations[at].rates[width].map_or(0.0, f64::recip),
            Term::Transfer(at) => model.paths[at].startup,
            Term::Bytes(at) => {
                return match model.paths[at].rate(model.rates) {
                    Rate::Flat(rate) | Rate::Fitted { peak: rate, .. } => rate.recip(),
                };
            }
        };
        cycles / model.clock
    }

    /// What it belongs to in reports.
    pub(super) fn class(self, model: &Model) -> &'static str {
        match self {
            Term::Kernel => "kernel",
            Term::Operation(at) | Term::Elements(at, _) => model.operations[at].class.word(),
            Term::Transfer(_) | Term::Bytes(_) => CostClass::Transfer.word(),
        }
    }

    /// Its part and key in a model.
    fn place(self, model: &Model) -> (String, &'static str) {
        let path = |at: usize| {
            let path = &model.paths[at];
            format!("path {} {}", model.memories[path.from].name, model.memories[path.to].name)
        };
        let operation = |at: usize| format!("operation {}", model.operations[at].class.word());
        match self {
            Term::Kernel => ("launch".to_owned(), "kernel"),
            Term::Operation(at) => (operation(at), "startup"),
            Term::Elements(at, width) => (operation(at), ["rate_1", "rate_2", "rate_4", "rate_8"][width]),
            Term::Transfer(at) => (path(at), "startup"),
            Term::Bytes(at) => {
                let fitted = matches!(model.paths[at].rate(model.rates), Rate::Fitted { .. });
                (path(at), if fitted { "peak" } else { "rate" })
            }
        }
    }

    /// Its part and key in one.
    pub(super) fn name(self, model: &Model) -> String {
        let (part, key) = self.place(model);
        format!("{part} {key}")
    }

    /// Has it take so many times as long.
    pub(super) fn scale(self, model: &mut Model, times: f64, source: &str) {
        let (part, key) = self.place(model);
        let is_rate = matches!(self, Term::Elements(..) | Term::Bytes(_));
        let old = model.figures.iter().find(|figure| figure.part == part && figure.key == key);
        let value = |old: f64| if is_rate { old / times } else { old * times };
        if let Some(value) = old.and_then(|figure| solve::rounded(value(figure.value))) {
            model.set_figure(&part, key, value, Mark::Measured, source);
        }
    }

    /// A model on which one of it takes one cycle of one second, a task one more, and nothing else anything.
    fn probe(self, prior: &Model) -> Model {
        let mut model = Model { clock: 1.0, ..prior.clone() };
        (model.launch.kernel, model.launch.task, model.launch.run) = (1.0, 0.0, 0.0);
        for (at, operation) in model.operations.iter_mut().enumerate() {
            operation.startup = f64::from(u8::from(self == Term::Operation(at)));
            for (width, rate) in operation.rates.iter_mut().enumerate() {
                *rate = rate.map(|_| if self == Term::Elements(at, width) { 1.0 } else { ENDLESS });
            }
        }
        for (at, path) in model.paths.iter_mut().enumerate() {
            path.startup = f64::from(u8::from(self == Term::Transfer(at)));
            let rate = if self == Term::Bytes(at) { 1.0 } else { ENDLESS };
            (path.flat, path.fitted) = (Some(rate), None);
        }
        model
    }
}

/// Of each task of a program, by id: its kernel, and how often each term comes into it.
///
/// # Errors
/// As [`Sample::simulate`].
pub(super) fn counts(
    prior: &Model,
    terms: &[Term],
    sample: &Sample,
) -> Result<Vec<(String, Vec<f64>)>, Vec<Diagnostic>> {
    let mut tasks: Vec<(String, Vec<f64>)> = Vec::new();
    let mut is_there = true;
    for (at, term) in terms.iter().enumerate() {
        // Without operations or transfers there are no elements or bytes.
        if !is_there && matches!(term, Term::Elements(..) | Term::Bytes(_)) {
            continue;
        }
        let (timeline, _) = sample.simulate(&term.probe(prior))?;
        if tasks.is_empty() {
            let name = |at: usize| timeline.kernels.get(at).cloned().unwrap_or_default();
            let none = |task: &wsp_runtime::timeline::TaskRecord| {
                (name(task.kernel.index()), vec![0.0; terms.len()])
            };
            tasks = timeline.tasks.iter().map(none).collect();
        }
        for ((_, counts), task) in tasks.iter_mut().zip(&timeline.tasks) {
            counts[at] = lasted(task) - if *term == Term::Kernel { 0.0 } else { 1.0 };
        }
        if matches!(term, Term::Operation(_) | Term::Transfer(_)) {
            is_there = tasks.iter().any(|(_, counts)| counts[at] > 0.0);
        }
    }
    Ok(tasks)
}
