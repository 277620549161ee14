//! Random loops and branches that hand on values, compared with what they compute.

use crate::randomised::{Numbers, cases};
use crate::support::{design, ints, run, to_ints};
use wsp_aie::run::Allocation;

const SCALE: &str = include_str!("designs/scale.mlir");
const INNER: &str =
    "          %x = memref.load %a[%i] : memref<256xi32>\n          %y = arith.muli %x, %three : i32\n";

type Operator = fn(i32, i32) -> i32;

/// Operators, by name.
const OPS: [(&str, Operator); 3] =
    [("addi", i32::wrapping_add), ("subi", i32::wrapping_sub), ("muli", i32::wrapping_mul)];

/// One step of a block; values are numbers, `%v0` is the element.
enum Step {
    Binary { op: usize, out: usize, of: (usize, usize) },
    For { rounds: u64, args: Vec<usize>, given: Vec<usize>, outs: Vec<usize>, body: Block },
    If { less: (usize, usize), outs: Vec<usize>, ways: [Block; 2] },
}

#[derive(Default)]
struct Block {
    steps: Vec<Step>,
    yields: Vec<usize>,
}

struct Draw {
    numbers: Numbers,
    values: usize,
}

impl Draw {
    fn fresh(&mut self, count: u64) -> Vec<usize> {
        let from = self.values;
        self.values += count as usize;
        (from..self.values).collect()
    }

    /// One of the values that are there, half of the time one of the last three.
    fn one_of(&mut self, known: &[usize]) -> usize {
        let near = if self.numbers.below(2) == 0 { known.len().min(3) } else { known.len() };
        known[known.len() - 1 - self.numbers.below(near as u64) as usize]
    }

    fn several(&mut self, known: &[usize], count: usize) -> Vec<usize> {
        (0..count).map(|_| self.one_of(known)).collect()
    }

    /// A block that yields so many values of those before it and its own. Where it yields one, this is three times in four what the operator or the branch makes that ends it.
    fn block(&mut self, known: &[usize], depth: u64, yields: usize) -> Block {
        let (mut known, mut block) = (known.to_vec(), Block::default());
        for _ in 0..self.numbers.below(4) {
            let kind = self.numbers.below(if depth == 0 { 2 } else { 5 });
            let count = [1, 1, 2, 3][self.numbers.below(4) as usize];
            block.steps.push(self.step(kind, &mut known, (depth, count)));
        }
        block.yields = if yields == 1 && self.numbers.below(4) > 0 {
            let kind = if depth == 0 { 0 } else { [0, 3][self.numbers.below(2) as usize] };
            block.steps.push(self.step(kind, &mut known, (depth, 1)));
            vec![known[known.len() - 1]]
        } else {
            self.several(&known, yields)
        };
        block
    }

    /// An operator (0, 1), a loop (2) or a branch; what it makes is known from then on.
    fn step(&mut self, kind: u64, known: &mut Vec<usize>, (depth, count): (u64, u64)) -> Step {
        match kind {
            0 | 1 => {
                let of = (self.one_of(known), self.one_of(known));
                let out = self.fresh(1)[0];
                known.push(out);
                Step::Binary { op: self.numbers.below(3) as usize, out, of }
            }
            2 => {
                let (args, outs) = (self.fresh(count), self.fresh(count));
                let given = self.several(known, args.len());
                let inner: Vec<usize> = known.iter().chain(&args).copied().collect();
                let body = self.block(&inner, depth - 1, outs.len());
                known.extend(&outs);
                Step::For { rounds: [0, 1, 3][self.numbers.below(3) as usize], args, given, outs, body }
            }
            _ => {
                let outs = self.fresh(count);
                let less = (self.one_of(known), self.one_of(known));
                let ways = [(); 2].map(|()| self.block(known, depth - 1, outs.len()));
                known.extend(&outs);
                Step::If { less, outs, ways }
            }
        }
    }
}

fn names(values: &[usize]) -> String {
    values.iter().map(|value| format!("%v{value}")).collect::<Vec<_>>().join(", ")
}

