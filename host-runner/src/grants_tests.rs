//! The table, and what is not on it.

use std::path::{Path, PathBuf};

use super::{Grants, Program, ToolServers, origin_of};
use crate::discovery;
use crate::words::{HostRefusal, Root};

#[test]
fn given_an_empty_table_when_anything_is_asked_then_it_is_not_there() {
    let grants = Grants::none();

    assert!(grants.host("maka").is_none());
    assert_eq!(grants.program("/bin/sh"), None);
    assert_eq!(grants.program("claude"), None);
    assert_eq!(grants.origin("https://example.org/"), None);
    for root in [Root::Linked, Root::HostState, Root::TaskOutput] {
        assert!(!grants.allows(root, Path::new("/")));
        assert!(!grants.allows(root, Path::new("/etc/shadow")));
    }
}

#[test]
fn given_the_standard_table_when_programs_hosts_and_system_files_are_asked_then_they_are_not_there()
{
    let grants = Grants::standard();

    assert_eq!(grants.program("/bin/sh"), None);
    assert!(grants.host("embedded").is_none());
    assert!(!grants.allows(Root::Linked, Path::new("/etc/shadow")));
    assert!(grants.allows(Root::Linked, Path::new("/tmp/x")));
    assert!(!grants.allows(Root::HostState, Path::new("/tmp/x")));
    assert!(!grants.allows(Root::TaskOutput, Path::new("/tmp/x")));
}

#[test]
fn given_tool_servers_when_a_path_is_asked_then_only_listed_absolute_ones_start_and_with_the_minimal_environment()
 {
    let server = |path: &str| {
        Some(Program {
            minimal_only: true,
            ..Program::at(path)
        })
    };
    let some =
        Grants::none().with_tool_servers(ToolServers::Only([PathBuf::from("/opt/mcp")].into()));
    let any = Grants::none().with_tool_servers(ToolServers::Any);

    assert_eq!(some.program("/opt/mcp"), server("/opt/mcp"));
    assert_eq!(some.program("/opt/other"), None);
    assert_eq!(any.program("/opt/other"), server("/opt/other"));
    assert_eq!(any.program("opt/other"), None);
}

#[test]
fn given_a_named_program_when_it_is_asked_then_its_path_comes_from_the_table() {
    let grants = Grants::none().with_program("claude", Program::at("/opt/claude"));

    assert_eq!(grants.program("claude"), Some(Program::at("/opt/claude")));
    assert_eq!(grants.program("/opt/claude"), None);
}

#[test]
fn given_a_word_when_it_is_located_then_it_is_the_executable_file_on_the_path() {
    let found = Program::at("sh").locate().unwrap();
    assert!(found.is_absolute() && found.ends_with("sh"), "{found:?}");
    let nowhere = Program::at("no-such-program-anywhere");
    assert_eq!(nowhere.locate(), Err(HostRefusal::Absent));
    let script = |path: &str, script: PathBuf| Program {
        script: Some(script),
        ..Program::at(path)
    };
    let missing = script("sh", "/nowhere/cli.js".into());
    assert_eq!(missing.locate(), Err(HostRefusal::Absent));
    let file = tempfile::NamedTempFile::new().unwrap();
    let there = script("sh", file.path().into());
    assert_eq!(there.locate(), Ok(found));
    let uninterpreted = script("no-such-program-anywhere", file.path().into());
    let why = format!(
        "no-such-program-anywhere is not on the PATH, and {} needs it",
        file.path().display()
    );
    assert_eq!(uninterpreted.locate(), Err(HostRefusal::Failed(why)));
}

#[test]
fn given_a_granted_folder_when_a_neighbour_begins_with_its_name_then_that_one_is_not_granted() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().canonicalize().unwrap().join("a");
    std::fs::create_dir(&folder).unwrap();
    let grants = Grants::none().with_files(Root::Linked, [folder.clone()]);

    assert!(grants.allows(Root::Linked, &folder.join("b/c")));
    assert!(!grants.allows(Root::Linked, &folder.with_file_name("ab")));
}

#[test]
fn given_addresses_when_their_origin_is_read_then_tricks_have_none() {
    for (url, origin) in [
        ("http://Example.org", Some("http://example.org:80")),
        ("HTTPS://example.org/a?b#c", Some("https://example.org:443")),
        (
            "https://example.org:8443/",
            Some("https://example.org:8443"),
        ),
        ("http://[::1]/", Some("http://[::1]:80")),
        ("http://[::1]:9/", Some("http://[::1]:9")),
        ("http://good.example@evil.example/", None),
        ("http://good.example\\@evil.example/", None),
        ("http://good.example\\.evil.example/", None),
        ("ftp://example.org/", None),
        ("http:///path", None),
        ("http://example.org:no/", None),
        ("http://exa mple.org/", None),
        ("/etc/passwd", None),
    ] {
        assert_eq!(origin_of(url).as_deref(), origin, "{url}");
    }
}

#[test]
fn given_a_granted_origin_when_another_port_or_scheme_is_asked_then_it_is_not_granted() {
    let grants = Grants::none().with_origin("https://example.org");

    assert_eq!(
        grants.origin("https://example.org/x").as_deref(),
        Some("https://example.org:443")
    );
    assert_eq!(grants.origin("http://example.org/x"), None);
    assert_eq!(grants.origin("https://example.org:8443/x"), None);
}

#[test]
fn given_a_table_when_it_is_described_then_every_grant_and_every_empty_row_is_there() {
    let grants = Grants::none()
        .with_embedded(drop)
        .with_maka(discovery::Options {
            root: Some("/state".into()),
            ..Default::default()
        })
        .with_program("claude", Program::at("claude"))
        .with_program(
            "old",
            Program {
                script: Some("/opt/cli.js".into()),
                ..Program::at("node")
            },
        )
        .with_tool_servers(ToolServers::Any)
        .with_files(Root::Linked, ["/".into()])
        .with_origin("https://example.org");

    assert_eq!(
        grants.describe(),
        "What the component may ask for; everything else is refused:\n  \
         Hosts: embedded: in this process\n  \
         Hosts: maka: the Maka Runtime Host of /state\n  \
         Programs: claude: claude on the PATH\n  \
         Programs: old: node /opt/cli.js\n  \
         Tool servers: any that a session names, minimal environment\n  \
         Files that the editor names, read only: below /\n  \
         Files of a Host, read, written, removed: none\n  \
         Output of a Host's tasks, read only: none\n  \
         HTTP origins: https://example.org:443\n"
    );
}
