//! Entries of `.pto` files: compiled for the extents of what is bound to them, bound once per dispatch, run once per block.
//!
//! **Level:** the core machine: what one block computes, in tile operations.

#[cfg(test)]
mod examples;
mod extents;
#[cfg(test)]
mod tests;

use super::memory::TensorRange;
use crate::bind::params::bad_value;
use extents::{Extents, Given};
use std::fmt;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use wsp_core::{DType, FuncId, ParamId, TensorId};
use wsp_diag::Diagnostic;
use wsp_ir::tg::KernelSignature;
use wsp_ir::{Elem, KernelEntry, Module, ParamSource};
use wsp_kernel::{CodeCache, Engine, Env, KernelCode, Layout, Mode, Scratch, Trap, Value, eval_launch_expr};
use wsp_ordered::OrderedSet;
use wsp_plan::ParamValue;
use wsp_plan::cost::{self, Known};
use wsp_plan::entry::{functions, parameters, signature};
use wsp_plan::target::model::Model;

/// Versions of an entry that are kept, one for each list of extents that it was bound to.
const KEPT_VERSIONS: usize = 16;

/// An entry of a `.pto` file: `PTO_KERNEL_IMPL(name, Tensor<T> a, …)`.
pub struct PtoEntry {
    module: Arc<Module>,
    /// Its place in the module's list.
    at: usize,
    signature: KernelSignature,
    /// Values of parameters that follow from no memory.
    known: Vec<Option<Value>>,
    /// Parameters that its code needs.
    used: OrderedSet<ParamId>,
    mode: Mode,
    engine: Engine,
    /// Machine code of its scalar functions.
    code: CodeCache,
    versions: Mutex<Vec<Version>>,
}

/// An entry compiled for values of all parameters.
struct Version {
    params: Vec<Value>,
    code: Arc<KernelCode>,
}

/// A tensor that an entry uses beside its arguments: given by name by whoever runs it.
#[derive(Clone, Copy, Debug)]
pub struct PtoResident<'a> {
    /// Its elements in row-major order.
    pub range: &'a TensorRange,
    /// Their type.
    pub dtype: DType,
    /// Extents, outermost first.
    pub shape: &'a [u64],
}

/// An entry with memory: what the blocks of one dispatch share.
pub struct PtoBound {
    code: Arc<KernelCode>,
    env: Env,
    /// Keeps the memory that `env` points into.
    ranges: Vec<TensorRange>,
}

impl fmt::Debug for PtoEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PtoEntry").field("signature", &self.signature).finish_non_exhaustive()
    }
}

impl fmt::Debug for PtoBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PtoBound").finish_non_exhaustive()
    }
}

impl PtoBound {
    /// Bytes of all that is bound.
    pub(crate) fn bytes(&self) -> u64 {
        self.ranges.iter().map(TensorRange::bytes).sum()
    }
}

impl PtoEntry {
    /// Every entry of a file, in its order. Values of `set` whose names are not [settable](wsp_plan::entry::settable) belong to other
    /// files; of those given twice the last one counts.
    ///
    /// # Errors
    /// Values that parameters of the file do not take, and defaults that cannot be computed.
    pub fn all(
        module: &Arc<Module>,
        set: &[(String, ParamValue)],
        mode: Mode,
        engine: Engine,
        code: &CodeCache,
    ) -> Result<Vec<PtoEntry>, Vec<Diagnostic>> {
        let known = known_values(module, set)?;
        let entry = |at| PtoEntry::new(module.clone(), at, &known, (mode, engine, code.clone()));
        Ok((0..module.kernel_entries.len()).map(entry).collect())
    }

    fn new(
        module: Arc<Module>,
        at: usize,
        known: &[Option<Value>],
        (mode, engine, code): (Mode, Engine, CodeCache),
    ) -> PtoEntry {
        let entry = &module.kernel_entries[at];
        let extent =
            |e: &wsp_ir::Expr| eval_launch_expr(&module, e, known).ok().and_then(|value| value.as_u64());
        let signature = signature(&module, entry, &extent);
        let used = parameters(&module, entry.function);
        let (known, versions) = (known.to_vec(), Mutex::new(Vec::new()));
        PtoEntry { at, signature, known, used, mode, engine, code, versions, module }
    }

    /// Its entry symbol.
    pub fn name(&self) -> &str {
        &self.signature.name
    }

    /// What is known of it before memory is bound.
    pub fn signature(&self) -> &KernelSignature {
        &self.signature
    }

    /// Everything that its results depend on beside its arguments and [parameters](PtoEntry::params), in the text form of the
    /// IR. Comments, layout and other kernels of its file are no part of it.
    pub(super) fn text(&self) -> String {
        let mut module = Module::clone(&self.module);
        let needed: OrderedSet<usize> =
            functions(&module, self.entry().function).into_iter().map(FuncId::index).collect();
        let others = module.functions.iter_mut().enumerate().filter(|(at, _)| !needed.contains(at));
        others.for_each(|(_, function)| {
            function.body.clear();
            function.locals.clear();
        });
        module.kernel_entries = vec![self.entry().clone()];
        module.references.clear();
        wsp_ir::text::print(&module)
    }

