// Reads what the removal decision needs: the originals, the files in use, and what changed on the node since.
import type { Processes } from '../supervise/port.ts'
import { digestsInUse, lostOriginal, type InUse } from './hand-back.ts'
import { isAdopted, isOurLink, readKept, type KeptDeps } from './kept.ts'
import { linksOn } from './host-units.ts'
import { readManifest } from './manifest.ts'
import { maskedError } from './masked.ts'
import type { OnRemoval, RemovalPlan } from './record.ts'
import { planRemoval, type RemovalFacts } from './removal.ts'

export interface RemovalDeps extends KeptDeps {
  readonly processes: Processes
  /** Why a version may no longer be installed: revoked, below its floor, or too far from the API server's version. */
  readonly refusal?: (spec: InUse['spec']) => Promise<string | undefined>
}

export interface RemovalOptions {
  readonly wanted: OnRemoval | undefined
  readonly isObserved: boolean
}

export async function observeRemoval(
  deps: RemovalDeps,
  use: InUse & { readonly version: string },
  options: RemovalOptions,
): Promise<RemovalPlan> {
  const { processes, refusal } = deps
  const kept = await readKept(deps, use.component)
  const inUse = await digestsInUse(deps, use)
  const unit = kept?.unit
  const reading = processes.reading(use.component)
  const facts: RemovalFacts = {
    spec: use.spec,
    version: `${use.component} ${use.version}`,
    ...options,
    kept,
    inUse,
    changed: await changedSince(deps, use, inUse),
    lost: await lostOriginal(deps, use),
    refused: isAdopted(kept) ? await refusal?.(use.spec) : undefined,
    isOriginalProcess: unit !== undefined && (await processes.isMain?.(use.component, unit)) === true,
    isRunning: use.spec.service !== undefined && (reading === 'Running' || reading === 'Frozen'),
    isStopped: reading === 'Stopped' || reading === 'Ended',
    isMasked: (await maskedError(deps, use.spec)) !== undefined,
  }
  return planRemoval(facts)
}

async function changedSince(
  deps: KeptDeps,
  use: InUse,
  inUse: ReadonlyMap<string, string>,
): Promise<string | undefined> {
  const manifest = await readManifest(deps, use.component, use.slot)
  const placed = new Map((manifest?.files ?? []).map((f) => [f.path, f.sha256]))
  for (const { path, inSlot } of await linksOn(deps, use.spec)) {
    if (!(await isOurLink(deps, use.component, path))) return `${path} was replaced on the node`
    const wanted = placed.get(inSlot)
    if (wanted !== undefined && inUse.get(path) !== wanted) return `${path} was changed on the node`
  }
  return undefined
}
