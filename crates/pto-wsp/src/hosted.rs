//! Builds packages for Ascend and runs them here: in a folder of the user, by the compiler of the host.

use crate::codes::{HOST_RUN, NOT_BUILT};
use crate::npy;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufWriter, Error, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;
use tempfile::TempDir;
use wsp_ascend::{Built, HostRunner, Ran};
use wsp_backend::{Args, Backend as _, ContentKey, LaunchTable, Package, RunError, RunOptions};
use wsp_cpu::CpuSimBackend;
use wsp_diag::{Diagnostic, Diagnostics};
use wsp_plan::{Arrays, PlanSource};
use wsp_runtime::clock;

/// What is built of a package.
const PROGRAM: &str = "run";
/// What it is compiled from: files of C++, of which one includes all kernels.
const FILES: [&str; 3] = ["main", "orchestration", "aicore_dispatch"];
/// Compilers that are tried, in this order, where `CXX` names none.
const COMPILERS: [&str; 3] = ["c++", "g++", "clang++"];
/// How names of folders begin that are being filled, or were when a process was killed.
const PARTIAL: &str = "partial-";
/// After so long one is no longer being filled.
const OLD: Duration = Duration::from_secs(24 * 3600);
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

    fn compiler(&self) -> Result<OsString, Diagnostic> {
        let named = self.compiler.clone().or_else(|| std::env::var_os("CXX"));
        // `CXX` may have options behind the name, as in `g++ -O0`, which are not taken.
        let first = |name: OsString| match name.to_str().and_then(|name| name.split_whitespace().next()) {
            Some(first) => OsString::from(first),
            None => name,
        };
        let named = named.map(first);
        let candidates = named
            .filter(|name| !name.is_empty())
            .map_or_else(|| COMPILERS.map(Into::into).to_vec(), |name| vec![name]);
        let runs = |name: &OsString| Command::new(name).arg("--version").output().is_ok();
        let tried: Vec<String> = candidates.iter().map(|name| format!("`{}`", name.display())).collect();
        candidates.into_iter().find(runs).ok_or_else(|| {
            Diagnostic::error(NOT_BUILT, format!("there is no C++ compiler: tried {}", tried.join(", ")))
                .help("install g++ or clang++, or name a compiler in CXX")
        })
    }
}

fn not_written(path: &Path, fault: &Error) -> Diagnostic {
    Diagnostic::error(NOT_BUILT, format!("`{}` cannot be written", path.display())).note(fault.to_string())
}

/// A folder that is gone when it is no longer used.
fn temporary(within: &Path) -> Result<TempDir, Diagnostic> {
    fs::create_dir_all(within).map_err(|fault| not_written(within, &fault))?;
    TempDir::with_prefix_in(PARTIAL, within).map_err(|fault| not_written(within, &fault))
}

fn write(folder: &Path, path: &Path, bytes: &[u8]) -> Result<(), Diagnostic> {
    let path = folder.join(path);
    let made = path.parent().map_or(Ok(()), fs::create_dir_all);
    made.and_then(|()| File::create(&path)?.write_all(bytes)).map_err(|fault| not_written(&path, &fault))
}

/// Whether a folder has a program that was built: one that is not empty and may be run.
///
/// # Errors
/// The folder belongs to another user, or others may write to it.
fn is_built(folder: &Path) -> Result<bool, Diagnostic> {
    let Ok(about) = fs::metadata(folder) else { return Ok(false) };
    crate::cache::refuse_others(folder, &about)?;
    let Ok(program) = fs::metadata(folder.join(PROGRAM)) else { return Ok(false) };
    #[cfg(unix)]
    let runs = std::os::unix::fs::PermissionsExt::mode(&program.permissions()) & 0o100 != 0;
    #[cfg(not(unix))]
    let runs = true;
    Ok(program.is_file() && program.len() > 0 && runs)
}

