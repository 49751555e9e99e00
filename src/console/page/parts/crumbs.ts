// Where the view is: the cluster, which every view switches at this place, then the place of the navigation, then the object.
import { h } from '../h.ts'
import type { VNode } from 'preact'
import { clustersWith, useApp } from '../app.ts'
import type { TopicFamily } from '../../protocol.ts'
import { PLACES, isWithin } from '../places.ts'
import { hasCluster, hrefOf, toView, withParams } from '../router.ts'

export interface Scope {
  readonly family: TopicFamily
  readonly cluster: string | undefined
  /** The view can show all of them together. */
  readonly all?: boolean
}

export function Crumbs({ title, scope }: { readonly title: string; readonly scope?: Scope }): VNode | null {
  const { session, route } = useApp()
  const place = PLACES.find(({ view }) => isWithin(route.view, view))
  const isBelow = place !== undefined && (place.view !== route.view || route.name !== undefined)
  const canSwitch = scope !== undefined && namesOf(clustersWith(session, scope.family), scope.cluster).length > 1
  if (place === undefined && route.cluster === undefined) return null
  return h(
    'nav',
    { class: 'crumbs small', 'aria-label': 'Where you are' },
    scope !== undefined && canSwitch
      ? h(ClusterSwitch, { ...scope })
      : h('span', { class: 'soft' }, route.cluster ?? 'Fleet'),
    place !== undefined && isBelow && h('a', { href: hrefOf(toView(route, place.view)) }, place.title),
    h('span', { 'aria-current': 'page', class: 'name' }, isBelow ? (route.name ?? title) : (place?.title ?? title)),
  )
}

/** The address may name a cluster that this user may not read: without adding it, the select would be blank. */
const namesOf = (allowed: readonly { readonly name: string }[], cluster: string | undefined): readonly string[] => {
  const names = allowed.map(({ name }) => name)
  return cluster === undefined || names.includes(cluster) ? names : [...names, cluster]
}

function ClusterSwitch({ family, cluster, all }: Scope): VNode {
  const { session, route, go } = useApp()
  const names = namesOf(clustersWith(session, family), cluster)
  const choose = (name: string): void =>
    hasCluster(route.view)
      ? go({ view: route.view, ...(name !== '' && { cluster: name }), params: route.params })
      : go(withParams(route, { of: name }))
  return h(
    'select',
    {
      'aria-label': 'Cluster',
      value: cluster ?? '',
      onChange: (e: Event) => choose((e.currentTarget as HTMLSelectElement).value),
    },
    all === true && h('option', { value: '' }, 'All clusters'),
    names.map((name) => h('option', { key: name, value: name }, name)),
  )
}
