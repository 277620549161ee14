//! The block forms: spaces, tiers, schedules, graphs.

use super::form::{Form, Place, lookup, meant};
use super::{Parsed, Parser, Skip};
use crate::ast::{
    Axis, AxisTile, Dependency, Expr, ExprKind, Extent, Graph, Ident, Said, Schedule, ScheduleMember, Space,
    SpaceMember, Stage, StageRef, Tier, TierDef, TileSize, Where,
};
use crate::codes;
use std::rc::Rc;
use wsp_core::limits::{MAX_THREADS, SPLIT_ALIGN};
use wsp_core::policy::{
    AffinityPolicy, AxisPolicy, Gate, GateScope, Grid, LaunchPolicy, LayoutDim, MeshAxis, OrderPolicy,
    PoolSizes, SplitPolicy,
};
use wsp_diag::{Diagnostic, Span};
use wsp_syntax::{Tok, shorten};

const AFFINITIES: &[&str] = &["PTO_CORE_GROUP", "PTO_CORE_LOCAL", "PTO_SPREAD"];

const ORDERS: &[&str] = &[
    "PTO_SEQUENTIAL",
    "PTO_SEQUENTIAL_STRICT",
    "PTO_PARALLEL",
    "PTO_INTERLEAVED",
    "PTO_BLOCKED",
    "PTO_LONGEST_FIRST",
];

const SPLITS: &[&str] = &["PTO_WHOLE", "PTO_FIXED", "PTO_BALANCED"];

const LAYOUTS: &[&str] = &["PTO_SHARD", "PTO_REPLICATE"];

const SCOPES: &[&str] = &["PTO_PER_POOL"];

