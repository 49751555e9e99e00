// A kubeconfig for a hosted program counts only for the Cluster that it is of, and only as data.
import { describe, expect, it } from 'vitest'
import type { Cluster } from '#api/kinds/cluster.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { defined } from '#lib/defined.ts'
import { kubeconfigIn } from './kubeconfigs.ts'

const KUBECONFIG = (server: string, user = 'token: secret'): string => `apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "${server}"}}]
users: [{name: u, user: {${user}}}]
`
const secret = (text: string | undefined, annotations?: Readonly<Record<string, string>>): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'cluster-x', ...defined({ annotations }) },
  data: text === undefined ? {} : { kubeconfig: Buffer.from(text).toString('base64') },
})
const cluster = (namespace: string, name: string): Cluster => ({ metadata: { namespace, name, uid: 'u-1' } }) as Cluster
const good = KUBECONFIG('https://127.0.0.1:6443')
const OF = 'kubenode.io/cluster'
const FOR = 'kubenode.io/made-for-uid'

describe('a kubeconfig of a hosted program', () => {
  it('counts for the Cluster that it names', () => {
    expect(kubeconfigIn(secret(good, { [OF]: 'fleet/one', [FOR]: 'u-1' }), cluster('fleet', 'one'))).toEqual({
      text: good,
    })
    expect(kubeconfigIn(secret(good), cluster('kubenode-system', 'one'))).toEqual({ text: good })
  })

  it.each<[string, KubeObject, Cluster, RegExp]>([
    // Cluster a.b of kubenode-system and Cluster b of namespace a have one name of a Secret.
    [
      'of another Cluster',
      secret(good, { [OF]: 'kubenode-system/a.b' }),
      cluster('a', 'b'),
      /it is of kubenode-system\/a\.b/,
    ],
    ['without a Cluster, in a namespace of tenants', secret(good), cluster('a', 'b'), /it is of no Cluster/],
    ['without a Cluster, for a name with dots', secret(good), cluster('kubenode-system', 'a.b'), /it is of no Cluster/],
    ['of an earlier Cluster', secret(good, { [OF]: 'a/b', [FOR]: 'u-0' }), cluster('a', 'b'), /an earlier Cluster/],
    ['without a key', secret(undefined, { [OF]: 'a/b' }), cluster('a', 'b'), /no key kubeconfig/],
    ['that is no kubeconfig', secret('\u001b[2J', { [OF]: 'a/b' }), cluster('a', 'b'), /kubeconfig/],
    [
      'that runs a program here',
      secret(KUBECONFIG('https://127.0.0.1:1', 'exec: {command: sh, apiVersion: client.authentication.k8s.io/v1}'), {
        [OF]: 'a/b',
      }),
      cluster('a', 'b'),
      /exec/,
    ],
    [
      'that reads a file here',
      secret(KUBECONFIG('https://h', 'tokenFile: /var/run/secrets/token'), { [OF]: 'a/b' }),
      cluster('a', 'b'),
      /tokenFile/,
    ],
    ['without TLS', secret(KUBECONFIG('http://127.0.0.1:1'), { [OF]: 'a/b' }), cluster('a', 'b'), /https/],
  ])('is refused %s', (_, of, to, why) => {
    const read = kubeconfigIn(of, to)
    expect('why' in read ? read.why : 'it counts').toMatch(why)
  })
})
