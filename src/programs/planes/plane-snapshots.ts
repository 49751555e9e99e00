// Takes snapshots of an embedded control plane, even while it serves, and restores them. Keys stay: they belong to the control plane, not to its data.
import { cpSync, existsSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { backupData, OBJECTS, checkData, openForReading, revisionOf, restoreData } from '#apiserver/apiserver.ts'
import type { Snapshot } from '#controlplanes/port.ts'
import { timestamp } from '#lib/clock.ts'
import { writeWholeFile } from '#lib/whole-file.ts'
import type { PlaneData } from '#controlplanes/embedded/engine.ts'
import { requireName } from '#controlplanes/embedded/snapshot-name.ts'
import type { PlaneFolder } from '#controlplanes/embedded/plane-folders.ts'
import { sha256Hex } from '#lib/sha256.ts'

interface Wanted {
  readonly name: string
  readonly version: string
  readonly now: number
}

function takeSnapshot({ data, snapshots }: PlaneFolder, { name, version, now }: Wanted): Snapshot {
  requireName(name)
  const file = join(snapshots, `${name}.db`)
  const description = join(snapshots, `${name}.json`)
  if (existsSync(description)) return JSON.parse(readFileSync(description, 'utf8')) as Snapshot
  // Left by a host that was killed before writing the description.
  rmSync(file, { force: true })
  const { objects } = backupData(data, file)
  const bytes = readFileSync(file)
  const sha256 = sha256Hex(bytes)
  const taken: Snapshot = { name, takenAt: timestamp(now), bytes: bytes.length, sha256, objects, version }
  writeWholeFile(description, `${JSON.stringify(taken, null, 2)}\n`)
  return taken
}

/** False if there is no such snapshot or it is damaged; nothing was changed or stopped. */
async function restoreInto(
  { root, data, snapshots }: PlaneFolder,
  { name, now }: Omit<Wanted, 'version'>,
  halt: () => Promise<void>,
): Promise<boolean> {
  requireName(name)
  const file = join(snapshots, `${name}.db`)
  if (!existsSync(join(snapshots, `${name}.json`)) || !existsSync(file) || checkData(file).problems.length > 0)
    return false
  const next = join(root, 'data.next')
  const old = join(root, 'data.old')
  for (const part of [next, old]) rmSync(part, { recursive: true, force: true })
  restoreData(file, next, { now, above: lastRevision(join(data, OBJECTS)) })
  await halt()
  rmSync(join(next, 'pki'), { recursive: true })
  cpSync(join(data, 'pki'), join(next, 'pki'), { recursive: true })
  renameSync(data, old)
  renameSync(next, data)
  rmSync(old, { recursive: true, force: true })
  return true
}

/** A restore raises the revision by far more than the server can write until it is halted. The data may be damaged: that can be the reason for the restore. */
function lastRevision(file: string): number {
  try {
    const db = openForReading(file)
    try {
      return revisionOf(db)
    } finally {
      db.close()
    }
  } catch {
    return 0
  }
}

/** The host was killed between the two renames of a restore. Put the old data back; the restore is requested again. */
function mendData({ root, data }: PlaneFolder): void {
  const old = join(root, 'data.old')
  if (!existsSync(data) && existsSync(old)) renameSync(old, data)
}

/** How an engine of embedded servers stores the data of its control planes. */
export const EMBEDDED_DATA: PlaneData = {
  mend: mendData,
  snapshot: async (folder, wanted) => takeSnapshot(folder, wanted),
  restore: restoreInto,
}
