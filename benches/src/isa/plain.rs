//! The least that the measured work takes: loops written by hand.

use super::super::runtime::pattern::Pattern;
use std::hint::black_box;

/// One pass over a text that tells words, numbers and lines apart, and does nothing with them; gives how many there are.
pub(super) fn words(text: &str) -> u64 {
    let mut count = 0;
    let mut inside = false;
    for &byte in text.as_bytes() {
        let is_word = byte.is_ascii_alphanumeric() || byte == b'_';
        count += u64::from(is_word && !inside) + u64::from(byte == b'\n');
        inside = is_word;
    }
    count
}

/// A graph as arrays, with a queue of ready tasks.
#[derive(Clone, Debug)]
pub(super) struct Counts {
    /// Predecessors of each task.
    before: Vec<u32>,
    /// Successors of task i are `after[first[i]..first[i + 1]]`.
    first: Vec<u32>,
    after: Vec<u32>,
    waiting: Vec<u32>,
    ready: Vec<u32>,
}

impl Counts {
    /// The graph of a pattern.
    pub(super) fn of(pattern: &impl Pattern) -> Counts {
        let tasks = pattern.tasks() as usize;
        let mut lists = vec![Vec::new(); tasks];
        let mut before = vec![0; tasks];
        for task in 0..pattern.tasks() {
            pattern.predecessors(task, |p| {
                lists[p as usize].push(task);
                before[task as usize] += 1;
            });
        }
        let mut first = vec![0];
        for list in &lists {
            first.push(first.last().copied().unwrap_or(0) + list.len() as u32);
        }
        Counts { before, first, after: lists.concat(), waiting: vec![0; tasks], ready: vec![0; tasks] }
    }

    /// Runs the graph; `body` is called through a pointer, as kernels are.
    #[inline(never)]
    pub(super) fn run(&mut self, body: &dyn Fn(u32)) {
        self.waiting.copy_from_slice(&self.before);
        let (mut head, mut tail) = (0, 0);
        for (task, &count) in self.before.iter().enumerate() {
            if count == 0 {
                self.ready[tail] = task as u32;
                tail += 1;
            }
        }
        while head < tail {
            let task = self.ready[head];
            head += 1;
            black_box(body)(task);
            let range = self.first[task as usize] as usize..self.first[task as usize + 1] as usize;
            for &next in &self.after[range] {
                let left = &mut self.waiting[next as usize];
                *left -= 1;
                if *left == 0 {
                    self.ready[tail] = next;
                    tail += 1;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::pattern::{Chain, Wavefront};
    use std::cell::RefCell;

    #[test]
    fn the_loop_runs_each_task_after_its_predecessors() {
        let order = RefCell::new(Vec::new());
        let mut counts = Counts::of(&Wavefront::new(16));
        for _ in 0..2 {
            order.borrow_mut().clear();
            counts.run(&|task| order.borrow_mut().push(task));
            let place = |task| order.borrow().iter().position(|&t| t == task).unwrap();
            assert_eq!(order.borrow().len(), 16);
            assert!((0..12).all(|task| place(task) < place(task + 4)));
        }
        Counts::of(&Chain(0)).run(&|_| panic!("there is no task"));
    }

    #[test]
    fn words_and_lines_are_counted() {
        assert_eq!(words("A(b, 12)\n c_1\n"), 4 + 2);
    }
}
