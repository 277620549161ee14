//! Generation: tasks are submitted, the window makes the source wait, the run starts.

use super::engine::Engine;
use super::graph::Node;
use super::outcome::SimOverflow;
use super::source::Source;
use crate::{Start, Stopped, WindowMode};
use wsp_core::{TaskId, WhyLate};

impl Engine<'_> {
    /// Submits what can be submitted now.
    pub(super) fn generate(&mut self) -> Result<(), Stopped> {
        self.source.due = None;
        while let Some(node) = self.graph.nodes.get(self.source.next as usize) {
            let id = self.source.next;
            if let Node::Point(_) = node {
                self.source.next += 1;
                self.submit(id, self.generated());
                continue;
            }
            let due = self.source.clock.checked_add(self.source.generation_cycles);
            let due = due.ok_or(Stopped::TooLong(TaskId(id)))?;
            if due > self.now {
                self.source.due = Some(due);
                return Ok(());
            }
            if self.source.active >= self.source.capacity {
                return self.block(TaskId(id));
            }
            self.unblock(TaskId(id));
            self.submit_task(id);
        }
        self.out.generation_end = self.source.clock;
        self.open_since.get_or_insert(self.now);
        Ok(())
    }

    fn submit_task(&mut self, id: u32) {
        let source = &mut self.source;
        source.next += 1;
        source.tasks += 1;
        source.clock = self.now;
        source.active += 1;
        self.out.max_in_flight = self.out.max_in_flight.max(source.active);
        let starts = match source.start {
            Start::AfterOrchestration => false,
            Start::Immediate => true,
            Start::Threshold(tasks) => source.tasks >= tasks,
        };
        if starts {
            self.open_since.get_or_insert(self.now);
        }
        self.submit(id, self.generated());
    }

    /// Why a node that is ready when submitted now is not earlier.
    fn generated(&self) -> WhyLate {
        match self.source.resumed {
            Some((at, task)) if at == self.now => WhyLate::Window { held_by: TaskId(task) },
            resumed => WhyLate::Generation { resumed_by: resumed.map(|(_, task)| TaskId(task)) },
        }
    }

    /// The window is full. A run that has not started does so now, because nothing else can make room.
    fn block(&mut self, task: TaskId) -> Result<(), Stopped> {
        let &Source { mode, capacity, active, .. } = &self.source;
        if mode == WindowMode::Abort {
            return Err(Stopped::WindowOverflow { capacity, active, task });
        }
        if self.source.blocked_since.is_none() {
            self.source.blocked_since = Some(self.now);
            self.out.window_stalls += 1;
        }
        if self.open_since.is_none() {
            self.open_since = Some(self.now);
            self.out.forced_start = Some(self.now);
        }
        Ok(())
    }

    /// There is room in the window.
    fn unblock(&mut self, task: TaskId) {
        let Some(since) = self.source.blocked_since.take() else { return };
        let waited = self.now - since;
        self.source.resumed = Some((self.now, self.source.freed_by));
        self.out.stalled_cycles += waited;
        if self.source.mode == WindowMode::Benchmark {
            self.out.overflows.push(SimOverflow { task, waited, high_water: self.out.max_in_flight });
        }
    }
}
