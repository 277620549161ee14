//! Random pipelines of copies of processes over arrays of channels: as text with `replicate`, and written out.

use super::random::Rng;
use std::fmt::Write;

/// Stages of `copies` processes each, and a last process that takes what comes.
#[derive(Debug)]
pub(crate) struct Copies {
    copies: i64,
    rounds: i64,
    stages: Vec<Stage>,
    /// Whether the last process takes tokens of all channels as they come, else those of one after the other.
    selects: bool,
}

/// Copies that each send to one channel.
#[derive(Debug)]
struct Stage {
    depth: u64,
    /// Which channel of the stage before a copy takes.
    from: Map,
    /// Rounds that each copy takes more than the ones before it send; below 0 fewer.
    more: i64,
    /// Whether it takes all that comes, for which the stage before closes.
    all: bool,
    closes: bool,
}

/// A channel by the number of a copy.
#[derive(Clone, Copy, Debug)]
enum Map {
    Same,
    Reversed,
    Next,
}

impl Map {
    fn text(self, copies: i64) -> String {
        match self {
            Map::Same => "w".to_owned(),
            Map::Reversed => format!("{} - w", copies - 1),
            Map::Next => format!("(w + 1) % {copies}"),
        }
    }

    fn of(self, w: i64, copies: i64) -> i64 {
        match self {
            Map::Same => w,
            Map::Reversed => copies - 1 - w,
            Map::Next => (w + 1) % copies,
        }
    }
}

impl Copies {
    pub(crate) fn random(rng: &mut Rng) -> Copies {
        let stage = |rng: &mut Rng| Stage {
            depth: rng.below(4),
            from: [Map::Same, Map::Reversed, Map::Next][rng.below(3) as usize],
            more: if rng.one_in(8) { rng.below(3) as i64 - 1 } else { 0 },
            all: rng.one_in(2),
            closes: !rng.one_in(8),
        };
        let count = rng.below(3) + 1;
        Copies {
            copies: rng.below(4) as i64 + 1,
            rounds: rng.below(8) as i64,
            stages: (0..count).map(|_| stage(rng)).collect(),
            selects: rng.one_in(2),
        }
    }

    /// As a file, with `replicate` or with every copy by itself. Names differ by `c0_1` for `c0[1]` alone.
    pub(crate) fn text(&self, is_written_out: bool) -> String {
        let Copies { copies, ref stages, .. } = *self;
        let mut text =
            "param n = 0; tensor y: f32[8]; kernel k(stage, w, t, inout a);\nworkload main {\n".to_owned();
        for (at, stage) in stages.iter().enumerate() {
            if is_written_out {
                (0..copies)
                    .for_each(|w| writeln!(text, "channel c{at}_{w}[{}];", stage.depth).expect("memory"));
            } else {
                writeln!(text, "channel c{at}[{copies}][{}];", stage.depth).expect("memory");
            }
        }
        text += "pipeline {\n";
        for at in 0..stages.len() {
            if is_written_out {
                (0..copies)
                    .for_each(|w| text += &format!("process p{at}_{w} {{ {} }}\n", self.body(at, Some(w))));
            } else {
                text += &format!("replicate w in 0..{copies} process p{at} {{ {} }}\n", self.body(at, None));
            }
        }
        text + &format!("process last {{ {} }}\n}} }}\n", self.last(is_written_out))
    }

    /// A channel: of a copy, or by the name of the number.
    fn channel(&self, stage: usize, map: Map, w: Option<i64>) -> String {
        match w {
            Some(w) => format!("c{stage}_{}", map.of(w, self.copies)),
            None => format!("c{stage}[{}]", map.text(self.copies)),
        }
    }

    fn body(&self, at: usize, w: Option<i64>) -> String {
        let (stage, copies) = (&self.stages[at], self.copies);
        let number = w.map_or("w".to_owned(), |w| w.to_string());
        let to = self.channel(at, Map::Same, w);
        let send = |t: &str| format!("send {to} as d {{ k({at}, {number}, {t}, y[d]); }}");
        let rounds = self.rounds + stage.more;
        let body = match at.checked_sub(1).map(|before| self.channel(before, stage.from, w)) {
            None => format!("parallel for t in {number}..{rounds} step {copies} {{ {} }}", send("t")),
            Some(from) if stage.all => format!("consume all {from} as s {{ {} }}", send("s")),
            Some(from) => {
                // The copy takes what the one that it is joined with has sent.
                let first = w.map_or(stage.from.text(copies), |w| stage.from.of(w, copies).to_string());
                format!(
                    "parallel for t in {first}..{rounds} step {copies} {{ consume {from} as s {{ {} }} }}",
                    send("t")
                )
            }
        };
        if stage.closes { format!("{body} close {to};") } else { body }
    }

    fn last(&self, is_written_out: bool) -> String {
        let (copies, at) = (self.copies, self.stages.len() - 1);
        let arm = |w: Option<i64>| {
            let number = w.map_or("w".to_owned(), |w| w.to_string());
            format!("consume {} as s {{ k(99, {number}, s, y[s]); }}", self.channel(at, Map::Same, w))
        };
        if self.selects {
            let arms: String = match is_written_out {
                true => (0..copies).map(|w| arm(Some(w))).collect(),
                false => format!("replicate w in 0..{copies} {}", arm(None)),
            };
            return format!("select all {{ {arms} }}");
        }
        // Copies of processes and of arms alone have numbers: what stands in one process is written out.
        let channel = |w: i64| match is_written_out {
            true => format!("c{at}_{w}"),
            false => format!("c{at}[{w}]"),
        };
        (0..copies).map(|w| format!("consume all {} as s {{ k(99, {w}, s, y[s]); }} ", channel(w))).collect()
    }
}
