//! What a fitted model leaves, for people and for machines.

use super::super::tables::columns;
use super::{Fitted, quartile};
use serde_json::{Value, json};

/// Points, the median and the largest of relative errors.
fn errors(of: &[f64]) -> [f64; 2] {
    let sizes: Vec<f64> = of.iter().map(|error| error.abs()).collect();
    [2, 4].map(|fourths| quartile(fourths, sizes.clone()))
}

pub(super) fn text(fitted: &Fitted) -> String {
    let percent = |part: f64| format!("{:.1} %", part * 100.0);
    let heading = ["most time in", "points", "median error", "worst"].map(str::to_owned);
    let class = |(class, of): &(&str, Vec<f64>)| {
        let [median, worst] = errors(of);
        [(*class).to_owned(), of.len().to_string(), percent(median), percent(worst)]
    };
    let mut text =
        columns(&std::iter::once(heading).chain(fitted.classes.iter().map(class)).collect::<Vec<_>>());
    let heading = ["program", "tasks measured", "by the model", "error"].map(str::to_owned);
    let program = |(name, measured, predicted): &(String, f64, f64)| {
        let us = |seconds: f64| format!("{:.0} us", seconds * 1e6);
        [
            name.clone(),
            us(*measured),
            us(*predicted),
            format!("{:+.1} %", (predicted / measured - 1.0) * 100.0),
        ]
    };
    let programs = std::iter::once(heading).chain(fitted.programs.iter().map(program));
    text.push_str(&format!("\n{}", columns(&programs.collect::<Vec<_>>())));
    let launch = &fitted.model.launch;
    text.push_str(&format!(
        "\na run {:.1} us, each task {:.2} us beside its kernel\n",
        launch.run * 1e6,
        launch.task * 1e6
    ));
    if !fitted.kept.is_empty() {
        text.push_str(&format!("kept, not told apart by these programs: {}\n", fitted.kept.join(", ")));
    }
    text
}

pub(super) fn json(fitted: &Fitted) -> Value {
    let class = |(class, of): &(&str, Vec<f64>)| {
        let [median, worst] = errors(of);
        json!({ "class": class, "points": of.len(), "median_error": median, "worst_error": worst })
    };
    let program = |(name, measured, predicted): &(String, f64, f64)| json!({ "program": name, "measured_s": measured, "predicted_s": predicted });
    json!({
        "classes": fitted.classes.iter().map(class).collect::<Value>(),
        "programs": fitted.programs.iter().map(program).collect::<Value>(),
        "run_s": fitted.model.launch.run,
        "task_s": fitted.model.launch.task,
        "kept": fitted.kept,
    })
}
