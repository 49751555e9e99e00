// What a person reads when no connection came about.
import { expect, test } from 'vitest'
import { type Progress, reasonOf } from './transport.ts'

const request = { method: 'GET', path: '/api', what: 'list nodes', lane: 'read' } as unknown as Parameters<
  typeof reasonOf
>[0]
const refused = (address: string, port: number): Error =>
  Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED', address, port })

test.each([
  ['an address', refused('127.0.0.1', 6443), 'cannot list nodes: ECONNREFUSED 127.0.0.1:6443;'],
  ['an IPv6 address', refused('::1', 6443), 'cannot list nodes: ECONNREFUSED [::1]:6443;'],
  [
    'the first address of a name with several',
    Object.assign(new AggregateError([refused('::1', 1), refused('127.0.0.1', 1)]), { code: 'ECONNREFUSED' }),
    'cannot list nodes: ECONNREFUSED [::1]:1;',
  ],
  [
    'a name that does not resolve',
    Object.assign(new Error('x'), { code: 'ENOTFOUND', hostname: 'api.example.org' }),
    'cannot list nodes: ENOTFOUND api.example.org;',
  ],
  [
    'a connection that broke off',
    Object.assign(new Error('x'), { code: 'ECONNRESET' }),
    'cannot list nodes: ECONNRESET;',
  ],
])('the error names %s', (_, error, want) => {
  const state = { sent: false } as Progress
  expect(String(reasonOf(request, state, error))).toContain(want)
})
