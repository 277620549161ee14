//! Gangs, requests and partitions on the cores of a device.

use super::{check, check_with, graph, kernels, read};
use wsp_core::tg::Platform;
use wsp_ir::diag::{Diagnostic, Severity};
use wsp_plan::tg::matrix::DeviceModel;
use wsp_plan::tg::{LintOptions, lint};

/// ISA-SY-03.
#[test]
fn a_gang_fits_the_device_and_its_partition() {
    let unit = |blocks: [u32; 2], partition: &str, mark: &str| {
        format!(
            "CA_PARTITION(P, 0, 8, 0, 16)\nTG_BEGIN(0)\nTG_KERNEL(0, e, {}, AIC_AIV, 0{partition})\nTG_KERNEL(1, e, {}, AIC, 0, P)\nSY_BARRIER({{0, 1}}, 0){mark}\nTG_END(0)\n",
            blocks[0], blocks[1]
        )
    };
    check(&unit([16, 8], "", ""));
    let found = check(&unit([17, 8], "", " //! 1511"));
    assert!(found[0].notes[0].contains("25 cube cores, 34 vector cores"), "{:?}", found[0].notes);
    check(&unit([4, 4], ", P", ""));
    check(&unit([4, 5], ", P", " //! 1511"));
    let options =
        LintOptions { platform: Some(Platform::A5), device: DeviceModel::of(Platform::A5), devices: None };
    check_with(&unit([17, 8], "", ""), &kernels(), &options);
}

/// Members of a gang start together, so no edge joins two of them, also not through a third kernel.
#[test]
fn no_edge_is_proposed_that_a_gang_forbids() {
    let kernels =
        "TG_KERNEL(A, w, 1, AIV, 0)\nMC_BIND(A, 0, T)\nTG_KERNEL(C, r, 1, AIV, 0)\nMC_BIND(C, 0, T)";
    let found = check(&graph(&format!("{kernels} //! 1501\nSY_BARRIER({{A, C}}, W)")));
    assert!(!found[0].help.iter().any(|help| help.contains("TG_DEPEND")), "{:?}", found[0].help);
    assert!(found[0].help[0].contains("gang"), "{:?}", found[0].help);
    let third = "TG_KERNEL(B, e, 1, AIV, 0)\nSY_BARRIER({C, B}, W)\nTG_DEPEND(B, A)";
    let found = check(&graph(&format!("{kernels} //! 1501\n{third}")));
    assert_eq!(found[0].help, ["TG_DEPEND(C, A, AFTER)"]);
    // Behind the gang a kernel may wait for one of its members.
    let behind = "TG_KERNEL(B, e, 1, AIV, 0)\nSY_BARRIER({A, B}, W)";
    let found = check(&graph(&format!("{kernels} //! 1501\n{behind}")));
    assert_eq!(found[0].help, ["TG_DEPEND(A, C, DATA, T)"]);
}

/// ISA-CA-05.
#[test]
fn partitions_lie_in_the_device() {
    let unit = |cores: &str, mark: &str| {
        format!(
            "CA_PARTITION(P, {cores}){mark}\nTG_BEGIN(0)\nTG_KERNEL(0, e, 1, AIV, 0, P)\nTG_END(0)\nTG_LAUNCH(0, default)\n"
        )
    };
    let on = |platform: Platform, aic: u32| {
        let device = DeviceModel { aic, ..DeviceModel::of(platform) };
        LintOptions { platform: Some(platform), device, devices: None }
    };
    check(&unit("0, 24, 0, 48", ""));
    let found = check(&unit("0, 25, 0, 49", " //! 1520 1520"));
    assert!(found.iter().all(Diagnostic::is_error));
    check(&unit("24, 0, 40, 8", ""));
    check(&unit("23, 2, 47, 1", " //! 1520"));
    check_with(&unit("0, 36, 0, 72", ""), &kernels(), &on(Platform::A5, 36));
    check_with(&unit("0, 36, 0, 72", " //! 1520 1520"), &kernels(), &on(Platform::A2, 24));
    let found = check_with(&unit("0, 2, 0, 4", " //! 1520"), &kernels(), &on(Platform::A3, 1));
    assert!(found[0].help[0].contains("at most 1 cube cores"), "{:?}", found[0].help);
}

/// ISA-CA-01.
#[test]
fn requests_fit_the_device() {
    let unit = |a: &str, b: &str, edge: &str| {
        graph(&format!(
            "TG_KERNEL(A, e, 1, AIC_AIV, 0)\nTG_KERNEL(B, e, 1, AIC_AIV, 0)\nCA_REQUEST(A, {a}\nCA_REQUEST(B, {b}\n{edge}"
        ))
    };
    check(&unit("12, 24)", "12, 24)", ""));
    check(&unit("25, 24) //! 1512", "1, 49) //! 1512", ""));
    let found = check(&unit("12, 24) //! 1513", "13, 24)", ""));
    assert_eq!(found[0].severity, Severity::Note);
    check(&unit("12, 24)", "13, 24)", "TG_DEPEND(A, B)"));
}

