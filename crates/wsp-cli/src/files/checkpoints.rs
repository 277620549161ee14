//! Checkpoints of task graphs: a folder with one file for each.

use super::fault::shown;
use crate::interrupt::Leftover;
use pto_wsp::codes;
use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use wsp_backend::{CheckpointKey, CheckpointStore, RecordKind};
use wsp_diag::Diagnostic;
use wsp_ordered::Arrange;

/// How names of checkpoints end.
const EXTENSION: &str = ".checkpoint";
/// What comes before that in the name of a record that its graph alone can be restored from.
const GRAPH: &str = "-graph-only";
/// The name of the record that marks the beginning of a run.
const START: &str = "run.start";

/// A folder of checkpoints.
///
/// A record is written beside its place, brought to the disk, and then given its name; the folder is brought to the disk too. So
/// a run that is killed at any moment leaves the record before or the one after, and a record that was reported as kept is there even
/// if the machine stops.
#[derive(Clone, Debug)]
pub struct CheckpointFolder {
    folder: PathBuf,
}

impl CheckpointFolder {
    /// Takes a folder, which is made if it is not there; the folder around it must be there, as that of every file that is written.
    ///
    /// # Errors
    /// When it cannot be made or is no folder.
    pub fn open(folder: &Path) -> Result<CheckpointFolder, Diagnostic> {
        let made = if folder.is_dir() { Ok(()) } else { std::fs::create_dir(folder) };
        made.map_err(|fault| {
            let message = format!("`{}` cannot hold checkpoints", shown(folder));
            let help = match fault.kind() {
                ErrorKind::NotFound => "make the folder around it first",
                _ => "give `--checkpoints` a folder that can be written",
            };
            Diagnostic::error(codes::NO_CHECKPOINTS, message).note(fault.to_string()).help(help)
        })?;
        Ok(CheckpointFolder { folder: folder.to_owned() })
    }

    fn path(&self, key: CheckpointKey) -> PathBuf {
        let CheckpointKey { device, graph, checkpoint, kind } = key;
        let name = format!("device{device}-graph{graph}-{checkpoint}");
        self.folder.join(match kind {
            RecordKind::Start => START.to_owned(),
            RecordKind::Run => format!("{name}{EXTENSION}"),
            RecordKind::Graph => format!("{name}{GRAPH}{EXTENSION}"),
        })
    }

    /// The key of a file name, if it is that of a record.
    fn key(name: &str) -> Option<CheckpointKey> {
        if name == START {
            return Some(CheckpointKey::START);
        }
        let name = name.strip_suffix(EXTENSION)?;
        let (name, kind) = match name.strip_suffix(GRAPH) {
            Some(name) => (name, RecordKind::Graph),
            None => (name, RecordKind::Run),
        };
        let mut parts = name.split('-');
        let device = parts.next()?.strip_prefix("device")?.parse().ok()?;
        let graph = parts.next()?.strip_prefix("graph")?.parse().ok()?;
        let checkpoint = parts.next()?.parse().ok()?;
        parts.next().is_none().then_some(CheckpointKey { device, graph, checkpoint, kind })
    }

    fn replace(&self, path: &Path, record: &[u8]) -> std::io::Result<()> {
        // Under the same name each time, so that what a killed run has left does not pile up.
        let mut partial = path.as_os_str().to_owned();
        partial.push(".partial");
        let partial = PathBuf::from(partial);
        let _leftover = Leftover::file(partial.clone());
        let written = write_whole(&partial, record).and_then(|()| std::fs::rename(&partial, path));
        if let Err(fault) = written {
            // What a full disk cut short is of no use; that it cannot be removed adds nothing to `fault`.
            let _ = std::fs::remove_file(&partial);
            return Err(fault);
        }
        File::open(&self.folder)?.sync_all()
    }
}

