//! `cargo xtask dist`: what others install, below `target/dist`.
//!
//! * wheels of the Python package for Linux on x86-64 and AArch64, for any CPython from 3.10 on and glibc from 2.17 on: maturin makes them and
//!   zig, which comes as a Python package, links them;
//! * `wsp` for both machines, linked statically with musl by the linker that the compiler brings;
//! * the sources of the last commit;
//! * `SHA256SUMS`.
//!
//! Each is tried in a folder of its own without anything of the project beside it ([`tried`]). What cannot be made or tried for want of a tool is
//! skipped, printed with the reason, and never counted as done. Paths of this machine are in no program, and times are those of the last
//! commit, so that a second run gives the same bytes.

mod tried;

use crate::cross;
use crate::deep::Outcome;
use crate::project::Project;
use crate::python::Environment;
use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Python packages that make wheels, relative to the project.
const REQUIREMENTS: &str = "python/requirements-dist.txt";

/// Tag of the oldest C library that wheels run with.
const OLDEST: &str = "manylinux2014";

/// Files beside `wsp` in its archive.
const BESIDE: [&str; 4] = ["README.md", "LICENSE-MIT", "LICENSE-APACHE", "THIRD_PARTY.md"];

/// What makes static programs smaller: one of functions whose code is the same, and addresses that are moved at the start written as bits.
const SMALLER: [&str; 3] = ["--icf=all", "-z", "pack-relative-relocs"];

/// A kind of processor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Machine {
    X86,
    Arm,
}

impl Machine {
    const ALL: [Machine; 2] = [Machine::X86, Machine::Arm];

    fn name(self) -> &'static str {
        match self {
            Machine::X86 => "x86_64",
            Machine::Arm => "aarch64",
        }
    }

    /// The word that rustc has for it with a C library.
    fn target(self, library: &str) -> String {
        format!("{}-unknown-linux-{library}", self.name())
    }

    /// What runs its programs here: nothing on the machine itself.
    fn runner(self) -> std::result::Result<Option<&'static str>, String> {
        if self.name() == std::env::consts::ARCH {
            return Ok(None);
        }
        let emulator = (self == Machine::Arm).then(cross::emulator).flatten();
        emulator.map(Some).ok_or_else(|| {
            format!("nothing here runs programs for {}: `apt install qemu-user-static`", self.name())
        })
    }
}

/// One step.
enum Work {
    Wheel(Machine),
    TryWheel(Machine),
    Program(Machine),
    TryProgram(Machine),
    Sources,
    Sums,
}

/// A step: its heading and its work.
pub(crate) struct Step {
    /// The heading.
    pub(crate) name: String,
    work: Work,
}

/// The steps whose names contain one of the filters; all without a filter.
///
/// # Errors
/// When a filter is in no name.
pub(crate) fn steps(filters: &[&str]) -> Result<Vec<Step>> {
    let mut all = Vec::new();
    for machine in Machine::ALL {
        let name = machine.name();
        all.push(Step { name: format!("wheel for {name}"), work: Work::Wheel(machine) });
        all.push(Step { name: format!("wheel for {name}, tried"), work: Work::TryWheel(machine) });
        all.push(Step { name: format!("wsp for {name}"), work: Work::Program(machine) });
        all.push(Step { name: format!("wsp for {name}, tried"), work: Work::TryProgram(machine) });
    }
    all.push(Step { name: "sources".to_owned(), work: Work::Sources });
    all.push(Step { name: "sums".to_owned(), work: Work::Sums });
    if let Some(filter) = filters.iter().find(|filter| !all.iter().any(|step| step.name.contains(**filter))) {
        let names: Vec<&str> = all.iter().map(|step| step.name.as_str()).collect();
        bail!("no step of `dist` is named `{filter}`; there are: {}", names.join(", "));
    }
    all.retain(|step| filters.is_empty() || filters.iter().any(|filter| step.name.contains(filter)));
    Ok(all)
}

impl Step {
    /// Does the work.
    pub(crate) fn run(&self, project: &Project) -> Result<Outcome> {
        let dist = Dist::of(project)?;
        match self.work {
            Work::Wheel(machine) => dist.wheel(machine),
            Work::TryWheel(machine) => tried::wheel(&dist, machine),
            Work::Program(machine) => dist.program(machine),
            Work::TryProgram(machine) => tried::program(&dist, machine),
            Work::Sources => dist.sources(),
            Work::Sums => dist.sums(),
        }
    }
}

