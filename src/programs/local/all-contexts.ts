// One kubeconfig for the whole fleet, with a context named after each cluster, so that `--context NAME` works as usual.
import { readFileSync } from 'node:fs'
import { parse, stringify } from 'yaml'
import { writeWholeFile } from '#lib/whole-file.ts'
import type { Layout } from './layout.ts'

interface OneCluster {
  readonly clusters: readonly [{ readonly cluster: object }]
  readonly users: readonly [{ readonly user: object }]
}

/** Cluster name → kubeconfig text with one cluster and one user. The first becomes the current context. */
export function allContexts(byCluster: ReadonlyMap<string, string>): string {
  const all = [...byCluster].map(([name, text]) => ({ name, ...(parse(text) as OneCluster) }))
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': all[0]?.name ?? '',
    contexts: all.map(({ name }) => ({ name, context: { cluster: name, user: `${name}-admin` } })),
    clusters: all.map(({ name, clusters: [{ cluster }] }) => ({ name, cluster })),
    users: all.map(({ name, users: [{ user }] }) => ({ name: `${name}-admin`, user })),
  })
}

export function writeAllContexts(layout: Layout, names: readonly string[]): void {
  const texts = new Map(names.map((name) => [name, readFileSync(layout.cluster(name).adminKubeconfig, 'utf8')]))
  writeWholeFile(layout.adminKubeconfig, allContexts(texts))
}
