// Dialogs with hosts at a real sshd: what snippets answer, and what a hostile host can do to them.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Channel, ChannelLost, quoted } from '#ssh/channel.ts'
import { SshSessions } from '#ssh/ssh-sessions.ts'
import { type SshServer, keyOf, loginOf, missingSshServer, startSshServer } from '#test/support/servers/ssh-server.ts'
import { processesWith, until } from '#test/support/tools/processes.ts'

const missing = missingSshServer()
let server: SshServer
let folder: string
let sessions: SshSessions

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kubenode-channel-'))
  if (missing !== undefined) return
  server = await startSshServer()
  sessions = new SshSessions({ folder: join(folder, 'keys'), path: process.env['PATH'] ?? '', atOnce: 5 })
})
afterAll(async () => {
  await server?.close()
  rmSync(folder, { recursive: true, force: true })
})
beforeEach((context) => {
  if (missing !== undefined) context.skip(missing)
})

function converse<R>(
  work: (channel: Channel) => Promise<R>,
  { prelude = '', idleS = 60, hostKey = keyOf(server.host.line), signal = new AbortController().signal } = {},
) {
  const { target, identity } = loginOf(server)
  const pinned = { ...target, trust: { ...target.trust, hostKey } }
  return sessions.converse({ target: pinned, identity, prelude, idleS, sudo: false }, work, signal)
}

const ask = (channel: Channel, snippet: string, more = {}) => channel.ask({ snippet, deadlineMs: 10_000, ...more })

test('snippets answer with output, exit code and the end of their errors, and none changes the shell of the next', async () => {
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, n) => n))
  await converse(async (channel) => {
    expect(await ask(channel, 'printf hello')).toEqual({ code: 0, stdout: Buffer.from('hello'), stderr: '' })
    expect(await ask(channel, 'echo "bad \x1b[31m" >&2; exit 7')).toMatchObject({
      code: 7,
      stderr: expect.stringMatching(/^bad .\[31m$/),
    })
    expect((await ask(channel, `printf %s ${quoted(bytes.toString('base64'))} | base64 -d`)).stdout).toEqual(bytes)
    expect((await ask(channel, `printf %s ${quoted(`a'b$(id)\n`)}`)).stdout.toString()).toBe(`a'b$(id)\n`)
    // A snippet that kills its shell kills only its own.
    expect((await ask(channel, 'kill -9 $$')).code).toBe(137)
    expect((await ask(channel, 'cat; x=1; cd /')).stdout.toString()).toBe('')
    expect((await ask(channel, 'printf %s "${x-unset}"')).stdout.toString()).toBe('unset')
    const many = await Promise.all(Array.from({ length: 20 }, (_, n) => ask(channel, `echo ${n}`)))
    expect(many.map(({ stdout }) => stdout.toString().trim())).toEqual(Array.from({ length: 20 }, (_, n) => `${n}`))
    const lines = await ask(channel, 'i=0; while [ $i -lt 5000 ]; do echo; i=$((i+1)); done', { maxBytes: 5_000 })
    expect(lines.stdout.toString()).toBe('\n'.repeat(5_000))
    const long = 'x'.repeat(100_000)
    expect((await ask(channel, `printf %s ${long} | wc -c`)).stdout.toString().trim()).toBe('100000')
  })
  expect(readdirSync(join(folder, 'keys'))).toEqual([])
})

test('a host that floods, stalls or lies ends its own dialog, and nothing of it is left', async () => {
  const marker = `endless-${process.pid}`
  for (const [snippet, why] of [
    ['yes', /more than 262144 bytes/],
    [`yes ${marker} >&2`, /no answer within/],
    [`yes ${marker} > /dev/null & sleep 60`, /no answer within/],
    ['sleep 60', /no answer within/],
    ['while :; do printf .; sleep 0.05; done', /no answer within/],
  ] as const)
    await converse(async (channel) => {
      const deadlineMs = snippet === 'yes' ? 30_000 : 500
      await expect(ask(channel, snippet, { deadlineMs }), snippet).rejects.toThrow(why)
      await expect(ask(channel, 'true')).rejects.toThrow(ChannelLost)
    })
  // Its own deadline ends a program on the host, also after the session.
  await until('nothing endless is left', () => processesWith('yes', marker).length === 0, 20_000)
  await until('no ssh is left', () => processesWith(join(folder, 'keys')).length === 0, 20_000)
})

test('a shell that nothing is asked of ends by itself, and with it what it holds on the host', async () => {
  const lock = join(folder, 'lock')
  const prelude = `exec 9>>${quoted(lock)}\nflock -n 9 || { echo held >&2; exit 1; }`
  const held = () => converse(async () => 'free', { prelude })
  await converse(async () => expect(await held()).toMatchObject({ why: 'held' }), { prelude })
  const ended = (channel: Channel) => until('it ended', () => channel.closed !== undefined, 20_000)
  await converse(ended, { prelude, idleS: 1 })
  expect(await held()).toBe('free')
})

test('a prelude can refuse, a changed key gets nothing, and a signal ends a dialog', async () => {
  const refused = await converse(async () => 'opened', { prelude: 'echo "another session holds the host" >&2; exit 3' })
  expect(refused).toMatchObject({ kind: 'Failed', failure: 'PreflightFailed', why: 'another session holds the host' })
  expect(await converse(async () => 'opened', { hostKey: keyOf(server.strange.line) })).toMatchObject({
    failure: 'HostKeyChanged',
  })
  const stop = new AbortController()
  const asked = converse(
    async (channel) => {
      setTimeout(() => stop.abort(), 100)
      await ask(channel, 'sleep 60', { deadlineMs: 60_000 })
    },
    { signal: stop.signal },
  )
  await expect(asked).rejects.toThrow(/aborted/)
})
