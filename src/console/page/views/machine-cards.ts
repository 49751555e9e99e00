// A few machines as cards: what runs on each, its load, what is wrong, since when. Thousands are the heat map.
import { h } from '../h.ts'
import type { VNode } from 'preact'
import { MOST_LOADS } from '../../load.ts'
import { useApp } from '../app.ts'
import { groupName, machineAt } from '../heat/machines.ts'
import type { Machine, Machines, Wanted } from '../heat/machines.ts'
import { Since } from '../parts/clock.ts'
import { LoadOf, type Loads, UnknownLoads, useLoads } from '../parts/loads.ts'
import { Mark, spaced, toneOf } from '../parts/mark.ts'
import { count } from '../parts/time.ts'
import { Version } from '../parts/version.ts'
import { hrefOf, to, withParams } from '../router.ts'
import { isFull, isPicked, picksIn, toggled } from '../parts/picked.ts'
import type { Pick } from '../parts/picked.ts'

/** More of them are faster to read as a heat map. */
export const MOST_CARDS = MOST_LOADS

interface Props {
  readonly cells: Machines
  readonly wanted: Wanted
  readonly isMany: boolean
}

const machinesIn = (cells: Machines, ids: readonly number[]): readonly Machine[] =>
  ids.flatMap((id) => {
    const topic = cells.topicOf(id)
    return topic === undefined ? [] : [machineAt(topic, cells.placeOf(id))]
  })

/** All machines of the cells, for a selection. */
export const allOf = (cells: Machines): readonly Machine[] =>
  cells.groups.flatMap(({ cells: ids }) => machinesIn(cells, ids))

export function MachineCards({ cells, wanted, isMany }: Props): VNode {
  const { route } = useApp()
  const picks = picksIn(route)
  const loads = useLoads(allOf(cells))
  return h(
    'div',
    { class: 'wide' },
    h(UnknownLoads, { loads, isMany }),
    cells.groups.map(({ title, cells: ids }) =>
      h(
        'section',
        { key: title, class: 'stack', 'aria-label': title === '' ? 'Machines' : `${groupName(wanted)} ${title}` },
        title !== '' && h('h2', {}, title, h('span', { class: 'soft small' }, ` ${count(ids.length)}`)),
        h(
          'ul',
          { class: 'tiles' },
          machinesIn(cells, ids)
            .toSorted((a, b) => rank(a) - rank(b))
            .map((machine) =>
              h('li', { key: `${machine.cluster}/${machine.name}` }, h(MachineCard, { machine, picks, loads, isMany })),
            ),
        ),
      ),
    ),
  )
}

const isBad = ({ phase, condition, health, silent }: Machine): boolean =>
  toneOf(phase) === 'bad' ||
  toneOf(phase) === 'still' ||
  silent === 'Yes' ||
  toneOf(health) === 'bad' ||
  (condition !== '' && condition !== 'Unknown')

const RANKS: Readonly<Record<string, number>> = { bad: 0, still: 0, mend: 1, busy: 1, wait: 2, rest: 2, good: 3 }
const rank = (machine: Machine): number => (isBad(machine) ? 0 : (RANKS[toneOf(machine.phase)] ?? 2))

interface CardProps {
  readonly machine: Machine
  readonly picks: readonly Pick[]
  readonly loads: Loads
  readonly isMany: boolean
}

function MachineCard({ machine, picks, loads, isMany }: CardProps): VNode {
  const { route, go } = useApp()
  const { cluster, name, phase, versions } = machine
  const place = [machine.zone, machine.rack, machine.pool, machine.class, isMany ? cluster : ''].filter((t) => t !== '')
  return h(
    'div',
    { class: isBad(machine) ? 'sheet tile bad' : 'sheet tile' },
    h(
      'div',
      { class: 'row apart' },
      h('a', { href: to(route, 'node', { cluster, name }), 'data-row': '', class: 'name' }, name),
      h('input', {
        type: 'checkbox',
        class: 'tick',
        checked: isPicked(picks, machine),
        disabled: isFull(picks) && !isPicked(picks, machine),
        'aria-label': `Pick ${name}`,
        onChange: () => go(toggled(route, machine)),
      }),
    ),
    h(
      'div',
      { class: 'row small' },
      h(Mark, { phase }),
      h('span', { class: 'soft' }, h(Since, { at: machine.since })),
      machine.reason !== '' && h('span', {}, spaced(machine.reason)),
    ),
    h(Troubles, { machine }),
    versions !== '' &&
      h(
        'div',
        { class: 'row small' },
        versions.split(',').map((v) => {
          const [component = '', version = ''] = v.split('=')
          const only = { color: 'version', component, only: version }
          return h(Version, { key: component, name: component, version, href: hrefOf(withParams(route, only)) })
        }),
      ),
    h(LoadOf, { loads, cluster, name }),
    h(
      'p',
      { class: 'small soft' },
      [...place, machine.kernel]
        .filter((t) => t !== '')
        .flatMap((text, i) => [i > 0 && ' · ', h('span', { class: 'nowrap' }, text)]),
    ),
  )
}

/** What is wrong beside its phase. */
function Troubles({ machine }: { readonly machine: Machine }): VNode | null {
  const { health, condition, repair, silent, reason, blame } = machine
  const troubles = [
    ...(toneOf(health) === 'bad' ? [h(Mark, { key: 'health', phase: health })] : []),
    ...(condition === '' ? [] : [h(Mark, { key: 'condition', phase: condition, tone: toneOfProblem(condition) })]),
    ...(repair === '' ? [] : [h(Mark, { key: 'repair', phase: `repair ${repair.toLowerCase()}`, tone: 'mend' })]),
    ...(silent === 'Yes' && reason !== 'AgentSilent'
      ? [h(Mark, { key: 'silent', phase: 'silent', tone: 'still' })]
      : []),
    ...(blame === ''
      ? []
      : [h('span', { key: 'blame', class: 'soft' }, `blamed: ${blame.replace(/^[A-Z]/, (c) => c.toLowerCase())}`)]),
  ]
  return troubles.length === 0 ? null : h('div', { class: 'row small' }, troubles)
}

const toneOfProblem = (condition: string) => (condition === 'Unknown' ? 'rest' : 'bad')
