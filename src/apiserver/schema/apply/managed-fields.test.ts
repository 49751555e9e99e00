// Rules of managedFields that the recordings do not show: order, cap, subresources, reset fields, changed schemas, malformed entries.
import { describe, expect, test } from 'vitest'
import type { ManagedFieldsEntry } from '#api/schema/object.ts'
import type { Schema } from '#api/schema/schema.ts'
import { applyServerSide } from './apply-server-side.ts'
import { conflictMessage } from './conflict.ts'
import { fieldSetOfPaths } from './field-set.ts'
import { MAX_UPDATE_MANAGERS } from './managed-fields.ts'
import { CONFIG_MAP, DEPLOYMENT, NODE } from '../../../../test/support/schema/test-kinds.ts'
import { trackUpdate } from './track-update.ts'

type Json = Record<string, unknown>

const at = (minute: number): string => `2026-01-01T00:${String(minute).padStart(2, '0')}:00Z`
const entry = (
  manager: string,
  operation: 'Apply' | 'Update',
  fieldsV1: ManagedFieldsEntry['fieldsV1'],
  more: Partial<ManagedFieldsEntry> = {},
): ManagedFieldsEntry => ({
  manager,
  operation,
  apiVersion: 'v1',
  time: at(0),
  fieldsType: 'FieldsV1',
  ...(fieldsV1 === undefined ? {} : { fieldsV1 }),
  ...more,
})

const configMap = (data: Json, managedFields: readonly ManagedFieldsEntry[] = []): Json => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'a', uid: 'u', managedFields },
  data,
})

const BASE = { schema: CONFIG_MAP, apiVersion: 'v1', time: at(9) } as const

describe('entries', () => {
  test('appliers come first, then the oldest, then by name', () => {
    const managedFields = [
      entry('b', 'Update', { 'f:data': { 'f:b': {} } }, { time: at(1) }),
      entry('a', 'Update', { 'f:data': { 'f:a': {} } }, { time: at(2) }),
      entry('z', 'Apply', { 'f:data': { 'f:z': {} } }, { time: at(3) }),
      entry('y', 'Apply', { 'f:data': { 'f:y': {} } }, { time: at(3) }),
    ]
    const live = configMap({ a: '1', b: '1', y: '1', z: '1' }, managedFields)
    const after = trackUpdate({
      ...BASE,
      live,
      next: { ...live, data: { a: '1', b: '1', y: '1', z: '1', c: '1' } },
      manager: 'c',
    })
    expect(after?.map((e) => e.manager)).toEqual(['y', 'z', 'b', 'a', 'c'])
  })

  test('an entry that nothing happened to is written as it was', () => {
    const kept = entry('b', 'Update', { 'f:data': { 'f:b': {} } })
    const live = configMap({ b: '1' }, [kept])
    const after = trackUpdate({ ...BASE, live, next: { ...live, data: { b: '1', c: '1' } }, manager: 'c' })
    expect(after?.[0]).toBe(kept)
  })

  test('updaters beyond the cap are folded together, the oldest first', () => {
    let live: Json = configMap({})
    let managedFields: readonly ManagedFieldsEntry[] | undefined
    for (let i = 0; i < MAX_UPDATE_MANAGERS + 2; i++) {
      const next = { ...live, data: { ...(live['data'] as Json), [`k${i}`]: '1' } }
      managedFields = trackUpdate({ ...BASE, live: i === 0 ? undefined : live, next, manager: `m${i}`, time: at(i) })
      live = { ...next, metadata: { name: 'a', uid: 'u', managedFields } }
    }
    expect(managedFields).toHaveLength(MAX_UPDATE_MANAGERS)
    expect(managedFields?.[0]).toEqual(
      entry(
        'ancient-changes',
        'Update',
        { 'f:data': { '.': {}, 'f:k0': {}, 'f:k1': {}, 'f:k2': {} } },
        { time: at(2) },
      ),
    )
    expect(managedFields?.slice(1).map((e) => e.manager)).toEqual([
      'm3',
      'm4',
      'm5',
      'm6',
      'm7',
      'm8',
      'm9',
      'm10',
      'm11',
    ])
  })

  test('managedFields that a client sends replace those of before, in canonical form', () => {
    const live = configMap({ k: '1' }, [entry('old', 'Update', { 'f:data': { '.': {}, 'f:k': {} } })])
    const sent = [entry('new', 'Update', { 'f:data': { 'f:k': {}, 'x:?': {}, '.': {} } })]
    expect(trackUpdate({ ...BASE, live, next: configMap({ k: '1' }, sent), manager: 'm' })).toEqual([
      entry('new', 'Update', { 'f:data': { '.': {}, 'f:k': {} } }),
    ])
  })

  test('a subresource cannot set managedFields', () => {
    const mine = [entry('old', 'Update', { 'f:data': { '.': {}, 'f:k': {} } })]
    const live = configMap({ k: '1' }, mine)
    const next = configMap({ k: '1' }, [{} as ManagedFieldsEntry])
    expect(trackUpdate({ ...BASE, live, next, manager: 'm', subresource: 'status' })).toEqual(mine)
  })

  test('malformed entries of the object make an apply fail', () => {
    const live = configMap({}, [entry('x', 'Nope' as 'Apply', {})])
    const applied = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } }
    expect(applyServerSide({ ...BASE, live, applied, manager: 'm', force: false })).toEqual({
      kind: 'Invalid',
      httpCode: 500,
      message: 'failed to decode managed fields: operation must be `Apply` or `Update`',
    })
  })
})

