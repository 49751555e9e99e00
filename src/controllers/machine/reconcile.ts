// The Machine controller: observe, plan, act, status, wired; what wakes it; and the approver of certificates beside it.
import { randomBytes } from 'node:crypto'
import { API_GROUP_VERSION } from '#api/kind.ts'
import type { ComponentConfig } from '#api/kinds/component-config.ts'
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { FIELD_MANAGERS, agentLeaseName } from '#api/names.ts'
import { jsonEqual } from '#lib/json.ts'
import { outcomeOf } from '#kube/outcome.ts'
import { matchesLabels } from '#kube/selector.ts'
import { SecretValues } from '#nodeops/secret-values.ts'
import { Controller } from '#runtime/controller.ts'
import { type SharedInformer, requireFresh } from '#runtime/informers.ts'
import type { Lease } from '#runtime/lease.ts'
import type { Part } from '#runtime/manager.ts'
import { reconcileWith } from '#runtime/reconcile-with.ts'
import type { KubeObject } from '#schema/object.ts'
import type { ControllerContext, ControllerModule, RunningModule } from '../module.ts'
import { type MachineTools, act } from './act.ts'
import type { MachineAction } from './actions.ts'
import { createApprover } from './csr-approver.ts'
import { Heartbeats, SILENT_AFTER_MS } from './heartbeats.ts'
import { HostLists, hostListParts } from './host-lists.ts'
import { orphanGauge } from './metrics.ts'
import { type MachineCaches, cachesOf, machineOfToken, machinesSealedFor, observe } from './observe.ts'
import { OrphanWatch } from './orphans.ts'
import { plan } from './plan.ts'
import { type Seen, isObserved } from './seen.ts'
import { StatusPace, isPassing } from './status-pace.ts'
import { type OwnStatus, ownConditions, statusOf } from './status.ts'

const fieldManager = FIELD_MANAGERS.machine

export const machineModule: ControllerModule = { name: 'machine', setup }

function setup(context: ControllerContext): RunningModule {
  const { client, clock, random, log, metrics, events, config } = context
  const { providers, cluster, join } = config
  const caches = cachesOf(context.informers)
  const beats = () => new Heartbeats(() => clock.monotonic())
  const hostLists = new HostLists(clock)
  const now = () => clock.now()
  const secretValues = new SecretValues({ client, clock })
  const observing = { client, caches, secretValues, agentBeats: beats(), nodeBeats: beats(), providers, hostLists, now }
  const tools: MachineTools = { client, clock, random, providers, cluster, join, secretValues, randomBytes }
  const pace = new StatusPace(() => clock.monotonic())
  caches.machines.onChange((before, now) => void (now === undefined && pace.over(before?.metadata.name ?? '')))
  const controller = new Controller({
    name: 'machine',
    clock,
    random,
    log,
    metrics: metrics.controller('machine'),
    allKeys: () => caches.machines.list().map((m) => m.metadata.name ?? ''),
    reconcile: reconcileWith<Seen, undefined, MachineAction, OwnStatus>({
      clock,
      config: () => undefined,
      observe: (key, { signal }) => observe(observing, key, signal),
      plan,
      act: (action, seen, reconcile) => act(tools, action, seen, reconcile),
      status: (seen, planned, results) => {
        const isOver = results.some((r) => r.action.kind === 'RemoveFinalizer' && r.outcome.kind === 'Applied')
        return isOver ? undefined : statusOf(seen, planned, results, clock.now())
      },
      writeStatus: async (status, { machine }, { signal }) => {
        const before = ownStatusOf(machine)
        const name = machine.metadata.name ?? ''
        const left = isPassing(machine, before, status) ? pace.left(name) : 0
        const isEqual = jsonEqual(before, status)
        if (!isEqual && left > 0) controller.enqueueAfter(name, left)
        else pace.over(name)
        if (isEqual || left > 0) return undefined
        return outcomeOf(() =>
          client.apply<Machine>(machineType, statusObject(machine, status), {
            fieldManager,
            subresource: 'status',
            force: true,
            signal,
          }),
        )
      },
      onPlan: ({ notices }, key) => {
        const machine = caches.machines.get(key)
        for (const { reason, message } of notices)
          if (machine !== undefined)
            events.record(machine, { type: 'Normal', reason, action: 'Reconcile', note: message })
      },
    }),
  })
  wakeUp(caches, observing, (name) => controller.enqueue(name))
  return {
    controllers: [controller, createApprover(context)],
    parts: [
      ...providerParts(context, (m) => controller.enqueue(m)),
      ...hostParts(context, caches, hostLists, (m) => controller.enqueue(m)),
    ],
  }
}

