//! Signals that end the program: at once, in every command and phase, and with nothing half done left behind.
//!
//! SIGINT (Ctrl-C), SIGTERM and SIGHUP are blocked in every thread and waited for by one of their own, which knows which of
//! them came: `end` removes what is registered as [`Leftover`] and exits with 128 and the number of the
//! signal. One that was ignored when the program started stays ignored. SIGXFSZ is blocked too, so that a write past the limit on file sizes is an error like any other.

use nix::sys::signal::{SigSet, Signal, killpg};
use nix::sys::wait::waitpid;
use nix::unistd::Pid;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use wsp_ordered::OrderedMap;

/// What a signal that ends the program takes with it.
static REGISTER: Mutex<Register> = Mutex::new(Register { next: 0, items: OrderedMap::new(), over: false });

struct Register {
    next: u64,
    items: OrderedMap<u64, Item>,
    /// Whether outputs have their names: the program is about to end by itself.
    over: bool,
}

enum Item {
    File(PathBuf),
    Folder(PathBuf),
    /// A folder that stays if it holds something.
    Empty(PathBuf),
    /// A group of processes, by its leader.
    Group(Pid),
}

/// Something that a signal which ends the program removes or ends, as long as this is not dropped.
#[derive(Debug)]
pub struct Leftover(u64);

impl Leftover {
    /// A file that is not complete.
    pub fn file(path: PathBuf) -> Leftover {
        register().insert(Item::File(path))
    }

    /// A folder of files that serve one command.
    pub fn folder(path: PathBuf) -> Leftover {
        register().insert(Item::Folder(path))
    }

    /// A folder that is made here: one that is there already is never removed.
    ///
    /// # Errors
    /// As [`std::fs::create_dir`].
    pub(crate) fn new_folder(path: &Path) -> std::io::Result<Leftover> {
        let mut register = register();
        std::fs::create_dir(path)?;
        Ok(register.insert(Item::Folder(path.to_owned())))
    }

    /// A folder on the way to another, made here: it is removed if nothing is in it. One that is there already is none.
    ///
    /// # Errors
    /// As [`std::fs::create_dir`], but for a folder that is there.
    pub(crate) fn new_way(path: &Path) -> std::io::Result<Option<Leftover>> {
        let mut register = register();
        match std::fs::create_dir(path) {
            Err(_) if path.is_dir() => Ok(None),
            made => made.map(|()| Some(register.insert(Item::Empty(path.to_owned())))),
        }
    }
}

impl Drop for Leftover {
    fn drop(&mut self) {
        register().items.remove(&self.0);
    }
}

impl Register {
    fn insert(&mut self, item: Item) -> Leftover {
        let id = self.next;
        self.next += 1;
        self.items.insert(id, item);
        Leftover(id)
    }
}

fn register() -> MutexGuard<'static, Register> {
    REGISTER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes the signals over. Called before any other thread starts. Where the system refuses, a signal does what it does to
/// any program.
pub(crate) fn install() {
    // A program that `nohup` or a script's `trap "" INT` started goes on.
    let ignored = ignored();
    let heeded = |signal: Signal| ignored & (1 << (signal as u32 - 1)) == 0;
    let ending: SigSet =
        [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP].into_iter().filter(|&s| heeded(s)).collect();
    let mut limits = SigSet::empty();
    limits.add(Signal::SIGXFSZ);
    let _ = limits.thread_block();
    // A handler would run on the thread that works, which reads a large file to its end first; another thread waits for them.
    if ending.thread_block().is_ok() {
        let waiting = std::thread::Builder::new().spawn(move || {
            while let Ok(signal) = ending.wait() {
                end(signal);
            }
        });
        if waiting.is_err() {
            let _ = ending.thread_unblock();
        }
    }
}

/// The signals that this program was started with ignored, a bit for each from the lowest on.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// Ends the program, unless its outputs have their names already.
fn end(signal: Signal) {
    let register = register();
    if !register.over {
        leave(register, 128 + signal as i32);
    }
}

