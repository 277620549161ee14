//! The memory of a launch: the user's arrays, outputs, temporaries and workspace, as kernels see them.
#![allow(
    unsafe_code,
    reason = "hands arrays to kernels as raw memory; the task graph orders conflicting accesses"
)]

use crate::bind::{Bound, BoundCache, BoundDim, BoundTensor};
use crate::codes;
use crate::in_place::{self, Views};
use crate::integers::{check_type, has_memory};
use crate::planner::launch_u32;
use crate::sizes::Sizes;
use crate::unwritten::Record;
use std::sync::Arc;
use wsp_backend::{KvLayout, Recording, Unwritten};
use wsp_core::words::counted;
use wsp_core::{DType, TensorId};
use wsp_diag::Diagnostic;
use wsp_ir::{Module, Storage};
use wsp_kernel::{CacheArrays, Env, IntArray, Layout, Paged, TensorMem, Value};
use wsp_memory::{ByteRange, Bytes, EarlyLoads, View};
use wsp_plan::{Array, ArrayError, Arrays, LoweredPlan};

/// Alignment of the fields of a workspace slot and of slots themselves, in bytes.
const SLOT_ALIGN: u64 = 64;

/// The memory of a launch. It outlives the [`Env`] that points into it.
#[derive(Debug, Default)]
pub(crate) struct Owned {
    /// Arrays that some kernel stores to, by the name of the entry parameter.
    outputs: Vec<(String, View)>,
    /// Those of them, and of the caller's, that are reported.
    records: Vec<Record>,
    /// All memory that tasks have the addresses of.
    ranges: Vec<ByteRange>,
}

impl Owned {
    /// Elements that no task has stored, where that is recorded.
    pub(crate) fn unwritten(&self) -> Vec<Unwritten> {
        self.records.iter().flat_map(Record::unwritten).collect()
    }

    /// The outputs, when no task runs.
    pub(crate) fn into_outputs(self) -> Arrays {
        let Owned { outputs, records, ranges } = self;
        drop((records, ranges));
        let array = |view: View| view.take_back().expect("a launch should be alone with its outputs");
        outputs.into_iter().map(|(name, view)| (name, array(view))).collect()
    }
}

/// What a launch records of what its tasks store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Recorded {
    /// To outputs, of which elements that are never stored are reported.
    pub(crate) outputs: Recording,
    /// To what begins with no value and tasks load from: the workspace, temporaries, outputs that are not given.
    pub(crate) steps: Recording,
}

/// Where each field of a workspace slot starts, and the bytes of a slot.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SlotLayout {
    /// Offset of each tensor of the module in a slot; 0 for those that are no workspace field.
    pub(crate) offsets: Vec<u32>,
    /// Bytes of the fields of a slot; 0 without fields.
    pub(crate) bytes: u32,
    /// What the offsets of all slots are multiples of.
    unit: u32,
    /// Bytes from a slot to the next; none where tiers differ.
    apart: Option<u32>,
}

impl SlotLayout {
    /// Fields in declared order, each on a 64-byte boundary.
    pub(crate) fn new(module: &Module, bound: &Bound) -> Result<SlotLayout, Diagnostic> {
        let mut offsets = vec![0; module.tensors.len()];
        let mut end: u64 = 0;
        for (i, tensor) in module.tensors.iter().enumerate() {
            if tensor.storage != Storage::Workspace {
                continue;
            }
            let shape = fixed_dims(&bound.tensors[i]);
            let field = shape
                .iter()
                .try_fold(bound.tensors[i].dtype.size() as u64, |bytes, &n| bytes.checked_mul(u64::from(n)))
                .and_then(|bytes| bytes.checked_next_multiple_of(SLOT_ALIGN))
                .and_then(|bytes| bytes.checked_add(end))
                .filter(|&total| u32::try_from(total).is_ok())
                .ok_or_else(|| {
                    Diagnostic::error(wsp_kernel::WORKSPACE, "a workspace slot exceeds 4 GiB")
                        .at(tensor.span, "with this field")
                        .help("give the fields of `PTO_WORKSPACE` smaller extents: all of them together take less than 4 GiB")
                })?;
            offsets[i] = u32::try_from(end).expect("the end of a slot is checked to fit 32 bits");
            end = field;
        }
        let bytes = u32::try_from(end).expect("the end of a slot is checked to fit 32 bits");
        let sizes = tier_sizes(module, bound, bytes)?;
        let apart = match &sizes[..] {
            [] => Some(bytes),
            [first, rest @ ..] => rest.iter().all(|size| size == first).then_some(*first),
        };
        Ok(SlotLayout { offsets, bytes, unit: sizes.into_iter().fold(bytes, gcd), apart })
    }
}

