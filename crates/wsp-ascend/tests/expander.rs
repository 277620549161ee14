//! Generated expanders hand over the tasks of the interpreter, one by one and in order.

#[path = "../../wsp-isa/tests/choices/mod.rs"]
mod choices;
#[path = "../../wsp-isa/tests/random_programs/mod.rs"]
mod random_programs;
#[path = "../../wsp-core/tests/randomised/mod.rs"]
mod randomised;
mod support;

use choices::Choices;
use random_programs::{OwnedLaunch, Temper, dispatch, launch, valid_program};
use support::{Code, Harness, Run, Seen, interpreted};
use wsp_ascend::expander::{EmitError, ExpanderNames, emit_expander};
use wsp_core::ptow::interp::Mode;
use wsp_core::ptow::{
    DispatchConfig, Op, PartitionParams, PolicyType, ThresholdParams, Verified, X_LAST, XOp,
};
use zerocopy::IntoBytes as _;

/// Steps after which the interpreter is not waited for.
const STEPS: u32 = 4000;

/// Configurations of `n` AICPUs for every policy. `total` is how many tasks there are.
fn configs(program: &Verified<'_>, n: u16, total: u64) -> Vec<Vec<DispatchConfig>> {
    let of = |policy: PolicyType, params: &dyn Fn(u16) -> Vec<u8>| {
        let config = |me| {
            let mut config = DispatchConfig::round_robin(n, me);
            config.policy_type = policy as u8;
            let params = params(me);
            config.params[..params.len()].copy_from_slice(&params);
            config
        };
        (0..n).map(config).collect::<Vec<_>>()
    };
    let mut all = vec![of(PolicyType::RoundRobin, &|_| Vec::new())];
    all.extend((0..4).map(|depth| of(PolicyType::Affinity, &|_| vec![depth])));
    // Uneven, and the ranges of some AICPUs are empty.
    let start = |me: u16| (total * u64::from(me / 2 * 2) / u64::from(n)) as u32;
    let end = |me: u16| if me + 1 == n { total as u32 } else { start(me + 1) };
    all.push(of(PolicyType::StaticPartition, &|me| {
        PartitionParams { task_range_start: start(me), task_range_end: end(me) }.as_bytes().to_vec()
    }));
    if let Some(metric) = metric(program) {
        let thresholds = [1, 3, 0, 0, 0, 0, 0, 0];
        let policy_per_level = [17, 0, 16, 0, 0, 0, 0, 0];
        let params = ThresholdParams { num_levels: 3, metric, thresholds, policy_per_level };
        all.push(of(PolicyType::Threshold, &|_| params.as_bytes().to_vec()));
    }
    all
}

/// An expression over axes, by its first word.
fn metric(program: &Verified<'_>) -> Option<u16> {
    let exprs = program.program().exprs;
    let mut first = 0;
    for (at, word) in exprs.iter().enumerate() {
        if word.flags & X_LAST != 0 {
            let ops: Vec<_> = exprs[first..=at].iter().map(|word| XOp::from_code(word.opcode)).collect();
            let local = |op: &Option<XOp>| matches!(op, Some(XOp::XVar | XOp::XPos | XOp::XSlot));
            if ops.contains(&Some(XOp::XAxis)) && !ops.iter().any(local) {
                return u16::try_from(first).ok();
            }
            first = at + 1;
        }
    }
    None
}

/// The first fault of several AICPUs.
fn first_fault(all: &[Seen]) -> Option<(u64, u8)> {
    all.iter().filter(|seen| seen.status == 1).map(|seen| (seen.fault.1, seen.fault.0)).min()
}

/// Holds what expanders have seen against the interpreter that tests every task.
fn compare(what: &str, expanded: &[Seen], naive: &[Seen]) {
    assert_eq!(first_fault(expanded), first_fault(naive), "{what}: the first fault");
    let until = first_fault(naive).map_or(u64::MAX, |(ordinal, _)| ordinal);
    for (me, (expanded, naive)) in expanded.iter().zip(naive).enumerate() {
        if naive.status >= 2 {
            assert_eq!(expanded.status, naive.status, "{what}, AICPU {me}");
            continue;
        }
        let before = |seen: &Seen| {
            let mut tasks = seen.tasks();
            tasks.retain(|(ordinal, _)| *ordinal < until);
            tasks
        };
        let (ours, theirs) = (before(expanded), before(naive));
        for (at, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
            assert_eq!(ours, theirs, "{what}, AICPU {me}, its task {at}");
        }
        assert_eq!(ours.len(), theirs.len(), "{what}, AICPU {me}: number of tasks");
        if until == u64::MAX {
            assert_eq!(expanded.ordinals, naive.ordinals, "{what}, AICPU {me}: tasks of all");
        }
    }
    if let ([expanded], [naive]) = (expanded, naive) {
        assert_eq!(expanded.events, naive.events, "{what}: one AICPU leaves out nothing");
    }
}

