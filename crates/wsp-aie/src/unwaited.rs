//! Transfers into the memory of the host that no wait has told the end of.

use crate::codes;
use crate::design::Move;
use crate::mlir::{Module, Value};
use wsp_diag::Diagnostic;

/// One of them.
#[derive(Clone, Debug)]
pub(crate) struct Transfer<K> {
    /// What it is of: transfers of one end one after the other, in the order of their start.
    pub(crate) of: K,
    /// What is written of it.
    pub(crate) transfer: Move,
    /// It tells its end.
    pub(crate) token: bool,
    /// Waits of its end stand behind it, which were for transfers before it.
    pub(crate) has_wait: bool,
}

impl<K> Transfer<K> {
    /// The finding that a sequence ends before it is done.
    pub(crate) fn diagnostic(&self, module: &Module, sequence: &str) -> Diagnostic {
        let Move { symbol, array, task, span, .. } = &self.transfer;
        let of = symbol.as_ref().map_or("a channel".to_owned(), |name| format!("`@{name}`"));
        let (no, one) = if self.has_wait { ("no other", "one more ") } else { ("no", "") };
        let message = format!(
            "sequence `@{sequence}` ends, and {no} wait tells that the transfer of {of} into `{}` is done",
            module.name(*array)
        );
        let wait = match (task, symbol) {
            (Some(task), _) => {
                let name = module.name(*task);
                format!(
                    "give `%{name}` `issue_token = true`, and write `aiex.dma_await_task(%{name})` behind its start"
                )
            }
            (None, Some(name)) => format!("write {one}`aiex.npu.dma_wait {{symbol = @{name}}}` behind it"),
            (None, None) => "wait for it".to_owned(),
        };
        Diagnostic::error(codes::UNWAITED, message)
            .at(*span, "")
            .note("the host may read the array before its elements are there")
            .help(wait)
    }
}

/// Those that were started, in that order.
#[derive(Debug)]
pub(crate) struct Unwaited<K>(Vec<Transfer<K>>);

impl<K> Default for Unwaited<K> {
    fn default() -> Unwaited<K> {
        Unwaited(Vec::new())
    }
}

impl<K: PartialEq + Clone> Unwaited<K> {
    /// A transfer of an end is started, which tells its end or does not.
    pub(crate) fn start(&mut self, of: K, transfer: Move, token: bool) {
        self.0.push(Transfer { of, transfer, token, has_wait: false });
    }

    /// A wait for a transfer of an end: the first that tells its end is done.
    pub(crate) fn wait(&mut self, of: &K) {
        let first = self.0.iter().position(|transfer| transfer.token && transfer.of == *of);
        self.done(first);
    }

    /// A wait for a task: all that it started is done.
    pub(crate) fn await_task(&mut self, task: Value) {
        let last = self.0.iter().rposition(|transfer| transfer.transfer.task == Some(task));
        self.done(last);
    }

    /// With a transfer those before it are done.
    fn done(&mut self, last: Option<usize>) {
        let Some(last) = last else { return };
        let of = self.0[last].of.clone();
        let mut at = 0..;
        self.0.retain(|transfer| at.next().is_some_and(|at| at > last) || transfer.of != of);
        self.0.iter_mut().filter(|transfer| transfer.of == of).for_each(|later| later.has_wait = true);
    }

    /// What is left.
    pub(crate) fn left(&self) -> &[Transfer<K>] {
        &self.0
    }
}
