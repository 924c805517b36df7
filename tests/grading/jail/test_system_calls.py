"""Which system calls a learner's code can make in the jail."""

import os
import sys

import pytest

from course_lib.checks.engine.call import Call
from course_lib.errors import CourseError
from course_lib.grading.jail.library_view import engine_files

if sys.platform != "linux":
    pytest.skip("seccomp is Linux's", allow_module_level=True)
seccomp = pytest.importorskip("pyseccomp")  # the extra "grading", and libseccomp

from course_lib.grading.jail import system_calls  # noqa: E402  (it needs pyseccomp)

ARCHITECTURES = {"x86_64": seccomp.Arch.X86_64, "aarch64": seccomp.Arch.AARCH64}
NAMES = " ".join(system_calls.ALLOWED.values()).split()
PLAINLY = "course_lib.checks.engine.call:call_plainly"
LEADS_OUT = """
    accept4 add_key bind bpf connect execve execveat fanotify_init fork fsopen init_module
    inotify_add_watch inotify_init1 io_setup io_uring_enter io_uring_register io_uring_setup kcmp
    kexec_load keyctl kill listen memfd_create mount mount_setattr move_mount mq_open msgctl msgget
    msgrcv msgsnd name_to_handle_at open_by_handle_at open_tree perf_event_open personality
    pidfd_getfd pidfd_open pidfd_send_signal pivot_root process_vm_readv process_vm_writev ptrace
    quotactl reboot recvmsg request_key rt_sigqueueinfo sched_setaffinity seccomp semctl semget
    semop sendmsg setns setrlimit setsid setuid shmat shmctl shmget socket socketpair swapon sync
    timer_create tkill umount2 unshare userfaultfd vfork
""".split()
IN_THE_JAIL = """
import ctypes, errno, fcntl, os, signal, termios
libc = ctypes.CDLL(None, use_errno=True)
def error_of(number, *arguments):
    "The error with which a call fails; None if it succeeds."
    ctypes.set_errno(0)
    values = [ctypes.c_long(value) for value in (*arguments, *[0] * 6)[:6]]
    return errno.errorcode[ctypes.get_errno()] if libc.syscall(number, *values) == -1 else None
def errors_of(*calls):
    return [error_of(*call) for call in calls]
"""


@pytest.fixture(scope="module")
def errors_of(jail):
    """``errors_of(calls)``: the errors of system calls in the jail, by number and arguments."""
    with jail.session(jail.library("engine", engine_files())) as session:
        assert session.run("cell", IN_THE_JAIL, 5) is None

        def ask(calls):
            answer = session.ask("errors_of", PLAINLY, Call(tuple(calls)), 10)
            assert answer.failure is None, answer.failure
            return answer.value

        yield ask


def number_of(name, architecture=seccomp.Arch.NATIVE):
    return seccomp.resolve_syscall(architecture, name)


def test_no_name_is_listed_twice_or_beside_what_is_refused():
    assert sorted(NAMES) == sorted(set(NAMES))
    refused = {*system_calls._NOT_PERMITTED.split(), *system_calls.ALLOWED_BY_ARGUMENT, *LEADS_OUT}
    assert not refused & set(NAMES)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_filter_can_be_built_for_each_architecture(architecture):
    program = system_calls.allow_list(ARCHITECTURES[architecture])
    assert len(program) % 8 == 0
    there = sum(number_of(name, ARCHITECTURES[architecture]) >= 0 for name in NAMES)
    assert len(program) // 8 > there > 100


def test_what_aarch64_lacks_has_a_newer_call_that_is_allowed():
    lacking = {name for name in NAMES if number_of(name, seccomp.Arch.AARCH64) < 0}
    newer = {"openat", "newfstatat", "faccessat", "mkdirat", "unlinkat", "ppoll", "pselect6"}
    assert lacking >= {"open", "stat", "access", "mkdir", "unlink", "poll", "select"}
    assert not newer & lacking
    assert newer <= set(NAMES)


