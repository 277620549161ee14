//! The tensors of a unit, and the memory of those that are not of one graph.

use super::accounts::{Accounts, Claim};
use super::codes;
use super::memory::TensorRange;
use crate::bind::faults::not_taken;
use rustc_hash::FxHashMap;
use wsp_backend::Recording;
use wsp_core::DType;
use wsp_core::tg::{ExprOp, Instr, MemLocation, TensorNo};
use wsp_core::words::counted;
use wsp_diag::{Diagnostic, Span, did_you_mean};
use wsp_ir::tg::TgModule;
use wsp_memory::{EarlyLoads, View, ViewAccess};
use wsp_ordered::OrderedSet;
use wsp_plan::Array;
use wsp_tg::plan::{PlanTensor, TensorKind, UnitPlan};

/// What freed memory is filled with, so that what still reads it does not look right.
pub(crate) const POISON: u8 = 0xa5;
/// Alignment of external tensors, in bytes.
const EXTERN_ALIGNMENT: u32 = 512;

/// A tensor of a unit.
#[derive(Clone, Debug)]
pub(crate) struct TensorInfo {
    pub(crate) no: TensorNo,
    pub(crate) name: String,
    pub(crate) home: TensorKind,
    /// Its bytes; none for an external one whose declaration does not say.
    pub(crate) bytes: Option<u64>,
    pub(crate) alignment: u32,
    pub(crate) location: MemLocation,
    /// Its elements, if they are declared.
    pub(crate) elements: Option<(DType, Vec<u64>)>,
    pub(crate) span: Span,
    /// Whether the session was given an array for it.
    pub(crate) given: bool,
    /// What may be done with that array where it is the caller's, used where it lies.
    pub(crate) in_place: Option<ViewAccess>,
    /// Whether expressions load scalars from it, or from what it is copied to.
    pub(crate) is_scalar: bool,
}

/// All tensors of a unit, in the order of its plan.
#[derive(Clone, Debug, Default)]
pub(crate) struct TensorTable {
    list: Vec<TensorInfo>,
    /// Whether the memory of external tensors records what is stored, as that of all others does.
    pub(crate) recording: Recording,
}

impl TensorInfo {
    /// Adds the place of its declaration to what is said of it.
    pub(crate) fn declared(&self, fault: Diagnostic) -> Diagnostic {
        if self.span == Span::default() {
            return fault;
        }
        fault.at(self.span, if self.home == TensorKind::Extern { "declared here" } else { "allocated here" })
    }
}

impl TensorTable {
    pub(crate) fn new(plan: &UnitPlan, module: &TgModule) -> TensorTable {
        let externs = module.externs.iter().map(|of| (of.tensor, of.span));
        let allocs = module.instrs.iter().enumerate().filter_map(|(at, instr)| match instr {
            Instr::McAlloc { tensor_id, .. } => Some((*tensor_id, module.span(at))),
            _ => None,
        });
        let spans: FxHashMap<TensorNo, Span> = externs.chain(allocs).collect();
        let loads = module.exprs.iter().filter_map(|op| match op {
            ExprOp::Load(tensor, _) => Some(*tensor),
            _ => None,
        });
        let loaded = and_their_sources(loads.collect(), module);
        let info = |of: &PlanTensor| TensorInfo {
            no: of.no,
            name: of.name.clone(),
            home: match of.kind {
                // What all graphs see is not of one.
                TensorKind::Graph if of.location == MemLocation::Shared => TensorKind::Unit,
                kind => kind,
            },
            bytes: of.bytes,
            alignment: if of.kind == TensorKind::Extern { EXTERN_ALIGNMENT } else { of.align },
            location: of.location,
            elements: of.dtype.filter(|_| !of.shape.is_empty()).map(|dtype| (dtype, of.shape.clone())),
            span: spans.get(&of.no).copied().unwrap_or_default(),
            given: false,
            in_place: None,
            is_scalar: loaded.contains(&of.no),
        };
        TensorTable { list: plan.tensors.iter().map(info).collect(), recording: Recording::Off }
    }