/// Bytes that tiers reserve per slot, of those that reserve any: at least those of its fields, and whole lines.
fn tier_sizes(module: &Module, bound: &Bound, fields: u32) -> Result<Vec<u32>, Diagnostic> {
    let mut sizes = Vec::new();
    if !module.tensors.iter().any(|tensor| tensor.storage == Storage::Workspace) {
        return Ok(sizes);
    }
    for set in &module.tier_sets {
        let sizes_of_tiers = set.tiers.iter().filter_map(|tier| tier.workspace.as_ref());
        for expr in sizes_of_tiers.filter(|expr| bound.knows(expr)) {
            let bytes = launch_u32(module, bound, expr)?;
            let fits = bytes == 0 || (bytes >= fields && u64::from(bytes) % SLOT_ALIGN == 0);
            if !fits {
                let what = match bytes < fields {
                    true => format!("but the fields of a slot take {fields}"),
                    false => format!("which is no multiple of {SLOT_ALIGN}"),
                };
                let bytes = counted(bytes, "byte");
                let message = format!("a tier of `{}` reserves {bytes} per slot, {what}", set.name);
                return Err(Diagnostic::error(wsp_kernel::WORKSPACE, message)
                    .at(expr.span, "bytes per slot")
                    .note(format!("a slot has at least its fields, and a multiple of {SLOT_ALIGN} bytes"))
                    .help(
                        "write `PTO_SLOT_BYTES`, which is the size of all `PTO_WORKSPACE` fields together",
                    ));
            }
            sizes.extend((bytes > 0).then_some(bytes));
        }
    }
    Ok(sizes)
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Surroundings without memory: what generators and access summaries need.
pub(crate) fn metadata(plan: &LoweredPlan, bound: &Bound, axis_extents: Vec<Option<u32>>) -> Env {
    // No function that runs names a parameter without a value.
    let params = bound.params.iter().map(|value| value.unwrap_or(Value::U32(0))).collect();
    let mut env = Env::new(&plan.module, params);
    env.max_blocks = plan.options.max_blocks;
    env.axis_extents = axis_extents;
    env.arrays = bound.integers.clone();
    env.caches = bound.caches.iter().map(|cache| Some(page_table(cache))).collect();
    env
}

/// A page table as generators and kernels see it.
pub(crate) fn page_table(cache: &BoundCache) -> CacheArrays {
    CacheArrays {
        lengths: IntArray::U32(cache.lengths.clone()),
        indptr: IntArray::U32(cache.indptr.clone()),
        indices: IntArray::U32(cache.indices.clone()),
        last_page_len: IntArray::U32(cache.last_page_len.clone()),
    }
}

/// What a launch is given, checked.
#[derive(Clone, Copy)]
pub(crate) struct Given<'a> {
    pub(crate) arrays: &'a Arrays,
    /// Arrays of the caller, which are claimed.
    pub(crate) views: &'a Views,
    pub(crate) recording: Recorded,
}

/// Memory of a tensor.
#[derive(Clone)]
struct Held {
    range: ByteRange,
    /// Where the elements of an array of the caller do not lie in row-major order without gaps, how they lie.
    layout: Option<Layout>,
}

impl Held {
    fn of_view(view: &View) -> Held {
        let layout = (!view.is_dense()).then(|| in_place::layout(view));
        Held { range: view.range().clone(), layout }
    }

    /// Memory that has no value before tasks store to it, in every run. One that does not record tells lines apart, not bytes: of
    /// a slot it knows which fields were stored.
    fn inner(array: Array, recording: Recording) -> Held {
        let unit = match recording {
            Recording::On => array.dtype().size(),
            Recording::Off => SLOT_ALIGN as usize,
        };
        let range = array.into_range().recorded(unit, EarlyLoads::Refused);
        Held { range: range.expect("there should be memory for the record of a step"), layout: None }
    }
}

