//! Random units with checkpoints, whose results depend on nothing but the unit and what it is given.
//!
//! The kernels of a graph run one after another, so that no two of them race. Graphs on other streams have tensors of their own.

use std::fmt::Write as _;

/// Kernels of random units, over integers.
pub(crate) const KERNELS: &str = "\
PTO_SHAPE(x, n)
PTO_SHAPE(y, n)
PTO_SHAPE(p, k)
PTO_SHAPE(c, 1)
PTO_SHAPE(a, m)
PTO_SHAPE(b, m)
PTO_SHAPE(s, m)
PTO_PARAM(int32_t, inc, 1)
PTO_KERNEL_IMPL(add1, Tensor<int32_t> x, Tensor<int32_t> y) {
    for (uint32_t i = get_block_idx(); i < n; i += get_block_num()) { PTO_STORE_SCALAR(y, PTO_LOAD_SCALAR(x, {i}) + 1, {i}); }
}
PTO_KERNEL_IMPL(addp, Tensor<int32_t> x, Tensor<int32_t> y) {
    for (uint32_t i = get_block_idx(); i < n; i += get_block_num()) { PTO_STORE_SCALAR(y, PTO_LOAD_SCALAR(x, {i}) + inc, {i}); }
}
PTO_KERNEL_IMPL(step, Tensor<int32_t> p) {
    for (uint32_t i = get_block_idx(); i < k; i += get_block_num()) {
        PTO_STORE_SCALAR(p, (PTO_LOAD_SCALAR(p, {i}) * 3 + 1) % 10007, {i});
    }
}
PTO_KERNEL_IMPL(dec, Tensor<int32_t> c) { PTO_STORE_SCALAR(c, PTO_LOAD_SCALAR(c, {0}) - 1, {0}); }
PTO_KERNEL_IMPL(set3, Tensor<int32_t> c) { PTO_STORE_SCALAR(c, 3, {0}); }
PTO_KERNEL_IMPL(sum, Tensor<int32_t> a, Tensor<int32_t> b, Tensor<int32_t> s) {
    for (uint32_t i = get_block_idx(); i < m; i += get_block_num()) {
        PTO_STORE_SCALAR(s, (PTO_LOAD_SCALAR(a, {i}) + PTO_LOAD_SCALAR(b, {i})) % 10007, {i});
    }
}
";

/// Draws, from a seed.
pub(crate) struct Draws(u64);

impl Draws {
    /// Those of a seed.
    pub(crate) fn new(seed: u64) -> Draws {
        Draws(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }

    /// A number below a bound.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 33) % bound
    }

    fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    fn of<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len() as u64) as usize]
    }
}

struct Maker<'d> {
    draws: &'d mut Draws,
    text: String,
    /// The last kernel of the graph.
    last: Option<String>,
    kernels: u32,
    graph: String,
    tensors: Vec<&'static str>,
    /// Variables of the loops around.
    loops: Vec<String>,
    checkpoints: bool,
    /// Graphs so far.
    graphs: usize,
}

