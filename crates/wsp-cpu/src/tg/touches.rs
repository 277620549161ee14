//! Launches on different streams whose bytes the checker could not compare before the run.
//!
//! The checker hands over the uses of bytes that may meet those of another launch. A use is compared with those of [`Launches`] when its bytes are
//! known: before its launch begins, if they follow from declared scalars and the iteration and the kernel surely runs, else before the kernel
//! starts; what conditions load, when they are looked at.

use super::binding::locate;
use super::item::Item;
use super::launches::{Launches, Touch, Touched};
use super::shared::Shared;
use super::values::Values;
use std::ops::Range;
use wsp_core::tg::Direction;
use wsp_diag::Diagnostic;

impl Launches {
    /// Compares the uses of a launch that are known before it begins; a launch that goes on from a state says which nodes are complete.
    ///
    /// # Errors
    /// It uses bytes that another launch uses in no order; or a kernel cannot be bound.
    pub(crate) fn compare_known(
        &self,
        launch: u64,
        is_complete: &dyn Fn(u32) -> bool,
        values: &Values<'_>,
        shared: &Shared,
    ) -> Result<(), Box<Diagnostic>> {
        let mut touched = Vec::new();
        for item in values.code.uses.early(&values.code.plan, is_complete) {
            self.touched((launch, u32::MAX), item, values, shared, &mut touched)?;
        }
        let prunes = !touched.is_empty() && !self.is_open(values.device);
        self.enter(values.device, &touched, prunes);
        shared.compared(values.device)
    }

    /// Compares what a kernel or a copy uses that is about to start, if it was not compared before its launch began; or what a condition loads that is
    /// about to be looked at.
    ///
    /// # Errors
    /// As [`compare_known`](Self::compare_known).
    pub(crate) fn compare(
        &self,
        launch: u64,
        item: Item,
        values: &Values<'_>,
        shared: &Shared,
    ) -> Result<(), Box<Diagnostic>> {
        let uses = &values.code.uses;
        if !uses.waits(item).is_empty() {
            self.start(values.device, launch, item, uses.waits(item));
        }
        let Some(_) = uses.of(item).filter(|of| !of.is_early && !of.uses.is_empty()) else {
            return Ok(());
        };
        let started = self.started(values.device, launch);
        let mut touched = Vec::new();
        self.touched((launch, started), item, values, shared, &mut touched)?;
        // Whatever comes before it in the order has been entered by now.
        self.enter(values.device, &touched, true);
        shared.compared(values.device)
    }

    /// The bytes that a kernel, a copy or a condition uses, of tensors that launches have in common.
    fn touched(
        &self,
        (launch, started): (u64, u32),
        item: Item,
        values: &Values<'_>,
        shared: &Shared,
        touched: &mut Vec<Touched>,
    ) -> Result<(), Box<Diagnostic>> {
        let Some(of) = values.code.uses.of(item) else { return Ok(()) };
        let plan = &values.code.plan;
        for &of in &of.uses {
            let open = &self.uses[of as usize];
            let has_events = self.events.contains_key(&plan.no.0);
            let touch = Touch { launch, of, started, item: has_events.then_some(item) };
            let bytes: Vec<(u32, Range<u64>)> = match item {
                Item::Kernel(at) => {
                    let binds = plan.binds_of(&plan.kernels[at as usize]);
                    let Some(bind) = binds.iter().find(|bind| bind.instr == open.at) else { continue };
                    vec![locate(at, bind, values, shared)?]
                }
                Item::Copy(at) => {
                    let copy = &plan.copies[at as usize];
                    let (tensor, first) = match open.direction {
                        Direction::In => (copy.src, copy.src_offset),
                        _ => (copy.dst, copy.dst_offset),
                    };
                    vec![(tensor, first..first.saturating_add(copy.size))]
                }
                Item::Condition(at) => values.loaded(plan.conditions[at as usize].value),
            };
            let is_own = |tensor: u32| values.code.tensors[values.code.local(tensor) as usize].own;
            let common = bytes.into_iter().filter(|(tensor, _)| !is_own(*tensor));
            touched.extend(common.map(|(tensor, bytes)| (touch, tensor, bytes)));
        }
        Ok(())
    }
}
