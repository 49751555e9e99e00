// The host's boot loader, kernel and package tools as files and programs. Decides nothing.
import { open, readFile, statfs } from 'node:fs/promises'
import { release } from 'node:os'
import { defined } from '#lib/defined.ts'
import { KubeNodeError, assertNever } from '#lib/errors.ts'
import { agentErrors } from '../agent-errors.ts'
import { removeDurably, writeDurably } from '../files/durable.ts'
import type { Files } from '../files/port.ts'
import { programOutput } from '../program-output.ts'
import { argumentsOf } from './boot-entries.ts'
import { type BootStep, type BootTree, FIRMWARE_DEFAULT, OSTREE, RAUC, type Running } from './boot-loader.ts'
import { BOOTC, LOCK_FILE, OSTREE_PROGRAM, REBOOT_REQUEST } from './bootc-status.ts'
import { type Change, type Query, TOOLS } from './packages.ts'

export interface BootHost {
  read(): Promise<BootTree>
  running(): Promise<Running>
  carryOut(steps: readonly BootStep[]): Promise<void>
  readonly query: Query
  /** Changes what is installed. */
  readonly change: Change
}

const READ = ['/boot/grub', '/boot/grub2'].flatMap((folder) =>
  ['grub.cfg', 'grubenv', 'custom.cfg'].map((name) => `${folder}/${name}`),
)
const ENTRY_FOLDERS = ['/boot', '/efi', '/boot/efi'].map((top) => `${top}/loader`)
const KNOWN = [
  OSTREE,
  ...RAUC,
  BOOTC,
  OSTREE_PROGRAM,
  LOCK_FILE,
  '/usr/bin/bootctl',
  '/sys/firmware/efi/efivars',
  ...TOOLS.map((t) => t.program),
  ...ENTRY_FOLDERS.map((folder) => `${folder}/loader.conf`),
]

/** A host has a handful; more are not read. */
const MAX_ENTRIES = 128
/** A package builds its initial file system: minutes on a slow disk. */
const CHANGE_TIMEOUT_MS = 20 * 60_000
const QUERY_TIMEOUT_MS = 60_000
const KEPT_BYTES = 4_096
const SHOWN = 160
const ENVIRONMENT = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  DEBIAN_FRONTEND: 'noninteractive',
  LC_ALL: 'C.UTF-8',
}

export interface BootHostDeps {
  readonly files: Files
  /** What this host booted with, where it is not this one. */
  readonly proc?: { readonly kernel: string; readonly cmdline: string; readonly mountinfo: string }
  /** For another tree than that of this host. */
  readonly root?: string
  readonly overwrite?: (path: string, content: Buffer) => Promise<void>
  readonly freeIn?: (path: string) => Promise<number | undefined>
  /** Proxy variables for what the host downloads itself. */
  readonly proxy?: Readonly<Record<string, string>>
}

export function realBootHost({
  files,
  proc,
  root = '',
  overwrite = inPlace,
  freeIn = freeBytesIn,
  proxy = {},
}: BootHostDeps): BootHost {
  const at = (path: string): string => `${root}${path}`
  const running = async (): Promise<Running> => {
    const cmdline = proc?.cmdline ?? (await readFile('/proc/cmdline', 'utf8'))
    return { kernel: proc?.kernel ?? release(), arguments: argumentsOf(cmdline.trim()) }
  }
  return {
    running,
    async read() {
      const content = new Map<string, Buffer>()
      const paths = new Set<string>()
      const entries: string[] = []
      for (const folder of ENTRY_FOLDERS)
        for (const name of (await files.list(at(`${folder}/entries`))).slice(0, MAX_ENTRIES))
          entries.push(`${folder}/entries/${name}`)
      for (const path of [...READ, FIRMWARE_DEFAULT, REBOOT_REQUEST, ...entries]) {
        const found = (await files.stat(at(path))) && (await files.read(at(path)))
        if (found !== undefined) content.set(path, found)
      }
      for (const path of [...content.keys(), ...KNOWN]) if ((await files.stat(at(path))) !== undefined) paths.add(path)
      const mounts = proc?.mountinfo ?? (await readFile('/proc/self/mountinfo', 'utf8'))
      const [freeBytes, now] = await Promise.all([freeIn(at('/boot')), running()])
      return { files: content, paths, boot: mountOf(mounts, '/boot/grub'), running: now, freeBytes }
    },
    async carryOut(steps) {
      for (const step of steps) await carryOut(files, { at, overwrite }, step)
    },
    query: async (command, mostBytes) => {
      const { problem, stdout } = await run(command, QUERY_TIMEOUT_MS, defined({ mostBytes }))
      return problem === undefined ? stdout.text : undefined
    },
    change: async (command) => {
      const { problem, stdout, stderr } = await run(command, CHANGE_TIMEOUT_MS, { proxy })
      const said = withoutProxy(`${stdout.text}${stderr.text}`, proxy)
      return problem && `${problem}: ${said.trim().slice(-SHOWN)}`
    },
  }
}

