//! From a model to the text that it is read from.

use super::{Figure, Mark, Model, Rates, role_word};
use std::fmt::Write as _;
use wsp_syntax::{Escapes, quoted};

impl Model {
    /// The model as TOML: what [`Model::figures`] say, with the words of its tables. [`Model::read`] takes it back.
    pub fn to_text(&self) -> String {
        let mut text = format!("[model]\nname = {}\ntitle = {}\n", string(&self.name), string(&self.title));
        if self.paths.iter().any(|path| path.flat.is_some() && path.fitted.is_some()) {
            let rates = if self.rates == Rates::Flat { "flat" } else { "fitted" };
            text.push_str(&format!("rates = \"{rates}\"\n"));
        }
        let mut open: Vec<&str> = Vec::new();
        let mut part = None;
        for figure in &self.figures {
            // A second table of the same words begins with a key that the first has.
            if part != Some(&figure.part) || open.contains(&figure.key) {
                text.push_str(&self.header(&figure.part));
                open.clear();
                part = Some(&figure.part);
            }
            open.push(figure.key);
            let Figure { key, value, unit, mark, source, .. } = figure;
            let (mark, source) = (mark.word(), string(source));
            let _ = writeln!(
                text,
                "{key} = {{ value = {}, unit = \"{unit}\", mark = \"{mark}\", source = {source} }}",
                number(*value)
            );
        }
        text
    }

    /// Gives a figure another value; false where there is none with this key in this part.
    pub fn set_figure(&mut self, part: &str, key: &str, value: f64, mark: Mark, source: &str) -> bool {
        let mut figures = self.figures.iter_mut();
        let Some(figure) = figures.find(|figure| figure.part == part && figure.key == key) else {
            return false;
        };
        (figure.value, figure.mark, figure.source) = (value, mark, source.to_owned());
        true
    }

    /// The beginning of the table that figures are listed under as `part`.
    fn header(&self, part: &str) -> String {
        let mut words = part.split(' ');
        let table = words.next().unwrap_or(part);
        let mut word = || string(words.next().unwrap_or(""));
        match table {
            "unit" => format!("\n[[unit]]\nkind = {}\n", word()),
            "operation" => format!("\n[[operation]]\nclass = {}\n", word()),
            "path" => format!("\n[[path]]\nfrom = {}\nto = {}\n", word(), word()),
            "memory" => {
                let memory =
                    self.memories.iter().find(|memory| part.strip_prefix("memory ") == Some(&memory.name));
                let Some(memory) = memory else { return String::new() };
                let of = memory.of.map_or("device", |kind| kind.word());
                let mut text = format!("\n[[memory]]\nname = {}\nof = \"{of}\"\n", string(&memory.name));
                let tensors = memory.is_global.then_some("tensors");
                let holds: Vec<&str> =
                    tensors.into_iter().chain(memory.tiles.iter().map(|role| role_word(*role))).collect();
                if !holds.is_empty() {
                    text.push_str(&format!("holds = \"{}\"\n", holds.join(" ")));
                }
                text
            }
            table => format!("\n[{table}]\n"),
        }
    }
}

/// A string of TOML; characters that it cannot have are left out.
fn string(text: &str) -> String {
    let plain: String = text.chars().filter(|c| !c.is_control()).collect();
    quoted(&plain, Escapes::Hex)
}

fn number(value: f64) -> String {
    let digits = format!("{value:?}");
    digits.strip_suffix(".0").filter(|digits| digits.len() <= 18).unwrap_or(&digits).to_owned()
}
