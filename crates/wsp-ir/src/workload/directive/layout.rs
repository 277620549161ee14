//! `layout(tensor, [replicate, shard(x), …])`.

use super::{
    DirectiveDef, DirectiveFields, DirectiveInterface, DirectiveKind, Form, MissingRequirement, Schedule,
    SchedulePolicy, capability_rows,
};
use crate::workload::build::ScheduleBuilder;
use crate::workload::text::{Parsed, Parser, Printer, Tok};
use crate::workload::verify::Checker;
use crate::{CapabilityRow, Layout, Support};
use wsp_core::policy::{LayoutDim, MeshAxis};
use wsp_diag::Span;

impl ScheduleBuilder<'_> {
    /// How a tensor lies on the grid of [`spatial_map`](Self::spatial_map): one entry for each of its dimensions.
    pub fn layout(&mut self, tensor: &str, dims: &[LayoutDim]) -> &mut Self {
        self.plain(Layout::new(tensor, dims, Span::default()))
    }

    /// The same of a tensor whose elements are sums: each tile along the `pending` axes has a part of them.
    pub fn layout_pending(&mut self, tensor: &str, dims: &[LayoutDim], pending: &[MeshAxis]) -> &mut Self {
        let pending = pending.to_vec();
        self.plain(Layout { pending, ..Layout::new(tensor, dims, Span::default()) })
    }
}

impl DirectiveDef for Layout {
    const FORMS: &'static [Form] = &[Form::Statement("layout")];

    capability_rows! {
        Layout { .. } => CapabilityRow::new(
            "layout(tensor, [shard(x), replicate, …])",
            Support::Simulated,
            "a task is for the tile that has the first element that it stores of a sharded tensor, or, along axes over which it stores none, loads; kernels that read what no tile has whole are an error that says what to write",
        )
        .on_aicpus(
            Support::Error,
            "AICPUs have no grid of tiles; `cpu_sim` without `--aicpus` has one, simulated",
        ),
    }

    fn parse(parser: &mut Parser<'_>, _: Form) -> Parsed<Layout> {
        let mut layout = parse_dims(parser)?;
        while parser.at(Tok::Comma) {
            parser.expect(Tok::Comma, "`,`")?;
            let (word, span) = parser.name("`pending(x)`")?;
            if word != "pending" {
                return Err(parser.unknown_word(word, span, "part of a layout", &["pending"]));
            }
            layout.pending.push(in_brackets(parser, "pending")?);
        }
        Ok(layout)
    }

    fn read<F: DirectiveFields>(fields: &mut F) -> Result<Layout, F::Fault> {
        let mut layout = read_dims(fields)?;
        layout.pending = fields.words("pending", MeshAxis::WORDS)?;
        Ok(layout)
    }
}

/// `tensor, [replicate, shard(x)]`.
pub(super) fn parse_dims(parser: &mut Parser<'_>) -> Parsed<Layout> {
    let (tensor, span) = parser.name("the name of a tensor")?;
    parser.expect(Tok::Comma, "`,` and a list such as `[shard(x), replicate]`")?;
    let dims = parser.bracketed("`shard(x)`, `shard(y)` or `replicate` for each dimension", |parser| {
        let (word, span) = parser.name("`shard(x)`, `shard(y)` or `replicate`")?;
        match word {
            "replicate" => Ok(LayoutDim::Replicate),
            "shard" => in_brackets(parser, "shard").map(LayoutDim::Shard),
            _ => Err(parser.unknown_word(word, span, "layout of a dimension", &["shard", "replicate"])),
        }
    })?;
    Ok(Layout::new(tensor, &dims, span))
}

/// `(x)` behind a word.
fn in_brackets(parser: &mut Parser<'_>, word: &str) -> Parsed<MeshAxis> {
    let open = parser.open(&format!("`(` after `{word}`"), &format!("write `{word}(x)` or `{word}(y)`"))?;
    let (name, span) = parser.name("an axis of the grid, `x` or `y`")?;
    let Some((_, axis)) = MeshAxis::WORDS.iter().find(|(known, _)| *known == name) else {
        return Err(parser.unknown_word(name, span, "axis of the grid of `spatial_map`", &["x", "y"]));
    };
    parser.close(open, "`)` after the axis")?;
    Ok(*axis)
}

/// Fields of a layout: `tensor`, and `dims` with the axis of each dimension.
pub(super) fn read_dims<F: DirectiveFields>(fields: &mut F) -> Result<Layout, F::Fault> {
    const DIMS: &[(&str, LayoutDim)] = &[
        ("replicate", LayoutDim::Replicate),
        ("x", LayoutDim::Shard(MeshAxis::X)),
        ("y", LayoutDim::Shard(MeshAxis::Y)),
    ];
    let tensor = fields.name("tensor")?;
    let dims = fields.words("dims", DIMS)?;
    Ok(Layout::new(&tensor, &dims, Span::default()))
}

/// What a layout needs beside it.
pub(super) fn needs_grid(schedule: &Schedule, word: &'static str) -> Option<MissingRequirement> {
    if schedule.has(|kind| matches!(kind, DirectiveKind::SpatialMap(_))) {
        return None;
    }
    MissingRequirement::of_directive(
        word,
        "spatial_map",
        "add the grid, such as `spatial_map((4, 2));`",
        "add the grid, such as `.spatial_map(grid=(4, 2))`",
    )
}

impl DirectiveInterface for Layout {
    fn subject(&self) -> &str {
        &self.tensor
    }

    fn print(&self, _: Form, printer: &mut Printer<'_>) {
        printer.text(&self.to_string());
    }

    fn verify<'m>(&'m self, checker: &mut Checker<'m>, span: Span) {
        checker.layout(self, span);
    }

    fn missing_requirement(&self, schedule: &Schedule) -> Option<MissingRequirement> {
        needs_grid(schedule, "layout")
    }

    fn apply(&self, policy: &mut SchedulePolicy) {
        policy.layouts.push(self.clone());
    }
}
