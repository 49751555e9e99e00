// The scenario: machines of a set and one that never passes join, a Node is deleted, another script is declared; and what must hold at every write.
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { machineComponent } from '#api/kinds/machine-component.ts'
import { machineSet } from '#api/kinds/machine-set.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { LABELS, TAINTS } from '#api/names.ts'
import type { ControllerModule } from '#controllers/module.ts'
import { machineModule } from '#controllers/machine/reconcile.ts'
import { machineSetModule } from '#controllers/machineset/reconcile.ts'
import { type Node, hasTaint, nodeType, podType } from '#nodes/objects.ts'
import type { Invariant, Phase, Simulation } from '../harness.ts'
import { type Cloud, controllers, definition, kinds } from '../machines/simulation.ts'
import { surround } from '../machines/surroundings.ts'
import { ALL_FAULTS, type FaultKind } from '../sim-faults.ts'
import type { World } from '../world.ts'
import { BAD, runAcceptances, type Truth } from './agents.ts'
import { plantTemplates, runPods } from './kubelets.ts'

const SET = 'workers'
const FAULTY = 'faulty'
const POOL = { pool: 'workers' }
/** Also on the machine that no set owns. */
const INSTALLED = { installed: 'beacon' }
type Form = 'script' | 'pod'
const test = (form: Form, name: string) =>
  form === 'pod' ? { pod: { template: name } } : { script: { component: name, version: '1.0.0' } }
/** More attempts than one hang, one failure, one restart and what faults may cost. */
const GOOD_LIMITS = { timeout: '30s', retries: 5 }
const BAD_LIMITS = { timeout: '30s', retries: 1 }
const MARK = { key: 'example.org/look', value: 'ada', effect: 'NoSchedule' } as const

const machinesOf = (world: World): readonly Machine[] => world.fake.all(machineType) as readonly Machine[]

function create(world: World, form: Form): void {
  world.fake.plant(machineComponent, definition('1.0.0'))
  const kubenode = (kind: string, name: string, spec: object, labels = {}) => ({
    apiVersion: 'kubenode.io/v1alpha1',
    kind,
    metadata: { name, labels },
    spec,
  })
  const components = [{ name: 'beacon', version: '1.0.0' }]
  world.fake.plant(
    machineComponentSet,
    kubenode('MachineComponentSet', 'base', { selector: { matchLabels: INSTALLED }, components }),
  )
  const good = { provider: { name: 'process' }, pool: 'workers', acceptance: { ...test(form, 'good'), ...GOOD_LIMITS } }
  const selector = { matchLabels: POOL }
  const template = { metadata: { labels: { ...POOL, ...INSTALLED } }, spec: good }
  world.fake.plant(machineSet, kubenode('MachineSet', SET, { replicas: 2, selector, template }))
  const bad = { provider: { name: 'process' }, acceptance: { ...test(form, BAD), ...BAD_LIMITS } }
  world.fake.plant(machineType, kubenode('Machine', FAULTY, bad, INSTALLED))
}

/** A person deletes a Node and marks another one; the agent registers it again. */
function deleteNode(world: World): void {
  const names = machinesOf(world)
    .map((m) => m.metadata.name ?? '')
    .filter((name) => name !== FAULTY)
    .toSorted()
  const [first = '', second = ''] = names
  world.fake.uproot(nodeType, { name: first })
  const node = world.fake.peek(nodeType, { name: second }) as Node
  world.fake.poke(nodeType, { name: second }, { spec: { taints: [...(node.spec?.taints ?? []), MARK] } })
}

const isClosed = (node: Node | undefined): boolean => hasTaint(node, TAINTS.componentsPending)
const runOf = (m: Machine | undefined) => m?.status?.acceptance

const noneServesUntested =
  (truth: () => Truth): Invariant =>
  ({ kind, type, object, previous, call }, world) => {
    if (kind !== '/nodes' || type !== 'MODIFIED' || call === undefined) return undefined
    const [before, now] = [previous as Node, object as Node]
    if (!isClosed(before) || isClosed(now)) return undefined
    const record = runOf(machinesOf(world).find((m) => m.metadata.name === now.metadata.name))
    if (record?.phase !== 'Passed' || record.node !== now.metadata.uid)
      return `${now.metadata.name} takes pods, and it is not recorded that it passed`
    return truth().passed.has(record.run) ? undefined : `${now.metadata.name} takes pods, and its script did not pass`
  }

