//! What both runs of a generator share: tiles, extents and workspace.

use crate::bind::Bound;
use crate::codes;
use crate::machine::Launch;
use crate::tiling;
use std::sync::Arc;
use wsp_core::words::counted;
use wsp_core::{AxisId, SpaceId};
use wsp_diag::Span;
use wsp_ir::{AxisEnd, Module, TileSize};
use wsp_kernel::{Env, Extent, Trap, Workspace, WsRequest, eval_launch_expr};
use wsp_plan::LoweredPlan;

/// Element extents that a generator set.
#[derive(Clone, Debug)]
enum Extents {
    Scalar(u32),
    PerOuter(Arc<[u32]>),
}

/// The state of a generator between its statements.
pub(crate) struct Planner<'a> {
    pub(crate) plan: &'a LoweredPlan,
    pub(crate) bound: &'a Bound,
    pub(crate) env: &'a Env,
    pub(crate) workspace: Workspace,
    /// Tiles in the order in which they were settled.
    pub(crate) tiles: Vec<(AxisId, u32)>,
    /// Axes whose tile became another one after some task was emitted.
    pub(crate) changed_tiles: Vec<AxisId>,
    /// Whether some task was emitted.
    pub(crate) emitted: bool,
    /// Whether some tile was chosen, for the lengths that there are.
    pub(crate) chose_tile: bool,
    stage: u32,
    space: SpaceId,
    extents: Vec<(AxisId, Extents)>,
}

impl<'a> Planner<'a> {
    pub(crate) fn new(plan: &'a LoweredPlan, bound: &'a Bound, env: &'a Env) -> Planner<'a> {
        Planner {
            plan,
            bound,
            env,
            workspace: Workspace::default(),
            tiles: Vec::new(),
            changed_tiles: Vec::new(),
            emitted: false,
            chose_tile: false,
            stage: 0,
            space: SpaceId(0),
            extents: Vec::new(),
        }
    }

    /// The launch as tasks see it before sizes are known.
    pub(crate) fn launch(&self) -> Launch<'a> {
        Launch { plan: self.plan, bound: self.bound, env: self.env, sizes: None }
    }

    /// Goes on with another generator.
    pub(crate) fn enter(&mut self, stage: u32, space: SpaceId) {
        self.stage = stage;
        self.space = space;
        self.extents.clear();
    }

    pub(crate) fn stage(&self) -> u32 {
        self.stage
    }

    pub(crate) fn slot(&mut self, request: &WsRequest<'_>) -> Result<u32, Trap> {
        self.workspace.slot(self.stage, request)
    }

    /// Settles the tile of an axis.
    ///
    /// # Errors
    /// With it there are more lengths than the first axis has indices.
    pub(crate) fn set_tile(&mut self, axis: AxisId, size: u32) -> Result<(), Trap> {
        self.env.set_axis_tile(axis, size);
        match self.tiles.iter_mut().find(|(a, _)| *a == axis) {
            Some(entry) => {
                if self.emitted && entry.1 != size {
                    self.changed_tiles.push(axis);
                }
                entry.1 = size;
            }
            None => self.tiles.push((axis, size)),
        }
        self.check_counts()
    }

    /// Notes the extents of a dynamic axis.
    ///
    /// # Errors
    /// There are more of them than the first axis has indices.
    pub(crate) fn set_extent(&mut self, axis: AxisId, extent: Extent<'_>) -> Result<(), Trap> {
        let last = self.bound.last(axis);
        let extents = match extent {
            Extent::Scalar(n) => Extents::Scalar(n.min(last)),
            Extent::PerOuter(values) => Extents::PerOuter(values.iter().map(|n| *n.min(&last)).collect()),
        };
        self.extents.retain(|(known, _)| *known != axis);
        self.extents.push((axis, extents));
        self.check_counts()
    }

    /// What a generator has set of an axis: there are few.
    fn extents_of(&self, axis: AxisId) -> Option<&Extents> {
        self.extents.iter().find(|(known, _)| *known == axis).map(|(_, extents)| extents)
    }

