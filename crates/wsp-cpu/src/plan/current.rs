//! Whether a plan is for given arrays.

use super::Plan;
use crate::bind::Bound;
use crate::codes;
use crate::memory::SlotLayout;
use crate::metadata::Metadata;
use crate::options::LaunchOptions;
use crate::program::Program;
use std::sync::Arc;
use wsp_core::words::counted;
use wsp_diag::Diagnostic;
use wsp_ir::{ArrayRef, MetaKind, ParamSource};
use wsp_kernel::{IntArray, Value};
use wsp_plan::{LoweredPlan, arrays_read};

impl Plan {
    /// Whether [`Program::execute_plan`] would take it with these arrays and options.
    ///
    /// # Errors
    /// What is wrong with the arrays or the options by themselves.
    pub fn is_current_for<'a>(
        &self,
        program: &Program,
        arrays: impl Into<Metadata<'a>>,
        options: &LaunchOptions,
    ) -> Result<bool, Vec<Diagnostic>> {
        let (bound, _, slots) = program.bind_metadata(&arrays.into(), options)?;
        Ok(self.check_current(program, &bound, &slots).is_ok())
    }

    /// An error that names what differs.
    pub(super) fn check_current(
        &self,
        program: &Program,
        bound: &Bound,
        slots: &SlotLayout,
    ) -> Result<(), Vec<Diagnostic>> {
        let fault = if !self.whole {
            Some(
                stale("its last update did not succeed")
                    .help("bring it back with `advance(Growth::To(&lengths))`, by lengths that fit")
                    .help("or prepare the program again: a plan has room for what it was made for")
                    .python("bring it back with `plan.advance(lengths)`, by lengths that fit; or make another with `program.plan(arrays)`, with the room that the failed update asked for"),
            )
        } else if !Arc::ptr_eq(&self.lowered, program.shared()) {
            Some(other_program(&self.lowered, program.lowered()))
        } else {
            self.other_values(bound).or_else(|| self.other_slots(slots)).or_else(|| self.other_data(bound))
        };
        fault.map_or(Ok(()), |fault| Err(vec![fault]))
    }

    fn other_values(&self, bound: &Bound) -> Option<Diagnostic> {
        let params = self.lowered.module.params.iter();
        let values = self.bound.params.iter().flatten().zip(bound.params.iter().flatten());
        let (param, (planned, given)) =
            params.zip(values).find(|(_, (planned, given))| bits(planned) != bits(given))?;
        let what = match param.source {
            ParamSource::Shape { .. } => "extent",
            _ => "parameter",
        };
        let message = format!("{what} `{}` is {given}, and was {planned} when it was made", param.name);
        Some(replan(stale(&message).at(param.span, "declared here")))
    }

    fn other_slots(&self, slots: &SlotLayout) -> Option<Diagnostic> {
        (self.slots != *slots).then(|| {
            let (given, planned) = (slots.bytes, self.slots.bytes);
            let given = counted(given, "byte");
            let fault = stale(&format!("a workspace slot has {given}, and had {planned} when it was made"));
            replan(fault.note("element types of the arrays differ"))
        })
    }

    fn other_data(&self, bound: &Bound) -> Option<Diagnostic> {
        for (planned, given) in self.bound.caches.iter().zip(&bound.caches) {
            let found = differing(&format!("`lengths of {}", given.name), &planned.lengths, &given.lengths);
            if let Some(fault) = found {
                return Some(
                    fault
                        .help("bring it up to date with `advance(Growth::To(&lengths))`, or prepare the program again")
                        .python("bring it up to date with `plan.advance(lengths)`, or make another with `program.plan(arrays)`"),
                );
            }
        }
        self.reads.iter().find_map(|array| self.other_array(*array, bound))
    }

    fn other_array(&self, array: ArrayRef, bound: &Bound) -> Option<Diagnostic> {
        let fault = match array {
            ArrayRef::Tensor(id) => {
                let name = &self.lowered.module.tensors[id.index()].name;
                let (planned, given) =
                    (self.bound.integers[id.index()].as_ref()?, bound.integers[id.index()].as_ref()?);
                let what = format!("`{name}");
                match (planned, given) {
                    (IntArray::I32(a), IntArray::I32(b)) => differing(&what, a, b),
                    (IntArray::U32(a), IntArray::U32(b)) => differing(&what, a, b),
                    (IntArray::I64(a), IntArray::I64(b)) => differing(&what, a, b),
                    (IntArray::U64(a), IntArray::U64(b)) => differing(&what, a, b),
                    _ => Some(stale(&format!("`{name}` holds another type of integers"))),
                }
            }
            ArrayRef::Meta(id, kind) => {
                let (planned, given) = (&self.bound.caches[id.index()], &bound.caches[id.index()]);
                let (field, a, b) = match kind {
                    MetaKind::Lengths => return None,
                    MetaKind::Indptr => ("indptr", &planned.indptr, &given.indptr),
                    MetaKind::Indices => ("indices", &planned.indices, &given.indices),
                    MetaKind::LastPageLen => ("last_page_len", &planned.last_page_len, &given.last_page_len),
                };
                differing(&format!("`{}.{field}", given.name), a, b)
            }
            ArrayRef::Local(_) | ArrayRef::Derived(_) => None,
        };
        fault.map(|fault| replan(fault.note("the generator reads this array")))
    }
}

