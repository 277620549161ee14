//! Random networks of processes: as text, and as what each process does with its channels, which a simulator of its own runs.

use super::random::Rng;

/// What a process does.
#[derive(Clone, Debug)]
pub(crate) enum Item {
    Transfer {
        channel: usize,
        sends: bool,
        body: Vec<Item>,
    },
    Loop {
        trips: i64,
        body: Vec<Item>,
    },
    Close(usize),
    /// A task that takes so many cycles.
    Task(u64),
}

/// A network.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    pub(crate) depths: Vec<i64>,
    pub(crate) processes: Vec<Vec<Item>>,
}

/// A step of a process.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Step {
    Begin {
        channel: usize,
        sends: bool,
    },
    End {
        channel: usize,
        sends: bool,
    },
    /// A sender waits until its token is taken, if the channel has a depth of 0.
    Taken(usize),
    Work(u64),
}

impl Network {
    /// Up to 5 processes and channels; most send as often as is consumed.
    pub(crate) fn random(rng: &mut Rng, channels: u64) -> Network {
        let count = rng.below(4) as usize + 1 + usize::from(channels > 1);
        let rounds: Vec<i64> = (0..count).map(|_| rng.below(3) as i64 + 1).collect();
        let mut firings: Vec<Vec<Item>> = vec![Vec::new(); count];
        let mut depths = Vec::new();
        for channel in 0..channels as usize {
            depths.push(rng.below(5) as i64);
            let ends = [rng.below(count as u64) as usize, rng.below(count as u64) as usize];
            let least = (1..).find(|n| ends.iter().all(|end| n % rounds[*end] == 0)).unwrap_or(1);
            let tokens = least * (rng.below(2) as i64 + 1);
            for (sends, process) in [(true, ends[0]), (false, ends[1])] {
                let times = tokens / rounds[process] + i64::from(rng.one_in(12));
                transfers(rng, &mut firings[process], (channel, sends), times);
            }
        }
        let repeated = |(trips, body): (i64, Vec<Item>)| vec![Item::Loop { trips, body }];
        Network { depths, processes: rounds.into_iter().zip(firings).map(repeated).collect() }
    }

    /// As a file. Depths are parameters `d0`, `d1`, …
    pub(crate) fn text(&self) -> String {
        let mut text = "kernel k(c);\n".to_owned();
        for (at, depth) in self.depths.iter().enumerate() {
            text += &format!("param d{at} = {depth};\n");
        }
        text += "workload main {\n";
        (0..self.depths.len()).for_each(|at| text += &format!("channel c{at}[d{at}];\n"));
        text += "pipeline {\n";
        for (at, body) in self.processes.iter().enumerate() {
            text += &format!("process p{at} {{ {} }}\n", written(body, 0));
        }
        text + "} }\n"
    }

    /// As a file in which tasks take time.
    pub(crate) fn timed_text(&self) -> String {
        self.text().replacen("kernel k(c);", "kernel k(c) cost c;", 1)
    }

    /// A chain with this many channels: what a process takes from one it sends to the next at another rate, and some do so around their tasks, and
    /// some behind them.
    pub(crate) fn chain(rng: &mut Rng, channels: usize) -> Network {
        let rates: Vec<[i64; 2]> =
            (0..channels).map(|_| [(); 2].map(|()| 1 + rng.below(6) as i64 / 5)).collect();
        // Rounds of each process, so that each channel has as many tokens sent as consumed.
        let mut rounds = vec![1_i64];
        for [sends, takes] in &rates {
            let tokens = rounds[rounds.len() - 1] * sends;
            let times = (1..=*takes).find(|times| tokens * times % takes == 0).unwrap_or(1);
            rounds.iter_mut().for_each(|of| *of *= times);
            rounds.push(tokens * times / takes);
        }
        let least = (1..=32).find(|times| rounds.iter().all(|of| of * times >= 12)).unwrap_or(1);
        let cost =
            |rng: &mut Rng| Item::Task(1 + rng.below(9) + if rng.one_in(9) { 30 + rng.below(40) } else { 0 });
        let round = |at: usize, rng: &mut Rng| {
            let mut body = vec![cost(rng)];
            let mut add = |channel: usize, sends: bool, times: i64| {
                for time in 0..times {
                    let inner =
                        if time == 0 && rng.one_in(2) { std::mem::take(&mut body) } else { vec![cost(rng)] };
                    let place = if sends { body.len() } else { 0 };
                    body.insert(place, Item::Transfer { channel, sends, body: inner });
                }
            };
            if at < channels {
                add(at, true, rates[at][0]);
            }
            if at > 0 {
                add(at - 1, false, rates[at - 1][1]);
            }
            body
        };
        // Rounds of a process take the same time, or each its own.
        let process = |at: usize, rng: &mut Rng| {
            let trips = rounds[at] * least;
            if rng.one_in(3) {
                vec![Item::Loop { trips, body: round(at, rng) }]
            } else {
                (0..trips).flat_map(|_| round(at, rng)).collect()
            }
        };
        let processes = (0..=channels).map(|at| process(at, rng)).collect();
        Network { depths: vec![1; channels], processes }
    }

