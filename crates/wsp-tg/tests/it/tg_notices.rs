//! Devices that wait for each other's notifications, against an oracle that tries every order of waits.

use crate::randomised::{Numbers, cases};
use crate::tg_lint::{kernels, read};
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write;
use wsp_diag::{Diagnostic, Severity};
use wsp_tg::{ElaborateOptions, LintOptions, elaborate, lint};

/// Whether a unit waits for ever.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Hangs {
    Never,
    Sometimes,
    Always,
}

/// What the checker says on that many devices; `None` is a unit whose number of devices is not known.
fn said(text: &str, devices: Option<u32>) -> Vec<(Severity, String)> {
    let options = LintOptions { devices, ..LintOptions::default() };
    let found = lint(&read(text).0, &kernels(), &options);
    let of = found.into_iter().filter(|finding| finding.code.0 == 1515);
    of.map(|finding| (finding.severity, finding.message)).collect()
}

fn found(text: &str, devices: u32) -> Hangs {
    if waits_for_itself(text) {
        return Hangs::Always;
    }
    match said(text, Some(devices)).iter().map(|(severity, _)| *severity).min() {
        None => Hangs::Never,
        Some(Severity::Error) => Hangs::Always,
        Some(_) => Hangs::Sometimes,
    }
}

/// Whether instructions of one graph wait for each other, by what the lint or the plan says.
fn waits_for_itself(text: &str) -> bool {
    let (module, _) = read(text);
    let is_cycle = |found: &Diagnostic| [1500, 1530].contains(&found.code.0);
    lint(&module, &kernels(), &LintOptions::default()).iter().any(is_cycle)
        || elaborate(&module, &kernels(), &ElaborateOptions::default())
            .is_err_and(|found| found.iter().any(is_cycle))
}

const KERNEL: &str = "TG_KERNEL(K, e, 1, AIV, 0)\n";

/// A graph `G` of two devices: what each does, and a launch of it.
fn two(first: &str, second: &str) -> String {
    format!(
        "TG_BEGIN(G)\nCF_IF(device == 0)\n{first}CF_ELSE\n{second}CF_ENDIF\nTG_END(G)\nTG_LAUNCH(G, default)\n"
    )
}

/// ISA-SY-04, ISA-SY-05: where the order of the text makes devices wait for each other, a note says that there is one; with one statement each there is none.
#[test]
fn a_hang_by_the_order_of_the_text_names_that_order() {
    let notes = |sends: &str, waits: &str| {
        let kernel = |name: &str| format!("TG_KERNEL({name}, e, 1, AIV, 0)\n");
        let first = format!("{}{}SY_WAIT_NOTIFY(1, BACK, before = L)\n{sends}", kernel("K"), kernel("L"));
        let second = format!("{}{}{waits}SY_NOTIFY(0, BACK, after = M)\n", kernel("M"), kernel("N"));
        let options = LintOptions { devices: Some(2), ..LintOptions::default() };
        let found = lint(&read(&two(&first, &second)).0, &kernels(), &options);
        let found = found.into_iter().filter(|finding| finding.code.0 == 1515);
        found
            .map(|finding| finding.notes.iter().any(|note| note.contains("in the order of the text")))
            .collect::<Vec<_>>()
    };
    let [of_k, of_l] = ["K", "L"].map(|kernel| format!("SY_NOTIFY(1, GO, after = {kernel})\n"));
    let wait = "SY_WAIT_NOTIFY(0, GO, before = M)\n";
    assert_eq!(notes(&(of_l.clone() + &of_k), wait), [true]);
    assert!(notes(&(of_k + &of_l), wait).is_empty());
    assert_eq!(notes(&of_l, wait), [false]);
}

