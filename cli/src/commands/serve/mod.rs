//! `hashbrook serve`: serves a collection over HTTP.

mod answers;
mod app;
mod auth;
mod body;
mod collection;
mod errors;
mod feed;
mod guard;
mod hex;
mod history;
mod limits;
mod log;
mod metrics;
mod openapi;
mod routes;
mod server;
mod timed_writes;
mod tls;

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use clap::{Args as _, FromArgMatches as _};
use hashbrook::SearchStructure;
use hashbrook::store::{Renewal, Settings};
use tracing::warn;

use self::app::App;
use self::auth::Tokens;
use self::collection::{Collection, Plan};
pub use self::feed::Feed;
use self::limits::Limits;
use self::log::LogFormat;
use crate::console;

/// Serves a collection over HTTP: it learns while it answers, and loses nothing
///
/// Vectors, labels, ids and payloads are kept in a directory. The first items that are put in make the
/// collection, if there is none: they fix the dimension and whether ids are numbers or texts, and the
/// options below fix the rest. A browser shows what goes on at the address that is printed;
/// /openapi.json there describes all calls. Ctrl-C, or SIGTERM, ends it in good order.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  hashbrook serve --dir collection/
  hashbrook serve --dir collection/ --listen 0.0.0.0:7878 --tokens tokens.txt \\
                  --tls-cert cert.pem --tls-key key.pem --snapshots backups/

  curl localhost:7878/items  -d '{\"items\": [{\"id\": 7, \"vector\": [0.1, 0.9], \"labels\": [\"cat\"]}]}'
  curl localhost:7878/search -d '{\"vector\": [0.2, 0.8], \"k\": 10}'

A file of tokens has a line for each, `read TOKEN` or `write TOKEN`; those that may write may
also read. Requests carry one as `Authorization: Bearer TOKEN`.")]
pub struct Args {
    /// The directory of the collection; made when the first items come, if it is not there
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,

    /// The address to listen on; port 0 takes any that is free
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7878")]
    listen: String,

    /// Who may do what: `read TOKEN` or `write TOKEN` on each line, # begins a comment. Without it
    /// everyone who reaches the service may do everything, so that only loopback addresses are bound
    #[arg(long, value_name = "FILE")]
    tokens: Option<PathBuf>,

    /// The certificate, with those between it and the root, for https
    #[arg(long, value_name = "FILE.pem", requires = "tls_key")]
    tls_cert: Option<PathBuf>,

    /// Its private key
    #[arg(long, value_name = "FILE.pem", requires = "tls_cert")]
    tls_key: Option<PathBuf>,

    /// The directory that POST /snapshot makes its copies in; without it there are none
    #[arg(long, value_name = "DIR")]
    snapshots: Option<PathBuf>,

    /// When all items are re-encoded by what was learned meanwhile: always, every:ROWS learned, gain:SHARE when
    /// distances would report more of labels by this share of what there is to know (docs/service.md), or never,
    /// except by POST /renew
    #[arg(long, value_name = "POLICY", default_value_t)]
    renewal: Renewal,

    /// Seconds without anything new to learn after which all items are re-encoded, however little that gains
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0)]
    catch_up_after: f64,

    /// The share of one processor core that this may take, above 0 and up to 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.5)]
    renewal_share: f64,

    /// Reclaim rows that were replaced or removed when they take more than this share of the journal, from 0
    /// to 1; 1 never does
    #[arg(long, value_name = "SHARE", default_value_t = 0.5)]
    compaction: f64,

    /// Search structure of the index: full; small, a third of its bytes; or none
    #[arg(long, value_name = "none|small|full", default_value = "full")]
    structure: SearchStructure,

    /// Do not learn from what is put in
    #[arg(long)]
    no_learn: bool,

    /// How the log on the standard error is written. RUST_LOG chooses what is in it, as in
    /// RUST_LOG=hashbrook=debug for a line for each request; without it these are warnings, failed requests and
    /// the outcome of background work
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = LogFormat::Text)]
    log_format: LogFormat,

    #[command(flatten)]
    plan: Plan,

    #[command(flatten)]
    limits: Limits,
}

pub fn run(args: &Args, threads: Option<u16>) -> Result<()> {
    run_with(args, threads, |_, address| console::line(format_args!("listening on {address}")))
}

/// Serves with these options and their values. Calls `begun` with a handle to the service and its
/// address once it listens.
pub fn run_fed(
    options: &[(&str, String)],
    threads: Option<u16>,
    begun: impl FnOnce(Feed, &str) -> Result<()>,
) -> Result<()> {
    let words = options.iter().map(|(name, value)| format!("{name}={value}"));
    let command = Args::augment_args(clap::Command::new("serve").no_binary_name(true));
    let args = Args::from_arg_matches(&command.try_get_matches_from(words)?)?;
    run_with(&args, threads, |app, address| begun(Feed::new(app), address))
}

fn run_with(
    args: &Args,
    threads: Option<u16>,
    begun: impl FnOnce(&Arc<App>, &str) -> Result<()>,
) -> Result<()> {
    log::start(args.log_format)?;
    let addresses = addresses(&args.listen)?;
    let tokens = args.tokens.as_deref().map(Tokens::load).transpose()?;
    let tls = match (&args.tls_cert, &args.tls_key) {
        (Some(certificate), Some(key)) => Some(tls::load(certificate, key)?),
        _ => None,
    };
    check_open(&args.listen, &addresses, tokens.is_some(), tls.is_some())?;
    let mut settings = Settings::default();
    settings.renewal = args.renewal;
    settings.catch_up_after = Duration::try_from_secs_f64(args.catch_up_after).map_err(|_| {
        anyhow!("--catch-up-after must be 0 or more seconds, not {}", args.catch_up_after)
    })?;
    settings.renewal_share = args.renewal_share;
    settings.compaction = args.compaction;
    settings.structure = args.structure;
    settings.learn = !args.no_learn;
    let collection = Collection::open(&args.dir, args.plan.clone(), settings)?;
    console::line(collection.described())?;
    let app = App::new(collection, tokens, args.limits.clone(), args.snapshots.clone());
    server::run(Arc::new(app), &addresses, tls, threads, begun)
}

/// Resolves the addresses to listen on.
fn addresses(listen: &str) -> Result<Vec<SocketAddr>> {
    let wrong = || format!("--listen takes ADDRESS:PORT, as in 127.0.0.1:7878, not {listen:?}");
    let addresses: Vec<SocketAddr> = listen.to_socket_addrs().with_context(wrong)?.collect();
    if addresses.is_empty() {
        bail!(wrong());
    }
    Ok(addresses)
}

/// Fails if strangers could send any request, and warns if they could read the traffic.
fn check_open(listen: &str, addresses: &[SocketAddr], tokens: bool, tls: bool) -> Result<()> {
    let loopback = addresses.iter().all(|address| address.ip().is_loopback());
    if !tokens && !loopback {
        bail!(
            "{listen} can be reached from other machines, and without tokens anyone there could read \
             and change everything; give --tokens FILE, or a loopback address such as 127.0.0.1:7878"
        );
    }
    if !tokens {
        warn!(target: log::SERVICE, "no --tokens: anyone on this machine may read and write, and nobody else");
    } else if !loopback && !tls {
        warn!(target: log::SERVICE, "without --tls-cert and --tls-key, tokens and data are sent in the clear");
    }
    Ok(())
}
