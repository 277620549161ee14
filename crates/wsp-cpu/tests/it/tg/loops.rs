//! Loops that are unrolled and loops that are not: random control flow gives what a walk over it gives, whatever its counts are written as.

use super::common::{all, inputs, session_with, signature, threads, unit, values};
use crate::randomised::{Numbers, cases};
use std::fmt::Write as _;
use wsp_core::tg::Direction;
use wsp_cpu::tg::{Session, SessionOptions, TgKernels};

/// Rounds of every loop whose count is `COUNT`.
const ROUNDS: i64 = 3;

#[derive(Clone, Debug)]
enum Item {
    /// `x = 3 x + n` on `Y` or `Z`.
    Kernel(u8, char),
    /// Two kernels that start together, on `Y` and on `Z`.
    Gang(u8, u8),
    /// `Z = Y`.
    Copy,
    Wait(u8),
    If(Condition, Vec<Item>, Vec<Item>),
    Loop(Vec<Item>),
    Break(Condition),
}

#[derive(Clone, Copy, Debug)]
enum Condition {
    /// The round of the innermost loop; 0 outside of loops.
    Round(i64),
    /// Whether the first number of `Y` is odd.
    Odd,
    Never,
}

impl Numbers {
    fn condition(&mut self) -> Condition {
        match self.below(4) {
            0 => Condition::Odd,
            1 => Condition::Never,
            _ => Condition::Round(self.below(3) as i64),
        }
    }

    fn items(&mut self, depth: u32, in_loop: bool) -> Vec<Item> {
        let len = 1 + self.below(3);
        (0..len)
            .map(|_| match self.below(12) {
                0 | 1 if depth > 0 => {
                    let otherwise =
                        if self.below(2) == 0 { self.items(depth - 1, in_loop) } else { Vec::new() };
                    Item::If(self.condition(), self.items(depth - 1, in_loop), otherwise)
                }
                2..=4 if depth > 0 => Item::Loop(self.items(depth - 1, true)),
                5 if in_loop => Item::Break(self.condition()),
                6 => Item::Copy,
                7 => Item::Gang(self.below(9) as u8, self.below(9) as u8),
                8 => Item::Wait(self.below(9) as u8),
                _ => Item::Kernel(self.below(9) as u8, if self.below(3) == 0 { 'Z' } else { 'Y' }),
            })
            .collect()
    }
}

/// A unit as text.
#[derive(Default)]
struct Writer {
    text: String,
    edges: String,
    kernels: u32,
    loops: Vec<u32>,
    made: u32,
    barriers: u32,
}

impl Writer {
    fn condition(&self, condition: Condition) -> String {
        match (condition, self.loops.last()) {
            (Condition::Round(round), Some(at)) => format!("i{at} == {round}"),
            (Condition::Round(round), None) => format!("N - N == {round}"),
            (Condition::Odd, _) => "load(Y, 0, u8) % 2".to_owned(),
            (Condition::Never, _) => "load(Y, 0, u8) > 1000".to_owned(),
        }
    }

    /// A kernel behind all of `before`.
    fn kernel(&mut self, n: u8, tensor: char, before: &[u32]) -> u32 {
        self.kernels += 1;
        let at = self.kernels;
        let _ = writeln!(self.text, "TG_KERNEL(K{at}, m{n}, 2, AIV, 0)\nMC_BIND(K{at}, 0, {tensor})");
        for other in before {
            let _ = writeln!(self.edges, "TG_DEPEND(K{other}, K{at}, DATA)");
        }
        at
    }

