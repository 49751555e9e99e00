// Counts what a rollout met on its way: what people did and when, what befell machines, and what the controllers and the Defender made of it.
import type { ComponentCanary } from '#api/kinds/component-canary.ts'
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { canonicalJson, jsonEqual } from '#lib/json.ts'
import type { Commit } from '#test/doubles/kube/revisions.ts'
import { isNodeReady } from '#nodes/objects.ts'
import type { World } from '../world.ts'
import type { Agents } from './fleet.ts'
import { setOf } from './invariants.ts'

const ENDED: ReadonlySet<string> = new Set(['Passed', 'Failed', 'Aborted'])
const LAST_STEP = 3

export class Chronicle {
  readonly #agents: Agents
  #lies = 0

  constructor(agents: Agents) {
    this.#agents = agents
  }

  hear(commit: Commit, world: World): undefined {
    for (const what of happenings(commit, world)) world.count(what)
    if (this.#agents.lies > this.#lies) world.count('an agent lies', this.#agents.lies - this.#lies)
    this.#lies = this.#agents.lies
  }
}

function happenings(commit: Commit, world: World): readonly string[] {
  const { kind, object, previous } = commit
  switch (kind) {
    case '/nodes':
      return previous !== undefined && isNodeReady(previous) && !isNodeReady(object) ? ['a node fails'] : []
    case 'kubenode.io/machines':
      return ofMachine(commit, isUnderWay(world))
    case 'kubenode.io/machinecomponentsets':
      return ofSet(commit, object as MachineComponentSet, previous as MachineComponentSet | undefined)
    case 'kubenode.io/operationalholds':
      return commit.type === 'ADDED' ? ofHold(world) : []
    case 'kubenode.io/operationpermits':
      return ofPermit(object as OperationPermit, previous as OperationPermit | undefined)
    case 'kubenode.io/componentcanaries':
      return ofCanary(object as ComponentCanary, previous as ComponentCanary | undefined)
    default:
      return []
  }
}

const openSlices = (set: MachineComponentSet | undefined) =>
  (set?.status?.slices ?? []).filter((w) => !ENDED.has(w.phase))
const isUnderWay = (world: World): boolean => openSlices(setOf(world)).length > 0

function ofMachine({ type, object, previous, call }: Commit, isMidRollout: boolean): readonly string[] {
  const [now, before] = [object as Machine, previous as Machine | undefined]
  const out: string[] = []
  const isPerson = call === undefined && isMidRollout
  if (before === undefined) return isPerson ? ['a machine joins in mid-rollout'] : []
  if (type === 'DELETED') return []
  if (isPerson && now.metadata.deletionTimestamp !== before.metadata.deletionTimestamp)
    out.push('a machine is deleted in mid-rollout')
  if (isPerson && canonicalJson(now.metadata.labels ?? {}) !== canonicalJson(before.metadata.labels ?? {}))
    out.push('a machine changes its labels in mid-rollout')
  const silent = (m: Machine) => m.status?.conditions?.find((c) => c.type === 'AgentReachable')?.status === 'False'
  if (silent(now) && !silent(before)) out.push('an agent falls silent')
  const state = (m: Machine) => m.status?.components?.[0]?.state
  if (state(now) !== state(before)) {
    if (state(now) === 'RolledBack') out.push('a switch goes back')
    if (state(now) === 'Degraded' || state(now) === 'Failed') out.push('a component fails at rest')
  }
  const order = (m: Machine) => m.spec.components?.[0]?.switch
  if (order(now) !== undefined && !jsonEqual(order(now), order(before))) out.push('an order to switch')
  return out
}

function ofSet({ call }: Commit, now: MachineComponentSet, before: MachineComponentSet | undefined): readonly string[] {
  if (before === undefined) return []
  const out: string[] = []
  if (call === undefined && openSlices(before).length > 0) {
    if (canonicalJson(now.spec.selector) !== canonicalJson(before.spec.selector))
      out.push('the selector moves in mid-rollout')
    if (canonicalJson(now.spec.components) !== canonicalJson(before.spec.components))
      out.push('the revision changes in mid-rollout')
  }
  const word = (s: MachineComponentSet) => s.status?.waitingFor?.predicate
  if (word(now) !== word(before) && word(now) === 'ZoneOutage') out.push('a rollout waits for a zone')
  if (now.status?.phase !== before.status?.phase) out.push(`the set is ${now.status?.phase}`)
  return out
}

/** The last step repeats. */
const ofHold = (world: World): readonly string[] =>
  openSlices(setOf(world)).flatMap(({ step, phase }) => [
    `a pause in step ${Math.min(step, LAST_STEP)}`,
    `a pause while ${phase}`,
  ])

function ofPermit({ spec, status }: OperationPermit, before: OperationPermit | undefined): readonly string[] {
  if (status?.phase === before?.status?.phase || status?.phase === undefined) return []
  return [`a permit is ${status.phase}${spec.recovery && status.phase === 'Granted' ? ' for a recovery' : ''}`]
}

const ofCanary = ({ status }: ComponentCanary, before: ComponentCanary | undefined): readonly string[] =>
  status?.phase === before?.status?.phase || status?.phase === undefined ? [] : [`the canary is ${status.phase}`]
