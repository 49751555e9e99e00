// Live times: how long ago, how long until. Each redraws itself once a second and nothing else.
import { h } from '../h.ts'
import type { VNode } from 'preact'
import { useNow } from '../app.ts'
import { hour, moment, span } from './time.ts'

const machineTime = (at: number): string => new Date(at).toISOString()

/** `4m`, with the exact time on hover. */
export function Ago({ at }: { readonly at: number | undefined }): VNode | null {
  const now = useNow()
  if (at === undefined || at === 0) return null
  return h('time', { dateTime: machineTime(at), title: moment(at, now), class: 'nowrap' }, span(now - at))
}

/** `4m ago`, with the exact time on hover. */
export function Since({ at }: { readonly at: number | undefined }): VNode | null {
  const now = useNow()
  if (at === undefined || at === 0) return null
  return h('time', { dateTime: machineTime(at), title: moment(at, now), class: 'nowrap' }, `${span(now - at)} ago`)
}

/** `since 02:03:10 (4m)`, where the exact time is the point. */
export function SinceAt({ at }: { readonly at: number | undefined }): VNode | null {
  const now = useNow()
  if (at === undefined || at === 0) return null
  return h('time', { dateTime: machineTime(at), class: 'nowrap' }, `since ${moment(at, now)} (${span(now - at)})`)
}

export function At({ at }: { readonly at: number | undefined }): VNode | null {
  const now = useNow()
  if (at === undefined || at === 0) return null
  return h('time', { dateTime: machineTime(at), class: 'nowrap' }, moment(at, now))
}

/** `14:00`, for times that are planned. */
export function Hour({ at }: { readonly at: number }): VNode {
  const now = useNow()
  return h('time', { dateTime: machineTime(at), title: moment(at, now), class: 'nowrap' }, hour(at, now))
}

/** `in 9m`, or how long ago it was. */
export function Until({ at }: { readonly at: number | undefined }): VNode | null {
  const now = useNow()
  if (at === undefined) return null
  const text = at >= now ? `in ${span(at - now)}` : `${span(now - at)} ago`
  return h('time', { dateTime: machineTime(at), title: moment(at, now), class: 'nowrap' }, text)
}

/** A share between 0 and 1. Without a label, the text next to it says the same. */
export const Bar = ({
  share,
  tone,
  label,
}: {
  readonly share: number
  readonly tone: string
  readonly label?: string
}): VNode =>
  h(
    'span',
    {
      class: share <= 0 ? 'bar none' : 'bar',
      ...(label === undefined ? { 'aria-hidden': 'true' } : { role: 'img', 'aria-label': label }),
    },
    h(
      'svg',
      { viewBox: '0 0 100 1', preserveAspectRatio: 'none', class: `tone-${tone}`, 'aria-hidden': 'true' },
      h('rect', { width: Math.min(100, Math.max(0, share * 100)), height: 1, fill: 'currentColor' }),
    ),
  )