/// Ends the program where it stands, with nothing half done left behind.
pub(crate) fn abandon(status: i32) -> ! {
    leave(register(), status)
}

/// `register` is held to the end: nothing is started, begun or given its name after this.
fn leave(register: MutexGuard<'static, Register>, status: i32) -> ! {
    in_order(&register.items).for_each(Item::remove);
    std::process::exit(status)
}

/// Processes before what they may still write into, which could not be removed else; of the rest the last first: a folder holds what came after it.
fn in_order(items: &OrderedMap<u64, Item>) -> impl Iterator<Item = &Item> {
    let of = |groups: bool| items.values().filter(move |item| matches!(item, Item::Group(_)) == groups);
    of(true).chain(of(false).rev())
}

impl Item {
    /// What cannot be removed stays: the program ends, and its messages are written.
    fn remove(&self) {
        match self {
            Item::File(path) => {
                let _ = std::fs::remove_file(path);
            }
            Item::Empty(path) => drop(std::fs::remove_dir(path)),
            // A thread that still writes into the folder may hinder the first attempts.
            Item::Folder(path) => {
                let _ = (0..8).find(|_| std::fs::remove_dir_all(path).is_ok() || !path.exists());
            }
            Item::Group(leader) => {
                let _ = killpg(*leader, Signal::SIGKILL);
                let _ = waitpid(*leader, None);
            }
        }
    }
}

/// Does some work all of which is done, or none, when a signal ends the program.
pub(crate) fn whole<T>(work: impl FnOnce() -> T) -> T {
    let _register = register();
    work()
}

/// As [`whole`], for the last work of a command: when it is done no signal ends the program, which ends by itself.
///
/// # Errors
/// As the work.
pub(crate) fn last<E>(work: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
    let mut register = register();
    let done = work();
    register.over = done.is_ok();
    done
}

/// Starts a program in a process group of its own, which ends with this program.
///
/// # Errors
/// As [`Command::spawn`].
pub fn start(command: &mut Command) -> std::io::Result<(Child, Leftover)> {
    command.process_group(0);
    // Held until the process is known, so that none is started that a signal does not end.
    let mut register = register();
    let mask = SigSet::thread_get_mask();
    // A started program has the mask of the thread that starts it, and is to heed all signals.
    let _ = SigSet::empty().thread_set_mask();
    let child = command.spawn();
    if let Ok(mask) = mask {
        let _ = mask.thread_set_mask();
    }
    let child = child?;
    let leader = i32::try_from(child.id()).expect("the number of a process should be an i32");
    let leftover = register.insert(Item::Group(Pid::from_raw(leader)));
    Ok((child, leftover))
}

/// Runs a program to its end and takes what it prints, as [`Command::output`] does.
///
/// # Errors
/// As [`Command::output`].
pub fn output(command: &mut Command) -> std::io::Result<Output> {
    let (child, _leftover) =
        start(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()))?;
    child.wait_with_output()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_end_before_their_folders_are_removed() {
        let folder = || Item::Folder(PathBuf::from("folder"));
        let group = || Item::Group(Pid::from_raw(1));
        let items =
            OrderedMap::from([(0, folder()), (1, group()), (2, Item::File(PathBuf::new())), (3, group())]);
        let groups: Vec<bool> = in_order(&items).map(|item| matches!(item, Item::Group(_))).collect();
        assert_eq!(groups, [true, true, false, false]);
    }

    #[test]
    fn folders_on_the_way_are_removed_after_what_they_hold() {
        let around = tempfile::tempdir().unwrap();
        let way = around.path().join("way");
        let last = way.join("last");
        let items: Vec<_> = [&way, &last].map(|path| Leftover::new_way(path).unwrap().unwrap()).into();
        assert!(Leftover::new_way(&way).unwrap().is_none());
        let own = |item: &&Item| matches!(item, Item::Empty(path) if path.starts_with(around.path()));
        in_order(&register().items).filter(own).for_each(Item::remove);
        assert!(!way.exists());
        drop(items);
    }
}
