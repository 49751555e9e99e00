// The frame around every view: navigation, the strip that shows how current the page is, title, and the terminal line.
import { visible } from '#lib/printable.ts'
import { h } from './h.ts'
import type { ComponentChildren, VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { clustersWith, useApp } from './app.ts'
import type { TopicFamily } from '../protocol.ts'
import { toTitle } from './focus.ts'
import { CHORDS } from './keyboard.ts'
import { Ago, At, Since } from './parts/clock.ts'
import type { Tone } from './parts/mark.ts'
import { Player } from './parts/player.ts'
import { sentence } from './parts/states.ts'
import { Terminal } from './parts/terminal.ts'
import { hrefOf, to, withParams } from './router.ts'
import type { View } from './router.ts'

interface Place {
  readonly view: View
  readonly title: string
  /** Drawn only if the user may read this topic family somewhere. */
  readonly family: TopicFamily
}

export const PLACES: readonly Place[] = [
  { view: 'home', title: 'Home', family: 'home' },
  { view: 'health', title: 'Fleet health', family: 'machines' },
  { view: 'pipeline', title: 'Pipeline', family: 'pipeline' },
  { view: 'machines', title: 'Machines', family: 'machines' },
  { view: 'rollouts', title: 'Rollouts', family: 'sets' },
  { view: 'budgets', title: 'Budgets', family: 'budgets' },
  { view: 'repairs', title: 'Repairs', family: 'repairs' },
  { view: 'clusters', title: 'Clusters', family: 'clusters' },
  { view: 'maintenance', title: 'Maintenance', family: 'maintenance' },
  { view: 'commits', title: 'Commits', family: 'commits' },
  { view: 'utilization', title: 'Utilization', family: 'machines' },
  { view: 'reliability', title: 'Reliability', family: 'machines' },
  { view: 'past', title: 'The past', family: 'machines' },
]

const KEY_OF = Object.fromEntries(Object.entries(CHORDS).map(([key, view]) => [view, key]))

export function Frame({ children, look }: { readonly children: ComponentChildren; readonly look: VNode }): VNode {
  return h('div', { class: 'frame' }, h(Rail, { look }), h('div', {}, h(Strips, {}), children))
}

function Rail({ look }: { readonly look: VNode }): VNode {
  const { session, route } = useApp()
  const list = useRef<HTMLUListElement>(null)
  // On a phone the navigation is one scrolling line.
  useEffect(
    () => list.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' }),
    [route.view],
  )
  const allowed = PLACES.filter(({ family }) => clustersWith(session, family).length > 0)
  return h(
    'header',
    { class: 'rail' },
    h('a', { class: 'skip', href: '#main', onClick: toMain }, 'Skip to the view'),
    h('a', { class: 'brand', href: to(route, 'home') }, brand(), 'KubeNode'),
    h(
      'nav',
      { 'aria-label': 'Views' },
      h(
        'ul',
        { ref: list },
        allowed.map(({ view, title }) =>
          h(
            'li',
            { key: view },
            h(
              'a',
              { href: to(route, view), ...(isWithin(route.view, view) && { 'aria-current': 'page' }) },
              title,
              h('kbd', { 'aria-hidden': 'true' }, `g ${KEY_OF[view] ?? ''}`),
            ),
          ),
        ),
        h(
          'li',
          {},
          h(
            'a',
            { href: to(route, 'search'), ...(route.view === 'search' && { 'aria-current': 'page' }) },
            'Search',
            h('kbd', { 'aria-hidden': 'true' }, '/'),
          ),
        ),
      ),
    ),
    h(
      'div',
      { class: 'rail-foot' },
      h(
        'span',
        { class: 'long' },
        h('a', { href: to(route, 'keys') }, 'Keys'),
        ' ',
        h('kbd', { 'aria-hidden': 'true' }, '?'),
      ),
      look,
      session.person.how === 'Link'
        ? h('span', { class: 'long' }, session.person.name)
        : h('a', { class: 'who', href: to(route, 'account') }, session.person.name),
      h('span', { class: 'long' }, `KubeNode ${session.version}`),
    ),
  )
}

const isWithin = (view: View, place: View): boolean =>
  view === place ||
  (view === 'node' && place === 'machines') ||
  (view === 'life' && place === 'past') ||
  ((view === 'plan' || view === 'prepare') && place === 'commits')

/** A link to `#main` would be parsed as a view's address. */
const toMain = (event: Event): void => {
  event.preventDefault()
  toTitle()
}

const brand = (): VNode =>
  h('svg', { viewBox: '0 0 20 20', 'aria-hidden': 'true' }, [
    h('rect', { x: 1, y: 1, width: 8, height: 8, fill: 'var(--good)' }),
    h('rect', { x: 11, y: 1, width: 8, height: 8, fill: 'var(--good)' }),
    h('rect', { x: 1, y: 11, width: 8, height: 8, fill: 'var(--good)' }),
    h('rect', { x: 12, y: 12, width: 6, height: 6, fill: 'none', stroke: 'var(--busy)', 'stroke-width': 2 }),
  ])

/** How current the page is; nothing while it is live. */
function Strips(): VNode {
  const { store, route, session } = useApp()
  const { connection } = store
  const past = Number(route.params['at'] ?? 0)
  const silent = session.clusters.filter(({ state }) => state === 'Unreachable' || state === 'Refused')
  const away = silent.filter(({ topics }) => topics.length === 0)
  const old = silent.filter(({ topics }) => topics.length > 0)
  const without = session.clusters.filter(({ state }) => state === 'SignedOut')
  return h(
    'div',
    { role: 'status' },
    past !== 0 &&
      h(
        'div',
        { class: 'strip past' },
        h('strong', {}, 'The past: ', h(At, { at: past })),
        route.view !== 'life' && h(Player, { at: past }),
        h('a', { href: hrefOf(withParams(route, { at: '' })) }, 'Back to now'),
      ),
    connection.state === 'Offline' &&
      h(
        'div',
        { class: 'strip' },
        h('strong', {}, 'Offline ', h(Since, { at: connection.since })),
        h(
          'span',
          {},
          'What you see is the last state received. The page connects again by itself.',
          session.person.how === 'Link' && ' If the console was started again, open the link that it printed.',
        ),
      ),
    connection.state === 'Full' &&
      h(
        'div',
        { class: 'strip' },
        h('strong', {}, 'Not live'),
        h(
          'span',
          {},
          sentence(connection.message),
          ' The page tries again by itself; reload it to read the views again.',
        ),
      ),
    connection.state === 'Paused' &&
      h(
        'div',
        { class: 'strip' },
        h('strong', {}, 'Paused'),
        h('span', {}, sentence(connection.message)),
        h('button', { type: 'button', onClick: () => store.resume() }, 'Continue here'),
      ),
    connection.state === 'SignedOut' &&
      h(
        'div',
        { class: 'strip bad' },
        h('strong', {}, 'Signed out'),
        h(
          'span',
          {},
          ...(session.person.how === 'Link'
            ? ['Run ', h('code', {}, 'kubenode console'), ' again and open the link that it prints.']
            : [h('a', { href: location.hash, onClick: () => location.reload() }, 'Sign in again')]),
        ),
      ),
    without.length > 0 &&
      h(
        'div',
        { class: 'strip' },
        h('strong', {}, `Not signed in to ${without.map(({ name }) => name).join(', ')}`),
        h('a', { href: to(route, 'account') }, 'Sign in'),
      ),
    old.map(({ name, message = 'does not answer', answeredAt }) =>
      h(
        'div',
        { key: name, class: 'strip' },
        h('strong', {}, `Not current: ${name}`),
        h(
          'span',
          {},
          sentence(message),
          ' What you see of it was read before',
          answeredAt !== undefined && [
            ', and it answered last at ',
            h(At, { at: answeredAt }),
            ' (',
            h(Ago, { at: answeredAt }),
            ' ago)',
          ],
          '.',
        ),
      ),
    ),
    away.length > 0 &&
      h(
        'div',
        { class: 'strip' },
        h('strong', {}, `Not shown: ${away.map(({ name }) => name).join(', ')}`),
        h('span', {}, away[0]?.message ?? 'does not answer'),
      ),
  )
}

interface Props {
  readonly title: string
  /** The line at the top, if it differs from the title. */
  readonly heading?: string
  /** Severity, for views that show it at the top. */
  readonly tone?: Tone
  /** The view's message in one sentence. */
  readonly sentence?: ComponentChildren
  readonly tools?: ComponentChildren
  /** The equivalent terminal commands. */
  readonly commands: readonly string[]
  readonly children?: ComponentChildren
}

/** A view: title, sentence, tools, content, and the equivalent terminal commands. */
export function Page({ title, heading = title, tone, sentence, tools, commands, children }: Props): VNode {
  const { route } = useApp()
  const [first] = useState(isFirst)
  useEffect(() => {
    document.title = title === 'Home' ? 'KubeNode' : `${visible(title)} · KubeNode`
  }, [title])
  // A screen reader starts at a new view's title; the first view is read from the top. Search focuses its field instead.
  useEffect(() => {
    if (!first && route.view !== 'search' && !isChoosing()) toTitle()
    document.documentElement.dataset['shown'] = route.view
  }, [route.view, route.name, route.cluster])
  return h(
    'main',
    { id: 'main' },
    h(
      'div',
      { class: tone === undefined ? 'title' : `title sheet verdict ${tone}` },
      h('div', { class: 'words' }, h('h1', { tabIndex: -1 }, heading), sentence !== undefined && h('p', {}, sentence)),
      tools !== undefined && h('div', { class: 'tools' }, tools),
    ),
    children,
    commands.length > 0 &&
      h(
        'footer',
        {},
        h('h2', {}, 'The same in a terminal'),
        commands.map((command) => h(Terminal, { key: command, command })),
      ),
  )
}

/** Arrow keys in a select move from cluster to cluster: it keeps the focus until the user leaves it. */
const isChoosing = (): boolean => document.activeElement?.matches('main select') === true

const isFirst = (): boolean => document.documentElement.dataset['shown'] === undefined

/** Selects the view's cluster. */
export function ClusterChoice({
  family,
  cluster,
  all,
}: {
  readonly family: TopicFamily
  readonly cluster: string | undefined
  readonly all?: boolean
}): VNode | null {
  const { session, route, go } = useApp()
  const allowed = clustersWith(session, family).map(({ name }) => name)
  // The address may name a cluster that this user may not read: without adding it, the select would be blank.
  const names = cluster === undefined || allowed.includes(cluster) ? allowed : [...allowed, cluster]
  if (names.length < 2) return null
  const choose = (name: string): void =>
    go({ view: route.view, ...(name !== '' && { cluster: name }), params: route.params })
  return h(
    'label',
    {},
    'Cluster',
    h(
      'select',
      { value: cluster ?? '', onChange: (e: Event) => choose((e.currentTarget as HTMLSelectElement).value) },
      all === true && h('option', { value: '' }, 'All clusters'),
      names.map((name) => h('option', { key: name, value: name }, name)),
    ),
  )
}

/** Toggles between a view's picture and a table. */
export function AsTable(): VNode {
  const { route } = useApp()
  const isTable = route.params['as'] === 'table'
  return h(
    'a',
    { href: hrefOf(withParams(route, { as: isTable ? '' : 'table' })), 'data-table': '' },
    isTable ? 'As a picture' : 'As a table',
  )
}

export const Choice = ({
  label,
  value,
  options,
  name,
}: {
  readonly label: string
  readonly value: string
  readonly options: Readonly<Record<string, string>>
  readonly name: string
}): VNode => {
  const { route, go } = useApp()
  return h(
    'label',
    {},
    label,
    h(
      'select',
      {
        value,
        onChange: (e: Event) =>
          go(withParams(route, { [name]: (e.currentTarget as HTMLSelectElement).value, page: '' })),
      },
      Object.entries(options).map(([key, text]) => h('option', { key, value: key }, text)),
    ),
  )
}