impl Maker<'_> {
    fn line(&mut self, line: impl AsRef<str>) {
        let _ = writeln!(self.text, "{}", line.as_ref());
    }

    fn kernel_of(&mut self, entry: &str, blocks: u64, core: &str, binds: &[&str]) {
        let name = format!("K{}", self.kernels);
        self.kernels += 1;
        self.line(format!("TG_KERNEL({name}, {entry}, {blocks}, {core}, 0)"));
        for (at, bind) in binds.iter().enumerate() {
            self.line(format!("MC_BIND({name}, {at}, {bind})"));
        }
        if let Some(last) = self.last.replace(name.clone()) {
            self.line(format!("TG_DEPEND({last}, {name}, AFTER)"));
        }
    }

    fn kernel(&mut self) {
        let tensors = self.tensors.clone();
        let (a, b) = (self.draws.of(&tensors), self.draws.of(&tensors));
        let blocks = 1 + self.draws.below(4);
        match self.draws.below(5) {
            0 if a != b => self.kernel_of("add1", blocks, "AIV", &[a, b]),
            1 if a != b => self.kernel_of("addp", blocks, "AIV", &[a, b]),
            2 if a != b => {
                let third = tensors.iter().copied().find(|t| *t != a && *t != b).unwrap_or(b);
                self.kernel_of("sum", blocks, "AIV", &[a, b, third]);
            }
            _ => self.kernel_of("step", blocks, "AIV", &[a]),
        }
    }

    fn condition(&mut self) -> String {
        match self.loops.last() {
            Some(i) if !self.draws.once_in(3) => format!("{i} % 2 == {}", self.draws.below(2)),
            // Only graphs of the default stream write C, and only they may read it.
            _ if self.tensors.contains(&"A") && self.draws.once_in(2) => "load(C) % 2".to_owned(),
            _ => format!("N > {}", self.draws.below(5)),
        }
    }

    fn checkpoint(&mut self) {
        if self.checkpoints {
            let (graph, number) = (self.graph.clone(), self.draws.below(3));
            self.line(format!("TG_CHECKPOINT({graph}, {number})"));
        }
    }

    fn body(&mut self, depth: u32) {
        for _ in 0..1 + self.draws.below(4) {
            match self.draws.below(if depth < 2 { 10 } else { 6 }) {
                0 => {
                    let tensors = self.tensors.clone();
                    let (a, b) = (self.draws.of(&tensors), self.draws.of(&tensors));
                    if a != b {
                        self.line(format!("MC_COPY({a}, {b}, 256)"));
                    }
                }
                1 | 2 => self.checkpoint(),
                6 => {
                    let condition = self.condition();
                    self.line(format!("CF_IF({condition})"));
                    self.body(depth + 1);
                    if self.draws.once_in(2) {
                        self.line("CF_ELSE");
                        self.body(depth + 1);
                    }
                    self.line("CF_ENDIF");
                }
                7 | 8 => {
                    let variable = format!("i{}_{}", self.kernels, self.loops.len());
                    let count = if self.draws.once_in(2) {
                        "N".to_owned()
                    } else {
                        format!("{}", 1 + self.draws.below(4))
                    };
                    self.line(format!("CF_LOOP({count}, {variable})"));
                    self.loops.push(variable);
                    self.body(depth + 1);
                    self.loops.pop();
                    self.line("CF_ENDLOOP");
                }
                _ => self.kernel(),
            }
        }
    }

    /// A graph; `waits` and `signals` are events.
    fn graph(&mut self, name: &str, tensors: &[&'static str], waits: Option<&str>, signals: Option<&str>) {
        (self.graph, self.last) = (name.to_owned(), None);
        self.line(format!("TG_BEGIN({name})"));
        let own = *["T0", "T1", "T2", "T3", "T4"].get(self.graphs).unwrap_or(&"T5");
        self.graphs += 1;
        self.line(format!("MC_ALLOC({own}, 256)"));
        // What nothing has stored cannot be loaded.
        let is_first = self.graphs == 1;
        for tensor in tensors.iter().copied().filter(|tensor| *tensor == "U" && is_first).chain([own]) {
            self.line(format!("MC_COPY({}, {tensor}, 256)", tensors[0]));
        }
        self.tensors = tensors.iter().copied().chain([own]).collect();
        self.kernel();
        let first = format!("K{}", self.kernels - 1);
        waits.into_iter().for_each(|event| self.line(format!("SY_WAIT({event}, {first})")));
        if self.draws.once_in(2) {
            self.checkpoint();
        }
        self.kernel();
        let second = format!("K{}", self.kernels - 1);
        signals.into_iter().for_each(|event| self.line(format!("SY_SIGNAL({event}, {second})")));
        let is_main = tensors.contains(&"A");
        if is_main && self.draws.once_in(3) {
            self.kernel_of("set3", 1, "AICPU", &["C"]);
            self.line("CF_WHILE(load(C) > 0, 50)");
            self.body(1);
            self.kernel_of("dec", 1, "AICPU", &["C"]);
            self.checkpoint();
            self.line("CF_ENDWHILE");
        }
        self.body(0);
        if self.draws.once_in(3) {
            self.line(format!("MC_FREE({own})"));
        }
        self.line(format!("TG_END({name})"));
    }

    fn host(&mut self, graphs: &[&str]) {
        let rounds = 1 + self.draws.below(3);
        self.line(format!("CF_LOOP({rounds}, k)"));
        for name in graphs {
            let of = if self.draws.once_in(3) { ", P" } else { "" };
            let is_side = *name == "SIDE";
            let stream = if is_side { "7" } else { "default" };
            match self.draws.once_in(5) && !is_side {
                true => self.line(format!("TG_INVOKE({name}, k)")),
                false => self.line(format!("TG_LAUNCH({name}, {stream}{of})")),
            }
            if self.draws.once_in(3) {
                self.line(format!("TG_SYNC({name})"));
            }
            if self.checkpoints && self.draws.once_in(4) {
                self.line(format!("TG_CHECKPOINT({name}, 3)"));
            }
            if self.draws.once_in(5) {
                let priority = self.draws.below(9);
                self.line(format!("TG_SET_PRIORITY({name}, {priority})"));
            }
        }
        if self.draws.once_in(2) {
            graphs.iter().for_each(|name| self.line(format!("TG_SYNC({name})")));
            if self.checkpoints && self.draws.once_in(2) {
                let name = self.draws.of(graphs);
                self.line(format!("TG_CHECKPOINT({name}, 4)"));
                if self.draws.once_in(2) {
                    self.line(format!("TG_LAUNCH({name}, default)"));
                    self.line(format!("TG_SYNC({name})"));
                    self.line(format!("TG_RESTORE({name}, 4)"));
                }
            }
        }
        self.line("CF_ENDLOOP");
        graphs.iter().for_each(|name| self.line(format!("TG_SYNC({name})")));
        if self.draws.once_in(2) {
            self.line("MC_FREE(U)");
            self.line("TG_LAUNCH(TAIL, default)");
            self.line("TG_SYNC(TAIL)");
        }
    }
}

