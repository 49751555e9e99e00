// The page's entry point: loads the session, shows the address's view, and sets up global keys and the screen reader voice.
import { createElement, render } from 'preact'
import type { VNode } from 'preact'
import { useEffect, useMemo, useReducer, useState } from 'preact/hooks'
import { h } from './h.ts'
import { AppContext } from './app.ts'
import type { App } from './app.ts'
import { followInput, keepFocus, rowsOfView, toTitle } from './focus.ts'
import { Frame } from './frame.ts'
import { decide } from './keyboard.ts'
import type { Action, Pending } from './keyboard.ts'
import { keepPageSecret } from './live/page-secret.ts'
import { serverNow } from './live/server-time.ts'
import { Store } from './live/store.ts'
import { themeChoices, applyTheme } from './theme.ts'
import { MessageList, Toast, withMessage } from './parts/messages.ts'
import type { Message } from './parts/messages.ts'
import { Palette } from './parts/palette.ts'
import { Loading, Notice } from './parts/states.ts'
import { hrefOf, parseRoute, toView, withParams } from './router.ts'
import type { Route, View } from './router.ts'
import { SignIn } from './views/sign-in.ts'
import { loadOthers, loadView, Shown } from './views.ts'

/** A chord not finished within this time is dropped. */
const CHORD_MS = 1500

function Root({ store }: { readonly store: Store }): VNode {
  const [route, setRoute] = useState(() => parseRoute(location.hash))
  const [announced, speak] = useState('')
  const [messages, setMessages] = useState<readonly Message[]>([])
  const announce = (text: string): void => {
    speak(text)
    setMessages((before) => withMessage(before, text, serverNow()))
  }
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
  // Which opening of the palette is shown, 0 for none: the end of one is reported late, when someone may have opened the next one.
  const [opening, setOpening] = useState(0)
  useEffect(() => listenToKeys(go, () => setOpening((before) => before + 1)), [go])
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
  const foot = [...themeChoices(), h(MessageList, { key: 'messages', messages })]
  const frame = h(Frame, { foot, children: h(Shown, { key: route.view, view: route.view }) })
  const voice = h('div', { class: 'off-screen', role: 'status', id: 'voice' }, announced)
  const ended = (): void => setOpening((now) => (now === opening ? 0 : now))
  const palette = opening > 0 && h(Palette, { key: `palette-${opening}`, onClose: ended })
  return createElement(AppContext.Provider, { value: app }, frame, voice, h(Toast, { messages }), palette) as VNode
}

/** Moves and typing within a view replace the address; otherwise `back` would go through every cell, second and letter. */
const MOVES: Readonly<Partial<Record<View, readonly string[]>>> = {
  machines: ['on'],
  past: ['from', 'to'],
  prepare: ['change', 'cluster', 'machines', 'nodes', 'set', 'component', 'from', 'to'],
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

function listenToKeys(go: (route: Route) => void, openPalette: () => void): () => void {
  let pending: Pending
  let timer: ReturnType<typeof setTimeout>
  const press = (event: KeyboardEvent): void => {
    const target = event.target as HTMLElement
    const isTyping =
      target.matches('input:not([type=range], [type=checkbox]), select, textarea') ||
      document.querySelector('dialog[open]') !== null
    const { pending: next, action } = decide(pending, {
      key: event.key,
      isModified: event.ctrlKey || event.altKey || event.metaKey,
      isTyping,
    })
    pending = next
    clearTimeout(timer)
    if (next !== undefined) timer = setTimeout(() => (pending = undefined), CHORD_MS)
    if (action !== undefined && act(action, go, openPalette)) event.preventDefault()
  }
  addEventListener('keydown', press)
  return () => removeEventListener('keydown', press)
}

/** Returns whether the key was used. */
function act(action: Action, go: (route: Route) => void, openPalette: () => void): boolean {
  const route = parseRoute(location.hash)
  const open = (view: View): true => {
    go(toView(route, view))
    // A view that is already shown takes the focus only on request.
    if (route.view === view) toTitle()
    return true
  }
  switch (action.do) {
    case 'go':
      return open(action.view)
    case 'search':
      return route.view === 'search' ? toField() : open('search')
    case 'palette':
      openPalette()
      return true
    case 'keys':
      return open('keys')
    case 'table':
      return press('[data-table]')
    case 'wall':
      go(withParams(route, { wall: route.params['wall'] === undefined ? '1' : '' }))
      return true
    case 'copy':
      return press('.shell [data-copy]')
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
// Beside the session: each takes a while.
void loadView(parseRoute(location.hash).view).then(loadOthers)
const store = new Store()
const page = document.getElementById('page')
if (page !== null) {
  render(h(Root, { store }), page)
  keepFocus(page)
}
followInput()
document.addEventListener('visibilitychange', () => {
  if (document.visibilityState === 'visible') store.resume()
})
void store.start()