/// Arrays of the launch that the generators read.
pub(super) fn reads(plan: &LoweredPlan) -> Vec<ArrayRef> {
    let mut all = Vec::new();
    for stage in &plan.stages {
        for array in arrays_read(&plan.module, stage.generator) {
            let array = match array {
                ArrayRef::Derived(derived) => derived.of.into(),
                array => array,
            };
            if !all.contains(&array) {
                all.push(array);
            }
        }
    }
    all
}

/// A fault that another plan mends.
pub(super) fn replan(fault: Diagnostic) -> Diagnostic {
    fault
        .help("make another plan, or prepare the program again")
        .python("make another plan with `program.plan(arrays)`")
}

fn stale(why: &str) -> Diagnostic {
    Diagnostic::error(codes::STALE_PLAN, format!("the plan cannot be run: {why}"))
}

fn bits(value: &Value) -> (std::mem::Discriminant<Value>, u64) {
    let bits = match *value {
        Value::F32(x) => u64::from(x.to_bits()),
        Value::F64(x) => x.to_bits(),
        Value::Bool(b) => u64::from(b),
        Value::I32(i) => i as u64,
        Value::U32(i) => u64::from(i),
        Value::I64(i) => i as u64,
        Value::U64(i) => i,
    };
    (std::mem::discriminant(value), bits)
}

/// The first difference between what was planned and what is given; `what` is an array's name behind its opening quote.
fn differing<T: PartialEq + std::fmt::Display>(what: &str, planned: &[T], given: &[T]) -> Option<Diagnostic> {
    if planned == given {
        return None;
    }
    if planned.len() != given.len() {
        let (given, planned) = (given.len(), planned.len());
        return Some(stale(&format!(
            "{what}` has {given}, and had {planned} when it was made",
            given = counted(given, "element")
        )));
    }
    let differs = |i: &usize| planned[*i] != given[*i];
    let first = (0..given.len()).find(differs)?;
    let count = (0..given.len()).filter(differs).count();
    let message =
        format!("{what}[{first}]` is {}, and was {} when it was made", given[first], planned[first]);
    Some(stale(&message).note(format!("{count} of {} differ", given.len())))
}

fn other_program(planned: &LoweredPlan, given: &LoweredPlan) -> Diagnostic {
    let schedules = |plan: &LoweredPlan| {
        let names: Vec<&str> =
            plan.stages.iter().map(|s| s.schedule.name.as_deref().unwrap_or("none")).collect();
        names.join(", ")
    };
    let fault = stale("another program made it");
    let (a, b) = (schedules(planned), schedules(given));
    let fault = match a == b {
        true => fault,
        false => fault.note(format!("its schedule is {a}, that of this program is {b}")),
    };
    let (a, b) = (planned.options.max_blocks, given.options.max_blocks);
    let fault = match a == b {
        true => fault,
        false => fault.note(format!("it is for {a}, this program for {b}", a = counted(a, "core"))),
    };
    fault.help("make it with this program's `plan`").python("make it with `plan` of this program")
}