interface RunOptions {
  readonly mostBytes?: number
  readonly proxy?: Readonly<Record<string, string>>
}

function run([program = '', ...args]: readonly string[], timeoutMs: number, { mostBytes, proxy }: RunOptions = {}) {
  const environment = { ...ENVIRONMENT, ...proxy }
  const call = { program, args, timeoutMs, maxBytes: mostBytes ?? KEPT_BYTES, environment }
  return programOutput({ ...call, ...defined({ floodBytes: mostBytes }) })
}

/** Its address may have a password. */
const withoutProxy = (text: string, { HTTPS_PROXY: address }: Readonly<Record<string, string>>): string =>
  address === undefined ? text : text.replaceAll(address, 'HTTPS_PROXY')

async function carryOut(
  files: Files,
  { at, overwrite }: { readonly at: (path: string) => string } & Required<Pick<BootHostDeps, 'overwrite'>>,
  step: BootStep,
): Promise<void> {
  switch (step.kind) {
    case 'WriteInPlace':
      return overwrite(at(step.path), step.content)
    case 'Write':
      return writeDurably(files, at(step.path), step.content, 0o600)
    case 'Remove':
      return removeDurably(files, at(step.path))
    case 'Run': {
      const { problem, stderr } = await run(step.command, QUERY_TIMEOUT_MS)
      if (problem === undefined) return undefined
      const [what] = step.command.slice(1)
      throw new KubeNodeError(
        agentErrors.KN8099({ why: `bootctl ${what ?? ''}: ${problem}: ${stderr.text.trim().slice(-SHOWN)}` }),
        { retry: 'later' },
      )
    }
    default:
      return assertNever(step)
  }
}

/** GRUB reads the block where it is on the disk, so it is neither renamed nor truncated. */
async function inPlace(path: string, content: Buffer): Promise<void> {
  try {
    await overwritten(path, content)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EROFS') throw error
    await overwrittenBelowReadOnly(path, content)
  }
}

/** Hosts of bootc mount /boot read-only. It is made writable for this program alone, in a mount namespace that ends with it. */
async function overwrittenBelowReadOnly(path: string, content: Buffer): Promise<void> {
  const { point } = mountAt(await readFile('/proc/self/mountinfo', 'utf8'), path)
  const script = 'mount -o remount,rw "$1"; printf %s "$3" | dd of="$2" conv=notrunc,fsync status=none'
  const args = ['/bin/sh', '-ec', script, 'sh', point, path, content.toString('utf8')]
  const { problem, stderr } = await run(['/usr/bin/unshare', '--mount', ...args], QUERY_TIMEOUT_MS)
  const written = problem === undefined ? await readFile(path) : undefined
  if (written?.equals(content) === true) return
  const why = `${path} is below a read-only mount: ${problem ?? 'it was not written'}: ${stderr.text.trim().slice(-SHOWN)}`
  throw new KubeNodeError(agentErrors.KN8099({ why }), { retry: 'later' })
}

async function overwritten(path: string, content: Buffer): Promise<void> {
  const handle = await open(path, 'r+')
  try {
    const { bytesWritten } = await handle.write(content, 0, content.length, 0)
    if (bytesWritten !== content.length)
      throw new KubeNodeError(agentErrors.KN8099({ why: `${path} was written only in part` }), { retry: 'later' })
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function freeBytesIn(path: string): Promise<number | undefined> {
  try {
    const { bavail, bsize } = await statfs(path)
    return bavail * bsize
  } catch {
    return undefined
  }
}

/** The file system that holds this path, of `/proc/self/mountinfo`: the longest mount point, and of several there the last. */
export function mountOf(mountinfo: string, path: string): BootTree['boot'] {
  const { type, device } = mountAt(mountinfo, path)
  return { type, device }
}

function mountAt(mountinfo: string, path: string): BootTree['boot'] & { readonly point: string } {
  let best = { point: '', type: '', device: '' }
  for (const line of mountinfo.split('\n')) {
    const [before = '', after = ''] = line.split(' - ')
    const point = before
      .split(' ')[4]
      ?.replaceAll(/\\(\d{3})/g, (_, octal: string) => String.fromCodePoint(Number.parseInt(octal, 8)))
    const [type = '', device = ''] = after.split(' ')
    if (point === undefined || point.length < best.point.length) continue
    if (point === '/' || path === point || path.startsWith(`${point}/`)) best = { point, type, device }
  }
  return best
}
