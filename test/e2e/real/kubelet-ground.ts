// What a kubelet and a runtime need of a systemd machine that a host of its own would have: folders that are no overlay, control groups and sysctls that they may
// write, and a kernel log.
import { chownSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { HostOptions } from '../agent-host/machine.ts'
import { hostTree } from './host-tree.ts'

/** The sysctls are those that a kubelet sets; all machines share one kernel. */
const SCRIPT = `for c in cpu cpuacct cpuset memory devices freezer blkio pids; do
  [ -d /sys/fs/cgroup/$c ] && mount -o remount,bind,rw /sys/fs/cgroup/$c
done
mkdir -p /run/as-a-host
set -- vm/overcommit_memory 1 vm/panic_on_oom 0 kernel/panic 10 kernel/panic_on_oops 1 kernel/keys/root_maxkeys 1000000 kernel/keys/root_maxbytes 25000000
while [ $# -gt 0 ]; do
  f=/run/as-a-host/$(echo $1 | tr / _)
  echo $2 > $f
  mount --bind $f /proc/sys/$1
  shift 2
done
exit 0
`

const UNIT = `[Unit]
DefaultDependencies=no
After=local-fs.target
Before=sysinit.target
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/local/sbin/as-a-host
`

/** What a kubelet and a runtime write by themselves below folders that are compared. */
const BY_ITSELF = /^\/var\/lib\/kubelet\/(?!config\.yaml$|kubeadm-flags\.env$)/

export class KubeletGround {
  readonly kernelLog: string
  readonly #folder: string

  /** `folder`: on a file system that can carry an overlay. */
  constructor(folder: string) {
    this.#folder = folder
    for (const part of ['containerd', 'kubelet']) mkdirSync(join(folder, part), { recursive: true })
    this.kernelLog = join(folder, 'kmsg')
    this.clearKernelLog()
  }

  /** As the kernel's own memory, it does not survive a boot. */
  clearKernelLog(): void {
    writeFileSync(this.kernelLog, '')
  }

  get binds(): readonly string[] {
    return [`${this.kernelLog}:/dev/kmsg`]
  }

  /** A runtime makes overlays, which cannot lie on another one. */
  get writable(): NonNullable<HostOptions['writable']> {
    return [
      `${join(this.#folder, 'containerd')}:/var/lib/containerd`,
      `${join(this.#folder, 'kubelet')}:/var/lib/kubelet`,
    ]
  }

  /** Writes a file of the machine whose tree is `root`. */
  put(root: string, path: string, content: string | Buffer, mode = 0o644, gid = 0): void {
    const [, below] = /^\/var\/lib\/kubelet\/(.*)$/.exec(path) ?? []
    const full = below === undefined ? join(root, path) : join(this.#folder, 'kubelet', below)
    mkdirSync(dirname(full), { recursive: true })
    writeFileSync(full, content, { mode })
    chownSync(full, 0, gid)
  }

  /** Before the first boot. `first`: lines of a shell that run before at each boot. */
  layOut(root: string, first = ''): void {
    this.put(root, '/usr/local/sbin/as-a-host', `#!/bin/sh\n${first}${SCRIPT}`, 0o755)
    this.put(root, '/etc/systemd/system/as-a-host.service', UNIT)
    const wants = join(root, 'etc/systemd/system/sysinit.target.wants')
    mkdirSync(wants, { recursive: true })
    symlinkSync('../as-a-host.service', join(wants, 'as-a-host.service'))
    // A minimal Debian has none, and a runtime reads it for each pod.
    this.put(root, '/etc/hosts', '127.0.0.1 localhost\n')
  }

  /** Everything that a hand-back has to leave as it was. `leader`: the first process of the machine. */
  tree(leader: number | undefined): ReadonlyMap<string, string> {
    return new Map([...hostTree(`/proc/${leader}/root`)].filter(([path]) => !BY_ITSELF.test(path)))
  }
}
