// Node.js for ARM on a machine that is none: Debian's emulator runs it, with the C library of the image's lock. What it starts is emulated as well, in a namespace
// of its own, so that the machine itself does not learn to run programs for ARM.
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { readDeb } from '#artifacts/oci/deb.ts'
import { fetchPackages, readDebianLock, readPackage } from '#install/image/debian-lock.ts'
import { nodeFile } from '#install/image/node-layer.ts'
import { lastLine } from '#lib/last-line.ts'

const ROOT = join(import.meta.dirname, '../../..')
const EMULATOR = '/usr/bin/qemu-aarch64-static'
const LIBRARIES: readonly string[] = ['libc6', 'libatomic1', 'libgcc-s1', 'libstdc++6']
const CACHE = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'kubenode/image')

/** The first bytes of a program for ARM, and which bits of them count. */
const MAGIC = String.raw`\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00`
const MASK = String.raw`\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff`
/** An agent hands none of its variables to what it starts, so the libraries are named in the arguments of the emulator. */
const interpreter = (libraries: string): string => `#!/bin/sh\nexec ${EMULATOR} -L '${libraries}' "$@"\n`
const emulated = (file: string): string =>
  [
    'mount -t binfmt_misc none /proc/sys/fs/binfmt_misc',
    `printf '%s' ':arm64:M::${MAGIC}:${MASK}:${file}:' > /proc/sys/fs/binfmt_misc/register`,
    'exec "$@"',
  ].join('\n')

export interface ArmNode {
  /** Runs a program for ARM when it follows, and its arguments. */
  readonly command: readonly [string, ...string[]]
  readonly node: string
}

/** Or why there is none here. */
export async function armNode(folder: string): Promise<ArmNode | string> {
  try {
    const found = await provide(folder)
    const [program, ...args] = found.command
    const ran = spawnSync(program, [...args, found.node, '-p', 'process.arch'], { encoding: 'utf8' })
    return ran.stdout?.trim() === 'arm64' ? found : `programs for ARM do not run: ${ran.error?.message ?? ran.stderr}`
  } catch (e) {
    return lastLine(e)
  }
}

/** Below this folder, as on a Debian for ARM; returns Node.js itself. */
export async function placeArmNode(libraries: string): Promise<Buffer> {
  const locked = readDebianLock(ROOT).packages.arm64.filter(({ name }) => LIBRARIES.includes(name))
  fetchPackages(CACHE, locked)
  for (const one of locked) {
    const { entries } = await readDeb(one.name, readPackage(CACHE, one))
    for (const entry of entries) {
      const path = join(libraries, entry.path)
      mkdirSync(entry.kind === 'Folder' ? path : dirname(path), { recursive: true })
      if (entry.kind === 'File') writeFileSync(path, entry.content(), { mode: entry.mode })
      if (entry.kind === 'Link') symlinkSync(entry.target, path)
    }
  }
  return (await nodeFile(ROOT, CACHE, 'arm64')).content()
}

async function provide(folder: string): Promise<ArmNode> {
  const libraries = join(folder, 'arm')
  const program = await placeArmNode(libraries)
  const node = join(folder, 'arm-bin/node')
  mkdirSync(dirname(node))
  writeFileSync(node, program)
  chmodSync(node, 0o755)
  const file = join(folder, 'arm-emulator')
  writeFileSync(file, interpreter(libraries), { mode: 0o755 })
  return { command: ['unshare', '-rm', 'sh', '-euc', emulated(file), 'emulated'], node }
}
