//! From a file, or from inside this program, to a component that can be instantiated.
//!
//! The built-in component was compiled by the build script and runs where it lies
//! ([`in_place`](super::in_place)); another one is compiled here and kept in the
//! [`cache`](super::cache).

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, anyhow, bail};
use wasmtime::Engine;
use wasmtime::component::Component;

use super::engine_config::engine_config;
use super::instance::{Held, Instance, linker};
use super::ticker::Ticker;
use super::words::AcpAdapterPre;
use super::{Limits, audit, cache, in_place};
use crate::adapter::{Adapter, Factory, Failure};
use crate::limits;

/// The component as the build script left it.
static WASM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/airlock.wasm"));

/// The built-in component, loaded once a process.
static BUILT_IN: Mutex<Option<Sandbox>> = Mutex::new(None);

/// A component, audited and linked, ready to be instantiated for any connection.
#[derive(Clone)]
pub struct Sandbox {
    pre: AcpAdapterPre<Held>,
    limits: Limits,
    ticker: Arc<Ticker>,
}

impl Sandbox {
    /// The built-in component.
    ///
    /// # Errors
    /// When this machine cannot run it: the sentence says why.
    pub fn built_in(limits: Limits) -> Result<Sandbox> {
        let mut built_in = BUILT_IN.lock().unwrap_or_else(PoisonError::into_inner);
        let sandbox = match &*built_in {
            Some(sandbox) => sandbox.clone(),
            None => {
                let component = loaded(in_place::component(), cache::folder())?;
                Sandbox::link(&component, limits)?
            }
        };
        *built_in = Some(sandbox.clone());
        Ok(Sandbox { limits, ..sandbox })
    }

    /// A component file, at most 16 MiB.
    ///
    /// # Errors
    /// A sentence that names the file and what is wrong with it.
    pub fn from_file(path: &Path, limits: Limits) -> Result<Sandbox> {
        let name = path.display();
        let mut wasm = Vec::new();
        File::open(path)
            .and_then(|file| {
                file.take(limits::COMPONENT_BYTES + 1)
                    .read_to_end(&mut wasm)
            })
            .with_context(|| format!("the component file {name} cannot be read"))?;
        if wasm.len() as u64 > limits::COMPONENT_BYTES {
            bail!(
                "the component file {name} is larger than {} MiB",
                limits::COMPONENT_BYTES >> 20
            );
        }
        engine()
            .and_then(|engine| {
                let component = cache::compiled(&engine, &wasm, cache::folder())?;
                Sandbox::link(&component, limits)
            })
            .with_context(|| format!("{name} cannot be used"))
    }

    /// A component from memory, compiled anew.
    ///
    /// # Errors
    /// A sentence that says what is wrong with it.
    pub fn from_bytes(wasm: &[u8], limits: Limits) -> Result<Sandbox> {
        let engine = engine()?;
        let component = cache::compile(&engine, wasm)?;
        Sandbox::link(&component, limits)
    }

    fn link(component: &Component, limits: Limits) -> Result<Sandbox> {
        let engine = component.engine();
        audit::audit(component, engine)?;
        let pre = linker(engine)
            .and_then(|linker| linker.instantiate_pre(component))
            .and_then(AcpAdapterPre::new)
            .map_err(|error| {
                anyhow!("this component is refused: it does not fit the contract: {error:#}")
            })?;
        let ticker = Ticker::start(engine.clone())
            .context("the sandbox could not start its clock thread")?;
        Ok(Sandbox {
            pre,
            limits,
            ticker: Arc::new(ticker),
        })
    }

    fn instance(&self) -> Result<Instance, Failure> {
        Instance::new(&self.pre, self.limits, &self.ticker)
    }
}

impl Factory for Sandbox {
    fn open(&self, config: &str, seed: &[u8; 32]) -> Result<Box<dyn Adapter>, Failure> {
        Ok(Box::new(self.instance()?.open(config, seed)?))
    }

    fn restore(&self, config: &str, state: &[u8]) -> Result<Box<dyn Adapter>, Failure> {
        Ok(Box::new(self.instance()?.restore(config, state)?))
    }

    fn describe(&self) -> Result<String, Failure> {
        self.instance()?.describe()
    }
}

/// The built-in component, compiled ahead of time; else compiled here.
fn loaded(in_place: Result<Component>, cache: Option<PathBuf>) -> Result<Component> {
    in_place.or_else(|error| {
        // Built with another wasmtime, or for a machine that this one is not.
        tracing::info!("the built-in component is compiled anew: {error:#}");
        cache::compiled(&engine()?, WASM, cache)
    })
}

fn engine() -> Result<Engine> {
    engine_config(None)
        .and_then(|config| Engine::new(&config))
        .map_err(|error| anyhow!("the WebAssembly engine does not run on this machine: {error:#}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_the_built_in_component_when_loaded_then_the_one_compiled_ahead_of_time_is_taken() {
        // The only place of these tests that loads it: once a process is what it stands.
        in_place::component().unwrap();
    }

    #[test]
    fn given_a_compiled_component_that_does_not_load_when_started_then_it_is_compiled_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let cache = folder.path().join("airlock");
        let component = loaded(Err(anyhow!("of another version")), Some(cache.clone())).unwrap();
        assert!(Sandbox::link(&component, Limits::default()).is_ok());
        assert_eq!(std::fs::read_dir(cache).unwrap().count(), 1);
    }
}
