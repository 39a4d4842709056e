//! `ssvirt`: one binary for the server, the demo and the commands of an operator.

fn main() -> std::process::ExitCode {
    server::commands::run()
}
