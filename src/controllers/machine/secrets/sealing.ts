// Decides which secret values must be sealed for one machine, and what prevents it. Pure. A sealed object works with one key: a new agent key needs a
// new object.
import type { ComponentConfig } from '#api/kinds/component-config.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { isSameTarget, readSliceTarget } from '#api/protocol/component-order.ts'
import { isActiveIn } from '#api/protocol/part.ts'
import { keyName, sealedKey, sealedObjectName } from '#api/sealed-names.ts'
import type { Claim, Mark } from '../components/desired.ts'
import type { ConfigMap } from './config-map.ts'

/** What one reconcile found out about the Secrets of one configuration, without the values. */
export interface SealingSeen {
  readonly config: ComponentConfig
  /** Names of objects that have every value sealed to the machine's key. */
  readonly isSealed: boolean
  /** Why the configuration's values are unavailable. Undefined if they are available or not needed. */
  readonly missing?: string
}

export interface SealingPlan {
  readonly toSeal: readonly ComponentConfig[]
  /** Why a component does not get its secret values. */
  readonly wait?: { readonly seen: string; readonly unblock: string }
  /** Objects that no configuration needs any more. */
  readonly toDelete: readonly ConfigMap[]
}

const KEY_BYTES = 32

/** The key that the agent published, if it is valid. */
export function sealingKeyOf({ status }: Machine): string | undefined {
  const key = status?.agent?.publicKey
  return key !== undefined && Buffer.from(key, 'base64').length === KEY_BYTES ? key : undefined
}

export function planSealing(
  publicKey: string | undefined,
  seen: readonly SealingSeen[],
  idle: readonly ConfigMap[],
): SealingPlan {
  const open = seen.filter((s) => !s.isSealed)
  const [first] = open
  const toDelete = idle
  if (first === undefined) return { toSeal: [], toDelete }
  if (publicKey === undefined)
    return {
      toSeal: [],
      toDelete,
      wait: {
        seen: `the agent has not published a key, and ${first.config.spec.component} has secret values`,
        unblock: 'the agent publishes its key',
      },
    }
  const lacking = open.find((s) => s.missing !== undefined)
  return {
    toSeal: open.filter((s) => s.missing === undefined).map((s) => s.config),
    toDelete,
    ...(lacking !== undefined && {
      wait: {
        seen: `secret values of ${lacking.config.spec.component}: ${lacking.missing ?? ''}`,
        unblock:
          'a person puts the values into the Secret, or a commit corrects the reference; the set continues with the current values',
      },
    }),
  }
}

/** Every value of the configuration is sealed to this key. */
export function isSealedFor(
  { spec }: ComponentConfig,
  machine: string,
  publicKey: string,
  objectNamed: (name: string) => ConfigMap | undefined,
): boolean {
  return (spec.secrets ?? []).every(({ path, sealedIn = spec.component }) => {
    const object = objectNamed(sealedObjectName(sealedIn, machine))
    return (
      object?.metadata.annotations?.[ANNOTATIONS.sealedTo] === keyName(publicKey) &&
      object.data?.[sealedKey(path)] !== undefined
    )
  })
}

export const isOfMachine = ({ metadata }: ConfigMap, { metadata: m }: Machine): boolean =>
  metadata.ownerReferences?.some((o) => o.kind === 'Machine' && o.uid === m.uid) === true

/** Configurations that the machine has or gets next: from slices and marks that name it, and from missing components. */
export function configsAhead(
  { metadata, spec }: Machine,
  claims: readonly Claim[],
  marks: readonly Mark[],
): readonly string[] {
  const { name = '' } = metadata
  const current = spec.components ?? []
  const offered = claims.flatMap(({ components, lastGood, slices }) =>
    [...components, ...lastGood].filter(
      (c) =>
        !current.some((e) => e.name === c.name) ||
        slices.some((w) => isSameTarget(readSliceTarget(w), c) && isActiveIn(w, name)),
    ),
  )
  const all = [...current, ...offered, ...marks.flatMap((m) => m.components)]
  return [...new Set(all.flatMap((c) => c.config ?? []))]
}
