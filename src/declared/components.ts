// Checks the component versions that sets, canaries and repairs use against the declared ones.
import { someOf } from '#lib/some-of.ts'
import type { ComponentCanary } from '#api/kinds/component-canary.ts'
import type { MachineComponent } from '#api/kinds/machine-component.ts'
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { MachineSet } from '#api/kinds/machine-set.ts'
import type { NodeRemedier } from '#api/kinds/node-remedier.ts'
import { requirementCircle } from '#api/requires.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { didYouMean } from '#lib/did-you-mean.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { declaredErrors } from './declared-errors.ts'
import { type DeclaredProblem, certain, doubtful, isComponent } from './problem.ts'

/** Limit of versions listed in a message. */
const MAX_VERSIONS = 10

interface Reference {
  readonly object: KubeObject
  readonly pointer: string
  readonly component: string
  readonly version: string
  readonly isScript: boolean
}

export function componentProblems(objects: readonly KubeObject[]): readonly DeclaredProblem[] {
  const components = objects.filter(isComponent)
  // A fleet that declares no components gets all of them from elsewhere.
  if (components.length === 0) return []
  const byName = Map.groupBy(components, (c) => c.spec.component)
  return [
    ...objects.flatMap(referencesOf).flatMap((r) => problemOf(r, byName) ?? []),
    ...objects.filter(isRemedier).flatMap((rule) => repairProblems(rule, byName)),
    ...objects.filter(isSet).flatMap((set) => requirementsOf(set, byName)),
  ]
}

function referencesOf(object: KubeObject): readonly Reference[] {
  if (object.kind === 'MachineComponentSet' || object.kind === 'ComponentCanary') {
    const { components } = (object as MachineComponentSet | ComponentCanary).spec
    return components.map(({ name, version }, i) => ({
      object,
      pointer: `/spec/components/${i}/version`,
      component: name,
      version,
      isScript: false,
    }))
  }
  const pool = acceptanceOf(object)
  if (pool !== undefined) return [{ object, isScript: true, ...pool }]
  if (object.kind !== 'NodeRemedier') return []
  return (object as NodeRemedier).spec.ladder.flatMap(({ operations, verify }, rung) => {
    const scripts = [
      ...operations.map(({ runScript }, i) => ({ at: `operations/${i}/runScript`, script: runScript })),
      { at: 'verify/script', script: verify?.script },
    ]
    return scripts.flatMap(({ at, script }) =>
      script === undefined ? [] : [{ object, pointer: `/spec/ladder/${rung}/${at}`, isScript: true, ...script }],
    )
  })
}

/** The script that accepts new machines of a pool, or a machine. */
function acceptanceOf(object: KubeObject): Pick<Reference, 'pointer' | 'component' | 'version'> | undefined {
  if (object.kind === 'MachineSet') {
    const script = (object as MachineSet).spec.template.spec?.acceptance?.script
    return script && { ...script, pointer: '/spec/template/spec/acceptance/script' }
  }
  if (object.kind !== 'Machine') return undefined
  const script = (object as Machine).spec?.acceptance?.script
  return script && { ...script, pointer: '/spec/acceptance/script' }
}

function problemOf(
  { object, pointer, component, version, isScript }: Reference,
  byName: ReadonlyMap<string, readonly MachineComponent[]>,
): DeclaredProblem | undefined {
  if (isElsewhere(object, component)) return undefined
  const declared = byName.get(component) ?? []
  const at = { object, pointer, words: [version, component] }
  if (declared.length === 0) {
    const near = didYouMean(component, [...byName.keys()])
    const hint = near === undefined ? '' : ` (did you mean ${near}?)`
    return certain(at, declaredErrors.KN3062({ component, hint, annotation: ANNOTATIONS.declaredElsewhere }))
  }
  const found = declared.find((c) => c.spec.version === version)
  if (found === undefined) {
    const versions = someOf(
      declared.map((c) => c.spec.version),
      MAX_VERSIONS,
    )
    return certain(at, declaredErrors.KN3062_version({ component, version, versions }))
  }
  if (isScript === (found.spec.type === 'Script')) return undefined
  return isScript
    ? certain(at, declaredErrors.KN3064({ component, version, type: found.spec.type }))
    : certain(at, declaredErrors.KN3064_set({ component, version }))
}

function isElsewhere({ metadata }: KubeObject, component: string): boolean {
  const names = (metadata.annotations?.[ANNOTATIONS.declaredElsewhere] ?? '').split(',').map((n) => n.trim())
  return names.includes(component) || names.includes('*')
}

/** What a repair restarts or reinstalls: with a wrong name, the repair fails when it is needed. */
function repairProblems(
  rule: NodeRemedier,
  byName: ReadonlyMap<string, readonly MachineComponent[]>,
): readonly DeclaredProblem[] {
  return rule.spec.ladder.flatMap(({ operations }, rung) =>
    operations.flatMap((operation, i) => {
      const name = operation.restartComponent === undefined ? 'reinstallComponent' : 'restartComponent'
      const component = operation[name]?.component
      if (component === undefined || byName.has(component) || isElsewhere(rule, component)) return []
      const at = {
        object: rule,
        pointer: `/spec/ladder/${rung}/operations/${i}/${name}/component`,
        words: [component, rule.metadata.name ?? ''],
      }
      const near = didYouMean(component, [...byName.keys()])
      const annotation = ANNOTATIONS.declaredElsewhere
      // A name that is nearly a declared one is a typo.
      if (near !== undefined)
        return [certain(at, declaredErrors.KN3062({ component, hint: ` (did you mean ${near}?)`, annotation }))]
      // Without such a component, agents restart the unit of that name, and a library rule may repair something that only some fleets have.
      return name === 'restartComponent' ? [] : [doubtful(at, declaredErrors.KN3062_step({ component, annotation }))]
    }),
  )
}

const isRemedier = (object: KubeObject): object is NodeRemedier => object.kind === 'NodeRemedier'

export const isSet = (object: KubeObject): object is MachineComponentSet => object.kind === 'MachineComponentSet'

/** Another set may meet a requirement; a cycle within one set can never be satisfied. */
function requirementsOf(
  set: MachineComponentSet,
  byName: ReadonlyMap<string, readonly MachineComponent[]>,
): readonly DeclaredProblem[] {
  const { components } = set.spec
  const specs = components.flatMap(
    ({ name, version }) => byName.get(name)?.find((c) => c.spec.version === version)?.spec ?? [],
  )
  const circle = requirementCircle(specs)
  if (circle === undefined) return []
  const at = components.findIndex((c) => c.name === circle[0])
  const words = [circle[0] ?? '', set.metadata.name ?? '']
  const message = declaredErrors.KN3071({ circle: circle.join(' → ') })
  return [certain({ object: set, pointer: `/spec/components/${at}`, words }, message)]
}
