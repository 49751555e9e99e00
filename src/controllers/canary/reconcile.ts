// The ComponentCanary controller: observe, plan, act, status, wired; and what wakes it.
import { componentCanary } from '#api/kinds/component-canary.ts'
import { componentConfig } from '#api/kinds/component-config.ts'
import { machineComponent } from '#api/kinds/machine-component.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { machineSet } from '#api/kinds/machine-set.ts'
import { machine } from '#api/kinds/machine.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import { operationalHold } from '#api/kinds/operational-hold.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { isLetGo } from '#api/protocol/let-go.ts'
import { assertNever } from '#lib/errors.ts'
import type { KubeClient } from '#kube/client.ts'
import { outcomeOf } from '#kube/outcome.ts'
import { CommittedContents } from '#declared/committed.ts'
import { nodeType } from '#nodes/objects.ts'
import { reportConfirmed } from '#permits/let-go.ts'
import { renewPermit, requestPermit } from '#permits/permits.ts'
import { SecretValues } from '#secrets/secret-values.ts'
import { ServerVersion } from '#placement/server-version.ts'
import { specsIn } from '#placement/compatibility.ts'
import { Controller } from '#runtime/controller.ts'
import { type Informers, requireFresh } from '#runtime/informers.ts'
import { recheck } from '#runtime/preconditions.ts'
import { type ActionOutcome, type Notice, outdated, reconcileWith } from '#runtime/reconcile-with.ts'
import { writeStatus } from '#runtime/write-status.ts'
import type { RunningModule } from '#runtime/module.ts'
import type { ControllerContext, ControllerModule } from '../module.ts'
import { type CanaryAction, type CanaryPlan, plan, resultOf } from './plan.ts'
import type { Seen, Status } from './seen.ts'
import { MARKING } from './trial.ts'

const fieldManager = FIELD_MANAGERS.canary
/** Machines report in bursts; one reconcile covers them all. */
const GATHER_MS = 100
const BY_REQUESTER = 'canary-requester'

interface Verdict {
  readonly status: Status
  readonly notices: readonly Notice[]
}

export const canaryModule: ControllerModule = { name: 'canary', setup }

type Caches = ReturnType<typeof cachesOf>

const cachesOf = (informers: Informers) => ({
  canaries: informers.of(componentCanary),
  machines: informers.of(machine),
  machineSets: informers.of(machineSet),
  nodes: informers.of(nodeType),
  permits: informers.of(operationPermit, {
    indexes: { [BY_REQUESTER]: ({ spec: { requester: r } }) => (r.manager === fieldManager ? [r.uid ?? ''] : []) },
  }),
  holds: informers.of(operationalHold),
  sets: informers.of(machineComponentSet),
  components: informers.of(machineComponent),
  configs: informers.of(componentConfig),
})

interface ObserveTools {
  readonly caches: Caches
  readonly values: SecretValues
  readonly serverVersion: ServerVersion
  readonly contents: CommittedContents
  readonly now: () => number
}

async function observe(
  { caches, values, serverVersion, contents, now }: ObserveTools,
  name: string,
  signal: AbortSignal,
): Promise<Seen | undefined> {
  requireFresh([...Object.values(caches), ...contents.caches])
  const cached = caches.canaries.get(name)
  if (cached === undefined || cached.metadata.deletionTimestamp !== undefined) return undefined
  const { object: found, edit, isHeld } = contents.view(cached, now())
  const { components, missing } = await values.lookAt(found.spec.components, signal)
  const canary = { ...found, spec: { ...found.spec, components } }
  const specOf = specsIn(caches.components)
  const needsVersion = components.some((c) => specOf(c.name, c.version)?.skew !== undefined)
  const apiServer = needsVersion ? await serverVersion.read(signal) : undefined
  return {
    canary,
    ...(missing !== undefined && { missingSecret: missing }),
    ...(edit !== undefined && { edit }),
    isHeld,
    configs: caches.configs,
    machines: caches.machines.list(),
    machineSets: caches.machineSets,
    nodes: caches.nodes,
    permits: caches.permits.byIndex(BY_REQUESTER, canary.metadata.uid ?? ''),
    holds: caches.holds.list(),
    sets: contents.all(caches.sets.list(), now()),
    components: caches.components,
    ...(apiServer !== undefined && { apiServer }),
  }
}

