// The holds behind pause, retry, abort and pin: named after the held object, so that a second one updates the first and resume finds it.
import { listAll } from '#kube/list-all.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { type HoldEffect, type OperationalHold, operationalHold } from '#api/kinds/operational-hold.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { timestamp } from '#lib/clock.ts'
import { durationMs } from '#lib/duration.ts'
import { KubeNodeError } from '#lib/errors.ts'
import type { KubeClient } from '#kube/client.ts'
import { removeHolds } from '../hold/placing.ts'
import { rolloutErrors } from './rollout-errors.ts'
import { isInForce, readable } from '#holds/in-force.ts'

type Target = OperationalHold['spec']['target']

/** Kinds that can be held by name, and their names for users. */
const NOUNS: Readonly<Record<string, Target['kind']>> = {
  set: 'MachineComponentSet',
  canary: 'ComponentCanary',
  machine: 'Machine',
  machineset: 'MachineSet',
  remedier: 'NodeRemedier',
  job: 'RemedyOperationJob',
  source: 'FleetSource',
  release: 'Release',
}

/** Kinds of the hub, which live in a namespace. */
const NAMESPACED: ReadonlySet<string> = new Set(['FleetSource', 'Release'])

export function heldTarget(what: string): Target {
  const [noun = '', name = '', ...rest] = what.split('/')
  const kind = Object.hasOwn(NOUNS, noun) ? NOUNS[noun] : Object.values(NOUNS).find((k) => k.toLowerCase() === noun)
  if (kind === undefined || name === '' || rest.length > 0)
    throw new KubeNodeError(
      rolloutErrors.KN1370({
        what: JSON.stringify(what),
        Object: Object.keys(NOUNS)
          .map((n) => `${n}/NAME`)
          .join(', '),
      }),
    )
  return { kind, ...(NAMESPACED.has(kind) && { namespace: SYSTEM_NAMESPACE }), name }
}

export interface HoldWish {
  readonly target: Target
  readonly effect: HoldEffect
  readonly to?: string
  readonly reason: string
  readonly for: string
  readonly author: string
}

const LONGEST_MS = 30 * 86_400_000

const holdName = ({ kind, name = 'all' }: Target, effect: HoldEffect): string =>
  `${effect.toLowerCase()}-${kind.toLowerCase()}-${name}`

/** A retry counts from its creation, so each one is a hold of its own; the others are one per object and can be extended. */
export function holdFor({ target, effect, to, reason, for: length, author }: HoldWish, now: number): OperationalHold {
  const ms = durationMs(length)
  if (ms === undefined || ms <= 0 || ms > LONGEST_MS)
    throw new KubeNodeError(rolloutErrors.KN1371({ length: JSON.stringify(length) }))
  const name = holdName(target, effect)
  return {
    apiVersion: API_GROUP_VERSION,
    kind: operationalHold.kind,
    metadata: { name: effect === 'Retry' ? `${name}-${Math.floor(now / 1_000).toString(36)}` : name },
    spec: { target, effect, ...(to !== undefined && { to }), reason, author, until: timestamp(now + ms) },
  }
}

export interface Lifted {
  readonly removed: readonly string[]
  /** Holds of other users that still apply to it. */
  readonly left: readonly OperationalHold[]
}

const BINDING: ReadonlySet<HoldEffect> = new Set(['Pause', 'Pin', 'Freeze'])

/** Deletes our own pause and pin of an object, or those of all users; a freeze is thawed, not resumed. */
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
