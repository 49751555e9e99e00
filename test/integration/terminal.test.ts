// The program on a pseudo-terminal: colors, the width of the window, and Ctrl-C, as a person meets them.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type Server, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { operationalHold } from '#api/kinds/operational-hold.ts'
import { timestamp } from '#lib/clock.ts'
import { systemClock } from '#lib/system-clock.ts'
import { clientOf, connectionOf } from '#programs/run/connect.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { type RunningServer, startEmbedded } from '#test/support/servers/api-servers.ts'
import { installAll } from '#test/support/servers/installed.ts'
import { hasPython, onTerminal, plainText } from '#test/support/tools/terminal.ts'
import { ADMIN } from '#test/support/fleets/holds.ts'

const KUBENODE = join(import.meta.dirname, '../../bin/kubenode')

/** Accepts connections and never answers, as a server behind a broken network. */
let silent: Server
let dir = ''
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'kubenode-terminal-'))
  silent = createServer(() => undefined)
  await new Promise<void>((done) => void silent.listen(0, '127.0.0.1', () => done()))
  const { port } = silent.address() as { port: number }
  const kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster: { server: `https://127.0.0.1:${port}` } }],
    users: [{ name: 'u', user: { token: 't' } }],
  }
  writeFileSync(join(dir, 'kubeconfig'), JSON.stringify(kubeconfig))
})
afterAll(() => {
  silent.close()
  rmSync(dir, { recursive: true, force: true })
})
beforeEach((context) => {
  if (!hasPython()) context.skip('python3 is not installed: it opens the pseudo-terminal')
})

test('the help is colored on a terminal, not with NO_COLOR, and fits a narrow window', async () => {
  const argv = [KUBENODE, 'help', 'get']
  const [colored, plain] = await Promise.all([
    onTerminal({ argv, steps: [], cols: 60, cwd: dir }),
    onTerminal({ argv, steps: [], cols: 60, cwd: dir, env: { NO_COLOR: '1' } }),
  ])
  expect([colored.code, colored.shown]).toEqual([0, expect.stringContaining('\u001b[1mUsage:')])
  expect(plain.shown).not.toContain('\u001b[')
  const lines = plain.shown.split('\r\n')
  expect(lines.filter((l) => l.length > 60)).toEqual([])
})

test('in a very narrow window each description is below its option', async () => {
  const { shown } = await onTerminal({ argv: [KUBENODE, 'help', 'get'], steps: [], cols: 44, cwd: dir })
  const lines = plainText(shown).split('\r\n')
  expect(lines.filter((l) => l.length > 44)).toEqual([])
  expect(plainText(shown)).toMatch(/ --context <name>\r\n {6}context of the kubeconfig/)
})

test('Ctrl-C ends a command that waits at once, with 130 and a line of its own', async () => {
  const { shown, code, late } = await onTerminal({
    argv: [KUBENODE, 'get', 'machines', '--kubeconfig', join(dir, 'kubeconfig')],
    steps: [{ wait: 'waiting for https://127', send: '\u0003' }],
    cwd: dir,
  })
  expect([late, code]).toEqual([false, 130])
  expect(plainText(shown)).toMatch(/\n$/)
  expect(plainText(shown)).not.toMatch(/KN1000|Error|at .*\.ts/)
})

