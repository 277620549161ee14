//! Processes with channels: a product of matrices with two buffers, a softmax in three stages, and sums of what comes first. The tasks are those of
//! `examples/pipelines/*.wsp`, over the kernels of the same files; on the host, on AICPUs and in virtual time, with what went through channels.
//!
//! `cargo run --package pto-wsp --example pipelines`
#![allow(clippy::print_stdout, reason = "an example says what it does")]

use pto_wsp::workload::build::{Expr, Int};
use pto_wsp::workload::{ModuleBuilder, WorkloadModule, range_step};
use pto_wsp::{
    Args, Array, Error, Expand, GraphOptions, Outcome, Program, RunOptions, Source, WorkloadRunOptions,
};

/// C = A · Bᵀ: while a pair of blocks is multiplied, the next pair is brought in, and the block before it is stored.
fn gemm() -> Result<WorkloadModule, Error> {
    let mut m = ModuleBuilder::new();
    m.use_file("gemm.pto");
    let [rows_of_c, cols_of_c, depth] = ["m", "n", "k"].map(|name| m.required(name));
    let rows = m.derived("rows", rows_of_c.ceil_div(64));
    let cols = m.derived("cols", cols_of_c.ceil_div(64));
    let steps = m.derived("steps", depth.ceil_div(64));
    let [load_a, load_b, multiply, store] =
        ["load_a", "load_b", "multiply", "store"].map(|name| m.library_kernel(name).finish());
    let left = |of: Expr, before: Expr| Expr::from(64).min(of - before);
    m.workload("main", |w| {
        let (pair, done) = (w.channel("pair", 2), w.channel("done", 2));
        w.pipeline(|p| {
            p.process("load", |w| {
                w.parallel_for("i", ..rows, |w, i| {
                    w.parallel_for("j", ..cols, |w, j| {
                        w.parallel_for("p", ..steps, |w, p| {
                            w.send(pair, "s", |w, s| {
                                let a = w.task(load_a).field("row", 64 * i);
                                a.field("depth", 64 * p).field("buffer", s);
                                let b = w.task(load_b).field("col", 64 * j);
                                b.field("depth", 64 * p).field("buffer", s);
                            });
                        });
                    });
                });
                w.close(pair);
            });
            p.process("product", |w| {
                w.parallel_for("i", ..rows, |w, i| {
                    w.parallel_for("j", ..cols, |w, j| {
                        w.send(done, "d", |w, d| {
                            w.parallel_for("p", ..steps, |w, p| {
                                w.consume(pair, "s", |w, s| {
                                    let task = w.task(multiply).field("buffer", s).field("to", d);
                                    let task = task.field("first", p.equals(0));
                                    let task = task.field("rows", left(rows_of_c.into(), 64 * i));
                                    let task = task.field("cols", left(cols_of_c.into(), 64 * j));
                                    task.field("depth", left(depth.into(), 64 * p));
                                });
                            });
                        });
                    });
                });
                w.close(done);
            });
            p.process("result", |w| {
                w.parallel_for("i", ..rows, |w, i| {
                    w.parallel_for("j", ..cols, |w, j| {
                        w.consume(done, "d", |w, d| {
                            let task = w.task(store).field("buffer", d);
                            let task = task.field("row", 64 * i).field("col", 64 * j);
                            let task = task.field("rows", left(rows_of_c.into(), 64 * i));
                            task.field("cols", left(cols_of_c.into(), 64 * j));
                        });
                    });
                });
            });
        });
    });
    Ok(m.finish()?.into_inner())
}

/// Softmax of rows: one tile is divided while exponentials of the next are taken and the one after it is brought in.
fn softmax() -> Result<WorkloadModule, Error> {
    let mut m = ModuleBuilder::new();
    m.use_file("softmax.pto");
    let rows = m.required("rows");
    let tiles = m.derived("tiles", rows.ceil_div(16));
    let [load, take, divide] =
        ["load_rows", "take_powers", "divide_rows"].map(|name| m.library_kernel(name).finish());
    m.workload("main", |w| {
        let (loaded, taken) = (w.channel("loaded", 2), w.channel("taken", 2));
        w.pipeline(|p| {
            p.process("load", |w| {
                w.parallel_for("t", ..tiles, |w, t| {
                    w.send(loaded, "s", |w, s| {
                        w.task(load).field("first", 16 * t).field("tile", s);
                    });
                });
            });
            p.process("exponentials", |w| {
                w.parallel_for("t", ..tiles, |w, t| {
                    w.consume(loaded, "s", |w, s| {
                        w.send(taken, "d", |w, d| {
                            let count = Expr::from(16).min(rows - 16 * t);
                            w.task(take).field("from", s).field("to", d).field("count", count);
                        });
                    });
                });
            });
            p.process("divide", |w| {
                w.parallel_for("t", ..tiles, |w, t| {
                    w.consume(taken, "d", |w, d| {
                        let count = Expr::from(16).min(rows - 16 * t);
                        w.task(divide).field("first", 16 * t).field("tile", d).field("count", count);
                    });
                });
            });
        });
    });
    Ok(m.finish()?.into_inner())
}

