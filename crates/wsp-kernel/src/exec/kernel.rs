//! Kernels: compiled once per launch, run once per descriptor.

use super::compile::{Compiler, Role, value_bytes};
use super::engine::Runnable;
use super::recording::{Recorder, Script};
use super::tile_code::TileDecl;
use super::tile_run::{ResetTiles, TileRun, TileSet, Written};
use super::tile_trap;
use super::together::Member;
use super::vm::{Buffers, Vm};
use crate::memory::{RowsView, Shape};
use crate::tile::Tiles;
use crate::{Env, Mode, TensorMem, Trap};
use std::sync::atomic::{AtomicU64, Ordering};
use wsp_core::words::counted;
use wsp_core::{AxisId, FuncId, Region, TensorId};
use wsp_diag::Span;
use wsp_ir::{FuncKind, Module};
use wsp_ordered::OrderedSet;

/// A kernel in the form that runs. One value serves any number of threads.
#[derive(Debug)]
pub struct KernelCode {
    pub(super) code: Runnable,
    pub(super) tiles: Vec<TileDecl>,
    /// Its tile operations, if runs of it can be recorded.
    pub(super) script: Option<Script>,
    /// By tensor number, for traps.
    pub(super) tensor_names: Vec<String>,
    /// Words of its descriptor; none when it ignores the descriptors that it is run for.
    words: Option<usize>,
    pub(super) mode: Mode,
    /// Tensors that it may store to.
    stored: OrderedSet<TensorId>,
    /// Tells this kernel's tiles in a [`Scratch`] from those of all others of the process.
    pub(super) key: u64,
}

static NEXT_KEY: AtomicU64 = AtomicU64::new(0);

impl KernelCode {
    /// Compiles a kernel against what a launch binds.
    ///
    /// # Errors
    /// When a tile has no elements, too many, or elements that are no real numbers; when something it uses is not bound;
    /// when an expression over parameters stops.
    pub fn compile(module: &Module, func: FuncId, env: &Env) -> Result<KernelCode, Trap> {
        let (words, span) = match module.functions.get(func.index()).map(|f| (f.kind, f.span)) {
            Some((FuncKind::Kernel { descriptor }, span)) => {
                let fields =
                    |id: wsp_core::StructId| module.structs.get(id.index()).map_or(0, |s| s.fields.len());
                (descriptor.map(fields), span)
            }
            other => return Err(Trap::internal("not a kernel", other.map_or(Span::default(), |f| f.1))),
        };
        let mut compiler = Compiler::new(module, env, Role::Kernel);
        compiler.entry(func)?;
        let tiles = std::mem::take(&mut compiler.tiles);
        let stored = std::mem::take(&mut compiler.stored);
        let mut program = compiler.into_program();
        let script = Script::new(&mut program, &tiles);
        if program.entry().fields.iter().any(|(field, _)| *field as usize >= words.unwrap_or(0)) {
            return Err(Trap::internal("a field that the descriptor does not have", span));
        }
        let code = KernelCode {
            code: Runnable::new(program, env)?,
            tiles,
            script,
            tensor_names: module.tensors.iter().map(|t| t.name.clone()).collect(),
            words,
            mode: env.mode,
            stored,
            // Only uniqueness matters.
            key: NEXT_KEY.fetch_add(1, Ordering::Relaxed),
        };
        code.new_tiles(span)?;
        Ok(code)
    }

    /// Bytes that the tiles' values take while the kernel runs: 4 per element of every tile's capacity, 8 where elements are `f64`.
    pub fn tile_bytes(&self) -> u64 {
        self.tiles.iter().map(value_bytes).sum()
    }

    /// Whether the kernel has a statement that stores to a tensor.
    pub fn stores_to(&self, tensor: TensorId) -> bool {
        self.stored.contains(&tensor)
    }

    /// Axes whose tile the kernel asks for, maybe more than once each.
    pub fn axes(&self) -> impl Iterator<Item = AxisId> {
        self.code.program().funcs.iter().flat_map(|code| &code.axes).map(|site| site.axis)
    }

