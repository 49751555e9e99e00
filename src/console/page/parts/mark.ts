// A phase with its mark: a shape and a color per tone, so that either alone is enough.
import { h } from '../h.ts'
import type { VNode } from 'preact'

export type Tone = 'good' | 'busy' | 'wait' | 'bad' | 'mend' | 'still' | 'rest'

const TONES: Readonly<Record<Tone, readonly string[]>> = {
  good: [
    'Ready',
    'Healthy',
    'Passed',
    'Succeeded',
    'Complete',
    'Done',
    'Connected',
    'Closed',
    'Granted',
    'Released',
    'Unchanged',
    'Promoted',
    'Prepared',
    'True',
    'No',
  ],
  busy: [
    'Updating',
    'Progressing',
    'Switching',
    'Applying',
    'Rolling',
    'Running',
    'Provisioning',
    'Joining',
    'Importing',
    'Installing',
    'Probing',
    'Inspecting',
    'Fetching',
    'Draining',
    'Deleting',
    'Started',
    'Preparing',
    'InProgress',
    'Verifying',
    'Held',
    'Loading',
  ],
  wait: [
    'Pending',
    'Waiting',
    'AwaitingPermit',
    'Requested',
    'Soaking',
    'Observing',
    'Planned',
    'Staged',
    'Paused',
    'Announced',
    'HalfOpen',
    'Transient',
    'Wait',
  ],
  bad: [
    'Failed',
    'NotReady',
    'Degraded',
    'Blocked',
    'RolledBack',
    'Denied',
    'Permanent',
    'Escalated',
    'Unreachable',
    'Missed',
    'Refused',
    'Orphaned',
    'False',
    'Act',
    'Open',
    'Yes',
  ],
  mend: ['Repairing', 'Reverted'],
  still: ['Lost', 'Offline'],
  rest: [],
}

const BY_PHASE = new Map(Object.entries(TONES).flatMap(([tone, phases]) => phases.map((p) => [p, tone as Tone])))

export const toneOf = (phase: string): Tone => BY_PHASE.get(phase) ?? 'rest'

/** In a 12 by 12 box. */
const SHAPES: Readonly<Record<Tone, string>> = {
  good: 'M6 1a5 5 0 1 0 0 10a5 5 0 1 0 0-10z',
  busy: 'M6 0a6 6 0 1 0 0 12a6 6 0 1 0 0-12zM6 2v8a4 4 0 0 1 0-8z',
  wait: 'M6 0a6 6 0 1 0 0 12a6 6 0 1 0 0-12zM6 2a4 4 0 1 1 0 8a4 4 0 1 1 0-8z',
  bad: 'M2 0L6 4L10 0L12 2L8 6L12 10L10 12L6 8L2 12L0 10L4 6L0 2z',
  mend: 'M6 0L12 6L6 12L0 6z',
  still: 'M0 0h12v12h-12zM2 2v8h8v-8z',
  rest: 'M0 4.5h12v3h-12z',
}

/** The mark alone: its meaning is in the text next to it. */
export const shape = (tone: Tone): VNode =>
  h('svg', { viewBox: '0 0 12 12', 'aria-hidden': 'true', class: `tone-${tone}` }, [
    h('path', { d: SHAPES[tone], fill: 'currentColor', 'fill-rule': 'evenodd' }),
  ])

export const Mark = ({ phase, tone = toneOf(phase) }: { readonly phase: string; readonly tone?: Tone }): VNode =>
  h('span', { class: 'mark' }, shape(tone), h('span', {}, spaced(phase)))

/** `AwaitingPermit` becomes "Awaiting permit". */
export const spaced = (phase: string): string =>
  phase.replace(/([a-z])([A-Z])(?=[a-z])/g, (_, a: string, b: string) => `${a} ${b.toLowerCase()}`)
