"""Which system calls a learner's code may not make, by number.

Whatever starts a process, reaches another one, opens a connection or changes what a process may see
is refused. Threads, files and memory are left, and other limits hold for those. Where Landlock
alone protects files, changing them is refused, too: it knows nothing of permissions and owners.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Numbers:
    """The system calls of one processor architecture.

    Attributes:
        audit: the number by which the kernel names the architecture.
        clone, clone3, tgkill, prlimit, fcntl, ioctl: calls that are refused for some arguments
            only.
        refused: calls that are always refused.
        changes: calls that change files, and are refused where no file may be changed.
        x32: whether numbers from 2³⁰ on are a second way to make the same calls.
    """

    audit: int
    clone: int
    clone3: int
    tgkill: int
    prlimit: int
    fcntl: int
    ioctl: int
    refused: tuple[int, ...]
    changes: tuple[int, ...]
    x32: bool = False


_X86_64 = {
    "fork": 57,
    "vfork": 58,
    "execve": 59,
    "execveat": 322,
    "kill": 62,
    "tkill": 200,
    "rt_sigqueueinfo": 129,
    "rt_tgsigqueueinfo": 297,
    "pidfd_send_signal": 424,
    "pidfd_open": 434,
    "pidfd_getfd": 438,
    "ptrace": 101,
    "process_vm_readv": 310,
    "process_vm_writev": 311,
    "process_madvise": 440,
    "kcmp": 312,
    "socket": 41,
    "socketpair": 53,
    "connect": 42,
    "bind": 49,
    "listen": 50,
    "accept": 43,
    "accept4": 288,
    "unshare": 272,
    "setns": 308,
    "mount": 165,
    "umount2": 166,
    "pivot_root": 155,
    "chroot": 161,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "mount_setattr": 442,
    "name_to_handle_at": 303,
    "open_by_handle_at": 304,
    "bpf": 321,
    "perf_event_open": 298,
    "userfaultfd": 323,
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "add_key": 248,
    "request_key": 249,
    "keyctl": 250,
    "memfd_create": 319,
    "shmget": 29,
    "shmat": 30,
    "msgget": 68,
    "semget": 64,
    "mq_open": 240,
    "setpriority": 141,
    "sched_setscheduler": 144,
    "sched_setattr": 314,
    "sched_setaffinity": 203,
    "ioprio_set": 251,
    "personality": 135,
    "modify_ldt": 154,
    "iopl": 172,
    "ioperm": 173,
    "init_module": 175,
    "finit_module": 313,
    "kexec_load": 246,
    "kexec_file_load": 320,
    "reboot": 169,
    "acct": 163,
    "swapon": 167,
    "quotactl": 179,
}
_X86_64_CHANGES = {
    "truncate": 76,
    "chmod": 90,
    "fchmod": 91,
    "fchmodat": 268,
    "fchmodat2": 452,
    "chown": 92,
    "fchown": 93,
    "lchown": 94,
    "fchownat": 260,
    "utime": 132,
    "utimes": 235,
    "futimesat": 261,
    "utimensat": 280,
    "setxattr": 188,
    "lsetxattr": 189,
    "fsetxattr": 190,
    "setxattrat": 463,
    "removexattr": 197,
    "lremovexattr": 198,
    "fremovexattr": 199,
    "removexattrat": 466,
    "file_setattr": 469,
}
_ARM_64 = {
    "execve": 221,
    "execveat": 281,
    "kill": 129,
    "tkill": 130,
    "rt_sigqueueinfo": 138,
    "rt_tgsigqueueinfo": 240,
    "pidfd_send_signal": 424,
    "pidfd_open": 434,
    "pidfd_getfd": 438,
    "ptrace": 117,
    "process_vm_readv": 270,
    "process_vm_writev": 271,
    "process_madvise": 440,
    "kcmp": 272,
    "socket": 198,
    "socketpair": 199,
    "connect": 203,
    "bind": 200,
    "listen": 201,
    "accept": 202,
    "accept4": 242,
    "unshare": 97,
    "setns": 268,
    "mount": 40,
    "umount2": 39,
    "pivot_root": 41,
    "chroot": 51,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "mount_setattr": 442,
    "name_to_handle_at": 264,
    "open_by_handle_at": 265,
    "bpf": 280,
    "perf_event_open": 241,
    "userfaultfd": 282,
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "add_key": 217,
    "request_key": 218,
    "keyctl": 219,
    "memfd_create": 279,
    "shmget": 194,
    "shmat": 196,
    "msgget": 186,
    "semget": 190,
    "mq_open": 180,
    "setpriority": 140,
    "sched_setscheduler": 119,
    "sched_setattr": 274,
    "sched_setaffinity": 122,
    "ioprio_set": 30,
    "personality": 92,
    "init_module": 105,
    "finit_module": 273,
    "kexec_load": 104,
    "kexec_file_load": 294,
    "reboot": 142,
    "acct": 89,
    "swapon": 224,
    "quotactl": 60,
}
_ARM_64_CHANGES = {
    "truncate": 45,
    "fchmod": 52,
    "fchmodat": 53,
    "fchmodat2": 452,
    "fchown": 55,
    "fchownat": 54,
    "utimensat": 88,
    "setxattr": 5,
    "lsetxattr": 6,
    "fsetxattr": 7,
    "setxattrat": 463,
    "removexattr": 14,
    "lremovexattr": 15,
    "fremovexattr": 16,
    "removexattrat": 466,
    "file_setattr": 469,
}
# Second arguments that let a file's signals go to any process of the same user: F_SETOWN, F_SETSIG
# and F_SETOWN_EX; FIOSETOWN and SIOCSPGRP. They are the same on both architectures.
FCNTL_REFUSED = (8, 10, 15)
# The last two, FS_IOC_SETFLAGS and FS_IOC_FSSETXATTR, change the attributes of an open file.
IOCTL_REFUSED = (0x8901, 0x8902, 0x40086602, 0x401C5820)
NUMBERS = {
    "x86_64": Numbers(
        audit=0xC000003E,
        clone=56,
        clone3=435,
        tgkill=234,
        prlimit=302,
        fcntl=72,
        ioctl=16,
        refused=tuple(_X86_64.values()),
        changes=tuple(_X86_64_CHANGES.values()),
        x32=True,
    ),
    "aarch64": Numbers(
        audit=0xC00000B7,
        clone=220,
        clone3=435,
        tgkill=131,
        prlimit=261,
        fcntl=25,
        ioctl=29,
        refused=tuple(_ARM_64.values()),
        changes=tuple(_ARM_64_CHANGES.values()),
    ),
}
