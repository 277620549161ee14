//! The names of a file: one namespace for everything but axes, stages and local variables.

use super::Sema;
use super::body::Body;
use super::builtins;
use super::codes;
use super::diags::{Reported, Res};
use super::tiles;
use crate::ast::Ident;
use std::rc::Rc;
use wsp_core::{CacheId, FuncId, GraphId, ScheduleId, SpaceId, StructId, TensorId, TierSetId};
use wsp_diag::{Diagnostic, Span, did_you_mean};
use wsp_ir::Storage;

/// What a file-level name stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Symbol {
    /// A parameter or constant: an index into `Sema::globals`.
    Global(usize),
    /// A tensor or launch array.
    Tensor(TensorId),
    /// A paged cache.
    Cache(CacheId),
    /// A space.
    Space(SpaceId),
    /// A tier set.
    Tiers(TierSetId),
    /// A schedule.
    Schedule(ScheduleId),
    /// A descriptor type.
    Struct(StructId),
    /// A kernel.
    Kernel(FuncId),
    /// Any other function: an index into `Sema::functions`.
    Function(usize),
    /// A graph.
    Graph(GraphId),
    /// A name whose definition is wrong; that has been reported.
    Poison,
}

/// A symbol and where it is defined.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named {
    /// What it is.
    pub(crate) symbol: Symbol,
    /// Where its name stands.
    pub(crate) span: Span,
}

impl Symbol {
    /// What it is, with an article.
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Symbol::Global(_) => "a number",
            Symbol::Tensor(_) => "a tensor",
            Symbol::Cache(_) => "a paged cache",
            Symbol::Space(_) => "a space",
            Symbol::Tiers(_) => "a tier set",
            Symbol::Schedule(_) => "a schedule",
            Symbol::Struct(_) => "a descriptor type",
            Symbol::Kernel(_) => "a kernel",
            Symbol::Function(_) => "a function",
            Symbol::Graph(_) => "a graph",
            Symbol::Poison => "not usable",
        }
    }
}

/// Whether no program may give the name a meaning.
fn is_reserved(name: &str) -> bool {
    let form = name.strip_prefix("PTO_").is_some_and(|rest| !rest.contains(|c: char| c.is_ascii_lowercase()));
    form || tiles::find(name).is_some() || builtins::CONSTANTS.iter().any(|c| c.name == name)
}

