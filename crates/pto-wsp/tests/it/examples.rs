//! The examples run: one for each of the five documents.

#[path = "../../examples/backends.rs"]
mod backends;
#[path = "../../examples/concurrency.rs"]
mod concurrency;
#[path = "../../examples/generation.rs"]
mod generation;
#[path = "../../examples/plan_execute.rs"]
mod plan_execute;
#[path = "../../examples/task_graph.rs"]
mod task_graph;

macro_rules! run {
    ($($example:ident)*) => {$(
        #[test]
        fn $example() {
            self::$example::main().unwrap_or_else(|error| panic!("{error}"));
        }
    )*};
}

run!(backends concurrency generation plan_execute task_graph);
