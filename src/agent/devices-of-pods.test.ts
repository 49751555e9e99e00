// Which pods hold which devices, from a kubelet's socket that answers, hangs, or sends what no kubelet sends.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Http2Server, type ServerHttp2Stream } from 'node:http2'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { systemClock } from '#lib/system-clock.ts'
import { heldDevices, parseHeld } from './devices-of-pods.ts'
import { realFiles } from './files/real.ts'
import { nodeDir } from './node-dir.ts'
import { collectEvidence } from './repair/evidence.ts'

const folder = mkdtempSync(join(tmpdir(), 'kubenode-devices-'))
const servers: Http2Server[] = []
afterAll(() => {
  for (const server of servers) server.close()
  rmSync(folder, { recursive: true, force: true })
})

/** A field of bytes, with lengths below 16,384. */
function field(number: number, value: string | Buffer): Buffer {
  const bytes = Buffer.from(value)
  return Buffer.concat([
    Buffer.from([number * 8 + 2, (bytes.length % 128) + 128, Math.floor(bytes.length / 128)]),
    bytes,
  ])
}
const message = (...fields: readonly Buffer[]): Buffer => Buffer.concat(fields)
const device = (resource: string, ...ids: readonly string[]): Buffer =>
  field(2, message(field(1, resource), ...ids.map((id) => field(2, id))))
const claim = (driver: string, pool: string, name: string): Buffer =>
  field(
    5,
    message(field(2, 'claim'), field(3, 'ns'), field(4, message(field(2, driver), field(3, pool), field(4, name)))),
  )
const pod = (namespace: string, name: string, ...parts: readonly Buffer[]): Buffer =>
  field(1, message(field(1, name), field(2, namespace), field(3, message(field(1, 'c'), ...parts))))

const ANSWER = message(
  pod('team-a', 'train-0', device('nvidia.com/gpu', 'GPU-1f2e', 'GPU-77aa')),
  pod('team-b', 'infer', claim('gpu.example.com', 'n-1', 'gpu-3')),
  pod('team-c', 'web'),
)
const HELD = [
  { pod: 'team-a/train-0', resource: 'nvidia.com/gpu', device: 'GPU-1f2e' },
  { pod: 'team-a/train-0', resource: 'nvidia.com/gpu', device: 'GPU-77aa' },
  { pod: 'team-b/infer', resource: 'gpu.example.com', device: 'n-1/gpu-3' },
]

async function kubelet(name: string, answer: (stream: ServerHttp2Stream) => void): Promise<string> {
  const server = createServer()
  server.on('stream', answer)
  server.on('session', (session) => session.unref())
  servers.push(server)
  const path = join(folder, name)
  await new Promise<void>((resolve) => void server.listen(path, resolve))
  return path
}

const says =
  (body: Buffer, status = '0') =>
  (stream: ServerHttp2Stream): void => {
    const head = Buffer.alloc(5)
    head.writeUInt32BE(body.length, 1)
    stream.on('error', () => undefined)
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': status }))
    stream.end(Buffer.concat([head, body]))
  }

test('devices of plugins and of claims, by pod', async () => {
  expect(await heldDevices(await kubelet('good', says(ANSWER)), 2_000)).toEqual(HELD)
  expect(await heldDevices(await kubelet('empty', says(Buffer.alloc(0))), 2_000)).toEqual([])
})

test.each([
  ['silent', () => undefined, 'no answer within 300 ms'],
  ['refusing', says(Buffer.alloc(0), '12'), 'gRPC status 12'],
  ['cut', says(ANSWER.subarray(0, ANSWER.length - 3)), 'its answer cannot be read'],
  ['huge', says(Buffer.alloc(2_000_000)), 'an answer of more than 1048576 bytes'],
] as const)('a kubelet that is %s says nothing', async (name, answer, why) => {
  expect(await heldDevices(await kubelet(name, answer), 300)).toBe(why)
})

