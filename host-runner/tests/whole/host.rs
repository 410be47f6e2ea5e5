//! The embedded Host on a socket of its own, in the test's process: it can be killed.

use std::fs;
use std::net::Shutdown;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use host_runner::embedded::{Options, World, serve};
use tempfile::TempDir;

pub struct Host {
    folder: TempDir,
    world: Arc<World>,
    open: Arc<Mutex<Vec<UnixStream>>>,
    dead: Arc<AtomicBool>,
}

impl Host {
    /// Plays the built-in script.
    pub fn start() -> Host {
        Host::playing(None)
    }

    /// Plays this script.
    pub fn playing(script: Option<&str>) -> Host {
        let folder = tempfile::tempdir().expect("a folder");
        let script = script.map(|text| {
            let path = folder.path().join("script.json");
            fs::write(&path, text).expect("a script");
            path
        });
        let path = folder.path().join("h.sock");
        let listener = UnixListener::bind(&path).expect("a socket");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("its mode");
        let world = World::new(Options {
            script,
            ..Options::default()
        })
        .expect("a script");
        let open = Arc::new(Mutex::new(Vec::new()));
        let dead = Arc::new(AtomicBool::new(false));
        let host = Host {
            folder,
            world: world.clone(),
            open: open.clone(),
            dead: dead.clone(),
        };
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                if dead.load(Ordering::SeqCst) {
                    return;
                }
                open.lock()
                    .expect("no panic")
                    .push(stream.try_clone().expect("a handle"));
                let world = world.clone();
                thread::spawn(move || serve(stream, world));
            }
        });
        host
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("h.sock")
    }

    pub fn socket(&self) -> String {
        self.path().to_string_lossy().into_owned()
    }

    /// As after SIGKILL: connections break, the socket is gone.
    pub fn kill(&self) {
        self.dead.store(true, Ordering::SeqCst);
        fs::remove_file(self.path()).expect("the socket was there");
        self.drop_connections();
    }

    pub fn drop_connections(&self) {
        for stream in self.open.lock().expect("no panic").drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// A new Host process with the same stored sessions.
    pub fn restart(&self) {
        self.world.faults().restart();
    }
}
