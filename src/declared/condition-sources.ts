// What sets the Node conditions of a cluster, as far as its commit tells. Unknown counts as set: nothing is concluded from what git does not declare. Pure.
import { parseConfig } from '#api/agent-config/agent-config.ts'
import { conditionsOfFile, conditionsReportedBy } from '#api/agent-config/config-problems.ts'
import { DETECTOR_CONDITIONS, type DetectorName } from '#api/agent-config/detector-settings.ts'
import type { MachineComponent } from '#api/kinds/machine-component.ts'
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { MachineSet } from '#api/kinds/machine-set.ts'
import type { NodeRemedier } from '#api/kinds/node-remedier.ts'
import {
  COMPONENT_UNHEALTHY,
  DETECTION_INCOMPLETE,
  LIFECYCLE_TYPES,
  componentConditionType,
} from '#api/node-conditions.ts'
import type { NODE_CONDITION_TYPES } from '#api/node-leaves.ts'
import { ANNOTATIONS, LABELS } from '#api/names.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { matchesSelector, selectorOf } from '#kube/selector.ts'
import { isComponent } from './problem.ts'

/** Set by kubelets and by the controllers of Kubernetes. */
const OF_KUBERNETES: ReadonlySet<string> = new Set<(typeof NODE_CONDITION_TYPES)[number]>([
  'Ready',
  'MemoryPressure',
  'DiskPressure',
  'PIDPressure',
  'NetworkUnavailable',
])
const OF_KUBENODE: readonly string[] = [
  COMPONENT_UNHEALTHY,
  DETECTION_INCOMPLETE,
  ...LIFECYCLE_TYPES,
  'GracefulNodeShutdownInProgress',
]
const OF_ONE_COMPONENT = componentConditionType('')

export interface ConditionSources {
  /** Whether a rule with these annotations can ever read the condition. */
  readonly canBeSet: (type: string, rule: KubeObject) => boolean
  /** Why a condition that something here seems to set is not set; empty if nothing does. */
  readonly hint: (type: string) => string
}

/** Undefined: unknown, because git does not declare the agents' configuration, or that names monitor files which only the nodes have. */
export function conditionSources(
  objects: readonly KubeObject[],
  configs: readonly string[],
): ConditionSources | undefined {
  if (configs.length === 0) return undefined
  const components = objects.filter(isComponent)
  const parsed = configs.map((text) => parseConfig(text).config.detect)
  const followed = new Set(parsed.flatMap(({ monitors }) => monitors.flatMap(({ file }) => file ?? [])))
  const brought = components.flatMap(filesOf)
  if ([...followed].some((path) => !brought.some((f) => f.path === path))) return undefined
  const followedFiles = brought.filter((f) => followed.has(f.path))
  const places = machinesIn(objects)
  const isInstalled = (f: Brought, rule: KubeObject) => isInstalledFor(f.component, rule, { objects, places })
  const isOn = (name: DetectorName) => parsed.some(({ detectors }) => detectors[name].isOn)
  const detectors = Object.keys(DETECTOR_CONDITIONS) as readonly DetectorName[]
  const set = new Set<string>([
    ...OF_KUBERNETES,
    ...OF_KUBENODE,
    ...detectors.filter(isOn).flatMap((name) => DETECTOR_CONDITIONS[name]),
    ...configs.flatMap((text) => [...conditionsReportedBy(text)]),
  ])
  const names = new Set(components.map((c) => c.spec.component))
  return {
    canBeSet: (type, rule) =>
      set.has(type) ||
      followedFiles.some((f) => f.conditions.includes(type) && isInstalled(f, rule)) ||
      listed(rule, ANNOTATIONS.conditionsElsewhere).has(type) ||
      (type.startsWith(OF_ONE_COMPONENT) && isRun(type.slice(OF_ONE_COMPONENT.length), names, rule)),
    hint: (type) => {
      const off = detectors.find((name) => DETECTOR_CONDITIONS[name].some((c) => c === type))
      if (off !== undefined) return ` (agent.json switches detector ${off} off)`
      const file = brought.find((f) => f.conditions.includes(type))
      if (file === undefined) return ''
      return followed.has(file.path)
        ? ` (component ${file.component} would, but no MachineComponentSet installs it on the nodes of this rule)`
        : ` (component ${file.component} would, but agent.json does not list its file ${file.path} in monitors)`
    },
  }
}

interface Brought {
  readonly component: string
  readonly path: string
  readonly conditions: readonly string[]
}

const filesOf = ({ spec }: MachineComponent): readonly Brought[] =>
  (spec.files ?? []).map(({ path, template }) => ({
    component: spec.component,
    path,
    conditions: conditionsOfFile(template),
  }))

interface Place {
  readonly labels: Readonly<Record<string, string>>
  readonly pool: string | undefined
}

const machinesIn = (objects: readonly KubeObject[]): readonly Place[] =>
  objects.flatMap((o): readonly Place[] => {
    if (o.kind === 'Machine') return [{ labels: o.metadata.labels ?? {}, pool: (o as Machine).spec.pool }]
    if (o.kind !== 'MachineSet') return []
    const { metadata, spec } = (o as MachineSet).spec.template
    return [{ labels: metadata?.labels ?? {}, pool: spec.pool }]
  })

/** In a pool that the rule selects. Of a Node's labels only its pool is known here, which is that of its Machine. */
function isInstalledFor(
  component: string,
  rule: KubeObject,
  { objects, places }: { readonly objects: readonly KubeObject[]; readonly places: readonly Place[] },
): boolean {
  const sets = objects.filter((o): o is MachineComponentSet => o.kind === 'MachineComponentSet')
  // Another source installs components.
  if (sets.length === 0) return true
  const ofPool = selectorOf((rule as NodeRemedier).spec.nodeSelector ?? {}).filter((r) => r.key === LABELS.pool)
  return sets
    .filter(({ spec }) => spec.components.some((c) => c.name === component))
    .some(({ spec }) => {
      const selector = selectorOf(spec.selector)
      const matched = places.filter((p) => matchesSelector(selector, p.labels))
      // Machines that are imported or labeled by hand.
      if (matched.length === 0) return true
      return matched.some(({ pool }) => pool === undefined || matchesSelector(ofPool, { [LABELS.pool]: pool }))
    })
}

/** A declared component may be installed by the next commit. A fleet that declares none gets all from elsewhere. */
function isRun(component: string, declared: ReadonlySet<string>, rule: KubeObject): boolean {
  const elsewhere = listed(rule, ANNOTATIONS.declaredElsewhere)
  return declared.size === 0 || declared.has(component) || elsewhere.has(component) || elsewhere.has('*')
}

const listed = ({ metadata }: KubeObject, annotation: string): ReadonlySet<string> =>
  new Set((metadata.annotations?.[annotation] ?? '').split(',').map((n) => n.trim()))
