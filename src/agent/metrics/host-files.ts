// Reads the host's small text files and folder listings for metrics. A missing file is undefined, a missing folder empty.
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** Reads a text file of the host; undefined when it does not exist. */
export type ReadText = (path: string) => string | undefined
/** Names in a folder, sorted; empty when it does not exist. */
export type ListFolder = (path: string) => readonly string[]

export interface HostFiles {
  readonly read: ReadText
  readonly list: ListFolder
}

export const readHostText: ReadText = (path) => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

const listHostFolder: ListFolder = (path) => {
  try {
    return readdirSync(path).toSorted()
  } catch {
    return []
  }
}

export const hostFiles: HostFiles = { read: readHostText, list: listHostFolder }

/** Of a node that is a folder: its /sys and /proc are in there, if it has any. */
export const hostFilesUnder = (root: string): HostFiles => ({
  read: (path) => readHostText(join(root, path)),
  list: (path) => listHostFolder(join(root, path)),
})

/** The number in a file; undefined if there is none. */
export function numberIn(read: ReadText, path: string): number | undefined {
  const text = read(path)?.trim()
  const value = text === undefined || text === '' ? Number.NaN : Number(text)
  return Number.isFinite(value) ? value : undefined
}

/** Parts of one kind: more than any known host has. */
const MOST_PARTS = 512

/** Names in a folder that match, such as those of processors, devices or ports. */
export const partsIn = (list: ListFolder, folder: string, pattern: RegExp, most = MOST_PARTS): readonly string[] =>
  list(folder)
    .filter((name) => pattern.test(name))
    .slice(0, most)

/** The text in a file; empty if there is none. */
export const wordIn = ({ read }: HostFiles, path: string): string => (read(path) ?? '').trim()
