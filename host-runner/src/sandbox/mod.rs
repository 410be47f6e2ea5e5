//! The only place that names wasmtime.
pub mod words;