    /// No axis has more lengths than the first axis has indices, or some would never be looked at. Whatever tells how many indices
    /// there are may be set after the lengths.
    fn check_counts(&self) -> Result<(), Trap> {
        let Some((first, others)) = self.plan.module.spaces[self.space.index()].axes.split_first() else {
            return Ok(());
        };
        others.iter().try_for_each(|axis| match self.extents_of(*axis) {
            Some(Extents::PerOuter(lengths)) => self.check_count(*axis, lengths.len(), *first),
            _ => Ok(()),
        })
    }

    fn check_count(&self, axis: AxisId, lengths: usize, first: AxisId) -> Result<(), Trap> {
        let axes = &self.plan.module.axes;
        let Some(end) = self.end_of_indices(first)?.filter(|end| lengths as u64 > *end) else {
            return Ok(());
        };
        let (name, of) = (&axes[axis.index()].name, &axes[first.index()].name);
        Err(Trap::new(
            codes::TOO_MANY_LENGTHS,
            format!(
                "axis `{name}` is given {lengths}, but the indices of the first axis, `{of}`, end at {end}",
                lengths = counted(lengths, "length")
            ),
            Span::default(),
        )
        .note(format!(
            "length i is that for index i of `{of}`; those from length {end} on would not be used"
        )))
    }

    /// Where the indices of an axis end, exclusive, if that is known by now.
    fn end_of_indices(&self, axis: AxisId) -> Result<Option<u64>, Trap> {
        let declared = &self.plan.module.axes[axis.index()];
        let known = match self.extents_of(axis) {
            Some(Extents::Scalar(n)) => Some(*n),
            _ => self.env.axis_extents[axis.index()],
        };
        let Some(extent) = known.map(u64::from) else { return Ok(None) };
        let settled = self.tiles.iter().find(|(a, _)| *a == axis).map(|(_, size)| *size);
        match (declared.tile.as_ref().map(|tile| &tile.size), settled) {
            (None, _) => Ok(Some(extent + u64::from(self.launch_u32(&declared.start)?))),
            (Some(_), Some(size)) => Ok(Some(extent.div_ceil(u64::from(size)))),
            (Some(TileSize::Fixed(size)), None) => {
                let size = u64::from(self.launch_u32(size)?);
                Ok((size > 0).then(|| extent.div_ceil(size)))
            }
            (Some(TileSize::Auto), None) => Ok(None),
        }
    }

    /// The tile of an axis: as set, as declared, or chosen now.
    pub(crate) fn axis_tile(&mut self, axis: AxisId) -> Result<u32, Trap> {
        if let Some((_, size)) = self.tiles.iter().find(|(a, _)| *a == axis) {
            return Ok(*size);
        }
        let declared = &self.plan.module.axes[axis.index()];
        let size = match declared.tile.as_ref().map(|t| &t.size) {
            Some(TileSize::Fixed(expr)) => self.launch_u32(expr)?,
            Some(TileSize::Auto) => {
                self.chose_tile = true;
                self.automatic_tile(axis)?
            }
            None => 1,
        };
        if size == 0 {
            return Err(empty_tile(&declared.name, declared.span));
        }
        self.set_tile(axis, size)?;
        Ok(size)
    }

    /// Extent of an axis that is the same for every outer index.
    pub(crate) fn axis_extent(&self, axis: AxisId) -> Result<u32, Trap> {
        if let Some(Extents::Scalar(n)) = self.extents_of(axis) {
            return Ok(*n);
        }
        let declared = &self.plan.module.axes[axis.index()];
        Err(Trap::new(
            codes::NO_EXTENT,
            format!("axis `{}` has no single extent: it is dynamic", declared.name),
            declared.span,
        )
        .note("set one with `PTO_SET_EXTENT`, or ask for the length of each request"))
    }

