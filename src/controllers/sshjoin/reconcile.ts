// The join over SSH: wires observe, plan, act and status. A reconcile lasts as long as its session, so the workers are the number of hosts at once, and a host
// that does not answer takes one of them.
import { machine as machineType } from '#api/kinds/machine.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { nameOf } from '#api/schema/object-meta.ts'
import { jsonEqual } from '#lib/json.ts'
import { controllerIn, type RunningModule } from '#runtime/module.ts'
import { reconcileWith } from '#runtime/reconcile-with.ts'
import { type Lane, inLane } from '#runtime/lanes.ts'
import { writeStatus } from '#runtime/write-status.ts'
import type { ControllerContext, ControllerModule } from '../module.ts'
import { jumpLane } from '#ssh/login/target-of.ts'
import { act } from './act.ts'
import type { JoinAction, JoinPlan } from './actions.ts'
import { cachesOf, machinesOverSsh, observe } from './observe.ts'
import { LIMIT_MS, type StepResult, plan } from './plan.ts'
import { type Seen, isCertified } from './seen.ts'
import { type JoinStatus, statusOf } from './status.ts'

/** Hosts at once. Each has at most one process here, of about 8 MB. */
export const HOSTS_AT_ONCE = 50
/** For the writes around a session. */
const AROUND_MS = 600_000

export const sshJoinModule: ControllerModule = { name: 'sshjoin', setup }

function setup(context: ControllerContext): RunningModule {
  const { client, clock, events, config } = context
  const { sshJoin } = config
  if (sshJoin === undefined) return { controllers: [] }
  const caches = cachesOf(context.informers)
  const cache = caches.machines
  const tools = { client, clock, cache, ...sshJoin }
  const laneOf = (name: string): Lane | undefined => {
    if (cache.get(name)?.spec.ssh?.jump === undefined) return undefined
    const seen = observe(caches, name, clock.now())
    return seen !== undefined && plan(seen, clock.now()).actions.length > 0 ? jumpLane(seen.ssh) : undefined
  }
  const controller = controllerIn(context, {
    name: 'sshjoin',
    workers: HOSTS_AT_ONCE,
    timeoutMs: LIMIT_MS.Fetch + AROUND_MS,
    allKeys: () => machinesOverSsh(caches).map(nameOf),
    reconcile: inLane(
      laneOf,
      reconcileWith<Seen, JoinAction, JoinStatus, JoinPlan, StepResult>({
        clock,
        observe: async (name) => observe(caches, name, clock.now()),
        plan,
        act: (action, seen, { signal }) => act(tools, action, seen, signal),
        status: (_, planned, results) => statusOf(planned, results, clock.now()),
        writeStatus: (status, { machine }, { signal }) =>
          writeStatus({
            client,
            type: machineType,
            cache,
            object: machine,
            status,
            fieldManager: FIELD_MANAGERS.sshJoin,
            signal,
            // The machine controller and the agent write the rest.
            shared: { before: { join: machine.status?.join }, over: 'Object' },
          }),
        onPlan: ({ notices }, name) => {
          const machine = cache.get(name)
          for (const { reason, message } of notices)
            if (machine !== undefined) events.record(machine, { type: 'Normal', reason, action: 'Join', note: message })
        },
      }),
    ),
  })
  cache.onChange((before, now) => {
    if (now?.spec.ssh === undefined) return
    const isSame =
      before !== undefined &&
      jsonEqual(before.spec.ssh, now.spec.ssh) &&
      jsonEqual(before.status?.join, now.status?.join) &&
      jsonEqual(before.metadata.annotations, now.metadata.annotations) &&
      before.spec.channel === now.spec.channel &&
      isCertified(before) === isCertified(now)
    if (!isSame) controller.enqueue(nameOf(now))
  })
  return { controllers: [controller] }
}
