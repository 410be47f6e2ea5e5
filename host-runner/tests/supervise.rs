//! The hidden `supervise` mode of the program itself.

#![cfg(target_os = "linux")]

use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};

/// What the runner tells of a group that it has started.
fn added(group: &Child) -> Vec<u8> {
    [&b"+"[..], &group.id().to_le_bytes()].concat()
}

/// A shell in a group of its own, from when its trap is set.
fn shell(script: &str) -> Child {
    let mut shell = Command::new("sh")
        .args([
            "-c",
            &format!("{script}; echo; while :; do sleep 1000 & wait $!; done"),
        ])
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()
        .unwrap();
    let mut ready = [0];
    shell
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut ready)
        .unwrap();
    shell
}

const TERMINATED: Option<i32> = Some(15);
const KILLED: Option<i32> = Some(9);

#[test]
fn given_groups_on_the_list_when_the_lifeline_closes_then_each_is_ended_and_another_is_not() {
    let (mut plain, mut other) = (shell(":"), shell(":"));
    let mut tidy = shell("trap 'exit 7' TERM");
    let mut stubborn = shell("trap '' TERM");
    let mut supervisor = Command::new(env!("CARGO_BIN_EXE_host-runner"))
        .arg("supervise")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lifeline = supervisor.stdin.take().unwrap();
    for listed in [&plain, &tidy, &stubborn] {
        lifeline.write_all(&added(listed)).unwrap();
    }
    drop(lifeline);

    assert_eq!(plain.wait().unwrap().signal(), TERMINATED);
    // It had the time to do what it does at its end.
    assert_eq!(tidy.wait().unwrap().code(), Some(7));
    assert_eq!(stubborn.wait().unwrap().signal(), KILLED);
    assert_eq!(other.try_wait().unwrap(), None);
    let group = Pid::from_child(&other);
    kill_process_group(group, Signal::KILL).unwrap();
    other.wait().unwrap();
    let output = supervisor.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stdout), (Some(0), Vec::new()));
}
