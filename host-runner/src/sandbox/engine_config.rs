// How wasmtime compiles and runs a component: one function for the build script (ahead of
// time) and the program, since both must agree or the built-in component does not load.

/// The settings. With `target` no CPU feature of the building machine is assumed.
pub fn engine_config(target: Option<&str>) -> wasmtime::Result<wasmtime::Config> {
    let mut config = wasmtime::Config::new();
    if let Some(target) = target {
        config.target(target)?;
    }
    config
        // Deadlines: every loop and function entry looks at the epoch.
        .epoch_interruption(true)
        .max_wasm_stack(512 << 10)
        // The same bits on every machine.
        .cranelift_nan_canonicalization(true)
        .relaxed_simd_deterministic(true)
        // Names are stripped, so frames would tell nothing: the last words do.
        .wasm_backtrace_max_frames(None)
        .generate_address_map(false);
    Ok(config)
}