impl Sema<'_> {
    /// Gives a file-level name its meaning. A second meaning is reported and dropped.
    pub(crate) fn declare(&mut self, ident: &Ident, symbol: Symbol) {
        if self.check_reserved(ident).is_err() {
            return;
        }
        self.declare_as(ident.name.clone(), ident.span, symbol);
    }

    /// [`Sema::declare`] for names that the language itself introduces.
    pub(crate) fn declare_as(&mut self, name: Rc<str>, span: Span, symbol: Symbol) {
        match self.names.get(&name) {
            Some(earlier) => {
                let earlier = earlier.span;
                self.redefined(&name, span, earlier);
            }
            None => {
                self.names.insert(name, Named { symbol, span });
            }
        }
    }

    /// Reports a second definition.
    pub(crate) fn redefined(&mut self, name: &str, span: Span, earlier: Span) -> Reported {
        self.fail(
            Diagnostic::error(codes::REDEFINED, format!("`{name}` is defined twice"))
                .at(span, "defined again here")
                .label(earlier, "first defined here"),
        )
    }

    /// Refuses names that belong to the language.
    pub(crate) fn check_reserved(&mut self, ident: &Ident) -> Res<()> {
        if !is_reserved(ident.as_str()) {
            return Ok(());
        }
        let message = format!("`{}` is a name of the language", ident.as_str());
        Err(self.fail(
            Diagnostic::error(codes::RESERVED_NAME, message)
                .at(ident.span, "cannot be defined")
                .help("choose another name"),
        ))
    }

    /// What a file-level name means. `partial_out` is another name of `partial_o`.
    pub(crate) fn lookup(&self, name: &str) -> Option<Named> {
        let found = self.names.get(name).copied();
        if found.is_none() && name == "partial_out" {
            return self.names.get("partial_o").copied().filter(|n| matches!(n.symbol, Symbol::Tensor(_)));
        }
        found
    }

    /// Finds a name that must be a symbol of one kind: `pick` selects it, `what` names the kind with its article.
    pub(crate) fn expect_symbol<T>(
        &mut self,
        ident: &Ident,
        what: &'static str,
        code: wsp_diag::Code,
        pick: impl Fn(Symbol) -> Option<T>,
    ) -> Res<T> {
        match self.lookup(ident.as_str()) {
            Some(Named { symbol: Symbol::Poison, .. }) => Err(Reported::earlier(&self.diags)),
            Some(named) => pick(named.symbol).ok_or_else(|| self.wrong_kind(ident, named, what)),
            None => {
                let kind = what.split_once(' ').map_or(what, |(_, kind)| kind);
                let near = self.nearest(ident.as_str(), |named| pick(named.symbol).is_some());
                let d = Diagnostic::error(code, format!("no {kind} `{}`", ident.as_str()))
                    .at(ident.span, "unknown");
                Err(self.fail(with_suggestion(d, near)))
            }
        }
    }

    /// Reports a name that stands for something else than what is needed.
    pub(crate) fn wrong_kind(&mut self, ident: &Ident, named: Named, needed: &str) -> Reported {
        let name = ident.as_str();
        let message = format!("`{name}` is {}, not {needed}", named.symbol.describe());
        let d = Diagnostic::error(codes::WRONG_KIND, message)
            .at(ident.span, format!("{needed} is needed here"))
            .label(named.span, "defined here");
        self.fail(match (named.symbol, needed) {
            (Symbol::Tensor(_), "a tile") => {
                d.help(format!("name a tile; `TLOAD(tile, {name}, {{…}});` loads one from the tensor"))
            }
            _ => d,
        })
    }

    /// The file-level name nearest to `name` among those that `keep` accepts.
    pub(crate) fn nearest(&self, name: &str, keep: impl Fn(&Named) -> bool) -> Option<String> {
        self.suggest(name, self.names.iter().filter(|(_, named)| keep(named)).map(|(name, _)| &**name))
    }

    /// The candidate nearest to `name`. Only the first findings get suggestions, from so many candidates, so that no
    /// file takes long to be refused.
    pub(crate) fn suggest<'n>(
        &self,
        name: &str,
        candidates: impl Iterator<Item = &'n str>,
    ) -> Option<String> {
        const MOST_CANDIDATES: usize = 4096;
        if self.diags.is_crowded() {
            return None;
        }
        did_you_mean(name, candidates.take(MOST_CANDIDATES)).map(str::to_owned)
    }

    /// Reports a name that means nothing where a number is needed.
    pub(crate) fn unknown_value(&mut self, b: &Body, name: &str, span: Span) -> Reported {
        let d =
            Diagnostic::error(codes::UNKNOWN_NAME, format!("unknown name `{name}`")).at(span, "not defined");
        let globals =
            self.names.iter().filter(|(_, n)| matches!(n.symbol, Symbol::Global(_))).map(|(n, _)| &**n);
        let constants = builtins::CONSTANTS.iter().map(|c| c.name);
        let near = self.suggest(name, b.visible().chain(constants).chain(globals));
        let mut d = with_suggestion(d, near);
        if let Some((desc, of)) = b.descriptor_name() {
            let fields = self.field_names(of);
            let ty = &self.module.structs[of.index()].name;
            d = if fields.iter().any(|f| f == name) {
                d.help(format!("write `{desc}.{name}`"))
            } else {
                d.note(format!(
                    "a kernel sees its descriptor only; `{ty}` has the fields {}",
                    quoted(&fields)
                ))
                .help(format!(
                    "use one of these, or add a field `{name}` to `{ty}` and let the generator set it"
                ))
            };
        }
        self.fail(d)
    }

    /// Reports a name that is no tensor, with the line that would declare it.
    pub(crate) fn unknown_tensor(&mut self, name: &str, span: Span) -> Reported {
        let near = self.nearest(name, |n| matches!(n.symbol, Symbol::Tensor(_)));
        let d = Diagnostic::error(codes::UNKNOWN_TENSOR, format!("undeclared tensor `{name}`"))
            .at(span, "no tensor has this name");
        let workspace = self.module.tensors.iter().any(|t| t.storage == Storage::Workspace);
        let d = with_suggestion(d, near);
        let d = if workspace || !name.starts_with("partial") {
            d.help(format!("declare it: `PTO_TENSOR({name}, float, d0, d1)`, or bind it in `PTO_LAUNCH` and give its `PTO_SHAPE`"))
        } else {
            d.help(format!("declare it: `PTO_TENSOR({name}, float, d0, d1)`, or `PTO_WORKSPACE({name}, float, d0)` for one per workspace slot"))
        };
        self.fail(d)
    }
}

/// Adds a help line when there is a near name.
pub(crate) fn with_suggestion(d: Diagnostic, near: Option<String>) -> Diagnostic {
    match near {
        Some(near) => d.help(format!("did you mean `{near}`?")),
        None => d,
    }
}

/// Names in backticks, with commas.
pub(crate) fn quoted<S: AsRef<str>>(names: &[S]) -> String {
    const MOST: usize = 16;
    let mut list: Vec<String> = names.iter().take(MOST).map(|n| format!("`{}`", n.as_ref())).collect();
    if names.len() > MOST {
        list.push(format!("{} more", names.len() - MOST));
    }
    list.join(", ")
}
