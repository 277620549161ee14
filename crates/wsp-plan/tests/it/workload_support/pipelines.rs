//! Random pipelines as text, from a seed: rates that loops, tables, closes and selections decide, and some that cannot go on.

use std::fmt::Write;

/// A pipeline that is being made.
struct Maker {
    state: u64,
    text: String,
    /// Of each channel, how many tokens the process that sends and the one that takes go through.
    channels: Vec<[(usize, u64); 2]>,
    /// Whether the process that sends closes each channel in the end.
    closed: Vec<bool>,
    loops: u32,
}

/// The text of a workload with one pipeline in a loop.
pub(crate) fn pipeline(seed: u64) -> String {
    let mut maker =
        Maker { state: seed, text: String::new(), channels: Vec::new(), closed: Vec::new(), loops: 0 };
    let processes = 2 + maker.below(4) as usize;
    let names = 1 + maker.below(4);
    for _ in 0..names {
        let tokens = maker.below(7);
        // Now and then one end goes through more.
        let more = if maker.below(8) == 0 { maker.below(3) } else { 0 };
        let (from, to) = (maker.below(processes as u64) as usize, maker.below(processes as u64) as usize);
        maker.channels.push([(from, tokens + more), (to, tokens)]);
        let closed = maker.below(2) == 0;
        maker.closed.push(closed);
    }
    maker.text.push_str(
        "param deep = 2; table few = [1, 0, 2, 1, 3, 0, 1];\n\
         tensor ring: f32[8, 4]; tensor y: f32[8, 4];\nkernel k(who, i, inout a);\nworkload main {\n",
    );
    for channel in 0..names {
        let depth = if maker.below(4) == 0 { "deep".to_owned() } else { maker.below(5).to_string() };
        let _ = writeln!(maker.text, "channel c{channel}[{depth}];");
    }
    let around = 1 + maker.below(2);
    let _ = writeln!(maker.text, "for round in 0..{around} {{ pipeline {{");
    for process in 0..processes {
        let _ = writeln!(maker.text, "process p{process} {{");
        maker.process(process);
        maker.text.push_str("}\n");
    }
    maker.text.push_str("} k(99, round, y[7]); } }\n");
    maker.text
}

impl Maker {
    fn below(&mut self, n: u64) -> u64 {
        // SplitMix64.
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % n
    }

    /// The ends of a process, each on its own or in the loop of the one before.
    fn process(&mut self, process: usize) {
        let mut ends: Vec<(usize, usize, u64)> = Vec::new();
        for (channel, both) in self.channels.iter().enumerate() {
            for (end, (owner, tokens)) in both.iter().enumerate() {
                if *owner == process && *tokens > 0 {
                    ends.push((channel, end, *tokens));
                }
            }
        }
        for at in (1..ends.len()).rev() {
            let with = self.below(at as u64 + 1) as usize;
            ends.swap(at, with);
        }
        self.task(process, "round", "y[0]");
        while let Some((channel, end, tokens)) = ends.pop() {
            match ends.last().copied() {
                Some((other, 1, others)) if end == 1 && other != channel && self.below(2) == 0 => {
                    ends.pop();
                    self.first_of(process, [(channel, tokens), (other, others)]);
                }
                Some((other, other_end, others)) if self.below(2) == 0 => {
                    ends.pop();
                    self.together(process, [(channel, end, tokens), (other, other_end, others)]);
                }
                _ => self.alone(process, (channel, end), tokens),
            }
        }
        self.task(process, "round", "y[0]");
        for channel in 0..self.channels.len() {
            if self.closed[channel] && self.channels[channel][0].0 == process {
                let _ = writeln!(self.text, "close c{channel};");
            }
        }
    }

