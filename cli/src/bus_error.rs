//! Bus errors: what becomes of reading a mapped index whose file was cut short, or whose disk fails.
//!
//! The operating system would end the program without a word. Before each search the library looks
//! at the file, but what happens in the midst of one shows in no other way. A signal handler cannot be set without `unsafe`.

/// Ends the program at a bus error with one line that says why, and status 1; and lets a file that
/// grows too large be an error, too.
#[cfg(unix)]
pub fn listen() {
    // SAFETY: the structure is plain data that may be all zero, and every field that counts is set.
    // The handler calls what is safe in one (write and _exit) and nothing else. It runs on a stack
    // of its own where the thread has one, as those of the standard library have.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = end as extern "C" fn(libc::c_int) as libc::sighandler_t;
        action.sa_flags = libc::SA_ONSTACK;
        libc::sigemptyset(&mut action.sa_mask);
        // If it cannot be set, bus errors end the program as they always did.
        libc::sigaction(libc::SIGBUS, &action, std::ptr::null_mut());
        // A file that grows past what `ulimit -f` allows is then an error of writing it.
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
    // SAFETY: both may be called in a signal handler, and the bytes are as many as said. Nothing is
    // to be done if they cannot be written.
    unsafe {
        libc::write(libc::STDERR_FILENO, WHY.as_ptr().cast(), WHY.len());
        libc::_exit(1);
    }
}