    /// The values of the parameters of its file that `set` of [`PtoEntry::all`] may give, by name.
    pub(super) fn params(&self) -> Vec<(String, String)> {
        let params = self.module.params.iter().zip(&self.known);
        let set = params.filter(|(param, _)| matches!(param.source, ParamSource::Set { .. }));
        let value = |value: &Option<Value>| value.map_or_else(|| "not known".to_owned(), |v| v.to_string());
        set.map(|(param, known)| (param.name.clone(), value(known))).collect()
    }

    /// What computes its tile operations.
    pub(super) fn mode(&self) -> Mode {
        self.mode
    }

    fn entry(&self) -> &KernelEntry {
        &self.module.kernel_entries[self.at]
    }

    /// Binds memory: `args` in the order of the arguments, `residents` in the order of the signature. Extents that are not
    /// known yet follow from the bytes. Of ranges that share memory, blocks may store to one only. Blocks stop when `cancel` becomes true.
    ///
    /// # Errors
    /// What does not fit, in words and numbers.
    pub fn bind(
        &self,
        args: &[TensorRange],
        residents: &[PtoResident<'_>],
        workspace: &TensorRange,
        cancel: Option<&Arc<AtomicBool>>,
    ) -> Result<PtoBound, String> {
        let given = self.given(args, residents, workspace)?;
        let mut extents = Extents::new(&self.module, &self.known);
        extents.solve(&given)?;
        let params = extents.values(&self.used)?;
        let mut env = Env::new(&self.module, params);
        (env.mode, env.engine) = (self.mode, self.engine);
        env.code = self.code.clone();
        env.cancel = cancel.cloned();
        for (one, range) in given.iter().filter_map(|one| Some((one, one.range?))) {
            let dims = extents.dims(one.tensor)?;
            if dims.len() == 1 && !one.dtype.is_float() {
                let elements = u64::from(dims[0]) * one.dtype.size() as u64;
                env.arrays[one.tensor.index()] =
                    range.part(0, elements).and_then(|range| range.integers(one.dtype));
            }
            let layout = Layout::Strided { strides: row_major(&dims), dims };
            env.tensors[one.tensor.index()] = Some(range.tensor_mem(one.dtype, layout));
        }
        let code = self.compiled(&env)?;
        env.loads_in_place = !stores_to_what_it_loads(&code, &given);
        Ok(PtoBound { code, env, ranges: given.iter().filter_map(|one| one.range.cloned()).collect() })
    }

    /// Whether arguments fit each other, by those whose number of bytes is known. What resident tensors say is not known.
    ///
    /// # Errors
    /// What does not fit, in words and numbers, for whatever memory is bound.
    pub(crate) fn check_sizes(&self, args: &[Option<u64>]) -> Result<(), String> {
        let given = |(tensor, bytes): (TensorId, &Option<u64>)| {
            let dtype = self.dtype(tensor);
            bytes.map(|bytes| Given { tensor, dtype, bytes, range: None, shape: None, larger: false })
        };
        let given: Vec<Given<'_>> = self.entry().arguments().zip(args).filter_map(given).collect();
        Extents::new(&self.module, &self.known).solve_in_part(&given)
    }

    /// Type of the elements of a tensor of its file.
    fn dtype(&self, tensor: TensorId) -> DType {
        match self.module.tensors[tensor.index()].elem {
            Elem::Fixed(dtype) => dtype,
            Elem::Of(_) => DType::F32,
        }
    }

    /// The memory of each tensor that the entry uses.
    fn given<'a>(
        &self,
        args: &'a [TensorRange],
        residents: &[PtoResident<'a>],
        workspace: &'a TensorRange,
    ) -> Result<Vec<Given<'a>>, String> {
        let entry = self.entry();
        let (need, have) = (self.signature.args.len(), args.len());
        if need != have {
            return Err(format!("`{}` takes {need} arguments, and {have} are bound", self.name()));
        }
        let (need, have) = (entry.residents.len(), residents.len());
        if need != have {
            return Err(format!("`{}` uses {need} resident tensors, and {have} are given", self.name()));
        }
        let mut given = Vec::new();
        for (&tensor, resident) in entry.residents.iter().zip(residents) {
            if resident.dtype != self.dtype(tensor) {
                let name = &self.module.tensors[tensor.index()].name;
                let (have, need) = (resident.dtype, self.dtype(tensor));
                return Err(format!("`{name}` holds `{have}` elements, and the kernel takes `{need}`"));
            }
            given.push(Given {
                tensor,
                dtype: resident.dtype,
                bytes: resident.range.bytes(),
                range: Some(resident.range),
                shape: Some(resident.shape),
                larger: false,
            });
        }
        let mut give = |tensor, range: &'a TensorRange, larger| {
            let (dtype, bytes, range) = (self.dtype(tensor), range.bytes(), Some(range));
            given.push(Given { tensor, dtype, bytes, range, shape: None, larger });
        };
        entry.arguments().zip(args).for_each(|(tensor, range)| give(tensor, range, false));
        entry.workspace().into_iter().for_each(|tensor| give(tensor, workspace, true));
        Ok(given)
    }

    /// The cycles of a block of so many on a machine.
    ///
    /// # Errors
    /// As [`cost::of_kernel`].
    pub(crate) fn cycles(
        &self,
        bound: &PtoBound,
        machine: &Model,
        block_of: [u32; 2],
    ) -> Result<u64, Diagnostic> {
        cost::of_kernel(machine, &self.module, self.entry().function, &OfBlock { env: &bound.env, block_of })
    }

    /// The code for the values and types in `env`.
    fn compiled(&self, env: &Env) -> Result<Arc<KernelCode>, String> {
        let mut versions = self.versions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = versions.iter().position(|version| version.params == env.params) {
            return Ok(versions[at].code.clone());
        }
        let code =
            KernelCode::compile(&self.module, self.entry().function, env).map_err(|trap| text(&trap))?;
        let code = Arc::new(code);
        if versions.len() >= KEPT_VERSIONS {
            versions.remove(0);
        }
        versions.push(Version { params: env.params.clone(), code: code.clone() });
        Ok(code)
    }
}