    /// Runs the kernel on one descriptor, given as its words in field order.
    ///
    /// `env` is the one the kernel was compiled with. Nothing is allocated once `scratch` has run the same kernel.
    ///
    /// # Errors
    /// When an operation cannot be done; stores made before it stay.
    pub fn run(&self, scratch: &mut Scratch, env: &Env, descriptor: &[u32]) -> Result<(), Trap> {
        let Scratch { slots, buffers, sets, .. } = scratch;
        let guard = ResetTiles(find_set(sets, self)?);
        self.run_on(slots, buffers, &mut *guard.0, None, env, descriptor)
    }

    /// Runs the kernel with these tiles, or records its tile operations.
    pub(super) fn run_on(
        &self,
        slots: &mut Vec<u64>,
        buffers: &mut Buffers,
        set: &mut TileSet,
        recorder: Option<Recorder<'_>>,
        env: &Env,
        descriptor: &[u32],
    ) -> Result<(), Trap> {
        let program = self.code.program();
        let entry = program.entry();
        if let Some(words) = self.words.filter(|words| *words != descriptor.len()) {
            let message = format!(
                "{} has {words}, not {}",
                entry.title,
                descriptor.len(),
                words = counted(words, "word")
            );
            return Err(Trap::internal(message, Span::default()));
        }
        set.written.forget_all();
        let frame = super::vm::frame(slots, entry);
        for (field, slot) in &entry.fields {
            frame[*slot as usize] = u64::from(descriptor[*field as usize]);
        }
        let run = TileRun { set, decls: &self.tiles, tensor_names: &self.tensor_names, recorder };
        let mut vm = Vm::new(program, env, buffers, env.kernel_steps);
        vm.tiles = Some(run);
        self.code.run(&mut vm, frame).map(drop)
    }

    /// Tiles of this kernel's capacities, without memory yet.
    fn new_tiles(&self, span: Span) -> Result<Tiles, Trap> {
        let mut tiles = Tiles::new(self.mode);
        for decl in &self.tiles {
            tiles
                .add(Shape::new(decl.rows, decl.cols), decl.elem)
                .map_err(|fault| tile_trap::declaration(decl, fault, span))?;
        }
        Ok(tiles)
    }
}

/// What one worker needs to run kernels: slots of scalars and tiles, kept between runs.
#[derive(Debug, Default)]
pub struct Scratch {
    pub(crate) slots: Vec<u64>,
    pub(crate) buffers: Buffers,
    /// By kernel, most recently used last.
    sets: Vec<TileSet>,
    /// Rows to prefetch.
    rows: RowsView,
    /// Of runs that are taken together.
    pub(super) members: Vec<Member>,
}

impl Scratch {
    /// Empty; grows with the first run of each kernel.
    pub fn new() -> Scratch {
        Scratch::default()
    }

    /// Asks the processor to fetch the first cache lines of a region of an array. Parts outside the array are left out; nothing
    /// changes.
    pub fn prefetch(&mut self, array: &TensorMem, region: &Region) {
        array.prefetch(region, &mut self.rows);
    }
}

/// Kernels whose tiles a worker keeps.
const KEPT_SETS: usize = 64;

pub(super) fn find_set<'s>(sets: &'s mut Vec<TileSet>, kernel: &KernelCode) -> Result<&'s mut TileSet, Trap> {
    match sets.iter().position(|set| set.key == kernel.key) {
        // Neighbouring tasks mostly run the same kernel.
        Some(index) => {
            let last = sets.len() - 1;
            sets.swap(index, last);
        }
        None => {
            if sets.len() >= KEPT_SETS {
                sets.remove(0);
            }
            let tiles = kernel.new_tiles(Span::default())?;
            sets.push(TileSet { key: kernel.key, tiles, written: Written::new(kernel.tiles.len()) });
        }
    }
    Ok(sets.last_mut().expect("the set found or added above should be last"))
}
