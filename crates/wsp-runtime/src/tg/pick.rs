//! What a worker that looks for work gets.

use super::bodies::Bodies;
use super::cores::{Cores, DeviceCores};
use super::id::LaunchId;
use super::launch::{Dispatch, Launch, Progress};
use super::ready::{Asked, Class, Nodes, Offer};
use super::singles::Singles;
use super::state::{Chore, Device, Gang, State};
use super::work::{Member, Portion, Seen, Start, Work};

/// What an offer of a worker has led to.
enum Picked<B: Bodies> {
    /// Work that is ready to be done.
    Work(Work<B>),
    /// A share of a dispatch: its number, the cores that were taken for it, its first block and how many.
    Portion(u32, Cores, u32, u32),
}

impl<B: Bodies> State<B> {
    /// Takes work that can be started now.
    pub(crate) fn pick(&mut self, worker: u32) -> Option<Work<B>> {
        self.pump_all();
        if let Some(chore) = self.chores.pop_front() {
            return self.take_chore(chore);
        }
        if self.turns.is_some() {
            return self.pick_in_turn(worker);
        }
        let devices = self.devices.len();
        for i in 0..devices {
            let device = (self.turn + i) % devices;
            if let Some(work) = self.pick_on(device) {
                self.turn = device + 1;
                return Some(work);
            }
        }
        None
    }

    fn take_chore(&mut self, chore: Chore) -> Option<Work<B>> {
        let (Chore::Begin(id) | Chore::Save(id) | Chore::End(id)) = chore;
        let now = self.now();
        let launch = self.launches.get_mut(&id)?;
        match chore {
            Chore::Begin(_) => {
                launch.busy += 1;
                if let Some(times) = self.times.get_mut(&id) {
                    times.1 = now;
                }
                Some(Work::Begin(launch.lend()?))
            }
            Chore::Save(_) => {
                launch.busy += 1;
                let checkpoint = launch.pause.map_or(0, |pause| pause.id);
                Some(Work::Save(launch.lend()?, checkpoint, launch.words.clone()))
            }
            Chore::End(_) => {
                launch.lent.clear();
                let job = launch.job.take();
                let orphans = self.drop_orphans();
                Some(Work::End(id, job, orphans))
            }
        }
    }

    /// Takes work of a device. A gang that lacks cores holds back what is not more urgent: nothing that runs needs what
    /// has not started, so the cores of the gang come free.
    fn pick_on(&mut self, device: usize) -> Option<Work<B>> {
        let gang = self.devices[device].gangs.iter().position(|gang| {
            let launch = self.launches.get(&gang.launch);
            launch.is_some_and(|launch| launch.pause.is_none())
        });
        let Some(at) = gang else { return self.pick_portion(device, None) };
        let priority = self.devices[device].gangs[at].priority;
        self.pick_portion(device, Some(priority)).or_else(|| self.pick_gang(device, at))
    }

    fn pick_portion(&mut self, device: usize, above: Option<i8>) -> Option<Work<B>> {
        let threads = self.config.threads;
        let State { devices, dispatches, launches, .. } = self;
        let Device { cores, ready, .. } = &mut devices[device];
        let picked = ready.offer(above, |asked| {
            let number = match asked {
                Asked::Dispatch(number) => number,
                Asked::Nodes(nodes) => {
                    let launch = launches.get_mut(&nodes.launch);
                    let taken = launch.and_then(|launch| take_singles(launch, nodes, cores, threads));
                    return taken.map_or(Offer::Blocked, |work| Offer::Taken(Picked::Work(work)));
                }
            };
            let Some(dispatch) = dispatches[number as usize].as_mut() else { return Offer::Blocked };
            let (first, count) = (dispatch.next, dispatch.portion(threads));
            let Some(held) = take_cores(cores, dispatch, first) else { return Offer::Blocked };
            let granted = Picked::Portion(number, held, first, count);
            match dispatch.start(count) {
                true => Offer::TakenInPart(granted),
                false => Offer::Taken(granted),
            }
        })?;
        match picked {
            Picked::Work(work) => Some(work),
            Picked::Portion(number, held, first, count) => self.portion(number, held, first, count),
        }
    }

    /// The work of blocks that were taken, with their cores.
    pub(super) fn portion(&mut self, number: u32, held: Cores, first: u32, count: u32) -> Option<Work<B>> {
        let dispatch = self.dispatch(number);
        let is_first = dispatch.next == count;
        let start = match std::mem::replace(&mut dispatch.progress, Progress::Preparing) {
            Progress::Open(prepared) => {
                dispatch.progress = Progress::Open(prepared.clone());
                Start::Prepared(prepared)
            }
            Progress::New(resident) => Start::Resident(resident),
            Progress::Preparing => Start::Resident(None),
        };
        let (id, is_item) = (dispatch.launch, dispatch.class == Class::Item);
        let portion = portion_of(number, dispatch, held, first, count);
        let launch = self.launches.get_mut(&id)?;
        launch.busy += 1;
        launch.started += u32::from(is_first);
        let job = launch.lend()?;
        Some(if is_item { Work::Item(job, portion) } else { Work::Blocks(job, portion, start) })
    }