/// ISA-SY-03, ISA-SY-04, ISA-SY-05: members of a gang wait for a loop that runs round by round, and the loop for one of them: by what the order of the
/// text says of notifications.
#[test]
fn a_gang_and_a_loop_that_wait_for_each_other_by_notifications_are_an_error() {
    let kernel = |name: &str| format!("TG_KERNEL({name}, e, 1, AIV, 0)\n");
    let in_loop = |rest: &str| format!("CF_LOOP(2, i, SEQUENTIAL)\n{rest}CF_ENDLOOP\n");
    let gang = |set: &str| format!("SY_BARRIER({set}, R)\n");
    let sends = |after: &str| format!("SY_NOTIFY(1, N, after = {after})\n");
    let by_sends = |set: &str| {
        [
            kernel("K0") + &kernel("K1") + &kernel("K3") + &sends("K1"),
            in_loop(&(kernel("K2") + &sends("K2"))),
            gang(set) + "SY_SIGNAL(E0, K2)\nSY_WAIT(E0, K0)\n",
        ]
        .concat()
    };
    let waits = "SY_WAIT_NOTIFY(0, N)\n".to_owned() + &kernel("D");
    assert_eq!(found(&two(&by_sends("{K0, K1}"), &waits), 2), Hangs::Always);
    assert_eq!(found(&two(&by_sends("{K0, K3}"), &waits), 2), Hangs::Never);
    let by_waits = |set: &str| {
        [
            in_loop(&("SY_WAIT_NOTIFY(1, N)\n".to_owned() + &kernel("K2"))),
            "SY_WAIT_NOTIFY(1, N, before = K0)\n".to_owned(),
            kernel("K0") + &kernel("K1") + &kernel("K3") + &gang(set) + "TG_DEPEND(K1, K2)\n",
        ]
        .concat()
    };
    let sent = kernel("D") + &"SY_NOTIFY(0, N)\n".repeat(3);
    assert_eq!(found(&two(&by_waits("{K0, K1}"), &sent), 2), Hangs::Always);
    assert_eq!(found(&two(&by_waits("{K0, K3}"), &sent), 2), Hangs::Never);
}

/// ISA-SY-05: a device that waits for what another sends only behind a notification of the first.
#[test]
fn devices_that_wait_for_each_other_are_an_error() {
    let waits = |from: u32, name: &str, kernel: &str| {
        format!("SY_WAIT_NOTIFY({from}, {name}, before = {kernel})\nTG_KERNEL({kernel}, e, 1, AIV, 0)\n")
    };
    let first = format!("{}SY_NOTIFY(1, Q, after = A)\n", waits(1, "P", "A"));
    let second = format!("{}SY_NOTIFY(0, P, after = B)\n", waits(0, "Q", "B"));
    let text = two(&first, &second);
    let told = said(&text, Some(2));
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].1.contains("devices wait for each other"), "{told:?}");
    // One device waits for nothing, and where their number is not known there may be one.
    assert!(said(&text, Some(1)).is_empty());
    assert_eq!(said(&text, None)[0].0, Severity::Warning);
    // A host that launches nothing launches each graph once.
    assert_eq!(found(&text.replace("TG_LAUNCH(G, default)\n", ""), 2), Hangs::Always);
    let in_order = second
        .replace("after = B", "after = C")
        .replace("SY_NOTIFY", "TG_KERNEL(C, e, 1, AIV, 0)\nSY_NOTIFY");
    assert_eq!(found(&two(&first, &in_order), 2), Hangs::Never);
}

/// Each notification lets one wait through.
#[test]
fn waits_are_counted() {
    for mode in ["", ", SEQUENTIAL"] {
        for (waits, sends) in [(2, 2), (3, 2), (2, 3), (1, 0)] {
            let first =
                format!("CF_LOOP({waits}, i{mode})\nSY_WAIT_NOTIFY(1, P, before = K)\n{KERNEL}CF_ENDLOOP\n");
            let second = format!(
                "CF_LOOP({sends}, i{mode})\nTG_KERNEL(L, e, 1, AIV, 0)\nSY_NOTIFY(0, P, after = L)\nCF_ENDLOOP\n"
            );
            let hangs = if waits > sends { Hangs::Always } else { Hangs::Never };
            assert_eq!(found(&two(&first, &second), 2), hangs, "{waits} waits, {sends} sent{mode}");
        }
    }
}