    /// Whether every process ends, with these depths.
    pub(crate) fn ends(&self, depths: &[i64]) -> bool {
        let steps: Vec<Vec<Step>> = self.processes.iter().map(|body| flat(body)).collect();
        ends(&steps, depths)
    }

    /// When the last process ends, with these depths; none where one does not.
    pub(crate) fn end(&self, depths: &[i64]) -> Option<u64> {
        let steps: Vec<Vec<Step>> = self.processes.iter().map(|body| flat(body)).collect();
        ends(&steps, depths).then(|| times(&steps, depths))
    }

    /// The least sum of depths up to `most` each with which every process ends.
    pub(crate) fn least(&self, most: i64) -> Option<i64> {
        let steps: Vec<Vec<Step>> = self.processes.iter().map(|body| flat(body)).collect();
        self.smallest(most, &|depths| ends(&steps, depths))
    }

    /// The least sum of depths up to `most` each with which the last process ends as early as with any.
    pub(crate) fn fastest(&self, most: i64) -> Option<i64> {
        let best = self.end(&vec![1 << 20; self.depths.len()]);
        self.smallest(most, &|depths| self.end(depths) == best)
    }

    fn smallest(&self, most: i64, is_enough: &dyn Fn(&[i64]) -> bool) -> Option<i64> {
        let mut depths = vec![0; self.depths.len()];
        let mut least = None;
        loop {
            let sum = depths.iter().sum();
            if least.is_none_or(|least| sum < least) && is_enough(&depths) {
                least = Some(sum);
            }
            let Some(next) = depths.iter().position(|depth| *depth < most) else { return least };
            depths[next] += 1;
            depths[..next].fill(0);
        }
    }
}

/// A channel of the simulator: numbers of its sends and consumes.
#[derive(Default)]
struct Tokens {
    depth: i64,
    /// Begun and not ended, oldest first; and begun.
    open: [Vec<i64>; 2],
    begun: [i64; 2],
}

impl Tokens {
    fn done(&self, sends: bool) -> i64 {
        self.open[usize::from(sends)].first().copied().unwrap_or(self.begun[usize::from(sends)])
    }

    fn allows(&self, step: Step) -> bool {
        match step {
            Step::Begin { sends: true, .. } => self.begun[1] - self.done(false) < self.depth.max(1),
            Step::Begin { sends: false, .. } => self.begun[0] < self.done(true),
            Step::Taken(_) => self.depth > 0 || self.begun[0] == self.done(true),
            Step::End { .. } | Step::Work(_) => true,
        }
    }

    fn apply(&mut self, step: Step) {
        match step {
            Step::Begin { sends, .. } => {
                self.open[usize::from(sends)].push(self.begun[usize::from(sends)]);
                self.begun[usize::from(sends)] += 1;
            }
            Step::End { sends, .. } => {
                self.open[usize::from(sends)].pop();
            }
            Step::Taken(_) | Step::Work(_) => {}
        }
    }
}

/// Whether every process ends.
fn ends(steps: &[Vec<Step>], depths: &[i64]) -> bool {
    let mut at = vec![0; steps.len()];
    let of = |depth: &i64| Tokens { depth: *depth, ..Tokens::default() };
    let mut channels: Vec<Tokens> = depths.iter().map(of).collect();
    loop {
        let mut moved = false;
        for (process, at) in steps.iter().zip(&mut at) {
            while let Some(step) = process.get(*at) {
                if let Step::Begin { channel, .. } | Step::End { channel, .. } | Step::Taken(channel) = step {
                    if !channels[*channel].allows(*step) {
                        break;
                    }
                    channels[*channel].apply(*step);
                }
                *at += 1;
                moved = true;
            }
        }
        if !moved {
            return steps.iter().zip(&at).all(|(process, at)| *at == process.len());
        }
    }
}

/// The steps of processes at which a token of a channel is there, is taken, and frees its slot, each by its process and place.
#[derive(Default, Clone)]
struct Places {
    there: Vec<(usize, usize)>,
    taken: Vec<(usize, usize)>,
    freed: Vec<(usize, usize)>,
}

