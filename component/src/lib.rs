//! The guest shell: WIT words to engine words and back, allocator, panic. No decision
//! is made here. Native builds see an empty crate.
#![cfg(target_family = "wasm")]
#![no_std]

extern crate alloc;

mod carry;
mod rt;

mod wit {
    #![allow(missing_docs, unsafe_op_in_unsafe_fn)]
    wit_bindgen::generate!({ world: "acp-adapter", path: "../wit" });
}

use alloc::string::String;
use alloc::vec::Vec;
use core::cell::RefCell;

use wit::airlock::adapter::types::Instant;
use wit::exports::airlock::adapter::adapter::{Effect, Engine, Fault, Guest, GuestEngine, Input};

struct Component;

impl Guest for Component {
    type Engine = Cell;

    fn describe() -> String {
        airlock_engine::describe()
    }
}

/// One ACP connection. Calls never nest: the exports are synchronous.
struct Cell(RefCell<airlock_engine::Engine>);

impl GuestEngine for Cell {
    fn open(config: String, seed: Vec<u8>) -> Result<Engine, Fault> {
        airlock_engine::Engine::open(&config, &seed)
            .map(wrap)
            .map_err(carry::fault)
    }

    fn restore(config: String, state: Vec<u8>) -> Result<Engine, Fault> {
        airlock_engine::Engine::restore(&config, &state)
            .map(wrap)
            .map_err(carry::fault)
    }

    fn handle(&self, now: Instant, inputs: Vec<Input>) -> Result<Vec<Effect>, Fault> {
        let inputs = inputs.into_iter().map(carry::input).collect();
        match self.0.borrow_mut().handle(carry::instant(now), inputs) {
            Ok(effects) => Ok(effects.into_iter().map(carry::effect).collect()),
            Err(fault) => Err(carry::fault(fault)),
        }
    }

    fn snapshot(&self) -> Vec<u8> {
        self.0.borrow().snapshot()
    }
}

fn wrap(engine: airlock_engine::Engine) -> Engine {
    Engine::new(Cell(RefCell::new(engine)))
}

wit::export!(Component with_types_in wit);
