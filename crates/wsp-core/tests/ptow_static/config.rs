//! Configurations that fit, and what is said of those that do not.

use crate::tree::{Tree, var};
use wsp_core::ExecPool;
use wsp_core::ptow::dispatch::{ConfigFault, Filter, Level, Rule, check, check_tiling};
use wsp_core::ptow::{
    AxisDescriptor, Counts, DispatchConfig, Header, Op, PartitionParams, PolicyType, Program,
    ThresholdParams, Verified, Word, XOp, marks_needed,
};
use zerocopy::IntoBytes;

fn config(policy: PolicyType, params: &[u8]) -> DispatchConfig {
    let mut config = DispatchConfig::round_robin(4, 1);
    config.policy_type = policy as u8;
    config.params[..params.len()].copy_from_slice(params);
    config
}

fn partition(id: u16, start: u32, end: u32) -> DispatchConfig {
    let range = PartitionParams { task_range_start: start, task_range_end: end };
    DispatchConfig { my_aicpu_id: id, ..config(PolicyType::StaticPartition, range.as_bytes()) }
}

fn threshold(params: ThresholdParams) -> DispatchConfig {
    config(PolicyType::Threshold, params.as_bytes())
}

/// Checks against a program whose expressions are one over an axis, then a variable, then words without an end.
fn checked<T>(config: &DispatchConfig, test: impl FnOnce(Result<Filter<'_>, ConfigFault>) -> T) -> T {
    let mut exprs = Vec::new();
    Tree::binary(XOp::XAdd, Tree::Axis(0), 1).emit(&mut exprs);
    var(0).emit(&mut exprs);
    exprs.push(Word { opcode: XOp::XConst.code(), ..Word::default() });
    let header = Header::default();
    let halt = [Word { opcode: Op::Halt.code(), ..Word::default() }];
    let program = Program {
        header: &header,
        words: &halt,
        axes: &[AxisDescriptor { form: 1, ..AxisDescriptor::default() }],
        kernels: &[],
        tensors: &[],
        counts: Counts { values: 1, ..Counts::default() },
        exprs: &exprs,
        names: &[],
    };
    let mut marks = vec![0; marks_needed(&program)];
    let program = Verified::new(program, &mut marks).expect("the program keeps the rules");
    test(check(config, &program))
}

fn fault(config: &DispatchConfig) -> String {
    checked(config, |found| found.expect_err("it should be refused").to_string())
}

const LEVELS: ThresholdParams = ThresholdParams {
    num_levels: 3,
    metric: 0,
    thresholds: [10, 20, 0, 0, 0, 0, 0, 0],
    policy_per_level: [0, 16, 17, 0, 0, 0, 0, 0],
};

#[test]
fn every_policy_makes_its_filter() {
    let rule = |config: &DispatchConfig| {
        checked(config, |found| match found {
            Ok(Filter::Rule(Rule::RoundRobin)) => "turn".to_owned(),
            Ok(Filter::Rule(Rule::Affinity(depth))) => format!("depth {depth}"),
            Ok(Filter::Rule(Rule::Own { start, end })) => format!("{start}..{end}"),
            other => format!("{other:?}"),
        })
    };
    assert_eq!(rule(&DispatchConfig::round_robin(1, 0)), "turn");
    assert_eq!(rule(&config(PolicyType::Affinity, &[15])), "depth 15");
    assert_eq!(rule(&partition(1, 5, 9)), "5..9");
    checked(&threshold(LEVELS), |found| {
        let Ok(Filter::Threshold(threshold)) = found else { panic!("{found:?}") };
        let levels = [9, 10, 19, 20].map(|metric| threshold.level(metric));
        let (vector, cube) = (Level::Pool(ExecPool::Vector), Level::Pool(ExecPool::Cube));
        assert_eq!(levels, [Level::Rule(Rule::RoundRobin), vector, vector, cube]);
        assert_eq!(threshold.level(-1), Level::Rule(Rule::RoundRobin));
        assert_eq!(threshold.levels().count(), 3);
    });
}

#[test]
fn numbers_of_aicpus_are_in_range() {
    assert!(fault(&DispatchConfig::round_robin(0, 0)).contains("0 AICPUs: use 1 to 1024"));
    assert!(fault(&DispatchConfig::round_robin(1025, 0)).contains("1025"));
    assert!(fault(&DispatchConfig::round_robin(4, 4)).contains("AICPU 4 is none of 4: ids are 0 to 3"));
}

#[test]
fn what_a_policy_does_not_use_is_zero() {
    let mut bad = DispatchConfig::round_robin(4, 0);
    bad.reserved[1] = 7;
    assert!(fault(&bad).contains("byte 6 of the configuration is 7"));
    assert!(fault(&config(PolicyType::RoundRobin, &[0, 3])).contains("byte 9 of the configuration is 3"));
    assert!(fault(&config(PolicyType::Affinity, &[1, 0, 2])).contains("byte 10"));
    assert!(fault(&config(PolicyType::StaticPartition, &[0, 0, 0, 0, 9, 0, 0, 0, 1])).contains("byte 16"));
    let bounds = ThresholdParams { thresholds: [10, 20, 30, 0, 0, 0, 0, 0], ..LEVELS };
    assert!(fault(&threshold(bounds)).contains("byte 20 of the configuration is 30"));
    let policies = ThresholdParams { policy_per_level: [0, 0, 0, 16, 0, 0, 0, 0], ..LEVELS };
    assert!(fault(&threshold(policies)).contains("byte 47 of the configuration is 16"));
}

#[test]
fn policies_of_filters_and_others_are_refused() {
    assert!(fault(&config(PolicyType::Key, &[])).contains("policy 4 is none of a configuration"));
    let unknown = DispatchConfig { policy_type: 99, ..DispatchConfig::round_robin(1, 0) };
    assert!(fault(&unknown).contains("policy 99"));
}

#[test]
fn depths_levels_and_bounds_are_in_order() {
    assert!(fault(&config(PolicyType::Affinity, &[16])).contains("depth 16: depths are 0 to 15"));
    assert!(fault(&threshold(ThresholdParams { num_levels: 0, ..LEVELS })).contains("0 levels: use 1 to 8"));
    assert!(fault(&threshold(ThresholdParams { num_levels: 9, ..LEVELS })).contains("9 levels"));
    let equal = ThresholdParams { thresholds: [20, 20, 0, 0, 0, 0, 0, 0], ..LEVELS };
    assert!(fault(&threshold(equal)).contains("threshold 1 is 20, after 20: thresholds must increase"));
    let policy = ThresholdParams { policy_per_level: [0, 1, 0, 0, 0, 0, 0, 0], ..LEVELS };
    assert!(fault(&threshold(policy)).contains("level 1 has policy 1"));
    assert!(fault(&partition(0, 9, 5)).contains("9..5 ends before it starts"));
}

#[test]
fn a_metric_is_an_expression_over_axes() {
    for (metric, word) in [(3u16, 3), (4, 4), (77, 77)] {
        let told = fault(&threshold(ThresholdParams { metric, ..LEVELS }));
        assert!(told.contains(&format!("word {metric} goes wrong at word {word}")), "{told}");
    }
}

#[test]
fn ranges_give_every_task_to_one_aicpu() {
    let good = [partition(0, 0, 5), partition(1, 5, 5), partition(2, 5, 9), partition(3, 0, 0)];
    assert_eq!(check_tiling(&good, 9), Ok(()));
    assert_eq!(check_tiling(&[DispatchConfig::round_robin(2, 0); 2], 9), Ok(()));
    let said =
        |configs: &[DispatchConfig], total| check_tiling(configs, total).expect_err("a fault").to_string();
    assert!(said(&good, 10).contains("the ranges end at 9, but there are 10 tasks"));
    let gap = [partition(0, 0, 5), partition(1, 6, 9)];
    assert!(said(&gap, 9).contains("AICPU 1 starts at 6, not at 5"));
    let overlap = [partition(0, 0, 5), partition(1, 4, 9)];
    assert!(said(&overlap, 9).contains("AICPU 1 starts at 4, not at 5"));
    assert!(said(&[partition(0, 0, 9), DispatchConfig::round_robin(2, 1)], 9).contains("policy 0"));
}
