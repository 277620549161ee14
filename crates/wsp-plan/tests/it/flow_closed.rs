//! Networks whose processes take all tokens until a channel is closed, against a simulator of them.

use crate::workload_support::random::Rng;
use wsp_plan::flow::{Verdict, flow_within};

/// What a process does.
#[derive(Clone)]
enum Item {
    Send(usize, Vec<Item>),
    Consume(usize, Vec<Item>),
    All(usize, Vec<Item>),
    Close(usize),
    Loop(u64, Vec<Item>),
}

/// How a network goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Goes {
    Ends,
    Deadlock,
    /// Something is done with a closed channel.
    Closed,
    /// It goes on after many steps.
    Endless,
}

struct Network {
    depths: Vec<u64>,
    processes: Vec<Vec<Item>>,
}

/// A block under way: its items, the next one, and what is done behind the last.
struct Frame<'n> {
    items: &'n [Item],
    next: usize,
    left: u64,
    end: End,
}

#[derive(Clone, Copy)]
enum End {
    Nothing,
    Sent(usize),
    Consumed(usize),
    Taken(usize),
}

#[derive(Clone, Default)]
struct Channel {
    slots: u64,
    is_joined: bool,
    begun: u64,
    sent: u64,
    sending: u64,
    taken: u64,
    consuming: u64,
    freed: u64,
    closed: bool,
}

impl Network {
    fn random(rng: &mut Rng) -> Network {
        let (processes, channels) = (rng.below(2) as usize + 2, rng.below(3) as usize + 1);
        let ends: Vec<[usize; 2]> = (0..channels)
            .map(|_| {
                let from = rng.below(processes as u64) as usize;
                [from, if rng.one_in(8) { from } else { (from + 1) % processes }]
            })
            .collect();
        let depths = (0..channels).map(|_| rng.below(4)).collect();
        let bodies = (0..processes).map(|process| {
            let sends: Vec<usize> = (0..channels).filter(|at| ends[*at][0] == process).collect();
            let takes: Vec<usize> = (0..channels).filter(|at| ends[*at][1] == process).collect();
            let mut body = block(rng, &sends, &takes, 0);
            for at in &sends {
                if !rng.one_in(4) {
                    body.push(Item::Close(*at));
                }
            }
            body
        });
        Network { processes: bodies.collect(), depths }
    }

    fn text(&self) -> String {
        let mut text = "workload main {\n".to_owned();
        for (at, depth) in self.depths.iter().enumerate() {
            text += &format!("channel c{at}[{depth}];\n");
        }
        text += "pipeline {\n";
        for (at, body) in self.processes.iter().enumerate() {
            text += &format!("process p{at} {{ {} }}\n", written(body, 0));
        }
        text + "} }\n"
    }

    fn goes(&self) -> Goes {
        let mut channels: Vec<Channel> = self
            .depths
            .iter()
            .map(|depth| Channel { slots: *depth.max(&1), is_joined: *depth == 0, ..Channel::default() })
            .collect();
        let frame = |items| Frame { items, next: 0, left: 0, end: End::Nothing };
        let mut stacks: Vec<Vec<Frame<'_>>> = self.processes.iter().map(|body| vec![frame(body)]).collect();
        let mut steps = 0;
        loop {
            let mut moved = false;
            for stack in &mut stacks {
                loop {
                    match step(stack, &mut channels) {
                        Ok(true) => moved = true,
                        Ok(false) => break,
                        Err(()) => return Goes::Closed,
                    }
                    steps += 1;
                    if steps > 20_000 {
                        return Goes::Endless;
                    }
                }
            }
            if !moved {
                let ended = stacks.iter().all(Vec::is_empty);
                return if ended { Goes::Ends } else { Goes::Deadlock };
            }
        }
    }
}

