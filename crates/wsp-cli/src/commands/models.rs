//! `wsp targets --model`: what a machine model says, and how each figure is known.

use super::tables::columns;
use super::{Outcome, Session};
use crate::args::TargetsArgs;
use crate::files::read_source;
use pto_wsp::codes;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::path::Path;
use wsp_diag::Diagnostic;
use wsp_plan::target::model::{self, Memory, Model, Rates, Units};

impl Session {
    /// The machine model of a name, or of a file, whose path has a `.` or a separator in it.
    ///
    /// # Errors
    /// There is none, or something is wrong with the file.
    pub(crate) fn model(&mut self, named: &str) -> Result<Cow<'static, Model>, Vec<Diagnostic>> {
        if !named.contains(['.', '/', std::path::MAIN_SEPARATOR]) {
            return model::named(named).map(Cow::Borrowed).map_err(|fault| vec![fault]);
        }
        let text = read_source(Path::new(named)).map_err(|fault| vec![fault])?;
        let file = self.sources.add(named, text.as_str());
        Model::read(&text, file).map(Cow::Owned)
    }
}

/// Prints every figure of a model, or with an empty name which models there are.
pub(super) fn print(
    session: &mut Session,
    named: &str,
    args: &TargetsArgs,
) -> Result<Outcome, Vec<Diagnostic>> {
    let json = args.json;
    if named.is_empty() && args.toml {
        let fault = Diagnostic::error(codes::OPTIONS_CONTRADICT, "`--toml` prints one model");
        return Err(vec![fault.help(format!("name it: `--model {} --toml`", model::NAMES[1]))]);
    }
    if named.is_empty() {
        let models: Vec<_> = model::NAMES.iter().filter_map(|name| model::named(name).ok()).collect();
        if json {
            let row = |of: &&Model| json!({ "name": of.name, "title": of.title, "units": units_json(of) });
            session.terminal.print_json(&models.iter().map(row).collect());
        } else {
            let row = |of: &&Model| [of.name.clone(), of.title.clone(), units(of)];
            let heading = ["model", "of", "units"].map(str::to_owned);
            let rows: Vec<_> = std::iter::once(heading).chain(models.iter().map(row)).collect();
            session.terminal.print(&columns(&rows));
        }
        return Ok(Outcome::Done);
    }
    let model = session.model(named)?;
    if args.toml {
        session.terminal.print(&model.to_text());
    } else if json {
        session.terminal.print_json(&as_json(&model));
    } else {
        session.terminal.print(&as_text(&model));
    }
    Ok(Outcome::Done)
}

fn as_text(model: &Model) -> String {
    let memory = |memory: &Memory| {
        let holds = holds(memory);
        let holds = if holds.is_empty() { String::new() } else { format!(", holds {}", holds.join(" ")) };
        format!("{} of the {}{holds}", memory.name, of(memory))
    };
    let mut text = format!("{}: {}\n\nunits     {}\n", model.name, model.title, units(model));
    for (at, of) in model.memories.iter().enumerate() {
        text.push_str(&format!("{:<10}{}\n", if at == 0 { "memories" } else { "" }, memory(of)));
    }
    text.push_str(&format!("rates     {}, of paths that have both\n\n", rates(model)));
    let heading = ["figure", "value", "known as", "source"].map(str::to_owned);
    let row = |of: &model::Figure| {
        [format!("{} {}", of.part, of.key), of.to_string(), of.mark.word().to_owned(), of.source.clone()]
    };
    let rows: Vec<_> = std::iter::once(heading).chain(model.figures.iter().map(row)).collect();
    text + &columns(&rows)
}

pub(super) fn as_json(model: &Model) -> Value {
    let figure = |of: &model::Figure| {
        json!({
            "part": of.part, "key": of.key, "value": of.value, "unit": of.unit, "mark": of.mark.word(), "source": of.source,
        })
    };
    let memory = |memory: &Memory| json!({ "name": memory.name, "of": of(memory), "holds": holds(memory) });
    json!({
        "name": model.name,
        "title": model.title,
        "rates": rates(model),
        "units": units_json(model),
        "memories": model.memories.iter().map(memory).collect::<Value>(),
        "figures": model.figures.iter().map(figure).collect::<Value>(),
    })
}

fn units(model: &Model) -> String {
    let one = |of: &Units| format!("{}-{} {}", of.first, of.first + of.count - 1, of.kind.word());
    model.units.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn units_json(model: &Model) -> Value {
    let one = |of: &Units| json!({ "kind": of.kind.word(), "first": of.first, "count": of.count });
    model.units.iter().map(one).collect()
}

fn rates(model: &Model) -> &'static str {
    match model.rates {
        Rates::Flat => "flat",
        Rates::Fitted => "fitted",
    }
}

/// What has a memory.
fn of(memory: &Memory) -> &'static str {
    memory.of.map_or("device", |kind| kind.word())
}

/// What a memory holds, in the words of models.
fn holds(memory: &Memory) -> Vec<&'static str> {
    let tensors = memory.is_global.then_some("tensors");
    tensors.into_iter().chain(memory.tiles.iter().map(|role| model::role_word(*role))).collect()
}
