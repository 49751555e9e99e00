// What something waits for, always with the same four parts, and the command or state that ends the wait. Also links to objects.
import { h } from '../h.ts'
import type { VNode } from 'preact'
import { hubOf, useApp } from '../app.ts'
import type { Lift, ObjectName } from '../../basics.ts'
import type { HoldNote, Wait } from '../../topics.ts'
import { to } from '../router.ts'
import type { Route } from '../router.ts'
import { Since, Until } from './clock.ts'
import type { Way } from './causes.ts'
import { waysOf } from './causes.ts'
import { spaced } from './mark.ts'
import { nounOf } from './noun.ts'
import { Terminal, word } from './terminal.ts'
import { LiftButton } from './lift.ts'

/** Adds the cluster to a command: pasted into a terminal it must not run against the current context. */
export function inCluster({ text, isCommand }: Lift, cluster: string): string {
  const isOpen = isCommand && text.startsWith('kubenode ') && !text.includes(' --context ')
  return isOpen ? `${text} --context ${word(cluster)}` : text
}

export function LiftLine({ lift, cluster }: { readonly lift: Lift; readonly cluster?: string }): VNode {
  const { route, session } = useApp()
  if (!lift.isCommand) return h('p', { class: 'small' }, `Unblocks when: ${lift.text}`)
  const place = cluster ?? route.cluster ?? hubOf(session)
  const line = (way: Way) => h(Terminal, { command: inCluster(way, place) })
  const [first, ...others] = waysOf(lift)
  if (first === undefined) return h('p', { class: 'small' }, lift.text)
  if (others.length === 0) return line(first)
  return h(
    'div',
    { class: 'stack' },
    line(first),
    others.flatMap((way) => [h('p', { class: 'small' }, `to ${way.does ?? ''}:`), line(way)]),
  )
}

export function WaitLines({ wait }: { readonly wait: Wait | undefined }): VNode | null {
  if (wait === undefined) return null
  return h(
    'div',
    { class: 'stack' },
    h(
      'p',
      {},
      h('strong', {}, spaced(wait.predicate)),
      ' ',
      h('span', { class: 'soft' }, h(Since, { at: wait.since })),
      wait.seen !== undefined && [h('br', {}), wait.seen],
    ),
    wait.lift !== undefined && h(LiftLine, { lift: wait.lift }),
  )
}

interface HoldsProps {
  readonly holds: readonly HoldNote[]
  readonly cluster: string
}

export const Holds = ({ holds, cluster }: HoldsProps): VNode | null =>
  holds.length === 0
    ? null
    : h(
        'ul',
        { class: 'stack', 'aria-label': 'Holds' },
        holds.map((hold) =>
          h(
            'li',
            { key: hold.name, class: 'fail' },
            h('p', {}, h('strong', {}, `${hold.effect} by ${hold.author}`), `: ${hold.reason}`),
            h('p', { class: 'small soft' }, hold.name, ', ends ', h(Until, { at: hold.until })),
            h(LiftButton, { cluster, name: hold.name, reason: hold.reason }),
          ),
        ),
      )

interface BlockedProps extends HoldsProps {
  readonly wait: Wait | undefined
}

/** At the top of a page: holds on its object and what that waits for; empty if there are none. */
export const Blocked = ({ holds, cluster, wait }: BlockedProps): VNode | null =>
  wait === undefined && holds.length === 0
    ? null
    : h('div', { class: 'sheet pad stack' }, h(Holds, { holds, cluster }), h(WaitLines, { wait }))

/** The best view of an object. */
export function hrefOfObject(route: Route, { cluster, kind, name }: ObjectName): string {
  if (kind === 'Machine' || kind === 'Node') return to(route, 'node', { cluster, name })
  if (kind === 'MachineComponentSet') return to(route, 'rollouts', { cluster, name })
  if (kind === 'RemedyOperationJob') return to(route, 'repairs', { cluster, name })
  // Most clusters have no Cluster object of their own to explain.
  if (kind === 'Cluster') return to(route, 'clusters')
  if (kind === 'Release') return to(route, 'pipeline', { params: { release: name } })
  return to(route, 'why', { cluster, kind, name })
}

export function ObjectLink({ object }: { readonly object: ObjectName }): VNode {
  const { route } = useApp()
  return h('a', { href: hrefOfObject(route, object), class: 'name' }, `${nounOf(object.kind)} ${object.name}`)
}

/** `“beacon 1.1.0” by Ada`; empty if neither is known. */
export const commitTitled = ({ subject, author }: { readonly subject?: string; readonly author?: string }): string =>
  [...(subject === undefined ? [] : [`“${subject}”`]), ...(author === undefined ? [] : [`by ${author}`])].join(' ')

/** As git prints it; the title is next to it. */
export const shortCommit = (commit: string): string => commit.slice(0, 12)
