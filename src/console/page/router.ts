// A view's address: everything it shows is in the part after `#`, so a link shows other users the same. Pure.
import { defined } from '#lib/defined.ts'

/** What follows a view's name in its address. */
const SEGMENTS = {
  home: [],
  health: ['cluster'],
  utilization: ['cluster'],
  reliability: ['cluster'],
  pipeline: [],
  machines: ['cluster'],
  rollouts: ['cluster', 'name'],
  why: ['cluster', 'kind', 'name'],
  budgets: ['cluster'],
  repairs: ['cluster', 'name'],
  node: ['cluster', 'name'],
  clusters: [],
  maintenance: ['cluster'],
  commits: ['name'],
  plan: ['name'],
  prepare: [],
  past: [],
  life: ['cluster', 'kind', 'name'],
  search: [],
  keys: [],
  account: [],
} as const satisfies Readonly<Record<string, readonly ('cluster' | 'kind' | 'name')[]>>

export type View = keyof typeof SEGMENTS

export interface Route {
  readonly view: View
  readonly cluster?: string
  readonly kind?: string
  readonly name?: string
  readonly params: Readonly<Record<string, string>>
}

/** Whether the view's address begins with a cluster. */
export const hasCluster = (view: View): boolean => SEGMENTS[view][0] === 'cluster'

const isView = (name: string): name is View => Object.hasOwn(SEGMENTS, name)

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** An untrusted link creates commands that users copy: names must not start like an option or contain invisible characters. */
const isName = (text: string | undefined): text is string =>
  text !== undefined && text !== '' && !/^-|[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(text)

export function parseRoute(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#?\/?/, '').split('?', 2)
  const [first = '', ...rest] = path.split('/').map(decoded)
  const view = isView(first) ? first : 'home'
  const named = Object.fromEntries(
    SEGMENTS[view].flatMap((segment, i) => (isName(rest[i]) ? [[segment, rest[i]]] : [])),
  ) as Pick<Route, 'cluster' | 'kind' | 'name'>
  return { view, ...named, params: Object.fromEntries(new URLSearchParams(query)) }
}

export function hrefOf({ view, params, ...named }: Route): string {
  const segments = SEGMENTS[view].map((segment) => named[segment])
  // A gap ends the path: a name without its cluster would be read as the cluster.
  const end = segments.indexOf(undefined)
  const path = [view, ...(end === -1 ? segments : segments.slice(0, end))].map((s) => encodeURIComponent(s ?? ''))
  const query = new URLSearchParams(Object.entries(params).filter(([, value]) => value !== '')).toString()
  return `#/${path.join('/')}${query === '' ? '' : `?${query}`}`
}

/** The same view with changed parameters; empty ones are left out. */
export const withParams = (route: Route, params: Readonly<Record<string, string>>): Route => ({
  ...route,
  params: Object.fromEntries(Object.entries({ ...route.params, ...params }).filter(([, value]) => value !== '')),
})

/** Another place, in the same cluster and at the same moment. */
export function toView({ cluster, params }: Route, view: View): Route {
  const scope = cluster ?? params['of']
  const at = params['at']
  return {
    view,
    ...(scope !== undefined && hasCluster(view) && { cluster: scope }),
    params: {
      ...defined({ at }),
      ...(scope !== undefined && !hasCluster(view) && { of: scope }),
    },
  }
}

/** A link to another view, at the same moment of the past. */
export const to = (from: Route, view: View, named: Partial<Omit<Route, 'view'>> = {}): string =>
  hrefOf({
    view,
    ...named,
    params: {
      ...(from.params['at'] !== undefined && { at: from.params['at'] }),
      ...named.params,
    },
  })
