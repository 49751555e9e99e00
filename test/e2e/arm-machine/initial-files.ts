// The initial file system of a tiny machine for ARM: Debian's kernel modules, libraries and busybox, Node.js, and the program of the agent, in memory.
import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { placeArmNode } from '#test/support/images/arm-node.ts'

const NEEDED = ['qemu-system-aarch64', 'dpkg-deb', 'apt-get']

/** Why there can be no such machine here; undefined when there can. */
export function noArmMachine(): string | undefined {
  const missing = NEEDED.find((program) => spawnSync(program, ['--version'], { stdio: 'ignore' }).error !== undefined)
  return missing === undefined ? undefined : `${missing} is not installed (packages qemu-system-arm, dpkg)`
}

/** In the order in which they are loaded. */
const MODULES = [
  'drivers/virtio/virtio_ring',
  'drivers/virtio/virtio',
  'drivers/virtio/virtio_pci_modern_dev',
  'drivers/virtio/virtio_pci_legacy_dev',
  'drivers/virtio/virtio_pci',
  'net/core/failover',
  'drivers/net/net_failover',
  'drivers/net/virtio_net',
]

/** qemu's network of a user: the machine reaches the loopback of its host at the gateway. */
export const HOST = '10.0.2.2'
export const NODE_FOLDER = '/node'

const INIT = `#!/bin/busybox sh
export PATH=/usr/bin:/bin HOME=/
/bin/busybox mkdir -p /bin /usr/bin /proc /sys /dev /run /tmp /var
/bin/busybox --install -s /bin
ln -s /bin/env /usr/bin/env
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
mount -t tmpfs none /run
mount -t tmpfs none /tmp
for module in ${MODULES.map((m) => m.split('/').at(-1)).join(' ')}; do insmod /modules/$module.ko; done
ip link set lo up
ip link set eth0 up
ip addr add 10.0.2.15/24 dev eth0
ip route add default via ${HOST}
date -s "@$(sed 's/.*now=\\([0-9]*\\).*/\\1/' /proc/cmdline)"
node /forward.mjs &
node /agent.mjs --root ${NODE_FOLDER}
echo "the agent has ended with $?"
poweroff -f
`

/** The API server listens on the loopback of the host, and its certificate names that address. */
export const forward = (port: number): string => `import { connect, createServer } from 'node:net'
createServer((inward) => {
  const outward = connect(${port}, '${HOST}')
  inward.pipe(outward).pipe(inward)
  for (const [one, other] of [[inward, outward], [outward, inward]]) one.on('error', () => other.destroy())
}).listen(${port}, '127.0.0.1')
`

export interface ArmMachine {
  readonly kernel: string
  /** Its release, as \`uname -r\` prints it. */
  readonly release: string
  readonly root: string
}

/** Everything that is the same for each run. Debian's own archive, asked as a machine for ARM would. */
export async function armMachine(folder: string): Promise<ArmMachine> {
  const state = ['state/lists/partial', 'cache/archives/partial', 'debs']
  for (const path of state) mkdirSync(join(folder, path), { recursive: true })
  const as = [
    'APT::Architecture=arm64',
    'APT::Architectures=arm64',
    `Dir::State=${join(folder, 'state')}`,
    `Dir::Cache=${join(folder, 'cache')}`,
    'Dir::State::status=/dev/null',
    'APT::Sandbox::User=root',
  ].flatMap((option) => ['-o', option])
  execFileSync('apt-get', [...as, '-qq', 'update'], { stdio: 'ignore' })
  const shown = execFileSync('apt-cache', [...as, 'show', 'linux-image-cloud-arm64'], { encoding: 'utf8' })
  const [, image = '', release = ''] = /^Depends: (linux-image-(\d\S*))/m.exec(shown) ?? []
  const debs = join(folder, 'debs')
  execFileSync('apt-get', [...as, '-qq', 'download', image, 'busybox-static'], { cwd: debs, stdio: 'ignore' })
  const unpacked = join(folder, 'unpacked')
  for (const name of readdirSync(debs)) execFileSync('dpkg-deb', ['-x', join(debs, name), unpacked])
  const root = join(folder, 'root')
  for (const path of ['bin', 'usr/bin', 'modules', 'etc']) mkdirSync(join(root, path), { recursive: true })
  const node = await placeArmNode(root)
  writeFileSync(join(root, 'usr/bin/node'), node, { mode: 0o755 })
  copyFileSync(join(unpacked, 'bin/busybox'), join(root, 'bin/busybox'))
  const modules = join(unpacked, 'lib/modules', release, 'kernel')
  for (const module of MODULES)
    copyFileSync(join(modules, `${module}.ko`), join(root, 'modules', `${module.split('/').at(-1)}.ko`))
  writeFileSync(join(root, 'etc/os-release'), 'ID=debian\nVERSION_ID="12"\nPRETTY_NAME="Debian in memory"\n')
  writeFileSync(join(root, 'init'), INIT)
  chmodSync(join(root, 'init'), 0o755)
  return { kernel: join(unpacked, 'boot', `vmlinuz-${release}`), release, root }
}

export interface Given {
  /** By their path on the machine. */
  readonly files: Readonly<Record<string, string | Buffer>>
  readonly port: number
}

/** Writes what an agent was given, and packs all of it. */
export function initialFiles({ root }: ArmMachine, { files, port }: Given, out: string): void {
  for (const [path, content] of Object.entries({ ...files, '/forward.mjs': forward(port) })) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), content, { mode: 0o600 })
  }
  const entries = [...entriesBelow(root, ''), { path: 'TRAILER!!!', mode: 0, content: EMPTY }]
  writeFileSync(out, Buffer.concat(entries.map(packed)))
}

interface Entry {
  readonly path: string
  readonly mode: number
  readonly content: Buffer
}

const EMPTY = Buffer.alloc(0)

function entriesBelow(root: string, folder: string): readonly Entry[] {
  return readdirSync(join(root, folder)).flatMap((name) => {
    const path = folder === '' ? name : `${folder}/${name}`
    const stat = lstatSync(join(root, path))
    const { mode } = stat
    if (stat.isSymbolicLink()) return [{ path, mode, content: Buffer.from(readlinkSync(join(root, path))) }]
    if (stat.isDirectory()) return [{ path, mode, content: EMPTY }, ...entriesBelow(root, path)]
    return [{ path, mode, content: readFileSync(join(root, path)) }]
  })
}

/** One file as the kernel unpacks it: the format "newc" of cpio, all of root. */
function packed({ path, mode, content }: Entry, at: number): Buffer {
  const name = Buffer.from(`${path}\0`)
  const fields = [at + 1, mode, 0, 0, 1, 0, content.length, 0, 0, 0, 0, name.length, 0]
  const head = Buffer.from(`070701${fields.map((n) => n.toString(16).padStart(8, '0')).join('')}`)
  return Buffer.concat([padded(Buffer.concat([head, name])), padded(content)])
}

const padded = (part: Buffer): Buffer => Buffer.concat([part, Buffer.alloc((4 - (part.length % 4)) % 4)])
