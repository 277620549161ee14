//! Random graphs with control flow whose kernels are ordered wherever they share bytes, and the comparison with the plain walk.

use super::oracle::{Oracle, Run, loops_around, memory};
use super::random::Random;
use super::simulate::{End, Simulation, Span};
use super::source::{FORMS, checked, module};
use std::collections::{BTreeMap, HashMap};
use wsp_core::tg::{DependencyType, Instr, KernelNo};
use wsp_ir::tg::{Signatures, TgModule};
use wsp_tg::elaborate;

const TENSORS: usize = 4;

/// A random unit with one graph, as text.
pub(crate) struct Maker {
    random: Random,
    body: String,
    after: String,
    /// What each kernel touches: tensor, and whether it is written.
    kernels: Vec<Vec<(String, bool)>>,
    /// Variables of the loops around.
    iters: Vec<String>,
    loops: usize,
    whiles: usize,
    saves: usize,
    events: usize,
    /// Whether a loop is around.
    in_loop: bool,
}

impl Maker {
    pub(crate) fn unit(seed: u64) -> String {
        let mut maker = Maker {
            random: Random::new(seed),
            body: String::new(),
            after: String::new(),
            kernels: Vec::new(),
            iters: Vec::new(),
            loops: 0,
            whiles: 0,
            saves: 0,
            events: 0,
            in_loop: false,
        };
        maker.block(0);
        maker.block(0);
        maker.edges();
        let mut text = String::new();
        (0..TENSORS).for_each(|t| text.push_str(&format!("extern T{t}\n")));
        (0..maker.whiles).for_each(|n| text.push_str(&format!("extern N{n}\n")));
        format!("{text}arg LAUNCH: i64 = {}\nTG_BEGIN(G)\n{}{}TG_END(G)\n", seed % 3, maker.body, maker.after)
    }

    fn line(&mut self, line: &str) {
        self.body.push_str(line);
        self.body.push('\n');
    }

    fn tensor(&mut self) -> String {
        format!("T{}", self.random.below(TENSORS))
    }

    fn scalar(&mut self) -> String {
        match self.random.below(5) {
            0 => format!("{}", self.random.below(2)),
            1 => "LAUNCH".to_owned(),
            2 | 3 => {
                let tensor = self.tensor();
                format!("load({tensor}, {}, u8)", self.random.below(8) * 8)
            }
            _ => match self.iters.last() {
                Some(iter) => format!("{iter} + {}", self.random.below(2)),
                None => "1".to_owned(),
            },
        }
    }

    fn block(&mut self, depth: usize) {
        for _ in 0..1 + self.random.below(4) {
            match self.random.below(20) {
                0..=8 => self.kernel(),
                9..=11 => self.copy(),
                12..=14 if depth < 4 => {
                    let condition = self.scalar();
                    self.line(&format!("CF_IF({condition} % 2)"));
                    self.block(depth + 1);
                    if self.random.once_in(2) {
                        self.line("CF_ELSE");
                        self.block(depth + 1);
                    }
                    self.line("CF_ENDIF");
                }
                15 | 16 if depth < 3 => self.count(depth),
                17 if depth < 3 => self.repeat(depth),
                18 if self.in_loop => {
                    let condition = self.scalar();
                    self.line(&format!("CF_BREAK({condition} % 3 == 1)"));
                }
                19 if self.random.once_in(2) => {
                    self.line(&format!("TG_CHECKPOINT(G, {})", self.saves));
                    self.saves += 1;
                }
                _ => self.gang(),
            }
        }
    }

    fn count(&mut self, depth: usize) {
        let iter = format!("I{}", self.loops);
        self.loops += 1;
        let count = match self.random.below(4) {
            0 => format!("({}) % 4", self.scalar()),
            _ => self.random.below(4).to_string(),
        };
        let mode = if self.random.once_in(4) { ", SEQUENTIAL" } else { "" };
        self.line(&format!("CF_LOOP({count}, {iter}{mode})"));
        self.inside(depth, Some(iter));
        self.line("CF_ENDLOOP");
    }