/// When the last of processes that all end does: the longest way through what waits for what, which is walked until no time changes.
fn times(steps: &[Vec<Step>], depths: &[i64]) -> u64 {
    let mut places = vec![Places::default(); depths.len()];
    for (process, of) in steps.iter().enumerate() {
        let mut open = vec![[(0, 0); 2]; depths.len()];
        for (at, step) in of.iter().enumerate() {
            match step {
                Step::Begin { channel, sends } => {
                    let (now, begun) = &mut open[*channel][usize::from(*sends)];
                    (*now, *begun) = (*now + 1, *begun + 1);
                    if !sends {
                        places[*channel].taken.push((process, at));
                    }
                }
                Step::End { channel, sends } => {
                    let (now, begun) = &mut open[*channel][usize::from(*sends)];
                    *now -= 1;
                    if *now == 0 {
                        let of = &mut places[*channel];
                        let done = if *sends { &mut of.there } else { &mut of.freed };
                        done.resize(*begun, (process, at));
                    }
                }
                Step::Taken(_) | Step::Work(_) => {}
            }
        }
    }
    let mut ends: Vec<Vec<u64>> = steps.iter().map(|of| vec![0; of.len()]).collect();
    loop {
        let mut changed = false;
        for (process, of) in steps.iter().enumerate() {
            let (mut clock, mut begun) = (0, vec![[0_usize; 2]; depths.len()]);
            for (at, step) in of.iter().enumerate() {
                let waits = match step {
                    Step::Begin { channel, sends } => {
                        let number = begun[*channel][usize::from(*sends)];
                        begun[*channel][usize::from(*sends)] += 1;
                        match sends {
                            true => number
                                .checked_sub(depths[*channel].max(1) as usize)
                                .map(|of| places[*channel].freed[of]),
                            false => Some(places[*channel].there[number]),
                        }
                    }
                    Step::Taken(channel) if depths[*channel] == 0 => {
                        Some(places[*channel].taken[begun[*channel][1] - 1])
                    }
                    _ => None,
                };
                if let Step::Work(cycles) = step {
                    clock += cycles;
                }
                clock = waits.map_or(0, |(process, at)| ends[process][at]).max(clock);
                changed |= std::mem::replace(&mut ends[process][at], clock) != clock;
            }
        }
        if !changed {
            return ends.iter().filter_map(|of| of.last()).copied().max().unwrap_or(0);
        }
    }
}

fn task(rng: &mut Rng) -> Item {
    Item::Task(1 + rng.below(20))
}

/// Adds transfers to what a process does in a round: one by one, in a loop, or around what it does already.
fn transfers(rng: &mut Rng, body: &mut Vec<Item>, (channel, sends): (usize, bool), times: i64) {
    let transfer = |body| Item::Transfer { channel, sends, body };
    let at = |rng: &mut Rng, body: &Vec<Item>| rng.below(body.len() as u64 + 1) as usize;
    match rng.below(3) {
        0 if times > 0 => {
            let inside = if rng.one_in(2) { vec![task(rng)] } else { Vec::new() };
            let place = at(rng, body);
            body.insert(place, Item::Loop { trips: times, body: vec![transfer(inside)] });
        }
        1 if times > 0 => {
            let from = at(rng, body);
            let inner = body.split_off(from);
            body.push(transfer(inner));
            for _ in 1..times {
                let place = at(rng, body);
                body.insert(place, transfer(Vec::new()));
            }
        }
        _ => {
            for _ in 0..times {
                let place = at(rng, body);
                body.insert(place, transfer(vec![task(rng)]));
            }
        }
    }
}

fn written(body: &[Item], depth: u32) -> String {
    let mut text = String::new();
    for item in body {
        text += &match item {
            Item::Transfer { channel, sends, body } => {
                let word = if *sends { "send" } else { "consume" };
                format!("{word} c{channel} as s{depth} {{ {} }} ", written(body, depth + 1))
            }
            Item::Loop { trips, body } => {
                format!("parallel for i{depth} in 0..{trips} {{ {} }} ", written(body, depth + 1))
            }
            Item::Close(channel) => format!("close c{channel}; "),
            Item::Task(cost) => format!("k({cost}); "),
        };
    }
    text
}

fn flat(body: &[Item]) -> Vec<Step> {
    let mut steps = Vec::new();
    for item in body {
        match item {
            Item::Transfer { channel, sends, body } => {
                let (channel, sends) = (*channel, *sends);
                steps.push(Step::Begin { channel, sends });
                steps.extend(flat(body));
                steps.push(Step::End { channel, sends });
                steps.extend(sends.then_some(Step::Taken(channel)));
            }
            Item::Loop { trips, body } => {
                let once = flat(body);
                (0..*trips).for_each(|_| steps.extend(&once));
            }
            Item::Task(cost) => steps.push(Step::Work(*cost)),
            Item::Close(_) => {}
        }
    }
    steps
}
