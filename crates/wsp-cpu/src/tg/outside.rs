//! Tensors of a unit, as the caller of a session sees them.

use super::codes;
use super::host::HostState;
use super::launched::Launched;
use super::memory::TensorRange;
use super::session::Session;
use super::shared::Live;
use super::takes::taken;
use super::tensors::TensorInfo;
use crate::unwritten::unwritten;
use std::sync::Arc;
use wsp_backend::{Recording, Unwritten};
use wsp_core::DType;
use wsp_diag::Diagnostic;
use wsp_memory::ViewAccess;
use wsp_plan::{Array, Arrays};
use wsp_tg::plan::TensorKind;

impl Session {
    /// The contents of a tensor of the unit: of an external one, with its declared elements; of others, as bytes. A tensor that
    /// is not allocated yet reads as zeros.
    ///
    /// # Errors
    /// There is no such tensor, it is one of a graph, it was released, or a launch in flight uses it.
    pub fn tensor(&self, name: &str) -> Result<Array, Box<Diagnostic>> {
        let at = self.shared.table.by_name(name)?;
        self.array(at)
    }

    fn array(&self, at: usize) -> Result<Array, Box<Diagnostic>> {
        let range = self.outside(at)?;
        let info = &self.shared.table[at];
        let (dtype, shape) = info.elements.clone().unwrap_or((DType::U8, vec![range.bytes()]));
        let mut array = Array::zeros(dtype, &shape).map_err(|fault| {
            Box::new(Diagnostic::error(codes::OUT_OF_MEMORY, format!("a copy of `{}`: {fault}", info.name)))
        })?;
        array.bytes_mut().copy_from_slice(&range.to_vec());
        Ok(array)
    }

    /// The memory of a tensor of the unit, for the caller: nothing uses it now.
    fn outside(&self, at: usize) -> Result<TensorRange, Box<Diagnostic>> {
        let info = &self.shared.table[at];
        if matches!(info.home, TensorKind::Graph) {
            let message = format!("`{}` is a tensor of each launch of its graph", info.name);
            return Err(Box::new(
                Diagnostic::error(codes::UNKNOWN_NAME, message)
                    .help("allocate it outside of the graph, or declare it `extern`"),
            ));
        }
        self.check_unused(at, 0, |_| false)?;
        self.shared.memory().range(&self.shared.table, &self.shared.accounts, at, 0)
    }

    /// External tensors that the unit writes and that are not arrays of the caller, by name.
    ///
    /// # Errors
    /// A launch in flight uses one.
    pub fn outputs(&self) -> Result<Arrays, Box<Diagnostic>> {
        let written: Vec<usize> = {
            let memory = self.shared.memory();
            let output = |(at, info): (usize, &TensorInfo)| {
                (info.home == TensorKind::Extern && info.in_place.is_none() && memory.is_written(at))
                    .then_some(at)
            };
            self.shared.table.iter().filter_map(output).collect()
        };
        written.into_iter().map(|at| Ok((self.shared.table[at].name.clone(), self.array(at)?))).collect()
    }

    /// Names of the external tensors that the unit writes and that are arrays of the caller.
    pub fn written_in_place(&self) -> Vec<String> {
        let memory = self.shared.memory();
        let written =
            self.shared.table.iter().filter(|(at, info)| info.in_place.is_some() && memory.is_written(*at));
        written.map(|(_, info)| info.name.clone()).collect()
    }

    /// Elements of the outputs that nothing has stored; empty where the session does not record what is
    /// stored. What a function of the caller writes through [`TensorRange::ptr`] counts as all that its argument has.
    pub fn unwritten(&self) -> Vec<Unwritten> {
        if self.shared.table.recording == Recording::Off {
            return Vec::new();
        }
        let mut memory = self.shared.memory();
        let outputs = self.shared.table.iter().filter(|(at, _)| memory.is_written(*at));
        let outputs: Vec<(usize, &TensorInfo)> =
            outputs.filter(|(_, info)| info.home == TensorKind::Extern).collect();
        let unwritten = |(at, info): (usize, &TensorInfo)| {
            let range = memory.held(at, 0)?;
            let stored = range.stored()?;
            let (dtype, shape) = info.elements.clone().unwrap_or((DType::U8, vec![range.bytes()]));
            Some(unwritten(&info.name, &shape, info.given, |which| stored.missing(which, dtype.size())))
        };
        outputs.into_iter().filter_map(unwritten).flatten().collect()
    }

