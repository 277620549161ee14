//! The `PTO_` forms that are not plain calls: where each belongs, and the parts they share.

use super::{Parsed, Parser, Skip};
use crate::codes;
use wsp_diag::{Diagnostic, did_you_mean};
use wsp_syntax::{Tok, Token, shorten};

/// Where a form may stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// At file level.
    File,
    /// In the braces of this form.
    Inside(&'static str),
    /// Among the statements of a function.
    Body,
}

/// A `PTO_` form.
#[derive(Debug)]
pub(super) struct Form {
    pub(super) name: &'static str,
    /// How it is written.
    pub(super) usage: &'static str,
    pub(super) place: Place,
}

const fn form(name: &'static str, usage: &'static str, place: Place) -> Form {
    Form { name, usage, place }
}

const SPACE: Place = Place::Inside("PTO_SPACE");
const TIER_DEF: Place = Place::Inside("PTO_TIER_DEF");
const SCHEDULE: Place = Place::Inside("PTO_SCHEDULE");
const GRAPH: Place = Place::Inside("PTO_GRAPH");

/// Every form, and the statement calls that are worth knowing when they are out of place.
const FORMS: &[Form] = &[
    form("PTO_SHAPE", "PTO_SHAPE(name, d0, d1, …)", Place::File),
    form("PTO_PARAM", "PTO_PARAM(type, name, default)", Place::File),
    form("PTO_TENSOR", "PTO_TENSOR(name, type, d0, d1, …)", Place::File),
    form("PTO_WORKSPACE", "PTO_WORKSPACE(name, type, d0, d1, …)", Place::File),
    form("PTO_RESIDENT", "PTO_RESIDENT(name, type, d0, d1, …)", Place::File),
    form("PTO_SPACE", "PTO_SPACE(name) { … }", Place::File),
    form("PTO_TIER_DEF", "PTO_TIER_DEF(name) { … }", Place::File),
    form("PTO_SCHEDULE", "PTO_SCHEDULE(name) { … }", Place::File),
    form("PTO_DESCRIPTOR_GEN", "PTO_DESCRIPTOR_GEN(space) { … }", Place::File),
    form("PTO_KERNEL_IMPL", "PTO_KERNEL_IMPL(name) { … }", Place::File),
    form("PTO_GRAPH", "PTO_GRAPH(name) { … }", Place::File),
    form("PTO_REQUIRE", "PTO_REQUIRE(condition)", Place::File),
    form("PTO_REFERENCE", "PTO_REFERENCE(name, { .role = name, … })", Place::File),
    form("PTO_AXIS", "PTO_AXIS(name, start, end)", SPACE),
    form("PTO_TILE", "PTO_TILE(axis, size[, PTO_PAD_LAST])", SPACE),
    form("PTO_WHERE", "PTO_WHERE(condition)", SPACE),
    form("PTO_TIER", "PTO_TIER(condition, kernel[, workspace])", TIER_DEF),
    form("PTO_DEFAULT", "PTO_DEFAULT(kernel[, workspace])", TIER_DEF),
    form("PTO_AFFINITY", "PTO_AFFINITY(axis, policy)", SCHEDULE),
    form("PTO_ORDER", "PTO_ORDER(axis, policy)", SCHEDULE),
    form("PTO_PREFETCH", "PTO_PREFETCH(axis, depth)", SCHEDULE),
    form("PTO_SPLIT", "PTO_SPLIT(axis, policy)", SCHEDULE),
    form("PTO_PRIORITY", "PTO_PRIORITY(axis)", SCHEDULE),
    form("PTO_PIPELINE_DEPTH", "PTO_PIPELINE_DEPTH(n[, PTO_PER_POOL])", SCHEDULE),
    form("PTO_POOLS", "PTO_POOLS(vector, cube)", SCHEDULE),
    form("PTO_SPATIAL_MAP", "PTO_SPATIAL_MAP(x, y)", SCHEDULE),
    form("PTO_LAYOUT", "PTO_LAYOUT(tensor, PTO_SHARD(x), PTO_REPLICATE, …)", SCHEDULE),
    form("PTO_RELAYOUT", "PTO_RELAYOUT(tensor, PTO_SHARD(x), PTO_REPLICATE, …)", SCHEDULE),
    form("PTO_PROFILE_GUIDED", "PTO_PROFILE_GUIDED(axis, { … })", SCHEDULE),
    form("PTO_STAGE", "PTO_STAGE(name, space)", GRAPH),
    form("PTO_DEPENDENCY", "PTO_DEPENDENCY(reader.tensor, writer.tensor)", GRAPH),
    form("PTO_FOR_EACH", "PTO_FOR_EACH(var, start, end) { … }", Place::Body),
    form("PTO_SCHEDULED_FOR", "PTO_SCHEDULED_FOR(v0, v1, …) { … }", Place::Body),
    form("PTO_EMIT_DESCRIPTOR", "PTO_EMIT_DESCRIPTOR(Type{ .field = value, … });", Place::Body),
    form("PTO_APPLY_SCHEDULE", "PTO_APPLY_SCHEDULE(schedule);", Place::Body),
    form("PTO_SET_TILE", "PTO_SET_TILE(axis, size);", Place::Body),
    form("PTO_SET_EXTENT", "PTO_SET_EXTENT(axis, extent);", Place::Body),
    form("PTO_STORE_SCALAR", "PTO_STORE_SCALAR(tensor, value, { … });", Place::Body),
    form("PTO_LAUNCH", "PTO_LAUNCH(space, { .name = parameter, … });", Place::Body),
];

