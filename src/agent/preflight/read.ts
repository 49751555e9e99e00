// Reads the inputs of preflight: the node, its free space, and the first bytes of programs.
import { existsSync } from 'node:fs'
import { open, statfs } from 'node:fs/promises'
import { release } from 'node:os'
import { report } from 'node:process'
import { defined } from '#lib/defined.ts'
import { isObject } from '#lib/json.ts'
import { ELF_BYTES, parseElf, type Elf } from '#lib/elf.ts'
import type { HostFacts } from '../node/facts.ts'
import type { NodeFacts, Room } from './preflight.ts'

/** Node.js's own report includes the C library version; creating it is cheap without its network part. */
export function readGlibc(): string | undefined {
  Object.assign(report, { excludeNetwork: true })
  const made: unknown = report.getReport()
  const header = isObject(made) && isObject(made['header']) ? made['header'] : {}
  const version = header['glibcVersionRuntime']
  return typeof version === 'string' ? version : undefined
}

export function readNodeFacts({ arch, distribution, boot }: HostFacts): NodeFacts {
  const cgroup = existsSync('/sys/fs/cgroup/cgroup.controllers')
    ? 'V2'
    : existsSync('/sys/fs/cgroup/memory') || existsSync('/sys/fs/cgroup/cpu')
      ? 'V1'
      : undefined
  const named = boot && { bootArguments: boot.named }
  return { arch, kernel: release(), glibc: readGlibc(), cgroup, ...defined({ distribution }), ...named }
}

export async function readRoom(path: string): Promise<Room | undefined> {
  try {
    const { bavail, bsize, files, ffree } = await statfs(path)
    return { freeBytes: bavail * bsize, freeInodes: files === 0 ? undefined : ffree }
  } catch {
    return undefined
  }
}

export async function readElf(path: string): Promise<Elf | undefined> {
  const handle = await open(path, 'r')
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(ELF_BYTES), 0, ELF_BYTES, 0)
    return parseElf(buffer.subarray(0, bytesRead))
  } finally {
    await handle.close()
  }
}
