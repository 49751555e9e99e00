// What a disk may hold after the power went: everything that was synced, and of the writes since then any subset, each whole, gone or torn between sectors.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import type { Random } from '#lib/random.ts'
import type { DiskEvent } from './strace.ts'

const SECTOR = 512

type FileChange = Extract<DiskEvent, { readonly kind: 'Write' | 'Resize' }>

interface DiskFile {
  durable: Buffer
  /** Not synced yet. */
  pending: FileChange[]
}

export class LossyDisk {
  readonly #files = new Map<string, DiskFile>()

  /** Reads the files from a copy of their folder on the disk. */
  static of(copy: string, folder: string, names: readonly string[]): LossyDisk {
    const disk = new LossyDisk()
    for (const name of names)
      if (existsSync(join(copy, name)))
        disk.#files.set(join(folder, name), { durable: readFileSync(join(copy, name)), pending: [] })
    return disk
  }

  /** Names are durable at once, as on a journaling file system that syncs the folder with the file. */
  see(event: DiskEvent): void {
    switch (event.kind) {
      case 'Write':
      case 'Resize':
        this.#file(event.file).pending.push(event)
        return
      case 'Sync': {
        const file = this.#files.get(event.file)
        if (file === undefined) return
        file.durable = file.pending.reduce(applied, file.durable)
        file.pending = []
        return
      }
      case 'Remove':
        this.#files.delete(event.file)
        return
      case 'Move': {
        const file = this.#files.get(event.file)
        this.#files.delete(event.file)
        if (file !== undefined) this.#files.set(event.to, file)
        return
      }
      case 'Said':
        return
    }
  }

  /** Writes one possible outcome of a loss of power now. */
  leave(from: string, to: string, random: Random): void {
    for (const [path, { durable, pending }] of this.#files) {
      const target = join(to, relative(from, path))
      mkdirSync(dirname(target), { recursive: true })
      writeFileSync(target, pending.flatMap((c) => survived(c, random)).reduce(applied, durable), { mode: 0o600 })
    }
  }

  #file(path: string): DiskFile {
    let file = this.#files.get(path)
    if (file === undefined) {
      file = { durable: Buffer.alloc(0), pending: [] }
      this.#files.set(path, file)
    }
    return file
  }
}

function applied(content: Buffer, change: FileChange): Buffer {
  if (change.kind === 'Resize') {
    const resized = Buffer.alloc(change.bytes)
    content.copy(resized)
    return resized
  }
  const end = change.at + change.bytes.length
  const grown =
    end <= content.length ? Buffer.from(content) : Buffer.concat([content, Buffer.alloc(end - content.length)])
  change.bytes.copy(grown, change.at)
  return grown
}

function survived(change: FileChange, random: Random): readonly FileChange[] {
  const luck = random.next()
  if (luck < 0.4) return [change]
  if (luck < 0.7 || change.kind === 'Resize' || change.bytes.length <= SECTOR) return luck < 0.7 ? [] : [change]
  const sectors = Math.ceil(change.bytes.length / SECTOR)
  return Array.from({ length: sectors }, (_, i): FileChange => {
    const bytes = change.bytes.subarray(i * SECTOR, (i + 1) * SECTOR)
    return { ...change, at: change.at + i * SECTOR, bytes }
  }).filter(() => random.next() < 0.5)
}
