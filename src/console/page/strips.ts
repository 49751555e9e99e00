// The strips above every view: how current the page is; nothing while it is live.
import { h } from './h.ts'
import type { VNode } from 'preact'
import { useApp } from './app.ts'
import { Ago, At, SinceAt } from './parts/clock.ts'
import { Player } from './parts/player.ts'
import { sentence } from './parts/states.ts'
import { hrefOf, to, withParams } from './router.ts'

export function Strips(): VNode {
  const { store, route, session } = useApp()
  const { connection } = store
  const past = Number(route.params['at'] ?? 0)
  const silent = session.clusters.filter(({ state }) => state === 'Unreachable' || state === 'Refused')
  const away = silent.filter(({ topics }) => topics.length === 0)
  const old = silent.filter(({ topics }) => topics.length > 0)
  const without = session.clusters.filter(({ state }) => state === 'SignedOut')
  return h(
    'div',
    { role: 'status' },
    past !== 0 &&
      h(
        'div',
        { class: 'strip past' },
        h('strong', {}, 'The past: ', h(At, { at: past })),
        route.view !== 'life' && h(Player, { at: past }),
        h('a', { href: hrefOf(withParams(route, { at: '' })) }, 'Back to now'),
      ),
    connection.state === 'Offline' &&
      h(
        'div',
        { class: 'strip' },
        h('strong', {}, 'Offline ', h(SinceAt, { at: connection.since })),
        h(
          'span',
          {},
          'What you see is the last state received. The page connects again by itself.',
          session.person.how === 'Link' && ' If the console was started again, open the link that it printed.',
        ),
      ),
    connection.state === 'Full' &&
      h(
        'div',
        { class: 'strip' },
        h('strong', {}, 'Not live'),
        h(
          'span',
          {},
          sentence(connection.message),
          ' The page tries again by itself; reload it to read the views again.',
        ),
      ),
    connection.state === 'Paused' &&
      h(
        'div',
        { class: 'strip' },
        h('strong', {}, 'Paused'),
        h('span', {}, sentence(connection.message)),
        h('button', { type: 'button', onClick: () => store.resume() }, 'Continue here'),
      ),
    connection.state === 'SignedOut' &&
      h(
        'div',
        { class: 'strip bad' },
        h('strong', {}, 'Signed out'),
        h(
          'span',
          {},
          ...(session.person.how === 'Link'
            ? ['Run ', h('code', {}, 'kubenode console'), ' again and open the link that it prints.']
            : [h('a', { href: location.hash, onClick: () => location.reload() }, 'Sign in again')]),
        ),
      ),
    without.length > 0 &&
      h(
        'div',
        { class: 'strip' },
        h('strong', {}, `Not signed in to ${without.map(({ name }) => name).join(', ')}`),
        h('a', { href: to(route, 'account') }, 'Sign in'),
      ),
    old.map(({ name, message = 'does not answer', answeredAt }) =>
      h(
        'div',
        { key: name, class: 'strip' },
        h('strong', {}, `Not current: ${name}`),
        h(
          'span',
          {},
          sentence(message),
          ' What you see of it was read before',
          answeredAt !== undefined && [
            ', and it answered last at ',
            h(At, { at: answeredAt }),
            ' (',
            h(Ago, { at: answeredAt }),
            ' ago)',
          ],
          '.',
        ),
      ),
    ),
    away.length > 0 &&
      h(
        'div',
        { class: 'strip' },
        h('strong', {}, `Not shown: ${away.map(({ name }) => name).join(', ')}`),
        h('span', {}, away[0]?.message ?? 'does not answer'),
      ),
  )
}
