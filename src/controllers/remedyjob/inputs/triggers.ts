// Enqueues the jobs affected by a change of another object.
import type { NodeRemedier } from '#api/kinds/node-remedier.ts'
import { type RemedyOperationJob, remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { nameOf, uidOf } from '#api/schema/object-meta.ts'
import { findCondition } from '#kube/conditions.ts'
import { jsonEqual } from '#lib/json.ts'
import { isCordonedBy } from '#nodes/cordon.ts'
import { isFencedBy } from '#nodes/fence.ts'
import type { Node } from '#nodes/objects.ts'
import type { Controller } from '#runtime/controller.ts'
import type { RequestGate } from '../permits/request-gate.ts'
import { BY_MACHINE, BY_NODE, BY_RULE, type JobCaches } from './caches.ts'
import { cordonOwner, phaseOf } from '../seen.ts'

/** The lease of a granted permit expires, so its job goes before those that only wait for a permit. */
export const GRANTED = { urgent: true }

export function wakeUp(caches: JobCaches, controller: Pick<Controller, 'enqueue'>, requestGate: RequestGate): void {
  const wake = (jobs: readonly RemedyOperationJob[]) => {
    for (const job of jobs) controller.enqueue(nameOf(job))
  }
  const concerns = (node: Node | undefined) => (job: RemedyOperationJob) =>
    isAlive(job) || isCordonedBy(node, cordonOwner(job)) || isFencedBy(node, cordonOwner(job))
  caches.jobs.onChange((before, now) => {
    requestGate.note(before, now)
    wake([now ?? before].flatMap((j) => j ?? []))
  })
  caches.permits.onChange((before, now) => {
    const { kind, name } = (now ?? before)?.spec.requester ?? {}
    const isGrant = now?.status?.phase === 'Granted' && before?.status?.phase !== 'Granted'
    if (kind === remedyOperationJob.kind && name !== undefined) controller.enqueue(name, isGrant ? GRANTED : {})
  })
  caches.nodes.onChange((before, now) => {
    for (const node of new Set([before, now]))
      if (node !== undefined) wake(caches.jobs.byIndex(BY_NODE, uidOf(node)).filter(concerns(node)))
  })
  caches.machines.onChange((before, now) => {
    const name = nameOf(now ?? before ?? { metadata: {} })
    const listed = now?.spec.jobs ?? []
    const isDeleted = now === undefined
    for (const job of listed) if (caches.jobs.get(job) === undefined) controller.enqueue(job)
    wake(caches.jobs.byIndex(BY_MACHINE, name).filter((j) => isDeleted || isAlive(j) || listed.includes(nameOf(j))))
  })
  caches.remediers.onChange((before, now) => {
    if (!isSameToJobs(before, now))
      wake(caches.jobs.byIndex(BY_RULE, nameOf(now ?? before ?? { metadata: {} })).filter(isAlive))
  })
  caches.maintenance.onChange((before, now) => {
    const name = (now ?? before)?.spec.machine
    if (name !== undefined) wake(caches.jobs.byIndex(BY_MACHINE, name).filter(isAlive))
  })
  caches.holds.onChange(() => wake(caches.jobs.list().filter(isAlive)))
}

const isAlive = (job: RemedyOperationJob): boolean => phaseOf(job) !== 'Done'

/** A rule's status changes constantly in a burst. Jobs only care whether the rule is inhibited. */
function isSameToJobs(before: NodeRemedier | undefined, now: NodeRemedier | undefined): boolean {
  const essence = ({ metadata, spec, status }: NodeRemedier) => {
    const { uid, generation, labels, annotations, deletionTimestamp } = metadata
    const inhibited = findCondition(status?.conditions, 'Inhibited')
    return { uid, generation, labels, annotations, deletionTimestamp, spec, inhibited }
  }
  return before !== undefined && now !== undefined && jsonEqual(essence(before), essence(now))
}
