//! Sessions on disk: one JSON file a session, in a folder only its owner can
//! read. Touches that folder and nothing else. Invariant: a file is complete
//! or absent; it is written beside and renamed.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::ids;
use super::session::Session;

/// Where sessions are kept, if anywhere.
pub(crate) struct Store(Option<PathBuf>);

const ROOT: &str = "root-id";

impl Store {
    pub(crate) fn open(folder: Option<&Path>) -> Result<Store> {
        if let Some(folder) = folder {
            fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(folder)
                .with_context(|| format!("cannot make the state folder {}", folder.display()))?;
        }
        Ok(Store(folder.map(Path::to_path_buf)))
    }

    /// The identity of this folder's state, made at its first use.
    pub(crate) fn root_id(&self) -> Result<String> {
        let Some(folder) = &self.0 else {
            return Ok(ids::root());
        };
        let path = folder.join(ROOT);
        if !path.exists() {
            self.write(ROOT, &ids::root())?;
        }
        let id =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        ensure!(
            id.len() == 64 && id.bytes().all(|byte| byte.is_ascii_hexdigit()),
            "{} does not hold a root id; remove the folder to start afresh",
            path.display()
        );
        Ok(id)
    }

    pub(crate) fn load(&self) -> Result<BTreeMap<String, Session>> {
        let mut sessions = BTreeMap::new();
        let Some(folder) = &self.0 else {
            return Ok(sessions);
        };
        for entry in
            fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?
        {
            let path = entry?.path();
            if path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            let text = fs::read_to_string(&path)
                .with_context(|| format!("cannot read {}", path.display()))?;
            let session: Session = serde_json::from_str(&text).with_context(|| {
                format!(
                    "{} is not a session of this version; remove it to go on",
                    path.display()
                )
            })?;
            sessions.insert(session.id.clone(), session);
        }
        Ok(sessions)
    }

    pub(crate) fn save(&self, session: &Session) -> Result<()> {
        self.write(
            &format!("{}.json", session.id),
            &serde_json::to_string(session)?,
        )
    }

    pub(crate) fn remove(&self, session: &str) -> Result<()> {
        if let Some(folder) = &self.0 {
            fs::remove_file(folder.join(format!("{session}.json")))?;
        }
        Ok(())
    }

    fn write(&self, name: &str, text: &str) -> Result<()> {
        let Some(folder) = &self.0 else { return Ok(()) };
        let beside = folder.join(format!("{name}.{}.tmp", ids::uuid()));
        let mut file = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&beside)?;
        let written = file
            .write_all(text.as_bytes())
            .and_then(|()| fs::rename(&beside, folder.join(name)));
        if written.is_err() {
            let _ = fs::remove_file(&beside);
        }
        Ok(written?)
    }
}