/// Compares expanders with the interpreter for every policy and these numbers of AICPUs.
fn differential(name: &str, codes: &[Code], launches: &[Vec<OwnedLaunch>], aicpus: &[u16]) -> usize {
    let programs: Vec<Verified<'_>> = codes.iter().map(Code::verified).collect();
    let harness = Harness::build(name, &programs);
    let mut compared = 0;
    for (index, (program, launches)) in programs.iter().zip(launches).enumerate() {
        let mut runs = Vec::new();
        let mut expected = Vec::new();
        let tables: Vec<Vec<&[i64]>> = launches.iter().map(OwnedLaunch::tables).collect();
        for (owned, tables) in launches.iter().zip(&tables) {
            let launch = owned.launch(tables);
            let alone = DispatchConfig::round_robin(1, 0);
            let Some(whole) = interpreted(*program, launch, &alone, Mode::Naive, STEPS) else { continue };
            for configs in aicpus.iter().flat_map(|n| configs(program, *n, whole.ordinals)) {
                let naive: Option<Vec<Seen>> = configs
                    .iter()
                    .map(|config| interpreted(*program, launch, config, Mode::Naive, STEPS))
                    .collect();
                let Some(naive) = naive else { continue };
                runs.extend(configs.iter().map(|config| Run { program: index, launch, config: *config }));
                expected.push((configs, naive));
            }
        }
        let mut seen = harness.run(&runs).into_iter();
        for (configs, naive) in &expected {
            let expanded: Vec<Seen> = seen.by_ref().take(naive.len()).collect();
            let what = format!("{name}, program {index}, {:?}", configs[0]);
            compare(&what, &expanded, naive);
            compared += naive.iter().map(|seen| seen.tasks().len()).sum::<usize>();
        }
    }
    compared
}

/// Whether a program has some tasks; of two programs, one has filters as well.
fn is_worth_while(program: &Verified<'_>, launches: &[OwnedLaunch], index: usize) -> bool {
    let filter = Op::DispatchFilter.code();
    let filters = program.program().words.iter().any(|word| word.opcode == filter);
    (filters || index.is_multiple_of(2))
        && launches.iter().any(|owned| {
            let tables = owned.tables();
            let alone = DispatchConfig::round_robin(1, 0);
            let seen = interpreted(*program, owned.launch(&tables), &alone, Mode::Naive, STEPS);
            seen.is_some_and(|seen| seen.tasks().len() >= 24)
        })
}

#[test]
fn random_programs_expand_to_the_tasks_of_the_interpreter() {
    let mut codes = Vec::new();
    let mut launches = Vec::new();
    let cases = randomised::cases(20) as usize;
    println!("{cases} programs");
    for seed in 0.. {
        if codes.len() == cases {
            break;
        }
        let bytes = choices::bytes(seed, 2000);
        let mut choices = Choices::new(&bytes);
        let code = Code::new(&valid_program(&mut choices));
        let program = code.verified();
        let mut launch = |temper| launch(&mut choices, program.program(), temper);
        let all = vec![launch(Temper::Friendly), launch(Temper::Friendly), launch(Temper::Hostile)];
        let emitted = emit_expander(&program, ExpanderNames::default()).is_ok();
        if emitted && is_worth_while(&program, &all, codes.len()) {
            codes.push(code);
            launches.push(all);
        }
    }
    let compared = differential("random", &codes, &launches, &[1, 2, 3, 7, 16]);
    assert!(compared > 1_000 * cases, "{compared} tasks were compared");
}

#[test]
fn launches_and_configurations_that_do_not_fit_are_refused() {
    let mut refused = [0; 4];
    let mut codes = Vec::new();
    for seed in 0..24 {
        let bytes = choices::bytes(seed, 1500);
        let code = Code::new(&valid_program(&mut Choices::new(&bytes)));
        if emit_expander(&code.verified(), ExpanderNames::default()).is_ok() {
            codes.push(code);
        }
    }
    let programs: Vec<Verified<'_>> = codes.iter().map(Code::verified).collect();
    let harness = Harness::build("refusals", &programs);
    for (index, program) in programs.iter().enumerate() {
        for seed in 0..60 {
            let bytes = choices::bytes(!seed, 1500);
            let choices = &mut Choices::new(&bytes);
            let owned = launch(choices, program.program(), Temper::Hostile);
            let config = dispatch(choices, program.program(), Temper::Hostile);
            let tables = owned.tables();
            let launch = owned.launch(&tables);
            let Some(naive) = interpreted(*program, launch, &config, Mode::Naive, STEPS) else { continue };
            let seen = harness.run(&[Run { program: index, launch, config }]);
            let status = seen[0].status;
            refused[usize::from(status)] += 1;
            let metric = status == 3 && config.policy_type == PolicyType::Threshold as u8;
            assert!(
                metric || (naive.status >= 2) == (status >= 2),
                "{config:?}: {} and {status}",
                naive.status
            );
        }
    }
    assert!(refused[2] > 10 && refused[3] > 10 && refused[0] + refused[1] > 100, "{refused:?}");
}

#[test]
fn what_expanders_do_not_run_is_refused_by_name() {
    let refused = |op: Op| {
        for seed in 0..4000 {
            let bytes = choices::bytes(seed, 2000);
            let code = Code::new(&valid_program(&mut Choices::new(&bytes)));
            match emit_expander(&code.verified(), ExpanderNames::default()) {
                Err(error @ EmitError::Unsupported { op: found, .. }) if found == op => {
                    return error.to_string();
                }
                _ => {}
            }
        }
        panic!("no program with {op:?}")
    };
    assert!(refused(Op::Plan).contains("an expander does not run PLAN"));
}

#[test]
fn names_of_an_expander_are_identifiers() {
    let code = Code::new(&valid_program(&mut Choices::new(&[])));
    for (entry, namespace) in [("1st", "a"), ("a", "b c"), ("", "a"), ("a", "b__c"), ("a", "expander")] {
        let found = emit_expander(&code.verified(), ExpanderNames { entry, namespace });
        assert_eq!(found.map(|_| ()), Err(EmitError::Name), "{entry} {namespace}");
    }
}
