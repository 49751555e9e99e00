// Rules with a rescue, and machines declared here on which it can only fail: they have no rescue key.
import type { Machine } from '#api/kinds/machine.ts'
import type { MachineSet } from '#api/kinds/machine-set.ts'
import type { NodeRemedier } from '#api/kinds/node-remedier.ts'
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

/** Machines of a set have no SSH server: the host of each is named in its Machine. */
function withoutRescue(object: KubeObject): Without | undefined {
  if (object.kind === 'MachineSet') {
    const { metadata, spec } = (object as MachineSet).spec.template
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
  return rule.spec.ladder.flatMap(({ operations }, rung) =>
    operations.flatMap((operation, n) => {
      const name = operation.rescue === undefined ? 'rescueReboot' : 'rescue'
      if (operation[name] === undefined) return []
      const where = { object: rule, pointer: `/spec/ladder/${rung}/operations/${n}/${name}`, words: [name] }
      return [doubtful(where, declaredErrors.KN3069({ operation: name, pools: text }))]
    }),
  )
}
