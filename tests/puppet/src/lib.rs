//! A component whose strings a test pulls. It speaks the contract, not ACP: a line from the
//! editor that is a JSON array is a list of actions (`act.rs`), any other is echoed with a
//! running number, and everything else that arrives is reported as a line. Native builds
//! see an empty crate.
#![cfg(target_family = "wasm")]
#![no_std]

extern crate alloc;

mod act;
mod report;
#[path = "../../../component/src/rt.rs"]
mod rt;

mod wit {
    #![allow(missing_docs, unsafe_op_in_unsafe_fn)]
    wit_bindgen::generate!({ world: "acp-adapter", path: "../../wit" });
}

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::cell::RefCell;

use serde_json::{Value, json};
use wit::airlock::adapter::acp_io::{Arrival, Departure};
use wit::airlock::adapter::types::Instant;
use wit::exports::airlock::adapter::adapter::{
    Effect, Engine, Fault, Guest, GuestEngine, Input, Origin,
};

struct Puppet;

impl Guest for Puppet {
    type Engine = Cell;

    fn describe() -> String {
        json!({ "name": "puppet" }).to_string()
    }
}

struct Cell(RefCell<State>);

/// Everything that a snapshot keeps.
#[derive(Default)]
struct State {
    /// Lines said so far: shows what was lost or doubled.
    said: u64,
    tail: String,
    /// What shall fail: `snapshot`, `restore`, `poison`, `end`; or `forget` (a restore that
    /// answers differently).
    fails: Vec<String>,
}

impl GuestEngine for Cell {
    fn open(config: String, seed: Vec<u8>) -> Result<Engine, Fault> {
        let config: Value =
            serde_json::from_str(&config).map_err(|error| Fault::Config(error.to_string()))?;
        if seed.len() != 32 {
            return Err(Fault::Config("a seed has 32 bytes".to_owned()));
        }
        if config["refuse"].is_string() {
            return Err(Fault::Config("it was told to refuse".to_owned()));
        }
        Ok(Engine::new(Cell(RefCell::default())))
    }

    fn restore(_config: String, state: Vec<u8>) -> Result<Engine, Fault> {
        let state: Value =
            serde_json::from_slice(&state).map_err(|error| Fault::State(error.to_string()))?;
        let fails: Vec<String> = state["fails"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|what| what.as_str().map(ToOwned::to_owned))
            .collect();
        let fails_at = |what: &str| fails.iter().any(|fails| fails == what);
        assert!(!fails_at("restore"), "told to fail in restore");
        Ok(Engine::new(Cell(RefCell::new(State {
            said: state["said"].as_u64().unwrap_or(0) + if fails_at("forget") { 1000 } else { 0 },
            tail: state["tail"].as_str().unwrap_or("").to_owned(),
            fails,
        }))))
    }

    fn handle(&self, _now: Instant, inputs: Vec<Input>) -> Result<Vec<Effect>, Fault> {
        let mut state = self.0.borrow_mut();
        let mut out = Vec::new();
        for input in inputs {
            state.input(input, &mut out);
        }
        Ok(out)
    }

    fn snapshot(&self) -> Vec<u8> {
        let state = self.0.borrow();
        assert!(!state.fails("snapshot"), "told to fail in snapshot");
        json!({ "said": state.said, "tail": state.tail, "fails": state.fails })
            .to_string()
            .into_bytes()
    }
}

impl State {
    fn input(&mut self, input: Input, out: &mut Vec<Effect>) {
        match input {
            Input::Acp(Arrival::Bytes(bytes)) => {
                self.tail.push_str(&String::from_utf8_lossy(&bytes));
                while let Some(end) = self.tail.find('\n') {
                    let line: String = self.tail.drain(..=end).collect();
                    self.line(line.trim_end(), out);
                }
            }
            Input::Acp(Arrival::Drained(_)) => {}
            Input::Acp(Arrival::Ended(_)) if self.fails("end") => {}
            Input::Acp(Arrival::Ended(_)) => {
                out.push(Effect::Acp(Departure::Finish));
                out.push(Effect::Done(0));
            }
            Input::Poison(origin) => {
                assert!(!self.fails("poison"), "told to fail in poison");
                if let Origin::Acp(_) = origin {
                    self.tail.clear();
                }
                self.say(&report::poison(&origin).to_string(), out);
            }
            other => {
                if let Some(report) = report::arrival(&other) {
                    self.say(&report.to_string(), out);
                }
            }
        }
    }

    fn line(&mut self, line: &str, out: &mut Vec<Effect>) {
        match serde_json::from_str(line) {
            Ok(Value::Array(actions)) => {
                for action in &actions {
                    act::act(self, action, out);
                }
            }
            _ => self.say(line, out),
        }
    }

    fn say(&mut self, text: &str, out: &mut Vec<Effect>) {
        self.said += 1;
        let line = format!("{} {text}\n", self.said);
        out.push(Effect::Acp(Departure::Bytes(line.into_bytes())));
    }

    fn fails(&self, what: &str) -> bool {
        self.fails.iter().any(|fails| fails == what)
    }
}

wit::export!(Puppet with_types_in wit);