    /// Items behind kernels; the kernels that what follows comes behind.
    fn items(&mut self, items: &[Item], mut before: Vec<u32>) -> Vec<u32> {
        for item in items {
            match item {
                Item::Kernel(n, tensor) => before = vec![self.kernel(*n, *tensor, &before)],
                Item::Wait(n) => {
                    let at = self.kernel(*n, 'Y', &before);
                    let _ = writeln!(self.text, "SY_WAIT(GO, K{at})");
                    before = vec![at];
                }
                Item::Gang(a, b) => {
                    let pair = vec![self.kernel(*a, 'Y', &before), self.kernel(*b, 'Z', &before)];
                    self.barriers += 1;
                    let _ =
                        writeln!(self.text, "SY_BARRIER({{K{}, K{}}}, {})", pair[0], pair[1], self.barriers);
                    before = pair;
                }
                Item::Copy => self.text.push_str("MC_COPY(Y, Z, 32)\n"),
                Item::If(condition, then, otherwise) => {
                    let _ = writeln!(self.text, "CF_IF({})", self.condition(*condition));
                    let mut ends = self.items(then, before.clone());
                    self.text.push_str("CF_ELSE\n");
                    ends.extend(self.items(otherwise, before.clone()));
                    self.text.push_str("CF_ENDIF\n");
                    ends.extend(&before);
                    ends.sort_unstable();
                    ends.dedup();
                    before = ends;
                }
                Item::Loop(body) => {
                    self.made += 1;
                    self.loops.push(self.made);
                    let _ = writeln!(self.text, "CF_LOOP(COUNT, i{})", self.made);
                    let mut ends = self.items(body, before.clone());
                    self.text.push_str("CF_ENDLOOP\n");
                    self.loops.pop();
                    ends.extend(&before);
                    ends.sort_unstable();
                    ends.dedup();
                    before = ends;
                }
                Item::Break(condition) => {
                    let _ = writeln!(self.text, "CF_BREAK({})", self.condition(*condition));
                }
            }
        }
        before
    }
}

/// What the items leave in `Y` and `Z`, walked one by one.
struct Walk {
    y: i64,
    z: i64,
    ran: u64,
}

impl Walk {
    fn is(&self, condition: Condition, round: i64) -> bool {
        match condition {
            Condition::Round(of) => of == round,
            Condition::Odd => self.y & 1 != 0,
            Condition::Never => false,
        }
    }

    /// `false` if a break leaves the loop around them.
    fn items(&mut self, items: &[Item], round: i64) -> bool {
        let next = |x: i64, n: u8| x.wrapping_mul(3).wrapping_add(i64::from(n));
        for item in items {
            match item {
                Item::Kernel(n, 'Y') | Item::Wait(n) => (self.y, self.ran) = (next(self.y, *n), self.ran + 1),
                Item::Kernel(n, _) => (self.z, self.ran) = (next(self.z, *n), self.ran + 1),
                Item::Gang(a, b) => {
                    (self.y, self.z, self.ran) = (next(self.y, *a), next(self.z, *b), self.ran + 2);
                }
                Item::Copy => self.z = self.y,
                Item::If(condition, then, otherwise) => {
                    let arm = if self.is(*condition, round) { then } else { otherwise };
                    if !self.items(arm, round) {
                        return false;
                    }
                }
                Item::Loop(body) => {
                    for round in 0..ROUNDS {
                        if !self.items(body, round) {
                            break;
                        }
                    }
                }
                Item::Break(condition) => {
                    if self.is(*condition, round) {
                        return false;
                    }
                }
            }
        }
        true
    }
}

fn kernels() -> TgKernels {
    let mut kernels = TgKernels::new();
    for n in 0..9i64 {
        let body = move |cx: &mut wsp_cpu::tg::TgCx<'_>| {
            super::common::each(cx, 0, 0, |x| x.wrapping_mul(3).wrapping_add(n))
        };
        kernels
            .register(format!("m{n}"), signature(&[Direction::InOut]), body)
            .expect("each is registered once");
    }
    kernels
}