def test_a_name_that_no_system_has_is_an_error_at_start(monkeypatch):
    monkeypatch.setitem(system_calls.ALLOWED, "files", "read wriet")
    with pytest.raises(CourseError, match="the system call 'wriet', and it does not: install"):
        system_calls.allow_list()


@pytest.mark.parametrize("name", LEADS_OUT)
def test_a_call_that_leads_out_is_refused(name, errors_of):
    assert errors_of([(number_of(name),)])[0] in ("ENOSYS", "EPERM")


def test_every_call_that_is_not_listed_is_refused(errors_of):
    """By number: those of which libseccomp knows nothing, too."""
    listed = {number_of(name) for name in (*NAMES, *system_calls.ALLOWED_BY_ARGUMENT)}
    if os.uname().machine == "x86_64":  # uretprobe and uprobe, of which seccomp is not asked:
        listed |= {335, 336}  # the kernel takes them from its own instructions only
    numbers = [number for number in range(600) if number not in listed]
    assert len(numbers) > 400
    assert set(errors_of([(number,) for number in numbers])) == {"ENOSYS", "EPERM"}


PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_GET_NO_NEW_PRIVS = 1, 4, 22, 39
A_THREAD, NO_KERNEL_TAKES = 0x10F00, 0x401000  # CLONE_DETACHED with CLONE_PIDFD
TIOCSTI, FIOSETOWN, TCGETS, CLONE_THREAD, CLONE_NEWUSER = 0x5412, 0x8901, 0x5401, 1 << 16, 1 << 28
F_GETFD, F_SETLK, F_SETOWN, F_SETSIG, F_NOTIFY = 1, 6, 8, 10, 1026


@pytest.mark.parametrize(
    ("name", "arguments", "error"),
    [
        ("clone", (17,), "EPERM"),
        ("clone", (CLONE_NEWUSER | 17,), "EPERM"),
        ("clone", (CLONE_THREAD | CLONE_NEWUSER,), "ENOSYS"),
        ("clone", (CLONE_THREAD,), "ENOSYS"),  # with descriptors of its own, beyond their limit
        ("clone", (A_THREAD | NO_KERNEL_TAKES,), "EINVAL"),  # the kernel's own answer: it was asked
        ("flock", (0, 2), "EPERM"),
        ("utimensat", (0, 0, 0, 0), "EPERM"),
        ("fcntl", (0, F_SETLK, 0), "ENOSYS"),
        ("clone3", (), "ENOSYS"),
        ("fcntl", (0, F_GETFD), None),
        ("fcntl", (0, F_SETOWN, 1), "ENOSYS"),
        ("fcntl", (0, F_SETSIG, 9), "ENOSYS"),
        ("fcntl", (0, F_NOTIFY, 1), "ENOSYS"),
        ("ioctl", (0, TCGETS), "ENOTTY"),
        ("ioctl", (0, TIOCSTI), "ENOSYS"),
        ("ioctl", (0, FIOSETOWN), "ENOSYS"),
        ("ioctl", (0, TIOCSTI | 1 << 32), "ENOSYS"),  # of which the kernel reads the lower half
        ("prctl", (PR_GET_NO_NEW_PRIVS,), None),
        ("prctl", (PR_SET_PDEATHSIG,), "ENOSYS"),
        ("prctl", (PR_SET_DUMPABLE, 1), "ENOSYS"),
        ("prctl", (PR_SET_SECCOMP, 2), "ENOSYS"),
        ("prlimit64", (0, 7), None),
        ("prlimit64", (1, 7), "ENOSYS"),
        ("tgkill", (1, 1, 0), None),
        ("tgkill", (2, 2, 0), "ENOSYS"),
    ],
)
def test_a_call_is_allowed_with_some_arguments_only(name, arguments, error, errors_of):
    assert errors_of([(number_of(name), *arguments)]) == [error]


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="x32 is x86_64's")
def test_the_second_way_to_make_calls_ends_the_process(jail):
    with jail.session(jail.library("engine", engine_files())) as session:
        assert session.run("cell", IN_THE_JAIL, 5) is None
        with pytest.raises(Exception, match="the process ended"):
            session.ask("error_of", PLAINLY, Call((39 | 1 << 30,)), 5)
