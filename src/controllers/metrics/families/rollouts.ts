// Metrics of rollouts: machines per set, hardware classes tried, consistency, the age of the oldest open slice, and what a set waits for.
import type { ComponentCanary } from '#api/kinds/component-canary.ts'
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import { type Family, type Sample, tally } from './family.ts'

/** Phases of finished slices. Every other slice is open. */
type SlicePhase = NonNullable<NonNullable<MachineComponentSet['status']>['slices']>[number]['phase']
const OVER: ReadonlySet<SlicePhase> = new Set<SlicePhase>(['Passed', 'Failed', 'Aborted'])
const COUNTS = ['total', 'updated', 'healthy', 'skipped', 'failed'] as const

export function rolloutFamilies(
  sets: readonly MachineComponentSet[],
  canaries: readonly ComponentCanary[],
  now: number,
): readonly Family[] {
  const each = (samples: (set: string, s: MachineComponentSet) => readonly Sample[]) =>
    sets.flatMap((s) => samples(s.metadata.name ?? '', s))
  return [
    {
      name: 'kubenode_set_machines',
      help: 'Machines of a MachineComponentSet: all, on the update revision, healthy there, skipped, failed.',
      labels: ['set', 'which'],
      samples: each((set, { status }) =>
        COUNTS.map((which) => ({ labels: { set, which }, value: status?.counts?.[which] ?? 0 })),
      ),
    },
    {
      name: 'kubenode_set_classes_tried',
      help: 'Share of the hardware classes of a set on which the update revision is healthy somewhere.',
      labels: ['set'],
      samples: each((set, { status }) => {
        const classes = status?.coverage ?? []
        const tried = classes.filter((c) => c.healthy > 0).length
        return classes.length === 0 ? [] : [{ labels: { set }, value: tried / classes.length }]
      }),
    },
    {
      name: 'kubenode_set_consistency',
      help: 'Share of eligible machines that run exactly the declared version of a component.',
      labels: ['set', 'component'],
      samples: each((set, { status }) =>
        (status?.consistency ?? []).flatMap(({ component, consistent, total }) =>
          total === 0 ? [] : [{ labels: { set, component }, value: consistent / total }],
        ),
      ),
    },
    {
      name: 'kubenode_set_slice_age_seconds',
      help: 'How long the oldest open slice of a component has been open.',
      labels: ['set', 'component'],
      samples: each((set, s) => sliceAges(set, s, now)),
    },
    {
      name: 'kubenode_set_waiting',
      help: '1 for the predicate that a set is waiting for.',
      labels: ['set', 'predicate'],
      samples: each((set, { status }) => {
        const predicate = status?.waitingFor?.predicate
        return predicate === undefined ? [] : [{ labels: { set, predicate }, value: 1 }]
      }),
    },
    {
      name: 'kubenode_set_blocked_revisions',
      help: 'Blocked revisions of a set.',
      labels: ['set'],
      samples: each((set, { status }) => [{ labels: { set }, value: status?.revisions?.blocked?.length ?? 0 }]),
    },
    {
      name: 'kubenode_canaries',
      help: 'Canaries by phase.',
      labels: ['phase'],
      samples: tally(canaries, (c) => ({ phase: c.status?.phase ?? 'none' })),
    },
  ]
}

/** A slice that has not started has no age. */
function sliceAges(set: string, { status }: MachineComponentSet, now: number): readonly Sample[] {
  const oldest = new Map<string, number>()
  for (const { component, phase, startedAt } of status?.slices ?? []) {
    const began = Date.parse(startedAt ?? '')
    if (OVER.has(phase) || Number.isNaN(began)) continue
    oldest.set(component, Math.max(oldest.get(component) ?? 0, (now - began) / 1_000, 0))
  }
  return [...oldest].map(([component, value]) => ({ labels: { set, component }, value }))
}