impl Block {
    /// The operations; `unique` numbers what has no value of its own.
    fn print(&self, out: &mut String, unique: &mut u64) {
        for step in &self.steps {
            *unique += 1;
            let n = *unique;
            match step {
                Step::Binary { op, out: to, of: (a, b) } => {
                    *out += &format!("%v{to} = arith.{} %v{a}, %v{b} : i32\n", OPS[*op].0);
                }
                Step::For { rounds, args, given, outs, body } => {
                    let carried = args.iter().zip(given).map(|(arg, given)| format!("%v{arg} = %v{given}"));
                    let (carried, types) = (carried.collect::<Vec<_>>().join(", "), types(outs));
                    *out += &format!("%n{n} = arith.constant {rounds} : index\n{} = ", names(outs));
                    *out += &format!(
                        "scf.for %k{n} = %c0 to %n{n} step %c1 iter_args({carried}) -> ({types}) {{\n"
                    );
                    body.print(out, unique);
                    *out += "}\n";
                }
                Step::If { less: (a, b), outs, ways } => {
                    *out += &format!("%l{n} = arith.cmpi slt, %v{a}, %v{b} : i32\n");
                    *out += &format!("{} = scf.if %l{n} -> ({}) {{\n", names(outs), types(outs));
                    ways[0].print(out, unique);
                    *out += "} else {\n";
                    ways[1].print(out, unique);
                    *out += "}\n";
                }
            }
        }
        *out += &format!("scf.yield {} : {}\n", names(&self.yields), types(&self.yields));
    }

    /// What it yields.
    fn compute(&self, values: &mut Vec<i32>) -> Vec<i32> {
        let set = |values: &mut Vec<i32>, to: &[usize], made: Vec<i32>| {
            to.iter().zip(made).for_each(|(to, made)| values[*to] = made);
        };
        for step in &self.steps {
            match step {
                Step::Binary { op, out, of: (a, b) } => values[*out] = OPS[*op].1(values[*a], values[*b]),
                Step::For { rounds, args, given, outs, body } => {
                    let mut carried: Vec<i32> = given.iter().map(|given| values[*given]).collect();
                    for _ in 0..*rounds {
                        set(values, args, carried);
                        carried = body.compute(values);
                    }
                    set(values, outs, carried);
                }
                Step::If { less: (a, b), outs, ways } => {
                    let made = ways[usize::from(values[*a] >= values[*b])].compute(values);
                    set(values, outs, made);
                }
            }
        }
        self.yields.iter().map(|value| values[*value]).collect()
    }
}

fn types(values: &[usize]) -> String {
    vec!["i32"; values.len()].join(", ")
}

#[test]
fn random_loops_and_branches_hand_on_the_values_that_they_make() {
    let (cases, mut wrong) = (cases(100), Vec::<u64>::new());
    for seed in 1..=cases {
        let mut draw = Draw { numbers: Numbers::of_seed(seed), values: 3 };
        let body = draw.block(&[0, 1, 2], 3, 1);
        let outer = Step::For { rounds: 3, args: vec![2], given: vec![0], outs: draw.fresh(1), body };
        let whole = Block { yields: vec![draw.values - 1], steps: vec![outer] };
        let mut text =
            "%v0 = memref.load %a[%i] : memref<256xi32>\n%v1 = arith.constant 3 : i32\n".to_owned();
        let mut inner = String::new();
        whole.print(&mut inner, &mut 0);
        text += inner.rsplit_once("scf.yield").expect("it yields").0;
        assert!(SCALE.contains(INNER));
        let text = SCALE.replace(INNER, &text).replace("store %y", &format!("store %v{}", draw.values - 1));
        let mut args = [ints(-100..924), ints(vec![0; 1024])];
        run(&design(&text), Allocation::Lowered, &mut args)
            .unwrap_or_else(|fault| panic!("{seed}: {:?}\n{text}", fault.diagnostic()));
        let wanted = (-100..924).map(|x| {
            let mut values = vec![0; draw.values];
            (values[0], values[1]) = (x, 3);
            whole.compute(&mut values)[0]
        });
        if to_ints(&args[1]) != wanted.collect::<Vec<i32>>() {
            println!("{seed}:\n{text}");
            wrong.push(seed);
        }
    }
    assert!(wrong.is_empty(), "seeds {wrong:?} of {cases} have other results");
}
