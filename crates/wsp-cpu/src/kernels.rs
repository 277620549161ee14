//! The kernels of a launch: what their tasks touch, and which descriptor goes where.

use crate::bind::{self, BoundDim};
use crate::codes;
use crate::extents::Extents;
use crate::tiles::Tiles;
use smallvec::SmallVec;
use std::sync::Arc;
use wsp_core::words::counted;
use wsp_core::{AccessKind, ExecPool, FuncId, KernelId, MAX_RANK, Region, StructId, TensorId, limits};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::workload::SchedulePolicy;
use wsp_ir::{Consumer, Expr, Module, Storage, StructDef, Tensor};
use wsp_kernel::{Env, ScalarCode, Scratch, Trap, Value};
use wsp_plan::layout::{Tensors, check_shared};
use wsp_plan::{Bound, KernelAccess, LoweredPlan};

/// Regions that a task touches.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    /// Regions it may load from.
    pub(crate) reads: SmallVec<[Region; 4]>,
    /// Regions it may store to.
    pub(crate) writes: SmallVec<[Region; 4]>,
}

/// One access of a kernel: where its guard and bounds stand among the evaluated expressions.
#[derive(Debug)]
struct AccessCode {
    tensor: TensorId,
    mode: AccessKind,
    guard: Option<usize>,
    /// `lo` and `hi` of each dimension; none for the whole dimension.
    bounds: SmallVec<[Option<(usize, usize)>; 4]>,
}

/// Accesses that are evaluated together.
#[derive(Debug)]
struct AccessSet {
    accesses: Vec<AccessCode>,
    code: ScalarCode,
}

/// What evaluating accesses needs besides the descriptor; one per thread.
#[derive(Debug, Default)]
pub(crate) struct Evaluator {
    scratch: Scratch,
    values: Vec<Option<Value>>,
}

/// A kernel that descriptors can reach.
#[derive(Debug)]
pub(crate) struct LaunchKernel {
    /// The function.
    pub(crate) func: FuncId,
    /// Its name.
    pub(crate) name: String,
    /// The units that may run it.
    pub(crate) unit: ExecPool,
    /// Accesses that order tasks: to tensors that some kernel stores to.
    ordering: AccessSet,
    /// Reads whose data are worth fetching ahead.
    inputs: AccessSet,
}

/// All kernels of a launch, indexed by [`KernelId`].
#[derive(Debug)]
pub(crate) struct KernelTable {
    kernels: Vec<LaunchKernel>,
    /// Kernel of each function, if a descriptor can reach it.
    of_function: Vec<Option<KernelId>>,
    /// The grid that tasks are placed on, if the schedule has one.
    pub(crate) tiles: Option<Arc<Tiles>>,
}

impl KernelTable {
    /// Every kernel that a descriptor of the module can reach.
    pub(crate) fn new(
        plan: &LoweredPlan,
        bound: &bind::Bound,
        env: &Env,
    ) -> Result<KernelTable, Vec<Diagnostic>> {
        let module = &plan.module;
        let shared = shared_pages(plan, bound);
        let mut table =
            KernelTable { kernels: Vec::new(), of_function: vec![None; module.functions.len()], tiles: None };
        let mut faults = Vec::new();
        for def in &module.structs {
            if def.consumer != Consumer::None && def.fields.len() > limits::MAX_PAYLOAD_WORDS as usize {
                faults.push(too_long(def));
            }
            for func in reachable(plan, def.consumer) {
                let is_called = plan.called.as_ref().is_none_or(|called| called.contains(&func));
                if table.of_function[func.index()].is_some() || !is_called {
                    continue;
                }
                let Ok(id) = u16::try_from(table.kernels.len()) else { return Err(vec![too_many(def)]) };
                match LaunchKernel::new(plan, func, &shared, env) {
                    Ok(kernel) => {
                        table.of_function[func.index()] = Some(KernelId(id));
                        table.kernels.push(kernel);
                    }
                    Err(trap) => faults.push(Diagnostic::from(trap)),
                }
            }
        }
        if faults.is_empty() { Ok(table) } else { Err(faults) }
    }

    /// Has tasks placed on the grid of a schedule, if that has one.
    ///
    /// # Errors
    /// A layout that a tensor of the launch cannot have.
    pub(crate) fn place(
        &mut self,
        policy: &SchedulePolicy,
        plan: &LoweredPlan,
        bound: &bind::Bound,
    ) -> Result<(), Vec<Diagnostic>> {
        let faults = check_shared(policy, plan);
        if !faults.is_empty() {
            return Err(faults);
        }
        self.tiles = Tiles::new(policy, &BoundTensors { module: &plan.module, bound })?;
        Ok(())
    }

    /// Everything that a task loads from: of tensors that are written, which `touched` has, and of others.
    pub(crate) fn reads(
        &self,
        kernel: KernelId,
        touched: &Touched,
        evaluator: &mut Evaluator,
        env: &Env,
        descriptor: &[u32],
    ) -> Vec<Region> {
        let mut all = touched.reads.to_vec();
        self.get(kernel).inputs(evaluator, env, descriptor, |region| all.push(region));
        all
    }

