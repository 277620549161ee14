//! A report of a million tasks, and one of two traces, in a browser without a window: what it shows against the JSON of the same trace.
//!
//! Screenshots lie below `target/report/pictures`, at two widths and in the dark, to be looked at.

use super::Outcome;
use crate::page;
use crate::project::Project;
use crate::runners::{self, Tally};
use anyhow::{Context, Result, ensure};
use std::path::Path;
use std::process::{Command, Stdio};

/// Programs that may be a browser; the first that there is is taken. `WSP_BROWSER` names another.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// A million tasks of two kernels in chains with fans, of which not all costs are alike.
const MILLION: &str = "
axis i = dense(10000); axis j = dense(99);
tensor x: f32[10000]; tensor y: f32[10000, 99];
kernel norm(out x, n) on vector cost 40 + n % 7;
kernel gemm(in x, out y, n) on cube cost 23 + n % 13;
workload main { for a in i { norm(x[a], a); parallel for b in j { gemm(x[a], y[a, b], a * b); } } }
";

/// Opens the reports, and checks what they show.
///
/// # Errors
/// The reports cannot be made, or the driver cannot be started.
pub(super) fn test(project: &Project, tally: &mut Tally) -> Result<Outcome> {
    if let Some(missing) = page::missing(&["node"]) {
        return Ok(Outcome::Skipped(missing));
    }
    let named = std::env::var("WSP_BROWSER").ok();
    let known = BROWSERS.iter().map(|name| (*name).to_owned());
    let Some(browser) = named.into_iter().chain(known).find(|name| page::missing(&[name]).is_none()) else {
        let reason =
            format!("no browser is installed: {}; or name one: `WSP_BROWSER=PATH`", BROWSERS.join(", "));
        return Ok(Outcome::Skipped(reason));
    };
    let status = project.cargo(&["build", "--release", "--package", "wsp-cli"]).status().context("cargo")?;
    ensure!(status.success(), "the program could not be built");
    let work = project.target().join("report").join("pictures");
    std::fs::create_dir_all(&work)?;
    std::fs::write(work.join("million.wsp"), MILLION)?;
    let wsp = |words: &[&str]| {
        let mut command = Command::new(project.program());
        let status =
            command.args(words).current_dir(&work).stdin(Stdio::null()).stdout(Stdio::null()).status();
        ensure!(status.context("wsp cannot be run")?.success(), "`wsp {}` failed", words.join(" "));
        Ok(())
    };
    for (model, trace) in
        [("ascend_910b", "a.pftrace"), ("ascend_910b", "a.json"), ("ascend_950", "b.pftrace")]
    {
        wsp(&["sim", "million.wsp", "--model", model, "--trace", trace])?;
    }
    wsp(&["report", "a.pftrace", "-o", "one.html", "--force"])?;
    wsp(&["report", "a.pftrace", "b.pftrace", "-o", "two.html", "--force"])?;
    let drive = project.root().join(page::FOLDER).join("browser").join("drive.mjs");
    driven(&browser, &drive, &work, tally).map(Outcome::Ran)
}

fn driven(browser: &str, drive: &Path, work: &Path, tally: &mut Tally) -> Result<bool> {
    let mut node = Command::new("node");
    // The driver talks to the browser by a web socket, which older versions have behind an option.
    node.args(["--experimental-websocket", "--no-warnings"]).arg(drive);
    node.args([browser, "one.html", "a.json", ".", "two.html"]).current_dir(work);
    runners::counted(node, page::count, tally, &mut std::io::stdout())
}