/// Writes a file to the disk.
fn write_whole(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

impl CheckpointStore for CheckpointFolder {
    fn save(&self, key: CheckpointKey, record: &[u8]) -> Result<(), String> {
        let path = self.path(key);
        self.replace(&path, record).map_err(|fault| format!("`{}`: {fault}", shown(&path)))
    }

    fn load(&self, key: CheckpointKey) -> Result<Option<Vec<u8>>, String> {
        let path = self.path(key);
        // To open a pipe is to wait for somebody who writes to it, and a device may have no end.
        if std::fs::metadata(&path).is_ok_and(|meta| !meta.is_file()) {
            return Err(format!("`{}` is not a regular file", shown(&path)));
        }
        match std::fs::read(&path) {
            Ok(record) => Ok(Some(record)),
            Err(fault) if fault.kind() == ErrorKind::NotFound => Ok(None),
            Err(fault) => Err(format!("`{}`: {fault}", shown(&path))),
        }
    }

    fn keys(&self) -> Result<Vec<CheckpointKey>, String> {
        let fault = |fault: std::io::Error| format!("`{}`: {fault}", shown(&self.folder));
        let mut keys = Vec::new();
        for entry in std::fs::read_dir(&self.folder).map_err(fault)? {
            let name = entry.map_err(fault)?.file_name();
            keys.extend(CheckpointFolder::key(&name.to_string_lossy()));
        }
        keys.arrange();
        Ok(keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(device: u32, graph: u32, checkpoint: u32) -> CheckpointKey {
        CheckpointKey { device, graph, checkpoint, kind: RecordKind::Run }
    }

    #[test]
    fn a_record_replaces_the_one_before_and_others_stay() {
        let dir = tempfile::tempdir().unwrap();
        let store = CheckpointFolder::open(&dir.path().join("a")).unwrap();
        assert_eq!(store.load(key(0, 0, 0)), Ok(None));
        for (at, record) in [(key(1, 2, 3), "old"), (key(0, 7, 0), "other"), (key(1, 2, 3), "new")] {
            store.save(at, record.as_bytes()).unwrap();
        }
        assert_eq!(store.load(key(1, 2, 3)), Ok(Some(b"new".to_vec())));
        let graph = CheckpointKey { kind: RecordKind::Graph, ..key(1, 2, 3) };
        store.save(graph, b"of the graph").unwrap();
        store.save(CheckpointKey::START, b"start").unwrap();
        assert_eq!(store.load(key(1, 2, 3)), Ok(Some(b"new".to_vec())));
        assert_eq!(store.load(graph), Ok(Some(b"of the graph".to_vec())));
        assert_eq!(store.keys(), Ok(vec![CheckpointKey::START, key(1, 2, 3), graph, key(0, 7, 0)]));
    }

    #[test]
    fn what_a_killed_run_left_is_no_record() {
        let dir = tempfile::tempdir().unwrap();
        let store = CheckpointFolder::open(dir.path()).unwrap();
        store.save(key(0, 0, 1), b"whole").unwrap();
        std::fs::write(dir.path().join("device0-graph0-2.checkpoint.partial"), b"half").unwrap();
        std::fs::write(dir.path().join("notes.txt"), b"mine").unwrap();
        assert_eq!(store.keys(), Ok(vec![key(0, 0, 1)]));
        store.save(key(0, 0, 2), b"whole").unwrap();
        assert_eq!(store.load(key(0, 0, 2)), Ok(Some(b"whole".to_vec())));
    }

    #[test]
    fn names_that_are_no_records_are_passed_over() {
        for name in [
            "device0-graph0-0",
            "device0-graph0-0-0.checkpoint",
            "devicex-graph0-0.checkpoint",
            ".checkpoint",
        ] {
            assert_eq!(CheckpointFolder::key(name), None, "{name}");
        }
        assert_eq!(CheckpointFolder::key("device1-graph20-3.checkpoint"), Some(key(1, 20, 3)));
    }

    #[test]
    fn the_folder_around_it_is_not_made() {
        let dir = tempfile::tempdir().unwrap();
        let fault = CheckpointFolder::open(&dir.path().join("a/b")).unwrap_err();
        assert_eq!(
            (fault.code, fault.help[0].as_str()),
            (codes::NO_CHECKPOINTS, "make the folder around it first")
        );
        assert!(!dir.path().join("a").exists());
    }

    #[test]
    fn a_file_is_no_folder() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, b"").unwrap();
        assert_eq!(CheckpointFolder::open(&path).unwrap_err().code, codes::NO_CHECKPOINTS);
    }
}
