//! Gangs, requests and partitions on the cores of a device.

use super::{check, check_with, graph, kernels, read};
use wsp_core::tg::Platform;
use wsp_diag::{Diagnostic, Severity};
use wsp_plan::Target;
use wsp_plan::target::DeviceModel;
use wsp_tg::{LintOptions, lint};

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
    let options = LintOptions {
        platform: Some(Platform::A5),
        device: Target::of(Platform::A5).device(),
        devices: None,
    };
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

/// ISA-SY-03: members that an arm skips do not wait for each other.
#[test]
fn a_gang_in_an_arm_orders_what_stands_in_the_arm() {
    let kernel = |name: &str| format!("TG_KERNEL({name}, e, 1, AIV, 0)\n");
    let user = "TG_KERNEL(Q, r, 1, AIV, 0)\nMC_BIND(Q, 0, T)\nTG_DEPEND(S, Q)\n";
    let races = |body: &str| {
        let text = format!(
            "arg a: i64\nextern T: u8[64]\nextern L: i64[8]\nTG_BEGIN(G)\nTG_KERNEL(P, w, 1, AIV, 0)\nMC_BIND(P, 0, T)\n{body}TG_END(G)\nTG_LAUNCH(G, default)\n"
        );
        super::findings(&text).iter().any(|found| matches!(found.code.0, 1501 | 1522))
    };
    let both = format!("{}{}TG_DEPEND(P, W)\nSY_BARRIER({{W, S}}, R)\n", kernel("W"), kernel("S"));
    assert!(!races(&format!("{both}{user}")));
    for condition in ["a == 1", "load(L, 0, i64)", "0"] {
        assert!(races(&format!("CF_IF({condition})\n{both}CF_ENDIF\n{user}")), "{condition}");
        assert!(!races(&format!("CF_IF({condition})\n{both}{user}CF_ENDIF\n")), "{condition}");
    }
}

/// ISA-SY-03: an arm orders what stands outside of it where it surely runs.
#[test]
fn a_gang_in_an_arm_that_surely_runs_orders_what_stands_outside() {
    let races = |arm: &str, user: &str, scalars: &[Option<i64>]| {
        let [user, end] = if user.is_empty() {
            [String::new(), String::new()]
        } else {
            [format!("CF_IF({user})\n"), "CF_ENDIF\n".to_owned()]
        };
        let text = format!(
            "arg n: i64\nextern T: u8[64]\nextern L: i64[8]\nTG_BEGIN(G)\nTG_KERNEL(P, w, 1, AIV, 0)\nMC_BIND(P, 0, T)\n\
             CF_IF({arm})\nTG_KERNEL(W, e, 1, AIV, 0)\nTG_KERNEL(S, e, 1, AIV, 0)\nTG_DEPEND(P, W)\nSY_BARRIER({{W, S}}, R)\nCF_ENDIF\n\
             {user}TG_KERNEL(Q, r, 1, AIV, 0)\nMC_BIND(Q, 0, T)\nTG_DEPEND(S, Q)\n{end}TG_END(G)\nTG_LAUNCH(G, default)\n"
        );
        super::findings_with(&text, scalars).iter().any(|found| matches!(found.code.0, 1501 | 1522))
    };
    let [open, one] = [None, Some(1)];
    assert!(!races("1", "", &[open]) && races("0", "", &[open]));
    assert!(!races("n", "", &[one]) && races("n", "", &[open]) && races("n", "", &[Some(0)]));
    assert!(!races("n", "n", &[open]) && !races("n > 0", "n == 3", &[open]));
    assert!(races("n == 3", "n > 0", &[open]) && races("load(L, 0, i64)", "load(L, 0, i64)", &[open]));
}

