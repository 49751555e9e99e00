// The Machine controller: wires observe, plan, act and status.
import { machine as machineType } from '#api/kinds/machine.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import { FIELD_MANAGERS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { isBeingDeleted, nameOf, uidOf } from '#api/schema/object-meta.ts'
import { jsonEqual } from '#lib/json.ts'
import { outcomeOf } from '#kube/outcome.ts'
import { BEHIND_REQUEUE_MS, CommittedContents } from '#declared/committed.ts'
import { EndedPermits } from '#permits/ended-for.ts'
import { SecretValues } from '#identity/secrets/secret-values.ts'
import { guardedAll } from '#providers/guarded.ts'
import type { Provider } from '#providers/port.ts'
import { requireFresh } from '#runtime/informers.ts'
import type { Part } from '#runtime/manager.ts'
import { requeueAfter } from '#runtime/outcome.ts'
import { reconcileWith } from '#runtime/reconcile-with.ts'
import { SharedReads } from '#runtime/shared-reads.ts'
import { defined } from '#lib/defined.ts'
import { refusedWaitIn } from '#runtime/refused-write.ts'
import { writeStatus } from '#runtime/write-status.ts'
import { controllerIn, type RunningModule } from '#runtime/module.ts'
import type { ControllerContext, ControllerModule } from '../module.ts'
import { newlyExpiring } from './reporting/certificate.ts'
import { act } from './act.ts'
import type { MachineTools } from './hosts/tools.ts'
import type { MachineAction, MachinePlan } from './actions.ts'
import { EndedOrders } from './components/ended-orders.ts'
import { Heartbeats } from './heartbeats/heartbeats.ts'
import { HostLists, hostListParts } from './hosts/lists.ts'
import { orphanGauge } from './metrics.ts'
import { type MachineCaches, heartbeatsOf, cachesOf, observe } from './observe.ts'
import { ExhaustedOfferings } from './provisioning/exhausted-offerings.ts'
import { HostSightings } from './hosts/sightings.ts'
import { OrphanReports } from './orphans/reports.ts'
import { OrphanWatch } from './orphans/watch.ts'
import { ownStatusOf } from './reporting/own-status.ts'
import { IdleReconciles } from './heartbeats/idle-reconciles.ts'
import { plan } from './plan.ts'
import { type Seen, hadJoined, hasJoined, isProvided } from './seen.ts'
import { HostReportPace, StatusPace, isAddressOnly, isPassing } from './reporting/status-pace.ts'
import { type OwnStatus, statusOf } from './status.ts'
import { wakeUp } from './heartbeats/triggers.ts'

const fieldManager = FIELD_MANAGERS.machine
/** A slice has a hundred machines, and each order waits for the server's disk. Writing them concurrently lets the server batch them. */
const WORKERS = 32

export const machineModule: ControllerModule = { name: 'machine', setup }

