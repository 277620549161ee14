//! Depths with which the last process of a pipeline ends as early as it can.

use crate::workload_support::module;
use crate::workload_support::networks::Network;
use crate::workload_support::random::Rng;
use wsp_plan::ParamValue;
use wsp_plan::flow::{Flow, Verdict, flow};

fn flow_of(source: &str, set: &[(&str, i64)]) -> Flow {
    let set: Vec<_> = set.iter().map(|(n, v)| ((*n).to_owned(), ParamValue::Int(i128::from(*v)))).collect();
    flow(&module(source), &set).expect("a pipeline")
}

/// The depths of all channels of the file, 0 for those that no process uses.
fn throughput(network: &Network) -> Option<Vec<i64>> {
    let found = flow_of(&network.timed_text(), &[]);
    let mut depths = vec![0; network.depths.len()];
    for channel in &found.pipelines[0].channels {
        depths[channel.channel.index()] = i64::from(channel.throughput?);
    }
    Some(depths)
}

/// None of the depths can be one less.
fn check(network: &Network, depths: &[i64]) {
    let best = network.end(&vec![1 << 20; depths.len()]);
    assert_eq!(network.end(depths), best, "{depths:?} of\n{}", network.timed_text());
    for at in (0..depths.len()).filter(|at| depths[*at] > 0) {
        let mut less = depths.to_vec();
        less[at] -= 1;
        assert_ne!(network.end(&less), best, "{less:?} of\n{}", network.timed_text());
    }
}

#[test]
fn chains_of_any_length_have_depths_of_which_none_can_be_less() {
    let (mut rng, mut deepest) = (Rng::new(0xC4A1), 0);
    for channels in (3..=16).chain(3..=16) {
        let chain = Network::chain(&mut rng, channels);
        let depths = throughput(&chain).unwrap_or_else(|| panic!("no depths of\n{}", chain.timed_text()));
        check(&chain, &depths);
        deepest = deepest.max(depths.into_iter().max().unwrap_or(0));
    }
    assert!(deepest >= 4, "{deepest}");
}

#[test]
fn networks_of_any_form_have_the_least_depths_of_brute_force() {
    let (mut rng, mut compared) = (Rng::new(0x7A58), 0);
    for at in 0..600 {
        let channels = rng.below(3) + 1 + u64::from(at % 50 == 0) * 2;
        let network = if at % 3 == 0 {
            Network::chain(&mut rng, channels as usize)
        } else {
            Network::random(&mut rng, channels)
        };
        // Some end with their own depths, and have tasks.
        if network.end(&network.depths).is_none_or(|end| end == 0) {
            continue;
        }
        let depths = throughput(&network).unwrap_or_else(|| panic!("no depths of\n{}", network.timed_text()));
        check(&network, &depths);
        if depths.iter().all(|depth| *depth <= 4) {
            assert_eq!(
                Some(depths.iter().sum()),
                network.fastest(4),
                "{depths:?} of\n{}",
                network.timed_text()
            );
            compared += 1;
        }
    }
    assert!(compared > 200, "{compared}");
}

/// Stages over tiles, one behind the other, with the cost of each task.
struct Line {
    /// By stage and tile.
    costs: Vec<Vec<u64>>,
}

impl Line {
    fn random(rng: &mut Rng) -> Line {
        let (stages, tiles) = (rng.below(2) + 2, rng.below(6) + 2);
        let cost = |rng: &mut Rng| if rng.one_in(3) { 30 + rng.below(40) } else { 1 + rng.below(9) };
        Line { costs: (0..stages).map(|_| (0..tiles).map(|_| cost(rng)).collect()).collect() }
    }

    fn text(&self) -> String {
        let (stages, tiles) = (self.costs.len(), self.costs[0].len());
        let all: Vec<String> = self.costs.iter().flatten().map(u64::to_string).collect();
        let mut text = format!("table cost = [{}]; kernel k(c) cost c;\nworkload main {{\n", all.join(", "));
        (1..stages).for_each(|channel| text += &format!("channel c{channel}[9]; "));
        text += "pipeline {\n";
        for stage in 0..stages {
            let mut body = format!("k(cost[{} + t]);", stage * tiles);
            if stage + 1 < stages {
                body = format!("send c{} as d {{ {body} }}", stage + 1);
            }
            if stage > 0 {
                body = format!("consume c{stage} as s {{ {body} }}");
            }
            text += &format!("process p{stage} {{ parallel for t in 0..{tiles} {{ {body} }} }}\n");
        }
        text + "} }\n"
    }

    /// When the last stage is done, with these depths.
    fn end(&self, depths: &[u32]) -> u64 {
        let (stages, tiles) = (self.costs.len(), self.costs[0].len());
        let mut clocks = vec![0; stages];
        // When the slot of each token was freed, by channel.
        let mut freed: Vec<Vec<u64>> = vec![Vec::new(); stages];
        for tile in 0..tiles {
            let (mut there, mut taken, mut ends) = (0, vec![0; stages], vec![0; stages]);
            for stage in 0..stages {
                taken[stage] = clocks[stage].max(there);
                let slots = depths.get(stage).map(|depth| *depth.max(&1) as usize);
                let free = slots
                    .and_then(|slots| tile.checked_sub(slots))
                    .map_or(0, |before| freed[stage + 1][before]);
                ends[stage] = taken[stage].max(free) + self.costs[stage][tile];
                there = ends[stage];
            }
            for stage in 0..stages {
                // With a depth of 0 the next stage has to take the token first.
                let met = if depths.get(stage) == Some(&0) { taken[stage + 1] } else { 0 };
                clocks[stage] = ends[stage].max(met);
                freed[stage].push(clocks[stage]);
            }
        }
        clocks.into_iter().max().unwrap_or(0)
    }

