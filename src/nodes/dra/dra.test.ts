import { expect, test } from 'vitest'
import type { KubeClient } from '#kube/client.ts'
import { ApiError } from '#kube/errors.ts'
import { devicesIn, devicesOn } from './devices-on.ts'
import { deviceTaintRules, endIsolation, isolate, taintRule } from './isolation.ts'

const slice = (devices: unknown, more: object = {}) =>
  ({
    metadata: { name: 's' },
    spec: { driver: 'gpu.example', pool: { name: 'n-1' }, devices, ...more },
  }) as never
const attributes = (name: string, string: unknown) => ({ [name]: { string } })

test.each([
  ['the name of Kubernetes', attributes('resource.kubernetes.io/pciBusID', '0000:3b:00.0'), '0000:3b'],
  ["a driver's own", attributes('pcieBusID', '00000000:3B:00.0'), '0000:3b'],
  ['another one', attributes('gpu.example/pciAddress', '0000:c3:00.0'), '0000:c3'],
  [
    'a root complex is no address of the device',
    attributes('resource.kubernetes.io/pcieRoot', 'pci0000:00'),
    undefined,
  ],
  ['an address that is none', attributes('pciBusID', 'slot 3'), undefined],
  ['a number', { pciBusID: { int: 3 } }, undefined],
  [
    'two that differ',
    { ...attributes('pciBusID', '0000:3b:00.0'), ...attributes('x/pciBusID', '0000:5e:00.0') },
    undefined,
  ],
])('where a device is: %s', (_, found, bus) => {
  const placed = { driver: 'gpu.example', pool: 'n-1', device: 'g', bus }
  const wanted = bus === undefined ? [] : [placed]
  expect(devicesIn(slice([{ name: 'g', attributes: found }]))).toEqual(wanted)
  // Until 1.32.
  expect(devicesIn(slice([{ name: 'g', basic: { attributes: found } }]))).toEqual(wanted)
})

test.each([
  ['no devices', slice(undefined)],
  ['a device that is no object', slice(['g', null])],
  ['a device without a name', slice([{ attributes: attributes('pciBusID', '0000:3b:00.0') }])],
  ['no driver', slice([], { driver: 7 })],
  ['no spec', { metadata: { name: 's' } } as never],
])('a slice that cannot be read has none: %s', (_, broken) => {
  expect(devicesIn(broken)).toEqual([])
})

/** A server that serves these plurals by version. */
function serverOf(served: Readonly<Record<string, readonly string[]>>, more: Partial<KubeClient> = {}) {
  const asked: string[] = []
  const raw: KubeClient['raw'] = async ({ path }) => {
    const version = path.split('/').at(-1) ?? ''
    asked.push(version)
    const plurals = served[version]
    const resources = plurals?.map((name) => ({ name, kind: name, namespaced: false }))
    return { status: plurals === undefined ? 404 : 200, headers: {}, text: JSON.stringify({ resources }) }
  }
  return { asked, client: { raw, ...more } as unknown as KubeClient }
}

test.each([
  ['1.37', { v1: ['resourceslices', 'devicetaintrules'], v1beta2: ['devicetaintrules'] }, 'v1'],
  ['1.36, where it is switched on', { v1: ['resourceslices'], v1beta2: ['devicetaintrules'] }, 'v1beta2'],
  ['1.33 to 1.35, where it is switched on', { v1: ['resourceslices'], v1alpha3: ['devicetaintrules'] }, 'v1alpha3'],
  ['everywhere else', { v1: ['resourceslices'] }, undefined],
  ['without claims at all', {}, undefined],
])('rules for devices in %s', async (_, served, version) => {
  expect((await deviceTaintRules(serverOf(served).client))?.version).toBe(version)
})

test('slices of the node alone are read, in the newest version', async () => {
  const lists: unknown[] = []
  const list = async (type: { version: string }, { fieldSelector }: { fieldSelector?: string } = {}) => {
    lists.push([type.version, fieldSelector])
    return { items: [slice([{ name: 'g', attributes: attributes('pciBusID', '0000:3b:00.0') }])], resourceVersion: '1' }
  }
  const { client } = serverOf(
    { v1: ['resourceslices'], v1beta1: ['resourceslices'] },
    { list: list as unknown as KubeClient['list'] },
  )
  expect((await devicesOn(client, 'n-1')).map((d) => d.bus)).toEqual(['0000:3b'])
  expect(lists).toEqual([['v1', 'spec.nodeName=n-1']])
  expect(await devicesOn(serverOf({}).client, 'n-1')).toEqual([])
})

test('a device is isolated once for an incident, and only the rules of that incident end', async () => {
  const kind = {
    group: 'resource.k8s.io',
    version: 'v1',
    kind: 'DeviceTaintRule',
    plural: 'devicetaintrules',
    namespaced: false,
  }
  const device = { driver: 'gpu.example', pool: 'n-1', device: 'g' }
  const of = (incident: string) => taintRule(kind, device, { incident, value: 'GPUFaulty' })
  expect(of('a')).toEqual(of('a'))
  expect(of('a').metadata.name).not.toBe(of('b').metadata.name)
  const exists = new ApiError({ kind: 'Status', code: 409, reason: 'AlreadyExists' } as never, {
    action: 'create',
    target: 'x',
  })
  const clearance = {} as never
  const options = { fieldManager: 'f', signal: new AbortController().signal }
  const refusing = { create: () => Promise.reject(exists) } as unknown as KubeClient
  await expect(isolate(clearance, refusing, kind, of('a'), options)).resolves.toBeUndefined()
  const deleted: unknown[] = []
  const list = async (_: unknown, { labelSelector }: { labelSelector?: string } = {}) => ({
    items: labelSelector === 'kubenode.io/incident=a' ? [{ metadata: { name: 'r', uid: 'u' } }] : [],
  })
  const remove = async (_: unknown, key: unknown, more: { preconditions?: unknown } = {}) =>
    void deleted.push([key, more.preconditions])
  const { client } = serverOf({ v1: ['devicetaintrules'] }, { list, delete: remove } as never)
  await endIsolation(client, 'a')
  await endIsolation(client, 'b')
  expect(deleted).toEqual([[{ name: 'r' }, { uid: 'u' }]])
})
