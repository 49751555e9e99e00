// Builds Freezes. The name follows from the frozen object, so a second freeze updates the first and a thaw finds it.
import { listAll } from '#kube/list-all.ts'
import { machine } from '#api/kinds/machine.ts'
import { nodeRemedier } from '#api/kinds/node-remedier.ts'
import { type OperationalHold, operationalHold } from '#api/kinds/operational-hold.ts'
import { KubeNodeError } from '#lib/errors.ts'
import type { KubeClient } from '#kube/client.ts'
import { isApiError } from '#kube/errors.ts'
import { removeHolds } from '#permits/holds/placing.ts'
import { holdErrors } from './hold-errors.ts'
import { namedTarget, type HoldTargets } from '../../fleet/hold-target.ts'
import { newHold, type HoldTarget, type HoldTexts } from '#permits/holds/new-hold.ts'
import { isInForce, readable } from '#permits/holds/in-force.ts'
import { freezeName } from '#permits/holds/names.ts'

/** Kinds that a bare name may refer to; a cluster needs its kind. */
export const FREEZABLE_BY_NAME = ['machine', 'node', 'set', 'remedier'] as const

const FREEZABLE: HoldTargets = {
  nouns: [...FREEZABLE_BY_NAME, 'cluster'],
  refuse: holdErrors.KN1325_freeze,
}

/** `machine/m-1`, or nothing for the whole cluster. */
export const freezeTarget = (what: string | undefined): HoldTarget =>
  what === undefined ? { kind: 'Cluster', selector: {} } : namedTarget(what, FREEZABLE)

const LONGEST_MS = 30 * 86_400_000

export interface FreezeRequest extends HoldTexts {
  readonly what: string | undefined
}

export function freezeHold(request: FreezeRequest, now: number): OperationalHold {
  const target = freezeTarget(request.what)
  return newHold(
    { name: freezeName(target), target, effect: 'Freeze', longestMs: LONGEST_MS, refuse: holdErrors.KN1002_freeze },
    request,
    now,
  )
}

/** A freeze on a hub without machines has no effect, and a hub is easily mistaken for the target cluster. */
export async function refuseEmpty(client: KubeClient): Promise<void> {
  try {
    if ((await client.list(machine, { limit: 1 })).items.length > 0) return
    if ((await client.list(nodeRemedier, { limit: 1 })).items.length > 0) return
  } catch (error) {
    // A freeze does not require the right to read.
    if (isApiError(error)) return
    throw error
  }
  throw new KubeNodeError(holdErrors.KN1338())
}

export interface Thawed {
  readonly removed: readonly string[]
  /** Freezes still in force: by other users, or on other objects. */
  readonly left: readonly OperationalHold[]
}

/** Deletes the caller's freeze of this object, or all freezes. */
export async function thaw(client: KubeClient, what: string | undefined, all: boolean, now: number): Promise<Thawed> {
  const items = await listAll(client, operationalHold)
  const freezes = items.map(readable).filter((h) => h.spec.effect === 'Freeze' && isInForce(h, now))
  const name = freezeName(freezeTarget(what))
  const mine = freezes.filter((h) => all || h.metadata.name === name)
  return { removed: await removeHolds(client, mine), left: freezes.filter((h) => !mine.includes(h)) }
}
