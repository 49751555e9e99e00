// Names of the holds that people place with kubenode (after their target), the command that ends one, and the text of a wait for one. Pure.
import { shortWord } from '#api/nouns.ts'
import type { HoldEffect, OperationalHold } from '#api/kinds/operational-hold.ts'

/** Reasons of waits and conditions for objects that a person stopped. */
export const HOLD_REASONS: ReadonlySet<string> = new Set(['HoldPause', 'HoldFreeze'])

type Target = Pick<OperationalHold['spec']['target'], 'kind' | 'name'>

/** The name of the hold that covers the whole cluster. */
const FREEZE_OF_CLUSTER = 'freeze-all'

export const holdName = ({ kind, name = 'all' }: Target, effect: HoldEffect): string =>
  `${effect.toLowerCase()}-${kind.toLowerCase()}-${name}`

export const freezeName = (target: Target): string =>
  target.name === undefined ? FREEZE_OF_CLUSTER : holdName(target, 'Freeze')

/** A hold with another name was created by other means, and is deleted by its name. */
export function endOfHold({ metadata, spec: { target, effect } }: OperationalHold): string {
  const { name = '' } = metadata
  const what = target.name === undefined ? '' : ` ${shortWord(`${target.kind.toLowerCase()}/${target.name}`)}`
  if (effect === 'Freeze' && name === freezeName(target)) return `kubenode thaw${what}`
  if ((effect === 'Pause' || effect === 'Pin') && what !== '' && name === holdName(target, effect))
    return `kubenode resume${what}`
  return `kubectl delete operationalholds.kubenode.io ${name}`
}
