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

    /// The tasks from this one on that follow each other evenly in the innermost loop, at most so many and below this
    /// task; none when tasks of several statements or iterations of outer loops take turns.
    pub(super) fn row(&self, most: u32, below: u64) -> Option<Row> {
        let innermost = self.count == 1;
        if self.sites != 1 || (self.outer && !innermost) {
            return None;
        }
        let every = self.site_step > 0;
        let carried = if !every {
            0
        } else if innermost {
            self.period
        } else {
            1
        };
        let left_out = if every && innermost { self.left_out } else { 0 };
        let (step, stride) = (self.steps[0].wrapping_add(carried), self.stride.wrapping_add(left_out));
        let here =
            self.trips[0].saturating_sub(self.at[0]).checked_add(step)?.checked_sub(1)?.checked_div(step)?;
        let ahead =
            below.saturating_sub(self.task).checked_add(stride)?.checked_sub(1)?.checked_div(stride)?;
        let count = u32::try_from(here.min(ahead)).unwrap_or(u32::MAX).min(most);
        Some(Row { count, at: self.at[0], step, task: self.task, stride })
    }

    /// Goes on by so many tasks of a row, which are all that it has or fewer; as [`Pace::step`].
    pub(super) fn step_row(&mut self, row: &Row, tasks: u32) -> bool {
        self.at[0] = row.at.wrapping_add(row.step.wrapping_mul(u64::from(tasks)));
        self.task = row.task.wrapping_add(row.stride.wrapping_mul(u64::from(tasks)));
        if self.count == 1 || self.at[0] < self.trips[0] { false } else { self.step_outer() }
    }
}

/// Tasks that follow each other evenly in the innermost loop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// How many.
    pub(super) count: u32,
    /// The first's iteration, and what is added to it from one to the next.
    pub(super) at: u64,
    pub(super) step: u64,
    /// How many tasks are before the first, and how many more before the next.
    pub(super) task: u64,
    pub(super) stride: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tasks of one statement in four iterations of the inner of two loops.
    fn pace() -> Pace {
        let mut trips = [1; LEVELS];
        trips[..2].copy_from_slice(&[4, 3]);
        Pace::new(1, trips, 2)
    }

    fn parts(row: Option<Row>) -> Option<(u32, u64, u64, u64, u64)> {
        row.map(|row| (row.count, row.at, row.step, row.task, row.stride))
    }

    #[test]
    fn a_row_is_what_is_left_of_the_innermost_loop() {
        let mut pace = pace();
        assert_eq!(parts(pace.row(9, 12)), Some((4, 0, 1, 0, 1)));
        assert_eq!(parts(pace.row(3, 12)), Some((3, 0, 1, 0, 1)));
        assert_eq!(parts(pace.row(9, 2)), Some((2, 0, 1, 0, 1)));
        pace.start(6);
        assert_eq!(parts(pace.row(9, 12)), Some((2, 2, 1, 6, 1)));
    }

    #[test]
    fn a_row_leads_to_where_its_tasks_lead() {
        let (mut one, mut all) = (pace(), pace());
        let row = all.row(9, 12).expect("tasks of one statement should be a row");
        let moved = (0..4).map(|_| one.step()).last();
        assert_eq!(Some(all.step_row(&row, 4)), moved);
        assert_eq!((all.task(), all.at()), (one.task(), one.at()));
        assert_eq!((all.task(), all.at()[0], all.at()[1]), (4, 0, 1));
    }

    #[test]
    fn tasks_of_some_iterations_of_an_outer_loop_are_no_row_and_others_are() {
        let (mut inner, mut outer) = (pace(), pace());
        inner.tasks_by(3);
        assert_eq!(parts(inner.row(9, 12)), Some((2, 0, 3, 0, 3)));
        outer.tasks_by(5);
        assert!(outer.row(9, 12).is_none());
    }

    #[test]
    fn statements_that_take_turns_are_no_row() {
        assert!(Pace::new(2, [4; LEVELS], 1).row(9, 8).is_none());
    }
}