/// What conditions leave open is a note, and what rounds and iterations decide is decided.
#[test]
fn kernels_that_may_be_skipped_leave_it_open() {
    let waits = format!("SY_WAIT_NOTIFY(1, P, before = K)\n{KERNEL}");
    let sends = "TG_KERNEL(L, e, 1, AIV, 0)\nSY_NOTIFY(0, P, after = L)\n";
    let when = |condition: &str, then: &str| format!("CF_IF({condition})\n{then}CF_ENDIF\n");
    let with_arg = |text: String| format!("arg a: i64\n{text}");
    assert_eq!(found(&with_arg(two(&waits, &when("a == 1", sends))), 2), Hangs::Sometimes);
    assert_eq!(found(&with_arg(two(&when("a == 1", &waits), &when("a == 1", sends))), 2), Hangs::Never);
    assert_eq!(found(&two(&waits, &when("iteration == 1", sends)), 2), Hangs::Always);
    assert_eq!(found(&two(&waits, &when("iteration == 0", sends)), 2), Hangs::Never);
    let broken = |rounds: u32| {
        format!(
            "CF_LOOP(4, i)\nCF_BREAK(i == {rounds})\nSY_WAIT_NOTIFY(1, P, before = K)\n{KERNEL}CF_ENDLOOP\n"
        )
    };
    assert_eq!(found(&two(&broken(1), sends), 2), Hangs::Never);
    assert_eq!(found(&two(&broken(2), sends), 2), Hangs::Always);
    assert_eq!(found(&two(&broken(0), &when("iteration == 1", sends)), 2), Hangs::Never);
    // Hosts of all devices see one value of a scalar.
    let host = "CF_IF(a == 1)\nTG_LAUNCH(G, default)\nCF_ENDIF\n";
    let text = with_arg(two(&waits, sends)).replace("TG_LAUNCH(G, default)\n", host);
    assert_eq!(found(&text, 2), Hangs::Never);
    let text = with_arg(two(&waits, &when("iteration == 1", sends))).replace("TG_LAUNCH(G, default)\n", host);
    assert_eq!(found(&text, 2), Hangs::Sometimes);
}

/// A host whose launches are more than are followed is said to be so.
#[test]
fn too_many_launches_are_said() {
    let graphs = format!(
        "TG_BEGIN(A)\n{KERNEL}SY_WAIT(E, K)\nTG_END(A)\nTG_BEGIN(B)\n{KERNEL}SY_SIGNAL(E, K)\nTG_END(B)\n"
    );
    let host =
        format!("CF_LOOP(250, i)\n{}CF_ENDLOOP\nTG_LAUNCH(A, default)\n", "TG_INVOKE(B, i)\n".repeat(20));
    let text = graphs + &host;
    let found = lint(&read(&text).0, &kernels(), &LintOptions::default());
    assert!(found.iter().any(|finding| finding.message.contains("not looked at to the end")), "{found:?}");
}

/// More devices than are followed are said to be so, also where only their numbers in notifications tell how many there are.
#[test]
fn too_many_devices_are_said() {
    let wait = |from: u32| {
        format!(
            "TG_BEGIN(G)\n{KERNEL}SY_WAIT_NOTIFY({from}, N, before = K)\nSY_NOTIFY(0, N, after = K)\nTG_END(G)\n"
        )
    };
    let left = |from: u32, devices: Option<u32>| {
        let options = LintOptions { devices, ..LintOptions::default() };
        let found = lint(&read(&wait(from)).0, &kernels(), &options);
        let left = found.into_iter().filter(|finding| finding.code.0 == 1519);
        left.map(|finding| (finding.severity, finding.message)).collect::<Vec<_>>()
    };
    let said = |devices: u32| {
        let message = format!("whether {devices} devices wait for notifications for ever was not looked at");
        vec![(Severity::Warning, message)]
    };
    assert_eq!(left(1, Some(17)), said(17));
    assert_eq!(left(40, None), said(41));
    assert!(left(1, Some(16)).is_empty() && left(15, None).is_empty());
}

/// A host that launches nothing has each graph launched once, in the order in which they are written.
#[test]
fn graphs_that_nothing_launches_are_searched_for_hangs() {
    let [waits, signals] = [("A", "SY_WAIT(E, K)"), ("B", "SY_SIGNAL(E, K)")]
        .map(|(graph, what)| format!("TG_BEGIN({graph})\n{KERNEL}{what}\nTG_END({graph})\n"));
    assert_eq!(found(&format!("{waits}{signals}"), 1), Hangs::Always);
    assert_eq!(found(&format!("{signals}{waits}"), 1), Hangs::Never);
}

