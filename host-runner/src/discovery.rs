//! Finds a Maka Runtime Host and checks that it may be trusted.
//!
//! Marker, registration and socket are files (not messages: rule R3 lets this room read
//! them). The whole trust between a client and a local Host is that the operating system
//! keeps other users out, so owner and mode are checked of every file on the way. It
//! touches the file system by reading, and nothing else: nothing is created, no lock is
//! taken, and [`probe`] does not even connect. Invariant: a [`Found`] has passed every
//! check; what failed one is a [`Problem`] that says which.

use std::fmt;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

mod checks;
mod registration;

use checks::{Ground, is};
use registration::{Marker, Registration};

/// Where to look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The state root of the Maka Host; `None`: this platform's default.
    pub root: Option<PathBuf>,
    /// This socket, whatever is registered.
    pub socket: Option<PathBuf>,
    /// Where Hosts register, in place of the folder in the account's home. For tests, so
    /// that none meets a user's real Host.
    pub hosts_dir: Option<PathBuf>,
}

/// A Host that passed every check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its socket.
    pub endpoint: PathBuf,
    /// What its registration says; `None` for a socket that was named directly.
    pub registered: Option<Registered>,
}

/// What a registration says about a Host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registered {
    /// Identity of its state root, 64 hexadecimal digits.
    pub root_id: String,
    /// Identity of its process.
    pub host_epoch: String,
    /// Version of its wire.
    pub compatibility_epoch: u64,
    /// `starting`, `containing`, `recovering`, `ready` or `draining`.
    pub state: String,
}

/// Why there is no Host to connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// None is registered.
    Absent,
    /// One was, and is gone.
    Stale,
    /// A file on the way is not as it must be; the sentence says which and how.
    Insecure(String),
    /// A file cannot be read or understood; the sentence says which and why.
    Failed(String),
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Absent => out.write_str("No Maka Runtime Host is registered; start Maka first."),
            Problem::Stale => out.write_str(
                "The registered Maka Runtime Host is gone, and left its registration behind; start Maka again.",
            ),
            Problem::Insecure(why) | Problem::Failed(why) => out.write_str(why),
        }
    }
}

impl std::error::Error for Problem {}

impl Found {
    /// The facts that go up to the component, by the names of the contract.
    #[must_use]
    pub fn facts(&self) -> Vec<(String, String)> {
        let mut facts = vec![("endpoint".to_owned(), self.endpoint.display().to_string())];
        if let Some(registered) = &self.registered {
            facts.push(("root-id".to_owned(), registered.root_id.clone()));
            facts.push(("host-epoch".to_owned(), registered.host_epoch.clone()));
            facts.push((
                "compatibility-epoch".to_owned(),
                registered.compatibility_epoch.to_string(),
            ));
            facts.push(("state".to_owned(), registered.state.clone()));
        }
        facts
    }
}

impl Options {
    /// Where these options lead, for people.
    #[must_use]
    pub fn describe(&self) -> String {
        if let Some(socket) = &self.socket {
            return format!("the Maka Runtime Host at {}", socket.display());
        }
        match self.root() {
            Some(root) => format!("the Maka Runtime Host of {}", root.display()),
            None => "the Maka Runtime Host of this account".to_owned(),
        }
    }

    fn root(&self) -> Option<PathBuf> {
        self.root.clone().or_else(default_root)
    }
}

/// Finds the Host of these options and checks it.
///
/// # Errors
/// [`Problem`], with a sentence where the user can do something.
pub fn find(options: &Options) -> Result<Found, Problem> {
    find_as(options, &Ground::own())
}

/// Like [`find`], for choosing a Host: from files alone, and nothing counts but a living
/// Host that passed every check and is not about to end.
#[must_use]
pub fn probe(options: &Options) -> Option<Found> {
    match find(options) {
        Ok(found) => {
            let ends = found
                .registered
                .as_ref()
                .is_some_and(|host| host.state == "draining");
            (!ends).then_some(found)
        }
        Err(problem) => {
            tracing::debug!("no Maka Runtime Host: {problem}");
            None
        }
    }
}

/// Checks, after connecting, that the peer runs under our own user.
///
/// # Errors
/// [`Problem::Insecure`] when it does not.
pub fn check_peer(stream: &UnixStream) -> Result<(), Problem> {
    #[cfg(target_os = "linux")]
    {
        let peer = rustix::net::sockopt::socket_peercred(stream)
            .map_err(|error| Problem::Failed(io::Error::from(error).to_string()))?;
        if peer.uid != rustix::process::geteuid() {
            return Err(Problem::Insecure(format!(
                "The Host's process runs as user {}, not as yours; it was not spoken to.",
                peer.uid.as_raw()
            )));
        }
    }
    // Elsewhere the checks of socket and folder have to do.
    let _ = stream;
    Ok(())
}

