// Reads the host's small text files and folder listings for metrics. A missing file is undefined, a missing folder empty.
import { readFileSync, readdirSync } from 'node:fs'

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

/** The number in a file; undefined if there is none. */
export function numberIn(read: ReadText, path: string): number | undefined {
  const text = read(path)?.trim()
  const value = text === undefined || text === '' ? Number.NaN : Number(text)
  return Number.isFinite(value) ? value : undefined
}