/// ISA-SY-03: gangs in arms that run together wait for each other, through a loop and the order of the text of two waits; in arms of which one runs they do not.
#[test]
fn gangs_in_arms_that_run_together_do_not_wait_for_each_other() {
    let kernel = |name: &str| format!("TG_KERNEL({name}, e, 1, AIV, 0)\n");
    let found = |first: &str, second: &str, scalars: &[Option<i64>]| {
        let text = format!(
            "arg n: i64\narg m: i64\nextern L: i64[8]\nTG_BEGIN(G)\nCF_IF(device == 0)\nCF_LOOP(2, i, SEQUENTIAL)\nSY_WAIT_NOTIFY(1, N)\n{}CF_ENDLOOP\n\
             {first}SY_WAIT_NOTIFY(1, N, before = K4)\n{}{}SY_BARRIER({{K4, K5}}, S)\n{second}{}{}SY_BARRIER({{K0, K1}}, R)\nCF_ENDIF\n\
             TG_DEPEND(K1, K2)\nTG_DEPEND(K5, K0)\nCF_ELSE\n{}CF_ENDIF\nTG_END(G)\nTG_LAUNCH(G, default)\n",
            kernel("K2"),
            kernel("K4"),
            kernel("K5"),
            kernel("K0"),
            kernel("K1"),
            "SY_NOTIFY(0, N)\n".repeat(3),
        );
        let found = super::findings_with(&text, scalars);
        found.into_iter().filter(|found| found.code.0 == 1515).map(|found| found.severity).collect::<Vec<_>>()
    };
    let (open, one) = (&[None, None], &[Some(1), Some(1)]);
    let both =
        |first: &str, second: &str| (format!("CF_IF({first})\n"), format!("CF_ENDIF\nCF_IF({second})\n"));
    for (first, second) in [("n", "m"), ("n", "n"), ("n > 0", "n == 2"), ("load(L, 0, i64)", "n")] {
        let (first, second) = both(first, second);
        assert_eq!(found(&first, &second, open), [Severity::Note], "{first}{second}");
    }
    let (first, second) = both("m", "n");
    assert_eq!(found(&first, &second, one), [Severity::Error]);
    assert_eq!(found(&first, &second, &[Some(1), Some(0)]), []);
    let (first, second) = both("n == 1", "n > 1");
    assert_eq!(found(&first, &second, open), []);
    assert_eq!(found("CF_IF(load(L, 0, i64))\n", "CF_ELSE\n", open), []);
}

/// ISA-SY-03: an edge to a member in the other arm holds nothing up that runs.
#[test]
fn gangs_in_both_arms_of_a_condition_are_in_no_cycle() {
    let pair = |a: &str, b: &str| {
        format!("TG_KERNEL({a}, e, 1, AIV, 0)\nTG_KERNEL({b}, e, 1, AIV, 0)\nSY_BARRIER({{{a}, {b}}}, {a})\n")
    };
    let unit = |between: &str| {
        format!(
            "arg n: i64\nTG_BEGIN(G)\nCF_IF(n)\n{}{between}\n{}CF_ENDIF\nTG_DEPEND(A, C)\nTG_DEPEND(D, B)\nTG_END(G)\nTG_LAUNCH(G, default)\n",
            pair("A", "B"),
            pair("C", "D")
        )
    };
    let codes = |text: &str| super::findings(text).iter().map(|found| found.code.0).collect::<Vec<_>>();
    assert_eq!(codes(&unit("CF_ELSE")), [0u16; 0]);
    assert_eq!(codes(&unit("")), [1500]);
}

/// ISA-SY-03: gangs in arms that only values exclude may run: that is known with the values.
#[test]
fn gangs_in_arms_that_values_exclude_wait_for_each_other_only_where_both_run() {
    let pair = |a: &str, b: &str| {
        format!("TG_KERNEL({a}, e, 1, AIV, 0)\nTG_KERNEL({b}, e, 1, AIV, 0)\nSY_BARRIER({{{a}, {b}}}, {a})\n")
    };
    let found = |first: &str, second: &str, scalars: [i64; 2]| {
        let text = format!(
            "arg n: i64\narg m: i64\nTG_BEGIN(G)\nCF_IF({first})\n{}CF_ENDIF\nCF_IF({second})\n{}CF_ENDIF\nTG_DEPEND(A, C)\nTG_DEPEND(D, B)\nTG_END(G)\nTG_LAUNCH(G, default)\n",
            pair("A", "B"),
            pair("C", "D")
        );
        [vec![None, None], scalars.map(Some).to_vec()].map(|scalars| {
            let found = super::findings_with(&text, &scalars);
            found.iter().map(|found| (found.code.0, found.severity)).collect::<Vec<_>>()
        })
    };
    let (note, error) = (vec![(1515, Severity::Note)], vec![(1515, Severity::Error)]);
    assert_eq!(found("n > 0", "n <= 0", [1, 0]), [vec![], vec![]]);
    assert_eq!(found("n == 1", "m == 1", [1, 0]), [note.clone(), vec![]]);
    assert_eq!(found("n == 1", "m == 1", [1, 1]), [note, error]);
}