/// Sums over columns: a producer, two transforms that take every other tile each, and one process that adds up what is there first.
fn reduce() -> Result<WorkloadModule, Error> {
    let mut m = ModuleBuilder::new();
    m.use_file("reduce.pto");
    let cols = m.required("cols");
    let tiles = m.derived("tiles", cols.ceil_div(32));
    let [begin, load, square, size, add_squares, add_sizes] =
        ["begin", "load_columns", "square", "size", "add_squares", "add_sizes"]
            .map(|name| m.library_kernel(name).finish());
    m.workload("main", |w| {
        let part = [w.channel("part_0", 1), w.channel("part_1", 1)];
        let (squared, sized) = (w.channel("squared", 2), w.channel("sized", 2));
        w.task(begin).field("none", 0);
        w.pipeline(|p| {
            p.process("produce", |w| {
                w.parallel_for("t", ..tiles, |w, t| {
                    w.cond(
                        (t % 2).equals(0),
                        |w| {
                            w.send(part[0], "s", |w, _| {
                                w.task(load).field("first", 32 * t).field("tile", 0);
                            });
                        },
                        |w| {
                            w.send(part[1], "s", |w, _| {
                                w.task(load).field("first", 32 * t).field("tile", 1);
                            });
                        },
                    );
                });
                part.iter().for_each(|part| w.close(*part));
            });
            for (of, (name, kernel, to)) in
                [("squares", square, squared), ("sizes", size, sized)].into_iter().enumerate()
            {
                p.process(name, |w| {
                    w.parallel_for("t", range_step(of as i64, tiles, 2), |w, t| {
                        w.consume(part[of], "s", |w, _| {
                            w.send(to, "d", |w, d| {
                                let count = Expr::from(32).min(cols - 32 * t);
                                w.task(kernel).field("to", d).field("count", count);
                            });
                        });
                    });
                    w.close(to);
                });
            }
            p.process("sums", |w| {
                w.select_all(|arms| {
                    arms.consume(squared, "d", |w, d| {
                        w.task(add_squares).field("tile", d);
                    });
                    arms.consume(sized, "d", |w, d| {
                        w.task(add_sizes).field("tile", d);
                    });
                });
            });
        });
    });
    Ok(m.finish()?.into_inner())
}

