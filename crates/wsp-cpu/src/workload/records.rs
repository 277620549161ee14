//! Tasks of declared kernels between generation and execution.

use smallvec::SmallVec;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use wsp_core::{KernelId, Region};
use wsp_plan::workload::TaskRecord;

/// What a kernel is given, and what tells a task from others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arguments<'a> {
    pub(crate) kernel: KernelId,
    /// Values of the scalar parameters.
    pub(crate) scalars: &'a [i64],
    /// Regions of the tensor parameters.
    pub(crate) regions: &'a [Region],
    /// Indices of the loops around it, outermost first.
    pub(crate) indices: &'a [i64],
}

impl<'a> From<&TaskRecord<'a>> for Arguments<'a> {
    fn from(task: &TaskRecord<'a>) -> Arguments<'a> {
        let TaskRecord { kernel, scalars, regions, indices, .. } = *task;
        Arguments { kernel, scalars, regions, indices }
    }
}

/// A task that is kept.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Record {
    pub(crate) kernel: KernelId,
    pub(crate) scalars: SmallVec<[i64; 4]>,
    pub(crate) regions: SmallVec<[Region; 4]>,
    pub(crate) indices: SmallVec<[i64; 4]>,
}

impl Record {
    pub(crate) fn of(task: Arguments<'_>) -> Record {
        let mut record = Record::default();
        record.set(task);
        record
    }

    /// What it was made of.
    pub(crate) fn arguments(&self) -> Arguments<'_> {
        let Record { kernel, scalars, regions, indices } = self;
        Arguments { kernel: *kernel, scalars, regions, indices }
    }

    /// Becomes another task.
    fn set(&mut self, task: Arguments<'_>) {
        fn copy<T: Copy>(to: &mut SmallVec<[T; 4]>, from: &[T]) {
            to.clear();
            to.extend_from_slice(from);
        }
        self.kernel = task.kernel;
        copy(&mut self.scalars, task.scalars);
        copy(&mut self.regions, task.regions);
        copy(&mut self.indices, task.indices);
    }
}

/// Numbers that a thread takes from and gives to all at a time.
const BATCH: usize = 64;
/// Numbers that were never given out are fewer: the first task of a run waits until their records are made, half a kilobyte
/// each.
const NEW: usize = 8;
/// Chunks of records, each twice as large as the one before: enough for all numbers of 32 bits.
const CHUNKS: usize = 30;

/// Bytes of records that are kept from run to run, about 32,000 of them: a run that had more in flight makes the others anew.
const MOST_BYTES: usize = 16 << 20;
/// The chunks that are that large, together.
const KEPT: usize = (MOST_BYTES / size_of::<Mutex<Record>>() / NEW + 1).ilog2() as usize;

/// Records by number. The number of a task that has run is used again, so that memory follows the tasks in flight.
#[derive(Debug, Default)]
pub(crate) struct Records {
    /// A record is locked by who writes it before its task is submitted, and by who runs the task: never at one time.
    chunks: [OnceLock<Box<[Mutex<Record>]>>; CHUNKS],
    free: Mutex<Free>,
}

#[derive(Debug, Default)]
struct Free {
    numbers: Vec<u32>,
    /// The first number that was never given out.
    next: u32,
}

/// Free numbers that one thread has: it looks for those of all threads only when it has none, or too many.
#[derive(Debug, Default)]
pub(crate) struct Numbers(Vec<u32>);

impl Records {
    /// Whether no number was ever given out.
    pub(crate) fn is_unused(&self) -> bool {
        self.chunks[0].get().is_none()
    }

    /// Gives all numbers out anew, with the first records that there are. No thread may have any still.
    pub(crate) fn start_again(&mut self) {
        self.chunks[KEPT..].iter_mut().for_each(|chunk| drop(chunk.take()));
        *self.free.get_mut().unwrap_or_else(PoisonError::into_inner) = Free::default();
    }

    /// Keeps a task until [`release`](Self::release).
    pub(crate) fn put(&self, mine: &mut Numbers, task: Arguments<'_>) -> u32 {
        let number = mine.0.pop().unwrap_or_else(|| self.refill(&mut mine.0));
        self.record(number).set(task);
        number
    }

    /// The task with this number.
    pub(crate) fn record(&self, number: u32) -> MutexGuard<'_, Record> {
        let (chunk, at) = place(number);
        let records = self.chunks[chunk].get().expect("a number that was given out should have a record");
        // Whoever panics with a record has read it only.
        records[at].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number may be used again.
    pub(crate) fn release(&self, mine: &mut Numbers, number: u32) {
        mine.0.push(number);
        if mine.0.len() >= BATCH {
            self.lock().numbers.append(&mut mine.0);
        }
    }

