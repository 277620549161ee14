//! Which AICPU takes a task: filters of the program and the configuration, as rules of the support header.
//!
//! A rule is a value of the emitted code. It is made where the filter stands, and again inside every loop whose variable it
//! looks at. So it holds all that is known of the owner where it is used: a loop that the rule no longer depends on knows
//! at its entry which iterations to visit.

use super::emitter::{Emitter, Made};
use super::expr::Variable;
use super::summary::{Leaves, Summary, bit};
use super::tree::{Filter, Level, Policy};
use crate::writer::Writer;
use wsp_core::ptow::Program;
use wsp_ordered::OrderedSet;

/// A filter that holds, and the name of its rule.
#[derive(Clone)]
pub(super) struct InForce {
    /// Its word; none of the configuration.
    pub(super) word: Option<u32>,
    pub(super) filter: Filter,
    pub(super) rule: String,
}

impl InForce {
    /// The configuration, which holds where no filter does.
    pub(super) fn config() -> InForce {
        InForce { word: None, filter: Filter::Config, rule: "rule".to_owned() }
    }

    /// The name of its rule inside the loop whose variable is at a depth.
    fn inside(&self, depth: usize) -> String {
        match self.word {
            Some(word) => format!("rule_{word}_at_{depth}"),
            None => format!("rule_at_{depth}"),
        }
    }
}

impl Filter {
    /// Whether some tasks are given to AICPUs by the filter outside.
    fn asks_outside(&self) -> bool {
        match self {
            Filter::Threshold { levels, .. } => levels.iter().any(|level| matches!(level, Level::Pool(_))),
            Filter::Config | Filter::Policy(_) | Filter::Ranges(_) => false,
        }
    }

    fn policies(&self) -> Vec<Policy> {
        match self {
            Filter::Policy(policy) => vec![*policy],
            Filter::Threshold { levels, .. } => levels
                .iter()
                .filter_map(|level| match level {
                    Level::Policy(policy) => Some(*policy),
                    Level::Pool(_) => None,
                })
                .collect(),
            Filter::Config | Filter::Ranges(_) => Vec::new(),
        }
    }

    /// Axes that it looks at.
    fn axes(&self, program: &Program<'_>) -> OrderedSet<u16> {
        let mut axes = OrderedSet::new();
        if let Filter::Threshold { metric, .. } = self {
            axes.extend(Leaves::of(program, *metric).axes);
        }
        for policy in self.policies() {
            if let Policy::Key(key) | Policy::Hash(key) = policy {
                axes.extend(Leaves::of(program, key).axes);
            }
        }
        axes
    }

    /// Depths of variables that it looks at.
    fn depths(&self) -> u32 {
        let depth = |policy: Policy| if let Policy::Affinity(depth) = policy { bit(depth) } else { 0 };
        self.policies().into_iter().fold(0, |depths, policy| depths | depth(policy))
    }

    /// Whether it looks at the variable at a depth, of a loop over an axis if it is one. What the configuration looks at is
    /// not known.
    fn looks_at(&self, program: &Program<'_>, depth: usize, axis: Option<u16>) -> bool {
        self.depths() & bit(depth) != 0 || axis.is_some_and(|axis| self.axes(program).contains(&axis))
    }

    /// Whether it looks at a variable that a body brings.
    fn looks_into(&self, program: &Program<'_>, body: &Summary) -> bool {
        self.depths() & body.brings != 0 || !self.axes(program).is_disjoint(&body.axes)
    }
}

/// The filters that together decide on the owner: the innermost, and those outside that it asks.
pub(super) fn deciding(filters: &[InForce]) -> usize {
    let mut first = filters.len().saturating_sub(1);
    while first > 0 && filters.get(first).is_some_and(|in_force| in_force.filter.asks_outside()) {
        first -= 1;
    }
    first
}

/// How a loop stands to the filters in force.
pub(super) struct Relation {
    /// Some filter looks at the loop's own variable.
    pub(super) own: bool,
    /// Some filter looks at a variable inside.
    pub(super) deeper: bool,
    /// The configuration takes part.
    pub(super) config: bool,
    /// The configuration alone decides.
    pub(super) only_config: bool,
}

/// How a loop over an axis, whose variable is at a depth, stands to the filters in force.
pub(super) fn relation(
    program: &Program<'_>,
    filters: &[InForce],
    (depth, axis): (usize, u16),
    body: &Summary,
) -> Relation {
    let first = deciding(filters);
    let part = filters.get(first..).unwrap_or(&[]);
    Relation {
        own: part.iter().any(|in_force| in_force.filter.looks_at(program, depth, Some(axis))),
        deeper: part.iter().any(|in_force| in_force.filter.looks_into(program, body)),
        config: first == 0,
        only_config: filters.len() == 1,
    }
}

