// Machines that are managed over SSH, without an agent: wires observe, plan, act and status. A reconcile lasts as long as its session, so the workers are the
// number of hosts at once, and a host that does not answer takes one of them.
import { machine as machineType } from '#api/kinds/machine.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { nameOf, uidOf } from '#api/schema/object-meta.ts'
import { controllerIn, type RunningModule } from '#runtime/module.ts'
import { inLane } from '#runtime/lanes.ts'
import { reconcileWith } from '#runtime/reconcile-with.ts'
import { writeStatus } from '#runtime/write-status.ts'
import type { ControllerContext, ControllerModule, VisitResult } from '../module.ts'
import { act } from './act.ts'
import type { VisitAction, VisitPlan } from './actions.ts'
import { cachesOf, observe, visitedMachines } from './observe.ts'
import { isVisited, laneOf, plan } from './plan.ts'
import { type LastVisit, type Seen, isForHost } from './seen.ts'
import { type VisitStatus, statusOf } from './status.ts'

/** Hosts at once. Each has one process of ssh here, of about 8 MB. */
export const VISITS_AT_ONCE = 25
/** Longer than the longest visit, and the wait for a turn at a jump host. */
const TIMEOUT_MS = 40 * 60_000

export const sshNodesModule: ControllerModule = { name: 'sshnodes', setup }

function setup(context: ControllerContext): RunningModule {
  const { client, clock, config } = context
  const { sshNodes } = config
  if (sshNodes === undefined) return { controllers: [] }
  const caches = cachesOf(context.informers)
  const { machines, jobs } = caches
  /** By uid. Lost with the process: then every host is visited once more. */
  const last = new Map<string, LastVisit>()
  const current = (name: string) => {
    const found = machines.get(name)
    return found !== undefined && isVisited(found) ? found : undefined
  }
  const seenOf = (name: string) => observe(caches, name, (uid) => last.get(uid))
  const reconcile = reconcileWith<Seen, VisitAction, VisitStatus, VisitPlan, VisitResult>({
    clock,
    observe: async (name) => seenOf(name),
    plan,
    act: async (_, seen, { signal }) => {
      const beganAt = clock.now()
      try {
        return await act({ client, current, ...sshNodes }, seen, signal)
      } finally {
        // A visit goes by what is wanted until it ends.
        const generation = current(nameOf(seen.machine))?.metadata.generation ?? seen.machine.metadata.generation ?? 0
        const endedAt = clock.now()
        last.set(uidOf(seen.machine), { endedAt, tookMs: endedAt - beganAt, generation })
      }
    },
    status: (seen, _, results) => statusOf(seen, results, clock.now()),
    writeStatus: (status, { machine }, { signal }) =>
      writeStatus({
        client,
        type: machineType,
        cache: machines,
        object: machine,
        status,
        fieldManager: FIELD_MANAGERS.sshNodes,
        signal,
        shared: {
          before: machine.status?.visit === undefined ? {} : { visit: machine.status.visit },
          over: 'Object',
        },
      }),
  })
  const controller = controllerIn(context, {
    name: 'sshnodes',
    workers: VISITS_AT_ONCE,
    timeoutMs: TIMEOUT_MS,
    allKeys: () => visitedMachines(caches).map(nameOf),
    reconcile: inLane((name) => {
      const seen = seenOf(name)
      return seen && laneOf(seen, clock.now())
    }, reconcile),
  })
  machines.onChange((before, now) => {
    if (now === undefined) {
      if (before !== undefined) last.delete(uidOf(before))
      return
    }
    if (isVisited(now) && before?.metadata.generation !== now.metadata.generation) controller.enqueue(nameOf(now))
  })
  jobs.onChange((_, job) => {
    const machine = job?.spec.machine === undefined || !isForHost(job) ? undefined : current(job.spec.machine)
    const before = machine && last.get(uidOf(machine))
    if (machine === undefined || before === undefined) return
    last.set(uidOf(machine), { ...before, isAwaited: true })
    controller.enqueue(nameOf(machine))
  })
  return { controllers: [controller] }
}