impl Parser<'_> {
    /// `NAME(name)` of a block form.
    pub(super) fn form_name(&mut self, form: &'static Form, what: &str) -> Parsed<Ident> {
        let open = self.form_open(form)?;
        let name = self.name(what)?;
        self.form_close(form, open)?;
        Ok(name)
    }

    pub(super) fn space(&mut self, form: &'static Form) -> Parsed<Space> {
        let start = self.span();
        let name = self.form_name(form, "the name of the space")?;
        let mut members = Vec::new();
        self.form_members(form, |p| {
            members.push(p.space_member()?);
            Ok(())
        })?;
        Ok(Space { name, members, span: self.span_from(start) })
    }

    fn space_member(&mut self) -> Parsed<SpaceMember> {
        let start = self.span();
        let member = match self.word().and_then(lookup) {
            Some(form) if form.name == "PTO_AXIS" => SpaceMember::Axis(self.axis(form, start)?),
            Some(form) if form.name == "PTO_TILE" => SpaceMember::Tile(self.axis_tile(form, start)?),
            Some(form) if form.name == "PTO_WHERE" => {
                let open = self.form_open(form)?;
                let cond = self.expr()?;
                self.form_close(form, open)?;
                SpaceMember::Where(Where { cond, span: self.span_from(start) })
            }
            _ => {
                let place = Place::Inside("PTO_SPACE");
                return Err(self.unknown_form(place, "`PTO_AXIS`, `PTO_TILE` or `PTO_WHERE`"));
            }
        };
        Ok(member)
    }

    fn axis(&mut self, form: &'static Form, start: Span) -> Parsed<Axis> {
        let open = self.form_open(form)?;
        let name = self.name("the name of the axis")?;
        self.form_comma(form, "the first index")?;
        let first = self.expr()?;
        self.form_comma(form, "the end, or `PTO_DYNAMIC`")?;
        let end = self.extent()?;
        self.form_close(form, open)?;
        Ok(Axis { name, start: first, end, span: self.span_from(start) })
    }

    /// An expression or `PTO_DYNAMIC`.
    pub(super) fn extent(&mut self) -> Parsed<Extent> {
        if self.at_word("PTO_DYNAMIC") {
            let token = self.bump();
            return Ok(Extent::Dynamic(self.span_of(token)));
        }
        self.expr().map(Extent::Expr)
    }

    fn axis_tile(&mut self, form: &'static Form, start: Span) -> Parsed<AxisTile> {
        let open = self.form_open(form)?;
        let axis = self.name("the name of an axis")?;
        self.form_comma(form, "the tile size, or `PTO_AUTO`")?;
        let size = if self.at_word("PTO_AUTO") {
            let token = self.bump();
            TileSize::Auto(self.span_of(token))
        } else {
            TileSize::Expr(self.expr()?)
        };
        let third = self.at(Tok::Comma) && self.peek(1).kind != Tok::RParen;
        if third {
            self.bump();
            if !self.at_word("PTO_PAD_LAST") {
                let diagnostic = Diagnostic::error(codes::UNKNOWN_POLICY, "unknown option of `PTO_TILE`")
                    .at(self.span(), "expected `PTO_PAD_LAST`")
                    .help(format!("write `{}`", form.usage));
                return Err(self.report(diagnostic));
            }
            self.bump();
        }
        self.form_close(form, open)?;
        Ok(AxisTile { axis, size, pad_last: third, span: self.span_from(start) })
    }

    pub(super) fn tier_def(&mut self, form: &'static Form) -> Parsed<TierDef> {
        let start = self.span();
        let name = self.form_name(form, "the name of the tier set")?;
        let mut tiers = Vec::new();
        self.form_members(form, |p| {
            tiers.push(p.tier()?);
            Ok(())
        })?;
        Ok(TierDef { name, tiers, span: self.span_from(start) })
    }

    fn tier(&mut self) -> Parsed<Tier> {
        let start = self.span();
        let form = match self.word().and_then(lookup) {
            Some(form) if form.place == Place::Inside("PTO_TIER_DEF") => form,
            _ => return Err(self.unknown_form(Place::Inside("PTO_TIER_DEF"), "`PTO_TIER` or `PTO_DEFAULT`")),
        };
        let open = self.form_open(form)?;
        let cond = match form.name {
            "PTO_TIER" => {
                let cond = self.expr()?;
                self.form_comma(form, "the kernel of the tier")?;
                Some(cond)
            }
            _ => None,
        };
        let kernel = self.name("the name of a kernel")?;
        let workspace = if self.form_more() { Some(self.expr()?) } else { None };
        self.form_close(form, open)?;
        Ok(Tier { cond, kernel, workspace, span: self.span_from(start) })
    }

    pub(super) fn schedule(&mut self, form: &'static Form) -> Parsed<Schedule> {
        let start = self.span();
        let name = self.form_name(form, "the name of the schedule")?;
        let mut members = Vec::new();
        self.form_members(form, |p| {
            members.push(p.schedule_member()?);
            Ok(())
        })?;
        Ok(Schedule { name, members, span: self.span_from(start) })
    }

    fn schedule_member(&mut self) -> Parsed<ScheduleMember> {
        let start = self.span();
        let form = match self.word().and_then(lookup) {
            Some(form) if form.name == "PTO_PROFILE_GUIDED" => {
                let diagnostic =
                    Diagnostic::error(codes::NOT_SUPPORTED, "`PTO_PROFILE_GUIDED` is not supported yet")
                        .at(self.span(), "")
                        .help("state the order itself, for instance `PTO_ORDER(batch, PTO_INTERLEAVED(2))`");
                return Err(self.report(diagnostic));
            }
            Some(form) if form.place == Place::Inside("PTO_SCHEDULE") => form,
            _ => return Err(self.unknown_form(Place::Inside("PTO_SCHEDULE"), "a statement of a schedule")),
        };
        let open = self.form_open(form)?;
        let said = match form.name {
            "PTO_PIPELINE_DEPTH" => Said::Launch(LaunchPolicy::Gate(self.gate()?)),
            "PTO_POOLS" => Said::Launch(LaunchPolicy::Pools(self.pools(form)?)),
            "PTO_SPATIAL_MAP" => Said::Launch(LaunchPolicy::Grid(self.grid(form)?)),
            "PTO_LAYOUT" | "PTO_RELAYOUT" => self.layout(form)?,
            _ => {
                let axis = self.name("the name of an axis")?;
                Said::Axis(axis, self.axis_policy(form)?)
            }
        };
        self.form_close(form, open)?;
        Ok(ScheduleMember { said, span: self.span_from(start) })
    }

    /// What a statement says of an axis, behind the axis.
    fn axis_policy(&mut self, form: &'static Form) -> Parsed<AxisPolicy<Expr>> {
        Ok(match form.name {
            "PTO_AFFINITY" => {
                self.form_comma(form, "a policy: `PTO_CORE_GROUP`, `PTO_CORE_LOCAL` or `PTO_SPREAD`")?;
                AxisPolicy::Affinity(self.affinity_policy()?)
            }
            "PTO_ORDER" => {
                self.form_comma(form, "an order such as `PTO_PARALLEL`")?;
                AxisPolicy::Order(self.order_policy()?)
            }
            "PTO_SPLIT" => {
                self.form_comma(form, "a policy: `PTO_WHOLE`, `PTO_FIXED(n)` or `PTO_BALANCED`")?;
                AxisPolicy::Split(self.split_policy()?)
            }
            "PTO_PREFETCH" => {
                self.form_comma(form, "the depth")?;
                AxisPolicy::Prefetch(self.count("the depth of a prefetch")?)
            }
            _ => AxisPolicy::Priority,
        })
    }

    fn gate(&mut self) -> Parsed<Gate> {
        let capacity = self.count("the number of tasks that run at once")?;
        let scope = if self.form_more() {
            if !self.at_word(SCOPES[0]) {
                return Err(self.unknown_policy("a scope", SCOPES));
            }
            self.bump();
            GateScope::PerPool
        } else {
            GateScope::Global
        };
        Ok(Gate { scope, capacity })
    }

    fn pools(&mut self, form: &'static Form) -> Parsed<PoolSizes> {
        let vector = self.workers("the number of workers for vector tasks")?;
        self.form_comma(form, "the number of workers for cube tasks")?;
        let cube = self.workers("the number of workers for cube tasks")?;
        Ok(PoolSizes::ByUnit { vector, cube })
    }

    fn grid(&mut self, form: &'static Form) -> Parsed<Grid> {
        if matches!(self.tok(), Tok::LParen | Tok::RParen) {
            let help = format!("write `{}`", form.usage);
            let fault = self.expected(codes::EXPECTED_TOKEN, "the number of tiles of a row");
            return Err(self.report(fault.help(help)));
        }
        let x = self.workers("the number of tiles of a row")?;
        self.form_comma(form, "the number of rows")?;
        Ok(Grid { x, y: self.workers("the number of rows")? })
    }

    fn layout(&mut self, form: &'static Form) -> Parsed<Said> {
        let tensor = self.name("the name of a tensor")?;
        self.form_comma(form, "`PTO_SHARD(x)`, `PTO_SHARD(y)` or `PTO_REPLICATE` for each dimension")?;
        let mut dims = vec![self.layout_dim()?];
        while self.form_more() {
            dims.push(self.layout_dim()?);
        }
        Ok(Said::Layout { tensor, dims, where_read: form.name == "PTO_RELAYOUT" })
    }

    fn layout_dim(&mut self) -> Parsed<LayoutDim> {
        let shards = match self.word() {
            Some("PTO_REPLICATE") => false,
            Some("PTO_SHARD") => true,
            _ => return Err(self.unknown_policy("the layout of a dimension", LAYOUTS)),
        };
        self.bump();
        if !shards {
            return Ok(LayoutDim::Replicate);
        }
        let open = self.expect(Tok::LParen, "`(` and an axis of the grid, `x` or `y`, after `PTO_SHARD`")?;
        let named = self.word().and_then(|word| MeshAxis::WORDS.iter().find(|(known, _)| *known == word));
        let Some((_, axis)) = named else {
            return Err(self.unknown_policy("an axis of the grid of `PTO_SPATIAL_MAP`", &["x", "y"]));
        };
        self.bump();
        self.close(open, "`)` after the axis")?;
        Ok(LayoutDim::Shard(*axis))
    }

    fn workers(&mut self, what: &str) -> Parsed<u32> {
        self.count_to(what, MAX_THREADS)
    }

    fn affinity_policy(&mut self) -> Parsed<AffinityPolicy> {
        let policy = match self.word() {
            Some("PTO_CORE_GROUP") => AffinityPolicy::CoreGroup,
            Some("PTO_CORE_LOCAL") => AffinityPolicy::CoreLocal,
            Some("PTO_SPREAD") => AffinityPolicy::Spread,
            _ => return Err(self.unknown_policy("an affinity", AFFINITIES)),
        };
        self.bump();
        Ok(policy)
    }

    fn order_policy(&mut self) -> Parsed<OrderPolicy> {
        let plain = match self.word() {
            Some("PTO_SEQUENTIAL") => OrderPolicy::Sequential,
            Some("PTO_SEQUENTIAL_STRICT") => OrderPolicy::SequentialStrict,
            Some("PTO_PARALLEL") => OrderPolicy::Parallel,
            Some(word @ ("PTO_INTERLEAVED" | "PTO_BLOCKED")) => {
                self.bump();
                let open = self.expect(Tok::LParen, &format!("`(` and a count after `{word}`"))?;
                let n = self.count(&format!("the count of `{word}`"))?;
                self.close(open, "`)` after the count")?;
                return Ok(if word == "PTO_BLOCKED" {
                    OrderPolicy::Blocked(n)
                } else {
                    OrderPolicy::Interleaved(n)
                });
            }
            Some("PTO_LONGEST_FIRST") => OrderPolicy::LongestFirst,
            _ => return Err(self.unknown_policy("an order", ORDERS)),
        };
        self.bump();
        Ok(plain)
    }

    fn split_policy(&mut self) -> Parsed<SplitPolicy<Expr>> {
        let word = match self.word() {
            Some(word @ ("PTO_WHOLE" | "PTO_FIXED" | "PTO_BALANCED")) => word,
            _ => return Err(self.unknown_policy("a split", SPLITS)),
        };
        self.bump();
        if word == "PTO_WHOLE" {
            return Ok(SplitPolicy::Whole);
        }
        if word == "PTO_BALANCED" && !self.at(Tok::LParen) {
            return Ok(SplitPolicy::Balanced(SPLIT_ALIGN));
        }
        let open = self.expect(Tok::LParen, &format!("`(` and a number of elements after `{word}`"))?;
        let policy = match word {
            "PTO_FIXED" => SplitPolicy::Fixed(self.expr()?),
            _ => SplitPolicy::Balanced(self.count("the alignment of `PTO_BALANCED`")?),
        };
        self.close(open, "`)` after the number of elements")?;
        Ok(policy)
    }

    fn unknown_policy(&mut self, what: &str, known: &[&'static str]) -> Skip {
        let Some(word) = self.word() else {
            return self.unexpected(codes::UNKNOWN_POLICY, what);
        };
        let diagnostic =
            Diagnostic::error(codes::UNKNOWN_POLICY, format!("`{}` is not {what}", shorten(word)));
        let list: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
        let diagnostic = diagnostic.at(self.span(), format!("expected {}", list.join(", ")));
        let forms = [("PTO_AFFINITY", AFFINITIES), ("PTO_ORDER", ORDERS), ("PTO_SPLIT", SPLITS)];
        let diagnostic = match forms.iter().find(|(_, policies)| policies.contains(&word)) {
            Some((form, _)) => diagnostic.help(format!("`{word}` belongs in `{form}(axis, {word})`")),
            None => match meant(word, known.iter().copied()) {
                Some(meant) => diagnostic.help(format!("did you mean `{meant}`?")),
                None => diagnostic,
            },
        };
        self.report(diagnostic)
    }

    /// An integer literal from 1 on.
    fn count(&mut self, what: &str) -> Parsed<u32> {
        self.count_to(what, u32::MAX)
    }

    fn count_to(&mut self, what: &str, most: u32) -> Parsed<u32> {
        let expr = self.expr()?;
        let literal = if let ExprKind::Int(lit) = expr.kind {
            Some(lit.value).filter(|value| *value > 0)
        } else {
            None
        };
        let fault = match literal.map(u32::try_from) {
            Some(Ok(value)) if (1..=most).contains(&value) => return Ok(value),
            Some(_) => {
                let value = literal.unwrap_or_default();
                Diagnostic::error(codes::BAD_COUNT, format!("{what} is {value}"))
                    .at(expr.span, format!("the largest is {most}"))
            }
            None => Diagnostic::error(codes::BAD_COUNT, format!("{what} is an integer literal from 1 on"))
                .at(expr.span, "not such a literal")
                .note(format!("the largest is {most}")),
        };
        Err(self.report(fault.help(format!("write a number from 1 to {most}"))))
    }

    pub(super) fn graph(&mut self, form: &'static Form) -> Parsed<Graph> {
        let start = self.span();
        let name = self.form_name(form, "the name of the graph")?;
        let (mut stages, mut dependencies) = (Vec::new(), Vec::new());
        self.form_members(form, |p| {
            let start = p.span();
            match p.word().and_then(lookup) {
                Some(form) if form.name == "PTO_STAGE" => stages.push(p.stage(form, start)?),
                Some(form) if form.name == "PTO_DEPENDENCY" => dependencies.push(p.dependency(form, start)?),
                _ => {
                    return Err(p.unknown_form(Place::Inside("PTO_GRAPH"), "`PTO_STAGE` or `PTO_DEPENDENCY`"));
                }
            }
            Ok(())
        })?;
        Ok(Graph { name, stages, dependencies, span: self.span_from(start) })
    }

    fn stage(&mut self, form: &'static Form, start: Span) -> Parsed<Stage> {
        let open = self.form_open(form)?;
        let name = self.name("the name of the stage")?;
        self.form_comma(form, "the space of the stage")?;
        let space = self.name("the name of a space")?;
        self.form_close(form, open)?;
        Ok(Stage { name, space, span: self.span_from(start) })
    }

    fn dependency(&mut self, form: &'static Form, start: Span) -> Parsed<Dependency> {
        let open = self.form_open(form)?;
        let reader = self.stage_ref()?;
        self.form_comma(form, "what the reader waits for")?;
        let writer = self.stage_ref()?;
        self.form_close(form, open)?;
        Ok(Dependency { reader, writer, span: self.span_from(start) })
    }

    fn stage_ref(&mut self) -> Parsed<StageRef> {
        let stage = self.name("the name of a stage")?;
        self.expect(Tok::Dot, "`.` and a tensor after the stage")?;
        let mut tensor = self.name("the name of a tensor")?;
        if self.eat(Tok::Dot) {
            let part = self.name("`k` or `v`")?;
            let name = Rc::from(format!("{}.{}", tensor.as_str(), part.as_str()));
            tensor = Ident { name, span: tensor.span.to(part.span) };
        }
        let span = self.span_from(stage.span);
        Ok(StageRef { stage, tensor, span })
    }
}
