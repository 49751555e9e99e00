// Moves a view through the past like a film: a step back or on, or by itself. Names the times in which nothing was recorded.
import { h } from '../h.ts'
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { useAnswer, useApp } from '../app.ts'
import type { RecordedAnswer, RecordedGap } from '../../protocol.ts'
import { withParams } from '../router.ts'
import { capitalized } from './noun.ts'
import { moment } from './time.ts'

const MINUTE = 60_000
/** How far a step goes. */
const STEPS: Readonly<Record<string, string>> = {
  [MINUTE]: '1 minute',
  [10 * MINUTE]: '10 minutes',
  [60 * MINUTE]: '1 hour',
  [24 * 60 * MINUTE]: '1 day',
}
const FRAME_MS = 1_000

export function Player({ at }: { readonly at: number }): VNode {
  const { route, go, now, session } = useApp()
  const [step, setStep] = useState(10 * MINUTE)
  const [isPlaying, play] = useState(false)
  const move = (ms: number): void => go(withParams(route, { at: String(Math.min(at + ms, now())) }))
  const isAtEnd = at + step > now()
  useEffect(() => {
    if (!isPlaying) return undefined
    if (isAtEnd) {
      play(false)
      return undefined
    }
    const timer = setTimeout(() => document.hidden || move(step), FRAME_MS)
    return () => clearTimeout(timer)
  }, [isPlaying, isAtEnd, at, step])
  const unknown = useAnswer<RecordedAnswer>(session.isRecorded ? `/api/recorded?at=${at}` : undefined)
  const gaps = unknown.state === 'Ready' ? unknown.value.gaps : []
  return h(
    'span',
    { class: 'row' },
    h('button', { type: 'button', 'aria-label': 'A step back', onClick: () => move(-step) }, '◀'),
    h(
      'button',
      { type: 'button', 'aria-pressed': isPlaying, onClick: () => play(!isPlaying) },
      isPlaying ? 'Stop' : 'Play',
    ),
    h('button', { type: 'button', 'aria-label': 'A step on', disabled: isAtEnd, onClick: () => move(step) }, '▶'),
    h(
      'label',
      { class: 'row' },
      'Step',
      h(
        'select',
        { value: String(step), onChange: (e: Event) => setStep(Number((e.currentTarget as HTMLSelectElement).value)) },
        Object.entries(STEPS).map(([ms, text]) => h('option', { key: ms, value: ms }, text)),
      ),
    ),
    gaps.map((gap) => h('strong', { key: `${gap.cluster} ${gap.why}` }, unknownText(gap, now()))),
  )
}

const unknownText = ({ cluster, starts, ends, why, kinds }: RecordedGap, now: number): string =>
  `${kinds.length === 0 || kinds.length > 3 ? 'Cluster' : `${capitalized(kinds.join(', '))} of cluster`} ${cluster}: not recorded from ${moment(starts, now)}${ends === undefined ? '' : ` to ${moment(ends, now)}`} (${why}): what you see was known before.`