    /// Memory of a tensor, of which what is stored is recorded where that is asked for, where the tensor begins without values, and where conditions,
    /// counts or ranges load from it, or from what it is copied to, since these decide what the unit does. None if the machine refuses it.
    pub(crate) fn recorded(&self, info: &TensorInfo, range: TensorRange) -> Option<TensorRange> {
        // External tensors begin with zeros, or with what is given.
        let early = if info.home == TensorKind::Extern { EarlyLoads::Noted } else { EarlyLoads::Refused };
        match early == EarlyLoads::Refused || info.is_scalar || self.recording == Recording::On {
            // Elements of any type may lie there.
            true => range.recorded(1, early),
            false => Some(range),
        }
    }

    /// The tensor with this name.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn by_name(&self, name: &str) -> Result<usize, Box<Diagnostic>> {
        if let Some(at) = self.list.iter().position(|info| info.name == name) {
            return Ok(at);
        }
        let fault = Diagnostic::error(codes::UNKNOWN_NAME, format!("there is no tensor `{name}`"));
        let near = did_you_mean(name, self.list.iter().map(|info| info.name.as_str()));
        Err(Box::new(match near {
            Some(near) => fault.help(format!("did you mean `{near}`?")),
            None => fault,
        }))
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &TensorInfo)> {
        self.list.iter().enumerate()
    }
}

impl std::ops::Index<usize> for TensorTable {
    type Output = TensorInfo;

    fn index(&self, at: usize) -> &TensorInfo {
        &self.list[at]
    }
}

/// Tensors, and those whose bytes copies of the unit bring to them.
fn and_their_sources(mut tensors: OrderedSet<TensorNo>, module: &TgModule) -> OrderedSet<TensorNo> {
    let copies = module.instrs.iter().rev().filter_map(|instr| match *instr {
        Instr::McCopy { src_tensor, dst_tensor, .. } => Some((src_tensor, dst_tensor)),
        _ => None,
    });
    let copies: Vec<(TensorNo, TensorNo)> = copies.collect();
    loop {
        let count = tensors.len();
        for (source, target) in &copies {
            if tensors.contains(target) {
                tensors.insert(*source);
            }
        }
        if tensors.len() == count {
            return tensors;
        }
    }
}

/// What is to be said of who holds a tensor.
pub(crate) fn claim(info: &TensorInfo, bytes: u64, graph: Option<&str>) -> Claim {
    let who = match graph {
        Some(graph) => format!("`{}` of graph `{graph}`", info.name),
        None => format!("`{}`", info.name),
    };
    Claim { who, bytes, location: info.location }
}

/// Memory of a tensor of the unit on one device.
#[derive(Clone, Debug, Default)]
enum Slot {
    /// Not allocated yet.
    #[default]
    Absent,
    Held(TensorRange),
    Released,
}

/// The memory of external tensors and of those that the unit allocates outside of graphs.
#[derive(Debug)]
pub(crate) struct UnitMemory {
    /// By tensor, then by device; tensors that all devices share have one.
    slots: Vec<Vec<Slot>>,
    /// Rises whenever memory was released.
    epoch: u64,
    /// Tensors that some graph writes.
    written: Vec<bool>,
    /// Tensors that the caller gave other contents after the session was made.
    replaced: Vec<bool>,
}

impl UnitMemory {
    /// Nothing is allocated.
    pub(crate) fn new(table: &TensorTable, devices: u32) -> UnitMemory {
        let places = |info: &TensorInfo| if is_shared(info) { 1 } else { devices as usize };
        let slots = table.list.iter().map(|info| vec![Slot::Absent; places(info)]).collect();
        UnitMemory { slots, epoch: 0, written: vec![false; table.len()], replaced: vec![false; table.len()] }
    }

    /// Notes that some graph writes a tensor.
    pub(crate) fn set_written(&mut self, at: usize) {
        self.written[at] = true;
    }

    /// Whether some graph writes a tensor.
    pub(crate) fn is_written(&self, at: usize) -> bool {
        self.written[at]
    }

    /// Notes that the caller gave a tensor other contents.
    pub(crate) fn set_replaced(&mut self, at: usize) {
        self.replaced[at] = true;
    }

    /// Whether a tensor may not have the contents any more that it had when the session was made.
    pub(crate) fn may_have_changed(&self, at: usize) -> bool {
        self.written[at] || self.replaced[at]
    }

    /// The memory of a tensor, if it has some.
    pub(crate) fn held(&mut self, at: usize, device: u32) -> Option<TensorRange> {
        match self.slot(at, device) {
            Slot::Held(range) => Some(range.clone()),
            Slot::Absent | Slot::Released => None,
        }
    }

