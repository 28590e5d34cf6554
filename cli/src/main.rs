//! The `hashbrook` command.

// Code that cannot fail states the reason by `expect`.
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

mod args;
mod bus_error;
mod columns;
mod commands;
mod console;
mod dial;
mod input;
mod interrupt;
mod memory;
mod output;
mod pattern;
mod piped;

use std::process::ExitCode;

use args::{Args, Command};

fn main() -> ExitCode {
    let args = Args::read();
    match run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => console::report(&error),
    }
}

fn run(args: Args) -> anyhow::Result<()> {
    memory::share_arenas();
    interrupt::listen()?;
    bus_error::listen();
    if let Some(threads) = args.threads {
        rayon::ThreadPoolBuilder::new().num_threads(threads.into()).build_global()?;
    }
    match args.command {
        Command::Demo(demo) => commands::demo::run(&demo, args.threads),
        Command::Split(mut args) => commands::split::run(&mut args),
        Command::Advise(mut args) => commands::advise::run(&mut args),
        Command::Store(args) => commands::store::run(&args),
        Command::Learn(mut args) => commands::learn::run(&mut args),
        Command::Merge(args) => commands::merge::run(&args),
        Command::Unlearn(mut args) => commands::unlearn::run(&mut args),
        Command::Encode(mut args) => commands::encode::run(&mut args),
        Command::Export(args) => commands::export::run(&args),
        Command::Eval(mut args) => commands::eval::run(&mut args),
        Command::Compare(mut args) => commands::compare::run(&mut args),
        Command::Reproduce(args) => commands::reproduce::run(&args),
        Command::Index(mut args) => commands::index::run(&mut args),
        Command::Search(mut args) => commands::search::run(&mut args),
        Command::Dedup(args) => commands::dedup::run(&args),
        Command::Serve(serve) => commands::serve::run(&serve, args.threads),
        Command::Client(mut args) => commands::client::run(&mut args),
        Command::Info(args) => commands::info::run(&args),
        Command::Size(args) => commands::size::run(&args),
        Command::Methods(args) => commands::methods::run(&args),
        Command::Completions(args) => commands::completions(&args),
        Command::Man(args) => commands::man(&args),
    }
}
