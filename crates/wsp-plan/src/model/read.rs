//! From tables of TOML to a model: names, units of measure, ranges of values, and what must fit together.

use super::codes::{MISSING, NAME, PARTS};
use super::part::{Part, Values};
use super::toml::{Table, parse};
use super::{Aicpu, Cluster, Figure, Launch, Memory, Model, Operation, Path, Rate, Rates, Units, role_word};
use wsp_core::ExecPool;
use wsp_diag::{Diagnostic, FileId, Span, did_you_mean};
use wsp_ir::CostClass;
use wsp_ordered::Arrange;

/// Tables of a model, and whether there may be several.
const TABLES: [(&str, bool); 10] = [
    ("model", false),
    ("clock", false),
    ("unit", true),
    ("cluster", false),
    ("cache", false),
    ("memory", true),
    ("path", true),
    ("aicpu", false),
    ("launch", false),
    ("operation", true),
];

/// The model that a text describes.
pub(super) fn read(text: &str, file: FileId) -> Result<Model, Vec<Diagnostic>> {
    let tables = parse(text, file)?;
    let end = text.trim_end().len() as u32;
    let mut reader = Reader { found: Vec::new(), figures: Vec::new(), end: Span::new(file, end, end) };
    for table in &tables {
        reader.check_table(table);
    }
    let model = reader.model(&tables);
    match model {
        Some(model) if reader.found.is_empty() => Ok(model),
        _ => Err(reader.found),
    }
}

struct Reader {
    found: Vec<Diagnostic>,
    figures: Vec<Figure>,
    /// The place of what is missing in the whole file.
    end: Span,
}

impl Reader {
    fn check_table(&mut self, table: &Table<'_>) {
        let Some((_, is_many)) = TABLES.iter().find(|(name, _)| *name == table.name) else {
            let fault = Diagnostic::error(NAME, format!("a machine model has no table `{}`", table.name))
                .at(table.span, "");
            let names = TABLES.map(|(name, _)| name);
            let fault = match did_you_mean(table.name, names) {
                Some(near) => fault.help(format!("did you mean `{near}`?")),
                None => fault.note(format!("tables: {}", names.join(", "))),
            };
            return self.found.push(fault);
        };
        if *is_many != table.is_element {
            let name = table.name;
            let [is, isnt] = if *is_many { [("[[", "]]"), ("[", "]")] } else { [("[", "]"), ("[[", "]]")] };
            let message = format!("`{}{name}{}` for a table `{}{name}{}`", isnt.0, isnt.1, is.0, is.1);
            let fault = Diagnostic::error(NAME, message).at(table.span, "");
            self.found.push(fault.help(format!("write `{}{name}{}`", is.0, is.1)));
        }
    }

    fn missing(&mut self, what: &str, help: &str) {
        let fault = Diagnostic::error(MISSING, format!("a machine model without {what}"));
        self.found.push(fault.at(self.end, "").help(help));
    }