/// ISA-SY-03: a gang orders what stands outside of its arm in launches in which the arm runs, which the iterations of the host and values of scalars say.
#[test]
fn a_gang_in_an_arm_orders_what_stands_outside_where_the_arm_runs() {
    let found = |condition: &str, host: &str, scalars: &[Option<i64>]| {
        let text = format!(
            "arg n: i64\nextern T: u8[64]\nTG_BEGIN(G)\nTG_KERNEL(P, w, 1, AIV, 0)\nMC_BIND(P, 0, T)\nCF_IF({condition})\nTG_KERNEL(W, e, 1, AIV, 0)\nTG_KERNEL(S, e, 1, AIV, 0)\nCF_ENDIF\n\
             TG_KERNEL(Q, r, 1, AIV, 0)\nMC_BIND(Q, 0, T)\nTG_DEPEND(P, W, DATA)\nTG_DEPEND(S, Q, DATA)\nSY_BARRIER({{W, S}}, R)\nTG_END(G)\n{host}\n"
        );
        let checked =
            wsp_tg::check(&super::read(&text).0, &super::kernels(), &LintOptions::default(), scalars);
        let codes: Vec<u16> = checked.findings.iter().map(|found| found.code.0).collect();
        (codes, checked.open.len())
    };
    let open = &[None];
    // What a caller launches is compared when that runs.
    assert_eq!(found("iteration == 0", "TG_INVOKE(G, 0)", open), (vec![], 1));
    assert_eq!(found("iteration == 0", "CF_LOOP(2, i)\nTG_INVOKE(G, i)\nCF_ENDLOOP", open).0, [1501]);
    assert_eq!(found("n == 1", "TG_LAUNCH(G, default)", open), (vec![1522], 1));
    assert_eq!(found("n == 1", "TG_LAUNCH(G, default)", &[Some(1)]), (vec![], 0));
    assert_eq!(found("n == 1", "TG_LAUNCH(G, default)", &[Some(0)]).0, [1501]);
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
        let device = DeviceModel { aic, ..Target::of(platform).device() };
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
        let left: Vec<String> = found
            .iter()
            .filter(|found| matches!(found.code.0, 1519 | 1521))
            .map(|found| found.message.clone())
            .collect();
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
    let others = unit(&arm(&kernel("A", "w", "T")).replace("==", "!="), launch);
    assert_eq!([2, 3].map(|devices| with(&others, Some(devices))), [0, 1]);
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
    assert_eq!([2, 3].map(|devices| with(&notified("", "", launch), Some(devices))), [1, 2]);
    assert_eq!(
        with(&notified("SY_NOTIFY(1, 5)\nSY_NOTIFY(2, 5)\n", wait, launch), Some(3)),
        1,
        "devices 1 and 2 write"
    );
    assert_eq!(count(&notified(send, wait, &format!("CF_LOOP(2, k)\n{launch}\nCF_ENDLOOP"))), 1);
}

/// ISA-SY-04, ISA-CF-01: what a condition or a count of a graph loads on a device is compared with what others write.
#[test]
fn what_conditions_load_is_compared_between_devices() {
    let found = |first: &str, second: &str, open: &str, close: &str| {
        let text = format!(
            "extern R: i32[16]\nextern S: i32[16]\nextern T: u8[1024]\nTG_BEGIN(G)\nCF_IF(device == 0)\nTG_KERNEL(A, w, 1, AIV, 0)\nMC_BIND(A, 0, S)\n{first}CF_ELSE\n{second}{open}TG_KERNEL(B, w, 1, AIV, 0)\nMC_BIND(B, 0, T, device * 64, 64)\n{close}CF_ENDIF\nTG_END(G)\nTG_LAUNCH(G, default)\n"
        );
        let found =
            lint(&read(&text).0, &kernels(), &LintOptions { devices: Some(2), ..LintOptions::default() });
        found
            .into_iter()
            .filter(|found| matches!(found.code.0, 1519 | 1521))
            .map(|found| found.severity)
            .collect::<Vec<_>>()
    };
    for (open, close) in [("CF_IF(load(S, 4))\n", "CF_ENDIF\n"), ("CF_LOOP(load(S, 4), i)\n", "CF_ENDLOOP\n")]
    {
        assert_eq!(found("", "", open, close), [Severity::Error], "{open}");
        let (send, wait) = ("SY_NOTIFY(1, 5)\n", "SY_WAIT_NOTIFY(0, 5)\n");
        assert_eq!(found(send, wait, open, close), [], "{open}");
    }
    // Whether it loads is not known, or it may wait until the other device has written.
    for (open, close) in [
        ("CF_IF(load(R) && load(S, 4))\n", "CF_ENDIF\n"),
        ("CF_WHILE(load(S, 4), 9)\n", "CF_ENDWHILE\n"),
        ("CF_LOOP(9, i)\nCF_BREAK(load(S, 4))\n", "CF_ENDLOOP\n"),
        ("CF_LOOP(9, i)\nCF_IF(load(S, 4))\nCF_BREAK(i == 1)\nCF_ENDIF\n", "CF_ENDLOOP\n"),
    ] {
        assert_eq!(found("", "", open, close), [Severity::Warning], "{open}");
    }
    assert_eq!(
        found("", "", "CF_LOOP(9, i)\nCF_IF(load(S, 4))\n", "CF_ENDIF\nCF_ENDLOOP\n"),
        [Severity::Error]
    );
    assert_eq!(found("", "", "", ""), []);
}

