//! Kernels over views of their tasks' regions: compiled once, bound to the regions of every task.

use super::codes;
use super::memory::{NeverStored, SharedTensor};
use std::fmt::Write;
use std::io;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use wsp_core::words::{by_count, counted};
use wsp_core::{FuncId, MAX_RANK, Poll, Region, TensorId};
use wsp_diag::Diagnostic;
use wsp_ir::verify::verify;
use wsp_ir::workload::{AccessMode, Kernel, ParamKind, Signature};
use wsp_ir::{ArrayRef, Elem, FuncKind, Storage};
use wsp_kernel::{CodeCache, Engine, Env, KernelCode, Mode, Scratch, Trap};
use wsp_plan::workload::modes;
use wsp_plan::{FieldSource, ViewKernelSource, ViewShape};

/// A compiled kernel over views.
#[derive(Debug)]
pub(crate) struct ViewKernel {
    /// Without its function, unless that is to be followed.
    source: ViewKernelSource,
    code: KernelCode,
    mode: Mode,
    engine: Engine,
    views: Vec<View>,
    /// Views that the kernel stores to.
    stored: Vec<usize>,
}

/// Several times what following the deepest kernel takes without optimisations.
const STACK_BYTES: usize = 16 << 20;

/// What binding a view needs to know of it.
#[derive(Debug)]
struct View {
    /// Bit `d`: dimension `d` of the region is kept.
    kept: u8,
    /// Whether the kernel reads elements as those of an array of integers, or nothing at all of what may be one.
    integers: bool,
    /// Whether tiles and single elements are moved from and to it.
    memory: bool,
}

/// What a worker needs to run one kernel: its surroundings, bound to another task's regions each time.
#[derive(Debug)]
pub(crate) struct Bound {
    env: Env,
    words: Vec<u32>,
    /// What each view was bound to last.
    last: Vec<Extents>,
}

/// A tensor and the extents of a region of it.
type Extents = (TensorId, [u32; MAX_RANK]);
/// Those of no region.
const NO_REGION: Extents = (TensorId(u32::MAX), [0; MAX_RANK]);

impl Bound {
    /// Forgets what views were bound to: a tensor is no longer where it was.
    pub(crate) fn forget(&mut self) {
        self.last.fill(NO_REGION);
    }
}

/// What stops kernels from outside.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interruption {
    pub(crate) cancel: Option<Arc<AtomicBool>>,
    /// Where kernels run on the thread that asks.
    pub(crate) poll: Option<Arc<dyn Poll>>,
}

/// How a task does not fit its kernel, and what to do about it, in Python too.
#[derive(Debug)]
pub(crate) struct Misfit {
    pub(crate) what: String,
    pub(crate) help: String,
    pub(crate) python: String,
}

/// Why a task did not run to its end.
#[derive(Debug)]
pub(crate) enum ViewFault {
    /// It does not fit the kernel.
    Argument(Misfit),
    /// It reads elements that no task has stored.
    NeverStored(NeverStored),
    /// The kernel stopped.
    Trap(Box<Trap>),
}

impl ViewKernel {
    /// Checks and compiles a kernel; its machine code is kept in `code`. Its function is kept where layouts are to be followed through it (`followed`).
    ///
    /// # Errors
    /// Every fault of the module and of its description, else what keeps it from being compiled.
    pub(crate) fn new(
        name: &str,
        mut source: ViewKernelSource,
        (mode, engine): (Mode, Engine),
        (code, followed): (&CodeCache, bool),
    ) -> Result<ViewKernel, Vec<Diagnostic>> {
        let named = |fault: Diagnostic| fault.note(format!("in kernel `{name}`"));
        let faults: Vec<Diagnostic> =
            verify(&source.module).into_iter().filter(Diagnostic::is_error).collect();
        if !faults.is_empty() {
            return Err(faults.into_iter().map(named).collect());
        }
        let faults = description_faults(&source);
        if !faults.is_empty() {
            let fault = |message| named(Diagnostic::error(codes::VIEW_KERNEL, message));
            return Err(faults.into_iter().map(fault).collect());
        }
        let views: Vec<View> = (0..source.views.len()).map(|v| used_view(&source, v)).collect();
        let env = Env { code: code.clone(), ..surroundings(&source, &views, mode, engine) };
        let code = KernelCode::compile(&source.module, FuncId(0), &env);
        let code = code.map_err(|trap| vec![named(Diagnostic::from(trap))])?;
        let stored = (0..source.views.len()).filter(|v| code.stores_to(TensorId(*v as u32))).collect();
        // The code is all that runs. What it was compiled from may nest deeply, and dropping that takes as much of a stack.
        if !followed {
            source.module.functions.clear();
        }
        Ok(ViewKernel { source, code, mode, engine, views, stored })
    }

