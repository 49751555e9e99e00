// What the controllers of a cluster serve, as their leader tells it on their Lease: for plans and checks, which find sets that name another provider. Pure.
import { ANNOTATIONS } from '#api/names.ts'
import type { KubeObject } from '#api/schema/object.ts'

/** More than a providers file may list, so that a Lease that anyone wrote stays small to read. */
const MAX_SERVED = 64
const NAME = /^[\w.-]{1,63}$/

export const providersText = (names: readonly string[]): string => names.toSorted().join(',')

/** Undefined: not known, as where no controllers of this release led yet, or the text cannot be theirs. */
export function providersOn(lease: KubeObject | undefined): readonly string[] | undefined {
  const text = lease?.metadata.annotations?.[ANNOTATIONS.providers]
  if (text === undefined) return undefined
  const names = text.split(',', MAX_SERVED + 1)
  return names.length <= MAX_SERVED && names.every((name) => NAME.test(name)) ? names : undefined
}