/// What is written for channels and processes, which workloads have.
const OF_PIPELINES: &[&str] = &[
    "PTO_CHANNEL",
    "PTO_CLOSE",
    "PTO_CONNECT",
    "PTO_CONSUME",
    "PTO_PIPELINE",
    "PTO_PROCESS",
    "PTO_RECV",
    "PTO_RECEIVE",
    "PTO_REPLICATE",
    "PTO_SEND",
];
const PIPELINE_OF_WORKLOAD: &str = "join kernels of this file by channels in a `.wsp` file: `use \"FILE.pto\"; workload main { channel c[2]; pipeline { process load { send c as s { first(…); } } process work { consume c as s { second(…); } } } }`";

/// The form with this name.
pub(super) fn lookup(name: &str) -> Option<&'static Form> {
    FORMS.iter().find(|form| form.name == name)
}

/// The name that is meant: one of which the `PTO_` is left out or the case is another, or the nearest.
pub(super) fn meant<'a>(word: &str, known: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let is_short_for =
        |name: &&str| name.strip_prefix("PTO_").is_some_and(|rest| rest.eq_ignore_ascii_case(word));
    known.clone().find(is_short_for).or_else(|| did_you_mean(word, known))
}

/// Whether a word is the name of a form of files in another case or without its `PTO_`.
pub(super) fn is_file_form(word: &str) -> bool {
    let is_same =
        |name: &str| name.eq_ignore_ascii_case(word) || meant(word, [name].into_iter()) == Some(name);
    FORMS.iter().filter(|form| form.place == Place::File).any(|form| is_same(form.name))
}

impl Form {
    /// Where it belongs, as a phrase.
    fn home(&self) -> String {
        match self.place {
            Place::File => "at file level, outside of every `{ … }`".to_owned(),
            Place::Inside(outer) => {
                let usage = lookup(outer).map_or(outer, |form| form.usage);
                format!("inside `{usage}`")
            }
            Place::Body => "inside a generator, kernel or function".to_owned(),
        }
    }
}

