//! Memory that this process may take.

/// Returns the number of bytes that the system lets this process take: of its address space (`ulimit -v`), or of its control
/// group (containers, systemd). `None` without a limit.
pub fn limit() -> Option<u64> {
    let group = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let group = group.and_then(|text| text.trim().parse().ok());
    address_space().into_iter().chain(group).min()
}

#[cfg(unix)]
fn address_space() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::As).current
}

#[cfg(not(unix))]
fn address_space() -> Option<u64> {
    None
}

/// Lets threads share arenas of the allocator, one for each processor.
///
/// glibc gives up to eight arenas to each processor, and each reserves 64 MB of address space: more than half of what
/// `ulimit -v 524288` allows.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn share_arenas() {
    let processors = std::thread::available_parallelism().map_or(1, |count| count.get());
    let arenas = libc::c_int::try_from(processors).unwrap_or(libc::c_int::MAX);
    // SAFETY: no other thread runs yet, and the call only sets a bound. If it fails, there is no bound.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, arenas);
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn share_arenas() {}
