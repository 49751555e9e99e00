// A host that attacks the program that installs it over SSH: floods before and after the login, silence, slow answers, and answers that steer a terminal
// or name paths. It costs the host its turn, and other hosts nothing.
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { type Server, type Socket, createServer } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { hostScript } from '#ssh/script.ts'
import { SshSessions } from '#ssh/ssh-sessions.ts'
import { type SshServer, missingSshServer, startSshServer } from '#test/support/servers/ssh-server.ts'
import { processesWith, until } from '#test/support/tools/processes.ts'

const missing = missingSshServer()
const folder = mkdtempSync(join(tmpdir(), 'kubenode-ssh-attack-'))
const answer = join(folder, 'answer')
const sessions = new SshSessions({ folder: join(folder, 'keys'), path: process.env['PATH'] ?? '', atOnce: 4 })
let server: SshServer
const open = new Set<Server>()
const sockets = new Set<Socket>()

beforeAll(async () => {
  // The host ignores the script and runs its own program.
  if (missing === undefined)
    server = await startSshServer({ authorized: (c) => `command="sh ${answer}",restrict ${c}` })
})
afterAll(async () => {
  for (const socket of sockets) socket.destroy()
  for (const s of open) s.close()
  await server?.close()
  rmSync(folder, { recursive: true, force: true })
})
beforeEach((context) => {
  if (missing !== undefined) context.skip(missing)
})

const run = (port = server.port, deadlineMs = 60_000) =>
  sessions.run(
    {
      target: {
        host: '127.0.0.1',
        port,
        user: userInfo().username,
        trust: { kind: 'Pinned', hostKey: server.host.line },
      },
      identity: { kind: 'Key', privateKey: server.client.secret },
      script: hostScript(': the-join-token'),
      sudo: false,
      deadlineMs,
    },
    new AbortController().signal,
  )

/** Writes as long as the client reads. */
async function flooding(text: string): Promise<number> {
  const listening = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    const write = (): void => {
      while (!socket.destroyed && socket.write(text));
    }
    socket.on('drain', write)
    if (text !== '') write()
  })
  open.add(listening)
  await new Promise<void>((done) => listening.listen(0, '127.0.0.1', done))
  return (listening.address() as { port: number }).port
}

const nothingLeft = async () => {
  expect(readdirSync(join(folder, 'keys'))).toEqual([])
  await until('ssh has ended', () => processesWith('ssh', '-F', join(folder, 'keys')).length === 0 || undefined, 20_000)
}

test.each([
  ['lines without end before the version of the server', 'x'.repeat(200) + '\r\n'],
  ['one line without end', 'x'.repeat(4_096)],
  ['a version and noise', 'SSH-2.0-x\r\n'],
])('S36 %s end the session', async (_, text) => {
  expect(await run(await flooding(text))).toMatchObject({ kind: 'Failed', failure: 'Unreachable' })
  await nothingLeft()
})

test('S36 a server that accepts and says nothing costs its deadline', async () => {
  expect(await run(await flooding(''), 2_000)).toMatchObject({ kind: 'Failed', failure: 'TimedOut' })
  await nothingLeft()
})

test.each([
  ['answers', 'cat /dev/zero'],
  ['messages', 'cat /dev/zero >&2'],
  ['facts', `while :; do echo '{"kubenode":"fact","name":"a","value":"b"}'; done`],
])('S36 %s without end are cut off', async (_, program) => {
  writeFileSync(answer, program)
  expect(await run()).toEqual({ kind: 'Failed', failure: 'PreflightFailed', why: 'it sent more than 64 KiB' })
  await nothingLeft()
})

test('S36 an answer of one byte a second costs its deadline', async () => {
  writeFileSync(answer, 'while :; do printf x; sleep 1; done')
  expect(await run(server.port, 3_000)).toMatchObject({ failure: 'TimedOut' })
  await nothingLeft()
})

test('S36 a host that does not read the script costs its deadline, and one that answers without it is believed nothing but its own facts', async () => {
  writeFileSync(answer, 'exec sleep 600 < /dev/null')
  expect(await run(server.port, 2_000)).toMatchObject({ failure: 'TimedOut' })
  writeFileSync(
    answer,
    String.raw`printf '{"kubenode":"fact","name":"../../etc/passwd","value":"x"}\n{"kubenode":"fact","name":"seen","value":"\\u001b[2J\\u202e../../x"}\n{"kubenode":"done"}\n'`,
  )
  expect(await run()).toEqual({
    kind: 'Done',
    facts: new Map([['seen', '\ufffd[2J\ufffd../../x']]),
    hostKey: undefined,
  })
})

test('S36 terminal escapes and a forged cause in messages change no class but its own, and are shown as such', async () => {
  writeFileSync(answer, String.raw`printf '\033]0;x\007HOST IDENTIFICATION HAS CHANGED\n' >&2; exit 7`)
  expect(await run()).toEqual({
    kind: 'Failed',
    failure: 'PreflightFailed',
    why: '\ufffd]0;x\ufffdHOST IDENTIFICATION HAS CHANGED',
  })
})
