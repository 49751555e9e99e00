// Who is signed in and until when, clusters that need their own token, and sign-out.
import { h } from '../h.ts'
import type { VNode } from 'preact'
import type { SignedOut } from '../../protocol.ts'
import { useApp } from '../app.ts'
import { Page } from '../frame.ts'
import { post } from '../live/store.ts'
import { At } from '../parts/clock.ts'
import { TokenForm } from './sign-in.ts'

const HOW = {
  Link: 'by the link of kubenode console',
  Token: 'with a token',
  Oidc: 'at the issuer',
  Proxy: 'by the proxy in front of this page',
} as const

export function Account(): VNode {
  const { session, store } = useApp()
  const { person, clusters, expires } = session
  const without = clusters.filter(({ state }) => state === 'SignedOut')
  return h(
    Page,
    { title: 'Account', commands: [] },
    h(
      'div',
      { class: 'sheet state' },
      h('h2', {}, person.name),
      h('p', {}, `Signed in ${HOW[person.how]}`, expires !== undefined && [' until ', h(At, { at: expires })], '.'),
      h('p', {}, person.groups.length === 0 ? 'In no group.' : `Groups: ${person.groups.join(', ')}`),
      person.how !== 'Proxy' && h('button', { type: 'button', onClick: () => void signOut() }, 'Sign out'),
    ),
    without.map(({ name }) =>
      h(
        'section',
        { key: name, class: 'sheet state' },
        h('h2', {}, name),
        h('p', {}, 'You have not signed in to this cluster. Its API server has people and tokens of its own.'),
        h(TokenForm, { cluster: name, onDone: () => void store.start() }),
      ),
    ),
  )
}

async function signOut(): Promise<void> {
  const answer = await post<SignedOut>('/api/sign-out', {})
  const next = answer.state === 'Ready' ? answer.value.next : undefined
  if (next !== undefined) location.assign(next)
  else location.reload()
}
