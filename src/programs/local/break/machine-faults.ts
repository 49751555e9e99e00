// The faults of a systemd machine of the local fleet, as scripts that run inside it. Data. Each acts only in the namespaces of the machine: on its tmpfs, its mounts,
// its network and its processes, so that nothing of the host changes and a boot of the machine ends it. Run twice, a script has the effect of one run.
import { MACHINE_FAULTS } from '#agent/played-host.ts'
import type { Fault, FaultFacts } from './faults.ts'

interface MachineFault extends FaultFacts {
  /** What is true once the script has run. */
  readonly done: string
  readonly provoke: string
  readonly undone: string
  readonly undo: string
}

const WHY = (node: string): string => `kubenode why node/${node}`
const JOBS = (): string => 'kubenode get remedyoperationjobs'

/** A boot of the machine takes it away. */
const covers = (file: string, target: string): string => `umount ${target} 2>/dev/null || :
mount --bind ${MACHINE_FAULTS}/${file} ${target}`
const uncovers = (target: string): string => `umount ${target} 2>/dev/null || :`

const CARD = '0000:3b:00.0'
const AHEAD_MS = 60_000
/** MiB of memory at most; the files that fill it are half a MiB each. */
const DISK_MIB = 32
const FILES = 62

/**
 * Waits in the kernel like a process whose disk does not answer: the parent of a child that was made as vfork makes it, until the child ends. Unlike with a real
 * fault, a kill ends it, so that a machine can always shut down. The kernel's own watchdog leaves such a wait out, so that the host's log says nothing of it.
 */
const HANGS = String.raw`use POSIX (); my %clone = (x86_64 => 56, aarch64 => 220); my $call = $clone{(POSIX::uname())[4]} or die "unknown processor";
exit 0 if syscall($call, 0x4011, 0, 0, 0, 0) != 0; sleep 3600; POSIX::_exit(0);`

/** As the kernel repeats it. The sequence numbers begin with this log. */
const LINES = `n=0; while [ "$n" -lt 60 ]; do n=$((n + 1)); echo "3,$n,$n,-;INFO: task containerd:4711 blocked for more than 120 seconds." >>${MACHINE_FAULTS}/kmsg; sleep 5; done`

const started = (unit: string, program: string): string =>
  `systemctl stop ${unit} 2>/dev/null || :
systemd-run --quiet --collect --unit=${unit} ${program}`
const stopped = (unit: string): string => `systemctl stop ${unit} 2>/dev/null || :`

/** The agent opens the log when it starts. */
const AGENT_READS_AGAIN = 'systemctl try-restart kubenode-agent.service 2>/dev/null || :'

