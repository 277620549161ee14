//! From points to a model.

use super::Fitted;
use super::solve::{Point, Solution, rounded, solve};
use super::terms::Term;
use wsp_diag::SourceMap;
use wsp_ordered::Arrange;
use wsp_plan::target::model::{Mark, Model};

/// How much staying with the prior weighs beside a program.
const STAY: f64 = 0.01;
/// The same of what a run takes beside its tasks, where the prior is a guess.
const STAY_LAUNCH: f64 = 1e-5;
/// Share of a figure that measured runs must decide on for it to be theirs.
const DECIDED: f64 = 0.05;

/// A program that was measured.
pub(super) struct Measured {
    /// Its name.
    pub(super) name: String,
    /// What its tasks took.
    pub(super) points: Vec<Point>,
    /// Seconds of a run on one thread.
    pub(super) run: f64,
    /// How many tasks it has.
    pub(super) tasks: f64,
}

impl Measured {
    /// What is to be known of all its tasks together.
    fn sum(&self, of: impl Fn(&Point) -> f64) -> f64 {
        self.points.iter().map(|point| of(point) * point.tasks).sum()
    }
}

/// The model by which these tasks take what they took.
pub(super) fn model(prior: &Model, terms: &[Term], programs: &[Measured]) -> Fitted {
    let names: Vec<&str> = programs.iter().map(|program| program.name.as_str()).collect();
    let source = format!("wsp sim --fit: {}", names.join(", "));
    // Every program counts alike, and in it every second.
    let mut rows = Vec::new();
    for program in programs {
        let all = program.sum(|point| point.seconds);
        rows.extend(program.points.iter().map(|point| (point, point.seconds * point.tasks / all)));
    }
    let seconds: Vec<f64> = terms.iter().map(|term| term.seconds(prior)).collect();
    let Solution { times, decided } = solve(&rows, &seconds, STAY, DECIDED);
    let (mut model, mut kept) = (prior.clone(), Vec::new());
    for (at, term) in terms.iter().enumerate() {
        match rows.iter().any(|(point, _)| point.counts[at] * seconds[at] > 0.0) {
            true if decided[at] => term.scale(&mut model, times[at], &source),
            true => kept.push(term.name(prior)),
            false => {}
        }
    }
    kept.extend(launches(&mut model, programs, &source));
    let text = model.to_text();
    let model = Model::read(&text, SourceMap::default().add("fit", text.as_str()))
        .expect("a model with other figures should be one");
    let seconds: Vec<f64> = terms.iter().map(|term| term.seconds(&model)).collect();
    let sums = programs.iter().map(|program| {
        let predicted = program.sum(|point| point.predicted(&seconds));
        (program.name.clone(), program.sum(|point| point.seconds), predicted)
    });
    let mut classes: Vec<(&'static str, Vec<f64>)> = Vec::new();
    for (point, _) in &rows {
        let error = point.predicted(&seconds) / point.seconds - 1.0;
        let class = dearest(terms, prior, point, &seconds);
        match classes.iter_mut().find(|(known, _)| *known == class) {
            Some((_, errors)) => errors.push(error),
            None => classes.push((class, vec![error])),
        }
    }
    classes.arrange_by_key(|(class, _)| *class);
    Fitted { kept, classes, programs: sums.collect(), model }
}

/// What most of a point's time is for.
fn dearest(terms: &[Term], prior: &Model, point: &Point, seconds: &[f64]) -> &'static str {
    let of = |class: &'static str| {
        let all = terms.iter().zip(&point.counts).zip(seconds);
        all.filter(|((term, _), _)| term.class(prior) == class)
            .map(|((_, count), each)| count * each)
            .sum::<f64>()
    };
    let classes = terms.iter().map(|term| term.class(prior));
    classes.max_by(|a, b| of(a).total_cmp(&of(b))).unwrap_or("kernel")
}

