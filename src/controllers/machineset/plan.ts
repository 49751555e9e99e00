// Decides which machines of a set are created, adopted, released and deleted. Pure. Machines in service are deleted only under a granted permit. No
// machine is created while there are more than declared: a set that cannot count must not act.
import { isObserved } from '#nodes/machine-node.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { isBeingDeleted } from '#api/schema/object-meta.ts'
import { BEHIND_REQUEUE_MS } from '#declared/committed.ts'
import { counted } from '#lib/counted.ts'
import { matchesSelector } from '#kube/selector.ts'
import type { Extra, MachineSetAction, MachineSetPlan, Waiting } from './actions.ts'
import { burial } from './plan-burial.ts'
import { corrections } from './plan-corrections.ts'
import { deleteOrder } from './removal/delete-order.ts'
import { hostsWait } from './plan-host-wait.ts'
import { planDeletion } from './deletion/plan.ts'
import { held, removable, removals, silenceFreeze } from './removal/plan.ts'
import { type Seen, aliveOf, hasFinalizer, isOwned, isZombie, ownerOf, checkedSelector } from './seen.ts'
import { templateSteps } from './template/plan.ts'
import { succession } from './deletion/successors.ts'
import { withPermits } from './plan-permits.ts'

/** Machines created per reconcile. The next one reads all objects again first. */
const MOST_CREATES = 20

export function plan(seen: Seen, now: number): MachineSetPlan {
  const { set } = seen
  if (isBeingDeleted(set)) return planDeletion(seen, now)
  if (!hasFinalizer(set))
    return withPermits(seen, [{ kind: 'AddFinalizer', reason: 'its machines must not be garbage-collected' }], {}, now)
  const read = checkedSelector(set)
  if (read.kind === 'Invalid') return withPermits(seen, [], {}, now)
  if (seen.isHeld === true) return { requeueAfter: BEHIND_REQUEUE_MS, ...withPermits(seen, [], {}, now) }
  if (seen.hold !== undefined) return withPermits(seen, [], held(seen.hold), now)
  let room = set.spec.replicas - aliveOf(seen).length
  const membership = seen.machines.flatMap((m): MachineSetAction[] => {
    const matches = matchesSelector(read.selector, m.metadata.labels)
    // A machine that is leaving does so under a permit of this set, which ends with it.
    if (isOwned(m, set))
      return matches || isBeingDeleted(m) ? [] : [{ kind: 'Release', machine: m, reason: 'its labels no longer match' }]
    const isFree = ownerOf(m) === undefined && !isBeingDeleted(m) && !isObserved(m) && matches
    // Do not adopt a foreign machine as one too many: it would then be removed.
    if (isFree && room-- <= 0) return []
    return isFree ? [{ kind: 'Adopt', machine: m, reason: 'its labels match and it has no owner' }] : []
  })
  // Counting waits until the membership is settled.
  if (membership.length > 0) {
    const waiting = aliveOf(seen).length < set.spec.replicas ? succession(seen, now) : undefined
    return withPermits(seen, membership, waiting === undefined ? {} : { waiting }, now)
  }
  const corrected = corrections(seen)
  if (corrected.length > 0) return withPermits(seen, [...corrected], {}, now)
  const alive = aliveOf(seen)
  const zombies = alive.filter(isZombie)
  const buried = zombies.length === 0 ? undefined : burial(seen, alive, zombies, now)
  if (buried?.kind === 'Bury') return withPermits(seen, buried.actions, {}, now)
  if (buried?.kind === 'Outage') return withPermits(seen, [], buried.extra, now)
  const [actions, extra] = counting(seen, alive, now)
  return withPermits(seen, actions, { ...extra, ...buried?.extra }, now)
}

/** Creates what is missing, or removes what is too much. */
function counting(seen: Seen, alive: readonly Machine[], now: number): [MachineSetAction[], Extra] {
  const missing = seen.set.spec.replicas - alive.length
  if (missing > 0) return together(growth(seen, missing, now), templateSteps(seen))
  if (missing < 0) return shrinkage(seen, alive, -missing)
  return together([[], hostsWait(alive)], templateSteps(seen))
}

/** What keeps the set from its replicas is reported first. */
const together = (a: [MachineSetAction[], Extra], b: [MachineSetAction[], Extra]): [MachineSetAction[], Extra] => [
  [...a[0], ...b[0]],
  { ...b[1], ...a[1] },
]

/** A set applied to a cluster in deletion would create machines whose hosts outlive the cluster. */
const CLUSTER_LEAVES_WAIT = {
  predicate: 'ClusterLeaves',
  seen: 'the cluster is being deleted; no machine is created in it',
  unblock: 'git declares the Cluster again: it is created again after its deletion',
  // No event announces the end of the hold.
  requeueMs: 60_000,
} as const

function growth(seen: Seen, missing: number, now: number): [MachineSetAction[], Extra] {
  if (seen.isClusterLeaving === true) return [[], { waiting: CLUSTER_LEAVES_WAIT }]
  const waiting = succession(seen, now)
  if (waiting !== undefined) return [[], { waiting }]
  const { replicas } = seen.set.spec
  const total = seen.machines.filter((m) => isOwned(m, seen.set)).length
  const room = replicas + overshootOf(replicas) - total
  const hosts = seen.freeHosts ?? missing
  const count = Math.min(missing, MOST_CREATES, Math.max(0, room), hosts)
  const freeze: Extra =
    count < Math.min(missing, MOST_CREATES, hosts)
      ? {
          freeze: {
            reason: 'OvershootFreeze',
            message: `${counted(total, 'machine exists', 'machines exist')}, ${replicas} desired; the machines being removed must be deleted first`,
          },
        }
      : {}
  const extra = { ...hostsWait(aliveOf(seen)), ...(hosts < missing && { waiting: noHosts(missing, hosts) }), ...freeze }
  return [count === 0 ? [] : [{ kind: 'Create', count, reason: `${missing} of ${replicas} are missing` }], extra]
}

/** The list is the author's: a machine that leaves gives its host back, and then the set is called again. */
const noHosts = (missing: number, free: number): Waiting => ({
  predicate: 'HostsMade',
  seen: `${counted(missing, 'machine is', 'machines are')} missing, and ${counted(free, 'host')} of spec.template.spec.ssh.hosts ${free === 1 ? 'is' : 'are'} free`,
  unblock: 'the set lists more hosts, or fewer replicas are wanted',
  because: 'HostsTaken',
  requeueMs: HOSTS_REQUEUE_MS,
})

/** Machines of other sets and without a set have hosts too, and their changes do not call this set. */
const HOSTS_REQUEUE_MS = 60_000

/** Machines allowed beyond the replicas while earlier ones are still being deleted. */
const overshootOf = (replicas: number): number => Math.max(2, Math.ceil(replicas / 10))

function shrinkage(seen: Seen, alive: readonly Machine[], excess: number): [MachineSetAction[], Extra] {
  const frozen = silenceFreeze(alive)
  if (frozen !== undefined) return [[], frozen]
  const reason = `${alive.length} exist, ${seen.set.spec.replicas} are wanted`
  const unblock = 'machines of the set are Ready'
  return removals(seen, deleteOrder(seen, alive).slice(0, excess), { spare: removable(seen, alive), reason, unblock })
}
