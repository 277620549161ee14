//! The layouts of a launch, and the tile that a task is for.

use super::ways::Seen;
use super::{AXES, AxisSet, TensorLayout, TileCoord, codes};
use wsp_core::policy::{Grid, LayoutDim};
use wsp_core::{Region, TensorId};
use wsp_diag::Diagnostic;
use wsp_ir::workload::SchedulePolicy;
use wsp_ir::{Layout, dim_text};

/// A tensor on the grid.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Held {
    /// Where it is stored.
    pub(super) stored: TensorLayout,
    /// Whether that was said; it is replicated else, and takes any layout.
    pub(super) is_stated: bool,
    /// Where it is loaded, if that is another layout.
    pub(super) read: Option<TensorLayout>,
}

impl Held {
    pub(super) fn read(&self) -> &TensorLayout {
        self.read.as_ref().unwrap_or(&self.stored)
    }
}

/// Names and shapes of the tensors of a launch.
pub trait Tensors {
    /// The tensor with a name, and its extents; none for one that is not known when a launch begins.
    fn find(&self, name: &str) -> Option<(TensorId, Vec<Option<u32>>)>;
}

/// A grid with the layouts of the tensors of a launch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TileMap {
    grid: Grid,
    /// By tensor; none of tensors of which nothing is said.
    tensors: Vec<Option<Held>>,
}

impl TileMap {
    /// What a schedule says of the tensors of a launch; none where it has no grid.
    ///
    /// # Errors
    /// A layout that a tensor cannot have.
    pub fn new(policy: &SchedulePolicy, tensors: &dyn Tensors) -> Result<Option<TileMap>, Vec<Diagnostic>> {
        let Some(grid) = policy.grid else { return Ok(None) };
        let mut map = TileMap { grid, tensors: Vec::new() };
        let mut faults = Vec::new();
        let stored = policy.layouts.iter().map(|layout| (layout, false));
        for (layout, where_read) in stored.chain(policy.relayouts.iter().map(|layout| (layout, true))) {
            faults.extend(map.add(layout, where_read, tensors).err());
        }
        if faults.is_empty() { Ok(Some(map)) } else { Err(faults) }
    }

    fn add(&mut self, layout: &Layout, where_read: bool, tensors: &dyn Tensors) -> Result<(), Diagnostic> {
        let code = wsp_ir::workload::verify::LAYOUT;
        let Some((tensor, extents)) = tensors.find(&layout.tensor) else {
            return Err(layout.unknown(code, layout.span, &[]));
        };
        if let Some((message, help)) = layout.fault(extents.len()) {
            return Err(Diagnostic::error(code, message).at(layout.span, "its layout").help(help));
        }
        let unknown = |dim: &usize| layout.dims[*dim] != LayoutDim::Replicate && extents[*dim].is_none();
        if let Some(dim) = (0..extents.len()).find(unknown) {
            let message = format!("dimension {dim} of `{}` has no extent to be sharded", layout.tensor);
            return Err(Diagnostic::error(codes::SHARDED_EXTENT, message)
                .at(layout.span, "it is known only where tasks run")
                .help("write `replicate` for it"));
        }
        let at = tensor.index();
        if self.tensors.len() <= at {
            self.tensors.resize(at + 1, None);
        }
        let lies = TensorLayout {
            name: layout.tensor.clone(),
            shape: extents.into_iter().map(|extent| extent.unwrap_or(u32::MAX)).collect(),
            dims: layout.dims.clone(),
            pending: layout.pending.iter().copied().collect(),
        };
        let held = self.tensors[at].get_or_insert_with(|| Held {
            stored: TensorLayout {
                dims: vec![LayoutDim::Replicate; lies.dims.len()],
                pending: AxisSet::default(),
                ..lies.clone()
            },
            is_stated: false,
            read: None,
        });
        if where_read {
            held.read = Some(lies);
        } else {
            (held.stored, held.is_stated) = (lies, true);
        }
        Ok(())
    }

    /// The grid.
    pub fn grid(&self) -> Grid {
        self.grid
    }

    /// The layout of a tensor where it is stored; none where nothing is said of it.
    pub fn stored(&self, tensor: TensorId) -> Option<&TensorLayout> {
        self.held(tensor).map(|held| &held.stored)
    }

    /// The layout of a tensor where it is loaded; none where nothing is said of it.
    pub fn loaded(&self, tensor: TensorId) -> Option<&TensorLayout> {
        self.held(tensor).map(Held::read)
    }

    pub(super) fn held(&self, tensor: TensorId) -> Option<&Held> {
        self.tensors.get(tensor.index())?.as_ref()
    }

    /// Whether a tensor is brought into another layout before it is loaded.
    pub(super) fn has_relayout(&self, tensor: TensorId) -> bool {
        self.held(tensor).is_some_and(|held| held.read.is_some())
    }

