import { describe, expect, test } from 'vitest'
import { type ConnectionConfig, parseServer } from './connection.ts'

const token = { token: { data: 't' } }
const cert = { clientCertificate: { cert: { data: 'c' }, key: { data: 'k' } } }
const plugin = { identity: async () => ({ token: 't' }) }

describe('the address of an API server', () => {
  test.each<[string, ConnectionConfig]>([
    ['a token to another host', { server: 'http://edge.example:8080', ...token }],
    ['a certificate to another host', { server: 'http://edge.example:8080', ...cert }],
    ['what a plugin answers to another host', { server: 'http://10.0.0.1', ...plugin }],
    ['a token to a proxy on this host', { server: 'http://127.0.0.1:8001', ...token }],
    ['nothing to another host, where answers could be changed', { server: 'http://edge.example:8080' }],
    ['a token to a name that begins like this host', { server: 'http://127.0.0.1.example:8001', ...token }],
  ])('over plain http does not get %s', (_, config) => {
    expect(() => parseServer(config)).toThrow(/KN2010.*use https/)
  })

  test('over plain http is a proxy on this host', () => {
    for (const server of ['http://127.0.0.1:8001', 'http://localhost:8001', 'http://[::1]:8001'])
      expect(parseServer({ server }).protocol).toBe('http:')
    expect(parseServer({ server: 'https://edge.example:6443', ...token }).host).toBe('edge.example:6443')
  })
})
