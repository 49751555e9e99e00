// Selectors that contradict themselves, and selectors that match no machine declared here.
import type { Machine } from '#api/kinds/machine.ts'
import type { MachineSet } from '#api/kinds/machine-set.ts'
import { isObject } from '#lib/json.ts'
import { matchesSelector, selectorOf } from '#kube/selector.ts'
import type { LabelSelector } from '#api/schema/labels.ts'
import { neverMatches } from '#kube/selector-sense.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { declaredErrors } from './declared-errors.ts'
import { type DeclaredProblem, certain, doubtful } from './problem.ts'

/** Kinds whose selectors match machine labels; other selectors match Nodes, which kubelets and users label too. */
const OF_MACHINES: ReadonlySet<string> = new Set(['MachineComponentSet', 'ComponentCanary'])

interface Found {
  readonly object: KubeObject
  readonly pointer: string
  readonly selector: LabelSelector
}

const FIELDS = ['selector', 'nodeSelector'] as const

export function selectorProblems(objects: readonly KubeObject[]): readonly DeclaredProblem[] {
  const labels = objects.map(machineLabels).filter((l) => l !== undefined)
  return objects.flatMap(selectorsOf).flatMap((found) => problemOf(found, labels) ?? [])
}

function selectorsOf(object: KubeObject): readonly Found[] {
  const spec = isObject(object['spec']) ? object['spec'] : {}
  return FIELDS.flatMap((field) => {
    const selector = spec[field]
    return isObject(selector) ? [{ object, pointer: `/spec/${field}`, selector }] : []
  })
}

function machineLabels(object: KubeObject): Readonly<Record<string, string>> | undefined {
  if (object.kind === 'MachineSet') return (object as MachineSet).spec.template.metadata?.labels ?? {}
  return object.kind === 'Machine' ? ((object as Machine).metadata.labels ?? {}) : undefined
}

function problemOf(
  { object, pointer, selector: written }: Found,
  labels: readonly Readonly<Record<string, string>>[],
): DeclaredProblem | undefined {
  const selector = selectorOf(written)
  const words = selector.flatMap((r) => [r.key, ...r.values])
  const why = neverMatches(selector)
  if (why !== undefined) return certain({ object, pointer, words }, declaredErrors.KN3067({ why }))
  // A fleet without declared machines observes or imports them, with labels that are unknown here.
  if (!OF_MACHINES.has(object.kind) || labels.length === 0) return undefined
  if (labels.some((l) => matchesSelector(selector, l))) return undefined
  const wanted = selector.map((r) => `${r.key} ${r.operator} ${r.values.join(',')}`.trimEnd()).join('; ')
  return doubtful({ object, pointer, words }, declaredErrors.KN3068({ wanted }))
}