/// ISA-SY-04: what two devices surely do to the same bytes in no order is an error, what the numbers of the devices keep apart is none, and the rest
/// is a warning.
#[test]
fn devices_are_compared_one_by_one() {
    let unit = |body: &str, host: &str| format!("extern T: u8[1024]\nTG_BEGIN(G)\n{body}TG_END(G)\n{host}\n");
    let kernel = |bytes: &str| format!("TG_KERNEL(A, w, 1, AIV, 0)\nMC_BIND(A, 0, T{bytes})\n");
    let launch = "TG_LAUNCH(G, default)";
    let with = |text: &str, devices: Option<u32>| {
        let options = LintOptions { devices, ..LintOptions::default() };
        let found = lint(&read(text).0, &kernels(), &options);
        let found: Vec<&Diagnostic> =
            found.iter().filter(|found| matches!(found.code.0, 1519 | 1521)).collect();
        assert!(found.iter().all(|found| !found.help.is_empty()) && found.len() < 2, "{found:#?}");
        found.first().map(|found| (found.code.0, found.severity))
    };
    let (sure, maybe) = (Some((1521, Severity::Error)), Some((1519, Severity::Warning)));
    let all = unit(&kernel(""), launch);
    assert_eq!([1, 2, 3].map(|devices| with(&all, Some(devices))), [None, sure, sure]);
    assert_eq!(with(&unit(&kernel(""), ""), Some(2)), sure, "each graph is launched once");
    assert_eq!(with(&all, None), None, "nothing says that it is for several");
    let by_device = unit(&kernel(", device % 2 * 0"), launch);
    assert_eq!(with(&by_device, None), Some((1521, Severity::Warning)), "one device may run it");
    assert_eq!([1, 2].map(|devices| with(&by_device, Some(devices))), [None, sure]);
    // Bytes that only some devices have in common.
    let halves = unit(&kernel(", (device % 2) * 512, 512"), launch);
    assert_eq!([2, 3].map(|devices| with(&halves, Some(devices))), [None, sure]);
    let rest = unit(&kernel(", (devices - 1 - device) * 256, 300"), launch);
    assert_eq!(with(&rest, Some(2)), sure);
    assert_eq!(with(&rest.replace("300", "256"), Some(4)), None);
    // Conditions of the graph and of the host.
    let arm = |condition: &str, body: &str| format!("CF_IF({condition})\n{body}\nCF_ENDIF\n");
    for (condition, expected) in [
        ("device == 1", [None, None]),
        ("device != 0", [None, sure]),
        ("device > 1", [None, None]),
        ("device < devices - 1", [None, sure]),
        ("device != 0 && iteration == 1", [None, None]),
    ] {
        let texts = [unit(&arm(condition, &kernel("")), launch), unit(&kernel(""), &arm(condition, launch))];
        for text in texts.iter().filter(|_| !condition.contains("iteration")).chain(texts.first()) {
            assert_eq!([2, 3].map(|devices| with(text, Some(devices))), expected, "{text}");
        }
    }
    let text = format!("arg N: i64\n{}", unit(&arm("N", &kernel("")), launch));
    assert_eq!(with(&text, Some(2)), maybe);
    // Rounds, of which each device does all.
    let rounds = |bytes: &str, count: &str| {
        unit(&format!("CF_LOOP({count}, i)\n{}CF_ENDLOOP\n", kernel(bytes)), launch)
    };
    assert_eq!(with(&rounds(", i * 64, 64", "4"), Some(2)), sure);
    assert_eq!(with(&rounds(", (device % 2) * 64 + i * 64, 64", "4"), Some(2)), sure);
    assert_eq!(with(&rounds(", (device + i * (device == 2)) % 4 * 64, 64", "3"), Some(2)), None);
    assert_eq!(with(&rounds(", (device + i * (device == 2)) % 4 * 64, 64", "3"), Some(3)), sure);
    assert_eq!(with(&rounds(", (device % 2) * 64 + i * 64, 64", "load(T)"), Some(2)), maybe);
    assert_eq!(with(&rounds(", (device % 2) * 256 + i * 64, 64", "4"), Some(2)), None);
    let invoke = |g: &str| unit(&kernel(g), "CF_LOOP(3, i)\nTG_INVOKE(G, i)\nCF_ENDLOOP");
    assert_eq!(with(&invoke(", iteration * 64, 64"), Some(2)), sure);
    assert_eq!(with(&invoke(", (iteration * 2 + device) * 64, 64"), Some(2)), None);
    assert_eq!(with(&invoke(", (iteration * 2 + device) * 64, 64"), Some(3)), sure);
    // The text does not say what a kernel does, and a wait that holds nothing back orders nothing.
    let unknown = kernel("").replace(", w,", ", other,");
    assert_eq!(with(&unit(&unknown, launch), Some(2)), maybe);
    let waits = unit(&format!("{}SY_NOTIFY(1, 5)\nSY_WAIT_NOTIFY(0, 5)\n", kernel("")), launch);
    assert_eq!(with(&waits, Some(2)), sure);
    let reads = unit(&kernel(""), &format!("CF_WHILE(load(T))\nCF_ENDWHILE\n{launch}"));
    assert_eq!(with(&reads, Some(2)), maybe);
}

