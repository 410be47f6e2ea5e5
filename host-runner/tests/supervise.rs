//! The hidden `supervise` mode of the program itself.

#![cfg(target_os = "linux")]

use std::io::Write;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};

/// What the runner tells of a group that it has started.
fn added(group: &Child) -> Vec<u8> {
    [&b"+"[..], &group.id().to_le_bytes()].concat()
}

fn sleeper() -> Child {
    Command::new("sleep")
        .arg("1000")
        .process_group(0)
        .spawn()
        .unwrap()
}

#[test]
fn given_a_group_on_the_list_when_the_lifeline_closes_then_it_is_killed_and_another_is_not() {
    let (mut listed, mut other) = (sleeper(), sleeper());
    let mut supervisor = Command::new(env!("CARGO_BIN_EXE_host-runner"))
        .arg("supervise")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lifeline = supervisor.stdin.take().unwrap();
    lifeline.write_all(&added(&listed)).unwrap();
    drop(lifeline);

    const KILLED: Option<i32> = Some(9);
    assert_eq!(listed.wait().unwrap().signal(), KILLED);
    assert_eq!(other.try_wait().unwrap(), None);
    other.kill().unwrap();
    other.wait().unwrap();
    let output = supervisor.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stdout), (Some(0), Vec::new()));
}
