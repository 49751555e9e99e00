// Rules that do nothing but rescue, and machines declared here without a rescue key: each rung is skipped there.
import type { Machine } from '#api/kinds/machine.ts'
import type { MachineSet } from '#api/kinds/machine-set.ts'
import type { NodeRemedier } from '#api/kinds/node-remedier.ts'
import { isRescue } from '#api/protocol/operations.ts'
import { counted } from '#lib/counted.ts'
import { matchesSelector, selectorOf } from '#kube/selector.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { declaredErrors } from './declared-errors.ts'
import { type DeclaredProblem, doubtful } from './problem.ts'

/** Enough to know which pools are meant. */
const SHOWN = 5

interface Without {
  readonly pool: string
  readonly labels: Readonly<Record<string, string>>
}

export function rescueProblems(objects: readonly KubeObject[]): readonly DeclaredProblem[] {
  const without = objects.flatMap((object) => withoutRescue(object) ?? [])
  return objects.flatMap((object) =>
    object.kind === 'NodeRemedier' && without.length > 0 ? ofRule(object as NodeRemedier, without) : [],
  )
}

function withoutRescue(object: KubeObject): Without | undefined {
  if (object.kind === 'MachineSet') {
    const { metadata, spec } = (object as MachineSet).spec.template
    if (spec.channel !== 'Agent' || spec.ssh?.rescue !== undefined) return undefined
    return { pool: spec.pool ?? '', labels: { ...metadata?.labels, ...spec.labels } }
  }
  if (object.kind !== 'Machine') return undefined
  const { metadata, spec } = object as Machine
  if (spec.channel !== 'Agent' || spec.ssh?.rescue !== undefined) return undefined
  return { pool: spec.pool ?? '', labels: { ...metadata.labels, ...spec.labels } }
}

function ofRule(rule: NodeRemedier, without: readonly Without[]): readonly DeclaredProblem[] {
  const selector = selectorOf(rule.spec.nodeSelector ?? {})
  const pools = new Set(without.filter(({ labels }) => matchesSelector(selector, labels)).map(({ pool }) => pool))
  if (pools.size === 0) return []
  const all = [...pools].toSorted()
  const more = all.length > SHOWN ? ` and ${counted(all.length - SHOWN, 'other')}` : ''
  const text = `${all
    .slice(0, SHOWN)
    .map((pool) => (pool === '' ? '(none)' : pool))
    .join(', ')}${more}`
  // Where another rung follows, the rescue is a first try that costs nothing.
  if (!rule.spec.ladder.every(({ operations }) => operations.every(isRescue))) return []
  const where = { object: rule, pointer: '/spec/ladder', words: ['rescue'] }
  return [doubtful(where, declaredErrors.KN3069({ pools: text }))]
}