fn find_as(options: &Options, ground: &Ground) -> Result<Found, Problem> {
    if let Some(socket) = &options.socket {
        ground.socket(socket, "The socket")?;
        ground.shared_folder(parent(socket)?, "The socket's folder")?;
        return Ok(Found {
            endpoint: socket.clone(),
            registered: None,
        });
    }
    let root = options.root().ok_or_else(|| {
        Problem::Failed(
            "No home folder is known; name the state root with --maka-root DIR.".to_owned(),
        )
    })?;
    let marker = read_marker(&root, ground)?;
    let hosts = options.hosts_dir.clone().or_else(|| Some(ground.home.as_ref()?.join(HOSTS))).ok_or_else(|| {
        Problem::Failed(
            "This account has no home folder in the password database, so no Host can be registered there; \
             name its socket with --maka-socket PATH."
                .to_owned(),
        )
    })?;
    let control = hosts.join(&marker.root_id);
    ground.folder(&control, "The Host's control folder")?;
    let registration = read_registration(&control, &marker, ground)?;
    alive(&registration, &control, ground)?;
    Ok(Found {
        endpoint: registration.endpoint.clone(),
        registered: Some(Registered {
            root_id: marker.root_id,
            host_epoch: registration.host_epoch,
            compatibility_epoch: registration.compatibility_epoch,
            state: registration.state,
        }),
    })
}

/// Below the account's home.
#[cfg(not(target_vendor = "apple"))]
const HOSTS: &str = ".cache/maka/runtime-hosts";
#[cfg(target_vendor = "apple")]
const HOSTS: &str = "Library/Caches/Maka/runtime-hosts";

const MARKER: &str = ".maka-storage-root.json";
/// Bytes of a marker.
const MARKER_SIZE: u64 = 1024;
/// Bytes of a registration.
const REGISTRATION_SIZE: u64 = 16 << 10;

/// This platform's default state root.
fn default_root() -> Option<PathBuf> {
    let home = std::env::var_os("HOME")
        .map(PathBuf::from)
        .filter(|home| home.is_absolute())
        .or_else(account_home);
    let data = if cfg!(target_vendor = "apple") {
        home?.join("Library/Application Support")
    } else {
        std::env::var_os("XDG_CONFIG_HOME")
            .map(PathBuf::from)
            .filter(|folder| folder.is_absolute())
            .or_else(|| Some(home?.join(".config")))?
    };
    Some(data.join("Maka/workspaces/default"))
}

/// The home folder of the password database, which is where Hosts register whatever the
/// environment says.
fn account_home() -> Option<PathBuf> {
    use uzers::os::unix::UserExt;
    let user = uzers::get_user_by_uid(rustix::process::geteuid().as_raw())?;
    Some(user.home_dir().to_owned()).filter(|home| home.is_absolute())
}

fn read_marker(root: &Path, ground: &Ground) -> Result<Marker, Problem> {
    let canonical = match root.canonicalize() {
        Ok(canonical) => canonical,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(Problem::Absent),
        Err(error) => return Err(Problem::Failed(format!("{}: {error}", root.display()))),
    };
    let path = canonical.join(MARKER);
    let text = ground.file(&path, MARKER_SIZE, "The root marker")?;
    let marker = Marker::read(&text).map_err(|why| unreadable("root marker", &path, &why))?;
    let identity = rustix::fs::stat(&canonical).map_err(|error| {
        Problem::Failed(format!(
            "{}: {}",
            canonical.display(),
            io::Error::from(error)
        ))
    })?;
    if marker.identity != (identity.st_dev.to_string(), identity.st_ino.to_string()) {
        return Err(Problem::Insecure(format!(
            "The state root {} was copied or moved: its marker belongs to another folder. Open it once in Maka, \
             or name the original with --maka-root DIR.",
            canonical.display()
        )));
    }
    Ok(marker)
}

fn read_registration(
    control: &Path,
    marker: &Marker,
    ground: &Ground,
) -> Result<Registration, Problem> {
    let path = control.join("registration.json");
    let text = ground.file(&path, REGISTRATION_SIZE, "The Host's registration")?;
    let registration =
        Registration::read(&text).map_err(|why| unreadable("Host's registration", &path, &why))?;
    if registration.root_id != marker.root_id {
        return Err(Problem::Insecure(format!(
            "The Host's registration {} names another state root than the folder that it is in.",
            path.display()
        )));
    }
    Ok(registration)
}

fn unreadable(what: &str, path: &Path, why: &str) -> Problem {
    Problem::Failed(format!(
        "The {what} {} cannot be understood: {why}.",
        path.display()
    ))
}

/// A Host that was killed leaves everything behind, so files alone prove nothing.
fn alive(registration: &Registration, control: &Path, ground: &Ground) -> Result<(), Problem> {
    let socket = &registration.endpoint;
    let lives = is::process(registration.pid) || is::locked(&control.join("owner.lock"));
    if !lives {
        return Err(Problem::Stale);
    }
    // Absent here: a Host that is gone, or one that has not come up yet.
    let gone = |problem| {
        if problem == Problem::Absent {
            Problem::Stale
        } else {
            problem
        }
    };
    ground
        .folder(parent(socket)?, "The folder of the Host's socket")
        .map_err(gone)?;
    ground.socket(socket, "The Host's socket").map_err(gone)
}

fn parent(socket: &Path) -> Result<&Path, Problem> {
    match socket.parent() {
        Some(folder) if socket.is_absolute() => Ok(folder),
        _ => Err(Problem::Failed(format!(
            "The socket {} is not an absolute path.",
            socket.display()
        ))),
    }
}

#[cfg(test)]
#[path = "discovery_tests.rs"]
mod tests;