export const MACHINE_SCRIPTS: Readonly<Record<Fault, MachineFault>> = {
  hung: {
    done: 'a process of the machine waits in the kernel and does not run',
    provoke: started('kubenode-break-hung', `/usr/bin/perl -e '${HANGS}'`),
    undone: 'the process is killed',
    undo: stopped('kubenode-break-hung'),
    effect:
      'the agent finds it after two minutes; five minutes later a rule drains and reboots the node under a permit; a rule in DryRun only shows it',
    watch: JOBS,
    ends: 'the reboot ends it; without one, it ends after an hour',
  },
  network: {
    done: 'the machine reaches nothing: the loopback of its own network, and with it its way to the API server, is down',
    provoke: 'ip link set lo down',
    undone: 'the machine reaches its API server again',
    undo: 'ip link set lo up',
    effect:
      'the agent sends no heartbeats, and the node is silent after 40 seconds; after five minutes a rule has the provider reboot it; a rule in DryRun only shows it',
    watch: WHY,
    ends: 'the reboot ends it: the machine gets a new network',
  },
  'kernel-log': {
    done: 'the machine has a kernel log of its own in place of the one of this host, in which a task of containerd hangs',
    provoke: `: >>${MACHINE_FAULTS}/kmsg
${covers('kmsg', '/dev/kmsg')}
${AGENT_READS_AGAIN}
${started('kubenode-break-kernel-log', `/bin/sh -c '${LINES}'`)}`,
    undone: 'the agent reads the log of this host again; the condition stays until the machine boots',
    undo: `${stopped('kubenode-break-kernel-log')}
${uncovers('/dev/kmsg')}
${AGENT_READS_AGAIN}`,
    effect:
      'the agent, restarted to open that log, sets KernelDeadlock within seconds; a rule drains and reboots the node; a rule in DryRun only shows it',
    watch: JOBS,
    ends: 'the reboot ends it; the line is repeated for five minutes',
  },
  memory: {
    done: 'the kernel of the machine reports that it took corrupted memory out of use',
    provoke: `sed 's/^HardwareCorrupted:.*/HardwareCorrupted:     4 kB/' /proc/meminfo >${MACHINE_FAULTS}/meminfo.new
grep -q '^HardwareCorrupted:' ${MACHINE_FAULTS}/meminfo.new || echo 'HardwareCorrupted:     4 kB' >>${MACHINE_FAULTS}/meminfo.new
mv ${MACHINE_FAULTS}/meminfo.new ${MACHINE_FAULTS}/meminfo
${covers('meminfo', '/proc/meminfo')}`,
    undone: 'the machine shows the memory of this host again',
    undo: uncovers('/proc/meminfo'),
    effect:
      'the agent finds it within a minute; a rule drains the node and has another machine take its place, under a permit; a rule in DryRun only shows it',
    watch: JOBS,
    ends: 'the new machine has memory of its own; until then the figures of memory do not change on this one',
  },
  card: {
    done: `the card in slot ${CARD} counts a fatal PCIe error`,
    provoke: `mkdir -p ${MACHINE_FAULTS}/pci/${CARD}
echo 'TOTAL_ERR_FATAL 1' >${MACHINE_FAULTS}/pci/${CARD}/aer_dev_fatal
echo 16 >${MACHINE_FAULTS}/pci/${CARD}/current_link_width
${covers('pci', '/sys/bus/pci/devices')}`,
    undone: 'the machine shows the cards of this host again',
    undo: uncovers('/sys/bus/pci/devices'),
    effect:
      'the agent finds it within a minute; a rule drains and reboots it under a permit and then watches it for ten minutes; a rule in DryRun only shows it',
    watch: JOBS,
    ends: 'the reboot ends it',
  },
  disk: {
    done: `/var/log of the machine is a disk of ${DISK_MIB} MiB in memory and is full of old logs of pods; its earlier files are hidden`,
    provoke: `umount /var/log 2>/dev/null || :
mount -t tmpfs -o size=${DISK_MIB}m,mode=0755 kubenode-break /var/log
mkdir -p /var/log/pods/default_played_1/app
for n in $(seq ${FILES}); do f=/var/log/pods/default_played_1/app/$n.log; head -c 524288 /dev/zero >"$f"; touch -d '8 days ago' "$f"; done`,
    undone: '/var/log of the machine is the one that it had',
    undo: uncovers('/var/log'),
    effect:
      'the agent finds less than a tenth of the disk free within half a minute; after five minutes a rule has it remove old logs of pods',
    watch: WHY,
    ends: 'the cleaning ends it; --undo also takes the small disk away',
  },
  clock: {
    done: 'the agent takes the clock of the machine for a minute ahead; it has no clock of its own, and that of this host stays',
    provoke: `echo ${AHEAD_MS} >${MACHINE_FAULTS}/clock`,
    undone: 'the agent measures the clock of this host again',
    undo: `rm -f ${MACHINE_FAULTS}/clock`,
    effect:
      'the agent compares its clock with the API server every five minutes, and needs to find it off twice; a rule restarts the time service, where there is one, and then reboots the node; a rule in DryRun only shows it',
    watch: WHY,
    ends: 'the reboot ends it',
  },
}

export const machineScript = (text: string): readonly string[] => [
  '/bin/sh',
  '-ec',
  `mkdir -p ${MACHINE_FAULTS}\n${text}`,
]