    fn automatic_tile(&self, axis: AxisId) -> Result<u32, Trap> {
        let space = &self.plan.module.spaces[self.space.index()];
        let lengths: Arc<[u32]> = match self.extents_of(axis) {
            Some(Extents::Scalar(n)) => Arc::from([*n]),
            Some(Extents::PerOuter(values)) => values.clone(),
            None => match (self.env.axis_extents[axis.index()], &self.bound.caches[..]) {
                (Some(extent), _) => Arc::from([extent]),
                (None, [cache]) => cache.lengths.clone(),
                _ => {
                    let declared = &self.plan.module.axes[axis.index()];
                    return Err(Trap::new(
                        codes::NO_EXTENT,
                        format!(
                            "no tile can be chosen for axis `{}`: its extents are not known",
                            declared.name
                        ),
                        declared.span,
                    )
                    .note("set them with `PTO_SET_EXTENT`, or the tile with `PTO_SET_TILE`"));
                }
            },
        };
        let others = space.axes.iter().skip(1).filter(|&&a| a != axis);
        let extents = others.filter_map(|a| self.env.axis_extents[a.index()]);
        let heads = extents.fold(1u64, |heads, n| heads.saturating_mul(u64::from(n)));
        Ok(tiling::automatic_tile(&lengths, heads, self.env.max_blocks))
    }

    fn launch_u32(&self, expr: &wsp_ir::Expr) -> Result<u32, Trap> {
        launch_u32(&self.plan.module, self.bound, expr)
    }
}

/// A launch-time expression as an index.
///
/// # Errors
/// When it stops, or has another value.
pub(crate) fn launch_u32(module: &Module, bound: &Bound, expr: &wsp_ir::Expr) -> Result<u32, Trap> {
    let value = eval_launch_expr(module, expr, &bound.params)?;
    value.as_u32().ok_or_else(|| {
        Trap::new(codes::TOO_LARGE, format!("{value} is not a valid extent"), expr.span)
            .note("extents lie in 0..=4294967295")
    })
}

fn empty_tile(axis: &str, span: Span) -> Trap {
    Trap::new(codes::NO_EXTENT, format!("the tile of axis `{axis}` has 0 elements"), span)
        .note("a tile has at least one")
}

/// Makes the tiles of fixed size known to kernels, also of axes that no generator asks for.
pub(crate) fn settle_fixed_tiles(plan: &LoweredPlan, bound: &Bound, env: &Env) -> Result<(), Trap> {
    for (i, axis) in plan.module.axes.iter().enumerate() {
        if let Some(TileSize::Fixed(expr)) = axis.tile.as_ref().map(|tile| &tile.size)
            && bound.knows(expr)
        {
            env.set_axis_tile(AxisId(i as u32), launch_u32(&plan.module, bound, expr)?);
        }
    }
    Ok(())
}

/// How many last elements there are at most of the axes of which generators say so.
pub(crate) fn last_elements(plan: &LoweredPlan, bound: &Bound) -> Result<Vec<(AxisId, u32)>, Trap> {
    plan.last.iter().map(|(axis, last)| Ok((*axis, launch_u32(&plan.module, bound, last)?))).collect()
}

/// Extents of the axes whose bounds are known at launch.
pub(crate) fn axis_extents(module: &Module, bound: &Bound) -> Result<Vec<Option<u32>>, Trap> {
    module
        .axes
        .iter()
        .map(|axis| {
            if let Some(TileSize::Fixed(expr)) = axis.tile.as_ref().map(|tile| &tile.size)
                && bound.knows(expr)
                && launch_u32(module, bound, expr)? == 0
            {
                return Err(empty_tile(&axis.name, expr.span));
            }
            let AxisEnd::Expr(end) = &axis.end else { return Ok(None) };
            if !(bound.knows(&axis.start) && bound.knows(end)) {
                return Ok(None);
            }
            let (start, end) = (launch_u32(module, bound, &axis.start)?, launch_u32(module, bound, end)?);
            match end.checked_sub(start) {
                Some(extent) => Ok(Some(extent)),
                None => Err(Trap::new(
                    codes::NO_EXTENT,
                    format!("axis `{}` ends at {end}, before its start {start}", axis.name),
                    axis.span,
                )),
            }
        })
        .collect()
}

/// A span-less trap placed at a declaration.
pub(crate) fn at(mut trap: Trap, span: Span) -> Trap {
    if trap.span == Span::default() {
        trap.span = span;
    }
    trap
}
