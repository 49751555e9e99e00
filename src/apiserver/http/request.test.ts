import { describe, expect, test } from 'vitest'
import { Refusal } from '../status/refusal.ts'
import { acceptedForm } from './accept.ts'
import { listOptions, writeOptions } from './query.ts'
import { parsePath } from './request-path.ts'

const core = { group: '', version: 'v1', watch: false, subresource: '' }

describe('paths', () => {
  test.each([
    ['/api/v1/nodes', { ...core, namespace: '', plural: 'nodes', name: '' }],
    ['/api/v1/nodes/n', { ...core, namespace: '', plural: 'nodes', name: 'n' }],
    ['/api/v1/namespaces/x', { ...core, namespace: 'x', plural: 'namespaces', name: 'x' }],
    [
      '/api/v1/namespaces/x/status',
      { ...core, namespace: 'x', plural: 'namespaces', name: 'x', subresource: 'status' },
    ],
    ['/api/v1/namespaces/x/pods/', { ...core, namespace: 'x', plural: 'pods', name: '' }],
    ['/api/v1/namespaces/x/pods/p/log', { ...core, namespace: 'x', plural: 'pods', name: 'p', subresource: 'log' }],
    ['/api/v1/watch/namespaces/x/pods', { ...core, watch: true, namespace: 'x', plural: 'pods', name: '' }],
    [
      '/apis/a.io/v2/things/a%2Fb',
      { ...core, group: 'a.io', version: 'v2', namespace: '', plural: 'things', name: 'a', subresource: 'b' },
    ],
  ])('%s', (path, want) => expect(parsePath(path)).toEqual({ kind: 'resource', path: want }))

  test.each([
    ['/apis', 'other'],
    ['/apis/apps', 'other'],
    ['/apis/apps/v1', 'other'],
    ['/healthz', 'other'],
    ['/api/v1/namespaces/x/pods//p', 'malformed'],
  ])('%s is %s', (path, kind) => expect(parsePath(path)?.kind).toBe(kind))

  test('a broken escape is no path', () => expect(parsePath('/api/v1/nodes/%zz')).toBeUndefined())
})

const refusal = (f: () => unknown): string => {
  try {
    f()
    return 'none'
  } catch (e) {
    return e instanceof Refusal ? `${e.status.code} ${e.status.message}` : String(e)
  }
}

describe('options', () => {
  test('what was not asked is as the real server takes it', () =>
    expect(writeOptions(new URLSearchParams(), { options: 'CreateOptions', apply: false })).toEqual({
      dryRun: false,
      fieldManager: '',
      fieldValidation: 'Warn',
      force: false,
    }))

  test('an apply names its manager', () =>
    expect(refusal(() => writeOptions(new URLSearchParams(), { options: 'PatchOptions', apply: true }))).toBe(
      '422 PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
    ))

  test.each([
    ['limit=ten', '400 strconv.ParseInt: parsing "ten": invalid syntax'],
    ['limit=-1', 'none'],
    [
      'watch=maybe&sendInitialEvents=true',
      '422 ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan',
    ],
    [
      'watch=false&resourceVersionMatch=Exact',
      '422 ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided',
    ],
  ])('%s', (query, want) => expect(refusal(() => listOptions(new URLSearchParams(query), false))).toBe(want))
})

describe('forms of answers', () => {
  test.each([
    [undefined, 'json object'],
    ['*/*', 'json object'],
    ['application/vnd.kubernetes.protobuf,application/json', 'json object'],
    ['application/yaml', 'yaml object'],
    ['application/json;as=Table;v=v1;g=meta.k8s.io,application/json', 'json Table'],
    ['application/json;as=Table;v=v9;g=meta.k8s.io, application/json', 'json object'],
  ])('%s', (header, want) => {
    const { encoding, as } = acceptedForm(header)
    expect(`${encoding} ${as}`).toBe(want)
  })

  test('an unknown media type is refused', () =>
    expect([
      refusal(() => acceptedForm('application/cbor')),
      refusal(() => acceptedForm('application/json;as=Frob;v=v1;g=meta.k8s.io')),
    ]).toEqual([
      expect.stringMatching(/^406 406: Not Acceptable/),
      expect.stringMatching(/^406 only the following media types/),
    ]))
})