/// ISA-SY-04, ISA-SY-05: notifications order two devices also by way of others and round by round; what no chain of them orders is an error, and what
/// depends on values a warning.
#[test]
fn chains_of_notifications_order_devices() {
    let kernel = |name: &str, entry: &str, bytes: &str| {
        format!("TG_KERNEL({name}, {entry}, 1, AIV, 0)\nMC_BIND({name}, 0, T{bytes})\n")
    };
    let unit = |graphs: &[&str]| {
        let mut text = "extern T: u8[1024]\narg a: i64\n".to_owned();
        let host = (0..).zip(graphs).map(|(device, graph)| {
            text += &format!("TG_BEGIN(G{device})\n{graph}TG_END(G{device})\n");
            format!("CF_IF(device == {device})\nTG_LAUNCH(G{device}, default)\nCF_ENDIF\n")
        });
        let host: String = host.collect();
        text + &host
    };
    let told = |graphs: &[&str]| {
        let options = LintOptions { devices: Some(graphs.len() as u32), ..LintOptions::default() };
        let found = lint(&read(&unit(graphs)).0, &kernels(), &options);
        let found = found.iter().filter(|found| matches!(found.code.0, 1519 | 1521));
        found.map(|found| (found.code.0, found.severity)).collect::<Vec<_>>()
    };
    let (sure, maybe) = (vec![(1521, Severity::Error)], vec![(1519, Severity::Warning)]);
    let writes = kernel("A", "w", "") + "SY_NOTIFY(1, N, A)\n";
    let reads = "SY_WAIT_NOTIFY(0, N, B)\n".to_owned() + &kernel("B", "r", "");
    let relays = reads.clone() + "SY_NOTIFY(2, M, B)\n";
    let last = "SY_WAIT_NOTIFY(1, M, C)\n".to_owned() + &kernel("C", "r", "");
    let (free, none) = (kernel("C", "r", ""), Vec::new());
    assert_eq!(told(&[&writes, &reads, &free]), sure, "the third waits for nothing");
    assert_eq!(told(&[&writes, &relays, &last]), none, "the second hands on what it waited for");
    let before = kernel("B", "r", "").replace("TG_KERNEL", "SY_WAIT_NOTIFY(0, N, D)\nTG_KERNEL")
        + "SY_NOTIFY(2, M, B)\nTG_KERNEL(D, e, 1, AIV, 0)\n";
    assert_eq!(told(&[&writes, &before, &last]), sure, "the second sends before it waits");
    // Rounds: the first notification says that the first round is complete, and no more.
    for mode in ["", ", SEQUENTIAL"] {
        let rounds = format!(
            "CF_LOOP(2, i{mode})\n{}SY_NOTIFY(1, N, A)\nCF_ENDLOOP\n",
            kernel("A", "w", ", i * 64, 64")
        );
        let read = |round: u32| {
            format!("SY_WAIT_NOTIFY(0, N, B)\n{}", kernel("B", "r", &format!(", {round} * 64, 64")))
        };
        for (round, expected) in [(0, &none), (1, &sure)] {
            assert_eq!(&told(&[&rounds, &read(round)]), expected, "round {round}{mode}");
        }
        let both =
            format!("SY_WAIT_NOTIFY(0, N, D)\nTG_KERNEL(D, e, 1, AIV, 0)\nTG_DEPEND(D, B)\n{}", read(1));
        assert_eq!(told(&[&rounds, &both]), none, "two waits{mode}");
    }
    // What may be skipped, or comes in rounds that are not counted.
    let arm = |body: &str| format!("CF_IF(a == 1)\n{body}CF_ENDIF\n");
    assert_eq!(told(&[&writes, &arm(&kernel("B", "r", ""))]), maybe);
    let held =
        format!("{}{}", arm("SY_WAIT_NOTIFY(0, N, D)\nTG_KERNEL(D, e, 1, AIV, 0)\n"), kernel("B", "r", ""));
    assert_eq!(told(&[&writes, &(held.clone() + "TG_DEPEND(D, B)\n")]), maybe);
    assert_eq!(told(&[&writes, &held]), sure, "nothing waits for the arm");
    let event = format!(
        "TG_KERNEL(S, e, 1, AIV, 0)\nSY_WAIT_NOTIFY(0, N, S)\nSY_SIGNAL(E, S)\nTG_END(G1)\nTG_BEGIN(H)\n{}{}TG_DEPEND(D, B)\n",
        arm("TG_KERNEL(D, e, 1, AIV, 0)\nSY_WAIT(E, D)\n"),
        kernel("B", "r", "")
    );
    let text = unit(&[&writes, &event])
        .replace("TG_DEPEND(D, B)\nTG_END(G1)", "TG_DEPEND(D, B)\nTG_END(H)")
        .replace("TG_LAUNCH(G1, default)", "TG_LAUNCH(G1, 1)\nTG_LAUNCH(H, 2)");
    let found = lint(&read(&text).0, &kernels(), &LintOptions { devices: Some(2), ..LintOptions::default() });
    let found: Vec<u16> =
        found.iter().map(|found| found.code.0).filter(|code| [1519, 1521].contains(code)).collect();
    assert_eq!(found, [1519], "an event may hold it back");
}

