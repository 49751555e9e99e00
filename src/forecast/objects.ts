// The expected cluster after a commit: the inventory's objects, replaced by what the commit declares.
import { type MachineComponent, machineComponent } from '#api/kinds/machine-component.ts'
import { type MachineComponentSet, machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { type DefenderPolicy, defenderPolicy } from '#api/kinds/defender-policy.ts'
import { type MachineSet, machineSet } from '#api/kinds/machine-set.ts'
import { type Machine, machine } from '#api/kinds/machine.ts'
import type { ApiKind } from '#api/kind.ts'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { applyDefaults } from '#api/schema/default.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { defined } from '#lib/defined.ts'
import { jsonEqual } from '#lib/json.ts'
import { without } from '#lib/without.ts'
import { matchesSelector } from '#kube/selector.ts'
import { type SelectingSet, decidingSets, selecting } from '#nodes/placement/deciding-set.ts'
import { compilePolicy } from '#defender/compile-policy.ts'
import type { RevisedComponent } from '#api/protocol/set-revision.ts'
import type { ControllerRevision } from '#controllers/componentset/revisions/revisions.ts'
import type { Inventory } from './inventory.ts'
import type { WorldObjects } from './simulation/world.ts'

export interface Expected {
  readonly objects: WorldObjects
  /** Sets with changed components or selector, and those that come to decide about machines because another set or the machine changed. */
  readonly changedSets: readonly string[]
  /** Checks that cannot run here and are assumed to pass. */
  readonly assumed: readonly string[]
  readonly policies: readonly DefenderPolicy[]
}

/** `before` and `after`: what the current and the planned commit declare for the cluster. */
export function expectedObjects(
  inventory: Inventory,
  before: readonly KubeObject[],
  after: readonly KubeObject[],
): Expected {
  const assumed = new Set<string>()
  const merge = <T extends KubeObject>(kind: ApiKind, found: readonly T[]): readonly T[] =>
    merged(found, declaredOf<T>(kind, before), declaredOf<T>(kind, after))
  const declared = merge<MachineComponentSet>(machineComponentSet, inventory.sets)
  const olds = new Map(inventory.sets.map((s) => [s.metadata.name ?? '', s]))
  const renewed = renewedSecrets(before, after)
  const { revisions } = inventory
  const sets = declared.map((set) =>
    expectedSet(set, { old: olds.get(set.metadata.name ?? ''), revisions, renewed, assumed }),
  )
  const policies = merge<DefenderPolicy>(defenderPolicy, inventory.policies)
  const machines = relabelled(inventory.machines, declaredOf<Machine>(machine, before), declaredOf(machine, after))
  const moved = takingOver(inventory, { sets, machines })
  return {
    objects: {
      machines,
      nodes: inventory.nodes,
      machineSets: merge<MachineSet>(machineSet, inventory.machineSets),
      sets,
      components: merge<MachineComponent>(machineComponent, inventory.components),
      revisions: inventory.revisions,
      permits: inventory.permits,
      holds: inventory.holds,
      approvals: inventory.approvals,
      policies: policies.map((p) => compilePolicy(withoutPeople(p, assumed))),
      ledger: inventory.ledger,
      cluster: inventory.cluster,
      apiServer: inventory.apiServer,
      ...defined({ maintenance: inventory.maintenance }),
    },
    changedSets: sets.flatMap((set) => {
      const name = set.metadata.name ?? ''
      if (moved.has(name) || set.spec.components.some((c) => isRenewed(c, renewed))) return [name]
      return jsonEqual(olds.get(name)?.spec, set.spec) || isSameRollout(olds.get(name), set) ? [] : [name]
    }),
    assumed: [...assumed],
    policies,
  }
}

/** Compares only what is rolled out and where: a different soak alone switches nothing. */
const isSameRollout = (before: MachineComponentSet | undefined, after: MachineComponentSet): boolean =>
  before !== undefined &&
  jsonEqual(
    [before.spec.components.map(comparable), before.spec.selector],
    [after.spec.components.map(comparable), after.spec.selector],
  )

/** Git declares these machines one by one. Labels of other writers stay. */
function relabelled(
  machines: readonly Machine[],
  before: ReadonlyMap<string, Machine>,
  after: ReadonlyMap<string, Machine>,
): readonly Machine[] {
  if (after.size === 0) return machines
  return machines.map((m) => {
    const name = m.metadata.name ?? ''
    const [old, wanted] = [before.get(name)?.metadata.labels ?? {}, after.get(name)?.metadata.labels ?? {}]
    if (!after.has(name) || jsonEqual(old, wanted)) return m
    const others = without(m.metadata.labels ?? {}, ...Object.keys(old))
    return { ...m, metadata: { ...m.metadata, labels: { ...others, ...wanted } } }
  })
}

type Deciding = Pick<Inventory, 'sets' | 'machines'>

/** Sets that decide about a component of a machine, about which another set or none decided before. */
function takingOver(now: Deciding, then: Deciding): ReadonlySet<string> {
  const [old, next] = [now, then].map(({ sets }) => sets.flatMap(selecting)) as [SelectingSet[], SelectingSet[]]
  const claims = ({ set: { metadata, spec } }: SelectingSet) => [
    metadata.name,
    spec.priority,
    spec.selector,
    spec.components.map((c) => c.name),
  ]
  if (then.machines === now.machines && jsonEqual(old.map(claims), next.map(claims))) return new Set()
  const found = new Set<string>()
  for (const [i, machineNow] of now.machines.entries()) {
    const machineThen = then.machines[i] ?? machineNow
    if (machineNow.spec.channel === 'Observe') continue
    const [decided, decides] = [decidersOf(old, machineNow), decidersOf(next, machineThen)]
    for (const [component, set] of decides)
      if (decided.get(component)?.metadata.name !== set.metadata.name) found.add(set.metadata.name ?? '')
  }
  return found
}

const decidersOf = (sets: readonly SelectingSet[], { metadata, spec }: Machine) =>
  decidingSets(
    sets.filter(({ selector }) => matchesSelector(selector, metadata.labels)),
    spec.components,
  )

function comparable(component: RevisedComponent): object {
  const { sealed: _, ...rest } = component
  return rest
}

/** With the server's defaults for fields that a commit leaves out. */
const withDefaults = <T extends KubeObject>(kind: ApiKind, object: T): T => applyDefaults(kind.schema, object) as T

const declaredOf = <T extends KubeObject>(kind: ApiKind, list: readonly KubeObject[]): ReadonlyMap<string, T> =>
  new Map(
    list
      .filter((o) => o.kind === kind.kind && o.apiVersion.startsWith('kubenode.io/'))
      .map((o) => [o.metadata.name ?? '', withDefaults(kind, o as T)]),
  )

/** Deletes what only the previous commit declared; keeps what no commit declared. */
function merged<T extends KubeObject>(
  found: readonly T[],
  before: ReadonlyMap<string, T>,
  after: ReadonlyMap<string, T>,
): readonly T[] {
  const known = new Map(found.map((o) => [o.metadata.name ?? '', o]))
  for (const name of before.keys()) if (!after.has(name)) known.delete(name)
  for (const [name, wanted] of after) {
    const old = known.get(name)
    known.set(name, old === undefined ? asNew(wanted) : inPlaceOf(old, wanted))
  }
  return [...known.values()]
}

const asNew = <T extends KubeObject>(wanted: T): T => ({
  ...wanted,
  metadata: { ...wanted.metadata, uid: `forecast-${wanted.kind}-${wanted.metadata.name}`, generation: 1 },
})

/** The declared objects of a kind, as a cluster has them that just got them. */
export const createdFrom = (kind: ApiKind, list: readonly KubeObject[]): readonly KubeObject[] =>
  [...declaredOf(kind, list).values()].map(asNew)

const specOf = (o: KubeObject): unknown => ('spec' in o ? o.spec : undefined)

function inPlaceOf<T extends KubeObject>(old: T, wanted: T): T {
  const isSame = jsonEqual(specOf(old), specOf(wanted))
  const generation = (old.metadata.generation ?? 1) + (isSame ? 0 : 1)
  const metadata = { ...old.metadata, labels: wanted.metadata.labels ?? {}, generation }
  return { ...old, ...wanted, metadata, ...('status' in old && { status: old.status }) }
}

/** A forecast makes no network requests and starts no pods: such inspections are assumed to pass. */
function expectedSet(set: MachineComponentSet, { old, revisions, renewed, assumed }: SetBefore): MachineComponentSet {
  const { inspections = [], ...rollout } = set.spec.rollout
  const isAsked = (i: (typeof inspections)[number]) =>
    i.http !== undefined || i.prometheus !== undefined || i.podProbe !== undefined
  for (const i of inspections) if (isAsked(i)) assumed.add(`inspection ${i.name} of ${set.metadata.name} passes`)
  const components = set.spec.components.map((c) => sealedAsBefore(c, { old, revisions, renewed }))
  const kept = inspections.filter((i) => !isAsked(i))
  return {
    ...set,
    spec: { ...set.spec, components, rollout: { ...rollout, ...(kept.length > 0 && { inspections: kept }) } },
  }
}

interface SetBefore {
  readonly old: MachineComponentSet | undefined
  readonly revisions: readonly ControllerRevision[]
  /** Names of Secrets with other content. */
  readonly renewed: ReadonlySet<string>
  readonly assumed: Set<string>
}

/** Components read Secrets of this namespace only. A value that is encrypted in git changes whenever it is encrypted again. */
function renewedSecrets(before: readonly KubeObject[], after: readonly KubeObject[]): ReadonlySet<string> {
  const secretsIn = (list: readonly KubeObject[]) =>
    new Map(
      list
        .filter((o) => o.kind === 'Secret' && o.apiVersion === 'v1' && o.metadata.namespace === SYSTEM_NAMESPACE)
        .map((o) => [o.metadata.name ?? '', [o['data'], o['stringData']]]),
    )
  const olds = secretsIn(before)
  const changed = [...secretsIn(after)].filter(([name, data]) => olds.has(name) && !jsonEqual(olds.get(name), data))
  return new Set(changed.map(([name]) => name))
}

const isRenewed = ({ secretRefs = [] }: RevisedComponent, renewed: ReadonlySet<string>): boolean =>
  secretRefs.some(({ secret }) => secret !== undefined && renewed.has(secret.name))

/** An inventory has no Secret values; they are assumed unchanged unless the commit changes the Secret. */
function sealedAsBefore(
  component: RevisedComponent,
  { old, revisions, renewed }: Pick<SetBefore, 'old' | 'revisions' | 'renewed'>,
): RevisedComponent {
  const { secretRefs = [] } = component
  if (secretRefs.length === 0) return component
  if (isRenewed(component, renewed))
    return { ...component, sealed: secretRefs.map(({ path }) => ({ path, sealedIn: RENEWED })) }
  const update = old?.status?.revisions?.update
  const kept = revisions
    .find((r) => r.metadata.name === update)
    ?.data?.components.find((c) => c.name === component.name && jsonEqual(c.secretRefs, component.secretRefs))
  return kept?.sealed === undefined ? component : { ...component, sealed: kept.sealed }
}

/** In place of a digest of the new value, which equals none of before. */
const RENEWED = 'renewed'

/** Approvals depend on people, and policy rules on facts of that time. */
function withoutPeople(policy: DefenderPolicy, assumed: Set<string>): DefenderPolicy {
  const { approvals = [], rules = [], ...spec } = policy.spec
  for (const rule of rules) assumed.add(`rule ${rule.name} of policy ${policy.metadata.name} permits it`)
  return approvals.length === 0 && rules.length === 0 ? policy : { ...policy, spec }
}
