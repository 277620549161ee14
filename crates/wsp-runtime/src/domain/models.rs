//! Models of what domains share, for loom, each with faults that it finds.

use super::{CrossEdges, CrossOrder, DomainHandshake};
use crate::models::check;
use crate::sync::Fault;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;
use std::sync::Arc;
use std::time::Duration;
use wsp_core::ExecDomain::{AscendAiCore, HostCpu};
use wsp_core::TaskId;

/// Both sides wait for each other: no wait misses its signal, and each sees what was written before it.
#[test]
fn no_signal_is_missed() {
    check(&[Fault::SignalToldEarly], || {
        let shared = Arc::new((DomainHandshake::new(), AtomicU32::new(0)));
        let accelerator = {
            let shared = shared.clone();
            thread::spawn(move || {
                let (handshake, cell) = &*shared;
                handshake.wait_cpu_ready(Duration::MAX).unwrap();
                assert_eq!(cell.load(Ordering::Relaxed), 7);
                cell.store(8, Ordering::Relaxed);
                handshake.transfer_complete();
            })
        };
        let (handshake, cell) = &*shared;
        cell.store(7, Ordering::Relaxed);
        handshake.cpu_ready();
        handshake.wait_transfer_complete(Duration::MAX).unwrap();
        assert_eq!(cell.load(Ordering::Relaxed), 8);
        accelerator.join().unwrap();
        handshake.reset().unwrap();
    });
}

/// A task of the host feeds one of the device, which feeds another of the host.
#[test]
fn what_a_task_wrote_crosses_with_its_edge() {
    let models: [fn(); 2] = [|| there_and_back(CrossOrder::Edges), || there_and_back(CrossOrder::Phases)];
    for model in models {
        check(&[Fault::UnpublishedToken], model);
    }
}

fn there_and_back(order: CrossOrder) {
    let edges = [(TaskId(0), TaskId(1)), (TaskId(1), TaskId(2))];
    let cross = CrossEdges::new(&[HostCpu, AscendAiCore, HostCpu], &edges, order).unwrap();
    let shared = Arc::new((cross, AtomicU32::new(0)));
    let run = |shared: &(CrossEdges, AtomicU32), task: u32| {
        let (cross, cell) = shared;
        while !cross.may_start(TaskId(task)) {
            thread::yield_now();
        }
        assert_eq!(cell.load(Ordering::Relaxed), task, "it runs without what it reads");
        cell.store(task + 1, Ordering::Relaxed);
        cross.complete(TaskId(task));
    };
    let device = {
        let shared = shared.clone();
        thread::spawn(move || run(&shared, 1))
    };
    run(&shared, 0);
    run(&shared, 2);
    device.join().unwrap();
}