    /// Rises whenever memory was released: what was bound before is not bound to what there is now.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch
    }

    fn slot(&mut self, at: usize, device: u32) -> &mut Slot {
        let slots = &mut self.slots[at];
        let place = (device as usize).min(slots.len() - 1);
        &mut slots[place]
    }

    /// Whether it was released and not allocated again.
    pub(crate) fn is_released(&mut self, at: usize, device: u32) -> bool {
        matches!(self.slot(at, device), Slot::Released)
    }

    /// The memory of a tensor, which is allocated at its first use.
    ///
    /// # Errors
    /// It was released, or there is no memory.
    pub(crate) fn range(
        &mut self,
        table: &TensorTable,
        accounts: &[Accounts],
        at: usize,
        device: u32,
    ) -> Result<TensorRange, Box<Diagnostic>> {
        match self.slot(at, device) {
            Slot::Held(range) => Ok(range.clone()),
            Slot::Absent => self.allocate(table, accounts, at, device),
            Slot::Released => Err(released(&table[at])),
        }
    }

    /// Gives a tensor memory, unless it has some.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn allocate(
        &mut self,
        table: &TensorTable,
        accounts: &[Accounts],
        at: usize,
        device: u32,
    ) -> Result<TensorRange, Box<Diagnostic>> {
        if let Slot::Held(range) = self.slot(at, device) {
            return Ok(range.clone());
        }
        let info = &table[at];
        let bytes = info.bytes.ok_or_else(|| size_unknown(info))?;
        let accounts = &accounts[if is_shared(info) { 0 } else { device as usize }];
        let claim = claim(info, bytes, None);
        accounts.reserve(std::slice::from_ref(&claim)).map_err(|fault| placed(fault, info))?;
        let range = TensorRange::zeros(bytes, info.alignment);
        let Some(range) = range.and_then(|range| table.recorded(info, range)) else {
            accounts.release(std::slice::from_ref(&claim));
            return Err(placed(accounts.refused_by_machine(&claim), info));
        };
        *self.slot(at, device) = Slot::Held(range.clone());
        Ok(range)
    }

    /// Gives an external tensor the memory of an array of the caller, which counts as memory of the device all the same.
    ///
    /// # Errors
    /// The device has no more memory.
    pub(crate) fn adopt(
        &mut self,
        table: &TensorTable,
        accounts: &[Accounts],
        at: usize,
        view: &View,
    ) -> Result<(), Box<Diagnostic>> {
        let info = &table[at];
        let claim = claim(info, view.span() as u64, None);
        accounts[0].reserve(std::slice::from_ref(&claim)).map_err(|fault| placed(fault, info))?;
        let Some(range) = table.recorded(info, TensorRange::of_view(view)) else {
            accounts[0].release(std::slice::from_ref(&claim));
            return Err(placed(accounts[0].refused_by_machine(&claim), info));
        };
        *self.slot(at, 0) = Slot::Held(range);
        Ok(())
    }

    /// Takes the memory of a tensor away.
    ///
    /// # Errors
    /// It was released before.
    pub(crate) fn release(
        &mut self,
        table: &TensorTable,
        accounts: &[Accounts],
        at: usize,
        device: u32,
    ) -> Result<(), Box<Diagnostic>> {
        let info = &table[at];
        let held = std::mem::replace(self.slot(at, device), Slot::Released);
        match held {
            Slot::Released => return Err(released(info)),
            Slot::Absent => {}
            Slot::Held(range) => {
                let accounts = &accounts[if is_shared(info) { 0 } else { device as usize }];
                accounts.release(&[claim(info, range.bytes(), None)]);
            }
        }
        self.epoch += 1;
        Ok(())
    }
}

/// Whether all devices have one memory for it.
pub(crate) fn is_shared(info: &TensorInfo) -> bool {
    info.home == TensorKind::Extern || info.location == MemLocation::Shared
}

pub(crate) fn released(info: &TensorInfo) -> Box<Diagnostic> {
    let message = format!("tensor `{}` was released", info.name);
    Box::new(info.declared(Diagnostic::error(codes::RELEASED, message)))
}

pub(crate) fn placed(mut fault: Box<Diagnostic>, info: &TensorInfo) -> Box<Diagnostic> {
    if fault.primary.is_none() {
        *fault = info.declared(*fault);
    }
    fault
}

