// One kubeconfig for the whole fleet, with a context named after each cluster, so that `--context NAME` works as usual.
import { existsSync, readFileSync } from 'node:fs'
import { parse, stringify } from 'yaml'
import { writeWholeFile } from '#lib/whole-file.ts'
import type { Layout } from './layout.ts'

interface OneCluster {
  readonly clusters: readonly [{ readonly cluster: object }]
  readonly users: readonly [{ readonly user: object }]
}

/**
 * Cluster name → kubeconfig text with one cluster and one user. `before`: the text that is replaced. The context that a user chose stays current while its
 * cluster is there; otherwise the first is.
 */
export function allContexts(byCluster: ReadonlyMap<string, string>, before = ''): string {
  const all = [...byCluster].map(([name, text]) => ({ name, ...(parse(text) as OneCluster) }))
  const chosen = chosenIn(before)
  const current = all.find(({ name }) => name === chosen) ?? all[0]
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': current?.name ?? '',
    contexts: all.map(({ name }) => ({ name, context: { cluster: name, user: `${name}-admin` } })),
    clusters: all.map(({ name, clusters: [{ cluster }] }) => ({ name, cluster })),
    users: all.map(({ name, users: [{ user }] }) => ({ name: `${name}-admin`, user })),
  })
}

function chosenIn(text: string): unknown {
  try {
    return (parse(text) as { readonly 'current-context'?: unknown } | null)?.['current-context']
  } catch {
    return undefined
  }
}

export function writeAllContexts(layout: Layout, names: readonly string[]): void {
  const texts = new Map(names.map((name) => [name, readFileSync(layout.cluster(name).adminKubeconfig, 'utf8')]))
  const { adminKubeconfig } = layout
  const before = existsSync(adminKubeconfig) ? readFileSync(adminKubeconfig, 'utf8') : ''
  writeWholeFile(adminKubeconfig, allContexts(texts, before))
}