impl Emitter<'_> {
    /// A filter that begins to hold.
    pub(super) fn begin_filter(
        &mut self,
        writer: &mut Writer,
        filters: &mut Vec<InForce>,
        (word, filter): (u32, &Filter),
        variables: &[Variable],
    ) {
        let outer = filters.last().map_or("rule", |in_force| &in_force.rule);
        let value = self.rule(word, filter, outer, variables);
        let rule = format!("rule_{word}");
        self.define(writer, "Rule", &rule, &value);
        filters.push(InForce { word: Some(word), filter: filter.clone(), rule });
    }

    /// Makes the rules again that look at a variable, the innermost in scope.
    pub(super) fn look_at_variable(
        &mut self,
        writer: &mut Writer,
        filters: &mut [InForce],
        axis: Option<u16>,
        variables: &[Variable],
    ) {
        let Some(depth) = variables.len().checked_sub(1) else { return };
        let first = deciding(filters);
        let mut changed = false;
        for at in first..filters.len() {
            let outer = at.checked_sub(1).map_or_else(String::new, |outer| filters[outer].rule.clone());
            let in_force = &filters[at];
            let value = match (in_force.word, &in_force.filter) {
                (Some(word), filter) => {
                    let asks = changed && filter.asks_outside();
                    if !asks && !filter.looks_at(self.program, depth, axis) {
                        continue;
                    }
                    self.rule(word, filter, &outer, variables)
                }
                (None, _) => format!("s.by_config({}, {depth}, {})", in_force.rule, variables[depth].name),
            };
            let name = filters[at].inside(depth);
            self.define(writer, "Rule", &name, &value);
            filters[at].rule = name;
            changed = true;
        }
    }

    /// The rule of a filter of the program.
    fn rule(&mut self, word: u32, filter: &Filter, outer: &str, variables: &[Variable]) -> String {
        match filter {
            Filter::Config => "s.by_config()".to_owned(),
            Filter::Policy(policy) => {
                self.policy(*policy, |depth| variables.get(depth).map_or("0", |v| &v.name).to_owned())
            }
            Filter::Ranges(ends) if ends.is_empty() => "in_ranges(nullptr, 0)".to_owned(),
            Filter::Ranges(ends) => {
                if self.made.insert(Made::Filter(word)) {
                    let list: Vec<String> = ends.iter().map(|end| format!("{end}u")).collect();
                    let list = list.join(", ");
                    self.functions.push(format!("constexpr std::uint32_t ends_{word}[] = {{{list}}};\n"));
                }
                format!("in_ranges(ends_{word}, {})", ends.len())
            }
            Filter::Threshold { metric, bounds, levels } => {
                let parameters: Vec<usize> =
                    (0..u32::BITS as usize).filter(|depth| filter.depths() & bit(*depth) != 0).collect();
                if self.made.insert(Made::Filter(word)) {
                    self.threshold(word, *metric, bounds, levels, &parameters);
                }
                let mut call = format!("filter_{word}(s, {outer}");
                for depth in parameters {
                    call.push_str(", ");
                    call.push_str(variables.get(depth).map_or("0", |variable| &variable.name));
                }
                call + ")"
            }
        }
    }

    fn policy(&mut self, policy: Policy, variable: impl Fn(usize) -> String) -> String {
        match policy {
            Policy::RoundRobin => "in_turn()".to_owned(),
            Policy::Affinity(depth) => format!("s.by_key({})", variable(depth)),
            Policy::Key(key) => format!("s.by_key({})", self.key(key)),
            Policy::Hash(key) => format!("s.by_hash({})", self.key(key)),
        }
    }

    /// The function of a threshold: its rule, from that of the filter outside.
    fn threshold(&mut self, word: u32, metric: u32, bounds: &[i32], levels: &[Level], depths: &[usize]) {
        let mut writer = Writer::default();
        let mut head =
            format!("static Rule filter_{word}(const State& s, [[maybe_unused]] const Rule& outer");
        for depth in depths {
            head.push_str(&format!(", std::int64_t v{depth}"));
        }
        writer.open(head + ") {");
        writer.line(format!("const Int metric = {};", self.key(metric)));
        writer.line("if (!metric.ok()) return s.by_key(metric);");
        for (at, level) in levels.iter().enumerate() {
            let rule = match level {
                Level::Policy(policy) => self.policy(*policy, |depth| format!("v{depth}")),
                Level::Pool(pool) => format!("in_pool(outer, Pool::{})", pool_name(*pool)),
            };
            match bounds.get(at) {
                Some(bound) => writer.line(format!("if (metric.value < {bound}) return {rule};")),
                None => writer.line(format!("return {rule};")),
            }
        }
        writer.close("}");
        self.functions.push(writer.finish());
    }
}

fn pool_name(pool: u16) -> &'static str {
    match pool {
        0 => "vector",
        1 => "cube",
        _ => "any",
    }
}
