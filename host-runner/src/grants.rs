//! The one table of what the component may open.
//!
//! Hosts by name, programs, folders of files, HTTP origins: fixed before the component
//! starts, printed for people by [`Grants::describe`] (rule R8). It touches the file system
//! only to resolve the folders that it is given. Invariant: what is not on the table is
//! refused; there is no list of exceptions.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, bail};

use crate::discovery;
use crate::words::{HostRefusal, Root};

/// Serves one connection of a Host in this process. Called on a thread of its own, which it
/// may keep until the connection ends.
pub type FarEnd = Arc<dyn Fn(UnixStream) + Send + Sync>;

/// How a granted Host is reached.
#[derive(Clone)]
pub enum HostGrant {
    /// The Maka Runtime Host that these options lead to.
    Maka(discovery::Options),
    /// A Host in this process, at the far end of a socket pair.
    InProcess(FarEnd),
}

/// A program that may be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// What is executed: an absolute path, or a word that is looked for on `PATH`.
    pub path: PathBuf,
    /// What it is given to interpret, before all other arguments: an absolute path.
    pub script: Option<PathBuf>,
    /// It gets the minimal environment, whatever the component asks for: no key of the user
    /// and no credential of a Host reaches it.
    pub minimal_only: bool,
}

impl Program {
    /// Any program.
    #[must_use]
    pub fn at(path: impl Into<PathBuf>) -> Program {
        Program {
            path: path.into(),
            script: None,
            minimal_only: false,
        }
    }

    fn describe(&self) -> String {
        match &self.script {
            Some(script) => format!("{} {}", self.path.display(), script.display()),
            None if self.path.is_absolute() => self.path.display().to_string(),
            None => format!("{} on the PATH", self.path.display()),
        }
    }

    /// Where it is now. Relative entries of `PATH` are passed over: they would lead into the
    /// folder of a session.
    ///
    /// # Errors
    /// [`HostRefusal::Absent`] when it is nowhere; a sentence when only its interpreter is
    /// missing.
    pub fn locate(&self) -> Result<PathBuf, HostRefusal> {
        if self.script.as_ref().is_some_and(|script| !script.is_file()) {
            return Err(HostRefusal::Absent);
        }
        if self.path.is_absolute() {
            return Ok(self.path.clone());
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let found = std::env::split_paths(&path)
            .filter(|folder| folder.is_absolute())
            .map(|folder| folder.join(&self.path))
            .find(|file| executable(file));
        found.ok_or_else(|| match &self.script {
            Some(script) => HostRefusal::Failed(format!(
                "{} is not on the PATH, and {} needs it",
                self.path.display(),
                script.display()
            )),
            None => HostRefusal::Absent,
        })
    }
}

fn executable(file: &Path) -> bool {
    let mode = file.metadata().map(|it| (it.is_file(), it.mode()));
    mode.is_ok_and(|(regular, mode)| regular && mode & 0o111 != 0)
}

/// Which tool servers (MCP over stdio), named by a session with an absolute path, may be
/// started. They get the minimal environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ToolServers {
    /// None.
    #[default]
    None,
    /// Whatever a session names.
    Any,
    /// These paths.
    Only(BTreeSet<PathBuf>),
}

/// What the component may open. Starts empty.
#[derive(Clone, Default)]
pub struct Grants {
    hosts: BTreeMap<String, HostGrant>,
    programs: BTreeMap<String, Program>,
    tool_servers: ToolServers,
    linked: Vec<PathBuf>,
    host_state: Vec<PathBuf>,
    task_output: Vec<PathBuf>,
    origins: BTreeSet<String>,
}

impl Grants {
    /// Nothing.
    #[must_use]
    pub fn none() -> Grants {
        Grants::default()
    }

    /// What `host-runner` grants for itself: files that the editor names, below the folder
    /// in which it was started, the home folder, and the folders for temporary files. No
    /// Host, no program, no HTTP origin.
    #[must_use]
    pub fn standard() -> Grants {
        let mut folders = Vec::new();
        folders.extend(std::env::current_dir());
        folders.extend(std::env::var_os("HOME").map(PathBuf::from));
        folders.extend(std::env::var_os("TMPDIR").map(PathBuf::from));
        folders.push(PathBuf::from("/tmp"));
        // Desktops start programs in `/`, and accounts of services live there: that says
        // nothing about which files are meant.
        folders.retain(|folder| folder.is_absolute() && folder != Path::new("/"));
        Grants::none().with_files(Root::Linked, folders)
    }

    /// The same with files below these folders alone.
    ///
    /// # Errors
    /// A sentence that names what is no folder: who asks to be confined to it must not get
    /// anything else.
    pub fn confined(folders: &[PathBuf]) -> Result<Grants> {
        for folder in folders {
            if !folder.is_dir() {
                bail!("there is no folder {} to allow files in", folder.display());
            }
        }
        Ok(Grants::none().with_files(Root::Linked, folders.iter().cloned()))
    }

    /// Grants a Host under a name.
    #[must_use]
    pub fn with_host(mut self, name: &str, host: HostGrant) -> Grants {
        self.hosts.insert(name.to_owned(), host);
        self
    }

    /// Grants the Host `embedded`, served by `far_end` in this process.
    #[must_use]
    pub fn with_embedded(self, far_end: impl Fn(UnixStream) + Send + Sync + 'static) -> Grants {
        self.with_host("embedded", HostGrant::InProcess(Arc::new(far_end)))
    }

    /// Grants the Host `maka`.
    #[must_use]
    pub fn with_maka(self, options: discovery::Options) -> Grants {
        self.with_host("maka", HostGrant::Maka(options))
    }