/// Where things are made, and of what.
struct Dist<'p> {
    project: &'p Project,
    folder: PathBuf,
    version: String,
    /// Seconds since 1970 at which the last commit was made.
    time: String,
}

impl<'p> Dist<'p> {
    fn of(project: &'p Project) -> Result<Dist<'p>> {
        let folder = project.target().join("dist");
        std::fs::create_dir_all(&folder)?;
        let packages = project.packages()?;
        let wsp = packages.iter().find(|package| package["name"] == "wsp-cli");
        let version =
            wsp.and_then(|package| package["version"].as_str()).context("wsp-cli has no version")?;
        let time = printed(git(project).args(["log", "-1", "--format=%ct"]))?;
        Ok(Dist { project, folder, version: version.to_owned(), time })
    }

    /// A file that is made, for a kind of processor.
    fn wheel_file(&self, machine: Machine) -> PathBuf {
        let tags = format!("cp310-abi3-{OLDEST}_{0}.manylinux_2_17_{0}", machine.name());
        self.folder.join(format!("pto_wsp-{}-{tags}.whl", self.version))
    }

    fn program_folder(&self, machine: Machine) -> PathBuf {
        self.folder.join(format!("wsp-{}-{}-linux", self.version, machine.name()))
    }

    /// Why nothing can be built for a target.
    fn missing(&self, target: &str) -> Result<Option<String>> {
        let here = cross::has_target(self.project, target)?;
        Ok((!here)
            .then(|| format!("the standard library for {target} is missing: `rustup target add {target}`")))
    }

    /// Settings of all builds: a folder of their own, no paths of this machine, times of the commit.
    fn build(&self, command: &mut Command, target: &str) {
        let mut flags = vec![format!("--remap-path-prefix={}=.", self.project.root().display())];
        let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
        let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo")));
        flags.extend(home.map(|home| format!("--remap-path-prefix={}=cargo", home.display())));
        if target == Machine::X86.target("gnu") {
            // What the project's settings say for it: flags that are given here take their place.
            flags.extend(["-Crelro-level=partial", "-Clink-arg=-Wl,-z,now"].map(str::to_owned));
        }
        command.env("CARGO_TARGET_DIR", self.folder.join("build")).env("SOURCE_DATE_EPOCH", &self.time);
        command.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f")).env_remove("RUSTFLAGS");
    }

    fn wheel(&self, machine: Machine) -> Result<Outcome> {
        let target = machine.target("gnu");
        if let Some(missing) = self.missing(&target)? {
            return Ok(Outcome::Skipped(missing));
        }
        let Some(tools) = Environment::of_tools(self.project, &self.folder.join("tools"), REQUIREMENTS)?
        else {
            return Ok(Outcome::Skipped(format!("the packages of {REQUIREMENTS} cannot be installed")));
        };
        let file = self.wheel_file(machine);
        let mut made = Vec::new();
        // The second time packs what the first one has compiled.
        for _ in 0..2 {
            let mut maturin = tools.command(self.project, "maturin")?;
            maturin.args(["build", "--release", "--zig", "--target", &target, "--compatibility", OLDEST]);
            maturin.arg("--out").arg(&self.folder);
            self.build(&mut maturin, &target);
            if !succeeds(&mut maturin)? {
                return Ok(Outcome::Ran(false));
            }
            made.push(std::fs::read(&file).with_context(|| format!("{} was not made", file.display()))?);
        }
        ensure!(made.windows(2).all(|pair| pair[0] == pair[1]), "a second packing has other bytes");
        println!("{}, {:.1} MB", file.display(), made[0].len() as f64 / 1e6);
        Ok(Outcome::Ran(true))
    }

    fn program(&self, machine: Machine) -> Result<Outcome> {
        let target = machine.target("musl");
        if let Some(missing) = self.missing(&target)? {
            return Ok(Outcome::Skipped(missing));
        }
        let mut cargo = self.project.cargo(&["rustc", "--release", "--locked", "--package", "wsp-cli"]);
        let name = target.replace('-', "_").to_uppercase();
        cargo.args(["--target", &target]).env(format!("CARGO_TARGET_{name}_LINKER"), "rust-lld");
        cargo.args(["--bin", "wsp", "--"]).args(SMALLER.map(|option| format!("-Clink-arg={option}")));
        self.build(&mut cargo, &target);
        if !succeeds(&mut cargo)? {
            return Ok(Outcome::Ran(false));
        }
        let folder = self.program_folder(machine);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder)?;
        let built = self.folder.join("build").join(&target).join("release").join("wsp");
        ensure!(tried::is_static(&std::fs::read(&built)?), "{} is not linked statically", built.display());
        std::fs::copy(built, folder.join("wsp"))?;
        for file in BESIDE {
            std::fs::copy(self.project.root().join(file), folder.join(file)).context(file)?;
        }
        let archive = folder.with_added_extension("tar.gz");
        let mut tar = Command::new("tar");
        tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mode=go=u-w"]);
        tar.arg(format!("--mtime=@{}", self.time)).args(["-I", "gzip -n", "-C"]).arg(&self.folder);
        tar.arg("-cf").arg(&archive).arg(folder.file_name().context("a folder should have a name")?);
        Ok(Outcome::Ran(succeeds(&mut tar)?))
    }

