//! Builds packages for Ascend and runs them here: in a folder of the user, by the compiler of the host.

mod compiler;
mod kept;
mod objects;

use crate::codes::{HOST_RUN, NOT_BUILT};
use crate::npy;
use crate::shared::leftover::output;
use crate::shared::work_folder::WorkFolder;
use compiler::{COMMON_LEVEL, Compiler, LINK_OPTIONS, OPTIONS, OWN_LEVEL};
use kept::{
    are_there, damage, discard_old, filled, not_written, note, place, refuse_taken, temporary, write,
};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufWriter, Error, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use wsp_ascend::{Built, HostRunner, OWN_SOURCES, Ran};
use wsp_backend::{Args, Backend as _, ContentKey, LaunchTable, Package, RunError, RunOptions};
use wsp_cpu::CpuSimBackend;
use wsp_diag::{Diagnostic, Diagnostics};
use wsp_ordered::Arrange;
use wsp_plan::{Arrays, PlanSource};
use wsp_runtime::clock;

/// What is built of a package.
const PROGRAM: &str = "run";
/// Where the arrays of a run lie: those that it is given, and those that it writes.
const DATA: [&str; 2] = ["inputs", "outputs"];
/// Compilers that are tried, in this order, where `CXX` names none.
const COMPILERS: [&str; 3] = ["c++", "g++", "clang++"];
/// Lines of a compiler's messages that a finding has.
const SHOWN: usize = 12;

/// Builds packages in a folder, each once, and runs them.
#[derive(Clone, Debug, Default)]
pub struct HostBuilder {
    /// Where they are kept; without one in `pto-wsp/packages` of the user's cache folder: `XDG_CACHE_HOME`, or `.cache` in `HOME`.
    pub folder: Option<PathBuf>,
    /// The C++ compiler; without one that of `CXX`, or the first of `c++`, `g++` and `clang++` that there is.
    pub compiler: Option<OsString>,
}

impl HostBuilder {
    fn folder(&self) -> Result<PathBuf, Diagnostic> {
        if let Some(folder) = &self.folder {
            return Ok(folder.clone());
        }
        let of = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let cache = of("XDG_CACHE_HOME").or_else(|| of("HOME").map(|home| home.join(".cache")));
        cache.map(|cache| cache.join("pto-wsp").join("packages")).ok_or_else(|| {
            Diagnostic::error(NOT_BUILT, "there is no folder to build the package in")
                .help("set XDG_CACHE_HOME or HOME")
        })
    }

    /// Where the arrays of a run lie. What was built before needs no writing in the cache: where nothing can be written there, they lie with
    /// temporary files of the system.
    fn of_run(&self, inputs: &Arrays) -> Result<WorkFolder, Diagnostic> {
        filled([&self.folder()?, &std::env::temp_dir()], |folder| {
            let [given, wanted] = DATA.map(|name| folder.join(name));
            for folder in [&given, &wanted] {
                fs::create_dir(folder).map_err(|fault| not_written(folder, &fault))?;
            }
            inputs.iter().try_for_each(|(name, array)| {
                let path = given.join(format!("{name}.npy"));
                let file = File::create(&path).map(BufWriter::new);
                let written =
                    file.and_then(|mut file| npy::write(&mut file, array).and_then(|()| file.flush()));
                written.map_err(|fault| not_written(&path, &fault))
            })
        })
    }