/// Ranges of random units, against an oracle that touches the bytes.
#[test]
fn random_ranges_of_devices_are_those_that_meet() {
    let mut numbers = crate::randomised::Numbers(0x5eed_1234_0000_0001);
    let mut seen = std::collections::BTreeMap::new();
    for case in 0..200 {
        let devices = 2 + numbers.below(3) as i64;
        let [a, b, c, of] = [3, 3, 3, 4].map(|below| numbers.below(below) as i64);
        let (of, size, rounds) = (of + 1, 1 + numbers.below(4) as i64, 1 + numbers.below(3) as i64);
        let only = numbers.below(3) as i64;
        let text = format!(
            "extern T: u8[1024]\nTG_BEGIN(G)\nCF_IF(device != {only})\nTG_KERNEL(A, w, 1, AIV, 0)\nMC_BIND(A, 0, T, device * {a} + (device % {of}) * {b} + iteration * {c}, {size})\nCF_ENDIF\nTG_END(G)\nCF_LOOP({rounds}, i)\nTG_INVOKE(G, i)\nCF_ENDLOOP\n"
        );
        let bytes = |device: i64| {
            (0..rounds).filter(move |_| device != only).flat_map(move |round| {
                let first = device * a + (device % of) * b + round * c;
                first..first + size
            })
        };
        let expected = (0..devices).any(|x| {
            let all: Vec<i64> = bytes(x).collect();
            (x + 1..devices).any(|y| bytes(y).any(|byte| all.contains(&byte)))
        });
        let options = LintOptions { devices: Some(devices as u32), ..LintOptions::default() };
        let found = lint(&read(&text).0, &kernels(), &options);
        let told = found.iter().any(|found| found.code.0 == 1521 && found.is_error());
        assert!(!found.iter().any(|found| found.code.0 == 1519), "case {case}\n{text}\n{found:#?}");
        assert_eq!(told, expected, "case {case}, {devices} devices\n{text}\n{found:#?}");
        *seen.entry(expected).or_insert(0) += 1;
    }
    assert!(seen.len() == 2, "{seen:?}");
}
