// What a scenario makes happen in one run, in order of time: which machines and when, by the seed. Pure.
import type { Fault, Pick, Scenario, SpotReclaim } from '#api/scenario.ts'
import { LABELS } from '#api/names.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { parseDuration } from '#lib/duration.ts'
import { type Random, seededRandom } from '#lib/random.ts'

/** One fault of one machine. */
export interface FaultOf {
  readonly machine: string
  readonly fault: Fault
}

/** One host that is reclaimed. */
export interface ReclaimOf {
  readonly machine: string
  readonly goneAt: number
  readonly replacedAfterMs: number
}

export type Incident = { readonly at: number } & (
  | { readonly kind: 'Fault'; readonly of: FaultOf }
  | { readonly kind: 'FaultOver'; readonly of: FaultOf }
  | { readonly kind: 'Away' | 'Back'; readonly machines: readonly string[]; readonly why: string }
  | { readonly kind: 'Cut' | 'Connected' }
  | { readonly kind: 'Reclaimed' | 'Gone' | 'Replaced'; readonly of: ReclaimOf }
  | { readonly kind: 'Announced'; readonly machines: readonly string[]; readonly from: number; readonly to: number }
)

const ms = (text: string | undefined): number => (text === undefined ? 0 : parseDuration(text))

/** `begin`: the time of the start. */
export function incidentsOf(
  scenario: Scenario,
  machines: readonly Machine[],
  begin: number,
  seed: number,
): readonly Incident[] {
  const random = seededRandom(seed)
  const found: Incident[] = []
  for (const fault of scenario.faults ?? []) found.push(...faultsOf(fault, machines, begin, random))
  for (const { at, pick, for: lasts } of scenario.outages ?? []) {
    const names = picked(pick, machines, random)
    const from = begin + ms(at)
    const why = `outage of ${pickText(pick)}`
    found.push({ at: from, kind: 'Away', machines: names, why })
    found.push({ at: from + ms(lasts), kind: 'Back', machines: names, why })
  }
  for (const { at, for: lasts } of scenario.apiOutages ?? []) {
    found.push({ at: begin + ms(at), kind: 'Cut' })
    found.push({ at: begin + ms(at) + ms(lasts), kind: 'Connected' })
  }
  for (const { at, pick, for: lasts } of scenario.hostWork ?? []) {
    const names = picked(pick, machines, random)
    const [from, to] = [begin + ms(at), begin + ms(at) + ms(lasts)]
    const why = `work on the hosts of ${pickText(pick)}`
    found.push({ at: begin, kind: 'Announced', machines: names, from, to })
    found.push({ at: from, kind: 'Away', machines: names, why })
    found.push({ at: to, kind: 'Back', machines: names, why })
  }
  for (const reclaim of scenario.spotReclaims ?? []) found.push(...reclaimsOf(reclaim, machines, begin, random))
  return found.toSorted((a, b) => a.at - b.at)
}

const NOTICE_MS = 120_000
const REPLACED_AFTER_MS = 300_000

function reclaimsOf(
  { at, pick, over, notice, replacedAfter }: SpotReclaim,
  machines: readonly Machine[],
  begin: number,
  random: Random,
): readonly Incident[] {
  const overMs = ms(over)
  const noticeMs = notice === undefined ? NOTICE_MS : ms(notice)
  const replacedAfterMs = replacedAfter === undefined ? REPLACED_AFTER_MS : ms(replacedAfter)
  return picked(pick, machines, random).flatMap((machine): readonly Incident[] => {
    const noticed = begin + ms(at) + (overMs === 0 ? 0 : random.below(overMs))
    const of = { machine, goneAt: noticed + noticeMs, replacedAfterMs }
    return [
      { at: noticed, kind: 'Reclaimed', of },
      { at: of.goneAt, kind: 'Gone', of },
    ]
  })
}

function faultsOf(fault: Fault, machines: readonly Machine[], begin: number, random: Random): readonly Incident[] {
  const over = ms(fault.over)
  return picked(fault.pick ?? {}, machines, random).flatMap((machine): readonly Incident[] => {
    const at = begin + ms(fault.at) + (over === 0 ? 0 : random.below(over))
    const of = { machine, fault }
    const begins: Incident = { at, kind: 'Fault', of }
    return fault.clearsAfter === undefined
      ? [begins]
      : [begins, { at: at + parseDuration(fault.clearsAfter), kind: 'FaultOver', of }]
  })
}

export const zoneOf = ({ metadata, spec }: Machine): string | undefined => spec.zone ?? metadata.labels?.[LABELS.zone]

/** All that the pick allows, sorted by name, so that the order of an inventory decides nothing. */
export const picksFrom = ({ zone, rack, pool, names }: Pick, machines: readonly Machine[]): string[] =>
  machines
    .filter(
      (machine) =>
        (zone === undefined || zoneOf(machine) === zone) &&
        (rack === undefined || machine.spec.rack === rack) &&
        (pool === undefined || machine.spec.pool === pool) &&
        (names === undefined || names.includes(machine.metadata.name ?? '')),
    )
    .map((m) => m.metadata.name ?? '')
    .toSorted()

function picked(pick: Pick, machines: readonly Machine[], random: Random): string[] {
  const { count } = pick
  const all = picksFrom(pick, machines)
  if (count === undefined) return all
  const wanted = Math.min(all.length, typeof count === 'number' ? count : shareOf(count, all.length))
  // The first places of a shuffle.
  for (let n = 0; n < wanted; n++) {
    const other = n + random.below(all.length - n)
    ;[all[n], all[other]] = [all[other] ?? '', all[n] ?? '']
  }
  return all.slice(0, wanted).toSorted()
}

const shareOf = (percent: string, of: number): number => Math.ceil((Number.parseFloat(percent) / 100) * of)

function pickText({ zone, rack, pool, names, count }: Pick): string {
  const where = [
    ...(zone === undefined ? [] : [`zone ${zone}`]),
    ...(rack === undefined ? [] : [`rack ${rack}`]),
    ...(pool === undefined ? [] : [`pool ${pool}`]),
    ...(names === undefined ? [] : [names.slice(0, 3).join(', ')]),
  ]
  const what = where.length === 0 ? 'the cluster' : where.join(', ')
  return count === undefined ? what : `${count} of ${what}`
}
