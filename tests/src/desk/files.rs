//! A small table of files in place of a disk.
//!
//! Pure. Invariant: every request but `close` gets exactly one answer.

use std::collections::BTreeMap;

use airlock_engine::{FileArrival, FileDeparture, FileFacts, FileKind, FileRefusal, Handle};

/// The table: content by absolute path.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// Content by path.
    pub content: BTreeMap<String, Vec<u8>>,
    /// What is refused instead, by path.
    pub refused: BTreeMap<String, FileRefusal>,
    /// Facts that are told in place of the true ones, by path.
    pub claimed: BTreeMap<String, FileFacts>,
    /// How often something may still be written, if the disk is to be full then.
    pub room: Option<u64>,
    /// Paths that were opened, in order.
    pub log: Vec<String>,
    opened: BTreeMap<Handle, String>,
}

impl Files {
    /// Handles that are open.
    pub fn open(&self) -> usize {
        self.opened.len()
    }

    /// What is told of a path.
    ///
    /// # Panics
    /// When nothing is there.
    pub fn facts_of(&self, path: &str) -> FileFacts {
        match self.facts(path) {
            FileArrival::Facts(facts) => facts,
            other => panic!("no facts of {path}: {other:?}"),
        }
    }

    /// The answer to a request.
    pub fn answer(&mut self, handle: Handle, request: FileDeparture) -> Option<FileArrival> {
        Some(match request {
            FileDeparture::Close => {
                self.opened.remove(&handle);
                return None;
            }
            FileDeparture::Stat(_, path) => self.facts(&path),
            FileDeparture::Open(_, path) => {
                self.log.push(path.clone());
                let answer = self.facts(&path);
                match &answer {
                    FileArrival::Facts(facts) if facts.kind == FileKind::File => {
                        self.opened.insert(handle, path);
                        answer
                    }
                    FileArrival::Facts(_) => FileArrival::Refused(FileRefusal::NotRegular),
                    _ => answer,
                }
            }
            FileDeparture::Read(offset, length) => {
                let Some(path) = self.opened.get(&handle) else {
                    return Some(missing());
                };
                let Some(bytes) = self.content.get(path) else {
                    return Some(missing());
                };
                let start = usize::try_from(offset)
                    .unwrap_or(usize::MAX)
                    .min(bytes.len());
                let end = start.saturating_add(length as usize).min(bytes.len());
                FileArrival::Data(offset, bytes[start..end].to_vec())
            }
            FileDeparture::Entries(_, path) => match self.facts(&path) {
                FileArrival::Facts(facts) if facts.kind == FileKind::Folder => {
                    FileArrival::Entries(self.entries(&path))
                }
                FileArrival::Facts(_) => {
                    FileArrival::Refused(FileRefusal::Error("ENOTDIR".to_owned()))
                }
                refused => refused,
            },
            FileDeparture::Copy(old, new) => match self.content.get(&old).cloned() {
                Some(bytes) if !self.content.contains_key(&new) => {
                    self.content.insert(new, bytes);
                    FileArrival::Done
                }
                Some(_) => FileArrival::Refused(FileRefusal::Error("EEXIST".to_owned())),
                None => missing(),
            },
            FileDeparture::Create(path, bytes) => {
                assert!(bytes.len() <= 65_536, "more than the contract allows");
                if let Some(refusal) = self.refused.get(&path) {
                    return Some(FileArrival::Refused(refusal.clone()));
                }
                if self.content.contains_key(&path) {
                    return Some(error("EEXIST"));
                }
                if self.is_full() {
                    return Some(error("ENOSPC"));
                }
                self.content.insert(path, bytes);
                FileArrival::Done
            }
            FileDeparture::Append(path, bytes) => {
                assert!(bytes.len() <= 65_536, "more than the contract allows");
                if let Some(refusal) = self.refused.get(&path) {
                    return Some(FileArrival::Refused(refusal.clone()));
                }
                if self.is_full() {
                    return Some(error("ENOSPC"));
                }
                match self.content.get_mut(&path) {
                    Some(content) => {
                        content.extend(bytes);
                        FileArrival::Done
                    }
                    None => missing(),
                }
            }
            FileDeparture::Remove(path) => match self.content.remove(&path) {
                Some(_) => FileArrival::Done,
                None => missing(),
            },
        })
    }

    /// Whether there is no room any more; takes some.
    fn is_full(&mut self) -> bool {
        let full = self.room == Some(0);
        self.room = self.room.map(|room| room.saturating_sub(1));
        full
    }

    /// What a folder holds, folders too; what cannot be looked at is not among it.
    fn entries(&self, path: &str) -> Vec<(String, FileFacts)> {
        let prefix = format!("{}/", path.trim_end_matches('/'));
        let below = self.content.range(prefix.clone()..);
        let inside = below.map_while(|(it, _)| it.strip_prefix(&prefix));
        let mut names: Vec<&str> = inside.filter_map(|rest| rest.split('/').next()).collect();
        // Not neighbours: `a.txt` stands between `a` and what is below it.
        names.sort_unstable();
        names.dedup();
        let entry = |name: &str| match self.facts(&format!("{prefix}{name}")) {
            FileArrival::Facts(facts) => Some((name.to_owned(), facts)),
            _ => None,
        };
        names.into_iter().filter_map(entry).collect()
    }

    fn facts(&self, path: &str) -> FileArrival {
        if let Some(refusal) = self.refused.get(path) {
            return FileArrival::Refused(refusal.clone());
        }
        if let Some(facts) = self.claimed.get(path) {
            return FileArrival::Facts(facts.clone());
        }
        let below = format!("{}/", path.trim_end_matches('/'));
        let (kind, size) = match self.content.get(path) {
            Some(bytes) => (FileKind::File, bytes.len() as u64),
            None if self.content.keys().any(|it| it.starts_with(&below)) => (FileKind::Folder, 0),
            None => return missing(),
        };
        FileArrival::Facts(FileFacts {
            kind,
            canonical_path: path.to_owned(),
            size,
            modified: 1_796_027_000_000,
            identity: path.to_owned(),
        })
    }
}

fn missing() -> FileArrival {
    error("ENOENT")
}

fn error(name: &str) -> FileArrival {
    FileArrival::Refused(FileRefusal::Error(name.to_owned()))
}
