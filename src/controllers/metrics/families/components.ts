// Metrics of components: machines by version, and the age of the oldest drift.
import type { Machine } from '#api/kinds/machine.ts'
import { type Family, OTHER, tally } from './family.ts'

const NONE = 'none'
/** Versions of one component. A rollout has two or three, a neglected fleet a few more. */
const MOST_VERSIONS = 10

export function componentFamilies(machines: readonly Machine[], ages: ReadonlyMap<string, number>): readonly Family[] {
  const runs = machines.flatMap((m) => m.status?.components ?? [])
  const known = commonVersions(runs)
  return [
    {
      name: 'kubenode_component_version_machines',
      help: 'Machines by component and version: the ten most common versions of each, the others as one.',
      labels: ['component', 'version'],
      samples: tally(runs, ({ name, version = NONE }) => ({
        component: name,
        version: known.get(name)?.has(version) === true ? version : OTHER,
      })),
    },
    {
      name: 'kubenode_component_drifted_machines',
      help: 'Machines with modified files or units of a component that are restored by its next switch.',
      labels: ['component'],
      samples: tally(
        runs.filter((c) => c.drifted !== undefined),
        ({ name }) => ({ component: name }),
      ),
    },
    {
      name: 'kubenode_component_drift_age_seconds',
      help: 'How long the oldest such change of a component has been there, at least: since this process first saw it.',
      labels: ['component'],
      samples: [...ages].map(([component, value]) => ({ labels: { component }, value })),
    },
  ]
}

function commonVersions(
  runs: readonly { readonly name: string; readonly version?: string }[],
): ReadonlyMap<string, ReadonlySet<string>> {
  const counts = new Map<string, Map<string, number>>()
  for (const { name, version = NONE } of runs) {
    const ofName = counts.get(name) ?? new Map<string, number>()
    counts.set(name, ofName)
    ofName.set(version, (ofName.get(version) ?? 0) + 1)
  }
  return new Map(
    [...counts].map(([name, versions]) => [
      name,
      new Set(
        [...versions]
          .toSorted((a, b) => b[1] - a[1] || a[0].localeCompare(b[0]))
          .slice(0, MOST_VERSIONS)
          .map(([version]) => version),
      ),
    ]),
  )
}

/** When each drift was first observed: the status has no such time. */
export class DriftAges {
  #since = new Map<string, number>()

  /** Component → age of its oldest drift in seconds. */
  ages(machines: readonly Machine[], nowMs: number): ReadonlyMap<string, number> {
    const since = new Map<string, number>()
    const ages = new Map<string, number>()
    for (const { metadata, status } of machines)
      for (const { name, drifted } of status?.components ?? []) {
        if (drifted === undefined) continue
        const key = `${metadata.uid ?? metadata.name} ${name}`
        const first = this.#since.get(key) ?? nowMs
        since.set(key, first)
        ages.set(name, Math.max(ages.get(name) ?? 0, (nowMs - first) / 1_000))
      }
    this.#since = since
    return ages
  }
}