    /// Starts a gang if all its blocks get cores at once.
    pub(super) fn pick_gang(&mut self, device: usize, at: usize) -> Option<Work<B>> {
        let State { devices, dispatches, .. } = self;
        let Device { cores, gangs, .. } = &mut devices[device];
        let mut taken: Vec<(u32, Vec<Cores>)> = Vec::new();
        let mut got_all = true;
        'members: for &number in &gangs[at].members {
            let Some(dispatch) = dispatches[number as usize].as_ref() else { continue };
            taken.push((number, Vec::new()));
            let held = &mut taken.last_mut()?.1;
            for block in 0..dispatch.blocks {
                let Some(cores) = cores.take(dispatch.core_type, &dispatch.allowed, block) else {
                    got_all = false;
                    break 'members;
                };
                held.push(cores);
            }
        }
        if !got_all {
            taken.iter().flat_map(|(_, held)| held).for_each(|held| cores.put(held));
            return None;
        }
        let Gang { launch: id, .. } = gangs.remove(at);
        let members = taken.into_iter().map(|(number, cores)| self.start_member(number, cores)).collect();
        let launch = self.launches.get_mut(&id)?;
        launch.busy += 1;
        Some(Work::Gang(launch.lend()?, members))
    }

    fn start_member(&mut self, number: u32, cores: Vec<Cores>) -> Member {
        let dispatch = self.dispatch(number);
        dispatch.next = dispatch.blocks;
        dispatch.running = 1;
        let blocks = dispatch.blocks;
        let portion = portion_of(number, dispatch, Cores::NONE, 0, blocks);
        let id: LaunchId = dispatch.launch;
        if let Some(launch) = self.launches.get_mut(&id) {
            launch.started += 1;
        }
        let workers = (0..blocks).map(|_| self.take_worker()).collect();
        Member { portion, cores, workers }
    }

    /// A number for a worker beyond the threads.
    fn take_worker(&mut self) -> u32 {
        let at = self.extra.iter().position(|taken| !taken).unwrap_or(self.extra.len());
        if at == self.extra.len() {
            self.extra.push(false);
        }
        self.extra[at] = true;
        self.config.threads + at as u32
    }
}

/// Takes kernels of one block of a launch, if there are cores for a block.
fn take_singles<B: Bodies>(
    launch: &mut Launch<B>,
    nodes: Nodes<'_>,
    cores: &mut DeviceCores,
    threads: u32,
) -> Option<Work<B>> {
    // Where one kernel of the launch may run, all may.
    let held = cores.take(nodes.core_type, &launch.placement.of(0), 0)?;
    let Some(job) = launch.lend() else {
        cores.put(&held);
        return None;
    };
    launch.busy += 1;
    // What surrounds a node stays in its round until the node is complete.
    let iterations = launch.graph.iterations(&mut launch.words);
    let is_timed = nodes.ready.len() > 1;
    let most = launch.spell.most(nodes.ready.len(), threads);
    let mut taken = launch.spare_nodes.pop().unwrap_or_default();
    taken.extend(nodes.ready.drain(..most));
    Some(Work::Singles(job, Singles { nodes: taken, cores: held, iterations, is_timed }))
}

/// Takes cores for a block of a kernel; an item needs none.
pub(super) fn take_cores<P>(cores: &mut DeviceCores, dispatch: &Dispatch<P>, block: u32) -> Option<Cores> {
    if dispatch.class == Class::Item {
        return Some(Cores::NONE);
    }
    if let Some(home) = dispatch.home.as_deref().filter(|home| !home.is_empty()) {
        let held = home[block as usize % home.len()];
        return cores.take_these(&held).then_some(held);
    }
    if dispatch.running >= dispatch.allowed.at_once {
        return None;
    }
    cores.take(dispatch.core_type, &dispatch.allowed, block)
}

fn portion_of<P>(number: u32, dispatch: &Dispatch<P>, cores: Cores, first: u32, count: u32) -> Portion {
    Portion {
        dispatch: number,
        of: Seen {
            node: dispatch.node,
            item: dispatch.item,
            iterations: dispatch.iterations.clone(),
            blocks: dispatch.blocks,
        },
        first,
        count,
        cores,
    }
}