/// A unit is checked for every value of its arguments, of which the default is one.
#[test]
fn a_default_rules_nothing_out() {
    let kernel = |name: &str| format!("TG_KERNEL({name}, w, 1, AIV, 0)\nMC_BIND({name}, 0, T)\n");
    let arm = format!("CF_IF(a == 1)\n{}{}CF_ENDIF\n", kernel("K"), kernel("L"));
    let text =
        format!("extern T: u8[64]\narg a: i64 = 2\nTG_BEGIN(G)\n{arm}TG_END(G)\nTG_LAUNCH(G, default)\n");
    let races = |value: Option<i64>| {
        let found = wsp_tg::check(&read(&text).0, &kernels(), &LintOptions::default(), &[value]).findings;
        found.iter().filter(|finding| finding.code.0 == 1501).count()
    };
    assert_eq!([None, Some(1), Some(2)].map(races), [1, 1, 0]);
}

/// From a device, to a device, the notification.
type Channel = (u64, u64, u64);

/// What is done, and behind what.
#[derive(Default)]
struct Oracle {
    behind: Vec<u128>,
    sends: Vec<Option<Channel>>,
    waits: Vec<Option<Channel>>,
    /// What kernels do to bytes that all devices have.
    uses: Vec<Use>,
}

/// A kernel of a device, and which bytes it reads or writes.
struct Use {
    device: u64,
    at: usize,
    bytes: u64,
    writes: bool,
}

impl Oracle {
    fn add(&mut self, behind: u128, sends: Option<Channel>, waits: Option<Channel>) -> u128 {
        self.behind.push(behind);
        self.sends.push(sends);
        self.waits.push(waits);
        1 << (self.behind.len() - 1)
    }

    /// Tries every order. `None` if there are too many.
    fn hangs(&self) -> Option<Hangs> {
        let (mut ends, mut stops) = (false, false);
        self.orders(u128::MAX, &mut |done| {
            let is_end = done.count_ones() as usize == self.behind.len();
            (ends, stops) = (ends | is_end, stops | !is_end);
        })?;
        Some(match (ends, stops) {
            (true, false) => Hangs::Never,
            (true, true) => Hangs::Sometimes,
            _ => Hangs::Always,
        })
    }

    /// Whether two devices use the same bytes in no order, one of which writes: each may be done as long as the other is not. `None` if there are too
    /// many orders.
    fn races(&self) -> Option<bool> {
        for (at, a) in self.uses.iter().enumerate() {
            for b in self.uses[..at].iter().filter(|b| b.device != a.device && b.bytes == a.bytes) {
                let is_race =
                    (a.writes || b.writes) && self.may_do(a.at, b.at)? && self.may_do(b.at, a.at)?;
                if is_race {
                    return Some(true);
                }
            }
        }
        Some(false)
    }

    fn may_do(&self, at: usize, without: usize) -> Option<bool> {
        let mut may = false;
        self.orders(!(1 << without), &mut |done| may |= done >> at & 1 == 1)?;
        Some(may)
    }

    /// Calls `ended` with what is done where nothing of `allowed` goes on any more. `None` if there are too many orders.
    fn orders(&self, allowed: u128, ended: &mut dyn FnMut(u128)) -> Option<()> {
        let count = self.behind.len();
        let is_done = |done: u128, at: usize| done >> at & 1 == 1;
        let (mut seen, mut open) = (HashSet::new(), vec![0u128]);
        while let Some(mut done) = open.pop() {
            let may = |done: u128, at: usize| {
                is_done(allowed, at) && !is_done(done, at) && self.behind[at] & !done == 0
            };
            while let Some(next) = (0..count).find(|&at| may(done, at) && self.waits[at].is_none()) {
                done |= 1 << next;
            }
            if !seen.insert(done) {
                continue;
            }
            if seen.len() > 20_000 {
                return None;
            }
            let left = |channel: Channel| {
                let of = |list: &[Option<Channel>]| {
                    (0..count).filter(|&at| is_done(done, at) && list[at] == Some(channel)).count()
                };
                of(&self.sends) > of(&self.waits)
            };
            let next = (0..count).filter(|&at| may(done, at) && self.waits[at].is_some_and(left));
            let before = open.len();
            open.extend(next.map(|at| done | 1 << at));
            if open.len() == before {
                ended(done);
            }
        }
        Some(())
    }
}

