// Sequences of writes with the managedFields that a real kube-apiserver 1.36 answered them with.
import { describe, expect, test } from 'vitest'
import type { Schema } from '#api/schema/schema.ts'
import { type ApplyResult, applyServerSide } from './apply-server-side.ts'
import { conflictCauses, conflictMessage } from './conflict.ts'
import { CONFIG_MAP, DEPLOYMENT, NODE } from '../../../../test/support/schema/test-kinds.ts'
import { trackUpdate } from './track-update.ts'

type Json = Record<string, unknown>

interface Kind {
  readonly schema: Schema
  readonly apiVersion: string
  readonly kind: string
}

const KINDS = {
  configMap: { schema: CONFIG_MAP, apiVersion: 'v1', kind: 'ConfigMap' },
  deployment: { schema: DEPLOYMENT, apiVersion: 'apps/v1', kind: 'Deployment' },
  node: { schema: NODE, apiVersion: 'v1', kind: 'Node' },
} as const

/** As much of an API server as a sequence of writes to one object needs; each write happens a minute after the one before. */
class Server {
  live: Json | undefined
  #minute = 0
  readonly #kind: Kind

  constructor(kind: Kind) {
    this.#kind = kind
  }

  #time(): string {
    return `2026-01-01T00:${String(this.#minute++).padStart(2, '0')}:00Z`
  }

  apply(manager: string, content: Json, force = false): ApplyResult {
    const { apiVersion, kind } = this.#kind
    const applied = { apiVersion, kind, ...content, metadata: { name: 'a', ...(content['metadata'] as Json) } }
    const result = applyServerSide({ ...this.#kind, live: this.live, applied, manager, force, time: this.#time() })
    if (result.kind === 'Applied') this.#store(result.object)
    return result
  }

  write(manager: string, content: Json): void {
    const { apiVersion, kind } = this.#kind
    const metadata = { ...(this.live?.['metadata'] as Json), name: 'a', ...(content['metadata'] as Json) }
    const next = { apiVersion, kind, ...content, metadata }
    const managedFields = trackUpdate({ ...this.#kind, live: this.live, next, manager, time: this.#time() })
    const { managedFields: _, ...rest } = metadata as Json
    this.#store({ ...next, metadata: managedFields === undefined ? rest : { ...rest, managedFields } })
  }

  #store(object: Json): void {
    this.live = { ...object, metadata: { ...(object['metadata'] as Json), uid: 'u' } }
  }

  /** One line an owner, as recorded. */
  owners(): readonly string[] {
    const entries = ((this.live?.['metadata'] as Json | undefined)?.['managedFields'] ?? []) as readonly Json[]
    return entries.map(
      (e) =>
        `${String(e['manager'])} ${String(e['operation'])} ${'time' in e ? 'timed' : 'timeless'} ${JSON.stringify(e['fieldsV1'])}`,
    )
  }
}

const kOwnedBy = (manager: string) => `${manager} Apply timed {"f:data":{"f:k":{}}}`

describe('managedFields of a config map, as recorded', () => {
  test('an apply owns what it names, and applying the same again changes nothing', () => {
    const server = new Server(KINDS.configMap)
    server.apply('alice', { data: { k: 'v' } })
    const before = server.live
    expect(server.owners()).toEqual([kOwnedBy('alice')])
    expect(server.apply('alice', { data: { k: 'v' } })).toEqual({ kind: 'Applied', object: before, changed: false })
  })

  test('labels and annotations are owned key by key', () => {
    const server = new Server(KINDS.configMap)
    server.apply('alice', { metadata: { labels: { a: '1' }, annotations: { b: '2' } } })
    expect(server.owners()).toEqual([
      'alice Apply timed {"f:metadata":{"f:annotations":{"f:b":{}},"f:labels":{"f:a":{}}}}',
    ])
  })

  test('another value for an owned field is a conflict and changes nothing', () => {
    const server = new Server(KINDS.configMap)
    server.apply('alice', { data: { k: 'v' } })
    const result = server.apply('bob', { data: { k: 'w' } })
    expect(result.kind).toBe('Conflict')
    if (result.kind !== 'Conflict') return
    expect(conflictMessage(result.conflicts)).toBe('Apply failed with 1 conflict: conflict with "alice": .data.k')
    expect(conflictCauses(result.conflicts)).toEqual([
      { reason: 'FieldManagerConflict', message: 'conflict with "alice"', field: '.data.k' },
    ])
    expect(server.owners()).toEqual([kOwnedBy('alice')])
  })

  test('conflicts with several owners are listed by owner', () => {
    const server = new Server(KINDS.configMap)
    server.apply('alice', { data: { k: 'v' } })
    server.apply('carol', { data: { l: 'v' } })
    const result = server.apply('bob', { data: { k: '1', l: '2' } })
    expect(result.kind === 'Conflict' && conflictMessage(result.conflicts)).toBe(
      'Apply failed with 2 conflicts: conflicts with "alice":\n- .data.k\nconflicts with "carol":\n- .data.l',
    )
  })

  test('force takes the field, and an owner of nothing is forgotten', () => {
    const server = new Server(KINDS.configMap)
    server.apply('alice', { data: { k: 'v' } })
    server.apply('bob', { data: { k: 'w' } }, true)
    expect(server.owners()).toEqual([kOwnedBy('bob')])
    expect(server.live?.['data']).toEqual({ k: 'w' })
  })

  test('the same value is owned by both, and goes with the last of them', () => {
    const server = new Server(KINDS.configMap)
    server.apply('alice', { data: { k: 'v' } })
    server.apply('bob', { data: { k: 'v' } })
    const timeless = 'bob Apply timeless {"f:data":{"f:k":{}}}'
    expect(server.owners().toSorted()).toEqual([kOwnedBy('alice'), timeless])
    server.apply('alice', {})
    expect(server.owners()).toEqual([timeless])
    expect(server.live?.['data']).toEqual({ k: 'v' })
    server.apply('bob', {})
    expect(server.owners()).toEqual([])
    expect(server.live).not.toHaveProperty('data')
    expect(server.live?.['metadata']).not.toHaveProperty('managedFields')
  })

  test('update and apply of one manager are two entries', () => {
    const server = new Server(KINDS.configMap)
    server.apply('x', { data: { k: 'v' } })
    server.write('x', { data: { k: 'v', l: 'w' } })
    expect(server.owners()).toEqual([kOwnedBy('x'), 'x Update timed {"f:data":{"f:l":{}}}'])
  })

  test('a put owns only what it changed', () => {
    const server = new Server(KINDS.configMap)
    server.apply('alice', { data: { k: 'v' } })
    server.write('ed', { data: { k: 'v', n: '1' } })
    expect(server.owners()).toEqual([kOwnedBy('alice'), 'ed Update timed {"f:data":{"f:n":{}}}'])
  })

  test('a put that drops a field takes it from its owner and owns nothing itself', () => {
    const server = new Server(KINDS.configMap)
    server.apply('alice', { data: { k: 'v', l: 'w' } })
    server.write('ed', { data: { k: 'v' } })
    expect(server.owners()).toEqual([kOwnedBy('alice')])
    server.apply('alice', { data: { k: 'v', l: 'w' } })
    expect(server.owners()).toEqual(['alice Apply timed {"f:data":{"f:k":{},"f:l":{}}}'])
  })

  test('null for a map removes its keys and is owned', () => {
    const server = new Server(KINDS.configMap)
    server.apply('alice', { data: { k: 'v' } })
    server.apply('alice', { data: null })
    expect(server.owners()).toEqual(['alice Apply timed {"f:data":{}}'])
    expect(server.live).not.toHaveProperty('data')
  })

  test('a create owns all it sets, and a later patch by the same manager adds to its entry', () => {
    const server = new Server(KINDS.configMap)
    server.write('apidiff', { metadata: { labels: { l: '1' } }, data: { k: 'v' } })
    expect(server.owners()).toEqual([
      'apidiff Update timed {"f:data":{".":{},"f:k":{}},"f:metadata":{"f:labels":{".":{},"f:l":{}}}}',
    ])
    server.write('apidiff', { metadata: { labels: { l: '1' } }, data: { k: 'v', z: '1' } })
    expect(server.owners()).toEqual([
      'apidiff Update timed {"f:data":{".":{},"f:k":{},"f:z":{}},"f:metadata":{"f:labels":{".":{},"f:l":{}}}}',
    ])
  })

  test('a second updater takes what it changes and leaves the map itself', () => {
    const server = new Server(KINDS.configMap)
    server.write('alice', { data: { k: 'v' } })
    server.write('bob', { data: { k: 'w', n: '1' } })
    expect(server.owners()).toEqual([
      'alice Update timed {"f:data":{}}',
      'bob Update timed {"f:data":{"f:k":{},"f:n":{}}}',
    ])
  })

  test.each([
    ['one empty entry', [{}]],
    ['an empty list', []],
  ])('%s clears managedFields, and later updates track nothing', (_, managedFields) => {
    const server = new Server(KINDS.configMap)
    server.write('apidiff', { data: { k: 'v' } })
    server.write('apidiff', { data: { k: 'v' }, metadata: { managedFields } })
    expect(server.owners()).toEqual([])
    server.write('apidiff', { data: { k: 'v', q: 'r' } })
    expect(server.owners()).toEqual([])
  })

  test('malformed managedFields in a write are ignored', () => {
    const server = new Server(KINDS.configMap)
    server.write('apidiff', { data: { k: 'v' } })
    const managedFields = [{ manager: 'x', operation: 'Nope', fieldsV1: {} }]
    server.write('apidiff', { data: { k: 'v' }, metadata: { managedFields } })
    expect(server.owners()).toEqual(['apidiff Update timed {"f:data":{".":{},"f:k":{}}}'])
  })

  test('the first apply to an object without managedFields gives its fields an owner', () => {
    const server = new Server(KINDS.configMap)
    server.write('apidiff', { data: { k: 'v' } })
    server.write('apidiff', { data: { k: 'v' }, metadata: { managedFields: [{}] } })
    server.apply('alice', { data: { l: 'w' } })
    expect(server.owners()).toEqual([
      'alice Apply timed {"f:data":{"f:l":{}}}',
      'before-first-apply Update timed {"f:data":{".":{},"f:k":{}}}',
    ])
  })
})

describe('managedFields of other kinds, as recorded', () => {
  test('two appliers own different variables of one container', () => {
    const server = new Server(KINDS.deployment)
    const containers = (container: Json): Json => ({
      spec: { template: { spec: { containers: [{ name: 'main', ...container }] } } },
    })
    const whole = {
      spec: {
        selector: { matchLabels: { app: 'd' } },
        template: {
          metadata: { labels: { app: 'd' } },
          spec: { containers: [{ name: 'main', image: 'example/app:1' }] },
        },
      },
    }
    const alice =
      'alice Apply timed {"f:spec":{"f:selector":{},"f:template":{"f:metadata":{"f:labels":{"f:app":{}}},"f:spec":{"f:containers":{"k:{\\"name\\":\\"main\\"}":{".":{},"f:image":{},"f:name":{}}}}}}}'
    server.apply('alice', whole)
    server.apply('bob', containers({ env: [{ name: 'B', value: '1' }] }))
    expect(server.owners()).toEqual([
      alice,
      'bob Apply timed {"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\\"name\\":\\"main\\"}":{".":{},"f:env":{"k:{\\"name\\":\\"B\\"}":{".":{},"f:name":{},"f:value":{}}},"f:name":{}}}}}}}',
    ])
    server.apply('bob', {})
    expect(server.owners()).toEqual([alice])
    expect(server.live).toMatchObject(whole)
    expect(JSON.stringify(server.live)).not.toContain('"env"')
  })

  test('untracked taints belong to the time before the first apply', () => {
    const server = new Server(KINDS.node)
    server.live = {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'a', uid: 'u' },
      spec: { taints: [{ key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }] },
    }
    const result = server.apply('alice', { spec: { taints: [{ key: 'x', effect: 'NoSchedule' }] } })
    expect(result.kind === 'Conflict' && conflictMessage(result.conflicts)).toBe(
      'Apply failed with 1 conflict: conflict with "before-first-apply" using v1: .spec.taints',
    )
  })

  test('taints are owned as one value', () => {
    const server = new Server(KINDS.node)
    server.apply('alice', { metadata: { labels: { a: 'b' } }, spec: { taints: [{ key: 'x', effect: 'NoSchedule' }] } })
    expect(server.owners()).toEqual([
      'alice Apply timed {"f:metadata":{"f:labels":{"f:a":{}}},"f:spec":{"f:taints":{}}}',
    ])
  })
})

describe('configurations that are refused, as recorded', () => {
  const refused = (kind: Kind, applied: Json): unknown =>
    applyServerSide({ ...kind, live: undefined, applied, manager: 'alice', force: false, time: '2026-01-01T00:00:00Z' })

  test('a value of the wrong type', () => {
    const applied = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data: { k: 5 } }
    expect(refused(KINDS.configMap, applied)).toEqual({
      kind: 'Invalid',
      httpCode: 500,
      message:
        'failed to create typed patch object (/a; /v1, Kind=ConfigMap): .data.k: expected string, got &value.valueUnstructured{Value:5}',
    })
  })

  test('two containers of one name', () => {
    const containers = [
      { name: 'a', image: 'x' },
      { name: 'a', image: 'y' },
    ]
    const applied = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'd' },
      spec: { template: { spec: { containers } } },
    }
    expect(refused(KINDS.deployment, applied)).toEqual({
      kind: 'Invalid',
      httpCode: 500,
      message:
        'failed to create typed patch object (/d; apps/v1, Kind=Deployment): .spec.template.spec.containers: duplicate entries for key [name="a"]',
    })
  })

  test('no apiVersion and kind', () => {
    expect(refused(KINDS.configMap, { metadata: { name: 'a' }, data: { k: 'v' } })).toEqual({
      kind: 'Invalid',
      httpCode: 400,
      message: 'invalid object type: /, Kind=',
    })
  })
})

