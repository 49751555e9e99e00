// A bootable disk with Debian, GRUB and one kernel, made without mounting anything: the file system is filled by mkfs, and GRUB installs itself in the guest.
import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  closeSync,
  cpSync,
  mkdirSync,
  openSync,
  readdirSync,
  realpathSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { execPath, geteuid } from 'node:process'
import { silentLogger } from '#lib/log.ts'
import { ensureTree, type TreeOptions } from '#providers/nspawn/tree.ts'
import { HERE } from './orders.ts'

const TREE: TreeOptions = {
  cache: '/var/lib/kubenode/trees',
  packages: [
    'systemd-sysv',
    'udev',
    'kmod',
    'initramfs-tools',
    'linux-image-cloud-amd64',
    'grub-pc',
    'libatomic1',
    'libstdc++6',
  ],
  log: silentLogger,
}
const DISK_BYTES = 3 * 2 ** 30
const SECTOR = 512
const FIRST_SECTOR = 2_048

/** Why there can be no guest here; undefined when there can. */
export function noGuest(): string | undefined {
  if (geteuid?.() !== 0) return 'building a disk needs root'
  const missing = ['qemu-system-x86_64', 'debootstrap', 'mkfs.ext4', 'apt-get'].find(
    (program) => spawnSync(program, ['--version'], { stdio: 'ignore' }).error !== undefined,
  )
  return missing === undefined ? undefined : `${missing} is not installed`
}

export interface GuestDisk {
  readonly path: string
  /** For the first boot, in which GRUB installs itself. */
  readonly kernel: string
  readonly initrd: string
  /** The release of the kernel that Debian installed. */
  readonly release: string
}

/** Another kernel than that of the tree: the newest one of the same series that apt has. */
function otherKernel(release: string, folder: string): { readonly release: string; readonly file: string } {
  const series = /^\d+\.\d+\.\d+/.exec(release)?.[0] ?? ''
  const found = execFileSync('apt-cache', ['pkgnames', `linux-image-${series}-`], { encoding: 'utf8' })
    .split('\n')
    .map((name) => /^linux-image-([\d.]+-(\d+)-cloud-amd64)$/.exec(name))
    .flatMap((match) =>
      match === null || match[1] === release ? [] : [{ release: match[1] ?? '', abi: Number(match[2]) }],
    )
    .toSorted((a, b) => b.abi - a.abi)
  for (const { release: other } of found)
    if (spawnSync('apt-get', ['download', `linux-image-${other}`], { cwd: folder, stdio: 'ignore' }).status === 0)
      return {
        release: other,
        file: readdirSync(folder).find((name) => name.startsWith(`linux-image-${other}_`)) ?? '',
      }
  throw new Error(`apt has no other kernel than ${release}; run apt-get update`)
}

const SETUP = `#!/bin/sh
set -e
mount -o remount,rw /
sed -i 's/^GRUB_DEFAULT=.*/GRUB_DEFAULT=saved/; s/^GRUB_TIMEOUT=.*/GRUB_TIMEOUT=0/; s/^GRUB_CMDLINE_LINUX=.*/GRUB_CMDLINE_LINUX="console=ttyS0 no_timer_check"/' /etc/default/grub
sed -i 's/^MODULES=.*/MODULES=dep/; s/^COMPRESS=.*/COMPRESS=gzip/' /etc/initramfs-tools/initramfs.conf
grub-install /dev/vda
update-grub
grub-set-default 0
sync
mount -o remount,ro /
echo o > /proc/sysrq-trigger
sleep 60
`
/** What a test puts on the disk. */
export interface Furnishing {
  readonly root: string
  /** The release of the kernel that Debian installed. */
  readonly release: string
  /** Downloaded, not on the disk. */
  readonly other: { readonly release: string; readonly file: string }
}

export async function makeDisk(
  folder: string,
  furnish: (furnishing: Furnishing) => Promise<void> | void,
): Promise<GuestDisk> {
  const tree = await ensureTree(TREE)
  const root = join(folder, 'root')
  cpSync(tree, root, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true })
  const [release = ''] = readdirSync(join(root, 'lib/modules'))
  const here = join(root, HERE)
  mkdirSync(here)
  const { file, ...other } = otherKernel(release, folder)
  cpSync(realpathSync(execPath), join(here, 'node'))
  writeFileSync(join(here, 'setup'), SETUP)
  chmodSync(join(here, 'setup'), 0o755)
  writeFileSync(join(root, 'etc/fstab'), '/dev/vda1 / ext4 rw 0 1\n')
  await furnish({ root, release, other: { ...other, file: join(folder, file) } })
  const path = join(folder, 'disk')
  partition(path)
  const size = `${(DISK_BYTES - FIRST_SECTOR * SECTOR) / 1024}K`
  execFileSync('mkfs.ext4', ['-q', '-F', '-E', `offset=${FIRST_SECTOR * SECTOR}`, '-d', root, path, size])
  const copied = (name: string): string => {
    cpSync(join(root, 'boot', name), join(folder, basename(name)))
    return join(folder, name)
  }
  return { path, kernel: copied(`vmlinuz-${release}`), initrd: copied(`initrd.img-${release}`), release }
}

/** A unit of the guest, started at each boot. */
export function enableUnit(root: string, name: string, text: string): void {
  const units = join(root, 'etc/systemd/system')
  mkdirSync(join(units, 'multi-user.target.wants'), { recursive: true })
  writeFileSync(join(units, name), text)
  symlinkSync(`../${name}`, join(units, 'multi-user.target.wants', name))
}

/** One partition over the whole disk, for BIOS. GRUB lies in the gap before it. */
function partition(path: string): void {
  const table = Buffer.alloc(SECTOR)
  table.writeUInt8(0x80, 446)
  table.writeUInt8(0x83, 446 + 4)
  table.writeUInt32LE(FIRST_SECTOR, 446 + 8)
  table.writeUInt32LE(DISK_BYTES / SECTOR - FIRST_SECTOR, 446 + 12)
  table.writeUInt16BE(0x55aa, 510)
  const file = openSync(path, 'w')
  writeSync(file, table)
  closeSync(file)
  truncateSync(path, DISK_BYTES)
}
