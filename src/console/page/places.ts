// The places of the navigation, and which views belong to each.
import type { TopicFamily } from '../protocol.ts'
import type { View } from './router.ts'

interface Place {
  readonly view: View
  readonly title: string
  /** Drawn only if the user may read this topic family somewhere. */
  readonly family: TopicFamily
}

export const PLACES: readonly Place[] = [
  { view: 'home', title: 'Home', family: 'home' },
  { view: 'health', title: 'Fleet health', family: 'machines' },
  { view: 'pipeline', title: 'Pipeline', family: 'pipeline' },
  { view: 'machines', title: 'Machines', family: 'machines' },
  { view: 'rollouts', title: 'Rollouts', family: 'sets' },
  { view: 'budgets', title: 'Budgets', family: 'budgets' },
  { view: 'repairs', title: 'Repairs', family: 'repairs' },
  { view: 'clusters', title: 'Clusters', family: 'clusters' },
  { view: 'maintenance', title: 'Maintenance', family: 'maintenance' },
  { view: 'commits', title: 'Commits', family: 'commits' },
  { view: 'utilization', title: 'Utilization', family: 'machines' },
  { view: 'reliability', title: 'Reliability', family: 'machines' },
  { view: 'past', title: 'The past', family: 'machines' },
]

/** Whether the view belongs to this place of the navigation. */
export const isWithin = (view: View, place: View): boolean =>
  view === place ||
  (view === 'node' && place === 'machines') ||
  (view === 'life' && place === 'past') ||
  ((view === 'plan' || view === 'prepare') && place === 'commits')
