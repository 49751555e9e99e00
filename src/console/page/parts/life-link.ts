// A link to the recorded life of an object, where a history is kept.
import { h } from '../h.ts'
import type { VNode } from 'preact'
import { useApp } from '../app.ts'
import { to } from '../router.ts'

interface Props {
  readonly cluster: string
  readonly kind: string
  readonly name: string
}

export function LifeLink({ cluster, kind, name }: Props): VNode | null {
  const { route, session } = useApp()
  return session.isRecorded ? h('a', { href: to(route, 'life', { cluster, kind, name }) }, 'Its life') : null
}
