// What the DefenderPolicies of a machine set for events of its host. If they differ, the source gets no answer. Pure.
import type { DefenderPolicy } from '#api/kinds/defender-policy.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { LABELS } from '#api/names.ts'
import { parseDuration } from '#lib/duration.ts'
import { matchesSelector, selectorOf } from '#kube/selector.ts'
import type { Node } from '#nodes/objects.ts'
import type { EventPolicy } from './seen.ts'

const NONE: EventPolicy = { answer: 'Wait', postpone: false, podWaitMs: 0, windows: [] }

export function policyOf(policies: readonly DefenderPolicy[], machine: Machine, node: Node | undefined): EventPolicy {
  const labels = labelsOf(machine, node)
  const over = policies.filter(
    ({ spec, metadata }) =>
      metadata.deletionTimestamp === undefined &&
      spec.mode !== 'Audit' &&
      (spec.operations?.includes('Drain') ?? true) &&
      selects(spec.selector, labels),
  )
  const rules = over.flatMap(({ spec }) => spec.maintenance ?? [])
  const answers = new Set(rules.map((m) => m.answer))
  const [answer = NONE.answer] = answers
  return {
    answer: answers.size === 1 ? answer : NONE.answer,
    postpone: rules.length > 0 && rules.every((m) => m.postpone),
    podWaitMs: rules.length === 0 ? 0 : Math.min(...rules.map((m) => parseDuration(m.podWait ?? '0s'))),
    windows: over.flatMap(({ spec }) =>
      spec.windows === undefined || spec.windows.length === 0 ? [] : [spec.windows],
    ),
  }
}

/** An unreadable selector matches: its windows apply, just as the Defender permits nothing under it. */
function selects(selector: DefenderPolicy['spec']['selector'], labels: Readonly<Record<string, string>>): boolean {
  if (selector === undefined) return true
  try {
    return matchesSelector(selectorOf(selector), labels)
  } catch {
    return true
  }
}

/** The labels that the Defender uses for the machine. */
function labelsOf({ metadata, spec }: Machine, node: Node | undefined): Readonly<Record<string, string>> {
  const domains = { [LABELS.zone]: spec.zone, [LABELS.rack]: spec.rack, [LABELS.pool]: spec.pool }
  const known = Object.entries(domains).filter((d): d is [string, string] => d[1] !== undefined && d[1] !== '')
  return { ...node?.metadata.labels, ...spec.labels, ...metadata.labels, ...Object.fromEntries(known) }
}