    /// Takes some numbers, and returns one of them.
    #[cold]
    fn refill(&self, mine: &mut Vec<u32>) -> u32 {
        let mut free = self.lock();
        if free.numbers.is_empty() {
            let first = free.next;
            free.next = first.checked_add(NEW as u32).expect("tasks in flight should fit 32 bits");
            let (chunk, _) = place(first);
            self.chunks[chunk].get_or_init(|| (0..NEW << chunk).map(|_| Mutex::default()).collect());
            mine.extend((first + 1..free.next).rev());
            return first;
        }
        let kept = free.numbers.len().saturating_sub(BATCH);
        mine.extend(free.numbers.drain(kept..));
        mine.pop().expect("some number should be free")
    }

    fn lock(&self) -> MutexGuard<'_, Free> {
        // Nothing between lock and unlock leaves a list half changed.
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The chunk of a record, and its place there.
fn place(number: u32) -> (usize, usize) {
    let taken = number as usize / NEW + 1;
    let chunk = taken.ilog2() as usize;
    (chunk, number as usize - NEW * ((1 << chunk) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(kernel: u16, scalars: &[i64]) -> Record {
        Record { kernel: KernelId(kernel), scalars: scalars.into(), ..Record::default() }
    }

    #[test]
    fn numbers_of_tasks_that_ran_are_used_again() {
        let (records, mut mine) = (Records::default(), Numbers::default());
        let mut put = |record: &Record| records.put(&mut mine, record.arguments());
        let (a, b) = (put(&task(1, &[])), put(&task(2, &[7; 9])));
        assert_ne!(a, b);
        assert_eq!(*records.record(a), task(1, &[]));
        records.release(&mut mine, a);
        assert_eq!(records.put(&mut mine, task(3, &[1]).arguments()), a);
        assert_eq!((records.record(a).clone(), records.record(b).clone()), (task(3, &[1]), task(2, &[7; 9])));
    }

    #[test]
    fn any_number_of_tasks_is_kept_and_one_threads_numbers_come_to_another() {
        let records = Records::default();
        let (mut source, mut worker) = (Numbers::default(), Numbers::default());
        let all: Vec<u32> = (0..1000).map(|i| records.put(&mut source, task(0, &[i]).arguments())).collect();
        for (i, &number) in all.iter().enumerate() {
            assert_eq!(*records.record(number), task(0, &[i as i64]));
            records.release(&mut worker, number);
        }
        let again: Vec<u32> = (0..900).map(|i| records.put(&mut source, task(0, &[i]).arguments())).collect();
        assert!(again.iter().all(|number| *number < 1024), "no number above those of the first round");
    }

    #[test]
    fn numbers_are_given_out_anew_from_the_first_on_whatever_became_of_them() {
        let mut records = Records::default();
        for round in 0..3 {
            let mut source = Numbers::default();
            let all: Vec<u32> =
                (0..100).map(|i| records.put(&mut source, task(round, &[i]).arguments())).collect();
            assert_eq!(all, (0..100).collect::<Vec<u32>>());
            assert!((0..100).all(|i| *records.record(i) == task(round, &[i64::from(i)])));
            all[..50].iter().for_each(|number| records.release(&mut Numbers::default(), *number));
            records.start_again();
        }
    }

    #[test]
    fn a_run_leaves_16_mib_of_records_at_most() {
        let mut records = Records::default();
        let mut mine = Numbers::default();
        let many = 100_000;
        for number in 0..many {
            records.put(&mut mine, task(0, &[i64::from(number)]).arguments());
        }
        records.start_again();
        let kept: usize = records.chunks.iter().filter_map(|chunk| Some(chunk.get()?.len())).sum();
        let bytes = kept * size_of::<Mutex<Record>>();
        assert!((MOST_BYTES / 4..=MOST_BYTES).contains(&bytes), "{bytes} bytes of {kept} records");
        let mut mine = Numbers::default();
        let all: Vec<u32> =
            (0..many).map(|i| records.put(&mut mine, task(1, &[i64::from(i)]).arguments())).collect();
        assert_eq!(all, (0..many as u32).collect::<Vec<u32>>());
        assert_eq!(*records.record(99_999), task(1, &[99_999]));
    }
}