    /// The compiler, and a key of what it says of itself and of its options: another one, or others, may make another program.
    fn compiler(&self) -> Result<(OsString, ContentKey), Diagnostic> {
        let named = self.compiler.clone().or_else(|| std::env::var_os("CXX"));
        // `CXX` may have options behind the name, as in `g++ -O0`, which are not taken.
        let first = |name: OsString| match name.to_str().and_then(|name| name.split_whitespace().next()) {
            Some(first) => OsString::from(first),
            None => name,
        };
        // It is run in other folders, where a path from this one leads elsewhere.
        let absolute = |name: OsString| match Path::new(&name).components().count() {
            0 | 1 => name,
            _ => std::path::absolute(&name).map_or(name, OsString::from),
        };
        let named = named.map(first).map(absolute);
        let candidates = named
            .filter(|name| !name.is_empty())
            .map_or_else(|| COMPILERS.map(Into::into).to_vec(), |name| vec![name]);
        let version = |name: OsString| {
            let said = output(Command::new(&name).arg("--version")).ok()?;
            let mut key = ContentKey::of(name.as_encoded_bytes());
            key.add(&said.stdout);
            let options = OPTIONS.iter().chain(&[OWN_LEVEL, COMMON_LEVEL]).chain(&LINK_OPTIONS);
            options.for_each(|option| key.add(option.as_bytes()));
            Some((name, key))
        };
        let tried: Vec<String> = candidates.iter().map(|name| format!("`{}`", name.display())).collect();
        candidates.into_iter().find_map(version).ok_or_else(|| {
            Diagnostic::error(NOT_BUILT, format!("there is no C++ compiler: tried {}", tried.join(", ")))
                .help("install g++ or clang++, or name a compiler in CXX")
        })
    }
}

/// Whether a folder has a program that was built, and was not changed since.
///
/// # Errors
/// As [`are_there`].
fn is_built(folder: &Path) -> Result<bool, Diagnostic> {
    #[cfg(unix)]
    let runs = fs::metadata(folder.join(PROGRAM))
        .is_ok_and(|about| std::os::unix::fs::PermissionsExt::mode(&about.permissions()) & 0o100 != 0);
    #[cfg(not(unix))]
    let runs = true;
    Ok(are_there(folder, &[PROGRAM.to_owned()])? && runs)
}

/// A package that was built by some compiler.
///
/// # Errors
/// As [`is_built`].
fn built_before(all: &Path, key: &str) -> Result<Option<PathBuf>, Diagnostic> {
    let found = fs::read_dir(all).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_of = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(key));
    let mut found: Vec<PathBuf> = found.filter(is_of).collect();
    found.arrange();
    for folder in found {
        if is_built(&folder)? {
            return Ok(Some(folder));
        }
    }
    Ok(None)
}

/// What a program said.
fn said(output: &Output) -> String {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8_lossy(&text).trim().lines().take(SHOWN).collect::<Vec<_>>().join("\n")
}

/// What names the interpreter of workloads that packages with bytecode link.
const DEVICE_LIBRARY: &str = "WSP_DEVICE_LIB";

/// The interpreter: the file that the environment names, or the one beside this program; its content key.
fn device_library() -> Result<(PathBuf, ContentKey), Diagnostic> {
    let named = std::env::var_os(DEVICE_LIBRARY).filter(|name| !name.is_empty()).map(PathBuf::from);
    let own = || Some(std::env::current_exe().ok()?.parent()?.join("libwsp_device.a"));
    let path = named.or_else(own).unwrap_or_default();
    let read = || {
        // To open a pipe is to wait for what writes to it.
        if !fs::metadata(&path)?.is_file() {
            return Err(Error::other("it is no regular file"));
        }
        let mut bytes = Vec::new();
        File::open(&path)?.read_to_end(&mut bytes)?;
        Ok((fs::canonicalize(&path)?, ContentKey::of(&bytes)))
    };
    read().map_err(|fault: std::io::Error| {
        let message = format!("a package with bytecode links `{}`, which cannot be read", path.display());
        Diagnostic::error(NOT_BUILT, message)
            .note(fault.to_string())
            .help("build it from the source of `wsp`: `cargo rustc -p wsp-device --lib --profile device --crate-type staticlib --features panic-handler`")
            .help(format!("then name it: {DEVICE_LIBRARY}=target/device/libwsp_device.a"))
    })
}

impl HostRunner for HostBuilder {
    fn table(
        &self,
        plan: &PlanSource,
        args: &Args,
        options: &RunOptions,
    ) -> Result<LaunchTable, Diagnostics> {
        let program = CpuSimBackend::default().compile(plan)?;
        program.table(args, options).map_err(RunError::into_diagnostics)
    }

    fn fits(&self, plan: &PlanSource, args: &Args, options: &RunOptions) -> Result<(), Diagnostics> {
        CpuSimBackend::default().fits(plan, args, options).map_err(RunError::into_diagnostics)
    }