/// The last of each notification that a graph waits for or sends, in program order.
type Last = BTreeMap<(bool, Channel), u128>;

/// What a kernel waits for and sends.
#[derive(Clone, Default)]
struct Kernel {
    waits: Vec<Channel>,
    sends: Vec<Channel>,
    /// The place of the bytes that it uses, and whether it writes them.
    uses: Option<(u64, bool)>,
}

/// Places of bytes.
const PLACES: u64 = 4;

/// Kernels of graphs of devices, with notifications from kernel to kernel and some that none sends or none waits for.
fn kernels_of(devices: u64, numbers: &mut Numbers) -> Vec<Vec<Vec<Kernel>>> {
    let mut graph = |_| vec![Kernel::default(); 1 + numbers.below(3) as usize];
    let mut all: Vec<Vec<Vec<Kernel>>> = (0..devices).map(|_| (0..2).map(&mut graph).collect()).collect();
    for message in 0..1 + numbers.below(4) {
        let ends = [numbers.below(devices), numbers.below(devices)];
        let channel = (ends[0], ends[1], numbers.below(2));
        let is_odd = message > 0 && numbers.below(8) == 0;
        for (device, is_sent) in ends.into_iter().zip([true, false]) {
            let graphs = &mut all[device as usize];
            let graph = &mut graphs[numbers.below(2) as usize];
            let at = numbers.below(graph.len() as u64) as usize;
            match is_sent {
                true if is_odd && numbers.below(2) == 0 => {}
                true => graph[at].sends.push(channel),
                false if is_odd && numbers.below(2) == 0 => {}
                false => graph[at].waits.push(channel),
            }
        }
    }
    // One notification of the first of three kernels and of the second.
    for (device, graphs) in (0..).zip(&mut all) {
        for graph in graphs.iter_mut().filter(|graph| graph.len() > 2 && numbers.below(4) == 0) {
            let channel = (device, (device + 1) % devices, 0);
            graph[..2].iter_mut().for_each(|kernel| kernel.sends.push(channel));
        }
    }
    for kernel in all.iter_mut().flatten().flatten() {
        kernel.uses = Some((numbers.below(PLACES), numbers.below(2) == 0)).filter(|_| numbers.below(3) == 0);
    }
    all
}

/// A unit of devices with graphs of their own.
struct Drawn {
    text: String,
    oracle: Oracle,
    devices: u64,
}

impl Drawn {
    fn new(numbers: &mut Numbers) -> Drawn {
        let devices = 2 + numbers.below(2);
        let text = "extern T: u8[64]\nTG_BEGIN(OTHER)\nTG_KERNEL(K, e, 1, AIV, 0)\nSY_NOTIFY(0, N0)\nSY_NOTIFY(0, N1)\nTG_END(OTHER)\n";
        // A notification that no graph sends is another error.
        let mut drawn = Drawn { text: text.to_owned(), oracle: Oracle::default(), devices };
        let (mut host, all) = (String::new(), kernels_of(devices, numbers));
        for (device, graphs) in (0..).zip(&all) {
            _ = writeln!(host, "CF_IF(device == {device})");
            let (mut streams, mut waited) = ([0u128; 2], 0u128);
            for (graph, kernels) in (0..).zip(graphs) {
                let stream = numbers.below(2);
                let begin = streams[stream as usize] | waited;
                let end = drawn.graph((device, graph), kernels, begin, numbers);
                streams[stream as usize] |= end;
                _ = writeln!(host, "TG_LAUNCH(G{device}{graph}, {})", stream + 1);
                if numbers.below(2) == 0 {
                    waited |= end;
                    _ = writeln!(host, "TG_SYNC(G{device}{graph})");
                }
            }
            host.push_str("CF_ENDIF\n");
        }
        drawn.text.push_str(&host);
        drawn
    }

