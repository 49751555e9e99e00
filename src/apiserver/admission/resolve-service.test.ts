import { expect, test } from 'vitest'
import type { KubeObject } from '#api/schema/object.ts'
import type { Stored } from '../storage/stored.ts'
import { endpointsInTurn } from './resolve-service.ts'

type Sources = Parameters<typeof endpointsInTurn>[0]

const NAMESPACE = 'kubenode-system'

function resolver(services: readonly KubeObject[], slices: readonly KubeObject[]) {
  const list = () => slices.map((value) => ({ value }) as Stored)
  const get = ({ name }: { readonly name: string }) => {
    const value = services.find((s) => s.metadata.name === name)
    return value && ({ value } as Stored)
  }
  return endpointsInTurn({ get, collection: () => ({ list }) } as unknown as Sources)
}

const service = (ports: readonly object[] = [{ name: 'https', port: 443 }]): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'webhook', namespace: NAMESPACE },
  spec: { ports },
})

const slice = (
  endpoints: readonly object[],
  of = 'webhook',
  ports: readonly object[] = [{ name: 'https', port: 9443 }],
) => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { name: `${of}-1`, namespace: NAMESPACE, labels: { 'kubernetes.io/service-name': of } },
  endpoints,
  ports,
})

const at = (address: string, ready?: boolean) => ({
  addresses: [address],
  ...(ready !== undefined && { conditions: { ready } }),
})
const asked = { namespace: NAMESPACE, name: 'webhook', port: 443, path: '/' }

test('ready endpoints are asked in turn, at the port that the Service names', () => {
  const resolve = resolver(
    [service()],
    [slice([at('10.0.0.1', true), at('10.0.0.2', false)]), slice([at('10.0.0.3')]), slice([at('10.0.0.9')], 'other')],
  )
  expect([1, 2, 3].map(() => resolve(asked)?.host)).toEqual(['10.0.0.1', '10.0.0.3', '10.0.0.1'])
  expect(resolve(asked)?.port).toBe(9443)
})

test('a port without a name is found by its number', () => {
  const resolve = resolver([service([{ port: 443 }])], [slice([at('10.0.0.1')], 'webhook', [{ port: 9443 }])])
  expect(resolve(asked)).toEqual({ host: '10.0.0.1', port: 9443 })
})

test.each<[string, readonly KubeObject[], readonly KubeObject[]]>([
  ['no Service', [], [slice([at('10.0.0.1')])]],
  ['another port', [service([{ name: 'https', port: 8443 }])], [slice([at('10.0.0.1')])]],
  ['nothing ready', [service()], [slice([at('10.0.0.1', false)])]],
  ['no slice', [service()], []],
])('%s: no address', (_, services, slices) => {
  expect(resolver(services, slices)(asked)).toBeUndefined()
})
