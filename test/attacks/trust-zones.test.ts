// The attacker has the key of sync, or writes a commit: namespaces of Kubernetes, KubeNode and control planes are not ordinary ones. Walks TRUST_ZONES through each
// place that goes by it, so that a zone is reserved everywhere or nowhere.
import { describe, expect, test } from 'vitest'
import { TRUST_ZONES } from '#api/names.ts'
import { isNamespaceNeverDeclared, listingsOf } from '#declared/listings.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { type Attempt, type AttackWorld, tryOnServers } from '#test/support/worlds/attack-world.ts'
import { pathOf } from '#test/support/worlds/hub-world.ts'
import { POLICIES } from '../../deploy/charts/policies.ts'

const placeOf = (prefix: string): string => `${prefix}fleet-prod-1`
const labels = { app: 'a' }
const template = { metadata: { labels }, spec: { containers: [{ name: 'a', image: 'a' }] } }
const OBJECTS: readonly (readonly [kind: string, apiVersion: string, more: object])[] = [
  ['ConfigMap', 'v1', { data: { 'authentication.yaml': 'kind: AuthenticationConfiguration' } }],
  ['Service', 'v1', { spec: { ports: [{ port: 1 }], selector: labels } }],
  ['ServiceAccount', 'v1', {}],
  ['Deployment', 'apps/v1', { spec: { selector: { matchLabels: labels }, template } }],
  ['StatefulSet', 'apps/v1', { spec: { serviceName: 'a', selector: { matchLabels: labels }, template } }],
  ['DaemonSet', 'apps/v1', { spec: { selector: { matchLabels: labels }, template } }],
]
const objectIn = (namespace: string, [kind, apiVersion, more]: (typeof OBJECTS)[number]): KubeObject => ({
  apiVersion,
  kind,
  metadata: { name: 'etcd', namespace },
  ...more,
})

const prepared = new WeakMap<AttackWorld, Promise<void>>()
/** Each zone has a namespace with what its owner made there. */
function asOwner(world: AttackWorld): Promise<void> {
  const known = prepared.get(world) ?? furnish(world)
  prepared.set(world, known)
  return known
}
async function furnish({ ask, who }: AttackWorld): Promise<void> {
  for (const { prefix } of TRUST_ZONES) {
    const name = placeOf(prefix)
    const space: KubeObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } }
    for (const object of [space, ...OBJECTS.map((o) => objectIn(name, o))]) {
      const { status, text } = await ask(who.installer, 'POST', pathOf(object, false), { body: object })
      if (status !== 201) throw new Error(`${status} ${text}`)
    }
  }
}
const bySync = (method: string, path: string, body?: unknown) => async (world: AttackWorld) => {
  await asOwner(world)
  return world.ask(world.who.sync, method, path, body === undefined ? {} : { body })
}

const NOT_LISTED = /403 .*(is not on the list of the installer|a commit declares no namespace)/
const ATTEMPTS: readonly Attempt[] = TRUST_ZONES.flatMap(({ prefix, holds }): Attempt[] => {
  const namespace = placeOf(prefix)
  const space = (name: string): KubeObject => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
  return [
    {
      name: `S25 the key of sync makes a namespace ${prefix}* for ${holds}`,
      attempt: bySync('POST', '/api/v1/namespaces', space(`${prefix}mine`)),
      control: bySync('POST', '/api/v1/namespaces', space(`of-sync-${prefix}x`)),
      refused: NOT_LISTED,
    },
    {
      name: `S25 the key of sync labels a namespace ${prefix}*`,
      attempt: bySync('PATCH', `/api/v1/namespaces/${namespace}`, { metadata: { labels: { a: 'b' } } }),
      refused: NOT_LISTED,
    },
    {
      name: `S25 the key of sync deletes a namespace ${prefix}*`,
      attempt: bySync('DELETE', `/api/v1/namespaces/${namespace}`),
      refused: NOT_LISTED,
    },
    ...OBJECTS.flatMap((of): Attempt[] => {
      const object = objectIn(namespace, of)
      const { kind } = object
      return [
        {
          name: `S25 the key of sync makes a ${kind} in ${prefix}*`,
          attempt: bySync('POST', pathOf(object, false), { ...object, metadata: { ...object.metadata, name: 'mine' } }),
          control: bySync('POST', pathOf(objectIn('shop', of), false), {
            ...object,
            metadata: { name: `zone-${prefix}x`, namespace: 'shop' },
          }),
          refused: NOT_LISTED,
        },
        {
          name: `S25 the key of sync changes a ${kind} in ${prefix}*`,
          attempt: bySync('PATCH', pathOf(object), { metadata: { labels: { a: 'b' } } }),
          refused: NOT_LISTED,
        },
        {
          name: `S25 the key of sync deletes a ${kind} in ${prefix}*, and what belongs to it`,
          attempt: bySync('DELETE', pathOf(object)),
          refused: NOT_LISTED,
          afterwards: async ({ ask, who }) => {
            const { status } = await ask(who.installer, 'GET', pathOf(object))
            if (status !== 200) throw new Error(`${kind} is gone`)
          },
        },
      ]
    }),
  ]
})

tryOnServers('who has the key of sync', ATTEMPTS)

describe.each(TRUST_ZONES)('S25 a commit, in namespaces $prefix*', ({ prefix }) => {
  const namespace = placeOf(prefix)
  test('declares none of them', () => {
    expect(isNamespaceNeverDeclared(namespace)).toBe(true)
    expect(isNamespaceNeverDeclared(`x${namespace}`)).toBe(false)
  })
  test.each(OBJECTS)('needs a list of the installer for each %s, which a plan marks and sync asks for', (...of) => {
    expect(listingsOf(objectIn(namespace, of)).map(({ verb }) => verb)).toContain('declare')
    expect(listingsOf(objectIn('shop', of))).toEqual([])
  })
  test('needs one for kinds that are free elsewhere', () => {
    for (const [kind, apiVersion] of [
      ['NetworkPolicy', 'networking.k8s.io/v1'],
      ['PersistentVolumeClaim', 'v1'],
      ['Widget', 'example.org/v1'],
    ] as const)
      expect(listingsOf(objectIn(namespace, [kind, apiVersion, {}]))).toHaveLength(1)
  })
  test('is held to the same by the policy for what comes from git', () => {
    const declared = POLICIES.find(({ name }) => name === 'kubenode-declared')
    expect(JSON.stringify(declared)).toContain(`'${prefix}'`)
  })
})
