// Says where releases and commits are if the console shows no hub.
import { h } from '../h.ts'
import type { ComponentChildren, VNode } from 'preact'
import type { Session } from '../../protocol.ts'
import { useApp } from '../app.ts'
import { Notice } from './states.ts'

/** Every cluster was read, and none has a FleetSource. */
export const isWithoutHub = ({ clusters }: Pick<Session, 'clusters'>): boolean =>
  clusters.length > 0 && clusters.every(({ isHub, state }) => !isHub && state === 'Connected')

interface OnHub {
  readonly title: string
  readonly children?: ComponentChildren
}

/** The notice of a view that is empty because nothing is there yet, or because the hub is not shown. */
export function NothingOnHub({ title, children }: OnHub): VNode {
  const { session } = useApp()
  return isWithoutHub(session)
    ? h(
        Notice,
        { title: 'Releases and commits are on the hub' },
        'No cluster of this console has a FleetSource, so none is the hub. Open the console of the hub: ',
        h('code', {}, 'kubenode console --context HUB'),
        '; without --context the console shows every cluster of the kubeconfig.',
      )
    : h(Notice, { title }, children)
}