    /// Writes a graph, and says what is done when it is complete.
    fn graph(
        &mut self,
        (device, graph): (u64, u64),
        kernels: &[Kernel],
        begin: u128,
        numbers: &mut Numbers,
    ) -> u128 {
        let (mut last, mut all, mut plain) = (Last::new(), 0u128, Vec::<(u64, u128)>::new());
        let mut in_loop = None::<(u64, u128)>;
        // Of each kernel those that it comes behind by edges.
        let mut ahead = [0u64; 8];
        let mut edges = String::new();
        _ = writeln!(self.text, "TG_BEGIN(G{device}{graph})");
        for (kernel, Kernel { waits, sends, uses }) in (0..).zip(kernels) {
            let mode = if kernel == 1 && numbers.below(3) == 0 { 1 } else { numbers.below(8) };
            let rounds = if mode < 2 { 1 + numbers.below(2) } else { 1 };
            match mode {
                0 => _ = writeln!(self.text, "CF_LOOP({rounds}, i{kernel})"),
                1 => _ = writeln!(self.text, "CF_LOOP({rounds}, i{kernel}, SEQUENTIAL)"),
                _ => {}
            }
            let entry = uses.map_or("e", |(_, writes)| if writes { "w" } else { "r" });
            _ = writeln!(self.text, "TG_KERNEL(K{kernel}, {entry}, 1, AIV, 0)");
            if let Some((place, _)) = uses {
                let round = if mode < 2 { format!(" + i{kernel}") } else { String::new() };
                _ = writeln!(self.text, "MC_BIND(K{kernel}, 0, T, ({place}{round}) % {PLACES} * 16, 16)");
            }
            for (from, _, notify) in waits {
                _ = writeln!(self.text, "SY_WAIT_NOTIFY({from}, N{notify}, before = K{kernel})");
            }
            for (_, to, notify) in sends {
                _ = writeln!(self.text, "SY_NOTIFY({to}, N{notify}, after = K{kernel})");
            }
            let mut behind = begin;
            if mode < 2 {
                self.text.push_str("CF_ENDLOOP\n");
            }
            // An edge to or from a loop that runs round by round is one to or from all of it.
            let others = [plain.last().filter(|_| mode != 0), in_loop.as_ref().filter(|_| mode >= 2)];
            for (other, nodes) in others.into_iter().flatten().filter(|_| numbers.below(2) == 0) {
                _ = writeln!(edges, "TG_DEPEND(K{other}, K{kernel})");
                behind |= nodes;
                ahead[kernel as usize] |= ahead[*other as usize] | 1 << other;
            }
            let mut loops = begin;
            if mode == 1 {
                loops |= behind;
                // A loop that runs round by round comes as a whole behind what uses the same notifications.
                let uses = waits.iter().map(|of| (false, *of)).chain(sends.iter().map(|of| (true, *of)));
                loops = uses.filter_map(|of| last.get(&of)).fold(loops, |all, of| all | of);
            }
            let (mut whole, mut node) = (0, 0);
            for round in 0..rounds {
                let around = loops | if mode == 1 { whole } else { 0 };
                let mut held = behind | around;
                for of in waits {
                    let before = around | last.get(&(false, *of)).copied().unwrap_or(0);
                    let wait = self.oracle.add(before, None, Some(*of));
                    last.insert((false, *of), wait);
                    held |= wait;
                    whole |= wait;
                }
                node = self.oracle.add(held, None, None);
                let at = self.oracle.behind.len() - 1;
                let of = |(place, writes)| Use { device, at, bytes: (place + round) % PLACES, writes };
                self.oracle.uses.extend(uses.map(of));
                whole |= node;
                for of in sends {
                    let before = around | node | last.get(&(true, *of)).copied().unwrap_or(0);
                    let sent = self.oracle.add(before, Some(*of), None);
                    last.insert((true, *of), sent);
                    whole |= sent;
                }
            }
            if mode == 1 {
                waits.iter().for_each(|of| _ = last.insert((false, *of), whole));
                sends.iter().for_each(|of| _ = last.insert((true, *of), whole));
            }
            match mode {
                0 => {}
                1 => in_loop = Some((kernel, whole)),
                _ => plain.push((kernel, node)),
            }
            all |= whole;
        }
        if let [(first, a), .., (second, b)] = plain[..]
            && ahead[second as usize] >> first & 1 == 0
            && numbers.below(3) == 0
        {
            // Members of a gang start together: one that waits for another by edges alone breaks a rule.
            _ = writeln!(edges, "SY_BARRIER({{K{first}, K{second}}}, R{device}{graph})");
            let of = [a, b].map(|node| node.trailing_zeros() as usize);
            let held = self.oracle.behind[of[0]] | self.oracle.behind[of[1]];
            of.into_iter().for_each(|node| self.oracle.behind[node] = held);
        }
        _ = writeln!(self.text, "{edges}TG_END(G{device}{graph})");
        all
    }
}

