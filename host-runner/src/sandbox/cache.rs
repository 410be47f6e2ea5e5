//! Compiled components on disk, so that a component file is compiled once a machine.
//!
//! Loading compiled code means trusting it, so the folder must be ours alone. Invariant:
//! nothing is loaded from a folder or file that another user could have written. The
//! cache is a convenience: when it cannot be used, the component is compiled anew.

use std::env;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, ensure};
use sha2::{Digest, Sha256};
use wasmtime::Engine;
use wasmtime::component::Component;

/// The component, compiled now.
///
/// # Errors
/// A sentence when the bytes are no component that can be compiled.
pub fn compile(engine: &Engine, wasm: &[u8]) -> Result<Component> {
    Component::new(engine, wasm).map_err(|error| {
        let why: Vec<String> = format!("{error:#}")
            .split_whitespace()
            .map(String::from)
            .collect();
        anyhow!(
            "it is not a WebAssembly component that can be compiled: {}",
            why.join(" ")
        )
    })
}

/// The component, from the cache in `folder`, or compiled and then kept there.
///
/// # Errors
/// As [`compile`].
pub fn compiled(engine: &Engine, wasm: &[u8], folder: Option<PathBuf>) -> Result<Component> {
    let file = folder.map(|folder| folder.join(key(engine, wasm)));
    if let Some(file) = &file {
        match load(engine, file) {
            Ok(Some(component)) => return Ok(component),
            Ok(None) => {}
            Err(error) => {
                tracing::info!("the compiled component in the cache is not used: {error:#}")
            }
        }
    }
    let component = compile(engine, wasm)?;
    if let Some(file) = &file
        && let Err(error) = keep(&component, file)
    {
        tracing::info!("the compiled component is not kept: {error:#}");
    }
    Ok(component)
}

/// `$XDG_CACHE_HOME/airlock`, or `~/.cache/airlock`.
pub fn folder() -> Option<PathBuf> {
    let absolute = |name| {
        env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let base = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(base.join("airlock"))
}

/// Content, and everything of wasmtime that compiled code depends on.
fn key(engine: &Engine, wasm: &[u8]) -> String {
    let mut compatibility = DefaultHasher::new();
    engine
        .precompile_compatibility_hash()
        .hash(&mut compatibility);
    let content = Sha256::digest(wasm);
    let content: String = content.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{content}-{:016x}.cwasm", compatibility.finish())
}

fn load(engine: &Engine, path: &Path) -> Result<Option<Component>> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).context("it cannot be opened"),
    };
    ensure_ours(path.parent().context("it has no folder")?)?;
    ours(&file.metadata()?, 0o600)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    // SAFETY: the file and its folder belong to this user and nobody else may write
    // them; the name says which wasmtime wrote it, and wasmtime checks that again.
    let component =
        unsafe { Component::deserialize(engine, &bytes) }.map_err(|e| anyhow!("{e:#}"))?;
    Ok(Some(component))
}

fn keep(component: &Component, path: &Path) -> Result<()> {
    let folder = path.parent().context("it has no folder")?;
    if let Some(above) = folder.parent() {
        fs::create_dir_all(above)?;
    }
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error)?,
        _ => ensure_ours(folder)?,
    }
    let bytes = component
        .serialize()
        .map_err(|error| anyhow!("{error:#}"))?;
    // Whole or not at all: another runner may read at the same time.
    let draft = path.with_extension(format!("{}.new", std::process::id()));
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&draft)?;
    let written = file
        .write_all(&bytes)
        .and_then(|()| fs::rename(&draft, path));
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    Ok(written?)
}

fn ensure_ours(folder: &Path) -> Result<()> {
    let facts = fs::symlink_metadata(folder)?;
    ensure!(facts.is_dir(), "{} is not a folder", folder.display());
    ours(&facts, 0o700).with_context(|| format!("{} is not private", folder.display()))
}

fn ours(facts: &fs::Metadata, most: u32) -> Result<()> {
    ensure!(
        facts.uid() == rustix::process::geteuid().as_raw(),
        "it belongs to another user"
    );
    ensure!(
        facts.mode() & 0o777 & !most == 0,
        "its mode is {:o}, not {most:o}",
        facts.mode() & 0o777
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn setting() -> (tempfile::TempDir, PathBuf, Engine) {
        let folder = tempfile::tempdir().unwrap();
        let cache = folder.path().join("cache/airlock");
        (folder, cache, Engine::default())
    }

    const EMPTY: &[u8] = b"\0asm\x0d\0\x01\0";

    fn kept(cache: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(cache).into_iter().flatten();
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    #[test]
    fn given_a_component_when_compiled_then_it_is_kept_privately_and_loaded_the_next_time() {
        let (_folder, cache, engine) = setting();
        compiled(&engine, EMPTY, Some(cache.clone())).unwrap();
        let [file] = &kept(&cache)[..] else {
            panic!("one file: {:?}", kept(&cache))
        };
        assert_eq!(fs::metadata(&cache).unwrap().mode() & 0o777, 0o700);
        assert_eq!(fs::metadata(file).unwrap().mode() & 0o777, 0o600);
        assert!(load(&engine, file).unwrap().is_some());
        compiled(&engine, EMPTY, Some(cache.clone())).unwrap();
        assert_eq!(kept(&cache).len(), 1);
    }

    #[test]
    fn given_a_folder_that_others_may_write_when_loading_then_nothing_is_taken_from_it() {
        let (_folder, cache, engine) = setting();
        compiled(&engine, EMPTY, Some(cache.clone())).unwrap();
        let file = kept(&cache).remove(0);
        fs::set_permissions(&cache, fs::Permissions::from_mode(0o770)).unwrap();
        let refused = format!("{:#}", load(&engine, &file).unwrap_err());
        assert!(
            refused.contains("is not private: its mode is 770, not 700"),
            "{refused}"
        );
        fs::set_permissions(&cache, fs::Permissions::from_mode(0o700)).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
        assert!(load(&engine, &file).is_err());
    }

    #[test]
    fn given_a_damaged_file_when_loading_then_the_component_is_compiled_anew_and_replaces_it() {
        let (_folder, cache, engine) = setting();
        compiled(&engine, EMPTY, Some(cache.clone())).unwrap();
        let file = kept(&cache).remove(0);
        fs::write(&file, b"damaged").unwrap();
        compiled(&engine, EMPTY, Some(cache.clone())).unwrap();
        assert!(load(&engine, &file).unwrap().is_some());
    }

    #[test]
    fn given_no_usable_folder_when_compiled_then_it_works_all_the_same() {
        let (_folder, cache, engine) = setting();
        fs::create_dir_all(cache.parent().unwrap()).unwrap();
        fs::write(&cache, b"a file where the folder should be").unwrap();
        assert!(compiled(&engine, EMPTY, Some(cache)).is_ok());
        assert!(compiled(&engine, EMPTY, None).is_ok());
    }
}
