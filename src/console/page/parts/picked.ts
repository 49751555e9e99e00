// The machines that a person picked: they stay in the address, and a hold or a commit can be made for all of them at once.
import { h } from '../h.ts'
import type { VNode } from 'preact'
import { useApp } from '../app.ts'
import { HoldButton } from './write-forms.ts'
import { count } from './time.ts'
import { hrefOf, to, withParams } from '../router.ts'
import type { Route } from '../router.ts'

export interface Pick {
  readonly cluster: string
  readonly name: string
}

/** An address has room for about as many, and one dialog writes one hold for each. */
const MOST_PICKED = 50

const keyOf = ({ cluster, name }: Pick): string => `${encodeURIComponent(cluster)}/${encodeURIComponent(name)}`

/** A machine's name has no slash; anything else in an address is left out, as are repetitions and what is too much. */
export function picksIn({ params }: Route): readonly Pick[] {
  const picks = (params['picked'] ?? '').split(',').flatMap((text) => {
    const [cluster = '', name = '', ...rest] = text.split('/').map(decoded)
    return cluster === '' || !/^[a-z0-9][a-z0-9.-]*$/.test(name) || rest.length > 0 ? [] : [{ cluster, name }]
  })
  return [...new Map(picks.map((pick) => [keyOf(pick), pick])).values()].slice(0, MOST_PICKED)
}

export const isFull = (picks: readonly Pick[]): boolean => picks.length >= MOST_PICKED

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return ''
  }
}

export const isPicked = (picks: readonly Pick[], { cluster, name }: Pick): boolean =>
  picks.some((p) => p.cluster === cluster && p.name === name)

const withPicks = (route: Route, picks: readonly Pick[]): Route =>
  withParams(route, { picked: picks.slice(0, MOST_PICKED).map(keyOf).join(',') })

/** The address with this machine picked, or no longer. */
export function toggled(route: Route, pick: Pick): Route {
  const picks = picksIn(route)
  return withPicks(
    route,
    isPicked(picks, pick)
      ? picks.filter(({ cluster, name }) => cluster !== pick.cluster || name !== pick.name)
      : [...picks, { cluster: pick.cluster, name: pick.name }],
  )
}

interface Props {
  /** What the view shows, if it is little enough to be picked at once. */
  readonly shown: readonly Pick[]
}

export function Picked({ shown }: Props): VNode | null {
  const { route, session } = useApp()
  const picks = picksIn(route)
  const byCluster = Map.groupBy(picks, ({ cluster }) => cluster)
  const rest = shown.filter((m) => !isPicked(picks, m))
  const all =
    rest.length > 0 &&
    picks.length + rest.length <= MOST_PICKED &&
    h('a', { href: hrefOf(withPicks(route, [...picks, ...rest])) }, `Pick all ${shown.length} shown`)
  if (picks.length === 0) return all === false ? null : h('p', { class: 'row small' }, all)
  return h(
    'section',
    { class: 'sheet pad picked', 'aria-label': 'Picked machines' },
    h('strong', {}, `${count(picks.length)} picked`),
    isFull(picks) && h('p', { class: 'soft small' }, `No more than ${MOST_PICKED} at once: drop one to pick another.`),
    h(
      'ul',
      { class: 'chips small' },
      picks.map((p) =>
        h(
          'li',
          { key: keyOf(p), class: 'chip' },
          h('a', { href: to(route, 'node', { cluster: p.cluster, name: p.name }) }, p.name),
          ' ',
          h('a', { href: hrefOf(toggled(route, p)), 'aria-label': `Drop ${p.name}`, class: 'drop' }, '×'),
        ),
      ),
    ),
    h(
      'div',
      { class: 'tools' },
      all,
      [...byCluster].map(([cluster, [first, ...others]]) =>
        first === undefined
          ? null
          : h(HoldButton, {
              key: cluster,
              cluster,
              target: { kind: 'Machine', name: first.name },
              also: others.map(({ name }) => ({ kind: 'Machine', name })),
              effects: ['Pause', 'Freeze'],
              ...(byCluster.size > 1 && { label: `Hold in ${cluster}…` }),
            }),
      ),
      session.canPrepare &&
        route.params['at'] === undefined &&
        [...byCluster].map(([cluster, each]) => {
          const machines = each.map(({ name }) => name).join(',')
          const text = byCluster.size > 1 ? `Protect in ${cluster} by a commit` : 'Protect by a commit'
          return h(
            'a',
            {
              key: `protect ${cluster}`,
              href: to(route, 'prepare', { params: { change: 'protect', cluster, machines } }),
            },
            text,
          )
        }),
      h('a', { href: hrefOf(withPicks(route, [])) }, 'Drop all'),
    ),
  )
}