    fn repeat(&mut self, depth: usize) {
        let tensor = format!("N{}", self.whiles);
        self.whiles += 1;
        self.line(&format!("CF_WHILE(load({tensor}, 0, u8) % 4 < 3)"));
        let kernel = self.kernels.len();
        self.line(&format!("TG_KERNEL(K{kernel}, inc, 1, AIV, 0)"));
        self.line(&format!("MC_BIND(K{kernel}, 0, {tensor}, 0, 1, INOUT)"));
        self.kernels.push(vec![(tensor, true)]);
        self.inside(depth, None);
        self.line("CF_ENDWHILE");
    }

    fn inside(&mut self, depth: usize, iter: Option<String>) {
        let outer = std::mem::replace(&mut self.in_loop, true);
        let pops = iter.is_some();
        self.iters.extend(iter);
        self.block(depth + 1);
        if pops {
            self.iters.pop();
        }
        self.in_loop = outer;
    }

    fn kernel(&mut self) {
        let kernel = self.kernels.len();
        let blocks = 1 + self.random.below(3);
        self.line(&format!("TG_KERNEL(K{kernel}, mix, {blocks}, AIV, 0)"));
        let mut touches = Vec::new();
        for arg in 0..1 + self.random.below(3) {
            let (tensor, direction) = (self.tensor(), ["IN", "OUT", "INOUT"][self.random.below(3)]);
            let offset = match (self.random.below(3), self.iters.last()) {
                (0, Some(iter)) => format!("{iter} * 8"),
                (1, _) => "0".to_owned(),
                _ => format!("{}", self.random.below(7) * 8),
            };
            let size = if offset == "0" && self.random.once_in(3) { 0 } else { 8 };
            if self.random.once_in(6) && !self.iters.is_empty() {
                let iter = self.iters[self.iters.len() - 1].clone();
                self.line(&format!(
                    "MC_BIND(K{kernel}, {arg}, {{T0, T1}}[{iter} % 2], {offset}, {size}, {direction})"
                ));
                touches.extend(["T0", "T1"].map(|tensor: &str| (tensor.to_owned(), direction != "IN")));
            } else {
                self.line(&format!("MC_BIND(K{kernel}, {arg}, {tensor}, {offset}, {size}, {direction})"));
                touches.push((tensor, direction != "IN"));
            }
        }
        self.kernels.push(touches);
    }

    fn copy(&mut self) {
        let (from, to) = (self.tensor(), self.tensor());
        let (src, dst) = (self.random.below(3) * 8, 24 + self.random.below(4) * 8);
        self.line(&format!("MC_COPY({from}, {to}, 8, {src}, {dst})"));
    }

    /// Kernels that only read, and start together.
    fn gang(&mut self) {
        let first = self.kernels.len();
        for kernel in first..first + 2 + self.random.below(2) {
            self.line(&format!("TG_KERNEL(K{kernel}, mix, 1, AIV, 0)"));
            let tensor = self.tensor();
            self.line(&format!("MC_BIND(K{kernel}, 0, {tensor}, 0, 0, IN)"));
            self.kernels.push(vec![(tensor, false)]);
        }
        let names: Vec<String> = (first..self.kernels.len()).map(|k| format!("K{k}")).collect();
        self.line(&format!("SY_BARRIER({{{}}}, {first})", names.join(", ")));
    }

