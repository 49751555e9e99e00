// The ComponentCanary controller: wires observe, plan, act and status, and the events that wake it.
import { componentCanary } from '#api/kinds/component-canary.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { CommittedContents } from '#declared/committed.ts'
import { ServerVersion } from '#nodes/placement/server-version.ts'
import { EndedPermits } from '#permits/ended-for.ts'
import { SecretValues } from '#identity/secrets/secret-values.ts'
import { type Notice, reconcileWith } from '#runtime/reconcile-with.ts'
import { refusedStatus, refusedText } from '#runtime/refused-write.ts'
import { writeStatus } from '#runtime/write-status.ts'
import { controllerIn, type RunningModule } from '#runtime/module.ts'
import type { ControllerContext, ControllerModule } from '../module.ts'
import { act } from './act.ts'
import type { CanaryAction } from './actions.ts'
import { cachesOf, observe } from './observe.ts'
import { type CanaryPlan, plan } from './plan.ts'
import type { Seen, Status } from './seen.ts'

const fieldManager = FIELD_MANAGERS.canary
/** Machines report in bursts; one reconcile covers a burst. */
const GATHER_MS = 100

interface Verdict {
  readonly status: Status
  readonly notices: readonly Notice[]
}

const NAMES: Readonly<Record<CanaryAction['kind'], string>> = {
  CreateConfig: 'cannot create a configuration',
  RequestPermit: 'cannot request a permit',
  RenewPermit: 'cannot renew a permit',
  Report: 'cannot report results',
}

export const canaryModule: ControllerModule = { name: 'canary', setup }

function setup(context: ControllerContext): RunningModule {
  const { client, clock, events } = context
  const caches = cachesOf(context.informers)
  const observing = {
    caches,
    values: new SecretValues({ client, clock }),
    serverVersion: new ServerVersion(client, () => clock.now()),
    contents: CommittedContents.of(context.informers),
    ended: new EndedPermits(clock),
    now: () => clock.now(),
  }
  const controller = controllerIn(context, {
    name: 'canary',
    allKeys: () => caches.canaries.list().map((c) => c.metadata.name ?? ''),
    reconcile: reconcileWith<Seen, CanaryAction, Verdict, CanaryPlan>({
      clock,
      observe: (key, { signal }) => observe(observing, key, signal),
      plan,
      act: (action, seen, { signal }) => act(client, action, seen, clock.now(), signal),
      status: ({ canary }, { status, notices }, results, { failures }) => {
        const failed = results.find((r) => r.outcome.kind !== 'Applied')
        if (failed === undefined) return { status, notices }
        const text = refusedText(failed.outcome, failures)
        if (text === undefined) return undefined
        const what = `${NAMES[failed.action.kind]}: ${text}`
        return { status: refusedStatus(canary.status ?? {}, what, clock.now()), notices: [] }
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