test('a repair records them in its first step, each in one printable line', async () => {
  const deps = { files: realFiles, dir: nodeDir(join(folder, 'node'), '/'), clock: systemClock }
  const collect = async (podResources: string) =>
    (await collectEvidence({ ...deps, podResources }, ['Devices'], 'j', new AbortController().signal)).output
  const body = message(ANSWER, pod('team-d', 'x', device('evil.example/x', 'a\nb\u001b[31m')))
  expect(await collect(await kubelet('recorded', says(body)))).toMatch(
    /^Devices: \S+devices\.txt \(\d+ bytes\): team-a\/train-0 uses nvidia\.com\/gpu GPU-1f2e; team-a\/train-0 uses nvidia\.com\/gpu GPU-77aa; team-b\/infer uses gpu\.example\.com n-1\/gpu-3; team-d\/x uses evil\.example\/x a\ufffdb\ufffd\[31m$/,
  )
  expect(await collect(join(folder, 'nobody'))).toMatch(
    /^Devices: not collected: cannot ask the kubelet which pods use devices: .*ENOENT/,
  )
})

test('each device has the bus of its card, where NVIDIA’s program or its own name says so', async () => {
  const programs = mkdtempSync(join(folder, 'programs-'))
  const text = `#!/bin/sh
case "$1" in
--query-gpu=*) echo 'GPU-1f2e, 00000000:3B:00.0'; echo 'GPU-77aa, 00000000:5E:00.0'; echo 'GPU-bad, x' ;;
--list-gpus) echo 'GPU 0: NVIDIA A100 (UUID: GPU-1f2e)'; echo '  MIG 1g.5gb Device 0: (UUID: MIG-00aa)'; echo 'GPU 1: ? (UUID: GPU-0000)'; echo '  MIG 1g.5gb Device 0: (UUID: MIG-00bb)' ;;
esac`
  writeFileSync(join(programs, 'nvidia-smi'), text, { mode: 0o755 })
  const ids = ['GPU-1f2e', 'GPU-77aa::2', 'MIG-00aa', 'MIG-00bb', '0000:c3:00.0', 'GPU-lost']
  const podResources = await kubelet('placed', says(pod('ml', 'a', device('r', ...ids))))
  const deps = { files: realFiles, dir: nodeDir(join(folder, 'node'), '/'), clock: systemClock, podResources, programs }
  const { devices } = await collectEvidence(deps, ['Devices'], 'placed', new AbortController().signal)
  expect(devices?.map((d) => d.bus)).toEqual(['0000:3b', '0000:5e', '0000:3b', undefined, '0000:c3', undefined])
})

test('more devices than a step records are not recorded in part', async () => {
  const ids = Array.from({ length: 257 }, (_, i) => `d${i}`)
  const podResources = await kubelet('many', says(pod('ml', 'a', device('r', ...ids))))
  const deps = { files: realFiles, dir: nodeDir(join(folder, 'node'), '/'), clock: systemClock, podResources }
  const result = await collectEvidence(deps, ['Devices'], 'many', new AbortController().signal)
  expect(result.devices).toBeUndefined()
})

test('without a kubelet nothing is known', async () => {
  expect(await heldDevices(join(folder, 'nobody'), 300)).toMatch(/ENOENT/)
})

test('any cut of an answer is either read as a shorter list of whole pods, or not at all', () => {
  for (let n = 0; n < ANSWER.length; n++) {
    const held = parseHeld(ANSWER.subarray(0, n))
    if (held !== undefined) expect(HELD.slice(0, held.length)).toEqual(held)
  }
  // Right after the length of a pod, after the tag of one, and after a tag of fixed width.
  for (const rest of [[0x0a, 0x05], [0x0a], [0x0d]])
    expect(parseHeld(Buffer.concat([ANSWER, Buffer.from(rest)]))).toBeUndefined()
  expect(parseHeld(Buffer.alloc(100_000, 0xff))).toBeUndefined()
  // More pods than any node has.
  expect(parseHeld(message(...Array.from({ length: 1_025 }, () => pod('a', 'b'))))).toBeUndefined()
})
