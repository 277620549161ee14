//! One module per benchmark, and what is printed of it.

mod aie;
mod decode;
mod decode_peers;
mod generate;
mod isa;
mod peers;
mod plan;
mod runtime;
mod sim;

use crate::args::{BenchCommand, Cli};
use wsp_cli::args::Format;
use wsp_cli::commands::{Outcome, Session};

/// Runs what was typed.
pub(crate) fn dispatch(cli: Cli) -> Outcome {
    let mut session = Session::new(&cli.messages, Format::Text);
    let done = match cli.command {
        BenchCommand::Aie(args) => aie::aie(&mut session, &args),
        BenchCommand::Decode(args) => decode::decode(&mut session, &args),
        BenchCommand::Generate(args) => generate::generate(&mut session, &args),
        BenchCommand::Isa(args) => isa::isa(&mut session, &args),
        BenchCommand::Plan(args) => plan::plan(&mut session, &args),
        BenchCommand::Runtime(args) => runtime::runtime(&mut session, &args),
        BenchCommand::Sim(args) => sim::sim(&mut session, &args),
    };
    done.unwrap_or_else(|faults| session.fail(&faults))
}