/// Removes what builds left that were killed.
fn discard_old(folder: &Path) {
    let Ok(all) = fs::read_dir(folder) else { return };
    for entry in all.flatten() {
        let is_partial = entry.file_name().to_string_lossy().starts_with(PARTIAL);
        let age =
            entry.metadata().and_then(|about| about.modified()).ok().and_then(|time| time.elapsed().ok());
        if is_partial && age.is_some_and(|age| age > OLD) {
            // What cannot be removed stays.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// What a program said.
fn said(output: &Output) -> String {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8_lossy(&text).trim().lines().take(SHOWN).collect::<Vec<_>>().join("\n")
}

/// Compiles the files of a package side by side, and links them.
fn compile(
    compiler: &OsString,
    platform: &str,
    folder: &Path,
    library: Option<&PathBuf>,
) -> Result<(), Diagnostic> {
    let unable = |fault: Error| {
        let message = format!("`{}` cannot be run", compiler.display());
        Diagnostic::error(NOT_BUILT, message).note(fault.to_string())
    };
    let refused = |output: &Output| {
        let message = format!("`{}` does not compile the package", compiler.display());
        Diagnostic::error(NOT_BUILT, message)
            .note(said(output))
            .help("`wsp emit FILE --target ascend_910b -o FOLDER` writes it")
    };
    let mut running = Vec::new();
    for file in FILES {
        let mut command = Command::new(compiler);
        command.args(["-std=c++17", "-O1", "-pthread", "-DWSP_ONE_FILE", "-I.", "-Iinclude", "-Ihost", "-c"]);
        command.arg(format!("-DPTO_PLATFORM={platform}")).arg(format!("{file}.cpp"));
        command.current_dir(folder).stdout(Stdio::piped()).stderr(Stdio::piped());
        running.push(command.spawn().map_err(unable)?);
    }
    let mut found = None;
    for child in running {
        let output = child.wait_with_output().map_err(unable)?;
        if !output.status.success() {
            found.get_or_insert_with(|| refused(&output));
        }
    }
    if let Some(fault) = found {
        return Err(fault);
    }
    let mut link = Command::new(compiler);
    link.args(FILES.map(|file| format!("{file}.o"))).args(["-pthread", "-o", PROGRAM]);
    if let Some(library) = library {
        // What cannot be reached of it is left out, and with it what would need more than the library has.
        link.arg(library).arg("-Wl,--gc-sections");
    }
    let output = link.current_dir(folder).output().map_err(unable)?;
    if output.status.success() { Ok(()) } else { Err(refused(&output)) }
}

/// What names the interpreter of workloads that packages with bytecode link.
const DEVICE_LIBRARY: &str = "WSP_DEVICE_LIB";

/// The interpreter: the file that the environment names, or the one beside this program; its content key.
fn device_library() -> Result<(PathBuf, ContentKey), Diagnostic> {
    let named = std::env::var_os(DEVICE_LIBRARY).filter(|name| !name.is_empty()).map(PathBuf::from);
    let own = || Some(std::env::current_exe().ok()?.parent()?.join("libwsp_device.a"));
    let path = named.or_else(own).unwrap_or_default();
    let read = || {
        let mut bytes = Vec::new();
        File::open(&path)?.read_to_end(&mut bytes)?;
        Ok((fs::canonicalize(&path)?, ContentKey::of(&bytes)))
    };
    read().map_err(|fault: Error| {
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

    fn build(&self, key: &str, platform: &str, package: &Package) -> Result<Built, Diagnostic> {
        let begun = clock::now();
        let all = self.folder()?;
        let library = if package.links_device { Some(device_library()?) } else { None };
        let folder = all.join(match &library {
            Some((_, own)) => format!("{key}-{own}"),
            None => key.to_owned(),
        });
        discard_old(&all);
        let built = |folder: PathBuf| Built { folder, took: begun.elapsed() };
        if is_built(&folder)? {
            return Ok(built(folder));
        }
        let compiler = self.compiler()?;
        let partial = temporary(&all)?;
        for (path, bytes) in &package.files {
            write(partial.path(), path, bytes)?;
        }
        compile(&compiler, platform, partial.path(), library.as_ref().map(|(path, _)| path))?;
        // Another process may have built it meanwhile: both are the same.
        if fs::rename(partial.path(), &folder).is_err() && !is_built(&folder)? {
            fs::remove_dir_all(&folder)
                .and_then(|()| fs::rename(partial.path(), &folder))
                .map_err(|fault| not_written(&folder, &fault))?;
        }
        Ok(built(folder))
    }

    fn run(&self, built: &Built, inputs: &Arrays, options: &[String]) -> Result<Ran, Diagnostic> {
        let data = temporary(&self.folder()?)?;
        let [given, wanted] = ["inputs", "outputs"].map(|name| data.path().join(name));
        for folder in [&given, &wanted] {
            fs::create_dir_all(folder).map_err(|fault| not_written(folder, &fault))?;
        }
        for (name, array) in inputs {
            let path = given.join(format!("{name}.npy"));
            let file = File::create(&path).map(BufWriter::new);
            let written = file.and_then(|mut file| npy::write(&mut file, array).and_then(|()| file.flush()));
            written.map_err(|fault| not_written(&path, &fault))?;
        }
        let begun = clock::now();
        let mut command = Command::new(built.folder.join(PROGRAM));
        command.arg("--inputs").arg(&given).arg("--outputs").arg(&wanted).args(options);
        let failed = |note: String| {
            let message = format!("the package in `{}` does not run", built.folder.display());
            Diagnostic::error(HOST_RUN, message).note(note).help("remove the folder: it is built anew then")
        };
        let output = command.output().map_err(|fault| failed(fault.to_string()))?;
        let took = begun.elapsed();
        if !output.status.success() {
            return Err(fault_of(&output));
        }
        let arrays = read(&wanted).map_err(|fault| failed(fault.to_string()))??;
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
        None => Diagnostic::error(HOST_RUN, format!("the package ends with {}", output.status)).note(text),
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