/// Allocates what the launch owns and attaches all memory to `env`.
///
/// The caller keeps the result alive, and what is given untouched, until `env` is [detached](detach) or dropped; it runs nothing where this fails.
pub(crate) fn attach(
    plan: &LoweredPlan,
    bound: &Bound,
    sizes: &Sizes,
    slots: &SlotLayout,
    given: Given<'_>,
    env: &mut Env,
) -> Result<Owned, Vec<Diagnostic>> {
    detach(env);
    let workspace = allocate("the workspace", DType::U8, &[sizes.workspace_bytes]).map_err(|f| vec![f])?;
    let recording = given.recording;
    let workspace = Held::inner(workspace, recording.steps);
    let mut owned = Owned::default();
    let mut launched: Vec<Option<Held>> = vec![None; plan.module.tensors.len()];
    for (i, tensor) in plan.module.tensors.iter().enumerate() {
        let id = TensorId(i as u32);
        let bound_tensor = &bound.tensors[i];
        if !has_memory(plan, id, bound_tensor.dtype) {
            continue;
        }
        if plan.tensors[i].written {
            // What was bound before tasks run is not what they store.
            env.arrays[i] = None;
        }
        let layout = layout(plan, bound, sizes, slots, id);
        let held = match tensor.storage {
            Storage::Workspace => workspace.clone(),
            Storage::Temporary => {
                let array =
                    allocate(&tensor.name, bound_tensor.dtype, &[elements(&layout)]).map_err(|fault| {
                        let shape = shape_text(bound_tensor, &sizes.resolve(bound_tensor));
                        vec![fault.at(tensor.span, format!("its shape is {shape}"))]
                    })?;
                Held::inner(array, recording.steps)
            }
            Storage::Launch | Storage::CacheKeys(_) | Storage::CacheValues(_) => {
                let first = plan.memory[i];
                launched[i] = if first == id {
                    launch_memory(plan, bound, given, id, &mut owned).map_err(|f| vec![f])?
                } else {
                    check_shared(plan, bound, first, id).map_err(|f| vec![f])?;
                    launched[first.index()].clone()
                };
                match &launched[i] {
                    Some(held) => held.clone(),
                    None => continue,
                }
            }
        };
        // SAFETY: of the three facts of `wsp_memory`: the range is kept in `owned`, which the caller keeps, and may be written where kernels
        // store to it; the run has claimed the arrays of the caller, and has the rest to itself, or only reads it;
        // accesses of tasks that conflict are ordered by the task graph, which sees every tensor that is written
        // (`TensorUse::written`), and tensors of different arrays share no memory that is written.
        let bytes = unsafe { held.range.bytes() };
        env.tensors[i] = Some(TensorMem::new(bytes, bound_tensor.dtype, held.layout.unwrap_or(layout)));
        owned.ranges.push(held.range);
    }
    Ok(owned)
}

/// Gives `env` the types of the tensors for which [`attach`] has memory.
pub(crate) fn outline(plan: &LoweredPlan, bound: &Bound, given: Given<'_>, env: &mut Env) {
    for (i, tensor) in plan.module.tensors.iter().enumerate() {
        let (first, dtype) = (plan.memory[i], bound.tensors[i].dtype);
        let is_there = match tensor.storage {
            Storage::Workspace | Storage::Temporary => true,
            Storage::Launch | Storage::CacheKeys(_) | Storage::CacheValues(_) => {
                let has = |name: &String| given.views.contains_key(name) || given.arrays.contains_key(name);
                let name = in_place::array_name(plan, bound, first);
                name.is_some_and(|name| plan.tensors[first.index()].written || has(&name))
            }
        };
        if is_there && has_memory(plan, TensorId(i as u32), dtype) {
            let layout = Layout::Strided { dims: Vec::new(), strides: Vec::new() };
            env.tensors[i] = Some(TensorMem::new(Bytes::NONE, dtype, layout));
        }
    }
}

/// Takes the memory of tensors out of `env`, which may stay when what was attached goes.
pub(crate) fn detach(env: &mut Env) {
    env.tensors.fill_with(|| None);
}

