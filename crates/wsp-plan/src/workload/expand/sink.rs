//! Sinks of all types behind one: what expands is compiled once, and not for each of them. A call through a table per task is little beside what a
//! sink does with it.

use super::{ExpandError, ExpandStats, TaskRecord, TaskSink};
use wsp_core::SlotId;

/// A sink whose error waits.
pub(crate) type Sink<'s> = dyn TaskSink<Error = Refused> + 's;

/// The sink takes no more; [`Behind`] knows why.
pub(crate) struct Refused;

/// A sink of one type.
pub(crate) struct Behind<'s, S: TaskSink> {
    sink: &'s mut S,
    why: Option<S::Error>,
}

impl<'s, S: TaskSink> Behind<'s, S> {
    /// What an expansion with this sink gives.
    pub(crate) fn expanded(
        sink: &'s mut S,
        expand: impl FnOnce(&mut Sink<'_>) -> Result<ExpandStats, ExpandError<Refused>>,
    ) -> Result<ExpandStats, ExpandError<S::Error>> {
        let mut behind = Behind { sink, why: None };
        expand(&mut behind).map_err(|error| match (error, behind.why) {
            (ExpandError::Sink(Refused), Some(why)) => ExpandError::Sink(why),
            (ExpandError::Fault(fault), _) => ExpandError::Fault(fault),
            (ExpandError::Cancelled, _) => ExpandError::Cancelled,
            (ExpandError::Sink(Refused), None) => unreachable!("what refuses should have kept its reason"),
        })
    }

    /// The same, of which the reason is not asked for.
    pub(crate) fn driven<T>(sink: &'s mut S, drive: impl FnOnce(&mut Sink<'_>) -> T) -> T {
        drive(&mut Behind { sink, why: None })
    }

    fn kept<T>(&mut self, told: Result<T, S::Error>) -> Result<T, Refused> {
        told.map_err(|why| {
            self.why = Some(why);
            Refused
        })
    }
}

impl<S: TaskSink> TaskSink for Behind<'_, S> {
    type Error = Refused;

    fn task(&mut self, task: &TaskRecord<'_>) -> Result<(), Refused> {
        let told = self.sink.task(task);
        self.kept(told)
    }

    fn ordered_begin(&mut self) -> Result<(), Refused> {
        let told = self.sink.ordered_begin();
        self.kept(told)
    }

    fn ordered_step(&mut self) -> Result<(), Refused> {
        let told = self.sink.ordered_step();
        self.kept(told)
    }

    fn ordered_end(&mut self) -> Result<(), Refused> {
        let told = self.sink.ordered_end();
        self.kept(told)
    }

    fn slot(&mut self, slot: SlotId) -> Result<i64, Refused> {
        let told = self.sink.slot(slot);
        self.kept(told)
    }

    fn cancelled(&self) -> bool {
        self.sink.cancelled()
    }
}
