// A link to the recorded life of an object, where a history is kept.
import { h } from '../h.ts'
import type { VNode } from 'preact'
import { useApp } from '../app.ts'
import type { ObjectName } from '../../basics.ts'
import { to } from '../router.ts'

export function LifeLink({ cluster, kind, name }: ObjectName): VNode | null {
  const { route, session } = useApp()
  return session.isRecorded ? h('a', { href: to(route, 'life', { cluster, kind, name }) }, 'Its life') : null
}
