//! From a task of this AICPU to its next, through the statements of a body and the iterations of the loops around it.

use super::linear::LEVELS;

/// A place in a strip, as digits: the statement, and the iteration of each loop, the innermost first; and what is added to them
/// from a task to the next.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pace {
    site: u64,
    at: [u64; LEVELS],
    sites: u64,
    trips: [u64; LEVELS],
    count: usize,
    site_step: u64,
    steps: [u64; LEVELS],
    /// Whether something is added to an iteration of a loop but the innermost.
    outer: bool,
    /// How many tasks are before this one, and how many more are before the next.
    task: u64,
    stride: u64,
    /// What a carry into the outermost loop adds, and how many tasks are left out by that.
    period: u64,
    left_out: u64,
}

impl Pace {
    /// The first task of a strip of so many statements and iterations; the next is the one behind it. There are at least one
    /// statement, and one iteration of each of `count` loops.
    pub(super) fn new(sites: u64, trips: [u64; LEVELS], count: usize) -> Pace {
        let steps = [0; LEVELS];
        Pace {
            site: 0,
            at: steps,
            sites,
            trips,
            count,
            site_step: 1,
            steps,
            outer: false,
            task: 0,
            stride: 1,
            period: 1,
            left_out: 0,
        }
    }

    /// Tasks of all iterations; none when the number does not fit.
    pub(super) fn all(&self) -> Option<u64> {
        let mut loops = self.trips.iter().take(self.count);
        loops.try_fold(self.sites, |tasks, trip| tasks.checked_mul(*trip))
    }

    /// Every task of certain iterations of the outermost loop, of which there is at least one.
    pub(super) fn outermost_by(&mut self, first: u64, period: u64) {
        let inner = self.trips.iter().take(self.count.saturating_sub(1));
        let tasks = inner.fold(self.sites, |tasks, trip| tasks.wrapping_mul(*trip));
        if let Some(at) = self.at.get_mut(self.count.wrapping_sub(1)) {
            *at = first;
        }
        self.task = tasks.wrapping_mul(first);
        self.period = period;
        self.left_out = tasks.wrapping_mul(period.wrapping_sub(1));
    }

    /// One task of so many.
    pub(super) fn tasks_by(&mut self, tasks: u64) {
        (self.site_step, self.steps) = self.digits(tasks);
        self.stride = tasks;
        self.outer = self.steps.iter().skip(1).any(|step| *step > 0);
    }

    /// Begins behind so many tasks.
    pub(super) fn start(&mut self, tasks: u64) {
        (self.site, self.at) = self.digits(tasks);
        self.task = tasks;
    }

    fn digits(&self, tasks: u64) -> (u64, [u64; LEVELS]) {
        let mut digits = [0; LEVELS];
        let mut rest = tasks.checked_div(self.sites).unwrap_or(0);
        let outermost = self.count.wrapping_sub(1);
        for (level, (digit, trip)) in digits.iter_mut().zip(self.trips).enumerate().take(self.count) {
            if level == outermost {
                *digit = rest;
            } else {
                *digit = rest.checked_rem(trip).unwrap_or(0);
                rest = rest.checked_div(trip).unwrap_or(0);
            }
        }
        (tasks.checked_rem(self.sites).unwrap_or(0), digits)
    }

    /// The statement.
    #[inline]
    pub(super) fn site(&self) -> usize {
        self.site as usize
    }

    /// The iterations.
    #[inline]
    pub(super) fn at(&self) -> &[u64; LEVELS] {
        &self.at
    }

    /// How many tasks are before this one; at least [`Pace::all`] when there are no more.
    #[inline]
    pub(super) fn task(&self) -> u64 {
        self.task
    }

    /// Goes on to the next task; whether the iteration of some loop but the innermost is another.
    #[inline]
    pub(super) fn step(&mut self) -> bool {
        self.task = self.task.wrapping_add(self.stride);
        self.site = self.site.wrapping_add(self.site_step);
        let carry = self.site >= self.sites;
        if carry {
            self.site = self.site.wrapping_sub(self.sites);
        }
        let carried = if carry { self.carry_into(0) } else { 0 };
        self.at[0] = self.at[0].wrapping_add(self.steps[0]).wrapping_add(carried);
        let stays = self.at[0] < self.trips[0] && !self.outer;
        if stays || self.count == 1 { false } else { self.step_outer() }
    }

    /// What a carry adds to the iteration of a loop.
    #[inline]
    fn carry_into(&mut self, level: usize) -> u64 {
        if level.wrapping_add(1) < self.count {
            return 1;
        }
        self.task = self.task.wrapping_add(self.left_out);
        self.period
    }

    /// Goes on with the loops around the innermost, which has taken its step; whether one has another iteration.
    fn step_outer(&mut self) -> bool {
        let mut moved = false;
        for level in 1..self.count.min(LEVELS) {
            let inner = level.wrapping_sub(1);
            let mut step = self.steps[level];
            if self.at[inner] >= self.trips[inner] {
                self.at[inner] = self.at[inner].wrapping_sub(self.trips[inner]);
                step = step.wrapping_add(self.carry_into(level));
            }
            self.at[level] = self.at[level].wrapping_add(step);
            moved |= step > 0;
        }
        moved
    }
}
