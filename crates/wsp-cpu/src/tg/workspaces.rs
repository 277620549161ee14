//! Workspaces of kernels: memory that a dispatched kernel has to itself, and gives back.

use super::accounts::{Accounts, Claim};
use super::memory::TensorRange;
use std::sync::{Arc, Mutex, PoisonError};
use wsp_core::tg::MemLocation;
use wsp_diag::Diagnostic;
use wsp_memory::EarlyLoads;
use wsp_ordered::OrderedMap;

/// The workspaces of launches that run one after another.
#[derive(Debug)]
pub(crate) struct Workspaces {
    accounts: Arc<[Accounts]>,
    device: u32,
    /// Bytes that the record of what was stored does not tell apart.
    unit: usize,
    made: Mutex<Made>,
}

#[derive(Debug, Default)]
struct Made {
    /// By size: those that no kernel has.
    free: OrderedMap<u64, Vec<TensorRange>>,
    claims: Vec<Claim>,
}

/// A workspace that is given back when this is dropped.
#[derive(Debug)]
pub(crate) struct Workspace {
    pub(crate) range: TensorRange,
    of: Arc<Workspaces>,
}

impl Workspaces {
    pub(crate) fn new(accounts: &Arc<[Accounts]>, device: u32, unit: usize) -> Arc<Workspaces> {
        Arc::new(Workspaces { accounts: Arc::clone(accounts), device, unit, made: Mutex::default() })
    }

    /// A workspace of so many bytes.
    ///
    /// # Errors
    /// There is no memory.
    pub(crate) fn take(self: &Arc<Self>, bytes: u64, kernel: &str) -> Result<Workspace, Box<Diagnostic>> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(range) = made.free.get_mut(&bytes).and_then(Vec::pop) {
            if let Some(stored) = range.stored() {
                stored.forget();
            }
            return Ok(Workspace { range, of: Arc::clone(self) });
        }
        let claim =
            Claim { who: format!("the workspace of kernel `{kernel}`"), bytes, location: MemLocation::Gm };
        self.account().reserve(std::slice::from_ref(&claim))?;
        let range = TensorRange::zeros(bytes, wsp_core::tg::DEFAULT_ALIGNMENT);
        let range = range.and_then(|range| range.recorded(self.unit, EarlyLoads::Refused));
        let range = range.ok_or_else(|| {
            self.account().release(std::slice::from_ref(&claim));
            self.account().refused_by_machine(&claim)
        })?;
        made.claims.push(claim);
        Ok(Workspace { range, of: Arc::clone(self) })
    }

    fn account(&self) -> &Accounts {
        &self.accounts[self.device as usize]
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        let mut made = self.of.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.free.entry(self.range.bytes()).or_default().push(self.range.clone());
    }
}

impl Drop for Workspaces {
    fn drop(&mut self) {
        let made = self.made.get_mut().unwrap_or_else(PoisonError::into_inner);
        self.accounts[self.device as usize].release(&made.claims);
    }
}
