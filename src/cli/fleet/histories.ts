// Finds the recorded history for a command: the folder or exported file that it names, or the history of the local fleet around the current folder.
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { KubeNodeError } from '#lib/errors.ts'
import type { Io } from '#lib/terminal/io.ts'
import { historyErrors } from '#history/history-errors.ts'
import { HistoryReader } from '#history/ask/reader.ts'
import { clustersIn } from '#history/store/file.ts'
import type { HistoryOptions } from './history-options.ts'

/** The local fleet's folder; undefined if there is no local fleet. */
async function localHistory(io: Io): Promise<string | undefined> {
  const [{ findData }, { layoutOf }] = await Promise.all([
    import('#programs/local/find-data.ts'),
    import('#programs/local/layout.ts'),
  ])
  const data = findData(io.cwd)
  return data === undefined ? undefined : layoutOf(data).history
}

/** Opens a reader per cluster and closes them afterwards. */
export async function withReaders<T>(
  { history }: HistoryOptions,
  io: Io,
  use: (readers: readonly HistoryReader[]) => Promise<T> | T,
): Promise<T> {
  const place = history === undefined ? await localHistory(io) : resolve(io.cwd, history)
  if (place === undefined) throw new KubeNodeError(historyErrors.KN17003({ folder: 'this folder' }))
  const isFile = statSync(place, { throwIfNoEntry: false })?.isFile() === true
  const folder = isFile ? await unpacked(place) : place
  const readers: HistoryReader[] = []
  try {
    const clusters = clustersIn(folder)
    if (clusters.length === 0) throw new KubeNodeError(historyErrors.KN17003({ folder: place }))
    for (const cluster of clusters) readers.push(new HistoryReader(folder, cluster))
    return await use(readers)
  } finally {
    for (const reader of readers) reader.close()
    if (isFile) rmSync(folder, { recursive: true, force: true })
  }
}

/** Those of one cluster, or all. */
export function readersOf(readers: readonly HistoryReader[], cluster: string | undefined): readonly HistoryReader[] {
  if (cluster === undefined) return readers
  const own = readers.filter((r) => r.cluster === cluster)
  if (own.length > 0) return own
  throw new KubeNodeError(historyErrors.KN17005_cluster({ cluster, known: readers.map((r) => r.cluster).join(', ') }))
}

/** Unpacks an export into a folder that is deleted when the command ends. */
async function unpacked(file: string): Promise<string> {
  const [{ imported }, { readLines }] = await Promise.all([
    import('#history/lines/import.ts'),
    import('#history/lines/file.ts'),
  ])
  const folder = mkdtempSync(join(tmpdir(), 'kubenode-history-'))
  try {
    await imported(readLines(file), { folder, file, now: Date.now() })
    return folder
  } catch (e) {
    rmSync(folder, { recursive: true, force: true })
    throw e
  }
}