impl PtoBound {
    /// Runs one block of `blocks`. Nothing is allocated once `scratch` has run the same kernel.
    ///
    /// # Errors
    /// When an operation cannot be done, or the run is stopped; what was stored before stays.
    pub fn run(&self, scratch: &mut Scratch, block: u32, blocks: u32) -> Result<(), Box<Trap>> {
        // The order is that of `KernelEntry::BLOCK_IDX` and `KernelEntry::BLOCK_NUM`.
        self.code.run(scratch, &self.env, &[block, blocks]).map_err(Box::new)
    }
}

/// What is known of a block: its number, and that of all.
struct OfBlock<'a> {
    env: &'a Env,
    block_of: [u32; 2],
}

impl Known for OfBlock<'_> {
    fn param(&self, param: ParamId) -> Option<i128> {
        self.env.params.get(param.index())?.as_int()
    }

    fn field(&self, field: u32) -> Option<u32> {
        self.block_of.get(field as usize).copied()
    }

    fn extent(&self, tensor: TensorId, dim: usize) -> Option<u64> {
        match self.env.tensors.get(tensor.index())?.as_ref()?.layout() {
            Layout::Strided { dims, .. } => dims.get(dim).map(|n| u64::from(*n)),
            _ => None,
        }
    }

    fn dtype(&self, tensor: TensorId) -> Option<DType> {
        Some(self.env.tensors.get(tensor.index())?.as_ref()?.dtype())
    }
}

/// Values of parameters that follow from no memory.
fn known_values(
    module: &Module,
    set: &[(String, ParamValue)],
) -> Result<Vec<Option<Value>>, Vec<Diagnostic>> {
    let mut known: Vec<Option<Value>> = Vec::with_capacity(module.params.len());
    let mut faults = Vec::new();
    for param in &module.params {
        let given = set.iter().rev().find(|(name, _)| *name == param.name).map(|(_, value)| *value);
        let value = match (&param.source, given) {
            (ParamSource::Set { .. }, Some(value)) => {
                Value::of(param.ty, value).map(Some).ok_or_else(|| bad_value(param, value))
            }
            (ParamSource::Set { default: e } | ParamSource::Derived(e), _) => match unknown(e, &known) {
                Some(_) => Ok(None),
                None => eval_launch_expr(module, e, &known).map(Some).map_err(Diagnostic::from),
            },
            (ParamSource::Shape { .. } | ParamSource::Entry, _) => Ok(None),
        };
        known.push(value.unwrap_or_else(|fault| {
            faults.push(fault);
            None
        }));
    }
    if faults.is_empty() { Ok(known) } else { Err(faults) }
}

/// A parameter that an expression needs and that has no value.
fn unknown(e: &wsp_ir::Expr, values: &[Option<Value>]) -> Option<ParamId> {
    let mut found = None;
    e.any(&mut |e| {
        if let wsp_ir::ExprKind::Param(id) = e.kind
            && values.get(id.index()).copied().flatten().is_none()
        {
            found = Some(id);
        }
        found.is_some()
    });
    found
}

/// Whether a tensor that the kernel stores to shares memory with another that it uses.
fn stores_to_what_it_loads(code: &KernelCode, given: &[Given<'_>]) -> bool {
    let stored = given.iter().filter(|one| code.stores_to(one.tensor));
    let shared = |one: &Given<'_>| {
        let overlaps = |other: &Given<'_>| one.range.zip(other.range).is_some_and(|(a, b)| a.overlaps(b));
        given.iter().any(|other| other.tensor != one.tensor && overlaps(other))
    };
    stored.into_iter().any(shared)
}

fn row_major(dims: &[u32]) -> Vec<u64> {
    let mut strides = vec![1u64; dims.len()];
    for d in (1..dims.len()).rev() {
        strides[d - 1] = strides[d].saturating_mul(u64::from(dims[d]));
    }
    strides
}

/// A trap in one line.
fn text(trap: &Trap) -> String {
    let mut text = trap.message.clone();
    for note in &trap.notes {
        text.push_str("; ");
        text.push_str(note);
    }
    text
}
