// Planted bugs of the host doctor and of the Defender's part in it: each leaves out one precaution, and must be found within its seeds.
import { maintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { act } from '#controllers/hostdoctor/act.ts'
import type { DoctorParts } from '#controllers/hostdoctor/reconcile.ts'
import { plan } from '#controllers/hostdoctor/plan.ts'
import { cordonOwner } from '#controllers/hostdoctor/seen.ts'
import { decide } from '#defender/plan.ts'
import { isOver } from '#nodes/faults/maintenance.ts'
import { cordon, uncordon } from '#nodes/cordon.ts'
import { drainPass } from '#nodes/drain.ts'
import type { DefenderParts } from '../defender/world.ts'
import { CLEARANCE } from '#test/support/permits/clearance.ts'
import { byPermit } from '#permits/under-permit.ts'
import type { FaultKind } from '../sim-faults.ts'

export interface Mutant {
  readonly name: string
  /** Part of the message that finds it. */
  readonly shows: RegExp
  /** Faults under which it must be found; none means that it shows without any. */
  readonly faults: readonly FaultKind[]
  readonly within: number
  readonly chapters: readonly number[]
  readonly parts?: () => DoctorParts
  readonly defenderParts?: () => DefenderParts
}

type Act = DoctorParts['act']
const refOf = (node: { readonly metadata: { readonly name?: string; readonly uid?: string } }) => ({
  name: node.metadata.name ?? '',
  uid: node.metadata.uid ?? '',
})

const DONE = { kind: 'Applied', object: 'done' } as const

/** Acts on the word of the caches. */
const credulous: Act = async (tools, action, seen, signal) => {
  const { event, node } = seen
  const nodeTools = { ...tools, fieldManager: 'kubenode-hostdoctor', signal } as const
  if (node === undefined) return act(tools, action, seen, signal)
  if (action.kind === 'Cordon')
    await cordon(CLEARANCE, nodeTools, refOf(node), cordonOwner(event), { reason: 'unchecked' })
  else if (action.kind === 'Uncordon') await uncordon(nodeTools, refOf(node), cordonOwner(event))
  else if (action.kind === 'Drain') await drainPass(CLEARANCE, tools.client, node.metadata.name ?? '', signal)
  else return act(tools, action, seen, signal)
  return DONE
}

export const mutants: readonly Mutant[] = [
  {
    name: 'cordons while its permit is still waiting',
    shows: /is cordoned for .* without a grant/,
    faults: [],
    within: 1,
    chapters: [0],
    parts: () => ({
      act: credulous,
      plan: (seen, now) => {
        const planned = plan(seen, now)
        const { permit } = seen
        const isWaiting = seen.event.status?.phase === 'Preparing' && permit?.status?.phase === undefined
        return isWaiting && permit !== undefined
          ? { ...planned, actions: [{ kind: 'Cordon', reason: 'at once', by: byPermit(permit) }] }
          : planned
      },
    }),
  },
  {
    name: 'takes the taint off on the word of a cache that is behind',
    shows: /is drained twice/,
    faults: ['Pause', 'Stale', 'Missed'],
    within: 40,
    chapters: [0],
    parts: () => ({ plan, act: credulous }),
  },
  {
    name: 'takes a node for drained once it has evicted',
    shows: /is prepared, and web-m-\d still runs/,
    faults: [],
    within: 1,
    chapters: [0],
    parts: () => ({
      act,
      plan: (seen, now) => plan(seen.hasPods === undefined ? seen : { ...seen, hasPods: false }, now),
    }),
  },
  {
    name: 'gives the slot back before it takes its taint off',
    shows: /is given back while its node is cordoned/,
    faults: [],
    within: 1,
    chapters: [0],
    parts: () => ({
      act,
      plan: (seen, now) => {
        const planned = plan(seen, now)
        return { ...planned, actions: planned.actions.toReversed() }
      },
    }),
  },
  {
    name: 'believes one list that lacks the event',
    shows: /one m-0 Cancelled/,
    faults: [],
    within: 1,
    chapters: [0],
    parts: () => ({ act, plan: (seen, now) => plan({ ...seen, absentPolls: seen.absentPolls * 2 }, now) }),
  },
  {
    name: 'prepares for each of two sources of one event',
    shows: /one event is prepared for as/,
    // A cache that is behind makes the second object; else the list of the second source finds the first.
    faults: ['Stale'],
    within: 20,
    chapters: [2],
    parts: () => ({
      act,
      plan: (seen, now) => {
        const { twin: _, ...alone } = seen
        return plan(alone, now)
      },
    }),
  },
  {
    name: 'the Defender books nothing for work on hosts',
    shows: /as number \d of its rack/,
    faults: [],
    within: 4,
    chapters: [1],
    defenderParts: () => ({
      decide: (snapshot, before, options) => decide({ ...snapshot, maintenance: [] }, before, options),
    }),
  },
  {
    name: 'the Defender grants a repair beside the preparation',
    shows: /is repaired and prepared at once/,
    faults: [],
    within: 20,
    chapters: [0, 1],
    defenderParts: () => ({
      decide: (snapshot, before, options) => {
        const permits = snapshot.permits.map((p) =>
          p.spec.requester.kind === maintenanceEvent.kind
            ? { ...p, spec: { ...p.spec, requester: { ...p.spec.requester, kind: 'MachineSet' as const } } }
            : p,
        )
        // They are booked as ever, or the budget would be what breaks first.
        const maintenance = (snapshot.maintenance ?? []).map((e) =>
          isOver(e)
            ? e
            : { ...e, spec: { ...e.spec, unplanned: false }, status: { ...e.status, phase: 'Announced' as const } },
        )
        return decide({ ...snapshot, permits, maintenance }, before, options)
      },
    }),
  },
]