    fn one<T>(
        &mut self,
        tables: &[Table<'_>],
        name: &str,
        take: impl FnOnce(&mut Part<'_, '_>) -> Option<T>,
    ) -> Option<T> {
        let table = tables.iter().find(|table| table.name == name)?;
        self.part(table, take)
    }

    fn many<T>(
        &mut self,
        tables: &[Table<'_>],
        name: &str,
        mut take: impl FnMut(&mut Part<'_, '_>) -> Option<T>,
    ) -> Vec<(T, Span)> {
        let of = tables.iter().filter(|table| table.name == name);
        of.filter_map(|table| Some((self.part(table, &mut take)?, table.span))).collect()
    }

    fn part<T>(&mut self, table: &Table<'_>, take: impl FnOnce(&mut Part<'_, '_>) -> Option<T>) -> Option<T> {
        let mut part = Part::new(table, &mut self.found, &mut self.figures);
        let taken = take(&mut part);
        part.refuse_others(taken.is_some());
        taken
    }

    fn model(&mut self, tables: &[Table<'_>]) -> Option<Model> {
        let header = self.one(tables, "model", |part| {
            let (name, title) = (part.text("name"), part.text("title"));
            let rates = part.optional_word("rates", &[("flat", Rates::Flat), ("fitted", Rates::Fitted)]);
            Some((name?, title?, rates))
        });
        if !tables.iter().any(|table| table.name == "model") {
            self.missing("a name", "begin with `[model]`, `name = \"…\"` and `title = \"…\"`");
        }
        let clock = self.one(tables, "clock", |part| part.figure("rate", "Hz", Values::Positive));
        if !tables.iter().any(|table| table.name == "clock") {
            self.missing("a clock", "write `[clock]` and `rate = { value = 1.85e9, unit = \"Hz\", … }`");
        }
        let units = self.units(tables);
        let cluster = self.one(tables, "cluster", |part| {
            let (cube, vector) = (part.count("cube"), part.count("vector"));
            Some(Cluster { cube: cube?, vector: vector? })
        });
        let domains = self.one(tables, "cache", |part| part.count("domains"));
        let memories = self.memories(tables);
        let paths = self.paths(tables, &memories, header.as_ref().and_then(|(.., rates)| *rates));
        let aicpu = self.one(tables, "aicpu", aicpu);
        let launch = self.one(tables, "launch", launch);
        if !tables.iter().any(|table| table.name == "launch") {
            let help = "write `[launch]` with `run`, `transfer`, `first`, `task` and `kernel`; 0 is possible";
            self.missing("costs of launches", help);
        }
        let operations = self.operations(tables);
        let (name, title, rates) = header?;
        Some(Model {
            name,
            title,
            rates: rates.unwrap_or(Rates::Flat),
            clock: clock?,
            units,
            cluster,
            cache_domains: domains.unwrap_or(1),
            memories,
            paths,
            aicpu,
            launch: launch?,
            operations,
            figures: std::mem::take(&mut self.figures),
        })
    }

    fn units(&mut self, tables: &[Table<'_>]) -> Vec<Units> {
        let mut units = self.many(tables, "unit", |part| {
            let kind = part.word("kind", ExecPool::WORDS)?;
            part.name = format!("unit {}", kind.word());
            let (first, count) = (part.figure("first", "count", Values::Number), part.count("count"));
            Some(Units { kind, first: first? as u32, count: count? })
        });
        if units.is_empty() && self.found.is_empty() {
            let help =
                "write `[[unit]]` with `kind = \"vector\"`, `\"cube\"` or `\"any\"`, `first` and `count`";
            self.missing("units", help);
        }
        units.arrange_by_key(|(of, _)| of.first);
        for pair in units.windows(2) {
            let [(a, _), (b, at)] = pair else { continue };
            if a.first + a.count > b.first {
                let message = format!("two units have the number {}", b.first);
                let note = format!("units `{}` end with {}", a.kind.word(), a.first + a.count - 1);
                self.found.push(Diagnostic::error(PARTS, message).at(*at, "these begin with it").note(note));
            }
        }
        units.into_iter().map(|(of, _)| of).collect()
    }

    fn memories(&mut self, tables: &[Table<'_>]) -> Vec<Memory> {
        let of_what: Vec<(&str, Option<ExecPool>)> = ExecPool::WORDS
            .iter()
            .map(|(word, kind)| (*word, Some(*kind)))
            .chain([("device", None)])
            .collect();
        let memories = self.many(tables, "memory", |part| {
            let name = part.single_word("name")?;
            part.name = format!("memory {name}");
            let of = part.word("of", &of_what);
            let tiles = part.holds("holds");
            let bytes = part.figure("size", "B", Values::Bytes);
            let (is_global, tiles) = tiles?;
            Some(Memory { name, of: of?, bytes: bytes? as u64, tiles, is_global })
        });
        for (at, (memory, span)) in memories.iter().enumerate() {
            for (other, first) in &memories[..at] {
                let what = if other.name == memory.name {
                    format!("two memories are called `{}`", memory.name)
                } else if other.is_global && memory.is_global {
                    "two memories hold tensors".to_owned()
                } else if let Some(role) = memory.tiles.iter().find(|role| other.tiles.contains(role)) {
                    format!("two memories hold tiles `{}`", role_word(*role))
                } else {
                    continue;
                };
                self.found
                    .push(Diagnostic::error(PARTS, what).at(*span, "the second").label(*first, "the first"));
            }
        }
        memories.into_iter().map(|(memory, _)| memory).collect()
    }

    fn paths(&mut self, tables: &[Table<'_>], memories: &[Memory], rates: Option<Rates>) -> Vec<Path> {
        let names: Vec<(&str, usize)> =
            memories.iter().enumerate().map(|(at, memory)| (memory.name.as_str(), at)).collect();
        let paths = self.many(tables, "path", |part| {
            let (from, to) = (part.word("from", &names), part.word("to", &names));
            let (from, to) = (from?, to?);
            part.name = format!("path {} {}", names[from].0, names[to].0);
            let startup = part.figure("startup", "cycles", Values::FromZero);
            let flat = part.optional("rate", "B/s", Values::Positive);
            let peak = part.optional("peak", "B/s", Values::Positive);
            let half = part.optional("half", "B", Values::FromZero);
            let fitted = match (peak, half) {
                (Some(peak), Some(half)) => Some(Rate::Fitted { peak, half }),
                (None, None) => None,
                _ => return part.incomplete("`peak` and `half` are given together"),
            };
            if flat.is_none() && fitted.is_none() {
                return part.incomplete("a path has `rate`, or `peak` and `half`");
            }
            if flat.is_some() && fitted.is_some() && rates.is_none() {
                return part.incomplete(
                    "`[model]` says with `rates = \"flat\"` or `\"fitted\"` which of both counts",
                );
            }
            Some(Path { from, to, startup: startup?, flat, fitted })
        });
        for (at, (path, span)) in paths.iter().enumerate() {
            if path.from == path.to {
                let message = "a path ends where it begins".to_owned();
                self.found.push(Diagnostic::error(PARTS, message).at(*span, ""));
            }
            if let Some((_, first)) =
                paths[..at].iter().find(|(other, _)| (other.from, other.to) == (path.from, path.to))
            {
                let message = format!("two paths from `{}` to `{}`", names[path.from].0, names[path.to].0);
                self.found.push(
                    Diagnostic::error(PARTS, message).at(*span, "the second").label(*first, "the first"),
                );
            }
        }
        paths.into_iter().map(|(path, _)| path).collect()
    }

    fn operations(&mut self, tables: &[Table<'_>]) -> Vec<Operation> {
        let classes: Vec<(&str, CostClass)> = CostClass::ALL
            .into_iter()
            .filter(|class| *class != CostClass::Transfer)
            .map(|class| (class.word(), class))
            .collect();
        let operations = self.many(tables, "operation", |part| {
            let class = part.word("class", &classes)?;
            part.name = format!("operation {}", class.word());
            let startup = part.figure("startup", "cycles", Values::FromZero);
            let keys = ["rate_1", "rate_2", "rate_4", "rate_8"];
            let rates = keys.map(|key| part.optional(key, "elements/cycle", Values::Positive));
            let mut block = [1.0; 3];
            if class == CostClass::Products {
                let rows = part.optional("rows", "elements", Values::Count);
                let cols = part.optional("cols", "elements", Values::Count);
                let depth = part.optional("depth", "B", Values::Bytes);
                block = [rows, cols, depth].map(|extent| extent.unwrap_or(1.0));
            }
            if rates.iter().all(Option::is_none) {
                return part.incomplete(
                    "an operation has a rate for a width: `rate_1`, `rate_2`, `rate_4` or `rate_8`",
                );
            }
            Some(Operation { class, startup: startup?, rates, block })
        });
        for (at, (operation, span)) in operations.iter().enumerate() {
            if let Some((_, first)) =
                operations[..at].iter().find(|(other, _)| other.class == operation.class)
            {
                let message = format!("`{}` is costed twice", operation.class.word());
                self.found.push(
                    Diagnostic::error(PARTS, message).at(*span, "again here").label(*first, "first here"),
                );
            }
        }
        operations.into_iter().map(|(operation, _)| operation).collect()
    }
}

fn aicpu(part: &mut Part<'_, '_>) -> Option<Aicpu> {
    let threads = part.count("threads");
    let keys = ["poll", "start", "completion", "dispatch", "retire", "generation", "notice"];
    let seconds = keys.map(|key| part.figure(key, "s", Values::FromZero));
    let [poll, start, completion, dispatch, retire, generation, notice] = seconds;
    Some(Aicpu {
        threads: threads?,
        poll: poll?,
        start: start?,
        completion: completion?,
        dispatch: dispatch?,
        retire: retire?,
        generation: generation?,
        notice: notice?,
    })
}

fn launch(part: &mut Part<'_, '_>) -> Option<Launch> {
    let [run, first, task] = ["run", "first", "task"].map(|key| part.figure(key, "s", Values::FromZero));
    let transfer = part.figure("transfer", "B/s", Values::Positive);
    let kernel = part.figure("kernel", "cycles", Values::FromZero);
    Some(Launch { run: run?, transfer: transfer?, first: first?, task: task?, kernel: kernel? })
}