    fn sources(&self) -> Result<Outcome> {
        let (name, unpacked) = (format!("pto-wsp-{}", self.version), self.folder.join("try"));
        let archive = self.folder.join(format!("{name}.tar.gz"));
        let changed = printed(git(self.project).args(["status", "--porcelain"]))?;
        if !changed.is_empty() {
            println!(
                "the archive has the last commit; {} files differ from it here",
                changed.lines().count()
            );
        }
        let mut made = Vec::new();
        for _ in 0..2 {
            let mut archived = git(self.project);
            archived.args(["archive", "--format=tar.gz", &format!("--prefix={name}/"), "-o"]);
            ensure!(succeeds(archived.arg(&archive).arg("HEAD"))?, "the sources cannot be archived");
            made.push(std::fs::read(&archive)?);
        }
        ensure!(made[0] == made[1], "a second archive has other bytes");
        tried::emptied(&unpacked)?;
        ensure!(
            succeeds(Command::new("tar").arg("-xf").arg(&archive).arg("-C").arg(&unpacked))?,
            "the archive cannot be unpacked"
        );
        let project = Project::at(&unpacked.join(&name));
        // All manifests and the versions of `Cargo.lock` are there; compiling it is what the other steps have done.
        let crates = project.crates()?.len();
        println!("{}, {crates} crates, {:.1} MB", archive.display(), made[0].len() as f64 / 1e6);
        Ok(Outcome::Ran(crates == self.project.crates()?.len()))
    }

    fn sums(&self) -> Result<Outcome> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&self.folder)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if name.contains(&self.version) && (name.ends_with(".whl") || name.ends_with(".tar.gz")) {
                names.push(name);
            }
        }
        if names.is_empty() {
            return Ok(Outcome::Skipped("nothing has been made".to_owned()));
        }
        names.sort();
        let sums = printed(Command::new("sha256sum").args(&names).current_dir(&self.folder))?;
        println!("{sums}");
        std::fs::write(self.folder.join("SHA256SUMS"), sums + "\n")?;
        Ok(Outcome::Ran(true))
    }
}

fn git(project: &Project) -> Command {
    let mut git = Command::new("git");
    git.current_dir(project.root());
    git
}

/// What a command prints, without the end of the last line.
fn printed(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("{command:?}"))?;
    ensure!(
        output.status.success(),
        "{command:?} failed: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}

/// Runs a command; whether it succeeded.
fn succeeds(command: &mut Command) -> Result<bool> {
    let status = command.stdin(Stdio::null()).status().with_context(|| format!("{command:?}"))?;
    Ok(status.success())
}

/// Copies files into a folder, by the last part of their names.
fn copied(root: &Path, files: &[&str], folder: &Path) -> Result<()> {
    for file in files {
        let name = Path::new(file).file_name().context("a file should have a name")?;
        std::fs::copy(root.join(file), folder.join(name)).context((*file).to_owned())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_chosen_by_name_and_everything_that_is_made_is_tried() {
        let names = |filters: &[&str]| -> Vec<String> {
            steps(filters).map(|all| all.into_iter().map(|step| step.name).collect()).unwrap_or_default()
        };
        let all = names(&[]);
        for made in all.iter().filter(|name| name.contains(" for ") && !name.contains("tried")) {
            assert!(all.contains(&format!("{made}, tried")), "{made}");
        }
        assert_eq!(names(&["sources", "sums"]), ["sources", "sums"]);
        assert!(steps(&["wheels of nothing"]).is_err());
    }
}
