//! The one binary.

fn main() -> std::process::ExitCode {
    parley::cli::run()
}
