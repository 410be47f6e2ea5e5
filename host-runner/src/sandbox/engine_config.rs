// How wasmtime compiles and runs a component: one function for the build script (ahead of
// time) and the program, since both must agree or the built-in component does not load.

/// What is asked of an x86-64 machine: the vectors of 2009 (the level "v2"). The component
/// works on 128 bits at a time, and without these each step of it is a dozen.
const X86_64: [&str; 5] = [
    "has_sse3",
    "has_ssse3",
    "has_sse41",
    "has_sse42",
    "has_popcnt",
];

/// The settings. With `target` the code is for every machine of that kind, but for
/// [`X86_64`]; a machine that lacks something compiles for itself when it first starts.
pub fn engine_config(target: Option<&str>) -> wasmtime::Result<wasmtime::Config> {
    let mut config = wasmtime::Config::new();
    if let Some(target) = target {
        config.target(target)?;
        if target.starts_with("x86_64-") {
            for feature in X86_64 {
                // SAFETY: wasmtime looks for each of them in the machine before it loads
                // code that was compiled with it.
                unsafe { config.cranelift_flag_enable(feature) };
            }
        }
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