    /// What it was compiled from, where that was kept.
    pub(crate) fn source(&self) -> Option<&ViewKernelSource> {
        (!self.source.module.functions.is_empty()).then_some(&self.source)
    }

    /// What keeps it from being the body of a declared kernel.
    pub(crate) fn misfits(&self, kernel: &Kernel) -> Vec<Diagnostic> {
        let name = &kernel.name;
        let fault =
            |message: String| Diagnostic::error(codes::VIEW_KERNEL, message).at(kernel.span, "declared here");
        let modes = modes(kernel);
        if modes.len() != self.views.len() {
            let message = format!(
                "kernel `{name}` has {}, and its body {}",
                counted(modes.len(), "tensor parameter"),
                counted(self.views.len(), "view")
            );
            return vec![fault(message)];
        }
        let scalars = match &kernel.signature {
            Signature::Declared(params) => params.iter().filter(|p| p.kind == ParamKind::Scalar).count(),
            Signature::Library => 0,
        };
        let stored = self.stored.iter().filter(|v| modes[**v] == AccessMode::In).map(|&v| {
            fault(format!("kernel `{name}` stores to `{}`, which is declared `in`", self.name(v)))
                .help("declare the parameter `inout`")
                .python("declare the parameter `InOut`")
        });
        let missing = self.source.fields.iter().filter_map(|field| match field {
            FieldSource::Scalar(n) if *n as usize >= scalars => Some(fault(format!(
                "kernel `{name}` has {scalars} scalar parameters, and its body asks for number {n}"
            ))),
            FieldSource::Scalar(_) | FieldSource::Extent { .. } => None,
        });
        stored.chain(missing).collect()
    }

    /// Surroundings for one worker.
    pub(crate) fn bound(&self, interruption: &Interruption) -> Bound {
        let mut env = surroundings(&self.source, &self.views, self.mode, self.engine);
        env.cancel.clone_from(&interruption.cancel);
        env.poll.clone_from(&interruption.poll);
        Bound {
            env,
            words: Vec::with_capacity(self.source.fields.len()),
            last: vec![NO_REGION; self.views.len()],
        }
    }

    /// Runs one task, whose arguments have the kernel's signature.
    ///
    /// # Errors
    /// The task does not fit the kernel, or the kernel stops; what it stored before stays.
    pub(crate) fn run(
        &self,
        bound: &mut Bound,
        scratch: &mut Scratch,
        tensors: &[SharedTensor],
        scalars: &[i64],
        regions: &[Region],
    ) -> Result<(), ViewFault> {
        for (v, region) in regions.iter().enumerate() {
            self.bind(bound, v, region, &tensors[region.tensor.index()])?;
        }
        let Bound { env, words, .. } = bound;
        words.clear();
        for (field, source) in self.source.fields.iter().enumerate() {
            words.push(match *source {
                FieldSource::Scalar(n) => {
                    let value = scalars[n as usize];
                    u32::try_from(value).map_err(|_| self.scalar_fault(field, value))?
                }
                FieldSource::Extent { view, dim } => {
                    let d = usize::from(self.source.views[view as usize].keep[dim as usize]);
                    regions[view as usize].hi[d] - regions[view as usize].lo[d]
                }
            });
        }
        env.loads_in_place = !self.stores_to_what_it_loads(regions);
        self.code.run(scratch, env, words).map_err(|trap| ViewFault::Trap(Box::new(trap)))
    }