/// One step of a process; false where it waits or has ended.
fn step<'n>(stack: &mut Vec<Frame<'n>>, channels: &mut [Channel]) -> Result<bool, ()> {
    let Some(frame) = stack.last_mut() else { return Ok(false) };
    let Some(item) = frame.items.get(frame.next) else {
        let end = frame.end;
        if frame.left > 0 {
            (frame.left, frame.next) = (frame.left - 1, 0);
            return Ok(true);
        }
        match end {
            End::Nothing => {}
            End::Sent(at) => {
                let of = &mut channels[at];
                of.sending -= 1;
                if of.sending == 0 {
                    of.sent = of.begun;
                }
                frame.end = End::Taken(at);
                return Ok(true);
            }
            End::Taken(at) if channels[at].is_joined && channels[at].taken < channels[at].sent => {
                return Ok(false);
            }
            End::Taken(_) => {}
            End::Consumed(at) => {
                let of = &mut channels[at];
                of.consuming -= 1;
                if of.consuming == 0 {
                    of.freed = of.taken;
                }
            }
        }
        stack.pop();
        return Ok(true);
    };
    let (items, left, end) = match item {
        Item::Close(at) => {
            frame.next += 1;
            return if std::mem::replace(&mut channels[*at].closed, true) { Err(()) } else { Ok(true) };
        }
        Item::Loop(trips, body) => {
            frame.next += 1;
            (body, trips - 1, End::Nothing)
        }
        Item::Send(at, body) => {
            let of = &mut channels[*at];
            if of.closed {
                return Err(());
            }
            if of.begun - of.freed >= of.slots {
                return Ok(false);
            }
            (of.begun, of.sending) = (of.begun + 1, of.sending + 1);
            frame.next += 1;
            (body, 0, End::Sent(*at))
        }
        Item::Consume(at, body) | Item::All(at, body) => {
            let is_all = matches!(item, Item::All(..));
            let of = &mut channels[*at];
            if of.taken == of.sent {
                if !of.closed {
                    return Ok(false);
                }
                frame.next += 1;
                return if is_all { Ok(true) } else { Err(()) };
            }
            (of.taken, of.consuming) = (of.taken + 1, of.consuming + 1);
            frame.next += usize::from(!is_all);
            (body, 0, End::Consumed(*at))
        }
    };
    stack.push(Frame { items, next: 0, left, end });
    Ok(true)
}

fn block(rng: &mut Rng, sends: &[usize], takes: &[usize], depth: u32) -> Vec<Item> {
    let count = rng.below(if depth == 0 { 3 } else { 2 }) + u64::from(depth == 0);
    let mut items = Vec::new();
    for _ in 0..count {
        let inner = |rng: &mut Rng| if depth < 2 { block(rng, sends, takes, depth + 1) } else { Vec::new() };
        let pick = |rng: &mut Rng, of: &[usize]| of[rng.below(of.len() as u64) as usize];
        items.push(match rng.below(5) {
            0 | 1 if !sends.is_empty() => Item::Send(pick(rng, sends), inner(rng)),
            2 if !takes.is_empty() => Item::Consume(pick(rng, takes), inner(rng)),
            3 if !takes.is_empty() => Item::All(pick(rng, takes), inner(rng)),
            _ => Item::Loop(rng.below(3) + 1, inner(rng)),
        });
    }
    if depth > 0 && rng.one_in(12) && !sends.is_empty() {
        items.push(Item::Close(sends[rng.below(sends.len() as u64) as usize]));
    }
    items
}

fn written(items: &[Item], depth: u32) -> String {
    let mut text = String::new();
    for item in items {
        text += &match item {
            Item::Send(at, body) => format!("send c{at} as s{depth} {{ {} }} ", written(body, depth + 1)),
            Item::Consume(at, body) => {
                format!("consume c{at} as s{depth} {{ {} }} ", written(body, depth + 1))
            }
            Item::All(at, body) => {
                format!("consume all c{at} as s{depth} {{ {} }} ", written(body, depth + 1))
            }
            Item::Close(at) => format!("close c{at}; "),
            Item::Loop(trips, body) => {
                format!("parallel for i{depth} in 0..{trips} {{ {} }} ", written(body, depth + 1))
            }
        };
    }
    text
}

/// What is said before a run; none of what breaks a rule of the language.
fn said(source: &str) -> Option<Result<Goes, String>> {
    let (module, mut found) = wsp_ir::workload::text::parse("test.wsp", source, &mut Default::default());
    found.retain(wsp_diag::Diagnostic::is_error);
    let never = |found: &[wsp_diag::Diagnostic]| {
        let all = found.iter().all(|fault| fault.message.starts_with("this never ends"));
        all.then(|| Err(found[0].message.clone()))
    };
    let Some(module) = module.filter(|_| found.is_empty()) else { return never(&found) };
    if let Err(found) = wsp_plan::workload::bind(&module, &[], &Default::default()) {
        return never(&found);
    }
    match flow_within(&module, &[], 1 << 8).map(|found| found.verdict) {
        // The expansion tells of the fault.
        None => Some(Ok(Goes::Closed)),
        Some(Verdict::Ends) => Some(Ok(Goes::Ends)),
        Some(Verdict::Deadlock(_)) => Some(Ok(Goes::Deadlock)),
        Some(Verdict::Undecided(_)) => Some(Ok(Goes::Endless)),
        Some(Verdict::Refused(found)) => never(&found),
    }
}

#[test]
fn what_ends_is_not_refused_and_of_what_does_not_end_it_is_said() {
    let (mut rng, mut tally) = (Rng::new(0xC105ED), [0; 4]);
    for _ in 0..3000 {
        let network = Network::random(&mut rng);
        let source = network.text();
        let (goes, Some(said)) = (network.goes(), said(&source)) else { continue };
        match said {
            Ok(said) => assert_eq!(said, goes, "{source}"),
            Err(message) => assert_ne!(goes, Goes::Ends, "{message}: {source}"),
        }
        tally[goes as usize] += 1;
    }
    assert!(tally[..3].iter().all(|count| *count > 400), "{tally:?}");
}
