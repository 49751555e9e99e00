// The modules of the views: that of the address is loaded first, the others once the page has nothing else to do, before anyone opens them.
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { h } from './h.ts'
import { Loading, Notice } from './parts/states.ts'
import type { View } from './router.ts'

type Draw = () => VNode

const MODULES: Readonly<Record<View, () => Promise<Draw>>> = {
  home: async () => (await import('./views/home.ts')).Home,
  health: async () => (await import('./views/reports.ts')).Health,
  utilization: async () => (await import('./views/reports.ts')).Utilization,
  reliability: async () => (await import('./views/reports.ts')).Reliability,
  pipeline: async () => (await import('./views/pipeline.ts')).Pipeline,
  machines: async () => (await import('./views/machines.ts')).MachinesView,
  rollouts: async () => (await import('./views/rollouts.ts')).Rollouts,
  why: async () => (await import('./views/why.ts')).Why,
  budgets: async () => (await import('./views/budgets.ts')).Budgets,
  repairs: async () => (await import('./views/repairs.ts')).Repairs,
  node: async () => (await import('./views/node.ts')).NodeView,
  clusters: async () => (await import('./views/clusters.ts')).Clusters,
  maintenance: async () => (await import('./views/maintenance.ts')).Maintenance,
  commits: async () => (await import('./views/commits.ts')).Commits,
  plan: async () => (await import('./views/plan.ts')).Plan,
  prepare: async () => (await import('./views/prepare.ts')).Prepare,
  past: async () => (await import('./views/past.ts')).Past,
  life: async () => (await import('./views/life.ts')).LifeView,
  search: async () => (await import('./views/search.ts')).Search,
  keys: async () => (await import('./views/keys.ts')).Keys,
  account: async () => (await import('./views/account.ts')).Account,
}

const loaded = new Map<View, Draw>()
const logged = new Set<View>()
/** A server that was away is asked again. Some browsers keep the failure until the page is reloaded. */
const AGAIN_MS = 3_000
/** By then most pages have drawn what the address names. */
const FIRST_PICTURE_MS = 2_000
/** For a browser that draws all the time. */
const LATEST_MS = 2_000

/** Whether the view can be drawn. */
export async function loadView(view: View): Promise<boolean> {
  if (loaded.has(view)) return true
  try {
    loaded.set(view, await MODULES[view]())
    return true
  } catch (e) {
    // A module that has a bug fails in the same way as one that did not arrive; only the error tells them apart.
    // oxlint-disable-next-line no-console -- the page has no other log, and the error helps nobody who only reads the page
    if (!logged.has(view)) console.error(`view ${view} could not be loaded`, e)
    logged.add(view)
    return false
  }
}

/** One after another, so that a view which someone opens meanwhile does not wait for all. */
export async function loadOthers(): Promise<void> {
  await new Promise((done) => setTimeout(done, FIRST_PICTURE_MS))
  for (const view of Object.keys(MODULES) as readonly View[]) {
    await idle()
    if (!(await loadView(view))) return
  }
}

const idle = (): Promise<unknown> =>
  new Promise((done) =>
    'requestIdleCallback' in globalThis
      ? requestIdleCallback(done, { timeout: LATEST_MS })
      : setTimeout(done, LATEST_MS),
  )

/** The view, as soon as its module is here. */
export function Shown({ view }: { readonly view: View }): VNode {
  const [failures, setFailures] = useState(0)
  const [, setReady] = useState(loaded.has(view))
  const draw = loaded.get(view)
  useEffect(() => {
    if (draw !== undefined) return undefined
    let timer: ReturnType<typeof setTimeout> | undefined
    let isWanted = true
    const load = async (): Promise<void> => {
      const isHere = await loadView(view)
      if (!isWanted) return
      if (isHere) return setReady(true)
      setFailures((before) => before + 1)
      timer = setTimeout(() => void load(), AGAIN_MS)
    }
    void load()
    return () => {
      isWanted = false
      clearTimeout(timer)
    }
  }, [view, draw])
  if (draw !== undefined) return h(draw, {})
  return h('main', { id: 'main' }, failures === 0 ? h(Loading, {}) : h(NotLoaded, { isAgain: failures > 1 }))
}

const NotLoaded = ({ isAgain }: { readonly isAgain: boolean }): VNode =>
  h(
    Notice,
    { title: 'This view could not be loaded' },
    ...(isAgain
      ? [
          'Reload the page once the console answers. ',
          h('button', { type: 'button', onClick: () => location.reload() }, 'Reload the page'),
        ]
      : ['The page tries once more.']),
  )
