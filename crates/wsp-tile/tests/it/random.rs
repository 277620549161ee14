//! Random kernels: nested loops whose counts a launch decides, valid rows that it decides, addresses packed to 95 % and more.

use crate::bench::{Kernel, told};
use crate::mutate::{event_of, later, syncs, without};
use crate::randomised::{Numbers, cases};
use crate::table::core;
use std::collections::BTreeSet;
use std::fmt::Write;
use wsp_tile::{Memories, PingPong, TileProgram, check, order, place};

/// Counts of both loops: none, one, two and many.
const WORDS: [[u32; 4]; 6] =
    [[2, 2, 3, 2], [0, 2, 1, 1], [1, 1, 0, 2], [2, 0, 5, 1], [1, 3, 2, 2], [5, 1, 9, 1]];

/// Tiles of a kernel; all have the same capacity and the same valid part.
const TILES: u64 = 5;

struct Text {
    numbers: Numbers,
    body: String,
    loops: u32,
    left: u32,
}

impl Text {
    fn of(seed: u64) -> String {
        let mut text = Text { numbers: Numbers::of_seed(seed), body: String::new(), loops: 0, left: 14 };
        for tile in 0..TILES {
            let _ = writeln!(text.body, "VecTile<float, 2, 4> t{tile};");
        }
        let product = text.numbers.below(3) == 0;
        text.body += "VecTile<float, 2, 1> col;\n";
        if product {
            text.body += "LeftTile<float, 2, 4> l; RightTile<float, 4, 4> r; AccTile<float, 2, 4> acc;\n";
            text.body += "TLOAD(l, x, {1, 0}, desc.d); TLOAD(r, x, {2, 0}); TMATMUL(acc, l, r);\n";
        }
        let mut written = vec![false; TILES as usize];
        text.block(&mut written, 0, product);
        if product {
            text.body += "TSTORE(y, acc, {40, 0});\n";
        }
        if let Some(tile) = written.iter().position(|written| *written) {
            let _ = writeln!(text.body, "TSTORE(y, t{tile}, {{50, 4}});");
        }
        text.body
    }

    /// An index of a row.
    fn row(&mut self) -> String {
        match self.numbers.below(3) {
            0 if self.loops > 0 => format!("i{}", self.numbers.below(u64::from(self.loops))),
            1 if self.loops > 0 => format!("i{} + 3", self.numbers.below(u64::from(self.loops))),
            _ => self.numbers.below(20).to_string(),
        }
    }

    fn block(&mut self, written: &mut [bool], depth: u32, product: bool) {
        for _ in 0..2 + self.numbers.below(5) {
            if self.left == 0 {
                return;
            }
            self.left -= 1;
            self.statement(written, depth, product);
        }
    }

    fn statement(&mut self, written: &mut [bool], depth: u32, product: bool) {
        let have: Vec<usize> = (0..written.len()).filter(|tile| written[*tile]).collect();
        let to = self.numbers.below(TILES) as usize;
        let choice = if have.is_empty() { 0 } else { self.numbers.below(12) };
        let from = |numbers: &mut Numbers| have[numbers.below(have.len() as u64) as usize];
        match choice {
            0 | 1 => {
                let row = self.row();
                let _ = writeln!(self.body, "TLOAD(t{to}, x, {{{row}, {}}}, desc.d);", self.numbers.below(9));
                written[to] = true;
            }
            2 | 3 => {
                let word = ["TADD", "TSUB", "TMAX", "TMIN"][self.numbers.below(4) as usize];
                let (a, b) = (from(&mut self.numbers), from(&mut self.numbers));
                let _ = writeln!(self.body, "{word}(t{to}, t{a}, t{b});");
                written[to] = true;
            }
            4 => {
                let a = from(&mut self.numbers);
                let _ = writeln!(self.body, "TCLAMP(t{to}, t{a}, -100.0f, 100.0f);");
                written[to] = true;
            }
            5 => {
                let (a, b) = (from(&mut self.numbers), from(&mut self.numbers));
                let _ = writeln!(self.body, "TROWMAX(col, t{a}); TROWEXPANDSUB(t{to}, t{b}, col);");
                written[to] = true;
            }
            6 if product => {
                let row = self.row();
                let _ = writeln!(self.body, "TLOAD(l, x, {{{row}, 4}}, desc.d); TMATMUL_ACC(acc, l, r);");
            }
            6 | 7 => {
                let (a, row) = (from(&mut self.numbers), self.row());
                let _ = writeln!(self.body, "TSTORE(y, t{a}, {{{row}, {}}});", self.numbers.below(9));
            }
            8 | 9 if depth < 2 => {
                let (at, end) = (self.loops, if depth == 0 { "desc.a" } else { "desc.b" });
                let _ = writeln!(self.body, "for (uint32_t i{at} = 0; i{at} < {end}; i{at} += 1) {{");
                self.loops += 1;
                let mut inner = written.to_owned();
                self.block(&mut inner, depth + 1, product);
                self.loops -= 1;
                self.body += "}\n";
            }
            10 => {
                let _ = writeln!(self.body, "if (desc.c > {}) {{", self.numbers.below(4));
                let (mut yes, mut no) = (written.to_owned(), written.to_owned());
                self.block(&mut yes, depth, product);
                self.body += "} else {\n";
                self.block(&mut no, depth, product);
                self.body += "}\n";
                written.iter_mut().zip(yes.iter().zip(no)).for_each(|(both, (yes, no))| *both = *yes && no);
            }
            _ => {
                let a = from(&mut self.numbers);
                let _ = writeln!(self.body, "TMULS(t{to}, t{a}, -1.0f);");
                written[to] = true;
            }
        }
    }
}

