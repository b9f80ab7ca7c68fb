//! The `parley` binary.

/// An act allocates and frees in different threads, which mimalloc does best.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    parley::cli::run()
}
