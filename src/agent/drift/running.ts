// Checks that a component's process runs the installed program. The disk check finds a replaced file; this check finds a process that was started from it.
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { layoutOf } from '../components/layout.ts'
import { onNode, slotFolder, type NodeDir } from '../node-dir.ts'
import { readStat } from '../supervise/proc.ts'
import type { Finding, InUse } from './inspect.ts'

/** Reads each process once. */
export class RunningPrograms {
  readonly #dir: NodeDir
  readonly #known = new Map<string, { readonly process: string; readonly digest: string | undefined }>()

  constructor(dir: NodeDir) {
    this.#dir = dir
  }

  async inspect(inUse: InUse, pid: number | undefined): Promise<readonly Finding[]> {
    const { component, slot, spec, manifest } = inUse
    const exec = spec.service?.exec
    const stat = pid === undefined ? undefined : readStat(pid)
    const wanted = exec === undefined ? undefined : manifest.files.find((f) => f.path === placeOf(spec, exec))
    if (stat === undefined || wanted === undefined) return []
    const process = `${stat.pid} ${stat.startTime} ${slot}`
    const known = this.#known.get(component)
    const digest =
      known?.process === process
        ? known.digest
        : await this.#digest(stat.pid, join(slotFolder(this.#dir, component, slot), wanted.path))
    this.#known.set(component, { process, digest })
    if (digest === undefined || digest === wanted.sha256) return []
    return [
      {
        kind: 'Running',
        key: 'running',
        what: `process ${stat.pid} does not run ${onNode(this.#dir, exec ?? '')}`,
      },
    ]
  }

  /** Undefined when it cannot be determined: a script runs in its interpreter, and other users' processes are not readable. */
  async #digest(pid: number, installed: string): Promise<string | undefined> {
    try {
      if (await isScript(installed)) return undefined
      await readlink(`/proc/${pid}/exe`)
      const hash = createHash('sha256')
      for await (const chunk of createReadStream(`/proc/${pid}/exe`) as AsyncIterable<Buffer>) hash.update(chunk)
      return hash.digest('hex')
    } catch {
      return undefined
    }
  }
}

/** The path in the slot that a path on the node points to. */
function placeOf(spec: InUse['spec'], path: string): string | undefined {
  for (const link of layoutOf(spec).links) {
    if (link.path === path) return link.inSlot
    if (path.startsWith(`${link.path}/`)) return `${link.inSlot}/${path.slice(link.path.length + 1)}`
  }
  return undefined
}

async function isScript(path: string): Promise<boolean> {
  const handle = await open(path, 'r')
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(2), 0, 2, 0)
    return bytesRead === 2 && buffer.toString('latin1') === '#!'
  } finally {
    await handle.close()
  }
}