/// The ordered program in memories of which it fills 95 % and more, or as much as whole granules allow.
fn packed(kernel: &Kernel, ping_pong: PingPong) -> (TileProgram, Memories) {
    let mut memories = core();
    let legal = kernel.legal(&memories).unwrap();
    let loose = place(legal.clone(), &memories, ping_pong).unwrap();
    for (memory, used) in memories.memories.iter_mut().zip(&loose.used) {
        memory.capacity = (*used).max(32);
    }
    let tight = place(legal, &memories, ping_pong).unwrap();
    for (memory, used) in memories.memories.iter().zip(&tight.used) {
        assert!(*used == 0 || used * 100 >= memory.capacity * 95, "{used} of {}", memory.capacity);
    }
    let ordered = order(&tight.program, &memories);
    let ordered =
        ordered.unwrap_or_else(|found| panic!("{}\n{}", tight.program.display(&memories), told(&found)));
    (ordered.program, memories)
}

#[test]
fn random_kernels_are_ordered_and_every_event_is_needed() {
    let cases = cases(40);
    let (mut gone, mut shown, mut edges) = (0u64, 0u64, 0u64);
    for seed in 1..=cases {
        let body = Text::of(seed);
        let kernel = Kernel::new(&body);
        let ping_pong = if seed % 2 == 0 { PingPong::Off } else { PingPong::WhereItFits };
        let (program, memories) = packed(&kernel, ping_pong);
        assert!(check(&program, &memories).is_empty(), "{seed}\n{body}");
        for words in WORDS {
            kernel.agrees(&program, &memories, words);
        }
        for event in syncs(&program).into_iter().filter_map(event_of).collect::<BTreeSet<_>>() {
            let faulty = without(&program, |_, sync| event_of(sync) == Some(event));
            edges += 1;
            assert!(
                !check(&faulty, &memories).is_empty(),
                "{seed}: {event:?}\n{}",
                program.display(&memories)
            );
        }
        for at in 0..syncs(&program).len() {
            let faulty = without(&program, |other, _| other == at);
            gone += 1;
            assert!(
                !check(&faulty, &memories).is_empty(),
                "{seed}: without {at} nothing is found\n{}",
                program.display(&memories)
            );
            let stops = |words| kernel.interpreted(&faulty, &memories, words).is_err();
            shown += u64::from(WORDS.into_iter().any(stops));
        }
    }
    println!("{cases} kernels; {edges} without an edge: all found");
    println!("{cases} kernels; {gone} without an event, wait or barrier: all found, {shown} by a run, too");
    assert!(shown * 10 >= gone * 9, "{shown} of {gone} are shown by a run");
}

#[test]
fn what_the_checker_finds_right_is_right_in_every_run() {
    let cases = cases(12);
    let (mut right, mut wrong) = (0u64, 0u64);
    for seed in 1..=cases {
        let kernel = Kernel::new(&Text::of(1000 + seed));
        let (program, memories) = packed(&kernel, PingPong::WhereItFits);
        for moved in (0..syncs(&program).len()).filter_map(|number| later(&program, number)) {
            if check(&moved, &memories).is_empty() {
                WORDS.into_iter().for_each(|words| kernel.agrees(&moved, &memories, words));
                right += 1;
            } else {
                wrong += 1;
            }
        }
    }
    println!("{cases} kernels with an event moved: {right} are right and run so, {wrong} are found");
    assert!(right > 0 && wrong > 0, "{right} and {wrong}");
}
