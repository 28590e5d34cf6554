//! Limit of the memory that this process may take.

use std::path::Path;

/// Returns the number of bytes that the system lets this process take: the limit of its address
/// space (`ulimit -v`), or of its control groups (containers, systemd). `None` without a limit.
pub fn limit() -> Option<u64> {
    // The file is absent on systems without control groups.
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let of_groups = limit_of_groups(&groups, Path::new("/sys/fs/cgroup"));
    address_space().into_iter().chain(of_groups).min()
}

/// Returns the smallest limit of the control groups that `/proc/self/cgroup` lists, and of the groups
/// that contain them.
fn limit_of_groups(groups: &str, root: &Path) -> Option<u64> {
    let mut limits = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        let (root, file) = match controllers {
            "" => (root.to_owned(), "memory.max"),
            _ if controllers.split(',').any(|name| name == "memory") => {
                (root.join(controllers), "memory.limit_in_bytes")
            }
            _ => continue,
        };
        // A container may see its own group as the root, although another path is listed.
        for group in Path::new(path.trim_start_matches('/')).ancestors() {
            let text = std::fs::read_to_string(root.join(group).join(file)).ok();
            // Without a limit the file contains the word `max`, or a number beyond any memory size.
            let bytes = text.and_then(|text| text.trim().parse::<u64>().ok());
            limits.extend(bytes.filter(|&bytes| bytes < 1 << 60));
        }
    }
    limits.into_iter().min()
}

#[cfg(unix)]
fn address_space() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::As).current
}

#[cfg(not(unix))]
fn address_space() -> Option<u64> {
    None
}

/// Limits the allocator to one arena per processor, which threads share.
///
/// By default glibc uses up to eight arenas per processor, each of which reserves 64 MB of address
/// space: with two processors, more than `ulimit -v 524288` allows.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn share_arenas() {
    let processors = std::thread::available_parallelism().map_or(1, |count| count.get());
    let arenas = libc::c_int::try_from(processors).unwrap_or(libc::c_int::MAX);
    // SAFETY: no other thread runs yet, and the call only sets a limit. If it fails, there is no
    // limit.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, arenas);
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn share_arenas() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_limit_of_all_groups_counts() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("system.slice/memory.max", "3000000\n");
        write("system.slice/hashbrook.service/memory.max", "max\n");
        write("memory/jobs/memory.limit_in_bytes", "9223372036854771712\n");
        let found = |groups: &str| limit_of_groups(groups, root.path());
        assert_eq!(found("0::/system.slice/hashbrook.service\n"), Some(3_000_000));
        assert_eq!(found("4:memory:/jobs\n3:cpu:/system.slice\n"), None);
        write("memory/memory.limit_in_bytes", "2000000\n");
        assert_eq!(found("4:memory:/jobs\n0::/system.slice\n"), Some(2_000_000));
        assert_eq!(found(""), None);
    }
}
