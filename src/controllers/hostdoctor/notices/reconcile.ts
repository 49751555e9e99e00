// Creates MaintenanceEvents from what agents read in their cloud's metadata service, just as from a provider's list. One event stays one, whichever
// source reports it. An agent reports about its own host only.
import { API_GROUP_VERSION } from '#api/kind.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { type MaintenanceEvent, METADATA, maintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { nameOf } from '#api/schema/object-meta.ts'
import type { Clock } from '#lib/clock.ts'
import { outcomeOf } from '#kube/outcome.ts'
import type { Controller } from '#runtime/controller.ts'
import { controllerIn } from '#runtime/module.ts'
import { done, retry, type Outcome } from '#runtime/outcome.ts'
import { updateExactly } from '#runtime/preconditions.ts'
import type { ControllerContext } from '../../module.ts'
import { noticesOf, isMassReclaim } from './reported.ts'
import { BY_MACHINE, type DoctorCaches, freshen } from '../observe.ts'
import { planPoll } from '../polls/plan.ts'

const fieldManager = FIELD_MANAGERS.hostDoctor
/** Events that an agent may report per machine and month. This bounds an agent that keeps reporting new ones. */
const MOST_OF_MACHINE = 32
/** Thousands of spot hosts may go within half a minute, which is no mass in a cluster of many more. */
const LIST_EVERY_MS = 1_000

/** Keyed by machine. */
export function noticesController(
  context: ControllerContext,
  caches: DoctorCaches,
  isMass: typeof isMassReclaim = isMassReclaim,
): Controller {
  const { client, clock } = context
  const listed = atMostEvery(LIST_EVERY_MS, clock, async () => (await client.list(maintenanceEvent)).items)
  let massAt = -Infinity
  const lingers = async () => {
    const looksSo = (known: readonly MaintenanceEvent[]) => isMass(caches.machines.list(), known, clock.now())
    // After a stale time the caches may show machines that have corrected their reports before the events that were made of those.
    if (looksSo(caches.events.list()) || looksSo(await listed())) massAt = clock.monotonic()
    return clock.monotonic() - massAt < MASS_LINGERS_MS
  }
  const controller = controllerIn(context, {
    name: 'hostdoctor-notices',
    allKeys: () => caches.machines.list().flatMap((m) => (m.status?.notices === undefined ? [] : [nameOf(m)])),
    reconcile: (name, { signal }) => reconcile({ ...context, caches, isMass: lingers }, name, signal),
  })
  caches.machines.onChange((before, now) => {
    const watchedPart = (m: Machine | undefined) =>
      JSON.stringify([m?.status?.notices, m?.spec.notices, m?.spec.providerID])
    if (now !== undefined && watchedPart(before) !== watchedPart(now)) controller.enqueue(nameOf(now))
  })
  return controller
}

type NoticeTools = ControllerContext & {
  readonly caches: DoctorCaches
  readonly isMass: () => Promise<boolean>
}

async function reconcile(
  { client, log, events, caches, isMass: isMassNow }: NoticeTools,
  name: string,
  signal: AbortSignal,
): Promise<Outcome> {
  freshen(caches)
  const machine = caches.machines.get(name)
  if (machine === undefined || machine.metadata.deletionTimestamp !== undefined) return done
  const known = caches.events.byIndex(BY_MACHINE, name)
  const planFor = (reporter: Machine) =>
    planPoll({ source: METADATA, listed: noticesOf(reporter) ?? [], machineOf: () => machine, known })
  const cached = planFor(machine)
  // A stale cache shows reports that agents have already corrected. Read the report from the server before creating an event.
  const fresh = cached.create.length === 0 ? machine : await client.get(machineType, { name }, { signal })
  if (fresh === undefined || fresh.metadata.uid !== machine.metadata.uid) return done
  const { create, update } = fresh === machine ? cached : planFor(fresh)
  const isMass = create.some((w) => w.spec.kind === 'Reclaim') && (await isMassNow())
  if (isMass) {
    const note = 'half of the machines and more report that their hosts are being reclaimed; no node is drained for it'
    events.record(machine, { type: 'Warning', reason: 'MassReclaim', action: 'Reconcile', note })
  }
  const room = MOST_OF_MACHINE - known.filter((e) => e.spec.source === METADATA).length
  const wanted = create.filter((w) => !isMass || w.spec.kind !== 'Reclaim')
  if (wanted.length > room) log.warn('the agent reports more notices than are kept', { machine: name })
  for (const { name: event, spec } of wanted.slice(0, Math.max(0, room))) {
    const object = { apiVersion: API_GROUP_VERSION, kind: maintenanceEvent.kind, metadata: { name: event }, spec }
    const made = await outcomeOf(() =>
      client.create(maintenanceEvent, object as unknown as MaintenanceEvent, { fieldManager, signal }),
    )
    if (made.kind !== 'Applied' && made.kind !== 'Exists') return retry(made.error)
  }
  for (const { event, spec } of update) {
    const written = await updateExactly(client, maintenanceEvent, { ...event, spec }, { fieldManager, signal })
    if (written.kind !== 'Applied') {
      log.warn('cannot update a maintenance event', { event: nameOf(event), reason: written.kind })
      return retry(new Error(`maintenanceevent ${nameOf(event)}: ${written.kind}`))
    }
  }
  return isMass ? { kind: 'Requeue', afterMs: ASK_AGAIN_MS } : done
}

/** While a mass of reports resolves, fewer remain, but they are just as wrong. */
const MASS_LINGERS_MS = 5 * 60_000

/** Agents correct a mass of reports themselves. No change of this machine may show that. */
const ASK_AGAIN_MS = 60_000

/** In between, the last answer is given again, also while it is still asked for. A failure is forgotten. */
function atMostEvery<T>(ms: number, clock: Clock, ask: () => Promise<T>): () => Promise<T> {
  let last: { readonly at: number; readonly answer: Promise<T> } | undefined
  return () => {
    if (last !== undefined && clock.monotonic() - last.at < ms) return last.answer
    const next = { at: clock.monotonic(), answer: ask() }
    last = next
    next.answer.catch(() => {
      if (last === next) last = undefined
    })
    return next.answer
  }
}
