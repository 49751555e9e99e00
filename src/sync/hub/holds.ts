// What holds mean for an object on the hub: whether it is paused, retried or promoted. Pure.
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import { MAX_RETRIES, type Release } from '#api/kinds/release.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { holdOver, holdsOver, holdTarget } from '#permits/holds/reach.ts'
import type { Promotion } from '../release/release-seen.ts'

type Holds = readonly OperationalHold[]

/** UIDs of the newest holds that request a retry of a Release. */
export function retriesOf(holds: Holds, object: Release, now: number): readonly string[] {
  const age = ({ metadata }: OperationalHold) => `${metadata.creationTimestamp ?? ''} ${metadata.name ?? ''}`
  return holdsOver(holds, { effects: ['Retry'], targets: [holdTarget(object.kind, object)], now })
    .toSorted((a, b) => (age(a) < age(b) ? -1 : 1))
    .slice(-MAX_RETRIES)
    .flatMap(({ metadata }) => metadata.uid ?? [])
}

/** Soaks of a Release that users end early. */
export function promotionsOf(holds: Holds, object: Release, now: number): readonly Promotion[] {
  const question = { effects: ['Promote'], targets: [holdTarget(object.kind, object)], now } as const
  return holdsOver(holds, question).flatMap(({ metadata, spec }) => {
    const at = Date.parse(metadata.creationTimestamp ?? '')
    return spec.to === undefined || Number.isNaN(at) ? [] : [{ stage: spec.to, at }]
  })
}

/** Why a hold pauses the object; undefined when none does. */
export function pausedBy(
  holds: Holds,
  object: KubeObject,
  now: number,
  effects: readonly ('Pause' | 'Freeze')[] = ['Pause', 'Freeze'],
): string | undefined {
  const question = { effects, targets: [holdTarget(object.kind, object)], now }
  const found = holdOver(holds, question)
  return found === undefined
    ? undefined
    : `${found.spec.author} holds it until ${found.spec.until}: ${found.spec.reason}`
}