describe('a custom resource with two versions, as recorded', () => {
  test('an owner in a version that lacks a field of the object makes every later apply fail', () => {
    const typed = (properties: Readonly<Record<string, Schema>>): Schema => ({
      type: 'object',
      properties: { metadata: { type: 'object' }, spec: { type: 'object', properties } },
    })
    const v1alpha1 = typed({ a: { type: 'string' } })
    const v1 = typed({ a: { type: 'string' }, b: { type: 'string' } })
    const versions = new Map([
      ['g/v1alpha1', v1alpha1],
      ['g/v1', v1],
    ])
    const base = { versions, force: false, time: '2026-01-01T00:00:00Z' } as const
    const object = (apiVersion: string, spec: Json): Json => ({
      apiVersion,
      kind: 'Machine',
      metadata: { name: 'm' },
      spec,
    })
    const first = applyServerSide({
      ...base,
      schema: v1alpha1,
      apiVersion: 'g/v1alpha1',
      live: undefined,
      applied: object('g/v1alpha1', { a: '1' }),
      manager: 'alice',
    })
    expect(first.kind).toBe('Applied')
    if (first.kind !== 'Applied') return
    const live = { ...first.object, apiVersion: 'g/v1', spec: { a: '1', b: 'bee' } }
    const second = applyServerSide({
      ...base,
      schema: v1,
      apiVersion: 'g/v1',
      live,
      applied: object('g/v1', { b: '2' }),
      manager: 'bob',
    })
    expect(second).toEqual({ kind: 'Invalid', httpCode: 500, message: '.spec.b: field not declared in schema' })
  })
})
