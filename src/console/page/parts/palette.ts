// The command palette: one field for views, clusters, actions and every object; opened with k.
import { h } from '../h.ts'
import type { VNode } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { clustersWith, useAnswer, useApp } from '../app.ts'
import type { SearchAnswer } from '../../protocol.ts'
import { PLACES } from '../places.ts'
import { hasCluster, parseRoute, toView, withParams } from '../router.ts'
import { nounOf } from './noun.ts'
import { hrefOfObject } from './wait.ts'

interface Entry {
  readonly id: string
  readonly text: string
  readonly note: string
  readonly run: () => void
}

/** A pause in typing; each query makes the server scan its objects. */
const PAUSE_MS = 200
/** More would not be read. */
const MOST_ENTRIES = 12
const MOST_OWN = 8

const press = (selector: string) => (): void => document.querySelector<HTMLElement>(selector)?.click()

export function Palette({ onClose }: { readonly onClose: () => void }): VNode {
  const box = useRef<HTMLDialogElement>(null)
  const field = useRef<HTMLInputElement>(null)
  const [text, setText] = useState('')
  const [asked, setAsked] = useState('')
  const [at, setAt] = useState(0)
  // Before the next key arrives: a person types at once.
  useLayoutEffect(() => {
    box.current?.showModal()
    field.current?.focus()
  }, [])
  useEffect(() => {
    const timer = setTimeout(() => setAsked(text.trim()), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [text])
  const entries = useEntries(text, asked)
  const chosen = Math.min(at, entries.length - 1)
  const run = (entry: Entry | undefined): void => {
    if (entry === undefined) return
    box.current?.close()
    entry.run()
  }
  const key = (event: KeyboardEvent): void => {
    if (event.key === 'ArrowDown') setAt(Math.min(chosen + 1, entries.length - 1))
    else if (event.key === 'ArrowUp') setAt(Math.max(chosen - 1, 0))
    else if (event.key === 'Enter') run(entries[chosen])
    else return
    event.preventDefault()
  }
  return h(
    'dialog',
    { ref: box, class: 'palette', 'aria-label': 'Go to or do', onClose },
    h('input', {
      ref: field,
      type: 'text',
      role: 'combobox',
      'aria-label': 'View, object, cluster or action',
      'aria-expanded': true,
      'aria-controls': 'palette-list',
      'aria-autocomplete': 'list',
      ...(entries.length > 0 && { 'aria-activedescendant': `palette-${chosen}` }),
      placeholder: 'Go to a view or an object, or do something',
      autoComplete: 'off',
      spellcheck: false,
      value: text,
      onInput: (e: Event) => {
        setText((e.currentTarget as HTMLInputElement).value)
        setAt(0)
      },
      onKeyDown: key,
    }),
    h(
      'ul',
      { id: 'palette-list', role: 'listbox', 'aria-label': 'What fits' },
      entries.map((entry, i) =>
        h(
          'li',
          {
            key: entry.id,
            id: `palette-${i}`,
            role: 'option',
            'aria-selected': i === chosen,
            onClick: () => run(entry),
            onMouseMove: () => setAt(i),
          },
          h('span', { class: 'name' }, entry.text),
          h('span', { class: 'soft small' }, entry.note),
        ),
      ),
    ),
    h(
      'p',
      { class: 'small soft', role: 'status' },
      entries.length === 0 ? 'Nothing fits.' : '↑ ↓ choose, Enter goes, Esc closes',
    ),
  )
}

/** The page's own entries at once; objects as soon as the server has answered. */
function useEntries(text: string, asked: string): readonly Entry[] {
  const { session, route, go } = useApp()
  const found = useAnswer<SearchAnswer>(asked === '' ? undefined : `/api/search?${new URLSearchParams({ q: asked })}`)
  const views = PLACES.filter(({ family }) => clustersWith(session, family).length > 0).map(
    ({ view, title }): Entry => ({ id: view, text: title, note: 'view', run: () => go(toView(route, view)) }),
  )
  const clusters = session.clusters.map(({ name }): Entry => ({
    id: `cluster ${name}`,
    text: `Switch to cluster ${name}`,
    note: 'cluster',
    run: () => go({ view: hasCluster(route.view) ? route.view : 'machines', cluster: name, params: {} }),
  }))
  const actions: readonly Entry[] = [
    { id: 'terminal', text: 'Copy the command for a terminal', note: 'action, y', run: press('.shell [data-copy]') },
    { id: 'table', text: 'Show as a table, or as a picture', note: 'action, t', run: press('[data-table]') },
    {
      id: 'wall',
      text: 'Show on a wall: this view alone, large',
      note: 'action, w',
      run: () => go(withParams(route, { wall: '1' })),
    },
    ...(session.canPrepare
      ? [
          {
            id: 'import',
            text: 'Import nodes by a commit',
            note: 'action',
            run: () => go({ view: 'prepare', params: { change: 'import' } }),
          } satisfies Entry,
        ]
      : []),
    { id: 'keys', text: 'All keys', note: 'view, ?', run: () => go({ view: 'keys', params: {} }) },
  ]
  const words = text.trim().toLowerCase().split(/\s+/)
  const own = [...views, ...actions, ...clusters].filter((e) => words.every((w) => e.text.toLowerCase().includes(w)))
  const hits = found.state === 'Ready' && asked === text.trim() ? found.value.hits : []
  return [
    ...own.slice(0, hits.length > 0 ? MOST_OWN : MOST_ENTRIES),
    ...hits.map((hit): Entry => ({
      id: `${hit.cluster}/${hit.kind}/${hit.namespace ?? ''}/${hit.name}`,
      text: hit.called ?? hit.name,
      note: `${nounOf(hit.kind)} in ${hit.cluster}, ${hit.text}`,
      run: () => go(parseRoute(hrefOfObject({ ...route, params: {} }, hit))),
    })),
  ].slice(0, MOST_ENTRIES)
}
