// The heat map on the screen: a canvas for eyes and pointers, and next to it a one-cell grid for the keyboard and screen readers.
import { h } from '../h.ts'
import type { VNode } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { useApp } from '../app.ts'
import { Since } from '../parts/clock.ts'
import { Mark } from '../parts/mark.ts'
import { hrefOf, parseRoute, to, withParams } from '../router.ts'
import { topicOf } from '../../topic-name.ts'
import { isPicked, picksIn, toggled } from '../parts/picked.ts'
import { draw } from './draw.ts'
import { cellAt, fieldOf, moved } from './field.ts'
import type { Field, Move } from './field.ts'
import { onThemeChange } from './legend.ts'
import { groupName, machineAt, spoken } from './machines.ts'
import type { Machine, Machines, Wanted } from './machines.ts'

const KEYS: Readonly<Record<string, Move>> = {
  ArrowLeft: 'left',
  ArrowRight: 'right',
  ArrowUp: 'up',
  ArrowDown: 'down',
  Home: 'first',
  End: 'last',
  PageDown: 'nextGroup',
  PageUp: 'previousGroup',
}

interface Props {
  readonly cells: Machines
  readonly wanted: Wanted
  readonly isMany: boolean
}

export function HeatMap({ cells, wanted, isMany }: Props): VNode {
  const { route, go } = useApp()
  const canvas = useRef<HTMLCanvasElement>(null)
  const [box, width] = useWidth()
  const [pointed, setPointed] = useState<number>()
  const active = idOf(cells, route.params['on'])
  const field = useMemo(() => fieldOf(cells.groups, width), [cells.groups, width])
  useEffect(() => {
    const paint = (): void =>
      void (canvas.current && draw(canvas.current, { field, machines: cells, active: pointed ?? active }))
    paint()
    return onThemeChange(paint)
  }, [field, cells, active, pointed])
  const machine = machineOf(cells, pointed ?? active)
  const choose = (id: number | undefined): void => {
    const chosen = machineOf(cells, id)
    if (chosen !== undefined) go(withParams(route, { on: `${chosen.cluster}/${chosen.name}` }))
  }
  const open = (): void => {
    const chosen = machineOf(cells, active)
    if (chosen !== undefined) go(parseRoute(to(route, 'node', { cluster: chosen.cluster, name: chosen.name })))
  }
  const press = (event: KeyboardEvent): void => {
    const move = KEYS[event.key]
    if (event.key === 'Enter') open()
    else if (move !== undefined && !event.ctrlKey && !event.altKey && !event.metaKey) choose(moved(field, active, move))
    else return
    event.preventDefault()
  }
  const under = ({ offsetX, offsetY }: MouseEvent): number | undefined => cellAt(field, offsetX, offsetY)
  const selected = machineOf(cells, active)
  return h(
    'div',
    { class: 'stack' },
    h(Card, { machine, isMany }),
    h(
      'div',
      { class: 'sheet map-field' },
      h(
        'div',
        {
          class: 'map-grid',
          role: 'grid',
          tabIndex: 0,
          'aria-label': `Heat map of ${cells.shown} machines. Arrow keys move, Page Down goes to the next group, Enter opens.`,
          'aria-rowcount': field.blocks.length,
          'aria-activedescendant': 'heat-cell',
          onKeyDown: press,
          onFocus: () => active === undefined && choose(moved(field, undefined, 'first')),
        },
        h(
          'div',
          { role: 'row', class: 'off-screen' },
          h(
            'div',
            { role: 'gridcell', id: 'heat-cell', 'aria-selected': 'true' },
            selected === undefined ? 'No machine is chosen' : spoken(selected, isMany),
          ),
        ),
        h(
          'div',
          { ref: box, role: 'presentation' },
          h('canvas', {
            ref: canvas,
            'aria-hidden': 'true',
            onMouseMove: (e: MouseEvent) => setPointed(under(e)),
            onMouseLeave: () => setPointed(undefined),
            onClick: (e: MouseEvent) => choose(under(e)),
            onDblClick: open,
          }),
        ),
      ),
      h('div', { role: 'status', class: 'off-screen' }, selected === undefined ? '' : spoken(selected, isMany)),
    ),
    field.blocks.length > 1 && h(Groups, { field, wanted }),
  )
}

/** The machine under the pointer, else the selected one. */
function Card({ machine, isMany }: { readonly machine: Machine | undefined; readonly isMany: boolean }): VNode {
  const { route } = useApp()
  if (machine === undefined)
    return h('div', { class: 'sheet card soft' }, 'Point at a cell, tap it, or move with the arrow keys.')
  return h(
    'div',
    { class: 'sheet card' },
    h('a', { href: to(route, 'node', { cluster: machine.cluster, name: machine.name }), class: 'name' }, machine.name),
    h(Mark, { phase: machine.phase }),
    machine.reason !== '' && h('span', {}, machine.reason),
    machine.health !== '' && h('span', { class: 'soft' }, 'components: ', machine.health),
    machine.blame !== '' && h('span', { class: 'soft' }, `blamed: ${machine.blame}`),
    h(
      'span',
      { class: 'soft' },
      [machine.zone, machine.rack, machine.pool, isMany ? machine.cluster : ''].filter((t) => t !== '').join(' · '),
    ),
    h('span', { class: 'soft' }, h(Since, { at: machine.since })),
    h('a', { href: hrefOf(toggled(route, machine)) }, isPicked(picksIn(route), machine) ? 'Drop it' : 'Pick it'),
  )
}

/** Up to this many groups get a link each; beyond, the table is used. */
const MOST_GROUPS = 24

function Groups({ field, wanted }: { readonly field: Field; readonly wanted: Wanted }): VNode | null {
  const { route } = useApp()
  if (field.blocks.length > MOST_GROUPS) return null
  return h(
    'p',
    { class: 'row small' },
    h('span', { class: 'soft' }, `Only ${groupName(wanted)}:`),
    field.blocks.map(({ title }) => h('a', { key: title, href: hrefOf(withParams(route, { in: title })) }, title)),
  )
}

function machineOf(cells: Machines, id: number | undefined): Machine | undefined {
  const topic = id === undefined ? undefined : cells.topicOf(id)
  return topic === undefined || id === undefined ? undefined : machineAt(topic, cells.placeOf(id))
}

/** The cell of `cluster/machine`, if shown. Only the cluster's name may contain slashes. */
function idOf(cells: Machines, on: string | undefined): number | undefined {
  if (on === undefined) return undefined
  const slash = on.lastIndexOf('/')
  const [cluster, name] = [on.slice(0, slash), on.slice(slash + 1)]
  for (const { cells: ids } of cells.groups) {
    for (const id of ids) {
      const topic = cells.topicOf(id)
      if (topic?.names[cells.placeOf(id)] === name && topic.topic === topicOf('machines', cluster)) return id
    }
  }
  return undefined
}

/** The available width, updated when the window changes. */
function useWidth(): readonly [(element: HTMLElement | null) => void, number] {
  const [element, setElement] = useState<HTMLElement | null>(null)
  const [width, setWidth] = useState(0)
  useEffect(() => {
    if (element === null) return undefined
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)))
    observer.observe(element)
    setWidth(Math.floor(element.clientWidth))
    return () => observer.disconnect()
  }, [element])
  return [setElement, width]
}
