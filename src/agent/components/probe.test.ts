// Probes of a container runtime and of the kubelet's Lease: a good answer passes, and an unknown one fails nothing.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import http2 from 'node:http2'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { readCriStatus } from '../detect/npd/runtime-call.ts'
import { nodeDir } from '../node-dir.ts'
import type { LeaseRenewal } from '../node/lease-renewal.ts'
import { runProbe, type Probe, type ProbePlace } from './probe.ts'

let dir = ''
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'kubenode-probe-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const NOW = 1_000_000
const times = { interval: '10s', timeout: '300ms', settle: '1s' }

const place = (renewal: LeaseRenewal = { kind: 'Unknown' }): ProbePlace => ({
  dir: nodeDir(dir),
  address: '127.0.0.1',
  now: () => NOW,
  environment: {},
  leaseRenewal: () => Promise.resolve(renewal),
})

/** A StatusResponse with one condition, as protobuf in a gRPC frame. */
function statusOf(type: string, isReady: boolean): Buffer {
  const field = (n: number, bytes: Buffer) => Buffer.concat([Buffer.from([(n << 3) | 2, bytes.length]), bytes])
  const condition = Buffer.concat([
    field(1, Buffer.from(type)),
    ...(isReady ? [Buffer.from([0x10, 1])] : []),
    field(3, Buffer.from('NoDisk')),
  ])
  const message = field(1, field(1, condition))
  return Buffer.concat([Buffer.from([0, 0, 0, 0, message.length]), message])
}

describe('the CRI of a runtime', () => {
  test.each<[string, Buffer, unknown]>([
    ['ready', statusOf('RuntimeReady', true), { kind: 'Ready' }],
    ['not ready', statusOf('RuntimeReady', false), { kind: 'NotReady', message: 'RuntimeReady is false: NoDisk' }],
    [
      'without the condition',
      statusOf('NetworkReady', true),
      { kind: 'NotReady', message: 'its status has no condition RuntimeReady' },
    ],
    ['empty', Buffer.alloc(0), { kind: 'NotReady', message: 'its status has no condition RuntimeReady' }],
    [
      'cut in the middle',
      statusOf('RuntimeReady', true).subarray(0, 12),
      { kind: 'NotReady', message: 'its status has no condition RuntimeReady' },
    ],
  ])('that is %s', (_, body, says) => expect(readCriStatus(body)).toEqual(says))

  test('passes when it is ready, fails when it says no, and is silent without an answer', async () => {
    const socket = join(dir, 'root/cri.sock')
    mkdirSync(join(dir, 'root'))
    const probe: Probe = { name: 'cri', cri: { socket: '/cri.sock' }, ...times }
    expect((await runProbe(probe, place(), 0)).kind).toBe('NoAnswer')
    let answer: Buffer | undefined = statusOf('RuntimeReady', true)
    const paths = new Set<unknown>()
    const server = http2.createServer()
    server.on('stream', (stream: http2.ServerHttp2Stream, headers) => {
      paths.add(headers[':path'])
      if (answer === undefined) return
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
      stream.end(answer)
    })
    await new Promise<void>((done) => server.listen(socket, done))
    try {
      expect(await runProbe(probe, place(), 0)).toEqual({ kind: 'Pass' })
      answer = statusOf('RuntimeReady', false)
      expect(await runProbe(probe, place(), 0)).toMatchObject({ kind: 'Fail' })
      answer = undefined
      expect(await runProbe(probe, place(), 0)).toMatchObject({
        kind: 'NoAnswer',
        message: expect.stringContaining('300 ms') as string,
      })
      expect([...paths]).toEqual(['/runtime.v1.RuntimeService/Status'])
    } finally {
      server.close()
    }
  })
})

test.each<[string, LeaseRenewal, number, string]>([
  ['renewed since the start', { kind: 'Renewed', at: NOW - 5_000 }, 8_000, 'Pass'],
  ['renewed by the process before', { kind: 'Renewed', at: NOW - 5_000 }, 3_000, 'NoAnswer'],
  ['too old', { kind: 'Renewed', at: NOW - 41_000 }, 900_000, 'Fail'],
  ['missing', { kind: 'None' }, 900_000, 'NoAnswer'],
  ['unknown, since the API server is away', { kind: 'Unknown' }, 0, 'Pass'],
])('a Lease of the Node that is %s', async (_, renewal, watchedMs, kind) => {
  expect(
    (await runProbe({ name: 'lease', nodeLease: { maxAge: '40s' }, ...times }, place(renewal), watchedMs)).kind,
  ).toBe(kind)
})

test('a component that answers with a switch to another protocol gives its probe no answer, at once', async () => {
  const server = createServer((request) => {
    request.socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    const probe: Probe = {
      name: 'http',
      ...times,
      http: { port: (server.address() as AddressInfo).port, path: '/healthz', tls: false },
    }
    expect(await runProbe(probe, place(), 0)).toEqual({
      kind: 'NoAnswer',
      message: '/healthz: the answer is a switch to another protocol',
    })
  } finally {
    server.closeAllConnections()
    server.close()
  }
})