describe('a rollout that is held, in a window of 24 columns', () => {
  let server: RunningServer
  beforeAll(async () => {
    server = await startEmbedded()
    const client = clientOf((await connectionOf(server.kubeconfig)).config, 'test')
    await installAll(client)
    const { spec } = machineComponentSet.example
    const made = await client.create<KubeObject>(machineComponentSet, {
      apiVersion: API_GROUP_VERSION,
      kind: machineComponentSet.kind,
      metadata: { name: 'base-of-the-north' },
      spec,
    })
    const hold = 'hold freeze-machinecomponentset-base-of-the-north: power work'
    const waitingFor = { predicate: 'HoldFreeze', since: '2026-01-01T00:00:00Z', seen: hold }
    const counts = { total: 4, updated: 2, healthy: 2, failed: 0, skipped: 0 }
    const status = { phase: 'Paused', counts, waitingFor }
    await client.update<KubeObject>(machineComponentSet, { ...made, status }, { subresource: 'status' })
    await client.create<KubeObject>(operationalHold, {
      apiVersion: API_GROUP_VERSION,
      kind: operationalHold.kind,
      metadata: { name: 'freeze-machinecomponentset-base-of-the-north' },
      spec: {
        target: { kind: machineComponentSet.kind, name: 'base-of-the-north' },
        effect: 'Freeze',
        reason: 'power work',
        author: ADMIN,
        until: timestamp(systemClock.now() + 86_400_000),
      },
    })
    client.close()
  })
  afterAll(() => server?.stop())

  test('is shown whole; the command that lifts the hold is longer than the window, and alone in its line', async () => {
    const { shown, code } = await onTerminal({
      argv: [KUBENODE, 'watch', 'set/base-of-the-north', '--kubeconfig', server.kubeconfig],
      steps: [{ wait: 'base-of-the-north\\S*\\r\\n(.|\\s)*to continue(.|\\s)*thaw \\S*north', send: '\u0003' }],
      cols: 24,
      cwd: dir,
    })
    expect(code).toBe(130)
    const lines = plainText(shown).replaceAll('\r', '').split('\n')
    const long = lines.filter((l) => l.length > 24).map((l) => l.trim())
    expect(long.filter((l) => l.includes(' '))).toEqual(['kubenode thaw set/base-of-the-north'])
    expect(lines.slice(0, 2)).toEqual(['base-of-the-north', '[=========        ] 2/4'])
    expect(lines.join(' ').replaceAll(/ +/g, ' ')).toContain('to continue: kubenode thaw set/base-of-the-north')
  })

  test.each([60, 200])('fills a window of %i columns and no more', async (cols) => {
    const { shown, code } = await onTerminal({
      argv: [KUBENODE, 'watch', 'set/base-of-the-north', '--kubeconfig', server.kubeconfig],
      steps: [{ wait: 'to continue(.|\\s)*thaw \\S*north', send: '\u0003' }],
      cols,
      cwd: dir,
    })
    expect(code).toBe(130)
    const lines = plainText(shown).replaceAll('\r', '').split('\n')
    expect(lines.filter((l) => l.length > cols)).toEqual([])
    const [waiting] = lines.filter((l) => l.startsWith('  observed:'))
    const hold = 'hold freeze-machinecomponentset-base-of-the-north: power work'
    // A wide window breaks no line that fits into it.
    expect(waiting?.includes(hold)).toBe(cols === 200)
    expect(lines.join(' ').replaceAll(/ +/g, ' ')).toContain(hold)
    expect(lines.map((l) => l.trim())).toContain('to continue: kubenode thaw set/base-of-the-north')
  })

  test.each([
    ['why', ['why', 'set/base-of-the-north']],
    ['rollout status', ['rollout', 'status', 'base-of-the-north']],
    ['tree', ['tree', 'set/base-of-the-north']],
  ])('%s breaks lines between words, and no command', async (_, argv) => {
    const { shown } = await onTerminal({
      argv: [KUBENODE, ...argv, '--kubeconfig', server.kubeconfig],
      steps: [],
      cols: 40,
      cwd: dir,
    })
    const lines = plainText(shown).replaceAll('\r', '').split('\n')
    expect(lines.filter((l) => l.length > 40 && !/^[ │├└─]*(\S+|kubenode .*)$/.test(l))).toEqual([])
    for (const command of lines.filter((l) => l.includes('kubenode ')))
      expect(command).toMatch(/kubenode (check|.*north)/)
    expect(lines.join(' ')).toContain('base-of-the-north')
  })
})