/// A pipeline with the texts of its kernels and of its other form, its inputs, and what is right: an output, its elements in `f64`, and how far each
/// may be away.
pub(crate) struct Case {
    name: &'static str,
    module: WorkloadModule,
    /// The `.pto` file and the `.wsp` file.
    texts: [&'static str; 2],
    inputs: Vec<(&'static str, Array)>,
    right: Vec<(&'static str, Vec<(f64, f64)>)>,
}

impl Case {
    /// The program of the module.
    pub(crate) fn built(&self) -> Result<Program, Error> {
        Source::workload(self.module.clone()).file(format!("{}.pto", self.name), self.texts[0]).compile()
    }

    /// The program of the file.
    pub(crate) fn written(&self) -> Result<Program, Error> {
        let [kernels, text] = self.texts;
        Source::text(format!("{}.wsp", self.name), text).file(format!("{}.pto", self.name), kernels).compile()
    }

    /// Arrays.
    pub(crate) fn args(&self) -> Args {
        self.inputs.iter().cloned().fold(Args::new(), |args, (name, array)| args.with(name, array))
    }

    /// Panics where an output is not right.
    pub(crate) fn check(&self, outcome: &Outcome) {
        for (name, right) in &self.right {
            let found = outcome.outputs[*name].as_slice::<f32>().expect("it is declared f32");
            assert_eq!(found.len(), right.len(), "{name}");
            for (at, (found, (right, allowed))) in found.iter().zip(right).enumerate() {
                let apart = (f64::from(*found) - right).abs();
                assert!(
                    apart <= *allowed,
                    "{}: `{name}` has {found} at {at}, and {right} is right",
                    self.name
                );
            }
        }
    }
}

/// Half the distance of `f32` numbers near 1.
const UNIT: f64 = f32::EPSILON as f64 / 2.0;

/// Numbers from -1 to 1.
fn numbers(count: usize, step: usize) -> Vec<f32> {
    (0..count).map(|at| (at * step % 1013) as f32 / 506.0 - 1.0).collect()
}

/// A sum in `f64`, and how far one in `f32` may be away: each term is rounded, and each addition.
fn sum(terms: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let size: f64 = terms.clone().map(f64::abs).sum();
    (terms.clone().sum(), (terms.count() as f64 + 1.0) * UNIT * size)
}

/// The three pipelines, with edges that fill no tile.
pub(crate) fn cases() -> Result<Vec<Case>, Error> {
    let (m, n, k) = (130, 70, 200);
    let (a, b) = (numbers(m * k, 7919), numbers(n * k, 6007));
    let product = |at: usize| {
        let (row, col) = (&a[at / n * k..][..k], &b[at % n * k..][..k]);
        sum(row.iter().zip(col).map(|(x, y)| f64::from(*x) * f64::from(*y)))
    };
    let (rows, cols) = (100, 72);
    let x = numbers(rows * cols, 7919);
    let weight = |at: usize| {
        let row = &x[at / cols * cols..][..cols];
        let most = row.iter().copied().fold(f32::MIN, f32::max);
        let power = |value: f32| f64::from(value - most).exp();
        let value = power(x[at]) / row.iter().copied().map(power).sum::<f64>();
        (value, (cols as f64 + 8.0) * UNIT * value)
    };
    let every_other = |row: usize, first: usize, term: fn(f64) -> f64| {
        let of = x[row * cols..][..cols].iter().enumerate().filter(move |(col, _)| col / 32 % 2 == first);
        sum(of.map(move |(_, value)| term(f64::from(*value))))
    };
    let array = |[rows, cols]: [usize; 2], of: &[f32]| Array::of(&[rows as u64, cols as u64], of);
    let case = |name, module, texts, inputs, right| Case { name, module, texts, inputs, right };
    macro_rules! texts {
        ($name:literal) => {
            [
                include_str!(concat!("../../../examples/pipelines/", $name, ".pto")),
                include_str!(concat!("../../../examples/pipelines/", $name, ".wsp")),
            ]
        };
    }
    Ok(vec![
        case(
            "gemm",
            gemm()?,
            texts!("gemm"),
            vec![("a", array([m, k], &a)?), ("b", array([n, k], &b)?)],
            vec![("c", (0..m * n).map(product).collect())],
        ),
        case(
            "softmax",
            softmax()?,
            texts!("softmax"),
            vec![("x", array([rows, cols], &x)?)],
            vec![("y", (0..rows * cols).map(weight).collect())],
        ),
        case(
            "reduce",
            reduce()?,
            texts!("reduce"),
            vec![("x", array([rows, cols], &x)?)],
            vec![
                ("squares", (0..rows).map(|row| every_other(row, 0, |value| value * value)).collect()),
                ("sizes", (0..rows).map(|row| every_other(row, 1, f64::abs)).collect()),
            ],
        ),
    ])
}

pub(crate) fn main() -> Result<(), Error> {
    for case in cases()? {
        let program = case.built()?;
        let tasks =
            |program: &Program| Ok::<_, Error>(program.graph(&case.args(), &GraphOptions::default())?.tasks);
        assert_eq!(tasks(&program)?, tasks(&case.written()?)?, "the tasks of the file");
        let options = |threads, aicpus| {
            let workload =
                WorkloadRunOptions { aicpus, expand: Expand::Usual, ..WorkloadRunOptions::default() };
            RunOptions { threads, trace: true, workload, ..RunOptions::default() }
        };
        let host = program.execute(case.args(), options(2, 0))?;
        case.check(&host);
        for aicpus in [1, 3] {
            let outcome = program.execute(case.args(), options(0, aicpus))?;
            let name = case.right[0].0;
            assert_eq!(outcome.outputs[name].bytes(), host.outputs[name].bytes(), "{aicpus} AICPUs: {name}");
        }
        let simulated =
            program.simulate(&case.args(), &RunOptions { threads: 3, ..RunOptions::default() })?;
        println!("{}: {} tasks, {} cycles", case.name, host.stats.tasks, simulated.makespan);
        for channel in simulated.channels {
            let [from, to] = &channel.ends;
            let of = channel.figures;
            println!(
                "  {}: {} tokens, {} of {} slots in use, {from} waited {} cycles, {to} {}",
                channel.name, of.tokens, of.fullest, of.depth, of.sender_waited, of.receiver_waited
            );
        }
    }
    Ok(())
}
