// The holds behind pause, retry, abort and pin, named after the held object, so that a second one updates the first and resume finds it.
import { listAll } from '#kube/list-all.ts'
import { type HoldEffect, type OperationalHold, operationalHold } from '#api/kinds/operational-hold.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import type { KubeClient } from '#kube/client.ts'
import { defined } from '#lib/defined.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { FLUX_KINDS } from '../../habits.ts'
import { namedTarget, type HoldTargets } from '../../fleet/hold-target.ts'
import { newHold, type HoldTarget, type HoldTexts } from '#permits/holds/new-hold.ts'
import { removeHolds } from '#permits/holds/placing.ts'
import { rolloutErrors } from '#explain/rollout/rollout-errors.ts'
import { isInForce, readable } from '#permits/holds/in-force.ts'
import { holdName } from '#permits/holds/names.ts'

export const HOLDABLE: HoldTargets = {
  nouns: ['set', 'canary', 'machine', 'machineset', 'remedier', 'job', 'source', 'release'],
  refuse: rolloutErrors.KN1325_pause,
}

/** Hub kinds that have a namespace. */
const NAMESPACED: ReadonlySet<string> = new Set(['FleetSource', 'Release'])

export function heldTarget(what: string): HoldTarget {
  if (FLUX_KINDS.has(what.split('/', 1)[0] ?? ''))
    throw new KubeNodeError(rolloutErrors.KN1325_fluxKind({ what: JSON.stringify(what) }))
  const { kind, name } = namedTarget(what, HOLDABLE)
  return { kind, ...(NAMESPACED.has(kind) && { namespace: SYSTEM_NAMESPACE }), name }
}

export interface HoldRequest extends HoldTexts {
  readonly target: HoldTarget
  readonly effect: HoldEffect
  readonly to?: string
}

const LONGEST_MS = 30 * 86_400_000

/** A retry counts from its creation, so each one is a separate hold. The others are one per object and can be extended. */
export function holdFor(request: HoldRequest, now: number): OperationalHold {
  const { target, effect, to } = request
  const base = holdName(target, effect)
  const name = effect === 'Retry' ? `${base}-${Math.floor(now / 1_000).toString(36)}` : base
  return newHold(
    { name, target, effect, ...defined({ to }), longestMs: LONGEST_MS, refuse: rolloutErrors.KN1002_hold },
    request,
    now,
  )
}

export interface Lifted {
  readonly removed: readonly string[]
  /** Other users' holds that still apply. */
  readonly left: readonly OperationalHold[]
}

const BINDING: ReadonlySet<HoldEffect> = new Set(['Pause', 'Pin', 'Freeze'])

/** Deletes the caller's pause and pin of an object, or those of all users. A freeze needs a thaw. */
export async function liftHolds(client: KubeClient, what: string, all: boolean, now: number): Promise<Lifted> {
  const target = heldTarget(what)
  const binding = (await listAll(client, operationalHold))
    .map(readable)
    .filter(
      (h) =>
        BINDING.has(h.spec.effect) &&
        h.spec.target.kind === target.kind &&
        (h.spec.target.name === undefined || h.spec.target.name === target.name) &&
        isInForce(h, now),
    )
  const own = new Set((['Pause', 'Pin'] as const).map((effect) => holdName(target, effect)))
  const mine = binding.filter((h) =>
    all ? h.spec.effect !== 'Freeze' && h.spec.target.name !== undefined : own.has(h.metadata.name ?? ''),
  )
  return { removed: await removeHolds(client, mine), left: binding.filter((h) => !mine.includes(h)) }
}