/// Sets what a run and each of its tasks take beside the kernels; gives the names of those that the runs do not decide on.
fn launches(model: &mut Model, programs: &[Measured], source: &str) -> Vec<String> {
    let rest = |program: &Measured| program.run - program.sum(|point| point.seconds);
    let with_rest: Vec<&Measured> = programs.iter().filter(|program| rest(program) > 0.0).collect();
    let point = |of: &&Measured| Point { counts: vec![1.0, of.tasks], seconds: rest(of), tasks: 1.0 };
    let points: Vec<Point> = with_rest.iter().map(point).collect();
    let weights = with_rest.iter().map(|program| (rest(program) / program.run).powi(2));
    let rows: Vec<(&Point, f64)> = points.iter().zip(weights).collect();
    let prior = [model.launch.run.max(1e-6), model.launch.task.max(1e-8)];
    let Solution { times, decided } = solve(&rows, &prior, STAY_LAUNCH, DECIDED);
    let mut kept = Vec::new();
    for (at, key) in ["run", "task"].into_iter().enumerate() {
        match rounded(prior[at] * times[at]).filter(|_| !rows.is_empty() && decided[at]) {
            Some(value) => {
                model.set_figure("launch", key, value, Mark::Measured, source);
            }
            None => kept.push(format!("launch {key}")),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use wsp_plan::target::model::named;

    /// Points of which each has some of a few terms, with the seconds that a model gives them.
    fn programs(model: &Model, terms: &[Term], counts: &[&[(Term, f64)]], noise: f64) -> Vec<Measured> {
        let seconds: Vec<f64> = terms.iter().map(|term| term.seconds(model)).collect();
        let program = |(n, chosen): (usize, &&[(Term, f64)])| {
            let of = |term: &Term| chosen.iter().find(|(of, _)| of == term).map_or(0.0, |(_, count)| *count);
            let mut point = Point { counts: terms.iter().map(of).collect(), seconds: 1.0, tasks: 10.0 };
            point.seconds = point.predicted(&seconds) * if n % 2 == 0 { 1.0 + noise } else { 1.0 - noise };
            let run = 10.0 * (point.seconds + 2e-6) + 5e-5;
            Measured { name: format!("p{n}"), points: vec![point], run, tasks: 10.0 }
        };
        counts.iter().enumerate().map(program).collect()
    }

    #[test]
    fn figures_of_the_machine_are_found_and_what_is_not_run_stays() {
        let prior = named("cpu").expect("it is there");
        let terms = Term::all(prior);
        let mut truth = prior.clone();
        (truth.operations[0].rates[2], truth.operations[0].startup) = (Some(2.0), 300.0);
        truth.operations[10].rates[2] = Some(20.0);
        let (each, elements, products) = (Term::Operation(0), Term::Elements(0, 2), Term::Elements(10, 2));
        let counts: [&[(Term, f64)]; 4] = [
            &[(each, 100.0), (elements, 1e5)],
            &[(each, 1000.0), (elements, 1e4)],
            &[(products, 1e6)],
            &[(products, 1e5), (elements, 1e5), (each, 1.0)],
        ];
        for (noise, allowed) in [(0.0, 0.06), (0.02, 0.1)] {
            let fitted = model(prior, &terms, &programs(&truth, &terms, &counts, noise));
            for (of, at) in [(&truth.operations[0], 0), (&truth.operations[10], 10)] {
                let (found, true_rate) =
                    (fitted.model.operations[at].rates[2].unwrap(), of.rates[2].unwrap());
                assert!((found / true_rate - 1.0).abs() < allowed, "{found} for {true_rate}");
            }
            assert!((fitted.model.operations[0].startup / 300.0 - 1.0).abs() < allowed);
            assert_eq!(fitted.model.operations[1], prior.operations[1]);
            let launch = fitted.model.launch;
            assert!((launch.run * 1e5 + launch.task * 1e6 - 7.0).abs() < 0.3, "{launch:?}");
            let source = |figure: &&wsp_plan::target::model::Figure| figure.source.contains("--fit");
            let changed: Vec<_> = fitted.model.figures.iter().filter(source).collect();
            // Programs of as many tasks each do not tell what a task takes from what a run takes.
            assert_eq!(changed.len(), 4);
            assert_eq!(fitted.kept, ["launch task"]);
            assert!(
                changed.iter().all(|figure| figure.mark == Mark::Measured && figure.source.ends_with("p3"))
            );
            let points: usize = fitted.classes.iter().map(|(_, errors)| errors.len()).sum();
            assert_eq!((points, fitted.programs.len()), (4, 4));
        }
    }

    #[test]
    fn what_a_program_has_too_little_of_is_kept_and_named() {
        let prior = named("cpu").expect("it is there");
        let terms = Term::all(prior);
        let counts: [&[(Term, f64)]; 1] = [&[(Term::Elements(10, 2), 1e6), (Term::Kernel, 1.0)]];
        let fitted = model(prior, &terms, &programs(prior, &terms, &counts, 0.2));
        assert_eq!(fitted.kept, ["launch kernel", "launch task"]);
        assert_eq!(fitted.model.launch.kernel, prior.launch.kernel);
        assert_ne!(fitted.model.operations[10].rates, prior.operations[10].rates);
    }

    #[test]
    fn models_of_any_figures_stay_models() {
        for extreme in [1e-320, 1e-30, 1e30, 1e308, f64::MAX] {
            let mut prior = named("cpu").expect("it is there").clone();
            for (part, key) in
                [("operation elementwise", "rate_4"), ("path dram cache", "rate"), ("launch", "run")]
            {
                assert!(prior.set_figure(part, key, extreme, Mark::Assumed, "here"));
            }
            let text = prior.to_text();
            let prior = Model::read(&text, wsp_diag::FileId(0)).expect("it is a model");
            let terms = Term::all(&prior);
            let counts: [&[(Term, f64)]; 1] = [&[(Term::Elements(0, 2), 1e6), (Term::Bytes(0), 1e6)]];
            let usual = named("cpu").expect("it is there");
            let fitted = model(&prior, &terms, &programs(usual, &terms, &counts, 0.0));
            assert_eq!(Model::read(&fitted.model.to_text(), wsp_diag::FileId(0)), Ok(fitted.model));
        }
    }

    #[test]
    fn no_figure_falls_below_nothing() {
        let prior = named("cpu").expect("it is there");
        let terms = Term::all(prior);
        // More of the second takes less, so that it would have to take less than nothing.
        let (a, b) = (Term::Elements(0, 2), Term::Elements(1, 2));
        let counts: [&[(Term, f64)]; 2] = [&[(a, 1e5), (b, 1e5)], &[(a, 1e5)]];
        let mut found = programs(prior, &terms, &counts, 0.0);
        found[0].points[0].seconds = found[1].points[0].seconds * 0.8;
        let fitted = model(prior, &terms, &found);
        assert!(fitted.model.operations[1].rates[2].is_some_and(|rate| rate.is_finite() && rate > 10.0));
    }
}
