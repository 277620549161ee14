//! Names of a front end become names of workloads.
//!
//! A name of a workload module is an ASCII identifier and no keyword, and no two things of the file share one. Python allows
//! more: `π`, a variable `slot`, a size and an axis of one name, several kernels made from one function. Here each thing
//! gets a name that keeps the rules and is as near to its own as can be.

use crate::GivenNames;
use wsp_ir::workload::text::is_name;
use wsp_ir::workload::{Block, NodeKind, ParamSource, Signature, Workload, WorkloadModule};
use wsp_ordered::{OrderedMap, OrderedSet};

/// Names everything by the rules of the module, sets what runs, and returns the names as they were given.
///
/// What a user sets by name (parameters, tables, tensors that are arguments) and gives twice stays so: the verifier reports
/// it.
pub(super) fn settle(module: &mut WorkloadModule, temporaries: &[bool]) -> GivenNames {
    let given = GivenNames {
        params: module.params.iter().map(|entry| entry.name.clone()).collect(),
        tables: module.tables.iter().map(|entry| entry.name.clone()).collect(),
        tensors: module.tensors.iter().map(|entry| entry.name.clone()).collect(),
        kernels: module.kernels.iter().map(|entry| entry.name.clone()).collect(),
        axes: module.axes.iter().map(|entry| entry.name.clone()).collect(),
    };
    let mut space = Space::default();
    let mut set_by_user = Vec::new();
    let mut others = Vec::new();
    for (index, tensor) in module.tensors.iter_mut().enumerate() {
        let temporary = temporaries.get(index).copied().unwrap_or_default();
        if temporary { &mut others } else { &mut set_by_user }.push((&mut tensor.name, ""));
    }
    for param in &mut module.params {
        let derived = matches!(param.source, ParamSource::Derived(_));
        if derived { &mut others } else { &mut set_by_user }.push((&mut param.name, ""));
    }
    set_by_user.extend(module.tables.iter_mut().map(|table| (&mut table.name, "")));
    others.extend(module.kernels.iter_mut().map(|kernel| (&mut kernel.name, "")));
    others.extend(module.workloads.iter_mut().map(|workload| (&mut workload.name, "")));
    others.extend(module.axes.iter_mut().map(|axis| (&mut axis.name, "_axis")));
    space.name_alike(set_by_user);
    space.name_apart(others);

    for kernel in &mut module.kernels {
        if let Signature::Declared(params) = &mut kernel.signature {
            Space::default().name_apart(params.iter_mut().map(|param| (&mut param.name, "")).collect());
        }
    }
    module.workloads.iter_mut().for_each(settle_workload);
    let named = module.schedules.iter_mut().filter(|schedule| !schedule.name.is_empty());
    Space::default().name_apart(named.map(|schedule| (&mut schedule.name, "")).collect());
    module.entry = module.runs();
    given
}

fn settle_workload(workload: &mut Workload) {
    // Variables may share a name: expressions name them by their ids.
    for var in &mut workload.vars {
        if !is_name(&var.name) {
            var.name = spelled(&var.name);
        }
    }
    let labels = workload.labels.iter_mut().map(|label| (&mut label.name, ""));
    Space::default().name_apart(labels.collect());
    let channels = workload.channels.iter_mut().map(|channel| (&mut channel.name, ""));
    Space::default().name_apart(channels.collect());
    settle_processes(&mut workload.body);
}

/// Processes of one pipeline have different names.
fn settle_processes(block: &mut Block) {
    for node in block {
        if let NodeKind::Pipeline { processes } = &mut node.kind {
            let names = processes.iter_mut().map(|process| (&mut process.name, ""));
            Space::default().name_apart(names.collect());
        }
        node.kind.bodies_mut().into_iter().for_each(settle_processes);
    }
}

/// Names of things that must differ.
#[derive(Default)]
struct Space {
    taken: OrderedSet<String>,
    /// The number to try next after each name that was taken.
    next: OrderedMap<String, u32>,
}

impl Space {
    /// Gives equal names to what has equal names, different ones to the others.
    fn name_alike(&mut self, names: Vec<(&mut String, &str)>) {
        let mut first: OrderedMap<String, String> = OrderedMap::new();
        let mut apart: Vec<(&mut String, &str)> = Vec::new();
        let (mut again, mut seen) = (Vec::new(), OrderedSet::new());
        for (name, suffix) in names {
            if seen.insert(name.clone()) { apart.push((name, suffix)) } else { again.push(name) }
        }
        let given: Vec<String> = apart.iter().map(|(name, _)| (**name).clone()).collect();
        for (given, chosen) in given.into_iter().zip(self.name_apart(apart)) {
            first.insert(given, chosen);
        }
        for name in again {
            if let Some(chosen) = first.get(name) {
                chosen.clone_into(name);
            }
        }
    }

    /// Gives different names; those that keep the rules as they are come first. A second text is tried behind a name that
    /// is taken.
    fn name_apart(&mut self, names: Vec<(&mut String, &str)>) -> Vec<String> {
        let kept: Vec<bool> =
            names.iter().map(|(name, _)| is_name(name) && self.taken.insert((**name).clone())).collect();
        let settle = |((name, suffix), kept): ((&mut String, &str), bool)| {
            if !kept {
                *name = self.fresh(&spelled(name), suffix);
            }
            name.clone()
        };
        names.into_iter().zip(kept).map(settle).collect()
    }

    fn fresh(&mut self, name: &str, suffix: &str) -> String {
        let wanted = if self.taken.contains(name) { format!("{name}{suffix}") } else { name.to_owned() };
        if is_name(&wanted) && self.taken.insert(wanted.clone()) {
            return wanted;
        }
        loop {
            let number = self.next.entry(wanted.clone()).or_insert(0);
            *number += 1;
            let numbered = format!("{wanted}_{number}");
            if self.taken.insert(numbered.clone()) {
                return numbered;
            }
        }
    }
}

/// An ASCII identifier that is no keyword: what is none of its characters becomes `_`, letters outside ASCII their number.
fn spelled(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '_' | '0'..='9' | 'a'..='z' | 'A'..='Z' => text.push(c),
            _ if c.is_alphanumeric() => text.push_str(&format!("u{:x}", u32::from(c))),
            _ => text.push('_'),
        }
    }
    if !text.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic()) {
        text.insert(0, '_');
    }
    if !is_name(&text) {
        text.push('_');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apart(names: &[&str]) -> Vec<String> {
        let mut names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        Space::default().name_apart(names.iter_mut().map(|name| (name, "")).collect())
    }

    #[test]
    fn names_that_keep_the_rules_stay() {
        assert_eq!(apart(&["x", "_y1", "Max"]), ["x", "_y1", "Max"]);
    }

    #[test]
    fn what_is_no_name_becomes_one() {
        assert_eq!(
            apart(&["π", "a.b", "slot", "", "3d", "x y"]),
            ["u3c0", "a_b", "slot_", "_", "_3d", "x_y"]
        );
    }

    #[test]
    fn a_name_that_keeps_the_rules_is_not_taken_by_one_that_does_not() {
        assert_eq!(apart(&["a.b", "a_b", "a-b", "a_b_1"]), ["a_b_2", "a_b", "a_b_3", "a_b_1"]);
    }

    #[test]
    fn equal_names_are_numbered() {
        assert_eq!(apart(&["k", "k", "k"]), ["k", "k_1", "k_2"]);
    }

    #[test]
    fn many_equal_names_take_bounded_time() {
        let names = vec!["k"; 50_000];
        assert_eq!(apart(&names).into_iter().collect::<OrderedSet<_>>().len(), 50_000);
    }
}