    /// Whether a relayout brings a tensor from one layout into another.
    fn is_moved(&self, tensor: TensorId) -> bool {
        let both = self.held(tensor).and_then(|held| Some((&held.stored, held.read.as_ref()?)));
        both.is_some_and(|(stored, read)| stored.dims != read.dims || !stored.pending.is_empty())
    }

    /// A tensor as a task loads it; none where nothing is said of it.
    pub(super) fn loaded_by(&self, tensor: TensorId, regions: &[Region]) -> Option<Seen> {
        let seen = self.seen(self.held(tensor)?.read(), regions, tensor);
        Some(Seen { is_moved: self.is_moved(tensor), ..seen })
    }

    /// All of a tensor.
    pub(super) fn all_of(&self, tensor: TensorId) -> Option<Region> {
        let shape = &self.held(tensor)?.stored.shape;
        Region::new(tensor, &vec![0; shape.len()], shape)
    }

    /// What each relayout does, a line for each. `pending` has the sums that kernels leave, by tensor.
    pub fn moves(&self, pending: &[AxisSet]) -> Vec<String> {
        let held = self.tensors.iter().enumerate();
        let both =
            held.filter_map(|(at, held)| Some((at, &held.as_ref()?.stored, held.as_ref()?.read.as_ref()?)));
        both.map(|(at, stored, read)| {
            let left = pending.get(at).copied().unwrap_or_default();
            let stored = TensorLayout { pending: stored.pending.with(left), ..stored.clone() };
            let moves = stored.moves(read).into_iter();
            let moves: Vec<String> =
                moves.map(|(word, axis)| format!("{word} over {}", axis.word())).collect();
            let what = if moves.is_empty() { "nothing is moved".to_owned() } else { moves.join(", ") };
            format!("relayout({}): {what}", stored.name)
        })
        .collect()
    }

    /// The tile that a task is for. `number` picks it along axes over which it reaches no sharded dimension.
    pub fn tile(&self, number: u64, reads: &[Region], writes: &[Region]) -> TileCoord {
        let mut found = [None; AXES.len()];
        let stored = writes.iter().filter_map(|region| Some((region, self.stored(region.tensor)?)));
        let loaded = reads.iter().filter_map(|region| Some((region, self.loaded(region.tensor)?)));
        for (region, layout) in stored.chain(loaded) {
            if region.is_empty() {
                continue;
            }
            for (dim, lies) in layout.dims.iter().enumerate() {
                let Some(axis) = lies.axis() else { continue };
                let along = region.lo[dim] / layout.part(dim, self.grid);
                found[axis as usize].get_or_insert(along.min(self.grid.along(axis) - 1));
            }
        }
        let mut rest = number;
        let along = AXES.map(|axis| {
            found[axis as usize].unwrap_or_else(|| {
                let tiles = u64::from(self.grid.along(axis));
                let at = rest % tiles;
                rest /= tiles;
                at as u32
            })
        });
        TileCoord { x: along[0], y: along[1] }
    }

    /// A tensor as a task reaches it: which of its dimensions go past the part of one tile.
    pub(super) fn seen(&self, layout: &TensorLayout, regions: &[Region], tensor: TensorId) -> Seen {
        let of = || regions.iter().filter(|region| region.tensor == tensor && !region.is_empty());
        let mut seen = Seen { nowhere: of().next().is_none(), ..Seen::default() };
        for (dim, lies) in layout.dims.iter().enumerate() {
            let Some(axis) = lies.axis().filter(|axis| self.grid.along(*axis) > 1) else { continue };
            let part = layout.part(dim, self.grid);
            let (mut first, mut last) = (u32::MAX, 0);
            for region in of() {
                first = first.min(region.lo[dim] / part);
                last = last.max((region.hi[dim].min(layout.shape[dim]).max(1) - 1) / part);
            }
            if first < last {
                (seen.dims[dim], seen.across[dim]) = (*lies, *lies);
                (seen.part[dim], seen.end[dim]) = (part, layout.shape[dim]);
            } else if first == last {
                seen.within = seen.within.with(AxisSet::of(axis));
            }
            if first <= last && part < layout.shape[dim] {
                seen.parts = seen.parts.with(AxisSet::of(axis));
            }
        }
        seen
    }
}

/// A layout without one axis, as it is written.
pub(super) fn without_axis(layout: &TensorLayout, axis: wsp_core::policy::MeshAxis) -> String {
    let dims =
        layout.dims.iter().map(|dim| if dim.axis() == Some(axis) { LayoutDim::Replicate } else { *dim });
    dims.map(dim_text).collect::<Vec<_>>().join(", ")
}
