//! The tasks of a workload as a unit of task graphs: the same bits, and what has no such form.

use pto_wsp::task_graph::{TgCx, TgKernels};
use pto_wsp::{Args, Array, Outcome, Program, RunOptions, Source};

/// Random numbers by a fixed rule (Knuth's multiplier): the same programs in every run.
struct Draws(u64);

impl Draws {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// A workload of tasks over rows, parts of rows, several rows and whole arrays, in nested statements of every kind.
struct Text {
    draws: Draws,
    /// How many tasks may still be written.
    left: u32,
}

impl Text {
    fn of(seed: u64) -> String {
        let mut text = Text { draws: Draws(seed), left: 12 };
        let body = text.block(0);
        let tensors: String = (0..4).map(|t| format!("tensor t{t}: u32[6, 8];\n")).collect();
        format!(
            "{tensors}kernel copy(in a, out b);\nkernel mix(in a, inout b) on vector;\n\
             kernel join(in a, in b, inout c) on cube;\nworkload main {{ {body}\n\
             copy(t3[0], t1[0]); mix(t1, t2[0]); join(t0[1], t1[1], t2[1]); }}\n"
        )
    }

    fn block(&mut self, depth: u32) -> String {
        (0..1 + self.draws.below(3)).map(|_| self.statement(depth)).collect()
    }

    fn statement(&mut self, depth: u32) -> String {
        if depth < 3 && self.left > 0 {
            let (kind, n) = (self.draws.below(7), self.draws.below(5));
            match kind {
                0 => return format!("for i{depth} in 0..{n} {{ {}}} ", self.block(depth + 1)),
                1 => return format!("parallel for i{depth} in 0..{n} {{ {}}} ", self.block(depth + 1)),
                2 => {
                    let kind = if n % 2 == 0 { "combine" } else { "sequential" };
                    let (a, b) = (self.inner(depth), self.inner(depth));
                    return format!("{kind} {{ {{ {a}}} {{ {b}}} }} ");
                }
                _ => {}
            }
        }
        self.task(depth)
    }

    /// A block that has no index of its own.
    fn inner(&mut self, depth: u32) -> String {
        if depth == 0 { self.task(0) } else { format!("{}{}", self.task(depth), self.task(depth)) }
    }

    fn task(&mut self, depth: u32) -> String {
        self.left = self.left.saturating_sub(1);
        let first = self.draws.below(4);
        let mut arg = |k: u64| format!("t{}{}", (first + k) % 4, self.region(depth));
        let (a, b, c) = (arg(0), arg(1), arg(2));
        match self.draws.below(3) {
            0 => format!("copy({a}, {b}); "),
            1 => format!("mix({a}, {b}); "),
            _ => format!("join({a}, {b}, {c}); "),
        }
    }

