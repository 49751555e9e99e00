// The providers that a cluster's controllers serve, as their leader records them on the Lease: plans and checks use them to find sets with other providers.
// Pure.
import { ANNOTATIONS } from '#api/names.ts'
import type { KubeObject } from '#api/schema/object.ts'

/** More than a providers file may list. Bounds the parsing of a Lease that anyone may have written. */
const MAX_SERVED = 64
const NAME = /^[\w.-]{1,63}$/

export const providersText = (names: readonly string[]): string => names.toSorted().join(',')

/** Undefined if unknown: no controllers of this release have led yet, or the text is not theirs. */
export function providersOn(lease: KubeObject | undefined): readonly string[] | undefined {
  const text = lease?.metadata.annotations?.[ANNOTATIONS.providers]
  if (text === undefined) return undefined
  const names = text.split(',', MAX_SERVED + 1)
  return names.length <= MAX_SERVED && names.every((name) => NAME.test(name)) ? names : undefined
}
