//! What descriptors cost.

use super::Plan;
use crate::extents::Extents;
use crate::kernels::{Evaluator, KernelTable};
use wsp_diag::Diagnostic;
use wsp_kernel::FlatEvent;

impl Plan {
    /// Elements of inputs that the kernel of each descriptor reads at most, in issue order: an estimate of what it costs.
    /// Of a task that reads only what other tasks wrote it is 0.
    ///
    /// # Errors
    /// When a kernel cannot be launched at all.
    pub fn costs(&self) -> Result<Vec<u64>, Vec<Diagnostic>> {
        let (bound, env) = self.surroundings()?;
        let kernels = KernelTable::new(&self.lowered, &bound, &env)?;
        let extents = Extents::new(&self.lowered, &bound, None);
        let mut evaluator = Evaluator::default();
        let mut costs = Vec::with_capacity(self.flat.len());
        for event in self.flat.events() {
            let FlatEvent::Task { site, fields, .. } = event else { continue };
            let kernel = kernels
                .consumer(&self.lowered, site.descriptor(), fields)
                .map_err(|trap| vec![Diagnostic::from(trap)])?;
            costs.push(kernels.get(kernel).cost(&mut evaluator, &env, &extents, fields));
        }
        Ok(costs)
    }
}
