"""The system calls that a learner's code may make: a seccomp filter, built by libseccomp.

Whatever is not listed here is refused as if the kernel did not have it: the C library and Python
know how to do without what an older kernel lacks. What is listed reads and writes files that the
process can see, and manages its own memory, threads, signals and time. Nothing in the list starts a
process or a program, reaches another process, opens a connection, or changes what the process may
do.
"""

from __future__ import annotations

import errno
import fcntl
import platform
import tempfile
import termios

import pyseccomp as seccomp

from course_lib.errors import CourseError

MACHINES = ("x86_64", "aarch64")
# Each name is looked up at every start; one that an architecture lacks (aarch64 has no `open`)
# changes nothing there. All are known to libseccomp 2.5.
ALLOWED = {
    "memory": "brk madvise mmap mprotect mremap msync munmap",
    "files": """
        access chdir chmod close copy_file_range creat dup dup2 dup3 epoll_create
        epoll_create1 epoll_ctl epoll_pwait epoll_wait eventfd2 faccessat faccessat2 fadvise64
        fallocate fchdir fchmod fchmodat fdatasync fgetxattr flistxattr fstat fstatfs fsync
        ftruncate getcwd getdents getdents64 getxattr lgetxattr link linkat listxattr llistxattr
        lseek lstat mkdir mkdirat newfstatat open openat openat2 pipe pipe2 poll ppoll pread64
        preadv preadv2 pselect6 pwrite64 pwritev pwritev2 read readahead readlink readlinkat readv
        rename renameat renameat2 rmdir select sendfile stat statfs statx symlink symlinkat truncate
        umask unlink unlinkat write writev
    """,
    "threads": """
        exit exit_group futex gettid rseq sched_get_priority_max
        sched_get_priority_min sched_getaffinity sched_getparam sched_getscheduler sched_yield
        set_robust_list set_tid_address
    """,
    "signals": """
        alarm pause restart_syscall rt_sigaction rt_sigpending rt_sigprocmask rt_sigreturn
        rt_sigsuspend rt_sigtimedwait sigaltstack
    """,
    "time": """
        clock_getres clock_gettime clock_nanosleep getitimer gettimeofday nanosleep setitimer time
        times
    """,
    "questions": """
        capget getcpu getegid geteuid getgid getgroups getpgid getpgrp getpid getppid getpriority
        getrandom getresgid getresuid getrlimit getrusage getsid getuid sysinfo uname wait4 waitid
    """,
    "the grader's socket": "recvfrom sendto",
}
_CLONE_THREAD, _NEW_NAMESPACES = 0x10000, 0x7E020080  # time, mounts, cgroup, …, network
_A_THREAD = _CLONE_THREAD | 0x0F00  # that shares memory, folder, descriptors and handlers
_FIRST_PROCESS = 1  # what a learner's code is in its own namespace of processes
_UNKNOWN = -1  # in libseccomp's answers
_PR_SET_NAME, _PR_GET_NAME, _PR_GET_NO_NEW_PRIVS = 15, 16, 39
# Calls that are allowed only if an argument has one of these values: its number, and the values.
ALLOWED_BY_ARGUMENT = {
    # F_SETOWN, F_SETSIG and F_NOTIFY would have signals sent to others, or watch them. A lock of a
    # file that all jails show would be a message to others, and takes the kernel's memory.
    "fcntl": (
        1,
        (
            fcntl.F_DUPFD,
            fcntl.F_DUPFD_CLOEXEC,
            fcntl.F_GETFD,
            fcntl.F_SETFD,
            fcntl.F_GETFL,
            fcntl.F_SETFL,
        ),
    ),
    "ioctl": (  # TIOCSTI would type into a terminal
        1,
        (
            termios.FIOCLEX,
            termios.FIONBIO,
            termios.FIONCLEX,
            termios.FIONREAD,
            termios.TCGETS,
            termios.TIOCGWINSZ,
        ),
    ),
    "prctl": (0, (_PR_SET_NAME, _PR_GET_NAME, _PR_GET_NO_NEW_PRIVS)),
    "prlimit64": (0, (0,)),  # its own limits
    "tgkill": (0, (_FIRST_PROCESS,)),  # how abort() works
}


# What code may try in good faith, so it is told that it may not, rather than that it is missing.
# A time set with utime would be a message to others, too: the nodes in /dev are the machine's own.
_NOT_PERMITTED = "execve flock fork kill socket socketpair utime utimensat utimes vfork"


def allow_list(architecture: int = seccomp.Arch.NATIVE) -> bytes:
    """The filter as the kernel takes it: an array of ``struct sock_filter``.

    Args:
        architecture: of the processor; that of this machine by default.

    Raises:
        CourseError: libseccomp does not know a name, or the processor is one whose system calls
            take their arguments in an order that nobody has looked at.
        OSError: libseccomp can't build the filter.
    """
    if platform.machine() not in MACHINES:
        raise CourseError(
            f"the filter of system calls was written for {' and '.join(MACHINES)}, and this is "
            f"{platform.machine()}"
        )
    built = seccomp.SyscallFilter(seccomp.ERRNO(errno.ENOSYS))
    own = seccomp.system_arch()
    if architecture not in (seccomp.Arch.NATIVE, own):
        built.add_arch(architecture)
        built.remove_arch(own)
    built.set_attr(seccomp.Attr.ACT_BADARCH, seccomp.KILL_PROCESS)
    for name in " ".join(ALLOWED.values()).split():
        built.add_rule(seccomp.ALLOW, _number(name))
    for name, (argument, values) in ALLOWED_BY_ARGUMENT.items():
        for value in values:
            equal = seccomp.Arg(argument, seccomp.EQ, value)
            built.add_rule(seccomp.ALLOW, _number(name), equal)
    # A thread may be started, a process may not: then nothing can outlive this one. clone3 hides
    # its flags from a filter, so it stays missing, and the C library goes back to clone.
    thread = seccomp.Arg(0, seccomp.MASKED_EQ, _A_THREAD | _NEW_NAMESPACES, _A_THREAD)
    process = seccomp.Arg(0, seccomp.MASKED_EQ, _CLONE_THREAD, 0)
    built.add_rule(seccomp.ALLOW, _number("clone"), thread)
    not_permitted = seccomp.ERRNO(errno.EPERM)
    built.add_rule(not_permitted, _number("clone"), process)
    for name in _NOT_PERMITTED.split():
        built.add_rule(not_permitted, _number(name))
    with tempfile.TemporaryFile() as file:
        built.export_bpf(file)
        file.seek(0)
        return file.read()


def _number(name: str) -> int:
    """The number of a system call here; of one that only other architectures have, a negative one.

    Raises:
        CourseError: there is no such call on any architecture, as far as libseccomp knows.
    """
    number = seccomp.resolve_syscall(seccomp.Arch.NATIVE, name)
    if number == _UNKNOWN:
        raise CourseError(
            f"expected libseccomp to know the system call {name!r}, and it does not: install "
            "version 2.5 or newer (apt install libseccomp2)"
        )
    return number
