// A disk that accepts every write and stores only what it was given: a previous agent's records, and the statement of each slot.
import { basename, dirname } from 'node:path'
import type { MachineComponentSpec } from '#api/kinds/machine-component.ts'
import type { ComponentRecord } from '../components/record.ts'
import type { FileStat, FileWriter, Files } from '../files/port.ts'
import { componentsFolder, recordFile, type NodeDir } from '../node-dir.ts'

const FOLDER: FileStat = { kind: 'Directory', size: 0, modifiedMs: 0, mode: 0o755 }
const WRITER: FileWriter = {
  write: () => Promise.resolve(),
  sync: () => Promise.resolve(),
  close: () => Promise.resolve(),
}
const done = (): Promise<void> => Promise.resolve()

export interface NullFilesOptions {
  readonly dir: NodeDir
  readonly records: readonly ComponentRecord[]
  readonly specOf: (slot: string) => MachineComponentSpec | undefined
}

export function nullFiles({ dir, records, specOf }: NullFilesOptions): Files {
  const seeds = new Map(records.map((r) => [recordFile(dir, r.component), r]))
  const inRoot = `${dir.root}/`
  return {
    read: (path) => {
      const seed = seeds.get(path)
      if (seed !== undefined) return Promise.resolve(Buffer.from(JSON.stringify(seed)))
      if (basename(path) !== 'slot.json') return Promise.resolve(undefined)
      const spec = specOf(basename(dirname(path)))
      return Promise.resolve(spec && Buffer.from(JSON.stringify({ spec })))
    },
    // oxlint-disable-next-line require-yield
    stream: async function* () {
      throw new Error('a hollow node has no artifacts')
    },
    // State folders always exist; no foreign file blocks a component.
    stat: (path) => Promise.resolve(path.startsWith(inRoot) ? undefined : FOLDER),
    list: (path) => Promise.resolve(path === componentsFolder(dir) ? records.map((r) => r.component) : []),
    readLink: () => Promise.resolve(undefined),
    makeFolder: done,
    create: () => Promise.resolve(WRITER),
    link: done,
    rename: done,
    remove: done,
    removeEmptyFolder: () => Promise.resolve(false),
    syncFolder: done,
  }
}
