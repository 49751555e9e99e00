// What a scenario names and the cluster or the commit does not have: it would break nothing, so that everything it expects holds. Pure.
import type { Pick, Scenario } from '#api/scenario.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { didYouMean } from '#lib/did-you-mean.ts'
import { picksFrom, zoneOf } from './incidents.ts'
import type { WorldObjects } from './world.ts'

interface Seen {
  readonly machines: WorldObjects['machines']
  readonly sets: WorldObjects['sets']
}

/** Known names in a message. */
const MOST_KNOWN = 8

/** A line for each part of the scenario that can never happen. */
export function untestedIn(scenario: Scenario, { machines, sets }: Seen): readonly string[] {
  const picks = (['faults', 'outages', 'hostWork', 'spotReclaims'] as const).flatMap((list) =>
    (scenario[list] ?? []).map(({ pick = {} }, n) => ({ where: `${list} ${n}`, pick })),
  )
  const components = [...new Set(sets.flatMap((s) => s.spec.components.map((c) => c.name)))].toSorted()
  const unknown = (scenario.badVersions ?? []).flatMap(({ component }, n) =>
    components.includes(component)
      ? []
      : [`badVersions ${n}: the commit brings no ${component}${instead(component, components)}`],
  )
  const named = machines.map((m) => m.metadata.name ?? '').toSorted()
  const empty = picks.flatMap(({ where, pick }) => {
    if (picksFrom(pick, machines).length === 0) return [`${where}: picks no machine; ${whyNone(pick, machines)}`]
    // It would break less than it says.
    const missing = missingName(pick, named)
    return missing === undefined ? [] : [`${where}: ${missing}`]
  })
  return [...empty, ...unknown]
}

/** Faults that no rule of the commit reads: nothing repairs them. `types`: undefined if a rule reads all. */
export function unrepairedIn({ faults = [] }: Scenario, types: ReadonlySet<string> | undefined): readonly string[] {
  if (types === undefined) return []
  const unread = new Set(faults.map((f) => f.condition)).difference(types)
  return [...unread].map((type) => {
    const near = didYouMean(type, types)
    return `no rule of the commit reads ${type}, so none repairs it${near === undefined ? '' : ` (did you mean ${near}?)`}`
  })
}

const FIELDS: readonly (readonly [field: 'zone' | 'rack' | 'pool', of: (m: Machine) => string | undefined])[] = [
  ['zone', zoneOf],
  ['rack', ({ spec }) => spec.rack],
  ['pool', ({ spec }) => spec.pool],
]

function whyNone(pick: Pick, machines: readonly Machine[]): string {
  for (const [field, of] of FIELDS) {
    const wanted = pick[field]
    if (wanted === undefined) continue
    const known = [...new Set(machines.flatMap((m) => of(m) ?? []))].toSorted()
    if (known.length === 0) return `no machine has a ${field}`
    if (!known.includes(wanted)) return `there is no ${field} ${wanted}${instead(wanted, known)}`
  }
  const named = machines.map((m) => m.metadata.name ?? '').toSorted()
  return missingName(pick, named) ?? 'no machine meets all of it'
}

function missingName({ names = [] }: Pick, known: readonly string[]): string | undefined {
  const missing = names.find((name) => !known.includes(name))
  return missing === undefined ? undefined : `there is no ${missing}${instead(missing, known)}`
}

function instead(word: string, known: readonly string[]): string {
  const near = didYouMean(word, known)
  if (near !== undefined) return ` (did you mean ${near}?)`
  const more = known.length > MOST_KNOWN ? `, and ${known.length - MOST_KNOWN} more` : ''
  return known.length === 0 ? '' : ` (known: ${known.slice(0, MOST_KNOWN).join(', ')}${more})`
}
