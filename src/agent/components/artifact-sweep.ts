// Removes artifacts that are not used by any slot on this node. Artifacts of slots stay: a modified program is restored from them.
import { join } from 'node:path'
import type { Clock } from '#lib/clock.ts'
import type { Files } from '../files/port.ts'
import { artifactsFolder, componentsFolder, slotsFolder, type NodeDir } from '../node-dir.ts'
import { readSlot } from './slot.ts'

export interface SweepDeps {
  readonly files: Files
  readonly dir: NodeDir
  readonly clock: Pick<Clock, 'now'>
}

/** A file newer than this may be about to fill a slot, or be a partial download that will resume. */
const YOUNG_MS = 24 * 3_600_000

export async function sweepArtifacts({ files, dir, clock }: SweepDeps): Promise<void> {
  const kept = new Set<string>()
  for (const component of await files.list(componentsFolder(dir)))
    for (const slot of await files.list(slotsFolder(dir, component)))
      for (const { sha256 } of (await readSlot({ files, dir }, component, slot))?.artifacts ?? []) kept.add(sha256)
  for (const name of await files.list(artifactsFolder(dir))) {
    const path = join(artifactsFolder(dir), name)
    const stat = await files.stat(path)
    if (!kept.has(name) && stat !== undefined && clock.now() - stat.modifiedMs > YOUNG_MS) await files.remove(path)
  }
}
