// Records on a set's new revision how long its rollout is predicted to take, before it can be known. `kubenode plan` compares the prediction with what the
// rollout took. It writes one annotation, decides nothing, and a rollout does not wait for it.
import { defenderPolicy } from '#api/kinds/defender-policy.ts'
import { machineComponent } from '#api/kinds/machine-component.ts'
import { type MachineComponentSet, machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { machineSet } from '#api/kinds/machine-set.ts'
import { machine } from '#api/kinds/machine.ts'
import { maintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import { operationalHold } from '#api/kinds/operational-hold.ts'
import { ANNOTATIONS, FIELD_MANAGERS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { type ControllerRevision, controllerRevisionType } from '#controllers/componentset/revisions/revisions.ts'
import { isOpen } from '#defender/permit-phase.ts'
import type { Clock } from '#lib/clock.ts'
import { jsonEqual } from '#lib/json.ts'
import type { Logger } from '#lib/log.ts'
import type { Semaphore } from '#lib/semaphore.ts'
import type { KubeClient } from '#kube/client.ts'
import { isOver } from '#nodes/faults/maintenance.ts'
import { nodeType } from '#nodes/objects.ts'
import { type Informers, requireFresh } from '#runtime/informers.ts'
import type { Part } from '#runtime/manager.ts'
import { updateExactly } from '#runtime/preconditions.ts'
import { RepeatedCheck } from '#runtime/repeated-check.ts'
import { INVENTORY_FORM, type Inventory } from '../inventory.ts'
import { predictionOf, predictionText } from './recorded-prediction.ts'

/** A commit's objects arrive within this time. The first machines are not done by then. */
const CHECK_MS = 2_000
/** A revision that an earlier leader created, and whose rollout may be half over, is not predicted: that would not be a prediction. */
const NEW_MS = 60_000
/** A forecast of so many switches can take a minute of processor time, in turns between which other work runs. Larger rollouts are not predicted here. */
const MOST_SWITCHES = 5_000
/** Rollouts that begin together; beyond this, the oldest is not predicted. */
const MOST_PENDING = 20

export interface PredictionRecorderOptions {
  readonly client: KubeClient
  readonly informers: Informers
  readonly clock: Clock
  readonly log: Logger
  /** Forecasts of one process take turns: it may control many clusters. */
  readonly turns: Semaphore
}

export class PredictionRecorder implements Part {
  readonly name = 'prediction-recorder'
  readonly #options: PredictionRecorderOptions
  readonly #caches: Caches
  readonly #checks: RepeatedCheck
  /** Names of revisions whose rollout has just begun, and when that was observed. */
  readonly #pending = new Map<string, number>()

  constructor(options: PredictionRecorderOptions) {
    this.#options = options
    this.#caches = cachesOf(options.informers)
    this.#checks = new RepeatedCheck(options.clock)
    this.#caches.revisions.onChange((before, now) => {
      if (now === undefined) this.#pending.delete(before?.metadata.name ?? '')
      else if (this.#isBegun(before, now)) this.#add(now.metadata.name ?? '')
    })
  }

  start(): void {
    this.#checks.start(
      () => CHECK_MS,
      () => this.check(),
    )
  }

  stop(): Promise<void> {
    return this.#checks.stop()
  }

  /** Predicts what has begun since the last check. What fails is not tried again: a later prediction would know more. */
  async check(): Promise<void> {
    const { signal } = this.#checks
    for (const [name, begunAt] of this.#pending) {
      this.#pending.delete(name)
      if (signal.aborted) return
      try {
        await this.#options.turns.run(() => this.#record(name, begunAt), signal)
      } catch (error) {
        if (signal.aborted) return
        this.#options.log.warn('cannot record how long a rollout is predicted to take', { revision: name, error })
      }
    }
  }

  #add(name: string): void {
    this.#pending.set(name, this.#options.clock.now())
    const [oldest] = this.#pending.keys()
    if (this.#pending.size > MOST_PENDING && oldest !== undefined) this.#pending.delete(oldest)
  }

  #isBegun(before: ControllerRevision | undefined, now: ControllerRevision): boolean {
    // Other kinds keep revisions here too.
    if (!now.metadata.ownerReferences?.some((o) => o.kind === machineComponentSet.kind)) return false
    if (before !== undefined) return before.revision !== now.revision
    return this.#options.clock.now() - Date.parse(now.metadata.creationTimestamp ?? '') <= NEW_MS
  }

  async #record(name: string, begunAt: number): Promise<void> {
    const { clock, log } = this.#options
    const caches = this.#caches
    requireFresh(Object.values(caches))
    const revision = caches.revisions.get({ namespace: SYSTEM_NAMESPACE, name })
    const owner = revision?.metadata.ownerReferences?.find((o) => o.kind === machineComponentSet.kind)
    const set = caches.sets.list().find((s) => s.metadata.uid === owner?.uid)
    // A set may have several new revisions: only the last one is rolled out.
    if (revision === undefined || set === undefined || predictionOf(revision) !== undefined) return
    if (newestOf(caches, set)?.revision !== revision.revision) return
    const now = clock.now()
    const why = now - begunAt > NEW_MS ? 'other forecasts took too long' : tooManyIn(caches)
    if (why !== undefined) {
      log.info('duration of a rollout not predicted', { set: set.metadata.name, reason: why })
      return
    }
    // Loaded with the first rollout: controllers that have none need no forecast.
    const { predictRollout } = await import('./predict-rollout.ts')
    const pause = () => nextTurn(this.#checks.signal)
    const made = await predictRollout({ inventory: inventoryOf(caches, now), set, revision, now, pause })
    if (made === undefined) return
    const outcome = await this.#write(revision, predictionText(made, now))
    const fields = { set: set.metadata.name, seconds: made.seconds, outcome }
    if (outcome === 'Applied') log.info('duration of a rollout predicted', fields)
    else if (outcome !== undefined) log.warn('cannot record how long a rollout is predicted to take', fields)
  }

  /** Undefined if the revision was deleted or became another rollout meanwhile. */
  async #write({ metadata: { name = '' }, revision }: ControllerRevision, text: string) {
    const { client } = this.#options
    const { signal } = this.#checks
    const key = { namespace: SYSTEM_NAMESPACE, name }
    const put = async (latest: ControllerRevision | undefined) => {
      if (latest?.revision !== revision) return undefined
      const annotations = { ...latest.metadata.annotations, [ANNOTATIONS.predicted]: text }
      const next = { ...latest, metadata: { ...latest.metadata, annotations } }
      const options = { fieldManager: FIELD_MANAGERS.componentSet, signal }
      return (await updateExactly(client, controllerRevisionType, next, options)).kind
    }
    // The newest version: the set's controller may have written to it since, or writes right now.
    const outcome = await put(this.#caches.revisions.get(key))
    return outcome === 'Conflict' ? put(await client.get(controllerRevisionType, key, { signal })) : outcome
  }
}

