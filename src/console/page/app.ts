// What every view can reach: store, address, clock and screen reader voice, with the hooks that follow them.
import { createContext } from 'preact'
import { useContext, useEffect, useReducer, useState } from 'preact/hooks'
import type { ClusterAccess, Session, Snapshot, Topic, TopicFamily } from '../protocol.ts'
import { ask, askPast } from './live/store.ts'
import type { Loaded, Store } from './live/store.ts'
import type { Route } from './router.ts'

export interface App {
  readonly store: Store
  readonly session: Session
  readonly route: Route
  readonly go: (route: Route) => void
  /** Reads a sentence aloud. */
  readonly announce: (text: string) => void
  /** The last sentence read aloud. */
  readonly announced: string
  readonly now: () => number
}

/** The frame sets the real one before any view is drawn. */
export const AppContext = createContext<App | undefined>(undefined)

export function useApp(): App {
  const app = useContext(AppContext)
  if (app === undefined) throw new Error('a view is drawn outside of the frame')
  return app
}

const LOADING: Loaded<never> = { state: 'Loading' }

/** A live topic; in the past, the topic at that moment. */
export function useTopic<T extends Snapshot>(topic: Topic | undefined): Loaded<T> {
  return useTopics<T>(topic === undefined ? [] : [topic])[0] ?? LOADING
}

/** Several topics, each with its own state. */
export function useTopics<T extends Snapshot>(topics: readonly Topic[]): readonly Loaded<T>[] {
  const { store, route } = useApp()
  const at = Number(route.params['at'] ?? 0)
  const [past, setPast] = useState<ReadonlyMap<string, Loaded<Snapshot>>>(new Map())
  const [, redraw] = useReducer((n: number) => n + 1, 0)
  const key = topics.join(' ')
  useEffect(() => {
    if (at !== 0) {
      let isWanted = true
      for (const topic of topics) {
        void askPast(topic, at).then((answer) => {
          const loaded: Loaded<Snapshot> =
            answer.state === 'Ready' ? { state: 'Ready', value: answer.value.snapshot } : answer
          if (isWanted) setPast((before) => new Map([...before, [`${topic}@${at}`, loaded]]))
        })
      }
      return () => void (isWanted = false)
    }
    // Draws a batch of deltas once. A hidden tab draws nothing until it is shown.
    let frame = 0
    const draw = () => {
      frame ||= requestAnimationFrame(() => {
        frame = 0
        redraw(undefined)
      })
    }
    const ends = topics.map((topic) => store.follow(topic, draw))
    redraw(undefined)
    return () => {
      cancelAnimationFrame(frame)
      for (const end of ends) end()
    }
  }, [key, at, store])
  return topics.map((t) => (at === 0 ? store.topic(t) : (past.get(`${t}@${at}`) ?? LOADING)) as Loaded<T>)
}

/** The answer to a query, requested again whenever `again` changes. */
export function useAnswer<T>(url: string | undefined, again: unknown = 0): Loaded<T> {
  const [answer, setAnswer] = useState<{ readonly url: string | undefined; readonly loaded: Loaded<T> }>()
  useEffect(() => {
    if (url === undefined) return undefined
    let isWanted = true
    void ask<T>(url).then((loaded) => isWanted && setAnswer({ url, loaded }))
    return () => void (isWanted = false)
  }, [url, again])
  return answer !== undefined && answer.url === url ? answer.loaded : LOADING
}

const TICK_MS = 1000

/** The current time, updated every second while the tab is visible. Only for the smallest components, because each use redraws every second. */
export function useNow(): number {
  const { now, route } = useApp()
  const [time, setTime] = useState(now)
  const at = Number(route.params['at'] ?? 0)
  useEffect(() => {
    const timer = setInterval(() => document.hidden || setTime(now()), TICK_MS)
    return () => clearInterval(timer)
  }, [now])
  return at === 0 ? time : at
}

/** The hub's context on the command line. */
export const hubOf = ({ clusters }: Session): string => clusters.find(({ isHub }) => isHub)?.name ?? 'hub'

/** Clusters where the user may read a topic family. */
export const clustersWith = ({ clusters }: Session, family: TopicFamily): readonly ClusterAccess[] =>
  clusters.filter(({ topics }) => topics.includes(family))

/** The address's cluster, or the first that can be shown. */
export function useCluster(family: TopicFamily): string | undefined {
  const { session, route } = useApp()
  if (route.cluster !== undefined) return route.cluster
  const allowed = clustersWith(session, family)
  return (allowed.find(({ isHub, state }) => !isHub && state === 'Connected') ?? allowed[0])?.name
}