    /// Binds a view to the region of a task. Most regions are as large as the one before, and then only move.
    #[inline]
    fn bind(
        &self,
        bound: &mut Bound,
        v: usize,
        region: &Region,
        tensor: &SharedTensor,
    ) -> Result<(), ViewFault> {
        let Bound { env, last, .. } = bound;
        let (known, extents) = &mut last[v];
        if *known == region.tensor
            && !self.views[v].integers
            && let Some(memory) = &mut env.tensors[v]
            && tensor.bind_like(region, extents, memory)
        {
            return Ok(());
        }
        self.check(v, tensor, region)?;
        let keep = &self.source.views[v].keep;
        if self.views[v].integers {
            env.arrays[v] = tensor.integers(region, keep[0]).map_err(ViewFault::NeverStored)?;
        }
        if let Some(memory) = &mut env.tensors[v] {
            tensor.bind(region, keep, memory);
            *known = region.tensor;
            *extents = std::array::from_fn(|d| region.hi[d] - region.lo[d]);
        }
        Ok(())
    }

    /// Whether a view that the kernel stores to shares elements with another.
    fn stores_to_what_it_loads(&self, regions: &[Region]) -> bool {
        let shared = |v: usize, other: usize| {
            other != v && regions[other].tensor == regions[v].tensor && regions[other].overlaps(&regions[v])
        };
        self.stored.iter().any(|&v| (0..regions.len()).any(|other| shared(v, other)))
    }

    /// Checks a region against what the view was compiled for.
    fn check(&self, v: usize, tensor: &SharedTensor, region: &Region) -> Result<(), ViewFault> {
        let shape = &self.source.views[v];
        let mut fits = tensor.dtype() == shape.dtype;
        let mut kept = shape.extents.iter();
        for d in 0..MAX_RANK {
            let extent = region.hi[d] - region.lo[d];
            fits &= if self.views[v].kept & 1 << d == 0 {
                extent == 1
            } else {
                kept.next().is_none_or(|wanted| wanted.is_none_or(|n| n == extent))
            };
        }
        if fits { Ok(()) } else { Err(self.misfit(v, tensor, region)) }
    }

    #[cold]
    fn misfit(&self, v: usize, tensor: &SharedTensor, region: &Region) -> ViewFault {
        let (shape, name) = (&self.source.views[v], self.name(v));
        if tensor.dtype() != shape.dtype {
            let (given, compiled) = (tensor.dtype(), shape.dtype);
            return ViewFault::Argument(Misfit {
                what: format!(
                    "`{name}` is given `{given}` elements, and the kernel was compiled for `{compiled}`"
                ),
                help: format!("give it a tensor of `{compiled}`"),
                python: format!("give it a tensor of `{compiled}`"),
            });
        }
        let mut wanted = String::new();
        let mut kept = shape.extents.iter();
        for d in 0..tensor.rank() {
            let separator = if d == 0 { "" } else { ", " };
            let extent =
                if self.views[v].kept & 1 << d == 0 { Some(1) } else { kept.next().copied().flatten() };
            // Writing to a string does not fail.
            let _ = match extent {
                Some(n) => write!(wanted, "{separator}{n}"),
                None => write!(wanted, "{separator}any"),
            };
        }
        let have: Vec<u32> = (0..tensor.rank()).map(|d| region.hi[d] - region.lo[d]).collect();
        ViewFault::Argument(Misfit {
            what: format!(
                "`{name}` is given a region of {have:?} elements, and the kernel was compiled for [{wanted}]"
            ),
            help: format!(
                "give each task a region of [{wanted}] elements, or declare a kernel for each size"
            ),
            python: format!(
                "give each task a region of [{wanted}] elements: `x[lo : lo + n]` with a number `n`"
            ),
        })
    }

    #[cold]
    fn scalar_fault(&self, field: usize, value: i64) -> ViewFault {
        let module = &self.source.module;
        let name = module.structs.first().and_then(|s| s.fields.get(field)).map_or("?", |f| &f.name);
        let most = u32::MAX;
        ViewFault::Argument(Misfit {
            what: format!("`{name}` is {value}, and the kernel takes 0 to {most}"),
            help: format!(
                "give an integer from 0 to {most}, such as `max(…, 0)` of one that may be negative"
            ),
            python: format!(
                "give an integer from 0 to {most}, such as `P.max(…, 0)` of one that may be negative"
            ),
        })
    }

    fn name(&self, v: usize) -> &str {
        &self.source.module.tensors[v].name
    }
}

impl Drop for ViewKernel {
    fn drop(&mut self) {
        let functions = std::mem::take(&mut self.source.module.functions);
        if !functions.is_empty() {
            // Where there is no thread, the functions are dropped here.
            let _ = on_large_stack(|| drop(functions));
        }
    }
}

