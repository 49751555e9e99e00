// Every key, in one list.
import { h } from '../h.ts'
import type { VNode } from 'preact'
import { Page } from '../frame.ts'
import { CHORDS } from '../keyboard.ts'
import { PLACES } from '../places.ts'

const KEYS: readonly (readonly [string, string])[] = [
  ['/', 'Search'],
  ['k', 'Go to any view, object or cluster, or do something'],
  ['j  J', 'Next row, previous row'],
  ['Enter', 'Open the row or the machine'],
  ['t', 'The same as a table, and back'],
  ['w', 'The view alone, large, for a monitor on a wall, and back'],
  ['y', 'Copy the command for a terminal'],
  ['Esc', 'Leave a field or a form'],
  ['?', 'This list'],
  ['← ↑ → ↓', 'In the heat map: to the next machine'],
  ['Page Down, Page Up', 'In the heat map: to the next group, to the previous one'],
]

export const Keys = (): VNode =>
  h(
    Page,
    { title: 'Keys', commands: ['kubenode --help'] },
    h(
      'dl',
      { class: 'sheet pad keys' },
      [...KEYS, ...chords()].flatMap(([key, text]) => [
        h('dt', { key }, h('kbd', {}, key)),
        h('dd', { key: `${key}=` }, text),
      ]),
    ),
  )

const chords = (): readonly (readonly [string, string])[] =>
  Object.entries(CHORDS).map(([key, view]) => [
    `g ${key}`,
    PLACES.find((p) => p.view === view)?.title ?? 'Why it waits',
  ])