/// The text of a unit.
pub(crate) fn unit(draws: &mut Draws) -> String {
    let mut maker = Maker {
        draws,
        text: "use \"k.pto\"\nextern A: i32[64]\nextern B: i32[64]\nextern Y: i32[64]\nextern P0: i32[64]\nextern P1: i32[64]\nextern C: i32[1]\narg N: i32 = 3\nCA_PARTITION(P, 0, 8, 0, 16)\nMC_ALLOC(U, 256)\n".to_owned(),
        last: None,
        kernels: 0,
        graph: String::new(),
        tensors: Vec::new(),
        loops: Vec::new(),
        checkpoints: true,
        graphs: 0,
    };
    let main = ["A", "B", "Y", "U"];
    let has_events = maker.draws.once_in(2);
    let event = has_events.then_some("E");
    let mut graphs = vec!["FIRST"];
    maker.graph("FIRST", &main, None, event);
    if !maker.draws.once_in(4) {
        maker.graph("SECOND", &main, event, None);
        graphs.push("SECOND");
    }
    if maker.draws.once_in(3) {
        maker.checkpoints = maker.draws.once_in(2);
        let waits = event.filter(|_| maker.draws.once_in(2));
        maker.graph("SIDE", &["P0", "P1"], waits, None);
        maker.checkpoints = true;
        graphs.push("SIDE");
    }
    if maker.draws.once_in(3) {
        maker.graph("THIRD", &main, None, None);
        graphs.push("THIRD");
    }
    maker.graph("TAIL", &["A", "B", "Y"], None, None);
    maker.host(&graphs);
    maker.text
}
