// Permit names: derived from the disruption and numbered, so that a request with a lost reply is repeated under the same name, and a later request
// gets another one.
import type { OperationPermit } from '#api/kinds/operation-permit.ts'

/** The first name, and the prefix of later names before their number. */
export interface PermitNames {
  readonly first: string
  readonly next: string
  /** Number of the second name. */
  readonly from: number
}

/** `base0`, `base1`, … */
export const numbered = (base: string): PermitNames => ({ first: `${base}0`, next: base, from: 1 })

/** `base`, `base-1`, … */
export const countedOn = (base: string): PermitNames => ({ first: base, next: `${base}-`, from: 1 })

/** `name`, `name-p2`, … for an object whose permit shares its name. */
export const ofObject = (name: string): PermitNames => ({ first: name, next: `${name}-p`, from: 2 })

/** The name after the highest known one. Ended permits are deleted after a day, so counting them does not work. */
export function nextPermitName(names: PermitNames, known: Iterable<string | undefined>): string {
  const numbers = [...known].flatMap((name) => numberOf(names, name) ?? [])
  return numbers.length === 0 ? names.first : `${names.next}${Math.max(...numbers) + 1}`
}

export const isNamed = (names: PermitNames, { metadata }: OperationPermit): boolean =>
  numberOf(names, metadata.name) !== undefined

export const namesOf = (permits: Iterable<OperationPermit>): readonly string[] =>
  [...permits].map((p) => p.metadata.name ?? '')

function numberOf({ first, next, from }: PermitNames, name = ''): number | undefined {
  if (name === first) return from - 1
  const rest = name.startsWith(next) ? name.slice(next.length) : ''
  return /^\d{1,9}$/.test(rest) ? Number(rest) : undefined
}
