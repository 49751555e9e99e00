import { expect, test } from 'vitest'
import { parseSafeKubeconfig } from '#kube/kubeconfig-safe.ts'
import { stringify } from 'yaml'
import { allContexts } from './all-contexts.ts'

/** As a local API server writes it: all with the same names. */
const own = (port: number, token: string): string =>
  stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'kubenode',
    contexts: [{ name: 'kubenode', context: { cluster: 'kubenode', user: 'admin' } }],
    clusters: [{ name: 'kubenode', cluster: { server: `https://127.0.0.1:${port}` } }],
    users: [{ name: 'admin', user: { token } }],
  })

test('each cluster is a context of its name with its own server and user, and the first is current', () => {
  const text = allContexts(
    new Map([
      ['hub', own(1, 'a')],
      ['test', own(2, 'b')],
    ]),
  )
  for (const [context, server, token] of [
    [undefined, 'https://127.0.0.1:1', 'a'],
    ['hub', 'https://127.0.0.1:1', 'a'],
    ['test', 'https://127.0.0.1:2', 'b'],
  ] as const)
    expect(JSON.stringify(parseSafeKubeconfig(text, 'test', context))).toMatch(new RegExp(`${server}.*"${token}"`, 's'))
})

test('the context that a user chose stays current while its cluster is there', () => {
  const both = new Map([
    ['hub', own(1, 'a')],
    ['test', own(2, 'b')],
  ])
  const chosen = allContexts(both).replace('current-context: hub', 'current-context: test')
  expect(allContexts(both, chosen)).toContain('current-context: test')
  expect(allContexts(new Map([['hub', own(1, 'a')]]), chosen)).toContain('current-context: hub')
  expect(allContexts(both, '{ no YAML')).toContain('current-context: hub')
})
