// Refuses versions that reboot machines whose provider only imitates a reboot: a rollout there would pass and prove nothing. Pure.
import type { ComponentCanary } from '#api/kinds/component-canary.ts'
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { MachineSet } from '#api/kinds/machine-set.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { nameOf } from '#api/schema/object-meta.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { matchesSelector, selectorOf } from '#kube/selector.ts'
import { neverMatches } from '#kube/selector-sense.ts'
import { declaredErrors } from './declared-errors.ts'
import { type DeclaredProblem, certain, isComponent } from './problem.ts'

/** Its nodes are folders. Hollow nodes imitate a reboot too, but are for scale tests and prove nothing about any version. */
const IMITATES = 'process'

interface Pool {
  /** As people write it. */
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
}

export function rebootProblems(objects: readonly KubeObject[]): readonly DeclaredProblem[] {
  const versions = new Set(
    objects
      .filter(isComponent)
      .filter((c) => c.spec.disruption === 'Reboot')
      .map(({ spec }) => `${spec.component} ${spec.version}`),
  )
  const pools = objects.flatMap(poolOf)
  if (versions.size === 0 || pools.length === 0) return []
  return objects.filter(rollsOut).flatMap((object) => {
    const selector = selectorOf(object.spec.selector)
    const pool = neverMatches(selector) === undefined && pools.find((p) => matchesSelector(selector, p.labels))
    if (pool === undefined || pool === false) return []
    return object.spec.components.flatMap(({ name, version }, i) =>
      versions.has(`${name} ${version}`)
        ? certain(
            { object, pointer: `/spec/components/${i}/version`, words: [name, version] },
            declaredErrors.KN3078({ component: `${name} ${version}`, pool: pool.name, provider: IMITATES }),
          )
        : [],
    )
  })
}

const rollsOut = (object: KubeObject): object is MachineComponentSet | ComponentCanary =>
  object.kind === 'MachineComponentSet' || object.kind === 'ComponentCanary'

function poolOf(object: KubeObject): readonly Pool[] {
  if (object.kind === 'MachineSet') {
    const { metadata, spec } = (object as MachineSet).spec.template
    const name = `machineset/${nameOf(object)}`
    return spec.provider?.name === IMITATES ? [{ name, labels: metadata?.labels ?? {} }] : []
  }
  if (object.kind !== 'Machine') return []
  const { metadata, spec } = object as Machine
  return spec.provider?.name === IMITATES ? [{ name: `machine/${nameOf(object)}`, labels: metadata.labels ?? {} }] : []
}
