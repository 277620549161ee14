//! States of runs: stopped anywhere, copied, gone on with; and words that are no state.

use super::generate::Maker;
use super::oracle::{Oracle, memory};
use super::random::Random;
use super::simulate::{End, Simulation};
use super::source::{FORMS, checked, module};
use wsp_core::tg::machine::{Fault, Machine, Scalars, StateFault, Step};
use wsp_ir::tg::Signatures;
use wsp_tg::elaborate;

/// ISA-FE-04.
#[test]
fn a_run_that_goes_on_from_copied_words_ends_as_one_that_was_not_stopped() {
    for seed in 0..200 {
        let text = Maker::unit(seed);
        let module = module(&text);
        let oracle = Oracle::run(&module, memory(&module));
        let mut expected = oracle.runs.clone();
        expected.sort();
        let plan = checked(elaborate(&module, &Signatures::new(), &FORMS[seed as usize % 2]), &text);
        let mut random = Random::new(seed + 7);
        let mut simulation = Simulation::new(&module, &plan, 0, memory(&module));
        let end = loop {
            let stop = random.below(30);
            match simulation.run(&mut random, stop) {
                End::Stopped => {
                    simulation.abandon();
                    let image = simulation.plan.records.image();
                    let mut saved = simulation.state.clone();
                    Machine::resume(&image, &mut saved)
                        .unwrap_or_else(|fault| panic!("{fault} {seed}\n{text}"));
                    simulation.state = saved;
                }
                end => break end,
            }
        };
        assert_eq!(end, End::Done, "seed {seed}\n{text}");
        assert_eq!(simulation.runs(), expected, "seed {seed}\n{text}");
        assert_eq!(simulation.memory, oracle.memory, "seed {seed}\n{text}");
    }
}

#[test]
fn words_that_were_changed_are_refused_or_harmless() {
    let (mut refused, mut harmless) = (0, 0);
    for seed in 0..150 {
        let text = Maker::unit(seed);
        let module = module(&text);
        let plan = checked(elaborate(&module, &Signatures::new(), &FORMS[seed as usize % 2]), &text);
        let mut random = Random::new(seed + 77);
        let mut simulation = Simulation::new(&module, &plan, 0, memory(&module));
        let stop = random.below(60);
        simulation.run(&mut random, stop);
        simulation.abandon();
        let whole = simulation.state.clone();
        for _ in 0..20 {
            let mut words = whole.clone();
            let (at, bits) = (random.below(words.len()), random.next() as u32);
            words[at] = [0, 1, 2, u32::MAX, words[at] ^ 1, words[at].wrapping_add(1), bits][random.below(7)];
            if words == whole {
                continue;
            }
            let image = simulation.plan.records.image();
            match Machine::resume(&image, &mut words) {
                Err(_) => refused += 1,
                Ok(_) => {
                    harmless += 1;
                    simulation.state = words;
                    simulation.run(&mut random, 2000);
                    simulation.abandon();
                }
            }
        }
    }
    assert!(refused > 800 && harmless > 100, "{refused} refused, {harmless} harmless");
}

#[test]
fn every_word_that_counts_edges_is_checked() {
    let text = "extern A\nTG_BEGIN(G)\nTG_KERNEL(K, k, 1, AIV, 0)\nTG_KERNEL(L, k, 1, AIV, 0)\nTG_DEPEND(K, L)\nTG_END(G)\n";
    let plan = checked(elaborate(&module(text), &Signatures::new(), &FORMS[0]), text);
    let records = &plan.graphs[0].records;
    let image = records.image();
    let mut words = vec![0; image.state_words()];
    Machine::start(&image, &mut words).expect("the words fit");
    let changed = |at: usize, value: u32| {
        let mut words = words.clone();
        words[at] = value;
        Machine::resume(&image, &mut words).map(|_| ()).expect_err("the word is wrong")
    };
    assert_eq!(changed(0, 7), StateFault::Graph { expected: image.fingerprint, found: 7 });
    assert_eq!(changed(1, 1), StateFault::Open);
    let counts = 4 + 2;
    assert_eq!(words[counts..counts + 2], [0, 1]);
    assert_eq!(changed(counts + 1, 0), StateFault::Count(1));
    assert_eq!(changed(counts + 1, 2), StateFault::Count(1));
    assert_eq!(changed(counts, u32::MAX), StateFault::Open);
    let (expected, found) = (words.len(), words.len() - 1);
    let short = Machine::resume(&image, &mut words[1..]).map(|_| ()).expect_err("a word is missing");
    assert_eq!(short, StateFault::Length { expected, found });
}

/// A graph whose loop asks for a value before each iteration.
const ASKING: &str = "extern T\nTG_BEGIN(G)\nCF_WHILE(load(T, 0, u8), 3)\nTG_KERNEL(A, k, 1, AIV, 0)\nCF_ENDWHILE\nTG_END(G)\n";

/// Conditions hold or fail; the iterations that they were asked in are kept.
#[derive(Default)]
struct Conditions {
    fail: bool,
    asked: Vec<u32>,
}

impl Scalars for Conditions {
    type Fault = ();

    fn eval(&mut self, _: u32, iterations: &[u32]) -> Result<i64, ()> {
        self.asked.extend(iterations);
        if self.fail { Err(()) } else { Ok(1) }
    }
}

#[test]
fn a_condition_that_failed_is_asked_for_again_in_the_same_iteration() {
    let plan = checked(elaborate(&module(ASKING), &Signatures::new(), &FORMS[0]), ASKING);
    let image = plan.graphs[0].records.image();
    let mut words = vec![0; image.state_words()];
    let mut host = Conditions::default();
    let mut machine = Machine::start(&image, &mut words).expect("the words should fit");
    let Ok(Step::Run(kernel)) = machine.next(&mut host) else { panic!("the kernel should start") };
    machine.complete(kernel);
    host.fail = true;
    assert_eq!(machine.next(&mut host), Err(Fault::Condition(())));
    assert_eq!(machine.iterations(), [0]);
    host.fail = false;
    let mut machine = Machine::resume(&image, &mut words).expect("the words should be a state");
    assert_eq!(machine.next(&mut host), Ok(Step::Run(kernel)));
    assert_eq!(machine.iterations(), [1]);
    assert_eq!(host.asked, [0, 1, 1]);
}

#[test]
fn every_word_of_a_running_loop_is_checked() {
    let plan = checked(elaborate(&module(ASKING), &Signatures::new(), &FORMS[0]), ASKING);
    let image = plan.graphs[0].records.image();
    let mut words = vec![0; image.state_words()];
    let mut machine = Machine::start(&image, &mut words).expect("the words should fit");
    assert!(matches!(machine.next(&mut Conditions::default()), Ok(Step::Run(_))));
    let (running, nodes) = (image.loops[0], image.nodes.len());
    let (counts, end) = (4 + nodes.next_power_of_two(), running.body.first + running.body.len - 1);
    let phase = counts + nodes + image.guards.len();
    assert_eq!(words[phase..phase + 2], [1, 0]);
    let wrong = [
        (counts + running.node as usize, 1),
        (counts + running.node as usize, u32::MAX),
        (counts + end as usize, u32::MAX),
        (phase, 0),
        (phase, 3),
        (phase + 1, running.most),
    ];
    for (at, value) in wrong {
        let mut words = words.clone();
        words[at] = value;
        let found = Machine::resume(&image, &mut words).map(|_| ());
        assert_eq!(found, Err(StateFault::Loop(0)), "word {at} is {value}");
    }
}