/// ISA-SY-04: what devices do with memory that is one for all of them is apart, or in order, or not compared.
#[test]
fn bytes_that_devices_share_are_apart_or_in_order() {
    let unit = |body: &str, rest: &str| {
        format!(
            "extern T: u8[1024]\nMC_ALLOC(S, 1024, location = SHARED)\nTG_BEGIN(G)\n{body}TG_END(G)\n{rest}\n"
        )
    };
    let kernel = |name: &str, entry: &str, bytes: &str| {
        format!("TG_KERNEL({name}, {entry}, 1, AIV, 0)\nMC_BIND({name}, 0, {bytes})\n")
    };
    let launch = "TG_LAUNCH(G, default)\nTG_SYNC(G)";
    let with = |text: &str, devices: Option<u32>| {
        let options = LintOptions { devices, ..LintOptions::default() };
        let found = lint(&read(text).0, &kernels(), &options);
        let left: Vec<String> =
            found.iter().filter(|found| found.code.0 == 1519).map(|found| found.message.clone()).collect();
        assert!(left.iter().all(|message| message.contains("devices")), "{left:?}");
        left.len()
    };
    let count = |text: &str| with(text, Some(2));
    let same = unit(&kernel("A", "w", "T"), launch);
    assert_eq!(
        (
            count(&same),
            with(&same, Some(1)),
            with(&same.replace("MC_ALLOC(S", "MC_ALLOC(R").replace(", location = SHARED", ""), None)
        ),
        (1, 0, 0)
    );
    assert_eq!(with(&same, None), 1, "it has memory for several devices");
    assert_eq!(count(&unit(&kernel("A", "r", "T"), launch)), 0);
    // Bytes of its own on each device.
    assert_eq!(count(&unit(&kernel("A", "w", "T, device * 64, 64"), launch)), 0);
    assert_eq!(count(&unit(&kernel("A", "w", "T, device * 64, 65"), launch)), 1);
    let two = kernel("A", "w", "T, device * 128, 64") + &kernel("B", "w", "T, device * 128 + 64, 64");
    assert_eq!(count(&unit(&two, launch)), 0);
    assert_eq!(count(&unit(&two.replace("+ 64", "+ 96"), launch)), 1);
    let rounds = |count: u32| {
        format!("CF_LOOP({count}, i)\n{}CF_ENDLOOP\n", kernel("A", "w", "T, device * 256 + i * 64, 64"))
    };
    assert_eq!((count(&unit(&rounds(4), launch)), count(&unit(&rounds(5), launch))), (0, 1));
    // One device.
    let arm = |body: &str| format!("CF_IF(device == 1)\n{body}CF_ENDIF\n");
    assert_eq!(count(&unit(&arm(&kernel("A", "w", "T")), launch)), 0);
    assert_eq!(count(&unit(&kernel("A", "w", "T"), &arm(&format!("{launch}\n")))), 0);
    assert_eq!(count(&unit(&arm(&kernel("A", "w", "T")).replace("==", "!="), launch)), 1);
    // Notifications.
    let notified = |first: &str, second: &str, launch: &str| {
        let a = kernel("A", "w", "S");
        let b = "TG_KERNEL(B, f, 1, AIV, 0)\nMC_BIND(B, 0, S)\nMC_BIND(B, 1, T)\n";
        unit(&format!("CF_IF(device == 0)\n{a}{first}CF_ELSE\n{second}{b}CF_ENDIF\n"), launch)
    };
    let (send, wait) = ("SY_NOTIFY(1, 5)\n", "SY_WAIT_NOTIFY(0, 5)\n");
    assert_eq!(count(&notified(send, wait, launch)), 0);
    assert_eq!(
        count(&notified("SY_NOTIFY(1, 5, after = A)\n", "SY_WAIT_NOTIFY(0, 5, before = B)\n", launch)),
        0
    );
    assert_eq!(count(&notified("", "", launch)), 2);
    assert_eq!(
        count(&notified("SY_NOTIFY(1, 5)\nSY_NOTIFY(2, 5)\n", wait, launch)),
        1,
        "devices 1 and 2 write"
    );
    assert_eq!(count(&notified(send, wait, &format!("CF_LOOP(2, k)\n{launch}\nCF_ENDLOOP"))), 1);
}