    fn region(&mut self, depth: u32) -> String {
        let i = depth.checked_sub(1).map_or("0".to_owned(), |d| format!("i{d}"));
        match self.draws.below(6) {
            0 => String::new(),
            1 | 2 => format!("[{i} % 6]"),
            3 => format!("[({i} * 5) % 6, 2..5]"),
            4 => format!("[{i} % 5 +: 2]"),
            _ => format!("[3, {i} % 8]"),
        }
    }
}

/// What `out` becomes of inputs and of what it held: each order of two tasks gives other bits.
fn stir(inputs: &[&[u32]], out: &mut [u32], held: bool) {
    for (j, out) in out.iter_mut().enumerate() {
        let before = if held { out.wrapping_mul(33) } else { 7 };
        *out = inputs.iter().fold(before, |sum, input| {
            sum.rotate_left(5) ^ input[j % input.len()].wrapping_mul(2_654_435_761).wrapping_add(j as u32)
        });
    }
}

fn workload(text: &str) -> Program {
    Source::text("made.wsp", text)
        .kernel("copy", |a: &[u32], b: &mut [u32]| stir(&[a], b, false))
        .kernel("mix", |a: &[u32], b: &mut [u32]| stir(&[a], b, true))
        .kernel("join", |a: &[u32], b: &[u32], c: &mut [u32]| stir(&[a, b], c, true))
        .compile()
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn functions() -> TgKernels {
    fn stirred(cx: &mut TgCx<'_>, inputs: usize, held: bool) -> Result<(), pto_wsp::workload::KernelFault> {
        let read: Vec<Vec<u32>> = (0..inputs).map(|n| cx.load::<u32>(n)).collect::<Result<_, _>>()?;
        let mut out = match held {
            true => cx.load::<u32>(inputs)?,
            false => vec![0; cx.len::<u32>(inputs)?],
        };
        stir(&read.iter().map(Vec::as_slice).collect::<Vec<_>>(), &mut out, held);
        cx.store(inputs, 0, &out)
    }
    let mut kernels = TgKernels::new();
    kernels.register("copy", None, |cx| stirred(cx, 1, false)).expect("it has a name of its own");
    kernels.register("mix", None, |cx| stirred(cx, 1, true)).expect("it has a name of its own");
    kernels.register("join", None, |cx| stirred(cx, 2, true)).expect("it has a name of its own");
    kernels
}

fn elements(t: u32) -> Vec<u32> {
    (0..48).map(|i| i * 2 + t * 1000).collect()
}

fn arrays() -> Args {
    (0..4).fold(Args::new(), |args, t| {
        args.with(format!("t{t}"), Array::of(&[6, 8], &elements(t)).expect("it has 48"))
    })
}

/// What the tensors hold after a run: those that it does not give hold what they held before.
fn bits(outcome: &Outcome) -> Vec<Vec<u32>> {
    let held = |t: u32| match outcome.outputs.get(&format!("t{t}")) {
        Some(array) => array.as_slice::<u32>().expect("it is of that type").to_vec(),
        None => elements(t),
    };
    (0..4).map(held).collect()
}

#[test]
fn the_unit_of_a_workload_has_its_tasks_and_gives_its_bits() {
    for seed in 0..200 {
        let text = Text::of(seed);
        let program = workload(&text);
        let options = RunOptions { sequential: true, ..RunOptions::default() };
        let expected = program.execute(arrays(), options).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let unit = program.unit(&Args::new()).unwrap_or_else(|error| panic!("{error}\n{text}"));
        // Its bytes are read back as what they were written from.
        let bytes = wsp_isa::tg::binary::encode(&unit).expect("it is small");
        let unit = Source::text("made.ptog", bytes).unit_kernels(functions());
        let unit = unit.compile().unwrap_or_else(|error| panic!("{error}\n{text}"));
        for threads in [1, 3] {
            let options = RunOptions { threads, ..RunOptions::default() };
            let outcome = unit.execute(arrays(), options).unwrap_or_else(|error| panic!("{error}\n{text}"));
            assert_eq!(outcome.stats.tasks, expected.stats.tasks, "{text}");
            assert_eq!(bits(&outcome), bits(&expected), "{text}");
        }
    }
}

#[test]
fn what_a_unit_has_no_form_for_is_refused_with_the_reason() {
    let refused = |kernel: &str, call: &str| {
        let text = format!(
            "tensor x: f32[4, 8]; tensor y: f32[4, 8];\nkernel k({kernel});\n\
             workload main {{ for i in 0..4 {{ k({call}); }} }}\n"
        );
        let program = Source::text("a.wsp", text).compile().unwrap_or_else(|error| panic!("{error}"));
        let error = program.unit(&Args::new()).expect_err("there is no such form");
        assert_eq!(error.diagnostics()[0].code.0, 874, "{error}");
        error.to_string()
    };
    assert!(refused("in a, out b, n", "x[i], y[i], i").contains("`n` of kernel `k` is an integer"));
    assert!(
        refused("in a, out b", "x[.., i], y[i]").contains("a region of `x` does not lie together in memory")
    );
    assert!(refused("in a, out b", "x[i, 2..2], y[i]").contains("a region of `x` has no elements"));
}

#[test]
fn a_unit_is_of_the_tasks_that_there_are() {
    let unit = |text: &str| {
        let program = Source::text("a.wsp", text).compile().unwrap_or_else(|error| panic!("{error}\n{text}"));
        let unit = program.unit(&Args::new()).unwrap_or_else(|error| panic!("{error}\n{text}"));
        wsp_isa::tg::text::print(&unit)
    };
    // Neither the tensor nor the integer of a branch that is not taken counts, nor an array without elements.
    let taken = unit(
        "param f = 0; param n = 0; tensor x: f32[4]; tensor y: f32[4]; tensor z: f32[4]; tensor e: f32[n, 4];
         kernel cp(in a, out b); kernel kn(in a, out b, n);
         workload main { if f { kn(z, y, 3); } else { cp(x, y); } parallel for i in 0..n { cp(y, e[i]); } }",
    );
    assert!(taken.contains("extern x") && taken.contains("extern y"), "{taken}");
    assert!(!taken.contains("extern z") && !taken.contains("extern e"), "{taken}");
    // Under `exact` tasks wait as in a run, also for those that only read what they write.
    let exact = unit(
        "tensor x: f32[4]; tensor y: f32[4]; tensor z: f32[4]; kernel cp(in a, out b);
         workload main { cp(x, y); cp(z, x); } schedule { task_graph(deps = exact); }",
    );
    assert_eq!(exact.matches("TG_DEPEND").count(), 1, "{exact}");
}