    /// Tokens of two channels as they come: all of them, or so many.
    fn first_of(&mut self, process: usize, arms: [(usize, u64); 2]) {
        let all = arms.iter().all(|(channel, _)| self.closed[*channel]) && self.below(2) == 0;
        if all {
            self.text.push_str("select all {\n");
        } else {
            let i = self.variable();
            let _ = writeln!(self.text, "parallel for {i} in 0..{} {{ select {{", arms[0].1 + arms[1].1);
        }
        for (channel, _) in arms {
            let slot = self.open((channel, 1));
            self.task(process, &slot, &format!("ring[(2 * {channel} + {slot}) % 8]"));
            self.text.push_str("}\n");
        }
        self.text.push_str(if all { "}\n" } else { "} }\n" });
    }

    /// So many tokens of one channel, perhaps as a table says how many at a time.
    fn alone(&mut self, process: usize, end: (usize, usize), tokens: u64) {
        if end.1 == 1 && self.closed[end.0] && self.below(2) == 0 {
            let slot = self.variable();
            let _ = writeln!(self.text, "consume all c{} as {slot} {{", end.0);
            self.task(process, &slot, &format!("ring[(2 * {} + {slot}) % 8]", end.0));
            self.text.push_str("}\n");
            return;
        }
        let i = self.variable();
        if self.below(2) == 0 {
            let _ = writeln!(self.text, "parallel for {i} in 0..{tokens} {{");
            self.transfer(process, end, &i);
            self.text.push_str("}\n");
            return;
        }
        // The entries of the table, up to so many in all: then the rest.
        let few = [1u64, 0, 2, 1, 3, 0, 1];
        let (mut rows, mut sum) = (0, 0);
        while rows < few.len() && sum + few[rows] <= tokens {
            sum += few[rows];
            rows += 1;
        }
        let j = self.variable();
        let _ = writeln!(self.text, "parallel for {i} in 0..{rows} {{ parallel for {j} in 0..few[{i}] {{");
        self.transfer(process, end, &j);
        self.text.push_str("} }\n");
        let rest = self.variable();
        let _ = writeln!(self.text, "parallel for {rest} in 0..{} {{", tokens - sum);
        self.transfer(process, end, &rest);
        self.text.push_str("}\n");
    }

    /// Tokens of two channels in one loop, those of the second under a condition, and the one in the other's body or behind.
    fn together(&mut self, process: usize, [first, second]: [(usize, usize, u64); 2]) {
        let i = self.variable();
        let _ = writeln!(self.text, "parallel for {i} in 0..{} {{", first.2.max(second.2));
        let nested = self.below(2) == 0;
        for (at, (channel, end, tokens)) in [first, second].into_iter().enumerate() {
            let _ = writeln!(self.text, "if {i} < {tokens} {{");
            if nested && at == 0 && first.2 >= second.2 {
                self.open((channel, end));
                let _ = writeln!(self.text, "if {i} < {} {{", second.2);
                self.transfer(process, (second.0, second.1), &i);
                self.text.push_str("} } } }\n");
                return;
            }
            self.transfer(process, (channel, end), &i);
            self.text.push_str("}\n");
        }
        self.text.push_str("}\n");
    }

    fn transfer(&mut self, process: usize, end: (usize, usize), variable: &str) {
        let slot = self.open(end);
        self.task(process, variable, &format!("ring[(2 * {} + {slot}) % 8]", end.0));
        self.text.push_str("}\n");
        if self.below(3) == 0 {
            self.task(process, variable, "y[1]");
        }
    }

    /// Begins a send or a consume; the name of its slot.
    fn open(&mut self, (channel, end): (usize, usize)) -> String {
        let slot = self.variable();
        let word = ["send", "consume"][end];
        let _ = writeln!(self.text, "{word} c{channel} as {slot} {{");
        slot
    }

    fn task(&mut self, process: usize, variable: &str, region: &str) {
        let _ = writeln!(self.text, "k({process}, {variable}, {region});");
    }

    fn variable(&mut self) -> String {
        self.loops += 1;
        format!("v{}", self.loops)
    }
}