    /// The tile that a task is for, if there is a grid. `number` counts the tasks before it, or is what its schedule gives it.
    pub(crate) fn tile(
        &self,
        (kernel, number): (KernelId, u64),
        touched: &Touched,
        evaluator: &mut Evaluator,
        env: &Env,
        descriptor: &[u32],
    ) -> Option<u32> {
        let tiles = self.tiles.as_ref()?;
        let reads = self.reads(kernel, touched, evaluator, env, descriptor);
        Some(tiles.tile(number, &reads, &touched.writes))
    }

    /// Every kernel, in order of its id.
    pub(crate) fn all(&self) -> &[LaunchKernel] {
        &self.kernels
    }

    /// The kernel with this id.
    pub(crate) fn get(&self, id: KernelId) -> &LaunchKernel {
        &self.kernels[id.index()]
    }

    /// The kernel of a function, if a descriptor can reach it.
    pub(crate) fn of_function(&self, func: FuncId) -> Option<KernelId> {
        self.of_function[func.index()]
    }

    /// The kernel that takes a descriptor.
    pub(crate) fn consumer(
        &self,
        plan: &LoweredPlan,
        descriptor: StructId,
        words: &[u32],
    ) -> Result<KernelId, Trap> {
        let def = &plan.module.structs[descriptor.index()];
        let func = match def.consumer {
            Consumer::Kernel(func) => Some(func),
            Consumer::Tiers { set, field } => {
                let set = &plan.module.tier_sets[set.index()];
                let tier = words[field as usize];
                let picked = set.tiers.get(tier as usize).ok_or_else(|| {
                    Trap::new(
                        codes::BAD_TIER,
                        format!(
                            "descriptor `{}` picks tier {tier}, but `{}` has {} tiers",
                            def.name,
                            set.name,
                            set.tiers.len()
                        ),
                        Span::default(),
                    )
                })?;
                Some(picked.kernel)
            }
            Consumer::None => None,
        };
        func.and_then(|func| self.of_function[func.index()]).ok_or_else(|| {
            Trap::internal(format!("descriptor `{}` has no kernel", def.name), Span::default())
        })
    }
}

/// The tensors of a launch by name.
struct BoundTensors<'a> {
    module: &'a Module,
    bound: &'a bind::Bound,
}

impl Tensors for BoundTensors<'_> {
    fn find(&self, name: &str) -> Option<(TensorId, Vec<Option<u32>>)> {
        let at = self.module.tensors.iter().position(|tensor| tensor.name == name)?;
        let mut dims: Vec<Option<u32>> = self.bound.tensors[at]
            .dims
            .iter()
            .map(|dim| if let BoundDim::Fixed(extent) = dim { Some(*extent) } else { None })
            .collect();
        if self.module.tensors[at].storage == Storage::Workspace {
            // The dimension that counts bytes of all slots.
            dims.insert(0, None);
        }
        Some((TensorId(at as u32), dims))
    }
}

fn too_many(def: &StructDef) -> Diagnostic {
    Diagnostic::error(codes::TOO_MANY_KERNELS, "the launch reaches too many kernels")
        .at(def.span, "with those of this descriptor")
        .note(format!("at most {}", u32::from(u16::MAX) + 1))
}

/// Per tensor, whether it is written and one page of it stands for several places: then regions that are apart may be one
/// memory.
fn shared_pages(plan: &LoweredPlan, bound: &bind::Bound) -> Vec<bool> {
    let shared = |(i, tensor): (usize, &Tensor)| match tensor.storage {
        Storage::CacheKeys(cache) | Storage::CacheValues(cache) => {
            plan.tensors[i].written && shares_pages(&bound.caches[cache.index()])
        }
        Storage::Launch | Storage::Temporary | Storage::Workspace => false,
    };
    plan.module.tensors.iter().enumerate().map(shared).collect()
}

/// Whether some page is, or for all that is known may be, in the page table twice.
fn shares_pages(cache: &bind::BoundCache) -> bool {
    let used = cache.indptr.last().map_or(0, |&n| n as usize);
    let Some(pages) = cache.indices.get(..used) else { return true };
    let mut pages = pages.to_vec();
    pages.sort_unstable();
    pages.windows(2).any(|pair| pair[0] == pair[1])
}

fn too_long(def: &StructDef) -> Diagnostic {
    Diagnostic::error(codes::DESCRIPTOR_TOO_LONG, format!("descriptor `{}` is too long", def.name))
        .at(def.span, format!("{}", counted(def.fields.len(), "word")))
        .note(format!("at most {} of 32 bits", counted(limits::MAX_PAYLOAD_WORDS, "word")))
        .help("put larger data into a tensor and its index into the descriptor")
}

