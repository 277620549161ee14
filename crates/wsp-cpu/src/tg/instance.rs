//! The memory of launches of a graph: its own tensors, workspaces of its kernels, and kernels that are dispatched already.
//!
//! Launches that follow each other in a stream share an instance. Launches that may overlap have one each.

use super::accounts::{Accounts, Claim};
use super::code::GraphCode;
use super::dispatched::Dispatched;
use super::memory::TensorRange;
use super::tensors::{POISON, TensorInfo, TensorTable, claim, placed, released};
use super::workspaces::Workspaces;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use wsp_backend::Recording;
use wsp_diag::Diagnostic;
use wsp_memory::Stored;
use wsp_ordered::OrderedMap;

/// Bytes of a workspace that a run which records nothing else does not tell apart: what is known of it is forgotten for each kernel.
const LINE: usize = 64;

/// Numbers of instances.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Memory for launches of a graph that run one after another.
#[derive(Debug)]
pub(crate) struct Instance {
    /// By place among the graph's tensors.
    cells: Vec<Cell>,
    accounts: Arc<[Accounts]>,
    device: u32,
    /// The state of the unit's memory that it was made for.
    epoch: u64,
    /// What kernels were dispatched with, by kernel, where it is the same for every launch.
    pub(crate) kept: Vec<OnceLock<Arc<Dispatched>>>,
    pub(crate) workspaces: Arc<Workspaces>,
    /// What no other has.
    number: u64,
}

#[derive(Debug)]
struct Cell {
    range: TensorRange,
    /// What it is entered as; none for a tensor of the unit.
    claim: Option<Claim>,
    released: AtomicBool,
}

impl Instance {
    /// Memory for the graph's own tensors; `unit` has the ranges of the others, by place.
    ///
    /// # Errors
    /// There is no memory.
    pub(crate) fn new(
        code: &GraphCode,
        table: &TensorTable,
        accounts: &Arc<[Accounts]>,
        device: u32,
        epoch: u64,
        unit: Vec<Option<TensorRange>>,
    ) -> Result<Instance, Box<Diagnostic>> {
        let info = |local: usize| &table[code.tensors[local].unit as usize];
        let own: Vec<usize> = (0..unit.len()).filter(|&local| unit[local].is_none()).collect();
        let claims: Vec<Claim> = own
            .iter()
            .map(|&local| claim(info(local), info(local).bytes.unwrap_or(0), Some(&code.plan.name)))
            .collect();
        let account = &accounts[device as usize];
        account.reserve(&claims).map_err(|fault| match own.first() {
            Some(&local) => placed(fault, info(local)),
            None => fault,
        })?;
        let mut made = OrderedMap::new();
        for (&local, claim) in own.iter().zip(&claims) {
            let range = TensorRange::zeros(claim.bytes, info(local).alignment);
            let Some(range) = range.and_then(|range| table.recorded(info(local), range)) else {
                account.release(&claims);
                return Err(placed(account.refused_by_machine(claim), info(local)));
            };
            made.insert(local, (range, claim.clone()));
        }
        let cell = |(local, range): (usize, Option<TensorRange>)| match (range, made.remove(&local)) {
            (None, Some((range, claim))) => {
                Cell { range, claim: Some(claim), released: AtomicBool::new(false) }
            }
            (Some(range), _) => Cell { range, claim: None, released: AtomicBool::new(false) },
            (None, None) => unreachable!("every tensor should have memory of the unit or of its own"),
        };
        Ok(Instance {
            cells: unit.into_iter().enumerate().map(cell).collect(),
            accounts: Arc::clone(accounts),
            device,
            epoch,
            kept: code.plan.kernels.iter().map(|_| OnceLock::new()).collect(),
            workspaces: Workspaces::new(
                accounts,
                device,
                match table.recording {
                    Recording::On => 1,
                    Recording::Off => LINE,
                },
            ),
            // Relaxed: only that no two are the same matters.
            number: NEXT.fetch_add(1, Ordering::Relaxed),
        })
    }

    pub(crate) fn device(&self) -> u32 {
        self.device
    }

    /// A number that no other instance has.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Takes back what an earlier launch released.
    ///
    /// # Errors
    /// There is no memory any more.
    pub(crate) fn begin(&self) -> Result<(), Box<Diagnostic>> {
        for cell in &self.cells {
            if let Some(claim) = &cell.claim
                && cell.released.load(Ordering::Relaxed)
            {
                self.account().reserve(std::slice::from_ref(claim))?;
                cell.released.store(false, Ordering::Release);
            }
        }
        Ok(())
    }

    /// Releases one of the graph's own tensors.
    ///
    /// # Errors
    /// It is released already.
    pub(crate) fn release(
        &self,
        local: u32,
        poison: wsp_backend::Released,
        info: &TensorInfo,
    ) -> Result<(), Box<Diagnostic>> {
        let Some(cell) = self.cells.get(local as usize) else { return Ok(()) };
        if cell.released.swap(true, Ordering::AcqRel) {
            return Err(released(info));
        }
        if let Some(claim) = &cell.claim {
            // The next launch finds memory that nothing has stored to.
            cell.range.stored().into_iter().for_each(Stored::forget);
            if poison == wsp_backend::Released::Poison {
                cell.range.fill(POISON);
            }
            self.account().release(std::slice::from_ref(claim));
        }
        Ok(())
    }

    /// The memory of a tensor; none if it was released.
    #[inline]
    pub(crate) fn range(&self, local: u32) -> Option<&TensorRange> {
        let cell = self.cells.get(local as usize)?;
        (!cell.released.load(Ordering::Acquire)).then_some(&cell.range)
    }

    /// Memory of a tensor of its own, whatever became of it.
    pub(crate) fn own(&self, local: usize) -> Option<&TensorRange> {
        let cell = &self.cells[local];
        cell.claim.as_ref().map(|_| &cell.range)
    }

    fn account(&self) -> &Accounts {
        &self.accounts[self.device as usize]
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        let held = self.cells.iter().filter(|cell| !cell.released.load(Ordering::Relaxed));
        let claims: Vec<Claim> = held.filter_map(|cell| cell.claim.clone()).collect();
        self.account().release(&claims);
    }
}
