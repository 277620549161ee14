//! `PTO_SPACE`: axes, tiles, constraints.

use super::Sema;
use super::body::{Binding, Body, BodyKind};
use super::codes;
use super::diags::Res;
use super::globals::stranger;
use super::names::with_suggestion;
use crate::ast::{self, Extent, SpaceMember, TileSize};
use wsp_core::{AxisId, LocalId, SpaceId};
use wsp_diag::Diagnostic;
use wsp_ir::{AxisEnd, AxisTile, Expr, ExprKind, ScalarTy, TileSize as IrTileSize};

impl Sema<'_> {
    /// Lowers what each space says.
    pub(crate) fn lower_spaces(&mut self) {
        for at in 0..self.spaces.len() {
            let decl = self.spaces[at];
            let id = SpaceId(at as u32);
            let mut axes = self.module.spaces[at].axes.clone().into_iter();
            for member in &decl.members {
                if let SpaceMember::Axis(axis) = member {
                    let id = axes.next().expect("every axis of a space should have an id");
                    self.lower_axis(decl, axis, id);
                }
            }
            if self.module.spaces[at].axes.is_empty() {
                self.fail(
                    Diagnostic::error(
                        codes::EMPTY_SPACE,
                        format!("space `{}` has no axis", decl.name.as_str()),
                    )
                    .at(decl.name.span, "nothing to iterate over")
                    .help("add one: `PTO_AXIS(batch, 0, batch_size)`"),
                );
            }
            for member in &decl.members {
                // Failure is reported where it is found.
                let _ = match member {
                    SpaceMember::Axis(_) => Ok(()),
                    SpaceMember::Tile(tile) => self.lower_axis_tile(id, tile),
                    SpaceMember::Where(constraint) => self.lower_where(id, constraint),
                };
            }
        }
    }

    fn lower_axis(&mut self, space: &ast::Space, axis: &ast::Axis, id: AxisId) {
        let first = space.members.iter().find_map(|m| match m {
            SpaceMember::Axis(a) if a.name.name == axis.name.name => Some(a),
            _ => None,
        });
        if let Some(first) = first.filter(|a| a.name.span != axis.name.span) {
            let message = format!("two axes of `{}` are named `{}`", space.name.as_str(), axis.name.as_str());
            self.fail(
                Diagnostic::error(codes::DUPLICATE_AXIS, message)
                    .at(axis.name.span, "again here")
                    .label(first.name.span, "first here"),
            );
        }
        // Failure is reported where it is found.
        let _ = self.check_reserved(&axis.name);
        let mut b = Body::new(BodyKind::Launch("the bound of an axis"));
        let start = self.launch_value(&mut b, &axis.start, ScalarTy::U32, "the bound of an axis");
        let end = match &axis.end {
            Extent::Expr(e) => {
                self.launch_value(&mut b, e, ScalarTy::U32, "the bound of an axis").map(AxisEnd::Expr)
            }
            Extent::Dynamic(_) => Ok(AxisEnd::Dynamic),
        };
        if let (Ok(start), Ok(AxisEnd::Expr(end))) = (&start, &end)
            && let (Some(first), Some(last)) = (start.as_const_int(), end.as_const_int())
            && last < first
        {
            let message = format!("axis `{}` ends before it starts", axis.name.as_str());
            let d = Diagnostic::error(codes::BACKWARD_AXIS, message)
                .at(end.span, format!("ends at {last}"))
                .label(start.span, format!("starts at {first}"))
                .help("the end is exclusive and not less than the start");
            self.fail(d);
        }
        let lowered = &mut self.module.axes[id.index()];
        if let Ok(start) = start {
            lowered.start = start;
        }
        if let Ok(end) = end {
            lowered.end = end;
        }
    }

    fn lower_axis_tile(&mut self, space: SpaceId, tile: &ast::AxisTile) -> Res<()> {
        let id = self.axis_of_space(space, &tile.axis)?;
        if let Some(earlier) = &self.module.axes[id.index()].tile {
            let earlier = earlier.span;
            return Err(self.fail(
                Diagnostic::error(
                    codes::DUPLICATE_TILE,
                    format!("axis `{}` is tiled twice", tile.axis.as_str()),
                )
                .at(tile.span, "again here")
                .label(earlier, "first here"),
            ));
        }
        let size = match &tile.size {
            TileSize::Auto(_) => IrTileSize::Auto,
            TileSize::Expr(e) => {
                let mut b = Body::new(BodyKind::Launch("the size of a tile"));
                IrTileSize::Fixed(self.tile_elements(&mut b, e, tile.axis.as_str())?)
            }
        };
        self.module.axes[id.index()].tile = Some(AxisTile { size, pad_last: tile.pad_last, span: tile.span });
        Ok(())
    }

    /// A number of elements that a launch knows and that is not 0.
    pub(crate) fn tile_elements(&mut self, b: &mut Body, e: &ast::Expr, axis: &str) -> Res<Expr> {
        let size = self.launch_value(b, e, ScalarTy::U32, "the size of a tile")?;
        if size.as_const_int() == Some(0) {
            return Err(self.fail(
                Diagnostic::error(codes::ZERO_TILE, format!("tile size 0 for axis `{axis}`"))
                    .at(e.span, "this is 0")
                    .help("give at least 1, or `PTO_AUTO`"),
            ));
        }
        Ok(size)
    }

    fn lower_where(&mut self, space: SpaceId, constraint: &ast::Where) -> Res<()> {
        let mut b = Body::new(BodyKind::Launch("a constraint on axes"));
        for (at, axis) in self.module.spaces[space.index()].axes.iter().enumerate() {
            let axis = &self.module.axes[axis.index()];
            let binding = Binding::Scalar {
                local: LocalId(at as u32),
                ty: ScalarTy::U32,
                fixed: Some("an axis"),
                known: None,
            };
            // Two axes of one name are reported with the axes.
            let _ = b.bind(&axis.name.as_str().into(), binding, axis.span);
        }
        let cond = self.condition(&mut b, &constraint.cond)?;
        if let Some(span) = stranger(&cond, &|kind| matches!(kind, ExprKind::Local(_))) {
            return Err(self.fail(
                Diagnostic::error(
                    codes::NOT_LAUNCH_KNOWN,
                    "a constraint is made of axes, parameters and literals",
                )
                .at(span, "this is something else")
                .help("test it in the generator instead"),
            ));
        }
        self.module.spaces[space.index()].constraints.push(cond);
        Ok(())
    }

    /// The axis of a space with this name.
    pub(crate) fn axis_of_space(&mut self, space: SpaceId, ident: &ast::Ident) -> Res<AxisId> {
        let def = &self.module.spaces[space.index()];
        let found = def.axes.iter().copied().find(|a| self.module.axes[a.index()].name == ident.as_str());
        if let Some(axis) = found {
            return Ok(axis);
        }
        let names: Vec<&str> = def.axes.iter().map(|a| self.module.axes[a.index()].name.as_str()).collect();
        let near = self.suggest(ident.as_str(), names.iter().copied());
        let d = Diagnostic::error(
            codes::UNKNOWN_AXIS,
            format!("space `{}` has no axis `{}`", def.name, ident.as_str()),
        )
        .at(ident.span, "unknown axis")
        .label(def.span, "the space")
        .note(format!("its axes: {}", super::names::quoted(&names)));
        Err(self.fail(with_suggestion(d, near)))
    }

    /// The axis with this name: of the space when there is one, else of the only space that has such an axis.
    pub(crate) fn axis_named(&mut self, space: Option<SpaceId>, ident: &ast::Ident) -> Res<AxisId> {
        if let Some(space) = space {
            return self.axis_of_space(space, ident);
        }
        let mut found = (0..self.module.axes.len()).filter(|a| self.module.axes[*a].name == ident.as_str());
        match (found.next(), found.next()) {
            (Some(only), None) => Ok(AxisId(only as u32)),
            (first, _) => {
                let near = self.suggest(ident.as_str(), self.module.axes.iter().map(|a| a.name.as_str()));
                let what = if first.is_some() { "several spaces have" } else { "no space has" };
                let message = format!("{what} an axis `{}`", ident.as_str());
                let d =
                    Diagnostic::error(codes::UNKNOWN_AXIS, message).at(ident.span, "which axis is not clear");
                Err(self.fail(if first.is_some() { d } else { with_suggestion(d, near) }))
            }
        }
    }
}
