// The live log of one component of a node, as its agent reads it: the newest lines at the end, secrets masked.
import { h } from '../h.ts'
import type { VNode } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { followLog } from '../live/log.ts'
import { sentence } from './states.ts'

/** More lines make a page slow on a phone; the terminal has them all. */
const MOST_LINES = 1_000
/** A log that floods brings one with each page. */
const MOST_NOTES = 3
/** Closer to the end than this, a reader follows it. */
const NEAR_END = 24

interface Props {
  readonly cluster: string
  readonly machine: string
  /** The agent's own log is the first. */
  readonly components: readonly string[]
}

const AGENT = 'kubenode-agent'

export function LogTail({ cluster, machine, components }: Props): VNode {
  const [followed, setFollowed] = useState<string>()
  const [chosen, setChosen] = useState(components[0] ?? AGENT)
  return h(
    'section',
    { class: 'stack', 'aria-label': 'Log' },
    h(
      'div',
      { class: 'row apart' },
      h('h2', {}, 'Log'),
      h(
        'div',
        { class: 'tools' },
        h(
          'label',
          {},
          'Of ',
          h(
            'select',
            {
              value: chosen,
              onChange: (e: Event) => {
                const of = (e.currentTarget as HTMLSelectElement).value
                setChosen(of)
                if (followed !== undefined) setFollowed(of)
              },
            },
            [...components, AGENT].map((name) =>
              h('option', { key: name, value: name }, name === AGENT ? 'the agent' : name),
            ),
          ),
        ),
        h(
          'button',
          { type: 'button', onClick: () => setFollowed(followed === undefined ? chosen : undefined) },
          followed === undefined ? 'Follow' : 'Stop',
        ),
      ),
    ),
    followed !== undefined && h(Tail, { key: followed, cluster, machine, component: followed }),
  )
}

interface TailProps {
  readonly cluster: string
  readonly machine: string
  readonly component: string
}

interface Shown {
  readonly lines: readonly string[]
  readonly notes: readonly string[]
  readonly end?: string
}

function Tail({ cluster, machine, component }: TailProps): VNode {
  const [{ lines, notes, end }, show] = useState<Shown>({ lines: [], notes: [] })
  useEffect(() => {
    const stop = new AbortController()
    const take = (part: Parameters<Parameters<typeof followLog>[1]>[0]): void =>
      show((before) =>
        'lines' in part
          ? { ...before, lines: [...before.lines, ...part.lines].slice(-MOST_LINES) }
          : 'note' in part
            ? { ...before, notes: [...before.notes, part.note].slice(-MOST_NOTES) }
            : before,
      )
    void followLog({ cluster, machine, component }, take, stop.signal)
      .catch(() => 'the server does not answer')
      .then((why) => {
        if (!stop.signal.aborted) show((before) => ({ ...before, end: why }))
      })
    return () => stop.abort()
  }, [cluster, machine, component])
  const box = useRef<HTMLPreElement>(null)
  const isAtEnd = useRef(true)
  useLayoutEffect(() => {
    if (isAtEnd.current && box.current !== null) box.current.scrollTop = box.current.scrollHeight
  }, [lines])
  return h(
    'div',
    { class: 'stack' },
    lines.length > 0 &&
      h(
        'pre',
        {
          ref: box,
          class: 'said',
          tabIndex: 0,
          role: 'region',
          'aria-label': `Log of ${component}`,
          onScroll: () => {
            const { scrollTop = 0, clientHeight = 0, scrollHeight = 0 } = box.current ?? {}
            isAtEnd.current = scrollTop + clientHeight > scrollHeight - NEAR_END
          },
        },
        lines.join('\n'),
      ),
    notes.map((note, n) => h('p', { key: n, class: 'small soft' }, note)),
    h(
      'p',
      { class: 'small soft', role: 'status' },
      end === undefined ? (lines.length === 0 ? 'Asking the agent…' : 'Live, with secrets masked') : sentence(end),
    ),
  )
}
