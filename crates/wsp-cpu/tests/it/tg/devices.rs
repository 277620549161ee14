//! Several simulated devices.

use super::common::{all, inputs, refusal, session, values};
use wsp_cpu::tg::SessionOptions;
use wsp_runtime::tg::RuntimeConfig;

fn devices(count: u32) -> SessionOptions {
    let runtime = RuntimeConfig { threads: 2, devices: count, ..RuntimeConfig::default() };
    SessionOptions { runtime, ..SessionOptions::default() }
}

/// ISA-SY-04, ISA-SY-05: what a device writes to shared memory, another reads after the notification.
#[test]
fn a_device_waits_for_the_notification_of_another() {
    let text = "extern X: i64[8]\nextern Y: i64[8]\nMC_ALLOC(S, 64, location = SHARED)\nTG_BEGIN(G)\nCF_IF(device == 1)\nTG_KERNEL(A, double, 4, AIV, 0)\nMC_BIND(A, 0, X)\nMC_BIND(A, 1, S)\nSY_NOTIFY(0, READY, after = A)\nCF_ELSE\nSY_WAIT_NOTIFY(1, READY, before = B)\nTG_KERNEL(B, double, 4, AIV, 0)\nMC_BIND(B, 0, S)\nMC_BIND(B, 1, Y)\nCF_ENDIF\nTG_END(G)\nTG_LAUNCH(G, default)\nTG_SYNC(G)";
    for _ in 0..20 {
        let given = inputs(&[("X", &[1, 2, 3, 4, 5, 6, 7, 8])]);
        let mut session = session(text, SessionOptions { inputs: given, ..devices(2) });
        session.run().unwrap_or_else(|faults| panic!("{}", all(&faults)));
        assert_eq!(values(&session, "Y"), [4, 8, 12, 16, 20, 24, 28, 32]);
    }
}

/// Each device runs the whole unit, with memory of its own; external tensors are one for all.
#[test]
fn every_device_runs_the_unit_with_its_own_number() {
    let text = "extern Y: i64[6]\nMC_ALLOC(T, 8)\nTG_BEGIN(G)\nTG_KERNEL(A, inc, 1, AIV, 0)\nMC_BIND(A, 0, T)\nTG_KERNEL(B, copy, 1, AIV, 0)\nMC_BIND(B, 0, T)\nMC_BIND(B, 1, Y, (2 * device + iteration - 1) * 8, 8)\nTG_DEPEND(A, B, DATA)\nTG_END(G)\nCF_IF(device != 1)\nTG_INVOKE(G, 1)\nCF_ENDIF\nTG_INVOKE(G, 2)\nTG_SYNC(G)";
    let mut session = session(text, devices(3));
    session.run().unwrap_or_else(|faults| panic!("{}", all(&faults)));
    assert_eq!(values(&session, "Y"), [1, 2, 0, 1, 1, 2]);
}

/// Hosts take turns: the first waits for what the second launches after a wait of its own.
#[test]
fn a_host_that_waits_does_not_keep_the_others_from_launching() {
    let text = "extern Y: i64[4]\nMC_ALLOC(S, 32, location = SHARED)\nTG_BEGIN(W)\nTG_KERNEL(A, one, 1, AIV, 0)\nMC_BIND(A, 0, S)\nSY_NOTIFY(0, READY)\nTG_END(W)\nTG_BEGIN(N)\nTG_KERNEL(A, iteration, 1, AIV, 0)\nMC_BIND(A, 0, U)\nMC_ALLOC(U, 8)\nTG_END(N)\nTG_BEGIN(R)\nSY_WAIT_NOTIFY(1, READY)\nTG_KERNEL(B, double, 1, AIV, 0)\nMC_BIND(B, 0, S)\nMC_BIND(B, 1, Y)\nTG_END(R)\nCF_IF(device == 0)\nTG_LAUNCH(R, default)\nTG_SYNC(R)\nCF_ELSE\nTG_LAUNCH(N, default)\nTG_SYNC(N)\nTG_LAUNCH(W, default)\nTG_SYNC(W)\nCF_ENDIF";
    let mut session = session(text, devices(2));
    session.run().unwrap_or_else(|faults| panic!("{}", all(&faults)));
    assert_eq!(values(&session, "Y"), [2; 4]);
}

/// ISA-SY-06.
#[test]
fn a_notification_that_nobody_sends_is_reported() {
    let text = "extern Y: i64[4]\nTG_BEGIN(R)\nSY_WAIT_NOTIFY(1, READY)\nTG_KERNEL(B, one, 1, AIV, 0)\nMC_BIND(B, 0, Y)\nTG_END(R)\nTG_BEGIN(W)\nTG_KERNEL(A, one, 1, AIV, 0)\nMC_BIND(A, 0, T)\nMC_ALLOC(T, 8)\nSY_NOTIFY(0, READY)\nTG_END(W)\nCF_IF(device == 0)\nTG_LAUNCH(R, default)\nTG_SYNC(R)\nCF_ENDIF";
    let said = all(&refusal(text, devices(2)));
    assert!(said.contains("WSP1515"), "{said}");
    // Where memory says whether it is sent, only a run knows.
    let text =
        text.replace("CF_ENDIF", "CF_ELSE\nCF_IF(load(Y) == 7)\nTG_LAUNCH(W, default)\nCF_ENDIF\nCF_ENDIF");
    let said = all(&session(&text, devices(2)).run().expect_err("device 1 sends nothing"));
    assert!(said.contains("WSP1555"), "{said}");
}
