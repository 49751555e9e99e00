// The frame around every view: navigation, the strip that shows how current the page is, title, and the terminal line.
import { defined } from '#lib/defined.ts'
import { visible } from '#lib/printable.ts'
import { h } from './h.ts'
import type { ComponentChildren, VNode } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { clustersWith, useApp } from './app.ts'
import { toTitle } from './focus.ts'
import { CHORDS } from './keyboard.ts'
import type { Tone } from './parts/mark.ts'
import { Crumbs } from './parts/crumbs.ts'
import type { Scope } from './parts/crumbs.ts'
import { Shell } from './parts/shell.ts'
import { PLACES, isWithin } from './places.ts'
import { hrefOf, to, toView, withParams } from './router.ts'
import { Strips } from './strips.ts'

const KEY_OF = Object.fromEntries(Object.entries(CHORDS).map(([key, view]) => [view, key]))

interface FrameProps {
  readonly children: ComponentChildren
  /** Below the navigation. */
  readonly foot: ComponentChildren
}

export function Frame({ children, foot }: FrameProps): VNode {
  const { route } = useApp()
  // A monitor has no keyboard: the view alone, large. The strips stay, or a monitor would show an old picture as a new one.
  if (route.params['wall'] === '1')
    return h(
      'div',
      { class: 'wall' },
      h(Strips, {}),
      children,
      h('header', {}, h('a', { class: 'leave', href: hrefOf(withParams(route, { wall: '' })) }, 'Leave the wall')),
    )
  return h('div', { class: 'frame' }, h(Rail, { foot }), h('div', {}, h(Strips, {}), children))
}

function Rail({ foot }: Pick<FrameProps, 'foot'>): VNode {
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
              { href: hrefOf(toView(route, view)), ...(isWithin(route.view, view) && { 'aria-current': 'page' }) },
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
      foot,
      session.person.how === 'Link'
        ? h('span', { class: 'long' }, session.person.name)
        : h('a', { class: 'who', href: to(route, 'account') }, session.person.name),
      h('span', { class: 'long' }, `KubeNode ${session.version}`),
    ),
  )
}

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

interface Props {
  readonly title: string
  /** The line at the top, if it differs from the title. */
  readonly heading?: string
  /** Severity, for views that show it at the top. */
  readonly tone?: Tone
  /** The view's message in one sentence. */
  readonly sentence?: ComponentChildren
  readonly tools?: ComponentChildren
  /** The clusters that the view can show, and the one that it shows. */
  readonly scope?: Scope
  /** The equivalent terminal commands. */
  readonly commands: readonly string[]
  readonly children?: ComponentChildren
}

/** A view: title, sentence, tools, content, and the equivalent terminal commands. */
export function Page({ title, heading = title, tone, sentence, tools, commands, scope, children }: Props): VNode {
  const { route } = useApp()
  const [first] = useState(isFirst)
  useEffect(() => {
    document.title = title === 'Home' ? 'KubeNode' : `${visible(title)} · KubeNode`
  }, [title])
  // A screen reader starts at a new view's title; the first view is read from the top. Search focuses its field instead. Before the picture is drawn: later, it
  // would take the focus from a row that someone has gone to at once.
  useLayoutEffect(() => {
    if (!first && route.view !== 'search' && !isChoosing()) toTitle()
    document.documentElement.dataset['shown'] = route.view
  }, [route.view, route.name, route.cluster])
  return h(
    'main',
    { id: 'main' },
    h(Crumbs, { title, ...defined({ scope }) }),
    h(
      'div',
      { class: tone === undefined ? 'title' : `title sheet verdict ${tone}` },
      h('div', { class: 'words' }, h('h1', { tabIndex: -1 }, heading), sentence !== undefined && h('p', {}, sentence)),
      (tools !== undefined || commands.length > 0) &&
        h('div', { class: 'tools' }, tools, h(Shell, { key: commands.join('\n'), commands })),
    ),
    children,
  )
}

/** Arrow keys in a select move from cluster to cluster: it keeps the focus until the user leaves it. */
const isChoosing = (): boolean => document.activeElement?.matches('main select') === true

const isFirst = (): boolean => document.documentElement.dataset['shown'] === undefined

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