    /// Replaces the contents of a tensor of the unit.
    ///
    /// # Errors
    /// As [`tensor`](Self::tensor), or the array does not fit.
    pub fn set_tensor(&mut self, name: &str, array: &Array) -> Result<(), Box<Diagnostic>> {
        let at = self.shared.table.by_name(name)?;
        let range = self.outside(at)?;
        if let Some(fault) = super::tensors::misfit(&self.shared.table[at], array.into()) {
            return Err(fault);
        }
        if self.shared.table[at].in_place == Some(ViewAccess::ReadOnly) {
            return Err(read_only(&self.shared.table[at]));
        }
        range.fill_from(array.bytes());
        self.shared.memory().set_replaced(at);
        self.shared.view().has_changed = true;
        Ok(())
    }

    /// Releases a tensor that the unit allocates outside of graphs.
    ///
    /// # Errors
    /// There is no such tensor, it was released before, or a launch in flight uses it.
    pub fn free(&mut self, name: &str) -> Result<(), Box<Diagnostic>> {
        let at = self.shared.table.by_name(name)?;
        self.release(0, at, None)
    }

    /// Takes the memory of a tensor of the unit away, and moves the host behind the statement that says so.
    pub(super) fn release(
        &mut self,
        device: u32,
        at: usize,
        behind: Option<HostState>,
    ) -> Result<(), Box<Diagnostic>> {
        let info = &self.shared.table[at];
        if info.home != TensorKind::Unit {
            let message = format!("`{}` is no tensor that the unit allocates outside of graphs", info.name);
            return Err(Box::new(Diagnostic::error(codes::UNKNOWN_NAME, message)));
        }
        // What a host releases under its own launches the checks before the run have refused: a kernel that surely does not run is no use.
        let is_compared = behind.is_some() && !self.shared.releases_are_open;
        self.check_unused(at, device, |live| is_compared && live.is_of_host && live.device == device)?;
        let shared = &self.shared;
        if shared.released == wsp_backend::Released::Poison
            && let Some(range) = shared.memory().held(at, device)
        {
            range.fill(super::tensors::POISON);
        }
        let (mut memory, mut view) = (shared.memory(), shared.view());
        memory.release(&shared.table, &shared.accounts, at, device)?;
        let (no, host) = (info.no.0, &mut view.hosts[device as usize]);
        if let Some(behind) = behind {
            *host = behind;
        }
        if let Err(place) = host.released.binary_search(&no) {
            host.released.insert(place, no);
        }
        Ok(())
    }

    /// Gives a tensor of the unit memory, if it has none, and moves the host behind the statement that says so.
    pub(super) fn allocate(
        &mut self,
        device: u32,
        at: usize,
        behind: Option<HostState>,
    ) -> Result<(), Box<Diagnostic>> {
        let shared = &self.shared;
        let (mut memory, mut view) = (shared.memory(), shared.view());
        memory.allocate(&shared.table, &shared.accounts, at, device)?;
        let (no, host) = (shared.table[at].no.0, &mut view.hosts[device as usize]);
        if let Some(behind) = behind {
            *host = behind;
        }
        host.released.retain(|released| *released != no);
        Ok(())
    }

    /// Refuses what needs that no launch in flight uses a tensor, but for those of which it is known.
    fn check_unused(
        &self,
        at: usize,
        device: u32,
        is_known: impl Fn(&Live) -> bool,
    ) -> Result<(), Box<Diagnostic>> {
        let shared_by_all = super::tensors::is_shared(&self.shared.table[at]);
        let view = self.shared.view();
        let here = view.live.iter().filter(|live| shared_by_all || live.device == device);
        let here = here.filter(|live| !is_known(live));
        let launches: Vec<Arc<Launched>> = here.filter_map(|live| live.launched.upgrade()).collect();
        drop(view);
        // A launch that is saved is resumed with the memory of all that its graph names.
        let saved = self.shared.store.is_some();
        let taken = |launch: &Arc<Launched>| {
            let values = launch.values(&[]);
            let named = saved && launch.code.tensors.iter().any(|tensor| tensor.unit as usize == at);
            let how = named.then(|| "its graph names it, and checkpoints are saved".to_owned());
            Some((launch.code.plan.name.clone(), values.facts(), taken(&values, at as u32).or(how)?))
        };
        let Some((graph, facts, taken)) = launches.iter().find_map(taken) else { return Ok(()) };
        let message = format!("`{}` is in use by a launch of graph `{graph}`", self.shared.table[at].name);
        let fault = Diagnostic::error(codes::STILL_IN_USE, message).note(taken);
        let fault = facts.into_iter().fold(fault, Diagnostic::note);
        Err(Box::new(fault.help("wait for the launch first: `TG_SYNC`")))
    }
}

/// The contents of an array of the caller are to be replaced, and it may only be read.
pub(super) fn read_only(info: &TensorInfo) -> Box<Diagnostic> {
    let message = format!("the array for `{}` may only be read", info.name);
    let fault = info.declared(Diagnostic::error(codes::BAD_INPUT, message));
    Box::new(fault.help("give an array that may be written, or one to copy"))
}
