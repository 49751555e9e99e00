// The MachineSet controller: wires observe, plan, act and status, and the events that wake it.
import { FIELD_MANAGERS } from '#api/names.ts'
import { machineSet } from '#api/kinds/machine-set.ts'
import { CommittedContents } from '#declared/committed.ts'
import { withEdit } from '#declared/edited-status.ts'
import { EndedPermits } from '#permits/ended-for.ts'
import { reconcileWith } from '#runtime/reconcile-with.ts'
import { writeStatus } from '#runtime/write-status.ts'
import { controllerIn, type RunningModule } from '#runtime/module.ts'
import type { ControllerContext, ControllerModule } from '../module.ts'
import { act } from './act.ts'
import { cachesOf, observe, requestingSet, setsOf } from './observe.ts'
import type { MachineSetAction } from './actions.ts'
import { plan } from './plan.ts'
import type { Seen } from './seen.ts'
import { type MachineSetStatus, refusalOf, statusOf } from './status.ts'

const fieldManager = FIELD_MANAGERS.machineSet
/** Machines report in bursts, ten times each in a rollout. One reconcile covers a set of thousands. */
const GATHER_MS = 100

/** The set that was read is no longer its latest version after these. */
const WRITES_SET: ReadonlySet<MachineSetAction['kind']> = new Set(['AddFinalizer', 'RemoveFinalizer', 'RecordLosses'])

export const machineSetModule: ControllerModule = { name: 'machineset', setup }

function setup(context: ControllerContext): RunningModule {
  const { client, clock, random, events } = context
  const caches = cachesOf(context.informers)
  const contents = CommittedContents.of(context.informers)
  const recorded = new Map<string, number>()
  const observing = { caches, contents, ended: new EndedPermits(clock), recorded }
  const tools = { client, random, now: () => clock.now(), cache: caches.sets, recorded }
  const controller = controllerIn(context, {
    name: 'machineset',
    allKeys: () => caches.sets.list().map((s) => s.metadata.name ?? ''),
    reconcile: reconcileWith<Seen, MachineSetAction, MachineSetStatus>({
      clock,
      observe: async (key) => observe(observing, key, clock.now()),
      plan,
      act: (action, seen, reconcile) => act(tools, action, seen, reconcile),
      status: (seen, planned, results, { failures }) =>
        results.some((r) => WRITES_SET.has(r.action.kind) && r.outcome.kind === 'Applied') ||
        (seen.isHeld === true && seen.edit === undefined)
          ? undefined
          : withEdit(
              statusOf(seen, planned, refusalOf(results, failures), clock.now()),
              seen.set.status,
              seen.edit,
              clock.now(),
            ),
      writeStatus: (status, { set }, { signal }) =>
        writeStatus({ client, type: machineSet, cache: caches.sets, object: set, status, fieldManager, signal }),
      onPlan: ({ notices }, key) => {
        const set = caches.sets.get(key)
        for (const { reason, message } of notices)
          if (set !== undefined) events.record(set, { type: 'Normal', reason, action: 'Scale', note: message })
      },
    }),
  })
  const wake = (name: string | undefined) => name !== undefined && controller.enqueue(name)
  caches.sets.onChange((before, now) => {
    wake((now ?? before)?.metadata.name)
    // Which set takes over which machines depends on all sets.
    if (before?.metadata.generation !== now?.metadata.generation || before?.metadata.uid !== now?.metadata.uid)
      for (const set of caches.sets.list()) wake(set.metadata.name)
  })
  caches.machines.onChange((before, now) => {
    for (const m of [before, now])
      if (m !== undefined) for (const name of setsOf(caches, m)) controller.enqueueAfter(name, GATHER_MS)
  })
  caches.holds.onChange(() => {
    for (const set of caches.sets.list()) wake(set.metadata.name)
  })
  contents.onChange(() => {
    for (const set of caches.sets.list()) wake(set.metadata.name)
  })
  caches.permits.onChange((before, now) => {
    const permit = now ?? before
    if (permit !== undefined) wake(requestingSet(permit))
  })
  return { controllers: [controller] }
}
