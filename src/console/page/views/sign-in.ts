// Sign-in where there are no links: at the issuer, or with a token for one cluster.
import { defined } from '#lib/defined.ts'
import { h } from '../h.ts'
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { SignInWays } from '../../protocol.ts'
import { BASE } from '../live/base.ts'
import { ask, post } from '../live/store.ts'
import { Loading, Notice, sentence } from '../parts/states.ts'

/** Drawn instead of every view while the user is not signed in. */
export function SignIn({ onDone }: { readonly onDone: () => void }): VNode {
  const [ways, setWays] = useState<SignInWays>()
  useEffect(() => {
    void ask<SignInWays>('/api/sign-in').then((answer) =>
      setWays(answer.state === 'Ready' ? answer.value : { ways: [] }),
    )
  }, [])
  if (ways === undefined) return h(Loading, {})
  if (ways.ways.length === 0)
    return h(
      Notice,
      { title: 'You are not signed in' },
      'Run ',
      h('code', {}, 'kubenode console'),
      ' and open the link that it prints; a link works once.',
    )
  return h(
    'div',
    { class: 'sheet state' },
    h('h2', {}, 'You are not signed in'),
    ways.ways.includes('Oidc') && h('p', {}, h('a', { href: toIssuer() }, `Sign in at ${ways.issuer ?? 'the issuer'}`)),
    ways.ways.includes('Token') && h(TokenForm, { onDone }),
  )
}

/** Returns to this view. */
const toIssuer = (): string => `${BASE}/oidc/start?${new URLSearchParams({ to: location.hash })}`

/** `cluster`: adds one more, for a user who is signed in. */
export function TokenForm({ cluster, onDone }: { readonly cluster?: string; readonly onDone: () => void }): VNode {
  const [trouble, setTrouble] = useState('')
  const [isSending, setSending] = useState(false)
  const send = async (event: Event): Promise<void> => {
    event.preventDefault()
    if (isSending) return
    const form = event.currentTarget as HTMLFormElement
    const field = form.elements.namedItem('token') as HTMLInputElement
    setSending(true)
    const answer = await post('/api/sign-in', { token: field.value, ...defined({ cluster }) })
    setSending(false)
    // The page does not keep the token.
    field.value = ''
    setTrouble(answer.state === 'Ready' || answer.state === 'Loading' ? '' : answer.message)
    if (answer.state === 'Ready') onDone()
    else field.focus()
  }
  return h(
    'form',
    { class: 'stack draft', onSubmit: (event: Event) => void send(event) },
    h(
      'label',
      {},
      cluster === undefined ? 'Token' : `Token for ${cluster}`,
      h('input', { name: 'token', type: 'password', autocomplete: 'off', required: true, spellcheck: false }),
    ),
    h(
      'p',
      { class: 'small' },
      'The token is sent to the API server that it is for, and kept in memory until you sign out.',
    ),
    trouble !== '' && h('p', { class: 'error', role: 'alert' }, sentence(trouble)),
    h('div', { class: 'tools' }, h('button', { type: 'submit', class: 'main', 'aria-disabled': isSending }, 'Sign in')),
  )
}
