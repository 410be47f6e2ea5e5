//! One test a check, in folders of its own: no test looks at the user's real Hosts.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Uid;
use serde_json::{Value, json};

use super::checks::Ground;
use super::{Found, Options, Problem, Registered, find, find_as, probe};

const EPOCH: &str = "6f2e7f0a-0000-4000-8000-000000000001";

/// A state root with a living Host, as a real one leaves its files.
struct World {
    folder: tempfile::TempDir,
    _socket: UnixListener,
}

impl World {
    fn new() -> World {
        let folder = tempfile::Builder::new()
            .prefix("m-")
            .tempdir_in("/tmp")
            .unwrap();
        let base = folder.path();
        for name in ["root", "hosts", "s"] {
            fs::create_dir(base.join(name)).unwrap();
        }
        let world = World {
            _socket: UnixListener::bind(base.join("s/h.sock")).unwrap(),
            folder,
        };
        fs::create_dir(world.control()).unwrap();
        mode(&world.control(), 0o700);
        mode(&world.at("s"), 0o700);
        mode(&world.endpoint(), 0o600);
        world.write(&world.marker(), &world.marker_json().to_string());
        world.write(
            &world.registration(),
            &world.registration_json().to_string(),
        );
        world
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn root_id() -> String {
        "ab".repeat(32)
    }

    fn control(&self) -> PathBuf {
        self.at("hosts").join(World::root_id())
    }

    fn marker(&self) -> PathBuf {
        self.at("root/.maka-storage-root.json")
    }

    fn registration(&self) -> PathBuf {
        self.control().join("registration.json")
    }

    fn endpoint(&self) -> PathBuf {
        self.at("s/h.sock")
    }

    fn marker_json(&self) -> Value {
        let root = fs::metadata(self.at("root")).unwrap();
        json!({ "schemaVersion": 1, "kind": "interactive", "rootId": World::root_id(),
                "rootIdentity": { "dev": root.dev().to_string(), "ino": root.ino().to_string() } })
    }

    fn registration_json(&self) -> Value {
        json!({ "kind": "maka-runtime-host", "schemaVersion": 1, "rootId": World::root_id(),
                "hostEpoch": EPOCH, "endpoint": self.endpoint(), "protocolMin": 0, "protocolMax": 0,
                "compatibilityEpoch": 39, "compositionId": "maka.interactive", "compositionRevision": "3",
                "lifecycleMode": "service", "state": "ready", "pid": std::process::id(),
                "createdAt": "2026-11-30T08:31:04.000Z" })
    }

    /// The registration with one key changed, or with `null` left out.
    fn register(&self, key: &str, value: Value) {
        let mut registration = self.registration_json();
        let keys = registration.as_object_mut().unwrap();
        if value.is_null() {
            keys.remove(key)
        } else {
            keys.insert(key.to_owned(), value)
        };
        self.write(&self.registration(), &registration.to_string());
    }

    fn write(&self, path: &Path, text: &str) {
        fs::write(path, format!("{text}\n")).unwrap();
        mode(path, 0o600);
    }

    fn options(&self) -> Options {
        Options {
            root: Some(self.at("root")),
            socket: None,
            hosts_dir: Some(self.at("hosts")),
        }
    }

    fn find(&self) -> Result<Found, Problem> {
        assert_eq!(probe(&self.options()), find(&self.options()).ok());
        find(&self.options())
    }

    fn insecure(&self) -> String {
        match self.find() {
            Err(Problem::Insecure(why)) => self.shorten(&why),
            other => panic!("{other:?}"),
        }
    }

    fn failed(&self) -> String {
        match self.find() {
            Err(Problem::Failed(why)) => self.shorten(&why),
            other => panic!("{other:?}"),
        }
    }

    /// The sentence without what differs from run to run.
    fn shorten(&self, text: &str) -> String {
        text.replace(&self.folder.path().display().to_string(), "~")
            .replace(&World::root_id(), "ID")
    }
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// A number that no process has: that of one which has just ended.
fn dead_pid() -> u32 {
    let mut child = Command::new("/bin/true").spawn().unwrap();
    child.wait().unwrap();
    child.id()
}

#[test]
fn given_a_living_host_when_it_is_looked_for_then_all_facts_are_found() {
    let world = World::new();
    let found = world.find().unwrap();

    assert_eq!(
        found,
        Found {
            endpoint: world.endpoint(),
            registered: Some(Registered {
                root_id: World::root_id(),
                host_epoch: EPOCH.to_owned(),
                compatibility_epoch: 39,
                state: "ready".to_owned(),
            }),
        }
    );
    let facts = [
        ("endpoint", world.endpoint().display().to_string()),
        ("root-id", World::root_id()),
        ("host-epoch", EPOCH.to_owned()),
        ("compatibility-epoch", "39".to_owned()),
        ("state", "ready".to_owned()),
    ];
    assert_eq!(
        found.facts(),
        facts.map(|(name, value)| (name.to_owned(), value))
    );
}

#[test]
fn given_the_state_root_through_a_link_when_it_is_looked_for_then_the_host_is_found() {
    let world = World::new();
    symlink(world.at("root"), world.at("link")).unwrap();
    let options = Options {
        root: Some(world.at("link")),
        ..world.options()
    };

    assert!(find(&options).is_ok());
}

#[test]
fn given_no_root_no_marker_no_control_folder_or_no_registration_when_looked_for_then_absent() {
    type Remove = fn(&World);
    let removals: [Remove; 4] = [
        |world| fs::remove_dir_all(world.at("root")).unwrap(),
        |world| fs::remove_file(world.marker()).unwrap(),
        |world| fs::remove_dir_all(world.control()).unwrap(),
        |world| fs::remove_file(world.registration()).unwrap(),
    ];
    for remove in removals {
        let world = World::new();
        remove(&world);
        assert_eq!(world.find(), Err(Problem::Absent));
    }
}

#[test]
fn given_files_open_to_others_when_looked_for_then_the_sentence_names_file_and_mode() {
    type Open = fn(&World);
    let cases: [(Open, &str); 5] = [
        (
            |world| mode(&world.marker(), 0o644),
            "The root marker ~/root/.maka-storage-root.json is open to other users (mode 0644); it must have mode 0600.",
        ),
        (
            |world| mode(&world.control(), 0o750),
            "The Host's control folder ~/hosts/ID is open to other users (mode 0750); it must have mode 0700.",
        ),
        (
            |world| mode(&world.registration(), 0o660),
            "The Host's registration ~/hosts/ID/registration.json is open to other users (mode 0660); it must have mode 0600.",
        ),
        (
            |world| mode(&world.at("s"), 0o755),
            "The folder of the Host's socket ~/s is open to other users (mode 0755); it must have mode 0700.",
        ),
        (
            |world| mode(&world.endpoint(), 0o666),
            "The Host's socket ~/s/h.sock is open to other users (mode 0666); it must have mode 0600.",
        ),
    ];
    for (open, sentence) in cases {
        let world = World::new();
        open(&world);
        assert_eq!(world.insecure(), sentence);
    }
}

#[test]
fn given_files_of_another_user_when_looked_for_then_insecure() {
    let world = World::new();
    let ground = Ground {
        user: Uid::from_raw(rustix::process::geteuid().as_raw() + 1),
        home: None,
    };

    let Err(Problem::Insecure(why)) = find_as(&world.options(), &ground) else {
        panic!()
    };
    assert!(
        world
            .shorten(&why)
            .starts_with("The root marker ~/root/.maka-storage-root.json belongs to user ")
    );
    let direct = Options {
        socket: Some(world.endpoint()),
        ..Options::default()
    };
    let Err(Problem::Insecure(why)) = find_as(&direct, &ground) else {
        panic!()
    };
    assert!(
        world
            .shorten(&why)
            .starts_with("The socket ~/s/h.sock belongs to user ")
    );
}

#[test]
fn given_a_registration_or_socket_behind_a_link_when_looked_for_then_insecure() {
    let world = World::new();
    fs::rename(world.registration(), world.at("elsewhere")).unwrap();
    symlink(world.at("elsewhere"), world.registration()).unwrap();
    assert_eq!(
        world.insecure(),
        "The Host's registration ~/hosts/ID/registration.json is not a regular file."
    );

    let world = World::new();
    symlink(world.endpoint(), world.at("s/link.sock")).unwrap();
    world.register("endpoint", json!(world.at("s/link.sock")));
    assert_eq!(
        world.insecure(),
        "The Host's socket ~/s/link.sock is not a socket."
    );
}

#[test]
fn given_a_fifo_as_marker_when_looked_for_then_insecure_without_waiting_for_a_writer() {
    let world = World::new();
    fs::remove_file(world.marker()).unwrap();
    assert!(
        Command::new("mkfifo")
            .arg("-m600")
            .arg(world.marker())
            .status()
            .unwrap()
            .success()
    );

    assert_eq!(
        world.insecure(),
        "The root marker ~/root/.maka-storage-root.json is not a regular file."
    );
}

#[test]
fn given_a_copied_root_when_looked_for_then_insecure() {
    let world = World::new();
    fs::create_dir(world.at("copy")).unwrap();
    fs::copy(world.marker(), world.at("copy/.maka-storage-root.json")).unwrap();
    mode(&world.at("copy/.maka-storage-root.json"), 0o600);
    let options = Options {
        root: Some(world.at("copy")),
        ..world.options()
    };

    let Err(Problem::Insecure(why)) = find(&options) else {
        panic!()
    };
    assert_eq!(
        world.shorten(&why),
        "The state root ~/copy was copied or moved: its marker belongs to another folder. Open it once in Maka, \
         or name the original with --maka-root DIR."
    );
}

#[test]
fn given_markers_that_break_a_rule_when_looked_for_then_the_sentence_says_which() {
    for (key, value, why) in [
        ("schemaVersion", json!(2), "its schemaVersion is not 1"),
        ("kind", json!("other"), "its kind is not \"interactive\""),
        (
            "rootId",
            json!("AB".repeat(32)),
            "its rootId is not 64 lower-case hexadecimal digits",
        ),
        (
            "rootId",
            json!("ab"),
            "its rootId is not 64 lower-case hexadecimal digits",
        ),
    ] {
        let world = World::new();
        let mut marker = world.marker_json();
        marker[key] = value;
        world.write(&world.marker(), &marker.to_string());
        assert_eq!(
            world.failed(),
            format!("The root marker ~/root/.maka-storage-root.json cannot be understood: {why}.")
        );
    }
}

#[test]
fn given_files_that_are_too_large_or_no_json_when_looked_for_then_the_sentence_says_so() {
    let world = World::new();
    world.write(&world.marker(), &" ".repeat(1024));
    assert_eq!(
        world.failed(),
        "The root marker ~/root/.maka-storage-root.json is larger than 1024 bytes."
    );

    let world = World::new();
    world.write(&world.registration(), &" ".repeat(16 << 10));
    assert_eq!(
        world.failed(),
        "The Host's registration ~/hosts/ID/registration.json is larger than 16384 bytes."
    );

    let world = World::new();
    world.write(&world.registration(), "{");
    assert!(
        world
            .failed()
            .contains("cannot be understood: EOF while parsing")
    );
}

#[test]
fn given_registrations_that_break_a_rule_when_looked_for_then_the_sentence_says_which() {
    for (key, value, why) in [
        ("kind", json!("x"), "its kind is not \"maka-runtime-host\""),
        ("schemaVersion", json!(2), "its schemaVersion is not 1"),
        (
            "rootId",
            json!("x"),
            "its rootId is not 64 lower-case hexadecimal digits",
        ),
        (
            "hostEpoch",
            json!(""),
            "its hostEpoch has not 1 to 128 characters",
        ),
        (
            "endpoint",
            json!("/".repeat(513)),
            "its endpoint has not 1 to 512 characters",
        ),
        (
            "compatibilityEpoch",
            json!(1_000_001),
            "its compatibilityEpoch is too large",
        ),
        ("state", json!("asleep"), "its state is not a known one"),
        ("pid", json!(0), "its pid is not a process number"),
    ] {
        let world = World::new();
        world.register(key, value);
        assert_eq!(
            world.failed(),
            format!(
                "The Host's registration ~/hosts/ID/registration.json cannot be understood: {why}."
            )
        );
    }
    for key in [
        "kind",
        "schemaVersion",
        "rootId",
        "hostEpoch",
        "endpoint",
        "state",
        "pid",
    ] {
        let world = World::new();
        world.register(key, Value::Null);
        assert!(
            world.failed().contains(&format!("missing field `{key}`")),
            "{key}"
        );
    }
}

#[test]
fn given_an_old_registration_without_a_compatibility_epoch_when_looked_for_then_it_is_0() {
    let world = World::new();
    world.register("compatibilityEpoch", Value::Null);

    assert_eq!(
        world
            .find()
            .unwrap()
            .registered
            .unwrap()
            .compatibility_epoch,
        0
    );
}

#[test]
fn given_a_host_that_drains_when_one_is_chosen_then_it_is_not_while_it_is_found() {
    let world = World::new();
    world.register("state", json!("draining"));

    assert!(find(&world.options()).is_ok());
    assert_eq!(probe(&world.options()), None);
}

#[test]
fn given_a_registration_of_another_root_when_looked_for_then_insecure() {
    let world = World::new();
    world.register("rootId", json!("cd".repeat(32)));

    assert_eq!(
        world.insecure(),
        "The Host's registration ~/hosts/ID/registration.json names another state root than the folder that it is in."
    );
}

#[test]
fn given_a_host_that_was_killed_when_looked_for_then_stale() {
    let world = World::new();
    world.register("pid", json!(dead_pid()));
    assert_eq!(world.find(), Err(Problem::Stale));

    // Its number belongs to somebody else now, and its socket is swept.
    let world = World::new();
    fs::remove_file(world.endpoint()).unwrap();
    assert_eq!(world.find(), Err(Problem::Stale));
    fs::remove_dir(world.at("s")).unwrap();
    assert_eq!(world.find(), Err(Problem::Stale));
}

#[test]
#[cfg(target_os = "linux")]
fn given_a_host_of_another_process_namespace_when_it_holds_its_lock_then_it_is_living() {
    let world = World::new();
    world.register("pid", json!(dead_pid()));
    let lock = fs::File::create(world.control().join("owner.lock")).unwrap();
    assert_eq!(world.find(), Err(Problem::Stale));

    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    assert!(world.find().is_ok());
}

#[test]
fn given_a_relative_endpoint_when_looked_for_then_failed() {
    let world = World::new();
    world.register("endpoint", json!("s/h.sock"));

    assert_eq!(
        world.failed(),
        "The socket s/h.sock is not an absolute path."
    );
}

#[test]
fn given_a_socket_named_directly_when_looked_for_then_it_is_checked_and_nothing_else_is_known() {
    let world = World::new();
    let options = Options {
        socket: Some(world.endpoint()),
        ..Options::default()
    };
    assert_eq!(
        find(&options),
        Ok(Found {
            endpoint: world.endpoint(),
            registered: None
        })
    );

    mode(&world.endpoint(), 0o660);
    let Err(Problem::Insecure(why)) = find(&options) else {
        panic!()
    };
    assert_eq!(
        world.shorten(&why),
        "The socket ~/s/h.sock is open to other users (mode 0660); it must have mode 0600."
    );

    mode(&world.endpoint(), 0o600);
    mode(&world.at("s"), 0o777);
    let Err(Problem::Insecure(why)) = find(&options) else {
        panic!()
    };
    assert_eq!(
        world.shorten(&why),
        "The socket's folder ~/s lets other users replace what is in it; use a socket in a folder of your own."
    );

    // As `/tmp` is.
    mode(&world.at("s"), 0o1777);
    assert!(find(&options).is_ok());

    let missing = Options {
        socket: Some(world.at("no.sock")),
        ..Options::default()
    };
    assert_eq!(find(&missing), Err(Problem::Absent));
}
