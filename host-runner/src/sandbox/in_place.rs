//! The built-in component, run where it lies in the program's file.
//!
//! A copy of its code would be written once a process and kept as memory of its own. Used in
//! place it is a mapping of the file like the program's own code: pages are read when they
//! run, and shared by all processes.
//!
//! Invariant: the pages are never writable; they become executable once and stay so.

use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use anyhow::{Result, anyhow};
use rustix::mm::{MprotectFlags, mprotect};
use wasmtime::component::Component;
use wasmtime::{CustomCodeMemory, Engine};

use super::engine_config::engine_config;

/// The smallest pages there are. Where they are larger, wasmtime aligns code to those.
const PAGE: usize = 4 << 10;

/// Starts at a page, also where pages are large, so that its code can be made executable.
#[repr(C, align(65536))]
struct Paged<Bytes: ?Sized>(Bytes);

static COMPILED: &Paged<[u8]> = &Paged(*include_bytes!(concat!(env!("OUT_DIR"), "/airlock.cwasm")));

/// The component. To be called once a process: wasmtime knows code by its address.
///
/// # Errors
/// When it was built with another wasmtime or for another machine, or when the system does
/// not let the pages be executed.
pub fn component() -> Result<Component> {
    let mut config = engine_config(None).map_err(plain)?;
    // Elsewhere a program's file may not become executable by pieces: there it is a copy.
    let in_place = cfg!(target_os = "linux");
    if in_place {
        config.with_custom_code_memory(Some(Arc::new(Pages)));
    }
    let engine = Engine::new(&config).map_err(plain)?;
    let bytes = &COMPILED.0;
    // SAFETY: wasmtime made these bytes in the build script of this program, and a static
    // that is not `mut` lives for ever and is written by nobody.
    let component = unsafe {
        if in_place {
            Component::deserialize_raw(&engine, NonNull::from_ref(bytes))
        } else {
            Component::deserialize(&engine, bytes)
        }
    };
    component.map_err(plain)
}

fn plain(error: wasmtime::Error) -> anyhow::Error {
    anyhow!("{error:#}")
}

/// How the static's pages become executable.
struct Pages;

impl CustomCodeMemory for Pages {
    fn required_alignment(&self) -> usize {
        PAGE
    }

    fn publish_executable(&self, code: *const u8, bytes: usize) -> wasmtime::Result<()> {
        let code = ptr::with_exposed_provenance_mut::<c_void>(code.expose_provenance());
        let executable = MprotectFlags::READ | MprotectFlags::EXEC;
        // SAFETY: these are whole pages of `COMPILED`, and they stay readable.
        unsafe { mprotect(code, bytes, executable) }?;
        Ok(())
    }

    fn unpublish_executable(&self, _: *const u8, _: usize) -> wasmtime::Result<()> {
        // Nobody but wasmtime's own code lies here, and nobody can write to it.
        Ok(())
    }
}