/// Two tensors of one argument have one shape. With an array, that each agrees with it says so already.
fn check_shared(
    plan: &LoweredPlan,
    bound: &Bound,
    first: TensorId,
    second: TensorId,
) -> Result<(), Diagnostic> {
    let shape = |id: TensorId| fixed_dims(&bound.tensors[id.index()]);
    if shape(first) == shape(second) {
        return Ok(());
    }
    let [a, b] = [first, second].map(|id| &plan.module.tensors[id.index()]);
    let message = format!("`{}` and `{}` are one array, but differ in shape", a.name, b.name);
    Err(Diagnostic::error(codes::WRONG_EXTENT, message)
        .at(b.span, format!("{:?}", shape(second)))
        .label(a.span, format!("{:?}", shape(first)))
        .note("the launch binds both to one argument"))
}

/// Memory of an array of the launch: that of the caller for a view and when it is only read, else a copy that becomes an output.
fn launch_memory(
    plan: &LoweredPlan,
    bound: &Bound,
    given: Given<'_>,
    id: TensorId,
    owned: &mut Owned,
) -> Result<Option<Held>, Diagnostic> {
    let written = plan.tensors[id.index()].written;
    let Some(name) = in_place::array_name(plan, bound, id) else { return Ok(None) };
    if let Some(array) = given.arrays.get(&name) {
        check_type(plan, bound, id, array, &name)?;
    }
    if let Some(view) = given.views.get(&name) {
        if !written || given.recording.outputs == Recording::Off {
            return Ok(Some(Held::of_view(view)));
        }
        let view = view.clone().recorded(EarlyLoads::Noted);
        let held = Held::of_view(&view);
        report(plan, id, Record { tensor: name, view, given: true }, owned);
        return Ok(Some(held));
    }
    if !written {
        let array = given.arrays.get(&name);
        return Ok(array.map(|array| Held { range: array.range(), layout: None }));
    }
    let view = output(plan, bound, given, id, &name)?;
    let held = Held::of_view(&view);
    if given.recording.outputs == Recording::On && view.range().stored().is_some() {
        let given = given.arrays.contains_key(&name);
        report(plan, id, Record { tensor: name.clone(), view: view.clone(), given }, owned);
    }
    owned.outputs.push((name, view));
    Ok(Some(held))
}

/// Memory for a tensor that kernels store to, with the elements of the array that is given for it.
fn output(
    plan: &LoweredPlan,
    bound: &Bound,
    given: Given<'_>,
    id: TensorId,
    name: &str,
) -> Result<View, Diagnostic> {
    let (array, early, recording) = match given.arrays.get(name) {
        Some(array) => {
            let mut copy = allocate(name, array.dtype(), array.shape())?;
            copy.bytes_mut().copy_from_slice(array.bytes());
            (copy, EarlyLoads::Noted, given.recording.outputs)
        }
        None => {
            let tensor = &bound.tensors[id.index()];
            let shape: Vec<u64> = fixed_dims(tensor).iter().map(|&n| u64::from(n)).collect();
            let array = allocate(name, tensor.dtype, &shape).map_err(|fault| {
                fault.at(plan.module.tensors[id.index()].span, format!("its shape is {shape:?}"))
            })?;
            // What some kernel loads from is a step.
            let Recorded { outputs, steps } = given.recording;
            (array, EarlyLoads::Refused, if plan.tensors[id.index()].read { steps } else { outputs })
        }
    };
    let view =
        array.lend().map_err(|fault| Diagnostic::error(codes::TOO_LARGE, format!("`{name}`: {fault}")))?;
    Ok(if recording == Recording::On { view.recorded(early) } else { view })
}

/// Elements that are never stored are reported, but for slots of a cache: those that belong to no token are not to be written.
fn report(plan: &LoweredPlan, id: TensorId, record: Record, owned: &mut Owned) {
    let storage = &plan.module.tensors[id.index()].storage;
    if !matches!(storage, Storage::CacheKeys(_) | Storage::CacheValues(_)) {
        owned.records.push(record);
    }
}

fn allocate(name: &str, dtype: DType, shape: &[u64]) -> Result<Array, Diagnostic> {
    Array::zeros(dtype, shape).map_err(|fault| {
        let what = match fault {
            ArrayError::TooLarge => format!("`{name}` is too large to be addressed"),
            ArrayError::OutOfMemory { bytes } => {
                format!("there is no memory for the {bytes} of `{name}`", bytes = counted(bytes, "byte"))
            }
            _ => format!("`{name}`: {fault}"),
        };
        Diagnostic::error(codes::TOO_LARGE, what)
    })
}

