// The page's entry point: loads the session, shows the address's view, and sets up global keys and the screen reader voice.
import { createElement, render } from 'preact'
import type { VNode } from 'preact'
import { useEffect, useMemo, useReducer, useState } from 'preact/hooks'
import { h } from './h.ts'
import { AppContext } from './app.ts'
import type { App } from './app.ts'
import { keepFocus, rowsOfView, toTitle } from './focus.ts'
import { Frame } from './frame.ts'
import { decide } from './keyboard.ts'
import type { Action, Pending } from './keyboard.ts'
import { keepPageSecret } from './live/page-secret.ts'
import { serverNow } from './live/server-time.ts'
import { Store } from './live/store.ts'
import { ThemeChoice, applyTheme } from './theme.ts'
import { Loading, Notice } from './parts/states.ts'
import { hrefOf, parseRoute, to, withParams } from './router.ts'
import type { Route, View } from './router.ts'
import { Account } from './views/account.ts'
import { Budgets } from './views/budgets.ts'
import { Clusters } from './views/clusters.ts'
import { Commits } from './views/commits.ts'
import { Home } from './views/home.ts'
import { Keys } from './views/keys.ts'
import { LifeView } from './views/life.ts'
import { MachinesView } from './views/machines.ts'
import { Maintenance } from './views/maintenance.ts'
import { NodeView } from './views/node.ts'
import { Past } from './views/past.ts'
import { Pipeline } from './views/pipeline.ts'
import { Plan } from './views/plan.ts'
import { Prepare } from './views/prepare.ts'
import { Health, Reliability, Utilization } from './views/reports.ts'
import { Repairs } from './views/repairs.ts'
import { Rollouts } from './views/rollouts.ts'
import { Search } from './views/search.ts'
import { SignIn } from './views/sign-in.ts'
import { Why } from './views/why.ts'

const VIEWS: Readonly<Record<View, () => VNode>> = {
  home: Home,
  health: Health,
  utilization: Utilization,
  reliability: Reliability,
  pipeline: Pipeline,
  machines: MachinesView,
  rollouts: Rollouts,
  why: Why,
  budgets: Budgets,
  repairs: Repairs,
  node: NodeView,
  clusters: Clusters,
  maintenance: Maintenance,
  commits: Commits,
  plan: Plan,
  prepare: Prepare,
  past: Past,
  life: LifeView,
  search: Search,
  keys: Keys,
  account: Account,
}

/** A chord not finished within this time is dropped. */
const CHORD_MS = 1500

function Root({ store }: { readonly store: Store }): VNode {
  const [route, setRoute] = useState(() => parseRoute(location.hash))
  const [announced, announce] = useState('')
  const [, redraw] = useReducer((n: number) => n + 1, 0)
  useEffect(() => {
    const end = store.onChange(() => redraw(undefined))
    // The session may have arrived between the first draw and this effect.
    redraw(undefined)
    return end
  }, [store])
  useEffect(() => {
    const follow = (): void => setRoute(parseRoute(location.hash))
    addEventListener('hashchange', follow)
    return () => removeEventListener('hashchange', follow)
  }, [])
  const go = useMemo(() => goer(setRoute), [])
  useEffect(() => listenToKeys(go), [go])
  const { session } = store
  if (session.state === 'Loading') return h('main', {}, h(Loading, {}))
  if (session.state !== 'Ready')
    return h(
      'main',
      {},
      h('h1', {}, 'KubeNode'),
      session.state === 'Refused'
        ? h(SignIn, { onDone: () => void store.start() })
        : h(Notice, { title: 'The console does not answer' }, `${session.message}. The page tries again by itself.`),
    )
  const app: App = { store, session: session.value, route, go, announce, announced, now: serverNow }
  const frame = h(Frame, { look: h(ThemeChoice, {}), children: h(VIEWS[route.view], { key: route.view }) })
  const voice = h('div', { class: 'off-screen', role: 'status', id: 'voice' }, announced)
  return createElement(AppContext.Provider, { value: app }, frame, voice) as VNode
}