function setup(context: ControllerContext): RunningModule {
  const { client, clock, random, log, metrics, events } = context
  const caches = cachesOf(context.informers)
  const observing = {
    caches,
    values: new SecretValues({ client, clock }),
    serverVersion: new ServerVersion(client, () => clock.now()),
    contents: CommittedContents.of(context.informers),
    now: () => clock.now(),
  }
  const controller = new Controller({
    name: 'canary',
    clock,
    random,
    log,
    metrics: metrics.controller('canary'),
    allKeys: () => caches.canaries.list().map((c) => c.metadata.name ?? ''),
    reconcile: reconcileWith<Seen, undefined, CanaryAction, Verdict>({
      clock,
      config: () => undefined,
      observe: (key, { signal }) => observe(observing, key, signal),
      plan,
      act: (action, seen, { signal }) => act(client, action, seen, clock.now(), signal),
      status: (_, planned, results) => {
        const { status, notices } = planned as CanaryPlan
        return results.every((r) => r.outcome.kind === 'Applied') ? { status, notices } : undefined
      },
      writeStatus: async ({ status, notices }, { canary, isHeld, edit }, { signal }) => {
        if (isHeld === true && edit === undefined) return undefined
        const outcome = await writeStatus({
          client,
          type: componentCanary,
          cache: caches.canaries,
          object: canary,
          status,
          fieldManager,
          signal,
        })
        if (outcome?.kind === 'Applied')
          for (const { reason, message } of notices)
            events.record(canary, { type: 'Normal', reason, action: 'TryOut', note: message })
        return outcome
      },
    }),
  })
  const wakeAll = () => caches.canaries.list().forEach((c) => controller.enqueueAfter(c.metadata.name ?? '', GATHER_MS))
  caches.canaries.onChange((before, now) => controller.enqueue((now ?? before)?.metadata.name ?? ''))
  caches.permits.onChange((before, now) => {
    const { requester } = (now ?? before)?.spec ?? {}
    if (requester?.manager === fieldManager && requester.name !== undefined) controller.enqueue(requester.name)
  })
  for (const cache of [caches.machines, caches.holds, caches.sets, caches.components, caches.configs])
    cache.onChange(wakeAll)
  observing.contents.onChange(wakeAll)
  return { controllers: [controller] }
}

async function act(
  client: KubeClient,
  action: CanaryAction,
  seen: Seen,
  now: number,
  signal: AbortSignal,
): Promise<ActionOutcome> {
  const tools = { client, fieldManager, signal }
  if (action.kind === 'Renew') return renewPermit(tools, action.permit, now)
  // A decision on an older canary could request or release a permit that the newer one relies on.
  const fresh = await recheck(client, componentCanary, seen.canary, signal)
  if (fresh.kind === 'Stale') return outdated(fresh.seen)
  switch (action.kind) {
    case 'CreateConfig':
      // Its name is the digest of what is in it: one that exists is the one that is wanted.
      return outcomeOf(() => client.create(componentConfig, action.config as never, { fieldManager, signal })).then(
        (o): ActionOutcome => (o.kind === 'Exists' ? { kind: 'Applied', object: undefined } : o),
      )
    case 'Ask':
      return requestPermit(tools, action.permit, action.request)
    case 'Report':
      return report(client, action, seen, signal)
    default:
      return assertNever(action)
  }
}

/** A result frees a slot, so it is written only for machines that a fresh look confirms, and that no order can reach under the permit any more. */
function report(
  client: KubeClient,
  { permit, wanted, results }: Extract<CanaryAction, { kind: 'Report' }>,
  { canary }: Seen,
  signal: AbortSignal,
): Promise<ActionOutcome> {
  const isMarking = MARKING.has(canary.status?.phase ?? 'Pending') && results.every((r) => r.result !== 'Released')
  return reportConfirmed({ client, fieldManager, signal }, permit, results, (fresh, { result }) =>
    resultOf(fresh, wanted, isMarking && !isLetGo(fresh, permit.metadata.uid ?? '')) === result ? 'OnceLetGo' : 'No',
  )
}