const isOwned = ({ metadata }: ControllerRevision, uid: string | undefined): boolean =>
  metadata.ownerReferences?.some((o) => o.uid === uid) === true

const newestOf = ({ revisions }: Caches, { metadata }: MachineComponentSet): ControllerRevision | undefined =>
  revisions
    .list()
    .filter((r) => isOwned(r, metadata.uid))
    .reduce<ControllerRevision | undefined>(
      (most, r) => (most !== undefined && most.revision > r.revision ? most : r),
      undefined,
    )

/** A forecast goes through the switches of every set that is moving, not only of its own. */
function tooManyIn(caches: Caches): string | undefined {
  const { sets, machines, revisions } = caches
  const changed = sets.list().reduce((sum, set) => {
    const current = revisions.get({ namespace: SYSTEM_NAMESPACE, name: set.status?.revisions?.current ?? '' })
    const newest = newestOf(caches, set)
    return sum + (newest === undefined ? set.spec.components.length : changedComponents(current, newest))
  }, 0)
  return machines.list().length * changed > MOST_SWITCHES ? 'too many machines' : undefined
}

const changedComponents = (current: ControllerRevision | undefined, { data }: ControllerRevision): number =>
  (data?.components ?? []).filter((c) => current?.data?.components.some((known) => jsonEqual(known, c)) !== true).length

/** A part that must stop does not finish its forecast first. */
async function nextTurn(signal: AbortSignal): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
  signal.throwIfAborted()
}

type Caches = ReturnType<typeof cachesOf>

/** All of them have readers among the controllers already. */
const cachesOf = (informers: Informers) => ({
  sets: informers.of(machineComponentSet),
  machines: informers.of(machine),
  machineSets: informers.of(machineSet),
  nodes: informers.of(nodeType),
  permits: informers.of(operationPermit),
  holds: informers.of(operationalHold),
  policies: informers.of(defenderPolicy),
  components: informers.of(machineComponent),
  maintenance: informers.of(maintenanceEvent),
  revisions: informers.of(controllerRevisionType, { selection: { namespace: SYSTEM_NAMESPACE } }),
})

/** Approvals are assumed to be given, as in every forecast. */
const inventoryOf = (caches: Caches, now: number): Inventory => ({
  form: INVENTORY_FORM,
  cluster: '',
  takenAt: new Date(now).toISOString(),
  machines: caches.machines.list(),
  nodes: caches.nodes.list(),
  machineSets: caches.machineSets.list(),
  sets: caches.sets.list(),
  components: caches.components.list(),
  revisions: caches.revisions.list(),
  permits: caches.permits.list().filter(isOpen),
  holds: caches.holds.list(),
  approvals: [],
  policies: caches.policies.list(),
  fullBudgets: [],
  maintenance: caches.maintenance.list().filter((e) => !isOver(e)),
})