/** Moves and typing within a view replace the address; otherwise `back` would go through every cell, second and letter. */
const MOVES: Readonly<Partial<Record<View, readonly string[]>>> = {
  machines: ['on'],
  past: ['from', 'to'],
  prepare: ['cluster', 'nodes', 'set', 'component', 'from', 'to'],
  search: ['q'],
}

function isMove(from: Route, next: Route): boolean {
  const none = Object.fromEntries((MOVES[from.view] ?? []).map((name) => [name, '']))
  return hrefOf(withParams(from, none)) === hrefOf(withParams(next, none))
}

const goer =
  (setRoute: (route: Route) => void) =>
  (next: Route): void => {
    if (isMove(parseRoute(location.hash), next)) history.replaceState(null, '', hrefOf(next))
    else history.pushState(null, '', hrefOf(next))
    setRoute(next)
  }

function listenToKeys(go: (route: Route) => void): () => void {
  let pending: Pending
  let timer: ReturnType<typeof setTimeout>
  const press = (event: KeyboardEvent): void => {
    const target = event.target as HTMLElement
    const isTyping =
      target.matches('input:not([type=range]), select, textarea') || document.querySelector('dialog[open]') !== null
    const { pending: next, action } = decide(pending, {
      key: event.key,
      isModified: event.ctrlKey || event.altKey || event.metaKey,
      isTyping,
    })
    pending = next
    clearTimeout(timer)
    if (next !== undefined) timer = setTimeout(() => (pending = undefined), CHORD_MS)
    if (action !== undefined && act(action, go)) event.preventDefault()
  }
  addEventListener('keydown', press)
  return () => removeEventListener('keydown', press)
}

/** Returns whether the key was used. */
function act(action: Action, go: (route: Route) => void): boolean {
  const route = parseRoute(location.hash)
  const open = (view: View): true => {
    go(parseRoute(to(route, view)))
    // A view that is already shown takes the focus only on request.
    if (route.view === view) toTitle()
    return true
  }
  switch (action.do) {
    case 'go':
      return open(action.view)
    case 'search':
      return route.view === 'search' ? toField() : open('search')
    case 'keys':
      return open('keys')
    case 'table':
      return press('[data-table]')
    case 'copy':
      return press('footer [data-copy]')
    case 'next':
      return step(1)
    case 'previous':
      return step(-1)
    case 'close':
      return leaveField()
    default:
      return action satisfies never
  }
}

/** The search view keeps its words. */
function toField(): true {
  const field = document.querySelector<HTMLInputElement>('main [type=search]')
  field?.focus()
  field?.select()
  return true
}

/** A dialog closes itself. A browser would clear the search field while its results stay. */
function leaveField(): boolean {
  const field = document.activeElement
  if (!(field instanceof HTMLElement) || document.querySelector('dialog[open]') !== null) return false
  field.blur()
  return field.matches('[type=search]')
}

const press = (selector: string): boolean => {
  const element = document.querySelector<HTMLElement>(selector)
  element?.click()
  return element !== null
}

/** Moves to the view's next or previous row. */
function step(by: 1 | -1): boolean {
  const rows = rowsOfView()
  const at = rows.findIndex((row) => row === document.activeElement)
  const next = rows[at === -1 ? (by === 1 ? 0 : rows.length - 1) : at + by]
  next?.focus()
  next?.scrollIntoView({ block: 'nearest' })
  return next !== undefined
}

keepPageSecret()
applyTheme()
const store = new Store()
const page = document.getElementById('page')
if (page !== null) {
  render(h(Root, { store }), page)
  keepFocus(page)
}
document.addEventListener('visibilitychange', () => {
  if (document.visibilityState === 'visible') store.resume()
})
void store.start()
