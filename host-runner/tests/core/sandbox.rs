//! What a component may import, and what it may use up. Rule R8 and the limits.

use std::time::Duration;

use host_runner::adapter::{Adapter, Factory, Failure, Reason};
use host_runner::sandbox::{Limits, Sandbox};
use host_runner::words::{AcpArrival, AcpDeparture, Effect, Fault, Input, Instant};

use crate::common::{Bench, puppet, puppet_bytes};

/// A component that imports this, and nothing else of interest.
fn importing(name: &str) -> Vec<u8> {
    wat::parse_str(format!(
        r#"(component (import "{name}" (instance (export "f" (func)))))"#
    ))
    .expect("the text is a component")
}

fn refusal(wasm: &[u8]) -> String {
    match Sandbox::from_bytes(wasm, Limits::default()) {
        Ok(_) => panic!("it was not refused"),
        Err(error) => format!("{error:#}"),
    }
}

fn open(limits: Limits) -> Box<dyn Adapter> {
    let sandbox = Sandbox::from_bytes(&puppet_bytes(), limits).expect("the puppet loads");
    sandbox.open("{}", &[0; 32]).expect("the puppet opens")
}

fn say(adapter: &mut dyn Adapter, line: &str) -> Result<Vec<Effect>, Failure> {
    let bytes = format!("{line}\n").into_bytes();
    let now = Instant {
        monotonic: 1,
        wall: 1,
    };
    adapter.handle(now, &[Input::Acp(AcpArrival::Bytes(bytes))])
}

fn death(adapter: &mut dyn Adapter, line: &str) -> Reason {
    match say(adapter, line) {
        Err(Failure::Trapped(reason)) => reason,
        other => panic!("no trap: {other:?}"),
    }
}

#[test]
fn given_one_wasi_import_more_when_started_then_it_is_refused_by_name_and_nothing_is_said() {
    let bench = Bench::new();
    let file = bench.path("more.wasm");
    std::fs::write(&file, importing("wasi:clocks/wall-clock@0.2.0")).unwrap();
    let end = bench.run(["--component".as_ref(), file.as_os_str()], "{}\n");
    assert_eq!(end.code, Some(1));
    assert_eq!(end.stdout, "");
    assert_eq!(
        end.stderr,
        format!(
            "host-runner: {} cannot be used: this component is refused: it imports \
             wasi:clocks/wall-clock@0.2.0, and an Airlock component may import nothing but the \
             types of airlock:adapter@0.1.0 and last-words; build it without WASI or other \
             imports\n",
            file.display()
        )
    );
}

#[test]
fn given_our_world_and_a_function_more_when_loaded_then_it_is_refused() {
    // Under an allowed name, but not what the world has there.
    let sentence = refusal(&importing("airlock:adapter/types@0.1.0"));
    assert!(
        sentence.contains("does not export airlock:adapter/adapter@0.1.0"),
        "{sentence}"
    );
    let bare = wat::parse_str(r#"(component (import "exec" (func)))"#).unwrap();
    assert!(
        refusal(&bare).contains("it imports exec,"),
        "{}",
        refusal(&bare)
    );
}

#[test]
fn given_no_component_when_loaded_then_the_sentence_says_so() {
    let module = wat::parse_str("(module)").unwrap();
    for bytes in [&b""[..], b"#!/bin/sh\n", &module] {
        let sentence = refusal(bytes);
        assert!(
            sentence.starts_with("it is not a WebAssembly component that can be compiled"),
            "{sentence}"
        );
    }
}

#[test]
fn given_a_file_that_is_too_large_or_absent_when_loaded_then_the_sentence_names_it() {
    let bench = Bench::new();
    let file = bench.path("large.wasm");
    std::fs::File::create(&file)
        .unwrap()
        .set_len((16 << 20) + 1)
        .unwrap();
    let end = bench.run(["--component".as_ref(), file.as_os_str()], "");
    assert_eq!(end.code, Some(1));
    assert_eq!(
        end.stderr,
        format!(
            "host-runner: the component file {} is larger than 16 MiB\n",
            file.display()
        )
    );
    let end = bench.run(["--component", "nowhere.wasm"], "");
    assert_eq!(
        end.stderr,
        "host-runner: the component file nowhere.wasm cannot be read: No such file or directory \
         (os error 2)\n"
    );
}

#[test]
fn given_a_panic_when_called_then_its_last_words_are_the_reason_and_the_instance_is_dead() {
    let mut adapter = open(Limits::default());
    let Reason::Other(why) = death(&mut *adapter, r#"["trap"]"#) else {
        panic!("a deadline")
    };
    assert!(
        why.starts_with("it panicked: panicked at ") && why.ends_with("told to trap"),
        "{why}"
    );
    assert!(matches!(death(&mut *adapter, "hello"), Reason::Other(_)));
}

#[test]
fn given_an_endless_loop_when_called_then_the_deadline_ends_it() {
    let deadline = Duration::from_millis(50);
    let mut adapter = open(Limits {
        deadline,
        ..Limits::default()
    });
    assert_eq!(death(&mut *adapter, r#"["spin"]"#), Reason::Deadline);
}

#[test]
fn given_memory_without_end_when_called_then_the_limit_ends_it() {
    let mut adapter = open(Limits {
        memory: 32 << 20,
        ..Limits::default()
    });
    assert!(adapter.memory() < 4 << 20);
    assert_eq!(
        death(&mut *adapter, r#"["grow"]"#),
        Reason::Other("it asked for more than 32 MiB of memory".into())
    );
    assert!(adapter.memory() > 16 << 20);
}

#[test]
fn given_endless_recursion_when_called_then_the_stack_limit_ends_it() {
    let mut adapter = open(Limits::default());
    assert!(matches!(
        death(&mut *adapter, r#"["recurse"]"#),
        Reason::Other(_)
    ));
}

#[test]
fn given_a_snapshot_when_restored_then_the_new_instance_goes_on_where_the_old_one_was() {
    let sandbox = Sandbox::from_file(puppet(), Limits::default()).expect("the puppet loads");
    let mut old = sandbox.open("{}", &[0; 32]).unwrap();
    say(&mut *old, "one").unwrap();
    let state = old.snapshot().unwrap();
    let mut new = sandbox.restore("{}", &state).unwrap();
    let answer = vec![Effect::Acp(AcpDeparture::Bytes(b"2 two\n".to_vec()))];
    assert_eq!(say(&mut *new, "two").unwrap(), answer);
    assert_eq!(say(&mut *old, "two").unwrap(), answer);
    assert_eq!(sandbox.describe().unwrap(), r#"{"name":"puppet"}"#);
}

#[test]
fn given_faults_of_the_contract_when_opened_or_restored_then_they_are_told_from_traps() {
    let sandbox = Sandbox::from_bytes(&puppet_bytes(), Limits::default()).unwrap();
    let refused = sandbox.open(r#"{"refuse":"yes"}"#, &[0; 32]).err();
    assert_eq!(
        refused,
        Some(Failure::Fault(Fault::Config(
            "it was told to refuse".into()
        )))
    );
    let damaged = sandbox.restore("{}", b"no state").err();
    assert!(
        matches!(damaged, Some(Failure::Fault(Fault::State(_)))),
        "{damaged:?}"
    );
}