function setup(context: ControllerContext): RunningModule {
  const { client, clock, random, log, events, config } = context
  const { cluster, join } = config
  const providers = guardedAll(config.providers, clock)
  const caches = cachesOf(context.informers)
  const newHeartbeats = () => new Heartbeats(() => clock.monotonic())
  const hostLists = new HostLists(clock)
  const exhausted = new ExhaustedOfferings(clock)
  const sightings = new HostSightings(clock)
  const now = () => clock.now()
  const secretValues = new SecretValues({ client, clock })
  const contents = CommittedContents.of(context.informers)
  const behind = (name: string) => void clock.after(BEHIND_REQUEUE_MS, () => wake(name))
  const heartbeats = { agentHeartbeats: newHeartbeats(), nodeHeartbeats: newHeartbeats() }
  const ended = new EndedPermits(clock)
  const endedOrders = new EndedOrders(() => clock.monotonic())
  const memory = { hostLists, exhausted, sightings, ended, endedOrders }
  const observing = { client, caches, secretValues, contents, behind, ...heartbeats, providers, ...memory, now }
  const permitNow = new SharedReads((name) => outcomeOf(() => client.get(operationPermit, { name })))
  const writing = { client, clock, log, random, cache: caches.machines, permitNow }
  const tools: MachineTools = { ...writing, providers, cluster, join, exhausted, sightings, secretValues }
  const pace = new StatusPace(() => clock.monotonic())
  const hostPace = new HostReportPace(() => clock.monotonic())
  caches.machines.onChange((before, now) => {
    if (now !== undefined || before === undefined) return
    pace.over(nameOf(before))
    hostPace.over(nameOf(before))
    sightings.forget(uidOf(before))
    endedOrders.forget(uidOf(before))
  })
  const idleReconciles = new IdleReconciles(() => clock.monotonic())
  const reconcile = reconcileWith<Seen, MachineAction, OwnStatus, MachinePlan>({
    clock,
    observe: (key, { signal }) => observe(observing, key, signal),
    plan: (seen, now) => hostPace.paced(plan(seen, now), seen.machine),
    act: async (action, seen, reconcile) => {
      const outcome = await act(tools, action, seen, reconcile)
      if (isAddressOnly(action, seen.machine) && outcome.kind === 'Applied')
        hostPace.addressWritten(nameOf(seen.machine))
      return outcome
    },
    status: (seen, planned, results, { failures }) => {
      const { idle } = planned
      if (idle !== undefined)
        idleReconciles.note(nameOf(seen.machine), { ...idle, heartbeats: heartbeatsOf(observing, seen) }, [
          seen.agentHeartbeat,
          seen.nodeHeartbeat,
        ])
      // Provision already wrote the status. The next reconcile sees it.
      const isLast = (kind: MachineAction['kind']) => kind === 'RemoveFinalizer' || kind === 'Provision'
      const isOver = results.some((r) => isLast(r.action.kind) && r.outcome.kind === 'Applied')
      if (isOver) return undefined
      const waiting = refusedWaitIn(results, failures) ?? planned.waiting
      return statusOf(seen, { ...planned, ...defined({ waiting }) }, results, clock.now())
    },
    writeStatus: async (status, seen, { signal }) => {
      const { machine } = seen
      const before = ownStatusOf(machine)
      const name = machine.metadata.name ?? ''
      const flipsFor = hostPace.left(name, before, status)
      const left = isPassing(machine, before, status) ? pace.left(name) : flipsFor
      const isEqual = jsonEqual(before, status)
      if (!isEqual && left > 0) {
        idleReconciles.over(name)
        controller.enqueueAfter(name, left)
      } else pace.over(name)
      if (isEqual || left > 0) return undefined
      const expiring = newlyExpiring(machine.status?.conditions, status.conditions)
      if (expiring !== undefined)
        events.record(machine, {
          type: 'Warning',
          reason: 'CertificateExpiring',
          action: 'Reconcile',
          note: expiring.message,
        })
      // After the join, the agent writes the same status on every change, so a versioned write would conflict all the time. Before the join only we
      // write, and a status from a stale copy must not undo a later attempt.
      const isJoining = isProvided(machine) && !hasJoined(seen) && !hadJoined(seen)
      const shared = { before, over: isJoining ? 'Version' : 'Object' } as const
      const cache = caches.machines
      const write = { client, type: machineType, cache, object: machine, status, fieldManager, signal, shared }
      const outcome = await writeStatus(write)
      // A write that conflicted is repeated at once.
      if (outcome?.kind === 'Applied') hostPace.written(name, before, status)
      return outcome
    },
    onPlan: ({ notices }, key) => {
      const machine = caches.machines.get(key)
      for (const { reason, message } of notices)
        if (machine !== undefined)
          events.record(machine, { type: 'Normal', reason, action: 'Reconcile', note: message })
    },
  })
  const controller = controllerIn(context, {
    name: 'machine',
    workers: WORKERS,
    allKeys: () => {
      idleReconciles.allOver()
      return caches.machines.list().map((m) => m.metadata.name ?? '')
    },
    reconcile: async (name, context) => {
      const left = idleReconciles.left(name)
      if (left !== undefined) return requeueAfter(left)
      idleReconciles.begin(name)
      const outcome = await reconcile(name, context)
      if (outcome.kind !== 'Requeue') idleReconciles.over(name)
      return outcome
    },
  })
  const wake = (name: string) => {
    idleReconciles.over(name)
    controller.enqueue(name)
  }
  wakeUp(caches, observing, wake)
  /** A provider cannot wake Machines of another provider, however many it names. */
  const wakeOf = (name: string, provider: string) => {
    if (caches.machines.get(name)?.spec.provider?.name === provider) wake(name)
  }
  /** A wait for a host, or for its end, does not also sit out the retry delay. */
  const wakeWaiting = (provider: string) => {
    for (const m of caches.machines.list())
      if (m.spec.provider?.name === provider && (m.status?.nodeRef === undefined || isBeingDeleted(m))) wake(nameOf(m))
  }
  return {
    controllers: [controller],
    parts: [
      ...providerParts(context, wakeOf),
      ...hostParts(context, { caches, hostLists, providers: Object.values(providers), onBack: wakeWaiting }, wakeOf),
    ],
  }
}

type WakeOf = (machine: string, provider: string) => void

interface HostTools {
  readonly caches: MachineCaches
  readonly hostLists: HostLists
  readonly providers: readonly Provider[]
  readonly onBack: (provider: string) => void
}

function hostParts(
  { client, clock, random, log, metrics, config, events }: ControllerContext,
  { caches, hostLists, providers, onBack }: HostTools,
  wake: WakeOf,
): readonly Part[] {
  const orphans = new OrphanWatch({
    client,
    clock,
    log,
    machines: () => {
      requireFresh([caches.machines, caches.nodes, caches.agentLeases])
      return caches.machines.list()
    },
    nodes: () => caches.nodes.list(),
    leaseNamed: (name) => caches.agentLeases.get({ namespace: SYSTEM_NAMESPACE, name }),
    policyOf: (provider) => config.orphans?.[provider] ?? 'Report',
    report: orphanGauge(metrics.registry),
    reports: new OrphanReports({ client, clock, log, events }),
  })
  return hostListParts(hostLists, {
    clock,
    random,
    log,
    providers,
    onChange: wake,
    onBack,
    onList: (provider, hosts, signal) => orphans.observe(provider, hosts, signal),
  })
}

/** The program that creates a provider runs it. This controller only subscribes. */
function providerParts({ config, clock, log }: ControllerContext, wake: WakeOf): readonly Part[] {
  return Object.values(guardedAll(config.providers, clock)).map((provider): Part => {
    const stop = new AbortController()
    let listening: Promise<void> | undefined
    return {
      name: `events of provider ${provider.name}`,
      start: () => {
        listening = provider
          .events(({ machine }) => wake(machine, provider.name), stop.signal)
          .catch((error: unknown) =>
            log.warn('the event stream of a provider ended', { provider: provider.name, error }),
          )
      },
      stop: async () => {
        stop.abort()
        await listening
      },
    }
  })
}
