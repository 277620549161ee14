//! Tensors of a launch that are one array.

use super::codes;
use crate::LoweredPlan;
use wsp_diag::Diagnostic;
use wsp_ir::Layout;
use wsp_ir::workload::SchedulePolicy;

/// Refuses layouts of a tensor whose array is that of another tensor with another layout: what a kernel stores to one, others load from the
/// other.
pub fn check_shared(policy: &SchedulePolicy, plan: &LoweredPlan) -> Vec<Diagnostic> {
    [("layout", &policy.layouts), ("relayout", &policy.relayouts)]
        .into_iter()
        .flat_map(|(word, said)| said.iter().filter_map(move |layout| other(word, layout, said, plan)))
        .collect()
}

/// Another tensor of the same array of which something else is said.
fn other(word: &str, layout: &Layout, said: &[Layout], plan: &LoweredPlan) -> Option<Diagnostic> {
    let tensors = &plan.module.tensors;
    let at = tensors.iter().position(|tensor| tensor.name == layout.tensor)?;
    let alike = |name: &str| {
        let other = said.iter().find(|other| other.tensor == name);
        other.is_some_and(|other| other.dims == layout.dims && other.pending == layout.pending)
    };
    let mut shared = plan.memory.iter().enumerate().filter(|(_, first)| **first == plan.memory[at]);
    let (other, _) = shared.find(|(other, _)| !alike(&tensors[*other].name))?;
    let (name, other) = (&layout.tensor, &tensors[other]);
    let message =
        format!("`{name}` and `{}` are one array, of which the schedule says different layouts", other.name);
    Some(
        Diagnostic::error(codes::UNLIKE, message)
            .at(layout.span, format!("the {word} of `{name}`"))
            .label(other.span, "the launch binds it to the same argument")
            .help(format!("write the same {word} for `{}`, or bind different arguments", other.name)),
    )
}
