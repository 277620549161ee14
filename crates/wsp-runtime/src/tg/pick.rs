//! What a worker that looks for work gets.

use super::bodies::Bodies;
use super::cores::Cores;
use super::launch::{Dispatch, LaunchId, Progress};
use super::ready::{Class, Offer};
use super::state::{Chore, Device, Gang, State};
use super::work::{Member, Portion, Start, Work};

/// Most kernels that are handed out, for each worker.
const HANDED: usize = 16;

impl<B: Bodies> State<B> {
    /// Takes work that can be started now.
    pub(crate) fn pick(&mut self) -> Option<Work<B>> {
        self.pump_all();
        let work = match self.chores.pop_front() {
            Some(chore) => self.take_chore(chore),
            None => self.pick_of_devices(),
        };
        self.busy += u32::from(work.is_some());
        work
    }

    /// Takes the driving of a machine, if one is due.
    pub(crate) fn pick_drive(&mut self) -> Option<Work<B>> {
        let at = self.chores.iter().position(|chore| matches!(chore, Chore::Drive(_)))?;
        let chore = self.chores.remove(at)?;
        let work = self.take_chore(chore);
        self.busy += u32::from(work.is_some());
        work
    }

    /// Takes everything back that workers have brought.
    pub(crate) fn take_all_back(&mut self) {
        while let Some(done) = self.exchange.take_back() {
            self.busy -= 1;
            self.finish(done);
            // One after the other, as if each had come with the lock: so what is ready is so in the same order.
            self.pump_all();
        }
    }

    /// Hands out kernels that workers will start next, whatever becomes complete meanwhile: those of a plain graph that is alone.
    pub(crate) fn hand_over(&mut self) {
        let mut launches = self.launches.values();
        let (Some(launch), None) = (launches.next(), launches.next()) else { return };
        let is_plain = launch.graph.is_plain() && launch.placement.is_uniform();
        if !is_plain || launch.pause.is_some() || !launch.requests.is_empty() || launch.failure.is_some() {
            return;
        }
        let (device, most) = (launch.device as usize, HANDED * self.config.threads as usize);
        for _ in self.exchange.handed()..most {
            let Some(work) = self.pick_portion(device, None) else { return };
            self.busy += 1;
            self.exchange.hand_out(work);
        }
    }

    /// Takes back what was handed out and nobody has taken, so that it starts in its turn.
    pub(crate) fn recall(&mut self) {
        let handed: Vec<Work<B>> = std::iter::from_fn(|| self.exchange.take()).collect();
        for work in handed.into_iter().rev() {
            let Work::Blocks(job, portion, _) = work else { unreachable!("only kernels are handed out") };
            let (id, number, device) = (job.launch, portion.dispatch, job.device as usize);
            self.busy -= 1;
            if let Some(launch) = self.launches.get_mut(&id) {
                launch.busy -= 1;
                launch.started -= 1;
            }
            self.devices[device].cores.put(&portion.cores);
            let (priority, dispatch) = (self.priority(&job.graph), self.dispatch(number));
            (dispatch.next, dispatch.running, dispatch.progress) = (0, 0, Progress::New(None));
            let class = dispatch.class;
            self.devices[device].ready.push_first(priority, id, class, number);
        }
    }

    fn pick_of_devices(&mut self) -> Option<Work<B>> {
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
        let (Chore::Begin(id) | Chore::Drive(id) | Chore::Save(id) | Chore::End(id)) = chore;
        let now = self.now();
        let launch = self.launches.get_mut(&id)?;
        match chore {
            Chore::Begin(_) => {
                launch.busy += 1;
                if let Some(times) = self.times.get_mut(&id) {
                    times.1 = now;
                }
                Some(Work::Begin(launch.job.clone()?))
            }
            Chore::Drive(_) => {
                launch.busy += 1;
                Some(Work::Drive(launch.job.clone()?, std::mem::take(&mut launch.words)))
            }
            Chore::Save(_) => {
                launch.busy += 1;
                let checkpoint = launch.pause.map_or(0, |pause| pause.id);
                Some(Work::Save(launch.job.clone()?, checkpoint, launch.words.clone()))
            }
            Chore::End(_) => {
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
        let State { devices, dispatches, .. } = self;
        let Device { cores, ready, .. } = &mut devices[device];
        let (number, held, first, count) = ready.offer(above, |number| {
            let Some(dispatch) = dispatches[number as usize].as_mut() else { return Offer::Blocked };
            let Some(held) = take_cores(cores, dispatch) else { return Offer::Blocked };
            let (first, count) = (dispatch.next, dispatch.portion(threads));
            dispatch.next += count;
            dispatch.running += 1;
            let granted = (number, held, first, count);
            // The blocks of a kernel wait until it is dispatched.
            match dispatch.next < dispatch.blocks && matches!(dispatch.progress, Progress::Open(_)) {
                true => Offer::TakenInPart(granted),
                false => Offer::Taken(granted),
            }
        })?;
        let is_first = first == 0;
        let dispatch = self.dispatch(number);
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
        let job = launch.job.clone()?;
        Some(if is_item { Work::Item(job, portion) } else { Work::Blocks(job, portion, start) })
    }

    /// Starts a gang if all its blocks get cores at once.
    fn pick_gang(&mut self, device: usize, at: usize) -> Option<Work<B>> {
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
        Some(Work::Gang(launch.job.clone()?, members))
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

/// Takes cores for the next block of a kernel; an item needs none.
fn take_cores<P>(cores: &mut super::cores::DeviceCores, dispatch: &Dispatch<P>) -> Option<Cores> {
    if dispatch.class == Class::Item {
        return Some(Cores::NONE);
    }
    if let Some(home) = dispatch.home.as_deref().filter(|home| !home.is_empty()) {
        let held = home[dispatch.next as usize % home.len()];
        return cores.take_these(&held).then_some(held);
    }
    if dispatch.running >= dispatch.allowed.at_once {
        return None;
    }
    cores.take(dispatch.core_type, &dispatch.allowed, dispatch.next)
}

fn portion_of<P>(number: u32, dispatch: &Dispatch<P>, cores: Cores, first: u32, count: u32) -> Portion {
    Portion {
        dispatch: number,
        node: dispatch.node,
        item: dispatch.item,
        iterations: dispatch.iterations.clone(),
        blocks: dispatch.blocks,
        first,
        count,
        cores,
    }
}
