// What the page told the user: each message appears for some seconds, and stays in a list.
import { h } from '../h.ts'
import type { VNode } from 'preact'
import { Since } from './clock.ts'

export interface Message {
  /** Counts up, so that the same words twice are two messages. */
  readonly number: number
  readonly at: number
  readonly text: string
}

/** Older ones are of no use. */
const MOST_MESSAGES = 50

export const withMessage = (messages: readonly Message[], text: string, at: number): readonly Message[] =>
  text === '' ? messages : [{ number: (messages[0]?.number ?? 0) + 1, at, text }, ...messages].slice(0, MOST_MESSAGES)

/** For eyes alone: a screen reader gets the same words from the page's voice. The style sheet ends it. */
export const Toast = ({ messages }: { readonly messages: readonly Message[] }): VNode | null => {
  const [last] = messages
  return last === undefined ? null : h('p', { key: last.number, class: 'toast', 'aria-hidden': 'true' }, last.text)
}

export const MessageList = ({ messages }: { readonly messages: readonly Message[] }): VNode | null =>
  messages.length === 0
    ? null
    : h(
        'details',
        { class: 'messages long' },
        h('summary', {}, `Messages (${messages.length})`),
        h(
          'ul',
          { class: 'stack' },
          messages.map(({ number, at, text }) =>
            h('li', { key: number }, text, ' ', h('span', { class: 'soft' }, h(Since, { at }))),
          ),
        ),
      )