function hostParts(
  { client, clock, random, log, metrics, config }: ControllerContext,
  caches: MachineCaches,
  hostLists: HostLists,
  wake: (machine: string) => void,
): readonly Part[] {
  const orphans = new OrphanWatch({
    client,
    clock,
    log,
    machines: () => {
      requireFresh([caches.machines, caches.nodes])
      return caches.machines.list()
    },
    nodeNamed: (name) => caches.nodes.get(name),
    tell: orphanGauge(metrics.registry),
  })
  return hostListParts(hostLists, {
    clock,
    random,
    log,
    providers: Object.values(config.providers),
    onChange: wake,
    onList: (provider, hosts, signal) => orphans.look(provider, hosts, signal),
  })
}

function ownStatusOf(machine: Machine): OwnStatus {
  const {
    observedGeneration,
    phase,
    nodeRef,
    commit,
    waitingFor,
    components = [],
    bootID,
    platform,
  } = machine.status ?? {}
  const isOurs = (name: string) => machine.spec.components?.some((c) => c.name === name && c.workload === true)
  const reports = isObserved(machine) ? components : components.filter((c) => isOurs(c.name))
  return {
    ...(observedGeneration !== undefined && { observedGeneration }),
    ...(phase !== undefined && { phase }),
    ...(nodeRef !== undefined && { nodeRef }),
    ...(commit !== undefined && { commit }),
    ...(waitingFor !== undefined && { waitingFor }),
    ...(reports.length > 0 && { components: reports }),
    ...(isObserved(machine) && bootID !== undefined && { bootID }),
    ...(isObserved(machine) && platform !== undefined && { platform }),
    conditions: ownConditions(machine),
  }
}

/** By uid, so that a status never lands on another machine of the same name. */
const statusObject = ({ metadata: { name = '', uid } }: Machine, status: OwnStatus): KubeObject => ({
  apiVersion: API_GROUP_VERSION,
  kind: machineType.kind,
  metadata: { name, ...(uid !== undefined && { uid }) },
  status,
})

type Beats = { readonly agentBeats: Heartbeats; readonly nodeBeats: Heartbeats }