fn size_unknown(info: &TensorInfo) -> Box<Diagnostic> {
    let message = format!("the size of external tensor `{}` is not known", info.name);
    Box::new(
        info.declared(Diagnostic::error(codes::UNKNOWN_SIZE, message))
            .help(format!("declare its elements, `extern {}: f32[1024, 128]`, or give an array", info.name)),
    )
}

/// What is given for a tensor: type, extents and bytes of an array.
#[derive(Clone, Copy)]
pub(crate) struct Given<'a> {
    pub(crate) dtype: DType,
    pub(crate) shape: &'a [u64],
    pub(crate) bytes: usize,
    /// What may be done with it where it is the caller's, to be used where it lies.
    pub(crate) in_place: Option<ViewAccess>,
}

impl<'a> From<&'a Array> for Given<'a> {
    fn from(array: &'a Array) -> Given<'a> {
        let (dtype, shape, bytes) = (array.dtype(), array.shape(), array.bytes().len());
        Given { dtype, shape, bytes, in_place: None }
    }
}

impl<'a> From<&'a View> for Given<'a> {
    fn from(view: &'a View) -> Given<'a> {
        let in_place = Some(view.access());
        Given { dtype: view.dtype(), shape: view.shape(), bytes: view.span(), in_place }
    }
}

/// What an array that is given for a tensor does not fit in; nothing if it fits.
pub(crate) fn misfit(info: &TensorInfo, array: Given<'_>) -> Option<Box<Diagnostic>> {
    let fault = |message: String, python: String| {
        let fault = info.declared(Diagnostic::error(codes::BAD_INPUT, message));
        Some(Box::new(fault.python(python)))
    };
    let name = &info.name;
    match &info.elements {
        Some((dtype, _)) if *dtype != array.dtype => {
            let message =
                format!("the array for `{name}` has `{}` elements, and the tensor `{dtype}`", array.dtype);
            fault(message, format!("convert it to `{dtype}`: `array.astype(…)`"))
        }
        Some((_, shape)) if shape.as_slice() != array.shape => {
            let message =
                format!("the array for `{name}` has the shape {:?}, and the tensor {shape:?}", array.shape);
            fault(message, format!("give an array of the shape {shape:?}"))
        }
        Some(_) => None,
        None => match info.bytes {
            Some(bytes) if bytes != array.bytes as u64 => {
                let given = counted(array.bytes, "byte");
                let message = format!("the array for `{name}` has {given}, and the tensor {bytes}");
                fault(message, format!("give an array of {}", counted(bytes, "byte")))
            }
            _ => None,
        },
    }
}

/// Sets external tensors to the arrays that are given; those that say nothing of their elements take them from there.
///
/// # Errors
/// Arrays that no tensor has, or that do not fit theirs, or that are given twice. `others` are names that are no tensors of the unit
/// and known all the same.
pub(crate) fn take_inputs<'a>(
    table: &mut TensorTable,
    inputs: impl Iterator<Item = (&'a str, Given<'a>)>,
    others: &[&str],
) -> Result<(), Vec<Diagnostic>> {
    let mut faults = Vec::new();
    let externs = table.list.iter().filter(|info| info.home == TensorKind::Extern);
    let externs: Vec<String> = externs.map(|info| info.name.clone()).collect();
    let taken: Vec<&str> = externs.iter().map(String::as_str).chain(others.iter().copied()).collect();
    for (name, array) in inputs {
        let at = table.list.iter().position(|info| info.name == name && info.home == TensorKind::Extern);
        let Some(at) = at else {
            if !others.contains(&name) {
                faults.push(not_taken("the unit", name, &taken, false));
            }
            continue;
        };
        let info = &mut table.list[at];
        if info.given {
            let message = format!("`{name}` is given an array to copy and one to use in place");
            faults.push(Diagnostic::error(codes::BAD_INPUT, message).help("give one of them"));
            continue;
        }
        (info.given, info.in_place) = (true, array.in_place);
        if let Some(fault) = misfit(info, array) {
            faults.push(*fault);
        } else if info.elements.is_none() {
            info.elements = Some((array.dtype, array.shape.to_vec()));
            info.bytes = Some(array.bytes as u64);
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// Gives an external tensor of unknown size the size that kernels need.
pub(crate) fn take_size(table: &mut TensorTable, at: usize, bytes: u64) {
    let info = &mut table.list[at];
    if info.bytes.is_none() {
        info.bytes = Some(bytes);
    }
}
