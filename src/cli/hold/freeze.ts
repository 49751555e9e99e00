// Builds Freezes: the name follows from the frozen object, so that a second freeze updates the first and a thaw finds it.
import { listAll } from '#kube/list-all.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { machine } from '#api/kinds/machine.ts'
import { nodeRemedier } from '#api/kinds/node-remedier.ts'
import { type OperationalHold, operationalHold } from '#api/kinds/operational-hold.ts'
import { timestamp } from '#lib/clock.ts'
import { durationMs } from '#lib/duration.ts'
import { KubeNodeError } from '#lib/errors.ts'
import type { KubeClient } from '#kube/client.ts'
import { isApiError } from '#kube/errors.ts'
import { removeHolds } from './placing.ts'
import { holdErrors } from './hold-errors.ts'
import { isInForce, readable } from '#holds/in-force.ts'

type HoldTarget = OperationalHold['spec']['target']

/** Kinds that can be frozen by name, and their names for users. */
const NOUNS: Readonly<Record<string, HoldTarget['kind']>> = {
  machine: 'Machine',
  node: 'Node',
  set: 'MachineComponentSet',
  remedier: 'NodeRemedier',
  cluster: 'Cluster',
}

/** `machine/m-1`, or nothing for everything in the cluster. */
export function freezeTarget(what: string | undefined): HoldTarget {
  if (what === undefined) return { kind: 'Cluster', selector: {} }
  const [noun = '', name = '', ...rest] = what.split('/')
  const kind = Object.hasOwn(NOUNS, noun) ? NOUNS[noun] : undefined
  if (kind === undefined || name === '' || rest.length > 0)
    throw new KubeNodeError(
      holdErrors.KN1330({
        what: JSON.stringify(what),
        Object: Object.keys(NOUNS)
          .map((n) => `${n}/NAME`)
          .join(', '),
      }),
    )
  return { kind, name }
}

/** The name of the hold that covers the whole cluster. */
export const FREEZE_OF_CLUSTER = 'freeze-all'

const freezeName = ({ kind, name }: HoldTarget): string =>
  name === undefined ? FREEZE_OF_CLUSTER : `freeze-${kind.toLowerCase()}-${name}`

const LONGEST_MS = 30 * 86_400_000

export interface FreezeWish {
  readonly what: string | undefined
  readonly reason: string
  readonly for: string
  readonly author: string
}

export function freezeHold({ what, reason, for: length, author }: FreezeWish, now: number): OperationalHold {
  const target = freezeTarget(what)
  const ms = durationMs(length)
  if (ms === undefined || ms <= 0 || ms > LONGEST_MS)
    throw new KubeNodeError(holdErrors.KN1331({ length: JSON.stringify(length) }))
  return {
    apiVersion: API_GROUP_VERSION,
    kind: 'OperationalHold',
    metadata: { name: freezeName(target) },
    spec: { target, effect: 'Freeze', reason, author, until: timestamp(now + ms) },
  }
}

/** A hub without machines is easily mistaken for the target cluster, and its freeze has no effect. */
export async function refuseEmpty(client: KubeClient): Promise<void> {
  try {
    if ((await client.list(machine, { limit: 1 })).items.length > 0) return
    if ((await client.list(nodeRemedier, { limit: 1 })).items.length > 0) return
  } catch (error) {
    // A freeze does not need the right to read.
    if (isApiError(error)) return
    throw error
  }
  throw new KubeNodeError(holdErrors.KN1338())
}

export interface Thawed {
  readonly removed: readonly string[]
  /** Freezes that are still in force: by other users, or of other objects. */
  readonly left: readonly OperationalHold[]
}

/** Deletes our own freeze of this object, or all freezes. */
export async function thaw(client: KubeClient, what: string | undefined, all: boolean, now: number): Promise<Thawed> {
  const items = await listAll(client, operationalHold)
  const freezes = items.map(readable).filter((h) => h.spec.effect === 'Freeze' && isInForce(h, now))
  const name = freezeName(freezeTarget(what))
  const mine = freezes.filter((h) => all || h.metadata.name === name)
  return { removed: await removeHolds(client, mine), left: freezes.filter((h) => !mine.includes(h)) }
}
