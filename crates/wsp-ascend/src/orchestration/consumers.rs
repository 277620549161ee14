//! What takes descriptors, as C++: tiers by a value, kernels by a descriptor, and the function that hands over the tasks of each.

use super::expr::{Printer, Scope};
use super::{Made, Source, launch};
use crate::writer::Writer;
use wsp_core::TierSetId;
use wsp_ir::{Consumer, Module};

/// Which tier takes a value, and how many bytes of workspace it has.
pub(super) fn tier_set(out: &mut Writer, source: &Source<'_>, id: TierSetId) {
    let set = &source.plan.module.tier_sets[id.index()];
    let name = source.names.tiers(id);
    let of_tiers = Printer { scope: Scope::Tiers, ..launch::printer(source) };
    out.open(format!(
        "template <class T> static std::uint32_t {name}([[maybe_unused]] const Launch& l, [[maybe_unused]] Checked& s, \
         [[maybe_unused]] T selector, [[maybe_unused]] const SourcePlace* where) {{"
    ));
    let mut is_open = true;
    for (at, tier) in set.tiers.iter().enumerate() {
        match &tier.cond {
            Some(cond) => out.line(format!("if ({}) return {at};", of_tiers.expr(cond))),
            None => {
                out.line(format!("return {at};"));
                is_open = false;
                break;
            }
        }
    }
    if is_open {
        out.line("return s.fail<std::uint32_t>(Trap::tier, where);");
    }
    out.close("}");
    let printer = launch::printer(source);
    out.open(format!(
        "[[maybe_unused]] static std::uint32_t {name}_bytes([[maybe_unused]] const Launch& l, Checked& s, std::uint32_t tier, const SourcePlace* where) {{"
    ));
    out.open("switch (tier) {");
    for (at, tier) in set.tiers.iter().enumerate() {
        let bytes = tier.workspace.as_ref().map_or("0".to_owned(), |e| printer.expr(e));
        let place = tier.workspace.as_ref().map_or_else(String::new, |e| printer.place(e.span));
        out.line(format!("case {at}: return s.template cast<std::uint32_t>({bytes}{place});"));
    }
    out.line("default: return s.fail<std::uint32_t>(Trap::tier, where);");
    out.close("}");
    out.close("}");
    out.line("");
}

/// Which kernel takes a descriptor, and the function that hands over its tasks.
pub(super) fn of_kernels(source: &Source<'_>, kernels: &[Made]) -> String {
    let (module, names) = (&source.plan.module, source.names);
    let mut out = Writer::default();
    if source.workload.is_none() && source.table.is_none() && source.walk.is_none() {
        kernel_of(&mut out, module);
    }
    out.line("// Hands over the tasks of a descriptor of a kernel.");
    out.open(
        "static bool submit([[maybe_unused]] const Launch& l, [[maybe_unused]] const TaskSink& sink, [[maybe_unused]] std::uint64_t ordinal, \
         std::uint32_t kernel, [[maybe_unused]] const std::uint32_t* f, [[maybe_unused]] const Place& place) {",
    );
    out.open("switch (kernel) {");
    for Made { kernel, .. } in kernels {
        let name = names.function(*kernel);
        out.line(format!("case {}: return {name}(l, sink, ordinal, f, place);", kernel.0));
    }
    out.line("default: return false;");
    out.close("}");
    out.close("}");
    out.finish()
}

/// The kernel that takes a descriptor.
fn kernel_of(out: &mut Writer, module: &Module) {
    out.line("// The kernel that takes a descriptor; none for a tier that there is not.");
    out.open(
        "static std::uint32_t kernel_of(std::uint32_t descriptor, [[maybe_unused]] const std::uint32_t* f) {",
    );
    out.open("switch (descriptor) {");
    for (at, def) in module.structs.iter().enumerate() {
        match def.consumer {
            Consumer::None => {}
            Consumer::Kernel(kernel) => out.line(format!("case {at}: return {};", kernel.0)),
            Consumer::Tiers { set, field } => {
                let tiers = &module.tier_sets[set.index()].tiers;
                let kernels: Vec<String> = tiers.iter().map(|tier| tier.kernel.0.to_string()).collect();
                out.open(format!("case {at}: {{"));
                out.line(format!("static const std::uint32_t tiers[] = {{{}}};", kernels.join(", ")));
                out.line(format!("return f[{field}] < {} ? tiers[f[{field}]] : no_kernel;", tiers.len()));
                out.close("}");
            }
        }
    }
    out.line("default: return no_kernel;");
    out.close("}");
    out.close("}");
    out.line("");
}