/// A shape for people; what differs between requests as `…`.
fn shape_text(tensor: &BoundTensor, extents: &[u32]) -> String {
    let dims: Vec<String> = tensor
        .dims
        .iter()
        .zip(extents)
        .map(|(dim, extent)| match dim {
            BoundDim::Axis(_) if *extent == 0 => "…".to_owned(),
            _ => extent.to_string(),
        })
        .collect();
    format!("[{}]", dims.join(", "))
}

/// Extents of a tensor whose dimensions are all fixed; others count as 0.
fn fixed_dims(tensor: &BoundTensor) -> Vec<u32> {
    tensor
        .dims
        .iter()
        .map(|dim| match dim {
            BoundDim::Fixed(n) => *n,
            BoundDim::Lengths(_) | BoundDim::Axis(_) => 0,
        })
        .collect()
}

fn layout(plan: &LoweredPlan, bound: &Bound, sizes: &Sizes, slots: &SlotLayout, id: TensorId) -> Layout {
    let tensor = &bound.tensors[id.index()];
    match plan.module.tensors[id.index()].storage {
        Storage::CacheKeys(cache) | Storage::CacheValues(cache) => {
            Layout::Paged(paged(&bound.caches[cache.index()]))
        }
        Storage::Workspace => {
            let dims = fixed_dims(tensor);
            let strides = row_major(&dims);
            let count = sizes.workspace_bytes.checked_div(u64::from(slots.unit)).unwrap_or(0);
            Layout::Slots {
                slots: u32::try_from(count).expect("a workspace below 4 GiB has fewer slots"),
                slot_bytes: slots.unit,
                apart: slots.apart,
                offset: slots.offsets[id.index()],
                dims,
                strides,
            }
        }
        Storage::Launch => strided(fixed_dims(tensor)),
        Storage::Temporary => temporary(tensor, sizes, id),
    }
}

fn paged(cache: &BoundCache) -> Paged {
    let (heads, lanes, page) = (u64::from(cache.heads), u64::from(cache.lanes), u64::from(cache.page_size));
    let (slot_stride, head_stride) = match cache.layout {
        KvLayout::Nhd => (heads * lanes, lanes),
        KvLayout::Hnd => (lanes, page * lanes),
    };
    Paged {
        lengths: cache.lengths.clone(),
        indptr: cache.indptr.clone(),
        indices: cache.indices.clone(),
        page_size: cache.page_size,
        heads: cache.heads,
        lanes: cache.lanes,
        page_stride: page * heads * lanes,
        slot_stride,
        head_stride,
    }
}

/// A temporary: ragged when its second dimension is a dynamic axis, plain otherwise.
fn temporary(tensor: &BoundTensor, sizes: &Sizes, id: TensorId) -> Layout {
    if let Some(extents) = &sizes.ragged[id.index()] {
        let mut starts = vec![0u64];
        for &extent in extents {
            starts.push(starts.last().copied().unwrap_or(0) + u64::from(extent));
        }
        let dims: Vec<u32> = sizes.resolve(tensor)[2..].to_vec();
        let inner = row_major(&dims);
        let row = dims.iter().fold(1u64, |row, &n| row.saturating_mul(u64::from(n)));
        let strides = std::iter::once(row).chain(inner).collect();
        return Layout::Ragged { starts: Arc::from(starts), dims, strides };
    }
    strided(sizes.resolve(tensor))
}

fn strided(dims: Vec<u32>) -> Layout {
    let strides = row_major(&dims);
    Layout::Strided { dims, strides }
}

fn row_major(dims: &[u32]) -> Vec<u64> {
    let mut strides = vec![1u64; dims.len()];
    for d in (1..dims.len()).rev() {
        strides[d - 1] = strides[d].saturating_mul(u64::from(dims[d]));
    }
    strides
}

/// Elements that a temporary's layout reaches.
fn elements(layout: &Layout) -> u64 {
    match layout {
        Layout::Strided { dims, .. } => {
            dims.iter().fold(1, |total: u64, &n| total.saturating_mul(u64::from(n)))
        }
        Layout::Ragged { starts, strides, .. } => {
            starts.last().copied().unwrap_or(0).saturating_mul(strides[0])
        }
        Layout::Paged(_) | Layout::Slots { .. } => 0,
    }
}
