//! What a component asks for, checked before it is linked.
//!
//! Invariant: nothing is linked that imports more than [`IMPORTS`] or lacks [`EXPORT`].
//! The linker would refuse too, but this says which import it is, and no later change of
//! the linker can widen the sandbox unseen.

use anyhow::{Result, bail};
use wasmtime::Engine;
use wasmtime::component::Component;

/// All that the world `acp-adapter` may import: shared types, and last words.
pub const IMPORTS: [&str; 5] = [
    "airlock:adapter/types@0.1.0",
    "airlock:adapter/acp-io@0.1.0",
    "airlock:adapter/host-io@0.1.0",
    "airlock:adapter/file-io@0.1.0",
    "airlock:adapter/last-words@0.1.0",
];

/// What it must export.
pub const EXPORT: &str = "airlock:adapter/adapter@0.1.0";

/// Checks imports and export.
///
/// # Errors
/// A sentence that names every import too many, or the export that is missing.
pub fn audit(component: &Component, engine: &Engine) -> Result<()> {
    let kind = component.component_type();
    let extra: Vec<&str> = kind
        .imports(engine)
        .map(|(name, _)| name)
        .filter(|name| !IMPORTS.contains(name))
        .collect();
    if !extra.is_empty() {
        bail!(
            "this component is refused: it imports {}, and an Airlock component may import \
             nothing but the types of airlock:adapter@0.1.0 and last-words; build it without \
             WASI or other imports",
            extra.join(", ")
        );
    }
    if !kind.exports(engine).any(|(name, _)| name == EXPORT) {
        bail!(
            "this component is refused: it does not export {EXPORT}; it is not an Airlock \
             component, or one for another version of the contract"
        );
    }
    Ok(())
}
