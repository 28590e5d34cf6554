//! Bus errors: reads of a mapped index whose file was truncated, or whose disk fails.
//!
//! By default the operating system ends the program without a message. The library checks the file
//! before each search, but a failure during a search shows only as a signal. Setting a signal
//! handler requires `unsafe`.

/// Installs a handler that ends the program at a bus error, with status 1 and a line that says why.
/// Also makes writes beyond the file size limit fail with an error instead of a signal.
#[cfg(unix)]
pub fn listen() {
    // SAFETY: the structure is plain data that may be all zero, and every field that matters is
    // set. The handler calls only functions that are safe in a signal handler (write and _exit). It
    // runs on an alternate stack if the thread has one, as threads of the standard library do.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = end as extern "C" fn(libc::c_int) as libc::sighandler_t;
        action.sa_flags = libc::SA_ONSTACK;
        libc::sigemptyset(&mut action.sa_mask);
        // If the handler cannot be set, bus errors end the program without a message, as by default.
        libc::sigaction(libc::SIGBUS, &action, std::ptr::null_mut());
        // With the signal ignored, a write past the limit of `ulimit -f` returns an error.
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

#[cfg(not(unix))]
pub fn listen() {}

#[cfg(unix)]
extern "C" fn end(_signal: libc::c_int) {
    const WHY: &[u8] =
        b"hashbrook: bus error: another program cut short or wrote over an index while \
it was read, or the disk failed; try again, or `search --in-memory`\n";
    // SAFETY: both functions may be called in a signal handler, and the length is that of `WHY`. A
    // failed write is ignored because nothing can be done about it.
    unsafe {
        libc::write(libc::STDERR_FILENO, WHY.as_ptr().cast(), WHY.len());
        libc::_exit(1);
    }
}