    /// Edges between kernels that share tensors, and some more.
    fn edges(&mut self) {
        for dst in 0..self.kernels.len() {
            for src in 0..dst {
                let clash = self.kernels[src].iter().any(|(tensor, written)| {
                    self.kernels[dst].iter().any(|(other, also)| tensor == other && (*written || *also))
                });
                if clash {
                    let ty = ["AFTER", "DATA"][self.random.below(2)];
                    self.after.push_str(&format!("TG_DEPEND(K{src}, K{dst}, {ty})\n"));
                }
            }
        }
        let gangs: Vec<String> =
            self.body.lines().filter(|l| l.starts_with("SY_BARRIER")).map(str::to_owned).collect();
        let together = |a: usize, b: usize| {
            gangs.iter().any(|set| {
                [a, b].iter().all(|k| set.split(&['{', '}', ',', ' ']).any(|w| w == format!("K{k}")))
            })
        };
        for _ in 0..self.random.below(4) {
            if self.kernels.len() < 2 {
                return;
            }
            let dst = 1 + self.random.below(self.kernels.len() - 1);
            let src = self.random.below(dst);
            let apart = !(src..=dst).any(|a| (src..a).any(|b| together(b, a)));
            match self.random.below(3) {
                0 => {
                    self.after.push_str(&format!("TG_DEPEND(K{src}, K{dst}, SOFT)\n"));
                }
                1 if apart => self.after.push_str(&format!("TG_DEPEND(K{src}, K{dst}, BARRIER)\n")),
                2 if apart => {
                    let event = self.events;
                    self.events += 1;
                    self.after.push_str(&format!("SY_SIGNAL(E{event}, K{src})\nSY_WAIT(E{event}, K{dst})\n"));
                }
                _ => {}
            }
        }
    }
}

/// Edges of the program: pairs of kernels in this order.
fn declared(module: &TgModule) -> Vec<(KernelNo, KernelNo)> {
    let mut pairs = Vec::new();
    let mut events: BTreeMap<u32, (Vec<KernelNo>, Vec<KernelNo>)> = BTreeMap::new();
    let kernels: Vec<KernelNo> = module
        .instrs
        .iter()
        .filter_map(|instr| match instr {
            Instr::TgKernel { kernel_id, .. } => Some(*kernel_id),
            _ => None,
        })
        .collect();
    for instr in &module.instrs {
        match *instr {
            Instr::TgDepend { src_kernel, dst_kernel, dep_type, .. } => {
                let (Some(src), Some(dst)) = (src_kernel.kernel(), dst_kernel.kernel()) else { continue };
                match dep_type {
                    DependencyType::After | DependencyType::Data => pairs.push((src, dst)),
                    DependencyType::Soft => {}
                    DependencyType::Barrier => {
                        let place =
                            |kernel| kernels.iter().position(|&k| k == kernel).expect("it is defined");
                        for &before in &kernels[..=place(src)] {
                            pairs.extend(kernels[place(dst)..].iter().map(|&after| (before, after)));
                        }
                    }
                }
            }
            Instr::SySignal { event_id, src_kernel } => {
                events.entry(event_id.0).or_default().0.push(src_kernel)
            }
            Instr::SyWait { event_id, dst_kernel } => {
                events.entry(event_id.0).or_default().1.push(dst_kernel)
            }
            _ => {}
        }
    }
    for (signals, waits) in events.values() {
        pairs.extend(signals.iter().flat_map(|&a| waits.iter().map(move |&b| (a, b))));
    }
    pairs
}

/// Every edge holds between the runs of one iteration of the loops around both kernels.
pub(crate) fn check_order(module: &TgModule, spans: &[Span], around: &HashMap<KernelNo, Vec<u32>>) {
    let mut runs: BTreeMap<KernelNo, Vec<&Span>> = BTreeMap::new();
    spans.iter().for_each(|span| runs.entry(span.run.0).or_default().push(span));
    for (src, dst) in declared(module) {
        let (Some(sources), Some(targets)) = (runs.get(&src), runs.get(&dst)) else { continue };
        let common = around[&src].iter().zip(&around[&dst]).take_while(|(a, b)| a == b).count();
        for a in sources {
            for b in targets.iter().filter(|b| b.run.1[..common] == a.run.1[..common]) {
                assert!(a.end < b.start, "{:?} before {:?}: {a:?} {b:?}", src, dst);
            }
        }
    }
    for (a, b) in spans.iter().flat_map(|a| spans.iter().map(move |b| (a, b))) {
        let together = a.gang.is_some() && a.gang == b.gang && a.run.1 == b.run.1;
        assert!(!together || a.start == b.start, "gangs start together: {a:?} {b:?}");
    }
}

