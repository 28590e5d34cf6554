//! The service as clients see it: the real program on a port of this machine.

mod answers;
mod bulk;
mod client;
mod full_disk;
mod items;
mod life;
mod limits;
mod log;
mod search;
mod server;
mod strangers;
mod tokens;
mod watch;