const passesAreTrue =
  (truth: () => Truth): Invariant =>
  ({ kind, object, call }) => {
    if (kind !== 'kubenode.io/machines' || call === undefined) return undefined
    const record = runOf(object as Machine)
    if (record?.phase !== 'Passed' || truth().passed.has(record.run)) return undefined
    return `${object.metadata.name} is said to have passed attempt ${record.attempt}`
  }

const triesAreBounded =
  (truth: () => Truth): Invariant =>
  ({ kind, object }) => {
    if (kind !== 'kubenode.io/machines') return undefined
    const { metadata, spec, status } = object as Machine
    const { attempt = 0, run = '' } = status?.acceptance ?? {}
    const most = (spec.acceptance?.retries ?? 0) + 1
    if (attempt > most) return `${metadata.name} is in attempt ${attempt} of ${most}`
    const starts = truth().starts.get(run) ?? 0
    return starts > 1 ? `attempt ${attempt} of ${metadata.name} was started ${starts} times` : undefined
  }

const foreignTaintsStay: Invariant = ({ kind, type, object, previous, call }) => {
  if (kind !== '/nodes' || type !== 'MODIFIED' || call === undefined) return undefined
  const lost = hasTaint(previous, MARK.key) && !hasTaint(object, MARK.key)
  return lost ? `the taint of a person is gone from ${object.metadata.name}` : undefined
}

const podsOf = (world: World, m: Machine): number =>
  world.fake.all(podType, { labelSelector: `${LABELS.acceptanceOf}=${m.metadata.uid}` }).length

/** How many attempts it took depends on the faults; the result does not. The pod of a last attempt stays for people, if it had one. */
const state = (world: World): unknown =>
  machinesOf(world)
    .map((m) => {
      const node: Node | undefined = world.fake.peek(nodeType, { name: m.metadata.name ?? '' })
      const record = runOf(m)
      return JSON.stringify({
        isFaulty: m.metadata.name === FAULTY,
        phase: m.status?.phase,
        acceptance: record?.phase,
        wanted: record?.wanted,
        areOldPodsGone: podsOf(world, m) <= (record?.phase === 'Failed' ? 1 : 0),
        isOfThisNode: record?.node === node?.metadata.uid,
        taints: (node?.spec?.taints ?? []).map((t) => t.key),
        stalled: m.status?.conditions?.find((c) => c.type === 'Stalled')?.status,
      })
    })
    .toSorted()

export interface Scenario {
  readonly modules?: readonly ControllerModule[]
  readonly faults?: readonly FaultKind[]
  readonly only?: readonly string[]
  readonly hasJournal?: boolean
  /** Whether nodes are accepted by scripts of their agents, or by pods. */
  readonly form?: Form
}

export function acceptanceSimulation({
  modules = [machineModule, machineSetModule],
  faults = ALL_FAULTS,
  only,
  hasJournal = true,
  form = 'script',
}: Scenario = {}): Simulation {
  let hosts: Cloud = new Map()
  let truth: Truth = { starts: new Map(), passed: new Set() }
  let restartSoon = (): void => undefined
  const now = () => truth
  const phases: readonly Phase[] = [
    {
      name: 'create',
      act: (world) => {
        surround(world, hosts)
        restartSoon = runAcceptances(world, hosts, truth, { hasJournal }).restartSoon
        plantTemplates(world)
        runPods(world, truth)
        create(world, form)
      },
    },
    {
      name: 'grow',
      act: (world) => {
        restartSoon()
        void world.fake.poke(machineSet, { name: SET }, { spec: { replicas: 3 } })
      },
    },
    {
      name: 'a Node is deleted',
      act: (world) => {
        deleteNode(world)
        restartSoon()
      },
    },
    {
      name: 'another script',
      act: (world) => {
        const acceptance = { ...test(form, 'good'), ...GOOD_LIMITS }
        world.fake.poke(machineType, { name: FAULTY }, { spec: { acceptance } })
      },
    },
    { name: 'to nothing', act: (world) => void world.fake.poke(machineSet, { name: SET }, { spec: { replicas: 0 } }) },
  ]
  return {
    faults,
    kinds,
    actors: () => {
      hosts = new Map()
      truth = { starts: new Map(), passed: new Set() }
      return [controllers(modules, hosts, (p) => p)]
    },
    phases: phases.filter((p) => only?.includes(p.name) ?? true),
    invariants: {
      noneServesUntested: noneServesUntested(now),
      passesAreTrue: passesAreTrue(now),
      triesAreBounded: triesAreBounded(now),
      foreignTaintsStay,
    },
    counted: ['kubenode.io/machines'],
    heartbeats: ['coordination.k8s.io/leases'],
    state,
    faultyMs: 120_000,
    settleMs: 720_000,
    restMs: 150_000,
  }
}
