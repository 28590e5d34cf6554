//! Connections: accepted, served, and closed gracefully.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tracing::{debug, info, warn};

use super::app::App;
use super::log::SERVICE;
use super::timed_writes::TimedWrites;
use super::{history, routes};
use crate::interrupt;

/// Serves requests until the program is told to stop. Calls `begun` with the address once it
/// listens. At the end it finishes running requests and closes the store.
pub fn run(
    app: Arc<App>,
    addresses: &[SocketAddr],
    tls: Option<TlsAcceptor>,
    threads: Option<u16>,
    begun: impl FnOnce(&Arc<App>, &str) -> Result<()>,
) -> Result<()> {
    allow_many_files();
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    if let Some(threads) = threads {
        runtime.worker_threads(threads.into());
    }
    // The extra threads are for the service's own background jobs.
    runtime.max_blocking_threads(app.limits.max_concurrent + 8).enable_io().enable_time();
    let runtime = runtime.build().context("threads cannot be started")?;
    let served = runtime.block_on(serve(&app, addresses, tls, begun));
    // Jobs get a limited time to finish. Ending them earlier loses no acknowledged change.
    runtime.shutdown_timeout(app.limits.timeout);
    served?;
    match Arc::into_inner(app) {
        Some(app) => app.collection.close(),
        None => Ok(()),
    }
}

async fn serve(
    app: &Arc<App>,
    addresses: &[SocketAddr],
    tls: Option<TlsAcceptor>,
    begun: impl FnOnce(&Arc<App>, &str) -> Result<()>,
) -> Result<()> {
    let listener = TcpListener::bind(addresses).await;
    let listener = listener.with_context(|| format!("{} cannot be listened on", addresses[0]))?;
    let scheme = if tls.is_some() { "https" } else { "http" };
    begun(app, &format!("{scheme}://{}", listener.local_addr()?))?;
    let router = routes::router(app);
    tokio::spawn(history::keep(Arc::downgrade(app)));
    let connections = GracefulShutdown::new();
    let limit = app.limits.timeout;
    let mut interrupted = std::pin::pin!(interrupted());
    let mut is_accepting = true;
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut interrupted => break,
        };
        match accepted {
            Ok((stream, _)) => {
                is_accepting = true;
                let connection =
                    connection(stream, tls.clone(), router.clone(), limit, connections.watcher());
                tokio::spawn(connection);
            }
            // Too many files are open, or a client disconnected. Open connections continue.
            Err(error) => {
                if std::mem::replace(&mut is_accepting, false) {
                    warn!(target: SERVICE, "cannot accept a connection: {error}; trying again");
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
    drop(listener);
    app.stop();
    info!(target: SERVICE, "stopping: requests that were begun are finished");
    if tokio::time::timeout(limit, connections.shutdown()).await.is_err() {
        let seconds = limit.as_secs_f64();
        warn!(target: SERVICE, "requests are still open after {seconds} seconds (--timeout): stopping without them");
    }
    Ok(())
}

/// Waits until the program is told to stop.
async fn interrupted() {
    while !interrupt::happened() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn connection(
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
    router: Router,
    limit: Duration,
    watcher: Watcher,
) {
    if let Err(error) = stream.set_nodelay(true) {
        debug!(target: SERVICE, "cannot send small answers at once: {error}");
    }
    // Applied below TLS, so that the writes of TLS are timed, too.
    let stream = TimedWrites::new(stream, limit);
    match tls {
        None => requests(stream, router, limit, watcher).await,
        Some(tls) => {
            // Connections that do not finish the handshake in time are dropped.
            if let Ok(Ok(stream)) = tokio::time::timeout(limit, tls.accept(stream)).await {
                requests(stream, router, limit, watcher).await;
            }
        }
    }
}

/// Answers the requests of a connection.
async fn requests(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    router: Router,
    limit: Duration,
    watcher: Watcher,
) {
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limit)
        // A client that has closed its sending side may still read the answer.
        .half_close(true)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    if let Err(error) = watcher.watch(connection).await {
        let cause = anyhow::Error::from(error);
        debug!(target: SERVICE, "a connection ended: {cause:#}");
    }
}

/// Raises the number of files that this process may open to its hard limit, because connections
/// count as files.
fn allow_many_files() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit, setrlimit};
        let mut limit = getrlimit(Resource::Nofile);
        limit.current = limit.maximum;
        if let Err(error) = setrlimit(Resource::Nofile, limit) {
            warn!(target: SERVICE, "cannot raise the number of files that may be open: {error}");
        }
    }
}