/// An error is a unit that always waits for ever, and every such unit is an error.
#[test]
fn waits_of_devices_are_judged_as_every_order_of_them_says() {
    let (mut counts, mut numbers) = (BTreeMap::<(Hangs, Hangs), u64>::new(), Numbers::of_seed(25));
    let (all, mut skipped) = (cases(400), 0);
    for _ in 0..all {
        let drawn = Drawn::new(&mut numbers);
        let Some(hangs) = drawn.oracle.hangs() else {
            skipped += 1;
            continue;
        };
        let told = found(&drawn.text, drawn.devices as u32);
        let (is_false, is_missed) =
            (told == Hangs::Always && hangs != told, hangs == Hangs::Always && told != hangs);
        assert!(!is_false && !is_missed, "{hangs:?}, said {told:?}:\n{}", drawn.text);
        *counts.entry((hangs, told)).or_default() += 1;
    }
    println!("{all} cases: {counts:?}, {skipped} with too many orders");
    assert!(skipped * 10 < all, "{skipped} of {all} were not compared");
    let count = |of: &[(Hangs, Hangs)]| of.iter().filter_map(|of| counts.get(of)).sum::<u64>();
    assert!(count(&[(Hangs::Always, Hangs::Always)]) * 10 > all, "{counts:?}");
    assert!(count(&[(Hangs::Never, Hangs::Never)]) * 10 > all, "{counts:?}");
    assert_eq!(count(&[(Hangs::Sometimes, Hangs::Never)]), 0, "{counts:?}");
}

/// Bytes of devices that no notification orders are an error, those that one does order are none, also by way of other devices; a warning is what
/// depends on which of two waits is first.
#[test]
fn bytes_of_devices_are_judged_as_every_order_of_waits_says() {
    let (mut counts, mut numbers) = (BTreeMap::<(bool, u16), u64>::new(), Numbers::of_seed(26));
    let (all, mut skipped) = (cases(400), 0);
    for _ in 0..all {
        let drawn = Drawn::new(&mut numbers);
        if waits_for_itself(&drawn.text) {
            continue;
        }
        let Some(races) = drawn.oracle.races() else {
            skipped += 1;
            continue;
        };
        let options = LintOptions { devices: Some(drawn.devices as u32), ..LintOptions::default() };
        let found = lint(&read(&drawn.text).0, &kernels(), &options);
        let is_of_devices = |code: u16| {
            found.iter().any(|finding| finding.code.0 == code && finding.message.contains("devices"))
        };
        let told = [1521, 1519].into_iter().find(|code| is_of_devices(*code)).unwrap_or(0);
        assert!(told != 1521 || races, "said to meet:\n{}", drawn.text);
        assert!(told != 0 || !races, "not said to meet:\n{}", drawn.text);
        *counts.entry((races, told)).or_default() += 1;
    }
    println!("{all} cases: {counts:?}, {skipped} with too many orders");
    assert!(skipped * 10 < all, "{skipped} of {all} were not compared");
    let count = |races: bool, told: u16| counts.get(&(races, told)).copied().unwrap_or(0);
    assert!(count(true, 1521) * 10 > all && count(false, 0) * 10 > all, "{counts:?}");
    assert!((count(true, 1519) + count(false, 1519)) * 50 < all, "{counts:?}");
}
