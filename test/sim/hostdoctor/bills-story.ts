// What a vendor says of hosts whose bills are not paid: one that is paid in time, one that is paid late, one whose data is lost as a person approves, and one
// that no person approves until it is paid. A policy answers what may be answered: never a bill.
import { approval } from '#api/kinds/approval.ts'
import { defenderPolicy } from '#api/kinds/defender-policy.ts'
import { type MaintenanceEvent, maintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { type OperationPermit, operationPermit } from '#api/kinds/operation-permit.ts'
import { approvalDigest } from '#permits/approval-digest.ts'
import type { HostMaintenance } from '#providers/port.ts'
import { announced, say } from '#test/doubles/providers/maintenance-double.ts'
import type { World } from '../world.ts'
import { type DoctorStory, HOUR, MINUTE, at, goes, idOf, later, setReady, vanishes } from './story.ts'

/** The preparation may start a day before: this one is for people all the time. */
const FAR_MS = 30 * HOUR
/** The preparation starts half an hour after it is announced. */
const NEAR_MS = 150 * MINUTE
const PAID_MS = 2 * HOUR
const REMOVED_MS = 10 * MINUTE
const ANSWERS = ['Accept', 'Start'] as const

function bill(world: World, n: number, eventId: string, inMs: number, more: Partial<HostMaintenance> = {}) {
  const times = { notBefore: at(world, inMs), isBill: true, answers: [...ANSWERS] }
  return announced({ eventId, providerID: idOf(n), kind: 'Stop', ...times, ...more })
}

const isPaid = ({ vendor }: DoctorStory, eventId: string): void =>
  void vendor.events.splice(0, vendor.events.length, ...vendor.events.filter((e) => e.eventId !== eventId))

/** A person who looks every minute what there is to approve. */
function approves(world: World, story: DoctorStory, eventId: string): void {
  const events = world.fake.all(maintenanceEvent) as readonly MaintenanceEvent[]
  const name = events.find((e) => e.spec.eventId === eventId)?.status?.permitRef
  const permit = name === undefined ? undefined : (world.fake.peek(operationPermit, { name }) as OperationPermit)
  if (permit === undefined) return later(world, story, MINUTE, () => approves(world, story, eventId))
  world.fake.plant(approval, {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Approval',
    metadata: { name: `ada-${eventId}` },
    spec: { digest: approvalDigest(permit.spec), by: 'ada' },
  })
}

export function unpaidBills(world: World, story: DoctorStory): void {
  world.fake.plant(defenderPolicy, {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'DefenderPolicy',
    metadata: { name: 'bills' },
    spec: { maintenance: { answer: 'Accept' }, approvals: [{ risk: 'High', from: ['ada'], count: 1 }] },
  })
  say(story.vendor, bill(world, 0, 'paid', FAR_MS))
  later(world, story, PAID_MS, () => isPaid(story, 'paid'))
  // In the rack of the one that ends: drained once that host is deleted.
  const late = bill(world, 2, 'paid-late', NEAR_MS + HOUR)
  say(story.vendor, late)
  later(world, story, NEAR_MS + HOUR + MINUTE, () => goes(world, story, 2, late))
  const ends = { kind: 'Delete', losesData: true } as const
  say(story.vendor, bill(world, 1, 'ended', NEAR_MS, ends))
  later(world, story, MINUTE, () => approves(world, story, 'ended'))
  later(world, story, NEAR_MS, () => setReady(world, 'm-1', false))
  later(world, story, NEAR_MS + REMOVED_MS, () => {
    isPaid(story, 'ended')
    vanishes(world, 'm-1')
  })
  say(story.vendor, bill(world, 4, 'paid-unapproved', NEAR_MS, ends))
  later(world, story, PAID_MS, () => isPaid(story, 'paid-unapproved'))
}