/// ISA-CF-07, ISA-SY-02, ISA-SY-03.
#[test]
fn random_loops_give_the_same_however_their_counts_are_written() {
    let cases = cases(120);
    let mut numbers = Numbers(0x0dd0_5eed_0dd0_5eed);
    let (kernels, mut ran) = (kernels(), 0);
    for case in 0..cases {
        let items = numbers.items(3, false);
        let mut walk = Walk { y: 1, z: 2, ran: 0 };
        walk.items(&items, 0);
        ran += walk.ran;
        let mut writer = Writer::default();
        writer.items(&items, Vec::new());
        if writer.kernels == 0 || walk.ran > 2000 {
            continue;
        }
        let text = format!(
            "arg N: i64 = {ROUNDS}\nextern event GO\nextern L: i64[1]\nextern Y: i64[4]\nextern Z: i64[4]\nTG_BEGIN(G)\n{}{}TG_END(G)\nTG_LAUNCH(G, default)\nTG_SYNC(G)\n",
            writer.text, writer.edges
        );
        for count in ["3", "N", "load(L, 0, i64)", "3, MODE"] {
            let text = match count {
                "3, MODE" => {
                    let mut text = text.clone();
                    for at in 1..=writer.made {
                        text = text.replace(
                            &format!("CF_LOOP(COUNT, i{at})"),
                            &format!("CF_LOOP(3, i{at}, SEQUENTIAL)"),
                        );
                    }
                    text
                }
                count => text.replace("COUNT", count),
            };
            let given = inputs(&[("L", &[ROUNDS]), ("Y", &[1; 4]), ("Z", &[2; 4])]);
            let options = SessionOptions { events: vec!["GO".to_owned()], inputs: given, ..threads(2) };
            let mut session = session_with(&text, &kernels, options);
            let report = session
                .run()
                .unwrap_or_else(|faults| panic!("case {case}, {count}: {}\n{text}", all(&faults)));
            let found = (values(&session, "Y"), values(&session, "Z"), report.stats.kernels);
            assert_eq!(found, (vec![walk.y; 4], vec![walk.z; 4], walk.ran), "case {case}, {count}:\n{text}");
        }
    }
    println!("{cases} cases, {ran} kernels");
    assert!(ran > 10 * cases, "{ran}");
}

/// ISA-CF-03, ISA-CF-07: what an arm needs has a value, or none, where a round takes the arm; how rounds are run does not matter.
#[test]
fn what_an_arm_needs_is_computed_in_the_rounds_that_take_it() {
    let kernels = kernels();
    let kernel = "TG_KERNEL(K, m1, 1, AIV, 0)\nMC_BIND(K, 0,";
    let arms = [
        format!("{kernel} Y, 8 * (2 / i), 8)"),
        format!("{kernel} Y, 0, 8 * (2 / i))"),
        format!("{kernel} {{Y, Z}}[i - 1], 0, 8)"),
        format!("CF_LOOP(i - 1, j)\n{kernel} Y)\nCF_ENDLOOP"),
        format!("CF_LOOP(6 / i, j)\n{kernel} Y)\nCF_ENDLOOP"),
        format!("CF_IF(2 / i > 1)\n{kernel} Y)\nCF_ENDIF"),
        format!("CF_LOOP(3, j)\nCF_BREAK(2 / i == j)\n{kernel} Y)\nCF_ENDLOOP"),
    ];
    for (arm, condition, n, takes_all) in arms.iter().flat_map(|arm| {
        let cases =
            [("i > N", 0, false), ("i && N", 6, false), ("!(!i || N)", 0, false), ("i > N", -1, true)];
        cases.map(|(condition, n, takes_all)| (arm, condition, n, takes_all))
    }) {
        let run = |rounds: &str| {
            let text = format!(
                "arg N: i64 = {n}\nextern Y: i64[4]\nextern Z: i64[4]\nTG_BEGIN(G)\nCF_LOOP({rounds})\nCF_IF({condition})\n{arm}\nCF_ENDIF\nCF_ENDLOOP\nTG_END(G)\nTG_INVOKE(G, 0)\nTG_SYNC(G)\n"
            );
            let options = SessionOptions { inputs: inputs(&[("Y", &[1; 4]), ("Z", &[2; 4])]), ..threads(2) };
            let mut session =
                Session::new(&unit(&text), &kernels, options).map_err(|faults| (text, faults))?;
            match session.run() {
                Ok(_) => Ok((values(&session, "Y"), values(&session, "Z"))),
                Err(faults) => Ok((vec![i64::from(faults[0].code.0)], Vec::new())),
            }
        };
        let [unrolled, in_turn, unknown] = ["3, i", "3, i, SEQUENTIAL", "N - N + 3, i"].map(|rounds| {
            run(rounds).unwrap_or_else(|(text, faults): (String, Vec<_>)| panic!("{}\n{text}", all(&faults)))
        });
        assert_eq!(unrolled.1.is_empty(), takes_all, "{condition}, {n}\n{arm}\n{unrolled:?}");
        assert_eq!([&in_turn, &unknown], [&unrolled; 2], "{condition}, {n}\n{arm}");
    }
}
