// `kubenode logs` from the command to a real agent and back: own log only, masked, sealed to the one who asks, and an end in every case.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, mkdirSync, symlinkSync, writeFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { logRequest } from '#api/kinds/log-request.ts'
import { systemClock } from '#lib/system-clock.ts'
import { readLog } from '#nodes/logs/read-log.ts'
import { release } from '#test/doubles/node/release.ts'
import { AgentBench, MACHINE, eventually } from './agent-bench.ts'
import { askLog, passOn } from './log-asker.ts'

const bench = new AgentBench()
const logs = join(bench.nodeFolder, 'logs')
const stop = new AbortController()

const SCRIPT = '#!/bin/sh\necho "token=very-secret-thing"\necho ready\nwhile :; do sleep 1; done\n'

beforeAll(async () => {
  await bench.start()
  await bench.order({ name: 'none', version: '0.0.1' })
  bench.machineUid = (await bench.machine())?.metadata.uid
  bench.writeJoin()
  bench.writeConfig({ metrics: false })
  mkdirSync(logs, { recursive: true })
  await bench.publish(
    release(bench.publisher, {
      component: 'beacon',
      version: '1.0.0',
      entries: [{ name: 'bin/beacon', content: SCRIPT, mode: 0o755 }],
      spec: { service: { exec: '/opt/beacon/bin/beacon', restart: 'Always', killMode: 'Group' }, probes: [] },
    }),
  )
  bench.run()
  await bench.order({ version: '1.0.0' })
  await eventually(
    'the staged component',
    () => bench.component(),
    (c) => c?.state === 'Staged',
  )
  await bench.permit('one', 'SwitchComponent', 'Granted')
  await bench.order({ version: '1.0.0', switch: { attempt: 1, permit: 'one' } })
  await eventually(
    'the component',
    () => bench.component(),
    (c) => c?.state === 'Healthy',
  )
  void passOn(bench, stop.signal)
})

afterAll(async () => {
  stop.abort()
  await bench.stop()
})

const ask = (wish: Parameters<typeof askLog>[1]) => askLog(bench, wish)

const left = async () => (await bench.client.list(logRequest)).items.length

test('the log of a component, with its secrets masked; nothing is left of the request', async () => {
  const { out, problem } = await ask({})
  expect(problem).toBe('')
  expect(out).toBe('token=[secret]\nready\n')
  expect(await left()).toBe(0)
  await eventually(
    'the Machine without the request',
    () => bench.machine(),
    (m) => (m?.spec.logs ?? []).length === 0,
  )
})

test('the last lines, and lines since a time where they carry one', async () => {
  expect((await ask({ tail: 1 })).out).toBe('ready\n')
  const untimed = await ask({ sinceSeconds: 60 })
  expect(untimed).toMatchObject({ out: 'token=[secret]\nready\n', err: expect.stringContaining('have no times') })
})

test('a long log arrives whole, page by page, up to the bound', async () => {
  const lines = Array.from({ length: 1_500 }, (_, n) => `line ${n} ${'x'.repeat(80)}`)
  appendFileSync(join(logs, 'beacon.log'), `${lines.join('\n')}\n`)
  const { out, problem } = await ask({})
  expect(problem).toBe('')
  expect(out.split('\n').slice(-1_501, -1)).toEqual(lines)
})

test('follows new lines until the user ends it, and the agent stops with the request', async () => {
  const end = new AbortController()
  const following = ask({
    tail: 0,
    follow: true,
    signal: end.signal,
    onOut: (out) => {
      if (out.includes('second')) end.abort(new Error('Ctrl-C'))
    },
  })
  await eventually(
    'an answer',
    async () => (await bench.client.list(logRequest)).items[0]?.status?.phase,
    (phase) => phase === 'Answering',
  )
  appendFileSync(join(logs, 'beacon.log'), 'first\nsecond password=hunter2\n')
  const { out, problem } = await following
  expect([out, problem]).toEqual(['first\nsecond password=[secret]\n', 'Ctrl-C'])
  expect(await left()).toBe(0)
})

test('Ctrl-C ends the command that follows with 130, and nothing is left of its request', async () => {
  bench.server.tokens.set('token-of-a-user', 'user')
  const kubeconfig = join(bench.folder, 'user.kubeconfig')
  const cluster = {
    server: bench.server.url,
    'certificate-authority-data': Buffer.from(bench.server.authority.cert).toString('base64'),
  }
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'u', user: { token: 'token-of-a-user' } }],
  }
  writeFileSync(kubeconfig, JSON.stringify(config))
  const argv = ['logs', `machine/${MACHINE}`, '-c', 'beacon', '-f', '--kubeconfig', kubeconfig]
  const child = spawn(join(import.meta.dirname, '../../bin/kubenode'), argv, { stdio: ['ignore', 'pipe', 'pipe'] })
  let err = ''
  child.stderr.on('data', (d: Buffer) => (err += d.toString()))
  const ended = once(child, 'close')
  await Promise.race([once(child.stdout, 'data'), ended])
  child.kill('SIGINT')
  const [code] = (await ended) as [number | null]
  expect([code, err]).toEqual([130, ''])
  expect(await left()).toBe(0)
})

test('what is no component of the machine is refused by the agent too, with what there is', async () => {
  expect((await ask({ component: 'sshd' })).problem).toMatch(/KN1313: .*sshd.*\(components: kubenode-agent, beacon\)/)
})

test('a link in place of the log is not followed', async () => {
  const path = join(logs, 'beacon.log')
  rmSync(path)
  symlinkSync(join(bench.nodeFolder, 'state/identity/agent.key'), path)
  const { out, problem } = await ask({})
  expect([out, problem]).toEqual(['', expect.stringContaining('not a plain file')])
  rmSync(path)
  writeFileSync(path, '')
})

test('an agent that is away does not answer, and the command says so', async () => {
  for (const agent of bench.agents) agent.kill('SIGSTOP')
  let now = 0
  const clock = { ...systemClock, monotonic: () => (now += 5_000), sleep: () => systemClock.sleep(100) }
  const found = await bench.machine()
  if (found === undefined) throw new Error('no machine')
  const asking = {
    client: bench.client,
    clock,
    reader: { lines: () => undefined, note: () => undefined },
    machine: found,
    agentKey: found.status?.agent?.publicKey ?? '',
    by: 'test',
    component: 'beacon',
    follow: false,
    signal: new AbortController().signal,
    onAnswer: async () => undefined,
  }
  await expect(readLog(asking)).rejects.toThrow(new RegExp(`KN1642: .*${MACHINE}`))
  expect(await left()).toBe(0)
  for (const agent of bench.agents) agent.kill('SIGCONT')
})