    /// The least sum of depths up to `most` with which it is done as early as with any.
    fn least(&self, most: u32) -> Option<u32> {
        let channels = self.costs.len() - 1;
        let best = self.end(&vec![self.costs[0].len() as u32; channels]);
        let mut depths = vec![0; channels];
        let mut least = None;
        loop {
            let sum: u32 = depths.iter().sum();
            if least.is_none_or(|least| sum < least) && self.end(&depths) == best {
                least = Some(sum);
            }
            let Some(next) = depths.iter().position(|depth| *depth < most) else { return least };
            depths[next] += 1;
            depths[..next].fill(0);
        }
    }
}

#[test]
fn depths_for_the_throughput_of_any_are_those_of_brute_force() {
    let mut rng = Rng::new(0x7A57);
    let mut deepest = 0;
    for _ in 0..400 {
        let line = Line::random(&mut rng);
        let found = flow_of(&line.text(), &[]);
        let depths: Option<Vec<u32>> =
            found.pipelines[0].channels.iter().map(|channel| channel.throughput).collect();
        let depths = depths.unwrap_or_else(|| panic!("{:?} of\n{}", found.verdict, line.text()));
        assert_eq!(Some(depths.iter().sum()), line.least(8), "{depths:?} of\n{}", line.text());
        assert_eq!(line.end(&depths), line.end(&[9, 9]), "{depths:?} of\n{}", line.text());
        deepest = deepest.max(depths.into_iter().max().unwrap_or(0));
    }
    assert!(deepest >= 3, "{deepest}");
}

#[test]
fn depths_whose_search_is_given_up_are_told_of() {
    let found = |kernel: &str, n: i64| {
        let source = format!(
            "param n = 2; kernel k(){kernel}; workload main {{ channel a[1]; pipeline {{
                process p {{ parallel for i in 0..n {{ send a as s {{ k(); }} }} }}
                process q {{ parallel for i in 0..n {{ consume a as s {{ k(); }} }} }} }} }}"
        );
        let found = flow_of(&source, &[("n", n)]);
        assert!(matches!(found.verdict, Verdict::Ends), "{:?}", found.verdict);
        let told: Vec<_> = found.pipelines[0].channels.iter().map(|of| (of.least, of.throughput)).collect();
        (told[0], found.lines(&module(&source), |_| 1).split_off(2))
    };
    let line = |of| format!("  depths `{of}` are not known: their search takes more than 16777216 steps");
    assert_eq!(found(" cost 7", 9), ((Some(0), Some(2)), vec![]));
    assert_eq!(found("", 9), ((Some(0), None), vec![]), "no cost, no throughput");
    assert_eq!(found(" cost 7", 300_000), ((Some(0), None), vec![line("throughput")]));
    assert_eq!(found(" cost 7", 400_000), ((None, None), vec![line("at least"), line("throughput")]));
}

/// The search of the first pipeline has a share of the steps that all have.
#[test]
fn depths_that_are_enough_are_told_where_the_search_is_given_up() {
    let (mut rng, mut told) = (Rng::new(0xE0), 0);
    for _ in 0..12 {
        let chain = Network::chain(&mut rng, 8);
        let least: u64 = throughput(&chain).expect("depths").iter().map(|depth| *depth as u64).sum();
        for others in [160, 320] {
            let source = chain.timed_text();
            let end = source.rfind('}').expect("a workload");
            let source = format!("{} {} }}", &source[..end], "pipeline { process p { } }".repeat(others));
            let found = flow_of(&source, &[]);
            let pipeline = &found.pipelines[0];
            let Some((which, enough)) = pipeline.enough.first() else { continue };
            assert!(pipeline.channels.iter().all(|channel| channel.throughput.is_none()));
            let depths: Vec<i64> = enough.depths.iter().map(|(_, depth)| i64::from(*depth)).collect();
            check(&chain, &depths);
            assert_eq!(enough.sum as i64, depths.iter().sum::<i64>());
            assert!(enough.from <= least && least <= enough.sum, "{enough:?} and {least}");
            let lines = found.lines(&module(&source), |_| 1);
            let line = lines.iter().find(|line| line.contains("not known")).expect("a line");
            let of = |at: usize| format!("c{at} = {}", depths[at]);
            let all: Vec<String> = (0..8).map(of).collect();
            let says = format!(
                "  depths {which} of the smallest sum are not known: their search takes more than {} steps; these are enough, and none of them with one \
                 less: {}; their sum is {}, and the smallest is at least {}",
                enough.steps,
                all.join(", "),
                enough.sum,
                enough.from
            );
            assert_eq!(*line, says);
            told += 1;
        }
    }
    assert!(told > 1, "{told}");
}
