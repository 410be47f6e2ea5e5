//! Tests that kill a whole program. The test program plays it: started again with a role
//! in the environment, it runs only the test that plays that role.

use super::*;
use crate::transport::supervisor;

const ROLE: &str = "AIRLOCK_TEST_ROLE";

/// This program again, in a role.
fn play(role: &str) -> process::Command {
    let mut command = process::Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "--nocapture", "--test-threads=1"])
        .arg("transport::ports::tests::roles::given_a_role_when_this_program_is_started_again_then_it_plays_it")
        .env(ROLE, role);
    command
}

#[test]
fn given_a_role_when_this_program_is_started_again_then_it_plays_it() {
    match std::env::var(ROLE).as_deref() {
        Ok("supervisor") => supervisor::main(),
        Ok("runner") => runner(),
        Ok("signals") => signals(),
        // An ordinary run of all tests.
        _ => {}
    }
}

/// Starts a child with a child, says their numbers, and waits to be killed.
fn runner() {
    let edge = Edge::with_shell();
    let mut edge = Edge {
        ports: edge.ports.supervised_by(|| play("supervisor")),
        ..edge
    };
    edge.shell(1, "trap '' TERM; sleep 1000 & echo $! $$; wait");
    print!("\nnumbers {}", edge.text(1, "\n"));
    std::io::stdout().flush().unwrap();
    // Nothing ever comes: the editor is held open by this very function.
    drop(edge.mailbox.round(None));
}

/// Waits for the end that a signal makes.
fn signals() {
    let edge = Edge::new(Grants::none());
    raise_end(edge.mailbox.clone()).unwrap();
    println!("\nready");
    println!("\n{:?}", edge.mailbox.round(None));
}

/// Starts a role and waits for a line that begins with a word; its rest.
fn start(role: &str, word: &str) -> (process::Child, BufReader<process::ChildStdout>, String) {
    let mut child = play(role).stdout(process::Stdio::piped()).spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let rest = line_with(&mut output, word);
    (child, output, rest)
}

fn line_with(output: &mut impl BufRead, word: &str) -> String {
    loop {
        let mut line = String::new();
        assert_ne!(
            output.read_line(&mut line).unwrap(),
            0,
            "no line with {word}"
        );
        if let Some(rest) = line.trim_end().strip_prefix(word) {
            return rest.to_owned();
        }
    }
}

#[test]
fn given_a_runner_with_a_child_and_its_child_when_the_runner_is_killed_then_both_are_gone() {
    let (mut runner, _output, numbers) = start("runner", "numbers ");
    let group: Vec<Process> = numbers
        .split_whitespace()
        .map(|number| Process::of(number.parse().unwrap()))
        .collect();
    assert_eq!(group.len(), 2);
    assert!(group.iter().all(Process::lives));
    runner.kill().unwrap();
    runner.wait().unwrap();

    assert!(group.iter().all(Process::ends));
}

#[test]
fn given_a_program_when_it_is_told_to_end_then_the_editor_has_ended_with_a_sentence() {
    for (signal, name) in [
        (Signal::TERM, "SIGTERM"),
        (Signal::INT, "SIGINT"),
        (Signal::HUP, "SIGHUP"),
    ] {
        let (mut program, mut output, _) = start("signals", "ready");
        kill_process(Pid::from_child(&program), signal).unwrap();
        let said = line_with(&mut output, "[Input::Acp(");
        assert_eq!(
            said,
            format!("Arrival::Ended(Ending::Broken(\"Stopped by {name}.\")))]")
        );
        program.wait().unwrap();
    }
}

#[test]
fn given_a_supervisor_that_was_killed_when_the_next_child_starts_then_it_starts_with_another() {
    let (tell, told) = channel();
    let edge = Edge::with_shell();
    let start = move || {
        tell.send(()).unwrap();
        let mut supervisor = process::Command::new("/bin/sh");
        // Ends with the second record.
        supervisor.args(["-c", "head -c 5 >/dev/null"]);
        supervisor
    };
    let mut edge = Edge {
        ports: edge.ports.supervised_by(start),
        ..edge
    };
    edge.shell(1, "cat");
    edge.opened(1);
    assert_eq!(told.try_iter().count(), 1);

    // Until the system has noticed, children are told to a supervisor that is gone.
    let mut channel = 2;
    while told.try_recv().is_err() {
        edge.shell(channel, "echo here");
        assert_eq!(edge.text(channel, "\n"), "here\n");
        channel += 1;
    }
    edge.shell(channel, "echo here");
    assert_eq!(edge.text(channel, "\n"), "here\n");
}
