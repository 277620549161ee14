//! Integration tests, in one program: they link once.

#[path = "../../../wsp-isa/tests/choices/mod.rs"]
mod choices;
#[path = "../../../wsp-isa/tests/random_units/mod.rs"]
mod random_units;
#[path = "../../../wsp-core/tests/randomised/mod.rs"]
mod randomised;
mod tg_any_unit;
mod tg_blocks;
mod tg_conditions;
mod tg_exclusive;
mod tg_launch_loads;
mod tg_launch_rounds;
mod tg_launches;
mod tg_lint;
mod tg_machine;
mod tg_matrix;
mod tg_notices;
