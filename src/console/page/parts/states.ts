// Placeholders without content: loading, empty, refused, missing, failed. Each explains itself and what to do.
import { h } from '../h.ts'
import type { ComponentChildren, VNode } from 'preact'
import type { Loaded } from '../live/store.ts'

export const Notice = ({ title, children }: { readonly title: string; readonly children?: ComponentChildren }): VNode =>
  h('div', { class: 'sheet state' }, h('h2', {}, title), h('p', {}, children))

export const Loading = (): VNode =>
  h(
    'div',
    { class: 'sheet bones', role: 'status' },
    h('span', { class: 'off-screen' }, 'Loading'),
    h('i', {}),
    h('i', {}),
    h('i', {}),
  )

export const sentence = (text: string): string =>
  text === '' ? '' : `${text.charAt(0).toUpperCase()}${text.slice(1)}${text.endsWith('.') ? '' : '.'}`

/** Draws the content, or why there is none. */
export function shown<T>(loaded: Loaded<T>, draw: (value: T) => ComponentChildren): ComponentChildren {
  switch (loaded.state) {
    case 'Loading':
      return h(Loading, {})
    case 'Ready':
      return draw(loaded.value)
    case 'Refused':
      return h(
        Notice,
        { title: 'You may not read this' },
        sentence(loaded.message),
        ' Ask for the right to list these objects; the page then shows them without a reload.',
      )
    case 'Missing':
      return h(
        Notice,
        { title: 'This does not exist' },
        sentence(loaded.message),
        ' It may have been deleted, or the address has a spelling mistake.',
      )
    case 'Failed':
      return h(
        Notice,
        { title: 'This could not be read' },
        sentence(loaded.message),
        ' The page tries again by itself.',
      )
    default:
      return loaded satisfies never
  }
}
