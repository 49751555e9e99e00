// The host's properties, read once at start.
import { cpus, hostname, release, totalmem, type as osType } from 'node:os'
import { readFileSync } from 'node:fs'
import { kubernetesArch } from '#lib/kubernetes-arch.ts'
import type { Files } from '../files/port.ts'
import { bootIdFile, type NodeDir } from '../node-dir.ts'
import { type BootArguments, bootArguments } from './boot-arguments.ts'
import { type Distribution, parseOsRelease } from './os-release.ts'

export interface HostFacts {
  readonly bootId: string
  readonly os: string
  /** Architecture name as in Kubernetes. */
  readonly arch: string
  readonly kernel: string
  readonly hostname: string
  readonly cpus: number
  readonly memoryBytes: number
  /** Undefined where the host does not name it. */
  readonly distribution?: Distribution | undefined
  readonly boot?: BootArguments | undefined
}

export async function readHostFacts(files: Files, dir: NodeDir): Promise<HostFacts> {
  return {
    bootId: await readBootId(files, dir),
    os: osType().toLowerCase(),
    arch: kubernetesArch(),
    kernel: release(),
    hostname: hostname(),
    cpus: cpus().length,
    memoryBytes: totalmem(),
    distribution: firstRead(OS_RELEASE, parseOsRelease),
    boot: firstRead(['/proc/cmdline'], bootArguments),
  }
}

/** In the order of os-release(5). */
const OS_RELEASE = ['/etc/os-release', '/usr/lib/os-release']

function firstRead<T>(paths: readonly string[], parse: (text: string) => T): T | undefined {
  for (const path of paths)
    try {
      return parse(readFileSync(path, 'utf8'))
    } catch {
      // A host without the file has no such fact.
    }
  return undefined
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