/// Runs the unit in both forms and several orders; results, runs, checkpoints and orders must be those of the plain walk.
fn compare(seed: u64) {
    let text = Maker::unit(seed);
    let module = module(&text);
    let oracle = Oracle::run(&module, memory(&module));
    let mut expected: Vec<Run> = oracle.runs.clone();
    expected.sort();
    for (form, options) in FORMS.iter().enumerate() {
        let plan = checked(elaborate(&module, &Signatures::new(), options), &text);
        for order in 0..3 {
            let mut simulation = Simulation::new(&module, &plan, 0, memory(&module));
            let end = simulation.run(&mut Random::new(seed * 31 + order), usize::MAX);
            assert_eq!(end, End::Done, "seed {seed}, form {form}\n{text}");
            assert_eq!(simulation.runs(), expected, "seed {seed}, form {form}\n{text}");
            assert_eq!(simulation.checkpoints, oracle.checkpoints, "seed {seed}, form {form}\n{text}");
            assert_eq!(simulation.memory, oracle.memory, "seed {seed}, form {form}, order {order}\n{text}");
            check_order(&module, &simulation.spans, &loops_around(&module, plan.graphs[0].no));
        }
    }
}

/// ISA-TG-24, ISA-EM-01, ISA-EM-02, ISA-CF-07, ISA-CF-10.
#[test]
fn random_graphs_run_as_a_plain_walk_over_their_instructions_does() {
    (0..1500).for_each(compare);
}

#[test]
fn random_graphs_are_valid_units() {
    for seed in 0..200 {
        let text = Maker::unit(seed);
        let found = wsp_ir::tg::verify(&module(&text));
        let errors: Vec<_> = found.iter().filter(|d| d.is_error()).collect();
        assert!(errors.is_empty(), "{errors:#?}\n{text}");
    }
}

/// Whatever is wrong with a unit, planning it ends with a plan whose image is sound, or with diagnostics.
#[test]
fn units_that_were_changed_are_refused_or_planned() {
    let (mut refused, mut planned) = (0, 0);
    for seed in 0..300 {
        let whole = module(&Maker::unit(seed));
        let mut random = Random::new(seed + 1234);
        for _ in 0..10 {
            let mut changed = whole.clone();
            let (a, b) = (random.below(changed.instrs.len()), random.below(changed.instrs.len()));
            match random.below(3) {
                0 => {
                    changed.instrs.remove(a);
                }
                1 => changed.instrs.swap(a, b),
                _ => changed.instrs.insert(a, changed.instrs[b]),
            }
            changed.spans.clear();
            match elaborate(&changed, &Signatures::new(), &FORMS[seed as usize % 2]) {
                Ok(plan) => {
                    planned += 1;
                    checked(Ok(plan), "");
                }
                Err(found) => {
                    refused += 1;
                    assert!(found.iter().all(|d| (1530..1540).contains(&d.code.0)), "{found:?}");
                }
            }
        }
    }
    assert!(refused > 300 && planned > 300, "{refused} refused, {planned} planned");
}

/// ISA-GEN-03.
#[test]
fn units_with_every_instruction_can_be_planned() {
    use crate::random_units::{Choices, Limits, bytes, valid_unit};
    for seed in 0..200 {
        for limits in [Limits::text(), Limits::run()] {
            let bytes = bytes(seed, 4096);
            let module = valid_unit(&mut Choices::new(&bytes), &limits);
            let text = wsp_isa::tg::text::print(&module);
            match elaborate(&module, &Signatures::new(), &FORMS[seed as usize % 2]) {
                Ok(plan) => drop(checked(Ok(plan), &text)),
                Err(found) => {
                    let allowed = |code: u16| {
                        limits == Limits::text() && [1530, 1533, 1534, 1535, 1536].contains(&code)
                    };
                    assert!(found.iter().all(|d| allowed(d.code.0)), "{found:#?}\n{text}");
                }
            }
        }
    }
}
