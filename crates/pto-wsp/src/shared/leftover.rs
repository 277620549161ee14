//! What a signal that ends the program takes with it: files and folders that are not complete, and programs that were started.

use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::waitpid;
use nix::unistd::Pid;
use std::fs::{DirBuilder, File, Metadata, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wsp_ordered::OrderedMap;
use wsp_runtime::process;

/// What a signal that ends the program takes with it.
static REGISTER: Mutex<Register> =
    Mutex::new(Register { next: 0, items: OrderedMap::new(), heeds: false, over: false });

struct Register {
    next: u64,
    items: OrderedMap<u64, Item>,
    /// Whether signals that end the program end what is registered, too.
    heeds: bool,
    /// Whether outputs have their names: the program is about to end by itself.
    over: bool,
}

enum Item {
    File(PathBuf),
    /// A folder, and the same open: where another process took it for one that was left, its name may be that of another.
    Folder(PathBuf, Arc<File>),
    /// A folder that stays if it holds something.
    Empty(PathBuf),
    /// A process, and the group that it leads if it has one of its own.
    Process {
        id: Pid,
        leads: bool,
    },
}

/// Something that a signal which ends the program removes or ends, as long as this is not dropped.
#[derive(Debug)]
pub struct Leftover(u64);

impl Leftover {
    /// A file that is not complete.
    pub fn file(path: PathBuf) -> Leftover {
        register().insert(Item::File(path))
    }

    /// An empty folder for its owner only, made here and opened.
    ///
    /// # Errors
    /// As [`std::fs::create_dir`]; something is there also where another process takes what was made.
    pub(super) fn new_folder(path: &Path) -> std::io::Result<(Leftover, Arc<File>)> {
        let mut register = register();
        DirBuilder::new().mode(0o700).create(path)?;
        let opened = File::open(path).map_err(|fault| match fault.kind() {
            ErrorKind::NotFound => ErrorKind::AlreadyExists.into(),
            _ => {
                let _ = std::fs::remove_dir(path);
                fault
            }
        });
        let opened = Arc::new(opened?);
        // The umask may have taken the owner's permissions too. Some file systems have none to give.
        let _ = opened.set_permissions(Permissions::from_mode(0o700));
        Ok((register.insert(Item::Folder(path.to_owned(), Arc::clone(&opened))), opened))
    }

    /// A folder on the way to another, made here: it is removed if nothing is in it. One that is there already is none.
    ///
    /// # Errors
    /// As [`std::fs::create_dir`], but for a folder that is there.
    pub fn new_way(path: &Path) -> std::io::Result<Option<Leftover>> {
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

/// Says that a signal which ends the program calls [`end`].
pub fn signals_are_heeded() {
    register().heeds = true;
}

/// Ends the program, unless its outputs have their names already.
pub fn end(status: i32) {
    let register = register();
    if !register.over {
        leave_with(register, status);
    }
}

/// Ends the program where it stands, with nothing half done left behind.
pub fn leave(status: i32) -> ! {
    leave_with(register(), status)
}

/// `register` is held to the end: nothing is started, begun or given its name after this.
fn leave_with(register: MutexGuard<'static, Register>, status: i32) -> ! {
    in_order(&register.items).for_each(Item::remove);
    std::process::exit(status)
}

/// Processes before what they may still write into, which could not be removed else; of the rest the last first: a folder holds what came after it.
fn in_order(items: &OrderedMap<u64, Item>) -> impl Iterator<Item = &Item> {
    let of = |processes: bool| {
        items.values().filter(move |item| matches!(item, Item::Process { .. }) == processes)
    };
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
            Item::Folder(path, opened) => {
                let _ = (0..8).find(|_| !is_at(opened, path) || std::fs::remove_dir_all(path).is_ok());
            }
            Item::Process { id, leads } => {
                let _ = if *leads { killpg(*id, Signal::SIGKILL) } else { kill(*id, Signal::SIGKILL) };
                let _ = waitpid(*id, None);
            }
        }
    }
}

/// Does some work all of which is done, or none, when a signal ends the program.
pub fn whole<T>(work: impl FnOnce() -> T) -> T {
    let _register = register();
    work()
}

/// As [`whole`], for the last work of a command: when it is done no signal ends the program, which ends by itself.
///
/// # Errors
/// As the work.
pub fn last<E>(work: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
    let mut register = register();
    let done = work();
    register.over = done.is_ok();
    done
}

/// Starts a program that ends with this one, however this one ends, and with the thread that starts it. Where signals are heeded it leads a group of
/// its own, and what it starts ends, too; else the terminal's Ctrl-C comes to it as well.
///
/// # Errors
/// As [`Command::spawn`].
pub fn start(command: &mut Command) -> std::io::Result<(Child, Leftover)> {
    process::tie(command);
    // Held until the process is known, so that none is started that a signal does not end.
    let mut register = register();
    let leads = register.heeds;
    if leads {
        command.process_group(0);
    }
    let child = command.spawn()?;
    let id = i32::try_from(child.id()).expect("the number of a process should be an i32");
    let leftover = register.insert(Item::Process { id: Pid::from_raw(id), leads });
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

/// Whether a path leads to a file or folder that is open.
pub(crate) fn is_at(opened: &File, path: &Path) -> bool {
    let id = |about: std::io::Result<Metadata>| about.ok().map(|about| (about.dev(), about.ino()));
    let opened = id(opened.metadata());
    opened.is_some() && opened == id(std::fs::symlink_metadata(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_end_before_their_folders_are_removed() {
        let opened = Arc::new(File::open(".").unwrap());
        let folder = || Item::Folder(PathBuf::from("folder"), Arc::clone(&opened));
        let group = || Item::Process { id: Pid::from_raw(1), leads: true };
        let items =
            OrderedMap::from([(0, folder()), (1, group()), (2, Item::File(PathBuf::new())), (3, group())]);
        let groups: Vec<bool> = in_order(&items).map(|item| matches!(item, Item::Process { .. })).collect();
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