/// Does on a stack of its own what nests as deep as kernels do, and waits for it.
///
/// # Errors
/// The operating system makes no thread.
pub(crate) fn on_large_stack<R: Send>(work: impl FnOnce() -> R + Send) -> io::Result<R> {
    thread::scope(|scope| {
        let done = thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, work)?.join();
        Ok(done.unwrap_or_else(|panic| resume_unwind(panic)))
    })
}

/// Surroundings in which every view is bound to nothing yet. Parameters, which may stand for extents of views that are not
/// known, have no values: a kernel that uses one cannot be compiled.
fn surroundings(source: &ViewKernelSource, views: &[View], mode: Mode, engine: Engine) -> Env {
    let mut env = Env::new(&source.module, Vec::new());
    (env.mode, env.engine) = (mode, engine);
    for (v, shape) in source.views.iter().enumerate() {
        let nothing = SharedTensor::unbound(shape.dtype, shape.keep.len());
        if views[v].integers {
            env.arrays[v] = SharedTensor::no_integers(shape.dtype);
        }
        if views[v].memory {
            env.tensors[v] = Some(nothing);
        }
    }
    env
}

/// How a kernel uses a view, by its code.
fn used_view(source: &ViewKernelSource, v: usize) -> View {
    let (shape, tensor) = (&source.views[v], TensorId(v as u32));
    let kept = shape.keep.iter().fold(0, |kept, d| kept | 1 << d);
    if shape.keep.len() != 1 || shape.dtype.is_float() {
        return View { kept, integers: false, memory: true };
    }
    let memory = wsp_plan::is_moved(&source.module, tensor);
    let is_read = || wsp_plan::arrays_read(&source.module, FuncId(0)).contains(&ArrayRef::Tensor(tensor));
    View { kept, integers: !memory || is_read(), memory }
}

/// How a module and its description disagree.
fn description_faults(source: &ViewKernelSource) -> Vec<String> {
    let ViewKernelSource { module, views, fields } = source;
    let mut faults = Vec::new();
    let words = match module.functions.as_slice() {
        [function] => match function.kind {
            FuncKind::Kernel { descriptor } => {
                descriptor.map_or(0, |d| module.structs[d.index()].fields.len())
            }
            FuncKind::Generator { .. } | FuncKind::Helper => {
                faults.push(format!("function `{}` is no kernel", function.name));
                fields.len()
            }
        },
        all => {
            faults.push(format!("the module has {} functions, not one", all.len()));
            fields.len()
        }
    };
    if words != fields.len() {
        faults.push(format!(
            "the descriptor has {words}, and sources are given for {}",
            fields.len(),
            words = counted(words, "word")
        ));
    }
    if module.tensors.len() != views.len() {
        faults.push(format!(
            "the module has {}, and {} {} described",
            counted(module.tensors.len(), "tensor"),
            counted(views.len(), "view"),
            by_count(views.len(), "is", "are")
        ));
    }
    for (tensor, shape) in module.tensors.iter().zip(views) {
        faults.extend(shape_fault(tensor, shape).map(|fault| format!("view `{}`: {fault}", tensor.name)));
    }
    for field in fields {
        if let FieldSource::Extent { view, dim } = field
            && views.get(*view as usize).is_none_or(|v| v.keep.len() <= *dim as usize)
        {
            faults.push(format!(
                "a word is the extent of dimension {dim} of view {view}, which does not exist"
            ));
        }
    }
    faults
}

fn shape_fault(tensor: &wsp_ir::Tensor, shape: &ViewShape) -> Option<String> {
    let ViewShape { keep, dtype, extents } = shape;
    if tensor.rank() != keep.len() || extents.len() != keep.len() {
        let (rank, kept, known) = (tensor.rank(), keep.len(), extents.len());
        return Some(format!(
            "rank {rank}, {kept} kept dimensions and {known}",
            known = counted(known, "extent")
        ));
    }
    if tensor.elem != Elem::Fixed(*dtype) {
        return Some(format!("its element type is described as `{dtype}`"));
    }
    if tensor.storage != Storage::Launch {
        return Some("it is no tensor of the launch".to_owned());
    }
    let rising = keep.is_sorted_by(|a, b| a < b) && keep.iter().all(|d| usize::from(*d) < MAX_RANK);
    (!rising).then(|| format!("the kept dimensions {keep:?} do not rise, or exceed {MAX_RANK}"))
}
