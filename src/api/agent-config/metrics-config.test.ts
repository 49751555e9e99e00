import { expect, test } from 'vitest'
import { DEFAULT_METRICS, parseMetrics } from './metrics-config.ts'

const OPEN = { port: 20_260, cert: undefined, key: undefined, clientCa: undefined }

test.each([
  ['nothing', undefined, DEFAULT_METRICS],
  ['false', false, { ...DEFAULT_METRICS, port: undefined }],
  ['one line', { scrape: true }, { ...DEFAULT_METRICS, scrape: OPEN }],
  ['closed again', { scrape: false }, DEFAULT_METRICS],
  ['a port on loopback', { port: 0 }, { ...DEFAULT_METRICS, port: 0 }],
  [
    'a certificate of the cluster',
    { scrape: { port: 9_101, cert: '/c', key: '/k', clientCa: '/ca' } },
    { ...DEFAULT_METRICS, scrape: { port: 9_101, cert: '/c', key: '/k', clientCa: '/ca' } },
  ],
  ['names and security', { names: 'npd', security: true }, { ...DEFAULT_METRICS, names: 'npd', security: true }],
])('%s', (_, value, expected) => {
  const problems: string[] = []
  expect(parseMetrics(value, problems)).toEqual(expected)
  expect(problems).toEqual([])
})

test.each([
  ['a text', 'yes', 'metrics must be false or an object'],
  ['a port beyond all', { port: 70_000 }, 'metrics.port is not a port'],
  ['other names', { names: 'ours' }, 'metrics.names must be one of npd, node-exporter, both'],
  ['half a pair', { scrape: { cert: '/c' } }, 'metrics.scrape needs both cert and key, or neither'],
  [
    'a path with dots',
    { scrape: { clientCa: '/a/../b' } },
    'metrics.scrape.clientCa must be an absolute path without ..',
  ],
  ['no truth', { security: 1 }, 'metrics.security is not true or false'],
])('%s is a problem, and the port stays closed', (_, value, problem) => {
  const problems: string[] = []
  expect(parseMetrics(value, problems).scrape).toBeUndefined()
  expect(problems).toEqual([problem])
})
