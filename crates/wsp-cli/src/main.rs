//! The binary `wsp`.

use std::process::ExitCode;

fn main() -> ExitCode {
    wsp_cli::main()
}
