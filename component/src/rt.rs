//! What a no_std guest needs and std would bring: an allocator, a panic handler, the C
//! memory functions, and the allocation export of the canonical ABI.

use crate::wit::airlock::adapter::last_words;

#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

#[panic_handler]
fn panic(info: &core::panic::PanicInfo) -> ! {
    last_words::tell(&alloc::format!("{info}"));
    core::arch::wasm32::unreachable()
}

// memcmp and friends, from the libc that ships with the target.
#[cfg(target_os = "wasi")]
#[link(name = "c")]
unsafe extern "C" {}

/// Called by the embedder's side of the canonical ABI to place lists and strings.
///
/// # Safety
/// As `realloc`: `old` is null-sized or came from here with `old_len` and `align`.
#[cfg(target_env = "p2")]
#[unsafe(export_name = "cabi_realloc")]
unsafe extern "C" fn cabi_realloc(
    old: *mut u8,
    old_len: usize,
    align: usize,
    new_len: usize,
) -> *mut u8 {
    use alloc::alloc::{Layout, alloc, realloc};
    if new_len == 0 {
        return align as *mut u8;
    }
    // SAFETY: the canonical ABI passes sizes and alignments that make valid layouts, and
    // `old` only if it came from this function.
    let place = unsafe {
        if old_len == 0 {
            alloc(Layout::from_size_align_unchecked(new_len, align))
        } else {
            realloc(
                old,
                Layout::from_size_align_unchecked(old_len, align),
                new_len,
            )
        }
    };
    if place.is_null() {
        core::arch::wasm32::unreachable()
    }
    place
}
