// Hosts get the kubeconfig's address only if they can reach it, and keep the address they have.
import { expect, test } from 'vitest'
import { isForHosts, withHostServer } from './host-server.ts'

test.each([
  ['https://api.prod-1.example.org:6443', true],
  ['https://10.0.0.5:6443', true],
  ['https://[fd00::5]:6443', true],
  ['https://rancher.example.org/k8s/clusters/c-1', true],
  ['https://127.0.0.1:6443', false],
  ['https://127.3.2.1:6443', false],
  ['https://[::1]:6443', false],
  ['https://localhost:6443', false],
  ['https://0.0.0.0:6443', false],
  ['https://kubernetes.default.svc', false],
  ['http://api.prod-1.example.org:8080', false],
  ['nonsense', false],
])('hosts can use %s: %s', (server, expected) => expect(isForHosts(server)).toBe(expected))

const SERVER = 'https://api.prod-1.example.org:6443'
const apiServer = { url: SERVER }

test('the address of the kubeconfig is used where there are nodes and none is named, and is reported', () => {
  expect(withHostServer({ roles: ['business'] }, {}, `${SERVER}/`)).toEqual({
    values: { roles: ['business'], apiServer },
    chosen: SERVER,
  })
  expect(withHostServer({}, {}, SERVER).values).toEqual({ apiServer })
  expect(withHostServer({ apiServer: { ca: 'PEM' } }, {}, SERVER).values).toEqual({
    apiServer: { ca: 'PEM', url: SERVER },
  })
})

test('what the settings or an earlier run named stays', () => {
  const own = { apiServer: { url: 'https://own:6443' } }
  expect(withHostServer(own, {}, SERVER)).toEqual({ values: own })
  expect(withHostServer({}, own, SERVER)).toEqual({ values: own })
})

test('a hub, a loopback address, a pod and a malformed setting get none', () => {
  expect(withHostServer({ roles: ['hub'] }, {}, SERVER)).toEqual({ values: { roles: ['hub'] } })
  const unusable = 'https://127.0.0.1:6443'
  expect(withHostServer({}, {}, unusable)).toEqual({ values: {}, unusable })
  expect(withHostServer({}, {}, undefined)).toEqual({ values: {} })
  expect(withHostServer({ apiServer: SERVER }, {}, SERVER)).toEqual({ values: { apiServer: SERVER } })
})