    /// Grants a program under a name.
    #[must_use]
    pub fn with_program(mut self, name: &str, program: Program) -> Grants {
        self.programs.insert(name.to_owned(), program);
        self
    }

    /// Grants tool servers.
    #[must_use]
    pub fn with_tool_servers(mut self, servers: ToolServers) -> Grants {
        self.tool_servers = servers;
        self
    }

    /// Grants the files below these folders, in place of those granted before. A folder
    /// that does not exist now is left out: who may create it later is not known.
    #[must_use]
    pub fn with_files(mut self, root: Root, folders: impl IntoIterator<Item = PathBuf>) -> Grants {
        let mut granted: Vec<PathBuf> = Vec::new();
        for folder in folders {
            match folder.canonicalize() {
                Ok(folder) if granted.contains(&folder) => {}
                Ok(folder) => granted.push(folder),
                Err(error) => {
                    tracing::debug!("the folder {} is not granted: {error}", folder.display())
                }
            }
        }
        *self.folders_mut(root) = granted;
        self
    }

    /// Grants an HTTP origin, as `https://example.org` or with a port. An address that has
    /// no origin is left out.
    #[must_use]
    pub fn with_origin(mut self, url: &str) -> Grants {
        self.origins.extend(origin_of(url));
        self
    }

    /// The Host of this name.
    #[must_use]
    pub fn host(&self, name: &str) -> Option<HostGrant> {
        self.hosts.get(name).cloned()
    }

    /// The program of this name, or the tool server at this absolute path.
    #[must_use]
    pub fn program(&self, name: &str) -> Option<Program> {
        if let Some(program) = self.programs.get(name) {
            return Some(program.clone());
        }
        let path = Path::new(name);
        let allowed = path.is_absolute()
            && match &self.tool_servers {
                ToolServers::None => false,
                ToolServers::Any => true,
                ToolServers::Only(paths) => paths.contains(path),
            };
        allowed.then(|| Program {
            minimal_only: true,
            ..Program::at(path)
        })
    }

    /// Whether a path, absolute and after symbolic links, is below a granted folder.
    #[must_use]
    pub fn allows(&self, root: Root, canonical: &Path) -> bool {
        self.folders(root)
            .iter()
            .any(|folder| canonical.starts_with(folder))
    }

    /// The origin of an address, if it is granted.
    #[must_use]
    pub fn origin(&self, url: &str) -> Option<String> {
        origin_of(url).filter(|origin| self.origins.contains(origin))
    }

    fn folders(&self, root: Root) -> &[PathBuf] {
        match root {
            Root::Linked => &self.linked,
            Root::HostState => &self.host_state,
            Root::TaskOutput => &self.task_output,
        }
    }

    fn folders_mut(&mut self, root: Root) -> &mut Vec<PathBuf> {
        match root {
            Root::Linked => &mut self.linked,
            Root::HostState => &mut self.host_state,
            Root::TaskOutput => &mut self.task_output,
        }
    }

    /// The table for people, one line a grant.
    #[must_use]
    pub fn describe(&self) -> String {
        let hosts = self.hosts.iter().map(|(name, host)| match host {
            HostGrant::Maka(options) => format!("{name}: {}", options.describe()),
            HostGrant::InProcess(_) => format!("{name}: in this process"),
        });
        let programs = self
            .programs
            .iter()
            .map(|(name, program)| format!("{name}: {}", program.describe()));
        let servers: Vec<String> = match &self.tool_servers {
            ToolServers::None => Vec::new(),
            ToolServers::Any => vec!["any that a session names, minimal environment".to_owned()],
            ToolServers::Only(paths) => paths
                .iter()
                .map(|path| format!("{}, minimal environment", path.display()))
                .collect(),
        };
        let below = |root| {
            self.folders(root)
                .iter()
                .map(|folder| format!("below {}", folder.display()))
                .collect::<Vec<_>>()
        };
        let mut text = "What the component may ask for; everything else is refused:\n".to_owned();
        for (what, grants) in [
            ("Hosts", hosts.collect()),
            ("Programs", programs.collect()),
            ("Tool servers", servers),
            (
                "Files that the editor names, read only",
                below(Root::Linked),
            ),
            (
                "Files of a Host, read, written, removed",
                below(Root::HostState),
            ),
            (
                "Output of a Host's tasks, read only",
                below(Root::TaskOutput),
            ),
            ("HTTP origins", self.origins.iter().cloned().collect()),
        ] {
            let grants = if grants.is_empty() {
                vec!["none".to_owned()]
            } else {
                grants
            };
            for grant in grants {
                // Writing to a string does not fail.
                let _ = writeln!(text, "  {what}: {grant}");
            }
        }
        text
    }
}

/// `scheme://host:port` in lower case, with the port always there. `None` for anything but
/// http and https, and for addresses that hide where they lead.
fn origin_of(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    let default_port = match scheme.as_str() {
        "http" => "80",
        "https" => "443",
        _ => return None,
    };
    let authority = rest.split(['/', '?', '#']).next()?;
    // What readers of addresses disagree about (`@`, `\`) could lead elsewhere than it says.
    let odd = |c: char| matches!(c, '@' | '\\') || c.is_whitespace() || c.is_control();
    if authority.is_empty() || authority.contains(odd) {
        return None;
    }
    // An IPv6 address has colons of its own, inside brackets.
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port),
        _ => (authority, ""),
    };
    let port = if port.is_empty() { default_port } else { port };
    if host.is_empty() || !port.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    Some(format!("{scheme}://{}:{port}", host.to_ascii_lowercase()))
}

#[cfg(test)]
#[path = "grants_tests.rs"]
mod tests;
