// The past: every view at an earlier moment, and the changes between two moments. The memory is bounded and shows where it starts.
import { h } from '../h.ts'
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { clustersWith, hubOf, useApp } from '../app.ts'
import { Choice, Page } from '../frame.ts'
import { askChanges, askPast } from '../live/store.ts'
import type { Loaded } from '../live/store.ts'
import type { ChangesAnswer, PastAnswer } from '../../protocol.ts'
import { clusterOf, topicOf } from '../../topic-name.ts'
import { Mark } from '../parts/mark.ts'
import { Notice, shown } from '../parts/states.ts'
import { Table } from '../parts/table.ts'
import { word } from '../parts/terminal.ts'
import { moment, span } from '../parts/time.ts'
import { hrefOf, to, withParams } from '../router.ts'
import { changesIn } from './past-changes.ts'
import type { Change, Moment } from './past-changes.ts'

interface Two {
  readonly before: PastAnswer
  readonly changes: ChangesAnswer
}

const STEP_MS = 1000
/** A held arrow key moves thirty times a second. */
const PAUSE_MS = 150
/** Retry interval for a busy or unavailable server. */
const AGAIN_MS = 3_000

export function Past(): VNode {
  const { session, route, now } = useApp()
  const topics = Object.fromEntries([
    ...(clustersWith(session, 'pipeline').length > 0 ? [['pipeline', 'Pipeline']] : []),
    ...clustersWith(session, 'machines').map(({ name }) => [topicOf('machines', name), `Machines of ${name}`]),
    ...clustersWith(session, 'sets').map(({ name }) => [topicOf('sets', name), `Rollouts in ${name}`]),
  ]) as Readonly<Record<string, string>>
  const topic = route.params['topic'] ?? Object.keys(topics)[0] ?? 'home'
  const from = Number(route.params['from'] ?? 0)
  const until = Number(route.params['to'] ?? 0)
  const [loaded, setLoaded] = useState<Loaded<Two>>({ state: 'Loading' })
  useEffect(() => {
    let isWanted = true
    let timer = setTimeout(() => void ask(), loaded.state === 'Loading' ? 0 : PAUSE_MS)
    const ask = async (): Promise<void> => {
      const answer = await read(topic, from, until === 0 ? now() : until)
      if (!isWanted) return
      setLoaded(answer)
      if (answer.state === 'Failed') timer = setTimeout(() => void ask(), AGAIN_MS)
    }
    return () => {
      isWanted = false
      clearTimeout(timer)
    }
  }, [topic, from, until])
  return h(
    Page,
    {
      title: 'The past',
      sentence:
        loaded.state === 'Ready'
          ? `Kept since ${moment(loaded.value.before.begins, now())} (${span(now() - loaded.value.before.begins)}); older states are not kept here.`
          : undefined,
      tools: h(Choice, { label: 'Of', name: 'topic', value: topic, options: topics }),
      commands: [`kubenode events --context ${word(clusterOf(topic) ?? hubOf(session))}`],
    },
    shown(loaded, (two) => h(Board, { two, topic, from, until })),
  )
}

/** The changes between the two moments; 0 is the start of the memory. */
async function read(topic: string, from: number, until: number): Promise<Loaded<Two>> {
  const before = await askPast(topic, from)
  if (before.state !== 'Ready') return before
  const changes = await askChanges(topic, Math.max(from, before.value.begins), until)
  return changes.state === 'Ready'
    ? { state: 'Ready', value: { before: before.value, changes: changes.value } }
    : changes
}

function Board({
  two,
  topic,
  from,
  until,
}: {
  readonly two: Two
  readonly topic: string
  readonly from: number
  readonly until: number
}): VNode {
  const { route, now } = useApp()
  const { begins } = two.before
  const ends = Math.max(two.before.ends, begins + STEP_MS)
  const a = Math.max(begins, from)
  const b = until === 0 ? ends : until
  const rows = changesIn(two.before.snapshot, two.changes.delta)
  return h(
    'div',
    { class: 'wide' },
    h(
      'div',
      { class: 'sheet pad stack' },
      h(Slider, { label: 'From', name: 'from', value: a, begins, ends }),
      h(Slider, { label: 'To', name: 'to', value: b, begins, ends }),
    ),
    h(
      'p',
      { class: 'row' },
      h('span', { class: 'soft' }, `Open at ${moment(a, now())}:`),
      h('a', { href: hrefOf({ view: 'pipeline', params: { at: String(a) } }) }, 'Pipeline'),
      clustersOf(topic).map((cluster) => [
        h('a', { href: to(route, 'machines', { cluster, params: { at: String(a) } }) }, `Machines of ${cluster}`),
        h('a', { href: to(route, 'rollouts', { cluster, params: { at: String(a) } }) }, `Rollouts in ${cluster}`),
      ]),
    ),
    rows.length === 0
      ? h(Notice, { title: 'Nothing changed' }, `Between ${moment(a, now())} and ${moment(b, now())}.`)
      : h(Table<Change>, {
          caption: `What changed in ${span(b - a)}`,
          rows,
          idOf: ({ id }) => id,
          columns: [
            { id: 'name', title: 'What', of: (c) => c.name, by: (c) => c.name },
            { id: 'before', title: 'Before', of: (c) => momentOf(c.before), by: (c) => c.before?.phase ?? '' },
            { id: 'after', title: 'After', of: (c) => momentOf(c.after), by: (c) => c.after?.phase ?? '' },
          ],
        }),
  )
}

const clustersOf = (topic: string): readonly string[] => {
  const cluster = clusterOf(topic)
  return cluster === undefined ? [] : [cluster]
}

const momentOf = (one: Moment | undefined): VNode =>
  one === undefined
    ? h('span', { class: 'soft' }, 'absent')
    : h(
        'span',
        { class: 'row' },
        h(Mark, { phase: one.phase }),
        one.facts.length > 0 && h('span', { class: 'soft' }, one.facts.join(', ')),
      )

interface SliderProps {
  readonly label: string
  readonly name: string
  readonly value: number
  readonly begins: number
  readonly ends: number
}

function Slider({ label, name, value, begins, ends }: SliderProps): VNode {
  const { route, go, now } = useApp()
  const change = (e: Event): void => go(withParams(route, { [name]: (e.currentTarget as HTMLInputElement).value }))
  return h(
    'label',
    { class: 'slider' },
    h('span', { class: 'row apart' }, h('span', {}, label), h('time', {}, moment(value, now()))),
    h('input', {
      type: 'range',
      min: begins,
      max: ends,
      step: STEP_MS,
      value,
      'aria-valuetext': moment(value, now()),
      onChange: change,
    }),
  )
}
