//! Images that were changed: refused, or run without harm.

use super::generate::Maker;
use super::random::Random;
use super::source::{FORMS, checked, module};
use wsp_core::tg::image::ImageFault;
use wsp_core::tg::machine::{Machine, Scalars, Step};
use wsp_ir::tg::Signatures;
use wsp_tg::elaborate;
use wsp_tg::plan::Records;

/// Conditions with any values.
struct Anything(Random);

impl Scalars for Anything {
    type Fault = ();

    fn eval(&mut self, _: u32, _: &[u32]) -> Result<i64, ()> {
        Ok(self.0.below(4) as i64 - 1)
    }
}

fn change(records: &mut Records, random: &mut Random) {
    let value = match random.below(4) {
        0 => u32::MAX,
        1 => random.next() as u32,
        _ => random.below(8) as u32,
    };
    let pick = |len: usize, random: &mut Random| (len > 0).then(|| random.below(len));
    let word = match random.below(8) {
        0 => pick(records.needs.len(), random).map(|at| &mut records.needs[at]),
        1 => pick(records.succs.len(), random).map(|at| &mut records.succs[at]),
        2 => pick(records.members.len(), random).map(|at| &mut records.members[at]),
        3 => pick(records.guards.len(), random).map(|at| match value % 2 {
            0 => &mut records.guards[at].parent,
            _ => &mut records.guards[at].when,
        }),
        4 => pick(records.decisions.len(), random).map(|at| match value % 3 {
            0 => &mut records.decisions[at].leaves,
            1 => &mut records.decisions[at].first,
            _ => &mut records.decisions[at].len,
        }),
        5 => pick(records.loops.len(), random).map(|at| match value % 5 {
            0 => &mut records.loops[at].node,
            1 => &mut records.loops[at].most,
            2 => &mut records.loops[at].kind,
            3 => &mut records.loops[at].body.first,
            _ => &mut records.loops[at].body.len,
        }),
        6 => pick(records.gangs.len(), random).map(|at| &mut records.gangs[at].len),
        _ => pick(records.nodes.len(), random).map(|at| match value % 6 {
            0 => &mut records.nodes[at].kind,
            1 => &mut records.nodes[at].item,
            2 => &mut records.nodes[at].guard,
            3 => &mut records.nodes[at].gang,
            4 => &mut records.nodes[at].first,
            _ => &mut records.nodes[at].end,
        }),
    };
    if let Some(word) = word {
        *word = value;
    }
}

fn run(records: &Records, random: &mut Random) {
    let image = records.image();
    let mut state = vec![0; image.state_words()];
    let mut machine = Machine::start(&image, &mut state).expect("the words fit");
    let (mut host, mut running) = (Anything(random.clone()), Vec::new());
    for _ in 0..2000 {
        match machine.next(&mut host) {
            Ok(Step::Run(node)) => running.push(node),
            Ok(Step::Gang(gang)) => running.extend(machine.gang(gang)),
            Ok(Step::Signal(_)) => {}
            Ok(Step::Idle) if !running.is_empty() => {
                machine.complete(running.swap_remove(random.below(running.len())));
            }
            Ok(Step::Idle | Step::Done) | Err(_) => return,
        }
    }
}

/// ISA-IMP-07.
#[test]
fn changed_images_are_refused_or_run_without_harm() {
    let (mut refused, mut ran) = (0, 0);
    for seed in 0..150 {
        let text = Maker::unit(seed);
        let plan = checked(elaborate(&module(&text), &Signatures::new(), &FORMS[seed as usize % 2]), &text);
        let mut random = Random::new(seed + 5);
        for _ in 0..20 {
            let mut records = plan.graphs[0].records.clone();
            change(&mut records, &mut random);
            let mut scratch = vec![7; records.nodes.len()];
            match records.image().check(&mut scratch) {
                Ok(()) => {
                    ran += 1;
                    run(&records, &mut random);
                }
                Err(_) => refused += 1,
            }
        }
    }
    assert!(refused > 800 && ran > 100, "{refused} refused, {ran} ran");
}

#[test]
fn an_image_says_where_it_is_wrong() {
    let text =
        "TG_BEGIN(G)\nTG_KERNEL(K, k, 1, AIV, 0)\nTG_KERNEL(L, k, 1, AIV, 0)\nTG_DEPEND(K, L)\nTG_END(G)\n";
    let plan = checked(elaborate(&module(text), &Signatures::new(), &FORMS[0]), text);
    let fault = |change: fn(&mut Records)| {
        let mut records = plan.graphs[0].records.clone();
        change(&mut records);
        records.image().check(&mut vec![0; records.nodes.len()]).expect_err("it is wrong")
    };
    assert_eq!(fault(|r| r.needs[1] = 2), ImageFault::Need(1));
    assert_eq!(fault(|r| r.succs[0] = 0), ImageFault::Edge(0));
    assert_eq!(fault(|r| r.succs[0] = 2), ImageFault::Edge(0));
    assert_eq!(fault(|r| r.nodes[1].kind = 99), ImageFault::Node(1));
    assert_eq!(fault(|r| r.nodes[0].guard = 0), ImageFault::Node(0));
    assert_eq!(fault(|r| r.top.len = 1), ImageFault::Levels);
    assert_eq!(fault(|r| r.needs.truncate(1)), ImageFault::Words);
}
