//! What files answer, in folders of their own.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use rustix::io::Errno;

use super::Files;
use super::place::{NotThere, Place};
use crate::grants::Grants;
use crate::transport::Mailbox;
use crate::words::{FileArrival, FileDeparture, FileFacts, FileKind, FileRefusal, Input, Root};

/// Files with one folder of each kind granted, and one that is not.
struct World {
    folder: tempfile::TempDir,
    mailbox: Mailbox,
    files: Files,
}

impl World {
    fn new() -> World {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        for name in ["linked", "state", "tasks", "outside"] {
            fs::create_dir(base.join(name)).unwrap();
        }
        let grants = Grants::none()
            .with_files(Root::Linked, [base.join("linked")])
            .with_files(Root::HostState, [base.join("state")])
            .with_files(Root::TaskOutput, [base.join("tasks")]);
        let mailbox = Mailbox::new();
        let files = Files::start(mailbox.clone(), Arc::new(grants)).unwrap();
        World {
            folder,
            mailbox,
            files,
        }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    fn path(&self, name: &str) -> String {
        self.at(name).to_str().unwrap().to_owned()
    }

    fn write(&self, name: &str, content: &[u8]) {
        fs::write(self.at(name), content).unwrap();
    }

    /// Sends a request and waits for its answer.
    fn ask(&self, handle: u32, departure: FileDeparture) -> FileArrival {
        self.files.carry(handle, departure);
        let inputs = self
            .mailbox
            .round(Some(Instant::now() + Duration::from_secs(10)));
        match <[Input; 1]>::try_from(inputs) {
            Ok([Input::File((of, answer))]) if of == handle => answer,
            other => panic!("{other:?}"),
        }
    }

    fn stat(&self, root: Root, name: &str) -> FileArrival {
        self.ask(1, FileDeparture::Stat((root, self.path(name))))
    }

    fn open(&self, handle: u32, name: &str) -> FileArrival {
        self.ask(handle, FileDeparture::Open((Root::Linked, self.path(name))))
    }

    /// What the contract says about what is there.
    fn facts(&self, name: &str, kind: FileKind) -> FileFacts {
        let path = self.at(name);
        let metadata = fs::metadata(&path).unwrap();
        let modified = metadata
            .modified()
            .unwrap()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap();
        FileFacts {
            kind,
            canonical_path: path.canonicalize().unwrap().to_str().unwrap().to_owned(),
            size: metadata.len(),
            modified: u64::try_from(modified.as_millis()).unwrap(),
            identity: format!("{}:{}", metadata.dev(), metadata.ino()),
        }
    }
}

fn error(name: &str) -> FileArrival {
    FileArrival::Refused(FileRefusal::Error(name.to_owned()))
}

const NOT_ALLOWED: FileArrival = FileArrival::Refused(FileRefusal::NotAllowed);
const NOT_REGULAR: FileArrival = FileArrival::Refused(FileRefusal::NotRegular);

#[test]
fn given_a_file_when_it_is_opened_and_read_then_facts_and_content_come_with_offsets() {
    let world = World::new();
    let content: Vec<u8> = (0..70_000_u32).map(|n| (n % 251) as u8).collect();
    world.write("linked/a", &content);

    assert_eq!(
        world.open(5, "linked/a"),
        FileArrival::Facts(world.facts("linked/a", FileKind::File))
    );
    assert_eq!(
        world.ask(5, FileDeparture::Read((0, 65_536))),
        FileArrival::Data((0, content[..65_536].to_vec()))
    );
    assert_eq!(
        world.ask(5, FileDeparture::Read((65_536, 65_536))),
        FileArrival::Data((65_536, content[65_536..].to_vec()))
    );
    assert_eq!(
        world.ask(5, FileDeparture::Read((70_000, 10))),
        FileArrival::Data((70_000, Vec::new()))
    );
    assert_eq!(
        world.ask(5, FileDeparture::Read((u64::MAX, 10))),
        error("EINVAL")
    );
    assert_eq!(
        world.ask(5, FileDeparture::Read((0, 65_537))),
        error("EINVAL")
    );
}

#[test]
fn given_an_open_file_when_another_takes_its_path_then_the_opened_one_is_read() {
    let world = World::new();
    world.write("linked/a", b"old");
    world.open(5, "linked/a");
    world.write("linked/b", b"new");
    fs::rename(world.at("linked/b"), world.at("linked/a")).unwrap();

    assert_eq!(
        world.ask(5, FileDeparture::Read((0, 9))),
        FileArrival::Data((0, b"old".to_vec()))
    );
}

#[test]
fn given_links_when_they_lead_out_of_the_granted_folders_then_not_allowed_else_followed() {
    let world = World::new();
    world.write("linked/a", b"in");
    world.write("outside/secret", b"out");
    symlink(world.at("linked/a"), world.at("linked/in")).unwrap();
    symlink(world.at("outside/secret"), world.at("linked/out")).unwrap();
    symlink(world.at("outside"), world.at("linked/folder")).unwrap();

    let facts = FileArrival::Facts(world.facts("linked/a", FileKind::File));
    assert_eq!(world.open(2, "linked/in"), facts);
    assert_eq!(world.open(3, "linked/out"), NOT_ALLOWED);
    assert_eq!(world.open(4, "linked/folder/secret"), NOT_ALLOWED);
    assert_eq!(world.open(5, "linked/../outside/secret"), NOT_ALLOWED);
    assert_eq!(world.stat(Root::Linked, "linked/out"), NOT_ALLOWED);
    assert_eq!(world.ask(3, FileDeparture::Read((0, 10))), error("EBADF"));
}

/// `--allow-files`: what else the standard table grants (here the temporary folder) is not.
#[test]
fn given_files_confined_to_folders_when_links_lead_out_of_them_then_not_allowed() {
    let mut world = World::new();
    world.write("linked/a", b"in");
    world.write("outside/secret", b"out");
    symlink(world.at("linked/a"), world.at("linked/in")).unwrap();
    symlink(world.at("outside/secret"), world.at("linked/out")).unwrap();
    symlink(world.at("linked"), world.at("alias")).unwrap();
    symlink(world.at("outside"), world.at("linked/folder")).unwrap();
    // Named by a link, the folder itself counts.
    let grants = Grants::confined(&[world.at("alias"), world.at("state")]).unwrap();
    world.files = Files::start(world.mailbox.clone(), Arc::new(grants)).unwrap();

    let facts = FileArrival::Facts(world.facts("linked/a", FileKind::File));
    assert_eq!(world.open(2, "linked/in"), facts);
    assert_eq!(world.open(3, "alias/a"), facts);
    for outside in ["linked/out", "linked/folder/secret", "outside/secret"] {
        assert_eq!(world.open(4, outside), NOT_ALLOWED, "{outside}");
    }
    let missing = Grants::confined(&[world.at("nowhere")]);
    assert!(missing.is_err_and(|why| why.to_string().contains("nowhere")));
}

#[test]
fn given_what_does_not_exist_when_it_is_outside_then_not_even_that_is_told() {
    let world = World::new();
    symlink(world.at("outside"), world.at("linked/folder")).unwrap();

    assert_eq!(world.stat(Root::Linked, "linked/no"), error("ENOENT"));
    assert_eq!(
        world.stat(Root::Linked, "linked/no/deeper"),
        error("ENOENT")
    );
    assert_eq!(world.stat(Root::Linked, "outside/no"), NOT_ALLOWED);
    assert_eq!(world.stat(Root::Linked, "linked/folder/no"), NOT_ALLOWED);
}

#[test]
fn given_a_hostile_component_when_it_asks_for_system_files_by_any_root_then_not_allowed() {
    let world = World::new();
    for root in [Root::Linked, Root::HostState, Root::TaskOutput] {
        for path in [
            "/etc/shadow",
            "/etc/passwd",
            "/proc/self/environ",
            "/proc/self/root/etc/passwd",
            "/",
        ] {
            assert_eq!(
                world.ask(1, FileDeparture::Stat((root, path.to_owned()))),
                NOT_ALLOWED,
                "{path}"
            );
            assert_eq!(
                world.ask(1, FileDeparture::Open((root, path.to_owned()))),
                NOT_ALLOWED,
                "{path}"
            );
            assert_eq!(
                world.ask(1, FileDeparture::Entries((root, path.to_owned()))),
                NOT_ALLOWED,
                "{path}"
            );
        }
    }
}

#[test]
fn given_the_folder_of_one_root_when_it_is_asked_by_another_then_not_allowed() {
    let world = World::new();
    world.write("state/s", b"");

    assert_eq!(world.stat(Root::Linked, "state/s"), NOT_ALLOWED);
    assert_eq!(world.stat(Root::TaskOutput, "state/s"), NOT_ALLOWED);
    assert_eq!(
        world.stat(Root::HostState, "state/s"),
        FileArrival::Facts(world.facts("state/s", FileKind::File))
    );
}

#[test]
fn given_a_fifo_a_socket_and_a_folder_when_they_are_opened_then_not_regular_and_nobody_waits() {
    let world = World::new();
    let fifo = world.at("linked/fifo");
    assert!(
        Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .unwrap()
            .success()
    );
    let _socket = UnixListener::bind(world.at("linked/socket")).unwrap();
    fs::create_dir(world.at("linked/folder")).unwrap();

    for name in ["linked/fifo", "linked/socket", "linked/folder"] {
        assert_eq!(world.open(1, name), NOT_REGULAR, "{name}");
    }
    let facts = world.facts("linked/fifo", FileKind::Other);
    assert_eq!(
        world.stat(Root::Linked, "linked/fifo"),
        FileArrival::Facts(facts)
    );
    let facts = world.facts("linked/folder", FileKind::Folder);
    assert_eq!(
        world.stat(Root::Linked, "linked/folder"),
        FileArrival::Facts(facts)
    );
}

#[test]
fn given_paths_that_cannot_be_asked_when_they_are_then_einval() {
    let world = World::new();
    assert_eq!(
        world.ask(
            1,
            FileDeparture::Open((Root::Linked, "relative".to_owned()))
        ),
        error("EINVAL")
    );
    assert_eq!(
        world.ask(1, FileDeparture::Open((Root::Linked, String::new()))),
        error("EINVAL")
    );
    let nul = format!("{}\0", world.path("linked"));
    assert!(matches!(
        world.ask(1, FileDeparture::Open((Root::Linked, nul))),
        FileArrival::Refused(FileRefusal::Error(_) | FileRefusal::NotAllowed)
    ));
}

#[test]
fn given_a_folder_when_its_entries_are_asked_then_they_come_sorted_and_only_what_may_be_asked_for()
{
    let world = World::new();
    world.write("linked/b", b"12");
    world.write("linked/a", b"1");
    world.write("outside/secret", b"");
    fs::create_dir(world.at("linked/folder")).unwrap();
    symlink(world.at("outside/secret"), world.at("linked/out")).unwrap();
    symlink(world.at("nowhere"), world.at("linked/broken")).unwrap();
    symlink(world.at("linked/a"), world.at("linked/link")).unwrap();

    let entry = |name: &str, kind| {
        (
            name.to_owned(),
            world.facts(&format!("linked/{name}"), kind),
        )
    };
    assert_eq!(
        world.ask(
            1,
            FileDeparture::Entries((Root::Linked, world.path("linked")))
        ),
        FileArrival::Entries(vec![
            entry("a", FileKind::File),
            entry("b", FileKind::File),
            entry("folder", FileKind::Folder),
            entry("link", FileKind::File),
        ])
    );
    assert_eq!(
        world.ask(
            1,
            FileDeparture::Entries((Root::Linked, world.path("linked/a")))
        ),
        error("ENOTDIR")
    );
}

#[test]
fn given_a_folder_with_more_entries_than_are_listed_when_they_are_asked_then_eoverflow() {
    let world = World::new();
    let path = world.path("linked");
    let grants = Grants::none().with_files(Root::Linked, [world.at("linked")]);
    let entries = |at_most| {
        let place = Place::find(&grants, Root::Linked, &path).unwrap();
        place
            .entries(&grants, Root::Linked, at_most)
            .map(|entries| entries.len())
    };
    world.write("linked/a", b"");
    world.write("linked/b", b"");

    assert!(matches!(entries(2), Ok(2)));
    assert!(matches!(entries(1), Err(NotThere::Error(Errno::OVERFLOW))));
}

#[test]
fn given_host_state_when_a_file_is_made_and_grows_then_never_over_another_and_never_elsewhere() {
    let world = World::new();
    world.write("state/there", b"kept");
    world.write("linked/l", b"kept");
    world.write("outside/o", b"kept");
    let create = |path: &str, content: &[u8]| {
        world.ask(
            1,
            FileDeparture::Create((world.path(path), content.to_vec())),
        )
    };
    let append = |path: &str, content: &[u8]| {
        world.ask(
            1,
            FileDeparture::Append((world.path(path), content.to_vec())),
        )
    };

    assert_eq!(create("state/new", b"one\n"), FileArrival::Done);
    assert_eq!(append("state/new", b"two\n"), FileArrival::Done);
    assert_eq!(fs::read(world.at("state/new")).unwrap(), b"one\ntwo\n");
    assert_eq!(
        fs::metadata(world.at("state/new")).unwrap().mode() & 0o7777,
        0o600
    );
    assert_eq!(create("state/there", b"x"), error("EEXIST"));
    assert_eq!(append("state/nothing", b"x"), error("ENOENT"));
    assert_eq!(append("state", b"x"), NOT_REGULAR);
    let long = vec![b'x'; 65_537];
    assert_eq!(create("state/long", &long), error("EINVAL"));
    assert_eq!(append("state/there", &long), error("EINVAL"));
    symlink(world.at("outside/o"), world.at("state/link")).unwrap();
    symlink(world.at("outside/new"), world.at("state/dangling")).unwrap();
    assert_eq!(append("state/link", b"x"), NOT_ALLOWED);
    assert_eq!(create("state/dangling", b"x"), error("EEXIST"));
    for elsewhere in ["outside/n", "linked/n"] {
        assert_eq!(create(elsewhere, b"x"), NOT_ALLOWED);
        assert!(!world.at(elsewhere).exists());
    }
    assert_eq!(append("linked/l", b"x"), NOT_ALLOWED);
    assert_eq!(append("outside/o", b"x"), NOT_ALLOWED);
    for kept in ["state/there", "linked/l", "outside/o"] {
        assert_eq!(fs::read(world.at(kept)).unwrap(), b"kept");
    }
    assert!(!world.at("state/long").exists() && !world.at("outside/new").exists());
}

#[test]
fn given_a_host_state_file_when_it_is_copied_then_never_over_another_and_never_elsewhere() {
    let world = World::new();
    world.write("state/a", b"content");
    world.write("state/there", b"kept");
    world.write("linked/l", b"");
    let copy = |from: &str, to: &str| {
        world.ask(1, FileDeparture::Copy((world.path(from), world.path(to))))
    };

    assert_eq!(copy("state/a", "state/b"), FileArrival::Done);
    assert_eq!(fs::read(world.at("state/b")).unwrap(), b"content");
    assert_eq!(
        fs::metadata(world.at("state/b")).unwrap().mode() & 0o7777,
        0o600
    );
    assert_eq!(copy("state/a", "state/there"), error("EEXIST"));
    assert_eq!(fs::read(world.at("state/there")).unwrap(), b"kept");
    assert_eq!(copy("state/a", "outside/b"), NOT_ALLOWED);
    assert_eq!(copy("state/a", "linked/b"), NOT_ALLOWED);
    assert_eq!(copy("linked/l", "state/l"), NOT_ALLOWED);
    assert_eq!(copy("state", "state/c"), NOT_REGULAR);
    assert!(
        !world.at("outside/b").exists()
            && !world.at("linked/b").exists()
            && !world.at("state/c").exists()
    );

    symlink(world.at("outside/new"), world.at("state/dangling")).unwrap();
    assert_eq!(copy("state/a", "state/dangling"), error("EEXIST"));
    assert!(!world.at("outside/new").exists());
}

#[test]
fn given_a_host_state_file_when_it_is_removed_then_only_regular_files_there_go() {
    let world = World::new();
    world.write("state/a", b"");
    world.write("linked/l", b"");
    fs::create_dir(world.at("state/folder")).unwrap();
    symlink(world.at("linked/l"), world.at("state/link")).unwrap();
    let remove = |name: &str| world.ask(1, FileDeparture::Remove(world.path(name)));

    assert_eq!(remove("state/a"), FileArrival::Done);
    assert_eq!(remove("state/a"), error("ENOENT"));
    assert_eq!(remove("state/folder"), NOT_REGULAR);
    assert_eq!(remove("state/link"), NOT_REGULAR);
    assert_eq!(remove("linked/l"), NOT_ALLOWED);
    assert_eq!(remove("state"), NOT_ALLOWED);
    assert!(world.at("linked/l").exists() && world.at("state/link").is_symlink());
}

#[test]
fn given_a_closed_handle_when_a_request_was_on_its_way_then_no_arrival_follows_and_the_file_is_gone()
 {
    let world = World::new();
    world.write("linked/a", b"a");
    world.open(5, "linked/a");
    world.files.carry(5, FileDeparture::Read((0, 1)));
    world.files.carry(5, FileDeparture::Close);

    // The worker answers in order: after this one, the others are through.
    let facts = FileArrival::Facts(world.facts("linked/a", FileKind::File));
    assert_eq!(world.open(6, "linked/a"), facts);
    assert_eq!(world.ask(5, FileDeparture::Read((0, 1))), error("EBADF"));
}

#[test]
fn given_a_file_that_grows_when_it_is_read_again_then_the_new_part_comes() {
    let world = World::new();
    world.write("tasks-source", b"");
    let mut file = File::create(world.at("tasks/output")).unwrap();
    file.write_all(b"one").unwrap();
    world.ask(
        5,
        FileDeparture::Open((Root::TaskOutput, world.path("tasks/output"))),
    );
    assert_eq!(
        world.ask(5, FileDeparture::Read((0, 9))),
        FileArrival::Data((0, b"one".to_vec()))
    );
    file.write_all(b"two").unwrap();

    assert_eq!(
        world.ask(5, FileDeparture::Read((3, 9))),
        FileArrival::Data((3, b"two".to_vec()))
    );
}