describe('subresources', () => {
  const live: Json = {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'n', uid: 'u' },
    spec: { providerID: 'p' },
  }
  const NODE_BASE = { schema: NODE, apiVersion: 'v1', time: at(9) } as const
  const tracked = {
    ...live,
    metadata: {
      name: 'n',
      uid: 'u',
      managedFields: trackUpdate({ ...NODE_BASE, live: undefined, next: live, manager: 'ctl' }),
    },
  }

  test('a writer has one entry for each, and fields that the endpoint does not write are left out', () => {
    const next = { ...tracked, spec: { providerID: 'q' }, status: { nodeInfo: { osImage: 'x' } } }
    const resetFields = fieldSetOfPaths([['f:spec']])
    const after = trackUpdate({ ...NODE_BASE, live: tracked, next, manager: 'ctl', subresource: 'status', resetFields })
    expect(after).toEqual([
      entry('ctl', 'Update', { 'f:spec': { '.': {}, 'f:providerID': {} } }, { time: at(9) }),
      entry(
        'ctl',
        'Update',
        { 'f:status': { '.': {}, 'f:nodeInfo': { '.': {}, 'f:osImage': {} } } },
        { time: at(9), subresource: 'status' },
      ),
    ])
  })

  test('conflicts name the subresource of the owner', () => {
    const next = { ...tracked, status: { nodeInfo: { osImage: 'x' } } }
    const managedFields = trackUpdate({ ...NODE_BASE, live: tracked, next, manager: 'kubelet', subresource: 'status' })
    const owned = { ...next, metadata: { name: 'n', uid: 'u', managedFields } }
    const applied = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' }, status: { nodeInfo: { osImage: 'y' } } }
    const result = applyServerSide({
      ...NODE_BASE,
      live: owned,
      applied,
      manager: 'm',
      force: false,
      subresource: 'status',
    })
    expect(result.kind === 'Conflict' && conflictMessage(result.conflicts)).toBe(
      'Apply failed with 1 conflict: conflict with "kubelet" with subresource "status" using v1: .status.nodeInfo.osImage',
    )
  })

  test('an apply to the main endpoint does not own the status that it names', () => {
    const applied = {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'n' },
      spec: { providerID: 'p' },
      status: { nodeInfo: { osImage: 'y' } },
    }
    const resetFields = fieldSetOfPaths([['f:status']])
    const result = applyServerSide({ ...NODE_BASE, live: undefined, applied, manager: 'm', force: false, resetFields })
    expect(result.kind === 'Applied' && result.object.metadata.managedFields).toEqual([
      entry('m', 'Apply', { 'f:spec': { 'f:providerID': {} } }, { time: at(9) }),
    ])
  })
})

describe('a schema that changed since', () => {
  test('fields below what is now one value become that value', () => {
    const free: Schema = { type: 'object', additionalProperties: { type: 'string' } }
    const kind = (spec: Schema): Schema => ({ type: 'object', properties: { metadata: { type: 'object' }, spec } })
    const before = kind(free)
    const now = kind({ ...free, 'x-kubernetes-map-type': 'atomic' })
    const object = { apiVersion: 'g/v1', kind: 'K', metadata: { name: 'n' }, spec: { a: '1' } }
    const base = { apiVersion: 'g/v1', time: at(0), force: false } as const
    const first = applyServerSide({ ...base, schema: before, live: undefined, applied: object, manager: 'm' })
    expect(first.kind).toBe('Applied')
    if (first.kind !== 'Applied') return
    const other = { ...object, spec: { a: '2' } }
    const second = applyServerSide({ ...base, schema: now, live: first.object, applied: other, manager: 'o' })
    expect(second.kind === 'Conflict' && second.conflicts.map((c) => c.field)).toEqual(['.spec'])
  })

  test('owners in a version that is no longer served are forgotten', () => {
    const live = configMap({ k: '1', l: '1' }, [
      entry('old', 'Apply', { 'f:data': { 'f:k': {} } }, { apiVersion: 'v0' }),
      entry('new', 'Apply', { 'f:data': { 'f:l': {} } }),
    ])
    const versions = new Map([['v1', CONFIG_MAP]])
    const after = trackUpdate({ ...BASE, versions, live, next: live, manager: 'm' })
    expect(after?.map((e) => e.manager)).toEqual(['new'])
  })
})

