//! The service as clients see it: the real program on a port of this machine.

mod bulk;
mod client;
mod items;
mod life;
mod limits;
mod search;
mod server;
mod strangers;
mod tokens;
mod watch;