    fn build(&self, key: &str, platform: &str, package: &Package) -> Result<Built, Diagnostic> {
        let begun = clock::now();
        let all = self.folder()?;
        let library = if package.links_device { Some(device_library()?) } else { None };
        let key = &match &library {
            Some((_, own)) => format!("{key}-{own}"),
            None => key.to_owned(),
        };
        [&all, &all.join(objects::FOLDER)].into_iter().for_each(|within| discard_old(within));
        let built = |folder: PathBuf, notes| Built { folder, took: begun.elapsed(), notes };
        let (compiler, of) = match self.compiler() {
            Ok(found) => found,
            // What was built runs without a compiler.
            Err(fault) => {
                return built_before(&all, key)?.map(|folder| built(folder, Vec::new())).ok_or(fault);
            }
        };
        let folder = all.join(format!("{key}-{of}"));
        // Before the look: another process may put it there right after.
        let damage = damage(&folder, &[PROGRAM.to_owned()]);
        if is_built(&folder)? {
            return Ok(built(folder, Vec::new()));
        }
        let kept = objects::place_of(&all, (platform, &of), package);
        [&all, &all.join(objects::FOLDER), &folder, &kept].into_iter().try_for_each(|of| refuse_taken(of))?;
        let notes = damage.into_iter().collect();
        let partial = temporary(&all)?;
        for (path, bytes) in &package.files {
            write(partial.path(), path, bytes)?;
        }
        let compiler = Compiler { name: &compiler, platform };
        std::thread::scope(|scope| {
            let objects = scope.spawn(|| objects::take(&kept, &compiler, package, partial.path()));
            compiler.compile(partial.path(), &OWN_SOURCES, OWN_LEVEL)?;
            objects.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })?;
        compiler.link(partial.path(), library.as_ref().map(|(path, _)| path))?;
        note(partial.path(), &[PROGRAM.to_owned()])?;
        place(partial.path(), &folder, is_built)?;
        Ok(built(folder, notes))
    }

    fn run(&self, built: &Built, inputs: &Arrays, options: &[String]) -> Result<Ran, Diagnostic> {
        let data = self.of_run(inputs)?;
        let [given, wanted] = DATA.map(|name| data.path().join(name));
        let begun = clock::now();
        let mut command = Command::new(built.folder.join(PROGRAM));
        command.arg("--inputs").arg(&given).arg("--outputs").arg(&wanted).args(options);
        let failed = |fault: &Error| {
            let message = format!("the package in `{}` does not run", built.folder.display());
            // What was built may be run by its owner, so the file system refuses it, and would refuse it anew.
            let help = match fault.kind() {
                ErrorKind::PermissionDenied => {
                    "name another cache folder, in which programs may run, in XDG_CACHE_HOME"
                }
                _ => "remove the folder: it is built anew then",
            };
            Diagnostic::error(HOST_RUN, message).note(fault.to_string()).help(help)
        };
        let output = output(&mut command).map_err(|fault| failed(&fault))?;
        let took = begun.elapsed();
        if !output.status.success() {
            return Err(fault_of(&output));
        }
        let arrays = read(&wanted).map_err(|fault| failed(&fault))??;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok(Ran { arrays, said, took })
    }
}

/// What a package has said of a run that failed.
fn fault_of(output: &Output) -> Diagnostic {
    let text = said(output);
    match text.strip_prefix("error: ") {
        Some(why) => {
            let mut lines = why.lines();
            let fault = Diagnostic::error(HOST_RUN, lines.next().unwrap_or_default());
            lines.fold(fault, |fault, line| fault.note(line))
        }
        None => {
            let fault = Diagnostic::error(HOST_RUN, format!("the package ends with {}", output.status));
            if text.is_empty() { fault } else { fault.note(text) }
        }
    }
}

/// The arrays of a folder, by the names of its files.
fn read(folder: &Path) -> Result<Result<Arrays, Diagnostic>, Error> {
    let mut arrays = Arrays::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let Some(name) = path.file_stem().and_then(|name| name.to_str()) else { continue };
        let mut bytes = Vec::new();
        File::open(&path)?.read_to_end(&mut bytes)?;
        match npy::read(name, &bytes) {
            Ok(array) => arrays.insert(name.to_owned(), array),
            Err(fault) => return Ok(Err(fault)),
        };
    }
    Ok(Ok(arrays))
}
