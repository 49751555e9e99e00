// Lists the parts of a host in folders below /sys, up to a limit.
import type { HostFiles, ListFolder } from '../../metrics/host-files.ts'

/** Parts of one kind: more than any known host has. */
const MOST_PARTS = 512

export const partsIn = (list: ListFolder, folder: string, pattern: RegExp): readonly string[] =>
  list(folder)
    .filter((name) => pattern.test(name))
    .slice(0, MOST_PARTS)

export const wordIn = ({ read }: HostFiles, path: string): string => (read(path) ?? '').trim()
