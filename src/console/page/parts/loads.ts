// What the machines on screen use of their nodes: asked for while they are shown, once a minute, and never for more than are drawn.
import { h } from '../h.ts'
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { type LoadAnswer, MOST_LOADS } from '../../load.ts'
import { useApp } from '../app.ts'
import { ask } from '../live/store.ts'
import { Bar } from './clock.ts'

/** Metrics servers measure about that often. */
const AGAIN_MS = 60_000

interface Named {
  readonly cluster: string
  readonly name: string
}

/** By cluster; without the ones that did not answer yet. */
export type Loads = ReadonlyMap<string, LoadAnswer>

/** The present only: nothing records it. */
export function useLoads(machines: readonly Named[]): Loads {
  const { route } = useApp()
  const [loads, setLoads] = useState<Loads>(new Map())
  const isPast = route.params['at'] !== undefined
  const byCluster = isPast ? new Map<string, readonly Named[]>() : Map.groupBy(machines, ({ cluster }) => cluster)
  const urls = [...byCluster].map(([cluster, each]) => {
    const names = each.slice(0, MOST_LOADS).map(({ name }) => name)
    return [cluster, `/api/load?${new URLSearchParams({ cluster, machines: names.toSorted().join(',') })}`] as const
  })
  useEffect(() => {
    let isWanted = true
    const read = (): void => {
      for (const [cluster, url] of urls)
        void ask<LoadAnswer>(url).then((answer) => {
          if (!isWanted) return
          const unknown = 'message' in answer ? answer.message : ''
          const load = answer.state === 'Ready' ? answer.value : { at: 0, loads: [], unknown }
          setLoads((before) => new Map([...before, [cluster, load]]))
        })
    }
    read()
    const timer = setInterval(() => document.hidden || read(), AGAIN_MS)
    return () => {
      isWanted = false
      clearInterval(timer)
    }
  }, [JSON.stringify(urls)])
  return loads
}

/** Why none is known, once for each cluster. */
export function UnknownLoads({ loads, isMany }: { readonly loads: Loads; readonly isMany: boolean }): VNode | null {
  const texts = [...loads].flatMap(([cluster, { unknown }]) =>
    unknown === undefined ? [] : [isMany ? `${unknown} (${cluster})` : unknown],
  )
  return texts.length === 0 ? null : h('p', { class: 'small soft' }, `Load is unknown: ${texts.join('; ')}.`)
}

/** Nothing while it is not answered, or unknown for the whole cluster. */
export function LoadOf({ loads, cluster, name }: Named & { readonly loads: Loads }): VNode | null {
  const answer = loads.get(cluster)
  const own = answer?.loads.find(({ machine }) => machine === name)
  if (own !== undefined)
    return h(
      'div',
      { class: 'loads small' },
      h(Share, { title: 'CPU', percent: own.cpu }),
      h(Share, { title: 'Memory', percent: own.memory }),
    )
  return answer === undefined || answer.unknown !== undefined ? null : h('p', { class: 'small soft' }, 'Load unknown')
}

/** From here on pods may be slowed or evicted. */
const MUCH = 80
const FULL = 95

const Share = ({ title, percent }: { readonly title: string; readonly percent: number }): VNode =>
  h(
    'span',
    {},
    `${title} ${percent}%`,
    h(Bar, { share: percent / 100, tone: percent >= FULL ? 'bad' : percent >= MUCH ? 'wait' : 'good' }),
  )
