// The host doctor: wires observe, plan, act and status, plus the lists of the providers. It is a module of the controllers and not its own program:
// it needs the providers' keys and the right to taint and drain Nodes, and a second program with both would need the same protection.
import { maintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { nodeNameOf } from '#nodes/machine-node.ts'
import { guardedAll } from '#providers/guarded.ts'
import { EndedPermits } from '#permits/ended-for.ts'
import { controllerIn, type RunningModule } from '#runtime/module.ts'
import { reconcileWith } from '#runtime/reconcile-with.ts'
import { writeStatus } from '#runtime/write-status.ts'
import type { MaintenanceStatus } from '#api/kinds/maintenance-event.ts'
import { nameOf } from '#api/schema/object-meta.ts'
import type { ControllerContext, ControllerModule } from '../module.ts'
import { act } from './act.ts'
import { cordonsController, type isLeft } from './cordons/reconcile.ts'
import type { DoctorAction, DoctorPlan } from './actions.ts'
import { BY_MACHINE, type DoctorCaches, cachesOf, freshen, machineOnHost, observe } from './observe.ts'
import type { isMassReclaim } from './notices/reported.ts'
import { noticesController } from './notices/reconcile.ts'
import { plan } from './plan.ts'
import { Polls } from './polls/polls.ts'
import { type Seen } from './seen.ts'
import { statusOf } from './status.ts'

const fieldManager = FIELD_MANAGERS.hostDoctor

/** The parts that decide and act. Tests replace them with buggy ones. */
export interface DoctorParts {
  readonly plan: (seen: Seen, now: number) => DoctorPlan
  readonly act: typeof act
  readonly isMass?: typeof isMassReclaim
  readonly isLeft?: typeof isLeft
}

export const hostDoctorModule: ControllerModule = hostDoctorOf({ plan, act })

export function hostDoctorOf(parts: DoctorParts): ControllerModule {
  return { name: 'hostdoctor', setup: (context) => setup(context, parts) }
}

function setup(context: ControllerContext, parts: DoctorParts): RunningModule {
  const { client, clock, random, log, events, config } = context
  const providers = guardedAll(config.providers, clock)
  const caches = cachesOf(context.informers)
  const ended = new EndedPermits(clock)
  const polls = new Polls({
    client,
    clock,
    random,
    log,
    events: () => {
      freshen(caches)
      return caches.events.list()
    },
    machineOf: (providerID) => machineOnHost(caches, providerID),
    wake: (name) => controller.enqueue(name),
  })
  const sources = {
    absentPolls: (name: string) => polls.absentPolls(name),
    isListed: (name: string) => polls.isListed(name),
    isConfirmed: (name: string, source: string) => polls.isConfirmed(name, source),
  }
  const controller = controllerIn(context, {
    name: 'hostdoctor',
    allKeys: () => caches.events.list().map(nameOf),
    reconcile: reconcileWith<Seen, DoctorAction, MaintenanceStatus>({
      clock,
      observe: (name, { signal }) => observe({ client, caches, ...sources, ended, now: clock.now() }, name, signal),
      plan: parts.plan,
      act: (action, seen, { signal }) => parts.act({ client, clock, random, providers }, action, seen, signal),
      status: ({ event }, planned, results) => statusOf(event, planned, results, clock.now()),
      writeStatus: (status, { event }, { signal }) =>
        writeStatus({
          client,
          type: maintenanceEvent,
          cache: caches.events,
          object: event,
          status,
          fieldManager,
          signal,
        }),
      onPlan: ({ notices }) => {
        for (const { reason, message, severity = 'Normal', about } of notices)
          if (about !== undefined) events.record(about, { type: severity, reason, action: 'Reconcile', note: message })
      },
    }),
  })
  wakeUp(caches, (name) => controller.enqueue(name))
  return {
    controllers: [
      controller,
      noticesController(context, caches, parts.isMass),
      cordonsController(context, caches, parts.isLeft),
    ],
    parts: polls.parts(Object.values(providers)),
  }
}

/** The events that wake an event's reconcile: its own spec and status, its permit, its machine and Node. */
function wakeUp({ events, permits, machines, nodes, policies }: DoctorCaches, wake: (name: string) => void): void {
  const ofMachine = (name: string) => {
    for (const event of events.byIndex(BY_MACHINE, name)) wake(nameOf(event))
  }
  events.onChange((before, now) => wake(nameOf(now ?? before ?? { metadata: {} })))
  permits.onChange((before, now) => {
    const { requester } = (now ?? before)?.spec ?? {}
    if (requester?.kind === maintenanceEvent.kind && requester.name !== undefined) wake(requester.name)
  })
  machines.onChange((before, now) => {
    const name = (now ?? before)?.metadata.name ?? ''
    const watchedPart = (m: typeof now) =>
      `${m?.status?.phase} ${m?.status?.bootID} ${m?.spec.providerID} ${m?.spec.notices} ${JSON.stringify(m?.status?.notices)}`
    if (watchedPart(before) !== watchedPart(now)) ofMachine(name)
  })
  nodes.onChange((before, now) => {
    const watchedPart = (n: typeof now) =>
      `${n?.status?.conditions?.find((c) => c.type === 'Ready')?.status} ${JSON.stringify(n?.spec?.taints)}`
    if (watchedPart(before) === watchedPart(now)) return
    const name = (now ?? before)?.metadata.name ?? ''
    for (const event of events.list()) {
      const machine = machines.get(event.spec.machine)
      if (machine !== undefined && nodeNameOf(machine) === name) wake(nameOf(event))
    }
  })
  policies.onChange(() => {
    for (const event of events.list()) wake(nameOf(event))
  })
}
