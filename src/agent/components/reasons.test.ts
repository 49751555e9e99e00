// The reason in a component's status, and what it quotes from the log, as in the runbook "A component on a machine is not well".
import { expect, test } from 'vitest'
import { componentStatus } from '../status/machine-status.ts'
import { FakeNode, type TestOrder } from '#test/doubles/node/fake-node.ts'
import { newPublisher, release, type Release } from '#test/doubles/node/release.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { KubeNodeError } from '#lib/errors.ts'
import type { ProbeAnswer } from './probe.ts'
import { agentErrors } from '../agent-errors.ts'
import { causeOf } from './cause.ts'

const publisher = newPublisher()
const spec = {
  service: { exec: '/opt/beacon/bin/beacon', restart: 'Always', killMode: 'Process' },
  probes: [{ name: 'healthz', http: { port: 1, path: '/healthz' }, interval: '1s', timeout: '1s', settle: '2s' }],
}
const good = release(publisher, { version: '1.0.0', spec })
const next = release(publisher, { version: '1.1.0', spec })
const FIRST: TestOrder = { version: '1.0.0', attempt: 1 }
const SECOND: TestOrder = { version: '1.1.0', attempt: 2, switch: { attempt: 2, permit: 'p' } }

interface World {
  readonly releases?: readonly Release[]
  readonly serve?: (url: string) => Buffer | undefined
  readonly probe?: (version: string) => ProbeAnswer
  readonly first?: TestOrder
}

async function node({ releases = [good, next], first = FIRST, ...more }: World = {}) {
  const clock = new VirtualClock()
  const made = new FakeNode({ publisher, releases, clock, ...more })
  await made.start()
  made.obey(first)
  await clock.advance(10_000)
  const status = () => {
    const { record } = made.worker
    if (record === undefined) throw new Error('there is no record')
    return componentStatus(record, undefined, made.worker)
  }
  return { made, clock, status }
}

test('a version that no trusted key signed is refused as SignatureInvalid, and the version in use stays', async () => {
  const stranger = release(newPublisher(), { version: '1.1.0', spec })
  const { made, clock, status } = await node({ releases: [good, stranger] })
  made.obey(SECOND)
  await clock.advance(10_000)
  expect(status()).toMatchObject({ state: 'Fetching', reason: 'SignatureInvalid', version: '1.0.0' })
  await made.worker.close()
})

test('other bytes than were signed are refused as DigestMismatch', async () => {
  const other = Buffer.alloc(good.artifact.length)
  const { made, status } = await node({ serve: () => other })
  expect(status()).toMatchObject({ state: 'Fetching', reason: 'DigestMismatch' })
  await made.worker.close()
})

test('a version that does not exist is ComponentMissing, while it is looked for again', async () => {
  const { made, status } = await node({ first: { version: '9.0.0', attempt: 1 } })
  expect(status()).toMatchObject({ state: 'Fetching', reason: 'ComponentMissing' })
  await made.worker.close()
})

test('a version that crashes goes back as CrashLooping, with its exit code and its last three lines without secrets', async () => {
  const { made, clock, status } = await node()
  made.obey(SECOND)
  await clock.advance(1_000)
  expect(status().state).toBe('Probing')
  made.processes.output = 'starting\nreading config\npassword=hunter2\nError: no such file\n'
  made.processes.change('beacon', 'Crashed', { how: 'exited with code 1', isEvidence: true })
  await clock.advance(1_000)
  expect(status()).toMatchObject({
    state: 'RolledBack',
    reason: 'CrashLooping',
    message: 'exited with code 1 in its settle window; last output: Error: no such file',
    output: 'reading config\npassword=[secret]\nError: no such file',
  })
  await made.worker.close()
})

test('a version whose probe fails goes back as ProbeFailed, with the probe and its answer', async () => {
  const { made, clock, status } = await node({
    probe: (v) => (v === '1.1.0' ? { kind: 'Fail', message: 'HTTP 500 from /healthz' } : { kind: 'Pass' }),
  })
  made.obey(SECOND)
  await clock.advance(60_000)
  expect(status()).toMatchObject({
    state: 'RolledBack',
    reason: 'ProbeFailed',
    message: 'probe healthz: HTTP 500 from /healthz',
  })
  await made.worker.close()
})

test('what runs and fails later says why, and nothing once healthy again', async () => {
  let answer: ProbeAnswer = { kind: 'Pass' }
  const { made, clock, status } = await node({ probe: () => answer })
  answer = { kind: 'Fail', message: 'HTTP 503 from /healthz' }
  await clock.advance(60_000)
  expect(status()).toMatchObject({ state: 'Degraded', reason: 'ProbeFailed' })
  answer = { kind: 'Pass' }
  await clock.advance(60_000)
  expect(status()).toMatchObject({ state: 'Healthy' })
  expect([status().reason, status().message, status().output]).toEqual([undefined, undefined, undefined])
  await made.worker.close()
})

test.each([
  [
    'a hook that fails',
    new KubeNodeError(agentErrors.KN8033({ program: 'p', why: 'w', output: 's' })),
    'InstallFailed',
  ],
  [
    'a program for another processor',
    new KubeNodeError(agentErrors.KN8018({ component: 'c', version: '1', os: 'linux', arch: 'arm64' })),
    'UnsupportedPlatform',
  ],
  [
    'a short download',
    new KubeNodeError(agentErrors.KN8012({ place: 'p', got: 1, digest: 'd', size: 2, sha256: 's' }), {
      data: { reason: 'FetchFailed' },
    }),
    'FetchFailed',
  ],
  ['a server that is away', new Error('connect ECONNREFUSED'), 'FetchFailed'],
] as const)('%s', (_, error, because) => {
  expect(causeOf(error, 'FetchFailed').because).toBe(because)
})

test.each([
  [
    'a link on a read-only /usr',
    { code: 'EROFS', path: 'slot/kubelet', dest: '/usr/bin/kubelet' },
    /^KN8087: cannot write \/usr\/bin\/kubelet on this host: the file system is read-only \(EROFS\); make it writable/,
  ],
  [
    'a full disk',
    { code: 'ENOSPC', path: '/etc/kubernetes/kubelet.yaml' },
    /^KN8087: cannot write \/etc\/kubernetes\/kubelet.yaml on this host: the disk is full \(ENOSPC\)/,
  ],
  ['anything else of the system', { code: 'ENOENT', path: '/x' }, /^ENOENT: x$/],
  ['a signal that was refused', { code: 'EPERM' }, /^EPERM: x$/],
  [
    'a full disk that names no path',
    { code: 'ENOSPC' },
    /^KN8087: cannot write on this host: the disk is full \(ENOSPC\); make room/,
  ],
])('what the system refused is said in words, with what to do: %s', (_, fields, says) => {
  const error = Object.assign(new Error(`${fields.code}: x`), fields)
  expect(causeOf(error, 'InstallFailed')).toEqual({ because: 'InstallFailed', message: expect.stringMatching(says) })
})
