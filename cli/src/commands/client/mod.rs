//! A running service, from the shell: `hashbrook client`.

mod calls;
mod http;
mod ids;
mod put;
mod search;
mod stream;

use std::path::PathBuf;

use anyhow::Result;

use self::http::Service;

/// Talks to a service that `hashbrook serve` runs
#[derive(clap::Args)]
#[command(
    subcommand_precedence_over_arg = true,
    after_help = "\
Examples:
  hashbrook client http://127.0.0.1:7878 put --data x.npy --labels y.npy
  hashbrook client http://127.0.0.1:7878 search --data queries.npy -k 10 --label cat
  hashbrook client http://127.0.0.1:7878 search --id 7 --label-weight 4 --rerank 1000 --json
  hashbrook client http://127.0.0.1:7878 label 7 cat
  hashbrook client http://127.0.0.1:7878 stats
  HASHBROOK_TOKEN=... hashbrook client https://example.org:7878 snapshot monday"
)]
pub struct Args {
    /// Where the service is, as `serve` prints it
    #[arg(value_name = "URL")]
    url: String,

    /// The token; without it that of the environment variable HASHBROOK_TOKEN is used, if there is one
    #[arg(long, value_name = "TOKEN", global = true)]
    token: Option<String>,

    /// A certificate to trust besides the usual ones, for https
    #[arg(long, value_name = "FILE.pem", global = true)]
    ca: Option<PathBuf>,

    /// How many seconds an answer may take
    #[arg(long, value_name = "SECONDS", default_value_t = 600, global = true)]
    patience: u64,

    /// Print what the service answers, one JSON object a line
    #[arg(long, global = true)]
    json: bool,

    #[command(subcommand)]
    call: Call,
}

#[derive(clap::Subcommand)]
enum Call {
    Put(put::Args),
    Get(calls::Get),
    List(calls::List),
    Remove(calls::Remove),
    Label(calls::Label),
    Search(search::Nearest),
    Within(search::Within),
    Stats(calls::Stats),
    Renew(calls::Renew),
    Snapshot(calls::Snapshot),
    Model(calls::Model),
}

pub fn run(args: &mut Args) -> Result<()> {
    // An interruption loses nothing: acknowledged changes are durable, and files are replaced
    // atomically.
    crate::interrupt::nothing_to_save();
    let token = args.token.clone().or_else(|| std::env::var("HASHBROOK_TOKEN").ok());
    let service = Service::new(&args.url, token, args.ca.as_deref(), args.patience)?;
    let json = args.json;
    match &mut args.call {
        Call::Put(args) => put::run(args, &service, json),
        Call::Get(args) => args.run(&service),
        Call::List(args) => args.run(&service, json),
        Call::Remove(args) => args.run(&service, json),
        Call::Label(args) => args.run(&service, json),
        Call::Search(args) => args.run(&service, json),
        Call::Within(args) => args.run(&service, json),
        Call::Stats(args) => args.run(&service, json),
        Call::Renew(args) => args.run(&service, json),
        Call::Snapshot(args) => args.run(&service, json),
        Call::Model(args) => args.run(&service, json),
    }
}