function wakeUp(caches: MachineCaches, { agentBeats, nodeBeats }: Beats, wake: (machine: string) => void): void {
  const named = (o: KubeObject | undefined) => o?.metadata.name !== undefined && wake(o.metadata.name)
  caches.machines.onChange((before, now) => void named(now ?? before))
  caches.nodes.onChange((before, now) => void named(now ?? before))
  caches.tokens.onChange((before, now) => {
    const token = now ?? before
    if (token !== undefined) wake(machineOfToken(token))
  })
  caches.sealed.onChange((before, now) => wake(machineOfToken(now ?? before ?? { metadata: {} })))
  caches.configs.onChange((before, now) => {
    const config = now ?? before
    if (config?.spec.secrets === undefined) return
    for (const m of machinesSealedFor(caches, config)) wake(m)
    if (before === undefined) for (const m of caches.machines.list()) if (refersTo(m, config)) named(m)
  })
  caches.permits.onChange((before, now) => {
    for (const target of (now ?? before)?.spec.targets ?? []) if (target.kind === 'Machine') wake(target.name)
  })
  caches.sets.onChange((before, now) => {
    const moved = before === undefined || now === undefined ? undefined : movedMachines(before, now)
    if (moved !== undefined) for (const m of moved) wake(m)
    else
      for (const m of caches.machines.list())
        if ([before, now].some((set) => set && isMatch(set.spec.selector, m))) named(m)
  })
  // The status of a set may name a revision that comes only now; what changes on one later concerns nobody.
  caches.revisions.onChange((before, now) => {
    if (before !== undefined || now === undefined) return
    const owners = (now.metadata.ownerReferences ?? []).flatMap((o) => caches.sets.get(o.name) ?? [])
    const ofOwners = owners.filter((set) => set.status?.revisions?.update === now.metadata.name)
    for (const m of caches.machines.list()) if (ofOwners.some((set) => isMatch(set.spec.selector, m))) named(m)
  })
  caches.canaries.onChange((before, now) => {
    for (const canary of [before, now]) for (const m of canary?.status?.machines ?? []) wake(m)
  })
  // Holds are few and far between, and one may name machines in many ways.
  caches.holds.onChange(() => {
    for (const m of caches.machines.list()) named(m)
  })
  listen(caches.agentLeases, agentBeats, (lease) => {
    const prefix = agentLeaseName('')
    if (lease.startsWith(prefix)) wake(lease.slice(prefix.length))
  })
  listen(caches.nodeLeases, nodeBeats, wake)
}

/** Machines of waves that changed, where nothing but waves and counts did; undefined when every machine of the set is concerned. */
function movedMachines(before: MachineComponentSet, now: MachineComponentSet): Iterable<string> | undefined {
  const head = ({ spec, status }: MachineComponentSet) => [spec, status?.revisions, status?.observedGeneration]
  if (!jsonEqual(head(before), head(now))) return undefined
  const waves = ({ status }: MachineComponentSet) => status?.waves ?? []
  const isIn = (wave: Wave, list: readonly Wave[]) => list.some((w) => jsonEqual(w, wave))
  const [old, fresh] = [waves(before), waves(now)]
  const changed = [...old.filter((w) => !isIn(w, fresh)), ...fresh.filter((w) => !isIn(w, old))]
  return new Set(changed.flatMap((w) => w.machines))
}

type Wave = NonNullable<NonNullable<MachineComponentSet['status']>['waves']>[number]

const refersTo = ({ spec }: Machine, { metadata }: ComponentConfig): boolean =>
  spec.components?.some((c) => c.config === metadata.name) === true

function isMatch(selector: Parameters<typeof matchesLabels>[0], machine: Machine): boolean {
  try {
    return matchesLabels(selector, machine.metadata.labels)
  } catch {
    return false
  }
}

/** A Lease wakes its machine when it comes, goes, or is renewed after a silence; thousands of renewals wake nobody. */
function listen(leases: SharedInformer<Lease>, beats: Heartbeats, wake: (lease: string) => void): void {
  leases.onChange((before, now) => {
    const name = (now ?? before)?.metadata.name ?? ''
    if (now === undefined) beats.forget(name)
    const wasUnknown = beats.read(name).kind !== 'Heard'
    const silentMs = now && beats.note(name, now.spec?.renewTime)
    if (now === undefined || wasUnknown || (silentMs !== undefined && silentMs >= SILENT_AFTER_MS)) wake(name)
  })
}

/** Whoever made a provider runs it; here it is only listened to. */
function providerParts({ config, log }: ControllerContext, wake: (machine: string) => void): readonly Part[] {
  return Object.values(config.providers).map((provider): Part => {
    const stop = new AbortController()
    let listening: Promise<void> | undefined
    return {
      name: `events of provider ${provider.name}`,
      start: () => {
        listening = provider
          .events(({ machine }) => wake(machine), stop.signal)
          .catch((error: unknown) => log.warn('a provider tells no more', { provider: provider.name, error }))
      },
      stop: async () => {
        stop.abort()
        await listening
      },
    }
  })
}
