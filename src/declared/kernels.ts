// Refuses two kernels for the same machines, where each would be armed over the other. Pure.
import type { MachineSet } from '#api/kinds/machine-set.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { nameOf } from '#api/schema/object-meta.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { matchesSelector, selectorOf } from '#kube/selector.ts'
import { neverMatches } from '#kube/selector-sense.ts'
import { isSet } from './components.ts'
import { declaredErrors } from './declared-errors.ts'
import { type DeclaredProblem, certain, isComponent } from './problem.ts'

/** A component may be in several sets; competing sets are reported elsewhere. */
export function kernelProblems(objects: readonly KubeObject[]): readonly DeclaredProblem[] {
  const kernels = new Set(
    objects.filter(isComponent).flatMap(({ spec }) => (spec.type === 'OS' ? [spec.component] : [])),
  )
  if (kernels.size < 2) return []
  const entries = objects.filter(isSet).flatMap((object) => {
    const selector = selectorOf(object.spec.selector)
    if (neverMatches(selector) !== undefined) return []
    return object.spec.components.flatMap(({ name }, i) => (kernels.has(name) ? [{ object, selector, name, i }] : []))
  })
  const reported = new Set<(typeof entries)[number]>()
  return objects.flatMap(poolOf).flatMap(({ pool, labels }) => {
    const here = entries.filter((e) => matchesSelector(e.selector, labels))
    const [first] = here
    return here.flatMap((entry) => {
      if (first === undefined || entry.name === first.name || reported.has(entry)) return []
      reported.add(entry)
      return certain(
        { object: entry.object, pointer: `/spec/components/${entry.i}/name`, words: [entry.name] },
        declaredErrors.KN3101({ component: entry.name, other: first.name, set: nameOf(first.object), pool }),
      )
    })
  })
}

function poolOf(
  object: KubeObject,
): readonly { readonly pool: string; readonly labels: Readonly<Record<string, string>> }[] {
  if (object.kind === 'MachineSet')
    return [
      { pool: `machineset/${nameOf(object)}`, labels: (object as MachineSet).spec.template.metadata?.labels ?? {} },
    ]
  return object.kind === 'Machine'
    ? [{ pool: `machine/${nameOf(object)}`, labels: (object as Machine).metadata.labels ?? {} }]
    : []
}