describe('a custom resource', () => {
  const SPEC: Schema = {
    type: 'object',
    properties: {
      x: { type: 'object', nullable: true },
      y: { type: 'object' },
      object: { type: 'object', 'x-kubernetes-embedded-resource': true, properties: { spec: { type: 'object' } } },
    },
  }
  const schema: Schema = {
    type: 'object',
    properties: { metadata: { type: 'object', properties: { name: { type: 'string', maxLength: 9 } } }, spec: SPEC },
  }
  const base = { apiVersion: 'g/v1', schema, manager: 'm', force: false, time: at(0) } as const
  const object = (spec: Json): Json => ({
    apiVersion: 'g/v1',
    kind: 'K',
    metadata: { name: 'n', labels: { a: 'b' } },
    spec,
  })

  test('its metadata and that of resources in it are typed by the server', () => {
    const inner = { apiVersion: 'v1', kind: 'I', metadata: { labels: { c: 'd' } } }
    const result = applyServerSide({ ...base, live: undefined, applied: object({ object: inner }) })
    expect(result.kind === 'Applied' && result.object.metadata.managedFields?.[0]?.fieldsV1).toEqual({
      'f:metadata': { 'f:labels': { 'f:a': {} } },
      'f:spec': {
        'f:object': { 'f:apiVersion': {}, 'f:kind': {}, 'f:metadata': { 'f:labels': { 'f:c': {} } } },
      },
    })
  })

  test('null is kept where the schema allows it, and applying a dropped one again changes nothing', () => {
    const applied = object({ x: null, y: null })
    const first = applyServerSide({ ...base, live: undefined, applied })
    expect(first.kind === 'Applied' && first.object['spec']).toEqual({ x: null })
    if (first.kind !== 'Applied') return
    const again = applyServerSide({ ...base, live: first.object, applied, time: at(1) })
    expect(again).toEqual({ kind: 'Applied', object: first.object, changed: false })
  })
})

describe('an object without a schema', () => {
  test('maps are owned key by key and lists as one value', () => {
    const applied = {
      apiVersion: 'g/v1',
      kind: 'K',
      metadata: { name: 'n' },
      spec: { a: { b: 1 }, l: [{ name: 'x' }] },
    }
    const result = applyServerSide({
      apiVersion: 'g/v1',
      schema: undefined,
      live: undefined,
      applied,
      manager: 'm',
      force: false,
      time: at(0),
    })
    expect(result.kind === 'Applied' && result.object.metadata.managedFields).toEqual([
      entry('m', 'Apply', { 'f:spec': { '.': {}, 'f:a': { '.': {}, 'f:b': {} }, 'f:l': {} } }, { apiVersion: 'g/v1' }),
    ])
  })
})

describe('kubectl', () => {
  const LAST = 'kubectl.kubernetes.io/last-applied-configuration'
  const spec = (replicas: number): Json => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'd' },
    spec: { replicas },
  })
  const DEPLOY = { schema: DEPLOYMENT, apiVersion: 'apps/v1', time: at(9) } as const
  const clientApplied = (replicas: number, annotated: number): Json => {
    const next = {
      ...spec(replicas),
      metadata: { name: 'd', annotations: { [LAST]: JSON.stringify(spec(annotated)) } },
    }
    const managedFields = trackUpdate({ ...DEPLOY, live: undefined, next, manager: 'kubectl-client-side-apply' })
    return { ...next, metadata: { ...next.metadata, uid: 'u', managedFields } }
  }

  test('takes over what its own client-side apply set, and brings the annotation up to date', () => {
    const applied = spec(5)
    const result = applyServerSide({ ...DEPLOY, live: clientApplied(3, 3), applied, manager: 'kubectl', force: false })
    expect(result.kind).toBe('Applied')
    if (result.kind !== 'Applied') return
    expect(result.object['spec']).toEqual({ replicas: 5 })
    expect(result.object.metadata.annotations?.[LAST]).toBe(`${JSON.stringify(applied)}\n`)
  })

  test('does not take fields that another manager changed since', () => {
    const result = applyServerSide({
      ...DEPLOY,
      live: clientApplied(4, 3),
      applied: spec(5),
      manager: 'kubectl',
      force: false,
    })
    expect(result.kind === 'Conflict' && result.conflicts.map((c) => c.field)).toEqual(['.spec.replicas'])
  })

  test('no other manager may do so, and it leaves the annotation alone', () => {
    const live = clientApplied(3, 3)
    expect(applyServerSide({ ...DEPLOY, live, applied: spec(5), manager: 'flux', force: false }).kind).toBe('Conflict')
    const forced = applyServerSide({ ...DEPLOY, live, applied: spec(5), manager: 'flux', force: true })
    expect(forced.kind === 'Applied' && forced.object.metadata.annotations?.[LAST]).toBe(JSON.stringify(spec(3)))
  })
})