impl Parser<'_> {
    /// Consumes the form's name and `(`.
    pub(super) fn form_open(&mut self, form: &'static Form) -> Parsed<Token> {
        self.bump();
        self.expect(Tok::LParen, &format!("`(` after `{}`", form.name))
    }

    /// Consumes the `,` before an argument.
    pub(super) fn form_comma(&mut self, form: &'static Form, argument: &str) -> Parsed<()> {
        let comma = self.eat(Tok::Comma);
        if self.at(Tok::RParen) {
            let message = format!("`{}` has too few arguments", form.name);
            let diagnostic = Diagnostic::error(codes::MISSING_ARGUMENT, message)
                .at(self.span(), format!("expected {argument}"))
                .help(format!("write `{}`", form.usage));
            return Err(self.report(diagnostic));
        }
        if comma {
            return Ok(());
        }
        self.expect(Tok::Comma, &format!("`,` and {argument}")).map(|_| ())
    }

    /// Consumes `)`, after an optional comma.
    pub(super) fn form_close(&mut self, form: &'static Form, open: Token) -> Parsed<()> {
        if self.at(Tok::Comma) && self.peek(1).kind == Tok::RParen {
            self.bump();
        }
        if self.at(Tok::Comma) {
            let message = format!("`{}` has too many arguments", form.name);
            let diagnostic = Diagnostic::error(codes::TOO_MANY_ARGUMENTS, message)
                .at(self.span_of(self.peek(1)), "not expected")
                .help(format!("write `{}`", form.usage));
            return Err(self.report(diagnostic));
        }
        self.close(open, &format!("`)` to close `{}`", form.name))
    }

    /// Whether another argument of a list follows; consumes the `,` before it.
    pub(super) fn form_more(&mut self) -> bool {
        self.at(Tok::Comma) && self.peek(1).kind != Tok::RParen && self.eat(Tok::Comma)
    }

    /// Reports a form that would have processes and channels, which a file of kernels has none of.
    fn form_of_pipelines(&mut self, word: &str) -> Skip {
        let message = format!("unknown form `{word}`: a `.pto` file has no processes and channels");
        let diagnostic = Diagnostic::error(codes::UNKNOWN_FORM, message).at(self.span(), "");
        self.report(diagnostic.help(PIPELINE_OF_WORKLOAD))
    }

    /// Reports a word that is no form of this place. `here` is what the place is called.
    pub(super) fn unknown_form(&mut self, place: Place, here: &str) -> Skip {
        let Some(word) = self.word() else {
            return self.unexpected(codes::EXPECTED_TOKEN, here);
        };
        if OF_PIPELINES.contains(&word) {
            return self.form_of_pipelines(word);
        }
        let legal = || FORMS.iter().filter(move |form| form.place == place);
        let diagnostic = match lookup(word) {
            Some(form) => {
                let message = format!("`{word}` is out of place");
                Diagnostic::error(codes::MISPLACED_FORM, message)
                    .at(self.span(), format!("expected {here}"))
                    .help(format!("`{}` stands {}", form.usage, form.home()))
            }
            None => {
                let message = format!("unknown form `{}`", shorten(word));
                let names = || legal().map(|form| form.name);
                let elsewhere = || FORMS.iter().map(|form| form.name);
                let diagnostic = Diagnostic::error(codes::UNKNOWN_FORM, message)
                    .at(self.span(), format!("expected {here}"));
                match meant(word, names()).or_else(|| meant(word, elsewhere())).and_then(lookup) {
                    Some(form) if form.place == place => {
                        diagnostic.help(format!("did you mean `{}`?", form.usage))
                    }
                    Some(form) => {
                        diagnostic.help(format!("`{}` is near, which stands {}", form.usage, form.home()))
                    }
                    None => {
                        let list: Vec<String> = names().map(|name| format!("`{name}`")).collect();
                        diagnostic.note(format!("known here: {}", list.join(", ")))
                    }
                }
            }
        };
        self.report(diagnostic)
    }

    /// Parses the members of a block form up to and with its `}`. A broken member is left out.
    pub(super) fn form_members(
        &mut self,
        form: &'static Form,
        mut member: impl FnMut(&mut Self) -> Parsed<()>,
    ) -> Parsed<()> {
        let open = self.expect(Tok::LBrace, &format!("`{{` after `{}(…)`", form.name))?;
        let base = self.open.len();
        loop {
            let before = self.pos;
            match self.tok() {
                Tok::RBrace => {
                    self.bump();
                    return Ok(());
                }
                Tok::Semi => {
                    self.bump();
                }
                Tok::Eof => return Err(self.unclosed_block(open)),
                _ if self.brace_excess > 0 && self.at_item_start() => {
                    self.item_ahead = true;
                    return Err(self.unclosed_block(open));
                }
                _ => {
                    if let Err(Skip) = member(self) {
                        self.recover_member(before, base);
                    }
                }
            }
            self.progress(before);
        }
    }
}
