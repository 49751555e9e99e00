// The host's properties, read once at start.
import { arch, cpus, hostname, release, totalmem, type as osType } from 'node:os'
import { readFileSync } from 'node:fs'
import type { Files } from '../files/port.ts'
import { bootIdFile, type NodeDir } from '../node-dir.ts'

export interface HostFacts {
  readonly bootId: string
  readonly os: string
  /** Architecture name as in Kubernetes. */
  readonly arch: string
  readonly kernel: string
  readonly hostname: string
  readonly cpus: number
  readonly memoryBytes: number
}

const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386' }

export async function readHostFacts(files: Files, dir: NodeDir): Promise<HostFacts> {
  const system = arch()
  return {
    bootId: await readBootId(files, dir),
    os: osType().toLowerCase(),
    arch: ARCHITECTURES[system] ?? system,
    kernel: release(),
    hostname: hostname(),
    cpus: cpus().length,
    memoryBytes: totalmem(),
  }
}

/** Nodes that are folders have their own boot id. */
export async function readBootId(files: Files, dir: NodeDir): Promise<string> {
  const own = (await files.read(bootIdFile(dir)))?.toString('utf8').trim()
  if (own !== undefined && own !== '') return own.slice(0, 64)
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    return 'unknown'
  }
}