/// The kernels that may take a descriptor.
fn reachable(plan: &LoweredPlan, consumer: Consumer) -> Vec<FuncId> {
    match consumer {
        Consumer::None => Vec::new(),
        Consumer::Kernel(func) => vec![func],
        Consumer::Tiers { set, .. } => {
            plan.module.tier_sets[set.index()].tiers.iter().map(|t| t.kernel).collect()
        }
    }
}

impl LaunchKernel {
    fn new(plan: &LoweredPlan, func: FuncId, shared: &[bool], env: &Env) -> Result<LaunchKernel, Trap> {
        let accesses = &plan.accesses[func.index()];
        let written = |access: &&KernelAccess| plan.tensors[access.tensor.index()].written;
        let ordering = AccessSet::new(plan, accesses.iter().filter(written), shared, env)?;
        let read_only = accesses.iter().filter(|a| !written(a) && a.mode == AccessKind::Read);
        let inputs = AccessSet::new(plan, read_only, &[], env)?;
        let (name, unit) = (plan.module.functions[func.index()].name.clone(), plan.module.unit(func));
        Ok(LaunchKernel { func, name, unit, ordering, inputs })
    }

    /// What a task with this descriptor touches, of tensors that are written at all.
    pub(crate) fn touched(&self, evaluator: &mut Evaluator, env: &Env, descriptor: &[u32]) -> Touched {
        let mut touched = Touched::default();
        self.ordering.regions(evaluator, env, descriptor, |mode, region| match mode {
            AccessKind::Read => touched.reads.push(region),
            AccessKind::Write => touched.writes.push(region),
        });
        touched
    }

    /// Calls `f` with what a task with this descriptor reads of tensors that nobody writes.
    pub(crate) fn inputs(
        &self,
        evaluator: &mut Evaluator,
        env: &Env,
        descriptor: &[u32],
        mut f: impl FnMut(Region),
    ) {
        self.inputs.regions(evaluator, env, descriptor, |_, region| f(region));
    }

    /// Elements of inputs that a task with this descriptor reads at most.
    pub(crate) fn cost(
        &self,
        evaluator: &mut Evaluator,
        env: &Env,
        extents: &Extents<'_>,
        descriptor: &[u32],
    ) -> u64 {
        let mut cost = 0u64;
        self.inputs(evaluator, env, descriptor, |region| {
            cost = cost.saturating_add(extents.elements(&region));
        });
        cost
    }
}

impl AccessSet {
    fn new<'a>(
        plan: &'a LoweredPlan,
        accesses: impl Iterator<Item = &'a KernelAccess>,
        shared: &[bool],
        env: &'a Env,
    ) -> Result<AccessSet, Trap> {
        // Request and position say where in memory an element is unless pages are shared.
        let anywhere =
            |access: &KernelAccess, dim| dim < 2 && shared.get(access.tensor.index()) == Some(&true);
        let mut exprs: Vec<&Expr> = Vec::new();
        let mut place = |expr: &'a Expr| {
            exprs.push(expr);
            exprs.len() - 1
        };
        let accesses = accesses
            .map(|access| AccessCode {
                tensor: access.tensor,
                mode: access.mode,
                guard: access.guard.as_ref().map(&mut place),
                bounds: access
                    .bounds
                    .iter()
                    .enumerate()
                    .map(|(dim, bound)| match bound {
                        Bound::Range { lo, hi } if !anywhere(access, dim) => Some((place(lo), place(hi))),
                        Bound::Range { .. } | Bound::All => None,
                    })
                    .collect(),
            })
            .collect();
        Ok(AccessSet { accesses, code: ScalarCode::compile(&plan.module, exprs, env)? })
    }

    fn regions(
        &self,
        evaluator: &mut Evaluator,
        env: &Env,
        descriptor: &[u32],
        mut f: impl FnMut(AccessKind, Region),
    ) {
        if self.accesses.is_empty() {
            return;
        }
        evaluator.values.resize(evaluator.values.len().max(self.code.len()), None);
        self.code.eval(&mut evaluator.scratch, env, descriptor, &mut evaluator.values);
        for access in &self.accesses {
            if let Some(region) = access.region(&evaluator.values) {
                f(access.mode, region);
            }
        }
    }
}

impl AccessCode {
    /// The region of the evaluated bounds; none when the guard is false or the region is empty. A guard that cannot be evaluated
    /// excludes nothing, and a bound that cannot be evaluated bounds nothing.
    fn region(&self, values: &[Option<Value>]) -> Option<Region> {
        if self.guard.is_some_and(|guard| values[guard] == Some(Value::Bool(false))) {
            return None;
        }
        let mut region = Region { tensor: self.tensor, lo: [0; MAX_RANK], hi: [1; MAX_RANK] };
        let at = |index: usize| values[index].and_then(Value::as_u32);
        for (d, bound) in self.bounds.iter().enumerate() {
            let (lo, hi) = bound.map_or((None, None), |(lo, hi)| (at(lo), at(hi)));
            region.lo[d] = lo.unwrap_or(0);
            region.hi[d] = hi.unwrap_or(u32::MAX);
        }
        (!region.is_empty()).then_some(region)
    }
}
