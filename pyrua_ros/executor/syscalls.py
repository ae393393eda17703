"""The system calls that a cell's process does without, as a seccomp filter."""

from __future__ import annotations

import errno
import os
import socket

#: Refused outright. Each line is one thing that a cell could do to others, or to its own cage.
DENIED = (
    # reach other programs: UNIX sockets of the desktop, the gate, a container engine; any TCP server
    *("connect",),
    # look into, change or take over another process
    *("ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease", "kcmp"),
    *("pidfd_getfd", "pidfd_send_signal", "tkill", "move_pages", "migrate_pages", "perf_event_open"),
    # start processes that outlive the cell; `clone` is filtered by its flags below
    *("fork", "vfork"),
    # change file ownership and attributes, which Landlock does not cover
    *("chown", "lchown", "fchown", "fchownat"),
    *("setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr"),
    # file systems, namespaces, handles that step round paths
    *("mount", "umount", "umount2", "mount_setattr", "move_mount", "open_tree", "fsopen", "fsconfig"),
    *("fsmount", "fspick", "pivot_root", "chroot", "setns", "unshare", "name_to_handle_at"),
    *(
        "open_by_handle_at",
        "quotactl",
        "quotactl_fd",
        "swapon",
        "swapoff",
        "fanotify_init",
        "mknod",
        "mknodat",
    ),
    # the machine: kernel, clock, names, ports
    *("bpf", "kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "reboot"),
    *("settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "sethostname", "setdomainname"),
    *("iopl", "ioperm", "acct", "syslog", "vhangup", "lookup_dcookie", "nfsservctl", "personality"),
    # keys and memory shared with the user's other programs
    *(
        "add_key",
        "request_key",
        "keyctl",
        "shmget",
        "shmat",
        "shmctl",
        "semget",
        "semctl",
        "msgget",
        "msgctl",
    ),
    *("mq_open", "mq_unlink"),
    # interfaces whose only users here would be exploits
    *("userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register", "vmsplice", "remap_file_pages"),
)

#: Does nothing and says it did: libraries that copy files insist on it, and Landlock does not cover it.
IGNORED = ("chmod", "fchmodat", "fchmodat2")

#: Refused unless the process argument is 0 (oneself): a cell must not slow the gate down or limit it.
OWN_PROCESS_ONLY = {
    "prlimit64": 0,
    "ioprio_set": 1,
    "sched_setaffinity": 0,
    "sched_setparam": 0,
    "sched_setattr": 0,
}

#: Where Landlock cannot scope signals: refused unless the process argument is oneself.
SIGNALS = ("kill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo")

_CLONE_THREAD = 0x10000
_PR_SET_PDEATHSIG = 1
_IOPRIO_WHO_USER = 3
_TYPE_MASK = 0xF  # the rest of a socket type are flags


def install(scope_signals: bool) -> None:
    """Load the filter into this single-threaded process, for good.

    Parameters
    ----------
    scope_signals : also refuse signals to other processes (where Landlock does not do it).

    Raises `RuntimeError` when libseccomp is missing, `OSError` when the kernel refuses.
    """
    try:
        import pyseccomp as sc
    except ImportError:
        raise RuntimeError("the Python package pyseccomp is missing") from None

    filter_ = sc.SyscallFilter(sc.ALLOW)
    refuse = sc.ERRNO(errno.EPERM)

    def deny(name: str, *conditions: sc.Arg, action: int = refuse) -> None:
        try:
            filter_.add_rule(action, name, *conditions)
        except OSError:
            pass  # this architecture or this libseccomp does not know the call

    for name in DENIED:
        deny(name)
    for name in IGNORED:
        deny(name, action=sc.ERRNO(0))
    for name, position in OWN_PROCESS_ONLY.items():
        deny(name, sc.Arg(position, sc.NE, 0))
    # Fast DDS sets each of its threads, by number, to the default policy and niceness, which are 0.
    deny("sched_setscheduler", sc.Arg(0, sc.NE, 0), sc.Arg(1, sc.NE, 0))
    deny("setpriority", sc.Arg(1, sc.NE, 0), sc.Arg(2, sc.NE, 0))
    deny("setpriority", sc.Arg(0, sc.EQ, os.PRIO_USER))
    deny("ioprio_set", sc.Arg(0, sc.EQ, _IOPRIO_WHO_USER))
    # Its flags are behind a pointer; without it the C library uses `clone`, whose flags can be seen.
    deny("clone3", action=sc.ERRNO(errno.ENOSYS))
    deny("clone", sc.Arg(0, sc.MASKED_EQ, _CLONE_THREAD, 0))
    deny("prctl", sc.Arg(0, sc.EQ, _PR_SET_PDEATHSIG))
    _deny_sockets(deny, sc)
    if scope_signals:
        for name in SIGNALS:
            deny(name, sc.Arg(0, sc.NE, os.getpid()))
    try:
        filter_.set_attr(sc.Attr.CTL_OPTIMIZE, 2)
    except OSError:
        pass  # an older libseccomp walks the rules one by one
    filter_.load()


def _deny_sockets(deny, sc) -> None:  # type: ignore[no-untyped-def]
    """Leave what DDS (UDP, the list of interfaces) and ZeroMQ (UNIX streams) need."""
    for family in (socket.AF_INET, socket.AF_INET6):
        for kind in (socket.SOCK_STREAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET, socket.SOCK_RDM):
            deny("socket", sc.Arg(0, sc.EQ, family), sc.Arg(1, sc.MASKED_EQ, _TYPE_MASK, kind))
    for kind in (socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
        deny("socket", sc.Arg(0, sc.EQ, socket.AF_UNIX), sc.Arg(1, sc.MASKED_EQ, _TYPE_MASK, kind))
    netlink_route = 0
    deny("socket", sc.Arg(0, sc.EQ, socket.AF_NETLINK), sc.Arg(2, sc.NE, netlink_route))
    known = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK)
    for other in range(3, 64):
        if other not in known:
            deny("socket", sc.Arg(0, sc.EQ, other))
    deny("socket", sc.Arg(0, sc.GE, 64))
